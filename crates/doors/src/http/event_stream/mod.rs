//! The one stream of a browser: server-sent events of all that an operator looks at. First the whole state,
//! then what changes, as aggregates; of each alert, route and notice the newest state alone. There is no
//! replay: who comes again gets the whole state again.
//!
//! `GET /api/v1/events`. Readers of the same account, space and limits share a [`board`], which a [`feeder`]
//! fills; [`hello`] is each reader's own.

mod board;
mod feeder;
mod hello;
#[cfg(test)]
mod tests;
mod view;

use self::board::{EventBoard, EventKey, FoundBoard, Progress};
use self::feeder::{BoardFeeder, EventAudience};
use crate::http::alerts;
use crate::http::alerts::events::{NO_BUFFERING, StreamPlace};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::auth::user_session::named_space;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::Query;
use crate::http::server::stopped;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use engine::AlertFeed;
use futures_util::stream;
use records::AlertId;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Alerts that a stream may name.
const NAMED_MAX: usize = 20;
/// A comment is sent after this time without an event: a page that has had no word for ten seconds says so.
const HEARTBEAT: Duration = Duration::from_secs(5);
const COMMENT: Bytes = Bytes::from_static(b":\n\n");
/// The state that a board begins with is there within so long.
const WHOLE_MAX: Duration = Duration::from_secs(10);

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/v1/events", get(follow))
}

/// Boards by their audience, while somebody reads them.
#[derive(Default)]
pub(crate) struct EventBoards {
    by_audience: Mutex<HashMap<EventAudience, Weak<EventBoard>>>,
}

impl EventBoards {
    /// The board of an audience, with all that it begins with.
    async fn board(&self, app: &App, audience: EventAudience) -> HttpResult<Arc<EventBoard>> {
        let board = match self.open(&audience) {
            Some(board) => board,
            None => self.begin(app, audience).await?,
        };
        let mut progress = board.progress();
        let is_there = progress.wait_for(|progress| progress.is_whole || progress.is_closed);
        let is_whole = match tokio::time::timeout(WHOLE_MAX, is_there).await {
            Ok(Ok(progress)) => progress.is_whole && !progress.is_closed,
            _ => false,
        };
        if is_whole { Ok(board) } else { Err(busy()) }
    }

    fn open(&self, audience: &EventAudience) -> Option<Arc<EventBoard>> {
        let board = self.lock().get(audience)?.upgrade()?;
        let is_closed = board.progress().borrow().is_closed;
        (!is_closed).then_some(board)
    }

    async fn begin(&self, app: &App, audience: EventAudience) -> HttpResult<Arc<EventBoard>> {
        let feed = AlertFeed::open(&app.engine, &audience.account).await?;
        if let Some(another) = self.open(&audience) {
            // Somebody else was faster.
            return Ok(another);
        }
        let board = Arc::new(EventBoard::new());
        let mut boards = self.lock();
        boards.retain(|_, board| board.strong_count() > 0);
        boards.insert(audience.clone(), Arc::downgrade(&board));
        drop(boards);
        let feeder = BoardFeeder::new(app.clone(), audience, feed, &board);
        tokio::spawn(feeder.run(app.operations.stopping.clone()));
        Ok(board)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<EventAudience, Weak<EventBoard>>> {
        self.by_audience.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn busy() -> HttpProblem {
    let detail =
        "the state of the alerts is not there yet, or another process goes on with the work; try again";
    HttpProblem::new(ProblemKind::Busy, detail).retry_after(2)
}

/// Alerts whose progress a reader wants.
#[derive(Debug, Clone, PartialEq, Eq)]
enum WantedAlerts {
    /// All that are under way.
    Running,
    These(Vec<AlertId>),
}

impl WantedAlerts {
    fn read(query: &Query) -> HttpResult<WantedAlerts> {
        let refused = |reason: String| HttpProblem::field(ProblemKind::BadQuery, "alerts", reason);
        let named = query.all("alerts").flat_map(|text| text.split(',')).map(str::trim);
        let named: Vec<&str> = named.filter(|text| !text.is_empty()).collect();
        if named.is_empty() || named == ["running"] {
            return Ok(WantedAlerts::Running);
        }
        if named.len() > NAMED_MAX {
            return Err(refused(format!("names {} alerts; at most {NAMED_MAX}, or running", named.len())));
        }
        let ids = named.into_iter().map(|text| {
            text.parse().map_err(|reason: String| refused(format!("{reason}; ids with commas, or running")))
        });
        Ok(WantedAlerts::These(ids.collect::<HttpResult<_>>()?))
    }

    fn named(&self) -> impl Iterator<Item = &AlertId> {
        match self {
            WantedAlerts::Running => [].iter(),
            WantedAlerts::These(ids) => ids.iter(),
        }
    }

    /// Whether an event is for the reader.
    fn has(&self, key: &EventKey) -> bool {
        match (self, key) {
            (WantedAlerts::These(ids), EventKey::Alert(id)) => ids.contains(id),
            _ => true,
        }
    }
}

async fn follow(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let query = Query::read(&uri, &["alerts", "space"])?;
    let wanted = WantedAlerts::read(&query)?;
    let space = match &caller.user {
        Some(user) => Some(user.space),
        None => named_space(&headers)?,
    };
    for id in wanted.named() {
        alerts::seen(&app, &caller, *id).await?;
    }
    let place = app.alerts.event_streams.place(&caller)?;
    let board = app.alerts.event_boards.board(&app, EventAudience::of(&caller, space)).await?;
    let (hello, at) = hello::hello(&app, &caller, (space, &wanted), &board).await?;
    let reader = EventReader {
        hello: Some(hello),
        at,
        wanted,
        progress: board.progress(),
        given: Instant::now(),
        board,
        stopping: app.operations.stopping.clone(),
        _place: place,
    };
    let events = stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        reader.given = Instant::now();
        Some((Ok::<_, Infallible>(event), reader))
    });
    Ok(([(CONTENT_TYPE, "text/event-stream")], [NO_BUFFERING], Body::from_stream(events)).into_response())
}

/// Somebody who reads a board. It holds no event, but its place.
struct EventReader {
    hello: Option<Bytes>,
    at: u64,
    wanted: WantedAlerts,
    board: Arc<EventBoard>,
    progress: watch::Receiver<Progress>,
    /// When the last event or comment was given.
    given: Instant,
    /// True once the server is stopping.
    stopping: watch::Receiver<bool>,
    _place: StreamPlace,
}

impl EventReader {
    /// The next event, or a comment; nothing when the stream is over, or when the reader was so slow that it
    /// has to begin anew.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(hello) = self.hello.take() {
            return Some(hello);
        }
        loop {
            let is_closed = self.progress.borrow_and_update().is_closed;
            let wanted = &self.wanted;
            match self.board.next(&mut self.at, |key| wanted.has(key)) {
                FoundBoard::Event(event) => return Some(event),
                FoundBoard::Missed => return None,
                FoundBoard::Nothing if is_closed => return None,
                FoundBoard::Nothing => {}
            }
            tokio::select! {
                changed = self.progress.changed() => changed.ok()?,
                () = stopped(&mut self.stopping) => return None,
                () = tokio::time::sleep_until(self.given + HEARTBEAT) => return Some(COMMENT),
            }
        }
    }
}
