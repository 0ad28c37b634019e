use crate::{AlertNo, DecodeError, EndpointNo, Inbound, Mode};
use serde::{Deserialize, Serialize};

/// The topic of messages by which people perhaps use a service: records are [`ServiceCall`]s.
pub const SERVICE_CALLS: &str = "service-calls";

/// A message of a person that is a service word, or that nobody understands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceCall {
    /// Whose people are asked for.
    pub account: String,
    /// Of the route it came by.
    pub mode: Mode,
    /// The message.
    pub inbound: Inbound,
    /// The delivery that it answers, should it be no service word of somebody who is known.
    pub asked: Option<(AlertNo, EndpointNo)>,
    /// The place of its outcome.
    pub position: (u64, u32),
    /// A keyword's reply: it is sent, and nothing else follows.
    pub reply: Option<String>,
    /// The sender may be another than the message says: nothing is done before the person confirms it.
    pub is_unproven: bool,
}

impl ServiceCall {
    /// As appended.
    pub fn encode(&self) -> Vec<u8> {
        crate::to_bytes(self)
    }

    /// Reads what [`ServiceCall::encode`] wrote.
    ///
    /// # Errors
    /// A newer form; octets that are none.
    pub fn decode(bytes: &[u8]) -> Result<ServiceCall, DecodeError> {
        crate::from_bytes("service call", bytes)
    }
}
