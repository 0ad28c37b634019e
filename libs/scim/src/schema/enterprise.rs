//! Enterprise extension of User (RFC 7643 4.3, 8.7.1).

use super::{AttributeDef, SchemaDef};

/// `urn:ietf:params:scim:schemas:extension:enterprise:2.0:User`.
pub static ENTERPRISE_USER: SchemaDef = SchemaDef {
    id: "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User",
    name: "EnterpriseUser",
    description: "Enterprise user",
    attributes: &[
        AttributeDef::text("employeeNumber", "Identifier of the user in the organization."),
        AttributeDef::text("costCenter", "Name of a cost center."),
        AttributeDef::text("organization", "Name of an organization."),
        AttributeDef::text("division", "Name of a division."),
        AttributeDef::text("department", "Name of a department."),
        AttributeDef::complex("manager", "Manager of the user.", MANAGER),
    ],
};

const MANAGER: &[AttributeDef] = &[
    AttributeDef::text("value", "Identifier of the manager's User.").exact(),
    AttributeDef::reference("$ref", "URI of the manager's User.", &["User"]),
    AttributeDef::text("displayName", "Name of the manager.").read_only(),
];
