//! The text forms of rates, times and profiles.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use super::{PROFILE_STEPS_MAX, PROFILE_TIME_MAX, Profile, RateStep, Shape};
use crate::{BIT_RATE_MAX, BIT_RATE_MIN};

/// Why a profile is refused: the fault of whoever wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileError {
    /// Where: a part of the command line's form, or a line of the trace from 1 and its field.
    pub place: String,
    /// What is wrong there.
    pub problem: String,
}

impl Display for ProfileError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

impl std::error::Error for ProfileError {}

/// A rate in bits per second: a decimal number, with `k`, `M` or `G` (of either case) for 10^3, 10^6, 10^9.
/// `10G`, `1.5g`, `64k`, `9600`.
///
/// # Errors
/// If it is no such number, or not from [`BIT_RATE_MIN`] to [`BIT_RATE_MAX`].
pub fn parse_bit_rate(text: &str) -> Result<f64, ProfileError> {
    rate(text).map_err(at("rate"))
}

pub(super) fn in_bounds(rate: f64) -> Option<f64> {
    (BIT_RATE_MIN..=BIT_RATE_MAX).contains(&rate).then_some(rate)
}

pub(super) fn profile(
    text: &str,
    read: impl FnOnce(&str) -> Result<String, String>,
) -> Result<Profile, ProfileError> {
    let Some((kind, rest)) = text.split_once(':') else {
        return Ok(Profile { shape: Shape::Constant(parse_bit_rate(text.trim())?) });
    };
    let shape = match kind.trim() {
        "steps" => steps(rest)?,
        "ramp" => ramp(rest)?,
        "sine" => sine(rest)?,
        "poisson" => Shape::Poisson(rate(rest).map_err(at("poisson"))?),
        "trace" => {
            let text =
                read(rest).map_err(|problem| ProfileError { place: format!("trace {rest}"), problem })?;
            return trace(&text)
                .map_err(|e| ProfileError { place: format!("trace {rest}, {}", e.place), ..e });
        }
        other => {
            let problem = format!("\"{other}\" is not one of steps, ramp, sine, poisson, trace");
            return Err(at("profile")(problem));
        }
    };
    Ok(Profile { shape })
}

pub(super) fn trace(text: &str) -> Result<Profile, ProfileError> {
    let mut steps = Vec::new();
    let mut seen = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let head = !std::mem::replace(&mut seen, true);
        if head && line.replace(' ', "") == "seconds,bits_per_s" {
            continue;
        }
        let place = |field: &str| at(format!("line {number}, {field}"));
        let (seconds, bits_per_s) = line
            .split_once(',')
            .ok_or_else(|| place("bits_per_s")("is missing; a row is seconds,bits_per_s".to_owned()))?;
        let from = time(seconds).map_err(place("seconds"))?;
        let rate = rate_or_pause(bits_per_s).map_err(place("bits_per_s"))?;
        push(&mut steps, from, rate).map_err(place("seconds"))?;
    }
    if steps.is_empty() {
        return Err(at("line 1")("no row; a row is seconds,bits_per_s".to_owned()));
    }
    Ok(Profile { shape: Shape::Steps(steps) })
}

fn steps(text: &str) -> Result<Shape, ProfileError> {
    let mut steps = Vec::new();
    for (number, part) in (1..).zip(text.split(',')) {
        let place = |field: &str| at(format!("steps, step {number}, {field}"));
        let (from, to) = part
            .split_once('=')
            .ok_or_else(|| place("rate")(format!("\"{}\" has none; a step is TIME=RATE", part.trim())))?;
        let from = time(from).map_err(place("time"))?;
        let rate = rate_or_pause(to).map_err(place("rate"))?;
        push(&mut steps, from, rate).map_err(place("time"))?;
    }
    Ok(Shape::Steps(steps))
}

/// Appends a step, if it is later than the last one and they are not too many.
fn push(steps: &mut Vec<RateStep>, from: Duration, rate: f64) -> Result<(), String> {
    let before = match steps.last() {
        None if from.is_zero() => 0.0,
        None => return Err("the first is to be at 0: which rate there is before is not known".to_owned()),
        Some(last) if from <= last.from => {
            return Err(format!(
                "{} s is not later than the one before, {} s",
                from.as_secs_f64(),
                last.from.as_secs_f64()
            ));
        }
        Some(_) if steps.len() >= PROFILE_STEPS_MAX => {
            return Err(format!("more than {PROFILE_STEPS_MAX} are not taken"));
        }
        Some(last) => last.before + last.rate * (from - last.from).as_secs_f64(),
    };
    steps.push(RateStep { from, rate, before });
    Ok(())
}

fn ramp(text: &str) -> Result<Shape, ProfileError> {
    const FORM: &str = "a ramp is RATE..RATE/TIME";
    let (rates, over) = cut(text, "/", "ramp", FORM)?;
    let (from, to) = cut(rates, "..", "ramp", FORM)?;
    Ok(Shape::Ramp {
        from: rate(from).map_err(at("ramp, first rate"))?,
        to: rate(to).map_err(at("ramp, last rate"))?,
        over: time_above_zero(over).map_err(at("ramp, time"))?,
    })
}

fn sine(text: &str) -> Result<Shape, ProfileError> {
    const FORM: &str = "a sine is RATE+-RATE/TIME";
    let (rates, period) = cut(text, "/", "sine", FORM)?;
    let (mean, swing) = cut(rates, "+-", "sine", FORM)?;
    let mean = rate(mean).map_err(at("sine, mean"))?;
    let swing = rate(swing).map_err(at("sine, swing"))?;
    if in_bounds(mean - swing).is_none() || in_bounds(mean + swing).is_none() {
        let problem =
            format!("{mean} less and plus {swing} bit/s is not from {BIT_RATE_MIN} to {BIT_RATE_MAX} bit/s");
        return Err(at("sine, swing")(problem));
    }
    Ok(Shape::Sine { mean, swing, period: time_above_zero(period).map_err(at("sine, time"))? })
}

fn cut<'t>(text: &'t str, by: &str, place: &str, form: &str) -> Result<(&'t str, &'t str), ProfileError> {
    text.split_once(by).ok_or_else(|| at(place)(format!("\"{text}\" has no \"{by}\"; {form}")))
}

fn at(place: impl Into<String>) -> impl FnOnce(String) -> ProfileError {
    let place = place.into();
    move |problem| ProfileError { place, problem }
}

fn rate_or_pause(text: &str) -> Result<f64, String> {
    if decimal(text.trim()) == Some(0.0) { Ok(0.0) } else { rate(text) }
}

fn rate(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let (number, factor) = match text.char_indices().last() {
        Some((end, 'k' | 'K')) => (&text[..end], 1e3),
        Some((end, 'm' | 'M')) => (&text[..end], 1e6),
        Some((end, 'g' | 'G')) => (&text[..end], 1e9),
        _ => (text, 1.0),
    };
    let number = decimal(number)
        .ok_or_else(|| format!("\"{text}\" is not a rate; rates are 64k, 100M, 1.5G or bits per second"))?;
    in_bounds(number * factor)
        .ok_or_else(|| format!("{text} is not from {BIT_RATE_MIN} to {BIT_RATE_MAX} bit/s"))
}

fn time(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let factor = match &text[end..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "min" => 60.0,
        "h" => 3_600.0,
        _ => f64::NAN,
    };
    let seconds =
        decimal(text[..end].trim()).map(|number| number * factor).filter(|seconds| !seconds.is_nan());
    let seconds = seconds
        .ok_or_else(|| format!("\"{text}\" is not a time; times are 500ms, 5s, 2min, 1h or seconds"))?;
    if seconds > PROFILE_TIME_MAX.as_secs_f64() {
        return Err(format!("{text} is over the limit of {} s", PROFILE_TIME_MAX.as_secs()));
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn time_above_zero(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err("it is to be above 0".to_owned()),
        time => Ok(time),
    }
}

/// Digits with at most one point: no sign, no exponent, no "inf".
fn decimal(text: &str) -> Option<f64> {
    let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    if plain { text.parse().ok().filter(|number: &f64| number.is_finite()) } else { None }
}
