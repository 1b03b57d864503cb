//! The options of `create-container`, which a CDI spec or another asker passes on to the hook.

use std::str::FromStr;

use crate::absolute_path::AbsolutePath;
use crate::command_line::{CommandOption, Invocation, UsageError, options};
use crate::key_pattern::KeyPattern;

/// The options of `create-container`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOptions {
    /// Directory of the container to write into.
    pub vm_mount: AbsolutePath,
    /// What the VM mount of a pod may be.
    pub vm_mount_source: VmMountSource,
    /// Directories of the node with metadata files.
    pub metadata_dir: Vec<AbsolutePath>,
    /// Files of the node with attributes.
    pub attributes: Vec<AbsolutePath>,
    /// Which attributes may leave the node; all where there are none.
    pub export: Vec<KeyPattern>,
    /// What broken input means.
    pub on_error: OnError,
    /// File of the node that messages are appended to.
    pub log: Option<AbsolutePath>,
}

/// What the VM mount of a pod may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VmMountSource {
    /// An emptyDir of the pod that the runtime names; any mount where it names none.
    Pod,
    /// Any mount.
    Any,
}

impl FromStr for VmMountSource {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "pod" => Ok(Self::Pod),
            "any" => Ok(Self::Any),
            _ => Err("expected is pod or any"),
        }
    }
}

/// What broken metadata or attributes mean for the container. What is refused for safety is an error
/// in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// Exit 1: the runtime does not start the container.
    Fail,
    /// A message and exit 0: what is broken is left out, and the container starts.
    Skip,
}

impl FromStr for OnError {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "fail" => Ok(Self::Fail),
            "skip" => Ok(Self::Skip),
            _ => Err("expected is fail or skip"),
        }
    }
}

impl HookOptions {
    /// Reads them from any command that has them.
    ///
    /// # Errors
    /// When a value is none of its type.
    pub fn from_invocation(invocation: &Invocation) -> Result<Self, UsageError> {
        Ok(Self {
            vm_mount: invocation.required(&options::VM_MOUNT)?,
            vm_mount_source: invocation.required(&options::VM_MOUNT_SOURCE)?,
            metadata_dir: invocation.values(&options::METADATA_DIR)?,
            attributes: invocation.values(&options::ATTRIBUTES)?,
            export: invocation.values(&options::EXPORT)?,
            on_error: invocation.required(&options::ON_ERROR)?,
            log: invocation.value(&options::LOG)?,
        })
    }

    /// The arguments that give these options again; defaults are left out.
    pub fn to_arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        // One argument each: a value is never taken for an option, nor an option for one more value.
        let mut option = |option: &CommandOption, value: &str| {
            let default = option.value.as_ref().and_then(|value| value.default);
            if default != Some(value) {
                arguments.push(format!("--{}={value}", option.name));
            }
        };
        option(&options::VM_MOUNT, self.vm_mount.as_str());
        let source = match self.vm_mount_source {
            VmMountSource::Pod => "pod",
            VmMountSource::Any => "any",
        };
        option(&options::VM_MOUNT_SOURCE, source);
        for directory in &self.metadata_dir {
            option(&options::METADATA_DIR, directory.as_str());
        }
        for file in &self.attributes {
            option(&options::ATTRIBUTES, file.as_str());
        }
        for key in &self.export {
            option(&options::EXPORT, key.as_str());
        }
        let on_error = match self.on_error {
            OnError::Fail => "fail",
            OnError::Skip => "skip",
        };
        option(&options::ON_ERROR, on_error);
        if let Some(log) = &self.log {
            option(&options::LOG, log.as_str());
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::{CREATE_CONTAINER, PROGRAM, Parsed, parse};

    fn options(given: &[&str]) -> HookOptions {
        let arguments = std::iter::once(&CREATE_CONTAINER.name).chain(given);
        match parse(&PROGRAM, arguments.map(Into::into)).unwrap() {
            Parsed::Run(invocation) => HookOptions::from_invocation(&invocation).unwrap(),
            Parsed::Print(text) => panic!("{text}"),
        }
    }

    #[test]
    fn options_survive_the_way_through_a_spec() {
        let given = [
            "--vm-mount=/vm",
            "--vm-mount-source=any",
            "--metadata-dir=/a",
            "--metadata-dir=/b=c d",
            "--attributes=/c",
            "--export=x/y",
            "--export=--log",
            "--on-error=skip",
            "--log=/l",
        ];
        assert_eq!(options(&given).to_arguments(), given);
    }

    #[test]
    fn defaults_need_no_argument() {
        assert_eq!(options(&[]).to_arguments(), [""; 0]);
    }
}
