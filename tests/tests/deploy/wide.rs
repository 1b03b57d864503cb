//! Rights as wide as a driver's: for an account that no policy holds, and for the relay's for a while, so that
//! the policy alone is in its way.

use anyhow::Result;
use dra_guest_tests::cluster::{Client, NODE, ServiceAccount};
use dra_guest_tests::wait;
use serde_json::{Value, json};

use crate::bed::{Bed, DRIVER};
use crate::rights::{RELAY, may};

const NAME: &str = "as-wide-as-a-driver";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";

fn rules() -> Vec<Value> {
    let rule = |resource: &str, verbs: &[&str]| json!({"apiGroups": ["resource.k8s.io"], "resources": [resource], "verbs": verbs});
    let mut of_driver = rule(
        "resourceclaims/driver",
        &["associated-node:patch", "associated-node:update"],
    );
    of_driver["resourceNames"] = json!([DRIVER]);
    vec![
        rule("resourceclaims/status", &["patch", "update"]),
        rule("resourceclaims/binding", &["patch", "update"]),
        of_driver,
    ]
}

/// The other account, with a token of a pod on the node.
pub fn account(bed: &mut Bed) -> Result<Client> {
    if let Some(client) = &bed.wide {
        return Ok(client.clone());
    }
    let client = ServiceAccount::create(bed.admin(), NAME, &rules())?.on_node(NODE)?;
    bed.wide = Some(client.clone());
    Ok(client)
}

/// Gives the relay's account these rights as long as the work takes.
pub fn with_relay(bed: &Bed, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let name = "the-relay-as-wide-as-a-driver";
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "namespace": "dra-guest", "name": "dra-guest-relay"}],
    });
    bed.admin().create(BINDINGS, &binding)?.object()?;
    let outcome = wait_for(bed, true).and_then(|()| work());
    bed.admin()
        .delete(&format!("{BINDINGS}/{name}"))?
        .object()?;
    wait_for(bed, false)?;
    outcome
}

/// The API server reads bindings from a cache of its own, some milliseconds later.
fn wait_for(bed: &Bed, allowed: bool) -> Result<()> {
    wait::until("the relay's rights", wait::PATIENCE, || {
        let binding = json!({
            "group": "resource.k8s.io", "resource": "resourceclaims", "subresource": "binding",
            "verb": "patch", "namespace": "default",
        });
        Ok((may(bed.admin(), RELAY, &binding)? == allowed).then_some(()))
    })
}
