//! Membership of a group: who is in it or in a group below it, and what makes them a member.

use crate::http::app::App;
use crate::http::problem::HttpResult;
use channels::legible;
use records::{Group, Recipient, Rule};
use std::collections::{HashMap, HashSet};

/// Groups nest at most so deep.
const DEPTH_MAX: usize = 16;
/// Groups below one that are looked at.
const GROUPS_MAX: usize = 2_000;

/// A group with all below it.
#[derive(Debug, Default)]
pub(crate) struct Membership {
    /// Names that recipients say they belong to, each with its group.
    names: HashMap<String, String>,
    /// Recipients that groups name, each with its group.
    members: HashMap<String, String>,
    /// Rules, each with its group.
    rules: Vec<(Rule, String)>,
}

/// What makes somebody a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberBy {
    /// The person names the group.
    Person,
    /// The group names the person.
    Group,
    /// The group's rule fits the person.
    Rule,
}

impl MemberBy {
    pub(crate) fn name(self) -> &'static str {
        match self {
            MemberBy::Person => "person",
            MemberBy::Group => "group",
            MemberBy::Rule => "rule",
        }
    }
}

impl Membership {
    /// Of a group by its name; nobody needs to have defined it.
    pub(crate) async fn of(app: &App, account: &str, id: &str) -> HttpResult<Membership> {
        let mut found = Membership::default();
        let mut seen = HashSet::from([id.to_owned()]);
        let mut level = vec![id.to_owned()];
        for _ in 0..DEPTH_MAX {
            let mut below = Vec::new();
            for id in level {
                found.name(&id);
                if let Some((group, _)) = app.store.group(account, &id).await? {
                    let inner = group
                        .groups
                        .iter()
                        .filter(|inner| seen.len() < GROUPS_MAX && seen.insert((*inner).clone()));
                    below.extend(inner.cloned());
                    found.add(group);
                }
            }
            if below.is_empty() {
                break;
            }
            level = below;
        }
        Ok(found)
    }

    fn name(&mut self, id: &str) {
        let composed = legible::name(id);
        let forms = [Some(id.to_owned()), legible::decomposed(&composed), Some(composed.into_owned())];
        for form in forms.into_iter().flatten() {
            self.names.entry(form).or_insert_with(|| id.to_owned());
        }
    }

    fn add(&mut self, group: Group) {
        let Group { id, members, rule, .. } = group;
        self.rules.extend(rule.map(|rule| (rule, id.clone())));
        for member in members {
            self.members.entry(member).or_insert_with(|| id.clone());
        }
    }

    /// What makes a person a member, and of which group; nothing: the person is none.
    pub(crate) fn why(&self, person: &Recipient) -> Option<(MemberBy, &str)> {
        if let Some(group) = person.groups.iter().find_map(|name| self.names.get(name)) {
            return Some((MemberBy::Person, group));
        }
        if let Some(group) = self.members.get(&person.id) {
            return Some((MemberBy::Group, group));
        }
        let fits = |(rule, _): &&(Rule, String)| store::rule::fits(rule, person);
        self.rules.iter().find(fits).map(|(_, group)| (MemberBy::Rule, group.as_str()))
    }

    /// Everybody has to be looked at.
    pub(crate) fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.names.keys().cloned().collect()
    }

    /// Named members after an id, in the order of their ids.
    pub(crate) fn members_after(&self, after: &str, limit: usize) -> Vec<String> {
        let mut members: Vec<&String> = self.members.keys().filter(|id| id.as_str() > after).collect();
        members.sort_unstable();
        members.into_iter().take(limit).cloned().collect()
    }
}
