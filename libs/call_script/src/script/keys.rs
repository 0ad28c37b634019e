//! Meaning of a key behind the PIN.

use super::call::CallContext;
use super::{CallChoice, DO_NOT_CALL_KEY, REPEAT_KEY, SECOND_KEY_WAIT};
use crate::PhoneKey;
use std::time::Instant;

/// Meaning of a key.
#[derive(Debug)]
pub(super) enum KeyMeaning {
    Choice(CallChoice),
    Repeat,
    /// The first 7: silence until the second, or until it is late.
    FirstOfTwo,
    DoNotCall,
    Wrong,
}

/// The first 7 of two.
#[derive(Debug, Default)]
pub(super) struct DoNotCallKeys {
    until: Option<Instant>,
    done: bool,
}

impl DoNotCallKeys {
    /// The second key is late from then on.
    pub fn deadline(&self) -> Option<Instant> {
        self.until
    }

    /// The second key is late.
    pub fn is_due(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now >= until)
    }

    /// The first key counts no more.
    pub fn forget(&mut self) {
        self.until = None;
    }

    /// Nothing more to ask for.
    pub fn finish(&mut self) {
        *self = DoNotCallKeys { until: None, done: true };
    }
}

impl CallContext {
    /// Tells the meaning of a key, and takes it as a sign of a person.
    pub fn meaning(&mut self, now: Instant, key: PhoneKey) -> KeyMeaning {
        self.key_pressed = true;
        self.perhaps_machine = false;
        let first_of_two = self.keys.until.take();
        if let Some(choice) = self.script.choices.iter().find(|choice| choice.key == key) {
            return KeyMeaning::Choice(choice.clone());
        }
        match key.as_char() {
            '*' | REPEAT_KEY => KeyMeaning::Repeat,
            DO_NOT_CALL_KEY if self.script.do_not_call.is_some() && !self.keys.done => {
                if first_of_two.is_some() {
                    return KeyMeaning::DoNotCall;
                }
                self.keys.until = Some(now + SECOND_KEY_WAIT);
                KeyMeaning::FirstOfTwo
            }
            _ => KeyMeaning::Wrong,
        }
    }
}
