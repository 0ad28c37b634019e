use crate::chance::Delay;
use serde::{Deserialize, Serialize};

/// What the receiver is and does: a scenario. Every field has a default that gives one without faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebhookOptions {
    /// Where it listens; port 0 takes a free one.
    pub listen: String,
    /// Where its page and its JSON are; nothing: nowhere.
    pub control: Option<String>,
    /// `whsec_` and base64: what is not signed by it is refused with 401. Nothing: signatures do not matter.
    pub secret: Option<String>,
    /// A signature's moment may be so far from now, seconds.
    pub tolerance_s: u64,
    /// How long an answer takes.
    pub latency: Delay,
    /// Refusals that hit anything.
    pub refusals: Vec<RefusalShare>,
    /// Share of the requests that are taken and never answered.
    pub silence: f64,
    /// Share of the requests whose connection is cut before the answer, though they are taken.
    pub disconnect: f64,
    /// Share of the messages that the answer calls delivered.
    pub delivered: f64,
    /// Share of the messages with choices that the answer chooses one for: the first.
    pub answering: f64,
    /// Ids are counted, to find repeats.
    pub count: bool,
    /// So many of the last requests are kept to be looked at.
    pub keep: usize,
    /// Decides whom the shares hit.
    pub seed: u64,
}

/// A refusal and whom it hits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusalShare {
    /// HTTP status, 300 to 599.
    pub status: u16,
    /// Share of the messages.
    pub share: f64,
    /// Seconds of Retry-After, if it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
}

/// At most so many requests are kept in memory.
const KEEP_MAX: usize = 1_000_000;

impl Default for WebhookOptions {
    fn default() -> Self {
        WebhookOptions {
            listen: "127.0.0.1:0".to_owned(),
            control: None,
            secret: None,
            tolerance_s: 300,
            latency: Delay::NONE,
            refusals: Vec::new(),
            silence: 0.0,
            disconnect: 0.0,
            delivered: 0.0,
            answering: 0.0,
            count: true,
            keep: 1_000,
            seed: 1,
        }
    }
}

impl WebhookOptions {
    /// Takes everything at once and keeps nothing: what a load is measured against.
    pub fn sink() -> Self {
        WebhookOptions { count: false, keep: 0, ..WebhookOptions::default() }
    }

    /// Reads a scenario file.
    ///
    /// # Errors
    /// What is wrong with it, in words, with the line where there is one.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let options: WebhookOptions = toml::from_str(text).map_err(|error| error.to_string())?;
        options.check()?;
        Ok(options)
    }

    /// Checks what a scenario may get wrong.
    ///
    /// # Errors
    /// The first field that cannot be, with its limit.
    pub fn check(&self) -> Result<(), String> {
        let shares = [
            ("silence", self.silence),
            ("disconnect", self.disconnect),
            ("delivered", self.delivered),
            ("answering", self.answering),
        ];
        let mut shares = shares.into_iter().chain(self.refusals.iter().map(|one| ("refusals", one.share)));
        if let Some((name, share)) = shares.find(|(_, share)| !(0.0..=1.0).contains(share)) {
            return Err(format!("{name}: a share of {share} is not between 0 and 1"));
        }
        if let Some(refusal) = self.refusals.iter().find(|one| !(300..=599).contains(&one.status)) {
            return Err(format!("refusals: {} is no status that refuses, 300 to 599", refusal.status));
        }
        if self.keep > KEEP_MAX {
            return Err(format!("keep: {} is over the limit of {KEEP_MAX}", self.keep));
        }
        super::signature::Verifier::new(self.secret.as_deref(), self.tolerance_s).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_by_field() {
        let text =
            "latency = \"5ms\"\nrefusals = [{status = 503, share = 0.1, retry_after = 2}]\ndelivered = 0.5";
        assert_eq!(WebhookOptions::from_toml(text).unwrap().refusals[0].retry_after, Some(2));
        for (text, word) in [
            ("silence = 1.5", "silence"),
            ("refusals = [{status = 200, share = 0.1}]", "refusals"),
            ("refusals = [{status = 500, share = 2.0}]", "refusals"),
            ("keep = 100000000", "keep"),
            ("secret = \"sesame\"", "secret"),
            ("secrets = \"x\"", "secrets"),
        ] {
            let error = WebhookOptions::from_toml(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
