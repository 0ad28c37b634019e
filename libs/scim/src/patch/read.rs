//! Bodies of PATCH, read into single changes.

use super::{AttributeChange, PATCH_SCHEMA, PatchChange, PatchRequest, Verb};
use crate::error::{cut, shown};
use crate::filter::{CompareOp, CompareValue, FilterExpr, FilterFault, FilterReader, check};
use crate::limits::{CHANGES_MAX, FILTER_OCTETS_MAX, MEMBERS_MAX, OPERATIONS_MAX};
use crate::path::AttrPath;
use crate::resource::{Ignored, assigned, at_most_attributes};
use crate::schema::{AttributeDef, Mutability, SchemaDef, ValueType};
use crate::{ResourceKind, ScimError, ScimType, field};
use serde_json::{Value, json};

pub(super) fn request(kind: ResourceKind, body: &Value) -> Result<PatchRequest, ScimError> {
    let Some(body) = body.as_object() else {
        return Err(ScimError::syntax("the body is not a JSON object"));
    };
    let schemas = field(body, "schemas").and_then(Value::as_array);
    let is_patch = |urn: &Value| urn.as_str().is_some_and(|urn| urn.eq_ignore_ascii_case(PATCH_SCHEMA));
    if !schemas.is_some_and(|urns| urns.iter().take(OPERATIONS_MAX).any(is_patch)) {
        return Err(ScimError::syntax(format!("the body has no `schemas` with {PATCH_SCHEMA}")));
    }
    let Some(operations) = field(body, "Operations").and_then(Value::as_array) else {
        return Err(ScimError::syntax("the body has no array `Operations`"));
    };
    if operations.is_empty() || operations.len() > OPERATIONS_MAX {
        let count = operations.len();
        let detail = format!("a PATCH has 1 to {OPERATIONS_MAX} operations, not {count}: split it");
        return Err(ScimError::syntax(detail));
    }
    let mut reading = Reading { kind, changes: Vec::new(), ignored: Ignored::default() };
    for (at, operation) in operations.iter().enumerate() {
        reading.operation(operation).map_err(|mut error| {
            error.detail = format!("operation {}: {}", at + 1, error.detail);
            error
        })?;
    }
    Ok(PatchRequest { kind, changes: reading.changes, ignored: reading.ignored })
}

/// The place that a path names.
enum PatchPlace {
    Extension(&'static SchemaDef),
    Attribute {
        extension: Option<&'static SchemaDef>,
        attribute: &'static AttributeDef,
        select: Option<FilterExpr>,
        sub: Option<&'static AttributeDef>,
    },
}

struct Reading {
    kind: ResourceKind,
    changes: Vec<PatchChange>,
    ignored: Ignored,
}

impl Reading {
    fn operation(&mut self, operation: &Value) -> Result<(), ScimError> {
        let Some(operation) = operation.as_object() else {
            return Err(ScimError::syntax("it is not a JSON object"));
        };
        let verb = verb(field(operation, "op"))?;
        let value = field(operation, "value");
        let path = match field(operation, "path") {
            None | Some(Value::Null) => "",
            Some(Value::String(path)) => path.trim(),
            Some(_) => return Err(invalid_path("`path` is not a string")),
        };
        match (verb, value) {
            (Verb::Remove, _) if path.is_empty() => {
                Err(ScimError::new(ScimType::NoTarget, "`remove` needs a `path`"))
            }
            (Verb::Add | Verb::Replace, None) => Err(ScimError::value("`value` is missing")),
            _ if path.is_empty() => self.without_path(verb, value.unwrap_or(&Value::Null)),
            _ => {
                let place = place(self.kind, path)?;
                self.change(verb, place, value.unwrap_or(&Value::Null), false)
            }
        }
    }

    /// Each name of the value is a path of its own.
    fn without_path(&mut self, verb: Verb, value: &Value) -> Result<(), ScimError> {
        let Some(object) = value.as_object() else {
            return Err(ScimError::value("without a `path`, `value` is an object of attributes"));
        };
        at_most_attributes(object, "`value`")?;
        for (name, value) in object {
            match place(self.kind, name) {
                Ok(place) => self.change(verb, place, value, true)?,
                Err(_) => self.ignored.add(name),
            }
        }
        Ok(())
    }

    fn change(
        &mut self,
        verb: Verb,
        place: PatchPlace,
        value: &Value,
        is_loose: bool,
    ) -> Result<(), ScimError> {
        let (extension, attribute, select, sub) = match place {
            PatchPlace::Extension(extension) => return self.extension(verb, extension, value),
            PatchPlace::Attribute { extension, attribute, select, sub } => {
                (extension, attribute, select, sub)
            }
        };
        let leaf = sub.unwrap_or(attribute);
        if [attribute, leaf].iter().any(|one| one.mutability == Mutability::ReadOnly) {
            // Okta sends the `id` of a group together with its new displayName.
            return if is_loose { Ok(()) } else { Err(unchangeable(leaf, "is read-only")) };
        }
        if verb == Verb::Remove && leaf.required && select.is_none() {
            return Err(unchangeable(leaf, "is required and cannot be removed"));
        }
        // Nothing to take away is not everything.
        if verb == Verb::Remove && value.as_array().is_some_and(Vec::is_empty) {
            return Ok(());
        }
        let listed = match &select {
            Some(filter) if verb == Verb::Remove && sub.is_none() => key_in(attribute, filter),
            _ => None,
        };
        let is_listed = listed.is_some();
        let value = match listed {
            Some(key) => Some(json!([{"value": key}])),
            None if verb == Verb::Remove
                && (sub.is_some() || select.is_some() || !attribute.multi_valued) =>
            {
                None
            }
            None => assigned(leaf, value, &mut self.ignored)?,
        };
        let select = if is_listed { None } else { select };
        let change = AttributeChange { verb, extension, attribute, select, sub, value, is_loose };
        self.push(PatchChange::At(Box::new(change)))
    }

    fn extension(
        &mut self,
        verb: Verb,
        extension: &'static SchemaDef,
        value: &Value,
    ) -> Result<(), ScimError> {
        if verb == Verb::Remove || value.is_null() {
            return self.push(PatchChange::DropExtension(extension));
        }
        let Some(object) = value.as_object() else {
            return Err(ScimError::value(format!("{} is an object of attributes", extension.id)));
        };
        at_most_attributes(object, extension.id)?;
        for (name, value) in object {
            match in_extension(extension, name) {
                Some(place) => self.change(verb, place, value, true)?,
                None => self.ignored.add(name),
            }
        }
        Ok(())
    }

    /// Adds a change. Members that are added or removed by several operations in a row become one change, so
    /// that the time for them grows with their number and not with its square.
    fn push(&mut self, change: PatchChange) -> Result<(), ScimError> {
        if let (Some(PatchChange::At(last)), PatchChange::At(next)) = (self.changes.last_mut(), &change)
            && last.can_join(next)
            && let (Some(Value::Array(into)), Some(Value::Array(from))) = (&mut last.value, &next.value)
            && into.len() + from.len() <= MEMBERS_MAX
        {
            into.extend(from.iter().cloned());
            return Ok(());
        }
        if self.changes.len() == CHANGES_MAX {
            let detail = format!("a PATCH has at most {CHANGES_MAX} changes: split it");
            return Err(ScimError::new(ScimType::TooMany, detail));
        }
        self.changes.push(change);
        Ok(())
    }
}

impl AttributeChange {
    fn can_join(&self, next: &AttributeChange) -> bool {
        let is_plain = |one: &AttributeChange| one.select.is_none() && one.sub.is_none();
        self.verb == next.verb
            && self.verb != Verb::Replace
            && self.attribute.is_keyed()
            && std::ptr::eq(self.attribute, next.attribute)
            && is_plain(self)
            && is_plain(next)
    }
}

fn verb(op: Option<&Value>) -> Result<Verb, ScimError> {
    let op = op.and_then(Value::as_str).unwrap_or_default();
    let verbs = [("add", Verb::Add), ("replace", Verb::Replace), ("remove", Verb::Remove)];
    let found = verbs.iter().find(|(name, _)| op.eq_ignore_ascii_case(name));
    let unknown = || ScimError::syntax(format!("`op` is add, replace or remove, not {}", shown(op)));
    found.map(|(_, verb)| *verb).ok_or_else(unknown)
}

/// `PATH = attrPath / valuePath [subAttr]` (RFC 7644 3.5.2), or the URN of an extension.
fn place(kind: ResourceKind, text: &str) -> Result<PatchPlace, ScimError> {
    if text.len() > FILTER_OCTETS_MAX {
        return Err(invalid_path("the path is too long"));
    }
    if let Some(extension) = kind.extension(text) {
        return Ok(PatchPlace::Extension(extension));
    }
    let unknown = || invalid_path(&format!("{} is no attribute of a {}", shown(text), kind.name()));
    let malformed = |fault: FilterFault| invalid_path(&format!("{} {fault}", shown(text)));
    let mut reader = FilterReader::new(text).map_err(malformed)?;
    let path = AttrPath::parse(reader.path_text()).ok_or_else(unknown)?;
    let found = path.resolve(kind).ok_or_else(unknown)?;
    let (extension, attribute) = (found.extension, found.attribute);
    let Some(select) = reader.brackets().map_err(malformed)? else {
        reader.end().map_err(malformed)?;
        return Ok(PatchPlace::Attribute { extension, attribute, select: None, sub: found.sub });
    };
    let sub = match reader.dotted() {
        Some(name) => Some(attribute.sub(name).ok_or_else(unknown)?),
        None => None,
    };
    reader.end().map_err(malformed)?;
    if found.sub.is_some() || !attribute.multi_valued || attribute.value_type != ValueType::Complex {
        return Err(invalid_path(&format!("{} has no values to select in brackets", cut(&path.to_string()))));
    }
    check::element(&select, attribute).map_err(|error| invalid_path(&error.detail))?;
    Ok(PatchPlace::Attribute { extension, attribute, select: Some(select), sub })
}

fn in_extension(extension: &'static SchemaDef, name: &str) -> Option<PatchPlace> {
    let path = AttrPath::parse(name).filter(|path| path.urn.is_none())?;
    let attribute = extension.attribute(&path.name)?;
    let sub = match path.sub.as_deref() {
        Some(sub) => Some(attribute.sub(sub)?),
        None => None,
    };
    Some(PatchPlace::Attribute { extension: Some(extension), attribute, select: None, sub })
}

/// `value eq "x"` of an attribute whose elements are known by their value: `x`.
fn key_in<'a>(attribute: &AttributeDef, filter: &'a FilterExpr) -> Option<&'a str> {
    match filter {
        FilterExpr::Compare(path, CompareOp::Equal, CompareValue::String(key))
            if attribute.is_keyed() && path.name.eq_ignore_ascii_case("value") =>
        {
            Some(key)
        }
        _ => None,
    }
}

fn invalid_path(detail: &str) -> ScimError {
    ScimError::new(ScimType::InvalidPath, detail)
}

fn unchangeable(attribute: &AttributeDef, reason: &str) -> ScimError {
    ScimError::new(ScimType::Mutability, format!("{} {reason}", attribute.name))
}
