//! What a guest's report says of one device, as a condition says it.

use device_attributes::Name;
use device_attributes::report::{DeviceReport, Reason};

use crate::plain_text::plain;
use crate::store::ClaimName;

/// The most bytes of a condition's message. The API would take 32,768.
pub const MESSAGE_BYTES: usize = 1024;
/// The most addresses that a message lists.
const ADDRESSES: usize = 16;
/// The most bytes of an interface's name in a message; the kernel's own bound is 15.
const INTERFACE_BYTES: usize = 64;

/// The `status` of a condition; the order is from bad to good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// The guest says that the device cannot be used (yet).
    False,
    /// The guest says nothing.
    Unknown,
    /// The guest says that the device can be used.
    True,
}

impl Status {
    /// As metav1.Condition spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::False => "False",
            Self::Unknown => "Unknown",
            Self::True => "True",
        }
    }
}

/// What our condition says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Its status.
    pub status: Status,
    /// Its reason.
    pub reason: Reason,
    /// Its message: one line of at most [`MESSAGE_BYTES`].
    pub message: String,
}

/// What a guest says of one allocated device. Bounded in size, whatever the guest said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The claim's UID, where the guest knows it.
    pub uid: Option<Name>,
    /// The request that the device was allocated for, where the guest knows it.
    pub request: Option<Name>,
    /// The driver.
    pub driver: Name,
    /// The driver's pool.
    pub pool: Name,
    /// The device's name in the pool.
    pub device: Name,
    /// What its condition says.
    pub condition: Condition,
}

/// What tells the statements of one claim apart: driver, pool, device and request.
pub type StatementKey = (Name, Name, Name, Option<Name>);

impl Statement {
    /// The statement of a report, and the claim that it is about.
    ///
    /// `Pending` is False, as a Pod that is not ready yet has Ready=False; Unknown is kept for what
    /// nobody says.
    ///
    /// # Errors
    /// A sentence for the guest: the report cannot be put on any claim.
    pub fn from_report(report: &DeviceReport) -> Result<(ClaimName, Self), String> {
        let identity = &report.identity;
        let missing = |what| {
            format!("{identity}: the report does not name {what}, so it cannot be put on a claim")
        };
        let claim = identity
            .claim
            .as_ref()
            .ok_or_else(|| missing("the claim"))?;
        let driver = identity
            .driver
            .as_ref()
            .ok_or_else(|| missing("the driver"))?;
        let pool = identity.pool.as_ref().ok_or_else(|| missing("the pool"))?;
        let device = identity
            .device
            .as_ref()
            .ok_or_else(|| missing("the device"))?;
        if report.reason == Reason::AgentLost {
            return Err(format!(
                "{identity}: AgentLost is the relay's own word: a guest cannot say it"
            ));
        }
        if report.ready != (report.reason == Reason::Configured) {
            let ready = if report.ready { "ready" } else { "not ready" };
            return Err(format!(
                "{identity}: {ready} and {} contradict each other",
                report.reason
            ));
        }
        let statement = Self {
            uid: claim.uid.clone(),
            request: identity.request.clone(),
            driver: driver.clone(),
            pool: pool.clone(),
            device: device.clone(),
            condition: Condition {
                status: if report.ready {
                    Status::True
                } else {
                    Status::False
                },
                reason: report.reason,
                message: message(report),
            },
        };
        let claim = ClaimName {
            namespace: claim.namespace.clone(),
            name: claim.name.clone(),
        };
        Ok((claim, statement))
    }

    /// What tells it from the other statements about its claim.
    pub fn key(&self) -> StatementKey {
        (
            self.driver.clone(),
            self.pool.clone(),
            self.device.clone(),
            self.request.clone(),
        )
    }
}

/// What was observed, if the device is ready; else the guest's own words.
fn message(report: &DeviceReport) -> String {
    let observed = if report.ready {
        observed(report)
    } else {
        String::new()
    };
    let message = if observed.is_empty() {
        plain(report.message.trim(), MESSAGE_BYTES)
    } else {
        plain(&observed, MESSAGE_BYTES)
    };
    if message.is_empty() {
        default_message(report.reason).to_owned()
    } else {
        message
    }
}

/// Like `net1 02:00:00:4e:92:87 at 0000:81:00.0 on NUMA node 1, 192.0.2.5/24`.
fn observed(report: &DeviceReport) -> String {
    let mut words = Vec::new();
    if let Some(name) = &report.interface_name {
        words.push(plain(name, INTERFACE_BYTES));
    }
    if let Some(mac) = report.mac_address {
        words.push(mac.to_string());
    }
    if let Some(address) = report.guest_pci_address {
        words.push(format!("at {address}"));
    }
    if let Some(node) = report.numa_node {
        words.push(format!("on NUMA node {node}"));
    }
    let mut parts = vec![words.join(" ")];
    parts.extend(
        report
            .addresses
            .iter()
            .take(ADDRESSES)
            .map(ToString::to_string),
    );
    if let Some(more @ 1..) = report.addresses.len().checked_sub(ADDRESSES) {
        parts.push(format!("and {more} more"));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

/// For a report that says nothing itself: the API wants no empty explanation.
fn default_message(reason: Reason) -> &'static str {
    match reason {
        Reason::Configured => "configured in the guest",
        Reason::Pending => "the guest's agent is not finished yet",
        Reason::DeviceNotFound => "no device of the guest answers to it",
        Reason::Ambiguous => "more than one device of the guest answers to it",
        Reason::IdentityConflict => "its MAC and its guest PCI address name two devices",
        Reason::InvalidAttributes => "what the document says of it cannot be used",
        Reason::ConfigurationFailed => "it could not be brought into the wanted state",
        Reason::AgentLost => "nothing is heard of the guest's agent",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(json: &str) -> DeviceReport {
        serde_json::from_str(json).unwrap()
    }

    const IDENTITY: &str = r#""identity":{"claim":{"namespace":"default","name":"c"},"driver":"d","pool":"p","device":"x"}"#;

    #[test]
    fn a_ready_device_is_told_by_what_was_observed() {
        let report = report(&format!(
            r#"{{{IDENTITY},"ready":true,"reason":"Configured","message":"ignored","interfaceName":"net1",
               "macAddress":"02:00:00:4e:92:87","addresses":["192.0.2.5/24","2001:db8::5/64"],
               "guestPciAddress":"0000:81:00.0","numaNode":1}}"#
        ));
        let (claim, statement) = Statement::from_report(&report).unwrap();
        assert_eq!(claim.to_string(), "default/c");
        assert_eq!(
            statement.condition.message,
            "net1 02:00:00:4e:92:87 at 0000:81:00.0 on NUMA node 1, 192.0.2.5/24, 2001:db8::5/64"
        );
    }

    #[test]
    fn a_message_is_bounded_and_plain() {
        let long = "x\\u001b".repeat(3000);
        let report = report(&format!(
            r#"{{{IDENTITY},"ready":false,"reason":"Pending","message":"{long}"}}"#
        ));
        let (_, statement) = Statement::from_report(&report).unwrap();
        assert!(statement.condition.message.len() <= MESSAGE_BYTES);
        assert!(!statement.condition.message.contains('\u{1b}'));
        assert_eq!(statement.condition.status, Status::False);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (words, why) in [
            (r#""ready":true,"reason":"Pending""#, "contradict"),
            (r#""ready":false,"reason":"Configured""#, "contradict"),
            (r#""ready":false,"reason":"AgentLost""#, "relay's own word"),
        ] {
            let problem =
                Statement::from_report(&report(&format!("{{{IDENTITY},{words}}}"))).unwrap_err();
            assert!(problem.contains(why), "{problem}");
        }
        let flat = report(r#"{"identity":{},"ready":true,"reason":"Configured"}"#);
        assert_eq!(
            Statement::from_report(&flat).unwrap_err(),
            "the device: the report does not name the claim, so it cannot be put on a claim"
        );
    }
}
