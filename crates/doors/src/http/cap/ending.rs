//! Ends of messages: an Update or a Cancel ends what it refers to, whether that came before or comes later.

use super::incoming::{Oddity, seconds};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::HttpResult;
use crate::http::role_matrix::Reach;
use crate::http::routes::RequiredRole;
use cap::Reference;
use engine::{EngineError, Steer};
use records::{Alert, Origin, Timestamp};
use store::CapEnd;

/// Earlier messages that one may end, and alerts that led to those.
const ENDS_MAX: usize = 100;
/// An end is remembered so long, seconds: no alert holds longer, and a day for clocks that differ.
const KEPT_S: i64 = 41 * 86_400;

/// Whether a message that was sent then, and submitted by this token, is ended: by a reference to it, or by
/// one to an earlier or unreadable time under the same identifier in a message that is later than it.
pub(super) fn is_ended(ends: &[CapEnd], sent: Option<cap::Timestamp>, token: &str) -> bool {
    ends.iter().any(|end| {
        let reaches = end.token.is_empty() || end.token == token;
        let is_meant = seconds(cap::Timestamp::parse(&end.sent)) == seconds(sent);
        let is_older = sent.is_none_or(|sent| sent.utc_micros() < end.ended.0);
        reaches && ((is_meant && sent.is_some()) || is_older)
    })
}

/// The end that a message puts to one it refers to. A token that may only submit ends only its own.
pub(super) fn end_of(caller: &Caller, by: &cap::Alert, reference: &Reference, now: Timestamp) -> CapEnd {
    let is_bound = caller.reach_with(RequiredRole::Change) == Reach::Nothing;
    CapEnd {
        sender: reference.sender.clone(),
        identifier: reference.identifier.clone(),
        sent: reference.sent.map(|sent| sent.to_string()).unwrap_or_default(),
        token: if is_bound { caller.token.id.clone() } else { String::new() },
        ended: by.sent.map_or(now, |sent| Timestamp(sent.utc_micros())),
        until: now.plus_s(KEPT_S),
    }
}

/// Ends what a message refers to: it is remembered for what comes later, and what is known is cancelled.
/// Gives the alerts that were.
pub(super) async fn end_all(
    app: &App,
    caller: &Caller,
    by: &cap::Alert,
    references: &[Reference],
    oddities: &mut Vec<Oddity>,
) -> HttpResult<Vec<Alert>> {
    let now = app.now();
    let mut ended = Vec::new();
    if references.len() > ENDS_MAX {
        let message = format!(
            "{} messages are referred to; the first {ENDS_MAX} are ended, the others not",
            references.len()
        );
        oddities.push(Oddity::new("alert/references", "too-many", message));
    }
    for reference in references.iter().take(ENDS_MAX) {
        let end = end_of(caller, by, reference, now);
        app.store.note_cap_end(caller.account(), end.clone(), now).await?;
        let known = known(app, caller, &end).await?;
        if known.is_empty() && !by.references.is_empty() {
            // The same words for both: whether another token submitted it is not this one's to know.
            let (sender, identifier) = (&reference.sender, &reference.identifier);
            let message = format!("{sender},{identifier} is not known here, or not to this token");
            oddities.push(Oddity::new("alert/references", "unknown", message));
        }
        for alert in known {
            if !ended.iter().any(|one: &Alert| one.no == alert.no) {
                ended.push(cancel(app, caller, &alert).await?);
            }
        }
    }
    Ok(ended)
}

/// Alerts of a message that is ended.
async fn known(app: &App, caller: &Caller, end: &CapEnd) -> HttpResult<Vec<Alert>> {
    let mut earlier = app.store.alerts_of_cap(caller.account(), &end.sender, &end.identifier).await?;
    let ends = std::slice::from_ref(end);
    earlier.retain(|alert| is_ended(ends, message(alert).and_then(|one| one.sent), &alert.token));
    Ok(earlier)
}

/// The message that an alert came from.
pub(super) fn message(alert: &Alert) -> Option<cap::Alert> {
    let Origin::Cap(original) = &alert.origin else { return None };
    cap::read(original.as_bytes()).ok().map(|reading| reading.alert)
}

pub(super) async fn cancel(app: &App, caller: &Caller, alert: &Alert) -> HttpResult<Alert> {
    caller.check_space(alert)?;
    let act = app.act(caller, "alert.cancel", &alert.id.to_string(), "by a CAP message");
    let steering = async {
        match app.engine.steer(caller.account(), alert.id, Steer::Cancel).await {
            // It was over already.
            Err(EngineError::WrongState { .. }) => Ok(alert.clone()),
            steered => steered,
        }
    };
    app.noted(act, steering).await
}

/// These alerts and those that they replaced in turn: whoever got one of them knows of the event.
pub(super) async fn with_replaced(app: &App, caller: &Caller, alerts: &[Alert]) -> HttpResult<Vec<Alert>> {
    let mut all = alerts.to_vec();
    let mut at = 0;
    while at < all.len() && all.len() < ENDS_MAX {
        let message = message(&all[at]);
        at += 1;
        let Some(message) = message else { continue };
        if message.msg_type != Some(cap::MsgType::Update) {
            continue;
        }
        for reference in &message.references {
            let end = end_of(caller, &message, reference, app.now());
            for alert in known(app, caller, &end).await? {
                if !all.iter().any(|one| one.no == alert.no) {
                    all.push(alert);
                }
            }
        }
    }
    Ok(all)
}

/// Whether a message was ended before it came.
pub(super) async fn came_too_late(app: &App, caller: &Caller, alert: &cap::Alert) -> HttpResult<bool> {
    let of = Some((alert.sender.as_str(), alert.identifier.as_str()));
    let ends = app.store.cap_ends(caller.account(), of).await?;
    Ok(is_ended(&ends, alert.sent, &caller.token.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_holds_for_the_message_it_names_and_what_was_older_under_its_identifier() {
        let at = |time: &str| cap::Timestamp::parse(time).unwrap();
        let end = |sent: &str, ended: &str, token: &str| CapEnd {
            sender: "s".to_owned(),
            identifier: "i".to_owned(),
            sent: sent.to_owned(),
            token: token.to_owned(),
            ended: Timestamp(at(ended).utc_micros()),
            until: Timestamp(i64::MAX),
        };
        let (noon, one) = ("2026-11-18T12:00:00-00:00", "2026-11-18T13:00:00-00:00");
        for (what, end, sent, expected) in [
            ("named", end(noon, one, ""), Some(noon), true),
            ("named in another zone", end("2026-11-18T13:00:00+01:00", one, ""), Some(noon), true),
            ("with a fraction", end(noon, one, ""), Some("2026-11-18T12:00:00.250-00:00"), true),
            ("named though it says it is later", end(one, noon, ""), Some(one), true),
            ("another time, but older", end("2026-11-18T11:00:00-00:00", one, ""), Some(noon), true),
            ("the message itself, which refers to an earlier one", end(noon, one, ""), Some(one), false),
            (
                "a later one under the same identifier",
                end(noon, one, ""),
                Some("2026-11-18T14:00:00-00:00"),
                false,
            ),
            ("an unreadable reference", end("", one, ""), Some(noon), true),
            ("a message without a time", end(noon, one, ""), None, true),
            ("by a token that ends its own", end(noon, one, "t"), Some(noon), true),
            ("of another token", end(noon, one, "u"), Some(noon), false),
        ] {
            assert_eq!(is_ended(&[end], sent.map(at), "t"), expected, "{what}");
        }
        assert!(!is_ended(&[], Some(at(noon)), "t"));
    }
}
