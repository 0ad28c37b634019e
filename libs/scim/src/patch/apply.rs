//! Changes of single attributes, extensions and whole multi-valued attributes.

use super::{AttributeChange, PatchChange, PatchRequest, PatchedResource, Verb, elements};
use crate::limits::EFFORT_MAX;
use crate::resource::{at_most_values, require, write_schemas};
use crate::schema::{AttributeDef, Mutability, ValueType};
use crate::{Object, ScimError, ScimType};
use serde_json::Value;

pub(super) fn request(request: &PatchRequest, resource: &Object) -> Result<PatchedResource, ScimError> {
    // Refused before the work, if the values that are there now are too many already.
    let foreseen = request.changes.iter().map(|change| values_looked_at(change, resource));
    at_most_effort(foreseen.fold(0, usize::saturating_add))?;
    let mut after = resource.clone();
    let mut effort = 0_usize;
    for change in &request.changes {
        effort = effort.saturating_add(values_looked_at(change, &after));
        at_most_effort(effort)?;
        match change {
            PatchChange::DropExtension(extension) => {
                after.remove(extension.id);
            }
            PatchChange::At(change) => attribute(change, &mut after)?,
        }
    }
    require(request.kind, &after)?;
    write_schemas(request.kind, &mut after);
    let is_changed = after != *resource;
    Ok(PatchedResource { attributes: after, is_changed })
}

/// Values of the attribute that a change is of.
fn values_looked_at(change: &PatchChange, resource: &Object) -> usize {
    let PatchChange::At(change) = change else { return 0 };
    resource.get(change.attribute.name).and_then(Value::as_array).map_or(0, Vec::len)
}

fn at_most_effort(effort: usize) -> Result<(), ScimError> {
    if effort > EFFORT_MAX {
        let detail = "the operations look at too many values: send them in several requests";
        return Err(ScimError::new(ScimType::TooMany, detail));
    }
    Ok(())
}

fn attribute(change: &AttributeChange, resource: &mut Object) -> Result<(), ScimError> {
    let Some(extension) = change.extension else { return in_holder(change, resource) };
    let mut holder = match resource.remove(extension.id) {
        Some(Value::Object(holder)) => holder,
        _ => Object::new(),
    };
    in_holder(change, &mut holder)?;
    if !holder.is_empty() {
        resource.insert(extension.id.to_owned(), holder.into());
    }
    Ok(())
}

/// Changes an attribute in the object that holds it: the resource, or an extension's.
fn in_holder(change: &AttributeChange, holder: &mut Object) -> Result<(), ScimError> {
    let attribute = change.attribute;
    if attribute.multi_valued {
        let mut values = match holder.remove(attribute.name) {
            Some(Value::Array(values)) => values,
            Some(single) => vec![single],
            None => Vec::new(),
        };
        elements::change(change, &mut values)?;
        at_most_values(attribute, values.len())?;
        if !values.is_empty() {
            holder.insert(attribute.name.to_owned(), values.into());
        }
        return Ok(());
    }
    match change.sub {
        Some(sub) => sub_attribute(change, sub, holder),
        None => single(change, holder),
    }
}

fn single(change: &AttributeChange, holder: &mut Object) -> Result<(), ScimError> {
    let name = change.attribute.name;
    let before = holder.get_mut(name);
    match (change.verb, &change.value) {
        (Verb::Remove, _) | (Verb::Replace, None) => {
            unchanged_if_immutable(change.attribute, before.as_deref(), None)?;
            holder.remove(name);
        }
        // No value to add.
        (Verb::Add, None) => {}
        // Sub-attributes that are not named keep their values (RFC 7644 3.5.2.1, 3.5.2.3).
        (Verb::Add | Verb::Replace, Some(Value::Object(new)))
            if change.attribute.value_type == ValueType::Complex =>
        {
            match before {
                Some(Value::Object(old)) => old.extend(new.clone()),
                _ => {
                    holder.insert(name.to_owned(), new.clone().into());
                }
            }
        }
        (Verb::Add | Verb::Replace, Some(new)) => {
            unchanged_if_immutable(change.attribute, before.as_deref(), Some(new))?;
            holder.insert(name.to_owned(), new.clone());
        }
    }
    Ok(())
}

fn sub_attribute(
    change: &AttributeChange,
    sub: &'static AttributeDef,
    holder: &mut Object,
) -> Result<(), ScimError> {
    let name = change.attribute.name;
    let mut object = match holder.remove(name) {
        Some(Value::Object(object)) => object,
        _ => Object::new(),
    };
    set_sub(change.verb, sub, change.value.as_ref(), &mut object)?;
    if !object.is_empty() {
        holder.insert(name.to_owned(), object.into());
    }
    Ok(())
}

/// Sets or removes a sub-attribute of one object.
pub(super) fn set_sub(
    verb: Verb,
    sub: &'static AttributeDef,
    value: Option<&Value>,
    object: &mut Object,
) -> Result<(), ScimError> {
    let value = if verb == Verb::Remove { None } else { value };
    if verb == Verb::Add && value.is_none() {
        return Ok(());
    }
    unchanged_if_immutable(sub, object.get(sub.name), value)?;
    match value {
        Some(value) => {
            object.insert(sub.name.to_owned(), value.clone());
        }
        None => {
            object.remove(sub.name);
        }
    }
    Ok(())
}

/// An immutable attribute gets its value once (RFC 7644 3.5.2).
pub(super) fn unchanged_if_immutable(
    attribute: &AttributeDef,
    before: Option<&Value>,
    after: Option<&Value>,
) -> Result<(), ScimError> {
    if attribute.mutability == Mutability::Immutable && before.is_some() && before != after {
        let detail = format!("{} is immutable: remove the whole value and add another", attribute.name);
        return Err(ScimError::new(ScimType::Mutability, detail));
    }
    Ok(())
}
