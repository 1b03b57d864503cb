//! A task for each guest of the node that has claims, as the index has them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use device_attributes::report::Reason;
use tokio::task::AbortHandle;
use tracing::{Instrument as _, info, info_span, warn};

use super::claims::ApiClaims;
use super::index::{Guest, Index, Touched};
use crate::configuration;
use crate::guest::{self, Connections};
use crate::roster::Roster;
use crate::statement::{Condition, Status};

/// The guests that have a task, and why others have none.
#[derive(Debug)]
pub(super) struct Guests {
    roster: Arc<Roster>,
    store: Arc<ApiClaims>,
    lost_after: Duration,
    /// Whether VMs that are not known yet came while the relay ran.
    are_new: bool,
    tasks: HashMap<u32, (Guest, AbortHandle)>,
    problems: BTreeMap<u32, Vec<String>>,
}

impl Guests {
    /// Nobody yet.
    pub(super) fn new(roster: Arc<Roster>, store: Arc<ApiClaims>, lost_after: Duration) -> Self {
        Self {
            roster,
            store,
            lost_after,
            are_new: false,
            tasks: HashMap::new(),
            problems: BTreeMap::new(),
        }
    }

    /// Brings tasks and claims to what the index says. A guest that is another one now, or has other claims, begins
    /// with nothing: its connection is closed, and its agent says everything again.
    pub(super) fn look_at(&mut self, touched: &Touched, index: &Index) {
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
