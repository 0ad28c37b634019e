//! Stories of alerts: milestones, routes that went down and up meanwhile, and the curve of people reached.
//! Each is a document, written while its alert runs and at its end, so that a start goes on with it. What
//! people did stands in the audit trail and with the alert; a timeline is made of all of these.

mod curve;

pub use curve::{Curve, CurvePoint};

use super::alerts::Alerts;
use super::context::Context;
use super::dispatcher::Dispatcher;
use super::starting::wait_for;
use crate::api::Parts;
use crate::record::LiveAlert;
use records::{AlertNo, AlertState, ChannelNumber, DeliveryState, Mode, Terminal, Timestamp};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use store::{DocumentKind, Expected, NewDocument, Store};

/// Marks of one story; what comes after them is left out, but for the end.
const MARKS_MAX: usize = 400;
/// A story that changed is written so often, in microseconds; its end at once.
const WRITE_EVERY_US: i64 = 5_000_000;
/// A story is looked at so often, in microseconds.
const LOOK_EVERY_US: i64 = 250_000;
/// A story is kept for so long, in seconds, and longer where its alert is.
pub const KEPT_S: i64 = 41 * 86_400;

/// What happened to an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// The first device was written to.
    FirstSent,
    /// Half of the people were reached.
    HalfReached,
    /// 95 of 100 people were reached.
    MostReached,
    /// Nothing waits to be sent any more.
    HandedOver,
    /// It is over.
    Ended,
    /// A route of it stopped sending.
    RouteDown,
    /// A route of it sends again.
    RouteUp,
}

/// One of these, with its moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryMark {
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: MarkKind,
    /// The route, or the state at the end; else nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// People reached by then.
    #[serde(default)]
    pub people: u32,
}

/// The story of an alert, as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertStory {
    /// In the order in which they came.
    pub marks: Vec<StoryMark>,
    /// People reached and answered, by when.
    pub curve: Curve,
}

/// See the module.
pub struct Stories {
    open: FxHashMap<AlertNo, OpenStory>,
    /// Alerts that came since it was looked last: one may be over by the next look.
    fresh: Vec<AlertNo>,
    /// Whether each route could send when it was looked at last.
    routes_up: FxHashMap<String, bool>,
    looked_at: Timestamp,
    /// Alerts accepted since then have no story of an earlier process.
    began: Timestamp,
}

#[derive(Default)]
struct OpenStory {
    story: AlertStory,
    has_changed: bool,
    has_ended: bool,
    written_at: Timestamp,
}

impl Stories {
    pub fn new(parts: &Parts) -> Stories {
        Stories {
            open: FxHashMap::default(),
            fresh: Vec::new(),
            routes_up: FxHashMap::default(),
            looked_at: Timestamp::default(),
            began: parts.now(),
        }
    }

    /// The story of an alert in memory.
    pub fn of(&self, no: AlertNo) -> Option<AlertStory> {
        self.open.get(&no).map(|open| open.story.clone())
    }

    /// An alert that is not over came into memory.
    pub fn expect(&mut self, no: AlertNo) {
        self.fresh.push(no);
    }

    /// An alert left memory.
    pub fn forget(&mut self, no: AlertNo) {
        self.open.remove(&no);
    }

    fn is_time(&mut self, now: Timestamp) -> bool {
        let is_time = now.us_since(self.looked_at) >= LOOK_EVERY_US || now < self.looked_at;
        if is_time {
            self.looked_at = now;
        }
        is_time
    }

    /// Routes that can send now and could not before, or the other way round.
    fn changed_routes(&mut self, dispatcher: &Dispatcher) -> Vec<RouteChange> {
        let routes = &dispatcher.routes;
        let mut changes = Vec::new();
        for (route, entry) in routes.classifier.routes().iter().zip(&routes.list) {
            let Some(is_up) = entry.health.as_ref().map(|health| health.up) else { continue };
            match self.routes_up.get_mut(&route.name) {
                Some(was_up) if *was_up == is_up => {}
                Some(was_up) => {
                    *was_up = is_up;
                    let name = route.name.clone();
                    changes.push(RouteChange { name, is_up, mode: route.mode, channel: route.channel });
                }
                None => _ = self.routes_up.insert(route.name.clone(), is_up),
            }
        }
        changes
    }
}

struct RouteChange {
    name: String,
    is_up: bool,
    mode: Mode,
    channel: ChannelNumber,
}

impl RouteChange {
    /// A route of this alert: of its mode, and of a channel of which it has devices.
    fn concerns(&self, live: &LiveAlert) -> bool {
        let row = live.tally.channels.get(usize::from(self.channel.0));
        live.alert.request.mode == self.mode && row.is_some_and(|row| row.iter().any(|count| *count > 0))
    }
}

/// Looks at all alerts that run, and at those that have ended since it was looked last.
pub fn look(alerts: &mut Alerts, dispatcher: &Dispatcher, context: &Context, now: Timestamp) {
    if !alerts.stories.is_time(now) {
        return;
    }
    let changes = alerts.stories.changed_routes(dispatcher);
    let fresh = std::mem::take(&mut alerts.stories.fresh);
    let unfinished = alerts.stories.open.iter().filter(|(_, open)| !open.has_ended).map(|(no, _)| *no);
    let mut wanted: Vec<AlertNo> = alerts.running.iter().copied().chain(unfinished).chain(fresh).collect();
    wanted.sort_unstable();
    wanted.dedup();
    for no in wanted {
        let Some(live) = alerts.live.get(&no).filter(|live| !live.alert.origin.is_internal()) else {
            continue;
        };
        let began = alerts.stories.began;
        let open = alerts.stories.open.entry(no);
        let open = open.or_insert_with(|| opened(live, began, &*context.parts.store, now));
        open.take(live, &changes, now);
        let is_urgent = open.has_ended || context.is_stopping();
        if open.has_changed && (is_urgent || now.us_since(open.written_at) >= WRITE_EVERY_US) {
            open.has_changed = false;
            open.written_at = now;
            write(live, &open.story, context, now);
        }
    }
}

/// A new story, or the one that an earlier process began.
fn opened(live: &LiveAlert, began: Timestamp, store: &dyn Store, now: Timestamp) -> OpenStory {
    // Most alerts are over soon, and are written once.
    let mut open = OpenStory { written_at: now, ..OpenStory::default() };
    if live.alert.created >= began {
        return open;
    }
    match wait_for(read(store, &live.alert.account, live.alert.no)) {
        Ok(story) => open.story = story.unwrap_or_default(),
        Err(error) => tracing::warn!(alert = live.alert.no.0, %error, "the story of an alert cannot be read"),
    }
    open
}

/// The story of an alert as it is stored.
pub async fn read(store: &dyn Store, account: &str, no: AlertNo) -> Result<Option<AlertStory>, String> {
    let found = store.document(account, DocumentKind::AlertStory, &document_id(no)).await;
    let found = found.map_err(|error| error.to_string())?;
    found.map(|found| serde_json::from_str(&found.body).map_err(|error| error.to_string())).transpose()
}

fn document_id(no: AlertNo) -> String {
    format!("{:016x}", no.0)
}

fn write(live: &LiveAlert, story: &AlertStory, context: &Context, now: Timestamp) {
    let (store, account, no) = (context.parts.store.clone(), live.alert.account.clone(), live.alert.no);
    let document = NewDocument {
        id: document_id(no),
        lookup: None,
        due: Some(now.plus_s(KEPT_S)),
        body: serde_json::json!(story).to_string(),
    };
    context.spawn_logged(async move {
        let put = store.put_document(&account, DocumentKind::AlertStory, document, Expected::Any, now).await;
        put.map(|_| ()).map_err(|error| format!("the story of alert {no} was not written: {error}"))
    });
}

impl OpenStory {
    fn mark(&mut self, at: Timestamp, kind: MarkKind, of: &str, people: u32) {
        if self.story.marks.len() < MARKS_MAX || kind == MarkKind::Ended {
            self.story.marks.push(StoryMark { at, kind, of: of.to_owned(), people });
            self.has_changed = true;
        }
    }

    fn has(&self, kind: MarkKind) -> bool {
        self.story.marks.iter().any(|mark| mark.kind == kind)
    }

    /// Takes in how an alert stands.
    fn take(&mut self, live: &LiveAlert, changes: &[RouteChange], now: Timestamp) {
        let reached = reached(live);
        for change in changes.iter().filter(|change| change.concerns(live)) {
            let kind = if change.is_up { MarkKind::RouteUp } else { MarkKind::RouteDown };
            self.mark(now, kind, &change.name, reached);
        }
        for kind in milestones(live, reached) {
            if !self.has(kind) {
                self.mark(now, kind, "", reached);
            }
        }
        let second = u32::try_from(now.us_since(live.alert.created).max(0) / 1_000_000).unwrap_or(u32::MAX);
        let answered = live.tally.people.in_states(&[DeliveryState::Answered]);
        let point = CurvePoint { second, reached, answered };
        let is_final = live.alert.state.is_final();
        if !is_final {
            self.has_changed |= self.story.curve.note(point);
        } else if !self.has_ended {
            self.story.curve.end(point);
            // After a start the end is there already.
            if self.story.marks.last().is_none_or(|last| last.kind != MarkKind::Ended) {
                self.mark(live.finished.unwrap_or(now), MarkKind::Ended, live.alert.state.name(), reached);
            }
            self.has_changed = true;
        }
        self.has_ended = is_final;
    }
}

/// What an alert has passed by now.
fn milestones(live: &LiveAlert, reached: u32) -> Vec<MarkKind> {
    use DeliveryState::{Accepted, Answered, Delivered, Excluded, Submitted, Unknown};
    if matches!(live.alert.state, AlertState::AwaitingApproval) {
        return Vec::new();
    }
    let people = &live.tally.people;
    let meant = people.total() - people.in_states(&[Excluded]);
    let sent = people.in_states(&[Submitted, Unknown, Accepted, Delivered, Answered]);
    let waits = live.tally.in_state(DeliveryState::Planned) + live.tally.in_state(DeliveryState::Held);
    let passed = [
        (MarkKind::FirstSent, sent > 0),
        (MarkKind::HalfReached, meant > 0 && u64::from(reached) * 2 >= u64::from(meant)),
        (MarkKind::MostReached, meant > 0 && u64::from(reached) * 100 >= u64::from(meant) * 95),
        (MarkKind::HandedOver, sent > 0 && waits == 0 && live.tally.in_state(Submitted) == 0),
    ];
    passed.into_iter().filter(|(_, has_passed)| *has_passed).map(|(kind, _)| kind).collect()
}

/// People who count as reached: whose device has it where the alert waits for that, else who a carrier has
/// it for.
pub fn reached(live: &LiveAlert) -> u32 {
    use DeliveryState::{Accepted, Answered, Delivered};
    let people = &live.tally.people;
    match live.alert.request.terminal {
        Terminal::Delivered => people.in_states(&[Delivered, Answered]),
        Terminal::Accepted | Terminal::Answered => people.in_states(&[Accepted, Delivered, Answered]),
    }
}
