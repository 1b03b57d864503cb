//! Which source is taken, and what counts as news.

use super::*;
use std::fs;
use std::os::unix::fs::symlink;
use tempfile::TempDir;

const METADATA: &str = r#"{"apiVersion":"metadata.resource.k8s.io/v1beta1","kind":"DeviceMetadata","metadata":{"name":"nic","namespace":"default","uid":"u","generation":1},"requests":[{"name":"vf","devices":[{"driver":"d","pool":"p","name":"x"}]}]}"#;
const FLAT: &str = r#"{"macAddress": "52:54:00:ab:cd:ef"}"#;

fn roots(directory: &TempDir) -> Roots {
    Roots {
        run: directory.path().join("run"),
        sys: directory.path().join("sys"),
        ..Roots::default()
    }
}

fn put(path: PathBuf, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn the_first_source_that_answers_wins_even_when_it_is_broken() {
    let directory = TempDir::new().unwrap();
    let roots = roots(&directory);
    let places = Places {
        attributes: None,
        credentials: Some(directory.path().join("credentials")),
    };
    let credential = directory.path().join("credentials/device-attributes");
    let mount = directory.path().join("run/kubevirt/device-attributes.json");
    let item = directory.path().join("sys").join(FW_CFG);
    let drive = directory.path().join("run").join(CONFIG_DRIVE);
    let none = load(&roots, &places, open).unwrap_err().to_string();
    for path in [&drive, &item, &mount, &credential] {
        assert!(none.contains(&path.display().to_string()), "{none}");
        put(path.clone(), FLAT);
        assert_eq!(&load(&roots, &places, open).unwrap().path, path);
    }
    put(credential, "[]");
    let error = load(&roots, &places, open).unwrap_err();
    assert!(
        matches!(&error, LoadError::Broken(error) if error.file.ends_with("device-attributes")),
        "{error}"
    );
}

// DRA shared claims (case 95).
#[test]
fn a_device_that_stands_twice_in_a_file_is_one() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("document.json");
    let entry = |claim: &str, device: &str, mac: &str| {
        format!(
            r#"{{"claim":{{"namespace":"d","name":"{claim}"}},"request":"vf","driver":"x","pool":"p",
                "device":"{device}","network":{{"macAddress":"{mac}"}}}}"#
        )
    };
    let one = entry("a", "d1", "02:00:00:00:01:01");
    for (other, count, notes) in [
        (one.clone(), 1, 0),
        // Which of both is right nobody knows: the first, and it is said.
        (entry("a", "d1", "02:00:00:00:01:02"), 1, 1),
        (entry("a", "d2", "02:00:00:00:01:01"), 2, 0),
        (entry("b", "d1", "02:00:00:00:01:01"), 2, 0),
        (
            r#"{"network":{"macAddress":"02:00:00:00:01:01"}}"#.to_owned(),
            2,
            0,
        ),
    ] {
        let text = format!(
            r#"{{"apiVersion":"dra-guest/v1","kind":"DeviceAttributes","devices":[{one},{other}]}}"#
        );
        put(path.clone(), &text);
        let reading = load_path(&path, open).unwrap().reading;
        assert_eq!(reading.document.devices.len(), count, "{other}");
        assert_eq!(reading.notes.len(), notes, "{other}: {:?}", reading.notes);
        assert_eq!(reading.form, Form::Document);
    }
}

#[test]
fn a_config_drive_without_a_tagged_device_says_nothing() {
    let directory = TempDir::new().unwrap();
    let roots = roots(&directory);
    let drive = directory.path().join("run").join(CONFIG_DRIVE);
    for text in [
        r#"{"instance_id":"vm.ns","hostname":"vm","uuid":"u"}"#,
        r#"{"instance_id":"vm.ns","devices":[]}"#,
    ] {
        put(drive.clone(), text);
        let answer = load(&roots, &Places::default(), open);
        assert!(matches!(answer, Err(LoadError::NotYet(_))), "{answer:?}");
    }
    let broken = r#"{"instance_id":"vm.ns","devices":[{"type":"nic","bus":"pci","address":"x"}]}"#;
    put(drive, broken);
    let loaded = load(&roots, &Places::default(), open).unwrap();
    assert_eq!(loaded.reading.rejected.len(), 1);
}

#[test]
fn credentials_of_no_absolute_directory_are_none() {
    let directory = TempDir::new().unwrap();
    let places = Places {
        attributes: None,
        credentials: Some(PathBuf::new()),
    };
    let words = load(&roots(&directory), &places, open)
        .unwrap_err()
        .to_string();
    assert!(!words.contains("no device-attributes,"), "{words}");
}

#[test]
fn a_directory_in_the_documents_place_is_no_document() {
    let directory = TempDir::new().unwrap();
    let mount = directory.path().join("run/kubevirt/device-attributes.json");
    fs::create_dir_all(mount).unwrap();
    let error = load(&roots(&directory), &Places::default(), open).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("a directory, not a regular file"),
        "{error}"
    );
}

#[test]
fn a_directory_without_a_device_has_no_attributes_yet() {
    let directory = TempDir::new().unwrap();
    let error = load_path(directory.path(), open).unwrap_err();
    assert!(matches!(error, LoadError::NotYet(_)), "{error}");
}

#[test]
fn a_file_that_breaks_beside_good_ones_is_news() {
    let directory = TempDir::new().unwrap();
    let file = |claim: &str| {
        directory
            .path()
            .join(format!("resourceclaims/{claim}/vf/d-metadata.json"))
    };
    put(file("nic"), METADATA);
    let good = load_path(directory.path(), open).unwrap();
    put(file("other"), "[]");
    let broken = load_path(directory.path(), open).unwrap();
    assert_eq!(broken.reading.document, good.reading.document);
    assert_eq!(broken.reading.rejected.len(), 1);
    assert_ne!(broken.digest, good.digest);
}

/// As kubelet writes a projected volume: the name is a link through `..data`, which is replaced.
// Linux mount(2) (case 85); kata-containers#10411 (case 86).
#[test]
fn a_file_behind_links_is_followed_to_its_new_place() {
    let directory = TempDir::new().unwrap();
    let at = |name: &str| directory.path().join(name);
    put(at("..1/device-attributes.json"), FLAT);
    put(at("..2/device-attributes.json"), &FLAT.replace("ef", "ee"));
    symlink("..1", at("..data")).unwrap();
    symlink(
        "..data/device-attributes.json",
        at("device-attributes.json"),
    )
    .unwrap();
    let first = load_path(&at("device-attributes.json"), open).unwrap();
    symlink("..2", at("..data_tmp")).unwrap();
    fs::rename(at("..data_tmp"), at("..data")).unwrap();
    let second = load_path(&at("device-attributes.json"), open).unwrap();
    assert_ne!(first.digest, second.digest);
}

/// Writers that open the file with `O_TRUNC`, as upstream's do, leave it empty or cut for a moment.
// KEP-5304 `kubeletplugin/metadata.go` (case 84).
#[test]
fn a_writer_that_truncates_in_place_is_waited_out() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("nic-metadata.json");
    let text = METADATA.repeat(40);
    fs::write(&path, &text).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for _ in 0..500 {
                fs::write(&path, &text).unwrap();
            }
        });
        while !writer.is_finished() {
            match load_path(&path, open) {
                Ok(loaded) => assert_eq!(loaded.reading.document.devices.len(), 1),
                Err(LoadError::NotYet(_)) => {}
                Err(broken) => panic!("{broken}"),
            }
        }
    });
    assert!(load_path(&path, open).is_ok());
}
