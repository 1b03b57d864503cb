//! A guest's CPUs and memory on NUMA nodes, and CPUs that are plugged in.

use anyhow::Result;
use serde_json::json;

use super::Guest;
use crate::wait;

/// The CPUs and the memory of a guest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Machine {
    /// Two nodes of two CPUs and half the memory each.
    #[default]
    TwoNodes,
    /// Nodes 0 and 1 as those, and three more, with a root port on each but the first; CPUs can be plugged in with
    /// [`Guest::plug_cpu`].
    ///
    /// - Node 1 has room for seventy more CPUs: the kernel numbers the last of them 79.
    /// - Node 2 has memory alone, and room for CPUs.
    /// - Node 3 has nothing, so that the kernel does not have it yet, and room for CPUs.
    /// - Node 4 has one CPU, number 4, and no memory.
    Growing,
}

/// What the guest of [`Machine::Growing`] sees behind the root port of a node, from 1 to 4: the port's bus in QEMU is
/// `node-N`.
pub const GROWING_PCI_ADDRESSES: [&str; 4] = [
    "0000:89:00.0",
    "0000:91:00.0",
    "0000:99:00.0",
    "0000:a1:00.0",
];

impl Machine {
    /// What QEMU is told of CPUs, memory and nodes.
    pub(super) fn arguments(self) -> String {
        // Shared memory, because the vhost-user programs read and write the guest's buffers.
        let memory = |node: u32, mebibytes: u32| {
            format!(
                "-object memory-backend-memfd,id=m{node},size={mebibytes}M,share=on \
                 -numa node,nodeid={node},memdev=m{node}"
            )
        };
        let halves = format!("{} {}", memory(0, 512), memory(1, 512));
        let cpu = |node: u32, socket: u32| format!("-numa cpu,node-id={node},socket-id={socket}");
        match self {
            Self::TwoNodes => {
                let cpus = [cpu(0, 0), cpu(1, 1)].join(" ");
                format!("-cpu max -m 1024 -smp 4,sockets=2,cores=2 {halves} {cpus}")
            }
            Self::Growing => {
                let cpus =
                    (0..SOCKETS).map(|socket| cpu(if socket < 5 { socket } else { 1 }, socket));
                let cpus = cpus.collect::<Vec<_>>().join(" ");
                let ports = (1..=4).map(|node| {
                    let bus = 128 + 8 * node;
                    format!(
                        "-device pxb-pcie,id=pxb-{node},bus_nr={bus},numa_node={node},bus=pcie.0 \
                         -device pcie-root-port,id=node-{node},bus=pxb-{node},chassis={chassis},slot={chassis}",
                        chassis = 10 + node
                    )
                });
                let ports = ports.collect::<Vec<_>>().join(" ");
                // Linux lets CPUs come later only where it knows to be in a guest (`acpi_is_processor_usable` in
                // `arch/x86/kernel/acpi/boot.c`). KVM tells it; an emulated machine has but VMware's door for that
                // (`vmware_platform` in `arch/x86/kernel/cpu/vmware.c`), which QEMU has too.
                format!(
                    "-cpu max,hypervisor=off -smbios type=1,serial=VMware-emulated \
                     -m 1280 -smp cpus=4,sockets={SOCKETS},cores=2,threads=1,maxcpus={most} {halves} {} \
                     -numa node,nodeid=3 -numa node,nodeid=4 {cpus} {ports} \
                     -device {CPU},socket-id=4,core-id=0,thread-id=0",
                    memory(2, 256),
                    most = 2 * SOCKETS,
                )
            }
        }
    }
}

/// The sockets of [`Machine::Growing`], of two CPUs each: that of its number on each node, and the others on node 1.
const SOCKETS: u32 = 40;
/// Its CPUs.
const CPU: &str = "max-x86_64-cpu,hypervisor=off";

impl Guest {
    /// Plugs a CPU into a node of [`Machine::Growing`], from 1 to 3, and has the guest's kernel run it. Gives back its
    /// number there: of those that the node has room for the highest.
    ///
    /// # Errors
    /// When QEMU has no room for it, or the kernel does not take it.
    pub fn plug_cpu(&mut self, node: u32) -> Result<String> {
        let before = self.cpus()?;
        let socket = if node == 1 { SOCKETS - 1 } else { node };
        self.tell_qemu(&json!({"execute": "device_add", "arguments": {
            "driver": "max-x86_64-cpu", "hypervisor": false, "id": id(node),
            "socket-id": socket, "core-id": 1, "thread-id": 0,
        }}))?;
        let directory = wait::until("the kernel has the CPU", wait::PATIENCE, || {
            let now = self.cpus()?;
            Ok(now.into_iter().find(|cpu| !before.contains(cpu)))
        })?;
        // A rule of udev may have done so already.
        let online = format!("/sys/devices/system/cpu/{directory}/online");
        self.stdout_of(&format!(
            "test $(cat {online}) = 1 || echo 1 >{online} || test $(cat {online}) = 1"
        ))?;
        Ok(directory.trim_start_matches("cpu").to_owned())
    }

    /// Takes it out again: the kernel stops it first.
    ///
    /// # Errors
    /// When it does not.
    pub fn unplug_cpu(&mut self, node: u32) -> Result<()> {
        let before = self.cpus()?;
        let arguments = json!({"id": id(node)});
        self.tell_qemu(&json!({"execute": "device_del", "arguments": arguments}))?;
        wait::until("the kernel has let the CPU go", wait::PATIENCE, || {
            Ok((self.cpus()?.len() < before.len()).then_some(()))
        })
    }

    /// The CPUs that are there, online or not, by their directories.
    fn cpus(&mut self) -> Result<Vec<String>> {
        // Of names that are listed while one goes, `ls` would ask again.
        let listed = self.stdout_of(
            "find /sys/devices/system/cpu -maxdepth 1 -name 'cpu[0-9]*' -printf '%f\\n'",
        )?;
        Ok(listed.lines().map(str::to_owned).collect())
    }
}

/// What QEMU calls the CPU that is plugged into a node.
fn id(node: u32) -> String {
    format!("cpu-of-{node}")
}
