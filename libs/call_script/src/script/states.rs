//! States of an answered call, a type each.

use super::call::{CallContext, ScriptAction, ScriptReport};
use super::keys::KeyMeaning;
use super::{
    BEEP_RESTARTS_MAX, BEEP_WAIT_MAX, CallPin, DO_NOT_CALL_KEY, GREETING_WAIT_MAX, KEY_WAIT, SECOND_KEY_WAIT,
    SILENCE_BEFORE_GREETING,
};
use crate::pin::PinEntry;
use crate::prompt::{LineEnd, Speech, SpokenLine, text_lines};
use crate::{PIN_TRIES_MAX, PIN_WAIT, PhoneKey, Prompt};
use std::time::{Duration, Instant};

/// State of a call.
#[derive(Debug)]
pub(super) enum CallState {
    Opening(OpeningPause),
    AskingPin(AskingPin),
    Talking(Talking),
    WaitingForKey(KeyPause),
    WaitingForBeep(BeepPause),
    LeavingMessage(MachineMessage),
    Closing(Closing),
    Ended,
}

/// Nothing is played yet: the other side says "hello".
#[derive(Debug)]
pub(super) struct OpeningPause {
    begin_at: Instant,
    latest: Instant,
}

/// The greeting, then the PIN.
#[derive(Debug)]
pub(super) struct AskingPin {
    speech: Speech,
    entry: PinEntry,
    tries: u8,
    /// Wait for the next digit, while nothing is played.
    until: Option<Instant>,
}

/// A round, or the menu again.
#[derive(Debug)]
pub(super) struct Talking {
    speech: Speech,
    /// A round goes on to the next by the pause between rounds; a menu alone leaves more time.
    is_round: bool,
}

/// Pause behind a round or a menu.
#[derive(Debug)]
pub(super) struct KeyPause {
    until: Instant,
}

/// Pause until a machine beeps.
#[derive(Debug)]
pub(super) struct BeepPause {
    until: Instant,
}

/// The message for a machine.
#[derive(Debug)]
pub(super) struct MachineMessage {
    speech: Speech,
    restarts: u8,
}

/// The last words.
#[derive(Debug)]
pub(super) struct Closing {
    speech: Speech,
}

impl CallState {
    fn speech(&self) -> Option<&Speech> {
        match self {
            CallState::AskingPin(AskingPin { speech, .. })
            | CallState::Talking(Talking { speech, .. })
            | CallState::LeavingMessage(MachineMessage { speech, .. })
            | CallState::Closing(Closing { speech }) => Some(speech),
            _ => None,
        }
    }

    /// A prompt is under way.
    pub fn is_playing(&self) -> bool {
        self.speech().is_some_and(Speech::is_playing)
    }

    /// When to call [`CallState::tick`].
    pub fn deadline(&self) -> Option<Instant> {
        let pause = match self {
            CallState::Opening(opening) => Some(opening.begin_at),
            CallState::AskingPin(asking) => asking.until,
            CallState::WaitingForKey(KeyPause { until }) | CallState::WaitingForBeep(BeepPause { until }) => {
                Some(*until)
            }
            _ => None,
        };
        pause.or_else(|| self.speech().and_then(Speech::deadline))
    }

    /// The sentence under way is finished, then the call ends. An answer that was given is thanked for.
    pub fn stop(self, context: &mut CallContext, now: Instant) -> CallState {
        context.stopped = true;
        let mut speech = match self {
            CallState::Closing(closing) => return CallState::Closing(closing),
            CallState::AskingPin(AskingPin { speech, .. })
            | CallState::Talking(Talking { speech, .. })
            | CallState::LeavingMessage(MachineMessage { speech, .. })
                if speech.is_playing() =>
            {
                speech
            }
            _ => return close(context, now, None),
        };
        speech.replace_rest(context.last_mark());
        CallState::Closing(Closing { speech })
    }

    /// A hint: the message from its start, once the machine has spoken.
    pub fn suspect_machine(self, context: &mut CallContext, now: Instant) -> CallState {
        match self {
            CallState::WaitingForBeep(_) | CallState::LeavingMessage(_) | CallState::Closing(_) => self,
            state => {
                context.perhaps_machine = !context.key_pressed;
                if context.message_prompt().is_none() {
                    return state;
                }
                context.stop_playing(&state);
                CallState::WaitingForBeep(BeepPause { until: now + BEEP_WAIT_MAX })
            }
        }
    }

    /// A machine records from now on.
    pub fn beep(self, context: &mut CallContext, now: Instant) -> CallState {
        let restarts = match &self {
            CallState::Closing(_) => return self,
            CallState::LeavingMessage(message) => message.restarts + 1,
            _ => 0,
        };
        context.perhaps_machine = !context.key_pressed;
        match context.message_prompt() {
            Some(prompt) if restarts <= BEEP_RESTARTS_MAX => {
                context.stop_playing(&self);
                leave_message(context, now, prompt, restarts)
            }
            _ => self,
        }
    }

    /// The other side speaks: the first words wait.
    pub fn speech_started(self) -> CallState {
        match self {
            CallState::Opening(OpeningPause { latest, .. }) => {
                CallState::Opening(OpeningPause { begin_at: latest, latest })
            }
            state => state,
        }
    }

    /// The other side has spoken: the first words wait for silence.
    pub fn speech_ended(self, now: Instant) -> CallState {
        match self {
            CallState::Opening(OpeningPause { latest, .. }) => {
                let begin_at = latest.min(now + SILENCE_BEFORE_GREETING);
                CallState::Opening(OpeningPause { begin_at, latest })
            }
            state => state,
        }
    }

    /// Silence lets the first words, or a message, begin.
    pub fn silence(self, context: &mut CallContext, now: Instant, length: Duration) -> CallState {
        match self {
            CallState::Opening(_) if length >= SILENCE_BEFORE_GREETING => begin(context, now),
            CallState::WaitingForBeep(_) if length >= SILENCE_BEFORE_GREETING => after_machine(context, now),
            state => state,
        }
    }

    /// A prompt was played: the next one follows, or the next state.
    pub fn played(mut self, context: &mut CallContext, now: Instant, prompt: Prompt) -> CallState {
        match self.speech_mut().and_then(|speech| speech.played(prompt, now)) {
            Some(end) => self.end_line(context, now, end),
            None => self,
        }
    }

    /// The deadline of the state has come.
    pub fn tick(mut self, context: &mut CallContext, now: Instant) -> CallState {
        if let Some(end) = self.speech_mut().and_then(|speech| speech.late(now)) {
            // The sound may still run: the next prompt begins alone.
            context.actions.push_back(ScriptAction::StopPlaying);
            return self.end_line(context, now, end);
        }
        match self {
            CallState::Opening(_) => begin(context, now),
            CallState::AskingPin(asking) => asking.too_late(context, now),
            CallState::WaitingForKey(_) if context.has_more_rounds() => begin_round(context, now),
            CallState::WaitingForKey(_) => close(context, now, None),
            CallState::WaitingForBeep(_) => after_machine(context, now),
            state => state,
        }
    }

    fn speech_mut(&mut self) -> Option<&mut Speech> {
        match self {
            CallState::AskingPin(AskingPin { speech, .. })
            | CallState::Talking(Talking { speech, .. })
            | CallState::LeavingMessage(MachineMessage { speech, .. })
            | CallState::Closing(Closing { speech }) => Some(speech),
            _ => None,
        }
    }

    fn end_line(self, context: &mut CallContext, now: Instant, end: LineEnd) -> CallState {
        context.note(end);
        if end.next.is_some() {
            return self;
        }
        match self {
            CallState::AskingPin(asking) => {
                CallState::AskingPin(AskingPin { until: Some(now + PIN_WAIT), ..asking })
            }
            CallState::Talking(Talking { is_round, .. }) => {
                let has_more = is_round && context.rounds < context.script.times;
                let pause = if has_more { context.script.between } else { KEY_WAIT };
                CallState::WaitingForKey(KeyPause { until: now + pause })
            }
            CallState::LeavingMessage(_) => close(context, now, None),
            CallState::Closing(_) => context.hang_up(),
            state => state,
        }
    }

    /// A key, at any moment.
    pub fn press(self, context: &mut CallContext, now: Instant, key: PhoneKey) -> CallState {
        match self {
            CallState::AskingPin(asking) => asking.press(context, now, key),
            CallState::Closing(_) if context.is_locked() => self,
            _ if context.is_locked() => {
                context.stop_playing(&self);
                AskingPin::silent(now).press(context, now, key)
            }
            state => state.press_choice(context, now, key),
        }
    }

    fn press_choice(self, context: &mut CallContext, now: Instant, key: PhoneKey) -> CallState {
        let meaning = context.meaning(now, key);
        let is_closing = matches!(self, CallState::Closing(_));
        match meaning {
            KeyMeaning::FirstOfTwo => self.lengthen(now + SECOND_KEY_WAIT),
            KeyMeaning::DoNotCall => {
                context.stop_playing(&self);
                refuse_calls(context, now)
            }
            KeyMeaning::Choice(_) if context.answered || context.is_too_early() => self,
            KeyMeaning::Choice(choice) => {
                context.stop_playing(&self);
                context.answered = true;
                context.report(ScriptReport::Answer { key, label: choice.label });
                close(context, now, Some(choice.thanks))
            }
            _ if is_closing => self,
            KeyMeaning::Repeat => {
                context.stop_playing(&self);
                context.rounds = context.rounds.saturating_sub(1);
                begin_round(context, now)
            }
            KeyMeaning::Wrong if context.script.choices.is_empty() => self.heard(context, now),
            KeyMeaning::Wrong => {
                context.stop_playing(&self);
                begin_menu(context, now)
            }
        }
    }

    /// A pause lasts at least until then.
    fn lengthen(self, until: Instant) -> CallState {
        match self {
            CallState::WaitingForKey(pause) => {
                CallState::WaitingForKey(KeyPause { until: pause.until.max(until) })
            }
            state => state,
        }
    }

    /// Any key, where there are no choices: somebody listens.
    fn heard(self, context: &mut CallContext, now: Instant) -> CallState {
        match self {
            CallState::WaitingForBeep(_) => begin_round(context, now),
            state => state,
        }
    }

    /// A first 7 without a second is a wrong key.
    pub fn second_key_missing(self, context: &mut CallContext, now: Instant) -> CallState {
        context.keys.forget();
        match self {
            CallState::Closing(_) => self,
            state if context.script.choices.is_empty() => state.heard(context, now),
            state => {
                context.stop_playing(&state);
                begin_menu(context, now)
            }
        }
    }
}

impl OpeningPause {
    /// The first words wait from now on.
    pub fn new(now: Instant) -> OpeningPause {
        let latest = now + GREETING_WAIT_MAX;
        OpeningPause { begin_at: latest, latest }
    }
}

impl AskingPin {
    fn begin(context: &mut CallContext, now: Instant, pin: &CallPin) -> CallState {
        let greeting = SpokenLine::greeting(context.script.greeting);
        let lines = [Some(greeting), context.script.drill.map(SpokenLine::from), Some(pin.asked.into())];
        let (speech, first) = Speech::begin(lines.into_iter().flatten(), now);
        context.play(first);
        CallState::AskingPin(AskingPin { speech, entry: PinEntry::default(), tries: 0, until: None })
    }

    /// Digits come before the question.
    fn silent(now: Instant) -> AskingPin {
        let (speech, entry) = (Speech::default(), PinEntry::default());
        AskingPin { speech, entry, tries: 0, until: Some(now + PIN_WAIT) }
    }

    fn press(mut self, context: &mut CallContext, now: Instant, key: PhoneKey) -> CallState {
        let script = context.script.clone();
        let Some(pin) = &script.pin else { return begin_round(context, now) };
        context.key_pressed = true;
        context.perhaps_machine = false;
        if self.speech.is_playing() {
            context.actions.push_back(ScriptAction::StopPlaying);
            self.speech = Speech::default();
        }
        self.until = Some(now + PIN_WAIT);
        match self.entry.press(key, pin.digits.len()) {
            None => CallState::AskingPin(self),
            Some(digits) if digits == pin.digits => begin_round(context, now),
            Some(_) => self.fail(context, now, pin),
        }
    }

    /// No further digit came. Nothing but 7 twice is somebody who has no PIN and wants no calls.
    fn too_late(mut self, context: &mut CallContext, now: Instant) -> CallState {
        let script = context.script.clone();
        let Some(pin) = &script.pin else { return begin_round(context, now) };
        let entry = self.entry.take();
        if script.do_not_call.is_some() && entry.chars().eq([DO_NOT_CALL_KEY; 2]) {
            return refuse_calls(context, now);
        }
        self.fail(context, now, pin)
    }

    fn fail(mut self, context: &mut CallContext, now: Instant, pin: &CallPin) -> CallState {
        self.tries += 1;
        if self.tries >= PIN_TRIES_MAX {
            if context.key_pressed {
                context.report(ScriptReport::PinFailed);
            }
            return close(context, now, Some(pin.failed));
        }
        let prompt = if context.key_pressed { pin.wrong } else { pin.asked };
        let (speech, first) = Speech::begin([prompt.into()], now);
        context.play(first);
        CallState::AskingPin(AskingPin { speech, until: None, ..self })
    }
}

fn begin(context: &mut CallContext, now: Instant) -> CallState {
    let script = context.script.clone();
    match &script.pin {
        Some(pin) => AskingPin::begin(context, now, pin),
        None => begin_round(context, now),
    }
}

fn begin_round(context: &mut CallContext, now: Instant) -> CallState {
    let script = context.script.clone();
    context.rounds = context.rounds.saturating_add(1);
    context.text_begun = true;
    let greeting = (!context.greeted).then(|| SpokenLine::greeting(script.greeting));
    let before = greeting.into_iter().chain(script.drill.map(SpokenLine::from));
    let behind = script.callback_number.into_iter().chain([script.menu]).map(SpokenLine::from);
    let (speech, first) = Speech::begin(before.chain(text_lines(&script.text)).chain(behind), now);
    context.play(first);
    CallState::Talking(Talking { speech, is_round: true })
}

fn begin_menu(context: &mut CallContext, now: Instant) -> CallState {
    let lines = [context.script.wrong_key, context.script.menu].map(SpokenLine::from);
    let (speech, first) = Speech::begin(lines, now);
    context.play(first);
    CallState::Talking(Talking { speech, is_round: false })
}

/// Behind a machine's own words; a script that leaves no message goes on as for a person.
fn after_machine(context: &mut CallContext, now: Instant) -> CallState {
    match context.message_prompt() {
        Some(prompt) => leave_message(context, now, prompt, 0),
        None => begin(context, now),
    }
}

/// The message from its start. Text behind a PIN is not for a machine.
fn leave_message(context: &mut CallContext, now: Instant, prompt: Prompt, restarts: u8) -> CallState {
    let script = context.script.clone();
    context.text_begun = true;
    let text = if script.pin.is_some() { &[][..] } else { &script.text };
    let before =
        [SpokenLine::greeting(script.greeting)].into_iter().chain(script.drill.map(SpokenLine::from));
    let (speech, first) = Speech::begin(before.chain(text_lines(text)).chain([prompt.into()]), now);
    context.play(first);
    CallState::LeavingMessage(MachineMessage { speech, restarts })
}

fn refuse_calls(context: &mut CallContext, now: Instant) -> CallState {
    context.keys.finish();
    context.report(ScriptReport::DoNotCall);
    let confirmed = context.script.do_not_call;
    close(context, now, confirmed)
}

/// The last words, then the end. Behind a stop nothing is begun but the mark of a drill.
fn close(context: &mut CallContext, now: Instant, words: Option<Prompt>) -> CallState {
    context.keys.forget();
    let words = words.filter(|_| !context.stopped).map(SpokenLine::from);
    let lines = words.into_iter().chain(context.last_mark());
    let (speech, first) = Speech::begin(lines, now);
    if first.is_none() {
        return context.hang_up();
    }
    context.play(first);
    CallState::Closing(Closing { speech })
}
