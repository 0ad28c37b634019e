//! Body of a request: read as it arrives and decompressed, with limits on its size and on the time it may
//! take.

use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::json::{self, JsonNode};
use async_compression::tokio::bufread::{GzipDecoder, ZstdDecoder};
use async_compression::zstd::DParameter;
use axum::body::{Body, BodyDataStream};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use bytes::{Buf, Bytes};
use futures_util::{Stream, StreamExt};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncRead, AsyncReadExt, BufReader, ReadBuf};
use tokio::sync::Semaphore;
use tokio::time::{Instant, Sleep};

/// Limits on the time that a peer takes to send a body.
const PATIENCE: Patience = Patience {
    silence_max: Duration::from_secs(30),
    trickle_after: Duration::from_secs(60),
    octets_per_s_min: 1_000,
};
/// A whole body must be there within this.
const WHOLE_BODY_MAX: Duration = Duration::from_secs(600);
/// Bodies of more octets than this wait for one of [`LARGE_BODIES_MAX`] places.
const LARGE_BODY_OCTETS: usize = 1 << 20;
/// Large bodies in memory at once.
const LARGE_BODIES_MAX: usize = 8;
/// A body that is refused for its size is still read up to this limit, so that the client reads the answer.
const DRAIN_OCTETS_MAX: u64 = 256 << 20;
/// And for so long.
const DRAIN_MAX: Duration = Duration::from_secs(5);
/// 8 MiB, the window RFC 9659 allows in a content coding.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// Documents above this are parsed off the runtime's threads.
const INLINE_PARSE_OCTETS: usize = 128 << 10;
const BUFFER_OCTETS: usize = 64 << 10;

/// A decoded body.
pub(crate) type BodyReader = Pin<Box<dyn AsyncBufRead + Send>>;

/// Opens a body of any size for reading as it comes.
pub(crate) fn open(headers: &HeaderMap, body: Body) -> HttpResult<BodyReader> {
    let wire = WireReader::new(body, PATIENCE);
    let encoding = match headers.get(CONTENT_ENCODING) {
        None => "identity",
        Some(value) => value.to_str().unwrap_or("?").trim(),
    };
    Ok(match encoding.to_ascii_lowercase().as_str() {
        "identity" | "" => Box::pin(wire),
        "gzip" | "x-gzip" => {
            let mut decoder = GzipDecoder::new(wire);
            decoder.multiple_members(true);
            Box::pin(BufReader::with_capacity(BUFFER_OCTETS, decoder))
        }
        "zstd" => {
            let limit = [DParameter::window_log_max(ZSTD_WINDOW_LOG_MAX)];
            let mut decoder = ZstdDecoder::with_params(wire, &limit);
            decoder.multiple_members(true);
            Box::pin(BufReader::with_capacity(BUFFER_OCTETS, decoder))
        }
        other => {
            let other: String = other.chars().take(40).collect();
            let detail =
                format!("Content-Encoding {other:?} is not supported; supported are gzip, zstd and identity");
            return Err(HttpProblem::new(ProblemKind::WrongEncoding, detail));
        }
    })
}

/// Limits on bodies that are read whole, which all requests share.
pub(crate) struct BodyLimits {
    /// Decompressed octets of a JSON body.
    octets_max: usize,
    /// Places of large bodies in memory.
    large: Semaphore,
}

impl BodyLimits {
    pub(crate) fn new(octets_max: usize) -> BodyLimits {
        BodyLimits { octets_max, large: Semaphore::new(LARGE_BODIES_MAX) }
    }

    /// Reads a JSON body of one of these media types.
    pub(crate) async fn json(&self, headers: &HeaderMap, body: Body, types: &[&str]) -> HttpResult<JsonNode> {
        media_type(headers, types)?;
        let bytes = self.whole(headers, body, self.octets_max).await?;
        off_thread(bytes.len(), move || json::parse(&bytes)).await?
    }

    /// Reads a whole body of at most `octets_max` decompressed octets.
    pub(crate) async fn whole(
        &self,
        headers: &HeaderMap,
        body: Body,
        octets_max: usize,
    ) -> HttpResult<Vec<u8>> {
        let mut reader = open(headers, body)?;
        let declared: Option<u64> =
            headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok());
        let encoded = headers.contains_key(CONTENT_ENCODING);
        if !encoded && declared.is_some_and(|octets| octets > octets_max as u64) {
            return Err(too_large(octets_max));
        }
        let read = read_whole(&mut reader, octets_max, &self.large);
        match tokio::time::timeout(WHOLE_BODY_MAX, read).await {
            Ok(Ok(Some(bytes))) => Ok(bytes),
            Ok(Ok(None)) => Err(too_large(octets_max)),
            Ok(Err(error)) => Err(broken(&error)),
            Err(_) => {
                let detail = format!("the body did not arrive within {} s", WHOLE_BODY_MAX.as_secs());
                Err(HttpProblem::new(ProblemKind::TooSlow, detail))
            }
        }
    }
}

async fn read_whole(
    reader: &mut BodyReader,
    octets_max: usize,
    large: &Semaphore,
) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let mut place = None;
    loop {
        if bytes.len() > LARGE_BODY_OCTETS && place.is_none() {
            // The semaphore is never closed, so this only waits.
            place = large.acquire().await.ok();
        }
        let room = (octets_max + 1 - bytes.len()).min(BUFFER_OCTETS) as u64;
        if reader.take(room).read_to_end(&mut bytes).await? == 0 {
            return Ok(Some(bytes));
        }
        if bytes.len() > octets_max {
            return Ok(None);
        }
    }
}

/// Reads a body away, within limits; true if it came to its end.
pub(crate) async fn read_to_end(body: Body) -> bool {
    let mut stream = body.into_data_stream();
    let mut octets = 0;
    let read = async {
        while let Some(chunk) = stream.next().await {
            let Ok(chunk) = chunk else { return false };
            octets += chunk.len() as u64;
            if octets > DRAIN_OCTETS_MAX {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(DRAIN_MAX, read).await.unwrap_or(false)
}

fn too_large(octets_max: usize) -> HttpProblem {
    let limit = if octets_max.is_multiple_of(1 << 20) {
        format!("{} MiB", octets_max >> 20)
    } else {
        format!("{octets_max} octets")
    };
    HttpProblem::field(ProblemKind::TooLarge, "body", format!("is larger than {limit} decompressed"))
}

/// The problem document for an error of a body's reader.
pub(crate) fn broken(error: &io::Error) -> HttpProblem {
    match error.kind() {
        io::ErrorKind::TimedOut => {
            let Patience { silence_max, octets_per_s_min, .. } = PATIENCE;
            let silence = silence_max.as_secs();
            let detail =
                format!("no data arrived for {silence} s, or fewer than {octets_per_s_min} octets a second");
            HttpProblem::new(ProblemKind::TooSlow, detail)
        }
        _ => HttpProblem::new(ProblemKind::MalformedBody, format!("the body cannot be read: {error}")),
    }
}

/// Refuses a body whose Content-Type is not one of `taken`; an absent Content-Type counts as the first.
pub(crate) fn media_type<'t>(headers: &HeaderMap, taken: &[&'t str]) -> HttpResult<&'t str> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(taken[0]) };
    let value = value.to_str().unwrap_or("?").to_ascii_lowercase();
    let mut parts = value.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let charset =
        parts.find_map(|part| part.strip_prefix("charset=")).map(|charset| charset.trim_matches('"'));
    let found = taken.iter().find(|candidate| **candidate == essence);
    match (found, charset) {
        (Some(found), None | Some("utf-8" | "utf8" | "us-ascii")) => Ok(found),
        // An XML document names its own encoding; the header only repeats it.
        (Some(found), Some(_)) if essence.ends_with("xml") => Ok(found),
        _ => Err(wrong_type(&value, taken)),
    }
}

fn wrong_type(value: &str, taken: &[&str]) -> HttpProblem {
    let value: String = value.chars().take(80).collect();
    let detail = format!("Content-Type {value:?} is not supported here; use {}", taken.join(" or "));
    HttpProblem::new(ProblemKind::WrongMediaType, detail)
}

/// Runs `work` on a thread for blocking work when it is long enough to hold others up.
pub(crate) async fn off_thread<T: Send + 'static>(
    octets: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> HttpResult<T> {
    if octets <= INLINE_PARSE_OCTETS {
        return Ok(work());
    }
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| HttpProblem::new(ProblemKind::Internal, format!("reading the body failed: {error}")))
}

#[derive(Debug, Clone, Copy)]
struct Patience {
    /// A body that sends nothing for so long is given up.
    silence_max: Duration,
    /// A peer we have waited for longer than this in all …
    trickle_after: Duration,
    /// … must have sent so many octets for each second of it.
    octets_per_s_min: u64,
}

/// The body as it is on the wire, as something to read from.
struct WireReader {
    stream: BodyDataStream,
    patience: Patience,
    chunk: Bytes,
    silence: Pin<Box<Sleep>>,
    octets: u64,
    /// The start of the current wait for the peer, and the time waited for it in all.
    waiting: Option<Instant>,
    waited: Duration,
}

impl WireReader {
    fn new(body: Body, patience: Patience) -> WireReader {
        WireReader {
            stream: body.into_data_stream(),
            patience,
            chunk: Bytes::new(),
            silence: Box::pin(tokio::time::sleep(patience.silence_max)),
            octets: 0,
            waiting: None,
            waited: Duration::ZERO,
        }
    }
}

impl WireReader {
    /// Only the time we waited for the peer counts: we may be slow ourselves.
    fn is_trickle(&self) -> bool {
        let least = self.waited.as_secs_f64() * self.patience.octets_per_s_min as f64;
        self.waited > self.patience.trickle_after && (self.octets as f64) < least
    }
}

impl AsyncBufRead for WireReader {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        while this.chunk.is_empty() {
            match Pin::new(&mut this.stream).poll_next(cx) {
                Poll::Ready(Some(Ok(chunk))) => {
                    this.octets += chunk.len() as u64;
                    this.waited += this.waiting.take().map_or(Duration::ZERO, |since| since.elapsed());
                    if this.is_trickle() {
                        return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                    }
                    this.silence.as_mut().reset(Instant::now() + this.patience.silence_max);
                    this.chunk = chunk;
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(io::Error::other(error))),
                Poll::Ready(None) => return Poll::Ready(Ok(&[])),
                Poll::Pending => {
                    this.waiting.get_or_insert_with(Instant::now);
                    ready!(this.silence.as_mut().poll(cx));
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
            }
        }
        Poll::Ready(Ok(&this.chunk))
    }

    fn consume(self: Pin<&mut Self>, amount: usize) {
        self.get_mut().chunk.advance(amount);
    }
}

impl AsyncRead for WireReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let available = ready!(self.as_mut().poll_fill_buf(cx))?;
        let amount = available.len().min(buf.remaining());
        buf.put_slice(&available[..amount]);
        self.consume(amount);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;

    async fn read(body: Body) -> HttpResult<Vec<u8>> {
        BodyLimits::new(0).whole(&HeaderMap::new(), body, 1 << 20).await
    }

    fn drops(every: Duration) -> Body {
        Body::from_stream(stream::unfold((), move |()| async move {
            tokio::time::sleep(every).await;
            Some((io::Result::Ok(Bytes::from_static(b"x")), ()))
        }))
    }

    #[tokio::test]
    async fn a_silent_and_a_trickling_body_are_given_up() {
        let milliseconds = Duration::from_millis;
        let patience = Patience {
            silence_max: milliseconds(60),
            trickle_after: milliseconds(20),
            octets_per_s_min: 1_000_000,
        };
        for body in [Body::from_stream(stream::pending::<io::Result<Bytes>>()), drops(milliseconds(5))] {
            let mut reader = WireReader::new(body, patience);
            let error =
                tokio::time::timeout(Duration::from_secs(10), reader.read_to_end(&mut Vec::new())).await;
            let problem = broken(&error.expect("given up in time").unwrap_err());
            assert_eq!(problem.status(), 408);
        }
        let enough = Patience { octets_per_s_min: 1, ..patience };
        let mut reader = WireReader::new(drops(milliseconds(5)), enough).take(10);
        assert_eq!(reader.read_to_end(&mut Vec::new()).await.unwrap(), 10);
    }

    #[tokio::test]
    async fn a_body_at_the_limit_is_read_and_one_above_is_not() {
        assert_eq!(read(Body::from(vec![7; 1 << 20])).await.unwrap().len(), 1 << 20);
        let problem = read(Body::from(vec![7; (1 << 20) + 1])).await.unwrap_err();
        assert!(problem.detail().contains("larger than 1 MiB"));
    }
}
