//! Signatures of what comes back by itself: data of a button, and the start of a chat by a link.
//!
//! Telegram returns what a button carries, at most 64 octets, from whoever presses it, and what a link
//! `t.me/BOT?start=…` carries, at most 64 letters of base64url. Both are signed with the server's key: nobody
//! can answer for another.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use records::{AlertNo, EndpointNo};
use ring::hmac;

/// Octets of the MAC that are kept.
const MAC_OCTETS: usize = 9;
/// Letters of them: three octets are four letters.
const MAC_LETTERS: usize = MAC_OCTETS / 3 * 4;
/// Octets that a button carries at most (Bot API, `callback_data`).
pub(super) const CALLBACK_OCTETS_MAX: usize = 64;
/// Letters that a link carries at most (Bot API, "Deep Linking").
const START_LETTERS_MAX: usize = 64;

/// What a signature is for: one made for one purpose is none for the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Callback,
    Start,
}

impl Purpose {
    fn word(self) -> &'static [u8] {
        match self {
            Purpose::Callback => b"im callback",
            Purpose::Start => b"im start",
        }
    }
}

/// Signs and verifies under one secret.
#[derive(Clone)]
pub struct ImSigner {
    key: hmac::Key,
}

impl std::fmt::Debug for ImSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ImSigner")
    }
}

impl ImSigner {
    /// `secret`: the same in every process, kept over restarts.
    pub fn new(secret: &[u8]) -> ImSigner {
        ImSigner { key: hmac::Key::new(hmac::HMAC_SHA256, secret) }
    }

    /// Data of the button by which a delivery is answered with the choice of this key:
    /// `ALERT.ENDPOINT.MAC.KEY`. Nothing where it has no room.
    pub(super) fn callback(&self, alert: AlertNo, endpoint: EndpointNo, key: &str) -> Option<String> {
        let front = format!("{:x}.{:x}", alert.0, endpoint.0);
        let mac = self.mac(Purpose::Callback, &format!("{front}.{key}"));
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
        let expected = self.mac(Purpose::Callback, &format!("{alert}.{endpoint}.{key}"));
        if !is_same(mac, &expected) {
            return None;
        }
        let alert = u64::from_str_radix(alert, 16).ok()?;
        Some((AlertNo(alert), EndpointNo(u32::from_str_radix(endpoint, 16).ok()?), key))
    }

    /// The link by which a person begins a chat with the bot, signed for them: a bot cannot write first.
    /// Nothing where the recipient's id has no room in it (over 39 octets).
    pub fn start_link(&self, bot: &str, recipient: &str) -> Option<String> {
        let id = BASE64_URL_SAFE_NO_PAD.encode(recipient);
        let payload = format!("{id}{}", self.mac(Purpose::Start, recipient));
        (payload.len() <= START_LETTERS_MAX).then(|| format!("https://t.me/{bot}?start={payload}"))
    }

    /// The recipient whose link began a chat, by what the link carried; nothing where it was not signed here.
    pub fn read_start(&self, payload: &str) -> Option<String> {
        if payload.len() > START_LETTERS_MAX || !payload.is_ascii() {
            return None;
        }
        let (id, mac) = payload.split_at_checked(payload.len().checked_sub(MAC_LETTERS)?)?;
        let recipient = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(id).ok()?).ok()?;
        is_same(mac, &self.mac(Purpose::Start, &recipient)).then_some(recipient)
    }

    fn mac(&self, purpose: Purpose, text: &str) -> String {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(purpose.word());
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

    #[test]
    fn a_link_begins_the_chat_of_the_person_it_was_signed_for() {
        let signer = signer();
        for recipient in ["ext-77", "\u{e5}sa", &"x".repeat(39)] {
            let link = signer.start_link("city_bot", recipient).unwrap();
            let payload = link.strip_prefix("https://t.me/city_bot?start=").unwrap();
            assert!(payload.len() <= START_LETTERS_MAX, "{payload}");
            assert!(
                payload.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_')),
                "{payload}"
            );
            assert_eq!(signer.read_start(payload).as_deref(), Some(recipient));
            let forged = payload.replacen(&payload[..1], if &payload[..1] == "Z" { "Y" } else { "Z" }, 1);
            assert_eq!(signer.read_start(&forged), None);
            assert_eq!(ImSigner::new(b"another").read_start(payload), None);
        }
        assert_eq!(signer.start_link("city_bot", &"x".repeat(40)), None);
        for nothing in ["", "x", "\u{e5}\u{e5}\u{e5}\u{e5}\u{e5}\u{e5}\u{e5}", &"x".repeat(65)] {
            assert_eq!(signer.read_start(nothing), None, "{nothing}");
        }
    }
}
