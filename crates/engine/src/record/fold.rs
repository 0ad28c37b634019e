//! Outcomes folded into deliveries. Monotonic: what is known to have arrived never goes back, whatever comes
//! late or twice.

use super::delivery_cell::{BEGUN, DeliveryCell, IN_SEGMENT, LAPSED, NO_ROUTE, StringTable, offset};
use super::live_alert::LiveAlert;
use records::{
    AlertState, Answer, AttemptRef, AttemptResult, DeliveryState, EndpointNo, NotTried, OnUnknown, Reason,
    ReceiptState, Timestamp,
};

/// Who is not there is tried so often at most: attempts are counted in one octet.
const PRESENCE_TRIES_MAX: u8 = 250;

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
    /// Nobody is there now, and it is tried again: until then their next device is called for.
    Absent(EndpointNo),
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
        live.edit(endpoint, at, |cell| {
            if cell.has_begun(attempt) {
                return;
            }
            cell.last = attempt;
            cell.flags |= BEGUN;
            cell.tries = cell.tries.saturating_add(1);
            // A late yes to an attempt that was given up came before this one: two were made, and the carrier
            // has it.
            if has_arrived(cell.state) || cell.state == DeliveryState::Accepted {
                return;
            }
            // A start takes in what its client took back before it takes in the attempts that went before.
            if is_message && cell.state == DeliveryState::Failed && cell.reason == Reason::Cancelled {
                return;
            }
            cell.state = DeliveryState::Submitted;
            cell.route = route;
            if cell.reason != Reason::Resent {
                cell.reason = Reason::None;
            }
            if cell.submitted == 0 {
                cell.submitted = offset(created, at);
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
        let Some(before) = live.cell(of.endpoint).copied() else { return };
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
        let Some(after) = live.cell(of.endpoint).copied() else { return };
        let whole = !matches!(result, AttemptResult::Accepted { .. }) || after.is_whole(after.parts_accepted);
        if before.flags & IN_SEGMENT == 0 || !whole {
            return;
        }
        live.edit(of.endpoint, at, |cell| cell.flags &= !IN_SEGMENT);
        self.effects.push(Effect::Ended { route: before.route, endpoint: of.endpoint });
    }

    fn accepted(&mut self, live: &mut LiveAlert, of: AttemptRef, route: u16, at: Timestamp, older: bool) {
        let created = live.alert.created;
        let mut reached = false;
        live.edit(of.endpoint, at, |cell| {
            // A late yes to an attempt that was given up still means that the carrier has it: a whole message
            // if it had one part.
            if older && of.parts > 1 {
                return;
            }
            if !older {
                cell.parts = of.parts.max(1);
                cell.parts_accepted |= part_bit(of.part);
            }
            let whole = older || cell.is_whole(cell.parts_accepted);
            if !whole || has_arrived(cell.state) || cell.state == DeliveryState::Accepted {
                return;
            }
            // A receipt that came first may have reported that it failed.
            if cell.state == DeliveryState::Failed && cell.reason == Reason::NotDelivered && !older {
                return;
            }
            cell.state = DeliveryState::Accepted;
            cell.reason = if cell.reason == Reason::Resent { Reason::Resent } else { Reason::None };
            cell.detail = 0;
            cell.due = 0;
            cell.route = route;
            cell.accepted = offset(created, at);
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
        let (mut missed, mut absent) = (false, false);
        live.edit(endpoint, at, |cell| {
            if has_arrived(cell.state) || cell.state == DeliveryState::Accepted || is_ended(cell) {
                return;
            }
            cell.detail = words;
            let may_come = cell.channel().is_some_and(|channel| channels::traits(channel).presence);
            let wait = waits.get(usize::from(cell.tries.max(1)) - 1);
            // Who may come is waited for as long as the alert lasts.
            let last = waits.last().filter(|_| may_come && cell.tries < PRESENCE_TRIES_MAX);
            match wait.or(last).filter(|_| !permanent) {
                Some(&seconds) => {
                    absent = may_come;
                    cell.state = DeliveryState::Held;
                    cell.reason = Reason::RetryDue;
                    // Whole seconds: retries of one second come due together.
                    cell.due = offset(created, at.plus_s(i64::from(seconds))).next_multiple_of(1000);
                }
                None => {
                    cell.state = DeliveryState::Failed;
                    cell.reason = if permanent { Reason::Refused } else { Reason::AttemptsUsedUp };
                    missed = true;
                }
            }
        });
        if missed {
            self.effects.push(Effect::Missed(endpoint));
        }
        if absent {
            self.effects.push(Effect::Absent(endpoint));
        }
    }

    fn unknown(&mut self, live: &mut LiveAlert, endpoint: EndpointNo, words: u32, at: Timestamp) {
        let tries_max = self.retry_after_s.len() + 1;
        let resend = live.alert.request.on_unknown == OnUnknown::Resend && !live.alert.state.is_final();
        live.edit(endpoint, at, |cell| {
            if !matches!(cell.state, DeliveryState::Submitted | DeliveryState::Planned) {
                return;
            }
            cell.detail = words;
            if resend && usize::from(cell.tries) < tries_max {
                cell.state = DeliveryState::Planned;
                cell.reason = Reason::Resent;
            } else {
                cell.state = DeliveryState::Unknown;
                cell.reason = Reason::PeerSilent;
            }
        });
    }

    /// The network sent a receipt for a message.
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
        live.edit(endpoint, at, |cell| match state {
            ReceiptState::Buffered => {}
            ReceiptState::Delivered => {
                cell.parts_delivered |= part_bit(part);
                if !cell.is_whole(cell.parts_delivered) || has_arrived(cell.state) {
                    return;
                }
                cell.state = DeliveryState::Delivered;
                cell.reason = Reason::None;
                cell.detail = 0;
                cell.due = 0;
                cell.delivered = offset(created, at);
                if cell.accepted == 0 {
                    cell.accepted = cell.delivered;
                }
                effect = Some(Effect::Reached(endpoint));
            }
            ReceiptState::Failed | ReceiptState::Expired => {
                if has_arrived(cell.state)
                    || matches!(cell.state, DeliveryState::Failed | DeliveryState::Held)
                {
                    return;
                }
                cell.state = DeliveryState::Failed;
                cell.reason = Reason::NotDelivered;
                cell.detail = words;
                if state == ReceiptState::Expired {
                    cell.flags |= LAPSED;
                }
                effect = Some(Effect::Missed(endpoint));
            }
        });
        self.effects.extend(effect);
    }

    /// A person answered. The last answer counts.
    pub fn answer(&mut self, live: &mut LiveAlert, endpoint: EndpointNo, answer: Answer) {
        let Some(before) = live.cell(endpoint).copied() else { return };
        let at = answer.at;
        let Some(place) = live.answers.put(before.answer, answer) else { return };
        let created = live.alert.created;
        live.edit(endpoint, at, |cell| {
            cell.answer = place;
            cell.state = DeliveryState::Answered;
            cell.reason = Reason::None;
            cell.due = 0;
            if cell.accepted == 0 {
                cell.accepted = offset(created, at);
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
        AlertState::Done => Reason::EnoughAnswers,
        _ => Reason::Cancelled,
    };
    live.edit(endpoint, at, |cell| {
        let under_way = cell.flags & IN_SEGMENT != 0 && cell.flags & BEGUN != 0;
        if cell.state == DeliveryState::Submitted || under_way {
            cell.tries = cell.tries.saturating_sub(1);
            if cell.tries == 0 {
                cell.submitted = 0;
            }
        }
        if !matches!(cell.state, DeliveryState::Planned | DeliveryState::Submitted) {
            return;
        }
        cell.route = NO_ROUTE;
        match why {
            NotTried::Paused | NotTried::RouteDown | NotTried::Closing => cell.state = DeliveryState::Planned,
            NotTried::Stopped => {
                cell.state = DeliveryState::Failed;
                cell.reason = stopped;
            }
            NotTried::Expired => {
                cell.state = DeliveryState::Failed;
                cell.reason = Reason::Expired;
            }
        }
    });
}

/// The device has it, or its person answered: nothing takes that back.
fn has_arrived(state: DeliveryState) -> bool {
    matches!(state, DeliveryState::Delivered | DeliveryState::Answered)
}

/// Its last attempt was ended before, by another part of it or before a crash.
fn is_ended(cell: &DeliveryCell) -> bool {
    matches!(cell.state, DeliveryState::Held | DeliveryState::Failed | DeliveryState::Unknown)
}

/// The bit of a part; what is above 16 shares the last.
pub fn part_bit(part: u8) -> u16 {
    1 << (part.clamp(1, 16) - 1)
}

fn join(code: &str, text: &str) -> String {
    format!("{code} {text}")
}
