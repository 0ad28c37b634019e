//! Tests of the client of a session, and of sessions that others than their client end.

use super::ShardUnderTest;
use super::bench::{SECOND, asks, plain};
use crate::client::{Client, Opener};
use crate::entry::EntryKind;
use crate::{HashKey, Kind, Request, Shard, Units, snapshot};
use std::sync::Arc;

fn client(host: &str, state_id: u32) -> Arc<Client> {
    Arc::new(Client::new(HashKey([9, 9]), host, "example", host, Some(state_id)))
}

fn begin(shard_under_test: &mut ShardUnderTest, session: &str, client: &Arc<Client>, octets: u64) {
    let services = [asks(Units::octets(octets))];
    let opener = Some(Opener { session_id: session.as_bytes(), client, is_multiple: false });
    let session = ShardUnderTest::session(session);
    let request = Request { session, services: &services, opener, ..plain(Kind::Initial) };
    shard_under_test.ask(&request);
}

#[test]
fn a_session_knows_who_opened_it_and_whether_it_had_too_little() {
    let mut shard_under_test = ShardUnderTest::with_account(5);
    let smf = client("smf.example", 1);
    begin(&mut shard_under_test, "a", &smf, 3_000_000);
    begin(&mut shard_under_test, "b", &smf, 9_000_000);
    let number = shard_under_test.shard.find(&plain(Kind::Debit).account).unwrap();
    let mut all = shard_under_test.shard.sessions_of(number, |_| true);
    all.sort_by(|one, other| one.id.cmp(&other.id));
    let seen: Vec<_> = all.iter().map(|s| (&*s.id, s.client.as_deref(), s.reserved, s.is_starved)).collect();
    assert_eq!(seen, [(&b"a"[..], Some(&*smf), 3, false), (&b"b"[..], Some(&*smf), 2, true)]);
    let first = shard_under_test.shard.sessions_after(number, None, 1);
    let second = shard_under_test.shard.sessions_after(number, Some(first[0].session), 9);
    assert!(second.len() == 1 && second[0].session > first[0].session);
    shard_under_test.check();
    // With money it has what it wants.
    shard_under_test.ask(&plain(Kind::TopUp { amount: 50 }));
    let services = [asks(Units::octets(9_000_000))];
    let session = ShardUnderTest::session("b");
    shard_under_test.ask(&Request { session, number: 1, services: &services, ..plain(Kind::Update) });
    assert!(shard_under_test.shard.sessions_of(number, |session| session.is_starved()).is_empty());
    shard_under_test.check();
}

#[test]
fn a_client_that_started_anew_loses_its_sessions_of_before_and_nobody_elses() {
    let mut shard_under_test = ShardUnderTest::with_account(100);
    let (before, now, other) = (client("smf.example", 1), client("smf.example", 2), client("pgw.example", 1));
    begin(&mut shard_under_test, "a", &before, 3_000_000);
    begin(&mut shard_under_test, "b", &other, 4_000_000);
    begin(&mut shard_under_test, "c", &now, 5_000_000);
    assert_eq!(shard_under_test.balance(), (100, 12));
    assert_eq!(shard_under_test.shard.end_sessions_before("SMF.example", 2), 1);
    shard_under_test.pass(0);
    assert_eq!(shard_under_test.balance(), (100, 9));
    let last = shard_under_test.entries().pop().unwrap();
    assert_eq!(
        (last.deed, last.session, last.moved.pending),
        (EntryKind::SessionEnded, ShardUnderTest::session("a"), -3)
    );
    assert_eq!(shard_under_test.shard.end_sessions_before("smf.example", 2), 0);
    shard_under_test.check();
    // Its number is free for whoever comes next.
    begin(&mut shard_under_test, "d", &client("new.example", 7), 1_000_000);
    let number = shard_under_test.shard.find(&plain(Kind::Debit).account).unwrap();
    assert_eq!(shard_under_test.shard.clients.iter().len(), 3);
    assert_eq!(shard_under_test.shard.sessions_of(number, |_| true).len(), 3);
    shard_under_test.check();
    // What ends by itself gives its number up too.
    shard_under_test.pass(10_000 * SECOND);
    assert_eq!((shard_under_test.balance(), shard_under_test.shard.sessions().0), ((100, 0), 0));
    assert!(shard_under_test.shard.clients.which(|_| true).is_empty());
    shard_under_test.check();
}

#[test]
fn one_service_that_is_refused_begins_no_session_also_where_it_has_a_name() {
    for is_multiple in [false, true] {
        let mut shard_under_test = ShardUnderTest::with_account(0);
        let services = [crate::Service { service_id: Some(7), ..asks(Units::octets(1)) }];
        let client = client("smf.example", 1);
        let opener = Some(Opener { session_id: b"a", client: &client, is_multiple });
        let session = ShardUnderTest::session("a");
        let request = Request { session, services: &services, opener, ..plain(Kind::Initial) };
        let (answer, refused) = shard_under_test.ask(&request);
        assert_eq!(refused[0].result, 4012);
        let expected = if is_multiple { (2001, 1) } else { (4012, 0) };
        assert_eq!((answer.result, shard_under_test.shard.sessions().0), expected);
        shard_under_test.check();
    }
}

#[test]
fn a_snapshot_keeps_who_opened_each_session() {
    let mut shard_under_test = ShardUnderTest::with_account(5);
    for (name, host) in [("a", "smf.example"), ("b", "pgw.example"), ("c", "smf.example")] {
        begin(&mut shard_under_test, name, &client(host, 1), 3_000_000);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = shard_under_test.shard.freeze(1 << 20).write(&wal::OsDisk, folder.path()).unwrap();
    let thawed = snapshot::read(&path, HashKey([3, 4]), shard_under_test.config.clone()).unwrap().unwrap();
    let number = shard_under_test.shard.find(&plain(Kind::Debit).account).unwrap();
    let seen = |shard: &Shard| format!("{:?}", shard.sessions_after(number, None, 9));
    assert_eq!(seen(&thawed.shard), seen(&shard_under_test.shard));
    assert_eq!(thawed.shard.clients.which(|client| client.is_before("smf.example", 2)).len(), 1);
}
