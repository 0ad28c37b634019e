//! Scene of one moment: the options, with what follows from them.

use super::faults::Prefix;
use super::options::mix;
use super::receipts::{ReceiptStage, StateShare};
use super::traffic::PhoneReply;
use super::{Counting, SmscOptions};
use crate::chance::{Chance, Delay};
use regex::{Regex, RegexBuilder};
use smpp::status::Status;

/// Compiled expressions are no larger, each.
const REGEX_OCTETS_MAX: usize = 1 << 20;

/// The options, with what follows from them.
pub(super) struct Scene {
    pub(super) options: SmscOptions,
    pub(super) phase: String,
    refusals: Vec<(Status, f64)>,
    bind_refusals: Vec<(Status, f64)>,
    /// The longest first.
    prefixes: Vec<(Prefix, Vec<(Status, f64)>)>,
    replies: Vec<ScenarioRule>,
    /// Most accepted in a second.
    pub(super) limit: Option<u64>,
    /// Texts are looked at.
    pub(super) notes: bool,
    /// PDUs are captured.
    pub(super) captures: bool,
    /// Answers are written as they should be.
    pub(super) is_plain: bool,
}

struct ScenarioRule {
    reply: PhoneReply,
    keyword: Option<String>,
    regex: Option<Regex>,
}

impl Scene {
    pub(super) fn new(options: SmscOptions, phase: &str) -> Result<Self, String> {
        options.check()?;
        let limit =
            (options.rate > 0.0).then(|| (options.rate * (1.0 + options.rate_tolerance)).ceil() as u64);
        let captures = options.capture.is_some() || options.capture_keep > 0;
        let mut prefixes = Vec::with_capacity(options.prefixes.len());
        for prefix in &options.prefixes {
            prefixes.push((prefix.clone(), mix("prefixes", prefix.errors.as_deref().unwrap_or_default())?));
        }
        prefixes.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.digits().len()));
        Ok(Scene {
            phase: phase.to_owned(),
            refusals: mix("errors", &options.errors)?,
            bind_refusals: mix("bind_errors", &options.bind_errors)?,
            prefixes,
            replies: options.replies.iter().map(ScenarioRule::new).collect::<Result<_, _>>()?,
            limit,
            notes: options.count != Counting::Off || options.keep > 0,
            captures,
            is_plain: options.answers.are_plain() && !options.mute && !captures,
            options,
        })
    }

    /// The place of what is different for this number.
    pub(super) fn prefix(&self, number: &[u8]) -> Option<usize> {
        if self.prefixes.is_empty() {
            return None;
        }
        let digits = number.strip_prefix(b"+").unwrap_or(number);
        self.prefixes.iter().position(|(prefix, _)| digits.starts_with(prefix.digits().as_bytes()))
    }

    fn prefixed(&self, place: Option<usize>) -> Option<&Prefix> {
        place.and_then(|place| self.prefixes.get(place)).map(|(prefix, _)| prefix)
    }

    /// Whether a message is refused, and how.
    pub(super) fn refusal(&self, prefix: Option<usize>, chance: &mut Chance) -> Option<Status> {
        let own =
            prefix.and_then(|place| self.prefixes.get(place)).filter(|(prefix, _)| prefix.errors.is_some());
        drawn(own.map_or(&self.refusals, |(_, refusals)| refusals), chance)
    }

    pub(super) fn bind_refusal(&self, chance: &mut Chance) -> Option<Status> {
        drawn(&self.bind_refusals, chance)
    }

    pub(super) fn silence(&self, prefix: Option<usize>) -> f64 {
        self.prefixed(prefix).and_then(|prefix| prefix.silence).unwrap_or(self.options.silence)
    }

    pub(super) fn latency(&self, prefix: Option<usize>) -> Delay {
        self.prefixed(prefix).and_then(|prefix| prefix.latency).unwrap_or(self.options.latency)
    }

    pub(super) fn receipt_delay(&self, prefix: Option<usize>) -> Delay {
        self.prefixed(prefix).and_then(|prefix| prefix.receipt_delay).unwrap_or(self.options.receipts.delay)
    }

    /// What becomes of a message, and the error code its receipt tells.
    pub(super) fn state(&self, prefix: Option<usize>, chance: &mut Chance) -> (ReceiptStage, u8) {
        let own = self.prefixed(prefix).and_then(|prefix| prefix.states.as_ref());
        let states: &[StateShare] = own.unwrap_or(&self.options.receipts.states);
        if states.is_empty() {
            return (ReceiptStage::Delivered, 0);
        }
        let unit = chance.unit();
        let mut below = 0.0;
        let hit = states.iter().find(|state| {
            below += state.share;
            unit < below
        });
        hit.map_or((ReceiptStage::Delivered, 0), |hit| (hit.state, hit.error))
    }

    /// Whether texts are read to be answered.
    pub(super) fn replies(&self) -> bool {
        !self.replies.is_empty()
    }

    /// What a phone answers, and after how long.
    pub(super) fn reply(
        &self,
        sender: &str,
        number: &str,
        text: &str,
        chance: &mut Chance,
    ) -> Option<(String, u64)> {
        let digits = number.strip_prefix('+').unwrap_or(number);
        self.replies.iter().find_map(|rule| {
            let answer = rule.answer(sender, digits, text)?;
            let after = rule.reply.after;
            chance.hits(rule.reply.share).then(|| (answer, after.at(chance.unit()).as_micros() as u64))
        })
    }
}

impl ScenarioRule {
    fn new(reply: &PhoneReply) -> Result<Self, String> {
        let regex = match &reply.regex {
            Some(text) => Some(
                RegexBuilder::new(text)
                    .size_limit(REGEX_OCTETS_MAX)
                    .build()
                    .map_err(|error| format!("replies.regex: {error}"))?,
            ),
            None => None,
        };
        let keyword = reply.keyword.as_ref().map(|word| word.to_lowercase());
        Ok(ScenarioRule { reply: reply.clone(), keyword, regex })
    }

    /// The answer, if the message fits.
    fn answer(&self, sender: &str, digits: &str, text: &str) -> Option<String> {
        let PhoneReply { prefix, sender: wanted, answer, .. } = &self.reply;
        if prefix.as_deref().is_some_and(|p| !digits.starts_with(p.strip_prefix('+').unwrap_or(p)))
            || wanted.as_deref().is_some_and(|wanted| wanted != sender)
        {
            return None;
        }
        if let Some(keyword) = &self.keyword {
            let is_inside = |c: char| c.is_alphanumeric();
            let first = text.trim_start_matches(|c| !is_inside(c));
            let end = first.find(|c| !is_inside(c)).unwrap_or(first.len());
            if first[..end].to_lowercase() != *keyword {
                return None;
            }
        }
        match &self.regex {
            None => Some(answer.clone()),
            Some(regex) => {
                let mut expanded = String::new();
                regex.captures(text)?.expand(answer, &mut expanded);
                Some(expanded)
            }
        }
    }
}

fn drawn(mix: &[(Status, f64)], chance: &mut Chance) -> Option<Status> {
    if mix.is_empty() {
        return None;
    }
    let unit = chance.unit();
    let mut below = 0.0;
    let hit = mix.iter().find(|(_, share)| {
        below += share;
        unit < below
    });
    hit.map(|(status, _)| *status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_holds_and_a_number_without_one_is_as_the_rest() {
        let text = r#"
            errors = [{ status = "RSYSERR", share = 1.0 }]
            [[prefixes]]
            prefix = "+46"
            latency = "1s"
            [[prefixes]]
            prefix = "4670"
            errors = []
        "#;
        let scene = Scene::new(SmscOptions::from_toml(text).unwrap(), "").unwrap();
        let mut chance = Chance::new(1, 1);
        for (number, refusal, latency) in [
            ("46701", None, "0"),
            ("+46711", Some(Status::RSYSERR), "1s"),
            ("47711", Some(Status::RSYSERR), "0"),
        ] {
            let prefix = scene.prefix(number.as_bytes());
            assert_eq!(scene.refusal(prefix, &mut chance), refusal, "{number}");
            assert_eq!(scene.latency(prefix).to_string(), latency, "{number}");
        }
    }

    #[test]
    fn the_first_rule_that_fits_answers_with_what_its_expression_found() {
        let text = r#"
            [[replies]]
            keyword = "help"
            answer = "$5"
            [[replies]]
            regex = "(?i)answer (?<key>\\d)"
            prefix = "+4670"
            answer = "$key, says $$"
            [[replies]]
            sender = "71700"
            answer = "anything"
        "#;
        let scene = Scene::new(SmscOptions::from_toml(text).unwrap(), "").unwrap();
        let mut chance = Chance::new(1, 1);
        for (sender, number, text, answer) in [
            ("x", "+4670", " Help, please: answer 2", Some("$5")),
            ("x", "4670", "Fire! Answer 1 if you are safe", Some("1, says $")),
            ("x", "4671", "Fire! Answer 1 if you are safe", None),
            ("71700", "4671", "helpless", Some("anything")),
        ] {
            let found = scene.reply(sender, number, text, &mut chance).map(|(answer, _)| answer);
            assert_eq!(found.as_deref(), answer, "{text}");
        }
    }
}
