//! DTMF (ITU-T Q.23, Q.24): the sixteen keys, their sound, and keys found in sound.

mod detect;
mod generate;
#[cfg(test)]
mod tests;

pub use detect::{DTMF_GAP_FRAMES_MAX, DTMF_PAUSE_BLOCKS, DtmfDetector};
pub(crate) use detect::{coefficient, goertzel};
pub(crate) use generate::FULL_SCALE_DBM0;
pub use generate::{DTMF_LEVEL, DtmfLevels, DtmfTone};

/// Frequencies of the rows in Hz (Q.23).
pub(crate) const ROWS: [f32; 4] = [697.0, 770.0, 852.0, 941.0];
/// Frequencies of the columns in Hz.
pub(crate) const COLUMNS: [f32; 4] = [1_209.0, 1_336.0, 1_477.0, 1_633.0];
/// Keys by row and column.
const KEYPAD: [[u8; 4]; 4] = [*b"123A", *b"456B", *b"789C", *b"*0#D"];
/// Keys by their event code (RFC 4733 section 3.2).
const BY_EVENT: [u8; 16] = *b"0123456789*#ABCD";

/// A key: `0` to `9`, `*`, `#`, `A` to `D`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DtmfKey(u8);

impl DtmfKey {
    /// All keys, by their event code.
    pub fn all() -> impl Iterator<Item = DtmfKey> {
        BY_EVENT.into_iter().map(DtmfKey)
    }

    /// The key with this sign; small letters too.
    pub fn from_char(sign: char) -> Option<DtmfKey> {
        let sign = u8::try_from(sign.to_ascii_uppercase()).ok()?;
        BY_EVENT.contains(&sign).then_some(DtmfKey(sign))
    }

    /// The key of a telephone-event, 0 to 15.
    pub fn from_event(event: u8) -> Option<DtmfKey> {
        BY_EVENT.get(usize::from(event)).map(|sign| DtmfKey(*sign))
    }

    /// The key at a place of the keypad, both 0 to 3.
    pub(crate) fn at(row: usize, column: usize) -> DtmfKey {
        DtmfKey(KEYPAD[row][column])
    }

    /// Its sign.
    pub fn char(self) -> char {
        char::from(self.0)
    }

    /// Its event code, 0 to 15.
    pub fn event(self) -> u8 {
        BY_EVENT.iter().zip(0..).find(|(sign, _)| **sign == self.0).map_or(0, |(_, event)| event)
    }

    /// Its row and column frequencies in Hz.
    pub fn frequencies(self) -> (f32, f32) {
        let mut places = (0..4).flat_map(|row| (0..4).map(move |column| (row, column)));
        let (row, column) = places.find(|place| KEYPAD[place.0][place.1] == self.0).unwrap_or((0, 0));
        (ROWS[row], COLUMNS[column])
    }
}
