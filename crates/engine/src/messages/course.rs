//! MessageCourse is the way of a platform's message as far as it is known: taken, sent by a route, how it
//! stands.

use super::{MessageView, Messages, view};
use crate::api::{DeliveryView, EngineError};
use crate::run::{bus_error, delivery_view, store_error};
use records::{Lane, MessageId, Mode, Timestamp};

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageCourse {
    /// As query_sm sees it.
    pub view: MessageView,
    /// Its delivery as people read it.
    pub delivery: DeliveryView,
    /// Live or drill.
    pub mode: Mode,
    /// Lane of its stream.
    pub lane: Lane,
    /// It is not sent before.
    pub not_before: Option<Timestamp>,
    /// It is not tried after.
    pub expires: Option<Timestamp>,
}

impl Messages {
    /// The way of a message of this account. Nothing: there is none, or it is another account's.
    pub async fn course(&self, account: &str, id: MessageId) -> Result<Option<MessageCourse>, EngineError> {
        // A query of a message that was not taken yet waits until it is: this one does not.
        if id.0 >= self.inner.intake.latest().await.map_err(bus_error)? {
            return Ok(None);
        }
        let Some((look, entry)) = self.found(account, id).await? else { return Ok(None) };
        let store = &self.inner.parts.store;
        let Some(stream) = store.alert_by_no(look.delivery.alert).await.map_err(store_error)? else {
            return Ok(None);
        };
        let delivery = delivery_view(&look.delivery, &entry);
        let (not_before, expires) = (entry.not_before, entry.expires);
        let (mode, lane) = (stream.request.mode, stream.request.priority.into());
        let seen = view(&look.delivery, look.lapsed, entry);
        Ok(seen.map(|view| MessageCourse { view, delivery, mode, lane, not_before, expires }))
    }
}
