//! Tests of an open connection: requests, answers, watchdog, disconnection.

use super::pair::*;
use crate::peer::{
    Cause, Connection, ConnectionConfig, End, Event, NoAnswer, SendError, TRANSMIT_OCTETS_MAX,
};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_request_is_handed_out_and_its_answer_finds_who_asked() {
    let mut pair = Pair::open();
    let now = pair.now;
    let first = request(&mut pair.client, 7, now).unwrap();
    let second = request(&mut pair.client, 8, now).unwrap();
    let (_, server) = pair.exchange();
    assert_eq!(server, [Seen::Request(first, "7".into()), Seen::Request(second, "8".into())]);
    assert_eq!((pair.client.in_flight(), pair.server.owed()), (2, 2));
    // In any order.
    answer(&mut pair.server, second, now).unwrap();
    answer(&mut pair.server, first, now).unwrap();
    let (client, _) = pair.exchange();
    assert_eq!(client, [Seen::Answer(8), Seen::Answer(7)]);
    assert_eq!((pair.client.in_flight(), pair.server.owed()), (0, 0));
}

#[test]
fn both_sides_may_ask() {
    let mut pair = Pair::open();
    let now = pair.now;
    let hop_by_hop = request(&mut pair.server, 1, now).unwrap();
    let (client, _) = pair.exchange();
    assert_eq!(client, [Seen::Request(hop_by_hop, "1".into())]);
    answer(&mut pair.client, hop_by_hop, now).unwrap();
    assert_eq!(pair.exchange().1, [Seen::Answer(1)]);
}

#[test]
fn an_answer_nobody_waits_for_is_dropped_and_counted() {
    let mut pair = Pair::open();
    let mut octets = Vec::new();
    write_answer(&mut octets, 0xdead_beef);
    assert_eq!(input(&mut pair.client, &octets, pair.now), []);
    assert_eq!(pair.client.counters().unknown_answers, 1);
    assert!(pair.client.is_usable());
}

#[test]
fn a_request_without_an_answer_times_out_and_its_late_answer_finds_nobody() {
    let mut pair = Pair::open();
    let hop_by_hop = request(&mut pair.client, 7, pair.now).unwrap();
    let (client, _) = pair.pass(TIMEOUT);
    let [Seen::Event(Event::Unanswered(unanswered))] = client[..] else { panic!("{client:?}") };
    assert_eq!((unanswered.token, unanswered.end_to_end, unanswered.fate), (7, 7, NoAnswer::TimedOut));
    answer(&mut pair.server, hop_by_hop, pair.now).unwrap();
    assert_eq!(pair.exchange().0, []);
    assert_eq!(pair.client.counters().unknown_answers, 1);
}

#[test]
fn the_window_is_bounded() {
    let mut pair = Pair::open_with(ConnectionConfig { window: 2, ..config("c") }, config("s"));
    let now = pair.now;
    request(&mut pair.client, 1, now).unwrap();
    request(&mut pair.client, 2, now).unwrap();
    assert_eq!(request(&mut pair.client, 3, now), Err(SendError::WindowFull));
}

#[test]
fn a_lively_connection_sends_no_dwr_and_a_quiet_one_does() {
    let mut pair = Pair::open();
    let before = (pair.client.counters().octets_out, pair.server.counters().octets_out);
    for token in 0..20 {
        pair.pass(Duration::from_secs(20));
        let hop_by_hop = request(&mut pair.client, token, pair.now).unwrap();
        pair.exchange();
        answer(&mut pair.server, hop_by_hop, pair.now).unwrap();
        pair.exchange();
    }
    // Requests and answers of 32 octets, and nothing else.
    let octets_out = pair.client.counters().octets_out;
    assert_eq!((octets_out - before.0, pair.server.counters().octets_out - before.1), (640, 640));
    assert_eq!(
        pair.pass(Duration::from_secs(300)),
        (vec![], vec![]),
        "DWR and DWA are the machines' own affair"
    );
    assert!(pair.client.counters().octets_out > octets_out);
    assert!(pair.client.is_usable() && pair.server.is_usable());
}

#[test]
fn a_silent_peer_is_suspected_then_given_up_and_all_outstanding_come_back() {
    let mut pair = Pair::open();
    pair.pass(Duration::from_secs(1));
    for token in 1..=3 {
        let outgoing = crate::peer::Outgoing {
            token,
            command: 272,
            timeout: Duration::from_secs(600),
            end_to_end: 40 + token as u32,
        };
        pair.client.request(outgoing, pair.now, |_, _| {}).unwrap();
    }
    output(&mut pair.client);
    let mut seen = Vec::new();
    let begin = pair.now;
    while !pair.client.is_over() {
        let due = pair.client.poll_timeout().expect("a timer runs while the connection does");
        pair.client.handle_timeout(due);
        output(&mut pair.client);
        seen.extend(events(&mut pair.client).into_iter().map(|event| (due - begin, event)));
    }
    let [
        (suspended, Seen::Event(Event::Suspended)),
        returned @ ..,
        (ended, Seen::Event(Event::Ended(End::Silent))),
    ] = &seen[..]
    else {
        panic!("{seen:?}")
    };
    let returned: Vec<_> = returned
        .iter()
        .map(|(_, seen)| match seen {
            Seen::Event(Event::Unanswered(unanswered)) => (unanswered.end_to_end, unanswered.fate),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        returned,
        [(41, NoAnswer::FailedOver), (42, NoAnswer::FailedOver), (43, NoAnswer::FailedOver)]
    );
    assert!(returned.iter().all(|(_, fate)| fate.is_retransmit()));
    // Two intervals to the suspicion, one more to the end.
    assert!((56..=64).contains(&suspended.as_secs()) && (84..=96).contains(&ended.as_secs()), "{seen:?}");
}

#[test]
fn a_suspected_peer_takes_no_requests_until_it_says_something() {
    let mut pair = Pair::open();
    for _ in 0..2 {
        let due = pair.client.poll_timeout().unwrap();
        pair.client.handle_timeout(due);
        pair.now = due;
    }
    assert_eq!(events(&mut pair.client), [Seen::Event(Event::Suspended)]);
    assert_eq!(request(&mut pair.client, 1, pair.now), Err(SendError::Suspended));
    let (client, _) = pair.exchange();
    assert_eq!(client, [Seen::Event(Event::Resumed)]);
    request(&mut pair.client, 1, pair.now).unwrap();
}

#[test]
fn a_connection_after_a_failure_proves_itself_by_three_answers_and_other_messages_are_thrown_away() {
    let mut pair = Pair::open();
    let (watchdog, now) = {
        pair.client.handle_eof(pair.now);
        (pair.client.watchdog().clone(), pair.now)
    };
    let start_again = crate::peer::Start { watchdog: Some(watchdog), ..start(3) };
    pair.client = Connection::connecting(Arc::new(config("client.example")), start_again, None, now);
    pair.server = Connection::listening(Arc::new(config("server.example")), start(4), now);
    pair.exchange();
    pair.server.accept(now);
    let (client, _) = pair.exchange();
    assert!(matches!(client[..], [Seen::Event(Event::Opened(_))]), "{client:?}");
    assert!(!pair.client.is_usable());
    assert_eq!(request(&mut pair.client, 1, now), Err(SendError::Suspended));
    request(&mut pair.server, 1, now).unwrap();
    assert_eq!(pair.exchange().0, [], "thrown away");
    assert_eq!(pair.client.counters().thrown_away, 1);
    let (client, _) = pair.pass(Duration::from_secs(66));
    assert_eq!(client, [Seen::Event(Event::Resumed)]);
    assert!(pair.client.is_usable());
}

#[test]
fn a_dwa_goes_out_in_front_of_answers_that_wait() {
    let mut pair = Pair::open();
    let now = pair.now;
    let hop_by_hop = request(&mut pair.client, 1, now).unwrap();
    pair.exchange();
    answer(&mut pair.server, hop_by_hop, now).unwrap();
    let due = pair.client.poll_timeout().unwrap();
    pair.client.handle_timeout(due - TIMEOUT);
    // The client's DWR, by its watchdog.
    while output_is_empty(&pair.client) {
        let due = pair.client.poll_timeout().unwrap();
        pair.client.handle_timeout(due);
        events(&mut pair.client);
    }
    let dwr = output(&mut pair.client);
    assert_eq!(commands(&dwr), [(280, true)]);
    input(&mut pair.server, &dwr, now);
    assert_eq!(commands(&output(&mut pair.server)), [(280, false), (272, false)]);
}

fn output_is_empty(connection: &Connection) -> bool {
    connection.output_octets() == 0
}

#[test]
fn much_output_goes_out_in_whole_messages_with_what_is_urgent_between_them() {
    let mut pair = Pair::open();
    let now = pair.now;
    let answers = TRANSMIT_OCTETS_MAX / 32 + 1_000;
    pair.server.answer(answers, now, |out| (0..answers).for_each(|i| write_answer(out, i as u32))).unwrap();
    let mut first = Vec::new();
    pair.server.poll_transmit(&mut first);
    assert!(first.len() <= TRANSMIT_OCTETS_MAX);
    let before = messages(&first).len();
    let mut dwr = Vec::new();
    base_request(&mut dwr, 280).finish();
    input(&mut pair.server, &dwr, now);
    let mut second = Vec::new();
    pair.server.poll_transmit(&mut second);
    let second = messages(&second);
    assert_eq!(second[0].header.command, 280);
    assert_eq!(before + second.len() - 1, answers);
}

#[test]
fn a_disconnection_waits_for_what_is_outstanding_and_who_gets_the_dpa_closes() {
    let mut pair = Pair::open();
    let now = pair.now;
    let ours = request(&mut pair.client, 1, now).unwrap();
    let theirs = request(&mut pair.server, 2, now).unwrap();
    pair.exchange();
    pair.client.disconnect(Cause::REBOOTING, now);
    assert_eq!(request(&mut pair.client, 3, now), Err(SendError::NotOpen));
    assert_eq!(pair.exchange(), (vec![], vec![]), "no DPR yet");
    answer(&mut pair.server, ours, now).unwrap();
    assert_eq!(pair.exchange().0, [Seen::Answer(1)]);
    answer(&mut pair.client, theirs, now).unwrap();
    let (client, server) = pair.exchange();
    assert_eq!(client, [Seen::Event(Event::Ended(End::Disconnected))]);
    assert_eq!(server, [Seen::Answer(2), Seen::Event(Event::Leaving(Cause::REBOOTING))]);
    assert!(!pair.server.is_over(), "who sent the DPA waits for the other to close");
    pair.server.handle_eof(now);
    let end = End::PeerDisconnected(Cause::REBOOTING);
    assert_eq!(events(&mut pair.server), [Seen::Event(Event::Ended(end))]);
    assert!(end.allows_reconnection());
}

#[test]
fn who_gets_a_dpr_finishes_what_is_outstanding_before_its_dpa() {
    let mut pair = Pair::open();
    let now = pair.now;
    let mut dpr = Vec::new();
    let mut writer = base_request(&mut dpr, 282);
    writer.i32(crate::dictionary::avp::DISCONNECT_CAUSE, 1);
    writer.finish();
    let hop_by_hop = request(&mut pair.client, 1, now).unwrap();
    pair.exchange();
    let seen = input(&mut pair.server, &dpr, now);
    assert_eq!(seen, [Seen::Event(Event::Leaving(Cause::BUSY))]);
    assert_eq!(commands(&output(&mut pair.server)), []);
    answer(&mut pair.server, hop_by_hop, now).unwrap();
    assert_eq!(commands(&output(&mut pair.server)), [(272, false), (282, false)]);
    assert_eq!(answer(&mut pair.server, 9, now), Err(SendError::NotOpen));
    pair.server.handle_eof(now);
    let end = End::PeerDisconnected(Cause::BUSY);
    assert_eq!(events(&mut pair.server), [Seen::Event(Event::Ended(end))]);
    assert!(!end.allows_reconnection());
    assert!(!End::PeerDisconnected(Cause::DO_NOT_WANT_TO_TALK_TO_YOU).allows_reconnection());
}

#[test]
fn a_drain_that_takes_too_long_is_cut_short() {
    let drain = Duration::from_secs(2);
    let mut pair =
        Pair::open_with(ConnectionConfig { drain, ..config("c") }, ConnectionConfig { drain, ..config("s") });
    request(&mut pair.client, 1, pair.now).unwrap();
    pair.exchange();
    pair.client.disconnect(Cause::REBOOTING, pair.now);
    let (client, server) = pair.pass(drain * 3);
    assert_eq!(server, [Seen::Event(Event::Leaving(Cause::REBOOTING))]);
    let [Seen::Event(Event::Unanswered(unanswered)), Seen::Event(Event::Ended(End::Disconnected))] =
        client[..]
    else {
        panic!("{client:?}")
    };
    assert_eq!((unanswered.token, unanswered.fate), (1, NoAnswer::Ended));
}

#[test]
fn a_dpr_without_an_answer_ends_in_time() {
    let mut pair = Pair::open();
    pair.client.disconnect(Cause::REBOOTING, pair.now);
    assert_eq!(commands(&output(&mut pair.client)), [(282, true)]);
    let due = pair.client.poll_timeout().unwrap();
    pair.client.handle_timeout(due);
    assert_eq!(events(&mut pair.client), [Seen::Event(Event::Ended(End::DisconnectTimedOut))]);
    assert_eq!(pair.client.poll_timeout(), None);
}

#[test]
fn two_dprs_that_cross_are_both_answered() {
    let mut pair = Pair::open();
    pair.client.disconnect(Cause::REBOOTING, pair.now);
    pair.server.disconnect(Cause::REBOOTING, pair.now);
    let (client, server) = pair.exchange();
    let ended = [Seen::Event(Event::Ended(End::Disconnected))];
    assert_eq!((&client[..], &server[..]), (&ended[..], &ended[..]));
}

#[test]
fn a_request_that_crosses_our_dpr_is_sent_elsewhere() {
    let mut pair = Pair::open();
    pair.server.disconnect(Cause::REBOOTING, pair.now);
    output(&mut pair.server);
    request(&mut pair.client, 5, pair.now).unwrap();
    let ccr = output(&mut pair.client);
    assert_eq!(input(&mut pair.server, &ccr, pair.now), []);
    let octets = output(&mut pair.server);
    let [error] = messages(&octets)[..] else { panic!() };
    assert_eq!((error.header.command, code(&error), error.header.flags.is_error()), (272, 3002, true));
    assert_eq!(error.find(crate::dictionary::avp::SESSION_ID).unwrap().data, b"5");
}

#[test]
fn the_end_of_a_connection_hands_back_what_was_sent_as_unknown_and_the_rest_as_not_sent() {
    let mut pair = Pair::open();
    request(&mut pair.client, 1, pair.now).unwrap();
    output(&mut pair.client);
    request(&mut pair.client, 2, pair.now).unwrap();
    pair.client.handle_eof(pair.now);
    let fates: Vec<_> = events(&mut pair.client)
        .into_iter()
        .map(|seen| match seen {
            Seen::Event(Event::Unanswered(unanswered)) => (unanswered.token, Some(unanswered.fate)),
            Seen::Event(Event::Ended(End::Lost)) => (0, None),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(fates, [(1, Some(NoAnswer::Ended)), (2, Some(NoAnswer::NotSent)), (0, None)]);
    assert_eq!(output(&mut pair.client), []);
}

#[test]
fn a_greater_origin_state_id_alone_says_that_the_peer_restarted() {
    let mut pair = Pair::open();
    let dwr = |state: u32| {
        let mut dwr = Vec::new();
        let mut writer = base_request(&mut dwr, 280);
        writer.u32(crate::dictionary::avp::ORIGIN_STATE_ID, state);
        writer.finish();
        dwr
    };
    assert_eq!(input(&mut pair.server, &dwr(100), pair.now), []);
    let restarted = Seen::Event(Event::Restarted { origin_state_id: 101 });
    assert_eq!(input(&mut pair.server, &dwr(101), pair.now), [restarted]);
    for state in [101, 100, 0, 101] {
        assert_eq!(input(&mut pair.server, &dwr(state), pair.now), [], "{state}");
    }
    let restarted = Seen::Event(Event::Restarted { origin_state_id: 102 });
    assert_eq!(input(&mut pair.server, &dwr(102), pair.now), [restarted]);
}

#[test]
fn a_dwa_that_answers_no_dwr_of_ours_is_no_proof() {
    let mut pair = Pair::open();
    let due = pair.client.poll_timeout().unwrap();
    pair.client.handle_timeout(due);
    let dwr = output(&mut pair.client);
    let mut header = messages(&dwr)[0].header;
    header.hop_by_hop ^= 0x1_0000;
    let mut dwa = Vec::new();
    crate::write::Writer::answer(&mut dwa, &header).finish();
    assert_eq!(input(&mut pair.client, &dwa, due), []);
    assert_eq!(pair.client.counters().unknown_answers, 1);
    // The DWR still waits: the next interval ends in suspicion.
    let due = pair.client.poll_timeout().unwrap();
    pair.client.handle_timeout(due);
    assert_eq!(events(&mut pair.client), [Seen::Event(Event::Suspended)]);
}

#[test]
fn everything_the_machine_says_keeps_to_its_grammar() {
    let mut pair = Pair::open();
    let due = pair.client.poll_timeout().unwrap();
    pair.client.handle_timeout(due);
    let dwr = output(&mut pair.client);
    input(&mut pair.server, &dwr, due);
    let dwa = output(&mut pair.server);
    pair.client.disconnect(Cause::REBOOTING, due);
    let dpr = output(&mut pair.client);
    input(&mut pair.server, &dpr, due);
    let dpa = output(&mut pair.server);
    for (octets, command) in
        [(dwr, (280, true)), (dwa, (280, false)), (dpr, (282, true)), (dpa, (282, false))]
    {
        assert_eq!(commands(&octets), [command]);
        crate::check::check(&messages(&octets)[0]).unwrap();
    }
}

#[test]
fn a_clock_that_steps_back_moves_nothing() {
    let mut pair = Pair::open();
    let later = pair.now + Duration::from_secs(15);
    pair.client.handle_timeout(later);
    input(&mut pair.client, &[], pair.now);
    request(&mut pair.client, 1, pair.now).unwrap();
    pair.client.handle_timeout(later + TIMEOUT - Duration::from_millis(1));
    assert_eq!(events(&mut pair.client), []);
    pair.client.handle_timeout(later + TIMEOUT);
    assert_eq!(events(&mut pair.client).len(), 1);
}
