//! OutcomeReader reads the topic of outcomes, measures how far the actor is behind it, and finds the delivery
//! of a receipt by the carrier's id.

use super::actor::{Lags, bus_error};
use super::unmatched_log::UnmatchedLog;
use crate::api::{EngineError, Parts};
use crate::record::CarrierIds;
use records::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Records of outcomes taken in one go, and their octets.
const RECORDS_AT_ONCE: usize = 32;
const OCTETS_AT_ONCE: usize = 1024 * 1024;
/// Record may be so far behind: records of outcomes (each holds up to a window of them), and time without
/// catching up.
const BEHIND_RECORDS_MAX: u64 = 20_000;
const BEHIND_US_MAX: i64 = 30_000_000;

/// See the module.
pub struct OutcomeReader {
    pub topic: Arc<dyn bus::Topic>,
    /// The index of the next record.
    pub next: u64,
    /// The record that is being folded, and the place of the outcome in it.
    pub position: (u64, u32),
    pub carrier_ids: CarrierIds,
    /// Lines of the log about receipts that match nothing.
    pub unmatched_log: UnmatchedLog,
    /// Gateways should take nothing new.
    behind: Arc<AtomicBool>,
    caught_up: Timestamp,
}

impl OutcomeReader {
    pub fn new(parts: &Parts, lags: &Lags) -> Result<OutcomeReader, EngineError> {
        Ok(OutcomeReader {
            topic: parts.bus.topic(records::OUTCOMES).map_err(bus_error)?,
            next: 0,
            position: (0, 0),
            carrier_ids: CarrierIds::default(),
            unmatched_log: UnmatchedLog::default(),
            behind: lags.behind.clone(),
            caught_up: Timestamp::default(),
        })
    }

    /// Records that wait.
    pub fn waiting(&self) -> u64 {
        self.topic.head().saturating_sub(self.next)
    }

    /// Where the topic ends. What is read may be ahead of the head that was announced.
    pub fn end(&self) -> u64 {
        self.topic.head().max(self.next)
    }

    /// The next records; none if they cannot be read.
    pub fn read(&self) -> Vec<bus::Record> {
        self.topic.read(self.next, RECORDS_AT_ONCE, OCTETS_AT_ONCE).unwrap_or_else(|error| {
            tracing::error!(%error, "the outcomes cannot be read; nothing is folded until they can");
            Vec::new()
        })
    }

    /// A record is about to be folded.
    pub fn begin(&mut self, index: u64) {
        self.next = index + 1;
        self.position = (index, 0);
    }

    /// Backpressure: gateways take no new segment while record is too far behind.
    pub fn measure_lag(&mut self, now: Timestamp) {
        let waiting = self.waiting();
        if waiting == 0 || self.caught_up == Timestamp::default() {
            self.caught_up = now;
        }
        let behind =
            waiting > BEHIND_RECORDS_MAX || (waiting > 0 && now.us_since(self.caught_up) > BEHIND_US_MAX);
        self.behind.store(behind, Ordering::Relaxed);
    }

    /// Lets go of what SQL has and no gateway needs after a crash, below an index, and of old carrier ids.
    pub fn trim(&mut self, below: u64, parts: &Parts, now: Timestamp) {
        let trimmed = taken_by_others(parts).and_then(|taken| self.topic.trim(below.min(taken)));
        if let Err(error) = trimmed {
            tracing::warn!(%error, "outcomes could not be trimmed");
        }
        self.carrier_ids.forget(now.plus_s(-i64::from(parts.settings.carrier_ids_s)));
    }
}

/// Outcomes below have been taken in by all who read them beside record.
fn taken_by_others(parts: &Parts) -> Result<u64, bus::BusError> {
    let mut taken = u64::MAX;
    for name in &parts.settings.outcome_groups {
        taken = taken.min(parts.bus.group(records::OUTCOMES, name)?.low_water());
    }
    Ok(taken)
}
