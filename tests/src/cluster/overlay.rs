//! The kustomization over `deploy/` that a node of tests installs: what is shipped, and what such a node needs beside it.

use std::net::{Ipv6Addr, TcpListener};
use std::path::{Component, Path};

use anyhow::Result;
use serde_json::{Value, json};

use super::control_plane::ControlPlane;
use super::images::{NRI_IMAGE, RELAY_IMAGE};
use crate::programs::workspace;

/// Where the relay's pod has the directory of the guests' sockets.
const GUESTS: &str = "/guests";

/// What is installed beside `deploy/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addition {
    /// `deploy/seccomp`.
    OwnSeccompProfile,
    /// `deploy/annotation`.
    Annotation,
    /// `deploy/nri` and `deploy/nri/attributes`.
    NriAttributes,
    /// The seccomp profile that other pods have.
    RuntimesSeccompProfile,
    /// A guest at the socket of its vhost-device-vsock, by its CID: the machine may have no `vhost_vsock`.
    GuestSocket(u32),
    /// Seconds of silence after which a guest is lost.
    LostAfter(u32),
}

/// The kustomization, to be written into `directory`; sockets of guests are in `guests`, and `drivers` are those whose
/// claims the relay may write.
pub(super) fn kustomization(
    directory: &Path,
    control: &ControlPlane,
    drivers: &[&str],
    guests: &Path,
    additions: &[Addition],
) -> Result<Value> {
    let mut images = vec![image("dra-guest-relay", RELAY_IMAGE)];
    let mut components = Vec::new();
    let mut of_set = of_every_test(control)?;
    let mut of_namespace = Vec::new();
    let mut of_nri = Vec::new();
    for addition in additions {
        match addition {
            Addition::OwnSeccompProfile => {
                components.push(shipped(directory, "seccomp"));
                // What a restricted namespace does not let in, such a node cannot do without: the machine's network.
                let level = "/metadata/labels/pod-security.kubernetes.io~1enforce";
                of_namespace.push(replace(level, &"privileged".into()));
            }
            Addition::Annotation => components.push(shipped(directory, "annotation")),
            Addition::NriAttributes => {
                components.push(shipped(directory, "nri"));
                components.push(shipped(directory, "nri/attributes"));
                images.push(image("dra-guest-nri", NRI_IMAGE));
                // There is no network of pods.
                of_nri.push(add("/spec/template/spec/hostNetwork", &true.into()));
            }
            Addition::RuntimesSeccompProfile => of_set.push(replace(
                "/spec/template/spec/securityContext/seccompProfile",
                &json!({"type": "RuntimeDefault"}),
            )),
            Addition::GuestSocket(cid) => of_set.extend(guest_socket(*cid, guests)),
            Addition::LostAfter(seconds) => {
                of_set.push(argument(format!("--lost-after={seconds}")));
            }
        }
    }
    let of_role = [replace("/rules/0/resourceNames", &json!(drivers))];
    let patches: Vec<Value> = [
        ("ClusterRole", "dra-guest-relay-drivers", &of_role[..]),
        ("DaemonSet", "dra-guest-relay", &of_set),
        ("DaemonSet", "dra-guest-nri", &of_nri),
        ("Namespace", "dra-guest", &of_namespace),
    ]
    .into_iter()
    .filter(|(_, _, operations)| !operations.is_empty())
    // JSON is YAML.
    .map(|(kind, name, operations)| {
        json!({"target": {"kind": kind, "name": name}, "patch": json!(operations).to_string()})
    })
    .collect();
    Ok(json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": [shipped(directory, "")],
        "components": components,
        "images": images,
        "patches": patches,
    }))
}

/// The image of the test in the place of the one in a manifest.
fn image(name: &str, image: &str) -> Value {
    let (place, tag) = image.rsplit_once(':').unwrap_or((image, ""));
    json!({"name": name, "newName": place, "newTag": tag})
}

/// The path of a part of `deploy/` from a directory: kustomize takes no absolute one.
pub fn shipped(directory: &Path, part: &str) -> String {
    let depth = names(directory).count();
    let path = workspace().join("deploy").join(part);
    format!(
        "{}{}",
        "../".repeat(depth),
        names(&path).collect::<Vec<_>>().join("/")
    )
}

fn names(path: &Path) -> impl Iterator<Item = &str> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    })
}

/// There is no network of pods and no Service network: pods have the machine's, and find the API server there.
fn of_every_test(control: &ControlPlane) -> Result<Vec<Value>> {
    // The machine has one network, and more than one test.
    let metrics = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0))?
        .local_addr()?
        .port();
    let container = "/spec/template/spec/containers/0";
    let variable = |name: &str, value: String| {
        add(
            &format!("{container}/env/-"),
            &json!({"name": name, "value": value}),
        )
    };
    Ok(vec![
        add("/spec/template/spec/hostNetwork", &true.into()),
        replace(
            &format!("{container}/args/1"),
            &format!("--metrics-address=[::]:{metrics}").into(),
        ),
        replace(
            &format!("{container}/ports/0/containerPort"),
            &metrics.into(),
        ),
        variable("KUBERNETES_SERVICE_HOST", "127.0.0.1".to_owned()),
        variable("KUBERNETES_SERVICE_PORT", control.port().to_string()),
    ])
}

fn guest_socket(cid: u32, guests: &Path) -> [Value; 3] {
    let volume = json!({"name": "guests", "hostPath": {"path": guests, "type": "Directory"}});
    [
        argument(guest_socket_argument(cid)),
        add(
            "/spec/template/spec/containers/0/volumeMounts/-",
            &json!({"name": "guests", "mountPath": GUESTS}),
        ),
        add("/spec/template/spec/volumes/-", &volume),
    ]
}

/// The argument that tells the relay, and its doctor, where in the pod a guest connects.
pub fn guest_socket_argument(cid: u32) -> String {
    format!("--guest-socket=cid={cid},socket={GUESTS}/vm{cid}")
}

fn argument(argument: String) -> Value {
    add("/spec/template/spec/containers/0/args/-", &argument.into())
}

fn add(path: &str, value: &Value) -> Value {
    json!({"op": "add", "path": path, "value": value})
}

fn replace(path: &str, value: &Value) -> Value {
    json!({"op": "replace", "path": path, "value": value})
}
