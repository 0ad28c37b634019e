//! Numbers of people as networks and platforms write them, brought to one form: E.164 wherever it can be
//! known, so that `+46…`, `0046…`, `46…` and a national number of the region are the same person.

use crate::{Defaults, characters, phone};
use phonenumber::country::Id;
use phonenumber::{Mode, PhoneNumber};
use std::borrow::Cow;

/// Digits of a number in the form of its carrier at most (an address of SMPP has so many octets).
const DIGITS_MAX: usize = 20;
/// Digits from which on a number without a plus may be an international one; fewer are a short code.
const INTERNATIONAL_DIGITS_MIN: usize = 9;
/// Digits of a subscriber's number in the North American Numbering Plan, without the country code.
const NANP_DIGITS: usize = 10;

/// The one form of a number, whatever stands between its digits and before them. What is no phone number (a
/// short code, a name) stays as it is written, without blanks around it.
pub(crate) fn canonical<'t>(text: &'t str, defaults: &Defaults) -> Cow<'t, str> {
    if is_e164(text) {
        return Cow::Borrowed(text);
    }
    let Some(written) = WrittenNumber::read(text) else { return Cow::Borrowed(text.trim()) };
    match written.e164(text, defaults) {
        Some(number) => Cow::Owned(number),
        None => Cow::Owned(written.as_it_stands()),
    }
}

/// Whether a number in E.164 form can belong to somebody, by the lengths and beginnings its country gives
/// out.
pub(crate) fn is_assignable(number: &str) -> bool {
    phonenumber::parse(None, number).is_ok_and(|number| number.is_valid())
}

/// A plus and 7 to 15 digits, the first of which is not 0.
fn is_e164(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or_default().as_bytes();
    (7..=15).contains(&digits.len()) && digits[0] != b'0' && digits.iter().all(u8::is_ascii_digit)
}

/// The digits of a number, as somebody wrote them.
struct WrittenNumber {
    plus: bool,
    digits: String,
}

impl WrittenNumber {
    /// Nothing if it has other characters than digits, separators and marks that nobody sees.
    fn read(text: &str) -> Option<WrittenNumber> {
        let text = text.trim_start_matches(|c: char| c.is_whitespace() || characters::is_invisible(c));
        let scheme = text.get(..4).filter(|scheme| scheme.eq_ignore_ascii_case("tel:"));
        let text = scheme.map_or(text, |scheme| &text[scheme.len()..]);
        let mut written = WrittenNumber { plus: false, digits: String::new() };
        for c in text.chars() {
            match characters::decimal_digit(c) {
                Some(digit) => written.digits.push(char::from(b'0' + digit)),
                None if matches!(c, '+' | '＋') && written.digits.is_empty() && !written.plus => {
                    written.plus = true;
                }
                None if phone::is_separator(c) || characters::is_invisible(c) => {}
                None => return None,
            }
        }
        (1..=DIGITS_MAX).contains(&written.digits.len()).then_some(written)
    }

    fn as_it_stands(&self) -> String {
        let plus = if self.plus { "+" } else { "" };
        format!("{plus}{}", self.digits)
    }

    fn e164(&self, text: &str, defaults: &Defaults) -> Option<String> {
        let digits = self.digits.as_str();
        // No country's code begins with a zero: two of them are the prefix that people dial.
        if let Some(international) = digits.strip_prefix("00") {
            return self.international(international);
        }
        if digits.starts_with('0') {
            return national(digits, defaults.region()?);
        }
        if self.plus {
            // `+46 (0)70…`: the reader of addresses knows the zero that is not dialled from abroad.
            return phone::phone(text, defaults).ok().or_else(|| self.international(digits));
        }
        match defaults.region() {
            Some(region) => self.bare(digits, region),
            None => (digits.len() >= INTERNATIONAL_DIGITS_MIN).then(|| self.international(digits)).flatten(),
        }
    }

    fn international(&self, digits: &str) -> Option<String> {
        phone::international(digits).ok()
    }

    /// Digits without plus and zero are an international number without its plus, which platforms write, or
    /// a subscriber's number of the region, which networks write with type 2 (SMPP 3.4, 5.2.5).
    fn bare(&self, digits: &str, region: Id) -> Option<String> {
        let abroad = (digits.len() >= INTERNATIONAL_DIGITS_MIN).then(|| self.international(digits)).flatten();
        let here = national(digits, region);
        let (Some(abroad), Some(here)) = (&abroad, &here) else { return abroad.or(here) };
        let is_american = here.starts_with("+1") && here.len() == NANP_DIGITS + 2;
        let is_home = !is_american || digits.len() != NANP_DIGITS;
        match (is_assignable(abroad), is_home) {
            (true, true) => Some(abroad.clone()),
            _ => Some(here.clone()),
        }
    }
}

/// A number that the region gives out, dialled there.
fn national(digits: &str, region: Id) -> Option<String> {
    let number: PhoneNumber = phonenumber::parse(Some(region), digits).ok()?;
    let e164 = number.format().mode(Mode::E164).to_string();
    (number.is_valid() && is_e164(&e164)).then_some(e164)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn region(region: &str) -> Defaults {
        match region {
            "" => Defaults::default(),
            region => Defaults::in_region(region).unwrap(),
        }
    }

    #[test]
    fn a_number_has_one_form_however_it_is_written() {
        for (text, of, expected) in [
            ("+46701740001", "", "+46701740001"),
            ("0046701740001", "", "+46701740001"),
            ("46701740001", "", "+46701740001"),
            ("+0046701740001", "", "+46701740001"),
            ("tel:+46-70-174 00 01", "", "+46701740001"),
            ("+46 (0)70-174 00 01", "", "+46701740001"),
            ("＋４６７０１７４０００１", "", "+46701740001"),
            ("٠٠٤٦٧٠١٧٤٠٠٠١", "", "+46701740001"),
            ("\u{202a}+46701740001\u{202c}", "", "+46701740001"),
            ("46701740001", "SE", "+46701740001"),
            ("0046701740001", "SE", "+46701740001"),
            ("0701740001", "SE", "+46701740001"),
            ("701740001", "SE", "+46701740001"),
            ("+0701740001", "SE", "+46701740001"),
            ("46701740001", "US", "+46701740001"),
            ("46701740001", "DE", "+46701740001"),
            ("4155552671", "US", "+14155552671"),
            ("14155552671", "US", "+14155552671"),
            ("0046701740001", "US", "+46701740001"),
            ("0612345678", "FR", "+33612345678"),
            ("612345678", "FR", "+33612345678"),
            ("33612345678", "FR", "+33612345678"),
            ("06 1234 5678", "IT", "+390612345678"),
            ("0701740001", "", "0701740001"),
            ("701740001", "", "701740001"),
            ("71700", "SE", "71700"),
            ("71700", "", "71700"),
            (" City of X ", "SE", "City of X"),
            ("", "", ""),
            ("+", "", "+"),
        ] {
            assert_eq!(canonical(text, &region(of)), expected, "{text:?} in {of:?}");
        }
    }

    #[test]
    fn numbers_that_nobody_has_are_not_assignable() {
        for (number, is) in [("+46701740605", true), ("+14155552671", true), ("+46701740605112", false)] {
            assert_eq!(is_assignable(number), is, "{number}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_between_the_digits_changes_nothing(
            digits in "(4670|4673|33612|14155|4479)[0-9]{6,7}",
            gaps in proptest::collection::vec("[ .()/-]{0,2}|\u{200b}|\u{a0}", 13),
            front in prop_oneof!["\\+", "00", "tel:\\+", "\u{200e}\\+", "＋"],
            of in prop_oneof![Just(""), Just("SE"), Just("US"), Just("IT")],
        ) {
            let mut text = front;
            for (digit, gap) in digits.chars().zip(&gaps) {
                text.push(digit);
                text.push_str(gap);
            }
            let plain = format!("+{digits}");
            prop_assume!(crate::phone::phone(&plain, &Defaults::default()).is_ok());
            prop_assert_eq!(canonical(&text, &region(of)), plain);
        }

        #[test]
        fn the_one_form_is_its_own(text in "\\PC{0,24}|[+0-9 -]{0,24}", of in prop_oneof![Just(""), Just("SE")]) {
            let defaults = region(of);
            let once = canonical(&text, &defaults).into_owned();
            prop_assert_eq!(canonical(&once, &defaults), once.as_str());
        }
    }
}
