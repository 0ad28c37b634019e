//! Mail addresses in the form they are kept: addr-spec (RFC 5322, 3.4.1), the domain in lower case.

/// RFC 5321, 4.5.3.1.1.
const LOCAL_OCTETS_MAX: usize = 64;
/// RFC 5321, 4.5.3.1.3, less the angle brackets.
const OCTETS_MAX: usize = 254;
/// RFC 1035, 2.3.4.
const LABEL_OCTETS_MAX: usize = 63;

/// A mail address with its domain in lower case.
pub(crate) fn mail(text: &str) -> Result<String, String> {
    let text = text.trim();
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
            &long,
        ];
        for text in bad {
            assert!(mail(text).is_err(), "{text:?}");
        }
    }
}
