//! Two locks that different threads take: in one cache line, or each in its own.

use std::sync::{Mutex, PoisonError};

/// Next to one another, in one line of 64 octets.
#[derive(Default)]
#[repr(align(64))]
pub(super) struct Together([Mutex<u64>; 2]);

/// Two lines apart: processors fetch them in pairs.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Alone(Mutex<u64>);

/// Two locks.
pub(super) enum Locks {
    Near(Box<Together>),
    Far(Box<[Alone; 2]>),
}

impl Locks {
    pub(super) fn new(padded: bool) -> Locks {
        if padded { Locks::Far(Box::default()) } else { Locks::Near(Box::default()) }
    }

    fn lock(&self, which: usize) -> &Mutex<u64> {
        match self {
            Locks::Near(near) => &near.0[which],
            Locks::Far(far) => &far[which].0,
        }
    }

    /// Takes one of them, counts up, lets it go.
    pub(super) fn turn(&self, which: usize) -> impl FnMut(u64) -> bool {
        let lock = self.lock(which);
        move |_| {
            *lock.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            true
        }
    }

    /// What was counted.
    pub(super) fn total(&self) -> u64 {
        (0..2).map(|which| *self.lock(which).lock().unwrap_or_else(PoisonError::into_inner)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locks_stand_in_one_line_or_in_two() {
        for (padded, expected) in [(false, true), (true, false)] {
            let locks = Locks::new(padded);
            let line = |which: usize| std::ptr::from_ref(locks.lock(which)).addr() / 64;
            assert_eq!(line(0) == line(1), expected);
        }
    }
}
