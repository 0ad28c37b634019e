//! RFC 4180, as it comes in pieces.
//!
//! Rows end with LF, CR or CRLF; a quoted field may hold line ends, commas, and quotes written twice. What
//! stands behind a closing quote is taken as written, as most readers do.

use super::reader::ROW_OCTETS_MAX;

/// One row: its fields' octets one after the other.
#[derive(Debug, Default)]
pub(super) struct CsvRow {
    octets: Vec<u8>,
    ends: Vec<usize>,
    /// The row was longer than [`ROW_OCTETS_MAX`], and is cut.
    pub(super) too_long: bool,
    quoted: bool,
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

    /// A line with nothing on it.
    pub(super) fn is_empty(&self) -> bool {
        self.octets.is_empty() && self.ends.len() <= 1 && !self.quoted && !self.too_long
    }

    fn clear(&mut self) {
        self.octets.clear();
        self.ends.clear();
        self.too_long = false;
        self.quoted = false;
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
}

impl Rows {
    /// Calls `each` with every row that ends in these octets.
    pub(super) fn feed(&mut self, mut octets: &[u8], each: &mut dyn FnMut(&CsvRow)) {
        while let Some((first, rest)) = octets.split_first() {
            let taken = match self.at {
                At::Bare => self.run(octets, |octet| !matches!(octet, b',' | b'\n' | b'\r')),
                At::Quoted => self.run(octets, |octet| octet != b'"'),
                _ => 0,
            };
            if taken > 0 {
                octets = &octets[taken..];
                continue;
            }
            octets = rest;
            self.take(*first, each);
        }
    }

    /// The last row may lack its line end.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(&CsvRow)) {
        if self.begun {
            self.end_row(each);
        }
    }

    /// Takes a run of octets that mean nothing but themselves.
    fn run(&mut self, octets: &[u8], plain: fn(u8) -> bool) -> usize {
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

    fn take(&mut self, octet: u8, each: &mut dyn FnMut(&CsvRow)) {
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
            (At::FieldStart, b'"') => {
                self.row.quoted = true;
                self.at = At::Quoted;
            }
            (At::FieldStart | At::Bare | At::Quote, b',') => {
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
