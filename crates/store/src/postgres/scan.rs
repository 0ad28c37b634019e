//! Going through many rows of one moment, on the caller's thread, with the next page already on its way.

use super::error::Trouble;
use super::link::{PgLink, lend};
use super::recipients::Walk;
use super::work::{SNAPSHOT, undo};
use super::{Base, Postgres};
use crate::StoreError;
use records::{Delivery, Recipient};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

/// Pages that may wait for the caller.
const AHEAD: usize = 2;
/// Deliveries handed to a scan's callback at a time.
const SCAN_ROWS: usize = 2_048;
/// Between two tries to begin.
const PAUSE: Duration = Duration::from_millis(200);
/// The caller may take so long over two pages before the moment that it reads is given up.
const DAWDLE: &str = "SET LOCAL idle_in_transaction_session_timeout = '10min'";

/// Where rows come from, from the first on.
pub(super) trait ScanSource: Clone + Send + Sync + 'static {
    type Item: Send + 'static;
    /// The next of them; nothing: there are no more.
    fn next(
        &mut self,
        link: &PgLink,
    ) -> impl Future<Output = Result<Option<Vec<Self::Item>>, Trouble>> + Send;
}

enum ScanSent<T> {
    Page(Vec<T>),
    End(Result<(), StoreError>),
}

/// Lets the task that reads go on no longer than the caller, who may panic.
struct EndWith(Arc<Semaphore>);
impl Drop for EndWith {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Calls `each` with all, until it returns false.
pub(super) fn run<S: ScanSource>(
    store: &Postgres,
    source: S,
    each: &mut dyn FnMut(&[S::Item]) -> bool,
) -> Result<(), StoreError> {
    let base = Arc::clone(store);
    let room = EndWith(Arc::new(Semaphore::new(AHEAD)));
    let (pages, sent) = channel();
    let freed = Arc::clone(&room.0);
    store.handle.spawn(async move {
        let end = match base.enter().await {
            Ok(_permit) => base.read_all(source, &pages, &freed).await,
            Err(error) => Err(error),
        };
        let _ = pages.send(ScanSent::End(end)); // the caller may have had enough
    });
    loop {
        match sent.recv().map_err(|_| StoreError::Closed)? {
            ScanSent::Page(page) if each(&page) => room.0.add_permits(1),
            ScanSent::Page(_) => return Ok(()),
            ScanSent::End(end) => return end,
        }
    }
}

impl Base {
    /// From the beginning again as long as nobody has seen anything.
    async fn read_all<S: ScanSource>(
        &self,
        source: S,
        pages: &Sender<ScanSent<S::Item>>,
        room: &Semaphore,
    ) -> Result<(), StoreError> {
        let _bulk = self.bulk.acquire().await.map_err(|_| StoreError::Closed)?;
        let until = Instant::now() + self.patience;
        loop {
            let mut seen = false;
            let why = match self.read_once(source.clone(), pages, room, &mut seen).await {
                Ok(()) => return Ok(()),
                Err(Trouble::Refused(error)) => return Err(error),
                Err(Trouble::Lost(why) | Trouble::Undone(why)) => why,
            };
            if seen || Instant::now() + PAUSE > until {
                return Err(StoreError::Unreachable { why });
            }
            sleep(PAUSE).await;
        }
    }

    async fn read_once<S: ScanSource>(
        &self,
        mut source: S,
        pages: &Sender<ScanSent<S::Item>>,
        room: &Semaphore,
        seen: &mut bool,
    ) -> Result<(), Trouble> {
        let link = lend(&self.pools.general).await?;
        let read = async {
            self.bounded(&link, async {
                link.begin(SNAPSHOT, None).await?;
                link.simple(DAWDLE).await
            })
            .await?;
            while let Ok(permit) = room.acquire().await {
                permit.forget();
                self.go_on()?;
                let Some(page) = self.bounded(&link, source.next(&link)).await? else { break };
                *seen = true;
                if pages.send(ScanSent::Page(page)).is_err() {
                    break;
                }
            }
            Ok(())
        };
        let read = read.await;
        let undone = Trouble::Undone(String::new());
        undo(&link, read.as_ref().err().unwrap_or(&undone)).await;
        read
    }
}

/// An account's recipients.
#[derive(Clone)]
pub(super) struct Recipients {
    account: String,
    walk: Option<Walk>,
}

impl Recipients {
    pub(super) fn of(account: &str) -> Recipients {
        Recipients { account: account.to_owned(), walk: None }
    }
}

impl ScanSource for Recipients {
    type Item = Recipient;

    async fn next(&mut self, link: &PgLink) -> Result<Option<Vec<Recipient>>, Trouble> {
        if self.walk.is_none() {
            let Some(no) = super::account_no(link, &self.account).await? else { return Ok(None) };
            self.walk = Some(Walk::begin(link, no, "").await?);
        }
        let Some(walk) = &mut self.walk else { return Ok(None) };
        while let Some(found) = walk.next(link, SCAN_ROWS).await? {
            if !found.is_empty() {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// An alert's deliveries.
#[derive(Clone)]
pub(super) struct Deliveries {
    alert: i64,
    from: Option<i64>,
}

impl Deliveries {
    pub(super) fn of(alert: i64) -> Deliveries {
        Deliveries { alert, from: Some(0) }
    }
}

impl ScanSource for Deliveries {
    type Item = Delivery;

    async fn next(&mut self, link: &PgLink) -> Result<Option<Vec<Delivery>>, Trouble> {
        let Some(from) = self.from else { return Ok(None) };
        let limit = super::as_limit(SCAN_ROWS);
        let page = super::deliveries::page(link, self.alert, from, None, limit).await?;
        let full = page.len() == SCAN_ROWS;
        self.from = page.last().filter(|_| full).map(|last| i64::from(last.endpoint.0) + 1);
        Ok((!page.is_empty()).then_some(page))
    }
}
