//! Reading people from outside: JSON, CSV and NDJSON, with every problem named. Pure: octets in, recipients
//! out.
//!
//! One place checks ([`normalise`]), whichever way a recipient comes in.

mod check;
mod columns;
mod csv;
mod encoding;
mod headings;
mod json;
mod mapping;
mod profile;
mod reader;

pub use check::{
    ATTRIBUTE_NAME_OCTETS_MAX, ATTRIBUTE_OCTETS_MAX, ATTRIBUTES_MAX, DEVICES_MAX, GROUPS_MAX, ID_OCTETS_MAX,
    NAME_OCTETS_MAX, check_group, check_id, normalise,
};
pub use json::{from_json, to_json};
pub use mapping::{ColumnMapping, MAPPED_MAX};
pub use profile::profile_to_json;
pub use reader::{ImportFormat, ImportReader, ImportSummary, ROW_OCTETS_MAX, ROWS_MAX};

use serde::{Deserialize, Serialize};

/// What is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldError {
    /// Its name as the outside knows it; a column's name, or a path such as `devices[1].address`.
    pub field: String,
    /// In words.
    pub reason: String,
}

impl FieldError {
    pub(crate) fn new(field: impl Into<String>, reason: impl Into<String>) -> FieldError {
        FieldError { field: field.into(), reason: reason.into() }
    }
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}

/// What is wrong with one field of one row of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowProblem {
    /// As a person counts: the first row, a CSV file's header, is 1; empty rows count.
    pub row: u64,
    /// The column or member; empty where it is the row as a whole.
    pub field: String,
    /// What the cell of a CSV file has, as far as it is worth showing; empty where there is no one cell.
    #[serde(skip)]
    pub value: String,
    /// In words.
    pub reason: String,
}

impl std::fmt::Display for RowProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.field.as_str() {
            "" => write!(f, "row {}: {}", self.row, self.reason),
            field => write!(f, "row {}, {field}: {}", self.row, self.reason),
        }
    }
}

/// The known name that looks most like this one, if any does.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    const DISTANCE_MAX: usize = 3;
    let near = |known: &&'a str| (distance(name, known), *known);
    known
        .iter()
        .map(near)
        .min()
        .filter(|(far, known)| *far <= DISTANCE_MAX && *far < known.len())
        .map(|(_, known)| known)
}

/// Edits from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    const LEN_MAX: usize = 64;
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().take(LEN_MAX).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let substituted = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests;
