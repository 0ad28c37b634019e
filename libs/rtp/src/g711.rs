//! G.711 (ITU-T G.711): A-law and mu-law, both ways, exactly by the tables of the recommendation.

/// A companding law.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum G711Law {
    /// A-law: PCMA, payload type 8. 13 bits.
    #[default]
    A,
    /// Mu-law: PCMU, payload type 0. 14 bits.
    Mu,
}

/// A-law inverts the even bits (table 1a, note 2).
const A_INVERTED: u8 = 0x55;
/// Added to a magnitude of mu-law, in its 14 bits, so that segments begin at powers of two.
const MU_BIAS: i16 = 33;
/// Largest magnitude of mu-law, with the bias.
const MU_MAGNITUDE_MAX: i16 = 0x1FFF;
/// Values of all characters.
const A_VALUES: [i16; 256] = values(G711Law::A);
const MU_VALUES: [i16; 256] = values(G711Law::Mu);

impl G711Law {
    /// Static payload type (RFC 3551 section 6).
    pub const fn payload_type(self) -> u8 {
        match self {
            G711Law::Mu => 0,
            G711Law::A => 8,
        }
    }

    /// Encoding name of `a=rtpmap` (RFC 3551 section 6).
    pub const fn name(self) -> &'static str {
        match self {
            G711Law::Mu => "PCMU",
            G711Law::A => "PCMA",
        }
    }

    /// The character of silence: +0 of mu-law, the smallest positive value of A-law.
    pub const fn silence(self) -> u8 {
        match self {
            G711Law::Mu => 0xFF,
            G711Law::A => 0x80 ^ A_INVERTED,
        }
    }

    /// Encodes a sample. Of 16 bits the lower 3 (A) or 2 (mu) are beyond the law's accuracy.
    pub const fn encode(self, sample: i16) -> u8 {
        // In one's complement, as the sign has a bit of its own.
        let (sign, magnitude) = if sample < 0 { (0, !sample) } else { (0x80, sample) };
        match self {
            G711Law::A => (sign | encode_a(magnitude >> 4)) ^ A_INVERTED,
            G711Law::Mu => !(!sign & 0x80 | encode_mu(magnitude >> 2)),
        }
    }

    /// Decodes a character: A-law up to ±32,256, mu-law up to ±32,124.
    pub const fn decode(self, character: u8) -> i16 {
        match self {
            G711Law::A => A_VALUES[character as usize],
            G711Law::Mu => MU_VALUES[character as usize],
        }
    }

    /// Encodes into `out`: as many as the shorter of both has.
    pub fn encode_to(self, samples: &[i16], out: &mut [u8]) {
        for (character, sample) in out.iter_mut().zip(samples) {
            *character = self.encode(*sample);
        }
    }

    /// Decodes into `out`: as many as the shorter of both has.
    pub fn decode_to(self, characters: &[u8], out: &mut [i16]) {
        let values = match self {
            G711Law::A => &A_VALUES,
            G711Law::Mu => &MU_VALUES,
        };
        for (sample, character) in out.iter_mut().zip(characters) {
            *sample = values[usize::from(*character)];
        }
    }
}

/// Segment and step of a magnitude of 11 bits: below 32 two segments share a step size of 1 (in these units).
const fn encode_a(magnitude: i16) -> u8 {
    let mut segment = 0;
    while magnitude >> segment > 31 {
        segment += 1;
    }
    match magnitude < 16 {
        true => magnitude as u8,
        false => ((segment + 1) << 4) as u8 | (magnitude >> segment) as u8 & 0x0F,
    }
}

/// Segment and step of a magnitude of 13 bits.
const fn encode_mu(magnitude: i16) -> u8 {
    let biased = if magnitude + MU_BIAS > MU_MAGNITUDE_MAX { MU_MAGNITUDE_MAX } else { magnitude + MU_BIAS };
    let mut segment = 0;
    while biased >> (segment + 1) > 31 {
        segment += 1;
    }
    (segment << 4) as u8 | (biased >> (segment + 1)) as u8 & 0x0F
}

const fn decode_a(character: u8) -> i16 {
    let bits = character ^ A_INVERTED;
    let step = (bits & 0x0F) as i16;
    let magnitude = match (bits >> 4) & 7 {
        0 => (step << 4) + 8,
        segment => ((step << 4) + 0x108) << (segment - 1),
    };
    if bits & 0x80 == 0 { -magnitude } else { magnitude }
}

const fn decode_mu(character: u8) -> i16 {
    let bits = !character;
    let step = (bits & 0x0F) as i16;
    let magnitude = (((step << 1) + MU_BIAS) << ((bits >> 4) & 7)) - MU_BIAS;
    if bits & 0x80 != 0 { -(magnitude << 2) } else { magnitude << 2 }
}

const fn values(law: G711Law) -> [i16; 256] {
    let mut values = [0; 256];
    let mut at = 0;
    while at < 256 {
        values[at] = match law {
            G711Law::A => decode_a(at as u8),
            G711Law::Mu => decode_mu(at as u8),
        };
        at += 1;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAWS: [G711Law; 2] = [G711Law::A, G711Law::Mu];

    /// Decision values x of table 1a with the character signals as sent, and decoder output values y (times
    /// 8: 13 bits in 16): `(x_n, x_n+1, character, y)`.
    const A_ROWS: [(i32, i32, u8, i16); 11] = [
        (0, 2, 0b1101_0101, 1),
        (2, 4, 0b1101_0100, 3),
        (62, 64, 0b1100_1010, 63),
        (64, 68, 0b1111_0101, 66),
        (128, 136, 0b1110_0101, 132),
        (256, 272, 0b1001_0101, 264),
        (512, 544, 0b1000_0101, 528),
        (1_024, 1_088, 0b1011_0101, 1_056),
        (1_984, 2_048, 0b1011_1010, 2_016),
        (2_048, 2_176, 0b1010_0101, 2_112),
        (3_968, 4_096, 0b1010_1010, 4_032),
    ];

    /// Table 2a, values times 4 (14 bits in 16).
    const MU_ROWS: [(i32, i32, u8, i16); 11] = [
        (0, 1, 0b1111_1111, 0),
        (1, 3, 0b1111_1110, 2),
        (29, 31, 0b1111_0000, 30),
        (31, 35, 0b1110_1111, 33),
        (95, 103, 0b1101_1111, 99),
        (223, 239, 0b1100_1111, 231),
        (479, 511, 0b1011_1111, 495),
        (991, 1_055, 0b1010_1111, 1_023),
        (2_015, 2_143, 0b1001_1111, 2_079),
        (4_063, 4_319, 0b1000_1111, 4_191),
        (7_903, 8_159, 0b1000_0000, 8_031),
    ];

    #[test]
    fn decision_values_and_outputs_are_those_of_the_tables() {
        for (law, rows, unit) in [(G711Law::A, A_ROWS, 8), (G711Law::Mu, MU_ROWS, 4)] {
            for (from, to, character, value) in rows {
                let last = (to * i32::from(unit) - 1).min(32_767) as i16;
                assert_eq!(law.encode((from * i32::from(unit)) as i16), character, "{law:?} {from}");
                assert_eq!(law.encode(last), character, "{law:?} below {to}");
                assert_eq!(law.decode(character), value * unit, "{law:?} {character:08b}");
                assert_eq!(law.encode(-last - 1), character & 0x7F, "{law:?} -{to}");
                assert_eq!(law.decode(character & 0x7F), -value * unit);
            }
        }
    }

    #[test]
    fn each_character_is_encoded_again_as_itself_but_for_the_negative_zero_of_mu_law() {
        for law in LAWS {
            for character in 0..=255 {
                let again = law.encode(law.decode(character));
                let expected = if law == G711Law::Mu && character == 0x7F { 0xFF } else { character };
                assert_eq!(again, expected, "{law:?} {character:#x}");
            }
        }
    }

    #[test]
    fn each_sample_gets_the_nearest_character_or_the_one_beside_it_at_a_segments_end() {
        for law in LAWS {
            let mut all: Vec<i32> = (0..=255).map(|character| i32::from(law.decode(character))).collect();
            all.sort_unstable();
            for sample in i16::MIN..=i16::MAX {
                let decoded = i32::from(law.decode(law.encode(sample)));
                let sample = i32::from(sample);
                let at = all.partition_point(|value| *value < sample);
                let near = [at.checked_sub(1), Some(at)].into_iter().flatten();
                let best =
                    near.filter_map(|at| all.get(at)).map(|value| (value - sample).abs()).min().unwrap();
                // Between two segments the decision value is a third of the way from the finer step.
                assert!((decoded - sample).abs() <= 2 * best + 2, "{law:?} {sample} became {decoded}");
            }
        }
    }

    #[test]
    fn silence_decodes_to_nearly_nothing_and_is_what_zero_encodes_to() {
        for law in LAWS {
            assert_eq!(law.encode(0), law.silence());
            assert!(law.decode(law.silence()).abs() <= 8);
        }
        assert_eq!((G711Law::A.silence(), G711Law::Mu.silence()), (0xD5, 0xFF));
    }

    #[test]
    fn many_samples_are_as_each_alone() {
        let samples: Vec<i16> = (i16::MIN..=i16::MAX).step_by(37).collect();
        for law in LAWS {
            let mut characters = vec![0; samples.len()];
            law.encode_to(&samples, &mut characters);
            let mut decoded = vec![0; samples.len()];
            law.decode_to(&characters, &mut decoded);
            for (sample, decoded) in samples.iter().zip(decoded) {
                assert_eq!(decoded, law.decode(law.encode(*sample)));
            }
        }
    }
}
