//! Client's memory of challenges: which to answer, when to give up.

use super::{DigestChallenge, DigestCredentials, DigestRequest};
use crate::limits::{CHALLENGED_TRIES_MAX, CHALLENGES_MAX};
use crate::message::{HeaderName, SipMessage};

#[derive(Debug, Clone)]
struct AnsweredChallenge {
    /// Proxy-Authorization instead of Authorization.
    header: HeaderName,
    challenge: DigestChallenge,
    count: u32,
}

/// Answers challenges with one set of credentials, for one request at a time: a realm that challenges again
/// ends it, unless its nonce was stale. Challenges are kept for the requests that follow (RFC 3261 section
/// 22.3).
#[derive(Debug, Clone, Default)]
pub struct Authenticator {
    credentials: Option<DigestCredentials>,
    answered: Vec<AnsweredChallenge>,
    tries: u8,
}

impl Authenticator {
    /// Without credentials every challenge ends the request.
    #[must_use]
    pub fn new(credentials: Option<DigestCredentials>) -> Authenticator {
        Authenticator { credentials, answered: Vec::new(), tries: 0 }
    }

    /// A new request begins, which may be challenged as often as any.
    pub fn begin_request(&mut self) {
        self.tries = 0;
    }

    /// Takes the challenges of a 401 or 407 in. Whether the request should be sent again with
    /// [`Authenticator::headers`]; otherwise the response is final.
    pub fn take_challenges(&mut self, response: &SipMessage<'_>) -> bool {
        self.tries = self.tries.saturating_add(1);
        if self.tries > CHALLENGED_TRIES_MAX {
            return false;
        }
        let is_first = self.tries == 1;
        let mut is_news = false;
        for (header, answer) in [
            (HeaderName::WwwAuthenticate, HeaderName::Authorization),
            (HeaderName::ProxyAuthenticate, HeaderName::ProxyAuthorization),
        ] {
            // A challenge's parameters are separated by commas, so each stands in a header field of its own.
            let mut realms: Vec<String> = Vec::new();
            for value in response.values(header).take(CHALLENGES_MAX) {
                let Ok(Some(challenge)) = DigestChallenge::parse(value) else { continue };
                // The topmost of a realm that is spoken here is taken (RFC 8760 section 2.4).
                if !realms.contains(&challenge.realm) {
                    realms.push(challenge.realm.clone());
                    is_news |= self.take(answer, challenge, is_first);
                }
            }
        }
        is_news
    }

    fn take(&mut self, header: HeaderName, challenge: DigestChallenge, is_first: bool) -> bool {
        if !self.credentials.as_ref().is_some_and(|credentials| credentials.are_for(&challenge.realm)) {
            return false;
        }
        let same = |known: &&mut AnsweredChallenge| {
            known.header == header && known.challenge.realm == challenge.realm
        };
        if let Some(known) = self.answered.iter_mut().find(same) {
            // A challenge kept from an earlier request may have grown old without a word of staleness.
            let is_news = challenge.stale || (is_first && known.challenge.nonce != challenge.nonce);
            known.challenge = challenge;
            known.count = 0;
            return is_news;
        }
        if self.answered.len() == CHALLENGES_MAX {
            return false;
        }
        self.answered.push(AnsweredChallenge { header, challenge, count: 0 });
        true
    }

    /// The header fields for the next request: nothing before the first challenge.
    pub fn headers(&mut self, request: DigestRequest<'_>, cnonce: &str) -> Vec<(HeaderName, String)> {
        let Some(credentials) = &self.credentials else { return Vec::new() };
        let answer = |known: &mut AnsweredChallenge| {
            known.count += 1;
            (known.header, known.challenge.answer(credentials, request, cnonce, known.count).to_string())
        };
        self.answered.iter_mut().map(answer).collect()
    }
}
