//! What a standing alert keeps of each of its messages beside the delivery: 12 octets, so that its id, its end and what its
//! party wants to hear are known without reading the roster.

use super::hot::{Hot, LAPSED};
use records::{DeliveryState, EndpointNo, FateState, MessageId, Party, Reason, Tell, Timestamp};

/// The messages of one standing alert.
#[derive(Default)]
pub struct Slips {
    intake_from: u64,
    /// It takes no more.
    pub closed: bool,
    list: Vec<Slip>,
    /// The first end of a message that may still be waiting, an offset.
    pub next_expiry: u32,
    /// What parties want to hear and were not told yet.
    pub happened: Vec<Happened>,
    /// What came of messages since it was last asked: by kind of party, and by the number of the bit of [`Tell`].
    pub results: [[u32; RESULTS]; KINDS],
}

/// Kinds of parties, and of results.
pub const KINDS: usize = 3;
pub const RESULTS: usize = 5;

/// The number of a party's kind.
pub fn kind(party: &Party) -> u8 {
    match party {
        Party::Smpp(_) => 0,
        Party::Platform(_) => 1,
        Party::House => 2,
    }
}

/// One message.
#[derive(Debug, Clone, Copy)]
pub struct Slip {
    /// Its id, after the alert's first.
    id: u32,
    /// Its end, an offset.
    pub expires: u32,
    /// Bits of [`Tell`].
    pub mask: u8,
    /// Units of the route's rate it costs, once it is in a segment.
    pub units: u8,
    /// [`kind`] of its party.
    kind: u8,
}

/// Something a party wants to hear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Happened {
    /// Which message.
    pub endpoint: EndpointNo,
    /// A bit of [`Tell`].
    pub event: u8,
    /// How it stands.
    pub state: FateState,
    /// When it came about.
    pub at: Timestamp,
}

impl Slips {
    /// Nobody yet.
    pub fn new(intake_from: u64) -> Slips {
        Slips { intake_from, next_expiry: u32::MAX, ..Slips::default() }
    }

    /// Ids are kept in 32 bits after the first: is there room for this one?
    pub fn holds(&self, id: MessageId) -> bool {
        id.0.checked_sub(self.intake_from).is_some_and(|after| u32::try_from(after).is_ok())
    }

    /// The next message. Ids grow.
    pub fn push(&mut self, id: MessageId, expires: u32, mask: u8, kind: u8) {
        self.next_expiry = self.next_expiry.min(expires);
        let id = id.0.saturating_sub(self.intake_from) as u32;
        self.list.push(Slip { id, expires, mask, units: 1, kind });
    }

    /// Which endpoint a message is.
    pub fn endpoint(&self, id: MessageId) -> Option<EndpointNo> {
        let after = u32::try_from(id.0.checked_sub(self.intake_from)?).ok()?;
        self.list.binary_search_by_key(&after, |slip| slip.id).ok().map(|place| EndpointNo(place as u32))
    }

    /// One message.
    pub fn get(&self, endpoint: EndpointNo) -> Option<&Slip> {
        self.list.get(endpoint.0 as usize)
    }

    /// One message, to be changed.
    pub fn get_mut(&mut self, endpoint: EndpointNo) -> Option<&mut Slip> {
        self.list.get_mut(endpoint.0 as usize)
    }

    /// A delivery moved: does its party want to hear of it?
    pub fn note(&mut self, endpoint: EndpointNo, before: &Hot, after: &Hot, at: Timestamp) {
        if before.state == after.state {
            return;
        }
        let Some(slip) = self.list.get(endpoint.0 as usize) else { return };
        let events = events(after);
        let result = events.first().map(|event| event.trailing_zeros() as usize);
        let of_kind = self.results.get_mut(usize::from(slip.kind));
        if let Some(count) = of_kind.zip(result).and_then(|(row, result)| row.get_mut(result)) {
            *count += 1;
        }
        let wanted = events.iter().find(|event| **event & slip.mask != 0);
        if let Some(&event) = wanted {
            let state = match fate(after.state, after.reason) {
                FateState::Undeliverable if after.flags & LAPSED != 0 => FateState::Expired,
                state => state,
            };
            self.happened.push(Happened { endpoint, event, state, at });
        }
    }

    /// The network has it and could not deliver it yet.
    pub fn note_buffered(&mut self, endpoint: EndpointNo, at: Timestamp) {
        if self.get(endpoint).is_some_and(|slip| slip.mask & Tell::BUFFERED != 0) {
            let state = FateState::Enroute;
            self.happened.push(Happened { endpoint, event: Tell::BUFFERED, state, at });
        }
    }
}

/// What a delivery's state is told as; the first that is wanted. What never reached a carrier is refused by Kannel's reckoning, and
/// who did not ask for that hears that it failed.
fn events(hot: &Hot) -> &'static [u8] {
    match (hot.state, hot.reason) {
        (DeliveryState::Accepted, _) => &[Tell::ACCEPTED],
        (DeliveryState::Delivered | DeliveryState::Answered, _) => &[Tell::DELIVERED],
        (DeliveryState::Failed, Reason::NotDelivered | Reason::Cancelled) => &[Tell::FAILED],
        (DeliveryState::Failed | DeliveryState::Excluded, _) => &[Tell::REFUSED, Tell::FAILED],
        _ => &[],
    }
}

/// A delivery's state in the words of SMPP.
pub fn fate(state: DeliveryState, reason: Reason) -> FateState {
    match (state, reason) {
        (DeliveryState::Planned | DeliveryState::Held | DeliveryState::Submitted, _) => FateState::Enroute,
        (DeliveryState::Unknown, _) => FateState::Unknown,
        (DeliveryState::Accepted, _) => FateState::Accepted,
        (DeliveryState::Delivered | DeliveryState::Answered, _) => FateState::Delivered,
        (_, Reason::Cancelled) => FateState::Deleted,
        (_, Reason::Expired) => FateState::Expired,
        (_, Reason::NotDelivered) => FateState::Undeliverable,
        _ => FateState::Rejected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_found_by_its_id_and_by_no_other() {
        let mut slips = Slips::new(100);
        for (place, id) in [100, 103, 104, 900].into_iter().enumerate() {
            slips.push(MessageId(id), 5, 0, 0);
            assert_eq!(slips.endpoint(MessageId(id)), Some(EndpointNo(place as u32)));
        }
        for none in [0, 99, 101, 102, 899, 901, u64::MAX] {
            assert_eq!(slips.endpoint(MessageId(none)), None, "{none}");
        }
        assert!(slips.holds(MessageId(100 + u64::from(u32::MAX))));
        assert!(!slips.holds(MessageId(101 + u64::from(u32::MAX))) && !slips.holds(MessageId(99)));
    }

    #[test]
    fn parties_hear_what_they_asked_for_and_nothing_else() {
        use DeliveryState::{Accepted, Delivered, Excluded, Failed, Held, Submitted, Unknown};
        let all = 31;
        let cases = [
            (Accepted, Reason::None, all, Some((8, FateState::Accepted))),
            (Accepted, Reason::None, 3, None),
            (Delivered, Reason::None, all, Some((1, FateState::Delivered))),
            (Delivered, Reason::None, 2, None),
            (Failed, Reason::NotDelivered, all, Some((2, FateState::Undeliverable))),
            (Failed, Reason::NotDelivered, 16, None),
            (Failed, Reason::Refused, all, Some((16, FateState::Rejected))),
            (Failed, Reason::Refused, 3, Some((2, FateState::Rejected))),
            (Failed, Reason::Refused, 1, None),
            (Failed, Reason::Expired, all, Some((16, FateState::Expired))),
            (Failed, Reason::Cancelled, all, Some((2, FateState::Deleted))),
            (Excluded, Reason::OptedOut, all, Some((16, FateState::Rejected))),
            (Held, Reason::RetryDue, all, None),
            (Submitted, Reason::None, all, None),
            (Unknown, Reason::PeerSilent, all, None),
        ];
        for (state, reason, mask, expected) in cases {
            let mut slips = Slips::new(0);
            slips.push(MessageId(0), 0, mask, 1);
            let after = Hot { state, reason, ..Hot::PLANNED };
            slips.note(EndpointNo(0), &Hot::PLANNED, &after, Timestamp(7));
            let told = slips.happened.first().map(|happened| (happened.event, happened.state));
            assert_eq!(told, expected, "{state:?} {reason:?} {mask}");
            let counted: u32 = slips.results[1].iter().sum();
            assert_eq!(
                counted,
                u32::from(!matches!(state, Held | Submitted | Unknown)),
                "whoever wants to hear of it"
            );
        }
    }
}
