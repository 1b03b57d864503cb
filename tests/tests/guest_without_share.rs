//! A Debian guest that nobody shares anything with: it boots as if the agent were not there, and the
//! agent takes attributes that come later.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::process::ExitCode;

use anyhow::{Result, ensure};
use dra_guest_tests::guest::{BakedImage, BaseImage, Guest, GuestOptions, NIC_PCI_ADDRESS};
use dra_guest_tests::programs::static_program;
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::wait;
use dra_guest_tests::way::{NIC_MAC, Walk};
use tempfile::TempDir;

struct Lonely {
    guest: Guest,
    state: String,
    _image: BakedImage,
    _vsock: TempDir,
}

static LONELY: Shared<Lonely> = Shared::new(|| {
    let walk = Walk::new("guest_without_share")?;
    let image = BaseImage::get()?.bake(&static_program("dra-guest-agent")?, None)?;
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
            ("attributes_that_come_late_are_applied", late_attributes),
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
