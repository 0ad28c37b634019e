//! Claims of segments and their progress, from the topic of outcomes, record by record. Knows no bus and no
//! clock.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use records::{AlertNo, AttemptRef, AttemptResult, Claim, EndpointNo, Intent, Lane, Outcome, Segment};
use rustc_hash::FxHashMap;

use super::segment_lease::SegmentLease;
use crate::journal::recovery::{PartSet, SegmentProgress};

/// A segment: its route, lane, and index.
pub(crate) type SegmentKey = (Arc<str>, Lane, u64);

/// An attempt.
type Key = (AlertNo, EndpointNo, u8);

/// What is known of all segments that were begun and are not over.
#[derive(Debug)]
pub(crate) struct Claims {
    /// Our name.
    node: String,
    /// From which record on it knows everything.
    pub(crate) began: u64,
    names: HashMap<String, Arc<str>>,
    accounts: FxHashMap<SegmentKey, SegmentAccount>,
    /// Intended, and not yet seen to be over.
    open: FxHashMap<Key, (SegmentKey, u32)>,
    over: HashMap<(Arc<str>, Lane), Ranges>,
    /// What we claimed, or are about to.
    tenures: FxHashMap<SegmentKey, Arc<SegmentLease>>,
    /// Intended by the record that is being taken in, behind another's claim.
    void: FxHashMap<Key, (SegmentKey, u32)>,
}

#[derive(Debug, Default)]
struct SegmentAccount {
    /// Who claimed it last, and by which record.
    owner: Option<(String, u64)>,
    /// How often it was claimed.
    claims: u32,
    /// Entries, once somebody has said how many.
    entries: Option<u32>,
    intended_to: u32,
    unresolved: BTreeMap<u32, PartSet>,
    /// Said to be not tried by a process that did not know yet that it had lost the segment, before the owner
    /// came to them: they are planned again, so that the owner passes them over.
    given_back: BTreeSet<u32>,
}

/// Whose a segment is after our claim.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// Ours, to go on from here.
    Ours(SegmentProgress),
    /// All of it is over: it is only to be acknowledged.
    Over,
    /// Another has claimed it since.
    Lost,
}

impl Claims {
    pub(crate) fn new(node: &str, began: u64) -> Claims {
        Claims {
            node: node.to_owned(),
            began,
            names: HashMap::new(),
            accounts: FxHashMap::default(),
            open: FxHashMap::default(),
            over: HashMap::new(),
            tenures: FxHashMap::default(),
            void: FxHashMap::default(),
        }
    }

    /// Our name.
    pub(crate) fn node(&self) -> &str {
        &self.node
    }

    /// A segment's place; each route's name is kept once.
    pub(crate) fn place(&mut self, route: &str, lane: Lane, index: u64) -> SegmentKey {
        if let Some(name) = self.names.get(route) {
            return (Arc::clone(name), lane, index);
        }
        let name: Arc<str> = Arc::from(route);
        self.names.insert(route.to_owned(), Arc::clone(&name));
        (name, lane, index)
    }

    /// We are about to claim it.
    pub(crate) fn expect(&mut self, place: SegmentKey, segment_lease: Arc<SegmentLease>) {
        self.tenures.insert(place, segment_lease);
    }

    /// We have nothing to do with it any more.
    pub(crate) fn let_go(&mut self, place: &SegmentKey) {
        self.tenures.remove(place);
    }

    /// Takes a record in.
    pub(crate) fn see(&mut self, index: u64, outcomes: &[Outcome]) {
        let mut by = None;
        for outcome in outcomes {
            match outcome {
                Outcome::By { node } => by = Some(node.as_str()),
                Outcome::Claim(claim) => self.claimed(index, claim),
                Outcome::Intent(intent) => self.intended(intent, by),
                Outcome::Attempt { of, result, .. } => self.ended(of, result),
                Outcome::Receipt(_)
                | Outcome::CarrierReceipt(_)
                | Outcome::Inbound(_)
                | Outcome::Reply(_)
                | Outcome::Unproven(_)
                | Outcome::Answer { .. } => {}
            }
        }
        self.void.clear();
    }

    /// Places of a segment that its owner passes over. See [`SegmentAccount::given_back`].
    pub(crate) fn given_back(&self, place: &SegmentKey) -> BTreeSet<u32> {
        self.accounts.get(place).map_or_else(BTreeSet::new, |account| account.given_back.clone())
    }

    /// Whether somebody claimed a segment of ours before we did, as far as was read. What was made before
    /// that may have been.
    pub(crate) fn was_claimed(&self, place: &SegmentKey, outcomes_from: u64) -> bool {
        outcomes_from < self.began || self.accounts.get(place).is_some_and(|account| account.claims > 1)
    }

    /// More of them, that were read elsewhere.
    pub(crate) fn give_back(&mut self, place: &SegmentKey, places: BTreeSet<u32>) {
        if let Some(account) = self.accounts.get_mut(place) {
            account.given_back.extend(places);
        }
    }

    /// What our claim by this record came to.
    pub(crate) fn settle(&self, place: &SegmentKey, record: u64) -> Claimed {
        if self.is_over(place) {
            return Claimed::Over;
        }
        match self.accounts.get(place) {
            Some(account)
                if account.owner.as_ref().is_some_and(|(node, at)| *node == self.node && *at == record) =>
            {
                Claimed::Ours(account.progress())
            }
            _ => Claimed::Lost,
        }
    }

    /// What was said of it before may be gone: all of it counts as intended.
    pub(crate) fn presume_written(&mut self, place: &SegmentKey, segment: &Segment) {
        let account = self.accounts.entry(place.clone()).or_default();
        account.intended_to = segment.entries.len() as u32;
        for (at, entry) in segment.entries.iter().enumerate() {
            account.unresolved.insert(at as u32, PartSet::default());
            self.open.insert((segment.alert, entry.endpoint, entry.attempt), (place.clone(), at as u32));
        }
    }

    fn is_over(&self, place: &SegmentKey) -> bool {
        let (route, lane, index) = place;
        self.over.get(&(Arc::clone(route), *lane)).is_some_and(|over| over.has(*index))
    }

    fn claimed(&mut self, index: u64, claim: &Claim) {
        let place = self.place(&claim.route, claim.lane, claim.segment);
        let ours = claim.node == self.node;
        match self.tenures.get(&place) {
            Some(segment_lease) if ours => segment_lease.begin(),
            Some(segment_lease) => segment_lease.claimed_by_another(),
            None => {}
        }
        if self.is_over(&place) {
            return;
        }
        let account = self.accounts.entry(place.clone()).or_default();
        account.owner = Some((claim.node.clone(), index));
        account.claims += 1;
        account.entries = Some(claim.entries);
        self.close_if_over(&place);
    }

    fn intended(&mut self, intent: &Intent, by: Option<&str>) {
        let place = self.place(&intent.route, intent.lane, intent.segment);
        if self.is_over(&place) {
            return;
        }
        let account = self.accounts.entry(place.clone()).or_default();
        // Behind another's claim it is void: who said it has seen that too, and wrote nothing.
        if let (Some((owner, _)), Some(by)) = (&account.owner, by)
            && owner != by
        {
            let open = intent.from.max(account.intended_to);
            let places = (intent.from..).zip(&intent.attempts).filter(|(at, _)| *at >= open);
            self.void.extend(
                places.map(|(at, &(endpoint, attempt))| {
                    ((intent.alert, endpoint, attempt), (place.clone(), at))
                }),
            );
            return;
        }
        let to = intent.from + intent.attempts.len() as u32;
        account.intended_to = account.intended_to.max(to);
        for (at, (endpoint, attempt)) in (intent.from..to).zip(&intent.attempts) {
            account.unresolved.entry(at).or_default();
            self.open.insert((intent.alert, *endpoint, *attempt), (place.clone(), at));
        }
    }

    fn ended(&mut self, of: &AttemptRef, result: &AttemptResult) {
        let key = (of.alert, of.endpoint, of.attempt);
        if matches!(result, AttemptResult::NotTried { .. })
            && let Some((place, at)) = self.void.get(&key)
            && let Some(account) = self.accounts.get_mut(place)
        {
            account.given_back.insert(*at);
            return;
        }
        let Some((place, at)) = self.open.get(&key) else { return };
        let (place, at) = (place.clone(), *at);
        let Some(account) = self.accounts.get_mut(&place) else {
            self.open.remove(&key);
            return;
        };
        let over = match account.unresolved.get_mut(&at) {
            Some(seen) => {
                seen.add(of.part);
                seen.has_all(of.parts)
            }
            None => true,
        };
        if over {
            account.unresolved.remove(&at);
            self.open.remove(&key);
            self.close_if_over(&place);
        }
    }

    fn close_if_over(&mut self, place: &SegmentKey) {
        let is_over = self.accounts.get(place).is_some_and(|account| {
            account.unresolved.is_empty()
                && account.entries.is_some_and(|entries| account.intended_to >= entries)
        });
        if is_over {
            self.accounts.remove(place);
            let (route, lane, index) = place;
            self.over.entry((Arc::clone(route), *lane)).or_default().add(*index);
        }
    }
}

impl SegmentAccount {
    fn progress(&self) -> SegmentProgress {
        let unresolved = self.unresolved.iter().map(|(at, seen)| (*at, *seen)).collect();
        SegmentProgress { intended_to: self.intended_to, unresolved }
    }
}

/// A set of numbers that are nearly all of them: by where its runs begin, and where each ends.
#[derive(Debug, Default)]
struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    fn has(&self, number: u64) -> bool {
        self.0.range(..=number).next_back().is_some_and(|(_, last)| number <= *last)
    }

    fn add(&mut self, number: u64) {
        if self.has(number) {
            return;
        }
        let mut from = number;
        if let Some((&first, &last)) = self.0.range(..number).next_back()
            && last.checked_add(1) == Some(number)
        {
            from = first;
        }
        let behind = number.checked_add(1).and_then(|next| self.0.remove(&next));
        self.0.insert(from, behind.unwrap_or(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_grow_together_in_whatever_order_their_numbers_come() {
        let mut numbers: Vec<u64> = (0..200).map(|number| number * 77 % 200).collect();
        numbers.push(u64::MAX);
        let mut ranges = Ranges::default();
        for (count, number) in numbers.iter().enumerate() {
            assert!(!ranges.has(*number));
            ranges.add(*number);
            ranges.add(*number);
            assert!(numbers[..=count].iter().all(|number| ranges.has(*number)));
        }
        assert_eq!(ranges.0, BTreeMap::from([(0, 199), (u64::MAX, u64::MAX)]));
        assert!(!ranges.has(200));
    }
}
