//! Approvals as clients read them.

use super::deciders;
use crate::http::alerts::view::summary;
use crate::http::auth::signed_in::SignedInUser;
use crate::http::request::time_text::rfc3339;
use records::{Alert, Approval, ApprovalNeed, ApprovalPerson, ENOUGH_ANSWERS, EndedBy, Timestamp};
use serde_json::{Value, json};

/// The approval of an alert; null where it needs none.
pub(crate) fn approval(alert: &Alert) -> Value {
    let is_shown =
        |approval: &&Approval| approval.needs > ApprovalNeed::Nobody || approval.steering.is_some();
    let Some(approval) = alert.approval.as_deref().filter(is_shown) else { return Value::Null };
    let given = approval
        .approvals
        .iter()
        .map(|given| json!({"by": person(&given.by), "at": rfc3339(given.at), "people": given.people}));
    let alone = approval
        .sent_alone
        .as_ref()
        .map(|alone| json!({"by": person(&alone.by), "at": rfc3339(alone.at), "reason": alone.reason}));
    let steering = approval.steering.as_ref().map(|asked| {
        let by: Value = asked.by.iter().map(person).collect();
        json!({"verb": asked.verb, "needs": asked.needs.name(), "by": by, "at": rfc3339(asked.at)})
    });
    json!({
        "needs": approval.needs.name(),
        "version": approval.version,
        "authors": approval.authors.iter().map(person).collect::<Value>(),
        "asked": rfc3339(approval.asked),
        "expires": rfc3339(approval.expires),
        "people": approval.people,
        "type_people": approval.type_people_over.is_some_and(|over| approval.people > over),
        "approvals": given.collect::<Value>(),
        "sent_alone": alone,
        "steering": steering,
    })
}

/// How the request for approval ended, other than by approval; null where it did not.
pub(crate) fn ended_by(alert: &Alert) -> Value {
    let ended = |ended: &EndedBy| {
        let by = ended.by.as_ref().map(person);
        json!({"kind": ended.kind.name(), "by": by, "reason": ended.reason, "at": rfc3339(ended.at)})
    };
    match alert.approval.as_ref().and_then(|approval| approval.ended_by.as_ref()) {
        Some(by) => ended(by),
        None if alert.note.starts_with(ENOUGH_ANSWERS) => {
            json!({"kind": "enough_answers", "by": null, "reason": alert.note, "at": null})
        }
        None => Value::Null,
    }
}

/// Somebody who wrote, approved or ended something.
pub(crate) fn person(person: &ApprovalPerson) -> Value {
    json!({"user": person.user, "name": person.name, "person": person.person})
}

/// An alert that waits, with how long it does, and whether this user may approve it.
pub(super) fn waiting(alert: &Alert, user: Option<&SignedInUser>, now: Timestamp) -> Value {
    let mut out = summary(alert);
    let asked = alert.approval.as_ref().map_or(alert.created, |approval| approval.asked);
    out["waits_s"] = (now.us_since(asked).max(0) / 1_000_000).into();
    out["may_approve"] = user.is_some_and(|user| deciders::may_approve(user, alert)).into();
    out
}
