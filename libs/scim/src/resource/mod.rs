//! Resources of requests and answers (RFC 7643 2 and 3): reading, replacing, projection, metadata.

mod canonical;
mod meta;
mod projection;
mod value;

#[cfg(test)]
mod tests;

pub use canonical::{canonical_email, canonical_phone};
pub use meta::{ResourceMeta, etag_matches, weak_etag};
pub use projection::Projection;
pub(crate) use value::{assigned, at_most_values, is_primary, key_of};

use crate::error::{cut, shown};
use crate::limits::{ATTRIBUTES_MAX, IGNORED_MAX};
use crate::schema::{AttributeDef, Mutability};
use crate::{Object, ResourceKind, ScimError, ScimType, field};
use serde_json::Value;

/// A resource of a request that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct NewResource {
    /// Its attributes by the names of the schema, without read-only ones and without empty values; `schemas`
    /// is written anew. A `password` is in it as it came.
    pub attributes: Object,
    /// Attributes that no schema has.
    pub ignored: Ignored,
}

/// Names that were left out because no schema has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ignored {
    /// The first of them: at most [`IGNORED_MAX`], each cut to 80 octets.
    pub names: Vec<String>,
    /// All of them.
    pub count: usize,
}

impl Ignored {
    pub(crate) fn add(&mut self, name: &str) {
        self.count += 1;
        if self.names.len() < IGNORED_MAX {
            self.names.push(cut(name).to_owned());
        }
    }
}

/// Reads the body of a POST or PUT.
///
/// Names are taken in any case. Read-only attributes are left out in silence (RFC 7644 3.3), attributes that
/// no schema has are named in [`NewResource::ignored`]; `null` and empty arrays are no values (RFC 7643 2.5).
/// `"true"` is taken for `true`, one value for an array of one, and a string for an object of a `value`, as
/// identity providers send them. Domains of e-mail addresses and canonical types get their canonical
/// spelling.
///
/// # Errors
/// `invalidSyntax`: no object, no `schemas` with the core schema, a name twice, more than [`ATTRIBUTES_MAX`].
/// `invalidValue`: a required attribute is missing, a value is not of its type or too long, or several
/// values are primary. `tooMany`: more values than an attribute may have.
pub fn check(kind: ResourceKind, body: &Value) -> Result<NewResource, ScimError> {
    let Some(body) = body.as_object() else {
        return Err(ScimError::syntax("the body is not a JSON object"));
    };
    check_schemas(kind, body)?;
    let mut read = NewResource { attributes: Object::new(), ignored: Ignored::default() };
    at_most_attributes(body, kind.name())?;
    for (name, value) in body {
        if name.eq_ignore_ascii_case("schemas") {
            continue;
        }
        if let Some(extension) = kind.extension(name) {
            let Some(object) = value.as_object() else {
                if value.is_null() {
                    continue;
                }
                return Err(ScimError::value(format!("{} is not an object", extension.id)));
            };
            let mut inner = Object::new();
            at_most_attributes(object, extension.id)?;
            for (name, value) in object {
                take(&mut inner, extension.attribute(name), name, value, &mut read.ignored)?;
            }
            if !inner.is_empty() && read.attributes.insert(extension.id.to_owned(), inner.into()).is_some() {
                return Err(twice(name));
            }
        } else {
            take(&mut read.attributes, kind.attribute(name), name, value, &mut read.ignored)?;
        }
    }
    require(kind, &read.attributes)?;
    write_schemas(kind, &mut read.attributes);
    Ok(read)
}

/// The resource after a PUT (RFC 7644 3.5.1): `new` with the read-only attributes of `stored`. An attribute
/// that `new` leaves out has no value any more, but for a write-only one, which its reader cannot repeat.
///
/// # Errors
/// `mutability`: an immutable attribute has another value than in `stored`.
pub fn replace(kind: ResourceKind, stored: &Object, new: NewResource) -> Result<Object, ScimError> {
    let mut after = new.attributes;
    for (name, old) in stored {
        let Some(attribute) = kind.attribute(name) else { continue };
        match attribute.mutability {
            Mutability::ReadOnly if attribute.name != "schemas" => {
                after.insert(attribute.name.to_owned(), old.clone());
            }
            Mutability::WriteOnly if !after.contains_key(attribute.name) => {
                after.insert(attribute.name.to_owned(), old.clone());
            }
            Mutability::Immutable if after.get(attribute.name).is_some_and(|new| new != old) => {
                let detail = format!("{} is immutable: leave it as it is", attribute.name);
                return Err(ScimError::new(ScimType::Mutability, detail));
            }
            Mutability::Immutable => {
                after.insert(attribute.name.to_owned(), old.clone());
            }
            _ => {}
        }
    }
    Ok(after)
}

/// Refuses a resource without a required attribute.
pub(crate) fn require(kind: ResourceKind, attributes: &Object) -> Result<(), ScimError> {
    for attribute in kind.schema().attributes.iter().filter(|one| one.required) {
        let value = attributes.get(attribute.name);
        if value.is_none_or(|value| value.as_str().is_some_and(|text| text.trim().is_empty())) {
            return Err(ScimError::value(format!("{} is required and has no value", attribute.name)));
        }
    }
    Ok(())
}

/// Writes `schemas`: the core schema, and each extension of which the resource has attributes.
pub(crate) fn write_schemas(kind: ResourceKind, attributes: &mut Object) {
    let extensions = kind.extensions().iter().filter(|one| attributes.contains_key(one.id));
    let urns: Vec<Value> =
        std::iter::once(kind.schema().id).chain(extensions.map(|one| one.id)).map(Value::from).collect();
    attributes.insert("schemas".to_owned(), urns.into());
}

/// Refuses an object with more names than [`ATTRIBUTES_MAX`].
pub(crate) fn at_most_attributes(object: &Object, of: &str) -> Result<(), ScimError> {
    if object.len() > ATTRIBUTES_MAX {
        return Err(ScimError::syntax(format!("{of} has more than {ATTRIBUTES_MAX} attributes")));
    }
    Ok(())
}

fn check_schemas(kind: ResourceKind, body: &Object) -> Result<(), ScimError> {
    let core = kind.schema().id;
    let urns = field(body, "schemas").and_then(Value::as_array);
    let is_core = |urn: &Value| urn.as_str().is_some_and(|urn| urn.eq_ignore_ascii_case(core));
    if urns.is_some_and(|urns| urns.len() <= ATTRIBUTES_MAX && urns.iter().any(is_core)) {
        return Ok(());
    }
    Err(ScimError::syntax(format!("the body has no `schemas` with {core}")))
}

fn take(
    into: &mut Object,
    attribute: Option<&'static AttributeDef>,
    name: &str,
    value: &Value,
    ignored: &mut Ignored,
) -> Result<(), ScimError> {
    let Some(attribute) = attribute else {
        ignored.add(name);
        return Ok(());
    };
    if attribute.mutability == Mutability::ReadOnly {
        return Ok(());
    }
    if let Some(value) = assigned(attribute, value, ignored)?
        && into.insert(attribute.name.to_owned(), value).is_some()
    {
        return Err(twice(name));
    }
    Ok(())
}

fn twice(name: &str) -> ScimError {
    ScimError::syntax(format!("{} stands there twice in different cases of letters", shown(name)))
}
