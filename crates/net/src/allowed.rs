//! From where a client may come.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An address, or a network such as `10.0.0.0/8` or `2001:db8::/32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowedIp {
    network: IpAddr,
    bits: u8,
}

impl AllowedIp {
    /// Whether an address lies in it.
    pub fn holds(&self, ip: IpAddr) -> bool {
        match (self.network, ip.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(ip)) => {
                same_front(u128::from(u32::from(network)), u128::from(u32::from(ip)), 32, self.bits)
            }
            (IpAddr::V6(network), IpAddr::V6(ip)) => {
                same_front(u128::from(network), u128::from(ip), 128, self.bits)
            }
            _ => false,
        }
    }
}

/// Whether the first `bits` of two addresses of `width` bits are the same.
fn same_front(network: u128, ip: u128, width: u32, bits: u8) -> bool {
    (network ^ ip).checked_shr(width - u32::from(bits)).unwrap_or(0) == 0
}

impl FromStr for AllowedIp {
    type Err = String;
    fn from_str(text: &str) -> Result<AllowedIp, String> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let wrong = || format!("{text:?} is not an address or network such as 10.0.0.0/8");
        let network: IpAddr = address.parse().map_err(|_| wrong())?;
        let width = if network.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => width,
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= width).ok_or_else(wrong)?,
        };
        Ok(AllowedIp { network, bits })
    }
}

impl fmt::Display for AllowedIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_its_addresses_and_no_others() {
        let cases = [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.7", "192.0.2.6", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("2001:db8::/32", "2001:db8:1::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::/0", "2001:db9::1", true),
            ("::1", "::1", true),
        ];
        for (network, ip, expected) in cases {
            let allowed: AllowedIp = network.parse().unwrap();
            assert_eq!(allowed.holds(ip.parse().unwrap()), expected, "{network} {ip}");
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/", "10.0.0.0/-1", "carrier.example"] {
            assert!(text.parse::<AllowedIp>().is_err(), "{text}");
        }
    }
}
