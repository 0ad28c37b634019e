//! SCIM 2.0 of a service provider without IO: RFC 7643 (schemas) and RFC 7644 (protocol).
//!
//! JSON values come in and JSON values go out; the HTTP door and the store are the caller's. A resource is a
//! JSON object whose names are spelled as in its schema: what [`resource::check`] and
//! [`patch::PatchRequest::apply`] return, and what every other function takes.
//!
//! | request | functions |
//! |---|---|
//! | `GET /ServiceProviderConfig`, `/ResourceTypes`, `/Schemas` | [`schema::service_provider_config`], [`schema::resource_types`], [`schema::schemas`] |
//! | `POST /Users` | [`resource::check`], then [`resource::ResourceMeta::stamp`] and [`resource::Projection::apply`] |
//! | `GET /Users/{id}` | [`resource::Projection::read`] and `apply` |
//! | `GET /Users?filter=…`, `POST /.search` | [`list::ListQuery`], [`filter::FilterExpr`], [`list::response`] |
//! | `PUT /Users/{id}` | [`resource::check`], [`resource::replace`] |
//! | `PATCH /Users/{id}` | [`patch::PatchRequest::read`] and `apply` |
//! | `POST /Bulk` | [`bulk::refusal`] |
//!
//! Attributes are data ([`schema::AttributeDef`]): type, mutability, `returned`, `caseExact` and uniqueness
//! are read from the tables by all modules, and the documents of `/Schemas` are written from the same tables.
//! Every length and number is bounded ([`limits`]); the depth of JSON is bounded by the reader of serde_json.

pub mod bulk;
pub mod error;
pub mod filter;
pub mod limits;
pub mod list;
pub mod patch;
pub mod path;
pub mod resource;
pub mod schema;

#[cfg(test)]
mod samples;

pub use error::{ScimError, ScimType};
pub use schema::ResourceKind;

/// A JSON object.
pub type Object = serde_json::Map<String, serde_json::Value>;

/// Looks a name up without regard to the case of ASCII letters (RFC 7643 2.1); the exact spelling first.
fn field<'a>(object: &'a Object, name: &str) -> Option<&'a serde_json::Value> {
    object
        .get(name)
        .or_else(|| object.iter().find_map(|(key, value)| key.eq_ignore_ascii_case(name).then_some(value)))
}
