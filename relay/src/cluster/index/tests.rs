//! The index under the orders that events come in.

use super::*;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn vm(uid: &str, cid: u32) -> Entry {
    Entry::Vm(Vm {
        uid: name(uid),
        namespace: name("default"),
        name: name("vm"),
        cid: Some(cid),
    })
}

fn pod_in(namespace: &str, uid: &str, vm: &str, claims: &[&str]) -> Entry {
    Entry::Pod(Pod {
        uid: name(uid),
        namespace: name(namespace),
        vm: name(vm),
        claims: claims
            .iter()
            .map(|claim| format!("{namespace}/{claim}").parse().unwrap())
            .collect(),
    })
}

fn pod(uid: &str, vm: &str, claims: &[&str]) -> Entry {
    pod_in("default", uid, vm, claims)
}

/// The VM with a CID and its claims, in short.
fn at(index: &Index, cid: u32) -> String {
    index.guest(cid).map_or_else(String::new, |guest| {
        let claims: Vec<String> = guest.claims.iter().map(ToString::to_string).collect();
        format!("{} {}", guest.vm, claims.join(" "))
    })
}

fn is_empty(index: &Index) -> bool {
    index.pods.is_empty()
        && index.vms.is_empty()
        && index.pods_of.is_empty()
        && index.vms_at.is_empty()
        && index.users.is_empty()
}

#[test]
fn pod_and_vm_come_in_any_order() {
    for entries in [
        [pod("p", "a", &["nic"]), vm("a", 5)],
        [vm("a", 5), pod("p", "a", &["nic"])],
    ] {
        let mut index = Index::default();
        let [first, second] = entries;
        index.put(first);
        assert_eq!(at(&index, 5), "");
        assert_eq!(index.put(second.clone()), Touched::from([5]));
        assert_eq!(at(&index, 5), "a default/nic");
        assert_eq!(index.put(second), Touched::new(), "nothing is new");
    }
}

#[test]
fn claims_that_come_later_are_the_guests_too() {
    let mut index = Index::default();
    index.put(vm("a", 5));
    index.put(pod("p", "a", &[]));
    assert_eq!(at(&index, 5), "");
    assert_eq!(
        index.put(pod("p", "a", &["nic", "gpu"])),
        Touched::from([5])
    );
    assert_eq!(at(&index, 5), "a default/gpu default/nic");
    index.put(pod("q", "a", &["disk"]));
    assert_eq!(at(&index, 5), "a default/disk default/gpu default/nic");
    index.remove(Kind::Pod, &name("p"));
    assert_eq!(at(&index, 5), "a default/disk");
}

#[test]
fn a_cid_that_two_vms_have_is_nobodys() {
    let mut index = Index::default();
    for (uid, claim) in [("a", "nic-a"), ("b", "nic-b")] {
        index.put(vm(uid, 5));
        index.put(pod(&format!("pod-{uid}"), uid, &[claim]));
    }
    assert_eq!(at(&index, 5), "");
    assert!(index.problems(5)[0].contains("a, b all have this CID"));
    assert_eq!(index.remove(Kind::Vm, &name("a")), Touched::from([5]));
    assert_eq!(at(&index, 5), "b default/nic-b");
    assert_eq!(index.problems(5), Vec::<String>::new());
}

#[test]
fn a_vm_that_changes_its_cid_leaves_the_old_one() {
    let mut index = Index::default();
    index.put(vm("a", 5));
    index.put(pod("p", "a", &["nic"]));
    assert_eq!(index.put(vm("a", 6)), Touched::from([5, 6]));
    assert_eq!(
        (at(&index, 5).as_str(), at(&index, 6).as_str()),
        ("", "a default/nic")
    );
}

#[test]
fn a_claim_that_two_vms_share_is_neithers() {
    let mut index = Index::default();
    index.put(vm("a", 5));
    index.put(vm("b", 6));
    index.put(pod("p", "a", &["shared", "own"]));
    assert_eq!(index.put(pod("q", "b", &["shared"])), Touched::from([5, 6]));
    assert_eq!(at(&index, 5), "a default/own");
    assert_eq!(at(&index, 6), "");
    assert!(index.problems(6)[0].starts_with("default/shared: several VMs"));
    assert_eq!(index.remove(Kind::Pod, &name("q")), Touched::from([5, 6]));
    assert_eq!(at(&index, 5), "a default/own default/shared");
}

#[test]
fn a_pod_of_another_namespace_gives_nothing() {
    let mut index = Index::default();
    index.put(vm("a", 5));
    index.put(pod("p", "a", &["nic"]));
    index.put(pod_in("strangers", "x", "a", &["nic"]));
    assert_eq!(at(&index, 5), "a default/nic");
}

#[test]
fn what_a_new_list_does_not_have_is_gone() {
    let mut index = Index::default();
    for (uid, cid) in [("a", 5), ("b", 6)] {
        index.put(vm(uid, cid));
        index.put(pod(&format!("pod-{uid}"), uid, &[&format!("nic-{uid}")]));
    }
    let listed = HashSet::from([name("b")]);
    assert_eq!(index.retain(Kind::Vm, &listed), Touched::from([5]));
    assert_eq!(
        (at(&index, 5).as_str(), at(&index, 6).as_str()),
        ("", "b default/nic-b")
    );
    index.retain(Kind::Vm, &HashSet::new());
    index.retain(Kind::Pod, &HashSet::new());
    assert!(is_empty(&index), "{index:?}");
}
