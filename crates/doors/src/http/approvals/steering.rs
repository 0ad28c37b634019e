//! Stops and pauses that a rule has another person confirm. Without such a rule they need nobody.

use super::deciders;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use engine::{ApprovalDecision, ApprovalSubject, ApprovalVerb, Steer};
use records::{Alert, ApprovalNeed};

/// Asks for a second person where a rule does: the alert, if its stop or pause waits now; nothing: the verb
/// may be carried out. What is not sent yet is stopped by anybody: that needs nobody's yes.
pub(crate) async fn confirmed(
    app: &App,
    caller: &Caller,
    alert: &Alert,
    verb: Steer,
) -> HttpResult<Option<Alert>> {
    let (subject, word) = match verb {
        Steer::Cancel => (ApprovalSubject::Stop, "cancel"),
        Steer::Pause => (ApprovalSubject::Pause, "pause"),
        Steer::Resume | Steer::RetryFailed => return Ok(None),
    };
    if !alert.may_send() || alert.state.is_final() {
        return Ok(None);
    }
    let needs = app.engine.steering_needs(alert, subject).await?;
    if needs == ApprovalNeed::Nobody {
        return Ok(None);
    }
    let Some(user) = caller.user.as_deref() else {
        let detail = format!(
            "a rule of [[approval]] has {} more people confirm this: sign in as a user, since a token confirms nothing",
            needs.name()
        );
        return Err(HttpProblem::new(ProblemKind::WrongRole, detail));
    };
    let decision = ApprovalDecision {
        by: Some(deciders::person(user)),
        verb: ApprovalVerb::Confirm { verb: word, needs },
        version: None,
    };
    let asked = app.engine.decide(caller.account(), alert.id, decision).await?;
    let waits = asked.approval.as_ref().is_some_and(|approval| approval.steering.is_some());
    Ok(waits.then_some(asked))
}
