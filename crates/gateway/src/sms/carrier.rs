//! State shared by the sessions of an SMS route.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ::pace::share::Need;
use arc_swap::ArcSwap;
use bus::BusError;
use records::{AttemptRef, AttemptResult, Lane, NotTried, Outcome, Timestamp};
use smpp::receipt::Receipt;
use tokio::sync::Notify;

use super::config::SmsRoute;
use super::encode::{SmsEncoder, Unsendable};
use super::inbound::{Arrived, ELSEWHERE_MAX, Keep, MoMessage, PartsInbox, StoredPart};
use super::outcome::Ids;
use super::pace::{Pace, RATE_LOOK, RecentThrottling};
use super::submit::{Sending, incomplete};
use crate::GatewayContext;
use crate::dispatcher::{AccountLimit, RateHolder, RouteDispatcher};

/// A carrier account at work.
pub(super) struct Carrier {
    config: ArcSwap<SmsRoute>,
    name: String,
    pub(super) context: GatewayContext,
    pub(super) dispatcher: Arc<RouteDispatcher<SmsEncoder>>,
    account: Arc<AccountLimit>,
    pace: Mutex<Pace>,
    ids: Mutex<Ids>,
    inbox: Mutex<PartsInbox>,
    reference: AtomicU16,
}

impl Carrier {
    pub(super) fn new(
        config: SmsRoute,
        context: GatewayContext,
        dispatcher: Arc<RouteDispatcher<SmsEncoder>>,
    ) -> Result<Carrier, BusError> {
        let now = Instant::now();
        let is_shared = context.shared.is_some();
        let inbox = PartsInbox::open(&*context.bus, &config.name, config.charset, is_shared, now)?;
        let account = context.limits.of(&config.name, config.rate, now);
        let pace = Pace::new(Arc::clone(&account), dispatcher.was_quiet(), now);
        if let Some(at) = account.next(&config.name, now) {
            dispatcher.begin_at(at);
        }
        Ok(Carrier {
            account,
            pace: Mutex::new(pace),
            ids: Mutex::new(Ids::new(&config.name, config.receipt_ids)),
            inbox: Mutex::new(inbox),
            // Not the same after each start, since phones may still wait for parts of the messages before it.
            reference: AtomicU16::new(context.now().0 as u16),
            name: config.name.clone(),
            config: ArcSwap::from_pointee(config),
            context,
            dispatcher,
        })
    }

    /// The route's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The settings as they are now.
    pub(super) fn config(&self) -> Arc<SmsRoute> {
        self.config.load_full()
    }

    /// Takes newer settings, if there are any.
    pub(super) fn refresh(&self, config: &mut Arc<SmsRoute>) {
        let now = self.config.load();
        if !Arc::ptr_eq(&now, config) {
            *config = Arc::clone(&now);
        }
    }

    /// Other settings from now on; the rate is set by the route loop.
    pub(super) fn change(&self, config: SmsRoute) {
        locked(&self.ids).set_form(config.receipt_ids);
        self.config.store(Arc::new(config));
        self.dispatcher.signal();
    }

    /// Something waits to be submitted.
    pub(super) fn has_work(&self) -> bool {
        self.dispatcher.has_work() || locked(&self.pace).next_retry().is_some()
    }

    /// What to submit next, of so many parts or a few more: emergencies, then what had to wait, then the
    /// rest.
    pub(super) fn next(&self, units: usize, now: Instant, at: Timestamp, next: &mut VecDeque<Sending>) {
        let mut left = units;
        let waits = locked(&self.pace).next_retry().is_some_and(|due| due <= now);
        if waits {
            left -= left.min(self.take_ready(Lane::Emergency, left, at, next));
        }
        while waits
            && left > 0
            && let Some(sending) = locked(&self.pace).take_due(now)
        {
            match self.dispatcher.refusal(&sending.job) {
                Some(why) => self.give_up(sending, why),
                None => {
                    left -= 1;
                    next.push_back(sending);
                }
            }
        }
        if left > 0 {
            self.take_ready(Lane::Routine, left, at, next);
        }
    }

    fn take_ready(&self, up_to: Lane, units: usize, at: Timestamp, next: &mut VecDeque<Sending>) -> usize {
        self.dispatcher.take_ready(up_to, units, at, |job| {
            let reference = if job.units > 1 { self.next_reference() } else { 0 };
            next.push_back(Sending::first(job, reference));
        })
    }

    /// Something that was not written goes first, by whatever session.
    pub(super) fn put_aside(&self, sending: Sending, now: Instant) {
        locked(&self.pace).put_aside(sending, now);
        self.dispatcher.signal();
    }

    /// What had to wait is given up.
    pub(super) fn give_up_all(&self, why: NotTried) {
        let all = locked(&self.pace).take_all();
        all.into_iter().for_each(|sending| self.give_up(sending, why));
    }

    /// The same while the route has been down for long.
    pub(super) fn give_up_if_down(&self) {
        if self.dispatcher.is_down() {
            self.give_up_all(NotTried::RouteDown);
        }
    }

    /// A message of one part was surely not taken by the carrier. Of a longer one others may have been.
    fn give_up(&self, sending: Sending, why: NotTried) {
        if sending.job.units == 1 {
            return self.dispatcher.whole(&sending.job, &AttemptResult::NotTried { why });
        }
        self.end(&sending, &incomplete(&sending, why));
    }

    /// It cannot be sent at all.
    pub(super) fn refuse(&self, sending: &Sending, why: &Unsendable) {
        let result =
            AttemptResult::Refused { permanent: true, code: why.code.to_owned(), text: why.text.clone() };
        match sending.part {
            1 if !sending.alone => self.dispatcher.whole(&sending.job, &result),
            _ => self.end(sending, &result),
        }
    }

    /// The same result for a part, and for those behind it that it stands for.
    fn end(&self, sending: &Sending, result: &AttemptResult) {
        let last = if sending.alone { sending.part } else { sending.job.units };
        for part in sending.part..=last {
            self.dispatcher.part(&sending.job, part, result);
        }
    }

    pub(super) fn grant(&self, now: Instant, want: usize) -> usize {
        self.account.grant(&self.name, want, now)
    }

    pub(super) fn unused(&self, parts: usize) {
        if parts > 0 {
            self.account.unused(parts);
        }
    }

    pub(super) fn wrote(&self, parts: usize, before: Instant, after: Instant) {
        if parts > 0 {
            self.account.wrote(parts, after);
            if let Some(write_observer) = &self.context.write_observer {
                write_observer(&self.name, parts, before, after);
            }
        }
    }

    pub(super) fn next_grant(&self, now: Instant) -> Option<Instant> {
        self.account.next(&self.name, now)
    }

    /// The part waits; given back if it waited too often.
    pub(super) fn throttled(&self, sending: Sending, now: Instant) -> Option<Sending> {
        let (given_up, rate) = locked(&self.pace).throttled(sending, now);
        self.dispatcher.set_rate(rate);
        given_up
    }

    /// What a session heard since it was last asked: whether the carrier falls behind.
    pub(super) fn heard(&self, heard: RecentThrottling, now: Instant) {
        if heard.count > 0
            && let Some(rate) = locked(&self.pace).heard(heard, now)
        {
            tracing::info!(
                route = self.name,
                rate,
                "the carrier throttles or is slow: the route lowers its rate"
            );
            self.dispatcher.set_rate(rate);
        }
    }

    /// The key of a message that the carrier took under this id; nothing if it gave none.
    pub(super) fn key(&self, id: &[u8]) -> Option<u64> {
        locked(&self.ids).key(id)
    }

    pub(super) fn receipt_keys(&self, receipt: &Receipt<'_>) -> Vec<u64> {
        locked(&self.ids).receipt_keys(receipt)
    }

    /// The same of a text that a person may have typed: nothing is learnt of it.
    pub(super) fn unmarked_receipt_keys(&self, receipt: &Receipt<'_>) -> Vec<u64> {
        locked(&self.ids).keys_of(receipt)
    }

    /// An answer after its time: what was unknown is known now.
    pub(super) fn note_late(&self, of: AttemptRef, result: AttemptResult) {
        let (route, at) = (self.name.clone(), self.context.now());
        self.dispatcher.note(&Outcome::Attempt { of, route, at, result });
    }

    pub(super) fn arrive(&self, message: &MoMessage<'_>, at: Timestamp, now: Instant) -> Arrived {
        locked(&self.inbox).arrive(message, at, now)
    }

    /// Where other processes hear parts of messages too: puts together what is there, until the route ends.
    pub(super) async fn meet_parts(self: Arc<Self>) {
        let kept = locked(&self.inbox).remote_health();
        let Some(kept) = kept else { return std::future::pending().await };
        let listener = self.dispatcher.listen();
        loop {
            let seen = kept.version();
            let (whole, more) = locked(&self.inbox).meet(self.context.now(), Instant::now());
            for (outcome, keys) in whole {
                let ticket = self.dispatcher.note(&outcome);
                while !self.dispatcher.is_durable(ticket) {
                    listener.notified().await;
                }
                self.forget(keys);
            }
            tokio::select! {
                () = kept.changed(seen) => {}
                () = tokio::time::sleep(ELSEWHERE_MAX), if more => {}
            }
        }
    }

    pub(super) fn keep(&self, keep: Keep, listener: Arc<Notify>) -> StoredPart {
        locked(&self.inbox).keep(keep, listener)
    }

    pub(super) fn forget(&self, keys: Vec<String>) {
        if !keys.is_empty() {
            locked(&self.inbox).forget(keys);
        }
    }

    /// What is due whatever the session: the rate on its way back, messages whose parts do not come.
    pub(super) fn look_around(&self, now: Instant) {
        if let Some(rate) = self.account.recover(RATE_LOOK, now) {
            self.dispatcher.set_rate(rate);
        }
        let mut inbox = locked(&self.inbox);
        if inbox.deadline().is_some_and(|due| due <= now) {
            for (outcome, keys) in inbox.give_up(self.context.now(), now) {
                // Forgotten at once: should it be lost with the process, so is half a message.
                self.dispatcher.note(&outcome);
                inbox.forget(keys);
            }
        }
    }

    /// When [`look_around`](Carrier::look_around) or a retry has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let retry = locked(&self.pace).next_retry();
        match (retry, locked(&self.inbox).deadline()) {
            (Some(retry), Some(inbox)) => Some(retry.min(inbox)),
            (one, other) => one.or(other),
        }
    }

    fn next_reference(&self) -> u16 {
        self.reference.fetch_add(1, Ordering::Relaxed)
    }
}

impl RateHolder for Carrier {
    fn account(&self) -> &Arc<AccountLimit> {
        &self.account
    }

    fn need(&self) -> Need {
        self.dispatcher.need(self.has_work())
    }

    fn told(&self) {
        self.dispatcher.set_share(&self.view(Instant::now()));
    }

    fn signal(&self) {
        self.dispatcher.signal();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
