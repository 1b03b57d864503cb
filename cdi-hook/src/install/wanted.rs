//! Which files an installation consists of, and where they go.

use super::record;
use crate::absolute_path::AbsolutePath;
use crate::command_line::{Invocation, UsageError, options};
use crate::hook_options::HookOptions;
use crate::spec;

/// The file name of the CDI spec and of the `hooks.d` entry.
pub(crate) const SPEC_FILE: &str = "dra-guest-vm.json";
/// The file name of the hook.
pub(crate) const PROGRAM_FILE: &str = "dra-cdi-hook";
/// Where runtimes look for CDI specs that come and go. Some complain of the node when it is missing, and it
/// is gone after each boot.
const DYNAMIC_DIRECTORY: &str = "/var/run/cdi";

/// Where things go.
#[derive(Debug)]
pub(super) struct Layout {
    prefix: AbsolutePath,
    cdi_directory: AbsolutePath,
    hooks_directory: Option<AbsolutePath>,
    dynamic_directory: Option<AbsolutePath>,
}

/// One file, as it should be.
#[derive(Debug)]
pub(super) struct Wanted {
    /// Its directory on the node.
    pub(super) directory: AbsolutePath,
    /// Its name there.
    pub(super) name: &'static str,
    /// The option that names the directory, for messages.
    pub(super) option: &'static str,
    /// What it holds.
    pub(super) bytes: Vec<u8>,
    /// Its permissions.
    pub(super) mode: u32,
}

impl Wanted {
    /// Its path on the node.
    pub(super) fn path(&self) -> String {
        self.directory.join(self.name).to_string()
    }
}

impl Layout {
    /// Reads it from the options of `install` or `uninstall`.
    pub(super) fn from_invocation(invocation: &Invocation) -> Result<Self, UsageError> {
        // Whoever keeps specs elsewhere has told the runtimes so.
        let usual = !invocation.has(&options::CDI_DIR);
        let dynamic_directory = DYNAMIC_DIRECTORY.parse().ok().filter(|_| usual);
        Ok(Self {
            dynamic_directory,
            prefix: invocation.required(&options::PREFIX)?,
            cdi_directory: invocation.required(&options::CDI_DIR)?,
            hooks_directory: invocation.value(&options::HOOKS_DIR)?,
        })
    }

    /// The files, in the order in which they are put in place.
    pub(super) fn files(&self, program: Vec<u8>, hook: &HookOptions) -> Vec<Wanted> {
        let bin = self.prefix.join("bin");
        let program_path = bin.join(PROGRAM_FILE);
        let mut files = vec![
            Wanted {
                directory: bin,
                name: PROGRAM_FILE,
                option: "--prefix",
                bytes: program,
                mode: 0o755,
            },
            Wanted {
                directory: self.cdi_directory.clone(),
                name: SPEC_FILE,
                option: "--cdi-dir",
                bytes: spec::cdi(spec::KIND, spec::DEVICE, &program_path, hook, Vec::new()),
                mode: 0o644,
            },
        ];
        files.extend(self.hooks_directory.clone().map(|directory| Wanted {
            directory,
            name: SPEC_FILE,
            option: "--hooks-dir",
            bytes: spec::hooks_entry(&program_path, hook),
            mode: 0o644,
        }));
        files
    }

    /// The record of what is installed.
    pub(super) fn record(&self, bytes: Vec<u8>) -> Wanted {
        Wanted {
            directory: self.prefix.join(record::DIRECTORY),
            name: record::FILE,
            option: "--prefix",
            bytes,
            mode: 0o644,
        }
    }

    /// A directory without a file that has to be there, with the option that decides on it.
    pub(super) fn more_directories(&self) -> impl Iterator<Item = (&AbsolutePath, &'static str)> {
        self.dynamic_directory
            .iter()
            .map(|directory| (directory, "--cdi-dir"))
    }
}
