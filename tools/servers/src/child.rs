//! Children that never outlive their test process: each gets the parent-death signal (prctl(2),
//! PR_SET_PDEATHSIG). The kernel sends it when the *thread* that started the child ends, so one thread starts
//! them all, and it ends only with the process.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, OnceLock};

type Order = (Command, SyncSender<io::Result<std::process::Child>>);

/// A child process, killed and waited for when dropped.
#[derive(Debug)]
pub struct Child {
    inner: Mutex<std::process::Child>,
    id: i32,
}

impl Child {
    /// Starts it. It is killed as soon as this process is gone, whatever ends it.
    ///
    /// # Errors
    /// As [`Command::spawn`].
    pub fn spawn(command: Command) -> io::Result<Child> {
        Child::spawn_to_end_by(command, libc::SIGKILL)
    }

    /// The same, with the signal that ends it when this process is gone: for a server that has something to
    /// tidy up.
    ///
    /// # Errors
    /// As [`Command::spawn`].
    pub fn spawn_to_end_by(mut command: Command, signal: i32) -> io::Result<Child> {
        let parent = std::process::id();
        // SAFETY: between fork and exec only async-signal-safe functions may be called (signal-safety(7));
        // prctl, getppid and _exit are bare system calls, and nothing here allocates, locks or touches memory
        // of the parent.
        #[allow(unsafe_code)]
        unsafe {
            command.pre_exec(move || {
                if libc::prctl(libc::PR_SET_PDEATHSIG, signal) != 0 {
                    return Err(io::Error::last_os_error());
                }
                // The parent may have died before the line above: then nobody would send the signal.
                if u32::try_from(libc::getppid()) != Ok(parent) {
                    libc::_exit(1);
                }
                Ok(())
            });
        }
        let (answer, answered) = sync_channel(1);
        starter()
            .send((command, answer))
            .map_err(|_| io::Error::other("the thread that starts peers is gone"))?;
        let inner =
            answered.recv().map_err(|_| io::Error::other("the thread that starts peers is gone"))??;
        let id = i32::try_from(inner.id()).map_err(io::Error::other)?;
        Ok(Child { inner: Mutex::new(inner), id })
    }

    /// Its process id.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// How it ended, if it has.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.lock().try_wait().ok().flatten()
    }

    /// Kills it (SIGKILL) and waits until it is gone.
    pub fn kill(&self) {
        let mut inner = self.lock();
        // Both fail only when it is gone already.
        let _ = inner.kill();
        let _ = inner.wait();
    }

    /// Stops it where it stands (SIGSTOP): it keeps its connections and says nothing.
    pub fn pause(&self) {
        self.signal(libc::SIGSTOP);
    }

    /// Lets it go on (SIGCONT).
    pub fn resume(&self) {
        self.signal(libc::SIGCONT);
    }

    /// Asks it to end (`signal`), and waits until it has.
    pub fn end_by(&self, signal: i32) {
        self.signal(signal);
        let _ = self.lock().wait();
    }

    fn signal(&self, signal: i32) {
        let mut inner = self.lock();
        // Under the lock and not yet waited for: so the id is still this child's and nobody else's.
        if matches!(inner.try_wait(), Ok(None)) {
            // SAFETY: kill takes two numbers and touches no memory of ours.
            #[allow(unsafe_code)]
            unsafe {
                libc::kill(self.id, signal)
            };
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, std::process::Child> {
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

fn starter() -> Sender<Order> {
    static STARTER: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();
    let sender = STARTER.get_or_init(|| {
        let (sender, orders) = channel();
        std::thread::Builder::new()
            .name("peer-starter".into())
            .spawn(move || start_all(&orders))
            .expect("a thread can be started: the test process has just begun");
        Mutex::new(sender)
    });
    sender.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
}

/// The sender stands in a static, so this ends only with the process.
fn start_all(orders: &Receiver<Order>) {
    while let Ok((mut command, answer)) = orders.recv() {
        let _ = answer.send(command.spawn());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_lives_on_after_the_thread_that_asked_for_it_and_ends_when_dropped() {
        let child = std::thread::spawn(|| {
            let mut command = Command::new("sleep");
            command.arg("1000");
            Child::spawn(command).expect("sleep is everywhere")
        })
        .join()
        .expect("no panic");
        assert!(child.ended().is_none());
        let folder = format!("/proc/{}", child.id());
        assert!(std::path::Path::new(&folder).exists());
        drop(child);
        assert!(!std::path::Path::new(&folder).exists());
    }
}
