//! Filters that a store answers by an index: what Entra ID and Okta ask before each change.

use super::{CompareOp, CompareValue, FilterExpr};
use crate::ResourceKind;
use crate::path::AttrPath;

/// An attribute that a store has an index of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexKey {
    /// `id`: compared as it is.
    Id,
    /// `externalId`: compared as it is. Several clients may give the same one.
    ExternalId,
    /// `userName` of a User: compared in any case of letters.
    UserName,
    /// `displayName` of a Group: compared in any case of letters, and not unique.
    DisplayName,
}

/// A look-up that finds every resource for which a filter can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexLookup<'a> {
    /// The attribute.
    pub key: IndexKey,
    /// Its value as the filter has it.
    pub value: &'a str,
    /// The look-up is the whole filter. Otherwise what it finds remains to be filtered.
    pub is_whole: bool,
}

pub(super) fn lookup(filter: &FilterExpr, kind: ResourceKind) -> Option<IndexLookup<'_>> {
    match filter {
        FilterExpr::Compare(path, CompareOp::Equal, CompareValue::String(value)) => {
            Some(IndexLookup { key: key_of(path, kind)?, value, is_whole: true })
        }
        FilterExpr::And(parts) => {
            let found = parts.iter().find_map(|part| lookup(part, kind))?;
            Some(IndexLookup { is_whole: false, ..found })
        }
        _ => None,
    }
}

fn key_of(path: &AttrPath, kind: ResourceKind) -> Option<IndexKey> {
    let found = path.resolve(kind)?;
    match (found.extension, found.attribute.name, found.sub, kind) {
        (None, "id", None, _) => Some(IndexKey::Id),
        (None, "externalId", None, _) => Some(IndexKey::ExternalId),
        (None, "userName", None, ResourceKind::User) => Some(IndexKey::UserName),
        (None, "displayName", None, ResourceKind::Group) => Some(IndexKey::DisplayName),
        _ => None,
    }
}
