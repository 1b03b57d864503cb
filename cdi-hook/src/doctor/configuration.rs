//! Configuration files of runtimes: TOML, in several files, of which later ones win.

use super::toml::{self, Value};
use crate::node_root::NodeRoot;

/// The most bytes of a configuration file.
const BYTES: usize = 1 << 20;
/// The most files of one runtime.
const FILES: usize = 64;

/// The settings of a runtime that decide on the hook.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    /// The files that were read, in their order.
    pub(super) files: Vec<String>,
    /// Files that cannot be read, each with the reason.
    pub(super) unreadable: Vec<String>,
    /// `enable_cdi`.
    pub(super) enable_cdi: Option<bool>,
    /// `cdi_spec_dirs`.
    pub(super) cdi_directories: Option<Vec<String>>,
    /// `hooks_dir`.
    pub(super) hooks_directories: Option<Vec<String>>,
}

/// Where containerd's CRI plugin has its settings: version 2 and version 3 of the file.
const CONTAINERD: [&[&str]; 2] = [
    &["plugins", "io.containerd.grpc.v1.cri"],
    &["plugins", "io.containerd.cri.v1.runtime"],
];

impl Settings {
    /// Of containerd: its file, and the files that this imports.
    pub(super) fn of_containerd(root: &NodeRoot, file: &str) -> Self {
        let mut settings = Self::default();
        let mut waiting = vec![file.to_owned()];
        while let Some(file) = waiting.pop() {
            settings.read(root, &file, &CONTAINERD, &mut waiting);
        }
        settings
    }

    /// Of CRI-O or podman: a file, and the drop-ins of a directory in their order.
    pub(super) fn of_files(
        root: &NodeRoot,
        files: &[&str],
        drop_ins: &str,
        table: &[&str],
    ) -> Self {
        let mut settings = Self::default();
        let mut all: Vec<String> = files.iter().map(|&file| file.to_owned()).collect();
        all.extend(
            root.names(drop_ins)
                .into_iter()
                .map(|name| format!("{drop_ins}/{name}")),
        );
        for file in all {
            settings.read(root, &file, &[table], &mut Vec::new());
        }
        settings
    }

    /// Takes over what a file says in one of the tables.
    fn read(&mut self, root: &NodeRoot, file: &str, tables: &[&[&str]], imports: &mut Vec<String>) {
        if self.files.len() >= FILES || self.files.iter().any(|read| read == file) {
            return;
        }
        let bytes = match root.read(file, BYTES) {
            Ok(None) => return,
            Ok(Some(bytes)) => bytes,
            Err(error) => return self.unreadable.push(format!("{file}: {error}")),
        };
        self.files.push(file.to_owned());
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return self.unreadable.push(format!("{file}: this is not UTF-8"));
        };
        let mut imported = Vec::new();
        toml::read(text, &mut |path, value| {
            let Some((key, table)) = path.split_last() else {
                return;
            };
            if table.is_empty() && key == "imports" {
                imported = strings(value).unwrap_or_default();
                return;
            }
            if !tables.iter().any(|wanted| table == *wanted) {
                return;
            }
            match (key.as_str(), value) {
                ("enable_cdi", Value::Boolean(on)) => self.enable_cdi = Some(on),
                ("cdi_spec_dirs", value) => self.cdi_directories = strings(value),
                ("hooks_dir", value) => self.hooks_directories = strings(value),
                _ => {}
            }
        });
        // Taken from the end: the last import is read last, and wins.
        let imported: Vec<String> = imported
            .iter()
            .flat_map(|path| glob(root, file, path))
            .collect();
        imports.extend(imported.into_iter().rev());
    }
}

fn strings(value: Value) -> Option<Vec<String>> {
    match value {
        Value::Strings(strings) => Some(strings),
        Value::Boolean(_) => None,
    }
}

/// The files that an import means: a path, or a pattern for the names of a directory. A relative one is
/// beside the file that imports it.
fn glob(root: &NodeRoot, importer: &str, path: &str) -> Vec<String> {
    let beside = importer
        .rsplit_once('/')
        .map_or("", |(directory, _)| directory);
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{beside}/{path}")
    };
    let Some((directory, pattern)) = path.rsplit_once('/') else {
        return Vec::new();
    };
    if !pattern.contains(['*', '?']) {
        return vec![path];
    }
    root.names(directory)
        .into_iter()
        .filter(|name| crate::glob::matches(pattern, name))
        .map(|name| format!("{directory}/{name}"))
        .collect()
}
