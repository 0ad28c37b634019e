use super::*;
use crate::FRAME_SAMPLES;
use crate::dtmf::{DtmfKey, DtmfTone};
use crate::tests::{Draw, noise, sine, speech};
use std::time::Duration;

fn frames(samples: &[i16]) -> impl Iterator<Item = &SoundFrame> {
    samples.as_chunks::<FRAME_SAMPLES>().0.iter()
}

fn beeps(samples: &[i16]) -> Vec<Beep> {
    let mut detector = BeepDetector::new();
    frames(samples).filter_map(|frame| detector.handle_frame(frame)).collect()
}

/// Index of the first frame for which it is true.
fn first(flags: impl IntoIterator<Item = bool>) -> Option<usize> {
    flags.into_iter().position(|flag| flag)
}

#[test]
fn the_level_of_a_sine_is_the_one_it_was_made_with_and_a_mean_does_not_count() {
    for dbm0 in [-3.0, -20.0, -40.0] {
        let mut samples = sine(1_000.0, dbm0, FRAME_SAMPLES);
        let found = level(frames(&samples).next().unwrap());
        assert!((found - dbm0 as f32).abs() < 0.2, "{dbm0} {found}");
        samples.iter_mut().for_each(|sample| *sample += 2_000);
        assert!((level(frames(&samples).next().unwrap()) - found).abs() < 0.2);
    }
    assert_eq!(level(&[0; FRAME_SAMPLES]), SILENCE_DBM0);
    assert_eq!(level(&[-30_000; FRAME_SAMPLES]), SILENCE_DBM0);
}

#[test]
fn speech_is_voice_and_line_noise_is_not() {
    let mut draw = Draw(1);
    let mut activity = VoiceActivity::new();
    let voiced = |activity: &mut VoiceActivity, samples: &[i16]| {
        frames(samples).filter(|frame| activity.handle_frame(frame)).count()
    };
    let hiss = noise(&mut draw, -55.0, 8_000);
    assert_eq!(voiced(&mut activity, &hiss), 0);
    let words = speech(&mut draw, 4);
    let count = voiced(&mut activity, &words);
    assert!(count > 150, "{count} of 200 frames");
    assert!(voiced(&mut activity, &hiss) <= 5, "voice holds for 100 ms");
}

#[test]
fn steady_noise_at_the_other_end_is_no_voice_after_some_seconds() {
    let mut draw = Draw(2);
    let mut activity = VoiceActivity::new();
    let street = noise(&mut draw, -38.0, 20 * 8_000);
    let voice: Vec<bool> = frames(&street).map(|frame| activity.handle_frame(frame)).collect();
    assert!(voice[500..].iter().all(|is_voice| !is_voice));
    let words = speech(&mut draw, 2);
    let count = frames(&words).filter(|frame| activity.handle_frame(frame)).count();
    assert!(count > 60, "{count} of 100 frames over the noise");
}

#[test]
fn the_message_begins_after_700_ms_of_silence() {
    let mut first_words = FirstWords::new();
    let ends: Vec<_> = (0..60).map(|_| first_words.handle_frame(false)).collect();
    assert_eq!(ends.iter().position(Option::is_some), Some(34), "with the 35th frame");
    assert!(ends[34..].iter().all(|end| *end == Some(FirstWordsEnd::Silence)));
    let mut first_words = FirstWords::new();
    let hello = (0..60).map(|at| first_words.handle_frame((10..25).contains(&at)).is_some());
    assert_eq!(first(hello), Some(25 + 34), "after a hello of 300 ms");
}

#[test]
fn the_message_begins_after_two_seconds_though_somebody_speaks() {
    let mut first_words = FirstWords::new();
    let ends: Vec<_> = (0..110).map(|_| first_words.handle_frame(true)).collect();
    assert_eq!(ends.iter().position(Option::is_some), Some(99));
    assert_eq!(ends[109], Some(FirstWordsEnd::Limit));
}

#[test]
fn long_speech_is_told_once_and_short_pauses_belong_to_it() {
    let mut long = LongSpeech::new(LongSpeech::LIMIT);
    let flags: Vec<_> = (0..500).map(|at| long.handle_frame(at % 40 < 30)).collect();
    assert_eq!(flags.iter().filter(|flag| **flag).count(), 1);
    assert!((174..=190).contains(&first(flags).unwrap()));
    let mut long = LongSpeech::new(LongSpeech::LIMIT);
    assert!((0..1_000).all(|at| !long.handle_frame(at % 100 < 60)), "a pause of 800 ms ends a speech");
}

#[test]
fn a_beep_is_told_when_it_has_ended_with_its_frequency_and_time() {
    for hertz in [400, 425, 850, 1_000, 1_025, 1_400, 1_980] {
        for millis in [120, 400, 900] {
            let mut samples = vec![0; 3_000];
            samples.extend(sine(f64::from(hertz), -12.0, millis * 8));
            samples.extend([0; 800]);
            let beeps = beeps(&samples);
            let [beep] = beeps[..] else { panic!("{hertz} Hz, {millis} ms: {beeps:?}") };
            assert!(beep.frequency.abs_diff(hertz) <= 10, "{hertz} {beep:?}");
            assert!(
                beep.duration.abs_diff(Duration::from_millis(millis as u64)) <= Duration::from_millis(40)
            );
        }
    }
}

#[test]
fn a_beep_is_told_in_noise_and_after_speech() {
    for seed in cases::seeds(20) {
        let mut draw = Draw(seed);
        let mut samples = speech(&mut draw, 3);
        samples.extend([0; 1_600]);
        samples.extend(sine(1_000.0, -15.0, 3_200));
        samples.extend([0; 1_600]);
        let noise = noise(&mut draw, -45.0, samples.len());
        samples.iter_mut().zip(noise).for_each(|(sample, noise)| *sample = sample.saturating_add(noise));
        let beeps = beeps(&samples);
        assert!(beeps.iter().any(|beep| beep.frequency.abs_diff(1_000) <= 10), "seed {seed}: {beeps:?}");
    }
}

#[test]
fn tones_that_are_too_short_too_long_too_low_or_too_high_are_no_beep() {
    for (hertz, millis) in [(1_000, 60), (1_000, 2_500), (300, 500), (2_300, 500)] {
        let mut samples = sine(f64::from(hertz), -12.0, millis * 8);
        samples.extend([0; 800]);
        assert_eq!(beeps(&samples), [], "{hertz} Hz, {millis} ms");
    }
}

#[test]
fn keys_and_noise_are_no_beep_and_speech_hardly_ever_is() {
    let mut samples = Vec::new();
    let held = Duration::from_millis(200);
    DtmfTone::append_keys(&DtmfKey::all().collect::<Vec<_>>(), held, held, &mut samples);
    assert_eq!(beeps(&samples), []);
    let mut count = 0;
    for seed in cases::seeds(10) {
        let mut draw = Draw(seed);
        assert_eq!(beeps(&noise(&mut draw, -15.0, 80_000)), [], "seed {seed}");
        count += beeps(&speech(&mut draw, 20)).len();
    }
    assert!(count <= cases::times(2) as usize, "{count} beeps in minutes of speech");
}
