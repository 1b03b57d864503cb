//! What document and policy ask for no more: what the agent added is taken away, and nothing else.

use serde_json::json;

use crate::guest::{Guest, device, wait_for};
use crate::namespace::{in_namespace, ip, veth};
use crate::revert::{reverted, state};
use crate::service::{Service, is_ready};

const POLICY: &str = r#"
[[device]]
mtu = 1400
rp-filter = "loose"
accept-ra = "never"
alternative-names = ["storage"]
"#;

fn applied(guest: &Guest) {
    let said = guest.agent("apply");
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
}

#[test]
fn what_the_agent_added_goes_and_what_others_added_stays() {
    in_namespace(|| {
        let guest = Guest::new();
        veth("eth0", 1);
        ip("link set eth0-peer up");
        guest.document(&json!([device(
            1,
            "net1",
            &["192.0.2.5/24", "2001:db8::5/64"]
        )]));
        guest.policy(POLICY);
        applied(&guest);
        // Of the network of the agent's own address: the kernel would remove it with that.
        ip("address add 192.0.2.9/24 dev net1 valid_lft 1000 preferred_lft 900");
        ip("address add 198.51.100.9/24 dev net1");
        ip("route add 203.0.113.0/24 via 192.0.2.1 dev net1 proto dhcp src 192.0.2.9");
        ip("link property add dev net1 altname theirs");

        guest.document(&json!([device(
            1,
            "net1",
            &["192.0.2.6/24", "2001:db8::5/48"]
        )]));
        guest.policy("");
        let said = guest.agent("plan");
        for line in [
            "take the alternative name storage from net1: the agent added it, and it is no longer wanted [",
            "set the MTU of net1 from 1400 to 1500: it was 1500 before the agent set it",
            "set accept_ra of net1 from 0 to 1: it was 1 before the agent set it",
            "remove 192.0.2.5/24 from net1: the agent added it",
            "add 2001:db8::5/48 to net1: it does not have this address (attribute network.ipAddresses) [",
        ] {
            assert!(said.stdout.contains(line), "{line}: {}", said.stdout);
        }
        applied(&guest);
        let shown = ip("address show dev net1");
        for word in [
            "mtu 1500",
            "192.0.2.6/24",
            "192.0.2.9/24",
            "scope global dynamic net1",
            "198.51.100.9/24",
            "2001:db8::5/48",
            "altname theirs",
        ] {
            assert!(shown.contains(word), "{word}: {shown}");
        }
        for word in ["192.0.2.5/24", "2001:db8::5/64", "storage"] {
            assert!(!shown.contains(word), "{word}: {shown}");
        }
        let routes = ip("route show dev net1");
        assert!(
            routes.contains("203.0.113.0/24 via 192.0.2.1 proto dhcp src 192.0.2.9"),
            "{routes}"
        );
        assert_eq!(guest.agent("plan").stdout, "nothing to change\n");
    });
}

#[test]
fn what_was_taken_away_is_the_agents_no_more() {
    in_namespace(|| {
        let guest = Guest::new();
        veth("net1", 1);
        guest.document(&json!([device(
            1,
            "net1",
            &["192.0.2.5/24", "192.0.2.6/24"]
        )]));
        guest.policy("[[device]]\nmtu = 1400\n");
        applied(&guest);
        guest.document(&json!([device(1, "net1", &["192.0.2.6/24"])]));
        guest.policy("");
        applied(&guest);
        // Others make the same of it that the agent once did.
        ip("address add 192.0.2.5/24 dev net1");
        ip("link set net1 mtu 1400");
        assert_eq!(guest.agent("plan").stdout, "nothing to change\n");
        let said = guest.agent("revert");
        assert_eq!(said.code, 3, "{}", said.stdout);
        let shown = ip("address show dev net1");
        assert!(
            shown.contains("192.0.2.5/24") && !shown.contains("192.0.2.6/24"),
            "{shown}"
        );
        assert!(shown.contains("mtu 1400"), "{shown}");
    });
}

#[test]
fn a_device_that_the_document_has_no_more_gives_back_what_it_was_given() {
    in_namespace(|| {
        let guest = Guest::new();
        veth("eth0", 1);
        veth("eth1", 2);
        let before = state(&guest);
        let both = json!([
            device(1, "net1", &["192.0.2.5/24"]),
            device(2, "net2", &["192.0.2.6/24"])
        ]);
        guest.document(&both);
        guest.policy(
            POLICY
                .lines()
                .take(3)
                .collect::<Vec<_>>()
                .join("\n")
                .as_str(),
        );
        let service = Service::start(&guest);
        wait_for("the devices to be ready", || is_ready(&guest));
        guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
        wait_for("the address to go", || {
            let shown = ip("address show dev net2");
            !shown.contains("192.0.2.6/24") && shown.contains("mtu 1500")
        });
        assert!(ip("address show dev net1").contains("192.0.2.5/24"));
        guest.document(&both);
        wait_for("the address to come", || {
            ip("address show dev net2").contains("192.0.2.6/24")
        });
        assert_eq!(service.end(), 0);
        reverted(&guest);
        assert_eq!(state(&guest), before);
    });
}

/// A virtual function is replaced by another, which is to have the same name: one pass is enough, and what the old
/// one had is put back to it, under the name that it has then.
#[test]
fn a_name_passes_from_a_device_that_is_gone_to_the_next() {
    in_namespace(|| {
        let guest = Guest::new();
        veth("eth0", 1);
        veth("eth1", 2);
        let before = state(&guest);
        guest.policy(POLICY);
        guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
        applied(&guest);
        guest.document(&json!([device(2, "net1", &["192.0.2.5/24"])]));
        applied(&guest);
        let shown = ip("address show dev net1");
        let new = ["02:00:00:00:02:01", "192.0.2.5/24", "storage"];
        assert!(new.iter().all(|word| shown.contains(word)), "{shown}");
        let shown = ip("address show dev eth0");
        assert!(!shown.contains("192.0.2.5/24"), "{shown}");
        let accept_ra = |name: &str| {
            let path = format!("/proc/sys/net/ipv6/conf/{name}/accept_ra");
            std::fs::read_to_string(path).unwrap().trim().to_owned()
        };
        assert_eq!(
            (accept_ra("eth0"), accept_ra("net1")),
            ("1".into(), "0".into())
        );
        assert_eq!(guest.agent("plan").stdout, "nothing to change\n");
        reverted(&guest);
        assert_eq!(state(&guest), before);
    });
}

/// It is of a device that was configured, or of another: that cannot be told.
#[test]
fn an_entry_that_breaks_takes_nothing_back() {
    in_namespace(|| {
        let guest = Guest::new();
        veth("eth0", 1);
        let link = guest.path("run/systemd/network/00-dra-guest-020000000101.link");
        let devices = |good: &[u8]| {
            let mut broken = device(1, "net1", &["192.0.2.5/24"]);
            broken["network"]["ipAddresses"] = json!(["192.0.2.0/24"]);
            let others = good.iter().map(|number| device(*number, "net2", &[]));
            let devices: Vec<_> = others.chain([broken]).collect();
            guest.document(&json!(devices));
        };
        guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
        applied(&guest);
        // By itself, and beside another that is as it is to be.
        veth("eth1", 2);
        for good in [&[][..], &[2]] {
            devices(good);
            let said = guest.agent("apply");
            assert_eq!(said.code, 3, "{}{}", said.stdout, said.stderr);
            assert!(said.stdout.contains("InvalidAttributes"), "{}", said.stdout);
            assert!(ip("address show dev net1").contains("192.0.2.5/24"));
            let told = std::fs::read_to_string(&link).unwrap();
            assert!(told.contains("Name=net1\n"), "{told}");
        }
        guest.document(&json!([device(2, "net2", &[])]));
        applied(&guest);
        assert!(!ip("address show dev net1").contains("192.0.2.5/24"));
        assert!(!link.exists());
    });
}
