//! Notes queue: messages to be retained, whose notes are written to the bus before they are written to the
//! broker; and changes of notes. One thing at a time, in order, so that a note is never that of an earlier
//! message than the topic's.

use super::broker::MqttJob;
use super::config::MqttRoute;
use super::outcome;
use super::payload::end_of;
use super::retained::{DueRemoval, RetainedNote, RetainedNotes};
use bus::BusError;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use records::{AttemptResult, Timestamp};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// What is being written when the connection is gone may take so long.
const LAST_WRITE_MAX: Duration = Duration::from_secs(2);

/// A message, and what was noted of it if it is to be retained.
#[derive(Clone)]
pub(super) struct NotedJob {
    pub(super) job: MqttJob,
    pub(super) note: Option<TopicNote>,
}

/// The note of a topic, and the one that it replaced.
#[derive(Debug, Clone)]
pub(super) struct TopicNote {
    topic: String,
    note: RetainedNote,
    before: Option<RetainedNote>,
}

/// Something to be done to a note.
enum NoteChange {
    /// Its message was not taken.
    TakeBack(TopicNote),
    /// Its topic is empty.
    Removed(DueRemoval),
}

type NotedBatch = Vec<(NotedJob, Result<(), BusError>)>;

/// The queue of a connection.
pub(super) struct NotesQueue {
    notes: Arc<RetainedNotes>,
    running: Option<BoxFuture<'static, NotedBatch>>,
    /// Messages whose notes are being written.
    batch: Vec<MqttJob>,
    later: VecDeque<NotedJob>,
    changes: VecDeque<NoteChange>,
    ready: VecDeque<NotedJob>,
    refused: VecDeque<(MqttJob, AttemptResult)>,
}

impl NotesQueue {
    pub(super) fn new(notes: Arc<RetainedNotes>) -> NotesQueue {
        NotesQueue {
            notes,
            running: None,
            batch: Vec::new(),
            later: VecDeque::new(),
            changes: VecDeque::new(),
            ready: VecDeque::new(),
            refused: VecDeque::new(),
        }
    }

    /// Messages in it.
    pub(super) fn len(&self) -> usize {
        self.batch.len() + self.later.len() + self.ready.len()
    }

    /// There is nothing in it, and nothing to be done.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0 && !self.is_busy() && self.refused.is_empty()
    }

    /// Something is being written or waits to be.
    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some() || !self.later.is_empty() || !self.changes.is_empty()
    }

    /// Notes these messages.
    pub(super) fn begin(&mut self, jobs: Vec<MqttJob>, config: &MqttRoute) {
        self.later.extend(jobs.into_iter().map(|job| {
            let (segment, entry) = (&job.leased.segment, job.entry());
            let note = RetainedNote { alert: segment.alert, until: end_of(segment, entry) };
            let topic = config.topic_of(&entry.address);
            NotedJob { note: Some(TopicNote { topic, note, before: None }), job }
        }));
        self.start();
    }

    /// The message was not taken: its note is that of the one before.
    pub(super) fn take_back(&mut self, noted: &NotedJob) {
        self.changes.extend(noted.note.clone().map(NoteChange::TakeBack));
        self.start();
    }

    /// The topic is empty.
    pub(super) fn removed(&mut self, removal: DueRemoval) {
        self.changes.push_back(NoteChange::Removed(removal));
        self.start();
    }

    /// A message whose note is on disk.
    pub(super) fn next_ready(&mut self) -> Option<NotedJob> {
        self.ready.pop_front()
    }

    /// A message whose note could not be written.
    pub(super) fn next_refused(&mut self) -> Option<(MqttJob, AttemptResult)> {
        self.refused.pop_front()
    }

    /// All messages that are not being noted, for who writes them no more.
    pub(super) fn take_waiting(&mut self) -> Vec<NotedJob> {
        let later = self.later.drain(..).map(|noted| NotedJob { note: None, ..noted });
        self.ready.drain(..).chain(later).collect()
    }

    /// Resolves when something was done. Safe to drop.
    pub(super) async fn progress(&mut self) {
        let Some(running) = &mut self.running else { return std::future::pending().await };
        let noted = running.await;
        self.running = None;
        self.batch.clear();
        self.sort(noted);
        self.start();
    }

    fn sort(&mut self, noted: NotedBatch) {
        for (noted, result) in noted {
            match result {
                Ok(()) => self.ready.push_back(noted),
                Err(error) => self.refused.push_back((noted.job, outcome::unnoted(&error))),
            }
        }
    }

    /// The connection is gone: all messages, and those whose notes could not be written.
    pub(super) async fn close(
        mut self,
        now: Timestamp,
    ) -> (Vec<NotedJob>, VecDeque<(MqttJob, AttemptResult)>) {
        let mut jobs = self.take_waiting();
        let end = tokio::time::timeout(LAST_WRITE_MAX, async {
            while self.running.is_some() {
                self.progress().await;
            }
        });
        if end.await.is_err() {
            // A note may be there without its message: then a topic is emptied once more.
            jobs.extend(self.batch.drain(..).map(|job| NotedJob { job, note: None }));
        }
        for change in self.changes.drain(..) {
            if let NoteChange::Removed(removal) = change {
                self.notes.interrupted(&removal, now);
            }
        }
        jobs.extend(self.take_waiting());
        (jobs, std::mem::take(&mut self.refused))
    }

    /// Begins what is next: changes first, then as many messages as have different topics.
    fn start(&mut self) {
        if self.running.is_some() {
            return;
        }
        let notes = Arc::clone(&self.notes);
        if !self.changes.is_empty() {
            let changes = std::mem::take(&mut self.changes);
            self.running = Some(carry_out(notes, changes).boxed());
        } else if !self.later.is_empty() {
            let (mut topics, mut batch) = (FxHashSet::default(), Vec::new());
            while let Some(next) = self.later.front()
                && next.note.as_ref().is_none_or(|note| topics.insert(note.topic.clone()))
            {
                batch.extend(self.later.pop_front());
            }
            self.batch = batch.iter().map(|noted| noted.job.clone()).collect();
            self.running = Some(write(notes, batch).boxed());
        }
    }
}

async fn carry_out(notes: Arc<RetainedNotes>, changes: VecDeque<NoteChange>) -> NotedBatch {
    for change in changes {
        match change {
            NoteChange::TakeBack(TopicNote { topic, note, before }) => {
                notes.take_back(&topic, note, before).await;
            }
            NoteChange::Removed(removal) => notes.removed(&removal).await,
        }
    }
    Vec::new()
}

async fn write(notes: Arc<RetainedNotes>, batch: Vec<NotedJob>) -> NotedBatch {
    let notes = &*notes;
    join_all(batch.into_iter().map(|mut noted| async move {
        let Some(note) = &mut noted.note else { return (noted, Ok(())) };
        match notes.note(&note.topic, note.note).await {
            Ok(before) => {
                note.before = before;
                (noted, Ok(()))
            }
            Err(error) => (noted, Err(error)),
        }
    }))
    .await
}
