use std::path::Path;
use std::sync::mpsc::{Receiver as Inbox, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::bench::asks;
use crate::batch::{Batch, NewRequest};
use crate::config::DefaultAccount;
use crate::request::{Destination, ServiceContext};
use crate::{Answer, Config, KeyKind, Kind, Ledger, Options, Receiver, Units};

/// Batches that came back.
pub struct ReturnedBatches(Mutex<Sender<Batch>>);

impl ReturnedBatches {
    pub fn open() -> (Arc<dyn Receiver>, Inbox<Batch>) {
        let (sender, inbox) = channel();
        (Arc::new(ReturnedBatches(Mutex::new(sender))), inbox)
    }
}

impl Receiver for ReturnedBatches {
    fn answered(&self, _: usize, batch: Batch) {
        // Nobody listens once a test is over.
        let _ = self.0.lock().unwrap().send(batch);
    }
}

pub fn options(folder: &Path) -> Options {
    let default_account = Some(DefaultAccount { balance: 1_000_000, limit: 0 });
    let config = Config { default_account, ..Config::default() };
    Options { segment_octets: 64 << 10, config, ..Options::new(folder) }
}

/// A debit of one unit under a session by its number.
pub fn push_debit(ledger: &Ledger, batches: &mut [Batch], number: u32) {
    let session = ledger.key().octets(format!("client;{number}").as_bytes());
    let account = format!("4670{:07}", number % 100);
    ledger.push(
        batches,
        &NewRequest {
            kind: Kind::Debit,
            account_kind: KeyKind::E164,
            account: account.as_bytes(),
            session,
            number: 0,
            context: ServiceContext::SMS,
            class: 0,
            destination: Destination::default(),
            services: &[asks(Units::specific(1))],
            opener: None,
            tag: number.into(),
        },
    );
}

/// Debits one unit of each of these accounts under sessions by their numbers.
pub fn debit(ledger: &Ledger, numbers: std::ops::Range<u32>) -> Vec<(u64, Answer)> {
    let (to, inbox) = ReturnedBatches::open();
    let mut batches: Vec<Batch> = (0..ledger.shards()).map(|_| Batch::default()).collect();
    for number in numbers {
        push_debit(ledger, &mut batches, number);
    }
    let mut expected = 0;
    for (shard, batch) in batches.into_iter().enumerate().filter(|(_, batch)| !batch.is_empty()) {
        expected += 1;
        ledger.try_submit(shard, batch, &to).expect("there is room");
    }
    let mut answers = Vec::new();
    for _ in 0..expected {
        let batch = inbox.recv_timeout(Duration::from_secs(60)).expect("the owner answers");
        answers.extend(batch.answers().map(|(tag, answer, _)| (tag, *answer)));
    }
    answers
}

#[test]
fn answers_are_remembered_over_a_restart_and_nothing_is_debited_twice() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { shards: 2, ..options(folder.path()) };
    let ledger = Ledger::open(&options).unwrap();
    let first = debit(&ledger, 0..5_000);
    assert!(
        first.len() == 5_000 && first.iter().all(|(_, answer)| answer.result == 2001 && !answer.is_duplicate)
    );
    assert!(debit(&ledger, 0..5_000).iter().all(|(_, answer)| answer.result == 2001 && answer.is_duplicate));
    ledger.stop();

    let ledger = Ledger::open(&Options { shards: 7, ..options }).unwrap();
    assert_eq!(ledger.shards(), 2);
    assert!(debit(&ledger, 0..5_000).iter().all(|(_, answer)| answer.result == 2001 && answer.is_duplicate));
    assert!(
        debit(&ledger, 5_000..5_100).iter().all(|(_, answer)| answer.result == 2001 && !answer.is_duplicate)
    );
    let (sender, sums) = channel();
    for shard in 0..2 {
        let sender = sender.clone();
        ledger.ask(shard, move |shard| {
            let sum: i64 = shard.accounts().iter().map(|(_, account)| account.posted).sum();
            sender.send((shard.accounts().len() as i64, sum)).unwrap();
        });
    }
    let (accounts, sum) = (0..2).fold((0, 0), |all, _| {
        let one = sums.recv_timeout(Duration::from_secs(60)).unwrap();
        (all.0 + one.0, all.1 + one.1)
    });
    assert_eq!((accounts, sum), (100, 100 * 1_000_000 - 5_100));
    ledger.stop();
}

/// A batch of so many debits of one account, whose sessions begin with this number.
fn batch(ledger: &Ledger, numbers: std::ops::Range<u32>) -> Batch {
    let mut batches = [Batch::default()];
    for number in numbers {
        let request = NewRequest {
            kind: Kind::Debit,
            account_kind: KeyKind::Private,
            account: b"one",
            session: ledger.key().octets(&number.to_le_bytes()),
            number: 0,
            context: ServiceContext::SMS,
            class: 0,
            destination: Destination::default(),
            services: &[],
            opener: None,
            tag: number.into(),
        };
        ledger.push(&mut batches, &request);
    }
    let [batch] = batches;
    batch
}

#[test]
fn a_full_queue_gives_a_batch_back_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&Options { queue_max: 10, ..options(folder.path()) }).unwrap();
    let (to, inbox) = ReturnedBatches::open();
    // The owner stands still until it is let go.
    let (stands, let_go) = (channel(), channel::<()>());
    ledger.ask(0, move |_| {
        stands.0.send(()).unwrap();
        let_go.1.recv().unwrap();
    });
    stands.1.recv_timeout(Duration::from_secs(60)).unwrap();
    ledger.try_submit(0, batch(&ledger, 0..10), &to).expect("the queue is empty");
    let Err(crate::Refused::Busy(refused)) = ledger.try_submit(0, batch(&ledger, 10..11), &to) else {
        panic!("an eleventh request is taken")
    };
    assert_eq!(refused.len(), 1);
    let_go.0.send(()).unwrap();
    assert_eq!(inbox.recv_timeout(Duration::from_secs(60)).unwrap().len(), 10);
    ledger.try_submit(0, refused, &to).expect("there is room again");
    let batch = inbox.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(
        batch
            .answers()
            .all(|(tag, answer, _)| (tag, answer.result, answer.is_duplicate) == (10, 2001, false))
    );
    ledger.stop();
}

#[test]
fn a_disk_that_fails_stops_its_shard_with_words_and_answers_5012() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&Options { segment_octets: 4_096, ..options(folder.path()) }).unwrap();
    let (to, inbox) = ReturnedBatches::open();
    assert_eq!(ledger.failure(), None);
    // The next segment cannot be made where its folder was.
    std::fs::rename(folder.path().join("shard-000"), folder.path().join("elsewhere")).unwrap();
    let mut results = Vec::new();
    for round in 0..100 {
        let Ok(()) = ledger.try_submit(0, batch(&ledger, round * 100..round * 100 + 100), &to) else {
            break;
        };
        let answered = inbox.recv_timeout(Duration::from_secs(60)).unwrap();
        results.push(answered.answers().next().unwrap().1.result);
    }
    assert_eq!(results.last(), Some(&5012));
    assert!(results[..results.len() - 1].iter().all(|result| *result == 2001), "{results:?}");
    assert!(ledger.failure().unwrap().contains("cannot be written"));
    let refused = ledger.try_submit(0, batch(&ledger, 20_000..20_001), &to);
    assert!(matches!(refused, Err(crate::Refused::Stopped(_))));
    ledger.stop();
}

#[test]
fn what_was_submitted_before_the_end_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&options(folder.path())).unwrap();
    let (to, inbox) = ReturnedBatches::open();
    for round in 0..50 {
        ledger.try_submit(0, batch(&ledger, round * 10..round * 10 + 10), &to).expect("there is room");
    }
    ledger.stop();
    assert_eq!(inbox.try_iter().map(|batch| batch.len()).sum::<usize>(), 500);
    assert!(matches!(ledger.try_submit(0, batch(&ledger, 0..1), &to), Err(crate::Refused::Stopped(_))));
}

#[test]
fn a_folder_belongs_to_one_ledger_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&options(folder.path())).unwrap();
    let Err(refusal) = Ledger::open(&options(folder.path())) else { panic!("two ledgers write one log") };
    assert!(refusal.to_string().contains("another process"), "{refusal}");
    ledger.stop();
    Ledger::open(&options(folder.path())).unwrap().stop();
}

#[test]
fn a_ledger_of_a_newer_version_is_refused_by_name_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    crate::shard_threads::identity(folder.path(), 1).unwrap();
    let path = folder.path().join("ledger");
    let newer = std::fs::read_to_string(&path).unwrap().replace("ledger 1", "ledger 2");
    std::fs::write(&path, &newer).unwrap();
    let refused = crate::shard_threads::identity(folder.path(), 1).err().unwrap().to_string();
    assert!(refused.contains("newer version") && refused.contains(&path.display().to_string()), "{refused}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), newer);
}
