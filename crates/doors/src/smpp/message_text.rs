//! Text and header of a message, in the platform's coding.

use super::record::{Octets, ShortTextForm};
use smpp::text::udh::Udh;
use smpp::text::{Charset, Coding, Concat, PARTS_MAX, choose, parts};
use smpp::{Status, Tag, Tlvs};

/// Septets of a part of a long message, the header beside them.
const PART_SEPTETS: usize = 153;
/// Octets of one.
const PART_OCTETS: usize = 134;
/// A message that fits into `short_message` is never too long.
const SHORT_OCTETS: usize = 254;

/// Text and user data header of a message.
pub(super) struct MessageText<'a> {
    pub(super) text: ShortTextForm<'a>,
    /// Without its length octet.
    pub(super) udh: &'a [u8],
}

/// Splits a message into text and header. `charset` is the platform's meaning of `data_coding` 0; `scratch`
/// holds the decoded text.
pub(super) fn split_message<'a>(
    message: &'a [u8],
    has_udh: bool,
    data_coding: u8,
    tlvs: Tlvs<'a>,
    charset: Charset,
    scratch: &'a mut String,
) -> Result<MessageText<'a>, Status> {
    let (udh, octets) = if has_udh { split_udh(message)? } else { (&b""[..], message) };
    let is_part = !udh.is_empty() || (!tlvs.is_empty() && tlvs.find(Tag::SAR_TOTAL_SEGMENTS).is_some());
    if data_coding != 0 || charset == Charset::Gsm7 {
        let coded = Coding::of(data_coding, charset).charset;
        if octets.len() > SHORT_OCTETS && octets.len() > octets_max(coded) {
            return Err(Status::RINVMSGLEN);
        }
        return Ok(MessageText { text: ShortTextForm::Octets { data_coding, octets: Octets(octets) }, udh });
    }
    if is_part {
        // The parts of one message have one coding: the platform's, by its right name.
        let text = ShortTextForm::Octets { data_coding: name_of(charset), octets: Octets(octets) };
        return Ok(MessageText { text, udh });
    }
    scratch.clear();
    scratch.push_str(&charset.decode(octets));
    let text: &'a str = scratch;
    if octets.len() > SHORT_OCTETS {
        let coded = choose(text, Charset::Gsm7).charset;
        if parts(text, coded, Concat::Udh8) > PARTS_MAX {
            return Err(Status::RINVMSGLEN);
        }
    }
    Ok(MessageText { text: ShortTextForm::Text { text, class: None }, udh })
}

/// The elements of the header, and the text behind it.
fn split_udh(message: &[u8]) -> Result<(&[u8], &[u8]), Status> {
    let (_, text) = Udh::split(message).map_err(|_| Status::RINVESMCLASS)?;
    Ok((&message[1..message.len() - text.len()], text))
}

/// Octets that fit into the parts of one message.
fn octets_max(charset: Charset) -> usize {
    let part = match charset {
        Charset::Gsm7 | Charset::Ascii => PART_SEPTETS,
        Charset::Latin1
        | Charset::Ucs2
        | Charset::Cyrillic
        | Charset::Hebrew
        | Charset::Japanese
        | Charset::Korean
        | Charset::Binary => PART_OCTETS,
    };
    PARTS_MAX * part
}

/// The `data_coding` that names an alphabet independently of the carrier's default (SMPP 3.4, 5.2.19).
fn name_of(charset: Charset) -> u8 {
    match charset {
        Charset::Gsm7 => 0,
        Charset::Ascii => 1,
        Charset::Latin1 => 3,
        Charset::Binary => 4,
        Charset::Japanese => 5,
        Charset::Cyrillic => 6,
        Charset::Hebrew => 7,
        Charset::Ucs2 => 8,
        Charset::Korean => 14,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smpp::TlvBuf;

    /// The text as it is kept, and the header.
    fn kept(
        message: &[u8],
        has_udh: bool,
        data_coding: u8,
        charset: Charset,
    ) -> Result<(String, Vec<u8>), Status> {
        let mut scratch = String::new();
        let content = split_message(message, has_udh, data_coding, Tlvs::NONE, charset, &mut scratch)?;
        let text = match content.text {
            ShortTextForm::Text { text, .. } => format!("text {text}"),
            ShortTextForm::Octets { data_coding, octets } => format!("{data_coding} {:?}", octets.0),
        };
        Ok((text, content.udh.to_vec()))
    }

    #[test]
    fn data_coding_0_is_what_the_platform_takes_it_for() {
        let cases = [
            (&b"a\x00"[..], false, 0, Charset::Gsm7, "0 [97, 0]"),
            (b"a\xE5", false, 0, Charset::Latin1, "text aå"),
            (b"\0a\0b", false, 0, Charset::Ucs2, "text ab"),
            (b"a\xE5", false, 3, Charset::Latin1, "3 [97, 229]"),
            (b"a", false, 0xF1, Charset::Latin1, "241 [97]"),
            (b"\x03\x24\x01\x01a", true, 0, Charset::Gsm7, "0 [97]"),
            (b"\x03\x24\x01\x01\xE5", true, 0, Charset::Latin1, "3 [229]"),
            (b"\x03\x24\x01\x01\0a", true, 0, Charset::Ucs2, "8 [0, 97]"),
            (b"", false, 0, Charset::Ascii, "text "),
        ];
        for (message, has_udh, data_coding, charset, expected) in cases {
            let (text, udh) = kept(message, has_udh, data_coding, charset).unwrap();
            assert_eq!(text, expected);
            assert_eq!(udh, if has_udh { &message[1..4] } else { b"" });
        }
    }

    #[test]
    fn a_header_over_its_message_is_refused() {
        for message in [&b""[..], b"\x05\x00\x03", b"\x03\x24\x02\x01", b"\xFF"] {
            assert_eq!(kept(message, true, 0, Charset::Gsm7), Err(Status::RINVESMCLASS), "{message:?}");
        }
        assert_eq!(kept(b"\x00a", true, 0, Charset::Gsm7).unwrap().1, b"");
    }

    #[test]
    fn a_part_by_sar_parameters_keeps_its_octets() {
        let mut tlvs = TlvBuf::new();
        tlvs.push_u8(Tag::SAR_TOTAL_SEGMENTS, 2);
        let mut scratch = String::new();
        let content =
            split_message(b"\xE5", false, 0, tlvs.as_tlvs(), Charset::Latin1, &mut scratch).unwrap();
        assert!(matches!(content.text, ShortTextForm::Octets { data_coding: 3, octets: Octets(b"\xE5") }));
    }

    #[test]
    fn a_message_of_more_parts_than_there_are_numbers_for_is_too_long() {
        let cases = [
            (0, Charset::Gsm7, 255 * 153),
            (8, Charset::Gsm7, 255 * 134),
            (4, Charset::Gsm7, 255 * 134),
            (0, Charset::Ascii, 255 * 153),
        ];
        for (data_coding, charset, limit) in cases {
            assert!(kept(&vec![b'a'; limit], false, data_coding, charset).is_ok(), "{data_coding}");
            let over = kept(&vec![b'a'; limit + 2], false, data_coding, charset);
            assert_eq!(over.unwrap_err(), Status::RINVMSGLEN, "{data_coding}");
        }
    }
}
