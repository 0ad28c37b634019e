use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// The most messages in any window of `span`, both ends included.
fn busiest(writes: &[Instant], span: Duration) -> usize {
    let mut sorted = writes.to_vec();
    sorted.sort();
    let mut first = 0;
    let mut most = 0;
    for (last, &at) in sorted.iter().enumerate() {
        while at - sorted[first] > span {
            first += 1;
        }
        most = most.max(last - first + 1);
    }
    most
}

/// Drives a limiter with work always at hand. Each wake-up is late by what `late` says, each write takes what
/// `writing` says; returns when each message really was written.
fn saturated(
    limiter: &mut Limiter,
    start: Instant,
    run: Duration,
    mut late: impl FnMut() -> Duration,
    writing: Duration,
) -> Vec<Instant> {
    let mut now = start;
    let mut writes = Vec::new();
    while now < start + run {
        let granted = limiter.grant(now, 1_000_000);
        for _ in 0..granted {
            writes.push(now + writing / 2);
        }
        if granted > 0 {
            now += writing;
            limiter.wrote(now, granted);
        }
        let next = limiter.next(now).expect("nothing is under way");
        now = next.max(now + us(1)) + late();
    }
    writes.retain(|&at| at < start + run);
    writes
}

/// A small generator, so that a failing seed can be printed and run again.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

#[test]
fn a_saturated_route_stays_below_its_rate_in_every_second_and_reaches_99_percent() {
    // rate, seconds
    for (rate, seconds) in [
        (1.0, 400),
        (2.0, 300),
        (5.0, 200),
        (10.0, 120),
        (50.0, 120),
        (333.0, 40),
        (1_000.0, 30),
        (50_000.0, 5),
    ] {
        let start = Instant::now();
        let mut limiter = Limiter::new(rate, start);
        let mut random = Lcg(7);
        let run = SECOND * seconds;
        let writes = saturated(&mut limiter, start, run, || us(random.below(2_000)), us(40));
        let most = busiest(&writes, SECOND);
        assert!(most <= rate as usize, "rate {rate}: {most} in one second");
        let reached = writes.len() as f64 / run.as_secs_f64() / rate;
        assert!(reached >= 0.99, "rate {rate}: {:.2} % of it", reached * 100.0);
        assert!(reached <= 1.0 + 1.0 / (rate * run.as_secs_f64()), "rate {rate}: {reached}");
    }
}

#[test]
fn a_fractional_rate_below_one_is_one_message_per_period() {
    let start = Instant::now();
    let mut limiter = Limiter::new(0.5, start);
    let writes = saturated(&mut limiter, start, SECOND * 400, || us(500), us(40));
    assert_eq!(busiest(&writes, SECOND * 2), 1);
    assert!((199..=201).contains(&writes.len()), "{}", writes.len());
}

#[test]
fn a_fractional_rate_above_one_holds_rounded_up_over_its_longer_window() {
    let start = Instant::now();
    let mut limiter = Limiter::new(2.5, start);
    let writes = saturated(&mut limiter, start, SECOND * 400, || us(500), us(40));
    assert!(busiest(&writes, us(1_200_000)) <= 3);
    assert!(writes.len() >= 990, "{}", writes.len());
}

#[test]
fn stalls_are_caught_up_within_the_window() {
    let start = Instant::now();
    for rate in [5.0, 50.0, 1_000.0] {
        let mut limiter = Limiter::new(rate, start);
        let mut random = Lcg(3);
        // One wake-up in 500 ms comes 80 ms late.
        let every = (rate / 2.0) as u64;
        let late = || if random.below(every) == 0 { us(80_000) } else { us(random.below(1_000)) };
        let writes = saturated(&mut limiter, start, SECOND * 60, late, us(40));
        let most = busiest(&writes, SECOND);
        assert!(most <= rate as usize, "rate {rate}: {most} in one second");
        let reached = writes.len() as f64 / 60.0 / rate;
        assert!(reached >= 0.90, "rate {rate}: {:.2} %", reached * 100.0);
    }
}

#[test]
fn after_a_single_stall_the_rate_is_whole_and_the_clump_dissolves() {
    let start = Instant::now();
    let mut limiter = Limiter::new(100.0, start);
    let mut wakes = 0;
    let late = || {
        wakes += 1;
        if wakes == 500 { us(90_000) } else { us(500) }
    };
    let writes = saturated(&mut limiter, start, SECOND * 60, late, us(40));
    assert!(writes.len() >= 5_940, "{}", writes.len());
    let end: Vec<Instant> = writes.into_iter().filter(|&at| at > start + SECOND * 50).collect();
    assert!(busiest(&end, us(100_000)) <= 12, "{} in 100 ms", busiest(&end, us(100_000)));
}

#[test]
fn traffic_is_even_not_one_burst_per_second() {
    let start = Instant::now();
    let mut limiter = Limiter::new(100.0, start);
    let writes = saturated(&mut limiter, start + SECOND * 3_600, SECOND * 10, || us(500), us(40));
    let after_idle: Vec<Instant> = writes.iter().copied().filter(|&at| at < start + SECOND * 3_601).collect();
    assert!(busiest(&after_idle, us(100_000)) <= 22, "{}", busiest(&after_idle, us(100_000)));
    assert!(busiest(&writes[200..], us(100_000)) <= 21);
}

#[test]
fn a_start_gives_no_credit_for_one_window() {
    let start = Instant::now();
    for (rate, window) in [(50.0, SECOND), (0.5, SECOND * 2)] {
        let mut limiter = Limiter::new(rate, start);
        limiter.start(start);
        assert_eq!(limiter.grant(start + window, 9), 0, "rate {rate}");
        assert_eq!(limiter.next(start), Some(start + window + WINDOW_MARGIN));
        assert!(limiter.grant(start + window + WINDOW_MARGIN, 9) > 0, "rate {rate}");
    }
}

#[test]
fn what_is_under_way_counts_until_it_is_reported() {
    let start = Instant::now();
    let mut limiter = Limiter::new(1.0, start);
    assert_eq!(limiter.grant(start, 5), 1);
    let later = start + SECOND * 10;
    assert_eq!(limiter.grant(later, 5), 0, "the one is still under way");
    assert_eq!((limiter.next(later), limiter.under_way()), (None, 1));
    limiter.wrote(later, 1);
    let free = later + SECOND + WINDOW_MARGIN;
    assert_eq!((limiter.next(later), limiter.under_way()), (Some(free), 0));
    assert_eq!(limiter.grant(free, 5), 1);
    limiter.unused(1);
    assert_eq!(limiter.next(free), Some(free), "what was not written may be granted at once");
}

#[test]
fn a_lower_rate_holds_over_what_was_written_before() {
    let start = Instant::now();
    let mut limiter = Limiter::new(100.0, start);
    let writes = saturated(&mut limiter, start, SECOND * 2, || us(200), us(10));
    let now = start + SECOND * 2 + us(5_000);
    limiter.set_rate(10.0, now);
    assert_eq!(limiter.grant(now, 100), 0);
    let next = limiter.next(now).expect("stamps leave");
    let before = writes.iter().filter(|&&at| at > next - SECOND).count();
    assert_eq!(before, 9, "the tenth last has just left");
}

#[test]
fn rates_change_while_running() {
    let start = Instant::now();
    let mut limiter = Limiter::new(0.1, start);
    assert_eq!(limiter.grant(start, 5), 1);
    limiter.wrote(start, 1);
    limiter.set_rate(100.0, start);
    assert!(limiter.next(start).is_some_and(|at| at < start + us(20_000)), "the slow due time is forgotten");
    limiter.set_rate(0.0, start);
    assert_eq!(limiter.grant(start, 5_000), 5_000);
    limiter.wrote(start, 5_000);
    limiter.set_rate(100.0, start);
    assert_eq!(limiter.grant(start + SECOND, 5), 0, "what was written without a limit was not remembered");
    assert!(limiter.grant(start + SECOND + WINDOW_MARGIN, 5) > 0);
}

#[test]
fn strange_rates_are_bounded() {
    let start = Instant::now();
    for rate in [f64::NAN, -3.0, 1e-300, f64::INFINITY, 1e300, f64::MIN_POSITIVE] {
        let mut limiter = Limiter::new(rate, start);
        limiter.start(start);
        let later = start + SECOND * 86_401;
        let granted = limiter.grant(later, usize::MAX);
        assert!(granted >= 1 && granted <= RATE_MAX as usize, "rate {rate}: {granted}");
        limiter.wrote(later, granted);
        assert!(limiter.next(later).is_some());
    }
}

#[test]
fn a_larger_share_waits_until_its_last_owner_has_left_the_window() {
    let start = Instant::now();
    let mut limiter = Limiter::new(10.0, start);
    limiter.set_share(0.0, start);
    assert_eq!((limiter.grant(start, 5), limiter.next(start)), (0, None));
    limiter.set_share(0.5, start);
    assert_eq!(limiter.next(start), Some(start + SECOND + WINDOW_MARGIN));
    assert_eq!(limiter.grant(start + SECOND, 5), 0);
    assert!(limiter.grant(start + SECOND + WINDOW_MARGIN, 5) > 0);
    assert_eq!(limiter.rate(), 5.0);
}

#[test]
fn two_processes_that_exchange_shares_stay_below_the_rate_together() {
    let start = Instant::now();
    let mut both = [Limiter::new(11.0, start), Limiter::new(11.0, start)];
    let mut writes = Vec::new();
    let mut random = Lcg(11);
    for (limiter, share) in both.iter_mut().zip(split(11.0, 2)) {
        limiter.set_share(share, start);
    }
    let mut now = start;
    for step in 0..120_000_u64 {
        now += us(500 + random.below(500));
        if step % 9_000 == 0 {
            let parts = if random.below(2) == 0 { [11, 0] } else { [random.below(11), 0] };
            let parts = [parts[0] as f64 / 11.0, (11 - parts[0]) as f64 / 11.0];
            // Who gives up does so first.
            let order = if parts[0] < both[0].share() { [0, 1] } else { [1, 0] };
            for which in order {
                both[which].set_share(parts[which], now);
            }
        }
        for limiter in &mut both {
            let granted = limiter.grant(now, 3);
            writes.extend(std::iter::repeat_n(now, granted));
            limiter.wrote(now, granted);
        }
    }
    assert!(busiest(&writes, SECOND) <= 11, "{}", busiest(&writes, SECOND));
    assert!(writes.len() > 700, "{}", writes.len());
}

#[test]
fn a_rate_splits_into_whole_parts() {
    for (rate, parts, expected) in [
        (11.0, 2, vec![6.0, 5.0]),
        (50.0, 3, vec![17.0, 17.0, 16.0]),
        (2.0, 3, vec![1.0, 1.0, 0.0]),
        (47.3, 2, vec![24.0, 23.0]),
        (0.5, 2, vec![0.5, 0.0]),
    ] {
        let got: Vec<f64> = split(rate, parts).iter().map(|share| share * rate).collect();
        for (got, expected) in got.iter().zip(&expected) {
            assert!((got - expected).abs() < 1e-9, "{rate} in {parts}: {got}, expected {expected}");
        }
    }
    assert_eq!(split(0.0, 2), [1.0, 1.0]);
    assert!(split(5.0, 0).is_empty());
}

#[test]
fn a_grant_costs_the_same_at_any_rate() {
    // Counted, not timed: the ring never holds more entries than its bound, and each leaves once.
    let start = Instant::now();
    let mut limiter = Limiter::new(1_000_000.0, start);
    let mut now = start;
    let mut granted_total = 0;
    for _ in 0..20_000 {
        now += us(100);
        let granted = limiter.grant(now, usize::MAX);
        limiter.wrote(now, granted);
        granted_total += granted;
    }
    assert!(limiter.stamps.runs() <= 10_041, "{} entries", limiter.stamps.runs());
    assert!(granted_total as f64 >= 0.99 * 2_000_000.0, "{granted_total}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(150)))]

    /// Several writers, work that comes and goes, stale clocks, slow writes, grants given back, rates that
    /// change.
    #[test]
    fn no_second_ever_exceeds_the_rate(
        rates in prop::collection::vec(prop_oneof![
            (1_u32..60).prop_map(f64::from),
            (100_u32..3_000).prop_map(f64::from),
            Just(0.5), Just(1.0),
        ], 1..4),
        seed in any::<u64>(),
        writers in 1_u64..5,
        slowest_us in 1_u64..30_000,
        pause_us in 1_u64..20_000,
    ) {
        let start = Instant::now();
        let mut random = Lcg(seed);
        for rate in rates {
            let mut limiter = Limiter::new(rate, start);
            let mut under_way: VecDeque<(Instant, usize)> = VecDeque::new();
            let mut writes = Vec::new();
            let mut now = start;
            for _ in 0..4_000 {
                now += match random.below(200) {
                    0 => us(random.below(1_500_000)),
                    _ => us(random.below(pause_us)),
                };
                // A write ends some time after its grant; the message itself left somewhere in between.
                while under_way.front().is_some_and(|&(end, _)| end <= now) {
                    let Some((end, messages)) = under_way.pop_front() else { break };
                    limiter.wrote(end, messages);
                }
                if under_way.len() as u64 >= writers {
                    continue;
                }
                // A clock that was read up to 0.4 ms ago.
                let stale = now.checked_sub(us(random.below(400))).unwrap_or(now);
                let granted = limiter.grant(stale, random.below(200) as usize);
                let given_back = if random.below(8) == 0 { random.below(granted as u64 + 1) as usize } else { 0 };
                limiter.unused(given_back);
                let messages = granted - given_back;
                if messages > 0 {
                    let takes = us(random.below(slowest_us));
                    let end = under_way.back().map_or(now, |&(last, _)| last.max(now)) + takes;
                    writes.extend((0..messages).map(|_| now + (end - now) * (random.below(101) as u32) / 100));
                    under_way.push_back((end, messages));
                }
            }
            let span = if rate < 1.0 { SECOND * 2 } else { SECOND };
            let most = busiest(&writes, span);
            prop_assert!(most as f64 <= rate.max(1.0), "rate {}: {} in {:?}", rate, most, span);
        }
    }

    #[test]
    fn the_long_run_reaches_99_percent(rate in 1_u32..500, seed in any::<u64>(), jitter_us in 1_u64..3_000) {
        let start = Instant::now();
        let mut random = Lcg(seed);
        let mut limiter = Limiter::new(f64::from(rate), start);
        let run = SECOND * (20 + 200 / rate);
        let writes = saturated(&mut limiter, start, run, || us(random.below(jitter_us)), us(20));
        prop_assert!(busiest(&writes, SECOND) <= rate as usize);
        let reached = writes.len() as f64 / run.as_secs_f64() / f64::from(rate);
        prop_assert!(reached >= 0.99, "rate {}: {:.2} %", rate, reached * 100.0);
    }
}

#[test]
fn shares_that_grow_step_by_step_are_each_awaited_once() {
    let t = Instant::now();
    let ms = Duration::from_millis;
    let mut limiter = Limiter::new(100.0, t);
    limiter.set_share(0.0, t);
    limiter.set_share(0.1, t);
    limiter.set_share(0.1, t + ms(500));
    limiter.set_share(0.5, t + ms(600));
    limiter.grant(t + ms(1_005), 0);
    assert_eq!(limiter.share(), 0.1, "asking again does not begin the wait again");
    // Less than what is awaited, more than there is: from when that would have come.
    limiter.set_share(0.3, t + ms(1_100));
    limiter.grant(t + ms(1_604), 0);
    assert_eq!(limiter.share(), 0.3);
    for step in 0..100 {
        limiter.set_share(0.31 + f64::from(step) / 1_000.0, t + ms(1_700));
    }
    limiter.set_share(0.2, t + ms(1_800));
    limiter.grant(t + ms(9_000), 0);
    assert_eq!(limiter.share(), 0.2, "what was awaited above it is gone");
}
