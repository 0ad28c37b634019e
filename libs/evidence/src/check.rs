//! Checker verifies an export line by line, in constant memory.

use crate::line::{Leaf, Line};
use crate::statement::EvidenceHeader;
use crate::{EvidenceError, PublicKey};

/// Verifies an export: first its header, then each line.
#[derive(Debug)]
pub struct Checker {
    header: EvidenceHeader,
    /// The one index that is looked at; nothing: all, in order.
    only: Option<u64>,
    /// Lines so far.
    lines: u64,
    checked: u64,
    erased: u64,
}

/// What was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedExport {
    /// The header, whose signature holds.
    pub header: EvidenceHeader,
    /// Lines that are in the tree.
    pub checked: u64,
    /// Of these, lines of which the hash alone stands.
    pub erased: u64,
}

impl Checker {
    /// Begins with the header. `only`: the index of the one line that matters.
    ///
    /// # Errors
    /// What is wrong with the header or its signature.
    pub fn new(header: &str, key: &PublicKey, only: Option<u64>) -> Result<Checker, EvidenceError> {
        let header = EvidenceHeader::parse(header)?;
        header.check(key)?;
        Ok(Checker { header, only, lines: 0, checked: 0, erased: 0 })
    }

    /// The next line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn line(&mut self, text: &str) -> Result<(), EvidenceError> {
        self.lines += 1;
        let line = self.lines;
        let read = match (Line::parse(text), self.only) {
            (Ok(read), None) => read,
            (Ok(read), Some(only)) if read.index == only => read,
            // It is not the one that matters.
            (_, Some(_)) => return Ok(()),
            (Err(why), None) => return Err(EvidenceError::Line { line, why }),
        };
        if self.only.is_none() && read.index != self.checked {
            return Err(EvidenceError::Order { line, expected: self.checked, found: read.index });
        }
        if !read.is_in(&self.header.statement) {
            return Err(EvidenceError::NotIncluded { line, index: read.index });
        }
        self.checked += 1;
        self.erased += u64::from(matches!(read.leaf, Leaf::Erased(_)));
        Ok(())
    }

    /// After the last line.
    ///
    /// # Errors
    /// [`EvidenceError::Missing`].
    pub fn end(self) -> Result<CheckedExport, EvidenceError> {
        let size = self.header.statement.size;
        let missing = match self.only {
            Some(only) => (self.checked == 0).then_some(only),
            None => (self.checked < size).then_some(self.checked),
        };
        match missing {
            Some(from) => Err(EvidenceError::Missing { from, size }),
            None => Ok(CheckedExport { header: self.header, checked: self.checked, erased: self.erased }),
        }
    }
}
