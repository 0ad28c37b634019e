//! One alert in memory: its deliveries, their counts, what of them is not yet in SQL, and where dispatch
//! stands.

use super::answers::AlertAnswers;
use super::delivery_cell::{BEGUN, DeliveryCell, IN_SEGMENT, NO_CHANNEL, StringTable, offset};
use super::message_meta::{MessageMeta, MessageMetaTable};
use super::people::{FoundPerson, PersonPlace};
use super::ready_index::ReadyIndex;
use super::tally::Tally;
use super::unfolded_cells::UnfoldedCells;
use crate::dispatch::Wording;
use crate::plan::{Chains, Classifier, DeviceState, RouteCriteria};
use records::{
    Alert, Delivery, DeliveryState, EndpointNo, Lane, Origin, Reason, RosterBlock, RosterEntry, Terminal,
    Timestamp,
};
use std::sync::Arc;

/// A running (or lately finished) alert.
pub struct LiveAlert {
    /// As accepted, with its state of now.
    pub alert: Alert,
    /// Its texts.
    pub wording: Arc<Wording>,
    /// Counts.
    pub tally: Tally,
    /// Orders of devices, if any strategy has one.
    pub chains: Option<Chains>,
    pub answers: AlertAnswers,
    /// When it became final.
    pub finished: Option<Timestamp>,
    /// When orders of devices were looked through.
    pub escalated_at: Timestamp,
    /// A route of the simulator took some of it.
    pub simulated: bool,
    cells: Vec<DeliveryCell>,
    unfolded: UnfoldedCells,
    rate: Rate,
    /// Who could be dispatched, and the classes whose turn it waits for.
    pub ready: ReadyIndex,
    next_due: u32,
    /// Of a message stream: its messages.
    pub metas: Option<Box<MessageMetaTable>>,
}

impl LiveAlert {
    /// Nobody in it yet.
    pub fn new(alert: Alert, wording: Arc<Wording>) -> LiveAlert {
        let tally = Tally::new(alert.request.terminal);
        let metas = match alert.origin {
            Origin::Standing { intake_from } => Some(Box::new(MessageMetaTable::new(intake_from))),
            _ => None,
        };
        LiveAlert {
            alert,
            wording,
            tally,
            chains: None,
            answers: AlertAnswers::default(),
            finished: None,
            escalated_at: Timestamp::default(),
            simulated: false,
            cells: Vec::new(),
            unfolded: UnfoldedCells::default(),
            rate: Rate::default(),
            ready: ReadyIndex::default(),
            next_due: u32::MAX,
            metas,
        }
    }

    /// Takes a block of the roster in, each endpoint in the state a fresh one has. `then`
    /// [`LiveAlert::seal`].
    pub fn admit(&mut self, block: &RosterBlock, classifier: &Classifier, now: Timestamp) {
        for entry in &block.entries {
            self.tally.missing_values.take(entry, &self.wording);
            self.tally.people.admit(entry);
            self.admit_one(entry, classifier, now);
        }
    }

    fn admit_one(&mut self, entry: &RosterEntry, classifier: &Classifier, now: Timestamp) {
        let mut cell = DeliveryCell::PLANNED;
        cell.channel = entry.channel.map_or(NO_CHANNEL, |channel| channel.0);
        if let Some(reason) = entry.excluded {
            cell.state = DeliveryState::Excluded;
            cell.reason = reason;
        } else if let Some(sought) = sought(&self.alert, entry) {
            cell.class = classifier.class(&sought);
            if let Some(until) = entry.not_before.filter(|until| *until > now) {
                cell.state = DeliveryState::Held;
                cell.reason = if entry.message.is_some() { Reason::NotBefore } else { Reason::QuietHours };
                cell.due = offset(self.alert.created, until);
            }
        }
        if let (Some(metas), Some(message)) = (&mut self.metas, &entry.message) {
            let expires = entry.expires.map_or(u32::MAX, |expires| offset(self.alert.created, expires));
            metas.push(message.id, expires, message.tell.mask, super::message_meta::kind(&message.party));
        }
        self.cells.push(cell);
    }

    /// One more message of a message stream. It is counted at once; its client gets the event if it is over
    /// already.
    pub fn take_message(
        &mut self,
        entry: &RosterEntry,
        classifier: &Classifier,
        now: Timestamp,
    ) -> EndpointNo {
        let at = self.cells.len();
        self.admit_one(entry, classifier, now);
        let cell = self.cells[at];
        self.tally.add(&cell);
        self.tally.people.add_alone(cell.state);
        self.unfolded.resize(self.cells.len());
        self.ready.make_room(cell.class);
        if cell.is_ready() {
            self.ready.note(at, cell.class, true);
        }
        if cell.due != 0 {
            self.next_due = self.next_due.min(cell.due);
        }
        let endpoint = EndpointNo(at as u32);
        if let Some(metas) = &mut self.metas {
            metas.note(endpoint, &DeliveryCell::PLANNED, &cell, now);
        }
        endpoint
    }

    /// Messages of a message stream whose time has come, and that did not leave us, are over. True if there
    /// was one.
    pub fn expire_messages(&mut self, now: Timestamp) -> bool {
        /// Looked through so often at most, in milliseconds.
        const EVERY_MS: u32 = 1_000;
        let until = offset(self.alert.created, now);
        if self.metas.as_ref().is_none_or(|metas| metas.next_expiry > until) {
            return false;
        }
        let mut next_expiry = u32::MAX;
        let mut any = false;
        for i in 0..self.cells.len() {
            let (endpoint, cell) = (EndpointNo(i as u32), self.cells[i]);
            let is_open =
                matches!(cell.state, DeliveryState::Planned | DeliveryState::Held | DeliveryState::Submitted);
            let Some(expires) = self.meta(endpoint).filter(|_| is_open).map(|meta| meta.expires) else {
                continue;
            };
            let left_us = cell.state == DeliveryState::Submitted || cell.flags & IN_SEGMENT != 0;
            if expires > until || left_us {
                next_expiry = next_expiry.min(expires.max(until.saturating_add(EVERY_MS)));
                continue;
            }
            any = true;
            self.edit(endpoint, now, |cell| {
                cell.due = 0;
                cell.state = DeliveryState::Failed;
                cell.reason = Reason::Expired;
            });
        }
        if let Some(metas) = &mut self.metas {
            metas.next_expiry = next_expiry;
        }
        any
    }

    /// What is kept of a message.
    pub fn meta(&self, endpoint: EndpointNo) -> Option<&MessageMeta> {
        self.metas.as_ref()?.get(endpoint)
    }

    /// What a message in a segment costs.
    pub fn set_units(&mut self, endpoint: EndpointNo, units: u64) {
        if let Some(meta) = self.metas.as_mut().and_then(|metas| metas.get_mut(endpoint)) {
            meta.units = u8::try_from(units).unwrap_or(u8::MAX);
        }
    }

    /// A message ends at another time.
    pub fn set_expiry(&mut self, endpoint: EndpointNo, expires: Timestamp) {
        let expires = offset(self.alert.created, expires);
        if let Some(metas) = &mut self.metas {
            metas.next_expiry = metas.next_expiry.min(expires);
            if let Some(meta) = metas.get_mut(endpoint) {
                meta.expires = expires;
            }
        }
    }

    /// The network has a message and could not deliver it yet.
    pub fn note_buffered(&mut self, endpoint: EndpointNo, at: Timestamp) {
        if let Some(metas) = &mut self.metas {
            metas.note_buffered(endpoint, at);
        }
    }

    /// The orders of devices, when the whole roster is in: later devices wait.
    pub fn set_chains(&mut self, chains: Chains) {
        for (i, cell) in self.cells.iter_mut().enumerate() {
            if matches!(cell.state, DeliveryState::Planned | DeliveryState::Held)
                && chains.waits(EndpointNo(i as u32))
            {
                cell.state = DeliveryState::Held;
                cell.reason = Reason::EarlierDevice;
                cell.due = 0;
            }
        }
        self.chains = Some(chains);
    }

    /// Overwrites an endpoint with its stored row, at a start.
    pub fn load(&mut self, row: &Delivery, words: &mut StringTable) {
        let created = self.alert.created;
        if let Some(cell) = self.cells.get_mut(row.endpoint.0 as usize) {
            cell.load(row, created, words, &mut self.answers.list);
        }
    }

    /// Counts everybody, once they are all in.
    pub fn seal(&mut self) {
        self.unfolded = UnfoldedCells::new(self.cells.len());
        let mut reached = Vec::new();
        for (i, cell) in self.cells.iter().enumerate() {
            self.tally.add(cell);
            self.ready.make_room(cell.class);
            if cell.is_ready() {
                self.ready.note(i, cell.class, true);
            }
            if cell.state == DeliveryState::Held && cell.due != 0 {
                self.next_due = self.next_due.min(cell.due);
            }
            let at = match self.alert.request.terminal {
                Terminal::Accepted => cell.accepted,
                Terminal::Delivered => cell.delivered,
                Terminal::Answered => cell.answer,
            };
            if at != 0 {
                reached.push(at);
            }
        }
        if self.alert.request.terminal == Terminal::Answered {
            reached =
                self.answers.list().iter().map(|answer| offset(self.alert.created, answer.at)).collect();
        }
        self.tally.set_times(reached);
        self.tally.people.seal(&self.cells);
        self.answers.count_all();
    }

    /// How many endpoints.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Nobody?
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Its lane.
    pub fn lane(&self) -> Lane {
        self.alert.request.priority.into()
    }

    /// One delivery.
    pub fn cell(&self, endpoint: EndpointNo) -> Option<&DeliveryCell> {
        self.cells.get(endpoint.0 as usize)
    }

    /// All deliveries, with their numbers.
    pub fn each(&self) -> impl Iterator<Item = (EndpointNo, &DeliveryCell)> {
        self.cells.iter().enumerate().map(|(i, cell)| (EndpointNo(i as u32), cell))
    }

    /// Everybody from a place on, until `each` is false. Gives the place behind the last; nothing: there is
    /// nobody more.
    pub fn people_from(
        &self,
        from: PersonPlace,
        each: impl FnMut(FoundPerson) -> bool,
    ) -> Option<PersonPlace> {
        self.tally.people.walk(from, &self.cells, each)
    }

    /// The only way a delivery changes: counts, dispatch's view and the list of what SQL lacks move with it.
    pub fn edit(&mut self, endpoint: EndpointNo, now: Timestamp, change: impl FnOnce(&mut DeliveryCell)) {
        let Some((before, after)) = self.change(endpoint, now, change) else { return };
        let (mut a, mut b) = (before, after);
        (a.flags, b.flags) = (0, 0);
        // The end of an attempt is in the row too: its number counts as used from then on.
        let ended = before.flags & !after.flags & IN_SEGMENT != 0;
        if a != b || ended {
            self.unfolded.note(endpoint.0 as usize);
        }
    }

    fn change(
        &mut self,
        endpoint: EndpointNo,
        now: Timestamp,
        change: impl FnOnce(&mut DeliveryCell),
    ) -> Option<(DeliveryCell, DeliveryCell)> {
        let i = endpoint.0 as usize;
        let cell = self.cells.get_mut(i)?;
        let before = *cell;
        change(cell);
        if self.metas.is_some() && cell.state == DeliveryState::Failed && before.state != cell.state {
            // A message that failed waits for nothing: its client may query when that was.
            cell.due = offset(self.alert.created, now);
        }
        let after = *cell;
        if before == after {
            return None;
        }
        self.tally.moved(&before, &after, offset(self.alert.created, now));
        if before.state != after.state {
            self.tally.people.moved(&self.cells, i, before.state);
        }
        if before.accepted == 0 && after.accepted != 0 {
            self.rate.note(now);
        }
        if before.is_ready() != after.is_ready() {
            self.ready.note(i, after.class, after.is_ready());
        }
        if after.state == DeliveryState::Held && after.due != 0 {
            self.next_due = self.next_due.min(after.due);
        }
        if let Some(metas) = &mut self.metas {
            metas.note(endpoint, &before, &after, now);
        }
        Some((before, after))
    }

    /// Somebody said at `at` that the call for help of a delivery is settled.
    pub fn settle_call(&mut self, endpoint: EndpointNo, at: Timestamp) {
        let Some(place) = self.cell(endpoint).map(|cell| cell.answer) else { return };
        self.answers.settle(place, &self.alert.request.answer_rules.needs_help, at);
    }

    /// Takes out what carriers said of an endpoint, and the text of its answer: the answer's key is counted.
    pub fn forget_words(&mut self, endpoint: EndpointNo) {
        let Some(cell) = self.cells.get_mut(endpoint.0 as usize) else { return };
        cell.detail = 0;
        if let Some(answer) = (cell.answer as usize).checked_sub(1) {
            self.answers.forget_text(answer);
        }
        self.redirty(endpoint);
    }

    /// Its answer changed though its state did not.
    pub fn redirty(&mut self, endpoint: EndpointNo) {
        if (endpoint.0 as usize) < self.cells.len() {
            self.unfolded.note(endpoint.0 as usize);
        }
    }

    /// How many deliveries SQL lacks.
    pub fn dirty_count(&self) -> usize {
        self.unfolded.count()
    }

    /// Begins a fold: what SQL lacks now is what [`LiveAlert::take_folding`] will give, in slices.
    pub fn begin_fold(&mut self) {
        self.unfolded.begin_fold();
    }

    /// The next of what SQL lacks, in key order, until `into` holds `max`. False when there is no more.
    pub fn take_folding(&mut self, words: &StringTable, into: &mut Vec<Delivery>, max: usize) -> bool {
        while let Some(i) = self.unfolded.next() {
            if into.len() >= max {
                return true;
            }
            self.unfolded.take();
            into.push(self.cells[i].as_delivery(
                &self.alert,
                EndpointNo(i as u32),
                words,
                self.answers.list(),
            ));
        }
        false
    }

    /// One delivery as stored.
    pub fn delivery(&self, endpoint: EndpointNo, words: &StringTable) -> Option<Delivery> {
        self.cell(endpoint).map(|cell| cell.as_delivery(&self.alert, endpoint, words, self.answers.list()))
    }

    /// Classes with endpoints that could be dispatched now.
    pub fn ready_classes(&self) -> impl Iterator<Item = u16> + '_ {
        self.ready.classes()
    }

    /// How many of a class could be dispatched now.
    pub fn ready_in(&self, class: u16) -> u32 {
        self.ready.count(class)
    }

    /// The next endpoint of a class that could be dispatched; the cursor stays on it.
    pub fn next_ready(&mut self, class: u16) -> Option<EndpointNo> {
        if self.ready_in(class) == 0 {
            return None;
        }
        let from = self.ready.cursor(class);
        let found = self.cells[from.min(self.cells.len())..]
            .iter()
            .position(|cell| cell.class == class && cell.is_ready());
        let at = found.map(|ahead| from + ahead);
        self.ready.set_cursor(class, at.unwrap_or(self.cells.len()));
        at.map(|at| EndpointNo(at as u32))
    }

    /// Marks an endpoint as under way in a segment; answers with the attempt's number. SQL need not know: a
    /// start reads it from the bus.
    pub fn dispatched(&mut self, endpoint: EndpointNo, route: u16, now: Timestamp) -> u8 {
        self.change(endpoint, now, |cell| {
            cell.last = cell.last.saturating_add(1);
            cell.flags = cell.flags & !BEGUN | IN_SEGMENT;
            cell.route = route;
            cell.parts = 0;
            cell.parts_accepted = 0;
            cell.parts_delivered = 0;
        });
        self.cell(endpoint).map_or(0, |cell| cell.last)
    }

    /// Gives a class anew, after the routes changed.
    pub fn reclassify(&mut self, endpoint: EndpointNo, entry: &RosterEntry, classifier: &Classifier) {
        let Some(class) = sought(&self.alert, entry).map(|sought| classifier.class(&sought)) else { return };
        self.ready.make_room(class);
        let Some(cell) = self.cells.get_mut(endpoint.0 as usize).filter(|cell| cell.class != class) else {
            return;
        };
        self.ready.reclassify(endpoint.0, cell.class, class, cell.is_ready());
        cell.class = class;
    }

    /// The endpoints that may still be sent to.
    pub fn waiting(&self) -> Vec<EndpointNo> {
        let waits = |cell: &DeliveryCell| {
            matches!(cell.state, DeliveryState::Planned | DeliveryState::Held | DeliveryState::Submitted)
        };
        self.each().filter(|(_, cell)| waits(cell)).map(|(endpoint, _)| endpoint).collect()
    }

    /// When the first held delivery is due, if one waits for a moment.
    pub fn next_due(&self) -> Option<Timestamp> {
        if self.next_due == u32::MAX {
            None
        } else {
            super::delivery_cell::moment(self.alert.created, self.next_due)
        }
    }

    /// Frees what was held until now.
    pub fn free_due(&mut self, now: Timestamp) {
        let until = offset(self.alert.created, now);
        if self.next_due > until {
            return;
        }
        self.next_due = u32::MAX;
        for i in 0..self.cells.len() {
            let cell = self.cells[i];
            if cell.state != DeliveryState::Held || cell.due == 0 {
                continue;
            }
            if cell.due > until {
                self.next_due = self.next_due.min(cell.due);
                continue;
            }
            self.edit(EndpointNo(i as u32), now, |cell| {
                cell.state = DeliveryState::Planned;
                cell.due = 0;
                if matches!(cell.reason, Reason::QuietHours | Reason::NotBefore) {
                    cell.reason = Reason::None;
                }
            });
        }
    }

    /// Ends everything that is not yet on its way: cancelled or expired.
    pub fn end_waiting(&mut self, reason: Reason, now: Timestamp) {
        for i in 0..self.cells.len() {
            let cell = self.cells[i];
            let waits = matches!(cell.state, DeliveryState::Planned | DeliveryState::Held);
            if !waits || cell.flags & IN_SEGMENT != 0 {
                continue;
            }
            self.edit(EndpointNo(i as u32), now, |cell| {
                cell.due = 0;
                // It was to be sent again because nobody knows of the last time: nobody does still.
                if cell.reason == Reason::Resent {
                    cell.state = DeliveryState::Unknown;
                    cell.reason = Reason::PeerSilent;
                    return;
                }
                cell.state = DeliveryState::Failed;
                cell.reason = reason;
            });
        }
    }

    /// Endpoints a second that reached a carrier lately.
    pub fn rate_now(&self, now: Timestamp) -> f64 {
        self.rate.per_s(now)
    }

    /// Puts back what a fold took and SQL did not.
    pub fn abort_fold(&mut self) {
        self.unfolded.abort_fold();
    }

    /// Makes ready again what failed, and nothing else.
    pub fn retry_failed(&mut self, now: Timestamp) {
        for i in 0..self.cells.len() {
            let cell = self.cells[i];
            if cell.state != DeliveryState::Failed || cell.flags & IN_SEGMENT != 0 {
                continue;
            }
            self.edit(EndpointNo(i as u32), now, |cell| {
                cell.state = DeliveryState::Planned;
                cell.reason = Reason::None;
            });
        }
    }

    /// How an endpoint stands, for its chain.
    pub fn device_state(&self, endpoint: EndpointNo, receipts: impl Fn(u16) -> bool) -> DeviceState {
        match self.cell(endpoint) {
            Some(cell) => {
                DeviceState { state: cell.state, reason: cell.reason, receipts: receipts(cell.route) }
            }
            None => DeviceState { state: DeliveryState::Excluded, reason: Reason::None, receipts: false },
        }
    }
}

/// Seconds over which the rate of now is counted.
const RATE_SECONDS: usize = 5;

/// How many in each of the last seconds.
#[derive(Default)]
struct Rate {
    counts: [u32; RATE_SECONDS],
    second: i64,
}

impl Rate {
    fn note(&mut self, now: Timestamp) {
        self.turn(now);
        self.counts[self.second.rem_euclid(RATE_SECONDS as i64) as usize] += 1;
    }

    fn turn(&mut self, now: Timestamp) {
        let second = now.0.div_euclid(1_000_000);
        let passed = (second - self.second).clamp(0, RATE_SECONDS as i64);
        for ahead in 1..=passed {
            self.counts[(self.second + ahead).rem_euclid(RATE_SECONDS as i64) as usize] = 0;
        }
        self.second = self.second.max(second);
    }

    fn per_s(&self, now: Timestamp) -> f64 {
        let second = now.0.div_euclid(1_000_000);
        let oldest = second - RATE_SECONDS as i64 + 1;
        let live = (oldest..=self.second.min(second))
            .map(|s| self.counts[s.rem_euclid(RATE_SECONDS as i64) as usize]);
        f64::from(live.sum::<u32>()) / RATE_SECONDS as f64
    }
}

/// The routes that an entry looks for; nothing: it has no channel.
fn sought<'a>(alert: &'a Alert, entry: &'a RosterEntry) -> Option<RouteCriteria<'a>> {
    let channel = entry.channel?;
    Some(match &entry.message {
        Some(message) => RouteCriteria::of_message(alert, &entry.address, message),
        None => RouteCriteria::of(alert, channel, &entry.address),
    })
}
