//! Payload: the body of a message's request, by the route's template or as a JSON object of our own.

use super::config::WebhookRoute;
use crate::http_calls::headers;
use crate::http_calls::template::{Escaping, Template, TemplateValues};
use minijinja::value::Value as TemplateValue;
use records::{AlertId, Body, Choice, Content, EndpointNo, Entry, Segment, Timestamp};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The media type of bodies, unless the route's headers have another.
pub(super) const JSON: &str = "application/json";

/// The id of a message: the same however often it is sent, so that who gets it twice knows it.
pub(super) fn message_id(alert: AlertId, endpoint: EndpointNo) -> String {
    format!("{alert}_{}", endpoint.0)
}

/// Makes the bodies of a route.
pub(super) struct Payload {
    /// Nothing: an object of our own.
    template: Option<Template>,
    mode: &'static str,
}

/// What a body is made of, for one message.
pub(super) struct WebhookMessage<'a> {
    pub(super) id: &'a str,
    pub(super) alert: String,
    pub(super) content: &'a Content,
    pub(super) language: Option<&'a str>,
    pub(super) sender: Option<&'a str>,
    pub(super) emergency: bool,
    pub(super) expires: Timestamp,
    pub(super) choices: &'a [Choice],
    pub(super) link: Option<&'a str>,
    /// Where the device reports and answers.
    pub(super) callback: Option<&'a str>,
    /// An answer is asked for.
    pub(super) answer: bool,
}

impl<'a> WebhookMessage<'a> {
    /// The message of an entry; nothing where it is made for another channel.
    pub(super) fn of(
        segment: &'a Segment,
        entry: &'a Entry,
        id: &'a str,
        callback: Option<&'a str>,
    ) -> Option<WebhookMessage<'a>> {
        let body = segment.body(entry);
        Some(WebhookMessage {
            id,
            alert: segment.alert_id.to_string(),
            content: body.and_then(Body::content)?,
            language: body.and_then(Body::language),
            sender: segment.sender.as_deref(),
            emergency: segment.emergency,
            expires: entry.expires.unwrap_or(segment.expires),
            choices: &segment.choices,
            link: entry.link.as_deref(),
            callback,
            answer: segment.answer,
        })
    }

    fn reply_url(&self) -> Option<&'a str> {
        self.callback.filter(|_| self.answer)
    }
}

impl Payload {
    /// Reads the route's template, and fills it in once for a sample, so that what cannot work is known
    /// before an alert.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(super) fn new(route: &WebhookRoute) -> Result<Payload, String> {
        let mode = if route.drill { "drill" } else { "live" };
        let Some(source) = &route.body else { return Ok(Payload { template: None, mode }) };
        let media_type = headers::media_type(&route.headers).unwrap_or_else(|| JSON.to_owned());
        let escaping = Escaping::of_media_type(&media_type);
        let payload = Payload { template: Some(Template::new(source, escaping)?), mode };
        let filled = payload.body(&sample())?;
        if escaping == Escaping::Json
            && let Err(error) = serde_json::from_str::<Value>(&filled)
        {
            return Err(format!(
                "does not make JSON ({error}): put a text as \"{{{{ text }}}}\" with quotes, or set Content-Type in headers"
            ));
        }
        Ok(payload)
    }

    /// The body of a message.
    ///
    /// # Errors
    /// The template's, in words.
    pub(super) fn body(&self, message: &WebhookMessage<'_>) -> Result<String, String> {
        match &self.template {
            Some(template) => template.fill(&self.values(message)),
            None => Ok(self.object(message).to_string()),
        }
    }

    fn object(&self, message: &WebhookMessage<'_>) -> Value {
        let choice = |choice: &Choice| json!({"key": choice.key, "label": choice.label});
        let mut members = Map::new();
        let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
        put("type", json!("alert"));
        put("id", json!(message.id));
        put("alert", json!(message.alert));
        put("headline", json!(message.content.subject));
        put("text", json!(message.content.text));
        put("mode", json!(self.mode));
        put("emergency", json!(message.emergency));
        put("expires", json!(rfc3339(message.expires)));
        put("sender", json!(message.sender));
        put("language", json!(message.language));
        put("choices", message.choices.iter().map(choice).collect());
        put("link", json!(message.link));
        put("reply_url", json!(message.reply_url()));
        put("receipt_url", json!(message.callback));
        Value::Object(members)
    }

    fn values(&self, message: &WebhookMessage<'_>) -> TemplateValues {
        let choice = |choice: &Choice| {
            let members = [("key", choice.key.as_str()), ("label", choice.label.as_str())];
            TemplateValue::from(BTreeMap::from(members.map(|(name, text)| (name, TemplateValue::from(text)))))
        };
        let choices: Vec<TemplateValue> = message.choices.iter().map(choice).collect();
        TemplateValues::from([
            ("type", TemplateValue::from("alert")),
            ("id", message.id.into()),
            ("alert", message.alert.as_str().into()),
            ("headline", message.content.subject.as_deref().into()),
            ("text", message.content.text.as_str().into()),
            ("mode", self.mode.into()),
            ("emergency", message.emergency.into()),
            ("expires", rfc3339(message.expires).into()),
            ("sender", message.sender.into()),
            ("language", message.language.into()),
            ("choices", choices.into()),
            ("link", message.link.into()),
            ("reply_url", message.reply_url().into()),
            ("receipt_url", message.callback.into()),
        ])
    }
}

/// A moment as programs read it.
fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.0).map_or_else(|_| at.0.to_string(), |at| format!("{at:.0}"))
}

/// A message with every character that a template may trip over.
fn sample() -> WebhookMessage<'static> {
    static CONTENT: std::sync::LazyLock<Content> = std::sync::LazyLock::new(|| Content {
        subject: Some("\"A\" <b> & {c}".to_owned()),
        ..Content::of_text("first line\nsecond \\ line\u{1f6a8}")
    });
    WebhookMessage {
        id: "00000000-0000-0000-0000-000000000000_0",
        alert: "00000000-0000-0000-0000-000000000000".to_owned(),
        content: &CONTENT,
        language: None,
        sender: Some("City"),
        emergency: true,
        expires: Timestamp(0),
        choices: &[],
        link: None,
        callback: None,
        answer: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(body: Option<&str>) -> Result<Payload, String> {
        Payload::new(&WebhookRoute { body: body.map(str::to_owned), drill: true, ..WebhookRoute::default() })
    }

    fn message<'a>(content: &'a Content, choices: &'a [Choice]) -> WebhookMessage<'a> {
        WebhookMessage { callback: Some("https://a.example/w/t"), content, choices, ..sample() }
    }

    #[test]
    fn the_usual_body_has_every_name_whether_there_is_a_value_or_not() {
        let content = Content { subject: Some("Fire".to_owned()), ..Content::of_text("Leave") };
        let choices = [Choice { key: "1".into(), label: "Safe".into() }];
        let body = payload(None).unwrap().body(&message(&content, &choices)).unwrap();
        let body: Value = serde_json::from_str(&body).unwrap();
        let expected = json!({
            "type": "alert",
            "id": "00000000-0000-0000-0000-000000000000_0",
            "alert": "00000000-0000-0000-0000-000000000000",
            "headline": "Fire",
            "text": "Leave",
            "mode": "drill",
            "emergency": true,
            "expires": "1970-01-01T00:00:00Z",
            "sender": "City",
            "language": null,
            "choices": [{"key": "1", "label": "Safe"}],
            "link": null,
            "reply_url": "https://a.example/w/t",
            "receipt_url": "https://a.example/w/t",
        });
        assert_eq!(body, expected);
        let silent = WebhookMessage { answer: false, ..message(&content, &[]) };
        let body: Value = serde_json::from_str(&payload(None).unwrap().body(&silent).unwrap()).unwrap();
        assert_eq!((&body["reply_url"], body["receipt_url"].is_string()), (&Value::Null, true));
    }

    #[test]
    fn a_template_has_the_same_names() {
        let content = Content { subject: Some("\"Fire\"".to_owned()), ..Content::of_text("a\nb") };
        let choices = [Choice { key: "1".into(), label: "Safe".into() }];
        let names = [
            "type",
            "id",
            "alert",
            "mode",
            "emergency",
            "expires",
            "sender",
            "language",
            "link",
            "receipt_url",
        ];
        let all: String = names.map(|name| format!("{{{{ {name} }}}}")).join(" ");
        let source = format!(
            "{{\"content\": \"**{{{{ headline }}}}** {{{{ text }}}}\", \"all\": \"{all}\", \"c\": {{{{ choices }}}}, \
             \"r\": \"{{{{ reply_url }}}}\"}}"
        );
        let body = payload(Some(&source)).unwrap().body(&message(&content, &choices)).unwrap();
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["content"], "**\"Fire\"** a\nb");
        assert_eq!(body["c"], json!([{"key": "1", "label": "Safe"}]));
        assert_eq!(body["r"], "https://a.example/w/t");
    }

    #[test]
    fn a_template_that_would_not_work_is_known_before_an_alert() {
        for (source, word) in [
            ("{{ text }}", "JSON"),
            ("{\"text\": \"{{ txt }}\"}", "undefined"),
            ("{\"text\": \"{{ text }\"}", "syntax"),
        ] {
            let error = payload(Some(source)).err().unwrap();
            assert!(error.contains(word), "{source}: {error}");
        }
    }
}
