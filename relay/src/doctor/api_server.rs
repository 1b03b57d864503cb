//! Which API server this is, and as whom it knows us.

use std::collections::BTreeMap;

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::PostParams;
use kube::{Api, Client};

use super::ask::ask;
use examination::Examination;

/// The first minor version with `resource.k8s.io/v1`.
const HAS_CLAIMS: u32 = 34;
/// The first one that asks for `resourceclaims/driver` (`DRAResourceClaimGranularStatusAuthorization`, KEP-4817).
const ASKS_FOR_DRIVERS: u32 = 36;

/// The keys under which the API server has what a token is bound to (KEP-4193).
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
const POD_NAME: &str = "authentication.kubernetes.io/pod-name";

/// What is known of the API server from now on.
#[derive(Debug)]
pub struct ApiServer {
    /// Whether a write of `status.devices` takes the rule for its driver.
    pub asks_for_drivers: bool,
    /// The node that the token is bound to.
    pub node_of_token: Option<String>,
}

/// Asks who it is; `None` when nobody answers.
pub async fn examine(client: &Client, examination: &mut Examination) -> Option<ApiServer> {
    let version = match ask(client.apiserver_version()).await {
        Ok(version) => version,
        Err(words) => {
            examination.finding(
                "api-server",
                words,
                "look at the address, the network and the API server itself; the kubeconfig or the pod's service \
                 account says where it is",
            );
            return None;
        }
    };
    // Some distributions add a plus.
    let minor: Option<u32> = version.minor.trim_end_matches('+').parse().ok();
    let name = format!("Kubernetes {}", version.git_version);
    match minor {
        Some(minor) if minor < HAS_CLAIMS => examination.finding(
            "api-server",
            format!("{name}: it has no resource.k8s.io/v1"),
            format!("use Kubernetes 1.{HAS_CLAIMS} or newer"),
        ),
        _ => examination.ok("api-server", name),
    }
    claims(client, examination).await;
    let identity = identity(client, examination).await;
    Some(ApiServer {
        asks_for_drivers: minor.is_none_or(|minor| minor >= ASKS_FOR_DRIVERS),
        node_of_token: identity,
    })
}

async fn claims(client: &Client, examination: &mut Examination) {
    let name = "claims";
    match ask(client.list_api_group_resources("resource.k8s.io/v1")).await {
        Ok(served) => {
            let missing: Vec<&str> = ["resourceclaims", "resourceclaims/status"]
                .into_iter()
                .filter(|wanted| !served.resources.iter().any(|one| one.name == *wanted))
                .collect();
            if missing.is_empty() {
                examination.ok(name, "resource.k8s.io/v1 with the status of claims");
            } else {
                not_served(name, &missing.join(", "), examination);
            }
        }
        Err(words) => not_served(name, &words, examination),
    }
}

fn not_served(name: &'static str, words: &str, examination: &mut Examination) {
    examination.finding(
        name,
        format!("resource.k8s.io/v1 is not served as it has to be: {words}"),
        "let the API server serve resource.k8s.io/v1 (its --runtime-config and its feature gate DynamicResourceAllocation)",
    );
}

/// The node that the token is bound to.
async fn identity(client: &Client, examination: &mut Examination) -> Option<String> {
    let name = "identity";
    let api = Api::<SelfSubjectReview>::all(client.clone());
    let review = ask(api.create(&PostParams::default(), &SelfSubjectReview::default())).await;
    let user = match review.map(|review| review.status.and_then(|status| status.user_info)) {
        Ok(Some(user)) => user,
        Ok(None) => {
            examination.unknown(name, "the API server does not say who this is");
            return None;
        }
        Err(words) => {
            examination.unknown(name, words);
            return None;
        }
    };
    let username = user.username.unwrap_or_default();
    let extra = user.extra.unwrap_or_default();
    let Some(node) = only(&extra, NODE_NAME) else {
        examination.finding(
            name,
            format!("{username}: the token is not bound to a node: the API server lets it write no claim of a node"),
            "run the relay, and doctor, in a pod with the token that the kubelet gives it (a DaemonSet), or ask for a token \
             with boundObjectRef of a pod on the node",
        );
        return None;
    };
    let pod = only(&extra, POD_NAME).unwrap_or("an unknown pod");
    examination.ok(name, format!("{username}, {pod} on node {node}"));
    Some(node.to_owned())
}

fn only<'a>(extra: &'a BTreeMap<String, Vec<String>>, key: &str) -> Option<&'a str> {
    match extra.get(key).map(Vec::as_slice) {
        Some([one]) => Some(one),
        _ => None,
    }
}
