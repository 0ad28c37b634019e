//! Send queue of a route: segments in hand, entries that may be written, entries in flight. Decides what is
//! intended next; knows no clock, no bus and no task.
//!
//! The rule that bounds what a crash leaves unknown: `out`, the units intended and without a durable outcome,
//! is at most `slots`. Freed slots may be used by the very append that carries the outcomes that free them,
//! since it is there as a whole or not at all.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use records::{
    AttemptRef, AttemptResult, AttemptResultRef, Claim, Entry, Intent, Lane, NotTried, Outcome, Timestamp,
};

use super::leased_segment::{ChannelEncoder, Job, LeasedSegment, Pass};
use crate::cluster::SegmentLease;
use crate::journal::recovery::SegmentProgress;
use crate::journal::{OutcomeAppend, Pending, Tag};

/// What follows from an outcome once it is on disk.
#[derive(Debug)]
pub(super) struct Settled<P> {
    leased: Arc<LeasedSegment<P>>,
    units: u32,
    slots: u32,
}

impl<P> Tag for Settled<P> {
    fn join(&mut self, other: Settled<P>) -> Option<Settled<P>> {
        if !Arc::ptr_eq(&self.leased, &other.leased) {
            return Some(other);
        }
        self.units += other.units;
        self.slots += other.slots;
        None
    }
}

/// A segment of which entries are left.
struct HeldSegment<P> {
    leased: Arc<LeasedSegment<P>>,
    next: u32,
}

pub(super) struct SendQueue<P> {
    route: String,
    /// Our name, where other processes have segments of the route too: what is intended says whose it is.
    node: Option<String>,
    /// Segments to be claimed, and those whose claim is on its way.
    unclaimed: [Vec<Arc<LeasedSegment<P>>>; 2],
    /// Units that may be out at a time: sessions x window.
    slots: u32,
    /// Units that may be ready at a time: what is intended should be written soon.
    ahead: u32,
    /// The same before the slots bounded it.
    wanted_ahead: u32,
    pub(super) out: u32,
    /// By lane.
    ready_units: [u32; 3],
    hands: [VecDeque<HeldSegment<P>>; 3],
    ready: [VecDeque<Job<P>>; 3],
    /// What an earlier process perhaps wrote, and the far end knows.
    pub(super) questions: VecDeque<Job<P>>,
    /// Everything whose lease we have; where there are other processes, whether we still do.
    leased: BTreeMap<(Lane, u64), Option<Arc<SegmentLease>>>,
    /// Entries of segments that wait for money, by lane.
    unpaid: [usize; 3],
    done: Vec<Arc<LeasedSegment<P>>>,
    pub(super) pending: Pending<Settled<P>>,
}

/// What is intended by an append, ready once that is on disk.
#[derive(Debug)]
pub(super) struct Intended<P> {
    /// Among them that nothing is intended of an entry whose own end has come.
    pub(super) intents: Vec<Outcome>,
    /// Segments that are claimed by it.
    pub(super) claimed: Vec<Arc<LeasedSegment<P>>>,
    jobs: Vec<Job<P>>,
    over: Vec<Settled<P>>,
}

impl<P> Default for Intended<P> {
    fn default() -> Intended<P> {
        Intended { intents: Vec::new(), claimed: Vec::new(), jobs: Vec::new(), over: Vec::new() }
    }
}

/// Places that are passed over: a segment's lane and index, and the place there.
pub(super) type PassedOver = BTreeSet<(Lane, u64, u32)>;

impl<P> Intended<P> {
    /// The segments of which something is intended.
    pub(super) fn segments(&self) -> BTreeSet<(Lane, u64)> {
        self.jobs.iter().map(|job| (job.leased.lane(), job.leased.index)).collect()
    }

    /// The next entry in hand is not written: it is passed over, by the append that intends those before it,
    /// which says why if nobody has.
    fn passed_over(&mut self, route: &str, hand: &mut HeldSegment<P>, from: u32, now: Timestamp, why: Over) {
        // Other processes have to know how far the segment got.
        let to = hand.next + u32::from(hand.leased.segment_lease.is_some());
        if to > from {
            self.intents.push(intent(route, &hand.leased, from, to, now));
        }
        let job = Job { leased: Arc::clone(&hand.leased), place: hand.next, units: 1 };
        hand.next += 1;
        let Over::Now(result) = why else { return };
        job.leased.opened(1);
        self.intents.push(attempt(route, job.whole(), now, result));
        self.over.push(Settled { leased: job.leased, units: 1, slots: 0 });
    }
}

impl<P> SendQueue<P> {
    pub(super) fn new(route: &str, node: Option<&str>, slots: u32) -> SendQueue<P> {
        SendQueue {
            route: route.to_owned(),
            node: node.map(str::to_owned),
            unclaimed: Default::default(),
            slots: slots.max(1),
            ahead: slots.max(1),
            wanted_ahead: u32::MAX,
            out: 0,
            ready_units: [0; 3],
            hands: Default::default(),
            ready: Default::default(),
            questions: VecDeque::new(),
            leased: BTreeMap::new(),
            unpaid: [0; 3],
            done: Vec::new(),
            pending: Pending::default(),
        }
    }

    pub(super) fn set_ahead(&mut self, units: u32) {
        self.wanted_ahead = units;
        self.ahead = units.clamp(1, self.slots);
    }

    pub(super) fn set_slots(&mut self, slots: u32) {
        self.slots = slots.max(1);
        self.ahead = self.wanted_ahead.clamp(1, self.slots);
    }

    /// Something waits to be intended or written.
    pub(super) fn has_work(&self) -> bool {
        self.hands.iter().any(|hands| !hands.is_empty())
            || self.has_ready(Lane::Routine)
            || !self.questions.is_empty()
    }

    pub(super) fn ahead(&self) -> u32 {
        self.ahead
    }

    /// Units ready in a lane and in those before it: what comes by the lane waits for these only.
    fn ready_before(&self, lane: usize) -> u32 {
        self.ready_units[..=lane].iter().sum()
    }

    pub(super) fn has_ready(&self, up_to: Lane) -> bool {
        self.ready[..=up_to as usize].iter().any(|ready| !ready.is_empty())
    }

    pub(super) fn holds(&self, lane: Lane, index: u64) -> bool {
        self.leased.contains_key(&(lane, index))
    }

    pub(super) fn leased(&self) -> impl Iterator<Item = (Lane, u64, Option<&Arc<SegmentLease>>)> + '_ {
        self.leased.iter().map(|(&(lane, index), segment_lease)| (lane, index, segment_lease.as_ref()))
    }

    /// Entries in hand of a lane that are not intended yet.
    pub(super) fn left(&self, lane: Lane) -> usize {
        let left = |hand: &HeldSegment<P>| hand.leased.segment.entries.len() - hand.next as usize;
        let unclaimed = self.unclaimed.iter().flatten().filter(|leased| leased.lane() == lane);
        self.hands[lane as usize].iter().map(left).sum::<usize>()
            + unclaimed.map(|leased| leased.segment.entries.len()).sum::<usize>()
            + self.unpaid[lane as usize]
    }

    /// Every segment that may still be written, for a look at what the sender says now.
    pub(super) fn segments(&self) -> impl Iterator<Item = &Arc<LeasedSegment<P>>> {
        let hands = self.hands.iter().flatten().map(|hand| &hand.leased);
        hands.chain(self.ready.iter().flatten().map(|job| &job.leased))
    }

    /// A segment has to be paid for before it is admitted.
    pub(super) fn expect_money(&mut self, leased: &LeasedSegment<P>) {
        self.leased.insert((leased.lane(), leased.index), leased.segment_lease.clone());
        self.unpaid[leased.lane() as usize] += leased.segment.entries.len();
    }

    /// It is known what of it is paid for.
    pub(super) fn money_came(&mut self, leased: &LeasedSegment<P>) {
        self.unpaid[leased.lane() as usize] -= leased.segment.entries.len();
    }

    /// A segment has to be claimed before it is admitted.
    pub(super) fn expect(&mut self, leased: Arc<LeasedSegment<P>>) {
        self.leased.insert((leased.lane(), leased.index), leased.segment_lease.clone());
        self.unclaimed[0].push(leased);
    }

    /// There are segments to be claimed.
    pub(super) fn has_claims(&self) -> bool {
        !self.unclaimed[0].is_empty()
    }

    /// Claims what has to be claimed, by the append that is being made.
    pub(super) fn claim(&mut self, intended: &mut Intended<P>, now: Timestamp) {
        let Some(node) = &self.node else { return };
        for leased in &self.unclaimed[0] {
            intended.intents.push(Outcome::Claim(Claim {
                route: self.route.clone(),
                lane: leased.lane(),
                segment: leased.index,
                entries: leased.segment.entries.len() as u32,
                node: node.clone(),
                at: now,
            }));
        }
        let [to_claim, under_way] = &mut self.unclaimed;
        intended.claimed.extend(to_claim.iter().cloned());
        under_way.append(to_claim);
    }

    /// Claims are on record: each segment is admitted now, or let go of.
    pub(super) fn claims_end(&mut self) {
        self.unclaimed[1].clear();
    }

    /// A segment that was claimed is over, or another's.
    pub(super) fn pass_over(&mut self, leased: Arc<LeasedSegment<P>>, is_over: bool) {
        match is_over {
            true => self.done.push(leased),
            false => {
                self.leased.remove(&(leased.lane(), leased.index));
            }
        }
    }

    /// Takes a segment in, goes on where an earlier process stopped, and says what becomes of what that left
    /// open.
    pub(super) fn admit<C: ChannelEncoder<Prepared = P>>(
        &mut self,
        encoder: &C,
        leased: Arc<LeasedSegment<P>>,
        progress: &SegmentProgress,
        gave_back: impl Fn(&Entry) -> bool,
        now: Timestamp,
    ) {
        self.leased.insert((leased.lane(), leased.index), leased.segment_lease.clone());
        self.note_interrupted(encoder, &leased, progress, now);
        let entries = &leased.segment.entries;
        let mut next = progress.intended_to.min(entries.len() as u32);
        while entries.get(next as usize).is_some_and(&gave_back) {
            next += 1;
        }
        let lane = leased.lane() as usize;
        self.hands[lane].push_back(HeldSegment { leased, next });
        self.drop_finished_hands(lane);
    }

    /// Of what was intended and has no outcome nobody knows whether it was written. Where that does not
    /// matter it is planned again; where the far end knows it will be asked.
    fn note_interrupted<C: ChannelEncoder<Prepared = P>>(
        &mut self,
        encoder: &C,
        leased: &Arc<LeasedSegment<P>>,
        progress: &SegmentProgress,
        now: Timestamp,
    ) {
        for &(place, seen) in &progress.unresolved {
            let Some(entry) = leased.segment.entries.get(place as usize) else { continue };
            let units = encoder.units(&leased.segment, &leased.prepared, entry).max(1);
            let job = Job { leased: Arc::clone(leased), place, units };
            if let Some(why) = repeated(encoder, &job, now) {
                self.note_again(job.whole(), leased, now, AttemptResultRef::NotTried { why });
                continue;
            }
            if encoder.askable() {
                leased.opened(u32::from(units));
                self.questions.push_back(job);
                continue;
            }
            for part in (1..=units).filter(|part| !seen.has(*part)) {
                self.note_again(job.of(part), leased, now, AttemptResultRef::Unknown { text: LOST_IN_CRASH });
            }
        }
    }

    /// An outcome of what another process had begun: it has no slot here.
    fn note_again(
        &mut self,
        of: AttemptRef,
        leased: &Arc<LeasedSegment<P>>,
        now: Timestamp,
        result: AttemptResultRef<'_>,
    ) {
        leased.opened(1);
        let settled = Settled { leased: Arc::clone(leased), units: 1, slots: 0 };
        self.pending.note_attempt(of, &self.route, now, result, Some(settled));
    }

    /// Chooses what is written next, emergency first, entries in order. Slots are taken at once.
    pub(super) fn intend<C: ChannelEncoder<Prepared = P>>(
        &mut self,
        encoder: &C,
        now: Timestamp,
    ) -> Intended<P> {
        let mut intended = Intended::default();
        let mut chosen = 0;
        for lane in 0..Lane::ALL.len() {
            self.give_back_refused(lane, now);
            let mut ready = self.ready_before(lane) + chosen;
            while let Some(hand) = self.hands[lane].front_mut() {
                let mut from = hand.next;
                while let Some(entry) = hand.leased.segment.entries.get(hand.next as usize) {
                    if let Some(why) = over(&hand.leased, hand.next, entry, now) {
                        intended.passed_over(&self.route, hand, from, now, why);
                        from = hand.next;
                        continue;
                    }
                    let units = encoder.units(&hand.leased.segment, &hand.leased.prepared, entry).max(1);
                    let cost = u32::from(units);
                    // What is larger than the window goes alone; so does what is larger than the batch.
                    let fits_window = self.out + cost <= self.slots || self.out == 0;
                    let fits_batch = ready + cost <= self.ahead || ready == 0;
                    if !fits_window || !fits_batch {
                        break;
                    }
                    self.out += cost;
                    ready += cost;
                    chosen += cost;
                    hand.leased.opened(cost);
                    intended.jobs.push(Job { leased: Arc::clone(&hand.leased), place: hand.next, units });
                    hand.next += 1;
                }
                if hand.next > from {
                    intended.intents.push(intent(&self.route, &hand.leased, from, hand.next, now));
                }
                if (hand.next as usize) < hand.leased.segment.entries.len() {
                    return intended;
                }
                self.drop_finished_hands(lane);
            }
        }
        intended
    }

    /// Whether `intend` is worth an append of its own: half of what may be ready has been written.
    pub(super) fn wants_more(&self) -> bool {
        let room = self.out < self.slots || self.out == 0;
        let lane = self.hands.iter().position(|hands| !hands.is_empty());
        room && lane.is_some_and(|lane| self.ready_before(lane) <= self.ahead / 2)
    }

    /// The append with these intents is on disk. What another process gave back before it is not to be
    /// written.
    pub(super) fn clear(&mut self, intended: Intended<P>, given_back: &PassedOver, now: Timestamp) {
        self.settle(intended.over);
        for job in intended.jobs {
            if job.leased.is_lost() {
                // Another's claim came before: what was intended is void.
                self.forget(&job);
                continue;
            }
            if given_back.contains(&(job.leased.lane(), job.leased.index, job.place)) {
                self.give_back(&job, NotTried::Closing, now);
                continue;
            }
            let lane = job.leased.lane() as usize;
            self.ready_units[lane] += u32::from(job.units);
            self.ready[lane].push_back(job);
        }
    }

    /// The outcomes that these follow from are in the append that is being made: their slots can be used by
    /// it.
    pub(super) fn free(&mut self, settled: &[Settled<P>]) {
        self.out -= settled.iter().map(|settled| settled.slots).sum::<u32>();
    }

    /// That append is on disk.
    pub(super) fn settle(&mut self, settled: impl IntoIterator<Item = Settled<P>>) {
        for Settled { leased, units, .. } in settled {
            if leased.closed(units) {
                self.done.push(leased);
            }
        }
    }

    /// The next entry to write, of a lane and those before it. Those that may not be written any more are
    /// given back.
    pub(super) fn pop(&mut self, up_to: Lane, now: Timestamp) -> Option<Job<P>> {
        for lane in 0..=up_to as usize {
            while let Some(job) = self.ready[lane].pop_front() {
                self.ready_units[lane] -= u32::from(job.units);
                if job.leased.is_lost() {
                    self.forget(&job);
                    continue;
                }
                match refusal_of(&job, now) {
                    None => return Some(job),
                    Some(why) => self.give_back(&job, why, now),
                }
            }
        }
        None
    }

    /// An entry that was not written after all: it is the next of its lane.
    pub(super) fn put_back(&mut self, job: Job<P>) {
        if job.leased.is_lost() {
            return self.forget(&job);
        }
        let lane = job.leased.lane() as usize;
        self.ready_units[lane] += u32::from(job.units);
        self.ready[lane].push_front(job);
    }

    /// What became of a part.
    pub(super) fn note_part(&mut self, job: &Job<P>, part: u8, now: Timestamp, result: AttemptResultRef<'_>) {
        let settled = Settled { leased: Arc::clone(&job.leased), units: 1, slots: 1 };
        self.pending.note_attempt(job.of(part), &self.route, now, result, Some(settled));
    }

    /// Gives back an entry of which nothing was written.
    pub(super) fn give_back(&mut self, job: &Job<P>, why: NotTried, now: Timestamp) {
        self.note_whole(job, now, AttemptResultRef::NotTried { why });
    }

    /// What became of an attempt as a whole, whatever its parts.
    pub(super) fn note_whole(&mut self, job: &Job<P>, now: Timestamp, result: AttemptResultRef<'_>) {
        if matches!(result, AttemptResultRef::NotTried { .. }) && job.leased.is_lost() {
            // Whoever has it now says what becomes of it.
            return self.forget(job);
        }
        let units = u32::from(job.units);
        let settled = Settled { leased: Arc::clone(&job.leased), units, slots: units };
        self.pending.note_attempt(job.whole(), &self.route, now, result, Some(settled));
    }

    /// Something that was intended and will not be written, of a segment that is another's now: nothing is
    /// said of it.
    fn forget(&mut self, job: &Job<P>) {
        self.out -= u32::from(job.units);
        // What is lost is never over here, so that it is not acknowledged.
    }

    /// Lets go of segments that are another's now, or may be; says which.
    pub(super) fn drop_lost(&mut self, now: Instant) -> Vec<(Lane, u64)> {
        let is_lost = |segment_lease: &Option<Arc<SegmentLease>>| {
            segment_lease.as_ref().is_some_and(|segment_lease| segment_lease.is_lost(now))
        };
        let lost: BTreeSet<(Lane, u64)> = self
            .leased
            .iter()
            .filter(|(_, segment_lease)| is_lost(segment_lease))
            .map(|(place, _)| *place)
            .collect();
        if lost.is_empty() {
            return Vec::new();
        }
        let has = |leased: &LeasedSegment<P>| lost.contains(&(leased.lane(), leased.index));
        for lane in 0..Lane::ALL.len() {
            self.hands[lane].retain(|hand| !has(&hand.leased));
            let before = std::mem::take(&mut self.ready[lane]);
            for job in before {
                match has(&job.leased) {
                    false => self.ready[lane].push_back(job),
                    true => {
                        self.ready_units[lane] -= u32::from(job.units);
                        self.forget(&job);
                    }
                }
            }
        }
        self.questions.retain(|job| !has(&job.leased));
        self.unclaimed[0].retain(|leased| !has(leased));
        self.leased.retain(|place, _| !lost.contains(place));
        lost.into_iter().collect()
    }

    /// Lets go of segments of which nothing is under way: others may have them. Says which.
    pub(super) fn hand_over(&mut self) -> Vec<(Lane, u64)> {
        let mut handed = Vec::new();
        for lane in 0..Lane::ALL.len() {
            self.hands[lane].retain(|hand| {
                let rests = hand.leased.is_at_rest();
                if rests {
                    handed.push((hand.leased.lane(), hand.leased.index));
                }
                !rests
            });
        }
        handed.iter().for_each(|place| {
            self.leased.remove(place);
        });
        handed
    }

    /// Gives back everything that is not written yet: the route is down, or is closing.
    pub(super) fn give_back_ready(&mut self, why: NotTried, now: Timestamp) {
        for lane in 0..Lane::ALL.len() {
            while let Some(job) = self.ready[lane].pop_front() {
                self.ready_units[lane] -= u32::from(job.units);
                self.give_back(&job, why, now);
            }
        }
    }

    /// Gives back what is left of all segments in hand.
    pub(super) fn give_back_hands(&mut self, why: NotTried, now: Timestamp) {
        for lane in 0..Lane::ALL.len() {
            while let Some(hand) = self.hands[lane].pop_front() {
                self.give_back_rest(hand, why, now);
            }
        }
    }

    /// Lets go of all segments that are not over, without a word: they go on elsewhere from where they are.
    pub(super) fn let_go(&mut self) -> Vec<(Lane, u64)> {
        self.hands.iter_mut().for_each(VecDeque::clear);
        self.questions.clear();
        self.unclaimed.iter_mut().for_each(Vec::clear);
        let leased = std::mem::take(&mut self.leased).into_iter();
        let ours = |segment_lease: &Option<Arc<SegmentLease>>| {
            segment_lease.as_ref().is_none_or(|segment_lease| !segment_lease.is_lost(Instant::now()))
        };
        leased.filter(|(_, segment_lease)| ours(segment_lease)).map(|(place, _)| place).collect()
    }

    /// Segments that are over and on disk: to be acknowledged.
    pub(super) fn take_done(&mut self) -> Vec<Arc<LeasedSegment<P>>> {
        let mut done = std::mem::take(&mut self.done);
        for leased in &done {
            self.leased.remove(&(leased.lane(), leased.index));
        }
        // What is another's now is for that one to acknowledge.
        done.retain(|leased| !leased.is_lost());
        done
    }

    /// Gives back what may not be written any more, also where it is not its turn yet.
    pub(super) fn give_back_all_refused(&mut self, now: Timestamp) {
        for lane in 0..Lane::ALL.len() {
            self.give_back_refused(lane, now);
            for _ in 0..self.ready[lane].len() {
                let Some(job) = self.ready[lane].pop_front() else { break };
                match refusal_of(&job, now) {
                    None => self.ready[lane].push_back(job),
                    Some(why) => {
                        self.ready_units[lane] -= u32::from(job.units);
                        self.give_back(&job, why, now);
                    }
                }
            }
        }
    }

    /// Segments whose alert was paused or stopped, or whose time ran out.
    fn give_back_refused(&mut self, lane: usize, now: Timestamp) {
        for _ in 0..self.hands[lane].len() {
            let Some(hand) = self.hands[lane].pop_front() else { return };
            match refusal(&hand.leased, now) {
                None => self.hands[lane].push_back(hand),
                Some(why) => self.give_back_rest(hand, why, now),
            }
        }
    }

    fn give_back_rest(&mut self, hand: HeldSegment<P>, why: NotTried, now: Timestamp) {
        let HeldSegment { leased, next } = hand;
        let places = next..leased.segment.entries.len() as u32;
        for from in places.clone().step_by(TOGETHER_MAX as usize) {
            let (node, route) = (self.node.as_deref(), &self.route);
            let places = from..places.end.min(from + TOGETHER_MAX);
            self.pending
                .note_together(|batch| give_back_places(batch, node, route, &leased, places, why, now));
        }
        if leased.closed(1) {
            self.done.push(leased);
        }
    }

    fn drop_finished_hands(&mut self, lane: usize) {
        while let Some(hand) = self.hands[lane].front()
            && hand.next as usize >= hand.leased.segment.entries.len()
            && let Some(hand) = self.hands[lane].pop_front()
        {
            if hand.leased.closed(1) {
                self.done.push(hand.leased);
            }
        }
    }
}

/// Why an entry is not written.
enum Over {
    /// What became of it was said before.
    Before,
    /// That becomes of it now.
    Now(AttemptResult),
}

fn over<P>(leased: &LeasedSegment<P>, place: u32, entry: &Entry, now: Timestamp) -> Option<Over> {
    let unpaid = match leased.pass(place) {
        Some(Pass::Over) => return Some(Over::Before),
        Some(Pass::Unpaid(unpaid)) => Some(unpaid),
        None => None,
    };
    if entry.expires.is_some_and(|expires| now > expires) {
        return Some(Over::Now(AttemptResult::NotTried { why: NotTried::Expired }));
    }
    let unpaid = unpaid?;
    let (permanent, code, text) = (unpaid.is_permanent(), unpaid.code().to_owned(), unpaid.text().to_owned());
    Some(Over::Now(AttemptResult::Refused { permanent, code, text }))
}

/// Entries that are given back together, in one record.
const TOGETHER_MAX: u32 = 1_000;

/// Notes that entries were never tried. Other processes have to know how far the segment got: they are
/// intended by the same record.
fn give_back_places<P>(
    batch: &mut OutcomeAppend<Settled<P>>,
    node: Option<&str>,
    route: &str,
    leased: &Arc<LeasedSegment<P>>,
    places: std::ops::Range<u32>,
    why: NotTried,
    now: Timestamp,
) {
    if let Some(node) = node {
        batch.note(&Outcome::By { node: node.to_owned() }, None);
        batch.note(&intent(route, leased, places.start, places.end, now), None);
    }
    for place in places {
        leased.opened(1);
        let job = Job { leased: Arc::clone(leased), place, units: 1 };
        let settled = Settled { leased: Arc::clone(leased), units: 1, slots: 0 };
        batch.note_attempt(job.whole(), route, now, AttemptResultRef::NotTried { why }, Some(settled));
    }
}

/// Notes in a session's own batch what became of a part: the send queue hears of it when that is absorbed.
pub(super) fn note_in<P>(
    batch: &mut OutcomeAppend<Settled<P>>,
    route: &str,
    job: Job<P>,
    part: u8,
    at: Timestamp,
    result: AttemptResultRef<'_>,
) {
    let of = job.of(part);
    batch.note_attempt(of, route, at, result, Some(Settled { leased: job.leased, units: 1, slots: 1 }));
}

/// Said of what was intended before a crash and has no outcome.
const LOST_IN_CRASH: &str = "perhaps written before the gateway was interrupted";

/// Why something that was interrupted is given back instead of told as unknown: writing it again is no harm,
/// and it will be. What will not be may have arrived, so that nobody knows.
fn repeated<C: ChannelEncoder>(encoder: &C, job: &Job<C::Prepared>, now: Timestamp) -> Option<NotTried> {
    match refusal_of(job, now) {
        _ if !encoder.repeatable() => None,
        Some(NotTried::Stopped | NotTried::Expired) => None,
        why => Some(why.unwrap_or(NotTried::Closing)),
    }
}

/// Why nothing more of a segment may be written.
pub(super) fn refusal<P>(leased: &LeasedSegment<P>, now: Timestamp) -> Option<NotTried> {
    leased.refusal().or((now > leased.segment.expires).then_some(NotTried::Expired))
}

/// Why an entry may not be written: as its segment, and its own end.
pub(super) fn refusal_of<P>(job: &Job<P>, now: Timestamp) -> Option<NotTried> {
    let over = job.entry().expires.is_some_and(|expires| now > expires);
    refusal(&job.leased, now).or(over.then_some(NotTried::Expired))
}

fn attempt(route: &str, of: AttemptRef, at: Timestamp, result: AttemptResult) -> Outcome {
    Outcome::Attempt { of, route: route.to_owned(), at, result }
}

fn intent<P>(route: &str, leased: &LeasedSegment<P>, from: u32, to: u32, at: Timestamp) -> Outcome {
    let entries = &leased.segment.entries[from as usize..to as usize];
    Outcome::Intent(Intent {
        route: route.to_owned(),
        lane: leased.lane(),
        segment: leased.index,
        alert: leased.segment.alert,
        from,
        attempts: entries.iter().map(|entry| (entry.endpoint, entry.attempt)).collect(),
        at,
    })
}
