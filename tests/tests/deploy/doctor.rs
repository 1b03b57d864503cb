//! `dra-guest-relay doctor` where `docs/relay-operations.md` runs it: in the relay's pod.

use std::fs;

use anyhow::{Context as _, Result};
use dra_guest_tests::cluster::guest_socket_argument;
use dra_guest_tests::programs::workspace;
use dra_guest_tests::wait;
use serde_json::{Value, json};

use crate::bed::{Bed, CID, WITH_ANNOTATIONS};
use crate::vm_mount;

/// What the relay is told beside the defaults of the component.
const ARGUMENTS: [&str; 3] = [
    "--annotate-pods",
    "--metadata-dir=/var/lib/kubelet/plugins",
    "--json",
];

pub fn in_the_pod(bed: &mut Bed) -> Result<()> {
    bed.install(WITH_ANNOTATIONS)?;
    vm_mount::run_pod(bed)?;
    // The API server has the roles from a cache of its own, some milliseconds later.
    let said = wait::until("no findings", wait::PATIENCE, || {
        let said = doctor(bed, None)?;
        Ok((said["findings"] == 0).then_some(said))
    })
    .with_context(|| doctor(bed, None).unwrap_or_default().to_string())?;
    let rights = of(&said, "rights");
    for right in [
        "pods: patch",
        "resourceclaims: list, watch",
        "resourceslices: list, watch",
        "events: create, patch",
    ] {
        assert!(rights.contains(&right), "{rights:?}");
    }
    let place =
        "/var/lib/kubelet/plugins: what drivers keep there can be read (drivers: 1, files: 1)";
    assert_eq!(of(&said, "metadata-dir"), [place]);

    // Without the group that the component gives it.
    let said = doctor(bed, Some("65532:65532"))?;
    assert_eq!(said["findings"], 1, "{said}");
    let closed = of(&said, "metadata-dir");
    assert!(closed[0].contains("Permission denied"), "{closed:?}");
    Ok(())
}

fn doctor(bed: &Bed, user: Option<&str>) -> Result<Value> {
    let documented = fs::read_to_string(workspace().join("docs/relay-operations.md"))?;
    let program = documented
        .split("kubectl -n dra-guest exec POD -- ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .context("docs/relay-operations.md runs doctor")?;
    let pod = bed.relay()?;
    let container = pod["status"]["containerStatuses"][0]["containerID"].as_str();
    let container = container.and_then(|id| id.strip_prefix("containerd://"));
    let output = bed
        .cluster
        .node()
        .exec(container.context("its container")?, user)?
        .args([program, "doctor", &guest_socket_argument(CID)])
        .args(ARGUMENTS)
        .output()?;
    let words = || String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).with_context(words)
}

/// The messages of a check.
fn of<'a>(said: &'a Value, check: &str) -> Vec<&'a str> {
    let checks = said["checks"].as_array().into_iter().flatten();
    checks
        .filter(|one| one["name"] == json!(check))
        .filter_map(|one| one["message"].as_str())
        .collect()
}
