//! An edge route: where its sites are, how fast they are pushed to, and for how long.

use crate::context::RouteProblem;
use crate::route_loop::{ChangeScope, RouteSettings};
use channels::Defaults;
use paced_udp::push::{Interface, RATE_MIN, SITES_MAX};
use settings::Secret;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Pushes of one route under way at most: each has a stream of its own, at the whole bandwidth.
pub const PUSHES_MAX: usize = 64;
/// No push goes on for longer.
pub const VALIDITY_MAX: Duration = Duration::from_secs(86_400);

/// One `[[route]]` of channel `edge`.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeRoute {
    /// The route's name.
    pub name: String,
    /// Copies (an archive to a site) that are begun per second; 0 is unlimited.
    pub rate: f64,
    /// Bits per second of one push: to the group, or to each site. Octets of UDP datagrams count, repair
    /// included.
    pub bandwidth: f64,
    /// All sites of a push hear this multicast group; none: each has a stream of its own.
    pub group: Option<SocketAddr>,
    /// The interface by which the group is reached.
    pub interface: Option<Interface>,
    /// Routers that the group's datagrams may pass.
    pub hops: u32,
    /// Pushes at a time; an emergency waits for none of another lane.
    pub pushes: usize,
    /// A push ends after so long, whoever has the archive by then.
    pub validity: Duration,
    /// The file of what signs the manifests: 64 hexadecimal digits; made if it is not there.
    pub signing_key: PathBuf,
    /// Everywhere it can push to.
    pub sites: Vec<EdgeSite>,
    /// Where archives are made.
    pub work: PathBuf,
}

/// One `[[edge.site]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeSite {
    /// As in `edge:NAME`.
    pub name: String,
    /// `host:port`, where its receiver listens.
    pub address: String,
    /// The words that both sides have; nothing: it is on this machine.
    pub key: Option<Secret>,
}

impl Default for EdgeRoute {
    fn default() -> EdgeRoute {
        EdgeRoute {
            name: String::new(),
            rate: 0.0,
            bandwidth: 20e6,
            group: None,
            interface: None,
            hops: 4,
            pushes: 4,
            validity: Duration::from_secs(600),
            signing_key: PathBuf::new(),
            sites: Vec::new(),
            work: PathBuf::new(),
        }
    }
}

impl RouteSettings for EdgeRoute {
    fn name(&self) -> &str {
        &self.name
    }

    fn problems(&self) -> Vec<RouteProblem> {
        let mut problems = Vec::new();
        let mut check = |field: &'static str, wrong: bool, reason: String| {
            if wrong {
                problems.push(RouteProblem { field, reason });
            }
        };
        check("name", self.name.is_empty(), "is needed".to_owned());
        let rate = self.rate;
        check("rate", !rate.is_finite() || rate < 0.0, format!("{rate} is not a rate"));
        let slow = !self.bandwidth.is_finite() || self.bandwidth < RATE_MIN as f64;
        check("bandwidth", slow, format!("must be at least {RATE_MIN} bit/s"));
        let is_group = self.group.is_none_or(|group| group.ip().is_multicast() && group.port() != 0);
        check("group", !is_group, "is no multicast group with a port, such as 239.1.2.3:4811".to_owned());
        let alone = self.group.is_none() && self.interface.is_some();
        check("interface", alone, "has no effect without group".to_owned());
        if let (Some(group), Some(interface)) = (self.group, &self.interface) {
            let reason = interface.serves(group).err();
            check("interface", reason.is_some(), reason.unwrap_or_default());
        }
        check("hops", self.hops > 255, "must be at most 255".to_owned());
        let pushes = !(1..=PUSHES_MAX).contains(&self.pushes);
        check("sessions", pushes, format!("must be 1 to {PUSHES_MAX}: pushes at a time"));
        let validity = self.validity < Duration::from_secs(1) || self.validity > VALIDITY_MAX;
        check("validity", validity, "must be 1s to 24h: how long a push goes on".to_owned());
        problems
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn slots(&self) -> u32 {
        SLOTS
    }

    fn down_after(&self) -> Duration {
        DOWN_AFTER
    }

    /// A push that is under way ends by the settings it began with.
    fn step_to(&self, to: &EdgeRoute) -> ChangeScope {
        if self == to { ChangeScope::None } else { ChangeScope::InPlace }
    }
}

/// Its session is this process: it does not go down, but a stop.
const DOWN_AFTER: Duration = Duration::from_secs(30);
/// Copies that may be without a durable outcome: those of all pushes under way, and as many that wait.
const SLOTS: u32 = 8_192;

/// Everything wrong with a list of sites: place in it, key, and in words.
pub fn site_problems(sites: &[EdgeSite]) -> Vec<(usize, &'static str, String)> {
    let mut problems = Vec::new();
    let mut names = BTreeSet::new();
    for (place, site) in sites.iter().enumerate() {
        match channels::address(channels::EDGE, &site.name, &Defaults::default()) {
            Err(reason) => problems.push((place, "name", reason)),
            Ok(name) if name != site.name => {
                let reason = format!("{:?} has spaces around it: write {name:?}", site.name);
                problems.push((place, "name", reason));
            }
            Ok(_) if !names.insert(&site.name) => {
                problems.push((place, "name", format!("{:?} is the name of another site", site.name)));
            }
            Ok(_) => {}
        }
        let port = site.address.rsplit_once(':').map(|(host, port)| (host, port.parse::<u16>()));
        if !matches!(port, Some((host, Ok(1..))) if !host.is_empty()) {
            let reason = format!("{:?} is not host:port, such as 192.0.2.7:4810", site.address);
            problems.push((place, "address", reason));
        }
        let key = site.key.as_ref().map(|key| paced_udp::wire::Key::from_words(key.reveal()));
        if let Some(Err(reason)) = key {
            problems.push((place, "key_file", reason));
        }
    }
    if sites.len() > SITES_MAX {
        let reason = format!("{} sites are over the limit of {SITES_MAX}", sites.len());
        problems.push((SITES_MAX, "name", reason));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_group_or_its_interface_is_told_at_the_field() {
        for (group, interface, field) in [
            (None, None, None),
            (Some("239.1.2.3:4811"), Some("192.0.2.1"), None),
            (Some("239.1.2.3:4811"), Some("eth0"), None),
            (Some("[ff15::4811]:4811"), Some("eth0"), None),
            (Some("[ff15::4811]:4811"), None, None),
            (Some("[ff15::4811]:4811"), Some("192.0.2.1"), Some("interface")),
            (Some("[2001:db8::1]:4811"), Some("eth0"), Some("group")),
            (Some("239.1.2.3:0"), None, Some("group")),
            (None, Some("eth0"), Some("interface")),
        ] {
            let route = EdgeRoute {
                name: "sites".to_owned(),
                group: group.map(|text| text.parse().unwrap()),
                interface: interface.map(|text| text.parse().unwrap()),
                ..EdgeRoute::default()
            };
            let fields: Vec<_> = route.problems().into_iter().map(|problem| problem.field).collect();
            assert_eq!(fields, field.into_iter().collect::<Vec<_>>(), "{group:?} {interface:?}");
        }
    }
}
