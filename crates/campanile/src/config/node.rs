//! A config as a tree of nodes that know their places: the file first, the environment over it.

use super::problem::{Place, Problems};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// What every variable that sets a key begins with.
pub const ENVIRONMENT_PREFIX: &str = "CAMPANILE__";
/// Stands between the keys in a variable's name.
const ENVIRONMENT_DOT: &str = "__";
/// A file is at most so many octets.
const FILE_OCTETS_MAX: usize = 4 * 1024 * 1024;

/// A value with its place.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub place: Place,
    pub kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    List(Vec<Node>),
    Table(BTreeMap<String, Entry>),
    /// From the environment, where everything is a word.
    Word(String),
    /// Dates, and numbers beyond 64 bits: no key takes any.
    Other(&'static str),
}

/// A key's value; the key has a place of its own.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub place: Place,
    pub node: Node,
}

impl Node {
    /// What it is, for errors.
    pub fn what(&self) -> &'static str {
        match &self.kind {
            Kind::Text(_) | Kind::Word(_) => "a text",
            Kind::Integer(_) => "an integer",
            Kind::Float(_) => "a number with a fraction",
            Kind::Bool(_) => "true or false",
            Kind::List(_) => "a list",
            Kind::Table(_) => "a table",
            Kind::Other(what) => what,
        }
    }

    fn table(place: Place) -> Node {
        Node { place, kind: Kind::Table(BTreeMap::new()) }
    }
}

/// Reads a file's text.
pub(super) fn parse(text: &str, problems: &mut Problems) -> Node {
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

fn table_kind(table: &DeTable<'_>, places: &Places) -> Kind {
    let entries = table.iter().map(|(key, value)| {
        let node = Node { place: places.at(value.span().start), kind: value_kind(value.get_ref(), places) };
        (key.get_ref().to_string(), Entry { place: places.at(key.span().start), node })
    });
    Kind::Table(entries.collect())
}

fn value_kind(value: &DeValue<'_>, places: &Places) -> Kind {
    match value {
        DeValue::String(text) => Kind::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Kind::Other("an integer beyond 64 bits"), Kind::Integer),
        DeValue::Float(number) => number.as_str().parse().map_or(Kind::Other("no number"), Kind::Float),
        DeValue::Boolean(value) => Kind::Bool(*value),
        DeValue::Datetime(_) => Kind::Other("a date"),
        DeValue::Array(items) => {
            let node = |item: &toml::Spanned<DeValue<'_>>| Node {
                place: places.at(item.span().start),
                kind: value_kind(item.get_ref(), places),
            };
            Kind::List(items.iter().map(node).collect())
        }
        DeValue::Table(table) => table_kind(table, places),
    }
}

/// A list as TOML writes it, or words between commas.
pub(super) fn listed(text: &str, place: &Place) -> Result<Vec<Node>, String> {
    if text.trim_start().starts_with('[') {
        let parsed = DeValue::parse(text).map_err(|error| error.message().to_owned())?;
        return match value_kind(parsed.get_ref(), &Places::new(text)) {
            Kind::List(items) => {
                Ok(items.into_iter().map(|item| Node { place: place.clone(), ..item }).collect())
            }
            _ => Err("is no list".to_owned()),
        };
    }
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    Ok(words.map(|word| Node { place: place.clone(), kind: Kind::Word(word.to_owned()) }).collect())
}

/// Sets what the environment says: `CAMPANILE__ROUTE__0__RATE` is `route[0].rate`.
pub(super) fn overlay(root: &mut Node, environment: &BTreeMap<String, String>, problems: &mut Problems) {
    for (name, value) in environment {
        let Some(keys) = name.strip_prefix(ENVIRONMENT_PREFIX) else { continue };
        let keys: Vec<String> = keys.split(ENVIRONMENT_DOT).map(str::to_ascii_lowercase).collect();
        let place = Place::Environment(name.clone());
        if let Err(reason) = set(root, &keys, value, &place) {
            problems.add(place, &keys.join("."), reason);
        }
    }
}

fn set(node: &mut Node, keys: &[String], value: &str, place: &Place) -> Result<(), String> {
    let Some((key, rest)) = keys.split_first() else {
        *node = Node { place: place.clone(), kind: Kind::Word(value.to_owned()) };
        return Ok(());
    };
    match &mut node.kind {
        Kind::Table(entries) => {
            let entry = entries.entry(key.clone()).or_insert_with(|| {
                let kind = match rest.first() {
                    Some(next) if next.parse::<usize>().is_ok() => Kind::List(Vec::new()),
                    _ => Kind::Table(BTreeMap::new()),
                };
                Entry { place: place.clone(), node: Node { place: place.clone(), kind } }
            });
            if rest.is_empty() {
                entry.place = place.clone();
            }
            set(&mut entry.node, rest, value, place)
        }
        Kind::List(items) => {
            let index: usize = key.parse().map_err(|_| format!("{key:?} is no place in a list"))?;
            if index > items.len() {
                return Err(format!("the list has {} entries: the next is {}", items.len(), items.len()));
            }
            if index == items.len() {
                items.push(Node::table(place.clone()));
            }
            set(&mut items[index], rest, value, place)
        }
        _ => Err(format!("there is no {key:?} in {}", node.what())),
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
