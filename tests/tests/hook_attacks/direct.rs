//! A container at the moment of its createContainer hook, laid out in this program's mount namespace,
//! for situations that no runtime brings about and for runs by the ten thousand.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use dra_guest_tests::programs::static_program;
use dra_guest_tests::runtime::TreeState;
use serde_json::json;
use tempfile::TempDir;

use crate::count;
use crate::scene::{FILE, METADATA, METADATA_IN_CONTAINER, mount, unmount};

/// Its root file system is `bundle/rootfs`; its VM mount is in memory.
pub(crate) struct Container {
    directory: TempDir,
    mounts: Vec<PathBuf>,
    hook: PathBuf,
    state: Vec<u8>,
}

/// How a run of the hook ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Container {
    pub(crate) fn new() -> Self {
        Self::of_size("1m")
    }

    /// Its VM mount has this size.
    pub(crate) fn of_size(size: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("bundle/rootfs");
        fs::create_dir_all(root.join("run/device-attributes")).unwrap();
        fs::create_dir(root.join("var")).unwrap();
        symlink("/run", root.join("var/run")).unwrap();
        fs::create_dir_all(directory.path().join("canary/etc")).unwrap();
        fs::write(directory.path().join("canary").join(FILE), "untouched").unwrap();
        fs::write(directory.path().join("canary/etc/shadow"), "root:*:1::::::").unwrap();
        let metadata = directory.path().join("metadata.json");
        fs::write(&metadata, METADATA).unwrap();
        let config = json!({"ociVersion": "1.0.2", "root": {"path": "rootfs"}});
        fs::write(
            directory.path().join("bundle/config.json"),
            config.to_string(),
        )
        .unwrap();
        let state = json!({
            "ociVersion": "1.0.2", "id": "test", "status": "creating", "pid": 1,
            "bundle": directory.path().join("bundle"),
        });
        let mut container = Self {
            directory,
            mounts: Vec::new(),
            hook: static_program("dra-cdi-hook").unwrap(),
            state: state.to_string().into_bytes(),
        };
        let size = format!("size={size}");
        container.mount(
            &["-t", "tmpfs", "-o", &size],
            "tmpfs".as_ref(),
            &container.vm(),
        );
        container.bind(&metadata, &container.metadata());
        container
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn root(&self, name: &str) -> PathBuf {
        self.path("bundle/rootfs").join(name)
    }

    pub(crate) fn vm(&self) -> PathBuf {
        self.root("run/device-attributes")
    }

    /// The driver's file as the container has it.
    pub(crate) fn metadata(&self) -> PathBuf {
        let name = METADATA_IN_CONTAINER.strip_prefix("/var/").unwrap();
        self.root(name)
    }

    fn mount(&mut self, options: &[&str], source: &Path, target: &Path) {
        mount(options, source, target);
        self.mounts.push(target.to_owned());
    }

    /// Mounts a file or directory somewhere; the place is made.
    pub(crate) fn bind(&mut self, source: &Path, target: &Path) {
        if source.is_dir() {
            fs::create_dir_all(target).unwrap();
        } else if !target.exists() {
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::write(target, "").unwrap();
        }
        self.mount(&["--bind"], source, target);
    }

    pub(crate) fn canary(&self) -> TreeState {
        TreeState::of(&self.path("canary")).unwrap()
    }

    pub(crate) fn hook(&self) -> &Path {
        &self.hook
    }

    pub(crate) fn state(&self) -> &[u8] {
        &self.state
    }

    /// Runs the hook as a runtime would.
    pub(crate) fn run(&self, options: &[&str]) -> Run {
        self.run_under(&[], options)
    }

    /// Runs it behind another program.
    pub(crate) fn run_under(&self, program: &[&str], options: &[&str]) -> Run {
        let mut words: Vec<&std::ffi::OsStr> = program.iter().map(AsRef::as_ref).collect();
        words.push(self.hook.as_os_str());
        let (first, rest) = words.split_first().unwrap();
        let mut command = Command::new(first);
        command.args(rest).arg("create-container").args(options);
        feed(command, &self.state)
    }

    /// Runs it with any bytes on standard input.
    pub(crate) fn run_with_state(&self, state: &[u8], options: &[&str]) -> Run {
        let mut command = Command::new(&self.hook);
        command.arg("create-container").args(options);
        feed(command, state)
    }

    /// Names in the VM mount.
    pub(crate) fn vm_files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.vm())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The VM has the right document, whole.
    #[track_caller]
    pub(crate) fn assert_document(&self) {
        let document = fs::read_to_string(self.vm().join(FILE)).unwrap();
        assert!(document.starts_with("{\n  \"apiVersion\""), "{document}");
        assert!(document.contains("02:00:00:4e:92:87"), "{document}");
        assert!(document.ends_with("}\n"), "{document}");
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        for target in self.mounts.iter().rev() {
            unmount(target);
        }
    }
}

/// Runs a command with `input` on standard input.
pub(crate) fn feed(mut command: Command, input: &[u8]) -> Run {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A program that refuses early closes the pipe before it has read all.
    match stdin.write_all(input) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => panic!("{error}"),
        _ => drop(stdin),
    }
    count::run();
    Run::of(child.wait_with_output().unwrap())
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub(crate) fn assert_done(&self) {
        assert_eq!(self.code, Some(0), "{self:?}");
        assert_eq!(self.stdout, "");
    }

    #[track_caller]
    pub(crate) fn assert_refused(&self, text: &str) {
        assert_eq!(self.code, Some(1), "{self:?}");
        assert_eq!(self.stdout, "");
        assert!(self.stderr.contains(text), "not said: {text:?}: {self:?}");
    }
}
