//! Metadata of each message of a message stream, beside the delivery: 12 octets for its id, its end and the
//! events its client requested, so that the roster need not be read.

use super::delivery_cell::{DeliveryCell, LAPSED};
use records::{DeliveryState, DlrRequest, DlrState, EndpointNo, MessageClient, MessageId, Reason, Timestamp};

/// The messages of one message stream.
#[derive(Default)]
pub struct MessageMetaTable {
    intake_from: u64,
    /// It takes no more.
    pub closed: bool,
    list: Vec<MessageMeta>,
    /// The first end of a message that may still be waiting, an offset.
    pub next_expiry: u32,
    /// Events that clients requested and that were not published yet.
    pub events: Vec<MessageEvent>,
    /// Results of messages since they were last taken: by kind of client, and by the number of the bit of
    /// [`DlrRequest`].
    pub results: [[u32; RESULTS]; KINDS],
}

/// Kinds of clients, and of results.
pub const KINDS: usize = 3;
pub const RESULTS: usize = 5;

/// The number of a client's kind.
pub fn kind(client: &MessageClient) -> u8 {
    match client {
        MessageClient::Smpp(_) => 0,
        MessageClient::Platform(_) => 1,
        MessageClient::House => 2,
    }
}

/// One message.
#[derive(Debug, Clone, Copy)]
pub struct MessageMeta {
    /// Its id, after the alert's first.
    id: u32,
    /// Its end, an offset.
    pub expires: u32,
    /// Bits of [`DlrRequest`].
    pub mask: u8,
    /// Units of the route's rate it costs, once it is in a segment.
    pub units: u8,
    /// [`kind`] of its client.
    kind: u8,
}

/// An event that a client requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageEvent {
    /// Which message.
    pub endpoint: EndpointNo,
    /// A bit of [`DlrRequest`].
    pub event: u8,
    /// How it stands.
    pub state: DlrState,
    /// When it came about.
    pub at: Timestamp,
}

impl MessageMetaTable {
    /// Nobody yet.
    pub fn new(intake_from: u64) -> MessageMetaTable {
        MessageMetaTable { intake_from, next_expiry: u32::MAX, ..MessageMetaTable::default() }
    }

    /// Ids are kept in 32 bits after the first: is there room for this one?
    pub fn holds(&self, id: MessageId) -> bool {
        id.0.checked_sub(self.intake_from).is_some_and(|after| u32::try_from(after).is_ok())
    }

    /// The next message. Ids grow.
    pub fn push(&mut self, id: MessageId, expires: u32, mask: u8, kind: u8) {
        self.next_expiry = self.next_expiry.min(expires);
        let id = id.0.saturating_sub(self.intake_from) as u32;
        self.list.push(MessageMeta { id, expires, mask, units: 1, kind });
    }

    /// Which endpoint a message is.
    pub fn endpoint(&self, id: MessageId) -> Option<EndpointNo> {
        let after = u32::try_from(id.0.checked_sub(self.intake_from)?).ok()?;
        self.list.binary_search_by_key(&after, |meta| meta.id).ok().map(|place| EndpointNo(place as u32))
    }

    /// One message.
    pub fn get(&self, endpoint: EndpointNo) -> Option<&MessageMeta> {
        self.list.get(endpoint.0 as usize)
    }

    /// One message, to be changed.
    pub fn get_mut(&mut self, endpoint: EndpointNo) -> Option<&mut MessageMeta> {
        self.list.get_mut(endpoint.0 as usize)
    }

    /// A delivery moved: its client may have requested an event of it.
    pub fn note(&mut self, endpoint: EndpointNo, before: &DeliveryCell, after: &DeliveryCell, at: Timestamp) {
        if before.state == after.state {
            return;
        }
        let Some(meta) = self.list.get(endpoint.0 as usize) else { return };
        let events = events_of(after);
        let result = events.first().map(|event| event.trailing_zeros() as usize);
        let of_kind = self.results.get_mut(usize::from(meta.kind));
        if let Some(count) = of_kind.zip(result).and_then(|(row, result)| row.get_mut(result)) {
            *count += 1;
        }
        let requested = told_of(after).iter().find(|event| **event & meta.mask != 0);
        if let Some(&event) = requested {
            let state = match status(after.state, after.reason) {
                DlrState::Undeliverable if after.flags & LAPSED != 0 => DlrState::Expired,
                state => state,
            };
            self.events.push(MessageEvent { endpoint, event, state, at });
        }
    }

    /// The receipt that the last events of a message are of has a state of its own. Whether it was delivered
    /// is ours to say: of a long message every part has to be.
    pub fn note_said(&mut self, endpoint: EndpointNo, said: Option<DlrState>) {
        let Some(said) = said.filter(|said| *said != DlrState::Delivered) else { return };
        for event in self.events.iter_mut().filter(|event| event.endpoint == endpoint) {
            if event.event & (DlrRequest::FAILED | DlrRequest::BUFFERED) != 0 {
                event.state = said;
            }
        }
    }

    /// The network has it and could not deliver it yet.
    pub fn note_buffered(&mut self, endpoint: EndpointNo, at: Timestamp) {
        if self.get(endpoint).is_some_and(|meta| meta.mask & DlrRequest::BUFFERED != 0) {
            let state = DlrState::Enroute;
            self.events.push(MessageEvent { endpoint, event: DlrRequest::BUFFERED, state, at });
        }
    }
}

/// Events of a delivery's state; the first that was requested is published. A message that never reached a
/// carrier is refused by Kannel's reckoning, and failed for a client that did not request that.
fn events_of(cell: &DeliveryCell) -> &'static [u8] {
    match (cell.state, cell.reason) {
        (DeliveryState::Accepted, _) => &[DlrRequest::ACCEPTED],
        (DeliveryState::Delivered | DeliveryState::Answered, _) => &[DlrRequest::DELIVERED],
        (DeliveryState::Failed, Reason::NotDelivered | Reason::Cancelled) => &[DlrRequest::FAILED],
        (DeliveryState::Failed | DeliveryState::Excluded, _) => &[DlrRequest::REFUSED, DlrRequest::FAILED],
        _ => &[],
    }
}

/// The same, and what nobody knows: the carrier was given it and did not answer. That is not counted as a
/// result, since the carrier may still say more.
fn told_of(cell: &DeliveryCell) -> &'static [u8] {
    match cell.state {
        DeliveryState::Unknown => &[DlrRequest::FAILED],
        _ => events_of(cell),
    }
}

/// The state in a carrier's words, as they are kept of a message that was not delivered: `REJECTD err:011`.
pub fn state_in_words(words: &str) -> Option<DlrState> {
    const BEGINNINGS: [(&str, DlrState); 5] = [
        ("EXPIR", DlrState::Expired),
        ("REJEC", DlrState::Rejected),
        ("DELET", DlrState::Deleted),
        ("CANCEL", DlrState::Deleted),
        ("UNKNO", DlrState::Unknown),
    ];
    let begins = |start: &str| words.get(..start.len()).is_some_and(|word| word.eq_ignore_ascii_case(start));
    BEGINNINGS.iter().find(|(start, _)| begins(start)).map(|(_, state)| *state)
}

/// The error code in them, where it is a small number.
pub fn error_in_words(words: &str) -> u8 {
    let code = words.split_ascii_whitespace().find_map(|word| word.strip_prefix("err:"));
    code.and_then(|code| code.parse().ok()).unwrap_or(0)
}

/// A delivery's state in the words of SMPP.
pub fn status(state: DeliveryState, reason: Reason) -> DlrState {
    match (state, reason) {
        (DeliveryState::Planned | DeliveryState::Held | DeliveryState::Submitted, _) => DlrState::Enroute,
        (DeliveryState::Unknown, _) => DlrState::Unknown,
        (DeliveryState::Accepted, _) => DlrState::Accepted,
        (DeliveryState::Delivered | DeliveryState::Answered, _) => DlrState::Delivered,
        (_, Reason::Cancelled) => DlrState::Deleted,
        (_, Reason::Expired) => DlrState::Expired,
        (_, Reason::NotDelivered) => DlrState::Undeliverable,
        _ => DlrState::Rejected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_found_by_its_id_and_by_no_other() {
        let mut metas = MessageMetaTable::new(100);
        for (place, id) in [100, 103, 104, 900].into_iter().enumerate() {
            metas.push(MessageId(id), 5, 0, 0);
            assert_eq!(metas.endpoint(MessageId(id)), Some(EndpointNo(place as u32)));
        }
        for none in [0, 99, 101, 102, 899, 901, u64::MAX] {
            assert_eq!(metas.endpoint(MessageId(none)), None, "{none}");
        }
        assert!(metas.holds(MessageId(100 + u64::from(u32::MAX))));
        assert!(!metas.holds(MessageId(101 + u64::from(u32::MAX))) && !metas.holds(MessageId(99)));
    }

    #[test]
    fn an_event_of_a_receipt_has_the_carriers_own_state() {
        let said = |state, reason, mask, said| {
            let mut metas = MessageMetaTable::new(0);
            metas.push(MessageId(0), 0, mask, 1);
            let after = DeliveryCell { state, reason, ..DeliveryCell::PLANNED };
            metas.note(EndpointNo(0), &DeliveryCell::PLANNED, &after, Timestamp(7));
            metas.note_said(EndpointNo(1), Some(DlrState::Deleted));
            metas.note_said(EndpointNo(0), said);
            metas.events[0].state
        };
        let failed = |own| said(DeliveryState::Failed, Reason::NotDelivered, 31, own);
        for state in [DlrState::Rejected, DlrState::Deleted, DlrState::Unknown, DlrState::Expired] {
            assert_eq!(failed(Some(state)), state);
        }
        assert_eq!(
            (failed(None), failed(Some(DlrState::Delivered))),
            (DlrState::Undeliverable, DlrState::Undeliverable)
        );
        assert_eq!(
            said(DeliveryState::Delivered, Reason::None, 31, Some(DlrState::Accepted)),
            DlrState::Delivered,
            "all parts are"
        );
    }

    #[test]
    fn the_words_that_are_kept_have_state_and_error() {
        let cases = [
            ("REJECTD err:011", Some(DlrState::Rejected), 11),
            ("Rejected", Some(DlrState::Rejected), 0),
            ("EXPIRED err:1F", Some(DlrState::Expired), 0),
            ("UNDELIV err:300", None, 0),
            ("UNKNOWN err:255 network 3 error 8", Some(DlrState::Unknown), 255),
            ("", None, 0),
        ];
        for (words, state, error) in cases {
            assert_eq!((state_in_words(words), error_in_words(words)), (state, error), "{words}");
        }
    }

    #[test]
    fn clients_get_the_events_they_requested_and_no_others() {
        use DeliveryState::{Accepted, Delivered, Excluded, Failed, Held, Submitted, Unknown};
        let all = 31;
        let cases = [
            (Accepted, Reason::None, all, Some((8, DlrState::Accepted))),
            (Accepted, Reason::None, 3, None),
            (Delivered, Reason::None, all, Some((1, DlrState::Delivered))),
            (Delivered, Reason::None, 2, None),
            (Failed, Reason::NotDelivered, all, Some((2, DlrState::Undeliverable))),
            (Failed, Reason::NotDelivered, 16, None),
            (Failed, Reason::Refused, all, Some((16, DlrState::Rejected))),
            (Failed, Reason::Refused, 3, Some((2, DlrState::Rejected))),
            (Failed, Reason::Refused, 1, None),
            (Failed, Reason::Expired, all, Some((16, DlrState::Expired))),
            (Failed, Reason::Cancelled, all, Some((2, DlrState::Deleted))),
            (Excluded, Reason::OptedOut, all, Some((16, DlrState::Rejected))),
            (Held, Reason::RetryDue, all, None),
            (Submitted, Reason::None, all, None),
            (Unknown, Reason::PeerSilent, all, Some((2, DlrState::Unknown))),
            (Unknown, Reason::PeerSilent, 1, None),
        ];
        for (state, reason, mask, expected) in cases {
            let mut metas = MessageMetaTable::new(0);
            metas.push(MessageId(0), 0, mask, 1);
            let after = DeliveryCell { state, reason, ..DeliveryCell::PLANNED };
            metas.note(EndpointNo(0), &DeliveryCell::PLANNED, &after, Timestamp(7));
            let published = metas.events.first().map(|event| (event.event, event.state));
            assert_eq!(published, expected, "{state:?} {reason:?} {mask}");
            let counted: u32 = metas.results[1].iter().sum();
            assert_eq!(
                counted,
                u32::from(!matches!(state, Held | Submitted | Unknown)),
                "whatever was requested"
            );
        }
    }
}
