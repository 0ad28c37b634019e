//! Handling of query_sm, cancel_sm and replace_sm.

use super::address::DestinationNumber;
use super::batch::status_of;
use super::config::{SmppClient, VALIDITY_S_MAX};
use super::ids;
use super::message_control::MessageControl;
use super::message_text::split_message;
use super::record::{Octets, ShortTextForm};
use super::submit_sm::for_carrier;
use super::times::{absolute, moment};
use engine::{MessageView, Steered};
use records::{MessageClient, MessageId, Short, ShortText, Timestamp};
use smpp::pdu::{CancelSm, QuerySm, QuerySmResp, ReplaceSm};
use smpp::receipt::MessageState;
use smpp::text::Charset;
use smpp::time::TIME_OCTETS;
use smpp::{Status, Tag};
use std::sync::Arc;

/// The answer to a query_sm.
pub(super) struct Queried {
    /// As in the request.
    message_id: Vec<u8>,
    final_date: Option<[u8; TIME_OCTETS]>,
    state: MessageState,
    error: u8,
}

impl Queried {
    pub(super) fn body(&self) -> QuerySmResp<'_> {
        QuerySmResp {
            message_id: &self.message_id,
            final_date: self.final_date.as_ref().map_or(b"", |date| date),
            message_state: self.state.code(),
            error_code: self.error,
            ..QuerySmResp::default()
        }
    }
}

/// Queries and changes of a client's earlier messages.
pub(super) struct MessageQueries {
    pub(super) intake: Arc<dyn MessageControl>,
    pub(super) account: String,
    pub(super) system_id: String,
    /// The index that the next message will have.
    pub(super) head: u64,
    pub(super) charset: Charset,
    pub(super) at: Timestamp,
}

impl MessageQueries {
    pub(super) fn new(
        intake: Arc<dyn MessageControl>,
        client: &SmppClient,
        head: u64,
        at: Timestamp,
    ) -> MessageQueries {
        MessageQueries {
            intake,
            account: client.account.clone(),
            system_id: client.system_id.clone(),
            head,
            charset: client.charset,
            at,
        }
    }

    /// The message that a request names, if it is the account's and has the source that the request names.
    async fn find(
        &self,
        message_id: &[u8],
        source: &[u8],
        mismatch: Status,
    ) -> Result<(MessageId, MessageView), Status> {
        let id = ids::parse(message_id, self.head).ok_or(Status::RINVMSGID)?;
        let found = self.intake.message(&self.account, id).await;
        let view = found.map_err(|error| status_of(&error))?.ok_or(Status::RINVMSGID)?;
        let is_same = source.is_empty() || view.message.short.source.addr.as_bytes() == source;
        if is_same { Ok((id, view)) } else { Err(mismatch) }
    }

    /// The state of a message.
    pub(super) async fn query(self, request: OwnedQuery) -> Result<Queried, Status> {
        let (_, view) = self.find(&request.message_id, &request.source, Status::RQUERYFAIL).await?;
        Ok(Queried {
            message_id: request.message_id,
            final_date: view.at.filter(|_| view.is_final).map(absolute),
            state: super::deliver_sm::state(view.state),
            error: view.error,
        })
    }

    /// Takes back one message, or all to an address.
    pub(super) async fn cancel(self, request: OwnedCancel) -> Result<(), Status> {
        if request.message_id.is_empty() {
            return self.cancel_all(request).await;
        }
        let (id, _) = self.find(&request.message_id, &request.source, Status::RCANCELFAIL).await?;
        let steered = self.intake.cancel(&self.account, id).await;
        steered_status(steered.map_err(|error| status_of(&error))?, Status::RCANCELFAIL)
    }

    async fn cancel_all(self, request: OwnedCancel) -> Result<(), Status> {
        let source = String::from_utf8(request.source).map_err(|_| Status::RINVSRCADR)?;
        let service_type = String::from_utf8(request.service_type).map_err(|_| Status::RINVSERTYP)?;
        let to = request.to?;
        let party = MessageClient::Smpp(self.system_id);
        let count = self.intake.cancel_all(&self.account, &party, &service_type, &source, &to).await;
        match count.map_err(|error| status_of(&error))? {
            0 => Err(Status::RCANCELFAIL),
            _ => Ok(()),
        }
    }

    /// Replaces the text of a message.
    pub(super) async fn replace(self, request: OwnedReplace) -> Result<(), Status> {
        let (id, view) = self.find(&request.message_id, &request.source, Status::RREPLACEFAIL).await?;
        let expires = request.expires(self.at)?;
        let not_before = request.not_before(self.at)?;
        let short = request.short(view.message.short, self.charset)?;
        let steered = self.intake.replace(&self.account, id, short, expires, not_before).await;
        steered_status(steered.map_err(|error| status_of(&error))?, Status::RREPLACEFAIL)
    }
}

fn steered_status(steered: Steered, too_late: Status) -> Result<(), Status> {
    match steered {
        Steered::Done => Ok(()),
        Steered::NotFound => Err(Status::RINVMSGID),
        Steered::TooLate => Err(too_late),
    }
}

/// A query_sm, owned while the engine looks it up.
pub(super) struct OwnedQuery {
    message_id: Vec<u8>,
    source: Vec<u8>,
}

impl From<&QuerySm<'_>> for OwnedQuery {
    fn from(pdu: &QuerySm<'_>) -> OwnedQuery {
        OwnedQuery { message_id: pdu.message_id.to_vec(), source: pdu.source.addr.to_vec() }
    }
}

/// A cancel_sm.
pub(super) struct OwnedCancel {
    message_id: Vec<u8>,
    service_type: Vec<u8>,
    source: Vec<u8>,
    /// The address as it is kept.
    to: Result<String, Status>,
}

impl From<&CancelSm<'_>> for OwnedCancel {
    fn from(pdu: &CancelSm<'_>) -> OwnedCancel {
        OwnedCancel {
            message_id: pdu.message_id.to_vec(),
            service_type: pdu.service_type.to_vec(),
            source: pdu.source.addr.to_vec(),
            to: DestinationNumber::of(pdu.destination).map(|number| number.as_str().to_owned()),
        }
    }
}

/// A replace_sm.
pub(super) struct OwnedReplace {
    message_id: Vec<u8>,
    source: Vec<u8>,
    schedule: Vec<u8>,
    validity: Vec<u8>,
    registered_delivery: u8,
    default_message: u8,
    message: Vec<u8>,
}

impl From<&ReplaceSm<'_>> for OwnedReplace {
    fn from(pdu: &ReplaceSm<'_>) -> OwnedReplace {
        let payload = pdu.tlvs.find(Tag::MESSAGE_PAYLOAD);
        let message = if pdu.short_message.is_empty() { payload.unwrap_or(b"") } else { pdu.short_message };
        OwnedReplace {
            message_id: pdu.message_id.to_vec(),
            source: pdu.source.addr.to_vec(),
            schedule: pdu.schedule_delivery_time.to_vec(),
            validity: pdu.validity_period.to_vec(),
            registered_delivery: pdu.registered_delivery,
            default_message: pdu.sm_default_msg_id,
            message: message.to_vec(),
        }
    }
}

impl OwnedReplace {
    /// When it ends, if that changes.
    fn expires(&self, at: Timestamp) -> Result<Option<Timestamp>, Status> {
        if self.validity.is_empty() {
            return Ok(None);
        }
        let expires = moment(&self.validity, at).filter(|moment| *moment > at).ok_or(Status::RINVEXPIRY)?;
        Ok(Some(expires.min(at.plus_s(i64::from(VALIDITY_S_MAX)))))
    }

    /// Before when it is not sent, if that changes.
    fn not_before(&self, at: Timestamp) -> Result<Option<Timestamp>, Status> {
        if self.schedule.is_empty() {
            return Ok(None);
        }
        let latest = at.plus_s(i64::from(VALIDITY_S_MAX));
        moment(&self.schedule, at).filter(|moment| *moment < latest).map(Some).ok_or(Status::RINVSCHED)
    }

    /// The message with its new text, in the old one's coding (SMPP 3.4, 4.10.1: the rest stays).
    fn short(&self, before: Short, charset: Charset) -> Result<Short, Status> {
        if self.default_message != 0 {
            return Err(Status::RINVDFTMSGID);
        }
        let (data_coding, charset) = match before.text {
            ShortText::Text { .. } => (0, charset),
            // Stored octets name their coding.
            ShortText::Octets { data_coding, .. } => (data_coding, Charset::Gsm7),
        };
        let mut scratch = String::new();
        let content =
            split_message(&self.message, false, data_coding, smpp::Tlvs::NONE, charset, &mut scratch)?;
        let text = match content.text {
            ShortTextForm::Text { text, class } => ShortText::Text { text: text.into(), class },
            ShortTextForm::Octets { data_coding, octets: Octets(octets) } => {
                ShortText::Octets { data_coding, octets: octets.into() }
            }
        };
        let registered_delivery = match self.registered_delivery {
            0 => before.registered_delivery,
            flag => Some(for_carrier(flag)),
        };
        Ok(Short { text, registered_delivery, ..before })
    }
}
