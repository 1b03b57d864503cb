//! What the watches have said: the newest of each object, and word that something is new.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use device_attributes::Name;
use device_attributes::read::claim::{ResourceClaim, Slices};
use kube::runtime::watcher::{self, Event};
use tokio::sync::Notify;

use super::ANNOTATION;
use super::files::Found;
use crate::cluster::index::Entry;
use crate::cluster::objects::{self, PodObject};
use crate::store::ClaimName;

/// A virt-launcher pod with claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// Its UID.
    pub uid: Name,
    /// Its namespace.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
    /// The claims that it was given.
    pub claims: BTreeSet<ClaimName>,
    /// The value of our annotation.
    pub current: Option<String>,
    /// The bytes of its other annotations, keys and values.
    pub others: usize,
}

/// What is known now.
#[derive(Debug, Default)]
pub struct Known {
    /// Pods by UID.
    pub pods: BTreeMap<Name, Pod>,
    /// The claims of these pods that are there.
    pub claims: BTreeMap<ClaimName, Arc<ResourceClaim>>,
    /// The node's slices.
    pub slices: Slices,
    /// What the drivers' files of these claims say, as of the last look.
    pub files: BTreeMap<ClaimName, Found>,
    /// Virt-launcher pods that have no claim, by UID.
    pub without_claims: BTreeSet<Name>,
    /// Whether all slices were listed once: before that a device has no attributes only because nobody asked.
    pub slices_listed: bool,
    /// The pods of a list that is under way.
    listed: Option<HashSet<Name>>,
}

/// What the watches and the annotator share.
#[derive(Debug, Default)]
pub struct Heard {
    known: Mutex<Known>,
    news: Notify,
}

impl Heard {
    /// What is known. Held for moments only.
    pub fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is known; `change` says whether it did.
    pub fn put(&self, change: impl FnOnce(&mut Known) -> bool) {
        if change(&mut self.known()) {
            self.news.notify_one();
        }
    }

    /// Waits until something is new.
    pub async fn news(&self) {
        self.news.notified().await;
    }

    /// Takes an event of the node's pods.
    pub fn pods(&self, event: &watcher::Result<Event<PodObject>>) {
        let Ok(event) = event else { return };
        self.put(|known| match event {
            Event::Apply(object) => known.put_pod(object),
            Event::Delete(object) => {
                let uid = objects::uid(&object.metadata);
                uid.is_some_and(|uid| {
                    known.without_claims.remove(&uid);
                    known.pods.remove(&uid).is_some()
                })
            }
            Event::Init => {
                known.listed = Some(HashSet::new());
                false
            }
            Event::InitApply(object) => {
                if let (Some(listed), Some(uid)) =
                    (&mut known.listed, objects::uid(&object.metadata))
                {
                    listed.insert(uid);
                }
                known.put_pod(object)
            }
            Event::InitDone => {
                let listed = known.listed.take().unwrap_or_default();
                let before = known.pods.len();
                known.pods.retain(|uid, _| listed.contains(uid));
                known.without_claims.retain(|uid| listed.contains(uid));
                known.pods.len() != before
            }
        });
    }
}

impl Known {
    fn put_pod(&mut self, object: &PodObject) -> bool {
        let Some(uid) = objects::uid(&object.metadata) else {
            return false;
        };
        let claimless =
            matches!(objects::pod(object), Some(Entry::Pod(pod)) if pod.claims.is_empty());
        if claimless {
            self.without_claims.insert(uid.clone());
        } else {
            self.without_claims.remove(&uid);
        }
        let Some(pod) = pod(object) else {
            return self.pods.remove(&uid).is_some();
        };
        if self.pods.get(&uid) == Some(&pod) {
            return false;
        }
        self.pods.insert(uid, pod);
        true
    }
}

/// A pod that is to be annotated; none without claims, and none that is on its way out.
fn pod(object: &PodObject) -> Option<Pod> {
    let Some(Entry::Pod(known)) = objects::pod(object) else {
        return None;
    };
    let metadata = &object.metadata;
    if known.claims.is_empty() || metadata.deletion_timestamp.is_some() {
        return None;
    }
    let annotations = metadata.annotations.iter().flatten();
    let others = annotations
        .filter(|(key, _)| *key != ANNOTATION)
        .map(|(key, value)| key.len() + value.len())
        .sum();
    let current = metadata
        .annotations
        .as_ref()
        .and_then(|all| all.get(ANNOTATION));
    Some(Pod {
        uid: known.uid,
        namespace: known.namespace,
        name: metadata.name.as_ref()?.parse().ok()?,
        claims: known.claims.into_keys().collect(),
        current: current.cloned(),
        others,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(uid: &str, annotations: &str, more: &str) -> PodObject {
        serde_json::from_str(&format!(
            r#"{{"metadata":{{"namespace":"lab","name":"virt-launcher-vm","uid":"{uid}","labels":{{"kubevirt.io/created-by":"v"}},
            "annotations":{{{annotations}}}{more}}},"spec":{{"resourceClaims":[{{"name":"n","resourceClaimName":"nic"}}]}},"status":{{}}}}"#
        ))
        .unwrap()
    }

    #[test]
    fn a_pods_annotations_are_told_apart() {
        let text = r#""ab":"cde","dra-guest/device-attributes":"{}""#;
        let pod = pod(&object("p", text, "")).unwrap();
        assert_eq!((pod.current.as_deref(), pod.others), (Some("{}"), 5));
    }

    #[tokio::test]
    async fn a_list_forgets_what_it_does_not_have() {
        let heard = Heard::default();
        heard.pods(&Ok(Event::Apply(object("a", "", ""))));
        heard.pods(&Ok(Event::Apply(object("b", "", ""))));
        // One word for both.
        heard.news().await;
        heard.pods(&Ok(Event::Init));
        heard.pods(&Ok(Event::InitApply(object("b", "", ""))));
        heard.pods(&Ok(Event::InitDone));
        heard.news().await;
        let names = || heard.known().pods.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(), ["b".parse().unwrap()]);
        let leaving = r#","deletionTimestamp":"2026-01-01T00:00:00Z""#;
        heard.pods(&Ok(Event::Apply(object("b", "", leaving))));
        assert!(names().is_empty());
    }
}
