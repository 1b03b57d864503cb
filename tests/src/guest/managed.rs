//! A guest in which network managers are awake, with configuration of theirs for the NICs that the
//! attributes name.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::image::{BakedImage, BaseImage, write};
use super::machine::{Guest, GuestOptions};
use super::nodes::Machine;
use crate::programs::static_program;
use crate::wait;
use crate::way::{NIC_MAC, Walk};

/// A network manager of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    /// `systemd-networkd`.
    Networkd,
    /// `NetworkManager`.
    NetworkManager,
    /// `ifupdown`.
    Ifupdown,
    /// `cloud-init`, with what lies in `/var/lib/cloud/seed/nocloud`.
    CloudInit,
}

/// A file of the guest: where, and its text.
pub type Addition<'a> = (&'a str, String);

/// What a guest is made of, beside the NIC on node 1 and the foreign one.
#[derive(Debug)]
pub struct ManagedOptions<'a> {
    /// The name of the logs' directory.
    pub name: &'a str,
    /// Those that are awake.
    pub managers: &'a [Manager],
    /// Their configuration.
    pub additions: &'a [Addition<'a>],
    /// The agent's policy.
    pub policy: &'a str,
    /// The document's devices.
    pub devices: Value,
    /// Its CPUs and memory.
    pub machine: Machine,
    /// Further hardware, as arguments of QEMU.
    pub hardware: &'a str,
    /// What the kernel is told beside the usual.
    pub kernel_options: &'a str,
}

/// A guest that has booted.
#[derive(Debug)]
pub struct Managed {
    /// The guest.
    pub guest: Guest,
    /// systemd's word for the boot.
    pub state: String,
    managers: Vec<Manager>,
    _image: BakedImage,
    _files: TempDir,
}

impl Managed {
    /// Boots it, with the document as a systemd credential.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn boot(options: &ManagedOptions<'_>) -> Result<Self> {
        let walk = Walk::new(options.name)?;
        let agent = static_program("dra-guest-agent")?;
        let mut image = BaseImage::get()?.bake_with(&agent, Some(options.policy), |tree| {
            for manager in options.managers {
                wake(tree, *manager)?;
            }
            for (path, text) in options.additions {
                write(tree, path, text)?;
                // NetworkManager takes no connection that others than root can read.
                if path.ends_with(".nmconnection") {
                    let mode = Permissions::from_mode(0o600);
                    fs::set_permissions(tree.join(path), mode)?;
                }
            }
            // A boot is over when the network is online, or systemd has given up waiting.
            link(tree, "multi-user.target.wants", "network-online.target")
        })?;
        options.kernel_options.clone_into(&mut image.kernel_options);
        let files = tempfile::tempdir_in("/tmp")?;
        let path = |name: &str| files.path().join(name);
        let document = json!({
            "apiVersion": "dra-guest/v1", "kind": "DeviceAttributes", "devices": options.devices
        });
        let credential = format!("io.systemd.credential:device-attributes={document}");
        fs::write(path("smbios"), credential)?;
        let (guest, state) = Guest::boot(&GuestOptions {
            smbios: Some(&path("smbios")),
            machine: options.machine,
            hardware: options.hardware,
            ..GuestOptions::bare(&image, NIC_MAC.parse()?, &path("vsock"), &walk.logs)
        })?;
        Ok(Self {
            guest,
            state,
            managers: options.managers.to_vec(),
            _image: image,
            _files: files,
        })
    }

    /// Holds that nothing failed and that systemd takes the network for online.
    ///
    /// # Errors
    /// With what failed.
    pub fn expect_online(&mut self) -> Result<()> {
        self.guest.expect_clean_boot(&self.state)?;
        let online = "systemctl is-active network-online.target";
        self.guest.stdout_of(online).map(|_| ())
    }

    /// Waits until the managers are through with what they do after a boot.
    ///
    /// # Errors
    /// With what one of them is still at, when it does not end within a minute.
    pub fn let_managers_settle(&mut self) -> Result<()> {
        for manager in self.managers.clone() {
            let command = at_work(manager);
            let mut last = String::new();
            let settled = wait::until("a manager has settled", Duration::from_mins(1), || {
                last = self.guest.stdout_of(command)?;
                Ok(last.trim().is_empty().then_some(()))
            });
            settled.with_context(|| format!("{manager:?} is at: {last}"))?;
        }
        Ok(())
    }

    /// The report of a device in the agent's status, by its name in the document.
    ///
    /// # Errors
    /// When there is no status or no such device.
    pub fn device(&mut self, name: &str) -> Result<Value> {
        let text = self.guest.stdout_of("cat /run/dra-guest/status.json")?;
        let status: Value = serde_json::from_str(&text)?;
        let devices = status.get("devices").and_then(Value::as_array);
        let mut devices = devices.into_iter().flatten();
        devices
            .find(|device| {
                device
                    .pointer("/identity/device")
                    .is_some_and(|id| id == name)
            })
            .cloned()
            .with_context(|| format!("{name} is not in {text}"))
    }

    /// Waits until a device's report says `reason`.
    ///
    /// # Errors
    /// With the report, when it does not within [`wait::PATIENCE`].
    pub fn wait_for(&mut self, name: &str, reason: &str) -> Result<Value> {
        let mut last = Value::Null;
        let what = format!("{name} becomes {reason}");
        let came = wait::until(&what, wait::PATIENCE, || {
            last = self.device(name)?;
            Ok(last
                .get("reason")
                .is_some_and(|said| said == reason)
                .then_some(()))
        });
        came.with_context(|| last.to_string())?;
        Ok(last)
    }

    /// Waits until an interface of the guest has these words in what `ip -d address show` prints.
    ///
    /// # Errors
    /// With what is printed, when one is missing for [`wait::PATIENCE`].
    pub fn wait_for_shown(&mut self, interface: &str, words: &[&str]) -> Result<()> {
        let mut last = Ok(());
        let come = wait::until(interface, wait::PATIENCE, || {
            last = self.expect_shown(interface, words);
            Ok(last.is_ok().then_some(()))
        });
        come.or(last)
    }

    /// Holds that an interface of the guest has these words in what `ip -d address show` prints.
    ///
    /// # Errors
    /// With what is printed, when one is missing.
    pub fn expect_shown(&mut self, interface: &str, words: &[&str]) -> Result<()> {
        let shown = self
            .guest
            .stdout_of(&format!("ip -d address show dev {interface}"))?;
        for word in words {
            ensure!(shown.contains(word), "`{word}` is not in {shown}");
        }
        Ok(())
    }
}

/// What prints the work that a manager has not done yet, and nothing once it is through.
fn at_work(manager: Manager) -> &'static str {
    match manager {
        Manager::Networkd => {
            "networkctl list --no-legend --no-pager | grep -E 'pending|initialized|configuring' || true"
        }
        Manager::NetworkManager => {
            "nmcli --terse --fields STARTUP general | grep -v '^started' || true; \
             nmcli --terse --fields DEVICE,STATE device | grep connecting || true"
        }
        Manager::Ifupdown => {
            "systemctl show --property=ActiveState networking.service | grep -v '=active' || true"
        }
        // 2 is for what it got over: here, that the agent has renamed what it was to rename.
        Manager::CloudInit => {
            "cloud-init status --wait >/dev/null; test $? -ne 1 || cloud-init status --long"
        }
    }
}

/// Enables a manager as its package does, in the tree of files that is baked into an image.
///
/// # Errors
/// When a file cannot be laid out.
pub fn wake(tree: &Path, manager: Manager) -> Result<()> {
    let (target, units, files): (_, &[&str], &[&str]) = match manager {
        Manager::Networkd => (
            "multi-user.target.wants",
            &["systemd-networkd.service"],
            &[],
        ),
        Manager::NetworkManager => (
            "multi-user.target.wants",
            &["NetworkManager.service"],
            &[
                "udev/rules.d/84-nm-drivers.rules",
                "udev/rules.d/85-nm-unmanaged.rules",
            ],
        ),
        Manager::Ifupdown => (
            "multi-user.target.wants",
            &["networking.service"],
            &["udev/rules.d/80-ifupdown.rules"],
        ),
        Manager::CloudInit => (
            "cloud-init.target.wants",
            &[
                "cloud-init-main.service",
                "cloud-init-local.service",
                "cloud-init-network.service",
                "cloud-config.service",
                "cloud-final.service",
            ],
            &["systemd/system-generators/cloud-init-generator"],
        ),
    };
    for unit in units {
        link(tree, target, unit)?;
    }
    let online = match manager {
        Manager::Networkd => Some("systemd-networkd-wait-online.service"),
        Manager::NetworkManager => Some("NetworkManager-wait-online.service"),
        Manager::Ifupdown => Some("networking.service"),
        Manager::CloudInit => None,
    };
    if let Some(unit) = online {
        link(tree, "network-online.target.wants", unit)?;
    }
    if manager == Manager::Networkd {
        let bus = "etc/systemd/system/dbus-org.freedesktop.network1.service";
        symlink(
            "/usr/lib/systemd/system/systemd-networkd.service",
            tree.join(bus),
        )?;
    }
    for file in files {
        let hidden = tree.join("etc").join(file);
        fs::create_dir_all(hidden.parent().unwrap_or(tree))?;
        symlink(Path::new("/usr/lib").join(file), hidden)?;
    }
    Ok(())
}

fn link(tree: &Path, target: &str, unit: &str) -> Result<()> {
    let wants = tree.join("etc/systemd/system").join(target);
    fs::create_dir_all(&wants)?;
    let unit_file = Path::new("/usr/lib/systemd/system").join(unit);
    symlink(unit_file, wants.join(unit)).with_context(|| format!("{unit} for {target}"))
}
