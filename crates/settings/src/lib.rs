//! Sections of a configuration file in TOML: declared once, read with all problems and their lines, described
//! by a generated manual.
//!
//! [`section!`] declares a section: its keys with their types, defaults and documentation. From the
//! declaration come
//! - the struct with its defaults,
//! - the reader, which names each problem's line and column and the nearest known key ([`Table`],
//!   [`Problems`]),
//! - the manual: the commented file ([`manual::toml`]) and the tables of the documentation
//!   ([`manual::table`]).
//!
//! A key's [`ValueFormat`] reads and writes its value. Types of this crate and of the standard library have
//! one; a crate adds those of its own types by [`words!`] and [`text_format!`], and for types of other crates
//! by a format beside the type: `version: Version as SmppVersion = Version::V3_4`.
//!
//! A key of type [`Secret`] has a twin that names a file: `password_file` beside `password`
//! ([`read_secret_files`]).
//!
//! [`shown`] gives a configuration without its secrets.
//!
//! A table may be read by several sections, such as a `[[route]]` by the keys of all routes and by those of
//! its channel. Each reads its keys ([`Section::read_keys`]); the code that opened the table refuses keys
//! that are in none of them ([`Table::refuse_unknown`]). [`SectionType`] and [`AnySection`] are for lists of
//! sections whose types differ.

mod address;
mod any;
mod format;
pub mod manual;
mod nearest;
mod node;
mod outline;
mod problem;
mod secret;
mod secret_files;
mod section;
mod shown;
#[cfg(test)]
mod tests;
mod values;

pub use address::socket_address;
pub use any::{AnySection, SectionType};
pub use format::{Section, Table, ValueFormat, format_one_of, read_one_of, read_parsed, read_text};
pub use nearest::nearest;
pub use node::{Node, NodeValue, TableEntry, join, overlay, parse, places};
pub use outline::{AllowedWord, KeyDoc, Outline, Schema, Variant};
pub use problem::{Place, Problems, SettingsProblem};
pub use secret::Secret;
pub use secret_files::{SecretFiles, SecretSources, read_secret_files};
pub use shown::{ShownKey, ShownSection, shown};
pub use values::{format_duration, format_text, parse_duration};
