//! Query, cancellation and replacement of messages that have not left us.

use super::actor::{BackgroundResult, EngineActor, bus_error};
use super::command::{ActorCommand, Reply};
use super::context::LeaderGuard;
use crate::messages::{Steered, Wanted};
use crate::record::delivery_cell::{IN_SEGMENT, STEERED};
use records::{
    AlertNo, Delivery, DeliveryState, EndpointNo, Intake, MessageId, Reason, RosterEntry, Timestamp,
};

/// Questions about messages that intake has not come to; more are refused.
const PARKED_MAX: usize = 10_000;

/// A message in memory.
pub struct MessageLook {
    /// How it stands.
    pub delivery: Delivery,
    /// The network gave it up when its time ran out.
    pub lapsed: bool,
    /// The message, if its block is in memory.
    pub entry: Option<RosterEntry>,
}

/// Changes of one append: what any bus takes as one.
const CHANGES_AT_ONCE: usize = 1_000;

/// Messages are taken back, or say something else: that is on disk, or could not be put there.
pub struct Steering {
    /// With their indexes; nothing: it is not there.
    changes: Vec<(Intake, Option<u64>)>,
    failed: Option<bus::BusError>,
    reply: SteeringReply,
}

/// Who waits for it.
pub enum SteeringReply {
    One(Reply<Steered>),
    All(Reply<u64>),
}

impl EngineActor {
    /// Commands about messages.
    pub fn obey_message(&mut self, command: ActorCommand) {
        let id = match &command {
            ActorCommand::Message { id, .. }
            | ActorCommand::CancelMessage { id, .. }
            | ActorCommand::ReplaceMessage { id, .. } => *id,
            _ => MessageId(0),
        };
        if id.0 >= self.intake.next && id.0 < self.intake.topic.head() && self.parked.len() < PARKED_MAX {
            self.parked.push(command);
            return;
        }
        match command {
            ActorCommand::Message { account, id, reply } => {
                let _ = reply.send(Ok(self.look_at_message(&account, id)));
            }
            ActorCommand::CancelMessage { account, id, reply } => {
                let at = self.context.now();
                self.steer_message(&account, Intake::Cancel { id, at }, reply);
            }
            ActorCommand::ReplaceMessage { account, change, reply, .. } => {
                self.steer_message(&account, *change, reply);
            }
            ActorCommand::CancelMessages { account, wanted, reply } => {
                self.cancel_messages(&account, &wanted, reply)
            }
            _ => {}
        }
    }

    /// Intake went on: what was asked about messages it has come to can be answered.
    pub fn unpark(&mut self) {
        if !self.parked.is_empty() {
            for command in std::mem::take(&mut self.parked) {
                self.obey_message(command);
            }
        }
    }

    fn find(&self, account: Option<&str>, id: MessageId) -> Option<(AlertNo, EndpointNo)> {
        self.intake.candidates(account, id.0).into_iter().find_map(|no| {
            let endpoint = self.alerts.live.get(&no)?.metas.as_ref()?.endpoint(id)?;
            Some((no, endpoint))
        })
    }

    fn look_at_message(&mut self, account: &str, id: MessageId) -> Option<MessageLook> {
        let (no, endpoint) = self.find(Some(account), id)?;
        let live = self.alerts.live.get(&no)?;
        let lapsed = live.cell(endpoint)?.flags & crate::record::delivery_cell::LAPSED != 0;
        let delivery = live.delivery(endpoint, &self.alerts.strings)?;
        Some(MessageLook { delivery, lapsed, entry: self.alerts.blocks.entry_at_hand(no, endpoint) })
    }

    fn may_steer(&self, no: AlertNo, endpoint: EndpointNo) -> bool {
        self.alerts.live.get(&no).and_then(|live| live.cell(endpoint)).is_some_and(|cell| {
            matches!(cell.state, DeliveryState::Planned | DeliveryState::Held)
                && cell.flags & (IN_SEGMENT | STEERED) == 0
        })
    }

    fn steer_message(&mut self, account: &str, change: Intake, reply: Reply<Steered>) {
        let (Intake::Cancel { id, .. } | Intake::Replace { id, .. }) = &change else { return };
        let Some((no, endpoint)) = self.find(Some(account), *id) else {
            let _ = reply.send(Ok(Steered::NotFound));
            return;
        };
        if !self.may_steer(no, endpoint) {
            let _ = reply.send(Ok(Steered::TooLate));
            return;
        }
        self.steer_all(vec![(no, endpoint, change)], SteeringReply::One(reply));
    }

    fn cancel_messages(&mut self, account: &str, wanted: &Wanted, reply: Reply<u64>) {
        let at = self.context.now();
        let mut changes = Vec::new();
        for no in self.intake.alerts_of(account) {
            let waiting = self.alerts.live.get(&no).map_or_else(Vec::new, |live| live.waiting());
            for endpoint in waiting {
                if !self.may_steer(no, endpoint) {
                    continue;
                }
                let Some(entry) = self.alerts.entry(no, endpoint).filter(|entry| is_wanted(entry, wanted))
                else {
                    continue;
                };
                if let Some(message) = entry.message {
                    changes.push((no, endpoint, Intake::Cancel { id: message.id, at }));
                }
            }
        }
        if changes.is_empty() {
            let _ = reply.send(Ok(0));
            return;
        }
        self.steer_all(changes, SteeringReply::All(reply));
    }

    /// What is about to change is not sent meanwhile; it changes when that is on disk.
    fn steer_all(&mut self, changes: Vec<(AlertNo, EndpointNo, Intake)>, reply: SteeringReply) {
        let now = self.context.now();
        let mut kept = Vec::with_capacity(changes.len());
        for (no, endpoint, change) in changes {
            if let Some(live) = self.alerts.live.get_mut(&no) {
                live.edit(endpoint, now, |cell| cell.flags |= STEERED);
            }
            kept.push(change);
        }
        let (topic, guard) = (self.intake.topic.clone(), self.context.guard());
        self.context.background.push(Box::pin(async move {
            BackgroundResult::Steered(put_down(kept, &*topic, &guard, reply).await)
        }));
    }

    /// It is on disk, or could not be put there.
    pub fn steered(&mut self, steering: Steering) {
        let Steering { changes, failed, reply } = steering;
        let count = changes.len() as u64;
        for (change, index) in changes {
            match index {
                // Intake may have come to it before we heard that it is there.
                Some(index) if index < self.intake.next => {}
                Some(index) => {
                    self.intake.carried_out.insert(index);
                    self.take_change(change);
                }
                None => self.let_go_of(&change),
            }
        }
        let failed = failed.map(bus_error);
        match (reply, failed) {
            (SteeringReply::One(reply), None) => _ = reply.send(Ok(Steered::Done)),
            (SteeringReply::All(reply), None) => _ = reply.send(Ok(count)),
            (SteeringReply::One(reply), Some(error)) => _ = reply.send(Err(error)),
            (SteeringReply::All(reply), Some(error)) => _ = reply.send(Err(error)),
        }
    }

    fn let_go_of(&mut self, change: &Intake) {
        let (Intake::Cancel { id, .. } | Intake::Replace { id, .. }) = change else { return };
        let now = self.context.now();
        let Some((no, endpoint)) = self.find(None, *id) else { return };
        if let Some(live) = self.alerts.live.get_mut(&no) {
            live.edit(endpoint, now, |cell| cell.flags &= !STEERED);
        }
        self.alerts.touch(no);
    }

    /// Carries out a change that is on disk; a second time it changes nothing.
    pub fn take_change(&mut self, change: Intake) {
        match change {
            Intake::Cancel { id, at } => {
                let Some((no, endpoint)) = self.find(None, id) else { return };
                let Some(live) = self.alerts.live.get_mut(&no) else { return };
                live.edit(endpoint, at, |cell| {
                    cell.flags &= !STEERED;
                    let waits = matches!(cell.state, DeliveryState::Planned | DeliveryState::Held);
                    if waits && cell.flags & IN_SEGMENT == 0 {
                        cell.state = DeliveryState::Failed;
                        cell.reason = Reason::Cancelled;
                        cell.due = 0;
                    }
                });
                self.alerts.touch(no);
            }
            Intake::Replace { id, short, expires, not_before, .. } => {
                let Some((no, endpoint)) = self.find(None, id) else { return };
                let Some(mut entry) = self.alerts.entry(no, endpoint) else { return };
                let Some(message) = &mut entry.message else { return };
                let asked = message.short.registered_delivery;
                message.short = *short;
                message.short.registered_delivery = message.short.registered_delivery.or(asked);
                entry.expires = expires.or(entry.expires);
                entry.not_before = not_before.or(entry.not_before);
                self.alerts.blocks.replace(no, endpoint, &entry);
                self.reschedule(no, endpoint, entry.expires, not_before);
                self.alerts.touch(no);
            }
            Intake::Message(_) => {}
        }
    }

    fn reschedule(
        &mut self,
        no: AlertNo,
        endpoint: EndpointNo,
        expires: Option<Timestamp>,
        not_before: Option<Timestamp>,
    ) {
        let now = self.context.now();
        let Some(live) = self.alerts.live.get_mut(&no) else { return };
        if let Some(expires) = expires {
            live.set_expiry(endpoint, expires);
        }
        let created = live.alert.created;
        live.edit(endpoint, now, |cell| {
            cell.flags &= !STEERED;
            let Some(until) = not_before else { return };
            match cell.state {
                DeliveryState::Planned if until > now && cell.flags & IN_SEGMENT == 0 => {
                    cell.state = DeliveryState::Held;
                    cell.reason = Reason::NotBefore;
                    cell.due = crate::record::delivery_cell::offset(created, until);
                }
                DeliveryState::Held if cell.reason == Reason::NotBefore => {
                    cell.due = crate::record::delivery_cell::offset(created, until);
                }
                _ => {}
            }
        });
    }
}

/// Appends changes until all are there, or one append failed.
async fn put_down(
    kept: Vec<Intake>,
    topic: &dyn bus::Topic,
    guard: &LeaderGuard,
    reply: SteeringReply,
) -> Steering {
    let (mut changes, mut failed) = (Vec::with_capacity(kept.len()), None);
    let mut left = kept.into_iter().peekable();
    while left.peek().is_some() {
        let slice: Vec<Intake> = left.by_ref().take(CHANGES_AT_ONCE).collect();
        let records: Vec<Vec<u8>> = slice.iter().map(Intake::encode).collect();
        let slices: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
        let mut first = None;
        if failed.is_none() {
            match guard.holds() {
                true => match topic.append(&slices).await {
                    Ok(at) => first = Some(at),
                    Err(error) => failed = Some(error),
                },
                false => failed = Some(LeaderGuard::passed()),
            }
        }
        let index = |place: usize| first.map(|first| first + place as u64);
        changes.extend(slice.into_iter().enumerate().map(|(place, change)| (change, index(place))));
    }
    // Only what was there before another could lead is known to it before it plans.
    if !guard.holds() {
        failed.get_or_insert(LeaderGuard::passed());
    }
    Steering { changes, failed, reply }
}

fn is_wanted(entry: &RosterEntry, wanted: &Wanted) -> bool {
    entry.message.as_ref().is_some_and(|message| {
        message.party == wanted.party
            && *message.short.source.addr == *wanted.source
            && entry.address == wanted.to
            && (wanted.service_type.is_empty() || *message.short.service_type == *wanted.service_type)
    })
}
