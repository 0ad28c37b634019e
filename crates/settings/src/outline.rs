//! Documentation of sections and keys, as data.

use crate::format::ValueFormat;
use std::collections::BTreeSet;

/// What may be written for a key.
#[derive(Debug, Clone)]
pub enum Schema {
    /// A value in one piece, in words: `whole number`.
    Plain(&'static str),
    /// A text that no log shows. Its key has a twin that names a file.
    Secret,
    /// One of some words.
    Words(Vec<AllowedWord>),
    /// Several of the same.
    List(Box<Schema>),
    /// A table of keys. The function keeps the outline of a whole file from being built where one section is
    /// asked for.
    Table(fn() -> Outline),
}

/// A word that a key takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedWord {
    /// As it is written.
    pub word: &'static str,
    /// What it means, in Markdown; may be empty.
    pub doc: &'static str,
}

/// The documentation of a section.
#[derive(Debug, Clone)]
pub struct Outline {
    /// Its prose: the section's doc comment, in Markdown.
    pub doc: &'static str,
    /// Its keys, in the order of their declaration.
    pub keys: Vec<KeyDoc>,
    /// Keys that are there for one value of another key only, such as those of a route's channel.
    pub variants: Vec<Variant>,
}

/// Keys that a table has for one value of another key.
#[derive(Debug, Clone)]
pub struct Variant {
    /// The key that decides, and its value as it is written: `channel` and `sms`.
    pub tag: (&'static str, &'static str),
    /// Keys of all variants with the values, as TOML, that the manual's example of this one shows.
    pub shared: Vec<(&'static str, String)>,
    /// Its documentation and its own keys.
    pub outline: Outline,
}

/// The documentation of a key.
#[derive(Debug, Clone)]
pub struct KeyDoc {
    /// The key.
    pub name: &'static str,
    /// Its doc comment, in Markdown.
    pub doc: &'static str,
    /// What may be written.
    pub schema: Schema,
    /// Its default as TOML; nothing: absent.
    pub default: Option<String>,
    /// The default in words, where TOML cannot say it: `the machine's name`.
    pub default_in_words: Option<&'static str>,
    /// A value to show, as TOML.
    pub example: Option<&'static str>,
    /// There is no default: `campanile check` asks for it.
    pub is_required: bool,
    /// The manual shows it commented out although it has a default, since setting it is refused where it is
    /// of no use.
    pub is_commented: bool,
    /// A table that is written in one line: `{ton = 1, npi = 1}`.
    pub is_inline: bool,
}

impl KeyDoc {
    /// A key of a format, with its doc comment and its default.
    pub fn new<F: ValueFormat>(name: &'static str, doc: &'static str, default: &F::Value) -> KeyDoc {
        KeyDoc {
            name,
            doc,
            schema: F::schema(),
            default: F::write(default),
            default_in_words: None,
            example: None,
            is_required: false,
            is_commented: false,
            is_inline: false,
        }
    }

    /// It must be set.
    pub fn required(self) -> KeyDoc {
        KeyDoc { is_required: true, ..self }
    }

    /// Its default in words.
    pub fn default_in_words(self, words: &'static str) -> KeyDoc {
        KeyDoc { default_in_words: Some(words), ..self }
    }

    /// A value to show, as TOML.
    pub fn example(self, toml: &'static str) -> KeyDoc {
        KeyDoc { example: Some(toml), ..self }
    }

    /// Commented out in the manual.
    pub fn commented(self) -> KeyDoc {
        KeyDoc { is_commented: true, ..self }
    }

    /// A table in one line.
    pub fn inline(self) -> KeyDoc {
        KeyDoc { is_inline: true, ..self }
    }
}

impl Schema {
    /// The section that it is, or that its items are.
    pub fn section(&self) -> Option<Outline> {
        match self {
            Schema::Table(outline) => Some(outline()),
            Schema::List(item) => item.section(),
            Schema::Plain(_) | Schema::Secret | Schema::Words(_) => None,
        }
    }

    /// It is a secret.
    pub fn is_secret(&self) -> bool {
        matches!(self, Schema::Secret)
    }

    /// The words that it, or its items, are taken from.
    pub fn words(&self) -> Option<&[AllowedWord]> {
        match self {
            Schema::Words(words) => Some(words),
            Schema::List(item) => item.words(),
            Schema::Plain(_) | Schema::Secret | Schema::Table(_) => None,
        }
    }

    /// What may be written, in words and Markdown.
    pub fn in_words(&self) -> String {
        match self {
            Schema::Plain(words) => (*words).to_owned(),
            Schema::Secret => "text, kept out of logs".to_owned(),
            Schema::Words(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("`\"{}\"`", word.word)).collect();
                match quoted.split_last() {
                    Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                    _ => quoted.join(""),
                }
            }
            Schema::List(item) => match **item {
                Schema::Table(_) => "list of tables".to_owned(),
                _ => format!("list: {}", item.in_words()),
            },
            Schema::Table(outline) => {
                let keys: Vec<String> = outline().keys.iter().map(|key| format!("`{}`", key.name)).collect();
                format!("table of {}", keys.join(", "))
            }
        }
    }
}

impl Outline {
    /// The documentation of a section without variants.
    pub fn new(doc: &'static str, keys: Vec<KeyDoc>) -> Outline {
        Outline { doc, keys, variants: Vec::new() }
    }

    /// The paths of all keys, dotted: `route.source.ton`. Lists are passed over; those of variants come after
    /// the others.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        let mut known = BTreeSet::new();
        let variants = self.variants.iter().flat_map(|variant| &variant.outline.keys);
        for key in self.keys.iter().chain(variants) {
            let below = key.schema.section().map(|outline| outline.paths()).unwrap_or_default();
            if known.insert(key.name) && below.is_empty() {
                paths.push(key.name.to_owned());
            }
            for path in below {
                let path = format!("{}.{path}", key.name);
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
        }
        paths
    }
}
