use crate::behaviour::{Behaviour, SLOW_ANSWER};
use crate::chance::Delay;
use crate::town::Habits;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the simulated networks are and do: a scenario. Every field has a default that gives networks without
/// faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImOptions {
    /// Where they listen; port 0 takes a free one.
    pub listen: String,
    /// Where their page and its JSON are; nothing: nowhere.
    pub control: Option<String>,
    /// The server's name in Matrix ids.
    pub server_name: String,
    /// Tokens of accounts that are known; empty: any.
    pub tokens: Vec<String>,
    /// How long the answer to a message takes.
    pub latency: Delay,
    /// Messages a second above which it asks to wait (429); 0: any number.
    pub rate: f64,
    /// How they treat messages.
    pub manner: ImManner,
    /// What people do with their messages; nothing: they arrive, and nobody does anything.
    pub people: Option<Habits>,
    /// People who do nothing else read what they get: a receipt comes (Matrix).
    pub receipts: bool,
    /// From the arrival of a message until it is read.
    pub read_after: Delay,
    /// So many of the last messages are kept to be looked at.
    pub keep: usize,
}

/// The way in which messages are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImManner {
    /// All are taken.
    #[default]
    Accept,
    /// All are read, and never answered.
    Silent,
    /// All are refused for good: 403.
    RefuseForGood,
    /// All are refused for now: 500.
    RefuseForNow,
}

/// Messages that are kept at most.
const KEEP_MAX: usize = 1_000_000;

impl Default for ImOptions {
    fn default() -> ImOptions {
        ImOptions {
            listen: "127.0.0.1:0".to_owned(),
            control: None,
            server_name: "sim.example".to_owned(),
            tokens: Vec::new(),
            latency: Delay::NONE,
            rate: 0.0,
            manner: ImManner::Accept,
            people: None,
            receipts: true,
            read_after: Delay::Fixed(Duration::from_millis(100)),
            keep: 1_000,
        }
    }
}

impl ImOptions {
    /// Takes everything at once, and nobody reads it: what a load is measured against.
    pub fn sink() -> ImOptions {
        ImOptions { receipts: false, keep: 0, ..ImOptions::default() }
    }

    /// Reads a scenario file.
    ///
    /// # Errors
    /// What is wrong with it, in words, with the line where there is one.
    pub fn from_toml(text: &str) -> Result<ImOptions, String> {
        let options: ImOptions = toml::from_str(text).map_err(|error| error.to_string())?;
        options.check()?;
        Ok(options)
    }

    /// The same scenario with another behaviour.
    pub(super) fn behaving(&self, behaviour: Behaviour) -> ImOptions {
        let mut options = self.clone();
        match behaviour {
            Behaviour::Works | Behaviour::Down => {}
            Behaviour::Slow => options.latency = SLOW_ANSWER,
            Behaviour::WithoutReceipts => options.receipts = false,
        }
        options
    }

    /// Checks what a scenario may get wrong.
    ///
    /// # Errors
    /// The first field that cannot be, with its limit.
    pub fn check(&self) -> Result<(), String> {
        if self.keep > KEEP_MAX {
            return Err(format!("keep: {} is over the limit of {KEEP_MAX}", self.keep));
        }
        if !self.rate.is_finite() || self.rate < 0.0 {
            return Err(format!("rate: {} is not a rate", self.rate));
        }
        let is_name = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-' | b':');
        if self.server_name.is_empty() || !self.server_name.bytes().all(is_name) {
            return Err(format!("server_name: {:?} is no name of a server", self.server_name));
        }
        self.people.as_ref().map_or(Ok(()), Habits::check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_reads_from_toml_and_what_cannot_be_is_refused_by_field() {
        let text = "latency = \"5ms\"\nmanner = \"silent\"\nrate = 5.0\n[people]\nim = {blocked = 0.1}\n";
        let options = ImOptions::from_toml(text).unwrap();
        assert_eq!((options.manner, options.rate), (ImManner::Silent, 5.0));
        assert_eq!(options.people.map(|people| people.im.blocked), Some(0.1));
        for (text, word) in [
            ("keep = 100000000", "keep"),
            ("rate = -1.0", "rate"),
            ("server_name = \"a b\"", "server_name"),
            ("nonsense = 1", "nonsense"),
        ] {
            let error = ImOptions::from_toml(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
