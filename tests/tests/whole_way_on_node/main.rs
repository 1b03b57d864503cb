//! The whole way on a node of Kubernetes, with one Debian guest: what `make demo-cluster` shows, checked,
//! and what the claim says when agent and NIC fail.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod interrupted;

use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::cluster::NODE;
use dra_guest_tests::guest::{NIC_NODE, NIC_PCI_ADDRESS};
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::wait;
use dra_guest_tests::way::{
    NIC_ADDRESSES, NIC_MAC, NIC_MTU, NIC_NAME, NicFacts, Progress, journal,
};
use dra_guest_tests::way_on_node::{Arrival, DEVICE, DRIVER, WalkOnNode};
use serde_json::{Value, json};

static ARRIVAL: Shared<Arrival> = Shared::new(|| {
    let walk = WalkOnNode {
        name: "whole-way",
        // A little more than the agent's heartbeat.
        lost_after: 12,
    };
    walk.go(&mut Progress::silent())
});

fn main() -> ExitCode {
    suite::run(
        &ARRIVAL,
        &[
            ("the_guest_boots_without_a_failed_unit", boots),
            ("the_document_is_of_this_pod_and_claim", document),
            ("the_guest_reads_the_pods_own_emptydir", same_bytes),
            ("the_nic_is_named_and_configured", nic),
            ("the_claim_says_what_the_guest_observed", condition),
            ("what_a_driver_says_later_reaches_the_guest", later_word),
            ("a_stopped_agent_is_lost_and_comes_back", stopped_agent),
            ("a_nic_that_goes_is_not_found_and_comes_back", lost_nic),
            ("a_vm_that_ends_leaves_no_word_on_the_claim", ended_vm),
            ("the_driver_has_nothing_to_complain_of", driver),
            (
                "an_interrupted_demo_leaves_nothing",
                interrupted::leaves_nothing,
            ),
        ],
    )
}

fn boots(arrival: &mut Arrival) -> Result<()> {
    arrival.guest.expect_clean_boot(&arrival.guest_state)
}

fn document(arrival: &mut Arrival) -> Result<()> {
    let document: Value = serde_json::from_str(&arrival.document)?;
    let vm = &arrival.vm;
    assert_eq!(
        document["pod"],
        json!({"namespace": "default", "name": vm.pod, "uid": vm.pod_uid})
    );
    let claim = vm.claim(&arrival.bed)?;
    assert_eq!(
        document["devices"][0]["claim"]["uid"],
        claim["metadata"]["uid"]
    );
    assert_eq!(document["devices"].as_array().map(Vec::len), Some(1));
    Ok(())
}

fn same_bytes(arrival: &mut Arrival) -> Result<()> {
    let written = fs::read_to_string(arrival.vm.document_file(&arrival.bed))?;
    let read = arrival
        .guest
        .stdout_of("cat /var/run/kubevirt/device-attributes.json")?;
    ensure!(read == written, "the guest reads: {read}");
    Ok(())
}

fn nic(arrival: &mut Arrival) -> Result<()> {
    let found = arrival.nics.iter().find(|nic| nic.mac == NIC_MAC);
    let expected = NicFacts {
        name: NIC_NAME.to_owned(),
        mac: NIC_MAC.to_owned(),
        mtu: NIC_MTU.into(),
        up: true,
        addresses: NIC_ADDRESSES.map(str::to_owned).to_vec(),
        pci_address: NIC_PCI_ADDRESS.to_owned(),
        numa_node: NIC_NODE.try_into()?,
        driver: "igb".to_owned(),
    };
    ensure!(found == Some(&expected), "{found:?}\nis not {expected:?}");
    Ok(())
}

fn condition(arrival: &mut Arrival) -> Result<()> {
    assert_eq!(arrival.claim_before["status"]["devices"], json!(null));
    // What the agent sees now.
    let (claim, condition) = wait::until(
        "the claim says what the agent sees",
        Duration::from_mins(1),
        || {
            let status = arrival.guest.stdout_of("cat /run/dra-guest/status.json")?;
            let status: Value = serde_json::from_str(&status)?;
            let addresses: Vec<&str> = status["devices"][0]["addresses"]
                .as_array()
                .context("the status has no addresses")?
                .iter()
                .filter_map(Value::as_str)
                .collect();
            ensure!(addresses == NIC_ADDRESSES, "{addresses:?}");
            let observed = format!(
                "{NIC_NAME} {NIC_MAC} at {NIC_PCI_ADDRESS} on NUMA node {NIC_NODE}, {}",
                addresses.join(", ")
            );
            let claim = arrival.vm.claim(&arrival.bed)?;
            let mut condition = arrival.condition.clone();
            condition["message"] = json!(observed);
            let said = &claim["status"]["devices"][0]["conditions"][0]["message"];
            Ok((*said == condition["message"]).then_some((claim, condition)))
        },
    )?;

    // The relay's, and all that it has written.
    assert_eq!(
        claim["status"]["devices"],
        json!([{"driver": DRIVER, "pool": NODE, "device": DEVICE, "conditions": [condition]}])
    );
    let managers = claim["metadata"]["managedFields"].as_array().unwrap();
    let ours = managers
        .iter()
        .find(|one| one["manager"] == "dra-guest-relay");
    let ours = ours.context("the relay manages no field")?;
    assert_eq!(ours["operation"], "Apply");
    let mut fields = ours["fieldsV1"].as_object().unwrap().keys();
    assert_eq!(fields.next().map(String::as_str), Some("f:status"));
    assert_eq!(fields.next(), None);
    Ok(())
}

/// The driver raises the generation of its metadata, the plugin writes the document anew, and the agent follows.
fn later_word(arrival: &mut Arrival) -> Result<()> {
    let Arrival { guest, vm, bed, .. } = arrival;
    let later = ["192.0.2.6/24", "2001:db8::5/64"];
    for addresses in [later, NIC_ADDRESSES] {
        bed.change_addresses(&addresses)?;
        let mut last = Vec::new();
        wait::until(
            "the guest has the addresses",
            Duration::from_mins(2),
            || {
                let nics = NicFacts::of_guest(guest)?;
                let found = nics.into_iter().find(|nic| nic.mac == NIC_MAC);
                last = found.context("no NIC")?.addresses;
                // What the agent takes away of what was said before is tested elsewhere.
                let has = |address: &&str| last.iter().any(|one| one == address);
                Ok(addresses.iter().all(has).then_some(()))
            },
        )
        .with_context(|| format!("it has {last:?}, not {addresses:?}; {}", journal(guest)))?;
        vm.wait_for(bed, "True", "Configured")?;
    }
    // Back again, in the third generation.
    let path = vm.document_file(bed);
    wait::until(
        "the document is of the third generation",
        Duration::from_mins(2),
        || {
            let written: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
            let device = &written["devices"][0];
            let is_back = device["network"]["ipAddresses"] == json!(NIC_ADDRESSES);
            Ok((is_back && device["claim"]["generation"] == 3).then_some(()))
        },
    )?;
    Ok(())
}

fn stopped_agent(arrival: &mut Arrival) -> Result<()> {
    let Arrival { guest, vm, bed, .. } = arrival;
    guest.stdout_of("systemctl stop dra-guest-agent.service")?;
    vm.wait_for(bed, "Unknown", "AgentLost")?;
    guest.stdout_of("systemctl start dra-guest-agent.service")?;
    vm.wait_for(bed, "True", "Configured")?;
    Ok(())
}

fn lost_nic(arrival: &mut Arrival) -> Result<()> {
    let Arrival { guest, vm, bed, .. } = arrival;
    // Its driver lets go of it. Not by remove and rescan: mapping a function anew can end QEMU without hardware
    // virtualisation (an assertion in iotlb_to_section, system/physmem.c).
    guest.stdout_of(&format!(
        "echo {NIC_PCI_ADDRESS} >/sys/bus/pci/drivers/igb/unbind"
    ))?;
    let condition = vm.wait_for(bed, "False", "DeviceNotFound")?;
    let message = condition["message"].as_str().unwrap();
    ensure!(message.contains(NIC_MAC), "{message}");
    // It looks again by itself at what is not ready.
    guest.stdout_of(&format!(
        "echo {NIC_PCI_ADDRESS} >/sys/bus/pci/drivers/igb/bind"
    ))?;
    vm.wait_for(bed, "True", "Configured")?;
    Ok(())
}

/// The pod may live on for a while, and the claim with it.
fn ended_vm(arrival: &mut Arrival) -> Result<()> {
    let Arrival { vm, bed, .. } = arrival;
    vm.end(bed)?;
    wait::until("no device has a status", Duration::from_mins(1), || {
        let claim = vm.claim(bed)?;
        Ok(claim["status"]["devices"].is_null().then_some(()))
    })?;
    assert!(vm.claim(bed)?["status"]["allocation"].is_object());
    Ok(())
}

fn driver(arrival: &mut Arrival) -> Result<()> {
    arrival.bed.expect_content_driver()
}
