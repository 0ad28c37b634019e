//! Audit trail's own work: failed sign-ins are noted by the minute, old entries are dropped, and its head is
//! told to logs and metrics, where somebody who changes the database cannot change it.

use crate::server::wall_clock;
use doors::guessing::GuessingGuard;
use engine::Problem;
use records::Account;
use std::sync::Arc;
use std::time::Duration;
use store::audit::{ChainHead, SERVER};
use store::{Act, AuditKey, SharedStore, StoreError};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Failed sign-ins of so long are one entry for each address.
const NOTE_EVERY: Duration = Duration::from_secs(60);
/// The head is logged so often, if it moved.
const LOG_EVERY: Duration = Duration::from_secs(3_600);
/// Entries past their time are dropped so often.
const DROP_EVERY: Duration = Duration::from_secs(600);
/// Rounds of dropping at one time; each drops a few thousand.
const ROUNDS_MAX: usize = 100;
const DAY_S: i64 = 86_400;

/// The work, until it is stopped.
pub struct AuditKeeper {
    key: AuditKey,
    stopping: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl AuditKeeper {
    /// Begins. `days`: entries older than this are dropped; 0 keeps them.
    pub fn start(store: SharedStore, guessing: Arc<GuessingGuard>, key: AuditKey, days: u32) -> AuditKeeper {
        let (stopping, mut stop) = watch::channel(false);
        let task = tokio::spawn(async move {
            let mut trail = KeptTrail { store, guessing, key, days, logged: None, dropped: None };
            trail.tell_head().await;
            loop {
                let stopped = tokio::time::timeout(NOTE_EVERY, stop.wait_for(|stop| *stop)).await.is_ok();
                if stopped {
                    break;
                }
                trail.look().await;
            }
            trail.note_failures().await;
            trail.logged = None;
            trail.tell_head().await;
        });
        AuditKeeper { key, stopping, task }
    }

    /// Signs what retention drops.
    pub fn key(&self) -> AuditKey {
        self.key
    }

    /// Notes what failed last, and ends.
    pub async fn stop(self) {
        self.stopping.send_replace(true);
        let _ = self.task.await; // it panicked: that is logged already
    }
}

struct KeptTrail {
    store: SharedStore,
    guessing: Arc<GuessingGuard>,
    key: AuditKey,
    days: u32,
    logged: Option<(Instant, ChainHead)>,
    dropped: Option<Instant>,
}

impl KeptTrail {
    async fn look(&mut self) {
        self.note_failures().await;
        if self.days > 0 && self.dropped.is_none_or(|at| at.elapsed() >= DROP_EVERY) {
            self.dropped = Some(Instant::now());
            let before = wall_clock().plus_s(-i64::from(self.days) * DAY_S);
            match drop_before(&self.store, before, self.key).await {
                Ok(0) => {}
                Ok(entries) => {
                    tracing::info!(entries, "entries of the audit trail past their retention were dropped")
                }
                Err(error) => tracing::error!(%error, "old entries of the audit trail could not be dropped"),
            }
        }
        self.tell_head().await;
    }

    /// What cannot be noted now is counted on.
    async fn note_failures(&self) {
        let failures = self.guessing.failures();
        let taken = failures.take();
        let acts = taken.acts(wall_clock());
        if acts.is_empty() {
            return;
        }
        if let Err(error) = self.store.note_acts(acts).await {
            tracing::error!(%error, "failed sign-ins could not be noted in the audit trail; they are counted on");
            failures.put_back(taken);
        }
    }

    async fn tell_head(&mut self) {
        let head = match self.store.audit_head().await {
            Ok(head) => head,
            Err(error) => return tracing::error!(%error, "the head of the audit trail cannot be read"),
        };
        // A number of entries: far below 2^52.
        metrics::gauge!("campanile_audit_head").set(head.seq as f64);
        let is_due = |(at, logged): (Instant, ChainHead)| logged != head && at.elapsed() >= LOG_EVERY;
        if self.logged.is_none_or(is_due) {
            tracing::info!(
                head = head.text(),
                "the audit trail ends here; `campanile audit verify --head` compares"
            );
            self.logged = Some((Instant::now(), head));
        }
    }
}

/// Drops what is older, in rounds.
async fn drop_before(
    store: &SharedStore,
    before: records::Timestamp,
    key: AuditKey,
) -> Result<u64, StoreError> {
    let mut all = 0;
    for _ in 0..ROUNDS_MAX {
        // A round that dropped one alone dropped the link that stood for the round before it.
        let dropped = store.retain_acts(before, wall_clock(), key).await?;
        all += dropped;
        if dropped <= 1 {
            break;
        }
    }
    Ok(all)
}

/// An act of the server's own.
fn by_server(verb: &str, detail: &str) -> Act {
    Act {
        at: wall_clock(),
        account: Account::DEFAULT.to_owned(),
        token: SERVER.to_owned(),
        verb: verb.to_owned(),
        detail: detail.to_owned(),
        ..Act::default()
    }
}

/// A reload by a signal: noted before it is done, and with what it changed.
pub async fn noted_by_signal(
    store: SharedStore,
    reloading: impl Future<Output = Result<Vec<String>, Vec<Problem>>>,
) -> Result<Vec<String>, Vec<Problem>> {
    let act = by_server("config.reload", "SIGHUP");
    let refused = |error: StoreError| vec![Problem { field: String::new(), reason: error.to_string() }];
    let seq = store.note_act(act.clone()).await.map_err(refused)?;
    let answer = reloading.await;
    let after = match &answer {
        Ok(changes) => by_server("config.changed", &changes.join("; ")),
        Err(problems) => {
            let listed: Vec<String> =
                problems.iter().map(|problem| format!("{}: {}", problem.field, problem.reason)).collect();
            Act { failed: Some(seq), detail: listed.join("; "), ..act }
        }
    };
    if let Err(error) = store.note_act(after).await {
        tracing::error!(%error, "the audit trail lacks what a reload changed");
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::Timestamp;
    use store::AuditSearch;

    fn opened() -> (tempfile::TempDir, SharedStore) {
        let dir = tempfile::tempdir().unwrap();
        let options = store::sqlite::SqliteOptions::default();
        let store = store::sqlite::open(&dir.path().join("db"), &options).unwrap();
        (dir, store)
    }

    async fn verbs(store: &SharedStore) -> Vec<String> {
        let newest = store.audit_entries(AuditSearch::newest(None, 10)).await.unwrap();
        newest.into_iter().map(|entry| entry.act.verb).collect()
    }

    #[tokio::test]
    async fn guesses_are_noted_when_the_server_stops_at_the_latest() {
        let (_dir, store) = opened();
        let guessing = Arc::<GuessingGuard>::default();
        let keeper = AuditKeeper::start(store.clone(), guessing.clone(), AuditKey([1; 32]), 0);
        (0..500).for_each(|_| guessing.failures().count("http", [192, 0, 2, 1].into()));
        keeper.stop().await;
        let newest = store.audit_entries(AuditSearch::newest(None, 10)).await.unwrap();
        assert_eq!(newest.len(), 2, "one entry and the beginning");
        assert_eq!((newest[0].act.verb.as_str(), newest[0].act.count), ("sign-in.failed", Some(500)));
        assert_eq!(newest[0].act.from, "192.0.2.1");
    }

    #[tokio::test]
    async fn a_reload_by_signal_is_noted_with_what_it_changed_or_why_it_failed() {
        let (_dir, store) = opened();
        let done = noted_by_signal(store.clone(), async { Ok(vec!["route a added".to_owned()]) }).await;
        assert_eq!(done, Ok(vec!["route a added".to_owned()]));
        let problem = Problem { field: "x".to_owned(), reason: "is unknown".to_owned() };
        let _ = noted_by_signal(store.clone(), async { Err(vec![problem]) }).await;
        let expected = ["config.reload", "config.reload", "config.changed", "config.reload", "audit.begin"];
        assert_eq!(verbs(&store).await, expected);
        store.close().await.unwrap();
        let refused = noted_by_signal(store, async { panic!("what cannot be noted is not done") }).await;
        assert!(refused.is_err());
    }

    #[tokio::test]
    async fn entries_past_their_days_are_dropped_and_the_chain_holds() {
        let (_dir, store) = opened();
        let (old, key) = (Act { at: Timestamp(5), ..by_server("x", "") }, AuditKey([1; 32]));
        store.note_acts(vec![old.clone(); 20]).await.unwrap();
        // The beginning is as young as the database, and what is behind it stays.
        assert_eq!(drop_before(&store, Timestamp(6), key).await.unwrap(), 0);
        let late = wall_clock().plus_s(60);
        assert_eq!(drop_before(&store, late, key).await.unwrap(), 22, "and the link of the first round");
        let verdict = store::audit::verify(&*store, &key, None).await.unwrap();
        assert!(verdict.holds(), "{verdict:?}");
        let forged = store::audit::verify(&*store, &AuditKey([2; 32]), None).await.unwrap();
        assert!(!forged.holds(), "signed with another key");
    }
}
