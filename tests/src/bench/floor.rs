//! The floor of an `apply`: a program that does nothing but send the kernel the same netlink messages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::command::stdout_of;

/// `NLM_F_ACK`, which every change has and no list.
const ACK: u16 = 4;
/// `struct nlmsghdr`.
const HEADER_BYTES: usize = 16;

/// The messages of one run of a program, in files that the floor's program sends again.
#[derive(Debug)]
pub(super) struct Floor {
    /// The program.
    pub(super) program: PathBuf,
    /// Those that change something.
    pub(super) changes: PathBuf,
    /// How many these are.
    pub(super) change_count: usize,
    /// All of them: the looks at the kernel too.
    pub(super) all: PathBuf,
    /// The files that were there when it had ended.
    pub(super) files: PathBuf,
}

impl Floor {
    /// Runs `command` under strace and takes what it sends on its first descriptor, the netlink socket, and
    /// what there is below `written` then.
    ///
    /// # Errors
    /// When strace, the command or the compiler fails, or no change was sent.
    pub(super) fn of(command: &[&str], directory: &Path, written: &Path) -> Result<Self> {
        let trace = directory.join("messages.trace");
        stdout_of(
            Command::new("strace")
                .args(["--trace=sendto", "--write=3", "--output"])
                .arg(&trace)
                .args(command),
        )?;
        let messages = parse(&fs::read_to_string(&trace)?)?;
        let changes: Vec<&Vec<u8>> = messages.iter().filter(|bytes| is_change(bytes)).collect();
        ensure!(!changes.is_empty(), "no change was sent");
        let floor = Self {
            program: build(directory)?,
            changes: directory.join("changes.netlink"),
            change_count: changes.len(),
            all: directory.join("all.netlink"),
            files: directory.join("files.list"),
        };
        fs::write(&floor.files, records(written)?)?;
        fs::write(
            &floor.changes,
            changes.into_iter().flatten().copied().collect::<Vec<u8>>(),
        )?;
        fs::write(&floor.all, messages.concat())?;
        Ok(floor)
    }
}

/// What is below a directory, as the floor's program reads it: a path that ends with a NUL, the size in four
/// bytes and the content; -1 is the size of a directory, which comes before what is in it.
fn records(directory: &Path) -> Result<Vec<u8>> {
    let mut records = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        records.extend(path.as_os_str().as_encoded_bytes());
        records.push(0);
        if path.is_dir() {
            records.extend((-1_i32).to_ne_bytes());
            records.extend(self::records(&path)?);
        } else {
            let bytes = fs::read(&path)?;
            records.extend(i32::try_from(bytes.len())?.to_ne_bytes());
            records.extend(bytes);
        }
    }
    Ok(records)
}

fn build(directory: &Path) -> Result<PathBuf> {
    let source = directory.join("floor.c");
    let program = directory.join("floor");
    fs::write(&source, include_str!("floor.c"))?;
    stdout_of(
        Command::new("musl-gcc")
            .args(["-static", "-O2", "-Wall", "-Werror", "-o"])
            .args([&program, &source]),
    )?;
    Ok(program)
}

/// strace prints a message as lines of ` | 00010  00 00 … 00 00  text |`, sixteen bytes each.
fn parse(trace: &str) -> Result<Vec<Vec<u8>>> {
    let mut messages: Vec<Vec<u8>> = Vec::new();
    for line in trace.lines() {
        let Some(dump) = line.strip_prefix(" | ") else {
            continue;
        };
        let (offset, rest) = dump.split_once("  ").context("a line of a dump is cut")?;
        let hexadecimal = rest.get(..49).context("a line of a dump is cut")?;
        if offset.bytes().all(|digit| digit == b'0') {
            messages.push(Vec::new());
        }
        let message = messages.last_mut().context("a dump without its begin")?;
        for byte in hexadecimal.split_whitespace() {
            message.push(u8::from_str_radix(byte, 16)?);
        }
    }
    for message in &mut messages {
        let length = message
            .first_chunk()
            .map(|bytes| u32::from_ne_bytes(*bytes));
        if length.map(usize::try_from) != Some(Ok(message.len())) || message.len() < HEADER_BYTES {
            bail!("strace's dump is not one message: {message:02x?}");
        }
        message.resize(message.len().next_multiple_of(4), 0);
    }
    Ok(messages)
}

fn is_change(message: &[u8]) -> bool {
    matches!(message, [_, _, _, _, _, _, a, b, ..] if u16::from_ne_bytes([*a, *b]) & ACK != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_put_together_again() {
        let trace = "\
sendto(3, [{nlmsg_len=20, nlmsg_type=RTM_SETLINK}], 20, MSG_DONTWAIT, NULL, 0) = 20
 | 00000  14 00 00 00 13 00 05 00  01 00 00 00 00 00 00 00  ................ |
 | 00010  61 62 63 64                                       abcd             |
sendto(3, [{nlmsg_len=17, nlmsg_type=RTM_GETADDR}], 17, MSG_DONTWAIT, NULL, 0) = 17
 | 00000  11 00 00 00 16 00 01 03  02 00 00 00 00 00 00 00  ................ |
 | 00010  00                                                .                |
+++ exited with 0 +++
";
        let messages = parse(trace).unwrap();
        let lengths: Vec<usize> = messages.iter().map(Vec::len).collect();
        assert_eq!(lengths, [20, 20]);
        assert!(messages[0].ends_with(b"abcd"));
        assert!(is_change(&messages[0]) && !is_change(&messages[1]));
        assert!(parse(" | 00000  14 00").is_err());
    }
}
