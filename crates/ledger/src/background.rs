//! Threads that work beside the requests: the next table of duplicates, a snapshot. Each has tenths of a
//! second of work at once, and on a machine whose processors are all busy every request would wait behind it.
//! So they give way: who serves requests has ten times their share.

use std::io;
use std::thread::{Builder, JoinHandle};

use rustix::process::{getpriority_process, setpriority_process};

/// So much nicer than the thread that starts it: a tenth of its share (sched(7): each step is a factor of
/// about 1.25).
const NICER: i32 = 10;
const NICENESS_MAX: i32 = 19;

/// Starts a thread that gives way to all others.
///
/// # Errors
///
/// The system has none.
pub(super) fn spawn<T: Send + 'static>(
    name: String,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let behind = move || {
        // Of the calling thread alone (setpriority(2), "C library/kernel differences"). An error is no loss:
        // it only competes.
        let _ = getpriority_process(None)
            .and_then(|niceness| setpriority_process(None, (niceness + NICER).min(NICENESS_MAX)));
        work()
    };
    Builder::new().name(name).spawn(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_works_behind_the_requests_gives_way_and_nobody_else_does() {
        let before = getpriority_process(None).unwrap();
        let behind = spawn("behind".to_owned(), || getpriority_process(None).unwrap()).unwrap();
        assert_eq!(behind.join().unwrap(), (before + NICER).min(NICENESS_MAX));
        assert_eq!(getpriority_process(None).unwrap(), before);
        let other = std::thread::spawn(|| getpriority_process(None).unwrap());
        assert_eq!(other.join().unwrap(), before);
    }
}
