//! What a container that is none of a VM's costs the plugin.
#![allow(clippy::unwrap_used, missing_docs)]

use allocation_counter::measure;
use bytes::Bytes;
use clap::Parser as _;
use dra_guest_nri::command_line::Arguments;
use dra_guest_nri::plugin::Plugin;
use dra_guest_nri::protocol::detail::{Container, Mount, PodSandbox};
use prost::Message as _;

fn foreign(mounts: usize) -> Bytes {
    let mount = Mount {
        destination: "/var/run/kubernetes.io/dra-device-attributes/a/b/c-metadata.json".to_owned(),
        source: "/var/lib/kubelet/plugins/c/dra-device-metadata/a/b/metadata.json".to_owned(),
    };
    let container = Container {
        id: "c0ffee".to_owned(),
        name: "istio-proxy".to_owned(),
        mounts: vec![mount; mounts],
        ..Container::default()
    };
    container.encode_to_vec().into()
}

#[test]
fn of_a_foreign_container_only_the_name_is_compared() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state").display().to_string();
    let arguments = Arguments::try_parse_from(["dra-guest-nri", "--state", &state]).unwrap();
    let plugin = Plugin::start(&arguments).unwrap();
    let pod: Bytes = PodSandbox::default().encode_to_vec().into();
    let cost = |container: &Bytes| {
        let mut answer = None;
        let info = measure(|| answer = Some(plugin.created(&pod, container)));
        assert!(answer.unwrap().news.is_none());
        (info.count_total, info.bytes_total, info.bytes_current)
    };
    let (small, large) = (foreign(1), foreign(5000));
    assert!(large.len() > 500_000);
    // The first look makes bytes that can be shared of those that this test has; the plugin's come so.
    cost(&small);
    cost(&large);
    assert_eq!((cost(&small), cost(&large)), ((0, 0, 0), (0, 0, 0)));
}
