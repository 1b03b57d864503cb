//! What asks a runtime for the hook: the CDI spec of `dra-guest/vm=attributes`, a device that is
//! nothing but the hook; an entry of a `hooks.d` directory; the hooks of an OCI configuration.

use std::process::ExitCode;

use serde::Serialize;

use crate::absolute_path::AbsolutePath;
use crate::command_line::{Invocation, UsageError, options};
use crate::hook_options::HookOptions;

/// The CDI device's kind.
pub const KIND: &str = "dra-guest/vm";
/// The CDI device's name.
pub const DEVICE: &str = "attributes";
/// Seconds until the runtime kills the hook; the hook itself gives up before.
pub const TIMEOUT: u32 = 10;
/// Never empty: a hook without `env` gets the environment of the container's image from runc
/// before 1.3, `LD_PRELOAD` included.
pub const ENVIRONMENT: [&str; 1] = ["DRA_GUEST_LOG=info"];
/// The annotation that asks for the hook where a `hooks.d` entry is installed; its value is `true`.
pub const ANNOTATION: &str = "dra-guest/hook";
/// The one stage at which the container's mounts are there, and its processes are not.
const STAGE: &str = "createContainer";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    cdi_version: &'a str,
    kind: &'a str,
    devices: [Device<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Device<'a> {
    name: &'a str,
    container_edits: ContainerEdits<'a>,
}

#[derive(Serialize)]
struct ContainerEdits<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mounts: Vec<Mount>,
    hooks: [Hook<'a>; 1],
}

/// The oldest CDI version that carries a device of this name with hooks and mounts: a runtime refuses a file
/// whose version it does not know. Before 0.5.0 a name could not start with a digit, as a claim's UID may.
fn oldest_version(device: &str) -> &'static str {
    if device.starts_with(|first: char| first.is_ascii_digit()) {
        "0.5.0"
    } else {
        "0.3.0"
    }
}

/// A file of the node that is mounted in the container.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Mount {
    host_path: String,
    container_path: String,
    options: [&'static str; 5],
}

impl Mount {
    /// A mount that the container can only read.
    pub(crate) fn read_only(host_path: &AbsolutePath, container_path: &str) -> Self {
        Self {
            host_path: host_path.to_string(),
            container_path: container_path.to_owned(),
            options: ["ro", "bind", "nosuid", "nodev", "noexec"],
        }
    }
}

/// A hook; CDI alone names the stage in it.
#[derive(Serialize)]
struct Hook<'a> {
    #[serde(rename = "hookName", skip_serializing_if = "Option::is_none")]
    stage: Option<&'a str>,
    path: &'a str,
    args: Vec<String>,
    env: [&'a str; 1],
    timeout: u32,
}

/// An entry of a `hooks.d` directory, see oci-hooks(5).
#[derive(Serialize)]
struct HooksEntry<'a> {
    version: &'a str,
    hook: Hook<'a>,
    when: When<'a>,
    stages: [&'a str; 1],
}

#[derive(Serialize)]
struct When<'a> {
    annotations: Annotations<'a>,
}

/// Regular expressions for key and value.
#[derive(Serialize)]
struct Annotations<'a> {
    #[serde(rename = "^dra-guest/hook$")]
    ours: &'a str,
}

/// `hooks` of an OCI configuration.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OciHooks<'a> {
    create_container: [Hook<'a>; 1],
}

/// Runs `dra-cdi-hook spec`.
pub(crate) fn main(invocation: &Invocation) -> Result<ExitCode, UsageError> {
    let hook_path: AbsolutePath = invocation.required(&options::HOOK_PATH)?;
    let hook = HookOptions::from_invocation(invocation)?;
    let form: String = invocation.required(&options::FORM)?;
    let bytes = match form.as_str() {
        "hooks.d" => hooks_entry(&hook_path, &hook),
        "oci" => oci_hooks(&hook_path, &hook),
        _ => cdi(KIND, DEVICE, &hook_path, &hook, Vec::new()),
    };
    Ok(crate::print(&bytes, "the spec"))
}

/// A CDI spec of one device that is the hook, with what is mounted for it.
pub(crate) fn cdi(
    kind: &str,
    device: &str,
    path: &AbsolutePath,
    options: &HookOptions,
    mounts: Vec<Mount>,
) -> Vec<u8> {
    to_bytes(&Spec {
        cdi_version: oldest_version(device),
        kind,
        devices: [Device {
            name: device,
            container_edits: ContainerEdits {
                mounts,
                hooks: [hook(Some(STAGE), path, options)],
            },
        }],
    })
}

/// An entry of a `hooks.d` directory.
pub(crate) fn hooks_entry(path: &AbsolutePath, options: &HookOptions) -> Vec<u8> {
    to_bytes(&HooksEntry {
        version: "1.0.0",
        hook: hook(None, path, options),
        when: When {
            annotations: Annotations { ours: "^true$" },
        },
        stages: [STAGE],
    })
}

/// `hooks` of an OCI configuration, such as containerd's `base_runtime_spec`.
fn oci_hooks(path: &AbsolutePath, options: &HookOptions) -> Vec<u8> {
    to_bytes(&OciHooks {
        create_container: [hook(None, path, options)],
    })
}

fn hook<'a>(stage: Option<&'a str>, path: &'a AbsolutePath, options: &HookOptions) -> Hook<'a> {
    let mut args = vec!["dra-cdi-hook".to_owned(), "create-container".to_owned()];
    args.extend(options.to_arguments());
    Hook {
        stage,
        path: path.as_str(),
        args,
        env: ENVIRONMENT,
        timeout: TIMEOUT,
    }
}

fn to_bytes(value: &impl Serialize) -> Vec<u8> {
    // Writing to memory cannot fail, and there is no map in these.
    let mut bytes = serde_json::to_vec_pretty(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_annotation_of_the_entry_is_the_one_that_is_documented() {
        let annotations = serde_json::to_value(Annotations { ours: "" }).unwrap();
        let key = format!("^{ANNOTATION}$");
        assert!(annotations.get(&key).is_some(), "{annotations}");
    }
}
