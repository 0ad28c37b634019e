//! A group as a client writes it: members, nested groups, a rule.

use crate::http::problem::Fields;
use crate::http::request::fields::{Object, list, text};
use crate::http::request::json::JsonNode;
use channels::legible;
use records::{Group, JoinRule, Rule, Test};
use store::import::{
    ATTRIBUTE_NAME_OCTETS_MAX, ATTRIBUTE_OCTETS_MAX, ID_OCTETS_MAX, NAME_OCTETS_MAX, check_group,
};
use store::rule::{RULE_DEPTH_MAX, RULE_VALUES_MAX};

/// Entries of a list that are read at all; the store has the lower limits.
const LIST_MAX: usize = 200_000;
/// Parts of one rule that are read at all.
const RULE_PARTS_MAX: usize = 1_000;

/// Whether people may join it by themselves, by their names.
const JOIN_RULES: [(&str, JoinRule); 3] = [
    (JoinRule::Open.name(), JoinRule::Open),
    (JoinRule::Approval.name(), JoinRule::Approval),
    (JoinRule::Closed.name(), JoinRule::Closed),
];

/// Reads a group. With `id` given (it is in the path) the body's may be absent.
pub(crate) fn parse(node: JsonNode, id: Option<&str>, fields: &mut Fields) -> Option<Group> {
    let mut object = Object::open(node, "", &["id", "name", "members", "groups", "rule", "join"], fields)?;
    let own = object.text("id", ID_OCTETS_MAX, fields);
    match (&own, id) {
        (Some(own), Some(id)) if own != id => fields.push("id", "is not the id in the path"),
        (None, None) if fields.is_empty() => fields.push("id", "is needed"),
        _ => {}
    }
    let mut parts = RULE_PARTS_MAX;
    let group = Group {
        id: legible::name(&id.map(str::to_owned).or(own)?).into_owned(),
        name: object.text("name", NAME_OCTETS_MAX, fields).unwrap_or_default(),
        members: object.texts("members", LIST_MAX, ID_OCTETS_MAX, fields),
        groups: named(object.texts("groups", LIST_MAX, ID_OCTETS_MAX, fields)),
        join: object.word("join", &JOIN_RULES, fields).unwrap_or_default(),
        rule: object.take("rule").and_then(|node| rule(node, "rule", RULE_DEPTH_MAX, &mut parts, fields)),
    };
    if fields.is_empty()
        && let Err(faults) = check_group(&group)
    {
        faults.into_iter().for_each(|fault| fields.push(fault.field, fault.reason));
    }
    Some(group)
}

/// Names of groups in the form that they are found by.
fn named(names: Vec<String>) -> Vec<String> {
    names.into_iter().map(|name| legible::name(&name).into_owned()).collect()
}

const RULE_MEMBERS: [&str; 10] =
    ["all", "any", "not", "attribute", "is", "in", "starts_with", "exists", "at_least", "at_most"];

/// Reads a rule alone, and checks it as a group's would be.
pub(crate) fn parse_rule(node: JsonNode, fields: &mut Fields) -> Option<Rule> {
    let mut parts = RULE_PARTS_MAX;
    let rule = rule(node, "rule", RULE_DEPTH_MAX, &mut parts, fields)?;
    if fields.is_empty()
        && let Err(reason) = store::rule::check(&rule)
    {
        fields.push("rule", reason);
    }
    Some(rule)
}

fn rule(node: JsonNode, at: &str, depth: usize, parts: &mut usize, fields: &mut Fields) -> Option<Rule> {
    if depth == 0 || *parts == 0 {
        fields.push(at, format!("has more than {RULE_DEPTH_MAX} levels or {RULE_PARTS_MAX} parts"));
        return None;
    }
    *parts -= 1;
    let mut object = Object::open(node, at, &RULE_MEMBERS, fields)?;
    if let Some(attribute) = object.text("attribute", ATTRIBUTE_NAME_OCTETS_MAX, fields) {
        let test = test(object, at, fields)?;
        return Some(Rule::Test { attribute, test });
    }
    let members = object.rest();
    let Ok([(name, node)]) = <[_; 1]>::try_from(members) else {
        fields.push(at, "must have exactly one of all, any, not, or attribute with a test");
        return None;
    };
    let inner = format!("{at}.{name}");
    match name.as_str() {
        "all" => rules(node, &inner, depth, parts, fields).map(Rule::All),
        "any" => rules(node, &inner, depth, parts, fields).map(Rule::Any),
        "not" => rule(node, &inner, depth - 1, parts, fields).map(|rule| Rule::Not(Box::new(rule))),
        _ => {
            fields.push(format!("{at}.attribute"), "is needed");
            None
        }
    }
}

fn rules(
    node: JsonNode,
    at: &str,
    depth: usize,
    parts: &mut usize,
    fields: &mut Fields,
) -> Option<Vec<Rule>> {
    let items = list(node, at, RULE_PARTS_MAX, fields)?;
    if items.is_empty() {
        fields.push(at, "is empty");
    }
    let mut rules = Vec::with_capacity(items.len());
    for (index, node) in items.into_iter().enumerate() {
        rules.push(rule(node, &format!("{at}[{index}]"), depth - 1, parts, fields)?);
    }
    Some(rules)
}

fn test(object: Object, at: &str, fields: &mut Fields) -> Option<Test> {
    let Ok([(name, node)]) = <[_; 1]>::try_from(object.rest()) else {
        fields.push(
            at,
            "must have exactly one of is, in, starts_with, exists, at_least, at_most beside attribute",
        );
        return None;
    };
    let inner = format!("{at}.{name}");
    match name.as_str() {
        "is" => text(node, &inner, ATTRIBUTE_OCTETS_MAX, fields).map(Test::Is),
        "starts_with" => text(node, &inner, ATTRIBUTE_OCTETS_MAX, fields).map(Test::StartsWith),
        "in" => {
            let items = list(node, &inner, RULE_VALUES_MAX, fields)?;
            let read = |(index, node)| text(node, &format!("{inner}[{index}]"), ATTRIBUTE_OCTETS_MAX, fields);
            Some(Test::In(items.into_iter().enumerate().filter_map(read).collect()))
        }
        "exists" => match node {
            JsonNode::Bool(value) => Some(Test::Exists(value)),
            other => {
                fields.push(inner, format!("is {}; true or false is needed", other.kind()));
                None
            }
        },
        "at_least" => whole(&node, &inner, fields).map(Test::AtLeast),
        "at_most" => whole(&node, &inner, fields).map(Test::AtMost),
        _ => {
            fields.push(inner, "does not go with attribute");
            None
        }
    }
}

fn whole(node: &JsonNode, at: &str, fields: &mut Fields) -> Option<i64> {
    let value = if let JsonNode::Number(number) = node { number.as_i64() } else { None };
    if value.is_none() {
        fields.push(at, format!("is {}; a whole number is needed", node.kind()));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::json;

    fn read(body: &str) -> Result<Group, Vec<(String, String)>> {
        let mut fields = Fields::default();
        let group = parse(json::parse(body.as_bytes()).unwrap(), None, &mut fields);
        if fields.is_empty() {
            return Ok(group.unwrap());
        }
        Err(fields.listed().iter().map(|p| (p.field.clone(), p.reason.clone())).collect())
    }

    #[test]
    fn a_group_written_out_is_read_back_the_same() {
        let body = r#"{"id": "fire", "name": "Fire", "members": ["a"], "groups": ["staff"],
            "rule": {"all": [{"attribute": "site", "is": "A"}, {"not": {"attribute": "leave", "exists": true}},
            {"any": [{"attribute": "floor", "at_least": 2}, {"attribute": "floor", "at_most": -1},
            {"attribute": "team", "in": ["x", "y"]}, {"attribute": "team", "starts_with": "z"}]}]}}"#;
        let group = read(body).unwrap();
        assert_eq!(read(&serde_json::to_string(&group).unwrap()).unwrap(), group);
    }

    #[test]
    fn a_wrong_rule_names_its_place() {
        let deep =
            format!("{}{}{}", r#"{"not":"#.repeat(20), r#"{"attribute":"a","is":"b"}"#, "}".repeat(20));
        for (rule, field, says) in [
            (r#"{"attribute": "a"}"#, "rule", "exactly one of is, in"),
            (r#"{"attribute": "a", "is": "b", "exists": true}"#, "rule", "exactly one of is, in"),
            (r#"{"is": "b"}"#, "rule.attribute", "is needed"),
            (r#"{"all": [{"attribute": "a", "at_least": "2"}]}"#, "rule.all[0].at_least", "a whole number"),
            (r#"{"all": []}"#, "rule.all", "is empty"),
            (r#"{"or": []}"#, "rule.or", "is unknown"),
            (&deep, "rule.not.not.not.not.not.not.not.not", "more than 8 levels"),
        ] {
            let problems = read(&format!(r#"{{"id": "g", "rule": {rule}}}"#)).unwrap_err();
            let found = problems.iter().find(|(name, _)| name == field);
            assert!(found.is_some_and(|(_, reason)| reason.contains(says)), "{rule}: {problems:?}");
        }
    }
}
