//! Which of a driver's attributes leave the node.

use device_attributes::{Document, Name};

/// Keeps only the listed raw attributes of every device; an empty list keeps all.
///
/// Upstream publishes them to the container in any case, so nothing is held back by default.
pub(crate) fn restrict(document: &mut Document, keys: &[Name]) {
    if keys.is_empty() {
        return;
    }
    for device in &mut document.devices {
        device
            .attributes
            .retain(|key, _| keys.iter().any(|kept| kept.as_str() == key));
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
    }
}
