//! Text per channel and per language, as a client writes it. A key that is a channel's name is a channel; any
//! other is a language.

use crate::http::alerts::body::{HEADLINE_CHARS_MAX, TEXT_CHARS_MAX};
use crate::http::problem::Fields;
use crate::http::request::fields::{Object, text};
use crate::http::request::json::JsonNode;
use channels::{Channel, NoChannel, Part};
use records::{ChannelTexts, OwnText, Texts};

/// Languages of one alert.
pub(crate) const LANGUAGES_MAX: usize = 200;
/// Members beside the channels.
const PLAIN: [&str; 2] = ["text", "headline"];

/// Reads `texts`.
pub(crate) fn parse(node: JsonNode, fields: &mut Fields) -> Option<Texts> {
    let JsonNode::Object(members) = node else {
        fields.push("texts", format!("is {}; an object is needed", node.kind()));
        return None;
    };
    if members.is_empty() {
        fields.push("texts", "is empty");
    }
    let mut texts = Texts::default();
    let mut defaults = Vec::new();
    for (name, node) in members {
        let shown: String = name.chars().take(40).collect();
        let at = format!("texts.{shown}");
        match meaning(&name) {
            Meaning::Default => defaults.push((name, node)),
            Meaning::Language(tag) => {
                if texts.languages.len() >= LANGUAGES_MAX {
                    fields.push("texts", format!("has more than {LANGUAGES_MAX} languages"));
                    return None;
                }
                if let Some(language) = language_texts(node, &at, fields) {
                    texts.languages.insert(tag, language);
                }
            }
            Meaning::Wrong(reason) => fields.push(at, reason),
        }
    }
    if !defaults.is_empty() {
        texts.default = channel_texts(JsonNode::Object(defaults), "texts", fields).unwrap_or_default();
    }
    Some(texts)
}

enum Meaning {
    Default,
    Language(String),
    Wrong(String),
}

fn meaning(name: &str) -> Meaning {
    if PLAIN.contains(&name) {
        return Meaning::Default;
    }
    match channels::named(name) {
        Ok(_) => Meaning::Default,
        Err(reason @ NoChannel::NotBuilt(_)) => Meaning::Wrong(reason.to_string()),
        Err(_) if is_language(name) => Meaning::Language(name.to_lowercase()),
        Err(_) => Meaning::Wrong(format!(
            "is neither a channel ({}) nor a language tag such as sv or zh-Hant",
            channels::names().collect::<Vec<_>>().join(", ")
        )),
    }
}

/// The shape of a tag of BCP 47: a primary subtag of 2 or 3 letters (4 and 5 to 8 are reserved or registered
/// and unused), then subtags of 1 to 8 letters and digits.
pub(crate) fn is_language(tag: &str) -> bool {
    let mut subtags = tag.split('-');
    let primary = subtags.next().unwrap_or_default();
    (2..=3).contains(&primary.len())
        && primary.bytes().all(|b| b.is_ascii_alphabetic())
        && tag.len() <= 35
        && subtags.all(|sub| (1..=8).contains(&sub.len()) && sub.bytes().all(|b| b.is_ascii_alphanumeric()))
}

fn language_texts(node: JsonNode, at: &str, fields: &mut Fields) -> Option<ChannelTexts> {
    match node {
        JsonNode::Text(_) => {
            let text = text(node, at, TEXT_CHARS_MAX, fields)?;
            Some(ChannelTexts { text: Some(text), ..ChannelTexts::default() })
        }
        JsonNode::Object(members) if members.is_empty() => {
            fields.push(at, "has no text");
            None
        }
        node => channel_texts(node, at, fields),
    }
}

fn channel_texts(node: JsonNode, at: &str, fields: &mut Fields) -> Option<ChannelTexts> {
    let known: Vec<&str> = PLAIN.into_iter().chain(channels::names()).collect();
    let mut object = Object::open(node, at, &known, fields)?;
    let mut texts = ChannelTexts {
        text: object.text("text", TEXT_CHARS_MAX, fields),
        headline: object.text("headline", HEADLINE_CHARS_MAX, fields),
        ..ChannelTexts::default()
    };
    for channel in channels::ALL {
        let Some(node) = object.take(channel.name()) else { continue };
        let own = own_text(*channel, node, &object.path(channel.name()), fields);
        texts.own.extend(own.map(|own| (channel.number(), own)));
    }
    Some(texts)
}

/// A string is the text; an object has the channel's parts, where it has others than the text.
fn own_text(channel: &dyn Channel, node: JsonNode, at: &str, fields: &mut Fields) -> Option<OwnText> {
    let parts = channel.parts();
    if matches!(node, JsonNode::Text(_)) || parts == [Part::Text] {
        return text(node, at, TEXT_CHARS_MAX, fields).map(OwnText::of_text);
    }
    let names: Vec<&str> = parts.iter().map(|part| part.name()).collect();
    let mut object = Object::open(node, at, &names, fields)?;
    let mut own = OwnText::default();
    for part in parts {
        let chars_max = if *part == Part::Subject { HEADLINE_CHARS_MAX } else { TEXT_CHARS_MAX };
        part.set(&mut own, object.text(part.name(), chars_max, fields));
    }
    if own == OwnText::default() && fields.is_empty() {
        fields.push(at, format!("has no {}", one_of(&names)));
    }
    Some(own)
}

/// `a, b or c`.
fn one_of(names: &[&str]) -> String {
    match names {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}
