//! The pure step from a merged claim to what is applied: our conditions on its devices, and nothing else.

use serde_json::{Map, Value as Json, json};

use crate::merge::our_condition;
use crate::value::Value;

/// The field manager that owns our conditions.
pub const FIELD_MANAGER: &str = "dra-guest-relay";

/// The fields of our condition, as metav1.Condition has them.
const FIELDS: [&str; 5] = ["type", "status", "reason", "message", "lastTransitionTime"];
/// The keys of the list `status.devices`.
pub(super) const KEYS: [&str; 4] = ["driver", "pool", "device", "shareID"];

/// The body of the server-side apply that puts our conditions of `claim` on the API server: those of all its
/// devices, because what an apply leaves out is given up. The UID is a precondition: a new claim of the same
/// name does not get what was said of the old one.
pub fn body(claim: &Value) -> Json {
    let none = Value::Null;
    let metadata = claim.get("metadata").unwrap_or(&none);
    let status = claim.get("status").unwrap_or(&none);
    let allocated = status
        .at(&["allocation", "devices"])
        .unwrap_or(&none)
        .list("results")
        .unwrap_or_default();
    let devices: Vec<Json> = status
        .list("devices")
        .unwrap_or_default()
        .iter()
        // What is allocated no more has no status either, whatever was known before.
        .filter(|entry| allocated.iter().any(|result| has_same_keys(entry, result)))
        .filter_map(device)
        .collect();
    json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": texts(metadata, &["namespace", "name", "uid"]),
        "status": {"devices": devices},
    })
}

fn has_same_keys(entry: &Value, result: &Value) -> bool {
    KEYS.iter().all(|key| entry.text(key) == result.text(key))
}

/// An entry of `status.devices` with our condition alone; `None` for one that does not have it.
fn device(entry: &Value) -> Option<Json> {
    let ours = our_condition(entry)?;
    let mut device = texts(entry, &KEYS);
    device.insert("conditions".to_owned(), json!([texts(ours, &FIELDS)]));
    Some(Json::Object(device))
}

/// The texts under these keys, as far as they are there.
pub(super) fn texts(value: &Value, keys: &[&str]) -> Map<String, Json> {
    keys.iter()
        .filter_map(|key| Some(((*key).to_owned(), Json::from(value.text(key)?))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // google/dranet#117 (case 108); dra-driver-sriov `pkg/driver/dra_hook.go` (case 109b).
    #[test]
    fn only_our_conditions_and_all_of_them() {
        let claim = serde_json::from_value(json!({
            "metadata": {"namespace": "lab", "name": "nics", "uid": "u-1", "labels": {"a": "b"}},
            "status": {
                "allocation": {"devices": {"results": [
                    {"request": "vf", "driver": "d.example.com", "pool": "p", "device": "one"},
                    {"request": "vf", "driver": "d.example.com", "pool": "p", "device": "two", "shareID": "s-2"},
                    {"request": "vf", "driver": "d.example.com", "pool": "p", "device": "silent"},
                ]}},
                "devices": [
                    {"driver": "d.example.com", "pool": "p", "device": "one", "data": {"x": 1}, "conditions": [
                        {"type": "Ready", "status": "True"},
                        {"type": "dra-guest/Ready", "status": "True", "reason": "Configured", "message": "net1",
                         "lastTransitionTime": "2026-09-02T12:00:00Z", "observedGeneration": 3}]},
                    {"driver": "d.example.com", "pool": "p", "device": "two", "shareID": "s-2", "conditions": [
                        {"type": "dra-guest/Ready", "status": "False", "reason": "Pending", "message": "m",
                         "lastTransitionTime": "2026-09-02T12:00:01Z"}]},
                    {"driver": "d.example.com", "pool": "p", "device": "silent", "conditions": [
                        {"type": "Ready", "status": "True"}]},
                    {"driver": "d.example.com", "pool": "p", "device": "released", "conditions": [
                        {"type": "dra-guest/Ready", "status": "True", "reason": "Configured", "message": "m",
                         "lastTransitionTime": "2026-09-02T12:00:01Z"}]},
                ],
            },
        }))
        .unwrap();
        let golden = include_str!("../../tests/golden/apply.json");
        assert_eq!(
            format!("{}\n", serde_json::to_string_pretty(&body(&claim)).unwrap()),
            golden
        );
    }
}
