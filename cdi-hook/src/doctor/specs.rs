//! CDI specs and `hooks.d` entries: which there are, and which ask for the hook.

use serde::Deserialize;

use super::report::{Asker, CdiDirectory, CdiSpec};
use crate::install::PROGRAM_FILE;
use crate::node_root::NodeRoot;

/// The most bytes of a spec: those of many GPUs have some hundred kilobytes.
const BYTES: usize = 4 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    cdi_version: Option<String>,
    kind: Option<String>,
    devices: Option<Vec<Device>>,
    container_edits: Option<ContainerEdits>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Device {
    name: Option<String>,
    container_edits: Option<ContainerEdits>,
}

#[derive(Deserialize)]
struct ContainerEdits {
    hooks: Option<Vec<Hook>>,
}

#[derive(Deserialize)]
struct Hook {
    #[serde(rename = "hookName")]
    stage: Option<String>,
    path: Option<String>,
    args: Option<Vec<String>>,
    env: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Entry {
    hook: Option<Hook>,
    stages: Option<Vec<String>>,
}

/// Reads a directory of CDI specs; what asks for the hook goes to `askers`.
pub(super) fn directory(
    root: &NodeRoot,
    path: &str,
    read_by: Vec<&'static str>,
    askers: &mut Vec<Asker>,
) -> CdiDirectory {
    let specs = root
        .names(path)
        .into_iter()
        .filter(|name| is_spec(name))
        .map(|name| spec(root, path, name, askers))
        .collect();
    CdiDirectory {
        path: path.to_owned(),
        read_by,
        exists: root.is_directory(path),
        specs,
    }
}

fn is_spec(name: &str) -> bool {
    matches!(extension(name), "json" | "yaml")
}

/// What stands behind the last dot, which runtimes compare as it is written.
fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

fn spec(root: &NodeRoot, directory: &str, file: String, askers: &mut Vec<Asker>) -> CdiSpec {
    let path = format!("{directory}/{file}");
    let broken = |file, problem| CdiSpec {
        file,
        cdi_version: None,
        kind: None,
        devices: Vec::new(),
        problem: Some(problem),
    };
    let bytes = match root.read(&path, BYTES) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return broken(file, "it is gone, or a link that leads nowhere".to_owned()),
        Err(error) => return broken(file, error.to_string()),
    };
    // JSON is YAML too: a runtime reads either under both names.
    let spec: Spec = match serde_json::from_slice(&bytes) {
        Ok(spec) => spec,
        Err(_) if extension(&file) == "yaml" => return yaml(file, &bytes),
        Err(error) => return broken(file, error.to_string()),
    };
    let kind = spec.kind.clone();
    let mut devices = Vec::new();
    for device in spec.devices.unwrap_or_default() {
        let name = device.name.unwrap_or_default();
        let qualified = format!("{}={name}", kind.as_deref().unwrap_or_default());
        let edits = device.container_edits;
        for hook in edits.and_then(|edits| edits.hooks).unwrap_or_default() {
            ask(&path, Some(qualified.clone()), hook, askers);
        }
        devices.push(name);
    }
    let edits = spec.container_edits;
    for hook in edits.and_then(|edits| edits.hooks).unwrap_or_default() {
        ask(&path, kind.clone(), hook, askers);
    }
    let problem = match (&spec.cdi_version, &kind) {
        (None, _) => Some("it has no cdiVersion".to_owned()),
        (_, None) => Some("it has no kind".to_owned()),
        _ if devices.is_empty() => Some("it has no devices".to_owned()),
        _ => None,
    };
    CdiSpec {
        file,
        cdi_version: spec.cdi_version,
        kind,
        devices,
        problem,
    }
}

/// Of a YAML file its version and kind, which stand at the start of their lines.
fn yaml(file: String, bytes: &[u8]) -> CdiSpec {
    let text = String::from_utf8_lossy(bytes);
    let value = |key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
            .map(|value| value.trim().trim_matches(['"', '\'']).to_owned())
    };
    CdiSpec {
        cdi_version: value("cdiVersion"),
        kind: value("kind"),
        file,
        devices: Vec::new(),
        problem: None,
    }
}

/// Reads the `hooks.d` entries of a directory.
pub(super) fn hooks_directory(root: &NodeRoot, directory: &str, askers: &mut Vec<Asker>) {
    for name in root.names(directory) {
        let path = format!("{directory}/{name}");
        if extension(&name) != "json" {
            continue;
        }
        let Ok(Some(bytes)) = root.read(&path, BYTES) else {
            continue;
        };
        let Ok(Entry {
            hook: Some(mut hook),
            stages,
        }) = serde_json::from_slice(&bytes)
        else {
            continue;
        };
        hook.stage = match stages.unwrap_or_default().as_slice() {
            [stage] => Some(stage.clone()),
            stages => Some(stages.join(", ")),
        };
        ask(&path, None, hook, askers);
    }
}

/// Notes a hook that is this program's.
fn ask(file: &str, device: Option<String>, hook: Hook, askers: &mut Vec<Asker>) {
    let args = hook.args.unwrap_or_default();
    let path = hook.path.unwrap_or_default();
    let named = |path: &str| path.rsplit('/').next() == Some(PROGRAM_FILE);
    if !named(&path) && !args.first().is_some_and(|name| named(name)) {
        return;
    }
    let mut problems = Vec::new();
    let again = || "write it anew with dra-cdi-hook install or dra-cdi-hook spec".to_owned();
    let stage = hook.stage.unwrap_or_default();
    if stage != "createContainer" {
        problems.push((
            format!("{file} runs the hook at the stage {stage:?}: only at createContainer the container's mounts are there and its processes are not"),
            again(),
        ));
    }
    if hook.env.is_none_or(|env| env.is_empty()) {
        problems.push((
            format!("{file} gives the hook no environment: runc before 1.3 then gives it that of the container's image"),
            again(),
        ));
    }
    if !path.starts_with('/') {
        problems.push((
            format!("{file} names the hook as {path:?}, which is no absolute path"),
            again(),
        ));
    }
    askers.push(Asker {
        by: if device.is_some() { "CDI" } else { "hooks.d" },
        file: file.to_owned(),
        device,
        path,
        arguments: args.into_iter().skip(1).collect(),
        problems,
    });
}
