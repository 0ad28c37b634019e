//! RFC 8506 section 7, "CLIENT, EVENT BASED": every row of the table, in its order.

use crate::credit::client::one_time::{OneTime, OneTimeConfig, OneTimeEvent, OneTimeState};
use crate::credit::client::{ClientAction, CreditAnswer, Grant, TX_DEFAULT};
use crate::credit::{DebitingFailureHandling, RequestedAction};
use std::time::{Duration, Instant};

const GRANT: Grant = Grant { final_unit: None, validity: None, failure_handling: None, has_failover: None };
const SUCCESS: OneTimeEvent = OneTimeEvent::Answer(CreditAnswer::Success(GRANT));
const TEMPORARY: OneTimeEvent = OneTimeEvent::Answer(CreditAnswer::Temporary { result_code: 3002 });
const FAILED: OneTimeEvent = OneTimeEvent::Answer(CreditAnswer::Failed { result_code: 5012 });
const DENIED: OneTimeEvent = OneTimeEvent::Answer(CreditAnswer::Denied);
const USER_UNKNOWN: OneTimeEvent = OneTimeEvent::Answer(CreditAnswer::UserUnknown);
const NOT_APPLICABLE: OneTimeEvent = OneTimeEvent::Answer(CreditAnswer::NotApplicable);
const STORE_AGAIN: ClientAction = ClientAction::Store { is_retransmit: true };
const STORE: ClientAction = ClientAction::Store { is_retransmit: false };

use DebitingFailureHandling::{Continue, TerminateOrBuffer};
use RequestedAction::{CheckBalance, DirectDebiting, PriceEnquiry, RefundAccount};

fn pending(requested_action: RequestedAction, failure_handling: DebitingFailureHandling) -> OneTime {
    let mut one = OneTime::new(OneTimeConfig { failure_handling, ..OneTimeConfig::new(requested_action) });
    let now = Instant::now();
    assert_eq!(one.handle(OneTimeEvent::Start, now), [ClientAction::SendEvent]);
    assert_eq!(one.state(), OneTimeState::PendingE { tx: Some(now + TX_DEFAULT) });
    one
}

/// A debit whose Tx expired.
fn expired(failure_handling: DebitingFailureHandling) -> OneTime {
    let mut one = pending(DirectDebiting, failure_handling);
    let due = one.poll_timeout().unwrap();
    assert_eq!(one.handle_timeout(due - Duration::from_millis(1)), []);
    assert_eq!(one.handle_timeout(due), [ClientAction::GrantService]);
    assert_eq!((one.state(), one.poll_timeout()), (OneTimeState::PendingE { tx: None }, None));
    one
}

/// The event ends it with these steps.
#[track_caller]
fn row(mut one: OneTime, event: OneTimeEvent, steps: &[ClientAction]) {
    assert_eq!(one.handle(event, Instant::now()), steps);
    assert_eq!(one.state(), OneTimeState::Idle);
}

#[test]
fn a_successful_event_grants_the_service() {
    for action in [DirectDebiting, RefundAccount, CheckBalance, PriceEnquiry] {
        row(pending(action, TerminateOrBuffer), SUCCESS, &[ClientAction::GrantService]);
    }
    row(expired(TerminateOrBuffer), SUCCESS, &[ClientAction::GrantService]);
}

#[test]
fn an_enquiry_that_fails_is_a_service_error() {
    for action in [CheckBalance, PriceEnquiry] {
        for event in [OneTimeEvent::FailureToSend, TEMPORARY, FAILED, DENIED] {
            row(pending(action, Continue), event, &[ClientAction::IndicateError]);
        }
        let mut one = pending(action, Continue);
        let due = one.poll_timeout().unwrap();
        assert_eq!(one.handle_timeout(due), [ClientAction::IndicateError]);
        assert_eq!(one.state(), OneTimeState::Idle);
    }
}

#[test]
fn a_denied_debit_terminates_the_service_while_tx_runs() {
    for handling in [Continue, TerminateOrBuffer] {
        row(pending(DirectDebiting, handling), DENIED, &[ClientAction::TerminateService]);
        row(pending(DirectDebiting, handling), USER_UNKNOWN, &[ClientAction::TerminateService]);
    }
}

#[test]
fn a_debit_that_credit_control_does_not_apply_to_grants_the_service() {
    for handling in [Continue, TerminateOrBuffer] {
        row(pending(DirectDebiting, handling), NOT_APPLICABLE, &[ClientAction::GrantService]);
    }
}

#[test]
fn a_debit_that_fails_under_continue_grants_the_service() {
    for event in [OneTimeEvent::FailureToSend, TEMPORARY, FAILED] {
        row(pending(DirectDebiting, Continue), event, &[ClientAction::GrantService]);
    }
}

#[test]
fn a_debit_that_fails_under_terminate_or_buffer_terminates_while_tx_runs() {
    for event in [FAILED, TEMPORARY] {
        row(pending(DirectDebiting, TerminateOrBuffer), event, &[ClientAction::TerminateService]);
    }
}

#[test]
fn a_debit_that_cannot_be_sent_is_stored_with_the_t_bit() {
    row(pending(DirectDebiting, TerminateOrBuffer), OneTimeEvent::FailureToSend, &[STORE_AGAIN]);
    row(expired(TerminateOrBuffer), OneTimeEvent::FailureToSend, &[STORE_AGAIN]);
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
    row(
        pending(RefundAccount, TerminateOrBuffer),
        FAILED,
        &[ClientAction::IndicateError, ClientAction::DeleteRequest],
    );
    row(pending(RefundAccount, TerminateOrBuffer), OneTimeEvent::FailureToSend, &[STORE_AGAIN]);
    row(pending(RefundAccount, TerminateOrBuffer), TEMPORARY, &[STORE]);
    let mut one = pending(RefundAccount, TerminateOrBuffer);
    let due = one.poll_timeout().unwrap();
    assert_eq!(one.handle_timeout(due), [STORE_AGAIN]);
    assert_eq!(one.state(), OneTimeState::Idle);
}

#[test]
fn a_stored_request_is_deleted_once_it_is_answered_and_kept_otherwise() {
    let pending_b = || {
        let mut one = OneTime::new(OneTimeConfig::new(DirectDebiting));
        assert_eq!(one.handle(OneTimeEvent::Stored, Instant::now()), [ClientAction::SendStored]);
        assert_eq!((one.state(), one.poll_timeout()), (OneTimeState::PendingB, None));
        one
    };
    for event in [SUCCESS, FAILED, DENIED] {
        row(pending_b(), event, &[ClientAction::DeleteRequest]);
    }
    for event in [OneTimeEvent::FailureToSend, TEMPORARY] {
        row(pending_b(), event, &[]);
    }
}

#[test]
fn an_event_goes_to_an_alternative_server_once() {
    let mut one = OneTime::new(OneTimeConfig { has_alternative: true, ..OneTimeConfig::new(RefundAccount) });
    let now = Instant::now();
    one.handle(OneTimeEvent::Start, now);
    assert_eq!(one.handle(TEMPORARY, now), [ClientAction::SendElsewhere { is_retransmit: false }]);
    assert!(matches!(one.state(), OneTimeState::PendingE { tx: Some(_) }));
    row(one, OneTimeEvent::FailureToSend, &[STORE_AGAIN]);
}
