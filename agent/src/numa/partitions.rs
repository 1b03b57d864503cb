//! cpuset partitions: CPUs that a cgroup has for itself
//! (`Documentation/admin-guide/cgroup-v2.rst`, `cpuset.cpus.partition`).
//!
//! The kernel runs nothing of other cgroups there. Worse, who gives such a CPU to another cgroup (systemd's
//! `AllowedCPUs=`) ends the partition: the kernel marks it invalid.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::CpuList;
use crate::small_file;

/// The root of the cgroups, below sysfs.
const CGROUPS: &str = "fs/cgroup";
/// How many cgroups are looked at.
const GROUPS: usize = 1024;
/// How deep they may lie: systemd's slices, and a container's own below.
const DEPTH: usize = 8;

/// The CPUs that one cgroup has for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Partition {
    /// Its path below the root of the cgroups.
    pub group: PathBuf,
    /// Its CPUs.
    pub cpus: CpuList,
    /// Whether the scheduler leaves them alone, as those of `isolcpus=`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_isolated: bool,
}

/// The CPUs that cgroups without a partition share; none where the kernel does not say.
pub fn shared_cpus(sys: &Path) -> Option<CpuList> {
    let path = sys.join(CGROUPS).join("cpuset.cpus.effective");
    text(&path)?.parse().ok()
}

/// The partitions that are in force, where some of the CPUs `online` are in one.
pub(super) fn read(sys: &Path, online: &CpuList) -> Vec<Partition> {
    // One file tells whether there are any: most guests have none.
    if shared_cpus(sys).is_none_or(|shared| online.is_subset(&shared)) {
        return Vec::new();
    }
    let root = sys.join(CGROUPS);
    let mut partitions = Vec::new();
    let mut open = vec![(PathBuf::new(), 0)];
    let mut left = GROUPS;
    while let Some((parent, depth)) = open.pop() {
        let Ok(entries) = root.join(&parent).read_dir() else {
            continue;
        };
        for entry in entries.flatten() {
            let group = parent.join(entry.file_name());
            // A cgroup without it has no cpuset of its own, and none below it has.
            let Some(kind) = text(&root.join(&group).join("cpuset.cpus.partition")) else {
                continue;
            };
            if left == 0 {
                return partitions;
            }
            left -= 1;
            // One that is not in force says why: `root invalid (…)`.
            if let kind @ ("root" | "isolated") = kind.trim() {
                let cpus = cpus_of(&root.join(&group));
                let is_isolated = kind == "isolated";
                partitions.push(Partition {
                    group: group.clone(),
                    cpus,
                    is_isolated,
                });
            }
            if depth < DEPTH {
                open.push((group, depth + 1));
            }
        }
    }
    partitions.sort_by(|one, other| one.group.cmp(&other.group));
    partitions
}

/// With those that it has passed on to partitions of its own, where the kernel says so (Linux 6.7).
fn cpus_of(group: &Path) -> CpuList {
    ["cpuset.cpus.exclusive.effective", "cpuset.cpus.effective"]
        .iter()
        .filter_map(|file| text(&group.join(file))?.parse().ok())
        .fold(CpuList::new(), |all, cpus: CpuList| all.union(&cpus))
}

impl Partition {
    /// Whether it is that of a unit, of one of a template's instances, or of what runs in a slice.
    pub fn is_of(&self, unit: &str) -> bool {
        let template = unit.split_once("@.");
        let mut names = self.group.iter().filter_map(|name| name.to_str());
        names.any(|name| match template {
            _ if name == unit => true,
            Some((stem, end)) => {
                let instance = name.strip_prefix(stem).and_then(|it| it.strip_prefix('@'));
                instance.is_some_and(|it| it.strip_suffix(end).is_some_and(|it| it.ends_with('.')))
            }
            None => false,
        })
    }
}

fn text(path: &Path) -> Option<String> {
    String::from_utf8(small_file::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn cpus(text: &str) -> CpuList {
        text.parse().unwrap()
    }

    fn sysfs(files: &[(&str, &str)]) -> tempfile::TempDir {
        let sys = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = sys.path().join(CGROUPS).join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        sys
    }

    #[test]
    fn those_in_force_are_found_at_any_depth() {
        let sys = sysfs(&[
            ("cpuset.cpus.effective", "0-1,6-7\n"),
            ("system.slice/cpuset.cpus.partition", "member\n"),
            ("system.slice/a.service/cpuset.cpus.partition", "root\n"),
            ("system.slice/a.service/cpuset.cpus.effective", "2\n"),
            (
                "system.slice/a.service/cpuset.cpus.exclusive.effective",
                "2-3\n",
            ),
            ("alone/cpuset.cpus.partition", "isolated\n"),
            ("alone/cpuset.cpus.effective", "4-5\n"),
            (
                "broken/cpuset.cpus.partition",
                "root invalid (Cpu list in cpuset.cpus not exclusive)\n",
            ),
            ("broken/cpuset.cpus.effective", "6\n"),
            ("user.slice/cgroup.procs", ""),
        ]);
        let found = read(sys.path(), &cpus("0-7"));
        let partition = |group: &str, list: &str, is_isolated| Partition {
            group: group.into(),
            cpus: cpus(list),
            is_isolated,
        };
        assert_eq!(
            found,
            [
                partition("alone", "4-5", true),
                partition("system.slice/a.service", "2-3", false)
            ]
        );
        // All that is online is shared: nothing else is looked at.
        assert_eq!(read(sys.path(), &cpus("0-1,6")), []);
    }

    #[test]
    fn without_cgroups_or_a_cpuset_there_are_none() {
        let sys = sysfs(&[("cgroup.procs", "")]);
        assert_eq!(read(sys.path(), &cpus("0-3")), []);
        assert_eq!(shared_cpus(sys.path()), None);
    }

    #[test]
    fn a_partition_is_of_its_unit_and_of_what_that_is_in() {
        let of = |group: &str| Partition {
            group: group.into(),
            cpus: cpus("1"),
            is_isolated: false,
        };
        let service = of("near.slice/a.service");
        assert!(service.is_of("a.service") && service.is_of("near.slice"));
        assert!(!service.is_of("b.service") && !service.is_of("a@.service"));
        let instance = of("system.slice/system-a.slice/a@x.service");
        assert!(instance.is_of("a@.service") && instance.is_of("a@x.service"));
        assert!(!instance.is_of("a@y.service") && !instance.is_of("a@.slice"));
        assert!(!instance.is_of("@.service"));
    }
}
