//! Links to the answer page: the holder of one may answer for that endpoint, and do nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use records::{AlertNo, EndpointNo, Timestamp};
use ring::hmac;

/// Octets of the signing key.
pub const LINK_KEY_OCTETS: usize = 32;
/// Octets of HMAC-SHA256 kept in a link: 96 bits, which only this server can check, and short enough for a
/// short message.
pub(crate) const TAG_OCTETS: usize = 12;
/// Prefix of the signed octets, so that the key cannot sign anything else by accident.
const PURPOSE: &[u8] = b"campanile answer link 1\0";
/// Characters of the longest token: two numbers of at most 10 and 5 octets, and the tag.
const TOKEN_CHARS_MAX: usize = 36;

/// Makes and reads answer links.
pub struct AnswerLinks {
    key: hmac::Key,
    public_url: Option<String>,
}

impl AnswerLinks {
    /// `public_url` is where people reach this server, such as `https://alerts.example`; without it there are
    /// no links.
    pub fn new(key: &[u8; LINK_KEY_OCTETS], public_url: Option<&str>) -> AnswerLinks {
        AnswerLinks {
            key: hmac::Key::new(hmac::HMAC_SHA256, key),
            public_url: public_url.map(|url| url.trim_end_matches('/').to_owned()),
        }
    }

    /// The token of one delivery.
    pub fn token(&self, alert: AlertNo, endpoint: EndpointNo) -> String {
        let mut bytes = Vec::with_capacity(15 + TAG_OCTETS);
        put_number(&mut bytes, alert.0);
        put_number(&mut bytes, u64::from(endpoint.0));
        let tag = self.tag(alert, endpoint);
        bytes.extend_from_slice(&tag.as_ref()[..TAG_OCTETS]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The delivery a token stands for; nothing if we did not make it.
    pub fn read(&self, token: &str) -> Option<(AlertNo, EndpointNo)> {
        if token.len() > TOKEN_CHARS_MAX {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let mut rest = bytes.as_slice();
        let alert = AlertNo(take_number(&mut rest)?);
        let endpoint = EndpointNo(u32::try_from(take_number(&mut rest)?).ok()?);
        let expected = self.tag(alert, endpoint);
        same(rest, &expected.as_ref()[..TAG_OCTETS]).then_some((alert, endpoint))
    }

    /// The first octets of a MAC over these pieces, for a token of another purpose. `purpose` ends with a
    /// zero octet.
    pub(crate) fn mac(&self, purpose: &[u8], pieces: &[&[u8]]) -> [u8; TAG_OCTETS] {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(purpose);
        pieces.iter().for_each(|piece| context.update(piece));
        let mut mac = [0; TAG_OCTETS];
        mac.copy_from_slice(&context.sign().as_ref()[..TAG_OCTETS]);
        mac
    }

    /// Where others reach this server, without a `/` behind it; nothing if no public address is configured.
    pub(crate) fn public_url(&self) -> Option<&str> {
        self.public_url.as_deref()
    }

    fn tag(&self, alert: AlertNo, endpoint: EndpointNo) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(PURPOSE);
        context.update(&alert.0.to_be_bytes());
        context.update(&endpoint.0.to_be_bytes());
        context.sign()
    }
}

impl engine::Links for AnswerLinks {
    fn link(&self, alert: AlertNo, endpoint: EndpointNo) -> Option<String> {
        let base = self.public_url.as_deref()?;
        Some(format!("{base}/a/{}", self.token(alert, endpoint)))
    }

    fn page(&self, account: &str, recipient: &str, now: Timestamp) -> Option<String> {
        self.page_link(account, recipient, now).map(|(url, _)| url)
    }

    fn keyed_hash(&self, purpose: &str, pieces: &[&[u8]]) -> engine::KeyedHash {
        self.hash_of(purpose, pieces)
    }
}

/// Compares in a time that does not depend on where they differ.
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (x, y)| differ | (x ^ y)) == 0
}

/// Seven bits an octet, least first; the top bit is set if more follow.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(crate) fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (first, tail) = rest.split_first()?;
        *rest = tail;
        let bits = u64::from(first & 0x7f);
        if (bits << shift) >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Links;
    use proptest::prelude::*;

    fn links() -> AnswerLinks {
        AnswerLinks::new(&[7; LINK_KEY_OCTETS], Some("https://alerts.example/"))
    }

    #[test]
    fn a_link_is_short_and_leads_back_to_its_delivery() {
        let link = links().link(AlertNo(41), EndpointNo(70_000)).unwrap();
        assert!(link.starts_with("https://alerts.example/a/") && link.len() <= 25 + 24, "{link}");
        let token = link.rsplit('/').next().unwrap();
        assert_eq!(links().read(token), Some((AlertNo(41), EndpointNo(70_000))));
        assert_eq!(AnswerLinks::new(&[8; LINK_KEY_OCTETS], None).read(token), None);
        assert_eq!(AnswerLinks::new(&[8; LINK_KEY_OCTETS], None).link(AlertNo(1), EndpointNo(1)), None);
    }

    proptest! {
        #[test]
        fn every_delivery_has_a_token_of_its_own(alert: u64, endpoint: u32) {
            let token = links().token(AlertNo(alert), EndpointNo(endpoint));
            prop_assert!(token.len() <= TOKEN_CHARS_MAX);
            prop_assert_eq!(links().read(&token), Some((AlertNo(alert), EndpointNo(endpoint))));
        }

        #[test]
        fn a_changed_token_is_nobodys(alert: u64, endpoint: u32, at: prop::sample::Index, bit in 0u8..8) {
            let token = links().token(AlertNo(alert), EndpointNo(endpoint));
            let mut bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(links().read(&URL_SAFE_NO_PAD.encode(&bytes)), None);
        }

        #[test]
        fn no_text_whatever_makes_it_fall(text in ".{0,60}") {
            prop_assert_eq!(links().read(&text), None);
        }
    }
}
