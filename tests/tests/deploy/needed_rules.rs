//! Each rule of the relay's roles, taken away: what does not work then, and who says so.

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::wait;
use serde_json::{Value, json};

use crate::bed::{Bed, WITH_GUEST};
use crate::daemon_set::{self, DEVICE};
use crate::guest::Guest;
use crate::rights::{RELAY, may};
use crate::vm_mount;

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

/// What shows that a rule is missing.
#[derive(Clone, Copy)]
enum Sign {
    /// A relay that starts anew cannot watch, and says so.
    Start,
    /// The guest's report is not written, and the relay says so.
    Report,
    /// The report is written, and its Event is not: the relay says so.
    Event,
}

pub fn each_rule(bed: &mut Bed) -> Result<()> {
    bed.install(WITH_GUEST)?;
    vm_mount::run_pod(bed)?;
    let mut seen = 0;
    for role in ["dra-guest-relay", "dra-guest-relay-drivers"] {
        let path = format!("{ROLES}/{role}");
        let rules = bed.get(&path)?["rules"].clone();
        for (index, rule) in rules.as_array().context("rules")?.iter().enumerate() {
            let mut rest = rules.clone();
            rest.as_array_mut().context("rules")?.remove(index);
            set_rules(bed, &path, &rest)?;
            wait_for(bed, rule, false)?;
            let outcome = without(bed, rule).with_context(|| format!("without {rule}"));
            set_rules(bed, &path, &rules)?;
            wait_for(bed, rule, true)?;
            outcome?;
            seen += 1;
        }
    }
    assert_eq!(seen, 6);
    // With all of them it works again.
    bed.restart_relay()?;
    daemon_set::a_guests_report(bed)
}

fn without(bed: &Bed, rule: &Value) -> Result<()> {
    let resource = rule["resources"][0].as_str().context("a resource")?;
    let sign = match resource {
        "pods" | "virtualmachineinstances" => Sign::Start,
        "events" => Sign::Event,
        _ => Sign::Report,
    };
    let words = format!(
        "lacks the rule apiGroups [{}], resources [\"{resource}\"]",
        rule["apiGroups"][0]
    );
    bed.restart_relay()?;
    match sign {
        Sign::Start => {}
        Sign::Report => {
            let claim = daemon_set::claim_of_vm(bed)?;
            let mut guest = Guest::connect(&bed.guest())?;
            // A word that does not stand there already.
            let interface = resource.rsplit('/').next();
            let problems = guest.report(1, &claim, DEVICE, interface)?;
            ensure!(problems != Value::Null, "the report was written");
        }
        Sign::Event => {
            let claim = daemon_set::claim_of_vm(bed)?;
            let mut guest = Guest::connect(&bed.guest())?;
            // One of the two is a turn, whatever stands there.
            for (sequence, interface) in [(1, None), (2, Some("net1"))] {
                let problems = guest.report(sequence, &claim, DEVICE, interface)?;
                ensure!(problems == Value::Null, "the report was not written");
            }
        }
    }
    bed.wait_for_log(&words)
}

fn set_rules(bed: &Bed, path: &str, rules: &Value) -> Result<()> {
    let patch = json!({"rules": rules});
    bed.admin()
        .patch(path, "application/merge-patch+json", &patch)?
        .object()?;
    Ok(())
}

/// The API server reads roles from a cache of its own, some milliseconds later.
fn wait_for(bed: &Bed, rule: &Value, allowed: bool) -> Result<()> {
    let resource = rule["resources"][0].as_str().context("a resource")?;
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let attributes = json!({
        "group": rule["apiGroups"][0], "resource": resource, "subresource": subresource,
        "verb": rule["verbs"][0], "namespace": "default",
        "name": rule["resourceNames"][0].as_str().unwrap_or_default(),
    });
    wait::until("the rules as they are now", wait::PATIENCE, || {
        Ok((may(bed.admin(), RELAY, &attributes)? == allowed).then_some(()))
    })
}
