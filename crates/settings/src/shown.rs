//! A configuration as it may be shown: its sections with their places, without the words of secrets.

use crate::node::{Node, NodeValue, TableEntry, join};
use crate::outline::{KeyDoc, Outline, Schema};
use crate::problem::Place;
use crate::values::format_text;
use std::collections::{BTreeMap, BTreeSet};

/// What the name of a file's twin ends with.
const SUFFIX: &str = "_file";
/// Keys that may hold a secret in the middle of other words: templates of requests.
const MAY_HOLD_SECRETS: [&str; 2] = ["headers", "body"];
/// Of a longer value the rest is left out.
const VALUE_CHARS_MAX: usize = 1_000;

/// A section that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownSection {
    /// Such as `route[0]`.
    pub path: String,
    /// Where it begins.
    pub place: Place,
    /// Its keys that are set, by name, and its secrets that are not.
    pub keys: Vec<ShownKey>,
}

/// A key of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownKey {
    /// Its name.
    pub name: String,
    /// Where it is set.
    pub place: Place,
    /// As TOML; nothing for what is not shown, or not set.
    pub value: Option<String>,
    /// It is set.
    pub is_set: bool,
    /// Its value is not shown: it is a secret, may hold one, or is of no known key.
    pub is_secret: bool,
}

/// The sections of a configuration, in the order of their places. Secrets, templates of requests and unknown
/// keys are shown only as set or not; URLs as far as their host.
pub fn shown(root: &Node, outline: &Outline) -> Vec<ShownSection> {
    let mut sections = Vec::new();
    add(root, outline, ("", &Place::Nowhere), &mut sections);
    sections.sort_by(|a, b| (&a.place, &a.path).cmp(&(&b.place, &b.path)));
    sections
}

fn add(node: &Node, outline: &Outline, (path, place): (&str, &Place), sections: &mut Vec<ShownSection>) {
    let entries = match &node.kind {
        NodeValue::Table(entries) => entries,
        NodeValue::List(items) => {
            for (n, item) in items.iter().enumerate() {
                add(item, outline, (&format!("{path}[{n}]"), &item.place), sections);
            }
            return;
        }
        _ => return,
    };
    let known = known_keys(outline, entries);
    let mut keys = Vec::new();
    for (name, entry) in entries {
        let doc = known.get(name.as_str()).copied();
        match doc.and_then(|doc| doc.schema.section()) {
            Some(section) => add(&entry.node, &section, (&join(path, name), &entry.place), sections),
            None => keys.push(key(name, entry, doc, &known)),
        }
    }
    let is_absent = |doc: &&&KeyDoc| doc.schema.is_secret() && !entries.contains_key(doc.name);
    keys.extend(known.values().filter(is_absent).map(|doc| ShownKey {
        name: doc.name.to_owned(),
        place: Place::Nowhere,
        value: None,
        is_set: false,
        is_secret: true,
    }));
    if !path.is_empty() {
        sections.push(ShownSection { path: path.to_owned(), place: place.clone(), keys });
    }
}

/// Keys of the section, and of its variant.
fn known_keys<'o>(
    outline: &'o Outline,
    entries: &BTreeMap<String, TableEntry>,
) -> BTreeMap<&'static str, &'o KeyDoc> {
    let is_its = |(tag, word): (&str, &str)| match entries.get(tag).map(|entry| &entry.node.kind) {
        Some(NodeValue::Text(own) | NodeValue::Word(own)) => own == word,
        _ => false,
    };
    let variants = outline.variants.iter().filter(|variant| is_its(variant.tag));
    let of_variants = variants.flat_map(|variant| &variant.outline.keys);
    let mut seen = BTreeSet::new();
    let all = outline.keys.iter().chain(of_variants);
    all.filter(|key| seen.insert(key.name)).map(|key| (key.name, key)).collect()
}

fn key(
    name: &str,
    entry: &TableEntry,
    doc: Option<&KeyDoc>,
    known: &BTreeMap<&'static str, &KeyDoc>,
) -> ShownKey {
    let is_twin = || {
        let of = name.strip_suffix(SUFFIX).and_then(|of| known.get(of));
        of.is_some_and(|doc| doc.schema.is_secret())
    };
    let is_plain = match doc {
        Some(doc) => is_shown(&doc.schema) && !MAY_HOLD_SECRETS.contains(&name),
        None => is_twin(),
    };
    let value = is_plain.then(|| written(&entry.node));
    ShownKey { name: name.to_owned(), place: entry.place.clone(), value, is_set: true, is_secret: !is_plain }
}

fn is_shown(schema: &Schema) -> bool {
    match schema {
        Schema::Secret => false,
        Schema::Plain(words) => !words.contains("header"),
        Schema::List(item) => is_shown(item),
        Schema::Words(_) | Schema::Table(_) => true,
    }
}

/// A value as TOML.
fn written(node: &Node) -> String {
    match &node.kind {
        NodeValue::Text(text) | NodeValue::Word(text) => format_text(&shortened(&without_path(text))),
        NodeValue::Integer(number) => number.to_string(),
        NodeValue::Float(number) => number.to_string(),
        NodeValue::Bool(value) => value.to_string(),
        NodeValue::List(items) => {
            format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", "))
        }
        NodeValue::Table(entries) => {
            let entry = |(name, entry): (&String, &TableEntry)| format!("{name} = {}", written(&entry.node));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        NodeValue::Other(kind) => (*kind).to_owned(),
    }
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(VALUE_CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// A URL as far as its host: user, path and query may hold secrets. Other texts are whole.
fn without_path(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let more = if authority.len() < rest.trim_end_matches('/').len() { "/…" } else { "" };
    // What stands before the sign may be a part of a password, also of one with a slash in it.
    match rest.rsplit_once('@') {
        Some((before, _)) if before.contains(['/', '?', '#']) => format!("{scheme}://…"),
        Some((_, host)) => {
            let host = host.split(['/', '?', '#']).next().unwrap_or_default();
            format!("{scheme}://{host}{more}")
        }
        None => format!("{scheme}://{authority}{more}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Problems, Secret, Section, overlay, parse};

    crate::section! {
        /// A house.
        House {
            /// Its key.
            key: Secret = Secret::default(),
            /// Where it is told.
            callback: Option<String> = None,
            /// Lines of a request.
            body: Option<String> = None,
            /// Its doors.
            door: Vec<Door> = Vec::new(),
            /// Its people.
            names: Vec<String> = Vec::new(),
        }
    }

    crate::section! {
        /// A door.
        Door {
            /// Its code.
            code: Secret = Secret::default(),
            /// Its width.
            width: usize = 1,
        }
    }

    crate::section! {
        /// All.
        Town {
            /// The house.
            house: House = House::default(),
        }
    }

    fn read(text: &str, environment: &[(&str, &str)]) -> Vec<ShownSection> {
        let mut problems = Problems::new("c.toml");
        let mut root = parse(text, &mut problems);
        let environment =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        overlay(&mut root, "X__", &environment, &mut problems);
        shown(&root, &Town::outline())
    }

    fn find<'s>(sections: &'s [ShownSection], path: &str, name: &str) -> &'s ShownKey {
        let section = sections.iter().find(|section| section.path == path).unwrap();
        section.keys.iter().find(|key| key.name == name).unwrap()
    }

    #[test]
    fn sections_are_shown_with_their_lines_and_secrets_only_as_set_or_not() {
        let text = "[house]\nkey = \"hush1\"\nnames = [\"Ann\", \"Bo\"]\nbody = \"hush2\"\nkye = \"hush3\"\n\
                    callback = \"http://me:hush4@hook.example/hush5?pw=hush6\"\n\n[[house.door]]\nwidth = 3\n\
                    [[house.door]]\ncode = \"hush7\"\n[[house.door]]\ncode_file = \"door.code\"\n";
        let sections = read(text, &[("X__HOUSE__DOOR__0__CODE", "hush8")]);
        assert!(!format!("{sections:?}").contains("hush"), "{sections:?}");
        let paths: Vec<&str> = sections.iter().map(|section| section.path.as_str()).collect();
        assert_eq!(paths, ["house", "house.door[0]", "house.door[1]", "house.door[2]"]);
        assert_eq!(sections[1].place, Place::File { line: 8, column: 1 });
        let key = |path: &str, name: &str| {
            let key = find(&sections, path, name);
            (key.value.as_deref(), key.is_set, key.is_secret)
        };
        assert_eq!(key("house", "key"), (None, true, true));
        assert_eq!(key("house", "names"), (Some("[\"Ann\", \"Bo\"]"), true, false));
        assert_eq!(key("house", "body"), (None, true, true));
        assert_eq!(key("house", "kye"), (None, true, true));
        assert_eq!(key("house", "callback"), (Some("\"http://hook.example/…\""), true, false));
        assert_eq!(key("house.door[0]", "width"), (Some("3"), true, false));
        assert_eq!(key("house.door[0]", "code"), (None, true, true));
        assert_eq!(key("house.door[2]", "code"), (None, false, true));
        assert_eq!(key("house.door[2]", "code_file"), (Some("\"door.code\""), true, false));
        let of_environment = &find(&sections, "house.door[0]", "code").place;
        assert_eq!(*of_environment, Place::Environment("X__HOUSE__DOOR__0__CODE".into()));
        assert_eq!(find(&sections, "house", "names").place, Place::File { line: 3, column: 1 });
    }

    #[test]
    fn a_url_is_shown_as_far_as_its_host() {
        for (url, shown) in [
            ("https://alerts.example", "https://alerts.example"),
            ("https://alerts.example/", "https://alerts.example"),
            ("nats://me:pw@a:4222,b:4222", "nats://a:4222,b:4222"),
            ("nats://me:p/w@a", "nats://…"),
            ("nats://me:p?w@a/x", "nats://…"),
            ("https://hook.example/T0KEN?x=1", "https://hook.example/…"),
            ("file:bus", "file:bus"),
        ] {
            assert_eq!(without_path(url), shown, "{url}");
        }
    }
}
