//! Session requests (RFC 8506 5): each report of used units is taken, then new units are reserved.

use super::account::Account;
use super::bundle;
use super::entry::{Entry, EntryKind, ServiceEntry};
use super::event::conclude;
use super::expiry::Due;
use super::pool::is_named;
use super::rating::Rating;
use super::request::{MessageKey, Request, Service, ServiceContext, Terms, Units, result};
use super::session::{Reservation, Session, paid};
use super::shard::{Funds, Shard, Turn};
use super::tariff::{Rates, Target, TariffChange};

/// What is left for the services of one request that are not decided yet.
pub(super) struct Left {
    pub(super) money: i64,
    pub(super) bundled: u64,
    target: Target,
    /// Whether new units may be granted.
    may_grant: bool,
}

/// The tariff that holds for a service.
pub(super) struct Rated<'t> {
    tariff: u16,
    pub(super) rates: &'t Rates,
    /// Another one, while what is granted now is good: rarely, so it is not to be carried about.
    pub(super) change: Option<Box<TariffChange>>,
}

impl Shard {
    pub(super) fn decide_initial(&self, request: &Request<'_>, funds: Funds, entry: &mut Entry) {
        if funds.is_blocked {
            entry.result = result::END_USER_SERVICE_DENIED;
            return;
        }
        if has_twins(request.services) || request.session == [0, 0] {
            entry.result = result::INVALID_AVP_VALUE;
            return;
        }
        let earlier = self.sessions.find(&request.session);
        if earlier.is_some_and(|session| Some(session.account) != entry.account) {
            // Another account's session: nobody but its own client may begin it again.
            entry.result = result::END_USER_SERVICE_DENIED;
            return;
        }
        if earlier.is_none() && self.sessions.len() >= self.rating.config.sessions_max {
            entry.result = result::UNABLE_TO_COMPLY;
            return;
        }
        // A session that is begun again lets go of what it held before.
        let (freed, freed_bundled) = earlier.map_or((0, 0), |s| (s.reserved(), s.bundle_reserved()));
        entry.moved.pending = -freed;
        let target = entry.target();
        let bundled = bundle::available(&self.bundles, entry.account, target.context, self.now_us())
            .saturating_add(freed_bundled);
        let mut left =
            Left { money: funds.available.saturating_add(freed), bundled, target, may_grant: true };
        self.rating.decide_services(request, &Session::default(), &mut left, entry);
        conclude(entry);
        if let (Some(opener), [service]) = (&request.opener, &entry.services[..])
            && !opener.is_multiple
        {
            // The result of its only service is that of the whole, also where that has a Service-Identifier.
            entry.result = service.result;
        }
        if entry.result != result::SUCCESS {
            // The session does not begin, but what an earlier one held stays as it was; so nothing that it
            // was to pay for is taken.
            (entry.moved.pending, entry.moved.posted) = (0, 0);
            entry.services.iter_mut().for_each(take_nothing);
            return;
        }
        self.clients.note_opener(request.opener, entry);
    }

    pub(super) fn decide_open_session(&self, request: &Request<'_>, entry: &mut Entry) {
        let session = self.sessions.find(&request.session);
        let account = session.and_then(|session| self.accounts.account(session.account));
        let (Some(session), Some(account)) = (session, account) else {
            entry.result = result::UNKNOWN_SESSION_ID;
            return;
        };
        entry.account = Some(session.account);
        // The end is the end, under whatever number: else what is reserved would stay so.
        let is_out_of_turn = entry.deed == EntryKind::Update && !session.awaits(request.number);
        if is_out_of_turn || has_twins(request.services) {
            // Not known as a duplicate any more, and not a new request either.
            entry.result = result::INVALID_AVP_VALUE;
            return;
        }
        let target = if entry.target() == Target::default() { session.target } else { entry.target() };
        let bundled = bundle::available(&self.bundles, entry.account, target.context, self.now_us());
        let may_grant = entry.deed == EntryKind::Update && !account.is_blocked;
        // At the end what is held for services that the request does not name pays too.
        let is_free = |held: &&Reservation| entry.deed == EntryKind::Terminate && !is_named(request, held);
        let freed = session.reservations().filter(is_free).filter(|held| !held.is_pooled);
        let freed = freed.fold(0_i64, |sum, held| sum.saturating_add(held.reserved));
        let money = account.available().saturating_add(freed);
        let mut left = Left { money, bundled, target, may_grant };
        self.rating.decide_services(request, session, &mut left, entry);
        conclude(entry);
        if entry.deed == EntryKind::Terminate {
            // What no service named is free too.
            entry.moved.pending = -session.reserved();
        }
        conclude(entry);
    }

    /// Ends what is over at this time: at most `most` entries. Says how many were written.
    pub fn expire(&mut self, turn: &mut Turn<'_>, most: usize) -> usize {
        let mut written = 0;
        while written < most {
            let Some(due) = self.pop_due() else {
                break;
            };
            written += usize::from(self.end(due, turn));
        }
        written
    }

    /// Ends what may be over, if it is. Says whether an entry was written.
    pub(super) fn end(&mut self, due: Due, turn: &mut Turn<'_>) -> bool {
        let entry = match due {
            Due::Session(id) => self.expire_session(id),
            Due::Ended(id) => self.sessions.end_entry(id, EntryKind::SessionEnded),
            Due::Message(key) => self.expire_message(key),
            Due::Bundles(account) => self.bundles.contains_key(&account).then(|| Entry {
                deed: EntryKind::BundleExpired,
                account: Some(account),
                ..Entry::default()
            }),
        };
        let Some(entry) = entry else { return false };
        self.append(Entry { time_us: self.now_us(), result: result::SUCCESS, ..entry }, turn);
        true
    }

    /// The next one that may be over by now.
    pub(super) fn pop_due(&mut self) -> Option<Due> {
        self.sessions.pop_due(self.now_us()).map(Due::Session).or_else(|| self.expiry.pop(self.now_us()))
    }

    /// When `expire` has something to look at.
    pub fn next_expiry_us(&self) -> Option<u64> {
        self.sessions.next_due_us().into_iter().chain(self.expiry.next_us()).min()
    }

    fn expire_message(&mut self, key: MessageKey) -> Option<Entry> {
        let message = self.messages.find(&key)?;
        if message.until_us > self.now_us() {
            self.expiry.push(message.until_us, Due::Message(key));
            return None;
        }
        let mut entry = Entry {
            deed: EntryKind::MessageExpired,
            account: Some(message.account),
            message: Some(key),
            ..Entry::default()
        };
        entry.moved.pending = -message.pending();
        Some(entry)
    }

    fn expire_session(&mut self, id: [u64; 2]) -> Option<Entry> {
        let place = self.sessions.place(&id)?;
        let until_us = self.sessions.at(place)?.until_us;
        if until_us > self.now_us() {
            self.sessions.watch(place, until_us);
            return None;
        }
        self.sessions.end_entry(id, EntryKind::SessionExpired)
    }

    /// What the accounts hold for sessions and messages, counted from those: it is what `pending` says, or
    /// something is wrong.
    pub fn reserved(&self, number: u32) -> i64 {
        let sessions = self.sessions.iter().filter(|(_, session)| session.account == number);
        let messages = self.messages.iter().filter(|(_, message)| message.account == number);
        sessions.map(|(_, s)| s.reserved()).sum::<i64>() + messages.map(|(_, m)| m.pending()).sum::<i64>()
    }

    /// An account by its number.
    pub fn account_of(&self, number: u32) -> Option<&Account> {
        self.accounts.account(number)
    }
}

impl Rating {
    pub(super) fn decide_services(
        &self,
        request: &Request<'_>,
        session: &Session,
        left: &mut Left,
        entry: &mut Entry,
    ) {
        if session.has_pool() {
            self.decide_pooled(request, session, left, entry);
        } else {
            self.decide_alone(request, session, left, entry);
        }
        let tcc_s = if self.config.validity_s == 0 {
            self.config.tcc_s
        } else {
            self.config.validity_s.saturating_mul(2)
        };
        entry.until_us = self.now_us + u64::from(tcc_s) * 1_000_000;
        if entry.deed == EntryKind::Terminate {
            entry.until_us = 0;
        }
    }

    /// Services of which each has what is reserved for it.
    fn decide_alone(&self, request: &Request<'_>, session: &Session, left: &mut Left, entry: &mut Entry) {
        // What is left of a service's reservation when what it used before a change of the tariff is settled.
        let mut carried: Option<Reservation> = None;
        for service in request.services {
            let carried_here = carried.take();
            let reserved = || session.find(service.rating_group, service.service_id);
            let before = carried_here.as_ref().or_else(reserved).unwrap_or(&Reservation::NONE);
            let Some(rated) = self.rated(service, before, left) else {
                left.money = left.money.saturating_add(before.reserved);
                entry.moved.pending -= before.reserved;
                entry.services.push(ServiceEntry { result: result::RATING_FAILED, ..named(service) });
                continue;
            };
            let decided = entry.services.push_mut(named(service));
            self.decide_service(service, before, &rated, left, decided);
            if service.is_before_change {
                carried = Some(carry(before, decided));
            }
            entry.moved.posted -= decided.cost;
            entry.moved.pending += decided.reserved - before.reserved;
        }
    }

    /// Under which tariff a service is: what it used before a change under that of its reservation.
    pub(super) fn rated(&self, service: &Service, before: &Reservation, left: &Left) -> Option<Rated<'_>> {
        let tariffs = &self.config.tariffs;
        if service.is_before_change
            && let Some(rates) = tariffs.rates(before.tariff)
        {
            return Some(Rated { tariff: before.tariff, rates, change: None });
        }
        let (tariff, rates) = tariffs.find(&left.target, service.rating_group, self.now_us)?;
        let until_us = self.now_us.saturating_add(u64::from(self.config.validity_s) * 1_000_000);
        let is_granted = service.requested.is_some() && left.may_grant;
        let change = is_granted
            .then(|| tariffs.change(&left.target, service.rating_group, self.now_us, until_us))
            .flatten()
            .map(Box::new);
        Some(Rated { tariff, rates, change })
    }

    fn decide_service(
        &self,
        service: &Service,
        before: &Reservation,
        rated: &Rated<'_>,
        left: &mut Left,
        decided: &mut ServiceEntry,
    ) {
        left.money = left.money.saturating_add(before.reserved);
        left.bundled = left.bundled.saturating_add(before.bundle_reserved);
        let totals = charge(service, before, rated, left, decided);
        if decided.result == result::SUCCESS {
            let totals = paid(&totals, decided.shortfall);
            self.give(service, &totals, rated, left, decided);
        }
    }

    /// Reserves what is asked for, if anything is.
    pub(super) fn give(
        &self,
        service: &Service,
        totals: &Units,
        rated: &Rated<'_>,
        left: &mut Left,
        decided: &mut ServiceEntry,
    ) {
        if let Some(requested) = service.requested
            && left.may_grant
        {
            self.grant(&requested, totals, rated, left, decided);
        } else if service.requested.is_some() {
            decided.result = result::END_USER_SERVICE_DENIED;
        }
    }

    /// Grants as much as was asked for and can be paid; less than that is the final unit indication.
    fn grant(
        &self,
        requested: &Units,
        totals: &Units,
        rated: &Rated<'_>,
        left: &mut Left,
        decided: &mut ServiceEntry,
    ) {
        let wanted = self.wanted(requested, rated.rates, left.target.context);
        let bundled = wanted.specific.min(left.bundled);
        let paid = rated.rates.priced(&Units { specific: wanted.specific - bundled, ..wanted });
        let Some((granted, cost)) = rated.affordable(totals, &paid, left.money.max(0)) else {
            decided.result = result::RATING_FAILED;
            return;
        };
        let is_nothing = granted.is_zero() && bundled == 0 && !paid.is_zero();
        decided.granted = beside(&wanted, &granted, bundled, is_nothing);
        decided.is_final = decided.granted != wanted;
        if is_nothing && !self.config.zero_grant {
            decided.result = result::CREDIT_LIMIT_REACHED;
            decided.granted = Units::default();
            decided.is_final = false;
            return;
        }
        decided.validity_s = self.config.validity_s;
        decided.terms = Terms {
            final_action: if decided.is_final { self.config.final_action as u8 } else { 0 },
            threshold_percent: self.config.threshold_percent,
            holding_s: self.config.holding_s,
            tariff_change_s: rated.change.as_ref().map_or(0, |change| change.at_s),
            pool: self.pool(rated, decided, bundled),
        };
        decided.reserved = cost;
        decided.bundle_reserved = bundled;
        left.money -= cost;
        left.bundled -= bundled;
    }
}

impl Rating {
    /// What is to be granted if there is money: what was asked for, or the config's size of the tariff's own
    /// kind where that is left open, and no more than the config's bound.
    fn wanted(&self, requested: &Units, rates: &Rates, context: ServiceContext) -> Units {
        let quota = &self.config.quota;
        let open = || quota.units.only(rates.own_kind(context));
        let wanted = if requested.is_empty() { open() } else { *requested };
        wanted.at_most(&quota.at_most)
    }
}

/// What is granted of what was wanted: of the priced kinds what can be paid, the units of bundles, and of
/// kinds that cost nothing beside the others all; nothing of those where there is nothing else.
fn beside(wanted: &Units, granted: &Units, bundled: u64, is_nothing: bool) -> Units {
    let free = wanted.only(if is_nothing { 0 } else { !(granted.present | Units::SPECIFIC) });
    let specific = match granted.present & Units::SPECIFIC {
        0 if !is_nothing => wanted.specific,
        _ => granted.specific + bundled,
    };
    Units {
        present: wanted.present,
        time_s: granted.time_s + free.time_s,
        octets: granted.octets + free.octets,
        specific,
        money: granted.money + free.money,
    }
}

impl Rated<'_> {
    /// As many of the wanted units as a budget pays, whichever tariff they are used under, and what they cost
    /// at most.
    fn affordable(&self, totals: &Units, wanted: &Units, budget: i64) -> Option<(Units, i64)> {
        let (now, cost) = self.rates.affordable(totals, wanted, budget)?;
        let Some(change) = &self.change else { return Some((now, cost)) };
        let (both, later_cost) = change.rates.affordable(&Units::default(), &now, budget)?;
        Some((both, self.rates.price_of_more(totals, &both)?.max(later_cost)))
    }
}

/// Whether a service stands there twice: it has one reservation, so it can have one report and one quota.
/// What it used before a change of the tariff stands right before it.
fn has_twins(services: &[Service]) -> bool {
    let key = |service: &Service| (service.rating_group, service.service_id, service.is_before_change);
    let follows = |part: &Service, next: &Service| key(next) == (part.rating_group, part.service_id, false);
    let is_alone = |at: usize| !services.get(at + 1).is_some_and(|next| follows(&services[at], next));
    if services.iter().enumerate().any(|(at, service)| service.is_before_change && is_alone(at)) {
        return true;
    }
    services
        .iter()
        .enumerate()
        .any(|(at, service)| services[..at].iter().any(|other| key(other) == key(service)))
}

/// A service of a session that does not begin moves nothing.
fn take_nothing(service: &mut ServiceEntry) {
    service.used = Units::default();
    (service.cost, service.shortfall, service.reserved) = (0, 0, 0);
    (service.bundled, service.bundle_reserved) = (0, 0);
}

/// Takes what was used of a service, of the kinds that were granted and have a price, and notes what is to be
/// on record. Gives all that counts so far under this tariff, paid or not.
pub(super) fn charge(
    service: &Service,
    before: &Reservation,
    rated: &Rated<'_>,
    left: &mut Left,
    decided: &mut ServiceEntry,
) -> Units {
    let Rated { tariff, rates, .. } = *rated;
    decided.tariff = tariff;
    let totals = if before.tariff == tariff { before.totals } else { Units::default() };
    let Some(used) = service.used.filter(|used| !used.is_empty()) else {
        return totals;
    };
    let bundled = before.counted(&used).specific.min(left.bundled);
    let rest = Units { specific: used.specific - bundled, ..used };
    let counted = before.counted(&rest);
    let price = rates.price_of_more(&totals, &rates.priced(&counted));
    let (Some(price), Some(sum)) = (price, before.totals_with(tariff, &counted)) else {
        decided.result = result::RATING_FAILED;
        return totals;
    };
    // What was used over what can be paid goes on record and not into the balance.
    (decided.bundled, decided.used) = (bundled, rest);
    decided.cost = price.min(left.money.max(0));
    decided.shortfall = price - decided.cost;
    left.money -= decided.cost;
    left.bundled -= bundled;
    sum
}

/// What a service used before a change of the tariff is a record of its own. Gives what is left of its
/// reservation.
pub(super) fn carry(before: &Reservation, decided: &mut ServiceEntry) -> Reservation {
    decided.is_part = true;
    let mut after = *before;
    after.update(decided);
    Reservation { reserved: 0, bundle_reserved: 0, ..after }
}

pub(super) fn named(service: &Service) -> ServiceEntry {
    ServiceEntry {
        rating_group: service.rating_group,
        service_id: service.service_id,
        result: result::SUCCESS,
        ..ServiceEntry::default()
    }
}
