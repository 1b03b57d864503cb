//! A whole cluster of one node.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::NODE;
use super::client::Client;
use super::components::Components;
use super::control_plane::ControlPlane;
use super::node::Node;
use super::user::User;
use crate::process::Process;
use crate::programs::workspace;

/// Those whose work a pod with claims, a `DaemonSet`, an object's removal or a policy waits for.
const CONTROLLERS: [&str; 9] = [
    "daemonset-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "pod-garbage-collector-controller",
    "resourceclaim-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "validatingadmissionpolicy-status-controller",
];

/// API server, scheduler, controller manager and a node. All end when this is dropped, or with the
/// thread that started them.
#[derive(Debug)]
pub struct Cluster {
    // In the order in which they end.
    node: Node,
    _controller_manager: Process,
    _scheduler: Process,
    control: ControlPlane,
}

impl Cluster {
    /// Builds the programs of a cluster that are not in the cache yet: containerd, Kubernetes and the
    /// driver. It takes about twenty minutes on two cores.
    ///
    /// # Errors
    /// When one does not build; its own words are on standard error.
    pub fn build() -> Result<()> {
        Components::built()?;
        Components::driver()?;
        container_runtime()
    }

    /// Starts all and waits until the node is ready. `name` tells test programs apart.
    ///
    /// # Errors
    /// When a program is not there or does not get ready; the error has the end of its log.
    pub fn start(name: &str) -> Result<Self> {
        container_runtime()?;
        let components = Components::built()?;
        let control = ControlPlane::start(name)?;
        let scheduler = start_controller(
            &control,
            &components,
            "kube-scheduler",
            User::Scheduler,
            &[],
        )?;
        let controller_manager = start_controller(
            &control,
            &components,
            "kube-controller-manager",
            User::ControllerManager,
            &[
                format!("--controllers={}", CONTROLLERS.join(",")),
                // Each has a role of its own; the user has none of theirs.
                "--use-service-account-credentials".to_owned(),
                format!("--root-ca-file={}", control.certificates().display()),
            ],
        )?;
        let node = Node::start(&control, &components)?;
        Ok(Self {
            node,
            _controller_manager: controller_manager,
            _scheduler: scheduler,
            control,
        })
    }

    /// The client of the user who may do everything.
    pub fn admin(&self) -> &Client {
        self.control.admin()
    }

    /// etcd and the API server.
    pub fn control(&self) -> &ControlPlane {
        &self.control
    }

    /// The node.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// `kubectl` for the user who may do everything.
    ///
    /// # Errors
    /// When it is not there.
    pub fn kubectl(&self) -> Result<Command> {
        let mut command = Command::new(Components::built()?.program("kubectl")?);
        command
            .env("KUBECONFIG", self.write_kubeconfig(User::Admin, "kubectl")?)
            // Not in the home of whoever runs the tests.
            .env("KUBECACHEDIR", self.control.data("kubectl"));
        Ok(command)
    }

    /// Starts a DRA driver on the node for `devices`, a list of `{name, attributes, networkData}`. It
    /// names `cdi_devices` for each device that it prepares.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_driver(
        &self,
        name: &str,
        devices: &Value,
        cdi_devices: &[&str],
    ) -> Result<Process> {
        self.start_driver_with(name, devices, cdi_devices, &[])
    }

    /// As [`Self::start_driver`], with more arguments.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_driver_with(
        &self,
        name: &str,
        devices: &Value,
        cdi_devices: &[&str],
        more: &[&str],
    ) -> Result<Process> {
        let kubeconfig = self.write_kubeconfig(User::Admin, name)?;
        let list = self.driver_devices(name);
        fs::write(&list, devices.to_string())?;
        let mut arguments = vec![
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--node={NODE}"),
            format!("--driver={name}"),
            format!("--devices={}", list.display()),
            "--kubelet=/var/lib/kubelet".to_owned(),
            "--cdi=/run/cdi".to_owned(),
            format!("--cdi-devices={}", cdi_devices.join(",")),
        ];
        arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
        self.node
            .run(name, &Components::driver()?, arguments, self.control.logs())
    }

    /// The file of a driver's devices: a driver that gets SIGHUP reads it anew.
    pub fn driver_devices(&self, name: &str) -> PathBuf {
        self.control.data(&format!("{name}.json"))
    }

    /// Writes a kubeconfig of a user for the program `name`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_kubeconfig(&self, user: User, name: &str) -> Result<PathBuf> {
        write_kubeconfig(&self.control, user, name)
    }
}

fn write_kubeconfig(control: &ControlPlane, user: User, name: &str) -> Result<PathBuf> {
    let path = control.data(&format!("{name}.kubeconfig"));
    fs::write(&path, control.kubeconfig(user).to_string())
        .with_context(|| format!("{} is not written", path.display()))?;
    Ok(path)
}

/// Starts a program that watches the API server and listens to nobody.
fn start_controller(
    control: &ControlPlane,
    components: &Components,
    name: &str,
    user: User,
    more: &[String],
) -> Result<Process> {
    let kubeconfig = write_kubeconfig(control, user, name)?;
    let mut arguments = vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        "--leader-elect=false".to_owned(),
        "--secure-port=0".to_owned(),
    ];
    arguments.extend_from_slice(more);
    Process::start(name, &components.program(name)?, arguments, control.logs())
}

/// Builds containerd, where it is not in the cache.
fn container_runtime() -> Result<()> {
    let script = workspace().join("tests/setup/tools.sh");
    let built = Command::new(&script)
        .arg("cluster")
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("{} cannot be started", script.display()))?;
    if !built.success() {
        bail!("containerd does not build: the words of tools.sh are above");
    }
    Ok(())
}
