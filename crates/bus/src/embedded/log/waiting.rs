//! Waiters block until a log reaches a position. Each has a seat that says for what; after a sync those whose
//! time has come are woken, a core at a time.

use super::LogProgress;
use crate::embedded::lock::lock;
use crate::embedded::wakeups::WakeupBatch;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitCondition {
    /// Records below are readable.
    Head(u64),
    /// Records below survive a power cut.
    Durable(u64),
}

impl WaitCondition {
    /// It is so.
    pub fn is_met(self, progress: &LogProgress) -> bool {
        match self {
            WaitCondition::Head(end) => progress.head >= end,
            WaitCondition::Durable(end) => progress.durable >= end,
        }
    }
}

/// Those who wait, in the order in which they came.
#[derive(Default)]
pub(super) struct Waiters {
    slots: Mutex<WaiterSlots>,
}

#[derive(Default)]
struct WaiterSlots {
    taken: VecDeque<WaiterSlot>,
    next: u64,
}

struct WaiterSlot {
    number: u64,
    want: WaitCondition,
    waker: Waker,
    relay: Option<Arc<WakeupBatch>>,
}

impl WaiterSlots {
    fn place(&self, number: u64) -> Option<usize> {
        self.taken.binary_search_by_key(&number, |slot| slot.number).ok()
    }
}

impl Waiters {
    /// Waits until `is_over`, which is asked whenever what is wanted may be so. It must not look at who
    /// waits.
    pub fn until<F: Fn() -> bool>(&self, want: WaitCondition, is_over: F) -> Until<'_, F> {
        Until { waiting: self, want, is_over, slot: None }
    }

    /// Wakes those who got what they want; where the log stopped, or took something back (`all`), everybody.
    pub fn release(&self, progress: &LogProgress, all: bool) {
        let mut slots = lock(&self.slots);
        if slots.taken.is_empty() {
            return;
        }
        let is_due = |slot: &WaiterSlot| all || slot.want.is_met(progress);
        let due: Vec<WaiterSlot> = if slots.taken.iter().all(is_due) {
            slots.taken.drain(..).collect()
        } else {
            let (due, stay) = std::mem::take(&mut slots.taken).into_iter().partition(is_due);
            slots.taken = stay;
            Vec::from(due)
        };
        drop(slots);
        wake(due);
    }

    fn sit(&self, want: WaitCondition, context: &Context<'_>) -> u64 {
        let (waker, relay) = (context.waker().clone(), WakeupBatch::here());
        let mut slots = lock(&self.slots);
        let number = slots.next;
        slots.next += 1;
        slots.taken.push_back(WaiterSlot { number, want, waker, relay });
        number
    }

    /// Still sits there, with the newest waker.
    fn stays(&self, number: u64, context: &Context<'_>) -> bool {
        let mut slots = lock(&self.slots);
        let Some(place) = slots.place(number) else { return false };
        let slot = &mut slots.taken[place];
        if !slot.waker.will_wake(context.waker()) {
            slot.waker = context.waker().clone();
            slot.relay = WakeupBatch::here();
        }
        true
    }

    fn leave(&self, number: u64) {
        let mut slots = lock(&self.slots);
        if let Some(place) = slots.place(number) {
            slots.taken.remove(place);
        }
    }
}

/// Wakes all, each core once. There are few cores.
fn wake(due: Vec<WaiterSlot>) {
    let mut cores: Vec<(Arc<WakeupBatch>, Vec<Waker>)> = Vec::new();
    for WaiterSlot { waker, relay, .. } in due {
        let Some(relay) = relay else {
            waker.wake();
            continue;
        };
        match cores.iter_mut().find(|(other, _)| Arc::ptr_eq(other, &relay)) {
            Some((_, wakers)) => wakers.push(waker),
            None => cores.push((relay, vec![waker])),
        }
    }
    for (relay, mut wakers) in cores {
        relay.wake(&mut wakers);
    }
}

/// See [`Waiters::until`].
pub(super) struct Until<'a, F> {
    waiting: &'a Waiters,
    want: WaitCondition,
    is_over: F,
    slot: Option<u64>,
}

impl<F: Fn() -> bool + Unpin> Future for Until<'_, F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if (this.is_over)() {
            return Poll::Ready(());
        }
        if this.slot.is_some_and(|slot| this.waiting.stays(slot, context)) {
            // Who is still seated is woken by the next change: it had not come when the question was asked,
            // or it will find the seat.
            if !(this.is_over)() {
                return Poll::Pending;
            }
            return Poll::Ready(());
        }
        this.slot = Some(this.waiting.sit(this.want, context));
        // What changed before the seat was taken woke nobody.
        if (this.is_over)() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl<F> Drop for Until<'_, F> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            self.waiting.leave(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn progress(head: u64, durable: u64) -> LogProgress {
        LogProgress { head, durable, stopped: None }
    }

    #[test]
    fn whoever_has_what_it_wants_is_woken_and_others_are_not() {
        let waiting = Waiters::default();
        let wants = [
            WaitCondition::Head(1),
            WaitCondition::Head(5),
            WaitCondition::Durable(1),
            WaitCondition::Durable(3),
        ];
        let woken: Vec<Arc<Counted>> = wants.iter().map(|_| Arc::default()).collect();
        let mut waits: Vec<_> = wants.iter().map(|want| waiting.until(*want, || false)).collect();
        for (wait, woken) in waits.iter_mut().zip(&woken) {
            let waker = Waker::from(woken.clone());
            assert!(Pin::new(wait).poll(&mut Context::from_waker(&waker)).is_pending());
        }
        let count = || woken.iter().map(|woken| woken.0.load(Ordering::SeqCst)).collect::<Vec<_>>();
        waiting.release(&progress(4, 2), false);
        assert_eq!(count(), [1, 0, 1, 0]);
        waiting.release(&progress(4, 3), false);
        assert_eq!(count(), [1, 0, 1, 1], "who was woken has no seat any more");
        waiting.release(&progress(4, 3), true);
        assert_eq!(count(), [1, 1, 1, 1], "all are told of the end");
    }

    #[test]
    fn a_change_between_the_question_and_the_seat_is_not_missed() {
        let waiting = Waiters::default();
        let asked = AtomicUsize::new(0);
        // It becomes so right after the first question, and nobody had a seat to be woken from.
        let is_over = || asked.fetch_add(1, Ordering::SeqCst) > 0;
        let mut wait = waiting.until(WaitCondition::Head(1), is_over);
        assert!(Pin::new(&mut wait).poll(&mut Context::from_waker(Waker::noop())).is_ready());
        drop(wait);
        assert!(lock(&waiting.slots).taken.is_empty());
    }

    #[test]
    fn whoever_stops_waiting_leaves_no_seat_behind() {
        let waiting = Waiters::default();
        let over = AtomicBool::new(false);
        let is_over = || over.load(Ordering::SeqCst);
        let mut waits: Vec<_> = (0..3).map(|end| waiting.until(WaitCondition::Head(end), is_over)).collect();
        for wait in &mut waits {
            assert!(Pin::new(wait).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        drop(waits.remove(1));
        assert_eq!(lock(&waiting.slots).taken.len(), 2);
        over.store(true, Ordering::SeqCst);
        for mut wait in waits {
            assert!(Pin::new(&mut wait).poll(&mut Context::from_waker(Waker::noop())).is_ready());
        }
        assert!(lock(&waiting.slots).taken.is_empty());
    }

    #[test]
    fn whoever_was_woken_too_early_sits_down_again() {
        let waiting = Waiters::default();
        let woken = Arc::new(Counted::default());
        let waker = Waker::from(woken.clone());
        let mut wait = waiting.until(WaitCondition::Head(9), || false);
        for times in 1..4 {
            assert!(Pin::new(&mut wait).poll(&mut Context::from_waker(&waker)).is_pending());
            waiting.release(&progress(0, 0), true);
            assert_eq!(woken.0.load(Ordering::SeqCst), times);
        }
    }
}
