//! The kernel's routing netlink: interfaces, addresses, routes and rules, listed and changed one at
//! a time.

mod address;
mod addressing;
mod announcement;
mod attribute;
mod connection;
mod error;
mod ethtool;
mod generic;
mod link;
mod message;
mod route;
mod routing;
mod rule;
#[cfg(test)]
mod scripted;
mod socket;
mod watch;

use std::fmt;

use device_attributes::MacAddress;
use rtnetlink::packet_core::{NLM_F_APPEND, NLM_F_CREATE, NLM_F_EXCL};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::link::{LinkAttribute, LinkExtentMask, LinkMessage, Prop};
use rtnetlink::{LinkMessageBuilder, LinkUnspec};

pub use address::Address;
pub use announcement::{Change, Removal, Removed};
use connection::Connection;
pub use error::{Cause, NetlinkError};
pub use ethtool::{Channels, Ethtool};
pub use link::{Ipv6Settings, Link};
use message::Message;
pub use routing::{Kept, Routes};
pub use watch::Watch;

/// A connection to the routing netlink of the network namespace that it was opened in.
///
/// Every request has a deadline of ten seconds. One that is dropped before its end may still be
/// carried out.
#[derive(Debug)]
pub struct Netlink {
    connection: Connection,
}

impl Netlink {
    /// Opens the connection. It needs no runtime, and in one no more than time.
    ///
    /// # Errors
    /// When the kernel gives no socket.
    pub fn open() -> Result<Self, NetlinkError> {
        let connection = Connection::open()
            .map_err(|error| NetlinkError::socket("speak to the kernel by netlink", &error))?;
        Ok(Self { connection })
    }

    /// Every interface, `lo` included.
    ///
    /// # Errors
    /// When the list cannot be had, or keeps changing while it is read.
    pub async fn links(&self) -> Result<Vec<Link>, NetlinkError> {
        let mut message = LinkMessage::default();
        // The IPv6 counters are a quarter of the bytes, and nothing here reads them.
        let mask = LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]);
        message.attributes.push(mask);
        let request = RouteNetlinkMessage::GetLink(message);
        let list = self
            .connection
            .dump(request, "list the network interfaces")
            .await?;
        Ok(list
            .into_iter()
            .filter_map(|message| match message {
                Message::Link(link) => Some(link),
                _ => None,
            })
            .collect())
    }

    /// Gives an interface another name. Before Linux 6.2 the kernel refuses that with `EBUSY`
    /// while the interface is up.
    ///
    /// # Errors
    /// When the kernel refuses, or does not answer.
    pub async fn rename(&self, interface: u32, to: &str) -> Result<(), NetlinkError> {
        let link = LinkUnspec::new_with_index(interface).name(to.to_owned());
        self.set_link(link, format_args!("rename interface {interface} to {to}"))
            .await
    }

    /// Sets an interface's MTU, in bytes.
    ///
    /// # Errors
    /// As for [`Netlink::rename`].
    pub async fn set_mtu(&self, interface: u32, mtu: u32) -> Result<(), NetlinkError> {
        let link = LinkUnspec::new_with_index(interface).mtu(mtu);
        self.set_link(
            link,
            format_args!("set the MTU of interface {interface} to {mtu}"),
        )
        .await
    }

    /// Sets an interface administratively up.
    ///
    /// # Errors
    /// As for [`Netlink::rename`].
    pub async fn set_up(&self, interface: u32) -> Result<(), NetlinkError> {
        let link = LinkUnspec::new_with_index(interface).up();
        self.set_link(link, format_args!("set interface {interface} up"))
            .await
    }

    /// Sets an interface administratively down. Its routes and its global IPv6 addresses are lost.
    ///
    /// # Errors
    /// As for [`Netlink::rename`].
    pub async fn set_down(&self, interface: u32) -> Result<(), NetlinkError> {
        let link = LinkUnspec::new_with_index(interface).down();
        self.set_link(link, format_args!("set interface {interface} down"))
            .await
    }

    /// Sets an interface's MAC address. Many drivers refuse that with `EBUSY` while it is up.
    ///
    /// # Errors
    /// As for [`Netlink::rename`].
    pub async fn set_mac_address(
        &self,
        interface: u32,
        mac: MacAddress,
    ) -> Result<(), NetlinkError> {
        let link = LinkUnspec::new_with_index(interface).address(mac.bytes().to_vec());
        self.set_link(
            link,
            format_args!("set the MAC address of interface {interface} to {mac}"),
        )
        .await
    }

    /// Gives an interface one more name.
    ///
    /// # Errors
    /// As for [`Netlink::rename`]; `EEXIST` when any interface has that name.
    pub async fn add_alternative_name(
        &self,
        interface: u32,
        name: &str,
    ) -> Result<(), NetlinkError> {
        let request = RouteNetlinkMessage::NewLinkProp(alternative_name(interface, name));
        let flags = NLM_F_CREATE | NLM_F_EXCL | NLM_F_APPEND;
        self.connection
            .change(
                request,
                flags,
                format_args!("give interface {interface} the alternative name {name}"),
            )
            .await
    }

    /// Takes an alternative name from an interface.
    ///
    /// # Errors
    /// As for [`Netlink::rename`]; `ENOENT` when no interface has that name.
    pub async fn remove_alternative_name(
        &self,
        interface: u32,
        name: &str,
    ) -> Result<(), NetlinkError> {
        let request = RouteNetlinkMessage::DelLinkProp(alternative_name(interface, name));
        self.connection
            .change(
                request,
                0,
                format_args!("take the alternative name {name} from interface {interface}"),
            )
            .await
    }

    async fn set_link(
        &self,
        link: LinkMessageBuilder<LinkUnspec>,
        attempt: fmt::Arguments<'_>,
    ) -> Result<(), NetlinkError> {
        let request = RouteNetlinkMessage::SetLink(link.build());
        self.connection.change(request, 0, attempt).await
    }
}

fn alternative_name(interface: u32, name: &str) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = interface;
    let property = Prop::AltIfName(name.to_owned());
    message
        .attributes
        .push(LinkAttribute::PropList(vec![property]));
    message
}

/// An attribute's text without the NUL at its end; bytes that are no UTF-8 are replaced.
fn text(value: &[u8]) -> String {
    let value = value.strip_suffix(&[0]).unwrap_or(value);
    String::from_utf8_lossy(value).into_owned()
}
