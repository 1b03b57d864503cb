//! `make test-vm-images`: builds an image by the recipe of mkosi, and an initramfs by each of the recipes of dracut and
//! initramfs-tools, in a Debian that has these programs, and boots them. Slow, and so not among the tests of `make test`.
//! A word on the command line chooses checks by their names.

mod initramfs;
mod mkosi;

use std::fs;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::guest::Guest;
use dra_guest_tests::packages::{DebianRoot, Packages};
use dra_guest_tests::programs::workspace;
use dra_guest_tests::suite;
use dra_guest_tests::way::{NIC_ADDRESSES, NIC_MAC, NIC_NAME};
use serde_json::Value;

/// Where the builder has the packages, as a checkout of the project has them: below what it has as `/mnt`.
const PACKAGES: &str = "target/packages";

fn main() -> ExitCode {
    suite::run_each(&[
        ("the_recipe_of_mkosi_is_one_of_fedora_too", mkosi::of_fedora),
        ("an_image_of_mkosi_boots", mkosi::boots),
        ("an_initramfs_of_dracut_names_the_nic", initramfs::of_dracut),
        (
            "an_initramfs_of_initramfs_tools_names_the_nic",
            initramfs::of_initramfs_tools,
        ),
    ])
}

/// A Debian with the programs that build images, with the agent's package and the recipes in it.
fn builder() -> Result<DebianRoot> {
    let root = DebianRoot::builder()?;
    let packages = Packages::build_agent("0.1.0")?;
    let directory = root.brought(PACKAGES);
    fs::create_dir_all(&directory)?;
    let package = packages.deb("dra-guest-agent")?;
    let name = package.file_name().unwrap_or_default();
    fs::copy(&package, directory.join(name))?;
    stdout_of(
        Command::new("cp")
            .arg("--recursive")
            .arg(workspace().join("vm-images"))
            .arg(root.brought("")),
    )?;
    Ok(root)
}

/// The NIC is as the document says, by the word of the guest's kernel, and the agent finds nothing left to do. Not by
/// `ip`, which such images lack.
fn expect_nic(guest: &mut Guest) -> Result<()> {
    let seen = guest.stdout_of("dra-guest-agent inspect --json")?;
    let nic = interface(&seen, NIC_NAME)?.with_context(|| format!("no {NIC_NAME}: {seen}"))?;
    expect_addresses(&nic)?;
    guest.stdout_of("dra-guest-agent check").map(|_| ())
}

/// The MAC address and the addresses of the document are there.
fn expect_addresses(nic: &Value) -> Result<()> {
    let nic = nic.to_string();
    for part in NIC_ADDRESSES.iter().chain([&NIC_MAC]) {
        ensure!(nic.contains(part), "{part} is not in {nic}");
    }
    Ok(())
}

/// The interface of that name in what `inspect --json` said.
fn interface(seen: &str, name: &str) -> Result<Option<Value>> {
    let seen: Value = serde_json::from_str(seen)?;
    let interfaces = seen.get("interfaces").and_then(Value::as_array);
    let mut interfaces = interfaces.context("no interfaces")?.iter();
    Ok(interfaces
        .find(|interface| interface.get("name").and_then(Value::as_str) == Some(name))
        .cloned())
}
