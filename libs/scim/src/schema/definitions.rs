//! Schemas of the service provider's own documents (RFC 7643 5, 6, 7, 8.7.2).

use super::{AttributeDef, SchemaDef, Uniqueness};

/// ServiceProviderConfig, ResourceType and Schema.
pub static SERVICE_SCHEMAS: [&SchemaDef; 3] = [&SERVICE_PROVIDER_CONFIG, &RESOURCE_TYPE, &SCHEMA];

static SERVICE_PROVIDER_CONFIG: SchemaDef = SchemaDef {
    id: "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig",
    name: "ServiceProviderConfig",
    description: "Features of the service provider",
    attributes: &[
        AttributeDef::reference("documentationUri", "URL of the documentation.", &["external"]).read_only(),
        AttributeDef::complex("patch", "Options of PATCH.", SUPPORTED).required().read_only(),
        AttributeDef::complex("bulk", "Options of bulk requests.", BULK).required().read_only(),
        AttributeDef::complex("filter", "Options of filters.", FILTER).required().read_only(),
        AttributeDef::complex("changePassword", "Options of changing a password.", SUPPORTED)
            .required()
            .read_only(),
        AttributeDef::complex("sort", "Options of sorting.", SUPPORTED).required().read_only(),
        AttributeDef::complex("etag", "Options of entity tags.", SUPPORTED).required().read_only(),
        AttributeDef::complex("authenticationSchemes", "Ways to authenticate.", AUTHENTICATION)
            .many()
            .required()
            .read_only(),
    ],
};

const IS_SUPPORTED: AttributeDef =
    AttributeDef::boolean("supported", "Whether the operation is supported.").required().read_only();

const SUPPORTED: &[AttributeDef] = &[IS_SUPPORTED];

const BULK: &[AttributeDef] = &[
    IS_SUPPORTED,
    AttributeDef::integer("maxOperations", "Most operations of a request.").required().read_only(),
    AttributeDef::integer("maxPayloadSize", "Most octets of a request.").required().read_only(),
];

const FILTER: &[AttributeDef] = &[
    IS_SUPPORTED,
    AttributeDef::integer("maxResults", "Most resources of an answer.").required().read_only(),
];

const AUTHENTICATION: &[AttributeDef] = &[
    AttributeDef::text("type", "Kind of the scheme.")
        .canonical(&["oauth", "oauth2", "oauthbearertoken", "httpbasic", "httpdigest"])
        .required()
        .read_only(),
    AttributeDef::text("name", "Name of the scheme.").required().read_only(),
    AttributeDef::text("description", "Description of the scheme.").required().read_only(),
    AttributeDef::reference("specUri", "URL of the specification.", &["external"]).read_only(),
    AttributeDef::reference("documentationUri", "URL of the documentation.", &["external"]).read_only(),
    AttributeDef::boolean("primary", "Whether the scheme is the preferred one.").read_only(),
];

static RESOURCE_TYPE: SchemaDef = SchemaDef {
    id: "urn:ietf:params:scim:schemas:core:2.0:ResourceType",
    name: "ResourceType",
    description: "Kind of a resource: its endpoint and its schemas",
    attributes: &[
        AttributeDef::text("id", "Identifier of the resource type.").exact().read_only(),
        AttributeDef::text("name", "Name of the resource type.")
            .exact()
            .required()
            .read_only()
            .unique(Uniqueness::Server),
        AttributeDef::text("description", "Description of the resource type.").read_only(),
        AttributeDef::reference("endpoint", "Path of the resources under the base URL.", &["uri"])
            .required()
            .read_only()
            .unique(Uniqueness::Server),
        AttributeDef::reference("schema", "URN of the core schema.", &["uri"]).required().read_only(),
        AttributeDef::complex("schemaExtensions", "Schemas that extend the resource type.", EXTENSION)
            .many()
            .read_only(),
    ],
};

const EXTENSION: &[AttributeDef] = &[
    AttributeDef::reference("schema", "URN of the extension.", &["uri"]).required().read_only(),
    AttributeDef::boolean("required", "Whether every resource must have it.").required().read_only(),
];

static SCHEMA: SchemaDef = SchemaDef {
    id: "urn:ietf:params:scim:schemas:core:2.0:Schema",
    name: "Schema",
    description: "Description of a schema and its attributes",
    attributes: &[
        AttributeDef::text("id", "URN of the schema.").exact().required().read_only(),
        AttributeDef::text("name", "Name of the schema.").exact().required().read_only(),
        AttributeDef::text("description", "Description of the schema.").read_only(),
        AttributeDef::complex("attributes", "Attributes of the schema.", ATTRIBUTE)
            .many()
            .required()
            .read_only(),
    ],
};

const ATTRIBUTE_NAME: AttributeDef =
    AttributeDef::text("name", "Name of the attribute.").exact().required().read_only();
const ATTRIBUTE_TYPE: AttributeDef = AttributeDef::text("type", "Type of the values.")
    .exact()
    .canonical(&["string", "complex", "boolean", "decimal", "integer", "dateTime", "reference", "binary"])
    .required()
    .read_only();
const MULTI_VALUED: AttributeDef =
    AttributeDef::boolean("multiValued", "Whether the attribute has several values.").required().read_only();
const DESCRIPTION: AttributeDef =
    AttributeDef::text("description", "Description of the attribute.").exact().read_only();
const REQUIRED: AttributeDef =
    AttributeDef::boolean("required", "Whether the attribute is required.").read_only();
const CANONICAL_VALUES: AttributeDef =
    AttributeDef::text("canonicalValues", "Suggested values.").exact().many().read_only();
const CASE_EXACT: AttributeDef =
    AttributeDef::boolean("caseExact", "Whether the case of letters matters.").read_only();
const MUTABILITY: AttributeDef = AttributeDef::text("mutability", "Who may set the attribute.")
    .exact()
    .canonical(&["readOnly", "readWrite", "immutable", "writeOnly"])
    .read_only();
const RETURNED: AttributeDef = AttributeDef::text("returned", "When the attribute is returned.")
    .exact()
    .canonical(&["always", "never", "default", "request"])
    .read_only();
const UNIQUENESS: AttributeDef = AttributeDef::text("uniqueness", "Where a value may stand once only.")
    .exact()
    .canonical(&["none", "server", "global"])
    .read_only();
const REFERENCE_TYPES: AttributeDef =
    AttributeDef::text("referenceTypes", "Kinds of what a reference refers to.").exact().many().read_only();

const ATTRIBUTE: &[AttributeDef] = &[
    ATTRIBUTE_NAME,
    ATTRIBUTE_TYPE,
    MULTI_VALUED,
    DESCRIPTION,
    REQUIRED,
    CANONICAL_VALUES,
    CASE_EXACT,
    MUTABILITY,
    RETURNED,
    UNIQUENESS,
    REFERENCE_TYPES,
    AttributeDef::complex("subAttributes", "Parts of a complex attribute.", SUB_ATTRIBUTE).many().read_only(),
];

const SUB_ATTRIBUTE: &[AttributeDef] = &[
    ATTRIBUTE_NAME,
    ATTRIBUTE_TYPE,
    MULTI_VALUED,
    DESCRIPTION,
    REQUIRED,
    CANONICAL_VALUES,
    CASE_EXACT,
    MUTABILITY,
    RETURNED,
    UNIQUENESS,
    REFERENCE_TYPES,
];
