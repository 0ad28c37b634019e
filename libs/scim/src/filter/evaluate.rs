//! Filters against resources. A comparison with a multi-valued attribute holds if it holds for one value.

use super::{CompareOp, CompareValue, FilterExpr};
use crate::path::AttrPath;
use crate::schema::{AttributeDef, ValueType};
use crate::{Object, ResourceKind, field};
use jiff::Timestamp;
use serde_json::Value;
use std::cell::OnceCell;
use std::cmp::Ordering;

pub(super) fn matches(filter: &FilterExpr, kind: ResourceKind, resource: &Object) -> bool {
    holds(filter, Scope::Resource(kind, resource))
}

/// Whether the filter in brackets holds for one element of `attribute`.
pub(crate) fn element_matches(
    filter: &FilterExpr,
    attribute: &'static AttributeDef,
    element: &Value,
) -> bool {
    holds(filter, Scope::Element(attribute, element))
}

/// Where names are looked up.
#[derive(Clone, Copy)]
enum Scope<'a> {
    Resource(ResourceKind, &'a Object),
    Element(&'static AttributeDef, &'a Value),
}

fn holds(filter: &FilterExpr, scope: Scope<'_>) -> bool {
    match filter {
        FilterExpr::And(parts) => parts.iter().all(|part| holds(part, scope)),
        FilterExpr::Or(parts) => parts.iter().any(|part| holds(part, scope)),
        FilterExpr::Not(inner) => !holds(inner, scope),
        FilterExpr::Present(path) => any_value(scope, path, false, &mut |_, value| !is_unassigned(value)),
        FilterExpr::Compare(path, op, value) => compare_path(scope, path, *op, value),
        FilterExpr::Values(path, inner) => {
            any_value(scope, path, false, &mut |attribute, value| element_matches(inner, attribute, value))
        }
    }
}

/// `ne` holds where there is no value, and where one is different; `eq null` where there is none.
fn compare_path(scope: Scope<'_>, path: &AttrPath, op: CompareOp, literal: &CompareValue) -> bool {
    let mut is_assigned = false;
    let needle = Needle::new(literal);
    let found = any_value(scope, path, true, &mut |attribute, value| {
        is_assigned |= !is_unassigned(value);
        match op {
            CompareOp::NotEqual => !compare(attribute, value, CompareOp::Equal, &needle),
            _ => compare(attribute, value, op, &needle),
        }
    });
    match (op, literal) {
        (CompareOp::Equal, CompareValue::Null) => !is_assigned,
        (CompareOp::NotEqual, CompareValue::Null) => is_assigned,
        (CompareOp::NotEqual, _) => found || !is_assigned,
        _ => found,
    }
}

/// Calls `test` with each value at the path until it holds. With `to_value`, a complex attribute stands for
/// its `value`.
fn any_value<'a>(
    scope: Scope<'a>,
    path: &AttrPath,
    to_value: bool,
    test: &mut dyn FnMut(&'static AttributeDef, &'a Value) -> bool,
) -> bool {
    let (attribute, sub, value) = match scope {
        Scope::Element(attribute, element) => {
            return match element.as_object() {
                Some(object) => match attribute.sub(&path.name) {
                    Some(sub) => field(object, sub.name).is_some_and(|value| test(sub, value)),
                    None => false,
                },
                // A value that is no object is its own `value` (RFC 7643 2.4).
                None => path.name.eq_ignore_ascii_case("value") && test(attribute, element),
            };
        }
        Scope::Resource(kind, resource) => {
            let Some(resolved) = path.resolve(kind).filter(|found| found.attribute.is_readable()) else {
                return false;
            };
            let holder = match resolved.extension {
                Some(extension) => field(resource, extension.id).and_then(Value::as_object),
                None => Some(resource),
            };
            let Some(value) = holder.and_then(|holder| field(holder, resolved.attribute.name)) else {
                return false;
            };
            (resolved.attribute, resolved.sub, value)
        }
    };
    let sub = sub.or_else(|| if to_value { attribute.sub("value") } else { None });
    let mut visit = |value: &'a Value| match sub {
        Some(sub) => {
            value.as_object().and_then(|object| field(object, sub.name)).is_some_and(|v| test(sub, v))
        }
        None => test(attribute, value),
    };
    match value {
        Value::Array(values) => values.iter().any(visit),
        value => visit(value),
    }
}

/// Without a value (RFC 7643 2.5): null, an empty array, an object of nothing else.
fn is_unassigned(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(values) => values.iter().all(is_unassigned),
        Value::Object(object) => object.values().all(is_unassigned),
        _ => false,
    }
}

/// A literal; its other forms are made once, if a value asks for them.
struct Needle<'a> {
    literal: &'a CompareValue,
    folded: OnceCell<String>,
    time: OnceCell<Option<Timestamp>>,
}

impl Needle<'_> {
    fn new(literal: &CompareValue) -> Needle<'_> {
        Needle { literal, folded: OnceCell::new(), time: OnceCell::new() }
    }

    fn text(&self) -> &str {
        if let CompareValue::String(text) = self.literal { text } else { "" }
    }

    fn folded(&self) -> &str {
        self.folded.get_or_init(|| self.text().to_lowercase())
    }

    fn time(&self) -> Option<Timestamp> {
        *self.time.get_or_init(|| self.text().parse().ok())
    }
}

fn compare(attribute: &AttributeDef, value: &Value, op: CompareOp, needle: &Needle<'_>) -> bool {
    match (value, needle.literal) {
        (Value::String(value), CompareValue::String(literal)) => {
            if attribute.value_type == ValueType::DateTime
                && let (Ok(value), Some(literal)) = (value.parse::<Timestamp>(), needle.time())
                && let Some(holds) = ordered(op, value.cmp(&literal))
            {
                return holds;
            }
            if attribute.case_exact {
                compare_text(value, op, literal)
            } else {
                compare_text(&value.to_lowercase(), op, needle.folded())
            }
        }
        (Value::Bool(value), CompareValue::Bool(literal)) => op == CompareOp::Equal && value == literal,
        // Entra ID and others send "True" for true.
        (Value::Bool(value), CompareValue::String(_)) => {
            op == CompareOp::Equal && needle.folded() == if *value { "true" } else { "false" }
        }
        (Value::Number(value), CompareValue::Number(literal)) => match (value.as_f64(), literal.as_f64()) {
            (Some(value), Some(literal)) => {
                value.partial_cmp(&literal).and_then(|order| ordered(op, order)).unwrap_or(false)
            }
            _ => false,
        },
        _ => false,
    }
}

fn compare_text(value: &str, op: CompareOp, literal: &str) -> bool {
    match op {
        CompareOp::Contains => value.contains(literal),
        CompareOp::StartsWith => value.starts_with(literal),
        CompareOp::EndsWith => value.ends_with(literal),
        _ => ordered(op, value.cmp(literal)).unwrap_or(false),
    }
}

/// `None` for an operator that compares no order.
fn ordered(op: CompareOp, order: Ordering) -> Option<bool> {
    Some(match op {
        CompareOp::Equal => order.is_eq(),
        CompareOp::NotEqual => order.is_ne(),
        CompareOp::Greater => order.is_gt(),
        CompareOp::GreaterOrEqual => order.is_ge(),
        CompareOp::Less => order.is_lt(),
        CompareOp::LessOrEqual => order.is_le(),
        _ => return None,
    })
}
