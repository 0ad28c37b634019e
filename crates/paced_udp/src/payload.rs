//! Payload of packets: filler, or a file; and where it goes.

mod file;
mod sink;

pub use file::{FileFeed, ReaderThread};
pub use sink::{Sink, Writing};

/// What was put into a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filled {
    /// So many octets that belong at `offset`.
    Part { offset: u64, octets: u16 },
    /// Nothing is ready.
    Later,
    /// There is no more.
    End,
}

/// Where payload comes from.
pub enum PayloadSource {
    /// Whatever the packet holds already.
    Blank,
    /// A file, read ahead by a thread of its own.
    File(FileFeed),
}

impl PayloadSource {
    /// Fills a packet's payload.
    pub fn fill(&mut self, payload: &mut [u8]) -> Filled {
        match self {
            PayloadSource::Blank => Filled::Part { offset: 0, octets: 0 },
            PayloadSource::File(file) => file.fill(payload),
        }
    }
}
