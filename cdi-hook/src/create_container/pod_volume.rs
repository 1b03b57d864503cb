//! Whether the VM mount of a pod is a volume of that pod.
//!
//! A runtime mounts what the pod's author asked for, and an image may put a link in the VM mount's
//! place. A hostPath there would have root write a file of known name into a directory of the node,
//! or of another pod. So where the runtime says whose container it is, the directory must be one of
//! the pod's emptyDirs as the kubelet makes them: `<its root>/pods/<UID>/volumes/kubernetes.io~empty-dir/<name>`,
//! in memory or not. The names come from the bundle, which no stranger writes; the proof is that the
//! directory there and the VM mount are one.

use device_attributes::Name;
use rustix::io::Errno;

use super::bundle::{ConfigMount, Configuration};
use super::error::Error;
use super::pod::PodAnnotations;
use super::rootfs::place_at;
use super::vm_mount::VmMount;

/// The most mounts that are compared; a pod has a few.
const VOLUMES: usize = 256;

/// Makes sure that the VM mount is an emptyDir of the pod; where there is no pod, there is nothing
/// to compare.
pub(crate) fn check(
    mount: &VmMount,
    annotations: &PodAnnotations,
    configuration: &Configuration,
) -> Result<(), Error> {
    let uid = match annotations.pod() {
        Ok(None) => return Ok(()),
        Ok(Some(pod)) => pod.uid,
        // Told of when the document is made.
        Err(_) => None,
    };
    let mounts = configuration
        .mounts()
        .map_err(|reason| Error::VmMountSourceUnknown {
            path: mount.path().to_owned(),
            reason: Box::new(reason),
        })?;
    let volumes = mounts
        .iter()
        .filter_map(|mount| Some((mount, mount.source.as_deref()?)))
        .filter(|(_, source)| is_empty_dir(source, uid.as_ref()))
        .take(VOLUMES);
    let mut hidden = false;
    for (volume, source) in volumes {
        match place_at(source) {
            Ok(place) if mount.is(&place) => return Ok(()),
            // In a user namespace the kubelet's directories are closed. There the bundle's word is
            // all that there is.
            Err(Error::Examine {
                source: Errno::ACCESS,
                ..
            }) => hidden |= same_path(&volume.destination, mount.path()),
            _ => {}
        }
    }
    if hidden {
        return Ok(());
    }
    Err(Error::VmMountOfOthers {
        path: mount.path().to_owned(),
        uid: uid.map_or_else(|| "*".to_owned(), |uid| uid.to_string()),
        found: found(&mounts, mount.path()),
    })
}

/// What the bundle says of the mount, for the message.
fn found(mounts: &[ConfigMount], path: &str) -> String {
    let mount = mounts
        .iter()
        .rfind(|mount| same_path(&mount.destination, path));
    match mount.map(|mount| mount.source.as_deref().unwrap_or("nothing of the node")) {
        Some(source) => format!("config.json mounts {source} there"),
        None => "config.json mounts nothing there".to_owned(),
    }
}

/// Whether two absolute paths are spelt alike, but for slashes too many.
fn same_path(one: &str, other: &str) -> bool {
    let parts = |path: &'_ str| {
        path.split('/')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    parts(one) == parts(other)
}

/// Whether a path of the node is one that the kubelet gives an emptyDir of the pod, or of any where
/// the runtime tells no UID.
fn is_empty_dir(source: &str, uid: Option<&Name>) -> bool {
    if !source.starts_with('/') || source.split('/').any(|part| matches!(part, "." | "..")) {
        return false;
    }
    let mut parts = source.rsplit('/');
    parts.next().is_some_and(|name| !name.is_empty())
        && parts.next() == Some("kubernetes.io~empty-dir")
        && parts.next() == Some("volumes")
        && parts
            .next()
            .is_some_and(|pod| uid.map_or(!pod.is_empty(), |uid| uid.as_str() == pod))
        && parts.next() == Some("pods")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_empty_dir_of_the_pod_is_one() {
        let uid: Name = "5f0c9a34".parse().unwrap();
        for (source, of_the_pod, of_any) in [
            (
                "/var/lib/kubelet/pods/5f0c9a34/volumes/kubernetes.io~empty-dir/vm",
                true,
                true,
            ),
            (
                "/data/pods/5f0c9a34/volumes/kubernetes.io~empty-dir/vm",
                true,
                true,
            ),
            (
                "/var/lib/kubelet/pods/other/volumes/kubernetes.io~empty-dir/vm",
                false,
                true,
            ),
            (
                "/var/lib/kubelet/pods/5f0c9a34/volumes/kubernetes.io~empty-dir/vm/sub",
                false,
                false,
            ),
            (
                "/var/lib/kubelet/pods/5f0c9a34/volumes/kubernetes.io~empty-dir/",
                false,
                false,
            ),
            (
                "/var/lib/kubelet/pods/5f0c9a34/volumes/kubernetes.io~empty-dir/..",
                false,
                false,
            ),
            (
                "/x/../pods/5f0c9a34/volumes/kubernetes.io~empty-dir/vm",
                false,
                false,
            ),
            (
                "/var/lib/kubelet/pods/5f0c9a34/volumes/kubernetes.io~configmap/vm",
                false,
                false,
            ),
            (
                "/var/lib/kubelet/pods/5f0c9a34/volume-subpaths/vm/compute/0",
                false,
                false,
            ),
            (
                "pods/5f0c9a34/volumes/kubernetes.io~empty-dir/vm",
                false,
                false,
            ),
            ("/etc", false, false),
            ("tmpfs", false, false),
            ("", false, false),
        ] {
            assert_eq!(is_empty_dir(source, Some(&uid)), of_the_pod, "{source}");
            assert_eq!(is_empty_dir(source, None), of_any, "{source}");
        }
    }

    #[test]
    fn slashes_too_many_make_no_other_path() {
        assert!(same_path("/var//run/x/", "/var/run/x"));
        assert!(!same_path("/var/run/x", "/run/x"));
    }
}
