//! Streams of a connection over HTTP/2: how many there are, since when each waits for its reader, and how
//! many the client gave up.

use super::super::watched::WatchedBody;
use crate::activity::{Activity, ClientTimes};
use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Instant;

/// Streams that a client may give up, each before its answer was whole, within [`GIVEN_UP_WITHIN`]: a browser
/// does so when somebody leaves a page, an attacker as fast as it can (CVE-2023-44487).
pub(super) const GIVEN_UP_MAX: u32 = 200;
const GIVEN_UP_WITHIN: Duration = Duration::from_secs(10);
/// Octets of an answer that are handed over at once, so that little of it waits where nobody watches.
const PIECE_OCTETS: usize = 16 << 10;
/// A stream that its client has not read for so long gives the connection no place of its own.
const UNREAD_MAX: Duration = Duration::from_secs(1);

/// Why a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionFault {
    /// It has no request.
    Idle,
    /// The client does not read a stream.
    Unread,
    /// The client resets streams as if there were no end to them.
    Resets,
}

impl ConnectionFault {
    pub(super) fn words(self) -> &'static str {
        match self {
            ConnectionFault::Idle => "no request came",
            ConnectionFault::Unread => "the client does not read a stream that it asked for",
            ConnectionFault::Resets => "the client gives up streams faster than anybody has a reason to",
        }
    }
}

/// See the module.
pub(super) struct Streams {
    times: ClientTimes,
    tally: Mutex<StreamTally>,
}

struct StreamTally {
    next: u64,
    open: HashMap<u64, OpenStream>,
    /// Since when none is open.
    idle_since: Instant,
    given_up: u32,
    given_up_since: Instant,
}

struct OpenStream {
    activity: Arc<Activity>,
    /// Since when the client has to take what was handed over.
    unread_since: Option<Instant>,
    is_unread: bool,
}

impl Streams {
    pub(super) fn new(times: ClientTimes, now: Instant) -> Streams {
        let tally =
            StreamTally { next: 0, open: HashMap::new(), idle_since: now, given_up: 0, given_up_since: now };
        Streams { times, tally: Mutex::new(tally) }
    }

    /// A request has come.
    pub(super) fn open(self: &Arc<Streams>, activity: Arc<Activity>, now: Instant) -> StreamGuard {
        let mut tally = self.lock();
        let number = tally.next;
        tally.next += 1;
        tally.open.insert(number, OpenStream { activity, unread_since: None, is_unread: false });
        if now.duration_since(tally.given_up_since) >= GIVEN_UP_WITHIN {
            (tally.given_up, tally.given_up_since) = (0, now);
        }
        StreamGuard { streams: Arc::clone(self), number, is_whole: false }
    }

    /// What is wrong with the connection, if anything is.
    pub(super) fn look(&self, now: Instant) -> Option<ConnectionFault> {
        let mut tally = self.lock();
        if tally.given_up > GIVEN_UP_MAX {
            return Some(ConnectionFault::Resets);
        }
        if tally.open.is_empty() {
            let is_idle = now.duration_since(tally.idle_since) >= self.times.head;
            return is_idle.then_some(ConnectionFault::Idle);
        }
        let mut fault = None;
        for stream in tally.open.values_mut() {
            let unread = stream.unread_since.map_or(Duration::ZERO, |since| now.duration_since(since));
            if unread >= self.times.write_stall {
                fault = Some(ConnectionFault::Unread);
            }
            if unread >= UNREAD_MAX && !stream.is_unread {
                stream.is_unread = true;
                stream.activity.end_request();
            }
        }
        fault
    }

    fn lock(&self) -> MutexGuard<'_, StreamTally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open stream, until its answer is written or it is reset.
pub(super) struct StreamGuard {
    streams: Arc<Streams>,
    number: u64,
    /// The answer has come to its end.
    is_whole: bool,
}

impl StreamGuard {
    /// A piece of the answer is handed over: the client has to take it.
    fn handed_over(&self) {
        if let Some(stream) = self.streams.lock().open.get_mut(&self.number) {
            stream.unread_since = Some(Instant::now());
        }
    }

    /// The client has taken the last piece.
    fn taken(&self) {
        if let Some(stream) = self.streams.lock().open.get_mut(&self.number) {
            stream.unread_since = None;
            if std::mem::take(&mut stream.is_unread) {
                stream.activity.begin_request();
            }
        }
    }
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        let mut tally = self.streams.lock();
        let closed = tally.open.remove(&self.number);
        if tally.open.is_empty() {
            tally.idle_since = Instant::now();
        }
        tally.given_up += u32::from(!self.is_whole);
        drop(tally);
        // It may be the last holder of the activity.
        drop(closed);
    }
}

/// Body of an answer, handed over in pieces; a piece is asked for when the client has room for it.
pub(super) struct StreamBody {
    body: WatchedBody<Body>,
    rest: Bytes,
    stream: StreamGuard,
}

impl StreamBody {
    pub(super) fn new(body: WatchedBody<Body>, mut stream: StreamGuard) -> StreamBody {
        stream.is_whole = body.is_end_stream();
        StreamBody { body, rest: Bytes::new(), stream }
    }

    fn piece(&mut self) -> Frame<Bytes> {
        let octets = self.rest.len().min(PIECE_OCTETS);
        let piece = self.rest.split_to(octets);
        self.stream.is_whole = self.is_end_stream();
        self.stream.handed_over();
        Frame::data(piece)
    }
}

impl HttpBody for StreamBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.stream.taken();
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(self.piece())));
        }
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
            Some(Ok(frame)) => frame,
            ended => {
                // An error is ours, and no reset of the client's.
                self.stream.is_whole = true;
                return Poll::Ready(ended);
            }
        };
        match frame.into_data() {
            Ok(data) => {
                self.rest = data;
                Poll::Ready(Some(Ok(self.piece())))
            }
            Err(trailers) => Poll::Ready(Some(Ok(trailers))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, body) = (self.rest.len() as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(rest + body.lower());
        if let Some(upper) = body.upper() {
            hint.set_upper(rest + upper);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::{DescriptorBudget, Places};

    const TIMES: ClientTimes =
        ClientTimes { head: Duration::from_secs(30), write_stall: Duration::from_secs(20) };

    fn activity() -> Arc<Activity> {
        let places = Places::new(10, 10, DescriptorBudget::unlimited());
        let place = places.enter([127, 0, 0, 1].into(), std::time::Instant::now()).unwrap();
        Arc::new(Activity::new(place, TIMES))
    }

    fn body(stream: StreamGuard, octets: usize) -> StreamBody {
        let body = Body::from(vec![7; octets]);
        StreamBody::new(WatchedBody::of_response(body, activity()), stream)
    }

    #[test]
    fn a_connection_without_a_stream_is_idle_after_the_time_for_a_head() {
        let streams = Arc::new(Streams::new(TIMES, Instant::now()));
        let stream = streams.open(activity(), Instant::now());
        let later = Instant::now() + TIMES.head * 10;
        assert_eq!(streams.look(later), None, "a handler takes the time that it takes");
        drop(stream);
        assert_eq!(streams.look(Instant::now()), None);
        assert_eq!(streams.look(Instant::now() + TIMES.head), Some(ConnectionFault::Idle));
    }

    #[tokio::test]
    async fn an_answer_goes_out_in_pieces_and_is_to_be_read_within_its_time() {
        let streams = Arc::new(Streams::new(TIMES, Instant::now()));
        let mut body = body(streams.open(activity(), Instant::now()), 2 * PIECE_OCTETS + 1);
        for expected in [PIECE_OCTETS, PIECE_OCTETS, 1] {
            assert!(!body.is_end_stream());
            let next = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
            let piece = next.unwrap().unwrap().into_data().unwrap();
            assert_eq!(piece.len(), expected);
            assert_eq!(streams.look(Instant::now() + TIMES.write_stall / 2), None);
        }
        assert!(body.is_end_stream());
        assert_eq!(streams.look(Instant::now() + TIMES.write_stall), Some(ConnectionFault::Unread));
    }

    #[test]
    fn streams_that_are_given_up_are_counted_and_whole_ones_are_not() {
        let now = Instant::now();
        let streams = Arc::new(Streams::new(TIMES, now));
        for _ in 0..10 * GIVEN_UP_MAX {
            drop(body(streams.open(activity(), now), 0));
        }
        for _ in 0..GIVEN_UP_MAX {
            drop(body(streams.open(activity(), now), 1));
        }
        assert_eq!(streams.look(now), None);
        // A handler that never came to answer counts too.
        drop(streams.open(activity(), now));
        assert_eq!(streams.look(now), Some(ConnectionFault::Resets));
        let later = now + GIVEN_UP_WITHIN;
        drop(body(streams.open(activity(), later), 0));
        assert_eq!(streams.look(later), None, "that was long ago");
    }
}
