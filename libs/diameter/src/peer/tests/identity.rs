//! A peer identity: reconnection, elections, refusals, restarts.

use super::pair::{config, start};
use crate::peer::states::{Link, PeerState};
use crate::peer::watchdog::{JITTER, Watchdog, WatchdogState};
use crate::peer::{Capabilities, Cause, Connection, End, Order, Peer};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn peer(ours: &str, theirs: &str) -> (Peer, Instant) {
    (Peer::new(Arc::new(config(ours)), theirs, 7), Instant::now())
}

fn orders(peer: &mut Peer) -> Vec<Order> {
    std::iter::from_fn(|| peer.poll_order()).collect()
}

fn capabilities(origin_state_id: u32) -> Capabilities {
    Capabilities {
        origin_host: "b.example".into(),
        origin_realm: "example".into(),
        host_addresses: Vec::new(),
        vendor_id: 0,
        product_name: "test".into(),
        firmware_revision: None,
        origin_state_id: Some(origin_state_id),
        applications: vec![4],
        common: vec![4],
        is_relay: false,
    }
}

/// The watchdog of a connection that was open and ended like this.
fn after(end: End) -> Watchdog {
    let now = Instant::now();
    let mut watchdog = Connection::listening(Arc::new(config("x")), start(1), now).watchdog().clone();
    watchdog.connection_up(now);
    if end.is_in_order() {
        watchdog.disconnected_in_order();
    } else {
        watchdog.connection_down(now);
    }
    watchdog
}

const I: Link = Link(1);
const R: Link = Link(2);

/// Open on our connection.
fn connected() -> (Peer, Instant) {
    let (mut peer, now) = peer("a.example", "b.example");
    peer.start(now);
    assert_eq!(orders(&mut peer), [Order::Connect]);
    peer.connected(I, now);
    assert_eq!(orders(&mut peer), [Order::Begin(I)]);
    peer.opened(I, &capabilities(1), now);
    assert_eq!(peer.state().open(), Some(I));
    (peer, now)
}

fn assert_after_tc(peer: &Peer, now: Instant) {
    let due = peer.poll_timeout().expect("the next attempt is due") - now;
    let tc = config("a").tc;
    assert!(due >= tc - JITTER && due <= tc + JITTER, "{due:?}");
}

#[test]
fn a_lost_connection_is_tried_again_after_tc_and_probed_then() {
    let (mut peer, now) = connected();
    peer.ended(I, End::Lost, &after(End::Lost), now);
    assert_eq!(orders(&mut peer), []);
    assert_after_tc(&peer, now);
    assert_eq!(peer.watchdog().status(), WatchdogState::Down);
    let due = peer.poll_timeout().unwrap();
    peer.handle_timeout(due);
    assert_eq!(orders(&mut peer), [Order::Connect]);
    peer.not_connected(due);
    assert_after_tc(&peer, due);
}

#[test]
fn attempts_are_not_made_in_step() {
    let mut waits: Vec<_> = (0..20)
        .map(|seed| {
            let now = Instant::now();
            let mut peer = Peer::new(Arc::new(config("a.example")), "b.example", seed);
            peer.start(now);
            peer.not_connected(now);
            peer.poll_timeout().unwrap() - now
        })
        .collect();
    waits.sort();
    waits.dedup();
    assert!(waits.len() > 15, "{waits:?}");
}

#[test]
fn an_attempt_that_takes_too_long_is_given_up_and_made_again() {
    let (mut peer, now) = peer("a.example", "b.example");
    peer.start(now);
    orders(&mut peer);
    let due = peer.poll_timeout().unwrap();
    assert_eq!(due, now + config("a").capabilities);
    peer.handle_timeout(due);
    assert_eq!(orders(&mut peer), [Order::GiveUpConnecting]);
    assert_after_tc(&peer, due);
}

#[test]
fn a_peer_that_is_busy_or_does_not_want_to_talk_is_left_alone_until_somebody_asks_again() {
    for cause in [Cause::BUSY, Cause::DO_NOT_WANT_TO_TALK_TO_YOU] {
        let (mut peer, now) = connected();
        peer.leaving(I, now);
        let end = End::PeerDisconnected(cause);
        peer.ended(I, end, &after(end), now);
        assert_eq!((peer.poll_timeout(), orders(&mut peer)), (None, vec![]));
        peer.start(now);
        assert_eq!(orders(&mut peer), [Order::Connect]);
    }
    let (mut peer, now) = connected();
    peer.leaving(I, now);
    let end = End::PeerDisconnected(Cause::REBOOTING);
    peer.ended(I, end, &after(end), now);
    assert_after_tc(&peer, now);
    assert_eq!(peer.watchdog().status(), WatchdogState::Initial, "it left in order: no proof is needed");
}

#[test]
fn a_stop_disconnects_and_nothing_is_tried_after_it() {
    let (mut peer, now) = connected();
    peer.stop(Cause::REBOOTING, now);
    assert_eq!(orders(&mut peer), [Order::Disconnect(I, Cause::REBOOTING)]);
    peer.ended(I, End::Disconnected, &after(End::Disconnected), now);
    assert_eq!((peer.poll_timeout(), peer.is_idle()), (None, true));
}

#[test]
fn a_second_connection_of_a_peer_that_is_open_is_refused() {
    let (mut peer, now) = peer("a.example", "b.example");
    peer.asked(R, &capabilities(1), now);
    assert_eq!(orders(&mut peer), [Order::Accept(R)]);
    peer.asked(Link(3), &capabilities(1), now);
    assert_eq!(orders(&mut peer), [Order::Refuse(Link(3))]);
    peer.ended(Link(3), End::RefusedByUs { result_code: 5012 }, &after(End::Lost), now);
    assert_eq!((peer.state().open(), orders(&mut peer)), (Some(R), vec![]));
}

#[test]
fn the_winner_of_an_election_closes_the_connection_it_began() {
    let (mut peer, now) = peer("b.example", "A.example");
    peer.start(now);
    peer.connected(I, now);
    orders(&mut peer);
    peer.asked(R, &capabilities(1), now);
    assert_eq!(orders(&mut peer), [Order::Abort(I), Order::Accept(R)]);
    assert_eq!(peer.state().open(), Some(R));
}

#[test]
fn the_loser_of_an_election_waits_for_the_cea_and_closes_the_other() {
    let (mut peer, now) = peer("a.example", "B.example");
    peer.start(now);
    peer.connected(I, now);
    orders(&mut peer);
    peer.asked(R, &capabilities(1), now);
    assert_eq!(orders(&mut peer), []);
    peer.opened(I, &capabilities(1), now);
    assert_eq!(orders(&mut peer), [Order::Abort(R)]);
    assert_eq!(peer.state().open(), Some(I));
}

#[test]
fn a_greater_origin_state_id_on_the_next_connection_says_that_the_peer_restarted() {
    let (mut peer, now) = connected();
    peer.ended(I, End::Lost, &after(End::Lost), now);
    peer.asked(R, &capabilities(1), now);
    assert_eq!(orders(&mut peer), [Order::Accept(R)]);
    peer.ended(R, End::Lost, &after(End::Lost), now);
    peer.asked(Link(3), &capabilities(2), now);
    assert_eq!(orders(&mut peer), [Order::Restarted { origin_state_id: 2 }, Order::Accept(Link(3))]);
    for (link, state) in [(4, 1), (5, 0), (6, 2)] {
        peer.ended(Link(link - 1), End::Lost, &after(End::Lost), now);
        peer.asked(Link(link), &capabilities(state), now);
        assert_eq!(orders(&mut peer), [Order::Accept(Link(link))], "{state}");
    }
}

#[test]
fn an_unanswered_disconnection_ends_all_the_same() {
    let (mut peer, now) = connected();
    peer.stop(Cause::REBOOTING, now);
    orders(&mut peer);
    let due = peer.poll_timeout().unwrap();
    assert!(due > now + Duration::from_secs(5));
    peer.handle_timeout(due);
    assert_eq!(orders(&mut peer), [Order::Abort(I)]);
    assert!(matches!(peer.state(), PeerState::Closed(_)));
}

#[test]
fn a_start_while_the_last_connection_closes_connects_behind_its_end() {
    for end in [End::Disconnected, End::PeerDisconnected(Cause::BUSY), End::DisconnectTimedOut] {
        let (mut peer, now) = connected();
        peer.stop(Cause::REBOOTING, now);
        orders(&mut peer);
        peer.start(now);
        assert_eq!(orders(&mut peer), []);
        peer.ended(I, end, &after(end), now);
        assert_eq!(orders(&mut peer), [Order::Connect], "{end}");
    }
}
