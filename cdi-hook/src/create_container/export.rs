//! Which of a driver's attributes leave the node.

use device_attributes::Document;

use crate::key_pattern::KeyPattern;

/// Keeps only the listed raw attributes of every device; an empty list keeps all.
///
/// Upstream publishes them to the container in any case, so nothing is held back by default.
pub(crate) fn restrict(document: &mut Document, keys: &[KeyPattern]) {
    if keys.is_empty() {
        return;
    }
    for device in &mut document.devices {
        device
            .attributes
            .retain(|key, _| keys.iter().any(|kept| kept.matches(key)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use device_attributes::{AttributeValue, Device};

    #[test]
    fn only_listed_attributes_stay() {
        let attribute = |key: &str| (key.to_owned(), AttributeValue::Bool(true));
        let mut document = Document {
            pod: None,
            devices: vec![Device {
                attributes: [attribute("a/x"), attribute("a/y")].into(),
                ..Device::default()
            }],
        };
        restrict(&mut document, &[]);
        assert_eq!(document.devices[0].attributes.len(), 2);
        restrict(
            &mut document,
            &["a/y".parse().unwrap(), "none".parse().unwrap()],
        );
        assert_eq!(
            document.devices[0].attributes.keys().collect::<Vec<_>>(),
            ["a/y"]
        );
        restrict(&mut document, &["*/y".parse().unwrap()]);
        assert_eq!(document.devices[0].attributes.len(), 1);
        restrict(&mut document, &["none".parse().unwrap()]);
        assert!(document.devices[0].attributes.is_empty());
    }
}
