//! The hook, killed before each of its system calls: the old document or the new one, never half.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::direct::Container;
use crate::scene::FILE;

/// The system calls of a whole run, each with how often it was made before: what strace counts by.
fn calls(container: &Container) -> Vec<(String, usize)> {
    let trace = container.path("trace");
    let strace = ["strace", "-o", trace.to_str().unwrap()];
    container.run_under(&strace, &[]).assert_done();
    let mut made: BTreeMap<String, usize> = BTreeMap::new();
    let text = fs::read_to_string(&trace).unwrap();
    let mut calls = Vec::new();
    for line in text.lines() {
        let Some((name, _)) = line.split_once('(') else {
            continue;
        };
        if !name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            continue;
        }
        let number = made.entry(name.to_owned()).or_default();
        *number += 1;
        // The first is strace's own.
        if name != "execve" {
            calls.push((name.to_owned(), *number));
        }
    }
    calls
}

fn anywhere() {
    let old = "an older document";
    let container = Container::new();
    let file = container.vm().join(FILE);
    let calls = calls(&container);
    assert!(
        calls.iter().any(|(name, _)| name == "renameat"),
        "{calls:?}"
    );
    let new = fs::read_to_string(&file).unwrap();
    let mut leftovers = 0;
    for older in [None, Some(old)] {
        let mut replaced = 0;
        for (name, number) in &calls {
            let _ = fs::remove_file(&file);
            if let Some(text) = older {
                fs::write(&file, text).unwrap();
            }
            let inject = format!("inject={name}:signal=KILL:when={number}");
            let trace = format!("trace={name}");
            let strace = ["strace", "-o", "/dev/null", "-e", &trace, "-e", &inject];
            let run = container.run_under(&strace, &[]);
            assert_eq!(run.code, None, "{name} {number}: {run:?}");
            let found = fs::read_to_string(&file).ok();
            if found.as_deref() == Some(&*new) {
                replaced += 1;
            } else {
                assert_eq!(found.as_deref(), older, "{name} {number}");
            }
            leftovers += container
                .vm_files()
                .iter()
                .filter(|name| *name != FILE)
                .count();
            age(&container);
            // The next run clears up and writes.
            container.run(&[]).assert_done();
            assert_eq!(fs::read_to_string(&file).unwrap(), new, "{name} {number}");
            if older.is_some() || found.is_none() {
                assert_eq!(container.vm_files(), [FILE], "{name} {number}");
            }
        }
        // The kills were on both sides of the rename.
        assert!(
            replaced > 0 && replaced < calls.len(),
            "{replaced} of {}",
            calls.len()
        );
    }
    assert!(leftovers > 0, "no run was killed while it wrote");
}

/// Makes what a killed run left look as old as it is when a runtime starts the container again.
fn age(container: &Container) {
    for name in container.vm_files().iter().filter(|name| *name != FILE) {
        let path = container.vm().join(name);
        let touched = Command::new("touch")
            .args(["-d", "10 minutes ago"])
            .arg(path)
            .status();
        assert!(touched.unwrap().success());
    }
}

pub(crate) const CHECKS: &[(&str, fn())] = &[("41_before_each_system_call", anywhere)];
