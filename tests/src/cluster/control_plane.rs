//! etcd and the API server on ports of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::client::Client;
use super::components::Components;
use super::port;
use super::state::StateDirectory;
use super::user::{self, User};
use crate::command::stdout_of;
use crate::process::Process;
use crate::wait;

/// Certificate and authority, as the API server makes them for itself.
const CERTIFICATES: &str = "certificates/apiserver.crt";
/// Much more than it takes, on a machine that does much else.
const START: Duration = Duration::from_mins(2);

/// A running API server and its etcd. They end when this is dropped, or with the thread that started
/// them; their logs stay below `target/cluster/NAME` until the next run.
#[derive(Debug)]
pub struct ControlPlane {
    // Ends first: it complains when its etcd is gone.
    _api_server: Process,
    _etcd: Process,
    admin: Client,
    port: u16,
    state: StateDirectory,
}

impl ControlPlane {
    /// Starts both and waits until the API server is ready. `name` tells test programs apart.
    ///
    /// # Errors
    /// When a program is not there or does not get ready; the error has the end of its log.
    pub fn start(name: &str) -> Result<Self> {
        let components = Components::of_control_plane()?;
        let state = StateDirectory::take(name)?;
        let (etcd, store) = start_etcd(&components.program("etcd")?, &state)?;
        let (mut api_server, port) =
            start_api_server(&components.program("kube-apiserver")?, &state, &store)?;

        let certificates = state.data(CERTIFICATES);
        let admin = wait::until("the API server's certificate", START, || {
            api_server.check()?;
            // It may be seen while it is written.
            Ok(Client::new(port, &certificates, User::Admin.token()).ok())
        })?;
        wait::until("the API server is ready", START, || {
            api_server.check()?;
            let ready = admin
                .get("/readyz")
                .is_ok_and(|answer| answer.status == 200);
            Ok(ready.then_some(()))
        })?;
        Ok(Self {
            _api_server: api_server,
            _etcd: etcd,
            admin,
            port,
            state,
        })
    }

    /// The client of the user who may do everything.
    pub fn admin(&self) -> &Client {
        &self.admin
    }

    /// The API server's port of 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What the kubeconfig file of a user holds.
    pub fn kubeconfig(&self, user: User) -> Value {
        let server = format!("https://127.0.0.1:{}", self.port);
        user.kubeconfig(&server, &self.certificates())
    }

    /// The API server's certificate and its authority's.
    pub(super) fn certificates(&self) -> PathBuf {
        self.state.data(CERTIFICATES)
    }

    /// Where programs of this cluster log.
    pub fn logs(&self) -> &Path {
        self.state.logs()
    }

    /// A file or directory that goes with the control plane.
    pub(super) fn data(&self, name: &str) -> PathBuf {
        self.state.data(name)
    }
}

/// Starts etcd, and says where the API server finds it.
fn start_etcd(program: &Path, state: &StateDirectory) -> Result<(Process, String)> {
    let url = format!("http://127.0.0.1:{}", port::free()?);
    let arguments = [
        format!("--data-dir={}", state.data("etcd").display()),
        format!("--listen-client-urls={url}"),
        format!("--advertise-client-urls={url}"),
        // It has no peers; 0 is a port that the kernel chooses.
        "--listen-peer-urls=http://127.0.0.1:0".to_owned(),
        // What it holds is of no use after the test.
        "--unsafe-no-fsync".to_owned(),
    ];
    let process = Process::start("etcd", program, arguments, state.logs())?;
    Ok((process, url))
}

/// Starts the API server, and says its port.
fn start_api_server(program: &Path, state: &StateDirectory, store: &str) -> Result<(Process, u16)> {
    let tokens = state.data("tokens.csv");
    fs::write(&tokens, user::token_file())
        .with_context(|| format!("{} is not written", tokens.display()))?;
    let key = state.data("service-accounts.pem");
    stdout_of(
        Command::new("openssl")
            // Not genpkey: of PKCS #8 the API server reads no public key.
            .args([
                "ecparam",
                "-genkey",
                "-name",
                "prime256v1",
                "-noout",
                "-out",
            ])
            .arg(&key),
    )?;
    let port = port::free()?;
    let certificates = state.data(CERTIFICATES);
    let arguments = [
        format!("--etcd-servers={store}"),
        format!(
            "--cert-dir={}",
            certificates.parent().unwrap_or(&certificates).display()
        ),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        // Nothing in the cluster looks for the API server by its Service.
        "--endpoint-reconciler-type=none".to_owned(),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        "--authorization-mode=Node,RBAC".to_owned(),
        format!("--token-auth-file={}", tokens.display()),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", key.display()),
        format!("--service-account-signing-key-file={}", key.display()),
        // No controller makes the account `default` that it would demand of each namespace.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        "--allow-privileged=true".to_owned(),
    ];
    let process = Process::start("kube-apiserver", program, arguments, state.logs())?;
    Ok((process, port))
}
