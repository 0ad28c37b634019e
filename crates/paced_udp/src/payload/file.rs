//! A file that is sent: one thread reads ahead, so that no sender waits for the disk.

use super::Filled;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Octets read at a time.
const CHUNK: usize = 256 * 1024;
/// Chunks read ahead.
const AHEAD: usize = 32;

/// A part of the file.
struct Chunk {
    offset: u64,
    octets: Vec<u8>,
}

/// The thread that reads.
pub struct ReaderThread {
    thread: std::thread::JoinHandle<io::Result<()>>,
}

impl ReaderThread {
    /// How it ended; call it after the senders ended.
    pub fn end(self) -> io::Result<()> {
        self.thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that reads the file panicked")))
    }
}

/// One sender's share of the file: it takes whichever chunk is next.
pub struct FileFeed {
    chunks: Arc<Mutex<Receiver<Chunk>>>,
    chunk: Option<Chunk>,
    at: usize,
    is_over: bool,
}

impl FileFeed {
    /// Begins to read `path`, from its start to its end, for `feeds` senders.
    pub fn open(path: &Path, feeds: usize) -> io::Result<(Vec<FileFeed>, ReaderThread)> {
        let file = File::open(path)?;
        let (to, from) = sync_channel(AHEAD);
        let thread =
            std::thread::Builder::new().name("udp-read".to_owned()).spawn(move || read(&file, &to))?;
        let chunks = Arc::new(Mutex::new(from));
        let feed = || FileFeed { chunks: chunks.clone(), chunk: None, at: 0, is_over: false };
        Ok(((0..feeds).map(|_| feed()).collect(), ReaderThread { thread }))
    }

    pub(super) fn fill(&mut self, payload: &mut [u8]) -> Filled {
        if self.chunk.is_none() && !self.is_over {
            // Once for 256 KiB: the lock is not on the way of each packet.
            match self.chunks.lock().unwrap_or_else(PoisonError::into_inner).try_recv() {
                Ok(chunk) => {
                    self.chunk = Some(chunk);
                    self.at = 0;
                }
                Err(TryRecvError::Empty) => return Filled::Later,
                Err(TryRecvError::Disconnected) => self.is_over = true,
            }
        }
        let Some(chunk) = &self.chunk else { return Filled::End };
        let part = &chunk.octets[self.at..];
        let octets = part.len().min(payload.len());
        payload[..octets].copy_from_slice(&part[..octets]);
        let offset = chunk.offset + self.at as u64;
        self.at += octets;
        if self.at == chunk.octets.len() {
            self.chunk = None;
        }
        Filled::Part { offset, octets: octets as u16 }
    }
}

fn read(file: &File, to: &SyncSender<Chunk>) -> io::Result<()> {
    let mut offset = 0;
    loop {
        let mut octets = vec![0; CHUNK];
        let mut filled = 0;
        while filled < CHUNK {
            match file.read_at(&mut octets[filled..], offset + filled as u64)? {
                0 => break,
                more => filled += more,
            }
        }
        octets.truncate(filled);
        // Whoever would send it may have ended.
        if filled == 0 || to.send(Chunk { offset, octets }).is_err() {
            return Ok(());
        }
        offset += filled as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_senders_together_carry_the_whole_file_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let whole: Vec<u8> = (0..1_000_003_u32).map(|at| (at % 251) as u8).collect();
        std::fs::write(&path, &whole).unwrap();
        let (mut feeds, reading) = FileFeed::open(&path, 3).unwrap();
        let mut came = vec![0; whole.len()];
        let (mut total, mut over) = (0, [false; 3]);
        while over != [true; 3] {
            for (feed, over) in feeds.iter_mut().zip(&mut over) {
                let mut payload = [0; 1432];
                match feed.fill(&mut payload) {
                    Filled::Part { offset, octets } => {
                        let (offset, octets) = (offset as usize, usize::from(octets));
                        came[offset..offset + octets].copy_from_slice(&payload[..octets]);
                        total += octets;
                    }
                    Filled::Later => std::thread::yield_now(),
                    Filled::End => *over = true,
                }
            }
        }
        reading.end().unwrap();
        assert_eq!((total, came == whole), (whole.len(), true));
    }

    #[test]
    fn an_absent_file_is_said_at_once() {
        assert!(FileFeed::open(Path::new("/nowhere/at/all"), 1).is_err());
    }
}
