//! A directory that stands in for a node's root.
#![allow(dead_code, unreachable_pub, reason = "each suite uses its part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

pub const HOOK: &str = env!("CARGO_BIN_EXE_dra-cdi-hook");

pub struct Node {
    directory: TempDir,
}

impl Node {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["etc", "usr/local/bin", "var/run"] {
            fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        Self { directory }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a command of the hook on this node: its exit code, its lines on standard output with
    /// `ROOT` in the place of the directory, and what it says on standard error.
    pub fn run(&self, arguments: &[&str]) -> (Option<i32>, Vec<String>, String) {
        self.run_program(HOOK, arguments)
    }

    pub fn run_program(
        &self,
        program: &str,
        arguments: &[&str],
    ) -> (Option<i32>, Vec<String>, String) {
        let output = Command::new(program)
            .args(arguments)
            .arg("--root")
            .arg(self.directory.path())
            .output()
            .unwrap();
        let root = self.directory.path().to_str().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        (
            output.status.code(),
            stdout
                .lines()
                .map(|line| line.replace(root, "ROOT"))
                .collect(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    /// Installs, and returns what it tells, sorted.
    #[track_caller]
    pub fn install(&self, options: &[&str]) -> Vec<String> {
        let (code, mut lines, stderr) = self.run(&[&["install"], options].concat());
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
        lines.sort();
        lines
    }

    /// All files and directories, with the content of the files.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        walk(self.directory.path(), self.directory.path(), &mut files);
        files.sort();
        files
    }
}

fn walk(root: &Path, directory: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry
            .path()
            .strip_prefix(root)
            .unwrap()
            .display()
            .to_string();
        if entry.file_type().unwrap().is_dir() {
            files.push((format!("{name}/"), Vec::new()));
            walk(root, &entry.path(), files);
        } else {
            files.push((name, fs::read(entry.path()).unwrap_or_default()));
        }
    }
}
