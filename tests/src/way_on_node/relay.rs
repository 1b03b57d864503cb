//! The relay as a component of the node: a pod with a service account that has the least rules, reached by
//! guests at the sockets of their vhost-device-vsock.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use device_attributes::report::PORT;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::bed::{Bed, DRIVER, PATIENCE};
use crate::cluster::{IMAGE, ServiceAccount};
use crate::guest::GUEST_CID;
use crate::programs::static_program;
use crate::wait;

const PODS: &str = "/api/v1/namespaces/default/pods";
/// The pod, its service account and its role.
const NAME: &str = "dra-guest-relay";
/// Where the pod has the directory of the guests' sockets.
const SOCKETS: &str = "/run/dra-guest";

/// A relay in its pod. The pod goes with the cluster.
#[derive(Debug)]
pub struct Relay {
    sockets: TempDir,
}

impl Relay {
    /// Creates account, role and pod, and waits until the relay listens. A guest that says nothing for
    /// `lost_after` seconds is lost.
    ///
    /// # Errors
    /// When the API server refuses one, or the relay does not listen.
    pub fn start(bed: &Bed, lost_after: u32) -> Result<Self> {
        let relay = Self {
            // Short paths: a socket's may have 107 bytes.
            sockets: tempfile::Builder::new()
                .prefix("dra-guest-relay-")
                .tempdir_in("/tmp")?,
        };
        ServiceAccount::create(bed.cluster.admin(), NAME, &rules())?;
        let program = static_program("dra-guest-relay")?;
        let pod = pod(&program, relay.sockets.path(), bed, lost_after);
        bed.cluster.admin().create(PODS, &pod)?.object()?;
        let listens = relay.sockets.path().join(format!("vsock_{PORT}"));
        wait::until("the relay listens", PATIENCE, || {
            let pod = bed.get(&format!("{PODS}/{NAME}"))?;
            let phase = pod.pointer("/status/phase").and_then(Value::as_str);
            if matches!(phase, Some("Failed" | "Succeeded")) {
                bail!("it has ended: {}", pod.pointer("/status").unwrap_or(&pod));
            }
            Ok(listens.exists().then_some(()))
        })
        .with_context(|| {
            let logs = bed.cluster.control().logs().join("pods");
            format!("the relay's own words are below {}", logs.display())
        })?;
        Ok(relay)
    }

    /// The UNIX sockets of the guest's vsock: port N arrives at `PATH_N`.
    pub fn vsock(&self) -> PathBuf {
        self.sockets.path().join("vsock")
    }
}

/// The rules of a relay on this node, and no more.
fn rules() -> [Value; 5] {
    let rule = |group: &str, resource: &str, verbs: &[&str]| {
        json!({
            "apiGroups": [group], "resources": [resource], "verbs": verbs,
        })
    };
    let mut driver = rule(
        "resource.k8s.io",
        "resourceclaims/driver",
        &["associated-node:patch"],
    );
    if let Some(fields) = driver.as_object_mut() {
        fields.insert("resourceNames".to_owned(), json!([DRIVER]));
    }
    [
        rule("", "pods", &["list", "watch"]),
        rule("kubevirt.io", "virtualmachineinstances", &["list", "watch"]),
        rule("resource.k8s.io", "resourceclaims", &["get"]),
        rule("resource.k8s.io", "resourceclaims/status", &["patch"]),
        driver,
    ]
}

/// Program and sockets are the machine's; the token is the kubelet's, bound to this pod and so to its node.
fn pod(program: &Path, sockets: &Path, bed: &Bed, lost_after: u32) -> Value {
    let server = bed.cluster.control().port().to_string();
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": NAME, "labels": {"app": NAME}},
        "spec": {
            "hostNetwork": true,
            "serviceAccountName": NAME,
            "restartPolicy": "Never",
            "containers": [{
                "name": "relay", "image": IMAGE, "imagePullPolicy": "Never",
                "command": ["/usr/local/bin/dra-guest-relay"],
                "args": [
                    "--node-name=$(NODE_NAME)",
                    format!("--guest-socket=cid={GUEST_CID},socket={SOCKETS}/vsock"),
                    format!("--lost-after={lost_after}"),
                ],
                "env": [
                    {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                    // There is no service network: the API server itself.
                    {"name": "KUBERNETES_SERVICE_HOST", "value": "127.0.0.1"},
                    {"name": "KUBERNETES_SERVICE_PORT", "value": server},
                ],
                "volumeMounts": [
                    {"name": "program", "mountPath": "/usr/local/bin/dra-guest-relay", "readOnly": true},
                    {"name": "sockets", "mountPath": SOCKETS},
                    {
                        "name": "account", "readOnly": true,
                        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                    },
                ],
            }],
            "volumes": [
                {"name": "program", "hostPath": {"path": program, "type": "File"}},
                {"name": "sockets", "hostPath": {"path": sockets, "type": "Directory"}},
                {"name": "account", "projected": {"sources": [
                    {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
                    {"configMap": {
                        "name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}],
                    }},
                    {"downwardAPI": {"items": [
                        {"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}},
                    ]}},
                ]}},
            ],
        },
    })
}
