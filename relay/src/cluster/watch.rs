//! Watches the virt-launcher pods and the VMs of one node.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use device_attributes::Name;
use futures_util::StreamExt as _;
use kube::runtime::watcher::{self, Config, Event, watcher};
use kube::{Api, Client, Resource};
use tokio::sync::Semaphore;
use tracing::{debug, info, warn};

use super::claims::ApiClaims;
use super::events::Events;
use super::guests::Guests;
use super::index::{Entry, Index, Kind, Touched};
use super::objects::{self, PodObject, VmObject};
use super::patient::patient;
use super::refusal::{self, Right};
use crate::annotate::heard::Heard;
use crate::monitoring::labels::{FailureReason, Operation};
use crate::monitoring::metrics;
use crate::monitoring::readiness::{self, Need};
use crate::roster::Roster;

/// The label selector of virt-launcher pods.
pub const LAUNCHER: &str = "kubevirt.io=virt-launcher,kubevirt.io/created-by";

/// The field selector of a node's pods. A pod that has ended keeps its name and its claims' names, and has no guest
/// any more.
pub fn pods_of_node(node: &str) -> String {
    format!("spec.nodeName={node},status.phase!=Succeeded,status.phase!=Failed")
}

/// The label selector of a node's VMs.
pub fn vms_of_node(node: &str) -> String {
    format!("kubevirt.io/nodeName={node}")
}

/// The node's guests at work.
pub struct Node {
    /// The API server.
    pub client: Client,
    /// The node's name.
    pub name: Name,
    /// Where the listeners look for guests.
    pub roster: Arc<Roster>,
    /// After how much silence an agent is lost.
    pub lost_after: Duration,
    /// Who else hears of the pods: what annotates them.
    pub annotations: Option<Arc<Heard>>,
    /// How many requests for claims may be under way at once.
    pub permits: Arc<Semaphore>,
    /// Where turns of readiness are told.
    pub events: Events,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// One watch: what a list that is under way has had, and the last error.
#[derive(Debug)]
struct Watch {
    kind: Kind,
    right: Right,
    listed: Option<HashSet<Name>>,
    /// Whether a list has come to its end.
    is_known: bool,
    last_error: Option<String>,
}

impl Node {
    /// Watches for as long as the relay runs.
    pub async fn watch(self) {
        let pods = Api::<PodObject>::all_with(self.client.clone(), &objects::pods());
        let config = Config::default()
            .fields(&pods_of_node(self.name.as_str()))
            .labels(LAUNCHER);
        let mut pods = pin!(patient(watcher(pods, config)));
        let vms = Api::<VmObject>::all_with(self.client.clone(), &objects::vms());
        let config = Config::default().labels(&vms_of_node(self.name.as_str()));
        let mut vms = pin!(patient(watcher(vms, config)));

        let verbs = "\"list\", \"watch\"";
        let mut pod_watch = Watch::new(Kind::Pod, Right("", "pods", verbs));
        let mut vm_watch = Watch::new(
            Kind::Vm,
            Right("kubevirt.io", "virtualmachineinstances", verbs),
        );
        let mut index = Index::default();
        let store = ApiClaims::new(self.client, self.permits, self.events);
        let mut guests = Guests::new(self.roster, Arc::new(store), self.lost_after);
        let mut touched = Touched::default();
        loop {
            // Neither stream ends.
            touched.extend(tokio::select! {
                Some(event) = pods.next() => {
                    if let Some(annotations) = &self.annotations {
                        annotations.pods(&event);
                    }
                    pod_watch.take(event, objects::pod, &mut index)
                }
                Some(event) = vms.next() => vm_watch.take(event, objects::vm, &mut index),
                else => return,
            });
            // Before both are known, a claim would seem to have fewer users than it has.
            if pod_watch.is_known && vm_watch.is_known {
                guests.look_at(&std::mem::take(&mut touched), &index);
            }
        }
    }
}

impl Watch {
    fn new(kind: Kind, right: Right) -> Self {
        Self {
            kind,
            right,
            listed: None,
            is_known: false,
            last_error: None,
        }
    }

    /// Puts an event in the index, and says which CIDs that touches.
    fn take<K: Resource>(
        &mut self,
        event: watcher::Result<Event<K>>,
        read: fn(&K) -> Option<Entry>,
        index: &mut Index,
    ) -> Touched {
        let Right(_, resource, _) = self.right;
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                metrics::failure(Operation::Watch, reason(&error));
                let words = words(&error, self.right);
                if self.last_error.as_ref() == Some(&words) {
                    debug!("{resource}: {words}");
                } else {
                    warn!("{resource}: {words}");
                    self.last_error = Some(words);
                }
                return Touched::default();
            }
        };
        if self.last_error.take().is_some() {
            info!("{resource}: the API server answers again");
        }
        match event {
            Event::Apply(object) => self.put(&object, read, index),
            Event::Delete(object) => self.remove(&object, index),
            Event::Init => {
                self.listed = Some(HashSet::new());
                Touched::default()
            }
            Event::InitApply(object) => {
                if let (Some(listed), Some(uid)) = (&mut self.listed, objects::uid(object.meta())) {
                    listed.insert(uid);
                }
                self.put(&object, read, index)
            }
            Event::InitDone => {
                self.is_known = true;
                readiness::fulfil(match self.kind {
                    Kind::Pod => Need::Pods,
                    Kind::Vm => Need::Vms,
                });
                let listed = self.listed.take().unwrap_or_default();
                info!("{resource}: {} of this node are known", listed.len());
                index.retain(self.kind, &listed)
            }
        }
    }

    fn put<K: Resource>(
        &self,
        object: &K,
        read: fn(&K) -> Option<Entry>,
        index: &mut Index,
    ) -> Touched {
        match read(object) {
            Some(entry) => index.put(entry),
            None => self.remove(object, index),
        }
    }

    fn remove<K: Resource>(&self, object: &K, index: &mut Index) -> Touched {
        let uid = objects::uid(object.meta());
        uid.map(|uid| index.remove(self.kind, &uid))
            .unwrap_or_default()
    }
}

/// What an error of a watch means.
pub(crate) fn words(error: &watcher::Error, right: Right) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => refusal::words(error, right),
        watcher::Error::WatchError(status) => refusal::answer(status, right),
        watcher::Error::NoResourceVersion => error.to_string(),
    }
}

/// Why a watch failed, as metrics have it.
pub(crate) fn reason(error: &watcher::Error) -> FailureReason {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => refusal::reason(error),
        watcher::Error::WatchError(status) => FailureReason::of_status(status.code),
        watcher::Error::NoResourceVersion => FailureReason::OtherAnswer,
    }
}
