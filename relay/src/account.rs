//! What one guest has said of its devices since its last `hello`: bounded, and only of its own claims.

use std::collections::{BTreeMap, BTreeSet};

use device_attributes::report::DeviceReport;

use crate::statement::{Condition, Statement, StatementKey};
use crate::store::{ClaimName, ClaimUpdate};

/// The most devices of one guest. A claim has at most 32 (`AllocationResultsMaxSize` of `resource.k8s.io/v1`).
pub const DEVICES: usize = 256;

/// The statements of one guest, by claim.
#[derive(Debug)]
pub struct Account {
    claims: BTreeMap<ClaimName, BTreeMap<StatementKey, Statement>>,
}

/// What came of a report.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The claims that it says something about.
    pub claims: BTreeSet<ClaimName>,
    /// What of it cannot be put on a claim.
    pub problems: Vec<String>,
}

impl Account {
    /// The account of a guest that may speak of these claims.
    pub fn new(claims: &[ClaimName]) -> Self {
        Self {
            claims: claims
                .iter()
                .map(|claim| (claim.clone(), BTreeMap::new()))
                .collect(),
        }
    }

    /// The claims that the guest may speak of.
    pub fn claims(&self) -> Vec<ClaimName> {
        self.claims.keys().cloned().collect()
    }

    /// Forgets what was said.
    pub fn restart(&mut self) {
        for statements in self.claims.values_mut() {
            statements.clear();
        }
    }

    /// Takes a report: a later statement about a device replaces the earlier.
    pub fn take(&mut self, devices: Vec<Result<DeviceReport, String>>) -> Taken {
        let mut taken = Taken::default();
        for (index, device) in devices.into_iter().enumerate() {
            match device {
                Err(problem) => taken.problems.push(format!("devices[{index}]: {problem}")),
                Ok(report) => match self.take_one(&report) {
                    Ok(claim) => {
                        taken.claims.insert(claim);
                    }
                    Err(problem) => taken.problems.push(problem),
                },
            }
        }
        taken
    }

    fn take_one(&mut self, report: &DeviceReport) -> Result<ClaimName, String> {
        let (claim, statement) = Statement::from_report(report)?;
        let count: usize = self.claims.values().map(BTreeMap::len).sum();
        let Some(statements) = self.claims.get_mut(&claim) else {
            return Err(format!(
                "{claim}: the claim is not one of this guest: the relay takes no word about it from here"
            ));
        };
        let key = statement.key();
        if count >= DEVICES && !statements.contains_key(&key) {
            return Err(format!(
                "{}: the guest has reported {DEVICES} devices, the most that are kept",
                report.identity
            ));
        }
        statements.insert(key, statement);
        Ok(claim)
    }

    /// All that was said of a claim.
    pub fn update(&self, claim: &ClaimName, unreported: Option<Condition>) -> ClaimUpdate {
        ClaimUpdate {
            statements: self
                .claims
                .get(claim)
                .map(|statements| statements.values().cloned().collect())
                .unwrap_or_default(),
            unreported,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(claim: &str, device: &str) -> DeviceReport {
        let json = format!(
            r#"{{"identity":{{"claim":{{"namespace":"default","name":"{claim}"}},"driver":"d","pool":"p","device":"{device}"}},
               "ready":true,"reason":"Configured"}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn only_its_own_claims_and_no_more_devices_than_the_bound() {
        let own: ClaimName = "default/own".parse().unwrap();
        let mut account = Account::new(std::slice::from_ref(&own));
        let foreign = account.take(vec![Ok(report("other", "x"))]);
        assert!(foreign.claims.is_empty());
        assert!(
            foreign.problems[0].contains("not one of this guest"),
            "{foreign:?}"
        );

        let many = (0..DEVICES)
            .map(|n| Ok(report("own", &format!("d{n}"))))
            .collect();
        assert_eq!(account.take(many).problems, Vec::<String>::new());
        let one_more = account.take(vec![Ok(report("own", "more")), Ok(report("own", "d0"))]);
        assert_eq!(one_more.problems.len(), 1);
        assert!(one_more.problems[0].contains("256 devices"));
        assert_eq!(account.update(&own, None).statements.len(), DEVICES);

        account.restart();
        assert_eq!(account.update(&own, None), ClaimUpdate::default());
        assert_eq!(
            account.take(vec![Ok(report("own", "more"))]).problems,
            Vec::<String>::new()
        );
    }
}
