use super::*;
use crate::Gaps;
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);
const RULES: [PacingRule; 3] = [PacingRule::CatchUp, PacingRule::Capped, PacingRule::Bounded { debt: DEBT }];

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn interval(burst: u32, rate: f64) -> Interval {
    Interval::of(1_472, burst, 1, rate).unwrap()
}

/// Bursts that leave when due, each late by the next of `delays` (nanoseconds).
fn run(pacer: &mut Pacer, start: Instant, delays: &[u64]) -> Vec<Instant> {
    let mut now = start;
    delays
        .iter()
        .map(|delay| {
            now = now.max(pacer.due()) + Duration::from_nanos(*delay);
            pacer.sent(now);
            now
        })
        .collect()
}

/// What wake-ups look like: most of them microseconds late, few a scheduler's turn, fewer a stall.
fn delays() -> impl Strategy<Value = Vec<u64>> {
    let one = prop_oneof![
        90 => 0_u64..3_000,
        9 => 10_000_u64..100_000,
        1 => 1_000_000_u64..20_000_000,
    ];
    prop::collection::vec(one, 2..600)
}

#[test]
fn an_interval_is_mss_times_eight_times_burst_times_threads_over_the_rate() {
    for (mss, burst, threads, rate, expected_ns) in [
        (1_472, 1, 1, 1e9, 11_776.0),
        (1_472, 1, 4, 1e9, 47_104.0),
        (1_472, 44, 4, 10e9, 207_257.6),
        (125, 1, 1, 3e9, 1e3 / 3.0),
        (1, 1, 1, BIT_RATE_MAX, 0.02),
        (MSS_MAX, BURST_MAX, THREADS_MAX, BIT_RATE_MIN, 549_512_544_256_000_000.0),
    ] {
        let t = Interval::of(mss, burst, threads, rate).unwrap();
        let expected = expected_ns * 1e-9;
        assert!((t.seconds() - expected).abs() < expected * 1e-9, "{t:?} is not {expected}");
        assert_eq!((t.burst(), t.mss_octets(), t.duration().as_nanos()), (burst, mss, expected_ns as u128));
    }
}

#[test]
fn what_is_out_of_bounds_has_no_interval() {
    for (mss, burst, threads, rate) in [
        (0, 1, 1, 1e6),
        (MSS_MAX + 1, 1, 1, 1e6),
        (1_472, 0, 1, 1e6),
        (1_472, BURST_MAX + 1, 1, 1e6),
        (1_472, 1, 0, 1e6),
        (1_472, 1, THREADS_MAX + 1, 1e6),
        (1_472, 1, 1, BIT_RATE_MIN * 0.999),
        (1_472, 1, 1, BIT_RATE_MAX * 1.001),
        (1_472, 1, 1, f64::NAN),
        (1_472, 1, 1, -1e6),
    ] {
        assert!(Interval::of(mss, burst, threads, rate).is_none(), "{mss} {burst} {threads} {rate}");
    }
}

#[test]
fn three_million_packets_a_second_do_not_drift() {
    let t = Instant::now();
    let mut pacer = Pacer::new(PacingRule::CatchUp, t, Interval::of(125, 1, 1, 3e9).unwrap());
    for _ in 0..3_000_000 {
        pacer.sent(pacer.due());
    }
    // A third of a nanosecond is not a binary fraction: the last instant is a hair before its whole second.
    let due = pacer.due() - t;
    assert!(due == SECOND || due == SECOND - Duration::from_nanos(1), "{due:?}");
    // And over ten hours the hair is still less than a nanosecond.
    let hair = (1e9 + pacer.lag(t) * 1e9).abs();
    assert!(hair * 36_000.0 < 1.0, "{hair} ns a second");
}

#[test]
fn halves_make_a_whole() {
    let t = Instant::now();
    for rate in [3e9, 1e9 / 7.0, 1e3, BIT_RATE_MAX] {
        let whole = Interval::of(125, 1, 1, rate).unwrap();
        let apart = (Point::from(t) + whole.half() + whole.half()).seconds_since(Point::from(t) + whole);
        assert!(apart.abs() <= 1e-27, "{rate}: {apart}");
    }
}

#[test]
fn a_late_burst_moves_the_next_one_as_its_rule_says() {
    let t = Instant::now();
    let asked = interval(1, 1_472.0 * 8.0 * 1_000.0); // one a millisecond
    let bounded = |debt_us| PacingRule::Bounded { debt: us(debt_us) };
    for (rule, late_us, next_us, written_off) in [
        (PacingRule::CatchUp, 0, 1_000, 0.0),
        (PacingRule::CatchUp, 5_500, 1_000, 0.0),
        (PacingRule::Capped, 0, 1_000, 0.0),
        (PacingRule::Capped, 250, 1_250, 0.25),
        (PacingRule::Capped, 5_500, 6_500, 5.5),
        (bounded(2_000), 0, 1_000, 0.0),
        (bounded(2_000), 250, 1_000, 0.0),   // on time again
        (bounded(2_000), 700, 1_200, 0.0),   // T/2 after the last one
        (bounded(2_000), 3_000, 3_500, 0.0), // as far behind as it may be
        (bounded(2_000), 5_500, 6_000, 2.5),
        (bounded(0), 5_500, 6_000, 4.5),
    ] {
        let mut pacer = Pacer::new(rule, t, asked);
        pacer.sent(t + us(late_us));
        assert_eq!(pacer.due(), t + us(next_us), "{rule:?} {late_us} us late");
        assert!((pacer.written_off() - written_off).abs() < 1e-9, "{rule:?} {late_us}: {pacer:?}");
    }
}

#[test]
fn a_stall_is_repaid_at_twice_the_rate_and_no_further_than_the_debt() {
    let t = Instant::now();
    let mut pacer = Pacer::new(PacingRule::default(), t, interval(1, 1_472.0 * 8.0 * 10_000.0)); // one in 100 us
    let sent = run(&mut pacer, t, &[&[0, 0, 10_000_000][..], &[0; 60]].concat());
    let gaps: Vec<u128> = sent[2..].windows(2).map(|pair| (pair[1] - pair[0]).as_micros()).collect();
    // 20 intervals of debt, of which each burst repays one half: the last of them becomes due as it is sent.
    assert!(gaps[..42].iter().all(|gap| *gap == 50), "{gaps:?}");
    assert!(gaps[42..].iter().all(|gap| *gap == 100), "{gaps:?}");
    assert!((pacer.written_off() - 79.0).abs() < 1e-6, "{}", pacer.written_off());
}

/// 100 Mbit/s in single packets; each wake-up 15 us late and each loop 3.5 us: measured were all of the rate
/// for catching up, 87 % capped.
#[test]
fn late_wake_ups_cost_the_capped_rule_what_was_measured_and_the_others_nothing() {
    let t = Instant::now();
    for (rule, expected) in
        [(PacingRule::CatchUp, 1.0), (PacingRule::Capped, 0.87), (PacingRule::default(), 1.0)]
    {
        let (mut pacer, mut gaps, mut now) = (Pacer::new(rule, t, interval(1, 100e6)), Gaps::new(1), t);
        let packets = 50_000;
        for _ in 0..packets {
            let late = Duration::from_secs_f64(15e-6 * gaps.gap().min(4.0));
            now = if pacer.due() > now { pacer.due() + late } else { now };
            now += Duration::from_nanos(3_500);
            pacer.sent(now);
        }
        let part = f64::from(packets) * pacer.interval().seconds() / (now - t).as_secs_f64();
        assert!((part - expected).abs() < 0.005, "{rule:?}: {part}");
        let written_off = pacer.written_off() / f64::from(packets) * part;
        assert!((written_off - (1.0 - expected)).abs() < 0.005, "{rule:?}: {written_off}");
    }
}

#[test]
fn an_early_report_does_not_make_it_faster() {
    let t = Instant::now();
    for rule in RULES {
        let mut pacer = Pacer::new(rule, t + SECOND, interval(1, 1e6));
        for _ in 0..100 {
            pacer.sent(t);
        }
        let ahead = (pacer.due() - t - SECOND).as_secs_f64();
        assert!((ahead - 1.1776).abs() < 1e-6, "{rule:?}: {ahead}");
    }
}

#[test]
fn a_change_of_rate_makes_neither_a_gap_nor_a_burst() {
    let t = Instant::now();
    for rule in RULES {
        // One a second; a quarter of the second has passed when it becomes one a millisecond: 3/4 ms to go.
        let packets = |per_s: f64| interval(1, 1_472.0 * 8.0 * per_s);
        let mut pacer = Pacer::new(rule, t, packets(1.0));
        pacer.sent(t);
        pacer.set_interval(t + SECOND / 4, packets(1_000.0));
        assert_eq!(pacer.due(), t + SECOND / 4 + us(750), "{rule:?}");
        // And back: of its 750 us 75 have passed.
        pacer.set_interval(t + SECOND / 4 + us(75), packets(1.0));
        assert_eq!(pacer.due(), t + SECOND / 4 + us(75) + us(675_000), "{rule:?}");
        // The same rate in larger bursts: the next one stays where it was, the one after it is further.
        let due = pacer.due();
        pacer.set_interval(t + SECOND / 2, interval(8, 1_472.0 * 8.0));
        assert_eq!(pacer.due(), due, "{rule:?}");
        pacer.sent(due);
        assert_eq!(pacer.due(), due + SECOND * 8, "{rule:?}");
    }
}

#[test]
fn the_least_distance_changes_with_the_rate() {
    let t = Instant::now();
    // One in 10 ms, which leaves 100 ms late: the next one is 5 ms away at least.
    let packets = |per_s: f64| interval(1, 1_472.0 * 8.0 * per_s);
    let mut pacer = Pacer::new(PacingRule::Bounded { debt: SECOND }, t, packets(100.0));
    let late = t + us(100_000);
    pacer.sent(late);
    assert_eq!(pacer.due(), late + us(5_000));
    // Of that a fifth has passed when it becomes one in 100 us.
    pacer.set_interval(late + us(1_000), packets(10_000.0));
    assert_eq!(pacer.due(), late + us(1_040));
}

#[test]
fn what_is_owed_stays_the_same_over_a_change_of_rate() {
    let t = Instant::now();
    let mut pacer = Pacer::new(PacingRule::CatchUp, t, interval(1, 1e9));
    let now = t + Duration::from_millis(3);
    let owed = pacer.owed(now);
    for rate in [10e9, 1e3, 1e6, 400e9, 1e9] {
        pacer.set_interval(now, interval(1, rate));
        assert!((pacer.owed(now) - owed).abs() < 1e-6, "{rate}: {} {owed}", pacer.owed(now));
    }
    assert_eq!(pacer.owed(t - SECOND), 0.0);
}

#[test]
fn gaps_drawn_one_by_one_are_kept_as_they_were_drawn() {
    let t = Instant::now();
    let asked = interval(1, 1e6); // one in 11.776 ms
    for (rule, late_us, written_off) in [
        (PacingRule::CatchUp, 20_000, 0.0),
        (PacingRule::Capped, 589, 0.05),
        (PacingRule::default(), 589, 0.0),
    ] {
        let mut pacer = Pacer::new(rule, t, asked);
        for factor in [1.0, 0.1, 4.0, 0.25, f64::NAN] {
            let (due, lag) = (pacer.due(), pacer.lag(t));
            let kept = pacer.written_off();
            pacer.sent_with_gap(due + us(late_us), factor);
            let moved = (lag - pacer.lag(t)) / asked.seconds() - (pacer.written_off() - kept);
            let factor = if factor.is_nan() { 1.0 } else { factor };
            assert!((moved - factor).abs() < 1e-6, "{rule:?}: {moved} is not {factor}");
        }
        let each = pacer.written_off() / 5.0;
        assert!((each - written_off).abs() < 0.001, "{rule:?}: {each}");
    }
}

#[test]
fn gaps_by_chance_keep_the_rate() {
    let t = Instant::now();
    let asked = interval(1, 1e9);
    for rule in RULES {
        let (mut pacer, mut gaps, mut now) = (Pacer::new(rule, t, asked), Gaps::new(3), t);
        for _ in 0..100_000 {
            now = now.max(pacer.due());
            pacer.sent_with_gap(now, gaps.gap());
        }
        let intervals = (now - t).as_secs_f64() / asked.seconds();
        assert!((intervals - 100_000.0).abs() < 1_000.0, "{rule:?}: {intervals}");
        assert!(pacer.written_off() < 1.0, "{rule:?}: {}", pacer.written_off());
    }
}

#[test]
fn a_pause_asks_for_nothing() {
    let t = Instant::now();
    for rule in RULES {
        let mut pacer = Pacer::new(rule, t, interval(1, 1e6));
        pacer.sent(t);
        let due = pacer.due();
        pacer.paused(SECOND);
        assert_eq!(pacer.due(), due + SECOND, "{rule:?}");
        pacer.sent(due + SECOND);
        assert_eq!(pacer.written_off(), 0.0, "{rule:?}");
    }
}

#[test]
fn threads_take_turns() {
    let t = Interval::of(1_472, 1, 4, 1e9).unwrap();
    let offsets: Vec<u128> = (0..4).map(|thread| t.offset(thread, 4).as_nanos()).collect();
    assert_eq!(offsets, [0, 11_776, 23_552, 35_328]);
    assert_eq!((t.offset(7, 4), t.offset(3, 0)), (t.offset(3, 4), Duration::ZERO));
}

proptest! {
    #[test]
    fn sent_and_written_off_and_owed_are_what_was_asked(delays in delays(), rate in 1e5..20e9, burst in 1_u32..64) {
        let t = Instant::now();
        for rule in RULES {
            let asked = interval(burst, rate);
            let mut pacer = Pacer::new(rule, t, asked);
            let end = *run(&mut pacer, t, &delays).last().unwrap();
            let told = delays.len() as f64 + pacer.written_off() + pacer.lag(end) / asked.seconds();
            let wanted = (end - t).as_secs_f64() / asked.seconds();
            prop_assert!((told - wanted).abs() < 1e-6 * wanted.max(1.0), "{:?}: {} of {}", rule, told, wanted);
            let packets = pacer.written_off() * f64::from(burst);
            prop_assert!((pacer.packets_written_off() - packets).abs() <= 1e-9 * packets);
        }
    }

    #[test]
    fn catching_up_reaches_the_rate_whatever_the_delays(delays in delays(), rate in 1e5..20e9) {
        let t = Instant::now();
        let asked = interval(1, rate);
        let mut pacer = Pacer::new(PacingRule::CatchUp, t, asked);
        run(&mut pacer, t, &delays);
        let wanted = asked.seconds() * delays.len() as f64;
        prop_assert!(((pacer.due() - t).as_secs_f64() - wanted).abs() < 2e-9);
        prop_assert_eq!(pacer.written_off(), 0.0);
    }

    #[test]
    fn capped_is_never_above_the_rate_between_any_two_bursts(delays in delays(), rate in 1e5..20e9) {
        let t = Instant::now();
        let asked = interval(1, rate);
        let sent = run(&mut Pacer::new(PacingRule::Capped, t, asked), t, &delays);
        for (first, from) in sent.iter().enumerate().step_by(7) {
            for (last, to) in sent.iter().enumerate().skip(first) {
                let least = asked.seconds() * (last - first) as f64;
                prop_assert!((*to - *from).as_secs_f64() > least - 1.5e-9, "{} to {}", first, last);
            }
        }
    }

    #[test]
    fn bounded_keeps_its_distance_and_its_debt(delays in delays(), rate in 1e5..20e9, debt_us in 0_u64..5_000) {
        let t = Instant::now();
        let (asked, debt) = (interval(1, rate), us(debt_us));
        let mut pacer = Pacer::new(PacingRule::Bounded { debt }, t, asked);
        let (mut now, mut last) = (t, None);
        for delay in &delays {
            now = now.max(pacer.due()) + Duration::from_nanos(*delay);
            if let Some(last) = last {
                let gap: Duration = now - last;
                prop_assert!(gap.as_secs_f64() > asked.seconds() / 2.0 - 1.5e-9, "{:?}", gap);
            }
            pacer.sent(now);
            prop_assert!(pacer.lag(now) <= debt.as_secs_f64() + 1e-12, "{} s behind", pacer.lag(now));
            last = Some(now);
        }
    }

    #[test]
    fn bounded_loses_nothing_to_delays_that_it_may_owe(seeds in prop::collection::vec(0_u64..30_000, 2..600)) {
        let t = Instant::now();
        // 30 us late at most, one in 100 us.
        let asked = interval(1, 1_472.0 * 8.0 * 10_000.0);
        let mut pacer = Pacer::new(PacingRule::default(), t, asked);
        run(&mut pacer, t, &seeds);
        prop_assert_eq!(pacer.written_off(), 0.0);
        prop_assert!(((pacer.due() - t).as_secs_f64() - asked.seconds() * seeds.len() as f64).abs() < 2e-9);
    }

    #[test]
    fn what_was_asked_stays_exact_over_changes_of_rate_and_burst(
        changes in prop::collection::vec((1e5..20e9, 1_u32..64, 0_u64..2_000_000), 1..60),
    ) {
        let t = Instant::now();
        for rule in RULES {
            let mut pacer = Pacer::new(rule, t, interval(1, 1e6));
            let (mut now, mut sent, mut asked, mut changed) = (t, 0.0, 0.0, t);
            for (rate, burst, delay) in &changes {
                now = now.max(pacer.due()) + Duration::from_nanos(*delay);
                sent += f64::from(pacer.interval().burst());
                pacer.sent(now);
                asked += (now - changed).as_secs_f64() * pacer.interval().bits_per_s() / (1_472.0 * 8.0);
                changed = now;
                pacer.set_interval(now, interval(*burst, *rate));
            }
            let lag = pacer.lag(now) * pacer.interval().bits_per_s() / (1_472.0 * 8.0);
            let told = sent + pacer.packets_written_off() + lag;
            prop_assert!((told - asked).abs() < 1e-6 * asked.max(1.0), "{:?}: {} of {}", rule, told, asked);
        }
    }
}
