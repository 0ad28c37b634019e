//! One connection to the relay: mails out, verdicts in, one write for all that waits.

use super::config::host_of;
use super::outcome;
use super::relay::{MailComposer, MailJob, Relay, RelayPeer};
use crate::context::Stop;
use net::Stream;
use rustc_hash::FxHashMap;
use smtp::client::{Failure, Input, SmtpClient, SmtpClientEvent, Verdict};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

/// A session without work is closed after so long: relays do so themselves after some minutes.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// A relay that ends a session sooner than this after the last mail does not do so because of idleness.
pub(super) const IDLE_MIN: Duration = Duration::from_secs(1);
/// A TLS handshake that takes longer is given up.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// How long what is under way may take when the route stops.
const DRAIN: Duration = Duration::from_secs(10);
/// While no octet can be written the relay does not read: after so long it never will (RFC 5321 §4.5.3.2.5).
const WRITE_MAX: Duration = Duration::from_secs(180);
/// Read at a time.
const INPUT_OCTETS: usize = 16 * 1024;

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ending {
    /// It was open.
    pub(crate) open: bool,
    /// Messages that got a verdict of the server's.
    pub(crate) completed: u64,
    /// Why it ended, unless in order: after QUIT, or by the server while there was nothing to do.
    pub(crate) trouble: Option<String>,
}

/// A session at work.
pub(super) struct RelayConnection<E: MailComposer> {
    relay: Arc<Relay<E>>,
    /// The settings it was connected by.
    peer: Arc<RelayPeer>,
    client: SmtpClient,
    listener: Arc<Notify>,
    flights: FxHashMap<u64, MailJob<E>>,
    next_id: u64,
    /// The mail the session was opened for.
    in_hand: Option<MailJob<E>>,
    /// Mails begun since the last complete write, and an instant before the first of them.
    unwritten: usize,
    filled: Option<Instant>,
    next_grant: Option<Instant>,
    open: bool,
    had_room: bool,
    completed: u64,
    /// Mails were under way when it ended.
    interrupted: bool,
    /// When there was work last.
    busy: Instant,
    /// The first mail after idleness was begun, and no mail has a verdict since: the relay may have closed
    /// the session before it came.
    roused: bool,
    /// Since when nothing could be written.
    stuck: Option<Instant>,
    drain: Option<Instant>,
    on_open: fn(&Relay<E>),
}

impl<E: MailComposer> RelayConnection<E> {
    /// For a connection just made. `on_open` is called when mails can be sent, unless the route knows that
    /// already.
    pub(super) fn new(
        relay: &Arc<Relay<E>>,
        peer: &Arc<RelayPeer>,
        in_hand: Option<MailJob<E>>,
        on_open: fn(&Relay<E>),
    ) -> RelayConnection<E> {
        let now = Instant::now();
        RelayConnection {
            client: SmtpClient::new(peer.config.options(), now),
            listener: relay.dispatcher.listen(),
            relay: Arc::clone(relay),
            peer: Arc::clone(peer),
            flights: FxHashMap::default(),
            next_id: 0,
            in_hand,
            unwritten: 0,
            filled: None,
            next_grant: None,
            open: false,
            had_room: false,
            completed: 0,
            interrupted: false,
            busy: now,
            roused: false,
            stuck: None,
            drain: None,
            on_open,
        }
    }

    /// Talks until the connection ends; every mail has its verdict then.
    pub(super) async fn run(mut self, stream: Stream, stop: &mut Stop) -> Ending {
        let mut stream = Some(stream);
        let mut buffer = vec![0; INPUT_OCTETS];
        let trouble = loop {
            let now = Instant::now();
            self.check_deadlines(now);
            if let Some(end) = self.handle_events(&mut stream).await {
                break end;
            }
            self.fill(Instant::now());
            let Some(stream) = stream.as_mut() else { break Some("the connection is gone".to_owned()) };
            let due = self.deadline(now);
            tokio::select! {
                biased;
                progress = progress(stream, &mut self.client, &mut buffer) => self.moved(progress, Instant::now()),
                () = self.listener.notified() => {}
                () = stop.wait(), if self.drain.is_none() => self.stop(Instant::now()),
                () = tokio::time::sleep_until(due.into()) => {}
            }
        };
        self.leave(trouble)
    }

    /// Events of the machine; the session's end, and why, if one of them is that.
    async fn handle_events(&mut self, stream: &mut Option<Stream>) -> Option<Option<String>> {
        while let Some(event) = self.client.poll_event() {
            match event {
                SmtpClientEvent::StartTls => self.secure(stream).await,
                SmtpClientEvent::Ready(_) => {
                    self.open = true;
                    self.busy = Instant::now();
                    (self.on_open)(&self.relay);
                }
                // Nothing of it was accepted, so a session of its own can take it: an idle one that was
                // closed does not cost it an attempt.
                SmtpClientEvent::Done { id, verdict: Verdict::NotTried { .. } } if self.roused => {
                    if let Some(job) = self.flights.remove(&id) {
                        self.relay.dispatcher.put_back(job);
                    }
                }
                SmtpClientEvent::Done { id, verdict } => {
                    self.busy = Instant::now();
                    self.roused = false;
                    match verdict {
                        Verdict::Accepted { .. } | Verdict::Refused { .. } => self.completed += 1,
                        Verdict::Unknown { .. } | Verdict::NotTried { .. } => self.interrupted = true,
                    }
                    if let Some(job) = self.flights.remove(&id) {
                        self.relay.settle(job, verdict);
                    }
                }
                SmtpClientEvent::Closed(Ok(())) => return Some(None),
                SmtpClientEvent::Closed(Err(failure)) => return Some(self.trouble(failure)),
            }
        }
        None
    }

    /// A relay that ends a session in which nothing was to do is no trouble.
    fn trouble(&self, failure: Failure) -> Option<String> {
        let was_idle = self.roused || self.busy.elapsed() >= IDLE_MIN;
        let idle = self.open && !self.interrupted && was_idle;
        let ended = failure.code == "smtp:lost" || failure.code.starts_with("smtp:421");
        (!(idle && ended)).then_some(failure.text)
    }

    async fn secure(&mut self, stream: &mut Option<Stream>) {
        let result = match (stream.take(), &self.peer.tls) {
            (Some(plain), Some(tls)) => {
                let handshake = plain.into_tls_client(tls, host_of(&self.peer.config.address));
                match tokio::time::timeout(HANDSHAKE_MAX, handshake).await {
                    Ok(result) => result,
                    Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "not in time")),
                }
            }
            _ => Err(io::Error::other("the route has no TLS")),
        };
        let now = Instant::now();
        match result {
            Ok(secured) => {
                *stream = Some(secured);
                self.client.handle_input(now, Input::Secured);
            }
            Err(error) => {
                let why = format!("the TLS handshake failed: {error}");
                self.client.handle_input(now, Input::Lost(&why));
            }
        }
    }

    /// Begins as many mails as the machine, the limit and the feed have.
    fn fill(&mut self, now: Instant) {
        self.next_grant = None;
        while self.client.room() > 0 && self.drain.is_none() {
            if !self.relay.limit.grant(now) {
                self.next_grant = self.relay.limit.next(now);
                break;
            }
            let Some(job) = self.next_job() else {
                self.relay.limit.unused();
                break;
            };
            self.submit(job, now);
        }
        let has_room = self.client.room() > 0 && self.drain.is_none();
        self.relay.set_room(self.had_room, has_room);
        self.had_room = has_room;
    }

    fn next_job(&mut self) -> Option<MailJob<E>> {
        if let Some(job) = self.in_hand.take() {
            match self.relay.dispatcher.refusal(&job) {
                None => return Some(job),
                Some(why) => self.relay.give_back(&job, why),
            }
        }
        self.relay.dispatcher.next()
    }

    fn submit(&mut self, job: MailJob<E>, now: Instant) {
        let (id, encoder) = (self.next_id, self.relay.dispatcher.encoder());
        match encoder.compose(&job, id, self.relay.context.now()) {
            Ok(transaction) => {
                self.next_id += 1;
                self.roused |= self.flights.is_empty() && now >= self.busy + IDLE_MIN;
                self.flights.insert(id, job);
                self.client.submit(now, transaction);
                self.unwritten += 1;
                self.filled.get_or_insert(now);
                self.busy = now;
            }
            Err(why) => {
                self.relay.limit.unused();
                self.relay.dispatcher.whole(&job, &outcome::refused(why));
            }
        }
    }

    /// Octets were written or read, or never will be again.
    fn moved(&mut self, progress: io::Result<RelayProgress>, now: Instant) {
        match progress {
            Ok(progress) => {
                if progress.closed {
                    self.client.handle_input(now, Input::Lost("the relay closed the connection"));
                }
                self.stuck = None;
            }
            Err(error) => {
                let why = format!("the connection broke: {error}");
                self.client.handle_input(now, Input::Lost(&why));
            }
        }
        if self.client.poll_transmit().is_empty() {
            self.tell_written(now);
        } else {
            self.stuck = Some(now);
        }
    }

    fn tell_written(&mut self, now: Instant) {
        if self.unwritten > 0 {
            let before = self.filled.take().unwrap_or(now);
            self.relay.limit.wrote(std::mem::take(&mut self.unwritten), before, now);
        }
    }

    fn check_deadlines(&mut self, now: Instant) {
        self.client.handle_timeout(now);
        if self.drain.is_some_and(|due| due <= now) {
            self.client.handle_input(now, Input::Lost("the route was stopped before the relay answered"));
        } else if self.stuck.is_some_and(|since| now >= since + WRITE_MAX) {
            self.client.handle_input(now, Input::Lost("the relay did not read what was written"));
        } else if self.open && self.client.is_idle() && now >= self.busy + IDLE_MAX {
            self.client.quit(now);
        }
    }

    fn deadline(&self, now: Instant) -> Instant {
        let idle = self.client.is_idle().then_some(self.busy + IDLE_MAX);
        let stuck = self.stuck.map(|since| since + WRITE_MAX);
        let due = [self.client.poll_timeout(), self.next_grant, idle, stuck, self.drain];
        due.into_iter().flatten().min().unwrap_or(now + IDLE_MAX)
    }

    fn stop(&mut self, now: Instant) {
        self.drain = Some(now + DRAIN);
        if let Some(job) = self.in_hand.take() {
            self.relay.dispatcher.put_back(job);
        }
        self.client.quit(now);
    }

    fn leave(mut self, trouble: Option<String>) -> Ending {
        // What is not known to be unwritten counts as written.
        self.tell_written(Instant::now());
        self.relay.set_room(self.had_room, false);
        if let Some(job) = self.in_hand.take() {
            self.relay.dispatcher.put_back(job);
        }
        Ending { open: self.open, completed: self.completed, trouble }
    }
}

/// What [`progress`] did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct RelayProgress {
    moved: bool,
    closed: bool,
}

/// Waits until octets were written or read: writes all the system takes, then reads all there is.
async fn progress(
    stream: &mut Stream,
    client: &mut SmtpClient,
    buffer: &mut [u8],
) -> io::Result<RelayProgress> {
    poll_fn(|cx| {
        let mut done = RelayProgress::default();
        write(stream, client, cx, &mut done)?;
        read(stream, client, cx, buffer, &mut done)?;
        if done == RelayProgress::default() { Poll::Pending } else { Poll::Ready(Ok(done)) }
    })
    .await
}

fn write(
    stream: &mut Stream,
    client: &mut SmtpClient,
    cx: &mut Context<'_>,
    done: &mut RelayProgress,
) -> io::Result<()> {
    while !client.poll_transmit().is_empty() {
        match Pin::new(&mut *stream).poll_write(cx, client.poll_transmit()) {
            Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
            Poll::Ready(Ok(written)) => {
                client.handle_input(Instant::now(), Input::Sent(written));
                done.moved = true;
            }
            Poll::Ready(Err(error)) => return Err(error),
            Poll::Pending => break,
        }
    }
    // TLS records may still wait inside; a plain stream has nothing to do here.
    match Pin::new(stream).poll_flush(cx) {
        Poll::Ready(Err(error)) => Err(error),
        _ => Ok(()),
    }
}

fn read(
    stream: &mut Stream,
    client: &mut SmtpClient,
    cx: &mut Context<'_>,
    buffer: &mut [u8],
    done: &mut RelayProgress,
) -> io::Result<()> {
    loop {
        let mut octets = ReadBuf::new(buffer);
        match Pin::new(&mut *stream).poll_read(cx, &mut octets) {
            Poll::Pending => return Ok(()),
            Poll::Ready(Err(error)) => return Err(error),
            Poll::Ready(Ok(())) if octets.filled().is_empty() => {
                done.closed = true;
                return Ok(());
            }
            Poll::Ready(Ok(())) => {
                client.handle_input(Instant::now(), Input::Octets(octets.filled()));
                done.moved = true;
                if octets.remaining() > 0 && !matches!(stream, Stream::TlsClient(_)) {
                    return Ok(());
                }
            }
        }
    }
}
