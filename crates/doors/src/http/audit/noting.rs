//! Noting of acts: before an act is done it is in the audit trail, and what cannot be noted is not done.
//!
//! An act that fails after it was noted is followed by a second entry that names the first and says why. A
//! process that is killed between the two leaves a note of what was perhaps not done, never an act without
//! one. An alert is noted in the transaction that accepts it.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{HttpProblem, HttpResult};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use store::Act;
use tokio::time::Instant;

/// Reads of one token and object are one entry in so long: a page that is asked for every second is not a
/// note a second.
const READ_EVERY: Duration = Duration::from_secs(3_600);
/// Reads remembered; beyond, one may be noted again earlier.
const READS_MAX: usize = 10_000;

impl App {
    /// An act of a caller, now.
    pub(crate) fn act(&self, caller: &Caller, verb: &str, object: &str, detail: &str) -> Act {
        Act {
            at: self.now(),
            account: caller.account().to_owned(),
            token: caller.token.id.clone(),
            token_name: caller.token.name.clone(),
            from: caller.from.map(|from| from.to_string()).unwrap_or_default(),
            verb: verb.to_owned(),
            object: object.to_owned(),
            detail: detail.to_owned(),
            ..Act::default()
        }
    }

    /// Notes an act, and then does it; if it fails, that is noted too.
    pub(crate) async fn noted<T, E: Into<HttpProblem>>(
        &self,
        act: Act,
        doing: impl Future<Output = Result<T, E>>,
    ) -> HttpResult<T> {
        let seq = self.store.note_act(act.clone()).await?;
        let done = doing.await.map_err(Into::into);
        if let Err(problem) = &done {
            self.note_failed(act, seq, problem).await;
        }
        done
    }

    async fn note_failed(&self, act: Act, seq: u64, problem: &HttpProblem) {
        let detail = format!("{}: {}", problem.slug(), problem.detail());
        let failed = Act { at: self.now(), detail, failed: Some(seq), ..act };
        if let Err(error) = self.store.note_act(failed).await {
            tracing::error!(%error, seq, "the audit trail has a note of an act that failed, and not that it failed");
        }
    }

    /// Notes an act that is done by its answer: an export.
    pub(crate) async fn note(&self, act: Act) -> HttpResult<()> {
        self.store.note_act(act).await?;
        Ok(())
    }

    /// Notes a read, unless the same token's of the same object was lately.
    pub(crate) async fn note_read(&self, act: Act) -> HttpResult<()> {
        let key = [act.token.as_str(), &act.from, &act.verb, &act.object].join("\n");
        if self.audit.reads.is_noted(&key) {
            return Ok(());
        }
        self.note(act).await?;
        self.audit.reads.remember(key);
        Ok(())
    }
}

/// Reads that were noted lately.
#[derive(Default)]
pub(crate) struct NotedReads(Mutex<HashMap<String, Instant>>);

impl NotedReads {
    fn is_noted(&self, key: &str) -> bool {
        let reads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reads.get(key).is_some_and(|at| at.elapsed() < READ_EVERY)
    }

    fn remember(&self, key: String) {
        let mut reads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if reads.len() >= READS_MAX {
            reads.retain(|_, at| at.elapsed() < READ_EVERY);
        }
        if reads.len() >= READS_MAX {
            reads.clear();
        }
        reads.insert(key, Instant::now());
    }
}
