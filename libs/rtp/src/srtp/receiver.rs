//! Packets that are received: verified, then decrypted, each once.

use super::cipher::{LABEL_RTCP, LABEL_RTP, SessionKeys, is_same_tag};
use super::sender::{RTCP_CLEAR_OCTETS, RTCP_ENCRYPTED, RTCP_INDEX_MAX, rtcp_ssrc};
use super::{
    SRTCP_TAG_OCTETS, SRTCP_TRAILER_OCTETS, SRTP_REPLAY_WINDOW, SRTP_SOURCES_MAX, SrtpError, SrtpMasterKey,
};
use crate::packet::read_header;

/// A peer's packets under a master key, of at most [`SRTP_SOURCES_MAX`] sources.
pub struct SrtpReceiver {
    rtp: SessionKeys,
    rtcp: SessionKeys,
    tag_octets: usize,
    rtp_sources: Sources,
    rtcp_sources: Sources,
}

/// Windows of the sources whose packets were verified.
#[derive(Default)]
struct Sources {
    windows: [Option<(u32, ReplayWindow)>; SRTP_SOURCES_MAX],
}

/// Indices that came (RFC 3711 section 3.3.2).
#[derive(Clone, Copy)]
struct ReplayWindow {
    highest: u64,
    /// Bit n: the index n below the highest came.
    came: u128,
}

impl ReplayWindow {
    fn is_new(&self, index: u64) -> bool {
        match self.highest.checked_sub(index) {
            None => true,
            Some(behind) => behind < SRTP_REPLAY_WINDOW && self.came & 1 << behind == 0,
        }
    }

    fn note(&mut self, index: u64) {
        match self.highest.checked_sub(index) {
            Some(behind) => self.came |= 1_u128.checked_shl(behind as u32).unwrap_or(0),
            None => {
                let ahead = u32::try_from(index - self.highest).unwrap_or(u32::MAX);
                self.came = self.came.checked_shl(ahead).unwrap_or(0) | 1;
                self.highest = index;
            }
        }
    }
}

impl Sources {
    fn window(&self, ssrc: u32) -> Option<&ReplayWindow> {
        self.windows.iter().flatten().find(|(source, _)| *source == ssrc).map(|(_, window)| window)
    }

    fn check(&self, ssrc: u32, index: u64) -> Result<(), SrtpError> {
        match self.window(ssrc) {
            Some(window) if !window.is_new(index) => Err(SrtpError::Replayed),
            None if self.windows.iter().all(Option::is_some) => Err(SrtpError::TooManySources),
            _ => Ok(()),
        }
    }

    /// After [`check`](Self::check), so that a new source finds a place.
    fn note(&mut self, ssrc: u32, index: u64) {
        for place in &mut self.windows {
            match place {
                Some((source, window)) if *source == ssrc => return window.note(index),
                Some(_) => {}
                None => {
                    *place = Some((ssrc, ReplayWindow { highest: index, came: 1 }));
                    return;
                }
            }
        }
    }
}

/// Index of a packet from its number and the highest index so far (section 3.3.1, appendix A). `None` before
/// the first.
fn guess_index(highest: Option<u64>, sequence: u16) -> Option<u64> {
    let Some(highest) = highest else { return Some(u64::from(sequence)) };
    // The index with this number that is nearest to the highest.
    let difference = i64::from(sequence.wrapping_sub(highest as u16).cast_signed());
    highest.checked_add_signed(difference).filter(|index| *index < 1 << 48)
}

impl SrtpReceiver {
    /// Nothing was received; rollover counters are 0.
    pub fn new(master: &SrtpMasterKey) -> SrtpReceiver {
        SrtpReceiver {
            rtp: SessionKeys::new(master, LABEL_RTP),
            rtcp: SessionKeys::new(master, LABEL_RTCP),
            tag_octets: master.suite().tag_octets(),
            rtp_sources: Sources::default(),
            rtcp_sources: Sources::default(),
        }
    }

    /// Verifies and decrypts an RTP packet in place; gives its octets, without the tag.
    ///
    /// # Errors
    /// The packet is not to be taken. Neither it nor anything here was changed.
    pub fn unprotect(&mut self, packet: &mut [u8]) -> Result<usize, SrtpError> {
        let octets = packet.len().checked_sub(self.tag_octets).ok_or(SrtpError::Short)?;
        let (header, _, body) = read_header(&packet[..octets])?;
        let (sequence, ssrc, start) = (header.sequence, header.ssrc, octets - body.len());
        let highest = self.rtp_sources.window(ssrc).map(|window| window.highest);
        let index = guess_index(highest, sequence).ok_or(SrtpError::Replayed)?;
        self.rtp_sources.check(ssrc, index)?;
        // 48 bits without the lower 16.
        let rollover = ((index >> 16) as u32).to_be_bytes();
        if !is_same_tag(&self.rtp.tag(&packet[..octets], &rollover), &packet[octets..]) {
            return Err(SrtpError::Authentication);
        }
        self.rtp_sources.note(ssrc, index);
        self.rtp.apply(ssrc, index, &mut packet[start..octets]);
        Ok(octets)
    }

    /// Verifies and decrypts an RTCP packet in place; gives its octets, without index and tag.
    ///
    /// # Errors
    /// As [`unprotect`](Self::unprotect).
    pub fn unprotect_rtcp(&mut self, packet: &mut [u8]) -> Result<usize, SrtpError> {
        let octets = packet.len().checked_sub(SRTCP_TRAILER_OCTETS).ok_or(SrtpError::Short)?;
        if octets < RTCP_CLEAR_OCTETS {
            return Err(SrtpError::Short);
        }
        let ssrc = rtcp_ssrc(packet).ok_or(SrtpError::Short)?;
        let (signed, tag) = packet.split_at(packet.len() - SRTCP_TAG_OCTETS);
        let word = signed[octets..].first_chunk().map(|octets| u32::from_be_bytes(*octets));
        let word = word.ok_or(SrtpError::Short)?;
        let index = u64::from(word & RTCP_INDEX_MAX);
        self.rtcp_sources.check(ssrc, index)?;
        if !is_same_tag(&self.rtcp.tag(signed, &[]), tag) {
            return Err(SrtpError::Authentication);
        }
        self.rtcp_sources.note(ssrc, index);
        if word & RTCP_ENCRYPTED != 0 {
            self.rtcp.apply(ssrc, index, &mut packet[RTCP_CLEAR_OCTETS..octets]);
        }
        Ok(octets)
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn the_index_is_the_nearest_with_the_number() {
        assert_eq!(guess_index(None, 65_535), Some(65_535));
        assert_eq!(guess_index(Some(65_530), 3), Some(65_536 + 3));
        assert_eq!(guess_index(Some(65_536 + 3), 65_530), Some(65_530));
        assert_eq!(guess_index(Some(3), 65_530), None, "before the first");
        assert_eq!(guess_index(Some((1 << 48) - 1), 0), None, "after the last");
    }

    #[test]
    fn an_index_is_new_once_and_no_more_when_the_window_has_left_it() {
        let mut window = ReplayWindow { highest: 1_000, came: 1 };
        assert!(!window.is_new(1_000) && window.is_new(999) && window.is_new(873) && !window.is_new(872));
        window.note(873);
        assert!(!window.is_new(873));
        window.note(1_100);
        assert!(!window.is_new(1_000) && window.is_new(1_099) && !window.is_new(900));
        window.note(100_000);
        assert!(window.is_new(99_999) && !window.is_new(100_000));
    }
}
