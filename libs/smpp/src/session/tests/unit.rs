//! The window, the peer's window and the state table by themselves.

use super::super::peers::PeerRequests;
use super::super::window::{Window, WindowEntry, after};
use super::*;
use crate::limits::SEQUENCE_MAX;
use crate::samples::Random;
use std::collections::BTreeMap;

fn entry(sequence: u32, sent: u64) -> WindowEntry {
    WindowEntry { token: u64::from(sequence) * 10, sent, sequence, command: Command::SUBMIT_SM, batch: 0 }
}

#[test]
fn sequence_numbers_rise_and_one_follows_the_greatest() {
    assert_eq!(after(1), 2);
    assert_eq!(after(SEQUENCE_MAX - 1), SEQUENCE_MAX);
    assert_eq!(after(SEQUENCE_MAX), 1);
}

#[test]
fn a_request_that_is_never_answered_is_passed_over_and_stalls_nothing() {
    let mut window = Window::new(4, second(60));
    window.insert(entry(1, 0));
    let mut sequence = 2;
    for _ in 0..10_000 {
        sequence = window.free_sequence(sequence);
        window.insert(entry(sequence, 0));
        assert_eq!(window.take(sequence, Command::SUBMIT_SM).unwrap().sequence, sequence);
        sequence = after(sequence);
    }
    assert_eq!(window.used(), 1);
    assert_eq!(window.take(1, Command::SUBMIT_SM), Some(entry(1, 0)));
}

#[test]
fn the_window_does_what_a_plain_map_does() {
    let seed = 0x5EED_0002;
    let mut random = Random(seed);
    for limit in [1, 2, 10, 100, WINDOW_MAX] {
        let mut window = Window::new(limit, second(60));
        let mut model: BTreeMap<u64, u32> = BTreeMap::new();
        let (mut next, mut order) = (SEQUENCE_MAX - 50, 0u64);
        for step in 0..20_000 {
            let at = format!("seed {seed:#x} limit {limit} step {step}");
            match random.below(4) {
                0 | 1 if window.free() > 0 => {
                    next = window.free_sequence(next);
                    window.insert(entry(next, order));
                    model.insert(order, next);
                    (next, order) = (after(next), order + 1);
                }
                2 => {
                    let known = model
                        .iter()
                        .nth(random.below(model.len()))
                        .map(|(order, sequence)| (*order, *sequence));
                    if let Some((order, sequence)) = known {
                        assert_eq!(window.take(sequence, Command::DATA_SM), None, "{at}");
                        assert_eq!(
                            window.take(sequence, Command::SUBMIT_SM),
                            Some(entry(sequence, order)),
                            "{at}"
                        );
                        assert_eq!(window.take(sequence, Command::SUBMIT_SM), None, "{at}");
                        model.remove(&order);
                    }
                }
                _ => {
                    let oldest = model.pop_first();
                    assert_eq!(window.oldest_sent(), oldest.map(|(order, _)| order), "{at}");
                    assert_eq!(
                        window.take_oldest().map(|entry| entry.sequence),
                        oldest.map(|(_, s)| s),
                        "{at}"
                    );
                }
            }
            assert_eq!((window.used(), window.free()), (model.len(), limit - model.len()), "{at}");
        }
    }
}

#[test]
fn an_expired_request_is_known_to_one_late_response_and_for_a_time() {
    let mut window = Window::new(10, Duration::from_nanos(100));
    let around_the_wrap = [SEQUENCE_MAX - 1, SEQUENCE_MAX, 1, 2, 5];
    for sequence in around_the_wrap {
        window.expire(entry(sequence, 0), 0);
    }
    for sequence in [1, SEQUENCE_MAX, 5] {
        assert_eq!(window.take_late(sequence, Some(Command::DATA_SM), 50), None);
        assert_eq!(window.take_late(sequence, Some(Command::SUBMIT_SM), 50), Some(entry(sequence, 0)));
        assert_eq!(window.take_late(sequence, None, 50), None, "only once");
    }
    for unknown in [3, 4, 6, 1_000, SEQUENCE_MAX - 2] {
        assert_eq!(window.take_late(unknown, None, 50), None);
    }
    assert_eq!(window.take_late(2, None, 100), None, "forgotten");
}

#[test]
fn late_requests_are_bounded() {
    let mut window = Window::new(10, second(600));
    for sequence in 1..=30_000 {
        window.expire(entry(sequence, 0), 0);
    }
    assert_eq!(window.take_late(1, None, 0), None);
    assert_eq!(window.take_late(20_000, None, 0), None);
    assert_eq!(window.take_late(20_001, None, 0), Some(entry(20_001, 0)));
    assert_eq!(window.take_late(30_000, None, 0), Some(entry(30_000, 0)));
}

#[test]
fn a_window_can_be_narrowed_and_widened() {
    let mut window = Window::new(2, second(1));
    window.insert(entry(1, 0));
    window.insert(entry(2, 0));
    assert_eq!(window.free(), 0);
    window.set_limit(1);
    assert_eq!(window.free(), 0);
    window.set_limit(20_000);
    assert!((3..=64).contains(&window.limit()), "no wider than its slots while one is in use");
    window.take_oldest();
    window.take_oldest();
    window.set_limit(20_000);
    assert_eq!((window.limit(), window.free()), (WINDOW_MAX, WINDOW_MAX));
}

#[test]
fn the_peers_window_is_bounded_and_notices_a_repeated_number() {
    let mut peers = PeerRequests::new(3);
    for sequence in [7, 0, u32::MAX] {
        assert!(peers.insert(sequence, Command::SUBMIT_SM).is_ok());
    }
    assert!(peers.is_full());
    peers.remove(0);
    assert!(peers.insert(7, Command::DATA_SM).is_err());
    assert_eq!(peers.command(7), Some(Command::SUBMIT_SM));
    peers.remove(7);
    assert!(peers.insert(7, Command::DATA_SM).is_ok());
    assert_eq!((peers.command(7), peers.command(0), peers.len()), (Some(Command::DATA_SM), None, 2));
    // The same kind again counts, and is removed one at a time.
    assert!(peers.insert(7, Command::DATA_SM).is_ok() && peers.is_full());
    peers.remove(7);
    assert_eq!((peers.command(7), peers.len()), (Some(Command::DATA_SM), 2));
    peers.remove(7);
    assert_eq!((peers.command(7), peers.len()), (None, 1));
}

#[test]
fn the_state_table_is_the_specifications() {
    use BindMode::{Receiver as Rx, Transceiver as Trx, Transmitter as Tx};
    use Role::{Esme, Smsc};
    let states = [
        SessionState::Open,
        SessionState::Outbound,
        SessionState::Bound(Tx),
        SessionState::Bound(Rx),
        SessionState::Bound(Trx),
        SessionState::Unbound,
        SessionState::Closed,
    ];
    // 3.4 table 2-1 with 5.0's rows: in which of the states above each may be sent, by the ESME and by the
    // SMSC.
    let table: [(Command, &str, &str); 17] = [
        (Command::BIND_TRANSMITTER, "x......", "......."),
        (Command::BIND_RECEIVER, "xx.....", "......."),
        (Command::BIND_TRANSCEIVER, "xx.....", "......."),
        (Command::OUTBIND, ".......", "x......"),
        (Command::UNBIND, "..xxxx.", "..xxxx."),
        (Command::SUBMIT_SM, "..x.x..", "......."),
        (Command::SUBMIT_MULTI, "..x.x..", "......."),
        (Command::DATA_SM, "..x.x..", "...xx.."),
        (Command::DELIVER_SM, ".......", "...xx.."),
        (Command::QUERY_SM, "..x.x..", "......."),
        (Command::CANCEL_SM, "..x.x..", "......."),
        (Command::REPLACE_SM, "..x.x..", "......."),
        (Command::ENQUIRE_LINK, "xxxxxx.", "xxxxxx."),
        (Command::ALERT_NOTIFICATION, ".......", "...xx.."),
        (Command::BROADCAST_SM, "..x.x..", "......."),
        (Command::QUERY_BROADCAST_SM, "..x.x..", "......."),
        (Command::CANCEL_BROADCAST_SM, "..x.x..", "......."),
    ];
    for (command, esme, smsc) in table {
        for (role, row) in [(Esme, esme), (Smsc, smsc)] {
            let allowed: String =
                states.iter().map(|state| if may_send(role, command, *state) { 'x' } else { '.' }).collect();
            assert_eq!(allowed, row, "{command} of {role:?}");
        }
    }
}
