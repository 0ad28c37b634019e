//! Syncs of one log that are under way at once.
//!
//! A sync covers what was written before it began. Where one takes long, the disk would idle while those it
//! carried are answered, come again and are decided; so several overlap. None counts before all that began
//! earlier have succeeded: what a block says of an account rests on the blocks before it. One that fails lets
//! nothing land that began with it or after it.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use wal::Synced;

/// So many overlap at most.
pub(super) const LANES_MAX: usize = 8;
/// One more for each time of this length that a sync takes. While one runs, those that landed before are
/// answered, come again and are decided a few hundred at a time; a sync that begins for each such group keeps
/// none of them waiting for the whole of another's.
const LANE_TIME: Duration = Duration::from_micros(100);
/// Each of them carries so many requests at least.
const LANE_REQUESTS: usize = 256;
/// What is known of the number of requests falls by this part with each sync.
const PART: usize = 8;
/// What is known of a sync's time rises by this part with each that takes longer. Those that overlap lengthen
/// each other: were that believed at once, more would overlap for it, and lengthen each other the more.
const RISE: u32 = 32;
/// And falls by this part with each that takes less.
const FALL: u32 = 2;

/// How many syncs may overlap, and how many requests each should carry.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// How long a sync takes, where little else keeps the disk.
    took: Duration,
    /// So many requests were under way at once lately.
    most: usize,
}

impl Lanes {
    /// A sync took so long.
    pub(super) fn took(&mut self, took: Duration) {
        match took.checked_sub(self.took) {
            Some(more) => self.took += more / RISE,
            None => self.took -= (self.took - took) / FALL,
        }
    }

    /// So many requests are under way.
    pub(super) fn under_way(&mut self, requests: usize) {
        self.most = requests.max(self.most - self.most / PART);
    }

    /// How many.
    pub(super) fn count(&self) -> usize {
        let by_time = self.took.as_micros() / LANE_TIME.as_micros();
        (by_time as usize).min(self.most / LANE_REQUESTS).clamp(1, LANES_MAX)
    }

    /// The share of each of them.
    pub(super) fn share(&self) -> usize {
        self.most.div_ceil(self.count())
    }

    /// How long one that could begin waits for its share, while others are under way.
    pub(super) fn patience(&self) -> Duration {
        self.took / 4
    }
}

struct SyncInFlight<T> {
    number: u64,
    /// The log is on disk up to there when it has landed.
    end: u64,
    requests: usize,
    load: T,
    is_synced: bool,
}

struct SyncPipelineState<T> {
    /// Those that have not landed, in the order in which they began.
    order: VecDeque<SyncInFlight<T>>,
    waiting: VecDeque<(u64, Arc<dyn Synced>)>,
    begun: u64,
    /// Syncs that have not ended.
    running: usize,
    /// The log is on disk up to there.
    synced: u64,
    /// How long the last ones took, until they are asked for.
    times: Vec<Duration>,
    failed: Option<io::Error>,
    is_over: bool,
}

impl<T> SyncPipelineState<T> {
    /// A sync has ended. What lands with it.
    fn end(&mut self, number: u64, result: io::Result<()>) -> Vec<T> {
        self.running -= 1;
        match result {
            Ok(()) => {
                if let Some(flight) = self.order.iter_mut().find(|flight| flight.number == number) {
                    flight.is_synced = true;
                }
            }
            Err(error) => drop(self.failed.get_or_insert(error)),
        }
        let mut landed = Vec::new();
        while self.order.front().is_some_and(|first| first.is_synced) {
            if let Some(first) = self.order.pop_front() {
                self.synced = first.end;
                landed.push(first.load);
            }
        }
        landed
    }
}

/// What both sides know.
struct PipelineState<T> {
    state: Mutex<SyncPipelineState<T>>,
    /// There is a sync to begin, or all is over.
    begin: Condvar,
    /// One has ended.
    ended: Condvar,
    /// Gets what has landed.
    land: Box<dyn Fn(T) + Send + Sync>,
    /// Is told that one failed.
    fell: Box<dyn Fn() + Send + Sync>,
}

impl<T> PipelineState<T> {
    fn lock(&self) -> MutexGuard<'_, SyncPipelineState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        notify: &Condvar,
        state: MutexGuard<'a, SyncPipelineState<T>>,
    ) -> MutexGuard<'a, SyncPipelineState<T>> {
        notify.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread that syncs what is to be synced, until all is over.
    fn run(&self) {
        let mut state = self.lock();
        loop {
            let Some((number, file)) = state.waiting.pop_front() else {
                if state.is_over {
                    return;
                }
                state = Self::wait(&self.begin, state);
                continue;
            };
            drop(state);
            let begun = Instant::now();
            let result = file.sync();
            let (took, has_failed) = (begun.elapsed(), result.is_err());
            state = self.lock();
            state.times.push(took);
            let landed = state.end(number, result);
            self.ended.notify_all();
            drop(state);
            landed.into_iter().for_each(|load| (self.land)(load));
            if has_failed {
                (self.fell)();
            }
            state = self.lock();
        }
    }
}

/// The syncs of one log. Its owner alone begins them.
pub(super) struct SyncPipeline<T: Send + 'static> {
    pipeline_state: Arc<PipelineState<T>>,
    threads: Vec<JoinHandle<()>>,
    pub(super) lanes: Lanes,
}

impl<T: Send + 'static> SyncPipeline<T> {
    /// `land` gets what has landed, on another thread; `fell` is called there when a sync has failed.
    pub(super) fn new(
        synced: u64,
        land: impl Fn(T) + Send + Sync + 'static,
        fell: impl Fn() + Send + Sync + 'static,
    ) -> SyncPipeline<T> {
        let state = SyncPipelineState {
            order: VecDeque::new(),
            waiting: VecDeque::new(),
            begun: 0,
            running: 0,
            synced,
            times: Vec::new(),
            failed: None,
            is_over: false,
        };
        let pipeline_state = PipelineState {
            state: Mutex::new(state),
            begin: Condvar::new(),
            ended: Condvar::new(),
            land: Box::new(land),
            fell: Box::new(fell),
        };
        SyncPipeline {
            pipeline_state: Arc::new(pipeline_state),
            threads: Vec::new(),
            lanes: Lanes::default(),
        }
    }

    /// Begins a sync of what was written up to `end`; its load, of so many requests, lands when it and all
    /// before it have succeeded. Without a file there is nothing to sync, and it lands with those before it.
    ///
    /// # Errors
    ///
    /// There is no thread for it; its load.
    pub(super) fn begin(
        &mut self,
        end: u64,
        file: Option<Arc<dyn Synced>>,
        requests: usize,
        load: T,
    ) -> Result<(), (T, io::Error)> {
        if self.threads.len() < LANES_MAX.min(self.running() + 1)
            && let Err(error) = self.start()
            && self.threads.is_empty()
        {
            return Err((load, error));
        }
        let mut state = self.pipeline_state.lock();
        state.begun += 1;
        let number = state.begun;
        let is_synced = file.is_none();
        if is_synced && state.order.is_empty() {
            drop(state);
            (self.pipeline_state.land)(load);
            return Ok(());
        }
        state.order.push_back(SyncInFlight { number, end, requests, load, is_synced });
        if let Some(file) = file {
            state.running += 1;
            state.waiting.push_back((number, file));
            self.pipeline_state.begin.notify_one();
        }
        Ok(())
    }

    fn start(&mut self) -> io::Result<()> {
        let pipeline_state = Arc::clone(&self.pipeline_state);
        let thread = std::thread::Builder::new().name("ledger-sync".to_owned());
        self.threads.push(thread.spawn(move || pipeline_state.run())?);
        Ok(())
    }

    fn running(&self) -> usize {
        self.pipeline_state.lock().running
    }

    /// Nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.pipeline_state.lock().order.is_empty()
    }

    /// So many requests are under way.
    pub(super) fn requests(&self) -> usize {
        self.pipeline_state.lock().order.iter().map(|flight| flight.requests).sum()
    }

    /// Waits until another sync may begin; where only one may, until all have landed.
    ///
    /// # Errors
    ///
    /// One has failed.
    pub(super) fn wait_for_room(&mut self) -> io::Result<u64> {
        let pipeline_state = Arc::clone(&self.pipeline_state);
        let mut state = pipeline_state.lock();
        loop {
            state.times.drain(..).for_each(|took| self.lanes.took(took));
            let count = self.lanes.count();
            let is_free = if count == 1 { state.order.is_empty() } else { state.running < count };
            if is_free || state.failed.is_some() {
                return Self::so_far(&state);
            }
            state = PipelineState::wait(&pipeline_state.ended, state);
        }
    }

    /// Waits until all that began have landed. How far the log is on disk.
    ///
    /// # Errors
    ///
    /// One has failed.
    pub(super) fn drain(&self) -> io::Result<u64> {
        let mut state = self.pipeline_state.lock();
        while !state.order.is_empty() && state.failed.is_none() {
            state = PipelineState::wait(&self.pipeline_state.ended, state);
        }
        Self::so_far(&state)
    }

    fn so_far(state: &SyncPipelineState<T>) -> io::Result<u64> {
        match &state.failed {
            Some(error) => Err(io::Error::new(error.kind(), error.to_string())),
            None => Ok(state.synced),
        }
    }

    /// Another sync, of the owner itself, has brought the log on disk up to there.
    pub(super) fn synced_to(&self, synced: u64) {
        self.pipeline_state.lock().synced = synced;
    }

    /// After a failure: waits for what still runs, and gives all that will never land.
    pub(super) fn fallen(&self) -> Vec<T> {
        let mut state = self.pipeline_state.lock();
        while state.running > 0 {
            state = PipelineState::wait(&self.pipeline_state.ended, state);
        }
        state.order.drain(..).map(|flight| flight.load).collect()
    }
}

impl<T: Send + 'static> Drop for SyncPipeline<T> {
    fn drop(&mut self) {
        self.pipeline_state.lock().is_over = true;
        self.pipeline_state.begin.notify_all();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread that syncs the ledger panicked");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A file whose syncs end when they are told to, and how.
    struct HeldSync(Mutex<Receiver<io::Result<()>>>);

    impl Synced for HeldSync {
        fn sync(&self) -> io::Result<()> {
            self.0.lock().unwrap().recv().unwrap()
        }
    }

    fn held() -> (Sender<io::Result<()>>, Option<Arc<dyn Synced>>) {
        let (end, ended) = channel();
        (end, Some(Arc::new(HeldSync(Mutex::new(ended)))))
    }

    fn pipeline() -> (SyncPipeline<u32>, Receiver<u32>, Receiver<()>) {
        let ((land, landed), (fell, fallen)) = (channel(), channel());
        let pipeline = SyncPipeline::new(
            10,
            move |load| land.send(load).unwrap_or_default(),
            move || fell.send(()).unwrap_or_default(),
        );
        (pipeline, landed, fallen)
    }

    fn failure() -> io::Result<()> {
        Err(io::Error::other("no disk"))
    }

    #[test]
    fn what_is_synced_first_lands_only_after_all_that_began_earlier() {
        let (mut pipeline, landed, _fallen) = pipeline();
        let ends: Vec<_> = (0..4)
            .map(|load| {
                let (end, file) = held();
                pipeline.begin(20 + u64::from(load), file, 5, load).unwrap();
                end
            })
            .collect();
        assert_eq!(pipeline.requests(), 20);
        for late in [3, 1, 2] {
            ends[late].send(Ok(())).unwrap();
        }
        // They have ended, and wait for the first.
        while pipeline.running() > 1 {
            std::thread::yield_now();
        }
        assert!(landed.try_recv().is_err() && !pipeline.is_idle());
        ends[0].send(Ok(())).unwrap();
        assert_eq!(landed.iter().take(4).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(pipeline.drain().unwrap(), 23);
    }

    #[test]
    fn a_failure_lets_land_what_began_before_it_and_nothing_else() {
        let (mut pipeline, landed, fallen) = pipeline();
        let (first, file) = held();
        pipeline.begin(20, file, 1, 0).unwrap();
        let (second, file) = held();
        pipeline.begin(30, file, 1, 1).unwrap();
        let (third, file) = held();
        pipeline.begin(40, file, 1, 2).unwrap();
        third.send(Ok(())).unwrap();
        second.send(failure()).unwrap();
        fallen.recv().unwrap();
        assert!(pipeline.drain().is_err() && pipeline.wait_for_room().is_err());
        first.send(Ok(())).unwrap();
        assert_eq!(pipeline.fallen(), [1, 2]);
        assert_eq!(landed.recv().unwrap(), 0);
        assert!(landed.try_recv().is_err());
    }

    #[test]
    fn what_has_nothing_to_sync_lands_with_those_before_it() {
        let (mut pipeline, landed, _fallen) = pipeline();
        pipeline.begin(10, None, 1, 7).unwrap();
        assert_eq!(landed.recv().unwrap(), 7, "nothing is before it");
        let (end, file) = held();
        pipeline.begin(20, file, 1, 8).unwrap();
        pipeline.begin(20, None, 1, 9).unwrap();
        assert!(landed.try_recv().is_err());
        end.send(Ok(())).unwrap();
        assert_eq!((landed.recv().unwrap(), landed.recv().unwrap()), (8, 9));
    }

    #[test]
    fn quick_syncs_and_few_requests_do_not_overlap_and_slow_ones_with_many_do() {
        assert_eq!(count(&[150], 3_200), (1, 3_200));
        assert_eq!(count(&[250], 3_200), (2, 1_600));
        assert_eq!(count(&[650], 3_200), (6, 534));
        assert_eq!(count(&[20_000], 3_200), (8, 400));
        assert_eq!(count(&[20_000], 600), (2, 300));
        assert_eq!(count(&[20_000], 100), (1, 100));
        assert_eq!(count(&[0], 0), (1, 0));
    }

    #[test]
    fn syncs_that_lengthen_each_other_bring_no_more_of_them() {
        // Their mean is 1,160 us.
        assert_eq!(count(&[150, 1_500, 1_500, 1_500], 3_200).0, 3);
    }

    /// How many overlap, and the share of each, where syncs take so long in turns.
    fn count(took_us: &[u64], requests: usize) -> (usize, usize) {
        let mut lanes = Lanes::default();
        for _ in 0..400 {
            for took_us in took_us {
                lanes.took(Duration::from_micros(*took_us));
            }
            lanes.under_way(requests);
        }
        (lanes.count(), lanes.share())
    }
}
