//! Answering machines, and people who are taken for one.

use super::*;

#[test]
fn a_beep_brings_the_message_once_from_its_start_without_a_menu() {
    let mut call = TestCall::new(script());
    call.pass_ms(5_000).event(ScriptEvent::Beep).run_to_end();
    assert_eq!(call.heard(), "1 3 stop 1 3 4 9 bye");
    assert_eq!(call.reports, [ScriptReport::NoKey { times: 1, perhaps_machine: true }]);
}

#[test]
fn a_suspected_machine_is_let_speak_until_silence_or_a_beep_or_half_a_minute() {
    let silence = ScriptEvent::Silence(SILENCE_BEFORE_GREETING);
    for (event, waits_ms) in [(Some(silence), 8_000), (Some(ScriptEvent::Beep), 8_000), (None, 30_000)] {
        let mut call = TestCall::new(script());
        call.pass_ms(3_500).event(ScriptEvent::MachineSuspected).pass_ms(waits_ms - 1);
        assert_eq!(call.heard(), "1 3 stop");
        if let Some(event) = event {
            call.event(event);
        }
        call.run_to_end();
        assert_eq!(call.heard(), "1 3 stop 1 3 4 9 bye");
        assert_eq!(call.reports, [ScriptReport::NoKey { times: 1, perhaps_machine: true }]);
    }
}

#[test]
fn a_beep_behind_a_silence_begins_the_message_anew_and_beeps_without_end_do_not() {
    let mut call = TestCall::new(script());
    call.event(ScriptEvent::MachineSuspected).event(ScriptEvent::Silence(SILENCE_BEFORE_GREETING));
    for _ in 0..5 {
        call.pass_ms(500).event(ScriptEvent::Beep);
    }
    call.run_to_end();
    assert_eq!(call.heard(), "1 stop 1 stop 1 3 4 9 bye");
}

#[test]
fn a_key_takes_the_hint_back_at_any_moment() {
    for (keys, heard, report) in [
        ("1", "1 3 stop 11 bye", answer('1', "I am safe")),
        ("*", "1 3 stop 3 4 5 6 3 4 5 6 bye", ScriptReport::Played { times: 2 }),
        ("5", "1 3 stop 7 6 3 4 5 6 bye", ScriptReport::Played { times: 1 }),
    ] {
        let mut call = TestCall::new(script());
        call.pass_ms(3_500).event(ScriptEvent::MachineSuspected).pass_ms(1_000).keys(keys);
        call.event(ScriptEvent::MachineSuspected).event(ScriptEvent::Beep).run_to_end();
        assert_eq!(call.heard(), heard);
        assert_eq!(call.reports, [report]);
    }
    let mut call = TestCall::new(script());
    call.event(ScriptEvent::Beep).pass_ms(6_000).keys("2").run_to_end();
    assert_eq!(call.heard(), "1 3 4 stop 12 bye");
}

#[test]
fn a_message_of_a_drill_has_its_mark_first_and_last() {
    let mut call = TestCall::new(CallScript { drill: Some(DRILL), ..script() });
    call.event(ScriptEvent::Beep).run_to_end();
    assert_eq!(call.heard(), "1 2 3 4 9 2 bye");
}

#[test]
fn hints_are_ignored_where_the_script_says_so_and_are_in_the_report_all_the_same() {
    let mut call = TestCall::new(CallScript { machine: MachinePolicy::Ignore, ..script() });
    call.pass_ms(5_000).event(ScriptEvent::MachineSuspected).event(ScriptEvent::Beep).run_to_end();
    assert_eq!(call.heard(), "1 3 4 5 6 3 4 5 6 bye");
    assert_eq!(call.reports, [ScriptReport::NoKey { times: 2, perhaps_machine: true }]);
}

#[test]
fn a_machine_gets_no_text_that_is_behind_a_pin() {
    let mut call = TestCall::new(with_pin());
    call.pass_ms(2_500).event(ScriptEvent::Beep).run_to_end();
    assert_eq!(call.heard(), "1 stop 1 9 bye");
    assert_eq!(call.reports, [ScriptReport::NoKey { times: 0, perhaps_machine: true }]);
}

#[test]
fn a_person_taken_for_a_machine_can_still_enter_the_pin() {
    let mut call = TestCall::new(with_pin());
    call.pass_ms(2_500)
        .event(ScriptEvent::Beep)
        .pass_ms(500)
        .keys("4321")
        .pass_ms(500)
        .keys("1")
        .run_to_end();
    assert_eq!(call.heard(), "1 stop 1 stop 1 stop 11 bye");
    assert_eq!(call.reports, [answer('1', "I am safe")]);
}
