//! Filters that make no sense for the resources they are asked of.

use super::{CompareOp, CompareValue, FilterExpr};
use crate::error::cut;
use crate::path::{AttrPath, ResolvedPath};
use crate::schema::{AttributeDef, ValueType};
use crate::{ResourceKind, ScimError, ScimType};

pub(super) fn filter(filter: &FilterExpr, kinds: &[ResourceKind]) -> Result<(), ScimError> {
    match filter {
        FilterExpr::And(parts) | FilterExpr::Or(parts) => {
            parts.iter().try_for_each(|part| self::filter(part, kinds))
        }
        FilterExpr::Not(inner) => self::filter(inner, kinds),
        FilterExpr::Present(path) => resolve(path, kinds).map(|_| ()),
        FilterExpr::Compare(path, op, value) => {
            let leaf = resolve(path, kinds)?.leaf();
            comparison(path, leaf, *op, value)
        }
        FilterExpr::Values(path, inner) => {
            let resolved = resolve(path, kinds)?;
            if resolved.sub.is_some() || resolved.attribute.value_type != ValueType::Complex {
                return Err(refused(
                    path,
                    "has no sub-attributes, so nothing can stand in brackets after it",
                ));
            }
            element(inner, resolved.attribute)
        }
    }
}

/// The filter in brackets after `attribute`.
pub(crate) fn element(filter: &FilterExpr, attribute: &'static AttributeDef) -> Result<(), ScimError> {
    let sub = |path: &AttrPath| {
        attribute
            .sub(&path.name)
            .ok_or_else(|| refused(path, &format!("is no sub-attribute of {}", attribute.name)))
    };
    match filter {
        FilterExpr::And(parts) | FilterExpr::Or(parts) => {
            parts.iter().try_for_each(|part| element(part, attribute))
        }
        FilterExpr::Not(inner) => element(inner, attribute),
        FilterExpr::Present(path) => sub(path).map(|_| ()),
        FilterExpr::Compare(path, op, value) => comparison(path, sub(path)?, *op, value),
        FilterExpr::Values(path, _) => Err(refused(path, "cannot have brackets within brackets")),
    }
}

fn resolve(path: &AttrPath, kinds: &[ResourceKind]) -> Result<ResolvedPath, ScimError> {
    let found = kinds.iter().find_map(|kind| path.resolve(*kind));
    let found = found.ok_or_else(|| refused(path, "is no attribute of these resources"))?;
    if !found.attribute.is_readable() {
        return Err(refused(path, "is never returned, so it cannot be compared"));
    }
    Ok(found)
}

fn comparison(
    path: &AttrPath,
    leaf: &'static AttributeDef,
    op: CompareOp,
    value: &CompareValue,
) -> Result<(), ScimError> {
    let leaf = match leaf.value_type {
        ValueType::Complex => leaf.sub("value").ok_or_else(|| {
            refused(path, "has sub-attributes: name the one to compare, as in name.familyName")
        })?,
        _ => leaf,
    };
    let is_equality = matches!(op, CompareOp::Equal | CompareOp::NotEqual);
    let is_refused = match leaf.value_type {
        ValueType::Boolean => !is_equality,
        ValueType::Binary => op.is_ordering(),
        ValueType::Integer => !is_equality && !op.is_ordering(),
        _ => false,
    };
    if is_refused {
        return Err(refused(path, &format!("cannot be compared by {}", op.as_str())));
    }
    let is_text = matches!(value, CompareValue::String(_));
    if !is_equality && !is_text && !matches!(value, CompareValue::Number(_)) {
        return Err(refused(path, "can be compared with true, false and null by eq and ne only"));
    }
    Ok(())
}

fn refused(path: &AttrPath, reason: &str) -> ScimError {
    let detail = format!("the filter is refused: {} {reason}", cut(&path.to_string()));
    ScimError::new(ScimType::InvalidFilter, detail)
}
