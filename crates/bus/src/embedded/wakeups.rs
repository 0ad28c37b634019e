//! A core is woken once after a sync, however many of its tasks waited for it.
//!
//! Waking a task from another thread takes a lock of its runtime and, where that sleeps, a system call. After
//! a sync this would be paid by the one thread on which the next sync waits, for each of hundreds that were
//! synced together. Instead each core has one task of ours, its relay: the syncing thread hands it all who
//! waited on that core, wakes it alone, and it wakes them where that costs next to nothing.

use super::lock::lock;
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

thread_local! {
    /// The relay of this thread, if it has one.
    static HERE: RefCell<Option<Arc<WakeupBatch>>> = const { RefCell::new(None) };
}

/// Who is to be woken on one core.
#[derive(Default)]
pub(super) struct WakeupBatch {
    state: Mutex<WakeupState>,
}

#[derive(Default)]
struct WakeupState {
    woken: Vec<Waker>,
    task: Option<Waker>,
    /// Its task is gone: nobody would pass on what is handed to it.
    over: bool,
}

impl WakeupBatch {
    /// That of this thread.
    pub fn here() -> Option<Arc<WakeupBatch>> {
        HERE.with_borrow(Clone::clone)
    }

    /// Wakes all of them, by the relay's task where there still is one.
    pub fn wake(&self, wakers: &mut Vec<Waker>) {
        let mut state = lock(&self.state);
        if state.over {
            drop(state);
            wakers.drain(..).for_each(Waker::wake);
            return;
        }
        let is_told = !state.woken.is_empty();
        state.woken.append(wakers);
        let task = if is_told { None } else { state.task.take() };
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
    }
}

/// Passes wake-ups on to the tasks of the thread it runs on, until it is dropped. To be spawned once on each
/// single-threaded runtime whose tasks wait for appends; without it all works the same, only slower.
pub fn relay() -> impl Future<Output = ()> + Send + 'static {
    Passing { relay: None, passed: Vec::new() }
}

struct Passing {
    relay: Option<Arc<WakeupBatch>>,
    passed: Vec<Waker>,
}

impl Future for Passing {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Passing { relay, passed } = self.get_mut();
        let relay = relay.get_or_insert_with(|| {
            let relay = Arc::new(WakeupBatch::default());
            HERE.set(Some(relay.clone()));
            relay
        });
        let mut state = lock(&relay.state);
        if !state.task.as_ref().is_some_and(|task| task.will_wake(context.waker())) {
            state.task = Some(context.waker().clone());
        }
        std::mem::swap(passed, &mut state.woken);
        drop(state);
        passed.drain(..).for_each(Waker::wake);
        Poll::Pending
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        let Some(relay) = self.relay.take() else { return };
        // Those that came to wait before find it closed; those that come now do not find it.
        let _ = HERE.try_with(|here| {
            let mut here = here.borrow_mut();
            if here.as_ref().is_some_and(|here| Arc::ptr_eq(here, &relay)) {
                *here = None;
            }
        });
        let left = {
            let mut state = lock(&relay.state);
            state.over = true;
            std::mem::take(&mut state.woken)
        };
        left.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    impl Counted {
        fn count(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    #[test]
    fn the_relay_is_woken_once_and_wakes_all_who_were_handed_to_it() {
        let (task, waiter) = (Arc::new(Counted::default()), Arc::new(Counted::default()));
        let waker = Waker::from(task.clone());
        let mut passing = Box::pin(relay());
        assert!(WakeupBatch::here().is_none());
        assert!(passing.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let here = WakeupBatch::here().unwrap();
        for _ in 0..3 {
            here.wake(&mut vec![Waker::from(waiter.clone()); 5]);
        }
        assert_eq!((task.count(), waiter.count()), (1, 0));
        assert!(passing.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!((task.count(), waiter.count()), (1, 15));
        here.wake(&mut vec![Waker::from(waiter.clone())]);
        assert_eq!(task.count(), 2, "after it passed on, it is woken again");
    }

    #[test]
    fn whoever_is_handed_to_a_relay_that_ended_is_woken_all_the_same() {
        let waiter = Arc::new(Counted::default());
        let mut passing = Box::pin(relay());
        assert!(passing.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let here = WakeupBatch::here().unwrap();
        here.wake(&mut vec![Waker::from(waiter.clone()); 2]);
        drop(passing);
        assert_eq!(waiter.count(), 2, "what it still held");
        assert!(WakeupBatch::here().is_none());
        here.wake(&mut vec![Waker::from(waiter.clone()); 2]);
        assert_eq!(waiter.count(), 4);
    }
}
