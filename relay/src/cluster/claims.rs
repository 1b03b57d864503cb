//! The API server as the store of claims: which VMs of the node have which claim, and what each says of it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use device_attributes::Name;
use kube::Client;
use tokio::sync::Semaphore;
use tracing::{debug, warn};

use super::events::Events;
use super::index::User;
use super::shared::Voice;
use super::transfer::Transfer;
use super::writer::Writer;
use crate::statement::Condition;
use crate::store::{ClaimName, ClaimStore, ClaimUpdate, Outcome, StoreError};

/// The most claims without users whose conditions are still to be given up, while the API server is away.
const RELEASES: usize = 1024;

/// The claims of an API server.
///
/// Each claim has one writer: its writes are in order, and what waits is the newest word of each VM alone. A write that
/// failed is tried again with growing pauses until it succeeds or there is a newer word.
#[derive(Debug)]
pub struct ApiClaims {
    transfer: Transfer,
    events: Events,
    table: Arc<Table>,
}

/// The claims that are used or still to be released.
#[derive(Debug, Default)]
pub(super) struct Table(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    claims: HashMap<ClaimName, Claim>,
    /// Those that were to be released, oldest first; some are by now.
    releases: VecDeque<ClaimName>,
}

#[derive(Debug)]
struct Claim {
    /// None when the claim is to be released.
    voices: Vec<Voice>,
    writer: Writer,
}

/// The claims as one VM may write them.
#[derive(Debug)]
pub struct ClaimsOfVm {
    vm: Name,
    claims: Arc<ApiClaims>,
}

impl ApiClaims {
    /// The claims that this client reaches; nobody uses any yet. There are no more requests at once than permits, and
    /// none when these are closed; turns of readiness are told to `events`.
    pub fn new(client: Client, permits: Arc<Semaphore>, events: Events) -> Self {
        Self {
            transfer: Transfer::new(client, permits, events.clone()),
            events,
            table: Arc::default(),
        }
    }

    /// The claims for one VM.
    pub fn of(self: &Arc<Self>, vm: Name) -> ClaimsOfVm {
        ClaimsOfVm {
            vm,
            claims: Arc::clone(self),
        }
    }

    /// From now on these VMs have the claim. What those say that had it before stays; the word of one that has it no more
    /// goes. When the last has gone, our conditions are given up. `are_new` is for VMs that were given the claim while
    /// the relay ran.
    pub fn set_users(&self, claim: &ClaimName, users: Vec<User>, are_new: bool) {
        self.events.set_users(claim, &users);
        let mut held = self.table.held();
        let earlier = held.claims.get_mut(claim).map(|claim| &mut claim.voices);
        let earlier = earlier.map(std::mem::take).unwrap_or_default();
        let voices: Vec<Voice> = users
            .into_iter()
            .map(|user| {
                let before = earlier.iter().find(|voice| voice.user.vm == user.vm);
                match before {
                    Some(voice) => Voice {
                        user,
                        ..voice.clone()
                    },
                    None => Voice::new(user, are_new),
                }
            })
            .collect();
        if voices.is_empty() {
            // Else it has none already, and is being released.
            if !earlier.is_empty() {
                held.release(claim);
            }
            return;
        }
        let is_other = voices != earlier;
        let claim = held.claims.entry(claim.clone()).or_insert_with(|| Claim {
            voices: Vec::new(),
            writer: self.writer(claim),
        });
        claim.voices = voices;
        if is_other {
            claim.writer.put(claim.voices.clone());
        }
    }

    /// Says in the place of a VM's agent why nothing is heard of it, where the VM has spoken of the claim.
    pub fn mute(&self, claim: &ClaimName, vm: &Name, why: Condition) {
        let mut held = self.table.held();
        let Some(claim) = held.claims.get_mut(claim) else {
            return;
        };
        let voice = claim.voices.iter_mut().find(|voice| voice.user.vm == *vm);
        if let Some(voice) = voice {
            voice.update = ClaimUpdate {
                statements: Vec::new(),
                unreported: Some(why),
            };
            claim.writer.put(claim.voices.clone());
        }
    }

    fn writer(&self, claim: &ClaimName) -> Writer {
        let table: Weak<Table> = Arc::downgrade(&self.table);
        Writer::start(claim.clone(), self.transfer.clone(), table)
    }
}

impl ClaimStore for ClaimsOfVm {
    async fn update(&self, claim: &ClaimName, update: ClaimUpdate) -> Result<Outcome, StoreError> {
        let written = {
            let mut held = self.claims.table.held();
            let gone = || StoreError(format!("{claim}: the VM does not have this claim any more"));
            let held = held.claims.get_mut(claim).ok_or_else(gone)?;
            let mut voices = held.voices.iter_mut();
            let voice = voices
                .find(|voice| voice.user.vm == self.vm)
                .ok_or_else(gone)?;
            voice.is_new &= update.statements.is_empty();
            voice.update = update;
            held.writer.write(held.voices.clone(), self.vm.clone())
        };
        written.await
    }
}

impl Table {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a claim that was released, unless it has users again; the writer of one that is forgotten ends.
    pub(super) fn retire(&self, claim: &ClaimName) -> bool {
        let mut held = self.held();
        let is_unused = held
            .claims
            .get(claim)
            .is_none_or(|claim| claim.voices.is_empty());
        if is_unused {
            held.claims.remove(claim);
        }
        is_unused
    }
}

impl Held {
    fn release(&mut self, name: &ClaimName) {
        let Some(claim) = self.claims.get(name) else {
            return;
        };
        debug!(claim = %name, "no VM of this node uses the claim any more");
        claim.writer.release();
        self.releases.push_back(name.clone());
        if self.releases.len() <= RELEASES {
            return;
        }
        let claims = &self.claims;
        self.releases.retain(|name| is_unused(claims, name));
        if self.releases.len() > RELEASES
            && let Some(oldest) = self.releases.pop_front()
        {
            self.claims.remove(&oldest);
            warn!(
                claim = %oldest,
                "{RELEASES} newer claims wait for the API server: the condition of this one stays until it is deallocated"
            );
        }
    }
}

fn is_unused(claims: &HashMap<ClaimName, Claim>, name: &ClaimName) -> bool {
    claims
        .get(name)
        .is_some_and(|claim| claim.voices.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::events;
    use crate::cluster::requests::Requests;

    /// Claims of an API server that is away.
    fn claims() -> ApiClaims {
        let nobody = "http://127.0.0.1:9".parse().unwrap();
        let client = Client::try_from(kube::Config::new(nobody)).unwrap();
        let (events, _) = events::channel(client.clone(), &"node".parse().unwrap());
        ApiClaims::new(client, Arc::new(Semaphore::new(8)), events)
    }

    fn user(name: &str) -> User {
        User {
            vm: format!("uid-{name}").parse().unwrap(),
            name: name.parse().unwrap(),
            requests: Requests::All,
        }
    }

    #[tokio::test]
    async fn releases_that_wait_are_bounded_and_the_newest_are_kept() {
        let claims = claims();
        let name = |n: usize| -> ClaimName { format!("lab/nic-{n}").parse().unwrap() };
        let used = name(9999);
        claims.set_users(&used, vec![user("b")], true);
        for n in 0..RELEASES + 10 {
            claims.set_users(&name(n), vec![user("a")], true);
            claims.set_users(&name(n), Vec::new(), true);
            // Once more changes nothing.
            claims.set_users(&name(n), Vec::new(), true);
        }
        let held = claims.table.held();
        assert_eq!(held.releases.len(), RELEASES);
        assert_eq!(held.claims.len(), RELEASES + 1);
        assert!(held.claims.contains_key(&used));
        assert!(!held.claims.contains_key(&name(9)));
        assert!(held.claims.contains_key(&name(10)));
    }

    #[tokio::test]
    async fn a_claim_that_is_used_again_is_not_released() {
        let claims = claims();
        let claim: ClaimName = "lab/nic".parse().unwrap();
        claims.set_users(&claim, vec![user("a")], true);
        claims.set_users(&claim, Vec::new(), true);
        claims.set_users(&claim, vec![user("b")], true);
        assert!(!claims.table.retire(&claim));
        claims.set_users(&claim, Vec::new(), true);
        assert!(claims.table.retire(&claim));
        assert!(claims.table.held().claims.is_empty());
    }

    #[tokio::test]
    async fn a_vm_speaks_of_the_claims_that_it_has() {
        let claims = Arc::new(claims());
        let claim: ClaimName = "lab/nic".parse().unwrap();
        claims.set_users(&claim, vec![user("a")], true);
        let of_vm = |name: &str| claims.of(user(name).vm);
        let update = ClaimUpdate::default();
        assert!(of_vm("a").update(&claim, update.clone()).await.is_ok());
        for (vm, claim) in [("b", claim.clone()), ("a", "lab/other".parse().unwrap())] {
            let error = of_vm(vm).update(&claim, update.clone()).await.unwrap_err();
            assert!(error.to_string().contains("does not have this claim"));
        }
        claims.set_users(&claim, vec![user("b")], true);
        assert!(of_vm("a").update(&claim, update).await.is_err());
    }
}
