//! Endings of attempts, a table a kind.

use super::*;
use proptest::prelude::*;

fn outcome(event: FinalEvent) -> CallOutcome {
    CallOutcome {
        request: CallRequest::Invite,
        progress: CallProgress::Ringing,
        event,
        phrase: String::new(),
        reasons: Vec::new(),
        retry_after: None,
    }
}

fn status(status: u16) -> CallOutcome {
    outcome(FinalEvent::Status(status))
}

fn q850(cause: u16) -> Vec<ReasonValue> {
    vec![ReasonValue { protocol: ReasonProtocol::Q850, cause, text: String::new() }]
}

fn temporary(seconds: u64) -> EndingClass {
    EndingClass::Person(PersonEnding::Temporary { retry_after: Duration::from_secs(seconds) })
}

const DECLINED: EndingClass = EndingClass::Person(PersonEnding::Declined);
const PERMANENT: EndingClass = EndingClass::Person(PersonEnding::Permanent(PermanentFor::Number));
const FOR_CALLER: EndingClass = EndingClass::Person(PersonEnding::Permanent(PermanentFor::CallerNumber));

fn trouble(trouble: RouteTrouble) -> EndingClass {
    EndingClass::Route(trouble)
}

#[test]
fn every_status_has_its_class_and_code() {
    let unavailable = RouteTrouble::Unavailable { retry_after: None };
    for (number, class, code) in [
        (300, trouble(RouteTrouble::Setup), "voice:redirected"),
        (301, trouble(RouteTrouble::Setup), "voice:redirected"),
        (302, trouble(RouteTrouble::Setup), "voice:redirected"),
        (305, trouble(RouteTrouble::Setup), "voice:redirected"),
        (380, trouble(RouteTrouble::Setup), "voice:redirected"),
        (400, trouble(RouteTrouble::Setup), "voice:not_understood"),
        (401, trouble(RouteTrouble::Credentials), "voice:credentials"),
        (403, PERMANENT, "voice:forbidden"),
        (404, PERMANENT, "voice:unknown_number"),
        (407, trouble(RouteTrouble::Credentials), "voice:credentials"),
        (408, temporary(180), "voice:no_answer"),
        (410, PERMANENT, "voice:gone"),
        (413, trouble(RouteTrouble::Setup), "voice:not_understood"),
        (415, trouble(RouteTrouble::Media), "voice:media"),
        (422, trouble(RouteTrouble::Setup), "voice:not_understood"),
        (480, temporary(180), "voice:no_answer"),
        (482, trouble(RouteTrouble::Setup), "voice:loop"),
        (483, trouble(RouteTrouble::Setup), "voice:loop"),
        (484, PERMANENT, "voice:incomplete_number"),
        (486, temporary(60), "voice:busy"),
        (487, temporary(180), "voice:no_answer"),
        (488, trouble(RouteTrouble::Media), "voice:media"),
        (500, temporary(60), "voice:failure"),
        (502, temporary(60), "voice:failure"),
        (503, trouble(unavailable), "voice:route_unavailable"),
        (504, temporary(60), "voice:failure"),
        (580, temporary(60), "voice:failure"),
        (600, temporary(60), "voice:busy"),
        (603, DECLINED, "voice:declined"),
        (604, PERMANENT, "voice:nowhere"),
        (606, trouble(RouteTrouble::Media), "voice:media"),
        (607, FOR_CALLER, "voice:unwanted"),
        (608, FOR_CALLER, "voice:rejected"),
        (699, temporary(60), "voice:failure"),
    ] {
        let ending = classify(&status(number));
        assert_eq!((ending.class, ending.code), (class, code), "{number}");
        assert!(ending.words.contains(&format!("[SIP {number}]")), "{}", ending.words);
    }
}

#[test]
fn what_came_before_tells_an_end_from_another() {
    use CallProgress::*;
    for (progress, event, class, code) in [
        (Nothing, FinalEvent::Silence, trouble(RouteTrouble::Unreachable), "voice:route_unreachable"),
        (Trying, FinalEvent::Silence, temporary(180), "voice:no_answer"),
        (Ringing, FinalEvent::Silence, temporary(180), "voice:no_answer"),
        (Ringing, FinalEvent::RungOut(Some(487)), temporary(180), "voice:no_answer"),
        (Ringing, FinalEvent::RungOut(None), temporary(180), "voice:no_answer"),
        (Ringing, FinalEvent::RungOut(Some(486)), temporary(60), "voice:busy"),
        (Ringing, FinalEvent::RungOut(Some(603)), DECLINED, "voice:declined"),
        (Ringing, FinalEvent::Stopped, EndingClass::NotTried, "voice:stopped"),
        (Nothing, FinalEvent::Stopped, EndingClass::NotTried, "voice:stopped"),
        (Trying, FinalEvent::Status(480), temporary(180), "voice:unavailable"),
        (Nothing, FinalEvent::Status(408), trouble(RouteTrouble::Unreachable), "voice:route_unreachable"),
    ] {
        let ending = classify(&CallOutcome { progress, ..outcome(event) });
        assert_eq!((ending.class, ending.code), (class, code), "{progress:?} {event:?}");
    }
}

#[test]
fn a_cause_says_more_than_a_status_that_says_little() {
    let unavailable = RouteTrouble::Unavailable { retry_after: None };
    for (number, cause, class, code) in [
        (480, 17, temporary(60), "voice:busy"),
        (480, 19, temporary(180), "voice:no_answer"),
        (480, 20, temporary(180), "voice:unavailable"),
        (480, 21, DECLINED, "voice:declined"),
        (500, 17, temporary(60), "voice:busy"),
        (500, 41, temporary(60), "voice:failure"),
        (503, 17, temporary(60), "voice:busy"),
        (503, 34, trouble(unavailable), "voice:route_unavailable"),
        (502, 1, PERMANENT, "voice:unknown_number"),
        (403, 17, temporary(60), "voice:busy"),
        (403, 21, DECLINED, "voice:call_rejected"),
        (403, 55, PERMANENT, "voice:barred"),
        (403, 57, PERMANENT, "voice:barred"),
        (486, 34, temporary(60), "voice:busy"),
        (404, 17, PERMANENT, "voice:unknown_number"),
    ] {
        let ending = classify(&CallOutcome { reasons: q850(cause), ..status(number) });
        assert_eq!((ending.class, ending.code), (class, code), "{number} {cause}");
        let known = cause_words(cause).unwrap();
        assert!(ending.words.contains(&format!("cause {cause}: {known}")), "{}", ending.words);
    }
}

#[test]
fn a_403_to_a_login_is_the_routes() {
    for (request, cause, code) in [
        (CallRequest::Register, None, "voice:credentials"),
        (CallRequest::Register, Some(21), "voice:credentials"),
        (CallRequest::InviteWithDigest, None, "voice:credentials"),
        (CallRequest::InviteWithDigest, Some(57), "voice:barred"),
        (CallRequest::Invite, None, "voice:forbidden"),
    ] {
        let reasons = cause.map(q850).unwrap_or_default();
        let ending = classify(&CallOutcome { request, reasons, ..status(403) });
        assert_eq!(ending.code, code, "{request:?} {cause:?}");
    }
}

#[test]
fn a_block_by_the_carriers_analytics_is_no_decline() {
    let analytics = "v=analytics1;url=https://carrier.example/redress;tel=+12025550100";
    let with_text =
        vec![ReasonValue { protocol: ReasonProtocol::Q850, cause: 21, text: analytics.to_owned() }];
    for (phrase, reasons, code) in [
        ("Network Blocked", Vec::new(), "voice:blocked"),
        ("network blocked", with_text.clone(), "voice:blocked"),
        ("Decline", with_text, "voice:blocked"),
        ("603+", Vec::new(), "voice:blocked"),
        ("Decline", q850(21), "voice:declined"),
        ("Decline", Vec::new(), "voice:declined"),
    ] {
        let ending = classify(&CallOutcome { phrase: phrase.to_owned(), reasons, ..status(603) });
        assert_eq!(ending.code, code, "{phrase}");
        assert_eq!(ending.class == trouble(RouteTrouble::Blocked), code == "voice:blocked");
        assert!(ending.words.contains(&format!("SIP 603 {phrase}")), "{}", ending.words);
    }
}

#[test]
fn retry_after_is_kept_within_bounds() {
    for (asked, waits) in [(1, 10), (90, 90), (100_000, 3_600)] {
        let retry_after = Some(Duration::from_secs(asked));
        let busy = classify(&CallOutcome { retry_after, ..status(486) });
        assert_eq!(busy.class, temporary(waits));
        let route = classify(&CallOutcome { retry_after, ..status(503) });
        let retry_after = Some(Duration::from_secs(waits));
        assert_eq!(route.class, trouble(RouteTrouble::Unavailable { retry_after }));
    }
    let retry_after = Some(Duration::from_secs(90));
    assert_eq!(classify(&CallOutcome { retry_after, ..status(603) }).class, DECLINED);
}

#[test]
fn an_answered_call_is_reached_by_a_key_alone() {
    let key = crate::PhoneKey::new('1').unwrap();
    for (report, reached, code, words) in [
        (
            ScriptReport::Answer { key, label: "I am safe".to_owned() },
            true,
            "voice:answer",
            "pressed 1: I am safe",
        ),
        (
            ScriptReport::Played { times: 1 },
            true,
            "voice:heard",
            "played once; a key was pressed, but no choice",
        ),
        (
            ScriptReport::NoKey { times: 2, perhaps_machine: false },
            false,
            "voice:no_key",
            "played twice, no key; perhaps a machine",
        ),
        (
            ScriptReport::NoKey { times: 1, perhaps_machine: true },
            false,
            "voice:no_key",
            "played once, no key; it seemed to be a machine",
        ),
        (
            ScriptReport::NoKey { times: 0, perhaps_machine: false },
            false,
            "voice:hung_up",
            "answered, but the call ended before the text did",
        ),
        (
            ScriptReport::PinFailed,
            false,
            "voice:pin_failed",
            "answered by somebody without the PIN; the text was not played",
        ),
    ] {
        let ending = AttemptEnding::of_report(&report);
        assert_eq!((ending.class, ending.code), (EndingClass::Answered { reached }, code));
        assert_eq!((ending.words.as_str(), ending.is_reached()), (words, reached));
    }
    assert_eq!(AttemptEnding::of_report(&ScriptReport::DoNotCall).class, PERMANENT);
}

#[test]
fn a_key_before_the_end_of_the_text_is_a_person_who_has_heard_a_part() {
    let ending = AttemptEnding::of_report(&ScriptReport::Played { times: 0 });
    assert_eq!((ending.code, ending.is_reached()), ("voice:heard_in_part", true));
}

#[test]
fn several_numbers_in_a_row_with_403_are_the_routes_trouble() {
    let mut watch = RouteWatch::default();
    let codes: Vec<&str> =
        [1, 1, 2, 2, 3, 4].map(|number| watch.note(number, classify(&status(403))).code).into();
    let (own, route) = ("voice:forbidden", "voice:route_forbidden");
    assert_eq!(codes, [own, own, own, own, route, route]);
    assert!(watch.is_in_trouble());
    assert_eq!(watch.refused_numbers(), [1, 2, 3]);
}

#[test]
fn a_call_that_arrives_ends_the_row_and_other_trouble_does_not() {
    let answered = AttemptEnding::of_report(&ScriptReport::Played { times: 1 });
    for (between, ends) in [
        (answered, true),
        (classify(&status(486)), true),
        (classify(&status(603)), true),
        (classify(&status(503)), false),
        (classify(&status(404)), false),
        (classify(&outcome(FinalEvent::Stopped)), false),
    ] {
        let mut watch = RouteWatch::default();
        for number in [1, 2] {
            watch.note(number, classify(&status(403)));
        }
        let code = between.code;
        assert_eq!(watch.note(9, between.clone()), between);
        let last = watch.note(3, classify(&CallOutcome { reasons: q850(57), ..status(403) }));
        assert_eq!(last.class == trouble(RouteTrouble::Forbidden), !ends, "{code}");
    }
}

proptest! {
    /// Any status has a code of ours, one line of words, and no more of the other side's than fits.
    #[test]
    fn any_outcome_is_classified(
        number in 300u16..700,
        progress in prop::sample::select(vec![CallProgress::Nothing, CallProgress::Ringing]),
        phrase in ".{0,300}",
        causes in prop::collection::vec((any::<bool>(), 0u16..700, ".{0,200}"), 0..3),
        retry_after in prop::option::of(any::<u32>()),
    ) {
        let reasons = causes
            .into_iter()
            .map(|(is_sip, cause, text)| {
                let protocol = if is_sip { ReasonProtocol::Sip } else { ReasonProtocol::Q850 };
                ReasonValue { protocol, cause, text }
            })
            .collect();
        let retry_after = retry_after.map(|seconds| Duration::from_secs(seconds.into()));
        let ending = classify(&CallOutcome { progress, phrase, reasons, retry_after, ..status(number) });
        prop_assert!(ending.code.starts_with("voice:"));
        prop_assert!(!ending.words.chars().any(char::is_control));
        prop_assert!(ending.words.chars().count() < 1_000);
        if let EndingClass::Person(PersonEnding::Temporary { retry_after }) = ending.class {
            prop_assert!((RETRY_AFTER_MIN..=RETRY_AFTER_MAX).contains(&retry_after));
        }
    }
}
