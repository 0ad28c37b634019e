//! Requests that were answered: known again by their session, number and kind, and by what they report or
//! debit, and read from the log before that is believed. An end-to-end identifier alone says nothing: clients
//! begin theirs anew, or never count.

use super::account::AccountNumber;
use super::config::DuplicateLimits;
use super::duplicates::Duplicates;
use super::entry::{Entry, EntryKind, ServiceEntry};
use super::event;
use super::hash::Hash128;
use super::request::{Kind, Request, Service, Units, result};
use super::shard::{Past, Turn, deed, of_session};

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

    /// The hash that a request is known again by: of its session and number.
    #[inline]
    pub(super) fn id(session: Hash128, number: u32) -> u64 {
        // The lower half chooses the line, the upper one is the print. Four numbers of a session stand in one
        // line: what is asked for next was read already.
        let line = session[1].wrapping_add(u64::from(number / 4).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let print = line.wrapping_add(u64::from(number).wrapping_mul(0xd6e8_feb8_6659_fd93));
        line & 0xffff_ffff | print >> 32 << 32
    }

    /// Reads where the requests of a batch would be found.
    pub(super) fn touch(&self, slots: &Slots) -> u64 {
        self.events.touch(&slots.events) ^ self.requests.touch(&slots.requests)
    }

    /// The entry of this request, if it was answered before. `account` is whose it is, which is looked up
    /// only where something was found.
    pub(super) fn find(
        &mut self,
        request: &Request<'_>,
        turn: &Turn<'_>,
        account: impl Fn() -> Option<AccountNumber>,
    ) -> Option<&Entry> {
        if request.session == NO_HASH {
            return None;
        }
        let id = AnsweredRequests::id(request.session, request.number);
        let is_of_session = of_session(&request.kind);
        let seen = if is_of_session { &self.requests } else { &self.events };
        let (known, base) = (&mut self.known, self.base);
        let log = LogView { log: turn.log, past: turn.past };
        // Who goes on with a session need not say whose it is.
        let names_none = matches!(request.kind, Kind::Update | Kind::Terminate);
        let mut refused_at = None;
        let found = seen.find(id, |position| {
            if !log.entry(base, position, known) || !is_numbered(known, request) {
                return false;
            }
            if was_refused(known) {
                refused_at = Some(position);
                return false;
            }
            // One that was refused before an account was found has none.
            let is_theirs = names_none || known.account.is_none() || known.account == account();
            is_repeated(known, request) && is_theirs
        });
        let is_found = found.is_some() || refused_at.is_some_and(|position| log.entry(base, position, known));
        is_found.then_some(&*self.known)
    }

    /// The entry of an event's debit, by its session.
    pub(super) fn debit(&self, of: &Hash128, log: &LogView<'_>) -> Option<Entry> {
        let mut entry = Entry::default();
        self.events.find(AnsweredRequests::id(*of, 0), |position| {
            log.entry(self.base, position, &mut entry)
                && entry.session == *of
                && entry.deed == EntryKind::Debit
        })?;
        Some(entry)
    }

    /// Notes the request, so that it is known again.
    #[inline]
    pub(super) fn note(&mut self, entry: &Entry, position: u64) {
        let seen = if entry.deed.is_of_session() { &mut self.requests } else { &mut self.events };
        if entry.session != NO_HASH
            && !matches!(entry.deed, EntryKind::SessionExpired | EntryKind::SessionEnded)
        {
            seen.insert(AnsweredRequests::id(entry.session, entry.number), position);
        }
    }
}

/// Whether an entry is of the same session, number and kind.
fn is_numbered(known: &Entry, request: &Request<'_>) -> bool {
    known.session == request.session && known.number == request.number && known.deed == deed(&request.kind)
}

/// Whether an entry of a session is of a request that was refused as a whole, so that nobody can say what it
/// reported: whatever comes under its number is refused again, unless there is an answer of its own.
fn was_refused(known: &Entry) -> bool {
    known.deed.is_of_session() && known.services.is_empty() && known.result == result::INVALID_AVP_VALUE
}

/// Whether an entry of the same session, number and kind reports or debits the same. A client that counts
/// wrongly sends another request under a number that was there.
fn is_repeated(known: &Entry, request: &Request<'_>) -> bool {
    match request.kind {
        Kind::Update | Kind::Terminate => are_alike(known, request.services, |known, service| {
            let used = service.used.unwrap_or_default();
            let bundled = known.used.specific.saturating_add(known.bundled);
            // What could not be rated was not taken, and does not stand there.
            known.result == result::RATING_FAILED || Units { specific: bundled, ..known.used } == used
        }),
        Kind::Debit => are_alike(known, event::services(request), |known, service| {
            known.result != result::SUCCESS || known.granted == event::units(service)
        }),
        _ => true,
    }
}

/// Whether the services of an entry are those that were asked for. A debit that was refused as a whole has
/// none.
fn are_alike(known: &Entry, asked: &[Service], is_it: impl Fn(&ServiceEntry, &Service) -> bool) -> bool {
    let name = |known: &ServiceEntry| (known.rating_group, known.service_id);
    let has_none = known.services.is_empty() && known.result != result::SUCCESS;
    let Some((answered, more)) = known.services.split_at_checked(asked.len()) else { return has_none };
    // Behind them stand services that the request does not name, whose pool it draws on.
    more.iter().all(|service| service.is_part)
        && answered.iter().zip(asked).all(|(known, service)| {
            name(known) == (service.rating_group, service.service_id) && is_it(known, service)
        })
}
