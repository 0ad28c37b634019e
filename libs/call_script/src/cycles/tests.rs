//! Endings one after the other, and the calls that follow.

use super::*;
use crate::endings::{
    BUSY_WAIT, CallOutcome, CallProgress, CallRequest, FinalEvent, NO_ANSWER_WAIT, classify,
};
use crate::script::ScriptReport;
use proptest::prelude::*;

const INTERVAL: Duration = Duration::from_secs(900);

fn plan(calls: u8, cycles: u8) -> CyclePlan {
    CyclePlan { calls, cycles, interval: INTERVAL, no_key_is_enough: false }
}

fn status(status: u16) -> AttemptEnding {
    classify(&CallOutcome {
        request: CallRequest::Invite,
        progress: CallProgress::Ringing,
        event: FinalEvent::Status(status),
        phrase: String::new(),
        reasons: Vec::new(),
        retry_after: None,
    })
}

fn no_key() -> AttemptEnding {
    AttemptEnding::of_report(&ScriptReport::NoKey { times: 2, perhaps_machine: false })
}

fn over(words: &str) -> NextCall {
    NextCall::Over { words: words.to_owned() }
}

fn run(plan: CyclePlan, endings: &[AttemptEnding]) -> Vec<NextCall> {
    let mut state = CycleState::default();
    endings.iter().map(|ending| plan.next(&mut state, ending)).collect()
}

#[test]
fn a_busy_number_is_called_again_in_a_minute_and_the_last_ending_is_in_the_words() {
    let steps = run(plan(3, 1), &[status(486), status(480), status(486)]);
    assert_eq!(
        steps,
        [NextCall::After(BUSY_WAIT), NextCall::After(NO_ANSWER_WAIT), over("called 3 times: busy")]
    );
}

#[test]
fn cycles_are_an_interval_apart() {
    let busy = [(); 4].map(|()| status(486));
    assert_eq!(
        run(plan(2, 2), &busy),
        [
            NextCall::After(BUSY_WAIT),
            NextCall::InNextCycle(INTERVAL),
            NextCall::After(BUSY_WAIT),
            over("called 4 times: busy"),
        ]
    );
}

#[test]
fn someone_who_declines_is_not_called_twice_in_a_cycle() {
    let steps = run(plan(3, 3), &[status(486), status(603), status(603), status(603)]);
    assert_eq!(
        steps,
        [
            NextCall::After(BUSY_WAIT),
            NextCall::InNextCycle(INTERVAL),
            NextCall::InNextCycle(INTERVAL),
            over("called 4 times: declined"),
        ]
    );
}

#[test]
fn a_number_that_does_not_exist_is_called_once() {
    assert_eq!(run(plan(3, 3), &[status(404)]), [over("called once: no such number")]);
}

#[test]
fn a_key_ends_the_calls_and_none_leads_to_the_next_cycle_or_is_enough() {
    let answer = AttemptEnding::of_report(&ScriptReport::Played { times: 1 });
    assert_eq!(run(plan(3, 2), &[no_key(), answer]), [NextCall::InNextCycle(INTERVAL), NextCall::Reached]);
    assert_eq!(run(plan(3, 1), &[no_key()]), [over("called once: no key")]);
    let enough = CyclePlan { no_key_is_enough: true, ..plan(3, 1) };
    assert_eq!(run(enough, &[no_key()]), [NextCall::Reached]);
}

#[test]
fn somebody_who_wants_no_calls_gets_none() {
    let refused = AttemptEnding::of_report(&ScriptReport::DoNotCall);
    assert_eq!(run(plan(3, 3), &[refused]), [over("called once: wants no calls")]);
}

#[test]
fn trouble_of_the_route_and_a_stop_do_not_count_as_calls() {
    let mut state = CycleState::default();
    assert_eq!(plan(2, 1).next(&mut state, &status(503)), NextCall::ByAnotherRoute);
    let stopped = CallOutcome {
        request: CallRequest::Invite,
        progress: CallProgress::Ringing,
        event: FinalEvent::Stopped,
        phrase: String::new(),
        reasons: Vec::new(),
        retry_after: None,
    };
    assert_eq!(plan(2, 1).next(&mut state, &classify(&stopped)), NextCall::Stopped);
    assert_eq!(state, CycleState::default());
}

#[test]
fn a_number_that_rejects_the_caller_is_called_from_another_one_or_not_again() {
    let mut state = CycleState::default();
    assert_eq!(plan(2, 1).next(&mut state, &status(607)), NextCall::ByAnotherCaller);
    assert_eq!(state.over(&status(607)), over("called once: unwanted from this caller number"));
}

#[test]
fn a_plan_over_its_limits_is_refused_by_field() {
    for (plan, problem, field) in [
        (plan(0, 1), CyclePlanProblem::Calls(0), "calls"),
        (plan(11, 1), CyclePlanProblem::Calls(11), "calls"),
        (plan(1, 0), CyclePlanProblem::Cycles(0), "cycles"),
        (plan(1, 21), CyclePlanProblem::Cycles(21), "cycles"),
        (
            CyclePlan { interval: INTERVAL_MAX * 2, ..plan(1, 1) },
            CyclePlanProblem::Interval(INTERVAL_MAX * 2),
            "interval",
        ),
    ] {
        assert_eq!(plan.check(), Err(problem));
        assert!(problem.to_string().starts_with(field));
    }
    assert_eq!(plan(CALLS_MAX, CYCLES_MAX).check(), Ok(()));
}

#[test]
fn octets_of_no_state_are_refused() {
    for octets in [[0, 0, 0, 2], [21, 0, 0, 0], [0, 11, 20, 0], [0, 2, 1, 0]] {
        assert_eq!(CycleState::from_octets(octets), None, "{octets:?}");
    }
}

proptest! {
    /// Calls are at most those of the plan, a person who declines is called once in a cycle, and each state
    /// comes back from its octets.
    #[test]
    fn any_endings_come_to_an_end(calls in 1..=CALLS_MAX, cycles in 1..=CYCLES_MAX, seed in any::<u64>()) {
        let plan = plan(calls, cycles);
        let endings = [status(486), status(480), status(603), no_key(), status(500)];
        let (mut state, mut made, mut random) = (CycleState::default(), 0u32, seed);
        let mut declined = 0;
        loop {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let ending = &endings[(random >> 33) as usize % endings.len()];
            made += 1;
            declined += u32::from(ending.class == EndingClass::Person(PersonEnding::Declined));
            prop_assert!(declined <= 1);
            let next = plan.next(&mut state, ending);
            prop_assert_eq!(CycleState::from_octets(state.to_octets()), Some(state));
            match next {
                NextCall::After(wait) => prop_assert!(wait >= BUSY_WAIT),
                NextCall::InNextCycle(wait) => { declined = 0; prop_assert!(wait >= INTERVAL); }
                NextCall::Over { words } => { prop_assert!(words.starts_with("called ")); break; }
                other => prop_assert!(false, "{other:?}"),
            }
        }
        prop_assert!(made <= u32::from(calls) * u32::from(cycles));
    }
}
