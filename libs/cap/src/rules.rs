//! The rules of the standard's text that reader and writer share: the reader lists their breaches, the writer
//! refuses.

use crate::alert::{Alert, Area, Info, MsgType, Resource, Scope};
use crate::language;
use crate::problem::Rule;
use crate::time::Timestamp;

/// A broken rule of a child element.
#[derive(Debug, PartialEq)]
pub(crate) struct Breach {
    pub(crate) child: &'static str,
    pub(crate) rule: Rule,
    pub(crate) message: String,
    /// Only advice, or a sign of a mistake: the writer lets it pass.
    pub(crate) is_advice: bool,
}

impl Breach {
    fn new(child: &'static str, rule: Rule, message: impl Into<String>) -> Breach {
        Breach { child, rule, message: message.into(), is_advice: false }
    }

    fn advice(child: &'static str, rule: Rule, message: impl Into<String>) -> Breach {
        Breach { is_advice: true, ..Breach::new(child, rule, message) }
    }
}

/// Section 3.2.1, without the infos.
pub(crate) fn of_header(alert: &Alert) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (child, text) in [("identifier", &alert.identifier), ("sender", &alert.sender)] {
        if text.contains(|c: char| c.is_whitespace() || matches!(c, ',' | '<' | '&')) {
            let message = format!("{text:?} holds a space, a comma, `<` or `&`");
            breaches.push(Breach::new(child, Rule::Characters, message));
        }
    }
    if alert.scope == Some(Scope::Restricted) && alert.restriction.is_none() {
        breaches.push(Breach::new("restriction", Rule::Companion, "is required where scope is `Restricted`"));
    }
    if alert.scope == Some(Scope::Private) && alert.addresses.is_empty() {
        breaches.push(Breach::new("addresses", Rule::Companion, "is required where scope is `Private`"));
    }
    breaches.extend(of_references(alert));
    if alert.infos.is_empty() && matches!(alert.msg_type, Some(MsgType::Alert | MsgType::Update)) {
        breaches.push(Breach::advice(
            "info",
            Rule::Missing,
            "is missing: the alert has no text for its recipients",
        ));
    }
    breaches
}

fn of_references(alert: &Alert) -> Vec<Breach> {
    let mut breaches = Vec::new();
    match alert.msg_type {
        Some(MsgType::Alert) if !alert.references.is_empty() => {
            let message = "is there although msgType is `Alert`: `Update` is meant, or none";
            breaches.push(Breach::advice("references", Rule::References, message));
        }
        Some(kind @ (MsgType::Update | MsgType::Cancel | MsgType::Ack | MsgType::Error))
            if alert.references.is_empty() =>
        {
            let message = format!("is required where msgType is `{kind}`");
            breaches.push(Breach::new("references", Rule::References, message));
        }
        _ => {}
    }
    for reference in &alert.references {
        if reference.sender == alert.sender && reference.identifier == alert.identifier {
            let message = format!("names this alert's own identifier {:?}", reference.identifier);
            breaches.push(Breach::advice("references", Rule::References, message));
        }
        if reference.sent.is_none() {
            let message = format!("has no readable time for {:?}", reference.identifier);
            breaches.push(Breach::new("references", Rule::References, message));
        }
    }
    breaches
}

/// Section 3.2.2, without resources and areas.
pub(crate) fn of_info(info: &Info, sent: Option<Timestamp>) -> Vec<Breach> {
    let mut breaches = Vec::new();
    if !language::is_tag(&info.language) {
        breaches.push(Breach::new(
            "language",
            Rule::Value,
            format!("{:?} is no language tag", info.language),
        ));
    }
    let from = info.effective.or(sent);
    if let (Some(from), Some(until)) = (from, info.expires)
        && until.utc_micros() <= from.utc_micros()
    {
        breaches.push(Breach::advice("expires", Rule::TimeOrder, "is not after the alert takes effect"));
    }
    breaches
}

/// Section 3.2.3.
pub(crate) fn of_resource(resource: &Resource) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let is_base64 = |text: &String| {
        let body = text.trim_end_matches('=');
        text.len().is_multiple_of(4)
            && text.len() - body.len() <= 2
            && body.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
    };
    if resource.deref_uri.as_ref().is_some_and(|text| !is_base64(text)) {
        breaches.push(Breach::new("derefUri", Rule::Value, "is not base64"));
    }
    let is_sha1 = |text: &String| text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit());
    if resource.digest.as_ref().is_some_and(|text| !is_sha1(text)) {
        breaches.push(Breach::new("digest", Rule::Value, "is not a SHA-1 in 40 hexadecimal digits"));
    }
    breaches
}

/// Section 3.2.4, without the shapes.
pub(crate) fn of_area(area: &Area) -> Vec<Breach> {
    let mut breaches = Vec::new();
    if area.ceiling.is_some() && area.altitude.is_none() {
        breaches.push(Breach::new("altitude", Rule::Companion, "is required where there is a ceiling"));
    }
    breaches
}
