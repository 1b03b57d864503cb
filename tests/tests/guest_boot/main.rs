//! A Debian guest that boots, boots again as a clone, has its agent killed, is given another document, and loses its
//! share: what the NICs are each time, and what the boot costs beside cloud-init's first unit.
#![allow(missing_docs)]

mod again;
mod first;
mod moved;
mod share;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use dra_guest_tests::guest::{BakedImage, BaseImage, Guest, GuestOptions, Manager, wake};
use dra_guest_tests::programs::static_program;
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::way::{NIC_MAC, Walk};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Everything of one guest.
pub(crate) struct Booted {
    pub(crate) guest: Guest,
    /// systemd's word for the last boot.
    pub(crate) state: String,
    /// How often the agent's time goes into cloud-init's, of each boot.
    pub(crate) parts: Vec<u64>,
    /// The node's directory that is the VM mount.
    pub(crate) share: PathBuf,
    pub(crate) logs: PathBuf,
    pub(crate) image: BakedImage,
    _files: TempDir,
}

/// The real NIC under this name with this address, and one that the VM does not have.
pub(crate) fn document(name: &str, address: &str) -> Value {
    json!({
        "apiVersion": "dra-guest/v1", "kind": "DeviceAttributes", "devices": [
            {"device": "absent", "network": {"interfaceName": "net9", "macAddress": "02:00:00:00:00:77"}},
            {"device": "nic", "network": {"interfaceName": name, "macAddress": NIC_MAC, "ipAddresses": [address]}},
        ],
    })
}

impl Booted {
    /// Replaces the document as the hook does: whole.
    pub(crate) fn publish(&self, document: &Value) -> Result<()> {
        let new = self.share.join(".new");
        fs::write(&new, document.to_string())?;
        fs::rename(new, self.share.join("device-attributes.json"))?;
        Ok(())
    }

    /// What the guest has of the NIC: its name, and its global addresses.
    pub(crate) fn nic(&mut self) -> Result<(String, String)> {
        nic(&mut self.guest)
    }
}

/// The NIC's name, and its global addresses.
pub(crate) fn nic(guest: &mut Guest) -> Result<(String, String)> {
    let name = guest.stdout_of(&format!(
        "ip -json link show | jq -r '.[] | select(.address == \"{NIC_MAC}\") | .ifname'"
    ))?;
    let name = name.trim().to_owned();
    let addresses = guest.stdout_of(&format!(
        "ip -json address show dev {name} scope global | \
         jq -r '.[].addr_info[]? | select(.local) | .local + \"/\" + (.prefixlen | tostring)'"
    ))?;
    Ok((name, addresses.trim().to_owned()))
}

static BOOTED: Shared<Booted> = Shared::new(|| {
    let walk = Walk::new("guest_boot")?;
    let agent = static_program("dra-guest-agent")?;
    let image = BaseImage::get()?.bake_with(&agent, None, |tree| {
        // cloud-init is awake, and leaves the network alone: its first unit is what the agent is measured by.
        wake(tree, Manager::CloudInit)?;
        let seed = tree.join("var/lib/cloud/seed/nocloud");
        fs::create_dir_all(&seed)?;
        fs::write(seed.join("meta-data"), "instance-id: vm\n")?;
        // The image has neither resize2fs nor ssh-keygen.
        let user_data =
            "#cloud-config\nresize_rootfs: false\nssh_deletekeys: false\nssh_genkeytypes: []\n";
        fs::write(seed.join("user-data"), user_data)?;
        fs::write(seed.join("network-config"), "network: {config: disabled}\n")?;
        Ok(())
    })?;
    let files = tempfile::tempdir_in("/tmp")?;
    let share = files.path().join("share");
    fs::create_dir(&share)?;
    let first = document("net1", "192.0.2.5/24").to_string();
    fs::write(share.join("device-attributes.json"), first)?;
    let (guest, state) = Guest::boot(&GuestOptions {
        share: Some(&share),
        ..GuestOptions::bare(
            &image,
            NIC_MAC.parse()?,
            &files.path().join("vsock"),
            &walk.logs,
        )
    })?;
    Ok(Booted {
        guest,
        state,
        parts: Vec::new(),
        share,
        logs: walk.logs,
        image,
        _files: files,
    })
});

fn main() -> ExitCode {
    suite::run(
        &BOOTED,
        &[
            (
                "a_nic_that_is_not_there_does_not_hold_up_the_boot",
                first::boots,
            ),
            ("no_unit_waits_for_a_nic", first::waits_for_no_nic),
            (
                "the_agent_is_a_twentieth_of_cloud_init_in_the_critical_chain_at_most",
                first::is_hardly_waited_for,
            ),
            (
                "the_agent_is_ready_soon_after_its_start",
                first::time_to_ready,
            ),
            (
                "killed_again_and_again_it_leaves_the_nic_as_it_is",
                again::killed,
            ),
            (
                "restarted_in_a_row_it_leaves_the_nic_as_it_is",
                again::restarted,
            ),
            ("another_document_is_followed", again::another_document),
            (
                "a_document_that_changes_while_the_guest_is_suspended_is_followed",
                again::suspended,
            ),
            ("the_vm_mount_is_read_only", share::read_only),
            (
                "a_share_that_is_mounted_late_is_followed",
                share::mounted_late,
            ),
            (
                "a_share_that_is_mounted_elsewhere_is_read",
                share::elsewhere,
            ),
            ("a_second_boot_is_a_first_boot", again::second_boot),
            (
                "a_clone_boots_with_another_machine_id_and_no_document_yet",
                again::clone_without_document,
            ),
            (
                "the_agents_share_of_the_boot_is_small_beside_cloud_inits",
                first::cost,
            ),
            (
                "a_document_that_comes_late_is_applied",
                again::late_document,
            ),
            (
                "a_share_that_is_dead_keeps_the_nic_and_the_status",
                share::dead,
            ),
            (
                "beside_a_dead_share_short_commands_end",
                share::short_commands,
            ),
            (
                "beside_a_dead_share_the_last_document_is_followed",
                share::followed,
            ),
            (
                "a_stop_beside_a_dead_share_ends_and_a_start_is_ready",
                share::stop,
            ),
            // A guest of its own: what has programs beside it on the node cannot be moved.
            (
                "a_snapshot_that_goes_on_elsewhere_takes_the_document_of_there",
                moved::snapshot,
            ),
        ],
    )
}
