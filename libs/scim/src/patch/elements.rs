//! Changes of the elements of a multi-valued attribute.

use super::apply::{set_sub, unchanged_if_immutable};
use super::{AttributeChange, Verb};
use crate::filter::evaluate::element_matches;
use crate::filter::{CompareOp, CompareValue, FilterExpr};
use crate::resource::{Ignored, assigned, is_primary, key_of};
use crate::schema::{AttributeDef, Mutability};
use crate::{Object, ScimError, ScimType};
use serde_json::Value;
use std::collections::HashSet;

/// Added elements from which on a set of keys is built instead of comparing each with each.
const SET_FROM: usize = 8;

pub(super) fn change(change: &AttributeChange, values: &mut Vec<Value>) -> Result<(), ScimError> {
    let touched = match (&change.select, change.sub) {
        (None, None) => whole(change, values),
        (None, Some(sub)) => {
            let all = (0..values.len()).collect();
            subs(change, sub, all, values)?
        }
        (Some(filter), sub) => selected(change, filter, sub, values)?,
    };
    one_primary(change.attribute, &touched, values)?;
    if !change.attribute.is_keyed() {
        once_each(values);
    }
    Ok(())
}

/// Leaves each of the few values of an attribute once; of two that became the same, the first one.
fn once_each(values: &mut Vec<Value>) {
    let mut at = 0;
    while at < values.len() {
        if values[..at].contains(&values[at]) {
            values.remove(at);
        } else {
            at += 1;
        }
    }
}

/// The attribute as a whole. Returns the places of new elements.
fn whole(change: &AttributeChange, values: &mut Vec<Value>) -> Vec<usize> {
    let given = change.value.as_ref().and_then(Value::as_array).map(Vec::as_slice);
    match (change.verb, given) {
        (Verb::Remove, Some(listed)) => remove_listed(change.attribute, listed, values),
        (Verb::Remove | Verb::Replace, None) => values.clear(),
        (Verb::Replace, Some(new)) => *values = new.to_vec(),
        (Verb::Add, Some(new)) => return append(change.attribute, new, values),
        (Verb::Add, None) => {}
    }
    Vec::new()
}

/// Appends what is not there yet; what is there stays as it is (RFC 7644 3.5.2.1).
fn append(attribute: &AttributeDef, new: &[Value], values: &mut Vec<Value>) -> Vec<usize> {
    let mut touched = Vec::new();
    let mut keys: Option<HashSet<String>> = (attribute.is_keyed() && new.len() >= SET_FROM)
        .then(|| values.iter().filter_map(key_of).map(str::to_owned).collect());
    for element in new {
        let is_there = match (&mut keys, key_of(element)) {
            (Some(keys), Some(key)) => !keys.insert(key.to_owned()),
            (None, key @ Some(_)) if attribute.is_keyed() => values.iter().any(|one| key_of(one) == key),
            _ => values.contains(element),
        };
        if !is_there {
            touched.push(values.len());
            values.push(element.clone());
        }
    }
    touched
}

/// Removes the elements that are listed: by their key, or by all sub-attributes that are given.
fn remove_listed(attribute: &AttributeDef, listed: &[Value], values: &mut Vec<Value>) {
    if attribute.is_keyed() {
        let keys: HashSet<&str> = listed.iter().filter_map(key_of).collect();
        values.retain(|value| key_of(value).is_none_or(|key| !keys.contains(key)));
        return;
    }
    let covers = |given: &Value, value: &Value| match (given, value) {
        (Value::Object(given), Value::Object(value)) => {
            given.iter().all(|(name, given)| value.get(name) == Some(given))
        }
        _ => given == value,
    };
    values.retain(|value| !listed.iter().any(|given| covers(given, value)));
}

/// The elements for which a filter holds.
fn selected(
    change: &AttributeChange,
    filter: &FilterExpr,
    sub: Option<&'static AttributeDef>,
    values: &mut Vec<Value>,
) -> Result<Vec<usize>, ScimError> {
    let attribute = change.attribute;
    let found: Vec<usize> =
        (0..values.len()).filter(|at| element_matches(filter, attribute, &values[*at])).collect();
    if found.is_empty() {
        if change.verb == Verb::Remove && attribute.is_keyed() {
            return Ok(found);
        }
        let can_create = change.verb == Verb::Add || (change.verb == Verb::Replace && change.is_loose);
        return match created(change, filter).filter(|_| can_create) {
            Some(element) => {
                values.push(element);
                Ok(vec![values.len() - 1])
            }
            None => Err(no_target(attribute)),
        };
    }
    match sub {
        Some(sub) => subs(change, sub, found, values),
        None if change.verb == Verb::Remove => {
            let mut at = 0;
            values.retain(|_| {
                at += 1;
                found.binary_search(&(at - 1)).is_err()
            });
            Ok(Vec::new())
        }
        None => replace_selected(change, found, values),
    }
}

/// `add` merges into the elements, `replace` puts another in the place of each (RFC 7644 3.5.2.3).
fn replace_selected(
    change: &AttributeChange,
    found: Vec<usize>,
    values: &mut Vec<Value>,
) -> Result<Vec<usize>, ScimError> {
    let attribute = change.attribute;
    let new = match change.value.as_ref().and_then(Value::as_array).map(Vec::as_slice) {
        Some([Value::Object(new)]) => new,
        None if change.verb == Verb::Add => return Ok(Vec::new()),
        _ => return Err(ScimError::value(format!("one value of {} is expected", attribute.name))),
    };
    for at in &found {
        let Some(old) = values[*at].as_object_mut() else { continue };
        for sub in attribute.sub_attributes.iter().filter(|one| one.mutability == Mutability::Immutable) {
            if let Some(value) = new.get(sub.name) {
                unchanged_if_immutable(sub, old.get(sub.name), Some(value))?;
            }
        }
        if change.verb == Verb::Replace {
            old.clear();
        }
        old.extend(new.clone());
    }
    Ok(without_repeats(found, values))
}

/// Elements that became the same as one before them go.
fn without_repeats(found: Vec<usize>, values: &mut Vec<Value>) -> Vec<usize> {
    let Some((first, rest)) = found.split_first() else { return found };
    for at in rest.iter().rev() {
        if values[*at] == values[*first] {
            values.remove(*at);
        }
    }
    vec![*first]
}

/// One sub-attribute of some elements. An element of which nothing but its labels would be left goes.
fn subs(
    change: &AttributeChange,
    sub: &'static AttributeDef,
    found: Vec<usize>,
    values: &mut Vec<Value>,
) -> Result<Vec<usize>, ScimError> {
    if found.is_empty() && change.verb != Verb::Remove {
        return Err(no_target(change.attribute));
    }
    for at in &found {
        if let Some(object) = values[*at].as_object_mut() {
            set_sub(change.verb, sub, change.value.as_ref(), object)?;
        }
    }
    let is_hollow = |value: &Value| {
        value.as_object().is_some_and(|object| {
            object.keys().all(|name| ["type", "primary", "display"].contains(&name.as_str()))
        })
    };
    let before = values.len();
    if change.verb != Verb::Add && found.iter().any(|at| is_hollow(&values[*at])) {
        let mut at = 0;
        values.retain(|value| {
            at += 1;
            found.binary_search(&(at - 1)).is_err() || !is_hollow(value)
        });
    }
    Ok(if values.len() == before { found } else { Vec::new() })
}

/// The element that a path describes and does not find: `emails[type eq "work"].value`.
fn created(change: &AttributeChange, filter: &FilterExpr) -> Option<Value> {
    let attribute = change.attribute;
    let mut element = Object::new();
    describe(attribute, filter, &mut element)?;
    match (change.sub, &change.value) {
        (Some(sub), Some(value)) => {
            element.insert(sub.name.to_owned(), value.clone());
        }
        (None, Some(Value::Array(given))) => match given.as_slice() {
            [Value::Object(given)] => element.extend(given.clone()),
            _ => return None,
        },
        _ => return None,
    }
    let is_complete = !attribute.is_keyed() || element.contains_key("value");
    is_complete.then_some(Value::Object(element))
}

/// Writes the sub-attributes that a filter of `eq` and `and` has.
fn describe(attribute: &'static AttributeDef, filter: &FilterExpr, element: &mut Object) -> Option<()> {
    match filter {
        FilterExpr::And(parts) => parts.iter().try_for_each(|part| describe(attribute, part, element)),
        FilterExpr::Compare(path, CompareOp::Equal, value) => {
            let sub = attribute.sub(&path.name).filter(|sub| sub.mutability != Mutability::ReadOnly)?;
            let value = match value {
                CompareValue::String(text) => Value::from(&**text),
                CompareValue::Bool(value) => (*value).into(),
                CompareValue::Number(_) | CompareValue::Null => return None,
            };
            element.insert(sub.name.to_owned(), assigned(sub, &value, &mut Ignored::default()).ok()??);
            Some(())
        }
        _ => None,
    }
}

/// A new primary value takes the place of the one before (RFC 7644 3.5.2).
fn one_primary(attribute: &AttributeDef, touched: &[usize], values: &mut [Value]) -> Result<(), ScimError> {
    if attribute.sub("primary").is_none() {
        return Ok(());
    }
    let mut new = touched.iter().copied().filter(|at| values.get(*at).is_some_and(is_primary));
    let (Some(chosen), second) = (new.next(), new.next()) else { return Ok(()) };
    if second.is_some() {
        return Err(ScimError::value(format!("{} would have two primary values", attribute.name)));
    }
    for (at, value) in values.iter_mut().enumerate() {
        if at != chosen
            && is_primary(value)
            && let Some(object) = value.as_object_mut()
        {
            object.insert("primary".to_owned(), false.into());
        }
    }
    Ok(())
}

fn no_target(attribute: &AttributeDef) -> ScimError {
    let detail = format!("the path selects no value of {}", attribute.name);
    ScimError::new(ScimType::NoTarget, detail)
}
