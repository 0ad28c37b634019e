//! Reading from the files what is no longer in memory.

use super::super::frame::{BATCH_HEADER, BatchHeader, BatchKind, RECORD_HEADER, record_crc, record_header};
use super::super::lock::read;
use super::super::recent_batches::Budget;
use super::file::{LogFile, MARK_OCTETS, Mark};
use super::{Log, failed};
use crate::{BusError, KEY_OCTETS_MAX, RECORD_OCTETS_MAX, Record};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;
use wal::{DiskFile, read_full_at};

/// One read of the disk is at most so many octets, unless a single record is larger.
const READ_OCTETS_MAX: usize = 4 * 1024 * 1024;

impl Log {
    /// Records from `from` on out of one file. The caller has checked that the first is there.
    pub(super) fn read_disk(&self, from: u64, mut budget: Budget) -> Result<Vec<Record>, BusError> {
        let Some((file, end)) = self.file_of(from) else {
            return Ok(Vec::new());
        };
        budget.end = budget.end.min(end);
        let io = |error: std::io::Error| failed(&self.name, "read", &error);
        let handle = match file.open(&self.shared) {
            // Trimmed between the look and the opening: what follows is still there.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && self.low() > from => {
                return Ok(Vec::new());
            }
            handle => handle.map_err(io)?,
        };
        let Some(salt) = file.salt(&*handle).map_err(io)? else {
            let what = format!("{}: the file's header at offset 0 does not read", file.path.display());
            return Err(BusError::Damaged { what });
        };
        let at = file.mark_before(from);
        FileWalk { file: &file, handle: &*handle, salt, name: &self.name, at, noted: at.offset }
            .read(from, budget)
    }

    /// The file a record is in, and the index behind the file's last record (or beyond, for the last file).
    fn file_of(&self, index: u64) -> Option<(Arc<LogFile>, u64)> {
        let files = read(&self.files);
        let at = files.partition_point(|file| file.first <= index).checked_sub(1)?;
        let end = files.get(at + 1).map_or(u64::MAX, |next| next.first);
        Some((files[at].clone(), end))
    }
}

struct FileWalk<'a> {
    file: &'a LogFile,
    handle: &'a dyn DiskFile,
    salt: u64,
    name: &'a str,
    at: Mark,
    /// The offset of the last place that was remembered.
    noted: u64,
}

/// What stands at a place in a buffer.
enum ParsedStep {
    /// A batch's header: on to its first record, or to the next batch if it has none.
    Entered,
    /// A record, with its payload's place in the buffer.
    Passed { payload: Range<usize>, crc: u32 },
    /// The buffer must hold so many octets from the place on.
    Needs(usize),
}

impl FileWalk<'_> {
    fn read(mut self, from: u64, mut budget: Budget) -> Result<Vec<Record>, BusError> {
        let mut out = Vec::new();
        let mut size = budget.octets.saturating_add(MARK_OCTETS as usize * 2).min(READ_OCTETS_MAX);
        while out.is_empty() && self.at.index < budget.end {
            let begin = self.at.offset;
            let mut buffer = vec![0; size];
            let filled = read_full_at(self.handle, &mut buffer, begin)
                .map_err(|error| failed(self.name, "read", &error))?;
            buffer.truncate(filled);
            let buffer = Bytes::from(buffer);
            let needs = self.walk(&buffer, begin, from, &mut budget, &mut out)?;
            if out.is_empty() && self.at.offset == begin {
                if needs <= filled || filled < size {
                    return Err(self.damaged("the file ends"));
                }
                size = needs;
            }
        }
        Ok(out)
    }

    /// Goes through a buffer until it ends or the budget does; says how many octets the next step needs.
    fn walk(
        &mut self,
        buffer: &Bytes,
        begin: u64,
        from: u64,
        budget: &mut Budget,
        out: &mut Vec<Record>,
    ) -> Result<usize, BusError> {
        while self.at.index < budget.end {
            let place = (self.at.offset - begin) as usize;
            if self.at.offset >= self.noted + MARK_OCTETS {
                self.file.note(self.at);
                self.noted = self.at.offset;
            }
            match self.step(&buffer[place.min(buffer.len())..])? {
                ParsedStep::Needs(octets) => return Ok(octets),
                ParsedStep::Entered => {}
                ParsedStep::Passed { payload, crc } => {
                    let (index, len) = (self.at.index, payload.len());
                    if index >= from {
                        if !budget.allows(out, len) {
                            return Ok(0);
                        }
                        let octets = buffer.slice(place + payload.start..place + payload.end);
                        if record_crc(self.salt, index, &octets) != crc {
                            return Err(self.damaged("a record's checksum is wrong"));
                        }
                        budget.take(out, Record { index, octets });
                    }
                    self.at = Mark {
                        index: index + 1,
                        offset: self.at.offset + (RECORD_HEADER + len) as u64,
                        left: self.at.left - 1,
                    };
                }
            }
        }
        Ok(0)
    }

    fn step(&mut self, octets: &[u8]) -> Result<ParsedStep, BusError> {
        if self.at.left == 0 {
            if octets.len() < BATCH_HEADER {
                return Ok(ParsedStep::Needs(BATCH_HEADER));
            }
            let header =
                BatchHeader::decode(octets, self.salt).filter(|header| header.first == self.at.index);
            let Some(header) = header else {
                return Err(self.damaged("no batch begins here"));
            };
            let skip = match header.kind {
                BatchKind::Records => BATCH_HEADER,
                BatchKind::Places => BATCH_HEADER + header.octets as usize,
                BatchKind::Keyed => match record_header(&octets[BATCH_HEADER..]) {
                    None => return Ok(ParsedStep::Needs(BATCH_HEADER + RECORD_HEADER)),
                    Some((len, _)) if len > KEY_OCTETS_MAX => {
                        return Err(self.damaged("a key's length is over the limit"));
                    }
                    Some((len, _)) => BATCH_HEADER + RECORD_HEADER + len,
                },
            };
            self.at = Mark { left: header.records(), offset: self.at.offset + skip as u64, ..self.at };
            return Ok(ParsedStep::Entered);
        }
        let Some((len, crc)) = record_header(octets) else {
            return Ok(ParsedStep::Needs(RECORD_HEADER));
        };
        if len > RECORD_OCTETS_MAX {
            return Err(self.damaged("a record's length is over the limit"));
        }
        let end = RECORD_HEADER + len;
        Ok(if octets.len() < end {
            ParsedStep::Needs(end)
        } else {
            ParsedStep::Passed { payload: RECORD_HEADER..end, crc }
        })
    }

    fn damaged(&self, why: &str) -> BusError {
        let what = format!(
            "{}: {why} at offset {}, record {}",
            self.file.path.display(),
            self.at.offset,
            self.at.index
        );
        BusError::Damaged { what }
    }
}
