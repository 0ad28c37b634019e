//! Appends to one file: lines that are on disk before they count, and never the same id twice.

use super::encode::ids;
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Lines that a process before may have written without an outcome stand in so many octets at the file's end:
/// those of a route's slots, each of at most 16 KiB on the average.
const TAIL_OCTETS: u64 = 1 << 20;

/// A file that is appended to.
pub(super) struct Appender {
    file: File,
    /// Ids of the lines at its end when it was opened, and of those appended since.
    known: HashSet<String>,
}

impl Appender {
    /// Opens the file, or makes it, and reads which ids stand at its end. A line that was cut off by a power
    /// cut is ended.
    ///
    /// # Errors
    /// The file system's.
    pub(super) fn open(path: &Path) -> io::Result<Appender> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_OCTETS)))?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail)?;
        if tail.last().is_some_and(|last| *last != b'\n') {
            file.write_all(b"\n")?;
        }
        Ok(Appender { file, known: ids(&tail).collect() })
    }

    /// Appends those lines whose ids are not there, with one write and one sync.
    ///
    /// # Errors
    /// The file system's; then some of them may be there, and are found by their ids after the file is opened
    /// again.
    pub(super) fn append(&mut self, lines: Vec<(String, Vec<u8>)>) -> io::Result<()> {
        let mut octets = Vec::new();
        for (id, line) in lines {
            if self.known.insert(id) {
                octets.extend_from_slice(&line);
            }
        }
        if octets.is_empty() {
            return Ok(());
        }
        self.file.write_all(&octets)?;
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str) -> (String, Vec<u8>) {
        (id.to_owned(), format!("{{\"id\":\"{id}\"}}\n").into_bytes())
    }

    #[test]
    fn a_line_that_is_there_is_not_written_again_also_by_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive.jsonl");
        let mut first = Appender::open(&path).unwrap();
        first.append(vec![line("a/1"), line("a/2"), line("a/1")]).unwrap();
        drop(first);
        // It was cut off in the middle of a line.
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"id\":\"a/3\",\"te").unwrap();
        let mut second = Appender::open(&path).unwrap();
        second.append(vec![line("a/2"), line("a/3")]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let found: Vec<String> = ids(text.as_bytes()).collect();
        assert_eq!(found, ["a/1", "a/2", "a/3"], "{text}");
    }
}
