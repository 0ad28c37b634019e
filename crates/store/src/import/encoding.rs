//! The encoding of a file by its byte order mark: UTF-8 with a mark or without, or UTF-16 (what spreadsheets
//! call Unicode text).

use encoding_rs::{Decoder, Encoding, UTF_8};
use std::borrow::Cow;

/// Octets of the longest mark.
const MARK_OCTETS: usize = 3;

/// Gives the octets of a file as UTF-8, in whatever pieces they come. Without a mark they stay as they are,
/// and whoever reads them checks them.
pub(super) enum FileEncoding {
    /// Fewer octets than a mark has.
    Unknown(Vec<u8>),
    AsItIs,
    Decoded(Decoder),
}

impl FileEncoding {
    /// Before the first octet.
    pub(super) fn unknown() -> FileEncoding {
        FileEncoding::Unknown(Vec::new())
    }

    /// What these octets are in UTF-8. `last`: the file ends behind them.
    pub(super) fn utf8<'a>(&mut self, octets: &'a [u8], last: bool) -> Cow<'a, [u8]> {
        match self {
            FileEncoding::AsItIs => Cow::Borrowed(octets),
            FileEncoding::Decoded(decoder) => Cow::Owned(decoded(decoder, octets, last)),
            FileEncoding::Unknown(head) => {
                head.extend_from_slice(octets);
                if head.len() < MARK_OCTETS && !last {
                    return Cow::Borrowed(&[]);
                }
                let head = std::mem::take(head);
                Cow::Owned(self.begin(head, last))
            }
        }
    }

    fn begin(&mut self, mut head: Vec<u8>, last: bool) -> Vec<u8> {
        let Some((encoding, mark)) = Encoding::for_bom(&head) else {
            *self = FileEncoding::AsItIs;
            return head;
        };
        if encoding == UTF_8 {
            *self = FileEncoding::AsItIs;
            head.drain(..mark);
            return head;
        }
        let mut decoder = encoding.new_decoder_without_bom_handling();
        let text = decoded(&mut decoder, &head[mark..], last);
        *self = FileEncoding::Decoded(decoder);
        text
    }
}

/// Octets that are none of the encoding become U+FFFD.
fn decoded(decoder: &mut Decoder, octets: &[u8], last: bool) -> Vec<u8> {
    let mut text = String::with_capacity(decoder.max_utf8_buffer_length(octets.len()).unwrap_or_default());
    // With so much room all octets are read.
    let _ = decoder.decode_to_string(octets, &mut text, last);
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &[u8], piece: usize) -> Vec<u8> {
        let mut encoding = FileEncoding::unknown();
        let mut out: Vec<u8> =
            file.chunks(piece).flat_map(|octets| encoding.utf8(octets, false).into_owned()).collect();
        out.extend_from_slice(&encoding.utf8(&[], true));
        out
    }

    #[test]
    fn a_mark_tells_the_encoding_and_is_not_a_part_of_the_text() {
        let units = |text: &str, order: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(order).collect()
        };
        let text = "id,name\n1,Åsa 🚒\n";
        let files = [
            text.as_bytes().to_vec(),
            format!("\u{feff}{text}").into_bytes(),
            units(&format!("\u{feff}{text}"), u16::to_le_bytes),
            units(&format!("\u{feff}{text}"), u16::to_be_bytes),
        ];
        for file in files {
            for piece in [1, 2, 3, 5, 1_000] {
                assert_eq!(String::from_utf8(read(&file, piece)).unwrap(), text, "{file:x?} in {piece}");
            }
        }
    }

    #[test]
    fn short_files_and_other_octets_stay_as_they_are() {
        for file in [&b""[..], b"i", b"id", b"\xef\xbb", b"J\xf6rg"] {
            assert_eq!(read(file, 1), file);
        }
        // Half a unit at the end.
        assert_eq!(read(b"\xff\xfei\0d", 2), "i\u{fffd}".as_bytes());
    }
}
