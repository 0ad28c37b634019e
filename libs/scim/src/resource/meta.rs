//! Metadata of a resource (RFC 7643 3.1) and its weak entity tag (RFC 7644 3.14).

use crate::limits::ETAGS_MAX;
use crate::{Object, ResourceKind};
use jiff::Timestamp;
use serde_json::json;

/// What the store knows of a resource besides its attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceMeta<'a> {
    /// Its kind.
    pub kind: ResourceKind,
    /// Its `id`, which stands after `/Users/`: letters, digits, `-`, `_` and `.` only.
    pub id: &'a str,
    /// When it was added.
    pub created: Timestamp,
    /// When it was changed last.
    pub last_modified: Timestamp,
    /// A number that grows with each change.
    pub version: u64,
}

impl ResourceMeta<'_> {
    /// The URI of the resource: `meta.location` and the header `Location`. `base_url` ends without a slash.
    pub fn location(&self, base_url: &str) -> String {
        format!("{base_url}{}/{}", self.kind.endpoint(), self.id)
    }

    /// Writes `id` and `meta` into a resource.
    pub fn stamp(&self, base_url: &str, resource: &mut Object) {
        let meta = json!({
            "resourceType": self.kind.name(),
            "created": self.created.to_string(),
            "lastModified": self.last_modified.to_string(),
            "location": self.location(base_url),
            "version": weak_etag(self.version),
        });
        resource.insert("id".to_owned(), self.id.into());
        resource.insert("meta".to_owned(), meta);
    }
}

/// The entity tag of a version: `W/"42"`, for the header `ETag` and `meta.version`.
pub fn weak_etag(version: u64) -> String {
    format!("W/\"{version}\"")
}

/// Whether an `If-Match` or `If-None-Match` names a version: `*` names all (RFC 9110 13.1). Tags are compared
/// weakly, as they are all weak. At most [`ETAGS_MAX`] tags are looked at.
pub fn etag_matches(header: &str, version: u64) -> bool {
    let current = weak_etag(version);
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    header.trim() == "*" || header.split(',').take(ETAGS_MAX).any(|tag| opaque(tag) == opaque(&current))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_gets_its_id_and_meta() {
        let meta = ResourceMeta {
            kind: ResourceKind::User,
            id: "2819c223-7f76-453a-919d-413861904646",
            created: "2010-01-23T04:56:22Z".parse().unwrap(),
            last_modified: "2011-05-13T04:42:34.5Z".parse().unwrap(),
            version: 3,
        };
        let mut resource = Object::new();
        meta.stamp("https://example.com/v2", &mut resource);
        let expected = json!({
            "id": "2819c223-7f76-453a-919d-413861904646",
            "meta": {
                "resourceType": "User",
                "created": "2010-01-23T04:56:22Z",
                "lastModified": "2011-05-13T04:42:34.5Z",
                "location": "https://example.com/v2/Users/2819c223-7f76-453a-919d-413861904646",
                "version": "W/\"3\""
            }
        });
        assert_eq!(expected.as_object(), Some(&resource));
    }

    #[test]
    fn a_condition_names_a_version_alone_in_a_list_or_by_a_star() {
        for (header, is_match) in [
            ("W/\"3\"", true),
            ("\"3\"", true),
            (" W/\"2\" , W/\"3\" ", true),
            ("*", true),
            ("W/\"33\"", false),
            ("3", false),
            ("", false),
        ] {
            assert_eq!(etag_matches(header, 3), is_match, "{header}");
        }
    }
}
