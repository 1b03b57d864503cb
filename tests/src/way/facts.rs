//! What the guest's kernel says of a NIC.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::progress::Progress;
use crate::guest::Guest;

/// A NIC of the guest, by the word of its kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NicFacts {
    /// Its name.
    pub name: String,
    /// Its MAC address.
    pub mac: String,
    /// Its MTU.
    pub mtu: u64,
    /// Whether it is up (`IFF_UP`).
    pub up: bool,
    /// Its addresses of global scope, with prefix lengths.
    pub addresses: Vec<String>,
    /// Its PCI address in the guest.
    pub pci_address: String,
    /// Its NUMA node in the guest; -1 for none.
    pub numa_node: i32,
    /// Its driver.
    pub driver: String,
}

impl NicFacts {
    /// Asks for all NICs that have a device behind them, by name.
    ///
    /// # Errors
    /// When the guest does not answer as expected.
    pub fn of_guest(guest: &mut Guest) -> Result<Vec<Self>> {
        let json = guest.stdout_of("ip -json address show")?;
        let links: Vec<Value> = serde_json::from_str(&json).context("`ip -json address show`")?;
        // Of a virtio NIC, `device` is the virtio device below the PCI device.
        let sysfs = guest.stdout_of(
            "cd /sys/class/net && for nic in */device; do \
                 name=${nic%/device}; pci=$(readlink -f $nic); driver=$(basename $(readlink $nic/driver)); \
                 case $pci in */virtio*) pci=${pci%/virtio*};; esac; \
                 echo $name $(basename $pci) $(cat $pci/numa_node) $driver; done",
        )?;
        sysfs
            .lines()
            .map(|line| {
                Self::from_line(line, &links).with_context(|| format!("the guest's NIC `{line}`"))
            })
            .collect()
    }

    /// The step of a walk that asks.
    ///
    /// # Errors
    /// As [`NicFacts::of_guest`].
    pub(crate) fn look(progress: &mut Progress, guest: &mut Guest) -> Result<Vec<Self>> {
        progress.step("look at the NICs from inside the guest", || {
            let nics = Self::of_guest(guest)?;
            let names: Vec<&str> = nics.iter().map(|nic| nic.name.as_str()).collect();
            let names = names.join(", ");
            Ok((nics, names))
        })
    }

    fn from_line(line: &str, links: &[Value]) -> Result<Self> {
        let mut words = line.split(' ');
        let name = words.next().context("no name")?.to_owned();
        let link = links
            .iter()
            .find(|link| link.get("ifname").and_then(Value::as_str) == Some(&name))
            .context("`ip` does not show it")?;
        let flags = link.get("flags").and_then(Value::as_array);
        Ok(Self {
            mac: link
                .get("address")
                .and_then(Value::as_str)
                .context("no MAC address")?
                .to_owned(),
            mtu: link.get("mtu").and_then(Value::as_u64).context("no MTU")?,
            up: flags.is_some_and(|flags| flags.iter().any(|flag| flag == "UP")),
            addresses: addresses(link),
            pci_address: words.next().context("no PCI address")?.to_owned(),
            numa_node: words.next().context("no NUMA node")?.parse()?,
            driver: words.next().context("no driver")?.to_owned(),
            name,
        })
    }
}

fn addresses(link: &Value) -> Vec<String> {
    let list = link.get("addr_info").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter(|address| address.get("scope").and_then(Value::as_str) == Some("global"))
        .filter_map(|address| {
            let local = address.get("local")?.as_str()?;
            let length = address.get("prefixlen")?.as_u64()?;
            Some(format!("{local}/{length}"))
        })
        .collect()
}
