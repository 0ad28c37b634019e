//! One shard: all state of its accounts in memory, moved by requests and by the log. No clock and no IO: time
//! comes with each request, and what is asked again is read through `Past`.

use std::collections::HashMap;
use std::sync::Arc;

use super::account::{Account, AccountNumber, Accounts};
use super::answered::{AnsweredRequests, LogView, Slots};
use super::bundle::{self, AccountBundles, BUNDLES_MAX, Bundle, Bundles};
use super::client::Clients;
use super::config::Config;
use super::entry::{Entry, EntryKind, SERVICES_MAX};
use super::expiry::{Due, Expiry};
use super::hash::{Hash128, HashKey};
use super::key::PackedKey;
use super::message::Messages;
use super::rating::Rating;
use super::request::{Answer, Kind, MessageKey, Request, ServiceAnswer, result};
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

/// Why an entry cannot follow on the state before it.
#[derive(Debug, PartialEq, Eq)]
pub struct Unfit(pub &'static str);

/// The octets that one entry may have.
pub const ENTRY_OCTETS_MAX: usize = 2 + u16::MAX as usize;

/// The state of one shard.
pub struct Shard {
    pub(super) rating: Rating,
    pub(super) accounts: Accounts,
    pub(super) clients: Clients,
    pub(super) sessions: SessionTable,
    pub(super) messages: Messages,
    pub(super) bundles: Bundles,
    pub(super) expiry: Expiry,
    pub(super) answered: AnsweredRequests,
    /// What was refunded of events, by their session, and when that was.
    pub(super) refunds: HashMap<Hash128, (i64, u64)>,
    /// Kept for the next request.
    entry: Option<Box<Entry>>,
    /// Duplicates that were answered again.
    pub duplicates_found: u64,
}

impl Shard {
    /// An empty shard.
    pub fn new(key: HashKey, config: Arc<Config>) -> Shard {
        Shard {
            accounts: Accounts::new(key),
            clients: Clients::default(),
            sessions: SessionTable::default(),
            messages: Messages::default(),
            bundles: Bundles::default(),
            expiry: Expiry::default(),
            answered: AnsweredRequests::new(&config.duplicates),
            refunds: HashMap::new(),
            entry: None,
            duplicates_found: 0,
            rating: Rating { config, now_us: 0 },
        }
    }

    /// From now on other rules hold. What was granted stays as it was.
    pub fn configure(&mut self, config: Arc<Config>) {
        self.rating.config = config;
    }

    /// The next entries go to a block whose first octet has this position in the log.
    pub fn begin_block(&mut self, base: u64, now_us: u64) {
        self.rating.now_us = self.now_us().max(now_us);
        self.answered.begin_block(base, self.now_us());
        if self.refunds.len() > REFUNDS_KEPT {
            let window = u64::from(self.rating.config.duplicates.event_window_s) * 1_000_000;
            self.refunds.retain(|_, (_, at)| *at + window > now_us);
        }
    }

    /// Microseconds of UTC: of the newest block.
    #[inline]
    pub(super) fn now_us(&self) -> u64 {
        self.rating.now_us
    }

    /// Reads what the requests of a batch will need, and nothing depends on it: so the misses overlap. Each
    /// comes with the hash of its account, its session and what it is known again by.
    pub(super) fn touch<'a>(
        &self,
        requests: impl Iterator<Item = (u64, &'a Kind, &'a Hash128, u64)>,
        slots: &mut Slots,
    ) -> u64 {
        slots.clear();
        for (hash, kind, session, id) in requests {
            let is_of_session = of_session(kind);
            let seen = if is_of_session { &mut slots.requests } else { &mut slots.events };
            seen.push(id);
            slots.accounts.push(hash);
            if is_of_session {
                slots.sessions.push((self.sessions.touch(session), hash));
            }
        }
        // A loop for each: the shorter it is, the more of its misses a processor has before it at once.
        let sum = self.answered.touch(slots);
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
        let accounts = &self.accounts;
        let account = || accounts.find(hash, &request.account);
        if let Some(known) = self.answered.find(request, turn, account) {
            self.duplicates_found += 1;
            return Answer { is_duplicate: true, ..answer(known, turn.services) };
        }
        let mut entry = self.entry.take().unwrap_or_default();
        entry.reset();
        entry.time_us = self.now_us();
        entry.session = request.session;
        entry.number = request.number;
        entry.context = request.context;
        entry.class = request.class;
        entry.destination = request.destination;
        let reading = LogView { log: turn.log, past: turn.past };
        self.decide(request, hash, &reading, &mut entry);
        if entry.result != result::UNKNOWN_SESSION_ID {
            let position = self.answered.base + turn.log.len() as u64;
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
        self.answered.note(entry, position);
    }

    /// Appends an entry that nobody asked for.
    pub(super) fn append(&mut self, entry: Entry, turn: &mut Turn<'_>) {
        let position = self.answered.base + turn.log.len() as u64;
        entry.encode(turn.log);
        let fits = self.commit(&entry, position);
        debug_assert_eq!(fits, Ok(()));
    }

    /// The account of a request; an unknown one is opened by the entry where the rules say so.
    fn account(&self, request: &Request<'_>, hash: u64, entry: &mut Entry) -> Option<Funds> {
        if let Some(number) = self.accounts.find(hash, &request.account) {
            let account = self.accounts.account(number)?;
            entry.account = Some(number);
            return Some(Funds::of(account));
        }
        let with = self.rating.config.default_account?;
        let accounts_max = self.rating.config.accounts_max;
        self.accounts.decide_open(request, (with.balance, with.limit), accounts_max, entry)
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
            let accounts_max = self.rating.config.accounts_max;
            return self.accounts.decide_create(request, hash, (balance, limit), accounts_max, entry);
        }
        let Some(funds) = self.account(request, hash, entry) else {
            entry.result = result::USER_UNKNOWN;
            return;
        };
        match request.kind {
            Kind::Debit => self.rating.decide_debit(request, funds, self.bundled(&funds, entry), entry),
            Kind::Refund { of } => self.decide_refund(request, of, reading, entry),
            Kind::CheckBalance | Kind::PriceEnquiry => {
                self.rating.decide_enquiry(request, funds, self.bundled(&funds, entry), entry);
            }
            Kind::Initial => self.decide_initial(request, funds, entry),
            Kind::TopUp { amount } => self.accounts.decide_top_up(amount, entry),
            Kind::SetLimit { limit } => self.accounts.decide_limit(limit, entry),
            Kind::Block { blocked } => entry.is_blocked = blocked,
            Kind::AddBundle { units, context, expires_s } => {
                self.decide_bundle(Bundle { units, context, expires_s }, entry);
            }
            Kind::Hold { message, parts, until_us, since } => {
                (entry.message, entry.parts, entry.until_us, entry.since) =
                    (Some(message), parts, until_us, since);
                self.messages.decide_hold(message, &self.rating, funds, entry);
            }
            Kind::Debt { message, parts, until_us, since } => {
                (entry.message, entry.parts, entry.until_us, entry.since) =
                    (Some(message), parts, until_us, since);
                let account = entry.account.and_then(|number| self.accounts.account(number));
                let debt = account.map_or(0, |account| account.debt);
                self.messages.decide_debt(message, &self.rating, debt, entry);
            }
            Kind::Settle { message, parts } => self.messages.decide_settle(message, parts, funds, entry),
            Kind::Release { message, at } => self.messages.decide_release(message, at, entry),
            Kind::Keep { message } => self.messages.decide_keep(message, entry),
            Kind::Update | Kind::Terminate | Kind::Create { .. } => {}
        }
    }

    /// Units of bundles that pay for an event.
    fn bundled(&self, funds: &Funds, entry: &Entry) -> u64 {
        if !funds.has_bundles {
            return 0;
        }
        bundle::available(&self.bundles, entry.account, entry.context, self.now_us())
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

pub(super) fn of_session(kind: &Kind) -> bool {
    matches!(kind, Kind::Initial | Kind::Update | Kind::Terminate)
}

pub(super) fn deed(kind: &Kind) -> EntryKind {
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
                if let Some((until_us, key)) = self.messages.commit(entry) {
                    self.expiry.push(until_us, Due::Message(key));
                }
            }
            EntryKind::Refund => {
                if let Some(of) = entry.refund_of {
                    let refunded = self.refunds.entry(of).or_default();
                    *refunded = (refunded.0.saturating_add(entry.cost), entry.time_us);
                }
            }
            _ => {}
        }
        self.answered.note(entry, position);
        Ok(())
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
                bundles.take(taken, self.sessions.context_of(entry), now_s);
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
        self.clients.commit(entry, client)?;
        let (session_id, client, until_us) = (&entry.session_id[..], entry.client, entry.until_us);
        let begun = Begun { account, session_id, client, until_us };
        Ok(self.sessions.begin(earlier, entry.session, &begun))
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
    if entry.deed == EntryKind::Initial {
        session.begin(entry.number);
    } else {
        session.note(entry.number);
    }
    session.until_us = entry.until_us;
    let target = entry.target();
    if target != Target::default() {
        session.target = target;
    }
    for service in &entry.services {
        session.reservation(service.rating_group, service.service_id).update(service);
    }
}

/// Whether an account may have another bundle.
pub(super) fn has_room(bundles: Option<&AccountBundles>) -> bool {
    bundles.is_none_or(|bundles| bundles.list.len() < BUNDLES_MAX)
}
