//! The interface by which a group is reached.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// Octets of an interface's name at most (`IFNAMSIZ` less its end).
const NAME_LEN_MAX: usize = 15;

/// An interface: by its name, or by its address, which IPv6 groups cannot be joined by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interface {
    /// By its address.
    Address(Ipv4Addr),
    /// By its name, such as `eth0`.
    Name(String),
}

impl Interface {
    /// Whether a group can be joined by it; if not, in words why.
    pub fn serves(&self, group: SocketAddr) -> Result<(), String> {
        match self {
            Self::Address(address) if group.is_ipv6() => Err(format!(
                "{group} is an IPv6 group: its interface is needed by name, such as eth0, not as {address}"
            )),
            _ => Ok(()),
        }
    }
}

impl FromStr for Interface {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(address));
        }
        let strange =
            |letter: char| matches!(letter, '/' | ':') || letter.is_whitespace() || letter.is_control();
        if text.is_empty() || text.len() > NAME_LEN_MAX || text.contains(strange) {
            return Err(format!(
                "{text:?} is neither an interface's name, such as eth0, nor its IPv4 address"
            ));
        }
        Ok(Self::Name(text.to_owned()))
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_an_address_or_a_name() {
        assert_eq!("192.0.2.1".parse(), Ok(Interface::Address(Ipv4Addr::new(192, 0, 2, 1))));
        assert_eq!("eth0.7".parse(), Ok(Interface::Name("eth0.7".to_owned())));
        for wrong in ["", "fe80::1", "a/b", "a b", "sixteen-letters-"] {
            assert!(wrong.parse::<Interface>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn groups_of_ipv6_need_its_name() {
        let groups: [SocketAddr; 2] = ["239.1.2.3:4811".parse().unwrap(), "[ff15::7]:4811".parse().unwrap()];
        let [address, name] = ["192.0.2.1", "eth0"].map(|text| text.parse::<Interface>().unwrap());
        assert_eq!(groups.map(|group| address.serves(group).is_ok()), [true, false]);
        assert_eq!(groups.map(|group| name.serves(group).is_ok()), [true, true]);
    }
}
