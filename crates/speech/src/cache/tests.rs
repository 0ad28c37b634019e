use super::*;
use crate::synthesis::SynthesisLimits;
use std::fs;
use std::path::PathBuf;

/// Octets of each sound in tests of the limit: ten of them fill the smallest cache.
const SOUND_OCTETS: usize = 104_000;
const HASH_OCTETS: u64 = 32;

/// A text that `tee` copies as a sound and writes down behind the others.
fn text(name: &str) -> String {
    format!("RIFF\u{1}\u{1}\u{1}\u{1}WAVE {name}\n")
}

struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture { folder: tempfile::tempdir().unwrap() }
    }

    fn made(&self) -> PathBuf {
        self.folder.path().join("made")
    }

    fn sounds(&self) -> PathBuf {
        self.folder.path().join("sounds")
    }

    /// A voice that writes down each text that it reads.
    fn voice(&self, language: &str) -> Voice {
        let command = ["tee", "-a", self.made().to_str().unwrap()].map(str::to_owned).to_vec();
        Voice { language: language.to_owned(), command }
    }

    /// Syntheses so far.
    fn count(&self) -> usize {
        fs::read_to_string(self.made()).unwrap_or_default().lines().count()
    }

    async fn cache(&self) -> SoundCache {
        let synthesizer = Synthesizer::new(SynthesisLimits::default());
        SoundCache::open(&self.sounds(), CACHE_OCTETS_MIN, synthesizer).await.unwrap()
    }

    /// The files of sounds, by their names.
    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> =
            fs::read_dir(self.sounds()).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        files
    }
}

#[tokio::test]
async fn a_sound_is_made_once_and_found_by_command_language_and_text() {
    let fixture = Fixture::new();
    let cache = fixture.cache().await;
    let (english, swedish) = (fixture.voice("en"), fixture.voice("sv"));
    for _ in 0..3 {
        assert_eq!(&cache.sound(&english, &text("a")).await.unwrap()[..], text("a").as_bytes());
    }
    assert_eq!(fixture.count(), 1);
    cache.sound(&english, &text("b")).await.unwrap();
    cache.sound(&swedish, &text("a")).await.unwrap();
    let mut other = fixture.voice("en");
    other.command.insert(1, "-i".to_owned());
    cache.sound(&other, &text("a")).await.unwrap();
    assert_eq!((fixture.count(), fixture.files().len()), (4, 4));
}

#[tokio::test]
async fn a_sound_outlives_its_process_and_is_shared_by_several() {
    let fixture = Fixture::new();
    let (one, other) = (fixture.cache().await, fixture.cache().await);
    one.sound(&fixture.voice("en"), &text("a")).await.unwrap();
    assert_eq!(&other.sound(&fixture.voice("en"), &text("a")).await.unwrap()[..], text("a").as_bytes());
    drop((one, other));
    fixture.cache().await.sound(&fixture.voice("en"), &text("a")).await.unwrap();
    assert_eq!(fixture.count(), 1);
}

#[tokio::test]
async fn those_who_ask_for_the_same_at_once_share_one_synthesis() {
    let fixture = Fixture::new();
    let cache = fixture.cache().await;
    let (voice, text) = (fixture.voice("en"), text("a"));
    let (a, b, c) =
        tokio::join!(cache.sound(&voice, &text), cache.sound(&voice, &text), cache.sound(&voice, &text));
    let (a, b, c) = (a.unwrap(), b.unwrap(), c.unwrap());
    assert!(Arc::ptr_eq(&a, &b) && Arc::ptr_eq(&b, &c));
    assert_eq!(fixture.count(), 1);
    assert!(locked(&cache.pending).is_empty());
}

#[tokio::test]
async fn those_who_ask_at_once_share_a_failure_and_the_next_tries_again() {
    let fixture = Fixture::new();
    let cache = fixture.cache().await;
    // Writes the text down, and no WAV file.
    let voice = fixture.voice("en");
    let (a, b) = tokio::join!(cache.sound(&voice, "a\n"), cache.sound(&voice, "a\n"));
    assert!(matches!((&a, &b), (Err(SynthesisError::NotWav { .. }), Err(SynthesisError::NotWav { .. }))));
    assert_eq!(fixture.count(), 1);
    cache.sound(&voice, "a\n").await.unwrap_err();
    assert_eq!((fixture.count(), fixture.files().len()), (2, 0));
}

#[tokio::test]
async fn one_who_leaves_hands_the_synthesis_to_the_next() {
    let fixture = Fixture::new();
    let cache = fixture.cache().await;
    let (voice, text) = (fixture.voice("en"), text("a"));
    let mut left = Box::pin(cache.sound(&voice, &text));
    // Polled once: it has begun.
    assert!(polled_once(&mut left).await.is_pending());
    let stays = cache.sound(&voice, &text);
    drop(left);
    stays.await.unwrap();
    assert!(locked(&cache.pending).is_empty());
}

async fn polled_once<F: Future + Unpin>(future: &mut F) -> std::task::Poll<F::Output> {
    std::future::poll_fn(|context| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context)))
        .await
}

#[tokio::test]
async fn a_damaged_file_is_made_anew() {
    let fixture = Fixture::new();
    let cache = fixture.cache().await;
    let voice = fixture.voice("en");
    cache.sound(&voice, &text("a")).await.unwrap();
    let file = &fixture.files()[0];
    let whole = fs::read(file).unwrap();
    let mut flipped = whole.clone();
    flipped[20] ^= 1;
    let mut longer = whole.clone();
    longer.push(0);
    for (made, damaged) in
        [(2, flipped), (3, whole[..whole.len() - 1].to_vec()), (4, Vec::new()), (5, longer)]
    {
        fs::write(file, &damaged).unwrap();
        assert_eq!(&cache.sound(&voice, &text("a")).await.unwrap()[..], text("a").as_bytes());
        assert_eq!(fixture.count(), made, "{} octets", damaged.len());
        assert_eq!(fs::read(file).unwrap(), whole);
    }
    fs::remove_file(file).unwrap();
    cache.sound(&voice, &text("a")).await.unwrap();
    assert_eq!(fixture.count(), 6);
}

#[tokio::test]
async fn a_file_is_a_wav_file_with_its_hash_behind_it() {
    let fixture = Fixture::new();
    fixture.cache().await.sound(&fixture.voice("en"), &text("a")).await.unwrap();
    let file = &fixture.files()[0];
    assert!(file.extension().is_some_and(|extension| extension == "wav"));
    let octets = fs::read(file).unwrap();
    assert_eq!(octets.len() as u64, text("a").len() as u64 + HASH_OCTETS);
    assert!(octets.starts_with(text("a").as_bytes()));
}

/// Sounds of a size, each with a time of use.
fn fill(folder: &SoundFolder, names: std::ops::Range<u8>, start: SystemTime) -> Vec<Key> {
    let made = names.map(|name| {
        let key = blake3::hash(&[name]);
        folder.write(&key, &vec![name; SOUND_OCTETS]).unwrap();
        folder.read(&key, Some(start + Duration::from_secs(name.into()))).unwrap().unwrap();
        key
    });
    made.collect()
}

#[test]
fn the_least_recently_used_files_make_room_whoever_used_them() {
    let fixture = Fixture::new();
    let folder = SoundFolder::open(fixture.sounds(), SOUND_OCTETS).unwrap();
    let start = SystemTime::now() - Duration::from_secs(1_000);
    let keys = fill(&folder, 0..12, start);
    // The first was used again, which this process alone knows.
    let uses = HashMap::from([(keys[0], SystemTime::now())]);
    let left = folder.make_room(CACHE_OCTETS_MIN, &uses).unwrap();
    assert!(left.octets <= CACHE_OCTETS_MIN / 8 * 7, "{}", left.octets);
    assert_eq!(left.keys.len(), 8);
    for (place, key) in keys.iter().enumerate() {
        let is_left = place == 0 || place > 4;
        assert_eq!(left.keys.contains(key), is_left, "{place}");
        assert_eq!(folder.read(key, None).unwrap().is_some(), is_left, "{place}");
    }
    assert_eq!(folder.make_room(CACHE_OCTETS_MIN, &uses).unwrap().octets, left.octets);
}

#[tokio::test]
async fn a_cache_stays_within_its_octets() {
    let fixture = Fixture::new();
    let folder = SoundFolder::open(fixture.sounds(), SOUND_OCTETS).unwrap();
    fill(&folder, 0..20, SystemTime::now() - Duration::from_secs(1_000));
    let octets = || fixture.files().iter().map(|file| fs::metadata(file).unwrap().len()).sum::<u64>();
    assert!(octets() > CACHE_OCTETS_MIN);
    let cache = fixture.cache().await;
    assert!(octets() <= CACHE_OCTETS_MIN);
    // Each text is a sound of its own length; a text has at most 12,000 characters.
    for name in 0..120 {
        let text = format!("{}{}", text(&format!("{name}")), "x\n".repeat(5_000));
        cache.sound(&fixture.voice("en"), &text).await.unwrap();
        assert!(octets() <= CACHE_OCTETS_MIN, "{} octets", octets());
    }
    assert!(fixture.files().len() > 80);
}

#[tokio::test]
async fn what_a_dead_process_left_is_removed_and_what_is_being_written_is_not() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.sounds()).unwrap();
    let (old, new, foreign) = (
        fixture.sounds().join("a.1.0.part"),
        fixture.sounds().join("b.2.0.part"),
        fixture.sounds().join("README"),
    );
    for path in [&old, &new, &foreign] {
        fs::write(path, "half").unwrap();
    }
    let long_ago = SystemTime::now() - Duration::from_secs(100_000);
    for path in [&old, &foreign] {
        fs::File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
    }
    fixture.cache().await;
    assert_eq!((old.exists(), new.exists(), foreign.exists()), (false, true, true));
}

#[tokio::test]
async fn a_use_is_written_down_as_the_time_of_modification() {
    let fixture = Fixture::new();
    fixture.cache().await.sound(&fixture.voice("en"), &text("a")).await.unwrap();
    let file = &fixture.files()[0];
    let long_ago = SystemTime::now() - Duration::from_secs(100_000);
    fs::File::options().write(true).open(file).unwrap().set_modified(long_ago).unwrap();
    let before = SystemTime::now() - Duration::from_secs(10);
    fixture.cache().await.sound(&fixture.voice("en"), &text("a")).await.unwrap();
    assert!(fs::metadata(file).unwrap().modified().unwrap() > before);
    assert_eq!(fixture.count(), 1);
}

#[tokio::test]
async fn a_sound_that_cannot_be_kept_is_returned_nevertheless() {
    let fixture = Fixture::new();
    let cache = fixture.cache().await;
    fs::remove_dir(fixture.sounds()).unwrap();
    fs::write(fixture.sounds(), "a file in the folder's place").unwrap();
    for made in 1..3 {
        assert_eq!(&cache.sound(&fixture.voice("en"), &text("a")).await.unwrap()[..], text("a").as_bytes());
        assert_eq!(fixture.count(), made);
    }
    assert!(cache.is_failing.load(Ordering::Relaxed));
    fs::remove_file(fixture.sounds()).unwrap();
    fs::create_dir(fixture.sounds()).unwrap();
    cache.sound(&fixture.voice("en"), &text("a")).await.unwrap();
    assert!(!cache.is_failing.load(Ordering::Relaxed));
    assert_eq!(fixture.files().len(), 1);
}

#[tokio::test]
async fn a_cache_that_is_too_small_or_has_no_folder_is_refused() {
    let fixture = Fixture::new();
    let synthesizer = || Synthesizer::new(SynthesisLimits::default());
    let small = SoundCache::open(&fixture.sounds(), CACHE_OCTETS_MIN - 1, synthesizer()).await.unwrap_err();
    assert_eq!(small, CacheError::TooSmall { octets: CACHE_OCTETS_MIN - 1 });
    fs::write(fixture.sounds(), "").unwrap();
    let none = SoundCache::open(&fixture.sounds(), CACHE_OCTETS_MIN, synthesizer()).await.unwrap_err();
    assert!(none.to_string().contains("cannot be used"), "{none}");
}
