//! Script of a client's session: `I5 U3/5 = T2`.

use diameter::credit::RequestedAction;
use std::str::FromStr;
use std::time::Duration;

/// Words of a script at most.
const WORDS_MAX: usize = 1_000;
/// How words look, for errors.
const WORDS: &str = "I5 (INITIAL, asks for 5), U3/5 (UPDATE, 3 used, asks for 5), T2 (TERMINATION, 2 used), \
    E5, R5, B5, P5 (EVENT: debit, refund, balance, price), = (the last one again), 200ms (a pause)";

/// One word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptStep {
    /// Begins a session.
    Initial { wanted: u64 },
    /// Goes on with it.
    Update { used: u64, wanted: u64 },
    /// Ends it.
    Terminate { used: u64 },
    /// Without a session.
    Event { action: RequestedAction, units: u64 },
    /// The last request as it was, with the T bit.
    Again,
    /// Nothing for so long.
    Pause(Duration),
}

impl ScriptStep {
    /// What a request of a session asks for.
    pub(super) fn wanted(&self) -> Option<u64> {
        match *self {
            ScriptStep::Initial { wanted } | ScriptStep::Update { wanted, .. } => Some(wanted),
            _ => None,
        }
    }
}

/// What a session does, step by step.
#[derive(Debug, Clone, PartialEq)]
pub struct Script(pub(super) Vec<ScriptStep>);

impl Default for Script {
    fn default() -> Script {
        let update = ScriptStep::Update { used: 5, wanted: 5 };
        Script(vec![ScriptStep::Initial { wanted: 5 }, update, ScriptStep::Terminate { used: 5 }])
    }
}

impl FromStr for Script {
    type Err = String;

    fn from_str(text: &str) -> Result<Script, String> {
        let (mut steps, mut is_open, mut has_asked) = (Vec::new(), false, false);
        for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
            let step = step(word).ok_or_else(|| format!("{word:?} is none of {WORDS}"))?;
            let out_of_place = match step {
                ScriptStep::Initial { .. } => {
                    is_open.then_some("begins a session that is open: end it with T first")
                }
                ScriptStep::Update { .. } | ScriptStep::Terminate { .. } => {
                    (!is_open).then_some("goes on with no session: begin one with I first")
                }
                ScriptStep::Event { .. } => is_open.then_some("stands within a session: end it with T first"),
                ScriptStep::Again => {
                    (!has_asked).then_some("repeats nothing: a request must stand before it")
                }
                ScriptStep::Pause(_) => None,
            };
            if let Some(why) = out_of_place {
                return Err(format!("{word:?} {why}"));
            }
            is_open = match step {
                ScriptStep::Initial { .. } => true,
                ScriptStep::Terminate { .. } => false,
                _ => is_open,
            };
            has_asked |= !matches!(step, ScriptStep::Pause(_));
            steps.push(step);
        }
        if !has_asked || steps.len() > WORDS_MAX {
            return Err(format!("1 to {WORDS_MAX} words are needed, and one that asks: {WORDS}"));
        }
        Ok(Script(steps))
    }
}

fn step(word: &str) -> Option<ScriptStep> {
    if word == "=" {
        return Some(ScriptStep::Again);
    }
    let event = |action, units: &str| Some(ScriptStep::Event { action, units: units.parse().ok()? });
    let (kind, rest) = (word.chars().next()?, word.get(1..)?);
    match kind {
        'I' => Some(ScriptStep::Initial { wanted: rest.parse().ok()? }),
        'U' => {
            let (used, wanted) = rest.split_once('/')?;
            Some(ScriptStep::Update { used: used.parse().ok()?, wanted: wanted.parse().ok()? })
        }
        'T' => Some(ScriptStep::Terminate { used: rest.parse().ok()? }),
        'E' => event(RequestedAction::DirectDebiting, rest),
        'R' => event(RequestedAction::RefundAccount, rest),
        'B' => event(RequestedAction::CheckBalance, rest),
        'P' => event(RequestedAction::PriceEnquiry, rest),
        _ => pause(word).map(ScriptStep::Pause),
    }
}

fn pause(word: &str) -> Option<Duration> {
    let (number, unit) = word.split_at(word.find(|c: char| !c.is_ascii_digit())?);
    let number: u64 = number.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_word_by_word_and_what_makes_no_sense_is_named() {
        let script: Script = "I5, U3/7 = 200ms T4 E9 2s".parse().unwrap();
        let debit = ScriptStep::Event { action: RequestedAction::DirectDebiting, units: 9 };
        let expected = [
            ScriptStep::Initial { wanted: 5 },
            ScriptStep::Update { used: 3, wanted: 7 },
            ScriptStep::Again,
            ScriptStep::Pause(Duration::from_millis(200)),
            ScriptStep::Terminate { used: 4 },
            debit,
            ScriptStep::Pause(Duration::from_secs(2)),
        ];
        assert_eq!(script.0, expected);
        assert_eq!("I5 U5/5 T5".parse(), Ok(Script::default()));
        for (text, named) in [
            ("I5 I5", "begins a session that is open"),
            ("U5/5", "goes on with no session"),
            ("I5 T5 T5", "goes on with no session"),
            ("I5 E5", "stands within a session"),
            ("= E5", "repeats nothing"),
            ("2s", "one that asks"),
            ("", "one that asks"),
            ("I", "\"I\" is none of"),
            ("U5", "\"U5\" is none of"),
            ("5h", "\"5h\" is none of"),
            ("ö5", "\"ö5\" is none of"),
        ] {
            let error = text.parse::<Script>().unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
