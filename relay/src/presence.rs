//! What is known of a guest's agent: when it was last heard, since when it gives its account, and
//! which boot of the guest it belongs to.

use std::time::Duration;

use device_attributes::report::Reason;
use tokio::time::Instant;

use crate::statement::{Condition, Status};

/// The presence of one guest's agent.
#[derive(Debug)]
pub struct Presence {
    lost_after: Duration,
    /// When the last line came; the start of the relay at first.
    heard: Instant,
    /// Since when the account is given.
    hello: Option<Instant>,
    /// The guest's last boot that is known.
    boot_id: Option<String>,
    /// Whether the guest was booted anew since the relay knows it.
    rebooted: bool,
    lost: bool,
}

impl Presence {
    /// Nothing was heard yet; the agent is lost after so much silence.
    pub fn new(lost_after: Duration) -> Self {
        Self {
            lost_after,
            heard: Instant::now(),
            hello: None,
            boot_id: None,
            rebooted: false,
            lost: false,
        }
    }

    /// A line came; true when the agent was lost until then.
    pub fn hear(&mut self) -> bool {
        self.heard = Instant::now();
        std::mem::take(&mut self.lost)
    }

    /// A new account begins; true when it is of another boot than the one before. An agent that
    /// cannot read the boot's ID leaves it empty, which says nothing.
    pub fn begin_account(&mut self, boot_id: String) -> bool {
        self.hello = Some(self.heard);
        if boot_id.is_empty() {
            return false;
        }
        let before = self.boot_id.replace(boot_id);
        let is_other = before.is_some() && before != self.boot_id;
        self.rebooted |= is_other;
        is_other
    }

    /// When silence will have lasted too long; `None` when it has already.
    pub fn lost_at(&self) -> Option<Instant> {
        (!self.lost).then(|| self.heard + self.lost_after)
    }

    /// Takes note of a silence that has lasted too long; true when it is a new one.
    pub fn notice_silence(&mut self) -> bool {
        let is_new = !self.lost && self.heard.elapsed() >= self.lost_after;
        self.lost |= is_new;
        is_new
    }

    /// Whether nothing is heard of the agent.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// What the condition of a device that is not in the account says; `None` while the account may
    /// still come to it.
    pub fn unreported(&self) -> Option<Condition> {
        let account_is_complete = self
            .hello
            .is_some_and(|hello| hello.elapsed() >= self.lost_after);
        let (status, reason, message) = if self.lost {
            let seconds = self.lost_after.as_secs();
            let message = format!("nothing was heard of the guest's agent for {seconds} s");
            (Status::Unknown, Reason::AgentLost, message)
        } else if account_is_complete {
            let message = "the guest's agent does not speak of this device any more";
            (Status::Unknown, Reason::AgentLost, message.to_owned())
        } else if self.rebooted {
            // Names and addresses end with the boot that they were given in.
            let message =
                "the guest was booted anew, and its agent has not reported this device yet";
            (Status::False, Reason::Pending, message.to_owned())
        } else {
            return None;
        };
        Some(Condition {
            status,
            reason,
            message,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_another_boot_ends_what_was_ready_at_once() {
        let mut presence = Presence::new(Duration::from_secs(30));
        for (boot_id, is_other) in [
            ("", false),
            ("one", false),
            ("one", false),
            ("", false),
            ("two", true),
            ("two", false),
        ] {
            assert_eq!(
                presence.begin_account(boot_id.to_owned()),
                is_other,
                "{boot_id}"
            );
        }
        assert_eq!(presence.unreported().unwrap().reason, Reason::Pending);
    }

    #[tokio::test(start_paused = true)]
    async fn an_account_is_complete_after_the_time_that_silence_may_take() {
        let mut presence = Presence::new(Duration::from_secs(30));
        presence.begin_account("one".to_owned());
        assert_eq!(presence.unreported(), None);
        tokio::time::advance(Duration::from_secs(29)).await;
        assert!(!presence.notice_silence() && !presence.hear());
        tokio::time::advance(Duration::from_secs(1)).await;
        let condition = presence.unreported().unwrap();
        assert!(
            condition
                .message
                .ends_with("does not speak of this device any more")
        );
        tokio::time::advance(Duration::from_secs(30)).await;
        assert!(presence.notice_silence() && !presence.notice_silence());
        assert!(presence.is_lost() && presence.lost_at().is_none());
        assert!(presence.hear() && !presence.is_lost());
    }
}
