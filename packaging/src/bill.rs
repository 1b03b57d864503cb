//! The software bill of materials: `CycloneDX` 1.5 (ECMA-424), JSON.
//!
//! Without serial number and time, which are optional there: the same sources give the same bytes.

use serde_json::{Value, json};

use crate::parts::{Key, Parts};
use crate::runtime::Runtime;

/// What a program is linked from, with the Rust library and musl.
pub(crate) fn of(parts: &Parts<'_>, target: &str, runtime: &Runtime) -> Value {
    let mut components: Vec<Value> = parts
        .packages
        .keys()
        .filter(|key| **key != parts.root)
        .map(|key| component(parts, key, "library"))
        .collect();
    components.extend(runtime.components());
    let mut root = component(parts, &parts.root, "application");
    if let Some(root) = root.as_object_mut() {
        let property = json!({"name": "cargo:target", "value": target});
        root.insert("properties".to_owned(), json!([property]));
    }
    let dependencies: Vec<Value> = parts
        .dependencies
        .iter()
        .map(|(key, on)| {
            let mut on: Vec<String> = on.iter().map(url).collect();
            if *key == parts.root {
                on.extend(runtime.references());
            }
            json!({"ref": url(key), "dependsOn": on})
        })
        .collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": root},
        "components": components,
        "dependencies": dependencies,
    })
}

/// A package URL of type cargo (<https://github.com/package-url/purl-spec>).
fn url((name, version): &Key) -> String {
    // Of what a version may have, only this is reserved in a URL.
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

fn component(parts: &Parts<'_>, key: &Key, kind: &str) -> Value {
    let (name, version) = key;
    let mut component = json!({
        "type": kind, "bom-ref": url(key), "name": name, "version": version, "purl": url(key),
    });
    let Some(object) = component.as_object_mut() else {
        return component;
    };
    if let Some(sum) = parts.checksums.get(key) {
        let hash = json!([{"alg": "SHA-256", "content": sum}]);
        object.insert("hashes".to_owned(), hash);
    }
    let package = parts.packages.get(key);
    if let Some(licence) = package.and_then(|it| it.license.as_deref()) {
        // Before SPDX expressions, crates wrote a slash for OR.
        let expression = licence.replace('/', " OR ");
        let licences = json!([{"expression": expression}]);
        object.insert("licenses".to_owned(), licences);
    }
    if let Some(repository) = package.and_then(|it| it.repository.as_deref()) {
        let reference = json!([{"type": "vcs", "url": repository}]);
        object.insert("externalReferences".to_owned(), reference);
    }
    component
}
