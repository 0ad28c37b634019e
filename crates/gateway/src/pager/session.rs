//! One place for a connection to an SNPP server: pages out one after another, verdicts in.

use super::encode::PagerJob;
use super::line::{PagingLine, SnppPeer};
use super::link::SnppLink;
use crate::context::Stop;
use crate::mail::{Ending, SessionView, chance};
use ::pace::Backoff;
use records::AttemptResult;
use snpp::client::{PageVerdict, SnppClientEvent, SnppFailure, is_closing};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// First wait between attempts to connect.
const RECONNECT_FIRST: Duration = Duration::from_millis(500);
/// Longest one.
const RECONNECT_MAX: Duration = Duration::from_secs(30);
/// A session without work is closed after so long: servers do so themselves after some minutes.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// A server that ends a session sooner than this after the last page does not do so because of idleness.
const IDLE_MIN: Duration = Duration::from_secs(1);
/// How long a page that is under way may take when the route stops.
const DRAIN: Duration = Duration::from_secs(10);

/// One place. It is connected while there is work for it; the first is also connected to see whether the
/// server is there.
pub(super) async fn keep_session(line: Arc<PagingLine>, number: usize, mut stop: Stop) {
    let mut backoff = Backoff::new(RECONNECT_FIRST, RECONNECT_MAX);
    let mut place = SessionView { up: false, probe: number == 0 };
    let listener = line.dispatcher.listen();
    while !stop.is_set() {
        let job = match place.probe {
            true => None,
            false => tokio::select! {
                job = line.next_job(&listener) => Some(job),
                () = stop.wait() => return place.leave(&line.dispatcher, false),
            },
        };
        let ending = session(&line, &listener, job, place.up, &mut stop).await;
        if stop.is_set() {
            return place.leave(&line.dispatcher, ending.open);
        }
        if place.end(&line.dispatcher, &ending, number == 0) {
            backoff.reset();
        }
        let Some(trouble) = ending.trouble else { continue };
        let wait = if ending.completed > 0 { Duration::ZERO } else { backoff.wait(chance()) };
        let wait_ms = wait.as_millis() as u64;
        tracing::warn!(route = line.name(), session = number, trouble, wait_ms, "not connected");
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stop.wait() => {}
        }
    }
}

/// From connecting to the end.
async fn session(
    line: &Arc<PagingLine>,
    listener: &Notify,
    job: Option<PagerJob>,
    up: bool,
    stop: &mut Stop,
) -> Ending {
    let peer = line.peer();
    let connected = tokio::select! {
        connected = peer.connect() => connected.map_err(|error| error.to_string()),
        () = stop.wait() => Err("the route was stopped".to_owned()),
    };
    match connected {
        Ok(stream) => {
            let link = SnppLink::new(stream, peer.settings.options());
            PagerConnection::new(line, peer, job, up).run(link, listener, stop).await
        }
        Err(trouble) => {
            if let Some(job) = job {
                line.put_back(job);
            }
            Ending { open: false, completed: 0, trouble: Some(trouble) }
        }
    }
}

/// A session at work.
struct PagerConnection<'a> {
    line: &'a Arc<PagingLine>,
    /// The settings it was connected by.
    peer: Arc<SnppPeer>,
    /// The page the session was opened for.
    in_hand: Option<PagerJob>,
    /// The page under way.
    flight: Option<PageFlight>,
    next_id: u64,
    /// The route knows that the place can send.
    up: bool,
    open: bool,
    completed: u64,
    /// A page was under way when it ended.
    interrupted: bool,
    /// When there was work last.
    busy: Instant,
    drain: Option<Instant>,
}

/// A page under way.
struct PageFlight {
    job: PagerJob,
    begun: Instant,
    /// The limit was told that it was written.
    is_written: bool,
    /// The session had been idle before.
    roused: bool,
}

impl<'a> PagerConnection<'a> {
    fn new(
        line: &'a Arc<PagingLine>,
        peer: Arc<SnppPeer>,
        in_hand: Option<PagerJob>,
        up: bool,
    ) -> PagerConnection<'a> {
        PagerConnection {
            line,
            peer,
            in_hand,
            flight: None,
            next_id: 0,
            up,
            open: false,
            completed: 0,
            interrupted: false,
            busy: Instant::now(),
            drain: None,
        }
    }

    /// Talks until the connection ends; every page has its verdict then.
    async fn run(mut self, mut link: SnppLink, listener: &Notify, stop: &mut Stop) -> Ending {
        let trouble = loop {
            let now = Instant::now();
            let is_free = link.client.is_idle() && self.drain.is_none();
            if is_free && let Some(job) = self.in_hand.take() {
                self.begin(job, &mut link, now);
                continue;
            }
            let due = self.drain.unwrap_or(self.busy + IDLE_MAX);
            tokio::select! {
                biased;
                event = link.turn() => {
                    let Some(event) = event else { continue };
                    if let Some(end) = self.handle(event).await {
                        break end;
                    }
                }
                job = self.line.next_job(listener), if is_free => self.begin(job, &mut link, now),
                () = stop.wait(), if self.drain.is_none() => self.stop(&mut link),
                () = tokio::time::sleep_until(due.into()), if self.drain.is_some() || is_free => {
                    match self.drain.take() {
                        Some(_) => link.lose("the route was stopped before the server answered"),
                        None => link.client.quit(Instant::now()),
                    }
                }
            }
        };
        if let Some(job) = self.in_hand.take() {
            self.line.put_back(job);
        }
        Ending { open: self.open, completed: self.completed, trouble }
    }

    /// Begins a page; one that may not be sent any more, or cannot be, has its outcome at once.
    fn begin(&mut self, job: PagerJob, link: &mut SnppLink, now: Instant) {
        let line = self.line;
        if let Some(why) = line.dispatcher.refusal(&job) {
            line.limit.unused();
            return line.dispatcher.whole(&job, &AttemptResult::NotTried { why });
        }
        let encoder = line.dispatcher.encoder();
        self.next_id += 1;
        match encoder.page(&job, self.next_id, &self.peer.settings, line.context.now()) {
            Ok(page) => {
                let roused = self.open && now >= self.busy + IDLE_MIN;
                self.flight = Some(PageFlight { job, begun: now, is_written: false, roused });
                self.busy = now;
                link.client.submit(now, page);
            }
            Err(why) => {
                line.limit.unused();
                line.refuse(&job, true, why.code, why.text);
            }
        }
    }

    /// Takes an event; the session's end, and why, if it is that.
    async fn handle(&mut self, event: SnppClientEvent) -> Option<Option<String>> {
        match event {
            SnppClientEvent::Ready => {
                self.open = true;
                self.busy = Instant::now();
                if !self.up {
                    self.line.dispatcher.session_up();
                }
            }
            SnppClientEvent::SendWritten { .. } => {
                if let Some(flight) = &mut self.flight {
                    flight.is_written = true;
                    self.line.limit.wrote(1, flight.begun, Instant::now());
                }
            }
            SnppClientEvent::Done { verdict, .. } => self.done(verdict).await,
            SnppClientEvent::Status { .. } => {}
            SnppClientEvent::Closed(Ok(())) => return Some(None),
            SnppClientEvent::Closed(Err(failure)) => return Some(self.trouble(failure)),
        }
        None
    }

    async fn done(&mut self, verdict: PageVerdict) {
        let Some(flight) = self.flight.take() else { return };
        self.busy = Instant::now();
        match &verdict {
            PageVerdict::NotTried { .. } if !flight.roused => self.interrupted = true,
            PageVerdict::NotTried { .. } => {}
            PageVerdict::Unknown { .. } => self.interrupted = true,
            PageVerdict::Accepted { .. } | PageVerdict::Refused { .. } => self.completed += 1,
        }
        match (flight.is_written, &verdict) {
            (true, _) => {}
            (false, PageVerdict::NotTried { .. }) => self.line.limit.unused(),
            // A refusal before SEND was work for the server as well.
            (false, _) => self.line.limit.wrote(1, flight.begun, self.busy),
        }
        self.line.settle(flight.job, verdict, flight.roused).await;
    }

    /// A server that ends a session in which nothing was to do is no trouble.
    fn trouble(&self, failure: SnppFailure) -> Option<String> {
        let ended = failure.code == "snpp:lost" || is_closing(&failure);
        let is_harmless = self.open && !self.interrupted && ended;
        // One that closes each connection behind its page, or after a time of idleness.
        let has_served = self.completed > 0 || self.busy.elapsed() >= IDLE_MIN;
        (!(is_harmless && has_served)).then_some(failure.text)
    }

    fn stop(&mut self, link: &mut SnppLink) {
        let now = Instant::now();
        self.drain = Some(now + DRAIN);
        if let Some(job) = self.in_hand.take() {
            self.line.put_back(job);
        }
        link.client.quit(now);
    }
}
