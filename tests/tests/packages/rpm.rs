//! Installed, upgraded and erased by rpm. The root is a Debian one with a database of rpm in it, since a Fedora is not
//! to be had from Debian's archive: rpm runs the packages' scripts there, with a real systemctl. Requirements are not
//! resolved, as that database knows of nothing else; the only one is a shell.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use dra_guest_tests::command::stdout_of;
use dra_guest_tests::packages::DebianRoot;

use super::{files, later_packages, packages, unpacked};

const AGENT: &str = "dra-guest-agent";
const NODE: &str = "dra-guest-node";

/// Directories of programs that this root does not have.
const SHARED: [&str; 3] = [
    "/usr/share/fish",
    "/usr/share/fish/vendor_completions.d",
    "/usr/share/licenses",
];

/// Presets as Fedora's: what no preset names is off.
fn fedora_presets(root: &DebianRoot) {
    root.stdout_of(
        "mkdir -p /etc/systemd/system-preset && \
         echo 'disable *' >/etc/systemd/system-preset/99-default-disable.preset",
    )
    .unwrap();
}

fn rpm(root: &DebianRoot, what: &str, package: &std::path::Path) -> String {
    let path = root.bring(package).unwrap();
    root.rpm(&format!("{what} --nodeps {path}")).unwrap()
}

#[test]
fn it_needs_nothing_but_a_shell() {
    for name in [AGENT, NODE] {
        let package = packages().rpm(name).unwrap();
        let requires = stdout_of(
            Command::new("rpm")
                .args(["--query", "--requires", "--package"])
                .arg(&package),
        )
        .unwrap();
        let others: BTreeSet<&str> = requires
            .lines()
            .filter(|line| !line.starts_with("rpmlib(") && !line.starts_with("config("))
            .collect();
        assert_eq!(others, BTreeSet::from(["/bin/sh"]), "{name}");
    }
}

/// Pages, completions, bill of materials, licences, units, presets and programs: byte for byte, where Fedora has them.
#[test]
fn it_has_what_the_debian_package_has() {
    for name in [AGENT, NODE] {
        let debian = unpacked(name);
        let fedora = tempfile::tempdir().unwrap();
        let script = "rpm2cpio \"$1\" | cpio --extract --make-directories --quiet";
        stdout_of(
            Command::new("sh")
                .args(["-c", script, "sh"])
                .arg(packages().rpm(name).unwrap())
                .current_dir(fedora.path()),
        )
        .unwrap();
        let documents = format!("usr/share/doc/{name}/");
        let mut expected = BTreeSet::new();
        for file in files(debian.path()) {
            let place = match file.strip_prefix(&documents) {
                // What a changelog of Debian's form is to say; an .rpm has none.
                Some("changelog.gz" | "changelog.Debian.gz") => continue,
                Some(licences @ ("copyright" | "COPYRIGHT-library.html.gz")) => {
                    format!("usr/share/licenses/{name}/{licences}")
                }
                _ => file.replace("/zsh/vendor-completions/", "/zsh/site-functions/"),
            };
            assert!(
                fs::read(debian.path().join(&file)).unwrap()
                    == fs::read(fedora.path().join(&place)).unwrap(),
                "{place} is not what the Debian package has as {file}"
            );
            expected.insert(place);
        }
        let all: BTreeSet<String> = files(fedora.path()).into_iter().collect();
        assert_eq!(all, expected, "{name}");
    }
}

#[test]
fn its_presets_are_in_force_upgrades_leave_them_and_nothing_is_left() {
    let root = DebianRoot::new().unwrap();
    fedora_presets(&root);
    let before = root.files().unwrap();
    for name in [AGENT, NODE] {
        rpm(&root, "--install", &packages().rpm(name).unwrap());
    }
    let state = |unit: &str| {
        let output = root.run(&format!("systemctl is-enabled {unit}")).unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(state("dra-guest-agent.service"), "enabled");
    assert_eq!(state("dra-guest-relay.service"), "disabled");
    let verified = root
        .rpm("--verify --nodeps dra-guest-agent dra-guest-node")
        .unwrap();
    assert_eq!(verified.trim(), "");

    root.stdout_of(
        "systemctl --quiet disable dra-guest-agent.service && echo '{}' >/etc/cdi/dra-guest-vm.json",
    )
    .unwrap();
    for name in [AGENT, NODE] {
        rpm(&root, "--upgrade", &later_packages().rpm(name).unwrap());
    }
    assert_eq!(state("dra-guest-agent.service"), "disabled");
    let spec = root.stdout_of("cat /etc/cdi/dra-guest-vm.json").unwrap();
    assert_eq!(spec, "{}\n");
    let versions = root.rpm("--query dra-guest-agent dra-guest-node").unwrap();
    assert_eq!(versions.matches("-0.1.1-1.").count(), 2, "{versions}");

    // And back again.
    for name in [AGENT, NODE] {
        rpm(
            &root,
            "--upgrade --oldpackage",
            &packages().rpm(name).unwrap(),
        );
    }
    assert_eq!(state("dra-guest-agent.service"), "disabled");
    let version = root.stdout_of("dra-guest-agent --version").unwrap();
    assert_eq!(version.trim(), "dra-guest-agent 0.1.0");

    root.stdout_of("systemctl --quiet enable dra-guest-agent.service")
        .unwrap();
    root.rpm("--erase dra-guest-agent dra-guest-node").unwrap();
    let after = root.files().unwrap();
    let left: Vec<_> = after
        .difference(&before)
        // The administrator's, kept beside its place.
        .filter(|path| !path.starts_with("/etc/cdi"))
        // On a Fedora they are other packages'.
        .filter(|path| !SHARED.contains(&path.trim_end_matches(" -> ")))
        .filter(|path| !path.contains("/dra-guest -> ") || !path.starts_with("/usr"))
        .collect();
    assert!(left.is_empty(), "{left:#?}");
}
