//! What the plugin needs of the node: that it is connected, the hook, the kubelet's directories, the relay.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::connection::{self, Known};
use examination::Examination;

/// Whether a plugin is connected, and what the two say of themselves.
pub fn plugin(state: &Path, socket: &Path, examination: &mut Examination) {
    let name = "plugin";
    let since = match connection::known(state) {
        Ok(Known::Connected(connection)) => {
            let connection::Connection {
                version,
                runtime,
                runtime_version,
                nri_version,
            } = connection;
            let nri = if nri_version.is_empty() {
                "of an unknown version"
            } else {
                &nri_version
            };
            return examination.ok(
                name,
                format!(
                    "dra-guest-nri {version} is connected to {runtime} {runtime_version}, NRI {nri}"
                ),
            );
        }
        Ok(Known::Ended) => "any more",
        Ok(Known::Never) => "",
        Err(error) => {
            return examination.unknown(name, format!("{}: {error}", state.display()));
        }
    };
    // With a plugin that is connected the runtime is left in peace: it logs who connects and says nothing.
    match UnixStream::connect(socket) {
        Ok(_) => examination.finding(
            name,
            format!("no dra-guest-nri is connected {since}").trim_end().to_owned() + ": VMs get no document",
            "start it as docs/nri.md has it, and read its log; a plugin with another --state is not seen from here",
        ),
        Err(error) => examination.finding(
            name,
            format!("{}: {error}, so no plugin can connect", socket.display()),
            "start the container runtime, and look into its log for NRI",
        ),
    }
}

/// The hook that containers of VMs get.
pub fn hook(path: &Path, examination: &mut Examination) {
    let name = "hook";
    let place = path.display();
    let advice = "put dra-cdi-hook there (dra-guest-nri --install-hook, or dra-cdi-hook install), or say with --hook where it is";
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            examination.finding(name, format!("{place} is no file, so no VM starts"), advice);
        }
        Ok(found) if found.permissions().mode() & 0o111 == 0 => examination.finding(
            name,
            format!(
                "{place} cannot be run (mode {:04o}), so no VM starts",
                found.permissions().mode() & 0o7777
            ),
            advice,
        ),
        Ok(found) if found.permissions().mode() & 0o022 != 0 => examination.finding(
            name,
            format!("{place} can be changed by others than its owner, and runs as root"),
            "chmod go-w on it",
        ),
        Ok(_) => examination.ok(name, place.to_string()),
        Err(error) => {
            examination.finding(name, format!("{place}: {error}, so no VM starts"), advice);
        }
    }
}

/// What live updates read and write.
pub fn kubelet(directory: &Path, examination: &mut Examination) {
    for below in ["pods", "plugins"] {
        let directory = directory.join(below);
        match fs::read_dir(&directory) {
            Ok(_) => examination.ok("kubelet", directory.display().to_string()),
            Err(error) => examination.finding(
                "kubelet",
                format!("{}: {error}, so running VMs get no updates", directory.display()),
                "say with --kubelet where the kubelet's directory is; in a pod it is mounted at the same path",
            ),
        }
    }
}

/// Whether a relay listens.
pub fn relay(socket: &Path, examination: &mut Examination) {
    let name = "attributes-socket";
    let place = socket.display();
    match UnixStream::connect(socket) {
        Ok(_) => examination.ok(name, format!("{place}: a relay listens there")),
        Err(error) => examination.finding(
            name,
            format!("{place}: {error}, so devices whose driver writes no metadata are missing in documents"),
            "start dra-guest-relay with --attributes-socket, as deploy/nri/attributes does",
        ),
    }
}
