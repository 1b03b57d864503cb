//! Shows the whole way: claim, hook, VM mount, guest, NIC, claim status.

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use dra_guest_tests::way::{Arrival, NIC_MAC, NicFacts, Progress, Walk};
use serde_json::Value;

fn main() -> ExitCode {
    match demo() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nthe demo failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn demo() -> Result<()> {
    let walk = Walk::new("demo")?;
    let mut progress = Progress::printed();
    let arrival = walk.go(&mut progress)?;
    let nic = arrival
        .nics
        .iter()
        .find(|nic| nic.mac == NIC_MAC)
        .with_context(|| format!("the guest has no NIC with the MAC address {NIC_MAC}"))?;

    heading("The document in the VM mount");
    print!("{}", arrival.document);
    heading("The claim's conditions before");
    println!("{}", arrival.claim_before.table());
    heading("The claim's conditions after");
    println!("{}", arrival.claim_after.table());
    heading("Carried");
    print_carried(&arrival)?;
    heading("Found and set in the guest");
    print_nic(nic);
    heading("Time");
    for step in progress.steps() {
        println!("{:6.1} s  {}", step.took.as_secs_f64(), step.name);
    }
    println!("{:6.1} s  all together", progress.elapsed().as_secs_f64());

    let ready = arrival.claim_after.condition("dra-guest/Ready");
    if ready.is_none_or(|condition| condition.status != "True") {
        bail!(
            "the device is not ready in the guest; the logs are in {}",
            walk.logs.display()
        );
    }
    Ok(())
}

fn heading(text: &str) {
    println!("\n--- {text}");
}

/// The document's own words, key by key.
fn print_carried(arrival: &Arrival) -> Result<()> {
    let document: Value =
        serde_json::from_str(&arrival.document).context("the document does not read back")?;
    for pointer in [
        "/devices/0/claim",
        "/devices/0/request",
        "/devices/0/driver",
        "/devices/0/pool",
        "/devices/0/device",
        "/devices/0/host",
        "/devices/0/network",
    ] {
        if let Some(value) = document.pointer(pointer) {
            let name = pointer.trim_start_matches("/devices/0/");
            println!("{name:<10} {value}");
        }
    }
    Ok(())
}

fn print_nic(nic: &NicFacts) {
    println!("interface    {} ({})", nic.name, nic.driver);
    println!("MAC address  {}", nic.mac);
    println!("MTU          {}", nic.mtu);
    println!("addresses    {}", nic.addresses.join(", "));
    println!("PCI address  {} in the guest", nic.pci_address);
    println!("NUMA node    {} in the guest", nic.numa_node);
}
