//! Watches the virt-launcher pods and the VMs of one node, and keeps a task for each guest that has claims.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use device_attributes::Name;
use device_attributes::report::Reason;
use futures_util::StreamExt as _;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Config, Event, watcher};
use kube::{Api, Client, Resource};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tracing::{Instrument as _, debug, info, info_span, warn};

use super::claims::ApiClaims;
use super::events::Events;
use super::index::{Entry, Guest, Index, Kind, Touched};
use super::objects::{self, PodObject, VmObject};
use super::refusal::{self, Right};
use crate::configuration;
use crate::guest::{self, Connections};
use crate::monitoring::labels::{FailureReason, Operation};
use crate::monitoring::metrics;
use crate::monitoring::readiness::{self, Need};
use crate::roster::Roster;
use crate::statement::{Condition, Status};

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

/// The guests that have a task, and why others have none.
#[derive(Debug)]
struct Guests {
    roster: Arc<Roster>,
    store: Arc<ApiClaims>,
    lost_after: Duration,
    /// Whether VMs that are not known yet came while the relay ran.
    are_new: bool,
    tasks: HashMap<u32, (Guest, AbortHandle)>,
    problems: BTreeMap<u32, Vec<String>>,
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
        let mut pods = pin!(watcher(pods, config).default_backoff());
        let vms = Api::<VmObject>::all_with(self.client.clone(), &objects::vms());
        let config = Config::default().labels(&vms_of_node(self.name.as_str()));
        let mut vms = pin!(watcher(vms, config).default_backoff());

        let verbs = "\"list\", \"watch\"";
        let mut pod_watch = Watch::new(Kind::Pod, Right("", "pods", verbs));
        let mut vm_watch = Watch::new(
            Kind::Vm,
            Right("kubevirt.io", "virtualmachineinstances", verbs),
        );
        let mut index = Index::default();
        let mut guests = Guests {
            are_new: false,
            store: Arc::new(ApiClaims::new(self.client, self.permits, self.events)),
            roster: self.roster,
            lost_after: self.lost_after,
            tasks: HashMap::new(),
            problems: BTreeMap::new(),
        };
        let mut touched = Touched::default();
        loop {
            // Neither stream ends.
            touched.extend(tokio::select! {
                Some(event) = pods.next() => pod_watch.take(event, objects::pod, &mut index),
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

fn words(error: &watcher::Error, right: Right) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => refusal::words(error, right),
        watcher::Error::WatchError(status) => refusal::answer(status, right),
        watcher::Error::NoResourceVersion => error.to_string(),
    }
}

fn reason(error: &watcher::Error) -> FailureReason {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => refusal::reason(error),
        watcher::Error::WatchError(status) => FailureReason::of_status(status.code),
        watcher::Error::NoResourceVersion => FailureReason::OtherAnswer,
    }
}

impl Guests {
    /// Brings tasks and claims to what the index says. A guest that is another one now, or has other claims, begins
    /// with nothing: its connection is closed, and its agent says everything again.
    fn look_at(&mut self, touched: &Touched, index: &Index) {
        let mut dismissed: Vec<Guest> = Vec::new();
        let mut admitted: Vec<(u32, Guest)> = Vec::new();
        for &cid in &touched.cids {
            self.look_at_problems(cid, index.problems(cid));
            let guest = index.guest(cid);
            if self.tasks.get(&cid).map(|(guest, _)| guest) == guest.as_ref() {
                continue;
            }
            dismissed.extend(self.dismiss(cid));
            admitted.extend(guest.map(|guest| (cid, guest)));
        }
        for claim in &touched.claims {
            self.store
                .set_users(claim, index.users(claim), self.are_new);
        }
        self.are_new = true;
        // One that has another CID or other claims now goes on with a new task.
        dismissed.retain(|guest| admitted.iter().all(|(_, other)| other.vm != guest.vm));
        for guest in dismissed {
            self.mute(&guest);
        }
        for (cid, guest) in admitted {
            self.admit(cid, guest);
        }
    }

    fn look_at_problems(&mut self, cid: u32, problems: Vec<String>) {
        if self.problems.get(&cid).map_or(&[][..], Vec::as_slice) == problems.as_slice() {
            return;
        }
        for problem in &problems {
            warn!(cid, "{problem}");
        }
        if problems.is_empty() {
            self.problems.remove(&cid);
        } else {
            self.problems.insert(cid, problems);
        }
    }

    fn dismiss(&mut self, cid: u32) -> Option<Guest> {
        let (guest, task) = self.tasks.remove(&cid)?;
        self.roster.dismiss(cid);
        task.abort();
        info!(cid, vm = guest.name, "no longer a guest with these claims");
        Some(guest)
    }

    fn admit(&mut self, cid: u32, guest: Guest) {
        let claims: Vec<String> = guest.claims.iter().map(ToString::to_string).collect();
        info!(cid, vm = guest.name, claims = claims.join(", "), "a guest");
        let connections = Arc::new(Connections::new());
        let span = info_span!("guest", vm = guest.name);
        let serving = guest::serve(
            configuration::Guest {
                cid,
                socket: None,
                claims: guest.claims.clone(),
            },
            Arc::clone(&connections),
            Arc::new(self.store.of(guest.vm.clone())),
            self.lost_after,
        );
        let task = tokio::spawn(serving.instrument(span));
        self.roster.admit(cid, connections);
        self.tasks.insert(cid, (guest, task.abort_handle()));
    }

    /// What a VM has said that still has its claims and is listened to no more, like one whose CID another VM has too, is
    /// not true for ever.
    fn mute(&self, guest: &Guest) {
        for claim in &guest.claims {
            let why = Condition {
                status: Status::Unknown,
                reason: Reason::AgentLost,
                message: "the guest is not listened to: its CID is not its own".to_owned(),
            };
            self.store.mute(claim, &guest.vm, why);
        }
    }
}
