//! Machine of an answered call: events and instants in, actions and a deadline out.
//!
//! Four verbs: [`AnsweredCall::handle`], [`AnsweredCall::poll_action`], [`AnsweredCall::poll_timeout`], and
//! [`AnsweredCall::is_over`]. After [`AnsweredCall::handle`] the others may answer differently.
//!
//! One type per state, each of which takes itself and gives the next one.

use super::keys::DoNotCallKeys;
use super::states::{CallState, OpeningPause};
use super::{CALL_LENGTH_MAX, CallScript, MachinePolicy, TIMES_MAX};
use crate::prompt::{LineEnd, LinePart, SpokenLine};
use crate::{PhoneKey, Prompt};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Event of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptEvent {
    /// The other side begins to speak.
    SpeechStarted,
    /// It ends.
    SpeechEnded,
    /// It has been silent for so long.
    Silence(Duration),
    /// It speaks as an answering machine does.
    MachineSuspected,
    /// It beeps.
    Beep,
    /// It pressed a key.
    Key(PhoneKey),
    /// A prompt was played to its end. One that was stopped is not reported.
    Played(Prompt),
    /// It hung up, or the call was lost.
    PeerHungUp,
    /// The alert is stopped: the sentence under way is finished.
    Stop,
    /// Time passed: [`AnsweredCall::poll_timeout`].
    Tick,
}

/// Action for the caller of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptAction {
    /// Play it; nothing else is under way.
    Play(Prompt),
    /// Stop what is under way.
    StopPlaying,
    /// End the call. Nothing follows.
    HangUp,
    /// For the record.
    Report(ScriptReport),
}

/// Result of a call. One for each; an answer and [`ScriptReport::DoNotCall`] may come together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptReport {
    /// A choice.
    Answer {
        /// Its key.
        key: PhoneKey,
        /// Its label.
        label: String,
    },
    /// Nobody is to call this number again.
    DoNotCall,
    /// No right PIN.
    PinFailed,
    /// A key was pressed, so that a person was there, but no choice.
    Played {
        /// Number of times that the text was played to its end.
        times: u8,
    },
    /// No key was pressed.
    NoKey {
        /// Number of times that the text was played to its end.
        times: u8,
        /// A machine was suspected.
        perhaps_machine: bool,
    },
}

/// A call that was answered.
#[derive(Debug)]
pub struct AnsweredCall {
    state: CallState,
    pub(super) context: CallContext,
    ends_at: Instant,
}

/// Everything that states share.
#[derive(Debug)]
pub(super) struct CallContext {
    pub script: Arc<CallScript>,
    pub actions: VecDeque<ScriptAction>,
    pub keys: DoNotCallKeys,
    /// Rounds begun.
    pub rounds: u8,
    /// Number of times that the text was played to its end.
    pub times: u8,
    pub greeted: bool,
    pub key_pressed: bool,
    /// A machine was suspected, and no key pressed since.
    pub perhaps_machine: bool,
    pub stopped: bool,
    /// Something of the text or of the message was played: the mark of a drill comes last.
    pub text_begun: bool,
    reported: bool,
    pub answered: bool,
}

impl AnsweredCall {
    /// A call answered just now. The script was [checked](CallScript::check).
    pub fn new(script: Arc<CallScript>, now: Instant) -> AnsweredCall {
        let longest = script.longest.min(CALL_LENGTH_MAX);
        AnsweredCall {
            state: CallState::Opening(OpeningPause::new(now)),
            context: CallContext {
                script,
                actions: VecDeque::new(),
                keys: DoNotCallKeys::default(),
                rounds: 0,
                times: 0,
                greeted: false,
                key_pressed: false,
                perhaps_machine: false,
                stopped: false,
                text_begun: false,
                reported: false,
                answered: false,
            },
            ends_at: now + longest,
        }
    }

    /// Takes an event; does nothing once the call [is over](AnsweredCall::is_over).
    pub fn handle(&mut self, now: Instant, event: ScriptEvent) {
        let state = std::mem::replace(&mut self.state, CallState::Ended);
        let context = &mut self.context;
        self.state = match (state, event) {
            (CallState::Ended, _) => CallState::Ended,
            (_, ScriptEvent::PeerHungUp) => context.end(),
            (state, _) if now >= self.ends_at => {
                context.stop_playing(&state);
                context.hang_up()
            }
            (state, ScriptEvent::Stop) => state.stop(context, now),
            (state, ScriptEvent::MachineSuspected) => state.suspect_machine(context, now),
            (state, ScriptEvent::Beep) => state.beep(context, now),
            (state, ScriptEvent::Key(key)) => state.press(context, now, key),
            (state, ScriptEvent::Played(prompt)) => state.played(context, now, prompt),
            (state, ScriptEvent::SpeechStarted) => state.speech_started(),
            (state, ScriptEvent::SpeechEnded) => state.speech_ended(now),
            (state, ScriptEvent::Silence(length)) => state.silence(context, now, length),
            (state, ScriptEvent::Tick) => state,
        };
        self.pass_time(now);
    }

    /// Deadlines that are due, each of which makes progress; no more than that many in one call.
    fn pass_time(&mut self, now: Instant) {
        const DUE_AT_ONCE_MAX: usize = 8;
        for _ in 0..DUE_AT_ONCE_MAX {
            if self.poll_timeout().is_none_or(|at| now < at) {
                return;
            }
            let state = std::mem::replace(&mut self.state, CallState::Ended);
            self.state = if now >= self.ends_at {
                self.context.stop_playing(&state);
                self.context.hang_up()
            } else if self.context.keys.is_due(now) {
                state.second_key_missing(&mut self.context, now)
            } else {
                state.tick(&mut self.context, now)
            };
        }
    }

    /// When to call [`AnsweredCall::handle`] with [`ScriptEvent::Tick`]; `None`: the call is over.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.is_over() {
            return None;
        }
        [self.state.deadline(), self.context.keys.deadline(), Some(self.ends_at)].into_iter().flatten().min()
    }

    /// The next action; poll until there is none after each event.
    pub fn poll_action(&mut self) -> Option<ScriptAction> {
        self.context.actions.pop_front()
    }

    /// The call has ended.
    pub fn is_over(&self) -> bool {
        matches!(self.state, CallState::Ended)
    }
}

impl CallContext {
    /// Plays a prompt, if there is one.
    pub fn play(&mut self, prompt: Option<Prompt>) {
        self.actions.extend(prompt.map(ScriptAction::Play));
    }

    /// Stops what a state plays, if it plays.
    pub fn stop_playing(&mut self, state: &CallState) {
        if state.is_playing() {
            self.actions.push_back(ScriptAction::StopPlaying);
        }
    }

    /// Reports a result; the end of the call then adds none.
    pub fn report(&mut self, report: ScriptReport) {
        self.reported = true;
        self.actions.push_back(ScriptAction::Report(report));
    }

    /// The call is over by the other side.
    pub fn end(&mut self) -> CallState {
        if !self.reported {
            let times = self.times;
            self.report(match self.key_pressed {
                true => ScriptReport::Played { times },
                false => ScriptReport::NoKey { times, perhaps_machine: self.perhaps_machine },
            });
        }
        CallState::Ended
    }

    /// Ends the call from our side.
    pub fn hang_up(&mut self) -> CallState {
        let ended = self.end();
        self.actions.push_back(ScriptAction::HangUp);
        ended
    }

    /// The PIN is asked for, and nobody has entered it.
    pub fn is_locked(&self) -> bool {
        self.script.pin.is_some() && self.rounds == 0
    }

    /// A choice does not count yet.
    pub fn is_too_early(&self) -> bool {
        self.script.answer_behind_text && self.times == 0
    }

    /// Rounds remain, or the text was never played to its end.
    pub fn has_more_rounds(&self) -> bool {
        self.rounds < self.script.times || (self.times == 0 && self.rounds < TIMES_MAX)
    }

    /// A machine's hint changes something.
    pub fn message_prompt(&self) -> Option<Prompt> {
        match self.script.machine {
            MachinePolicy::LeaveMessage(prompt) if !self.key_pressed => Some(prompt),
            _ => None,
        }
    }

    /// Notes the end of a line, and plays the next one.
    pub fn note(&mut self, end: LineEnd) {
        match end.part {
            LinePart::Greeting => self.greeted = true,
            LinePart::TextEnd => self.times = self.times.saturating_add(1),
            LinePart::Other => {}
        }
        self.play(end.next);
    }

    /// The mark of a drill, last of all.
    pub fn last_mark(&self) -> Option<SpokenLine> {
        self.script.drill.filter(|_| self.text_begun).map(SpokenLine::from)
    }
}
