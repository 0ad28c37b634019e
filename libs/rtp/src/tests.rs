//! Random numbers of seeded tests, and sounds.

use crate::SAMPLE_RATE;

/// SplitMix64.
pub(crate) struct Draw(pub u64);

impl Draw {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Uniform from 0 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform between two numbers.
    pub(crate) fn between(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }

    /// Nearly Gaussian, with a deviation of 1: twelve uniform numbers.
    pub(crate) fn gauss(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// Amplitude of a sine of so many dBm0 (G.711: full scale is +3.14).
pub(crate) fn amplitude(dbm0: f64) -> f64 {
    32_767.0 * 10_f64.powf((dbm0 - f64::from(crate::dtmf::FULL_SCALE_DBM0)) / 20.0)
}

/// A sine.
pub(crate) fn sine(hertz: f64, dbm0: f64, samples: usize) -> Vec<i16> {
    let step = std::f64::consts::TAU * hertz / f64::from(SAMPLE_RATE);
    (0..samples).map(|at| (amplitude(dbm0) * (step * at as f64).sin()) as i16).collect()
}

/// White noise whose power is that of a sine of so many dBm0.
pub(crate) fn noise(draw: &mut Draw, dbm0: f64, samples: usize) -> Vec<i16> {
    let deviation = amplitude(dbm0) / std::f64::consts::SQRT_2;
    (0..samples).map(|_| (deviation * draw.gauss()).clamp(-32_768.0, 32_767.0) as i16).collect()
}

/// Voice-like sound: pulses of a wandering pitch through three formants, with syllables, pauses and
/// fricatives; so many seconds.
pub(crate) fn speech(draw: &mut Draw, seconds: usize) -> Vec<i16> {
    let mut out = Vec::with_capacity(seconds * 8_000);
    let mut pitch = draw.between(85.0, 250.0);
    while out.len() < seconds * 8_000 {
        let samples = (draw.between(0.06, 0.3) * 8_000.0) as usize;
        match draw.below(8) {
            0 => out.extend(std::iter::repeat_n(0, samples)),
            1 => out.extend(noise(draw, -30.0, samples / 2)),
            _ => {
                let to = (pitch * draw.between(0.85, 1.18)).clamp(75.0, 320.0);
                vowel(draw, (pitch, to), samples, &mut out);
                pitch = to;
            }
        }
    }
    out.truncate(seconds * 8_000);
    out
}

/// Harmonics of a pitch that glides, weighted by formants that glide.
fn vowel(draw: &mut Draw, (from, to): (f64, f64), samples: usize, out: &mut Vec<i16>) {
    let mut formants = [(0.0, 0.0); 3];
    for (formant, (low, high)) in
        formants.iter_mut().zip([(250.0, 900.0), (800.0, 2_300.0), (2_200.0, 3_300.0)])
    {
        let start = draw.between(low, high);
        *formant = (start, start * draw.between(0.85, 1.15));
    }
    let level = amplitude(draw.between(-26.0, -12.0));
    let mut phase = draw.unit();
    for at in 0..samples {
        let part = at as f64 / samples as f64;
        let pitch = from + (to - from) * part;
        phase += pitch / f64::from(SAMPLE_RATE);
        let mut sum = 0.0;
        for harmonic in 1..=(3_400.0 / pitch) as u32 {
            let hertz = pitch * f64::from(harmonic);
            let weight: f64 = formants.iter().zip([1.0, 0.5, 0.25]).fold(0.02, |sum, ((a, b), gain)| {
                let off = (hertz - (a + (b - a) * part)) / 90.0;
                sum + gain / (1.0 + off * off)
            });
            sum += weight * (std::f64::consts::TAU * phase * f64::from(harmonic)).sin();
        }
        let envelope = (std::f64::consts::PI * part).sin().powf(0.4);
        out.push((level * envelope * sum).clamp(-32_768.0, 32_767.0) as i16);
    }
}

/// Music-like sound: chords of the equal temperament, each voice with harmonics; so many seconds.
pub(crate) fn music(draw: &mut Draw, seconds: usize) -> Vec<i16> {
    let mut out = Vec::with_capacity(seconds * 8_000);
    while out.len() < seconds * 8_000 {
        let samples = (draw.between(0.1, 0.5) * 8_000.0) as usize;
        let level = amplitude(draw.between(-26.0, -14.0));
        let voices: Vec<(f64, f64)> = (0..1 + draw.below(4))
            .map(|_| (220.0 * 2_f64.powf(draw.below(30) as f64 / 12.0), draw.between(0.25, 0.7)))
            .collect();
        for at in 0..samples {
            let seconds = at as f64 / f64::from(SAMPLE_RATE);
            let mut sum = 0.0;
            for (hertz, fall) in &voices {
                let mut weight = 1.0;
                for harmonic in 1..=8_u32 {
                    let hertz = hertz * f64::from(harmonic);
                    if hertz < 3_600.0 {
                        sum += weight * (std::f64::consts::TAU * hertz * seconds).sin();
                    }
                    weight *= fall;
                }
            }
            let fade = (-2.0 * seconds).exp();
            out.push((level * fade * sum).clamp(-32_768.0, 32_767.0) as i16);
        }
    }
    out.truncate(seconds * 8_000);
    out
}
