//! Which device of the status `--device` means.

use device_attributes::{DeviceIdentity, Name};

use super::Whereabouts;
use crate::listing::listing;

/// Why a name means no device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// No device has it.
    #[error("no device is called {name}: the attributes have {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The devices that there are, by their first names.
        known: String,
    },
    /// Several do.
    #[error(
        "{name} means several devices: {meant}: name one by claim/request, its interface or its PCI address"
    )]
    Several {
        /// What was asked for.
        name: String,
        /// The devices that it means.
        meant: String,
    },
}

/// The device that is meant by `claim/request`, a request, an interface's name or a guest's PCI
/// address. A claim goes by its name in the pod as well as its own.
///
/// # Errors
/// When it is not exactly one.
pub fn choose<'a, D: Whereabouts>(devices: &'a [D], name: &str) -> Result<&'a D, ChoiceError> {
    let mut meant = devices.iter().filter(|device| means(name, *device));
    let first = meant.next().ok_or_else(|| ChoiceError::Unknown {
        name: name.to_owned(),
        known: match devices {
            [] => "none".to_owned(),
            devices => listing(devices.iter().map(label)),
        },
    })?;
    let others: Vec<_> = meant.collect();
    if others.is_empty() {
        return Ok(first);
    }
    Err(ChoiceError::Several {
        name: name.to_owned(),
        meant: listing([first].into_iter().chain(others).map(label)),
    })
}

fn means(name: &str, device: &impl Whereabouts) -> bool {
    let DeviceIdentity { claim, request, .. } = device.identity();
    let request = request.as_ref().map(Name::as_str);
    let claims = claim.iter().flat_map(|claim| {
        let in_pod = claim.pod_claim_name.as_ref();
        [Some(&claim.name), in_pod].into_iter().flatten()
    });
    let of_claim = |claim: &str| {
        let rest = name.strip_prefix(claim)?;
        Some(rest.strip_prefix('/')? == request?)
    };
    request == Some(name)
        || claims
            .into_iter()
            .any(|claim| of_claim(claim.as_str()) == Some(true))
        || device.interface_name() == Some(name)
        || device
            .guest_pci_address()
            .is_some_and(|address| Some(address) == name.parse().ok())
}

/// What a device may be called by.
fn label(device: &impl Whereabouts) -> String {
    let identity = device.identity();
    let claim = identity.claim.as_ref();
    let claim = claim.map(|claim| claim.pod_claim_name.as_ref().unwrap_or(&claim.name));
    let by_claim = match (claim, &identity.request) {
        (Some(claim), Some(request)) => Some(format!("{claim}/{request}")),
        (_, Some(request)) => Some(request.to_string()),
        _ => None,
    };
    let by_place = device.interface_name().map(str::to_owned).or_else(|| {
        device
            .guest_pci_address()
            .map(|address| address.to_string())
    });
    match (by_claim, by_place) {
        (Some(claim), Some(place)) => format!("{claim} ({place})"),
        (Some(name), None) | (None, Some(name)) => name,
        (None, None) => identity.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::report::Status;

    fn status(devices: &Value) -> Status {
        let mut status = Status::without_attributes(String::new());
        status.devices = serde_json::from_value(devices.clone()).unwrap();
        status
    }

    fn device(claim: &str, in_pod: &str, request: &str, interface: &str, address: &str) -> Value {
        json!({
            "identity": {
                "claim": {"namespace": "default", "name": claim, "podClaimName": in_pod},
                "request": request,
            },
            "ready": true, "reason": "Configured", "interfaceName": interface, "guestPciAddress": address,
        })
    }

    fn three() -> Status {
        status(&json!([
            device("vm-nic-x7k2p", "nic", "vf", "net1", "0000:81:00.0"),
            device("vm-two-a", "two", "left/small", "net2", "0000:82:00.0"),
            device("vm-two-a", "two", "left/small", "net3", "0000:83:00.0"),
        ]))
    }

    #[test]
    fn a_device_goes_by_each_of_its_names() {
        let status = three();
        for name in [
            "nic/vf",
            "vm-nic-x7k2p/vf",
            "vf",
            "net1",
            "0000:81:00.0",
            "81:00.0",
        ] {
            assert_eq!(
                choose(&status.devices, name),
                Ok(&status.devices[0]),
                "{name}"
            );
        }
        assert_eq!(choose(&status.devices, "net3"), Ok(&status.devices[2]));
    }

    #[test]
    fn what_means_none_or_several_is_refused_with_what_there_is() {
        let status = three();
        for name in [
            "", "/", "nic", "nic/", "/vf", "nic/vf/", "nicvf", "net", "x\ny",
        ] {
            let error = choose(&status.devices, name).unwrap_err();
            assert!(matches!(error, ChoiceError::Unknown { .. }), "{name}");
        }
        let error = choose(&status.devices, "nic").unwrap_err().to_string();
        assert_eq!(
            error,
            "no device is called nic: the attributes have nic/vf (net1), two/left/small (net2), \
             two/left/small (net3)"
        );
        let error = choose(&status.devices, "two/left/small")
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "two/left/small means several devices: two/left/small (net2), two/left/small (net3): name one \
             by claim/request, its interface or its PCI address"
        );
        // An interface that is called like another device's request.
        let mut crossed = three();
        crossed.devices[1].report.interface_name = Some("vf".into());
        assert!(choose(&crossed.devices, "vf").is_err());
        let none = Status::without_attributes(String::new());
        assert_eq!(
            choose(&none.devices, "vf").unwrap_err().to_string(),
            "no device is called vf: the attributes have none"
        );
    }
}
