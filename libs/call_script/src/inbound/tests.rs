//! Calls from people, one story each, and any events in any order.

use super::*;
use crate::PIN_WAIT;
use crate::script::{AnsweredCall, CallPin, CallScript, ScriptAction, ScriptEvent, ScriptReport};
use proptest::prelude::*;

const GREETING: Prompt = Prompt { id: 1, length_ms: 1_000 };
const PIN_ASKED: Prompt = Prompt { id: 2, length_ms: 1_000 };
const PIN_WRONG: Prompt = Prompt { id: 3, length_ms: 1_000 };
const PIN_FAILED: Prompt = Prompt { id: 4, length_ms: 1_000 };
const NO_ALERTS: Prompt = Prompt { id: 5, length_ms: 1_000 };
const WRONG: Prompt = Prompt { id: 6, length_ms: 1_000 };
const MAIN: Prompt = Prompt { id: 7, length_ms: 1_000 };
const WAIT: Prompt = Prompt { id: 8, length_ms: 1_000 };
const CONFIRM: Prompt = Prompt { id: 9, length_ms: 1_000 };
const NOT_PREPARED: Prompt = Prompt { id: 10, length_ms: 1_000 };
const NO_RESULT: Prompt = Prompt { id: 11, length_ms: 1_000 };
const GOODBYE: Prompt = Prompt { id: 12, length_ms: 1_000 };
const TEMPLATES: Prompt = Prompt { id: 13, length_ms: 1_000 };
const COUNT: Prompt = Prompt { id: 14, length_ms: 1_000 };
const READ_TEXT: Prompt = Prompt { id: 15, length_ms: 5_000 };
const RESULT: Prompt = Prompt { id: 16, length_ms: 1_000 };
const WAITS: Prompt = Prompt { id: 17, length_ms: 1_000 };
const DRILL: Prompt = Prompt { id: 20, length_ms: 1_000 };
const THANKS: Prompt = Prompt { id: 21, length_ms: 1_000 };
const MENU: Prompt = Prompt { id: 22, length_ms: 1_000 };
const LONGEST: Duration = Duration::from_secs(300);

fn key(character: char) -> PhoneKey {
    PhoneKey::new(character).unwrap()
}

fn script() -> InboundScript {
    InboundScript {
        greeting: GREETING,
        pin_asked: PIN_ASKED,
        pin_wrong: PIN_WRONG,
        pin_failed: PIN_FAILED,
        no_alerts: NO_ALERTS,
        wrong_key: WRONG,
        main_menu: MAIN,
        please_wait: WAIT,
        confirm: CONFIRM,
        not_prepared: NOT_PREPARED,
        no_result: NO_RESULT,
        goodbye: GOODBYE,
        longest: LONGEST,
    }
}

/// Its text is the prompt of a hundred and its number.
fn alert(id: u32) -> SpokenAlert {
    SpokenAlert {
        id: u64::from(id),
        drill: None,
        text: vec![Prompt { id: 100 + id, length_ms: 3_000 }],
        choices: vec![CallChoice { key: key('1'), label: "I am safe".to_owned(), thanks: THANKS }],
        menu: MENU,
    }
}

fn author() -> InboundEvent {
    let templates = ['1', '2'].map(|character| SpokenTemplate {
        key: key(character),
        id: 500 + u64::from(character.to_digit(10).unwrap()),
    });
    let templates = Some((TEMPLATES, templates.to_vec()));
    InboundEvent::PinAccepted(Box::new(InboundPerson { alerts: vec![alert(1)], templates }))
}

fn prepared(template: u64) -> InboundEvent {
    InboundEvent::Prepared { template, read_back: vec![COUNT, READ_TEXT] }
}

struct TestCall {
    call: InboundCall,
    now: Instant,
    playing: Option<(Prompt, Instant)>,
    log: Vec<String>,
    reports: Vec<InboundReport>,
}

impl TestCall {
    fn new(is_known: bool, alerts: Vec<SpokenAlert>) -> TestCall {
        let now = Instant::now();
        let call = InboundCall::new(Arc::new(script()), is_known, alerts, now);
        let mut call = TestCall { call, now, playing: None, log: Vec::new(), reports: Vec::new() };
        call.take_actions();
        call
    }

    fn take_actions(&mut self) {
        while let Some(action) = self.call.poll_action() {
            match action {
                InboundAction::Play(prompt) => {
                    assert!(self.playing.is_none(), "one prompt at a time: {:?}", self.log);
                    self.playing = Some((prompt, self.now + prompt.length()));
                    self.log.push(prompt.id.to_string());
                }
                InboundAction::StopPlaying => {
                    self.playing = None;
                    self.log.push("stop".to_owned());
                }
                InboundAction::HangUp => self.log.push("bye".to_owned()),
                InboundAction::CheckPin(EnteredPin(digits)) => self.log.push(format!("pin={digits}")),
                InboundAction::Prepare(template) => self.log.push(format!("prepare={template}")),
                InboundAction::Send(template) => self.log.push(format!("send={template}")),
                InboundAction::Report(report) => self.reports.push(report),
            }
        }
    }

    fn event(&mut self, event: InboundEvent) -> &mut TestCall {
        if let (InboundEvent::Played(played), Some((prompt, _))) = (&event, self.playing)
            && *played == prompt
        {
            self.playing = None;
        }
        self.call.handle(self.now, event);
        self.take_actions();
        self
    }

    fn keys(&mut self, keys: &str) -> &mut TestCall {
        for character in keys.chars() {
            self.event(InboundEvent::Key(key(character)));
        }
        self
    }

    fn pass_ms(&mut self, ms: u64) -> &mut TestCall {
        let until = self.now + Duration::from_millis(ms);
        loop {
            let played = self.playing.map(|(_, at)| at);
            let next = [played, self.call.poll_timeout()].into_iter().flatten().min();
            let Some(at) = next.filter(|&at| at <= until) else { break };
            self.now = self.now.max(at);
            let event = match self.playing {
                Some((prompt, ends)) if ends <= at => {
                    self.playing = None;
                    InboundEvent::Played(prompt)
                }
                _ => InboundEvent::Tick,
            };
            self.event(event);
        }
        self.now = until;
        self
    }

    fn run_to_end(&mut self) -> &mut TestCall {
        self.pass_ms(LONGEST.as_millis() as u64);
        assert!(self.call.is_over());
        self
    }

    fn heard(&self) -> String {
        self.log.join(" ")
    }
}

fn answer(alert: u64) -> InboundReport {
    InboundReport::Answer { alert, key: key('1'), label: "I am safe".to_owned() }
}

/// An author who has pressed 1 for a template.
fn choosing() -> TestCall {
    let mut call = TestCall::new(false, Vec::new());
    call.keys("4321#").event(author()).keys("11");
    call
}

#[test]
fn a_known_number_hears_its_alerts_one_after_the_other() {
    let mut call = TestCall::new(true, vec![alert(1), alert(2)]);
    call.run_to_end();
    assert_eq!(call.heard(), "1 101 22 102 22 12 bye");
    assert_eq!(call.reports, [InboundReport::Heard { alert: 1 }, InboundReport::Heard { alert: 2 }]);
}

#[test]
fn an_answer_leads_to_the_next_alert_with_thanks() {
    let mut call = TestCall::new(true, vec![alert(1), alert(2)]);
    call.pass_ms(1_500).keys("1").pass_ms(2_000).keys("1").run_to_end();
    assert_eq!(call.heard(), "1 101 stop 21 102 stop 21 12 bye");
    assert_eq!(call.reports, [answer(1), answer(2)]);
}

#[test]
fn hash_goes_on_star_plays_again_and_a_wrong_key_brings_the_choices() {
    for (keys, heard) in [
        ("#", "1 101 stop 102 22 12 bye"),
        ("*", "1 101 stop 101 22 102 22 12 bye"),
        ("9", "1 101 stop 101 22 102 22 12 bye"),
        ("5", "1 101 stop 6 22 102 22 12 bye"),
    ] {
        let mut call = TestCall::new(true, vec![alert(1), alert(2)]);
        call.pass_ms(1_500).keys(keys).run_to_end();
        assert_eq!(call.heard(), heard, "{keys}");
    }
}

#[test]
fn the_mark_of_a_drill_is_first_and_last_of_its_alert() {
    let drill = SpokenAlert { drill: Some(DRILL), ..alert(1) };
    let mut call = TestCall::new(true, vec![drill.clone()]);
    call.run_to_end();
    assert_eq!(call.heard(), "1 20 101 22 20 12 bye");
    let mut call = TestCall::new(true, vec![drill]);
    call.pass_ms(2_500).keys("1").run_to_end();
    assert_eq!(call.heard(), "1 20 101 stop 21 20 12 bye");
}

#[test]
fn any_other_number_hears_the_public_alerts_by_star_or_by_waiting() {
    let mut call = TestCall::new(false, vec![alert(3)]);
    call.pass_ms(1_500).keys("*").run_to_end();
    assert_eq!(call.heard(), "1 2 stop 103 22 12 bye");
    let mut call = TestCall::new(false, vec![alert(3)]);
    call.run_to_end();
    assert_eq!(call.heard(), "1 2 103 22 12 bye");
}

#[test]
fn a_pin_brings_the_alerts_of_its_person() {
    let person = InboundPerson { alerts: vec![alert(1)], templates: None };
    let mut call = TestCall::new(false, vec![alert(3)]);
    call.keys("4321").pass_ms(PIN_WAIT.as_millis() as u64);
    assert_eq!(call.heard(), "1 stop pin=4321", "by waiting as by hash");
    call.event(InboundEvent::PinAccepted(Box::new(person))).run_to_end();
    assert_eq!(call.heard(), "1 stop pin=4321 101 22 12 bye");
}

#[test]
fn three_wrong_pins_leave_the_public_alerts_and_no_further_try() {
    let mut call = TestCall::new(false, vec![alert(3)]);
    call.keys("1111#").event(InboundEvent::PinRefused);
    call.keys("12#").keys("33333333").event(InboundEvent::PinRefused);
    assert_eq!(call.reports, [InboundReport::PinFailed]);
    call.pass_ms(1_500).keys("0").event(author()).run_to_end();
    assert_eq!(call.heard(), "1 stop pin=1111 3 stop 3 stop pin=33333333 4 103 stop 6 22 12 bye");
}

#[test]
fn a_pin_that_nobody_judges_in_time_is_no_pin() {
    let mut call = TestCall::new(false, Vec::new());
    call.keys("4321#").pass_ms(PIN_CHECK_WAIT.as_millis() as u64).event(author());
    assert_eq!(call.heard(), "1 stop pin=4321 3");
}

#[test]
fn a_known_number_may_enter_a_pin_by_zero() {
    let mut call = TestCall::new(true, vec![alert(1)]);
    call.pass_ms(1_500).keys("0").keys("4321#").event(author());
    assert_eq!(call.heard(), "1 101 stop 2 stop pin=4321 7");
}

#[test]
fn nobody_has_an_alert_and_is_told_so() {
    let mut call = TestCall::new(true, Vec::new());
    call.run_to_end();
    assert_eq!(call.heard(), "1 5 12 bye");
}

#[test]
fn an_author_hears_count_and_text_and_sends_by_key_one() {
    let mut call = choosing();
    call.pass_ms(500).event(prepared(501)).pass_ms(6_500).keys("1").pass_ms(500);
    call.event(InboundEvent::Result(RESULT)).run_to_end();
    assert_eq!(
        call.heard(),
        "1 stop pin=4321 7 stop 13 stop prepare=501 8 stop 14 15 9 stop send=501 8 stop 16 12 bye"
    );
}

#[test]
fn key_one_does_not_send_what_was_not_heard() {
    let mut call = choosing();
    call.keys("1").event(prepared(501)).keys("1").pass_ms(5_999).keys("111");
    assert!(!call.heard().contains("send"), "{}", call.heard());
    call.pass_ms(1).keys("1");
    assert!(call.heard().contains("send=501"));
}

#[test]
fn an_author_may_hear_it_again_or_choose_another_template() {
    let mut call = choosing();
    call.event(prepared(501)).pass_ms(6_500).keys("*").pass_ms(500).keys("2").pass_ms(500).keys("2");
    call.event(prepared(501));
    assert!(call.heard().ends_with("14 15 9 stop 14 stop 13 stop prepare=502 8"), "{}", call.heard());
    call.event(prepared(502)).pass_ms(1_000).keys("1");
    assert!(!call.heard().contains("send"), "the second was not heard");
}

#[test]
fn a_template_that_is_not_ready_is_told_and_another_may_be_chosen() {
    let not_prepared = InboundEvent::NotPrepared { template: 501 };
    let empty = InboundEvent::Prepared { template: 501, read_back: Vec::new() };
    for event in [Some(not_prepared), Some(empty), None] {
        let mut call = choosing();
        call.pass_ms(1_500);
        match event {
            Some(event) => call.event(event),
            None => call.pass_ms(PREPARE_WAIT.as_millis() as u64),
        };
        assert!(call.heard().contains("prepare=501 8 10"), "{}", call.heard());
        call.event(prepared(501));
        assert!(!call.heard().contains("14"), "too late");
    }
}

#[test]
fn an_author_stays_on_the_line_for_an_approver() {
    let mut call = choosing();
    call.event(prepared(501)).pass_ms(6_500).keys("1").event(InboundEvent::WaitsForApproval(WAITS));
    call.pass_ms(100_000).event(InboundEvent::Result(RESULT)).run_to_end();
    assert!(call.heard().ends_with("send=501 8 stop 17 16 12 bye"), "{}", call.heard());
}

#[test]
fn a_result_that_does_not_come_is_not_made_up() {
    let mut call = choosing();
    call.event(prepared(501)).pass_ms(6_500).keys("1").run_to_end();
    assert!(call.heard().ends_with("send=501 8 11 12 bye"), "{}", call.heard());
}

#[test]
fn an_author_may_hear_alerts_and_choose_again() {
    let mut call = TestCall::new(false, Vec::new());
    call.keys("4321#").event(author()).keys("2").pass_ms(500).keys("1").pass_ms(1_500).keys("21");
    assert_eq!(call.reports, [answer(1)], "once");
    assert_eq!(call.heard(), "1 stop pin=4321 7 stop 101 stop 21 7 stop 101 stop 7");
}

#[test]
fn a_pin_is_not_shown() {
    assert_eq!(format!("{:?}", EnteredPin("4321".to_owned())), "EnteredPin(4 digits)");
}

fn approver() -> (AnsweredCall, Instant) {
    let pin = CallPin { digits: "1111".to_owned(), asked: PIN_ASKED, wrong: PIN_WRONG, failed: PIN_FAILED };
    let call = ApprovalCall {
        greeting: GREETING,
        drill: None,
        text: vec![COUNT, READ_TEXT],
        menu: MENU,
        wrong_key: WRONG,
        approved: THANKS,
        rejected: THANKS,
        pin,
        longest: LONGEST,
    };
    let (script, now): (CallScript, Instant) = (call.script(), Instant::now());
    assert_eq!(script.check(), Ok(()));
    (AnsweredCall::new(Arc::new(script), now), now)
}

fn decisions(call: &mut AnsweredCall) -> Vec<CallDecision> {
    std::iter::from_fn(|| call.poll_action())
        .filter_map(|action| match action {
            ScriptAction::Report(report) => CallDecision::of_report(&report),
            _ => None,
        })
        .collect()
}

#[test]
fn an_approver_decides_behind_the_pin_and_the_whole_text() {
    for (character, decision) in [(APPROVE_KEY, CallDecision::Approved), (REJECT_KEY, CallDecision::Rejected)]
    {
        let (mut call, now) = approver();
        for _ in 0..6 {
            call.handle(now, ScriptEvent::Key(key('1')));
        }
        assert_eq!(decisions(&mut call), [], "a key pressed too often approves nothing");
        for prompt in [GREETING, COUNT, READ_TEXT] {
            call.handle(now, ScriptEvent::Played(prompt));
        }
        call.handle(now, ScriptEvent::Key(key(character)));
        assert_eq!(decisions(&mut call), [decision]);
    }
    let silent = ScriptReport::NoKey { times: 2, perhaps_machine: false };
    assert_eq!(CallDecision::of_report(&silent), None);
}

#[derive(Debug, Clone)]
enum Step {
    Pass(u64),
    Play,
    Key(char),
    Event(InboundEvent),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let event = prop_oneof![
        4 => Just(author()),
        1 => Just(InboundEvent::PinRefused),
        4 => (501u64..503).prop_map(prepared),
        1 => (501u64..503).prop_map(|template| InboundEvent::NotPrepared { template }),
        1 => Just(InboundEvent::WaitsForApproval(WAITS)),
        1 => Just(InboundEvent::Result(RESULT)),
        1 => (0u32..110).prop_map(|id| InboundEvent::Played(Prompt { id, length_ms: 1_000 })),
    ];
    let digits = prop::sample::select("0123456789*##1111122".chars().collect::<Vec<_>>());
    let step = prop_oneof![
        2 => (0u64..9_000).prop_map(Step::Pass),
        8 => Just(Step::Play),
        6 => digits.prop_map(Step::Key),
        4 => event.prop_map(Step::Event),
    ];
    // Most calls are an author's: otherwise few would come as far as a confirmation.
    (any::<bool>(), prop::collection::vec(step, 0..80)).prop_map(|(is_author, steps)| {
        let begin = "4321#".chars().map(Step::Key).chain([Step::Event(author()), Step::Key('1')]);
        if is_author { begin.chain(steps).collect() } else { steps }
    })
}

/// The whole text was played between the last preparation and the sending, and was not sent before.
fn check_sendings(log: &[String]) {
    let Some(sent) = log.iter().position(|line| line.starts_with("send=")) else { return };
    assert!(!log[sent + 1..].iter().any(|line| line.starts_with("send=")), "sent once: {log:?}");
    let template = log[sent].trim_start_matches("send=");
    let chosen = log[..sent].iter().rposition(|line| line.starts_with("prepare=")).unwrap();
    assert_eq!(log[chosen], format!("prepare={template}"));
    let whole = log[chosen..sent].windows(3).any(|lines| lines == ["14", "15", "9"]);
    assert!(whole, "count and text were read back: {log:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(1_000)))]

    /// Every call ends within its bound; nothing follows its end; an alert is answered once; an author's
    /// alert is sent once, behind the whole text.
    #[test]
    fn any_events_end_a_call_within_its_bound(is_known in any::<bool>(), count in 0u32..4, steps in steps()) {
        let mut call = TestCall::new(is_known, (1..=count).map(alert).collect());
        let start = call.now;
        let mut over_at = None;
        for step in steps {
            match step {
                Step::Pass(ms) => {
                    call.now += Duration::from_millis(ms);
                    call.event(InboundEvent::Tick);
                }
                Step::Play => if let Some((prompt, at)) = call.playing.take() {
                    call.now = call.now.max(at);
                    call.event(InboundEvent::Played(prompt));
                },
                Step::Key(character) => { call.keys(&character.to_string()); }
                Step::Event(event) => { call.event(event); }
            }
            if call.call.is_over() {
                over_at.get_or_insert((call.log.len(), call.reports.len()));
                prop_assert_eq!(over_at, Some((call.log.len(), call.reports.len())));
            } else {
                prop_assert!(call.call.poll_timeout().is_some_and(|at| at > call.now));
                prop_assert!(call.now < start + LONGEST);
            }
        }
        call.run_to_end();
        prop_assert_eq!(call.log.iter().filter(|line| *line == "bye").count(), 1);
        prop_assert_eq!(call.log.last().map(String::as_str), Some("bye"));
        let reports = &call.reports;
        for (at, report) in reports.iter().enumerate() {
            prop_assert!(!reports[..at].contains(report), "twice: {report:?}");
        }
        check_sendings(&call.log);
    }
}
