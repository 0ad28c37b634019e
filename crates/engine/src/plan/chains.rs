//! Devices in an order: which endpoint of a person comes after which, and who still needs it.

use records::{DeliveryState, EndpointNo, Reason, RosterBlock, Strategy};
use rustc_hash::FxHashMap;

/// What becomes of an endpoint that waited for an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// It is its turn.
    Activate(EndpointNo),
    /// Nobody behind it needs it any more.
    NotNeeded(EndpointNo),
}

/// Where an endpoint stands, as far as an order is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceState {
    /// Its state.
    pub state: DeliveryState,
    /// Why.
    pub reason: Reason,
    /// Its route tells what became of a message.
    pub receipts: bool,
}

/// The orders of one alert. Only alerts with a strategy other than `all` have them.
#[derive(Debug, Default)]
pub struct Chains {
    persons: Vec<Chain>,
    behind: FxHashMap<u32, Vec<u32>>,
}

#[derive(Debug)]
struct Chain {
    strategy: Strategy,
    endpoints: Vec<u32>,
}

impl Chains {
    /// From the whole roster; `strategy` tells each rule's.
    pub fn new<'a>(
        blocks: impl Iterator<Item = &'a RosterBlock>,
        strategy: impl Fn(u32) -> Strategy,
    ) -> Chains {
        let mut by_person: FxHashMap<(&str, u32), Vec<(u8, u32)>> = FxHashMap::default();
        for block in blocks {
            for (i, entry) in block.entries.iter().enumerate() {
                if entry.excluded.is_some() || strategy(entry.rule) == Strategy::All {
                    continue;
                }
                for person in entry.persons.iter().filter(|person| !person.recipient.is_empty()) {
                    let endpoint = block.first.0 + i as u32;
                    by_person
                        .entry((&person.recipient, entry.rule))
                        .or_default()
                        .push((person.step, endpoint));
                }
            }
        }
        let mut chains = Chains::default();
        let mut people: Vec<_> = by_person.into_iter().collect();
        people.sort_unstable_by_key(|(key, _)| *key);
        for ((_, rule), mut steps) in people {
            steps.sort_unstable();
            let endpoints: Vec<u32> = steps.into_iter().map(|(_, endpoint)| endpoint).collect();
            for &endpoint in &endpoints {
                chains.behind.entry(endpoint).or_default().push(chains.persons.len() as u32);
            }
            chains.persons.push(Chain { strategy: strategy(rule), endpoints });
        }
        chains
    }

    /// Must this endpoint wait for an earlier one? Not if it is anybody's first.
    pub fn waits(&self, endpoint: EndpointNo) -> bool {
        let mut people = self.people(endpoint).peekable();
        people.peek().is_some() && people.all(|chain| chain.endpoints.first() != Some(&endpoint.0))
    }

    /// The strategies under which this endpoint has a successor.
    pub fn strategies(&self, endpoint: EndpointNo) -> impl Iterator<Item = Strategy> + '_ {
        self.people(endpoint)
            .filter(move |chain| chain.endpoints.last() != Some(&endpoint.0))
            .map(|chain| chain.strategy)
    }

    /// An endpoint failed, or its time to be heard of ran out: who is next, for each person behind it?
    pub fn next(&self, endpoint: EndpointNo, standing: impl Fn(EndpointNo) -> DeviceState) -> Vec<Move> {
        let mut moves = Vec::new();
        for chain in self.people(endpoint) {
            if chain.satisfied(&standing) {
                continue;
            }
            // One that is already on its way has been called for before: after a start nobody is called
            // twice.
            let over = |at: EndpointNo| {
                matches!(standing(at).state, DeliveryState::Failed | DeliveryState::Excluded)
            };
            let after = chain.endpoints.iter().skip_while(|&&at| at != endpoint.0).skip(1);
            let next = after.map(|&at| EndpointNo(at)).find(|&at| !over(at));
            if let Some(next) = next.filter(|&at| waiting(standing(at))) {
                push(&mut moves, Move::Activate(next));
            }
        }
        moves
    }

    /// An endpoint reached its person: which later ones does nobody need any more?
    pub fn spared(&self, endpoint: EndpointNo, standing: impl Fn(EndpointNo) -> DeviceState) -> Vec<Move> {
        let mut moves = Vec::new();
        for chain in self.people(endpoint).filter(|chain| chain.satisfied(&standing)) {
            let spare = |at: &EndpointNo| may_be_spared(standing(*at));
            for later in chain.endpoints.iter().map(|&at| EndpointNo(at)).filter(spare) {
                if self.people(later).all(|other| other.satisfied(&standing)) {
                    push(&mut moves, Move::NotNeeded(later));
                }
            }
        }
        moves
    }

    fn people(&self, endpoint: EndpointNo) -> impl Iterator<Item = &Chain> {
        let behind = self.behind.get(&endpoint.0).map_or(&[][..], |list| list);
        behind.iter().filter_map(|&person| self.persons.get(person as usize))
    }
}

impl Chain {
    fn satisfied(&self, standing: &impl Fn(EndpointNo) -> DeviceState) -> bool {
        self.endpoints.iter().any(|&at| satisfies(self.strategy, standing(EndpointNo(at))))
    }
}

/// Is a person of this strategy reached by an endpoint that stands so?
pub fn satisfies(strategy: Strategy, at: DeviceState) -> bool {
    match (strategy, at.state) {
        (_, DeliveryState::Answered) => true,
        (Strategy::FirstReachable, DeliveryState::Delivered) => true,
        // A route without receipts will never say more than this.
        (Strategy::FirstReachable, DeliveryState::Accepted) => !at.receipts,
        _ => false,
    }
}

fn waiting(at: DeviceState) -> bool {
    at.state == DeliveryState::Held && at.reason == Reason::EarlierDevice
}

/// It waits for its turn, or for somebody to come while a later device was called for.
fn may_be_spared(at: DeviceState) -> bool {
    waiting(at) || at.state == DeliveryState::Held && at.reason == Reason::RetryDue
}

fn push(moves: &mut Vec<Move>, a: Move) {
    if !moves.contains(&a) {
        moves.push(a);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::{Person, RosterEntry};

    fn entry(people: &[(&str, u8)]) -> RosterEntry {
        let person = |&(id, step): &(&str, u8)| Person { recipient: id.into(), name: String::new(), step };
        RosterEntry {
            channel: Some(channels::SMS),
            address: "+1".into(),
            persons: people.iter().map(person).collect(),
            language: None,
            values: Vec::new(),
            not_before: None,
            expires: None,
            rule: 0,
            excluded: None,
            message: None,
        }
    }

    /// Anna: 0, 1. Bo: 2, 1 (they share endpoint 1).
    fn chains(strategy: Strategy) -> Chains {
        let entries = vec![entry(&[("anna", 0)]), entry(&[("anna", 1), ("bo", 1)]), entry(&[("bo", 0)])];
        let block = RosterBlock { entries, ..RosterBlock::default() };
        Chains::new(std::iter::once(&block), |_| strategy)
    }

    fn standing(states: [DeliveryState; 3]) -> impl Fn(EndpointNo) -> DeviceState {
        move |at| {
            let state = states[at.0 as usize];
            let reason = if state == DeliveryState::Held { Reason::EarlierDevice } else { Reason::None };
            DeviceState { state, reason, receipts: true }
        }
    }

    use DeliveryState::{Accepted, Answered, Delivered, Failed, Held};

    #[test]
    fn later_devices_wait_and_first_ones_do_not() {
        let chains = chains(Strategy::FirstReachable);
        assert_eq!([0, 1, 2].map(|at| chains.waits(EndpointNo(at))), [false, true, false]);
    }

    #[test]
    fn a_failure_calls_the_persons_next_device() {
        let moves = chains(Strategy::FirstReachable).next(EndpointNo(0), standing([Failed, Held, Accepted]));
        assert_eq!(moves, [Move::Activate(EndpointNo(1))]);
    }

    #[test]
    fn a_device_that_was_called_for_is_not_passed_over() {
        let chains = chains(Strategy::FirstReachable);
        assert_eq!(chains.next(EndpointNo(0), standing([Failed, Accepted, Held])), []);
    }

    #[test]
    fn a_shared_device_is_spared_only_when_nobody_behind_it_needs_it() {
        let chains = chains(Strategy::FirstReachable);
        assert_eq!(chains.spared(EndpointNo(0), standing([Delivered, Held, Accepted])), []);
        let moves = chains.spared(EndpointNo(0), standing([Delivered, Held, Delivered]));
        assert_eq!(moves, [Move::NotNeeded(EndpointNo(1))]);
    }

    #[test]
    fn escalation_ends_with_an_answer_and_not_with_a_receipt() {
        let chains = chains(Strategy::EscalateAfter { seconds: 60 });
        let next = chains.next(EndpointNo(0), standing([Delivered, Held, Answered]));
        assert_eq!(next, [Move::Activate(EndpointNo(1))]);
        assert_eq!(chains.next(EndpointNo(2), standing([Delivered, Held, Answered])), []);
    }

    #[test]
    fn without_receipts_acceptance_is_all_that_will_be_known() {
        let at = DeviceState { state: Accepted, reason: Reason::None, receipts: false };
        assert!(satisfies(Strategy::FirstReachable, at));
        assert!(!satisfies(Strategy::FirstReachable, DeviceState { receipts: true, ..at }));
    }
}
