//! Look-ups in the list of channels: by number, by name, by `CHANNEL:ADDRESS`.

use crate::{ALL, Address, Channel, Defaults, Traits};
use records::ChannelNumber;

/// Names the design gives to channels that nobody built yet. They are refused by name, so that a file or a
/// config for a later version is not taken for something else.
const PLANNED: [&str; 8] = ["pager", "voice", "fax", "im", "webhook", "push", "mqtt", "line"];

/// A name that is no channel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoChannel<'a> {
    /// It is planned.
    NotBuilt(&'a str),
    /// Nobody knows it.
    Unknown(&'a str),
}

impl std::fmt::Display for NoChannel<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoChannel::NotBuilt(name) => write!(f, "channel {name} is not built yet"),
            NoChannel::Unknown(name) => {
                write!(
                    f,
                    "channel {name:?} is unknown; channels are {}",
                    names().collect::<Vec<_>>().join(", ")
                )
            }
        }
    }
}

impl From<NoChannel<'_>> for String {
    fn from(error: NoChannel<'_>) -> String {
        error.to_string()
    }
}

/// The channel with this number; nothing if a later version made it.
pub fn of(number: ChannelNumber) -> Option<&'static dyn Channel> {
    ALL.get(usize::from(number.0)).copied()
}

/// The channel of this name.
///
/// # Errors
/// There is none; says which there are.
pub fn named(name: &str) -> Result<&'static dyn Channel, NoChannel<'_>> {
    match ALL.iter().find(|channel| channel.name() == name) {
        Some(channel) => Ok(*channel),
        None if PLANNED.contains(&name) => Err(NoChannel::NotBuilt(name)),
        None => Err(NoChannel::Unknown(name)),
    }
}

/// The channel that somebody means who calls it or its addresses by another word, such as `phone`, `E-mail
/// address` or `Mobile number 2`.
pub fn meant(word: &str) -> Option<&'static dyn Channel> {
    /// What stands behind the word.
    const ENDS: [&str; 8] = ["numbers", "number", "nummer", "nr", "no", "addresses", "address", "adress"];
    let letters: String = word.to_lowercase().chars().filter(|c| c.is_alphabetic()).collect();
    let plain = ENDS.iter().find_map(|end| letters.strip_suffix(end)).unwrap_or(&letters);
    let is_meant = |channel: &&&dyn Channel| {
        let names = || std::iter::once(channel.name()).chain(channel.other_names().iter().copied());
        names().any(|name| name == plain || name == letters)
    };
    ALL.iter().find(is_meant).copied()
}

/// The number of the channel of this name.
///
/// # Errors
/// As [`named`], in words.
pub fn number(name: &str) -> Result<ChannelNumber, String> {
    named(name).map(Channel::number).map_err(String::from)
}

/// The name of a channel; `unknown` if a later version made it.
pub fn name(number: ChannelNumber) -> &'static str {
    of(number).map_or("unknown", Channel::name)
}

/// What holds for a channel; nothing for one that a later version made.
pub fn traits(number: ChannelNumber) -> Traits {
    of(number).map_or_else(Traits::default, Channel::traits)
}

/// All numbers, in order.
pub fn numbers() -> impl Iterator<Item = ChannelNumber> + Clone {
    ALL.iter().map(|channel| channel.number())
}

/// All names, in the order of the numbers.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    ALL.iter().map(|channel| channel.name())
}

/// The words for a name that is planned and not built, if it is one.
pub fn not_built(name: &str) -> Option<String> {
    named(name).err().filter(|error| matches!(error, NoChannel::NotBuilt(_))).map(String::from)
}

/// The normal form of an address of a channel.
///
/// # Errors
/// What is wrong with it, in words.
pub fn address(channel: ChannelNumber, text: &str, defaults: &Defaults) -> Result<Address, String> {
    match of(channel) {
        Some(channel) => channel.address(text, defaults),
        None => Err(format!("{text:?} is of a channel that a later version has")),
    }
}

/// The endpoint that `CHANNEL` and `ADDRESS` of an audience's entry name.
///
/// # Errors
/// What is wrong with the name or the address, in words.
pub fn endpoint(
    channel: &str,
    address: &str,
    defaults: &Defaults,
) -> Result<(ChannelNumber, Address), String> {
    let channel = named(channel)?;
    Ok((channel.number(), channel.address(address, defaults)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{COUNT, EDGE, MAIL, SMS, TOPIC};

    #[test]
    fn numbers_that_are_stored_stay_those_of_their_channels() {
        let numbers = [(SMS, "sms", 0), (MAIL, "mail", 1), (TOPIC, "topic", 2), (EDGE, "edge", 3)];
        for (channel, of, stored) in numbers {
            assert_eq!((name(channel), channel.0), (of, stored));
        }
    }

    #[test]
    fn every_channel_is_found_by_its_number_and_by_its_name() {
        assert_eq!(ALL.len(), COUNT);
        for (place, channel) in ALL.iter().enumerate() {
            assert_eq!(usize::from(channel.number().0), place, "{}", channel.name());
            assert_eq!(of(channel.number()).map(Channel::name), Some(channel.name()));
            assert_eq!(number(channel.name()), Ok(channel.number()));
            assert!(channel.name().bytes().all(|octet| octet.is_ascii_lowercase()), "{}", channel.name());
        }
    }

    #[test]
    fn a_channel_is_meant_by_what_people_call_its_addresses() {
        for (word, expected) in [
            ("phone", Some("sms")),
            ("Mobile number", Some("sms")),
            ("Cell-phone", Some("sms")),
            ("telefon 2", Some("sms")),
            ("SMS number", Some("sms")),
            ("Email", Some("mail")),
            ("e-mail address", Some("mail")),
            ("E-post", Some("mail")),
            ("ward", None),
            ("number", None),
            ("home address", None),
            ("", None),
        ] {
            assert_eq!(meant(word).map(Channel::name), expected, "{word}");
        }
    }

    #[test]
    fn an_example_is_an_address_in_normal_form() {
        let sweden = Defaults::in_region("SE").unwrap();
        for channel in ALL {
            for defaults in [&Defaults::default(), &sweden] {
                assert_eq!(channel.address(channel.example(), defaults).as_deref(), Ok(channel.example()));
            }
            assert!(channel.address("", &sweden).is_err(), "{}", channel.name());
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones_and_a_planned_one_by_name() {
        let reason = number("carrier-pigeon").unwrap_err();
        assert!(names().all(|name| reason.contains(name)), "{reason}");
        assert_eq!(number("pager").unwrap_err(), "channel pager is not built yet");
        assert_eq!(not_built("voice").as_deref(), Some("channel voice is not built yet"));
        assert_eq!((not_built("sms"), not_built("pigeon")), (None, None));
    }

    #[test]
    fn a_channel_of_a_later_version_is_kept_and_reaches_nobody() {
        let later = ChannelNumber(COUNT as u8);
        assert!(of(later).is_none());
        assert_eq!((name(later), traits(later)), ("unknown", Traits::default()));
        assert!(address(later, "x", &Defaults::default()).is_err());
    }
}
