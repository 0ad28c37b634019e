//! Letters that a device has, and the spelling of others in them.

use super::CannotAdapt;
use crate::drill::Mark;
use crate::{in_ascii, is_invisible};
use records::Letters;
use unicode_normalization::UnicodeNormalization;

/// Characters beyond ASCII of the default alphabet of GSM and its extension table (3GPP TS 23.038, 6.2.1).
const GSM_BEYOND_ASCII: &str = "£¥èéùìòÇØøÅåΔΦΓΛΩΠΨΣΘΞÆæßÉ¤¡ÄÖÑÜ§¿äöñüà€";

/// Whether a device shows a character as it is. Line ends it does, other controls not.
pub(super) fn has(letters: Letters, c: char) -> bool {
    match letters {
        Letters::All => true,
        _ if c == '\n' => letters != Letters::Digits,
        _ if c.is_control() => false,
        Letters::Digits => c.is_ascii_digit() || c == ' ',
        Letters::Ascii => c.is_ascii(),
        Letters::Gsm => c.is_ascii() && c != '`' || GSM_BEYOND_ASCII.contains(c),
    }
}

/// A text in a device's letters: others are spelled in them, signs without a spelling are left out, and a
/// question mark stands for a letter without one.
///
/// # Errors
/// Most letters have none: nobody would understand it.
pub(super) fn carried(letters: Letters, text: &str) -> Result<String, CannotAdapt> {
    let Spelled { text, kept, lost } = spelled(letters, text);
    if lost > kept { Err(CannotAdapt::Letters) } else { Ok(text) }
}

/// The same, however much is lost.
pub(super) fn lossy(letters: Letters, text: &str) -> String {
    spelled(letters, text).text
}

/// A letter as it is spelled in the default alphabet of GSM; nothing where it is there already, or has no
/// such spelling.
pub(super) fn in_gsm(letter: char) -> Option<String> {
    if has(Letters::Gsm, letter) {
        return None;
    }
    let composed: String = std::iter::once(letter).nfc().collect();
    let spelled = spelled(Letters::Gsm, &composed);
    (spelled.lost == 0).then_some(spelled.text).filter(|text| is_invisible(letter) || !text.is_empty())
}

/// The mark that a device can show: that of the language, or the English one.
pub(super) fn mark(letters: Letters, mark: Mark) -> Mark {
    if spelled(letters, mark.text()).lost > 0 { Mark::default() } else { mark }
}

struct Spelled {
    text: String,
    /// Letters and digits that can be read.
    kept: usize,
    /// Letters and digits that cannot.
    lost: usize,
}

fn spelled(letters: Letters, text: &str) -> Spelled {
    if letters == Letters::All {
        return Spelled { text: text.to_owned(), kept: 0, lost: 0 };
    }
    let mut out = Spelled { text: String::with_capacity(text.len()), kept: 0, lost: 0 };
    for c in text.nfc().filter(|c| *c != '\r' && !is_invisible(*c)) {
        if has(letters, c) {
            out.kept += usize::from(c.is_alphanumeric());
            out.text.push(c);
            continue;
        }
        match in_ascii(c) {
            Some(spelling) => {
                out.kept += usize::from(c.is_alphanumeric());
                out.text.extend(spelling.chars().map(|c| plain(letters, c)));
            }
            None if c.is_alphanumeric() => {
                out.lost += 1;
                out.text.push('?');
            }
            None => {}
        }
    }
    out
}

/// A character of ASCII that the device has.
fn plain(letters: Letters, c: char) -> char {
    match c {
        _ if has(letters, c) => c,
        '`' => '\'',
        _ => ' ',
    }
}
