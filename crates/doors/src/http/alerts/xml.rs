//! An alert as XML, in the shape of the report's: an element for each member, named as in JSON; a member of
//! an object whose keys are data (a language, a channel) is an element with a `name` attribute; a list is an
//! element with one child for each entry, whatever the child is called. It becomes the tree that JSON gives,
//! so everything after it is the same.

use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::json::JsonNode;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// Octets of a document.
pub(crate) const XML_OCTETS_MAX: usize = 16 << 20;
/// Elements inside each other.
const DEPTH_MAX: usize = 8;
/// Elements of a document.
const ELEMENTS_MAX: usize = 400_000;
const ROOT: &str = "alert";
/// Its versions have more behind it.
const CAP_NAMESPACE: &str = "urn:oasis:names:tc:emergency:cap:";
const LISTS: [&str; 10] = [
    "audience",
    "exclude",
    "channels",
    "choices",
    "resources",
    "attachments",
    "events",
    "polygons",
    "circles",
    "geocodes",
];
const FLAGS: [&str; 4] = ["require_answer", "flash", "needs_help", "participants_only"];
const NUMBERS: [&str; 3] = ["size", "people", "radius"];

/// An element whose end has not come.
struct OpenElement {
    /// Its name in the tree: its `name` attribute, else its own.
    key: String,
    text: String,
    members: Vec<(String, JsonNode)>,
}

/// Reads a document.
///
/// # Errors
/// Where it is no XML of an alert.
pub(crate) fn tree(octets: &[u8]) -> HttpResult<JsonNode> {
    let text = std::str::from_utf8(octets).map_err(|_| wrong("is not UTF-8"))?;
    let mut reader = Reader::from_str(text);
    let (mut open, mut root, mut count) = (Vec::<OpenElement>::new(), None, 0);
    loop {
        let event = reader.read_event();
        let at = reader.buffer_position();
        match event.map_err(|error| wrong(format!("is no XML at octet {at}: {error}")))? {
            Event::Start(start) => {
                count += 1;
                open.push(opened(&start, &open, (root.is_some(), count))?);
            }
            Event::Empty(start) => {
                count += 1;
                let element = opened(&start, &open, (root.is_some(), count))?;
                close(element, &mut open, &mut root);
            }
            Event::End(_) => {
                let element = open.pop().ok_or_else(|| wrong("has an end without a beginning"))?;
                close(element, &mut open, &mut root);
            }
            Event::Text(text) => put(&mut open, &text.xml10_content()),
            Event::CData(text) => put(&mut open, &text.xml10_content()),
            Event::GeneralRef(reference) => {
                let character = reference.resolve_char_ref().map_err(|error| wrong(error.to_string()))?;
                let unknown = || wrong("has an entity that is not one of XML's own five");
                match character {
                    Some(character) => put(&mut open, character.encode_utf8(&mut [0; 4])),
                    None => put(&mut open, resolve_predefined_entity(&reference).ok_or_else(unknown)?),
                }
            }
            Event::DocType(_) => return Err(wrong("has a document type, which is not taken")),
            Event::Eof => break,
            _ => {}
        }
    }
    match root {
        Some(root) if open.is_empty() => Ok(root),
        _ => Err(wrong("ends early")),
    }
}

fn wrong(reason: impl Into<String>) -> HttpProblem {
    HttpProblem::field(ProblemKind::MalformedBody, "body", reason)
}

fn opened(
    start: &BytesStart<'_>,
    open: &[OpenElement],
    (has_root, count): (bool, usize),
) -> HttpResult<OpenElement> {
    let own = start.name().as_ref().to_owned();
    if open.is_empty() && (own != ROOT || has_root) {
        return Err(wrong("has another root than one element alert"));
    }
    if open.is_empty() && is_cap(start)? {
        return Err(wrong("is a CAP message: POST it to /api/v1/cap, as application/cap+xml"));
    }
    if open.len() >= DEPTH_MAX || count > ELEMENTS_MAX {
        return Err(wrong(format!("has more than {DEPTH_MAX} levels or {ELEMENTS_MAX} elements")));
    }
    let name = start.try_get_attribute("name").map_err(|error| wrong(error.to_string()))?;
    let name = name.map(|name| name.normalized_value(XmlVersion::Implicit1_0)).transpose();
    let name = name.map_err(|error| wrong(error.to_string()))?;
    let key = name.map_or(own, |name| name.into_owned());
    Ok(OpenElement { key, text: String::new(), members: Vec::new() })
}

/// CAP has a root of the same name, in a namespace of its own.
fn is_cap(start: &BytesStart<'_>) -> HttpResult<bool> {
    let namespace = start.try_get_attribute("xmlns").map_err(|error| wrong(error.to_string()))?;
    let namespace =
        namespace.map(|namespace| namespace.normalized_value(XmlVersion::Implicit1_0)).transpose();
    let namespace = namespace.map_err(|error| wrong(error.to_string()))?;
    Ok(namespace.is_some_and(|namespace| namespace.starts_with(CAP_NAMESPACE)))
}

fn put(open: &mut [OpenElement], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

/// The element's value goes to the one around it; that of the outermost is the document's.
fn close(element: OpenElement, open: &mut [OpenElement], root: &mut Option<JsonNode>) {
    let key = element.key.clone();
    let value = value(element);
    match open.last_mut() {
        Some(around) => around.members.push((key, value)),
        None => *root = Some(value),
    }
}

fn value(element: OpenElement) -> JsonNode {
    let OpenElement { key, text, members } = element;
    if LISTS.contains(&key.as_str()) {
        return JsonNode::List(members.into_iter().map(|(_, value)| value).collect());
    }
    if !members.is_empty() || key == ROOT {
        return JsonNode::Object(members);
    }
    let trimmed = text.trim();
    match trimmed {
        "true" | "false" if FLAGS.contains(&key.as_str()) => JsonNode::Bool(trimmed == "true"),
        number if NUMBERS.contains(&key.as_str()) => {
            number.parse().map_or(JsonNode::Text(text.clone()), JsonNode::Number)
        }
        // The blanks of a text are its own.
        _ if key == "text" || key == "html" => JsonNode::Text(text),
        _ => JsonNode::Text(trimmed.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::json;

    #[test]
    fn an_alert_in_xml_is_the_tree_of_the_same_in_json() {
        let xml = r#"<?xml version="1.0" encoding="UTF-8"?>
            <alert>
              <headline>Fire &amp; smoke</headline>
              <text>Leave <![CDATA[<now>]]>&#33;</text>
              <texts><text name="sms">Fire</text><texts name="sv"><sms>Brand</sms></texts></texts>
              <audience><to>group:staff</to><entry><to>sms:+46701234567</to><expires>2026-11-18T08:00:00Z</expires></entry></audience>
              <choices><choice><key>1</key><label>Safe</label></choice></choices>
              <strategy><escalate_after>5m</escalate_after></strategy>
              <require_answer>true</require_answer>
              <channels/>
            </alert>"#;
        let same = r#"{"headline": "Fire & smoke", "text": "Leave <now>!", "texts": {"sms": "Fire", "sv": {"sms": "Brand"}},
            "audience": ["group:staff", {"to": "sms:+46701234567", "expires": "2026-11-18T08:00:00Z"}],
            "choices": [{"key": "1", "label": "Safe"}], "strategy": {"escalate_after": "5m"}, "require_answer": true,
            "channels": []}"#;
        assert_eq!(
            tree(xml.as_bytes()).unwrap().canonical(),
            json::parse(same.as_bytes()).unwrap().canonical()
        );
    }

    #[test]
    fn what_is_no_alert_or_has_no_end_is_refused() {
        let deep = format!("<alert>{}", "<a>".repeat(20));
        for (xml, says) in [
            ("", "ends early"),
            ("<alert>", "ends early"),
            ("<report/>", "another root"),
            ("<alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\"/>", "/api/v1/cap"),
            ("<alert/><alert/>", "another root"),
            ("<alert><a></b></alert>", "is no XML"),
            ("<!DOCTYPE alert [<!ENTITY a \"b\">]><alert/>", "document type"),
            ("<alert><text>&lol;</text></alert>", "entity"),
            (&deep, "levels"),
        ] {
            let problem = tree(xml.as_bytes()).unwrap_err();
            assert!(problem.detail().contains(says), "{xml}: {}", problem.detail());
        }
        assert!(tree(&[0xff]).is_err());
    }
}
