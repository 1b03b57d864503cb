//! The guest's hardware, as arguments of QEMU.
//!
//! Two NUMA nodes with a PCI bus of its own on the second: KubeVirt's NUMA-aware placement of
//! devices (VEP 115). The NIC sits there, behind a root port; everything else is on the first bus,
//! which has no node.

use std::ffi::OsString;
use std::path::Path;

use device_attributes::MacAddress;

use super::image::{BakedImage, Boot};
use super::nodes::Machine;

/// The guest's vsock address.
pub const GUEST_CID: u32 = 5;
/// Where the guest sees the NIC: bus 128 is the extra root, bus 129 is behind its port.
pub const NIC_PCI_ADDRESS: &str = "0000:81:00.0";
/// The NUMA node of the NIC in the guest.
pub const NIC_NODE: u32 = 1;
/// The virtiofs tag of the VM mount.
pub const SHARE_TAG: &str = "device-attributes";
/// The MAC address of the second NIC, a virtio one that no document speaks of.
pub const FOREIGN_MAC: &str = "02:00:00:00:00:99";
/// The name of the virtio-serial port of the test's commands.
const CONSOLE_PORT: &str = "org.dra-guest.test";

/// The sockets between QEMU and the programs beside it.
#[derive(Debug)]
pub(super) struct Sockets<'a> {
    pub(super) share: Option<&'a Path>,
    pub(super) vsock: Option<&'a Path>,
    pub(super) console: &'a Path,
    pub(super) monitor: &'a Path,
}

/// What the guest's firmware tells it.
#[derive(Debug)]
pub(super) struct Firmware<'a> {
    pub(super) fw_cfg: Option<&'a Path>,
    pub(super) smbios: Option<&'a Path>,
}

/// The arguments of `qemu-system-x86_64`.
pub(super) fn arguments(
    image: &BakedImage,
    machine: Machine,
    nic: MacAddress,
    sockets: &Sockets<'_>,
    firmware: &Firmware<'_>,
    hardware: &str,
    serial: &Path,
) -> Vec<OsString> {
    let mut line = Line::default();
    line.add("-nodefaults -no-user-config -display none -machine q35");
    // No KVM: a nested one may be there and not work, and the demo is the same everywhere.
    line.add("-accel tcg,thread=multi");
    line.add(&machine.arguments());
    match &image.boot {
        Boot::Kernel { kernel, initramfs } => {
            let options = &image.kernel_options;
            // Where the machine is busy, the emulator now and then loses the wake-up of a CPU's timer. One that comes
            // again and again gets over that; one that is set each time never comes again.
            let ticks = "nohz=off highres=off";
            line.option("-kernel", kernel);
            line.option("-initrd", initramfs);
            line.option(
                "-append",
                format!("root=/dev/vda console=ttyS0 loglevel=4 {ticks} {options}"),
            );
        }
        Boot::Firmware(file) => line.option(
            "-drive",
            prefixed("if=pflash,format=raw,readonly=on,file=", file),
        ),
    }
    line.option("-serial", prefixed("file:", serial));

    line.option(
        "-drive",
        prefixed("if=none,id=root,format=raw,snapshot=on,file=", &image.image),
    );
    line.add("-device virtio-blk-pci,drive=root,bus=pcie.0");
    // A link to nobody: up, and no router speaks on it.
    line.add(&format!(
        "-device pxb-pcie,id=pxb,bus_nr=128,numa_node={NIC_NODE},bus=pcie.0 \
         -device pcie-root-port,id=nic-port,bus=pxb,chassis=1,slot=1 \
         -netdev hubport,id=nic,hubid=1 -device igb,bus=nic-port,netdev=nic,mac={nic} \
         -netdev hubport,id=foreign,hubid=2 \
         -device virtio-net-pci,bus=pcie.0,netdev=foreign,mac={FOREIGN_MAC}"
    ));
    line.add(hardware);
    line.option(
        "-qmp",
        suffixed(prefixed("unix:", sockets.monitor), ",server=on,wait=off"),
    );
    if let Some(share) = sockets.share {
        line.option("-chardev", prefixed("socket,id=share,path=", share));
        line.add(&format!(
            "-device vhost-user-fs-pci,chardev=share,tag={SHARE_TAG},bus=pcie.0"
        ));
    }
    if let Some(vsock) = sockets.vsock {
        line.option("-chardev", prefixed("socket,id=vsock,path=", vsock));
        line.add("-device vhost-user-vsock-pci,chardev=vsock,bus=pcie.0");
    }
    line.option(
        "-chardev",
        prefixed(
            "socket,id=console,server=on,wait=off,path=",
            sockets.console,
        ),
    );
    line.add(&format!(
        "-device virtio-serial-pci,bus=pcie.0 -device virtserialport,chardev=console,name={CONSOLE_PORT}"
    ));
    if let Some(file) = firmware.fw_cfg {
        line.option(
            "-fw_cfg",
            prefixed("name=opt/org.kubevirt/device-attributes,file=", file),
        );
    }
    if let Some(file) = firmware.smbios {
        line.option("-smbios", prefixed("type=11,path=", file));
    }
    line.0
}

#[derive(Default)]
struct Line(Vec<OsString>);

impl Line {
    /// Words without spaces in them.
    fn add(&mut self, words: &str) {
        self.0.extend(words.split_whitespace().map(OsString::from));
    }

    fn option(&mut self, name: &str, value: impl Into<OsString>) {
        self.0.push(name.into());
        self.0.push(value.into());
    }
}

fn prefixed(prefix: &str, path: &Path) -> OsString {
    let mut value = OsString::from(prefix);
    value.push(path);
    value
}

fn suffixed(mut value: OsString, suffix: &str) -> OsString {
    value.push(suffix);
    value
}
