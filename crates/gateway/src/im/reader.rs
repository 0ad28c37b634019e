//! Reader of a route: its network's events become outcomes, and its position is kept once they are on disk.

use super::ImEncoder;
use super::connection::{ImConnection, ReadBatch, ReadError};
use super::position::{Position, READ_HELD_MAX, RENEW_EVERY, ReaderLease};
use crate::context::Stop;
use crate::dispatcher::{RouteDispatcher, RouteRemark};
use ::pace::Backoff;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// First wait after events could not be read.
const AGAIN_FIRST: Duration = Duration::from_millis(200);
/// Longest one.
const AGAIN_MAX: Duration = Duration::from_secs(30);
/// A server that holds no answer back is asked no more often than this.
const EMPTY_MIN: Duration = Duration::from_millis(250);
/// Failures one after another that show that the network is not there.
const FAILURES_MAX: u32 = 2;

/// A route's events.
pub(super) struct ImReader {
    pub(super) connection: Arc<ImConnection>,
    pub(super) dispatcher: Arc<RouteDispatcher<ImEncoder>>,
    pub(super) position: Position,
    pub(super) lease: ReaderLease,
    pub(super) poll: Duration,
    /// Told why the route cannot go on.
    pub(super) down: mpsc::Sender<String>,
}

impl ImReader {
    /// Until it is told to stop, or the network is not there.
    pub(super) async fn run(mut self, mut stop: Stop) {
        let mut backoff = Backoff::new(AGAIN_FIRST, AGAIN_MAX);
        let (mut since, mut is_warned) = (None, false);
        while !stop.is_set() {
            if !self.lease.hold() {
                since = None;
                wait(RENEW_EVERY, &mut stop).await;
                continue;
            }
            let from = since.take().or_else(|| self.position.load());
            let poll = if self.lease.is_shared() { self.poll.min(READ_HELD_MAX) } else { self.poll };
            let began = Instant::now();
            let read = tokio::select! {
                read = self.connection.read(from.as_deref(), poll) => read,
                () = stop.wait() => return,
            };
            let is_empty = read.as_ref().is_ok_and(|batch| batch.outcomes.is_empty());
            match read {
                Ok(batch) => {
                    backoff.reset();
                    if std::mem::take(&mut is_warned) {
                        self.dispatcher.remark(RouteRemark::WhileUp(""));
                    }
                    since = self.take(batch, from, &mut stop).await;
                    if is_empty && !poll.is_zero() {
                        wait(EMPTY_MIN.saturating_sub(began.elapsed()), &mut stop).await;
                    }
                }
                Err(error) => {
                    is_warned = true;
                    if let Some(pause) = self.judge(error, &mut backoff).await {
                        wait(pause, &mut stop).await;
                    } else {
                        return;
                    }
                }
            }
        }
    }

    /// How long to wait before it is tried again; nothing: the route is down.
    async fn judge(&self, error: ReadError, backoff: &mut Backoff) -> Option<Duration> {
        let route = self.dispatcher.route();
        match error {
            ReadError::Down(words) => {
                let pause = backoff.wait(super::chance());
                if backoff.failures() >= FAILURES_MAX {
                    let _ = self.down.send(words).await;
                    return None;
                }
                Some(pause)
            }
            ReadError::Wait(pause, words) => {
                let remark = format!("answers and receipts do not come: {words}");
                self.dispatcher.remark(RouteRemark::WhileUp(&remark));
                tracing::warn!(route, error = words, "answers and receipts cannot be read for now");
                Some(pause.max(backoff.wait(super::chance())))
            }
            ReadError::NoPosition => {
                tracing::warn!(
                    route,
                    "the network does not know the position any more: reading begins with now"
                );
                match self.connection.read(None, Duration::ZERO).await {
                    Ok(batch) => drop(self.position.save(&batch.position).await),
                    Err(error) => tracing::debug!(route, ?error, "there is no new position yet"),
                }
                Some(backoff.wait(super::chance()))
            }
        }
    }

    /// Notes a batch, and keeps its position when everything of it is on disk. Otherwise it comes again.
    async fn take(&self, batch: ReadBatch, from: Option<String>, stop: &mut Stop) -> Option<String> {
        if let Some(warning) = &batch.warning {
            tracing::warn!(route = self.dispatcher.route(), warning, "the route has trouble");
            self.dispatcher.remark(RouteRemark::WhileUp(warning));
        }
        if !self.is_durable(&batch, stop).await {
            return from;
        }
        for acknowledgement in &batch.acknowledgements {
            self.connection.acknowledge(acknowledgement).await;
        }
        if batch.position.is_empty() || Some(&batch.position) == from.as_ref() {
            return from;
        }
        if let Err(error) = self.position.save(&batch.position).await {
            tracing::warn!(route = self.dispatcher.route(), %error, "the position in the network's events is not kept: after a restart some are read again");
        }
        Some(batch.position)
    }

    async fn is_durable(&self, batch: &ReadBatch, stop: &mut Stop) -> bool {
        let listener = self.dispatcher.listen();
        let tickets: Vec<_> = batch.outcomes.iter().map(|outcome| self.dispatcher.note(outcome)).collect();
        let Some(last) = tickets.last() else { return true };
        while !self.dispatcher.is_durable(*last) {
            tokio::select! {
                () = listener.notified() => {}
                () = stop.wait() => return self.dispatcher.is_durable(*last),
            }
        }
        true
    }
}

/// Waits, unless it is told to stop.
async fn wait(pause: Duration, stop: &mut Stop) {
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = stop.wait() => {}
    }
}
