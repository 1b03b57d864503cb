//! The account that `deploy/annotation` is for, and what is deployed for it.

use std::fs;

use anyhow::{Context as _, Result};
use dra_guest_tests::cluster::{Client, Cluster, shipped};
use dra_guest_tests::command::stdout_of;
use serde_json::{Value, json};

use crate::PODS;

const NAMESPACE: &str = "dra-guest";
pub const NAME: &str = "dra-guest-relay";

/// Gives the account every right there is, until it is taken away by [`narrow`].
pub fn widen(admin: &Client) -> Result<()> {
    admin
        .create(
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            &json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                "metadata": {"name": "wide"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"kind": "ServiceAccount", "namespace": NAMESPACE, "name": NAME}],
            }),
        )?
        .object()?;
    Ok(())
}

/// See [`widen`].
pub fn narrow(admin: &Client) -> Result<()> {
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/wide";
    admin.delete(path)?.object()?;
    Ok(())
}

/// A token that is bound to a pod of the account on that node; to none without one.
pub fn token(admin: &Client, node: Option<&str>) -> Result<String> {
    let bound_to = match node {
        None => Value::Null,
        Some(node) => {
            let pods = PODS.replace("/default/", &format!("/{NAMESPACE}/"));
            let pod = admin
                .create(
                    &pods,
                    &json!({
                        "apiVersion": "v1", "kind": "Pod",
                        "metadata": {"generateName": "relay-"},
                        "spec": {
                            "serviceAccountName": NAME, "nodeName": node,
                            "automountServiceAccountToken": false,
                            "containers": [{"name": "main", "image": "none", "imagePullPolicy": "Never"}],
                        },
                    }),
                )?
                .object()?;
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"],
            })
        }
    };
    let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{NAME}/token");
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": {"audiences": [], "expirationSeconds": 3600, "boundObjectRef": bound_to},
    });
    let answer = admin.create(&path, &request)?.object()?;
    let token = answer.pointer("/status/token").and_then(Value::as_str);
    token.map(str::to_owned).context("the request has no token")
}

/// Deploys `deploy/base` with the component, all but the `DaemonSet`, which is handed back: the test starts the relay.
pub fn deploy(cluster: &Cluster) -> Result<Value> {
    let directory = tempfile::tempdir()?;
    let place = |part| shipped(directory.path(), part);
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": [place("base")], "components": [place("annotation")],
    });
    let file = directory.path().join("kustomization.yaml");
    fs::write(file, kustomization.to_string())?;
    let made = stdout_of(cluster.kubectl()?.arg("kustomize").arg(directory.path()))?;
    let objects: Vec<Value> = serde_saphyr::from_multiple(&made)?;
    let (mut sets, others): (Vec<_>, Vec<_>) = objects
        .into_iter()
        .partition(|object| object["kind"] == "DaemonSet");
    let list = directory.path().join("list.json");
    let others = json!({"apiVersion": "v1", "kind": "List", "items": others});
    fs::write(&list, others.to_string())?;
    stdout_of(cluster.kubectl()?.args(["create", "-f"]).arg(list))?;
    sets.pop().context("there is no DaemonSet")
}
