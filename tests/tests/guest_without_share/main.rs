//! A Debian guest that nobody shares anything with: it boots as if the agent were not there, and the
//! agent takes attributes that come later.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod relay_unit;
mod sandbox;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use dra_guest_tests::guest::{BakedImage, BaseImage, Guest, GuestOptions, NIC_PCI_ADDRESS};
use dra_guest_tests::programs::static_program;
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::wait;
use dra_guest_tests::way::{NIC_MAC, Walk};
use tempfile::TempDir;

/// The part of the boot's userspace that agent and mount take is less than one of so many; one of ten was seen.
const PARTS: u64 = 4;

pub(crate) struct Lonely {
    pub(crate) guest: Guest,
    state: String,
    _image: BakedImage,
    _vsock: TempDir,
}

static LONELY: Shared<Lonely> = Shared::new(|| {
    let walk = Walk::new("guest_without_share")?;
    let image = BaseImage::get()?.bake_with(
        &static_program("dra-guest-agent")?,
        None,
        relay_unit::install,
    )?;
    let vsock = tempfile::tempdir_in("/tmp")?;
    let (guest, state) = Guest::boot(&GuestOptions::bare(
        &image,
        NIC_MAC.parse()?,
        &vsock.path().join("vsock"),
        &walk.logs,
    ))?;
    Ok(Lonely {
        guest,
        state,
        _image: image,
        _vsock: vsock,
    })
});

fn main() -> ExitCode {
    suite::run(
        &LONELY,
        &[
            ("the_guest_boots_without_a_failed_unit", boots),
            ("the_mount_is_not_tried", mount_is_not_tried),
            ("check_says_that_there_are_no_attributes", check_says_none),
            ("the_boot_is_not_delayed", not_delayed),
            (
                "the_sandbox_refuses_also_what_it_has_no_word_for",
                sandbox::refuses,
            ),
            ("attributes_that_come_late_are_applied", late_attributes),
            ("a_credential_that_is_encrypted_comes_first", encrypted),
            (
                "the_relays_unit_starts_as_the_documentation_sets_it_up",
                relay_unit::starts,
            ),
        ],
    )
}

fn boots(lonely: &mut Lonely) -> Result<()> {
    lonely.guest.expect_clean_boot(&lonely.state)?;
    let active = lonely
        .guest
        .stdout_of("systemctl is-active dra-guest-agent.service")?;
    ensure!(active.trim() == "active", "{active}");
    Ok(())
}

fn mount_is_not_tried(lonely: &mut Lonely) -> Result<()> {
    let mount = lonely.guest.stdout_of(
        "systemctl show --property=ActiveState --property=ConditionResult run-kubevirt.mount",
    )?;
    ensure!(mount.contains("ActiveState=inactive"), "{mount}");
    ensure!(mount.contains("ConditionResult=no"), "{mount}");
    Ok(())
}

fn check_says_none(lonely: &mut Lonely) -> Result<()> {
    let check = lonely.guest.run("dra-guest-agent check")?;
    ensure!(check.code == 4, "{check:?}");
    ensure!(
        check
            .stderr
            .contains("/run/kubevirt/device-attributes.json"),
        "it does not say where it looks: {check:?}"
    );
    Ok(())
}

/// Nothing is waited for: what looks for a share, a drive and attributes takes a small part of the boot. Those that wait
/// for something that does not come take ten seconds and more.
fn not_delayed(lonely: &mut Lonely) -> Result<()> {
    let mut monotonic = |unit: &str, property: &str| -> Result<u64> {
        let text = lonely.guest.stdout_of(&format!(
            "systemctl show --value --property={property}Monotonic {unit}"
        ))?;
        Ok(text.trim().parse()?)
    };
    let boot = monotonic("", "FinishTimestamp")? - monotonic("", "UserspaceTimestamp")?;
    let from = monotonic("dra-guest-devices.service", "ActiveEnterTimestamp")?;
    let ready = monotonic("dra-guest-agent.service", "ActiveEnterTimestamp")?;
    println!("of {boot} µs of boot {} µs", ready - from);
    ensure!(from > 0 && ready > from, "from {from} to {ready}");
    ensure!(
        (ready - from) * PARTS < boot,
        "{} of {boot} µs",
        ready - from
    );
    let jobs = lonely.guest.stdout_of("systemctl list-jobs --no-legend")?;
    ensure!(!jobs.contains("dra-guest"), "{jobs}");
    Ok(())
}

/// The flat form, as blog posts print it.
fn late_attributes(lonely: &mut Lonely) -> Result<()> {
    lonely.guest.stdout_of(&format!(
        "mkdir -p /run/kubevirt && \
         echo '{{\"macAddress\": \"{NIC_MAC}\"}}' >/run/kubevirt/device-attributes.json"
    ))?;
    wait::until("the agent takes the attributes", wait::PATIENCE, || {
        let check = lonely.guest.run("dra-guest-agent check")?;
        Ok((check.code == 0).then_some(()))
    })?;
    let status = lonely.guest.stdout_of("cat /run/dra-guest/status.json")?;
    ensure!(status.contains(NIC_PCI_ADDRESS), "{status}");
    Ok(())
}

/// The image's owner may keep one that the guest alone can read (`systemd-creds(1)`).
fn encrypted(lonely: &mut Lonely) -> Result<()> {
    let document = format!(
        r#"{{"apiVersion":"dra-guest/v1","kind":"DeviceAttributes","devices":[{{"device":"nic","network":{{"interfaceName":"secret1","macAddress":"{NIC_MAC}"}}}}]}}"#
    );
    lonely.guest.stdout_of(&format!(
        "mkdir -p /etc/credstore.encrypted && echo '{document}' | \
         systemd-creds encrypt --with-key=host --name=device-attributes - /etc/credstore.encrypted/device-attributes && \
         ! grep -q secret1 /etc/credstore.encrypted/device-attributes && \
         systemctl restart dra-guest-agent.service"
    ))?;
    lonely.guest.stdout_of("ip link show secret1")?;
    let status = lonely.guest.stdout_of("dra-guest-agent status --json")?;
    ensure!(
        status.contains("/dra-guest-agent.service/device-attributes\""),
        "the source is not the credential: {status}"
    );
    Ok(())
}
