//! Alerts of a short time ago that told many of the same people nearly the same: a sign that somebody else
//! has sent it already.
//!
//! Audiences are compared by a sample of their people, those with the smallest hashes, so that an audience of
//! a million costs no more memory than one of a thousand.

use super::actor::store_error;
use crate::api::{EngineError, Parts};
use crate::forecast::SimilarAlert;
use crate::inbound_text::folded;
use records::{
    Alert, AlertNo, AlertRequest, ChannelTexts, EndpointNo, ROSTER_BLOCK_ENDPOINTS, RosterBlock, RosterEntry,
};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use tokio::runtime::Handle;

/// Alerts are looked at that are no older, seconds.
const SINCE_S: i64 = 24 * 3_600;
/// Alerts read at once: each may name a hundred thousand addresses.
const ALERTS_AT_ONCE: usize = 5;
/// Alerts looked at.
const ALERTS_MAX: usize = 20;
/// Similar alerts that are told.
const FOUND_MAX: usize = 3;
/// People of a sample.
const SAMPLE_MAX: usize = 2_048;
/// Blocks of an earlier roster that are read; of a longer one every second, third, … block.
const BLOCKS_MAX: u32 = 200;
/// Words of an alert's texts that are compared.
const WORDS_MAX: usize = 2_000;
/// Of a hundred pairs of words at least so many are in both texts.
const SAME_WORDS_PERCENT: usize = 80;
/// Of a hundred people at least so many got the earlier one.
const SAME_PEOPLE_PERCENT: u8 = 50;

/// People of an audience: those with the smallest hashes, each once.
#[derive(Debug, Default)]
pub(super) struct PeopleSample(BTreeSet<u64>);

impl PeopleSample {
    /// Takes the people of a block in.
    pub(super) fn take(&mut self, block: &RosterBlock) {
        block.entries.iter().for_each(|entry| each_person(entry, |hash| self.add(hash)));
    }

    fn add(&mut self, hash: u64) {
        if self.0.len() < SAMPLE_MAX {
            self.0.insert(hash);
        } else if self.0.last().is_some_and(|last| hash < *last) && self.0.insert(hash) {
            self.0.pop_last();
        }
    }
}

/// Hashes whoever is told by an endpoint: people, or its address where nobody is known behind it.
fn each_person(entry: &RosterEntry, mut take: impl FnMut(u64)) {
    if entry.excluded.is_some() {
        return;
    }
    for person in &entry.persons {
        let mut hasher = DefaultHasher::new();
        match person.recipient.as_str() {
            "" => (entry.channel.map(|channel| channel.0), &entry.address).hash(&mut hasher),
            recipient => recipient.hash(&mut hasher),
        }
        take(hasher.finish());
    }
}

/// The alerts of the last day in the same mode that are similar, the newest first. On the calling thread.
pub(super) fn similar_alerts(
    parts: &Parts,
    alert: &Alert,
    sample: &PeopleSample,
    runtime: &Handle,
) -> Result<Vec<SimilarAlert>, EngineError> {
    let (words, since) = (word_pairs(&alert.request), alert.created.plus_s(-SINCE_S));
    let (mut found, mut before, mut seen) = (Vec::new(), None, 0);
    if words.is_empty() || sample.0.is_empty() {
        return Ok(found);
    }
    while seen < ALERTS_MAX {
        let slice = runtime
            .block_on(parts.store.alerts_before(&alert.account, before, ALERTS_AT_ONCE))
            .map_err(store_error)?;
        for earlier in &slice {
            if earlier.created < since || found.len() == FOUND_MAX {
                return Ok(found);
            }
            let is_of_mode = earlier.request.mode == alert.request.mode;
            if !is_of_mode || !are_same(&words, &word_pairs(&earlier.request)) {
                continue;
            }
            let percent = overlap(parts, earlier.no, sample, runtime)?;
            if percent >= SAME_PEOPLE_PERCENT {
                found.push(SimilarAlert { id: earlier.id, created: earlier.created, percent });
            }
        }
        seen += slice.len();
        before = slice.last().map(|alert| alert.no);
        if slice.len() < ALERTS_AT_ONCE {
            break;
        }
    }
    Ok(found)
}

/// How many of a hundred people of the sample an earlier alert went to.
fn overlap(parts: &Parts, no: AlertNo, sample: &PeopleSample, runtime: &Handle) -> Result<u8, EngineError> {
    let endpoints = runtime.block_on(parts.store.roster_len(no)).map_err(store_error)?;
    let blocks = endpoints.div_ceil(ROSTER_BLOCK_ENDPOINTS as u32);
    let step = blocks.div_ceil(BLOCKS_MAX).max(1);
    let (mut both, mut read) = (FxHashSet::default(), 0_u64);
    for block in (0..blocks).step_by(step as usize) {
        let first = EndpointNo(block * ROSTER_BLOCK_ENDPOINTS as u32);
        let Some(block) = parts.store.roster_block(no, first).map_err(store_error)? else { continue };
        read += 1;
        let mut keep = |hash| {
            if sample.0.contains(&hash) {
                both.insert(hash);
            }
        };
        block.entries.iter().for_each(|entry| each_person(entry, &mut keep));
    }
    if read == 0 {
        return Ok(0);
    }
    let estimated = both.len() as u64 * u64::from(blocks) / read;
    Ok((estimated * 100 / sample.0.len() as u64).min(100) as u8)
}

/// Hashes of the pairs of words that follow each other in the texts; of one word alone, its own.
fn word_pairs(request: &AlertRequest) -> FxHashSet<u64> {
    let languages = std::iter::once(&request.texts.default).chain(request.texts.languages.values());
    let of_channels = |texts: &'_ ChannelTexts| -> Vec<String> {
        let own = texts.own.values().flat_map(|own| own.text.iter().chain(&own.subject));
        texts.headline.iter().chain(&texts.text).chain(own).cloned().collect()
    };
    let texts = request.headline.iter().chain(&request.text).cloned();
    let texts = texts.chain(languages.flat_map(of_channels));
    let (mut pairs, mut before, mut count) = (FxHashSet::default(), None, 0);
    for text in texts {
        for word in folded(&text).split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let word = hash_of(&word);
            pairs.insert(hash_of(&(before, word)));
            before = Some(word);
            count += 1;
            if count == WORDS_MAX {
                return pairs;
            }
        }
    }
    pairs
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn are_same(one: &FxHashSet<u64>, other: &FxHashSet<u64>) -> bool {
    let both = one.intersection(other).count();
    let either = one.len() + other.len() - both;
    either > 0 && both * 100 >= either * SAME_WORDS_PERCENT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn texts_are_the_same_whatever_their_case_and_points_and_differ_by_a_few_words() {
        let pairs = |text: &str| word_pairs(&testing::request(text));
        let text = "Fire in hall 2. Leave the building by the north stairs and wait at the gate of the yard.";
        for (other, expected) in [
            (text.to_uppercase(), true),
            (text.replace('.', " !"), true),
            (text.replace("hall 2", "hall 3"), true),
            (text.replace("north stairs and wait at the gate", "south stairs; go home"), false),
            ("Fire".to_owned(), false),
        ] {
            assert_eq!(are_same(&pairs(text), &pairs(&other)), expected, "{other}");
        }
        assert!(pairs("…").is_empty());
    }

    #[test]
    fn a_sample_keeps_the_smallest_hashes_each_once() {
        let mut sample = PeopleSample::default();
        for hash in (0..3 * SAMPLE_MAX as u64).rev().chain(0..10) {
            sample.add(hash);
        }
        assert_eq!(sample.0.len(), SAMPLE_MAX);
        assert_eq!((sample.0.first(), sample.0.last()), (Some(&0), Some(&(SAMPLE_MAX as u64 - 1))));
    }
}
