//! Worker of a session: its bind, its requests, its deliveries.

use super::batch::{PendingSubmit, SubmitBatch, status_of};
use super::binding::{BindVerdict, BoundSession};
use super::dlr_delivery::DlrDelivery;
use super::door::SmppDoorState;
use super::ids::IdText;
use super::meter::{self, AnswerTally};
use super::places::ConnectionPlaces;
use super::query_cancel::{MessageQueries, OwnedCancel, OwnedQuery, OwnedReplace, Queried};
use super::submit_sm::{IntakeEncoder, Scratch, SubmitSmDraft};
use engine::EngineError;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use net::Worker;
use records::{MessageId, Timestamp};
use smpp::Status;
use smpp::pdu::{
    Address, Destination, Pdu, QuerySmResp, Refused, RefusedBuf, SubmitMulti, SubmitMultiResp, Version,
};
use smpp::session::{Event, NoResponse, Reason, Session};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Batches and other requests with the engine at a time; the client is not read from over that.
const WORK_MAX: usize = 1_000;
/// Interval of the log line that messages cannot be accepted.
const LOG_ERROR_EVERY: Duration = Duration::from_secs(10);
/// `congestion_state` while the engine is behind.
const CONGESTED: u8 = 100;
/// Empty batches kept for their memory.
const SPARE_MAX: usize = 2;

/// A session's worker.
pub(super) struct SmppConnection {
    pub(super) door: Arc<SmppDoorState>,
    pub(super) peer: SocketAddr,
    places: ConnectionPlaces,
    verdict: Option<BindVerdict>,
    bound: Option<BoundSession>,
    dlr_delivery: Option<DlrDelivery>,
    wake_up: WakeUp,
    writer: SubmitWriter,
    requests: EngineRequests,
    refusals: Vec<(u32, Status)>,
    tally: AnswerTally,
    /// The last time an error of the engine was logged.
    error_logged: Option<Instant>,
    end: SessionEnd,
}

/// Values that are looked up at most once a wake-up.
#[derive(Default)]
struct WakeUp {
    /// The time of day.
    at: Option<Timestamp>,
    /// The engine is behind.
    behind: Option<bool>,
}

/// The batch that is being filled, and the memory that writing uses again.
#[derive(Default)]
struct SubmitWriter {
    batch: SubmitBatch,
    spare: Vec<SubmitBatch>,
    scratch: Scratch,
}

/// Requests that the engine carries out for the session.
#[derive(Default)]
struct EngineRequests {
    /// Requests without their answers.
    outstanding: usize,
    work: FuturesUnordered<BoxFuture<'static, EngineCompletion>>,
    done: Vec<EngineCompletion>,
}

/// The causes for which a session ends, and its state on the way.
struct SessionEnd {
    stop: watch::Receiver<bool>,
    /// The connection never bound, and another one needs its place.
    evicted: bool,
    /// The session takes no new requests of ours any more.
    unbinding: bool,
    reason: Option<Reason>,
}

/// A request that the engine has carried out.
enum EngineCompletion {
    Accepted(Instant, SubmitBatch, Result<MessageId, EngineError>),
    Steered(u32, Result<(), Status>),
    Queried(u32, Result<Queried, Status>),
}

impl SubmitWriter {
    /// Takes the batch that was filled; an empty one is in its place.
    fn take_batch(&mut self) -> SubmitBatch {
        std::mem::replace(&mut self.batch, self.spare.pop().unwrap_or_default())
    }

    /// Keeps the memory of a batch that was answered.
    fn put_back(&mut self, batch: SubmitBatch) {
        if self.spare.len() < SPARE_MAX {
            self.spare.push(batch.cleared());
        }
    }
}

impl EngineRequests {
    /// Begins a job at once. One that only has to reach the system is done by that, and is answered with the
    /// same write.
    fn start(&mut self, mut job: BoxFuture<'static, EngineCompletion>) {
        match job.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => self.done.push(done),
            Poll::Pending => self.work.push(job),
        }
    }

    /// Collects finished jobs, also for a connection that always has input and so never waits.
    fn collect(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(done)) = self.work.poll_next_unpin(&mut context) {
            self.done.push(done);
        }
    }
}

impl SmppConnection {
    pub(super) fn new(
        door: Arc<SmppDoorState>,
        peer: SocketAddr,
        places: ConnectionPlaces,
        stop: watch::Receiver<bool>,
    ) -> SmppConnection {
        SmppConnection {
            door,
            peer,
            places,
            verdict: None,
            bound: None,
            dlr_delivery: None,
            wake_up: WakeUp::default(),
            writer: SubmitWriter::default(),
            requests: EngineRequests::default(),
            refusals: Vec::new(),
            tally: AnswerTally::default(),
            error_logged: None,
            end: SessionEnd { stop, evicted: false, unbinding: false, reason: None },
        }
    }

    /// The connection is gone, and all events are handled.
    pub(super) fn close(mut self) {
        if let Some(dlr_delivery) = self.dlr_delivery.take() {
            dlr_delivery.close();
        }
        let Some(bound) = &self.bound else { return };
        self.tally.flush(&bound.client.meter);
        let why = self.end.reason.map_or("the connection broke", Reason::text);
        tracing::info!(client = bound.client.settings.system_id, peer = %self.peer, why, "unbound");
    }

    /// Binds the session, or refuses its bind, once that is due.
    fn settle_bind(&mut self, session: &mut Session, now: Instant) {
        let Some(verdict) = self.verdict.take_if(|verdict| verdict.due <= now) else { return };
        let status = match verdict.accepted {
            Err(status) => {
                let _ = session.refuse_bind(status, now);
                status
            }
            Ok(accepted) => match session.accept_bind(self.door.config.system_id.as_bytes(), now) {
                Ok(()) => {
                    let since = self.at();
                    self.begin(accepted.begin(session, self.peer, since), session);
                    Status::ROK
                }
                Err(error) => {
                    tracing::error!(%error, peer = %self.peer, "a bind could not be answered");
                    session.abort(now);
                    Status::RSYSERR
                }
            },
        };
        meter::bind(status);
    }

    fn begin(&mut self, bound: BoundSession, session: &mut Session) {
        session.set_window(bound.client.settings.window);
        self.places.bind();
        if bound.mode.receives() {
            match bound.client.client_queue(&*self.door.bus) {
                Ok(client_queue) => {
                    self.dlr_delivery =
                        Some(DlrDelivery::new(client_queue, bound.style, self.door.config.response));
                }
                Err(error) => {
                    let client = bound.client.settings.system_id.as_str();
                    tracing::error!(client, %error, "the queue of a client's events cannot be opened");
                }
            }
        }
        self.bound = Some(bound);
    }

    fn at(&mut self) -> Timestamp {
        *self.wake_up.at.get_or_insert_with(|| (self.door.clock)())
    }

    /// Refuses a request when there are too many at a time, or they come too fast.
    fn throttled(&mut self, messages: u32, now: Instant) -> Result<(), Status> {
        let Some(bound) = &self.bound else { return Err(Status::RINVBNDSTS) };
        if self.requests.outstanding >= bound.client.settings.window {
            return Err(Status::RTHROTTLED);
        }
        if messages == 0 {
            return Ok(());
        }
        if *self.wake_up.behind.get_or_insert_with(|| self.door.intake.is_behind()) {
            return Err(Status::RTHROTTLED);
        }
        if bound.client.may_take(messages, now) { Ok(()) } else { Err(Status::RTHROTTLED) }
    }

    fn refuse(&mut self, sequence: u32, status: Status, messages: u64) {
        if let Some(bound) = &self.bound {
            self.tally.add(status, messages, &bound.client.meter);
        }
        self.refusals.push((sequence, status));
    }

    /// Writes one message into the batch.
    fn write(&mut self, draft: &SubmitSmDraft<'_>) -> Result<(), Status> {
        let at = self.at();
        let Some(bound) = &self.bound else { return Err(Status::RINVBNDSTS) };
        let settings = &bound.client.settings;
        let SubmitWriter { batch, scratch, .. } = &mut self.writer;
        let mut encoder = IntakeEncoder { client: settings, intake: &*self.door.intake, at, scratch };
        encoder.write(draft, &mut batch.octets)?;
        batch.close_record();
        Ok(())
    }

    fn take_one(&mut self, sequence: u32, draft: &SubmitSmDraft<'_>, now: Instant) {
        let first = self.writer.batch.len();
        match self.throttled(1, now).and_then(|()| self.write(draft)) {
            Ok(()) => {
                self.requests.outstanding += 1;
                self.writer.batch.submits.push(PendingSubmit { sequence, first, refused: None });
            }
            Err(status) => self.refuse(sequence, status, 1),
        }
    }

    /// Each destination is a message; all are answered together.
    fn take_many(&mut self, sequence: u32, pdu: &SubmitMulti<'_>, now: Instant) {
        let count = pdu.destinations.count() as u32;
        if let Err(status) = self.throttled(count, now) {
            return self.refuse(sequence, status, u64::from(count));
        }
        let first = self.writer.batch.len();
        let mut refused = RefusedBuf::new();
        let mut why = None;
        for destination in pdu.destinations.iter() {
            let (address, result) = match destination {
                // There are no lists of ours to choose from.
                Destination::List(name) => (Address::new(0, 0, name), Err(Status::RINVDLNAME)),
                Destination::Sme(address) => {
                    let place = (self.writer.batch.len() - first) as u8;
                    (address, self.write(&SubmitSmDraft::of_multi(pdu, address, place)))
                }
            };
            if let Err(status) = result {
                why.get_or_insert(status);
                // Not more than there were destinations, and as long as those.
                let _ = refused.push(Refused { destination: address, status });
            }
        }
        let taken = self.writer.batch.len() - first;
        match why {
            Some(status) if taken == 0 => self.refuse(sequence, status, u64::from(count)),
            why => {
                if let (Some(status), Some(bound)) = (why, &self.bound) {
                    self.tally.add(status, u64::from(count - taken), &bound.client.meter);
                }
                self.requests.outstanding += 1;
                let refused = why.map(|_| Box::new(refused));
                self.writer.batch.submits.push(PendingSubmit { sequence, first, refused });
            }
        }
    }

    /// query_sm, cancel_sm, replace_sm, submit_multi, and the broadcasts.
    fn request(&mut self, sequence: u32, pdu: &Pdu<'_>, now: Instant) {
        if let Pdu::SubmitMulti(multi) = pdu {
            return self.take_many(sequence, multi, now);
        }
        if let Err(status) = self.throttled(0, now) {
            return self.refusals.push((sequence, status));
        }
        let at = self.at();
        let Some(bound) = &self.bound else { return };
        let queries = MessageQueries::new(
            Arc::clone(&self.door.intake),
            &bound.client.settings,
            self.door.intake_topic.head(),
            at,
        );
        let job: BoxFuture<'static, EngineCompletion> = match pdu {
            Pdu::QuerySm(pdu) => {
                let request = OwnedQuery::from(pdu);
                Box::pin(async move { EngineCompletion::Queried(sequence, queries.query(request).await) })
            }
            Pdu::CancelSm(pdu) => {
                let request = OwnedCancel::from(pdu);
                Box::pin(async move { EngineCompletion::Steered(sequence, queries.cancel(request).await) })
            }
            Pdu::ReplaceSm(pdu) => {
                let request = OwnedReplace::from(pdu);
                Box::pin(async move { EngineCompletion::Steered(sequence, queries.replace(request).await) })
            }
            other => {
                let status = without_broadcast(other, bound.version);
                return self.refusals.push((sequence, status));
            }
        };
        self.requests.outstanding += 1;
        self.requests.work.push(job);
    }

    /// Hands the submits of this wake-up to the engine as one unit.
    fn hand_over(&mut self) {
        if self.writer.batch.is_empty() {
            return;
        }
        let batch = self.writer.take_batch();
        let (intake, begun) = (Arc::clone(&self.door.intake), Instant::now());
        self.requests.start(Box::pin(async move {
            let (batch, result) = batch.accept(intake).await;
            EngineCompletion::Accepted(begun, batch, result)
        }));
    }

    fn answer(&mut self, session: &mut Session, now: Instant) {
        // An answer fails only if the session has ended.
        for (sequence, status) in self.refusals.drain(..) {
            let _ = session.respond(sequence, status, b"", now);
        }
        for done in std::mem::take(&mut self.requests.done) {
            match done {
                EngineCompletion::Accepted(begun, batch, result) => {
                    if let Some(bound) = &self.bound {
                        bound.client.meter.accepted_in(begun.elapsed());
                    }
                    self.answer_batch(session, batch, result, now);
                }
                EngineCompletion::Steered(sequence, result) => {
                    self.requests.outstanding -= 1;
                    let _ = session.respond(sequence, result.err().unwrap_or(Status::ROK), b"", now);
                }
                EngineCompletion::Queried(sequence, result) => {
                    self.requests.outstanding -= 1;
                    let _ = match result {
                        Ok(queried) => session.respond_with(sequence, Status::ROK, &queried.body(), now),
                        // With its fields: some libraries read them with any status (Cloudhopper 5).
                        Err(status) => session.respond_with(sequence, status, &QuerySmResp::default(), now),
                    };
                }
            }
        }
    }

    fn answer_batch(
        &mut self,
        session: &mut Session,
        batch: SubmitBatch,
        result: Result<MessageId, EngineError>,
        now: Instant,
    ) {
        self.requests.outstanding -= batch.submits.len();
        let Some(bound) = &self.bound else { return };
        let messages = u64::from(batch.len());
        match result {
            Ok(first) => {
                self.tally.add(Status::ROK, messages, &bound.client.meter);
                for submit in &batch.submits {
                    let id = IdText::new(MessageId(first.0 + u64::from(submit.first)), bound.short_ids);
                    let _ = match &submit.refused {
                        None => session.respond(submit.sequence, Status::ROK, id.as_bytes(), now),
                        Some(refused) => {
                            let body = SubmitMultiResp {
                                message_id: id.as_bytes(),
                                refused: refused.as_list(),
                                ..SubmitMultiResp::default()
                            };
                            session.respond_with(submit.sequence, Status::ROK, &body, now)
                        }
                    };
                }
            }
            Err(error) => {
                let (client, status) = (&bound.client.settings.system_id, status_of(&error));
                // A client that goes on trying does not fill the log, nor the rest of the disk.
                if self.error_logged.is_none_or(|last| now.saturating_duration_since(last) >= LOG_ERROR_EVERY)
                {
                    self.error_logged = Some(now);
                    tracing::error!(client, %error, messages, "messages could not be accepted");
                }
                self.tally.add(status, messages, &bound.client.meter);
                for submit in &batch.submits {
                    let _ = session.respond(submit.sequence, status, b"", now);
                }
            }
        }
        self.writer.put_back(batch);
    }

    /// The door closes, these settings no longer hold, or another connection needs the place.
    fn must_end(&self) -> bool {
        let ended = self.bound.as_ref().is_some_and(|bound| *bound.ended.borrow());
        self.end.evicted || ended || *self.end.stop.borrow()
    }
}

/// The status of a request for a cell broadcast (SMPP 5.0, 4.4): there is no route for them.
fn without_broadcast(pdu: &Pdu<'_>, version: Version) -> Status {
    match pdu {
        // Before 5.0 there is no such command.
        _ if version < Version::V5_0 => Status::RINVCMDID,
        Pdu::BroadcastSm(_) => Status::RBCASTFAIL,
        Pdu::QueryBroadcastSm(_) => Status::RBCASTQUERYFAIL,
        Pdu::CancelBroadcastSm(_) => Status::RBCASTCANCELFAIL,
        _ => Status::RINVCMDID,
    }
}

impl Worker<Session> for SmppConnection {
    fn handle(&mut self, event: Event<'_>, now: Instant) {
        match event {
            Event::Submit { sequence, pdu } => self.take_one(sequence, &SubmitSmDraft::of_submit(&pdu), now),
            Event::Data { sequence, pdu } => self.take_one(sequence, &SubmitSmDraft::of_data(&pdu), now),
            Event::Request { sequence, pdu } => self.request(sequence, &pdu, now),
            Event::Bind { bind } => self.verdict = Some(self.judge(&bind, now)),
            Event::Response(response) => {
                if let (Some(dlr_delivery), Some(bound)) = (&mut self.dlr_delivery, &self.bound) {
                    dlr_delivery.answered(
                        response.token,
                        response.status,
                        response.late,
                        &bound.client.meter,
                        now,
                    );
                }
            }
            Event::Unanswered(unanswered) => {
                if let (Some(dlr_delivery), Some(bound)) = (&mut self.dlr_delivery, &self.bound) {
                    let ended = unanswered.fate != NoResponse::TimedOut;
                    dlr_delivery.unanswered(unanswered.token, ended, &bound.client.meter, now);
                }
            }
            Event::Refused(refused) => {
                meter::refused(refused.status);
                tracing::debug!(peer = %self.peer, ?refused, "a client sent an invalid PDU");
            }
            Event::Nack { status, sequence } => {
                tracing::info!(peer = %self.peer, %status, sequence, "a client answered with generic_nack");
            }
            Event::Unbinding => self.end.unbinding = true,
            Event::Closed(reason) => self.end.reason = Some(reason),
            // An ESME's concern.
            Event::Bound { .. }
            | Event::BindRefused { .. }
            | Event::Deliver { .. }
            | Event::Alert(_)
            | Event::Outbind(_) => {}
        }
    }

    fn fill(&mut self, session: &mut Session, now: Instant, writable: bool) {
        self.places.note_writable(writable, now);
        self.settle_bind(session, now);
        self.hand_over();
        self.requests.collect();
        if let Some(behind) = self.wake_up.behind.take() {
            // Sent to clients of 5.0 (5.0, 4.8.4.18).
            session.set_congestion(behind.then_some(CONGESTED));
        }
        self.answer(session, now);
        if !self.end.unbinding && self.must_end() {
            self.end.unbinding = true;
            session.unbind(now);
        }
        if writable && !self.end.unbinding && self.dlr_delivery.is_some() {
            let at = self.at();
            if let (Some(dlr_delivery), Some(bound)) = (&mut self.dlr_delivery, &self.bound) {
                dlr_delivery.deliver(session, &bound.client.meter, at, now);
            }
        }
        self.wake_up.at = None;
        if let Some(bound) = &self.bound {
            self.tally.flush(&bound.client.meter);
            bound.entry.set_waiting(self.requests.outstanding);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let verdict = self.verdict.as_ref().map(|verdict| verdict.due);
        let dlr_delivery = self.dlr_delivery.as_ref().and_then(DlrDelivery::deadline);
        [verdict, dlr_delivery, self.places.deadline()].into_iter().flatten().min()
    }

    fn woken(&mut self) -> impl Future<Output = ()> + Send {
        let SmppConnection { requests, dlr_delivery, bound, places, end, .. } = self;
        let EngineRequests { work, done, .. } = requests;
        let SessionEnd { stop, evicted, unbinding, .. } = end;
        async move {
            let ending = *unbinding;
            tokio::select! {
                Some(one) = work.next() => done.push(one),
                () = deliver_when_ready(dlr_delivery.as_mut()), if !ending => {}
                () = ends(bound.as_mut()), if !ending => {}
                () = turns_true(stop), if !ending => {}
                () = places.sent_out(), if !ending => *evicted = true,
                else => std::future::pending().await,
            }
        }
    }

    fn wants_input(&self) -> bool {
        // A client that waits for a refusal is not read from meanwhile.
        self.verdict.is_none() && self.requests.work.len() < WORK_MAX
    }
}

async fn deliver_when_ready(dlr_delivery: Option<&mut DlrDelivery>) {
    match dlr_delivery {
        Some(dlr_delivery) => dlr_delivery.woken().await,
        None => std::future::pending().await,
    }
}

async fn ends(bound: Option<&mut BoundSession>) {
    match bound {
        Some(bound) => turns_true(&mut bound.ended).await,
        None => std::future::pending().await,
    }
}

/// Resolves when it is true; never if its sender is gone.
async fn turns_true(flag: &mut watch::Receiver<bool>) {
    if flag.wait_for(|flag| *flag).await.is_err() {
        std::future::pending().await
    }
}
