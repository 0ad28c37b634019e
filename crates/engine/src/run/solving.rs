//! Solving runs solves on threads of their own, a few at a time. It owns the alerts that wait for one, the
//! replies that wait for them, and the alerts to be tried again.

use super::actor::{BackgroundResult, store_error};
use super::alerts::Alerts;
use super::audience_source::{AudienceOf, SolveInputs, group_set};
use super::command::{ActorCommand, Reply, Solved};
use super::context::Context;
use super::event_publisher::EventPublisher;
use super::forecasting::ForecastingCommand;
use super::forecasts::plan_of;
use super::told_before::{Settling, ToldBefore};
use crate::api::{EngineError, OptOutRules, Parts, Problem, Steer};
use crate::approval::{ApprovalAudience, ApprovalDemand, after_solve, reaches_nobody};
use crate::dispatch::Wording;
use crate::plan::{Chains, Classifier};
use crate::record::LiveAlert;
use crate::solve::audience::{To, parsed};
use crate::solve::{Roster, Solver, strategy_of};
use records::{Alert, AlertNo, AlertState, DeliveryState, RosterBlock, Strategy, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::sync::Arc;
use store::{ApprovalChange, SeenAlert, Store, StoreError};
use tokio::runtime::Handle;

/// Solves at once.
const AT_ONCE: usize = 16;
/// Blocks written in one piece.
const BLOCKS_AT_ONCE: usize = 64;
/// An alert that could not be solved is tried again after so long.
const AGAIN_AFTER_US: i64 = 60_000_000;

/// How the note of an alert begins that is not solved yet, and ends.
const NOT_YET: &str = "nobody is told yet";
const AGAIN: &str = "; it is tried again each minute";

/// See the module.
#[derive(Default)]
pub struct Solving {
    running: usize,
    queue: VecDeque<(Box<Alert>, ToldBefore)>,
    /// Alerts to whoever got earlier ones, until it is known who did.
    settling: Vec<Settling>,
    waiters: FxHashMap<AlertNo, Vec<Reply<Solved>>>,
    verbs: FxHashMap<AlertNo, Vec<(Steer, Reply<Alert>)>>,
    /// Alerts that could not be solved, and when that was.
    to_retry: FxHashMap<AlertNo, Timestamp>,
}

/// The parts that solving works on.
pub struct SolveTargets<'a> {
    pub alerts: &'a Alerts,
    pub publisher: &'a mut EventPublisher,
    pub classifier: &'a Arc<Classifier>,
    pub context: &'a Context,
}

impl Solving {
    /// An alert could not be solved: it is tried again.
    fn note_failed(&mut self, no: AlertNo, now: Timestamp) {
        self.to_retry.insert(no, now);
    }

    /// May it be tried, or did that fail a short time ago?
    pub fn may_try(&self, no: AlertNo, now: Timestamp) -> bool {
        self.to_retry.get(&no).is_none_or(|at| is_time_again(*at, now))
    }

    /// The alerts to be tried again now; they are forgotten with this.
    pub fn take_again(&mut self, now: Timestamp) -> Vec<AlertNo> {
        self.to_retry.extract_if(|_, at| is_time_again(*at, now)).map(|(no, _)| no).collect()
    }

    /// Is this alert being solved, or waiting for it?
    pub fn holds(&self, no: AlertNo) -> bool {
        self.waiters.contains_key(&no)
    }

    /// A verb that comes before the solve is through is carried out then.
    pub fn defer(&mut self, no: AlertNo, verb: Steer, reply: Reply<Alert>) {
        self.verbs.entry(no).or_default().push((verb, reply));
    }

    /// Another reply waits for it.
    fn wait_too(&mut self, no: AlertNo, reply: Option<Reply<Solved>>) {
        self.waiters.entry(no).or_default().extend(reply);
    }

    /// An alert came: it is solved, and its own callback observes it.
    pub fn solve_new(
        &mut self,
        alert: Box<Alert>,
        reply: Option<Reply<Solved>>,
        targets: &mut SolveTargets<'_>,
    ) {
        targets.publisher.observe_all(&alert, Vec::new(), targets.context.now());
        self.solve(alert, reply, targets.classifier, targets.context);
        self.solve_settled(targets.alerts, targets.classifier, targets.context);
    }

    /// However often it is announced, an alert is solved once.
    pub fn solve_once(
        &mut self,
        no: AlertNo,
        alert: Option<Box<Alert>>,
        reply: Option<Reply<Solved>>,
        targets: &mut SolveTargets<'_>,
    ) {
        if self.holds(no) {
            return self.wait_too(no, reply);
        }
        if targets.alerts.live.contains_key(&no) {
            let solved = targets.alerts.solved(no, targets.context.now());
            if let Some(reply) = reply {
                let _ = reply.send(solved.ok_or(EngineError::NotFound));
            }
            return;
        }
        match alert {
            Some(alert) if is_unsolved(&alert) => self.solve_new(alert, reply, targets),
            _ => reply.into_iter().for_each(|reply| _ = reply.send(Err(EngineError::NotFound))),
        }
    }

    /// Solves an alert of the store, if that was not done.
    pub fn look_up(&mut self, no: AlertNo, reply: Option<Reply<Solved>>, targets: &mut SolveTargets<'_>) {
        if targets.alerts.live.contains_key(&no) || self.holds(no) {
            return self.solve_once(no, None, reply, targets);
        }
        let store = targets.context.parts.store.clone();
        targets.context.spawn(async move {
            let found = store.alert_by_no(no).await.map_err(store_error);
            BackgroundResult::Found(no, found.map(|alert| alert.map(Box::new)), reply)
        });
    }

    /// An alert was read from the store.
    pub fn found(
        &mut self,
        no: AlertNo,
        found: Result<Option<Box<Alert>>, EngineError>,
        reply: Option<Reply<Solved>>,
        targets: &mut SolveTargets<'_>,
    ) {
        match (found, reply) {
            (Ok(alert), reply) => self.solve_once(no, alert, reply, targets),
            (Err(error), Some(reply)) => _ = reply.send(Err(error)),
            (Err(error), None) => {
                tracing::warn!(alert = no.0, %error, "an accepted alert could not be read; it will be tried again");
                if !targets.context.is_shared() {
                    self.note_failed(no, targets.context.now());
                }
            }
        }
    }

    /// An alert has to be solved.
    pub fn solve(
        &mut self,
        alert: Box<Alert>,
        reply: Option<Reply<Solved>>,
        classifier: &Arc<Classifier>,
        context: &Context,
    ) {
        self.waiters.entry(alert.no).or_default().extend(reply);
        match Settling::of(alert, context.now()) {
            Ok(settling) => self.settling.push(settling),
            Err(alert) => self.queue.push_back((alert, ToldBefore::default())),
        }
        self.start_solves(classifier, context);
    }

    /// Solves the alerts to whoever got earlier ones of which nothing is under way any more.
    pub fn solve_settled(&mut self, alerts: &Alerts, classifier: &Arc<Classifier>, context: &Context) {
        let now = context.now();
        for settled in self.settling.extract_if(.., |one| one.is_settled(alerts, now)) {
            self.queue.push_back(settled.into_told(alerts));
        }
        self.start_solves(classifier, context);
    }

    fn start_solves(&mut self, classifier: &Arc<Classifier>, context: &Context) {
        while self.running < AT_ONCE {
            let Some((alert, told)) = self.queue.pop_front() else { return };
            self.running += 1;
            let (parts, classifier, commands) =
                (context.parts.clone(), classifier.clone(), context.commands.clone());
            let epoch = context.epoch();
            tokio::task::spawn_blocking(move || {
                let no = alert.no;
                let forecast = (!alert.origin.is_internal()).then(|| alert.clone());
                let (result, roster) = match solve(&parts, &classifier, *alert, &told, &Handle::current()) {
                    Ok((live, roster)) => (Ok((live, roster.people())), Some(roster)),
                    Err(error) => (Err(error), None),
                };
                let Some(commands) = commands.upgrade() else { return };
                let by = classifier.clone();
                let _ = commands.blocking_send(ActorCommand::Solved { no, epoch, classifier: by, result });
                // It is sent meanwhile: its forecast is of the conditions in which it was solved.
                if let Some((alert, roster)) = forecast.zip(roster) {
                    let wording = parts.texts.of(&alert);
                    let plan = Box::new(plan_of(&parts, &classifier, &alert, &wording, roster));
                    let planned = ForecastingCommand::Planned { no, plan };
                    let _ = commands.blocking_send(ActorCommand::Forecasting(planned));
                }
            });
        }
    }

    /// A solve is through: the next begins. Gives the replies that wait for it.
    pub fn ended(
        &mut self,
        no: AlertNo,
        classifier: &Arc<Classifier>,
        context: &Context,
    ) -> Vec<Reply<Solved>> {
        self.running -= 1;
        self.start_solves(classifier, context);
        self.waiters.remove(&no).unwrap_or_default()
    }

    /// The verbs that came before the solve was through.
    pub fn take_deferred(&mut self, no: AlertNo) -> Vec<(Steer, Reply<Alert>)> {
        self.verbs.remove(&no).unwrap_or_default()
    }

    /// It is tried again, unless a reply waits for it and says that it cannot be carried out: then it must
    /// not be sent later. What is replied is written down first.
    pub fn failed(
        &mut self,
        no: AlertNo,
        error: EngineError,
        waiters: Vec<Reply<Solved>>,
        context: &Context,
    ) {
        let now = context.now();
        let is_refused = matches!(error, EngineError::Unprocessable(_)) && !waiters.is_empty();
        let (state, note) = if is_refused {
            (AlertState::Cancelled, format!("refused: {error}"))
        } else {
            tracing::error!(alert = no.0, %error, "an alert could not be solved; it will be tried again in a minute");
            self.note_failed(no, now);
            (AlertState::Accepted, format!("{NOT_YET}: {error}{AGAIN}"))
        };
        let store = context.parts.store.clone();
        context.spawn_logged(async move {
            let written = write_note(&*store, no, state, &note, now).await;
            for waiter in waiters {
                let _ = waiter.send(Err(error.clone()));
            }
            written.map_err(|error| format!("why an alert could not be solved was not written down: {error}"))
        });
    }
}

/// Nobody was looked up for it yet.
pub fn is_unsolved(alert: &Alert) -> bool {
    matches!(alert.state, AlertState::Accepted | AlertState::Solving)
}

fn is_time_again(failed: Timestamp, now: Timestamp) -> bool {
    now < failed || now.us_since(failed) >= AGAIN_AFTER_US
}

/// What is over by now is not tried again. A verb may have ended it meanwhile: that stays.
async fn write_note(
    store: &dyn Store,
    no: AlertNo,
    state: AlertState,
    note: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    match store.alert_by_no(no).await? {
        Some(alert) if !alert.state.is_final() && alert.request.expires <= now => {
            let note = note.replacen(NOT_YET, "nobody was told before it expired", 1).replace(AGAIN, "");
            store.set_alert_state(no, AlertState::Expired, alert.version + 1, &note, now).await
        }
        Some(alert) if !alert.state.is_final() => {
            store.set_alert_state(no, state, alert.version + 1, note, now).await
        }
        _ => Ok(()),
    }
}

/// The whole solve of one alert, on the calling thread.
fn solve(
    parts: &Parts,
    classifier: &Classifier,
    alert: Alert,
    told: &ToldBefore,
    runtime: &Handle,
) -> Result<(Box<LiveAlert>, Roster), EngineError> {
    let wording = parts.texts.of(&alert);
    let now = (parts.clock)();
    let roster = roster(parts, &parts.settings.keywords.opt_out, &alert, told, &wording, now, runtime)?;
    let demand = demand(parts, &alert, roster.people(), runtime)?;
    store_roster(parts, classifier, alert, (wording, demand), &roster, now, runtime)
        .map(|live| (Box::new(live), roster))
}

/// Who is in it. Also what a forecast looks at.
pub fn roster(
    parts: &Parts,
    rules: &OptOutRules,
    alert: &Alert,
    told: &ToldBefore,
    wording: &Wording,
    now: Timestamp,
    runtime: &Handle,
) -> Result<Roster, EngineError> {
    let request = &alert.request;
    let (wanted, unwanted) = parsed(request).map_err(EngineError::Unprocessable)?;
    let audience = AudienceOf { account: &alert.account, request, wanted: &wanted, unwanted: &unwanted };
    let SolveInputs { matcher, opted_out } = audience.inputs(parts, rules, runtime)?;
    let max = parts.settings.endpoints_max;
    let mut solver = Solver::new(request, matcher, opted_out, wording, now, max);
    audience.show(parts, told, &mut solver, runtime)?;
    if solver.roster.len() > max as usize {
        let reason = format!("names more than {max} endpoints, the limit of [engine] endpoints_max");
        return Err(EngineError::Unprocessable(vec![Problem { field: "audience".into(), reason }]));
    }
    Ok(solver.roster)
}

/// Writes the roster, and makes the alert's deliveries of it in the same pass.
fn store_roster(
    parts: &Parts,
    classifier: &Classifier,
    mut alert: Alert,
    (wording, demand): (Arc<Wording>, ApprovalDemand),
    roster: &Roster,
    now: Timestamp,
    runtime: &Handle,
) -> Result<LiveAlert, EngineError> {
    let (no, seen) = (alert.no, SeenAlert::of(&alert));
    alert.state = AlertState::Running;
    alert.version += 1;
    let mut live = LiveAlert::new(alert, wording);
    let ordered = has_order(&live);
    let mut kept: Vec<RosterBlock> = Vec::new();
    let mut first = true;
    let mut blocks = roster.blocks().peekable();
    while blocks.peek().is_some() {
        let slice: Vec<RosterBlock> = blocks.by_ref().take(BLOCKS_AT_ONCE).collect();
        slice.iter().for_each(|block| live.admit(block, classifier, now));
        if ordered {
            kept.extend(slice.iter().cloned());
        }
        runtime.block_on(parts.store.add_roster_blocks(no, first, slice)).map_err(store_error)?;
        first = false;
    }
    if ordered {
        let chains = Chains::new(kept.iter(), |rule| strategy_of(&live.alert.request, rule));
        live.set_chains(chains);
    }
    live.seal();
    let reaches_somebody = (live.tally.in_state(DeliveryState::Excluded) as usize) < live.len();
    let after = match reaches_somebody {
        true => after_solve(&live.alert, roster.people(), demand, now),
        false => reaches_nobody(&live.alert),
    };
    if let Some((state, approval)) = after {
        live.alert.state = state;
        live.alert.approval = Some(Box::new(approval));
    }
    runtime.block_on(write_solved(&*parts.store, &live.alert, seen, now)).map_err(store_error)?;
    Ok(live)
}

/// Writes that an alert is solved: it is sent, or waits for approval.
async fn write_solved(
    store: &dyn Store,
    alert: &Alert,
    seen: SeenAlert,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (no, state, version) = (alert.no, alert.state, alert.version);
    let approval = alert.approval.as_deref().filter(|approval| approval.revision > seen.revision);
    let Some(approval) = approval.cloned() else {
        return store.set_alert_state(no, state, version, "", now).await;
    };
    let change = ApprovalChange { state, version, note: String::new(), approval };
    match store.change_approval(no, seen, change, now).await? {
        true => Ok(()),
        false => Err(StoreError::Conflict { why: format!("alert {no} changed while it was solved") }),
    }
}

/// How many others have to approve an alert to so many people.
fn demand(
    parts: &Parts,
    alert: &Alert,
    people: u64,
    runtime: &Handle,
) -> Result<ApprovalDemand, EngineError> {
    let policy = &parts.settings.approval;
    let groups = match policy.names_groups() {
        true => named_groups(parts, alert, runtime)?,
        false => FxHashSet::default(),
    };
    Ok(policy.of_alert(alert, ApprovalAudience { people: Some(people), groups: &groups }))
}

/// Groups that an alert's audience names, with those below them. On the calling thread.
pub fn named_groups(
    parts: &Parts,
    alert: &Alert,
    runtime: &Handle,
) -> Result<FxHashSet<String>, EngineError> {
    let (wanted, _) = parsed(&alert.request).map_err(EngineError::Unprocessable)?;
    let mut names = FxHashSet::default();
    for to in &wanted {
        if let To::Group(name, _) = to {
            names.extend(group_set(parts, &alert.account, name, runtime)?.names);
        }
    }
    Ok(names)
}

/// Does any strategy of this alert put devices in an order?
pub fn has_order(live: &LiveAlert) -> bool {
    let request = &live.alert.request;
    (0..=request.audience.len() as u32).any(|rule| strategy_of(request, rule) != Strategy::All)
}
