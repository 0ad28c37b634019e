//! A shard with a log in memory, and short words to ask it.

use std::sync::Arc;

use crate::audit::Tally;
use crate::entry::Entry;
use crate::request::{Destination, ServiceContext};
use crate::shard::{Past, Shard, Turn};
use crate::{Answer, Config, HashKey, KeyKind, Kind, PackedKey, Request, Service, ServiceAnswer, Units};

pub const SECOND: u64 = 1_000_000;
pub const BASE: u64 = 4_096;
pub const KEY: HashKey = HashKey([11, 12]);

/// Nothing is before the log at hand.
pub struct Nothing;

impl Past for Nothing {
    fn read(&self, _: u64, _: &mut Vec<u8>) -> bool {
        false
    }
}

/// Who asks a shard.
pub struct ShardUnderTest {
    pub shard: Shard,
    pub log: Vec<u8>,
    pub now_us: u64,
    pub config: Arc<Config>,
}

/// A request with nothing special.
pub fn plain(kind: Kind) -> Request<'static> {
    Request {
        kind,
        account: PackedKey::new(KEY, KeyKind::E164, b"46701234567"),
        account_octets: b"46701234567",
        session: [0, 0],
        number: 0,
        context: ServiceContext::SMS,
        class: 0,
        destination: Destination::default(),
        services: &[],
        opener: None,
    }
}

pub fn asks(units: Units) -> Service {
    Service { requested: Some(units), ..Service::default() }
}

impl ShardUnderTest {
    pub fn new(config: Config) -> ShardUnderTest {
        let config = Arc::new(config);
        let mut shard = Shard::new(KEY, config.clone());
        shard.begin_block(BASE, 1_000 * SECOND);
        ShardUnderTest { shard, log: Vec::new(), now_us: 1_000 * SECOND, config }
    }

    pub fn with_account(balance: i64) -> ShardUnderTest {
        let mut shard_under_test = ShardUnderTest::new(Config::default());
        assert_eq!(shard_under_test.ask(&plain(Kind::Create { balance, limit: 0 })).0.result, 2001);
        shard_under_test
    }

    pub fn session(name: &str) -> [u64; 2] {
        KEY.octets(name.as_bytes())
    }

    pub fn ask(&mut self, request: &Request<'_>) -> (Answer, Vec<ServiceAnswer>) {
        let mut services = Vec::new();
        let mut turn =
            Turn { now_us: self.now_us, log: &mut self.log, services: &mut services, past: &Nothing };
        let answer = self.shard.apply(request, request.account.hash(KEY), &mut turn);
        (answer, services)
    }

    pub fn debit(&mut self, session: &str, units: Units) -> Answer {
        let services = [asks(units)];
        let request =
            Request { session: ShardUnderTest::session(session), services: &services, ..plain(Kind::Debit) };
        self.ask(&request).0
    }

    pub fn pass(&mut self, us: u64) {
        self.now_us += us;
        // The log stays one block; only the time moves.
        self.shard.begin_block(BASE, self.now_us);
        let mut services = Vec::new();
        let mut turn =
            Turn { now_us: self.now_us, log: &mut self.log, services: &mut services, past: &Nothing };
        self.shard.expire(&mut turn, usize::MAX);
    }

    /// Posted and pending of the plain request's account.
    pub fn balance(&self) -> (i64, i64) {
        let number = self.shard.find(&plain(Kind::Debit).account).expect("the account is open");
        let account = self.shard.account_of(number).expect("the account is there");
        assert_eq!(account.pending, self.shard.reserved(number));
        (account.posted, account.pending)
    }

    /// Checks what must always hold: the log makes the same state, and the audit is exact.
    pub fn check(&self) {
        let mut replayed = Shard::new(KEY, self.config.clone());
        let mut tally = Tally::until(u64::MAX);
        for (position, entry) in (BASE..).zip(self.entries()) {
            replayed.begin_block(position, entry.time_us);
            replayed.replay(&entry, position).expect("the entry follows");
            tally.add(&entry, position);
        }
        assert!(self.shard.accounts.iter().eq(replayed.accounts.iter()));
        assert_eq!(self.shard.bundles, replayed.bundles);
        assert_eq!(self.shard.refunds, replayed.refunds);
        assert_eq!(self.shard.sessions.len(), replayed.sessions.len());
        assert!(self.shard.clients.iter().eq(replayed.clients.iter()));
        assert!(self.shard.sessions.iter().all(|(id, session)| replayed.sessions.find(id) == Some(session)));
        assert_eq!(self.shard.messages.len(), replayed.messages.len());
        assert!(
            self.shard.messages.iter().all(|(key, message)| replayed.messages.find(key) == Some(message))
        );
        let report = tally.close(&self.shard);
        assert!(report.is_exact(), "{report:#?}");
    }

    pub fn entries(&self) -> Vec<Entry> {
        let (mut at, mut all) = (0, Vec::new());
        while at < self.log.len() {
            let mut entry = Entry::default();
            at += entry.decode(&self.log[at..]).expect("the log has whole entries");
            all.push(entry);
        }
        all
    }
}
