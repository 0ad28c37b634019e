//! Messages as platforms hand them in: each becomes one endpoint of the message stream of its account and
//! class.
//!
//! Which alert and which endpoint follows from the topic of intake alone (the alert of the class with the
//! greatest `intake_from` up to the message's index, and the messages before it there), so that a start puts
//! each where it was.

use super::actor::{BackgroundResult, EngineActor, bus_error, store_error};
use crate::api::{EngineError, Parts};
use crate::dispatch::Wording;
use crate::record::LiveAlert;
use records::{
    Alert, AlertId, AlertNo, AlertRequest, AlertState, DlrRequest, Intake, Lane, Message, MessageClient,
    MessageId, Mode, OnUnknown, Origin, Priority, Reason, RosterEntry, RosterMessage, Strategy, Terminal,
    Texts, Timestamp,
};
use rustc_hash::{FxHashMap, FxHashSet};
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
/// Stops and starts kept of an account whose opt-outs were not read yet; the older ones are in SQL by then.
const SAID_MAX: usize = 10_000;
/// Modes times lanes.
const CLASSES: usize = 2 * Lane::ALL.len();

/// Where intake stands.
pub struct IntakeState {
    pub topic: Arc<dyn bus::Topic>,
    /// Everything below is in message streams.
    pub next: u64,
    taken: Arc<AtomicU64>,
    accounts: FxHashMap<String, MessageStreams>,
    pub opening: usize,
    paused_until: Option<Timestamp>,
    /// What is below was there before the start: it goes where it was.
    replayed_to: u64,
    wording: Option<Arc<Wording>>,
    is_full: bool,
    /// Changes that were carried out when they were on disk, before intake came to them.
    pub carried_out: FxHashSet<u64>,
}

/// The message streams of one account in memory, and who wants nothing from it.
#[derive(Default)]
struct MessageStreams {
    /// By class: where each begins, in order.
    alerts: [Vec<(u64, AlertNo)>; CLASSES],
    stops: Option<Stops>,
    /// What was said before `stops` was read: SQL may not have had it then.
    said: Vec<OptOutSource>,
}

/// Whose address, our number or name it holds for, and since when; nothing: not any more.
type OptOutSource = (String, Option<String>, Option<Timestamp>);

/// Addresses that are to get nothing, with the number or name of ours it holds for (nothing: all), and since
/// when.
#[derive(Default)]
pub struct Stops {
    by_address: FxHashMap<String, Vec<(Option<String>, Timestamp)>>,
}

/// A message stream was made, or could not be.
pub struct StreamOpened {
    account: String,
    class: usize,
    alert: Result<(Option<Alert>, Stops), store::StoreError>,
}

impl IntakeState {
    pub fn new(parts: &Parts, taken: Arc<AtomicU64>) -> Result<IntakeState, EngineError> {
        Ok(IntakeState {
            topic: parts.bus.topic(records::INTAKE).map_err(bus_error)?,
            next: 0,
            taken,
            accounts: FxHashMap::default(),
            opening: 0,
            paused_until: None,
            replayed_to: 0,
            wording: None,
            is_full: false,
            carried_out: FxHashSet::default(),
        })
    }

    /// A message stream came into memory.
    pub fn register(&mut self, alert: &Alert) {
        let Origin::Standing { intake_from } = alert.origin else { return };
        let class = class(alert.request.mode, alert.request.priority.into());
        let list = &mut self.accounts.entry(alert.account.clone()).or_default().alerts[class];
        if let Err(place) = list.binary_search(&(intake_from, alert.no)) {
            list.insert(place, (intake_from, alert.no));
        }
    }

    /// A message stream left memory.
    pub fn forget(&mut self, alert: &Alert) {
        let class = class(alert.request.mode, alert.request.priority.into());
        if let Some(standing) = self.accounts.get_mut(&alert.account) {
            standing.alerts[class].retain(|(_, no)| *no != alert.no);
        }
    }

    /// Message streams of one account, or of all, that may hold the message with this index.
    pub fn candidates(&self, account: Option<&str>, index: u64) -> Vec<AlertNo> {
        let of = |standing: &MessageStreams| -> Vec<AlertNo> {
            standing.alerts.iter().filter_map(|list| at(list, index)).collect()
        };
        match account {
            Some(account) => self.accounts.get(account).map_or_else(Vec::new, of),
            None => self.accounts.values().flat_map(of).collect(),
        }
    }

    /// Every message stream in memory but the last of each class.
    pub fn closed(&self) -> Vec<AlertNo> {
        let lists = self.accounts.values().flat_map(|standing| &standing.alerts);
        lists.flat_map(|list| list.iter().rev().skip(1)).map(|(_, no)| *no).collect()
    }

    /// All message streams of an account in memory.
    pub fn alerts_of(&self, account: &str) -> Vec<AlertNo> {
        let all = self.accounts.get(account).map(|standing| standing.alerts.iter().flatten());
        all.map_or_else(Vec::new, |all| all.map(|(_, no)| *no).collect())
    }

    /// Somebody said stop, or start.
    pub fn note_stop(&mut self, account: &str, address: &str, sender: Option<&str>, out: Option<Timestamp>) {
        let standing = self.accounts.entry(account.to_owned()).or_default();
        match &mut standing.stops {
            Some(stops) => stops.set(address, sender, out),
            None => {
                if standing.said.len() >= SAID_MAX {
                    standing.said.drain(..SAID_MAX / 2);
                }
                standing.said.push((address.to_owned(), sender.map(str::to_owned), out));
            }
        }
    }

    /// May more be taken now?
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.opening == 0 && !self.is_full && self.paused_until.is_none_or(|until| until <= now)
    }

    /// Records that wait.
    pub fn waiting(&self) -> u64 {
        self.topic.head().saturating_sub(self.next)
    }
}

impl Stops {
    fn new(all: Vec<store::OptOut>) -> Stops {
        let mut stops = Stops::default();
        for one in all.into_iter().filter(|one| one.channel == channels::SMS) {
            stops.by_address.entry(one.address).or_default().push((one.sender, one.at));
        }
        stops
    }

    fn set(&mut self, address: &str, sender: Option<&str>, out: Option<Timestamp>) {
        let list = self.by_address.entry(address.to_owned()).or_default();
        match out {
            Some(at) if !list.iter().any(|(of, _)| of.as_deref() == sender) => {
                list.push((sender.map(str::to_owned), at));
            }
            Some(_) => {}
            None => list.retain(|(of, _)| of.as_deref() != sender),
        }
        if list.is_empty() {
            self.by_address.remove(address);
        }
    }

    /// Was it said before this message was taken? Later words do not hold for it, also when a start takes it
    /// again.
    fn stops(&self, message: &Message) -> bool {
        let sender = &*message.short.source.addr;
        self.by_address.get(&message.to).is_some_and(|list| {
            let holds = |of: &Option<String>| of.as_deref().is_none_or(|of| same_number(of, sender));
            list.iter().any(|(of, at)| *at <= message.at && holds(of))
        })
    }
}

/// Numbers are the same with and without the plus.
pub fn same_number(a: &str, b: &str) -> bool {
    a.strip_prefix('+').unwrap_or(a) == b.strip_prefix('+').unwrap_or(b)
}

impl EngineActor {
    /// Takes what platforms handed in.
    pub fn take_intake(&mut self) {
        let now = self.context.now();
        if !self.intake.is_open(now) || self.context.is_stopping() {
            return;
        }
        self.intake.paused_until = None;
        match self.intake.topic.read(self.intake.next, RECORDS_AT_ONCE, OCTETS_AT_ONCE) {
            Ok(records) => self.take_records(&records, now),
            Err(error) => {
                tracing::error!(%error, "intake cannot be read; nothing is taken until it can");
                self.intake.paused_until = Some(now.plus_us(PAUSE_US));
            }
        }
    }

    pub fn take_records(&mut self, records: &[bus::Record], now: Timestamp) {
        let mut last = None;
        for (place, record) in records.iter().enumerate() {
            match Intake::decode(&record.octets) {
                Ok(Intake::Message(message)) => {
                    let Some(no) = self.place_of(&message, record.index, now) else {
                        self.open_missing(&records[place..], now);
                        break;
                    };
                    if last != Some(no) {
                        last.into_iter().for_each(|last| self.alerts.touch(last));
                        last = Some(no);
                    }
                    self.take_message(no, MessageId(record.index), *message, now);
                }
                Ok(change) if !self.intake.carried_out.remove(&record.index) => self.take_change(change),
                Ok(_) => {}
                Err(error) => tracing::error!(%error, index = record.index, "a record of intake is skipped"),
            }
            self.intake.next = record.index + 1;
        }
        last.into_iter().for_each(|last| self.alerts.touch(last));
        self.intake.taken.store(self.intake.next, Ordering::Relaxed);
        self.unpark();
    }

    /// The message stream a message belongs to; nothing if it has to be made first.
    fn place_of(&self, message: &Message, index: u64, now: Timestamp) -> Option<AlertNo> {
        let standing = self.intake.accounts.get(&message.account)?;
        standing.stops.as_ref()?;
        let list = &standing.alerts[class(message.mode, message.lane)];
        let no = at(list, index)?;
        let is_last = list.last().is_some_and(|(_, last)| *last == no);
        let live = self.alerts.live.get(&no)?;
        let takes = || {
            let metas = live.metas.as_ref();
            live.len() < MESSAGES_MAX
                && !live.alert.state.is_final()
                && live.alert.created.plus_s(TAKES_FOR_S) > now
                && metas.is_some_and(|metas| !metas.closed && metas.holds(MessageId(index)))
        };
        (!is_last || index < self.intake.replayed_to || takes()).then_some(no)
    }

    fn take_message(&mut self, no: AlertNo, id: MessageId, message: Message, now: Timestamp) {
        let is_ours = message.party == MessageClient::House;
        let stops = self.intake.accounts.get(&message.account).and_then(|standing| standing.stops.as_ref());
        let stopped = !is_ours && stops.is_some_and(|stops| stops.stops(&message));
        self.mo_routing.note_sent(&message);
        self.meter.note_taken(&message.party);
        let mut entry = entry(id, message);
        entry.excluded = stopped.then_some(Reason::OptedOut);
        let Some(live) = self.alerts.live.get_mut(&no) else { return };
        let endpoint = live.take_message(&entry, &self.dispatcher.routes.classifier, now);
        if !self.alerts.blocks.push(no, endpoint, entry) {
            tracing::error!(
                alert = no.0,
                endpoint = endpoint.0,
                "a message could not be put with the others of its block"
            );
        }
    }

    /// Makes every message stream that these records need and that is not there, all at once.
    fn open_missing(&mut self, records: &[bus::Record], now: Timestamp) {
        let mut begun: Vec<(String, usize)> = Vec::new();
        for record in records {
            let Ok(Intake::Message(message)) = Intake::decode(&record.octets) else { continue };
            let class = class(message.mode, message.lane);
            let is_begun = begun.iter().any(|(account, of)| *account == message.account && *of == class);
            if is_begun || self.place_of(&message, record.index, now).is_some() {
                continue;
            }
            begun.push((message.account.clone(), class));
            self.open(&message, record.index, now);
        }
    }

    fn open(&mut self, message: &Message, index: u64, now: Timestamp) {
        let class = class(message.mode, message.lane);
        let standing = self.intake.accounts.get(&message.account);
        let known = standing.and_then(|standing| at(&standing.alerts[class], index));
        // Only who wants nothing is not known yet.
        let is_there = standing.is_some_and(|standing| standing.stops.is_none()) && known.is_some();
        let alert = (!is_there).then(|| standing_alert(message, index, now));
        let (store, account) = (self.context.parts.store.clone(), message.account.clone());
        self.intake.opening += 1;
        self.context.background.push(Box::pin(async move {
            let opened = make(&*store, &account, alert).await;
            BackgroundResult::Opened(Box::new(StreamOpened { account, class, alert: opened }))
        }));
    }

    /// A message stream is there now.
    pub fn opened(&mut self, opened: Box<StreamOpened>) {
        self.intake.opening -= 1;
        let now = self.context.now();
        let (alert, stops) = match opened.alert {
            Ok(made) => made,
            Err(error) => {
                tracing::error!(account = opened.account, %error, "a standing alert could not be made; it will be tried again");
                self.intake.paused_until = Some(now.plus_us(PAUSE_US));
                return;
            }
        };
        let standing = self.intake.accounts.entry(opened.account).or_default();
        if standing.stops.is_none() {
            let stops = standing.stops.insert(stops);
            for (address, sender, out) in std::mem::take(&mut standing.said) {
                stops.set(&address, sender.as_deref(), out);
            }
        }
        let before = standing.alerts[opened.class].last().map(|(_, no)| *no);
        let Some(alert) = alert else { return };
        match self.standing_live(alert) {
            Ok(live) => self.take_in(live),
            Err(error) => tracing::error!(%error, "a standing alert could not be made"),
        }
        if let Some(live) = before.and_then(|no| self.alerts.live.get_mut(&no)) {
            live.metas.iter_mut().for_each(|metas| metas.closed = true);
            let no = live.alert.no;
            self.alerts.touch(no);
        }
    }

    fn standing_live(&mut self, alert: Alert) -> Result<LiveAlert, EngineError> {
        let wording = match &self.intake.wording {
            Some(wording) => wording.clone(),
            None => Arc::new(Wording::new(&alert.request).map_err(EngineError::Unprocessable)?),
        };
        self.intake.wording = Some(wording.clone());
        let mut live = LiveAlert::new(alert, wording);
        live.seal();
        Ok(live)
    }

    /// Takes what came before the start to where it was.
    pub async fn replay_intake(&mut self, to: u64) -> Result<(), EngineError> {
        use futures_util::stream::StreamExt;
        self.intake.next =
            self.context.parts.store.intake_to().await.map_err(store_error)?.max(self.intake.topic.low());
        self.intake.replayed_to = to;
        while self.intake.next < self.intake.replayed_to {
            let before = self.intake.next;
            self.take_intake();
            while self.intake.opening > 0 {
                match self.context.background.next().await {
                    Some(BackgroundResult::Opened(opened)) => {
                        if let Err(error) = &opened.alert {
                            return Err(store_error(error.clone()));
                        }
                        self.opened(opened);
                    }
                    Some(other) => self.background_result(other),
                    None => break,
                }
            }
            if self.intake.next == before && self.intake.paused_until.is_some() {
                return Err(EngineError::Internal("the topic of intake cannot be read".into()));
            }
        }
        self.intake.taken.store(self.intake.next, Ordering::Relaxed);
        Ok(())
    }

    /// What time brings for intake: message streams that took messages long enough end when nothing of them
    /// waits.
    pub fn look_at_standing(&mut self, now: Timestamp) {
        let mut open = 0;
        let running: Vec<AlertNo> = self.alerts.running.iter().copied().collect();
        for no in running {
            let Some(live) = self.alerts.live.get_mut(&no) else { continue };
            let expired = live.expire_messages(now);
            let Some(metas) = &mut live.metas else { continue };
            let aged = live.alert.created.plus_s(TAKES_FOR_S) <= now;
            let closes = aged && !metas.closed;
            metas.closed |= aged;
            self.meter.note_results(&std::mem::take(&mut metas.results));
            open += live.tally.pending(|_| false) as usize;
            if expired || closes {
                self.alerts.touch(no);
            }
        }
        self.intake.is_full = open >= OPEN_MAX;
        self.meter.note_lag(self.intake.waiting());
    }
}

async fn make(
    store: &dyn store::Store,
    account: &str,
    alert: Option<(Alert, store::IdempotencyKey)>,
) -> Result<(Option<Alert>, Stops), store::StoreError> {
    let stops = Stops::new(store.all_opt_outs(account).await?);
    let Some((alert, key)) = alert else { return Ok((None, stops)) };
    match store.accept_alert(alert, Some(key)).await? {
        store::Accepted::New(alert) | store::Accepted::Before(alert) => Ok((Some(alert), stops)),
        store::Accepted::KeyTaken => {
            let why = "the key of a standing alert is taken by another alert".to_owned();
            Err(store::StoreError::Conflict { why })
        }
    }
}

/// The alert messages of this one's account and class stand in, from this index on. Its key makes it the same
/// one if it has to be asked for twice.
fn standing_alert(message: &Message, intake_from: u64, now: Timestamp) -> (Alert, store::IdempotencyKey) {
    let class = class(message.mode, message.lane);
    let alert = Alert {
        no: AlertNo(0),
        id: AlertId(uuid::Uuid::now_v7()),
        account: message.account.clone(),
        token: String::new(),
        created: now,
        state: AlertState::Running,
        version: 1,
        request: standing_request(message.mode, message.lane, now),
        origin: Origin::Standing { intake_from },
        note: String::new(),
    };
    // A control character in front: no client's key can begin with one.
    let key = format!("\u{1}standing/{class}/{intake_from}");
    (alert, store::IdempotencyKey { key, body_hash: [0; 32] })
}

fn standing_request(mode: Mode, lane: Lane, now: Timestamp) -> AlertRequest {
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

/// What the carrier is asked for (SMPP 3.4, 5.2.17), by what the client wants to hear.
fn registered_delivery(mask: u8) -> u8 {
    const RECEIPT: u8 = 0b1;
    const INTERMEDIATE: u8 = 0b1_0000;
    let receipt = if mask & (DlrRequest::DELIVERED | DlrRequest::FAILED) != 0 { RECEIPT } else { 0 };
    receipt | if mask & DlrRequest::BUFFERED != 0 { INTERMEDIATE } else { 0 }
}

fn class(mode: Mode, lane: Lane) -> usize {
    mode as usize * Lane::ALL.len() + lane as usize
}

/// The one with the greatest beginning up to this index.
fn at(list: &[(u64, AlertNo)], index: u64) -> Option<AlertNo> {
    let after = list.partition_point(|(from, _)| *from <= index);
    after.checked_sub(1).map(|place| list[place].1)
}
