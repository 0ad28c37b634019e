//! IntakeReader takes messages of platforms from the topic of intake: each becomes one endpoint of the
//! message stream of its account and class.
//!
//! Which alert and which endpoint follows from the topic of intake alone (the alert of the class with the
//! greatest `intake_from` up to the message's index, and the messages before it there), so that a start puts
//! each where it was.

use super::actor::{BackgroundResult, bus_error};
use super::alerts::Alerts;
use super::context::Context;
use super::message_query;
use super::meter::IntakeMeter;
use super::mo_routing::MoRouting;
use super::opt_outs::{OptOutList, OptOuts};
use super::replace_if_present::{self, ReplaceIndex};
use super::stream_index::class;
use crate::api::{EngineError, Parts};
use crate::dispatch::Wording;
use crate::plan::Classifier;
use crate::record::LiveAlert;
use records::{
    Alert, AlertId, AlertNo, AlertRequest, AlertState, DlrRequest, EndpointNo, Intake, Lane, Message,
    MessageClient, MessageId, Mode, OnUnknown, Origin, Priority, Reason, RosterEntry, RosterMessage,
    Strategy, Terminal, Texts, Timestamp,
};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Records taken in one go, and their octets.
const RECORDS_AT_ONCE: usize = 512;
const OCTETS_AT_ONCE: usize = 512 * 1024;
/// Messages of one message stream; the next ones go to another.
const MESSAGES_MAX: usize = 65_536;
/// A message stream takes messages for so long, seconds: offsets in memory are 32 bits, and retention works
/// on whole alerts.
const TAKES_FOR_S: i64 = 86_400;
/// A message stream ends so long after it was begun, seconds, whatever its messages say (as for other
/// alerts).
const ENDS_AFTER_S: i64 = 40 * 86_400;
/// Messages in memory that are not over; beyond, the topic keeps them until some are.
const OPEN_MAX: usize = 4_000_000;
/// After a failure (a full disk) intake waits so long, in microseconds.
const PAUSE_US: i64 = 1_000_000;

/// See the module.
pub struct IntakeReader {
    pub topic: Arc<dyn bus::Topic>,
    /// Everything below is in message streams.
    pub next: u64,
    taken: Arc<AtomicU64>,
    pub opt_outs: OptOuts,
    /// Message streams that are being made.
    pub opening: usize,
    paused_until: Option<Timestamp>,
    /// Everything below was there before the start: it goes where it was.
    replayed_to: u64,
    wording: Option<Arc<Wording>>,
    is_full: bool,
    replaces: ReplaceIndex,
    /// Changes that were carried out when they were on disk, before intake came to them.
    pub carried_out: FxHashSet<u64>,
    meter: IntakeMeter,
}

/// The parts that a message goes to.
pub struct IntakeTargets<'a> {
    pub alerts: &'a mut Alerts,
    pub mo_routing: &'a mut MoRouting,
    pub classifier: &'a Classifier,
    pub context: &'a Context,
}

/// A message stream was made, or could not be.
pub struct StreamOpened {
    account: String,
    class: usize,
    alert: Result<(Option<Alert>, OptOutList), store::StoreError>,
}

impl IntakeReader {
    pub fn new(parts: &Parts, taken: Arc<AtomicU64>) -> Result<IntakeReader, EngineError> {
        Ok(IntakeReader {
            topic: parts.bus.topic(records::INTAKE).map_err(bus_error)?,
            next: 0,
            taken,
            opt_outs: OptOuts::new(parts.settings.keywords.opt_out.clone()),
            opening: 0,
            paused_until: None,
            replayed_to: 0,
            wording: None,
            is_full: false,
            replaces: ReplaceIndex::default(),
            carried_out: FxHashSet::default(),
            meter: IntakeMeter::new(),
        })
    }

    /// May more be taken now?
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.opening == 0 && !self.is_full && self.paused_until.is_none_or(|until| until <= now)
    }

    /// Records that wait.
    pub fn waiting(&self) -> u64 {
        self.topic.head().saturating_sub(self.next)
    }

    /// Was this message handed in, and not taken yet?
    pub fn is_ahead(&self, id: MessageId) -> bool {
        id.0 >= self.next && id.0 < self.topic.head()
    }

    /// The next records, where they may be taken.
    pub fn read(&mut self, now: Timestamp) -> Option<Vec<bus::Record>> {
        if !self.is_open(now) {
            return None;
        }
        self.paused_until = None;
        match self.topic.read(self.next, RECORDS_AT_ONCE, OCTETS_AT_ONCE) {
            Ok(records) => Some(records),
            Err(error) => {
                tracing::error!(%error, "intake cannot be read; nothing is taken until it can");
                self.paused_until = Some(now.plus_us(PAUSE_US));
                None
            }
        }
    }

    /// Takes records into message streams; at the first without one, those that are missing are made.
    pub fn take(&mut self, records: &[bus::Record], targets: &mut IntakeTargets<'_>, now: Timestamp) {
        let mut last = None;
        for (place, record) in records.iter().enumerate() {
            match Intake::decode(&record.octets) {
                Ok(Intake::Message(message)) => {
                    let Some((no, opt_outs)) = self.stream_of(&message, record.index, targets.alerts, now)
                    else {
                        self.open_missing(&records[place..], targets, now);
                        break;
                    };
                    // Our own confirmation of an opt-out goes to who opted out.
                    let excluded =
                        message.party != MessageClient::House && self.opt_outs.excludes(opt_outs, &message);
                    if last != Some(no) {
                        last.into_iter().for_each(|last| targets.alerts.touch(last));
                        last = Some(no);
                    }
                    self.take_message(no, MessageId(record.index), *message, excluded, targets, now);
                }
                Ok(change) if !self.carried_out.remove(&record.index) => {
                    message_query::carry_out(change, targets.alerts, targets.context);
                }
                Ok(_) => {}
                Err(error) => tracing::error!(%error, index = record.index, "a record of intake is skipped"),
            }
            self.next = record.index + 1;
        }
        last.into_iter().for_each(|last| targets.alerts.touch(last));
        self.publish_taken();
    }

    pub fn publish_taken(&self) {
        self.taken.store(self.next, Ordering::Relaxed);
    }

    /// The message stream a message belongs to, and the opt-outs of its account; nothing if one of them has
    /// to be made or read first.
    fn stream_of(
        &self,
        message: &Message,
        index: u64,
        alerts: &Alerts,
        now: Timestamp,
    ) -> Option<(AlertNo, &OptOutList)> {
        let streams = alerts.streams.of(&message.account)?;
        let opt_outs = self.opt_outs.of(&message.account)?;
        let (no, is_last) = streams.holding(class(message.mode, message.lane), index)?;
        let live = alerts.live.get(&no)?;
        let takes = || {
            let metas = live.metas.as_ref();
            live.len() < MESSAGES_MAX
                && !live.alert.state.is_final()
                && live.alert.created.plus_s(TAKES_FOR_S) > now
                && metas.is_some_and(|metas| !metas.closed && metas.holds(MessageId(index)))
        };
        (!is_last || index < self.replayed_to || takes()).then_some((no, opt_outs))
    }

    fn take_message(
        &mut self,
        no: AlertNo,
        id: MessageId,
        message: Message,
        excluded: bool,
        targets: &mut IntakeTargets<'_>,
        now: Timestamp,
    ) {
        targets.mo_routing.note_sent(&message);
        self.meter.note_taken(&message.party);
        let mut entry = entry(id, message);
        entry.excluded = excluded.then_some(Reason::OptedOut);
        let replaced = self.replaced(&entry, targets);
        let key = self.replaces.is_made().then_some(entry.message.as_deref()).flatten();
        let key = key.map(|message| replace_if_present::key(&entry.address, message));
        let Some(live) = targets.alerts.live.get_mut(&no) else { return };
        let endpoint = live.take_message(&entry, targets.classifier, now);
        if !targets.alerts.blocks.push(no, endpoint, entry) {
            tracing::error!(
                alert = no.0,
                endpoint = endpoint.0,
                "a message could not be put with the others of its block"
            );
        }
        if let Some(key) = key {
            self.replaces.note(key, (no, endpoint), targets.alerts);
        }
        if let Some((no, endpoint, id)) = replaced {
            message_query::take_back((no, endpoint), id, self, targets.alerts, targets.context);
        }
    }

    /// The message that waits and that this one replaces, where its client wants that.
    fn replaced(
        &mut self,
        entry: &RosterEntry,
        targets: &mut IntakeTargets<'_>,
    ) -> Option<(AlertNo, EndpointNo, MessageId)> {
        entry.message.as_ref().filter(|message| message.short.replace_if_present)?;
        let (no, endpoint) = self.replaces.find(entry, targets.alerts)?;
        let id = targets.alerts.entry(no, endpoint)?.message?.id;
        Some((no, endpoint, id))
    }

    /// Makes every message stream that these records need and that is not there, all at once.
    fn open_missing(&mut self, records: &[bus::Record], targets: &IntakeTargets<'_>, now: Timestamp) {
        let mut begun: Vec<(String, usize)> = Vec::new();
        for record in records {
            let Ok(Intake::Message(message)) = Intake::decode(&record.octets) else { continue };
            let class = class(message.mode, message.lane);
            let is_begun = begun.iter().any(|(account, of)| *account == message.account && *of == class);
            if is_begun || self.stream_of(&message, record.index, targets.alerts, now).is_some() {
                continue;
            }
            begun.push((message.account.clone(), class));
            self.open(&message, record.index, targets, now);
        }
    }

    fn open(&mut self, message: &Message, index: u64, targets: &IntakeTargets<'_>, now: Timestamp) {
        let class = class(message.mode, message.lane);
        let known = targets.alerts.streams.of(&message.account).and_then(|of| of.holding(class, index));
        // Only the opt-outs were not read yet.
        let is_there = known.is_some() && self.opt_outs.of(&message.account).is_none();
        let alert = (!is_there).then(|| stream_alert(message, index, now));
        let (store, account) = (targets.context.parts.store.clone(), message.account.clone());
        self.opening += 1;
        targets.context.spawn(async move {
            let opened = make(&*store, &account, alert).await;
            BackgroundResult::Opened(Box::new(StreamOpened { account, class, alert: opened }))
        });
    }

    /// A message stream is there now, or could not be made: then the next read tries it again.
    pub fn opened(&mut self, opened: Box<StreamOpened>, alerts: &mut Alerts, now: Timestamp) {
        self.opening -= 1;
        let (alert, opt_outs) = match opened.alert {
            Ok(made) => made,
            Err(error) => {
                tracing::error!(account = opened.account, %error, "a message stream could not be made; it will be tried again");
                self.paused_until = Some(now.plus_us(PAUSE_US));
                return;
            }
        };
        self.opt_outs.load(&opened.account, opt_outs);
        let before = alerts.streams.of(&opened.account).and_then(|streams| streams.last(opened.class));
        let Some(alert) = alert else { return };
        match self.live(alert) {
            Ok(live) => alerts.insert(live),
            Err(error) => tracing::error!(%error, "a message stream could not be made"),
        }
        if let Some(live) = before.and_then(|no| alerts.live.get_mut(&no)) {
            live.metas.iter_mut().for_each(|metas| metas.closed = true);
            let no = live.alert.no;
            alerts.touch(no);
        }
    }

    fn live(&mut self, alert: Alert) -> Result<LiveAlert, EngineError> {
        let wording = match &self.wording {
            Some(wording) => wording.clone(),
            None => Arc::new(Wording::new(&alert.request).map_err(EngineError::Unprocessable)?),
        };
        self.wording = Some(wording.clone());
        let mut live = LiveAlert::new(alert, wording);
        live.seal();
        Ok(live)
    }

    /// A start: records below `to` are taken to where they were.
    pub fn begin_replay(&mut self, folded_to: u64, to: u64) {
        self.next = folded_to.max(self.topic.low());
        self.replayed_to = to;
    }

    pub fn is_replaying(&self) -> bool {
        self.next < self.replayed_to
    }

    pub fn is_paused(&self) -> bool {
        self.paused_until.is_some()
    }

    /// Ends messages whose time ran out, and closes message streams that took messages long enough: they end
    /// when nothing of them waits.
    pub fn expire(&mut self, alerts: &mut Alerts, now: Timestamp) {
        let mut open = 0;
        for no in alerts.streams.all() {
            let running = alerts.running.contains(&no);
            let Some(live) = alerts.live.get_mut(&no).filter(|_| running) else { continue };
            let expired = live.expire_messages(now);
            let Some(metas) = &mut live.metas else { continue };
            let aged = live.alert.created.plus_s(TAKES_FOR_S) <= now;
            let closes = aged && !metas.closed;
            metas.closed |= aged;
            self.meter.note_results(&std::mem::take(&mut metas.results));
            open += live.tally.pending(|_| false) as usize;
            if expired || closes {
                alerts.touch(no);
            }
        }
        self.is_full = open >= OPEN_MAX;
        self.meter.note_lag(self.waiting());
    }

    /// Lets go of messages that SQL has.
    pub fn trim(&self, below: u64) {
        if let Err(error) = self.topic.trim(below) {
            tracing::warn!(%error, "intake could not be trimmed");
        }
    }
}

impl StreamOpened {
    /// The store's error, if it could not be made.
    pub fn error(&self) -> Option<&store::StoreError> {
        self.alert.as_ref().err()
    }
}

async fn make(
    store: &dyn store::Store,
    account: &str,
    alert: Option<(Alert, store::IdempotencyKey)>,
) -> Result<(Option<Alert>, OptOutList), store::StoreError> {
    let opt_outs = OptOutList::read(store, account).await?;
    let Some((alert, key)) = alert else { return Ok((None, opt_outs)) };
    match store.accept_alert(alert, Some(key)).await? {
        store::Accepted::New(alert) | store::Accepted::Before(alert) => Ok((Some(alert), opt_outs)),
        store::Accepted::KeyTaken => {
            let why = "the key of a message stream is taken by another alert".to_owned();
            Err(store::StoreError::Conflict { why })
        }
    }
}

/// The message stream of this message's account and class, from this index on. Its key makes it the same one
/// if it has to be requested twice.
fn stream_alert(message: &Message, intake_from: u64, now: Timestamp) -> (Alert, store::IdempotencyKey) {
    let class = class(message.mode, message.lane);
    let alert = Alert {
        no: AlertNo(0),
        id: AlertId(uuid::Uuid::now_v7()),
        account: message.account.clone(),
        token: String::new(),
        created: now,
        state: AlertState::Running,
        version: 1,
        request: stream_request(message.mode, message.lane, now),
        origin: Origin::Standing { intake_from },
        note: String::new(),
        approval: None,
    };
    // A control character in front: no client's key can begin with one.
    let key = format!("\u{1}standing/{class}/{intake_from}");
    (alert, store::IdempotencyKey { key, body_hash: [0; 32], of: store::KeyOwner::Account })
}

fn stream_request(mode: Mode, lane: Lane, now: Timestamp) -> AlertRequest {
    let (priority, on_unknown) = match lane {
        // A second copy of what saves lives is better than none.
        Lane::Emergency => (Priority::Emergency, OnUnknown::Resend),
        Lane::Urgent => (Priority::Urgent, OnUnknown::Hold),
        Lane::Routine => (Priority::Routine, OnUnknown::Hold),
    };
    AlertRequest {
        headline: Some("messages of platforms".to_owned()),
        text: None,
        texts: Texts::default(),
        audience: Vec::new(),
        exclude: Vec::new(),
        channels: vec![channels::SMS],
        strategy: Strategy::All,
        require_answer: false,
        choices: Vec::new(),
        terminal: Terminal::Accepted,
        not_before: None,
        expires: now.plus_s(ENDS_AFTER_S),
        priority,
        on_unknown,
        callback: None,
        sender: None,
        mode,
        participants_only: false,
        answer_rules: records::AnswerRules::default(),
        follows: None,
        flash: false,
        resources: Vec::new(),
        attachments: Vec::new(),
        area: None,
    }
}

fn entry(id: MessageId, message: Message) -> RosterEntry {
    let Message { party, at, to, mut short, not_before, expires, route, tell, .. } = message;
    short.registered_delivery.get_or_insert(registered_delivery(tell.mask));
    RosterEntry {
        channel: Some(channels::SMS),
        address: to,
        persons: Vec::new(),
        language: None,
        values: Vec::new(),
        not_before,
        expires: Some(expires),
        rule: 0,
        excluded: None,
        message: Some(Box::new(RosterMessage { id, party, at, short, route, tell })),
    }
}

/// Receipts requested of the carrier (SMPP 3.4, 5.2.17), by the events the client requested.
fn registered_delivery(mask: u8) -> u8 {
    const RECEIPT: u8 = 0b1;
    const INTERMEDIATE: u8 = 0b1_0000;
    let receipt = if mask & (DlrRequest::DELIVERED | DlrRequest::FAILED) != 0 { RECEIPT } else { 0 };
    receipt | if mask & DlrRequest::BUFFERED != 0 { INTERMEDIATE } else { 0 }
}
