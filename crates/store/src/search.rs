//! Search terms of a person: words of the name and addresses of the devices, found by their beginnings.
//!
//! Terms are kept among the memberships, behind a mark that no group's name has. So they are written, staged,
//! superseded, swept up and erased with the version of the person that they belong to, by the same statements
//! on both databases. A person with three words and two addresses has five: about 45 octets and 1 to 2 us
//! each.

use channels::legible;
use records::Recipient;

/// Before a term; names of groups have no control characters.
const TERM_MARK: char = '\u{1}';
/// Words of a name that are terms.
const WORDS_MAX: usize = 8;
/// Devices whose addresses are terms.
const ADDRESSES_MAX: usize = 8;
/// Octets of a term; more of a long word or address is left out.
const TERM_OCTETS_MAX: usize = 64;

/// A text as terms are compared: in small letters, composed, with one blank for each run of them.
pub fn folded(text: &str) -> String {
    legible::name(text).to_lowercase()
}

/// Words of a text as terms are compared.
pub fn words(text: &str) -> Vec<String> {
    folded(text)
        .split(|c: char| c.is_whitespace() || c == ',')
        .filter(|word| !word.is_empty())
        .map(cut)
        .collect()
}

/// Whether a person has each of these words at the beginning of a word of the name, of an address or of the
/// id.
pub fn matches(person: &Recipient, wanted: &[String]) -> bool {
    let name = words(&person.name);
    let id = folded(&person.id);
    let has = |word: &String| {
        id.starts_with(word.as_str())
            || name.iter().any(|own| own.starts_with(word.as_str()))
            || person.devices.iter().any(|device| cut(&folded(&device.address)).starts_with(word.as_str()))
    };
    wanted.iter().all(has)
}

/// What a version of a person is found by: the groups it names, and its terms; each once, in order.
pub(crate) fn names(person: &Recipient) -> Vec<String> {
    let words = words(&person.name).into_iter().take(WORDS_MAX);
    let addresses = person.devices.iter().take(ADDRESSES_MAX).map(|device| cut(&folded(&device.address)));
    let terms = words.chain(addresses).filter(|term| !term.is_empty()).map(|term| marked(&term));
    let mut names: Vec<String> = person.groups.iter().cloned().chain(terms).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The terms alone.
pub(crate) fn terms(person: &Recipient) -> Vec<String> {
    names(person).into_iter().filter(|name| name.starts_with(TERM_MARK)).collect()
}

/// The first name of terms that begin so, and the first one behind them.
pub(crate) fn range(prefix: &str) -> (String, String) {
    let from = marked(&cut(prefix));
    let until = format!("{from}{}", char::MAX);
    (from, until)
}

fn marked(term: &str) -> String {
    format!("{TERM_MARK}{term}")
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(TERM_OCTETS_MAX)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::Device;

    fn ann() -> Recipient {
        Recipient {
            id: "E-77".to_owned(),
            name: "Ann-Marie  EK, Åsa".to_owned(),
            groups: vec!["staff".to_owned()],
            devices: vec![
                Device::new(channels::SMS, "+46701234567".to_owned()),
                Device::new(channels::MAIL, "Ann.Ek@example.se".to_owned()),
            ],
            ..Recipient::default()
        }
    }

    #[test]
    fn a_person_is_found_by_words_addresses_and_id() {
        for (text, is_found) in [
            ("ann", true),
            ("EK", true),
            ("åsa ann", true),
            ("+46701", true),
            ("ann.ek@", true),
            ("e-7", true),
            ("marie", false),
            ("ann bo", false),
        ] {
            assert_eq!(matches(&ann(), &words(text)), is_found, "{text}");
        }
    }

    #[test]
    fn terms_stand_behind_a_mark_and_beside_the_groups() {
        let names = names(&ann());
        let expected =
            ["\u{1}+46701234567", "\u{1}ann-marie", "\u{1}ann.ek@example.se", "\u{1}ek", "\u{1}åsa", "staff"];
        assert_eq!(names, expected);
        assert_eq!(terms(&ann()).len(), 5);
        let (from, until) = range("ann");
        let found: Vec<&String> = names.iter().filter(|name| **name >= from && **name < until).collect();
        assert_eq!(found, ["\u{1}ann-marie", "\u{1}ann.ek@example.se"]);
    }

    #[test]
    fn terms_are_bounded_in_length_and_number() {
        let many: Vec<String> = (0..50).map(|n| format!("w{n}")).collect();
        let person = Recipient { name: format!("{} {}", "å".repeat(100), many.join(" ")), ..ann() };
        let terms = terms(&person);
        assert_eq!(terms.len(), WORDS_MAX + 2);
        assert!(terms.iter().all(|term| term.len() <= TERM_OCTETS_MAX + 1));
    }
}
