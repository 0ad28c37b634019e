//! Octets read from the front of a datagram and written into a buffer that is given. Big-endian.

/// Reads from the front. `None` where the octets end too early.
pub(crate) struct WireReader<'a> {
    octets: &'a [u8],
}

impl<'a> WireReader<'a> {
    pub(crate) fn new(octets: &'a [u8]) -> WireReader<'a> {
        WireReader { octets }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.octets
    }

    pub(crate) fn take(&mut self, octets: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.octets.split_at_checked(octets)?;
        self.octets = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.octets.split_first_chunk()?;
        self.octets = rest;
        Some(*taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[octet]| octet)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }
}

/// Writes into a buffer from its front. `None` where the buffer is full; what was written before stays.
pub(crate) struct WireWriter<'a> {
    buffer: &'a mut [u8],
    written: usize,
}

impl<'a> WireWriter<'a> {
    pub(crate) fn new(buffer: &'a mut [u8]) -> WireWriter<'a> {
        WireWriter { buffer, written: 0 }
    }

    /// Octets written.
    pub(crate) fn written(&self) -> usize {
        self.written
    }

    pub(crate) fn put(&mut self, octets: &[u8]) -> Option<()> {
        let end = self.written.checked_add(octets.len())?;
        self.buffer.get_mut(self.written..end)?.copy_from_slice(octets);
        self.written = end;
        Some(())
    }

    pub(crate) fn put_u32(&mut self, value: u32) -> Option<()> {
        self.put(&value.to_be_bytes())
    }

    /// Replaces two octets written before.
    pub(crate) fn set_u16(&mut self, at: usize, value: u16) {
        if let Some(place) = self.buffer[..self.written].get_mut(at..at + 2) {
            place.copy_from_slice(&value.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_is_full_takes_no_more_and_keeps_what_it_has() {
        let mut buffer = [0; 5];
        let mut writer = WireWriter::new(&mut buffer);
        assert_eq!(writer.put_u32(0x0102_0304), Some(()));
        assert_eq!((writer.put_u32(5), writer.written()), (None, 4));
        writer.set_u16(1, 0x0909);
        assert_eq!(buffer, [1, 9, 9, 4, 0]);
    }

    #[test]
    fn octets_that_end_too_early_give_nothing() {
        let mut reader = WireReader::new(&[1, 2, 3]);
        assert_eq!(
            (reader.u32(), reader.u16(), reader.u16(), reader.u8()),
            (None, Some(0x0102), None, Some(3))
        );
    }
}
