use super::*;
use crate::dtmf::{DtmfDetector, DtmfKey, DtmfTone};
use crate::g711::G711Law;
use crate::tests::{Draw, sine, speech};
use proptest::prelude::*;

/// A file with these fields of the format and these octets of samples.
fn file(code: u16, channels: u16, rate: u32, bits: u16, data: &[u8]) -> Vec<u8> {
    let mut out = b"RIFF\0\0\0\0WAVELIST\x03\0\0\0abc\0fmt \x10\0\0\0".to_vec();
    out.extend(code.to_le_bytes());
    out.extend(channels.to_le_bytes());
    out.extend(rate.to_le_bytes());
    out.extend([0; 6]);
    out.extend(bits.to_le_bytes());
    out.extend(b"data");
    out.extend(u32::try_from(data.len()).unwrap().to_le_bytes());
    out.extend(data);
    out
}

fn samples(file: &[u8]) -> Vec<i16> {
    WavSound::read(file).unwrap().samples
}

/// A sine at any rate.
fn tone(hertz: f64, rate: u32, seconds: f64) -> WavSound {
    let step = std::f64::consts::TAU * hertz / f64::from(rate);
    let count = (seconds * f64::from(rate)) as usize;
    let samples = (0..count).map(|at| (8_000.0 * (step * at as f64).sin()) as i16).collect();
    WavSound::new(rate, samples).unwrap()
}

/// Loudest sample after conversion, without the ends.
fn peak_after(hertz: f64, rate: u32) -> f64 {
    let out = resample::resample(tone(hertz, rate, 0.2).samples(), rate);
    let peak = out[200..out.len() - 200].iter().map(|sample| sample.unsigned_abs()).max().unwrap();
    f64::from(peak) / 8_000.0
}

#[test]
fn each_supported_coding_is_read() {
    assert_eq!(samples(&file(1, 1, 8_000, 16, &[1, 0, 0xFF, 0xFF, 9])), [1, -1], "an odd octet is dropped");
    assert_eq!(samples(&file(1, 1, 8_000, 8, &[0, 128, 255])), [-32_768, 0, 127 << 8]);
    assert_eq!(samples(&file(1, 2, 8_000, 16, &[0, 1, 0, 3, 0xFF, 0x7F, 0xFF, 0x7F])), [512, i16::MAX]);
    let characters = [0xD5, 0x2A, 0x80];
    assert_eq!(samples(&file(6, 1, 8_000, 8, &characters)), characters.map(|c| G711Law::A.decode(c)));
    assert_eq!(samples(&file(7, 1, 8_000, 8, &characters)), characters.map(|c| G711Law::Mu.decode(c)));
}

#[test]
fn the_extensible_format_is_read_by_its_guid() {
    let mut file = b"RIFF\0\0\0\0WAVEfmt \x28\0\0\0\xFE\xFF\x01\0".to_vec();
    file.extend(16_000_u32.to_le_bytes());
    file.extend([0, 0, 0, 0, 2, 0, 16, 0, 22, 0, 16, 0, 4, 0, 0, 0, 1, 0]);
    file.extend([0; 14]);
    file.extend(b"data\x02\0\0\0\x05\0");
    let sound = WavSound::read(&file).unwrap();
    assert_eq!((sound.rate(), sound.samples()), (16_000, &[5][..]));
}

#[test]
fn a_file_streamed_into_a_pipe_has_the_samples_that_are_there() {
    let mut piped = file(1, 1, 22_050, 16, &[1, 0, 2, 0]);
    let at = piped.len() - 8;
    piped[at..at + 4].copy_from_slice(&[0xFF; 4]);
    assert_eq!(samples(&piped), [1, 2]);
}

#[test]
fn an_error_names_the_field_its_value_and_what_is_supported() {
    let error = |file: &[u8]| WavSound::read(file).unwrap_err().to_string();
    assert!(error(b"RIFF").contains("ends within its RIFF header"));
    assert!(error(b"ID3\x03 an MP3 file").contains("no WAV file"));
    assert!(error(&file(3, 1, 8_000, 32, &[])).contains("the format 3; convert it to 1 (PCM)"));
    assert!(error(&file(1, 6, 8_000, 16, &[])).contains("the channels 6; convert it to 1 or 2"));
    assert!(
        error(&file(1, 1, 96_000, 16, &[])).contains("the sample rate 96000; convert it to 8000 to 48000")
    );
    assert!(error(&file(1, 1, 8_000, 24, &[])).contains("the bits per sample 24; convert it to 8 or 16"));
    assert!(
        error(&file(1, 1, 8_000, 8, &vec![0; 8_000 * 300 + 1]))
            .contains("301 s of sound, over the limit of 300")
    );
    assert!(error(b"RIFF\0\0\0\0WAVEdata\0\0\0\0").contains("no \"fmt \" chunk"));
    let whole = file(1, 1, 8_000, 16, &[]);
    assert!(error(&whole[..whole.len() - 8]).contains("no \"data\" chunk"));
    assert!(error(&whole[..whole.len() - 3]).contains("ends within its chunk header"));
    assert!(error(&whole[..40]).contains("ends within its fmt chunk"));
}

#[test]
fn a_written_file_is_read_as_it_was() {
    let sound = WavSound::new(44_100, vec![1, -2, i16::MIN, i16::MAX]).unwrap();
    let mut file = Vec::new();
    sound.write(&mut file);
    assert_eq!((file.len(), WavSound::read(&file)), (52, Ok(sound)));
    assert_eq!((WavSound::new(7_999, Vec::new()), WavSound::new(48_001, Vec::new())), (None, None));
}

#[test]
fn the_band_of_the_telephone_passes_and_what_is_above_is_not_heard() {
    for rate in [11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000] {
        for hertz in [300.0, 1_000.0, 3_400.0] {
            let gain = peak_after(hertz, rate);
            assert!((0.93..1.05).contains(&gain), "{hertz} Hz at {rate}: {gain}");
        }
        for hertz in [4_050.0, 4_700.0, f64::from(rate) / 2.0 - 100.0] {
            let gain = peak_after(hertz, rate);
            assert!(gain < 0.002, "{hertz} Hz at {rate}: {gain}");
        }
    }
}

#[test]
fn time_is_kept_at_each_rate() {
    for rate in [8_000, 8_001, 11_025, 22_050, 44_100, 47_999, 48_000] {
        let out = tone(440.0, rate, 2.0).for_telephone();
        assert!(out.len().abs_diff(16_000) <= 1, "{rate}: {}", out.len());
    }
    assert_eq!(WavSound::new(48_000, vec![0; 3]).unwrap().for_telephone(), []);
    assert_eq!(tone(440.0, 16_000, 1.5).duration(), Duration::from_millis(1_500));
}

#[test]
fn a_converted_sine_is_the_sine_at_the_new_rate() {
    for rate in [22_050, 44_100] {
        let out = resample::resample(tone(1_000.0, rate, 0.5).samples(), rate);
        let wanted = tone(1_000.0, SAMPLE_RATE, 0.5);
        for (at, (sample, wanted)) in out.iter().zip(wanted.samples()).enumerate().skip(200).take(3_600) {
            assert!(sample.abs_diff(*wanted) < 60, "sample {at} from {rate}: {sample}, not {wanted}");
        }
    }
}

#[test]
fn keys_in_a_file_of_another_rate_are_found_after_conversion() {
    let mut keys = Vec::new();
    DtmfTone::append_keys(
        &DtmfKey::all().collect::<Vec<_>>(),
        Duration::from_millis(80),
        Duration::from_millis(80),
        &mut keys,
    );
    // Played at three times its rate it is three times as high: each sample three times.
    let slow: Vec<i16> = keys.iter().flat_map(|sample| [*sample; 3]).collect();
    let out = WavSound::new(24_000, slow).unwrap().for_telephone();
    let mut detector = DtmfDetector::new();
    let found: String =
        out.chunks(160).filter_map(|frame| detector.handle_frame(frame)).map(DtmfKey::char).collect();
    assert_eq!(found, "0123456789*#ABCD");
}

#[test]
fn speech_gets_the_level_of_a_telephone_and_peaks_are_not_cut() {
    for gain in [0.1, 0.5, 2.0] {
        let mut samples = speech(&mut Draw(3), 5);
        samples.iter_mut().for_each(|sample| *sample = (f64::from(*sample) * gain) as i16);
        normalise(&mut samples);
        let peak = samples.iter().map(|sample| sample.unsigned_abs()).max().unwrap();
        assert!((12_000..=31_130).contains(&peak), "{gain}: {peak}");
    }
    let mut sine = sine(1_000.0, -35.0, 1_600);
    normalise(&mut sine);
    let found = crate::listen::level(sine.first_chunk().unwrap());
    assert!((found - SPEECH_LEVEL).abs() < 0.3, "{found}");
    let mut silence = [0; 500];
    normalise(&mut silence);
    assert_eq!(silence, [0; 500]);
    let mut hiss = [3, -3].repeat(400);
    normalise(&mut hiss);
    assert!(hiss.iter().all(|sample| sample.abs() <= 48), "24 dB at most");
}

proptest! {
    #[test]
    fn any_octets_are_read_or_refused(
        fields in (0..8_u16, 0..3_u16, 7_000..50_000_u32, proptest::sample::select(vec![8_u16, 16, 24])),
        data in proptest::collection::vec(any::<u8>(), 0..300),
        change in proptest::option::of((any::<proptest::sample::Index>(), any::<u8>())),
    ) {
        let mut file = file(fields.0, fields.1, fields.2, fields.3, &data);
        if let Some((at, octet)) = change {
            let at = at.index(file.len());
            file[at] = octet;
        }
        if let Ok(sound) = WavSound::read(&file) {
            prop_assert!(sound.samples().len() <= file.len());
            prop_assert!(sound.for_telephone().len() <= sound.samples().len());
        }
    }
}
