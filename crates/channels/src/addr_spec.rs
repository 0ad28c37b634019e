//! Mail addresses in the form they are kept: addr-spec (RFC 5322, 3.4.1), the domain in lower case.

use crate::legible;
use std::borrow::Cow;

/// RFC 5321, 4.5.3.1.1.
const LOCAL_OCTETS_MAX: usize = 64;
/// RFC 5321, 4.5.3.1.3, less the angle brackets.
const OCTETS_MAX: usize = 254;
/// RFC 1035, 2.3.4.
const LABEL_OCTETS_MAX: usize = 63;

/// A mail address with its domain in lower case. Also out of a link (`mailto:a@b`) and from behind a name
/// (`Ann <a@b>`).
pub(crate) fn mail(text: &str) -> Result<String, String> {
    let text = legible::address(text);
    let text = bare(&text);
    let refused = |why: &str| Err(format!("{text:?} is not a mail address: {why}"));
    let Some((local, domain)) = text.rsplit_once('@') else {
        return refused("it has no @");
    };
    if text.len() > OCTETS_MAX || local.len() > LOCAL_OCTETS_MAX {
        return Err(format!(
            "a mail address of {} octets is too long: at most {OCTETS_MAX}, {LOCAL_OCTETS_MAX} before the @",
            text.len()
        ));
    }
    if !text.is_ascii() {
        return refused("write it in ASCII, the domain in its xn-- form");
    }
    if !is_local(local) {
        return refused("what stands before the @ cannot");
    }
    if !is_domain(domain) {
        return refused("what stands behind the @ is not a domain");
    }
    Ok(format!("{local}@{}", domain.to_ascii_lowercase()))
}

/// What mailboxes have in common that differ in case or in quotes that are not needed (RFC 5321, 4.1.2).
pub(crate) fn key(address: &str) -> Cow<'_, str> {
    let unquoted = address.rsplit_once('@').and_then(|(local, domain)| {
        let plain = local.strip_prefix('"')?.strip_suffix('"')?;
        let is_plain = plain.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atext));
        is_plain.then(|| format!("{plain}@{domain}").to_ascii_lowercase())
    });
    match unquoted {
        Some(key) => Cow::Owned(key),
        None if address.bytes().any(|octet| octet.is_ascii_uppercase()) => {
            Cow::Owned(address.to_ascii_lowercase())
        }
        None => Cow::Borrowed(address),
    }
}

/// The address alone, where a link or a name is around it.
fn bare(text: &str) -> &str {
    const LINK: &str = "mailto:";
    if let Some(rest) = text.get(LINK.len()..).filter(|_| text[..LINK.len()].eq_ignore_ascii_case(LINK)) {
        let at = rest.find('@').unwrap_or(0);
        return rest.find('?').filter(|end| *end > at).map_or(rest, |end| &rest[..end]);
    }
    let is_name = |name: &str| !name.contains(|c: char| c.is_control() || matches!(c, '@' | '<' | '>'));
    match text.strip_suffix('>').and_then(|rest| rest.split_once('<')) {
        Some((name, address)) if is_name(name) => address.trim(),
        _ => text,
    }
}

/// dot-atom or quoted-string (RFC 5322, 3.2.3 and 3.2.4), without comments and folding.
fn is_local(local: &str) -> bool {
    if let Some(quoted) = local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        let mut escaped = false;
        let plain = quoted.bytes().all(|octet| {
            let bare = !escaped && octet == b'"';
            escaped = !escaped && octet == b'\\';
            (b' '..=b'~').contains(&octet) && !bare
        });
        return plain && !escaped;
    }
    let atom = |atom: &str| !atom.is_empty() && atom.bytes().all(is_atext);
    local.split('.').all(atom)
}

fn is_atext(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&octet)
}

fn is_domain(domain: &str) -> bool {
    if let Some(literal) = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let v6 = literal.strip_prefix("IPv6:").map(|v6| v6.parse::<std::net::Ipv6Addr>().is_ok());
        return v6.unwrap_or_else(|| literal.parse::<std::net::Ipv4Addr>().is_ok());
    }
    let label = |label: &str| {
        (1..=LABEL_OCTETS_MAX).contains(&label.len())
            && label.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    domain.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_addresses_keep_their_local_part_as_written() {
        let good = [
            ("Ann@Example.SE", "Ann@example.se"),
            (" a.b+c@x ", "a.b+c@x"),
            ("\"a b@c\"@x.se", "\"a b@c\"@x.se"),
            ("\"a\\\"b\"@x.se", "\"a\\\"b\"@x.se"),
            ("o'hara@[192.0.2.1]", "o'hara@[192.0.2.1]"),
            ("a@[IPv6:2001:DB8::1]", "a@[ipv6:2001:db8::1]"),
            ("mailto:Ann@x.se", "Ann@x.se"),
            ("MAILTO:ann@x.se?subject=Fire", "ann@x.se"),
            ("\u{200b}ann\u{2011}b@x.se\u{200e}", "ann-b@x.se"),
            ("Ann Berg <ann@x.se>", "ann@x.se"),
            ("<ann@x.se>", "ann@x.se"),
        ];
        for (text, expected) in good {
            assert_eq!(mail(text).as_deref(), Ok(expected), "{text}");
        }
        let long = format!("{}@x.se", "a".repeat(65));
        let bad = [
            "",
            "@",
            "a@",
            "@x.se",
            "a",
            "a b@x.se",
            "a..b@x.se",
            ".a@x.se",
            "a@-x.se",
            "a@x..se",
            "a@x_y.se",
            "å@x.se",
            "a@å.se",
            "a\r\nRCPT TO:<b@x.se>@x.se",
            "\"a@x.se",
            "\"a\"b\"@x.se",
            "a@[300.1.1.1]",
            "nobody@",
            "b@x.se <ann@x.se>",
            "Ann\r\nBcc: <ann@x.se>",
            "Ann <>",
            "mailto:",
            &long,
        ];
        for text in bad {
            assert!(mail(text).is_err(), "{text:?}");
        }
    }
    #[test]
    fn one_mailbox_has_one_key_however_it_is_written() {
        for written in ["ann@example.org", "Ann@example.org", "ANN@EXAMPLE.ORG", "\"ann\"@example.org"] {
            assert_eq!(key(written), "ann@example.org", "{written}");
        }
        for (one, other) in [("a.b@x", "ab@x"), ("a+b@x", "a@x"), ("\"a b\"@x", "ab@x"), ("a@x", "a@y")] {
            assert_ne!(key(one), key(other));
        }
        assert_eq!(key("\"A b\"@x"), "\"a b\"@x");
    }
}
