//! An API server that has too much to do for one account: API Priority and Fairness answers 429.

use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context as _, Result};
use dra_guest_tests::cluster::{Client, ControlPlane, ServiceAccount};
use dra_guest_tests::wait;
use serde_json::json;

use dra_guest_tests::relay::objects::CLAIMS;

const FLOWS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
const LEVELS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";

/// The API server has no room for what an account writes to the status of claims.
pub struct Overload<'a> {
    admin: &'a Client,
    flow: String,
    level: String,
    held: Vec<Held>,
}

impl<'a> Overload<'a> {
    pub fn begin(control: &'a ControlPlane, account: &ServiceAccount) -> Result<Self> {
        let admin = control.admin();
        let name = account.name();
        let group = "flowcontrol.apiserver.k8s.io/v1";
        let level = json!({
            "apiVersion": group, "kind": "PriorityLevelConfiguration", "metadata": {"name": name},
            "spec": {"type": "Limited", "limited": {
                "nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0,
                "limitResponse": {"type": "Reject"},
            }},
        });
        admin.create(LEVELS, &level)?.object()?;
        let flow = json!({
            "apiVersion": group, "kind": "FlowSchema", "metadata": {"name": name},
            "spec": {
                "priorityLevelConfiguration": {"name": name}, "matchingPrecedence": 10,
                "rules": [{
                    "subjects": [{"kind": "ServiceAccount", "serviceAccount": {"namespace": "default", "name": name}}],
                    "resourceRules": [{
                        "verbs": ["patch"], "apiGroups": ["resource.k8s.io"],
                        "resources": ["resourceclaims/status"], "namespaces": ["*"],
                    }],
                }],
            },
        });
        admin.create(FLOWS, &flow)?.object()?;
        let client = account.anywhere()?;
        let path = format!("{CLAIMS}/none/status");
        let mut held = Vec::new();
        let mut last = None;
        wait::until("429", Duration::from_mins(1), || {
            // The level has no seats, and then admits a request while it has none at work. Those that come before it is
            // in force are of another level.
            held.push(Held::begin(client.clone(), path.clone()));
            thread::sleep(Duration::from_millis(300));
            let answer = last.insert(client.apply(&path, "test", &json!({}))?);
            Ok((answer.status == 429).then_some(()))
        })
        .with_context(|| format!("{last:?}"))?;
        Ok(Self {
            admin,
            flow: format!("{FLOWS}/{name}"),
            level: format!("{LEVELS}/{name}"),
            held,
        })
    }

    pub fn end(self) -> Result<()> {
        for held in self.held {
            held.end();
        }
        self.admin.delete(&self.flow)?.object()?;
        self.admin.delete(&self.level)?.object()?;
        Ok(())
    }
}

/// A request that is under way until it is ended.
struct Held {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl Held {
    fn begin(client: Client, path: String) -> Self {
        let (end, ended) = mpsc::channel();
        let thread = thread::spawn(move || {
            // It is the body that does not come; what is answered to that is of no interest.
            let _ = client.patch_from(&path, Never(ended));
        });
        Self { end, thread }
    }

    fn end(self) {
        drop(self.end);
        self.thread.join().unwrap();
    }
}

/// A body that is empty, but not before the sender is gone.
struct Never(Receiver<()>);

impl Read for Never {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        let _ = self.0.recv();
        Ok(0)
    }
}
