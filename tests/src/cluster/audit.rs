//! What the API server was asked, from its audit log: the requests of service accounts.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// A request that was answered, or a watch that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The service account of the namespace `default`.
    pub account: String,
    /// `get`, `list`, `watch`, `patch` and so on.
    pub verb: String,
    /// Like `resourceclaims/status`.
    pub resource: String,
    /// The name of the object; empty for a collection.
    pub name: String,
    /// The HTTP status.
    pub code: u64,
}

/// The policy: service accounts alone, and nothing of what they send.
pub(super) fn policy() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
            {"level": "None"},
        ],
    })
}

/// Reads the log, whose last line may be under way.
pub(super) fn read(log: &Path) -> Result<Vec<Asked>> {
    let text = match fs::read_to_string(log) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.with_context(|| log.display().to_string())?,
    };
    let events = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(events.filter_map(|event| asked(&event)).collect())
}

fn asked(event: &Value) -> Option<Asked> {
    let text = |path: &str| event.pointer(path).and_then(Value::as_str);
    let verb = text("/verb")?;
    // A watch is answered when it begins, all else when it ends.
    let stage = if verb == "watch" {
        "ResponseStarted"
    } else {
        "ResponseComplete"
    };
    if text("/stage")? != stage {
        return None;
    }
    let account = text("/user/username")?.strip_prefix("system:serviceaccount:default:")?;
    let resource = text("/objectRef/resource")?;
    Some(Asked {
        account: account.to_owned(),
        verb: verb.to_owned(),
        resource: match text("/objectRef/subresource") {
            Some(subresource) => format!("{resource}/{subresource}"),
            None => resource.to_owned(),
        },
        name: text("/objectRef/name").unwrap_or_default().to_owned(),
        code: event.pointer("/responseStatus/code")?.as_u64()?,
    })
}
