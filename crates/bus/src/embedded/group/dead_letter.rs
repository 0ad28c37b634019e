//! Dead records: given out too often, they go to a topic of dead letters and are done with here.

use super::state::{GroupLimits, SPAN_MAX};
use super::{GroupInner, LogGroup, saved};
use crate::embedded::lock::lock;
use crate::embedded::log::DurabilityRule;
use crate::embedded::sync::Chore;
use crate::embedded::topic::GroupSource;
use crate::{BusError, DeadLetter, Group, GroupSettings, Leased};
use std::sync::Arc;
use std::time::Duration;

/// So many go at a time.
const BURIED_AT_ONCE: usize = 64;
/// What could not go is tried again after so long.
const BURY_AGAIN: Duration = Duration::from_secs(1);

impl LogGroup {
    /// Is kept like this from now on.
    pub fn set(&self, settings: &GroupSettings, dead_letters: Option<Arc<dyn GroupSource>>) {
        let span = (settings.out_of_order_max as u64).saturating_add(1).min(SPAN_MAX);
        // Without a place to go to, nothing is ever dead.
        let deliveries = if dead_letters.is_some() { settings.deliveries_max } else { 0 };
        let mut inner = lock(&self.inner);
        inner.state.set_limits(GroupLimits { span, deliveries });
        inner.dead_letters = dead_letters.filter(|_| deliveries > 0);
        self.bury_soon(&mut inner);
        drop(inner);
        self.notify.notify_waiters();
    }

    /// Has the pool carry dead records away, if there are any.
    pub(super) fn bury_soon(&self, inner: &mut GroupInner) {
        if inner.state.has_dead()
            && inner.bury_due.is_none()
            && !std::mem::replace(&mut inner.is_burying, true)
            && let Some(me) = self.me.upgrade()
        {
            self.shared.pool.chore(me);
        }
    }

    /// Puts on record how often what was taken was given out: a record that ends the process each time dies
    /// too.
    pub(super) fn save_given(&self, taken: &[Leased]) {
        let given: Vec<(u64, u32)> =
            taken.iter().map(|leased| (leased.record.index, leased.redelivered + 1)).collect();
        if let Err(error) = self.saved.write(&[&saved::encode_given(&given)]) {
            tracing::warn!(topic = self.topic.name(), %error, "Counts of deliveries could not be written.");
        }
    }

    /// Carries some away; says whether there are more.
    fn bury(&self) -> Result<bool, BusError> {
        let (dead, letters) = {
            let inner = lock(&self.inner);
            (inner.state.dead(BURIED_AT_ONCE), inner.dead_letters.clone())
        };
        let Some(letters) = letters else {
            return Ok(false);
        };
        for (index, deliveries) in &dead {
            let found = self.topic.read(*index, 1, 1)?;
            if let Some(record) = found.into_iter().next().filter(|record| record.index == *index) {
                let letter = DeadLetter { index: *index, deliveries: *deliveries, octets: record.octets };
                // Under a key: after a crash in between it is there once.
                match letters.append_now(DurabilityRule::Key(&self.letter_key(*index)), &[&letter.encode()]) {
                    Ok(_) => {}
                    Err(error @ BusError::TooLarge { .. }) => {
                        tracing::error!(topic = self.topic.name(), index, %error, "A record is too large for the dead letters; it is delivered again.");
                        lock(&self.inner).state.revive(*index);
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            self.ack(*index)?;
        }
        Ok(dead.len() == BURIED_AT_ONCE)
    }

    /// Group, topic and index, within the bound of keys: names that are long stand for themselves by a hash.
    fn letter_key(&self, index: u64) -> Vec<u8> {
        let mut key = b"dead:".to_vec();
        let name = self.saved.name().as_bytes();
        match name.len() {
            0..=64 => key.extend_from_slice(name),
            _ => key.extend_from_slice(&fnv(name).to_le_bytes()),
        }
        key.extend_from_slice(&index.to_le_bytes());
        key
    }
}

/// FNV-1a over 128 bits: the same in every version.
fn fnv(octets: &[u8]) -> u128 {
    octets.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, octet| {
        (hash ^ u128::from(*octet)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

impl Chore for LogGroup {
    fn run(&self) {
        let buried = self.bury();
        let mut inner = lock(&self.inner);
        inner.is_burying = false;
        match buried {
            Ok(_) => self.bury_soon(&mut inner),
            Err(BusError::Closed) => {}
            Err(error) => {
                tracing::warn!(topic = self.topic.name(), %error, "Records could not be moved to the dead letters; retrying.");
                inner.bury_due = Some(self.shared.clock.now() + BURY_AGAIN);
                self.set_alarm(&mut inner);
            }
        }
        drop(inner);
        self.notify.notify_waiters();
    }
}
