//! The pure index of one node: CID → VM → pods → claims. Each event costs the same, however many VMs there are.

use std::collections::{BTreeSet, HashMap, HashSet};

use device_attributes::Name;

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
    /// The claims that it was given.
    pub claims: BTreeSet<ClaimName>,
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
    /// The claims of its pods that are of no other VM; at least one.
    pub claims: Vec<ClaimName>,
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
    /// Claim → (VM, pod).
    users: HashMap<ClaimName, BTreeSet<(Name, Name)>>,
}

/// CIDs whose guest may be another one now.
pub type Touched = BTreeSet<u32>;

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
        gone.iter().flat_map(|uid| self.remove(kind, uid)).collect()
    }

    /// The guest with this CID; `None` where there is none that has claims of its own.
    pub fn guest(&self, cid: u32) -> Option<Guest> {
        let mut vms = self.vms_at.get(&cid)?.iter();
        let (Some(uid), None) = (vms.next(), vms.next()) else {
            return None;
        };
        let vm = self.vms.get(uid)?;
        let claims: BTreeSet<&ClaimName> = self
            .pods_of
            .get(uid)?
            .iter()
            .filter_map(|pod| self.pods.get(pod))
            // Whoever may create pods may give them any label, but in a namespace of theirs.
            .filter(|pod| pod.namespace == vm.namespace)
            .flat_map(|pod| &pod.claims)
            .filter(|claim| !self.is_shared(claim))
            .collect();
        (!claims.is_empty()).then(|| Guest {
            vm: uid.clone(),
            name: format!("{}/{}", vm.namespace, vm.name),
            claims: claims.into_iter().cloned().collect(),
        })
    }

    /// What keeps guests with this CID from being heard, and is somebody's error: sentences for the log.
    pub fn problems(&self, cid: u32) -> Vec<String> {
        let vms = self.vms_at.get(&cid);
        if let Some(vms) = vms.filter(|vms| vms.len() > 1) {
            let names: Vec<String> = vms.iter().map(ToString::to_string).collect();
            return vec![format!(
                "the VMs {} all have this CID: none of them is listened to",
                names.join(", ")
            )];
        }
        let pods = vms
            .into_iter()
            .flatten()
            .filter_map(|vm| self.pods_of.get(vm))
            .flatten();
        let claims: BTreeSet<&ClaimName> = pods
            .filter_map(|pod| self.pods.get(pod))
            .flat_map(|pod| &pod.claims)
            .filter(|claim| self.is_shared(claim))
            .collect();
        claims
            .into_iter()
            .map(|claim| {
                format!("{claim}: several VMs share the claim: the relay does not write it yet")
            })
            .collect()
    }

    fn is_shared(&self, claim: &ClaimName) -> bool {
        let mut vms = self.users.get(claim).into_iter().flatten();
        vms.next()
            .is_some_and(|(first, _)| vms.any(|(vm, _)| vm != first))
    }

    fn put_pod(&mut self, pod: Pod) -> Touched {
        if self.pods.get(&pod.uid) == Some(&pod) {
            return Touched::new();
        }
        let mut touched = self.remove_pod(&pod.uid);
        self.pods_of
            .entry(pod.vm.clone())
            .or_default()
            .insert(pod.uid.clone());
        for claim in &pod.claims {
            self.users
                .entry(claim.clone())
                .or_default()
                .insert((pod.vm.clone(), pod.uid.clone()));
        }
        self.touch(&pod, &mut touched);
        self.pods.insert(pod.uid.clone(), pod);
        touched
    }

    fn remove_pod(&mut self, uid: &Name) -> Touched {
        let mut touched = Touched::new();
        let Some(pod) = self.pods.remove(uid) else {
            return touched;
        };
        self.touch(&pod, &mut touched);
        if let Some(pods) = self.pods_of.get_mut(&pod.vm) {
            pods.remove(uid);
            if pods.is_empty() {
                self.pods_of.remove(&pod.vm);
            }
        }
        let user = (pod.vm, pod.uid);
        for claim in &pod.claims {
            if let Some(users) = self.users.get_mut(claim) {
                users.remove(&user);
                if users.is_empty() {
                    self.users.remove(claim);
                }
            }
        }
        touched
    }

    /// The CIDs of a pod's VM, and of every VM that has a claim of the pod.
    fn touch(&self, pod: &Pod, touched: &mut Touched) {
        let sharing = pod
            .claims
            .iter()
            .filter_map(|claim| self.users.get(claim))
            .flatten()
            .map(|(vm, _)| vm);
        let vms = sharing.chain([&pod.vm]);
        touched.extend(vms.filter_map(|vm| self.vms.get(vm)?.cid));
    }

    fn put_vm(&mut self, vm: Vm) -> Touched {
        if self.vms.get(&vm.uid) == Some(&vm) {
            return Touched::new();
        }
        let mut touched = self.remove_vm(&vm.uid);
        if let Some(cid) = vm.cid {
            self.vms_at.entry(cid).or_default().insert(vm.uid.clone());
            touched.insert(cid);
        }
        self.vms.insert(vm.uid.clone(), vm);
        touched
    }

    fn remove_vm(&mut self, uid: &Name) -> Touched {
        let cid = self.vms.remove(uid).and_then(|vm| vm.cid);
        if let Some(cid) = cid
            && let Some(vms) = self.vms_at.get_mut(&cid)
        {
            vms.remove(uid);
            if vms.is_empty() {
                self.vms_at.remove(&cid);
            }
        }
        cid.into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
