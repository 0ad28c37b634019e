//! One session: what it is told, what it submits, what it answers.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use net::Worker;
use records::{AttemptResult, AttemptResultRef, Outcome};
use smpp::Status;
use smpp::pdu::{Bind, BindMode};
use smpp::session::{Event, NoResponse, Reason, Response, SendError, Session, Unanswered};
use tokio::sync::Notify;

use super::carrier::Carrier;
use super::carrier_message::CarrierMessage;
use super::config::SmsRoute;
use super::encode::{Prepared, Unsendable};
use super::flight::SubmitsInFlight;
use super::inbound::{Arrived, MoMessage, StoredPart};
use super::outcome::{SubmitVerdict, accepted, refused, verdict};
use super::pace::{RecentThrottling, THROTTLE_TRIES_MAX};
use super::submit::{Sending, SubmitComposer, submit};
use crate::context::Stop;
use crate::dispatcher::{Notes, RouteRemark};
use crate::journal::Ticket;

/// Requests of the carrier that wait to be answered: it is not read from over that.
const ANSWERS_MAX: usize = 4_000;

/// Something of the carrier's that is answered once it is on disk.
struct DeferredAnswer {
    sequence: u32,
    waits: Waits,
}

enum Waits {
    /// For an outcome; then these parts need not be kept any more.
    Noted(Ticket, Vec<String>),
    /// For a part of a message.
    Stored(StoredPart),
    /// For nothing.
    Nothing(Status),
}

/// A session's worker.
pub(super) struct CarrierConnection {
    carrier: Arc<Carrier>,
    pen: SubmitComposer,
    mode: BindMode,
    stop: Stop,
    /// Whether the SMSC has yet to ask us to bind.
    asking: BindRequester,
    listener: Arc<Notify>,
    bound: bool,
    unbinding: bool,
    /// When a session that was told to stop no longer waits for the rest of its message.
    stop_by: Option<Instant>,
    /// The rest of a message of several parts.
    current: Option<Sending>,
    /// What was taken to be submitted in this turn.
    taken: VecDeque<Sending>,
    flights: SubmitsInFlight,
    /// What became of parts, not handed in yet.
    notes: Notes<Prepared>,
    answers: VecDeque<DeferredAnswer>,
    /// Parts submitted since the last write, and an instant before the first of them.
    unwritten: usize,
    filled: Option<Instant>,
    heard: RecentThrottling,
    looked: Instant,
    /// When there was last something to do.
    busy: Instant,
    /// The limiter says when to come again.
    next_grant: Option<Instant>,
    pub(super) end: Ending,
}

/// An SMSC that connects to us asks us to bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BindRequester {
    /// It need not, or we have bound.
    No,
    /// It has yet to.
    Awaited,
    /// It has.
    Asked,
    /// It is not who it should be.
    Refused,
}

/// How a session went.
#[derive(Debug, Default, Clone)]
pub(super) struct Ending {
    /// It was bound.
    pub(super) bound: bool,
    /// The carrier refused the bind.
    pub(super) refused: Option<Status>,
    /// Why it ended.
    pub(super) reason: Option<Reason>,
    /// It was unbound since there was nothing to do.
    pub(super) rested: bool,
}

/// How we ask to be bound.
pub(super) fn bind_of(config: &SmsRoute, mode: BindMode) -> Bind<'_> {
    Bind {
        mode,
        system_id: config.system_id.as_bytes(),
        password: config.password.reveal().as_bytes(),
        system_type: config.system_type.as_bytes(),
        interface_version: config.version,
        ..Bind::default()
    }
}

impl CarrierConnection {
    pub(super) fn new(carrier: Arc<Carrier>, mode: BindMode, stop: Stop) -> CarrierConnection {
        let listener = carrier.dispatcher.listen();
        CarrierConnection {
            pen: SubmitComposer::new(carrier.config(), carrier.context.now()),
            carrier,
            mode,
            stop,
            asking: BindRequester::No,
            listener,
            bound: false,
            unbinding: false,
            stop_by: None,
            current: None,
            taken: VecDeque::new(),
            flights: SubmitsInFlight::default(),
            notes: Notes::default(),
            answers: VecDeque::new(),
            unwritten: 0,
            filled: None,
            heard: RecentThrottling::default(),
            looked: Instant::now(),
            busy: Instant::now(),
            next_grant: None,
            end: Ending::default(),
        }
    }

    /// The SMSC has connected to us, and asks us to bind.
    pub(super) fn asked(self) -> CarrierConnection {
        CarrierConnection { asking: BindRequester::Awaited, ..self }
    }

    /// The connection is gone, and all events are handled: what the session still had goes on elsewhere.
    pub(super) fn leave(mut self, why: &str, now: Instant) -> Ending {
        // What is not known to be unsent counts as written.
        self.carrier.wrote(self.unwritten, self.filled.unwrap_or(now), now);
        if let Some(current) = self.current.take() {
            self.carrier.put_aside(current, now);
        }
        self.carrier.dispatcher.hand_in(&mut self.notes);
        self.carrier.heard(std::mem::take(&mut self.heard), now);
        if self.end.bound && self.mode.transmits() {
            match self.end.rested {
                true => self.carrier.dispatcher.session_rests(),
                false => self.carrier.dispatcher.session_down(why),
            }
        }
        self.end
    }

    /// Whether to unbind.
    fn is_over(&mut self, now: Instant) -> bool {
        if self.stop.is_set() {
            let stop_by = *self.stop_by.get_or_insert(now + self.pen.config.drain);
            return self.current.is_none() || stop_by <= now;
        }
        self.end.rested = self.is_idle(now);
        self.end.rested
    }

    /// Whether a session bound on demand has had nothing to do for its time.
    fn is_idle(&mut self, now: Instant) -> bool {
        if !self.pen.config.is_on_demand() || self.asking != BindRequester::No {
            return false;
        }
        let busy = !self.flights.is_empty()
            || !self.answers.is_empty()
            || self.current.is_some()
            || self.mode.transmits() && self.carrier.has_work();
        if busy {
            self.busy = now;
        }
        now >= self.busy + self.pen.config.idle
    }

    fn respond(&mut self, session: &mut Session, now: Instant) {
        while let Some(answer) = self.answers.front_mut() {
            let status = match &mut answer.waits {
                Waits::Noted(ticket, keys) => {
                    if !self.carrier.dispatcher.is_durable(*ticket) {
                        return;
                    }
                    self.carrier.forget(std::mem::take(keys));
                    Status::ROK
                }
                Waits::Stored(kept) => match kept.result() {
                    None => return,
                    Some(true) => Status::ROK,
                    Some(false) => Status::RX_T_APPN,
                },
                Waits::Nothing(status) => *status,
            };
            // It fails only if the session forgot the request, having ended.
            let _ = session.respond(answer.sequence, status, b"", now);
            self.answers.pop_front();
        }
    }

    /// Submits as much as window and limit allow.
    fn send(&mut self, session: &mut Session, now: Instant) {
        self.next_grant = None;
        let want = session.free_slots();
        if want == 0 {
            return;
        }
        let granted = self.carrier.grant(now, want);
        let mut used = 0;
        while used < granted {
            if self.current.is_none() && self.taken.is_empty() {
                self.carrier.next(granted - used, now, self.pen.at, &mut self.taken);
            }
            let Some(sending) = self.current.take().or_else(|| self.taken.pop_front()) else { break };
            match self.submit(session, sending, now) {
                Submitted::Yes => used += 1,
                Submitted::Never => {}
                Submitted::NotNow => break,
            }
        }
        // What found no room goes first, by whatever session.
        while let Some(sending) = self.taken.pop_back() {
            self.carrier.put_aside(sending, now);
        }
        self.unwritten += used;
        if used > 0 && self.filled.is_none() {
            self.filled = Some(now);
        }
        self.carrier.unused(granted - used);
        if granted < want && used == granted {
            self.next_grant = self.carrier.next_grant(now);
        }
    }

    fn submit(&mut self, session: &mut Session, mut sending: Sending, now: Instant) -> Submitted {
        let token = self.flights.next_token();
        match submit(&self.carrier, &mut self.pen, session, &mut sending, token, now) {
            Ok(Ok(_)) => {
                self.current = sending.next();
                sending.alone = true;
                self.flights.insert(sending);
                Submitted::Yes
            }
            Ok(Err(SendError::Encode(error))) => {
                let why = Unsendable { code: "sms:encode", text: error.to_string() };
                self.carrier.refuse(&sending, &why);
                Submitted::Never
            }
            Ok(Err(_)) => {
                self.current = Some(sending);
                Submitted::NotNow
            }
            Err(why) => {
                self.carrier.refuse(&sending, &why);
                Submitted::Never
            }
        }
    }

    fn answered(&mut self, response: &Response<'_>, now: Instant) {
        if response.late {
            return self.answered_late(response);
        }
        let Some(sending) = self.flights.take(response.token) else { return };
        self.heard.add(response.waited, response.congestion());
        match verdict(response.status) {
            SubmitVerdict::Accepted => {
                let key = self.carrier.key(response.message_id);
                let id = String::from_utf8_lossy(response.message_id);
                self.ended(sending, accepted(&key, &id));
            }
            SubmitVerdict::Refused { permanent } => {
                self.ended(sending, (&refused(response.status, permanent)).into());
            }
            SubmitVerdict::Throttled => {
                let Some(sending) = self.carrier.throttled(sending, now) else { return };
                if let AttemptResult::Refused { permanent, code, text } = refused(response.status, false) {
                    let text = format!("{text}, {THROTTLE_TRIES_MAX} times");
                    let result = AttemptResult::Refused { permanent, code, text };
                    self.ended(sending, (&result).into());
                }
            }
        }
    }

    fn answered_late(&mut self, response: &Response<'_>) {
        let Some(of) = self.flights.take_late(response.token) else { return };
        let result = match verdict(response.status) {
            SubmitVerdict::Accepted => {
                let keys = self.carrier.key(response.message_id).into_iter().collect();
                let id = String::from_utf8_lossy(response.message_id).into_owned();
                AttemptResult::Accepted { keys, id }
            }
            SubmitVerdict::Throttled => refused(response.status, false),
            SubmitVerdict::Refused { permanent } => refused(response.status, permanent),
        };
        // Behind what was said of it before.
        self.carrier.dispatcher.hand_in(&mut self.notes);
        self.carrier.note_late(of, result);
    }

    fn ended(&mut self, sending: Sending, result: AttemptResultRef<'_>) {
        self.carrier.dispatcher.ended(&mut self.notes, sending.job, sending.part, self.pen.at, result);
    }

    fn unanswered(&mut self, unanswered: &Unanswered, now: Instant) {
        let Some(sending) = self.flights.take(unanswered.token) else { return };
        let text = match unanswered.fate {
            NoResponse::NotSent => {
                self.unwritten = self.unwritten.saturating_sub(1);
                self.carrier.unused(1);
                self.carrier.put_aside(sending, now);
                return;
            }
            NoResponse::TimedOut => {
                self.flights.expect_late(unanswered.token, sending.job.of(sending.part));
                self.heard.add(self.pen.config.response_timeout, None);
                let seconds = self.pen.config.response_timeout.as_secs_f64();
                format!("no answer within {seconds} s after write")
            }
            NoResponse::SessionEnded => "connection lost after write".to_owned(),
        };
        self.ended(sending, AttemptResultRef::Unknown { text: &text });
    }

    /// A receipt or a message from a person.
    fn delivered(&mut self, sequence: u32, message: &CarrierMessage<'_>, now: Instant) {
        self.busy = now;
        let at = self.carrier.context.now();
        // The receipt's message first, if its answer came with it.
        self.carrier.dispatcher.hand_in(&mut self.notes);
        let waits = match (message.receipt(&self.carrier, at), message.user_data()) {
            (Some(receipt), _) => self.noted(&Outcome::CarrierReceipt(Box::new(receipt)), Vec::new()),
            (None, Ok(data)) => {
                let CarrierMessage { source, destination, data_coding, .. } = *message;
                let of_person = MoMessage { source, destination, data_coding, data };
                match self.carrier.arrive(&of_person, at, now) {
                    Arrived::Whole(outcome, keys) => {
                        let outcome = self.or_receipt(outcome, message);
                        self.noted(&outcome, keys)
                    }
                    Arrived::Part(keep) => Waits::Stored(self.carrier.keep(keep, Arc::clone(&self.listener))),
                }
            }
            // Its user data header runs over its end: the same next time, so it is refused for good.
            (None, Err(_)) => Waits::Nothing(Status::RX_R_APPN),
        };
        self.answers.push_back(DeferredAnswer { sequence, waits });
    }

    fn noted(&self, outcome: &Outcome, keys: Vec<String>) -> Waits {
        Waits::Noted(self.carrier.dispatcher.note(outcome), keys)
    }

    /// The message of a person as it is, or with the receipt that it may be.
    fn or_receipt(&self, outcome: Outcome, message: &CarrierMessage<'_>) -> Outcome {
        let Outcome::Inbound(inbound) = &outcome else { return outcome };
        match message.unmarked_receipt(&self.carrier, inbound) {
            Some(receipt) => Outcome::CarrierReceipt(Box::new(receipt)),
            None => outcome,
        }
    }
}

enum Submitted {
    Yes,
    Never,
    NotNow,
}

impl Worker<Session> for CarrierConnection {
    fn handle(&mut self, event: Event<'_>, now: Instant) {
        match event {
            Event::Bound { mode, version, .. } => {
                tracing::info!(route = self.carrier.name(), ?mode, ?version, "bound");
                self.bound = true;
                self.busy = now;
                self.end.bound = true;
                match self.mode.transmits() {
                    true => self.carrier.dispatcher.session_up(),
                    false => self.carrier.dispatcher.remark(RouteRemark::WhileDown("bound to receive only")),
                }
            }
            Event::BindRefused { status } => self.end.refused = Some(status),
            Event::Response(response) => self.answered(&response, now),
            Event::Unanswered(unanswered) => self.unanswered(&unanswered, now),
            Event::Deliver { sequence, pdu } => self.delivered(sequence, &CarrierMessage::from(&pdu), now),
            Event::Data { sequence, pdu } => self.delivered(sequence, &CarrierMessage::from(&pdu), now),
            Event::Unbinding => self.unbinding = true,
            Event::Closed(reason) => self.end.reason = Some(reason),
            Event::Nack { status, sequence } => {
                tracing::warn!(route = self.carrier.name(), %status, sequence, "the carrier answered with generic_nack");
            }
            Event::Refused(refused) => {
                tracing::warn!(
                    route = self.carrier.name(),
                    command = %refused.command,
                    sequence = refused.sequence,
                    status = %refused.status,
                    why = refused.error.map(|error| error.to_string()),
                    "a request of the carrier cannot be read or is not in place now: it is refused with this status"
                );
            }
            Event::Outbind(outbind) => {
                let expected = self.pen.config.outbind_password.reveal().as_bytes();
                let proven = expected.is_empty() || expected == outbind.password;
                self.asking = if proven { BindRequester::Asked } else { BindRequester::Refused };
            }
            // An SMSC's or nobody's concern.
            Event::Bind { .. } | Event::Submit { .. } | Event::Request { .. } | Event::Alert(_) => {}
        }
    }

    fn fill(&mut self, session: &mut Session, now: Instant, writable: bool) {
        self.carrier.dispatcher.hand_in(&mut self.notes);
        self.carrier.refresh(&mut self.pen.config);
        self.pen.at = self.carrier.context.now();
        if session.window() != self.pen.config.window as usize {
            session.set_window(self.pen.config.window as usize);
        }
        self.respond(session, now);
        self.looked = now;
        if self.end.refused.is_some() || self.asking == BindRequester::Refused {
            session.abort(now);
            return;
        }
        if self.asking == BindRequester::Asked {
            self.asking = BindRequester::No;
            if session.bind(&bind_of(&self.pen.config, self.mode), now).is_err() {
                return session.abort(now);
            }
        }
        self.carrier.heard(std::mem::take(&mut self.heard), now);
        self.carrier.look_around(now);
        if !self.bound || self.unbinding {
            if self.stop.is_set() && !self.bound {
                session.abort(now);
            }
            return;
        }
        if self.is_over(now) {
            self.unbinding = true;
            session.unbind(now);
        } else if writable && self.mode.transmits() {
            self.send(session, now);
        }
    }

    fn wrote(&mut self, now: Instant) {
        if let Some(filled) = self.filled.take() {
            self.carrier.wrote(self.unwritten, filled, now);
            self.unwritten = 0;
        }
    }

    fn deadline(&self) -> Option<Instant> {
        // What was due at the last look and is still there waits for something else: a grant, or room in the
        // window.
        let around = self.carrier.deadline().filter(|due| *due > self.looked);
        let stop_by = self.stop_by.filter(|due| *due > self.looked);
        let idle = (self.bound && !self.unbinding && self.pen.config.is_on_demand())
            .then(|| self.busy + self.pen.config.idle)
            .filter(|due| *due > self.looked);
        [self.next_grant, around, stop_by, idle].into_iter().flatten().min()
    }

    fn woken(&mut self) -> impl Future<Output = ()> + Send {
        let stopping = self.stop.is_set();
        async move {
            tokio::select! {
                () = self.listener.notified() => {}
                () = self.stop.wait(), if !stopping => {}
            }
        }
    }

    fn wants_input(&self) -> bool {
        self.answers.len() < ANSWERS_MAX
    }
}
