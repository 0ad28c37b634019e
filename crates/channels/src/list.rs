//! Look-ups in the list of channels: by number, by name, by `CHANNEL:ADDRESS`.

use crate::{ALL, Address, Channel, Defaults, Traits, legible};
use records::ChannelNumber;
use std::borrow::Cow;

/// Names the design gives to channels that nobody built yet. They are refused by name, so that a file or a
/// config for a later version is not taken for something else.
const PLANNED: [&str; 3] = ["voice", "fax", "push"];

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

/// What stands beside the word for an address, and says nothing of the channel.
const BESIDE: [&str; 35] = [
    "numbers",
    "number",
    "nummer",
    "nr",
    "no",
    "num",
    "addresses",
    "address",
    "adress",
    "adresse",
    "work",
    "home",
    "private",
    "privat",
    "primary",
    "main",
    "business",
    "contact",
    "personal",
    "arbete",
    "hem",
    "numero",
    "número",
    "direccion",
    "dirección",
    "professionnel",
    "dienstlich",
    "geschäftlich",
    "jobb",
    "de",
    "of",
    "id",
    "the",
    "your",
    "e",
];

/// The channel that somebody means who calls it or its addresses by another word, such as `phone`, `E-mail
/// address` or `Mobile number 2`.
pub fn meant(word: &str) -> Option<&'static dyn Channel> {
    let words = words(word);
    ALL.iter().find(|channel| is_called(channel.name(), channel.other_names(), &words)).copied()
}

/// Whether such a word leaves no doubt: `mobile` leaves none, `phone` may be a telephone without messages.
pub fn meant_surely(word: &str) -> bool {
    let words = words(word);
    let is_sure = |channel: &&dyn Channel| {
        let vague = channel.vague_names();
        let sure = channel.other_names().iter().filter(|name| !vague.contains(name));
        is_called(channel.name(), &sure.copied().collect::<Vec<_>>(), &words)
            || words.iter().any(|word| channel.other_names().contains(&&**word) && !vague.contains(&&**word))
    };
    ALL.iter().any(is_sure)
}

/// Its words in small letters, without digits and signs.
fn words(word: &str) -> Vec<String> {
    let lower = legible::name(word).to_lowercase();
    let words = lower.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// The words together are a name, perhaps with one behind it that says nothing; or each of them is a name or
/// says nothing.
fn is_called(name: &str, others: &[&str], words: &[String]) -> bool {
    let is_name = |word: &str| word == name || others.contains(&word);
    let is_beside = |word: &str| BESIDE.contains(&word);
    let joined = words.concat();
    let ends = || BESIDE.iter().filter(|end| end.len() > 1).filter_map(|end| joined.strip_suffix(end));
    is_name(&joined)
        || ends().any(is_name)
        || words.iter().any(|word| is_name(word)) && words.iter().all(|word| is_name(word) || is_beside(word))
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

/// The key by which addresses of a channel are compared: see [`Channel::key`].
pub fn key(channel: ChannelNumber, address: &str) -> Cow<'_, str> {
    match of(channel) {
        Some(channel) => channel.key(address),
        None => Cow::Borrowed(address),
    }
}

/// The one form of an address of a channel, whoever wrote it; see [`Channel::canonical`].
pub fn canonical<'t>(channel: ChannelNumber, text: &'t str, defaults: &Defaults) -> Cow<'t, str> {
    match of(channel) {
        Some(channel) => channel.canonical(text, defaults),
        None => Cow::Borrowed(text),
    }
}

/// An address of a channel as lists, reports, logs and errors show it: see [`Channel::shown`].
pub fn shown(channel: ChannelNumber, address: &str) -> Cow<'_, str> {
    match of(channel) {
        Some(channel) => channel.shown(address),
        None => Cow::Borrowed(address),
    }
}

/// The channel of what stands before the colon of an audience's entry: its name, or a scheme of its
/// addresses.
///
/// # Errors
/// As [`named`].
pub fn before_colon(word: &str) -> Result<&'static dyn Channel, NoChannel<'_>> {
    let of_scheme = || ALL.iter().copied().find(|channel| channel.schemes().contains(&word));
    named(word).or_else(|why| of_scheme().ok_or(why))
}

/// All that [`before_colon`] knows, in the order of the numbers.
pub fn words_before_colon() -> impl Iterator<Item = &'static str> + Clone {
    ALL.iter().flat_map(|channel| std::iter::once(channel.name()).chain(channel.schemes().iter().copied()))
}

/// The endpoint that `WORD:ADDRESS` of an audience's entry names: `CHANNEL:ADDRESS`, or an address that
/// begins with its scheme.
///
/// # Errors
/// What is wrong with the name or the address, in words.
pub fn endpoint(word: &str, address: &str, defaults: &Defaults) -> Result<(ChannelNumber, Address), String> {
    let channel = before_colon(word)?;
    let address = match channel.name() == word {
        true => channel.address(address, defaults)?,
        false => channel.address(&format!("{word}:{address}"), defaults)?,
    };
    Ok((channel.number(), address))
}

/// An endpoint as an entry of an audience, which [`endpoint`] reads: `CHANNEL:ADDRESS`, or the address alone
/// where it begins with its scheme.
pub fn entry(channel: ChannelNumber, address: &str) -> String {
    match of(channel).is_some_and(|channel| !channel.schemes().is_empty()) {
        true => address.to_owned(),
        false => format!("{}:{address}", name(channel)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{COUNT, EDGE, IM, MAIL, SMS, TOPIC};

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
            ("Work e-mail", Some("mail")),
            ("Mailadress", Some("mail")),
            ("Phone (mobile)", Some("sms")),
            ("Mobilnummer", Some("sms")),
            ("Handy-Nr.", Some("sms")),
            ("Nu\u{301}mero de mo\u{301}vil", Some("sms")),
            ("mailing list", None),
            ("phone model", None),
            ("ward", None),
            ("number", None),
            ("home address", None),
            ("", None),
        ] {
            assert_eq!(meant(word).map(Channel::name), expected, "{word}");
        }
    }

    #[test]
    fn a_mobile_number_is_surer_to_take_a_short_message_than_any_telephone() {
        for sure in ["mobile", "Mobile phone", "Mobilnummer", "Handy", "SMS number", "e-mail", "cell 2"] {
            assert!(meant_surely(sure), "{sure}");
        }
        for vague in ["phone", "telefon", "Work phone", "Telefonnummer", "tel.", "ward"] {
            assert!(!meant_surely(vague), "{vague}");
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
    fn an_entry_of_an_audience_names_a_channel_or_begins_with_a_scheme_of_its_addresses() {
        let read = |word: &str, rest: &str| endpoint(word, rest, &Defaults::default());
        for (word, rest, channel, address) in [
            ("sms", "+46701234567", SMS, "+46701234567"),
            ("matrix", "@A:b", IM, "matrix:@a:b"),
            ("im", "matrix:@A:b", IM, "matrix:@a:b"),
            ("telegram", "-007", IM, "telegram:-7"),
        ] {
            assert_eq!(read(word, rest), Ok((channel, address.to_owned())), "{word}:{rest}");
            let entry = entry(channel, address);
            let (word, rest) = entry.split_once(':').unwrap();
            assert_eq!(read(word, rest), Ok((channel, address.to_owned())), "{entry}");
        }
        assert_eq!(
            read("xmpp", "a@b"),
            Err("\"xmpp:a@b\" is an address of XMPP, which is not built yet".to_owned())
        );
        assert!(matches!(before_colon("pigeon"), Err(NoChannel::Unknown("pigeon"))));
        let words: Vec<&str> = words_before_colon().collect();
        assert!(words.contains(&"mail") && words.contains(&"im") && words.contains(&"telegram"), "{words:?}");
        let distinct: std::collections::BTreeSet<&str> = words.iter().copied().collect();
        assert_eq!(
            distinct.len(),
            words.len(),
            "a scheme is of one channel and no channel's name: {words:?}"
        );
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones_and_a_planned_one_by_name() {
        let reason = number("carrier-pigeon").unwrap_err();
        assert!(names().all(|name| reason.contains(name)), "{reason}");
        assert_eq!(number("fax").unwrap_err(), "channel fax is not built yet");
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
