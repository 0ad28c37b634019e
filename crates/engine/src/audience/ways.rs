//! Ways by which a group holds a person: their own record, the list of a group, or its rule, in the group
//! itself or in one that is nested in it.

use crate::api::{EngineError, Parts};
use crate::run::group_of;
use crate::solve::{GROUP_DEPTH_MAX, GroupSet};
use records::{PersonFacts, Rule};
use tokio::runtime::Handle;

/// A group with all below it, each with the one that it was found in.
pub(super) struct GroupTree {
    nodes: Vec<GroupNode>,
}

struct GroupNode {
    id: String,
    /// Of this group alone.
    own: GroupSet,
    parent: Option<usize>,
}

/// How a group holds somebody.
pub(super) struct GroupWay<'a> {
    /// `person`, `group` or `rule`.
    pub(super) by: &'static str,
    /// From the group that was asked to the one that holds them.
    pub(super) path: Vec<&'a str>,
    /// The rule that fits.
    pub(super) rule: Option<&'a Rule>,
}

impl GroupTree {
    /// Reads a group. On the calling thread.
    pub(super) fn read(
        parts: &Parts,
        account: &str,
        name: &str,
        runtime: &Handle,
    ) -> Result<GroupTree, EngineError> {
        let mut nodes: Vec<GroupNode> = Vec::new();
        let mut level = vec![(name.to_owned(), None)];
        for _ in 0..GROUP_DEPTH_MAX {
            let mut below = Vec::new();
            for (id, parent) in level {
                if nodes.iter().any(|node| node.own.names.contains(&id)) {
                    continue;
                }
                let mut own = GroupSet::default();
                own.name(&id);
                let place = nodes.len();
                if let Some(group) = group_of(parts, account, &id, runtime)? {
                    below.extend(own.add(&group).into_iter().map(|id| (id, Some(place))));
                }
                nodes.push(GroupNode { id, own, parent });
            }
            level = below;
        }
        Ok(GroupTree { nodes })
    }

    /// The first way, the shortest ones before the others; nothing: they are not in it.
    pub(super) fn way(&self, person: &impl PersonFacts) -> Option<GroupWay<'_>> {
        self.nodes.iter().enumerate().find_map(|(place, node)| {
            let (by, rule) = node.holds(person)?;
            Some(GroupWay { by, path: self.path(place), rule })
        })
    }

    fn path(&self, place: usize) -> Vec<&str> {
        let above = |place: &usize| self.nodes[*place].parent;
        let mut path: Vec<&str> =
            std::iter::successors(Some(place), above).map(|place| self.nodes[place].id.as_str()).collect();
        path.reverse();
        path
    }
}

impl GroupNode {
    fn holds(&self, person: &impl PersonFacts) -> Option<(&'static str, Option<&Rule>)> {
        if person.is_in(&mut |group| self.own.names.contains(group)) {
            return Some(("person", None));
        }
        if self.own.members.contains(person.id()) {
            return Some(("group", None));
        }
        let rule = self.own.rules.iter().find(|rule| store::rule::fits(rule, person))?;
        Some(("rule", Some(rule)))
    }
}
