//! Shows the whole way: claim, hook, VM mount, guest, NIC, claim status.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use dra_guest_tests::table::Table;
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

    print_summary(&arrival, nic, &progress)?;

    let ready = arrival.claim_after.condition("dra-guest/Ready");
    if ready.is_none_or(|condition| condition.status != "True") {
        bail!(
            "the device is not ready in the guest; the logs are in {}",
            walk.logs.display()
        );
    }
    Ok(())
}

fn print_summary(arrival: &Arrival, nic: &NicFacts, progress: &Progress) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "\n--- The claim's devices and their conditions, before\n{}",
        arrival.claim_before.table()
    )?;
    writeln!(out, "\n--- and after (+: new)\n{}", marked(arrival))?;
    writeln!(
        out,
        "\n--- Carried from the claim to the guest\n{}",
        carried(arrival, nic)?
    )?;
    writeln!(out, "--- Time")?;
    for step in progress.steps() {
        writeln!(out, "{:6.1} s  {}", step.took.as_secs_f64(), step.name)?;
    }
    writeln!(
        out,
        "{:6.1} s  all together",
        progress.elapsed().as_secs_f64()
    )?;
    Ok(())
}

/// The claim's table, with a mark before the lines that were not there before.
fn marked(arrival: &Arrival) -> String {
    let before = arrival.claim_before.table();
    let mut lines = Vec::new();
    for line in arrival.claim_after.table().lines() {
        let mark = if before.lines().any(|old| old == line) {
            ' '
        } else {
            '+'
        };
        lines.push(format!("{mark} {line}"));
    }
    lines.join("\n")
}

/// What the document says of the device, and what the guest's kernel says of its NIC.
fn carried(arrival: &Arrival, nic: &NicFacts) -> Result<Table> {
    let document: Value =
        serde_json::from_str(&arrival.document).context("the document does not read back")?;
    let said = |pointer: &str| match document.pointer(&format!("/devices/0{pointer}")) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(list)) => {
            let texts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            texts.join(", ")
        }
        Some(value) => value.to_string(),
        None => "-".to_owned(),
    };
    let mut table = Table::new(["", "in the document", "in the guest"]);
    let rows = [
        ("MAC address", said("/network/macAddress"), nic.mac.clone()),
        (
            "interface",
            said("/network/interfaceName"),
            format!("{}, driver {}", nic.name, nic.driver),
        ),
        (
            "addresses",
            said("/network/ipAddresses"),
            nic.addresses.join(", "),
        ),
        (
            "PCI address",
            format!("{} on the host", said("/host/pciAddress")),
            nic.pci_address.clone(),
        ),
        (
            "NUMA node",
            format!("{} on the host", said("/host/numaNode")),
            nic.numa_node.to_string(),
        ),
        (
            "MTU",
            "- (the image's policy says 9000)".to_owned(),
            nic.mtu.to_string(),
        ),
    ];
    for (name, document, guest) in rows {
        table.row([name.to_owned(), document, guest]);
    }
    Ok(table)
}
