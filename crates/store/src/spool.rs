//! Puts records in key order in bounded memory: sorted runs in a file, then one merge over them.
//!
//! What is spooled is nobody's yet and need not survive: the file is neither synced nor logged, and is gone
//! with the process.

use crate::StoreError;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Octets of records in memory before they become a run in the file.
const RUN_OCTETS: usize = 8 * 1024 * 1024;
/// Octets read ahead of each run while merging.
const READ_OCTETS: usize = 32 * 1024;
/// Before each record: the lengths of its key and its value.
const HEAD_OCTETS: usize = 8;

/// A record's key and value.
pub(crate) type SpoolPair = (Vec<u8>, Vec<u8>);

/// Takes records in any order.
pub(crate) struct Spool {
    path: PathBuf,
    octets: Vec<u8>,
    records: Vec<SpoolRecord>,
    file: Option<File>,
    /// Where the runs end.
    runs: Vec<u64>,
}

/// Where a record stands in memory.
#[derive(Clone, Copy)]
struct SpoolRecord {
    start: usize,
    value: usize,
    end: usize,
}

impl SpoolRecord {
    fn key<'a>(&self, octets: &'a [u8]) -> &'a [u8] {
        &octets[self.start..self.value]
    }
    fn value<'a>(&self, octets: &'a [u8]) -> &'a [u8] {
        &octets[self.value..self.end]
    }
}

impl Spool {
    /// A spool whose file, if it comes to that, is made at `path` and at once unlinked.
    pub(crate) fn new(path: PathBuf) -> Spool {
        Spool { path, octets: Vec::new(), records: Vec::new(), file: None, runs: Vec::new() }
    }

    /// Adds a record. Of two with one key the later stays.
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let start = self.octets.len();
        self.octets.extend_from_slice(key);
        self.octets.extend_from_slice(value);
        self.records.push(SpoolRecord { start, value: start + key.len(), end: self.octets.len() });
        if self.octets.len() >= RUN_OCTETS { self.spill() } else { Ok(()) }
    }

    /// All records in key order, each key once.
    pub(crate) fn merge(mut self) -> Result<Merge, StoreError> {
        self.sort();
        let mut heads = BinaryHeap::with_capacity(self.runs.len() + 1);
        let mut sources = Vec::with_capacity(self.runs.len() + 1);
        let mut from = 0;
        for end in &self.runs {
            sources.push(RunSource::File(SortedRun { at: from, end: *end, read: Vec::new(), next: 0 }));
            from = *end;
        }
        sources.push(RunSource::Memory { next: 0 });
        let mut merge = Merge { spool: self, sources, heads: BinaryHeap::new(), last: None };
        for run in 0..merge.sources.len() {
            heads.extend(merge.read(run)?);
        }
        merge.heads = heads;
        Ok(merge)
    }

    /// In key order; of equal keys the one that came last.
    fn sort(&mut self) {
        let octets = &self.octets;
        self.records.sort_by(|a, b| a.key(octets).cmp(b.key(octets)));
        // `dedup_by` keeps the first of equal ones, and the sort is stable: so look from behind.
        self.records.reverse();
        self.records.dedup_by(|a, b| a.key(octets) == b.key(octets));
        self.records.reverse();
    }

    fn spill(&mut self) -> Result<(), StoreError> {
        self.sort();
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(unlinked(&self.path)?),
        };
        let mut end = self.runs.last().copied().unwrap_or(0);
        file.seek(SeekFrom::Start(end)).map_err(|error| failed(&error))?;
        let mut out = BufWriter::with_capacity(READ_OCTETS, file);
        for record in &self.records {
            end += write(&mut out, record.key(&self.octets), record.value(&self.octets))
                .map_err(|error| failed(&error))?;
        }
        out.flush().map_err(|error| failed(&error))?;
        drop(out);
        self.runs.push(end);
        self.records.clear();
        self.octets.clear();
        Ok(())
    }
}

fn unlinked(path: &Path) -> Result<File, StoreError> {
    let open = || {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        std::fs::remove_file(path)?;
        Ok(file)
    };
    open().map_err(|error: std::io::Error| failed(&error))
}

fn write(out: &mut impl Write, key: &[u8], value: &[u8]) -> std::io::Result<u64> {
    let len = |octets: &[u8]| {
        u32::try_from(octets.len()).map_err(|_| std::io::Error::other("a record is too long"))
    };
    out.write_all(&len(key)?.to_le_bytes())?;
    out.write_all(&len(value)?.to_le_bytes())?;
    out.write_all(key)?;
    out.write_all(value)?;
    Ok((HEAD_OCTETS + key.len() + value.len()) as u64)
}

fn failed(error: &std::io::Error) -> StoreError {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => StoreError::DiskFull,
        _ => StoreError::Database { why: format!("cannot spool an import: {error}") },
    }
}

/// The merge over all runs.
pub(crate) struct Merge {
    spool: Spool,
    sources: Vec<RunSource>,
    heads: BinaryHeap<SpoolHead>,
    last: Option<Vec<u8>>,
}

enum RunSource {
    File(SortedRun),
    Memory { next: usize },
}

/// A run in the file, read from its front.
struct SortedRun {
    /// What is not read yet.
    at: u64,
    end: u64,
    read: Vec<u8>,
    next: usize,
}

/// The first record of a run that was not given yet.
#[derive(PartialEq, Eq)]
struct SpoolHead {
    key: Vec<u8>,
    value: Vec<u8>,
    run: usize,
}

impl Ord for SpoolHead {
    /// The greatest is the next to be given: the smallest key, of equal keys the latest run.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key).then(self.run.cmp(&other.run))
    }
}
impl PartialOrd for SpoolHead {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Merge {
    /// The next record's key and value.
    pub(crate) fn next(&mut self) -> Result<Option<SpoolPair>, StoreError> {
        while let Some(head) = self.heads.pop() {
            let next = self.read(head.run)?;
            self.heads.extend(next);
            if self.last.as_ref() != Some(&head.key) {
                self.last = Some(head.key.clone());
                return Ok(Some((head.key, head.value)));
            }
        }
        Ok(None)
    }

    fn read(&mut self, run: usize) -> Result<Option<SpoolHead>, StoreError> {
        match (&mut self.sources[run], &self.spool.file) {
            (RunSource::Memory { next }, _) => {
                let Some(record) = self.spool.records.get(*next) else { return Ok(None) };
                *next += 1;
                let octets = &self.spool.octets;
                Ok(Some(SpoolHead {
                    key: record.key(octets).to_vec(),
                    value: record.value(octets).to_vec(),
                    run,
                }))
            }
            (RunSource::File(from), Some(file)) => {
                let record = from.record(file).map_err(|error| failed(&error))?;
                Ok(record.map(|(key, value)| SpoolHead { key, value, run }))
            }
            (RunSource::File(_), None) => Ok(None),
        }
    }
}

impl SortedRun {
    fn record(&mut self, file: &File) -> std::io::Result<Option<SpoolPair>> {
        if self.next == self.read.len() && self.at == self.end {
            return Ok(None);
        }
        let (mut key_len, mut value_len) = ([0; 4], [0; 4]);
        let head = self.take(file, HEAD_OCTETS)?;
        (&head[..4]).read_exact(&mut key_len)?;
        (&head[4..]).read_exact(&mut value_len)?;
        let len = |octets| usize::try_from(u32::from_le_bytes(octets)).map_err(std::io::Error::other);
        let key = self.take(file, len(key_len)?)?.to_vec();
        let value = self.take(file, len(value_len)?)?.to_vec();
        Ok(Some((key, value)))
    }

    /// The next `len` octets.
    fn take(&mut self, file: &File, len: usize) -> std::io::Result<&[u8]> {
        if self.read.len() - self.next < len {
            self.read.drain(..self.next);
            self.next = 0;
            let before = self.read.len();
            let left = usize::try_from(self.end - self.at).map_err(std::io::Error::other)?;
            let more = (len - before).max(READ_OCTETS).min(left);
            self.read.resize(before + more, 0);
            file.read_exact_at(&mut self.read[before..], self.at)?;
            self.at += more as u64;
        }
        let octets = self.read.get(self.next..self.next + len).ok_or(std::io::ErrorKind::UnexpectedEof)?;
        self.next += len;
        Ok(octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn records_come_out_in_key_order_and_the_later_of_two_stays() {
        let folder = tempfile::tempdir().unwrap();
        // Values of 20 KB make runs of about 400 records; the last of these counts leaves one in memory.
        for (count, value_octets) in [(0_u64, 1), (1, 1), (100, 10), (3_000, 20_000)] {
            let mut spool = Spool::new(folder.path().join("spool"));
            let mut expected = BTreeMap::new();
            for n in 0..count {
                let key = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % (count / 2 + 1);
                let key = format!("k{key}").into_bytes();
                let value = [n.to_le_bytes().as_slice(), &vec![7; value_octets]].concat();
                spool.push(&key, &value).unwrap();
                expected.insert(key, value);
            }
            assert_eq!(spool.runs.len() > 3, count == 3_000);
            let mut merge = spool.merge().unwrap();
            let mut found = Vec::new();
            while let Some(record) = merge.next().unwrap() {
                found.push(record);
            }
            assert!(found.is_sorted_by(|a, b| a.0 < b.0));
            assert_eq!(BTreeMap::from_iter(found), expected);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file is unlinked");
    }

    #[test]
    fn a_spool_that_cannot_be_written_says_so() {
        let mut spool = Spool::new(PathBuf::from("/nowhere/spool"));
        let refused = (0..3).map(|n| spool.push(&[n], &vec![0; RUN_OCTETS / 2])).find(Result::is_err);
        assert!(matches!(refused, Some(Err(StoreError::Database { .. }))), "{refused:?}");
    }
}
