//! Correlation tags: the Correlation Data of a message, so that an answer finds its delivery and nobody can
//! speak for another's.
//!
//! `1a.2b.0123456789abcdef0123.site/7`: the alert's and the endpoint's number in hexadecimal, the first 80
//! bits of an HMAC-SHA256 over both and the address, and the address. Devices repeat it as it is (MQTT 5,
//! section 3.3.2.3.6).

use records::{AlertNo, EndpointNo};
use ring::hmac;

/// Octets of the MAC that are kept.
const MAC_OCTETS: usize = 10;
/// No tag is longer: two numbers, the MAC, three dots, an address.
const TAG_OCTETS_MAX: usize = 16 + 8 + 2 * MAC_OCTETS + 3 + 1_024;
/// Begins what is signed, so that a tag of another purpose under the same secret is none of these.
const PURPOSE: &[u8] = b"mqtt";

/// A delivery, as a tag names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaggedDelivery {
    pub(super) alert: AlertNo,
    pub(super) endpoint: EndpointNo,
    /// The endpoint's address.
    pub(super) address: String,
}

/// Makes and reads tags under one secret.
#[derive(Clone)]
pub(crate) struct CorrelationTags {
    key: hmac::Key,
}

impl CorrelationTags {
    /// `secret`: the same in every process that has the route, kept over restarts.
    pub(super) fn new(secret: &[u8]) -> CorrelationTags {
        CorrelationTags { key: hmac::Key::new(hmac::HMAC_SHA256, secret) }
    }

    /// The tag of a delivery.
    pub(super) fn tag(&self, alert: AlertNo, endpoint: EndpointNo, address: &str) -> Vec<u8> {
        let mac: String =
            self.mac(alert, endpoint, address).iter().map(|octet| format!("{octet:02x}")).collect();
        format!("{:x}.{:x}.{mac}.{address}", alert.0, endpoint.0).into_bytes()
    }

    /// The delivery a tag was made for; nothing if it was not made under this secret.
    pub(super) fn read(&self, tag: &[u8]) -> Option<TaggedDelivery> {
        if tag.len() > TAG_OCTETS_MAX {
            return None;
        }
        let mut parts = std::str::from_utf8(tag).ok()?.splitn(4, '.');
        let alert = AlertNo(number(parts.next()?)?);
        let endpoint = EndpointNo(number(parts.next()?)?.try_into().ok()?);
        let (mac, address) = (parts.next()?, parts.next()?);
        if mac.len() != 2 * MAC_OCTETS || !mac.is_ascii() {
            return None;
        }
        let expected = self.mac(alert, endpoint, address);
        let mut difference = 0;
        for (pair, expected) in mac.as_bytes().chunks_exact(2).zip(expected) {
            let octet = number(std::str::from_utf8(pair).ok()?)? as u8;
            // All octets are compared, so that the time says nothing of the place.
            difference |= octet ^ expected;
        }
        (difference == 0).then(|| TaggedDelivery { alert, endpoint, address: address.to_owned() })
    }

    fn mac(&self, alert: AlertNo, endpoint: EndpointNo, address: &str) -> [u8; MAC_OCTETS] {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(PURPOSE);
        context.update(&alert.0.to_be_bytes());
        context.update(&endpoint.0.to_be_bytes());
        context.update(address.as_bytes());
        let mut mac = [0; MAC_OCTETS];
        mac.copy_from_slice(&context.sign().as_ref()[..MAC_OCTETS]);
        mac
    }
}

/// Hexadecimal in small letters without sign, as [`CorrelationTags::tag`] writes it.
fn number(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|octet| matches!(octet, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"a secret of sixteen octets";

    #[test]
    fn a_tag_leads_back_to_its_delivery() {
        let tags = CorrelationTags::new(SECRET);
        for (alert, endpoint, address) in
            [(0, 0, "a"), (26, 43, "site.7/ö"), (u64::MAX, u32::MAX, "..."), (1, 2, &"x".repeat(256))]
        {
            let (alert, endpoint, address) = (AlertNo(alert), EndpointNo(endpoint), address.to_owned());
            let tag = tags.tag(alert, endpoint, &address);
            assert!(tag.len() <= TAG_OCTETS_MAX);
            assert_eq!(tags.read(&tag), Some(TaggedDelivery { alert, endpoint, address }));
        }
    }

    #[test]
    fn a_tag_of_another_secret_or_delivery_is_none() {
        let tags = CorrelationTags::new(SECRET);
        let tag = tags.tag(AlertNo(26), EndpointNo(43), "site/7");
        assert_eq!(CorrelationTags::new(b"another secret of octets").read(&tag), None);
        for place in 0..tag.len() {
            let mut forged = tag.clone();
            forged[place] = if forged[place] == b'7' { b'8' } else { b'7' };
            assert_eq!(tags.read(&forged), None, "octet {place}");
            assert_eq!(tags.read(&tag[..place]), None, "cut at {place}");
        }
        let upper = String::from_utf8(tag.clone()).unwrap().to_uppercase();
        let long = [&tag[..], &[b'x'; TAG_OCTETS_MAX]].concat();
        for forged in [upper.as_bytes(), &long, b"", b"...", &[0xFF; 20]] {
            assert_eq!(tags.read(forged), None);
        }
    }
}
