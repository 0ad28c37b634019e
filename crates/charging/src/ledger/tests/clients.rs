//! Tests of the client of a session, and of sessions that others than their client end.

use super::ShardUnderTest;
use super::bench::{SECOND, asks, plain};
use crate::ledger::client::{Client, Opener};
use crate::ledger::entry::EntryKind;
use crate::ledger::{HashKey, Kind, Request, Shard, Units, snapshot};
use std::sync::Arc;

fn client(host: &str, state_id: u32) -> Arc<Client> {
    Arc::new(Client::new(HashKey([9, 9]), host, "example", host, Some(state_id)))
}

fn begin(desk: &mut ShardUnderTest, session: &str, client: &Arc<Client>, octets: u64) {
    let services = [asks(Units::octets(octets))];
    let opener = Some(Opener { session_id: session.as_bytes(), client, is_multiple: false });
    let session = ShardUnderTest::session(session);
    let request = Request { session, services: &services, opener, ..plain(Kind::Initial) };
    desk.new_request(&request);
}

#[test]
fn a_session_knows_who_opened_it_and_whether_it_had_too_little() {
    let mut desk = ShardUnderTest::with_account(5);
    let smf = client("smf.example", 1);
    begin(&mut desk, "a", &smf, 3_000_000);
    begin(&mut desk, "b", &smf, 9_000_000);
    let number = desk.shard.find(&plain(Kind::Debit).account).unwrap();
    let mut all = desk.shard.sessions_of(number, |_| true);
    all.sort_by(|one, other| one.id.cmp(&other.id));
    let seen: Vec<_> = all.iter().map(|s| (&*s.id, s.client.as_deref(), s.reserved, s.is_starved)).collect();
    assert_eq!(seen, [(&b"a"[..], Some(&*smf), 3, false), (&b"b"[..], Some(&*smf), 2, true)]);
    let first = desk.shard.sessions_after(number, None, 1);
    let second = desk.shard.sessions_after(number, Some(first[0].session), 9);
    assert!(second.len() == 1 && second[0].session > first[0].session);
    desk.check();
    // With money it has what it wants.
    desk.ask(&plain(Kind::TopUp { amount: 50 }));
    let services = [asks(Units::octets(9_000_000))];
    let session = ShardUnderTest::session("b");
    desk.new_request(&Request { session, number: 1, services: &services, ..plain(Kind::Update) });
    assert!(desk.shard.sessions_of(number, |session| session.is_starved()).is_empty());
    desk.check();
}

#[test]
fn a_client_that_started_anew_loses_its_sessions_of_before_and_nobody_elses() {
    let mut desk = ShardUnderTest::with_account(100);
    let (before, now, other) = (client("smf.example", 1), client("smf.example", 2), client("pgw.example", 1));
    begin(&mut desk, "a", &before, 3_000_000);
    begin(&mut desk, "b", &other, 4_000_000);
    begin(&mut desk, "c", &now, 5_000_000);
    assert_eq!(desk.balance(), (100, 12));
    assert_eq!(desk.shard.end_sessions_before("SMF.example", 2), 1);
    desk.pass(0);
    assert_eq!(desk.balance(), (100, 9));
    let last = desk.entries().pop().unwrap();
    assert_eq!(
        (last.deed, last.session, last.moved.pending),
        (EntryKind::SessionEnded, ShardUnderTest::session("a"), -3)
    );
    assert_eq!(desk.shard.end_sessions_before("smf.example", 2), 0);
    desk.check();
    // Its number is free for whoever comes next.
    begin(&mut desk, "d", &client("new.example", 7), 1_000_000);
    let number = desk.shard.find(&plain(Kind::Debit).account).unwrap();
    assert_eq!(desk.shard.clients.iter().len(), 3);
    assert_eq!(desk.shard.sessions_of(number, |_| true).len(), 3);
    desk.check();
    // What ends by itself gives its number up too.
    desk.pass(10_000 * SECOND);
    assert_eq!((desk.balance(), desk.shard.sessions().0), ((100, 0), 0));
    assert!(desk.shard.clients.which(|_| true).is_empty());
    desk.check();
}

#[test]
fn one_service_that_is_refused_begins_no_session_also_where_it_has_a_name() {
    for is_multiple in [false, true] {
        let mut desk = ShardUnderTest::with_account(0);
        let services = [crate::ledger::Service { service_id: Some(7), ..asks(Units::octets(1)) }];
        let client = client("smf.example", 1);
        let opener = Some(Opener { session_id: b"a", client: &client, is_multiple });
        let session = ShardUnderTest::session("a");
        let request = Request { session, services: &services, opener, ..plain(Kind::Initial) };
        let (answer, refused) = desk.new_request(&request);
        assert_eq!(refused[0].result, 4012);
        let expected = if is_multiple { (2001, 1) } else { (4012, 0) };
        assert_eq!((answer.result, desk.shard.sessions().0), expected);
        desk.check();
    }
}

#[test]
fn a_snapshot_keeps_who_opened_each_session() {
    let mut desk = ShardUnderTest::with_account(5);
    for (name, host) in [("a", "smf.example"), ("b", "pgw.example"), ("c", "smf.example")] {
        begin(&mut desk, name, &client(host, 1), 3_000_000);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = desk.shard.freeze(1 << 20).write(folder.path()).unwrap();
    let thawed = snapshot::read(&path, HashKey([3, 4]), desk.config.clone()).unwrap().unwrap();
    let number = desk.shard.find(&plain(Kind::Debit).account).unwrap();
    let seen = |shard: &Shard| format!("{:?}", shard.sessions_after(number, None, 9));
    assert_eq!(seen(&thawed.shard), seen(&desk.shard));
    assert_eq!(thawed.shard.clients.which(|client| client.is_before("smf.example", 2)).len(), 1);
}
