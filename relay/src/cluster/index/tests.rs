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
            .map(|claim| {
                let (claim, requests) = match claim.split_once(':') {
                    Some((claim, request)) => (claim, Requests::Some([request.to_owned()].into())),
                    None => (*claim, Requests::All),
                };
                (format!("{namespace}/{claim}").parse().unwrap(), requests)
            })
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

/// The VMs that have a claim.
fn users(index: &Index, claim: &str) -> Vec<String> {
    let users = index.users(&claim.parse().unwrap());
    users
        .iter()
        .map(|user| match &user.requests {
            Requests::All => user.vm.to_string(),
            Requests::Some(names) => format!("{} {names:?}", user.vm),
        })
        .collect()
}

fn touched(cids: &[u32], claims: &[&str]) -> Touched {
    Touched {
        cids: cids.iter().copied().collect(),
        claims: claims
            .iter()
            .map(|claim| format!("default/{claim}").parse().unwrap())
            .collect(),
    }
}

fn is_empty(index: &Index) -> bool {
    index.pods.is_empty()
        && index.vms.is_empty()
        && index.pods_of.is_empty()
        && index.vms_at.is_empty()
        && index.pods_with.is_empty()
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
        assert_eq!(index.put(second.clone()), touched(&[5], &["nic"]));
        assert_eq!(users(&index, "default/nic"), ["a"]);
        assert_eq!(at(&index, 5), "a default/nic");
        assert_eq!(index.put(second), Touched::default(), "nothing is new");
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
        touched(&[5], &["gpu", "nic"])
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
    assert_eq!(
        index.remove(Kind::Vm, &name("a")),
        touched(&[5], &["nic-a"])
    );
    assert_eq!(users(&index, "default/nic-a"), Vec::<String>::new());
    assert_eq!(at(&index, 5), "b default/nic-b");
    assert_eq!(index.problems(5), Vec::<String>::new());
}

#[test]
fn the_cid_of_a_vm_that_has_ended_is_free() {
    let mut index = Index::default();
    index.put(vm("a", 5));
    index.put(pod("p", "a", &["nic-a"]));
    index.put(vm("b", 5));
    assert_eq!(at(&index, 5), "a default/nic-a", "b has no pod yet");
    assert_eq!(
        index.remove(Kind::Pod, &name("p")),
        touched(&[5], &["nic-a"])
    );
    index.put(pod("q", "b", &["nic-b"]));
    assert_eq!(at(&index, 5), "b default/nic-b");
    assert_eq!(index.problems(5), Vec::<String>::new());
}

#[test]
fn a_vm_that_changes_its_cid_leaves_the_old_one() {
    let mut index = Index::default();
    index.put(vm("a", 5));
    index.put(pod("p", "a", &["nic"]));
    assert_eq!(index.put(vm("a", 6)), touched(&[5, 6], &["nic"]));
    assert_eq!(
        (at(&index, 5).as_str(), at(&index, 6).as_str()),
        ("", "a default/nic")
    );
}

#[test]
fn a_claim_that_two_vms_share_is_of_both() {
    let mut index = Index::default();
    index.put(vm("a", 5));
    index.put(vm("b", 6));
    index.put(pod("p", "a", &["shared:vf", "own"]));
    // Only the claim's users are others now, not who A is and what it may speak of.
    assert_eq!(
        index.put(pod("q", "b", &["shared"])),
        touched(&[6], &["shared"])
    );
    assert_eq!(at(&index, 5), "a default/own default/shared");
    assert_eq!(at(&index, 6), "b default/shared");
    assert_eq!(users(&index, "default/shared"), [r#"a {"vf"}"#, "b"]);
    index.remove(Kind::Pod, &name("q"));
    assert_eq!(users(&index, "default/shared"), [r#"a {"vf"}"#]);
}

#[test]
fn two_pods_of_a_vm_are_one_user() {
    let mut index = Index::default();
    index.put(vm("a", 5));
    index.put(pod("source", "a", &["nic:vf"]));
    index.put(pod("target", "a", &["nic:gpu"]));
    assert_eq!(users(&index, "default/nic"), [r#"a {"gpu", "vf"}"#]);
    index.remove(Kind::Pod, &name("source"));
    assert_eq!(users(&index, "default/nic"), [r#"a {"gpu"}"#]);
}

#[test]
fn a_vm_that_has_moved_to_another_node_uses_nothing_here() {
    let mut index = Index::default();
    index.put(vm("a", 5));
    index.put(pod("source", "a", &["nic"]));
    // Its label names the other node: the watch says that it is gone, while the pod of the source still ends.
    assert_eq!(index.remove(Kind::Vm, &name("a")), touched(&[5], &["nic"]));
    assert_eq!(users(&index, "default/nic"), Vec::<String>::new());
}

#[test]
fn a_pod_of_another_namespace_gives_nothing() {
    let mut index = Index::default();
    index.put(vm("a", 5));
    index.put(pod("p", "a", &["nic"]));
    index.put(pod_in("strangers", "x", "a", &["nic"]));
    assert_eq!(at(&index, 5), "a default/nic");
    assert_eq!(users(&index, "strangers/nic"), Vec::<String>::new());
}

#[test]
fn what_a_new_list_does_not_have_is_gone() {
    let mut index = Index::default();
    for (uid, cid) in [("a", 5), ("b", 6)] {
        index.put(vm(uid, cid));
        index.put(pod(&format!("pod-{uid}"), uid, &[&format!("nic-{uid}")]));
    }
    let listed = HashSet::from([name("b")]);
    assert_eq!(index.retain(Kind::Vm, &listed), touched(&[5], &["nic-a"]));
    assert_eq!(
        (at(&index, 5).as_str(), at(&index, 6).as_str()),
        ("", "b default/nic-b")
    );
    index.retain(Kind::Vm, &HashSet::new());
    index.retain(Kind::Pod, &HashSet::new());
    assert!(is_empty(&index), "{index:?}");
}
