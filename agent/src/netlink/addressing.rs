//! Addresses of interfaces, listed and changed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use device_attributes::InterfaceAddress;
use nix::errno::Errno;
use rtnetlink::AddressMessageBuilder;
use rtnetlink::packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::address::AddressMessage;

use super::message::Message;
use super::{Address, Netlink, NetlinkError};

impl Netlink {
    /// Every address of every interface, in the kernel's order.
    ///
    /// # Errors
    /// As for [`Netlink::links`].
    pub async fn addresses(&self) -> Result<Vec<Address>, NetlinkError> {
        self.listed_addresses(AddressMessage::default()).await
    }

    /// The addresses of one interface, in the kernel's order.
    ///
    /// # Errors
    /// As for [`Netlink::links`]; `ENODEV` when there is no such interface.
    pub async fn addresses_of(&self, interface: u32) -> Result<Vec<Address>, NetlinkError> {
        let mut message = AddressMessage::default();
        message.header.index = interface;
        let mut list = self.listed_addresses(message).await?;
        // Kernels before 4.20 list all.
        list.retain(|address| address.interface == interface);
        Ok(list)
    }

    async fn listed_addresses(
        &self,
        message: AddressMessage,
    ) -> Result<Vec<Address>, NetlinkError> {
        let request = RouteNetlinkMessage::GetAddress(message);
        let list = self.connection.dump(request, "list the addresses").await?;
        Ok(list
            .into_iter()
            .filter_map(|message| match message {
                Message::Address(address) => Some(address),
                _ => None,
            })
            .collect())
    }

    /// Adds an address to an interface, with the broadcast address that its prefix gives.
    ///
    /// # Errors
    /// As for [`Netlink::rename`]; `EEXIST` when the interface has it.
    pub async fn add_address(
        &self,
        interface: u32,
        address: InterfaceAddress,
    ) -> Result<(), NetlinkError> {
        let request = RouteNetlinkMessage::NewAddress(address_message(interface, address));
        self.connection
            .change(
                request,
                NLM_F_CREATE | NLM_F_EXCL,
                format_args!("add {address} to interface {interface}"),
            )
            .await
    }

    /// Removes an address from an interface.
    ///
    /// # Errors
    /// As for [`Netlink::rename`]; `EADDRNOTAVAIL` when the interface does not have it.
    pub async fn remove_address(
        &self,
        interface: u32,
        address: InterfaceAddress,
    ) -> Result<(), NetlinkError> {
        let request = RouteNetlinkMessage::DelAddress(address_message(interface, address));
        self.connection
            .change(
                request,
                0,
                format_args!("remove {address} from interface {interface}"),
            )
            .await
    }

    /// Puts addresses back as they were, with their flags and lifetimes.
    ///
    /// # Errors
    /// The first refusal, after all were tried. One that is there again is none.
    pub async fn restore_addresses(
        &self,
        addresses: impl IntoIterator<Item = &Address>,
    ) -> Result<(), NetlinkError> {
        let mut result = Ok(());
        for address in addresses {
            match self.restore_address(address).await {
                Err(error) if error.errno() != Some(Errno::EEXIST) => {
                    result = result.and(Err(error));
                }
                _ => {}
            }
        }
        result
    }

    async fn restore_address(&self, address: &Address) -> Result<(), NetlinkError> {
        let request = RouteNetlinkMessage::NewAddress(address.message.clone());
        let what = match address.ip {
            Some(ip) => format!("{ip}/{}", address.prefix),
            None => "an address".to_owned(),
        };
        let attempt = format_args!("put {what} back on interface {}", address.interface);
        self.connection
            .change(request, NLM_F_CREATE | NLM_F_EXCL, attempt)
            .await
    }
}

fn address_message(interface: u32, address: InterfaceAddress) -> AddressMessage {
    match address.ip() {
        IpAddr::V4(ip) => AddressMessageBuilder::<Ipv4Addr>::new()
            .index(interface)
            .address(ip, address.prefix())
            .build(),
        IpAddr::V6(ip) => AddressMessageBuilder::<Ipv6Addr>::new()
            .index(interface)
            .address(ip, address.prefix())
            .build(),
    }
}
