//! Reader of the members of a JSON tree: notes each problem with the name of its field.

use crate::http::problem::Fields;
use crate::http::request::json::JsonNode;
use crate::http::request::time_text::{parse_duration_s, parse_time};
use records::Timestamp;

/// An object being read. Unknown members are noted when it is opened.
pub(crate) struct Object {
    at: String,
    members: Vec<(String, JsonNode)>,
}

impl Object {
    /// Opens an object at a place such as `callback`; the document itself is at the empty place.
    pub(crate) fn open(node: JsonNode, at: &str, known: &[&str], fields: &mut Fields) -> Option<Object> {
        let JsonNode::Object(members) = node else {
            fields.push(place(at), format!("is {}; an object is needed", node.kind()));
            return None;
        };
        for (name, _) in &members {
            if !known.contains(&name.as_str()) {
                fields.push(join(at, &shortened(name)), unknown_member(name, known));
            }
        }
        Some(Object { at: at.to_owned(), members })
    }

    /// The field's full name.
    pub(crate) fn path(&self, name: &str) -> String {
        join(&self.at, name)
    }

    /// Takes a member out; null counts as absent.
    pub(crate) fn take(&mut self, name: &str) -> Option<JsonNode> {
        let index = self.members.iter().position(|(known, _)| known == name)?;
        match self.members.swap_remove(index).1 {
            JsonNode::Null => None,
            node => Some(node),
        }
    }

    /// A string of at least one and at most so many characters.
    pub(crate) fn text(&mut self, name: &str, chars_max: usize, fields: &mut Fields) -> Option<String> {
        let node = self.take(name)?;
        text(node, &self.path(name), chars_max, fields)
    }

    /// Like [`Object::text`], and noted when absent.
    pub(crate) fn needed_text(
        &mut self,
        name: &str,
        chars_max: usize,
        fields: &mut Fields,
    ) -> Option<String> {
        match self.take(name) {
            Some(node) => text(node, &self.path(name), chars_max, fields),
            None => {
                fields.push(self.path(name), "is needed");
                None
            }
        }
    }

    /// A boolean.
    pub(crate) fn flag(&mut self, name: &str, fields: &mut Fields) -> Option<bool> {
        match self.take(name)? {
            JsonNode::Bool(value) => Some(value),
            other => {
                fields.push(self.path(name), format!("is {}; true or false is needed", other.kind()));
                None
            }
        }
    }

    /// A list of at most so many values.
    pub(crate) fn list(
        &mut self,
        name: &str,
        count_max: usize,
        fields: &mut Fields,
    ) -> Option<Vec<JsonNode>> {
        let node = self.take(name)?;
        list(node, &self.path(name), count_max, fields)
    }

    /// A list of strings.
    pub(crate) fn texts(
        &mut self,
        name: &str,
        count_max: usize,
        chars_max: usize,
        fields: &mut Fields,
    ) -> Vec<String> {
        let items = self.list(name, count_max, fields).unwrap_or_default();
        let path = self.path(name);
        let read = |(index, node)| text(node, &format!("{path}[{index}]"), chars_max, fields);
        items.into_iter().enumerate().filter_map(read).collect()
    }

    /// A time of RFC 3339.
    pub(crate) fn time(&mut self, name: &str, fields: &mut Fields) -> Option<Timestamp> {
        let text = self.text(name, TIME_CHARS_MAX, fields)?;
        noted(parse_time(&text), || self.path(name), fields)
    }

    /// Seconds, written like `5m`.
    pub(crate) fn duration_s(&mut self, name: &str, fields: &mut Fields) -> Option<u32> {
        let text = self.text(name, TIME_CHARS_MAX, fields)?;
        noted(parse_duration_s(&text), || self.path(name), fields)
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(
        &mut self,
        name: &str,
        words: &[(&str, T)],
        fields: &mut Fields,
    ) -> Option<T> {
        let text = self.text(name, WORD_CHARS_MAX, fields)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let list: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            fields.push(self.path(name), format!("is {text:?}; must be one of {}", list.join(", ")));
        }
        found
    }

    /// The members that were not taken; in their order as long as none was taken.
    pub(crate) fn rest(self) -> Vec<(String, JsonNode)> {
        self.members
    }
}

/// Characters of a time or duration.
const TIME_CHARS_MAX: usize = 64;
/// Characters of a word out of a few.
const WORD_CHARS_MAX: usize = 64;
/// Characters of an unknown name that are repeated to the client.
const NAME_CHARS_SHOWN: usize = 40;

/// A string of at least one and at most so many characters.
pub(crate) fn text(node: JsonNode, at: &str, chars_max: usize, fields: &mut Fields) -> Option<String> {
    let JsonNode::Text(text) = node else {
        fields.push(at, format!("is {}; a string is needed", node.kind()));
        return None;
    };
    if text.is_empty() {
        fields.push(at, "is empty");
        return None;
    }
    // A character is at most four octets: short texts need no counting.
    if text.len() > chars_max && text.chars().count() > chars_max {
        fields.push(at, format!("is longer than {chars_max} characters"));
        return None;
    }
    if text.contains('\0') {
        fields.push(at, "has a NUL character");
        return None;
    }
    Some(text)
}

/// A list of at most so many values.
pub(crate) fn list(node: JsonNode, at: &str, count_max: usize, fields: &mut Fields) -> Option<Vec<JsonNode>> {
    let JsonNode::List(items) = node else {
        fields.push(at, format!("is {}; a list is needed", node.kind()));
        return None;
    };
    if items.len() > count_max {
        fields.push(at, format!("has {} entries; at most {count_max} are taken", items.len()));
        return None;
    }
    Some(items)
}

/// A number between two bounds.
pub(crate) fn number(node: &JsonNode, at: &str, min: f64, max: f64, fields: &mut Fields) -> Option<f64> {
    let JsonNode::Number(number) = node else {
        fields.push(at, format!("is {}; a number is needed", node.kind()));
        return None;
    };
    match number.as_f64() {
        Some(value) if value >= min && value <= max => Some(value),
        _ => {
            fields.push(at, format!("is {number}; must be from {min} to {max}"));
            None
        }
    }
}

/// The value, or the error noted for the field.
pub(crate) fn noted<T>(
    result: Result<T, String>,
    field: impl FnOnce() -> String,
    fields: &mut Fields,
) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(reason) => {
            fields.push(field(), reason);
            None
        }
    }
}

/// The nearest known name, if one is near enough to have been meant.
pub(crate) fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let lower = shortened(name).to_lowercase();
    let best = known.iter().map(|candidate| (strsim::levenshtein(&lower, candidate), *candidate)).min()?;
    (best.0 <= 2.max(best.1.chars().count() / 3)).then_some(best.1)
}

fn unknown_member(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(near) => format!("is unknown; did you mean {near:?}?"),
        None => format!("is unknown; known are {}", known.join(", ")),
    }
}

fn shortened(name: &str) -> String {
    if name.is_empty() {
        return "\"\"".to_owned();
    }
    name.chars().take(NAME_CHARS_SHOWN).collect()
}

fn join(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

fn place(at: &str) -> &str {
    if at.is_empty() { "body" } else { at }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::json::parse;

    #[test]
    fn an_unknown_member_names_the_nearest_known_one() {
        let known = ["audience", "text", "expires"];
        for (member, says) in [
            ("audiance", "did you mean \"audience\"?"),
            ("Text", "did you mean \"text\"?"),
            ("expire", "did you mean \"expires\"?"),
            ("zzzzzzzzzz", "known are audience, text, expires"),
        ] {
            let mut fields = Fields::default();
            let node = parse(format!("{{\"{member}\": 1}}").as_bytes()).unwrap();
            Object::open(node, "", &known, &mut fields);
            let first = &fields.listed()[0];
            assert_eq!(first.field, member);
            assert!(first.reason.contains(says), "{}", first.reason);
        }
    }

    #[test]
    fn each_wrong_type_says_what_is_there_and_what_is_needed() {
        let mut fields = Fields::default();
        let node =
            parse(br#"{"a": 1, "b": "x", "c": {}, "d": [1,2,3], "e": "", "f": "\u0000", "g": 400}"#).unwrap();
        let mut object = Object::open(node, "x", &["a", "b", "c", "d", "e", "f", "g"], &mut fields).unwrap();
        object.text("a", 5, &mut fields);
        object.flag("b", &mut fields);
        object.list("c", 5, &mut fields);
        object.list("d", 2, &mut fields);
        object.text("e", 5, &mut fields);
        object.text("f", 5, &mut fields);
        number(&object.take("g").unwrap(), "x.g", 0.0, 90.0, &mut fields);
        let said: Vec<String> = fields.listed().iter().map(|p| format!("{} {}", p.field, p.reason)).collect();
        assert_eq!(
            said,
            [
                "x.a is a number; a string is needed",
                "x.b is a string; true or false is needed",
                "x.c is an object; a list is needed",
                "x.d has 3 entries; at most 2 are taken",
                "x.e is empty",
                "x.f has a NUL character",
                "x.g is 400; must be from 0 to 90",
            ]
        );
    }
}
