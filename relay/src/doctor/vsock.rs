//! Whether guests can reach a relay on this node.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use device_attributes::report::PORT;

use crate::cluster::vsock_mode;
use crate::configuration::listen_path;
use crate::guest_socket::GuestSocket;
use crate::listen::{ListenError, Vsock};
use examination::Examination;

/// The name of the relay's process, as the kernel has it: at most 15 bytes.
const RELAY: &str = "dra-guest-relay";

/// Looks at the kernel's vsock. `root` is `/`.
pub fn examine(root: &Path, examination: &mut Examination) {
    vhost(root, examination);
    mode(root, examination);
    port(root, Vsock::bind().map(drop), examination);
}

/// What the VMs' own side of vsock takes. sysfs shows it in a container, too, where `/dev` does not.
fn vhost(root: &Path, examination: &mut Examination) {
    let name = "vhost_vsock";
    let places = ["dev/vhost-vsock", "sys/class/misc/vhost-vsock"];
    if places.iter().any(|place| root.join(place).exists()) {
        examination.ok(name, "VMs of this host can have a vsock");
    } else {
        examination.finding(
            name,
            "neither /dev/vhost-vsock nor /sys/class/misc/vhost-vsock is there: no VM of this host can have a vsock",
            "load the kernel module on the node: modprobe vhost_vsock, and name it in /etc/modules-load.d",
        );
    }
}

fn mode(root: &Path, examination: &mut Examination) {
    let name = "vsock-mode";
    match vsock_mode::check(&root.join("proc/sys")) {
        Ok(()) => examination.ok(
            name,
            "global: guests of all pods reach the relay, each with its own CID",
        ),
        Err(words) => examination.finding(
            name,
            words,
            "start the node with net.vsock.child_ns_mode=global, the kernel's default",
        ),
    }
}

fn port(root: &Path, bound: Result<(), ListenError>, examination: &mut Examination) {
    let name = "vsock-port";
    let error = match bound {
        Ok(()) => {
            return examination.ok(name, format!("AF_VSOCK port {PORT} can be bound"));
        }
        Err(ListenError::Vsock(error)) => error,
        Err(other) => return examination.unknown(name, other.to_string()),
    };
    match error.kind() {
        ErrorKind::AddrInUse => match relay_at_work(root) {
            Some(pid) => examination.ok(
                name,
                format!("AF_VSOCK port {PORT} is taken: {RELAY} is at work, process {pid}"),
            ),
            None => examination.finding(
                name,
                format!("AF_VSOCK port {PORT} is taken, and no process here is named {RELAY}"),
                "find who has it: ss --vsock --listening --processes; if it is the relay of another pod of this node, \
                 remove one of them",
            ),
        },
        ErrorKind::PermissionDenied => examination.finding(
            name,
            format!("AF_VSOCK is forbidden: {error}"),
            "give the pod a seccomp profile that allows socket(AF_VSOCK): the default of containerd 1.7 and newer does not",
        ),
        _ => examination.finding(
            name,
            format!("AF_VSOCK port {PORT} cannot be bound: {error}"),
            "load the kernel modules vsock and vhost_vsock on the node; in a pod, look at its seccomp profile, too",
        ),
    }
}

/// The process ID of a relay that is not this program.
fn relay_at_work(root: &Path) -> Option<u32> {
    let processes = fs::read_dir(root.join("proc")).ok()?;
    processes.flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        (name.trim_end() == RELAY && pid != std::process::id()).then_some(pid)
    })
}

/// Looks at the sockets that stand for the kernel's vsock. Nobody is connected to: who does is the guest.
pub fn examine_sockets(root: &Path, sockets: &[GuestSocket], examination: &mut Examination) {
    let name = "guest-socket";
    let bound = fs::read_to_string(root.join("proc/net/unix")).unwrap_or_default();
    for GuestSocket { cid, socket } in sockets {
        let path = listen_path(socket);
        let place = format!("{} for CID {cid}", path.display());
        let is_bound = || {
            let of_line = |line: &str| line.split_whitespace().nth(7).map(PathBuf::from);
            bound
                .lines()
                .any(|line| of_line(line).as_ref() == Some(&path))
        };
        match fs::symlink_metadata(&path) {
            Ok(found) if !found.file_type().is_socket() => examination.finding(
                name,
                format!("{place}: this is not a socket"),
                "move it away, or give the guest another socket",
            ),
            Ok(_) if is_bound() => examination.ok(name, format!("{place} is listened on")),
            Ok(_) => examination.ok(
                name,
                format!("{place} was left behind; the relay replaces it"),
            ),
            Err(_) if path.parent().is_some_and(has_directory) => {
                examination.ok(name, format!("{place}: its directory is there"));
            }
            Err(error) => examination.finding(
                name,
                format!("{place}: {error}"),
                "make the directory, and let the relay write to it",
            ),
        }
    }
}

fn has_directory(path: &Path) -> bool {
    // The parent of a name alone is where the program runs.
    path.as_os_str().is_empty() || path.is_dir()
}

#[cfg(test)]
mod tests;
