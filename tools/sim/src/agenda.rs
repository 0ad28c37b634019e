//! Things that become due, kept by the millisecond.

use crate::clock::Clock;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

const SLOT_US: u64 = 1_000;

/// Things with the moments at which they are due. Nothing comes early; at most a millisecond late.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    clock: Clock,
    due: Mutex<BTreeMap<u64, Vec<T>>>,
    /// The earliest slot changed.
    sooner: Notify,
}

impl<T> Agenda<T> {
    pub(crate) fn new(clock: Clock) -> Self {
        Agenda { clock, due: Mutex::default(), sooner: Notify::new() }
    }

    /// Puts things in at their moments.
    pub(crate) fn put(&self, things: impl Iterator<Item = (u64, T)>) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let earliest = due.keys().next().copied();
        for (at_us, thing) in things {
            due.entry(at_us.div_ceil(SLOT_US)).or_default().push(thing);
        }
        if due.keys().next().copied() != earliest {
            self.sooner.notify_one();
        }
    }

    /// Waits until something is due, and hands out all that is, in the order of its moments.
    pub(crate) async fn ripe(&self) -> Vec<T> {
        loop {
            let sooner = self.sooner.notified();
            let (ripe, next) = self.take();
            if !ripe.is_empty() {
                return ripe;
            }
            match next {
                None => sooner.await,
                Some(at_us) => {
                    let at = self.clock.instant(at_us);
                    tokio::select! {
                        () = sooner => {}
                        () = tokio::time::sleep_until(at) => {}
                    }
                }
            }
        }
    }

    /// What is due, and the next moment.
    fn take(&self) -> (Vec<T>, Option<u64>) {
        let now = self.clock.now_us() / SLOT_US;
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let later = due.split_off(&(now + 1));
        let ripe = std::mem::replace(&mut *due, later);
        let next = due.keys().next().map(|slot| slot * SLOT_US);
        drop(due);
        (ripe.into_values().flatten().collect(), next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[tokio::test]
    async fn things_come_in_the_order_of_their_moments_and_never_early() {
        let clock = Clock::start();
        let agenda = Arc::new(Agenda::new(clock));
        let now = clock.now_us();
        let waiting = {
            let agenda = Arc::clone(&agenda);
            tokio::spawn(async move {
                let mut came = Vec::new();
                while came.len() < 4 {
                    for at in agenda.ripe().await {
                        came.push((at, agenda.clock.now_us()));
                    }
                }
                came
            })
        };
        tokio::task::yield_now().await;
        agenda.put([30_000, 10_000].into_iter().map(|after| (now + after, now + after)));
        agenda.put([20_000, 0].into_iter().map(|after| (now + after, now + after)));
        let came = waiting.await.unwrap();
        assert!(came.iter().all(|(due, at)| at >= due), "{came:?}");
        assert!(came.iter().map(|(due, _)| due).is_sorted(), "{came:?}");
    }
}
