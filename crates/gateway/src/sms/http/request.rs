//! Request of a message: the configuration's templates, filled in.

use super::config::HttpSmsRoute;
use crate::http_calls::headers;
use crate::http_calls::template::{Escaping, Template, TemplateValues};
use records::{Body, Entry, Segment, Short, ShortText, Timestamp};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use smpp::text::{Charset, Coding};
use std::borrow::Cow;

/// The media type of bodies, unless the route's headers have another.
const JSON: &str = "application/json";
/// Methods that a carrier may want.
const METHODS: [Method; 3] = [Method::POST, Method::PUT, Method::GET];

/// The templates of a route.
pub(super) struct RequestTemplates {
    method: Method,
    url: Template,
    headers: Vec<(HeaderName, Template)>,
    has_content_type: bool,
    body: Option<Template>,
}

/// A request that was filled in.
#[derive(Debug, Clone)]
pub(super) struct FilledRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

/// What a request is made of, for one message.
#[derive(Debug, Clone)]
pub(super) struct OutgoingSms<'a> {
    pub(super) to: &'a str,
    pub(super) from: &'a str,
    pub(super) text: Cow<'a, str>,
    pub(super) id: &'a str,
    pub(super) parts: u8,
    pub(super) flash: bool,
    pub(super) mode: &'static str,
    pub(super) validity_s: i64,
    pub(super) receipt_url: &'a str,
    pub(super) inbound_url: &'a str,
}

impl RequestTemplates {
    /// Reads the templates, and fills them in for samples, so that what cannot work is known before a
    /// message.
    ///
    /// # Errors
    /// What is wrong with them, in words.
    pub(super) fn new(route: &HttpSmsRoute) -> Result<RequestTemplates, String> {
        let request = &route.request;
        let method = METHODS.into_iter().find(|method| method.as_str() == request.method);
        let method = method.ok_or_else(|| format!("method {:?} is not POST, PUT or GET", request.method))?;
        let media_type = headers::media_type(&request.headers).unwrap_or_else(|| JSON.to_owned());
        let escaping = Escaping::of_media_type(&media_type);
        let header = |(name, value): &(String, settings::Secret)| {
            let template = Template::new(value.reveal(), Escaping::Line);
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| error.to_string())?;
            Ok((name, template.map_err(|why| format!("headers: {why}"))?))
        };
        let body = request.body.as_ref().map(|source| Template::new(source, escaping)).transpose();
        let templates = RequestTemplates {
            method,
            url: Template::new(request.url.reveal(), Escaping::Percent)
                .map_err(|why| format!("url: {why}"))?,
            headers: request.headers.iter().map(header).collect::<Result<_, String>>()?,
            has_content_type: headers::media_type(&request.headers).is_some(),
            body: body.map_err(|why| format!("body: {why}"))?,
        };
        templates.check(escaping)?;
        Ok(templates)
    }

    /// No message decides which host is called, and JSON stays JSON.
    fn check(&self, escaping: Escaping) -> Result<(), String> {
        let one = self.fill(&sample("+46701234567", "\"a\"\n{b} \\ \u{1f6a8}"))?;
        let other = self.fill(&sample("+18", "@evil.example:1/#?"))?;
        if one.url.origin() != other.url.origin() || !one.url.origin().is_tuple() {
            return Err("url: names may stand behind the host only".to_owned());
        }
        if self.body.is_some()
            && escaping == Escaping::Json
            && let Err(error) = serde_json::from_str::<serde_json::Value>(&one.body)
        {
            return Err(format!(
                "body: does not make JSON ({error}): put a text as \"{{{{ text }}}}\" with quotes, or set Content-Type in headers"
            ));
        }
        Ok(())
    }

    /// The request of a message.
    ///
    /// # Errors
    /// The template's, in words.
    pub(super) fn fill(&self, sms: &OutgoingSms<'_>) -> Result<FilledRequest, String> {
        let values = sms.values();
        let url = self.url.fill(&values).map_err(|why| format!("url: {why}"))?;
        let url = Url::parse(&url).map_err(|error| format!("url: is no URL ({error})"))?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err("url: is not an https or http URL".to_owned());
        }
        let mut headers = HeaderMap::with_capacity(self.headers.len() + 1);
        if self.body.is_some() && !self.has_content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        }
        for (name, template) in &self.headers {
            let value = template.fill(&values).map_err(|why| format!("headers: {name}: {why}"))?;
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| format!("headers: {name} has characters that a header cannot have"))?;
            value.set_sensitive(true);
            headers.append(name.clone(), value);
        }
        let body = self.body.as_ref().map(|template| template.fill(&values)).transpose();
        let body = body.map_err(|why| format!("body: {why}"))?.unwrap_or_default();
        Ok(FilledRequest { method: self.method.clone(), url, headers, body })
    }

    /// Where the carrier is, without path and query.
    pub(super) fn origin(&self) -> Option<Url> {
        let url = self.fill(&sample("+46701234567", "x")).ok()?.url;
        Url::parse(&url.origin().ascii_serialization()).ok()
    }
}

impl OutgoingSms<'_> {
    fn values(&self) -> TemplateValues {
        TemplateValues::from([
            ("to", self.to.into()),
            ("to_digits", self.to.trim_start_matches('+').into()),
            ("from", self.from.into()),
            ("text", (&*self.text).into()),
            ("id", self.id.into()),
            ("parts", self.parts.into()),
            ("flash", self.flash.into()),
            ("mode", self.mode.into()),
            ("validity_s", self.validity_s.into()),
            ("receipt_url", self.receipt_url.into()),
            ("inbound_url", self.inbound_url.into()),
        ])
    }
}

fn sample(to: &'static str, text: &'static str) -> OutgoingSms<'static> {
    OutgoingSms {
        to,
        from: text,
        text: text.into(),
        id: "00000000-0000-0000-0000-000000000000_0",
        parts: 1,
        flash: false,
        mode: "live",
        validity_s: 3_600,
        receipt_url: "https://alerts.example/w/t",
        inbound_url: "https://alerts.example/w/u",
    }
}

/// The sender of an entry: a platform's own, the alert's, or the route's.
pub(super) fn sender<'a>(segment: &'a Segment, entry: &'a Entry, route: &'a HttpSmsRoute) -> &'a str {
    let own = match segment.body(entry) {
        Some(Body::Short(short)) => Some(&*short.source.addr).filter(|addr| !addr.is_empty()),
        _ => None,
    };
    own.or(segment.sender.as_deref()).unwrap_or(&route.from)
}

/// Seconds until nothing of an entry should be tried any more.
pub(super) fn validity_s(segment: &Segment, entry: &Entry, route: &HttpSmsRoute, now: Timestamp) -> i64 {
    let left = entry.expires.unwrap_or(segment.expires).us_since(now).max(0) / 1_000_000;
    route.validity_s.map_or(left, |most| left.min(i64::from(most)))
}

/// The text of an entry, and whether it is shown at once.
///
/// # Errors
/// It is octets that are no text, which a request cannot carry.
pub(super) fn text<'a>(segment: &'a Segment, entry: &'a Entry) -> Result<(Cow<'a, str>, bool), String> {
    match segment.body(entry) {
        Some(Body::Content(content) | Body::Translated(_, content)) => {
            Ok((content.text.as_str().into(), segment.flash))
        }
        Some(Body::Short(short)) => text_of_short(short, segment.flash),
        None => Err(format!("the segment has no body {}", entry.body)),
    }
}

fn text_of_short(short: &Short, flash: bool) -> Result<(Cow<'_, str>, bool), String> {
    match &short.text {
        _ if !short.udh.is_empty() => {
            Err("a message with a user data header cannot be sent by HTTP".to_owned())
        }
        ShortText::Text { text, class } => Ok(((&**text).into(), flash || *class == Some(0))),
        ShortText::Octets { data_coding, octets } => {
            let coding = Coding::of(*data_coding, Charset::Gsm7);
            match coding.charset {
                Charset::Binary => Err("a binary message cannot be sent by HTTP".to_owned()),
                charset => Ok((charset.decode(octets).into(), flash || coding.class() == Some(0))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::route;
    use super::*;

    #[test]
    fn a_request_is_filled_in_for_a_message() {
        let mut with = route();
        with.request.url = "https://h.example/send?to={{ to }}&n={{ parts }}".into();
        with.request.headers.push(("X-Ref".to_owned(), "ref {{ id }}".into()));
        let text = "\"Gas\" & {fire}\n";
        let sms = OutgoingSms { text: text.into(), ..sample("+46701234567", "x") };
        let filled = RequestTemplates::new(&with).unwrap().fill(&sms).unwrap();
        assert_eq!(filled.url.as_str(), "https://h.example/send?to=%2B46701234567&n=1");
        assert_eq!(filled.headers["x-ref"], "ref 00000000-0000-0000-0000-000000000000_0");
        assert_eq!(filled.headers["content-type"], "application/json");
        assert!(filled.headers["authorization"].is_sensitive());
        let body: serde_json::Value = serde_json::from_str(&filled.body).unwrap();
        assert_eq!((body["to"].as_str(), body["text"].as_str()), (Some("+46701234567"), Some(text)));
    }

    #[test]
    fn a_form_stays_a_form_and_a_get_has_no_body() {
        let mut form = route();
        form.request.headers = vec![("Content-Type".to_owned(), "application/x-www-form-urlencoded".into())];
        form.request.body = Some("To={{ to }}&Body={{ text }}&dlr={{ receipt_url }}".to_owned());
        let sms = OutgoingSms { text: "a&b=c".into(), ..sample("+1", "x") };
        let filled = RequestTemplates::new(&form).unwrap().fill(&sms).unwrap();
        assert_eq!(filled.body, "To=%2B1&Body=a%26b%3Dc&dlr=https%3A%2F%2Falerts.example%2Fw%2Ft");
        let mut get = route();
        (get.request.method, get.request.body) = ("GET".to_owned(), None);
        let filled = RequestTemplates::new(&get).unwrap().fill(&sms).unwrap();
        assert!(filled.body.is_empty() && !filled.headers.contains_key("content-type"));
    }

    #[test]
    fn what_a_platform_sends_as_octets_is_text_again_or_refused() {
        let octets = |data_coding, octets: &[u8], udh: &[u8]| Short {
            text: ShortText::Octets { data_coding, octets: octets.into() },
            udh: udh.into(),
            ..Short::default()
        };
        let (text, flash) =
            text_of_short(&octets(0, b"a\x00", b""), false).map(|(t, f)| (t.into_owned(), f)).unwrap();
        assert_eq!((text.as_str(), flash), ("a@", false));
        let short = octets(8, &[0x20, 0xAC], b"");
        assert_eq!(text_of_short(&short, true).unwrap(), ("\u{20ac}".into(), true));
        assert!(text_of_short(&octets(4, b"\xff", b""), false).is_err());
        assert!(text_of_short(&octets(0, b"a", b"\x00\x03\x01\x02\x01"), false).is_err());
    }
}
