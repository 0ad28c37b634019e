//! A provisioning file, read as it comes.

use super::columns::{Columns, columns, notes, person, shown_cell};
use super::csv::{CsvRow, Rows};
use super::encoding::FileEncoding;
use super::{ColumnMapping, FieldError, RowProblem, from_json};
use channels::Defaults;
use records::Recipient;
use serde::Serialize;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// Octets of one row; a longer one is a problem, not memory.
pub const ROW_OCTETS_MAX: usize = 64 * 1024;
/// Rows of one file. Each id costs about 18 octets of memory (a hash, to find it twice): at most 300 MB.
pub const ROWS_MAX: u64 = 10_000_000;

/// The forms of a provisioning file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportFormat {
    /// A header row, then a recipient a row (CONTRACT: "Recipients as CSV").
    Csv,
    /// A recipient a line, as the API takes it.
    Ndjson,
}

/// Reads a provisioning file in whatever pieces it comes, in bounded memory: a row, and a hash for each id.
///
/// `feed` it, then `finish` it. Of two rows with one id the later is a problem; two different ids are taken
/// for one with a chance of n²/2⁶⁵ (3e-8 for a million rows). After a problem with the file as a whole (its
/// header, its encoding) nothing more is read: [`ImportReader::is_over`].
pub struct ImportReader {
    rows: Rows,
    lines: Lines,
    format: ImportFormat,
    defaults: Defaults,
    columns: Option<Columns>,
    /// Rows so far.
    row: u64,
    people: u64,
    ids: HashSet<u64, Unhashed>,
    hasher: RandomState,
    encoding: FileEncoding,
    mapping: ColumnMapping,
    over: bool,
    summary: ImportSummary,
}

/// Ids of people without a device that are listed; more are counted.
const WITHOUT_DEVICE_LISTED_MAX: usize = 100;

/// What an importer should know beside the problems: nothing of it is a fault, and all of it may be a slip.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportSummary {
    /// Columns that were taken for something that they are not called, or that nothing is known of.
    pub notes: Vec<FieldError>,
    /// Columns that became attributes.
    pub attributes: Vec<String>,
    /// People of the file without any device: nothing reaches them.
    pub without_device: u64,
    /// Ids of the first of them, at most 100.
    pub without_device_ids: Vec<String>,
}

/// What comes out.
type Out = Vec<Result<Recipient, RowProblem>>;

impl ImportReader {
    /// A reader for a file's beginning.
    pub fn new(format: ImportFormat, defaults: Defaults) -> ImportReader {
        ImportReader {
            rows: Rows::default(),
            lines: Lines::default(),
            format,
            defaults,
            columns: None,
            row: 0,
            people: 0,
            ids: HashSet::default(),
            hasher: RandomState::new(),
            encoding: FileEncoding::unknown(),
            mapping: ColumnMapping::default(),
            over: false,
            summary: ImportSummary::default(),
        }
    }

    /// The same with what columns of a CSV file mean, whatever their headings say.
    pub fn with_mapping(self, mapping: ColumnMapping) -> ImportReader {
        ImportReader { mapping, ..self }
    }

    /// The headings of a CSV file and what each was taken for, once the header was read; an attribute has its
    /// own name, a column that is left out an empty one.
    pub fn columns(&self) -> Vec<(String, String)> {
        let shown = |(column, heading): &(super::columns::Column, String)| {
            (heading.clone(), column.name().to_owned())
        };
        self.columns.iter().flatten().map(shown).collect()
    }

    /// What is to be told of the file beside its problems; whole once it has been read.
    pub fn summary(&self) -> &ImportSummary {
        &self.summary
    }

    /// Takes the next octets, and adds what they complete to `out`: recipients in the form that is kept, and
    /// problems (a row may have several).
    pub fn feed(&mut self, octets: &[u8], out: &mut Out) {
        let octets = self.encoding.utf8(octets, false);
        self.read(&octets, out);
    }

    fn read(&mut self, octets: &[u8], out: &mut Out) {
        if self.over {
            return;
        }
        match self.format {
            ImportFormat::Csv => {
                let mut rows = std::mem::take(&mut self.rows);
                rows.feed(octets, &mut |row| self.csv_row(row, out));
                self.rows = rows;
            }
            ImportFormat::Ndjson => {
                let mut lines = std::mem::take(&mut self.lines);
                lines.feed(octets, &mut |line| self.json_line(line, out));
                self.lines = lines;
            }
        }
    }

    /// Says that the file ends here.
    pub fn finish(&mut self, out: &mut Out) {
        let octets = self.encoding.utf8(&[], true);
        self.read(&octets, out);
        if self.over {
            return;
        }
        match self.format {
            ImportFormat::Csv => {
                let mut rows = std::mem::take(&mut self.rows);
                rows.finish(&mut |row| self.csv_row(row, out));
                if self.columns.is_none() && !self.over {
                    self.end(out, FieldError::new("", "the file is empty: its first row names the columns"));
                }
            }
            ImportFormat::Ndjson => {
                let mut lines = std::mem::take(&mut self.lines);
                lines.finish(&mut |line| self.json_line(line, out));
            }
        }
        self.over = true;
    }

    /// Nothing more is read.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Rows read so far, header and empty rows included.
    pub fn rows(&self) -> u64 {
        self.row
    }

    fn csv_row(&mut self, row: &CsvRow, out: &mut Out) {
        if !self.count_row(out) || row.is_blank() {
            return;
        }
        if row.too_long {
            return self.note(out, [too_long(" (a quote that is not closed?)")]);
        }
        match self.columns.take() {
            None => match columns(row, &self.mapping) {
                Ok(columns) => {
                    (self.summary.notes, self.summary.attributes) = notes(&columns);
                    self.columns = Some(columns);
                }
                Err(fault) => self.end(out, fault),
            },
            Some(columns) => {
                let person = person(&columns, row, &self.defaults);
                let first = out.len();
                self.take(person, out);
                for problem in out[first..].iter_mut().filter_map(|read| read.as_mut().err()) {
                    problem.value = shown_cell(&columns, row, &problem.field);
                }
                self.columns = Some(columns);
            }
        }
    }

    fn json_line(&mut self, line: Option<&[u8]>, out: &mut Out) {
        if !self.count_row(out) {
            return;
        }
        let Some(line) = line else {
            return self.note(out, [too_long("")]);
        };
        if line.trim_ascii().is_empty() {
            return;
        }
        let person = match serde_json::from_slice(line) {
            Ok(value) => from_json(&value, &self.defaults),
            Err(error) => Err(vec![FieldError::new("", format!("is not JSON: {error}"))]),
        };
        self.take(person, out);
    }

    /// False when there is nothing more to read.
    fn count_row(&mut self, out: &mut Out) -> bool {
        if self.over {
            return false;
        }
        self.row += 1;
        if self.people >= ROWS_MAX {
            self.end(
                out,
                FieldError::new(
                    "",
                    format!("the file has more than {ROWS_MAX} recipients: import it in parts"),
                ),
            );
        }
        !self.over
    }

    fn take(&mut self, person: Result<Recipient, Vec<FieldError>>, out: &mut Out) {
        self.people += 1;
        match person {
            Ok(person) if self.ids.insert(self.hasher.hash_one(&person.id)) => {
                self.summary.count(&person);
                out.push(Ok(person));
            }
            Ok(person) => {
                self.note(out, [FieldError::new("id", format!("{:?} was on an earlier row", person.id))])
            }
            Err(faults) => self.note(out, faults),
        }
    }

    fn note(&self, out: &mut Out, faults: impl IntoIterator<Item = FieldError>) {
        let problem = |FieldError { field, reason }| {
            Err(RowProblem { row: self.row, field, value: String::new(), reason })
        };
        out.extend(faults.into_iter().map(problem));
    }

    fn end(&mut self, out: &mut Out, fault: FieldError) {
        self.row = self.row.max(1);
        self.note(out, [fault]);
        self.over = true;
    }
}

impl ImportSummary {
    fn count(&mut self, person: &Recipient) {
        if !person.devices.is_empty() {
            return;
        }
        self.without_device += 1;
        if self.without_device_ids.len() < WITHOUT_DEVICE_LISTED_MAX {
            self.without_device_ids.push(person.id.clone());
        }
    }
}

/// Told of every line; of one that is too long, nothing.
type EachLine<'a> = &'a mut dyn FnMut(Option<&[u8]>);

/// Takes octets, gives lines.
#[derive(Default)]
struct Lines {
    line: Vec<u8>,
    too_long: bool,
}

impl Lines {
    fn feed(&mut self, mut octets: &[u8], each: EachLine<'_>) {
        while let Some(end) = octets.iter().position(|octet| *octet == b'\n') {
            self.take(&octets[..end]);
            self.end(each);
            octets = &octets[end + 1..];
        }
        self.take(octets);
    }

    fn finish(&mut self, each: EachLine<'_>) {
        if !self.line.is_empty() || self.too_long {
            self.end(each);
        }
    }

    fn take(&mut self, octets: &[u8]) {
        self.too_long |= self.line.len() + octets.len() > ROW_OCTETS_MAX;
        if !self.too_long {
            self.line.extend_from_slice(octets);
        }
    }

    fn end(&mut self, each: EachLine<'_>) {
        each((!self.too_long).then_some(&self.line));
        self.line.clear();
        self.too_long = false;
    }
}

fn too_long(perhaps: &str) -> FieldError {
    FieldError::new("", format!("the row has more than {ROW_OCTETS_MAX} octets{perhaps}"))
}

/// The ids are hashed already.
#[derive(Debug, Clone, Default)]
struct Unhashed(u64);

impl std::hash::Hasher for Unhashed {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {}
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl BuildHasher for Unhashed {
    type Hasher = Unhashed;
    fn build_hasher(&self) -> Unhashed {
        Unhashed(0)
    }
}
