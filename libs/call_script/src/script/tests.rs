//! Calls to people, one story each, and any events in any order.

use super::*;
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Instant;

mod machines;
mod pins;
mod properties;
mod stories;

pub(super) const GREETING: Prompt = Prompt { id: 1, length_ms: 1_000 };
pub(super) const DRILL: Prompt = Prompt { id: 2, length_ms: 1_500 };
pub(super) const TEXT: [Prompt; 2] = [Prompt { id: 3, length_ms: 4_000 }, Prompt { id: 4, length_ms: 3_000 }];
pub(super) const NUMBER: Prompt = Prompt { id: 5, length_ms: 3_000 };
pub(super) const MENU: Prompt = Prompt { id: 6, length_ms: 5_000 };
pub(super) const WRONG: Prompt = Prompt { id: 7, length_ms: 1_000 };
pub(super) const NO_CALLS: Prompt = Prompt { id: 8, length_ms: 2_000 };
pub(super) const MESSAGE: Prompt = Prompt { id: 9, length_ms: 4_000 };
pub(super) const THANKS: [Prompt; 2] =
    [Prompt { id: 11, length_ms: 2_000 }, Prompt { id: 12, length_ms: 2_000 }];
pub(super) const PIN_ASKED: Prompt = Prompt { id: 20, length_ms: 1_000 };
pub(super) const PIN_WRONG: Prompt = Prompt { id: 21, length_ms: 1_000 };
pub(super) const PIN_FAILED: Prompt = Prompt { id: 22, length_ms: 1_000 };

pub(super) fn key(character: char) -> PhoneKey {
    PhoneKey::new(character).unwrap()
}

pub(super) fn script() -> CallScript {
    let choice =
        |character, label: &str, thanks| CallChoice { key: key(character), label: label.to_owned(), thanks };
    CallScript {
        greeting: GREETING,
        drill: None,
        text: TEXT.to_vec(),
        callback_number: Some(NUMBER),
        choices: vec![choice('1', "I am safe", THANKS[0]), choice('2', "I need help", THANKS[1])],
        answer_behind_text: false,
        menu: MENU,
        wrong_key: WRONG,
        do_not_call: Some(NO_CALLS),
        pin: None,
        machine: MachinePolicy::LeaveMessage(MESSAGE),
        times: 2,
        between: Duration::from_secs(2),
        longest: Duration::from_secs(120),
    }
}

pub(super) fn with_pin() -> CallScript {
    let pin = CallPin { digits: "4321".to_owned(), asked: PIN_ASKED, wrong: PIN_WRONG, failed: PIN_FAILED };
    CallScript { pin: Some(pin), ..script() }
}

/// A call with its own clock: prompts are played at once when time passes.
pub(super) struct TestCall {
    pub call: AnsweredCall,
    pub now: Instant,
    pub playing: Option<(Prompt, Instant)>,
    /// Numbers of prompts begun, and words for the rest.
    pub log: Vec<String>,
    pub reports: Vec<ScriptReport>,
}

impl TestCall {
    pub fn new(script: CallScript) -> TestCall {
        script.check().unwrap();
        let now = Instant::now();
        let call = AnsweredCall::new(Arc::new(script), now);
        TestCall { call, now, playing: None, log: Vec::new(), reports: Vec::new() }
    }

    pub fn event(&mut self, event: ScriptEvent) -> &mut TestCall {
        if let (ScriptEvent::Played(played), Some((prompt, _))) = (event, self.playing)
            && played == prompt
        {
            self.playing = None;
        }
        self.call.handle(self.now, event);
        while let Some(action) = self.call.poll_action() {
            match action {
                ScriptAction::Play(prompt) => {
                    assert!(self.playing.is_none(), "one prompt at a time: {:?}", self.log);
                    self.playing = Some((prompt, self.now + prompt.length()));
                    self.log.push(prompt.id.to_string());
                }
                ScriptAction::StopPlaying => {
                    self.playing = None;
                    self.log.push("stop".to_owned());
                }
                ScriptAction::HangUp => self.log.push("bye".to_owned()),
                ScriptAction::Report(report) => self.reports.push(report),
            }
        }
        self
    }

    pub fn keys(&mut self, keys: &str) -> &mut TestCall {
        for character in keys.chars() {
            self.event(ScriptEvent::Key(key(character)));
        }
        self
    }

    /// Time passes: prompts end, deadlines come.
    pub fn pass(&mut self, length: Duration) -> &mut TestCall {
        let until = self.now + length;
        loop {
            let played = self.playing.map(|(_, at)| at);
            let next = [played, self.call.poll_timeout()].into_iter().flatten().min();
            let Some(at) = next.filter(|&at| at <= until) else { break };
            self.now = self.now.max(at);
            let event = match self.playing {
                Some((prompt, ends)) if ends <= at => {
                    self.playing = None;
                    ScriptEvent::Played(prompt)
                }
                _ => ScriptEvent::Tick,
            };
            self.event(event);
        }
        self.now = until;
        self
    }

    pub fn pass_ms(&mut self, ms: u64) -> &mut TestCall {
        self.pass(Duration::from_millis(ms))
    }

    pub fn run_to_end(&mut self) -> &mut TestCall {
        self.pass(CALL_LENGTH_MAX);
        assert!(self.call.is_over());
        self
    }

    pub fn heard(&self) -> String {
        self.log.join(" ")
    }
}

pub(super) fn answer(character: char, label: &str) -> ScriptReport {
    ScriptReport::Answer { key: key(character), label: label.to_owned() }
}
