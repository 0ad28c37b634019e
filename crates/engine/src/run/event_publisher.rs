//! Event publisher: reports on request, live views, observers by callback.

use super::actor::{EngineActor, bus_error};
use crate::api::{EngineError, Event, Parts, Report};
use crate::report;
use records::{AlertNo, CallbackEvent, CallbackRequest, EndpointNo, Notice, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use tokio::sync::broadcast;

/// Live views are told at most so often, in microseconds.
const WATCH_EVERY_US: i64 = 250_000;
/// Events a slow view may be behind before it skips to the newest.
const WATCH_EVENTS: usize = 64;
/// A notice is tried for so long, in seconds.
const NOTICE_TRIED_S: i64 = 24 * 3600;

/// Who is told.
pub struct EventPublisher {
    notices: Arc<dyn bus::Topic>,
    watchers: FxHashMap<AlertNo, LiveView>,
    observers: FxHashMap<AlertNo, Vec<Observer>>,
    changed: FxHashSet<AlertNo>,
    ended: Vec<AlertNo>,
    sequence: u64,
}

struct LiveView {
    events: broadcast::Sender<Event>,
    told: Timestamp,
}

struct Observer {
    id: u64,
    request: CallbackRequest,
    due: Timestamp,
}

impl EventPublisher {
    pub fn new(parts: &Parts) -> Result<EventPublisher, EngineError> {
        Ok(EventPublisher {
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
        if self.watchers.contains_key(&no) || self.observers.contains_key(&no) {
            self.changed.insert(no);
        }
    }

    /// An alert became final.
    pub fn note_end(&mut self, no: AlertNo) {
        if self.watchers.contains_key(&no) || self.observers.contains_key(&no) {
            self.ended.push(no);
        }
    }

    /// An alert left memory.
    pub fn forget(&mut self, no: AlertNo) {
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
            told: Timestamp::default(),
        });
        self.changed.insert(no);
        watcher.events.subscribe()
    }
}

impl EngineActor {
    /// Tells who is due.
    pub fn tell(&mut self, now: Timestamp) {
        self.tell_watchers(now);
        self.tell_observers(now);
        for no in std::mem::take(&mut self.publisher.ended) {
            let Some(report) = self.report(no, now) else { continue };
            if let Some(watcher) = self.publisher.watchers.remove(&no) {
                let _ = watcher.events.send(Event::Done(report.clone()));
            }
            self.notify(no, CallbackEvent::Done, &report, None, now);
        }
    }

    fn tell_watchers(&mut self, now: Timestamp) {
        if self.publisher.watchers.is_empty() {
            return;
        }
        self.publisher.watchers.retain(|_, watcher| watcher.events.receiver_count() > 0);
        let due = |watcher: &LiveView| now.us_since(watcher.told) >= WATCH_EVERY_US || now < watcher.told;
        let changed = &self.publisher.changed;
        let list: Vec<AlertNo> = self
            .publisher
            .watchers
            .iter()
            .filter(|(no, watcher)| changed.contains(no) && due(watcher))
            .map(|(no, _)| *no)
            .collect();
        for no in list {
            self.publisher.changed.remove(&no);
            let Some(report) = self.report(no, now) else { continue };
            if let Some(watcher) = self.publisher.watchers.get_mut(&no) {
                watcher.told = now;
                let _ = watcher.events.send(Event::Progress(report));
            }
        }
    }

    fn tell_observers(&mut self, now: Timestamp) {
        let mut due = Vec::new();
        for (no, list) in &mut self.publisher.observers {
            for observer in list.iter_mut().filter(|observer| observer.due <= now) {
                observer.due = now.plus_s(i64::from(observer.request.every_s.max(1)));
                due.push((*no, observer.id));
            }
        }
        for (no, id) in due.into_iter().filter(|(no, _)| self.alerts.running.contains(no)).collect::<Vec<_>>()
        {
            if let Some(report) = self.report(no, now) {
                self.notify(no, CallbackEvent::Progress, &report, Some(id), now);
            }
        }
    }

    /// Somebody answered.
    pub fn tell_answer(&mut self, no: AlertNo, endpoint: EndpointNo) {
        if !self.publisher.watchers.contains_key(&no) && !self.publisher.observers.contains_key(&no) {
            return;
        }
        let delivery = self.alerts.delivery(no, endpoint);
        let Some(answer) = delivery.and_then(|delivery| delivery.answer) else { return };
        if let Some(watcher) = self.publisher.watchers.get(&no) {
            let _ = watcher.events.send(Event::Answer { endpoint, answer });
        }
        let now = self.context.now();
        if self.publisher.observers.contains_key(&no)
            && let Some(report) = self.report(no, now)
        {
            self.notify(no, CallbackEvent::Answer, &report, None, now);
        }
    }

    /// A notice to the observers that want this event (or to one of them).
    fn notify(
        &mut self,
        no: AlertNo,
        event: CallbackEvent,
        report: &Report,
        only: Option<u64>,
        now: Timestamp,
    ) {
        let Some(list) = self.publisher.observers.get(&no) else { return };
        let wants = |observer: &&Observer| {
            only.is_none_or(|id| id == observer.id)
                && (observer.request.events.is_empty() || observer.request.events.contains(&event))
        };
        let mut records = Vec::new();
        for observer in list.iter().filter(wants) {
            self.publisher.sequence += 1;
            let notice = notice(&observer.request, report, event, now, self.publisher.sequence);
            records.push(notice.encode());
        }
        if records.is_empty() {
            return;
        }
        let topic = self.publisher.notices.clone();
        self.context.spawn_logged(async move {
            let slices: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
            topic
                .append(&slices)
                .await
                .map(|_| ())
                .map_err(|error| format!("a notice could not be kept: {error}"))
        });
    }

    /// The report of an alert in memory.
    pub fn report(&self, no: AlertNo, now: Timestamp) -> Option<Arc<Report>> {
        let live = self.alerts.live.get(&no)?;
        let view = |name: &str| self.dispatcher.view(name);
        let eta = self.dispatcher.eta(live, now);
        Some(Arc::new(report::report(live, &self.alerts.strings, now, eta, view)))
    }
}

fn notice(
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
        verb: records::NoticeVerb::Post,
        id: format!("{}-{:x}-{sequence:x}", report.id, now.0),
        alert: Some(report.id),
        url: request.url.clone(),
        content_type: if request.xml { "application/xml" } else { "application/json" }.to_owned(),
        body,
        at: now,
        expires: now.plus_s(NOTICE_TRIED_S),
    }
}
