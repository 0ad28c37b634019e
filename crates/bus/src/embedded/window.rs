//! A moving window over a file: sequential parsing without a system call per record.

use std::io;
use wal::{DiskFile, read_full_at};

/// Octets in memory, and where they stand in the file.
pub(super) struct FileWindow<'a> {
    file: &'a dyn DiskFile,
    octets: Vec<u8>,
    at: u64,
    ahead: usize,
    /// The file's octets.
    size: u64,
}

impl<'a> FileWindow<'a> {
    /// Reads `ahead` octets at a time, more where more is asked for. The file does not grow meanwhile.
    pub fn new(file: &'a dyn DiskFile, ahead: usize) -> io::Result<FileWindow<'a>> {
        Ok(FileWindow { file, octets: Vec::new(), at: 0, ahead, size: file.octets()? })
    }

    /// `len` octets from `offset`, fewer where the file ends.
    pub fn octets(&mut self, offset: u64, len: usize) -> io::Result<&[u8]> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = len.min(left);
        let end = self.at + self.octets.len() as u64;
        if offset < self.at || offset + len as u64 > end {
            self.octets.resize(len.max(self.ahead.min(left)), 0);
            let filled = read_full_at(self.file, &mut self.octets, offset)?;
            self.octets.truncate(filled);
            self.at = offset;
        }
        let from = (offset - self.at) as usize;
        let to = self.octets.len().min(from + len);
        Ok(&self.octets[from..to])
    }
}
