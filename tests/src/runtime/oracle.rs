//! The reference library of CDI in Rust (`container-device-interface`), asked by its own tool.

use std::fs;
use std::io;

use serde_json::{Value, json};

use super::private::{self, Cgroups};
use crate::cache::tool;

/// The OCI configuration that the library makes of one with nothing in it, when a device of the spec is asked
/// for. The spec lies in a file of that name, as a node has it.
///
/// # Errors
/// When the tool was not built yet, fails, or says something else. It says nothing of a device that it does not
/// find: then the configuration is as it was.
pub fn inject(name: &str, spec: &[u8], device: &str) -> io::Result<Value> {
    let directory = tempfile::tempdir()?;
    let specs = directory.path().join("cdi");
    fs::create_dir(&specs)?;
    fs::write(specs.join(name), spec)?;
    let configuration = directory.path().join("config.json");
    let bare = json!({
        "ociVersion": "1.2.0",
        "process": {"user": {"uid": 0, "gid": 0}, "args": ["true"], "cwd": "/"},
        "root": {"path": "rootfs"},
    });
    fs::write(&configuration, bare.to_string())?;
    let tool = tool("cdi").map_err(io::Error::other)?;
    let command = [
        tool.as_os_str(),
        "inject".as_ref(),
        "--output=json".as_ref(),
        configuration.as_os_str(),
        device.as_ref(),
    ];
    let outcome = private::run(&specs, Cgroups::Machine, command)?;
    // A title comes before it.
    let said = outcome
        .stdout
        .find('{')
        .map(|at| outcome.stdout.split_at(at).1);
    let read = said.and_then(|json| serde_json::from_str(json).ok());
    read.filter(|_| outcome.success())
        .ok_or_else(|| io::Error::other(format!("cdi inject: {outcome:?}")))
}
