//! Watches of what the documents are made of, beside the pods: the node's slices, and each claim of its pods.
//!
//! A claim is watched by its name, as the kubelet watches the secrets of its pods: a node has few claims, and the cluster
//! may have many.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::pin::pin;
use std::sync::Arc;

use device_attributes::read::claim::{
    ClaimStatus, POD_CLAIM_NAME, ResourceClaim, ResourceSlice, SliceSpec,
};
use device_attributes::{Claim, Name};
use futures_util::StreamExt as _;
use kube::api::{ApiResource, NotUsed, Object};
use kube::runtime::watcher::{self, Config, Event, watcher};
use kube::{Api, Client};
use tokio::task::{AbortHandle, JoinSet};
use tracing::{debug, warn};

use super::heard::Heard;
use crate::cluster::objects;
use crate::cluster::patient::patient;
use crate::cluster::refusal::Right;
use crate::cluster::watch::{reason, words};
use crate::monitoring::labels::Operation;
use crate::monitoring::metrics;
use crate::store::ClaimName;

type ClaimObject = Object<NotUsed, ClaimStatus>;
type SliceObject = Object<SliceSpec, NotUsed>;

const VERBS: &str = "\"list\", \"watch\"";

/// The watches that are under way. They end when this is dropped.
#[derive(Debug)]
pub struct Watches {
    client: ClientWithoutDebug,
    heard: Arc<Heard>,
    tasks: JoinSet<()>,
    claims: BTreeMap<ClaimName, AbortHandle>,
}

#[derive(Clone)]
struct ClientWithoutDebug(Client);

impl std::fmt::Debug for ClientWithoutDebug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

impl Watches {
    /// Begins with the slices of a node.
    pub fn start(client: Client, node: &Name, heard: Arc<Heard>) -> Self {
        let mut tasks = JoinSet::new();
        tasks.spawn(slices(client.clone(), node.clone(), Arc::clone(&heard)));
        Self {
            client: ClientWithoutDebug(client),
            heard,
            tasks,
            claims: BTreeMap::new(),
        }
    }

    /// Watches these claims from now on, and no others.
    pub fn claims(&mut self, wanted: &BTreeSet<ClaimName>) {
        self.claims.retain(|name, task| {
            let stays = wanted.contains(name);
            if !stays {
                task.abort();
                // What it may still say comes from the same thread, so not after this.
                self.heard.put(|known| known.claims.remove(name).is_some());
            }
            stays
        });
        for name in wanted {
            if !self.claims.contains_key(name) {
                let watch = claim(self.client.0.clone(), name.clone(), Arc::clone(&self.heard));
                self.claims.insert(name.clone(), self.tasks.spawn(watch));
            }
        }
        // Those that were told to end.
        while self.tasks.try_join_next().is_some() {}
    }
}

/// Says an error once, and the same again for those who look closer.
#[derive(Debug, Default)]
struct Trouble(Option<String>);

impl Trouble {
    fn say(&mut self, what: &str, error: &watcher::Error, right: Right) {
        metrics::failure(Operation::Watch, reason(error));
        let words = words(error, right);
        if self.0.as_ref() == Some(&words) {
            debug!("{what}: {words}");
        } else {
            warn!("{what}: {words}");
            self.0 = Some(words);
        }
    }
}

async fn slices(client: Client, node: Name, heard: Arc<Heard>) {
    let api = Api::<SliceObject>::all_with(client, &resource("ResourceSlice", "resourceslices"));
    let config = Config::default().fields(&format!("spec.nodeName={node}"));
    let mut events = pin!(patient(watcher(api, config)));
    let mut trouble = Trouble::default();
    let mut listed = HashSet::new();
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                let right = Right("resource.k8s.io", "resourceslices", VERBS);
                trouble.say("resourceslices", &error, right);
                continue;
            }
        };
        trouble.0 = None;
        heard.put(|known| match event {
            Event::Apply(object) => slice(object).is_some_and(|slice| known.slices.put(slice)),
            Event::Delete(object) => {
                let name = object.metadata.name;
                name.is_some_and(|name| known.slices.remove(&name))
            }
            Event::Init => {
                listed.clear();
                false
            }
            Event::InitApply(object) => slice(object).is_some_and(|slice| {
                listed.insert(slice.name.clone());
                known.slices.put(slice)
            }),
            Event::InitDone => {
                let first = !known.slices_listed;
                known.slices_listed = true;
                known.slices.retain(|name| listed.contains(name)) || first
            }
        });
    }
}

fn slice(object: SliceObject) -> Option<ResourceSlice> {
    Some(ResourceSlice {
        name: object.metadata.name?,
        spec: object.spec,
    })
}

async fn claim(client: Client, name: ClaimName, heard: Arc<Heard>) {
    let resource = objects::claims();
    let api = Api::<ClaimObject>::namespaced_with(client, name.namespace.as_str(), &resource);
    let config = Config::default().fields(&format!("metadata.name={}", name.name));
    let mut events = pin!(patient(watcher(api, config)));
    let mut trouble = Trouble::default();
    let mut listed = false;
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                let right = Right("resource.k8s.io", "resourceclaims", VERBS);
                trouble.say(&format!("ResourceClaim {name}"), &error, right);
                continue;
            }
        };
        trouble.0 = None;
        let (Event::Apply(object) | Event::InitApply(object)) = event else {
            match event {
                Event::Init => listed = false,
                Event::InitDone if listed => {}
                _ => heard.put(|known| known.claims.remove(&name).is_some()),
            }
            continue;
        };
        listed = true;
        let claim = Arc::new(read(&name, object));
        heard.put(|known| {
            let before = known.claims.insert(name.clone(), Arc::clone(&claim));
            before != Some(claim)
        });
    }
}

fn read(name: &ClaimName, object: ClaimObject) -> ResourceClaim {
    let annotations = object.metadata.annotations.as_ref();
    let pod_claim_name = annotations.and_then(|all| all.get(POD_CLAIM_NAME)?.parse().ok());
    ResourceClaim {
        claim: Claim {
            namespace: name.namespace.clone(),
            name: name.name.clone(),
            uid: objects::uid(&object.metadata),
            pod_claim_name,
            generation: 0,
        },
        status: object.status.unwrap_or_default(),
    }
}

fn resource(kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: "resource.k8s.io".to_owned(),
        version: "v1".to_owned(),
        api_version: "resource.k8s.io/v1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}
