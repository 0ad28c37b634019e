//! Canonical forms of e-mail addresses and phone numbers (RFC 7643 4.1.2).

/// Digits of a phone number in E.164, without the `+`.
const PHONE_DIGITS_MAX: usize = 15;
/// Digits of the shortest number: emergency and short codes.
const PHONE_DIGITS_MIN: usize = 2;
/// Octets of an e-mail address (RFC 5321 4.5.3.1.3, without the angle brackets).
const EMAIL_OCTETS_MAX: usize = 254;

/// An e-mail address without blanks around it and with its domain in lower case: `bjensen@EXAMPLE.COM` is
/// `bjensen@example.com`. The local part keeps its case.
///
/// Returns `None` for what is no address: a person with it can be provisioned, but not be reached by it.
pub fn canonical_email(text: &str) -> Option<String> {
    let text = text.trim();
    let (local, domain) = text.rsplit_once('@')?;
    let is_bad = |part: &str| part.is_empty() || part.chars().any(|c| c.is_whitespace() || c.is_control());
    if is_bad(local) || is_bad(domain) || text.len() > EMAIL_OCTETS_MAX {
        return None;
    }
    Some(format!("{local}@{}", domain.to_lowercase()))
}

/// A phone number as an alert is sent to it: digits, with `+` before an international one. `tel:` and the
/// visual separators of RFC 3966 are taken away: `tel:+1-201-555-0123` is `+12015550123`. An extension or any
/// other parameter after `;` is left out.
///
/// Returns `None` for what is no number of 2 to 15 digits. Resources keep numbers as they were sent.
pub fn canonical_phone(text: &str) -> Option<String> {
    let text = text.trim();
    let has_scheme = text.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("tel:"));
    let text = if has_scheme { &text[4..] } else { text };
    let text = text.split(';').next().unwrap_or_default();
    let (plus, rest) = match text.trim_start().strip_prefix('+') {
        Some(rest) => ("+", rest),
        None => ("", text),
    };
    let mut digits = String::from(plus);
    for c in rest.chars() {
        match c {
            '0'..='9' => digits.push(c),
            '-' | '.' | '(' | ')' | ' ' | '\u{a0}' => {}
            _ => return None,
        }
        if digits.len() - plus.len() > PHONE_DIGITS_MAX {
            return None;
        }
    }
    (digits.len() - plus.len() >= PHONE_DIGITS_MIN).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_domain_of_an_address_is_in_lower_case_and_its_local_part_is_kept() {
        for (text, expected) in [
            ("bjensen@EXAMPLE.COM", Some("bjensen@example.com")),
            (" BJensen@example.com ", Some("BJensen@example.com")),
            ("\"a@b\"@example.com", Some("\"a@b\"@example.com")),
            ("anna@Öberg.example", Some("anna@öberg.example")),
            ("bjensen", None),
            ("@example.com", None),
            ("a@", None),
            ("a b@example.com", None),
            ("", None),
        ] {
            assert_eq!(canonical_email(text).as_deref(), expected, "{text}");
        }
        assert_eq!(canonical_email(&format!("{}@example.com", "a".repeat(250))), None);
    }

    #[test]
    fn a_phone_number_is_its_digits_and_its_plus() {
        for (text, expected) in [
            ("tel:+1-201-555-0123", Some("+12015550123")),
            ("TEL:+44 (20) 7946.0123;ext=12", Some("+442079460123")),
            ("555-555-5555", Some("5555555555")),
            ("0123456789", Some("0123456789")),
            ("112", Some("112")),
            ("+1", None),
            ("1", None),
            ("+", None),
            ("call me", None),
            ("+1234567890123456", None),
            ("12+34", None),
            ("", None),
        ] {
            assert_eq!(canonical_phone(text).as_deref(), expected, "{text}");
        }
    }
}
