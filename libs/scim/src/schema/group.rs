//! Group of the core schema (RFC 7643 4.2, 8.7.1).

use super::{AttributeDef, Mutability, Returned, SchemaDef};

/// `urn:ietf:params:scim:schemas:core:2.0:Group`.
pub static GROUP: SchemaDef = SchemaDef {
    id: "urn:ietf:params:scim:schemas:core:2.0:Group",
    name: "Group",
    description: "Group",
    attributes: &[
        AttributeDef::text("displayName", "Name of the group.").required(),
        AttributeDef::complex("members", "Members of the group.", MEMBER).many(),
    ],
};

/// `display` is the service provider's to fill and is sent on request only: a group of 100,000 members is
/// read without their names.
const MEMBER: &[AttributeDef] = &[
    AttributeDef::text("value", "Identifier of the member.").exact().mutability(Mutability::Immutable),
    AttributeDef::reference("$ref", "URI of the member.", &["User", "Group"])
        .mutability(Mutability::Immutable),
    AttributeDef::text("type", "Resource type of the member.")
        .canonical(&["User", "Group"])
        .mutability(Mutability::Immutable),
    AttributeDef::text("display", "Name of the member.").read_only().returned(Returned::Request),
];
