//! Reader of service words: what a person asks of us by a message of their own.
//!
//! The first line counts. It is a word alone (`STATUS`), courtesies aside, or a word with what it is about
//! behind it (`JOIN harbour`). A sentence is none.

use super::fold::{fold, words};
use super::is_phrase;

/// Words behind a service word at most: what is longer is a sentence.
const ARGUMENT_WORDS_MAX: usize = 6;
/// Characters of what stands behind a service word at most.
const ARGUMENT_CHARACTERS_MAX: usize = 120;
/// Words of the longest service word.
const NAME_WORDS_MAX: usize = 3;

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Service {
    /// The words there are.
    Help,
    /// What is known of whoever asks.
    Status,
    /// Groups that can be joined.
    Groups,
    /// Into a group.
    Join,
    /// Out of a group.
    Leave,
    /// Alerts about something.
    Subscribe,
    /// No more alerts about something.
    Unsubscribe,
    /// The language of texts.
    Lang,
    /// Hours without messages that can wait.
    Quiet,
    /// The link to their own page.
    Page,
    /// Send an alert that was prepared.
    Send,
    /// Confirms what was read back.
    Yes,
}

impl Service {
    /// It asks for nothing more than its word.
    fn is_bare(self) -> bool {
        matches!(self, Service::Help | Service::Status | Service::Groups | Service::Page)
    }

    /// It says nothing without what it is about.
    fn needs_argument(self) -> bool {
        matches!(self, Service::Subscribe | Service::Unsubscribe | Service::Send | Service::Yes)
    }
}

/// A word of a language that asks for a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceWord {
    /// What it asks for.
    pub service: Service,
    /// The word or words, as people write them.
    pub words: String,
}

/// The field's words. Those of a config stand beside them.
const WORDS: &[(Service, &[&str])] = &[
    (Service::Help, &["HELP", "INFO", "HJÄLP", "HILFE", "AIDE", "AYUDA", "AJUDA", "AIUTO", "HULP", "POMOC"]),
    (Service::Status, &["STATUS", "STATUT", "ESTADO", "STATO"]),
    (Service::Groups, &["GROUPS", "GRUPPER", "GRUPPEN", "GROUPES", "GRUPOS", "GRUPPI", "GROEPEN"]),
    (Service::Join, &["JOIN", "GÅ MED", "ANSLUT", "BEITRETEN", "REJOINDRE", "UNIRSE", "UNIR"]),
    (Service::Leave, &["LEAVE", "LÄMNA", "GÅ UR", "VERLASSEN", "QUITTER", "SALIR DE"]),
    (Service::Subscribe, &["SUBSCRIBE", "PRENUMERERA", "ABONNIEREN", "ABONNER", "SUSCRIBIR"]),
    (Service::Unsubscribe, &["UNSUBSCRIBE", "AVSÄG", "ABBESTELLEN", "DÉSABONNER"]),
    (Service::Lang, &["LANG", "LANGUAGE", "SPRÅK", "SPRACHE", "LANGUE", "IDIOMA"]),
    (Service::Quiet, &["QUIET", "TYST", "RUHE", "SILENCE", "SILENCIO"]),
    (Service::Page, &["PAGE", "MY PAGE", "MIN SIDA", "MEINE SEITE", "MA PAGE", "MI PAGINA"]),
    (Service::Send, &["SEND", "SKICKA", "SENDEN", "ENVOYER", "ENVIAR"]),
    (Service::Yes, &["YES", "JA", "OUI", "SI"]),
];

/// A message that asks for a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceRequest<'t> {
    /// What it asks for.
    pub service: Service,
    /// What stands behind the word, as it was written.
    pub argument: &'t str,
}

/// Reads a message; `own` are the words of the config.
pub fn read_service<'t>(text: &'t str, own: &[ServiceWord]) -> Option<ServiceRequest<'t>> {
    let line = text.trim_start().lines().next().unwrap_or_default().trim();
    let known = || {
        let own = own.iter().map(|word| (word.service, word.words.as_str()));
        own.chain(WORDS.iter().flat_map(|(service, all)| all.iter().map(|word| (*service, *word))))
    };
    let alone = |service: Service| ServiceRequest { service, argument: "" };
    let bare = known().filter(|(service, _)| !service.needs_argument());
    if let Some((service, _)) = bare.clone().find(|(_, word)| is_phrase(line, std::iter::once(*word))) {
        return Some(alone(service));
    }
    let count = words(&fold(line)).count();
    let longest = (1..=NAME_WORDS_MAX.min(count)).rev();
    longest.into_iter().find_map(|length| {
        let (name, argument) = split_words(line, length)?;
        let fits = argument.chars().count() <= ARGUMENT_CHARACTERS_MAX
            && argument.split_whitespace().count() <= ARGUMENT_WORDS_MAX
            && !argument.is_empty();
        let name: String = words(&fold(name)).collect();
        let is_it = |(service, word): &(Service, &str)| {
            !service.is_bare() && words(&fold(word)).collect::<String>() == name
        };
        let (service, _) = known().find(is_it).filter(|_| fits)?;
        Some(ServiceRequest { service, argument })
    })
}

/// The first so many words of a line, and the rest.
fn split_words(line: &str, count: usize) -> Option<(&str, &str)> {
    let mut end = 0;
    for _ in 0..count {
        let from = end + line[end..].find(|c: char| !c.is_whitespace())?;
        end = line[from..].find(char::is_whitespace).map_or(line.len(), |at| from + at);
    }
    let rest = line[end..].trim_start_matches([':', '=', ',']).trim();
    Some((
        &line[..end],
        rest.trim_matches(['"', '\'', '“', '”', '«', '»', '<', '>'])
            .trim_end_matches(['.', '!', '?', ',', ';']),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbound_text::is_stop_word;

    #[test]
    fn a_service_is_a_word_alone_or_with_what_it_is_about() {
        for (text, expected) in [
            ("HELP", Some((Service::Help, ""))),
            ("  help! ", Some((Service::Help, ""))),
            ("Status please", Some((Service::Status, ""))),
            ("hjälp", Some((Service::Help, ""))),
            ("HJALP", Some((Service::Help, ""))),
            ("join harbour", Some((Service::Join, "harbour"))),
            ("JOIN: harbour", Some((Service::Join, "harbour"))),
            ("join harbour!", Some((Service::Join, "harbour"))),
            ("Join \"North Harbour\"", Some((Service::Join, "North Harbour"))),
            ("JOIN", Some((Service::Join, ""))),
            ("gå med hamnen", Some((Service::Join, "hamnen"))),
            ("GA MED hamnen", Some((Service::Join, "hamnen"))),
            ("LANG de", Some((Service::Lang, "de"))),
            ("språk svenska", Some((Service::Lang, "svenska"))),
            ("Quiet 22-7", Some((Service::Quiet, "22-7"))),
            ("QUIET off.", Some((Service::Quiet, "off"))),
            ("page", Some((Service::Page, ""))),
            ("min sida", Some((Service::Page, ""))),
            ("unsubscribe flood", Some((Service::Unsubscribe, "flood"))),
            ("SEND evac 4711", Some((Service::Send, "evac 4711"))),
            ("YES 123456", Some((Service::Yes, "123456"))),
            ("LEAVE harbour\n\n-- \nAnn", Some((Service::Leave, "harbour"))),
            ("", None),
            ("yes", None),
            ("send", None),
            ("help me, I am stuck on the third floor", None),
            ("the status of the pump is unknown", None),
            ("leave the building by the north door at once please everybody", None),
            ("page 7 is missing", None),
            ("I am safe", None),
            ("1", None),
        ] {
            let read = read_service(text, &[]).map(|request| (request.service, request.argument));
            assert_eq!(read, expected, "{text:?}");
        }
    }

    #[test]
    fn words_of_the_config_stand_beside_the_fields_own() {
        let own = [ServiceWord { service: Service::Join, words: "liity".into() }];
        let read = read_service("LIITY satama", &own).unwrap();
        assert_eq!((read.service, read.argument), (Service::Join, "satama"));
        assert_eq!(read_service("LIITY satama", &[]), None);
        assert!(read_service("join satama", &own).is_some());
    }

    #[test]
    fn no_word_for_a_service_stops_messages_where_it_is_said_alone() {
        for (service, all) in WORDS {
            let alone = all.iter().filter(|_| !service.needs_argument());
            for word in alone {
                assert!(!is_stop_word(word), "{word} is a STOP");
            }
        }
    }
}
