//! Shows the whole way on a node of Kubernetes: claim, driver, pod, hook, guest, NIC, relay, claim status.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use dra_guest_tests::interrupt;
use dra_guest_tests::way::{NIC_MAC, Progress, carried};
use dra_guest_tests::way_on_node::WalkOnNode;

fn main() -> ExitCode {
    interrupt::watched("the demo", demo)
}

fn demo() -> Result<()> {
    let walk = WalkOnNode {
        name: "demo",
        lost_after: 30,
    };
    let mut progress = Progress::printed();
    let arrival = walk.go(&mut progress)?;
    let nic = arrival
        .nics
        .iter()
        .find(|nic| nic.mac == NIC_MAC)
        .with_context(|| format!("the guest has no NIC with the MAC address {NIC_MAC}"))?;
    let carried = carried(&arrival.document, nic)?;
    progress.step("end it all", || {
        drop(arrival);
        Ok(((), "no process, mount or file is left but the logs"))
    })?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n--- Carried from the driver to the guest\n{carried}")?;
    write!(out, "--- Time\n{}", progress.times())?;
    Ok(())
}
