//! Files for edge sites: sirens, signs, studios; by paced UDP.

use crate::{Address, Channel, Defaults, EDGE, Traits};
use records::ChannelNumber;

/// Octets of a site's name at most.
const SITE_OCTETS_MAX: usize = 64;

/// Edge sites.
pub(crate) struct EdgeChannel;

impl Channel for EdgeChannel {
    fn number(&self) -> ChannelNumber {
        EDGE
    }
    fn name(&self) -> &'static str {
        "edge"
    }
    fn example(&self) -> &'static str {
        "north-siren"
    }
    fn form(&self) -> &'static str {
        "an edge site's name"
    }
    /// A site's name: letters, digits, `-`, `_` and `.`, the first a letter or digit. It must be one of those
    /// that are known, if some are.
    fn address(&self, text: &str, defaults: &Defaults) -> Result<Address, String> {
        let name = text.trim();
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let begins = name.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
        if !begins || name.len() > SITE_OCTETS_MAX || !name.chars().all(fits) {
            return Err(format!(
                "{name:?} is no edge site: its name has 1 to {SITE_OCTETS_MAX} letters, digits, -, _ and . \
                 (not first), such as edge:north-siren"
            ));
        }
        match defaults.names_without(EDGE, name) {
            None => Ok(name.to_owned()),
            Some(known) => Err(format!(
                "{name:?} is no edge site of this server, which has {known}: correct the name, or add a \
                 [[edge.site]] with it to the config"
            )),
        }
    }
    fn traits(&self) -> Traits {
        Traits { receipts: true, repeatable: true, ..Traits::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sites_name_is_plain() {
        let address = |name: &str| EdgeChannel.address(name, &Defaults::default());
        for good in ["a", "north-siren", "7.east_2", &"x".repeat(64)] {
            assert_eq!(address(good).as_deref(), Ok(good));
        }
        for bad in ["", ".a", "-a", "a b", "a/b", "\u{e5}", &"x".repeat(65)] {
            assert!(address(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_site_must_be_one_of_those_that_are_known() {
        let with = |sites: &[&str]| {
            Defaults::default().with_names(EDGE, sites.iter().map(|name| (*name).to_owned()))
        };
        let known = with(&["north", "east"]);
        assert_eq!(EdgeChannel.address(" north ", &known).as_deref(), Ok("north"));
        let reason = EdgeChannel.address("west", &known).unwrap_err();
        assert!(
            reason.starts_with("\"west\" is no edge site of this server, which has east, north: "),
            "{reason}"
        );
        assert!(reason.ends_with("add a [[edge.site]] with it to the config"), "{reason}");
        let many = with(&["g", "f", "e", "d", "c", "b", "a"]);
        let reason = EdgeChannel.address("west", &many).unwrap_err();
        assert!(reason.contains("has a, b, c, d, e and 2 more: "), "{reason}");
        for unknowing in [with(&[]), known.with_any_name()] {
            assert_eq!(EdgeChannel.address("west", &unknowing).as_deref(), Ok("west"));
            assert!(EdgeChannel.address("a/b", &unknowing).is_err());
        }
    }
}
