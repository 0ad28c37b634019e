use super::*;
use proptest::prelude::*;

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn of(text: &str) -> Profile {
    Profile::parse(text, |_| Err("no such file".to_owned())).unwrap()
}

fn refused(text: &str) -> String {
    Profile::parse(text, |_| Err("no such file".to_owned())).unwrap_err().to_string()
}

#[test]
fn rates_are_read_with_their_letters() {
    for (text, expected) in [
        ("10G", 10e9),
        ("100M", 100e6),
        ("1.5G", 1.5e9),
        ("64k", 64e3),
        ("64K", 64e3),
        ("9600", 9_600.0),
        (" 2g ", 2e9),
        ("0.5m", 500e3),
        ("1k", crate::BIT_RATE_MIN),
        ("400G", 400e9),
    ] {
        assert_eq!(parse_bit_rate(text.trim()).unwrap(), expected, "{text}");
    }
    for text in
        ["", "G", "10T", "10 G b", "-10G", "+1G", "1e9", "inf", "nan", "1.2.3G", "0", "999", "401G", "10µ"]
    {
        let error = parse_bit_rate(text).unwrap_err().to_string();
        assert!(error.starts_with("rate: ") && error.contains(text), "{text}: {error}");
    }
}

#[test]
fn each_form_has_its_rate_at_each_moment() {
    for (text, moments) in [
        ("100M", &[(0.0, 100e6), (1e6, 100e6)][..]),
        (
            "steps:0s=10M,5s=10G,500min=0",
            &[(0.0, 10e6), (4.999, 10e6), (5.0, 10e9), (29_999.0, 10e9), (30_000.0, 0.0)],
        ),
        ("steps: 0 = 10M , 1ms = 20M", &[(0.0, 10e6), (0.001, 20e6)]),
        ("ramp:10M..10G/30s", &[(0.0, 10e6), (15.0, 5.005e9), (30.0, 10e9), (99.0, 10e9)]),
        ("ramp:1G..1M/1h", &[(0.0, 1e9), (1_800.0, 500.5e6), (3_600.0, 1e6)]),
        ("sine:1G+-500M/10s", &[(0.0, 1e9), (2.5, 1.5e9), (5.0, 1e9), (7.5, 0.5e9), (1_002.5, 1.5e9)]),
        ("poisson:1G", &[(0.0, 1e9), (7.0, 1e9)]),
    ] {
        let profile = of(text);
        for (at, expected) in moments {
            let rate = profile.rate_at(seconds(*at));
            assert!((rate - expected).abs() < 1e-3, "{text} at {at} s: {rate}");
        }
        assert_eq!(profile.is_random(), text.starts_with("poisson"));
    }
}

#[test]
fn the_next_change_is_the_next_step_or_a_grain_later() {
    let ms = Duration::from_millis;
    for (text, elapsed, expected) in [
        ("100M", ms(0), None),
        ("poisson:1G", ms(0), None),
        ("steps:0s=10M,5s=10G,8s=1G", ms(0), Some(ms(5_000))),
        ("steps:0s=10M,5s=10G,8s=1G", ms(5_000), Some(ms(8_000))),
        ("steps:0s=10M,5s=10G,8s=1G", ms(8_000), None),
        ("ramp:10M..10G/30s", ms(7), Some(ms(8))),
        ("ramp:10M..10G/30s", Duration::from_micros(29_999_500), Some(ms(30_000))),
        ("ramp:10M..10G/30s", ms(30_000), None),
        ("sine:1G+-500M/10s", ms(99_999), Some(ms(100_000))),
    ] {
        assert_eq!(of(text).next_change(elapsed), expected, "{text} after {elapsed:?}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_part() {
    for (text, expected) in [
        ("", "rate: \"\" is not a rate"),
        ("fast", "rate: \"fast\" is not a rate"),
        ("500G", "rate: 500G is not from 1000 to 400000000000 bit/s"),
        ("saw:1G", "profile: \"saw\" is not one of steps, ramp, sine, poisson, trace"),
        ("steps:", "steps, step 1, rate: \"\" has none; a step is TIME=RATE"),
        ("steps:0s=1G,5s", "steps, step 2, rate: \"5s\" has none"),
        ("steps:1s=1G", "steps, step 1, time: the first is to be at 0"),
        ("steps:0s=1G,5s=x", "steps, step 2, rate: \"x\" is not a rate"),
        ("steps:0s=1G,5x=1G", "steps, step 2, time: \"5x\" is not a time"),
        ("steps:0s=1G,5s=2G,5s=3G", "steps, step 3, time: 5 s is not later than the one before, 5 s"),
        ("steps:0s=1G,9000h=2G", "steps, step 2, time: 9000h is over the limit of 31622400 s"),
        ("ramp:1G", "ramp: \"1G\" has no \"/\"; a ramp is RATE..RATE/TIME"),
        ("ramp:1G/5s", "ramp: \"1G\" has no \"..\"; a ramp is RATE..RATE/TIME"),
        ("ramp:0..1G/5s", "ramp, first rate: 0 is not from"),
        ("ramp:1G..1/5s", "ramp, last rate: 1 is not from"),
        ("ramp:1G..2G/0s", "ramp, time: it is to be above 0"),
        ("sine:1G/5s", "sine: \"1G\" has no \"+-\"; a sine is RATE+-RATE/TIME"),
        ("sine:1G+-1G/5s", "sine, swing: 1000000000 less and plus 1000000000 bit/s is not from"),
        ("sine:300G+-200G/5s", "sine, swing: "),
        ("sine:1G+-1M/-5s", "sine, time: \"-5s\" is not a time"),
        ("poisson:0", "poisson: 0 is not from"),
        ("trace:/none", "trace /none: no such file"),
    ] {
        let told = refused(text);
        assert!(told.starts_with(expected), "{text}: {told}");
    }
}

#[test]
fn a_trace_is_a_step_for_each_row() {
    let file = "seconds, bits_per_s\r\n# a comment\r\n0,10M\r\n\r\n0.25,1500000\r\n 2 , 0\r\n3s,1G\r\n";
    let read = |name: &str| {
        assert_eq!(name, "C:/rates.csv");
        Ok(file.to_owned())
    };
    let profile = Profile::parse("trace:C:/rates.csv", read).unwrap();
    assert_eq!(profile, of("steps:0=10M,250ms=1.5M,2s=0,3s=1G"));
    assert_eq!(profile, Profile::trace(file).unwrap());
}

#[test]
fn an_error_of_a_trace_names_line_and_field() {
    for (file, expected) in [
        ("", "line 1: no row; a row is seconds,bits_per_s"),
        ("seconds,bits_per_s\n", "line 1: no row"),
        ("0;10M\n", "line 1, bits_per_s: is missing; a row is seconds,bits_per_s"),
        ("0,10M\nseconds,bits_per_s\n", "line 2, seconds: \"seconds\" is not a time"),
        ("seconds,bits_per_s\n\n0,10M\n1,10M,3\n", "line 4, bits_per_s: \"10M,3\" is not a rate"),
        ("0,10M\n1,12\n", "line 2, bits_per_s: 12 is not from 1000"),
        ("5,10M\n", "line 1, seconds: the first is to be at 0"),
        ("0,10M\n2,1M\n1.5,1M\n", "line 3, seconds: 1.5 s is not later than the one before, 2 s"),
    ] {
        let told = Profile::trace(file).unwrap_err().to_string();
        assert!(told.starts_with(expected), "{file:?}: {told}");
        let told = Profile::parse("trace:f", |_| Ok(file.to_owned())).unwrap_err().to_string();
        assert!(told.starts_with(&format!("trace f, {expected}")), "{file:?}: {told}");
    }
}

#[test]
fn more_rows_than_the_limit_are_refused_at_the_first_one_too_many() {
    use std::fmt::Write;
    let mut file = String::new();
    for row in 0..=PROFILE_STEPS_MAX {
        writeln!(file, "{row},1M").unwrap();
    }
    let told = Profile::trace(&file).unwrap_err().to_string();
    assert_eq!(told, "line 1000001, seconds: more than 1000000 are not taken");
}

#[test]
fn the_peak_is_the_highest_rate() {
    for (text, expected) in [
        ("100M", 100e6),
        ("steps:0=1M,1=9M,2=0", 9e6),
        ("ramp:2G..1G/1s", 2e9),
        ("sine:1G+-500M/10s", 1.5e9),
        ("poisson:1G", 1e9),
    ] {
        assert_eq!(of(text).peak(), expected, "{text}");
    }
    assert_eq!(Profile::constant(1e6), Some(of("1M")));
    assert_eq!((Profile::constant(1.0), Profile::constant(f64::NAN)), (None, None));
}

/// Whoever follows the profile from one change to the next has asked for its bits, but for what it moves
/// within a grain.
#[test]
fn following_the_changes_asks_for_its_bits() {
    for text in ["7M", "steps:0=1M,1ms=9G,900ms=0", "ramp:10M..10G/700ms", "sine:1G+-500M/333ms"] {
        let profile = of(text);
        let (mut at, mut bits, end) = (Duration::ZERO, 0.0, seconds(1.0));
        while at < end {
            let next = profile.next_change(at).unwrap_or(end).min(end);
            assert!(next > at, "{text}: {next:?}");
            bits += profile.rate_at(at) * (next - at).as_secs_f64();
            at = next;
        }
        let exact = profile.bits_until(end);
        assert!((bits - exact).abs() < exact * 0.002, "{text}: {bits} of {exact}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(steps|ramp|sine|poisson|trace)?:?[0-9.,=+/a-zµ -]{0,24}") {
        if let Ok(profile) = Profile::parse(&text, |name| Ok(name.to_owned())) {
            for at in [0.0, 0.1, 7.0, 1e9] {
                let rate = profile.rate_at(seconds(at));
                prop_assert!(rate == 0.0 || text::in_bounds(rate).is_some(), "{} at {}: {}", text, at, rate);
                prop_assert!(rate <= profile.peak());
            }
        }
    }

    #[test]
    fn bits_are_the_integral_of_the_rate(from in 1e3..1e9, to in 1e3..1e9, over in 0.01..5.0, at in 0.0..8.0) {
        let swing = f64::min(from, to) * 0.5;
        let shapes = [
            Shape::Ramp { from, to, over: seconds(over) },
            Shape::Sine { mean: from + to, swing, period: seconds(over) },
            Shape::Steps(vec![
                RateStep { from: Duration::ZERO, rate: from, before: 0.0 },
                RateStep { from: seconds(over), rate: to, before: from * seconds(over).as_secs_f64() },
            ]),
        ];
        for shape in shapes {
            let profile = Profile { shape };
            let slices = 20_000;
            let sum = (0..slices)
                .map(|slice| profile.rate_at(seconds(at * (f64::from(slice) + 0.5) / f64::from(slices))))
                .sum::<f64>();
            let (sum, exact) = (sum * at / f64::from(slices), profile.bits_until(seconds(at)));
            let slice = profile.peak() * at / f64::from(slices); // a step may lie within one
            prop_assert!((sum - exact).abs() <= slice + exact * 1e-6, "{:?}: {} {}", profile, sum, exact);
        }
    }
}
