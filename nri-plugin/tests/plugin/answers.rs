//! Which containers get the hook, and what it is told.

use dra_guest_nri::protocol::detail::{CdiDevice, Container, CreateContainerResponse, Hook, Hooks};

use crate::node::{Node, VM_MOUNT, hook, pod};
use crate::runtime::Runtime;

#[test]
fn a_vms_container_gets_the_hook() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    runtime.synchronize(&[]);
    let wish = runtime.create(&pod(), &node.compute());
    let hook = hook(&wish).unwrap();
    assert_eq!(hook.path, "/usr/local/bin/dra-cdi-hook");
    assert_eq!(
        hook.args,
        [
            "dra-cdi-hook",
            "create-container",
            &format!("--vm-mount={VM_MOUNT}")
        ]
    );
    assert_eq!(hook.env, ["DRA_GUEST_LOG=info"]);
    assert_eq!(hook.timeout.map(|timeout| timeout.value), Some(10));
}

#[test]
fn the_hook_is_told_what_the_plugin_was_told() {
    let node = Node::new(&[
        "--hook=/opt/dra-guest/dra-cdi-hook",
        "--vm-mount=/vm",
        "--export",
        "numaNode",
        "vendor.example.com/model",
        "--on-error=skip",
        "--hook-log=/var/log/hook.log",
        "--pod-label=example.com/vm=yes",
        "--container=machine",
    ]);
    let mut runtime = Runtime::accept(&node.listener);
    let mut container = node.compute();
    container.name = "machine".to_owned();
    container.mounts[1].destination = "/vm/".to_owned();
    let mut pod = pod();
    pod.labels = [("example.com/vm".to_owned(), "yes".to_owned())].into();
    let wish = runtime.create(&pod, &container);
    let hook = hook(&wish).unwrap();
    assert_eq!(hook.path, "/opt/dra-guest/dra-cdi-hook");
    assert_eq!(
        hook.args[2..],
        [
            "--vm-mount=/vm",
            "--export=numaNode",
            "--export=vendor.example.com/model",
            "--on-error=skip",
            "--log=/var/log/hook.log",
        ]
    );
}

#[test]
fn others_stay_as_they_are() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    let mut untouched = |what: &str,
                         change: &dyn Fn(
        &mut dra_guest_nri::protocol::detail::PodSandbox,
        &mut Container,
    )| {
        let (mut pod, mut container) = (pod(), node.compute());
        change(&mut pod, &mut container);
        let wish = runtime.create(&pod, &container);
        assert_eq!(wish, CreateContainerResponse::default(), "{what}");
    };
    untouched("another container", &|_, container| {
        container.name = "istio-proxy".to_owned();
    });
    untouched("no name", &|_, container| container.name.clear());
    untouched("another pod", &|pod, _| pod.labels.clear());
    untouched("another value", &|pod, _| {
        pod.labels
            .insert("kubevirt.io".to_owned(), "virt-handler".to_owned());
    });
    untouched("opted out", &|pod, _| {
        pod.annotations
            .insert("dra-guest/nri".to_owned(), "off".to_owned());
    });
    untouched("no VM mount", &|_, container| {
        container.mounts.remove(1);
    });
    untouched("no metadata", &|_, container| {
        container.mounts.remove(2);
    });
    untouched("the driver's hook", &|_, container| {
        container.hooks = Some(Hooks {
            create_container: vec![Hook {
                path: "/opt/bin/dra-cdi-hook".to_owned(),
                args: ["dra-cdi-hook", "create-container"]
                    .map(str::to_owned)
                    .to_vec(),
                ..Hook::default()
            }],
        });
    });
    untouched("the driver's CDI device", &|_, container| {
        container.cdi_devices = vec![CdiDevice {
            name: "dra-guest/vm=attributes".to_owned(),
        }];
    });
}

#[test]
fn anothers_hook_and_any_other_annotation_are_no_reason() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    let (mut pod, mut container) = (pod(), node.compute());
    pod.annotations
        .insert("dra-guest/nri".to_owned(), "on".to_owned());
    container.hooks = Some(Hooks {
        create_container: vec![Hook {
            path: "/usr/bin/nvidia-cdi-hook".to_owned(),
            args: ["nvidia-cdi-hook", "create-symlinks"]
                .map(str::to_owned)
                .to_vec(),
            ..Hook::default()
        }],
    });
    container.cdi_devices = vec![CdiDevice {
        name: "sriov.example.com/metadata=x".to_owned(),
    }];
    let wish = runtime.create(&pod, &container);
    assert!(hook(&wish).is_some());
}

#[test]
fn run_for_var_run_is_the_same_place() {
    let node = Node::new(&[]);
    let mut runtime = Runtime::accept(&node.listener);
    let mut container = node.compute();
    container.mounts[1].destination = "/run/device-attributes".to_owned();
    let wish = runtime.create(&pod(), &container);
    assert!(hook(&wish).is_some());
}
