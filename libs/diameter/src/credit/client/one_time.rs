//! One-time events: the table "CLIENT, EVENT BASED" of RFC 8506 section 7.

use super::{ClientAction, CreditAnswer, Steps, TX_DEFAULT};
use crate::credit::{DebitingFailureHandling, RequestedAction};
use std::time::{Duration, Instant};

/// What happened, besides Tx.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneTimeEvent {
    /// Client or device requests a one-time service.
    Start,
    /// A request is in storage, and there is a peer to send it to.
    Stored,
    /// The answer came.
    Answer(CreditAnswer),
    /// 'Failure to send': no peer, or the request's own time is over.
    FailureToSend,
}

/// How an event is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneTimeConfig {
    /// What is asked for.
    pub requested_action: RequestedAction,
    /// Tx.
    pub tx: Duration,
    /// DDFH.
    pub failure_handling: DebitingFailureHandling,
    /// There is another server to send to (section 6.5).
    pub has_alternative: bool,
}

impl OneTimeConfig {
    /// The defaults.
    #[must_use]
    pub fn new(requested_action: RequestedAction) -> Self {
        let failure_handling = DebitingFailureHandling::TerminateOrBuffer;
        OneTimeConfig { requested_action, tx: TX_DEFAULT, failure_handling, has_alternative: false }
    }
}

/// Where an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneTimeState {
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
    config: OneTimeConfig,
    state: OneTimeState,
    /// The request went to an alternative server already.
    is_moved: bool,
}

impl OneTime {
    /// An idle one.
    #[must_use]
    pub fn new(config: OneTimeConfig) -> Self {
        OneTime { config, state: OneTimeState::Idle, is_moved: false }
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> OneTimeState {
        self.state
    }

    /// When [`OneTime::handle_timeout`] wants to be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            OneTimeState::PendingE { tx } => tx,
            OneTimeState::Idle | OneTimeState::PendingB => None,
        }
    }

    /// Something happened: what to do. What no row names changes nothing, and gives no step.
    pub fn handle(&mut self, event: OneTimeEvent, now: Instant) -> Steps {
        let mut steps = Steps::new();
        self.state = match (self.state, event) {
            // Idle | Client or device requests a one-time service | Send CC event req., Start Tx | PendingE
            (OneTimeState::Idle, OneTimeEvent::Start) => {
                steps.push(ClientAction::SendEvent);
                self.is_moved = false;
                OneTimeState::PendingE { tx: Some(now + self.config.tx) }
            }
            // Idle | Request in storage | Send stored request | PendingB
            (OneTimeState::Idle, OneTimeEvent::Stored) => {
                steps.push(ClientAction::SendStored);
                OneTimeState::PendingB
            }
            (OneTimeState::PendingE { .. }, OneTimeEvent::Answer(_) | OneTimeEvent::FailureToSend)
                if self.moves(event) =>
            {
                steps.push(ClientAction::SendElsewhere {
                    is_retransmit: event == OneTimeEvent::FailureToSend,
                });
                self.state
            }
            (OneTimeState::PendingE { tx }, OneTimeEvent::Answer(answer)) => {
                steps.extend(self.answered(answer, tx.is_some()));
                OneTimeState::Idle
            }
            (OneTimeState::PendingE { .. }, OneTimeEvent::FailureToSend) => {
                steps.push(self.not_sent());
                OneTimeState::Idle
            }
            // PendingB | Failure to send or temporary error | | Idle
            (
                OneTimeState::PendingB,
                OneTimeEvent::FailureToSend | OneTimeEvent::Answer(CreditAnswer::Temporary { .. }),
            ) => OneTimeState::Idle,
            // PendingB | Successful CC answer received | Delete request | Idle
            // PendingB | Failed CC answer received | Delete request | Idle
            (OneTimeState::PendingB, OneTimeEvent::Answer(_)) => {
                steps.push(ClientAction::DeleteRequest);
                OneTimeState::Idle
            }
            (state, _) => state,
        };
        steps
    }

    /// Acts on Tx if it is due at `now`. Early and needless calls do no harm.
    pub fn handle_timeout(&mut self, now: Instant) -> Steps {
        let OneTimeState::PendingE { tx: Some(tx) } = self.state else {
            return Steps::new();
        };
        if tx > now {
            return Steps::new();
        }
        let (next, step) = match self.config.requested_action {
            // PendingE | Tx expired; requested action DIRECT_DEBITING | Grant service to end user | PendingE
            RequestedAction::DirectDebiting => {
                (OneTimeState::PendingE { tx: None }, ClientAction::GrantService)
            }
            // PendingE | Failure to send or Tx expired; requested action REFUND_ACCOUNT | Store request with
            // T-flag | Idle
            RequestedAction::RefundAccount => {
                (OneTimeState::Idle, ClientAction::Store { is_retransmit: true })
            }
            // PendingE | Failure to send, temporary error, failed CC event answer received, or Tx expired;
            // requested
            //          | action CHECK_BALANCE or PRICE_ENQUIRY | Indicate service error | Idle
            RequestedAction::CheckBalance | RequestedAction::PriceEnquiry => {
                (OneTimeState::Idle, ClientAction::IndicateError)
            }
        };
        self.state = next;
        vec![step]
    }

    /// Section 6.5: once, where there is an alternative server; enquiries too, as their user still waits.
    fn moves(&mut self, event: OneTimeEvent) -> bool {
        let is_failure = matches!(
            event,
            OneTimeEvent::FailureToSend | OneTimeEvent::Answer(CreditAnswer::Temporary { .. })
        );
        let moves = is_failure && self.config.has_alternative && !self.is_moved;
        self.is_moved |= moves;
        moves
    }

    fn answered(&self, answer: CreditAnswer, is_tx_running: bool) -> &'static [ClientAction] {
        // PendingE | Successful CC event answer received | Grant service to end user | Idle
        if matches!(answer, CreditAnswer::Success(_)) {
            return &[ClientAction::GrantService];
        }
        let is_temporary = matches!(answer, CreditAnswer::Temporary { .. });
        match self.config.requested_action {
            // PendingE | Failure to send, temporary error, failed CC event answer received, or Tx expired;
            // requested
            //          | action CHECK_BALANCE or PRICE_ENQUIRY | Indicate service error | Idle
            RequestedAction::CheckBalance | RequestedAction::PriceEnquiry => &[ClientAction::IndicateError],
            // PendingE | Temporary error, and requested action REFUND_ACCOUNT | Store request | Idle
            RequestedAction::RefundAccount if is_temporary => &[ClientAction::Store { is_retransmit: false }],
            // PendingE | Failed CC event answer received; requested action REFUND_ACCOUNT | Indicate service
            // error and
            //          | delete request | Idle
            RequestedAction::RefundAccount => &[ClientAction::IndicateError, ClientAction::DeleteRequest],
            RequestedAction::DirectDebiting => self.debit_answered(answer, is_tx_running),
        }
    }

    fn debit_answered(&self, answer: CreditAnswer, is_tx_running: bool) -> &'static [ClientAction] {
        let continues = self.config.failure_handling == DebitingFailureHandling::Continue;
        match answer {
            // PendingE | CC event answer received with result code END_USER_SERVICE_DENIED or USER_UNKNOWN
            // and Tx running |
            //          | Terminate end user's service | Idle
            CreditAnswer::Denied | CreditAnswer::UserUnknown if is_tx_running => {
                &[ClientAction::TerminateService]
            }
            // PendingE | CC event answer received with result code CREDIT_CONTROL_NOT_APPLICABLE; requested
            // action
            //          | DIRECT_DEBITING | Grant service to end user | Idle
            CreditAnswer::NotApplicable => &[ClientAction::GrantService],
            // PendingE | Temporary error; requested action DIRECT_DEBITING; DDFH equal to
            // TERMINATE_OR_BUFFER; Tx expired |
            //          | Store request | Idle
            CreditAnswer::Temporary { .. } if !continues && !is_tx_running => {
                &[ClientAction::Store { is_retransmit: false }]
            }
            // PendingE | Failed answer or answer received with result code END_USER_SERVICE_DENIED or
            // USER_UNKNOWN;
            //          | requested action DIRECT_DEBITING; Tx expired | | Idle
            CreditAnswer::Denied | CreditAnswer::UserUnknown | CreditAnswer::Failed { .. }
                if !is_tx_running =>
            {
                &[]
            }
            // PendingE | Failure to send, temporary error, or failed CC event answer received; requested
            // action
            //          | DIRECT_DEBITING; DDFH equal to CONTINUE | Grant service to end user | Idle
            _ if continues => &[ClientAction::GrantService],
            // PendingE | Failed CC event answer received or temporary error; requested action
            // DIRECT_DEBITING; DDFH equal to
            //          | TERMINATE_OR_BUFFER and Tx running | Terminate end user's service | Idle
            _ => &[ClientAction::TerminateService],
        }
    }

    fn not_sent(&self) -> ClientAction {
        match (self.config.requested_action, self.config.failure_handling) {
            // PendingE | Failure to send, temporary error, or failed CC event answer received; requested
            // action
            //          | DIRECT_DEBITING; DDFH equal to CONTINUE | Grant service to end user | Idle
            (RequestedAction::DirectDebiting, DebitingFailureHandling::Continue) => {
                ClientAction::GrantService
            }
            // PendingE | Failure to send; requested action DIRECT_DEBITING; DDFH equal to TERMINATE_OR_BUFFER
            // |
            //          | Store request with T-flag | Idle
            // PendingE | Failure to send or Tx expired; requested action REFUND_ACCOUNT | Store request with
            // T-flag | Idle
            (RequestedAction::DirectDebiting | RequestedAction::RefundAccount, _) => {
                ClientAction::Store { is_retransmit: true }
            }
            // PendingE | Failure to send, temporary error, failed CC event answer received, or Tx expired;
            // requested
            //          | action CHECK_BALANCE or PRICE_ENQUIRY | Indicate service error | Idle
            (RequestedAction::CheckBalance | RequestedAction::PriceEnquiry, _) => ClientAction::IndicateError,
        }
    }
}
