//! Tokens of callback URLs: `/w/TOKEN` stands for one delivery, or for one route and what is posted there.
//! Who has a token may report on that, and do nothing else.
//!
//! A token is base64url of: kind; alert and endpoint, or the route's name; the first 96 bits of HMAC-SHA256
//! over all of it, under the key of the answer links and a purpose of its own.

use crate::http::answer_page::links::{AnswerLinks, TAG_OCTETS, put_number, same, take_number};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use records::{AlertNo, CallbackPurpose, EndpointNo};

/// Prefix of the signed octets, so that the key cannot sign anything else by accident.
const PURPOSE: &[u8] = b"campanile callback 1\0";
/// Octets of a route's name.
const ROUTE_OCTETS_MAX: usize = 100;
/// Characters of the longest token: base64 of its octets.
const TOKEN_CHARS_MAX: usize = (1 + ROUTE_OCTETS_MAX + TAG_OCTETS).div_ceil(3) * 4;

const DELIVERY: u8 = 1;
const ROUTE_RECEIPTS: u8 = 2;
const ROUTE_INBOUND: u8 = 3;

/// What a callback is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallbackTarget {
    /// One delivery.
    Delivery(AlertNo, EndpointNo),
    /// A route, by its name.
    Route(String, CallbackPurpose),
}

impl AnswerLinks {
    /// The URL to which the endpoint of a delivery may post; nothing if no public address is configured.
    pub fn delivery_callback(&self, alert: AlertNo, endpoint: EndpointNo) -> Option<String> {
        self.callback_url(&CallbackTarget::Delivery(alert, endpoint))
    }

    /// The URL to which the carrier of a route may post; nothing if no public address is configured.
    pub fn route_callback(&self, route: &str, purpose: CallbackPurpose) -> Option<String> {
        self.callback_url(&CallbackTarget::Route(route.to_owned(), purpose))
    }

    fn callback_url(&self, target: &CallbackTarget) -> Option<String> {
        Some(format!("{}/w/{}", self.public_url()?, self.callback_token(target)))
    }

    /// The token of a target.
    pub(crate) fn callback_token(&self, target: &CallbackTarget) -> String {
        let mut octets = Vec::with_capacity(64);
        match target {
            CallbackTarget::Delivery(alert, endpoint) => {
                octets.push(DELIVERY);
                put_number(&mut octets, alert.0);
                put_number(&mut octets, u64::from(endpoint.0));
            }
            CallbackTarget::Route(route, purpose) => {
                octets.push(match purpose {
                    CallbackPurpose::Receipts => ROUTE_RECEIPTS,
                    CallbackPurpose::Inbound => ROUTE_INBOUND,
                });
                octets.extend_from_slice(route.as_bytes());
            }
        }
        let mac = self.mac(PURPOSE, &[&octets]);
        octets.extend_from_slice(&mac);
        URL_SAFE_NO_PAD.encode(octets)
    }

    /// What a token stands for; nothing if we did not make it.
    pub(crate) fn read_callback(&self, token: &str) -> Option<CallbackTarget> {
        if token.len() > TOKEN_CHARS_MAX {
            return None;
        }
        let octets = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (said, mac) = octets.split_at_checked(octets.len().checked_sub(TAG_OCTETS)?)?;
        if !same(mac, &self.mac(PURPOSE, &[said])) {
            return None;
        }
        let (kind, mut rest) = said.split_first()?;
        let route =
            |purpose| Some(CallbackTarget::Route(std::str::from_utf8(rest).ok()?.to_owned(), purpose));
        match *kind {
            DELIVERY => {
                let alert = AlertNo(take_number(&mut rest)?);
                let endpoint = EndpointNo(u32::try_from(take_number(&mut rest)?).ok()?);
                rest.is_empty().then_some(CallbackTarget::Delivery(alert, endpoint))
            }
            ROUTE_RECEIPTS => route(CallbackPurpose::Receipts),
            ROUTE_INBOUND => route(CallbackPurpose::Inbound),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::LINK_KEY_OCTETS;
    use proptest::prelude::*;

    fn links() -> AnswerLinks {
        AnswerLinks::new(&[7; LINK_KEY_OCTETS], Some("https://alerts.example/"))
    }

    fn target() -> impl Strategy<Value = CallbackTarget> {
        let purpose = prop_oneof![Just(CallbackPurpose::Receipts), Just(CallbackPurpose::Inbound)];
        prop_oneof![
            any::<(u64, u32)>()
                .prop_map(|(alert, endpoint)| CallbackTarget::Delivery(AlertNo(alert), EndpointNo(endpoint))),
            ("[A-Za-z0-9][A-Za-z0-9._-]{0,99}", purpose)
                .prop_map(|(route, purpose)| CallbackTarget::Route(route, purpose)),
        ]
    }

    #[test]
    fn a_callback_url_is_of_this_server_and_of_this_key() {
        let url = links().delivery_callback(AlertNo(41), EndpointNo(70_000)).unwrap();
        let token = url.strip_prefix("https://alerts.example/w/").unwrap();
        let expected = CallbackTarget::Delivery(AlertNo(41), EndpointNo(70_000));
        assert_eq!(links().read_callback(token), Some(expected));
        let other = AnswerLinks::new(&[8; LINK_KEY_OCTETS], None);
        assert_eq!(other.read_callback(token), None);
        assert_eq!(other.route_callback("r", CallbackPurpose::Inbound), None);
    }

    #[test]
    fn a_token_of_the_answer_page_is_none_of_a_callback_nor_the_reverse() {
        let links = links();
        assert_eq!(links.read_callback(&links.token(AlertNo(1), EndpointNo(2))), None);
        let callback = links.callback_token(&CallbackTarget::Delivery(AlertNo(1), EndpointNo(2)));
        assert_eq!(links.read(&callback), None);
    }

    proptest! {
        #[test]
        fn every_target_has_a_token_of_its_own(target in target()) {
            let token = links().callback_token(&target);
            prop_assert!(token.len() <= TOKEN_CHARS_MAX);
            prop_assert_eq!(links().read_callback(&token), Some(target));
        }

        #[test]
        fn a_changed_token_is_nobodys(target in target(), at: prop::sample::Index, bit in 0u8..8) {
            let mut octets = URL_SAFE_NO_PAD.decode(links().callback_token(&target)).unwrap();
            let at = at.index(octets.len());
            octets[at] ^= 1 << bit;
            prop_assert_eq!(links().read_callback(&URL_SAFE_NO_PAD.encode(&octets)), None);
        }

        #[test]
        fn no_text_whatever_makes_it_fall(text in ".{0,200}") {
            prop_assert_eq!(links().read_callback(&text), None);
        }
    }
}
