//! JSON tree of a body, bounded: it keeps the order of members and detects duplicates, so that every problem
//! of a body is reported at once.

use crate::http::problem::{HttpProblem, ProblemKind};
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::cell::Cell;
use std::fmt;

/// Values in one document: an audience of 100,000 objects with three members each fits.
pub(crate) const VALUES_MAX: usize = 1_000_000;

/// One JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum JsonNode {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<JsonNode>),
    Object(Vec<(String, JsonNode)>),
}

impl JsonNode {
    /// The type of the value, for error texts.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            JsonNode::Null => "null",
            JsonNode::Bool(_) => "a boolean",
            JsonNode::Number(_) => "a number",
            JsonNode::Text(_) => "a string",
            JsonNode::List(_) => "a list",
            JsonNode::Object(_) => "an object",
        }
    }

    /// One text for all documents that mean the same: members sorted, no space. For hashes.
    pub(crate) fn canonical(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }

    /// The same as serde_json's value, for readers that take one.
    pub(crate) fn into_value(self) -> Value {
        match self {
            JsonNode::Null => Value::Null,
            JsonNode::Bool(value) => Value::Bool(value),
            JsonNode::Number(number) => Value::Number(number),
            JsonNode::Text(text) => Value::String(text),
            JsonNode::List(items) => items.into_iter().map(JsonNode::into_value).collect(),
            JsonNode::Object(members) => {
                Value::Object(members.into_iter().map(|(name, node)| (name, node.into_value())).collect())
            }
        }
    }

    fn write_canonical(&self, out: &mut String) {
        match self {
            JsonNode::Null => out.push_str("null"),
            JsonNode::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            JsonNode::Number(number) => out.push_str(&number.to_string()),
            JsonNode::Text(text) => out.push_str(&quoted(text)),
            JsonNode::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write_canonical(out);
                }
                out.push(']');
            }
            JsonNode::Object(members) => {
                let mut sorted: Vec<&(String, JsonNode)> = members.iter().collect();
                sorted.sort_by(|a, b| a.0.cmp(&b.0));
                out.push('{');
                for (index, (name, value)) in sorted.into_iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    out.push_str(&quoted(name));
                    out.push(':');
                    value.write_canonical(out);
                }
                out.push('}');
            }
        }
    }

    /// Applies a JSON merge patch (RFC 7396).
    pub(crate) fn merge(&mut self, patch: JsonNode) {
        let JsonNode::Object(changes) = patch else {
            *self = patch;
            return;
        };
        if !matches!(self, JsonNode::Object(_)) {
            *self = JsonNode::Object(Vec::new());
        }
        let JsonNode::Object(members) = self else { return };
        for (name, change) in changes {
            let at = members.iter().position(|(known, _)| *known == name);
            match (at, change) {
                (Some(at), JsonNode::Null) => {
                    members.remove(at);
                }
                (None, JsonNode::Null) => {}
                (Some(at), change) => members[at].1.merge(change),
                (None, change) => {
                    let mut value = JsonNode::Null;
                    value.merge(change);
                    members.push((name, value));
                }
            }
        }
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Reads one document. Errors give line and column.
pub(crate) fn parse(bytes: &[u8]) -> Result<JsonNode, HttpProblem> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(HttpProblem::new(
            ProblemKind::MalformedBody,
            "the body is empty; a JSON document is needed",
        ));
    }
    let budget = Cell::new(VALUES_MAX);
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let node = Seed(&budget).deserialize(&mut reader).and_then(|node| reader.end().map(|()| node));
    node.map_err(|error| {
        HttpProblem::new(ProblemKind::MalformedBody, format!("not a JSON document: {error}"))
    })
}

/// Any serializable value as a tree, for applying a patch to a stored object.
pub(crate) fn tree_of<T: serde::Serialize>(value: &T) -> Result<JsonNode, HttpProblem> {
    let bytes = serde_json::to_vec(value)
        .map_err(|error| HttpProblem::new(ProblemKind::Internal, error.to_string()))?;
    parse(&bytes)
}

struct Seed<'b>(&'b Cell<usize>);

impl Seed<'_> {
    fn spend<E: Error>(&self) -> Result<(), E> {
        match self.0.get().checked_sub(1) {
            Some(rest) => {
                self.0.set(rest);
                Ok(())
            }
            None => Err(E::custom(format!("more than {VALUES_MAX} values"))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = JsonNode;
    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<JsonNode, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = JsonNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E: Error>(self) -> Result<JsonNode, E> {
        self.spend().map(|()| JsonNode::Null)
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<JsonNode, E> {
        self.spend().map(|()| JsonNode::Bool(value))
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<JsonNode, E> {
        self.spend().map(|()| JsonNode::Number(value.into()))
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<JsonNode, E> {
        self.spend().map(|()| JsonNode::Number(value.into()))
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<JsonNode, E> {
        self.spend()?;
        serde_json::Number::from_f64(value)
            .map(JsonNode::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<JsonNode, E> {
        self.spend().map(|()| JsonNode::Text(value.to_owned()))
    }
    fn visit_string<E: Error>(self, value: String) -> Result<JsonNode, E> {
        self.spend().map(|()| JsonNode::Text(value))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<JsonNode, A::Error> {
        self.spend()?;
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(Seed(self.0))? {
            items.push(item);
        }
        Ok(JsonNode::List(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<JsonNode, A::Error> {
        self.spend()?;
        let mut members: Vec<(String, JsonNode)> = Vec::new();
        while let Some(name) = access.next_key::<String>()? {
            members.push((name, access.next_value_seed(Seed(self.0))?));
        }
        // A stable sort brings doubles together without comparing every pair.
        let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if let Some(double) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(A::Error::custom(format!("member {:?} is there twice", double[0])));
        }
        Ok(JsonNode::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_syntax_error_gives_line_and_column() {
        let problem = parse(b"{\n  \"text\": \"a\",\n  oops\n}").unwrap_err();
        assert!(problem.detail().contains("line 3 column 3"), "{}", problem.detail());
    }

    #[test]
    fn depth_values_doubles_and_trailing_text_are_refused() {
        let deep = "[".repeat(100_000);
        let many = format!("[{}1]", "1,".repeat(VALUES_MAX));
        for (body, says) in [
            (deep.as_str(), "recursion limit"),
            (many.as_str(), "more than 1000000 values"),
            ("{\"a\":1,\"b\":2,\"a\":3}", "\"a\" is there twice"),
            ("{} {}", "trailing characters"),
            ("  ", "empty"),
            ("\"\\ud800\"", "hex escape"),
            ("1e999", "out of range"),
        ] {
            let problem = parse(body.as_bytes()).unwrap_err();
            assert!(problem.detail().contains(says), "{}", problem.detail());
        }
    }

    #[test]
    fn canonical_text_does_not_depend_on_order_or_space() {
        let one = parse(b"{\"b\": [1, 2.5, null], \"a\": \"\\u00e5\"}").unwrap();
        let two = parse("{\"a\":\"å\",\"b\":[1,2.5,null]}".as_bytes()).unwrap();
        assert_eq!(one.canonical(), two.canonical());
        assert_eq!(one.canonical(), "{\"a\":\"å\",\"b\":[1,2.5,null]}");
    }

    #[test]
    fn a_merge_patch_follows_the_appendix_of_rfc_7396() {
        for (target, patch, result) in [
            ("{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"),
            ("{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"),
            ("{\"a\":\"b\"}", "{\"a\":null}", "{}"),
            ("{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"),
            ("{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"),
            ("{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"),
            ("{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"),
            ("[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"),
            ("{\"e\":null}", "{\"a\":1}", "{\"a\":1,\"e\":null}"),
            ("[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"),
            ("{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"),
        ] {
            let mut node = parse(target.as_bytes()).unwrap();
            node.merge(parse(patch.as_bytes()).unwrap());
            assert_eq!(node.canonical(), result, "{target} with {patch}");
        }
    }
}
