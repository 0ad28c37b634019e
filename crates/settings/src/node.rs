//! Configuration as a tree of nodes with their places: the file first, environment variables over it.

use crate::problem::{Place, Problems};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// Stands between the keys in a variable's name.
const ENVIRONMENT_DOT: &str = "__";
/// Limit of a file, octets.
const FILE_OCTETS_MAX: usize = 4 * 1024 * 1024;

/// A value with its place.
#[derive(Debug, Clone)]
pub struct Node {
    /// Of the value, or of the environment variable that set it.
    pub place: Place,
    /// The value.
    pub kind: NodeValue,
}

/// The kinds of TOML's values.
#[derive(Debug, Clone)]
pub enum NodeValue {
    /// A string.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// An array.
    List(Vec<Node>),
    /// A table, also an inline one.
    Table(BTreeMap<String, TableEntry>),
    /// From the environment, where everything is a word: it may stand for a number, a boolean or a list.
    Word(String),
    /// Dates, and numbers beyond 64 bits: no key takes any.
    Other(&'static str),
}

/// A key's value; the key has a place of its own.
#[derive(Debug, Clone)]
pub struct TableEntry {
    /// Of the key.
    pub place: Place,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// Its kind in words, for errors: `must be a list, not a text`.
    pub fn kind_in_words(&self) -> &'static str {
        match &self.kind {
            NodeValue::Text(_) | NodeValue::Word(_) => "a text",
            NodeValue::Integer(_) => "an integer",
            NodeValue::Float(_) => "a number with a fraction",
            NodeValue::Bool(_) => "true or false",
            NodeValue::List(_) => "a list",
            NodeValue::Table(_) => "a table",
            NodeValue::Other(what) => what,
        }
    }

    fn table(place: Place) -> Node {
        Node { place, kind: NodeValue::Table(BTreeMap::new()) }
    }
}

/// Parses a file's text, of at most 4 MiB. Errors of TOML's syntax are added to `problems`; what could be
/// parsed beside them is returned.
pub fn parse(text: &str, problems: &mut Problems) -> Node {
    let places = Places::new(text);
    if text.len() > FILE_OCTETS_MAX {
        let reason = format!("the file has {} octets, over the limit of {FILE_OCTETS_MAX}", text.len());
        problems.add(Place::Nowhere, "", reason);
        return Node::table(Place::Nowhere);
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let place = error.span().map_or(Place::Nowhere, |span| places.at(span.start));
        problems.add(place, "", error.message().trim().replace('\n', ", "));
    }
    Node { place: Place::Nowhere, kind: table_kind(table.get_ref(), &places) }
}

fn table_kind(table: &DeTable<'_>, places: &Places) -> NodeValue {
    let entries = table.iter().map(|(key, value)| {
        let node = Node { place: places.at(value.span().start), kind: value_kind(value.get_ref(), places) };
        (key.get_ref().to_string(), TableEntry { place: places.at(key.span().start), node })
    });
    NodeValue::Table(entries.collect())
}

fn value_kind(value: &DeValue<'_>, places: &Places) -> NodeValue {
    match value {
        DeValue::String(text) => NodeValue::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(NodeValue::Other("an integer beyond 64 bits"), NodeValue::Integer),
        DeValue::Float(number) => {
            number.as_str().parse().map_or(NodeValue::Other("no number"), NodeValue::Float)
        }
        DeValue::Boolean(value) => NodeValue::Bool(*value),
        DeValue::Datetime(_) => NodeValue::Other("a date"),
        DeValue::Array(items) => {
            let node = |item: &toml::Spanned<DeValue<'_>>| Node {
                place: places.at(item.span().start),
                kind: value_kind(item.get_ref(), places),
            };
            NodeValue::List(items.iter().map(node).collect())
        }
        DeValue::Table(table) => table_kind(table, places),
    }
}

/// A list from the environment: as TOML writes it, or words between commas.
pub(crate) fn listed(text: &str, place: &Place) -> Result<Vec<Node>, String> {
    if text.trim_start().starts_with('[') {
        let parsed = DeValue::parse(text).map_err(|error| error.message().to_owned())?;
        return match value_kind(parsed.get_ref(), &Places::new(text)) {
            NodeValue::List(items) => {
                Ok(items.into_iter().map(|item| Node { place: place.clone(), ..item }).collect())
            }
            _ => Err("is not a list".to_owned()),
        };
    }
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    Ok(words.map(|word| Node { place: place.clone(), kind: NodeValue::Word(word.to_owned()) }).collect())
}

/// Sets keys from environment variables over the file: with the prefix `CAMPANILE__` the variable
/// `CAMPANILE__ROUTE__0__RATE` is `route[0].rate`. Indexes count from 0; the one after the last adds an
/// entry. Other variables are passed over.
pub fn overlay(
    root: &mut Node,
    prefix: &str,
    environment: &BTreeMap<String, String>,
    problems: &mut Problems,
) {
    for (name, value) in environment {
        let Some(keys) = name.strip_prefix(prefix) else { continue };
        let keys: Vec<String> = keys.split(ENVIRONMENT_DOT).map(str::to_ascii_lowercase).collect();
        let place = Place::Environment(name.clone());
        if let Err(reason) = set(root, &keys, value, &place) {
            problems.add(place, &keys.join("."), reason);
        }
    }
}

fn set(node: &mut Node, keys: &[String], value: &str, place: &Place) -> Result<(), String> {
    let Some((key, rest)) = keys.split_first() else {
        *node = Node { place: place.clone(), kind: NodeValue::Word(value.to_owned()) };
        return Ok(());
    };
    match &mut node.kind {
        NodeValue::Table(entries) => {
            let entry = entries.entry(key.clone()).or_insert_with(|| {
                let kind = match rest.first() {
                    Some(next) if next.parse::<usize>().is_ok() => NodeValue::List(Vec::new()),
                    _ => NodeValue::Table(BTreeMap::new()),
                };
                TableEntry { place: place.clone(), node: Node { place: place.clone(), kind } }
            });
            if rest.is_empty() {
                entry.place = place.clone();
            }
            set(&mut entry.node, rest, value, place)
        }
        NodeValue::List(items) => {
            let index: usize = key.parse().map_err(|_| format!("{key:?} is not an index of a list"))?;
            if index > items.len() {
                return Err(format!("the list has {} entries: the next is {}", items.len(), items.len()));
            }
            if index == items.len() {
                items.push(Node::table(place.clone()));
            }
            set(&mut items[index], rest, value, place)
        }
        _ => Err(format!("there is no {key:?} in {}", node.kind_in_words())),
    }
}

/// Where lines begin.
struct Places<'a> {
    text: &'a str,
    lines: Vec<usize>,
}

impl<'a> Places<'a> {
    fn new(text: &'a str) -> Places<'a> {
        let breaks = text.bytes().enumerate().filter(|(_, octet)| *octet == b'\n').map(|(at, _)| at + 1);
        Places { text, lines: std::iter::once(0).chain(breaks).collect() }
    }

    fn at(&self, offset: usize) -> Place {
        let line = self.lines.partition_point(|begin| *begin <= offset);
        let begin = self.lines.get(line - 1).copied().unwrap_or_default();
        let before = self.text.get(begin..offset).map_or(0, |before| before.chars().count());
        Place::File { line, column: before + 1 }
    }
}

/// The places of all keys by their paths, such as `route[0].rate`.
pub fn places(node: &Node) -> BTreeMap<String, Place> {
    let mut places = BTreeMap::new();
    collect(node, "", &mut places);
    places
}

fn collect(node: &Node, path: &str, places: &mut BTreeMap<String, Place>) {
    match &node.kind {
        NodeValue::Table(entries) => {
            for (key, entry) in entries {
                let path = join(path, key);
                places.insert(path.clone(), entry.place.clone());
                collect(&entry.node, &path, places);
            }
        }
        NodeValue::List(items) => {
            for (n, item) in items.iter().enumerate() {
                let path = format!("{path}[{n}]");
                places.insert(path.clone(), item.place.clone());
                collect(item, &path, places);
            }
        }
        _ => {}
    }
}

/// A key below a path: `route[0]` and `rate` are `route[0].rate`.
pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
