//! Mapping of a CSV file's columns to fields, given by the importer.

use channels::legible;

/// Columns that a mapping may name.
pub const MAPPED_MAX: usize = 128;
/// Written for a column of which nothing is taken.
const LEFT_OUT: &str = "-";

/// What columns mean, whatever their headings say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnMapping {
    /// Headings, each with its field; an empty one: nothing is taken of the column.
    columns: Vec<(String, String)>,
}

impl ColumnMapping {
    /// Reads entries such as `Mobil:sms`, or `Note:-` for a column of which nothing is taken. The field
    /// stands behind the last colon.
    ///
    /// # Errors
    /// In words: an entry that is none, a column named twice, or too many.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<ColumnMapping, String> {
        let mut columns: Vec<(String, String)> = Vec::new();
        for entry in entries {
            let (heading, field) = entry
                .rsplit_once(':')
                .map(|(heading, field)| (legible::trimmed(heading), legible::trimmed(field)))
                .filter(|(heading, field)| !heading.is_empty() && !field.is_empty())
                .ok_or_else(|| format!("{entry:?} is not COLUMN:FIELD, such as Mobile:sms, or COLUMN:-"))?;
            if columns.iter().any(|(other, _)| other == heading) {
                return Err(format!("the column {heading:?} is mapped twice"));
            }
            if columns.len() == MAPPED_MAX {
                return Err(format!("maps more than {MAPPED_MAX} columns"));
            }
            let field = if field == LEFT_OUT { "" } else { field };
            columns.push((heading.to_owned(), field.to_owned()));
        }
        Ok(ColumnMapping { columns })
    }

    /// Nothing is mapped.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The field of a column, if it is mapped.
    pub(super) fn of(&self, heading: &str) -> Option<&str> {
        self.columns.iter().find(|(own, _)| own == heading).map(|(_, field)| field.as_str())
    }

    pub(super) fn headings(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(heading, _)| heading.as_str())
    }
}
