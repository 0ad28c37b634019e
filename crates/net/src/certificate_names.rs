//! Names in a certificate: whom it is for. Read from one that was verified already, so nothing is judged
//! here; what does not read has no names.

use std::fmt::Display;
use x509_cert::Certificate;
use x509_cert::der::asn1::{Ia5StringRef, PrintableStringRef, TeletexStringRef, Utf8StringRef};
use x509_cert::der::oid::db::rfc4519::COMMON_NAME;
use x509_cert::der::{Any, Decode, Tag, Tagged};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

/// A certificate names at most so many hosts to us.
const NAMES_MAX: usize = 256;

/// The dNSNames of a certificate in DER; of one without any, its common name (RFC 6125, section 6.4.4).
pub(crate) fn names(der: &[u8]) -> Vec<String> {
    let Ok(certificate) = Certificate::from_der(der) else { return Vec::new() };
    let alternative = dns_names(&certificate);
    if alternative.is_empty() { common_name(&certificate).into_iter().collect() } else { alternative }
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

fn dns_names(certificate: &Certificate) -> Vec<String> {
    let Ok(Some((_, SubjectAltName(names)))) = certificate.tbs_certificate.get::<SubjectAltName>() else {
        return Vec::new();
    };
    let dns = names.into_iter().filter_map(|name| match name {
        GeneralName::DnsName(name) => text(name),
        _ => None,
    });
    dns.take(NAMES_MAX).collect()
}

/// The last one, which is the most specific.
fn common_name(certificate: &Certificate) -> Option<String> {
    let sets = &certificate.tbs_certificate.subject.0;
    let attributes = sets.iter().flat_map(|set| set.0.iter());
    attributes.filter(|one| one.oid == COMMON_NAME).filter_map(|one| directory_string(&one.value)).next_back()
}

/// A string of a name, of the kinds that are ASCII where they name a host (RFC 5280, section 4.1.2.4).
fn directory_string(value: &Any) -> Option<String> {
    match value.tag() {
        Tag::PrintableString => PrintableStringRef::try_from(value).ok().and_then(text),
        Tag::Utf8String => Utf8StringRef::try_from(value).ok().and_then(text),
        Tag::TeletexString => TeletexStringRef::try_from(value).ok().and_then(text),
        Tag::Ia5String => Ia5StringRef::try_from(value).ok().and_then(text),
        _ => None,
    }
}

fn text(name: impl Display) -> Option<String> {
    Some(name.to_string()).filter(|text| !text.is_empty())
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
