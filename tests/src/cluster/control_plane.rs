//! etcd and the API server on ports of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::audit::{self, Asked};
use super::client::Client;
use super::components::Components;
use super::kubevirt::install_kubevirt;
use super::port;
use super::state::StateDirectory;
use super::user::{self, User};
use crate::command::stdout_of;
use crate::process::Process;
use crate::wait;

/// Certificate and authority, as the API server makes them for itself.
const CERTIFICATES: &str = "certificates/apiserver.crt";
/// The users that are no service accounts.
const TOKENS: &str = "tokens.csv";
/// The key that signs the tokens of service accounts.
const KEY: &str = "service-accounts.pem";
const AUDIT_POLICY: &str = "audit-policy.json";
const AUDIT_LOG: &str = "audit.log";

/// A running API server and its etcd. They end when this is dropped, or with the thread that started
/// them; their logs stay below `target/cluster/NAME` until the next run.
#[derive(Debug)]
pub struct ControlPlane {
    // Ends first: it complains when its etcd is gone.
    api_server: Mutex<Process>,
    _etcd: Process,
    program: PathBuf,
    store: String,
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
        prepare(&state)?;
        let program = components.program("kube-apiserver")?;
        let port = port::free()?;
        let mut api_server = start_api_server(&program, &state, &store, port)?;

        let certificates = state.data(CERTIFICATES);
        let admin = wait::until("the API server's certificate", wait::PATIENCE, || {
            api_server.check()?;
            // It may be seen while it is written.
            Ok(Client::new(port, &certificates, User::Admin.token()).ok())
        })?;
        wait_until_ready(&mut api_server, &admin)?;
        Ok(Self {
            api_server: Mutex::new(api_server),
            _etcd: etcd,
            program,
            store,
            admin,
            port,
            state,
        })
    }

    /// As [`Self::start`], with KubeVirt's kinds installed.
    ///
    /// # Errors
    /// As [`Self::start`], and when the API server refuses the kinds.
    pub fn with_kubevirt(name: &str) -> Result<Self> {
        let control = Self::start(name)?;
        install_kubevirt(control.admin())?;
        Ok(control)
    }

    /// Ends the API server and starts it again on the same port: what it has cached for watches is lost.
    ///
    /// # Errors
    /// See [`ControlPlane::start`].
    pub fn restart_api_server(&self) -> Result<()> {
        let mut api_server = self
            .api_server
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        api_server.terminate()?;
        api_server.wait()?;
        *api_server = start_api_server(&self.program, &self.state, &self.store, self.port)?;
        wait_until_ready(&mut api_server, &self.admin)
    }

    /// What service accounts have asked of the API server, since it was started first.
    ///
    /// # Errors
    /// When its log cannot be read.
    pub fn audit(&self) -> Result<Vec<Asked>> {
        audit::read(&self.state.data(AUDIT_LOG))
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

/// Writes what the API server reads at its start.
fn prepare(state: &StateDirectory) -> Result<()> {
    let write = |name: &str, text: String| {
        let path = state.data(name);
        fs::write(&path, text).with_context(|| format!("{} is not written", path.display()))
    };
    write(TOKENS, user::token_file())?;
    write(AUDIT_POLICY, audit::policy().to_string())?;
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
            .arg(state.data(KEY)),
    )?;
    Ok(())
}

fn start_api_server(
    program: &Path,
    state: &StateDirectory,
    store: &str,
    port: u16,
) -> Result<Process> {
    let file = |name: &str| state.data(name).display().to_string();
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
        format!("--token-auth-file={}", file(TOKENS)),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", file(KEY)),
        format!("--service-account-signing-key-file={}", file(KEY)),
        // No controller makes the account `default` that it would demand of each namespace.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        "--allow-privileged=true".to_owned(),
        format!("--audit-policy-file={}", file(AUDIT_POLICY)),
        format!("--audit-log-path={}", file(AUDIT_LOG)),
    ];
    Process::start("kube-apiserver", program, arguments, state.logs())
}

fn wait_until_ready(api_server: &mut Process, admin: &Client) -> Result<()> {
    wait::until("the API server is ready", wait::PATIENCE, || {
        api_server.check()?;
        let ready = admin
            .get("/readyz")
            .is_ok_and(|answer| answer.status == 200);
        Ok(ready.then_some(()))
    })
}
