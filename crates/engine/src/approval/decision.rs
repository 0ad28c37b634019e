//! Decisions on an alert that waits for approval, as changes to be written by compare-and-set.

use super::policy::ApprovalDemand;
use crate::api::EngineError;
use records::{
    Alert, AlertState, Approval, ApprovalNeed, ApprovalPerson, EndedBy, EndedKind, GivenApproval, Mode,
    SentAlone, SteeringRequest, Timestamp, ToldApprovers,
};
use store::ApprovalChange;

/// An audience that grew by more than one part of so many since it was approved asks again.
const GROWN_PART: u64 = 10;
/// Notes of approvers who were told, of one request.
const TOLD_MAX: usize = 200;
/// A stop or pause waits so long for its second person, in seconds.
const STEERING_S: i64 = 900;

/// What somebody decides about an alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalDecision {
    /// Who; nobody: the server itself, since a time has come.
    pub by: Option<ApprovalPerson>,
    /// What.
    pub verb: ApprovalVerb,
    /// The version of the alert that they looked at; nothing: whichever it is.
    pub version: Option<u32>,
}

/// What can be decided about an alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalVerb {
    /// It may be sent.
    Approve {
        /// The number of people, as they typed it.
        people: Option<u64>,
    },
    /// It is not to be sent as it is; its draft opens again.
    Return {
        /// Why.
        reason: String,
    },
    /// It is not to be sent.
    Reject {
        /// Why.
        reason: String,
    },
    /// It is sent without the approvals that it needs.
    SendAlone {
        /// Why.
        reason: String,
        /// The number of people, as they typed it.
        people: Option<u64>,
    },
    /// A stop or pause that a rule has others confirm: the first who says so asks, the next confirm.
    Confirm {
        /// `cancel` or `pause`.
        verb: &'static str,
        /// How many others.
        needs: ApprovalNeed,
    },
    /// Approvers were told, in the round with this number; a second time changes nothing.
    NoteTold {
        /// From 0 on.
        round: usize,
        /// Their persons.
        persons: Vec<String>,
    },
    /// Its time ran out.
    Expire,
    /// It was approved before, and its time to be sent has come.
    Begin,
}

impl ApprovalVerb {
    /// As a sentence has it: "cannot VERB an alert".
    pub fn name(&self) -> &'static str {
        match self {
            ApprovalVerb::Approve { .. } => "approve",
            ApprovalVerb::Return { .. } => "return",
            ApprovalVerb::Reject { .. } => "reject",
            ApprovalVerb::SendAlone { .. } => "send alone",
            ApprovalVerb::Confirm { verb, .. } => verb,
            ApprovalVerb::NoteTold { .. } => "tell approvers of",
            ApprovalVerb::Expire => "expire",
            ApprovalVerb::Begin => "begin",
        }
    }

    /// The audience is counted again before it is decided.
    pub fn needs_count(&self) -> bool {
        matches!(self, ApprovalVerb::Approve { .. })
    }
}

/// Why somebody's decision does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalRefusal {
    /// A token, not a person.
    NotAPerson,
    /// They wrote it.
    OwnAlert,
    /// They approved it already, perhaps as another user.
    ApprovedAlready,
    /// They looked at another version.
    VersionChanged {
        /// The version now.
        version: u32,
    },
    /// The audience grew: approvals of before are dropped.
    AudienceGrew {
        /// As it was approved, or asked for.
        before: u64,
        /// Now.
        people: u64,
        /// The version now.
        version: u32,
    },
    /// So many people have to be typed.
    TypePeople {
        /// The number.
        people: u64,
    },
    /// The time to approve is over.
    Expired,
}

impl std::fmt::Display for ApprovalRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ApprovalRefusal::NotAPerson => f.write_str(
                "a token never approves: approval is a decision of a person who signed in as a user",
            ),
            ApprovalRefusal::OwnAlert => f.write_str(
                "you wrote this alert, as this user or as another one of yours: another person has to approve it",
            ),
            ApprovalRefusal::ApprovedAlready => f.write_str(
                "you approved this alert already, as this user or as another one of yours: another person has to \
                 approve it too",
            ),
            ApprovalRefusal::VersionChanged { version } => {
                write!(f, "the alert has changed: look at version {version}, and decide about that")
            }
            ApprovalRefusal::AudienceGrew { before, people, version } => write!(
                f,
                "the audience grew from {before} to {people} people, by more than a tenth, so approval is asked for \
                 again: look at version {version}, and decide about that"
            ),
            ApprovalRefusal::TypePeople { people } => {
                write!(f, "the policy asks for the number of people here: it is {people}")
            }
            ApprovalRefusal::Expired => f.write_str("the time to approve this alert is over: nothing is sent"),
        }
    }
}

/// What a decision comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// Written first.
    pub change: ApprovalChange,
    /// Replied once that is written, in place of the alert.
    pub refusal: Option<ApprovalRefusal>,
}

/// What becomes of an alert by a decision; `people` is its audience counted now, where that is needed.
///
/// # Errors
/// The decision does not count: nothing changes.
pub fn decide(
    alert: &Alert,
    decision: &ApprovalDecision,
    people: Option<u64>,
    now: Timestamp,
) -> Result<Decided, EngineError> {
    let wrong_state = || EngineError::WrongState { state: alert.state.name(), verb: decision.verb.name() };
    if let ApprovalVerb::Confirm { verb, needs } = decision.verb {
        return confirm(alert, decision, (verb, needs), now);
    }
    let Some(approval) = &alert.approval else { return Err(wrong_state()) };
    let course = Course { alert, approval, now };
    if decision.verb == ApprovalVerb::Begin {
        let is_due = alert.state == AlertState::Running && approval.is_complete() && !approval.is_started;
        return if is_due { Ok(course.begin()) } else { Err(wrong_state()) };
    }
    if alert.state != AlertState::AwaitingApproval {
        return Err(wrong_state());
    }
    match &decision.verb {
        ApprovalVerb::Expire => return Ok(course.end(EndedKind::Expired, None, EXPIRED.to_owned())),
        ApprovalVerb::NoteTold { round, .. } if *round != approval.told.len() => return Err(wrong_state()),
        ApprovalVerb::NoteTold { persons, .. } => return Ok(course.note_told(persons)),
        _ => {}
    }
    let by = course.judge(decision).map_err(EngineError::Approval)?;
    match &decision.verb {
        ApprovalVerb::Return { reason } => Ok(course.end(EndedKind::Returned, Some(by), reason.clone())),
        ApprovalVerb::Reject { reason } => Ok(course.end(EndedKind::Rejected, Some(by), reason.clone())),
        ApprovalVerb::SendAlone { reason, people } => {
            course.check_typed(*people).map_err(EngineError::Approval)?;
            let alone = SentAlone { by: by.clone(), at: now, reason: reason.clone() };
            Ok(course.completed(Approval { sent_alone: Some(alone), ..course.next() }))
        }
        ApprovalVerb::Approve { people: typed } => {
            course.approve(by, *typed, people.unwrap_or(approval.people)).map_err(EngineError::Approval)
        }
        _ => Err(wrong_state()),
    }
}

/// The reason of a request that ran out.
const EXPIRED: &str = "nobody approved it in time";

/// An alert with its approval, at a moment.
struct Course<'a> {
    alert: &'a Alert,
    approval: &'a Approval,
    now: Timestamp,
}

impl Course<'_> {
    /// The person who decides, if they may: somebody, in time, about what they looked at.
    fn judge<'d>(&self, decision: &'d ApprovalDecision) -> Result<&'d ApprovalPerson, ApprovalRefusal> {
        let by = decision.by.as_ref().filter(|by| by.person.is_some()).ok_or(ApprovalRefusal::NotAPerson)?;
        let version = self.alert.version;
        if decision.version.is_some_and(|seen| seen != version) {
            return Err(ApprovalRefusal::VersionChanged { version });
        }
        if self.now >= self.approval.expires {
            return Err(ApprovalRefusal::Expired);
        }
        Ok(by)
    }

    fn approve(
        &self,
        by: &ApprovalPerson,
        typed: Option<u64>,
        people: u64,
    ) -> Result<Decided, ApprovalRefusal> {
        // In a drill one may practise alone; each approval is another person's there too.
        if self.approval.is_by(by) && self.alert.request.mode == Mode::Live {
            return Err(ApprovalRefusal::OwnAlert);
        }
        if self.approval.approvals.iter().any(|given| given.by.is_same_person(by)) {
            return Err(ApprovalRefusal::ApprovedAlready);
        }
        self.check_typed(typed)?;
        let before = self.approval.people_approved();
        if has_grown(before, people) {
            return Ok(self.ask_again(before, people));
        }
        let mut approval = self.next();
        approval.approvals.push(GivenApproval { by: by.clone(), at: self.now, people });
        Ok(self.completed(approval))
    }

    fn check_typed(&self, typed: Option<u64>) -> Result<(), ApprovalRefusal> {
        let people = self.approval.people;
        let is_needed = self.approval.type_people_over.is_some_and(|over| people > over);
        if is_needed && typed != Some(people) {
            return Err(ApprovalRefusal::TypePeople { people });
        }
        Ok(())
    }

    /// The approval as it is, to be changed.
    fn next(&self) -> Approval {
        Approval { revision: self.approval.revision + 1, ..self.approval.clone() }
    }

    /// It goes on if it has all that it needs: at once, or when its time comes.
    fn completed(&self, approval: Approval) -> Decided {
        if !approval.is_complete() {
            return self.changed(AlertState::AwaitingApproval, self.alert.version, approval);
        }
        let waits = self.alert.request.not_before.is_some_and(|start| start > self.now);
        let state = if waits { AlertState::Running } else { AlertState::Solving };
        self.changed(state, self.alert.version + 1, approval)
    }

    fn begin(&self) -> Decided {
        self.changed(AlertState::Solving, self.alert.version + 1, self.next())
    }

    fn ask_again(&self, before: u64, people: u64) -> Decided {
        let version = self.alert.version + 1;
        let approval = Approval {
            people,
            version,
            approvals: Vec::new(),
            told: Vec::new(),
            asked: self.now,
            ..self.next()
        };
        let refusal = Some(ApprovalRefusal::AudienceGrew { before, people, version });
        Decided { refusal, ..self.changed(AlertState::AwaitingApproval, version, approval) }
    }

    fn end(&self, kind: EndedKind, by: Option<&ApprovalPerson>, reason: String) -> Decided {
        let note = match by {
            Some(by) => format!("{} by {}: {reason}", kind.name(), by.name),
            None => reason.clone(),
        };
        let ended_by = Some(EndedBy { kind, by: by.cloned(), reason, at: self.now });
        let approval = Approval { ended_by, ..self.next() };
        let mut decided = self.changed(AlertState::Cancelled, self.alert.version + 1, approval);
        decided.change.note = note;
        decided
    }

    fn note_told(&self, persons: &[String]) -> Decided {
        let mut approval = self.next();
        if approval.told.len() < TOLD_MAX {
            approval.told.push(ToldApprovers { persons: persons.to_vec(), at: self.now });
        }
        self.changed(self.alert.state, self.alert.version, approval)
    }

    fn changed(&self, state: AlertState, version: u32, approval: Approval) -> Decided {
        Decided {
            change: ApprovalChange { state, version, note: self.alert.note.clone(), approval },
            refusal: None,
        }
    }
}

/// A stop or pause: the first who wants it asks, and others confirm by wanting the same. What is left in
/// `steering` waits; without it the verb may be carried out.
fn confirm(
    alert: &Alert,
    decision: &ApprovalDecision,
    (verb, needs): (&'static str, ApprovalNeed),
    now: Timestamp,
) -> Result<Decided, EngineError> {
    let Some(by) = decision.by.as_ref().filter(|by| by.person.is_some()) else {
        return Err(EngineError::Approval(ApprovalRefusal::NotAPerson));
    };
    if alert.state.is_final() {
        return Err(EngineError::WrongState { state: alert.state.name(), verb });
    }
    let none = || Approval::of(Vec::new(), alert.created, alert.request.expires);
    let before = alert.approval.as_deref().cloned().unwrap_or_else(none);
    let is_open =
        |asked: &SteeringRequest| asked.verb == verb && now.us_since(asked.at) < STEERING_S * 1_000_000;
    let asked = before.steering.clone().filter(is_open);
    let mut asked =
        asked.unwrap_or_else(|| SteeringRequest { verb: verb.to_owned(), needs, by: Vec::new(), at: now });
    if !asked.by.iter().any(|one| one.is_same_person(by)) {
        asked.by.push(by.clone());
    }
    let waits = asked.by.len() <= asked.needs.max(needs).count();
    let approval = Approval { revision: before.revision + 1, steering: waits.then_some(asked), ..before };
    let (state, version, note) = (alert.state, alert.version, alert.note.clone());
    Ok(Decided { change: ApprovalChange { state, version, note, approval }, refusal: None })
}

/// What becomes of an alert whose audience was just resolved: its state and approval; nothing: it is sent,
/// and its approval is as before. `alert` has the version that is to be written.
pub fn after_solve(
    alert: &Alert,
    people: u64,
    demand: ApprovalDemand,
    now: Timestamp,
) -> Option<(AlertState, Approval)> {
    let recorded = alert.approval.as_deref();
    let asked = recorded.filter(|approval| approval.needs > ApprovalNeed::Nobody);
    if let Some(approval) = asked.filter(|approval| approval.is_complete()) {
        let is_approved = approval.sent_alone.is_some() || !has_grown(approval.people_approved(), people);
        if is_approved {
            let is_started = alert.request.not_before.is_none_or(|start| start <= now);
            let revision = approval.revision + 1;
            return Some((AlertState::Running, Approval { revision, is_started, ..approval.clone() }));
        }
    }
    let needs = demand.needs.max(asked.map_or(ApprovalNeed::Nobody, |approval| approval.needs));
    if needs == ApprovalNeed::Nobody {
        return None;
    }
    let by_token = || vec![ApprovalPerson { user: alert.token.clone(), name: String::new(), person: None }];
    let before = Approval::of(
        recorded.map_or_else(by_token, |approval| approval.authors.clone()),
        now,
        demand.expires(now, alert.request.expires),
    );
    let approval = Approval {
        revision: recorded.map_or(0, |approval| approval.revision) + 1,
        needs,
        remind_s: demand.remind_s,
        type_people_over: demand.type_people_over.or(asked.and_then(|approval| approval.type_people_over)),
        people,
        version: alert.version,
        is_started: false,
        steering: recorded.and_then(|approval| approval.steering.clone()),
        ..before
    };
    Some((AlertState::AwaitingApproval, approval))
}

/// The same of an alert that reaches nobody: nothing of it is sent, so nobody is asked, and it ends.
pub fn reaches_nobody(alert: &Alert) -> Option<(AlertState, Approval)> {
    let approval = alert.approval.as_deref().filter(|approval| approval.needs > ApprovalNeed::Nobody)?;
    let revision = approval.revision + 1;
    Some((AlertState::Running, Approval { revision, is_started: true, ..approval.clone() }))
}

fn has_grown(before: u64, people: u64) -> bool {
    people.saturating_sub(before) > before / GROWN_PART
}
