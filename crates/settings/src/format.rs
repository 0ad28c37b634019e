//! Reading of typed values from nodes, with every problem on the way.

use crate::nearest::nearest;
use crate::node::{Node, NodeValue, TableEntry, join, listed};
use crate::outline::{Outline, Schema};
use crate::problem::{Place, Problems};
use std::collections::BTreeMap;

/// How a key's value is written in the file.
///
/// A type with one way of being written is its own format (`u32`, `Duration`, every section). A type that
/// another crate declares, or that has several ways, gets a format of its own by [`crate::words!`] or
/// [`crate::text_format!`]; `Option` and `Vec` of a format are formats.
pub trait ValueFormat {
    /// The type that is read.
    type Value;

    /// Reads the value at `path`; nothing when it is wrong, and then `problems` has the reason.
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self::Value>;

    /// The value as TOML, for the manual's defaults; nothing for what is written by leaving the key out.
    /// Secrets are shown: it is for defaults only.
    fn write(value: &Self::Value) -> Option<String>;

    /// What may be written, in words or as a table of keys.
    fn schema() -> Schema;
}

/// A table with declared keys: what [`crate::section!`] makes.
pub trait Section: Default {
    /// Its keys, in the order of their declaration.
    const KEYS: &'static [&'static str];

    /// Reads these keys and takes the default of those that are absent or wrong. Keys that are none of these
    /// are passed over: the code that opened the table refuses them ([`Table::refuse_unknown`]).
    fn read_keys(table: &Table<'_>, problems: &mut Problems) -> Self;

    /// Each key with its value as TOML, without those that are left out.
    fn write_keys(&self) -> Vec<(&'static str, String)>;

    /// Its documentation, key by key.
    fn outline() -> Outline;
}

/// A table that is being read. Several sections may read the same one.
#[derive(Debug, Clone, Copy)]
pub struct Table<'a> {
    entries: &'a BTreeMap<String, TableEntry>,
    place: &'a Place,
    path: &'a str,
}

impl<'a> Table<'a> {
    /// Opens the node at `path`; nothing, and a problem, if it is not a table.
    pub fn open(node: &'a Node, path: &'a str, problems: &mut Problems) -> Option<Table<'a>> {
        let NodeValue::Table(entries) = &node.kind else {
            let reason = format!("must be a table, not {}", node.kind_in_words());
            problems.add(node.place.clone(), path, reason);
            return None;
        };
        Some(Table { entries, place: &node.place, path })
    }

    /// The keys that are set, in alphabetical order.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.entries.keys().map(String::as_str)
    }

    /// Whether a key is set.
    pub fn contains(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Makes each key that is not in `known` a problem that names the nearest known one.
    pub fn refuse_unknown(&self, known: &[&'static str], problems: &mut Problems) {
        for key in self.keys().filter(|key| !known.contains(key)) {
            let reason = format!("is unknown; {}", meant(key, known, problems));
            self.refuse(key, reason, problems);
        }
    }

    /// Adds a problem at a key, or at the table where the key is absent.
    pub fn refuse(&self, key: &str, reason: impl Into<String>, problems: &mut Problems) {
        let place = self.entries.get(key).map_or(self.place, |entry| &entry.place);
        problems.add(place.clone(), &join(self.path, key), reason);
    }

    /// A key's value, or `default` where the key is absent or wrong.
    pub fn read<F: ValueFormat>(&self, key: &str, default: F::Value, problems: &mut Problems) -> F::Value {
        let Some(entry) = self.entries.get(key) else { return default };
        F::read(&entry.node, &join(self.path, key), problems).unwrap_or(default)
    }
}

/// The key that was probably meant by an unknown one: one that is near, or the same one in another section.
fn meant(key: &str, known: &[&'static str], problems: &Problems) -> String {
    if let Some(near) = nearest(key, known.iter().copied()) {
        return format!("did you mean {near}?");
    }
    let elsewhere = problems.path_of(key).map(|path| format!("; there is {path}")).unwrap_or_default();
    format!("known are {}{elsewhere}", known.join(", "))
}

/// Reads one of some words.
pub fn read_one_of<T: Copy>(
    node: &Node,
    path: &str,
    known: &[(&str, T)],
    problems: &mut Problems,
) -> Option<T> {
    let text = read_text(node, path, problems)?;
    if let Some((_, value)) = known.iter().find(|(word, _)| *word == text) {
        return Some(*value);
    }
    let near = nearest(&text, known.iter().map(|(word, _)| *word));
    let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    let all: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
    problems.add(node.place.clone(), path, format!("{text:?} is none of {}{near}", all.join(", ")));
    None
}

/// The first of the words for `value`, as TOML.
pub fn format_one_of<T: PartialEq>(value: &T, known: &[(&str, T)]) -> Option<String> {
    known.iter().find(|(_, known)| known == value).map(|(word, _)| crate::format_text(word))
}

/// Reads a text as it stands there.
pub fn read_text(node: &Node, path: &str, problems: &mut Problems) -> Option<String> {
    match &node.kind {
        NodeValue::Text(text) | NodeValue::Word(text) => Some(text.clone()),
        _ => {
            let reason = format!("must be a text, not {}", node.kind_in_words());
            problems.add(node.place.clone(), path, reason);
            None
        }
    }
}

/// Reads a text that `parse` turns into a value; its error is the problem.
pub fn read_parsed<T>(
    node: &Node,
    path: &str,
    problems: &mut Problems,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Option<T> {
    let text = read_text(node, path, problems)?;
    parse(&text).map_err(|reason| problems.add(node.place.clone(), path, reason)).ok()
}

impl<F: ValueFormat> ValueFormat for Option<F> {
    type Value = Option<F::Value>;

    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Option<F::Value>> {
        F::read(node, path, problems).map(Some)
    }

    fn write(value: &Option<F::Value>) -> Option<String> {
        value.as_ref().and_then(F::write)
    }

    fn schema() -> Schema {
        F::schema()
    }
}

impl<F: ValueFormat> ValueFormat for Vec<F> {
    type Value = Vec<F::Value>;

    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Vec<F::Value>> {
        let from_environment;
        let items = match &node.kind {
            NodeValue::List(items) => items,
            NodeValue::Word(text) => match listed(text, &node.place) {
                Ok(items) => {
                    from_environment = items;
                    &from_environment
                }
                Err(reason) => {
                    problems.add(node.place.clone(), path, reason);
                    return None;
                }
            },
            _ => {
                let reason = format!("must be a list, not {}", node.kind_in_words());
                problems.add(node.place.clone(), path, reason);
                return None;
            }
        };
        let read = |(n, item): (usize, &Node)| F::read(item, &format!("{path}[{n}]"), problems);
        // An item that could not be read is a problem already.
        Some(items.iter().enumerate().filter_map(read).collect())
    }

    fn write(value: &Vec<F::Value>) -> Option<String> {
        let items: Vec<String> = value.iter().filter_map(F::write).collect();
        Some(format!("[{}]", items.join(", ")))
    }

    fn schema() -> Schema {
        Schema::List(Box::new(F::schema()))
    }
}
