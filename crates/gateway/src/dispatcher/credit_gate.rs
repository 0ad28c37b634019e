//! Segments that have to be paid for before anything of them is written: each by one bill, lane by lane, so
//! that no emergency waits for others' money. Without a purse nothing comes here.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use records::{Bill, BillItem, Entry, Funding, Lane};
use tokio::sync::{Notify, watch};

use super::leased_segment::Pass;
use super::{ChannelEncoder, DispatcherState, LeasedSegment, RouteDispatcher};
use crate::Funds;
use crate::journal::recovery::{RouteProgress, SegmentProgress};

/// What waits for money.
pub(super) struct CreditGate<P> {
    /// With their bills, by lane, in the order in which they were taken.
    waiting: Mutex<[Vec<UnpaidSegments<P>>; 3]>,
    came: [Notify; 3],
    closed: watch::Sender<bool>,
}

type UnpaidSegments<P> = (Unpaid<P>, Bill);

/// A segment, and what an earlier process did of it.
struct Unpaid<P> {
    leased: Arc<LeasedSegment<P>>,
    progress: SegmentProgress,
    /// Places of which an earlier process said what became of them.
    over: Vec<u32>,
    /// Places to be paid for.
    places: Vec<u32>,
}

impl<P> Default for CreditGate<P> {
    fn default() -> CreditGate<P> {
        CreditGate { waiting: Mutex::default(), came: Default::default(), closed: watch::Sender::new(false) }
    }
}

impl<P> CreditGate<P> {
    /// Nothing is asked for any more: what waits goes on after the next start.
    pub(super) fn close(&self) {
        self.closed.send_replace(true);
    }

    fn push(&self, unpaid: Unpaid<P>, bill: Bill) {
        let lane = unpaid.leased.lane() as usize;
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)[lane].push((unpaid, bill));
        self.came[lane].notify_one();
    }

    fn take(&self, lane: Lane) -> (Vec<Unpaid<P>>, Vec<Bill>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting[lane as usize].drain(..).unzip()
    }
}

impl<C: ChannelEncoder> RouteDispatcher<C> {
    /// A segment that was taken waits until it is known what of it is paid for.
    pub(super) fn ask_for_money(&self, leased: LeasedSegment<C::Prepared>) {
        let mut state = self.state();
        let DispatcherState { queue, earlier, .. } = &mut *state;
        let progress = earlier.take(leased.lane(), leased.index).unwrap_or_default();
        queue.expect_money(&leased);
        let earlier: &RouteProgress = earlier;
        let (unpaid, bill) = {
            let gave_back = |leased: &LeasedSegment<C::Prepared>, entry: &Entry| {
                earlier.gave_back(&leased.segment, entry)
            };
            self.unpaid(Arc::new(leased), progress, gave_back)
        };
        drop(state);
        self.credit_gate.push(unpaid, bill);
    }

    /// The same of one that was claimed before others could; what an earlier holder did of it is in
    /// `progress`.
    pub(super) fn ask_for_claimed(
        &self,
        state: &mut DispatcherState<C::Prepared>,
        leased: Arc<LeasedSegment<C::Prepared>>,
        progress: SegmentProgress,
    ) {
        state.queue.expect_money(&leased);
        let (unpaid, bill) = self.unpaid(leased, progress, |_, _| false);
        self.credit_gate.push(unpaid, bill);
    }

    fn unpaid(
        &self,
        leased: Arc<LeasedSegment<C::Prepared>>,
        progress: SegmentProgress,
        gave_back: impl Fn(&LeasedSegment<C::Prepared>, &Entry) -> bool,
    ) -> (Unpaid<C::Prepared>, Bill) {
        let segment = &leased.segment;
        let is_over = |place: &u32| gave_back(&leased, &segment.entries[*place as usize]);
        let (over, places): (Vec<u32>, Vec<u32>) =
            (progress.intended_to..segment.entries.len() as u32).partition(is_over);
        let item = |entry: &Entry| BillItem {
            endpoint: entry.endpoint,
            attempt: entry.attempt,
            parts: self.encoder.units(segment, &leased.prepared, entry).max(1),
            address: entry.address.clone(),
            until: entry.expires.unwrap_or(segment.expires),
        };
        let bill = Bill {
            account: segment.account.clone(),
            alert: segment.alert,
            is_emergency: leased.lane() == Lane::Emergency,
            since: segment.outcomes_from,
            is_again: self
                .context
                .shared
                .as_ref()
                .is_some_and(|shared| shared.follower.was_claimed(segment, leased.lane(), leased.index)),
            items: places.iter().map(|place| item(&segment.entries[*place as usize])).collect(),
        };
        (Unpaid { leased, progress, over, places }, bill)
    }

    /// Has segments paid for, and admits them, until the till is closed.
    pub(super) async fn pay(&self) {
        let Some(funds) = &self.context.funds else { return };
        let pay = |lane| self.pay_lane(&**funds, lane);
        tokio::join!(pay(Lane::Emergency), pay(Lane::Urgent), pay(Lane::Routine));
    }

    async fn pay_lane(&self, funds: &dyn Funds, lane: Lane) {
        let mut closed = self.credit_gate.closed.subscribe();
        loop {
            let (waiting, bills) = self.credit_gate.take(lane);
            if waiting.is_empty() {
                tokio::select! {
                    () = self.credit_gate.came[lane as usize].notified() => continue,
                    _ = closed.wait_for(|closed| *closed) => return,
                }
            }
            let answers = join_all(bills.into_iter().map(|bill| answer(funds, bill)));
            tokio::select! {
                answers = answers => {
                    waiting.into_iter().zip(answers).for_each(|(unpaid, answer)| self.paid(unpaid, &answer));
                }
                _ = closed.wait_for(|closed| *closed) => return,
            }
            self.work.notify_one();
            self.consumer.notify_one();
        }
    }

    /// It is known what of a segment is paid for: it is admitted.
    fn paid(&self, unpaid: Unpaid<C::Prepared>, answer: &[Funding]) {
        let Unpaid { leased, progress, over, places } = unpaid;
        let refused = places.into_iter().zip(answer).filter_map(|(place, funding)| match funding {
            Funding::Paid => None,
            Funding::Refused(unpaid) => Some((place, Pass::Unpaid(*unpaid))),
        });
        let mut passed: Vec<(u32, Pass)> =
            over.into_iter().map(|place| (place, Pass::Over)).chain(refused).collect();
        passed.sort_unstable_by_key(|(place, _)| *place);
        leased.pass_over(passed);
        leased.set_verdict(self.control.state_of(&leased.segment));
        let now = self.context.now();
        let mut state = self.state();
        let DispatcherState { queue, earlier, .. } = &mut *state;
        queue.money_came(&leased);
        let gave_back = |entry: &Entry| earlier.gave_back(&leased.segment, entry);
        queue.admit(&self.encoder, Arc::clone(&leased), &progress, gave_back, now);
        drop(state);
        self.signal();
    }
}

/// What is paid for; of a bill without items nothing is asked.
async fn answer(funds: &dyn Funds, bill: Bill) -> Vec<Funding> {
    match bill.items.is_empty() {
        true => Vec::new(),
        false => funds.pay(bill).await,
    }
}
