//! `doctor`: what it sees of a node that is as it has to be, and of nodes that are not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::Command;

use crate::node::{Node, wait};
use crate::runtime::Runtime;

/// Its standard output and exit code; `@` is the node's directory.
fn doctor(node: &Node, options: &[&str]) -> (String, Option<i32>) {
    let directory = node.directory.path().display().to_string();
    let usual = [
        "--socket=@/nri.sock",
        "--kubelet=@/kubelet",
        "--state=@/state",
        "--hook=@/dra-cdi-hook",
        "--containerd-config=@/config.toml",
    ];
    let name = |option: &str| option.split('=').next().map(str::to_owned);
    let usual = usual
        .iter()
        .filter(|usual| options.iter().all(|option| name(option) != name(usual)));
    let output = Command::new(env!("CARGO_BIN_EXE_dra-guest-nri"))
        .arg("doctor")
        .args(
            usual
                .chain(options)
                .map(|option| option.replace('@', &directory)),
        )
        .output()
        .unwrap();
    assert_eq!(output.stderr, b"");
    let said = String::from_utf8(output.stdout).unwrap();
    (said.replace(&directory, "@"), output.status.code())
}

/// A node with a hook and containerd's configuration.
fn node(configuration: &str) -> Node {
    let node = Node::new(&[]);
    let hook = node.path("dra-cdi-hook");
    fs::write(&hook, "").unwrap();
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    let directory = node.directory.path().display().to_string();
    fs::write(
        node.path("config.toml"),
        configuration.replace('@', &directory),
    )
    .unwrap();
    node
}

const GOOD: &str =
    "version = 3\n[plugins.'io.containerd.nri.v1.nri']\nsocket_path = '@/nri.sock'\n";

#[test]
fn a_node_that_is_as_it_has_to_be_has_no_findings() {
    let node = node(GOOD);
    let _runtime = Runtime::accept(&node.listener);
    let _relay = UnixListener::bind(node.path("relay.sock")).unwrap();
    let (said, code) = doctor(&node, &["--attributes-socket=@/relay.sock"]);
    let expected = format!(
        "ok       socket             @/nri.sock\n\
         ok       plugin             dra-guest-nri {} is connected to test , NRI of an unknown version\n\
         ok       containerd         @/config.toml has nothing against it\n\
         ok       hook               @/dra-cdi-hook\n\
         ok       kubelet            @/kubelet/pods\n\
         ok       kubelet            @/kubelet/plugins\n\
         ok       attributes-socket  @/relay.sock: a relay listens there\n\
         no findings\n",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!((said, code), (expected, Some(0)));
    let (said, code) = doctor(&node, &["--json"]);
    assert_eq!(code, Some(0));
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["findings"], 0);
    assert_eq!(said["checks"][0]["verdict"], "ok");
}

#[test]
fn a_plugin_that_ended_is_no_plugin() {
    let mut node = node(GOOD);
    drop(Runtime::accept(&node.listener));
    node.program.kill().unwrap();
    node.program.wait().unwrap();
    let (said, code) = doctor(&node, &[]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains(
            "FINDING  plugin      no dra-guest-nri is connected any more: VMs get no document\n"
        ),
        "{said}"
    );
    // A runtime that ended has left its socket.
    node.listener = UnixListener::bind(node.path("other.sock")).unwrap();
    let (said, _) = doctor(&node, &[]);
    assert!(said.contains("Connection refused"), "{said}");
}

/// A connection that ends is seen while the plugin runs on.
#[test]
fn a_connection_that_ended_is_none() {
    let node = node(GOOD);
    let runtime = Runtime::accept(&node.listener);
    drop(runtime);
    wait("no plugin is connected", || {
        doctor(&node, &[]).0.contains("is connected any more")
    });
}

#[test]
fn each_finding_says_what_to_do() {
    let section = "[plugins.'io.containerd.nri.v1.nri']\nsocket_path = '@/nri.sock'\n";
    let validator = "[plugins.'io.containerd.nri.v1.nri'.default_validator]\nenable = true\n";
    for (configuration, options, words) in [
        (
            format!("{section}disable = true\n"),
            vec![],
            "@/config.toml: NRI is off",
        ),
        (
            format!("{section}disable_connections = true\n"),
            vec![],
            "plugins may not connect",
        ),
        (
            section.replace("@/nri.sock", "/run/other.sock"),
            vec![],
            "containerd listens for plugins at /run/other.sock, and not at @/nri.sock",
        ),
        (
            format!("{section}{validator}reject_oci_hook_adjustment = true\n"),
            vec![],
            "containers to which a plugin adds a hook are not created",
        ),
        (
            format!("{section}{validator}required_plugins = ['dra-guest']\n"),
            vec![],
            "without this plugin no container is created, its own in a pod neither",
        ),
        (
            GOOD.to_owned(),
            vec!["--socket=@/none"],
            "@/none: No such file",
        ),
        (
            GOOD.to_owned(),
            vec!["--socket=@/config.toml"],
            "is no socket",
        ),
        (
            GOOD.to_owned(),
            vec!["--hook=@/none"],
            "@/none: No such file",
        ),
        (
            GOOD.to_owned(),
            vec!["--hook=@/kubelet"],
            "is no file, so no VM starts",
        ),
        (
            GOOD.to_owned(),
            vec!["--hook=@/config.toml"],
            "cannot be run (mode 0644), so no VM starts",
        ),
        (
            GOOD.to_owned(),
            vec!["--kubelet=@/none"],
            "@/none/pods: No such file",
        ),
        (
            GOOD.to_owned(),
            vec!["--attributes-socket=@/none"],
            "devices whose driver writes no metadata are missing",
        ),
    ] {
        let node = node(&configuration);
        let _runtime = Runtime::accept(&node.listener);
        let options: Vec<&str> = options;
        let (said, code) = doctor(&node, &options);
        assert_eq!(code, Some(1), "{said}");
        let place = said
            .find(words)
            .unwrap_or_else(|| panic!("{words}: {said}"));
        assert!(said[place..].contains("do: "), "{said}");
    }
}

#[test]
fn what_cannot_be_looked_at_is_no_finding() {
    for (configuration, words) in [
        ("plugins = 7\n", "has nothing against it"),
        ("version = 3\n[plugins\n", ":2 cannot be read: "),
        (
            "imports = ['/etc/containerd/conf.d/*.toml']\n",
            "are not looked at",
        ),
    ] {
        let node = node(configuration);
        let _runtime = Runtime::accept(&node.listener);
        let (said, code) = doctor(&node, &[]);
        assert!(said.contains(words), "{said}");
        assert_eq!(code, Some(0), "{said}");
    }
    let node = node("");
    let _runtime = Runtime::accept(&node.listener);
    let (said, code) = doctor(&node, &["--containerd-config=@/none"]);
    assert!(said.contains("is not there"), "{said}");
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_required_plugin_is_told() {
    let node = node(&format!(
        "{GOOD}[plugins.'io.containerd.nri.v1.nri'.default_validator]\nenable = true\n\
         required_plugins = ['other', 'dra-guest']\ntolerate_missing_plugins_annotation = 'example.com/without'\n"
    ));
    let _runtime = Runtime::accept(&node.listener);
    let (said, code) = doctor(&node, &[]);
    assert!(
        said.contains("of pods with the annotation example.com/without: \"true\""),
        "{said}"
    );
    assert_eq!(code, Some(0), "{said}");
}
