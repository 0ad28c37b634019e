//! PATCH (RFC 7644 3.5.2): add, replace and remove; all operations or none.
//!
//! [`PatchRequest::read`] checks a body against the schemas and makes it single changes;
//! [`PatchRequest::apply`] makes a new resource of a stored one. Besides what the RFC has, the habits of
//! identity providers are taken:
//!
//! | request | is read as |
//! |---|---|
//! | `"op": "Replace"`, `"operations": […]` | names in any case |
//! | `"value": "False"` of a Boolean, `"value": [{"value": "x"}]` of an attribute with one value | `false`, `"x"` |
//! | no path, `{"name.givenName": "x", "urn:…:User:department": "y", "emails[type eq \"work\"].value": "z"}` | one change for each name; unknown and read-only names are left out |
//! | `add` of `emails[type eq "work"].value` where there is no such e-mail | a new `{"type": "work", "value": …}` |
//! | `remove` of `members` with `"value": [{"value": "id"}]` | these members only |
//! | `remove` of a member that is not there | no change |
//! | `manager` without its URN | the extension's attribute |

mod apply;
mod elements;
mod read;

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod requests_of_providers;
#[cfg(test)]
mod tests;

use crate::filter::FilterExpr;
use crate::resource::Ignored;
use crate::schema::{AttributeDef, SchemaDef};
use crate::{Object, ResourceKind, ScimError};
use serde_json::Value;

/// Schema of the body of a PATCH.
pub const PATCH_SCHEMA: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

/// A PATCH that was read.
#[derive(Debug, Clone)]
pub struct PatchRequest {
    kind: ResourceKind,
    changes: Vec<PatchChange>,
    ignored: Ignored,
}

/// A resource after a PATCH.
#[derive(Debug, Clone, PartialEq)]
pub struct PatchedResource {
    /// All its attributes.
    pub attributes: Object,
    /// It differs from the one before: a store keeps its version and `lastModified` otherwise.
    pub is_changed: bool,
}

/// A change of the members of a group that needs nothing of the group but its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberChange<'a> {
    /// These are members now; those that were are still.
    Add(Vec<&'a str>),
    /// These are no members any more.
    Remove(Vec<&'a str>),
}

/// One change.
#[derive(Debug, Clone)]
enum PatchChange {
    /// An extension with all its attributes goes.
    DropExtension(&'static SchemaDef),
    /// One attribute changes.
    At(Box<AttributeChange>),
}

#[derive(Debug, Clone)]
struct AttributeChange {
    verb: Verb,
    extension: Option<&'static SchemaDef>,
    attribute: &'static AttributeDef,
    /// The elements that are meant; all without it.
    select: Option<FilterExpr>,
    sub: Option<&'static AttributeDef>,
    /// As it is kept; `None` for no value.
    value: Option<Value>,
    /// It stood in the value of an operation without a path: it adds where a path would find nothing.
    is_loose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Add,
    Replace,
    Remove,
}

impl PatchRequest {
    /// Reads the body of a PATCH of a resource of `kind`.
    ///
    /// # Errors
    /// `invalidSyntax`: not the structure of a PATCH, an unknown `op`, over
    /// [`OPERATIONS_MAX`](crate::limits::OPERATIONS_MAX) operations. `invalidPath`: a path that is malformed
    /// or names nothing that the kind has. `noTarget`: `remove` without a path. `mutability`: the path of a
    /// read-only attribute, `remove` of a required one. `invalidValue`: a value that is missing or does not
    /// fit. `tooMany`: over [`CHANGES_MAX`](crate::limits::CHANGES_MAX) changes, or values of an attribute.
    pub fn read(kind: ResourceKind, body: &Value) -> Result<PatchRequest, ScimError> {
        read::request(kind, body)
    }

    /// The names in operations without a path that no schema has.
    pub fn ignored(&self) -> &Ignored {
        &self.ignored
    }

    /// Applies all changes to a stored resource, or none.
    ///
    /// # Errors
    /// `noTarget`: a path selects nothing. `mutability`: an immutable value would become another.
    /// `invalidValue`: a required attribute would have no value, or two would be primary. `tooMany`: an
    /// attribute would have more values than it may, or the changes look at over
    /// [`EFFORT_MAX`](crate::limits::EFFORT_MAX) values.
    pub fn apply(&self, resource: &Object) -> Result<PatchedResource, ScimError> {
        apply::request(self, resource)
    }

    /// The changes of members, if the PATCH has no others: a store of large groups applies them without
    /// reading the members. `replace` of all members is none of them.
    pub fn member_changes(&self) -> Option<Vec<MemberChange<'_>>> {
        self.changes.iter().map(PatchChange::of_members).collect()
    }
}

impl PatchChange {
    fn of_members(&self) -> Option<MemberChange<'_>> {
        let PatchChange::At(change) = self else { return None };
        let is_plain = change.select.is_none() && change.sub.is_none() && change.attribute.is_keyed();
        let values = change.value.as_ref().and_then(Value::as_array).filter(|_| is_plain)?;
        let keys = values.iter().filter_map(crate::resource::key_of).collect();
        match change.verb {
            Verb::Add => Some(MemberChange::Add(keys)),
            Verb::Remove => Some(MemberChange::Remove(keys)),
            Verb::Replace => None,
        }
    }
}
