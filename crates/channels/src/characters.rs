//! Characters as people's keyboards make them: digits of any script, and marks that nobody sees.

/// Code points of the zeros of Unicode's decimal digits (general category Nd) beyond ASCII; the nine others
/// follow each.
const ZEROS: [u32; 65] = [
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0DE6,
    0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0,
    0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10, 0x104A0, 0x10D30,
    0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x11730, 0x118E0,
    0x11950, 0x11C50, 0x11D50, 0x11DA0, 0x16A60, 0x16AC0, 0x16B50, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC,
    0x1D7F6, 0x1E140, 0x1E2F0, 0x1E950, 0x1FBF0,
];

/// The value of a decimal digit, of whatever script.
pub fn decimal_digit(c: char) -> Option<u8> {
    if let Some(digit) = c.to_digit(10) {
        return Some(digit as u8);
    }
    let code = u32::from(c);
    // The last zero that is not behind it.
    let zero = ZEROS[..ZEROS.partition_point(|zero| *zero <= code)].last()?;
    u8::try_from(code - zero).ok().filter(|digit| *digit <= 9)
}

/// Whether a character has no width and no meaning in a text: joiners, marks of direction, soft hyphens,
/// variation selectors, the byte order mark, controls that are no white space.
pub fn is_invisible(c: char) -> bool {
    matches!(u32::from(c),
        0x00AD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F | 0x200B..=0x200F
        | 0x202A..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF9..=0xFFFB
        | 0xE0000..=0xE0FFF)
        || c.is_control() && !c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_every_script_have_their_value() {
        for (text, digits) in [
            ("0123456789", "0123456789"),
            ("２", "2"),
            ("٢", "2"),
            ("۲", "2"),
            ("२", "2"),
            ("๙", "9"),
            ("𝟐", "2"),
        ] {
            let read: String =
                text.chars().map(|c| char::from(b'0' + decimal_digit(c).expect("a digit"))).collect();
            assert_eq!(read, digits, "{text}");
        }
        for c in ['a', '²', '½', '一', 'Ⅱ', '\u{200c}'] {
            assert_eq!(decimal_digit(c), None, "{c}");
        }
        assert!(ZEROS.is_sorted());
    }

    #[test]
    fn marks_without_width_are_invisible_and_blanks_are_not() {
        for c in ['\u{200b}', '\u{200c}', '\u{feff}', '\u{202a}', '\u{ad}', '\u{fe0f}', '\0'] {
            assert!(is_invisible(c), "{c:?}");
        }
        for c in [' ', '\u{a0}', '\n', 'a', '1', '-', '\u{301}'] {
            assert!(!is_invisible(c), "{c:?}");
        }
    }
}
