//! Documents of `/ServiceProviderConfig`, `/ResourceTypes` and `/Schemas` (RFC 7644 4; RFC 7643 5 to 8).
//!
//! `base_url` is the URL that `/Users` follows, without a slash at its end: `https://host/scim/v2`.

use super::{
    AttributeDef, Mutability, ResourceKind, Returned, SERVICE_SCHEMAS, SchemaDef, Uniqueness, ValueType,
};
use crate::limits::COUNT_MAX;
use serde_json::{Value, json};

/// The document of `/ServiceProviderConfig`: PATCH, filters and entity tags; no bulk, no sorting, no
/// change of passwords; bearer tokens. `documentation` is a URL for people.
pub fn service_provider_config(base_url: &str, documentation: Option<&str>) -> Value {
    let mut document = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
        "patch": {"supported": true},
        "bulk": {"supported": false, "maxOperations": 0, "maxPayloadSize": 0},
        "filter": {"supported": true, "maxResults": COUNT_MAX},
        "changePassword": {"supported": false},
        "sort": {"supported": false},
        "etag": {"supported": true},
        "authenticationSchemes": [{
            "type": "oauthbearertoken",
            "name": "OAuth Bearer Token",
            "description": "A token in the header Authorization: Bearer",
            "specUri": "https://www.rfc-editor.org/info/rfc6750",
            "primary": true,
        }],
        "meta": {
            "resourceType": "ServiceProviderConfig",
            "location": format!("{base_url}/ServiceProviderConfig"),
        },
    });
    if let Some(documentation) = documentation {
        document["documentationUri"] = documentation.into();
    }
    document
}

/// The documents of `/ResourceTypes`, for a list response.
pub fn resource_types(base_url: &str) -> Vec<Value> {
    ResourceKind::ALL.iter().map(|kind| resource_type_document(*kind, base_url)).collect()
}

/// The document of `/ResourceTypes/{id}`; `None` for 404.
pub fn resource_type(base_url: &str, id: &str) -> Option<Value> {
    let kind = ResourceKind::ALL.iter().find(|kind| kind.name() == id)?;
    Some(resource_type_document(*kind, base_url))
}

fn resource_type_document(kind: ResourceKind, base_url: &str) -> Value {
    let extension = |one: &&SchemaDef| json!({"schema": one.id, "required": false});
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
        "id": kind.name(),
        "name": kind.name(),
        "description": kind.schema().description,
        "endpoint": kind.endpoint(),
        "schema": kind.schema().id,
        "schemaExtensions": kind.extensions().iter().map(extension).collect::<Vec<_>>(),
        "meta": {
            "resourceType": "ResourceType",
            "location": format!("{base_url}/ResourceTypes/{}", kind.name()),
        },
    })
}

/// The documents of `/Schemas`, for a list response: of the resources, their extensions, and the service
/// provider's own documents.
pub fn schemas(base_url: &str) -> Vec<Value> {
    all().map(|schema| document(schema, base_url)).collect()
}

/// The document of `/Schemas/{urn}`; `None` for 404.
pub fn schema_document(base_url: &str, urn: &str) -> Option<Value> {
    all().find(|schema| schema.id.eq_ignore_ascii_case(urn)).map(|schema| document(schema, base_url))
}

fn all() -> impl Iterator<Item = &'static SchemaDef> {
    let of_kind =
        |kind: ResourceKind| std::iter::once(kind.schema()).chain(kind.extensions().iter().copied());
    ResourceKind::ALL.into_iter().flat_map(of_kind).chain(SERVICE_SCHEMAS)
}

fn document(schema: &SchemaDef, base_url: &str) -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
        "id": schema.id,
        "name": schema.name,
        "description": schema.description,
        "attributes": schema.attributes.iter().map(attribute).collect::<Vec<_>>(),
        "meta": {
            "resourceType": "Schema",
            "location": format!("{base_url}/Schemas/{}", schema.id),
        },
    })
}

/// An attribute as RFC 7643 7 describes it. `caseExact` and `uniqueness` stand only where values are text.
fn attribute(one: &AttributeDef) -> Value {
    let mut document = json!({
        "name": one.name,
        "type": type_name(one.value_type),
        "multiValued": one.multi_valued,
        "description": one.description,
        "required": one.required,
        "mutability": mutability_name(one.mutability),
        "returned": returned_name(one.returned),
    });
    if !matches!(one.value_type, ValueType::Boolean | ValueType::Complex) {
        document["caseExact"] = one.case_exact.into();
        document["uniqueness"] = uniqueness_name(one.uniqueness).into();
    }
    if !one.canonical_values.is_empty() {
        document["canonicalValues"] = one.canonical_values.into();
    }
    if !one.reference_types.is_empty() {
        document["referenceTypes"] = one.reference_types.into();
    }
    if !one.sub_attributes.is_empty() {
        document["subAttributes"] = one.sub_attributes.iter().map(attribute).collect::<Vec<_>>().into();
    }
    document
}

pub(super) fn type_name(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::String => "string",
        ValueType::Boolean => "boolean",
        ValueType::Integer => "integer",
        ValueType::DateTime => "dateTime",
        ValueType::Binary => "binary",
        ValueType::Reference => "reference",
        ValueType::Complex => "complex",
    }
}

fn mutability_name(mutability: Mutability) -> &'static str {
    match mutability {
        Mutability::ReadOnly => "readOnly",
        Mutability::ReadWrite => "readWrite",
        Mutability::Immutable => "immutable",
        Mutability::WriteOnly => "writeOnly",
    }
}

fn returned_name(returned: Returned) -> &'static str {
    match returned {
        Returned::Always => "always",
        Returned::Never => "never",
        Returned::Default => "default",
        Returned::Request => "request",
    }
}

fn uniqueness_name(uniqueness: Uniqueness) -> &'static str {
    match uniqueness {
        Uniqueness::None => "none",
        Uniqueness::Server => "server",
        Uniqueness::Global => "global",
    }
}
