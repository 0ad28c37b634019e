//! Names in a certificate: whom it is for. Read from one that was verified already, so nothing is judged
//! here; what does not read has no names.

/// A certificate names at most so many hosts to us.
const NAMES_MAX: usize = 256;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_ID: u8 = 0x06;
const OCTET_STRING: u8 = 0x04;
/// `[0]`, constructed: the version in front of the serial number.
const VERSION: u8 = 0xA0;
/// `[3]`, constructed: the extensions.
const EXTENSIONS: u8 = 0xA3;
/// `[2]` of a GeneralName: dNSName (RFC 5280, section 4.2.1.6).
const DNS_NAME: u8 = 0x82;
/// PrintableString, UTF8String, TeletexString, IA5String: octets that are ASCII where they name a host.
const STRINGS: [u8; 4] = [0x13, 0x0C, 0x14, 0x16];
/// 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// 2.5.29.17
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1D, 0x11];

/// The dNSNames of a certificate in DER; of one without any, its common name (RFC 6125, section 6.4.4).
pub(crate) fn names(der: &[u8]) -> Vec<String> {
    let read = || {
        let (_, certificate, _) = element(der)?;
        let (_, signed, _) = element(certificate)?;
        Some(signed)
    };
    let Some(signed) = read() else { return Vec::new() };
    let mut fields = elements(signed).filter(|(tag, _)| *tag != VERSION);
    // Serial number, algorithm, issuer, validity.
    let subject = fields.nth(4).map(|(_, subject)| subject).unwrap_or_default();
    let extensions = fields.find(|(tag, _)| *tag == EXTENSIONS).map(|(_, found)| found).unwrap_or_default();
    let alternative = dns_names(extensions);
    if alternative.is_empty() { common_name(subject).into_iter().collect() } else { alternative }
}

/// Whether one of these names is this host, letters alike in either case. `*` stands for the whole first
/// label (RFC 6125, section 6.4.3).
pub fn is_named(names: &[String], host: &str) -> bool {
    let rest = host.split_once('.').map(|(_, rest)| rest);
    names.iter().any(|name| match name.strip_prefix("*.") {
        Some(domain) => rest.is_some_and(|rest| rest.eq_ignore_ascii_case(domain)) && domain.contains('.'),
        None => name.eq_ignore_ascii_case(host),
    })
}

fn dns_names(extensions: &[u8]) -> Vec<String> {
    let Some((SEQUENCE, list, _)) = element(extensions) else { return Vec::new() };
    let value = elements(list).find_map(|(_, extension)| {
        let mut fields = elements(extension);
        let is_it = fields.next() == Some((OBJECT_ID, ALTERNATIVE_NAMES));
        // Behind an optional word on whether it is critical.
        fields.filter(|_| is_it).find(|(tag, _)| *tag == OCTET_STRING).map(|(_, value)| value)
    });
    let Some((SEQUENCE, names, _)) = value.and_then(element) else { return Vec::new() };
    let dns = elements(names).filter(|(tag, _)| *tag == DNS_NAME);
    dns.filter_map(|(_, name)| text(name)).take(NAMES_MAX).collect()
}

/// The last one, which is the most specific.
fn common_name(subject: &[u8]) -> Option<String> {
    let sets = elements(subject).filter(|(tag, _)| *tag == SET);
    let attributes = sets.flat_map(|(_, set)| elements(set));
    let common = attributes.filter_map(|(_, attribute)| {
        let mut fields = elements(attribute);
        let is_it = fields.next() == Some((OBJECT_ID, COMMON_NAME));
        fields.next().filter(|(tag, _)| is_it && STRINGS.contains(tag)).map(|(_, value)| value)
    });
    common.last().and_then(text)
}

fn text(octets: &[u8]) -> Option<String> {
    std::str::from_utf8(octets).ok().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The elements of a list, up to the first that does not read.
fn elements(mut octets: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (tag, content, rest) = element(octets)?;
        octets = rest;
        Some((tag, content))
    })
}

/// The first element: tag, content, and what is behind it (X.690, sections 8.1 and 10.1).
fn element(octets: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = octets.split_first_chunk::<2>()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (length, rest) = rest.split_at_checked(usize::from(first & 0x7F))?;
        // Four octets count more than any certificate has.
        let small = length.len() <= 4;
        (small.then(|| length.iter().fold(0_usize, |sum, octet| sum << 8 | usize::from(*octet)))?, rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    fn der(common_name: &str, alternative: &[&str]) -> Vec<u8> {
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = alternative.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.subject_alt_names.push(SanType::IpAddress([127, 0, 0, 1].into()));
        params.distinguished_name.push(DnType::OrganizationName, "an organization");
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn a_certificate_is_for_its_dns_names_and_without_any_for_its_common_name() {
        assert_eq!(names(&der("cn.test", &["pgw.test", "*.epc.test"])), ["pgw.test", "*.epc.test"]);
        assert_eq!(names(&der("cn.test", &[])), ["cn.test"]);
    }

    #[test]
    fn octets_that_are_cut_or_changed_anywhere_name_nobody_else_than_they_say() {
        let whole = der("cn.test", &["pgw.test"]);
        for end in 0..whole.len() {
            let found = names(&whole[..end]);
            assert!(found.iter().all(|name| name == "pgw.test" || name == "cn.test"), "{end}: {found:?}");
            let mut changed = whole.clone();
            changed[end] ^= 0xFF;
            names(&changed);
        }
    }

    #[test]
    fn a_star_is_one_whole_label() {
        let cases = [
            ("pgw.test", "PGW.test", true),
            ("pgw.test", "pgw.test.evil", false),
            ("*.epc.test", "pgw.epc.test", true),
            ("*.epc.test", "epc.test", false),
            ("*.epc.test", "a.pgw.epc.test", false),
            ("*.test", "pgw.test", false),
            ("pgw*.epc.test", "pgw1.epc.test", false),
        ];
        for (name, host, is_it) in cases {
            assert_eq!(is_named(&[name.to_owned()], host), is_it, "{name} {host}");
        }
        assert!(!is_named(&[], "pgw.test"));
    }
}
