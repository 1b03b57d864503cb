//! A `[[device]]` table: which devices it is for, and what it says of them.

use std::collections::BTreeMap;

use device_attributes::{DeviceIdentity, InterfaceAddress, InterfaceName, Name, limits};
use wildmatch::WildMatch;

use super::alternative_name::AlternativeName;
use super::coexistence::Coexistence;
use super::error::Place;
use super::pinning::{self, Interrupts, PinTarget, Queues};
use super::reader::{Reader, Table, Value};
use super::route::Route;
use super::routing_rule::RoutingRule;
use super::sysctl::{ReversePathFilter, RouterAnnouncements};
use super::values::{boolean, integer, list, parsed, table, text};

/// The most elements of a list of routes or rules.
const LIST: usize = 1024;
/// The most bytes of a glob: a name has at most 253 (RFC 1123).
const GLOB_BYTES: usize = 512;

/// What the tables that match one device say together. Absent is what none of them says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    /// Whether the device is configured; false: it is found and reported, and nothing else.
    pub manage: Option<bool>,
    /// Whether the agent as a whole is ready only when this device is.
    pub required: Option<bool>,
    /// Who has it when a network manager is there for it.
    pub coexist: Option<Coexistence>,
    /// The interface's name, over the document's.
    pub rename: Option<InterfaceName>,
    /// Further names of the interface.
    pub alternative_names: Option<Vec<AlternativeName>>,
    /// The interface's MTU, in bytes.
    pub mtu: Option<u32>,
    /// Whether the document's MAC is given to the interface that is found by guest PCI address and
    /// has another one.
    pub set_mac: Option<bool>,
    /// The interface's addresses, in place of the document's.
    pub addresses: Option<Vec<InterfaceAddress>>,
    /// Its routes.
    pub routes: Option<Vec<Route>>,
    /// Its policy routing rules.
    pub rules: Option<Vec<RoutingRule>>,
    /// Whether what is sent from its addresses goes out by it.
    pub source_routing: Option<bool>,
    /// Its reverse path filter.
    pub rp_filter: Option<ReversePathFilter>,
    /// Whether routers' announcements configure it.
    pub accept_ra: Option<RouterAnnouncements>,
    /// Which CPUs serve its interrupts.
    pub irq: Option<Interrupts>,
    /// How many queues it has.
    pub queues: Option<Queues>,
    /// Whether its transmit queues are those of the CPUs near it.
    pub xps: Option<bool>,
    /// Whether what it receives is handed to the CPUs near it.
    pub rps: Option<bool>,
    /// How many flows each receive queue follows to the CPU that reads them.
    pub rfs: Option<u32>,
    /// Who works with it, and is to run near it.
    pub pin: Option<Vec<PinTarget>>,
    /// The place of each key that is there, by its name in the file.
    pub places: BTreeMap<&'static str, Place>,
}

impl Rule {
    /// Whether the device is configured, and not merely reported.
    pub fn is_managed(&self) -> bool {
        self.manage.unwrap_or(true)
    }

    /// Whether the agent as a whole is ready only when this device is.
    pub fn is_required(&self) -> bool {
        self.required.unwrap_or(true)
    }

    /// Lays a later table over this one, key by key.
    fn lay_over(&mut self, later: &Self) {
        fn lay<T: Clone>(over: &mut Option<T>, later: Option<&T>) {
            if let Some(later) = later {
                *over = Some(later.clone());
            }
        }
        // Taken apart so that a new key cannot be forgotten.
        let Self {
            manage,
            required,
            coexist,
            rename,
            alternative_names,
            mtu,
            set_mac,
            addresses,
            routes,
            rules,
            source_routing,
            rp_filter,
            accept_ra,
            irq,
            queues,
            xps,
            rps,
            rfs,
            pin,
            places,
        } = later;
        lay(&mut self.manage, manage.as_ref());
        lay(&mut self.required, required.as_ref());
        lay(&mut self.coexist, coexist.as_ref());
        lay(&mut self.rename, rename.as_ref());
        lay(&mut self.alternative_names, alternative_names.as_ref());
        lay(&mut self.mtu, mtu.as_ref());
        lay(&mut self.set_mac, set_mac.as_ref());
        lay(&mut self.addresses, addresses.as_ref());
        lay(&mut self.routes, routes.as_ref());
        lay(&mut self.rules, rules.as_ref());
        lay(&mut self.source_routing, source_routing.as_ref());
        lay(&mut self.rp_filter, rp_filter.as_ref());
        lay(&mut self.accept_ra, accept_ra.as_ref());
        lay(&mut self.irq, irq.as_ref());
        lay(&mut self.queues, queues.as_ref());
        lay(&mut self.xps, xps.as_ref());
        lay(&mut self.rps, rps.as_ref());
        lay(&mut self.rfs, rfs.as_ref());
        lay(&mut self.pin, pin.as_ref());
        let places = places.iter().map(|(key, place)| (*key, place.clone()));
        self.places.extend(places);
    }

    fn read(table: &mut Table<'_>) -> Self {
        let mut rule = Self {
            manage: table.key("manage", boolean),
            required: table.key("required", boolean),
            coexist: table.key("coexist", Coexistence::read),
            rename: table.key("rename", parsed),
            alternative_names: table.key("alternative-names", list_of(16, parsed)),
            // 68 is the least MTU of IPv4 (RFC 791); what the device takes is checked by the planner.
            mtu: table.key("mtu", integer("an MTU", 68..=u32::MAX)),
            set_mac: table.key("set-mac", boolean),
            addresses: table.key("addresses", list_of(limits::ADDRESSES, parsed)),
            routes: table.key("routes", list_of(LIST, super::values::table(Route::read))),
            rules: table.key(
                "rules",
                list_of(LIST, super::values::table(RoutingRule::read)),
            ),
            source_routing: table.key("source-routing", boolean),
            rp_filter: table.key("rp-filter", ReversePathFilter::read),
            accept_ra: table.key("accept-ra", RouterAnnouncements::read),
            irq: table.key("irq", Interrupts::read),
            queues: table.key("queues", Queues::read),
            xps: table.key("xps", boolean),
            rps: table.key("rps", boolean),
            rfs: table.key("rfs", pinning::flows),
            pin: table.key("pin", pinning::pins),
            places: BTreeMap::new(),
        };
        let places = KEYS
            .iter()
            .filter_map(|key| Some((*key, table.place(key)?)));
        rule.places = places.collect();
        rule
    }
}

/// The keys that say something of a device.
const KEYS: [&str; 19] = [
    "manage",
    "required",
    "coexist",
    "rename",
    "alternative-names",
    "mtu",
    "set-mac",
    "addresses",
    "routes",
    "rules",
    "source-routing",
    "rp-filter",
    "accept-ra",
    "irq",
    "queues",
    "xps",
    "rps",
    "rfs",
    "pin",
];

/// A `[[device]]` table.
#[derive(Debug, Clone)]
pub(super) struct DeviceTable {
    claim: Option<String>,
    request: Option<String>,
    driver: Option<String>,
    says: Rule,
}

impl DeviceTable {
    /// Reads every `[[device]]` table of a file.
    pub(super) fn read_all(file: &mut Table<'_>) -> Vec<Self> {
        let read = list(table(|table| Some(Self::read(table))));
        let read = |reader: &mut Reader, value: &Value<'_>| {
            if value.get_ref().as_table().is_some() {
                let message =
                    "`[device]` is one table, of which there may be many: write `[[device]]`";
                reader.mistake(value.span(), message);
                return None;
            }
            read(reader, value)
        };
        file.key("device", read).unwrap_or_default()
    }

    fn read(table: &mut Table<'_>) -> Self {
        Self {
            claim: table.key("claim", glob),
            request: table.key("request", glob),
            driver: table.key("driver", glob),
            says: Rule::read(table),
        }
    }

    /// Lays what this table says over `rule`, where it is for the device.
    pub(super) fn apply_to(&self, rule: &mut Rule, identity: &DeviceIdentity) {
        if self.matches(identity) {
            rule.lay_over(&self.says);
        }
    }

    fn matches(&self, identity: &DeviceIdentity) -> bool {
        let claim = identity.claim.as_ref();
        // A claim made from a template has a random name; its name in the pod is the stable one.
        let claim_matches = match &self.claim {
            None => true,
            Some(pattern) => claim.is_some_and(|claim| {
                matches(pattern, Some(&claim.name))
                    || matches(pattern, claim.pod_claim_name.as_ref())
            }),
        };
        claim_matches
            && self
                .request
                .as_ref()
                .is_none_or(|pattern| matches(pattern, identity.request.as_ref()))
            && self
                .driver
                .as_ref()
                .is_none_or(|pattern| matches(pattern, identity.driver.as_ref()))
    }
}

fn matches(pattern: &str, name: Option<&Name>) -> bool {
    name.is_some_and(|name| WildMatch::new(pattern).matches(name.as_str()))
}

/// A pattern of `*` and `?`. One without a character would match no name.
fn glob(reader: &mut Reader, value: &Value<'_>) -> Option<String> {
    let glob = text(reader, value)?;
    if glob.is_empty() {
        let message = "an empty pattern matches nothing: leave the key out to match everything";
        reader.mistake(value.span(), message);
        return None;
    }
    if glob.len() > GLOB_BYTES {
        let message = format!("a pattern has at most {GLOB_BYTES} bytes");
        reader.mistake(value.span(), message);
        return None;
    }
    Some(glob)
}

/// A list of at most `most` elements.
fn list_of<T>(
    most: usize,
    read: impl Fn(&mut Reader, &Value<'_>) -> Option<T>,
) -> impl Fn(&mut Reader, &Value<'_>) -> Option<Vec<T>> {
    let read = list(read);
    move |reader, value| {
        let elements = read(reader, value)?;
        if elements.len() > most {
            reader.mistake(value.span(), format!("a list of more than {most}"));
            return None;
        }
        Some(elements)
    }
}
