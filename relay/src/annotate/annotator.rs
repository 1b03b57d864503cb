//! Goes over the pods whenever something may be new, and has the annotations written that are others now.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use device_attributes::Name;
use kube::Client;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tracing::{debug, info, warn};

use super::document::{Made, Without, make};
use super::files::{Files, Found};
use super::heard::{Heard, Pod};
use super::watches::Watches;
use super::write::write;
use crate::monitoring::labels::AnnotationOutcome;
use crate::monitoring::metrics;
use crate::store::ClaimName;

/// How often the files are looked at. They are written in place, below directories that come and go. A look takes no
/// inotify instance of the node, and 70 µs of processor time and 16 system calls a claim (250 claims with one file each,
/// release build, virtual machine with two processors that did much else).
const LOOK: Duration = Duration::from_secs(2);
/// News come in bursts: what follows within this time is gone over together.
const SETTLE: Duration = Duration::from_millis(100);
/// For so long a file may be unfinished. Then its driver has left it so.
const UNFINISHED: Duration = Duration::from_secs(10);
/// The most writes that are under way at once.
const WRITES: usize = 4;
/// The pauses after a write that failed, up to the longest, with jitter.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// What to annotate with.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The kubelet's directory of plugins, where the metadata files are; none are read without it.
    pub metadata: Option<PathBuf>,
    /// Whether pods are annotated: else it is only known what their documents are.
    pub annotate: bool,
    /// The UNIX socket on which documents are asked for.
    pub socket: Option<PathBuf>,
}

/// The pods of a node and their annotations.
#[derive(Debug)]
pub struct Annotator {
    heard: Arc<Heard>,
    files: Option<Files>,
    annotate: bool,
    watches: Watches,
    writer: Writer,
    found: BTreeMap<ClaimName, Found>,
    /// A look at the files that has not ended: there is never a second one beside it.
    looking: Option<JoinHandle<BTreeMap<ClaimName, Found>>>,
    /// Since when a claim's file is unfinished.
    unfinished: BTreeMap<ClaimName, Instant>,
    /// What was said of a pod last.
    said: HashMap<Name, Vec<String>>,
}

/// Writes, and what is known of those that failed.
struct Writer {
    client: Client,
    /// So many of the relay's requests may be writes of annotations: claims are never kept from theirs.
    share: Arc<Semaphore>,
    /// Those of all requests that write, which the end of the relay waits for.
    permits: Arc<Semaphore>,
    tasks: JoinSet<(Pod, String, Result<(), String>)>,
    pods: HashMap<Name, State>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

/// What is known of the writes of one pod.
#[derive(Default)]
struct State {
    under_way: bool,
    failed: Option<(ExponentialBackoff, Instant)>,
}

impl Annotator {
    /// Begins to watch. `heard` is told of the node's pods by whoever watches these. A write takes one of `permits`; once
    /// these are closed there are none any more.
    pub fn start(
        client: Client,
        node: &Name,
        heard: Arc<Heard>,
        settings: Settings,
        permits: Arc<Semaphore>,
    ) -> Self {
        Self {
            watches: Watches::start(client.clone(), node, Arc::clone(&heard)),
            heard,
            files: settings.metadata.map(Files::below),
            annotate: settings.annotate,
            writer: Writer {
                client,
                share: Arc::new(Semaphore::new(WRITES)),
                permits,
                tasks: JoinSet::new(),
                pods: HashMap::new(),
            },
            found: BTreeMap::new(),
            looking: None,
            unfinished: BTreeMap::new(),
            said: HashMap::new(),
        }
    }

    /// Annotates for as long as the relay runs.
    pub async fn run(mut self) {
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let news = tokio::select! {
                _ = look.tick() => false,
                () = self.heard.news() => true,
                Some(done) = self.writer.tasks.join_next() => {
                    if let Ok((pod, value, result)) = done {
                        self.written(&pod, value, result);
                    }
                    continue;
                }
            };
            if news {
                sleep(SETTLE).await;
            }
            self.watch_claims();
            self.look_at_files().await;
            if self.annotate {
                self.go_over();
            }
        }
    }

    /// Has the claims of the pods watched that are there now.
    fn watch_claims(&mut self) {
        let wanted: BTreeSet<ClaimName> = {
            let known = self.heard.known();
            let pods = known.pods.values();
            pods.flat_map(|pod| &pod.claims).cloned().collect()
        };
        self.watches.claims(&wanted);
    }

    async fn look_at_files(&mut self) {
        let Some(files) = self.files.clone() else {
            return;
        };
        let claims = self.heard.known().claims.clone();
        // A file system that does not answer must not hold up the guests.
        let mut looking = self
            .looking
            .take()
            .unwrap_or_else(|| spawn_blocking(move || files.read(&claims)));
        match timeout(UNFINISHED, &mut looking).await {
            Ok(Ok(found)) => self.found = found,
            Ok(Err(error)) => warn!("the drivers' metadata files cannot be read: {error}"),
            Err(_) => {
                warn!(
                    "the drivers' metadata files have not been read after {} s",
                    UNFINISHED.as_secs()
                );
                self.looking = Some(looking);
            }
        }
        let now = Instant::now();
        self.unfinished
            .retain(|name, _| self.found.get(name).is_some_and(|found| found.unfinished));
        for (name, found) in &mut self.found {
            if found.unfinished {
                let since = *self.unfinished.entry(name.clone()).or_insert(now);
                found.unfinished = now - since < UNFINISHED;
            }
        }
        self.heard.known().files.clone_from(&self.found);
    }

    fn go_over(&mut self) {
        let known = self.heard.known();
        self.said.retain(|uid, _| known.pods.contains_key(uid));
        self.writer
            .pods
            .retain(|uid, state| state.under_way || known.pods.contains_key(uid));
        let mut waiting = 0;
        for pod in known.pods.values() {
            let Made { value, complaints } = make(pod, &known, &self.found);
            say(&mut self.said, pod, &value, complaints);
            match value {
                Ok(value) if pod.current.as_ref() == Some(&value) => continue,
                Ok(value) => self.writer.begin(pod, value),
                Err(_) => {}
            }
            waiting += 1;
        }
        metrics::annotations_waiting(waiting);
    }

    /// Takes the outcome of a write.
    fn written(&mut self, pod: &Pod, value: String, result: Result<(), String>) {
        let state = self.writer.pods.entry(pod.uid.clone()).or_default();
        state.under_way = false;
        match result {
            Ok(()) => {
                state.failed = None;
                metrics::annotation(AnnotationOutcome::Written);
                info!(pod = %pod.name, namespace = %pod.namespace, bytes = value.len(), "annotated");
                // The watch says so too, a little later. In the meantime it may have to be another one already.
                self.heard.put(|known| {
                    if let Some(pod) = known.pods.get_mut(&pod.uid) {
                        pod.current = Some(value);
                    }
                    true
                });
            }
            Err(words) => {
                metrics::annotation(AnnotationOutcome::Failed);
                let again = state.failed.is_some();
                let (mut pauses, _) = state.failed.take().unwrap_or_else(|| {
                    let pauses = ExponentialBuilder::default()
                        .with_min_delay(FIRST_PAUSE)
                        .with_max_delay(LONGEST_PAUSE)
                        .with_jitter()
                        .without_max_times();
                    (pauses.build(), Instant::now())
                });
                let pause = pauses.next().unwrap_or(LONGEST_PAUSE);
                state.failed = Some((pauses, Instant::now() + pause));
                if again {
                    debug!(pod = %pod.name, namespace = %pod.namespace, "not annotated: {words}");
                } else {
                    warn!(pod = %pod.name, namespace = %pod.namespace, "not annotated: {words}");
                }
            }
        }
    }
}

impl Writer {
    /// Begins a write, unless one is under way or the last has failed just now: the next look comes.
    fn begin(&mut self, pod: &Pod, value: String) {
        let state = self.pods.entry(pod.uid.clone()).or_default();
        let waits = state
            .failed
            .as_ref()
            .is_some_and(|(_, next)| Instant::now() < *next);
        if state.under_way || waits {
            return;
        }
        state.under_way = true;
        let (client, pod) = (self.client.clone(), pod.clone());
        let (share, permits) = (Arc::clone(&self.share), Arc::clone(&self.permits));
        self.tasks.spawn(async move {
            // Never closed.
            let _share = share.acquire_owned().await;
            let result = match permits.acquire_owned().await {
                Ok(_permit) => write(client, &pod, &value).await,
                Err(_) => Err("the relay ends".to_owned()),
            };
            (pod, value, result)
        });
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Whoever ends the relay waits for their permits.
        self.tasks.detach_all();
    }
}

/// Says what is new to say about a pod.
fn say(
    said: &mut HashMap<Name, Vec<String>>,
    pod: &Pod,
    value: &Result<String, Without>,
    mut complaints: Vec<String>,
) {
    let waiting = match value {
        Err(Without::NotYet(why)) => Some(why),
        Err(too_large @ Without::TooLarge { .. }) => {
            complaints.push(too_large.to_string());
            None
        }
        Ok(_) => None,
    };
    if let Some(why) = waiting {
        debug!(pod = %pod.name, namespace = %pod.namespace, "not annotated yet: {why}");
    }
    let before = said.get(&pod.uid).map_or(&[][..], Vec::as_slice);
    for complaint in complaints.iter().filter(|one| !before.contains(one)) {
        warn!(pod = %pod.name, namespace = %pod.namespace, "{complaint}");
    }
    said.insert(pod.uid.clone(), complaints);
}
