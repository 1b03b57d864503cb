//! Names, MTUs, sysctls and addresses that a policy asks for, from the file to the kernel.

use std::fs;

use crate::namespace::{in_namespace, ip};
use crate::wish::{apply, guest, lacks, linked, shows};

#[test]
fn names_and_sysctls_are_set_and_taken_back() {
    in_namespace(|| {
        linked("eth0");
        ip("link property add dev eth0 altname net1");
        let sysctl = |name: &str, file: &str| {
            let text = fs::read_to_string(format!("/proc/sys/net/{file}")).unwrap();
            (name.to_owned(), text.trim().to_owned())
        };
        let guest = guest(
            &[],
            "alternative-names = [\"the-storage-network-of-the-tenant\"]
             rp-filter = \"loose\"\naccept-ra = \"never\"",
        );
        apply(&guest);
        shows(
            "link show net1",
            &["net1@", "altname the-storage-network-of-the-tenant"],
        );
        lacks("link show net1", "altname net1");
        let rp_filter = sysctl("rp_filter", "ipv4/conf/net1/rp_filter");
        let accept_ra = sysctl("accept_ra", "ipv6/conf/net1/accept_ra");
        assert_eq!((rp_filter.1.as_str(), accept_ra.1.as_str()), ("2", "0"));

        let said = guest.agent("revert");
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        shows("link show eth0", &["eth0@", "altname net1"]);
        lacks("link show eth0", "storage");
        let rp_filter = sysctl("rp_filter", "ipv4/conf/eth0/rp_filter");
        let accept_ra = sysctl("accept_ra", "ipv6/conf/eth0/accept_ra");
        assert_eq!((rp_filter.1.as_str(), accept_ra.1.as_str()), ("0", "1"));
    });
}

#[test]
fn an_mtu_below_that_of_ipv6_is_a_problem_of_ipv6_alone() {
    in_namespace(|| {
        linked("eth0");
        let guest = guest(&["2001:db8::5/64", "192.0.2.5/24"], "mtu = 1279");
        let said = guest.agent("apply");
        assert_eq!(said.code, 3, "{}", said.stdout);
        assert!(
            said.stdout.contains("an MTU of 1279, which is below 1280"),
            "{}",
            said.stdout
        );
        shows("address show dev net1", &["mtu 1279", "192.0.2.5/24"]);
        guest.policy("[[device]]\nmtu = 1280\naccept-ra = \"never\"\n");
        apply(&guest);
        shows("address show dev net1", &["mtu 1280", "2001:db8::5/64"]);
    });
}

#[test]
fn what_is_made_on_an_interface_shrinks_first_and_grows_again() {
    in_namespace(|| {
        linked("eth0");
        ip("link set eth0 mtu 9000");
        ip("link add link eth0 name mac0 type macvlan");
        let guest = guest(&[], "mtu = 1400");
        let said = guest.agent("plan");
        let first = "set the MTU of mac0 from 9000 to 1400";
        assert!(said.stdout.contains(first), "{}", said.stdout);
        apply(&guest);
        shows("link show mac0", &["mtu 1400"]);
        shows("link show net1", &["mtu 1400"]);
        let said = guest.agent("revert");
        // Others made something on it: it stays up.
        assert_eq!(said.code, 3, "{}{}", said.stdout, said.stderr);
        assert!(
            said.stdout.contains("others made mac0 on it"),
            "{}",
            said.stdout
        );
        shows("link show mac0", &["mtu 9000"]);
        shows("link show eth0", &["mtu 9000"]);
    });
}

#[test]
fn apply_waits_for_duplicate_address_detection() {
    in_namespace(|| {
        linked("eth0");
        // The same address on the other end.
        ip("address add 2001:db8::5/64 dev eth0-peer nodad");
        let guest = guest(&["2001:db8::5/64"], "");
        let said = guest.agent("apply");
        assert_eq!(said.code, 3, "{}{}", said.stdout, said.stderr);
        let words = "another host of the link has the address 2001:db8::5/64 too";
        assert!(said.stdout.contains(words), "{}", said.stdout);
    });
}
