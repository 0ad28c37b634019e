//! From where a platform may come.

use std::net::IpAddr;
use std::str::FromStr;

/// An address, or a network such as `10.0.0.0/8` or `2001:db8::/32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Whether an address lies in it.
    pub(super) fn holds(&self, from: IpAddr) -> bool {
        let (differs, width) = match (self.address, from.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(u32::from(a) ^ u32::from(b)), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => (u128::from(a) ^ u128::from(b), 128),
            _ => return false,
        };
        differs.checked_shr(width - self.bits).unwrap_or(0) == 0
    }
}

impl FromStr for Network {
    type Err = String;
    fn from_str(text: &str) -> Result<Network, String> {
        let wrong = || format!("{text:?} is no address or network such as 10.0.0.0/8");
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(width), |bits| bits.parse().map_err(|_| wrong()))?;
        if bits > width { Err(wrong()) } else { Ok(Network { address, bits }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_its_addresses_and_no_others() {
        let cases = [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("192.0.2.7", "192.0.2.6", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("2001:db8::/32", "2001:db8:1::1", true),
            ("::/0", "10.0.0.1", false),
        ];
        for (network, from, expected) in cases {
            let network: Network = network.parse().unwrap();
            assert_eq!(network.holds(from.parse().unwrap()), expected, "{network:?} {from}");
        }
        for text in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/", "host.example"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
