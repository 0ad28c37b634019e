//! One session: who binds, what it hands in, what it is told.

use super::batch::{Ask, SubmitBatch, status_of};
use super::bind_throttle::UnboundPlace;
use super::binding::{BindVerdict, Bound};
use super::dlr_delivery::DlrDelivery;
use super::door::SmppDoorState;
use super::ids::IdText;
use super::meter::{self, AnswerTally};
use super::query_cancel::{Asker, OwnedCancel, OwnedQuery, OwnedReplace, Queried};
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
/// That messages cannot be taken is said so often.
const COMPLAIN_EVERY: Duration = Duration::from_secs(10);
/// `congestion_state` while the engine is behind.
const CONGESTED: u8 = 100;
/// Empty batches kept for their memory.
const SPARE_MAX: usize = 2;

/// A session's worker.
pub(super) struct SmppConnection {
    pub(super) door: Arc<SmppDoorState>,
    pub(super) peer: SocketAddr,
    stop: watch::Receiver<bool>,
    /// Until it is bound.
    pub(super) place: Option<UnboundPlace>,
    sent_out: bool,
    pub(super) verdict: Option<BindVerdict>,
    pub(super) bound: Option<Bound>,
    telling: Option<DlrDelivery>,
    /// The session takes no new requests of ours any more.
    unbinding: bool,
    /// This wake-up's time of day, once it was asked for.
    at: Option<Timestamp>,
    /// Whether the engine is behind, asked once a wake-up.
    behind: Option<bool>,
    /// Requests without their answers.
    outstanding: usize,
    batch: SubmitBatch,
    spare: Vec<SubmitBatch>,
    refusals: Vec<(u32, Status)>,
    work: FuturesUnordered<BoxFuture<'static, EngineCompletion>>,
    done: Vec<EngineCompletion>,
    scratch: Scratch,
    tally: AnswerTally,
    /// When it was last said that messages could not be taken.
    complained: Option<Instant>,
    pub(super) reason: Option<Reason>,
}

/// Something the engine has done for the session.
enum EngineCompletion {
    Accepted(Instant, SubmitBatch, Result<MessageId, EngineError>),
    Steered(u32, Result<(), Status>),
    Queried(u32, Result<Queried, Status>),
}

impl SmppConnection {
    pub(super) fn new(
        door: Arc<SmppDoorState>,
        peer: SocketAddr,
        place: UnboundPlace,
        stop: watch::Receiver<bool>,
    ) -> SmppConnection {
        SmppConnection {
            door,
            peer,
            stop,
            place: Some(place),
            sent_out: false,
            verdict: None,
            bound: None,
            telling: None,
            unbinding: false,
            at: None,
            behind: None,
            outstanding: 0,
            batch: SubmitBatch::default(),
            spare: Vec::new(),
            refusals: Vec::new(),
            work: FuturesUnordered::new(),
            done: Vec::new(),
            scratch: Scratch::default(),
            tally: AnswerTally::default(),
            complained: None,
            reason: None,
        }
    }

    /// The connection is gone, and all events are handled.
    pub(super) fn leave(mut self) {
        if let Some(telling) = self.telling.take() {
            telling.leave();
        }
        let Some(bound) = &self.bound else { return };
        self.tally.flush(&bound.client.meter);
        let why = self.reason.map_or("the connection broke", Reason::text);
        tracing::info!(client = bound.client.settings.system_id, peer = %self.peer, why, "unbound");
    }

    /// The session is bound, or its bind is refused, once the time for that has come.
    fn settle_bind(&mut self, session: &mut Session, now: Instant) {
        let Some(verdict) = self.verdict.take() else { return };
        let status = match verdict {
            BindVerdict::Refuse { due, .. } if due > now => {
                self.verdict = Some(verdict);
                return;
            }
            BindVerdict::Refuse { status, .. } => {
                let _ = session.refuse_bind(status, now);
                status
            }
            BindVerdict::Accept(accepted) => {
                match session.accept_bind(self.door.config.system_id.as_bytes(), now) {
                    Ok(()) => {
                        self.begin(accepted.begin(session, self.peer), session);
                        Status::ROK
                    }
                    Err(error) => {
                        tracing::error!(%error, peer = %self.peer, "a bind could not be answered");
                        session.abort(now);
                        Status::RSYSERR
                    }
                }
            }
        };
        meter::bind(status);
    }

    fn begin(&mut self, bound: Bound, session: &mut Session) {
        session.set_window(bound.client.settings.window);
        self.place = None;
        if bound.mode.receives() {
            match bound.client.client_queue(&*self.door.bus) {
                Ok(client_queue) => {
                    self.telling =
                        Some(DlrDelivery::new(client_queue, bound.style, self.door.config.response));
                }
                Err(error) => {
                    let client = bound.client.settings.system_id.as_str();
                    tracing::error!(client, %error, "what waits for a client cannot be opened");
                }
            }
        }
        self.bound = Some(bound);
    }

    fn at(&mut self) -> Timestamp {
        *self.at.get_or_insert_with(|| (self.door.clock)())
    }

    /// What a request is answered before anything is looked at: too many at a time, or too fast.
    fn throttled(&mut self, messages: u32, now: Instant) -> Result<(), Status> {
        let Some(bound) = &self.bound else { return Err(Status::RINVBNDSTS) };
        if self.outstanding >= bound.client.settings.window {
            return Err(Status::RTHROTTLED);
        }
        if messages == 0 {
            return Ok(());
        }
        if *self.behind.get_or_insert_with(|| self.door.intake.is_behind()) {
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
        let mut desk =
            IntakeEncoder { client: settings, intake: &*self.door.intake, at, scratch: &mut self.scratch };
        desk.write(draft, &mut self.batch.octets)?;
        self.batch.close_record();
        Ok(())
    }

    fn take_one(&mut self, sequence: u32, draft: &SubmitSmDraft<'_>, now: Instant) {
        let first = self.batch.len();
        match self.throttled(1, now).and_then(|()| self.write(draft)) {
            Ok(()) => {
                self.outstanding += 1;
                self.batch.asks.push(Ask { sequence, first, refused: None });
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
        let first = self.batch.len();
        let mut refused = RefusedBuf::new();
        let mut why = None;
        for destination in pdu.destinations.iter() {
            let (address, result) = match destination {
                // There are no lists of ours to choose from.
                Destination::List(name) => (Address::new(0, 0, name), Err(Status::RINVDLNAME)),
                Destination::Sme(address) => {
                    let place = (self.batch.len() - first) as u8;
                    (address, self.write(&SubmitSmDraft::of_multi(pdu, address, place)))
                }
            };
            if let Err(status) = result {
                why.get_or_insert(status);
                // Not more than there were destinations, and as long as those.
                let _ = refused.push(Refused { destination: address, status });
            }
        }
        let taken = self.batch.len() - first;
        match why {
            Some(status) if taken == 0 => self.refuse(sequence, status, u64::from(count)),
            why => {
                if let (Some(status), Some(bound)) = (why, &self.bound) {
                    self.tally.add(status, u64::from(count - taken), &bound.client.meter);
                }
                self.outstanding += 1;
                let refused = why.map(|_| Box::new(refused));
                self.batch.asks.push(Ask { sequence, first, refused });
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
        let asker = Asker::new(
            Arc::clone(&self.door.intake),
            &bound.client.settings,
            self.door.intake_topic.head(),
            at,
        );
        let job: BoxFuture<'static, EngineCompletion> = match pdu {
            Pdu::QuerySm(pdu) => {
                let asked = OwnedQuery::from(pdu);
                Box::pin(async move { EngineCompletion::Queried(sequence, asker.query(asked).await) })
            }
            Pdu::CancelSm(pdu) => {
                let asked = OwnedCancel::from(pdu);
                Box::pin(async move { EngineCompletion::Steered(sequence, asker.cancel(asked).await) })
            }
            Pdu::ReplaceSm(pdu) => {
                let asked = OwnedReplace::from(pdu);
                Box::pin(async move { EngineCompletion::Steered(sequence, asker.replace(asked).await) })
            }
            other => {
                let status = without_broadcast(other, bound.version);
                return self.refusals.push((sequence, status));
            }
        };
        self.outstanding += 1;
        self.work.push(job);
    }

    /// What this wake-up brought goes to the engine as one unit.
    fn hand_over(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let batch = std::mem::replace(&mut self.batch, self.spare.pop().unwrap_or_default());
        let (intake, begun) = (Arc::clone(&self.door.intake), Instant::now());
        let mut job: BoxFuture<'static, EngineCompletion> = Box::pin(async move {
            let (batch, result) = batch.accept(intake).await;
            EngineCompletion::Accepted(begun, batch, result)
        });
        // Begun at once; what only has to reach the system is done by that, and answered with the same write.
        match job.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => self.done.push(done),
            Poll::Pending => self.work.push(job),
        }
    }

    /// What the engine has done, also for a connection that always has input and so never waits.
    fn collect(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(done)) = self.work.poll_next_unpin(&mut context) {
            self.done.push(done);
        }
    }

    fn answer(&mut self, session: &mut Session, now: Instant) {
        // An answer fails only if the session has ended, and with it whoever waits.
        for (sequence, status) in self.refusals.drain(..) {
            let _ = session.respond(sequence, status, b"", now);
        }
        for done in std::mem::take(&mut self.done) {
            match done {
                EngineCompletion::Accepted(begun, batch, result) => {
                    if let Some(bound) = &self.bound {
                        bound.client.meter.accepted_in(begun.elapsed());
                    }
                    self.answer_batch(session, batch, result, now);
                }
                EngineCompletion::Steered(sequence, result) => {
                    self.outstanding -= 1;
                    let _ = session.respond(sequence, result.err().unwrap_or(Status::ROK), b"", now);
                }
                EngineCompletion::Queried(sequence, result) => {
                    self.outstanding -= 1;
                    let _ = match result {
                        Ok(queried) => session.respond_with(sequence, Status::ROK, &queried.body(), now),
                        // With its fields: some libraries read them whatever the status is (Cloudhopper 5).
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
        self.outstanding -= batch.asks.len();
        let Some(bound) = &self.bound else { return };
        let messages = u64::from(batch.len());
        match result {
            Ok(first) => {
                self.tally.add(Status::ROK, messages, &bound.client.meter);
                for ask in &batch.asks {
                    let id = IdText::new(MessageId(first.0 + u64::from(ask.first)), bound.short_ids);
                    let _ = match &ask.refused {
                        None => session.respond(ask.sequence, Status::ROK, id.as_bytes(), now),
                        Some(refused) => {
                            let body = SubmitMultiResp {
                                message_id: id.as_bytes(),
                                refused: refused.as_list(),
                                ..SubmitMultiResp::default()
                            };
                            session.respond_with(ask.sequence, Status::ROK, &body, now)
                        }
                    };
                }
            }
            Err(error) => {
                let (client, status) = (&bound.client.settings.system_id, status_of(&error));
                // A client that goes on trying does not fill the log, nor what is left of the disk.
                if self.complained.is_none_or(|last| now.saturating_duration_since(last) >= COMPLAIN_EVERY) {
                    self.complained = Some(now);
                    tracing::error!(client, %error, messages, "messages could not be taken");
                }
                self.tally.add(status, messages, &bound.client.meter);
                for ask in &batch.asks {
                    let _ = session.respond(ask.sequence, status, b"", now);
                }
            }
        }
        if self.spare.len() < SPARE_MAX {
            self.spare.push(batch.cleared());
        }
    }

    /// The door closes, or these settings no longer hold, or somebody else needs the room.
    fn must_end(&self) -> bool {
        let ended = self.bound.as_ref().is_some_and(|bound| *bound.ended.borrow());
        self.sent_out || ended || *self.stop.borrow()
    }
}

/// There is no route for cell broadcasts (SMPP 5.0, 4.4): what a client is answered that wants one.
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
                if let (Some(telling), Some(bound)) = (&mut self.telling, &self.bound) {
                    telling.answered(
                        response.token,
                        response.status,
                        response.late,
                        &bound.client.meter,
                        now,
                    );
                }
            }
            Event::Unanswered(unanswered) => {
                if let (Some(telling), Some(bound)) = (&mut self.telling, &self.bound) {
                    let ended = unanswered.fate != NoResponse::TimedOut;
                    telling.unanswered(unanswered.token, ended, &bound.client.meter, now);
                }
            }
            Event::Refused(refused) => {
                meter::refused(refused.status);
                tracing::debug!(peer = %self.peer, ?refused, "a client sent something that is no SMPP");
            }
            Event::Nack { status, sequence } => {
                tracing::info!(peer = %self.peer, %status, sequence, "a client did not understand us");
            }
            Event::Unbinding => self.unbinding = true,
            Event::Closed(reason) => self.reason = Some(reason),
            // An ESME's concern.
            Event::Bound { .. }
            | Event::BindRefused { .. }
            | Event::Deliver { .. }
            | Event::Alert(_)
            | Event::Outbind(_) => {}
        }
    }

    fn fill(&mut self, session: &mut Session, now: Instant, writable: bool) {
        self.settle_bind(session, now);
        self.hand_over();
        self.collect();
        if let Some(behind) = self.behind.take() {
            // Said to clients of 5.0 (5.0, 4.8.4.18).
            session.set_congestion(behind.then_some(CONGESTED));
        }
        self.answer(session, now);
        if !self.unbinding && self.must_end() {
            self.unbinding = true;
            session.unbind(now);
        }
        if writable && !self.unbinding && self.telling.is_some() {
            let at = self.at();
            if let (Some(telling), Some(bound)) = (&mut self.telling, &self.bound) {
                telling.tell(session, &bound.client.meter, at, now);
            }
        }
        self.at = None;
        if let Some(bound) = &self.bound {
            self.tally.flush(&bound.client.meter);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let verdict = match &self.verdict {
            Some(BindVerdict::Refuse { due, .. }) => Some(*due),
            _ => None,
        };
        let telling = self.telling.as_ref().and_then(DlrDelivery::deadline);
        [verdict, telling].into_iter().flatten().min()
    }

    fn woken(&mut self) -> impl Future<Output = ()> + Send {
        let SmppConnection { work, done, telling, bound, stop, place, sent_out, unbinding, .. } = self;
        async move {
            let ending = *unbinding;
            tokio::select! {
                Some(one) = work.next() => done.push(one),
                () = tell_when_ready(telling.as_mut()), if !ending => {}
                () = ends(bound.as_mut()), if !ending => {}
                () = turns_true(stop), if !ending => {}
                () = must_leave(place.as_ref()), if !ending => *sent_out = true,
                else => std::future::pending().await,
            }
        }
    }

    fn wants_input(&self) -> bool {
        // Who waits for a refusal is not read from meanwhile.
        self.verdict.is_none() && self.work.len() < WORK_MAX
    }
}

async fn tell_when_ready(telling: Option<&mut DlrDelivery>) {
    match telling {
        Some(telling) => telling.woken().await,
        None => std::future::pending().await,
    }
}

async fn ends(bound: Option<&mut Bound>) {
    match bound {
        Some(bound) => turns_true(&mut bound.ended).await,
        None => std::future::pending().await,
    }
}

async fn must_leave(place: Option<&UnboundPlace>) {
    match place {
        Some(place) => place.sent_out().await,
        None => std::future::pending().await,
    }
}

/// Resolves when it is true; never if nobody is left to say so.
async fn turns_true(flag: &mut watch::Receiver<bool>) {
    if flag.wait_for(|flag| *flag).await.is_err() {
        std::future::pending().await
    }
}
