//! The CDI spec of `dra-guest/vm=attributes`: a device that is nothing but the hook.

use std::process::ExitCode;

use serde::Serialize;

use crate::absolute_path::AbsolutePath;
use crate::command_line::{Invocation, UsageError, options};
use crate::hook_options::HookOptions;

/// The device's kind.
const KIND: &str = "dra-guest/vm";
/// The device's name.
const DEVICE: &str = "attributes";
/// The oldest CDI version that every runtime with CDI reads, podman 4.3 included. A runtime refuses
/// a file whose version it does not know.
const CDI_VERSION: &str = "0.5.0";
/// Seconds until the runtime kills the hook; the hook itself gives up before.
const TIMEOUT: u32 = 10;
/// Never empty: a hook without `env` gets the environment of the container's image from runc
/// before 1.3, `LD_PRELOAD` included.
const ENVIRONMENT: [&str; 1] = ["DRA_GUEST_LOG=info"];

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
    hooks: [Hook<'a>; 1],
}

#[derive(Serialize)]
struct Hook<'a> {
    #[serde(rename = "hookName")]
    stage: &'a str,
    path: &'a str,
    args: Vec<String>,
    env: [&'a str; 1],
    timeout: u32,
}

/// Runs `dra-cdi-hook spec`.
pub(crate) fn main(invocation: &Invocation) -> Result<ExitCode, UsageError> {
    let hook_path: AbsolutePath = invocation.required(&options::HOOK_PATH)?;
    let hook = HookOptions::from_invocation(invocation)?;
    Ok(crate::print(&to_bytes(&hook_path, &hook), "the CDI spec"))
}

fn to_bytes(hook_path: &AbsolutePath, hook: &HookOptions) -> Vec<u8> {
    let mut args = vec!["dra-cdi-hook".to_owned(), "create-container".to_owned()];
    args.extend(hook.to_arguments());
    let spec = Spec {
        cdi_version: CDI_VERSION,
        kind: KIND,
        devices: [Device {
            name: DEVICE,
            container_edits: ContainerEdits {
                hooks: [Hook {
                    stage: "createContainer",
                    path: hook_path.as_str(),
                    args,
                    env: ENVIRONMENT,
                    timeout: TIMEOUT,
                }],
            },
        }],
    };
    // Writing to memory cannot fail, and there is no map in it.
    let mut bytes = serde_json::to_vec_pretty(&spec).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}
