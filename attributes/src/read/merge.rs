//! Brings several readings together.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::notes::Notes;
use super::{Form, Reading};
use crate::{Device, DeviceIdentity, Document};

/// Merges readings of several files into one.
///
/// A device that is named twice (same claim, request, driver, pool and device) is there once in the
/// result: with the newest generation, and as it came first among equals. A device without a name of its own, as
/// in the flat form, is never taken for another. The form is that of the first reading; without
/// any it is [`Form::Document`].
pub fn merge(readings: Vec<Reading>) -> Reading {
    let form = readings.first().map_or(Form::Document, |first| first.form);
    let mut notes = Notes::new("all files together");
    let mut rejected = Vec::new();
    let mut pod = None;
    let mut named: BTreeMap<DeviceIdentity, Device> = BTreeMap::new();
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
            match named.entry(key) {
                Entry::Vacant(place) => {
                    place.insert(device);
                }
                Entry::Occupied(mut place) => {
                    let (old, new) = (generation(place.get()), generation(&device));
                    if new > old {
                        place.insert(device);
                    } else if new == old && *place.get() != device {
                        notes.add(format!(
                            "{} is described twice in generation {new}, and differently: the first was taken",
                            device.identity()
                        ));
                    }
                }
            }
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
    }
    Some(identity)
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
