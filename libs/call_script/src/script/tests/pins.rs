//! Calls that ask for a PIN.

use super::*;

#[test]
fn the_text_comes_behind_the_right_pin() {
    let mut call = TestCall::new(with_pin());
    call.pass_ms(4_500).keys("4321").pass_ms(5_000).keys("1").run_to_end();
    assert_eq!(call.heard(), "1 20 3 4 stop 11 bye");
    assert_eq!(call.reports, [answer('1', "I am safe")]);
}

#[test]
fn digits_count_while_the_greeting_is_spoken_and_who_calls_is_said_all_the_same() {
    let mut call = TestCall::new(with_pin());
    call.keys("43").pass_ms(300).keys("21").pass_ms(2_000);
    assert_eq!(call.heard(), "1 3");
}

#[test]
fn three_wrong_pins_end_the_call_and_no_key_counts_behind_them() {
    let mut call = TestCall::new(with_pin());
    call.pass_ms(4_500).keys("1111").pass_ms(2_000).keys("22#").pass_ms(2_000).keys("3333");
    call.pass_ms(100).keys("1").keys("77").run_to_end();
    assert_eq!(call.heard(), "1 20 21 21 22 bye");
    assert_eq!(call.reports, [ScriptReport::PinFailed]);
}

#[test]
fn a_wrong_pin_may_be_followed_by_the_right_one_and_star_clears() {
    let mut call = TestCall::new(with_pin());
    call.pass_ms(4_500).keys("1111").keys("43*4321").pass_ms(100).keys("2").run_to_end();
    assert_eq!(call.heard(), "1 20 21 stop 3 stop 12 bye");
    assert_eq!(call.reports, [answer('2', "I need help")]);
}

#[test]
fn a_choice_before_the_pin_is_a_digit() {
    let mut call = TestCall::new(with_pin());
    call.pass_ms(4_500).keys("1").run_to_end();
    assert_eq!(call.reports, [ScriptReport::PinFailed], "three waits without the rest of it");
}

#[test]
fn nobody_who_presses_anything_is_asked_three_times_and_has_failed_no_pin() {
    let mut call = TestCall::new(with_pin());
    call.run_to_end();
    assert_eq!(call.heard(), "1 20 20 20 22 bye");
    assert_eq!(call.reports, [ScriptReport::NoKey { times: 0, perhaps_machine: false }]);
}

#[test]
fn someone_without_a_pin_can_end_all_calls_by_seven_twice_and_no_more() {
    let mut call = TestCall::new(with_pin());
    call.pass_ms(4_500).keys("77").run_to_end();
    assert_eq!(call.heard(), "1 20 8 bye");
    assert_eq!(call.reports, [ScriptReport::DoNotCall]);
    let mut script = with_pin();
    script.pin.as_mut().unwrap().digits = "7731".to_owned();
    let mut call = TestCall::new(script);
    call.pass_ms(4_500).keys("7731").pass_ms(100).keys("1").run_to_end();
    assert_eq!(call.reports, [answer('1', "I am safe")]);
}

#[test]
fn a_pin_is_not_shown() {
    assert!(!format!("{:?}", with_pin()).contains("4321"));
}

#[test]
fn a_stop_while_a_pin_is_asked_for_ends_the_call_and_keys_count_no_more() {
    let mut call = TestCall::new(with_pin());
    call.pass_ms(2_500).event(ScriptEvent::Stop).keys("1").run_to_end();
    assert_eq!(call.heard(), "1 bye");
    assert_eq!(call.reports, [ScriptReport::NoKey { times: 0, perhaps_machine: false }]);
}
