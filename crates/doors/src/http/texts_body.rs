//! Text per channel and per language, as a client writes it. A key that is a channel's name is a channel; any other is a language.

use super::alert_body::{HEADLINE_CHARS_MAX, TEXT_CHARS_MAX};
use super::fields::{Object, text};
use super::json::Node;
use super::problem::Fields;
use records::{Channel, ChannelTexts, MailText, Texts};
use std::str::FromStr;

/// Languages of one alert.
pub(crate) const LANGUAGES_MAX: usize = 200;
/// What stands beside channels.
const PLAIN: [&str; 2] = ["text", "headline"];
const CHANNEL_MEMBERS: [&str; 4] = ["text", "headline", "sms", "mail"];

/// Reads `texts`.
pub(crate) fn parse(node: Node, fields: &mut Fields) -> Option<Texts> {
    let Node::Object(members) = node else {
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
        texts.default = channel_texts(Node::Object(defaults), "texts", fields).unwrap_or_default();
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
    match Channel::from_str(name) {
        Ok(_) => Meaning::Default,
        Err(reason) if reason.ends_with("is not built yet") => Meaning::Wrong(reason),
        Err(_) if is_language(name) => Meaning::Language(name.to_lowercase()),
        Err(_) => Meaning::Wrong(
            "is neither a channel with texts of its own (sms, mail) nor a language tag such as sv or zh-Hant"
                .to_owned(),
        ),
    }
}

/// The shape of a tag of BCP 47: a primary subtag of 2 or 3 letters (4 and 5 to 8 are reserved or registered and
/// unused), then subtags of 1 to 8 letters and digits.
pub(crate) fn is_language(tag: &str) -> bool {
    let mut subtags = tag.split('-');
    let primary = subtags.next().unwrap_or_default();
    (2..=3).contains(&primary.len())
        && primary.bytes().all(|b| b.is_ascii_alphabetic())
        && tag.len() <= 35
        && subtags.all(|sub| (1..=8).contains(&sub.len()) && sub.bytes().all(|b| b.is_ascii_alphanumeric()))
}

fn language_texts(node: Node, at: &str, fields: &mut Fields) -> Option<ChannelTexts> {
    match node {
        Node::Text(_) => {
            let text = text(node, at, TEXT_CHARS_MAX, fields)?;
            Some(ChannelTexts { text: Some(text), ..ChannelTexts::default() })
        }
        Node::Object(members) if members.is_empty() => {
            fields.push(at, "has no text");
            None
        }
        node => channel_texts(node, at, fields),
    }
}

fn channel_texts(node: Node, at: &str, fields: &mut Fields) -> Option<ChannelTexts> {
    let mut object = Object::open(node, at, &CHANNEL_MEMBERS, fields)?;
    Some(ChannelTexts {
        text: object.text("text", TEXT_CHARS_MAX, fields),
        headline: object.text("headline", HEADLINE_CHARS_MAX, fields),
        sms: object.text("sms", TEXT_CHARS_MAX, fields),
        mail: {
            let path = object.path("mail");
            object.take("mail").and_then(|node| mail_text(node, &path, fields))
        },
    })
}

fn mail_text(node: Node, at: &str, fields: &mut Fields) -> Option<MailText> {
    if matches!(node, Node::Text(_)) {
        let text = text(node, at, TEXT_CHARS_MAX, fields)?;
        return Some(MailText { text: Some(text), ..MailText::default() });
    }
    let mut object = Object::open(node, at, &["subject", "text", "html"], fields)?;
    let mail = MailText {
        subject: object.text("subject", HEADLINE_CHARS_MAX, fields),
        text: object.text("text", TEXT_CHARS_MAX, fields),
        html: object.text("html", TEXT_CHARS_MAX, fields),
    };
    if mail == MailText::default() && fields.is_empty() {
        fields.push(at, "has no subject, text or html");
    }
    Some(mail)
}
