//! The policy routing rules of a policy: which packets look into which routing table.

use std::fmt;
use std::str::FromStr;

use device_attributes::{InterfaceName, one_line};
use serde::{Deserialize, Serialize};

use super::prefix::{Family, Prefix};
use super::reader::Table;
use super::route::table_number;
use super::values::{integer, parsed};

/// One rule, as the policy has it. Without an address it is one for each family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoutingRule {
    /// The source addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Prefix>,
    /// The destinations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Prefix>,
    /// The interface that they came in by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iif: Option<InterfaceName>,
    /// The mark that the firewall or a socket gave them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fwmark: Option<Mark>,
    /// The table that they look into.
    pub table: u32,
    /// The place among all rules: the lowest is asked first.
    pub priority: u32,
}

/// A packet's mark and the bits of it that count: `0x10`, `0x10/0xff`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mark {
    /// The mark.
    pub value: u32,
    /// The bits that count.
    pub mask: u32,
}

impl RoutingRule {
    /// The families that it is for.
    pub fn families(&self) -> &'static [Family] {
        match self.from.or(self.to).map(Prefix::family) {
            Some(Family::Ipv4) => &[Family::Ipv4],
            Some(Family::Ipv6) => &[Family::Ipv6],
            None => &[Family::Ipv4, Family::Ipv6],
        }
    }

    /// Reads a table of `rules`.
    pub(super) fn read(table: &mut Table<'_>) -> Option<Self> {
        let from = table.key("from", parsed::<Prefix>);
        let to = table.key("to", parsed::<Prefix>);
        let iif = table.key("iif", parsed);
        let fwmark = table.key("fwmark", parsed);
        let number = table.required("table", table_number);
        // The kernel would put a rule without one before all others. 0 is that of the table of the
        // guest's own addresses.
        let priority = table.required("priority", integer("a priority", 1..=u32::MAX));
        if let (Some(from), Some(to)) = (from, to)
            && from.family() != to.family()
        {
            table.mistake_at("to", "`from` and `to` are of two address families");
        }
        if !["from", "to", "iif", "fwmark"]
            .iter()
            .any(|key| table.has(key))
        {
            table.mistake(
                "a rule without `from`, `to`, `iif` or `fwmark` would take all of the guest's \
                 traffic: write from = \"0.0.0.0/0\" where that is meant",
            );
        }
        Some(Self {
            from,
            to,
            iif,
            fwmark,
            table: number?,
            priority: priority?,
        })
    }
}

impl FromStr for Mark {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |digits: &str| match digits.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        let (value, mask) = text.split_once('/').unwrap_or((text, "0xffffffff"));
        let bad = || {
            let text = one_line(text, 64);
            format!("{text:?} is not a mark, like \"0x10\", or \"0x10/0xff\" with a mask")
        };
        let mark = Self {
            value: number(value).map_err(|_| bad())?,
            mask: number(mask).map_err(|_| bad())?,
        };
        if mark.value & !mark.mask != 0 || mark.mask == 0 {
            let text = one_line(text, 64);
            return Err(format!(
                "the mark {text:?} fits no packet: it has bits that its mask lacks"
            ));
        }
        Ok(mark)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.value)?;
        if self.mask != u32::MAX {
            write!(f, "/{:#x}", self.mask)?;
        }
        Ok(())
    }
}

impl TryFrom<String> for Mark {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Mark> for String {
    fn from(mark: Mark) -> Self {
        mark.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::Mark;

    #[test]
    fn marks_are_numbers_with_or_without_a_mask() {
        for (text, canonical) in [
            ("16", "0x10"),
            ("0x10", "0x10"),
            ("0x10/0xff", "0x10/0xff"),
            ("0/0xff", "0x0/0xff"),
            ("0x10/0xffffffff", "0x10"),
        ] {
            assert_eq!(text.parse::<Mark>().unwrap().to_string(), canonical);
        }
        for text in [
            "",
            "/",
            "x",
            "-1",
            "0x10/",
            "0x100000000",
            "0x100/0xff",
            "0/0",
        ] {
            assert!(text.parse::<Mark>().is_err(), "{text}");
        }
    }
}
