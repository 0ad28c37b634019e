//! RFC 6733, section 5.6: every row of the table, in its order; and what no row names.

use crate::peer::states::{Action, Closed, Link, PeerEvent, PeerState, wins_election};

const I: Link = Link(1);
const R: Link = Link(2);
const ANOTHER: Link = Link(3);

/// The state after these events, all elections lost or won alike, and the actions of the last event.
fn after(events: &[PeerEvent], wins: bool) -> (PeerState, Vec<Action>) {
    let mut state = PeerState::from(Closed);
    let mut actions = Vec::new();
    for event in events {
        actions.clear();
        state = state.on(*event, wins, &mut actions);
    }
    (state, actions)
}

const WAIT_CONN_ACK: &[PeerEvent] = &[PeerEvent::Start];
const WAIT_I_CEA: &[PeerEvent] = &[PeerEvent::Start, PeerEvent::IRcvConnAck(I)];
const ELECT: &[PeerEvent] = &[PeerEvent::Start, PeerEvent::RConnCer(R)];
const WAIT_RETURNS: &[PeerEvent] = &[PeerEvent::Start, PeerEvent::IRcvConnAck(I), PeerEvent::RConnCer(R)];
const R_OPEN: &[PeerEvent] = &[PeerEvent::RConnCer(R)];
const I_OPEN: &[PeerEvent] = &[PeerEvent::Start, PeerEvent::IRcvConnAck(I), PeerEvent::IRcvCea];
const I_CLOSING: &[PeerEvent] =
    &[PeerEvent::Start, PeerEvent::IRcvConnAck(I), PeerEvent::IRcvCea, PeerEvent::Stop];
const R_CLOSING: &[PeerEvent] = &[PeerEvent::RConnCer(R), PeerEvent::RcvDpr];

/// From a state, an event does these actions, and then the peer stands where another way leads to.
#[track_caller]
fn row(from: &[PeerEvent], event: PeerEvent, actions: &[Action], to: &[PeerEvent]) {
    let events = [from, &[event]].concat();
    let (state, done) = after(&events, false);
    assert_eq!(done, actions);
    assert_eq!(state, after(to, false).0);
}

#[test]
fn closed() {
    row(&[], PeerEvent::Start, &[Action::Connect], WAIT_CONN_ACK);
    row(&[], PeerEvent::RConnCer(R), &[Action::Accept(R), Action::SendCea(R)], R_OPEN);
}

#[test]
fn wait_conn_ack() {
    row(WAIT_CONN_ACK, PeerEvent::IRcvConnAck(I), &[Action::SendCer(I)], WAIT_I_CEA);
    row(WAIT_CONN_ACK, PeerEvent::IRcvConnNack, &[], &[]);
    row(WAIT_CONN_ACK, PeerEvent::RConnCer(R), &[Action::Accept(R)], ELECT);
    row(WAIT_CONN_ACK, PeerEvent::Timeout, &[Action::GiveUpConnecting], &[]);
}

#[test]
fn wait_i_cea() {
    row(WAIT_I_CEA, PeerEvent::IRcvCea, &[], I_OPEN);
    row(WAIT_I_CEA, PeerEvent::RConnCer(R), &[Action::Accept(R)], WAIT_RETURNS);
    row(WAIT_I_CEA, PeerEvent::IPeerDisc, &[Action::Disconnect(I)], &[]);
    row(WAIT_I_CEA, PeerEvent::IRcvNonCea, &[Action::Disconnect(I)], &[]);
    row(WAIT_I_CEA, PeerEvent::Timeout, &[Action::Disconnect(I)], &[]);
}

#[test]
fn wait_conn_ack_elect() {
    row(ELECT, PeerEvent::IRcvConnAck(I), &[Action::SendCer(I)], WAIT_RETURNS);
    row(ELECT, PeerEvent::IRcvConnNack, &[Action::SendCea(R)], R_OPEN);
    row(ELECT, PeerEvent::RPeerDisc, &[Action::Disconnect(R)], WAIT_CONN_ACK);
    row(ELECT, PeerEvent::RConnCer(ANOTHER), &[Action::Reject(ANOTHER)], ELECT);
    row(ELECT, PeerEvent::Timeout, &[Action::GiveUpConnecting, Action::Disconnect(R)], &[]);
}

#[test]
fn wait_returns() {
    row(WAIT_RETURNS, PeerEvent::IPeerDisc, &[Action::Disconnect(I), Action::SendCea(R)], R_OPEN);
    row(WAIT_RETURNS, PeerEvent::IRcvCea, &[Action::Disconnect(R)], I_OPEN);
    row(WAIT_RETURNS, PeerEvent::RPeerDisc, &[Action::Disconnect(R)], WAIT_I_CEA);
    row(WAIT_RETURNS, PeerEvent::RConnCer(ANOTHER), &[Action::Reject(ANOTHER)], WAIT_RETURNS);
    row(WAIT_RETURNS, PeerEvent::Timeout, &[Action::Disconnect(I), Action::Disconnect(R)], &[]);
}

#[test]
fn win_election() {
    let (state, actions) = after(WAIT_RETURNS, true);
    assert_eq!(actions, [Action::Accept(R), Action::Disconnect(I), Action::SendCea(R)]);
    assert_eq!(state, after(R_OPEN, true).0);
    let (state, actions) =
        after(&[PeerEvent::Start, PeerEvent::RConnCer(R), PeerEvent::IRcvConnAck(I)], true);
    assert_eq!(actions, [Action::SendCer(I), Action::Disconnect(I), Action::SendCea(R)]);
    assert_eq!(state, after(R_OPEN, true).0);
}

#[test]
fn r_open() {
    row(R_OPEN, PeerEvent::RConnCer(ANOTHER), &[Action::Reject(ANOTHER)], R_OPEN);
    row(R_OPEN, PeerEvent::Stop, &[Action::SendDpr(R)], R_CLOSING);
    row(R_OPEN, PeerEvent::RcvDpr, &[Action::SendDpa(R)], R_CLOSING);
    row(R_OPEN, PeerEvent::RPeerDisc, &[Action::Disconnect(R)], &[]);
}

#[test]
fn i_open() {
    row(I_OPEN, PeerEvent::RConnCer(ANOTHER), &[Action::Reject(ANOTHER)], I_OPEN);
    row(I_OPEN, PeerEvent::Stop, &[Action::SendDpr(I)], I_CLOSING);
    row(I_OPEN, PeerEvent::RcvDpr, &[Action::SendDpa(I)], I_CLOSING);
    row(I_OPEN, PeerEvent::IPeerDisc, &[Action::Disconnect(I)], &[]);
}

#[test]
fn closing() {
    row(I_CLOSING, PeerEvent::RcvDpa, &[Action::Disconnect(I)], &[]);
    row(R_CLOSING, PeerEvent::RcvDpa, &[Action::Disconnect(R)], &[]);
    row(I_CLOSING, PeerEvent::Timeout, &[Action::Disconnect(I)], &[]);
    row(R_CLOSING, PeerEvent::Timeout, &[Action::Disconnect(R)], &[]);
    row(I_CLOSING, PeerEvent::IPeerDisc, &[Action::Disconnect(I)], &[]);
    row(R_CLOSING, PeerEvent::RPeerDisc, &[Action::Disconnect(R)], &[]);
}

#[test]
fn a_stop_before_anything_is_open_gives_up() {
    row(WAIT_CONN_ACK, PeerEvent::Stop, &[Action::GiveUpConnecting], &[]);
    row(WAIT_I_CEA, PeerEvent::Stop, &[Action::Disconnect(I)], &[]);
    row(ELECT, PeerEvent::Stop, &[Action::GiveUpConnecting, Action::Disconnect(R)], &[]);
    row(WAIT_RETURNS, PeerEvent::Stop, &[Action::Disconnect(I), Action::Disconnect(R)], &[]);
}

#[test]
fn a_cea_that_refuses_leaves_the_peers_connection() {
    row(WAIT_RETURNS, PeerEvent::IRcvNonCea, &[Action::Disconnect(I), Action::SendCea(R)], R_OPEN);
}

#[test]
fn what_no_row_names_moves_nothing_and_keeps_no_connection() {
    let ways =
        [&[][..], WAIT_CONN_ACK, WAIT_I_CEA, ELECT, WAIT_RETURNS, R_OPEN, I_OPEN, I_CLOSING, R_CLOSING];
    for (way, unnamed) in [
        (
            0,
            vec![
                PeerEvent::IRcvConnNack,
                PeerEvent::IRcvCea,
                PeerEvent::IPeerDisc,
                PeerEvent::Timeout,
                PeerEvent::Stop,
            ],
        ),
        (1, vec![PeerEvent::Start, PeerEvent::IRcvCea, PeerEvent::RcvDpr]),
        (2, vec![PeerEvent::Start, PeerEvent::RPeerDisc, PeerEvent::RcvDpa]),
        (4, vec![PeerEvent::RcvDpr, PeerEvent::Start]),
        (5, vec![PeerEvent::IPeerDisc, PeerEvent::Timeout, PeerEvent::IRcvCea]),
        (6, vec![PeerEvent::RPeerDisc, PeerEvent::Timeout, PeerEvent::RcvDpa]),
        (7, vec![PeerEvent::RPeerDisc, PeerEvent::Stop, PeerEvent::RcvDpr]),
        (8, vec![PeerEvent::IPeerDisc, PeerEvent::Start]),
    ] {
        for event in unnamed {
            row(ways[way], event, &[], ways[way]);
        }
    }
    for way in [I_CLOSING, R_CLOSING] {
        row(way, PeerEvent::RConnCer(ANOTHER), &[Action::Reject(ANOTHER)], way);
    }
    row(R_OPEN, PeerEvent::IRcvConnAck(ANOTHER), &[Action::Disconnect(ANOTHER)], R_OPEN);
}

#[test]
fn the_greater_origin_host_wins_whatever_its_case_and_of_two_equal_ones_none() {
    assert!(wins_election(b"b.example", b"a.example"));
    assert!(!wins_election(b"a.example", b"b.example"));
    assert!(wins_election(b"B.example", b"a.EXAMPLE") && wins_election(b"b.example", b"A.example"));
    assert!(wins_election(b"a.example.org", b"a.example"));
    assert!(!wins_election(b"A.example", b"a.EXAMPLE"));
}
