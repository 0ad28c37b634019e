//! One single-threaded runtime per core.

use std::future::Future;
use std::io;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// More runtimes than this are never wanted.
const CORES_MAX: usize = 256;

/// Single-threaded runtimes, each on a thread of its own: what runs on one never contends with itself.
///
/// Dropping it ends the runtimes as [`stop`](Cores::stop) does.
pub struct Cores {
    handles: Vec<Handle>,
    next: AtomicUsize,
    threads: Mutex<Vec<RunningCore>>,
}

struct RunningCore {
    stop: oneshot::Sender<()>,
    thread: thread::JoinHandle<()>,
}

impl Cores {
    /// `count` runtimes, 1 to 256; what lies outside counts as the nearest.
    ///
    /// # Errors
    /// When the system gives no thread or no epoll instance.
    pub fn new(count: usize) -> io::Result<Cores> {
        let count = count.clamp(1, CORES_MAX);
        let mut handles = Vec::with_capacity(count);
        let mut threads = Vec::with_capacity(count);
        for core in 0..count {
            let (handle, running) = start(core)?;
            handles.push(handle);
            threads.push(running);
        }
        Ok(Cores { handles, next: AtomicUsize::new(0), threads: Mutex::new(threads) })
    }

    /// One runtime for each core of the machine.
    ///
    /// # Errors
    /// As [`Cores::new`].
    pub fn one_per_core() -> io::Result<Cores> {
        Cores::new(thread::available_parallelism().map_or(1, NonZero::get))
    }

    /// Runtimes that exist already and are somebody else's to stop; at least one, or the current one counts.
    ///
    /// # Panics
    /// When `handles` is empty and there is no current runtime.
    pub fn from_handles(handles: Vec<Handle>) -> Cores {
        let handles = if handles.is_empty() { vec![Handle::current()] } else { handles };
        Cores { handles, next: AtomicUsize::new(0), threads: Mutex::new(Vec::new()) }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.handles.len()
    }

    /// The runtime of core `core`, counted round.
    pub fn handle(&self, core: usize) -> &Handle {
        &self.handles[core % self.handles.len()]
    }

    /// Another core at each call, in turn.
    pub fn next(&self) -> usize {
        self.next.fetch_add(1, Ordering::Relaxed) % self.handles.len()
    }

    /// Spawns a task on core `core`, counted round.
    pub fn spawn_on<F>(&self, core: usize, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle(core).spawn(future)
    }

    /// Ends the runtimes and waits for their threads. Tasks that still run are dropped at their next await:
    /// drain first. Must not be called from a task on one of them.
    pub fn stop(&self) {
        let threads = match self.threads.lock() {
            Ok(mut threads) => std::mem::take(&mut *threads),
            Err(poisoned) => std::mem::take(&mut *poisoned.into_inner()),
        };
        let (stops, threads): (Vec<_>, Vec<_>) = threads.into_iter().map(|r| (r.stop, r.thread)).unzip();
        drop(stops);
        for thread in threads {
            if thread.thread().id() != thread::current().id() && thread.join().is_err() {
                tracing::error!("a core's thread ended in a panic");
            }
        }
    }
}

impl Drop for Cores {
    fn drop(&mut self) {
        self.stop();
    }
}

fn start(core: usize) -> io::Result<(Handle, RunningCore)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let (stop, stopped) = oneshot::channel::<()>();
    let thread = thread::Builder::new().name(format!("core-{core}")).spawn(move || {
        // The sender's drop is the signal; nothing is ever sent.
        let _ = runtime.block_on(stopped);
        runtime.shutdown_background();
    })?;
    Ok((handle, RunningCore { stop, thread }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn tasks_run_on_the_thread_of_their_core() {
        let cores = Cores::new(3).unwrap();
        let name = |core| {
            let (tell, told) = std::sync::mpsc::channel();
            cores.spawn_on(
                core,
                async move { tell.send(thread::current().name().map(str::to_owned)).unwrap() },
            );
            told.recv_timeout(Duration::from_secs(5)).unwrap().unwrap()
        };
        assert_eq!([name(0), name(1), name(2), name(4)], ["core-0", "core-1", "core-2", "core-1"]);
        assert_eq!([cores.next(), cores.next(), cores.next(), cores.next()], [0, 1, 2, 0]);
    }

    #[test]
    fn stopping_drops_what_still_runs_and_waits_for_the_threads() {
        struct Dropped(std::sync::mpsc::Sender<()>);
        impl Drop for Dropped {
            fn drop(&mut self) {
                let _ = self.0.send(());
            }
        }
        let cores = Cores::new(1).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let (begin, begun) = std::sync::mpsc::channel();
        cores.spawn_on(0, async move {
            let _dropped = Dropped(tell);
            begin.send(()).unwrap();
            std::future::pending::<()>().await;
        });
        begun.recv_timeout(Duration::from_secs(5)).unwrap();
        cores.stop();
        told.recv_timeout(Duration::from_secs(5)).unwrap();
        cores.stop();
    }

    #[test]
    fn a_runtime_of_somebody_else_is_used_and_left_running() {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let cores = Cores::from_handles(Vec::new());
            assert_eq!(cores.count(), 1);
            assert_eq!(cores.spawn_on(7, async { 5 }).await.unwrap(), 5);
            drop(cores);
            assert_eq!(tokio::spawn(async { 6 }).await.unwrap(), 6);
        });
    }
}
