//! A person who listens, and presses keys.

use super::*;

#[test]
fn someone_who_presses_nothing_hears_the_text_twice_and_the_call_ends() {
    let mut call = TestCall::new(script());
    call.run_to_end();
    assert_eq!(call.heard(), "1 3 4 5 6 3 4 5 6 bye");
    assert_eq!(call.reports, [ScriptReport::NoKey { times: 2, perhaps_machine: false }]);
}

#[test]
fn a_call_takes_as_long_as_its_script_foretells() {
    for drill in [None, Some(DRILL)] {
        let script = CallScript { drill, ..script() };
        let regular = script.regular_length();
        let mut call = TestCall::new(script);
        call.pass(regular - Duration::from_millis(1));
        assert!(!call.call.is_over());
        call.pass_ms(1);
        assert!(call.call.is_over());
    }
}

#[test]
fn the_first_words_wait_for_silence_and_for_two_seconds_at_most() {
    type Step = (u64, ScriptEvent);
    let (started, ended) = (ScriptEvent::SpeechStarted, ScriptEvent::SpeechEnded);
    let cases: [(&[Step], u64); 5] = [
        (&[], 2_000),
        (&[(100, started), (400, ended)], 1_200),
        (&[(100, started), (400, ended), (300, started)], 2_000),
        (&[(900, ended), (1_000, started)], 1_600),
        (&[(700, ScriptEvent::Silence(SILENCE_BEFORE_GREETING))], 700),
    ];
    for (steps, begins) in cases {
        let mut call = TestCall::new(script());
        let start = call.now;
        for &(wait, event) in steps {
            call.pass_ms(wait).event(event);
        }
        let spent = call.now - start;
        let left = Duration::from_millis(begins).saturating_sub(spent);
        if !left.is_zero() {
            call.pass(left - Duration::from_millis(1));
            assert_eq!(call.heard(), "", "{steps:?}");
            call.pass_ms(1);
        }
        assert!(call.heard().starts_with('1'), "{steps:?}");
    }
}

#[test]
fn a_short_silence_is_none() {
    let mut call = TestCall::new(script());
    call.event(ScriptEvent::Silence(Duration::from_millis(699)));
    assert_eq!(call.heard(), "");
}

#[test]
fn a_key_counts_at_any_moment_and_is_thanked_for() {
    for after_ms in [0, 1_999, 2_500, 4_000, 12_000, 18_500, 20_000, 30_000, 38_900] {
        let mut call = TestCall::new(script());
        call.pass_ms(after_ms).keys("1");
        call.run_to_end();
        assert_eq!(call.reports, [answer('1', "I am safe")], "{after_ms}");
        assert!(call.heard().ends_with("11 bye"), "{after_ms}: {}", call.heard());
    }
}

#[test]
fn a_decision_counts_only_behind_the_whole_text() {
    let mut call = TestCall::new(CallScript { answer_behind_text: true, ..script() });
    call.keys("1").pass_ms(9_999).keys("1");
    assert_eq!((call.heard().as_str(), call.reports.len()), ("1 3 4", 0));
    call.pass_ms(1).keys("1").run_to_end();
    assert_eq!(call.reports, [answer('1', "I am safe")]);
}

#[test]
fn a_second_answer_does_not_count() {
    let mut call = TestCall::new(script());
    call.pass_ms(5_000).keys("212*5").run_to_end();
    assert_eq!(call.reports, [answer('2', "I need help")]);
    assert_eq!(call.heard(), "1 3 stop 12 bye");
}

#[test]
fn a_wrong_key_brings_the_choices_again_and_then_the_round_that_is_left() {
    let mut call = TestCall::new(script());
    call.pass_ms(5_000).keys("5").run_to_end();
    assert_eq!(call.heard(), "1 3 stop 7 6 3 4 5 6 bye");
    assert_eq!(call.reports, [ScriptReport::Played { times: 1 }]);
}

#[test]
fn nine_and_star_play_the_round_again_without_taking_one_away() {
    for repeat in ["9", "*"] {
        let mut call = TestCall::new(script());
        call.pass_ms(8_000).keys(repeat).run_to_end();
        assert_eq!(call.heard(), "1 3 4 stop 3 4 5 6 3 4 5 6 bye");
        assert_eq!(call.reports, [ScriptReport::Played { times: 2 }]);
    }
}

#[test]
fn nine_is_a_choice_where_there_are_nine_and_star_still_repeats() {
    let choices = ('1'..='9')
        .map(|character| CallChoice { key: key(character), label: character.to_string(), thanks: THANKS[0] })
        .collect();
    let script = CallScript { choices, do_not_call: None, ..script() };
    let mut call = TestCall::new(script);
    call.pass_ms(8_000).keys("*").pass_ms(1_000).keys("9").run_to_end();
    assert_eq!(call.heard(), "1 3 4 stop 3 stop 11 bye");
    assert_eq!(call.reports, [answer('9', "9")]);
}

#[test]
fn seven_twice_ends_all_calls_to_the_number() {
    let mut call = TestCall::new(script());
    call.pass_ms(3_500).keys("7").pass_ms(1_000).keys("7").run_to_end();
    assert_eq!(call.heard(), "1 3 stop 8 bye");
    assert_eq!(call.reports, [ScriptReport::DoNotCall]);
}

#[test]
fn seven_once_is_a_wrong_key_after_a_while() {
    let mut call = TestCall::new(script());
    call.pass_ms(3_500).keys("7").pass_ms(2_999);
    assert_eq!(call.heard(), "1 3", "it plays on");
    call.pass_ms(1);
    assert_eq!(call.heard(), "1 3 stop 7");
    call.keys("7").run_to_end();
    assert_eq!(call.reports, [ScriptReport::Played { times: 1 }], "a late one is a first one");
}

#[test]
fn seven_another_key_and_seven_is_not_twice() {
    let mut call = TestCall::new(script());
    call.pass_ms(3_500).keys("7*7").run_to_end();
    assert!(!call.reports.contains(&ScriptReport::DoNotCall));
    let mut call = TestCall::new(script());
    call.pass_ms(3_500).keys("717").run_to_end();
    assert_eq!(call.reports, [answer('1', "I am safe")]);
}

#[test]
fn no_more_calls_may_be_asked_for_behind_an_answer() {
    let mut call = TestCall::new(script());
    call.pass_ms(3_500).keys("177").run_to_end();
    assert_eq!(call.reports, [answer('1', "I am safe"), ScriptReport::DoNotCall]);
    assert_eq!(call.heard(), "1 3 stop 11 stop 8 bye");
}

#[test]
fn a_first_seven_in_the_last_second_gets_its_time() {
    let mut call = TestCall::new(script());
    let end = script().regular_length();
    call.pass(end - Duration::from_millis(100)).keys("7").pass_ms(2_000).keys("7").run_to_end();
    assert_eq!(call.reports, [ScriptReport::DoNotCall]);
}

#[test]
fn the_mark_of_a_drill_is_first_and_last() {
    for (keys, heard) in [
        ("", "1 2 3 4 5 6 2 3 4 5 6 2 bye"),
        ("1", "1 2 3 stop 11 2 bye"),
        ("77", "1 2 3 stop 8 2 bye"),
        ("5", "1 2 3 stop 7 6 2 3 4 5 6 2 bye"),
    ] {
        let mut call = TestCall::new(CallScript { drill: Some(DRILL), ..script() });
        call.pass_ms(5_000).keys(keys).run_to_end();
        assert_eq!(call.heard(), heard, "{keys}");
    }
}

#[test]
fn a_stop_finishes_the_sentence_and_ends_the_call() {
    for (after_ms, heard, times) in [
        (500, "bye", 0),
        (2_500, "1 bye", 0),
        (4_000, "1 3 bye", 0),
        (8_000, "1 3 4 bye", 1),
        (18_500, "1 3 4 5 6 bye", 1),
    ] {
        let mut call = TestCall::new(script());
        call.pass_ms(after_ms).event(ScriptEvent::Stop).run_to_end();
        assert_eq!(call.heard(), heard, "{after_ms}");
        assert_eq!(call.reports, [ScriptReport::NoKey { times, perhaps_machine: false }]);
    }
}

#[test]
fn a_stop_of_a_drill_still_ends_with_its_mark() {
    let mut call = TestCall::new(CallScript { drill: Some(DRILL), ..script() });
    call.pass_ms(5_000).event(ScriptEvent::Stop).run_to_end();
    assert_eq!(call.heard(), "1 2 3 2 bye");
}

#[test]
fn an_answer_in_the_sentence_behind_a_stop_counts_and_thanks_under_way_are_finished() {
    let mut call = TestCall::new(script());
    call.pass_ms(4_000).event(ScriptEvent::Stop).keys("2").run_to_end();
    assert_eq!(
        (call.heard().as_str(), &call.reports[..]),
        ("1 3 stop bye", &[answer('2', "I need help")][..])
    );
    let mut call = TestCall::new(script());
    call.pass_ms(4_000).keys("2").event(ScriptEvent::Stop).run_to_end();
    assert_eq!(call.heard(), "1 3 stop 12 bye");
}

#[test]
fn someone_who_hangs_up_is_reported_with_what_they_heard() {
    for (after_ms, keys, report) in [
        (100, "", ScriptReport::NoKey { times: 0, perhaps_machine: false }),
        (12_000, "", ScriptReport::NoKey { times: 1, perhaps_machine: false }),
        (12_000, "5", ScriptReport::Played { times: 1 }),
        (4_000, "1", answer('1', "I am safe")),
    ] {
        let mut call = TestCall::new(script());
        call.pass_ms(after_ms).keys(keys).event(ScriptEvent::PeerHungUp).keys("1");
        assert!(call.call.is_over());
        assert_eq!(call.reports, [report], "{after_ms}");
        assert!(!call.heard().contains("bye"), "the other side did");
        assert_eq!(call.call.poll_timeout(), None);
    }
}

#[test]
fn a_key_where_there_are_no_choices_is_a_sign_of_a_person() {
    let mut call = TestCall::new(CallScript { choices: Vec::new(), ..script() });
    call.pass_ms(5_000).keys("1").run_to_end();
    assert_eq!(call.heard(), "1 3 4 5 6 3 4 5 6 bye");
    assert_eq!(call.reports, [ScriptReport::Played { times: 2 }]);
}

#[test]
fn someone_who_presses_wrong_keys_without_end_is_hung_up_on_at_the_bound() {
    let mut call = TestCall::new(script());
    let start = call.now;
    while !call.call.is_over() {
        call.pass_ms(1_500).keys("0");
    }
    assert_eq!(call.now - start, Duration::from_millis(120_000));
    assert!(call.heard().ends_with("stop bye"));
    assert_eq!(call.reports, [ScriptReport::Played { times: 0 }]);
}

#[test]
fn sound_that_is_never_reported_as_played_does_not_hold_the_call_and_does_not_count() {
    let mut call = TestCall::new(CallScript { longest: CALL_LENGTH_MAX, ..script() });
    while let Some(at) = call.call.poll_timeout() {
        call.now = at;
        call.event(ScriptEvent::Tick);
    }
    assert_eq!(call.reports, [ScriptReport::NoKey { times: 0, perhaps_machine: false }]);
    let rounds = call.log.iter().filter(|line| *line == "3").count();
    assert_eq!(rounds, usize::from(TIMES_MAX));
}

#[test]
fn a_text_of_which_a_sentence_was_late_was_not_played_in_whole() {
    let mut call = TestCall::new(script());
    call.pass_ms(3_500);
    call.playing = None;
    call.run_to_end();
    assert_eq!(call.heard(), "1 3 stop 4 5 6 3 4 5 6 bye");
    assert_eq!(call.reports, [ScriptReport::NoKey { times: 1, perhaps_machine: false }]);
}

#[test]
fn a_script_that_cannot_be_played_is_refused_with_what_to_do() {
    let choice = |character| CallChoice { key: key(character), label: String::new(), thanks: THANKS[0] };
    let choices =
        |characters: &str| CallScript { choices: characters.chars().map(choice).collect(), ..script() };
    let mut pin = with_pin();
    pin.pin.as_mut().unwrap().digits = "12".to_owned();
    let regular = script().regular_length();
    let longest = regular - Duration::from_millis(1);
    for (script, problem) in [
        (CallScript { text: Vec::new(), ..script() }, ScriptProblem::Sentences(0)),
        (CallScript { text: vec![TEXT[0]; 201], ..script() }, ScriptProblem::Sentences(201)),
        (choices("1234567891"), ScriptProblem::Choices(10)),
        (choices("10"), ScriptProblem::NotAChoiceKey(key('0'))),
        (choices("1*"), ScriptProblem::NotAChoiceKey(PhoneKey::STAR)),
        (choices("11"), ScriptProblem::KeyTwice(key('1'))),
        (choices("17"), ScriptProblem::KeyOfDoNotCall),
        (pin, ScriptProblem::Pin),
        (CallScript { times: 0, ..script() }, ScriptProblem::Times(0)),
        (CallScript { times: 6, ..script() }, ScriptProblem::Times(6)),
        (CallScript { longest, ..script() }, ScriptProblem::TooLong { regular, longest }),
        (
            CallScript { longest: Duration::from_secs(901), ..script() },
            ScriptProblem::BoundTooLong(Duration::from_secs(901)),
        ),
    ] {
        assert_eq!(script.check(), Err(problem.clone()));
        let text = problem.to_string();
        assert!(text.split_once(": ").is_some(), "names the field: {text}");
    }
}
