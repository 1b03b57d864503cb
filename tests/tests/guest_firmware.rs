//! A Debian guest whose attributes come with its firmware: a systemd credential, then fw_cfg. The credential is one in
//! base64; the guests of other suites have a plain one.
#![allow(missing_docs)]

use std::fs;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dra_guest_tests::guest::{BakedImage, BaseImage, Guest, GuestOptions};
use dra_guest_tests::programs::static_program;
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::way::{NIC_MAC, Walk};
use tempfile::TempDir;

struct Told {
    guest: Guest,
    state: String,
    _image: BakedImage,
    _files: TempDir,
}

/// One more fw_cfg item, and its size: one byte more than is read.
const HUGE: &str = "opt/org.kubevirt/huge";
const TOO_LARGE: usize = (1 << 20) + 1;

/// A document that gives the NIC this name.
fn document(name: &str) -> String {
    format!(
        r#"{{"apiVersion":"dra-guest/v1","kind":"DeviceAttributes","devices":[{{"device":"nic","network":{{"interfaceName":"{name}","macAddress":"{NIC_MAC}"}}}}]}}"#
    )
}

static TOLD: Shared<Told> = Shared::new(|| {
    let walk = Walk::new("guest_firmware")?;
    let image = BaseImage::get()?.bake(&static_program("dra-guest-agent")?, None)?;
    let files = tempfile::tempdir_in("/tmp")?;
    let path = |name: &str| files.path().join(name);
    fs::write(path("fw_cfg"), document("firm1"))?;
    let credential = format!(
        "io.systemd.credential.binary:device-attributes={}",
        STANDARD.encode(document("cred1"))
    );
    fs::write(path("smbios"), credential)?;
    fs::write(path("huge"), vec![b' '; TOO_LARGE])?;
    let hardware = format!("-fw_cfg name={HUGE},file={}", path("huge").display());
    let (guest, state) = Guest::boot(&GuestOptions {
        hardware: &hardware,
        fw_cfg: Some(&path("fw_cfg")),
        smbios: Some(&path("smbios")),
        ..GuestOptions::bare(&image, NIC_MAC.parse()?, &path("vsock"), &walk.logs)
    })?;
    Ok(Told {
        guest,
        state,
        _image: image,
        _files: files,
    })
});

fn main() -> ExitCode {
    suite::run(
        &TOLD,
        &[
            ("the_credential_comes_first", credential_comes_first),
            ("fw_cfg_answers_where_nothing_else_does", fw_cfg_answers),
            ("an_item_that_is_too_large_is_refused", too_large),
        ],
    )
}

fn credential_comes_first(told: &mut Told) -> Result<()> {
    told.guest.expect_clean_boot(&told.state)?;
    let status = told.guest.stdout_of("dra-guest-agent status --json")?;
    ensure!(
        status.contains("/device-attributes\"") && status.contains("credentials"),
        "the source is not the credential: {status}"
    );
    told.guest.stdout_of("ip link show cred1")?;
    Ok(())
}

/// A person's shell has no credentials, and there is no VM mount.
fn fw_cfg_answers(told: &mut Told) -> Result<()> {
    told.guest
        .stdout_of("systemctl stop dra-guest-agent.service")?;
    let said = told.guest.stdout_of("dra-guest-agent apply")?;
    ensure!(said.starts_with("1 of 1 devices ready"), "{said}");
    let status = told.guest.stdout_of("dra-guest-agent status --json")?;
    ensure!(status.contains("qemu_fw_cfg/by_name"), "{status}");
    told.guest.stdout_of("ip link show firm1")?;
    Ok(())
}

/// One that is wrong is not passed over for an older one elsewhere, and no part of it is believed.
fn too_large(told: &mut Told) -> Result<()> {
    let item = format!("/sys/firmware/qemu_fw_cfg/by_name/{HUGE}/raw");
    let size = told.guest.stdout_of(&format!("wc -c <{item}"))?;
    ensure!(size.trim() == TOO_LARGE.to_string(), "{size}");
    for command in ["plan", "apply"] {
        let said = told
            .guest
            .run(&format!("dra-guest-agent {command} --attributes {item}"))?;
        ensure!(
            said.code == 1 && said.stderr.contains(&item) && said.stderr.contains("1048576 bytes"),
            "{command}: {said:?}"
        );
    }
    told.guest.stdout_of("ip link show firm1")?;
    Ok(())
}
