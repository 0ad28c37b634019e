//! Calls from people: events and instants in, actions and a deadline out.
//!
//! ```text
//! a known number    greeting, then the running alerts of its person, one after the other
//! any other         greeting, "Enter your PIN and hash, or star": a person's alerts, or the public ones
//! an alert          [drill mark] text, menu; a choice, star or 9 again, hash the next one, 0 the PIN
//! an author         a PIN, then 1: choose a template by key; count and text are read back; 1 sends
//! ```
//!
//! A caller's number proves nothing: it can be forged. Behind it stand the alerts of a person, never a PIN's
//! rights. PINs are checked outside ([`InboundAction::CheckPin`]), where tries over several calls are
//! counted.
//!
//! Where policy asks for an approver, that one is called by an [`ApprovalCall`].

mod alerts;
mod approval;
mod authoring;
#[cfg(test)]
mod tests;

pub use approval::{APPROVE_KEY, ApprovalCall, CallDecision, REJECT_KEY};

use crate::prompt::{LinePart, Speech, SpokenLine};
use crate::script::{CALL_LENGTH_MAX, CallChoice};
use crate::{PhoneKey, Prompt};
use alerts::{AlertHearing, PinCheck, PinQuestion};
use authoring::{MainMenu, Preparation, ReadBack, Sending, TemplateMenu};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Wait for the answer to [`InboundAction::CheckPin`].
pub const PIN_CHECK_WAIT: Duration = Duration::from_secs(10);
/// Wait for [`InboundEvent::Prepared`].
pub const PREPARE_WAIT: Duration = Duration::from_secs(30);
/// Wait for the result of [`InboundAction::Send`].
pub const SEND_WAIT: Duration = Duration::from_secs(15);
/// Wait on the line for an approver.
pub const APPROVAL_WAIT: Duration = Duration::from_secs(180);
/// Wait for a key behind a menu.
pub const MENU_WAIT: Duration = Duration::from_secs(8);
/// Alerts that one call has.
pub const ALERTS_MAX: usize = 20;
/// Templates of a menu: keys 1 to 9.
pub const TEMPLATES_MAX: usize = 9;

/// Prompts and bound of every call from a person.
#[derive(Debug, Clone)]
pub struct InboundScript {
    /// "This is ORG."
    pub greeting: Prompt,
    /// "Enter your PIN and hash, or star to hear the alerts for everybody."
    pub pin_asked: Prompt,
    /// "That is not a PIN. Enter it again."
    pub pin_wrong: Prompt,
    /// "That is not a PIN." Behind it alerts follow.
    pub pin_failed: Prompt,
    /// "There is no alert for you now."
    pub no_alerts: Prompt,
    /// "That key is none of the choices."
    pub wrong_key: Prompt,
    /// "Press 1 to send an alert, 2 to hear alerts."
    pub main_menu: Prompt,
    /// "Wait, please."
    pub please_wait: Prompt,
    /// "Press 1 to send it, 2 for another template, star to hear it again."
    pub confirm: Prompt,
    /// "This template cannot be prepared now."
    pub not_prepared: Prompt,
    /// "It is not certain that the alert was sent. Ask by another way."
    pub no_result: Prompt,
    /// "Goodbye."
    pub goodbye: Prompt,
    /// Bound of the call, at most [`CALL_LENGTH_MAX`].
    pub longest: Duration,
}

/// An alert that can be heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpokenAlert {
    /// The caller's own number of it.
    pub id: u64,
    /// "This is a drill."
    pub drill: Option<Prompt>,
    /// Sentences of its text.
    pub text: Vec<Prompt>,
    /// Answers.
    pub choices: Vec<CallChoice>,
    /// "Press 1 for …; star to hear it again, hash for the next one."
    pub menu: Prompt,
}

/// A template that an author may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpokenTemplate {
    /// Its key, 1 to 9.
    pub key: PhoneKey,
    /// The caller's own number of it.
    pub id: u64,
}

/// The person of a PIN.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InboundPerson {
    /// Running alerts that concern them; those behind [`ALERTS_MAX`] are left out.
    pub alerts: Vec<SpokenAlert>,
    /// Templates that they may send, and the prompt that names them; `None`: they send nothing.
    pub templates: Option<(Prompt, Vec<SpokenTemplate>)>,
}

/// Event of a call from a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InboundEvent {
    /// The person pressed a key.
    Key(PhoneKey),
    /// A prompt was played to its end. One that was stopped is not reported.
    Played(Prompt),
    /// Time passed: [`InboundCall::poll_timeout`].
    Tick,
    /// The person hung up, or the call was lost.
    PeerHungUp,
    /// The PIN is this person's.
    PinAccepted(Box<InboundPerson>),
    /// It is nobody's.
    PinRefused,
    /// A template is ready: "To 1,240 people:", and the sentences of its text. Without any it is not
    /// prepared.
    Prepared {
        /// Its number.
        template: u64,
        /// To be read back.
        read_back: Vec<Prompt>,
    },
    /// It cannot be sent.
    NotPrepared {
        /// Its number.
        template: u64,
    },
    /// An approver is called: "It waits for approval; you may hang up."
    WaitsForApproval(Prompt),
    /// The alert was sent, or refused, in these words.
    Result(Prompt),
}

/// Action for the caller of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InboundAction {
    /// Play it; nothing else is under way.
    Play(Prompt),
    /// Stop what is under way.
    StopPlaying,
    /// End the call. Nothing follows.
    HangUp,
    /// Look for the person of a PIN.
    CheckPin(EnteredPin),
    /// Prepare a template: count whom it reaches, make its sound.
    Prepare(u64),
    /// Send the alert that was read back, or ask for its approval.
    Send(u64),
    /// For the record.
    Report(InboundReport),
}

/// Digits that a person pressed. Not shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct EnteredPin(pub String);

impl std::fmt::Debug for EnteredPin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EnteredPin({} digits)", self.0.len())
    }
}

/// Result of a part of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InboundReport {
    /// A choice, once for each alert.
    Answer {
        /// The alert.
        alert: u64,
        /// The key.
        key: PhoneKey,
        /// Its label.
        label: String,
    },
    /// The text was played to its end, once for each alert.
    Heard {
        /// The alert.
        alert: u64,
    },
    /// Three wrong PINs.
    PinFailed,
}

/// State of a call.
#[derive(Debug)]
enum InboundState {
    AskingPin(PinQuestion),
    CheckingPin(PinCheck),
    Hearing(AlertHearing),
    MainMenu(MainMenu),
    ChoosingTemplate(TemplateMenu),
    Preparing(Preparation),
    ReadingBack(ReadBack),
    Sending(Sending),
    /// The last words.
    Closing(SpokenPart),
    Ended,
}

/// Lines, and the wait behind them.
#[derive(Debug, Default)]
struct SpokenPart {
    speech: Speech,
    /// Wait for a key; while nothing is played.
    until: Option<Instant>,
}

/// Everything that states share.
#[derive(Debug)]
struct InboundContext {
    script: Arc<InboundScript>,
    actions: VecDeque<InboundAction>,
    /// Alerts that this call has: the public ones, those of the number, or those of the PIN.
    alerts: Vec<SpokenAlert>,
    templates: Option<(Prompt, Vec<SpokenTemplate>)>,
    pin_tries: u8,
    pin_accepted: bool,
    heard: Vec<u64>,
    answered: Vec<u64>,
}

/// A call from a person, answered by us.
#[derive(Debug)]
pub struct InboundCall {
    state: InboundState,
    context: InboundContext,
    ends_at: Instant,
}

impl InboundCall {
    /// A call answered just now: of a known number with the alerts of its person, else with the public ones.
    pub fn new(
        script: Arc<InboundScript>,
        is_known: bool,
        mut alerts: Vec<SpokenAlert>,
        now: Instant,
    ) -> InboundCall {
        alerts.truncate(ALERTS_MAX);
        let ends_at = now + script.longest.min(CALL_LENGTH_MAX);
        let greeting = SpokenLine::greeting(script.greeting);
        let mut context = InboundContext {
            script,
            actions: VecDeque::new(),
            alerts,
            templates: None,
            pin_tries: 0,
            pin_accepted: false,
            heard: Vec::new(),
            answered: Vec::new(),
        };
        let state = match is_known {
            true => AlertHearing::begin(&mut context, now, 0, [greeting]),
            false => {
                let asked = context.script.pin_asked.into();
                PinQuestion::begin(&mut context, now, [greeting, asked])
            }
        };
        InboundCall { state, context, ends_at }
    }

    /// Takes an event; does nothing once the call [is over](InboundCall::is_over).
    pub fn handle(&mut self, now: Instant, event: InboundEvent) {
        let state = std::mem::replace(&mut self.state, InboundState::Ended);
        let context = &mut self.context;
        self.state = match (state, event) {
            (InboundState::Ended, _) | (_, InboundEvent::PeerHungUp) => InboundState::Ended,
            (state, _) if now >= self.ends_at => state.cut(context),
            (state, InboundEvent::Key(key)) => state.press(context, now, key),
            (state, InboundEvent::Played(prompt)) => state.played(context, now, prompt),
            (InboundState::CheckingPin(check), InboundEvent::PinAccepted(person)) => {
                check.accepted(context, now, *person)
            }
            (InboundState::CheckingPin(check), InboundEvent::PinRefused) => check.refused(context, now),
            (InboundState::Preparing(preparation), InboundEvent::Prepared { template, read_back }) => {
                preparation.prepared(context, now, template, read_back)
            }
            (InboundState::Preparing(preparation), InboundEvent::NotPrepared { template }) => {
                preparation.not_prepared(context, now, template)
            }
            (InboundState::Sending(sending), InboundEvent::WaitsForApproval(prompt)) => {
                sending.wait_for_approval(context, now, prompt)
            }
            (InboundState::Sending(sending), InboundEvent::Result(prompt)) => {
                sending.finish(context, now, prompt)
            }
            (state, _) => state,
        };
        self.pass_time(now);
    }

    fn pass_time(&mut self, now: Instant) {
        const DUE_AT_ONCE_MAX: usize = 8;
        for _ in 0..DUE_AT_ONCE_MAX {
            if self.poll_timeout().is_none_or(|at| now < at) {
                return;
            }
            let state = std::mem::replace(&mut self.state, InboundState::Ended);
            let context = &mut self.context;
            self.state = if now >= self.ends_at { state.cut(context) } else { state.tick(context, now) };
        }
    }

    /// When to call [`InboundCall::handle`] with [`InboundEvent::Tick`]; `None`: the call is over.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.is_over() {
            return None;
        }
        [self.state.deadline(), Some(self.ends_at)].into_iter().flatten().min()
    }

    /// The next action; poll until there is none after each event, and after the start.
    pub fn poll_action(&mut self) -> Option<InboundAction> {
        self.context.actions.pop_front()
    }

    /// The call has ended.
    pub fn is_over(&self) -> bool {
        matches!(self.state, InboundState::Ended)
    }
}

impl InboundState {
    fn part(&self) -> Option<&SpokenPart> {
        Some(match self {
            InboundState::AskingPin(state) => &state.part,
            InboundState::CheckingPin(state) => &state.part,
            InboundState::Hearing(state) => &state.part,
            InboundState::MainMenu(state) => &state.part,
            InboundState::ChoosingTemplate(state) => &state.part,
            InboundState::Preparing(state) => &state.part,
            InboundState::ReadingBack(state) => &state.part,
            InboundState::Sending(state) => &state.part,
            InboundState::Closing(part) => part,
            InboundState::Ended => return None,
        })
    }

    fn part_mut(&mut self) -> Option<&mut SpokenPart> {
        Some(match self {
            InboundState::AskingPin(state) => &mut state.part,
            InboundState::CheckingPin(state) => &mut state.part,
            InboundState::Hearing(state) => &mut state.part,
            InboundState::MainMenu(state) => &mut state.part,
            InboundState::ChoosingTemplate(state) => &mut state.part,
            InboundState::Preparing(state) => &mut state.part,
            InboundState::ReadingBack(state) => &mut state.part,
            InboundState::Sending(state) => &mut state.part,
            InboundState::Closing(part) => part,
            InboundState::Ended => return None,
        })
    }

    fn deadline(&self) -> Option<Instant> {
        let part = self.part()?;
        [part.until, part.speech.deadline()].into_iter().flatten().min()
    }

    /// The bound of the call has come.
    fn cut(self, context: &mut InboundContext) -> InboundState {
        if let Some(part) = self.part() {
            part.stop(context);
        }
        context.actions.push_back(InboundAction::HangUp);
        InboundState::Ended
    }

    fn press(self, context: &mut InboundContext, now: Instant, key: PhoneKey) -> InboundState {
        match self {
            InboundState::AskingPin(state) => state.press(context, now, key),
            InboundState::Hearing(state) => state.press(context, now, key),
            InboundState::MainMenu(state) => state.press(context, now, key),
            InboundState::ChoosingTemplate(state) => state.press(context, now, key),
            InboundState::ReadingBack(state) => state.press(context, now, key),
            state => state,
        }
    }

    fn played(mut self, context: &mut InboundContext, now: Instant, prompt: Prompt) -> InboundState {
        let Some(end) = self.part_mut().and_then(|part| part.speech.played(prompt, now)) else { return self };
        context.play(end.next);
        match &mut self {
            InboundState::Hearing(hearing) if end.part == LinePart::TextEnd => hearing.note_heard(context),
            InboundState::ReadingBack(read_back) if end.part == LinePart::TextEnd => {
                read_back.is_heard = true
            }
            _ => {}
        }
        self.after_line(context, now, end.next.is_none())
    }

    /// The speech is over: a wait begins.
    fn after_line(mut self, context: &mut InboundContext, now: Instant, is_over: bool) -> InboundState {
        if !is_over {
            return self;
        }
        if matches!(self, InboundState::Closing(_)) {
            return self.cut(context);
        }
        if let Some(part) = self.part_mut() {
            part.until.get_or_insert(now + MENU_WAIT);
        }
        self
    }

    /// A deadline of the state has come: of its wait, or of sound that was not reported as played.
    fn tick(mut self, context: &mut InboundContext, now: Instant) -> InboundState {
        if let Some(end) = self.part_mut().and_then(|part| part.speech.late(now)) {
            context.actions.push_back(InboundAction::StopPlaying);
            context.play(end.next);
            return self.after_line(context, now, end.next.is_none());
        }
        match self {
            InboundState::AskingPin(state) => state.too_late(context, now),
            InboundState::CheckingPin(state) => state.refused(context, now),
            InboundState::Hearing(state) => state.next(context, now),
            InboundState::Preparing(state) => state.too_late(context, now),
            InboundState::Sending(state) => state.too_late(context, now),
            InboundState::MainMenu(_) | InboundState::ChoosingTemplate(_) | InboundState::ReadingBack(_) => {
                context.close(now, [])
            }
            state => state,
        }
    }
}

impl SpokenPart {
    fn begin(
        context: &mut InboundContext,
        now: Instant,
        lines: impl IntoIterator<Item = SpokenLine>,
    ) -> SpokenPart {
        let (speech, first) = Speech::begin(lines, now);
        context.play(first);
        let until = first.is_none().then(|| now + MENU_WAIT);
        SpokenPart { speech, until }
    }

    /// Waits for something outside, at most until then, whatever is played meanwhile.
    fn with_deadline(self, until: Instant) -> SpokenPart {
        SpokenPart { until: Some(until), ..self }
    }

    fn stop(&self, context: &mut InboundContext) {
        if self.speech.is_playing() {
            context.actions.push_back(InboundAction::StopPlaying);
        }
    }
}

impl InboundContext {
    fn play(&mut self, prompt: Option<Prompt>) {
        self.actions.extend(prompt.map(InboundAction::Play));
    }

    fn report(&mut self, report: InboundReport) {
        self.actions.push_back(InboundAction::Report(report));
    }

    /// The last words, and goodbye.
    fn close(&mut self, now: Instant, words: impl IntoIterator<Item = SpokenLine>) -> InboundState {
        let goodbye = SpokenLine::from(self.script.goodbye);
        InboundState::Closing(SpokenPart::begin(self, now, words.into_iter().chain([goodbye])))
    }
}
