//! A container at the moment of its createContainer hook: a root file system with mounts below it,
//! in a mount namespace of its own, and the hook's binary run there.
#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    reason = "each suite uses its part"
)]

mod witness;

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::json;
use tempfile::TempDir;

pub use witness::{assert_written, canary};

pub const METADATA: &str = include_str!("vf-metadata.json");
pub const DOCUMENT: &str = include_str!("vf-document.json");
pub const VM_MOUNT: &str = "run/device-attributes";
pub const METADATA_FILE: &str = "run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/nic/vf/sriov.example.com-metadata.json";
/// The same as the hook's messages have it.
pub const METADATA_NAME: &str = "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/nic/vf/sriov.example.com-metadata.json";

/// Binds pairs of source and target until `--`, evaluates `$SETUP`, then runs the rest.
const IN_NAMESPACE: &str = r#"set -e
while [ "$1" != -- ]; do mount --bind "$1" "$2"; shift 2; done
shift
eval "$SETUP"
exec "$@""#;

pub struct Container {
    pub directory: TempDir,
    /// Sources on the node and targets below the root file system.
    pub mounts: Vec<(PathBuf, PathBuf)>,
    /// Shell commands in the namespace after these mounts, with `$VM` the VM mount's directory.
    pub setup: String,
}

pub struct Outcome {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Container {
    /// With nothing mounted.
    pub fn bare() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("bundle/rootfs");
        fs::create_dir_all(root.join("run")).unwrap();
        fs::create_dir(root.join("var")).unwrap();
        // As in most images: resolved on the node it would lead out.
        symlink("/run", root.join("var/run")).unwrap();
        fs::create_dir(directory.path().join("vm")).unwrap();
        fs::create_dir(directory.path().join("canary")).unwrap();
        fs::write(directory.path().join("canary/file"), "untouched").unwrap();
        fs::write(
            directory.path().join("bundle/config.json"),
            json!({"root": {"path": "rootfs"}}).to_string(),
        )
        .unwrap();
        Self {
            directory,
            mounts: Vec::new(),
            setup: String::new(),
        }
    }

    /// With a VM mount.
    pub fn with_vm_mount() -> Self {
        let mut container = Self::bare();
        let vm = container.path("vm");
        container.mount(&vm, VM_MOUNT);
        container
    }

    /// With a VM mount and one metadata file of the given content.
    pub fn with_metadata(content: impl AsRef<[u8]>) -> Self {
        let mut container = Self::with_vm_mount();
        let file = container.path("metadata.json");
        fs::write(&file, content).unwrap();
        container.mount(&file, METADATA_FILE);
        container
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn root(&self, name: &str) -> PathBuf {
        self.path("bundle/rootfs").join(name)
    }

    /// Mounts a file or directory of the node, making its place as a runtime does.
    pub fn mount(&mut self, source: &Path, target: &str) {
        let target = self.root(target);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        if source.is_dir() {
            fs::create_dir_all(&target).unwrap();
        } else {
            fs::write(&target, "").unwrap();
        }
        self.mounts.push((source.to_owned(), target));
    }

    /// A state that names the bundle.
    pub fn state(&self) -> String {
        json!({
            "ociVersion": "1.0.2", "id": "test", "status": "creating", "pid": 1,
            "bundle": self.path("bundle"),
        })
        .to_string()
    }

    /// The command that runs `program` in the container's namespace.
    pub fn command(&self, program: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation=private"]);
        // A user namespace stands in for root.
        if !rustix::process::geteuid().is_root() {
            command.arg("--map-root-user");
        }
        command.args(["sh", "-c", IN_NAMESPACE, "sh"]);
        for (source, target) in &self.mounts {
            command.arg(source).arg(target);
        }
        command.arg("--").args(program);
        command
            .env("SETUP", &self.setup)
            .env("VM", self.root(VM_MOUNT));
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the hook with a state that names the bundle.
    pub fn run(&self, options: &[&str]) -> Outcome {
        self.run_with_state(self.state().as_bytes(), options)
    }

    /// Runs the hook with any bytes on standard input.
    pub fn run_with_state(&self, state: &[u8], options: &[&str]) -> Outcome {
        let mut program = vec![env!("CARGO_BIN_EXE_dra-cdi-hook"), "create-container"];
        program.extend(options);
        feed(self.command(&program), state)
    }

    /// The document in the VM mount, as the node sees it.
    pub fn document(&self) -> Option<String> {
        fs::read_to_string(self.path("vm/device-attributes.json")).ok()
    }

    /// Names in the VM mount.
    pub fn vm_files(&self) -> Vec<String> {
        names(&self.path("vm"))
    }
}

/// Names in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Runs a command with `input` on standard input.
pub fn feed(mut command: Command, input: &[u8]) -> Outcome {
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A program that refuses early closes the pipe before it has read all.
    match stdin.write_all(input) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => panic!("{error}"),
        _ => drop(stdin),
    }
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().unwrap();
    Outcome {
        code: status.code(),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}

impl Outcome {
    /// The hook failed with exit code 1, nothing on standard output, and one line that says all.
    #[track_caller]
    pub fn assert_error(&self, text: &str) {
        assert_eq!(self.code, Some(1), "{}", self.stderr);
        assert_eq!(self.stdout, "");
        let errors: Vec<&str> = self
            .stderr
            .lines()
            .filter(|line| {
                !line.starts_with("dra-cdi-hook: info: ")
                    && !line.starts_with("dra-cdi-hook: warning: ")
            })
            .collect();
        let [error] = errors.as_slice() else {
            panic!("not one line: {}", self.stderr);
        };
        let error = error.strip_prefix("dra-cdi-hook: error: ").expect(error);
        assert!(error.contains(text), "{error:?} does not say {text:?}");
    }

    #[track_caller]
    pub fn assert_success(&self) {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        assert_eq!(self.stdout, "");
    }
}
