//! The look at the kernel: a netlink dump of links, addresses, routes and rules each, and what sysfs
//! adds to them.

mod asked;
mod interrupts;
mod ipv6_settings;
mod model;
mod pinning;
mod queues;
mod sysfs;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use device_attributes::{InterfaceAddress, MacAddress, PciAddress};

pub use asked::{About, Asked};
pub use ipv6_settings::Ipv6Settings;
pub use model::{Interface, Ipv6, Observation, PciFunction};
pub use pinning::{Fixed, InterfaceQueues, Interrupt, Pinning, ReceiveQueue, Vectors};

use crate::netlink::{Address, Link, Netlink, NetlinkError};
use crate::roots::Roots;

/// The least MTU of IPv6 (RFC 8200, section 5).
pub const IPV6_LEAST_MTU: u32 = 1280;

/// Looks at what the guest has: every interface but the loopback one, by index, and what is asked
/// for.
///
/// # Errors
/// When the kernel does not list what it has. What sysfs does not say is absent.
pub async fn observe(
    netlink: &Netlink,
    roots: &Roots,
    asked: &Asked,
) -> Result<Observation, NetlinkError> {
    // The first part of the first list that a socket is asked for is short, whatever room there is: the
    // kernel does not know of that yet. The rules fit in it, the links do not.
    let rules = netlink.rules().await?;
    let links = netlink.links().await?;
    let addresses = netlink.addresses().await?;
    let mut observation = combine(links, &addresses, &roots.sys, &asked.functions);
    observation.routes = netlink.routes(asked.routes).await?;
    observation.rules = rules;
    if asked.rp_filter {
        let text = fs::read_to_string(roots.proc.join("sys/net/ipv4/conf/all/rp_filter"));
        observation.rp_filter_of_all = text.ok().and_then(|text| text.trim().parse().ok());
    }
    if !asked.ipv6_settings.is_empty() {
        ipv6_settings::look(
            &roots.proc,
            &mut observation.interfaces,
            &asked.ipv6_settings,
        );
    }
    if !asked.pinned.is_empty() {
        let pinning = pinning::look(roots, &observation.interfaces, asked);
        observation.pinning = Some(pinning);
    }
    Ok(observation)
}

fn combine(
    links: Vec<Link>,
    addresses: &[Address],
    sys: &Path,
    functions: &[PciAddress],
) -> Observation {
    // A kernel that names parents (Linux 5.14) names every one: an interface without a parent is
    // virtual, as is one of a kind. sysfs need not be asked, and must not be where it shows another
    // network namespace, in which the name is another interface's.
    let parents_are_named = links.iter().any(|link| link.parent_bus.is_some());
    // The loopback interface, whose MTU is great, has IPv6 wherever the kernel has it.
    let mut loopbacks = links.iter().filter(|link| link.loopback);
    let has_ipv6 = loopbacks.all(|link| link.ipv6.is_some());
    let mut of_interface: BTreeMap<u32, Vec<&Address>> = BTreeMap::new();
    for address in addresses {
        of_interface
            .entry(address.interface)
            .or_default()
            .push(address);
    }
    let loopback_addresses = links
        .iter()
        .filter(|link| link.loopback)
        .filter_map(|link| of_interface.get(&link.index))
        .flatten()
        .filter_map(|address| InterfaceAddress::new(address.ip?, address.prefix).ok())
        .collect();
    let mut interfaces: Vec<Interface> = links
        .into_iter()
        .filter(|link| !link.loopback)
        .map(|link| {
            let pci_address = match (&link.parent_bus, &link.parent) {
                (Some(bus), Some(parent)) if bus == "pci" => parent.parse().ok(),
                (None, _) if parents_are_named || link.kind.is_some() => None,
                _ => sysfs::pci_address(sys, &link.name),
            };
            let ipv6 = ipv6(&link, has_ipv6);
            let addresses = of_interface.get(&link.index).map_or(&[][..], Vec::as_slice);
            interface(link, addresses, sys, pci_address, ipv6)
        })
        .collect();
    interfaces.sort_by_key(|interface| interface.index);
    Observation {
        interfaces,
        loopback_addresses,
        pci_functions: functions
            .iter()
            .filter_map(|address| Some((*address, sysfs::function(sys, *address)?)))
            .collect(),
        ..Observation::default()
    }
}

fn interface(
    link: Link,
    addresses: &[&Address],
    sys: &Path,
    pci_address: Option<PciAddress>,
    ipv6: Ipv6,
) -> Interface {
    // One that no document can ask for, like 10.0.0.0/8 with no host part, is left out.
    let those = |fits: fn(&Address) -> bool| {
        addresses
            .iter()
            .filter(|address| fits(address))
            .filter_map(|address| InterfaceAddress::new(address.ip?, address.prefix).ok())
            .collect()
    };
    let is_on_another = link.kind.as_deref().is_some_and(|kind| kind != "veth");
    Interface {
        addresses: those(|address| !address.is_duplicate()),
        tentative_addresses: those(Address::is_tentative),
        duplicate_addresses: those(Address::is_duplicate),
        index: link.index,
        name: link.name,
        alternative_names: link.alternative_names,
        kind: link.kind,
        controller: link.controller,
        vrf_table: link.vrf_table,
        // Of a virtual pair it is the other end.
        lower: link.lower.filter(|_| is_on_another),
        mac_address: mac(&link.address),
        permanent_mac_address: mac(&link.permanent_address),
        mac_address_before_bond: mac(&link.address_before_bond),
        pci_address,
        numa_node: pci_address.and_then(|address| sysfs::numa_node(sys, address)),
        up: link.up,
        carrier: link.carrier,
        ipv6,
        rp_filter: link.rp_filter,
        accept_ra: link.ipv6.and_then(|settings| settings.accept_ra),
        ipv6_settings: None,
        mtu: link.mtu,
        min_mtu: Some(link.min_mtu).filter(|mtu| *mtu != 0),
        max_mtu: Some(link.max_mtu).filter(|mtu| *mtu != 0),
    }
}

fn ipv6(link: &Link, has_ipv6: bool) -> Ipv6 {
    match link.ipv6 {
        Some(settings) if settings.disabled => Ipv6::Disabled,
        None if !has_ipv6 => Ipv6::NotInKernel,
        None if link.mtu < IPV6_LEAST_MTU => Ipv6::BelowMinimumMtu,
        // A kernel that does not say says so when it is asked for an address.
        _ => Ipv6::Enabled,
    }
}

fn mac(bytes: &[u8]) -> Option<MacAddress> {
    MacAddress::from_bytes(bytes.try_into().ok()?).ok()
}

#[cfg(test)]
mod identity_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use device_attributes::NodeId;
    use std::fs;

    fn link(index: u32) -> Link {
        Link {
            index,
            name: format!("eth{index}"),
            address: vec![2, 0, 0, 0, 0, 1],
            ..Link::default()
        }
    }

    #[test]
    fn interfaces_are_sorted_and_the_loopback_one_is_left_out_whatever_its_name() {
        let loopback = Link {
            loopback: true,
            ..link(1)
        };
        let observation = combine(vec![link(9), loopback, link(2)], &[], Path::new("/x"), &[]);
        let indices: Vec<u32> = observation.interfaces.iter().map(|i| i.index).collect();
        assert_eq!(indices, [2, 9]);
    }

    // cloud-init LP#1692028 (case 9).
    #[test]
    fn a_hardware_address_that_is_none_is_absent() {
        for (bytes, expected) in [
            (vec![0; 6], None),
            (vec![], None),
            (vec![2; 20], None),
            (vec![1, 0, 0, 0, 0, 1], None),
            (vec![2, 0, 0, 0, 0, 1], Some("02:00:00:00:00:01")),
        ] {
            let link = Link {
                permanent_address: bytes,
                ..link(2)
            };
            let observation = combine(vec![link], &[], Path::new("/x"), &[]);
            assert_eq!(
                observation.interfaces[0].permanent_mac_address,
                expected.map(|text| text.parse().unwrap())
            );
        }
    }

    #[test]
    fn a_bound_of_zero_is_no_bound() {
        let bounded = Link {
            min_mtu: 68,
            max_mtu: 9000,
            ..link(3)
        };
        let observation = combine(vec![link(2), bounded], &[], Path::new("/x"), &[]);
        let bounds: Vec<_> = observation
            .interfaces
            .iter()
            .map(|i| (i.min_mtu, i.max_mtu))
            .collect();
        assert_eq!(bounds, [(None, None), (Some(68), Some(9000))]);
    }

    #[test]
    fn the_function_is_the_named_parent_and_its_node_comes_from_sysfs() {
        let sys = tempfile::tempdir().unwrap();
        let function = sys.path().join("bus/pci/devices/10000:81:00.0");
        fs::create_dir_all(&function).unwrap();
        fs::write(function.join("numa_node"), "1\n").unwrap();
        let on_pci = Link {
            parent: Some("10000:81:00.0".into()),
            parent_bus: Some("pci".into()),
            ..link(2)
        };
        let on_ccw = Link {
            parent: Some("0.0.0001".into()),
            parent_bus: Some("ccw".into()),
            ..link(3)
        };
        let address: PciAddress = "10000:81:00.0".parse().unwrap();
        let observation = combine(vec![on_pci, on_ccw, link(4)], &[], sys.path(), &[address]);
        let found: Vec<_> = observation
            .interfaces
            .iter()
            .map(|i| (i.pci_address, i.numa_node.map(NodeId::get)))
            .collect();
        assert_eq!(
            found,
            [(Some(address), Some(1)), (None, None), (None, None)]
        );
        assert!(observation.pci_functions.contains_key(&address));
    }

    // rtnetlink of older kernels (case 83).
    #[test]
    fn a_kernel_that_names_no_parents_is_helped_by_sysfs() {
        let sys = tempfile::tempdir().unwrap();
        let class = sys.path().join("class/net");
        fs::create_dir_all(&class).unwrap();
        std::os::unix::fs::symlink(
            "../../devices/pci0000:00/0000:00:03.0/virtio0/net/eth2",
            class.join("eth2"),
        )
        .unwrap();
        let observation = combine(vec![link(2)], &[], sys.path(), &[]);
        assert_eq!(
            observation.interfaces[0].pci_address,
            Some("0000:00:03.0".parse().unwrap())
        );
        let virtual_one = Link {
            kind: Some("veth".into()),
            ..link(2)
        };
        let observation = combine(vec![virtual_one], &[], sys.path(), &[]);
        assert_eq!(observation.interfaces[0].pci_address, None);
    }
}
