//! The system calls of a program, by strace.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// What a program asked of the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SystemCalls {
    /// All of them, those of its threads included.
    pub total: usize,
    /// How often each.
    pub by_name: BTreeMap<String, usize>,
    /// Netlink messages that change a link (`RTM_SETLINK`, `RTM_NEWLINK`), as sent.
    pub link_changes: usize,
}

/// Runs a program under strace; `directory` takes the trace.
///
/// # Errors
/// When strace or the program fails.
pub(super) fn count(command: &[&str], directory: &Path) -> Result<SystemCalls> {
    let trace = directory.join("trace");
    let output = Command::new("strace")
        .args(["--follow-forks", "--output"])
        .arg(&trace)
        .args(command)
        .output()
        .context("strace cannot be started: run `make setup`")?;
    if !output.status.success() {
        bail!(
            "strace of {command:?} ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(parse(&std::fs::read_to_string(&trace)?))
}

/// Lines are `PID NAME(…) = …`; the second half of an interrupted call is `PID <... NAME resumed>…`.
fn parse(trace: &str) -> SystemCalls {
    let mut calls = SystemCalls::default();
    for line in trace.lines() {
        let call = line
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .trim_start();
        let Some((name, rest)) = call.split_once('(') else {
            continue;
        };
        if call.starts_with('<') || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            continue;
        }
        calls.total += 1;
        *calls.by_name.entry(name.to_owned()).or_default() += 1;
        let changes = ["nlmsg_type=RTM_SETLINK", "nlmsg_type=RTM_NEWLINK"]
            .iter()
            .any(|kind| rest.contains(kind));
        if name.starts_with("send") && changes {
            calls.link_changes += 1;
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_once() {
        let trace = "\
10 execve(\"/bin/x\", 0x7 /* 3 vars */) = 0
10 read(3,  <unfinished ...>
11 sendto(4, [{nlmsg_len=40, nlmsg_type=RTM_SETLINK, nlmsg_flags=0}, \"\"...], 40, 0, NULL, 0) = 40
10 <... read resumed>\"\"..., 10) = 10
11 recvfrom(4, [{nlmsg_len=40, nlmsg_type=RTM_NEWLINK}], 40, 0, NULL, NULL) = 40
10 --- SIGCHLD {si_signo=SIGCHLD} ---
10 +++ exited with 0 +++
";
        let calls = parse(trace);
        assert_eq!(calls.total, 4);
        assert_eq!(calls.by_name.get("read"), Some(&1));
        assert_eq!(calls.link_changes, 1);
    }
}
