//! The agent's own reporting and the real relay: both ends of the protocol as they are.

use std::fs;
use std::path::PathBuf;

use dra_guest_agent::report::relay::{Account, keep_reporting};
use tokio::net::UnixStream;
use tokio::sync::watch;

use crate::world::{READY_MESSAGE, World, not_ready, ready, until};

/// An agent on a thread of its own, until the returned sender is dropped.
fn agent(socket: PathBuf) -> (watch::Sender<Account>, std::thread::JoinHandle<()>) {
    let (account, reported) = watch::channel(Account::default());
    let reporting = std::thread::spawn(move || {
        let connect = || UnixStream::connect(socket.clone());
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(keep_reporting(connect, "boot", reported));
    });
    (account, reporting)
}

fn account(digest: &str, devices: &[serde_json::Value]) -> Account {
    Account {
        document_digest: Some(digest.to_owned()),
        devices: devices
            .iter()
            .map(|device| serde_json::from_value(device.clone()).unwrap())
            .collect(),
    }
}

#[test]
fn what_the_agent_reports_is_on_the_claim_and_a_new_relay_hears_it_again() {
    let world = World::new();
    world.put_claim("a");
    // The agent is there first, as at the boot of a node.
    let (sender, reporting) = agent(world.path("vm5_10739"));
    let relay = world.relay_of_one();
    let waiting = not_ready("a", "DeviceNotFound", "no network interface has it");
    sender.send(account("sha256:1", &[waiting])).unwrap();
    until("the first report", || {
        world.status("a.yaml") == "False DeviceNotFound"
    });
    sender.send(account("sha256:1", &[ready("a")])).unwrap();
    until("the news", || world.status("a.yaml") == "True Configured");
    sender.send(account("sha256:2", &[ready("a")])).unwrap();
    until("the account of another document", || {
        world.log().contains("sha256:2")
    });
    assert_eq!(world.condition("a.yaml").unwrap()[2], READY_MESSAGE);

    drop(relay);
    world.put_claim("a");
    fs::remove_file(world.path("log")).unwrap();
    let _relay = world.relay_of_one();
    until("the report to the new relay", || {
        world.status("a.yaml") == "True Configured"
    });
    assert!(!world.log().contains("WARN"), "{}", world.log());
    drop(sender);
    reporting.join().unwrap();
}
