//! Outcome appender writes a route's records to the journal until they are durable, and keeps them in the
//! outbox while the bus does not take them.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bus::BusError;

use super::DispatcherState;
use super::outbox::OutcomeOutbox;
use crate::GatewayContext;
use crate::journal::Journal;

/// What the bus has not taken within this is kept on this machine meanwhile, and looked at again so often.
const KEPT_AFTER: Duration = Duration::from_millis(500);

pub(super) struct OutcomeAppender {
    route: String,
    /// This process's name where there are others: then each record has a key.
    node: Option<String>,
    journal: Journal,
    outbox: Option<OutcomeOutbox>,
    /// Appends so far, and when it began, for their keys.
    appends: AtomicU64,
    opened: i64,
}

impl OutcomeAppender {
    pub(super) fn open(context: &GatewayContext, route: &str) -> Result<OutcomeAppender, BusError> {
        let outbox = context.outbox.as_ref().map(|local| OutcomeOutbox::open(&**local, route)).transpose()?;
        Ok(OutcomeAppender {
            route: route.to_owned(),
            node: context.shared.as_ref().map(|shared| shared.node.clone()),
            journal: Journal::open(&*context.bus)?,
            outbox,
            appends: AtomicU64::new(0),
            opened: context.now().0,
        })
    }

    /// Appends a record. What the bus does not take soon is kept on this machine until it does, with the
    /// outcomes that are pending by then.
    pub(super) async fn append<P>(
        &self,
        record: &[u8],
        state: &Mutex<DispatcherState<P>>,
    ) -> Result<u64, BusError> {
        let key = self.node.as_ref().map(|node| self.key(node));
        let key = key.as_ref().map(String::as_bytes);
        let appended = self.journal.insist(record, key, |error| self.log_journal(error));
        let Some(outbox) = &self.outbox else { return appended.await };
        let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut appended = std::pin::pin!(appended);
        let mut kept = None;
        loop {
            tokio::select! {
                appended = &mut appended => {
                    // What came meanwhile is kept as well, and appended by the appends that follow.
                    if outbox.holds() && appended.is_ok() && lock().queue.pending.is_empty() {
                        self.log_outbox(outbox.clear().await);
                    }
                    return appended;
                }
                () = tokio::time::sleep(KEPT_AFTER) => {}
            }
            let (noted, waiting) = lock().queue.pending.copies();
            if kept.replace(noted) != Some(noted) {
                let waiting = waiting.iter().map(Vec::as_slice);
                let records: Vec<&[u8]> = std::iter::once(record).chain(waiting).collect();
                self.log_outbox(outbox.keep(&records).await);
            }
        }
    }

    /// Appends the outcomes that an earlier process on this machine could not.
    pub(super) async fn append_left_over(&self) -> Result<(), BusError> {
        let Some((outbox, node)) = self.outbox.as_ref().zip(self.node.as_ref()) else {
            return Ok(());
        };
        let Some(record) = outbox.left().await? else { return Ok(()) };
        tracing::info!(
            route = self.route,
            octets = record.len(),
            "what could not be told before is told now"
        );
        let key = self.key(node);
        self.journal.insist(&record, Some(key.as_bytes()), |error| self.log_journal(error)).await?;
        outbox.clear().await
    }

    /// Another for each append, over all processes and routes.
    fn key(&self, node: &str) -> String {
        let number = self.appends.fetch_add(1, Ordering::Relaxed);
        // A key is short, and a name may be long.
        let mut hash = rustc_hash::FxHasher::default();
        (node, &self.route).hash(&mut hash);
        format!("{node:.64}/{:x}/{}/{number}", hash.finish(), self.opened)
    }

    fn log_outbox(&self, kept: Result<(), BusError>) {
        if let Err(error) = kept {
            tracing::warn!(route = self.route, %error, "outcomes that cannot be told are not kept on this machine either");
        }
    }

    fn log_journal(&self, error: Option<&BusError>) {
        match error {
            Some(error) => {
                tracing::error!(route = self.route, %error, "outcomes cannot be written: nothing new is sent until they can")
            }
            None => tracing::info!(route = self.route, "outcomes can be written again"),
        }
    }
}
