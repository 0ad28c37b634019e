//! RFC 8506 section 7, "CLIENT, SESSION BASED": every row of the three tables, in their order.

use crate::credit::FailureHandling;
use crate::credit::client::session::{
    Config, Event, Idle, Open, PendingAa, PendingI, PendingT, PendingU, Session, State,
};
use crate::credit::client::{Answer, FinalUnitAction, Grant, Step, TX_DEFAULT};
use proptest::prelude::*;
use std::time::{Duration, Instant};

const CCFH: [FailureHandling; 3] =
    [FailureHandling::Terminate, FailureHandling::Continue, FailureHandling::RetryAndTerminate];
const GRANT: Grant = Grant { final_unit: None, validity: None, failure_handling: None, has_failover: None };
const SUCCESS: Event = Event::Answer(Answer::Success(GRANT));
const TEMPORARY: Event = Event::Answer(Answer::Temporary { result_code: 3004 });
const FAILED: Event = Event::Answer(Answer::Failed { result_code: 5012 });
const DENIED: Event = Event::Answer(Answer::Denied);
const USER_UNKNOWN: Event = Event::Answer(Answer::UserUnknown);
const NOT_APPLICABLE: Event = Event::Answer(Answer::NotApplicable);
const AGAIN: [Step; 1] = [Step::SendElsewhere { is_retransmit: true }];
const MOVED: [Step; 1] = [Step::SendElsewhere { is_retransmit: false }];

/// A session, and its moment.
struct Case {
    session: Session,
    now: Instant,
}

impl Case {
    fn new(config: Config) -> Case {
        let now = Instant::now();
        Case { session: Session::new(config, now), now }
    }

    /// An event does these steps and leads there.
    #[track_caller]
    fn row(&mut self, event: Event, steps: &[Step], to: impl Into<State>) -> &mut Case {
        assert_eq!(self.session.handle(event, self.now), steps);
        assert_eq!(self.session.state(), to.into());
        self
    }

    #[track_caller]
    fn tx_expires(&mut self, steps: &[Step], to: impl Into<State>) -> &mut Case {
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

fn ccfh(failure_handling: FailureHandling) -> Config {
    Config { failure_handling, ..Config::default() }
}

/// What the user's service becomes when credit control fails.
fn fate(failure_handling: FailureHandling) -> [Step; 1] {
    match failure_handling {
        FailureHandling::Continue => [Step::GrantService],
        FailureHandling::Terminate | FailureHandling::RetryAndTerminate => [Step::TerminateService],
    }
}

fn pending_aa() -> Case {
    let mut case = Case::new(Config { is_first_by_aa: true, ..Config::default() });
    case.row(Event::Start, &[Step::SendAaRequest], PendingAa);
    case
}

fn pending_i(config: Config) -> Case {
    let mut case = Case::new(config);
    case.row(Event::Start, &[Step::SendInitial(0)], PendingI);
    case
}

fn open(config: Config) -> Case {
    let mut case = pending_i(config);
    case.row(SUCCESS, &[], Open);
    case
}

fn pending_u(config: Config) -> Case {
    let mut case = open(config);
    case.row(Event::UnitsElapsed, &[Step::SendUpdate(1)], PendingU);
    case
}

#[test]
fn first_interrogation_with_aa_request() {
    pending_aa().row(SUCCESS, &[Step::GrantService], Open);
    pending_aa().tx_expires(&[Step::TerminateService], Idle);
    pending_aa().row(FAILED, &[Step::TerminateService], Idle);
    pending_aa().row(NOT_APPLICABLE, &[Step::GrantService], Idle);
    let queued = [Step::GrantService, Step::SendTermination(1)];
    pending_aa().row(Event::Terminated, &[], PendingAa).row(SUCCESS, &queued, PendingT);
    let queued = [Step::GrantService, Step::SendUpdate(1)];
    pending_aa().row(Event::RatingChanged, &[], PendingAa).row(SUCCESS, &queued, PendingU);
}

#[test]
fn first_interrogation_with_ccr_that_succeeds_stops_tx() {
    assert_eq!(open(Config::default()).session.poll_timeout(), None);
}

#[test]
fn first_interrogation_with_ccr_that_fails_does_as_ccfh_says() {
    for handling in CCFH {
        for event in [Event::FailureToSend, TEMPORARY, FAILED] {
            pending_i(ccfh(handling)).row(event, &fate(handling), Idle);
        }
    }
}

#[test]
fn first_interrogation_with_ccr_and_no_answer_within_tx() {
    pending_i(ccfh(FailureHandling::Terminate)).tx_expires(&[Step::TerminateService], Idle);
    for handling in [FailureHandling::Continue, FailureHandling::RetryAndTerminate] {
        pending_i(ccfh(handling)).tx_expires(&[Step::GrantService], PendingI).row(SUCCESS, &[], Open);
        let mut case = pending_i(ccfh(handling));
        case.tx_expires(&[Step::GrantService], PendingI).row(Event::FailureToSend, &fate(handling), Idle);
    }
}

#[test]
fn first_interrogation_with_ccr_denied_whatever_ccfh_says() {
    for handling in CCFH {
        pending_i(ccfh(handling)).row(DENIED, &[Step::TerminateService], Idle);
        pending_i(ccfh(handling)).row(USER_UNKNOWN, &[Step::TerminateService], Idle);
        pending_i(ccfh(handling)).row(NOT_APPLICABLE, &[Step::GrantService], Idle);
    }
}

#[test]
fn what_happens_during_the_first_interrogation_is_queued() {
    let mut case = pending_i(Config::default());
    case.row(Event::Terminated, &[], PendingI).row(SUCCESS, &[Step::SendTermination(1)], PendingT);
    let mut case = pending_i(Config::default());
    case.row(Event::RatingChanged, &[], PendingI).row(SUCCESS, &[Step::SendUpdate(1)], PendingU);
    // Of both the termination goes first: there is nothing left to rate.
    let mut case = pending_i(Config::default());
    case.row(Event::RatingChanged, &[], PendingI).row(Event::Terminated, &[], PendingI);
    case.row(SUCCESS, &[Step::SendTermination(1)], PendingT);
}

#[test]
fn open_units_elapse() {
    open(Config::default()).row(Event::UnitsElapsed, &[Step::SendUpdate(1)], PendingU);
    let last = |action| {
        let mut case = pending_i(Config::default());
        let grant = Grant { final_unit: Some(action), ..GRANT };
        case.row(Event::Answer(Answer::Success(grant)), &[], Open);
        case
    };
    let steps = [Step::TerminateService, Step::SendTermination(1)];
    last(FinalUnitAction::Terminate).row(Event::UnitsElapsed, &steps, PendingT);
    for action in [FinalUnitAction::Redirect, FinalUnitAction::RestrictAccess] {
        let steps = [Step::ApplyFinalUnitAction(action), Step::SendUpdate(1)];
        last(action).row(Event::UnitsElapsed, &steps, PendingU);
    }
}

#[test]
fn open_rating_changes_or_the_service_terminates_or_an_rar_comes() {
    open(Config::default()).row(Event::RatingChanged, &[Step::SendUpdate(1)], PendingU);
    open(Config::default()).row(Event::Terminated, &[Step::SendTermination(1)], PendingT);
    let steps = [Step::SendRaa, Step::SendUpdate(1)];
    open(Config::default()).row(Event::ReAuthorization, &steps, PendingU);
}

#[test]
fn open_the_validity_time_elapses() {
    let mut case = pending_i(Config::default());
    let validity = Some(Duration::from_secs(60));
    case.row(Event::Answer(Answer::Success(Grant { validity, ..GRANT })), &[], Open);
    let due = case.session.poll_timeout().unwrap();
    assert_eq!(due, case.now + Duration::from_secs(60));
    assert_eq!(case.session.handle_timeout(due - Duration::from_secs(1)), []);
    assert_eq!(case.session.handle_timeout(due), [Step::SendUpdate(1)]);
    assert_eq!(case.session.state(), PendingU.into());
    assert_eq!(case.session.poll_timeout(), Some(due + TX_DEFAULT));
}

#[test]
fn pending_u_succeeds_and_numbers_go_on() {
    let mut case = pending_u(Config::default());
    case.row(SUCCESS, &[], Open);
    assert_eq!(case.session.poll_timeout(), None);
    case.row(Event::UnitsElapsed, &[Step::SendUpdate(2)], PendingU).row(SUCCESS, &[], Open);
    case.row(Event::Terminated, &[Step::SendTermination(3)], PendingT);
}

#[test]
fn pending_u_fails_as_ccfh_says() {
    for handling in CCFH {
        for event in [Event::FailureToSend, TEMPORARY, FAILED, USER_UNKNOWN] {
            pending_u(ccfh(handling)).row(event, &fate(handling), Idle);
        }
        pending_u(ccfh(handling)).row(DENIED, &[Step::TerminateService], Idle);
        pending_u(ccfh(handling)).row(NOT_APPLICABLE, &[Step::GrantService], Idle);
    }
}

#[test]
fn pending_u_and_no_answer_within_tx() {
    pending_u(ccfh(FailureHandling::Terminate)).tx_expires(&[Step::TerminateService], Idle);
    for handling in [FailureHandling::Continue, FailureHandling::RetryAndTerminate] {
        pending_u(ccfh(handling)).tx_expires(&[Step::GrantService], PendingU).row(SUCCESS, &[], Open);
    }
}

#[test]
fn what_happens_during_an_update_is_queued_and_an_rar_is_answered() {
    let mut case = pending_u(Config::default());
    case.row(Event::Terminated, &[], PendingU).row(SUCCESS, &[Step::SendTermination(2)], PendingT);
    let mut case = pending_u(Config::default());
    case.row(Event::RatingChanged, &[], PendingU).row(SUCCESS, &[Step::SendUpdate(2)], PendingU);
    case.row(SUCCESS, &[], Open);
    pending_u(Config::default()).row(Event::ReAuthorization, &[Step::SendRaa], PendingU);
}

#[test]
fn pending_t_ends_whatever_comes() {
    for event in [SUCCESS, Event::FailureToSend, TEMPORARY, FAILED, DENIED] {
        let mut case = open(ccfh(FailureHandling::Continue));
        case.row(Event::Terminated, &[Step::SendTermination(1)], PendingT);
        assert_eq!(case.session.poll_timeout(), None);
        case.row(Event::RatingChanged, &[], PendingT).row(event, &[], Idle);
    }
}

#[test]
fn what_no_row_names_changes_nothing() {
    let mut case = Case::new(Config::default());
    for event in
        [SUCCESS, Event::FailureToSend, Event::UnitsElapsed, Event::Terminated, Event::ReAuthorization]
    {
        case.row(event, &[], Idle);
    }
    open(Config::default()).row(SUCCESS, &[], Open).row(Event::Start, &[], Open);
    pending_u(Config::default()).row(Event::UnitsElapsed, &[], PendingU);
}

#[test]
fn a_session_that_ended_may_begin_anew_as_if_nothing_had_been() {
    let mut case = pending_u(ccfh(FailureHandling::Continue));
    case.row(Event::Terminated, &[], PendingU).row(DENIED, &[Step::TerminateService], Idle);
    case.row(Event::Start, &[Step::SendInitial(0)], PendingI).row(SUCCESS, &[], Open);
}

#[test]
fn an_answer_overrides_ccfh() {
    let mut case = pending_i(ccfh(FailureHandling::Terminate));
    let grant = Grant { failure_handling: Some(FailureHandling::Continue), ..GRANT };
    case.row(Event::Answer(Answer::Success(grant)), &[], Open);
    case.row(Event::UnitsElapsed, &[Step::SendUpdate(1)], PendingU);
    case.row(Event::FailureToSend, &[Step::GrantService], Idle);
}

#[test]
fn a_request_moves_to_an_alternative_server_once() {
    let config =
        Config { has_alternative: true, has_failover: true, ..ccfh(FailureHandling::RetryAndTerminate) };
    let mut case = pending_u(config);
    case.row(Event::FailureToSend, &AGAIN, PendingU).row(
        Event::FailureToSend,
        &[Step::TerminateService],
        Idle,
    );
    let mut case = pending_u(config);
    case.row(TEMPORARY, &MOVED, PendingU).row(SUCCESS, &[], Open);
    // The next request may move again.
    case.row(Event::UnitsElapsed, &[Step::SendUpdate(2)], PendingU).row(TEMPORARY, &MOVED, PendingU);
    let mut case = pending_u(config);
    case.tx_expires(&[Step::GrantService], PendingU).row(Event::FailureToSend, &AGAIN, PendingU);
}

#[test]
fn a_session_that_may_not_move_stays_but_a_new_one_may_go_anywhere() {
    let config = Config { has_alternative: true, ..ccfh(FailureHandling::Continue) };
    pending_u(config).row(Event::FailureToSend, &[Step::GrantService], Idle);
    pending_i(config).row(Event::FailureToSend, &AGAIN, PendingI).row(SUCCESS, &[], Open);
}

#[test]
fn under_terminate_only_a_protocol_error_before_tx_moves_a_request() {
    let config = Config { has_alternative: true, has_failover: true, ..Config::default() };
    pending_u(config).row(TEMPORARY, &MOVED, PendingU);
    pending_u(config).row(Event::FailureToSend, &[Step::TerminateService], Idle);
    let looped = Event::Answer(Answer::Temporary { result_code: 3005 });
    pending_u(config).row(looped, &[Step::TerminateService], Idle);
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
            Config { has_failover, has_alternative, is_first_by_aa, ..ccfh(CCFH[handling]) };
        let all = [
            Event::Start, SUCCESS, TEMPORARY, FAILED, DENIED, USER_UNKNOWN, NOT_APPLICABLE, Event::FailureToSend,
            Event::UnitsElapsed, Event::RatingChanged, Event::Terminated, Event::ReAuthorization,
        ];
        let mut now = Instant::now();
        let mut session = Session::new(config, now);
        let mut next = 0;
        for (event, seconds) in events {
            now += Duration::from_secs(seconds);
            let mut steps = Vec::new();
            if session.poll_timeout().is_some_and(|due| due <= now) {
                steps.extend(session.handle_timeout(now));
                prop_assert!(session.poll_timeout().is_none_or(|due| due > now), "a timer fires once");
            }
            if matches!(session.state(), State::Idle(_)) {
                next = 0;
            }
            steps.extend(session.handle(all[event], now));
            for step in &steps {
                if let Step::SendInitial(number) | Step::SendUpdate(number) | Step::SendTermination(number) = step {
                    prop_assert_eq!(*number, next);
                }
                next += u32::from(matches!(
                    step,
                    Step::SendAaRequest | Step::SendInitial(_) | Step::SendUpdate(_) | Step::SendTermination(_)
                ));
            }
        }
        for event in [Event::FailureToSend, Event::FailureToSend, Event::Terminated, Event::FailureToSend] {
            session.handle(event, now);
        }
        prop_assert_eq!(session.state(), Idle.into());
    }
}
