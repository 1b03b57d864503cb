//! What holds of every plan, for states and wishes that nobody thought of.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use dra_guest_agent::journal::Ledger;
use dra_guest_agent::observe::{Interface, Observation};
use dra_guest_agent::plan::{Action, Plan, Step, Wanted, plan};
use proptest::prelude::*;

/// Few names, so that they meet; the temporary ones among them.
const NAMES: [&str; 9] = [
    "a",
    "b",
    "c",
    "d",
    "dra2",
    "dra3",
    "dra1x2",
    "dra1x3",
    "fifteen-bytes-1",
];

fn interface(index: u32, name: &str, alternative: Option<&str>) -> Interface {
    serde_json::from_value(serde_json::json!({
        "index": index, "name": name,
        "alternativeNames": alternative.into_iter().collect::<Vec<_>>(),
        "macAddress": format!("02:00:00:00:00:{index:02x}"), "up": true, "mtu": 1500
    }))
    .unwrap()
}

/// Interfaces 2 to 7 with one name each, of which all are different, and some an alternative one.
fn observations() -> impl Strategy<Value = Observation> {
    let names = Just((0..NAMES.len()).collect::<Vec<_>>()).prop_shuffle();
    (names, 1..7_usize, 0..3_usize).prop_map(|(names, count, alternatives)| Observation {
        interfaces: (0..count)
            .map(|place| {
                let free = count + place;
                let alternative =
                    (place < alternatives && free < names.len()).then(|| NAMES[names[free]]);
                interface(
                    u32::try_from(place).unwrap() + 2,
                    NAMES[names[place]],
                    alternative,
                )
            })
            .collect(),
        ..Observation::default()
    })
}

/// Devices that name interface 2 to 8, the last of which is never there.
fn wishes() -> impl Strategy<Value = Vec<Wanted>> {
    let name = || proptest::option::of(0..NAMES.len());
    let one = (2..9_u32, name(), name());
    proptest::collection::vec(one, 0..7).prop_map(|wishes| {
        wishes
            .into_iter()
            .enumerate()
            .map(|(place, (index, wish, alternative))| Wanted {
                identity: serde_json::from_value(
                    serde_json::json!({"device": format!("d{place}")}),
                )
                .unwrap(),
                mac_address: Some(format!("02:00:00:00:00:{index:02x}").parse().unwrap()),
                name: wish.map(|wish| NAMES[wish].parse().unwrap()),
                alternative_names: alternative
                    .map(|wish| NAMES[wish].parse().unwrap())
                    .into_iter()
                    .collect(),
                ..Wanted::default()
            })
            .collect()
    })
}

/// The agent gave them some of their names: each interface its own name, in the place of another, and its alternative
/// one, as far as the numbers say so.
fn given(
    mut observation: Observation,
    names: &[Option<usize>],
    alternatives: &[bool],
) -> Observation {
    let step = |interface: &Interface, name: &str, action| Step {
        device: 0,
        interface: interface.index,
        name: name.to_owned(),
        action,
        reason: String::new(),
        source: None,
    };
    let mut steps = Vec::new();
    for (place, interface) in observation.interfaces.iter().enumerate() {
        if let Some(former) = names.get(place).copied().flatten() {
            let to = interface.name.clone();
            steps.push(step(interface, NAMES[former], Action::Rename { to }));
        }
        if let (Some(true), Some(alternative)) =
            (alternatives.get(place), interface.alternative_names.first())
        {
            let alternative = alternative.clone();
            let action = Action::AddAlternativeName { alternative };
            steps.push(step(interface, &interface.name, action));
        }
    }
    observation.journal = Ledger::from(steps);
    observation
}

/// Renames as the kernel does: a name or an alternative name is had once.
fn carry_out(plan: &Plan, observation: &mut Observation) {
    for step in plan.steps() {
        let to = match &step.action {
            Action::Rename { to } | Action::AddAlternativeName { alternative: to } => to,
            Action::RemoveAlternativeName { alternative } => {
                let mut interfaces = observation.interfaces.iter_mut();
                let interface = interfaces.find(|it| it.index == step.interface).unwrap();
                interface
                    .alternative_names
                    .retain(|name| name != alternative);
                continue;
            }
            _ => panic!("{step}: only names are wanted"),
        };
        let taken = observation
            .interfaces
            .iter()
            .any(|interface| interface.name == *to || interface.alternative_names.contains(to));
        assert!(!taken, "{step}: the name is taken at that point");
        assert!(to.len() <= 15, "{step}: the name does not fit");
        let interface = observation
            .interfaces
            .iter_mut()
            .find(|interface| interface.index == step.interface)
            .unwrap();
        assert_eq!(interface.name, step.name, "{step}");
        match &step.action {
            Action::Rename { .. } => interface.name.clone_from(to),
            _ => interface.alternative_names.push(to.clone()),
        }
    }
}

fn problem_counts(plan: &Plan) -> Vec<usize> {
    plan.devices
        .iter()
        .map(|device| device.problems.len())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn every_plan_can_be_carried_out_and_leaves_nothing_to_do(
        mut observation in observations(),
        wanted in wishes(),
    ) {
        let first = plan(&wanted, &observation);
        carry_out(&first, &mut observation);
        let second = plan(&wanted, &observation);
        prop_assert_eq!(&second.transactions, &Vec::new());
        prop_assert_eq!(problem_counts(&first), problem_counts(&second));
        for (device, wanted) in first.devices.iter().zip(&wanted) {
            if let (true, Some(index), Some(name)) = (device.problems.is_empty(), device.interface, &wanted.name) {
                let mut interfaces = observation.interfaces.iter();
                let interface = interfaces.find(|interface| interface.index == index).unwrap();
                prop_assert_eq!(&interface.name, name.as_str());
            }
        }
    }

    #[test]
    fn names_that_the_agent_gave_make_room_at_once(
        observation in observations(),
        names in proptest::collection::vec(proptest::option::of(0..NAMES.len()), 7),
        alternatives in proptest::collection::vec(any::<bool>(), 7),
        wanted in wishes(),
    ) {
        let mut observation = given(observation, &names, &alternatives);
        let first = plan(&wanted, &observation);
        carry_out(&first, &mut observation);
        let second = plan(&wanted, &observation);
        prop_assert_eq!(&second.transactions, &Vec::new());
        // Why a name does not become free may be told for more than one interface.
        let troubled = |plan: &Plan| problem_counts(plan).into_iter().map(|count| count > 0).collect::<Vec<_>>();
        prop_assert_eq!(troubled(&first), troubled(&second));
    }

    #[test]
    fn a_device_that_is_not_there_changes_nothing_for_the_others(
        observation in observations(),
        mut wanted in wishes(),
    ) {
        let all = plan(&wanted, &observation);
        let found: Vec<bool> = all.devices.iter().map(|device| device.interface.is_some()).collect();
        let mut keep = found.iter();
        wanted.retain(|_| *keep.next().unwrap());
        let some = plan(&wanted, &observation);
        let steps = |plan: &Plan| plan.steps().map(ToString::to_string).collect::<Vec<_>>();
        prop_assert_eq!(steps(&all), steps(&some));
        let left: Vec<_> = all.devices.into_iter().filter(|device| device.interface.is_some()).collect();
        prop_assert_eq!(left, some.devices);
    }

    #[test]
    fn the_order_of_the_devices_does_not_matter(
        observation in observations(),
        wanted in wishes(),
    ) {
        let there = plan(&wanted, &observation);
        let reversed: Vec<Wanted> = wanted.into_iter().rev().collect();
        let back = plan(&reversed, &observation);
        let steps = |plan: &Plan| {
            let mut steps: Vec<String> = plan.steps().map(ToString::to_string).collect();
            steps.sort();
            steps
        };
        prop_assert_eq!(steps(&there), steps(&back));
    }
}
