//! Tags: what an answer address and an envelope sender carry, so that a reply or a bounce finds its delivery,
//! and nobody can speak for another's.
//!
//! `answers+1a.2b.0123456789abcdef0123@alerts.example`: the alert's and the endpoint's number in hexadecimal,
//! and the first 80 bits of an HMAC-SHA256 over both and the purpose. A tag has lower-case letters, digits
//! and dots alone and is read in any case, because relays on the way may change it.

use records::{AlertNo, EndpointNo};
use ring::hmac;

/// Octets of the MAC that are kept.
const MAC_OCTETS: usize = 10;
/// No tag is longer: two numbers, the MAC, two dots.
pub const TAG_OCTETS_MAX: usize = 16 + 8 + 2 * MAC_OCTETS + 2;

/// What a tagged address is for. A tag made for one is none for the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// People reply to it.
    Answers,
    /// Mail systems return to it.
    Bounces,
}

impl Purpose {
    /// The mailbox before the `+`.
    pub fn mailbox(self) -> &'static str {
        match self {
            Purpose::Answers => "answers",
            Purpose::Bounces => "bounces",
        }
    }
}

/// Makes and reads tags under one secret.
#[derive(Clone)]
pub struct Tags {
    key: hmac::Key,
}

impl Tags {
    /// `secret`: at least 16 octets, the same in every process that shares the domain, kept over restarts.
    pub fn new(secret: &[u8]) -> Tags {
        Tags { key: hmac::Key::new(hmac::HMAC_SHA256, secret) }
    }

    /// The tag of a delivery.
    pub fn tag(&self, purpose: Purpose, alert: AlertNo, endpoint: EndpointNo) -> String {
        let mut tag = format!("{:x}.{:x}.", alert.0, endpoint.0);
        for octet in self.mac(purpose, alert, endpoint) {
            tag.push(char::from_digit(u32::from(octet >> 4), 16).unwrap_or('0'));
            tag.push(char::from_digit(u32::from(octet & 15), 16).unwrap_or('0'));
        }
        tag
    }

    /// The delivery a tag was made for; nothing if it was not made here for this purpose.
    pub fn read(&self, purpose: Purpose, tag: &str) -> Option<(AlertNo, EndpointNo)> {
        if tag.len() > TAG_OCTETS_MAX {
            return None;
        }
        let tag = tag.to_ascii_lowercase();
        let mut parts = tag.split('.');
        let alert = AlertNo(number(parts.next()?)?);
        let endpoint = EndpointNo(number(parts.next()?)?.try_into().ok()?);
        let mac = parts.next()?;
        if parts.next().is_some() || mac.len() != 2 * MAC_OCTETS || !mac.is_ascii() {
            return None;
        }
        let expected = self.mac(purpose, alert, endpoint);
        let mut difference = 0;
        for (pair, expected) in mac.as_bytes().chunks_exact(2).zip(expected) {
            let octet = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
            // All octets are compared, so that the time says nothing of the place.
            difference |= octet ^ expected;
        }
        (difference == 0).then_some((alert, endpoint))
    }

    /// The whole address: `answers+TAG@domain`.
    pub fn address(&self, purpose: Purpose, alert: AlertNo, endpoint: EndpointNo, domain: &str) -> String {
        format!("{}+{}@{domain}", purpose.mailbox(), self.tag(purpose, alert, endpoint))
    }

    fn mac(&self, purpose: Purpose, alert: AlertNo, endpoint: EndpointNo) -> [u8; MAC_OCTETS] {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(purpose.mailbox().as_bytes());
        context.update(&alert.0.to_be_bytes());
        context.update(&endpoint.0.to_be_bytes());
        let mut mac = [0; MAC_OCTETS];
        mac.copy_from_slice(&context.sign().as_ref()[..MAC_OCTETS]);
        mac
    }
}

impl std::fmt::Debug for Tags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tags")
    }
}

/// Hexadecimal without sign, as [`Tags::tag`] writes it.
fn number(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|octet| octet.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"a secret of sixteen octets";

    #[test]
    fn a_tag_leads_back_to_its_delivery_in_any_case() {
        let tags = Tags::new(SECRET);
        for (alert, endpoint) in [(0, 0), (1, 2), (26, 43), (u64::MAX, u32::MAX)] {
            let delivery = (AlertNo(alert), EndpointNo(endpoint));
            for purpose in [Purpose::Answers, Purpose::Bounces] {
                let tag = tags.tag(purpose, delivery.0, delivery.1);
                assert!(tag.len() <= TAG_OCTETS_MAX, "{tag}");
                assert_eq!(tags.read(purpose, &tag), Some(delivery));
                assert_eq!(tags.read(purpose, &tag.to_ascii_uppercase()), Some(delivery));
                let address = tags.address(purpose, delivery.0, delivery.1, "alerts.example");
                assert!(address.split('@').next().is_some_and(|local| local.len() <= 64), "{address}");
            }
        }
    }

    #[test]
    fn a_tag_of_another_purpose_secret_or_delivery_is_none() {
        let tags = Tags::new(SECRET);
        let tag = tags.tag(Purpose::Answers, AlertNo(26), EndpointNo(43));
        assert_eq!(tags.read(Purpose::Bounces, &tag), None);
        assert_eq!(Tags::new(b"another secret of octets").read(Purpose::Answers, &tag), None);
        let mac = tag.rsplit('.').next().unwrap();
        for forged in [
            format!("1a.2c.{mac}"),
            format!("1b.2b.{mac}"),
            format!("1a.2b.{}", &mac[..18]),
            format!("1a.2b.{mac}00"),
            format!("1a.2b.{mac}.x"),
            format!("1a.2b.{}g", &mac[..19]),
            format!("1a.1000000002b.{mac}"),
            format!("+1a.2b.{mac}"),
            "1a.2b.".to_owned(),
            String::new(),
            "..".to_owned(),
            "é".repeat(23),
        ] {
            assert_eq!(tags.read(Purpose::Answers, &forged), None, "{forged}");
        }
        for place in 0..tag.len() {
            let mut forged = tag.clone().into_bytes();
            forged[place] = if forged[place] == b'7' { b'8' } else { b'7' };
            assert_eq!(
                tags.read(Purpose::Answers, std::str::from_utf8(&forged).unwrap()),
                None,
                "octet {place}"
            );
        }
    }
}
