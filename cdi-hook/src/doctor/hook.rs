//! The hook's binary as a runtime would start it.

use std::os::fd::AsFd;

use rustix::fs::{FileType, OFlags, StatVfsMountFlags};
use rustix::io::Errno;

use super::program;
use super::report::{Asker, HookBinary};
use crate::node_root::{NodeRoot, read_all};

/// The most bytes of a binary that are read.
const BYTES: usize = 64 << 20;

/// Examines the binary at a path of the node.
pub(super) fn examine(root: &NodeRoot, path: &str) -> HookBinary {
    let mut found = HookBinary {
        path: path.to_owned(),
        version: None,
        same: false,
        label: None,
        problems: Vec::new(),
    };
    if let Err(error) = look(root, path, &mut found) {
        let what = match error {
            Errno::NOENT | Errno::NOTDIR => format!("the hook {path} is not there"),
            error => format!("the hook {path} cannot be read: {error}"),
        };
        let remedy = "install it with dra-cdi-hook install, or let the spec name where it is";
        found.problems.push((what, remedy.to_owned()));
    }
    found
}

fn look(root: &NodeRoot, path: &str, found: &mut HookBinary) -> Result<(), Errno> {
    let file = root.open_at(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
    let stat = rustix::fs::fstat(&file)?;
    let mut problem = |what: &str, remedy: String| {
        found
            .problems
            .push((format!("the hook {path} {what}"), remedy));
    };
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        problem(
            "is not a regular file",
            "install it with dra-cdi-hook install --force".to_owned(),
        );
        return Ok(());
    }
    let executable = stat.st_mode & 0o111 != 0;
    if !executable {
        problem("is not executable", format!("chmod 0755 {path}"));
    }
    // Whoever may write it is root on the node with the next container.
    for (name, stat) in [
        (path, Some(stat)),
        (parent(path), directory_stat(root, path)),
    ] {
        if stat.is_some_and(|stat| stat.st_uid != 0 || stat.st_mode & 0o022 != 0) {
            problem(
                &format!(
                    "may be replaced by others than root: look at the owner and mode of {name}"
                ),
                format!("chown root:root {name}; chmod go-w {name}"),
            );
        }
    }
    let flags = rustix::fs::fstatvfs(&file)?.f_flag;
    if flags.contains(StatVfsMountFlags::NOEXEC) {
        problem(
            "is on a mount with noexec, from which no runtime can start it",
            "install it elsewhere: dra-cdi-hook install --prefix DIR".to_owned(),
        );
    }
    let bytes = read_all(&file, BYTES)?;
    let dynamic = interpreter(&bytes);
    match dynamic {
        Some(true) => problem(
            "is linked dynamically: an image's LD_PRELOAD would reach it",
            "install the static binary of the release".to_owned(),
        ),
        Some(false) => {}
        None => problem(
            "is not a program of a 64-bit machine",
            "install the static binary of the release".to_owned(),
        ),
    }
    found.label = label(&file);
    let own = std::fs::read("/proc/self/exe");
    found.same = own.is_ok_and(|own| own == bytes);
    if found.same {
        found.version = Some(format!("dra-cdi-hook {}", env!("CARGO_PKG_VERSION")));
    } else if root.is_own() && executable && dynamic.is_some() {
        found.version = program::version(path).ok();
    }
    Ok(())
}

fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((parent, _)) => parent,
    }
}

fn directory_stat(root: &NodeRoot, path: &str) -> Option<rustix::fs::Stat> {
    let directory = root.directory(parent(path)).ok()??;
    rustix::fs::fstat(directory).ok()
}

/// The file's `SELinux` label; none without one.
fn label(file: impl AsFd) -> Option<String> {
    let mut label = [0_u8; 4096];
    let length = rustix::fs::fgetxattr(file, "security.selinux", &mut label).ok()?;
    let text = std::str::from_utf8(label.get(..length)?).ok()?;
    Some(text.trim_end_matches('\0').to_owned())
}

/// Whether a program asks for a dynamic linker (`PT_INTERP`, see elf(5)); none where it is no 64-bit
/// little-endian ELF file.
fn interpreter(bytes: &[u8]) -> Option<bool> {
    const PT_INTERP: u32 = 3;
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = |at: usize, length: usize| {
        let field = bytes.get(at..at.checked_add(length)?)?;
        let number = field
            .iter()
            .rev()
            .fold(0, |all, byte| all << 8 | u64::from(*byte));
        usize::try_from(number).ok()
    };
    let (offset, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for index in 0..count {
        let at = offset.checked_add(index.checked_mul(size)?)?;
        if number(at, 4)? == usize::try_from(PT_INTERP).ok()? {
            return Some(true);
        }
    }
    Some(false)
}

/// What is missing of the node's files that an entry's arguments name.
pub(super) fn missing_files(root: &NodeRoot, asker: &Asker) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    for argument in &asker.arguments {
        let path = ["--attributes=", "--metadata-dir="]
            .iter()
            .find_map(|option| argument.strip_prefix(option));
        if let Some(path) = path
            && matches!(
                root.open_at(path, OFlags::PATH),
                Err(Errno::NOENT | Errno::NOTDIR)
            )
        {
            problems.push((
                format!("{} gives the hook {argument}, and that is not there: no container with the device starts", asker.file),
                format!("make {path}, or write the spec without it"),
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dynamic_program_is_told_from_a_static_one() {
        // What runs this test has an interpreter, unless it was built static.
        let own = std::fs::read("/proc/self/exe").unwrap();
        assert!(interpreter(&own).is_some());
        assert_eq!(interpreter(b"#!/bin/sh\n"), None);
        assert_eq!(interpreter(b"\x7fELF\x02\x01"), None);
        let mut program = vec![0; 64];
        program[..6].copy_from_slice(b"\x7fELF\x02\x01");
        program[32] = 64;
        program[54] = 56;
        program[56] = 1;
        let mut header = vec![0; 56];
        header[0] = 1;
        assert_eq!(
            interpreter(&[program.clone(), header.clone()].concat()),
            Some(false)
        );
        header[0] = 3;
        assert_eq!(interpreter(&[program.clone(), header].concat()), Some(true));
        assert_eq!(interpreter(&program), None);
    }
}
