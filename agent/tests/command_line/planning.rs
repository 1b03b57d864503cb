//! `plan`: what it says that `apply` will do, and that it does nothing.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::guest::{Guest, device, mac};
use crate::namespace::{in_namespace, ip, veth};

fn json_plan(guest: &Guest) -> Value {
    let plan = serde_json::from_str(&guest.agent("plan --json").stdout).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/plan.schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::validate(&schema, &plan).unwrap_or_else(|error| panic!("{error}: {plan:#}"));
    plan
}

#[test]
fn plan_changes_nothing_and_names_what_apply_will_do() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
        let before = ip("addr show");
        let said = guest.agent("plan");
        assert_eq!(said.code, 0, "{}", said.stderr);
        let run = guest.path("run").display().to_string();
        let link = mac(1).replace(':', "");
        assert_eq!(
            said.stdout,
            format!(
                "1. write {run}/systemd/network/00-dra-guest-current.network: it tells \
                 systemd-networkd which interfaces the agent configures\n\
                 2. write {run}/NetworkManager/conf.d/90-dra-guest.conf: it tells NetworkManager \
                 which interfaces the agent configures\n\
                 3. write {run}/systemd/network/00-dra-guest-{link}.link: it tells udev the name \
                 that the interface is to have\n\
                 4. rename eth0 to net1: its name is to be net1 (attribute network.interfaceName) \
                 [nic-1/vf (d1)]\n\
                 5. set net1 up: it is down [nic-1/vf (d1)]\n\
                 6. add 192.0.2.5/24 to net1: it does not have this address (attribute \
                 network.ipAddresses) [nic-1/vf (d1)]\n"
            )
        );
        let plan = json_plan(&guest);
        assert_eq!(plan["transactions"].as_array().unwrap().len(), 2);
        assert_eq!(plan["files"].as_array().unwrap().len(), 3);
        assert_eq!(ip("addr show"), before);
        assert_eq!(guest.status(), None);
        assert!(!guest.path("run/systemd").exists());
    });
}

#[test]
fn files_are_planned_as_they_will_be_written_removed_or_left() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.document(&json!([device(1, "net1", &[])]));
        assert_eq!(guest.agent("apply").code, 0);
        assert_eq!(guest.agent("plan").stdout, "nothing to change\n");

        let files = || -> Vec<(String, String)> {
            let plan = json_plan(&guest);
            let files = plan["files"].as_array().into_iter().flatten();
            let word = |file: &Value, key: &str| file[key].as_str().unwrap().to_owned();
            let name = |path: String| path.rsplit('/').next().unwrap().to_owned();
            files
                .map(|file| (word(file, "action"), name(word(file, "path"))))
                .collect()
        };
        let pair = |action: &str, name: &str| (action.to_owned(), name.to_owned());
        // One of somebody else's in the place of ours.
        let current = "00-dra-guest-current.network";
        let path = guest.path("run/systemd/network").join(current);
        fs::write(path, "[Match]\n").unwrap();
        assert_eq!(files(), [pair("leave", current)]);
        // Nothing is to be ours any more.
        guest.policy("[[device]]\ncoexist = \"leave\"\n");
        let link = format!("00-dra-guest-{}.link", mac(1).replace(':', ""));
        assert_eq!(
            files(),
            [
                pair("remove", "90-dra-guest.conf"),
                pair("remove", &link),
                pair("leave", current)
            ]
        );
    });
}
