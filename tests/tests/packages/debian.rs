//! Installed, upgraded, removed and purged by dpkg in a Debian 13 root with systemd, which does not run there. What
//! the scripts do on a guest that runs is in the suite `guest_boot`.

use std::fs;

use dra_guest_tests::packages::DebianRoot;

use super::{later_packages, packages};

const AGENT: &str = "dra-guest-agent";
const NODE: &str = "dra-guest-node";

fn install(root: &DebianRoot, package: &std::path::Path) -> String {
    let path = root.bring(package).unwrap();
    root.stdout_of(&format!("dpkg --install {path} 2>&1"))
        .unwrap()
}

#[test]
fn the_agent_is_enabled_when_it_is_installed() {
    let root = DebianRoot::new().unwrap();
    install(&root, &packages().deb(AGENT).unwrap());
    let enabled = root
        .stdout_of("systemctl is-enabled dra-guest-agent.service")
        .unwrap();
    assert_eq!(enabled.trim(), "enabled");
    let version = root.stdout_of("dra-guest-agent --version").unwrap();
    assert_eq!(version.trim(), "dra-guest-agent 0.1.0");
    // No file is another than the package has.
    let verified = root.stdout_of("dpkg --verify dra-guest-agent").unwrap();
    assert_eq!(verified, "");
    let example = "/usr/share/doc/dra-guest-agent/examples/agent.toml";
    root.stdout_of(&format!("dra-guest-agent validate {example}"))
        .unwrap();
}

#[test]
fn a_preset_of_the_image_has_the_last_word() {
    let root = DebianRoot::new().unwrap();
    root.stdout_of(
        "mkdir -p /etc/systemd/system-preset && \
         echo 'disable dra-guest-agent.service' >/etc/systemd/system-preset/10-image.preset",
    )
    .unwrap();
    install(&root, &packages().deb(AGENT).unwrap());
    let enabled = root
        .run("systemctl is-enabled dra-guest-agent.service")
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&enabled.stdout).trim(), "disabled");
}

#[test]
fn an_upgrade_leaves_the_administrators_choices() {
    let root = DebianRoot::new().unwrap();
    install(&root, &packages().deb(AGENT).unwrap());
    root.stdout_of(
        "systemctl --quiet disable dra-guest-agent.service && mkdir -p /etc/dra-guest && \
         echo '[[device]]' >/etc/dra-guest/agent.toml",
    )
    .unwrap();
    install(&root, &later_packages().deb(AGENT).unwrap());
    let enabled = root
        .run("systemctl is-enabled dra-guest-agent.service")
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&enabled.stdout).trim(), "disabled");
    let policy = root.stdout_of("cat /etc/dra-guest/agent.toml").unwrap();
    assert_eq!(policy, "[[device]]\n");
    let installed = root
        .stdout_of("dpkg-query --show --showformat='${Version}' dra-guest-agent")
        .unwrap();
    assert_eq!(installed, "0.1.1-1");

    // And back again.
    install(&root, &packages().deb(AGENT).unwrap());
    let version = root.stdout_of("dra-guest-agent --version").unwrap();
    assert_eq!(version.trim(), "dra-guest-agent 0.1.0");
    let enabled = root
        .run("systemctl is-enabled dra-guest-agent.service")
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&enabled.stdout).trim(), "disabled");
    let policy = root.stdout_of("cat /etc/dra-guest/agent.toml").unwrap();
    assert_eq!(policy, "[[device]]\n");
}

#[test]
fn removed_it_is_remembered_and_purged_it_is_gone() {
    let root = DebianRoot::new().unwrap();
    let before = root.files().unwrap();
    for package in [AGENT, NODE] {
        install(&root, &packages().deb(package).unwrap());
    }
    let verified = root
        .stdout_of("dpkg --verify dra-guest-agent dra-guest-node")
        .unwrap();
    assert_eq!(verified, "");
    root.stdout_of(
        "mkdir -p /etc/dra-guest/agent.d /run/dra-guest && \
         echo '[[device]]' >/etc/dra-guest/agent.toml && : >/etc/dra-guest/relay.conf && \
         : >/etc/dra-guest/agent.d/50-nic.toml && : >/run/dra-guest/status.json && \
         mkdir -p /run/systemd/network && : >/run/systemd/network/00-dra-guest.network",
    )
    .unwrap();
    root.stdout_of("dpkg --remove dra-guest-agent dra-guest-node")
        .unwrap();
    let policy = root.stdout_of("cat /etc/dra-guest/agent.toml").unwrap();
    assert_eq!(policy, "[[device]]\n");
    // It comes back as it was.
    install(&root, &packages().deb(AGENT).unwrap());
    let enabled = root
        .stdout_of("systemctl is-enabled dra-guest-agent.service")
        .unwrap();
    assert_eq!(enabled.trim(), "enabled");
    root.stdout_of(
        "mkdir -p /run/systemd/system/a.service.d && \
         : >/run/systemd/system/a.service.d/90-dra-guest.conf && \
         dpkg --purge dra-guest-agent dra-guest-node",
    )
    .unwrap();
    let after = root.files().unwrap();
    let left: Vec<_> = after.difference(&before).collect();
    let missing: Vec<_> = before.difference(&after).collect();
    // Directories of systemd's, which others use as well.
    let others = ["network", "system", "system/a.service.d"];
    let others = others.map(|name| format!("/run/systemd/{name} -> "));
    let left: Vec<_> = left
        .into_iter()
        .filter(|path| !others.contains(path))
        .collect();
    assert!(
        left.is_empty() && missing.is_empty(),
        "left: {left:#?}, missing: {missing:#?}"
    );
}

#[test]
fn a_file_of_the_image_in_etc_dra_guest_outlives_a_purge() {
    let root = DebianRoot::new().unwrap();
    install(&root, &packages().deb(AGENT).unwrap());
    root.stdout_of("mkdir -p /etc/dra-guest && : >/etc/dra-guest/of-the-image")
        .unwrap();
    root.stdout_of("dpkg --purge dra-guest-agent").unwrap();
    root.stdout_of("test -e /etc/dra-guest/of-the-image")
        .unwrap();
}

/// As where an image is built on a root whose /etc is another layer: the service is not enabled, and the package is in.
#[test]
fn a_read_only_etc_does_not_keep_it_out() {
    let root = DebianRoot::new().unwrap();
    let path = root.bring(&packages().deb(AGENT).unwrap()).unwrap();
    root.stdout_of(&format!(
        "mount --bind /etc /etc && mount -o remount,bind,ro /etc && dpkg --install {path} 2>&1"
    ))
    .unwrap();
    let status = "dpkg-query --show --showformat='${Status}' dra-guest-agent";
    assert_eq!(root.stdout_of(status).unwrap(), "install ok installed");
    // What a first boot does with an empty machine-id.
    root.stdout_of(
        "systemctl --root=/ preset-all >/dev/null 2>&1; \
         systemctl --root=/ is-enabled dra-guest-agent.service",
    )
    .unwrap();
}

#[test]
fn the_nodes_relay_is_not_enabled_and_its_cdi_spec_names_the_hook() {
    let root = DebianRoot::new().unwrap();
    install(&root, &packages().deb(NODE).unwrap());
    let enabled = root
        .run("systemctl is-enabled dra-guest-relay.service")
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&enabled.stdout).trim(), "disabled");
    let spec = root.stdout_of("cat /etc/cdi/dra-guest-vm.json").unwrap();
    assert!(spec.contains("\"/usr/bin/dra-cdi-hook\""), "{spec}");
    root.stdout_of("dra-guest-relay --version && dra-cdi-hook --version")
        .unwrap();
    // What an administrator changed in it stays.
    root.stdout_of("echo '{}' >/etc/cdi/dra-guest-vm.json")
        .unwrap();
    let path = root.bring(&later_packages().deb(NODE).unwrap()).unwrap();
    root.stdout_of(&format!("dpkg --force-confdef --install {path}"))
        .unwrap();
    let spec = root.stdout_of("cat /etc/cdi/dra-guest-vm.json").unwrap();
    assert_eq!(spec, "{}\n");
}

/// The recipe of `vm-images/initramfs-tools`, with the package's agent, for a kernel without modules.
#[test]
fn the_initramfs_hook_takes_the_agent_in() {
    let root = DebianRoot::new().unwrap();
    install(&root, &packages().deb(AGENT).unwrap());
    let recipe = dra_guest_tests::programs::workspace().join("vm-images/initramfs-tools");
    for (file, place) in [
        ("hooks/dra-guest", "/etc/initramfs-tools/hooks/dra-guest"),
        (
            "scripts/init-premount/dra-guest",
            "/etc/initramfs-tools/scripts/init-premount/dra-guest",
        ),
    ] {
        let path = root.bring(&recipe.join(file)).unwrap();
        root.stdout_of(&format!("install -D -m 0755 {path} {place}"))
            .unwrap();
    }
    let listed = root
        .stdout_of(
            "mkdir -p /etc/dra-guest /usr/lib/modules/6.12.0 && echo '[[device]]' >/etc/dra-guest/agent.toml && \
             touch /usr/lib/modules/6.12.0/modules.order /usr/lib/modules/6.12.0/modules.builtin && \
             depmod 6.12.0 && mkinitramfs -o /tmp/initrd 6.12.0 2>/tmp/said && lsinitramfs /tmp/initrd && \
             unmkinitramfs /tmp/initrd /tmp/tree && cat /tmp/tree/scripts/init-premount/ORDER",
        )
        .unwrap();
    for part in [
        "usr/bin/dra-guest-agent\n",
        "etc/dra-guest/agent.toml\n",
        "scripts/init-premount/dra-guest\n",
        "/scripts/init-premount/dra-guest \"$@\"",
    ] {
        assert!(listed.contains(part), "{part} is not in:\n{listed}");
    }
}

/// The recipe for images without a package manager lays out the same.
#[test]
fn the_tree_for_images_is_that_of_the_package() {
    let scratch = tempfile::tempdir().unwrap();
    let (tree, package) = (scratch.path().join("tree"), scratch.path().join("package"));
    let recipe = dra_guest_tests::programs::workspace().join("vm-images/agent-tree.sh");
    let agent = dra_guest_tests::programs::static_program(AGENT).unwrap();
    let run = |command: &mut std::process::Command| {
        dra_guest_tests::command::stdout_of(command).unwrap();
    };
    run(std::process::Command::new(recipe).arg(agent).arg(&tree));
    run(std::process::Command::new("dpkg-deb")
        .arg("--extract")
        .arg(packages().deb(AGENT).unwrap())
        .arg(&package));
    let listed = dra_guest_tests::command::stdout_of(
        std::process::Command::new("find")
            .args([".", "-type", "f", "-printf", "%m %P\n"])
            .current_dir(&tree),
    )
    .unwrap();
    assert!(listed.contains("usr/bin/dra-guest-agent"), "{listed}");
    for line in listed.lines() {
        let (mode, file) = line.split_once(' ').unwrap();
        let packed = package.join(file);
        assert!(
            fs::read(tree.join(file)).unwrap() == fs::read(&packed).unwrap(),
            "{file}"
        );
        let bits =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(packed).unwrap().permissions());
        assert_eq!(format!("{:o}", bits & 0o7777), mode, "{file}");
    }
    for directory in ["usr/lib/systemd", "usr/libexec/dra-guest", "usr/bin"] {
        let count = |root: &std::path::Path| {
            let files = dra_guest_tests::command::stdout_of(
                std::process::Command::new("find")
                    .arg(root.join(directory))
                    .args(["-type", "f", "-printf", "x"]),
            );
            files.unwrap().len()
        };
        assert_eq!(count(&tree), count(&package), "{directory}");
    }
}
