//! Outbound policy: which hosts the server calls for somebody who is not its operator.
//!
//! A URL that comes by API, by sendsms or with a recipient is judged three times: at the door, as far as the
//! URL itself tells ([`OutboundPolicy::judge`]); before each call, by the same function; and for a name after
//! its resolution, address by address ([`OutboundPolicy::allows_address`]), as part of connecting, so that a
//! name whose address changes in between gains nothing. URLs of the configuration are trusted by host and
//! port.

use crate::AllowedIp;
use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

/// Networks that are not globally reachable, or not a host's: the IANA IPv4 Special-Purpose Address Registry
/// (RFC 6890 and its successors) and multicast (RFC 5771).
const SPECIAL_V4: [([u8; 4], u8); 15] = [
    ([0, 0, 0, 0], 8),       // this network, RFC 791
    ([10, 0, 0, 0], 8),      // private, RFC 1918
    ([100, 64, 0, 0], 10),   // shared by carriers' NAT, RFC 6598
    ([127, 0, 0, 0], 8),     // loopback, RFC 1122
    ([169, 254, 0, 0], 16),  // link-local, RFC 3927
    ([172, 16, 0, 0], 12),   // private, RFC 1918
    ([192, 0, 0, 0], 24),    // protocol assignments, RFC 6890
    ([192, 0, 2, 0], 24),    // documentation, RFC 5737
    ([192, 88, 99, 0], 24),  // relays of 6to4, RFC 7526
    ([192, 168, 0, 0], 16),  // private, RFC 1918
    ([198, 18, 0, 0], 15),   // benchmarking, RFC 2544
    ([198, 51, 100, 0], 24), // documentation, RFC 5737
    ([203, 0, 113, 0], 24),  // documentation, RFC 5737
    ([224, 0, 0, 0], 4),     // multicast, RFC 5771
    ([240, 0, 0, 0], 4),     // reserved, RFC 1112, and broadcast, RFC 919
];

/// Global unicast (RFC 4291, section 2.4): what lies outside is loopback, unique local (RFC 4193),
/// link-local, multicast, discarded (RFC 6666), segment routing (RFC 9602), or not assigned.
const GLOBAL_V6: ([u16; 8], u8) = ([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// Networks within [`GLOBAL_V6`] that are special all the same, by the IANA IPv6 Special-Purpose Address
/// Registry.
const SPECIAL_V6: [([u16; 8], u8); 3] = [
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), // protocol assignments (RFC 2928): Teredo, benchmarking, ORCHID
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), // documentation, RFC 3849
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), // documentation, RFC 9637
];

/// Names of this machine, each with all below it: RFC 6761, section 6.3, and what hosts files have.
const OWN_NAMES: [&str; 4] = ["localhost", "localdomain", "ip6-localhost", "ip6-loopback"];
/// Names of inner networks, each with all below it: RFC 6762, RFC 8375, and ICANN's reservation of 2024.
const INNER_NAMES: [&str; 3] = ["local", "internal", "home.arpa"];

/// What may be called: public addresses, what `[outbound] allow` lists, and hosts of the configuration's own
/// URLs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutboundPolicy {
    networks: Vec<AllowedIp>,
    names: Vec<AllowedName>,
    trusted: BTreeSet<(String, u16)>,
}

/// A host name, or with `below` every name below it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AllowedName {
    name: String,
    below: bool,
}

/// How an allowed URL is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboundTarget {
    /// At any address that its host resolves to: the operator named the host.
    Named,
    /// At those addresses that [`OutboundPolicy::allows_address`] allows.
    Judged,
}

/// Why a URL is not called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboundRefusal {
    /// It is no URL with a host, or neither http nor https.
    NoUrl,
    /// Its host is an address that is not public.
    Address(IpAddr),
    /// Its host is a name that is never public.
    Name(String),
    /// All addresses of its host are not public. Not said which: whoever made the URL shall not learn them.
    Resolved,
}

impl fmt::Display for OutboundRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LISTED: &str = "and [outbound] allow of the configuration does not list it";
        match self {
            OutboundRefusal::NoUrl => f.write_str("is not an http or https URL"),
            OutboundRefusal::Address(ip) => write!(f, "{ip} is not a public address, {LISTED}"),
            OutboundRefusal::Name(name) => write!(f, "{name:?} is not a public name, {LISTED}"),
            OutboundRefusal::Resolved => write!(f, "the host has no public address, {LISTED}"),
        }
    }
}

impl std::error::Error for OutboundRefusal {}

impl OutboundPolicy {
    /// Public addresses and these: networks (`10.0.0.0/8`, `fd00::/8`), addresses, host names, and with `*.`
    /// all names below one.
    ///
    /// # Errors
    /// The places of the entries that are none of it, each with the reason.
    pub fn new(allow: &[String]) -> Result<OutboundPolicy, Vec<(usize, String)>> {
        let mut policy = OutboundPolicy::default();
        let mut wrong = Vec::new();
        for (place, entry) in allow.iter().enumerate() {
            match Allowed::of(entry) {
                Some(Allowed::Network(network)) => policy.networks.push(network),
                Some(Allowed::Name(name)) => policy.names.push(name),
                None => wrong.push((place, no_entry(entry))),
            }
        }
        if wrong.is_empty() { Ok(policy) } else { Err(wrong) }
    }

    /// The hosts of these URLs too, each at its port: those that the configuration itself names. One without
    /// a fixed host (`http://%p/`) is passed over.
    #[must_use]
    pub fn trusting<'u>(mut self, urls: impl IntoIterator<Item = &'u str>) -> OutboundPolicy {
        let places = urls.into_iter().filter_map(|url| place_of(&Url::parse(url).ok()?));
        self.trusted.extend(places);
        self
    }

    /// Judges a URL as it is written.
    ///
    /// # Errors
    /// Why it is not called.
    pub fn judge_text(&self, url: &str) -> Result<OutboundTarget, OutboundRefusal> {
        self.judge(&Url::parse(url).map_err(|_| OutboundRefusal::NoUrl)?)
    }

    /// Judges a URL by what it tells: its host may still resolve to addresses that are not allowed.
    ///
    /// # Errors
    /// Why it is not called.
    pub fn judge(&self, url: &Url) -> Result<OutboundTarget, OutboundRefusal> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(OutboundRefusal::NoUrl);
        }
        let host = url.host().ok_or(OutboundRefusal::NoUrl)?;
        if place_of(url).is_some_and(|place| self.trusted.contains(&place)) {
            return Ok(OutboundTarget::Named);
        }
        let ip: IpAddr = match host {
            Host::Ipv4(ip) => ip.into(),
            Host::Ipv6(ip) => ip.into(),
            Host::Domain(name) => return self.judge_name(plain(name)),
        };
        if self.allows_address(ip) { Ok(OutboundTarget::Judged) } else { Err(OutboundRefusal::Address(ip)) }
    }

    /// Whether a URL may be called without TLS: what `[outbound]` lists, by name or by network, and hosts of
    /// the configuration's own URLs. A name that only resolves to a listed network is not listed.
    pub fn allows_plain(&self, url: &Url) -> bool {
        let is_in_network = |ip: IpAddr| self.networks.iter().any(|network| network.holds(ip.to_canonical()));
        if place_of(url).is_some_and(|place| self.trusted.contains(&place)) {
            return true;
        }
        match url.host() {
            Some(Host::Ipv4(ip)) => is_in_network(ip.into()),
            Some(Host::Ipv6(ip)) => is_in_network(ip.into()),
            Some(Host::Domain(name)) => {
                let name = plain(name);
                let is_own = OWN_NAMES.iter().any(|own| name == *own || is_below(name, own));
                self.names.iter().any(|allowed| allowed.holds(name))
                    || is_own && is_in_network(Ipv4Addr::LOCALHOST.into())
            }
            None => false,
        }
    }

    fn judge_name(&self, name: &str) -> Result<OutboundTarget, OutboundRefusal> {
        if name.is_empty() {
            return Err(OutboundRefusal::NoUrl);
        }
        if self.names.iter().any(|allowed| allowed.holds(name)) {
            return Ok(OutboundTarget::Named);
        }
        let is_of = |list: &[&str]| list.iter().any(|inner| name == *inner || is_below(name, inner));
        let own: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        // Whether an inner name is in an allowed network is known when it is resolved.
        let refused = is_of(&OWN_NAMES) && !own.iter().any(|ip| self.allows_address(*ip))
            || is_of(&INNER_NAMES) && self.networks.is_empty();
        if refused {
            return Err(OutboundRefusal::Name(name.to_owned()));
        }
        Ok(OutboundTarget::Judged)
    }

    /// Whether this address may be called. An IPv6 address that stands for an IPv4 address (mapped, NAT64,
    /// 6to4) is judged as that.
    pub fn allows_address(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        if self.networks.iter().any(|network| network.holds(ip)) {
            return true;
        }
        match ip {
            IpAddr::V4(ip) => is_public_v4(ip),
            IpAddr::V6(ip) => match stands_for(ip) {
                Some(v4) => self.allows_address(v4.into()),
                None => is_public_v6(ip),
            },
        }
    }
}

enum Allowed {
    Network(AllowedIp),
    Name(AllowedName),
}

impl Allowed {
    fn of(entry: &str) -> Option<Allowed> {
        let address = entry.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(entry);
        if let Ok(network) = address.parse() {
            return Some(Allowed::Network(network));
        }
        let (name, below) = entry.strip_prefix("*.").map_or((entry, false), |name| (name, true));
        match Host::parse(name).ok()? {
            Host::Domain(name) => {
                let name = plain(&name).to_owned();
                let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
                (!name.is_empty() && name.chars().all(fits))
                    .then_some(Allowed::Name(AllowedName { name, below }))
            }
            // Addresses in forms that people rarely mean: 127.1.
            Host::Ipv4(_) | Host::Ipv6(_) => None,
        }
    }
}

impl AllowedName {
    fn holds(&self, name: &str) -> bool {
        if self.below { is_below(name, &self.name) } else { name == self.name }
    }
}

fn no_entry(entry: &str) -> String {
    format!(
        "{entry:?} is neither a network such as 10.0.0.0/8, an address, nor a host name such as hooks.example \
         or *.hooks.example (without scheme, port and path)"
    )
}

/// A name without the dot that may end it.
fn plain(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

fn is_below(name: &str, above: &str) -> bool {
    name.strip_suffix(above).is_some_and(|front| front.len() > 1 && front.ends_with('.'))
}

/// Host and port, as URLs of the configuration are trusted.
fn place_of(url: &Url) -> Option<(String, u16)> {
    Some((plain(url.host_str()?).to_owned(), url.port_or_known_default()?))
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let value = u32::from(ip);
    let is_in = |(network, bits): &([u8; 4], u8)| {
        (value ^ u32::from_be_bytes(*network)) >> (32 - u32::from(*bits)) == 0
    };
    !SPECIAL_V4.iter().any(is_in)
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let value = u128::from(ip);
    let is_in = |(network, bits): &([u16; 8], u8)| {
        (value ^ u128::from(Ipv6Addr::from(*network))) >> (128 - u32::from(*bits)) == 0
    };
    is_in(&GLOBAL_V6) && !SPECIAL_V6.iter().any(is_in)
}

/// The IPv4 address that a translator or a tunnel makes of this one: by NAT64's well-known prefix
/// `64:ff9b::/96` (RFC 6052), or 6to4's `2002::/16` (RFC 3056).
fn stands_for(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match ip.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(v4(high, low)),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
