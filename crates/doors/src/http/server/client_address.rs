//! Address of a client: of the connection, or what a trusted proxy says of it.

use axum::http::HeaderMap;
use net::Balancers;
use std::net::{IpAddr, SocketAddr};

/// Addresses that are read of a header; a longer list is not trusted.
const HOPS_MAX: usize = 32;

/// The address of the client that made a request, for limits, allowed addresses, logs and the audit trail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

/// The client of a request. Each proxy adds the address that it was connected from at the end of
/// `X-Forwarded-For`; so from the end the first address that is no trusted proxy is the client's, and
/// whatever stands before it is only the client's word.
pub(super) fn client_of(peer: SocketAddr, headers: &HeaderMap, proxies: &Balancers) -> ClientAddress {
    let mut client = peer.ip();
    if !proxies.holds(peer) {
        return ClientAddress(client.to_canonical());
    }
    let lines = headers.get_all("x-forwarded-for").iter().filter_map(|line| line.to_str().ok());
    let hops: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).take(HOPS_MAX + 1).collect();
    if hops.len() > HOPS_MAX {
        return ClientAddress(client.to_canonical());
    }
    for hop in hops.into_iter().rev() {
        let Some(ip) = address(hop) else { break };
        client = ip;
        if !proxies.holds(SocketAddr::new(ip, 0)) {
            break;
        }
    }
    ClientAddress(client.to_canonical())
}

/// An address as proxies write it: bare, with a port, in brackets.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.split(']').next()).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_is_the_last_address_that_no_trusted_proxy_has() {
        let proxies = Balancers::new(["10.0.0.0/8", "::1"].map(|network| network.parse().unwrap()).to_vec());
        for (peer, forwarded, expected) in [
            ("192.0.2.1:9", &["203.0.113.9"][..], "192.0.2.1"),
            ("10.0.0.1:9", &["203.0.113.9"], "203.0.113.9"),
            ("10.0.0.1:9", &["127.0.0.1, 203.0.113.9"], "203.0.113.9"),
            ("10.0.0.1:9", &["198.51.100.1, 203.0.113.9, 10.2.3.4"], "203.0.113.9"),
            ("10.0.0.1:9", &["198.51.100.1", "203.0.113.9"], "203.0.113.9"),
            ("10.0.0.1:9", &["203.0.113.9:4711"], "203.0.113.9"),
            ("[::1]:9", &["[2001:db8::7]:4711"], "2001:db8::7"),
            ("[::1]:9", &["2001:db8::7"], "2001:db8::7"),
            ("[::ffff:10.0.0.1]:9", &["::ffff:203.0.113.9"], "203.0.113.9"),
            ("10.0.0.1:9", &["10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1:9", &["unknown"], "10.0.0.1"),
            ("10.0.0.1:9", &["203.0.113.9, nonsense"], "10.0.0.1"),
            ("10.0.0.1:9", &[], "10.0.0.1"),
            ("10.0.0.1:9", &["203.0.113.9,", "203.0.113.8"], "203.0.113.8"),
        ] {
            let mut headers = HeaderMap::new();
            forwarded.iter().for_each(|line| _ = headers.append("x-forwarded-for", line.parse().unwrap()));
            let client = client_of(peer.parse().unwrap(), &headers, &proxies);
            assert_eq!(client.0, expected.parse::<IpAddr>().unwrap(), "{peer} {forwarded:?}");
        }
        let mut headers = HeaderMap::new();
        headers.append("x-forwarded-for", ["203.0.113.9"; 40].join(",").parse().unwrap());
        assert_eq!(client_of("10.0.0.1:9".parse().unwrap(), &headers, &proxies).0.to_string(), "10.0.0.1");
    }
}
