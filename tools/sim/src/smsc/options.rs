use super::faults::{Answers, Disconnects, Login, Prefix, TlsListener};
use super::phases::Phase;
use super::receipts::{IdForm, ReceiptOn, Receipts, StateShare};
use super::traffic::{PhoneReply, RATE_MAX, Traffic};
use crate::behaviour::{Behaviour, SLOW_ANSWER};
use crate::chance::Delay;
use crate::town::Habits;
use serde::{Deserialize, Serialize};
use smpp::status::Status;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// What the SMSC is and does: a scenario. Every field has a default that gives a carrier without faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmscOptions {
    /// Where it listens; port 0 takes a free one.
    pub listen: String,
    /// Where its page and its JSON are, a port alone on loopback; nothing: nowhere.
    pub control: Option<String>,
    /// How it names itself in answers to a bind.
    pub system_id: String,
    /// What a bind must bring; nothing: anything goes.
    pub password: Option<String>,
    /// Sessions bound at the same time; 0: any number.
    pub binds_max: u32,
    /// How long an answer takes.
    pub latency: Delay,
    /// Share of the answers that take `slow_latency` instead.
    pub slow: f64,
    /// How long slow answers take.
    pub slow_latency: Delay,
    /// Messages accepted in any second, over all sessions; 0: any number.
    pub rate: f64,
    /// So much above the rate is let pass, as a share of it: what left in time may arrive in a bunch.
    pub rate_tolerance: f64,
    /// What is answered above the rate.
    pub throttle: Throttle,
    /// Share of the messages that are answered so below the rate too.
    pub throttled: f64,
    /// Refusals that hit any message.
    pub errors: Vec<ErrorShare>,
    /// Refusals that hit binds.
    pub bind_errors: Vec<ErrorShare>,
    /// Share of the submissions that are never answered.
    pub silence: f64,
    /// Share of those that are accepted nevertheless.
    pub silence_accepts: f64,
    /// Nothing is answered or sent, though everything is read and counted.
    pub mute: bool,
    /// Nothing is read.
    pub deaf: bool,
    /// What else is wrong with answers.
    pub answers: Answers,
    /// Cut the connection at every so many-th submission; 0: never.
    pub disconnect_every: u64,
    /// Cut the connection at this share of the submissions.
    pub disconnect: f64,
    /// When else connections end, and how.
    pub disconnects: Disconnects,
    /// Receipts.
    pub receipts: Receipts,
    /// How message ids are written.
    pub ids: IdForm,
    /// What people do with their messages; nothing: all arrive, nobody answers.
    pub people: Option<Habits>,
    /// What is different for some numbers.
    pub prefixes: Vec<Prefix>,
    /// What phones answer to what they get.
    pub replies: Vec<PhoneReply>,
    /// What phones write of their own accord.
    pub inbound: Traffic,
    /// Who may bind; empty: everybody with `password`.
    pub accounts: Vec<Login>,
    /// Distribution lists of `submit_multi`, and the numbers on them.
    pub lists: BTreeMap<String, Vec<String>>,
    /// ESMEs to connect to at the start with an outbind.
    pub outbind: Vec<String>,
    /// A listener with TLS; nothing: none.
    pub tls: Option<TlsListener>,
    /// `deliver_sm` without an answer on one session.
    pub deliver_window: usize,
    /// A `deliver_sm` without an answer for so long is sent again.
    pub deliver_timeout: Delay,
    /// What is counted to find repeats.
    pub count: Counting,
    /// So many of the last messages are kept to be looked at, and of their parts to be queried, cancelled and
    /// replaced.
    pub keep: usize,
    /// One JSON line for each PDU that comes, with its answer, appended here before that answer is written.
    pub capture: Option<PathBuf>,
    /// So many of the last captured lines are kept in memory; 0: none.
    pub capture_keep: usize,
    /// What changes, and when.
    pub phases: Vec<Phase>,
    /// After so long the phases begin anew; nothing: the last one stays.
    pub phases_again: Option<Delay>,
    /// Decides whom the shares hit.
    pub seed: u64,
}

/// What is answered to a message above the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Throttle {
    /// ESME_RTHROTTLED.
    Throttled,
    /// ESME_RMSGQFUL.
    QueueFull,
}

/// A refusal and whom it hits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorShare {
    /// The `command_status`: its name without `ESME_`, or a number as `0x45`.
    pub status: String,
    /// Share of the submissions.
    pub share: f64,
}

/// What is counted to find repeats, as hashes of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counting {
    /// How often each text was accepted for each number.
    Texts,
    /// How many messages were accepted for each number.
    Numbers,
    /// Nothing.
    Off,
}

impl Default for SmscOptions {
    fn default() -> Self {
        SmscOptions {
            listen: "127.0.0.1:0".to_owned(),
            control: None,
            system_id: "campanile-sim".to_owned(),
            password: None,
            binds_max: 0,
            latency: Delay::NONE,
            slow: 0.0,
            slow_latency: Delay::Fixed(Duration::from_secs(5)),
            rate: 0.0,
            rate_tolerance: 0.1,
            throttle: Throttle::Throttled,
            throttled: 0.0,
            errors: Vec::new(),
            bind_errors: Vec::new(),
            silence: 0.0,
            silence_accepts: 0.5,
            mute: false,
            deaf: false,
            answers: Answers::default(),
            disconnect_every: 0,
            disconnect: 0.0,
            disconnects: Disconnects::default(),
            receipts: Receipts::default(),
            ids: IdForm::Decimal,
            people: None,
            prefixes: Vec::new(),
            replies: Vec::new(),
            inbound: Traffic::default(),
            accounts: Vec::new(),
            lists: BTreeMap::new(),
            outbind: Vec::new(),
            tls: None,
            deliver_window: 500,
            deliver_timeout: Delay::Fixed(Duration::from_secs(30)),
            count: Counting::Texts,
            keep: 1_000,
            capture: None,
            capture_keep: 0,
            phases: Vec::new(),
            phases_again: None,
            seed: 1,
        }
    }
}

/// A window of deliveries is at most so wide.
const DELIVER_WINDOW_MAX: usize = 10_000;
/// At most so many messages are kept.
const KEEP_MAX: usize = 10_000_000;

impl SmscOptions {
    /// Answers at once, sends nothing back, counts nothing but numbers of messages: what a load is measured
    /// against.
    pub fn sink() -> Self {
        let receipts = Receipts { on: ReceiptOn::Never, ..Receipts::default() };
        SmscOptions { receipts, count: Counting::Off, keep: 0, ..SmscOptions::default() }
    }

    /// The same scenario with another behaviour.
    pub(super) fn behaving(&self, behaviour: Behaviour) -> SmscOptions {
        let mut options = self.clone();
        match behaviour {
            Behaviour::Works | Behaviour::Down => {}
            Behaviour::Slow => options.latency = SLOW_ANSWER,
            Behaviour::WithoutReceipts => options.receipts.on = ReceiptOn::Never,
        }
        options
    }

    /// Checks what a scenario may get wrong.
    ///
    /// # Errors
    /// The first field that cannot be, with its limit.
    pub fn check(&self) -> Result<(), String> {
        self.check_shares()?;
        self.check_limits()?;
        self.check_inbound()?;
        mix("errors", &self.errors)?;
        mix("bind_errors", &self.bind_errors)?;
        states("receipts.states", &self.receipts.states)?;
        for prefix in &self.prefixes {
            let name = format!("prefixes {:?}", prefix.prefix);
            if prefix.digits().is_empty() {
                return Err(format!("{name}: has no digits"));
            }
            mix(&name, prefix.errors.as_deref().unwrap_or_default())?;
            states(&name, prefix.states.as_deref().unwrap_or_default())?;
            share(&name, prefix.silence.unwrap_or(0.0))?;
        }
        self.people.as_ref().map_or(Ok(()), Habits::check)
    }

    fn check_shares(&self) -> Result<(), String> {
        let own = [
            ("slow", self.slow),
            ("silence", self.silence),
            ("silence_accepts", self.silence_accepts),
            ("disconnect", self.disconnect),
            ("rate_tolerance", self.rate_tolerance),
            ("throttled", self.throttled),
            ("inbound.shuffled", self.inbound.shuffled),
        ];
        let replies = self.replies.iter().map(|reply| ("replies.share", reply.share));
        let all = own.into_iter().chain(self.receipts.shares()).chain(self.answers.shares()).chain(replies);
        all.into_iter().try_for_each(|(name, value)| share(name, value))
    }

    fn check_limits(&self) -> Result<(), String> {
        let rates = self.accounts.iter().map(|login| ("accounts.rate", login.rate));
        for (name, rate) in [("rate", self.rate)].into_iter().chain(rates) {
            if !(rate >= 0.0 && rate.is_finite()) {
                return Err(format!("{name}: {rate} is not a number of messages per second"));
            }
        }
        if !(1..=DELIVER_WINDOW_MAX).contains(&self.deliver_window) {
            return Err(format!(
                "deliver_window: {} is not between 1 and {DELIVER_WINDOW_MAX}",
                self.deliver_window
            ));
        }
        for (name, kept) in [("keep", self.keep), ("capture_keep", self.capture_keep)] {
            if kept > KEEP_MAX {
                return Err(format!("{name}: {kept} is over the limit of {KEEP_MAX}"));
            }
        }
        let own = [("system_id", &self.system_id)];
        let logins = self.accounts.iter().map(|login| ("accounts.system_id", &login.system_id));
        for (name, system_id) in own.into_iter().chain(logins) {
            if system_id.len() > 15 {
                return Err(format!("{name}: more than 15 octets"));
            }
        }
        Ok(())
    }

    fn check_inbound(&self) -> Result<(), String> {
        let inbound = &self.inbound;
        if !(0.0..=RATE_MAX).contains(&inbound.rate) {
            return Err(format!("inbound.rate: {} is not between 0 and {RATE_MAX} a second", inbound.rate));
        }
        for (name, list) in [("from", &inbound.from), ("to", &inbound.to), ("texts", &inbound.texts)] {
            if list.is_empty() {
                return Err(format!("inbound.{name}: is empty"));
            }
        }
        Ok(())
    }
}

fn share(name: &str, share: f64) -> Result<(), String> {
    if (0.0..=1.0).contains(&share) {
        return Ok(());
    }
    Err(format!("{name}: a share of {share} is not between 0 and 1"))
}

/// An error mix with its statuses read.
pub(super) fn mix(name: &str, errors: &[ErrorShare]) -> Result<Vec<(Status, f64)>, String> {
    let mut mix = Vec::with_capacity(errors.len());
    for error in errors {
        let status = status(&error.status)
            .ok_or_else(|| format!("{name}: {:?} is no command_status that refuses", error.status))?;
        mix.push((status, error.share));
    }
    add_up(name, mix.iter().map(|(_, share)| *share))?;
    Ok(mix)
}

fn states(name: &str, states: &[StateShare]) -> Result<(), String> {
    add_up(name, states.iter().map(|state| state.share))
}

fn add_up(name: &str, mut shares: impl Iterator<Item = f64>) -> Result<(), String> {
    let sum = shares.try_fold(0.0, |sum, share| (0.0..=1.0).contains(&share).then_some(sum + share));
    match sum {
        Some(sum) if sum <= 1.0 + 1e-9 => Ok(()),
        _ => Err(format!("{name}: shares are from 0 to 1 and add up to 1 at most")),
    }
}

/// A `command_status` by name (with or without `ESME_`) or number; nothing for 0 and for what is neither.
fn status(text: &str) -> Option<Status> {
    let name = text.strip_prefix("ESME_").unwrap_or(text);
    let by_name = Status::ALL.iter().copied().find(|status| status.name() == Some(name));
    let by_number = || match name.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => name.parse().ok(),
    };
    by_name.or_else(|| by_number().map(Status)).filter(|status| !status.is_ok())
}
