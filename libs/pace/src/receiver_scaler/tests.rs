use super::simulation::{Moment, SimulatedMachine, run};
use super::*;
use proptest::prelude::*;

const MIB: usize = 1 << 20;

fn limits() -> ReceiverLimits {
    ReceiverLimits { sockets: (1, 4), buffer_octets: (MIB, 64 * MIB), can_join: true }
}

fn reasons(moments: &[Moment]) -> Vec<ReceiverReason> {
    moments.iter().filter_map(|moment| moment.decision.reason).collect()
}

fn last(moments: &[Moment]) -> ReceiverDecision {
    moments.last().unwrap().decision
}

fn dropped(moments: &[Moment], from_s: f64) -> f64 {
    moments.iter().filter(|moment| moment.at_s > from_s).map(|moment| moment.dropped).sum()
}

#[test]
fn what_one_socket_takes_easily_changes_nothing() {
    for joinable in [1.0, 8.0] {
        let moments = run(&SimulatedMachine { joinable, ..SimulatedMachine::default() }, limits(), 20.0);
        assert_eq!(reasons(&moments), []);
        assert!(last(&moments).setting.joins && last(&moments).ceiling.is_none());
    }
}

#[test]
fn a_sender_that_goes_over_to_bursts_is_joined_at_once_whatever_it_sent_before() {
    // From a rate at which joining is kept, and from one at which it was given up, to one that nobody takes
    // unjoined on one socket.
    for (before, given_up) in [(1e3, 0), (2.5e5, 1)] {
        let rate = |at_s: f64| if at_s < 5.0 { before } else { 8.5e5 };
        let world = SimulatedMachine {
            rate: &rate,
            joinable: 32.0,
            joinable_from_s: 5.0,
            cpus: 2,
            ..SimulatedMachine::default()
        };
        let moments = run(&world, ReceiverLimits { buffer_octets: (32 * MIB, 64 * MIB), ..limits() }, 12.0);
        let reasons = reasons(&moments);
        let count = |wanted| reasons.iter().filter(|reason| **reason == wanted).count();
        assert_eq!(count(ReceiverReason::NothingToJoin), given_up, "{reasons:?}");
        assert_eq!(
            (count(ReceiverReason::Joins), count(ReceiverReason::MoreSockets)),
            (given_up, 0),
            "{reasons:?}"
        );
        let lost: f64 = moments.iter().map(|moment| moment.dropped).sum();
        assert!(given_up > 0 || lost == 0.0, "{lost} of what was joined all along");
        assert_eq!(dropped(&moments, 5.25), 0.0, "two looks after the step");
        assert_eq!(last(&moments).setting.sockets, 1);
    }
}

#[test]
fn a_buffer_grows_until_it_holds_what_comes_while_no_thread_runs() {
    // 40 ms of 100,000 packets a second: 9.2 MB, in bursts somewhat more.
    let world =
        SimulatedMachine { rate: &|_| 1e5, stalled_ms: 40, joinable: 8.0, ..SimulatedMachine::default() };
    let moments = run(&world, limits(), 30.0);
    assert!(reasons(&moments).iter().all(|reason| *reason == ReceiverReason::LargerBuffer));
    let octets = last(&moments).setting.buffer_octets;
    assert!((8 * MIB..=16 * MIB).contains(&octets), "{octets}");
    assert!(dropped(&moments, 0.0) > 0.0 && dropped(&moments, 15.0) == 0.0);
}

#[test]
fn a_buffer_that_the_system_bounds_is_told_and_not_asked_for_for_ever() {
    let world = SimulatedMachine {
        rate: &|_| 1e5,
        stalled_ms: 300,
        joinable: 8.0,
        system_octets: 4 * MIB,
        ..SimulatedMachine::default()
    };
    let moments = run(&world, limits(), 10.0);
    assert_eq!(last(&moments).setting.buffer_octets, 8 * MIB, "the first that was not given whole");
    let told: Vec<_> = moments.iter().filter_map(|moment| moment.decision.ceiling).collect();
    assert!(told.contains(&ReceiverCeiling::SystemBuffer), "{told:?}");
}

#[test]
fn a_rate_beyond_one_thread_gets_sockets_and_gives_them_back() {
    // One thread takes 555,000 a second unjoined; 1,200,000 need three with some room.
    let rate = |at_s: f64| if (2.0..12.0).contains(&at_s) { 1.2e6 } else { 2e4 };
    let moments = run(&SimulatedMachine { rate: &rate, ..SimulatedMachine::default() }, limits(), 25.0);
    let most = moments.iter().map(|moment| moment.decision.setting.sockets).max();
    assert!(most >= Some(3), "{most:?}");
    assert_eq!(dropped(&moments, 4.0), 0.0);
    assert_eq!(last(&moments).setting.sockets, 1);
    let parked = moments.iter().find(|moment| moment.at_s > 12.0 && moment.decision.setting.sockets == 1);
    assert!(parked.is_some_and(|moment| moment.at_s < 19.0), "two seconds for each");
}

#[test]
fn joining_is_tried_before_sockets_and_is_enough_where_it_helps() {
    let world = |joinable| SimulatedMachine { rate: &|_| 3e5, joinable, ..SimulatedMachine::default() };
    let alone = run(&world(1.0), limits(), 35.0);
    let tried: Vec<_> =
        reasons(&alone).into_iter().filter(|reason| *reason != ReceiverReason::LargerBuffer).collect();
    // Busy for more than half of the time: tried again after half a minute, and given up again.
    assert_eq!(tried, [ReceiverReason::NothingToJoin, ReceiverReason::Joins, ReceiverReason::NothingToJoin]);
    let joined = run(&SimulatedMachine { rate: &|_| 1e6, ..world(32.0) }, limits(), 10.0);
    assert!(last(&joined).setting.joins && !reasons(&joined).contains(&ReceiverReason::MoreSockets));
}

#[test]
fn where_others_have_the_processors_no_socket_is_added_and_that_is_said() {
    let world = SimulatedMachine { rate: &|_| 2e6, cpus: 2, others: &|_| 1.0, ..SimulatedMachine::default() };
    let moments = run(&world, limits(), 10.0);
    assert!(moments.iter().all(|moment| moment.decision.setting.sockets == 1));
    assert_eq!(last(&moments).ceiling, Some(ReceiverCeiling::HostsOtherWork));
}

#[test]
fn on_two_processors_a_second_socket_depends_on_what_the_sender_leaves_of_the_other() {
    // 700,000 a second are 1.26 processors' worth. A sender that spins between its bursts has one for itself.
    for (others, sockets) in [(0.6, 2), (1.0, 1)] {
        let world =
            SimulatedMachine { rate: &|_| 7e5, cpus: 2, others: &|_| others, ..SimulatedMachine::default() };
        let moments = run(&world, limits(), 8.0);
        assert_eq!(last(&moments).setting.sockets, sockets, "{others}: {:?}", reasons(&moments));
        let ceilings = moments.iter().rev().take(20).all(|moment| match sockets {
            2 => moment.decision.ceiling.is_none(),
            _ => moment.decision.ceiling == Some(ReceiverCeiling::HostsOtherWork),
        });
        assert!(ceilings, "{others}");
    }
}

#[test]
fn sockets_that_bring_nothing_are_taken_back_and_not_tried_again_at_once() {
    let world = SimulatedMachine { rate: &|_| 1e6, shared_max: 3e5, ..SimulatedMachine::default() };
    let moments = run(&world, limits(), 30.0);
    let taken_back = reasons(&moments).iter().filter(|reason| **reason == ReceiverReason::TakenBack).count();
    assert!((1..=4).contains(&taken_back), "{taken_back} in 30 s");
    assert!(moments.iter().any(|moment| moment.decision.ceiling == Some(ReceiverCeiling::Cpu)));
}

#[test]
fn what_the_user_fixed_stays() {
    let fixed = ReceiverLimits { sockets: (2, 2), buffer_octets: (16 * MIB, 16 * MIB), can_join: false };
    let moments =
        run(&SimulatedMachine { rate: &|_| 5e6, joinable: 8.0, ..SimulatedMachine::default() }, fixed, 5.0);
    assert_eq!(reasons(&moments), []);
    assert_eq!(last(&moments).setting, ReceiverSetting { sockets: 2, buffer_octets: 16 * MIB, joins: false });
    assert_eq!(last(&moments).ceiling, Some(ReceiverCeiling::Cpu));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(64)))]
    /// Rates that step each second, others that come and go: bounds hold, a change has a reason, and nothing
    /// flaps.
    #[test]
    fn whatever_comes_bounds_hold_and_sockets_do_not_flap(
        seed: u64,
        rates in prop::collection::vec(0.0_f64..3e6, 30),
        others in prop::collection::vec(0.0_f64..4.0, 30),
        joinable in 1.0_f64..40.0,
        stalled_ms in 0_u64..50,
        cpus in 1_u32..=4,
    ) {
        let at = |values: &[f64], at_s: f64| values[(at_s as usize).min(values.len() - 1)];
        let rate = |at_s: f64| at(&rates, at_s);
        let used = |at_s: f64| at(&others, at_s).min(f64::from(cpus));
        let world = SimulatedMachine { seed, cpus, rate: &rate, joinable, others: &used, stalled_ms, ..SimulatedMachine::default() };
        let moments = run(&world, limits(), 30.0);
        let (mut before, mut changes) = (ReceiverScaler::new(limits()).setting(), 0);
        for moment in &moments {
            let ReceiverDecision { setting, reason, .. } = moment.decision;
            prop_assert!(setting.sockets >= 1 && setting.sockets <= cpus.min(4));
            prop_assert!((before.buffer_octets..=64 * MIB).contains(&setting.buffer_octets), "it never shrinks");
            prop_assert_eq!(setting != before, reason.is_some(), "at {} s", moment.at_s);
            changes += u32::from(setting.sockets != before.sockets);
            before = setting;
        }
        prop_assert!(changes <= 45, "{} changes of sockets in 30 s", changes);
    }
}
