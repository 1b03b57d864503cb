//! Guests of which nothing is heard.

use serde_json::json;

use crate::world::{READY_MESSAGE, Relay, World, ready, until};

/// A relay that gives a guest up after a second.
fn impatient(world: &World) -> Relay {
    world.relay(&[
        "--lost-after",
        "1",
        "--guest",
        "cid=5,socket=vm5,claim=default/a",
    ])
}

#[test]
fn a_silent_guest_is_lost_until_it_speaks_again() {
    let world = World::new();
    world.put_claim("a");
    let _relay = impatient(&world);
    let mut guest = world.agent("vm5");
    guest.report(1, &[ready("a")]);
    let lost = || world.status("a.yaml") == "Unknown AgentLost";
    until("the silence to be noticed", lost);
    let [_, _, message, _] = world.condition("a.yaml").unwrap();
    assert_eq!(message, "nothing was heard of the guest's agent for 1 s");

    // The connection still stands, as after a pause of the VM: a heartbeat brings it all back.
    guest.send(&json!({"type": "heartbeat"}));
    until("the heartbeat to count", || {
        world.condition("a.yaml").unwrap()[2] == READY_MESSAGE
    });
    until("the silence to be noticed again", lost);
    guest.report(2, &[ready("a")]);
    drop(guest);
    until("the closed connection to count as silence", lost);

    // A new agent has to say what it sees: its hello alone makes nothing ready.
    let mut guest = world.agent("vm5");
    assert_eq!(world.status("a.yaml"), "Unknown AgentLost");
    guest.report(1, &[ready("a")]);
    assert_eq!(world.status("a.yaml"), "True Configured");
}

#[test]
fn a_guest_that_ended_while_no_relay_ran_is_lost() {
    let world = World::new();
    world.put_claim("a");
    let relay = impatient(&world);
    world.agent("vm5").report(1, &[ready("a")]);
    drop(relay);
    assert_eq!(world.status("a.yaml"), "True Configured");
    let _relay = impatient(&world);
    until("the silence to be noticed", || {
        world.status("a.yaml") == "Unknown AgentLost"
    });
}

#[test]
fn a_guest_that_never_spoke_gets_no_condition() {
    let world = World::new();
    world.put_claim("a");
    let before = std::fs::read(world.claim_path("a.yaml")).unwrap();
    let _relay = impatient(&world);
    until("the silence to be noticed", || {
        world
            .log()
            .contains("nothing was heard of the guest's agent")
    });
    assert_eq!(std::fs::read(world.claim_path("a.yaml")).unwrap(), before);
}

#[test]
fn a_flood_of_connections_does_not_hide_silence() {
    let world = World::new();
    world.put_claim("a");
    let _relay = impatient(&world);
    world.agent("vm5").report(1, &[ready("a")]);
    until("the silence to be noticed", || {
        drop(world.connect("vm5"));
        world.status("a.yaml") == "Unknown AgentLost"
    });
}
