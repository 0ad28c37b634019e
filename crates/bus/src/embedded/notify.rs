//! Waking those who wait, for next to nothing when nobody does.

use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

/// Rung after every change of what is waited for. The change and the condition's look at it are sequentially
/// consistent, so that either the ringer sees who waits, or the waiter sees the change.
#[derive(Default)]
pub(super) struct CountedNotify {
    waiting: AtomicUsize,
    notify: Notify,
}

impl CountedNotify {
    /// Wakes all.
    pub fn ring(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.notify.notify_waiters();
        }
    }

    /// Waits until it is so.
    pub async fn wait_until(&self, mut is_so: impl FnMut() -> bool) {
        if is_so() {
            return;
        }
        let _waits = Waits::new(self);
        loop {
            let rung = self.notify.notified();
            let mut rung = std::pin::pin!(rung);
            rung.as_mut().enable();
            if is_so() {
                return;
            }
            rung.await;
        }
    }
}

struct Waits<'a>(&'a CountedNotify);

impl<'a> Waits<'a> {
    fn new(notify: &'a CountedNotify) -> Waits<'a> {
        notify.waiting.fetch_add(1, Ordering::SeqCst);
        Waits(notify)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
