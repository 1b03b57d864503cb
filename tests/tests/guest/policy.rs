//! The image's owner says what the agent does to NICs, and it is taken back.

use anyhow::{Result, ensure};
use dra_guest_tests::guest::FOREIGN_MAC;
use dra_guest_tests::wait;
use dra_guest_tests::way::{Arrival, NIC_MAC, NIC_NAME, NicFacts};

use crate::nic;

/// A VLAN is on the NIC while its MTU shrinks, as it cannot be in a namespace of a machine without
/// 8021q.
pub(crate) fn reaches_the_kernel(arrival: &mut Arrival) -> Result<()> {
    let guest = &mut arrival.guest;
    guest.stdout_of(&format!(
        "ip link add link {NIC_NAME} name vlan5 type vlan id 5 && ip link set vlan5 up && \
         mkdir -p /etc/dra-guest/agent.d && cat >/etc/dra-guest/agent.d/90-test.toml <<'END'\n\
         [[device]]\n\
         mtu = 1500\n\
         alternative-names = [\"storage-network-of-the-tenant\"]\n\
         rp-filter = \"loose\"\n\
         accept-ra = \"never\"\n\
         source-routing = true\n\
         routes = [{{to = \"203.0.113.0/24\", via = \"192.0.2.1\"}}]\n\
         END"
    ))?;
    guest.stdout_of("systemctl restart dra-guest-agent.service && dra-guest-agent check")?;
    for (command, part) in [
        ("cat /proc/sys/net/ipv4/conf/net1/rp_filter", "2"),
        ("cat /proc/sys/net/ipv6/conf/net1/accept_ra", "0"),
        ("ip link show storage-network-of-the-tenant", "mtu 1500"),
        ("ip link show vlan5", "mtu 1500"),
        (
            "ip route show",
            "203.0.113.0/24 via 192.0.2.1 dev net1 proto 218",
        ),
        ("ip rule show", "10739:"),
    ] {
        let shown = guest.stdout_of(command)?;
        ensure!(shown.contains(part), "{command}: {part} is not in\n{shown}");
    }
    guest.stdout_of(
        "ip link delete vlan5 && rm /etc/dra-guest/agent.d/90-test.toml && \
         systemctl restart dra-guest-agent.service && dra-guest-agent check",
    )?;
    let left = guest.stdout_of("ip rule show; ip route show table all")?;
    ensure!(!left.contains("proto 218"), "{left}");
    Ok(())
}

pub(crate) fn reload(arrival: &mut Arrival) -> Result<()> {
    arrival.guest.stdout_of(
        "mkdir -p /etc/dra-guest/agent.d && \
         printf '[[device]]\\nalternative-names = [\"storage\"]\\n' >/etc/dra-guest/agent.d/50-name.toml && \
         systemctl reload dra-guest-agent.service",
    )?;
    wait::until("the name", wait::PATIENCE, || {
        let shown = arrival.guest.run("ip link show storage")?;
        Ok((shown.code == 0).then_some(()))
    })?;
    let env = arrival
        .guest
        .stdout_of(". /run/dra-guest/devices/*.env && echo $DRA_GUEST_INTERFACE")?;
    ensure!(env.trim() == NIC_NAME, "{env}");
    Ok(())
}

/// The service is stopped from here on.
pub(crate) fn revert(arrival: &mut Arrival) -> Result<()> {
    let refused = arrival.guest.run("dra-guest-agent revert")?;
    ensure!(refused.code == 1, "{refused:?}");
    let said = arrival
        .guest
        .stdout_of("systemctl stop dra-guest-agent.service && dra-guest-agent revert")?;
    let nics = NicFacts::of_guest(&mut arrival.guest)?;
    let found = nic(&nics, NIC_MAC)?;
    ensure!(
        found.name.starts_with("en") && found.mtu == 1500 && !found.up,
        "{found:?}\n{said}"
    );
    ensure!(found.addresses.is_empty(), "{found:?}\n{said}");
    let storage = arrival.guest.run("ip link show storage")?;
    ensure!(storage.code != 0, "{storage:?}");
    let check = arrival.guest.run("dra-guest-agent check")?;
    ensure!(check.code == 4, "{check:?}");
    Ok(())
}

/// An igb and a virtio NIC, each with the other's MAC by the document's word.
pub(crate) fn set_macs(arrival: &mut Arrival) -> Result<()> {
    let before = NicFacts::of_guest(&mut arrival.guest)?;
    let (igb, virtio) = (nic(&before, NIC_MAC)?, nic(&before, FOREIGN_MAC)?);
    let device = |name: &str, mac: &str, nic: &NicFacts| {
        serde_json::json!({
            "device": name, "guest": {"pciAddress": nic.pci_address},
            "network": {"interfaceName": name, "macAddress": mac}
        })
    };
    let document = serde_json::json!({
        "apiVersion": "dra-guest/v1", "kind": "DeviceAttributes",
        "devices": [device("given0", FOREIGN_MAC, &igb), device("given1", NIC_MAC, &virtio)]
    });
    let roots = "--attributes /run/given/document.json --run-root /run/given --etc-root /run/given";
    arrival.guest.stdout_of(&format!(
        "mkdir -p /run/given/dra-guest && echo '{document}' >/run/given/document.json && \
         ip link set {} up && ip link set {} up",
        igb.name, virtio.name
    ))?;
    let refused = arrival
        .guest
        .run(&format!("dra-guest-agent plan {roots}"))?;
    ensure!(
        refused.code == 3 && refused.stdout.contains("IdentityConflict"),
        "{refused:?}"
    );
    arrival.guest.stdout_of(&format!(
        "printf '[[device]]\\nset-mac = true\\n' >/run/given/dra-guest/agent.toml && \
         dra-guest-agent apply {roots}"
    ))?;
    let given = NicFacts::of_guest(&mut arrival.guest)?;
    for (name, mac, old) in [("given0", FOREIGN_MAC, &igb), ("given1", NIC_MAC, &virtio)] {
        let now = nic(&given, mac)?;
        ensure!(
            now.name == name && now.pci_address == old.pci_address,
            "{given:?}"
        );
    }
    let again = arrival
        .guest
        .stdout_of(&format!("dra-guest-agent plan {roots}"))?;
    ensure!(again.trim() == "nothing to change", "{again}");
    arrival.guest.stdout_of(&format!(
        "dra-guest-agent revert --run-root /run/given && ip link set {} down && ip link set {} down",
        igb.name, virtio.name
    ))?;
    let after = NicFacts::of_guest(&mut arrival.guest)?;
    ensure!(after == before, "{after:?}\nwas {before:?}");
    Ok(())
}

pub(crate) fn start_again(arrival: &mut Arrival) -> Result<()> {
    arrival.guest.stdout_of(
        "rm /etc/dra-guest/agent.d/50-name.toml && systemctl start dra-guest-agent.service",
    )?;
    let check = arrival.guest.run("dra-guest-agent check")?;
    ensure!(check.code == 0, "{check:?}");
    let nics = NicFacts::of_guest(&mut arrival.guest)?;
    ensure!(nics == arrival.nics, "{nics:?}\nwas {:?}", arrival.nics);
    Ok(())
}
