//! Routes and policy rules, listed and changed.

use rtnetlink::packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use rtnetlink::packet_route::route::{RouteFlags, RouteMessage, RouteProtocol};
use rtnetlink::packet_route::rule::RuleMessage;
use rtnetlink::packet_route::{AddressFamily, RouteNetlinkMessage};

use super::message::Message;
use super::route::KernelRoute;
use super::{Netlink, NetlinkError, route, rule};
use crate::routing::{PROTOCOL, Route, RouteKind, RoutingRule};

/// Which routes are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routes {
    /// All of IPv4 and IPv6.
    All,
    /// Those with the agent's protocol number.
    Own,
}

/// The routes of interfaces as the kernel described them, for putting them back.
#[derive(Debug)]
pub struct Kept(Vec<KernelRoute>);

impl Netlink {
    /// The routes of every table, without those that are local, broadcast or multicast: they come
    /// and go with addresses.
    ///
    /// # Errors
    /// As for [`Netlink::links`].
    pub async fn routes(&self, which: Routes) -> Result<Vec<Route>, NetlinkError> {
        let list = self.kernel_routes(which).await?;
        Ok(list
            .into_iter()
            .map(|kernel| kernel.route)
            .filter(|route| route.kind != RouteKind::Other)
            // Kernels before 4.20 list all.
            .filter(|route| which == Routes::All || route.is_own())
            .collect())
    }

    /// The policy rules that a policy could name, in the kernel's order.
    ///
    /// # Errors
    /// As for [`Netlink::links`].
    pub async fn rules(&self) -> Result<Vec<RoutingRule>, NetlinkError> {
        let request = RouteNetlinkMessage::GetRule(RuleMessage::default());
        let list = self
            .connection
            .dump(request, "list the policy rules")
            .await?;
        Ok(list
            .into_iter()
            .filter_map(|message| match message {
                Message::Rule(rule) => Some(rule),
                _ => None,
            })
            .collect())
    }

    /// Adds a route.
    ///
    /// # Errors
    /// As for [`Netlink::rename`]; `EEXIST` when there is one to the same destination with the
    /// same metric in the same table, which stays as it is.
    pub async fn add_route(&self, route: &Route) -> Result<(), NetlinkError> {
        let request = RouteNetlinkMessage::NewRoute(route::message(route));
        self.connection
            .change(
                request,
                NLM_F_CREATE | NLM_F_EXCL,
                format_args!("add the {route}"),
            )
            .await
    }

    /// Removes a route, if its protocol number is the same too.
    ///
    /// # Errors
    /// As for [`Netlink::rename`]; `ESRCH` when there is no such route.
    pub async fn remove_route(&self, route: &Route) -> Result<(), NetlinkError> {
        let request = RouteNetlinkMessage::DelRoute(route::message(route));
        self.connection
            .change(request, 0, format_args!("remove the {route}"))
            .await
    }

    /// Adds a policy rule.
    ///
    /// # Errors
    /// As for [`Netlink::rename`]; `EEXIST` when there is the same one.
    pub async fn add_rule(&self, rule: &RoutingRule) -> Result<(), NetlinkError> {
        let request = RouteNetlinkMessage::NewRule(rule::message(rule));
        self.connection
            .change(
                request,
                NLM_F_CREATE | NLM_F_EXCL,
                format_args!("add the {rule}"),
            )
            .await
    }

    /// Removes a policy rule, if its protocol number is the same too.
    ///
    /// # Errors
    /// As for [`Netlink::rename`]; `ENOENT` when there is no such rule.
    pub async fn remove_rule(&self, rule: &RoutingRule) -> Result<(), NetlinkError> {
        let request = RouteNetlinkMessage::DelRule(rule::message(rule));
        self.connection
            .change(request, 0, format_args!("remove the {rule}"))
            .await
    }

    /// The routes that interfaces lose when they are set down and that the kernel does not make
    /// anew from their addresses.
    ///
    /// # Errors
    /// As for [`Netlink::links`].
    pub async fn keep_routes(&self, interfaces: &[u32]) -> Result<Kept, NetlinkError> {
        let kernel = u8::from(RouteProtocol::Kernel);
        let mut list = self.kernel_routes(Routes::All).await?;
        list.retain(|kept| {
            let interface = kept.route.interface;
            interface.is_some_and(|interface| interfaces.contains(&interface))
                && kept.route.protocol != kernel
        });
        // What is on the link first: the gateways of the others are reached by it.
        list.sort_by_key(|kept| kept.route.gateway.is_some());
        Ok(Kept(list))
    }

    /// Puts routes back as they were, with their metrics and flags, in the order that they need.
    ///
    /// # Errors
    /// The first refusal, after all were tried. One that is there again is none.
    pub async fn restore_routes(&self, kept: &Kept) -> Result<(), NetlinkError> {
        let mut result = Ok(());
        for kernel in &kept.0 {
            let Ok(message) = kernel.restoring() else {
                continue;
            };
            let request = RouteNetlinkMessage::NewRoute(message);
            let flags = NLM_F_CREATE | NLM_F_EXCL;
            let attempt = format_args!("put the {} back", kernel.route);
            match self.connection.change(request, flags, attempt).await {
                Err(error) if error.errno() != Some(nix::errno::Errno::EEXIST) => {
                    result = result.and(Err(error));
                }
                _ => {}
            }
        }
        result
    }

    async fn kernel_routes(&self, which: Routes) -> Result<Vec<KernelRoute>, NetlinkError> {
        let mut message = RouteMessage::default();
        // Both families in one list, and those of others, which are passed over.
        message.header.address_family = AddressFamily::Unspec;
        message.header.flags = RouteFlags::empty();
        if which == Routes::Own {
            message.header.protocol = RouteProtocol::from(PROTOCOL);
        }
        let request = RouteNetlinkMessage::GetRoute(message);
        let list = self.connection.dump(request, "list the routes").await?;
        let routes = list.into_iter().filter_map(|message| match message {
            Message::Route(route) => Some(route),
            _ => None,
        });
        Ok(routes.collect())
    }
}
