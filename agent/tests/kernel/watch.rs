//! What is heard of the kernel's announcements.

use std::time::Duration;

use dra_guest_agent::netlink::{Change, Watch};

use crate::interface;
use crate::namespace::{in_namespace, ip, veth};

/// Runs a future on a runtime that can wait for descriptors.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(future)
}

async fn hears(watch: &mut Watch, expected: impl Fn(Change) -> bool) -> bool {
    let heard = watch.heard(|change, _| expected(change));
    let waited = tokio::time::timeout(Duration::from_secs(5), heard);
    waited.await.is_ok_and(|heard| heard.is_ok())
}

// GoogleCloudPlatform/guest-agent#613, talos@63bd62c9c (case 73).
#[test]
fn every_kind_of_change_is_heard_with_its_interface() {
    in_namespace(|| {
        veth("eth0", 1);
        let index = interface("eth0").index;
        block_on(async {
            let mut watch = Watch::open().unwrap();
            for (command, expected) in [
                ("link set eth0 up", Change::Link(index)),
                ("link set eth0-peer up", Change::Link(index)),
                ("address add 192.0.2.5/24 dev eth0", Change::Address(index)),
                (
                    "address add 2001:db8::5/64 dev eth0",
                    Change::Address(index),
                ),
                (
                    "route add 198.51.100.0/24 via 192.0.2.1",
                    Change::Route(Some(index)),
                ),
                (
                    "-6 route add 2001:db8:1::/64 dev eth0",
                    Change::Route(Some(index)),
                ),
                ("route add blackhole 203.0.113.0/24", Change::Route(None)),
                ("rule add from 192.0.2.5 table 7", Change::Rule),
                ("-6 rule add from 2001:db8::5 table 7", Change::Rule),
            ] {
                ip(command);
                assert!(
                    hears(&mut watch, |change| change == expected).await,
                    "{command}"
                );
            }
        });
    });
}

// amazon-ec2-net-utils#86 (case 46); systemd#14417, systemd#5398, talos#8157 (case 79).
#[test]
fn what_is_lost_is_told_and_the_next_is_heard() {
    in_namespace(|| {
        veth("eth0", 1);
        block_on(async {
            let mut watch = Watch::with_buffer(1).unwrap();
            for number in 1..=100 {
                ip(&format!("address add 192.0.2.{number}/32 dev eth0"));
            }
            assert!(hears(&mut watch, |change| change == Change::Lost).await);
            ip("rule add from 192.0.2.5 table 7");
            assert!(hears(&mut watch, |change| change == Change::Rule).await);
        });
    });
}
