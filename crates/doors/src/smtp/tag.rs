//! Tagged addresses of our own mails: the tags are made elsewhere, under a secret that this door does not
//! have.

use crate::guessing::{Attempt, GuessingGuard};
use records::{AlertNo, EndpointNo};
use smtp::server::RecipientPolicy;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

/// The mailbox that every server has.
const POSTMASTER: &str = "postmaster";

/// The purpose of a tagged address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TagKind {
    /// `answers+TAG`: people reply to it.
    Answers,
    /// `bounces+TAG`: mail systems return to it.
    Bounces,
}

impl TagKind {
    /// Both.
    pub const ALL: [TagKind; 2] = [TagKind::Answers, TagKind::Bounces];

    /// The mailbox before the `+`.
    pub fn mailbox(self) -> &'static str {
        match self {
            TagKind::Answers => "answers",
            TagKind::Bounces => "bounces",
        }
    }
}

/// Finds the delivery of a tag; nothing for a tag that is not ours, or for another purpose.
pub trait TagReader: Send + Sync {
    /// Reads a tag as it stood in an address, in any case.
    fn read(&self, kind: TagKind, tag: &str) -> Option<(AlertNo, EndpointNo)>;
}

impl<F> TagReader for F
where
    F: Fn(TagKind, &str) -> Option<(AlertNo, EndpointNo)> + Send + Sync,
{
    fn read(&self, kind: TagKind, tag: &str) -> Option<(AlertNo, EndpointNo)> {
        self(kind, tag)
    }
}

/// An address of ours: its purpose, and its delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaggedRecipient {
    /// A person's reply, or a mail system's report.
    pub kind: TagKind,
    /// Of the delivery.
    pub alert: AlertNo,
    /// Of the delivery.
    pub endpoint: EndpointNo,
    /// As the client wrote it.
    pub address: String,
}

/// A recipient of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InboundRecipient {
    /// Of a delivery.
    Tagged(TaggedRecipient),
    /// `answers` without a tag, as the client wrote it: words that answer no delivery.
    Untagged(String),
    /// Whoever runs this server: `postmaster`, with our domain or without one (RFC 5321, section 4.5.1).
    Postmaster,
}

/// Takes mail for our tagged addresses and for `postmaster`; from a relay of ours also for `answers`.
#[derive(Clone)]
pub struct TaggedAddresses {
    /// Stands behind the `@` of our addresses.
    pub domain: String,
    /// Reads the tags.
    pub tags: Arc<dyn TagReader>,
    /// The client is a relay of ours, which notes whose mails are authentic.
    pub takes_untagged: bool,
    /// Notes wrong tags.
    pub guessing: Arc<GuessingGuard>,
    /// The client.
    pub client: IpAddr,
}

impl TaggedAddresses {
    /// A tag has 80 bits that nobody guesses, and a relay carries the mails of many: so wrong ones are
    /// counted and logged, and nobody waits for them.
    fn note_wrong_tag(&self) {
        let attempt = Attempt { door: "smtp", name: b"", ip: self.client, is_known: false };
        self.guessing.note_failed(attempt, Instant::now());
    }
}

impl RecipientPolicy for TaggedAddresses {
    type Recipient = InboundRecipient;

    fn resolve(&self, address: &str) -> Option<InboundRecipient> {
        if address.eq_ignore_ascii_case(POSTMASTER) {
            return Some(InboundRecipient::Postmaster);
        }
        let (local, domain) = address.rsplit_once('@')?;
        if !domain.eq_ignore_ascii_case(&self.domain) {
            return None;
        }
        if local.eq_ignore_ascii_case(POSTMASTER) {
            return Some(InboundRecipient::Postmaster);
        }
        if self.takes_untagged && local.eq_ignore_ascii_case(TagKind::Answers.mailbox()) {
            return Some(InboundRecipient::Untagged(address.to_owned()));
        }
        let (mailbox, tag) = local.split_once('+')?;
        let kind = TagKind::ALL.into_iter().find(|kind| mailbox.eq_ignore_ascii_case(kind.mailbox()))?;
        let Some((alert, endpoint)) = self.tags.read(kind, tag) else {
            self.note_wrong_tag();
            return None;
        };
        let address = address.to_owned();
        Some(InboundRecipient::Tagged(TaggedRecipient { kind, alert, endpoint, address }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tagged_addresses_of_our_domain_and_the_postmaster_are_taken() {
        let tags = |_: TagKind, tag: &str| {
            let (alert, endpoint) = tag.split_once('.')?;
            Some((AlertNo(alert.parse().ok()?), EndpointNo(endpoint.parse().ok()?)))
        };
        let ours = TaggedAddresses {
            domain: "in.test".to_owned(),
            tags: Arc::new(tags),
            takes_untagged: false,
            guessing: Arc::default(),
            client: [127, 0, 0, 1].into(),
        };
        let recipient = |kind, alert, endpoint, address: &str| TaggedRecipient {
            kind,
            alert: AlertNo(alert),
            endpoint: EndpointNo(endpoint),
            address: address.to_owned(),
        };
        for expected in [
            recipient(TagKind::Answers, 7, 42, "answers+7.42@IN.test"),
            recipient(TagKind::Bounces, 8, 1, "Bounces+8.1@in.test"),
        ] {
            assert_eq!(ours.resolve(&expected.address), Some(InboundRecipient::Tagged(expected)));
        }
        for address in ["postmaster", "Postmaster", "POSTMASTER@In.Test"] {
            assert_eq!(ours.resolve(address), Some(InboundRecipient::Postmaster), "{address}");
        }
        for address in [
            "answers+7.42@elsewhere.test",
            "answers@in.test",
            "answers+@in.test",
            "answers+x@in.test",
            "root@in.test",
            "postmaster@elsewhere.test",
            "postmaster+7.42@in.test",
            "answers-7.42@in.test",
            "answers+7.42",
            "someone+7.42@in.test",
            "answers+7.42@in.test@x.test",
            "answers+7.42%x.test@relay.test",
        ] {
            assert_eq!(ours.resolve(address), None, "{address}");
        }
        let relay = TaggedAddresses { takes_untagged: true, ..ours };
        let untagged = InboundRecipient::Untagged("Answers@in.test".to_owned());
        assert_eq!(relay.resolve("Answers@in.test"), Some(untagged));
        for address in ["bounces@in.test", "answers@elsewhere.test", "answers+@in.test", "root@in.test"] {
            assert_eq!(relay.resolve(address), None, "{address}");
        }
    }
}
