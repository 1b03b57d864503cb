//! The pure index of one node: CID → VM → pods → claims. Each event costs the same, however many VMs there are.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::Hash;

use device_attributes::Name;

use super::requests::Requests;
use crate::store::ClaimName;

/// A virt-launcher pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// The pod's UID.
    pub uid: Name,
    /// Its namespace, which is that of its claims.
    pub namespace: Name,
    /// The UID of the `VirtualMachineInstance` that it is of.
    pub vm: Name,
    /// The claims that it was given, and which of their requests.
    pub claims: BTreeMap<ClaimName, Requests>,
}

/// A `VirtualMachineInstance`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vm {
    /// Its UID: a VM that was started anew is another one.
    pub uid: Name,
    /// Its namespace.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
    /// `status.VSOCKCID`, from 3 on.
    pub cid: Option<u32>,
}

/// An object of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A pod.
    Pod(Pod),
    /// A VM.
    Vm(Vm),
}

/// The two kinds of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Virt-launcher pods.
    Pod,
    /// VMs.
    Vm,
}

/// Who speaks with a CID, and of which claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    /// The UID of the VM.
    pub vm: Name,
    /// The VM as `NAMESPACE/NAME`, for messages.
    pub name: String,
    /// The claims of its pods; at least one.
    pub claims: Vec<ClaimName>,
}

/// A VM that has a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The UID of the VM.
    pub vm: Name,
    /// Its name, in the namespace of the claim.
    pub name: Name,
    /// The requests of the claim that its pods were given.
    pub requests: Requests,
}

/// What is known of the node's VMs.
#[derive(Debug, Default)]
pub struct Index {
    pods: HashMap<Name, Pod>,
    vms: HashMap<Name, Vm>,
    /// VM → its pods. The VM may not be known yet.
    pods_of: HashMap<Name, BTreeSet<Name>>,
    /// CID → VMs: more than one is an error of others, and then none has it.
    vms_at: HashMap<u32, BTreeSet<Name>>,
    /// Claim → its pods.
    pods_with: HashMap<ClaimName, BTreeSet<Name>>,
}

/// What an event may have changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touched {
    /// CIDs whose guest may be another one now.
    pub cids: BTreeSet<u32>,
    /// Claims whose users may be others now.
    pub claims: BTreeSet<ClaimName>,
}

impl Touched {
    /// Takes what another event has touched.
    pub fn extend(&mut self, other: Self) {
        self.cids.extend(other.cids);
        self.claims.extend(other.claims);
    }
}

impl Index {
    /// Takes an object in place of what was known of it.
    pub fn put(&mut self, entry: Entry) -> Touched {
        match entry {
            Entry::Pod(pod) => self.put_pod(pod),
            Entry::Vm(vm) => self.put_vm(vm),
        }
    }

    /// Forgets an object, if it is known.
    pub fn remove(&mut self, kind: Kind, uid: &Name) -> Touched {
        match kind {
            Kind::Pod => self.remove_pod(uid),
            Kind::Vm => self.remove_vm(uid),
        }
    }

    /// Forgets the objects of a kind that a new list does not have.
    pub fn retain(&mut self, kind: Kind, listed: &HashSet<Name>) -> Touched {
        let known: Vec<&Name> = match kind {
            Kind::Pod => self.pods.keys().collect(),
            Kind::Vm => self.vms.keys().collect(),
        };
        let gone: Vec<Name> = known
            .into_iter()
            .filter(|uid| !listed.contains(*uid))
            .cloned()
            .collect();
        let mut touched = Touched::default();
        for uid in &gone {
            touched.extend(self.remove(kind, uid));
        }
        touched
    }

    /// The guest with this CID; `None` where there is none that has claims.
    pub fn guest(&self, cid: u32) -> Option<Guest> {
        let mut vms = self.running_at(cid);
        let (Some(vm), None) = (vms.next(), vms.next()) else {
            return None;
        };
        let pods = self.pods_of(vm);
        let claims: BTreeSet<&ClaimName> = pods.flat_map(|pod| pod.claims.keys()).collect();
        (!claims.is_empty()).then(|| Guest {
            vm: vm.uid.clone(),
            name: format!("{}/{}", vm.namespace, vm.name),
            claims: claims.into_iter().cloned().collect(),
        })
    }

    /// What keeps guests with this CID from being heard, and is somebody's error: sentences for the log.
    pub fn problems(&self, cid: u32) -> Vec<String> {
        let names: Vec<String> = self.running_at(cid).map(|vm| vm.uid.to_string()).collect();
        if names.len() < 2 {
            return Vec::new();
        }
        vec![format!(
            "the VMs {} all have this CID: none of them is listened to",
            names.join(", ")
        )]
    }

    /// The VMs with this CID that have a pod. KubeVirt gives the CID of a VM that has ended to another one, while the
    /// object of the first still has it.
    fn running_at(&self, cid: u32) -> impl Iterator<Item = &Vm> {
        let vms = self.vms_at.get(&cid).into_iter().flatten();
        vms.filter_map(|uid| self.vms.get(uid))
            .filter(|vm| self.pods_of(vm).next().is_some())
    }

    fn pods_of(&self, vm: &Vm) -> impl Iterator<Item = &Pod> {
        let pods = self.pods_of.get(&vm.uid).into_iter().flatten();
        let namespace = vm.namespace.clone();
        pods.filter_map(|pod| self.pods.get(pod))
            // Whoever may create pods may give them any label, but in a namespace of theirs.
            .filter(move |pod| pod.namespace == namespace)
    }

    /// The VMs of this node that have the claim. A pod alone is none: before a VM is handed to this node and after it has
    /// moved to another, nobody speaks for it here.
    pub fn users(&self, claim: &ClaimName) -> Vec<User> {
        let mut users: BTreeMap<&Name, User> = BTreeMap::new();
        let pods = self.pods_with.get(claim).into_iter().flatten();
        for pod in pods.filter_map(|uid| self.pods.get(uid)) {
            let vm = self.vms.get(&pod.vm);
            let (Some(vm), Some(requests)) = (
                vm.filter(|vm| vm.namespace == pod.namespace),
                pod.claims.get(claim),
            ) else {
                continue;
            };
            users
                .entry(&vm.uid)
                .and_modify(|user| user.requests.extend(requests))
                .or_insert_with(|| User {
                    vm: vm.uid.clone(),
                    name: vm.name.clone(),
                    requests: requests.clone(),
                });
        }
        let mut users: Vec<User> = users.into_values().collect();
        users.sort_by(|one, other| one.name.cmp(&other.name));
        users
    }

    fn put_pod(&mut self, pod: Pod) -> Touched {
        if self.pods.get(&pod.uid) == Some(&pod) {
            return Touched::default();
        }
        let mut touched = self.remove_pod(&pod.uid);
        self.pods_of
            .entry(pod.vm.clone())
            .or_default()
            .insert(pod.uid.clone());
        for claim in pod.claims.keys() {
            let pods = self.pods_with.entry(claim.clone()).or_default();
            pods.insert(pod.uid.clone());
        }
        self.touch(&pod, &mut touched);
        self.pods.insert(pod.uid.clone(), pod);
        touched
    }

    fn remove_pod(&mut self, uid: &Name) -> Touched {
        let mut touched = Touched::default();
        let Some(pod) = self.pods.remove(uid) else {
            return touched;
        };
        self.touch(&pod, &mut touched);
        remove_from(&mut self.pods_of, &pod.vm, uid);
        for claim in pod.claims.keys() {
            remove_from(&mut self.pods_with, claim, uid);
        }
        touched
    }

    /// The CID of a pod's VM, and the pod's claims.
    fn touch(&self, pod: &Pod, touched: &mut Touched) {
        let vm = self.vms.get(&pod.vm);
        touched.cids.extend(vm.and_then(|vm| vm.cid));
        touched.claims.extend(pod.claims.keys().cloned());
    }

    fn put_vm(&mut self, vm: Vm) -> Touched {
        if self.vms.get(&vm.uid) == Some(&vm) {
            return Touched::default();
        }
        let mut touched = self.remove_vm(&vm.uid);
        if let Some(cid) = vm.cid {
            self.vms_at.entry(cid).or_default().insert(vm.uid.clone());
            touched.cids.insert(cid);
        }
        touched.claims.extend(self.claims_of(&vm.uid));
        self.vms.insert(vm.uid.clone(), vm);
        touched
    }

    fn remove_vm(&mut self, uid: &Name) -> Touched {
        let mut touched = Touched::default();
        let Some(vm) = self.vms.remove(uid) else {
            return touched;
        };
        touched.claims.extend(self.claims_of(uid));
        if let Some(cid) = vm.cid {
            touched.cids.insert(cid);
            remove_from(&mut self.vms_at, &cid, uid);
        }
        touched
    }

    fn claims_of(&self, vm: &Name) -> impl Iterator<Item = ClaimName> {
        let pods = self.pods_of.get(vm).into_iter().flatten();
        pods.filter_map(|pod| self.pods.get(pod))
            .flat_map(|pod| pod.claims.keys().cloned())
    }
}

/// Takes a member from the set of a key, and the key when that was its last.
fn remove_from<K: Eq + Hash>(sets: &mut HashMap<K, BTreeSet<Name>>, key: &K, member: &Name) {
    if let Some(set) = sets.get_mut(key) {
        set.remove(member);
        if set.is_empty() {
            sets.remove(key);
        }
    }
}

#[cfg(test)]
mod tests;
