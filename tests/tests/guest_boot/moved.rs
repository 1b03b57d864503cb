//! A guest whose state is saved in one QEMU and goes on in another, which has another document.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::guest::{Guest, MovableOptions};
use dra_guest_tests::wait;
use dra_guest_tests::way::NIC_MAC;

use crate::{Booted, document, nic};

pub(crate) fn snapshot(booted: &mut Booted) -> Result<()> {
    let files = tempfile::tempdir_in("/tmp")?;
    let path = |name: &str| files.path().join(name);
    for (name, document) in [
        ("here", document("net1", "192.0.2.5/24")),
        ("there", document("net2", "192.0.2.6/24")),
    ] {
        fs::write(path(name), document.to_string())?;
        fs::create_dir(booted.logs.join(name))?;
    }
    let state = path("state");
    let options = |name: &str, from| -> Result<Guest> {
        Guest::start_movable(&MovableOptions {
            image: &booted.image,
            nic: NIC_MAC.parse()?,
            fw_cfg: &path(name),
            from,
            logs: &booted.logs.join(name),
        })
    };
    let mut here = options("here", None)?;
    let up = here
        .wait_until_up()
        .with_context(|| format!("the logs are in {}", booted.logs.display()))?;
    here.expect_clean_boot(&up)?;
    let (name, addresses) = nic(&mut here)?;
    ensure!(
        name == "net1" && addresses == "192.0.2.5/24",
        "{name} {addresses}"
    );
    let process = "systemctl show --value --property=MainPID dra-guest-agent.service";
    let before = here.stdout_of(process)?;
    here.save(&state)?;
    drop(here);

    let mut there = options("there", Some(&state))?;
    wait::until("the document of there is in force", wait::PATIENCE, || {
        let (name, addresses) = nic(&mut there)?;
        Ok((name == "net2" && addresses.contains("192.0.2.6/24")).then_some(()))
    })?;
    let after = there.stdout_of(process)?;
    ensure!(
        before == after,
        "it is another process: {before} became {after}"
    );
    Ok(())
}
