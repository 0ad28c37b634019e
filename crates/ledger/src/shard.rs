//! One shard: all state of its accounts in memory, moved by requests and by the log. No clock and no IO: time
//! comes with each request, and what is asked again is read through `Past`.

use std::collections::HashMap;
use std::sync::Arc;

use super::account::{Account, AccountNumber, Accounts};
use super::bundle::{AccountBundles, BUNDLES_MAX, Bundle, Bundles};
use super::client::Clients;
use super::config::Config;
use super::duplicates::Duplicates;
use super::entry::{Entry, EntryKind, Opened, SERVICES_MAX, ServiceEntry};
use super::expiry::{Due, Expiry};
use super::hash::{Hash128, HashKey};
use super::key::PackedKey;
use super::message::{Message, Messages, Stage};
use super::request::{Answer, Kind, MessageKey, Request, ServiceAnswer, Weights, result};
use super::session::Session;
use super::sessions::{Begun, SessionIndex, SessionTable};
use super::tariff::Target;

/// Entries that are in the log already.
pub trait Past {
    /// Replaces `into` by the octets at this position, as many as one entry may have, fewer at the end.
    /// False: there is nothing.
    fn read(&self, position: u64, into: &mut Vec<u8>) -> bool;
}

/// What is at hand while requests are applied.
pub struct Turn<'a> {
    /// Microseconds of UTC. A time before the last one counts as the last one.
    pub now_us: u64,
    /// The block that is being filled.
    pub log: &'a mut Vec<u8>,
    /// The services of all answers.
    pub services: &'a mut Vec<ServiceAnswer>,
    pub past: &'a dyn Past,
}

/// What a request in hand may read of the log: the block that is being filled and what is before it.
pub(super) struct LogView<'a> {
    log: &'a [u8],
    past: &'a dyn Past,
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

/// What the requests of a batch will need, as far as it was found: kept for the next batch.
#[derive(Debug, Default)]
pub struct Slots {
    /// What events, and requests of sessions, are known again by.
    events: Vec<u64>,
    requests: Vec<u64>,
    /// The hashes of the accounts.
    accounts: Vec<u64>,
    /// The places of the sessions, and the hashes of their accounts.
    sessions: Vec<(u32, u64)>,
}

impl Slots {
    fn clear(&mut self) {
        self.events.clear();
        self.requests.clear();
        self.accounts.clear();
        self.sessions.clear();
    }
}

/// Why an entry cannot follow on the state before it.
#[derive(Debug, PartialEq, Eq)]
pub struct Unfit(pub &'static str);

/// The octets that one entry may have.
pub const ENTRY_OCTETS_MAX: usize = 2 + u16::MAX as usize;

const NO_HASH: Hash128 = [0, 0];

/// The state of one shard.
pub struct Shard {
    pub(super) config: Arc<Config>,
    pub(super) accounts: Accounts,
    pub(super) clients: Clients,
    pub(super) sessions: SessionTable,
    pub(super) messages: Messages,
    pub(super) bundles: Bundles,
    pub(super) expiry: Expiry,
    pub(super) events: Duplicates,
    pub(super) requests: Duplicates,
    /// What was refunded of events, by their session, and when that was.
    pub(super) refunds: HashMap<Hash128, (i64, u64)>,
    /// The position of the first octet of the block that is being filled.
    base: u64,
    pub(super) now_us: u64,
    /// Kept for the next request.
    entry: Option<Box<Entry>>,
    known: Box<Entry>,
    /// Duplicates that were answered again.
    pub duplicates_found: u64,
}

impl Shard {
    /// An empty shard.
    pub fn new(key: HashKey, config: Arc<Config>) -> Shard {
        let window = |seconds: u32| u64::from(seconds) * 1_000_000;
        Shard {
            accounts: Accounts::new(key),
            clients: Clients::default(),
            sessions: SessionTable::default(),
            messages: Messages::default(),
            bundles: Bundles::default(),
            expiry: Expiry::default(),
            events: Duplicates::new(
                "events",
                window(config.event_window_s),
                config.duplicates_octets_first,
                config.duplicates_octets_max,
            ),
            requests: Duplicates::new(
                "sessions",
                window(config.session_window_s.max(240)),
                config.duplicates_octets_first,
                config.duplicates_octets_max,
            ),
            refunds: HashMap::new(),
            base: 0,
            now_us: 0,
            entry: None,
            known: Box::default(),
            duplicates_found: 0,
            config,
        }
    }

    /// From now on other rules hold. What was granted stays as it was.
    pub fn configure(&mut self, config: Arc<Config>) {
        self.config = config;
    }

    /// The next entries go to a block whose first octet has this position in the log.
    pub fn begin_block(&mut self, base: u64, now_us: u64) {
        self.base = base;
        self.now_us = self.now_us.max(now_us);
        self.events.advance(self.now_us, base);
        self.requests.advance(self.now_us, base);
        if self.refunds.len() > REFUNDS_KEPT {
            let window = u64::from(self.config.event_window_s) * 1_000_000;
            self.refunds.retain(|_, (_, at)| *at + window > now_us);
        }
    }

    /// The hashes that a request is known again by: by its session and number, and by its origin and
    /// end-to-end id.
    #[inline]
    pub fn ids(session: Hash128, number: u32, origin: Hash128) -> (u64, u64) {
        // The lower half chooses the line, the upper one is the print. Four numbers of a session stand in one
        // line: what is asked for next was read already.
        let line = session[1].wrapping_add(u64::from(number / 4).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let print = line.wrapping_add(u64::from(number).wrapping_mul(0xd6e8_feb8_6659_fd93));
        let by_session = line & 0xffff_ffff | print >> 32 << 32;
        (by_session, origin[0] & 0xffff_ffff | origin[1] >> 32 << 32)
    }

    /// Reads what the requests of a batch will need, and nothing depends on it: so the misses overlap. Each
    /// comes with the hash of its account, its session and what it is known again by.
    pub fn touch<'a>(
        &self,
        requests: impl Iterator<Item = (u64, &'a Kind, &'a Hash128, (u64, u64))>,
        slots: &mut Slots,
    ) -> u64 {
        slots.clear();
        for (hash, kind, session, (by_session, by_origin)) in requests {
            let is_of_session = of_session(kind);
            let seen = if is_of_session { &mut slots.requests } else { &mut slots.events };
            seen.extend_from_slice(&[by_session, by_origin]);
            slots.accounts.push(hash);
            if is_of_session {
                slots.sessions.push((self.sessions.touch(session), hash));
            }
        }
        // A loop for each: the shorter it is, the more of its misses a processor has before it at once.
        let sum = self.events.touch(&slots.events) ^ self.requests.touch(&slots.requests);
        let sum = slots.accounts.iter().fold(sum, |sum, hash| sum ^ self.accounts.touch_index(*hash));
        let accounts = slots.accounts.iter().map(|hash| self.accounts.touch_account(*hash).1 as u64);
        let sessions = slots.sessions.iter().map(|(place, hash)| {
            u64::from(self.sessions.touch_place(*place, self.accounts.touch_account(*hash).0))
        });
        accounts.chain(sessions).fold(sum, u64::wrapping_add)
    }

    /// Applies one request: moves the state, appends one entry to the log and answers from it. A duplicate
    /// gets the first answer's fields and leaves no entry, and neither does a request for a session that is
    /// not known (5002).
    pub fn apply(&mut self, request: &Request<'_>, hash: u64, turn: &mut Turn<'_>) -> Answer {
        if let Some(answer) = self.first_answer(request, turn) {
            return answer;
        }
        let mut entry = self.entry.take().unwrap_or_default();
        entry.reset();
        entry.time_us = self.now_us;
        entry.session = request.session;
        entry.origin = request.origin;
        entry.number = request.number;
        entry.context = request.context;
        entry.class = request.class;
        entry.destination = request.destination;
        let reading = LogView { log: turn.log, past: turn.past };
        self.decide(request, hash, &reading, &mut entry);
        if entry.result != result::UNKNOWN_SESSION_ID {
            let position = self.base + turn.log.len() as u64;
            entry.encode(turn.log);
            let fits = self.commit(&entry, position);
            debug_assert_eq!(fits, Ok(()));
        }
        let answer = answer(&entry, turn.services);
        self.entry = Some(entry);
        answer
    }

    /// Makes the state that an entry of the log made when it was new.
    ///
    /// # Errors
    ///
    /// The entry does not follow on what was before it: the log is not whole.
    pub fn replay(&mut self, entry: &Entry, position: u64) -> Result<(), Unfit> {
        self.commit(entry, position)
    }

    /// Notes only that a request was there: for the log before a snapshot.
    pub fn replay_identity(&mut self, entry: &Entry, position: u64) {
        self.note(entry, position);
    }

    /// Appends an entry that nobody asked for.
    pub(super) fn append(&mut self, entry: Entry, turn: &mut Turn<'_>) {
        let position = self.base + turn.log.len() as u64;
        entry.encode(turn.log);
        let fits = self.commit(&entry, position);
        debug_assert_eq!(fits, Ok(()));
    }

    /// What can still be refunded of an event of this account.
    pub(super) fn refundable(
        &self,
        of: &Hash128,
        account: Option<AccountNumber>,
        past: &LogView<'_>,
    ) -> Option<i64> {
        let mut entry = Entry::default();
        let (by_session, _) = Shard::ids(*of, 0, NO_HASH);
        self.events.find(by_session, |position| {
            past.entry(self.base, position, &mut entry)
                && entry.session == *of
                && entry.deed == EntryKind::Debit
        })?;
        let debited = entry.services.iter().fold(0_i64, |sum, service| sum.saturating_add(service.cost));
        let refunded = self.refunds.get(of).map_or(0, |(refunded, _)| *refunded);
        (entry.account == account).then_some(debited.saturating_sub(refunded).max(0))
    }

    fn first_answer(&mut self, request: &Request<'_>, turn: &mut Turn<'_>) -> Option<Answer> {
        let (by_session, by_origin) = Shard::ids(request.session, request.number, request.origin);
        let seen = if of_session(&request.kind) { &self.requests } else { &self.events };
        let (known, base) = (&mut self.known, self.base);
        let reading = LogView { log: turn.log, past: turn.past };
        let mut read = |position: u64, is_it: fn(&Entry, &Request<'_>) -> bool| {
            reading.entry(base, position, known) && is_it(known, request)
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
        found.then(|| {
            self.duplicates_found += 1;
            Answer { is_duplicate: true, ..answer(&self.known, turn.services) }
        })
    }

    /// The account of a request; an unknown one is opened by the entry where the rules say so.
    fn account(&self, request: &Request<'_>, hash: u64, entry: &mut Entry) -> Option<Funds> {
        if let Some(number) = self.accounts.find(hash, &request.account) {
            let account = self.accounts.account(number)?;
            entry.account = Some(number);
            return Some(Funds::of(account));
        }
        let with = self.config.default_account?;
        self.open(request, with.balance, with.limit, entry)
    }

    fn open(&self, request: &Request<'_>, balance: i64, limit: i64, entry: &mut Entry) -> Option<Funds> {
        if self.accounts.len() >= self.config.accounts_max
            || request.account_octets.len() > super::key::KEY_OCTETS_MAX
        {
            return None;
        }
        let octets = if request.account.is_hashed() { request.account_octets.to_vec() } else { Vec::new() };
        entry.account = Some(self.accounts.len() as AccountNumber);
        entry.opened = Some(Opened { key: request.account, octets, balance, limit });
        Some(Funds { available: balance.saturating_add(limit).max(0), is_blocked: false, has_bundles: false })
    }

    fn decide(&self, request: &Request<'_>, hash: u64, reading: &LogView<'_>, entry: &mut Entry) {
        entry.deed = deed(&request.kind);
        if request.services.len() > SERVICES_MAX {
            entry.result = result::UNABLE_TO_COMPLY;
            return;
        }
        if matches!(request.kind, Kind::Update | Kind::Terminate) {
            return self.decide_open_session(request, entry);
        }
        if let Kind::Create { balance, limit } = request.kind {
            return self.decide_create(request, hash, balance, limit, entry);
        }
        let Some(funds) = self.account(request, hash, entry) else {
            entry.result = result::USER_UNKNOWN;
            return;
        };
        match request.kind {
            Kind::Debit => self.decide_debit(request, funds, entry),
            Kind::Refund { of } => self.decide_refund(request, of, reading, entry),
            Kind::CheckBalance | Kind::PriceEnquiry => self.decide_enquiry(request, funds, entry),
            Kind::Initial => self.decide_initial(request, funds, entry),
            Kind::TopUp { amount } => self.decide_top_up(amount, entry),
            Kind::SetLimit { limit } => self.decide_limit(limit, entry),
            Kind::Block { blocked } => entry.is_blocked = blocked,
            Kind::AddBundle { units, context, expires_s } => {
                self.decide_bundle(Bundle { units, context, expires_s }, entry);
            }
            Kind::Hold { message, parts, until_us, since } => {
                (entry.message, entry.parts, entry.until_us, entry.since) =
                    (Some(message), parts, until_us, since);
                self.decide_hold(message, funds, entry);
            }
            Kind::Debt { message, parts, until_us, since } => {
                (entry.message, entry.parts, entry.until_us, entry.since) =
                    (Some(message), parts, until_us, since);
                self.decide_debt(message, entry);
            }
            Kind::Settle { message, parts } => self.decide_settle(message, parts, funds, entry),
            Kind::Release { message, at } => self.decide_release(message, at, entry),
            Kind::Keep { message } => self.decide_keep(message, entry),
            Kind::Update | Kind::Terminate | Kind::Create { .. } => {}
        }
    }

    pub(super) fn target(entry: &Entry) -> Target {
        Target { context: entry.context, class: entry.class, destination: entry.destination }
    }
}

/// More refunds than this are looked through for those that are over.
const REFUNDS_KEPT: usize = 65_536;

/// What an account has while a request is decided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Funds {
    pub available: i64,
    pub is_blocked: bool,
    pub has_bundles: bool,
}

impl Funds {
    pub fn of(account: &Account) -> Funds {
        Funds {
            available: account.available().max(0),
            is_blocked: account.is_blocked,
            has_bundles: account.has_bundles,
        }
    }
}

fn of_session(kind: &Kind) -> bool {
    matches!(kind, Kind::Initial | Kind::Update | Kind::Terminate)
}

fn deed(kind: &Kind) -> EntryKind {
    match kind {
        Kind::Debit => EntryKind::Debit,
        Kind::Refund { .. } => EntryKind::Refund,
        Kind::CheckBalance => EntryKind::CheckBalance,
        Kind::PriceEnquiry => EntryKind::PriceEnquiry,
        Kind::Initial => EntryKind::Initial,
        Kind::Update => EntryKind::Update,
        Kind::Terminate => EntryKind::Terminate,
        Kind::TopUp { .. } => EntryKind::TopUp,
        Kind::Create { .. } => EntryKind::Create,
        Kind::SetLimit { .. } => EntryKind::SetLimit,
        Kind::Block { .. } => EntryKind::Block,
        Kind::AddBundle { .. } => EntryKind::AddBundle,
        Kind::Hold { .. } => EntryKind::Hold,
        Kind::Settle { .. } => EntryKind::Settle,
        Kind::Release { .. } => EntryKind::Release,
        Kind::Keep { .. } => EntryKind::Keep,
        Kind::Debt { .. } => EntryKind::Debt,
    }
}

/// The answer that stands in an entry. Services that are those of the answer before are not told again.
fn answer(entry: &Entry, services: &mut Vec<ServiceAnswer>) -> Answer {
    let begin = services.len();
    let mut cost = entry.cost;
    for service in &entry.services {
        cost = cost.saturating_add(service.cost);
        if service.is_part {
            continue;
        }
        services.push(ServiceAnswer {
            rating_group: service.rating_group,
            service_id: service.service_id,
            result: service.result,
            granted: service.granted,
            cost: service.cost,
            validity_s: service.validity_s,
            is_final: service.is_final,
            terms: service.terms,
        });
    }
    let told = services.len() - begin;
    let mut services_from = begin;
    if let Some(before) = begin.checked_sub(told)
        && services[before..begin] == services[begin..]
    {
        services.truncate(begin);
        services_from = before;
    }
    Answer {
        result: entry.result,
        is_duplicate: false,
        enough_credit: entry.enough_credit,
        cost,
        services_from: services_from as u32,
        services: told as u32,
    }
}

impl Shard {
    /// Makes the state that the entry says. The same for new entries and for old ones, and by the entry
    /// alone.
    fn commit(&mut self, entry: &Entry, position: u64) -> Result<(), Unfit> {
        if let Some(opened) = &entry.opened {
            if entry.account != Some(self.accounts.len() as AccountNumber) {
                return Err(Unfit("an account is opened with a number that is not the next one"));
            }
            let number = self.accounts.open(opened.key, &opened.octets);
            let account = self.accounts.account_mut(number).ok_or(Unfit("no account"))?;
            (account.posted, account.limit) = (opened.balance, opened.limit);
        }
        if let Some(number) = entry.account {
            let account =
                self.accounts.account_mut(number).ok_or(Unfit("an account that was never opened"))?;
            let moved = &entry.moved;
            let sums = [
                account.posted.checked_add(moved.posted),
                account.pending.checked_add(moved.pending),
                account.limit.checked_add(moved.limit),
                account.debt.checked_add(moved.debt),
            ];
            let [Some(posted), Some(pending), Some(limit), Some(debt)] = sums else {
                return Err(Unfit("a balance that does not fit in 64 bits"));
            };
            (account.posted, account.pending, account.limit, account.debt) = (posted, pending, limit, debt);
            if !matches!(entry.deed, EntryKind::TopUp | EntryKind::Create) {
                account.used = account.used.saturating_sub(moved.posted);
            }
            if entry.deed == EntryKind::Block {
                account.is_blocked = entry.is_blocked;
            }
            if account.has_bundles || entry.bundle.is_some() {
                self.commit_bundles(number, entry);
            }
        }
        match entry.deed {
            EntryKind::Initial
            | EntryKind::Update
            | EntryKind::Terminate
            | EntryKind::SessionExpired
            | EntryKind::SessionEnded => self.commit_session(entry)?,
            EntryKind::Hold
            | EntryKind::Settle
            | EntryKind::Release
            | EntryKind::Keep
            | EntryKind::Debt
            | EntryKind::MessageExpired => {
                self.commit_message(entry);
            }
            EntryKind::Refund => {
                if let Some(of) = entry.refund_of {
                    let refunded = self.refunds.entry(of).or_default();
                    *refunded = (refunded.0.saturating_add(entry.cost), entry.time_us);
                }
            }
            _ => {}
        }
        self.note(entry, position);
        Ok(())
    }

    /// Notes the request, so that it is known again.
    #[inline]
    fn note(&mut self, entry: &Entry, position: u64) {
        let (by_session, by_origin) = Shard::ids(entry.session, entry.number, entry.origin);
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

    fn commit_bundles(&mut self, number: AccountNumber, entry: &Entry) {
        let now_s = entry.time_us / 1_000_000;
        let bundles = self.bundles.entry(number).or_default();
        match (entry.deed, &entry.bundle) {
            (EntryKind::AddBundle, Some(new)) => {
                bundles.list.push(Bundle {
                    units: new.units,
                    context: new.context,
                    expires_s: new.expires_s,
                });
                bundles.list.sort_by_key(|bundle| bundle.expires_s);
                self.expiry.push(u64::from(new.expires_s) * 1_000_000, Due::Bundles(number));
            }
            (EntryKind::BundleExpired, _) => {
                bundles.list.retain(|bundle| u64::from(bundle.expires_s) > now_s)
            }
            _ => {
                let taken =
                    entry.services.iter().fold(0_u64, |sum, service| sum.saturating_add(service.bundled));
                // What this session had reserved is decided anew by its entry; `commit_session` notes the
                // rest.
                bundles.take(taken, Shard::context_of(&self.sessions, entry), now_s);
            }
        }
        let is_empty = *bundles == AccountBundles::default();
        if is_empty {
            self.bundles.remove(&number);
        }
        if let Some(account) = self.accounts.account_mut(number) {
            account.has_bundles = !is_empty;
        }
    }

    fn context_of(sessions: &SessionTable, entry: &Entry) -> super::request::ServiceContext {
        match sessions.find(&entry.session) {
            Some(session) if entry.context.0 == 0 => session.target.context,
            _ => entry.context,
        }
    }

    fn commit_session(&mut self, entry: &Entry) -> Result<(), Unfit> {
        let id = entry.session;
        let has_moved = match entry.deed {
            EntryKind::Initial => entry.result == result::SUCCESS,
            // Also when its only service was refused: what was reserved for it is free.
            EntryKind::Update | EntryKind::Terminate => entry.result != result::INVALID_AVP_VALUE,
            _ => true,
        };
        if !has_moved {
            return Ok(());
        }
        let earlier = self.sessions.place(&id);
        let bundled = |sessions: &SessionTable, place: Option<SessionIndex>| {
            place.and_then(|place| sessions.at(place)).map_or(0, Session::bundle_reserved)
        };
        let reserved_before = bundled(&self.sessions, earlier);
        let place = match entry.deed {
            EntryKind::Initial => Some(self.begin_session(entry, earlier)?),
            EntryKind::Update => earlier,
            _ => {
                let client = self.sessions.remove(&id).flatten();
                client.into_iter().for_each(|client| self.clients.over(client));
                None
            }
        };
        if let Some(session) = place.and_then(|place| self.sessions.at_mut(place)) {
            update_session(session, entry);
        }
        let reserved_after = bundled(&self.sessions, place);
        if reserved_before != reserved_after
            && let Some(bundles) = entry.account.and_then(|number| self.bundles.get_mut(&number))
        {
            bundles.pending = (bundles.pending + reserved_after).saturating_sub(reserved_before);
        }
        Ok(())
    }

    fn begin_session(&mut self, entry: &Entry, earlier: Option<SessionIndex>) -> Result<SessionIndex, Unfit> {
        let account = entry.account.ok_or(Unfit("a session of no account"))?;
        let client = earlier.and_then(|place| self.sessions.at(place)).and_then(|before| before.client);
        self.commit_client(entry, client)?;
        let (session_id, client, until_us) = (&entry.session_id[..], entry.client, entry.until_us);
        let begun = Begun { account, session_id, client, until_us };
        Ok(self.sessions.begin(earlier, entry.session, &begun))
    }

    fn commit_message(&mut self, entry: &Entry) {
        let (Some(key), Some(account)) = (entry.message, entry.account) else {
            return;
        };
        if entry.result != result::SUCCESS {
            return;
        }
        let before = self.messages.find(&key).copied();
        let since = before.map_or(0, |message| message.since).max(entry.since);
        let stage = match (entry.deed, before) {
            (EntryKind::Hold, _) => Stage::Held,
            (EntryKind::Settle, _) => Stage::Settled,
            (EntryKind::Release, _) => Stage::Released,
            (EntryKind::Debt, _) => Stage::Owed,
            (EntryKind::Keep, Some(message)) => message.stage,
            _ => {
                self.messages.remove(&key);
                return;
            }
        };
        if let Some(message) = before.filter(|message| message.stage == stage) {
            return self.messages.insert(key, Message { since, ..message });
        }
        let until_us = before.map_or(0, |message| message.until_us).max(entry.until_us);
        let is_new = matches!(stage, Stage::Held | Stage::Owed);
        let held = if is_new { entry.cost } else { 0 };
        let part_price = match is_new {
            true => entry.cost / i64::from(entry.parts.max(1)),
            false => before.map_or(0, |message| message.part_price),
        };
        self.messages.insert(key, Message { account, stage, held, part_price, until_us, since });
        if before.is_none() {
            self.expiry.push(until_us, Due::Message(key));
        }
    }

    /// Whose money is held for a message, or was, as long as it is remembered.
    pub fn payer(&self, key: &MessageKey) -> Option<AccountNumber> {
        self.messages.find(key).map(|message| message.account)
    }

    /// The unknown message that a receipt of this key is of, and of how many parts it is.
    pub fn unknown(&self, receipt: u64) -> Option<(MessageKey, u32)> {
        self.messages.find_unknown(receipt).map(|(key, message)| (key, message.parts()))
    }

    /// The shard's accounts, for reports.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// How many sessions are open, and for how many there is memory.
    pub fn sessions(&self) -> (usize, usize) {
        (self.sessions.len(), self.sessions.room())
    }

    /// The number of an account, by its key.
    pub fn find(&self, key: &PackedKey) -> Option<AccountNumber> {
        self.accounts.find_key(key)
    }
}

fn update_session(session: &mut Session, entry: &Entry) {
    session.number = entry.number;
    session.until_us = entry.until_us;
    let target = Shard::target(entry);
    if target != Target::default() {
        session.target = target;
    }
    for service in &entry.services {
        update_reservation(session, service);
    }
}

fn update_reservation(session: &mut Session, service: &ServiceEntry) {
    let reservation = session.reservation(service.rating_group, service.service_id);
    reservation.reserved = service.reserved;
    reservation.bundle_reserved = service.bundle_reserved;
    let totals = if reservation.tariff == service.tariff { reservation.totals } else { Default::default() };
    reservation.tariff = service.tariff;
    reservation.totals = totals.plus(&service.used).unwrap_or(totals);
    if !service.is_part {
        reservation.is_starved = service.is_final || service.result == result::CREDIT_LIMIT_REACHED;
        reservation.is_pooled = service.terms.pool != Weights::default();
    }
}

/// Whether an account may have another bundle.
pub(super) fn has_room(bundles: Option<&AccountBundles>) -> bool {
    bundles.is_none_or(|bundles| bundles.list.len() < BUNDLES_MAX)
}
