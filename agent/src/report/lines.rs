//! Reports cut to lines that the relay takes.

use device_attributes::limits::LINE_BYTES;
use device_attributes::report::DeviceReport;

/// The most bytes of a device's message: the relay keeps no more (see [`DeviceReport::message`]).
const MESSAGE_BYTES: usize = 1024;

/// Splits devices so that each part fits a line, with room for what stands around it.
pub(super) fn parts(devices: Vec<DeviceReport>) -> Vec<Vec<DeviceReport>> {
    const ROOM: usize = 256;
    let mut parts: Vec<Vec<DeviceReport>> = Vec::new();
    let mut bytes = 0;
    for mut device in devices {
        device.message = excerpt(device.message);
        let mut length = length(&device);
        if length + ROOM > LINE_BYTES {
            // One device alone cannot be that long but by its addresses.
            device.addresses.truncate(64);
            length = self::length(&device);
        }
        match parts.last_mut() {
            Some(part) if bytes + length + ROOM <= LINE_BYTES => part.push(device),
            _ => {
                bytes = 0;
                parts.push(vec![device]);
            }
        }
        bytes += length;
    }
    parts
}

fn length(device: &DeviceReport) -> usize {
    // The comma between two devices counts too.
    serde_json::to_vec(device).map_or(0, |bytes| bytes.len() + 1)
}

/// The text, or as much of it as a message may have and an ellipsis.
fn excerpt(mut text: String) -> String {
    const ELLIPSIS: &str = "…";
    if text.len() > MESSAGE_BYTES {
        text.truncate(text.floor_char_boundary(MESSAGE_BYTES - ELLIPSIS.len()));
        text.push_str(ELLIPSIS);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use device_attributes::DeviceIdentity;
    use device_attributes::report::{GuestMessage, Reason};

    fn device(number: u32, addresses: u32) -> DeviceReport {
        DeviceReport {
            identity: DeviceIdentity {
                device: Some(format!("device-{number}").parse().unwrap()),
                ..DeviceIdentity::default()
            },
            ready: true,
            reason: Reason::Configured,
            message: "m".repeat(900),
            interface_name: Some("net1".to_owned()),
            mac_address: None,
            addresses: (1..=addresses)
                .map(|n| format!("2001:db8::{n:x}/64").parse().unwrap())
                .collect(),
            guest_pci_address: None,
            numa_node: None,
        }
    }

    #[test]
    fn every_part_fits_a_line_and_nothing_is_lost() {
        let devices: Vec<DeviceReport> = (0..300).map(|n| device(n, 3)).collect();
        let parts = parts(devices.clone());
        assert!(parts.len() > 1);
        for part in &parts {
            let message = GuestMessage::Report {
                sequence: u64::MAX,
                devices: part.clone(),
            };
            assert!(serde_json::to_vec(&message).unwrap().len() < LINE_BYTES);
        }
        assert_eq!(parts.concat(), devices);
    }

    #[test]
    fn a_device_with_endless_addresses_still_fits() {
        let parts = parts(vec![device(1, 9_999)]);
        let message = GuestMessage::Report {
            sequence: 1,
            devices: parts.concat(),
        };
        assert!(serde_json::to_vec(&message).unwrap().len() < LINE_BYTES);
    }

    #[test]
    fn a_message_of_any_length_still_fits() {
        let endless = DeviceReport {
            message: "ä".repeat(LINE_BYTES),
            ..device(1, 0)
        };
        let parts = parts(vec![endless]);
        let message = &parts[0][0].message;
        assert!(message.len() <= MESSAGE_BYTES && message.ends_with("ä…"));
    }
}
