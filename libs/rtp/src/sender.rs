//! Numbers of a stream that is sent: sequence, timestamp, marker, counts for sender reports.

use crate::packet::{RtpPacket, RtpPacketError};

/// First values of a stream. RFC 3550 section 5.1 wants them random; the caller draws them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RtpSenderOptions {
    /// Payload type of the sound, as negotiated: 0 for PCMU, 8 for PCMA.
    pub payload_type: u8,
    /// Synchronisation source.
    pub ssrc: u32,
    /// Sequence number of the first packet.
    pub sequence: u16,
    /// Timestamp of the first sample.
    pub timestamp: u32,
}

/// One stream to a peer. The timestamp counts samples, sent or not; the sequence number counts packets.
#[derive(Debug, Clone)]
pub struct RtpSender {
    options: RtpSenderOptions,
    /// The last sound was sent: the next is no start of a talkspurt.
    is_talking: bool,
    packets: u32,
    payload_octets: u32,
}

impl RtpSender {
    /// A stream of which nothing was sent.
    pub fn new(options: RtpSenderOptions) -> RtpSender {
        RtpSender { options, is_talking: false, packets: 0, payload_octets: 0 }
    }

    /// The synchronisation source.
    pub fn ssrc(&self) -> u32 {
        self.options.ssrc
    }

    /// Timestamp of the next sample.
    pub fn timestamp(&self) -> u32 {
        self.options.timestamp
    }

    /// Packets sent, modulo 2³² (RFC 3550 section 6.4.1).
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Octets of payload sent, modulo 2³².
    pub fn payload_octets(&self) -> u32 {
        self.payload_octets
    }

    /// Writes sound, an octet a sample, and advances by it. The first after a silence has the marker
    /// (RFC 3551 section 4.1). Gives the packet's octets.
    ///
    /// # Errors
    /// The buffer is too small: nothing was counted.
    pub fn write_sound(&mut self, payload: &[u8], out: &mut [u8]) -> Result<usize, RtpPacketError> {
        let (payload_type, timestamp) = (self.options.payload_type, self.options.timestamp);
        let octets = self.write_at(payload_type, !self.is_talking, timestamp, payload, out)?;
        self.is_talking = true;
        // A payload that fits a datagram fits.
        self.options.timestamp = timestamp.wrapping_add(payload.len() as u32);
        Ok(octets)
    }

    /// Time passes of which no sound is sent: silence, or a telephone-event that [`write_at`](Self::write_at)
    /// sends in its place.
    pub fn skip(&mut self, samples: u32) {
        self.options.timestamp = self.options.timestamp.wrapping_add(samples);
        self.is_talking = false;
    }

    /// Writes any payload with a timestamp of its own, as telephone-events have (RFC 4733 section 2.2).
    /// Advances the sequence number alone. Gives the packet's octets.
    ///
    /// # Errors
    /// The buffer is too small, the payload type is over its limit: nothing was counted.
    pub fn write_at(
        &mut self,
        payload_type: u8,
        marker: bool,
        timestamp: u32,
        payload: &[u8],
        out: &mut [u8],
    ) -> Result<usize, RtpPacketError> {
        let packet = RtpPacket {
            payload_type,
            marker,
            sequence: self.options.sequence,
            timestamp,
            ssrc: self.options.ssrc,
            csrcs: &[],
            extension: None,
            payload,
            padding: 0,
        };
        let octets = packet.write(out)?;
        self.options.sequence = self.options.sequence.wrapping_add(1);
        self.packets = self.packets.wrapping_add(1);
        self.payload_octets = self.payload_octets.wrapping_add(payload.len() as u32);
        Ok(octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender() -> RtpSender {
        let options =
            RtpSenderOptions { payload_type: 8, ssrc: 7, sequence: 0xFFFF, timestamp: u32::MAX - 159 };
        RtpSender::new(options)
    }

    fn numbers(sender: &mut RtpSender) -> (bool, u16, u32) {
        let mut out = [0; 200];
        let octets = sender.write_sound(&[0xD5; 160], &mut out).unwrap();
        let packet = RtpPacket::parse(&out[..octets]).unwrap();
        (packet.marker, packet.sequence, packet.timestamp)
    }

    #[test]
    fn sequence_and_timestamp_advance_and_wrap() {
        let mut sender = sender();
        assert_eq!(numbers(&mut sender), (true, 0xFFFF, u32::MAX - 159));
        assert_eq!(numbers(&mut sender), (false, 0, 0));
        assert_eq!(numbers(&mut sender), (false, 1, 160));
        assert_eq!((sender.packets(), sender.payload_octets()), (3, 480));
    }

    #[test]
    fn after_a_silence_the_marker_starts_a_talkspurt_and_the_timestamp_has_moved_on() {
        let mut sender = sender();
        numbers(&mut sender);
        sender.skip(320);
        assert_eq!(numbers(&mut sender), (true, 0, 320));
    }

    #[test]
    fn a_packet_that_does_not_fit_counts_for_nothing() {
        let mut sender = sender();
        assert!(sender.write_sound(&[0; 160], &mut [0; 171]).is_err());
        assert_eq!((sender.packets(), sender.timestamp()), (0, u32::MAX - 159));
        assert_eq!(numbers(&mut sender), (true, 0xFFFF, u32::MAX - 159));
    }
}
