//! The container runtimes of a node, and whether they give devices by CDI.

use serde::Deserialize;

use super::configuration::Settings;
use super::program;
use super::report::{Cdi, Runtime};
use crate::node_root::NodeRoot;

/// Where runtimes are looked for: the usual directories, then those of k3s, RKE2 and k0s.
const DIRECTORIES: [&str; 8] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/opt/bin",
    "/var/lib/rancher/k3s/data/current/bin",
    "/var/lib/rancher/rke2/bin",
    "/var/lib/k0s/bin",
];

/// The configuration files of containerd, those of k3s, RKE2 and k0s among them; the first that is there.
const CONTAINERD_FILES: [&str; 4] = [
    "/etc/containerd/config.toml",
    "/var/lib/rancher/k3s/agent/etc/containerd/config.toml",
    "/var/lib/rancher/rke2/agent/etc/containerd/config.toml",
    "/etc/k0s/containerd.toml",
];

/// Where every engine looks for specs unless told otherwise.
pub(super) const CDI_DIRECTORIES: [&str; 2] = ["/etc/cdi", "/var/run/cdi"];
/// Where CRI-O and podman look for `hooks.d` entries unless told otherwise.
const HOOKS_DIRECTORIES: [&str; 2] = [
    "/usr/share/containers/oci/hooks.d",
    "/etc/containers/oci/hooks.d",
];

/// A runtime with what its configuration says.
#[derive(Debug)]
pub(super) struct Found {
    /// What is reported of it.
    pub(super) runtime: Runtime,
    /// The directories of specs that it reads, those of a higher priority later.
    pub(super) cdi_directories: Vec<String>,
    /// The directories of `hooks.d` entries that it reads.
    pub(super) hooks_directories: Vec<String>,
    /// Configuration files that cannot be read, each with the reason.
    pub(super) unreadable: Vec<String>,
}

/// The runtimes that are there.
pub(super) fn find(root: &NodeRoot) -> Vec<Found> {
    let names = [
        "containerd",
        "crio",
        "podman",
        "dockerd",
        "runc",
        "crun",
        "youki",
    ];
    names
        .into_iter()
        .filter_map(|name| examine(root, name))
        .collect()
}

fn examine(root: &NodeRoot, name: &'static str) -> Option<Found> {
    let path = DIRECTORIES
        .iter()
        .map(|directory| format!("{directory}/{name}"))
        .find(|path| root.is_file(path))?;
    // Of another root its programs are not run: they may need what is not here.
    let version = root
        .is_own()
        .then(|| program::version(&path).ok())
        .flatten();
    let numbers = version.as_deref().and_then(program::numbers);
    let settings = settings_of(root, name);
    let cdi = match name {
        "containerd" => Some(containerd_cdi(numbers, settings.enable_cdi)),
        "crio" => Some(Cdi::On),
        "podman" => Some(since(numbers, (4, 1))),
        "dockerd" => Some(docker_cdi(numbers, settings.enable_cdi)),
        _ => None,
    };
    let owned = |list: &[&str]| list.iter().map(|&path| path.to_owned()).collect();
    Some(Found {
        cdi_directories: match cdi {
            None => Vec::new(),
            Some(_) => settings
                .cdi_directories
                .unwrap_or_else(|| owned(&CDI_DIRECTORIES)),
        },
        hooks_directories: match name {
            "crio" | "podman" => settings
                .hooks_directories
                .unwrap_or_else(|| owned(&HOOKS_DIRECTORIES)),
            _ => Vec::new(),
        },
        unreadable: settings.unreadable,
        runtime: Runtime {
            name,
            path,
            version,
            configuration: settings.files,
            cdi,
        },
    })
}

fn settings_of(root: &NodeRoot, name: &str) -> Settings {
    match name {
        "containerd" => {
            let file = CONTAINERD_FILES.into_iter().find(|file| root.is_file(file));
            Settings::of_containerd(root, file.unwrap_or(CONTAINERD_FILES[0]))
        }
        "crio" => Settings::of_files(
            root,
            &["/etc/crio/crio.conf"],
            "/etc/crio/crio.conf.d",
            &["crio", "runtime"],
        ),
        "podman" => Settings::of_files(
            root,
            &[
                "/usr/share/containers/containers.conf",
                "/etc/containers/containers.conf",
            ],
            "/etc/containers/containers.conf.d",
            &["engine"],
        ),
        "dockerd" => docker_settings(root),
        _ => Settings::default(),
    }
}

/// containerd 2 has it on, 1.7 has it and it is off, and earlier ones do not know of it.
fn containerd_cdi(version: Option<(u32, u32)>, enabled: Option<bool>) -> Cdi {
    match (version, enabled) {
        (Some(version), _) if version < (1, 7) => Cdi::Unsupported,
        (_, Some(true)) => Cdi::On,
        (Some((major, _)), None) if major >= 2 => Cdi::On,
        (_, Some(false)) | (Some(_), None) => Cdi::Off,
        (None, None) => Cdi::Unknown,
    }
}

/// Docker has it since 25, and on since 28.2.
fn docker_cdi(version: Option<(u32, u32)>, enabled: Option<bool>) -> Cdi {
    match (version, enabled) {
        (Some(version), _) if version < (25, 0) => Cdi::Unsupported,
        (_, Some(true)) => Cdi::On,
        (Some(version), None) if version >= (28, 2) => Cdi::On,
        (_, Some(false)) | (Some(_), None) => Cdi::Off,
        (None, None) => Cdi::Unknown,
    }
}

fn since(version: Option<(u32, u32)>, first: (u32, u32)) -> Cdi {
    match version {
        None => Cdi::Unknown,
        Some(version) if version < first => Cdi::Unsupported,
        Some(_) => Cdi::On,
    }
}

#[derive(Default, Deserialize)]
struct Daemon {
    #[serde(default)]
    features: Features,
    #[serde(default, rename = "cdi-spec-dirs")]
    cdi_spec_dirs: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
struct Features {
    #[serde(default)]
    cdi: Option<bool>,
}

fn docker_settings(root: &NodeRoot) -> Settings {
    const FILE: &str = "/etc/docker/daemon.json";
    let mut settings = Settings::default();
    match root.read(FILE, 1 << 20) {
        Ok(None) => {}
        Ok(Some(bytes)) => match serde_json::from_slice::<Daemon>(&bytes) {
            Ok(daemon) => {
                settings.files.push(FILE.to_owned());
                settings.enable_cdi = daemon.features.cdi;
                settings.cdi_directories = daemon.cdi_spec_dirs;
            }
            Err(error) => settings.unreadable.push(format!("{FILE}: {error}")),
        },
        Err(error) => settings.unreadable.push(format!("{FILE}: {error}")),
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cdi_is_on_as_versions_and_settings_have_it() {
        for (version, enabled, expected) in [
            (Some((2, 4)), None, Cdi::On),
            (Some((2, 0)), Some(false), Cdi::Off),
            (Some((1, 7)), None, Cdi::Off),
            (Some((1, 7)), Some(true), Cdi::On),
            (Some((1, 6)), Some(true), Cdi::Unsupported),
            (None, None, Cdi::Unknown),
            (None, Some(true), Cdi::On),
        ] {
            assert_eq!(containerd_cdi(version, enabled), expected, "{version:?}");
        }
        assert_eq!(docker_cdi(Some((28, 2)), None), Cdi::On);
        assert_eq!(docker_cdi(Some((28, 1)), None), Cdi::Off);
        assert_eq!(docker_cdi(Some((20, 10)), Some(true)), Cdi::Unsupported);
        assert_eq!(since(Some((4, 0)), (4, 1)), Cdi::Unsupported);
        assert_eq!(since(Some((4, 3)), (4, 1)), Cdi::On);
    }
}
