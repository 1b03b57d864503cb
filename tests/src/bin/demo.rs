//! Shows the whole way: claim, hook, VM mount, guest, NIC, claim status.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use dra_guest_tests::interrupt;
use dra_guest_tests::way::{Arrival, NIC_MAC, NicFacts, Progress, Walk, carried};

fn main() -> ExitCode {
    interrupt::watched("the demo", demo)
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
        carried(&arrival.document, nic)?
    )?;
    write!(out, "--- Time\n{}", progress.times())?;
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
