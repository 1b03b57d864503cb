//! The runtime's side: its socket for plugins, and what containerd's configuration says of NRI.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use toml::{Table, Value};

use crate::session::NAME;
use examination::Examination;

/// The section of containerd's configuration, in its versions 2 and 3.
const SECTION: &str = "io.containerd.nri.v1.nri";
/// Where containerd listens for plugins unless told otherwise.
const SOCKET: &str = "/var/run/nri/nri.sock";
/// The most bytes of a configuration.
const BYTES: u64 = 1 << 20;

/// Whether the runtime's socket is there.
pub fn socket(path: &Path, examination: &mut Examination) {
    let name = "socket";
    let place = path.display();
    let advice = "switch NRI on and restart the runtime: containerd 2.x has it on unless its configuration says disable = true \
                  under [plugins.'io.containerd.nri.v1.nri'], CRI-O by enable_nri = true under [crio.nri]; or say with --socket \
                  where it is";
    match fs::metadata(path) {
        Ok(found) if found.file_type().is_socket() => examination.ok(name, place.to_string()),
        Ok(_) => examination.finding(name, format!("{place} is no socket"), advice),
        Err(error) => examination.finding(name, format!("{place}: {error}"), advice),
    }
}

/// What containerd's configuration says of NRI.
pub fn containerd(path: &Path, socket: &Path, examination: &mut Examination) {
    let name = "containerd";
    let place = path.display();
    let text = match fs::metadata(path).and_then(|found| {
        if found.is_file() && found.len() <= BYTES {
            fs::read_to_string(path)
        } else {
            Err(std::io::Error::other("it is no file of at most 1 MiB"))
        }
    }) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return examination.unknown(
                name,
                format!("{place} is not there: another runtime, containerd with its defaults, or not seen from here"),
            );
        }
        Err(error) => return examination.unknown(name, format!("{place}: {error}")),
    };
    let configuration: Table = match text.parse() {
        Ok(configuration) => configuration,
        Err(error) => {
            let before = error.span().map_or(0, |span| span.start);
            let line = text.bytes().take(before).filter(|byte| *byte == b'\n');
            let line = line.count() + 1;
            return examination.unknown(
                name,
                format!("{place}:{line} cannot be read: {}", error.message()),
            );
        }
    };
    let before = examination.findings;
    judge(&configuration, &place.to_string(), socket, examination);
    if examination.findings == before {
        examination.ok(name, format!("{place} has nothing against it"));
    }
    let imports = configuration.get("imports").and_then(Value::as_array);
    if imports.is_some_and(|imports| !imports.is_empty()) {
        examination.unknown(
            name,
            format!("{place} imports other files, which are not looked at"),
        );
    }
}

fn judge(configuration: &Table, place: &str, socket: &Path, examination: &mut Examination) {
    let name = "containerd";
    let plugins = configuration.get("plugins");
    let Some(nri) = plugins.and_then(|plugins| plugins.get(SECTION)) else {
        return;
    };
    let is_on =
        |section: &Value, key: &str| section.get(key).and_then(Value::as_bool) == Some(true);
    if is_on(nri, "disable") {
        examination.finding(
            name,
            format!("{place}: NRI is off"),
            format!("set disable = false under [plugins.'{SECTION}'] and restart containerd"),
        );
    }
    if is_on(nri, "disable_connections") {
        examination.finding(
            name,
            format!("{place}: plugins may not connect"),
            format!(
                "set disable_connections = false under [plugins.'{SECTION}'] and restart containerd"
            ),
        );
    }
    let said = nri.get("socket_path").and_then(Value::as_str);
    let listens = Path::new(said.filter(|path| !path.is_empty()).unwrap_or(SOCKET));
    if listens != socket {
        examination.finding(
            name,
            format!(
                "{place}: containerd listens for plugins at {}, and not at {}",
                listens.display(),
                socket.display()
            ),
            format!(
                "give dra-guest-nri, and doctor, --socket={}",
                listens.display()
            ),
        );
    }
    let Some(validator) = nri
        .get("default_validator")
        .filter(|validator| is_on(validator, "enable"))
    else {
        return;
    };
    if is_on(validator, "reject_oci_hook_adjustment") {
        examination.finding(
            name,
            format!("{place}: containers to which a plugin adds a hook are not created, and so no VM is"),
            "set reject_oci_hook_adjustment = false in its default_validator and restart containerd, or let drivers name the CDI \
             device",
        );
    }
    let required = validator.get("required_plugins").and_then(Value::as_array);
    if required.is_some_and(|required| required.iter().any(|one| one.as_str() == Some(NAME))) {
        let tolerated = validator
            .get("tolerate_missing_plugins_annotation")
            .and_then(Value::as_str)
            .filter(|annotation| !annotation.is_empty());
        match tolerated {
            Some(annotation) => examination.ok(
                name,
                format!("without this plugin no container is created but of pods with the annotation {annotation}: \"true\""),
            ),
            None => examination.finding(
                name,
                format!("{place}: without this plugin no container is created, its own in a pod neither"),
                "name an annotation with tolerate_missing_plugins_annotation beside required_plugins, and give it to the plugin's \
                 pod",
            ),
        }
    }
}
