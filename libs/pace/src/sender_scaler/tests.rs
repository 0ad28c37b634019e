use super::simulation::{MSS, Run, SimulatedMachine, run};
use super::*;
use crate::Gaps;
use proptest::prelude::*;

/// A thread that was busy for a part of 100 ms.
pub(super) fn report(rung: Rung, burst: u32, busy: f64, sent: u64) -> SenderReport {
    let wall = Duration::from_millis(100);
    SenderReport {
        rung,
        burst,
        wall,
        waited: wall.mul_f64(1.0 - busy),
        cpu: wall.mul_f64(busy),
        ready: Duration::ZERO,
        loop_time: Duration::from_nanos(3_500),
        send_time: Duration::from_nanos(3_500),
        lag: Lag::new(),
        asked: sent as f64,
        sent,
        written_off: 0.0,
        errors: 0,
    }
}

fn published() -> Published {
    Published::new(Duration::from_millis(1), PUBLISHED_PERIOD, 1, 12)
}

fn step(at_s: f64, to_s: f64) -> impl Fn(f64) -> f64 {
    move |now_s| if (at_s..to_s).contains(&now_s) { 10e9 } else { 10e6 }
}

fn changes(run: &Run, from_s: f64) -> Vec<(f64, ChangeReason)> {
    let changes = run.decisions.iter().filter(|(at_s, _)| *at_s >= from_s);
    changes.filter_map(|(at_s, decision)| decision.reason.map(|reason| (*at_s, reason))).collect()
}

#[test]
fn a_steady_rate_has_a_steady_setting() {
    for (rate, best, slower, threads, rung, burst) in [
        (10e6, Rung::Gso, 1.0, 1, Rung::Send, 1),
        (1e9, Rung::Gso, 1.0, 1, Rung::Send, 1),
        (3e9, Rung::Gso, 1.0, 1, Rung::Gso, 25),
        (10e9, Rung::Gso, 1.0, 1, Rung::Gso, 44),
        (10e9, Rung::SendMmsg, 1.0, 4, Rung::SendMmsg, 44),
        (3e9, Rung::SendMmsg, 2.0, 2, Rung::SendMmsg, 25),
    ] {
        for seed in 0..5 {
            let world = SimulatedMachine {
                seed,
                cpus: 12,
                best,
                slower,
                rate: &|_| rate,
                ..SimulatedMachine::default()
            };
            let told = run(&world, &mut SenderScaler::new(), 20.0);
            let setting = told.moments.last().unwrap().setting;
            assert_eq!(setting, Setting { threads, rung, burst }, "{rate} {best:?} {slower}");
            assert_eq!(changes(&told, 5.0), [], "{rate} {best:?} {slower} {seed}");
            assert!(told.not_sent() < 0.003, "{rate} {best:?} {slower}: {}", told.not_sent());
        }
    }
}

#[test]
fn a_step_to_ten_gbit_is_reached_within_300_ms_and_one_thread_is_left_soon_after_it() {
    for (best, slower) in
        [(Rung::Gso, 1.0), (Rung::SendMmsg, 1.0), (Rung::Send, 1.0), (Rung::Gso, 3.0), (Rung::Send, 2.0)]
    {
        for seed in 0..10 {
            // The step lies within a period, and nobody tells of it.
            let at_s = 3.0 + seed as f64 * 0.01;
            let rate = step(at_s, 8.0);
            let world =
                SimulatedMachine { seed, cpus: 12, best, slower, rate: &rate, ..SimulatedMachine::default() };
            let told = run(&world, &mut SenderScaler::new(), 20.0);
            let reached = told.first(at_s, |moment| moment.sent >= 9.9e9).unwrap() - at_s;
            assert!(reached < 0.3, "{best:?} {slower}: after {reached} s");
            let mean = told.mean(at_s + 0.3, 8.0);
            assert!((9.9e9..10.1e9).contains(&mean), "{best:?} {slower}: {mean}");
            let left = told.between(10.5, 20.0).all(|moment| moment.setting.threads == 1);
            assert!(left, "{best:?} {slower}: {:?}", changes(&told, 0.0));
        }
    }
}

#[test]
fn a_drop_to_100_mbit_leaves_one_thread_within_ten_seconds() {
    for seed in 0..10 {
        let rate = |at_s: f64| if at_s < 5.0 { 10e9 } else { 100e6 };
        let world =
            SimulatedMachine { seed, cpus: 12, best: Rung::Send, rate: &rate, ..SimulatedMachine::default() };
        let told = run(&world, &mut SenderScaler::new(), 20.0);
        assert!(told.between(4.0, 5.0).all(|moment| moment.setting.threads >= 3));
        assert!(
            told.between(8.0, 20.0).all(|moment| moment.setting.threads == 1),
            "{:?}",
            changes(&told, 0.0)
        );
        assert_eq!(told.moments.last().unwrap().setting.rung, Rung::Send);
    }
}

#[test]
fn a_dip_of_a_second_parks_nobody() {
    let rate = |at_s: f64| if (5.0..6.0).contains(&at_s) { 100e6 } else { 10e9 };
    let world = SimulatedMachine { cpus: 12, best: Rung::Send, rate: &rate, ..SimulatedMachine::default() };
    let told = run(&world, &mut SenderScaler::new(), 12.0);
    assert!(
        changes(&told, 1.0).iter().all(|(_, reason)| *reason != ChangeReason::Parked),
        "{:?}",
        changes(&told, 0.0)
    );
}

/// One thread with single packets is enough for 2.5 Gbit/s at 75 %: a rate to both sides of it does not
/// change the way again and again.
#[test]
fn a_rate_around_the_end_of_a_way_stays_with_the_next_one() {
    let rate = |at_s: f64| if (at_s as u32 / 3).is_multiple_of(2) { 2.4e9 } else { 2.8e9 };
    let world = SimulatedMachine { rate: &rate, ..SimulatedMachine::default() };
    let told = run(&world, &mut SenderScaler::new(), 60.0);
    let changed = changes(&told, 7.0);
    assert!(changed.iter().all(|(_, reason)| *reason == ChangeReason::Burst), "{changed:?}");
    assert!(told.between(7.0, 60.0).all(|moment| moment.setting.burst > 1));
    // Well below it the smoother way is gone back to.
    let world = SimulatedMachine {
        rate: &|at_s| if at_s < 5.0 { 2.8e9 } else { 1.5e9 },
        ..SimulatedMachine::default()
    };
    let setting = run(&world, &mut SenderScaler::new(), 10.0).moments.last().unwrap().setting;
    assert_eq!((setting.rung, setting.burst), (Rung::Send, 1));
}

/// Another rate each 0.2 to 2 s, from 50 Mbit/s to 9.5 Gbit/s.
fn restless(seed: u64) -> impl Fn(f64) -> f64 {
    let mut random = Gaps::new(seed);
    let (mut steps, mut at_s) = (Vec::new(), 0.0);
    while at_s < 60.0 {
        steps.push((at_s, 50e6 * 190_f64.powf(random.unit())));
        at_s += 0.2 + 1.8 * random.unit();
    }
    move |now_s| steps[steps.partition_point(|(at_s, _)| *at_s <= now_s).max(1) - 1].1
}

#[test]
fn traffic_that_changes_all_the_time_is_sent_by_fewer_threads_than_the_papers_rule_takes() {
    for best in [Rung::Gso, Rung::Send] {
        for seed in 0..10 {
            let rate = restless(seed);
            let world = SimulatedMachine {
                seed,
                cpus: 12,
                best,
                rate: &rate,
                tells: true,
                ..SimulatedMachine::default()
            };
            let ours = run(&world, &mut SenderScaler::new(), 60.0);
            let theirs = run(&world, &mut published(), 60.0);
            let untold = run(&SimulatedMachine { tells: false, ..world }, &mut SenderScaler::new(), 60.0);
            assert!(ours.not_sent() < 0.0005, "{best:?} {seed}: {}", ours.not_sent());
            assert!(best != Rung::Gso || ours.threads_most == 1, "{seed}: {:?}", changes(&ours, 0.0));
            assert!(ours.not_sent() < theirs.not_sent() / 10.0, "{best:?} {seed}: {}", theirs.not_sent());
            // Who is not told of a change sees it up to 100 ms later: that costs some of each rise.
            assert!(untold.not_sent() < 0.015, "{best:?} {seed}: {}", untold.not_sent());
            for ours in [ours, untold] {
                assert!(ours.thread_seconds < theirs.thread_seconds, "{best:?} {seed}");
            }
        }
    }
}

#[test]
fn a_wave_is_followed_whether_its_rates_are_told_or_not() {
    for (best, tells) in [(Rung::Gso, false), (Rung::Gso, true), (Rung::Send, false), (Rung::Send, true)] {
        let wave = |at_s: f64| 5e9 + 4.9e9 * (at_s * std::f64::consts::TAU / 15.0).sin();
        let world = SimulatedMachine {
            cpus: 12,
            best,
            slower: 1.3,
            rate: &wave,
            tells,
            ..SimulatedMachine::default()
        };
        let ours = run(&world, &mut SenderScaler::new(), 60.0);
        assert!(ours.not_sent() < 0.003, "{best:?} {tells}: {}", ours.not_sent());
        let theirs = run(&world, &mut published(), 60.0);
        assert!(ours.thread_seconds < theirs.thread_seconds, "{best:?} {tells}");
        let most = if best == Rung::Gso { 1 } else { 5 };
        assert!(ours.threads_most <= most, "{best:?} {tells}: {} threads", ours.threads_most);
    }
}

#[test]
fn the_papers_rule_takes_half_a_second_for_each_thread_and_parks_none() {
    let rate = step(3.0, 8.0);
    let world = SimulatedMachine { cpus: 12, best: Rung::Send, rate: &rate, ..SimulatedMachine::default() };
    let told = run(&world, &mut published(), 20.0);
    let reached = told.first(3.0, |moment| moment.sent >= 9.9e9).unwrap() - 3.0;
    assert!((0.9..2.1).contains(&reached), "after {reached} s");
    let threads: Vec<u32> = told.moments.iter().map(|moment| moment.setting.threads).collect();
    assert!(threads.is_sorted() && threads.last() > Some(&2), "{threads:?}");
}

#[test]
fn stress_on_all_cpus_is_answered_by_a_thread_and_told_where_that_is_not_enough() {
    let stress = |at_s: f64| if (5.0..15.0).contains(&at_s) { 4 } else { 0 };
    for (rate, enough) in [(3e9, true), (10e9, false)] {
        for seed in 0..10 {
            let world = SimulatedMachine {
                seed,
                best: Rung::Send,
                rate: &|_| rate,
                stress: &stress,
                ..SimulatedMachine::default()
            };
            let told = run(&world, &mut SenderScaler::new(), 30.0);
            assert!(told.threads_most <= 4, "{rate} {seed}: {} threads", told.threads_most);
            let (mean, ceilings) = (told.mean(6.0, 15.0), |from_s, to_s| {
                told.between(from_s, to_s).map(|moment| moment.ceiling).collect::<Vec<_>>()
            });
            let during = ceilings(6.0, 15.0);
            if enough {
                assert!(mean > rate * 0.99, "{seed}: {mean} {:?}", changes(&told, 0.0));
                assert!(during.iter().all(Option::is_none), "{rate} {seed}");
            } else {
                assert!(mean < rate * 0.9);
                assert!(during.iter().all(|told| *told == Some(Ceiling::HostsOtherWork)), "{rate} {seed}");
            }
            // The stress ends: nothing is in the way, and the rate is there again.
            assert!(told.mean(16.0, 30.0) > rate * 0.997, "{rate} {seed}: {}", told.mean(16.0, 30.0));
            assert!(ceilings(16.0, 30.0).iter().all(Option::is_none), "{rate} {seed}");
        }
    }
}

#[test]
fn a_stolen_cpu_is_told_as_the_hosts_other_work() {
    let steal = |at_s: f64| if at_s >= 5.0 { 2.0 } else { 0.0 };
    for seed in 0..10 {
        let world = SimulatedMachine {
            seed,
            best: Rung::Send,
            rate: &|_| 10e9,
            steal: &steal,
            ..SimulatedMachine::default()
        };
        let told = run(&world, &mut SenderScaler::new(), 30.0);
        let ceilings: Vec<_> = told.between(6.0, 30.0).map(|moment| moment.ceiling).collect();
        assert!(ceilings.iter().all(|told| *told == Some(Ceiling::HostsOtherWork)), "{seed}");
        assert!(told.threads_most <= 4);
        // Not one more than serve: two CPUs are left, and changes are few.
        assert!(changes(&told, 6.0).len() <= 10, "{seed}: {:?}", changes(&told, 6.0));
    }
}

/// What a crew of one thread on one CPU says is in the way, period by period, if so much of what was asked
/// for was sent in each.
fn said(parts: impl Iterator<Item = f64>) -> Vec<Option<Ceiling>> {
    let (mut scaler, t) = (SenderScaler::new(), Instant::now());
    let decide = |(period, part): (u32, f64)| {
        let asked = 8_500.0;
        let threads = [SenderReport { asked, ..report(Rung::Send, 1, 0.3, (asked * part) as u64) }];
        let seen = Observation {
            now: t + Duration::from_millis(100) * period,
            rate_bits_per_s: asked * 10.0 * 8.0 * f64::from(simulation::MSS),
            mss_octets: simulation::MSS,
            burst_max: 1,
            best: Rung::Send,
            threads: &threads,
            host: Host { cpus: 1, steal: 0.0, others: 0.0 },
        };
        scaler.decide(&seen).ceiling
    };
    (1..).zip(parts).map(decide).collect()
}

#[test]
fn what_other_periods_make_up_for_is_not_said_to_be_in_the_way() {
    let made_up = said([1.07, 0.96, 0.97].into_iter().cycle().take(60));
    assert!(made_up.iter().all(Option::is_none), "{made_up:?}");
    let missing = said([1.0, 0.96, 0.97].into_iter().chain(std::iter::repeat_n(0.96, 20)));
    assert!(missing[5..].iter().all(Option::is_some), "{missing:?}");
}

#[test]
fn a_rate_that_was_reached_over_the_second_is_not_said_to_be_missed_in_single_tenths_of_it() {
    // Each time 0.6 or 0.9 percent of the second is missing.
    for short in [&[0.97, 0.97][..], &[0.95, 0.96]] {
        let second = || std::iter::repeat_n(1.0, 10).chain(short.iter().copied());
        let told = said(second().chain(second()).chain(second()));
        assert!(told.iter().all(Option::is_none), "{short:?}: {told:?}");
    }
    let stopped = said(std::iter::repeat_n(1.0, 10).chain([0.5, 0.5, 1.0, 0.5, 1.0]));
    assert!(stopped[11].is_some(), "a second of which a tenth is missing: {stopped:?}");
    assert!(stopped[12..].iter().all(Option::is_none), "one tenth is no reason to say it again: {stopped:?}");
}

#[test]
fn a_rate_that_the_cpus_cannot_do_is_told_as_such() {
    for seed in 0..5 {
        let world = SimulatedMachine {
            seed,
            cpus: 2,
            best: Rung::Send,
            rate: &|_| 10e9,
            ..SimulatedMachine::default()
        };
        let told = run(&world, &mut SenderScaler::new(), 10.0);
        assert!(told.between(0.5, 10.0).all(|moment| moment.ceiling == Some(Ceiling::Cpu)), "{seed}");
        assert_eq!(told.threads_most, 2);
        assert!(told.mean(1.0, 10.0) > 6.4e9, "{}", told.mean(1.0, 10.0));
    }
}

#[test]
fn a_socket_that_takes_no_more_is_told_and_gets_no_more_threads() {
    for seed in 0..5 {
        let world = SimulatedMachine {
            seed,
            cpus: 8,
            socket_max: 2e5,
            rate: &|_| 10e9,
            ..SimulatedMachine::default()
        };
        let told = run(&world, &mut SenderScaler::new(), 10.0);
        assert!(told.between(0.5, 10.0).all(|moment| moment.ceiling == Some(Ceiling::Socket)), "{seed}");
        assert_eq!(told.threads_most, 1, "{seed}");
    }
}

/// A rule's answers to reports made up by hand, a period apart.
struct ScalerUnderTest {
    scaler: SenderScaler,
    now: Instant,
    host: Host,
}

impl ScalerUnderTest {
    fn new() -> ScalerUnderTest {
        let host = Host { cpus: 8, steal: 0.0, others: 0.0 };
        ScalerUnderTest { scaler: SenderScaler::new(), now: Instant::now(), host }
    }

    fn decide(&mut self, rate: f64, threads: &[SenderReport]) -> Decision {
        self.now += self.scaler.period();
        self.scaler.decide(&Observation {
            now: self.now,
            rate_bits_per_s: rate,
            mss_octets: MSS,
            burst_max: 64,
            best: Rung::Send,
            threads,
            host: self.host,
        })
    }
}

/// Threads that bring nothing, whatever their number: 20,000 packets each period together.
#[test]
fn threads_that_bring_nothing_are_taken_back_and_not_started_again_for_a_while() {
    let mut scaler_under_test = ScalerUnderTest::new();
    let mut counts = Vec::new();
    let mut threads = scaler_under_test.decide(2.4e9, &[]).setting.threads;
    assert_eq!(threads, 1);
    let mut told = None;
    for _ in 0..150 {
        let each = SenderReport {
            asked: 20_380.0 / f64::from(threads),
            ..report(Rung::Send, 1, 1.0, u64::from(16_000 / threads))
        };
        let decision = scaler_under_test.decide(2.4e9, &vec![each; threads as usize]);
        threads = decision.setting.threads;
        told = told.or(decision.reason.filter(|reason| *reason == ChangeReason::TakenBack));
        counts.push(threads);
    }
    assert_eq!(told, Some(ChangeReason::TakenBack));
    let more = counts.iter().filter(|threads| **threads > 1).count();
    assert!(counts[0] > 1 && more <= 8, "{counts:?}");
    assert!(counts[5..95].iter().all(|threads| *threads == 1), "{counts:?}");
    assert!(counts[100..].iter().any(|threads| *threads > 1), "it tries again: {counts:?}");
}

#[test]
fn a_lag_around_one_loop_changes_nothing_and_one_that_grows_does() {
    let mut lag = Lag::new();
    let mut random = Gaps::new(5);
    let mut scaler_under_test = ScalerUnderTest::new();
    scaler_under_test.decide(2.4e9, &[]);
    let thread = report(Rung::Send, 1, 0.7, 20_380);
    for _ in 0..600 {
        (0..100).for_each(|_| lag.record_seconds(1e-6 * 7.0 * random.unit()));
        let decision = scaler_under_test.decide(2.4e9, &[SenderReport { lag, ..thread }]);
        assert_eq!((decision.setting.threads, decision.reason), (1, None));
        lag = Lag::new();
    }
    let answered = (1..30).find_map(|period| {
        let mut lag = Lag::new();
        lag.record_seconds(100e-6 * f64::from(period));
        scaler_under_test
            .decide(2.4e9, &[SenderReport { lag, ..thread }])
            .reason
            .map(|reason| (period, reason))
    });
    let (period, reason) = answered.unwrap();
    assert!(period <= 8 && reason == ChangeReason::Burst, "{answered:?}");
}

#[test]
fn a_rate_told_between_two_periods_is_answered_at_once() {
    let mut scaler_under_test = ScalerUnderTest::new();
    assert_eq!(
        scaler_under_test.scaler.rate_changed(scaler_under_test.now, 10e9),
        None,
        "nothing is known yet"
    );
    scaler_under_test.decide(10e6, &[]);
    scaler_under_test.decide(10e6, &[report(Rung::Send, 1, 0.003, 85)]);
    let decision = scaler_under_test.scaler.rate_changed(scaler_under_test.now, 10e9).unwrap();
    assert_eq!((decision.setting.threads, decision.reason), (4, Some(ChangeReason::MoreThreads)));
    assert_eq!(scaler_under_test.scaler.rate_changed(scaler_under_test.now, 10e9), None, "nothing new");
}

proptest! {
    #[test]
    fn whatever_is_reported_the_bounds_hold(
        periods in prop::collection::vec((0.0..4e11, 0_u32..10, 0.0..2.0, 0_u64..100_000, 0_u64..1_000, 0.0..9.0), 1..40),
        cpus in 0_u32..16,
        burst_max in 0_u32..2_000,
    ) {
        let (mut scaler, mut now) = (SenderScaler::new(), Instant::now());
        for (rate, count, busy, sent, errors, others) in periods {
            now += scaler.period();
            let thread = SenderReport { errors, asked: sent as f64 * 1.1, ..report(Rung::Gso, 44, f64::min(busy, 1.0), sent) };
            let threads = vec![thread; count as usize];
            let decision = scaler.decide(&Observation {
                now,
                rate_bits_per_s: rate,
                mss_octets: MSS,
                burst_max,
                best: Rung::Gso,
                threads: &threads,
                host: Host { cpus, steal: others, others },
            });
            let Setting { threads, burst, .. } = decision.setting;
            prop_assert!((1..=cpus.max(1)).contains(&threads), "{} threads", threads);
            prop_assert!((1..=burst_max.clamp(1, 44)).contains(&burst), "burst of {}", burst);
            prop_assert!(scaler.capacity(Rung::Gso, 44) > 0.0);
        }
    }
}

#[test]
fn doubt_from_a_rate_that_no_thread_could_do_is_not_kept_at_one_that_each_can() {
    // Two CPUs, much else to do, and code that takes its time: at the high rate threads seem to have time,
    // and are short.
    for (slower, stress) in [(1.0, 0), (1.0, 8), (3.0, 4)] {
        for seed in 0..10 {
            let (rate, stress) = (|at_s: f64| if at_s < 5.0 { 20e9 } else { 230e6 }, move |_: f64| stress);
            let (rate, stress): (&dyn Fn(f64) -> f64, &dyn Fn(f64) -> u32) = (&rate, &stress);
            let world = SimulatedMachine {
                seed,
                cpus: 2,
                best: Rung::Send,
                slower,
                rate,
                tells: true,
                stress,
                ..SimulatedMachine::default()
            };
            let told = run(&world, &mut SenderScaler::new(), 12.0);
            assert_eq!(told.threads_most, 2, "{slower} {seed}");
            let parked = told.first(5.0, |moment| moment.setting.threads == 1);
            assert!(parked.is_some_and(|at_s| at_s < 7.5), "{slower} {seed}: {:?}", changes(&told, 0.0));
        }
    }
}
