use std::fs;
use std::num::NonZeroU32;
use std::slice;

use tempfile::TempDir;

use super::*;

const INDEX: u32 = 7;

fn step(action: Action) -> Step {
    Step {
        device: 0,
        interface: INDEX,
        name: "net1".to_owned(),
        action,
        reason: String::new(),
        source: None,
    }
}

fn add(address: &str) -> Step {
    let address = address.parse().unwrap();
    step(Action::AddAddress { address })
}

fn route() -> Step {
    let route = r#"{"destination": "203.0.113.0/24", "interface": 7, "protocol": 218}"#;
    let route = serde_json::from_str(route).unwrap();
    step(Action::AddRoute { route })
}

/// Of what brings it back the kernel does not say who undid it.
fn rename() -> Step {
    let to = "net1".to_owned();
    step(Action::Rename { to })
}

fn removal(removed: Removed) -> Removal {
    let port = NonZeroU32::new(812).unwrap();
    Removal { removed, port }
}

fn address_removed(address: &str) -> Removal {
    removal(Removed::Address(INDEX, address.parse().unwrap()))
}

/// A `/proc` where the process 812 is called so.
fn proc(name: &str) -> TempDir {
    let proc = TempDir::new().unwrap();
    let put = |path: &str, text: &str| {
        let path = proc.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("net/netlink", "sk Eth Pid\n0 0 812\n");
    put("1/status", "Name:\tinit\n");
    put(
        "812/status",
        &format!("Name:\t{name}\nVmSize:\t1 kB\nCapPrm:\t1000\n"),
    );
    proc
}

fn named(foes: &mut Foes, proc: &TempDir, steps: &[Step]) -> String {
    let steps: Vec<&Step> = steps.iter().collect();
    let now = Instant::now();
    foes.look(proc.path(), &steps, now).join("; ")
}

const REMOVED: &str = "removed through the netlink port 812, that of foe (pid 812)";
const MAY_BE: &str = "it may be foe (pid 812), or one that ends at once, as ip in a script";

#[tokio::test(start_paused = true)]
async fn what_the_kernel_says_is_told_apart_from_what_may_be() {
    let proc = proc("foe");
    let mut foes = Foes::default();
    let unsaid = format!("the kernel does not say who; {MAY_BE}");
    let address = add("192.0.2.5/24");
    assert_eq!(named(&mut foes, &proc, slice::from_ref(&address)), unsaid);
    foes.note(proc.path(), address_removed("192.0.2.5/24"));
    assert_eq!(named(&mut foes, &proc, slice::from_ref(&address)), REMOVED);
    // Another address, that of another interface, and what is no address.
    assert_eq!(named(&mut foes, &proc, &[add("192.0.2.6/24")]), unsaid);
    let elsewhere = Step {
        interface: 8,
        ..address.clone()
    };
    assert_eq!(named(&mut foes, &proc, &[elsewhere]), unsaid);
    assert_eq!(named(&mut foes, &proc, &[rename()]), unsaid);
    let both = [address.clone(), rename()];
    let expected = format!("{REMOVED}; the kernel does not say who of the rest; {MAY_BE}");
    assert_eq!(named(&mut foes, &proc, &both), expected);
    // The kernel takes the routes with the address.
    assert_eq!(
        named(&mut foes, &proc, &[address.clone(), route()]),
        REMOVED
    );
    assert_eq!(named(&mut foes, &proc, &[route()]), unsaid);
    foes.note(proc.path(), removal(Removed::Route(Some(INDEX))));
    assert_eq!(named(&mut foes, &proc, &[route()]), REMOVED);
    // A minute later somebody else may have done it.
    tokio::time::advance(RECENT).await;
    assert_eq!(named(&mut foes, &proc, &[address]), unsaid);
}

#[test]
fn of_what_nobody_undoes_by_netlink_nobody_is_named() {
    let sysctl = step(Action::SetSysctl {
        sysctl: crate::plan::Sysctl::RpFilter,
        from: 1,
        to: 2,
    });
    assert_eq!(named(&mut Foes::default(), &proc("foe"), &[sysctl]), "");
}

#[test]
fn who_was_named_stays_so_until_another_word() {
    let (first, second) = (proc("first"), proc("second"));
    let mut foes = Foes::default();
    let (device, steps) = (DeviceIdentity::default(), [&rename()]);
    let mut name = |proc: &TempDir, why: &str| {
        let why = why.to_owned();
        foes.name(proc.path(), &device, why, &steps, Instant::now())
    };
    assert!(
        name(&first, "5 times")
            .starts_with("5 times; the kernel does not say who; it may be first (pid 812),")
    );
    assert!(name(&second, "5 times").contains("first"));
    assert!(name(&second, "6 times").contains("second"));
    foes.retain(|_| false);
    assert!(foes.named.is_empty());
}

#[tokio::test(start_paused = true)]
async fn no_more_is_remembered_than_so_much_and_the_old_makes_room() {
    let proc = proc("foe");
    let mut foes = Foes::default();
    for host in 1..=1000 {
        foes.note(proc.path(), removal(Removed::Route(Some(host))));
    }
    assert_eq!(foes.removers.len(), REMOVALS);
    tokio::time::advance(RECENT).await;
    foes.note(proc.path(), address_removed("192.0.2.5/24"));
    assert_eq!(foes.removers.len(), 1);
    assert_eq!(named(&mut foes, &proc, &[add("192.0.2.5/24")]), REMOVED);
}

#[test]
fn the_programs_of_a_script_are_named_once_and_the_last_of_them() {
    let (proc, later) = (proc("ip"), proc("ip"));
    fs::rename(later.path().join("812"), later.path().join("900")).unwrap();
    let mut foes = Foes::default();
    foes.note(proc.path(), address_removed("192.0.2.5/24"));
    foes.note(proc.path(), removal(Removed::Rule));
    let (removed, port) = (Removed::Rule, NonZeroU32::new(900).unwrap());
    foes.note(later.path(), Removal { removed, port });
    // One that has ended before it was seen says nothing.
    foes.note(
        proc.path(),
        Removal {
            removed,
            port: NonZeroU32::new(901).unwrap(),
        },
    );
    let rule = r#"{"priority": 500, "family": "ipv4", "table": 7, "protocol": 218}"#;
    let rule = step(Action::AddRule {
        rule: serde_json::from_str(rule).unwrap(),
    });
    let last = "removed through the netlink port 900, that of ip (pid 900)";
    assert_eq!(
        named(&mut foes, &proc, &[rule.clone(), add("192.0.2.5/24")]),
        last
    );
    assert_eq!(named(&mut foes, &proc, &[rule]), last);
}

#[tokio::test(start_paused = true)]
async fn a_program_that_ended_before_the_pass_is_seen_when_something_changes() {
    let (proc, empty) = (proc("foe"), proc("foe"));
    fs::remove_dir_all(empty.path().join("812")).unwrap();
    let renames = [rename()];
    let mut foes = Foes::default();
    // As long as nothing is undone nobody is looked for.
    foes.glance(proc.path());
    assert!(!named(&mut foes, &empty, &renames).contains("foe"));
    // A pass looks once, and this is another.
    tokio::time::advance(Duration::from_secs(1)).await;
    foes.watch_out(Instant::now());
    foes.glance(proc.path());
    let unsaid = format!("the kernel does not say who; {MAY_BE}");
    assert_eq!(named(&mut foes, &empty, &renames), unsaid);
    // One that is there yet is named once.
    assert_eq!(named(&mut foes, &proc, &renames), unsaid);
    tokio::time::advance(RECENT).await;
    assert!(!named(&mut foes, &empty, &renames).contains("foe"));
    // Whatever is announced, it is looked for once between two passes.
    foes.watch_out(Instant::now());
    foes.glance(proc.path());
    assert!(foes.seen.iter().all(|(_, at)| is_past(*at, Instant::now())));
    tokio::time::advance(Duration::from_secs(1)).await;
    foes.begin();
    foes.glance(proc.path());
    assert_eq!(named(&mut foes, &empty, &renames), unsaid);
}

#[test]
fn no_more_programs_are_remembered_than_so_many() {
    let mut foes = Foes::default();
    for number in 0..2 * SEEN {
        foes.watch_out(Instant::now());
        foes.begin();
        foes.glance(proc(&format!("foe-{number}")).path());
    }
    assert_eq!(foes.seen.len(), SEEN);
}
