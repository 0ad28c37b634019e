//! Watch over the server: whether it is there, takes us and has our tables, looked at once a second on a
//! connection of its own; and the wait for it at a start.

use super::Base;
use super::error::Trouble;
use super::link::{Links, PgLink};
use super::words::{self, Diagnosis};
use crate::StoreError;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};
use tokio::time::{Instant, sleep, timeout};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A look that takes longer has found nobody.
const LOOK_WITHIN: Duration = Duration::from_millis(1_500);
/// Nobody has met trouble for so long: there is none.
const QUIET: Duration = Duration::from_secs(3);
/// At a start, between two tries, and between two lines about the same.
const TRY_EVERY: Duration = Duration::from_millis(300);
const SAID_EVERY: Duration = Duration::from_secs(10);

/// Waits until the server takes us. What does not pass by itself ends it at once.
///
/// # Errors
/// What is wrong with the server, with what to do.
pub(super) async fn await_server(base: &Base, links: &Links, until: Instant) -> Result<(), StoreError> {
    let mut said: Option<Instant> = None;
    loop {
        let trouble = match timeout(LOOK_WITHIN, links.connect()).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(trouble)) => trouble,
            Err(_) => Trouble::Lost(unanswered()),
        };
        let (heard, is_refused) = match trouble {
            Trouble::Lost(heard) | Trouble::Undone(heard) => (heard, false),
            Trouble::Refused(StoreError::Database { why }) => (why, true),
            Trouble::Refused(other) => return Err(other),
        };
        let Diagnosis { text, passes } = words::diagnose(base.trouble.server(), &heard);
        let now = Instant::now();
        if is_refused {
            return Err(StoreError::Database { why: text });
        }
        if !passes || now >= until {
            return Err(StoreError::Unreachable { why: text });
        }
        if said.is_none_or(|said| now - said >= SAID_EVERY) {
            let left = (until - now).as_secs();
            tracing::error!("{text}. It is tried again for {left} s");
            said = Some(now);
        }
        sleep(TRY_EVERY).await;
    }
}

/// Looks until the store closes.
pub(super) async fn run(base: Arc<Base>, links: Links) {
    let mut link = None;
    while base.go_on().is_ok() {
        match timeout(LOOK_WITHIN, look(&base, &links, &mut link)).await {
            Ok(Ok(())) => base.works(),
            Ok(Err(trouble)) => {
                link = None;
                base.meets(&heard(trouble));
            }
            Err(_) => {
                if let Some(link) = link.take() {
                    PgLink::spend(&link);
                }
                base.meets(&unanswered());
            }
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Our tables are there; where the disk was full, the server writes again.
async fn look(base: &Base, links: &Links, link: &mut Option<PgLink>) -> Result<(), Trouble> {
    let link = match link {
        Some(link) => link,
        None => link.insert(links.connect().await?),
    };
    link.one("SELECT id FROM house", &[]).await?;
    if base.is_full.load(Ordering::Relaxed) {
        link.simple("UPDATE house SET pair = pair").await?;
        base.is_full.store(false, Ordering::Relaxed);
    }
    Ok(())
}

fn heard(trouble: Trouble) -> String {
    match trouble {
        Trouble::Lost(heard) | Trouble::Undone(heard) => heard,
        Trouble::Refused(StoreError::Database { why }) => why,
        Trouble::Refused(StoreError::DiskFull) => DISK_FULL.to_owned(),
        Trouble::Refused(error) => error.to_string(),
    }
}

/// As the server says it.
pub(super) const DISK_FULL: &str = "no space left [53100]";

fn unanswered() -> String {
    format!("no answer within {} s", LOOK_WITHIN.as_secs_f32())
}

impl Base {
    /// Somebody met trouble with the server.
    pub(super) fn meets(&self, heard: &str) {
        let text = words::diagnose(self.trouble.server(), heard).text;
        if self.trouble.note(&text, SystemTime::now()) {
            tracing::error!("{text}");
        }
    }

    fn works(&self) {
        if let Some(lasted) = self.trouble.works(SystemTime::now(), QUIET) {
            let server = self.trouble.server();
            tracing::info!("PostgreSQL at {server} works again, after {} s", lasted.as_secs());
        }
    }

    /// How long a request may be tried again: less, where the server has been away for a while already.
    pub(super) fn patience_left(&self) -> Duration {
        self.patience.saturating_sub(self.away_for().unwrap_or_default())
    }

    /// It has been away for longer than anybody waits.
    pub(super) fn is_long_away(&self) -> bool {
        self.away_for().is_some_and(|away| away >= self.patience)
    }

    fn away_for(&self) -> Option<Duration> {
        self.trouble.lasts(SystemTime::now()).filter(|_| !self.is_full.load(Ordering::Relaxed))
    }
}
