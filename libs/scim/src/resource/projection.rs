//! Projection of an answer: `attributes`, `excludedAttributes` and `returned` (RFC 7644 3.9; RFC 7643 7).

use crate::limits::PROJECTED_MAX;
use crate::path::{AttrPath, ResolvedPath};
use crate::schema::{AttributeDef, Returned, SchemaDef};
use crate::{Object, ResourceKind, ScimError, ScimType};
use serde_json::Value;

/// The attributes that a request wants in its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Projection {
    choice: Choice,
    /// Names as they were written: at most [`PROJECTED_MAX`].
    names: Vec<Box<str>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Choice {
    /// What is returned by default.
    #[default]
    Default,
    /// The named ones, and those that are always returned.
    Only,
    /// What is returned by default, without the named ones.
    Without,
}

/// Names that are resolved for a kind of resource.
struct Named {
    choice: Choice,
    paths: Vec<ResolvedPath>,
    extensions: Vec<&'static SchemaDef>,
}

impl Projection {
    /// Reads the two parameters, whose names are separated by commas; an empty one counts as none.
    ///
    /// # Errors
    /// `invalidValue`: both are given. `tooMany`: more than [`PROJECTED_MAX`] names.
    pub fn read(attributes: Option<&str>, excluded: Option<&str>) -> Result<Projection, ScimError> {
        let names = |text: Option<&str>| -> Result<Vec<Box<str>>, ScimError> {
            let names = text.unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty());
            let names: Vec<Box<str>> = names.take(PROJECTED_MAX + 1).map(Box::from).collect();
            if names.len() > PROJECTED_MAX {
                let detail = format!("at most {PROJECTED_MAX} attributes can be named");
                return Err(ScimError::new(ScimType::TooMany, detail));
            }
            Ok(names)
        };
        let (only, without) = (names(attributes)?, names(excluded)?);
        match (only.is_empty(), without.is_empty()) {
            (true, true) => Ok(Projection::default()),
            (false, true) => Ok(Projection { choice: Choice::Only, names: only }),
            (true, false) => Ok(Projection { choice: Choice::Without, names: without }),
            (false, false) => {
                Err(ScimError::value("`attributes` and `excludedAttributes` exclude each other"))
            }
        }
    }

    /// Whether an attribute can be in the answer: a store need not read members that nobody asked for.
    pub fn includes(&self, kind: ResourceKind, name: &str) -> bool {
        let named = self.resolve(kind);
        kind.attribute(name)
            .is_some_and(|attribute| !matches!(named.part(None, attribute), ReturnedPart::Nothing))
    }

    /// The part of a resource that goes into an answer. Names that the kind does not have choose nothing.
    pub fn apply(&self, kind: ResourceKind, resource: &Object) -> Object {
        let named = self.resolve(kind);
        let mut answer = Object::new();
        for (name, value) in resource {
            if let Some(extension) = kind.extension(name) {
                let Some(object) = value.as_object() else { continue };
                let mut inner = Object::new();
                for (name, value) in object {
                    if let Some(attribute) = extension.attribute(name) {
                        named.copy(Some(extension), attribute, value, &mut inner);
                    }
                }
                if !inner.is_empty() {
                    answer.insert(extension.id.to_owned(), inner.into());
                }
            } else if let Some(attribute) = kind.attribute(name) {
                named.copy(None, attribute, value, &mut answer);
            }
        }
        answer
    }

    fn resolve(&self, kind: ResourceKind) -> Named {
        let paths = self.names.iter().filter_map(|name| AttrPath::parse(name)?.resolve(kind)).collect();
        let extensions = self.names.iter().filter_map(|name| kind.extension(name)).collect();
        Named { choice: self.choice, paths, extensions }
    }
}

/// The part of an attribute that is returned.
enum ReturnedPart {
    Nothing,
    /// All but what is returned on request or never.
    Whole,
    /// The named sub-attributes, and those that are always returned.
    Only(Vec<&'static str>),
    /// All but the named sub-attributes.
    Without(Vec<&'static str>),
}

impl Named {
    fn copy(
        &self,
        extension: Option<&'static SchemaDef>,
        attribute: &'static AttributeDef,
        value: &Value,
        into: &mut Object,
    ) {
        let part = self.part(extension, attribute);
        let copied = match (&part, value) {
            (ReturnedPart::Nothing, _) => return,
            (_, Value::Array(values)) => {
                let kept = values.iter().filter_map(|value| part_of(&part, attribute, value));
                Value::Array(kept.collect())
            }
            _ => match part_of(&part, attribute, value) {
                Some(value) => value,
                None => return,
            },
        };
        if copied.as_array().is_none_or(|values| !values.is_empty()) {
            into.insert(attribute.name.to_owned(), copied);
        }
    }

    fn part(&self, extension: Option<&'static SchemaDef>, attribute: &'static AttributeDef) -> ReturnedPart {
        let is_same = |path: &&ResolvedPath| {
            path.attribute.name == attribute.name
                && path.extension.map(|one| one.id) == extension.map(|one| one.id)
        };
        let paths = || self.paths.iter().filter(is_same);
        let is_extension_named = extension.is_some_and(|one| self.extensions.iter().any(|x| x.id == one.id));
        let is_whole = is_extension_named || paths().any(|path| path.sub.is_none());
        let subs: Vec<&'static str> = paths().filter_map(|path| path.sub).map(|sub| sub.name).collect();
        match (attribute.returned, self.choice) {
            (Returned::Never, _) => ReturnedPart::Nothing,
            // `attributes=members,members.display` names the whole and a part that is sent on request.
            (_, Choice::Only) if is_whole && subs.is_empty() => ReturnedPart::Whole,
            (_, Choice::Only) if is_whole => {
                let by_default =
                    attribute.sub_attributes.iter().filter(|sub| sub.returned == Returned::Default);
                ReturnedPart::Only(subs.into_iter().chain(by_default.map(|sub| sub.name)).collect())
            }
            (_, Choice::Only) if !subs.is_empty() => ReturnedPart::Only(subs),
            (Returned::Always, _) => ReturnedPart::Whole,
            (Returned::Request, _) | (_, Choice::Only) => ReturnedPart::Nothing,
            (Returned::Default, Choice::Without) if is_whole => ReturnedPart::Nothing,
            (Returned::Default, Choice::Without) if !subs.is_empty() => ReturnedPart::Without(subs),
            (Returned::Default, _) => ReturnedPart::Whole,
        }
    }
}

fn part_of(part: &ReturnedPart, attribute: &'static AttributeDef, value: &Value) -> Option<Value> {
    let Some(object) = value.as_object() else { return Some(value.clone()) };
    let mut kept = Object::new();
    for (name, value) in object {
        let Some(sub) = attribute.sub(name) else { continue };
        let is_kept = match (sub.returned, part) {
            (Returned::Never, _) | (_, ReturnedPart::Nothing) => false,
            (Returned::Always, _) => true,
            (_, ReturnedPart::Only(names)) => names.contains(&sub.name),
            (Returned::Request, _) => false,
            (_, ReturnedPart::Without(names)) => !names.contains(&sub.name),
            (_, ReturnedPart::Whole) => true,
        };
        if is_kept {
            kept.insert(sub.name.to_owned(), value.clone());
        }
    }
    (!kept.is_empty()).then_some(Value::Object(kept))
}
