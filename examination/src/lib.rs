//! What a `doctor` command looked at, what came of it, and how that is shown.

use std::fmt;

use serde::Serialize;

/// What came of looking at one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It is as it has to be.
    Ok,
    /// It could not be looked at, and the program may work all the same.
    Unknown,
    /// It keeps the program from its work, or from a part of it.
    Finding,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at.
    pub name: &'static str,
    /// What came of it.
    pub verdict: Verdict,
    /// What was seen, as a sentence.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// All that was looked at.
#[derive(Debug, Serialize)]
pub struct Examination {
    /// The version of the programs, which have one.
    pub version: &'static str,
    /// The node, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// How many checks are findings.
    pub findings: usize,
    /// The checks, in their order.
    pub checks: Vec<Check>,
}

impl Examination {
    /// Nothing was looked at yet.
    pub fn new() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            node: None,
            findings: 0,
            checks: Vec::new(),
        }
    }

    /// It is as it has to be.
    pub fn ok(&mut self, name: &'static str, message: impl Into<String>) {
        self.add(name, Verdict::Ok, message.into(), None);
    }

    /// It could not be looked at.
    pub fn unknown(&mut self, name: &'static str, message: impl Into<String>) {
        self.add(name, Verdict::Unknown, message.into(), None);
    }

    /// It is not as it has to be.
    pub fn finding(
        &mut self,
        name: &'static str,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) {
        self.findings += 1;
        let advice = Some(advice.into());
        self.add(name, Verdict::Finding, message.into(), advice);
    }

    fn add(
        &mut self,
        name: &'static str,
        verdict: Verdict,
        message: String,
        advice: Option<String>,
    ) {
        self.checks.push(Check {
            name,
            verdict,
            message,
            advice,
        });
    }
}

impl Default for Examination {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for Examination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.checks.iter().map(|check| check.name.len()).max();
        let width = width.unwrap_or_default();
        for check in &self.checks {
            let verdict = match check.verdict {
                Verdict::Ok => "ok",
                Verdict::Unknown => "unknown",
                Verdict::Finding => "FINDING",
            };
            writeln!(f, "{verdict:<8} {:<width$}  {}", check.name, check.message)?;
            if let Some(advice) = &check.advice {
                writeln!(f, "         {:<width$}  do: {advice}", "")?;
            }
        }
        match self.findings {
            0 => writeln!(f, "no findings"),
            1 => writeln!(f, "1 finding"),
            more => writeln!(f, "{more} findings"),
        }
    }
}
