//! MessageQueries answers queries, cancellations and replacements of messages that have not left us. It owns
//! those about messages that intake has not come to.

use super::actor::{BackgroundResult, bus_error};
use super::alerts::Alerts;
use super::command::{ActorCommand, Reply};
use super::context::{Context, LeaderGuard};
use super::intake::IntakeReader;
use crate::messages::{MessageFilter, Steered};
use crate::record::delivery_cell::{IN_SEGMENT, LAPSED, STEERED, offset};
use records::{
    AlertNo, Delivery, DeliveryState, EndpointNo, Intake, MessageId, Reason, RosterEntry, Timestamp,
};

/// Queries of messages that intake has not come to; more are answered at once, as not found.
const PARKED_MAX: usize = 10_000;
/// Changes of one append: as many as any bus takes as one.
const CHANGES_AT_ONCE: usize = 1_000;

/// See the module.
#[derive(Default)]
pub struct MessageQueries {
    parked: Vec<ActorCommand>,
}

/// A message in memory.
pub struct MessageLook {
    /// How it stands.
    pub delivery: Delivery,
    /// The network gave it up when its time ran out.
    pub lapsed: bool,
    /// The message, if its block is in memory.
    pub entry: Option<RosterEntry>,
}

/// Messages are cancelled or replaced: that is on disk, or could not be put there.
pub struct Steering {
    /// With their indexes; nothing: it is not there.
    changes: Vec<(Intake, Option<u64>)>,
    failed: Option<bus::BusError>,
    reply: SteeringReply,
}

/// Where the result goes.
pub enum SteeringReply {
    One(Reply<Steered>),
    All(Reply<u64>),
    /// It follows from another message.
    Nobody,
}

impl MessageQueries {
    /// Commands about messages.
    pub fn obey(
        &mut self,
        command: ActorCommand,
        intake: &IntakeReader,
        alerts: &mut Alerts,
        context: &Context,
    ) {
        let id = match &command {
            ActorCommand::Message { id, .. }
            | ActorCommand::CancelMessage { id, .. }
            | ActorCommand::ReplaceMessage { id, .. } => *id,
            _ => MessageId(0),
        };
        if intake.is_ahead(id) && self.parked.len() < PARKED_MAX {
            self.parked.push(command);
            return;
        }
        match command {
            ActorCommand::Message { account, id, reply } => {
                let _ = reply.send(Ok(look(alerts, &account, id)));
            }
            ActorCommand::CancelMessage { account, id, reply } => {
                let at = context.now();
                steer_message(&account, Intake::Cancel { id, at }, reply, intake, alerts, context);
            }
            ActorCommand::ReplaceMessage { account, change, reply, .. } => {
                steer_message(&account, *change, reply, intake, alerts, context);
            }
            ActorCommand::CancelMessages { account, wanted, reply } => {
                cancel_all(&account, &wanted, reply, intake, alerts, context);
            }
            _ => {}
        }
    }

    /// Intake went on: queries of messages it has come to can be answered.
    pub fn answer_parked(&mut self, intake: &IntakeReader, alerts: &mut Alerts, context: &Context) {
        if !self.parked.is_empty() {
            for command in std::mem::take(&mut self.parked) {
                self.obey(command, intake, alerts, context);
            }
        }
    }
}

fn find(alerts: &Alerts, account: Option<&str>, id: MessageId) -> Option<(AlertNo, EndpointNo)> {
    alerts.streams.candidates(account, id.0).into_iter().find_map(|no| {
        let endpoint = alerts.live.get(&no)?.metas.as_ref()?.endpoint(id)?;
        Some((no, endpoint))
    })
}

fn look(alerts: &Alerts, account: &str, id: MessageId) -> Option<MessageLook> {
    let (no, endpoint) = find(alerts, Some(account), id)?;
    let lapsed = alerts.live.get(&no)?.cell(endpoint)?.flags & LAPSED != 0;
    let delivery = alerts.delivery(no, endpoint)?;
    Some(MessageLook { delivery, lapsed, entry: alerts.blocks.entry_at_hand(no, endpoint) })
}

fn may_steer(alerts: &Alerts, no: AlertNo, endpoint: EndpointNo) -> bool {
    alerts.live.get(&no).and_then(|live| live.cell(endpoint)).is_some_and(|cell| {
        matches!(cell.state, DeliveryState::Planned | DeliveryState::Held)
            && cell.flags & (IN_SEGMENT | STEERED) == 0
    })
}

fn steer_message(
    account: &str,
    change: Intake,
    reply: Reply<Steered>,
    intake: &IntakeReader,
    alerts: &mut Alerts,
    context: &Context,
) {
    let (Intake::Cancel { id, .. } | Intake::Replace { id, .. }) = &change else { return };
    let Some((no, endpoint)) = find(alerts, Some(account), *id) else {
        let _ = reply.send(Ok(Steered::NotFound));
        return;
    };
    if !may_steer(alerts, no, endpoint) {
        let _ = reply.send(Ok(Steered::TooLate));
        return;
    }
    append(vec![(no, endpoint, change)], SteeringReply::One(reply), intake, alerts, context);
}

fn cancel_all(
    account: &str,
    filter: &MessageFilter,
    reply: Reply<u64>,
    intake: &IntakeReader,
    alerts: &mut Alerts,
    context: &Context,
) {
    let at = context.now();
    let mut changes = Vec::new();
    for no in alerts.streams.all_of(account) {
        let waiting = alerts.live.get(&no).map_or_else(Vec::new, |live| live.waiting());
        for endpoint in waiting {
            if !may_steer(alerts, no, endpoint) {
                continue;
            }
            let Some(entry) = alerts.entry(no, endpoint).filter(|entry| matches(entry, filter)) else {
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
    append(changes, SteeringReply::All(reply), intake, alerts, context);
}

/// Takes back a message that a later one of its client replaces.
pub fn take_back(
    (no, endpoint): (AlertNo, EndpointNo),
    id: MessageId,
    intake: &IntakeReader,
    alerts: &mut Alerts,
    context: &Context,
) {
    let change = Intake::Cancel { id, at: context.now() };
    append(vec![(no, endpoint, change)], SteeringReply::Nobody, intake, alerts, context);
}

/// Messages about to change are not sent meanwhile; they change when that is on disk.
fn append(
    changes: Vec<(AlertNo, EndpointNo, Intake)>,
    reply: SteeringReply,
    intake: &IntakeReader,
    alerts: &mut Alerts,
    context: &Context,
) {
    let now = context.now();
    let mut kept = Vec::with_capacity(changes.len());
    for (no, endpoint, change) in changes {
        if let Some(live) = alerts.live.get_mut(&no) {
            live.edit(endpoint, now, |cell| cell.flags |= STEERED);
        }
        kept.push(change);
    }
    let (topic, guard) = (intake.topic.clone(), context.guard());
    context
        .spawn(async move { BackgroundResult::Steered(append_changes(kept, &*topic, &guard, reply).await) });
}

/// Changes are on disk, or could not be put there.
pub fn appended(steering: Steering, intake: &mut IntakeReader, alerts: &mut Alerts, context: &Context) {
    let Steering { changes, failed, reply } = steering;
    let count = changes.len() as u64;
    for (change, index) in changes {
        match index {
            // Intake may have come to it before this result came.
            Some(index) if index < intake.next => {}
            Some(index) => {
                intake.carried_out.insert(index);
                carry_out(change, alerts, context);
            }
            None => release(&change, alerts, context),
        }
    }
    let failed = failed.map(bus_error);
    match (reply, failed) {
        (SteeringReply::One(reply), None) => _ = reply.send(Ok(Steered::Done)),
        (SteeringReply::All(reply), None) => _ = reply.send(Ok(count)),
        (SteeringReply::Nobody, None) => {}
        (SteeringReply::Nobody, Some(error)) => {
            tracing::error!(%error, "a message could not be replaced by a later one: both are sent");
        }
        (SteeringReply::One(reply), Some(error)) => _ = reply.send(Err(error)),
        (SteeringReply::All(reply), Some(error)) => _ = reply.send(Err(error)),
    }
}

/// A message whose change is not on disk may be sent again.
fn release(change: &Intake, alerts: &mut Alerts, context: &Context) {
    let (Intake::Cancel { id, .. } | Intake::Replace { id, .. }) = change else { return };
    let Some((no, endpoint)) = find(alerts, None, *id) else { return };
    if let Some(live) = alerts.live.get_mut(&no) {
        live.edit(endpoint, context.now(), |cell| cell.flags &= !STEERED);
    }
    alerts.touch(no);
}

/// Carries out a change that is on disk; a second time it changes nothing.
pub fn carry_out(change: Intake, alerts: &mut Alerts, context: &Context) {
    match change {
        Intake::Cancel { id, at } => {
            let Some((no, endpoint)) = find(alerts, None, id) else { return };
            let Some(live) = alerts.live.get_mut(&no) else { return };
            live.edit(endpoint, at, |cell| {
                cell.flags &= !STEERED;
                let waits = matches!(cell.state, DeliveryState::Planned | DeliveryState::Held);
                if waits && cell.flags & IN_SEGMENT == 0 {
                    cell.state = DeliveryState::Failed;
                    cell.reason = Reason::Cancelled;
                    cell.due = 0;
                }
            });
            alerts.touch(no);
        }
        Intake::Replace { id, short, expires, not_before, .. } => {
            let Some((no, endpoint)) = find(alerts, None, id) else { return };
            let Some(mut entry) = alerts.entry(no, endpoint) else { return };
            let Some(message) = &mut entry.message else { return };
            let requested = message.short.registered_delivery;
            message.short = *short;
            message.short.registered_delivery = message.short.registered_delivery.or(requested);
            entry.expires = expires.or(entry.expires);
            entry.not_before = not_before.or(entry.not_before);
            alerts.blocks.replace(no, endpoint, &entry);
            reschedule(alerts, (no, endpoint), entry.expires, not_before, context.now());
            alerts.touch(no);
        }
        Intake::Message(_) => {}
    }
}

fn reschedule(
    alerts: &mut Alerts,
    (no, endpoint): (AlertNo, EndpointNo),
    expires: Option<Timestamp>,
    not_before: Option<Timestamp>,
    now: Timestamp,
) {
    let Some(live) = alerts.live.get_mut(&no) else { return };
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
                cell.due = offset(created, until);
            }
            DeliveryState::Held if cell.reason == Reason::NotBefore => {
                cell.due = offset(created, until);
            }
            _ => {}
        }
    });
}

/// Appends changes until all are there, or one append failed.
async fn append_changes(
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

fn matches(entry: &RosterEntry, filter: &MessageFilter) -> bool {
    entry.message.as_ref().is_some_and(|message| {
        message.party == filter.party
            && *message.short.source.addr == *filter.source
            && entry.address == filter.to
            && (filter.service_type.is_empty() || *message.short.service_type == *filter.service_type)
    })
}
