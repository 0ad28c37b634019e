use super::*;
use bus::embedded::{Embedded, Options};
use std::path::Path;

/// A database and a bus of a folder, as a process that starts has them.
struct Opened {
    store: SharedStore,
    bus: Arc<dyn Bus>,
}

impl Opened {
    fn new(database: &Path, bus: &Path) -> Opened {
        let options = store::sqlite::SqliteOptions::default();
        let store = store::sqlite::open(database, &options).unwrap();
        Opened { store, bus: Arc::new(Embedded::open(bus, Options::default()).unwrap()) }
    }

    async fn check(&self, empty_bus: EmptyBus, keeps_all: bool) -> Result<(), String> {
        let names = PairNames {
            database: "campanile.db".to_owned(),
            bus: "bus".to_owned(),
            another_bus: "move bus away".to_owned(),
        };
        Pairing { store: &self.store, bus: &self.bus, names: &names, empty_bus, keeps_all }.check().await
    }

    async fn fold_to(&self, folded_to: u64) {
        let fold = store::Fold { folded_to, intake_to: Some(folded_to), ..store::Fold::default() };
        self.store.fold_all(fold).await.unwrap();
    }

    async fn append(&self, topic: &str, count: u64) {
        let topic = self.bus.topic(topic).unwrap();
        for _ in 0..count {
            topic.append(&[&records::encode_outcomes(&[])]).await.unwrap();
        }
    }

    async fn used(&self, records: u64) {
        self.append(records::OUTCOMES, records).await;
        self.append(records::INTAKE, records).await;
        self.fold_to(records).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_bus_is_refused_and_taken_when_told_and_goes_on_above_all_indexes() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let first = Opened::new(&at("db"), &at("bus"));
    first.check(EmptyBus::Refused, true).await.unwrap();
    first.used(20).await;
    first.check(EmptyBus::Refused, true).await.unwrap();
    let pair = first.store.pair().await.unwrap().unwrap();
    drop(first);

    let lost = Opened::new(&at("db"), &at("another"));
    let refused = lost.check(EmptyBus::Refused, true).await.unwrap_err();
    assert!(refused.contains("--without-bus") && refused.contains(&pair.to_string()), "{refused}");
    lost.check(EmptyBus::Taken, true).await.unwrap();
    let positions = (lost.store.folded_to().await.unwrap(), lost.store.intake_to().await.unwrap());
    for (topic, position) in [(records::OUTCOMES, positions.0), (records::INTAKE, positions.1)] {
        let topic = lost.bus.topic(topic).unwrap();
        assert_eq!(topic.append(&[b"next"]).await.unwrap(), position, "nothing is skipped");
        assert!(position > 20 + engine::INTAKE_WAITING_MAX, "{position}");
    }
    lost.check(EmptyBus::Refused, true).await.unwrap();
    lost.check(EmptyBus::Taken, true).await.expect("a second time it changes nothing");
    drop(lost);

    let returned = Opened::new(&at("db"), &at("bus"));
    let refused = returned.check(EmptyBus::Refused, true).await.unwrap_err();
    assert!(refused.contains("before and after a bus was lost"), "{refused}");
    let refused = returned.check(EmptyBus::Taken, true).await.unwrap_err();
    assert!(refused.contains("takes an empty bus alone"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_database_beside_a_bus_in_use_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let first = Opened::new(&at("db"), &at("bus"));
    first.check(EmptyBus::Refused, true).await.unwrap();
    first.used(3).await;
    drop(first);
    let new = Opened::new(&at("new"), &at("bus"));
    for empty_bus in [EmptyBus::Refused, EmptyBus::Taken] {
        let refused = new.check(empty_bus, true).await.unwrap_err();
        assert!(refused.contains("the database campanile.db is new"), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_that_a_power_cut_took_are_passed_over_and_an_older_bus_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let opened = Opened::new(&dir.path().join("db"), &dir.path().join("bus"));
    opened.check(EmptyBus::Refused, true).await.unwrap();
    opened.used(3).await;
    opened.fold_to(2_503).await;
    let refused = opened.check(EmptyBus::Refused, true).await.unwrap_err();
    assert!(refused.contains("older than the database") && refused.contains("2503"), "{refused}");
    opened.check(EmptyBus::Refused, false).await.unwrap();
    for topic in [records::OUTCOMES, records::INTAKE] {
        assert_eq!(opened.bus.topic(topic).unwrap().head(), 2_503, "{topic}");
    }
    opened.fold_to(2_504 + LOST_RECORDS_MAX).await;
    opened.check(EmptyBus::Refused, false).await.expect_err("no power cut takes so much");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pair_from_before_there_were_ids_gets_one() {
    let dir = tempfile::tempdir().unwrap();
    let opened = Opened::new(&dir.path().join("db"), &dir.path().join("bus"));
    opened.used(5).await;
    assert_eq!(opened.store.pair().await.unwrap(), None);
    opened.check(EmptyBus::Refused, true).await.unwrap();
    let pair = opened.store.pair().await.unwrap().unwrap();
    assert_eq!(write_new(&opened.store, &opened.bus).await.unwrap(), pair, "its id stays");
}
