use super::*;
use crate::FRAME_SAMPLES;
use crate::g711::G711Law;
use crate::tests::{Draw, music, noise, speech};
use std::time::Duration;

fn keys_in(samples: &[i16]) -> String {
    let mut detector = DtmfDetector::new();
    samples
        .chunks(FRAME_SAMPLES)
        .filter_map(|frame| detector.handle_frame(frame))
        .map(DtmfKey::char)
        .collect()
}

fn all() -> (String, Vec<DtmfKey>) {
    (DtmfKey::all().map(DtmfKey::char).collect(), DtmfKey::all().collect())
}

/// Each key for 60 ms with levels in dBm0 and a factor of both frequencies, 60 ms of pause behind it.
fn sound(keys: &[DtmfKey], row: f32, column: f32, factor: f32, millis: usize) -> Vec<i16> {
    let mut out = vec![0; 333];
    for key in keys {
        let (low, high) = key.frequencies();
        let start = out.len();
        out.resize(start + millis * 8, 0);
        DtmfTone::of([(low * factor, row), (high * factor, column)]).fill(&mut out[start..]);
        out.resize(out.len() + 60 * 8 + 7, 0);
    }
    out
}

fn mix(samples: &mut [i16], other: &[i16]) {
    for (sample, other) in samples.iter_mut().zip(other) {
        *sample = sample.saturating_add(*other);
    }
}

#[test]
fn keys_have_the_codes_of_the_standard_and_the_places_of_the_keypad() {
    let (signs, keys) = all();
    assert_eq!(signs, "0123456789*#ABCD");
    for (key, event) in keys.iter().zip(0..) {
        assert_eq!((key.event(), DtmfKey::from_event(event)), (event, Some(*key)));
        assert_eq!(DtmfKey::from_char(key.char().to_ascii_lowercase()), Some(*key));
    }
    assert_eq!(
        (DtmfKey::from_event(16), DtmfKey::from_char('E'), DtmfKey::from_char('é')),
        (None, None, None)
    );
    assert_eq!(DtmfKey::from_char('1').unwrap().frequencies(), (697.0, 1_209.0));
    assert_eq!(DtmfKey::from_char('D').unwrap().frequencies(), (941.0, 1_633.0));
    assert_eq!(DtmfKey::from_char('0').unwrap().frequencies(), (941.0, 1_336.0));
}

#[test]
fn all_keys_are_found_once_each_at_levels_from_3_below_to_30_below_zero() {
    let (signs, keys) = all();
    for level in [-3.0, -6.0, -12.0, -20.0, -26.0, -30.0] {
        assert_eq!(keys_in(&sound(&keys, level, level, 1.0, 60)), signs, "{level} dBm0");
    }
    assert_eq!(keys_in(&sound(&keys, -40.0, -40.0, 1.0, 60)), "");
}

#[test]
fn all_keys_are_found_with_a_twist_of_4_and_8_db_and_none_with_14() {
    let (signs, keys) = all();
    for (row, column) in [(-12.0, -8.0), (-8.0, -16.0), (-14.0, -9.0)] {
        assert_eq!(keys_in(&sound(&keys, row, column, 1.0, 60)), signs, "{row} {column}");
    }
    for (row, column) in [(-20.0, -6.0), (-6.0, -20.0)] {
        assert_eq!(keys_in(&sound(&keys, row, column, 1.0, 60)), "", "{row} {column}");
    }
}

#[test]
fn all_keys_are_found_with_frequencies_1_5_percent_off_and_none_3_5_percent_off() {
    let (signs, keys) = all();
    for factor in [0.985, 0.99, 1.01, 1.015] {
        assert_eq!(keys_in(&sound(&keys, -10.0, -10.0, factor, 60)), signs, "{factor}");
    }
    for factor in [0.96, 1.04] {
        assert_eq!(keys_in(&sound(&keys, -10.0, -10.0, factor, 60)), "", "{factor}");
    }
}

#[test]
fn a_key_of_40_ms_is_found_wherever_it_begins_and_one_of_22_ms_is_not() {
    let (signs, keys) = all();
    for offset in 0..102 {
        let mut samples = vec![0; offset];
        samples.extend(sound(&keys, -10.0, -10.0, 1.0, 40));
        assert_eq!(keys_in(&samples), signs, "from sample {offset}");
        let mut samples = vec![0; offset];
        samples.extend(sound(&keys, -10.0, -10.0, 1.0, 22));
        assert_eq!(keys_in(&samples), "", "from sample {offset}");
    }
}

#[test]
fn the_same_key_is_told_again_after_a_pause_of_50_ms_and_not_after_a_break_of_10() {
    let one = DtmfKey::from_char('1').unwrap();
    for (pause, signs) in [(10, "1"), (50, "111")] {
        for offset in 0..102 {
            let mut samples = vec![0; offset];
            let (held, pause) = (Duration::from_millis(80), Duration::from_millis(pause));
            DtmfTone::append_keys(&[one, one, one], held, pause, &mut samples);
            samples.resize(samples.len() + 800, 0);
            assert_eq!(keys_in(&samples), signs, "a pause of {pause:?}, from sample {offset}");
        }
    }
}

#[test]
fn a_key_held_for_ten_seconds_is_told_once_and_lost_frames_do_not_tell_it_again() {
    let mut samples = sound(&[DtmfKey::from_char('5').unwrap()], -10.0, -10.0, 1.0, 10_000);
    assert_eq!(keys_in(&samples), "5");
    let mut draw = Draw(5);
    let mut detector = DtmfDetector::new();
    let mut keys = 0;
    for (at, frame) in samples.chunks_mut(160).enumerate() {
        let is_lost = at % 16 < draw.below(4) as usize;
        keys +=
            usize::from(if is_lost { detector.handle_gap() } else { detector.handle_frame(frame) }.is_some());
    }
    assert_eq!(keys, 1);
}

#[test]
fn a_gap_that_goes_on_releases_the_key() {
    let samples = sound(&[DtmfKey::from_char('5').unwrap()], -10.0, -10.0, 1.0, 100);
    let mut detector = DtmfDetector::new();
    let mut keys = 0;
    for _ in 0..2 {
        // Cut before the tone ends.
        keys += samples[..960].chunks(160).filter_map(|frame| detector.handle_frame(frame)).count();
        keys += (0..10).filter_map(|_| detector.handle_gap()).count();
    }
    assert_eq!(keys, 2);
}

#[test]
fn keys_are_found_through_a_law_and_mu_law() {
    let (signs, keys) = all();
    for law in [G711Law::A, G711Law::Mu] {
        for level in [-4.0, -15.0, -28.0] {
            let mut samples = sound(&keys, level, level - 2.0, 1.0, 50);
            for sample in &mut samples {
                *sample = law.decode(law.encode(*sample));
            }
            assert_eq!(keys_in(&samples), signs, "{law:?} {level}");
        }
    }
}

#[test]
fn keys_are_found_in_noise_15_db_below_them() {
    let (signs, keys) = all();
    for seed in cases::seeds(40) {
        let mut draw = Draw(seed);
        let mut samples = sound(&keys, -10.0, -10.0, 1.0, 70);
        let noise = noise(&mut draw, -22.0, samples.len());
        mix(&mut samples, &noise);
        assert_eq!(keys_in(&samples), signs, "seed {seed}");
    }
}

#[test]
fn keys_drawn_at_random_levels_twists_offsets_and_lengths_are_found() {
    for seed in cases::seeds(150) {
        let mut draw = Draw(seed);
        let mut samples = Vec::new();
        let mut signs = String::new();
        for _ in 0..12 {
            let key = DtmfKey::from_event(draw.below(16) as u8).unwrap();
            signs.push(key.char());
            let row = draw.between(-24.0, -5.0);
            let column = row + draw.between(-7.0, 3.5);
            let (low, high) = key.frequencies();
            let mut factor = || draw.between(0.988, 1.012) as f32;
            let parts = [(low * factor(), row as f32), (high * factor(), column as f32)];
            let start = samples.len();
            samples.resize(start + 340 + draw.below(1_000) as usize, 0);
            DtmfTone::of(parts).fill(&mut samples[start..]);
            samples.resize(samples.len() + 410 + draw.below(800) as usize, 0);
        }
        let noise = noise(&mut draw, -46.0, samples.len());
        mix(&mut samples, &noise);
        assert_eq!(keys_in(&samples), signs, "seed {seed}");
    }
}

/// Harmonics of a steady voice may lie on two frequencies of a key for 25 ms: once in minutes.
#[test]
fn minutes_of_sound_like_speech_have_at_most_one_key_in_five_and_music_and_noise_have_none() {
    let mut by_speech = String::new();
    for seed in cases::seeds(10) {
        let mut draw = Draw(seed);
        by_speech += &keys_in(&speech(&mut draw, 30));
        for (what, samples) in
            [("music", music(&mut draw, 20)), ("noise", noise(&mut draw, -15.0, 10 * 8_000))]
        {
            assert_eq!(keys_in(&samples), "", "seed {seed}, {what}");
        }
    }
    assert!(by_speech.len() <= cases::times(1) as usize, "{by_speech} in minutes of speech");
}

#[test]
fn one_frequency_alone_or_three_are_no_key() {
    for hertz in ROWS.into_iter().chain(COLUMNS) {
        assert_eq!(keys_in(&crate::tests::sine(f64::from(hertz), -8.0, 4_000)), "");
    }
    let mut samples = sound(&[DtmfKey::from_char('1').unwrap()], -10.0, -10.0, 1.0, 300);
    let third = crate::tests::sine(852.0, -10.0, samples.len());
    mix(&mut samples, &third);
    assert_eq!(keys_in(&samples), "");
}
