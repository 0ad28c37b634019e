//! External backend settles charges at charging servers: each ends a session, and those of many records are
//! ended at once. One of several processes settles.

use super::External;
use super::asr_rar::Abort;
use super::open_sessions::OpenSessionTopic;
use crate::message_charging::ChargeId;
use crate::message_charging::backend::{ChargingBackend, DecidedRecord, SettledRecord};
use crate::message_charging::settlement::{Change, Decision, Settlement};
use crate::message_charging::settler::{self, Settling};
use bus::{Bus, BusError};
use futures_util::future::join_all;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

impl External {
    /// Starts settling by the outcomes on this bus, from where an earlier process stopped; among several
    /// processes, while `leads` says that this one does.
    ///
    /// # Errors
    /// The bus's.
    pub fn start_settling(&self, bus: &dyn Bus, leads: watch::Receiver<bool>) -> Result<Settling, BusError> {
        let backend = ExternalBackend {
            aborts: self.hear_aborts(leads.clone()),
            external: self.clone(),
            ends: JoinSet::new(),
            topic: OpenSessionTopic::open(bus)?,
            is_leading: false,
        };
        settler::start(backend, Settlement::of_attempts(), bus, leads)
    }
}

struct ExternalBackend {
    external: External,
    /// Sessions that a server wants ended.
    aborts: mpsc::Receiver<Abort>,
    /// Each ends the sessions of one record.
    ends: JoinSet<SettledRecord>,
    topic: OpenSessionTopic,
    is_leading: bool,
}

impl ChargingBackend for ExternalBackend {
    const RECORDS_MAX: usize = 1_024;

    /// A process that begins to lead reads what is not settled yet, and ends what servers wanted ended
    /// meanwhile, and before.
    async fn catch_up(&mut self, settlement: &mut Settlement) -> Result<(), BusError> {
        if self.is_leading {
            return self.topic.tidy(settlement).await;
        }
        *settlement = self.topic.read().await?;
        self.is_leading = true;
        let unwanted = {
            let mut sessions = self.external.sessions();
            sessions.keep(settlement.unknown());
            sessions.unwanted()
        };
        unwanted.into_iter().for_each(|id| self.abort(Abort { id, is_again: true }, settlement));
        Ok(())
    }

    fn is_aborted(&self, id: ChargeId) -> bool {
        self.external.sessions().is_aborted(&id)
    }

    async fn settle(&mut self, decided: Vec<DecidedRecord>, settled: &mut Vec<SettledRecord>) {
        for record in decided {
            match record.reading.decisions.iter().any(|decision| end(*decision).is_some()) {
                true => self.begin(record),
                // Its changes come before those of later ones.
                false => settled.push(record.into()),
            }
        }
    }

    async fn wait(&mut self, settlement: &mut Settlement, settled: &mut Vec<SettledRecord>) {
        loop {
            tokio::select! {
                biased;
                Some(ended) = self.ends.join_next() => {
                    // What panicked is given out again.
                    settled.extend(ended);
                    while let Some(ended) = self.ends.try_join_next() {
                        settled.extend(ended);
                    }
                    return;
                }
                Some(abort) = self.aborts.recv() => self.abort(abort, settlement),
                else => return std::future::pending().await,
            }
        }
    }

    async fn note(&mut self, changes: &[Change]) -> Result<(), BusError> {
        self.topic.note(changes).await
    }

    async fn leave(&mut self, settlement: &mut Settlement) {
        self.is_leading = false;
        self.ends.shutdown().await;
        *settlement = Settlement::of_attempts();
    }
}

impl ExternalBackend {
    /// Ends the sessions of a record.
    fn begin(&mut self, record: DecidedRecord) {
        let external = self.external.clone();
        self.ends.spawn(async move {
            let DecidedRecord { index, lease, is_again, reading } = record;
            let is_again = is_again || index.is_some_and(|index| external.is_old(index));
            let ends = reading.decisions.iter().filter_map(|decision| end(*decision));
            let ends = ends.map(|(id, used)| external.end(id, used, &lease, is_again));
            let is_done = join_all(ends).await.into_iter().all(|is_over| is_over);
            SettledRecord { index, changes: reading.changes, is_done }
        });
    }

    /// A server wants a session ended. One that is under way is ended by its outcome, or when that is
    /// unknown; of what is unknown none was used, as far as anybody knows.
    fn abort(&mut self, Abort { id, is_again }: Abort, settlement: &mut Settlement) {
        if let Some(reading) = settlement.abort(id) {
            self.begin(DecidedRecord::alone(reading, is_again));
        }
    }
}

/// The session that a decision ends, and how many parts were used.
pub(super) fn end(decision: Decision) -> Option<(ChargeId, u32)> {
    match decision {
        Decision::Charge(id, parts) => Some((id, parts)),
        Decision::Release(id) | Decision::ReleaseUnknown(id) => Some((id, 0)),
        Decision::Keep(_) => None,
    }
}
