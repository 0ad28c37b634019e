//! Reading of a WAV file: chunks, format, samples.

use super::{WAV_RATE_MAX, WAV_RATE_MIN, WAV_SECONDS_MAX, WavSound, samples_max};
use crate::g711::G711Law;
use std::fmt;

/// Codes of the format (RFC 2361, Microsoft's mmreg.h).
pub(super) const FORMAT_PCM: u16 = 1;
const FORMAT_A_LAW: u16 = 6;
const FORMAT_MU_LAW: u16 = 7;
/// The code stands in the first two octets of a GUID.
const FORMAT_EXTENSIBLE: u16 = 0xFFFE;
/// Where that GUID begins in the `fmt ` chunk.
const SUBFORMAT_AT: usize = 24;
/// Chunks that are passed over at most.
const CHUNKS_MAX: usize = 64;

/// A file that cannot be read, by the field that is at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WavError {
    /// The file does not begin with RIFF and WAVE.
    NoWav,
    /// The file ends within this field.
    Short {
        /// `RIFF header`, `chunk header` or `fmt chunk`.
        field: &'static str,
    },
    /// This chunk does not come, or comes after the samples.
    Missing {
        /// `fmt ` or `data`.
        chunk: &'static str,
    },
    /// A field has a value that is not supported.
    Field {
        /// `format`, `channels`, `sample rate` or `bits per sample`.
        field: &'static str,
        /// Its value.
        value: u32,
        /// The values that are supported.
        allowed: &'static str,
    },
    /// The sound is too long.
    TooLong {
        /// Its seconds, rounded up.
        seconds: u32,
    },
}

impl fmt::Display for WavError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WavError::NoWav => f.write_str("the file is no WAV file: it does not begin with RIFF and WAVE"),
            WavError::Short { field } => write!(f, "the WAV file ends within its {field}"),
            WavError::Missing { chunk } => {
                write!(f, "the WAV file has no {chunk:?} chunk where one is needed; save it again")
            }
            WavError::Field { field, value, allowed } => {
                write!(f, "the WAV file has the {field} {value}; convert it to {allowed}")
            }
            WavError::TooLong { seconds } => {
                write!(
                    f,
                    "the WAV file has {seconds} s of sound, over the limit of {WAV_SECONDS_MAX} s; shorten it"
                )
            }
        }
    }
}

impl std::error::Error for WavError {}

/// The `fmt ` chunk, checked.
#[derive(Clone, Copy)]
struct WavFormat {
    coding: WavCoding,
    is_stereo: bool,
    rate: u32,
}

#[derive(Clone, Copy)]
enum WavCoding {
    /// 8 bits without a sign.
    Octets,
    /// 16 bits, little-endian.
    Words,
    G711(G711Law),
}

pub(super) fn read(file: &[u8]) -> Result<WavSound, WavError> {
    let header = file.get(..12).ok_or(WavError::Short { field: "RIFF header" })?;
    if !header.starts_with(b"RIFF") || !header.ends_with(b"WAVE") {
        return Err(WavError::NoWav);
    }
    let mut rest = &file[12..];
    let mut format = None;
    for _ in 0..CHUNKS_MAX {
        if rest.is_empty() {
            break;
        }
        let (head, body) = rest.split_at_checked(8).ok_or(WavError::Short { field: "chunk header" })?;
        let octets = u32_at(head, 4).unwrap_or(0) as usize;
        match &head[..4] {
            b"fmt " => {
                let chunk = body.get(..octets).ok_or(WavError::Short { field: "fmt chunk" })?;
                format = Some(read_format(chunk)?);
            }
            b"data" => {
                let format = format.ok_or(WavError::Missing { chunk: "fmt " })?;
                return read_samples(format, &body[..octets.min(body.len())]);
            }
            _ => {}
        }
        // Chunks begin at even places.
        rest = body.get(octets.saturating_add(octets % 2)..).unwrap_or(&[]);
    }
    Err(WavError::Missing { chunk: if format.is_none() { "fmt " } else { "data" } })
}

fn read_format(chunk: &[u8]) -> Result<WavFormat, WavError> {
    let short = WavError::Short { field: "fmt chunk" };
    let mut code = u16_at(chunk, 0).ok_or(short)?;
    if code == FORMAT_EXTENSIBLE {
        code = u16_at(chunk, SUBFORMAT_AT).ok_or(short)?;
    }
    let channels = u16_at(chunk, 2).ok_or(short)?;
    let rate = u32_at(chunk, 4).ok_or(short)?;
    let bits = u16_at(chunk, 14).ok_or(short)?;
    let refused = |field, value, allowed| Err(WavError::Field { field, value, allowed });
    let coding = match (code, bits) {
        (FORMAT_PCM, 8) => WavCoding::Octets,
        (FORMAT_PCM, 16) => WavCoding::Words,
        (FORMAT_A_LAW, 8) => WavCoding::G711(G711Law::A),
        (FORMAT_MU_LAW, 8) => WavCoding::G711(G711Law::Mu),
        (FORMAT_PCM, _) => return refused("bits per sample", bits.into(), "8 or 16"),
        (FORMAT_A_LAW | FORMAT_MU_LAW, _) => return refused("bits per sample", bits.into(), "8"),
        _ => return refused("format", code.into(), "1 (PCM), 6 (A-law) or 7 (mu-law)"),
    };
    if !(1..=2).contains(&channels) {
        return refused("channels", channels.into(), "1 or 2");
    }
    if !(WAV_RATE_MIN..=WAV_RATE_MAX).contains(&rate) {
        return refused("sample rate", rate, "8000 to 48000");
    }
    Ok(WavFormat { coding, is_stereo: channels == 2, rate })
}

fn read_samples(format: WavFormat, data: &[u8]) -> Result<WavSound, WavError> {
    let octets = if matches!(format.coding, WavCoding::Words) { 2 } else { 1 };
    let samples = data.len() / (octets * if format.is_stereo { 2 } else { 1 });
    if samples > samples_max(format.rate) {
        // At most 4 GB, so the cast loses nothing.
        return Err(WavError::TooLong { seconds: samples.div_ceil(format.rate as usize) as u32 });
    }
    let all: Vec<i16> = match format.coding {
        WavCoding::Octets => data.iter().map(|octet| (i16::from(*octet) - 128) << 8).collect(),
        WavCoding::Words => data.as_chunks().0.iter().map(|word| i16::from_le_bytes(*word)).collect(),
        WavCoding::G711(law) => data.iter().map(|character| law.decode(*character)).collect(),
    };
    let samples = match format.is_stereo {
        false => all,
        true => all.as_chunks().0.iter().map(|[left, right]| left.midpoint(*right)).collect(),
    };
    Ok(WavSound { rate: format.rate, samples })
}

fn u16_at(octets: &[u8], at: usize) -> Option<u16> {
    octets.get(at..)?.first_chunk().map(|octets| u16::from_le_bytes(*octets))
}

fn u32_at(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..)?.first_chunk().map(|octets| u32::from_le_bytes(*octets))
}
