//! What an answer of the API server means, and what to do about it.

use std::error::Error as _;
use std::fmt::Write as _;

use kube::core::Status;

use crate::monitoring::labels::FailureReason;

/// The synthetic resource that the API server asks about for `status.devices` (KEP-4817).
const DRIVER_RESOURCE: &str = "resourceclaims/driver";

/// A right that the relay needs: group, resource, verbs.
#[derive(Debug, Clone, Copy)]
pub struct Right(pub &'static str, pub &'static str, pub &'static str);

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
        409 => format!("{said}; the claim is another one now, or was changed: it is read anew"),
        410 => format!("{said}; what was known is too old: it is read anew"),
        422 if message.contains(DRIVER_RESOURCE) => {
            format!("{said}; {}", missing_driver_rule(message))
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

/// Without the right for a driver's devices the API server answers 422, not 403.
fn missing_driver_rule(message: &str) -> String {
    if message.contains("associated-node:patch") {
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
