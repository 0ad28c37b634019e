//! One-time events: the table "CLIENT, EVENT BASED" of RFC 8506 section 7.

use super::{Answer, Step, Steps, TX_DEFAULT};
use crate::credit::{DebitingFailureHandling, RequestedAction};
use std::time::{Duration, Instant};

/// What happened, besides Tx.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Client or device requests a one-time service.
    Start,
    /// A request is in storage, and there is a peer to send it to.
    Stored,
    /// The answer came.
    Answer(Answer),
    /// 'Failure to send': no peer, or the request's own time is over.
    FailureToSend,
}

/// How an event is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// What is asked for.
    pub requested_action: RequestedAction,
    /// Tx.
    pub tx: Duration,
    /// DDFH.
    pub failure_handling: DebitingFailureHandling,
    /// There is another server to send to (section 6.5).
    pub has_alternative: bool,
}

impl Config {
    /// The defaults.
    #[must_use]
    pub fn new(requested_action: RequestedAction) -> Self {
        let failure_handling = DebitingFailureHandling::TerminateOrBuffer;
        Config { requested_action, tx: TX_DEFAULT, failure_handling, has_alternative: false }
    }
}

/// Where an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing is asked.
    Idle,
    /// Waits for the answer.
    PendingE {
        /// Until when Tx runs; none: it expired, and the service was granted.
        tx: Option<Instant>,
    },
    /// Waits for the answer to a request out of storage.
    PendingB,
}

/// One event of the client's.
#[derive(Clone, Copy, Debug)]
pub struct OneTime {
    config: Config,
    state: State,
    /// The request went to an alternative server already.
    is_moved: bool,
}

impl OneTime {
    /// An idle one.
    #[must_use]
    pub fn new(config: Config) -> Self {
        OneTime { config, state: State::Idle, is_moved: false }
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// When [`OneTime::handle_timeout`] wants to be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            State::PendingE { tx } => tx,
            State::Idle | State::PendingB => None,
        }
    }

    /// Something happened: what to do. What no row names changes nothing, and gives no step.
    pub fn handle(&mut self, event: Event, now: Instant) -> Steps {
        let mut steps = Steps::new();
        self.state = match (self.state, event) {
            // Idle | Client or device requests a one-time service | Send CC event req., Start Tx | PendingE
            (State::Idle, Event::Start) => {
                steps.push(Step::SendEvent);
                self.is_moved = false;
                State::PendingE { tx: Some(now + self.config.tx) }
            }
            // Idle | Request in storage | Send stored request | PendingB
            (State::Idle, Event::Stored) => {
                steps.push(Step::SendStored);
                State::PendingB
            }
            (State::PendingE { .. }, Event::Answer(_) | Event::FailureToSend) if self.moves(event) => {
                steps.push(Step::SendElsewhere { is_retransmit: event == Event::FailureToSend });
                self.state
            }
            (State::PendingE { tx }, Event::Answer(answer)) => {
                steps.extend(self.answered(answer, tx.is_some()));
                State::Idle
            }
            (State::PendingE { .. }, Event::FailureToSend) => {
                steps.push(self.not_sent());
                State::Idle
            }
            // PendingB | Failure to send or temporary error | | Idle
            (State::PendingB, Event::FailureToSend | Event::Answer(Answer::Temporary { .. })) => State::Idle,
            // PendingB | Successful CC answer received | Delete request | Idle
            // PendingB | Failed CC answer received | Delete request | Idle
            (State::PendingB, Event::Answer(_)) => {
                steps.push(Step::DeleteRequest);
                State::Idle
            }
            (state, _) => state,
        };
        steps
    }

    /// Acts on Tx if it is due at `now`. Early and needless calls do no harm.
    pub fn handle_timeout(&mut self, now: Instant) -> Steps {
        let State::PendingE { tx: Some(tx) } = self.state else {
            return Steps::new();
        };
        if tx > now {
            return Steps::new();
        }
        let (next, step) = match self.config.requested_action {
            // PendingE | Tx expired; requested action DIRECT_DEBITING | Grant service to end user | PendingE
            RequestedAction::DirectDebiting => (State::PendingE { tx: None }, Step::GrantService),
            // PendingE | Failure to send or Tx expired; requested action REFUND_ACCOUNT | Store request with
            // T-flag | Idle
            RequestedAction::RefundAccount => (State::Idle, Step::Store { is_retransmit: true }),
            // PendingE | Failure to send, temporary error, failed CC event answer received, or Tx expired;
            // requested
            //          | action CHECK_BALANCE or PRICE_ENQUIRY | Indicate service error | Idle
            RequestedAction::CheckBalance | RequestedAction::PriceEnquiry => {
                (State::Idle, Step::IndicateError)
            }
        };
        self.state = next;
        vec![step]
    }

    /// Section 6.5: once, where there is an alternative server; enquiries too, as their user still waits.
    fn moves(&mut self, event: Event) -> bool {
        let is_failure = matches!(event, Event::FailureToSend | Event::Answer(Answer::Temporary { .. }));
        let moves = is_failure && self.config.has_alternative && !self.is_moved;
        self.is_moved |= moves;
        moves
    }

    fn answered(&self, answer: Answer, is_tx_running: bool) -> &'static [Step] {
        // PendingE | Successful CC event answer received | Grant service to end user | Idle
        if matches!(answer, Answer::Success(_)) {
            return &[Step::GrantService];
        }
        let is_temporary = matches!(answer, Answer::Temporary { .. });
        match self.config.requested_action {
            // PendingE | Failure to send, temporary error, failed CC event answer received, or Tx expired;
            // requested
            //          | action CHECK_BALANCE or PRICE_ENQUIRY | Indicate service error | Idle
            RequestedAction::CheckBalance | RequestedAction::PriceEnquiry => &[Step::IndicateError],
            // PendingE | Temporary error, and requested action REFUND_ACCOUNT | Store request | Idle
            RequestedAction::RefundAccount if is_temporary => &[Step::Store { is_retransmit: false }],
            // PendingE | Failed CC event answer received; requested action REFUND_ACCOUNT | Indicate service
            // error and
            //          | delete request | Idle
            RequestedAction::RefundAccount => &[Step::IndicateError, Step::DeleteRequest],
            RequestedAction::DirectDebiting => self.debit_answered(answer, is_tx_running),
        }
    }

    fn debit_answered(&self, answer: Answer, is_tx_running: bool) -> &'static [Step] {
        let continues = self.config.failure_handling == DebitingFailureHandling::Continue;
        match answer {
            // PendingE | CC event answer received with result code END_USER_SERVICE_DENIED or USER_UNKNOWN
            // and Tx running |
            //          | Terminate end user's service | Idle
            Answer::Denied | Answer::UserUnknown if is_tx_running => &[Step::TerminateService],
            // PendingE | CC event answer received with result code CREDIT_CONTROL_NOT_APPLICABLE; requested
            // action
            //          | DIRECT_DEBITING | Grant service to end user | Idle
            Answer::NotApplicable => &[Step::GrantService],
            // PendingE | Temporary error; requested action DIRECT_DEBITING; DDFH equal to
            // TERMINATE_OR_BUFFER; Tx expired |
            //          | Store request | Idle
            Answer::Temporary { .. } if !continues && !is_tx_running => {
                &[Step::Store { is_retransmit: false }]
            }
            // PendingE | Failed answer or answer received with result code END_USER_SERVICE_DENIED or
            // USER_UNKNOWN;
            //          | requested action DIRECT_DEBITING; Tx expired | | Idle
            Answer::Denied | Answer::UserUnknown | Answer::Failed { .. } if !is_tx_running => &[],
            // PendingE | Failure to send, temporary error, or failed CC event answer received; requested
            // action
            //          | DIRECT_DEBITING; DDFH equal to CONTINUE | Grant service to end user | Idle
            _ if continues => &[Step::GrantService],
            // PendingE | Failed CC event answer received or temporary error; requested action
            // DIRECT_DEBITING; DDFH equal to
            //          | TERMINATE_OR_BUFFER and Tx running | Terminate end user's service | Idle
            _ => &[Step::TerminateService],
        }
    }

    fn not_sent(&self) -> Step {
        match (self.config.requested_action, self.config.failure_handling) {
            // PendingE | Failure to send, temporary error, or failed CC event answer received; requested
            // action
            //          | DIRECT_DEBITING; DDFH equal to CONTINUE | Grant service to end user | Idle
            (RequestedAction::DirectDebiting, DebitingFailureHandling::Continue) => Step::GrantService,
            // PendingE | Failure to send; requested action DIRECT_DEBITING; DDFH equal to TERMINATE_OR_BUFFER
            // |
            //          | Store request with T-flag | Idle
            // PendingE | Failure to send or Tx expired; requested action REFUND_ACCOUNT | Store request with
            // T-flag | Idle
            (RequestedAction::DirectDebiting | RequestedAction::RefundAccount, _) => {
                Step::Store { is_retransmit: true }
            }
            // PendingE | Failure to send, temporary error, failed CC event answer received, or Tx expired;
            // requested
            //          | action CHECK_BALANCE or PRICE_ENQUIRY | Indicate service error | Idle
            (RequestedAction::CheckBalance | RequestedAction::PriceEnquiry, _) => Step::IndicateError,
        }
    }
}
