//! What is told of turns, and how often.

use super::*;
use crate::cluster::requests::Requests;

fn events() -> (Events, mpsc::Receiver<(Event, ObjectReference)>) {
    let (queue, receiver) = mpsc::channel(QUEUE);
    let known = Known {
        vms_of: HashMap::new(),
        vms: HashMap::new(),
        of_node: Rate::new(NODE_INTERVAL, NODE_BURST),
    };
    let known = Arc::new(Mutex::new(known));
    (Events { queue, known }, receiver)
}

fn user(name: &str) -> User {
    User {
        vm: format!("uid-of-{name}").parse().unwrap(),
        name: name.parse().unwrap(),
        requests: Requests::All,
    }
}

fn turn(status: Status, reason: Reason) -> Turn {
    Turn {
        request: "vf".to_owned(),
        driver: "d.example.com".to_owned(),
        pool: "p".to_owned(),
        device: "one".to_owned(),
        status: status.as_str().to_owned(),
        reason: reason.to_string(),
        message: "net1".to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_told_on_every_vm_of_the_claim_and_on_no_other() {
    let (events, mut told) = events();
    let claim: ClaimName = "lab/nic".parse().unwrap();
    let other: ClaimName = "lab/other".parse().unwrap();
    events.set_users(&claim, &[user("one"), user("two")]);
    events.set_users(&other, &[user("three")]);
    events.tell(&claim, &[turn(Status::True, Reason::Configured)]);
    for name in ["one", "two"] {
        let (event, vm) = told.try_recv().unwrap();
        assert_eq!(vm.name.as_deref(), Some(name));
        assert_eq!(event.type_, EventType::Normal);
        assert_eq!(event.reason, "Configured");
        assert_eq!(
            event.note.as_deref(),
            Some("claim lab/nic, request vf: net1")
        );
    }
    events.set_users(&claim, &[user("two")]);
    events.tell(&claim, &[turn(Status::Unknown, Reason::AgentLost)]);
    let (event, vm) = told.try_recv().unwrap();
    assert_eq!(vm.name.as_deref(), Some("two"));
    assert_eq!(event.type_, EventType::Warning);
    assert!(told.try_recv().is_err());
    events.set_users(&claim, &[]);
    events.tell(&claim, &[turn(Status::True, Reason::Configured)]);
    assert!(told.try_recv().is_err());
    let known = events.known();
    assert_eq!((known.vms_of.len(), known.vms.len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_guest_that_turns_all_the_time_leaves_room_for_others() {
    let (events, mut told) = events();
    let (wild, calm): (ClaimName, ClaimName) =
        ("lab/wild".parse().unwrap(), "lab/calm".parse().unwrap());
    events.set_users(&wild, &[user("wild")]);
    events.set_users(&calm, &[user("calm")]);
    for _ in 0..10_000 {
        events.tell(&wild, &[turn(Status::False, Reason::Pending)]);
        // The same users again give it no new bucket.
        events.set_users(&wild, &[user("wild")]);
    }
    events.tell(&calm, &[turn(Status::True, Reason::Configured)]);
    let mut of = HashMap::new();
    while let Ok((_, vm)) = told.try_recv() {
        *of.entry(vm.name.unwrap()).or_insert(0) += 1;
    }
    assert_eq!((of["wild"], of["calm"]), (VM_BURST, 1));
    tokio::time::advance(VM_INTERVAL).await;
    for _ in 0..3 {
        events.tell(&wild, &[turn(Status::False, Reason::Pending)]);
    }
    assert!(told.try_recv().is_ok() && told.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_node_full_of_such_guests_is_bounded_too() {
    let (events, mut told) = events();
    for number in 0..8 {
        let claim: ClaimName = format!("lab/claim-{number}").parse().unwrap();
        events.set_users(&claim, &[user(&format!("vm-{number}"))]);
        for _ in 0..100 {
            events.tell(&claim, &[turn(Status::False, Reason::Ambiguous)]);
        }
    }
    let mut count = 0;
    while told.try_recv().is_ok() {
        count += 1;
    }
    assert_eq!(count, NODE_BURST);
}
