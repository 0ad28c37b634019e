//! Keys of a route of channel `edge`, and its settings made of them.

use super::config::{EdgeRoute, EdgeSite};
use crate::context::RouteProblem;
use crate::route_keys::RouteKeys;
use crate::surroundings::Surroundings;
use paced_udp::push::Interface;
use settings::{section, text_format};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

section! {
    /// Edge sites ([edge](#edge)): each gets an alert as an archive of its text, CAP and attachments.
    /// [Push](push.md) describes it.
    EdgeKeys {
        /// Bits per second of a push, repair included: to the group, or to each site; at least `"16k"`.
        bandwidth: f64 as BitRate = EdgeRoute::default().bandwidth,
        /// Multicast group and port: one stream for all sites of a push. Also of IPv6: `"[ff15::4811]:4811"`.
        #[manual(default = "one stream for each site", example = "239.1.2.3:4811")]
        group: Option<SocketAddr> = EdgeRoute::default().group,
        /// Interface by which the group is reached: its name, such as `"eth0"`, or its IPv4 address (a group
        /// of IPv6 needs the name).
        #[manual(default = "the system's choice", example = "192.0.2.1")]
        interface: Option<Interface> as Option<InterfaceName> = EdgeRoute::default().interface,
        /// Routers that the group's datagrams may pass, at most 255.
        hops: u32 = EdgeRoute::default().hops,
        /// Pushes at a time, 1 to 64. An emergency does not wait for pushes of other lanes: up to four more
        /// may begin for it.
        sessions: usize = EdgeRoute::default().pushes,
    }
}

text_format! {
    /// Bits per second: `20M`, `1.5G`.
    BitRate for f64: "bits per second such as `\"20M\"`",
    |text| pace::parse_bit_rate(text).map_err(|error| error.to_string()),
    |rate| format_bit_rate(*rate)
}

text_format! {
    /// A network interface.
    InterfaceName for Interface: "name or IPv4 address", str::parse, Interface::to_string
}

/// A rate in the largest unit of which it is a whole number.
fn format_bit_rate(rate: f64) -> String {
    let unit = [("G", 1e9), ("M", 1e6), ("k", 1e3)].into_iter().find(|(_, unit)| rate % unit == 0.0);
    unit.map_or_else(|| rate.to_string(), |(name, unit)| format!("{}{name}", rate / unit))
}

/// Sites, and the key that signs their archives: `[edge]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeSites {
    /// The sites.
    pub sites: Vec<EdgeSite>,
    /// File of the signing key.
    pub signing_key: PathBuf,
}

/// Archives are made below it, in the data folder.
const WORK: &str = "edge";

impl EdgeKeys {
    /// Settings of a route with these keys.
    pub(super) fn route(&self, common: &RouteKeys, around: &Surroundings) -> Result<EdgeRoute, RouteProblem> {
        let Some(EdgeSites { sites, signing_key }) = around.get() else {
            let reason = "edge needs at least one [[edge.site]]".to_owned();
            return Err(RouteProblem { field: "channel", reason });
        };
        Ok(EdgeRoute {
            name: common.name.clone(),
            rate: common.rate,
            bandwidth: self.bandwidth,
            group: self.group,
            interface: self.interface.clone(),
            hops: self.hops,
            pushes: self.sessions,
            validity: common.validity.unwrap_or(EdgeRoute::default().validity),
            signing_key: around.below(signing_key),
            sites: sites.clone(),
            work: around.below(Path::new(WORK)),
        })
    }
}
