//! Attribute paths (RFC 7644 3.10): `userName`, `name.familyName`, `urn:…:User:department`.

use crate::ResourceKind;
use crate::limits::{NAME_OCTETS_MAX, URN_OCTETS_MAX};
use crate::schema::{AttributeDef, SchemaDef};
use std::fmt;

/// A path as it is written. Names keep their spelling and are compared without regard to case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttrPath {
    /// The schema's URN, without the colon after it.
    pub urn: Option<Box<str>>,
    /// The attribute's name.
    pub name: Box<str>,
    /// The sub-attribute's name.
    pub sub: Option<Box<str>>,
}

/// The attribute that a path names in a kind of resource.
#[derive(Debug, Clone, Copy)]
pub struct ResolvedPath {
    /// The extension that the attribute belongs to; `None` for the core schema and the common attributes.
    pub extension: Option<&'static SchemaDef>,
    /// The attribute.
    pub attribute: &'static AttributeDef,
    /// The sub-attribute, if the path has one.
    pub sub: Option<&'static AttributeDef>,
}

impl ResolvedPath {
    /// The definition that a value at this path has: the sub-attribute's, or the attribute's.
    pub fn leaf(&self) -> &'static AttributeDef {
        self.sub.unwrap_or(self.attribute)
    }
}

impl AttrPath {
    /// Reads `[urn ":"] name ["." sub]`.
    ///
    /// Returns `None` for what is no path, and for a name over [`NAME_OCTETS_MAX`] or a URN over
    /// [`URN_OCTETS_MAX`].
    pub fn parse(text: &str) -> Option<AttrPath> {
        let has_urn = text.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("urn:"));
        let (urn, rest) = match text.rsplit_once(':') {
            Some((urn, rest)) if has_urn => (Some(urn), rest),
            Some(_) => return None,
            None => (None, text),
        };
        if urn.is_some_and(|urn| urn.len() > URN_OCTETS_MAX || !urn.bytes().all(is_path_octet)) {
            return None;
        }
        let (name, sub) = match rest.split_once('.') {
            Some((name, sub)) => (name, Some(sub)),
            None => (rest, None),
        };
        if !is_name(name) || !sub.is_none_or(is_name) {
            return None;
        }
        Some(AttrPath { urn: urn.map(Into::into), name: name.into(), sub: sub.map(Into::into) })
    }

    /// The attribute it names. A name without a URN is looked for in the core schema, among the common
    /// attributes and then in the extensions: Entra ID filters by `manager` without its URN.
    pub fn resolve(&self, kind: ResourceKind) -> Option<ResolvedPath> {
        let (extension, attribute) = match self.urn.as_deref() {
            Some(urn) if urn.eq_ignore_ascii_case(kind.schema().id) => (None, kind.attribute(&self.name)?),
            Some(urn) => {
                let extension = kind.extension(urn)?;
                (Some(extension), extension.attribute(&self.name)?)
            }
            None => match kind.attribute(&self.name) {
                Some(attribute) => (None, attribute),
                None => {
                    kind.extensions().iter().find_map(|one| Some((Some(*one), one.attribute(&self.name)?)))?
                }
            },
        };
        let sub = match self.sub.as_deref() {
            Some(sub) => Some(attribute.sub(sub)?),
            None => None,
        };
        Some(ResolvedPath { extension, attribute, sub })
    }
}

impl fmt::Display for AttrPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(urn) = &self.urn {
            write!(f, "{urn}:")?;
        }
        f.write_str(&self.name)?;
        match &self.sub {
            Some(sub) => write!(f, ".{sub}"),
            None => Ok(()),
        }
    }
}

/// Octets that may stand in a path before its brackets.
pub(crate) fn is_path_octet(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || matches!(octet, b'$' | b'_' | b'-' | b'.' | b':')
}

/// `ATTRNAME` of RFC 7643 2.1, and names such as `$ref`.
fn is_name(text: &str) -> bool {
    let rest = text.strip_prefix('$').unwrap_or(text);
    text.len() <= NAME_OCTETS_MAX
        && rest.starts_with(|c: char| c.is_ascii_alphabetic())
        && rest.bytes().all(|octet| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_into_its_parts_and_written_as_it_was() {
        let enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
        for (text, urn, name, sub) in [
            ("userName", None, "userName", None),
            ("name.familyName", None, "name", Some("familyName")),
            ("members.$ref", None, "members", Some("$ref")),
            (&format!("{enterprise}:manager.value"), Some(enterprise), "manager", Some("value")),
            (&format!("{enterprise}:department"), Some(enterprise), "department", None),
        ] {
            let path = AttrPath::parse(text).unwrap();
            assert_eq!((path.urn.as_deref(), &*path.name, path.sub.as_deref()), (urn, name, sub), "{text}");
            assert_eq!(path.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        let long = "a".repeat(NAME_OCTETS_MAX + 1);
        let long_urn = format!("urn:{}:a", "x".repeat(URN_OCTETS_MAX));
        for text in [
            "", ".", "a.", ".a", "a.b.c", "1a", "a b", "a:b", "urn:x:", "$", "ä", "urn:å:b", &long, &long_urn,
        ] {
            assert_eq!(AttrPath::parse(text), None, "{text}");
        }
    }

    #[test]
    fn names_and_urns_are_found_in_any_case() {
        let found =
            |kind, text: &str| AttrPath::parse(text).unwrap().resolve(kind).map(|path| path.leaf().name);
        for (text, name) in [
            ("USERNAME", Some("userName")),
            ("Name.FAMILYname", Some("familyName")),
            ("urn:ietf:params:SCIM:schemas:core:2.0:user:emails.Value", Some("value")),
            ("urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager", Some("manager")),
            ("manager.displayName", Some("displayName")),
            ("meta.lastModified", Some("lastModified")),
            ("externalId", Some("externalId")),
            ("urn:example:User:userName", None),
            ("userName.value", None),
            ("shoeSize", None),
        ] {
            assert_eq!(found(ResourceKind::User, text), name, "{text}");
        }
        assert_eq!(found(ResourceKind::Group, "userName"), None);
        assert_eq!(found(ResourceKind::Group, "manager"), None);
        assert_eq!(found(ResourceKind::Group, "members.$REF"), Some("$ref"));
    }
}
