//! From nodes to typed sections, with every problem on the way. A section is declared once, by [`section!`]: its keys,
//! their types and defaults; what is not declared is unknown.

use super::nearest::nearest;
use super::node::{Entry, Kind, Node, listed};
use super::problem::{Place, Problems};
use super::sections::Config;
use std::collections::BTreeMap;

/// Something a key can be set to.
pub(super) trait Value: Sized {
    /// Reads it, or says what is wrong.
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self>;
}

/// Something with keys.
pub(super) trait Section: Value + Default {
    /// Its keys.
    const KEYS: &'static [&'static str];
    /// The keys of its keys that are sections themselves.
    fn sections() -> Vec<(&'static str, Vec<String>)>;
}

/// Declares a section: a struct with a documented field for each key, its defaults, and how it is read.
macro_rules! section {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty = $default:expr),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default,)* }
            }
        }

        impl $crate::config::read::Section for $name {
            const KEYS: &'static [&'static str] = &[$(stringify!($field)),*];
            fn sections() -> Vec<(&'static str, Vec<String>)> {
                vec![$((stringify!($field), <$type as $crate::config::read::Keys>::keys())),*]
            }
        }

        impl $crate::config::read::Value for $name {
            fn read(
                node: &$crate::config::node::Node,
                path: &str,
                problems: &mut $crate::config::problem::Problems,
            ) -> Option<$name> {
                let known = <$name as $crate::config::read::Section>::KEYS;
                let mut table = $crate::config::read::Table::open(node, path, known, problems)?;
                let defaults = $name::default();
                Some($name { $($field: table.take(stringify!($field), defaults.$field, problems),)* })
            }
        }

        impl $crate::config::read::Keys for $name {
            fn keys() -> Vec<String> {
                $crate::config::read::all_keys::<$name>()
            }
        }
    };
}
pub(super) use section;

/// Declares words a key takes.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$word_doc])* $variant,)* }

        impl $crate::config::read::Value for $name {
            fn read(
                node: &$crate::config::node::Node,
                path: &str,
                problems: &mut $crate::config::problem::Problems,
            ) -> Option<$name> {
                let known = [$(($word, $name::$variant)),*];
                $crate::config::read::one_of(node, path, &known, problems)
            }
        }
        impl $crate::config::read::Keys for $name {}
    };
}
pub(super) use words;

/// The keys that can stand below a key: none, unless it is a section.
pub(super) trait Keys {
    /// Dotted; lists are passed over.
    fn keys() -> Vec<String> {
        Vec::new()
    }
}

impl<T: Keys> Keys for Option<T> {
    fn keys() -> Vec<String> {
        T::keys()
    }
}

impl<T: Keys> Keys for Vec<T> {
    fn keys() -> Vec<String> {
        T::keys()
    }
}

/// Every key of a section, those of sections in it dotted.
pub(super) fn all_keys<T: Section>() -> Vec<String> {
    let mut keys = Vec::new();
    for (key, below) in T::sections() {
        if below.is_empty() {
            keys.push(key.to_owned());
        }
        keys.extend(below.into_iter().map(|below| format!("{key}.{below}")));
    }
    keys
}

/// A table that is being read.
pub(super) struct Table<'a> {
    entries: &'a BTreeMap<String, Entry>,
    path: &'a str,
}

impl<'a> Table<'a> {
    /// Looks at a node's keys; those that are not known are problems.
    pub fn open(
        node: &'a Node,
        path: &'a str,
        known: &[&'static str],
        problems: &mut Problems,
    ) -> Option<Table<'a>> {
        let Kind::Table(entries) = &node.kind else {
            problems.add(node.place.clone(), path, format!("must be a table, not {}", node.what()));
            return None;
        };
        for (key, entry) in entries {
            if !known.contains(&key.as_str()) {
                let near = meant(key, known);
                problems.add(entry.place.clone(), &join(path, key), format!("is unknown; {near}"));
            }
        }
        Some(Table { entries, path })
    }

    /// A key's value, or its default.
    pub fn take<T: Value>(&mut self, key: &str, default: T, problems: &mut Problems) -> T {
        let Some(entry) = self.entries.get(key) else { return default };
        T::read(&entry.node, &join(self.path, key), problems).unwrap_or(default)
    }
}

/// What was probably meant by an unknown key: one that is near, or the same one elsewhere.
fn meant(key: &str, known: &[&'static str]) -> String {
    if let Some(near) = nearest(key, known.iter().copied()) {
        return format!("did you mean {near}?");
    }
    let elsewhere = Config::keys().into_iter().find(|path| path.rsplit('.').next() == Some(key));
    let elsewhere = elsewhere.map(|path| format!("; there is {path}")).unwrap_or_default();
    format!("known are {}{elsewhere}", known.join(", "))
}

/// A key below a path.
pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// One of some words.
pub(super) fn one_of<T: Copy>(
    node: &Node,
    path: &str,
    known: &[(&str, T)],
    problems: &mut Problems,
) -> Option<T> {
    let text = text(node, path, problems)?;
    if let Some((_, value)) = known.iter().find(|(word, _)| *word == text) {
        return Some(*value);
    }
    let all: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
    let near =
        nearest(&text, all.iter().copied()).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    problems.add(node.place.clone(), path, format!("{text:?} is none of {}{near}", all.join(", ")));
    None
}

/// A text as it stands there.
pub(super) fn text(node: &Node, path: &str, problems: &mut Problems) -> Option<String> {
    match &node.kind {
        Kind::Text(text) | Kind::Word(text) => Some(text.clone()),
        _ => {
            problems.add(node.place.clone(), path, format!("must be a text, not {}", node.what()));
            None
        }
    }
}

/// A text that means something.
pub(super) fn parsed<T>(
    node: &Node,
    path: &str,
    problems: &mut Problems,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Option<T> {
    let text = text(node, path, problems)?;
    parse(&text).map_err(|reason| problems.add(node.place.clone(), path, reason)).ok()
}

impl<T: Value> Value for Option<T> {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Option<T>> {
        T::read(node, path, problems).map(Some)
    }
}

impl<T: Value> Value for Vec<T> {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Vec<T>> {
        let from_environment;
        let items = match &node.kind {
            Kind::List(items) => items,
            Kind::Word(text) => match listed(text, &node.place) {
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
                problems.add(node.place.clone(), path, format!("must be a list, not {}", node.what()));
                return None;
            }
        };
        let read = |(n, item): (usize, &Node)| T::read(item, &format!("{path}[{n}]"), problems);
        // What could not be read is a problem already.
        Some(items.iter().enumerate().filter_map(read).collect())
    }
}

/// The places of all keys, by their paths.
pub(super) fn places(node: &Node) -> BTreeMap<String, Place> {
    let mut places = BTreeMap::new();
    collect(node, "", &mut places);
    places
}

fn collect(node: &Node, path: &str, places: &mut BTreeMap<String, Place>) {
    match &node.kind {
        Kind::Table(entries) => {
            for (key, entry) in entries {
                let path = join(path, key);
                places.insert(path.clone(), entry.place.clone());
                collect(&entry.node, &path, places);
            }
        }
        Kind::List(items) => {
            for (n, item) in items.iter().enumerate() {
                let path = format!("{path}[{n}]");
                places.insert(path.clone(), item.place.clone());
                collect(item, &path, places);
            }
        }
        _ => {}
    }
}
