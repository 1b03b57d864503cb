//! What is read of the kernel's description of an interface.

use super::*;

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(u16::try_from(value.len() + 4).unwrap().to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn header(index: u32, flags: u32) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.extend(index.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes
}

#[test]
fn every_attribute_has_its_place() {
    let mut payload = header(7, 0);
    let kind = attribute(IFLA_INFO_KIND, b"bond\0");
    let names = [
        attribute(IFLA_ALT_IFNAME, b"one\0"),
        attribute(IFLA_ALT_IFNAME, b"two\0"),
    ];
    let mut ipv4 = vec![0; 4 * 32];
    ipv4[4 * RP_FILTER] = 2;
    let mut ipv6 = vec![0; 4 * 60];
    ipv6[4 * ACCEPT_RA] = 1;
    ipv6[4 * DISABLE_IPV6] = 1;
    let families = [
        attribute(AF_INET, &attribute(IFLA_INET_CONF, &ipv4)),
        attribute(AF_INET6, &attribute(IFLA_INET6_CONF, &ipv6)),
    ]
    .concat();
    for (kind, value) in [
        (IFLA_IFNAME, &b"net1\0"[..]),
        (IFLA_ADDRESS, &[2, 0, 0, 0, 0, 1]),
        (IFLA_PERM_ADDRESS, &[2, 0, 0, 0, 0, 2]),
        (IFLA_MTU, &1400_u32.to_ne_bytes()),
        (IFLA_MIN_MTU, &68_u32.to_ne_bytes()),
        (IFLA_MAX_MTU, &9000_u32.to_ne_bytes()),
        (IFLA_MASTER, &3_u32.to_ne_bytes()),
        // NLA_F_NESTED, which the kernel sets on some and not on others.
        (IFLA_LINKINFO, &kind),
        (IFLA_PROP_LIST | 0x8000, &names.concat()),
        (IFLA_PARENT_DEV_NAME, b"0000:81:00.0\0"),
        (IFLA_PARENT_DEV_BUS_NAME, b"pci\0"),
        (IFLA_LINK, &9_u32.to_ne_bytes()),
        (IFLA_AF_SPEC, &families),
    ] {
        payload.extend(attribute(kind, value));
    }
    assert_eq!(
        Link::parse(&payload).unwrap(),
        Link {
            index: 7,
            name: "net1".into(),
            alternative_names: vec!["one".into(), "two".into()],
            kind: Some("bond".into()),
            controller: Some(3),
            vrf_table: None,
            address_before_bond: Vec::new(),
            address: vec![2, 0, 0, 0, 0, 1],
            permanent_address: vec![2, 0, 0, 0, 0, 2],
            parent: Some("0000:81:00.0".into()),
            parent_bus: Some("pci".into()),
            lower: Some(9),
            up: false,
            carrier: false,
            loopback: false,
            mtu: 1400,
            min_mtu: 68,
            max_mtu: 9000,
            rp_filter: Some(2),
            ipv6: Some(Ipv6Settings {
                disabled: true,
                accept_ra: Some(1),
            }),
        }
    );
    // A macvlan in a container: the interface below has that index in another namespace.
    payload.extend(attribute(IFLA_LINK_NETNSID, &0_u32.to_ne_bytes()));
    assert_eq!(Link::parse(&payload).unwrap().lower, None);
}

#[test]
fn what_a_vrf_and_a_port_of_a_bond_say_is_read() {
    let table = attribute(IFLA_VRF_TABLE, &777_u32.to_ne_bytes());
    let before = attribute(IFLA_BOND_SLAVE_PERM_HWADDR, &[2, 0, 0, 0, 0, 9]);
    let parse = |information: &[Vec<u8>]| {
        let mut payload = header(7, 0);
        payload.extend(attribute(IFLA_LINKINFO, &information.concat()));
        Link::parse(&payload).unwrap()
    };
    let data = attribute(IFLA_INFO_DATA, &table);
    let vrf = parse(&[attribute(IFLA_INFO_KIND, b"vrf\0"), data.clone()]);
    assert_eq!(vrf.vrf_table, Some(777));
    // The same number is something else in the data of another kind.
    let bond = parse(&[attribute(IFLA_INFO_KIND, b"bond\0"), data]);
    assert_eq!(bond.vrf_table, None);
    let data = attribute(IFLA_INFO_SLAVE_DATA, &before);
    let port = parse(&[attribute(IFLA_INFO_SLAVE_KIND, b"bond\0"), data.clone()]);
    assert_eq!(
        (port.kind, port.address_before_bond),
        (None, vec![2, 0, 0, 0, 0, 9])
    );
    let port = parse(&[attribute(IFLA_INFO_SLAVE_KIND, b"bridge\0"), data]);
    assert_eq!(port.address_before_bond, [0; 0]);
}

// rtnetlink of older kernels (case 83).
#[test]
fn a_broken_attribute_does_not_hide_the_interface() {
    let mut payload = header(7, 1);
    payload.extend(attribute(IFLA_MTU, &[1]));
    payload.extend(attribute(IFLA_LINKINFO, &[0xff; 5]));
    payload.extend(attribute(999, &[0xff; 3]));
    payload.extend(attribute(IFLA_IFNAME, b"n\xffme\0"));
    let link = Link::parse(&payload).unwrap();
    assert_eq!(
        link,
        Link {
            index: 7,
            name: "n\u{fffd}me".into(),
            up: true,
            ..Link::default()
        }
    );
}

#[test]
fn a_cut_message_is_an_error_and_no_panic() {
    let mut payload = header(7, 8);
    payload.extend(attribute(IFLA_IFNAME, b"net1\0"));
    assert!(Link::parse(&payload).unwrap().loopback);
    for length in 0..payload.len() - 3 {
        if length != HEADER_BYTES {
            assert!(Link::parse(&payload[..length]).is_err(), "{length}");
        }
    }
}
