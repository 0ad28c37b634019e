//! An alert as it happens: server-sent events `progress`, `answer`, `done`. A listener that comes again with
//! `Last-Event-ID` gets the answers that it missed; one with `answers=0` gets none.

use crate::http::account_places::{AccountPlace, AccountPlaces};
use crate::http::alerts::event_position::EventPosition;
use crate::http::alerts::{alert_id, check_own};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::HttpResult;
use crate::http::request::query::{Captured, Query};
use crate::http::request::time_text::rfc3339;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, Uri};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use engine::Report;
use futures_util::stream::{self, Stream};
use records::{Answer, EndpointNo, Timestamp};
use serde_json::json;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::watch;

/// Live event streams at once.
const STREAMS_MAX: usize = 1_000;
/// A comment is sent after this time without an event, so that proxies do not close the connection.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Answers taken in one go; a slow reader finds the others in the deliveries.
const ANSWERS_MAX: usize = 256;

/// Proxies that would gather an answer before they pass it on are asked not to (nginx).
pub(crate) const NO_BUFFERING: (HeaderName, &str) = (HeaderName::from_static("x-accel-buffering"), "no");

/// Places of live event streams, and the signal that ends them all.
pub(crate) struct EventStreams {
    places: Arc<AccountPlaces>,
    /// The same by the network of the client.
    networks: Arc<AccountPlaces>,
    /// True once the server is stopping.
    stopping: watch::Receiver<bool>,
}

impl EventStreams {
    pub(crate) fn new(stopping: watch::Receiver<bool>) -> EventStreams {
        let places = AccountPlaces::new("event streams", STREAMS_MAX);
        let networks = AccountPlaces::by("network", "event streams", STREAMS_MAX);
        EventStreams { places, networks, stopping }
    }

    pub(crate) fn place(&self, caller: &Caller) -> HttpResult<StreamPlace> {
        let of_account = self.places.take(caller.account())?;
        let network = caller.from.map(|from| net::network_of(from).to_string());
        let of_network = network.map(|network| self.networks.take(&network)).transpose()?;
        Ok(StreamPlace { _of_account: of_account, _of_network: of_network })
    }
}

/// A live event stream's place, of its account and its client's network.
pub(crate) struct StreamPlace {
    _of_account: AccountPlace,
    _of_network: Option<AccountPlace>,
}

pub(crate) async fn events(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    uri: Uri,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let query = Query::read(&uri, &["answers", "space"])?;
    let has_answers = query.word("answers", &[("1", true), ("0", false)])?;
    let id = alert_id(&id)?;
    check_own(&app, &caller, id).await?;
    let place = app.alerts.event_streams.place(&caller)?;
    // Subscribe first, then read the report: an event in between arrives twice rather than never.
    let receiver = app.engine.watch(caller.account(), id).await?;
    let report = app.engine.report(caller.account(), id).await?;
    let last = headers.get("Last-Event-ID").and_then(|id| id.to_str().ok()).and_then(EventPosition::parse);
    let is_resumed = last.is_some();
    let position = last.unwrap_or_else(|| EventPosition::at(app.now()));
    let stopping = app.alerts.event_streams.stopping.clone();
    let mut follower = EventFollower::new(report, receiver, stopping, place, position);
    follower.has_answers = has_answers;
    if has_answers {
        let answers = app.engine.answers_since(caller.account(), id, follower.position.since()).await?;
        follower.catch_up(answers, is_resumed);
    }
    let events = Sse::new(follow(follower)).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    Ok(([NO_BUFFERING], events).into_response())
}

struct EventFollower {
    waiting: VecDeque<Event>,
    /// The report of the beginning, told behind the answers that were missed.
    first: Option<(&'static str, Arc<Report>)>,
    /// Answers that were told because they had been missed.
    replayed: Vec<(EndpointNo, Timestamp)>,
    /// What of the answers was seen, once what waits is.
    position: EventPosition,
    /// Answers are told.
    has_answers: bool,
    receiver: Option<Receiver<engine::Event>>,
    stopping: watch::Receiver<bool>,
    _place: StreamPlace,
}

impl EventFollower {
    fn new(
        report: Arc<Report>,
        receiver: Option<Receiver<engine::Event>>,
        stopping: watch::Receiver<bool>,
        place: StreamPlace,
        position: EventPosition,
    ) -> EventFollower {
        // There is nothing to follow once it is over.
        let over = report.moments.finished.is_some() || receiver.is_none();
        EventFollower {
            waiting: VecDeque::new(),
            replayed: Vec::new(),
            first: Some((if over { "done" } else { "progress" }, report)),
            position,
            has_answers: true,
            receiver: receiver.filter(|_| !over),
            stopping,
            _place: place,
        }
    }

    /// Takes the answers there are of the time from which some may have been missed: they are told to who
    /// comes again, before the report, whose id says then that they were seen. Who comes first finds them
    /// elsewhere.
    fn catch_up(&mut self, answers: Vec<(EndpointNo, Answer)>, is_resumed: bool) {
        for (endpoint, answer) in answers {
            if is_resumed && !self.position.has_seen(endpoint, &answer) {
                self.tell(endpoint, &answer);
                self.replayed.push((endpoint, answer.at));
            }
            self.position.note(endpoint, answer.at);
        }
    }

    fn tell(&mut self, endpoint: EndpointNo, answer: &Answer) {
        self.position.note(endpoint, answer.at);
        self.waiting.push_back(answer_event(endpoint, answer, &self.position));
    }

    /// The next event; nothing when it is over. A reader that was slow gets the newest progress, not every
    /// one it missed.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if let Some((name, report)) = self.first.take() {
                return Some(report_event(name, &report, &self.position));
            }
            let receiver = self.receiver.as_mut()?;
            let received = tokio::select! {
                received = receiver.recv() => received,
                _ = self.stopping.wait_for(|stop| *stop) => return None,
            };
            let first = match received {
                Ok(event) => Some(event),
                Err(RecvError::Lagged(_)) => None,
                Err(RecvError::Closed) => return None,
            };
            self.gather(first);
        }
    }

    /// Takes the events that are already there: all answers, and only the last report.
    fn gather(&mut self, mut next: Option<engine::Event>) {
        let (mut newest, mut over) = (None, None);
        loop {
            if let Some(event) = next.take() {
                self.keep(event, &mut newest, &mut over);
            }
            if over.is_some() || self.waiting.len() >= ANSWERS_MAX {
                break;
            }
            match self.receiver.as_mut().map(Receiver::try_recv) {
                Some(Ok(event)) => next = Some(event),
                Some(Err(TryRecvError::Lagged(_))) => {}
                Some(Err(TryRecvError::Empty | TryRecvError::Closed)) | None => break,
            }
        }
        if let Some(report) = over {
            self.waiting.push_back(report_event("done", &report, &self.position));
            self.receiver = None;
        } else if let Some(report) = newest {
            self.waiting.push_back(report_event("progress", &report, &self.position));
        }
    }

    fn keep(
        &mut self,
        event: engine::Event,
        newest: &mut Option<Arc<Report>>,
        over: &mut Option<Arc<Report>>,
    ) {
        match event {
            engine::Event::Progress(report) => *newest = Some(report),
            engine::Event::Answer { .. } if !self.has_answers => {}
            // One that came while the listener was let in was told already.
            engine::Event::Answer { endpoint, answer } if self.replayed.contains(&(endpoint, answer.at)) => {}
            engine::Event::Answer { endpoint, answer } => self.tell(endpoint, &answer),
            engine::Event::Done(report) => *over = Some(report),
        }
    }
}

fn follow(follower: EventFollower) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(follower, |mut follower| async move {
        follower.next().await.map(|event| (Ok(event), follower))
    })
}

fn report_event(name: &str, report: &Report, position: &EventPosition) -> Event {
    let event = Event::default().event(name).id(position.id());
    event.json_data(report).unwrap_or_else(|_| Event::default().event(name))
}

fn answer_event(endpoint: EndpointNo, answer: &Answer, position: &EventPosition) -> Event {
    let data = json!({
        "endpoint": endpoint.0, "key": answer.key, "text": answer.text, "via": answer.via, "at": rfc3339(answer.at),
    });
    Event::default().event("answer").id(position.id()).data(data.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Counts, ReportMoments, ReportOfPeople, Times};
    use records::AlertId;
    use std::collections::BTreeMap;
    use tokio::sync::broadcast;

    fn report(at: u64) -> Arc<Report> {
        Arc::new(Report {
            id: AlertId(uuid::Uuid::nil()),
            state: "running",
            mode: "live",
            simulated: false,
            headline: String::new(),
            note: String::new(),
            counts: Counts { accepted: at, ..Counts::default() },
            channels: BTreeMap::new(),
            routes: BTreeMap::new(),
            reasons: BTreeMap::new(),
            answers: BTreeMap::new(),
            missing_values: BTreeMap::new(),
            times: Times::default(),
            rate_now: 0.0,
            eta: None,
            of_people: ReportOfPeople::default(),
            moments: ReportMoments::default(),
        })
    }

    fn answer(text: &str) -> engine::Event {
        let at = Timestamp(text.len() as i64);
        let answer = Answer { key: None, text: text.to_owned(), via: "api".to_owned(), at };
        engine::Event::Answer { endpoint: EndpointNo(1), answer }
    }

    fn place() -> StreamPlace {
        let of_account = AccountPlaces::new("event streams", 4).take("a").ok().unwrap();
        StreamPlace { _of_account: of_account, _of_network: None }
    }

    #[tokio::test]
    async fn who_wants_no_answers_gets_the_reports_alone() {
        let (events, receiver) = broadcast::channel(16);
        let (_stop, stopping) = watch::channel(false);
        let position = EventPosition::at(Timestamp(0));
        let mut follower = EventFollower::new(report(0), Some(receiver), stopping, place(), position);
        follower.has_answers = false;
        events.send(answer("yes")).unwrap();
        events.send(engine::Event::Progress(report(7))).unwrap();
        events.send(engine::Event::Done(report(8))).unwrap();
        for says in ["\\\"accepted\\\":0", "\\\"accepted\\\":8"] {
            let event = format!("{:?}", follower.next().await.unwrap());
            assert!(event.contains(says), "{event} does not say {says}");
        }
        assert!(follower.next().await.is_none());
    }

    #[tokio::test]
    async fn a_slow_reader_gets_the_newest_progress_and_every_answer_that_is_left() {
        let (events, receiver) = broadcast::channel(16);
        let (_stop, stopping) = watch::channel(false);
        let place = place();
        let position = EventPosition::at(Timestamp(0));
        let mut follower = EventFollower::new(report(0), Some(receiver), stopping, place, position);
        assert!(follower.next().await.is_some(), "the report of now comes first");
        for n in 1..=100 {
            events.send(engine::Event::Progress(report(n))).unwrap();
        }
        events.send(answer("yes")).unwrap();
        events.send(answer("no")).unwrap();
        for says in ["\\\"yes\\\"", "\\\"no\\\"", "\\\"accepted\\\":100"] {
            let event = format!("{:?}", follower.next().await.unwrap());
            assert!(event.contains(says), "{event} does not say {says}");
        }
        events.send(engine::Event::Done(report(101))).unwrap();
        let event = format!("{:?}", follower.next().await.unwrap());
        assert!(event.contains("done"), "{event}");
        assert!(follower.next().await.is_none());
    }

    #[tokio::test]
    async fn who_comes_again_gets_each_answer_that_was_missed_once_and_before_the_report() {
        let (events, receiver) = broadcast::channel(16);
        let (_stop, stopping) = watch::channel(false);
        let place = place();
        let mut position = EventPosition::at(Timestamp(0));
        position.note(EndpointNo(1), Timestamp(5));
        let last = EventPosition::parse(&position.id()).unwrap();
        let given = |endpoint, text: &str, at| {
            let answer =
                Answer { key: None, text: text.to_owned(), via: "api".to_owned(), at: Timestamp(at) };
            (EndpointNo(endpoint), answer)
        };
        let mut follower = EventFollower::new(report(0), Some(receiver), stopping, place, last);
        let (endpoint, missed) = given(2, "missed", 7);
        follower.catch_up(vec![given(1, "seen", 5), (endpoint, missed.clone())], true);
        // It came while the listener was let in.
        events.send(engine::Event::Answer { endpoint, answer: missed }).unwrap();
        let (endpoint, answer) = given(3, "new", 9);
        events.send(engine::Event::Answer { endpoint, answer }).unwrap();
        for says in ["missed", "progress", "new"] {
            let event = format!("{:?}", follower.next().await.unwrap());
            assert!(event.contains(says), "{event} does not say {says}");
        }
    }
}
