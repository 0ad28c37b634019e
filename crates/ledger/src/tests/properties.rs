use proptest::prelude::*;
use std::sync::{Arc, LazyLock};

use super::ShardUnderTest;
use super::bench::{BASE, KEY, Nothing, SECOND, plain};
use crate::client::{Client, Opener};
use crate::config::{Config, DefaultAccount, DuplicateLimits};
use crate::request::{MessageKey, ServiceContext};
use crate::shard::Turn;
use crate::shared::Savepoint;
use crate::{Batch, KeyKind, Kind, NewRequest, PackedKey, Request, Service, Units};

#[derive(Clone, Debug)]
struct Step {
    kind: Kind,
    account: u8,
    session: u8,
    number: u32,
    services: Vec<Service>,
    /// Seconds before it.
    pause_s: u64,
    /// Whether it comes a second time.
    is_repeated: bool,
}

fn units() -> impl Strategy<Value = Units> {
    prop_oneof![
        (0_u64..40).prop_map(Units::specific),
        (0_u64..40_000_000).prop_map(Units::octets),
        (0_u32..3_000).prop_map(Units::time),
        (-3_i64..60).prop_map(Units::money),
        Just(Units::default()),
        any::<(u64, i64)>().prop_map(|(count, money)| Units {
            present: 15,
            time_s: 9,
            octets: count,
            specific: count,
            money
        }),
    ]
}

fn service() -> impl Strategy<Value = Service> {
    let group = prop_oneof![Just(None), (1_u32..3).prop_map(Some)];
    (group, proptest::option::of(units()), proptest::option::of(units())).prop_map(
        |(rating_group, requested, used)| Service { rating_group, requested, used, ..Service::default() },
    )
}

fn kind() -> impl Strategy<Value = Kind> {
    let message = (0_u64..2, 0_u32..2).prop_map(|(alert, endpoint)| MessageKey { alert, endpoint });
    let until = 1_000_u64..1_000_000;
    prop_oneof![
        3 => Just(Kind::Debit),
        1 => (0_u8..4).prop_map(|of| Kind::Refund { of: Some(ShardUnderTest::session(&of.to_string())) }),
        1 => Just(Kind::Refund { of: None }),
        1 => Just(Kind::CheckBalance),
        1 => Just(Kind::PriceEnquiry),
        4 => Just(Kind::Initial),
        6 => Just(Kind::Update),
        2 => Just(Kind::Terminate),
        1 => (-1_i64..100).prop_map(|amount| Kind::TopUp { amount }),
        1 => (0_i64..100, -1_i64..50).prop_map(|(balance, limit)| Kind::Create { balance, limit }),
        1 => any::<bool>().prop_map(|blocked| Kind::Block { blocked }),
        1 => (0_u64..20, 0_u32..2_000_000)
            .prop_map(|(units, expires_s)| Kind::AddBundle { units, context: ServiceContext::SMS, expires_s }),
        3 => (message.clone(), 0_u32..5, until.clone(), 0_u64..4)
            .prop_map(|(message, parts, until, since)| Kind::Hold { message, parts, until_us: until * SECOND, since }),
        2 => (message.clone(), 0_u32..5).prop_map(|(message, parts)| Kind::Settle { message, parts }),
        2 => (message.clone(), 0_u64..4).prop_map(|(message, at)| Kind::Release { message, at }),
        1 => message.clone().prop_map(|message| Kind::Keep { message }),
        1 => (message, 0_u32..5, until, 0_u64..4)
            .prop_map(|(message, parts, until, since)| Kind::Debt { message, parts, until_us: until * SECOND, since }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let services = proptest::collection::vec(service(), 0..3);
    let pause_s = prop_oneof![8 => Just(0), 2 => 0_u64..60, 1 => 0_u64..9_000];
    (kind(), 0_u8..3, 0_u8..4, 0_u32..12, services, pause_s, any::<bool>()).prop_map(
        |(kind, account, session, number, services, pause_s, is_repeated)| Step {
            kind,
            account,
            session,
            number,
            services,
            pause_s,
            is_repeated,
        },
    )
}

const NAMES: [&[u8]; 3] = [b"46701111111", b"46702222222", b"someone@a-realm-with-a-long-name.example"];

/// Who opens sessions: two starts of one client, and another client.
static CLIENTS: LazyLock<[Arc<Client>; 3]> = LazyLock::new(|| {
    let client = |host: &str, start| Arc::new(Client::new(KEY, host, "client.test", host, Some(start)));
    [client("a.client.test", 1), client("a.client.test", 2), client("b.client.test", 1)]
});

impl Step {
    fn opener(&self) -> Option<Opener<'_>> {
        let client = &CLIENTS[usize::from(self.account)];
        (self.kind == Kind::Initial).then(|| Opener {
            session_id: &NAMES[0][..=usize::from(self.session)],
            client,
            is_multiple: self.services.len() != 1,
        })
    }

    fn request(&self) -> Request<'_> {
        let octets = NAMES[usize::from(self.account)];
        Request {
            account: PackedKey::new(KEY, KeyKind::Nai, octets),
            account_octets: octets,
            session: ShardUnderTest::session(&self.session.to_string()),
            number: self.number,
            services: &self.services,
            opener: self.opener(),
            ..plain(self.kind)
        }
    }

    fn push(&self, batch: &mut Batch) {
        let of = self.request();
        let request = NewRequest {
            kind: of.kind,
            account_kind: KeyKind::Nai,
            account: of.account_octets,
            session: of.session,
            number: of.number,
            context: of.context,
            class: of.class,
            destination: of.destination,
            services: of.services,
            tag: 0,
            opener: of.opener,
        };
        batch.push(of.account, of.account.hash(KEY), &request);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(100)))]

    #[test]
    fn whatever_was_decided_and_is_taken_back_was_never_there(
        steps in proptest::collection::vec(step(), 1..40),
        opens_accounts in any::<bool>(),
    ) {
        let default_account = opens_accounts.then_some(DefaultAccount { balance: 40, limit: 3 });
        let duplicates = DuplicateLimits { octets_first: 1 << 14, ..DuplicateLimits::default() };
        let mut shard_under_test = ShardUnderTest::new(Config { default_account, duplicates, ..Config::default() });
        let mut savepoint = Savepoint::default();
        for (at, step) in steps.iter().enumerate() {
            let mut batch = Batch::default();
            steps[at..].iter().take(5).for_each(|step| step.push(&mut batch));
            shard_under_test.now_us += step.pause_s * SECOND;
            let mut log = shard_under_test.log.clone();
            shard_under_test.shard.begin_block(BASE, shard_under_test.now_us);
            savepoint.begin(&shard_under_test.shard);
            savepoint.save(&shard_under_test.shard, &batch);
            let mut services = Vec::new();
            let mut turn = Turn { now_us: shard_under_test.now_us, log: &mut log, services: &mut services, past: &Nothing };
            savepoint.expire(&mut shard_under_test.shard, &mut turn, usize::MAX);
            batch.apply(&mut shard_under_test.shard, shard_under_test.now_us, &mut log, &Nothing);
            savepoint.restore(&mut shard_under_test.shard);
            shard_under_test.check();
            // What ended by itself and was taken back ends in the next second.
            shard_under_test.pass(SECOND);
            shard_under_test.ask(&step.request());
            shard_under_test.check();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(300)))]

    #[test]
    fn whatever_is_asked_money_adds_up_is_never_below_zero_and_the_log_makes_the_same_state(
        steps in proptest::collection::vec(step(), 1..60),
        opens_accounts in any::<bool>(),
        zero_grant in any::<bool>(),
        credit_pool in any::<bool>(),
    ) {
        let default_account = opens_accounts.then_some(DefaultAccount { balance: 40, limit: 3 });
        let mut shard_under_test = ShardUnderTest::new(Config { default_account, zero_grant, credit_pool, ..Config::default() });
        for step in &steps {
            if step.pause_s > 0 {
                shard_under_test.pass(step.pause_s * SECOND);
            }
            let request = step.request();
            let (answer, services) = shard_under_test.ask(&request);
            if step.is_repeated && answer.result != 5002 {
                let entries = shard_under_test.log.len();
                let again = shard_under_test.ask(&request);
                prop_assert!(again.0.is_duplicate);
                prop_assert_eq!((again.0.result, again.0.cost, &again.1), (answer.result, answer.cost, &services));
                prop_assert_eq!(shard_under_test.log.len(), entries);
            }
            for (_, account) in shard_under_test.shard.accounts.iter() {
                prop_assert!(account.available() >= 0 && account.pending >= 0, "{:?} after {:?}", account, step);
            }
        }
        shard_under_test.check();
    }
}
