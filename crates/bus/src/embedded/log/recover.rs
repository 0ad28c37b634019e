//! Recovery reads a log's folder after a stop of any kind: everything that was promised, and no torn tail.

use super::super::frame::{
    BATCH_HEADER, BATCH_MAGICS, BatchHeader, BatchKind, FILE_HEADER, FileHeader, RECORD_HEADER, decode_place,
    record_header,
};
use super::super::shared::SharedLogs;
use super::super::window::FileWindow;
use super::file::{LogFile, Mark, first_of_name, note};
use super::keys::Mention;
use crate::{BusError, RECORD_OCTETS_MAX};
use std::io;
use std::path::Path;
use std::sync::Arc;
use wal::DiskFile;

/// Files are read in pieces of so many octets.
const SCAN_OCTETS: usize = 256 * 1024;
/// Stands for the durable index of a file whose header does not read: higher than any index.
const HEADER_DAMAGED: u64 = u64::MAX;

/// A log as found.
pub(super) struct Recovered {
    /// In order; the last takes the next append.
    pub files: Vec<Arc<LogFile>>,
    /// The index of the next record.
    pub next: u64,
    /// Where in the last file it goes.
    pub offset: u64,
    /// A key stands in it, or did.
    pub has_keys: bool,
}

/// Looks at a log's folder, cuts a torn tail, and syncs what stays: from here on all of it is durable.
pub(super) fn recover(
    shared: &SharedLogs,
    log: u64,
    name: &str,
    folder: &Path,
) -> Result<Recovered, BusError> {
    let io =
        |error: io::Error| BusError::Io { topic: name.to_owned(), why: format!("recovery failed: {error}") };
    let mut firsts: Vec<u64> =
        shared.disk.list(folder).map_err(io)?.iter().filter_map(|found| first_of_name(&found.name)).collect();
    firsts.sort_unstable();
    let mut files: Vec<LogFile> = firsts.iter().map(|&first| LogFile::new(log, folder, first)).collect();

    let mut scans: Vec<Scan> = Vec::new();
    let mut durable = 0;
    // Backwards until the files themselves say that all before was synced.
    while let Some(at) = files.len().checked_sub(scans.len() + 1) {
        let file = files[at].open(shared).map_err(io)?;
        let scan = scan(&*file, files[at].first).map_err(io)?;
        durable = durable.max(scan.durable);
        // One that was begun and never written is not where the log ends.
        let is_blank = !scan.header && !scan.torn;
        scans.push(scan);
        if durable >= files[at].first && !is_blank {
            break;
        }
    }
    scans.reverse();
    let whole = files.len() - scans.len();
    let Some(cut) = find_end(&files[whole..], &scans) else {
        return Ok(Recovered { files: Vec::new(), next: 0, offset: 0, has_keys: false });
    };
    refuse_damage(&files[whole + cut.file], &cut, durable)?;
    let kept = cut_tail(shared, &files, whole, &cut, folder).map_err(io)?;
    files.truncate(kept);
    sync_all(shared, &files[whole.min(kept)..], folder).map_err(io)?;
    let has_keys = scans.iter().any(|scan| scan.has_keys);
    let mut scans = scans.into_iter();
    let files = files
        .into_iter()
        .enumerate()
        .map(|(at, file)| match if at < whole { None } else { scans.next() } {
            Some(scan) => Arc::new(file.with_marks(scan.marks)),
            None => Arc::new(file),
        })
        .collect();
    Ok(Recovered { files, next: cut.next, offset: cut.offset, has_keys })
}

/// Where the log ends: in which of the scanned files, at what offset, with what index.
struct LogEnd {
    file: usize,
    offset: u64,
    next: u64,
    torn: bool,
}

/// The end by what the scanned files hold; nothing if there is none.
fn find_end(files: &[LogFile], scans: &[Scan]) -> Option<LogEnd> {
    let mut end: Option<LogEnd> = None;
    for (file, scan) in scans.iter().enumerate() {
        let first = files[file].first;
        if let Some(before) = &end
            && before.next != first
        {
            break;
        }
        if !scan.header && file > 0 {
            // Begun and never written: the one before takes the next append.
            break;
        }
        end = Some(LogEnd { file, offset: scan.offset, next: scan.next, torn: scan.torn });
    }
    end
}

/// An end below what was safe on disk is no torn tail.
fn refuse_damage(file: &LogFile, end: &LogEnd, durable: u64) -> Result<(), BusError> {
    let path = file.path.display();
    let (offset, next) = (end.offset, end.next);
    let what = if durable == HEADER_DAMAGED || (offset == 0 && next > 0 && end.file == 0) {
        format!("{path}: the file's header at offset 0 does not read")
    } else if durable > next {
        format!(
            "{path}: octets from offset {offset} on do not read as record {next}, but records below {durable} were safe on disk"
        )
    } else {
        return Ok(());
    };
    Err(BusError::Damaged { what })
}

/// What a stopped process had only written becomes durable before anyone reads it.
fn sync_all(shared: &SharedLogs, files: &[LogFile], folder: &Path) -> io::Result<()> {
    for file in files {
        file.open(shared)?.sync()?;
    }
    shared.disk.sync_folder(folder)?;
    folder.parent().map_or(Ok(()), |parent| shared.disk.sync_folder(parent))
}

/// Removes what stands behind the end; says how many files stay.
fn cut_tail(
    shared: &SharedLogs,
    files: &[LogFile],
    whole: usize,
    end: &LogEnd,
    folder: &Path,
) -> io::Result<usize> {
    let last = whole + end.file;
    // The highest goes first, so that a crash in between leaves no gap.
    for file in files[last + 1..].iter().rev() {
        tracing::warn!(file = %file.path.display(), "A file behind the log's end was never acknowledged and is removed.");
        file.remove(shared)?;
    }
    if end.offset == 0 {
        files[last].remove(shared)?;
        shared.disk.sync_folder(folder)?;
        return Ok(last);
    }
    let file = files[last].open(shared)?;
    if file.octets()? > end.offset {
        if end.torn {
            tracing::warn!(file = %files[last].path.display(), offset = end.offset, next = end.next, "The log ends with a record that was half written and never acknowledged: it is cut.");
        }
        file.set_len(end.offset)?;
    }
    if last + 1 < files.len() {
        shared.disk.sync_folder(folder)?;
    }
    Ok(last + 1)
}

/// What one file holds.
struct Scan {
    /// Its own header is there.
    header: bool,
    /// Index behind the last whole batch.
    next: u64,
    /// Offset behind it; 0 without a header.
    offset: u64,
    /// The highest durable index that any header in it vouches for, also behind the last whole batch.
    durable: u64,
    /// Something that is not zeros stands behind the last whole batch.
    torn: bool,
    /// Places, for reading.
    marks: Vec<Mark>,
    /// A key stands in it or in a file before it.
    has_keys: bool,
}

fn scan(file: &dyn DiskFile, first: u64) -> io::Result<Scan> {
    let mut window = FileWindow::new(file, SCAN_OCTETS)?;
    let head = window.octets(0, FILE_HEADER)?;
    let Some(header) = FileHeader::decode(head).filter(|header| header.first == first) else {
        let blank = head.len() < FILE_HEADER || head.iter().all(|octet| *octet == 0);
        // A header that is neither whole nor missing is damage: its file was in use.
        let durable = if blank { 0 } else { HEADER_DAMAGED };
        return Ok(Scan {
            header: false,
            next: first,
            offset: 0,
            durable,
            torn: !blank,
            marks: Vec::new(),
            has_keys: false,
        });
    };
    let mut scan = Scan {
        header: true,
        next: first,
        offset: FILE_HEADER as u64,
        durable: header.durable,
        torn: false,
        marks: Vec::new(),
        has_keys: header.keys_before,
    };
    while let Some(batch) = whole_batch(&mut window, header.salt, &mut scan)? {
        scan.durable = scan.durable.max(batch.durable);
        scan.has_keys |= batch.kind != BatchKind::Records;
        scan.next += u64::from(batch.records());
        scan.offset += (BATCH_HEADER + batch.octets as usize) as u64;
    }
    let end = scan.offset;
    scan.marks.retain(|mark| mark.offset < end);
    look_behind(&mut window, header.salt, &mut scan)?;
    Ok(scan)
}

/// The batch at the scan's offset, if all of it is there.
fn whole_batch(window: &mut FileWindow<'_>, salt: u64, scan: &mut Scan) -> io::Result<Option<BatchHeader>> {
    let Some(batch) = BatchHeader::decode(window.octets(scan.offset, BATCH_HEADER)?, salt) else {
        return Ok(None);
    };
    if batch.first != scan.next {
        return Ok(None);
    }
    note(&mut scan.marks, Mark { index: batch.first, offset: scan.offset, left: 0 });
    let mut at = scan.offset + BATCH_HEADER as u64;
    let end = at + u64::from(batch.octets);
    let before = batch.frames() - u64::from(batch.records());
    for frame in 0..batch.frames() {
        let Some((len, crc)) = record_header(window.octets(at, RECORD_HEADER)?) else {
            return Ok(None);
        };
        let payload_at = at + RECORD_HEADER as u64;
        if len > RECORD_OCTETS_MAX || payload_at + len as u64 > end {
            return Ok(None);
        }
        let payload = window.octets(payload_at, len)?;
        if payload.len() < len || batch.frame_crc(salt, frame, payload) != crc {
            return Ok(None);
        }
        if let Some(done) = frame.checked_sub(before) {
            let left = batch.count - done as u32;
            note(&mut scan.marks, Mark { index: batch.first + done, offset: at, left });
        }
        at = payload_at + len as u64;
    }
    Ok((at == end).then_some(batch))
}

/// Goes through what stands behind the last whole batch: later headers tell whether it had been safe.
fn look_behind(window: &mut FileWindow<'_>, salt: u64, scan: &mut Scan) -> io::Result<()> {
    let mut at = scan.offset;
    loop {
        let octets = window.octets(at, SCAN_OCTETS)?;
        scan.torn |= octets.iter().any(|octet| *octet != 0);
        let len = octets.len();
        for place in 0..len.saturating_sub(BATCH_HEADER - 1) {
            if octets[place..place + 3] == BATCH_MAGICS
                && let Some(header) = BatchHeader::decode(&octets[place..], salt)
            {
                scan.durable = scan.durable.max(header.durable);
            }
        }
        if len < SCAN_OCTETS {
            return Ok(());
        }
        // A header may lie across the pieces.
        at += (len - (BATCH_HEADER - 1)) as u64;
    }
}

/// The keys that a file mentions up to `end` octets, in the order they stand there. The file is whole.
pub(super) fn keys_of(file: &dyn DiskFile, log_file: &LogFile, end: u64) -> io::Result<Vec<Mention>> {
    let mut mentions = Vec::new();
    let Some(salt) = log_file.salt(file)? else {
        return Ok(mentions);
    };
    let mut window = FileWindow::new(file, SCAN_OCTETS)?;
    let mut offset = FILE_HEADER as u64;
    while offset < end {
        let Some(batch) = BatchHeader::decode(window.octets(offset, BATCH_HEADER)?, salt) else {
            break;
        };
        let mut at = offset + BATCH_HEADER as u64;
        let frames = match batch.kind {
            BatchKind::Records => 0,
            BatchKind::Keyed => 1,
            BatchKind::Places => batch.frames(),
        };
        for frame in 0..frames {
            let Some((len, crc)) = record_header(window.octets(at, RECORD_HEADER)?) else {
                return Ok(mentions);
            };
            let payload_at = at + RECORD_HEADER as u64;
            let payload = window.octets(payload_at, len.min(RECORD_OCTETS_MAX))?;
            if payload.len() == len && batch.frame_crc(salt, frame, payload) == crc {
                let (first, end, key) = match batch.kind {
                    BatchKind::Places => decode_place(payload).unwrap_or((0, 0, &[])),
                    _ => (batch.first, batch.first + u64::from(batch.count), payload),
                };
                mentions.push(Mention { key: key.into(), first, end, file: log_file.first });
            }
            at = payload_at + len as u64;
        }
        offset += BATCH_HEADER as u64 + u64::from(batch.octets);
    }
    Ok(mentions)
}
