use crate::{AlertId, DecodeError, Message, Timestamp};
use serde::{Deserialize, Serialize};

/// What we tell an observer or a platform by HTTP; a record on the topic [`crate::NOTICES`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Stable over retries: the `webhook-id` header (Standard Webhooks).
    pub id: String,
    /// The alert it is about, if it is about one.
    pub alert: Option<AlertId>,
    /// How.
    pub verb: NoticeVerb,
    /// Where to.
    pub url: String,
    /// Such as `application/json`.
    pub content_type: String,
    /// The body, as it will be sent and signed.
    pub body: String,
    /// When it was made.
    pub at: Timestamp,
    /// Not tried after.
    pub expires: Timestamp,
}

/// How a notice is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoticeVerb {
    /// A signed POST (Standard Webhooks).
    Post,
    /// A GET of the address as it is, unsigned: a platform's own old way (`callback`, `dlr-url`). Any 2xx or
    /// 3xx answer is enough.
    Fetch,
    /// The same for a message of a person; a text in the answer is sent back as this message.
    FetchReply(Box<Message>),
    /// A signed POST for an account other than [`crate::Account::DEFAULT`], with the account's own secret.
    PostFor(String),
}

impl Notice {
    /// As stored on the bus.
    pub fn encode(&self) -> Vec<u8> {
        crate::to_bytes(self)
    }
    /// Reads what [`Notice::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        crate::from_bytes("notice", bytes)
    }
}
