//! Reading the tags that our own mails carried: made elsewhere, under a secret this door never sees.

use records::{AlertNo, EndpointNo};

/// What a tagged address is for.
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

/// Says which delivery a tag was made for; nothing for a tag that is not ours, or for another purpose.
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
