//! Doing something on a connection, again if need be.

use super::Base;
use super::error::Trouble;
use super::link::{ALL_BUSY, PgLink, Pool, lend};
use super::watch::DISK_FULL;
use crate::{Fence, StoreError};
use futures_util::future::BoxFuture;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// Between two tries, at first and at most.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// A transaction is undone within this, or its connection given up.
const UNDONE_WITHIN: Duration = Duration::from_secs(5);
/// A connection comes within this where the server has been away for long.
const KNOWN_AWAY_WITHIN: Duration = Duration::from_secs(1);
const WRITE: &str = "BEGIN";
pub(super) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// What is done: a function, so that it can be done again, and what it needs.
pub(super) struct Work<A, T> {
    args: A,
    run: Run<A, T>,
    fence: Option<Fence>,
    again: bool,
}

type Run<A, T> = for<'a> fn(&'a PgLink, &'a A) -> BoxFuture<'a, Result<T, Trouble>>;

impl<A, T> Work<A, T> {
    pub(super) fn new(args: A, run: Run<A, T>) -> Work<A, T> {
        Work { args, run, fence: None, again: false }
    }

    /// Doing it twice is doing it once: so it is done again where nobody knows whether it was.
    pub(super) fn again(mut self) -> Self {
        self.again = true;
        self
    }

    /// It is done only while a lease is held.
    pub(super) fn behind(mut self, fence: Option<Fence>) -> Self {
        self.fence = fence;
        self
    }
}

/// An attempt that failed, and whether it may have been committed all the same.
struct FailedAttempt {
    trouble: Trouble,
    unsure: bool,
}

impl From<Trouble> for FailedAttempt {
    fn from(trouble: Trouble) -> FailedAttempt {
        FailedAttempt { trouble, unsure: false }
    }
}

impl Base {
    /// In a transaction.
    pub(super) async fn change<A, T>(&self, work: &Work<A, T>) -> Result<T, StoreError> {
        self.persist(&self.pools.general, Some(WRITE), work).await
    }

    /// In a transaction, on the connection of the leases.
    pub(super) async fn change_lease<A, T>(&self, work: &Work<A, T>) -> Result<T, StoreError> {
        self.persist(&self.pools.lease, Some(WRITE), work).await
    }

    /// On a connection of the ledger, each statement for itself.
    pub(super) async fn ledger<A, T>(&self, work: &Work<A, T>) -> Result<T, StoreError> {
        self.persist(&self.pools.ledger, None, work).await
    }

    /// Reading alone, each statement for itself.
    pub(super) async fn look<A, T>(&self, work: &Work<A, T>) -> Result<T, StoreError> {
        self.persist(&self.pools.general, None, work).await
    }

    /// Reading alone, all of one moment.
    pub(super) async fn look_at_once<A, T>(&self, work: &Work<A, T>) -> Result<T, StoreError> {
        self.persist(&self.pools.general, Some(SNAPSHOT), work).await
    }

    async fn persist<A, T>(
        &self,
        pool: &Pool,
        begin: Option<&'static str>,
        work: &Work<A, T>,
    ) -> Result<T, StoreError> {
        let until = Instant::now() + self.patience_left();
        let mut pause = PAUSE_MIN;
        for tried in 0_u32.. {
            let failed = match self.attempt(pool, begin, work).await {
                Ok(value) => return Ok(value),
                Err(failed) => failed,
            };
            let why = match failed.trouble {
                Trouble::Refused(error) => {
                    if error == StoreError::DiskFull {
                        self.is_full.store(true, Ordering::Relaxed);
                        self.meets(DISK_FULL);
                    }
                    return Err(error);
                }
                Trouble::Lost(why) => {
                    // The others of the pool are most likely gone the same way.
                    pool.retain(|_, _| false);
                    // One connection may end without a server's fault.
                    if tried > 0 && why != ALL_BUSY {
                        self.meets(&why);
                    }
                    why
                }
                Trouble::Undone(why) => why,
            };
            if (failed.unsure && !work.again) || Instant::now() + pause > until {
                return Err(StoreError::Unreachable { why });
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
        Err(StoreError::Closed)
    }

    async fn attempt<A, T>(
        &self,
        pool: &Pool,
        begin: Option<&'static str>,
        work: &Work<A, T>,
    ) -> Result<T, FailedAttempt> {
        let link = if self.is_long_away() {
            // Nobody waits for a connection that most likely does not come.
            timeout(KNOWN_AWAY_WITHIN, lend(pool)).await.unwrap_or_else(|_| {
                Err(Trouble::Lost(format!("no answer within {} s", KNOWN_AWAY_WITHIN.as_secs())))
            })?
        } else {
            lend(pool).await?
        };
        let Some(begin) = begin else {
            return self.bounded(&link, (work.run)(&link, &work.args)).await.map_err(FailedAttempt::from);
        };
        let inside = async {
            link.begin(begin, work.fence.as_ref()).await?;
            (work.run)(&link, &work.args).await
        };
        match self.bounded(&link, inside).await {
            Ok(value) => {
                let committed = self.bounded(&link, link.simple("COMMIT")).await;
                committed
                    .map(|()| value)
                    .map_err(|trouble| FailedAttempt { unsure: matches!(trouble, Trouble::Lost(_)), trouble })
            }
            Err(trouble) => {
                undo(&link, &trouble).await;
                Err(trouble.into())
            }
        }
    }

    pub(super) async fn bounded<T>(
        &self,
        link: &PgLink,
        run: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Trouble> {
        match timeout(self.answer_within, run).await {
            Ok(done) => done,
            Err(_) => {
                link.spend();
                Err(Trouble::Lost(format!("no answer within {} s", self.answer_within.as_secs_f32())))
            }
        }
    }
}

/// Ends a transaction that failed.
pub(super) async fn undo(link: &PgLink, trouble: &Trouble) {
    let undone = match trouble {
        Trouble::Lost(_) => false,
        Trouble::Undone(_) | Trouble::Refused(_) => {
            matches!(timeout(UNDONE_WITHIN, link.simple("ROLLBACK")).await, Ok(Ok(())))
        }
    };
    if !undone {
        link.spend();
    }
}
