//! Segments that have to be paid for before anything of them is written: each by one bill, lane by lane, so that no emergency waits for
//! others' money. Without a purse nothing comes here.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use records::{Bill, BillItem, Entry, Funding, Lane};
use tokio::sync::{Notify, watch};

use super::held::Pass;
use super::recovery::{Progress, RouteProgress};
use super::{Craft, Feed, Held, State};
use crate::Purse;

/// What waits for money.
pub(super) struct Till<P> {
    /// With their bills, by lane, in the order in which they were taken.
    waiting: Mutex<[Vec<Waiting<P>>; 3]>,
    came: [Notify; 3],
    closed: watch::Sender<bool>,
}

type Waiting<P> = (Unpaid<P>, Bill);

/// A segment, and what an earlier process did of it.
struct Unpaid<P> {
    held: Arc<Held<P>>,
    progress: Progress,
    /// Places of which an earlier process said what became of them.
    over: Vec<u32>,
    /// Places to be paid for.
    places: Vec<u32>,
}

impl<P> Default for Till<P> {
    fn default() -> Till<P> {
        Till { waiting: Mutex::default(), came: Default::default(), closed: watch::Sender::new(false) }
    }
}

impl<P> Till<P> {
    /// Nothing is asked for any more: what waits goes on after the next start.
    pub(super) fn close(&self) {
        self.closed.send_replace(true);
    }

    fn push(&self, unpaid: Unpaid<P>, bill: Bill) {
        let lane = unpaid.held.lane() as usize;
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)[lane].push((unpaid, bill));
        self.came[lane].notify_one();
    }

    fn take(&self, lane: Lane) -> (Vec<Unpaid<P>>, Vec<Bill>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting[lane as usize].drain(..).unzip()
    }
}

impl<C: Craft> Feed<C> {
    /// A segment that was taken waits until it is known what of it is paid for.
    pub(super) fn ask_for_money(&self, held: Held<C::Prepared>) {
        let mut state = self.state();
        let State { desk, earlier, .. } = &mut *state;
        let progress = earlier.take(held.lane(), held.index).unwrap_or_default();
        desk.expect_money(&held);
        let earlier: &RouteProgress = earlier;
        let (unpaid, bill) = {
            let gave_back = |held: &Held<C::Prepared>, entry: &Entry| earlier.gave_back(&held.segment, entry);
            self.unpaid(Arc::new(held), progress, gave_back)
        };
        drop(state);
        self.till.push(unpaid, bill);
    }

    /// The same of one that was claimed before others could; what an earlier holder did of it is in `progress`.
    pub(super) fn ask_for_claimed(
        &self,
        state: &mut State<C::Prepared>,
        held: Arc<Held<C::Prepared>>,
        progress: Progress,
    ) {
        state.desk.expect_money(&held);
        let (unpaid, bill) = self.unpaid(held, progress, |_, _| false);
        self.till.push(unpaid, bill);
    }

    fn unpaid(
        &self,
        held: Arc<Held<C::Prepared>>,
        progress: Progress,
        gave_back: impl Fn(&Held<C::Prepared>, &Entry) -> bool,
    ) -> (Unpaid<C::Prepared>, Bill) {
        let segment = &held.segment;
        let is_over = |place: &u32| gave_back(&held, &segment.entries[*place as usize]);
        let (over, places): (Vec<u32>, Vec<u32>) =
            (progress.intended_to..segment.entries.len() as u32).partition(is_over);
        let item = |entry: &Entry| BillItem {
            endpoint: entry.endpoint,
            attempt: entry.attempt,
            parts: self.craft.units(segment, &held.prepared, entry).max(1),
            address: entry.address.clone(),
            until: entry.expires.unwrap_or(segment.expires),
        };
        let bill = Bill {
            account: segment.account.clone(),
            alert: segment.alert,
            is_emergency: held.lane() == Lane::Emergency,
            since: segment.outcomes_from,
            is_again: self
                .world
                .shared
                .as_ref()
                .is_some_and(|shared| shared.follower.was_claimed(segment, held.lane(), held.index)),
            items: places.iter().map(|place| item(&segment.entries[*place as usize])).collect(),
        };
        (Unpaid { held, progress, over, places }, bill)
    }

    /// Has segments paid for, and admits them, until the till is closed.
    pub(super) async fn pay(&self) {
        let Some(purse) = &self.world.purse else { return };
        let pay = |lane| self.pay_lane(&**purse, lane);
        tokio::join!(pay(Lane::Emergency), pay(Lane::Urgent), pay(Lane::Routine));
    }

    async fn pay_lane(&self, purse: &dyn Purse, lane: Lane) {
        let mut closed = self.till.closed.subscribe();
        loop {
            let (waiting, bills) = self.till.take(lane);
            if waiting.is_empty() {
                tokio::select! {
                    () = self.till.came[lane as usize].notified() => continue,
                    _ = closed.wait_for(|closed| *closed) => return,
                }
            }
            let answers = join_all(bills.into_iter().map(|bill| answer(purse, bill)));
            tokio::select! {
                answers = answers => {
                    waiting.into_iter().zip(answers).for_each(|(unpaid, answer)| self.paid(unpaid, &answer));
                }
                _ = closed.wait_for(|closed| *closed) => return,
            }
            self.work.notify_one();
            self.supply.notify_one();
        }
    }

    /// It is known what of a segment is paid for: it is admitted.
    fn paid(&self, unpaid: Unpaid<C::Prepared>, answer: &[Funding]) {
        let Unpaid { held, progress, over, places } = unpaid;
        let refused = places.into_iter().zip(answer).filter_map(|(place, funding)| match funding {
            Funding::Paid => None,
            Funding::Refused(unpaid) => Some((place, Pass::Unpaid(*unpaid))),
        });
        let mut passed: Vec<(u32, Pass)> =
            over.into_iter().map(|place| (place, Pass::Over)).chain(refused).collect();
        passed.sort_unstable_by_key(|(place, _)| *place);
        held.pass_over(passed);
        held.set_verdict(self.verdict(&held));
        let now = self.world.now();
        let mut state = self.state();
        let State { desk, earlier, .. } = &mut *state;
        desk.money_came(&held);
        let gave_back = |entry: &Entry| earlier.gave_back(&held.segment, entry);
        desk.admit(&self.craft, Arc::clone(&held), &progress, gave_back, now);
    }
}

/// What is paid for; of a bill without items nothing is asked.
async fn answer(purse: &dyn Purse, bill: Bill) -> Vec<Funding> {
    match bill.items.is_empty() {
        true => Vec::new(),
        false => purse.pay(bill).await,
    }
}
