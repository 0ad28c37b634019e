use super::super::frame::{FILE_HEADER, FileHeader, RECORD_HEADER};
use super::super::lock::lock;
use super::super::shared::SharedLogs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use wal::DiskFile;

/// Places in a file are remembered at most so densely: one read finds any record from the nearest.
pub(in super::super) const MARK_OCTETS: u64 = 32 * 1024;

/// Digits of a file's name: its first index.
const NAME_DIGITS: usize = 20;
const NAME_END: &str = ".log";

/// One file of a log.
pub(in super::super) struct LogFile {
    /// Index of its first record.
    pub first: u64,
    pub path: PathBuf,
    log: u64,
    salt: OnceLock<u64>,
    marks: Mutex<Vec<Mark>>,
    begun: OnceLock<Since>,
    ended: OnceLock<Since>,
    /// Of one that takes no more.
    octets: OnceLock<u64>,
}

/// A moment, by a clock that may not reach back so far.
#[derive(Debug, Clone, Copy)]
struct Since {
    seen: Instant,
    /// It was so long before.
    before: Duration,
}

impl Since {
    fn now(seen: Instant) -> Since {
        Since { seen, before: Duration::ZERO }
    }

    fn ago(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.seen) + self.before
    }
}

/// A place in a file. With `left` at 0 a batch's header stands there, else a record's frame with so many
/// records of its batch from there on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Mark {
    pub index: u64,
    pub offset: u64,
    pub left: u32,
}

impl Mark {
    /// The begin of a file whose first index is `first`.
    pub fn begin(first: u64) -> Mark {
        Mark { index: first, offset: FILE_HEADER as u64, left: 0 }
    }
}

impl LogFile {
    pub fn new(log: u64, folder: &Path, first: u64) -> LogFile {
        let path = folder.join(file_name(first));
        LogFile {
            first,
            path,
            log,
            salt: OnceLock::new(),
            marks: Mutex::default(),
            begun: OnceLock::new(),
            ended: OnceLock::new(),
            octets: OnceLock::new(),
        }
    }

    pub fn with_begin(self, now: Instant) -> LogFile {
        LogFile { begun: OnceLock::from(Since::now(now)), ..self }
    }

    /// It takes no more.
    pub fn end(&self, now: Instant, octets: u64) {
        self.ended.get_or_init(|| Since::now(now));
        self.octets.get_or_init(|| octets);
    }

    /// How long ago it was begun; of one that was found, how long ago it was written to.
    pub fn begun_before(&self, shared: &SharedLogs) -> io::Result<Duration> {
        self.since(&self.begun, shared)
    }

    /// How long ago the last record was written, of a file that takes no more.
    pub fn ended_before(&self, shared: &SharedLogs) -> io::Result<Duration> {
        self.since(&self.ended, shared)
    }

    fn since(&self, moment: &OnceLock<Since>, shared: &SharedLogs) -> io::Result<Duration> {
        let now = shared.clock.now();
        if let Some(since) = moment.get() {
            return Ok(since.ago(now));
        }
        let before = shared.disk.written_before(&self.path)?;
        Ok(moment.get_or_init(|| Since { seen: now, before }).ago(now))
    }

    /// Its octets, of a file that takes no more.
    pub fn octets(&self, shared: &SharedLogs) -> io::Result<u64> {
        if let Some(octets) = self.octets.get() {
            return Ok(*octets);
        }
        let octets = self.open(shared)?.octets()?;
        Ok(*self.octets.get_or_init(|| octets))
    }

    pub fn with_salt(self, salt: u64) -> LogFile {
        LogFile { salt: OnceLock::from(salt), ..self }
    }

    pub fn with_marks(self, marks: Vec<Mark>) -> LogFile {
        LogFile { marks: Mutex::new(marks), ..self }
    }

    /// Opens it, or takes the handle that is open.
    pub fn open(&self, shared: &SharedLogs) -> io::Result<Arc<dyn DiskFile>> {
        shared.handles.file((self.log, self.first), || shared.disk.open(&self.path))
    }

    /// Keeps a handle open for the next who asks.
    pub fn keep(&self, shared: &SharedLogs, file: Arc<dyn DiskFile>) {
        shared.handles.keep((self.log, self.first), file);
    }

    /// Closes and removes it.
    pub fn remove(&self, shared: &SharedLogs) -> io::Result<()> {
        shared.handles.forget((self.log, self.first));
        shared.disk.remove_file(&self.path)
    }

    /// The salt of its checksums; nothing if its header is damaged.
    pub fn salt(&self, file: &dyn DiskFile) -> io::Result<Option<u64>> {
        if let Some(salt) = self.salt.get() {
            return Ok(Some(*salt));
        }
        let mut octets = [0; FILE_HEADER];
        wal::read_full_at(file, &mut octets, 0)?;
        let header = FileHeader::decode(&octets).filter(|header| header.first == self.first);
        Ok(header.map(|header| *self.salt.get_or_init(|| header.salt)))
    }

    /// Its header says that a key stands in a file before it.
    pub fn has_keys_before(&self, file: &dyn DiskFile) -> io::Result<bool> {
        let mut octets = [0; FILE_HEADER];
        wal::read_full_at(file, &mut octets, 0)?;
        Ok(FileHeader::decode(&octets).is_some_and(|header| header.keys_before))
    }

    /// The last known place at or before a record.
    pub fn mark_before(&self, index: u64) -> Mark {
        let marks = lock(&self.marks);
        match marks.partition_point(|mark| mark.index <= index) {
            0 => Mark::begin(self.first),
            after => marks[after - 1],
        }
    }

    /// Forgets places from an offset on: what stood there was taken back.
    pub fn forget_marks(&self, offset: u64) {
        lock(&self.marks).retain(|mark| mark.offset < offset);
    }

    /// Remembers a place if it is far enough from the last one.
    pub fn note(&self, mark: Mark) {
        note(&mut lock(&self.marks), mark);
    }

    /// Remembers places in a batch that stands at `offset`, its first record `skip` octets behind.
    pub fn note_batch(&self, first: u64, offset: u64, skip: usize, records: &[&[u8]]) {
        let mut marks = lock(&self.marks);
        note(&mut marks, Mark { index: first, offset, left: 0 });
        let mut at = offset + skip as u64;
        for (done, record) in records.iter().enumerate() {
            let left = (records.len() - done) as u32;
            note(&mut marks, Mark { index: first + done as u64, offset: at, left });
            at += (RECORD_HEADER + record.len()) as u64;
        }
    }
}

/// Adds a place behind the last one if it is far enough from it.
pub(in super::super) fn note(marks: &mut Vec<Mark>, mark: Mark) {
    let last = marks.last().map_or(FILE_HEADER as u64, |last| last.offset);
    if mark.offset >= last + MARK_OCTETS {
        marks.push(mark);
    }
}

/// A file's name.
pub(in super::super) fn file_name(first: u64) -> String {
    format!("{first:0NAME_DIGITS$}{NAME_END}")
}

/// The first index in a file's name; nothing if it is no name of ours.
pub(in super::super) fn first_of_name(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(NAME_END)?;
    let well_formed = digits.len() == NAME_DIGITS && digits.bytes().all(|octet| octet.is_ascii_digit());
    if well_formed { digits.parse().ok() } else { None }
}
