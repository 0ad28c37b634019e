//! Cache of sounds in a folder: a sound is made once for a command, a language and a text.
//!
//! A file's name is the BLAKE3 hash of what its sound was made from, and its end is the hash of the sound: a
//! file that was damaged is made anew. Files are written under another name and renamed, so several processes
//! may share a folder. The least recently used files make room for new ones; their time of modification is
//! that of their last use, also for other processes.

mod folder;

#[cfg(test)]
mod tests;

use crate::synthesis::{SynthesisError, Synthesizer};
use crate::voices::Voice;
use folder::SoundFolder;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

/// Octets of a cache at least.
pub const CACHE_OCTETS_MIN: u64 = 1024 * 1024;
/// The use of a file is written to disk so seldom.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);
/// Uses that are remembered; above it they are those on disk.
const USES_MAX: usize = 65_536;
/// After so large a part of the limit was written, the folder is looked through: others write into it, too.
const PART_BETWEEN_LOOKS: u64 = 16;
/// Purpose of the hash of a key, and the form of the files.
const KEY_CONTEXT: &str = "campanile speech: sound of a command, a language and a text, form 1";

/// Hash of what a sound is made from.
type Key = blake3::Hash;
type Sound = Result<Arc<[u8]>, SynthesisError>;

/// Makes sounds, and keeps them in a folder.
#[derive(Debug)]
pub struct SoundCache {
    folder: Arc<SoundFolder>,
    octets_max: u64,
    synthesizer: Synthesizer,
    pending: Mutex<HashMap<Key, Arc<OnceCell<Sound>>>>,
    usage: Mutex<Usage>,
    is_failing: AtomicBool,
}

/// Uses of files by this process, and the octets of all as far as it knows.
#[derive(Debug, Default)]
struct Usage {
    uses: HashMap<Key, SystemTime>,
    octets: u64,
    written: u64,
}

impl SoundCache {
    /// Opens a folder, which is made where it is missing, and looks through it.
    ///
    /// # Errors
    /// The folder cannot be made or read, or the limit is below [`CACHE_OCTETS_MIN`].
    pub async fn open(
        folder: &Path,
        octets_max: u64,
        synthesizer: Synthesizer,
    ) -> Result<SoundCache, CacheError> {
        if octets_max < CACHE_OCTETS_MIN {
            return Err(CacheError::TooSmall { octets: octets_max });
        }
        let error = |why: std::io::Error| CacheError::Folder {
            folder: folder.display().to_string(),
            why: why.to_string(),
        };
        let file_octets_max = synthesizer.limits().octets;
        let path = folder.to_owned();
        let opened = blocking(move || SoundFolder::open(path, file_octets_max)).await.map_err(error)?;
        let cache = SoundCache {
            folder: Arc::new(opened),
            octets_max,
            synthesizer,
            pending: Mutex::default(),
            usage: Mutex::default(),
            is_failing: AtomicBool::new(false),
        };
        cache.make_room().await.map_err(error)?;
        Ok(cache)
    }

    /// The octets of a WAV file in which the voice reads the text. Those who ask for the same at once share
    /// one process and its result; what cannot be kept is returned nevertheless.
    ///
    /// # Errors
    /// As [`Synthesizer::speak`].
    pub async fn sound(&self, voice: &Voice, text: &str) -> Result<Arc<[u8]>, SynthesisError> {
        let claim = self.claim(key(voice, text));
        claim.cell.get_or_init(|| self.kept_or_made(claim.key, voice, text)).await.clone()
    }

    /// The cell of a key. The last one who leaves it takes it from the map.
    fn claim(&self, key: Key) -> Claim<'_> {
        let cell = Arc::clone(locked(&self.pending).entry(key).or_default());
        Claim { cache: self, key, cell }
    }

    async fn kept_or_made(&self, key: Key, voice: &Voice, text: &str) -> Sound {
        match self.kept(key).await {
            Ok(Some(sound)) => return Ok(sound.into()),
            Ok(None) => {}
            Err(why) => self.fails(&why),
        }
        let sound: Arc<[u8]> = self.synthesizer.speak(voice, text).await?.into();
        match self.keep(key, Arc::clone(&sound)).await {
            Ok(()) => self.is_failing.store(false, Ordering::Relaxed),
            Err(why) => self.fails(&why),
        }
        Ok(sound)
    }

    async fn kept(&self, key: Key) -> std::io::Result<Option<Vec<u8>>> {
        let now = SystemTime::now();
        let is_old = |used: &SystemTime| now.duration_since(*used).is_ok_and(|age| age >= TOUCH_INTERVAL);
        let touches = locked(&self.usage).uses.get(&key).is_none_or(is_old);
        let folder = Arc::clone(&self.folder);
        let sound = blocking(move || folder.read(&key, touches.then_some(now))).await?;
        if sound.is_some() && touches {
            locked(&self.usage).used(key, now);
        }
        Ok(sound)
    }

    async fn keep(&self, key: Key, sound: Arc<[u8]>) -> std::io::Result<()> {
        let octets = sound.len() as u64;
        if octets >= self.octets_max {
            return Ok(());
        }
        let folder = Arc::clone(&self.folder);
        blocking(move || folder.write(&key, &sound)).await?;
        let is_due = {
            let mut usage = locked(&self.usage);
            usage.used(key, SystemTime::now());
            usage.octets += octets;
            usage.written += octets;
            usage.octets > self.octets_max || usage.written >= self.octets_max / PART_BETWEEN_LOOKS
        };
        if is_due { self.make_room().await } else { Ok(()) }
    }

    /// Looks through the folder and removes the files that were not used for longest.
    async fn make_room(&self) -> std::io::Result<()> {
        let uses = locked(&self.usage).uses.clone();
        let (folder, octets_max) = (Arc::clone(&self.folder), self.octets_max);
        let left = blocking(move || folder.make_room(octets_max, &uses)).await?;
        let mut usage = locked(&self.usage);
        usage.octets = left.octets;
        usage.written = 0;
        usage.uses.retain(|key, _| left.keys.contains(key));
        Ok(())
    }

    /// Told once until a file is written again: a full disk fails for every sound.
    fn fails(&self, why: &std::io::Error) {
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            tracing::warn!(folder = %self.folder.path().display(), %why, "sounds are made but not kept");
        }
    }
}

impl Usage {
    fn used(&mut self, key: Key, now: SystemTime) {
        if self.uses.len() >= USES_MAX {
            self.uses.clear();
        }
        self.uses.insert(key, now);
    }
}

/// One who waits for a sound.
struct Claim<'a> {
    cache: &'a SoundCache,
    key: Key,
    cell: Arc<OnceCell<Sound>>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut pending = locked(&self.cache.pending);
        // The map's and this one: counted under the lock under which they are made.
        if Arc::strong_count(&self.cell) <= 2 {
            pending.remove(&self.key);
        }
    }
}

fn key(voice: &Voice, text: &str) -> Key {
    let mut hasher = blake3::Hasher::new_derive_key(KEY_CONTEXT);
    let arguments = voice.arguments();
    hasher.update(&(arguments.len() as u64).to_le_bytes());
    for part in arguments.iter().map(String::as_str).chain([voice.language.as_str(), text]) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize()
}

/// What a panic left is whole: each change is one insertion or removal.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> std::io::Result<T> {
    spawn_blocking(work).await.map_err(std::io::Error::other)?
}

/// A cache that cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheError {
    /// The limit is below [`CACHE_OCTETS_MIN`].
    TooSmall {
        /// Octets of the limit.
        octets: u64,
    },
    /// The folder cannot be made or read.
    Folder {
        /// The folder.
        folder: String,
        /// Reason of the system.
        why: String,
    },
}

impl fmt::Display for CacheError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CacheError::TooSmall { octets } => {
                write!(f, "{octets} octets are too few for sounds, at least {CACHE_OCTETS_MIN} are needed")
            }
            CacheError::Folder { folder, why } => {
                write!(
                    f,
                    "the folder of sounds {folder} cannot be used ({why}): give the server access to it"
                )
            }
        }
    }
}

impl std::error::Error for CacheError {}
