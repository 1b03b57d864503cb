//! What an annotation says, and when it says nothing.

use std::sync::Arc;

use device_attributes::read;
use device_attributes::read::claim::{read_claim, read_slices};

use super::*;

fn pod(claims: &[&str], others: usize) -> Pod {
    Pod {
        uid: "p-1".parse().unwrap(),
        namespace: "lab".parse().unwrap(),
        name: "virt-launcher-vm".parse().unwrap(),
        claims: claims.iter().map(|claim| name(claim)).collect(),
        current: None,
        others,
    }
}

fn name(claim: &str) -> ClaimName {
    format!("lab/{claim}").parse().unwrap()
}

/// Claims of two requests, `a` of one driver and `b/fast` of another, and the slice of the first.
fn known(claims: &[&str]) -> Known {
    let mut known = Known::default();
    for claim in claims {
        let text = format!(
            r#"{{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{{"namespace":"lab","name":"{claim}","uid":"u-{claim}"}},
            "status":{{"allocation":{{"devices":{{"results":[
              {{"request":"a","driver":"a.example.com","pool":"p","device":"x"}},
              {{"request":"b/fast","driver":"b.example.com","pool":"p","device":"y"}}]}}}}}}}}"#
        );
        let claim = (
            name(claim),
            Arc::new(read_claim("c", text.as_bytes()).unwrap()),
        );
        known.claims.extend([claim]);
    }
    let slice = br#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},"spec":{"driver":"a.example.com",
        "pool":{"name":"p","generation":1,"resourceSliceCount":1},"devices":[{"name":"x","attributes":{"numaNode":{"int":1}}}]}}"#;
    known.slices.put(read_slices("s", slice).unwrap().remove(0));
    known.slices_listed = true;
    known
}

/// What a file of the second driver says.
fn in_files(claim: &str) -> Found {
    let text = format!(
        r#"{{"apiVersion":"metadata.resource.k8s.io/v1beta1","kind":"DeviceMetadata","metadata":{{"namespace":"lab","name":"{claim}",
        "uid":"u-{claim}","generation":2}},"requests":[{{"name":"b/fast","devices":[{{"driver":"b.example.com","pool":"p","name":"y",
        "networkData":{{"hardwareAddress":"02:00:00:4e:92:87"}}}}]}}]}}"#
    );
    Found {
        devices: read::read("m", text.as_bytes()).unwrap().document.devices,
        ..Found::default()
    }
}

fn document(made: &Made) -> Document {
    let text = made.value.as_ref().unwrap();
    read::read("d", text.as_bytes()).unwrap().document
}

#[test]
fn files_speak_for_their_request_and_the_claim_for_the_others() {
    let files = BTreeMap::from([(name("nic"), in_files("nic"))]);
    let made = make(&pod(&["nic"], 0), &known(&["nic"]), &files);
    assert_eq!(made.complaints, Vec::<String>::new());
    let document = document(&made);
    assert_eq!(document.pod.unwrap().name.as_str(), "virt-launcher-vm");
    let [a, b] = document.devices.as_slice() else {
        panic!("{:?}", document.devices)
    };
    assert_eq!(a.host.numa_node.unwrap().get(), 1);
    assert_eq!(b.request.as_ref().unwrap().as_str(), "b/fast");
    assert_eq!(b.claim.as_ref().unwrap().generation, 2);
    assert_eq!(
        b.network.mac_address.unwrap().to_string(),
        "02:00:00:4e:92:87"
    );
}

#[test]
fn without_files_the_claim_and_the_slices_say_it() {
    let made = make(&pod(&["nic"], 0), &known(&["nic"]), &BTreeMap::new());
    assert_eq!(document(&made).devices.len(), 2);
    assert_eq!(
        made.complaints,
        [
            "ResourceClaim lab/nic: status.allocation.devices.results[1]: nic/b/fast (y): its attributes are not known: \
          no ResourceSlice of the pool p of b.example.com is known"
        ]
    );
}

#[test]
fn what_is_not_known_yet_is_waited_for() {
    let not_yet = |known: &Known, files: &BTreeMap<ClaimName, Found>| match make(
        &pod(&["gpu", "nic"], 0),
        known,
        files,
    )
    .value
    {
        Err(Without::NotYet(why)) => why,
        other => panic!("{other:?}"),
    };
    let none = BTreeMap::new();
    assert_eq!(
        not_yet(&known(&["gpu"]), &none),
        "ResourceClaim lab/nic: not known yet"
    );

    let mut unlisted = known(&["gpu", "nic"]);
    unlisted.slices_listed = false;
    let words = "ResourceClaim lab/gpu: the node's ResourceSlices are not known yet";
    assert_eq!(not_yet(&unlisted, &none), words);

    let unfinished = Found {
        complaints: vec!["f: cut".to_owned()],
        unfinished: true,
        ..Found::default()
    };
    let files = BTreeMap::from([(name("nic"), unfinished)]);
    assert_eq!(not_yet(&known(&["gpu", "nic"]), &files), "f: cut");
}

#[test]
fn a_broken_file_is_named_and_its_claim_asked() {
    let broken = Found {
        complaints: vec!["f: none of the known forms".to_owned()],
        ..Found::default()
    };
    let files = BTreeMap::from([(name("nic"), broken), (name("gpu"), in_files("gpu"))]);
    let made = make(&pod(&["gpu", "nic"], 0), &known(&["gpu", "nic"]), &files);
    assert_eq!(document(&made).devices.len(), 4);
    assert_eq!(made.complaints[0], "f: none of the known forms");
}

#[test]
fn all_annotations_together_are_bounded() {
    let known = known(&["nic"]);
    let bytes = make(&pod(&["nic"], 0), &known, &BTreeMap::new())
        .value
        .unwrap()
        .len();
    let room = ANNOTATIONS - ANNOTATION.len() - bytes;
    assert!(
        make(&pod(&["nic"], room), &known, &BTreeMap::new())
            .value
            .is_ok()
    );
    let error = make(&pod(&["nic"], room + 1), &known, &BTreeMap::new())
        .value
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the document has {bytes} bytes, and the pod's other annotations have {}: dra-guest/device-attributes is not written, \
             because all annotations of an object may have 262144 bytes together",
            room + 1
        )
    );
}
