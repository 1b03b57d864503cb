//! What of a device is brought near it: its interrupts, its queues, and who works with it.

use std::fmt;

use device_attributes::one_line;
use serde::{Deserialize, Serialize};

use super::reader::{EXCERPT, Reader, Value};
use super::values::{integer, list, text};

/// The most units of one device.
const UNITS: usize = 64;

/// Which CPUs serve a device's interrupts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Interrupts {
    /// Whichever do: nothing is set.
    #[default]
    Leave,
    /// Each interrupt any CPU near the device.
    Node,
    /// Each interrupt one CPU near the device, in turn.
    Spread,
}

/// How many queues a network interface has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Queues {
    /// As many as it has: nothing is set.
    #[default]
    Leave,
    /// One for each CPU near it, as far as it can have them.
    Node,
    /// This many.
    Count(u32),
}

/// Who works with a device, and is to run near it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PinTarget {
    /// A systemd service or slice.
    Unit(UnitName),
}

/// The name of a systemd service or slice (`unit_name_is_valid` in systemd's `basic/unit-name.c`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitName(String);

impl Interrupts {
    pub(super) fn read(reader: &mut Reader, value: &Value<'_>) -> Option<Self> {
        Some(match text(reader, value)?.as_str() {
            "leave" => Self::Leave,
            "node" => Self::Node,
            "spread" => Self::Spread,
            _ => {
                let message = "irq is \"spread\", \"node\" or \"leave\"";
                reader.mistake(value.span(), message);
                return None;
            }
        })
    }
}

impl Queues {
    pub(super) fn read(reader: &mut Reader, value: &Value<'_>) -> Option<Self> {
        if value.get_ref().as_integer().is_some() {
            // What the device can have is checked by the planner.
            let count = integer("a number of queues", 1..=65_535)(reader, value)?;
            return Some(Self::Count(count));
        }
        match value.get_ref().as_str() {
            Some("leave") => Some(Self::Leave),
            Some("node") => Some(Self::Node),
            _ => {
                let message = "queues is \"node\", \"leave\" or a number";
                reader.mistake(value.span(), message);
                None
            }
        }
    }
}

/// `rps_flow_cnt`, which the kernel makes a power of two (`store_rps_dev_flow_table_cnt` in
/// `net/core/net-sysfs.c`).
pub(super) fn flows(reader: &mut Reader, value: &Value<'_>) -> Option<u32> {
    let count = integer("a number of flows", 0..=1 << 20)(reader, value)?;
    if count != 0 && !count.is_power_of_two() {
        let near = count.next_power_of_two();
        let message = format!("the kernel counts flows in powers of two: {near} is the next");
        reader.mistake(value.span(), message);
        return None;
    }
    Some(count)
}

/// `"unit:NAME"`, or a list of such.
pub(super) fn pins(reader: &mut Reader, value: &Value<'_>) -> Option<Vec<PinTarget>> {
    if value.get_ref().as_str().is_some() {
        return pin(reader, value).map(|target| vec![target]);
    }
    if value.get_ref().as_array().is_none() {
        reader.wrong_type(
            value,
            "a string like \"unit:NAME.service\", or a list of such",
        );
        return None;
    }
    let mut targets = list(pin)(reader, value)?;
    if targets.len() > UNITS {
        reader.mistake(value.span(), format!("a list of more than {UNITS}"));
        return None;
    }
    targets.sort();
    targets.dedup();
    Some(targets)
}

fn pin(reader: &mut Reader, value: &Value<'_>) -> Option<PinTarget> {
    let text = text(reader, value)?;
    let name = text.strip_prefix("unit:").unwrap_or_default();
    if let Some(name) = UnitName::new(name) {
        return Some(PinTarget::Unit(name));
    }
    let shown = one_line(&text, EXCERPT);
    let message =
        format!("{shown:?} is no unit: write \"unit:NAME.service\" or \"unit:NAME.slice\"");
    reader.mistake(value.span(), message);
    None
}

impl UnitName {
    /// The most bytes of it (`UNIT_NAME_MAX`).
    const BYTES: usize = 255;

    /// A service's or a slice's name; none when it is another's, no unit's, or that of the slice of all that runs
    /// (`unit_name_is_valid` and `slice_name_is_valid` of systemd).
    pub fn new(name: &str) -> Option<Self> {
        let slice = name.strip_suffix(".slice");
        let stem = slice.or_else(|| name.strip_suffix(".service"))?;
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b":-_.\\@".contains(&byte);
        // A dash leads from a slice to the one below it, and there are no templates.
        let is_slices = !stem.contains('@') && stem.split('-').all(|part| !part.is_empty());
        let is_name = !stem.is_empty()
            && name.len() <= Self::BYTES
            && stem.bytes().all(fits)
            && !stem.starts_with(['@', '.'])
            && (slice.is_none() || is_slices);
        is_name.then(|| Self(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is a slice's.
    pub fn is_slice(&self) -> bool {
        self.0.strip_suffix(".slice").is_some()
    }
}

impl fmt::Display for UnitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for PinTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit(name) => write!(f, "unit:{name}"),
        }
    }
}
