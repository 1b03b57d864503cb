//! `doctor`: what on this node would keep the hook from working, and what a bug report needs.

mod configuration;
mod hook;
mod judge;
mod kubernetes;
mod program;
mod report;
mod runtimes;
mod specs;
mod text;
mod toml;

use std::process::ExitCode;

use self::report::{HookBinary, Level, Report};
use crate::absolute_path::AbsolutePath;
use crate::command_line::{Invocation, UsageError, options};
use crate::node_root::NodeRoot;

/// Runs `dra-cdi-hook doctor`.
pub(crate) fn main(invocation: &Invocation) -> Result<ExitCode, UsageError> {
    let path: AbsolutePath = invocation.required(&options::ROOT)?;
    let kubelet: AbsolutePath = invocation.required(&options::KUBELET)?;
    let root = match NodeRoot::open(path.clone()) {
        Ok(root) => root,
        Err(error) => {
            crate::print_error(&format_args!(
                "the node's root directory {path} cannot be opened: {error}"
            ));
            return Ok(ExitCode::from(1));
        }
    };
    let report = examine(&root, &kubelet);
    let output = if invocation.has(&options::JSON) {
        // Writing to memory cannot fail, and there is no map in it.
        let mut bytes = serde_json::to_vec_pretty(&report).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    } else {
        text::of(&report).into_bytes()
    };
    let printed = crate::print(&output, "the report");
    let problem = |finding: &report::Finding| finding.level == Level::Problem;
    Ok(if report.findings.iter().any(problem) {
        ExitCode::from(1)
    } else {
        printed
    })
}

fn examine(root: &NodeRoot, kubelet: &AbsolutePath) -> Report {
    let found = runtimes::find(root);
    let mut askers = Vec::new();
    let mut cdi_directories = Vec::new();
    for (path, read_by) in directories(&found, |found| &found.cdi_directories) {
        cdi_directories.push(specs::directory(root, path, read_by, &mut askers));
    }
    if found.is_empty() {
        // As in an image that is being built: where each of them would look.
        for path in runtimes::CDI_DIRECTORIES {
            cdi_directories.push(specs::directory(root, path, Vec::new(), &mut askers));
        }
    }
    for (path, _) in directories(&found, |found| &found.hooks_directories) {
        specs::hooks_directory(root, path, &mut askers);
    }
    let mut hooks: Vec<HookBinary> = Vec::new();
    for asker in &mut askers {
        let missing = hook::missing_files(root, asker);
        asker.problems.extend(missing);
        let known = hooks.iter().any(|hook| hook.path == asker.path);
        if !known && asker.path.starts_with('/') {
            hooks.push(hook::examine(root, &asker.path));
        }
    }
    let kubelet = kubelet.as_str().trim_end_matches('/');
    let one_line = |path: &str| {
        let bytes = root.read(path, 4096).ok().flatten()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    let mut report = Report {
        version: env!("CARGO_PKG_VERSION"),
        kernel: one_line("/proc/sys/kernel/osrelease"),
        selinux: match one_line("/sys/fs/selinux/enforce").as_deref() {
            Some("1") => Some("enforcing"),
            Some(_) => Some("permissive"),
            None => None,
        },
        runtimes: Vec::new(),
        cdi_directories,
        askers,
        hooks,
        nri: kubernetes::nri(root),
        drivers: kubernetes::drivers(root, kubelet),
        kubevirt: kubernetes::kubevirt(root, kubelet),
        findings: Vec::new(),
    };
    report.runtimes = found.iter().map(|found| found.runtime.clone()).collect();
    report.findings = judge::judge(&report, &found);
    report
}

/// The directories that some runtime reads, in their order, each with who reads it.
fn directories(
    found: &[runtimes::Found],
    of: impl Fn(&runtimes::Found) -> &Vec<String>,
) -> Vec<(&str, Vec<&'static str>)> {
    let mut directories: Vec<(&str, Vec<&'static str>)> = Vec::new();
    for runtime in found {
        for path in of(runtime) {
            match directories.iter_mut().find(|(known, _)| known == path) {
                Some((_, read_by)) => read_by.push(runtime.runtime.name),
                None => directories.push((path, vec![runtime.runtime.name])),
            }
        }
    }
    directories
}
