//! A process that holds memory, and the kernel's word for where it runs and its memory is.

use anyhow::{Context as _, Result, ensure};

use super::Guest;

/// A shell that holds eight million bytes, and the kernel's word for where it runs and they are.
pub const WITNESS: &str = "x=$(head -c 8000000 /dev/zero | tr '\\0' a); \
                       grep -h _allowed_list /proc/self/status; cat /proc/$$/numa_maps; : $x";

/// What the kernel says of a process.
#[derive(Debug)]
pub struct Witness {
    /// `Cpus_allowed_list`.
    pub cpus: String,
    /// `Mems_allowed_list`.
    pub nodes: String,
    /// The memory policies of its mappings.
    pub policies: Vec<String>,
    /// Its anonymous pages, on each node.
    pub pages: [u64; 2],
}

impl Witness {
    /// Reads what [`WITNESS`] prints.
    ///
    /// # Errors
    /// When it is something else.
    pub fn parse(text: &str) -> Result<Self> {
        let value = |key: &str| {
            let mut lines = text.lines();
            let value = lines.find_map(|line| line.strip_prefix(key));
            Ok::<_, anyhow::Error>(value.with_context(|| text.to_owned())?.trim().to_owned())
        };
        let mut witness = Self {
            cpus: value("Cpus_allowed_list:")?,
            nodes: value("Mems_allowed_list:")?,
            policies: Vec::new(),
            pages: [0; 2],
        };
        for line in text.lines().filter(|line| line.contains(" anon=")) {
            let mut words = line.split(' ').skip(1);
            let policy = words.next().context("a policy")?.to_owned();
            if !witness.policies.contains(&policy) {
                witness.policies.push(policy);
            }
            for word in words {
                for (node, pages) in ["N0=", "N1="].iter().zip(&mut witness.pages) {
                    if let Some(count) = word.strip_prefix(node) {
                        *pages += count.parse::<u64>()?;
                    }
                }
            }
        }
        ensure!(witness.pages != [0; 2], "no page: {text}");
        Ok(witness)
    }

    /// Runs one by the command `before`.
    ///
    /// # Errors
    /// When it does not run.
    pub fn of(guest: &mut Guest, before: &str) -> Result<Self> {
        Self::parse(&guest.stdout_of(&format!("{before} sh -c '{}'", quoted(WITNESS)))?)
    }
}

/// For a shell's single quotes.
pub fn quoted(text: &str) -> String {
    text.replace('\'', "'\\''")
}
