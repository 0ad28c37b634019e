//! Output queue that counts the octets written over the life of a connection.

/// Octets that wait to be written before no further transaction is taken: the peer reads slower than the
/// client writes. One message may go beyond.
pub const OUTBOX_OCTETS_MAX: usize = 512 * 1024;
/// A buffer that grew beyond this is given back once it is empty.
const OUTBOX_OCTETS_KEPT: usize = 1024 * 1024;

/// A queue of octets with absolute places: the first octet ever pushed has place 0.
#[derive(Debug, Default)]
pub struct Outbox {
    octets: Vec<u8>,
    /// How many of `octets` were written.
    start: usize,
    /// How many were written before `octets[0]`.
    base: u64,
}

impl Outbox {
    /// What is to be written next.
    pub fn pending(&self) -> &[u8] {
        &self.octets[self.start..]
    }

    /// So many of the pending octets were written.
    ///
    /// # Panics
    /// If that is more than there are: the caller counts wrong, and every later classification would be.
    pub fn sent(&mut self, octets: usize) {
        assert!(octets <= self.pending().len(), "more octets reported as written than were pending");
        self.start += octets;
        if self.start == self.octets.len() {
            self.base += self.octets.len() as u64;
            self.start = 0;
            self.octets.clear();
            self.octets.shrink_to(OUTBOX_OCTETS_KEPT);
        }
    }

    /// The place behind the last octet pushed.
    pub fn end(&self) -> u64 {
        self.base + self.octets.len() as u64
    }

    /// The place behind the last octet written.
    pub fn written(&self) -> u64 {
        self.base + self.start as u64
    }

    /// There is room for more commands.
    pub fn has_room(&self) -> bool {
        self.pending().len() < OUTBOX_OCTETS_MAX
    }

    /// Adds octets.
    pub fn push(&mut self, octets: &[u8]) {
        self.octets.extend_from_slice(octets);
    }

    /// Adds what `write` appends.
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.octets);
    }

    /// Drops what was not written: the connection is gone.
    pub fn abandon(&mut self) {
        self.octets.truncate(self.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_absolute_over_partial_writes() {
        let mut outbox = Outbox::default();
        outbox.push(b"hello");
        assert_eq!((outbox.end(), outbox.written()), (5, 0));
        outbox.sent(2);
        assert_eq!((outbox.pending(), outbox.end(), outbox.written()), (&b"llo"[..], 5, 2));
        outbox.push(b"!");
        outbox.sent(4);
        assert_eq!((outbox.pending(), outbox.end(), outbox.written()), (&b""[..], 6, 6));
        outbox.push(b"again");
        outbox.sent(1);
        outbox.abandon();
        assert_eq!((outbox.pending(), outbox.end(), outbox.written()), (&b""[..], 7, 7));
    }
}
