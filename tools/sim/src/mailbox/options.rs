use crate::behaviour::{Behaviour, SLOW_ANSWER};
use crate::chance::Delay;
use crate::town::Habits;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the mailbox is and does: a scenario. Every field has a default that gives a server without faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MailboxOptions {
    /// Where it listens; port 0 takes a free one.
    pub listen: String,
    /// Where its page and its JSON are; nothing: nowhere.
    pub control: Option<String>,
    /// How it greets.
    pub hostname: String,
    /// Offers STARTTLS with a certificate made at the start: see [`super::Mailbox::certificate`].
    pub starttls: bool,
    /// Offers PIPELINING.
    pub pipelining: bool,
    /// Offers AUTH PLAIN and takes mail only after it.
    pub login: Option<Login>,
    /// How long the answer to a mail takes.
    pub latency: Delay,
    /// Connections at the same time; those above are told 421. 0: any number.
    pub connections_max: u32,
    /// Recipients of one mail; those above are told 452 4.5.3.
    pub recipients_max: usize,
    /// Octets of one mail; what is over it is told 552 5.3.4.
    pub octets_max: usize,
    /// Refusals that hit anything.
    pub errors: Vec<ErrorShare>,
    /// Cut the connection at this share of the mails, before they are answered.
    pub disconnect: f64,
    /// Share of those mails that were taken nevertheless.
    pub disconnect_accepts: f64,
    /// What people do with their mail; nothing: all is taken, nobody answers.
    pub people: Option<Habits>,
    /// From the acceptance to a bounce.
    pub bounce_after: Delay,
    /// Where bounces and answers go, by SMTP: an address and port; nothing: there are none.
    pub door: Option<String>,
    /// What is counted to find repeats.
    pub count: Counting,
    /// So many of the last mails are kept to be looked at.
    pub keep: usize,
    /// All mail is kept here as files (Maildir).
    pub folder: Option<PathBuf>,
    /// Decides whom the shares hit.
    pub seed: u64,
}

/// Who may send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// Authentication identity.
    pub username: String,
    /// Its password.
    pub password: String,
}

/// A refusal and whom it hits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorShare {
    /// Where in the dialogue.
    pub at: Stage,
    /// The whole reply: `451 4.3.0 try again later`.
    pub reply: String,
    /// Share of what comes to that stage.
    pub share: f64,
}

/// Where in the dialogue a refusal hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Instead of the greeting.
    Connect,
    /// At MAIL FROM.
    Mail,
    /// At RCPT TO.
    Rcpt,
    /// At the end of the mail.
    Data,
}

/// What is counted to find repeats, as hashes of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counting {
    /// How often each recipient got each Message-ID.
    Messages,
    /// How many mails each recipient got.
    Recipients,
    /// Nothing.
    Off,
}

impl Default for MailboxOptions {
    fn default() -> Self {
        MailboxOptions {
            listen: "127.0.0.1:0".to_owned(),
            control: None,
            hostname: "mx.town.example".to_owned(),
            starttls: false,
            pipelining: true,
            login: None,
            latency: Delay::NONE,
            connections_max: 0,
            recipients_max: 100,
            octets_max: 25 << 20,
            errors: Vec::new(),
            disconnect: 0.0,
            disconnect_accepts: 0.5,
            people: None,
            bounce_after: Delay::Fixed(std::time::Duration::from_millis(200)),
            door: None,
            count: Counting::Messages,
            keep: 1_000,
            folder: None,
            seed: 1,
        }
    }
}

/// At most so many mails are kept in memory.
const KEEP_MAX: usize = 1_000_000;
/// A mail is at most so big.
const OCTETS_MAX: usize = 256 << 20;

impl MailboxOptions {
    /// Takes everything at once and keeps nothing: what a load is measured against.
    pub fn sink() -> Self {
        MailboxOptions { count: Counting::Off, keep: 0, ..MailboxOptions::default() }
    }

    /// Reads a scenario file.
    ///
    /// # Errors
    /// What is wrong with it, in words, with the line where there is one.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let options: MailboxOptions = toml::from_str(text).map_err(|error| error.to_string())?;
        options.check()?;
        Ok(options)
    }

    /// The same scenario with another behaviour.
    pub(super) fn behaving(&self, behaviour: Behaviour) -> Result<MailboxOptions, String> {
        let mut options = self.clone();
        match behaviour {
            Behaviour::Works | Behaviour::Down => {}
            Behaviour::Slow => options.latency = SLOW_ANSWER,
            Behaviour::WithoutReceipts => {
                return Err("a mail server sends no receipts that could be missing".to_owned());
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
        if let Some(error) = self.errors.iter().find(|error| !is_refusal(&error.reply)) {
            return Err(format!(
                "errors: {:?} is no reply that refuses, such as `451 4.3.0 later`",
                error.reply
            ));
        }
        if self.keep > KEEP_MAX {
            return Err(format!("keep: {} is over the limit of {KEEP_MAX}", self.keep));
        }
        if self.octets_max > OCTETS_MAX {
            return Err(format!("octets_max: {} is over the limit of {OCTETS_MAX}", self.octets_max));
        }
        if self.recipients_max == 0 {
            return Err("recipients_max: a mail has at least one recipient".to_owned());
        }
        self.people.as_ref().map_or(Ok(()), Habits::check)
    }
}

/// Three digits from 400 to 599, then a space or nothing; one line.
fn is_refusal(reply: &str) -> bool {
    let digits = reply.bytes().take_while(u8::is_ascii_digit).count();
    let is_parted = matches!(reply.as_bytes().get(3), None | Some(b' '));
    digits == 3 && is_parted && reply.starts_with(['4', '5']) && !reply.contains(['\r', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_reads_from_toml() {
        let text = r#"
            latency = "5ms"
            door = "127.0.0.1:2525"
            errors = [{at = "rcpt", reply = "450 4.2.1 busy", share = 0.1}]
            login = {username = "u", password = "p"}
            [people]
            mail = {unknown = 0.1, greylisted = 0.2}
        "#;
        let options = MailboxOptions::from_toml(text).unwrap();
        assert_eq!(options.errors[0].at, Stage::Rcpt);
        assert_eq!(options.people.map(|people| people.mail.greylisted), Some(0.2));
    }

    #[test]
    fn what_cannot_be_is_refused_by_field() {
        for (text, word) in [
            ("disconnect = 1.5", "disconnect"),
            ("errors = [{at = \"rcpt\", reply = \"250 fine\", share = 0.1}]", "errors"),
            ("errors = [{at = \"rcpt\", reply = \"45 x\", share = 0.1}]", "errors"),
            ("errors = [{at = \"data\", reply = \"451 x\\r\\n250 y\", share = 0.1}]", "errors"),
            ("errors = [{at = \"data\", reply = \"451 x\", share = 2.0}]", "errors"),
            ("recipients_max = 0", "recipients_max"),
            ("keep = 100000000", "keep"),
            ("hostnam = \"x\"", "hostnam"),
        ] {
            let error = MailboxOptions::from_toml(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
