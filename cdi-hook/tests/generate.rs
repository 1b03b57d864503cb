//! `generate`: what it makes of claims, and that the hook finds it in a container.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod container;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use container::Container;
use device_attributes::read::claim::{Slices, devices, read_claim, read_slices};
use device_attributes::{Document, read};
use serde_json::Value;

const HOOK: &str = env!("CARGO_BIN_EXE_dra-cdi-hook");

/// The cases of the reader: claims, with slices or without.
fn cases() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../attributes/tests/claims");
    let cases = fs::read_dir(directory).unwrap();
    let mut cases: Vec<PathBuf> = cases.map(|case| case.unwrap().path()).collect();
    cases.sort();
    assert!(cases.len() >= 10, "{cases:?}");
    cases
}

struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn generate(arguments: &[&str]) -> Outcome {
    let output = Command::new(HOOK)
        .arg("generate")
        .args(arguments)
        .output()
        .unwrap();
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The claim of a case, with a UID, which not all have there.
fn with_uid(case: &Path, to: &Path) -> String {
    let mut claim: Value =
        serde_json::from_slice(&fs::read(case.join("claim.json")).unwrap()).unwrap();
    claim["metadata"]["uid"] = UID.into();
    let file = to.join("claim.json");
    fs::write(&file, claim.to_string()).unwrap();
    file.display().to_string()
}

const UID: &str = "1f2e3d4c-0000-4000-8000-123456789abc";

/// What the reader of claims makes of a case: of usable ones the document.
fn expected(claim: &str, slices: Option<&str>) -> Option<Document> {
    let mut known = Slices::default();
    if let Some(slices) = slices {
        for slice in read_slices("slices", &fs::read(slices).unwrap()).ok()? {
            known.put(slice);
        }
    }
    let claim = read_claim("claim", &fs::read(claim).unwrap()).ok()?;
    let mut found = devices(&claim, &known).ok()?;
    if found.devices.is_empty() || !found.rejected.is_empty() {
        return None;
    }
    for device in &mut found.devices {
        // Metadata counts its updates, from 1.
        device.claim.as_mut().unwrap().generation = 1;
    }
    // Metadata cannot tell the shares of one device apart: of those that differ the first is taken.
    found.devices.dedup_by_key(|device| device.identity());
    Some(Document {
        pod: None,
        devices: found.devices,
    })
}

/// The whole way: from the claim to the document in a container that has the generated device.
#[test]
fn the_hook_finds_in_a_container_what_was_generated() {
    let (mut usable, mut refused) = (0, 0);
    for case in cases() {
        let mut container = Container::with_vm_mount();
        let claim = with_uid(&case, container.directory.path());
        let slices = case.join("slices.json");
        let slices = slices.exists().then(|| slices.display().to_string());
        let (specs, metadata) = (container.path("cdi"), container.path("claims"));
        let (specs, metadata) = (specs.to_str().unwrap(), metadata.to_str().unwrap());
        let mut arguments = vec![
            "--claim",
            &claim,
            "--out",
            specs,
            "--metadata-out",
            metadata,
        ];
        arguments.extend(slices.iter().flat_map(|file| ["--slices", file]));
        let outcome = generate(&arguments);
        let Some(expected) = expected(&claim, slices.as_deref()) else {
            assert_eq!(outcome.code, Some(1), "{case:?}");
            assert!(
                outcome.stderr.contains("dra-cdi-hook: error: "),
                "{}",
                outcome.stderr
            );
            assert!(
                !Path::new(specs).exists() && !Path::new(metadata).exists(),
                "{case:?}"
            );
            refused += 1;
            continue;
        };
        usable += 1;
        assert_eq!(outcome.code, Some(0), "{case:?}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, format!("dra-guest/claim={UID}\n"));
        let spec = fs::read(format!("{specs}/dra-guest-claim_{UID}.json")).unwrap();
        let spec: Value = serde_json::from_slice(&spec).unwrap();
        assert_eq!(spec["devices"][0]["name"], UID);
        for mount in spec["devices"][0]["containerEdits"]["mounts"]
            .as_array()
            .unwrap()
        {
            let source = PathBuf::from(mount["hostPath"].as_str().unwrap());
            let mode = fs::metadata(&source).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o644);
            let target = mount["containerPath"].as_str().unwrap();
            container.mount(&source, target.strip_prefix("/var/").unwrap());
        }
        container.run(&[]).assert_success();
        let document = container.document().unwrap();
        assert_eq!(document.as_bytes(), expected.to_bytes(), "{case:?}");

        // The same again gives the same, and all of it can be taken away.
        assert_eq!(generate(&arguments).code, Some(0));
        let removed = generate(&["--remove", UID, "--out", specs, "--metadata-out", metadata]);
        assert_eq!(removed.code, Some(0), "{}", removed.stderr);
        assert!(
            removed
                .stdout
                .starts_with(&format!("removed {specs}/dra-guest-claim_{UID}.json\n"))
        );
        for directory in [specs, metadata] {
            assert_eq!(container::names(Path::new(directory)), [""; 0], "{case:?}");
        }
        let again = generate(&["--remove", UID, "--out", specs, "--metadata-out", metadata]);
        assert_eq!((again.code, again.stdout.as_str()), (Some(0), ""));
    }
    assert!(usable >= 5 && refused >= 2, "{usable} {refused}");
}

/// Two claims of one pod: each device's hook sees both.
#[test]
fn the_hook_of_each_claim_sees_all_claims() {
    let case = cases()
        .into_iter()
        .find(|case| case.ends_with("api-server-1.37-by-kubectl"))
        .unwrap();
    let mut container = Container::with_vm_mount();
    let claim = with_uid(&case, container.directory.path());
    let mut other: Value = serde_json::from_slice(&fs::read(&claim).unwrap()).unwrap();
    other["metadata"]["name"] = "other".into();
    other["metadata"]["uid"] = "2".into();
    other["metadata"]["annotations"] = serde_json::json!({});
    let other_file = container.path("other.json").display().to_string();
    fs::write(&other_file, other.to_string()).unwrap();
    let slices = case.join("slices.json").display().to_string();
    for file in [&claim, &other_file] {
        let printed = generate(&["--claim", file, "--slices", &slices, "--print"]);
        assert_eq!(printed.code, Some(0), "{}", printed.stderr);
        let (specs, metadata) = (container.path("cdi"), container.path("claims"));
        let places = [
            "--out",
            specs.to_str().unwrap(),
            "--metadata-out",
            metadata.to_str().unwrap(),
        ];
        let outcome =
            generate(&[&["--claim", file, "--slices", &slices], places.as_slice()].concat());
        assert_eq!(outcome.code, Some(0));
    }
    for name in container::names(&container.path("cdi")) {
        let spec = fs::read(container.path("cdi").join(name)).unwrap();
        let spec: Value = serde_json::from_slice(&spec).unwrap();
        for mount in spec["devices"][0]["containerEdits"]["mounts"]
            .as_array()
            .unwrap()
        {
            let target = mount["containerPath"].as_str().unwrap();
            container.mount(
                Path::new(mount["hostPath"].as_str().unwrap()),
                target.strip_prefix("/var/").unwrap(),
            );
        }
    }
    container.run(&[]).assert_success();
    let first = container.document().unwrap();
    let document = read::read("document", first.as_bytes()).unwrap().document;
    let claims: std::collections::BTreeSet<String> = document
        .devices
        .iter()
        .map(|device| device.claim.as_ref().unwrap().name.to_string())
        .collect();
    assert_eq!(claims.len(), 2, "{claims:?}");
    container.run(&[]).assert_success();
    assert_eq!(container.document().unwrap(), first);
}

#[test]
fn what_cannot_be_used_is_named_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let out = path("out");
    let places = ["--out", &out, "--metadata-out", &out];
    let check = |arguments: &[&str], code: i32, text: &str| {
        let outcome = generate(&[arguments, &places].concat());
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(text), "{}", outcome.stderr);
        assert!(!Path::new(&out).exists());
    };
    fs::write(
        path("claim.yaml"),
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\n",
    )
    .unwrap();
    check(
        &["--claim", &path("claim.yaml")],
        1,
        "this is not JSON: print it with kubectl get",
    );
    check(&["--claim", &path("nothing")], 1, "nothing: ");
    check(&[], 2, "generate needs --claim <FILE>");
    check(&["--remove", "../../etc"], 1, "\"../../etc\" is no UID");
    let case = cases()
        .into_iter()
        .find(|case| case.ends_with("api-server-1.37-by-kubectl"))
        .unwrap();
    let mut claim: Value =
        serde_json::from_slice(&fs::read(case.join("claim.json")).unwrap()).unwrap();
    for (uid, text) in [
        (Value::Null, "has no metadata.uid"),
        ("a/b".into(), "\"a/b\" is no UID"),
        ("..".into(), "\"..\" is no UID"),
    ] {
        claim["metadata"]["uid"] = uid;
        fs::write(path("claim.json"), claim.to_string()).unwrap();
        check(&["--claim", &path("claim.json")], 1, text);
    }
}

#[test]
fn a_directory_that_others_may_write_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let case = cases()
        .into_iter()
        .find(|case| case.ends_with("api-server-1.37-by-kubectl"))
        .unwrap();
    let claim = with_uid(&case, directory.path());
    fs::create_dir(path("out")).unwrap();
    fs::set_permissions(path("out"), fs::Permissions::from_mode(0o777)).unwrap();
    let outcome = generate(&[
        "--claim",
        &claim,
        "--out",
        &path("out"),
        "--metadata-out",
        &path("claims"),
    ]);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome
            .stderr
            .contains("may be written by others than root"),
        "{}",
        outcome.stderr
    );
    assert_eq!(container::names(Path::new(&path("out"))), [""; 0]);
}
