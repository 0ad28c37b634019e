//! AlertAnswers holds the answers to an alert, the last of each delivery, and counts them by choice.

use records::Answer;
use std::collections::BTreeMap;

/// See the module.
#[derive(Default)]
pub struct AlertAnswers {
    pub(super) list: Vec<Answer>,
    counts: BTreeMap<String, u64>,
}

impl AlertAnswers {
    pub fn list(&self) -> &[Answer] {
        &self.list
    }

    /// By key of the choice.
    pub fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
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
    answer.key.clone().unwrap_or_else(|| "other".to_owned())
}
