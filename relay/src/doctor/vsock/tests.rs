//! Nodes made of files.

use std::io;

use super::*;
use examination::Verdict;

fn last(examine: impl FnOnce(&mut Examination)) -> (Verdict, String) {
    let mut examination = Examination::new();
    examine(&mut examination);
    let check = examination.checks.pop().unwrap();
    assert_eq!(check.advice.is_some(), check.verdict == Verdict::Finding);
    (check.verdict, check.message)
}

fn put(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn the_device_is_there_or_its_class_is() {
    let root = tempfile::tempdir().unwrap();
    let (verdict, message) = last(|examination| vhost(root.path(), examination));
    assert_eq!(verdict, Verdict::Finding);
    assert!(message.contains("/dev/vhost-vsock"), "{message}");
    put(root.path(), "sys/class/misc/vhost-vsock/dev", "10:241\n");
    let (verdict, _) = last(|examination| vhost(root.path(), examination));
    assert_eq!(verdict, Verdict::Ok);
}

#[test]
fn a_kernel_without_the_mode_is_global() {
    let root = tempfile::tempdir().unwrap();
    let look = || last(|examination| mode(root.path(), examination));
    assert_eq!(look().0, Verdict::Ok);
    put(root.path(), "proc/sys/net/vsock/ns_mode", "global\n");
    put(root.path(), "proc/sys/net/vsock/child_ns_mode", "global\n");
    assert_eq!(look().0, Verdict::Ok);
    put(root.path(), "proc/sys/net/vsock/child_ns_mode", "local\n");
    let (verdict, message) = look();
    assert_eq!(verdict, Verdict::Finding);
    assert!(message.contains("child_ns_mode is \"local\""), "{message}");
}

#[test]
fn a_taken_port_is_right_when_a_relay_has_it() {
    let root = tempfile::tempdir().unwrap();
    let look = |number: i32| {
        let error = io::Error::from_raw_os_error(number);
        last(|examination| port(root.path(), Err(ListenError::Vsock(error)), examination))
    };
    let (in_use, not_permitted, no_family) = (98, 1, 97);
    put(root.path(), "proc/17/comm", "vhost-other\n");
    assert_eq!(look(in_use).0, Verdict::Finding);
    put(root.path(), "proc/18/comm", "dra-guest-relay\n");
    let (verdict, message) = look(in_use);
    assert_eq!(verdict, Verdict::Ok);
    assert!(message.ends_with("process 18"), "{message}");
    let (verdict, message) = look(not_permitted);
    assert_eq!(verdict, Verdict::Finding);
    assert!(message.contains("forbidden"), "{message}");
    assert_eq!(look(no_family).0, Verdict::Finding);
    let (verdict, _) = last(|examination| port(root.path(), Ok(()), examination));
    assert_eq!(verdict, Verdict::Ok);
}
