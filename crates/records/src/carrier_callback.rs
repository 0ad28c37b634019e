//! Callback of a carrier to a route's own URL: a receipt, or a message from a person.

use crate::{DecodeError, Timestamp};
use serde::{Deserialize, Serialize};

/// A request of a carrier, on record before it is answered. The route's gateway, which knows the names of the
/// carrier's fields, makes outcomes of it. Records of the topic [`crate::callbacks_topic`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarrierCallback {
    /// What the URL was made for.
    pub purpose: CallbackPurpose,
    /// JSON; otherwise a form.
    pub is_json: bool,
    /// The body, as it came.
    pub body: String,
    /// When.
    pub at: Timestamp,
}

/// What a route's URL was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CallbackPurpose {
    /// Receipts of messages of the route.
    Receipts,
    /// Messages from people.
    Inbound,
}

impl CarrierCallback {
    /// As it stands on the bus.
    pub fn encode(&self) -> Vec<u8> {
        crate::to_bytes(self)
    }

    /// Reads what [`CarrierCallback::encode`] wrote.
    ///
    /// # Errors
    /// Damage, or a newer form.
    pub fn decode(octets: &[u8]) -> Result<CarrierCallback, DecodeError> {
        crate::from_bytes("callback of a carrier", octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_is_read_as_it_was_written() {
        let callback = CarrierCallback {
            purpose: CallbackPurpose::Inbound,
            is_json: false,
            body: "from=%2B46&text=STOP".to_owned(),
            at: Timestamp(7),
        };
        assert_eq!(CarrierCallback::decode(&callback.encode()), Ok(callback));
        assert!(CarrierCallback::decode(b"").is_err());
    }
}
