//! The pure merge: a claim and what is said of its devices, to the claim as it has to be.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::statement::{Condition, Statement};
use crate::store::{ClaimUpdate, Outcome};
use crate::value::{Value, WrongShape};

/// The type of the one condition that the relay writes.
pub const CONDITION_TYPE: &str = "dra-guest/Ready";

/// The most conditions of one device that the API server admits (`AllocatedDeviceStatus` of
/// `resource.k8s.io/v1`).
pub const CONDITIONS: usize = 8;

/// The key of an entry in `status.devices`: driver, pool, device and, where there is one, shareID.
pub type EntryKey = (String, String, String, Option<String>);

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
    let wanted = match wanted(claim, &update.statements, &mut outcome.problems) {
        Ok(wanted) => wanted,
        Err(wrong) => {
            outcome.problems.push(unusable(claim, &wrong));
            return outcome;
        }
    };
    put(
        claim,
        &wanted,
        update.unreported.as_ref(),
        now,
        &mut outcome,
    );
    outcome
}

/// Puts conditions on entries, and `unreported` on every other entry that has our condition; the rules are those of
/// [`merge`].
pub fn put(
    claim: &mut Value,
    wanted: &[(EntryKey, Condition)],
    unreported: Option<&Condition>,
    now: Timestamp,
    outcome: &mut Outcome,
) {
    if let Err(wrong) = apply(claim, wanted, unreported, now, outcome) {
        outcome.problems.push(unusable(claim, &wrong));
    }
}

/// The claim's own name for messages.
pub fn unusable(claim: &Value, wrong: &WrongShape) -> String {
    let name = claim
        .get("metadata")
        .and_then(|metadata| metadata.text("name"))
        .unwrap_or("?");
    format!("{name}: the status of the claim cannot be used: {wrong}")
}

/// The devices that are allocated to a claim.
///
/// # Errors
/// Something else stands there.
pub fn results(claim: &Value) -> Result<&[Value], WrongShape> {
    claim
        .at(&["status", "allocation", "devices"])
        .map_or(Ok(&[]), |devices| devices.list("results"))
}

/// What statements say of the entries that they belong to, in the order of the allocation. What belongs to none is a
/// problem.
///
/// # Errors
/// The allocation is of another shape.
pub fn wanted(
    claim: &Value,
    statements: &[Statement],
    problems: &mut Vec<String>,
) -> Result<Vec<(EntryKey, Condition)>, WrongShape> {
    let results = results(claim)?;
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
    let by_entry = by_entry.into_values();
    Ok(by_entry
        .map(|(key, statement)| (key, statement.condition.clone()))
        .collect())
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

/// What tells an entry from the others: of the allocation's results, and of `status.devices`.
pub fn entry_key(entry: &Value) -> EntryKey {
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
    wanted: &[(EntryKey, Condition)],
    unreported: Option<&Condition>,
    now: Timestamp,
    outcome: &mut Outcome,
) -> Result<(), WrongShape> {
    if wanted.is_empty() && claim.at(&["status", "devices"]).is_none() {
        return Ok(());
    }
    let entries = claim.entry("status")?.list_mut("devices")?;
    for (key, condition) in wanted {
        let entry = entries.iter_mut().find(|entry| entry_key(entry) == *key);
        let written = if let Some(entry) = entry {
            set_condition(entry, condition, now)
        } else {
            let mut entry = new_entry(key);
            let written = set_condition(&mut entry, condition, now);
            entries.push(entry);
            written
        };
        note(outcome, key, written);
    }
    if let Some(condition) = unreported {
        for entry in entries {
            let key = entry_key(entry);
            if has_condition(entry) && !wanted.iter().any(|(wanted, _)| *wanted == key) {
                note(outcome, &key, set_condition(entry, condition, now));
            }
        }
    }
    Ok(())
}

fn note(outcome: &mut Outcome, key: &EntryKey, written: Result<bool, String>) {
    match written {
        Ok(changed) => outcome.changed |= changed,
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
    our_condition(entry).is_some()
}

/// The relay's condition in an entry of `status.devices`.
pub fn our_condition(entry: &Value) -> Option<&Value> {
    let conditions = entry.list("conditions").ok()?;
    conditions.iter().find(|condition| is_ours(condition))
}

fn is_ours(condition: &Value) -> bool {
    condition.text("type") == Some(CONDITION_TYPE)
}

/// Sets our condition, and says whether that changed anything.
fn set_condition(entry: &mut Value, condition: &Condition, now: Timestamp) -> Result<bool, String> {
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
        return Ok(false);
    };
    let turned = ours
        .set_text("status", condition.status.as_str())
        .map_err(wrong)?;
    let mut changed = turned;
    changed |= ours
        .set_text("reason", &condition.reason.to_string())
        .map_err(wrong)?;
    changed |= ours
        .set_text("message", &condition.message)
        .map_err(wrong)?;
    if turned || ours.text("lastTransitionTime").is_none() {
        let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        changed |= ours.set_text("lastTransitionTime", &now).map_err(wrong)?;
    }
    Ok(changed)
}
