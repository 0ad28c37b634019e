use super::*;
use crate::spoken::{Rules, spoken};
use crate::voices::Voice;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// A text that is a WAV file by its first octets: programs that copy their input synthesize it.
const WAV_TEXT: &str = "RIFF\u{1}\u{1}\u{1}\u{1}WAVEfmt and so on";
/// Far more than any of these processes needs.
const LONG: Duration = Duration::from_secs(60);
/// Time after which a process that never ends is killed.
const SHORT: Duration = Duration::from_millis(100);

fn voice(command: &[&str]) -> Voice {
    Voice { language: "en".to_owned(), command: command.iter().map(|one| (*one).to_owned()).collect() }
}

fn synthesizer(time: Duration, octets: usize) -> Synthesizer {
    Synthesizer::new(SynthesisLimits { time, octets, at_once: NonZeroUsize::MIN })
}

async fn spoken_by(command: &[&str], text: &str) -> Result<Vec<u8>, SynthesisError> {
    synthesizer(LONG, 1_000).speak(&voice(command), text).await
}

#[tokio::test]
async fn a_program_gets_the_text_on_its_standard_input_and_its_output_is_the_sound() {
    assert_eq!(spoken_by(&["cat"], WAV_TEXT).await.unwrap(), WAV_TEXT.as_bytes());
}

#[tokio::test]
async fn a_program_need_not_read_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sound.wav");
    std::fs::write(&path, WAV_TEXT).unwrap();
    let text = "word ".repeat(2_000);
    let sound = spoken_by(&["cat", path.to_str().unwrap()], &text).await.unwrap();
    assert_eq!(sound, WAV_TEXT.as_bytes());
}

#[tokio::test]
async fn a_program_that_is_missing_is_named() {
    let error = spoken_by(&["/nowhere/tts"], "a").await.unwrap_err();
    assert!(
        matches!(&error, SynthesisError::NotStarted { program, .. } if program == "/nowhere/tts"),
        "{error}"
    );
}

#[tokio::test]
async fn a_failure_has_the_exit_status_and_the_last_line_of_standard_error() {
    let error = spoken_by(&["false"], "a").await.unwrap_err();
    assert_eq!(error.to_string(), "the program false failed, exit status: 1: try it by hand");
    let error = spoken_by(&["cat", "/nowhere/sound.wav"], "a").await.unwrap_err().to_string();
    assert!(error.contains("exit status: 1, and wrote \"cat: /nowhere/sound.wav"), "{error}");
}

#[tokio::test]
async fn an_output_that_is_no_wav_file_is_refused() {
    let error = spoken_by(&["cat"], "hello").await.unwrap_err();
    assert!(matches!(error, SynthesisError::NotWav { octets: 5, .. }), "{error}");
    let error = spoken_by(&["true"], "hello").await.unwrap_err();
    assert!(matches!(error, SynthesisError::NotWav { octets: 0, .. }), "{error}");
}

#[tokio::test]
async fn an_output_over_the_limit_ends_the_program_at_once() {
    let error = spoken_by(&["cat", "/dev/zero"], "a").await.unwrap_err();
    assert_eq!(error, SynthesisError::TooLarge { program: "cat".to_owned(), limit: 1_000 });
    let at_limit = format!("{WAV_TEXT}{}", "x".repeat(1_000 - WAV_TEXT.len()));
    assert_eq!(spoken_by(&["cat"], &at_limit).await.unwrap().len(), 1_000);
}

#[tokio::test]
async fn a_program_that_takes_too_long_is_killed() {
    let error = synthesizer(SHORT, 1_000).speak(&voice(&["sleep", "1000"]), "a").await.unwrap_err();
    assert_eq!(error, SynthesisError::TimedOut { program: "sleep".to_owned(), limit: SHORT });
}

/// A pipe with a name: who opens it waits for the other end.
fn named_pipe(folder: &tempfile::TempDir) -> String {
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    pipe.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn all_that_a_program_has_started_is_killed_when_nobody_waits_for_its_sound() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = named_pipe(&folder);
    let (writes, written) = tokio::sync::oneshot::channel();
    let path = pipe.clone();
    // The reader sees the end of the pipe once no process has it open.
    let reader = tokio::task::spawn_blocking(move || {
        let mut pipe = std::fs::File::open(path).unwrap();
        pipe.read_exact(&mut [0]).unwrap();
        writes.send(()).unwrap();
        std::io::copy(&mut pipe, &mut std::io::sink()).unwrap()
    });
    // dd is a child of timeout, in the same process group.
    let output = format!("of={pipe}");
    let voice = voice(&["timeout", "--foreground", "1000", "dd", "if=/dev/zero", &output]);
    let synthesizer = synthesizer(LONG, 1_000);
    tokio::select! {
        sound = synthesizer.speak(&voice, "a") => panic!("it writes for ever: {sound:?}"),
        written = written => written.unwrap(),
    }
    tokio::time::timeout(LONG, reader).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_future_that_is_dropped_leaves_its_place_to_the_next() {
    let synthesizer = synthesizer(LONG, 1_000);
    let sleep = voice(&["sleep", "1000"]);
    let waiting = tokio::time::timeout(SHORT, synthesizer.speak(&sleep, "a")).await;
    assert!(waiting.is_err(), "it waits for the program");
    assert!(synthesizer.speak(&voice(&["cat"]), WAV_TEXT).await.is_ok());
}

#[tokio::test]
async fn no_more_programs_run_at_once_than_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = named_pipe(&folder);
    let synthesizer = synthesizer(LONG, 1_000);
    let second_has_ended = AtomicBool::new(false);
    let (first_voice, second_voice) = (voice(&["cat", &pipe]), voice(&["cat"]));
    let first = synthesizer.speak(&first_voice, "a");
    let second = async {
        let sound = synthesizer.speak(&second_voice, WAV_TEXT).await;
        second_has_ended.store(true, Ordering::SeqCst);
        sound
    };
    let writer = async {
        // Opened once the first program runs, which ends when this is written.
        let path = pipe.clone();
        let opened = tokio::task::spawn_blocking(move || std::fs::File::options().write(true).open(path));
        let mut opened = opened.await.unwrap().unwrap();
        assert_eq!(synthesizer.running.available_permits(), 0);
        assert!(!second_has_ended.load(Ordering::SeqCst), "it waits for the first");
        opened.write_all(WAV_TEXT.as_bytes()).unwrap();
    };
    let (first, second, ()) = tokio::join!(biased; first, second, writer);
    assert_eq!((first.unwrap(), second.unwrap()), (WAV_TEXT.into(), WAV_TEXT.into()));
}

#[tokio::test]
async fn a_program_has_the_variables_that_it_needs_and_no_other() {
    let error = spoken_by(&["env"], "a").await.unwrap_err();
    assert!(matches!(error, SynthesisError::NotWav { .. } | SynthesisError::TooLarge { .. }), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("environment");
    // dd copies what it is to see into a file, and writes nothing to standard output.
    let command = ["dd", "if=/proc/self/environ", &format!("of={}", path.display())];
    spoken_by(&command, "a").await.unwrap_err();
    let environment = std::fs::read_to_string(&path).unwrap();
    let mut names: Vec<&str> =
        environment.split('\0').filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    assert!(names.contains(&"PATH") && names.contains(&"LANG"), "{names:?}");
    assert!(names.iter().all(|name| ["HOME", "LANG", "PATH", "TMPDIR"].contains(name)), "{names:?}");
}

#[tokio::test]
async fn a_program_has_a_lower_priority_than_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stat");
    // It reads its own state once its input has ended, when the priority is long set.
    let command = ["sort", "--output", path.to_str().unwrap(), "-", "/proc/self/stat"];
    spoken_by(&command, "a").await.unwrap_err();
    let stat = std::fs::read_to_string(&path).unwrap();
    let line = stat.lines().find(|line| line.contains(')')).unwrap();
    // proc(5): the niceness is field 19, the 17th behind the name.
    let niceness: i32 = line.rsplit_once(')').unwrap().1.split_whitespace().nth(16).unwrap().parse().unwrap();
    let own = rustix::process::getpriority_process(None).unwrap();
    assert!(niceness > own || own >= 10, "{niceness}, and {own} of the test");
}

#[tokio::test]
async fn a_text_without_words_or_too_long_starts_nothing() {
    assert_eq!(spoken_by(&["/nowhere/tts"], " \n👍 --").await, Err(SynthesisError::Empty));
    let long = "x".repeat(TEXT_CHARS_MAX + 1);
    let error = spoken_by(&["/nowhere/tts"], &long).await.unwrap_err();
    assert!(matches!(error, SynthesisError::TooLong { .. }), "{error}");
}

/// espeak-ng reads each language that it has a voice for.
mod by_espeak_ng {
    use super::*;
    use crate::phrases::{Catalogue, KeyChoice};

    /// No voice of espeak-ng speaks these.
    const WITHOUT: [&str; 1] = ["so"];
    /// Octets before the samples of a WAV file.
    const HEADER: usize = 44;
    /// espeak-ng writes 22,050 samples of 16 bits a second, one channel.
    const OCTETS_A_SECOND: usize = 2 * 22_050;
    /// Root mean square of samples that are heard, of 32,767.
    const LEVEL_MIN: f64 = 300.0;

    fn espeak(language: &str) -> Voice {
        servers::foreign::needs("espeak-ng");
        let command = ["espeak-ng", "-v", "{language}", "--stdin", "--stdout"];
        Voice { language: language.to_owned(), ..voice(&command) }
    }

    async fn seconds_and_level(voice: &Voice, text: &str) -> (f64, f64) {
        let synthesizer = Synthesizer::new(SynthesisLimits { time: LONG, ..SynthesisLimits::default() });
        let sound = synthesizer.speak(voice, text).await.unwrap();
        assert_eq!(sound[24..28], 22_050_u32.to_le_bytes(), "samples a second");
        let samples = &sound[HEADER..];
        let squares = samples
            .chunks_exact(2)
            .map(|octets| f64::from(i16::from_le_bytes([octets[0], octets[1]])).powi(2));
        let level = (squares.sum::<f64>() / (samples.len() / 2) as f64).sqrt();
        (samples.len() as f64 / OCTETS_A_SECOND as f64, level)
    }

    #[tokio::test]
    async fn the_phrases_of_each_language_are_read_aloud() {
        for language in Catalogue::languages().filter(|language| !WITHOUT.contains(language)) {
            let catalogue = Catalogue::of(language).unwrap();
            let choices = catalogue
                .choices(&[KeyChoice { key: "1", label: "1 2 3" }, KeyChoice { key: "2", label: "4 5 6" }]);
            let short = catalogue.drill();
            let long = format!("{short} {choices} {}", catalogue.repeat());
            let (short_seconds, level) = seconds_and_level(&espeak(language), short).await;
            assert!((0.5..10.0).contains(&short_seconds), "{language}: {short_seconds} s");
            assert!(level > LEVEL_MIN, "{language}: a level of {level}");
            let (long_seconds, level) = seconds_and_level(&espeak(language), &long).await;
            assert!(
                long_seconds > short_seconds + 2.0 && long_seconds < 60.0,
                "{language}: {long_seconds} s"
            );
            assert!(level > LEVEL_MIN, "{language}: a level of {level}");
        }
    }

    /// In phoneme brackets, espeak-ng reads sounds in place of letters; spoken text has none.
    #[tokio::test]
    async fn markup_in_a_text_is_read_as_words() {
        let text = "[[_::]] <break time=\"20s\"/> Go out now";
        let read = spoken(text, &Rules::of("en")).text;
        let (seconds, _) = seconds_and_level(&espeak("en"), &read).await;
        assert!((1.0..10.0).contains(&seconds), "{seconds} s of {read:?}");
    }

    #[tokio::test]
    async fn an_unknown_voice_is_told_by_its_own_words() {
        let synthesizer = Synthesizer::new(SynthesisLimits { time: LONG, ..SynthesisLimits::default() });
        let error = synthesizer.speak(&espeak("tlh"), "a").await.unwrap_err();
        let SynthesisError::Failed { last_line, .. } = &error else { panic!("{error}") };
        assert!(!last_line.is_empty(), "{error}");
    }
}
