//! What a drivers' directory may hold, and what becomes of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use device_attributes::read::claim::read_claim;
use tempfile::TempDir;

use super::*;

/// A claim with one device of each driver.
fn claim(drivers: &[&str]) -> Arc<ResourceClaim> {
    let results: Vec<String> = drivers
        .iter()
        .map(|driver| format!(r#"{{"request":"vf","driver":{driver:?},"pool":"p","device":"x"}}"#))
        .collect();
    let text = format!(
        r#"{{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{{"namespace":"lab","name":"nic","uid":"u-1"}},
        "status":{{"allocation":{{"devices":{{"results":[{}]}}}}}}}}"#,
        results.join(",")
    );
    Arc::new(read_claim("claim", text.as_bytes()).unwrap())
}

/// A metadata file of the claim `lab/nic`.
fn metadata(driver: &str, uid: &str) -> String {
    format!(
        r#"{{"apiVersion":"metadata.resource.k8s.io/v1beta1","kind":"DeviceMetadata","metadata":{{"namespace":"lab","name":"nic",
        "uid":"{uid}","generation":3}},"requests":[{{"name":"vf","devices":[{{"driver":"{driver}","pool":"p","name":"x"}}]}}]}}"#
    )
}

struct Plugins(TempDir);

impl Plugins {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn write(&self, driver: &str, claim: &str, text: &str) {
        let directory = self
            .0
            .path()
            .join(driver)
            .join(METADATA)
            .join(claim)
            .join("vf");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("metadata.json"), text).unwrap();
    }

    fn read(&self, drivers: &[&str]) -> Found {
        let name: ClaimName = "lab/nic".parse().unwrap();
        let claims = BTreeMap::from([(name.clone(), claim(drivers))]);
        let files = Files::below(self.0.path().to_owned());
        let mut found = files.read(&claims).remove(&name).unwrap();
        let root = self.0.path().display().to_string();
        for complaint in &mut found.complaints {
            *complaint = complaint.replace(&root, "PLUGINS");
        }
        found
    }
}

#[test]
fn each_drivers_file_of_this_claim_is_read() {
    let plugins = Plugins::new();
    plugins.write(
        "a.example.com",
        "lab_nic",
        &metadata("a.example.com", "u-1"),
    );
    plugins.write(
        "b.example.com",
        "lab_nic",
        &metadata("b.example.com", "u-1"),
    );
    plugins.write(
        "c.example.com",
        "lab_nic",
        &metadata("c.example.com", "u-1"),
    );
    plugins.write("a.example.com", "lab_nic2", "not even JSON");
    let found = plugins.read(&[
        "a.example.com",
        "b.example.com",
        "without-files.example.com",
    ]);
    let drivers = found
        .devices
        .iter()
        .map(|device| device.driver.clone().unwrap());
    let drivers: Vec<String> = drivers.map(|driver| driver.to_string()).collect();
    assert_eq!(drivers, ["a.example.com", "b.example.com"]);
    let generation = found.devices[0].claim.as_ref().unwrap().generation;
    assert_eq!(
        (generation, found.complaints.len(), found.unfinished),
        (3, 0, false)
    );
}

#[test]
fn a_file_speaks_of_its_driver_and_its_claim_only() {
    for (text, why) in [
        (metadata("b.example.com", "u-1"), "it is another driver's"),
        (
            metadata("a.example.com", "u-0"),
            "it is of an earlier claim of that name",
        ),
        (
            metadata("a.example.com", "u-1").replace(r#""name":"nic""#, r#""name":"other""#),
            "it is of the claim lab/other",
        ),
    ] {
        let plugins = Plugins::new();
        plugins.write("a.example.com", "lab_nic", &text);
        let found = plugins.read(&["a.example.com"]);
        assert_eq!(found.devices, []);
        assert!(
            found.complaints[0].ends_with(&format!("left out: {why}")),
            "{found:?}"
        );
    }
}

#[test]
fn a_file_that_is_being_written_is_told_from_a_broken_one() {
    let whole = metadata("a.example.com", "u-1");
    for (text, unfinished) in [("", true), (&whole[..whole.len() - 9], true), ("[]", false)] {
        let plugins = Plugins::new();
        plugins.write("a.example.com", "lab_nic", text);
        plugins.write(
            "b.example.com",
            "lab_nic",
            &metadata("b.example.com", "u-1"),
        );
        let found = plugins.read(&["a.example.com", "b.example.com"]);
        assert_eq!((found.devices.len(), found.unfinished), (1, unfinished));
        let place = "PLUGINS/a.example.com/dra-device-metadata/lab_nic/vf/metadata.json";
        assert!(found.complaints[0].starts_with(place), "{found:?}");
    }
}

#[test]
fn no_link_leads_elsewhere() {
    let outside = Plugins::new();
    outside.write(
        "a.example.com",
        "lab_nic",
        &metadata("a.example.com", "u-1"),
    );
    let target = outside.0.path().join("a.example.com");

    let plugins = Plugins::new();
    let root = plugins.0.path();
    symlink(&target, root.join("a.example.com")).unwrap();
    fs::create_dir_all(root.join("b.example.com")).unwrap();
    symlink(
        target.join(METADATA),
        root.join("b.example.com").join(METADATA),
    )
    .unwrap();
    fs::create_dir_all(root.join("c.example.com").join(METADATA)).unwrap();
    symlink(
        target.join(METADATA).join("lab_nic"),
        root.join("c.example.com").join(METADATA).join("lab_nic"),
    )
    .unwrap();
    let inner = root.join("d.example.com").join(METADATA).join("lab_nic/vf");
    fs::create_dir_all(&inner).unwrap();
    symlink(
        target.join(METADATA).join("lab_nic/vf/metadata.json"),
        inner.join("metadata.json"),
    )
    .unwrap();

    let found = plugins.read(&[
        "a.example.com",
        "b.example.com",
        "c.example.com",
        "d.example.com",
    ]);
    assert_eq!(found.devices, []);
    assert_eq!(
        found.complaints,
        [
            "PLUGINS/a.example.com/dra-device-metadata/lab_nic: Too many levels of symbolic links (os error 40)",
            "PLUGINS/b.example.com/dra-device-metadata/lab_nic: Too many levels of symbolic links (os error 40)",
            "PLUGINS/c.example.com/dra-device-metadata/lab_nic: Too many levels of symbolic links (os error 40)",
            "PLUGINS/d.example.com/dra-device-metadata/lab_nic/vf/metadata.json: this symbolic link leads to no file below its directory: passed over",
        ]
    );
}

#[test]
fn a_drivers_name_is_no_way_out() {
    let plugins = Plugins::new();
    plugins.write(
        "a.example.com",
        "lab_nic",
        &metadata("a.example.com", "u-1"),
    );
    assert_eq!(
        plugins.read(&["..", "a.example.com/..", "/etc", ""]),
        Found::default()
    );
}

#[test]
fn a_root_that_is_not_there_is_said() {
    let name: ClaimName = "lab/nic".parse().unwrap();
    let claims = BTreeMap::from([(name, claim(&["a.example.com"]))]);
    let found = Files::below("/nowhere".into()).read(&claims);
    let complaints = found.into_values().flat_map(|found| found.complaints);
    let complaints: Vec<String> = complaints.collect();
    assert_eq!(
        complaints,
        ["--metadata-dir /nowhere: No such file or directory (os error 2)"]
    );
}
