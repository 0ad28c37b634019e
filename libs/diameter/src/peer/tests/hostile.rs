//! Tests of a hostile or broken peer.

use super::pair::*;
use crate::header::{CommandFlags, Header};
use crate::peer::{Connection, ConnectionConfig, End, Event, Random};
use crate::write::Writer;
use proptest::prelude::*;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A header with this length, as octets.
fn header(length: u32) -> Vec<u8> {
    let flags = CommandFlags::REQUEST;
    Header { length, flags, command: 272, application: 4, hop_by_hop: 1, end_to_end: 2 }.octets().to_vec()
}

#[test]
fn fragments_of_one_octet_make_the_same_messages() {
    let mut pair = Pair::open();
    let ids: Vec<_> = (0..3).map(|token| request(&mut pair.client, token, pair.now).unwrap()).collect();
    let octets = output(&mut pair.client);
    let mut seen = Vec::new();
    for octet in &octets {
        seen.extend(input(&mut pair.server, std::slice::from_ref(octet), pair.now));
    }
    let expected: Vec<_> = (0..3).map(|token| Seen::Request(ids[token], token.to_string())).collect();
    assert_eq!(seen, expected);
}

#[test]
fn an_announced_length_that_cannot_be_is_answered_and_resets_the_connection() {
    let limit = config("s").message_octets_max;
    for length in [0, 7, 19, 21, limit + 4, 0xFF_FFFC] {
        let mut pair = Pair::open();
        let seen = input(&mut pair.server, &header(length), pair.now);
        let [Seen::Event(Event::Ended(End::Framing(error)))] = seen[..] else { panic!("{length}: {seen:?}") };
        assert_eq!(error.length, length);
        let octets = output(&mut pair.server);
        let [answer] = messages(&octets)[..] else { panic!("{length}") };
        assert_eq!((code(&answer), answer.header.hop_by_hop), (5015, 1));
        assert_eq!(input(&mut pair.server, &octets, pair.now), [], "nothing is taken any more");
    }
}

#[test]
fn a_request_that_leaves_with_the_last_word_was_sent() {
    let mut pair = Pair::open();
    request(&mut pair.client, 1, pair.now).unwrap();
    let seen = input(&mut pair.client, &header(7), pair.now);
    let [Seen::Event(Event::Unanswered(unanswered)), Seen::Event(Event::Ended(End::Framing(_)))] = seen[..]
    else {
        panic!("{seen:?}")
    };
    assert_eq!(commands(&output(&mut pair.client)), [(272, true), (272, false)]);
    assert!(unanswered.fate.is_retransmit());
}

#[test]
fn sixteen_mebibytes_announced_and_nothing_following_cost_what_came() {
    let mut pair =
        Pair::open_with(config("c"), ConnectionConfig { message_octets_max: 0xFF_FFFC, ..config("s") });
    assert_eq!(input(&mut pair.server, &header(0xFF_FFFC), pair.now), []);
    assert!(pair.server.partial_capacity() < 1_024);
    // The watchdog finds that nothing more comes.
    let (_, server) = {
        let mut seen = Vec::new();
        while !pair.server.is_over() {
            let due = pair.server.poll_timeout().unwrap();
            pair.server.handle_timeout(due);
            output(&mut pair.server);
            seen.extend(events(&mut pair.server));
        }
        ((), seen)
    };
    assert_eq!(server, [Seen::Event(Event::Suspended), Seen::Event(Event::Ended(End::Silent))]);
}

#[test]
fn a_length_that_cannot_be_is_seen_in_its_first_four_octets_before_capabilities_too() {
    let now = Instant::now();
    let mut connection = Connection::listening(Arc::new(config("s")), start(1), now);
    for octet in &header(0xFF_FFFC)[..3] {
        assert_eq!(input(&mut connection, &[*octet], now), []);
    }
    let seen = input(&mut connection, &header(0xFF_FFFC)[3..4], now);
    assert!(matches!(seen[..], [Seen::Event(Event::Ended(End::Framing(_)))]), "{seen:?}");
    assert_eq!(output(&mut connection), [], "there is no header to answer to");
}

#[test]
fn another_version_is_answered_and_the_connection_goes_on() {
    let mut pair = Pair::open();
    let mut octets = header(20);
    octets[0] = 2;
    let hop_by_hop = request(&mut pair.client, 9, pair.now).unwrap();
    octets.extend(output(&mut pair.client));
    assert_eq!(input(&mut pair.server, &octets, pair.now), [Seen::Request(hop_by_hop, "9".into())]);
    let out = output(&mut pair.server);
    let [answer] = messages(&out)[..] else { panic!() };
    assert_eq!((code(&answer), answer.header.flags.is_request()), (5011, false));
    // An answer of another version is answered by nothing.
    let mut octets = header(20);
    (octets[0], octets[4]) = (2, 0);
    assert_eq!(input(&mut pair.server, &octets, pair.now), []);
    assert_eq!(output(&mut pair.server), []);
}

#[test]
fn a_request_with_the_e_bit_is_3008() {
    let mut pair = Pair::open();
    let mut octets = header(20);
    octets[4] = 0xA0;
    assert_eq!(input(&mut pair.server, &octets, pair.now), []);
    let out = output(&mut pair.server);
    let [answer] = messages(&out)[..] else { panic!() };
    assert_eq!((code(&answer), answer.header.flags.is_error()), (3008, true));
    assert!(pair.server.is_usable());
}

#[test]
fn a_dwr_that_breaks_its_grammar_is_answered_so_and_is_life_all_the_same() {
    let mut pair = Pair::open();
    let mut dwr = Vec::new();
    Writer::request(&mut dwr, 280, 0, CommandFlags(0), 5, 6).finish();
    let before = pair.server.poll_timeout();
    assert_eq!(input(&mut pair.server, &dwr, pair.now + Duration::from_secs(10)), []);
    assert!(pair.server.poll_timeout() > before);
    let out = output(&mut pair.server);
    let [answer] = messages(&out)[..] else { panic!() };
    assert_eq!((answer.header.command, code(&answer)), (280, 5005));
}

#[test]
fn a_peer_that_never_reads_is_not_read_from_and_then_closed() {
    let limits = ConnectionConfig { output_octets_max: 1_000, ..config("s") };
    let mut pair = Pair::open_with(config("c"), limits);
    let now = pair.now;
    assert!(pair.server.wants_input());
    pair.server.answer(50, now, |out| (0..50).for_each(|id| write_answer(out, id))).unwrap();
    assert!(!pair.server.wants_input());
    let stall = config("s").write_stall;
    pair.server.handle_timeout(now + stall - Duration::from_millis(1));
    assert!(!pair.server.is_over());
    pair.server.handle_timeout(now + stall);
    assert_eq!(events(&mut pair.server), [Seen::Event(Event::Ended(End::NotReading))]);
}

#[test]
fn a_peer_that_reads_after_a_while_is_read_from_again() {
    let limits = ConnectionConfig { output_octets_max: 1_000, ..config("s") };
    let mut pair = Pair::open_with(config("c"), limits);
    let now = pair.now;
    pair.server.answer(50, now, |out| (0..50).for_each(|id| write_answer(out, id))).unwrap();
    assert!(!pair.server.wants_input());
    output(&mut pair.server);
    assert!(pair.server.wants_input());
}

#[test]
fn requests_over_the_limit_are_too_many_and_a_dwr_behind_them_is_answered() {
    let mut pair = Pair::open_with(config("c"), ConnectionConfig { owed_max: 3, ..config("s") });
    let now = pair.now;
    let ids: Vec<_> = (0..4).map(|token| request(&mut pair.client, token, now).unwrap()).collect();
    let mut octets = output(&mut pair.client);
    base_request(&mut octets, 280).finish();
    assert_eq!(input(&mut pair.server, &octets, now).len(), 3);
    assert!(pair.server.wants_input());
    let out = output(&mut pair.server);
    let [dwa, refused] = messages(&out)[..] else { panic!() };
    assert_eq!((dwa.header.command, code(&refused), refused.header.hop_by_hop), (280, 3004, ids[3]));
    answer(&mut pair.server, ids[0], now).unwrap();
    request(&mut pair.client, 4, now).unwrap();
    assert_eq!(pair.exchange().1.len(), 1, "there is room again");
}

#[test]
fn requests_are_refused_while_output_piles_up() {
    let mut pair =
        Pair::open_with(ConnectionConfig { output_octets_max: 100, window: 100, ..config("c") }, config("s"));
    let sent = (0..100).take_while(|token| request(&mut pair.client, *token, pair.now).is_ok()).count();
    assert!((1..10).contains(&sent), "{sent}");
    assert_eq!(request(&mut pair.client, 1, pair.now), Err(crate::peer::SendError::OutputFull));
}

#[test]
fn one_octet_per_second_before_capabilities_is_cut_off_in_time() {
    let mut client = Connection::connecting(Arc::new(config("c")), start(1), None, Instant::now());
    let cer = output(&mut client);
    let mut now = Instant::now();
    let born = now;
    let mut server = Connection::listening(Arc::new(config("s")), start(2), now);
    let mut octets = cer.iter();
    while !server.is_over() {
        now += Duration::from_secs(1);
        server.handle_timeout(now);
        input(&mut server, octets.as_slice().split_at(1).0, now);
        octets.next();
    }
    assert!(now - born <= config("s").capabilities + Duration::from_secs(1));
}

#[test]
fn ten_thousand_connections_that_never_send_a_cer_cost_little_and_end_in_time() {
    let now = Instant::now();
    let config = Arc::new(config("s"));
    let mut all: Vec<_> =
        (0..10_000).map(|seed| Connection::listening(config.clone(), start(seed), now)).collect();
    assert!(size_of::<Connection>() <= 1_024, "{}", size_of::<Connection>());
    for connection in &mut all {
        assert_eq!((connection.output_octets(), connection.partial_capacity()), (0, 0));
        let due = connection.poll_timeout().unwrap();
        connection.handle_timeout(due);
        assert_eq!(events(connection), [Seen::Event(Event::Ended(End::NoCapabilities))]);
    }
}

/// An open server whose input is nonsense: it must not panic, and must stay within its bounds.
fn survive(connection: &mut Connection, octets: &[u8], cut: usize) {
    let mut now = Instant::now();
    for piece in octets.chunks(cut.max(1)) {
        now += Duration::from_millis(100);
        connection.handle_timeout(now);
        input(connection, piece, now);
        messages(&output(connection));
        if connection.owed() > 0 {
            let _ = connection.answer(1, now, |out| write_answer(out, 1));
        }
    }
    connection.handle_eof(now);
    events(connection);
    assert!(connection.is_over() && connection.in_flight() == 0 && connection.owed() == 0);
}

proptest! {
    #[test]
    fn nonsense_harms_nobody(octets in prop::collection::vec(any::<u8>(), 0..600), cut in 1_usize..80) {
        let now = Instant::now();
        survive(&mut Connection::listening(Arc::new(config("s")), start(1), now), &octets, cut);
        survive(&mut Connection::connecting(Arc::new(config("c")), start(1), None, now), &octets, cut);
        survive(&mut Pair::open().server, &octets, cut);
        survive(&mut Pair::open().client, &octets, cut);
    }

    #[test]
    fn a_conversation_with_a_few_octets_changed_harms_nobody(
        seed in any::<u64>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in 1_usize..200,
    ) {
        let now = Instant::now();
        let mut octets = output(&mut Connection::connecting(Arc::new(config("c")), start(seed), None, now));
        let mut random = Random::new(seed);
        for _ in 0..6 {
            let command = [257, 272, 280, 282, 258][random.next_u64() as usize % 5];
            let mut writer = base_request(&mut octets, command);
            writer.u32(crate::dictionary::avp::DISCONNECT_CAUSE, random.next_u32() % 4);
            writer.finish();
            write_answer(&mut octets, random.next_u32());
        }
        for (at, octet) in changes {
            *at.get_mut(&mut octets) = octet;
        }
        survive(&mut Connection::listening(Arc::new(config("s")), start(1), now), &octets, cut);
        survive(&mut Pair::open().server, &octets, cut);
        survive(&mut Pair::open().client, &octets, cut);
    }

    #[test]
    fn pieces_of_any_size_bring_the_same(sizes in prop::collection::vec(1_usize..90, 1..60)) {
        let mut whole = Pair::open();
        let mut cut = Pair::open();
        for pair in [&mut whole, &mut cut] {
            for token in 0..12 {
                request(&mut pair.client, token, pair.now).unwrap();
            }
            pair.client.disconnect(crate::peer::Cause::BUSY, pair.now);
        }
        let now = whole.now;
        let octets = output(&mut whole.client);
        let at_once = input(&mut whole.server, &octets, now);
        let mut in_pieces = Vec::new();
        let mut rest = &octets[..];
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at(rest.len().min(*size));
            in_pieces.extend(input(&mut cut.server, piece, now));
            rest = after;
        }
        prop_assert_eq!(at_once, in_pieces);
    }
}
