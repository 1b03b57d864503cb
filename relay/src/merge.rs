//! The pure merge: a claim and what is said of its devices, to the claim as it has to be.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::statement::{Condition, Statement};
use crate::store::{ClaimUpdate, Outcome, Turn};
use crate::value::{Value, WrongShape};

/// The type of the one condition that the relay writes.
pub const CONDITION_TYPE: &str = "dra-guest/Ready";

/// The most conditions of one device that the API server admits (`AllocatedDeviceStatus` of
/// `resource.k8s.io/v1`).
pub const CONDITIONS: usize = 8;

/// The key of an entry in `status.devices`: driver, pool, device and, where there is one, shareID.
type EntryKey = (String, String, String, Option<String>);

/// Puts an update on a claim, under the rules of the API server (KEP-4817 and metav1.Condition):
///
/// - only a device in `status.allocation.devices.results` can have a status, and its `shareID` goes
///   along;
/// - `lastTransitionTime` is `now` when the condition's status changes, and stays otherwise;
/// - a device has at most [`CONDITIONS`] conditions;
/// - whatever the relay did not write stays as it is, in its order.
///
/// What cannot be put on the claim is a problem in the outcome and changes nothing.
pub fn merge(claim: &mut Value, update: &ClaimUpdate, now: Timestamp) -> Outcome {
    let mut outcome = Outcome::default();
    let wanted = match allocated(claim, &update.statements, &mut outcome.problems) {
        Ok(wanted) => wanted,
        Err(wrong) => {
            outcome.problems.push(unusable(claim, &wrong));
            return outcome;
        }
    };
    if let Err(wrong) = apply(claim, update, &wanted, now, &mut outcome) {
        outcome.problems.push(unusable(claim, &wrong));
    }
    for turn in &mut outcome.turns {
        turn.request = request_of(claim, turn).unwrap_or_default();
    }
    outcome
}

/// The request that a device is allocated for.
fn request_of(claim: &Value, turn: &Turn) -> Option<String> {
    let devices = claim.at(&["status", "allocation", "devices"])?;
    let results = devices.list("results").ok()?;
    let is_it = |result: &&Value| {
        result.text("driver") == Some(&turn.driver)
            && result.text("pool") == Some(&turn.pool)
            && result.text("device") == Some(&turn.device)
    };
    results
        .iter()
        .find(is_it)?
        .text("request")
        .map(str::to_owned)
}

/// The claim's own name for messages.
fn unusable(claim: &Value, wrong: &WrongShape) -> String {
    let name = claim
        .get("metadata")
        .and_then(|metadata| metadata.text("name"))
        .unwrap_or("?");
    format!("{name}: the status of the claim cannot be used: {wrong}")
}

/// The statements by the entry that they belong to, in the order of the allocation.
fn allocated<'a>(
    claim: &Value,
    statements: &'a [Statement],
    problems: &mut Vec<String>,
) -> Result<Vec<(EntryKey, &'a Statement)>, WrongShape> {
    let none = Value::Null;
    let results = claim
        .at(&["status", "allocation", "devices"])
        .unwrap_or(&none)
        .list("results")?;
    let claim_uid = claim
        .get("metadata")
        .and_then(|metadata| metadata.text("uid"));

    let mut by_entry: BTreeMap<usize, (EntryKey, &Statement)> = BTreeMap::new();
    for statement in statements {
        let said = statement.uid.as_ref().map(device_attributes::Name::as_str);
        if let (Some(said), Some(claim_uid)) = (said, claim_uid)
            && said != claim_uid
        {
            problems.push(format!(
                "{}: the guest speaks of the claim with UID {said}, and this one has {claim_uid}: it is \
                 another claim of the same name",
                statement.device
            ));
            continue;
        }
        let of_device: Vec<(usize, &Value)> = results
            .iter()
            .enumerate()
            .filter(|(_, result)| is_device(result, statement))
            .collect();
        if of_device.is_empty() {
            problems.push(format!(
                "{} of pool {} of driver {}: must be an allocated device in the claim",
                statement.device, statement.pool, statement.driver
            ));
            continue;
        }
        let mut fits = false;
        for (_, result) in &of_device {
            if !is_request(result, statement) {
                continue;
            }
            fits = true;
            let key = entry_key(result);
            // One entry can stand for two requests (administrative access): the worse word holds.
            let place = results
                .iter()
                .position(|result| entry_key(result) == key)
                .unwrap_or_default();
            by_entry
                .entry(place)
                .and_modify(|(_, held)| {
                    if statement.condition.status < held.condition.status {
                        *held = statement;
                    }
                })
                .or_insert((key, statement));
        }
        if !fits {
            let requests: Vec<&str> = of_device
                .iter()
                .filter_map(|(_, result)| result.text("request"))
                .collect();
            problems.push(format!(
                "{} of pool {} of driver {} is allocated for request {}, not for {}",
                statement.device,
                statement.pool,
                statement.driver,
                requests.join(" and "),
                statement
                    .request
                    .as_ref()
                    .map_or("none", device_attributes::Name::as_str),
            ));
        }
    }
    Ok(by_entry.into_values().collect())
}

fn is_device(result: &Value, statement: &Statement) -> bool {
    result.text("driver") == Some(statement.driver.as_str())
        && result.text("pool") == Some(statement.pool.as_str())
        && result.text("device") == Some(statement.device.as_str())
}

/// `request/subrequest` also answers to its base name: upstream's metadata paths have only that.
fn is_request(result: &Value, statement: &Statement) -> bool {
    let (Some(said), Some(allocated)) = (&statement.request, result.text("request")) else {
        return true;
    };
    let base = allocated
        .split_once('/')
        .map_or(allocated, |(base, _)| base);
    said.as_str() == allocated || said.as_str() == base
}

fn entry_key(entry: &Value) -> EntryKey {
    let text = |key| entry.text(key).unwrap_or_default().to_owned();
    (
        text("driver"),
        text("pool"),
        text("device"),
        entry.text("shareID").map(str::to_owned),
    )
}

fn apply(
    claim: &mut Value,
    update: &ClaimUpdate,
    wanted: &[(EntryKey, &Statement)],
    now: Timestamp,
    outcome: &mut Outcome,
) -> Result<(), WrongShape> {
    if wanted.is_empty() && claim.at(&["status", "devices"]).is_none() {
        return Ok(());
    }
    let entries = claim.entry("status")?.list_mut("devices")?;
    for (key, statement) in wanted {
        let entry = entries.iter_mut().find(|entry| entry_key(entry) == *key);
        let written = if let Some(entry) = entry {
            set_condition(entry, &statement.condition, now)
        } else {
            let mut entry = new_entry(key);
            let written = set_condition(&mut entry, &statement.condition, now);
            entries.push(entry);
            written
        };
        note(outcome, key, &statement.condition, written);
    }
    if let Some(condition) = &update.unreported {
        for entry in entries {
            let key = entry_key(entry);
            if has_condition(entry) && !wanted.iter().any(|(wanted, _)| *wanted == key) {
                let written = set_condition(entry, condition, now);
                note(outcome, &key, condition, written);
            }
        }
    }
    Ok(())
}

fn note(
    outcome: &mut Outcome,
    key: &EntryKey,
    condition: &Condition,
    written: Result<Change, String>,
) {
    match written {
        Ok(Change::Nothing) => {}
        Ok(Change::Words) => outcome.changed = true,
        Ok(Change::Turn) => {
            outcome.changed = true;
            outcome.turns.push(Turn {
                request: String::new(),
                driver: key.0.clone(),
                pool: key.1.clone(),
                device: key.2.clone(),
                condition: condition.clone(),
            });
        }
        Err(problem) => outcome.problems.push(format!("{}: {problem}", key.2)),
    }
}

fn new_entry((driver, pool, device, share): &EntryKey) -> Value {
    let text = |key: &str, value: &str| (key.to_owned(), Value::Text(value.to_owned()));
    let mut pairs = vec![
        text("driver", driver),
        text("pool", pool),
        text("device", device),
    ];
    pairs.extend(share.as_deref().map(|share| text("shareID", share)));
    Value::Map(pairs)
}

fn has_condition(entry: &Value) -> bool {
    entry
        .list("conditions")
        .is_ok_and(|conditions| conditions.iter().any(is_ours))
}

fn is_ours(condition: &Value) -> bool {
    condition.text("type") == Some(CONDITION_TYPE)
}

/// What became of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Nothing,
    /// It has another message.
    Words,
    /// It has another status or reason.
    Turn,
}

/// Sets our condition, and says what that changed.
fn set_condition(
    entry: &mut Value,
    condition: &Condition,
    now: Timestamp,
) -> Result<Change, String> {
    let wrong = |wrong: WrongShape| wrong.to_string();
    let held = entry.list("conditions").map_err(wrong)?;
    if !held.iter().any(is_ours) && held.len() >= CONDITIONS {
        return Err(format!(
            "the device has {} conditions of others, and {CONDITIONS} is the most that the API admits: \
             {CONDITION_TYPE} cannot be added",
            held.len()
        ));
    }
    let conditions = entry.list_mut("conditions").map_err(wrong)?;
    let index = conditions.iter().position(is_ours).unwrap_or_else(|| {
        let kind = Value::Text(CONDITION_TYPE.to_owned());
        conditions.push(Value::Map(vec![("type".to_owned(), kind)]));
        conditions.len() - 1
    });
    let Some(ours) = conditions.get_mut(index) else {
        return Ok(Change::Nothing);
    };
    let has_other_status = ours
        .set_text("status", condition.status.as_str())
        .map_err(wrong)?;
    let has_other_reason = ours
        .set_text("reason", &condition.reason.to_string())
        .map_err(wrong)?;
    let mut changed = ours
        .set_text("message", &condition.message)
        .map_err(wrong)?;
    if has_other_status || ours.text("lastTransitionTime").is_none() {
        let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        changed |= ours.set_text("lastTransitionTime", &now).map_err(wrong)?;
    }
    Ok(if has_other_status || has_other_reason {
        Change::Turn
    } else if changed {
        Change::Words
    } else {
        Change::Nothing
    })
}
