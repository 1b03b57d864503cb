//! One server-side apply of one annotation.

use std::time::Duration;

use kube::api::{Api, Patch, PatchParams};
use kube::{Client, Error};
use serde_json::json;
use tokio::time::timeout;

use super::ANNOTATION;
use super::heard::Pod;
use crate::cluster::objects::{self, PodObject};
use crate::cluster::refusal::{self, Right};
use crate::monitoring::labels::{FailureReason, Operation};
use crate::monitoring::metrics;

/// The field manager that owns the annotation.
pub const FIELD_MANAGER: &str = "dra-guest-relay-annotations";
/// The longest that an answer is waited for.
const ANSWER: Duration = Duration::from_secs(10);

/// Gives a pod its annotation. The UID is a precondition: a new pod of the same name is another one.
///
/// # Errors
/// Why it does not have it, as a sentence.
pub async fn write(client: Client, pod: &Pod, value: &str) -> Result<(), String> {
    let api = Api::<PodObject>::namespaced_with(client, pod.namespace.as_str(), &objects::pods());
    let body = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": pod.namespace, "name": pod.name, "uid": pod.uid,
            "annotations": {ANNOTATION: value},
        },
    });
    // Not forced: what another manager holds stays with it.
    let parameters = PatchParams::apply(FIELD_MANAGER);
    let patch = Patch::Apply(body);
    let asked = api.patch(pod.name.as_str(), &parameters, &patch);
    metrics::request(Operation::Annotate);
    match timeout(ANSWER, asked).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => {
            metrics::failure(Operation::Annotate, refusal::reason(&error));
            Err(words(&error))
        }
        Err(_) => {
            metrics::failure(Operation::Annotate, FailureReason::Timeout);
            let seconds = ANSWER.as_secs();
            Err(format!("the API server has not answered for {seconds} s"))
        }
    }
}

fn words(error: &Error) -> String {
    match error {
        Error::Api(status) if status.code == 409 => format!(
            "the API server answers 409: {}; another program holds {ANNOTATION}, or the pod is another one now",
            status.message
        ),
        other => refusal::words(other, Right("", "pods", "\"patch\"")),
    }
}
