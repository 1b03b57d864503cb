//! Brings several readings together.

use std::collections::BTreeMap;

use super::notes::Notes;
use super::{Form, Reading};
use crate::{Device, DeviceIdentity, Document, Name};

/// Devices by their names, and by the UIDs of their claims.
type Named = BTreeMap<(DeviceIdentity, Option<Name>), Device>;

/// Merges readings of several files into one.
///
/// A device that is named twice (same claim, request, driver, pool and device) is there once in the
/// result: with the newest generation, and as it came first among equals. Two claims of one name
/// are the same unless both have a UID, and another. A device without a name of its own, as in the
/// flat form, is never taken for another. The form is that of the first reading; without any it is
/// [`Form::Document`].
pub fn merge(readings: Vec<Reading>) -> Reading {
    let form = readings.first().map_or(Form::Document, |first| first.form);
    let mut notes = Notes::new("all files together");
    let mut rejected = Vec::new();
    let mut pod = None;
    let mut named = Named::new();
    let mut devices = Vec::new();
    for reading in readings {
        rejected.extend(reading.rejected);
        for note in reading.notes {
            notes.add(note);
        }
        match (&pod, reading.document.pod) {
            (None, other) => pod = other,
            (Some(first), Some(other)) if *first != other => notes.add(format!(
                "two pods are named, {}/{} and {}/{}: the first was taken",
                first.namespace, first.name, other.namespace, other.name
            )),
            _ => {}
        }
        for device in reading.document.devices {
            let Some(key) = key(&device) else {
                devices.push(device);
                continue;
            };
            let (device, contradicted) = match take_same(&mut named, &key, &device) {
                None => (device, false),
                Some(known) => unify(known, device),
            };
            if contradicted {
                notes.add(format!(
                    "{} is described twice in generation {}, and differently: the first was taken",
                    device.identity(),
                    generation(&device)
                ));
            }
            named.insert((key, uid(&device)), device);
        }
    }
    devices.extend(named.into_values());
    let mut document = Document { pod, devices };
    document.sort();
    Reading {
        document,
        form,
        rejected,
        notes: notes.finish(),
    }
}

/// What makes two descriptions one device; none where the device has no name of its own.
fn key(device: &Device) -> Option<DeviceIdentity> {
    device.driver.as_ref()?;
    device.device.as_ref()?;
    let mut identity = device.identity();
    if let Some(claim) = &mut identity.claim {
        claim.generation = 0;
        claim.pod_claim_name = None;
        claim.uid = None;
    }
    Some(identity)
}

/// Takes out the device of the same claim, if it is there: a name can be given again, a UID cannot,
/// and not every form has it.
fn take_same(named: &mut Named, key: &DeviceIdentity, device: &Device) -> Option<Device> {
    let exact = (key.clone(), uid(device));
    let without = (key.clone(), None);
    if let Some(known) = named.remove(&exact) {
        return Some(known);
    }
    if exact.1.is_some() {
        return named.remove(&without);
    }
    let (first, _) = named.range(without..).next()?;
    let first = (first.0 == *key).then(|| first.clone())?;
    named.remove(&first)
}

/// What two descriptions of one device come to, and whether they contradict each other.
fn unify(mut known: Device, mut other: Device) -> (Device, bool) {
    if generation(&other) > generation(&known) {
        std::mem::swap(&mut known, &mut other);
    }
    let older = generation(&other) < generation(&known);
    if let (Some(claim), Some(other)) = (&mut known.claim, &mut other.claim) {
        complete(&mut claim.uid, &mut other.uid);
        complete(&mut claim.pod_claim_name, &mut other.pod_claim_name);
    }
    let contradicted = !older && known != other;
    (known, contradicted)
}

/// Gives each what only the other knows.
fn complete(one: &mut Option<Name>, other: &mut Option<Name>) {
    if one.is_none() {
        one.clone_from(other);
    } else if other.is_none() {
        other.clone_from(one);
    }
}

fn uid(device: &Device) -> Option<Name> {
    device.claim.as_ref()?.uid.clone()
}

fn generation(device: &Device) -> i64 {
    device.claim.as_ref().map_or(0, |claim| claim.generation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Claim;

    fn device(request: &str, generation: i64, node: i64) -> Device {
        let mut device = Device {
            claim: Some(Claim {
                namespace: "default".parse().unwrap(),
                name: "vm-nic".parse().unwrap(),
                uid: None,
                pod_claim_name: None,
                generation,
            }),
            request: Some(request.parse().unwrap()),
            driver: Some("nic.example.com".parse().unwrap()),
            pool: Some("worker-0".parse().unwrap()),
            device: Some("vf-1".parse().unwrap()),
            ..Device::default()
        };
        device.host.numa_node = Some(node.try_into().unwrap());
        device
    }

    fn reading(devices: Vec<Device>) -> Reading {
        Reading {
            document: Document { pod: None, devices },
            form: Form::Stream,
            rejected: Vec::new(),
            notes: vec!["a note".to_owned()],
        }
    }

    #[test]
    fn the_newest_generation_wins_wherever_it_stands() {
        let (old, new) = (device("vf", 1, 0), device("vf", 2, 1));
        for order in [[&old, &new], [&new, &old]] {
            let merged = merge(order.map(|one| reading(vec![one.clone()])).to_vec());
            assert_eq!(merged.document.devices, std::slice::from_ref(&new));
            assert_eq!(merged.notes.len(), 2);
        }
    }

    #[test]
    fn equal_descriptions_are_one_and_unequal_ones_are_noted() {
        let one = device("vf", 1, 0);
        let same = merge(vec![reading(vec![one.clone(), one.clone()])]);
        assert_eq!((same.document.devices.len(), same.notes.len()), (1, 1));

        let other = merge(vec![reading(vec![one.clone(), device("vf", 1, 1)])]);
        assert_eq!(other.document.devices, [one]);
        assert_eq!(
            other.notes[1],
            "vm-nic/vf (vf-1) is described twice in generation 1, and differently: the first was taken"
        );
    }

    #[test]
    fn a_claim_is_the_same_with_and_without_its_uid() {
        let with = |uid: Option<&str>, generation| {
            let mut device = device("vf", generation, 0);
            let claim = device.claim.as_mut().unwrap();
            claim.uid = uid.map(|uid| uid.parse().unwrap());
            device
        };
        for (one, other, expected) in [
            (with(None, 1), with(Some("u"), 1), vec![with(Some("u"), 1)]),
            (with(None, 2), with(Some("u"), 1), vec![with(Some("u"), 2)]),
            (
                with(Some("u"), 1),
                with(Some("v"), 2),
                vec![with(Some("u"), 1), with(Some("v"), 2)],
            ),
        ] {
            for order in [[&one, &other], [&other, &one]] {
                let merged = merge(order.map(|one| reading(vec![one.clone()])).to_vec());
                assert_eq!(merged.document.devices, expected);
                assert_eq!(merged.notes, ["a note", "a note"]);
            }
        }
    }

    #[test]
    fn devices_are_sorted_and_nameless_ones_stay_apart() {
        let merged = merge(vec![
            reading(vec![device("z", 1, 0)]),
            reading(vec![
                Device::default(),
                Device::default(),
                device("a", 1, 0),
            ]),
        ]);
        let requests = merged
            .document
            .devices
            .iter()
            .map(|device| device.request.clone());
        let requests: Vec<_> = requests
            .map(|name| name.map(|name| name.to_string()))
            .collect();
        assert_eq!(requests, [None, None, Some("a".into()), Some("z".into())]);
        assert!(merge(vec![]).document.devices.is_empty());
    }
}
