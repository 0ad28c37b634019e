//! A consumer group: leases in memory, acknowledgements in a small log of its own, written lazily.

mod dead_letter;
mod saved;
pub(super) mod state;
#[cfg(test)]
mod tests;

use super::lock::lock;
use super::log::Log;
use super::shared::SharedLogs;
use super::timer::TimerClient;
use super::topic::GroupSource;
use crate::{BusError, Group, Leased};
use futures_util::future::{BoxFuture, select};
use saved::Saved;
use state::{Acked, GroupState, add_span};
use std::pin::pin;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// One `take` reads at most so many octets.
const TAKE_OCTETS_MAX: usize = 8 * 1024 * 1024;
/// Acknowledgements are written at latest after so long.
const WRITE_AFTER: Duration = Duration::from_millis(500);
/// Acknowledgements that are not written yet are at most so many spans: then they are written at once.
const UNWRITTEN_SPANS_MAX: usize = 4096;
/// The log of acknowledgements is begun anew when it has so many octets.
const COMPACT_OCTETS: u64 = 256 * 1024;

/// A group on a topic.
pub(super) struct LogGroup {
    topic: Arc<dyn GroupSource>,
    shared: Arc<SharedLogs>,
    saved: Arc<Log>,
    inner: Mutex<GroupInner>,
    /// Rings when something was given back, has expired, or may be given out again.
    notify: Arc<Notify>,
    /// Held by whoever writes to `saved`: records go there in the order they are taken from `inner`.
    saving: Mutex<()>,
    me: Weak<LogGroup>,
}

struct GroupInner {
    state: GroupState,
    /// Acknowledged and not written to `saved`.
    unwritten: Vec<(u64, u64)>,
    changed: bool,
    write_due: Option<Instant>,
    /// The next moment the timer wakes it.
    alarm: Option<Instant>,
    /// Where dead records go.
    dead_letters: Option<Arc<dyn GroupSource>>,
    /// They are on their way there.
    is_burying: bool,
    /// They could not go there, and are tried again then.
    bury_due: Option<Instant>,
}

impl LogGroup {
    /// Opens what `saved` holds of a group.
    pub fn open(
        shared: &Arc<SharedLogs>,
        topic: Arc<dyn GroupSource>,
        saved: Arc<Log>,
    ) -> Result<Arc<LogGroup>, BusError> {
        let mut state = GroupState::new(topic.low());
        let head = topic.head();
        let mut from = saved.low();
        let mut is_ahead = false;
        let mut given: Vec<(u64, u32)> = Vec::new();
        loop {
            let records = saved.read(from, usize::MAX, TAKE_OCTETS_MAX)?;
            let Some(last) = records.last() else {
                break;
            };
            from = last.index + 1;
            for record in &records {
                let (low, spans) = match saved::decode(&record.octets) {
                    Some(Saved::Acked(low, spans)) => (low, spans),
                    Some(Saved::Given(more)) => {
                        given.extend(more.into_iter().filter(|(index, _)| *index < head));
                        continue;
                    }
                    None => {
                        let place = saved.folder().display();
                        let what = format!("{place}: record {} is no group's state", record.index);
                        return Err(BusError::Damaged { what });
                    }
                };
                // A weaker `fsync` may lose the topic's end and not what was acknowledged of it: the indexes
                // are given to other records then, and those are not done.
                is_ahead |= low > head || spans.iter().any(|(_, below)| *below > head);
                state.skip_to(low.min(head));
                for index in spans.iter().flat_map(|(from, below)| *from..(*below).min(head)) {
                    state.ack(index);
                }
            }
        }
        given.into_iter().for_each(|(index, given)| state.was_given(index, given));
        let inner = GroupInner {
            state,
            unwritten: Vec::new(),
            changed: false,
            write_due: None,
            alarm: None,
            dead_letters: None,
            is_burying: false,
            bury_due: None,
        };
        let group = Arc::new_cyclic(|me| LogGroup {
            topic,
            shared: shared.clone(),
            saved,
            inner: Mutex::new(inner),
            notify: Arc::default(),
            saving: Mutex::new(()),
            me: me.clone(),
        });
        if is_ahead {
            group.compact()?;
        }
        Ok(group)
    }

    /// Its topic is one for emergencies, or no longer.
    pub fn set_emergency(&self, emergency: bool) {
        self.saved.set_emergency(emergency);
    }

    /// The log of what was acknowledged.
    pub fn saved(&self) -> &Arc<Log> {
        &self.saved
    }

    /// Writes what was acknowledged since the last time; it survives the process, not yet a power cut.
    pub fn save(&self) -> Result<(), BusError> {
        let _one = lock(&self.saving);
        let record = {
            let mut inner = lock(&self.inner);
            inner.write_due = None;
            if !std::mem::take(&mut inner.changed) {
                return Ok(());
            }
            let spans = std::mem::take(&mut inner.unwritten);
            saved::encode(inner.state.low(), &spans)
        };
        if let Err(error) = self.saved.write(&[&record]) {
            // It stays to be written: all that is known, since the spans are gone.
            let mut inner = lock(&self.inner);
            inner.unwritten = inner.state.acked_spans();
            inner.changed = true;
            return Err(error);
        }
        let (octets, _) = self.saved.size();
        if octets < COMPACT_OCTETS { Ok(()) } else { self.compact_saving() }
    }

    fn compact(&self) -> Result<(), BusError> {
        let _one = lock(&self.saving);
        self.compact_saving()
    }

    /// Begins the log anew with all there is to know. The caller holds `saving`.
    fn compact_saving(&self) -> Result<(), BusError> {
        let begin = self.saved.roll()?;
        let record = {
            let inner = lock(&self.inner);
            let acked = saved::encode(inner.state.low(), &inner.state.acked_spans());
            let given = inner.dead_letters.as_ref().map(|_| saved::encode_given(&inner.state.given()));
            [Some(acked), given]
        };
        let records: Vec<&[u8]> = record.iter().flatten().map(Vec::as_slice).collect();
        self.saved.write(&records)?;
        self.saved.sync()?;
        self.saved.trim(begin)
    }

    /// Sets the timer to the next moment there is something to do.
    fn set_alarm(&self, inner: &mut GroupInner) {
        let next = [inner.state.next_end(), inner.write_due, inner.bury_due].into_iter().flatten().min();
        if let Some(next) = next
            && inner.alarm.is_none_or(|alarm| next < alarm)
        {
            inner.alarm = Some(next);
            self.shared.timer.set(next, self.me.clone());
        }
    }

    /// The topic may have let go of records that nobody acknowledged.
    fn follow_low(&self, inner: &mut GroupInner) {
        inner.changed |= inner.state.skip_to(self.topic.low());
    }

    fn expire(&self, inner: &mut GroupInner, now: Instant) -> bool {
        let any = inner.state.expire(now);
        self.bury_soon(inner);
        any
    }

    fn has_work(&self) -> bool {
        let mut inner = lock(&self.inner);
        self.expire(&mut inner, self.shared.clock.now());
        inner.state.has_work(self.topic.head())
    }

    fn not_leased(&self, index: u64) -> BusError {
        BusError::NotLeased { topic: self.topic.name().to_owned(), index }
    }
}

impl Group for LogGroup {
    fn take(&self, max: usize, lease: Duration) -> Result<Vec<Leased>, BusError> {
        let now = self.shared.clock.now();
        let mut inner = lock(&self.inner);
        self.follow_low(&mut inner);
        self.expire(&mut inner, now);
        let offer = inner.state.offer(max, self.topic.head());
        let mut taken = Vec::with_capacity(offer.len());
        let mut octets_left = TAKE_OCTETS_MAX;
        let mut runs = offer.as_slice();
        while let Some(&(from, _)) = runs.first()
            && octets_left > 0
        {
            let run = runs.iter().zip(from..).take_while(|((index, _), expected)| index == expected).count();
            let records = self.topic.read(from, run, octets_left)?;
            if records.first().is_none_or(|record| record.index != from) {
                break;
            }
            runs = &runs[records.len()..];
            for record in records {
                octets_left = octets_left.saturating_sub(record.octets.len());
                let redelivered = offer[taken.len()].1;
                inner.state.lease(record.index, now + lease);
                taken.push(Leased { record, redelivered });
            }
        }
        self.set_alarm(&mut inner);
        let counts = inner.dead_letters.is_some() && !taken.is_empty();
        drop(inner);
        if counts {
            self.save_given(&taken);
        }
        Ok(taken)
    }

    fn ready(&self) -> BoxFuture<'static, ()> {
        let Some(me) = self.me.upgrade() else {
            return Box::pin(std::future::ready(()));
        };
        Box::pin(async move {
            loop {
                let rung = me.notify.notified();
                let mut rung = pin!(rung);
                rung.as_mut().enable();
                let head = me.topic.head();
                if me.topic.is_stopped() || me.has_work() {
                    return;
                }
                select(rung, me.topic.readable(head)).await;
            }
        })
    }

    fn ack(&self, index: u64) -> Result<(), BusError> {
        let head = self.topic.head();
        if index >= head {
            return Err(self.not_leased(index));
        }
        let mut inner = lock(&self.inner);
        let opens = match inner.state.ack(index) {
            Acked::Before => return Ok(()),
            Acked::TooFar => return Err(self.not_leased(index)),
            Acked::Now { opens } => opens,
        };
        add_span(&mut inner.unwritten, index);
        inner.changed = true;
        let now = self.shared.clock.now();
        let crowded = inner.unwritten.len() >= UNWRITTEN_SPANS_MAX;
        let due = if crowded { now } else { now + WRITE_AFTER };
        inner.write_due = Some(inner.write_due.map_or(due, |before| before.min(due)));
        self.set_alarm(&mut inner);
        drop(inner);
        if opens {
            self.notify.notify_waiters();
        }
        Ok(())
    }

    fn renew(&self, index: u64, lease: Duration) -> Result<(), BusError> {
        let now = self.shared.clock.now();
        let mut inner = lock(&self.inner);
        if !inner.state.renew(index, now, lease) {
            return Err(self.not_leased(index));
        }
        self.set_alarm(&mut inner);
        Ok(())
    }

    fn release(&self, index: u64) -> Result<(), BusError> {
        let mut inner = lock(&self.inner);
        if !inner.state.release(index) {
            return Err(self.not_leased(index));
        }
        self.bury_soon(&mut inner);
        drop(inner);
        self.notify.notify_waiters();
        Ok(())
    }

    fn low_water(&self) -> u64 {
        let mut inner = lock(&self.inner);
        self.follow_low(&mut inner);
        inner.state.low()
    }

    fn unacknowledged(&self, max: usize) -> Vec<u64> {
        let head = self.topic.head();
        let mut inner = lock(&self.inner);
        self.follow_low(&mut inner);
        inner.state.unacknowledged(max, head)
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), BusError>> {
        Box::pin(async move {
            self.save()?;
            let (written, _) = self.saved.write(&[])?;
            self.saved.request_sync();
            self.saved.synced(written.end).await
        })
    }
}

impl TimerClient for LogGroup {
    fn woken(self: Arc<Self>, now: Instant) {
        let (rings, writes) = {
            let mut inner = lock(&self.inner);
            inner.alarm = None;
            let rings = self.expire(&mut inner, now);
            if inner.bury_due.is_some_and(|due| due <= now) {
                inner.bury_due = None;
                self.bury_soon(&mut inner);
            }
            (rings, inner.write_due.is_some_and(|due| due <= now))
        };
        if rings {
            self.notify.notify_waiters();
        }
        if writes && let Err(error) = self.save() {
            tracing::warn!(topic = self.topic.name(), %error, "Acknowledgements could not be written; retrying.");
            let mut inner = lock(&self.inner);
            inner.write_due = Some(now + WRITE_AFTER);
        }
        self.set_alarm(&mut lock(&self.inner));
    }
}
