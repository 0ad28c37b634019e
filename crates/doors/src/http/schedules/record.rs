//! A schedule as it is stored: its rule, what it does, and what became of its last times.

use crate::http::authors::Author;
use records::{AlertId, Mode, Timestamp};
use recurrence::Schedule;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Runs that are kept, the last ones.
const RUNS_MAX: usize = 20;

/// A schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ScheduleRecord {
    pub name: String,
    /// Lines of iCalendar, in the canonical form of the library.
    pub rule: String,
    /// Live or drill.
    pub space: Mode,
    pub action: ScheduledAction,
    pub enabled: bool,
    /// A time that passed during a downtime still counts if it is no older.
    pub grace_s: u32,
    /// The alert ends so long after its time; nothing: after a day.
    pub valid_s: Option<u32>,
    /// In whose name it acts.
    pub author: Author,
    /// Its times up to here were looked after.
    pub looked_until: Timestamp,
    /// The time to be left out.
    pub skip: Option<Timestamp>,
    /// Its author was gone when it was looked after last.
    pub is_author_gone: bool,
    /// What became of its last times, the oldest first.
    pub runs: Vec<ScheduledRun>,
}

/// What a schedule does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ScheduledAction {
    /// Sends an alert.
    Alert(AlertSource),
    /// Imports the directory of this name in the config.
    Directory(String),
}

/// Where the alert comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AlertSource {
    /// The template with this id, as it is at the time.
    Template(String),
    /// A request of the schedule's own, without mode and fixed times.
    Request(Value),
}

/// What became of one of its times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ScheduledRun {
    pub occurrence: Timestamp,
    /// When it was looked after.
    pub at: Timestamp,
    pub result: RunResult,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunResult {
    /// An alert was accepted.
    Sent(AlertId),
    /// The import of a directory was begun: the job's id.
    Started(String),
    /// It was refused, in words.
    Failed(String),
    /// The server was down until it was older than the grace.
    Missed,
    /// A later time of the same downtime stands for it.
    Merged,
    /// Somebody wanted it left out.
    Skipped,
    /// Its author is gone.
    AuthorGone,
}

impl RunResult {
    /// The result's name in the API.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            RunResult::Sent(_) => "sent",
            RunResult::Started(_) => "started",
            RunResult::Failed(_) => "failed",
            RunResult::Missed => "missed",
            RunResult::Merged => "merged",
            RunResult::Skipped => "skipped",
            RunResult::AuthorGone => "author_gone",
        }
    }
}

impl ScheduleRecord {
    /// Notes what became of a time; the oldest is forgotten for it.
    pub(crate) fn note(&mut self, occurrence: Timestamp, at: Timestamp, result: RunResult) {
        self.runs.push(ScheduledRun { occurrence, at, result });
        let too_many = self.runs.len().saturating_sub(RUNS_MAX);
        self.runs.drain(..too_many);
    }

    /// When it has to be looked after next; nothing: never again, or not while it is disabled.
    pub(crate) fn due(&self, rule: &Schedule) -> Option<Timestamp> {
        let next = rule.next_after(instant(self.looked_until)).filter(|_| self.enabled)?;
        Some(timestamp(next.instant))
    }
}

/// A moment as the library has it.
pub(crate) fn instant(at: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_microsecond(at.0).unwrap_or(jiff::Timestamp::MAX)
}

/// A moment of the library.
pub(crate) fn timestamp(at: jiff::Timestamp) -> Timestamp {
    Timestamp(at.as_microsecond())
}
