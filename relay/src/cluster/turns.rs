//! The pure difference of a claim before and after a write: the devices whose readiness turns.

use crate::merge::{entry_key, our_condition, results};
use crate::value::Value;

/// A device whose condition has another status or reason than before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The request that it is allocated for; empty where the claim does not say.
    pub request: String,
    /// The driver.
    pub driver: String,
    /// The driver's pool.
    pub pool: String,
    /// The device's name in the pool.
    pub device: String,
    /// `status` of the condition now.
    pub status: String,
    /// `reason` of the condition now.
    pub reason: String,
    /// `message` of the condition now.
    pub message: String,
}

/// The devices that have our condition after a write, with another status or reason than before it.
pub fn between(before: &Value, after: &Value) -> Vec<Turn> {
    let earlier = entries(before);
    let said_before = |entry: &Value| {
        let key = entry_key(entry);
        let held = earlier.iter().find(|held| entry_key(held) == key)?;
        our_condition(held).map(says)
    };
    entries(after)
        .iter()
        .filter_map(|entry| {
            let condition = our_condition(entry)?;
            let is_turn = said_before(entry) != Some(says(condition));
            is_turn.then(|| turn(after, entry, condition))
        })
        .collect()
}

fn entries(claim: &Value) -> &[Value] {
    let status = claim.get("status").unwrap_or(&Value::Null);
    status.list("devices").unwrap_or_default()
}

fn says(condition: &Value) -> (Option<&str>, Option<&str>) {
    (condition.text("status"), condition.text("reason"))
}

fn turn(claim: &Value, entry: &Value, condition: &Value) -> Turn {
    let key = entry_key(entry);
    let text = |key| condition.text(key).unwrap_or_default().to_owned();
    let mut results = results(claim).unwrap_or_default().iter();
    let request = results
        .find(|result| entry_key(result) == key)
        .and_then(|result| result.text("request"));
    let (driver, pool, device, _) = key;
    Turn {
        request: request.unwrap_or_default().to_owned(),
        driver,
        pool,
        device,
        status: text("status"),
        reason: text("reason"),
        message: text("message"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn claim(devices: &Json) -> Value {
        let results: Vec<Json> = ["one", "two"]
            .iter()
            .map(|device| json!({"request": format!("of-{device}"), "driver": "d", "pool": "p", "device": device}))
            .collect();
        serde_json::from_value(json!({
            "status": {"allocation": {"devices": {"results": results}}, "devices": devices},
        }))
        .unwrap()
    }

    fn entry(device: &str, kind: &str, status: &str, reason: &str, message: &str) -> Json {
        json!({"driver": "d", "pool": "p", "device": device, "conditions": [
            {"type": kind, "status": status, "reason": reason, "message": message},
        ]})
    }

    fn turned(before: &Json, after: &Json) -> Vec<String> {
        let turns = between(&claim(before), &claim(after));
        turns
            .iter()
            .map(|turn| format!("{} {} {}", turn.request, turn.status, turn.reason))
            .collect()
    }

    #[test]
    fn another_status_or_reason_is_a_turn_and_another_message_is_none() {
        let ours = |device, status, reason, message| {
            entry(device, "dra-guest/Ready", status, reason, message)
        };
        let ready = ours("one", "True", "Configured", "net1");
        assert_eq!(
            turned(&json!([]), &json!([ready])),
            ["of-one True Configured"]
        );
        assert_eq!(turned(&Json::Null, &json!([ready])).len(), 1);
        let renamed = ours("one", "True", "Configured", "net2");
        assert!(turned(&json!([ready]), &json!([renamed])).is_empty());
        let pending = ours("two", "False", "Pending", "");
        let failed = ours("two", "False", "Ambiguous", "");
        assert_eq!(
            turned(&json!([ready, pending]), &json!([ready, failed])),
            ["of-two False Ambiguous"]
        );
        // What is given up is no news of the VM, and what others say is none of ours.
        assert!(turned(&json!([ready]), &json!([])).is_empty());
        let of_others = |status| entry("one", "Ready", status, "Up", "");
        assert!(turned(&json!([of_others("True")]), &json!([of_others("False")])).is_empty());
    }
}
