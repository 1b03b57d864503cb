//! The report as text.

use std::fmt::Write as _;

use super::report::{Cdi, CdiDirectory, Level, Report, Runtime};

/// The report, then the findings, each with what to do.
pub(super) fn of(report: &Report) -> String {
    let mut text = Text(String::new());
    text.line("dra-cdi-hook", report.version);
    text.line("kernel", report.kernel.as_deref().unwrap_or("not known"));
    text.line("SELinux", report.selinux.unwrap_or("off"));
    for found in &report.runtimes {
        text.line("runtime", &runtime(found));
    }
    for directory in &report.cdi_directories {
        text.directory(directory);
    }
    text.askers(report);
    text.cluster(report);
    text.0.push('\n');
    for finding in &report.findings {
        let level = match finding.level {
            Level::Problem => "problem",
            Level::Note => "note",
        };
        let (what, remedy) = (&finding.what, &finding.remedy);
        // Writing to memory cannot fail.
        let _ = writeln!(text.0, "{level}: {what}\n  -> {remedy}");
    }
    let works = |finding: &super::report::Finding| finding.level == Level::Note;
    if report.findings.iter().all(works) {
        text.0
            .push_str("nothing here keeps the hook from working\n");
    }
    text.0
}

fn runtime(runtime: &Runtime) -> String {
    let version = runtime.version.as_deref().unwrap_or("version not known");
    let cdi = match runtime.cdi {
        None => "",
        Some(Cdi::On) => ", CDI on",
        Some(Cdi::Off) => ", CDI off",
        Some(Cdi::Unsupported) => ", without CDI",
        Some(Cdi::Unknown) => ", CDI not known",
    };
    let files = match runtime.configuration.as_slice() {
        [] => String::new(),
        files => format!(" ({})", files.join(", ")),
    };
    format!("{}: {version}{cdi}{files}", runtime.path)
}

struct Text(String);

impl Text {
    /// A line in two columns.
    fn line(&mut self, what: &str, value: &str) {
        // Writing to memory cannot fail.
        let _ = writeln!(self.0, "{what:18}{value}");
    }

    fn directory(&mut self, directory: &CdiDirectory) {
        let exists = if directory.exists { "" } else { ", not there" };
        let read_by = match directory.read_by.as_slice() {
            [] => "no engine".to_owned(),
            read_by => read_by.join(", "),
        };
        let what = format!("{}, read by {read_by}{exists}", directory.path);
        self.line("CDI directory", &what);
        for spec in &directory.specs {
            let what = match &spec.problem {
                Some(problem) => problem.clone(),
                None => format!(
                    "{} {}, devices: {}",
                    spec.kind.as_deref().unwrap_or_default(),
                    spec.cdi_version.as_deref().unwrap_or_default(),
                    match spec.devices.len() {
                        0 => "not read".to_owned(),
                        count => count.to_string(),
                    }
                ),
            };
            self.line("", &format!("{}: {what}", spec.file));
        }
    }

    fn askers(&mut self, report: &Report) {
        for asker in &report.askers {
            let device = asker.device.as_deref().unwrap_or("by annotation");
            let arguments = asker.arguments.join(" ");
            let what = format!("{}: {device}: {} {arguments}", asker.file, asker.path);
            self.line("asks for the hook", &what);
        }
        for hook in &report.hooks {
            let version = hook.version.as_deref().unwrap_or("version not known");
            let same = if hook.same { ", this program" } else { "" };
            let label = hook.label.as_ref().map(|label| format!(", {label}"));
            let label = label.unwrap_or_default();
            self.line("hook", &format!("{}: {version}{same}{label}", hook.path));
        }
    }

    fn cluster(&mut self, report: &Report) {
        let socket = report.nri.socket.as_deref().unwrap_or("no socket");
        let runs = if report.nri.plugin_runs {
            "runs"
        } else {
            "does not run"
        };
        self.line("NRI", &format!("{socket}, dra-guest-nri {runs}"));
        for driver in &report.drivers {
            let versions = driver.metadata_versions.join(", ");
            let files = driver.metadata_files;
            let what = format!("{}, metadata files: {files} {versions}", driver.name);
            self.line("DRA driver", what.trim_end());
        }
        let kubevirt = &report.kubevirt;
        let what = format!(
            "VMs: {}, with the VM mount: {}, with a document: {}, with virtiofs: {}; vhost-vsock: {}",
            kubevirt.vms,
            kubevirt.with_vm_mount,
            kubevirt.with_document,
            kubevirt.with_virtiofs,
            if kubevirt.vsock { "yes" } else { "no" },
        );
        self.line("KubeVirt", &what);
    }
}
