//! Quoted-printable (RFC 2045 §6.7), for bodies in which something of each recipient is put later: unlike
//! base64 it encodes a line without regard to what stands before it.

/// An encoded line is at most so many characters.
const LINE_CHARACTERS_MAX: usize = 76;
/// A line that goes on: the break is not part of the text.
pub const SOFT_BREAK: &str = "=\r\n";

/// Appends `text` encoded. Its line ends, of any kind, become CRLF; the last line gets none.
pub fn push_quoted(out: &mut String, text: &str) {
    let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).peekable();
    while let Some(line) = lines.next() {
        push_line(out, line);
        if lines.peek().is_some() {
            out.push_str("\r\n");
        }
    }
}

fn push_line(out: &mut String, line: &str) {
    const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    let mut column = 0;
    for (at, octet) in line.bytes().enumerate() {
        let last = at + 1 == line.len();
        let plain = match octet {
            b'=' => false,
            b' ' | b'\t' => !last,
            _ => octet.is_ascii_graphic(),
        };
        let width = if plain { 1 } else { 3 };
        // The soft break's own character must fit as well.
        if column + width > LINE_CHARACTERS_MAX - 1 {
            out.push_str(SOFT_BREAK);
            column = 0;
        }
        column += width;
        if plain {
            out.push(char::from(octet));
        } else {
            out.extend(['=', HEX[usize::from(octet >> 4)], HEX[usize::from(octet & 15)]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail_parser::decoders::quoted_printable::quoted_printable_decode;
    use proptest::prelude::*;

    fn quoted(text: &str) -> String {
        let mut out = String::new();
        push_quoted(&mut out, text);
        out
    }

    #[test]
    fn what_is_not_plain_is_written_in_hexadecimal() {
        for (text, expected) in [
            ("", ""),
            ("plain text.", "plain text."),
            ("a=b", "a=3Db"),
            ("å", "=C3=A5"),
            ("end \nnext\t", "end=20\r\nnext=09"),
            ("a\r\nb\n", "a\r\nb\r\n"),
            ("a\rb", "a=0Db"),
            ("\0", "=00"),
        ] {
            assert_eq!(quoted(text), expected, "{text:?}");
        }
        assert_eq!(quoted(&"x".repeat(80)), format!("{}=\r\n{}", "x".repeat(75), "x".repeat(5)));
    }

    proptest! {
        #[test]
        fn it_decodes_to_itself_and_no_line_is_too_long(text in "[ -~\t\n=åäö€𝄞]{0,300}") {
            let encoded = quoted(&text);
            prop_assert!(encoded.split("\r\n").all(|line| line.len() <= LINE_CHARACTERS_MAX && line.is_ascii()));
            let decoded = quoted_printable_decode(encoded.as_bytes()).unwrap();
            prop_assert_eq!(String::from_utf8(decoded).unwrap().replace("\r\n", "\n"), text);
        }
    }
}
