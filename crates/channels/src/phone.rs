//! Phone numbers in the form they are kept: E.164 (ITU-T E.164, 6.2).

use crate::{Defaults, legible};
use phonenumber::Mode;

/// E.164 allows so many digits, country code included.
const PHONE_DIGITS_MAX: usize = 15;
/// No country has shorter numbers that can be reached from abroad.
const PHONE_DIGITS_MIN: usize = 7;
/// How people separate the digits they write.
const PHONE_SEPARATORS: &str = " -.()/";

/// Whether people write it between the digits of a number.
pub(crate) fn is_separator(c: char) -> bool {
    PHONE_SEPARATORS.contains(c) || c.is_whitespace()
}

/// A phone number as `+` and digits. National numbers need a default region.
pub(crate) fn phone(text: &str, defaults: &Defaults) -> Result<String, String> {
    if let Some(digits) = text.strip_prefix('+')
        && digits.bytes().all(|octet| octet.is_ascii_digit())
    {
        return international(digits);
    }
    let text = &*legible::address(text);
    let link = text.get(..4).is_some_and(|scheme| scheme.eq_ignore_ascii_case("tel:"));
    let number = without_fraction(if link { text[4..].trim_start() } else { text });
    let digits = number.strip_prefix('+').unwrap_or(number);
    if let Some(strange) = digits.chars().find(|c| !(c.is_ascii_digit() || PHONE_SEPARATORS.contains(*c))) {
        return Err(format!("{text:?} is not a phone number: it has {strange:?}"));
    }
    // Written with 00 it is international, unless a region says what 00 means there.
    let opened = match (number.strip_prefix("00"), defaults.region()) {
        (Some(rest), None) => format!("+{rest}"),
        _ => number.to_owned(),
    };
    if !opened.starts_with('+') && defaults.region().is_none() {
        return Err(format!("{text:?} has no country code: write it with +, or set a default region"));
    }
    let parsed =
        phonenumber::parse(defaults.region(), opened).map_err(|error| format!("{text:?}: {error}"))?;
    international(parsed.format().mode(Mode::E164).to_string().trim_start_matches('+'))
}

/// A table that took numbers for quantities writes 46701234567.0.
fn without_fraction(number: &str) -> &str {
    match number.strip_suffix(".0") {
        Some(whole) if whole.trim_start_matches('+').bytes().all(|octet| octet.is_ascii_digit()) => whole,
        _ => number,
    }
}

/// The E.164 form of a number's digits, its country code first.
pub(crate) fn international(digits: &str) -> Result<String, String> {
    if !(PHONE_DIGITS_MIN..=PHONE_DIGITS_MAX).contains(&digits.len()) {
        let len = digits.len();
        return Err(format!(
            "+{digits} has {len} digits, a number has {PHONE_DIGITS_MIN} to {PHONE_DIGITS_MAX}"
        ));
    }
    if !has_country_code(digits.as_bytes()) {
        return Err(format!("+{digits} does not begin with a country code"));
    }
    Ok(format!("+{digits}"))
}

/// Begins with a country code that is assigned (ITU Operational Bulletin, list of E.164 assigned country
/// codes).
fn has_country_code(digits: &[u8]) -> bool {
    let digit = |place: usize| digits.get(place).map_or(0, |octet| u16::from(octet - b'0'));
    let (one, two) = (digit(0), digit(0) * 10 + digit(1));
    let three = two * 10 + digit(2);
    match one {
        1 => digits.len() == 11,
        7 => digits.len() == 11,
        _ => {
            matches!(two, 20 | 27 | 30..=34 | 36 | 39..=41 | 43..=49 | 51..=58 | 60..=66 | 81 | 82 | 84 | 86 | 90..=95 | 98)
                || matches!(three,
                    211..=213 | 216 | 218 | 220..=258 | 260..=269 | 290 | 291 | 297..=299 | 350..=359 | 370..=383
                    | 385..=387 | 389 | 420 | 421 | 423 | 500..=509 | 590..=599 | 670 | 672..=683 | 685..=692 | 800 | 808
                    | 850 | 852 | 853 | 855 | 856 | 870 | 878 | 880..=883 | 886 | 888 | 960..=968 | 970..=977 | 979
                    | 992..=996 | 998)
        }
    }
}

/// The beginning of a number: `+` and digits, perhaps none.
pub(crate) fn check_prefix(prefix: &str) -> Result<(), String> {
    let is_number =
        prefix.strip_prefix('+').is_some_and(|digits| digits.bytes().all(|octet| octet.is_ascii_digit()));
    if is_number { Ok(()) } else { Err(format!("{prefix:?} is no begin of a number, such as \"+46\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweden() -> Defaults {
        Defaults::in_region("se").unwrap()
    }

    #[test]
    fn phone_numbers_become_e164() {
        let good = [
            ("+46701234567", "+46701234567"),
            ("+46 (0)70-123 45 67", "+46701234567"),
            ("070-123 45 67", "+46701234567"),
            ("0046 70 123 45 67", "+46701234567"),
            ("tel:+46-70-1234567", "+46701234567"),
            (" +1 415 555 2671 ", "+14155552671"),
            ("\u{202a}+46\u{a0}70\u{2011}123\u{a0}45\u{a0}67\u{202c}", "+46701234567"),
            ("\u{2068}+46701234567\u{2069}", "+46701234567"),
            ("０７０－１２３４５６７", "+46701234567"),
            ("+٤٦٧٠١٢٣٤٥٦٧", "+46701234567"),
            ("TEL: +46 70 123 45 67", "+46701234567"),
            ("0701234567.0", "+46701234567"),
            ("+46701234567.0", "+46701234567"),
            ("＋４６７０１２３４５６７", "+46701234567"),
            ("\u{200e}+46\u{a0}70\u{2011}123 45 67\u{202c}", "+46701234567"),
            ("٠٠٤٦٧٠١٢٣٤٥٦٧", "+46701234567"),
        ];
        for (text, expected) in good {
            assert_eq!(phone(text, &sweden()).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(phone("0046701234567", &Defaults::default()).as_deref(), Ok("+46701234567"));
        assert_eq!(
            phone("06 1234 5678", &Defaults::in_region("IT").unwrap()).as_deref(),
            Ok("+390612345678")
        );
        let bad = [
            "",
            "+",
            "+46",
            "+46-12",
            "+123",
            "+1234567890123456",
            "abc",
            "+46701234567 ext 5",
            "+46٣01234567",
            "++46701234567",
            "+999123456789",
            "+1415555267",
        ];
        for text in bad {
            for defaults in [Defaults::default(), sweden()] {
                assert!(phone(text, &defaults).is_err(), "{text} became {:?}", phone(text, &defaults));
            }
        }
        assert!(phone("070-123 45 67", &Defaults::default()).unwrap_err().contains("has no country code"));
        assert!(Defaults::in_region("XX").is_err());
    }
}
