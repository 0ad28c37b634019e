//! Signatures of the data of buttons.
//!
//! Telegram returns what a button carries, at most 64 octets, from whoever presses it. It is signed with the
//! server's key: nobody can answer for another.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use records::{AlertNo, EndpointNo};
use ring::hmac;

/// Octets of the MAC that are kept.
const MAC_OCTETS: usize = 9;
/// Octets that a button carries at most (Bot API, `callback_data`).
pub(super) const CALLBACK_OCTETS_MAX: usize = 64;
/// Prefix of the signed text, so that the key cannot sign anything else by accident.
const PURPOSE: &[u8] = b"im callback";

/// Signs and verifies under one secret.
#[derive(Clone)]
pub(super) struct ImSigner {
    key: hmac::Key,
}

impl std::fmt::Debug for ImSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ImSigner")
    }
}

impl ImSigner {
    /// `secret`: the same in every process, kept over restarts.
    pub(super) fn new(secret: &[u8]) -> ImSigner {
        ImSigner { key: hmac::Key::new(hmac::HMAC_SHA256, secret) }
    }

    /// Data of the button by which a delivery is answered with the choice of this key:
    /// `ALERT.ENDPOINT.MAC.KEY`. Nothing where it has no room.
    pub(super) fn callback(&self, alert: AlertNo, endpoint: EndpointNo, key: &str) -> Option<String> {
        let front = format!("{:x}.{:x}", alert.0, endpoint.0);
        let mac = self.mac(&format!("{front}.{key}"));
        let data = format!("{front}.{mac}.{key}");
        (data.len() <= CALLBACK_OCTETS_MAX).then_some(data)
    }

    /// The delivery and the choice that a button's data name; nothing where they were not signed here.
    pub(super) fn read_callback<'d>(&self, data: &'d str) -> Option<(AlertNo, EndpointNo, &'d str)> {
        if data.len() > CALLBACK_OCTETS_MAX {
            return None;
        }
        let mut parts = data.splitn(4, '.');
        let (alert, endpoint, mac, key) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let expected = self.mac(&format!("{alert}.{endpoint}.{key}"));
        if !is_same(mac, &expected) {
            return None;
        }
        let alert = u64::from_str_radix(alert, 16).ok()?;
        Some((AlertNo(alert), EndpointNo(u32::from_str_radix(endpoint, 16).ok()?), key))
    }

    fn mac(&self, text: &str) -> String {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(PURPOSE);
        context.update(&[0]);
        context.update(text.as_bytes());
        BASE64_URL_SAFE_NO_PAD.encode(&context.sign().as_ref()[..MAC_OCTETS])
    }
}

/// Compares all octets, so that the time says nothing of the place of a difference.
fn is_same(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    one.len() == other.len() && pairs.fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer() -> ImSigner {
        ImSigner::new(b"a secret of sixteen octets")
    }

    #[test]
    fn a_button_leads_back_to_its_delivery_and_choice() {
        let signer = signer();
        for (alert, endpoint) in [(0, 0), (26, 43), (u64::MAX, u32::MAX)] {
            for key in ["1", "yes", "a.b", "sixteen letters!"] {
                let delivery = (AlertNo(alert), EndpointNo(endpoint), key);
                let data = signer.callback(delivery.0, delivery.1, key).unwrap();
                assert!(data.len() <= CALLBACK_OCTETS_MAX, "{data}");
                assert_eq!(signer.read_callback(&data), Some(delivery));
            }
        }
        assert_eq!(signer.callback(AlertNo(1), EndpointNo(1), &"x".repeat(60)), None);
    }

    #[test]
    fn a_button_of_another_key_delivery_or_server_is_none() {
        let signer = signer();
        let data = signer.callback(AlertNo(26), EndpointNo(43), "1").unwrap();
        assert_eq!(ImSigner::new(b"another").read_callback(&data), None);
        for place in 0..data.len() {
            let mut forged = data.clone().into_bytes();
            forged[place] = if forged[place] == b'7' { b'8' } else { b'7' };
            assert_eq!(signer.read_callback(std::str::from_utf8(&forged).unwrap()), None, "octet {place}");
        }
        for forged in ["", "....", "1a.2b", "1a.2b..1", "\u{e9}.\u{e9}.\u{e9}.1", &"1.".repeat(40)] {
            assert_eq!(signer.read_callback(forged), None, "{forged}");
        }
    }
}
