//! Limits of a user: the space of a request, and the groups and areas that an audience has to be within.
//!
//! A user without limits sends to anybody. One who is limited names groups of theirs (or groups nested in
//! them), recipients who are members of one, areas of theirs by name, or whoever got an alert of such an
//! audience; everything else is beyond them.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::auth::signed_in::UserScope;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use channels::legible;
use records::{Alert, AlertRequest, Recipient};
use std::collections::{BTreeMap, BTreeSet};

/// Groups nested in those of a user that are looked at.
const GROUPS_MAX: usize = 2_000;
/// Alerts that an audience leads back to, one by another.
const EARLIER_MAX: usize = 8;

/// Refuses a request that is beyond the user's limits.
pub(crate) async fn check(app: &App, caller: &Caller, request: &AlertRequest) -> HttpResult<()> {
    match beyond(app, caller, request).await? {
        None => Ok(()),
        Some(entry) => Err(out_of_scope(caller, &entry)),
    }
}

fn out_of_scope(caller: &Caller, entry: &str) -> HttpProblem {
    let detail = format!(
        "the audience {entry:?} is not within your groups or areas ({}); an administrator can change them",
        limits(caller)
    );
    HttpProblem::new(ProblemKind::OutOfScope, detail)
}

/// Refuses one entry of an audience that is beyond the user's limits.
pub(crate) async fn check_entry(app: &App, caller: &Caller, entry: &str) -> HttpResult<()> {
    let Some(user) = &caller.user else { return Ok(()) };
    let entries = vec![entry.to_owned()];
    match first_outside(app, (caller.account(), &user.scope), entries).await? {
        None => Ok(()),
        Some(entry) => Err(out_of_scope(caller, &entry)),
    }
}

/// Refuses an alert that is of the other space, or beyond the user's limits.
pub(crate) async fn check_alert(app: &App, caller: &Caller, alert: &Alert) -> HttpResult<()> {
    caller.check_space(alert)?;
    check(app, caller, &alert.request).await
}

/// Refuses a user who is limited to groups or areas: numbers of platforms' messages are in none.
pub(crate) fn check_unlimited(caller: &Caller) -> HttpResult<()> {
    let scope = caller.user.as_ref().map(|user| &user.scope);
    if scope.is_none_or(|scope| scope.groups.is_none() && scope.areas.is_none()) {
        return Ok(());
    }
    let detail = format!(
        "messages of platforms are of no group or area, and you are limited to {}; an administrator can change that",
        limits(caller)
    );
    Err(HttpProblem::new(ProblemKind::OutOfScope, detail))
}

/// Whether an alert is one that the user's lists have.
pub(crate) async fn has(app: &App, caller: &Caller, alert: &Alert) -> HttpResult<bool> {
    Ok(caller.check_space(alert).is_ok() && is_within(app, caller, &alert.request).await?)
}

/// Whether the audience of a request is within the user's limits, whatever its space.
pub(crate) async fn is_within(app: &App, caller: &Caller, request: &AlertRequest) -> HttpResult<bool> {
    Ok(beyond(app, caller, request).await?.is_none())
}

fn limits(caller: &Caller) -> String {
    let Some(user) = &caller.user else { return String::new() };
    let named = |kind: &str, ids: &Option<Vec<String>>| {
        let ids = ids.iter().flatten().map(|id| format!("{kind}:{id}"));
        ids.collect::<Vec<_>>()
    };
    let all = [named("group", &user.scope.groups), named("area", &user.scope.areas)].concat();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

/// Whether an alert is of a space of these limits, and its whole audience within them: somebody who has them
/// may decide about it.
pub(crate) async fn reaches(app: &App, scope: &UserScope, alert: &Alert) -> HttpResult<bool> {
    let is_in_space = scope.spaces.contains(&alert.request.mode);
    Ok(is_in_space && outside(app, (&alert.account, scope), &alert.request).await?.is_none())
}

async fn beyond(app: &App, caller: &Caller, request: &AlertRequest) -> HttpResult<Option<String>> {
    match &caller.user {
        Some(user) => outside(app, (caller.account(), &user.scope), request).await,
        None => Ok(None),
    }
}

/// The first entry of an audience that is beyond a user's limits; nothing: none is.
async fn outside(app: &App, user: (&str, &UserScope), request: &AlertRequest) -> HttpResult<Option<String>> {
    let entries = request.audience.iter().map(|entry| entry.to.clone()).collect();
    first_outside(app, user, entries).await
}

async fn first_outside(
    app: &App,
    (account, scope): (&str, &UserScope),
    mut waiting: Vec<String>,
) -> HttpResult<Option<String>> {
    if scope.groups.is_none() && scope.areas.is_none() {
        return Ok(None);
    }
    let groups = nested(app, account, scope.groups.as_deref().unwrap_or_default()).await?;
    let areas: BTreeSet<&str> = scope.areas.iter().flatten().map(String::as_str).collect();
    let mut earlier = 0;
    while let Some(entry) = waiting.pop() {
        let is_within = match entry.split_once(':') {
            Some(("group", name)) => is_group_within(name, &groups),
            Some(("area", id)) => areas.contains(legible::trimmed(id)),
            Some(("recipient", id)) => {
                let found = app.store.recipient(account, legible::trimmed(id)).await?;
                found.is_some_and(|(recipient, _)| is_member(&recipient, &groups))
            }
            Some(("alert", rest)) if earlier < EARLIER_MAX => {
                earlier += 1;
                match earlier_audience(app, account, rest).await? {
                    Some(audience) => {
                        waiting.extend(audience);
                        true
                    }
                    None => false,
                }
            }
            _ => false,
        };
        if !is_within {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// A group's name, or that and a channel: `fire/sms`.
fn is_group_within(name: &str, groups: &BTreeMap<String, Vec<String>>) -> bool {
    let is_known = |name: &str| groups.contains_key(legible::name(name).as_ref());
    is_known(name)
        || name
            .rsplit_once('/')
            .is_some_and(|(name, channel)| channels::named(channel).is_ok() && is_known(name))
}

/// These groups and all that are nested in them, with those whom each lists.
async fn nested(app: &App, account: &str, own: &[String]) -> HttpResult<BTreeMap<String, Vec<String>>> {
    let mut waiting: Vec<String> = own.to_vec();
    let mut groups = BTreeMap::new();
    while let Some(id) = waiting.pop() {
        if groups.len() >= GROUPS_MAX || groups.contains_key(&id) {
            continue;
        }
        let group = app.store.group(account, &id).await?.map(|(group, _)| group);
        let (nested, members) = group.map(|group| (group.groups, group.members)).unwrap_or_default();
        waiting.extend(nested);
        groups.insert(id, members);
    }
    Ok(groups)
}

/// Whether a person is a member of one of these groups, by their own record or by the group's list. Rules are
/// for whole groups.
fn is_member(recipient: &Recipient, groups: &BTreeMap<String, Vec<String>>) -> bool {
    recipient.groups.iter().any(|group| groups.contains_key(group))
        || groups.values().any(|members| members.contains(&recipient.id))
}

/// The audience of an earlier alert of the account: `ID/received`.
async fn earlier_audience(app: &App, account: &str, rest: &str) -> HttpResult<Option<Vec<String>>> {
    let id = rest.split('/').next().and_then(|id| id.parse().ok());
    let Some(id) = id else { return Ok(None) };
    let found = app.engine.alert(account, id).await;
    Ok(found.ok().map(|alert| alert.request.audience.into_iter().map(|entry| entry.to).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_within_by_its_name_with_or_without_a_channel() {
        let groups = ["fire", "a/b"].map(|id| (id.to_owned(), Vec::new()));
        let groups = BTreeMap::from(groups);
        for (name, expected) in [
            ("fire", true),
            ("fire/sms", true),
            (" fire ", true),
            ("a/b", true),
            ("a/b/mail", true),
            ("a", false),
            ("firemen", false),
            ("fire/smoke", false),
        ] {
            assert_eq!(is_group_within(name, &groups), expected, "{name}");
        }
    }
}
