//! The way to the API server: the pod's own service account, or a kubeconfig file.

use std::path::Path;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// A client; nothing is sent yet.
///
/// # Errors
/// A sentence: the configuration cannot be used.
pub async fn client(kubeconfig: Option<&Path>) -> Result<Client, String> {
    let mut config = match kubeconfig {
        Some(path) => {
            let failed =
                |error: &dyn std::fmt::Display| format!("--kubeconfig {}: {error}", path.display());
            let file = Kubeconfig::read_from(path).map_err(|error| failed(&error))?;
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
                .await
                .map_err(|error| failed(&error))?
        }
        None => Config::incluster().map_err(|error| {
            format!(
                "without --kubeconfig: this is not a pod with a service account: {error}; \
                 outside of a pod name a file with --kubeconfig"
            )
        })?,
    };
    // The writer of each claim has pauses of its own, and says why it waits.
    config.default_retry = false;
    Client::try_from(config)
        .map_err(|error| format!("the configuration of the API server cannot be used: {error}"))
}
