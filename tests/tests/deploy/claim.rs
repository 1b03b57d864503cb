//! Claims as the scheduler leaves them, made by hand.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result};
use dra_guest_tests::cluster::{Answer, Client};
use serde_json::{Value, json};

use crate::bed::{Bed, CLAIMS, DRIVER};

/// The field manager of the relay.
pub const MANAGER: &str = "dra-guest-relay";

pub struct Claim {
    pub name: String,
    pub path: String,
    pub uid: Value,
    /// The keys of each entry of `status.devices`.
    keys: Vec<Value>,
}

impl Claim {
    /// A claim with devices of these drivers, allocated on a node.
    pub fn create(bed: &Bed, node: &str, drivers: &[&str]) -> Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("by-hand-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let exactly = json!({"deviceClassName": "vf", "allocationMode": "ExactCount", "count": drivers.len()});
        let claim = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name},
            "spec": {"devices": {"requests": [{"name": "vf", "exactly": exactly}]}},
        });
        let mut claim = bed.admin().create(CLAIMS, &claim)?.object()?;
        let keys: Vec<Value> = drivers
            .iter()
            .enumerate()
            .map(|(index, driver)| json!({"driver": driver, "pool": node, "device": format!("{name}-{index}")}))
            .collect();
        let results: Vec<Value> = keys
            .iter()
            .map(|key| with(key, &json!({"request": "vf"})))
            .collect();
        let field = json!({"key": "metadata.name", "operator": "In", "values": [node]});
        claim["status"] = json!({"allocation": {
            "devices": {"results": results},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
        }});
        let path = format!("{CLAIMS}/{name}");
        let claim = bed
            .admin()
            .replace(&format!("{path}/status"), &claim)?
            .object()?;
        Ok(Self {
            name,
            path,
            uid: claim["metadata"]["uid"].clone(),
            keys,
        })
    }

    /// A claim of the driver's two devices on this node; the first has all that a driver may write.
    pub fn with_words_of_the_driver(bed: &Bed) -> Result<Self> {
        let claim = Self::create(bed, "worker-0", &[DRIVER, DRIVER])?;
        let words = json!({
            "conditions": [condition("Ready"), condition("example.com/Link")],
            "data": {"link": "up"},
            "networkData": {"interfaceName": "net1", "ips": ["192.0.2.5/24"]},
        });
        let fields = [words, json!({})];
        claim.apply(bed.admin(), DRIVER, &fields, "")?.object()?;
        Ok(claim)
    }

    pub fn status(&self) -> String {
        format!("{}/status", self.path)
    }

    pub fn read(&self, bed: &Bed) -> Result<Value> {
        bed.get(&self.path)
    }

    /// Applies fields to each of the devices, as the relay does: with the UID as a precondition.
    pub fn apply(
        &self,
        client: &Client,
        manager: &str,
        fields: &[Value],
        query: &str,
    ) -> Result<Answer> {
        let devices: Vec<Value> = self
            .keys
            .iter()
            .zip(fields)
            .map(|(key, fields)| with(key, fields))
            .collect();
        self.apply_devices(client, manager, &devices, query)
    }

    /// Applies whole entries of `status.devices`; none gives all up that the manager has.
    pub fn apply_devices(
        &self,
        client: &Client,
        manager: &str,
        devices: &[Value],
        query: &str,
    ) -> Result<Answer> {
        let object = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": self.name, "uid": self.uid}, "status": {"devices": devices},
        });
        let path = format!("{}?fieldManager={manager}{query}", self.status());
        client.patch(&path, "application/apply-patch+yaml", &object)
    }

    /// Reports the first device, as the relay does.
    pub fn report(&self, client: &Client) -> Result<Answer> {
        self.apply(client, MANAGER, &[ours("True", "net1")], "")
    }
}

/// What the relay says of a device.
pub fn ours(status: &str, message: &str) -> Value {
    json!({"conditions": [{
        "type": "dra-guest/Ready", "status": status, "reason": "Configured", "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]})
}

pub fn condition(kind: &str) -> Value {
    json!({
        "type": kind, "status": "True", "reason": "Up", "message": "of the driver",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

/// An object with the fields of another beside its own.
fn with(object: &Value, fields: &Value) -> Value {
    let mut object = object.clone();
    for (key, value) in fields.as_object().context("fields").unwrap() {
        object[key] = value.clone();
    }
    object
}
