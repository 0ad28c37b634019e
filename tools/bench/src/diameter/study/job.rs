//! One experiment alone, in a process of its own: so many threads share so many turns of one small work.

use super::{handling, locks, pieces, queues};
use crate::deployment::{bind_this_thread, own_cpus};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

/// A thread says how far it is so often, and is told of it so often.
const STEPS: u64 = 100;
const TOLD_EVERY: Duration = Duration::from_secs(2);
/// The most threads of a job.
const THREADS_MAX: usize = 256;

/// What is done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) threads: usize,
    /// Turns of all threads together.
    pub(super) count: u64,
    pub(super) pin: Pin,
}

/// What one turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Work {
    /// A message of 11 AVPs is built, encoded and decoded, as this program does it: in one buffer that is
    /// used again.
    HandlingInPlace,
    /// The same with memory of its own for each AVP, its data and its encoding.
    HandlingPerAvp,
    /// An array of 400 octets is allocated and freed.
    Allocation,
    /// A message is handled and its record queued for the thread that writes them.
    Queue(queues::QueueKind),
    /// A lock is taken, a number counted up; the other half of the threads has another lock.
    Locks { padded: bool },
    /// A message is copied.
    Copy { by_octet: bool, octets: usize },
}

/// Where its threads run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Pin {
    /// Wherever the system puts them.
    Free,
    /// Each on one processor, in turn.
    One,
    /// Each on the set of all we have.
    Set,
}

/// What came of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct JobResult {
    pub(super) count: u64,
    pub(super) seconds: f64,
    pub(super) cpu_s: f64,
    /// Turns, or things counted afterwards, that were not as they should be.
    pub(super) wrong: u64,
    /// The files that were mapped into the process.
    pub(super) mapped: String,
}

/// Does the job that this text describes.
///
/// # Errors
/// It describes none, or the system has no thread.
pub(crate) fn run(text: &str) -> Result<String, String> {
    let job: Job = serde_json::from_str(text).map_err(|error| format!("--job: {error}"))?;
    if !(1..=THREADS_MAX).contains(&job.threads) {
        return Err(format!("--job: {} threads are not between 1 and {THREADS_MAX}", job.threads));
    }
    let outcome = job.run().map_err(|error| format!("the job: {error}"))?;
    serde_json::to_string(&outcome).map_err(|error| error.to_string())
}

impl Job {
    pub(super) fn run(&self) -> io::Result<JobResult> {
        match self.work {
            Work::HandlingInPlace => self.on_threads(|_| handling::in_place(), || 0),
            Work::HandlingPerAvp => self.on_threads(|_| handling::per_avp(), || 0),
            Work::Allocation => self.on_threads(|_| pieces::allocation(), || 0),
            Work::Copy { by_octet, octets } => self.on_threads(|_| pieces::copy(by_octet, octets), || 0),
            Work::Locks { padded } => {
                let locks = locks::Locks::new(padded);
                let half = self.threads.div_ceil(2);
                let wrong = || locks.total().abs_diff(self.count);
                self.on_threads(|thread| locks.turn(usize::from(thread >= half)), wrong)
            }
            Work::Queue(kind) => queues::run(self, kind),
        }
    }

    /// Runs `make`'s work on all threads; a turn gets its number and says whether it was right. `after`
    /// counts what is wrong in the end, and belongs to the time.
    pub(super) fn on_threads<W: FnMut(u64) -> bool>(
        &self,
        make: impl Fn(usize) -> W + Sync,
        after: impl FnOnce() -> u64,
    ) -> io::Result<JobResult> {
        let (cpus, begin, done) = (own_cpus()?, Barrier::new(self.threads + 1), AtomicU64::new(0));
        let (ended, ends) = channel::<io::Result<u64>>();
        // Whoever comes first begins the time: with more threads than processors we may be woken when most is
        // done.
        let started = OnceLock::new();
        let start = || *started.get_or_init(|| (Instant::now(), process_time()));
        std::thread::scope(|scope| {
            for thread in 0..self.threads {
                let (ended, begin, done, start) = (ended.clone(), &begin, &done, &start);
                let (cpus, make) = (&cpus[..], &make);
                scope.spawn(move || {
                    let bound = self.bind(thread, cpus);
                    begin.wait();
                    start();
                    let result = bound.map(|()| self.turns(thread, &mut make(thread), done));
                    // Whoever waits for it is there as long as we are.
                    let _ = ended.send(result);
                });
            }
            drop(ended);
            begin.wait();
            let (since, cpu) = start();
            let mut wrong = self.wait(&ends, &done)?;
            wrong += after();
            Ok(JobResult {
                count: self.count,
                seconds: since.elapsed().as_secs_f64(),
                cpu_s: (process_time() - cpu).as_secs_f64(),
                wrong,
                mapped: mapped()?,
            })
        })
    }

    /// This thread's share, in steps.
    fn turns(&self, thread: usize, work: &mut impl FnMut(u64) -> bool, done: &AtomicU64) -> u64 {
        let (from, to) = share(self.count, thread, self.threads);
        let step = ((to - from) / STEPS).max(1);
        let (mut at, mut wrong) = (from, 0);
        while at < to {
            let until = (at + step).min(to);
            for number in at..until {
                wrong += u64::from(!work(number));
            }
            done.fetch_add(until - at, Ordering::Relaxed);
            at = until;
        }
        wrong
    }

    /// Waits for all threads, and says how far they are.
    fn wait(&self, ends: &Receiver<io::Result<u64>>, done: &AtomicU64) -> io::Result<u64> {
        let (mut wrong, mut running) = (0, self.threads);
        while running > 0 {
            match ends.recv_timeout(TOLD_EVERY) {
                Ok(result) => {
                    wrong += result?;
                    running -= 1;
                }
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("    {} of {}", done.load(Ordering::Relaxed), self.count);
                }
                Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("a thread panicked")),
            }
        }
        Ok(wrong)
    }

    fn bind(&self, thread: usize, cpus: &[usize]) -> io::Result<()> {
        match self.pin {
            Pin::Free => Ok(()),
            Pin::One => bind_this_thread(&[cpus[thread % cpus.len()]]),
            Pin::Set => bind_this_thread(cpus),
        }
    }
}

/// The turns of one thread of so many: all are done, each once.
fn share(count: u64, thread: usize, threads: usize) -> (u64, u64) {
    let at = |thread: usize| (u128::from(count) * thread as u128 / threads as u128) as u64;
    (at(thread), at(thread + 1))
}

/// User and system time of this process so far.
fn process_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    // Neither is negative.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The lines of what is mapped that name a file.
fn mapped() -> io::Result<String> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    Ok(maps.lines().filter(|line| line.contains(".so")).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_all_turns_each_once() {
        for (count, threads) in [(10, 3), (1, 8), (0, 4), (1_000_000_000, 32), (u64::MAX, 7)] {
            let shares: Vec<_> = (0..threads).map(|thread| share(count, thread, threads)).collect();
            assert_eq!((shares[0].0, shares[threads - 1].1), (0, count));
            assert!(shares.windows(2).all(|pair| pair[0].1 == pair[1].0), "{shares:?}");
        }
    }

    #[test]
    fn every_work_does_all_its_turns_and_finds_nothing_wrong() {
        let works = [
            Work::HandlingInPlace,
            Work::HandlingPerAvp,
            Work::Allocation,
            Work::Queue(queues::QueueKind::VectorUnderLock),
            Work::Queue(queues::QueueKind::ListUnderLock),
            Work::Queue(queues::QueueKind::ListTaken),
            Work::Locks { padded: false },
            Work::Locks { padded: true },
            Work::Copy { by_octet: false, octets: 316 },
            Work::Copy { by_octet: true, octets: 316 },
        ];
        for work in works {
            for pin in [Pin::Free, Pin::One, Pin::Set] {
                let text = serde_json::to_string(&Job { work, threads: 3, count: 1_000, pin }).unwrap();
                let outcome: JobResult = serde_json::from_str(&run(&text).unwrap()).unwrap();
                assert_eq!((outcome.count, outcome.wrong), (1_000, 0), "{text}");
                assert!(outcome.seconds > 0.0 && outcome.mapped.contains("libc"), "{outcome:?}");
            }
        }
        assert!(run("{}").is_err());
        let none = Job { work: Work::Allocation, threads: 0, count: 1, pin: Pin::Free };
        assert!(run(&serde_json::to_string(&none).unwrap()).unwrap_err().contains("threads"));
    }

    #[test]
    fn the_time_is_that_from_the_first_turn_to_the_last() {
        let job = Job { work: Work::Allocation, threads: 32, count: 3_200, pin: Pin::One };
        for _ in 0..10 {
            let moments = std::sync::Mutex::new(Vec::new());
            let turn = |_| {
                |_| {
                    moments.lock().unwrap().push(Instant::now());
                    true
                }
            };
            let outcome = job.on_threads(turn, || 0).unwrap();
            let moments = moments.into_inner().unwrap();
            let span = *moments.iter().max().unwrap() - *moments.iter().min().unwrap();
            assert!(outcome.seconds >= span.as_secs_f64(), "{} {span:?}", outcome.seconds);
        }
    }

    #[test]
    fn a_turn_that_is_wrong_is_counted() {
        let job = Job { work: Work::Allocation, threads: 2, count: 10, pin: Pin::Free };
        let outcome = job.on_threads(|_| |number| number != 7, || 2).unwrap();
        assert_eq!(outcome.wrong, 3);
    }
}
