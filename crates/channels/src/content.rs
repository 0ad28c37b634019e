//! Source texts of an alert, by channel and language, and the form in which a client writes them.

use records::{AlertRequest, ChannelNumber, ChannelTexts, OwnText};
use serde_json::{Map, Value, json};

/// A part of a channel's own text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A line above the text.
    Subject,
    /// The text.
    Text,
    /// The text as HTML.
    Html,
    /// The text as it is read out.
    Spoken,
}

impl Part {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Part; 4] = [Part::Subject, Part::Text, Part::Html, Part::Spoken];

    /// Its name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Part::Subject => "subject",
            Part::Text => "text",
            Part::Html => "html",
            Part::Spoken => "spoken",
        }
    }

    /// Its place in a text.
    pub fn of(self, text: &OwnText) -> Option<&str> {
        match self {
            Part::Subject => text.subject.as_deref(),
            Part::Text => text.text.as_deref(),
            Part::Html => text.html.as_deref(),
            Part::Spoken => text.spoken.as_deref(),
        }
    }

    /// Sets it in a text.
    pub fn set(self, text: &mut OwnText, value: Option<String>) {
        match self {
            Part::Subject => text.subject = value,
            Part::Text => text.text = value,
            Part::Html => text.html = value,
            Part::Spoken => text.spoken = value,
        }
    }
}

/// The texts that stand in one language of an alert (`None`: the default ones).
pub(crate) fn texts<'a>(request: &'a AlertRequest, language: Option<&str>) -> Option<&'a ChannelTexts> {
    match language {
        Some(language) => request.texts.languages.get(language),
        None => Some(&request.texts.default),
    }
}

/// The text for a channel: its own, else that of its language, else the alert's. A short message's is better
/// than none.
pub(crate) fn text<'a>(
    request: &'a AlertRequest,
    language: Option<&str>,
    channel: ChannelNumber,
) -> Option<&'a str> {
    let texts = texts(request, language)?;
    let own = |channel| texts.own(channel).and_then(|own| own.text.as_deref());
    // Within a language only that language's words: the alert's general text is in the default one.
    let general = if language.is_none() { request.text.as_deref() } else { None };
    own(channel).or(texts.text.as_deref()).or(general).or_else(|| own(crate::SMS))
}

/// The schema of a value with these parts.
pub(crate) fn schema(parts: &[Part]) -> Value {
    if parts == [Part::Text] {
        return json!({"type": "string"});
    }
    let members: Map<String, Value> =
        parts.iter().map(|part| (part.name().to_owned(), json!({"type": "string"}))).collect();
    let object = json!({"type": "object", "properties": members, "additionalProperties": false});
    json!({"oneOf": [{"type": "string"}, object]})
}
