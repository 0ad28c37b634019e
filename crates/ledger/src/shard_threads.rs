//! The shell around shards: one thread each. Batches gather in a queue while the last turn's log is synced;
//! each turn takes all of them, applies them, writes their entries with one write, syncs once, and only then
//! gives the answers back. Where a sync takes long and many wait, several overlap.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;
use wal::{Disk, OsDisk};

use super::batch::{Batch, NewRequest, account_hash};
use super::config::Config;
use super::hash::HashKey;
use super::key::{KeyKind, PackedKey};
use super::log::{Fsync, Log};
use super::old_numbers::OldNumbers;
use super::recovery::{Refusal, recover};
use super::request::result;
use super::rules::{ConfiguredRules, compose};
use super::runtime_rules::RuntimeRules;
use super::shard::Shard;
use super::tariff_spec::TariffSpec;

mod thread;

use thread::ShardThread;
pub(super) use thread::now_us;

/// Who gets a batch back.
pub trait Receiver: Send + Sync {
    /// The batch has its answers. Called on the owner's thread: it hands over and returns at once.
    fn answered(&self, shard: usize, batch: Batch);
}

struct Once(Mutex<Option<oneshot::Sender<Batch>>>);

impl Receiver for Once {
    fn answered(&self, _shard: usize, batch: Batch) {
        if let Some(waits) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // Who waited may have gone: what was done is on record.
            let _ = waits.send(batch);
        }
    }
}

/// A receiver for one batch, and where it is awaited.
pub fn once() -> (Arc<dyn Receiver>, oneshot::Receiver<Batch>) {
    let (tell, told) = oneshot::channel();
    (Arc::new(Once(Mutex::new(Some(tell)))), told)
}

/// How a ledger is kept.
#[derive(Clone, Debug)]
pub struct Options {
    pub folder: PathBuf,
    /// For a new ledger; one that is there keeps its number.
    pub shards: usize,
    pub fsync: Fsync,
    pub segment_octets: u64,
    /// Requests that may wait for one shard.
    pub queue_max: usize,
    /// A snapshot is written when the log has grown by so much.
    pub snapshot_octets: u64,
    /// How long charging records stay in the log. None: for ever.
    pub keep_records: Option<Duration>,
    pub config: Config,
    /// The config's tariffs as they are written there, to be told.
    pub tariffs: Vec<TariffSpec>,
}

impl Options {
    pub fn new(folder: &Path) -> Options {
        Options {
            folder: folder.to_owned(),
            shards: 1,
            fsync: Fsync::Always,
            segment_octets: 64 << 20,
            queue_max: 65_536,
            snapshot_octets: 256 << 20,
            keep_records: None,
            config: Config::default(),
            tariffs: Vec::new(),
        }
    }
}

pub(super) struct BatchSubmission {
    pub(super) batch: Batch,
    pub(super) to: Arc<dyn Receiver>,
}

pub(super) type Ask = Box<dyn FnOnce(&mut Shard) + Send>;

#[derive(Default)]
pub(super) struct QueuedBatch {
    pub(super) batches: Vec<BatchSubmission>,
    pub(super) asks: Vec<Ask>,
    pub(super) requests: usize,
    pub(super) is_asleep: bool,
    /// Who sleeps is woken when so many requests wait.
    pub(super) wanted: usize,
    pub(super) is_over: bool,
}

impl QueuedBatch {
    /// There is nothing to do.
    fn is_empty(&self) -> bool {
        self.batches.is_empty() && self.asks.is_empty() && !self.is_over
    }
}

#[derive(Default)]
pub(super) struct BatchQueue {
    waiting: Mutex<QueuedBatch>,
    pub(super) notify: Condvar,
    pub(super) failed: AtomicBool,
    /// What the ledger is kept on does not answer just now.
    pub(super) away: AtomicBool,
    pub(super) why: Mutex<Option<String>>,
}

impl BatchQueue {
    pub(super) fn lock(&self) -> MutexGuard<'_, QueuedBatch> {
        self.waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Its shard has stopped: what was taken and what waits is refused, and nothing more is taken in.
    pub(super) fn fail(&self, shard: usize, why: String, taken: impl Iterator<Item = BatchSubmission>) {
        *self.why.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(why);
        let mut waiting = self.lock();
        self.failed.store(true, Ordering::Relaxed);
        let rest = std::mem::take(&mut waiting.batches);
        let unheard = std::mem::take(&mut waiting.asks);
        drop(waiting);
        drop(unheard);
        for BatchSubmission { mut batch, to } in taken.chain(rest) {
            batch.refuse(result::UNABLE_TO_COMPLY);
            to.answered(shard, batch);
        }
    }
}

/// Why a batch came back at once.
#[derive(Debug)]
pub enum Refused {
    /// Too many requests wait for this shard: 3004.
    Busy(Batch),
    /// The shard's disk failed, or the ledger ends: 5012.
    Stopped(Batch),
}

/// A running ledger. Cloned freely; it ends with `stop`.
#[derive(Clone)]
pub struct Ledger {
    queues: Arc<[Arc<BatchQueue>]>,
    threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
    lock: Arc<Mutex<Option<File>>>,
    key: HashKey,
    queue_max: usize,
    pub(super) kept: Arc<RuntimeRules>,
    pub(super) said: Arc<Mutex<ConfiguredRules>>,
    pub(super) is_shared: bool,
    pub(super) old_numbers: Arc<OldNumbers>,
}

impl Ledger {
    /// Recovers all shards and starts their threads.
    ///
    /// # Errors
    ///
    /// The files cannot be read or made, or are damaged: the words say what to do.
    pub fn open(options: &Options) -> Result<Ledger, Refusal> {
        Ledger::open_on(&(Arc::new(OsDisk) as Arc<dyn Disk>), options)
    }

    /// The same where the shards' files are on any disk.
    pub(super) fn open_on(disk: &Arc<dyn Disk>, options: &Options) -> Result<Ledger, Refusal> {
        let (key, shards) = identity(&options.folder, options.shards)?;
        let lock = lock(&options.folder)?;
        let kept = RuntimeRules::open(&options.folder)?;
        let config = compose(&options.config, &kept.get());
        let config =
            config.map_err(|error| Refusal::Damaged(format!("tariffs in settings.json: {error:?}")))?;
        let config = Arc::new(config.of_one_shard(shards));
        let mut owners = Vec::new();
        for shard in 0..shards {
            let folder = shard_folder(&options.folder, shard);
            disk.create_folder(&folder)?;
            let recovered = recover(&folder, key, config.clone())?;
            let log = Log::open_on(disk.clone(), &folder, options.segment_octets, recovered.end)?;
            let queue = Arc::new(BatchQueue::default());
            tracing::info!(
                shard,
                entries = recovered.entries,
                torn = recovered.torn,
                "the ledger's shard is recovered"
            );
            let pipeline = thread::pipeline(shard, &queue, recovered.end);
            owners.push(ShardThread {
                number: shard,
                pipeline,
                shard: recovered.shard,
                past: log.segments(),
                log,
                fsync: options.fsync,
                folder,
                snapshot_octets: options.snapshot_octets,
                keep_records: options.keep_records,
                snapshot_at: recovered.end,
                snapshot: None,
                queue,
                block: Vec::new(),
                taken: Vec::new(),
                synced_at_us: 0,
            });
        }
        // A power cut must not take a shard's folder with all that was answered.
        disk.sync_folder(&options.folder)?;
        let queues = owners.iter().map(|owner| owner.queue.clone()).collect();
        let old_numbers = Arc::new(OldNumbers::of(key, owners.iter().map(|owner| &owner.shard)));
        let mut threads = Vec::new();
        for owner in owners {
            let name = format!("ledger-{}", owner.number);
            threads.push(std::thread::Builder::new().name(name).spawn(move || owner.run())?);
        }
        let (threads, lock) = (Arc::new(Mutex::new(threads)), Arc::new(Mutex::new(Some(lock))));
        let kept = Arc::new(kept);
        let said = ConfiguredRules { config: options.config.clone(), tariffs: options.tariffs.clone() };
        let said = Arc::new(Mutex::new(said));
        let queue_max = options.queue_max;
        Ok(Ledger { queues, threads, lock, key, queue_max, kept, said, is_shared: false, old_numbers })
    }

    /// A ledger whose owners run on these threads, without a folder.
    pub(super) fn of(
        queues: Arc<[Arc<BatchQueue>]>,
        threads: Vec<JoinHandle<()>>,
        key: HashKey,
        queue_max: usize,
        (config, tariffs): (Config, Vec<TariffSpec>),
    ) -> Ledger {
        Ledger {
            queues,
            threads: Arc::new(Mutex::new(threads)),
            lock: Arc::default(),
            key,
            queue_max,
            kept: Arc::new(RuntimeRules::nowhere()),
            said: Arc::new(Mutex::new(ConfiguredRules { config, tariffs })),
            is_shared: false,
            old_numbers: Arc::default(),
        }
    }

    /// Other processes have the same ledger.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// A ledger of one shard without an owner: who made it takes what was submitted, and does the owner's
    /// work.
    #[doc(hidden)]
    pub fn by_hand(key: HashKey) -> Ledger {
        Ledger::of(Arc::new([Arc::default()]), Vec::new(), key, 65_536, Default::default())
    }

    /// What was submitted to the only shard of such a ledger.
    #[doc(hidden)]
    pub fn submitted(&self) -> Vec<(Batch, Arc<dyn Receiver>)> {
        let mut waiting = self.queues[0].lock();
        waiting.requests = 0;
        waiting.batches.drain(..).map(|submission| (submission.batch, submission.to)).collect()
    }

    /// The key of this ledger's hashes: of sessions too.
    pub fn key(&self) -> HashKey {
        self.key
    }

    pub fn shards(&self) -> usize {
        self.queues.len()
    }

    /// The packed key of an account and its hash, which says its shard. `+46…` and `46…` are one number.
    #[inline]
    pub fn account_hash(&self, kind: KeyKind, octets: &[u8]) -> (PackedKey, u64) {
        let (packed, hash) = account_hash(self.key, kind, octets);
        let found = self.old_numbers.find(packed, octets);
        if found == packed { (packed, hash) } else { (found, found.hash(self.key)) }
    }

    /// The shard of an account's hash.
    #[inline]
    pub fn shard_of(&self, hash: u64) -> usize {
        // The upper bits place accounts in their index; the lower ones choose the shard.
        (((hash & 0xffff_ffff) * self.queues.len() as u64) >> 32) as usize
    }

    /// Puts a request into the batch of its shard; `batches` has one for each.
    #[inline]
    pub fn push(&self, batches: &mut [Batch], request: &NewRequest<'_>) -> usize {
        let (packed, hash) = self.account_hash(request.account_kind, request.account);
        let shard = self.shard_of(hash);
        batches[shard].push(packed, hash, request);
        shard
    }

    /// Puts a request into the batch of a shard that the caller chose: one of a session whose account it does
    /// not name, which each shard is asked for until one does not answer 5002.
    pub fn push_to(&self, batch: &mut Batch, request: &NewRequest<'_>) {
        let (packed, hash) = self.account_hash(request.account_kind, request.account);
        batch.push(packed, hash, request);
    }

    // A refused batch goes back as it is, without a box of its own.
    #[allow(clippy::result_large_err)]
    /// Hands a batch to a shard's owner; it comes back to `to` with its answers.
    ///
    /// # Errors
    ///
    /// The batch, where the queue is full or the shard has stopped. Nothing of it was done.
    pub fn try_submit(&self, shard: usize, batch: Batch, to: &Arc<dyn Receiver>) -> Result<(), Refused> {
        let queue = &self.queues[shard];
        let mut waiting = queue.lock();
        if waiting.is_over || queue.failed.load(Ordering::Relaxed) {
            return Err(Refused::Stopped(batch));
        }
        let is_full = waiting.requests > 0 && waiting.requests + batch.len() > self.queue_max;
        if is_full || queue.away.load(Ordering::Relaxed) {
            return Err(Refused::Busy(batch));
        }
        waiting.requests += batch.len();
        waiting.batches.push(BatchSubmission { batch, to: to.clone() });
        let must_wake = waiting.requests >= waiting.wanted && std::mem::take(&mut waiting.is_asleep);
        drop(waiting);
        if must_wake {
            queue.notify.notify_one();
        }
        Ok(())
    }

    /// Has a shard's owner look at its state between two turns: for reports and other rules. Where it has
    /// stopped, what is asked is dropped, so that who waits for an answer hears that there is none.
    pub fn ask(&self, shard: usize, ask: impl FnOnce(&mut Shard) + Send + 'static) {
        let queue = &self.queues[shard];
        let mut waiting = queue.lock();
        if waiting.is_over || queue.failed.load(Ordering::Relaxed) {
            return;
        }
        waiting.asks.push(Box::new(ask));
        waiting.is_asleep = false;
        drop(waiting);
        queue.notify.notify_one();
    }

    /// Why a shard has stopped, if one has.
    pub fn failure(&self) -> Option<String> {
        let failed = self.queues.iter().find(|queue| queue.failed.load(Ordering::Relaxed))?;
        failed.why.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Ends the ledger: what was submitted is answered, the log synced.
    pub fn stop(&self) {
        for queue in self.queues.iter() {
            queue.lock().is_over = true;
            queue.notify.notify_one();
        }
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a shard's owner panicked");
            }
        }
        self.lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
    }
}

/// Keeps other processes away from a folder, until the file is closed.
pub(crate) fn lock(folder: &Path) -> Result<File, Refusal> {
    use rustix::fs::{FlockOperation, flock};
    let path = folder.join("lock");
    let file = File::create(&path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Refusal::Damaged(format!(
            "{}: another process has this ledger open; end it first",
            folder.display()
        ))),
        Err(error) => Err(Refusal::Io(error.into())),
    }
}

/// Where a shard's files are.
pub fn shard_folder(folder: &Path, shard: usize) -> PathBuf {
    folder.join(format!("shard-{shard:03}"))
}

/// First words of the identity's file, before the form.
const IDENTITY: &str = "campanile ledger ";
/// Form of the ledger's folder as a whole: blocks, entries, snapshots, the table of shards. Raised with the
/// first release that writes one that an earlier release cannot read: that one refuses the ledger by this
/// number, before it takes a block for torn.
pub const LEDGER_FORM: u32 = 1;

/// The hash key and the number of shards of a ledger; drawn and written when it is new.
///
/// # Errors
///
/// The file cannot be read or made, or does not hold what it should.
pub fn identity(folder: &Path, shards: usize) -> Result<(HashKey, usize), Refusal> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join("ledger");
    match identity_of(folder) {
        Err(Refusal::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
            let (key, shards) = (HashKey::draw(), shards.max(1));
            let text = format!(
                "{IDENTITY}{LEDGER_FORM}\nshards {shards}\nkey {:016x} {:016x}\n",
                key.0[0], key.0[1]
            );
            let new = folder.join("ledger.new");
            std::fs::write(&new, text)?;
            std::fs::File::open(&new)?.sync_all()?;
            std::fs::rename(&new, &path)?;
            super::log::sync_folder(folder)?;
            Ok((key, shards))
        }
        there => there,
    }
}

/// The hash key and the number of shards of a ledger that is there.
///
/// # Errors
///
/// There is none, or its file cannot be read.
pub fn identity_of(folder: &Path) -> Result<(HashKey, usize), Refusal> {
    let path = folder.join("ledger");
    let text = std::fs::read_to_string(&path)?;
    if let Some(form) = text.strip_prefix(IDENTITY).and_then(|rest| rest.lines().next()?.parse::<u32>().ok())
        && form > LEDGER_FORM
    {
        return Err(Refusal::Damaged(format!(
            "{}: the ledger's form is {form}, which was written by a newer version of campanile: this one reads forms up to \
             {LEDGER_FORM}; use the newer one",
            path.display()
        )));
    }
    parse_identity(&text).ok_or_else(|| {
        Refusal::Damaged(format!("{}: not a ledger's identity; restore it from a copy", path.display()))
    })
}

fn parse_identity(text: &str) -> Option<(HashKey, usize)> {
    let mut lines = text.lines();
    let form: u32 = lines.next()?.strip_prefix(IDENTITY)?.parse().ok()?;
    if form != LEDGER_FORM {
        return None;
    }
    let shards =
        lines.next()?.strip_prefix("shards ")?.parse().ok().filter(|shards| (1..=1_024).contains(shards))?;
    let (low, high) = lines.next()?.strip_prefix("key ")?.split_once(' ')?;
    let word = |text: &str| u64::from_str_radix(text, 16).ok();
    Some((HashKey([word(low)?, word(high)?]), shards))
}
