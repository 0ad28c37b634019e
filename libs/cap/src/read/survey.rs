//! Survey checks which elements stand where, how often and in which order; and lists those that may not.

use super::tree::{Element, Namespace};
use crate::limits::PROBLEMS_MAX;
use crate::problem::{CapProblem, Rule};

/// How often a child may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Often {
    Once,
    Many,
}

use Often::{Many, Once};

/// A child's name, how often it may occur; in the schema's order.
pub(super) type Schema = &'static [(&'static str, Often)];

/// Section 3.2.1.
pub(super) const ALERT: Schema = &[
    ("identifier", Once),
    ("sender", Once),
    ("password", Once), // 1.0 only
    ("sent", Once),
    ("status", Once),
    ("msgType", Once),
    ("source", Once),
    ("scope", Once),
    ("restriction", Once),
    ("addresses", Once),
    ("code", Many),
    ("note", Once),
    ("references", Once),
    ("incidents", Once),
    ("info", Many),
];

/// Section 3.2.2.
pub(super) const INFO: Schema = &[
    ("language", Once),
    ("category", Many),
    ("event", Once),
    ("responseType", Many),
    ("urgency", Once),
    ("severity", Once),
    ("certainty", Once),
    ("audience", Once),
    ("eventCode", Many),
    ("effective", Once),
    ("onset", Once),
    ("expires", Once),
    ("senderName", Once),
    ("headline", Once),
    ("description", Once),
    ("instruction", Once),
    ("web", Once),
    ("contact", Once),
    ("parameter", Many),
    ("resource", Many),
    ("area", Many),
];

/// Section 3.2.3.
pub(super) const RESOURCE: Schema = &[
    ("resourceDesc", Once),
    ("mimeType", Once),
    ("size", Once),
    ("uri", Once),
    ("derefUri", Once),
    ("digest", Once),
];

/// Section 3.2.4.
pub(super) const AREA: Schema = &[
    ("areaDesc", Once),
    ("polygon", Many),
    ("circle", Many),
    ("geocode", Many),
    ("altitude", Once),
    ("ceiling", Once),
];

/// A name and a value.
pub(super) const NAMED_VALUE: Schema = &[("valueName", Once), ("value", Once)];

/// Whether a child is one of the schema's. One without a namespace, or of another version, counts as well.
pub(super) fn is_known(schema: Schema, child: &Element) -> bool {
    child.namespace.is_cap() && place(schema, &child.name).is_some()
}

fn place(schema: Schema, name: &str) -> Option<usize> {
    schema.iter().position(|(known, _)| *known == name)
}

/// The problems found so far, and the element that is being read.
pub(super) struct Problems {
    list: Vec<CapProblem>,
    path: String,
    left_out: usize,
}

impl Problems {
    pub(super) fn new() -> Problems {
        Problems { list: Vec::new(), path: "alert".to_string(), left_out: 0 }
    }

    /// Lists a problem of the element that is being read.
    pub(super) fn add(&mut self, rule: Rule, message: String) {
        if self.list.len() + 1 >= PROBLEMS_MAX {
            self.left_out += 1;
            return;
        }
        self.list.push(CapProblem { path: self.path.clone(), rule, message });
    }

    /// Lists a problem of a child.
    pub(super) fn add_at(&mut self, child: &str, rule: Rule, message: String) {
        self.within(child, |problems| problems.add(rule, message));
    }

    /// Reads a child, named as in a path, whose problems get its path.
    pub(super) fn within<T>(&mut self, child: &str, read: impl FnOnce(&mut Problems) -> T) -> T {
        let outside = self.enter(child);
        let result = read(self);
        self.leave(outside);
        result
    }

    /// Goes into a child; what is returned brings [`leave`](Self::leave) back.
    pub(super) fn enter(&mut self, child: &str) -> usize {
        let outside = self.path.len();
        self.path.push('/');
        self.path.push_str(child);
        outside
    }

    pub(super) fn leave(&mut self, outside: usize) {
        self.path.truncate(outside);
    }

    pub(super) fn into_list(mut self) -> Vec<CapProblem> {
        if self.left_out > 0 {
            let message = format!("{} more problems are not listed", self.left_out);
            self.list.push(CapProblem { path: "alert".to_string(), rule: Rule::More, message });
        }
        self.list
    }
}

/// Lists children that are unknown, out of order, repeated or hold forbidden characters.
pub(super) fn survey(element: &Element, schema: Schema, problems: &mut Problems) {
    let mut seen = vec![0_usize; schema.len()];
    let mut before = 0;
    let mut is_ordered = true;
    for child in &element.children {
        if child.namespace == Namespace::Signature {
            continue;
        }
        let Some(place) = place(schema, &child.name).filter(|_| is_known(schema, child)) else {
            problems.add_at(&child.name, Rule::Unknown, "is no element of CAP here, left out".to_string());
            continue;
        };
        seen[place] += 1;
        if child.had_forbidden {
            let message = "held control characters, which XML forbids; left out".to_string();
            problems.add_at(&child.name, Rule::Characters, message);
        }
        if schema[place].1 == Once && seen[place] == 2 {
            problems.add_at(&child.name, Rule::Repeated, "may occur once only".to_string());
        }
        if place < before && is_ordered {
            is_ordered = false; // the first tells enough
            let message = format!("stands after `{}`, before which it belongs", schema[before].0);
            problems.add_at(&child.name, Rule::Order, message);
        }
        before = place;
    }
}
