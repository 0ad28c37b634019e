//! RFC 8506 section 7, "CLIENT, EVENT BASED": every row of the table, in its order.

use crate::credit::client::one_time::{Config, Event, OneTime, State};
use crate::credit::client::{Answer, Grant, Step, TX_DEFAULT};
use crate::credit::{DebitingFailureHandling, RequestedAction};
use std::time::{Duration, Instant};

const GRANT: Grant = Grant { final_unit: None, validity: None, failure_handling: None, has_failover: None };
const SUCCESS: Event = Event::Answer(Answer::Success(GRANT));
const TEMPORARY: Event = Event::Answer(Answer::Temporary { result_code: 3002 });
const FAILED: Event = Event::Answer(Answer::Failed { result_code: 5012 });
const DENIED: Event = Event::Answer(Answer::Denied);
const USER_UNKNOWN: Event = Event::Answer(Answer::UserUnknown);
const NOT_APPLICABLE: Event = Event::Answer(Answer::NotApplicable);
const STORE_AGAIN: Step = Step::Store { is_retransmit: true };
const STORE: Step = Step::Store { is_retransmit: false };

use DebitingFailureHandling::{Continue, TerminateOrBuffer};
use RequestedAction::{CheckBalance, DirectDebiting, PriceEnquiry, RefundAccount};

fn pending(requested_action: RequestedAction, failure_handling: DebitingFailureHandling) -> OneTime {
    let mut one = OneTime::new(Config { failure_handling, ..Config::new(requested_action) });
    let now = Instant::now();
    assert_eq!(one.handle(Event::Start, now), [Step::SendEvent]);
    assert_eq!(one.state(), State::PendingE { tx: Some(now + TX_DEFAULT) });
    one
}

/// A debit whose Tx expired.
fn expired(failure_handling: DebitingFailureHandling) -> OneTime {
    let mut one = pending(DirectDebiting, failure_handling);
    let due = one.poll_timeout().unwrap();
    assert_eq!(one.handle_timeout(due - Duration::from_millis(1)), []);
    assert_eq!(one.handle_timeout(due), [Step::GrantService]);
    assert_eq!((one.state(), one.poll_timeout()), (State::PendingE { tx: None }, None));
    one
}

/// The event ends it with these steps.
#[track_caller]
fn row(mut one: OneTime, event: Event, steps: &[Step]) {
    assert_eq!(one.handle(event, Instant::now()), steps);
    assert_eq!(one.state(), State::Idle);
}

#[test]
fn a_successful_event_grants_the_service() {
    for action in [DirectDebiting, RefundAccount, CheckBalance, PriceEnquiry] {
        row(pending(action, TerminateOrBuffer), SUCCESS, &[Step::GrantService]);
    }
    row(expired(TerminateOrBuffer), SUCCESS, &[Step::GrantService]);
}

#[test]
fn an_enquiry_that_fails_is_a_service_error() {
    for action in [CheckBalance, PriceEnquiry] {
        for event in [Event::FailureToSend, TEMPORARY, FAILED, DENIED] {
            row(pending(action, Continue), event, &[Step::IndicateError]);
        }
        let mut one = pending(action, Continue);
        let due = one.poll_timeout().unwrap();
        assert_eq!(one.handle_timeout(due), [Step::IndicateError]);
        assert_eq!(one.state(), State::Idle);
    }
}

#[test]
fn a_denied_debit_terminates_the_service_while_tx_runs() {
    for handling in [Continue, TerminateOrBuffer] {
        row(pending(DirectDebiting, handling), DENIED, &[Step::TerminateService]);
        row(pending(DirectDebiting, handling), USER_UNKNOWN, &[Step::TerminateService]);
    }
}

#[test]
fn a_debit_that_credit_control_does_not_apply_to_grants_the_service() {
    for handling in [Continue, TerminateOrBuffer] {
        row(pending(DirectDebiting, handling), NOT_APPLICABLE, &[Step::GrantService]);
    }
}

#[test]
fn a_debit_that_fails_under_continue_grants_the_service() {
    for event in [Event::FailureToSend, TEMPORARY, FAILED] {
        row(pending(DirectDebiting, Continue), event, &[Step::GrantService]);
    }
}

#[test]
fn a_debit_that_fails_under_terminate_or_buffer_terminates_while_tx_runs() {
    for event in [FAILED, TEMPORARY] {
        row(pending(DirectDebiting, TerminateOrBuffer), event, &[Step::TerminateService]);
    }
}

#[test]
fn a_debit_that_cannot_be_sent_is_stored_with_the_t_bit() {
    row(pending(DirectDebiting, TerminateOrBuffer), Event::FailureToSend, &[STORE_AGAIN]);
    row(expired(TerminateOrBuffer), Event::FailureToSend, &[STORE_AGAIN]);
}

#[test]
fn a_debit_after_tx_is_stored_on_a_temporary_error_and_forgotten_on_a_failed_answer() {
    row(expired(TerminateOrBuffer), TEMPORARY, &[STORE]);
    for handling in [Continue, TerminateOrBuffer] {
        for event in [FAILED, DENIED, USER_UNKNOWN] {
            row(expired(handling), event, &[]);
        }
    }
}

#[test]
fn a_refund_that_fails_is_deleted_and_one_whose_fate_is_unknown_is_stored() {
    row(pending(RefundAccount, TerminateOrBuffer), FAILED, &[Step::IndicateError, Step::DeleteRequest]);
    row(pending(RefundAccount, TerminateOrBuffer), Event::FailureToSend, &[STORE_AGAIN]);
    row(pending(RefundAccount, TerminateOrBuffer), TEMPORARY, &[STORE]);
    let mut one = pending(RefundAccount, TerminateOrBuffer);
    let due = one.poll_timeout().unwrap();
    assert_eq!(one.handle_timeout(due), [STORE_AGAIN]);
    assert_eq!(one.state(), State::Idle);
}

#[test]
fn a_stored_request_is_deleted_once_it_is_answered_and_kept_otherwise() {
    let pending_b = || {
        let mut one = OneTime::new(Config::new(DirectDebiting));
        assert_eq!(one.handle(Event::Stored, Instant::now()), [Step::SendStored]);
        assert_eq!((one.state(), one.poll_timeout()), (State::PendingB, None));
        one
    };
    for event in [SUCCESS, FAILED, DENIED] {
        row(pending_b(), event, &[Step::DeleteRequest]);
    }
    for event in [Event::FailureToSend, TEMPORARY] {
        row(pending_b(), event, &[]);
    }
}

#[test]
fn an_event_goes_to_an_alternative_server_once() {
    let mut one = OneTime::new(Config { has_alternative: true, ..Config::new(RefundAccount) });
    let now = Instant::now();
    one.handle(Event::Start, now);
    assert_eq!(one.handle(TEMPORARY, now), [Step::SendElsewhere { is_retransmit: false }]);
    assert!(matches!(one.state(), State::PendingE { tx: Some(_) }));
    row(one, Event::FailureToSend, &[STORE_AGAIN]);
}
