//! The pure side of giving up our conditions of a claim that no VM of the node uses any more.

use serde_json::{Value as Json, json};

use super::apply::{KEYS, texts};
use crate::merge::our_condition;
use crate::value::Value;

/// The body of the server-side apply that names none of our fields, so that the API server takes them away, and
/// with them an entry of `status.devices` that nobody else holds. Only for the claim as it is known: by its
/// resourceVersion an apply of another relay in between, on the node that a VM has moved to, is a conflict.
pub fn body(claim: &Value) -> Json {
    let none = Value::Null;
    let metadata = claim.get("metadata").unwrap_or(&none);
    json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": texts(metadata, &["namespace", "name", "uid", "resourceVersion"]),
    })
}

/// Whether our condition stands anywhere.
pub fn is_needed(claim: &Value) -> bool {
    !ours(claim).is_empty()
}

/// Whether `claim`, read now, is the one that was known, and our conditions there are those that were known. Others
/// are the word of another relay, which is to stay.
pub fn is_as_known(known: &Value, claim: &Value) -> bool {
    let uid = |claim: &Value| claim.at(&["metadata", "uid"]).cloned();
    let known_ours = ours(known);
    uid(known) == uid(claim) && ours(claim).iter().all(|one| known_ours.contains(one))
}

/// Our conditions, each with the keys of its device.
fn ours(claim: &Value) -> Vec<([Option<&str>; 4], &Value)> {
    let status = claim.get("status");
    let entries = status.map_or(Ok(&[][..]), |status| status.list("devices"));
    entries
        .unwrap_or_default()
        .iter()
        .filter_map(|entry| Some((KEYS.map(|key| entry.text(key)), our_condition(entry)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(uid: &str, version: &str, messages: &[(&str, &str)]) -> Value {
        let devices: Vec<Json> = messages
            .iter()
            .map(|(device, message)| {
                json!({"driver": "d", "pool": "p", "device": device, "conditions": [
                    {"type": "Ready", "status": "True"},
                    {"type": "dra-guest/Ready", "status": "True", "message": message}]})
            })
            .collect();
        serde_json::from_value(json!({
            "metadata": {"namespace": "lab", "name": "nic", "uid": uid, "resourceVersion": version},
            "status": {"devices": devices},
        }))
        .unwrap()
    }

    #[test]
    fn it_names_the_claim_and_none_of_its_fields() {
        assert_eq!(
            body(&claim("u", "7", &[("a", "net1")])),
            json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
                "metadata": {"namespace": "lab", "name": "nic", "uid": "u", "resourceVersion": "7"}})
        );
    }

    #[test]
    fn only_what_was_known_is_given_up() {
        let known = claim("u", "7", &[("a", "net1"), ("b", "net2")]);
        assert!(is_needed(&known) && !is_needed(&claim("u", "7", &[])));
        for (why, now, as_known) in [
            (
                "others have changed theirs",
                claim("u", "8", &[("a", "net1"), ("b", "net2")]),
                true,
            ),
            (
                "a device was deallocated",
                claim("u", "8", &[("b", "net2")]),
                true,
            ),
            ("all is gone", claim("u", "8", &[]), true),
            (
                "another relay has spoken",
                claim("u", "8", &[("a", "ens3"), ("b", "net2")]),
                false,
            ),
            (
                "another relay has spoken of another device",
                claim("u", "8", &[("c", "net1")]),
                false,
            ),
            (
                "it is another claim of the name",
                claim("v", "8", &[("a", "net1")]),
                false,
            ),
        ] {
            assert_eq!(is_as_known(&known, &now), as_known, "{why}");
        }
    }
}
