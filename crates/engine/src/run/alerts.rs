//! Alerts owns the alerts in memory, the rosters' blocks beside them, and the sets of alerts that another
//! part has to look at.

use super::blocks::Blocks;
use super::command::{DeliveryPage, Solved};
use super::folding::StateChange;
use super::story::Stories;
use super::stream_index::StreamIndex;
use super::turns::Turns;
use crate::api::Parts;
use crate::inbound_text::read_answer;
use crate::plan::{Classifier, Move};
use crate::record::{Absences, Effect, Folding, LiveAlert, ReplyCorrelation, StringTable, have_chosen};
use records::{
    AlertNo, AlertRequest, AlertState, ChannelNumber, Delivery, DeliveryState, ENOUGH_ANSWERS, EndpointNo,
    Intent, Reason, RosterBlock, RosterEntry, Timestamp,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Deliveries scanned for one page at most; a page may be short, its cursor goes on.
const SCANNED_MAX: usize = 1_000_000;
/// Characters of an alert's headline where it is one of several.
const SUMMARY_CHARACTERS: usize = 80;

/// The state that every part works on.
pub struct Alerts {
    /// All alerts in memory.
    pub live: FxHashMap<AlertNo, LiveAlert>,
    /// Names of routes and texts of carriers, by their numbers in the deliveries.
    pub strings: StringTable,
    /// Message streams among them, by account.
    pub streams: StreamIndex,
    /// Rosters.
    pub blocks: Blocks,
    /// Finds the alert of a reply.
    pub replies: ReplyCorrelation,
    /// Finds what waits for somebody to come.
    absences: Absences,
    /// Alerts that are not final.
    pub running: FxHashSet<AlertNo>,
    /// Alerts of which SQL may lack something.
    pub unfolded: FxHashSet<AlertNo>,
    /// Alerts that changed since it was last checked whether they are done.
    pub touched: FxHashSet<AlertNo>,
    /// In both of these since they were last emptied.
    pub touched_last: Option<AlertNo>,
    /// Those that may have something to dispatch, in turn.
    pub turns: Turns,
    /// Effects of the last fold, until they are carried out.
    pub effects: Vec<Effect>,
    /// What happened to each, for its timeline and curve.
    pub stories: Stories,
    /// Waits before the second, third, … try, seconds.
    retry_after_s: Vec<u32>,
}

impl Alerts {
    pub fn new(parts: &Parts) -> Alerts {
        Alerts {
            live: FxHashMap::default(),
            strings: StringTable::default(),
            streams: StreamIndex::default(),
            blocks: Blocks::new(parts.store.clone()),
            replies: ReplyCorrelation::default(),
            absences: Absences::default(),
            running: FxHashSet::default(),
            unfolded: FxHashSet::default(),
            touched: FxHashSet::default(),
            touched_last: None,
            turns: Turns::default(),
            effects: Vec::new(),
            stories: Stories::new(parts),
            retry_after_s: parts.settings.retry_after_s.clone(),
        }
    }

    /// An alert comes into memory.
    pub fn insert(&mut self, live: LiveAlert) {
        let no = live.alert.no;
        self.streams.insert(&live.alert);
        if !live.alert.state.is_final() {
            self.running.insert(no);
            self.stories.expect(no);
        }
        self.live.insert(no, live);
        self.touch(no);
    }

    /// Whether a text is a choice of the alert that it answers.
    pub fn is_answer(&self, (alert, _): (AlertNo, EndpointNo), text: &str) -> bool {
        let Some(live) = self.live.get(&alert) else { return false };
        let request = &live.alert.request;
        let asked = request.text.as_deref().unwrap_or_default();
        read_answer(&request.choices, text, asked).choice().is_some()
    }

    /// Headlines of the account's running alerts that wait for an answer from one of these addresses.
    pub fn asked_of(&self, account: &str, addresses: &[(ChannelNumber, String)]) -> Vec<String> {
        let found = addresses.iter().filter_map(|(channel, address)| {
            let key = channels::key(*channel, address);
            let (alert, endpoint) = self.replies.find(*channel, &key, None)?;
            let live = self.live.get(&alert).filter(|live| live.alert.account == account)?;
            let waits = self.running.contains(&alert)
                && live.cell(endpoint).is_some_and(|cell| cell.state != DeliveryState::Answered);
            let request = &live.alert.request;
            let text = request.headline.as_deref().or(request.text.as_deref()).unwrap_or_default();
            waits.then(|| (alert, crate::without_values(text).chars().take(SUMMARY_CHARACTERS).collect()))
        });
        let unique: std::collections::BTreeMap<AlertNo, String> = found.collect();
        unique.into_values().collect()
    }

    /// Something of an alert changed: SQL lacks it, it may have somebody to dispatch, it may be done.
    pub fn touch(&mut self, no: AlertNo) {
        // Outcomes come by the hundred for the same alert.
        if self.touched_last != Some(no) {
            self.touched_last = Some(no);
            self.unfolded.insert(no);
            self.touched.insert(no);
        }
        self.enter_turns(no);
    }

    /// An alert waits for the turn of each class of which it has somebody ready.
    pub fn enter_turns(&mut self, no: AlertNo) {
        if let Some(live) = self.live.get_mut(&no) {
            self.turns.enter(live);
        }
    }

    /// Folds into an alert, if it is in memory; the effects wait in `effects`.
    pub fn fold(&mut self, no: AlertNo, fold: impl FnOnce(&mut LiveAlert, &mut Folding<'_>)) {
        let Some(live) = self.live.get_mut(&no) else { return };
        let mut folding = Folding {
            words: &mut self.strings,
            retry_after_s: &self.retry_after_s,
            effects: &mut self.effects,
        };
        fold(live, &mut folding);
        self.touch(no);
    }

    /// Has this alert events that were not published?
    pub fn has_events(&self, no: AlertNo) -> bool {
        let metas = self.live.get(&no).and_then(|live| live.metas.as_ref());
        metas.is_some_and(|metas| !metas.events.is_empty())
    }

    /// Attempts that ask for an answer were begun: replies from their addresses are for them.
    pub fn expect_replies(&mut self, intent: &Intent) {
        let asks = self.live.get(&intent.alert).is_some_and(|live| live.alert.request.require_answer);
        if !asks {
            return;
        }
        let route = self.strings.route_no(&intent.route);
        for &(endpoint, _) in &intent.attempts {
            let Some(block) = self.block(intent.alert, endpoint) else { continue };
            let entry = block.entries.get((endpoint.0 - block.first.0) as usize);
            if let Some((channel, entry)) = entry.and_then(|entry| entry.channel.zip(Some(entry))) {
                self.replies.note(channel, &entry.address, route, (intent.alert, endpoint));
            }
        }
    }

    /// Nobody is there for a delivery now.
    pub fn note_absent(&mut self, no: AlertNo, endpoint: EndpointNo) {
        let Some(block) = self.block(no, endpoint) else { return };
        let entry = block.entries.get((endpoint.0 - block.first.0) as usize);
        if let Some((channel, entry)) = entry.and_then(|entry| entry.channel.zip(Some(entry))) {
            self.absences.note(channel, &channels::key(channel, &entry.address), (no, endpoint));
        }
    }

    /// Somebody is there: what waits for them is tried at once.
    pub fn present(&mut self, channel: ChannelNumber, address: &str, now: Timestamp) {
        for (no, endpoint) in self.absences.take(channel, address) {
            let Some(live) =
                self.live.get_mut(&no).filter(|live| !live.alert.state.is_final() && live.alert.may_send())
            else {
                continue;
            };
            live.edit(endpoint, now, |cell| {
                if cell.state == DeliveryState::Held && cell.reason == Reason::RetryDue {
                    cell.state = DeliveryState::Planned;
                    cell.due = 0;
                }
            });
            self.touch(no);
        }
    }

    /// One delivery as stored.
    pub fn delivery(&self, no: AlertNo, endpoint: EndpointNo) -> Option<Delivery> {
        self.live.get(&no)?.delivery(endpoint, &self.strings)
    }

    /// A block of a solved alert's roster.
    pub fn block(&mut self, no: AlertNo, of: EndpointNo) -> Option<Arc<RosterBlock>> {
        self.blocks.read(no, of)
    }

    /// A message of a message stream.
    pub fn entry(&mut self, no: AlertNo, of: EndpointNo) -> Option<RosterEntry> {
        self.blocks.entry(no, of)
    }

    /// A person was reached, or missed, by one device: their other devices are called for, or spared.
    pub fn move_chain(
        &mut self,
        no: AlertNo,
        endpoint: EndpointNo,
        at: Timestamp,
        reached: bool,
        has_receipts: impl Fn(u16) -> bool,
    ) {
        let Some(live) = self.live.get(&no) else { return };
        let Some(chains) = &live.chains else { return };
        let device = |at: EndpointNo| live.device_state(at, &has_receipts);
        let moves = if reached { chains.spared(endpoint, device) } else { chains.next(endpoint, device) };
        self.apply_moves(no, &moves, at);
    }

    pub fn apply_moves(&mut self, no: AlertNo, moves: &[Move], at: Timestamp) {
        let Some(live) = self.live.get_mut(&no) else { return };
        for moved in moves {
            match *moved {
                Move::Activate(next) => live.edit(next, at, |cell| {
                    cell.state = DeliveryState::Planned;
                    cell.reason = Reason::None;
                }),
                Move::NotNeeded(later) => live.edit(later, at, |cell| {
                    cell.state = DeliveryState::Excluded;
                    cell.reason = Reason::NotNeeded;
                }),
            }
        }
        if !moves.is_empty() {
            self.touch(no);
        }
    }

    /// Gives the classes of an alert's waiting endpoints anew, after the routes changed.
    pub fn reclassify(&mut self, no: AlertNo, classifier: &Classifier) {
        let Some(live) = self.live.get(&no) else { return };
        let is_stream = live.metas.is_some();
        for endpoint in live.waiting() {
            let entry = if is_stream {
                self.entry(no, endpoint)
            } else {
                let block = self.block(no, endpoint);
                block.and_then(|block| block.entries.get((endpoint.0 - block.first.0) as usize).cloned())
            };
            if let (Some(entry), Some(live)) = (entry, self.live.get_mut(&no)) {
                live.reclassify(endpoint, &entry, classifier);
            }
        }
        self.enter_turns(no);
    }

    /// Moves an alert to a final state: it is written when its deliveries are.
    pub fn end(&mut self, no: AlertNo, state: AlertState, note: &str, now: Timestamp) -> Option<StateChange> {
        let live = self.live.get_mut(&no)?;
        live.alert.state = state;
        live.alert.version += 1;
        live.alert.set_note(note);
        live.finished = Some(now);
        let version = live.alert.version;
        self.running.remove(&no);
        self.unfolded.insert(no);
        Some(StateChange { no, state, version, note: live.alert.note.clone(), at: now })
    }

    /// Ends an alert whose every delivery is where it will stay.
    pub fn end_if_done(
        &mut self,
        no: AlertNo,
        now: Timestamp,
        has_receipts: impl Fn(u16) -> bool,
    ) -> Option<StateChange> {
        // An alert that ends after its time has expired, also when the gateways are the first to report it.
        let done = self.live.get(&no).is_some_and(|live| {
            live.alert.state == AlertState::Running
                && live.metas.as_ref().is_none_or(|metas| metas.closed)
                && live.tally.pending(has_receipts) == 0
                && live.alert.request.expires > now
        });
        if done { self.end(no, AlertState::Done, "", now) } else { None }
    }

    /// Ends an alert that so many people have answered as it needs: nothing more is sent.
    pub fn end_if_enough(&mut self, no: AlertNo, now: Timestamp) -> Option<StateChange> {
        let live = self.live.get_mut(&no)?;
        let wanted = live.alert.request.answer_rules.stop_when.clone()?;
        let goes_on = matches!(live.alert.state, AlertState::Running | AlertState::Paused);
        if !goes_on || !have_chosen(live, &wanted) {
            return None;
        }
        live.end_waiting(Reason::EnoughAnswers, now);
        let note = format!("{ENOUGH_ANSWERS}: {} people chose {}", wanted.people, wanted.choice);
        self.end(no, AlertState::Done, &note, now)
    }

    /// The alerts that changed since the last call.
    pub fn take_touched(&mut self) -> Vec<AlertNo> {
        self.touched_last = None;
        self.touched.drain().collect()
    }

    /// An alert leaves memory.
    pub fn remove(&mut self, no: AlertNo, now: Timestamp) {
        if let Some(live) = self.live.remove(&no) {
            self.streams.remove(&live.alert);
            self.stories.forget(no);
            self.turns.forget(&live, |no| self.live.contains_key(&no));
            if live.alert.request.require_answer && live.alert.request.expires <= now {
                self.replies.forget(no);
            }
        }
    }

    /// Takes the words out of deliveries of an alert that has ended, and puts another request in the place of
    /// its own; SQL has neither any more. False: it has not ended, or is a message stream in memory, which
    /// writes its blocks itself.
    pub fn forget(
        &mut self,
        no: AlertNo,
        endpoints: &[EndpointNo],
        request: Option<Box<AlertRequest>>,
    ) -> bool {
        let Some(live) = self.live.get_mut(&no) else { return self.blocks.let_go(no) };
        if live.metas.is_some() || !live.alert.state.is_final() {
            return false;
        }
        for endpoint in endpoints {
            live.forget_words(*endpoint);
        }
        if let Some(request) = request {
            live.alert.request = *request;
        }
        self.touch(no);
        self.blocks.let_go(no)
    }

    /// A page of deliveries of an alert in memory.
    pub fn deliveries(&self, no: AlertNo, page: DeliveryPage) -> Option<Vec<Delivery>> {
        let live = self.live.get(&no)?;
        let fits = |state: DeliveryState| page.state.is_none_or(|filter| filter == state);
        let found = live
            .each()
            .skip(page.from.0 as usize)
            .take(SCANNED_MAX)
            .filter(|(_, cell)| fits(cell.state))
            .take(page.limit);
        Some(found.filter_map(|(endpoint, _)| live.delivery(endpoint, &self.strings)).collect())
    }

    /// An alert in memory as its solve is reported.
    pub fn solved(&self, no: AlertNo, now: Timestamp) -> Option<Solved> {
        let live = self.live.get(&no)?;
        let left_out = live.tally.in_state(DeliveryState::Excluded);
        let reasons = crate::report::report(live, &self.strings, now, None, |_| None).reasons;
        Some(Solved {
            alert: live.alert.clone(),
            endpoints: live.len() as u32 - left_out,
            excluded: reasons.into_iter().collect(),
        })
    }
}
