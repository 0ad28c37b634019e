//! Notes of retained messages: a topic whose message the broker keeps has one on the bus, from before the
//! message is written until the topic is empty again. So a message that no process is alive to remove at its
//! end is removed by the next one.
//!
//! The notes of a route are the keys of the retained bus topic `mqtt/ROUTE/retained`: key is the topic at the
//! broker, value the alert and its end. A later alert for the topic overwrites the note as it overwrites the
//! message, so nothing of an earlier one removes it.

use crate::GatewayContext;
use bus::{BusError, Retained};
use records::{AlertNo, CONTROL, Control, ControlState, Redacted, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A removal that failed is tried again after so long.
const RETRY_S: i64 = 60;
/// A removal that failed for so long is given up: the broker has let go of the message by its Message Expiry
/// Interval.
const GIVE_UP_S: i64 = 24 * 3_600;
/// What another process has noted is left to that one for so long, where several have the route.
const OTHERS_S: i64 = 10;
/// Notes of other processes are looked at so often.
const OTHERS_EVERY_S: i64 = 5;

/// A note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RetainedNote {
    pub(super) alert: AlertNo,
    /// The message must be gone after it.
    pub(super) until: Timestamp,
}

impl RetainedNote {
    /// First octet: the form. Then alert and end, little-endian.
    const FORM: u8 = 1;
    const OCTETS: usize = 17;

    fn encode(self) -> Vec<u8> {
        let mut octets = Vec::with_capacity(RetainedNote::OCTETS);
        octets.push(RetainedNote::FORM);
        octets.extend_from_slice(&self.alert.0.to_le_bytes());
        octets.extend_from_slice(&self.until.0.to_le_bytes());
        octets
    }

    fn decode(octets: &[u8]) -> Option<RetainedNote> {
        let (&form, rest) = octets.split_first()?;
        let (alert, rest) = rest.split_first_chunk::<8>()?;
        let until = rest.try_into().ok()?;
        (form == RetainedNote::FORM).then_some(RetainedNote {
            alert: AlertNo(u64::from_le_bytes(*alert)),
            until: Timestamp(i64::from_le_bytes(until)),
        })
    }
}

/// A topic that is to be emptied, and the note that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DueRemoval {
    pub(super) topic: String,
    pub(super) note: RetainedNote,
}

/// The notes of a route.
pub(super) struct RetainedNotes {
    notes: Arc<dyn Retained>,
    control: Arc<dyn Retained>,
    /// Other processes have the route too.
    is_shared: bool,
    state: Mutex<NotesState>,
}

#[derive(Default)]
struct NotesState {
    /// By topic: the note, and when it is looked at next.
    pending: FxHashMap<String, (RetainedNote, Timestamp)>,
    /// The same by that moment, without those whose removal is on its way.
    queue: BTreeSet<(Timestamp, String)>,
    /// Topics that this process has written.
    own: FxHashSet<String>,
    control_seen: u64,
    steered_seen: u64,
    notes_seen: u64,
    others_looked: Timestamp,
}

impl NotesState {
    /// Looks at a topic at this moment, and not before.
    fn schedule(&mut self, topic: &str, note: RetainedNote, at: Timestamp) {
        self.forget(topic);
        self.pending.insert(topic.to_owned(), (note, at));
        self.queue.insert((at, topic.to_owned()));
    }

    fn forget(&mut self, topic: &str) {
        if let Some((_, at)) = self.pending.remove(topic) {
            self.queue.remove(&(at, topic.to_owned()));
        }
    }

    fn has(&self, removal: &DueRemoval) -> bool {
        self.pending.get(&removal.topic).is_some_and(|(note, _)| *note == removal.note)
    }
}

impl RetainedNotes {
    /// Reads what earlier processes noted.
    ///
    /// # Errors
    /// The bus's.
    pub(super) fn open(context: &GatewayContext, route: &str) -> Result<RetainedNotes, BusError> {
        let notes = RetainedNotes {
            notes: context.bus.retained(&format!("mqtt/{route}/retained"))?,
            control: context.bus.retained(CONTROL)?,
            is_shared: context.shared.is_some(),
            state: Mutex::default(),
        };
        notes.read_all(&mut notes.state());
        Ok(notes)
    }

    /// Notes a message before it is written; gives the note of the message that it replaces.
    ///
    /// # Errors
    /// The bus's: then the message must not be written.
    pub(super) async fn note(
        &self,
        topic: &str,
        note: RetainedNote,
    ) -> Result<Option<RetainedNote>, BusError> {
        let before = self.notes.value(topic).and_then(|octets| RetainedNote::decode(&octets));
        self.notes.set(topic, &note.encode()).await?;
        let mut state = self.state();
        state.schedule(topic, note, note.until);
        state.own.insert(topic.to_owned());
        Ok(before)
    }

    /// The message was not taken: the topic has the one before, if it had one. Nothing is done where a later
    /// alert has noted the topic meanwhile.
    pub(super) async fn take_back(&self, topic: &str, note: RetainedNote, before: Option<RetainedNote>) {
        if self.is_current(topic, note) {
            let octets = before.map(RetainedNote::encode).unwrap_or_default();
            self.set_logged(topic, &octets).await;
            let mut state = self.state();
            match before {
                Some(before) => state.schedule(topic, before, before.until),
                None => state.forget(topic),
            }
        }
    }

    /// The topic is empty.
    pub(super) async fn removed(&self, removal: &DueRemoval) {
        if self.is_current(&removal.topic, removal.note) {
            self.set_logged(&removal.topic, &[]).await;
        }
        let mut state = self.state();
        if state.has(removal) {
            state.forget(&removal.topic);
            state.own.remove(&removal.topic);
        }
    }

    /// The topic could not be emptied: it is tried again later. True: it is given up, and
    /// [`removed`](RetainedNotes::removed) forgets it.
    pub(super) fn failed(&self, removal: &DueRemoval, now: Timestamp) -> bool {
        let mut state = self.state();
        if state.has(removal) {
            state.schedule(&removal.topic, removal.note, now.plus_s(RETRY_S));
        }
        now > removal.note.until.plus_s(GIVE_UP_S)
    }

    /// The connection is gone: what was under way is due again.
    pub(super) fn interrupted(&self, removal: &DueRemoval, now: Timestamp) {
        let mut state = self.state();
        if state.has(removal) {
            state.schedule(&removal.topic, removal.note, now);
        }
    }

    /// A topic that is to be emptied now, if there is one: its alert has ended or was cancelled, and no later
    /// one has it.
    pub(super) fn next_due(&self, now: Timestamp) -> Option<DueRemoval> {
        let mut state = self.state();
        self.look_at_others(&mut state, now);
        self.look_at_control(&mut state, now);
        loop {
            if state.queue.first().is_none_or(|(at, _)| *at > now) {
                return None;
            }
            let (_, topic) = state.queue.pop_first()?;
            let Some((note, _)) = state.pending.get(&topic).copied() else { continue };
            if self.is_current(&topic, note) {
                return Some(DueRemoval { topic, note });
            }
            // Another process has noted a later alert, or removed this one.
            state.pending.remove(&topic);
        }
    }

    /// When [`next_due`](RetainedNotes::next_due) may have something; nothing while nothing is noted.
    pub(super) fn due_at(&self, now: Timestamp) -> Option<Timestamp> {
        let next = self.state().queue.first().map(|(at, _)| *at);
        let others = self.is_shared.then(|| now.plus_s(OTHERS_EVERY_S));
        next.into_iter().chain(others).min()
    }

    /// Resolves when a sender has paused or stopped an alert since it resolved last; never while nothing is
    /// noted. Safe to drop.
    pub(super) async fn steered(&self) {
        let (is_idle, seen) = {
            let state = self.state();
            (state.pending.is_empty(), state.steered_seen)
        };
        if is_idle {
            return std::future::pending().await;
        }
        self.control.changed(seen).await;
        self.state().steered_seen = self.control.version();
    }

    /// Cancelled alerts end now.
    fn look_at_control(&self, state: &mut NotesState, now: Timestamp) {
        let version = self.control.version();
        if state.control_seen == version {
            return;
        }
        state.control_seen = version;
        let is_cancelled = |note: &RetainedNote| {
            let control = self.control.value(&note.alert.to_string());
            let control = control.and_then(|octets| Control::decode(&octets).ok());
            control.is_some_and(|control| control.state == ControlState::Stop)
        };
        let waiting = state.pending.iter().filter(|(_, (note, at))| *at > now && is_cancelled(note));
        let cancelled: Vec<_> = waiting.map(|(topic, (note, _))| (topic.clone(), *note)).collect();
        for (topic, note) in cancelled {
            state.schedule(&topic, note, now);
        }
    }

    fn look_at_others(&self, state: &mut NotesState, now: Timestamp) {
        let is_time = now >= state.others_looked.plus_s(OTHERS_EVERY_S);
        if self.is_shared && is_time && self.notes.version() != state.notes_seen {
            state.others_looked = now;
            self.read_all(state);
        }
    }

    fn read_all(&self, state: &mut NotesState) {
        state.notes_seen = self.notes.version();
        let all = self.notes.all();
        let is_there: FxHashSet<&str> = all.iter().map(|(topic, _)| topic.as_str()).collect();
        let gone = state.pending.keys().filter(|topic| !is_there.contains(topic.as_str()));
        for topic in gone.cloned().collect::<Vec<_>>() {
            state.forget(&topic);
        }
        for (topic, octets) in &all {
            let Some(note) = RetainedNote::decode(octets) else {
                tracing::warn!(
                    topic,
                    "a note of a retained message is of a later version, and is left to that"
                );
                continue;
            };
            if state.pending.get(topic).is_some_and(|(known, _)| *known == note) {
                continue;
            }
            let grace_s = if self.is_shared && !state.own.contains(topic) { OTHERS_S } else { 0 };
            state.schedule(topic, note, note.until.plus_s(grace_s));
        }
        // Whatever was said of them before is looked at again.
        state.control_seen = 0;
    }

    fn is_current(&self, topic: &str, note: RetainedNote) -> bool {
        self.notes.value(topic).and_then(|octets| RetainedNote::decode(&octets)) == Some(note)
    }

    async fn set_logged(&self, topic: &str, octets: &[u8]) {
        if let Err(error) = self.notes.set(topic, octets).await {
            tracing::warn!(topic = %Redacted::Address(topic), %error, "a note of a retained message could not be changed: its topic may be emptied once more");
        }
    }

    fn state(&self) -> MutexGuard<'_, NotesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
