//! The planner's cases: `cases/NAME/{document.json, observed.json, policy.toml}` → `plan.json`.
//!
//! `observed.json` is what `dra-guest-agent inspect --json` prints, so a state seen on a machine
//! becomes a case as it is. `UPDATE_CASES=1 cargo test -p dra-guest-agent --test cases` writes the
//! plans anew, to be read before they are committed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::too_many_lines
)]

use std::fs;
use std::path::{Path, PathBuf};

use dra_guest_agent::numa::CpuList;
use dra_guest_agent::observe::{Interface, Ipv6, Observation};
use dra_guest_agent::plan::{Action, Pin, Plan, Step, Sysctl, plan, wanted};
use dra_guest_agent::policy::Policy;

fn cases() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut cases: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    assert!(cases.len() >= 40, "the cases are gone");
    cases
}

struct Case {
    wanted: Vec<dra_guest_agent::plan::Wanted>,
    observation: Observation,
}

fn load(case: &Path) -> Case {
    let document = case.join("document.json");
    let bytes = fs::read(&document).unwrap();
    let reading = device_attributes::read::read(&document.display().to_string(), &bytes)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(reading.rejected, [], "{}", case.display());
    let policy = match fs::read_to_string(case.join("policy.toml")) {
        Ok(text) => Policy::parse("policy.toml", &text).unwrap(),
        Err(_) => Policy::default(),
    };
    let observed = fs::read(case.join("observed.json")).unwrap();
    Case {
        wanted: wanted(&reading, &policy),
        observation: serde_json::from_slice(&observed)
            .unwrap_or_else(|error| panic!("{}: {error}", case.display())),
    }
}

#[test]
fn every_case_gives_its_plan() {
    let update = std::env::var_os("UPDATE_CASES").is_some();
    let mut wrong = Vec::new();
    for case in cases() {
        let Case {
            wanted,
            observation,
        } = load(&case);
        let made = plan(&wanted, &observation);
        let text = serde_json::to_string_pretty(&made).unwrap() + "\n";
        let golden = case.join("plan.json");
        if update {
            fs::write(&golden, &text).unwrap();
        } else if fs::read_to_string(&golden).ok().as_ref() != Some(&text) {
            wrong.push(format!("{}:\n{text}", golden.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Does to an observation what the kernel would do.
fn carry_out(plan: &Plan, observation: &mut Observation) {
    for step in plan.steps() {
        let taken = |name: &String, observation: &Observation| {
            observation
                .interfaces
                .iter()
                .any(|other| other.name == *name || other.alternative_names.contains(name))
        };
        if let Action::Rename { to } | Action::AddAlternativeName { alternative: to } = &step.action
        {
            assert!(!taken(to, observation), "{step}: the name is taken");
        }
        match &step.action {
            Action::AddRoute { route } => {
                let mut routes = observation.routes.iter();
                let other = routes.find(|other| other.is_in_place_of(route));
                assert_eq!(other, None, "{step}: it is there");
                observation.routes.push(route.clone());
            }
            Action::RemoveAddress { address } => {
                let mut entries = observation.journal.entries();
                let added = Action::AddAddress { address: *address };
                let is_own = entries.any(|entry| {
                    entry.first.interface == step.interface && entry.first.action == added
                });
                assert!(is_own, "{step}: it is somebody else's");
            }
            Action::RemoveRoute { route } => {
                assert!(route.is_own(), "{step}: it is somebody else's");
                let place = observation.routes.iter().position(|other| other == route);
                observation.routes.remove(place.unwrap());
            }
            Action::AddRule { rule } => {
                assert!(!observation.rules.contains(rule), "{step}: it is there");
                observation.rules.push(rule.clone());
            }
            Action::RemoveRule { rule } => {
                assert!(rule.is_own(), "{step}: it is somebody else's");
                let place = observation.rules.iter().position(|other| other == rule);
                observation.rules.remove(place.unwrap());
            }
            _ => {}
        }
        if let Action::Pin(pin) = &step.action {
            pin_as_the_kernel_does(pin, step, observation);
        }
        if step.interface == 0 {
            continue;
        }
        let interface = observation
            .interfaces
            .iter_mut()
            .find(|interface| interface.index == step.interface)
            .unwrap();
        assert_eq!(interface.name, step.name, "{step}: another name by then");
        change(interface, &step.action, &step.to_string());
    }
}

fn pin_as_the_kernel_does(pin: &Pin, step: &Step, observation: &mut Observation) {
    let pinning = observation.pinning.as_mut().unwrap();
    let topology = pinning.topology.clone();
    let may_serve = |cpus: &CpuList| {
        assert!(
            !cpus.is_empty() && cpus.is_subset(&topology.online),
            "{step}: EINVAL"
        );
    };
    let queues = pinning.queues.get_mut(&step.interface);
    match pin {
        Pin::Channels { from, to } => {
            let channels = queues.unwrap().channels.as_mut().unwrap();
            assert_eq!(channels.combined, *from, "{step}");
            assert!(*to <= channels.most, "{step}");
            channels.combined = *to;
        }
        Pin::Irqbalance {
            interrupts, leaves, ..
        } => {
            assert!(leaves, "{step}");
            pinning.irqbalance.as_mut().unwrap().extend(interrupts);
        }
        Pin::Interrupt {
            function,
            interrupt,
            from,
            to,
        } => {
            may_serve(to);
            let vectors = pinning.functions.get_mut(function).unwrap();
            let mut interrupts = vectors.interrupts.iter_mut();
            let interrupt = interrupts.find(|it| it.number == *interrupt).unwrap();
            assert_eq!((interrupt.fixed, &interrupt.cpus), (None, from), "{step}");
            interrupt.cpus.clone_from(to);
        }
        Pin::Transmit { queue, to, .. } => {
            may_serve(to);
            queues.unwrap().transmit[*queue as usize].clone_from(to);
        }
        Pin::Receive { queue, to, .. } => {
            may_serve(to);
            queues.unwrap().receive[*queue as usize].cpus.clone_from(to);
        }
        Pin::Flows { queue, to, .. } => queues.unwrap().receive[*queue as usize].flows = *to,
    }
}

fn change(interface: &mut Interface, action: &Action, step: &str) {
    match action {
        Action::Rename { to } => {
            assert!(to.len() <= 15, "{step}: the name does not fit");
            interface.name.clone_from(to);
        }
        Action::AddAlternativeName { alternative } => {
            interface.alternative_names.push(alternative.clone());
        }
        Action::RemoveAlternativeName { alternative } => {
            let names = &mut interface.alternative_names;
            assert!(names.contains(alternative), "{step}");
            names.retain(|name| name != alternative);
        }
        Action::SetMacAddress { from, to } => {
            assert_eq!(interface.mac_address, Some(*from), "{step}");
            interface.mac_address = Some(*to);
        }
        Action::SetMtu { from, to, .. } => {
            assert_eq!(interface.mtu, *from, "{step}");
            interface.mtu = *to;
            if interface.ipv6 == Ipv6::BelowMinimumMtu {
                interface.ipv6 = Ipv6::Enabled;
            }
        }
        Action::SetSysctl { sysctl, to, .. } => match sysctl {
            Sysctl::RpFilter => interface.rp_filter = Some(*to),
            Sysctl::AcceptRa => interface.accept_ra = Some(*to),
        },
        Action::SetUp(_) => interface.up = true,
        Action::AddAddress { address } => {
            assert!(!interface.addresses.contains(address), "{step}");
            interface.addresses.push(*address);
        }
        Action::RemoveAddress { address } => {
            let [has, duplicate] = [&mut interface.addresses, &mut interface.duplicate_addresses];
            let before = has.len() + duplicate.len();
            has.retain(|other| other != address);
            duplicate.retain(|other| other != address);
            assert_eq!(before, has.len() + duplicate.len() + 1, "{step}");
        }
        Action::AddRoute { .. } => assert!(interface.up, "{step}: it is down"),
        Action::RemoveRoute { .. }
        | Action::AddRule { .. }
        | Action::RemoveRule { .. }
        | Action::Pin(_) => {}
    }
}

#[test]
fn a_plan_that_was_carried_out_leaves_nothing_to_do() {
    for case in cases() {
        let Case {
            wanted,
            mut observation,
        } = load(&case);
        let first = plan(&wanted, &observation);
        carry_out(&first, &mut observation);
        let mut second = plan(&wanted, &observation);
        let is_channels = |step: &Step| matches!(step.action, Action::Pin(Pin::Channels { .. }));
        if first.steps().any(is_channels) {
            // With them come other interrupts and queues.
            carry_out(&second, &mut observation);
            second = plan(&wanted, &observation);
        }
        assert_eq!(second.transactions, [], "{}", case.display());
        let problems = |plan: &Plan| -> Vec<usize> {
            plan.devices
                .iter()
                .map(|device| device.problems.len())
                .collect()
        };
        assert_eq!(problems(&first), problems(&second), "{}", case.display());
    }
}

#[test]
fn nothing_but_what_is_wanted_is_touched() {
    for case in cases() {
        let Case {
            wanted,
            observation,
        } = load(&case);
        let plan = plan(&wanted, &observation);
        let below = |index: u32| {
            let mut interfaces = observation.interfaces.iter();
            interfaces.find(|interface| interface.index == index)?.lower
        };
        for step in plan.steps() {
            // What is made on a device's interface shrinks with it.
            let is_mtu = matches!(step.action, Action::SetMtu { .. });
            let mut stack = std::iter::successors(Some(step.interface), |index| below(*index));
            let stack: Vec<u32> = stack.by_ref().take(if is_mtu { 9 } else { 1 }).collect();
            let own = plan.devices[step.device].interface.unwrap_or_default();
            // What the agent made on an interface of a device that is gone.
            let is_taken_back = observation
                .journal
                .interfaces()
                .any(|it| it == step.interface);
            let is_touched = stack.contains(&own) || is_taken_back;
            assert!(is_touched, "{}: {step}", case.display());
        }
    }
}

/// A document of 1 MiB made a status of 19 MB, and lines that no relay takes.
#[test]
fn a_thousand_devices_that_are_one_have_short_messages() {
    let case = cases()
        .into_iter()
        .find(|case| case.ends_with("two-devices-are-one-interface"))
        .unwrap();
    let Case {
        wanted,
        observation,
    } = load(&case);
    let many: Vec<_> = wanted.into_iter().take(2).cycle().take(1000).collect();
    for device in plan(&many, &observation).devices {
        let message = &device.problems[0].message;
        assert!(message.len() < 1024, "{message}");
        assert!(message.contains("and 991 more"), "{message}");
    }
}
