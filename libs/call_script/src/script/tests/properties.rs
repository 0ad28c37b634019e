//! Any events in any order.

use super::*;

fn scripts() -> impl Strategy<Value = CallScript> {
    let parts = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 1..=TIMES_MAX);
    parts.prop_map(|(drill, pin, choices, message, do_not_call, times)| {
        let base = if pin { with_pin() } else { script() };
        CallScript {
            drill: drill.then_some(DRILL),
            choices: if choices { base.choices.clone() } else { Vec::new() },
            machine: if message { MachinePolicy::LeaveMessage(MESSAGE) } else { MachinePolicy::Ignore },
            do_not_call: do_not_call.then_some(NO_CALLS),
            times,
            ..base
        }
    })
}

/// Waits, prompts that were played or were not, and everything that the other side can do.
#[derive(Debug, Clone)]
enum Step {
    Pass(u64),
    Play,
    Event(ScriptEvent),
    Key(char),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    use ScriptEvent::*;
    let event = prop_oneof![
        Just(SpeechStarted),
        Just(SpeechEnded),
        Just(MachineSuspected),
        Just(Beep),
        Just(Tick),
        (0u64..2_000).prop_map(|ms| Silence(Duration::from_millis(ms))),
        (0u32..25).prop_map(|id| Played(Prompt { id, length_ms: 1_000 })),
    ];
    let last = prop_oneof![Just(Stop), Just(PeerHungUp)];
    let key = prop::sample::select("0123456789*#77774321111".chars().collect::<Vec<_>>());
    let step = prop_oneof![
        6 => (0u64..12_000).prop_map(Step::Pass),
        8 => Just(Step::Play),
        3 => event.prop_map(Step::Event),
        5 => key.prop_map(Step::Key),
        1 => last.prop_map(Step::Event),
    ];
    prop::collection::vec(step, 0..80)
}

fn count(call: &TestCall, is: fn(&ScriptReport) -> bool) -> usize {
    call.reports.iter().filter(|report| is(report)).count()
}

fn check_reports(call: &TestCall) {
    let answers = count(call, |report| matches!(report, ScriptReport::Answer { .. }));
    let refusals = count(call, |report| matches!(report, ScriptReport::DoNotCall));
    let others = call.reports.len() - answers - refusals;
    assert!(answers <= 1 && refusals <= 1 && others <= 1, "{:?}", call.reports);
    assert!((others == 1) ^ (answers + refusals > 0), "{:?}", call.reports);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(1_000)))]

    /// Every call ends within its bound, with one report, and nothing behind its end.
    #[test]
    fn any_events_end_a_call_within_its_bound(script in scripts(), steps in steps()) {
        prop_assume!(script.check().is_ok());
        let (longest, is_drill, has_pin) = (script.longest, script.drill.is_some(), script.pin.is_some());
        let mut call = TestCall::new(script);
        let start = call.now;
        let mut over_at = None;
        for step in steps {
            match step {
                Step::Pass(ms) => { call.now += Duration::from_millis(ms); call.event(ScriptEvent::Tick); }
                Step::Play => if let Some((prompt, at)) = call.playing.take() {
                    call.now = call.now.max(at);
                    call.event(ScriptEvent::Played(prompt));
                },
                Step::Event(event) => { call.event(event); }
                Step::Key(character) => { call.keys(&character.to_string()); }
            }
            if call.call.is_over() {
                over_at.get_or_insert((call.log.len(), call.reports.len()));
                prop_assert_eq!(over_at, Some((call.log.len(), call.reports.len())));
                prop_assert_eq!(call.call.poll_timeout(), None);
            } else {
                prop_assert!(call.call.poll_timeout().is_some_and(|at| at > call.now));
                prop_assert!(call.now < start + longest);
            }
        }
        call.run_to_end();
        check_reports(&call);
        let byes = call.log.iter().filter(|line| *line == "bye").count();
        prop_assert!(byes == 0 || (byes == 1 && call.log.last().is_some_and(|line| line == "bye")));
        let text_at = call.log.iter().position(|line| line == "3");
        if let Some(at) = text_at {
            prop_assert!(!is_drill || call.log[..at].iter().any(|line| line == "2"));
            let entered = call.call.context.key_pressed;
            prop_assert!(!has_pin || entered, "no text without a PIN");
        }
    }

    /// Without the right PIN nothing of the text is played, and nothing is answered.
    #[test]
    fn wrong_pins_open_nothing(keys in "[0-35-9*#]{0,40}", message in any::<bool>(), gap in 0u64..9_000) {
        let machine = if message { MachinePolicy::LeaveMessage(MESSAGE) } else { MachinePolicy::Ignore };
        let mut call = TestCall::new(CallScript { machine, ..with_pin() });
        for character in keys.chars() {
            call.pass_ms(gap).keys(&character.to_string());
        }
        call.event(ScriptEvent::Beep).run_to_end();
        prop_assert!(call.log.iter().all(|line| line != "3" && line != "6"));
        prop_assert_eq!(count(&call, |report| matches!(report, ScriptReport::Answer { .. })), 0);
    }
}
