//! Errors of SCIM: status, scimType and detail (RFC 7644 3.12), and their JSON document.

use serde_json::{Value, json};
use std::fmt;

/// Schema of an error document.
pub const ERROR_SCHEMA: &str = "urn:ietf:params:scim:api:messages:2.0:Error";
/// Octets of a piece of a request that a detail repeats.
const SHOWN_OCTETS_MAX: usize = 80;

/// A request that is refused: its answer's status and document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScimError {
    /// The HTTP status: 400 to 599.
    pub status: u16,
    /// The keyword of Table 9, if one fits.
    pub scim_type: Option<ScimType>,
    /// A sentence for whoever set up the client.
    pub detail: String,
}

/// Keywords of RFC 7644 Table 9.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScimType {
    /// A filter that is not as its grammar has it, or compares what cannot be compared.
    InvalidFilter,
    /// More values than a request may have.
    TooMany,
    /// A value that must be unique and is taken: for the store.
    Uniqueness,
    /// A change of an attribute that is read-only, immutable or required.
    Mutability,
    /// A body that does not have the structure of the request.
    InvalidSyntax,
    /// A path that is malformed or names no attribute.
    InvalidPath,
    /// A path that selects nothing.
    NoTarget,
    /// A value that is missing or does not fit its attribute.
    InvalidValue,
    /// A version of the protocol that is not supported.
    InvalidVers,
    /// A request that would have put personal data into a URL.
    Sensitive,
}

impl ScimType {
    /// The keyword as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            ScimType::InvalidFilter => "invalidFilter",
            ScimType::TooMany => "tooMany",
            ScimType::Uniqueness => "uniqueness",
            ScimType::Mutability => "mutability",
            ScimType::InvalidSyntax => "invalidSyntax",
            ScimType::InvalidPath => "invalidPath",
            ScimType::NoTarget => "noTarget",
            ScimType::InvalidValue => "invalidValue",
            ScimType::InvalidVers => "invalidVers",
            ScimType::Sensitive => "sensitive",
        }
    }

    /// The status that goes with it: 403 with `sensitive`, 409 with `uniqueness`, otherwise 400.
    pub fn status(self) -> u16 {
        match self {
            ScimType::Uniqueness => 409,
            ScimType::Sensitive => 403,
            _ => 400,
        }
    }
}

impl ScimError {
    /// An error with a keyword, and the status that belongs to it.
    pub fn new(scim_type: ScimType, detail: impl Into<String>) -> ScimError {
        ScimError { status: scim_type.status(), scim_type: Some(scim_type), detail: detail.into() }
    }

    /// An error with a status alone, for what Table 9 has no keyword for: 401, 403, 404, 405, 412, 413, 500.
    pub fn plain(status: u16, detail: impl Into<String>) -> ScimError {
        ScimError { status, scim_type: None, detail: detail.into() }
    }

    /// 404: no resource, resource type, schema or endpoint of this name.
    pub fn not_found(name: &str) -> ScimError {
        ScimError::plain(404, format!("{} does not exist", shown(name)))
    }

    /// 409 `uniqueness`: the value of `attribute` belongs to another resource.
    pub fn taken(attribute: &str, value: &str) -> ScimError {
        let detail = format!("{attribute} {} belongs to another resource: choose another", shown(value));
        ScimError::new(ScimType::Uniqueness, detail)
    }

    /// 412: the `If-Match` of the request names another version.
    pub fn version_mismatch() -> ScimError {
        let detail = "the resource has changed since the version in If-Match: read it again, then repeat";
        ScimError::plain(412, detail)
    }

    /// 501: an operation that ServiceProviderConfig says is not supported.
    pub fn not_implemented(detail: impl Into<String>) -> ScimError {
        ScimError::plain(501, detail)
    }

    pub(crate) fn syntax(detail: impl Into<String>) -> ScimError {
        ScimError::new(ScimType::InvalidSyntax, detail)
    }

    pub(crate) fn value(detail: impl Into<String>) -> ScimError {
        ScimError::new(ScimType::InvalidValue, detail)
    }

    /// The document of the answer (RFC 7644 3.12): `status` is a string.
    pub fn to_json(&self) -> Value {
        let mut document = json!({
            "schemas": [ERROR_SCHEMA],
            "status": self.status.to_string(),
            "detail": self.detail,
        });
        if let Some(scim_type) = self.scim_type {
            document["scimType"] = scim_type.as_str().into();
        }
        document
    }
}

impl fmt::Display for ScimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scim_type {
            Some(scim_type) => write!(f, "{} {}: {}", self.status, scim_type.as_str(), self.detail),
            None => write!(f, "{}: {}", self.status, self.detail),
        }
    }
}

impl std::error::Error for ScimError {}

/// A piece of a request in quotes, cut to a length that a log can bear.
pub(crate) fn shown(text: &str) -> String {
    format!("{:?}", cut(text))
}

/// A piece of a request, cut to a length that a log can bear.
pub(crate) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(SHOWN_OCTETS_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_the_form_of_section_3_12() {
        let error = ScimError::new(ScimType::Mutability, "Attribute 'id' is readOnly");
        let expected = json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:Error"],
            "scimType": "mutability",
            "detail": "Attribute 'id' is readOnly",
            "status": "400"
        });
        assert_eq!(error.to_json(), expected);
        let missing = ScimError::not_found("2819c223-7f76-453a-919d-413861904646").to_json();
        assert_eq!((&missing["status"], missing.get("scimType")), (&json!("404"), None));
    }

    #[test]
    fn a_keyword_brings_the_status_of_its_table() {
        assert_eq!(ScimError::taken("userName", "bjensen").status, 409);
        assert_eq!(ScimError::new(ScimType::Sensitive, "").status, 403);
        assert_eq!(ScimError::version_mismatch().status, 412);
        for scim_type in [ScimType::InvalidFilter, ScimType::TooMany, ScimType::NoTarget] {
            assert_eq!(scim_type.status(), 400);
        }
    }

    #[test]
    fn a_detail_repeats_only_the_beginning_of_a_long_text() {
        let error = ScimError::not_found(&"å".repeat(10_000));
        assert!(error.detail.len() < 200, "{}", error.detail.len());
    }
}
