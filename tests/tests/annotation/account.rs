//! The account that `deploy/annotation` is for, and what is deployed for it.

use std::fs;

use anyhow::{Context as _, Result, bail};
use dra_guest_tests::cluster::{Client, Cluster};
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::programs::workspace;
use serde_json::{Value, json};

use crate::PODS;

const NAMESPACE: &str = "dra-guest";
pub const NAME: &str = "dra-guest-relay";

/// Makes the namespace and the account, with the right to watch pods that the base gives it.
pub fn create(admin: &Client) -> Result<()> {
    let subject = json!({"kind": "ServiceAccount", "namespace": NAMESPACE, "name": NAME});
    let role = |kind: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "watches-pods"});
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    for (path, object) in [
        (
            "/api/v1/namespaces".to_owned(),
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}),
        ),
        (
            format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts"),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME}}),
        ),
        (
            format!("{rbac}/clusterroles"),
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": "watches-pods"},
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}],
            }),
        ),
        (
            format!("{rbac}/clusterrolebindings"),
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                "metadata": {"name": "watches-pods"},
                "roleRef": role("ClusterRole"), "subjects": [subject],
            }),
        ),
    ] {
        admin.create(&path, &object)?.object()?;
    }
    Ok(())
}

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

/// What kustomize makes of the component on a `DaemonSet` with the base's name: its objects are created, and
/// the `DaemonSet` is handed back.
pub fn deploy(cluster: &Cluster) -> Result<Value> {
    let directory = tempfile::tempdir()?;
    let set = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {"template": {"spec": {
            "securityContext": {"runAsNonRoot": true},
            "containers": [{"name": "relay", "args": ["--node-name=$(NODE_NAME)"], "volumeMounts": [{"name": "token"}]}],
            "volumes": [{"name": "token"}],
        }}},
    });
    fs::write(directory.path().join("set.json"), set.to_string())?;
    // Kustomize takes no absolute paths.
    let up = "../".repeat(directory.path().components().count() - 1);
    let component = workspace().join("deploy/annotation");
    let component = component.strip_prefix("/")?;
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": ["set.json"], "components": [format!("{up}{}", component.display())],
    });
    fs::write(
        directory.path().join("kustomization.yaml"),
        kustomization.to_string(),
    )?;
    let made = stdout_of(cluster.kubectl()?.arg("kustomize").arg(directory.path()))?;
    let mut patched = None;
    let objects: Vec<Value> = serde_saphyr::from_multiple(&made)?;
    for object in objects {
        let kind = object["kind"].as_str().unwrap_or_default();
        let (group, plural) = match kind {
            "DaemonSet" => {
                patched = Some(object);
                continue;
            }
            "ClusterRole" => ("rbac.authorization.k8s.io", "clusterroles"),
            "ClusterRoleBinding" => ("rbac.authorization.k8s.io", "clusterrolebindings"),
            "ValidatingAdmissionPolicy" => (
                "admissionregistration.k8s.io",
                "validatingadmissionpolicies",
            ),
            "ValidatingAdmissionPolicyBinding" => (
                "admissionregistration.k8s.io",
                "validatingadmissionpolicybindings",
            ),
            other => bail!("the component makes a {other}"),
        };
        let path = format!("/apis/{group}/v1/{plural}");
        cluster.admin().create(&path, &object)?.object()?;
    }
    patched.context("the DaemonSet is gone")
}
