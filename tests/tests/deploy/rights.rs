//! What the relay's account may do: what `deploy/` says, and no more.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::cluster::deployment::DAEMON_SET;
use dra_guest_tests::cluster::{Client, VMS};
use serde_json::{Value, json};

use crate::bed::{Bed, CLAIMS, DRIVER, PODS, WITH_GUEST};
use crate::claim::Claim;

/// The relay, as the API server knows it.
pub const RELAY: &str = "system:serviceaccount:dra-guest:dra-guest-relay";
/// One of those accounts that nobody has given anything.
const NOBODY: &str = "system:serviceaccount:dra-guest:nobody";
/// What can be done to objects, and what is asked in the name of resources that are no objects.
const VERBS: [&str; 16] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "bind",
    "escalate",
    "impersonate",
    "use",
    "approve",
    "sign",
    "associated-node:patch",
    "arbitrary-node:patch",
];

pub fn claims_of_its_node(bed: &mut Bed) -> Result<()> {
    bed.install(WITH_GUEST)?;
    let relay = bed.as_relay()?;
    let own = Claim::create(bed, "worker-0", &[DRIVER])?;
    own.report(&relay)?.object()?;

    let of_other_node = Claim::create(bed, "worker-1", &[DRIVER])?;
    let of_other_driver = Claim::create(bed, "worker-0", &["gpu.example.com"])?;
    for (claim, verbs) in [
        (of_other_node, "[arbitrary-node:patch]"),
        (
            of_other_driver,
            "[associated-node:patch arbitrary-node:patch]",
        ),
    ] {
        let answer = claim.report(&relay)?;
        let words = format!(
            "changing status.devices requires resource=\"resourceclaims/driver\", verb=\"{verbs}\" permission"
        );
        assert_eq!(answer.status, 422, "{answer:?}");
        assert!(answer.message().contains(&words), "{}", answer.message());
        assert_eq!(claim.read(bed)?["status"]["devices"], Value::Null);
    }

    // A token that is not bound to a pod has no node.
    let path = "/api/v1/namespaces/dra-guest/serviceaccounts/dra-guest-relay/token";
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": {"audiences": [], "expirationSeconds": 3600},
    });
    let answer = bed.admin().create(path, &request)?.object()?;
    let token = answer["status"]["token"].as_str().context("a token")?;
    let claim = Claim::create(bed, "worker-0", &[DRIVER])?;
    let answer = claim.report(&bed.admin().with_token(token))?;
    assert_eq!(answer.status, 422, "{answer:?}");
    Ok(())
}

/// Asks for every verb and every resource that the API server serves, in a namespace and for all.
pub fn no_more(bed: &mut Bed) -> Result<()> {
    bed.install(WITH_GUEST)?;
    let mut found = BTreeSet::new();
    let mut resources = served(bed)?;
    // No object of these exists: the API server asks in their name (KEP-4817).
    for subresource in ["driver", "binding"] {
        resources.insert((
            "resource.k8s.io".to_owned(),
            format!("resourceclaims/{subresource}"),
        ));
    }
    ensure!(resources.len() > 100, "{} resources", resources.len());
    for (group, name) in &resources {
        let (resource, subresource) = name.split_once('/').unwrap_or((name, ""));
        for verb in VERBS {
            let attributes = json!({
                "group": group, "resource": resource, "subresource": subresource,
                "verb": verb, "namespace": "default", "name": if subresource == "driver" { DRIVER } else { "" },
            });
            if may(bed.admin(), RELAY, &attributes)? && !may(bed.admin(), NOBODY, &attributes)? {
                found.insert(format!("{verb} {group}/{name}"));
            }
        }
    }
    let expected = [
        "list /pods",
        "watch /pods",
        "list kubevirt.io/virtualmachineinstances",
        "watch kubevirt.io/virtualmachineinstances",
        "get resource.k8s.io/resourceclaims",
        "patch resource.k8s.io/resourceclaims/status",
        "associated-node:patch resource.k8s.io/resourceclaims/driver",
        "create events.k8s.io/events",
        "patch events.k8s.io/events",
    ];
    assert_eq!(found, expected.map(str::to_owned).into_iter().collect());

    // What all accounts may: ask about themselves, and nothing of a cluster.
    let rules = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "kube-system"},
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let review = bed.as_relay()?.create(path, &rules)?.object()?;
    let text = review["status"]["resourceRules"].to_string();
    for word in ["secrets", "nodes", "\"*\""] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    Ok(())
}

/// The attempts that would hurt most.
pub fn real_attempts(bed: &mut Bed) -> Result<()> {
    bed.install(WITH_GUEST)?;
    let relay = bed.as_relay()?;
    let claim = Claim::create(bed, "worker-0", &[DRIVER])?;
    let relays = "/api/v1/namespaces/dra-guest/pods";
    let own_pod = bed.relay()?["metadata"]["name"]
        .as_str()
        .context("its name")?
        .to_owned();
    let label = json!({"metadata": {"labels": {"mine": "1"}}});
    let merge = "application/merge-patch+json";
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let driver_role = format!("{roles}/dra-guest-relay-drivers");
    let policy = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/dra-guest-relay-own-condition";
    let token = "/api/v1/namespaces/kube-system/serviceaccounts/default/token";
    let token_request =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mine"},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    });
    let answers = [
        ("secrets", relay.get("/api/v1/secrets")),
        (
            "a secret",
            relay.get("/api/v1/namespaces/kube-system/secrets/x"),
        ),
        (
            "config maps",
            relay.get("/api/v1/namespaces/dra-guest/configmaps"),
        ),
        ("nodes", relay.get("/api/v1/nodes")),
        (
            "its node",
            relay.patch("/api/v1/nodes/worker-0", merge, &label),
        ),
        ("a pod", relay.create(PODS, &pod)),
        (
            "a pod's file",
            relay.get(&format!("{relays}/{own_pod}/exec?command=id")),
        ),
        (
            "its pod",
            relay.patch(&format!("{relays}/{own_pod}"), merge, &label),
        ),
        (
            "its pod's end",
            relay.delete(&format!("{relays}/{own_pod}")),
        ),
        (
            "its pod's status",
            relay.patch(&format!("{relays}/{own_pod}/status"), merge, &label),
        ),
        ("its daemon set", relay.patch(DAEMON_SET, merge, &label)),
        ("another's token", relay.create(token, &token_request)),
        (
            "all claims",
            relay.get("/apis/resource.k8s.io/v1/resourceclaims"),
        ),
        ("claims of a namespace", relay.get(CLAIMS)),
        ("a claim's labels", relay.patch(&claim.path, merge, &label)),
        ("a claim's end", relay.delete(&claim.path)),
        (
            "a claim's status by PUT",
            relay.replace(&claim.status(), &claim.read(bed)?),
        ),
        (
            "slices",
            relay.get("/apis/resource.k8s.io/v1/resourceslices"),
        ),
        ("a VM", relay.get(&format!("{VMS}/vm"))),
        (
            "a VM's labels",
            relay.patch(&format!("{VMS}/vm"), merge, &label),
        ),
        (
            "a VM's status",
            relay.patch(&format!("{VMS}/vm/status"), merge, &label),
        ),
        (
            "its own rights",
            relay.patch(&driver_role, merge, &json!({"rules": []})),
        ),
        ("its policy", relay.delete(policy)),
        ("leases", relay.get("/apis/coordination.k8s.io/v1/leases")),
    ];
    for (what, answer) in answers {
        let answer = answer?;
        ensure!(answer.status == 403, "{what}: {answer:?}");
    }
    Ok(())
}

/// Whether a user may do something, as the API server decides it.
pub fn may(admin: &Client, user: &str, attributes: &Value) -> Result<bool> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {
            "user": user, "resourceAttributes": attributes,
            "groups": ["system:serviceaccounts", "system:serviceaccounts:dra-guest", "system:authenticated"],
        },
    });
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let answer = admin.create(path, &review)?.object()?;
    Ok(answer["status"]["allowed"] == true)
}

/// Group and name of each resource and subresource.
fn served(bed: &Bed) -> Result<BTreeSet<(String, String)>> {
    let mut paths = vec![("/api/v1".to_owned(), String::new())];
    let groups = bed.get("/apis")?;
    for group in groups["groups"].as_array().context("groups")? {
        let name = group["name"].as_str().context("its name")?;
        for version in group["versions"].as_array().context("versions")? {
            let version = version["groupVersion"].as_str().context("its name")?;
            paths.push((format!("/apis/{version}"), name.to_owned()));
        }
    }
    let mut served = BTreeSet::new();
    for (path, group) in paths {
        let list = bed.get(&path)?;
        for resource in list["resources"].as_array().context("resources")? {
            let name = resource["name"].as_str().context("its name")?;
            served.insert((group.clone(), name.to_owned()));
        }
    }
    Ok(served)
}
