use crate::behaviour::{Behaviour, SLOW_ANSWER};
use crate::chance::Delay;
use crate::town::Habits;
use serde::{Deserialize, Serialize};

/// At most so many pages are kept in memory.
const KEEP_MAX: usize = 1_000_000;

/// What the paging carrier is and does: a scenario. Every field has a default that gives a server without
/// faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PagingOptions {
    /// Where it listens; port 0 takes a free one.
    pub listen: String,
    /// Where its page and its JSON are; nothing: nowhere.
    pub control: Option<String>,
    /// Level of SNPP that it speaks, 1 to 3.
    pub level: u8,
    /// The login that a client must have; nothing: none is needed.
    pub login: Option<String>,
    /// The login's password.
    pub password: Option<String>,
    /// How long the reply to SEND takes.
    pub latency: Delay,
    /// From SEND until the pager has the page.
    pub deliver_after: Delay,
    /// Refusals that hit anything.
    pub errors: Vec<PageError>,
    /// Cut the connection at this share of the pages, before they are answered.
    pub disconnect: f64,
    /// Share of those pages that were taken nevertheless.
    pub disconnect_accepts: f64,
    /// What people do with their pagers; nothing: all is taken and delivered, nobody answers.
    pub people: Option<Habits>,
    /// So many of the last pages are kept to be looked at.
    pub keep: usize,
    /// Decides whom the shares hit.
    pub seed: u64,
}

/// A refusal and whom it hits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageError {
    /// Where in the transaction.
    pub at: PageStage,
    /// The reply's code: 550 or 554; 421 at `send` alone.
    pub code: u16,
    /// Share of what comes to that stage.
    pub share: f64,
}

/// Where in a transaction a refusal hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageStage {
    /// At PAGE.
    Page,
    /// At SEND.
    Send,
}

impl Default for PagingOptions {
    fn default() -> Self {
        PagingOptions {
            listen: "127.0.0.1:0".to_owned(),
            control: None,
            level: 3,
            login: None,
            password: None,
            latency: Delay::NONE,
            deliver_after: Delay::NONE,
            errors: Vec::new(),
            disconnect: 0.0,
            disconnect_accepts: 0.5,
            people: None,
            keep: 1_000,
            seed: 1,
        }
    }
}

impl PagingOptions {
    /// Takes everything at once and keeps nothing: what a load is measured against.
    pub fn sink() -> Self {
        PagingOptions { keep: 0, ..PagingOptions::default() }
    }

    /// Reads a scenario file.
    ///
    /// # Errors
    /// What is wrong with it, in words, with the line where there is one.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let options: PagingOptions = toml::from_str(text).map_err(|error| error.to_string())?;
        options.check()?;
        Ok(options)
    }

    /// The same scenario with another behaviour.
    pub(super) fn behaving(&self, behaviour: Behaviour) -> Result<PagingOptions, String> {
        let mut options = self.clone();
        match behaviour {
            Behaviour::Works | Behaviour::Down => {}
            Behaviour::Slow => options.latency = SLOW_ANSWER,
            Behaviour::WithoutReceipts => {
                return Err("a paging carrier is asked for receipts, and has none to leave out".to_owned());
            }
        }
        Ok(options)
    }

    /// Checks what a scenario may get wrong.
    ///
    /// # Errors
    /// The first field that cannot be, with its limit.
    pub fn check(&self) -> Result<(), String> {
        let shares = self.errors.iter().map(|error| ("errors", error.share));
        let mut shares =
            shares.chain([("disconnect", self.disconnect), ("disconnect_accepts", self.disconnect_accepts)]);
        if let Some((name, share)) = shares.find(|(_, share)| !(0.0..=1.0).contains(share)) {
            return Err(format!("{name}: a share of {share} is not between 0 and 1"));
        }
        let is_refusal = |error: &&PageError| match error.at {
            PageStage::Page => !matches!(error.code, 550 | 554),
            PageStage::Send => !matches!(error.code, 421 | 550 | 554),
        };
        if let Some(error) = self.errors.iter().find(is_refusal) {
            return Err(format!("errors: {} is none of 550, 554, and 421 at send", error.code));
        }
        if !(1..=3).contains(&self.level) {
            return Err(format!("level: {} is not between 1 and 3", self.level));
        }
        if self.keep > KEEP_MAX {
            return Err(format!("keep: {} is over the limit of {KEEP_MAX}", self.keep));
        }
        self.people.as_ref().map_or(Ok(()), Habits::check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_reads_from_toml() {
        let text = "level = 2\ndeliver_after = \"5ms\"\nerrors = [{at = \"send\", code = 421, share = 0.1}]\n[people]\nseed = 7\n";
        let options = PagingOptions::from_toml(text).unwrap();
        assert_eq!((options.level, options.errors[0].at), (2, PageStage::Send));
        assert_eq!(options.people.map(|people| people.seed), Some(7));
    }

    #[test]
    fn wrong_fields_are_named() {
        for (text, word) in [
            ("disconnect = 1.5", "disconnect"),
            ("errors = [{at = \"page\", code = 421, share = 0.1}]", "errors"),
            ("errors = [{at = \"send\", code = 250, share = 0.1}]", "errors"),
            ("errors = [{at = \"send\", code = 550, share = 2.0}]", "errors"),
            ("level = 4", "level"),
            ("keep = 100000000", "keep"),
            ("lisen = \"x\"", "lisen"),
        ] {
            let error = PagingOptions::from_toml(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
