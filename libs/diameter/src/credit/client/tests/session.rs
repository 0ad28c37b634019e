//! RFC 8506 section 7, "CLIENT, SESSION BASED": every row of the three tables, in their order.

use crate::credit::FailureHandling;
use crate::credit::client::session::{
    ClientSession, Idle, Open, PendingAa, PendingI, PendingT, PendingU, SessionConfig, SessionEvent,
    SessionState,
};
use crate::credit::client::{ClientAction, CreditAnswer, FinalUnitAction, Grant, TX_DEFAULT};
use proptest::prelude::*;
use std::time::{Duration, Instant};

const CCFH: [FailureHandling; 3] =
    [FailureHandling::Terminate, FailureHandling::Continue, FailureHandling::RetryAndTerminate];
const GRANT: Grant = Grant { final_unit: None, validity: None, failure_handling: None, has_failover: None };
const SUCCESS: SessionEvent = SessionEvent::Answer(CreditAnswer::Success(GRANT));
const TEMPORARY: SessionEvent = SessionEvent::Answer(CreditAnswer::Temporary { result_code: 3004 });
const FAILED: SessionEvent = SessionEvent::Answer(CreditAnswer::Failed { result_code: 5012 });
const DENIED: SessionEvent = SessionEvent::Answer(CreditAnswer::Denied);
const USER_UNKNOWN: SessionEvent = SessionEvent::Answer(CreditAnswer::UserUnknown);
const NOT_APPLICABLE: SessionEvent = SessionEvent::Answer(CreditAnswer::NotApplicable);
const AGAIN: [ClientAction; 1] = [ClientAction::SendElsewhere { is_retransmit: true }];
const MOVED: [ClientAction; 1] = [ClientAction::SendElsewhere { is_retransmit: false }];

/// A session, and its moment.
struct Case {
    session: ClientSession,
    now: Instant,
}

impl Case {
    fn new(config: SessionConfig) -> Case {
        let now = Instant::now();
        Case { session: ClientSession::new(config, now), now }
    }

    /// An event does these steps and leads there.
    #[track_caller]
    fn row(&mut self, event: SessionEvent, steps: &[ClientAction], to: impl Into<SessionState>) -> &mut Case {
        assert_eq!(self.session.handle(event, self.now), steps);
        assert_eq!(self.session.state(), to.into());
        self
    }

    #[track_caller]
    fn tx_expires(&mut self, steps: &[ClientAction], to: impl Into<SessionState>) -> &mut Case {
        let due = self.session.poll_timeout().expect("Tx runs");
        assert_eq!(due, self.now + TX_DEFAULT);
        assert_eq!(self.session.handle_timeout(due - Duration::from_millis(1)), []);
        self.now = due;
        assert_eq!(self.session.handle_timeout(due), steps);
        assert_eq!(self.session.state(), to.into());
        assert_eq!(self.session.poll_timeout(), None);
        self
    }
}

fn ccfh(failure_handling: FailureHandling) -> SessionConfig {
    SessionConfig { failure_handling, ..SessionConfig::default() }
}

/// What the user's service becomes when credit control fails.
fn fate(failure_handling: FailureHandling) -> [ClientAction; 1] {
    match failure_handling {
        FailureHandling::Continue => [ClientAction::GrantService],
        FailureHandling::Terminate | FailureHandling::RetryAndTerminate => [ClientAction::TerminateService],
    }
}

fn pending_aa() -> Case {
    let mut case = Case::new(SessionConfig { is_first_by_aa: true, ..SessionConfig::default() });
    case.row(SessionEvent::Start, &[ClientAction::SendAaRequest], PendingAa);
    case
}

fn pending_i(config: SessionConfig) -> Case {
    let mut case = Case::new(config);
    case.row(SessionEvent::Start, &[ClientAction::SendInitial(0)], PendingI);
    case
}

fn open(config: SessionConfig) -> Case {
    let mut case = pending_i(config);
    case.row(SUCCESS, &[], Open);
    case
}

fn pending_u(config: SessionConfig) -> Case {
    let mut case = open(config);
    case.row(SessionEvent::UnitsElapsed, &[ClientAction::SendUpdate(1)], PendingU);
    case
}

#[test]
fn first_interrogation_with_aa_request() {
    pending_aa().row(SUCCESS, &[ClientAction::GrantService], Open);
    pending_aa().tx_expires(&[ClientAction::TerminateService], Idle);
    pending_aa().row(FAILED, &[ClientAction::TerminateService], Idle);
    pending_aa().row(NOT_APPLICABLE, &[ClientAction::GrantService], Idle);
    let queued = [ClientAction::GrantService, ClientAction::SendTermination(1)];
    pending_aa().row(SessionEvent::Terminated, &[], PendingAa).row(SUCCESS, &queued, PendingT);
    let queued = [ClientAction::GrantService, ClientAction::SendUpdate(1)];
    pending_aa().row(SessionEvent::RatingChanged, &[], PendingAa).row(SUCCESS, &queued, PendingU);
}

#[test]
fn first_interrogation_with_ccr_that_succeeds_stops_tx() {
    assert_eq!(open(SessionConfig::default()).session.poll_timeout(), None);
}

#[test]
fn first_interrogation_with_ccr_that_fails_does_as_ccfh_says() {
    for handling in CCFH {
        for event in [SessionEvent::FailureToSend, TEMPORARY, FAILED] {
            pending_i(ccfh(handling)).row(event, &fate(handling), Idle);
        }
    }
}

#[test]
fn first_interrogation_with_ccr_and_no_answer_within_tx() {
    pending_i(ccfh(FailureHandling::Terminate)).tx_expires(&[ClientAction::TerminateService], Idle);
    for handling in [FailureHandling::Continue, FailureHandling::RetryAndTerminate] {
        pending_i(ccfh(handling)).tx_expires(&[ClientAction::GrantService], PendingI).row(SUCCESS, &[], Open);
        let mut case = pending_i(ccfh(handling));
        case.tx_expires(&[ClientAction::GrantService], PendingI).row(
            SessionEvent::FailureToSend,
            &fate(handling),
            Idle,
        );
    }
}

#[test]
fn first_interrogation_with_ccr_denied_whatever_ccfh_says() {
    for handling in CCFH {
        pending_i(ccfh(handling)).row(DENIED, &[ClientAction::TerminateService], Idle);
        pending_i(ccfh(handling)).row(USER_UNKNOWN, &[ClientAction::TerminateService], Idle);
        pending_i(ccfh(handling)).row(NOT_APPLICABLE, &[ClientAction::GrantService], Idle);
    }
}

#[test]
fn what_happens_during_the_first_interrogation_is_queued() {
    let mut case = pending_i(SessionConfig::default());
    case.row(SessionEvent::Terminated, &[], PendingI).row(
        SUCCESS,
        &[ClientAction::SendTermination(1)],
        PendingT,
    );
    let mut case = pending_i(SessionConfig::default());
    case.row(SessionEvent::RatingChanged, &[], PendingI).row(
        SUCCESS,
        &[ClientAction::SendUpdate(1)],
        PendingU,
    );
    // Of both the termination goes first: there is nothing left to rate.
    let mut case = pending_i(SessionConfig::default());
    case.row(SessionEvent::RatingChanged, &[], PendingI).row(SessionEvent::Terminated, &[], PendingI);
    case.row(SUCCESS, &[ClientAction::SendTermination(1)], PendingT);
}

#[test]
fn open_units_elapse() {
    open(SessionConfig::default()).row(SessionEvent::UnitsElapsed, &[ClientAction::SendUpdate(1)], PendingU);
    let last = |action| {
        let mut case = pending_i(SessionConfig::default());
        let grant = Grant { final_unit: Some(action), ..GRANT };
        case.row(SessionEvent::Answer(CreditAnswer::Success(grant)), &[], Open);
        case
    };
    let steps = [ClientAction::TerminateService, ClientAction::SendTermination(1)];
    last(FinalUnitAction::Terminate).row(SessionEvent::UnitsElapsed, &steps, PendingT);
    for action in [FinalUnitAction::Redirect, FinalUnitAction::RestrictAccess] {
        let steps = [ClientAction::ApplyFinalUnitAction(action), ClientAction::SendUpdate(1)];
        last(action).row(SessionEvent::UnitsElapsed, &steps, PendingU);
    }
}

#[test]
fn open_rating_changes_or_the_service_terminates_or_an_rar_comes() {
    open(SessionConfig::default()).row(SessionEvent::RatingChanged, &[ClientAction::SendUpdate(1)], PendingU);
    open(SessionConfig::default()).row(
        SessionEvent::Terminated,
        &[ClientAction::SendTermination(1)],
        PendingT,
    );
    let steps = [ClientAction::SendRaa, ClientAction::SendUpdate(1)];
    open(SessionConfig::default()).row(SessionEvent::ReAuthorization, &steps, PendingU);
}

#[test]
fn open_the_validity_time_elapses() {
    let mut case = pending_i(SessionConfig::default());
    let validity = Some(Duration::from_secs(60));
    case.row(SessionEvent::Answer(CreditAnswer::Success(Grant { validity, ..GRANT })), &[], Open);
    let due = case.session.poll_timeout().unwrap();
    assert_eq!(due, case.now + Duration::from_secs(60));
    assert_eq!(case.session.handle_timeout(due - Duration::from_secs(1)), []);
    assert_eq!(case.session.handle_timeout(due), [ClientAction::SendUpdate(1)]);
    assert_eq!(case.session.state(), PendingU.into());
    assert_eq!(case.session.poll_timeout(), Some(due + TX_DEFAULT));
}

#[test]
fn pending_u_succeeds_and_numbers_go_on() {
    let mut case = pending_u(SessionConfig::default());
    case.row(SUCCESS, &[], Open);
    assert_eq!(case.session.poll_timeout(), None);
    case.row(SessionEvent::UnitsElapsed, &[ClientAction::SendUpdate(2)], PendingU).row(SUCCESS, &[], Open);
    case.row(SessionEvent::Terminated, &[ClientAction::SendTermination(3)], PendingT);
}

#[test]
fn pending_u_fails_as_ccfh_says() {
    for handling in CCFH {
        for event in [SessionEvent::FailureToSend, TEMPORARY, FAILED, USER_UNKNOWN] {
            pending_u(ccfh(handling)).row(event, &fate(handling), Idle);
        }
        pending_u(ccfh(handling)).row(DENIED, &[ClientAction::TerminateService], Idle);
        pending_u(ccfh(handling)).row(NOT_APPLICABLE, &[ClientAction::GrantService], Idle);
    }
}

#[test]
fn pending_u_and_no_answer_within_tx() {
    pending_u(ccfh(FailureHandling::Terminate)).tx_expires(&[ClientAction::TerminateService], Idle);
    for handling in [FailureHandling::Continue, FailureHandling::RetryAndTerminate] {
        pending_u(ccfh(handling)).tx_expires(&[ClientAction::GrantService], PendingU).row(SUCCESS, &[], Open);
    }
}

#[test]
fn what_happens_during_an_update_is_queued_and_an_rar_is_answered() {
    let mut case = pending_u(SessionConfig::default());
    case.row(SessionEvent::Terminated, &[], PendingU).row(
        SUCCESS,
        &[ClientAction::SendTermination(2)],
        PendingT,
    );
    let mut case = pending_u(SessionConfig::default());
    case.row(SessionEvent::RatingChanged, &[], PendingU).row(
        SUCCESS,
        &[ClientAction::SendUpdate(2)],
        PendingU,
    );
    case.row(SUCCESS, &[], Open);
    pending_u(SessionConfig::default()).row(
        SessionEvent::ReAuthorization,
        &[ClientAction::SendRaa],
        PendingU,
    );
}

#[test]
fn pending_t_ends_whatever_comes() {
    for event in [SUCCESS, SessionEvent::FailureToSend, TEMPORARY, FAILED, DENIED] {
        let mut case = open(ccfh(FailureHandling::Continue));
        case.row(SessionEvent::Terminated, &[ClientAction::SendTermination(1)], PendingT);
        assert_eq!(case.session.poll_timeout(), None);
        case.row(SessionEvent::RatingChanged, &[], PendingT).row(event, &[], Idle);
    }
}

#[test]
fn what_no_row_names_changes_nothing() {
    let mut case = Case::new(SessionConfig::default());
    for event in [
        SUCCESS,
        SessionEvent::FailureToSend,
        SessionEvent::UnitsElapsed,
        SessionEvent::Terminated,
        SessionEvent::ReAuthorization,
    ] {
        case.row(event, &[], Idle);
    }
    open(SessionConfig::default()).row(SUCCESS, &[], Open).row(SessionEvent::Start, &[], Open);
    pending_u(SessionConfig::default()).row(SessionEvent::UnitsElapsed, &[], PendingU);
}

#[test]
fn a_session_that_ended_may_begin_anew_as_if_nothing_had_been() {
    let mut case = pending_u(ccfh(FailureHandling::Continue));
    case.row(SessionEvent::Terminated, &[], PendingU).row(DENIED, &[ClientAction::TerminateService], Idle);
    case.row(SessionEvent::Start, &[ClientAction::SendInitial(0)], PendingI).row(SUCCESS, &[], Open);
}

#[test]
fn an_answer_overrides_ccfh() {
    let mut case = pending_i(ccfh(FailureHandling::Terminate));
    let grant = Grant { failure_handling: Some(FailureHandling::Continue), ..GRANT };
    case.row(SessionEvent::Answer(CreditAnswer::Success(grant)), &[], Open);
    case.row(SessionEvent::UnitsElapsed, &[ClientAction::SendUpdate(1)], PendingU);
    case.row(SessionEvent::FailureToSend, &[ClientAction::GrantService], Idle);
}

#[test]
fn a_request_moves_to_an_alternative_server_once() {
    let config = SessionConfig {
        has_alternative: true,
        has_failover: true,
        ..ccfh(FailureHandling::RetryAndTerminate)
    };
    let mut case = pending_u(config);
    case.row(SessionEvent::FailureToSend, &AGAIN, PendingU).row(
        SessionEvent::FailureToSend,
        &[ClientAction::TerminateService],
        Idle,
    );
    let mut case = pending_u(config);
    case.row(TEMPORARY, &MOVED, PendingU).row(SUCCESS, &[], Open);
    // The next request may move again.
    case.row(SessionEvent::UnitsElapsed, &[ClientAction::SendUpdate(2)], PendingU)
        .row(TEMPORARY, &MOVED, PendingU);
    let mut case = pending_u(config);
    case.tx_expires(&[ClientAction::GrantService], PendingU).row(
        SessionEvent::FailureToSend,
        &AGAIN,
        PendingU,
    );
}

#[test]
fn a_session_that_may_not_move_stays_but_a_new_one_may_go_anywhere() {
    let config = SessionConfig { has_alternative: true, ..ccfh(FailureHandling::Continue) };
    pending_u(config).row(SessionEvent::FailureToSend, &[ClientAction::GrantService], Idle);
    pending_i(config).row(SessionEvent::FailureToSend, &AGAIN, PendingI).row(SUCCESS, &[], Open);
}

#[test]
fn under_terminate_only_a_protocol_error_before_tx_moves_a_request() {
    let config = SessionConfig { has_alternative: true, has_failover: true, ..SessionConfig::default() };
    pending_u(config).row(TEMPORARY, &MOVED, PendingU);
    pending_u(config).row(SessionEvent::FailureToSend, &[ClientAction::TerminateService], Idle);
    let looped = SessionEvent::Answer(CreditAnswer::Temporary { result_code: 3005 });
    pending_u(config).row(looped, &[ClientAction::TerminateService], Idle);
}

proptest! {
    /// Whatever comes in whatever order: numbers go up by one, one request is out at a time, and once nothing
    /// more comes but failures to send and an order to terminate, the session ends.
    #[test]
    fn a_session_keeps_count_and_comes_to_its_end(
        config in (0_usize..3, any::<bool>(), any::<bool>(), any::<bool>()),
        events in prop::collection::vec((0_usize..12, 0_u64..15), 0..60),
    ) {
        let (handling, has_failover, has_alternative, is_first_by_aa) = config;
        let config =
            SessionConfig { has_failover, has_alternative, is_first_by_aa, ..ccfh(CCFH[handling]) };
        let all = [
            SessionEvent::Start, SUCCESS, TEMPORARY, FAILED, DENIED, USER_UNKNOWN, NOT_APPLICABLE,
            SessionEvent::FailureToSend, SessionEvent::UnitsElapsed, SessionEvent::RatingChanged,
            SessionEvent::Terminated, SessionEvent::ReAuthorization,
        ];
        let mut now = Instant::now();
        let mut session = ClientSession::new(config, now);
        let mut next = 0;
        for (event, seconds) in events {
            now += Duration::from_secs(seconds);
            let mut steps = Vec::new();
            if session.poll_timeout().is_some_and(|due| due <= now) {
                steps.extend(session.handle_timeout(now));
                prop_assert!(session.poll_timeout().is_none_or(|due| due > now), "a timer fires once");
            }
            if matches!(session.state(), SessionState::Idle(_)) {
                next = 0;
            }
            steps.extend(session.handle(all[event], now));
            for step in &steps {
                if let ClientAction::SendInitial(number)
                | ClientAction::SendUpdate(number)
                | ClientAction::SendTermination(number) = step
                {
                    prop_assert_eq!(*number, next);
                }
                next += u32::from(matches!(
                    step,
                    ClientAction::SendAaRequest
                        | ClientAction::SendInitial(_)
                        | ClientAction::SendUpdate(_)
                        | ClientAction::SendTermination(_)
                ));
            }
        }
        let failure = SessionEvent::FailureToSend;
        for event in [failure, failure, SessionEvent::Terminated, failure] {
            session.handle(event, now);
        }
        prop_assert_eq!(session.state(), Idle.into());
    }
}
