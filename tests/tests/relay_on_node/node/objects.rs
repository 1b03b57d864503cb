//! What a test makes and ends on the node: claims, VMs and their pods.

use anyhow::Result;
use dra_guest_tests::cluster::VMS;
use dra_guest_tests::relay::objects::{self, CLAIMS, PODS};
use serde_json::{Value, json};

use super::Node;
use crate::path_of;

impl Node<'_> {
    /// Makes a claim with one device of this node, allocated.
    pub fn claim(&self, name: &str) -> Result<()> {
        let admin = self.control.admin();
        let mut claim = admin.create(CLAIMS, &objects::claim(name))?.object()?;
        claim["status"] = objects::allocation(name, &self.name);
        let path = format!("{}/status", path_of(name));
        admin.replace(&path, &claim)?.object()?;
        Ok(())
    }

    /// Removes a claim, and makes another one of the same name.
    pub fn claim_anew(&self, name: &str) -> Result<()> {
        self.remove_claim(name)?;
        self.claim(name)
    }

    pub fn remove_claim(&self, name: &str) -> Result<()> {
        self.control.admin().delete(&path_of(name))?.object()?;
        Ok(())
    }

    /// Replaces the status of a claim.
    pub fn set_status(&self, claim: &str, status: &Value) -> Result<()> {
        let mut object = self.read(claim)?;
        object["status"] = status.clone();
        let path = format!("{}/status", path_of(claim));
        self.control.admin().replace(&path, &object)?.object()?;
        Ok(())
    }

    pub fn read(&self, claim: &str) -> Result<Value> {
        self.control.admin().get(&path_of(claim))?.object()
    }

    /// Applies `devices` to the status of a claim.
    pub fn apply(&self, claim: &str, manager: &str, devices: &Value) -> Result<()> {
        let fields = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": claim}, "status": {"devices": devices},
        });
        let path = format!("{}/status", path_of(claim));
        self.control
            .admin()
            .apply(&path, manager, &fields)?
            .object()?;
        Ok(())
    }

    /// Makes a VM that runs on this node, and its pod.
    pub fn vm(&self, name: &str, cid: u32, claims: &[&str]) -> Result<()> {
        let admin = self.control.admin();
        let mut vm = admin
            .create(VMS, &objects::vm(name, &self.name))?
            .object()?;
        let uid = vm["metadata"]["uid"].clone();
        let pod = objects::pod(&launcher(name), &self.name, &uid, claims);
        let mut pod = admin.create(PODS, &pod)?.object()?;
        pod["status"]["resourceClaimStatuses"] = objects::claim_statuses(claims).into();
        pod["status"]["phase"] = "Running".into();
        let path = format!("{PODS}/{}/status", launcher(name));
        admin.replace(&path, &pod)?.object()?;
        vm["status"] = json!({"phase": "Running", "VSOCKCID": cid});
        admin
            .replace(&format!("{VMS}/{name}/status"), &vm)?
            .object()?;
        Ok(())
    }

    /// Makes a second pod of a VM, as for its migration, which waits on its node.
    pub fn second_pod(&self, vm: &str, node: &str, claims: &[&str]) -> Result<()> {
        let admin = self.control.admin();
        let uid = admin.get(&format!("{VMS}/{vm}"))?.object()?["metadata"]["uid"].take();
        let pod = objects::pod(&format!("{}-target", launcher(vm)), node, &uid, claims);
        admin.create(PODS, &pod)?.object()?;
        Ok(())
    }

    /// Ends the migration of a VM: it runs on another node now.
    pub fn move_vm(&self, name: &str, node: &str) -> Result<()> {
        let path = format!("{VMS}/{name}");
        let admin = self.control.admin();
        let mut vm = admin.get(&path)?.object()?;
        vm["metadata"]["labels"]["kubevirt.io/nodeName"] = node.into();
        admin.replace(&path, &vm)?.object()?;
        Ok(())
    }

    pub fn end_vm(&self, name: &str) -> Result<()> {
        self.control
            .admin()
            .delete(&format!("{VMS}/{name}"))?
            .object()?;
        Ok(())
    }

    /// Ends the pod of a VM as the kubelet does: it stays, and has succeeded.
    pub fn end_pod(&self, vm: &str) -> Result<()> {
        let path = format!("{PODS}/{}", launcher(vm));
        let mut pod = self.control.admin().get(&path)?.object()?;
        pod["status"]["phase"] = "Succeeded".into();
        let path = format!("{path}/status");
        self.control.admin().replace(&path, &pod)?.object()?;
        Ok(())
    }
}

fn launcher(vm: &str) -> String {
    format!("virt-launcher-{vm}")
}
