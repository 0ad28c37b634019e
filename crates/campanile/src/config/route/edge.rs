//! Keys of a route of channel `edge`, and its settings made of them.

use super::Route;
use crate::config::edge::{Edge, WORK};
use cast::push::Interface;
use gateway::edge::EdgeRoute;
use settings::{section, text_format};
use std::net::SocketAddr;
use std::path::Path;

section! {
    /// Edge sites ([edge](#edge)), to which an alert goes as an archive of its text, CAP and attachments.
    /// [Push](push.md) describes it.
    EdgeKeys {
        /// Bits per second of a push, repair included: to the group, or to each site; at least `"16k"`.
        bandwidth: f64 as BitRate = EdgeRoute::default().bandwidth,
        /// Multicast group and port: one stream for all sites of a push. Also of IPv6: `"[ff15::4811]:4811"`.
        #[manual(default = "one stream for each site", example = "239.1.2.3:4811")]
        group: Option<SocketAddr> = EdgeRoute::default().group,
        /// Interface by which the group is reached: its name, such as `"eth0"`, or its IPv4 address (a group of IPv6
        /// needs the name).
        #[manual(default = "the system's choice", example = "192.0.2.1")]
        interface: Option<Interface> as Option<InterfaceName> = EdgeRoute::default().interface,
        /// Routers that the group's datagrams may pass, at most 255.
        hops: u32 = EdgeRoute::default().hops,
        /// Pushes at a time, 1 to 64. An emergency waits for none of another lane: it may begin four more.
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

impl Route {
    /// Settings of the edge gateway; nothing for another channel.
    pub fn edge(&self, data: &Path, edge: &Edge, sites: Vec<gateway::edge::EdgeSite>) -> Option<EdgeRoute> {
        let common = &self.common;
        self.keys::<EdgeKeys>().map(|keys| EdgeRoute {
            name: common.name.clone(),
            rate: common.rate,
            bandwidth: keys.bandwidth,
            group: keys.group,
            interface: keys.interface.clone(),
            hops: keys.hops,
            pushes: keys.sessions,
            validity: common.validity.unwrap_or(EdgeRoute::default().validity),
            signing_key: data.join(&edge.signing_key),
            sites,
            work: data.join(WORK),
        })
    }
}
