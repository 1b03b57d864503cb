//! The VM mount as a volume of the kubelet that links into the directory of the moment.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Result, ensure};
use dra_guest_tests::wait;
use dra_guest_tests::way::{Arrival, NIC_MAC, NicFacts};
use serde_json::Value;

use crate::nic;

/// An address that a driver adds while the guest runs.
const MORE: &str = "192.0.2.77/24";

/// The file of a downwardAPI volume is a link into the directory of the moment, which the kubelet exchanges whole
/// (`pkg/volume/util/atomic_writer.go`). virtiofs shows the links as they are.
pub(crate) fn of_the_kubelet(arrival: &mut Arrival) -> Result<()> {
    let volume = arrival.node.vm_mount();
    publish(&volume, "..2026_09_02_12_00_00.1", &arrival.document)?;
    let link = volume.join("link");
    symlink("..data/device-attributes.json", &link)?;
    fs::rename(&link, arrival.node.document_file())?;
    // The guest may have kept the file's entry for a second.
    let read = "readlink /run/kubevirt/device-attributes.json || true";
    wait::until("the guest sees the link", wait::PATIENCE, || {
        let seen = arrival.guest.stdout_of(read)?;
        Ok((seen.trim() == "..data/device-attributes.json").then_some(()))
    })?;
    arrival
        .guest
        .stdout_of("systemctl restart dra-guest-agent.service")?;
    let check = arrival.guest.run("dra-guest-agent check")?;
    ensure!(check.code == 0, "{check:?}");

    let mut document: Value = serde_json::from_str(&arrival.document)?;
    let addresses = &mut document["devices"][0]["network"]["ipAddresses"];
    addresses.as_array_mut().unwrap().push(MORE.into());
    let before = fs::read_link(volume.join("..data"))?;
    publish(&volume, "..2026_09_02_12_05_00.2", &document.to_string())?;
    fs::remove_dir_all(volume.join(before))?;
    wait::until(
        "the NIC has the address of the update",
        wait::PATIENCE,
        || {
            let nics = NicFacts::of_guest(&mut arrival.guest)?;
            let nic = nic(&nics, NIC_MAC)?;
            Ok(nic.addresses.iter().any(|one| one == MORE).then_some(()))
        },
    )?;
    wait::until("the claim says so", wait::PATIENCE, || {
        let claim = arrival.node.wait_for_report()?;
        let condition = claim.condition("dra-guest/Ready");
        Ok(condition.and_then(|one| one.message.contains(MORE).then_some(())))
    })
}

/// Makes this the text of the moment.
fn publish(volume: &Path, moment: &str, text: &str) -> Result<()> {
    let directory = volume.join(moment);
    fs::create_dir(&directory)?;
    fs::write(directory.join("device-attributes.json"), text)?;
    let new = volume.join("..data_tmp");
    symlink(moment, &new)?;
    fs::rename(&new, volume.join("..data"))?;
    Ok(())
}
