//! Requests that were answered: known again by their session and number, or by their origin and end-to-end
//! id, and read from the log before that is believed.

use super::config::DuplicateLimits;
use super::duplicates::Duplicates;
use super::entry::{Entry, EntryKind};
use super::hash::Hash128;
use super::request::Request;
use super::shard::{Past, Turn, of_session};

const NO_HASH: Hash128 = [0, 0];

/// The log as a request in hand may read it: the block that is being filled and all before it.
pub(super) struct LogView<'a> {
    pub(super) log: &'a [u8],
    pub(super) past: &'a dyn Past,
}

impl LogView<'_> {
    fn entry(&self, base: u64, position: u64, entry: &mut Entry) -> bool {
        if position >= base {
            let new = self.log.get((position - base) as usize..);
            return new.is_some_and(|octets| entry.decode(octets).is_some());
        }
        let mut octets = Vec::new();
        self.past.read(position, &mut octets) && entry.decode(&octets).is_some()
    }
}

/// Places of all that the requests of a batch will need, as far as they were found: kept for the next batch.
#[derive(Debug, Default)]
pub struct Slots {
    /// Hashes that events, and requests of sessions, are known again by.
    pub(super) events: Vec<u64>,
    pub(super) requests: Vec<u64>,
    /// The hashes of the accounts.
    pub(super) accounts: Vec<u64>,
    /// The places of the sessions, and the hashes of their accounts.
    pub(super) sessions: Vec<(u32, u64)>,
}

impl Slots {
    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.requests.clear();
        self.accounts.clear();
        self.sessions.clear();
    }
}

/// The answered requests of a shard, by the places of their entries in the log.
pub(super) struct AnsweredRequests {
    events: Duplicates,
    /// Of sessions.
    requests: Duplicates,
    /// The position of the first octet of the block that is being filled.
    pub(super) base: u64,
    /// Kept for the next request.
    known: Box<Entry>,
}

impl AnsweredRequests {
    pub(super) fn new(limits: &DuplicateLimits) -> AnsweredRequests {
        let window = |seconds: u32| u64::from(seconds) * 1_000_000;
        AnsweredRequests {
            events: Duplicates::new(
                "events",
                window(limits.event_window_s),
                limits.octets_first,
                limits.octets_max,
            ),
            requests: Duplicates::new(
                "sessions",
                window(limits.session_window_s.max(240)),
                limits.octets_first,
                limits.octets_max,
            ),
            base: 0,
            known: Box::default(),
        }
    }

    /// The next entries go to a block at this position.
    pub(super) fn begin_block(&mut self, base: u64, now_us: u64) {
        self.base = base;
        self.events.advance(now_us, base);
        self.requests.advance(now_us, base);
    }

    /// Nothing before this position is looked at any more.
    pub(super) fn floor(&self) -> u64 {
        self.events.floor().min(self.requests.floor())
    }

    /// The hashes that a request is known again by: by its session and number, and by its origin and
    /// end-to-end id.
    #[inline]
    pub(super) fn ids(session: Hash128, number: u32, origin: Hash128) -> (u64, u64) {
        // The lower half chooses the line, the upper one is the print. Four numbers of a session stand in one
        // line: what is asked for next was read already.
        let line = session[1].wrapping_add(u64::from(number / 4).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let print = line.wrapping_add(u64::from(number).wrapping_mul(0xd6e8_feb8_6659_fd93));
        let by_session = line & 0xffff_ffff | print >> 32 << 32;
        (by_session, origin[0] & 0xffff_ffff | origin[1] >> 32 << 32)
    }

    /// Reads where the requests of a batch would be found.
    pub(super) fn touch(&self, slots: &Slots) -> u64 {
        self.events.touch(&slots.events) ^ self.requests.touch(&slots.requests)
    }

    /// The entry of this request, if it was answered before.
    pub(super) fn find(&mut self, request: &Request<'_>, turn: &Turn<'_>) -> Option<&Entry> {
        let (by_session, by_origin) = AnsweredRequests::ids(request.session, request.number, request.origin);
        let seen = if of_session(&request.kind) { &self.requests } else { &self.events };
        let (known, base) = (&mut self.known, self.base);
        let log = LogView { log: turn.log, past: turn.past };
        let mut read = |position: u64, is_it: fn(&Entry, &Request<'_>) -> bool| {
            log.entry(base, position, known) && is_it(known, request)
        };
        let mut found = false;
        if request.session != NO_HASH {
            let is_it =
                |known: &Entry, r: &Request<'_>| known.session == r.session && known.number == r.number;
            found = seen.find(by_session, |position| read(position, is_it)).is_some();
        }
        if !found && request.origin != NO_HASH {
            let is_it = |known: &Entry, r: &Request<'_>| known.origin == r.origin;
            found = seen.find(by_origin, |position| read(position, is_it)).is_some();
        }
        found.then_some(&*self.known)
    }

    /// The entry of an event's debit, by its session.
    pub(super) fn debit(&self, of: &Hash128, log: &LogView<'_>) -> Option<Entry> {
        let mut entry = Entry::default();
        let (by_session, _) = AnsweredRequests::ids(*of, 0, NO_HASH);
        self.events.find(by_session, |position| {
            log.entry(self.base, position, &mut entry)
                && entry.session == *of
                && entry.deed == EntryKind::Debit
        })?;
        Some(entry)
    }

    /// Notes the request, so that it is known again.
    #[inline]
    pub(super) fn note(&mut self, entry: &Entry, position: u64) {
        let (by_session, by_origin) = AnsweredRequests::ids(entry.session, entry.number, entry.origin);
        let seen = if entry.deed.is_of_session() { &mut self.requests } else { &mut self.events };
        if entry.session != NO_HASH
            && !matches!(entry.deed, EntryKind::SessionExpired | EntryKind::SessionEnded)
        {
            seen.insert(by_session, position);
        }
        if entry.origin != NO_HASH {
            seen.insert(by_origin, position);
        }
    }
}
