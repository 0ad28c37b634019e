use super::*;
use serde_json::{Value, json};
use std::collections::HashSet;

const BASE: &str = "https://example.com/v2";

#[test]
fn the_user_schema_has_the_attributes_of_section_8_7_1_in_their_order() {
    let names: Vec<&str> = ResourceKind::User.schema().attributes.iter().map(|one| one.name).collect();
    let expected = "userName name displayName nickName profileUrl title userType preferredLanguage locale timezone \
                    active password emails phoneNumbers ims photos addresses groups entitlements roles x509Certificates";
    assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
    let names: Vec<&str> = ResourceKind::User.extensions()[0].attributes.iter().map(|one| one.name).collect();
    assert_eq!(names, ["employeeNumber", "costCenter", "organization", "division", "department", "manager"]);
}

#[test]
fn an_attribute_is_described_as_in_section_8_7_1() {
    let user = schema_document(BASE, "urn:ietf:params:scim:schemas:core:2.0:User").unwrap();
    let attribute = |name: &str| -> Value {
        user["attributes"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone()
    };
    for (name, key, value) in [
        ("userName", "required", json!(true)),
        ("userName", "caseExact", json!(false)),
        ("userName", "uniqueness", json!("server")),
        ("userName", "type", json!("string")),
        ("password", "mutability", json!("writeOnly")),
        ("password", "returned", json!("never")),
        ("groups", "mutability", json!("readOnly")),
        ("emails", "multiValued", json!(true)),
        ("profileUrl", "referenceTypes", json!(["external"])),
        ("active", "type", json!("boolean")),
        ("x509Certificates", "type", json!("complex")),
    ] {
        assert_eq!(attribute(name)[key], value, "{name} {key}");
    }
    let email_type = &attribute("emails")["subAttributes"][2];
    assert_eq!(email_type["canonicalValues"], json!(["work", "home", "other"]));
    assert_eq!(
        user["meta"]["location"],
        "https://example.com/v2/Schemas/urn:ietf:params:scim:schemas:core:2.0:User"
    );
    assert_eq!(attribute("active").get("uniqueness"), None);
}

#[test]
fn schemas_of_resources_extensions_and_own_documents_are_all_listed_once() {
    let names: Vec<String> =
        schemas(BASE).iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["User", "EnterpriseUser", "Group", "ServiceProviderConfig", "ResourceType", "Schema"]);
    for schema in schemas(BASE) {
        assert_eq!(schema_document(BASE, schema["id"].as_str().unwrap()), Some(schema));
    }
    assert_eq!(schema_document(BASE, "urn:example:none"), None);
}

#[test]
fn names_differ_by_more_than_case_within_a_schema_and_an_attribute() {
    fn check(all: &[AttributeDef], of: &str) {
        let mut seen = HashSet::new();
        for one in all {
            assert!(seen.insert(one.name.to_ascii_lowercase()), "{of}: {}", one.name);
            assert_eq!(
                one.value_type == ValueType::Complex,
                !one.sub_attributes.is_empty(),
                "{of}: {}",
                one.name
            );
            check(one.sub_attributes, one.name);
        }
    }
    for kind in ResourceKind::ALL {
        check(kind.schema().attributes, kind.name());
        kind.extensions().iter().for_each(|one| check(one.attributes, one.id));
    }
    SERVICE_SCHEMAS.iter().for_each(|one| check(one.attributes, one.id));
    check(COMMON_ATTRIBUTES, "common");
}

#[test]
fn own_documents_have_only_attributes_of_their_schemas_and_all_that_are_required() {
    fn check(document: &Value, all: &[AttributeDef], of: &str) {
        let object = document.as_object().unwrap();
        for (key, value) in object {
            let Some(one) = find_in(all, key) else {
                assert!(["schemas", "id", "meta"].contains(&key.as_str()), "{of}: {key}");
                continue;
            };
            assert_eq!(value.is_array(), one.multi_valued, "{of}: {key}");
            if one.value_type == ValueType::Complex {
                let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
                values.iter().for_each(|value| check(value, one.sub_attributes, key));
            }
        }
        for one in all.iter().filter(|one| one.required) {
            assert!(object.contains_key(one.name), "{of} has no {}", one.name);
        }
    }
    fn find_in<'a>(all: &'a [AttributeDef], name: &str) -> Option<&'a AttributeDef> {
        all.iter().find(|one| one.name == name)
    }
    let [config, resource_type, schema] = SERVICE_SCHEMAS;
    check(&service_provider_config(BASE, Some("https://example.com/help")), config.attributes, config.name);
    resource_types(BASE).iter().for_each(|one| check(one, resource_type.attributes, resource_type.name));
    // Attributes are two levels deep; their sub-attributes have the same parts.
    schemas(BASE).iter().for_each(|one| {
        let mut flat = one.clone();
        for attribute in flat["attributes"].as_array_mut().unwrap() {
            attribute.as_object_mut().unwrap().remove("subAttributes");
        }
        check(&flat, schema.attributes, schema.name);
    });
}

#[test]
fn a_resource_type_has_its_endpoint_schema_and_extensions() {
    let user = resource_type(BASE, "User").unwrap();
    assert_eq!(user["endpoint"], "/Users");
    assert_eq!(
        user["schemaExtensions"],
        json!([{"schema": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User", "required": false}])
    );
    assert_eq!(user["meta"]["location"], "https://example.com/v2/ResourceTypes/User");
    assert_eq!(resource_type(BASE, "Device"), None);
}

#[test]
fn a_member_is_known_by_its_immutable_value_and_an_email_is_not() {
    let keyed = |kind: ResourceKind, name: &str| kind.attribute(name).unwrap().is_keyed();
    assert!(keyed(ResourceKind::Group, "members"));
    assert!(!keyed(ResourceKind::User, "emails") && !keyed(ResourceKind::User, "userName"));
    assert!(!ResourceKind::User.attribute("password").unwrap().is_readable());
}
