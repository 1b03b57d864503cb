//! The pure step from what the VMs that have a claim say of it to its conditions.
//!
//! A device is ready when it is ready for every VM that was given it. Else the condition has the worst word, False
//! before Unknown, and names the VMs whose word is not True.

use std::collections::BTreeMap;

use device_attributes::Name;
use device_attributes::report::Reason;
use jiff::Timestamp;

use super::index::User;
use crate::merge::{self, EntryKey, entry_key, our_condition};
use crate::plain_text::plain;
use crate::statement::{Condition, MESSAGE_BYTES, Status};
use crate::store::{ClaimUpdate, Outcome};
use crate::value::Value;

/// The most bytes of one VM's words in a message that lists several.
const WORDS_BYTES: usize = 160;
/// Room for `; and 255 more`: at most 256 pods have a claim (`ResourceClaimReservedForMaxSize`).
const MORE_BYTES: usize = 16;

/// A VM that has the claim, and what it says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voice {
    /// The VM.
    pub user: User,
    /// It was given the claim while the relay ran, and has not spoken of it yet. Until it does, no device that it was
    /// given is ready. A VM that was there before, or has spoken, has until the end of its silence.
    pub is_new: bool,
    /// Its word.
    pub update: ClaimUpdate,
}

/// What came of putting all words on the claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Joined {
    /// Whether the claim was changed.
    pub changed: bool,
    /// What could not be put on it, by the VM that said it.
    pub problems: BTreeMap<Name, Vec<String>>,
}

/// What one VM says of a device; nothing yet where there is no condition.
type Word<'a> = (&'a Voice, Option<&'a Condition>);

impl Voice {
    /// A VM that has said nothing.
    pub fn new(user: User, is_new: bool) -> Self {
        Self {
            user,
            is_new,
            update: ClaimUpdate::default(),
        }
    }

    /// Whether there is no word of it.
    pub fn is_silent(&self) -> bool {
        self.update.statements.is_empty() && self.update.unreported.is_none()
    }

    fn was_given(&self, results: &[Value], key: &EntryKey) -> bool {
        results
            .iter()
            .filter(|result| entry_key(result) == *key)
            .any(|result| {
                let request = result.text("request").unwrap_or_default();
                self.user.requests.cover(request)
            })
    }

    /// What it says of the entries of its devices; what it says of others is a problem.
    fn said(
        &self,
        claim: &Value,
        results: &[Value],
        problems: &mut Vec<String>,
    ) -> BTreeMap<EntryKey, Condition> {
        let wanted = merge::wanted(claim, &self.update.statements, problems);
        let wanted = wanted.unwrap_or_else(|wrong| {
            problems.push(merge::unusable(claim, &wrong));
            Vec::new()
        });
        let (given, others): (Vec<_>, Vec<_>) = wanted
            .into_iter()
            .partition(|(key, _)| self.was_given(results, key));
        problems.extend(others.iter().map(|((_, _, device, _), _)| {
            format!("{device}: no request that the device is allocated for was given to this VM")
        }));
        given.into_iter().collect()
    }
}

/// Puts what the VMs say on a claim, as [`merge::merge`] does with the word of one.
pub fn merge(claim: &mut Value, voices: &[Voice], now: Timestamp) -> Joined {
    let results = merge::results(claim).unwrap_or_default().to_vec();
    let mut joined = Joined::default();
    let mut said = Vec::new();
    for voice in voices {
        let mut problems = Vec::new();
        said.push(voice.said(claim, &results, &mut problems));
        joined.problems.insert(voice.user.vm.clone(), problems);
    }
    let mut wanted: Vec<(EntryKey, Condition)> = Vec::new();
    for key in results.iter().map(entry_key) {
        let words: Vec<Word> = voices
            .iter()
            .zip(&said)
            .filter(|(voice, _)| voice.was_given(&results, &key))
            .map(|(voice, said)| (voice, said.get(&key).or(voice.update.unreported.as_ref())))
            .collect();
        let is_spoken_of = said.iter().any(|said| said.contains_key(&key));
        if (is_spoken_of || stands(claim, &key))
            && !wanted.iter().any(|(held, _)| *held == key)
            && let Some(condition) = join(&words)
        {
            wanted.push((key, condition));
        }
    }
    let mut outcome = Outcome::default();
    merge::put(claim, &wanted, None, now, &mut outcome);
    joined.changed = outcome.changed;
    for problems in joined.problems.values_mut() {
        problems.extend(outcome.problems.iter().cloned());
    }
    joined
}

fn stands(claim: &Value, key: &EntryKey) -> bool {
    let status = claim.get("status").unwrap_or(&Value::Null);
    let mut entries = status.list("devices").unwrap_or_default().iter();
    entries.any(|entry| entry_key(entry) == *key && our_condition(entry).is_some())
}

/// The condition of a device that these VMs were given; `None` leaves it as it stands, while a word that may still
/// come decides.
fn join(words: &[Word]) -> Option<Condition> {
    if let [(voice, word)] = words {
        let not_yet = || {
            voice.is_new.then(|| Condition {
                status: Status::False,
                reason: Reason::Pending,
                message: "the guest's agent has not reported this device yet".to_owned(),
            })
        };
        return word.cloned().or_else(not_yet);
    }
    let status = |(voice, word): &Word| match word {
        Some(condition) => Some(condition.status),
        None => voice.is_new.then_some(Status::False),
    };
    let worst = words.iter().filter_map(status).min()?;
    if worst == Status::True {
        let all = words.iter().all(|word| status(word) == Some(Status::True));
        return all.then(|| Condition {
            status: Status::True,
            reason: Reason::Configured,
            message: list(&format!("{} VMs are ready", words.len()), words),
        });
    }
    let ready = words
        .iter()
        .filter(|word| status(word) == Some(Status::True));
    let head = format!("{} of {} VMs are ready", ready.count(), words.len());
    let mut others: Vec<Word> = words.to_vec();
    others.retain(|word| status(word) != Some(Status::True));
    // Stable: those of one status stay in the order of the VMs.
    others.sort_by_key(|word| status(word).unwrap_or(Status::False));
    let reasons = others
        .iter()
        .filter_map(|(_, word)| *word)
        .filter(|condition| condition.status == worst)
        .map(|condition| condition.reason);
    // What has failed tells more than what is not finished.
    let reason = reasons
        .filter(|reason| *reason != Reason::Pending)
        .chain([Reason::Pending])
        .next()?;
    Some(Condition {
        status: worst,
        reason,
        message: list(&head, &others),
    })
}

/// The words of several VMs as one message of at most [`MESSAGE_BYTES`].
fn list(head: &str, words: &[Word]) -> String {
    let mut text = head.to_owned();
    for (index, (voice, word)) in words.iter().enumerate() {
        let said = word.map_or("has not reported yet".to_owned(), |condition| {
            plain(&condition.message, WORDS_BYTES)
        });
        let item = format!("; {}: {said}", voice.user.name);
        if text.len() + item.len() + MORE_BYTES > MESSAGE_BYTES {
            text = format!("{text}; and {} more", words.len() - index);
            break;
        }
        text.push_str(&item);
    }
    text
}

#[cfg(test)]
mod tests;
