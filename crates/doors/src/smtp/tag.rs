//! Tagged addresses of our own mails: the tags are made elsewhere, under a secret that this door does not
//! have.

use records::{AlertNo, EndpointNo};
use smtp::server::RecipientPolicy;
use std::sync::Arc;

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

/// Takes mail for our tagged addresses alone.
#[derive(Clone)]
pub struct TaggedAddresses {
    /// Stands behind the `@` of our addresses.
    pub domain: String,
    /// Reads the tags.
    pub tags: Arc<dyn TagReader>,
}

impl RecipientPolicy for TaggedAddresses {
    type Recipient = TaggedRecipient;

    fn resolve(&self, address: &str) -> Option<TaggedRecipient> {
        let (local, domain) = address.rsplit_once('@')?;
        if !domain.eq_ignore_ascii_case(&self.domain) {
            return None;
        }
        let (mailbox, tag) = local.split_once('+')?;
        let kind = TagKind::ALL.into_iter().find(|kind| mailbox.eq_ignore_ascii_case(kind.mailbox()))?;
        let (alert, endpoint) = self.tags.read(kind, tag)?;
        Some(TaggedRecipient { kind, alert, endpoint, address: address.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tagged_addresses_of_our_domain_are_taken() {
        let tags = |_: TagKind, tag: &str| {
            let (alert, endpoint) = tag.split_once('.')?;
            Some((AlertNo(alert.parse().ok()?), EndpointNo(endpoint.parse().ok()?)))
        };
        let ours = TaggedAddresses { domain: "in.test".to_owned(), tags: Arc::new(tags) };
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
            assert_eq!(ours.resolve(&expected.address), Some(expected));
        }
        for address in [
            "answers+7.42@elsewhere.test",
            "answers@in.test",
            "answers+@in.test",
            "answers+x@in.test",
            "root@in.test",
            "postmaster@in.test",
            "answers-7.42@in.test",
            "answers+7.42",
            "someone+7.42@in.test",
            "answers+7.42@in.test@x.test",
            "answers+7.42%x.test@relay.test",
        ] {
            assert_eq!(ours.resolve(address), None, "{address}");
        }
    }
}
