//! A file that is received into: one thread writes, so that no receiver waits for the disk.

use crate::wire::{HEAD, Head};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Octets handed to the writer at a time.
const CHUNK: usize = 256 * 1024;
/// Chunks that may wait for the disk.
const BEHIND: usize = 128;
/// No file that is received into grows beyond this: 1 TiB. An offset from the wire is held to it.
const OFFSET_MAX: u64 = 1 << 40;

/// Neighbouring octets of the file.
struct Chunk {
    offset: u64,
    octets: Vec<u8>,
}

/// The thread that writes.
pub struct Writing {
    thread: std::thread::JoinHandle<io::Result<u64>>,
}

impl Writing {
    /// How it ended: octets written. Call it after the receivers ended.
    pub fn end(self) -> io::Result<u64> {
        self.thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that writes the file panicked")))
    }
}

/// Where one receiver's payload goes.
pub enum Sink {
    /// Nowhere.
    None,
    /// To the thread that writes.
    File(FileSink),
}

/// One receiver's share of the file.
pub struct FileSink {
    to: SyncSender<Chunk>,
    open: Option<Chunk>,
}

impl Sink {
    /// Creates the file anew, for `sinks` receivers.
    pub fn create(path: &Path, sinks: usize) -> io::Result<(Vec<Sink>, Writing)> {
        let file = File::create(path)?;
        let (to, from) = sync_channel(BEHIND);
        let thread =
            std::thread::Builder::new().name("udp-write".to_owned()).spawn(move || write(&file, &from))?;
        let sinks = (0..sinks).map(|_| Sink::File(FileSink { to: to.clone(), open: None })).collect();
        Ok((sinks, Writing { thread }))
    }

    /// Takes a packet's payload; octets that could not be taken since the disk is behind, or that lie beyond
    /// any file.
    pub fn take(&mut self, head: &Head, packet: &[u8]) -> u64 {
        let Sink::File(file) = self else { return 0 };
        // `Head::read` has held `filled` to the packet's length.
        let payload = &packet[HEAD..HEAD + usize::from(head.filled)];
        if head.offset > OFFSET_MAX {
            return payload.len() as u64;
        }
        file.take(head.offset, payload)
    }

    /// Hands over what is still open.
    pub fn finish(&mut self) {
        if let Sink::File(file) = self
            && let Some(chunk) = file.open.take()
        {
            // At the end it may wait for the disk.
            let _ = file.to.send(chunk);
        }
    }
}

impl FileSink {
    fn take(&mut self, offset: u64, payload: &[u8]) -> u64 {
        let mut lost = 0;
        let goes_on = |chunk: &Chunk| {
            chunk.offset + chunk.octets.len() as u64 == offset && chunk.octets.len() + payload.len() <= CHUNK
        };
        if let Some(chunk) = self.open.take_if(|chunk| !goes_on(chunk)) {
            lost = chunk.octets.len() as u64;
            if self.to.try_send(chunk).is_ok() {
                lost = 0;
            }
        }
        let chunk = self.open.get_or_insert_with(|| Chunk { offset, octets: Vec::with_capacity(CHUNK) });
        chunk.octets.extend_from_slice(payload);
        lost
    }
}

fn write(file: &File, from: &Receiver<Chunk>) -> io::Result<u64> {
    let mut written = 0;
    for chunk in from {
        file.write_all_at(&chunk.octets, chunk.offset)?;
        written += chunk.octets.len() as u64;
    }
    file.sync_data()?;
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(offset: u64, filled: u16) -> Head {
        Head { thread: 0, stream: 1, number: 0, sent_ns: 0, offset, gap_ns: 0, filled }
    }

    #[test]
    fn packets_in_any_order_make_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let (mut sinks, writing) = Sink::create(&path, 2).unwrap();
        let mut packet = vec![0; HEAD + 100];
        for (at, part) in [3_u64, 0, 1, 2, 4].into_iter().enumerate() {
            packet[HEAD..].fill(part as u8);
            assert_eq!(sinks[at % 2].take(&head(part * 100, 100), &packet), 0);
        }
        assert_eq!(sinks[0].take(&head(u64::MAX, 100), &packet), 100, "no file is so long");
        sinks.iter_mut().for_each(Sink::finish);
        drop(sinks);
        assert_eq!(writing.end().unwrap(), 500);
        let expected: Vec<u8> = (0..5).flat_map(|part| [part; 100]).collect();
        assert_eq!(std::fs::read(&path).unwrap(), expected);
    }
}
