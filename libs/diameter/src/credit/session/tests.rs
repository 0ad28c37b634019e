//! Each row of the table, and what is between them.

use super::*;

const TCC: Duration = Duration::from_secs(1_200);
const SUCCESS: Duty = Duty { answer: AnswerDuty::Success, ..REST };
const FAILURE: Duty = Duty { answer: AnswerDuty::Failure, ..REST };

fn open(now: Instant) -> Open {
    Idle.initial_processed(0, TCC, now).state
}

#[test]
fn idle_an_initial_request_that_succeeds_opens_the_session_and_starts_tcc() {
    let now = Instant::now();
    let step = Idle.initial_processed(0, TCC, now);
    assert_eq!(step.state, Open { number: 0, deadline: now + TCC });
    assert_eq!(step.duty, Duty { reserve: true, tcc: TccDuty::Start(now + TCC), ..SUCCESS });
}

#[test]
fn idle_an_initial_request_that_fails_is_answered_and_nothing_opens() {
    assert_eq!(Idle.initial_failed(), Transition { state: Idle, duty: FAILURE });
}

#[test]
fn idle_an_event_that_succeeds_is_answered_and_nothing_opens() {
    assert_eq!(Idle.event_processed(), Transition { state: Idle, duty: SUCCESS });
}

#[test]
fn idle_an_event_that_fails_is_answered_and_nothing_opens() {
    assert_eq!(Idle.event_failed(), Transition { state: Idle, duty: FAILURE });
}

#[test]
fn open_an_update_that_succeeds_debits_reserves_and_restarts_tcc() {
    let now = Instant::now();
    let later = now + Duration::from_secs(100);
    let step = open(now).update_processed(1, TCC * 2, later);
    assert_eq!(step.state, Open { number: 1, deadline: later + TCC * 2 });
    let tcc = TccDuty::Start(later + TCC * 2);
    assert_eq!(step.duty, Duty { debit_used: true, reserve: true, tcc, ..SUCCESS });
}

#[test]
fn open_an_update_that_fails_debits_and_ends_the_session() {
    let step = open(Instant::now()).update_failed();
    assert_eq!(step.state, Idle);
    assert_eq!(step.duty, Duty { debit_used: true, release_reserved: true, tcc: TccDuty::Stop, ..FAILURE });
}

#[test]
fn open_a_termination_that_succeeds_stops_tcc_debits_and_ends_the_session() {
    let step = open(Instant::now()).termination_processed();
    assert_eq!(step.state, Idle);
    assert_eq!(step.duty, Duty { debit_used: true, release_reserved: true, tcc: TccDuty::Stop, ..SUCCESS });
}

#[test]
fn open_a_termination_that_fails_debits_and_ends_the_session() {
    let step = open(Instant::now()).termination_failed();
    assert_eq!(step.duty, Duty { debit_used: true, release_reserved: true, tcc: TccDuty::Stop, ..FAILURE });
}

#[test]
fn open_when_tcc_expires_the_reservation_is_released() {
    let now = Instant::now();
    let session = open(now);
    assert_eq!(session.handle_timeout(session.poll_timeout() - Duration::from_nanos(1)), Err(session));
    let step = session.handle_timeout(session.poll_timeout()).unwrap();
    assert_eq!(step, Transition { state: Idle, duty: Duty { release_reserved: true, ..REST } });
}

#[test]
fn tcc_is_twice_the_validity_time_or_as_configured() {
    let supervision = Supervision { without_validity: Duration::from_secs(77) };
    assert_eq!(supervision.tcc(Some(600)), TCC);
    assert_eq!(supervision.tcc(None), Duration::from_secs(77));
    assert_eq!(supervision.tcc(Some(u32::MAX)), Duration::from_secs(8_589_934_590), "no overflow");
}

#[test]
fn numbers_tell_the_next_request_from_duplicates_and_gaps() {
    let session = ServerSession::Open(Open::resume(5, TCC, Instant::now()));
    for kind in [RequestType::Update, RequestType::Termination] {
        for number in 0..=5 {
            assert_eq!(session.admit(kind, number), Admission::Duplicate, "{number}");
        }
        assert_eq!(session.admit(kind, 6), Admission::Process);
        assert_eq!(session.admit(kind, 7), Admission::Gap { expected: 6 });
        assert_eq!(session.admit(kind, u32::MAX), Admission::Gap { expected: 6 });
    }
    let last = ServerSession::Open(Open::resume(u32::MAX, TCC, Instant::now()));
    assert_eq!(
        last.admit(RequestType::Update, u32::MAX),
        Admission::Duplicate,
        "nothing is after the last number"
    );
}

#[test]
fn what_the_table_does_not_have_is_refused() {
    let unknown = Admission::Refuse { result_code: 5002 };
    let idle = ServerSession::Idle(open(Instant::now()).termination_processed().state);
    assert_eq!(idle.admit(RequestType::Update, 2), unknown, "an update after the termination");
    assert_eq!(idle.admit(RequestType::Termination, 2), unknown, "a second termination");
    assert_eq!(idle.admit(RequestType::Initial, 0), Admission::Process);
    assert_eq!(idle.admit(RequestType::Event, 0), Admission::Process);
    let session = ServerSession::Open(open(Instant::now()));
    assert_eq!(session.admit(RequestType::Initial, 0), Admission::Duplicate);
    for kind in [RequestType::Initial, RequestType::Event] {
        assert_eq!(session.admit(kind, 1), Admission::Refuse { result_code: 5012 });
    }
}

#[test]
fn an_update_never_takes_the_number_back() {
    let now = Instant::now();
    let session = Open::resume(5, TCC, now);
    assert_eq!(session.update_processed(9, TCC, now).state.number(), 9);
    assert_eq!(session.update_processed(3, TCC, now).state.number(), 5);
}
