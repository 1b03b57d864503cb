//! The kustomization that is installed: `deploy/`, and what the bed and a check add.

use std::fs;
use std::net::{Ipv6Addr, TcpListener};
use std::path::{Component, Path};

use anyhow::Result;
use dra_guest_tests::programs::workspace;
use serde_json::json;

use crate::bed::{Bed, file};

/// What of `tests/tests/deploy` is installed beside `deploy/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// As it is shipped.
    Shipped,
    /// With the seccomp profile of other pods.
    RuntimeDefault,
    /// With its own seccomp profile.
    OwnProfile,
    /// The same, and guest 5 at a socket.
    GuestSocket,
}

/// Writes it into a directory.
pub fn write(bed: &Bed, directory: &Path, variant: Variant) -> Result<()> {
    let components: &[&str] = match variant {
        Variant::Shipped => &[],
        Variant::RuntimeDefault => &["runtime-default"],
        Variant::OwnProfile => &["seccomp"],
        Variant::GuestSocket => &["seccomp", "guest-socket"],
    };
    let up = "../".repeat(directory.components().count() - 1);
    let mut named = Vec::new();
    for name in components {
        if *name == "seccomp" {
            named.push(relative(&up, &workspace().join("deploy/seccomp")));
            // What a restricted namespace does not let in, the bed cannot do without: the machine's network.
            named.push("privileged".to_owned());
            write_component(directory, "privileged", PRIVILEGED)?;
        } else {
            let text = fs::read_to_string(file(&format!("{name}.yaml")))?;
            let guests = bed.guests.path().display().to_string();
            write_component(directory, name, &text.replace("@GUESTS@", &guests))?;
            named.push((*name).to_owned());
        }
    }
    let text = fs::read_to_string(file("kustomization.yaml"))?
        .replace("@DEPLOY@", &relative(&up, &workspace().join("deploy")))
        .replace("@COMPONENTS@", &json!(named).to_string())
        .replace("@METRICS@", &free_port()?.to_string())
        .replace("@PORT@", &bed.cluster.control().port().to_string());
    fs::write(directory.join("kustomization.yaml"), text)?;
    Ok(())
}

/// What the bed cannot do without: pods have the machine's network.
const PRIVILEGED: &str = "\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
  - target: {kind: Namespace, name: dra-guest}
    patch: |-
      - op: replace
        path: /metadata/labels/pod-security.kubernetes.io~1enforce
        value: privileged
";

fn write_component(directory: &Path, name: &str, text: &str) -> Result<()> {
    let component = directory.join(name);
    fs::create_dir(&component)?;
    fs::write(component.join("kustomization.yaml"), text)?;
    Ok(())
}

/// The path from a directory that is as far from the root as `up` says: kustomize takes no absolute one.
fn relative(up: &str, path: &Path) -> String {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    format!("{up}{}", names.collect::<Vec<_>>().join("/"))
}

/// A port that nobody listens on now.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0))?;
    Ok(listener.local_addr()?.port())
}
