//! Traffic from phones, by scenario: answers to what they get, and messages of their own.

use super::deliver_sm::Inbound;
use super::{Shared, Smsc};
use crate::chance::{Chance, Delay};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// An answer to messages that fit. Rules are tried in their order; the first that fits and is drawn answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PhoneReply {
    /// The message's first word, whatever its case.
    pub keyword: Option<String>,
    /// A regular expression that the message holds.
    pub regex: Option<String>,
    /// The phone's number begins so.
    pub prefix: Option<String>,
    /// The message's sender is this.
    pub sender: Option<String>,
    /// What the phone writes; `$1` and `$name` are what the expression's groups held, `$$` is a dollar.
    pub answer: String,
    /// From the message's arrival (the moment of its receipt) to the answer.
    pub after: Delay,
    /// Share of the messages that fit.
    pub share: f64,
}

impl Default for PhoneReply {
    fn default() -> Self {
        PhoneReply {
            keyword: None,
            regex: None,
            prefix: None,
            sender: None,
            answer: String::new(),
            after: Delay::Between(Duration::from_secs(1), Duration::from_secs(5)),
            share: 1.0,
        }
    }
}

/// Messages that phones write of their own accord, while a receiving session is bound; and how long ones are
/// written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Traffic {
    /// Messages a second; 0: none.
    pub rate: f64,
    /// At even distances; otherwise as they come, exponential.
    pub steady: bool,
    /// At most so many, then silence; 0: any number.
    pub count: u64,
    /// From whom; each `#` is a digit of chance.
    pub from: Vec<String>,
    /// To which numbers.
    pub to: Vec<String>,
    /// One of these; `{n}` is the message's number. Long ones go in parts.
    pub texts: Vec<String>,
    /// To this account, bound or not; nothing: to those that are bound to receive, in turn.
    pub account: Option<String>,
    /// How long messages and replies are written.
    pub long: LongForm,
    /// Share of the long ones whose parts come in another order.
    pub shuffled: f64,
}

impl Default for Traffic {
    fn default() -> Self {
        Traffic {
            rate: 0.0,
            steady: false,
            count: 0,
            from: vec!["4670#######".to_owned()],
            to: vec!["71700".to_owned()],
            texts: vec!["1".to_owned(), "2".to_owned(), "Hello, number {n}".to_owned()],
            account: None,
            long: LongForm::Payload,
            shuffled: 0.0,
        }
    }
}

/// How a message that is too long for one is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LongForm {
    /// Whole, in `message_payload`.
    Payload,
    /// In parts with a user data header, reference of 8 bits.
    Udh8,
    /// In parts with a user data header, reference of 16 bits.
    Udh16,
    /// In parts with the `sar_` parameters.
    Sar,
}

impl std::str::FromStr for LongForm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "payload" => Ok(LongForm::Payload),
            "udh8" => Ok(LongForm::Udh8),
            "udh16" => Ok(LongForm::Udh16),
            "sar" => Ok(LongForm::Sar),
            _ => Err(format!("long: {text:?} is none of payload, udh8, udh16, sar")),
        }
    }
}

/// No second message comes sooner: the greatest rate is that of this.
pub(super) const RATE_MAX: f64 = 100_000.0;
/// Whether somebody is bound to receive is asked again after this.
const UNBOUND: Duration = Duration::from_millis(50);
/// Bits that tell the stream of draws for traffic from those of sessions.
const TRAFFIC_SALT: u64 = 0x7472_6166_6669_6300;

/// Writes what phones write of their own accord, for ever.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut made = 0;
    let mut next_us = shared.clock.now_us();
    loop {
        let scene = shared.scene();
        let traffic = &scene.options.inbound;
        if traffic.rate == 0.0 || traffic.count > 0 && made >= traffic.count {
            shared.new_traffic.notified().await;
            next_us = shared.clock.now_us();
            continue;
        }
        let account = match &traffic.account {
            Some(name) => Some(shared.post.account(name.as_bytes())),
            None => shared.post.receiving(made),
        };
        let Some(account) = account else {
            tokio::time::sleep(UNBOUND).await;
            next_us = shared.clock.now_us();
            continue;
        };
        let mut chance = Chance::new(scene.options.seed ^ TRAFFIC_SALT, made);
        let pattern: &String = chance.pick(&traffic.from);
        let from = filled(pattern, &mut chance);
        let to: &String = chance.pick(&traffic.to);
        let text = chance.pick::<String>(&traffic.texts).replace("{n}", &(made + 1).to_string());
        let is_shuffled = chance.hits(traffic.shuffled);
        let inbound = Inbound { from: &from, to, text: &text, long: traffic.long, is_shuffled };
        shared.send(&account, &inbound, made as u16);
        made += 1;
        let mean = 1.0 / traffic.rate;
        let gap = if traffic.steady { mean } else { mean * -(1.0 - chance.unit()).ln() };
        next_us += (gap * 1e6) as u64;
        tokio::time::sleep_until(shared.clock.instant(next_us)).await;
    }
}

/// Each `#` made a digit.
fn filled(pattern: &str, chance: &mut Chance) -> String {
    pattern.chars().map(|c| if c == '#' { char::from(b'0' + chance.below(10) as u8) } else { c }).collect()
}

/// A message from a phone, made by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    /// The phone.
    pub from: String,
    /// The number it wrote to.
    pub to: String,
    /// What it wrote.
    pub text: String,
    /// To this account, bound or not; nothing: to one that is bound to receive.
    pub account: Option<String>,
    /// How it is written if it is long; nothing: as the scenario says.
    pub long: Option<LongForm>,
}

impl Smsc {
    /// A phone writes. Returns in how many parts.
    ///
    /// # Errors
    /// No account is named and none is bound to receive, or the message cannot be written.
    pub fn inject(&self, injection: &Injection) -> Result<usize, String> {
        self.shared.inject(injection)
    }
}

impl Shared {
    pub(super) fn inject(&self, injection: &Injection) -> Result<usize, String> {
        let number = self.injected.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let account = match &injection.account {
            Some(name) => self.post.account(name.as_bytes()),
            None => self.post.receiving(number).ok_or("no account is bound to receive: name one")?,
        };
        let long = injection.long.unwrap_or(self.scene().options.inbound.long);
        let Injection { from, to, text, .. } = injection;
        let inbound = Inbound { from, to, text, long, is_shuffled: false };
        match self.send(&account, &inbound, number as u16) {
            0 => Err("text: cannot be written in 255 parts, or an address is longer than 20".to_owned()),
            parts => Ok(parts),
        }
    }

    /// Returns how many parts it made.
    fn send(
        &self,
        account: &Arc<super::delivery_queue::QueueAccount>,
        inbound: &Inbound<'_>,
        reference: u16,
    ) -> usize {
        let now_us = self.clock.now_us();
        let pdus = super::deliver_sm::inbound(inbound, reference);
        let parts = pdus.len();
        let mut letters = pdus.into_iter().map(|pdu| (now_us, account.letter(pdu))).collect();
        self.post.count_made(0, parts as u64);
        self.post.mail(&mut letters);
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crosses_become_digits_and_nothing_else_changes() {
        let mut chance = Chance::new(1, 1);
        let number = filled("+4670##", &mut chance);
        assert!(number.starts_with("+4670") && number.len() == 7, "{number}");
        assert!(number[1..].bytes().all(|digit| digit.is_ascii_digit()));
        assert_eq!(filled("71700", &mut chance), "71700");
    }
}
