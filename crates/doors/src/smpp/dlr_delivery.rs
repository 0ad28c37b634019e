//! Delivery of a client's events by one of its sessions, acknowledged when the client answers.

use super::client_queue::{ClientQueue, LeasedEvent};
use super::deliver_sm::{DeliverSmParts, DeliverStyle};
use super::meter::SmppMeter;
use futures_util::future::BoxFuture;
use pace::Backoff;
use records::{ClientEvent, Timestamp};
use smpp::Status;
use smpp::session::{SendError, Session};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Records taken at a time: the client's other sessions get theirs.
const TAKEN_AT_ONCE: usize = 64;
/// Events that a client did not take for so long are dropped, in seconds.
const KEPT_S: i64 = 7 * 86_400;
/// The first wait before an event is delivered again; it doubles each time …
const RETRY_FIRST: Duration = Duration::from_secs(1);
/// … up to this.
const RETRY_MAX: Duration = Duration::from_secs(300);
/// After so many refusals for now of one kind of event in a row the session waits a little with that kind.
const REFUSALS_IN_A_ROW: u32 = 10;
/// The longest of those waits.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Of a token: it is one part of several.
const SEVERAL: u64 = 1 << 63;

/// The outgoing half of a session.
pub(super) struct DlrDelivery {
    client_queue: Arc<ClientQueue>,
    style: DeliverStyle,
    lease: Duration,
    /// Another session left something.
    left_over: watch::Receiver<u64>,
    /// Taken, and not begun.
    taken: VecDeque<LeasedEvent>,
    /// Begun: the window was full in the middle of its parts.
    current: Option<DeliverSmInProgress>,
    /// Without their answers.
    flights: HashMap<u64, Flight>,
    ready: Option<BoxFuture<'static, ()>>,
    /// There is more, but the client's other sessions come first.
    more: bool,
    /// By kind of event: a client that declines receipts gets messages from people, and the reverse.
    paces: [DeliveryPace; KINDS],
    /// The queue could not be read.
    unreadable_until: Option<Instant>,
}

/// Kinds of events.
const KINDS: usize = 2;
const RECEIPTS: usize = 0;
const INBOUND: usize = 1;

/// How fast events of a kind are delivered to a client that refuses some for now.
struct DeliveryPace {
    refusals: u32,
    pause: Backoff,
    paused_until: Option<Instant>,
}

impl DeliveryPace {
    fn new() -> DeliveryPace {
        DeliveryPace { refusals: 0, pause: Backoff::new(RETRY_FIRST, PAUSE_MAX), paused_until: None }
    }

    /// The rest of the pause.
    fn left(&self, now: Instant) -> Option<Duration> {
        self.paused_until?.checked_duration_since(now).filter(|left| !left.is_zero())
    }

    /// A client that refuses for now is not sent the next event at once.
    fn count(&mut self, result: DeliverResult, now: Instant) {
        match result {
            DeliverResult::Accepted | DeliverResult::Refused => {
                self.refusals = 0;
                self.pause.reset();
            }
            // More refusals of deliveries on their way may arrive while the session waits.
            DeliverResult::NotNow if self.left(now).is_some() => {}
            DeliverResult::NotNow => {
                self.refusals += 1;
                if self.refusals >= REFUSALS_IN_A_ROW {
                    self.refusals = 0;
                    self.paused_until = Some(now + self.pause.wait(1.0));
                }
            }
            DeliverResult::Nothing => {}
        }
    }
}

struct DeliverSmInProgress {
    index: u64,
    kind: usize,
    redelivered: u32,
    deliver_sm: DeliverSmParts,
    next: usize,
}

/// A record on its way.
struct Flight {
    kind: usize,
    redelivered: u32,
    /// Parts without an answer, the ones not sent yet included.
    left: usize,
    worst: DeliverResult,
}

/// The client's answer, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DeliverResult {
    Accepted,
    Refused,
    NotNow,
    /// The session ended first.
    Nothing,
}

impl DlrDelivery {
    /// `response`: the time that the client has to answer.
    pub(super) fn new(
        client_queue: Arc<ClientQueue>,
        style: DeliverStyle,
        response: Duration,
    ) -> DlrDelivery {
        DlrDelivery {
            left_over: client_queue.enter(),
            client_queue,
            style,
            // Half of it is for the answer, and some time beside that.
            lease: (response + Duration::from_secs(15)) * 2,
            taken: VecDeque::new(),
            current: None,
            flights: HashMap::new(),
            ready: None,
            more: false,
            paces: [DeliveryPace::new(), DeliveryPace::new()],
            unreadable_until: None,
        }
    }

    /// No event may be delivered before.
    fn paused_until(&self, now: Instant) -> Option<Instant> {
        let untils = self.paces.each_ref().map(|pace| pace.paused_until.filter(|until| *until > now));
        let of_all_kinds = match untils {
            [Some(one), Some(other)] => Some(one.min(other)),
            _ => None,
        };
        of_all_kinds.max(self.unreadable_until.filter(|until| *until > now))
    }

    /// Delivers as many events as the window takes.
    pub(super) fn deliver(&mut self, session: &mut Session, meter: &SmppMeter, at: Timestamp, now: Instant) {
        self.more = false;
        for pace in self.paces.iter_mut().filter(|pace| pace.left(now).is_none()) {
            pace.paused_until = None;
        }
        if self.paused_until(now).is_some() {
            return;
        }
        self.unreadable_until = None;
        if self.is_idle() {
            return;
        }
        let mut taken = false;
        while session.free_slots() > 0 {
            if self.current.is_none() && self.taken.is_empty() {
                if std::mem::replace(&mut taken, true) {
                    self.more = true;
                    return;
                }
                if !self.take(session.free_slots(), meter, now) {
                    return;
                }
            }
            let Some(sending) = self.current.take().or_else(|| self.open(meter, at, now)) else { continue };
            if !self.send(session, sending, meter, now) {
                return;
            }
        }
    }

    /// Nothing is there, and nothing has come since.
    fn is_idle(&mut self) -> bool {
        let Some(ready) = &mut self.ready else { return false };
        if self.left_over.has_changed().unwrap_or(false) {
            return false;
        }
        // Polled here too: a connection that always has input never waits for anything else.
        let pending = ready.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
        if !pending {
            self.ready = None;
        }
        pending && self.current.is_none() && self.taken.is_empty()
    }

    /// Takes records; false if there are none.
    fn take(&mut self, max: usize, meter: &SmppMeter, now: Instant) -> bool {
        self.left_over.mark_unchanged();
        match self.client_queue.take(max.min(TAKEN_AT_ONCE), self.lease, now) {
            Ok(records) if records.is_empty() => {
                self.ready = Some(self.client_queue.ready());
                false
            }
            Ok(records) => {
                self.taken.extend(records);
                true
            }
            Err(error) => {
                tracing::error!(%error, "the queue of a client's events cannot be read");
                meter.deliver_word("unreadable");
                self.unreadable_until = Some(now + PAUSE_MAX);
                false
            }
        }
    }

    /// The next record as deliver_sm; a record that cannot be one is acknowledged, and one of a kind that
    /// waits is taken again after that.
    fn open(&mut self, meter: &SmppMeter, at: Timestamp, now: Instant) -> Option<DeliverSmInProgress> {
        let LeasedEvent { index, redelivered, octets } = self.taken.pop_front()?;
        let event = ClientEvent::decode(&octets);
        let (kind, since) = match &event {
            Ok(ClientEvent::Status(status_event)) => (RECEIPTS, status_event.at),
            Ok(ClientEvent::Receipt(of)) => (RECEIPTS, of.status.at),
            Ok(ClientEvent::Inbound(inbound)) => (INBOUND, inbound.at),
            Err(_) => (RECEIPTS, at),
        };
        if let Some(left) = self.paces[kind].left(now).filter(|_| event.is_ok()) {
            self.client_queue.retry_after(index, left);
            return None;
        }
        let word = if at.us_since(since) > KEPT_S * 1_000_000 { "old" } else { "unreadable" };
        let deliver_sm = match event {
            Ok(event) if word != "old" => {
                DeliverSmParts::of(&event, self.style, index as u16).map_err(|error| error.to_string())
            }
            Ok(_) => Err(format!("it is older than {KEPT_S} s")),
            Err(error) => Err(error.to_string()),
        };
        match deliver_sm {
            Ok(deliver_sm) => Some(DeliverSmInProgress { index, kind, redelivered, deliver_sm, next: 0 }),
            Err(why) => {
                tracing::warn!(index, why, "an event is not delivered to a client");
                meter.deliver_word(word);
                self.client_queue.ack(index);
                None
            }
        }
    }

    /// Sends the parts there is room for; false when the session takes no more now.
    fn send(
        &mut self,
        session: &mut Session,
        mut sending: DeliverSmInProgress,
        meter: &SmppMeter,
        now: Instant,
    ) -> bool {
        let several = sending.deliver_sm.parts() > 1;
        let token = sending.index | if several { SEVERAL } else { 0 };
        while let Some(pdu) = sending.deliver_sm.pdu(sending.next) {
            match session.deliver(&pdu, token, now) {
                Ok(_) => {
                    sending.next += 1;
                    let fresh = Flight {
                        kind: sending.kind,
                        redelivered: sending.redelivered,
                        left: sending.deliver_sm.parts(),
                        worst: DeliverResult::Accepted,
                    };
                    self.flights.entry(sending.index).or_insert(fresh);
                }
                Err(SendError::Encode(error)) => {
                    tracing::warn!(index = sending.index, %error, "an event is not delivered to a client");
                    meter.deliver_word("unreadable");
                    self.flights.remove(&sending.index);
                    self.client_queue.ack(sending.index);
                    return true;
                }
                Err(_) => {
                    self.current = Some(sending);
                    return false;
                }
            }
        }
        true
    }

    /// The client answered.
    pub(super) fn answered(
        &mut self,
        token: u64,
        status: Status,
        late: bool,
        meter: &SmppMeter,
        now: Instant,
    ) {
        meter.deliver(status);
        if late {
            // The delivery counted as unanswered, and may be repeated; acknowledge it if that can still be
            // prevented.
            if status.is_ok() && token & SEVERAL == 0 {
                self.client_queue.ack(token);
            }
            return;
        }
        let result = match status {
            Status::ROK => DeliverResult::Accepted,
            Status::RX_T_APPN | Status::RTHROTTLED | Status::RMSGQFUL | Status::RSYSERR => {
                DeliverResult::NotNow
            }
            _ => DeliverResult::Refused,
        };
        self.settle(token, result, now);
    }

    /// The client did not answer in time, or the session is over.
    pub(super) fn unanswered(&mut self, token: u64, session_ended: bool, meter: &SmppMeter, now: Instant) {
        if !session_ended {
            meter.deliver_word("timeout");
        }
        self.settle(token, if session_ended { DeliverResult::Nothing } else { DeliverResult::NotNow }, now);
    }

    fn settle(&mut self, token: u64, result: DeliverResult, now: Instant) {
        let index = token & !SEVERAL;
        let Some(flight) = self.flights.get_mut(&index) else { return };
        self.paces[flight.kind].count(result, now);
        flight.worst = flight.worst.max(result);
        flight.left = flight.left.saturating_sub(1);
        if flight.left > 0 {
            return;
        }
        let Flight { redelivered, worst, .. } = *flight;
        self.flights.remove(&index);
        match worst {
            DeliverResult::Accepted | DeliverResult::Refused => self.client_queue.ack(index),
            DeliverResult::NotNow => {
                let wait = RETRY_FIRST.saturating_mul(1 << redelivered.min(16)).min(RETRY_MAX);
                self.client_queue.retry_after(index, wait);
            }
            DeliverResult::Nothing => self.client_queue.release(index),
        }
    }

    /// When [`DlrDelivery::deliver`] wants to be called at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let kinds = self.paces.iter().filter_map(|pace| pace.paused_until);
        kinds.chain(self.unreadable_until).min()
    }

    /// Resolves when there is an event to deliver.
    pub(super) async fn woken(&mut self) {
        if self.more {
            return;
        }
        match &mut self.ready {
            Some(ready) if self.unreadable_until.is_none() => {
                tokio::select! {
                    () = ready => self.ready = None,
                    Ok(()) = self.left_over.changed() => self.ready = None,
                    else => std::future::pending().await,
                }
            }
            _ => std::future::pending().await,
        }
    }

    /// The session is over: other sessions get its events.
    pub(super) fn close(mut self) {
        let taken = self.taken.drain(..).map(|taken| taken.index);
        let begun = self.current.take().map(|sending| sending.index);
        let all: Vec<u64> = taken.chain(begun).chain(self.flights.drain().map(|(index, _)| index)).collect();
        for index in all {
            self.client_queue.release(index);
        }
        self.client_queue.leave();
    }
}
