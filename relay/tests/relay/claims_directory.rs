//! Files of claims that come, go, break and change while the relay runs.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use crate::world::{READY_MESSAGE, World, claim_yaml, not_ready, ready, until};

const CANNOT: &str =
    "default/a: the claim cannot be written now; the log of the relay says why, and it tries again";

#[test]
fn a_file_that_comes_later_gets_what_was_said_before() {
    let world = World::new();
    let _relay = world.relay(&[
        "--lost-after",
        "3600",
        "--guest",
        "cid=5,socket=vm5,claim=default/a",
    ]);
    let mut guest = world.agent("vm5");
    assert_eq!(guest.report(1, &[ready("a")]), [CANNOT]);
    assert!(
        world
            .log()
            .contains("default/a: no *.yaml, *.yml or *.json file in claims holds")
    );
    world.put_claim("a");
    until("the report to be put on the new file", || {
        world.status("a.yaml") == "True Configured"
    });
    until("the log", || {
        world.log().contains("all can be put on the claim again")
    });
}

#[test]
fn a_broken_or_vanished_file_is_a_problem_with_its_place_in_the_log_only() {
    let world = World::new();
    world.put_claim("a");
    let _relay = world.relay_of_one();
    let mut guest = world.agent("vm5");
    assert_eq!(guest.report(1, &[ready("a")]), Vec::<String>::new());

    fs::write(
        world.claim_path("a.yaml"),
        "kind: ResourceClaim\nmetadata: [\n",
    )
    .unwrap();
    assert_eq!(guest.report(2, &[ready("a")]), [CANNOT]);
    assert!(
        world.log().contains("claims/a.yaml:2:11: unclosed bracket"),
        "{}",
        world.log()
    );
    assert_eq!(
        fs::read_to_string(world.claim_path("a.yaml")).unwrap(),
        "kind: ResourceClaim\nmetadata: [\n"
    );

    fs::remove_file(world.claim_path("a.yaml")).unwrap();
    assert_eq!(guest.report(3, &[ready("a")]), [CANNOT]);

    // It may come back in another file and another format.
    let json = format_as_json(&claim_yaml("a"));
    fs::write(world.claim_path("moved.json"), json).unwrap();
    assert_eq!(guest.report(4, &[ready("a")]), Vec::<String>::new());
    assert_eq!(world.condition("moved.json").unwrap()[2], READY_MESSAGE);
}

fn format_as_json(yaml: &str) -> String {
    use dra_guest_relay::manifest::Format;
    let documents = Format::Yaml.parse("claim", yaml).unwrap();
    Format::Json.render(&documents).unwrap()
}

#[test]
fn json_stays_json_and_mode_and_owner_stay() {
    let world = World::new();
    let path = world.claim_path("a.json");
    fs::write(&path, format_as_json(&claim_yaml("a"))).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
    // Another owner only where one may be given.
    let root = rustix::process::geteuid().is_root();
    if root {
        std::os::unix::fs::chown(&path, Some(4321), Some(1234)).unwrap();
    }
    let _relay = world.relay_of_one();
    world.agent("vm5").report(1, &[ready("a")]);
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        text.starts_with("{\n  \"apiVersion\": \"resource.k8s.io/v1\",\n  \"kind\""),
        "{text}"
    );
    assert!(text.ends_with("}\n"));
    assert_eq!(world.condition("a.json").unwrap()[0], "True");
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!(metadata.mode() & 0o7777, 0o664);
    if root {
        assert_eq!((metadata.uid(), metadata.gid()), (4321, 1234));
    }
    let left: Vec<_> = fs::read_dir(world.path("claims")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn other_objects_of_a_file_stay_beside_the_claim() {
    let world = World::new();
    let device_class =
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n  name: sriov.example.com\n";
    let file = format!("{device_class}---\n{}", claim_yaml("a"));
    fs::write(world.claim_path("all.yml"), file).unwrap();
    let _relay = world.relay_of_one();
    world.agent("vm5").report(1, &[ready("a")]);
    let text = fs::read_to_string(world.claim_path("all.yml")).unwrap();
    assert!(
        text.starts_with(&format!("{device_class}---\n{}", claim_yaml("a"))),
        "{text}"
    );
    assert_eq!(world.condition("all.yml").unwrap()[2], READY_MESSAGE);
}

#[test]
fn a_claim_that_stands_twice_is_not_written() {
    let world = World::new();
    world.put_claim("a");
    fs::copy(world.claim_path("a.yaml"), world.claim_path("copy.yaml")).unwrap();
    let _relay = world.relay_of_one();
    assert_eq!(world.agent("vm5").report(1, &[ready("a")]), [CANNOT]);
    assert!(
        world
            .log()
            .contains("default/a stands twice, in claims/a.yaml and in claims/copy.yaml")
    );
}

#[test]
fn files_that_are_no_claims_are_named_or_passed_over() {
    let world = World::new();
    world.put_claim("a");
    let put = |name: &str, text: &[u8]| fs::write(world.claim_path(name), text).unwrap();
    put("pod.yaml", b"apiVersion: v1\nkind: Pod\n");
    put("notes.txt", b"nothing");
    put(".hidden.yaml", b"[");
    put(".dra-guest-relay-x1", b"half a cla");
    put(
        "old.yaml",
        b"apiVersion: resource.k8s.io/v1beta2\nkind: ResourceClaim\n",
    );
    put(
        "nameless.yaml",
        b"apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\n",
    );
    put("twice.yaml", b"kind: Pod\nkind: Pod\n");
    put("broken.json", b"{\n  \"kind\": }");
    put("binary.yaml", b"\xff\xfe");
    put("empty.yaml", b"");
    put("large.yaml", &vec![b'#'; (1 << 20) + 1]);
    fs::create_dir(world.claim_path("directory.yaml")).unwrap();
    symlink("a.yaml", world.claim_path("link.yaml")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        world.claim_path("fifo.yaml"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let _relay = world.relay_of_one();
    assert_eq!(
        world.agent("vm5").report(1, &[ready("a")]),
        Vec::<String>::new()
    );
    let log = world.log();
    for words in [
        "old.yaml: a ResourceClaim of apiVersion \"resource.k8s.io/v1beta2\" is not read",
        "nameless.yaml: a ResourceClaim has no metadata.name",
        "twice.yaml:2:1: ",
        "broken.json:2:11: expected value",
        "binary.yaml: the file is not UTF-8",
        "empty.yaml: the file is empty",
        "large.yaml: the file has more than 1048576 bytes",
        "directory.yaml: this is a directory",
        "link.yaml: this is a symbolic link",
        "fifo.yaml: this is a special file",
        ".dra-guest-relay-x1: removed",
    ] {
        assert!(log.contains(words), "{words} is missing in:\n{log}");
    }
    for name in ["pod.yaml", "notes.txt", ".hidden.yaml"] {
        assert!(!log.contains(name), "{name} is named in:\n{log}");
    }
    assert!(!world.claim_path(".dra-guest-relay-x1").exists());
}

#[test]
fn a_relay_that_is_killed_leaves_the_old_file_or_the_new_one() {
    let world = World::new();
    world.put_claim("a");
    for round in 0..12 {
        let mut relay = world.relay_of_one();
        let mut guest = world.agent("vm5");
        for sequence in 1..=20 {
            let report = match sequence % 2 {
                0 => ready("a"),
                _ => not_ready("a", "Pending", &format!("round {round}, {sequence}")),
            };
            guest.send(
                &serde_json::json!({"type": "report", "sequence": sequence, "devices": [report]}),
            );
        }
        guest.acknowledged(1);
        std::thread::sleep(std::time::Duration::from_millis(round));
        relay.child.kill().unwrap();
        relay.wait();
        let text = fs::read_to_string(world.claim_path("a.yaml")).unwrap();
        assert!(text.starts_with(&claim_yaml("a")), "{text}");
        let status = world.status("a.yaml");
        assert!(
            ["True Configured", "False Pending"].contains(&status.as_str()),
            "{text}"
        );
    }
    drop(world.relay_of_one());
    let left = fs::read_dir(world.path("claims")).unwrap().count();
    assert_eq!(left, 1, "unfinished files are left");
}
