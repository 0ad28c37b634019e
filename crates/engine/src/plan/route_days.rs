//! RouteDays holds what a route did in the last 30 days, in histograms by the day: the times in which its
//! carrier answered and the network confirmed, what got lost, how forecasts held, and when it was down.

use records::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Days that are kept.
pub const DAYS_MAX: i64 = 30;
/// Downtimes that are kept, the newest.
const DOWNTIMES_MAX: usize = 50;
/// The bounds of the first bucket of a histogram, milliseconds; each further one ends at the root of two
/// times the bound before it.
const FIRST_MS: f64 = 4.0;
/// Buckets: the last begins at about a day.
const BUCKETS: u8 = 50;
/// Microseconds of a day.
const DAY_US: i64 = 86_400_000_000;

/// Times, in buckets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "KeptHistogram", into = "KeptHistogram")]
pub struct Histogram {
    /// One for each bucket, or none at all.
    counts: Vec<u64>,
    sum_ms: u64,
}

/// As it is kept: buckets that have something.
#[derive(Serialize, Deserialize)]
struct KeptHistogram {
    counts: BTreeMap<u8, u64>,
    sum_ms: u64,
}

impl From<Histogram> for KeptHistogram {
    fn from(histogram: Histogram) -> KeptHistogram {
        let counts = histogram.filled().collect();
        KeptHistogram { counts, sum_ms: histogram.sum_ms }
    }
}

impl From<KeptHistogram> for Histogram {
    fn from(kept: KeptHistogram) -> Histogram {
        let mut histogram = Histogram { sum_ms: kept.sum_ms, ..Histogram::default() };
        kept.counts.into_iter().for_each(|(bucket, count)| histogram.count_in(bucket, count));
        histogram
    }
}

impl Histogram {
    /// One more time.
    pub fn note_ms(&mut self, ms: u64) {
        self.count_in(bucket(ms), 1);
        self.sum_ms = self.sum_ms.saturating_add(ms);
    }

    fn count_in(&mut self, bucket: u8, count: u64) {
        if self.counts.is_empty() {
            self.counts = vec![0; usize::from(BUCKETS)];
        }
        self.counts[usize::from(bucket.min(BUCKETS - 1))] += count;
    }

    /// Buckets that have something, in order.
    fn filled(&self) -> impl Iterator<Item = (u8, u64)> + '_ {
        (0..).zip(self.counts.iter().copied()).filter(|(_, count)| *count > 0)
    }

    /// All times of another one.
    pub fn add(&mut self, other: &Histogram) {
        other.filled().for_each(|(bucket, count)| self.count_in(bucket, count));
        self.sum_ms = self.sum_ms.saturating_add(other.sum_ms);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The mean, seconds; nothing of none.
    pub fn mean_s(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum_ms as f64 / count as f64 / 1000.0)
    }

    /// The time, in seconds, within which such a part (0 to 1) of them are; nothing of none.
    pub fn quantile_s(&self, part: f64) -> Option<f64> {
        let count = self.count();
        let wanted = part.clamp(0.0, 1.0) * count as f64;
        let mut below = 0.0;
        for (bucket, here) in self.filled() {
            if below + here as f64 >= wanted {
                let within = ((wanted - below) / here as f64).clamp(0.0, 1.0);
                let from = if bucket == 0 { 0.0 } else { bound_ms(bucket - 1) };
                return Some((from + (bound_ms(bucket) - from) * within) / 1000.0);
            }
            below += here as f64;
        }
        None
    }
}

fn bound_ms(bucket: u8) -> f64 {
    FIRST_MS * (f64::from(bucket) / 2.0).exp2()
}

/// The first bucket whose bound is not below it, else the last.
fn bucket(ms: u64) -> u8 {
    static WHOLE_BOUNDS: LazyLock<[u64; BUCKETS as usize - 1]> =
        LazyLock::new(|| std::array::from_fn(|bucket| bound_ms(bucket as u8) as u64));
    WHOLE_BOUNDS.partition_point(|bound| *bound < ms) as u8
}

/// One day of a route.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RouteDay {
    /// Times until the carrier answered.
    pub answers: Histogram,
    /// Times from there until the network confirmed.
    pub confirmations: Histogram,
    /// Refused for good, or tried too often.
    pub refused: u64,
    /// Taken and then not delivered.
    pub lost: u64,
    /// Alerts whose forecast is compared with what happened …
    pub alerts: u64,
    /// … the seconds that were forecast for the route …
    pub forecast_s: f64,
    /// … and those that it took.
    pub fact_s: f64,
}

impl RouteDay {
    fn add(&mut self, other: &RouteDay) {
        self.answers.add(&other.answers);
        self.confirmations.add(&other.confirmations);
        self.refused += other.refused;
        self.lost += other.lost;
        self.alerts += other.alerts;
        self.forecast_s += other.forecast_s;
        self.fact_s += other.fact_s;
    }
}

/// A time in which a route could not send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Downtime {
    pub from: Timestamp,
    /// Nothing: it lasts.
    pub until: Option<Timestamp>,
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RouteDays {
    /// By the number of the day since 1970, UTC.
    days: BTreeMap<i64, RouteDay>,
    downtimes: Vec<Downtime>,
}

impl RouteDays {
    /// The day of a moment; older ones than are kept go.
    pub fn today(&mut self, now: Timestamp) -> &mut RouteDay {
        let today = now.0.div_euclid(DAY_US);
        if self.days.last_key_value().is_none_or(|(newest, _)| *newest < today) {
            self.days.retain(|day, _| *day > today - DAYS_MAX);
        }
        self.days.entry(today).or_default()
    }

    /// Everything of another one, which came later.
    pub fn add(&mut self, later: &RouteDays, now: Timestamp) {
        for (day, of_day) in &later.days {
            self.days.entry(*day).or_default().add(of_day);
        }
        later.downtimes.iter().for_each(|downtime| self.note_downtime(*downtime));
        let today = now.0.div_euclid(DAY_US);
        self.days.retain(|day, _| *day > today - DAYS_MAX);
    }

    /// It went down, or the end of a downtime is known.
    pub fn note_downtime(&mut self, downtime: Downtime) {
        match self.downtimes.iter_mut().find(|known| known.from == downtime.from) {
            Some(known) => known.until = downtime.until.or(known.until),
            None => self.downtimes.push(downtime),
        }
        let over = self.downtimes.len().saturating_sub(DOWNTIMES_MAX);
        self.downtimes.drain(..over);
    }

    /// The first time that it was down within these moments.
    pub fn down_between(&self, from: Timestamp, until: Timestamp) -> Option<Downtime> {
        let is_within = |one: &&Downtime| one.from < until && one.until.is_none_or(|ended| ended > from);
        self.downtimes.iter().find(is_within).copied()
    }

    /// Nothing is known.
    pub fn is_empty(&self) -> bool {
        self.days.is_empty() && self.downtimes.is_empty()
    }

    /// Days of which there is a confirmation, and the first of them.
    pub fn confirmed_days(&self) -> Option<(usize, Timestamp)> {
        let mut confirmed = self.days.iter().filter(|(_, day)| day.confirmations.count() > 0);
        let first = Timestamp(confirmed.next()?.0 * DAY_US);
        Some((1 + confirmed.count(), first))
    }

    /// Times until the carrier answered, of all days.
    pub fn answers(&self) -> Histogram {
        self.sum(|day| &day.answers)
    }

    /// Times until the network confirmed, of all days.
    pub fn confirmations(&self) -> Histogram {
        self.sum(|day| &day.confirmations)
    }

    fn sum(&self, of: impl Fn(&RouteDay) -> &Histogram) -> Histogram {
        let mut sum = Histogram::default();
        self.days.values().for_each(|day| sum.add(of(day)));
        sum
    }

    /// The part of what was tried that the carrier refused for good.
    pub fn refused_part(&self) -> f64 {
        let refused: u64 = self.days.values().map(|day| day.refused).sum();
        part(refused, refused + self.answers().count())
    }

    /// The part of what the carrier took that the network confirmed; nothing: it has never confirmed.
    pub fn confirmed_part(&self) -> Option<f64> {
        let confirmed = self.confirmations().count();
        // A confirmation may be of a day on which no answer is kept any more.
        (confirmed > 0).then(|| part(confirmed, self.answers().count().max(confirmed)))
    }

    /// The part of what the carrier took that the network said it lost.
    pub fn lost_part(&self) -> f64 {
        let lost: u64 = self.days.values().map(|day| day.lost).sum();
        part(lost, self.answers().count().max(lost))
    }

    /// How many times longer alerts took than was forecast, of all days; nothing: none was compared.
    pub fn score(&self) -> Option<f64> {
        let forecast: f64 = self.days.values().map(|day| day.forecast_s).sum();
        let fact: f64 = self.days.values().map(|day| day.fact_s).sum();
        (forecast > 0.0).then(|| fact / forecast)
    }

    /// Alerts that were compared.
    pub fn compared(&self) -> u64 {
        self.days.values().map(|day| day.alerts).sum()
    }
}

fn part(some: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { some as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_within_a_bucket_of_the_time_that_was_noted() {
        let mut times = Histogram::default();
        assert_eq!((times.quantile_s(0.5), times.mean_s()), (None, None));
        for ms in 1..=1_000 {
            times.note_ms(ms);
        }
        for (part, exact) in [(0.5, 0.5), (0.95, 0.95), (0.99, 0.99)] {
            let found = times.quantile_s(part).unwrap();
            assert!((found / exact - 1.0).abs() < 0.2, "{part}: {found}");
        }
        assert!((times.mean_s().unwrap() - 0.5005).abs() < 1e-9);
    }

    #[test]
    fn a_time_is_in_the_first_bucket_whose_bound_it_does_not_exceed_and_is_kept_sparsely() {
        for ms in [0, 1, 4, 5, 6, 8, 9, 11, 12, 1_000, 1_024, 1_025, 86_400_000, u64::MAX] {
            let by_definition = (0..BUCKETS - 1).find(|bucket| ms as f64 <= bound_ms(*bucket));
            assert_eq!(bucket(ms), by_definition.unwrap_or(BUCKETS - 1), "{ms}");
        }
        let mut times = Histogram::default();
        [3, 5, 5].into_iter().for_each(|ms| times.note_ms(ms));
        let kept = serde_json::to_string(&times).unwrap();
        assert_eq!(kept, r#"{"counts":{"0":1,"1":2},"sum_ms":13}"#);
        assert_eq!(serde_json::from_str::<Histogram>(&kept).unwrap(), times);
    }

    #[test]
    fn thirty_days_are_kept_and_parts_that_came_later_are_added() {
        let day = |number: i64| Timestamp(number * DAY_US + 5);
        let mut kept = RouteDays::default();
        kept.today(day(100)).answers.note_ms(10);
        kept.today(day(101)).confirmations.note_ms(2_000);
        let mut later = RouteDays::default();
        later.today(day(101)).confirmations.note_ms(2_000);
        later.today(day(101)).answers.note_ms(10);
        kept.add(&later, day(101));
        assert_eq!((kept.confirmations().count(), kept.answers().count()), (2, 2));
        assert_eq!(kept.confirmed_days(), Some((1, Timestamp(101 * DAY_US))));
        kept.add(&RouteDays::default(), day(131));
        assert!(kept.is_empty(), "{kept:?}");
    }

    #[test]
    fn a_downtime_is_found_by_the_moments_that_it_covers() {
        let at = |seconds: i64| Timestamp(seconds * 1_000_000);
        let mut days = RouteDays::default();
        days.note_downtime(Downtime { from: at(10), until: None });
        assert_eq!(days.down_between(at(0), at(5)), None);
        assert_eq!(days.down_between(at(20), at(30)).map(|down| down.from), Some(at(10)));
        days.note_downtime(Downtime { from: at(10), until: Some(at(15)) });
        assert_eq!(days.down_between(at(20), at(30)), None, "it was up again before");
        assert!(days.down_between(at(12), at(13)).is_some());
    }
}
