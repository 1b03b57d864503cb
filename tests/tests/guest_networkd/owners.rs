//! NICs that networkd has: one that the policy leaves to it, and one that it takes all the same.

use anyhow::{Result, ensure};
use dra_guest_tests::guest::{LEFT_MAC, Managed};
use dra_guest_tests::wait;

use super::E1000E_MAC;

pub(crate) fn left(booted: &mut Managed) -> Result<()> {
    let report = booted.device("left")?;
    ensure!(report["ready"] == false, "{report}");
    let message = report["message"].as_str().unwrap_or_default();
    ensure!(
        message.ends_with(
            "left to systemd-networkd (/etc/systemd/network/02-left.network), as the policy says"
        ),
        "{report}"
    );
    let name = report["interfaceName"].as_str().unwrap_or_default();
    let name = name.to_owned();
    ensure!(name.starts_with("en"), "{report}");
    booted.expect_shown(&name, &[LEFT_MAC, "mtu 1500", "198.51.100.10/24"])?;
    let told = "grep -rl -e {mac} -e net4 /run/systemd/network /run/NetworkManager || true";
    let told = booted.guest.stdout_of(&told.replace("{mac}", LEFT_MAC))?;
    ensure!(told.is_empty(), "the managers are told of it: {told}");
    Ok(())
}

/// What is to be is put back, and who else has the NIC is said.
pub(crate) fn earlier_file(booted: &mut Managed) -> Result<()> {
    let file = "/etc/systemd/network/00-admin.network";
    booted.guest.stdout_of(&format!(
        "printf '[Match]\\nMACAddress={E1000E_MAC}\\n\\n[Network]\\nAddress=198.51.100.11/24\\n' >{file} && \
         networkctl reload"
    ))?;
    let words = format!("configured by systemd-networkd ({file}) as well");
    let mut last = String::new();
    let told = wait::until("the other owner is told", wait::PATIENCE, || {
        let report = booted.device("e1000e")?;
        last = report.to_string();
        let is_so = report["ready"] == true && report["message"] == words.as_str();
        Ok(is_so.then_some(()))
    });
    booted
        .guest
        .stdout_of(&format!("rm {file} && networkctl reload"))?;
    ensure!(told.is_ok(), "{last}");
    booted.wait_for_shown("net2", &["mtu 9000", "192.0.2.6/24"])
}
