//! Judgement of who may decide about an alert: a user who signed in, with the role, in whose scope and space
//! it is ([`scope`]). That author and approver differ, and two approvers from each other, the engine judges
//! by the alert's own record.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::auth::signed_in::{SignedInUser, USER_PREFIX};
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::scope;
use records::{Alert, ApprovalPerson, Mode, Origin, UserRole};

/// Roles that approve, return, reject.
const APPROVE: &[UserRole] = &[UserRole::Approver];
/// Roles that send, also alone.
const SEND: &[UserRole] = &[UserRole::Operator, UserRole::Administrator];
/// Roles that review what was sent alone.
const REVIEW: &[UserRole] = &[UserRole::Approver, UserRole::Administrator];

/// What somebody wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Approve,
    SendAlone,
    Review,
}

impl Act {
    fn roles(self) -> &'static [UserRole] {
        match self {
            Act::Approve => APPROVE,
            Act::SendAlone => SEND,
            Act::Review => REVIEW,
        }
    }
}

/// Who wrote what a caller submits: the user; nobody where a program does.
pub(crate) fn authors(caller: &Caller) -> Vec<ApprovalPerson> {
    caller.user.as_deref().map(person).into_iter().collect()
}

/// The way in which an alert came that a caller submits. No client chooses it.
pub(crate) fn origin(caller: &Caller) -> Origin {
    if caller.user.is_some() { Origin::Console } else { Origin::Api }
}

/// A user, as approvals have them.
pub(crate) fn person(user: &SignedInUser) -> ApprovalPerson {
    ApprovalPerson {
        user: format!("{USER_PREFIX}{}", user.id),
        name: if user.full_name.is_empty() { user.name.clone() } else { user.full_name.clone() },
        person: Some(user.person.clone()),
    }
}

/// The user who may do this with an alert.
pub(super) async fn decider<'c>(
    app: &App,
    caller: &'c Caller,
    alert: &Alert,
    act: Act,
) -> HttpResult<&'c SignedInUser> {
    let refused = |detail: String| HttpProblem::new(ProblemKind::WrongRole, detail);
    let Some(user) = caller.user.as_deref() else {
        let detail = "a token never approves, and sends nothing alone: these are decisions of a person. Sign in as a user";
        return Err(refused(detail.to_owned()));
    };
    if !user.has(act.roles()) {
        let needed: Vec<&str> = act.roles().iter().map(|role| role.name()).collect();
        return Err(refused(format!("this needs the role {}", needed.join(" or "))));
    }
    if user.space != alert.request.mode {
        let space = if alert.request.mode == Mode::Live { "live" } else { "drill" };
        return Err(refused(format!("this alert is in the {space} space: decide about it there")));
    }
    if !scope::reaches(app, &user.scope, alert).await? {
        return Err(refused(
            "this alert's audience is beyond your groups and areas: somebody else has to decide".into(),
        ));
    }
    Ok(user)
}

/// Whether this user could approve an alert that waits and that they reach, as it is now.
pub(super) fn may_approve(user: &SignedInUser, alert: &Alert) -> bool {
    let Some(approval) = alert.approval.as_deref() else { return false };
    let me = person(user);
    let is_own = approval.is_by(&me) && alert.request.mode == Mode::Live;
    let has_approved = approval.approvals.iter().any(|given| given.by.is_same_person(&me));
    user.has(APPROVE) && user.space == alert.request.mode && !is_own && !has_approved
}
