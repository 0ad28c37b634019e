//! Script of a call to a person: its prompts, its keys and its bounds.
//!
//! ```text
//! answered    0.7 s of silence, 2 s at most
//! greeting    "This is ORG."                                       (47 CFR 64.1200(b)(1))
//! [PIN]       three tries; nothing of the text before it is right
//! a round     [drill mark] text, call-back number, menu            (47 CFR 64.1200(b)(2))
//!             `times` rounds, `between` apart, then a wait for a key
//! a key       a choice: "You pressed 1: I am safe. Thank you."     at any moment, also in the greeting
//!             9 or star: the round again; 7 twice: no more calls; any other: the menu again
//! the end     [drill mark], hang up
//! ```
//!
//! [`AnsweredCall`] plays it.

mod call;
mod keys;
mod states;
#[cfg(test)]
mod tests;

pub use call::{AnsweredCall, ScriptAction, ScriptEvent, ScriptReport};

use crate::pin::is_pin;
use crate::prompt::length_of;
use crate::{PIN_DIGITS_MAX, PIN_DIGITS_MIN, PhoneKey, Prompt};
use std::fmt;
use std::time::Duration;

/// Silence after which the first words are spoken.
pub const SILENCE_BEFORE_GREETING: Duration = Duration::from_millis(700);
/// Wait for that silence, at most.
pub const GREETING_WAIT_MAX: Duration = Duration::from_secs(2);
/// Rounds of a call.
pub const TIMES_MAX: u8 = 5;
/// Choices of a call: keys 1 to 9.
pub const CHOICES_MAX: usize = 9;
/// Sentences of a text.
pub const SENTENCES_MAX: usize = 200;
/// Length of a call, whatever its script says.
pub const CALL_LENGTH_MAX: Duration = Duration::from_secs(900);
/// Wait for a key behind the last menu.
pub const KEY_WAIT: Duration = Duration::from_secs(5);
/// Time for the second 7.
pub const SECOND_KEY_WAIT: Duration = Duration::from_secs(3);
/// Wait for a beep or for silence, once a machine is suspected.
pub const BEEP_WAIT_MAX: Duration = Duration::from_secs(30);
/// Beeps at which a machine's message begins anew.
pub const BEEP_RESTARTS_MAX: u8 = 2;
/// Key that plays again, where it is no choice; star always does.
pub const REPEAT_KEY: char = '9';
/// Key that, pressed twice, ends all calls to this number.
pub const DO_NOT_CALL_KEY: char = '7';

/// An answer that a person can give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallChoice {
    /// 1 to 9.
    pub key: PhoneKey,
    /// Its label: "I am safe".
    pub label: String,
    /// "You pressed 1: I am safe. Thank you."
    pub thanks: Prompt,
}

/// PIN that a person has to know before the text is played.
#[derive(Clone, PartialEq, Eq)]
pub struct CallPin {
    /// Its digits.
    pub digits: String,
    /// "Enter your PIN."
    pub asked: Prompt,
    /// "That is not your PIN. Enter it again."
    pub wrong: Prompt,
    /// "That is not your PIN. Goodbye."
    pub failed: Prompt,
}

/// Without the digits.
impl fmt::Debug for CallPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallPin").field("asked", &self.asked).finish_non_exhaustive()
    }
}

/// Use of a hint that a machine answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachinePolicy {
    /// The script goes on as for a person.
    Ignore,
    /// The message once from its start, without menu, and with this prompt behind it: "Answer by SMS to …",
    /// or "Call … to answer". It names the call-back number.
    LeaveMessage(Prompt),
}

/// Script of a call to a person.
#[derive(Debug, Clone)]
pub struct CallScript {
    /// "This is ORG."
    pub greeting: Prompt,
    /// "This is a drill.", first and last.
    pub drill: Option<Prompt>,
    /// Sentences of the text: a stop ends the call behind one of them.
    pub text: Vec<Prompt>,
    /// "Our number is …", behind the text.
    pub callback_number: Option<Prompt>,
    /// Answers, in the order in which the menu names them.
    pub choices: Vec<CallChoice>,
    /// A choice counts only behind the whole text: for decisions that nobody may take unheard.
    pub answer_behind_text: bool,
    /// "Press 1 for …, 2 for …; 9 or star to hear it again."
    pub menu: Prompt,
    /// "That key is none of the choices."
    pub wrong_key: Prompt,
    /// "We do not call this number again.": key 7 twice; `None`: the key has no such meaning.
    pub do_not_call: Option<Prompt>,
    /// PIN before the text.
    pub pin: Option<CallPin>,
    /// A suspected machine.
    pub machine: MachinePolicy,
    /// Rounds; 2 as a rule.
    pub times: u8,
    /// Pause between rounds; 2 s as a rule.
    pub between: Duration,
    /// Bound of the call.
    pub longest: Duration,
}

/// Reason for which a script cannot be played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptProblem {
    /// No sentence, or over [`SENTENCES_MAX`].
    Sentences(usize),
    /// Over [`CHOICES_MAX`] choices.
    Choices(usize),
    /// A choice has no key from 1 to 9.
    NotAChoiceKey(PhoneKey),
    /// Two choices have the key.
    KeyTwice(PhoneKey),
    /// A choice has the key of do-not-call.
    KeyOfDoNotCall,
    /// No PIN of [`PIN_DIGITS_MIN`] to [`PIN_DIGITS_MAX`] digits.
    Pin,
    /// No round, or over [`TIMES_MAX`].
    Times(u8),
    /// All rounds take longer than the call may.
    TooLong {
        /// Length of the call to someone who presses nothing.
        regular: Duration,
        /// Its bound.
        longest: Duration,
    },
    /// The bound is over [`CALL_LENGTH_MAX`].
    BoundTooLong(Duration),
}

impl fmt::Display for ScriptProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptProblem::Sentences(count) => {
                write!(f, "text: {count} sentences; a call has 1 to {SENTENCES_MAX}: shorten the text")
            }
            ScriptProblem::Choices(count) => {
                write!(f, "choices: {count}; a call has at most {CHOICES_MAX}: take some out")
            }
            ScriptProblem::NotAChoiceKey(key) => {
                write!(f, "choices: key {key}; a choice has a key from 1 to 9")
            }
            ScriptProblem::KeyTwice(key) => {
                write!(f, "choices: key {key} twice; give each choice a key of its own")
            }
            ScriptProblem::KeyOfDoNotCall => write!(
                f,
                "choices: key {DO_NOT_CALL_KEY}, which pressed twice ends all calls; take another key, or \
                 switch do-not-call off"
            ),
            ScriptProblem::Pin => {
                write!(f, "pin: not a number of {PIN_DIGITS_MIN} to {PIN_DIGITS_MAX} digits; give one")
            }
            ScriptProblem::Times(times) => {
                write!(f, "times: {times}; the text is played 1 to {TIMES_MAX} times")
            }
            ScriptProblem::TooLong { regular, longest } => write!(
                f,
                "longest: the call takes {} s and may take {} s; shorten the text, or play it fewer times",
                regular.as_secs(),
                longest.as_secs()
            ),
            ScriptProblem::BoundTooLong(longest) => write!(
                f,
                "longest: {} s; a call takes at most {} s: lower the bound",
                longest.as_secs(),
                CALL_LENGTH_MAX.as_secs()
            ),
        }
    }
}

impl std::error::Error for ScriptProblem {}

impl CallScript {
    /// Checks the script: keys, counts, and that a whole call fits in its bound.
    ///
    /// # Errors
    /// The first problem.
    pub fn check(&self) -> Result<(), ScriptProblem> {
        if self.text.is_empty() || self.text.len() > SENTENCES_MAX {
            return Err(ScriptProblem::Sentences(self.text.len()));
        }
        self.check_keys()?;
        if self.pin.as_ref().is_some_and(|pin| !is_pin(&pin.digits)) {
            return Err(ScriptProblem::Pin);
        }
        if self.times == 0 || self.times > TIMES_MAX {
            return Err(ScriptProblem::Times(self.times));
        }
        if self.longest > CALL_LENGTH_MAX {
            return Err(ScriptProblem::BoundTooLong(self.longest));
        }
        let (regular, longest) = (self.regular_length(), self.longest);
        if regular > longest {
            return Err(ScriptProblem::TooLong { regular, longest });
        }
        Ok(())
    }

    fn check_keys(&self) -> Result<(), ScriptProblem> {
        if self.choices.len() > CHOICES_MAX {
            return Err(ScriptProblem::Choices(self.choices.len()));
        }
        for (at, choice) in self.choices.iter().enumerate() {
            if !choice.key.may_be_choice() {
                return Err(ScriptProblem::NotAChoiceKey(choice.key));
            }
            if self.choices[..at].iter().any(|other| other.key == choice.key) {
                return Err(ScriptProblem::KeyTwice(choice.key));
            }
            if self.do_not_call.is_some() && choice.key.as_char() == DO_NOT_CALL_KEY {
                return Err(ScriptProblem::KeyOfDoNotCall);
            }
        }
        Ok(())
    }

    /// Length of the call to someone who presses no key but those of the PIN: forecasts of lines and money.
    pub fn regular_length(&self) -> Duration {
        let round =
            length_of(self.drill.iter().chain(&self.text).chain(&self.callback_number)) + self.menu.length();
        let pin = self.pin.as_ref().map_or(Duration::ZERO, |pin| pin.asked.length());
        let pauses = self.between * u32::from(self.times.saturating_sub(1)) + KEY_WAIT;
        let marks = length_of(self.drill.iter());
        GREETING_WAIT_MAX + self.greeting.length() + pin + round * u32::from(self.times) + pauses + marks
    }
}
