//! AlertAnswers holds the answers to an alert, the last of each delivery, and counts them by choice.

use records::{Answer, Timestamp};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// The key of answers that are no choice.
pub const OTHER: &str = "other";

/// See the module.
#[derive(Default)]
pub struct AlertAnswers {
    pub(super) list: Vec<Answer>,
    counts: BTreeMap<String, u64>,
    /// Places plus one of calls for help that somebody said are settled.
    settled: FxHashSet<u32>,
    /// With fewer answers of the choice that ends the alert it need not be looked whose they are.
    pub(super) look_again_at: u64,
}

impl AlertAnswers {
    pub fn list(&self) -> &[Answer] {
        &self.list
    }

    /// The answer at this place plus one; 0 is none.
    pub fn of(&self, place: u32) -> Option<&Answer> {
        (place as usize).checked_sub(1).and_then(|place| self.list.get(place))
    }

    /// By key of the choice.
    pub fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    /// Answers that call for help by one of these keys, and are not settled.
    pub fn open_calls(&self, needs_help: &[String]) -> u64 {
        let calls: u64 = needs_help.iter().filter_map(|key| self.counts.get(key)).sum();
        calls.saturating_sub(self.settled.len() as u64)
    }

    /// Somebody said at `at` that the call at this place (plus one) is settled. What was answered later is
    /// another call.
    pub(super) fn settle(&mut self, place: u32, needs_help: &[String], at: Timestamp) {
        let is_call = self.of(place).is_some_and(|answer| {
            answer.at <= at && answer.key.as_ref().is_some_and(|key| needs_help.contains(key))
        });
        if is_call {
            self.settled.insert(place);
        }
    }

    /// Puts an answer in the place of an earlier one (a place plus one; 0: there is none). Gives its place
    /// plus one; nothing if it is the same answer.
    pub fn put(&mut self, earlier: u32, answer: Answer) -> Option<u32> {
        let key = answer_key(&answer);
        let place = match (earlier as usize).checked_sub(1) {
            Some(place) if place < self.list.len() => {
                if self.list[place] == answer {
                    return None;
                }
                let old = answer_key(&self.list[place]);
                self.counts.entry(old).and_modify(|count| *count = count.saturating_sub(1));
                self.list[place] = answer;
                self.settled.remove(&earlier);
                self.look_again_at = 0;
                place
            }
            _ => {
                self.list.push(answer);
                self.list.len() - 1
            }
        };
        *self.counts.entry(key).or_default() += 1;
        Some(place as u32 + 1)
    }

    /// Takes the text out of the answer at this place.
    pub(super) fn forget_text(&mut self, place: usize) {
        if let Some(answer) = self.list.get_mut(place) {
            answer.text.clear();
        }
    }

    /// Counts answers that were loaded.
    pub(super) fn count_all(&mut self) {
        for answer in &self.list {
            *self.counts.entry(answer_key(answer)).or_default() += 1;
        }
    }
}

/// The heading an answer is counted under.
fn answer_key(answer: &Answer) -> String {
    answer.key.clone().unwrap_or_else(|| OTHER.to_owned())
}
