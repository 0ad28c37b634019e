//! Groups as people see them: those that can be joined, and by what somebody is in one.

use crate::inbound_text::folded;
use records::{Group, JoinRule, Recipient};
use store::{SharedStore, StoreError};

/// Groups read at a time, and at most.
const PAGE: usize = 500;
const GROUPS_MAX: usize = 10_000;

/// Groups of an account that people may join by themselves, in the order of their names.
pub(super) async fn joinable(store: &SharedStore, account: &str) -> Result<Vec<Group>, StoreError> {
    let mut found = Vec::new();
    let mut after = String::new();
    for _ in 0..GROUPS_MAX / PAGE {
        let page = store.groups_after(account, &after, PAGE).await?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|group| group.id.clone()).unwrap_or_default();
        found.extend(page.into_iter().filter(|group| group.join != JoinRule::Closed));
        if is_last {
            break;
        }
    }
    Ok(found)
}

/// The one that somebody means, by its id or its name.
pub(super) fn named<'g>(groups: &'g [Group], wanted: &str) -> Option<&'g Group> {
    let wanted = folded(wanted);
    let by_id = groups.iter().find(|group| folded(&group.id) == wanted);
    by_id.or_else(|| groups.iter().find(|group| folded(&group.name) == wanted))
}

/// Named as a member by themselves or by the group.
pub(super) fn is_named(person: &Recipient, group: &Group) -> bool {
    person.groups.contains(&group.id) || group.members.contains(&person.id)
}

/// In it, also by what is known of them.
pub(super) fn is_in(person: &Recipient, group: &Group) -> bool {
    is_named(person, group) || group.rule.as_ref().is_some_and(|rule| store::rule::fits(rule, person))
}

/// As people call it.
pub(super) fn shown(group: &Group) -> &str {
    if group.name.is_empty() { &group.id } else { &group.name }
}
