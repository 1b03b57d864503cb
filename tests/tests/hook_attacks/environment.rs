//! What the hook is started with: variables, descriptors, limits, a umask.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::case::{Case, Expected};
use crate::count;
use crate::direct::{Container, Run};
use crate::scene::{FILE, Scene};

/// A library whose constructor makes a file in the canary.
fn library(scene: &Scene) {
    let source = scene.path("preload.c");
    let owned = scene.path("canary/owned").display().to_string();
    let text = format!(
        "#include <fcntl.h>\n__attribute__((constructor)) static void own(void) {{ open({owned:?}, O_CREAT | O_WRONLY, 0600); }}\n"
    );
    fs::write(&source, text).unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&scene.path("root/poc.so"), &source])
        .status()
        .unwrap();
    assert!(compiled.success());
}

/// The hook has no environment of its own, so that runc before 1.3 hands it the image's (CVE-2025-23266).
fn of_the_image(scene: &mut Scene, variables: &[&str]) {
    scene.own_environment = false;
    scene
        .environment
        .extend(variables.iter().map(|text| (*text).to_owned()));
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "23_ld_preload",
        arrange: |scene| {
            library(scene);
            of_the_image(scene, &["LD_PRELOAD=/proc/self/cwd/poc.so"]);
        },
        expected: Expected::Written,
    },
    Case {
        name: "23b_ld_audit_and_ld_library_path",
        arrange: |scene| {
            library(scene);
            let variables = [
                "LD_AUDIT=/proc/self/cwd/poc.so",
                "LD_LIBRARY_PATH=/proc/self/cwd",
            ];
            of_the_image(scene, &variables);
        },
        expected: Expected::Written,
    },
    Case {
        name: "24_variables_that_programs_read",
        arrange: |scene| {
            let hostile = [
                "RUST_LOG=trace",
                "RUST_BACKTRACE=full",
                "RUST_MIN_STACK=1",
                "MALLOC_CHECK_=3",
                "TMPDIR=/canary",
                "HOME=/canary",
                "PATH=/canary",
                "KUBECONFIG=/canary/config",
                "KUBEVIRT_VM_MOUNT=/canary",
                "HTTPS_PROXY=http://192.0.2.1:1",
                "SSL_CERT_FILE=/canary/cert",
                "TZ=/canary/zone",
                "LANG=/canary",
                "DRA_GUEST_LOG=debug\n/canary",
            ];
            of_the_image(scene, &hostile);
        },
        expected: Expected::Written,
    },
];

/// Each of them missing: no file of the hook's own gets its number, so that no message ends in one.
fn standard_descriptors_are_missing() {
    for closed in ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"] {
        let container = Container::new();
        let before = container.canary();
        let script = format!("exec \"$@\" {closed}");
        let run = container.run_under(&["sh", "-c", &script, "sh"], &[]);
        count::compare(&before, &container.canary(), closed);
        assert_eq!(
            container
                .vm_files()
                .iter()
                .filter(|name| *name != FILE)
                .count(),
            0
        );
        if closed.contains('<') {
            // No state.
            assert_eq!(run.code, Some(1), "{closed}: {run:?}");
            assert_eq!(container.vm_files(), [""; 0]);
        } else {
            run.assert_done();
            container.assert_document();
        }
    }
}

/// Whatever descriptors a runtime leaks (CVE-2024-21626), none is there when input is read.
fn descriptors_are_leaked() {
    let container = Container::new();
    let before = container.canary();
    let canary = container.path("canary");
    let opened = format!(
        "exec 3<'{0}' 4>>'{0}/{FILE}' 7<>'{0}/etc/shadow' 9</ \n exec \"$@\"",
        canary.display()
    );
    let trace = container.path("trace");
    let strace = [
        "sh",
        "-c",
        &opened,
        "sh",
        "strace",
        "-y",
        "-o",
        trace.to_str().unwrap(),
    ];
    container.run_under(&strace, &[]).assert_done();
    container.assert_document();
    count::compare(&before, &container.canary(), "leaked descriptors");
    let trace = fs::read_to_string(trace).unwrap();
    let (_, after) = trace.split_once("close_range(3").unwrap();
    let name = canary.display().to_string();
    assert!(!after.contains(&name), "{after}");
}

fn a_umask_says_nothing_about_modes() {
    for umask in ["0777", "0000"] {
        let container = Container::new();
        let log = container.path("log");
        let script = format!("umask {umask}; exec \"$@\"");
        let option = format!("--log={}", log.display());
        let run = container.run_under(&["sh", "-c", &script, "sh"], &[&option]);
        run.assert_done();
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(container.vm().join(FILE)), 0o644, "{umask}");
        assert_eq!(mode(log), 0o640, "{umask}");
    }
}

/// Limits that leave no room: no document, or the whole one.
fn limits_are_hostile() {
    for (limit, written) in [
        ("-f 0", Some(false)),
        // Root may raise them, unless it is no whole root.
        ("-n 3", None),
        ("-v 8000", None),
        ("-i 0", Some(true)),
        ("-u 0", Some(true)),
        ("-c unlimited", Some(true)),
    ] {
        let container = Container::new();
        let before = container.canary();
        let script = format!("ulimit {limit}; exec \"$@\"");
        let run = container.run_under(&["bash", "-c", &script, "sh"], &[]);
        count::compare(&before, &container.canary(), limit);
        let done = run.code == Some(0);
        assert!(
            written.is_none_or(|written| written == done),
            "{limit}: {run:?}"
        );
        if done {
            container.assert_document();
        } else {
            assert!(!container.vm().join(FILE).exists(), "{limit}");
        }
    }
}

/// Signals that are ignored or blocked change nothing, the deadline's least of all.
fn nobody_reads_what_it_says() {
    let container = Container::new();
    // A pipe that is full and stays so.
    let (reader, mut writer) = std::io::pipe().unwrap();
    rustix::pipe::fcntl_setpipe_size(&writer, 4096).unwrap();
    std::io::Write::write_all(&mut writer, &[b'x'; 4096]).unwrap();
    let mut command = Command::new(container.hook());
    let mut child = command
        .arg("create-container")
        .stdin(Stdio::piped())
        .stderr(writer)
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), container.state()).unwrap();
    let status = child.wait().unwrap();
    count::run();
    drop(reader);
    // It wrote the document, had nobody to tell, and was ended by its own deadline.
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9)
    );
    container.assert_document();
    assert_eq!(container.vm_files(), [FILE]);
}

/// Logs that take nothing keep no container waiting.
fn a_log_takes_nothing() {
    let container = Container::new();
    let fifo = container.path("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let directory = container.path("canary");
    for log in [
        fifo.as_path(),
        directory.as_path(),
        "/dev/full".as_ref(),
        "/nowhere/log".as_ref(),
    ] {
        let option = format!("--log={}", log.display());
        container.run(&[&option]).assert_done();
        container.assert_document();
    }
    // With a reader that does not read.
    let _reader = File::options().read(true).write(true).open(&fifo).unwrap();
    let option = format!("--log={}", fifo.display());
    for _ in 0..1200 {
        let run: Run = container.run(&[&option]);
        run.assert_done();
    }
}

/// A kernel without one of the layers does without it, and that is said.
fn a_kernel_without_a_fence() {
    for (calls, said) in [
        ("seccomp", "system calls are not restricted"),
        // strace asks for no call at all where it puts in an answer, which the filter does not let pass.
        (
            "seccomp,landlock_create_ruleset",
            "places are not restricted",
        ),
        ("close_range", "descriptors that were inherited stay open"),
        ("timer_create", "no deadline of its own"),
        ("capset,capget", "capabilities are kept"),
        ("prlimit64", "the limit of descriptors is not set"),
        (
            "seccomp,landlock_create_ruleset",
            "places are not restricted",
        ),
    ] {
        let container = Container::new();
        let inject = format!("inject={calls}:error=ENOSYS");
        let run = container.run_under(&["strace", "-o", "/dev/null", "-e", &inject], &[]);
        run.assert_done();
        container.assert_document();
        assert!(run.stderr.contains(said), "{calls}: {}", run.stderr);
    }
    // An engine's own filter says EPERM.
    let container = Container::new();
    let strace = [
        "strace",
        "-o",
        "/dev/null",
        "-e",
        "inject=seccomp:error=EPERM",
    ];
    container.run_under(&strace, &[]).assert_done();
}

pub(crate) const CHECKS: &[(&str, fn())] = &[
    (
        "26_standard_descriptors_are_missing",
        standard_descriptors_are_missing,
    ),
    ("27_descriptors_are_leaked", descriptors_are_leaked),
    (
        "28_a_umask_says_nothing_about_modes",
        a_umask_says_nothing_about_modes,
    ),
    ("60_limits_are_hostile", limits_are_hostile),
    ("61_nobody_reads_what_it_says", nobody_reads_what_it_says),
    ("62_a_log_takes_nothing", a_log_takes_nothing),
    ("63_a_kernel_without_a_fence", a_kernel_without_a_fence),
];
