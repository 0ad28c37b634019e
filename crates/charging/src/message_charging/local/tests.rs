use super::*;
use crate::message_charging::settler::{self, Settling};
use bus::embedded::{Embedded, Options as BusOptions};
use bus::{Bus, Topic};
use ledger::books::{AccountId, AccountView, Books, LedgerPlace};
use ledger::{Options, shared};
use records::{
    AlertNo, AttemptRef, AttemptResult, EndpointNo, NotTried, OUTCOMES, Outcome, Receipt, ReceiptState,
    Timestamp, encode_outcomes, mail_key,
};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

const ALERT: AlertNo = AlertNo(7);
const HOUR_US: i64 = 3_600_000_000;
/// What never takes so long unless it never comes.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Where a test's ledger is kept.
#[derive(Clone, Copy)]
enum Over {
    /// A folder of one process alone.
    Folder,
    /// A database that processes could share.
    PostgreSql,
}

/// Runs each test over both.
macro_rules! over_both {
    ($($name:ident),* $(,)?) => {
        mod in_a_folder {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(super::Over::Folder).await;
                }
            )*
        }
        mod over_postgresql {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(super::Over::PostgreSql).await;
                }
            )*
        }
    };
}

struct TestLedger {
    folder: tempfile::TempDir,
    kept: LedgerPlace,
    ledger: Ledger,
    own: MessageCharging,
    books: Books,
    bus: Embedded,
    outcomes: Arc<dyn Topic>,
}

/// A ledger in this folder, or in this database.
fn open_ledger(kept: &LedgerPlace) -> Ledger {
    match kept {
        LedgerPlace::Folder(folder) => Ledger::open(&Options { shards: 2, ..Options::new(folder) }).unwrap(),
        LedgerPlace::Shared(log) => {
            let options = shared::Options { shards: 2, ..shared::Options::new(log.clone()) };
            Ledger::open_shared(&options).unwrap()
        }
    }
}

fn now() -> i64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros() as i64
}

fn accepted() -> AttemptResult {
    AttemptResult::Accepted { keys: Vec::new(), id: String::new() }
}

fn refused() -> AttemptResult {
    AttemptResult::Refused { permanent: false, code: "smpp:00000058".into(), text: String::new() }
}

fn unknown() -> AttemptResult {
    AttemptResult::Unknown { text: String::new() }
}

/// Waits until something is so.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

impl TestLedger {
    async fn with(over: Over, balance: i64) -> TestLedger {
        let folder = tempfile::tempdir().unwrap();
        let kept = match over {
            Over::Folder => LedgerPlace::Folder(folder.path().join("ledger").into()),
            Over::PostgreSql => {
                let url = servers::postgres::PostgresServer::shared().create_database();
                let store =
                    store::postgres::open(&url, &store::postgres::PostgresOptions::default()).unwrap();
                LedgerPlace::Shared(store.ledger_log().unwrap())
            }
        };
        TestLedger::over(kept, folder, balance).await
    }

    async fn over(kept: LedgerPlace, folder: tempfile::TempDir, balance: i64) -> TestLedger {
        let ledger = open_ledger(&kept);
        let bus = Embedded::open(folder.path().join("bus"), BusOptions::default()).unwrap();
        let outcomes = bus.topic(OUTCOMES).unwrap();
        let (own, books) = (MessageCharging::new(ledger.clone()), Books::kept(ledger.clone(), kept.clone()));
        books.open(&AccountId::named("city"), balance, 0).await.unwrap();
        TestLedger { folder, kept, ledger, own, books, bus, outcomes }
    }

    fn bill(&self, endpoints: std::ops::Range<u32>, parts: u8) -> Bill {
        let item = |endpoint| BillItem {
            endpoint: EndpointNo(endpoint),
            attempt: 1,
            parts,
            address: "+46701740605".to_owned(),
            until: Timestamp(now() + HOUR_US),
        };
        Bill {
            account: "city".to_owned(),
            alert: ALERT,
            is_emergency: false,
            since: self.outcomes.head(),
            is_again: false,
            items: endpoints.map(item).collect(),
        }
    }

    async fn tell(&self, outcomes: &[Outcome]) {
        self.outcomes.append(&[&encode_outcomes(outcomes)]).await.unwrap();
    }

    async fn end(&self, endpoint: u32, attempt: u8, result: AttemptResult) {
        let of = AttemptRef { alert: ALERT, endpoint: EndpointNo(endpoint), attempt, part: 1, parts: 2 };
        self.tell(&[Outcome::Attempt { of, route: "r".into(), at: Timestamp(now()), result }]).await;
    }

    async fn receipt(&self, endpoint: u32, state: ReceiptState) {
        let keys = vec![mail_key(ALERT, EndpointNo(endpoint))];
        let (route, id, text) = (String::new(), String::new(), String::new());
        self.tell(&[Outcome::Receipt(Receipt { route, keys, id, state, text, at: Timestamp(now()) })]).await;
    }

    fn settling(&self) -> Settling {
        self.own.start_settling(&self.bus).unwrap()
    }

    /// What is on the topic is settled.
    async fn settle(&self) {
        self.settling().stop().await;
        let group = self.bus.group(OUTCOMES, settler::GROUP).unwrap();
        assert_eq!(group.low_water(), self.outcomes.head());
    }

    async fn city(&self) -> AccountView {
        self.books.account(&AccountId::named("city")).await.unwrap()
    }

    /// Balance, reserved, used, debt.
    async fn money(&self) -> (i64, i64, i64, i64) {
        let city = self.city().await;
        (city.balance, city.reserved, city.used, city.debt)
    }

    fn audit(self) {
        self.ledger.stop();
        let report = match &self.kept {
            LedgerPlace::Folder(folder) => ledger::audit(folder).unwrap(),
            LedgerPlace::Shared(log) => shared::read::audit(log).unwrap(),
        };
        assert!(report.is_exact(), "{report:#?}");
    }
}

async fn a_segment_is_paid_as_far_as_the_money_goes_and_each_message_once(over: Over) {
    let test_ledger = TestLedger::with(over, 12).await;
    for _ in 0..3 {
        let answers = test_ledger.own.pay(&test_ledger.bill(0..10, 2)).await;
        assert_eq!(answers[..6], [Funding::Paid; 6]);
        assert_eq!(answers[6..], [Funding::Refused(Unpaid::NoMoney); 4]);
    }
    assert_eq!(test_ledger.money().await, (12, 12, 0, 0));
    for endpoint in 0..6 {
        test_ledger.end(endpoint, 1, accepted()).await;
        test_ledger.end(endpoint, 1, accepted()).await;
    }
    test_ledger.settle().await;
    assert_eq!(test_ledger.money().await, (0, 0, 12, 0));
    // What was charged may be sent again for nothing.
    assert_eq!(test_ledger.own.pay(&test_ledger.bill(0..1, 2)).await, [Funding::Paid]);
    assert_eq!(test_ledger.money().await, (0, 0, 12, 0));
    test_ledger.audit();
}

async fn what_was_not_sent_is_free_again_and_another_attempt_holds_again(over: Over) {
    let test_ledger = TestLedger::with(over, 4).await;
    let not_tried = AttemptResult::NotTried { why: NotTried::RouteDown };
    for (attempt, result) in [(1, refused()), (2, not_tried), (3, refused())] {
        assert_eq!(test_ledger.own.pay(&test_ledger.bill(0..1, 2)).await, [Funding::Paid]);
        assert_eq!(test_ledger.money().await, (4, 2, 0, 0));
        test_ledger.end(0, attempt, result).await;
        test_ledger.settle().await;
        assert_eq!(test_ledger.money().await, (4, 0, 0, 0));
    }
    test_ledger.audit();
}

async fn outcomes_that_are_told_again_after_a_crash_move_no_money_twice(over: Over) {
    let test_ledger = TestLedger::with(over, 10).await;
    test_ledger.own.pay(&test_ledger.bill(0..3, 2)).await;
    test_ledger.end(0, 1, refused()).await;
    test_ledger.end(1, 1, accepted()).await;
    test_ledger.settle().await;
    test_ledger.own.pay(&test_ledger.bill(0..1, 2)).await;
    assert_eq!(test_ledger.money().await, (8, 4, 2, 0));
    // A ledger that was opened again, and a topic whose acknowledgements were lost.
    test_ledger.ledger.stop();
    let ledger = open_ledger(&test_ledger.kept);
    let outcomes = test_ledger.outcomes.read(0, 100, 1 << 20).unwrap();
    let bus = Embedded::open(test_ledger.folder.path().join("again"), BusOptions::default()).unwrap();
    let again = TestLedger {
        own: MessageCharging::new(ledger.clone()),
        books: Books::kept(ledger.clone(), test_ledger.kept.clone()),
        kept: test_ledger.kept,
        ledger,
        outcomes: bus.topic(OUTCOMES).unwrap(),
        bus,
        folder: test_ledger.folder,
    };
    for record in outcomes {
        again.outcomes.append(&[&record.octets]).await.unwrap();
    }
    again.settle().await;
    assert_eq!(again.money().await, (8, 4, 2, 0));
    again.end(0, 2, accepted()).await;
    again.end(2, 1, refused()).await;
    again.settle().await;
    assert_eq!(again.money().await, (6, 0, 4, 0));
    again.audit();
}

async fn the_unknown_is_held_until_a_yes_or_a_receipt_whatever_another_attempt_comes_to(over: Over) {
    let test_ledger = TestLedger::with(over, 20).await;
    test_ledger.own.pay(&test_ledger.bill(0..4, 2)).await;
    let settling = test_ledger.settling();
    for endpoint in 0..4 {
        test_ledger.end(endpoint, 1, unknown()).await;
        test_ledger.own.pay(&test_ledger.bill(endpoint..endpoint + 1, 2)).await;
        test_ledger.end(endpoint, 2, refused()).await;
    }
    test_ledger.end(0, 1, accepted()).await;
    test_ledger.receipt(1, ReceiptState::Delivered).await;
    test_ledger.receipt(2, ReceiptState::Failed).await;
    settling.stop().await;
    // One accepted late, one delivered, one failed, and one of which nothing was heard.
    assert_eq!(test_ledger.money().await, (16, 2, 4, 0));
    test_ledger.audit();
}

async fn a_receipt_settles_what_another_process_or_the_one_before_heard_to_be_unknown(over: Over) {
    let mut test_ledger = TestLedger::with(over, 20).await;
    test_ledger.own.pay(&test_ledger.bill(0..4, 2)).await;
    for endpoint in 0..4 {
        test_ledger.end(endpoint, 1, unknown()).await;
    }
    test_ledger.settle().await;
    assert_eq!(test_ledger.money().await, (20, 8, 0, 0));
    if let LedgerPlace::Folder(_) = test_ledger.kept {
        test_ledger.ledger.stop();
    }
    let first = std::mem::replace(&mut test_ledger.ledger, open_ledger(&test_ledger.kept));
    test_ledger.own = MessageCharging::new(test_ledger.ledger.clone());
    test_ledger.books = Books::kept(test_ledger.ledger.clone(), test_ledger.kept.clone());
    test_ledger.receipt(0, ReceiptState::Buffered).await;
    test_ledger.receipt(1, ReceiptState::Delivered).await;
    test_ledger.receipt(2, ReceiptState::Failed).await;
    // Of a message that nobody was asked to pay for.
    test_ledger.receipt(9, ReceiptState::Delivered).await;
    test_ledger.settle().await;
    assert_eq!(test_ledger.money().await, (18, 4, 2, 0));
    // Told again it moves nothing: neither is unknown any more.
    test_ledger.receipt(1, ReceiptState::Failed).await;
    test_ledger.receipt(2, ReceiptState::Delivered).await;
    test_ledger.settle().await;
    assert_eq!(test_ledger.money().await, (18, 4, 2, 0));
    first.stop();
    test_ledger.audit();
}

async fn a_receipt_that_comes_before_it_is_told_that_its_message_is_unknown_waits_for_that(over: Over) {
    let test_ledger = TestLedger::with(over, 20).await;
    test_ledger.own.pay(&test_ledger.bill(0..5, 2)).await;
    let states = [ReceiptState::Delivered, ReceiptState::Failed];
    for (endpoint, state) in (0..5).zip(states.into_iter().cycle()) {
        test_ledger.receipt(endpoint, state).await;
    }
    test_ledger.receipt(4, ReceiptState::Buffered).await;
    for endpoint in 0..3 {
        test_ledger.end(endpoint, 1, unknown()).await;
    }
    // What a receipt says of an attempt that was taken does not count for another.
    test_ledger.end(3, 1, accepted()).await;
    test_ledger.end(3, 2, unknown()).await;
    test_ledger.settle().await;
    // Two delivered, one failed, one accepted, and one of which nothing else was told.
    assert_eq!(test_ledger.money().await, (14, 2, 6, 0));
    test_ledger.audit();
}

async fn a_receipt_that_waits_for_word_of_its_message_outlives_its_process(over: Over) {
    let test_ledger = TestLedger::with(over, 20).await;
    test_ledger.own.pay(&test_ledger.bill(0..2, 2)).await;
    let first = test_ledger.settling();
    test_ledger.receipt(0, ReceiptState::Delivered).await;
    test_ledger.receipt(1, ReceiptState::Failed).await;
    let group = test_ledger.bus.group(OUTCOMES, settler::GROUP).unwrap();
    // They are not given out again.
    until("both are read", async || group.low_water() == test_ledger.outcomes.head()).await;
    first.kill().await;
    for endpoint in 0..2 {
        test_ledger.end(endpoint, 1, unknown()).await;
    }
    test_ledger.settle().await;
    assert_eq!(test_ledger.money().await, (18, 0, 2, 0));
    test_ledger.audit();
}

async fn a_receipt_that_comes_before_another_process_tells_that_its_message_is_unknown_waits_for_that(
    over: Over,
) {
    let test_ledger = TestLedger::with(over, 20).await;
    test_ledger.own.pay(&test_ledger.bill(0..2, 2)).await;
    let settling = test_ledger.settling();
    test_ledger.receipt(0, ReceiptState::Delivered).await;
    test_ledger.receipt(1, ReceiptState::Failed).await;
    let group = test_ledger.bus.group(OUTCOMES, settler::GROUP).unwrap();
    until("the receipts are read", async || group.low_water() == test_ledger.outcomes.head()).await;
    assert_eq!(test_ledger.money().await, (20, 4, 0, 0));
    // The other process has records of its own.
    let bus = Embedded::open(test_ledger.folder.path().join("other"), BusOptions::default()).unwrap();
    let other = test_ledger.own.start_settling(&bus).unwrap();
    let outcomes = bus.topic(OUTCOMES).unwrap();
    for endpoint in 0..2 {
        let of = AttemptRef { alert: ALERT, endpoint: EndpointNo(endpoint), attempt: 1, part: 1, parts: 2 };
        let told = Outcome::Attempt { of, route: "r".into(), at: Timestamp(now()), result: unknown() };
        outcomes.append(&[&encode_outcomes(&[told])]).await.unwrap();
    }
    other.stop().await;
    until("both are settled", async || test_ledger.money().await == (18, 0, 2, 0)).await;
    settling.stop().await;
    test_ledger.audit();
}

async fn an_emergency_owes_whatever_the_account_has_and_nothing_for_what_was_not_sent(over: Over) {
    let test_ledger = TestLedger::with(over, 1).await;
    test_ledger.books.block(&AccountId::named("city"), true).await.unwrap();
    let emergency =
        |account: &str| Bill { account: account.to_owned(), is_emergency: true, ..test_ledger.bill(0..2, 3) };
    for _ in 0..2 {
        assert_eq!(test_ledger.own.pay(&emergency("city")).await, [Funding::Paid; 2]);
    }
    assert_eq!(test_ledger.money().await, (1, 0, 0, 6));
    test_ledger.end(0, 1, accepted()).await;
    test_ledger.end(1, 1, refused()).await;
    test_ledger.settle().await;
    assert_eq!(test_ledger.money().await, (1, 0, 0, 3));
    // One that nobody opened owes as well.
    let other = Bill { alert: AlertNo(8), ..emergency("village") };
    assert_eq!(test_ledger.own.pay(&other).await, [Funding::Paid; 2]);
    assert_eq!(test_ledger.books.account(&AccountId::named("village")).await.unwrap().debt, 6);
    test_ledger.audit();
}

async fn an_account_that_is_blocked_or_unknown_is_refused_with_the_reason(over: Over) {
    let test_ledger = TestLedger::with(over, 100).await;
    test_ledger.books.block(&AccountId::named("city"), true).await.unwrap();
    assert_eq!(test_ledger.own.pay(&test_ledger.bill(0..1, 1)).await, [Funding::Refused(Unpaid::Blocked)]);
    let unknown = Bill { account: "nobody".into(), ..test_ledger.bill(0..1, 1) };
    assert_eq!(test_ledger.own.pay(&unknown).await, [Funding::Refused(Unpaid::NoAccount)]);
    assert_eq!(test_ledger.money().await, (100, 0, 0, 0));
    test_ledger.audit();
}

over_both!(
    a_segment_is_paid_as_far_as_the_money_goes_and_each_message_once,
    what_was_not_sent_is_free_again_and_another_attempt_holds_again,
    outcomes_that_are_told_again_after_a_crash_move_no_money_twice,
    the_unknown_is_held_until_a_yes_or_a_receipt_whatever_another_attempt_comes_to,
    a_receipt_settles_what_another_process_or_the_one_before_heard_to_be_unknown,
    a_receipt_that_comes_before_it_is_told_that_its_message_is_unknown_waits_for_that,
    a_receipt_that_waits_for_word_of_its_message_outlives_its_process,
    a_receipt_that_comes_before_another_process_tells_that_its_message_is_unknown_waits_for_that,
    an_emergency_owes_whatever_the_account_has_and_nothing_for_what_was_not_sent,
    an_account_that_is_blocked_or_unknown_is_refused_with_the_reason,
);
