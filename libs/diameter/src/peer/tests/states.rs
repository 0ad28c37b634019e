//! RFC 6733, section 5.6: every row of the table, in its order; and what no row names.

use crate::peer::states::{Action, Closed, Event, Link, State, wins_election};

const I: Link = Link(1);
const R: Link = Link(2);
const ANOTHER: Link = Link(3);

/// The state after these events, all elections lost or won alike, and the actions of the last event.
fn after(events: &[Event], wins: bool) -> (State, Vec<Action>) {
    let mut state = State::from(Closed);
    let mut actions = Vec::new();
    for event in events {
        actions.clear();
        state = state.on(*event, wins, &mut actions);
    }
    (state, actions)
}

const WAIT_CONN_ACK: &[Event] = &[Event::Start];
const WAIT_I_CEA: &[Event] = &[Event::Start, Event::IRcvConnAck(I)];
const ELECT: &[Event] = &[Event::Start, Event::RConnCer(R)];
const WAIT_RETURNS: &[Event] = &[Event::Start, Event::IRcvConnAck(I), Event::RConnCer(R)];
const R_OPEN: &[Event] = &[Event::RConnCer(R)];
const I_OPEN: &[Event] = &[Event::Start, Event::IRcvConnAck(I), Event::IRcvCea];
const I_CLOSING: &[Event] = &[Event::Start, Event::IRcvConnAck(I), Event::IRcvCea, Event::Stop];
const R_CLOSING: &[Event] = &[Event::RConnCer(R), Event::RcvDpr];

/// From a state, an event does these actions, and then the peer stands where another way leads to.
#[track_caller]
fn row(from: &[Event], event: Event, actions: &[Action], to: &[Event]) {
    let events = [from, &[event]].concat();
    let (state, done) = after(&events, false);
    assert_eq!(done, actions);
    assert_eq!(state, after(to, false).0);
}

#[test]
fn closed() {
    row(&[], Event::Start, &[Action::Connect], WAIT_CONN_ACK);
    row(&[], Event::RConnCer(R), &[Action::Accept(R), Action::SendCea(R)], R_OPEN);
}

#[test]
fn wait_conn_ack() {
    row(WAIT_CONN_ACK, Event::IRcvConnAck(I), &[Action::SendCer(I)], WAIT_I_CEA);
    row(WAIT_CONN_ACK, Event::IRcvConnNack, &[], &[]);
    row(WAIT_CONN_ACK, Event::RConnCer(R), &[Action::Accept(R)], ELECT);
    row(WAIT_CONN_ACK, Event::Timeout, &[Action::GiveUpConnecting], &[]);
}

#[test]
fn wait_i_cea() {
    row(WAIT_I_CEA, Event::IRcvCea, &[], I_OPEN);
    row(WAIT_I_CEA, Event::RConnCer(R), &[Action::Accept(R)], WAIT_RETURNS);
    row(WAIT_I_CEA, Event::IPeerDisc, &[Action::Disconnect(I)], &[]);
    row(WAIT_I_CEA, Event::IRcvNonCea, &[Action::Disconnect(I)], &[]);
    row(WAIT_I_CEA, Event::Timeout, &[Action::Disconnect(I)], &[]);
}

#[test]
fn wait_conn_ack_elect() {
    row(ELECT, Event::IRcvConnAck(I), &[Action::SendCer(I)], WAIT_RETURNS);
    row(ELECT, Event::IRcvConnNack, &[Action::SendCea(R)], R_OPEN);
    row(ELECT, Event::RPeerDisc, &[Action::Disconnect(R)], WAIT_CONN_ACK);
    row(ELECT, Event::RConnCer(ANOTHER), &[Action::Reject(ANOTHER)], ELECT);
    row(ELECT, Event::Timeout, &[Action::GiveUpConnecting, Action::Disconnect(R)], &[]);
}

#[test]
fn wait_returns() {
    row(WAIT_RETURNS, Event::IPeerDisc, &[Action::Disconnect(I), Action::SendCea(R)], R_OPEN);
    row(WAIT_RETURNS, Event::IRcvCea, &[Action::Disconnect(R)], I_OPEN);
    row(WAIT_RETURNS, Event::RPeerDisc, &[Action::Disconnect(R)], WAIT_I_CEA);
    row(WAIT_RETURNS, Event::RConnCer(ANOTHER), &[Action::Reject(ANOTHER)], WAIT_RETURNS);
    row(WAIT_RETURNS, Event::Timeout, &[Action::Disconnect(I), Action::Disconnect(R)], &[]);
}

#[test]
fn win_election() {
    let (state, actions) = after(WAIT_RETURNS, true);
    assert_eq!(actions, [Action::Accept(R), Action::Disconnect(I), Action::SendCea(R)]);
    assert_eq!(state, after(R_OPEN, true).0);
    let (state, actions) = after(&[Event::Start, Event::RConnCer(R), Event::IRcvConnAck(I)], true);
    assert_eq!(actions, [Action::SendCer(I), Action::Disconnect(I), Action::SendCea(R)]);
    assert_eq!(state, after(R_OPEN, true).0);
}

#[test]
fn r_open() {
    row(R_OPEN, Event::RConnCer(ANOTHER), &[Action::Reject(ANOTHER)], R_OPEN);
    row(R_OPEN, Event::Stop, &[Action::SendDpr(R)], R_CLOSING);
    row(R_OPEN, Event::RcvDpr, &[Action::SendDpa(R)], R_CLOSING);
    row(R_OPEN, Event::RPeerDisc, &[Action::Disconnect(R)], &[]);
}

#[test]
fn i_open() {
    row(I_OPEN, Event::RConnCer(ANOTHER), &[Action::Reject(ANOTHER)], I_OPEN);
    row(I_OPEN, Event::Stop, &[Action::SendDpr(I)], I_CLOSING);
    row(I_OPEN, Event::RcvDpr, &[Action::SendDpa(I)], I_CLOSING);
    row(I_OPEN, Event::IPeerDisc, &[Action::Disconnect(I)], &[]);
}

#[test]
fn closing() {
    row(I_CLOSING, Event::RcvDpa, &[Action::Disconnect(I)], &[]);
    row(R_CLOSING, Event::RcvDpa, &[Action::Disconnect(R)], &[]);
    row(I_CLOSING, Event::Timeout, &[Action::Disconnect(I)], &[]);
    row(R_CLOSING, Event::Timeout, &[Action::Disconnect(R)], &[]);
    row(I_CLOSING, Event::IPeerDisc, &[Action::Disconnect(I)], &[]);
    row(R_CLOSING, Event::RPeerDisc, &[Action::Disconnect(R)], &[]);
}

#[test]
fn a_stop_before_anything_is_open_gives_up() {
    row(WAIT_CONN_ACK, Event::Stop, &[Action::GiveUpConnecting], &[]);
    row(WAIT_I_CEA, Event::Stop, &[Action::Disconnect(I)], &[]);
    row(ELECT, Event::Stop, &[Action::GiveUpConnecting, Action::Disconnect(R)], &[]);
    row(WAIT_RETURNS, Event::Stop, &[Action::Disconnect(I), Action::Disconnect(R)], &[]);
}

#[test]
fn a_cea_that_refuses_leaves_the_peers_connection() {
    row(WAIT_RETURNS, Event::IRcvNonCea, &[Action::Disconnect(I), Action::SendCea(R)], R_OPEN);
}

#[test]
fn what_no_row_names_moves_nothing_and_keeps_no_connection() {
    let ways =
        [&[][..], WAIT_CONN_ACK, WAIT_I_CEA, ELECT, WAIT_RETURNS, R_OPEN, I_OPEN, I_CLOSING, R_CLOSING];
    for (way, unnamed) in [
        (0, vec![Event::IRcvConnNack, Event::IRcvCea, Event::IPeerDisc, Event::Timeout, Event::Stop]),
        (1, vec![Event::Start, Event::IRcvCea, Event::RcvDpr]),
        (2, vec![Event::Start, Event::RPeerDisc, Event::RcvDpa]),
        (4, vec![Event::RcvDpr, Event::Start]),
        (5, vec![Event::IPeerDisc, Event::Timeout, Event::IRcvCea]),
        (6, vec![Event::RPeerDisc, Event::Timeout, Event::RcvDpa]),
        (7, vec![Event::RPeerDisc, Event::Stop, Event::RcvDpr]),
        (8, vec![Event::IPeerDisc, Event::Start]),
    ] {
        for event in unnamed {
            row(ways[way], event, &[], ways[way]);
        }
    }
    for way in [I_CLOSING, R_CLOSING] {
        row(way, Event::RConnCer(ANOTHER), &[Action::Reject(ANOTHER)], way);
    }
    row(R_OPEN, Event::IRcvConnAck(ANOTHER), &[Action::Disconnect(ANOTHER)], R_OPEN);
}

#[test]
fn the_greater_origin_host_wins_whatever_its_case_and_of_two_equal_ones_none() {
    assert!(wins_election(b"b.example", b"a.example"));
    assert!(!wins_election(b"a.example", b"b.example"));
    assert!(wins_election(b"B.example", b"a.EXAMPLE") && wins_election(b"b.example", b"A.example"));
    assert!(wins_election(b"a.example.org", b"a.example"));
    assert!(!wins_election(b"A.example", b"a.EXAMPLE"));
}
