//! HTTP/2 on a connection under TLS (RFC 9113): its limits, and the watch over its streams.
//!
//! What HTTP/1.1 bounds by having one request at a time is bounded here by number: streams at once, octets of
//! a head, octets on their way in either direction, streams that are reset. A connection without a request is
//! closed after the time for a head, and one with a stream that is not read after the time for that.

mod streams;

use self::streams::{ConnectionFault, StreamBody, Streams};
use super::watched::{WatchedBody, WatchedStream};
use super::{Connection, HEAD_OCTETS_MAX, client_of, host, stopped};
use crate::activity::Activity;
use crate::http::problem::{HttpProblem, ProblemKind};
use axum::body::Body;
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, MissedTickBehavior};

/// What a client is told of it in the TLS handshake.
pub(super) const ALPN: &[u8] = b"h2";
/// Requests of one connection at once; more are refused by REFUSED_STREAM. RFC 9113, section 6.5.2 advises
/// against fewer.
pub(crate) const STREAMS_MAX: u32 = 100;
/// Streams that a client reset before they were looked at; one more ends the connection (CVE-2023-44487).
const PENDING_RESETS_MAX: usize = 20;
/// Streams that were reset for a client's mistakes; one more ends the connection (RUSTSEC-2024-0003).
const OWN_RESETS_MAX: usize = 100;
/// Octets of a head, unpacked, as over HTTP/1.1. A longer one is answered by 431, and a block of CONTINUATION
/// frames that goes on all the same ends the connection.
const HEAD_LIST_OCTETS_MAX: u32 = HEAD_OCTETS_MAX as u32;
/// Octets of bodies that may be on their way to a handler, of one stream and of all of a connection.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 1 << 20;
/// Octets of an answer that wait for the client, of one stream.
const SEND_BUFFER_OCTETS: usize = 64 << 10;
/// Octets of the largest frame that is taken: the least that RFC 9113 allows.
const FRAME_OCTETS_MAX: u32 = 16 << 10;
/// The streams are looked over so often, or more often where the client's times are short.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A connection that is closed for idleness has so long to agree.
const FAREWELL_MAX: Duration = Duration::from_secs(5);

impl Connection {
    pub(super) async fn serve_http2<S>(self, stream: S) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let times = self.activity.times();
        let mut stopping = self.stopping.clone();
        let streams = Arc::new(Streams::new(times, Instant::now()));
        let watched = WatchedStream::new(stream, Arc::clone(&self.activity));
        let of_requests = Arc::clone(&streams);
        let service = service_fn(move |request: Request<Incoming>| {
            let (connection, streams) = (self.clone(), Arc::clone(&of_requests));
            // It counts from here on, whether or not its handler ever runs.
            let activity = Arc::new(connection.activity.of_stream());
            let stream = streams.open(Arc::clone(&activity), Instant::now());
            async move {
                let answer = connection.answer_stream(request, &activity).await;
                activity.begin_request();
                let body = |body| StreamBody::new(WatchedBody::of_response(body, activity), stream);
                Ok::<_, Infallible>(answer.map(body))
            }
        });
        let serving = builder().serve_connection(TokioIo::new(watched), service);
        let mut serving = pin!(serving);
        let mut looks = tokio::time::interval(LOOK_EVERY.min(times.head / 4).min(times.write_stall / 4));
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut farewell = Duration::MAX;
        loop {
            tokio::select! {
                ended = serving.as_mut() => return ended.map_err(io::Error::other),
                // Whoever stops the door waits for all connections together.
                () = stopped(&mut stopping) => break,
                _ = looks.tick() => match streams.look(Instant::now()) {
                    None => {}
                    Some(ConnectionFault::Idle) => {
                        farewell = FAREWELL_MAX;
                        break;
                    }
                    Some(fault) => return Err(io::Error::other(fault.words())),
                },
            }
        }
        serving.as_mut().graceful_shutdown();
        match tokio::time::timeout(farewell, serving).await {
            Ok(ended) => ended.map_err(io::Error::other),
            // It has nothing to lose.
            Err(_) => Ok(()),
        }
    }

    async fn answer_stream(self, mut request: Request<Incoming>, activity: &Arc<Activity>) -> Response<Body> {
        if !host::name_host(&mut request) {
            return HttpProblem::new(ProblemKind::BadHeader, host::TWO_HOSTS).into_response();
        }
        let client = client_of(self.client, request.headers(), &self.trusted_proxies);
        if request.body().is_end_stream() {
            activity.begin_request();
        }
        let request = request.map(|body| WatchedBody::of_request(body, Arc::clone(activity)));
        let Ok(answer) = self.paths.answer(request, client, Arc::clone(activity)).await;
        answer
    }
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_pending_accept_reset_streams(PENDING_RESETS_MAX)
        .max_local_error_reset_streams(OWN_RESETS_MAX)
        .max_header_list_size(HEAD_LIST_OCTETS_MAX)
        .max_frame_size(FRAME_OCTETS_MAX)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER_OCTETS);
    builder
}
