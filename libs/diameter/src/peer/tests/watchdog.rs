//! RFC 3539, appendix A: every row of the table, in its order.

use crate::peer::Random;
use crate::peer::watchdog::{Action, JITTER, TW_DEFAULT, TW_MIN, Watchdog, WatchdogState};
use std::time::{Duration, Instant};

const TC: Duration = Duration::from_secs(10);

fn new() -> (Watchdog, Instant) {
    (Watchdog::new(TW_DEFAULT, TC, Random::new(5)), Instant::now())
}

fn okay() -> (Watchdog, Instant) {
    let (mut watchdog, now) = new();
    watchdog.connection_up(now);
    (watchdog, now)
}

/// OKAY with a DWR that waits.
fn asked() -> (Watchdog, Instant) {
    let (mut watchdog, now) = okay();
    watchdog.timer_expired(now);
    (watchdog, now)
}

fn suspect() -> (Watchdog, Instant) {
    let (mut watchdog, now) = asked();
    watchdog.timer_expired(now);
    (watchdog, now)
}

fn down() -> (Watchdog, Instant) {
    let (mut watchdog, now) = okay();
    watchdog.connection_down(now);
    (watchdog, now)
}

fn reopen() -> (Watchdog, Instant) {
    let (mut watchdog, now) = down();
    watchdog.connection_up(now);
    (watchdog, now)
}

/// SetWatchdog() was done at `now`, for an interval around `middle`.
fn assert_set(watchdog: &Watchdog, now: Instant, middle: Duration) {
    let due = watchdog.due().expect("the timer runs");
    assert!(due >= now + middle - JITTER && due <= now + middle + JITTER, "{:?}", due - now);
}

const OKAY: WatchdogState = WatchdogState::Okay { is_pending: false };

#[test]
fn okay_receive_dwa_clears_what_is_pending_and_sets_the_timer() {
    let (mut watchdog, start) = asked();
    let now = start + Duration::from_secs(100);
    assert_eq!(watchdog.heard_dwa(now), []);
    assert_eq!(watchdog.status(), OKAY);
    assert_set(&watchdog, now, TW_DEFAULT);
}

#[test]
fn okay_receive_other_sets_the_timer_and_leaves_the_dwr_pending() {
    let (mut watchdog, start) = asked();
    let now = start + Duration::from_secs(100);
    assert_eq!(watchdog.heard(now), []);
    assert_eq!(watchdog.status(), WatchdogState::Okay { is_pending: true });
    assert_set(&watchdog, now, TW_DEFAULT);
}

#[test]
fn suspect_receive_dwa_fails_back() {
    let (mut watchdog, start) = suspect();
    let now = start + Duration::from_secs(100);
    assert_eq!(watchdog.heard_dwa(now), [Action::Failback]);
    assert_eq!(watchdog.status(), OKAY);
    assert_set(&watchdog, now, TW_DEFAULT);
}

#[test]
fn suspect_receive_other_fails_back_with_the_dwr_still_pending() {
    let (mut watchdog, start) = suspect();
    let now = start + Duration::from_secs(100);
    assert_eq!(watchdog.heard(now), [Action::Failback]);
    assert_eq!(watchdog.status(), WatchdogState::Okay { is_pending: true });
    assert_set(&watchdog, now, TW_DEFAULT);
}

#[test]
fn reopen_receive_the_third_dwa_fails_back() {
    let (mut watchdog, now) = reopen();
    for answers in 1..3 {
        assert_eq!(watchdog.heard_dwa(now), []);
        assert_eq!(watchdog.status(), WatchdogState::Reopen { is_pending: false, answers });
        assert_eq!(watchdog.timer_expired(now), [Action::SendWatchdog]);
    }
    assert_eq!(watchdog.heard_dwa(now), [Action::Failback]);
    assert_eq!(watchdog.status(), OKAY);
}

#[test]
fn reopen_receive_an_earlier_dwa_counts_it_and_lets_the_timer_run_on() {
    let (mut watchdog, now) = reopen();
    let due = watchdog.due();
    assert_eq!(watchdog.heard_dwa(now + Duration::from_secs(1)), []);
    assert_eq!(watchdog.status(), WatchdogState::Reopen { is_pending: false, answers: 1 });
    assert_eq!(watchdog.due(), due);
}

#[test]
fn reopen_receive_other_is_thrown_away() {
    let (mut watchdog, now) = reopen();
    let due = watchdog.due();
    assert_eq!(watchdog.heard(now + Duration::from_secs(1)), [Action::ThrowAway]);
    assert_eq!(watchdog.status(), WatchdogState::Reopen { is_pending: true, answers: 0 });
    assert_eq!(watchdog.due(), due, "only a DWA is life here");
}

#[test]
fn initial_and_down_throw_away_what_is_received() {
    for (mut watchdog, now) in [new(), down()] {
        let status = watchdog.status();
        assert_eq!(watchdog.heard_dwa(now), [Action::ThrowAway]);
        assert_eq!(watchdog.heard(now), [Action::ThrowAway]);
        assert_eq!(watchdog.status(), status);
    }
}

#[test]
fn okay_timer_expires_sends_a_dwr() {
    let (mut watchdog, start) = okay();
    let now = start + TW_DEFAULT;
    assert_eq!(watchdog.timer_expired(now), [Action::SendWatchdog]);
    assert_eq!(watchdog.status(), WatchdogState::Okay { is_pending: true });
    assert_set(&watchdog, now, TW_DEFAULT);
}

#[test]
fn okay_timer_expires_with_a_dwr_pending_fails_over() {
    let (mut watchdog, start) = asked();
    let now = start + TW_DEFAULT;
    assert_eq!(watchdog.timer_expired(now), [Action::Failover]);
    assert_eq!(watchdog.status(), WatchdogState::Suspect { is_pending: true });
    assert_set(&watchdog, now, TW_DEFAULT);
}

#[test]
fn suspect_timer_expires_closes_the_connection() {
    let (mut watchdog, start) = suspect();
    let now = start + TW_DEFAULT;
    assert_eq!(watchdog.timer_expired(now), [Action::CloseConnection]);
    assert_eq!(watchdog.status(), WatchdogState::Down);
    assert_set(&watchdog, now, TC);
}

#[test]
fn initial_and_down_timer_expires_attempts_to_open() {
    for (mut watchdog, start) in [new(), down()] {
        let (status, now) = (watchdog.status(), start + TC);
        assert_eq!(watchdog.timer_expired(now), [Action::AttemptOpen]);
        assert_eq!(watchdog.status(), status);
        assert_set(&watchdog, now, TC);
    }
}

#[test]
fn reopen_timer_expires_sends_the_next_dwr() {
    let (mut watchdog, now) = reopen();
    watchdog.heard_dwa(now);
    assert_eq!(watchdog.timer_expired(now), [Action::SendWatchdog]);
    assert_eq!(watchdog.status(), WatchdogState::Reopen { is_pending: true, answers: 1 });
    assert_set(&watchdog, now, TW_DEFAULT);
}

#[test]
fn reopen_timer_expires_with_a_dwr_pending_begins_the_count_anew_and_then_closes() {
    let (mut watchdog, now) = reopen();
    assert_eq!(watchdog.timer_expired(now), []);
    assert_eq!(watchdog.status(), WatchdogState::Reopen { is_pending: true, answers: -1 });
    assert_set(&watchdog, now, TW_DEFAULT);
    assert_eq!(watchdog.timer_expired(now), [Action::CloseConnection]);
    assert_eq!(watchdog.status(), WatchdogState::Down);
    assert_set(&watchdog, now, TC);
}

#[test]
fn initial_connection_up_is_okay_at_once() {
    let (mut watchdog, now) = new();
    assert_eq!(watchdog.connection_up(now), []);
    assert_eq!(watchdog.status(), OKAY);
    assert_set(&watchdog, now, TW_DEFAULT);
}

#[test]
fn down_connection_up_is_probed_first() {
    let (mut watchdog, now) = down();
    assert_eq!(watchdog.connection_up(now), [Action::SendWatchdog]);
    assert_eq!(watchdog.status(), WatchdogState::Reopen { is_pending: true, answers: 0 });
    assert!(!watchdog.is_usable());
    assert_set(&watchdog, now, TW_DEFAULT);
}

#[test]
fn okay_connection_down_fails_over_and_suspect_and_reopen_did_so_before() {
    let (mut watchdog, now) = okay();
    assert_eq!(watchdog.connection_down(now), [Action::CloseConnection, Action::Failover]);
    assert_eq!(watchdog.status(), WatchdogState::Down);
    assert_set(&watchdog, now, TC);
    for (mut watchdog, now) in [suspect(), reopen()] {
        assert_eq!(watchdog.connection_down(now), [Action::CloseConnection]);
        assert_eq!(watchdog.status(), WatchdogState::Down);
        assert_set(&watchdog, now, TC);
    }
}

#[test]
fn the_interval_is_never_set_below_six_seconds_before_its_jitter() {
    let mut watchdog = Watchdog::new(Duration::from_secs(1), TC, Random::new(2));
    let now = Instant::now();
    watchdog.connection_up(now);
    assert_set(&watchdog, now, TW_MIN);
}

#[test]
fn after_a_disconnection_in_order_the_next_connection_needs_no_proof() {
    let (mut watchdog, now) = okay();
    watchdog.disconnected_in_order();
    assert_eq!((watchdog.status(), watchdog.due()), (WatchdogState::Initial, None));
    assert_eq!(watchdog.connection_up(now), []);
    assert!(watchdog.is_usable());
}
