use crate::chance::Delay;
use crate::town::Habits;
use serde::{Deserialize, Serialize};
use smpp::status::Status;
use std::path::PathBuf;
use std::time::Duration;

/// What the SMSC is and does: a scenario. Every field has a default that gives a carrier without faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Where it listens; port 0 takes a free one.
    pub listen: String,
    /// Where its page and its JSON are; nothing: nowhere.
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
    /// Refusals that hit any message.
    pub errors: Vec<ErrorShare>,
    /// Share of the submissions that are never answered.
    pub silence: f64,
    /// Share of those that are accepted nevertheless.
    pub silence_accepts: f64,
    /// Cut the connection at every so many-th submission; 0: never.
    pub disconnect_every: u64,
    /// Cut the connection at this share of the submissions.
    pub disconnect: f64,
    /// Receipts.
    pub receipts: Receipts,
    /// How message ids are written.
    pub ids: IdForm,
    /// What people do with their messages; nothing: all arrive, nobody answers.
    pub people: Option<Habits>,
    /// `deliver_sm` without an answer on one session.
    pub deliver_window: usize,
    /// A `deliver_sm` without an answer for so long is sent again.
    pub deliver_timeout: Delay,
    /// What is counted to find repeats.
    pub count: Counting,
    /// So many of the last messages are kept to be looked at.
    pub keep: usize,
    /// One JSON line for each accepted message, appended here before its answer is written.
    pub capture: Option<PathBuf>,
    /// Decides whom the shares hit.
    pub seed: u64,
}

/// When receipts come, and what is wrong with them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Receipts {
    /// For which messages.
    pub on: ReceiptOn,
    /// From the acceptance to the receipt.
    pub delay: Delay,
    /// Share that comes after `late_delay` instead.
    pub late: f64,
    /// How late.
    pub late_delay: Delay,
    /// Share that comes twice.
    pub twice: f64,
    /// Share that comes before the answer to its submission.
    pub early: f64,
    /// How they are written.
    pub form: ReceiptForm,
}

/// For which messages receipts are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptOn {
    /// As `registered_delivery` asks.
    Requested,
    /// For each.
    Always,
    /// For none.
    Never,
}

/// How receipts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptForm {
    /// In the text (3.4 Appendix B) and in the optional parameters.
    Both,
    /// In the text alone.
    Text,
    /// In the optional parameters alone.
    Tlv,
}

/// How message ids are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdForm {
    /// 16 decimal digits.
    Decimal,
    /// Hexadecimal digits, lower case.
    Hex,
    /// A UUID's 36 characters.
    Uuid,
    /// Hexadecimal in the answer, decimal in the receipt.
    HexThenDecimal,
    /// Decimal in the answer, hexadecimal in the receipt.
    DecimalThenHex,
    /// Hexadecimal in the answer; in the receipt upper case, filled to 16 digits with zeros.
    HexThenPadded,
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

impl Default for Options {
    fn default() -> Self {
        Options {
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
            errors: Vec::new(),
            silence: 0.0,
            silence_accepts: 0.5,
            disconnect_every: 0,
            disconnect: 0.0,
            receipts: Receipts::default(),
            ids: IdForm::Decimal,
            people: None,
            deliver_window: 500,
            deliver_timeout: Delay::Fixed(Duration::from_secs(30)),
            count: Counting::Texts,
            keep: 1_000,
            capture: None,
            seed: 1,
        }
    }
}

impl Default for Receipts {
    fn default() -> Self {
        Receipts {
            on: ReceiptOn::Requested,
            delay: Delay::Fixed(Duration::from_millis(20)),
            late: 0.0,
            late_delay: Delay::Fixed(Duration::from_secs(30)),
            twice: 0.0,
            early: 0.0,
            form: ReceiptForm::Both,
        }
    }
}

/// A window of deliveries is at most so wide.
const DELIVER_WINDOW_MAX: usize = 10_000;
/// At most so many messages are kept.
const KEEP_MAX: usize = 10_000_000;

impl Options {
    /// Answers at once, sends nothing back, counts nothing but numbers of messages: what a load is measured against.
    pub fn sink() -> Self {
        let receipts = Receipts { on: ReceiptOn::Never, ..Receipts::default() };
        Options { receipts, count: Counting::Off, keep: 0, ..Options::default() }
    }

    /// Reads a scenario file.
    ///
    /// # Errors
    /// What is wrong with it, in words, with the line where there is one.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let options: Options = toml::from_str(text).map_err(|error| error.to_string())?;
        options.check()?;
        Ok(options)
    }

    /// Checks what a scenario may get wrong.
    ///
    /// # Errors
    /// The first field that cannot be, with its limit.
    pub fn check(&self) -> Result<(), String> {
        let receipts = &self.receipts;
        let shares = [
            ("slow", self.slow),
            ("silence", self.silence),
            ("silence_accepts", self.silence_accepts),
            ("disconnect", self.disconnect),
            ("rate_tolerance", self.rate_tolerance),
            ("receipts.late", receipts.late),
            ("receipts.twice", receipts.twice),
            ("receipts.early", receipts.early),
        ];
        if let Some((name, share)) = shares.iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            return Err(format!("{name}: a share of {share} is not between 0 and 1"));
        }
        if !(self.rate >= 0.0 && self.rate.is_finite()) {
            return Err(format!("rate: {} is not a number of messages per second", self.rate));
        }
        if !(1..=DELIVER_WINDOW_MAX).contains(&self.deliver_window) {
            return Err(format!(
                "deliver_window: {} is not between 1 and {DELIVER_WINDOW_MAX}",
                self.deliver_window
            ));
        }
        if self.keep > KEEP_MAX {
            return Err(format!("keep: {} is over the limit of {KEEP_MAX}", self.keep));
        }
        if self.system_id.len() > 15 {
            return Err("system_id: more than 15 octets".to_owned());
        }
        self.refusals()?;
        self.people.as_ref().map_or(Ok(()), Habits::check)
    }

    /// The error mix with its statuses read.
    pub(super) fn refusals(&self) -> Result<Vec<(Status, f64)>, String> {
        let mut sum = 0.0;
        let mut refusals = Vec::with_capacity(self.errors.len());
        for error in &self.errors {
            let status = status(&error.status)
                .ok_or_else(|| format!("errors: {:?} is no command_status that refuses", error.status))?;
            sum += error.share;
            refusals.push((status, error.share));
        }
        if self.errors.iter().any(|error| !(0.0..=1.0).contains(&error.share)) || sum > 1.0 + 1e-9 {
            return Err("errors: shares are from 0 to 1 and add up to 1 at most".to_owned());
        }
        Ok(refusals)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_reads_from_toml() {
        let text = r#"
            listen = "127.0.0.1:2776"
            latency = "1ms..20ms"
            rate = 5.0
            throttle = "queue_full"
            errors = [{status = "RSYSERR", share = 0.01}, {status = "0x400", share = 0.02}]
            ids = "hex_then_decimal"
            [receipts]
            delay = "500ms..3s"
            twice = 0.1
            [people]
            seed = 7
            sms = {refused = 0.0, answering = 1.0, lost = 0.0, unheard = 0.0, stopping = 0.0}
        "#;
        let options = Options::from_toml(text).unwrap();
        assert_eq!(options.throttle, Throttle::QueueFull);
        assert_eq!(options.refusals().unwrap(), [(Status::RSYSERR, 0.01), (Status(0x400), 0.02)]);
        assert_eq!(options.receipts.delay.to_string(), "500ms..3s");
        assert_eq!(options.people.map(|people| people.sms.answering), Some(1.0));
    }

    #[test]
    fn what_cannot_be_is_refused_by_field() {
        for (text, word) in [
            ("silence = 1.5", "silence"),
            ("rate = -1.0", "rate"),
            ("latency = \"soon\"", "latency"),
            ("deliver_window = 0", "deliver_window"),
            ("errors = [{status = \"ROK\", share = 0.1}]", "errors"),
            ("errors = [{status = \"RNOSUCH\", share = 0.1}]", "errors"),
            ("errors = [{status = \"8\", share = 0.7}, {status = \"9\", share = 0.7}]", "errors"),
            ("latencyy = \"1s\"", "latencyy"),
            ("people = {sms = {refused = 2.0}}", "habits.sms"),
            ("system_id = \"sixteen characters\"", "system_id"),
        ] {
            let error = Options::from_toml(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
