//! PINs, and running alerts one after the other.

use super::authoring::MainMenu;
use super::{
    ALERTS_MAX, EnteredPin, InboundAction, InboundContext, InboundPerson, InboundReport, InboundState,
    PIN_CHECK_WAIT, SpokenPart,
};
use crate::pin::{PinEntry, is_pin};
use crate::prompt::{SpokenLine, text_lines};
use crate::{PIN_DIGITS_MAX, PIN_TRIES_MAX, PIN_WAIT, PhoneKey};
use std::time::Instant;

/// Key that asks for the PIN while alerts are heard.
const PIN_KEY: char = '0';
/// Key that plays an alert again, where it is no choice; star always does.
const REPEAT_KEY: char = '9';

/// The question for a PIN.
#[derive(Debug)]
pub(super) struct PinQuestion {
    pub part: SpokenPart,
    entry: PinEntry,
}

/// The wait for what the server says of a PIN.
#[derive(Debug)]
pub(super) struct PinCheck {
    pub part: SpokenPart,
}

/// An alert that is heard.
#[derive(Debug)]
pub(super) struct AlertHearing {
    pub part: SpokenPart,
    at: usize,
}

impl PinQuestion {
    /// The question, behind some words.
    pub fn begin(
        context: &mut InboundContext,
        now: Instant,
        lines: impl IntoIterator<Item = SpokenLine>,
    ) -> InboundState {
        let part = SpokenPart::begin(context, now, lines);
        InboundState::AskingPin(PinQuestion { part, entry: PinEntry::default() })
    }

    /// A digit; star hears the alerts instead, or clears what was pressed.
    pub fn press(mut self, context: &mut InboundContext, now: Instant, key: PhoneKey) -> InboundState {
        self.part.stop(context);
        self.part = SpokenPart::default().with_deadline(now + PIN_WAIT);
        if key == PhoneKey::STAR && self.entry.is_empty() {
            return AlertHearing::begin(context, now, 0, []);
        }
        match self.entry.press(key, PIN_DIGITS_MAX) {
            Some(digits) => check(context, now, digits),
            None => InboundState::AskingPin(self),
        }
    }

    /// No further digit: those pressed are a PIN, or none is wanted.
    pub fn too_late(mut self, context: &mut InboundContext, now: Instant) -> InboundState {
        match self.entry.take() {
            digits if digits.is_empty() => AlertHearing::begin(context, now, 0, []),
            digits => check(context, now, digits),
        }
    }
}

fn check(context: &mut InboundContext, now: Instant, digits: String) -> InboundState {
    let part = SpokenPart::default().with_deadline(now + PIN_CHECK_WAIT);
    let check = PinCheck { part };
    if !is_pin(&digits) {
        return check.refused(context, now);
    }
    context.actions.push_back(InboundAction::CheckPin(EnteredPin(digits)));
    InboundState::CheckingPin(check)
}

impl PinCheck {
    /// A person: an author chooses first, any other hears their alerts.
    pub fn accepted(self, context: &mut InboundContext, now: Instant, person: InboundPerson) -> InboundState {
        let InboundPerson { mut alerts, templates } = person;
        alerts.truncate(ALERTS_MAX);
        context.alerts = alerts;
        context.templates = templates.filter(|(_, templates)| !templates.is_empty());
        context.pin_accepted = true;
        match context.templates {
            Some(_) => MainMenu::begin(context, now, []),
            None => AlertHearing::begin(context, now, 0, []),
        }
    }

    /// Nobody's PIN, or no word in time. Behind the last try the call goes on without one.
    pub fn refused(self, context: &mut InboundContext, now: Instant) -> InboundState {
        context.pin_tries += 1;
        if context.pin_tries < PIN_TRIES_MAX {
            let wrong = context.script.pin_wrong.into();
            return PinQuestion::begin(context, now, [wrong]);
        }
        context.report(InboundReport::PinFailed);
        let failed = context.script.pin_failed.into();
        AlertHearing::begin(context, now, 0, [failed])
    }
}

impl AlertHearing {
    /// The alert of that place, behind some words; without one the call closes, or an author chooses again.
    pub fn begin(
        context: &mut InboundContext,
        now: Instant,
        at: usize,
        before: impl IntoIterator<Item = SpokenLine>,
    ) -> InboundState {
        let Some(alert) = context.alerts.get(at).cloned() else {
            let none = context.alerts.is_empty().then(|| SpokenLine::from(context.script.no_alerts));
            let lines: Vec<SpokenLine> = before.into_iter().chain(none).collect();
            return match context.templates {
                Some(_) => MainMenu::begin(context, now, lines),
                None => context.close(now, lines),
            };
        };
        // The mark of a drill is first and last.
        let mark = alert.drill.map(SpokenLine::from);
        let text = text_lines(&alert.text);
        let lines = before.into_iter().chain(mark).chain(text).chain([alert.menu.into()]).chain(mark);
        let part = SpokenPart::begin(context, now, lines);
        InboundState::Hearing(AlertHearing { part, at })
    }

    /// The next alert.
    pub fn next(self, context: &mut InboundContext, now: Instant) -> InboundState {
        AlertHearing::begin(context, now, self.at + 1, [])
    }

    /// The text of the alert was played to its end.
    pub fn note_heard(&self, context: &mut InboundContext) {
        let Some(alert) = context.alerts.get(self.at).map(|alert| alert.id) else { return };
        if !context.heard.contains(&alert) {
            context.heard.push(alert);
            context.report(InboundReport::Heard { alert });
        }
    }

    /// A choice, another time, the next alert, or the PIN.
    pub fn press(self, context: &mut InboundContext, now: Instant, key: PhoneKey) -> InboundState {
        self.part.stop(context);
        let Some(alert) = context.alerts.get(self.at).cloned() else { return self.next(context, now) };
        if let Some(choice) = alert.choices.iter().find(|choice| choice.key == key) {
            if context.answered.contains(&alert.id) {
                return self.next(context, now);
            }
            context.answered.push(alert.id);
            let label = choice.label.clone();
            context.report(InboundReport::Answer { alert: alert.id, key, label });
            let thanks = [Some(choice.thanks.into()), alert.drill.map(SpokenLine::from)];
            return AlertHearing::begin(context, now, self.at + 1, thanks.into_iter().flatten());
        }
        match key.as_char() {
            '#' => self.next(context, now),
            '*' | REPEAT_KEY => AlertHearing::begin(context, now, self.at, []),
            PIN_KEY if !context.pin_accepted && context.pin_tries < PIN_TRIES_MAX => {
                let asked = context.script.pin_asked.into();
                PinQuestion::begin(context, now, [asked])
            }
            _ => {
                let lines = [context.script.wrong_key, alert.menu].map(SpokenLine::from);
                let part = SpokenPart::begin(context, now, lines);
                InboundState::Hearing(AlertHearing { part, ..self })
            }
        }
    }
}
