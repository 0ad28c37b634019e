//! AlertApprovals carries out decisions on alerts that wait for approval, one after the other of each alert:
//! the change is in SQL before it is in memory, so that nothing is dispatched without its approvals. It owns
//! the decisions under way and those that wait for their turn.

use super::actor::{BackgroundResult, EngineActor, store_error};
use super::alerts::Alerts;
use super::command::{ActorCommand, Reply, Solved};
use super::context::{Context, LeaderGuard};
use super::solving::{self, is_unsolved};
use super::told_before::ToldBefore;
use super::{Engine, gone};
use crate::api::{EngineError, Parts, Steer};
use crate::approval::{
    ApprovalAudience, ApprovalDecision, ApprovalPolicy, ApprovalRefusal, ApprovalSubject, ApprovalVerb,
    Decided, decide,
};
use crate::record::LiveAlert;
use records::{Alert, AlertId, AlertNo, AlertState, ApprovalNeed, Reason, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::sync::Arc;
use store::SeenAlert;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Decisions that wait behind another one of the same alert; more are refused.
const WAITING_MAX: usize = 100;
/// After a failed write the alert is read again so much later, in microseconds.
const REREAD_AFTER_US: i64 = 1_000_000;

/// See the module.
#[derive(Default)]
pub struct AlertApprovals {
    /// By alert: what waits until the decision under way is written.
    under_way: FxHashMap<AlertNo, VecDeque<WaitingStep>>,
    /// Alerts of which a write failed: it may have been done. They are read again.
    doubtful: FxHashMap<AlertNo, Timestamp>,
}

/// Something that waits for its turn.
pub enum WaitingStep {
    Decision(Box<ApprovalDecision>, Option<Reply<Alert>>),
    Steering(Steer, Reply<Alert>),
}

/// A decision that was written, or not.
pub struct ApprovalStep {
    no: AlertNo,
    reply: Option<Reply<Alert>>,
    result: StepResult,
}

enum StepResult {
    /// SQL has it.
    Written(Box<Decided>),
    /// It does not count.
    Refused(EngineError),
    /// SQL has another version.
    Found(Option<Box<Alert>>),
    /// Nobody knows whether SQL has it.
    Failed(EngineError),
}

impl AlertApprovals {
    /// A decision about this alert is being written.
    pub fn is_under_way(&self, no: AlertNo) -> bool {
        self.under_way.contains_key(&no)
    }

    /// It is carried out when the decision under way is written.
    pub fn defer(&mut self, no: AlertNo, step: WaitingStep) {
        let waiting = self.under_way.entry(no).or_default();
        if waiting.len() < WAITING_MAX {
            return waiting.push_back(step);
        }
        let busy =
            EngineError::Busy("too many decisions about this alert wait; try again in a moment".into());
        match step {
            WaitingStep::Decision(_, reply) => {
                reply.into_iter().for_each(|reply| _ = reply.send(Err(busy.clone())))
            }
            WaitingStep::Steering(_, reply) => _ = reply.send(Err(busy)),
        }
    }

    /// Begins to carry out a decision about an alert in memory.
    fn begin(
        &mut self,
        live: &LiveAlert,
        decision: Box<ApprovalDecision>,
        reply: Option<Reply<Alert>>,
        context: &Context,
    ) {
        let alert = live.alert.clone();
        self.under_way.entry(alert.no).or_default();
        let (parts, guard, now) = (context.parts.clone(), context.guard(), context.now());
        context.spawn(async move {
            let result = carry_out(&parts, &alert, &decision, &guard, now).await;
            BackgroundResult::Approval(Box::new(ApprovalStep { no: alert.no, reply, result }))
        });
    }

    /// Reads an alert again of which a write failed.
    fn read_again(&mut self, no: AlertNo, context: &Context) {
        self.under_way.entry(no).or_default();
        let store = context.parts.store.clone();
        context.spawn(async move {
            let result = match store.alert_by_no(no).await {
                Ok(found) => StepResult::Found(found.map(Box::new)),
                Err(error) => StepResult::Failed(store_error(error)),
            };
            BackgroundResult::Approval(Box::new(ApprovalStep { no, reply: None, result }))
        });
    }

    /// The next step that waited for the one that ended; nothing: none is under way any more.
    fn next(&mut self, no: AlertNo) -> Option<WaitingStep> {
        let step = self.under_way.get_mut(&no)?.pop_front();
        if step.is_none() {
            self.under_way.remove(&no);
        }
        step
    }

    /// Is it to be read again, or may it be in a moment?
    fn is_doubtful(&mut self, no: AlertNo, context: &Context, now: Timestamp) -> bool {
        let Some(since) = self.doubtful.get(&no).copied() else { return false };
        if now < since || now.us_since(since) >= REREAD_AFTER_US {
            self.doubtful.remove(&no);
            self.read_again(no, context);
        }
        true
    }
}

/// Counts where that is needed, decides, and writes by compare-and-set.
async fn carry_out(
    parts: &Arc<Parts>,
    alert: &Alert,
    decision: &ApprovalDecision,
    guard: &LeaderGuard,
    now: Timestamp,
) -> StepResult {
    let decided = match decided(parts, alert, decision, now).await {
        Ok(decided) => decided,
        Err(error) => return StepResult::Refused(error),
    };
    if !guard.holds() {
        return StepResult::Refused(gone());
    }
    let changing = parts.store.change_approval(alert.no, SeenAlert::of(alert), decided.change.clone(), now);
    match changing.await {
        Ok(true) => StepResult::Written(Box::new(decided)),
        Ok(false) => match parts.store.alert_by_no(alert.no).await {
            Ok(found) => StepResult::Found(found.map(Box::new)),
            Err(error) => StepResult::Failed(store_error(error)),
        },
        Err(error) => StepResult::Failed(store_error(error)),
    }
}

async fn decided(
    parts: &Arc<Parts>,
    alert: &Alert,
    decision: &ApprovalDecision,
    now: Timestamp,
) -> Result<Decided, EngineError> {
    // What is refused anyhow needs no count.
    let decided = decide(alert, decision, None, now)?;
    if !decision.verb.needs_count() {
        return Ok(decided);
    }
    let (parts, counted, runtime) = (parts.clone(), alert.clone(), Handle::current());
    let count = tokio::task::spawn_blocking(move || people(&parts, &counted, now, &runtime));
    let people = count.await.map_err(|error| EngineError::Internal(error.to_string()))??;
    decide(alert, decision, Some(people), now)
}

/// The audience of an alert, counted now. On the calling thread.
fn people(parts: &Parts, alert: &Alert, now: Timestamp, runtime: &Handle) -> Result<u64, EngineError> {
    let wording = parts.texts.of(alert);
    let rules = &parts.settings.keywords.opt_out;
    let roster = solving::roster(parts, rules, alert, &ToldBefore::default(), &wording, now, runtime)?;
    Ok(roster.people())
}

/// What the time asks of an alert's approval.
fn due(live: &LiveAlert, now: Timestamp) -> Option<ApprovalVerb> {
    let (alert, approval) = (&live.alert, live.alert.approval.as_ref()?);
    let begins = || {
        let has_come = alert.request.not_before.is_none_or(|start| start <= now);
        has_come && alert.request.expires > now && approval.is_complete() && !approval.is_started
    };
    match alert.state {
        AlertState::AwaitingApproval if approval.expires <= now => Some(ApprovalVerb::Expire),
        AlertState::Running if begins() => Some(ApprovalVerb::Begin),
        _ => None,
    }
}

impl EngineActor {
    /// Somebody decides about an alert.
    pub fn decide(&mut self, no: AlertNo, decision: Box<ApprovalDecision>, reply: Option<Reply<Alert>>) {
        let refuse = |reply: Option<Reply<Alert>>, error: EngineError| {
            reply.into_iter().for_each(|reply| _ = reply.send(Err(error.clone())));
        };
        if self.context.is_stopping() {
            return refuse(reply, gone());
        }
        if self.approvals.is_under_way(no) {
            return self.approvals.defer(no, WaitingStep::Decision(decision, reply));
        }
        let is_known = self.alerts.live.contains_key(&no) || self.read_back(no);
        let Some(live) = self.alerts.live.get(&no).filter(|_| is_known) else {
            return refuse(reply, still_solved(&decision));
        };
        self.approvals.begin(live, decision, reply, &self.context);
    }

    /// Looks at the times of an alert's approval. True: its other timers are not run.
    pub fn run_approval_timers(&mut self, no: AlertNo, now: Timestamp) -> bool {
        if self.approvals.is_under_way(no) || self.approvals.is_doubtful(no, &self.context, now) {
            return true;
        }
        let Some(live) = self.alerts.live.get(&no) else { return true };
        if let Some(verb) = due(live, now) {
            let decision = ApprovalDecision { by: None, verb, version: None };
            self.decide(no, Box::new(decision), None);
            return true;
        }
        live.alert.state == AlertState::AwaitingApproval
    }

    /// A decision was written, or not. What waited for it follows.
    pub fn approval_step(&mut self, step: ApprovalStep) {
        let ApprovalStep { no, mut reply, result } = step;
        if let Some(error) = refusal_of(&result) {
            reply.take().into_iter().for_each(|reply| _ = reply.send(Err(error.clone())));
        }
        match result {
            StepResult::Written(decided) => {
                let Decided { change, .. } = *decided;
                if let Some(before) = live_alert(&self.alerts, no) {
                    let (state, version, note) = (change.state, change.version, change.note);
                    let approval = Some(Box::new(change.approval));
                    self.adopt(Alert { state, version, note, approval, ..before }, reply);
                }
            }
            StepResult::Found(Some(alert)) => self.adopt(*alert, None),
            StepResult::Failed(error) => {
                tracing::error!(alert = no.0, %error, "a decision about an alert could not be written; it is read again");
                self.approvals.doubtful.insert(no, self.context.now());
            }
            StepResult::Refused(_) | StepResult::Found(None) => {}
        }
        while let Some(waiting) = self.approvals.next(no) {
            match waiting {
                WaitingStep::Decision(decision, reply) => {
                    // Begun at once: nothing else of this alert is under way.
                    match self.alerts.live.get(&no) {
                        Some(live) => return self.approvals.begin(live, decision, reply, &self.context),
                        None => {
                            reply.into_iter().for_each(|reply| _ = reply.send(Err(still_solved(&decision))))
                        }
                    }
                }
                WaitingStep::Steering(verb, reply) => self.steer_now(no, verb, reply),
            }
        }
    }

    /// An alert in memory becomes as SQL has it.
    fn adopt(&mut self, alert: Alert, reply: Option<Reply<Alert>>) {
        let (no, now) = (alert.no, self.context.now());
        if is_unsolved(&alert) {
            return self.solve_again(alert, reply, now);
        }
        let Some(live) = self.alerts.live.get_mut(&no) else { return };
        let was_final = live.alert.state.is_final();
        live.alert = alert;
        if live.alert.state.is_final() && !was_final {
            let is_expired = live.alert.state == AlertState::Expired;
            live.end_waiting(if is_expired { Reason::Expired } else { Reason::Cancelled }, now);
            live.finished = Some(now);
            self.alerts.running.remove(&no);
            self.publisher.note_end(no);
        }
        let adopted = live_alert(&self.alerts, no);
        self.alerts.touch(no);
        self.publisher.note_change(no);
        reply.zip(adopted).into_iter().for_each(|(reply, alert)| _ = reply.send(Ok(alert)));
    }

    /// An alert that is approved is solved anew, and begins then.
    fn solve_again(&mut self, alert: Alert, reply: Option<Reply<Alert>>, now: Timestamp) {
        let no = alert.no;
        self.alerts.running.remove(&no);
        self.alerts.remove(no, now);
        self.alerts.blocks.let_go(no);
        self.dispatcher.forget(no);
        if self.context.is_stopping() {
            // The next start solves it.
            return reply.into_iter().for_each(|reply| _ = reply.send(Ok(alert.clone())));
        }
        let waiter = reply.map(|reply| self.as_alert(reply));
        self.solving.solve(Box::new(alert), waiter, &self.dispatcher.routes.classifier, &self.context);
    }

    /// A reply that waits until an alert is solved, and gives the alert.
    fn as_alert(&self, reply: Reply<Alert>) -> Reply<Solved> {
        let (waiter, solved) = oneshot::channel::<Result<Solved, EngineError>>();
        self.context.spawn(async move {
            let solved = solved.await.map_err(|_| gone()).and_then(|solved| solved);
            let _ = reply.send(solved.map(|solved| solved.alert));
            BackgroundResult::Done(Ok(()))
        });
        waiter
    }
}

/// What is replied in place of the alert.
fn refusal_of(result: &StepResult) -> Option<EngineError> {
    match result {
        StepResult::Written(decided) => decided.refusal.clone().map(EngineError::Approval),
        StepResult::Refused(error) | StepResult::Failed(error) => Some(error.clone()),
        StepResult::Found(Some(alert)) => {
            Some(EngineError::Approval(ApprovalRefusal::VersionChanged { version: alert.version }))
        }
        StepResult::Found(None) => Some(EngineError::NotFound),
    }
}

fn still_solved(decision: &ApprovalDecision) -> EngineError {
    EngineError::WrongState { state: AlertState::Solving.name(), verb: decision.verb.name() }
}

fn live_alert(alerts: &Alerts, no: AlertNo) -> Option<Alert> {
    alerts.live.get(&no).map(|live| live.alert.clone())
}

impl Engine {
    /// Decides about an alert that waits for approval; resolves when that is on disk, and with the last
    /// approval when its audience is resolved anew.
    ///
    /// # Errors
    /// Why the decision does not count; the store's.
    pub async fn decide(
        &self,
        account: &str,
        id: AlertId,
        decision: ApprovalDecision,
    ) -> Result<Alert, EngineError> {
        let no = self.stored(account, id).await?.no;
        let decision = Box::new(decision);
        self.request(|reply| ActorCommand::Decide { no, decision, reply }).await?
    }

    /// How many others have to confirm a stop or a pause of this alert.
    ///
    /// # Errors
    /// The store's.
    pub async fn steering_needs(
        &self,
        alert: &Alert,
        subject: ApprovalSubject,
    ) -> Result<ApprovalNeed, EngineError> {
        let policy = self.approval_policy();
        if !policy.holds_for(subject) {
            return Ok(ApprovalNeed::Nobody);
        }
        let people = alert.approval.as_ref().map(|approval| approval.people).filter(|people| *people > 0);
        let groups = match policy.names_groups() {
            true => self.groups_of(alert).await?,
            false => FxHashSet::default(),
        };
        Ok(policy.of(subject, alert, ApprovalAudience { people, groups: &groups }).needs)
    }

    /// Groups that an alert's audience names, with those below them.
    pub(super) async fn groups_of(&self, alert: &Alert) -> Result<FxHashSet<String>, EngineError> {
        let (parts, alert, runtime) = (self.inner.parts.clone(), alert.clone(), Handle::current());
        let find = move || solving::named_groups(&parts, &alert, &runtime);
        let found = tokio::task::spawn_blocking(find).await;
        found.map_err(|error| EngineError::Internal(error.to_string()))?
    }

    /// The rules of approval, as the config has them.
    pub fn approval_policy(&self) -> Arc<ApprovalPolicy> {
        self.inner.approval.load_full()
    }

    /// The rules of approval changed in the config. Alerts that wait stay as they are.
    ///
    /// # Errors
    /// The engine is closing.
    pub async fn change_approval_policy(&self, policy: ApprovalPolicy) -> Result<(), EngineError> {
        self.inner.approval.store(Arc::new(policy.clone()));
        self.request(|reply| ActorCommand::ApprovalRules { policy, reply }).await
    }
}
