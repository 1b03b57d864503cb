//! What one pass leaves to the next: what was to be done, how often it was done anew, and what the
//! network managers were told.

use std::collections::BTreeMap;

use device_attributes::DeviceIdentity;
use tokio::time::Instant;

use crate::apply::Refused;
use crate::damper::{Damper, Surroundings, Verdict};
use crate::foes::Foes;
use crate::grace::Grace;
use crate::listing::listing;
use crate::netlink::Removal;
use crate::numa::Places;
use crate::observe::{Observation, Pinning};
use crate::owners::{self, DropIn, Standing};
use crate::pipeline::Draft;
use crate::plan::{Action, Contested, Plan, PlannedDevice, Step, Wanted};
use crate::roots::Roots;
use crate::units;

/// What a pass leaves to the next one.
#[derive(Debug, Default)]
pub struct Memory {
    /// What was to be done.
    pub(crate) plan: Plan,
    /// What was done, and how often.
    damper: Damper,
    /// What somebody has just set down.
    grace: Grace,
    /// Whether a manager had an interface all the same that was handed over, and whether the managers
    /// were told again for it.
    is_doubtful: bool,
    is_told_again: bool,
    /// Why the managers could not all be told, nor all units pinned.
    troubles: Vec<String>,
    /// Why not all units are pinned.
    unit_troubles: Vec<String>,
    /// Whether anything is wanted that others can undo without a word of the kernel's: pins and sysctls.
    pub(crate) is_silent: bool,
    /// Who may be undoing it.
    foes: Foes,
    /// What the kernel does for nobody.
    pub(crate) refused: Refused,
    /// How often the pins of a device had to be set again.
    contested: BTreeMap<DeviceIdentity, u32>,
}

impl Memory {
    /// Tells the managers which interfaces are ours; true when one that runs was told, so that the
    /// interfaces may be others than before. `is_whole`: no entry of the document is broken.
    pub(crate) async fn hand_over(
        &mut self,
        roots: &Roots,
        draft: &Draft,
        units: Vec<DropIn>,
        is_whole: bool,
    ) -> bool {
        let (wanted, observation, plan) = (&draft.wanted, &draft.observation, &draft.plan);
        let ours = owners::ours(wanted, observation, plan, is_whole);
        let found: Vec<_> = (0..wanted.len())
            .filter(|place| {
                let is_ours = |wanted: &Wanted| !wanted.hands_off && !wanted.is_yielding();
                wanted.get(*place).is_some_and(is_ours)
            })
            .filter_map(|place| owners::found(place, plan, observation))
            .collect();
        let again = self.is_doubtful && !self.is_told_again;
        self.is_told_again = self.is_doubtful;
        let (told, mut troubles) = owners::hand_over(roots, &ours, units, &found, again).await;
        troubles.extend(self.unit_troubles.iter().cloned());
        if troubles != self.troubles {
            for trouble in &troubles {
                tracing::warn!("{trouble}");
            }
            self.troubles = troubles;
        }
        told
    }

    /// The files that keep the units of the policy's `pin` near the devices.
    pub(crate) fn units(
        &mut self,
        roots: &Roots,
        draft: &Draft,
        places: &Places<'_>,
    ) -> Vec<DropIn> {
        let (files, troubles) = units::wanted(roots, draft, places);
        self.unit_troubles = troubles;
        files
    }

    /// The devices whose steps are not made now, by their place, each with why.
    pub(crate) fn held_back(
        &mut self,
        roots: &Roots,
        wanted: &[Wanted],
        plan: &Plan,
        standing: &Standing,
    ) -> BTreeMap<usize, String> {
        self.is_doubtful = standing.is_contested();
        let now = Instant::now();
        self.foes.begin();
        let mut held = BTreeMap::new();
        for (place, steps) in plan.steps_by_device() {
            let Some(wanted) = wanted.get(place) else {
                continue;
            };
            if standing.is_left(place) {
                let missing = listing(steps);
                held.insert(place, format!("not as wanted, to do would be: {missing}"));
                continue;
            }
            let mut downs = steps
                .iter()
                .filter(|step| matches!(step.action, Action::SetUp(_)));
            if let Some(step) = downs.find(|step| self.grace.is_recent(step.interface, now)) {
                let name = &step.name;
                let why =
                    format!("{name} was set down a moment ago, and is set up again in a moment");
                held.insert(place, why);
                continue;
            }
            let words = steps.iter().map(ToString::to_string);
            let device = plan.devices.get(place);
            match self.damper.judge(wanted, &around(device), words, now) {
                Verdict::Configure => {}
                Verdict::Repair => {
                    self.foes.watch_out(now);
                    self.note_contest(wanted, &steps);
                }
                Verdict::Wait(why) => {
                    let identity = &wanted.identity;
                    let words = (self.foes).name(&roots.proc, identity, why, &steps, now);
                    held.insert(place, words);
                }
            }
        }
        held
    }

    /// Notes who may have changed a device's interface or routing, or has removed something of it.
    pub(crate) fn note_change(&mut self, roots: &Roots, removal: Option<Removal>) {
        match removal {
            Some(removal) => self.foes.note(&roots.proc, removal),
            None => self.foes.glance(&roots.proc),
        }
    }

    /// Notes that a device is as wanted.
    pub(crate) fn reached(&mut self, wanted: &Wanted, device: Option<&PlannedDevice>) {
        self.damper.reached(wanted, around(device));
    }

    /// Notes which interfaces of the devices are up after a pass.
    pub(crate) fn seen(&mut self, plan: &Plan, observation: &Observation) {
        let interfaces = plan.devices.iter().filter_map(|device| device.interface);
        let found = interfaces.filter_map(|index| observation.interface(index));
        let up = found.map(|interface| (interface.index, interface.up));
        self.grace.seen(&up.collect(), Instant::now());
    }

    /// When the moment of an interface that somebody has set down is over next.
    pub(crate) fn moment_over(&self, now: Instant) -> Option<Instant> {
        self.grace.over(now)
    }

    /// Others moved what was pinned.
    fn note_contest(&mut self, wanted: &Wanted, steps: &[&Step]) {
        let mut steps = steps.iter();
        if steps.any(|step| matches!(step.action, Action::Pin(_))) {
            let times = self.contested.entry(wanted.identity.clone()).or_default();
            *times = times.saturating_add(1);
        }
    }

    /// Whose pins others move, and who may be doing it.
    pub(crate) fn contested(&self, wanted: &Wanted, pinning: &Pinning) -> Option<Contested> {
        let times = *self.contested.get(&wanted.identity)?;
        let by = (pinning.irqbalance.as_ref()).map(|_| "irqbalance".to_owned());
        Some(Contested { times, by })
    }

    /// Keeps what is known of these devices only.
    pub(crate) fn retain(&mut self, wanted: &[Wanted]) {
        self.damper.retain(wanted);
        let is_wanted =
            |identity: &DeviceIdentity| wanted.iter().any(|wanted| wanted.identity == *identity);
        self.foes.retain(is_wanted);
        self.contested.retain(|identity, _| is_wanted(identity));
    }
}

fn around(device: Option<&PlannedDevice>) -> Surroundings {
    let pinning = device.and_then(|device| device.pinning.as_ref());
    Surroundings {
        near: pinning.and_then(|pinning| pinning.cpus.clone()),
        controller: device.and_then(|device| device.controller),
    }
}
