//! Checks of a gateway: each runs a route to the far end, and answers with the first thing that is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use records::{AttemptResult, Body, ControlState, NotTried, Outcome};

use super::test_bus::{ROUTE, TestBus, until};
use super::{FarEnd, Manner};
use crate::cluster::RateAllocator;
use crate::{Changed, Gateway, GatewayContext, RunningGateway};

type Checked<'a> = BoxFuture<'a, Result<(), String>>;

/// Text of the messages.
const TEXT: &str = "Leave by the north gate";
/// A lease that outlasts any pause of the machine.
const LEASE: Duration = Duration::from_secs(60);

/// The process that is alone.
const ALONE: &str = "alone";

fn start(
    gateway: &dyn Gateway,
    far_end: &dyn FarEnd,
    rate: f64,
    context: &GatewayContext,
) -> Result<RunningGateway, String> {
    start_in(ALONE, gateway, far_end, rate, context)
}

fn start_in(
    process: &str,
    gateway: &dyn Gateway,
    far_end: &dyn FarEnd,
    rate: f64,
    context: &GatewayContext,
) -> Result<RunningGateway, String> {
    let route = far_end.route(ROUTE, rate, process);
    gateway.start(&route, None, context).map_err(|problems| format!("does not start: {problems:?}"))
}

fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn is_accepted(result: &AttemptResult) -> bool {
    matches!(result, AttemptResult::Accepted { .. })
}

/// The intent of each entry stands before its outcome, and is durable before the entry is written.
pub(super) fn intent_comes_first<'a>(gateway: &'a dyn Gateway, far_end: &'a dyn FarEnd) -> Checked<'a> {
    async move {
        let persons = far_end.persons().min(60);
        let mut ground = TestBus::new(far_end);
        let early = observe_early_writes(&mut ground);
        ground.append(far_end, 0, persons, 1, &Body::of_text(TEXT)).await;
        let running = start(gateway, far_end, 0.0, &ground.context)?;
        ground.until_ended(persons as usize).await?;
        running.stop().await;
        let mut intended = BTreeSet::new();
        for outcome in ground.outcomes() {
            match outcome {
                Outcome::Intent(intent) => intended.extend(intent.attempts),
                Outcome::Attempt { of, result, .. } if !matches!(result, AttemptResult::NotTried { .. }) => {
                    require(intended.contains(&(of.endpoint, of.attempt)), || {
                        format!("{of:?} has the outcome {result:?} and no intent before it")
                    })?;
                }
                _ => {}
            }
        }
        require(ground.written() >= persons as usize, || format!("{} writes reported", ground.written()))?;
        match early.lock().unwrap().clone() {
            Some(early) => Err(early),
            None => Ok(()),
        }
    }
    .boxed()
}

/// At each write that is reported, as many units are intended on the bus as were written; what was seen
/// otherwise.
fn observe_early_writes(ground: &mut TestBus) -> Arc<Mutex<Option<String>>> {
    let early = Arc::new(Mutex::new(None));
    let (seen, note, bus) = (Arc::clone(&early), ground.observer(""), Arc::clone(&ground.bus));
    let written = Mutex::new(0);
    ground.context.write_observer = Some(Arc::new(move |route, units, before, after| {
        note(route, units, before, after);
        let mut written = written.lock().unwrap();
        *written += units;
        let topic = bus.topic(records::OUTCOMES).unwrap();
        let records = topic.read(0, 100_000, 100_000_000).unwrap();
        let outcomes = records.iter().flat_map(|record| records::decode_outcomes(&record.octets).unwrap());
        let intended: usize = outcomes
            .map(|outcome| if let Outcome::Intent(intent) = outcome { intent.attempts.len() } else { 0 })
            .sum();
        if *written > intended {
            *seen.lock().unwrap() = Some(format!("{written} units were written, {intended} intended"));
        }
    }));
    early
}

/// Entries that the far end read and never answered are unknown once the connection is gone, and are not
/// written again.
pub(super) fn cut_leaves_unknown<'a>(gateway: &'a dyn Gateway, far_end: &'a dyn FarEnd) -> Checked<'a> {
    async move {
        let persons = far_end.persons().min(60);
        if !far_end.set_manner(Manner::Silent) {
            return Ok(());
        }
        let ground = TestBus::new(far_end);
        ground.append(far_end, 0, persons, 1, &Body::of_text(TEXT)).await;
        let running = start(gateway, far_end, 0.0, &ground.context)?;
        until("a write", || async { ground.written() > 0 }).await?;
        far_end.set_manner(Manner::Accept);
        require(far_end.cut(), || "a far end that is silent has connections to cut".to_owned())?;
        let ended = ground.until_ended(persons as usize).await?;
        running.stop().await;
        let unknown = ended.values().filter(|result| matches!(result, AttemptResult::Unknown { .. })).count();
        require(unknown > 0, || format!("nothing is unknown: {ended:?}"))?;
        let other = ended
            .values()
            .find(|result| !is_accepted(result) && !matches!(result, AttemptResult::Unknown { .. }));
        require(other.is_none(), || format!("neither accepted nor unknown: {other:?}"))?;
        no_second_copies(far_end)
    }
    .boxed()
}

/// Whatever moment a process is killed at: everybody has an outcome after the next start, a channel that says
/// it is repeatable gives back what was under way and leaves no second copy when it is tried again, any other
/// calls it unknown.
pub(super) fn kill_leaves_nobody_out<'a>(gateway: &'a dyn Gateway, far_end: &'a dyn FarEnd) -> Checked<'a> {
    async move {
        let persons = far_end.persons().min(240);
        let ground = TestBus::new(far_end);
        ground.append(far_end, 0, persons, 1, &Body::of_text(TEXT)).await;
        let _gone = start(gateway, far_end, 0.0, &ground.context)?;
        until("an outcome", || async { ground.ended().is_ok_and(|ended| !ended.is_empty()) }).await?;
        let ground = ground.killed(far_end);
        let running = start(gateway, far_end, 0.0, &ground.context)?;
        let ended = ground.until_ended(persons as usize).await?;
        let repeatable = far_end.repeatable(channels::traits(gateway.channel()).repeatable);
        let mut again = Vec::new();
        for ((person, _), result) in &ended {
            match result {
                AttemptResult::Accepted { .. } => {}
                AttemptResult::Unknown { .. } if !repeatable => {}
                AttemptResult::NotTried { .. } if repeatable => again.push(*person),
                other => return Err(format!("person {person}: {other:?} after a kill")),
            }
        }
        for person in &again {
            ground.append(far_end, *person, 1, 2, &Body::of_text(TEXT)).await;
        }
        let ended = ground.until_ended(persons as usize + again.len()).await?;
        running.stop().await;
        let repeated = again.iter().map(|person| &ended[&(*person, 2)]).find(|result| !is_accepted(result));
        require(repeated.is_none(), || format!("tried again, and {repeated:?}"))?;
        no_second_copies(far_end)
    }
    .boxed()
}

/// Nobody got two messages: copies with the same identity are one.
fn no_second_copies(far_end: &dyn FarEnd) -> Result<(), String> {
    let mut identities: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for message in far_end.arrived() {
        identities.entry(message.address).or_default().insert(message.identity);
    }
    let twice = identities.into_iter().find(|(_, identities)| identities.len() > 1);
    require(twice.is_none(), || format!("more than one message reached one person: {twice:?}"))
}

/// Nothing of an alert that is paused, or stopped, reaches anybody.
pub(super) fn paused_is_not_tried<'a>(gateway: &'a dyn Gateway, far_end: &'a dyn FarEnd) -> Checked<'a> {
    async move {
        let persons = far_end.persons().min(20);
        for (state, expected) in
            [(ControlState::Pause, NotTried::Paused), (ControlState::Stop, NotTried::Stopped)]
        {
            let ground = TestBus::new(far_end);
            ground.control(state, 1).await;
            ground.append(far_end, 0, persons, 1, &Body::of_text(TEXT)).await;
            let running = start(gateway, far_end, 0.0, &ground.context)?;
            let ended = ground.until_ended(persons as usize).await?;
            running.stop().await;
            let wrong = ended.values().find(|result| **result != AttemptResult::NotTried { why: expected });
            require(wrong.is_none(), || format!("{state:?}, and {wrong:?}"))?;
            let arrived = far_end.arrived();
            require(arrived.is_empty(), || format!("{state:?}, and {} messages arrived", arrived.len()))?;
        }
        Ok(())
    }
    .boxed()
}

/// Two processes that have one route stay below its rate together, in every second.
pub(super) fn rate_is_shared<'a>(gateway: &'a dyn Gateway, far_end: &'a dyn FarEnd) -> Checked<'a> {
    async move {
        // More than one process takes at once, so that both have work; it takes four seconds.
        let (persons, rate) = (160_u32, 40_usize);
        let ground = TestBus::new(far_end);
        let (bus, cores) = (&*ground.bus, &ground.context.cores);
        let allocator =
            RateAllocator::start(bus, cores, "hands out", LEASE).map_err(|error| error.to_string())?;
        allocator.lead(true);
        ground.append(far_end, 0, persons, 1, &Body::of_text(TEXT)).await;
        let mut running = Vec::new();
        for process in ["one", "two"] {
            let mut context = ground.context.clone();
            context.write_observer = Some(ground.observer(process));
            context.limits = Arc::default();
            context.share(process, LEASE).map_err(|error| error.to_string())?;
            running.push(start_in(process, gateway, far_end, rate as f64, &context)?);
        }
        let ended = ground.until_ended(persons as usize).await?;
        for process in running {
            process.stop().await;
        }
        allocator.stop().await;
        let refused = ended.values().find(|result| !is_accepted(result));
        require(refused.is_none(), || format!("{refused:?}"))?;
        let mut writes = ground.writes.lock().unwrap().clone();
        writes.sort_by_key(|(.., at)| *at);
        for (place, (.., from)) in writes.iter().enumerate() {
            let second = writes[place..].iter().take_while(|(.., at)| *at <= *from + Duration::from_secs(1));
            let most: usize = second.map(|(_, units, _)| units).sum();
            require(most <= rate, || format!("{most} in a second of a route of {rate} a second"))?;
        }
        no_second_copies(far_end)
    }
    .boxed()
}

/// A change of the rate is made in place, and everybody gets the message once.
pub(super) fn reload_loses_nothing<'a>(gateway: &'a dyn Gateway, far_end: &'a dyn FarEnd) -> Checked<'a> {
    async move {
        let persons = far_end.persons().min(120);
        let ground = TestBus::new(far_end);
        ground.append(far_end, 0, persons, 1, &Body::of_text(TEXT)).await;
        let running = start(gateway, far_end, f64::from(persons / 6), &ground.context)?;
        until("a write", || async { ground.written() > 0 }).await?;
        let changed = gateway.change(&running, &far_end.route(ROUTE, 0.0, ALONE), None).await;
        require(changed == Ok(Changed::InPlace), || format!("a change of the rate: {changed:?}"))?;
        let changed = gateway.change(&running, &far_end.route(ROUTE, 0.0, ALONE), None).await;
        require(changed == Ok(Changed::Nothing), || format!("the same settings again: {changed:?}"))?;
        let changed = gateway.change(&running, &far_end.route("another", 0.0, ALONE), None).await;
        require(changed.is_err(), || "a route took another name".to_owned())?;
        let ended = ground.until_ended(persons as usize).await?;
        running.stop().await;
        let lost = ended.values().find(|result| !is_accepted(result));
        require(lost.is_none(), || format!("{lost:?} in a reload"))?;
        no_second_copies(far_end)
    }
    .boxed()
}

/// A text that begins with the mark of a drill arrives so.
pub(super) fn drill_mark_arrives<'a>(gateway: &'a dyn Gateway, far_end: &'a dyn FarEnd) -> Checked<'a> {
    async move {
        let ground = TestBus::new(far_end);
        let text = format!("[EXERCISE] {TEXT}");
        ground.append(far_end, 0, 1, 1, &Body::of_text(text.clone())).await;
        let running = start(gateway, far_end, 0.0, &ground.context)?;
        ground.until_ended(1).await?;
        running.stop().await;
        let arrived = far_end.arrived();
        let marked = arrived.iter().all(|message| message.text.trim_start().starts_with("[EXERCISE]"));
        require(marked && !arrived.is_empty(), || format!("{arrived:?} of {text:?}"))
    }
    .boxed()
}

/// A refusal for good is permanent, and one for now is not.
pub(super) fn refusals_have_their_class<'a>(
    gateway: &'a dyn Gateway,
    far_end: &'a dyn FarEnd,
) -> Checked<'a> {
    async move {
        for (manner, expected) in [(Manner::RefuseForGood, true), (Manner::RefuseForNow, false)] {
            if !far_end.set_manner(manner) {
                continue;
            }
            let ground = TestBus::new(far_end);
            ground.append(far_end, 0, 3, 1, &Body::of_text(TEXT)).await;
            let running = start(gateway, far_end, 0.0, &ground.context)?;
            let ended = ground.until_ended(3).await?;
            running.stop().await;
            let is_so = |result: &AttemptResult| {
                matches!(result, AttemptResult::Refused { permanent, .. } if *permanent == expected)
            };
            require(ended.values().all(is_so), || format!("{manner:?}: {ended:?}"))?;
        }
        Ok(())
    }
    .boxed()
}
