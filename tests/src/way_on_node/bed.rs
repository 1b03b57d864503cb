//! A cluster of one node that is ready for a VM: the hook, a driver, KubeVirt's kind, a class and a
//! template of claims.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::cluster::{Cluster, install_kubevirt};
use crate::command::stdout_of;
use crate::process::Process;
use crate::programs::{cdi_spec, static_program};
use crate::wait;
use crate::way::{NIC_ADDRESSES, NIC_MAC, NIC_NAME};

/// The name of the driver.
pub const DRIVER: &str = "sriov.example.com";
/// The name of its one device.
pub const DEVICE: &str = "0000-3b-02-1";
const OBJECTS: &str = include_str!("objects.yaml");

/// Who asks for the hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// The driver, by the CDI device.
    Driver,
    /// The NRI plugin: the driver does not know of it.
    Plugin,
    /// The NRI plugin, which asks the relay: the driver writes no metadata either.
    PluginAndRelay,
}

/// The cluster and what runs in it. Dropping it ends everything.
#[derive(Debug)]
pub struct Bed {
    // End before the cluster.
    driver: Process,
    plugin: Option<Process>,
    /// The cluster.
    pub cluster: Cluster,
}

impl Bed {
    /// Installs the hook on the node, starts a driver that has published its device, and the NRI plugin where that is
    /// to ask for the hook.
    ///
    /// # Errors
    /// When one of them does not do so.
    pub fn new(cluster: Cluster, asker: Asker) -> Result<Self> {
        let driver = start_driver(&cluster, asker)?;
        let mut bed = Self {
            driver,
            plugin: None,
            cluster,
        };
        if asker != Asker::Driver {
            bed.start_plugin(&[])?;
        }
        wait::until("the driver's ResourceSlice", wait::PATIENCE, || {
            bed.driver.check()?;
            let slices = bed.get("/apis/resource.k8s.io/v1/resourceslices")?;
            Ok(slices.pointer("/items/0").is_some().then_some(()))
        })?;
        Ok(bed)
    }

    /// Starts the driver anew, which asks for the hook itself or does not.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn restart_driver(&mut self, asker: Asker) -> Result<()> {
        self.driver.terminate()?;
        self.driver.wait()?;
        self.driver = start_driver(&self.cluster, asker)?;
        Ok(())
    }

    /// Starts the NRI plugin on the node, in the place of one that ran before, and waits until containerd has told it of
    /// all containers.
    ///
    /// # Errors
    /// When it does not come to that.
    pub fn start_plugin(&mut self, options: &[&str]) -> Result<()> {
        self.plugin = None;
        let plugin = static_program("dra-guest-nri")?;
        let mut arguments = vec![format!(
            "--hook={}",
            static_program("dra-cdi-hook")?.display()
        )];
        arguments.extend(options.iter().map(|option| (*option).to_owned()));
        let logs = self.cluster.control().logs();
        let mut process = self.cluster.node().run("nri", &plugin, arguments, logs)?;
        wait::until(
            "containerd has told the plugin of its containers",
            wait::PATIENCE,
            || {
                process.check()?;
                Ok(self
                    .plugin_log()?
                    .contains("kept up to date: ")
                    .then_some(()))
            },
        )?;
        self.plugin = Some(process);
        Ok(())
    }

    /// Ends the NRI plugin, if one runs.
    pub fn stop_plugin(&mut self) {
        self.plugin = None;
    }

    /// The running plugin.
    ///
    /// # Errors
    /// When there is none.
    pub fn plugin(&mut self) -> Result<&mut Process> {
        self.plugin.as_mut().context("no NRI plugin runs")
    }

    /// What the plugin has logged since it was started.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn plugin_log(&self) -> Result<String> {
        let log = self.cluster.control().logs().join("nri.log");
        fs::read_to_string(&log).with_context(|| log.display().to_string())
    }

    /// Has the driver tell other addresses of its device, in a new generation of its metadata.
    ///
    /// # Errors
    /// When it cannot be told.
    pub fn change_addresses(&self, addresses: &[&str]) -> Result<()> {
        let path = self.cluster.driver_devices(DRIVER);
        fs::write(&path, devices(addresses).to_string())?;
        stdout_of(Command::new("kill").args(["-HUP", &self.driver.id().to_string()]))?;
        Ok(())
    }

    /// Creates the kind of VMs, the class and the template.
    ///
    /// # Errors
    /// When the API server refuses one.
    pub fn create_objects(&self) -> Result<()> {
        install_kubevirt(self.cluster.admin())?;
        let path = self.cluster.node().kubelet().with_file_name("objects.yaml");
        fs::write(&path, OBJECTS)?;
        stdout_of(self.cluster.kubectl()?.args(["create", "-f"]).arg(path))?;
        Ok(())
    }

    /// Reads an object or a list.
    ///
    /// # Errors
    /// When there is none.
    pub fn get(&self, path: &str) -> Result<Value> {
        self.cluster.admin().get(path)?.object()
    }

    /// Holds that the driver runs, and that neither it nor upstream's library complained.
    ///
    /// # Errors
    /// When they did; the error has their words.
    pub fn expect_content_driver(&mut self) -> Result<()> {
        self.driver.check()?;
        let log = self.cluster.control().logs().join(format!("{DRIVER}.log"));
        let text = fs::read_to_string(&log).with_context(|| log.display().to_string())?;
        // The library's errors begin with an E and the date, klog's form.
        let is_complaint = |line: &&str| {
            let mut characters = line.chars();
            line.starts_with("dra-driver:")
                || (characters.next() == Some('E')
                    && characters
                        .next()
                        .is_some_and(|second| second.is_ascii_digit()))
        };
        let complaints: Vec<&str> = text.lines().filter(is_complaint).collect();
        ensure!(
            complaints.is_empty(),
            "the driver says:\n{}",
            complaints.join("\n")
        );
        Ok(())
    }
}

/// Starts the driver, and installs the CDI spec that it asks with.
fn start_driver(cluster: &Cluster, asker: Asker) -> Result<Process> {
    let asked: &[&str] = match asker {
        Asker::Plugin | Asker::PluginAndRelay => &[],
        Asker::Driver => {
            fs::write(cluster.node().cdi().join("dra-guest-vm.json"), cdi_spec()?)?;
            &["dra-guest/vm=attributes"]
        }
    };
    let metadata = format!("--metadata={}", asker != Asker::PluginAndRelay);
    cluster.start_driver_with(DRIVER, &devices(&NIC_ADDRESSES), asked, &[&metadata])
}

/// The driver's one device.
fn devices(addresses: &[&str]) -> Value {
    json!([{
        "name": DEVICE,
        "attributes": {
            "resource.kubernetes.io/pciBusID": {"string": "0000:3b:02.1"},
            "resource.kubernetes.io/pcieRoot": {"string": "pci0000:3a"},
            "numaNode": {"int": 1},
        },
        "networkData": {
            "interfaceName": NIC_NAME, "hardwareAddress": NIC_MAC, "ips": addresses,
        },
    }])
}
