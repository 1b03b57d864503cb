//! What an answer of the API server means, and what to do about it.

use std::error::Error as _;
use std::fmt::Write as _;
use std::time::Duration;

use kube::core::Status;

use crate::monitoring::labels::FailureReason;

/// The synthetic resource that the API server asks about for `status.devices` (KEP-4817).
const DRIVER_RESOURCE: &str = "resourceclaims/driver";

/// The verb for claims of the node that the token is bound to.
const OWN_NODE: &str = "associated-node:patch";

/// A right that the relay needs: group, resource, verbs.
#[derive(Debug, Clone, Copy)]
pub struct Right(pub &'static str, pub &'static str, pub &'static str);

/// The least that the API server wants to be left alone after 429: its Retry-After (`pkg/util/flowcontrol` of the API
/// server), of which the client library keeps nothing where the body is no `Status`.
const TOO_MANY: Duration = Duration::from_secs(1);

/// What an error means for the object that the request was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// 404: it is gone.
    Gone,
    /// 409: it was changed, or another program holds the field.
    Conflict,
    /// 422: what is asked for does not fit it, or it is another one of the same name.
    Invalid,
    /// Nothing was done, and what is known of the object still holds.
    Refused,
    /// It may have been done or not.
    Unclear,
}

/// What an error means.
pub fn meaning(error: &kube::Error) -> Meaning {
    let kube::Error::Api(status) = error else {
        return Meaning::Unclear;
    };
    match status.code {
        404 => Meaning::Gone,
        409 | 410 => Meaning::Conflict,
        422 if is_missing_driver_rule(status) => Meaning::Refused,
        422 => Meaning::Invalid,
        401 | 403 | 429 => Meaning::Refused,
        _ => Meaning::Unclear,
    }
}

/// How long the API server wants to be left alone.
pub fn pause(error: &kube::Error) -> Duration {
    let kube::Error::Api(status) = error else {
        return Duration::ZERO;
    };
    let details = status.details.as_ref();
    let asked = details.map_or(0, |details| details.retry_after_seconds);
    let least = if status.code == 429 {
        TOO_MANY
    } else {
        Duration::ZERO
    };
    least.max(Duration::from_secs(asked.into()))
}

/// Why a request failed, as metrics have it.
pub fn reason(error: &kube::Error) -> FailureReason {
    match error {
        kube::Error::Api(status) => FailureReason::of_status(status.code),
        _ => FailureReason::Unreachable,
    }
}

/// The words for an error. `right` is what the request takes.
pub fn words(error: &kube::Error, right: Right) -> String {
    match error {
        kube::Error::Api(status) => answer(status, right),
        other => unanswered(other),
    }
}

/// The words for an error that is no answer.
pub fn unanswered(error: &kube::Error) -> String {
    let mut words = format!("no answer from the API server that can be used: {error}");
    let mut source = error.source();
    while let Some(error) = source {
        let said = error.to_string();
        // Some errors have the words of their source already.
        if !words.contains(&said) {
            let _ = write!(words, ": {said}");
        }
        source = error.source();
    }
    words
}

/// The words for an answer that is an error.
pub fn answer(status: &Status, right: Right) -> String {
    let Status { code, message, .. } = status;
    let said = format!("the API server answers {code}: {message}");
    let Right(group, resource, verbs) = right;
    match code {
        401 => format!("{said}; it does not know the relay's token"),
        403 => format!(
            "{said}; the relay's ServiceAccount lacks the rule apiGroups [{group:?}], resources [{resource:?}], verbs [{verbs}]"
        ),
        404 => format!("{said}; the object is gone, or its kind is not installed"),
        409 if is_owned_by_another(status) => format!(
            "{said}; another program writes the relay's own condition: the relay does not take it away"
        ),
        409 => format!("{said}; the claim is another one now or was changed: it is read anew"),
        410 => format!("{said}; what was known is too old: it is read anew"),
        422 if is_about_driver_rule(status) => {
            format!("{said}; {}", missing_driver_rule(message))
        }
        422 if message.contains("metadata.uid") => {
            format!("{said}; the claim is another one of the same name now: it is read anew")
        }
        429 => format!("{said}; it has too much to do: the relay waits"),
        _ => said,
    }
}

fn is_owned_by_another(status: &Status) -> bool {
    status.details.iter().any(|details| {
        details
            .causes
            .iter()
            .any(|cause| cause.reason == "FieldManagerConflict")
    })
}

fn is_about_driver_rule(status: &Status) -> bool {
    status.code == 422 && status.message.contains(DRIVER_RESOURCE)
}

/// Whether the rule for the claims of the relay's own node is missing; else the claim is not of this node alone.
fn is_missing_driver_rule(status: &Status) -> bool {
    is_about_driver_rule(status) && status.message.contains(OWN_NODE)
}

/// Without the right for a driver's devices the API server answers 422, not 403.
fn missing_driver_rule(message: &str) -> String {
    if message.contains(OWN_NODE) {
        format!(
            "the relay's ServiceAccount lacks the rule apiGroups [\"resource.k8s.io\"], resources [{DRIVER_RESOURCE:?}], \
             verbs [\"associated-node:patch\"], resourceNames [the drivers]"
        )
    } else {
        format!(
            "the relay's token is not bound to a pod on the node of the claim, or the claim is not of one node alone: \
             that takes resources [{DRIVER_RESOURCE:?}], verbs [\"arbitrary-node:patch\"]"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_means_for_what_is_known() {
        for (code, message, expected, seconds) in [
            (404, "not found", Meaning::Gone, 0),
            (409, "Precondition failed: UID", Meaning::Conflict, 0),
            (422, "status.devices: Too many", Meaning::Invalid, 0),
            (422, "metadata.uid: field is immutable", Meaning::Invalid, 0),
            (
                422,
                "resourceclaims/driver, [associated-node:patch arbitrary-node:patch]",
                Meaning::Refused,
                0,
            ),
            (
                422,
                "resourceclaims/driver, [arbitrary-node:patch]",
                Meaning::Invalid,
                0,
            ),
            (403, "forbidden", Meaning::Refused, 0),
            (429, "Too many requests", Meaning::Refused, 1),
            (504, "timeout", Meaning::Unclear, 0),
        ] {
            let status = Status {
                code,
                message: message.to_owned(),
                ..Status::success()
            };
            let error = kube::Error::Api(Box::new(status));
            assert_eq!(meaning(&error), expected, "{code} {message}");
            assert_eq!(pause(&error), Duration::from_secs(seconds), "{code}");
        }
    }

    #[test]
    fn the_missing_rule_is_named() {
        let right = Right("resource.k8s.io", "resourceclaims/status", "\"patch\"");
        for (code, message, words) in [
            (
                403,
                "forbidden",
                "lacks the rule apiGroups [\"resource.k8s.io\"], resources [\"resourceclaims/status\"], verbs [\"patch\"]",
            ),
            (
                422,
                "requires resource=\"resourceclaims/driver\", verb=\"[associated-node:patch arbitrary-node:patch]\"",
                "resources [\"resourceclaims/driver\"], verbs [\"associated-node:patch\"], resourceNames [the drivers]",
            ),
            (
                422,
                "requires resource=\"resourceclaims/driver\", verb=\"[arbitrary-node:patch]\"",
                "not bound to a pod on the node of the claim",
            ),
            (
                422,
                "status.devices: Too many",
                "422: status.devices: Too many",
            ),
        ] {
            let status = Status {
                code,
                message: message.to_owned(),
                ..Status::success()
            };
            let said = answer(&status, right);
            assert!(said.contains(words), "{said}");
        }
    }
}
