//! Letters of a short message: how many parts a text takes (3GPP TS 23.038, 23.040).

/// The GSM 7-bit default alphabet.
const GSM_7: &str = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿\
    abcdefghijklmnopqrstuvwxyzäöñüà";
/// Its extension: two septets each.
const GSM_7_EXTENSION: &str = "^{}\\[~]|€\u{0C}";

/// Parts a text takes, at least 1.
pub(super) fn parts(text: &str) -> usize {
    let septets: Option<usize> = text
        .chars()
        .map(|c| match () {
            () if GSM_7.contains(c) => Some(1),
            () if GSM_7_EXTENSION.contains(c) => Some(2),
            () => None,
        })
        .sum();
    let (letters, alone, each) = match septets {
        Some(septets) => (septets, 160, 153),
        None => (text.encode_utf16().count(), 70, 67),
    };
    if letters <= alone { 1 } else { letters.div_ceil(each) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_takes_as_many_parts_as_its_alphabet_needs() {
        for (text, expected) in [
            (String::new(), 1),
            ("a".repeat(160), 1),
            ("a".repeat(161), 2),
            ("a".repeat(306), 2),
            ("a".repeat(307), 3),
            ("€".repeat(80), 1),
            ("€".repeat(81), 2),
            ("ש".repeat(70), 1),
            ("ש".repeat(71), 2),
            ("🔥".repeat(35), 1),
            ("🔥".repeat(36), 2),
        ] {
            assert_eq!(parts(&text), expected, "{text}");
        }
    }
}
