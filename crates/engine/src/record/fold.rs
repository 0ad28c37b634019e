//! Outcomes folded into deliveries. Monotonic: what is known to have arrived never goes back, whatever comes
//! late or twice.

use super::delivery_cell::{BEGUN, DeliveryCell, IN_SEGMENT, LAPSED, NO_ROUTE, StringTable, offset};
use super::live_alert::{LiveAlert, answer_key};
use records::{
    AlertState, Answer, AttemptRef, AttemptResult, DeliveryState, EndpointNo, NotTried, OnUnknown, Reason,
    ReceiptState, Timestamp,
};

/// What follows from a fold, for the actor to carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// An attempt is no longer under way: the route has room for another.
    Ended {
        /// Which route.
        route: u16,
        /// Which delivery.
        endpoint: EndpointNo,
    },
    /// It did not get through by this device.
    Missed(EndpointNo),
    /// It got further.
    Reached(EndpointNo),
    /// Somebody answered.
    Answered(EndpointNo),
}

/// What folding needs beside the alert.
pub struct Folding<'a> {
    /// Numbers of routes and words.
    pub words: &'a mut StringTable,
    /// Waits before the second, third, … try, seconds.
    pub retry_after_s: &'a [u32],
    /// What follows.
    pub effects: &'a mut Vec<Effect>,
}

impl Folding<'_> {
    /// A gateway is about to write an attempt.
    pub fn intent(
        &mut self,
        live: &mut LiveAlert,
        endpoint: EndpointNo,
        attempt: u8,
        route: u16,
        at: Timestamp,
    ) {
        let created = live.alert.created;
        let is_message = live.metas.is_some();
        live.edit(endpoint, at, |hot| {
            if hot.has_begun(attempt) {
                return;
            }
            hot.last = attempt;
            hot.flags |= BEGUN;
            hot.tries = hot.tries.saturating_add(1);
            // A late yes to an attempt that was given up came before this one: two were made, and the carrier
            // has it.
            if has_arrived(hot.state) || hot.state == DeliveryState::Accepted {
                return;
            }
            // A start takes in what its client took back before it takes in the attempts that went before.
            if is_message && hot.state == DeliveryState::Failed && hot.reason == Reason::Cancelled {
                return;
            }
            hot.state = DeliveryState::Submitted;
            hot.route = route;
            if hot.reason != Reason::Resent {
                hot.reason = Reason::None;
            }
            if hot.submitted == 0 {
                hot.submitted = offset(created, at);
            }
        });
    }

    /// The carrier answered a submission, or did not.
    pub fn attempt(
        &mut self,
        live: &mut LiveAlert,
        of: AttemptRef,
        route: u16,
        at: Timestamp,
        result: &AttemptResult,
    ) {
        let Some(before) = live.hot(of.endpoint).copied() else { return };
        let older = of.attempt < before.last;
        match result {
            AttemptResult::Accepted { .. } => self.accepted(live, of, route, at, older),
            AttemptResult::Refused { permanent, code, text } => {
                let words = self.words.detail_no(join(code, text).trim());
                if !older {
                    self.refused(live, of.endpoint, *permanent, words, at);
                }
            }
            AttemptResult::Unknown { text } => {
                let words = self.words.detail_no(text);
                if !older {
                    self.unknown(live, of.endpoint, words, at);
                }
            }
            AttemptResult::NotTried { why } if !older => not_tried(live, of.endpoint, *why, at),
            AttemptResult::NotTried { .. } => {}
        }
        if !older {
            self.end(live, &before, of, at, result);
        }
    }

    /// An attempt is over when all its parts were taken, or when one was not.
    fn end(
        &mut self,
        live: &mut LiveAlert,
        before: &DeliveryCell,
        of: AttemptRef,
        at: Timestamp,
        result: &AttemptResult,
    ) {
        let Some(after) = live.hot(of.endpoint).copied() else { return };
        let whole = !matches!(result, AttemptResult::Accepted { .. }) || after.is_whole(after.parts_accepted);
        if before.flags & IN_SEGMENT == 0 || !whole {
            return;
        }
        live.edit(of.endpoint, at, |hot| hot.flags &= !IN_SEGMENT);
        self.effects.push(Effect::Ended { route: before.route, endpoint: of.endpoint });
    }

    fn accepted(&mut self, live: &mut LiveAlert, of: AttemptRef, route: u16, at: Timestamp, older: bool) {
        let created = live.alert.created;
        let mut reached = false;
        live.edit(of.endpoint, at, |hot| {
            // A late yes to an attempt that was given up still means that the carrier has it: a whole message
            // if it had one part.
            if older && of.parts > 1 {
                return;
            }
            if !older {
                hot.parts = of.parts.max(1);
                hot.parts_accepted |= part_bit(of.part);
            }
            let whole = older || hot.is_whole(hot.parts_accepted);
            if !whole || has_arrived(hot.state) || hot.state == DeliveryState::Accepted {
                return;
            }
            // A receipt that came first may have said that it failed.
            if hot.state == DeliveryState::Failed && hot.reason == Reason::NotDelivered && !older {
                return;
            }
            hot.state = DeliveryState::Accepted;
            hot.reason = if hot.reason == Reason::Resent { Reason::Resent } else { Reason::None };
            hot.detail = 0;
            hot.due = 0;
            hot.route = route;
            hot.accepted = offset(created, at);
            reached = true;
        });
        if reached {
            self.effects.push(Effect::Reached(of.endpoint));
        }
    }

    fn refused(
        &mut self,
        live: &mut LiveAlert,
        endpoint: EndpointNo,
        permanent: bool,
        words: u32,
        at: Timestamp,
    ) {
        let created = live.alert.created;
        let waits = self.retry_after_s;
        let mut missed = false;
        live.edit(endpoint, at, |hot| {
            if has_arrived(hot.state) || hot.state == DeliveryState::Accepted || is_ended(hot) {
                return;
            }
            hot.detail = words;
            let wait = waits.get(usize::from(hot.tries.max(1)) - 1).filter(|_| !permanent);
            match wait {
                Some(&seconds) => {
                    hot.state = DeliveryState::Held;
                    hot.reason = Reason::RetryDue;
                    // Whole seconds: retries of one second come due together.
                    hot.due = offset(created, at.plus_s(i64::from(seconds))).next_multiple_of(1000);
                }
                None => {
                    hot.state = DeliveryState::Failed;
                    hot.reason = if permanent { Reason::Refused } else { Reason::AttemptsUsedUp };
                    missed = true;
                }
            }
        });
        if missed {
            self.effects.push(Effect::Missed(endpoint));
        }
    }

    fn unknown(&mut self, live: &mut LiveAlert, endpoint: EndpointNo, words: u32, at: Timestamp) {
        let tries_max = self.retry_after_s.len() + 1;
        let resend = live.alert.request.on_unknown == OnUnknown::Resend && !live.alert.state.is_final();
        live.edit(endpoint, at, |hot| {
            if !matches!(hot.state, DeliveryState::Submitted | DeliveryState::Planned) {
                return;
            }
            hot.detail = words;
            if resend && usize::from(hot.tries) < tries_max {
                hot.state = DeliveryState::Planned;
                hot.reason = Reason::Resent;
            } else {
                hot.state = DeliveryState::Unknown;
                hot.reason = Reason::PeerSilent;
            }
        });
    }

    /// The network said what became of a message. Answers whether it was news.
    pub fn receipt(
        &mut self,
        live: &mut LiveAlert,
        endpoint: EndpointNo,
        part: u8,
        state: ReceiptState,
        text: &str,
        at: Timestamp,
    ) {
        let created = live.alert.created;
        // Carriers put dates and ids into these texts: only those that explain a failure are worth keeping.
        let words = match state {
            ReceiptState::Failed | ReceiptState::Expired => self.words.detail_no(text),
            ReceiptState::Delivered | ReceiptState::Buffered => 0,
        };
        let mut effect = None;
        if state == ReceiptState::Buffered {
            live.note_buffered(endpoint, at);
        }
        live.edit(endpoint, at, |hot| match state {
            ReceiptState::Buffered => {}
            ReceiptState::Delivered => {
                hot.parts_delivered |= part_bit(part);
                if !hot.is_whole(hot.parts_delivered) || has_arrived(hot.state) {
                    return;
                }
                hot.state = DeliveryState::Delivered;
                hot.reason = Reason::None;
                hot.detail = 0;
                hot.due = 0;
                hot.delivered = offset(created, at);
                if hot.accepted == 0 {
                    hot.accepted = hot.delivered;
                }
                effect = Some(Effect::Reached(endpoint));
            }
            ReceiptState::Failed | ReceiptState::Expired => {
                if has_arrived(hot.state) || matches!(hot.state, DeliveryState::Failed | DeliveryState::Held)
                {
                    return;
                }
                hot.state = DeliveryState::Failed;
                hot.reason = Reason::NotDelivered;
                hot.detail = words;
                if state == ReceiptState::Expired {
                    hot.flags |= LAPSED;
                }
                effect = Some(Effect::Missed(endpoint));
            }
        });
        self.effects.extend(effect);
    }

    /// A person answered. The last word counts.
    pub fn answer(&mut self, live: &mut LiveAlert, endpoint: EndpointNo, answer: Answer) {
        let Some(before) = live.hot(endpoint).copied() else { return };
        let at = answer.at;
        let place = match (before.answer as usize).checked_sub(1) {
            Some(place) if place < live.answers.len() => {
                if live.answers[place] == answer {
                    return;
                }
                let old = answer_key(&live.answers[place]);
                live.answer_counts.entry(old).and_modify(|count| *count = count.saturating_sub(1));
                live.answers[place] = answer.clone();
                place
            }
            _ => {
                live.answers.push(answer.clone());
                live.answers.len() - 1
            }
        };
        *live.answer_counts.entry(answer_key(&answer)).or_default() += 1;
        let created = live.alert.created;
        live.edit(endpoint, at, |hot| {
            hot.answer = place as u32 + 1;
            hot.state = DeliveryState::Answered;
            hot.reason = Reason::None;
            hot.due = 0;
            if hot.accepted == 0 {
                hot.accepted = offset(created, at);
            }
        });
        live.redirty(endpoint);
        self.effects.push(Effect::Answered(endpoint));
        self.effects.push(Effect::Reached(endpoint));
    }
}

fn not_tried(live: &mut LiveAlert, endpoint: EndpointNo, why: NotTried, at: Timestamp) {
    // An alert that ends is stopped like one that is cancelled.
    let stopped = match live.alert.state {
        AlertState::Expired => Reason::Expired,
        _ => Reason::Cancelled,
    };
    live.edit(endpoint, at, |hot| {
        let under_way = hot.flags & IN_SEGMENT != 0 && hot.flags & BEGUN != 0;
        if hot.state == DeliveryState::Submitted || under_way {
            hot.tries = hot.tries.saturating_sub(1);
            if hot.tries == 0 {
                hot.submitted = 0;
            }
        }
        if !matches!(hot.state, DeliveryState::Planned | DeliveryState::Submitted) {
            return;
        }
        hot.route = NO_ROUTE;
        match why {
            NotTried::Paused | NotTried::RouteDown | NotTried::Closing => hot.state = DeliveryState::Planned,
            NotTried::Stopped => {
                hot.state = DeliveryState::Failed;
                hot.reason = stopped;
            }
            NotTried::Expired => {
                hot.state = DeliveryState::Failed;
                hot.reason = Reason::Expired;
            }
        }
    });
}

/// The device has it, or its person answered: nothing takes that back.
fn has_arrived(state: DeliveryState) -> bool {
    matches!(state, DeliveryState::Delivered | DeliveryState::Answered)
}

/// Its last attempt was ended before, by another part of it or before a crash.
fn is_ended(hot: &DeliveryCell) -> bool {
    matches!(hot.state, DeliveryState::Held | DeliveryState::Failed | DeliveryState::Unknown)
}

/// The bit of a part; what is above 16 shares the last.
pub fn part_bit(part: u8) -> u16 {
    1 << (part.clamp(1, 16) - 1)
}

fn join(code: &str, text: &str) -> String {
    format!("{code} {text}")
}
