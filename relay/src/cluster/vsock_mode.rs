//! Whether the vsock of the node's VMs reaches this program: since Linux 7.0 a network namespace can have one of its own.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The namespace's own mode, and that of the namespaces that are made in it, like those of pods
/// (Documentation/admin-guide/sysctl/net.rst of the kernel).
const FILES: [&str; 2] = ["ns_mode", "child_ns_mode"];

/// Holds that guests can reach a listener of this program. `sysctls` is `/proc/sys`.
///
/// In the mode `local` a VM's vsock ends in the network namespace of its pod, where KubeVirt gives every guest CID 3 and
/// `status.VSOCKCID` is not used (VEP 222 of kubevirt/enhancements): no guest comes here, and none could be told
/// from the others by its CID.
///
/// # Errors
/// A sentence: none of them can, and what to do.
pub fn check(sysctls: &Path) -> Result<(), String> {
    for file in FILES {
        let path = sysctls.join("net/vsock").join(file);
        let mode = match fs::read_to_string(&path) {
            // The kernel knows no modes, or vsock is not loaded yet.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            read => read.map_err(|error| format!("{}: {error}", path.display()))?,
        };
        if mode.trim() == "local" {
            return Err(format!(
                "{} is \"local\": the vsock of each VM ends in the network namespace of its pod, and no guest reaches \
                 this relay. Start the node with net.vsock.child_ns_mode=global, the kernel's default; it cannot be \
                 changed back before a reboot",
                path.display()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_node_whose_pods_have_no_vsock_of_their_own_is_served() {
        for (own, of_pods, refused) in [
            (None, None, None),
            (Some("global\n"), Some("global\n"), None),
            (Some("global\n"), Some("local\n"), Some("child_ns_mode")),
            // As a pod without the host's network sees it.
            (Some("local\n"), Some("local\n"), Some("ns_mode")),
        ] {
            let root = tempfile::tempdir().unwrap();
            let directory = root.path().join("net/vsock");
            fs::create_dir_all(&directory).unwrap();
            for (file, mode) in FILES.into_iter().zip([own, of_pods]) {
                if let Some(mode) = mode {
                    fs::write(directory.join(file), mode).unwrap();
                }
            }
            match (check(root.path()), refused) {
                (Ok(()), None) => {}
                (Err(words), Some(file)) => {
                    assert!(
                        words.contains(&format!("net/vsock/{file} is \"local\"")),
                        "{words}"
                    );
                }
                (result, _) => panic!("{own:?} {of_pods:?}: {result:?}"),
            }
        }
    }
}
