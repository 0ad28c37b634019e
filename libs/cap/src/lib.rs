//! The Common Alerting Protocol without IO: a tolerant reader with a list of problems, a strict writer.
//!
//! [`read`] takes what authorities really send (CAP 1.0, 1.1, 1.2, bare or in an envelope) and says what is
//! wrong with it, element by element; it refuses only what is no XML, what is dangerous to read, and what
//! holds no alert. [`write`] makes CAP 1.2 that breaks no rule, or names the element that would;
//! [`write_mended`] passes on what was read. Between them stands [`Alert`]: [`parts`] says which of its infos
//! go to the same people, and [`told`] what those are told in each language.
//!
//! Sections are those of the OASIS standard "Common Alerting Protocol Version 1.2" (1 July 2010).

mod alert;
mod codes;
mod geometry;
mod language;
mod limits;
mod parts;
mod problem;
mod read;
mod rules;
mod time;
mod told;
mod write;

pub use alert::{
    Alert, Area, Category, Certainty, Circle, Info, LANGUAGE_DEFAULT, MsgType, NamedValue, Point, Reference,
    Resource, ResponseType, Scope, Severity, Status, Urgency,
};
pub use codes::code_patterns;
pub use geometry::{AreaIndex, distance_km};
pub use limits::*;
pub use parts::{AlertPart, infos_nowhere, parts};
pub use problem::{CapProblem, Rule};
pub use read::{CapVersion, ParsedAlert, ReadError, read, read_all, read_all_as, utf8_text};
pub use time::Timestamp;
pub use told::{Told, Words, plain_line, plain_text, told};
pub use write::{WriteError, write, write_mended};
