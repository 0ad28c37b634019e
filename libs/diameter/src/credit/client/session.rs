//! Credit control by sessions: the tables "CLIENT, SESSION BASED" of RFC 8506 section 7, a type per state, a
//! method per row.

use super::{ClientAction, CreditAnswer, FinalUnitAction, Grant, Steps, TX_DEFAULT};
use crate::credit::FailureHandling;
use crate::result_code;
use std::time::{Duration, Instant};

/// What happened, besides answers and timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEvent {
    /// Client or device requests access or service.
    Start,
    /// The answer to the last request.
    Answer(CreditAnswer),
    /// 'Failure to send': no peer, or the request's own time is over (120 s, say), after failover below was
    /// tried.
    FailureToSend,
    /// The granted units are used up.
    UnitsElapsed,
    /// The rating condition changed.
    RatingChanged,
    /// The user's service was terminated: by the user, the network, an ASR.
    Terminated,
    /// An RAR was received.
    ReAuthorization,
}

/// How a session begins, and is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionConfig {
    /// Tx.
    pub tx: Duration,
    /// CCFH, until an answer says another.
    pub failure_handling: FailureHandling,
    /// CC-Session-Failover is FAILOVER_SUPPORTED, until an answer says.
    pub has_failover: bool,
    /// There is another server to send to.
    pub has_alternative: bool,
    /// The first interrogation is part of an AA request, not a CCR.
    pub is_first_by_aa: bool,
}

impl Default for SessionConfig {
    fn default() -> Self {
        SessionConfig {
            tx: TX_DEFAULT,
            failure_handling: FailureHandling::Terminate,
            has_failover: false,
            has_alternative: false,
            is_first_by_aa: false,
        }
    }
}

/// No session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle;
/// Waits for the answer to an AA request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingAa;
/// Waits for the initial answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingI;
/// Units are granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open;
/// Waits for an update's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingU;
/// Waits for the termination's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingT;

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// No session.
    Idle(Idle),
    /// Waits for the answer to an AA request.
    PendingAa(PendingAa),
    /// Waits for the initial answer.
    PendingI(PendingI),
    /// Units are granted.
    Open(Open),
    /// Waits for an update's answer.
    PendingU(PendingU),
    /// Waits for the termination's answer.
    PendingT(PendingT),
}

macro_rules! into_state {
    ($($name:ident),*) => { $(impl From<$name> for SessionState {
        fn from(state: $name) -> SessionState {
            SessionState::$name(state)
        }
    })* };
}
into_state!(Idle, PendingAa, PendingI, Open, PendingU, PendingT);

/// All of a session but its state.
#[derive(Clone, Copy, Debug)]
struct SessionBook {
    config: SessionConfig,
    failure_handling: FailureHandling,
    has_failover: bool,
    /// The next CC-Request-Number.
    number: u32,
    now: Instant,
    tx: Option<Instant>,
    /// When the Validity-Time of what was granted is over.
    validity: Option<Instant>,
    final_unit: Option<FinalUnitAction>,
    /// The last request went to an alternative server already.
    is_moved: bool,
    /// Queued while an answer is pending.
    has_terminated: bool,
    has_rating_changed: bool,
}

impl SessionBook {
    fn take_number(&mut self) -> u32 {
        let number = self.number;
        self.number = number.wrapping_add(1);
        number
    }

    fn start_tx(&mut self) {
        self.tx = Some(self.now + self.config.tx);
        self.is_moved = false;
        self.validity = None;
    }

    fn grant(&mut self, grant: Grant) {
        self.tx = None;
        self.failure_handling = grant.failure_handling.unwrap_or(self.failure_handling);
        self.has_failover = grant.has_failover.unwrap_or(self.has_failover);
        self.final_unit = grant.final_unit;
        self.validity = grant.validity.map(|validity| self.now + validity);
    }

    fn send_update(&mut self, steps: &mut Steps) -> PendingU {
        steps.push(ClientAction::SendUpdate(self.take_number()));
        self.start_tx();
        PendingU
    }

    fn send_termination(&mut self, steps: &mut Steps) -> PendingT {
        steps.push(ClientAction::SendTermination(self.take_number()));
        (self.tx, self.validity) = (None, None);
        PendingT
    }

    /// Section 5.7: whether the request is sent to an alternative server instead of failing. A session that
    /// goes on must be allowed to move (CC-Session-Failover), a new one may anyway; under TERMINATE only a
    /// protocol error before Tx moves it.
    fn moves(&mut self, event: SessionEvent, is_new: bool, steps: &mut Steps) -> bool {
        let is_failure = match event {
            SessionEvent::FailureToSend => self.failure_handling != FailureHandling::Terminate,
            SessionEvent::Answer(CreditAnswer::Temporary { result_code }) => {
                self.failure_handling != FailureHandling::Terminate
                    || self.tx.is_some()
                        && matches!(result_code, result_code::TOO_BUSY | result_code::UNABLE_TO_DELIVER)
            }
            _ => false,
        };
        let may_move = (self.has_failover || is_new) && self.config.has_alternative && !self.is_moved;
        if is_failure && may_move {
            self.is_moved = true;
            steps.push(ClientAction::SendElsewhere { is_retransmit: event == SessionEvent::FailureToSend });
        }
        is_failure && may_move
    }

    /// The end of a session that failed, as CCFH has it.
    fn fail(&self, steps: &mut Steps) -> Idle {
        steps.push(match self.failure_handling {
            FailureHandling::Continue => ClientAction::GrantService,
            FailureHandling::Terminate | FailureHandling::RetryAndTerminate => ClientAction::TerminateService,
        });
        Idle
    }
}

impl Idle {
    // Idle | Client or device requests access/service | Send AA request with added CC AVPs, start Tx |
    // PendingI
    fn start_aa(self, book: &mut SessionBook, steps: &mut Steps) -> PendingAa {
        steps.push(ClientAction::SendAaRequest);
        book.take_number();
        book.start_tx();
        PendingAa
    }

    // Idle | Client or device requests access/service | Send CC initial req., start Tx | PendingI
    fn start(self, book: &mut SessionBook, steps: &mut Steps) -> PendingI {
        steps.push(ClientAction::SendInitial(book.take_number()));
        book.start_tx();
        PendingI
    }
}

/// "CLIENT, SESSION BASED for the first interrogation with AA request".
impl PendingAa {
    // PendingI | Successful AA req. answer received | Grant service to end user, stop Tx | Open
    fn succeed(self, grant: Grant, book: &mut SessionBook, steps: &mut Steps) -> SessionState {
        steps.push(ClientAction::GrantService);
        book.grant(grant);
        Open.look_into_queue(book, steps)
    }

    // PendingI | Tx expired | Disconnect user/dev | Idle
    // PendingI | Failed AA answer received | Disconnect user/dev | Idle
    fn fail(self, steps: &mut Steps) -> Idle {
        steps.push(ClientAction::TerminateService);
        Idle
    }

    // PendingI | AA answer received with CREDIT_CONTROL_NOT_APPLICABLE | Grant service to end user | Idle
    fn not_applicable(self, steps: &mut Steps) -> Idle {
        steps.push(ClientAction::GrantService);
        Idle
    }
}

/// "CLIENT, SESSION BASED for the first interrogation with CCR".
impl PendingI {
    // PendingI | Successful CC initial answer received | Stop Tx | Open
    fn succeed(self, grant: Grant, book: &mut SessionBook, steps: &mut Steps) -> SessionState {
        book.grant(grant);
        Open.look_into_queue(book, steps)
    }

    // PendingI | Failure to send, or temporary error and CCFH equal to CONTINUE | Grant service to end user |
    // Idle PendingI | Failure to send, or temporary error and CCFH equal to TERMINATE or to
    // RETRY_AND_TERMINATE |
    //          | Terminate end user's service | Idle
    // PendingI | Failed CC initial answer received and CCFH equal to CONTINUE | Grant service to end user |
    // Idle PendingI | Failed CC initial answer received and CCFH equal to TERMINATE or to RETRY_AND_TERMINATE
    // |
    //          | Terminate end user's service | Idle
    fn fail(self, book: &SessionBook, steps: &mut Steps) -> Idle {
        book.fail(steps)
    }

    // PendingI | Tx expired and CCFH equal to TERMINATE | Terminate end user's service | Idle
    // PendingI | CC initial answer received with END_USER_SERVICE_DENIED or USER_UNKNOWN |
    //          | Terminate end user's service | Idle
    fn deny(self, steps: &mut Steps) -> Idle {
        steps.push(ClientAction::TerminateService);
        Idle
    }

    // PendingI | Tx expired and CCFH equal to CONTINUE or to RETRY_AND_TERMINATE | Grant service to end user
    // | PendingI
    fn tx_expired(self, steps: &mut Steps) -> PendingI {
        steps.push(ClientAction::GrantService);
        self
    }

    // PendingI | CC initial answer received with CREDIT_CONTROL_NOT_APPLICABLE | Grant service to end user |
    // Idle
    fn not_applicable(self, steps: &mut Steps) -> Idle {
        steps.push(ClientAction::GrantService);
        Idle
    }
}

/// "CLIENT, SESSION BASED for intermediate and final interrogations".
impl Open {
    // Open | Granted unit elapses and no final unit indication received | Send CC update req., start Tx |
    // PendingU Open | Change in rating condition or Validity-Time elapses | Send CC update req., Start Tx |
    // PendingU
    fn update(self, book: &mut SessionBook, steps: &mut Steps) -> PendingU {
        book.send_update(steps)
    }

    // Open | Granted unit elapses and final unit action equal to TERMINATE received |
    //      | Terminate end user's service, send CC termination req. | PendingT
    fn final_terminate(self, book: &mut SessionBook, steps: &mut Steps) -> PendingT {
        steps.push(ClientAction::TerminateService);
        book.send_termination(steps)
    }

    // Sections 5.6.2 and 5.6.3, which the table leaves to the text: redirected or restricted, the user stays,
    // and the server is asked again.
    fn final_stay(self, action: FinalUnitAction, book: &mut SessionBook, steps: &mut Steps) -> PendingU {
        steps.push(ClientAction::ApplyFinalUnitAction(action));
        book.send_update(steps)
    }

    // Open | User service terminated | Send CC termination req. | PendingT
    fn terminate(self, book: &mut SessionBook, steps: &mut Steps) -> PendingT {
        book.send_termination(steps)
    }

    // Open | RAR received | Send RAA followed by CC update req., start Tx | PendingU
    fn re_authorize(self, book: &mut SessionBook, steps: &mut Steps) -> PendingU {
        steps.push(ClientAction::SendRaa);
        book.send_update(steps)
    }

    // Open | Service terminated in queue | Send CC termination req. | PendingT
    // Open | Change in rating condition in queue | Send CC update req., Start Tx | PendingU
    fn look_into_queue(self, book: &mut SessionBook, steps: &mut Steps) -> SessionState {
        let has_rating_changed = std::mem::take(&mut book.has_rating_changed);
        if std::mem::take(&mut book.has_terminated) {
            book.send_termination(steps).into()
        } else if has_rating_changed {
            book.send_update(steps).into()
        } else {
            self.into()
        }
    }
}

impl PendingU {
    // PendingU | Successful CC update answer received | Stop Tx | Open
    fn succeed(self, grant: Grant, book: &mut SessionBook, steps: &mut Steps) -> SessionState {
        book.grant(grant);
        Open.look_into_queue(book, steps)
    }

    // PendingU | Failure to send, or temporary error and CCFH equal to CONTINUE | Grant service to end user |
    // Idle PendingU | Failure to send, or temporary error and CCFH equal to TERMINATE or to
    // RETRY_AND_TERMINATE |
    //          | Terminate end user's service | Idle
    // PendingU | Failed CC update answer received and CCFH equal to CONTINUE | Grant service to end user |
    // Idle PendingU | Failed CC update answer received and CCFH equal to TERMINATE or to RETRY_AND_TERMINATE
    // |
    //          | Terminate end user's service | Idle
    fn fail(self, book: &SessionBook, steps: &mut Steps) -> Idle {
        book.fail(steps)
    }

    // PendingU | Tx expired and CCFH equal to TERMINATE | Terminate end user's service | Idle
    // PendingU | CC update answer received with END_USER_SERVICE_DENIED | Terminate end user's service | Idle
    fn deny(self, steps: &mut Steps) -> Idle {
        steps.push(ClientAction::TerminateService);
        Idle
    }

    // PendingU | Tx expired and CCFH equal to CONTINUE or to RETRY_AND_TERMINATE | Grant service to end user
    // | PendingU
    fn tx_expired(self, steps: &mut Steps) -> PendingU {
        steps.push(ClientAction::GrantService);
        self
    }

    // PendingU | CC update answer received with CREDIT_CONTROL_NOT_APPLICABLE | Grant service to end user |
    // Idle
    fn not_applicable(self, steps: &mut Steps) -> Idle {
        steps.push(ClientAction::GrantService);
        Idle
    }

    // PendingU | RAR received | Send RAA | PendingU
    fn re_authorize(self, steps: &mut Steps) -> PendingU {
        steps.push(ClientAction::SendRaa);
        self
    }
}

impl PendingT {
    // PendingT | Successful CC termination answer received | | Idle
    // PendingT | Failure to send, temporary error, or failed answer | | Idle
    fn end(self) -> Idle {
        Idle
    }
}

/// One session of the client's.
#[derive(Clone, Copy, Debug)]
pub struct ClientSession {
    state: SessionState,
    book: SessionBook,
}

impl ClientSession {
    /// An idle session.
    #[must_use]
    pub fn new(config: SessionConfig, now: Instant) -> Self {
        let book = SessionBook {
            failure_handling: config.failure_handling,
            has_failover: config.has_failover,
            config,
            number: 0,
            now,
            tx: None,
            validity: None,
            final_unit: None,
            is_moved: false,
            has_terminated: false,
            has_rating_changed: false,
        };
        ClientSession { state: Idle.into(), book }
    }

    /// Where the session stands.
    #[must_use]
    pub fn state(&self) -> SessionState {
        self.state
    }

    /// When [`ClientSession::handle_timeout`] wants to be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let validity = self.book.validity.filter(|_| matches!(self.state, SessionState::Open(_)));
        [self.book.tx, validity].into_iter().flatten().min()
    }

    /// Something happened: what to do. What no row names changes nothing, and gives no step.
    pub fn handle(&mut self, event: SessionEvent, now: Instant) -> Steps {
        let mut steps = Steps::new();
        let book = &mut self.book;
        book.now = book.now.max(now);
        let next = match self.state {
            SessionState::Idle(state) => on_idle(state, event, book, &mut steps),
            SessionState::PendingAa(state) => on_pending_aa(state, event, book, &mut steps),
            SessionState::PendingI(state) => on_pending_i(state, event, book, &mut steps),
            SessionState::Open(state) => on_open(state, event, book, &mut steps),
            SessionState::PendingU(state) => on_pending_u(state, event, book, &mut steps),
            SessionState::PendingT(state) => on_pending_t(state, event),
        };
        self.enter(next);
        steps
    }

    /// Acts on what is due at `now`: Tx, or the Validity-Time. Early and needless calls do no harm.
    pub fn handle_timeout(&mut self, now: Instant) -> Steps {
        let mut steps = Steps::new();
        let book = &mut self.book;
        book.now = book.now.max(now);
        let is_tx = book.tx.is_some_and(|at| at <= book.now);
        let is_validity = book.validity.is_some_and(|at| at <= book.now);
        let terminates = book.failure_handling == FailureHandling::Terminate;
        let next = match self.state {
            SessionState::PendingAa(state) if is_tx => state.fail(&mut steps).into(),
            SessionState::PendingI(state) if is_tx && terminates => state.deny(&mut steps).into(),
            SessionState::PendingI(state) if is_tx => state.tx_expired(&mut steps).into(),
            SessionState::PendingU(state) if is_tx && terminates => state.deny(&mut steps).into(),
            SessionState::PendingU(state) if is_tx => state.tx_expired(&mut steps).into(),
            SessionState::Open(state) if is_validity => state.update(book, &mut steps).into(),
            state => state,
        };
        if is_tx && !matches!(self.state, SessionState::Open(_)) {
            book.tx = None;
        }
        self.enter(next);
        steps
    }

    fn enter(&mut self, next: SessionState) {
        if matches!(next, SessionState::Idle(_)) && !matches!(self.state, SessionState::Idle(_)) {
            // Moving to Idle clears the session and all its variables.
            *self = ClientSession::new(self.book.config, self.book.now);
        }
        self.state = next;
    }
}

fn on_idle(state: Idle, event: SessionEvent, book: &mut SessionBook, steps: &mut Steps) -> SessionState {
    match event {
        SessionEvent::Start if book.config.is_first_by_aa => state.start_aa(book, steps).into(),
        SessionEvent::Start => state.start(book, steps).into(),
        _ => state.into(),
    }
}

/// The rows of all pending states: queue a termination event, queue a changed rating condition event.
fn queue(state: impl Into<SessionState>, event: SessionEvent, book: &mut SessionBook) -> SessionState {
    match event {
        // PendingI, PendingU | User service terminated | Queue termination event | the same
        SessionEvent::Terminated => book.has_terminated = true,
        // PendingI, PendingU | Change in rating condition | Queue changed rating condition event | the same
        SessionEvent::RatingChanged => book.has_rating_changed = true,
        _ => {}
    }
    state.into()
}

fn on_pending_aa(
    state: PendingAa,
    event: SessionEvent,
    book: &mut SessionBook,
    steps: &mut Steps,
) -> SessionState {
    match event {
        SessionEvent::Answer(CreditAnswer::Success(grant)) => state.succeed(grant, book, steps),
        SessionEvent::Answer(CreditAnswer::NotApplicable) => state.not_applicable(steps).into(),
        SessionEvent::Answer(_) | SessionEvent::FailureToSend => state.fail(steps).into(),
        _ => queue(state, event, book),
    }
}

fn on_pending_i(
    state: PendingI,
    event: SessionEvent,
    book: &mut SessionBook,
    steps: &mut Steps,
) -> SessionState {
    match event {
        SessionEvent::Answer(CreditAnswer::Success(grant)) => state.succeed(grant, book, steps),
        SessionEvent::Answer(CreditAnswer::Denied | CreditAnswer::UserUnknown) => state.deny(steps).into(),
        SessionEvent::Answer(CreditAnswer::NotApplicable) => state.not_applicable(steps).into(),
        SessionEvent::Answer(CreditAnswer::Temporary { .. } | CreditAnswer::Failed { .. })
        | SessionEvent::FailureToSend => {
            if book.moves(event, true, steps) {
                state.into()
            } else {
                state.fail(book, steps).into()
            }
        }
        _ => queue(state, event, book),
    }
}

fn on_open(state: Open, event: SessionEvent, book: &mut SessionBook, steps: &mut Steps) -> SessionState {
    match event {
        SessionEvent::UnitsElapsed => match book.final_unit {
            None => state.update(book, steps).into(),
            Some(FinalUnitAction::Terminate) => state.final_terminate(book, steps).into(),
            Some(action) => state.final_stay(action, book, steps).into(),
        },
        SessionEvent::RatingChanged => state.update(book, steps).into(),
        SessionEvent::Terminated => state.terminate(book, steps).into(),
        SessionEvent::ReAuthorization => state.re_authorize(book, steps).into(),
        SessionEvent::Start | SessionEvent::Answer(_) | SessionEvent::FailureToSend => state.into(),
    }
}

fn on_pending_u(
    state: PendingU,
    event: SessionEvent,
    book: &mut SessionBook,
    steps: &mut Steps,
) -> SessionState {
    match event {
        SessionEvent::Answer(CreditAnswer::Success(grant)) => state.succeed(grant, book, steps),
        SessionEvent::Answer(CreditAnswer::Denied) => state.deny(steps).into(),
        SessionEvent::Answer(CreditAnswer::NotApplicable) => state.not_applicable(steps).into(),
        SessionEvent::Answer(
            CreditAnswer::UserUnknown | CreditAnswer::Temporary { .. } | CreditAnswer::Failed { .. },
        )
        | SessionEvent::FailureToSend => {
            if book.moves(event, false, steps) {
                state.into()
            } else {
                state.fail(book, steps).into()
            }
        }
        SessionEvent::ReAuthorization => state.re_authorize(steps).into(),
        _ => queue(state, event, book),
    }
}

fn on_pending_t(state: PendingT, event: SessionEvent) -> SessionState {
    match event {
        SessionEvent::Answer(_) | SessionEvent::FailureToSend => state.end().into(),
        // PendingT | Change in rating condition | | PendingT
        _ => state.into(),
    }
}
