//! EventPublisher publishes reports of alerts to live views, feeds and observers' callbacks. It owns them,
//! and the alerts of theirs that changed.

use super::actor::bus_error;
use super::alert_feeds::AlertFeeds;
use super::alerts::Alerts;
use super::context::Context;
use super::dispatcher::Dispatcher;
use crate::api::{EngineError, Event, Parts, Report};
use crate::report;
use records::{Alert, AlertNo, CallbackEvent, CallbackRequest, EndpointNo, Notice, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::broadcast;

/// Live views get an event at most so often, in microseconds.
const WATCH_EVERY_US: i64 = 250_000;
/// Events a slow view may be behind before it skips to the newest.
const WATCH_EVENTS: usize = 64;
/// A notice is tried for so long, in seconds.
const NOTICE_TRIED_S: i64 = 24 * 3600;

/// See the module.
pub struct EventPublisher {
    /// Those who follow all alerts of an account.
    pub feeds: AlertFeeds,
    notices: Arc<dyn bus::Topic>,
    watchers: FxHashMap<AlertNo, LiveView>,
    observers: FxHashMap<AlertNo, Vec<Observer>>,
    changed: FxHashSet<AlertNo>,
    ended: Vec<AlertNo>,
    sequence: u64,
}

struct LiveView {
    events: broadcast::Sender<Event>,
    published: Timestamp,
}

struct Observer {
    id: u64,
    request: CallbackRequest,
    due: Timestamp,
}

impl EventPublisher {
    pub fn new(parts: &Parts) -> Result<EventPublisher, EngineError> {
        Ok(EventPublisher {
            feeds: AlertFeeds::default(),
            notices: parts.bus.topic(records::NOTICES).map_err(bus_error)?,
            watchers: FxHashMap::default(),
            observers: FxHashMap::default(),
            changed: FxHashSet::default(),
            ended: Vec::new(),
            sequence: 0,
        })
    }

    /// Something of an alert changed.
    pub fn note_change(&mut self, no: AlertNo) {
        self.feeds.note_change(no);
        if self.watchers.contains_key(&no) || self.observers.contains_key(&no) {
            self.changed.insert(no);
        }
    }

    /// An alert became final.
    pub fn note_end(&mut self, no: AlertNo) {
        self.feeds.note_change(no);
        if self.watchers.contains_key(&no) || self.observers.contains_key(&no) {
            self.ended.push(no);
        }
    }

    /// An alert left memory.
    pub fn forget(&mut self, no: AlertNo) {
        self.feeds.forget(no);
        self.watchers.remove(&no);
        self.observers.remove(&no);
    }

    /// An observer came.
    pub fn observe(&mut self, no: AlertNo, id: u64, request: CallbackRequest, now: Timestamp) {
        let due = now.plus_s(i64::from(request.every_s.max(1)));
        let list = self.observers.entry(no).or_default();
        list.retain(|observer| observer.id != id);
        list.push(Observer { id, request, due });
    }

    /// An observer went.
    pub fn unobserve(&mut self, no: AlertNo, id: u64) {
        if let Some(list) = self.observers.get_mut(&no) {
            list.retain(|observer| observer.id != id);
        }
    }

    /// A live view.
    pub fn watch(&mut self, no: AlertNo) -> broadcast::Receiver<Event> {
        let watcher = self.watchers.entry(no).or_insert_with(|| LiveView {
            events: broadcast::channel(WATCH_EVENTS).0,
            published: Timestamp::default(),
        });
        self.changed.insert(no);
        watcher.events.subscribe()
    }

    /// An alert came: its own callback, and observers that registered later.
    pub fn observe_all(&mut self, alert: &Alert, later: Vec<(u64, CallbackRequest)>, now: Timestamp) {
        if let Some(request) = &alert.request.callback {
            self.observe(alert.no, 0, request.clone(), now);
        }
        for (id, request) in later {
            self.observe(alert.no, id, request, now);
        }
    }

    /// Publishes the events that are due.
    pub fn publish_due(
        &mut self,
        alerts: &Alerts,
        dispatcher: &Dispatcher,
        context: &Context,
        now: Timestamp,
    ) {
        self.publish_to_views(alerts, dispatcher, now);
        self.feeds.publish_due(alerts, dispatcher, now, Instant::now());
        self.publish_to_observers(alerts, dispatcher, context, now);
        for no in std::mem::take(&mut self.ended) {
            let Some(report) = report(no, alerts, dispatcher, now) else { continue };
            if let Some(watcher) = self.watchers.remove(&no) {
                let _ = watcher.events.send(Event::Done(report.clone()));
            }
            self.notify(alert_of(no, alerts), CallbackEvent::Done, &report, None, context, now);
        }
    }

    fn publish_to_views(&mut self, alerts: &Alerts, dispatcher: &Dispatcher, now: Timestamp) {
        if self.watchers.is_empty() {
            return;
        }
        self.watchers.retain(|_, watcher| watcher.events.receiver_count() > 0);
        let due =
            |watcher: &LiveView| now.us_since(watcher.published) >= WATCH_EVERY_US || now < watcher.published;
        let changed = &self.changed;
        let list: Vec<AlertNo> = self
            .watchers
            .iter()
            .filter(|(no, watcher)| changed.contains(no) && due(watcher))
            .map(|(no, _)| *no)
            .collect();
        for no in list {
            self.changed.remove(&no);
            let Some(report) = report(no, alerts, dispatcher, now) else { continue };
            if let Some(watcher) = self.watchers.get_mut(&no) {
                watcher.published = now;
                let _ = watcher.events.send(Event::Progress(report));
            }
        }
    }

    fn publish_to_observers(
        &mut self,
        alerts: &Alerts,
        dispatcher: &Dispatcher,
        context: &Context,
        now: Timestamp,
    ) {
        let mut due = Vec::new();
        for (no, list) in &mut self.observers {
            for observer in list.iter_mut().filter(|observer| observer.due <= now) {
                observer.due = now.plus_s(i64::from(observer.request.every_s.max(1)));
                due.push((*no, observer.id));
            }
        }
        for (no, id) in due.into_iter().filter(|(no, _)| alerts.running.contains(no)) {
            if let Some(report) = report(no, alerts, dispatcher, now) {
                self.notify(alert_of(no, alerts), CallbackEvent::Progress, &report, Some(id), context, now);
            }
        }
    }

    /// A person answered.
    pub fn publish_answer(
        &mut self,
        no: AlertNo,
        endpoint: EndpointNo,
        alerts: &Alerts,
        dispatcher: &Dispatcher,
        context: &Context,
    ) {
        if !self.watchers.contains_key(&no) && !self.observers.contains_key(&no) {
            return;
        }
        let delivery = alerts.delivery(no, endpoint);
        let Some(answer) = delivery.and_then(|delivery| delivery.answer) else { return };
        if let Some(watcher) = self.watchers.get(&no) {
            let _ = watcher.events.send(Event::Answer { endpoint, answer });
        }
        let now = context.now();
        if self.observers.contains_key(&no)
            && let Some(report) = report(no, alerts, dispatcher, now)
        {
            self.notify(alert_of(no, alerts), CallbackEvent::Answer, &report, None, context, now);
        }
    }

    /// A notice to the observers that requested this event (or to one of them).
    fn notify(
        &mut self,
        alert: Option<&Alert>,
        event: CallbackEvent,
        report: &Report,
        only: Option<u64>,
        context: &Context,
        now: Timestamp,
    ) {
        let Some(alert) = alert else { return };
        let Some(list) = self.observers.get(&alert.no) else { return };
        let requested = |observer: &&Observer| {
            only.is_none_or(|id| id == observer.id)
                && (observer.request.events.is_empty() || observer.request.events.contains(&event))
        };
        let verb = signed_post(&alert.account);
        let mut records = Vec::new();
        for observer in list.iter().filter(requested) {
            self.sequence += 1;
            let notice = notice(verb.clone(), &observer.request, report, event, now, self.sequence);
            records.push(notice.encode());
        }
        if records.is_empty() {
            return;
        }
        let topic = self.notices.clone();
        context.spawn_logged(async move {
            let slices: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
            topic
                .append(&slices)
                .await
                .map(|_| ())
                .map_err(|error| format!("a notice could not be kept: {error}"))
        });
    }
}

/// The report of an alert in memory.
pub fn report(no: AlertNo, alerts: &Alerts, dispatcher: &Dispatcher, now: Timestamp) -> Option<Arc<Report>> {
    let live = alerts.live.get(&no)?;
    let eta = dispatcher.eta(live, now);
    Some(Arc::new(report::report(live, &alerts.strings, now, eta, |name| dispatcher.view(name))))
}

fn alert_of(no: AlertNo, alerts: &Alerts) -> Option<&Alert> {
    alerts.live.get(&no).map(|live| &live.alert)
}

/// A POST that is signed with the account's secret.
fn signed_post(account: &str) -> records::NoticeVerb {
    match account {
        records::Account::DEFAULT => records::NoticeVerb::Post,
        own => records::NoticeVerb::PostFor(own.to_owned()),
    }
}

fn notice(
    verb: records::NoticeVerb,
    request: &CallbackRequest,
    report: &Report,
    event: CallbackEvent,
    now: Timestamp,
    sequence: u64,
) -> Notice {
    let name = match event {
        CallbackEvent::Progress => "progress",
        CallbackEvent::Answer => "answer",
        CallbackEvent::Done => "done",
    };
    let body = if request.xml {
        report::xml(report, None)
    } else {
        format!(
            "{{\"type\":\"alert.{name}\",\"timestamp\":\"{}\",\"data\":{}}}",
            report::rfc3339(now),
            report::json(report, None)
        )
    };
    Notice {
        verb,
        id: format!("{}-{:x}-{sequence:x}", report.id, now.0),
        alert: Some(report.id),
        url: request.url.clone(),
        content_type: if request.xml { "application/xml" } else { "application/json" }.to_owned(),
        body,
        at: now,
        expires: now.plus_s(NOTICE_TRIED_S),
    }
}
