//! A cluster with a driver that asks for the hook, and what `deploy/` installs.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use dra_guest_tests::cluster::deployment::{self, RELAYS};
use dra_guest_tests::cluster::{self, Addition, Client, Cluster, Deployment, NODE, VMS};
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::process::Process;
use dra_guest_tests::programs::{cdi_spec, workspace};
use dra_guest_tests::wait;
use serde_json::{Value, json};

pub const DRIVER: &str = "sriov.example.com";
pub const PODS: &str = "/api/v1/namespaces/default/pods";
pub const CLAIMS: &str = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
/// The CID of the guest.
pub const CID: u32 = 5;
/// What is installed beside `deploy/`: nothing.
pub const SHIPPED: &[Addition] = &[];
/// The seccomp profile of other pods.
pub const RUNTIMES_PROFILE: &[Addition] = &[Addition::RuntimesSeccompProfile];
/// The relay's own seccomp profile.
pub const OWN_PROFILE: &[Addition] = &[Addition::OwnSeccompProfile];
/// The same, and the guest.
pub const WITH_GUEST: &[Addition] = &[Addition::OwnSeccompProfile, Addition::GuestSocket(CID)];
/// The relay annotates pods, too.
pub const WITH_ANNOTATIONS: &[Addition] = &[Addition::Annotation, Addition::GuestSocket(CID)];

pub struct Bed {
    _driver: Process,
    deployment: Deployment,
    /// An account that may do what a driver may.
    pub wide: Option<Client>,
    pub cluster: Cluster,
}

impl Bed {
    pub fn start() -> Result<Self> {
        let cluster = Cluster::start("deploy")?;
        let deployment = Deployment::prepare(&cluster, &[DRIVER])?;
        cluster::install_kubevirt(cluster.admin())?;

        // As the node's administrator puts it there, for those who take the component.
        let profiles = cluster.node().kubelet().join("seccomp");
        fs::create_dir_all(&profiles)?;
        let profile = "dra-guest-relay.json";
        let shipped = workspace().join("deploy/seccomp").join(profile);
        fs::copy(shipped, profiles.join(profile))?;

        fs::write(cluster.node().cdi().join("dra-guest-vm.json"), cdi_spec()?)?;
        let devices = json!([{
            "name": "0000-3b-02-1",
            "attributes": {"resource.kubernetes.io/pciBusID": {"string": "0000:3b:02.1"}},
            "networkData": {"interfaceName": "net1", "hardwareAddress": "02:00:00:4e:92:87", "ips": []},
        }]);
        let driver = cluster.start_driver(DRIVER, &devices, &["dra-guest/vm=attributes"])?;
        let bed = Self {
            _driver: driver,
            deployment,
            wide: None,
            cluster,
        };
        bed.kubectl(&["create", "-f", &file("objects.yaml")])?;
        Ok(bed)
    }

    pub fn admin(&self) -> &Client {
        self.cluster.admin()
    }

    pub fn get(&self, path: &str) -> Result<Value> {
        self.admin().get(path)?.object()
    }

    /// Runs `kubectl` and gives what it prints.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        stdout_of(self.cluster.kubectl()?.args(arguments))
    }

    /// Installs `deploy/` with these additions, where they are not what is there.
    pub fn install(&mut self, additions: &[Addition]) -> Result<()> {
        self.deployment.install(&self.cluster, additions)?;
        Ok(())
    }

    /// Where the guest connects.
    pub fn guest(&self) -> PathBuf {
        self.deployment.guest(CID)
    }

    pub fn relay(&self) -> Result<Value> {
        deployment::relay(&self.cluster)
    }

    /// Ends the relay's pod, and waits for another.
    pub fn restart_relay(&self) -> Result<()> {
        let old = self.relay()?;
        let name = old["metadata"]["name"].as_str().context("its name")?;
        self.admin().delete(&format!("{RELAYS}/{name}"))?.object()?;
        wait::until("another relay runs", wait::PATIENCE, || {
            let pods = deployment::relays(&self.cluster)?;
            let new = pods.len() == 1
                && pods[0]["metadata"]["uid"] != old["metadata"]["uid"]
                && pods[0]["status"]["phase"] == "Running";
            Ok(new.then_some(()))
        })
    }

    pub fn log(&self) -> Result<String> {
        deployment::log(&self.cluster)
    }

    /// The relay's process, as the machine sees it.
    pub fn relay_process(&self) -> Result<u32> {
        wait::until("the relay's process", wait::PATIENCE, || {
            let pod = self.relay()?;
            let id = pod["status"]["containerStatuses"][0]["containerID"].as_str();
            let Some(id) = id.and_then(|id| id.strip_prefix("containerd://")) else {
                return Ok(None);
            };
            for entry in fs::read_dir("/proc")? {
                let directory = entry?.path();
                let name = directory.file_name().and_then(|name| name.to_str());
                let Some(process) = name.and_then(|name| name.parse().ok()) else {
                    continue;
                };
                // It may end while it is looked at.
                let read = |name: &str| fs::read(directory.join(name)).unwrap_or_default();
                if String::from_utf8_lossy(&read("cgroup")).contains(id)
                    && read("cmdline").starts_with(b"/dra-guest-relay\0")
                {
                    return Ok(Some(process));
                }
            }
            Ok(None)
        })
    }

    pub fn wait_for_log(&self, words: &str) -> Result<()> {
        wait::until(
            &format!("'{words}' in the relay's log"),
            wait::PATIENCE,
            || Ok(self.log()?.contains(words).then_some(())),
        )
        .with_context(|| self.log().unwrap_or_default())
    }

    /// A client with a token of the relay's account, bound to the relay's pod as the kubelet's is.
    pub fn as_relay(&self) -> Result<Client> {
        let pod = self.relay()?;
        let bound = json!({
            "apiVersion": "v1", "kind": "Pod",
            "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"],
        });
        let path = "/api/v1/namespaces/dra-guest/serviceaccounts/dra-guest-relay/token";
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"audiences": [], "expirationSeconds": 3600, "boundObjectRef": bound},
        });
        let answer = self.admin().create(path, &request)?.object()?;
        let token = answer["status"]["token"].as_str().context("a token")?;
        Ok(self.admin().with_token(token))
    }

    /// Makes a VM that runs on the node with this CID, and gives its UID.
    pub fn vm(&self, name: &str, cid: u32) -> Result<String> {
        let vm = json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
            "metadata": {"name": name, "labels": {"kubevirt.io/nodeName": NODE}},
            "spec": {"domain": {"devices": {"autoattachVSOCK": true}}},
        });
        let mut vm = self.admin().create(VMS, &vm)?.object()?;
        vm["status"] = json!({"phase": "Running", "VSOCKCID": cid});
        let path = format!("{VMS}/{name}/status");
        let vm = self.admin().replace(&path, &vm)?.object()?;
        Ok(vm["metadata"]["uid"]
            .as_str()
            .context("its uid")?
            .to_owned())
    }
}

/// A file beside this one.
pub fn file(name: &str) -> String {
    let directory = workspace().join("tests/tests/deploy");
    directory.join(name).display().to_string()
}

/// A pod as KubeVirt makes it for the VM with this UID.
pub fn launcher(vm: &str) -> Result<Value> {
    let text = fs::read_to_string(file("virt-launcher.yaml"))?.replace("VMI-UID", vm);
    let pod: Value = serde_saphyr::from_str(&text)?;
    assert_eq!(pod["spec"]["containers"][0]["name"], "compute");
    Ok(pod)
}
