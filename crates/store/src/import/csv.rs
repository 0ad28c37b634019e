//! RFC 4180, as it comes in pieces.
//!
//! Rows end with LF, CR or CRLF; a quoted field may hold line ends, commas, and quotes written twice. What
//! stands behind a closing quote is taken as written, as most readers do.
//!
//! Where the comma divides decimals, spreadsheets write semicolons between fields, and as "text" tabs: what
//! stands most often in the first row that says anything is the file's separator.

use super::reader::ROW_OCTETS_MAX;
use channels::legible;

/// One row: its fields' octets one after the other.
#[derive(Debug, Default)]
pub(super) struct CsvRow {
    octets: Vec<u8>,
    ends: Vec<usize>,
    /// The row was longer than [`ROW_OCTETS_MAX`], and is cut.
    pub(super) too_long: bool,
    /// The file ends in it, without a line end.
    pub(super) is_cut: bool,
}

impl CsvRow {
    pub(super) fn fields(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut from = 0;
        self.ends.iter().map(move |end| {
            let field = &self.octets[from..*end];
            from = *end;
            field
        })
    }

    /// A line with nothing on it, or with nothing but separators, blanks and invisible marks: spreadsheets
    /// write such lines behind the last row that was ever used.
    pub(super) fn is_blank(&self) -> bool {
        let is_blank =
            |field: &[u8]| std::str::from_utf8(field).is_ok_and(|text| !legible::has_visible(text));
        !self.too_long && self.fields().all(is_blank)
    }

    fn clear(&mut self) {
        self.octets.clear();
        self.ends.clear();
        self.too_long = false;
        self.is_cut = false;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum At {
    #[default]
    FieldStart,
    Bare,
    Quoted,
    /// Behind a quote inside quotes: the end of the field, or half of a quote.
    Quote,
    /// In a row that is too long. Its next line end counts even in quotes: the quote that was never closed
    /// must not swallow the file.
    Skipping,
}

/// Takes octets, gives rows.
#[derive(Debug, Default)]
pub(super) struct Rows {
    row: CsvRow,
    at: At,
    /// The last octet was a CR that ended a row: an LF belongs to it.
    after_cr: bool,
    begun: bool,
    separator: Option<u8>,
    /// The file's beginning, as long as its separator is not known.
    head: Vec<u8>,
}

const COMMA: u8 = b',';
/// What may stand between fields; the first of equally frequent ones wins.
const SEPARATORS: [u8; 3] = [COMMA, b';', b'\t'];
/// A first row for spreadsheets alone: `sep=;`.
const SEPARATOR_ROW: &[u8] = b"sep=";

impl Rows {
    /// Calls `each` with every row that ends in these octets.
    pub(super) fn feed(&mut self, octets: &[u8], each: &mut dyn FnMut(&CsvRow)) {
        if self.separator.is_some() {
            return self.read(octets, each);
        }
        self.head.extend_from_slice(octets);
        let is_full = self.head.len() > ROW_OCTETS_MAX;
        if !is_full && !octets.iter().any(|octet| matches!(octet, b'\n' | b'\r')) {
            return;
        }
        let found = separator(&self.head, is_full);
        if found.is_some() {
            self.begin(found, each);
        }
    }

    fn begin(&mut self, separator: Option<u8>, each: &mut dyn FnMut(&CsvRow)) {
        self.separator = Some(separator.unwrap_or(COMMA));
        let mut head = std::mem::take(&mut self.head);
        if let Some((_, b'\n' | b'\r')) = named_separator(&head) {
            // The row counts, and says nothing more.
            head.drain(..SEPARATOR_ROW.len() + 1);
        }
        self.read(&head, each);
    }

    fn read(&mut self, mut octets: &[u8], each: &mut dyn FnMut(&CsvRow)) {
        let separator = self.separator.unwrap_or(COMMA);
        while let Some((first, rest)) = octets.split_first() {
            let taken = match self.at {
                At::Bare => self.run(octets, |octet| octet != separator && !matches!(octet, b'\n' | b'\r')),
                At::Quoted => self.run(octets, |octet| octet != b'"'),
                _ => 0,
            };
            if taken > 0 {
                octets = &octets[taken..];
                continue;
            }
            octets = rest;
            self.take(*first, separator, each);
        }
    }

    /// The last row may lack its line end.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(&CsvRow)) {
        if self.separator.is_none() {
            self.begin(separator(&self.head, true), each);
        }
        if self.begun {
            self.row.is_cut = true;
            self.end_row(each);
        }
    }

    /// Takes a run of octets that mean nothing but themselves.
    fn run(&mut self, octets: &[u8], plain: impl Fn(u8) -> bool) -> usize {
        let end = octets.iter().position(|octet| !plain(*octet)).unwrap_or(octets.len());
        let room = ROW_OCTETS_MAX.saturating_sub(self.row.octets.len());
        self.row.octets.extend_from_slice(&octets[..end.min(room)]);
        if end > room {
            self.row.too_long = true;
            self.at = At::Skipping;
            return room; // what follows is skipped octet by octet, so that its line end is seen
        }
        end
    }

    fn take(&mut self, octet: u8, separator: u8, each: &mut dyn FnMut(&CsvRow)) {
        if std::mem::take(&mut self.after_cr) && octet == b'\n' {
            return;
        }
        self.begun = true;
        match (self.at, octet) {
            (At::Quote, b'"') => {
                self.at = At::Quoted;
                self.push(octet);
            }
            (At::Quoted, b'"') => self.at = At::Quote,
            (At::FieldStart, b'"') => self.at = At::Quoted,
            (At::FieldStart | At::Bare | At::Quote, octet) if octet == separator => {
                self.end_field();
                self.at = At::FieldStart;
            }
            (At::FieldStart | At::Bare | At::Quote | At::Skipping, b'\n' | b'\r') => {
                self.after_cr = octet == b'\r';
                self.end_row(each);
            }
            (At::FieldStart | At::Bare | At::Quote, other) => {
                self.at = At::Bare;
                self.push(other);
            }
            (At::Quoted, other) => self.push(other),
            (At::Skipping, _) => {}
        }
    }

    fn push(&mut self, octet: u8) {
        if self.row.octets.len() >= ROW_OCTETS_MAX {
            self.row.too_long = true;
            self.at = At::Skipping;
        } else {
            self.row.octets.push(octet);
        }
    }

    fn end_field(&mut self) {
        // Each field costs a number beside its octets: a row of commas alone is bounded too.
        if self.row.ends.len() >= ROW_OCTETS_MAX {
            self.row.too_long = true;
            self.at = At::Skipping;
        } else {
            self.row.ends.push(self.row.octets.len());
        }
    }

    fn end_row(&mut self, each: &mut dyn FnMut(&CsvRow)) {
        self.end_field();
        each(&self.row);
        self.row.clear();
        self.at = At::FieldStart;
        self.begun = false;
    }
}

/// The separator of a file by its beginning; nothing while no row that says anything has ended.
fn separator(head: &[u8], is_whole: bool) -> Option<u8> {
    if let Some((&separator, b'\n' | b'\r')) = named_separator(head) {
        return Some(separator);
    }
    let mut counts = [0usize; SEPARATORS.len()];
    let (mut is_quoted, mut says_something) = (false, false);
    for octet in head {
        match octet {
            b'"' => is_quoted = !is_quoted,
            b'\n' | b'\r' if !is_quoted => {
                if says_something {
                    return most_frequent(counts);
                }
                counts = [0; SEPARATORS.len()];
            }
            octet => match SEPARATORS.iter().position(|separator| separator == octet) {
                Some(place) if !is_quoted => counts[place] += 1,
                _ => says_something |= !octet.is_ascii_whitespace(),
            },
        }
    }
    is_whole.then(|| most_frequent(counts)).flatten()
}

/// What a row of a separator alone names, and the octet behind it.
fn named_separator(head: &[u8]) -> Option<(&u8, u8)> {
    let (row, rest) = head.split_at_checked(SEPARATOR_ROW.len())?;
    let (separator, rest) = rest.split_first().filter(|_| row.eq_ignore_ascii_case(SEPARATOR_ROW))?;
    Some((separator, *rest.first()?)).filter(|(separator, _)| SEPARATORS.contains(separator))
}

fn most_frequent(counts: [usize; SEPARATORS.len()]) -> Option<u8> {
    // `max_by_key` gives the last of equal ones.
    let most = counts.into_iter().zip(SEPARATORS).rev().max_by_key(|(count, _)| *count);
    most.map(|(_, separator)| separator)
}
