//! The users of a cluster that are no service accounts, known by tokens.

use std::path::Path;

use serde_json::{Value, json};

use super::NODE;

/// Who uses the API server. Names and groups are those that its own roles are bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// May do everything.
    Admin,
    /// The scheduler.
    Scheduler,
    /// The controller manager.
    ControllerManager,
    /// The kubelet of [`NODE`].
    Kubelet,
}

impl User {
    /// What it says who it is by. No secret: the server listens on 127.0.0.1, for tests.
    pub(super) const fn token(self) -> &'static str {
        match self {
            Self::Admin => "test-admin",
            Self::Scheduler => "test-scheduler",
            Self::ControllerManager => "test-controller-manager",
            Self::Kubelet => "test-kubelet",
        }
    }

    fn name(self) -> String {
        match self {
            Self::Admin => "admin".to_owned(),
            Self::Scheduler => "system:kube-scheduler".to_owned(),
            Self::ControllerManager => "system:kube-controller-manager".to_owned(),
            Self::Kubelet => format!("system:node:{NODE}"),
        }
    }

    const fn group(self) -> &'static str {
        match self {
            Self::Admin => "system:masters",
            Self::Scheduler | Self::ControllerManager => "system:authenticated",
            Self::Kubelet => "system:nodes",
        }
    }

    /// What its kubeconfig file holds.
    pub(super) fn kubeconfig(self, server: &str, certificates: &Path) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {
                "server": server, "certificate-authority": certificates,
            }}],
            "users": [{"name": "test", "user": {"token": self.token()}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        })
    }
}

/// The file of `--token-auth-file`: token, name, uid, group a line.
pub(super) fn token_file() -> String {
    [
        User::Admin,
        User::Scheduler,
        User::ControllerManager,
        User::Kubelet,
    ]
    .map(|user| {
        let (token, name, group) = (user.token(), user.name(), user.group());
        format!("{token},{name},{name},{group}\n")
    })
    .concat()
}
