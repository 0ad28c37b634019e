//! Values of attributes: their types, lengths and numbers, and the liberties that clients take with them.

use super::canonical::canonical_email;
use super::{Ignored, at_most_attributes};
use crate::error::shown;
use crate::limits::{BINARY_OCTETS_MAX, MEMBERS_MAX, STRING_OCTETS_MAX, VALUES_MAX};
use crate::schema::{AttributeDef, Mutability, ValueType};
use crate::{Object, ScimError, ScimType};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::HashSet;

/// The value of an attribute as it is kept, or `None` for what is no value: null, an empty array, an object
/// without values.
pub(crate) fn assigned(
    attribute: &'static AttributeDef,
    value: &Value,
    ignored: &mut Ignored,
) -> Result<Option<Value>, ScimError> {
    match value {
        Value::Null => Ok(None),
        Value::Array(values) if attribute.multi_valued => many(attribute, values, ignored),
        // Entra ID sends the manager as an array of one.
        Value::Array(values) => match values.as_slice() {
            [] => Ok(None),
            [only] => one(attribute, only, ignored),
            _ => Err(unfit(attribute, "has one value only")),
        },
        _ if attribute.multi_valued => many(attribute, std::slice::from_ref(value), ignored),
        _ => one(attribute, value, ignored),
    }
}

/// Values that an attribute may have.
pub(crate) fn values_max(attribute: &AttributeDef) -> usize {
    if attribute.is_keyed() { MEMBERS_MAX } else { VALUES_MAX }
}

/// Refuses more values than an attribute may have.
pub(crate) fn at_most_values(attribute: &AttributeDef, count: usize) -> Result<(), ScimError> {
    let max = values_max(attribute);
    if count > max {
        let detail = format!("{} has {count} values, more than {max}", attribute.name);
        return Err(ScimError::new(ScimType::TooMany, detail));
    }
    Ok(())
}

/// What tells an element from the others: the `value` of a member.
pub(crate) fn key_of(element: &Value) -> Option<&str> {
    element.get("value").and_then(Value::as_str)
}

/// Whether an element is the preferred one.
pub(crate) fn is_primary(element: &Value) -> bool {
    element.get("primary") == Some(&Value::Bool(true))
}

fn many(
    attribute: &'static AttributeDef,
    values: &[Value],
    ignored: &mut Ignored,
) -> Result<Option<Value>, ScimError> {
    at_most_values(attribute, values.len())?;
    let mut kept: Vec<Value> = Vec::new();
    let mut keys = HashSet::new();
    for value in values {
        let Some(element) = one(attribute, value, ignored)? else { continue };
        if attribute.is_keyed() {
            let key = key_of(&element).ok_or_else(|| unfit(attribute, "needs a `value` in each element"))?;
            if !keys.insert(key.to_owned()) {
                continue;
            }
        } else if kept.contains(&element) {
            continue;
        }
        kept.push(element);
    }
    if kept.iter().filter(|element| is_primary(element)).count() > 1 {
        return Err(unfit(attribute, "has more than one primary value"));
    }
    Ok((!kept.is_empty()).then_some(Value::Array(kept)))
}

fn one(
    attribute: &'static AttributeDef,
    value: &Value,
    ignored: &mut Ignored,
) -> Result<Option<Value>, ScimError> {
    if value.is_null() {
        return Ok(None);
    }
    match attribute.value_type {
        ValueType::Complex => complex(attribute, value, ignored),
        ValueType::Boolean => boolean(attribute, value).map(Some),
        ValueType::Integer if value.is_i64() || value.is_u64() => Ok(Some(value.clone())),
        ValueType::Integer => Err(unfit(attribute, "is a whole number")),
        ValueType::String | ValueType::Reference | ValueType::DateTime | ValueType::Binary => {
            text(attribute, value).map(|text| Some(text.into()))
        }
    }
}

fn complex(
    attribute: &'static AttributeDef,
    value: &Value,
    ignored: &mut Ignored,
) -> Result<Option<Value>, ScimError> {
    let mut kept = Object::new();
    match (value, attribute.sub("value")) {
        (Value::Object(object), _) => {
            at_most_attributes(object, attribute.name)?;
            for (name, value) in object {
                let Some(sub) = attribute.sub(name) else {
                    ignored.add(&format!("{}.{name}", attribute.name));
                    continue;
                };
                if sub.mutability == Mutability::ReadOnly {
                    continue;
                }
                if let Some(value) = assigned(sub, value, ignored)?
                    && kept.insert(sub.name.to_owned(), value).is_some()
                {
                    return Err(super::twice(name));
                }
            }
        }
        // The identifier of a member or a manager by itself.
        (Value::String(_), Some(sub)) => {
            kept.insert(sub.name.to_owned(), text(sub, value)?.into());
        }
        _ => return Err(unfit(attribute, "is an object of sub-attributes")),
    }
    if attribute.name == "emails"
        && let Some(email) = kept.get("value").and_then(Value::as_str).and_then(canonical_email)
    {
        kept.insert("value".to_owned(), email.into());
    }
    Ok((!kept.is_empty()).then_some(Value::Object(kept)))
}

/// Entra ID sends `"True"` and `"False"`.
fn boolean(attribute: &AttributeDef, value: &Value) -> Result<Value, ScimError> {
    match value {
        Value::Bool(value) => Ok((*value).into()),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true.into()),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Ok(false.into()),
        _ => Err(unfit(attribute, "is true or false")),
    }
}

fn text(attribute: &AttributeDef, value: &Value) -> Result<String, ScimError> {
    let text = match value {
        Value::String(text) => text,
        // A simple value wrapped in an object, as older versions of Entra ID send it.
        Value::Object(object) => match object.get("value").and_then(Value::as_str) {
            Some(text) => text,
            None => return Err(unfit(attribute, "is a string")),
        },
        _ => return Err(unfit(attribute, "is a string")),
    };
    let is_binary = attribute.value_type == ValueType::Binary;
    let max = if is_binary { BINARY_OCTETS_MAX } else { STRING_OCTETS_MAX };
    if text.len() > max {
        return Err(unfit(attribute, &format!("has at most {max} octets")));
    }
    if text.contains('\0') {
        return Err(unfit(attribute, "has the character U+0000, which cannot be kept"));
    }
    if is_binary && !is_base64(text) {
        return Err(unfit(attribute, "is in base64"));
    }
    if attribute.value_type == ValueType::DateTime && text.parse::<Timestamp>().is_err() {
        let detail = format!("is a time as in 2011-05-13T04:42:34Z, not {}", shown(text));
        return Err(unfit(attribute, &detail));
    }
    let canonical = attribute.canonical_values.iter().find(|one| one.eq_ignore_ascii_case(text));
    Ok(canonical.map_or_else(|| text.to_owned(), |one| (*one).to_owned()))
}

/// The alphabets of RFC 4648 4 and 5, with or without padding, and line breaks.
fn is_base64(text: &str) -> bool {
    let text = text.trim_end();
    let body = text.trim_end_matches('=');
    let is_letter = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'+' | b'/' | b'-' | b'_');
    let letters = body.bytes().filter(|octet| !octet.is_ascii_whitespace());
    let count = letters.clone().count();
    letters.clone().all(is_letter) && count % 4 != 1 && text.len() - body.len() <= 2
}

fn unfit(attribute: &AttributeDef, reason: &str) -> ScimError {
    ScimError::value(format!("{} {reason}", attribute.name))
}
