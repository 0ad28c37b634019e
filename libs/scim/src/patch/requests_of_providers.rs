//! Requests that Entra ID and Okta send, as their documentation shows them.

use crate::filter::{FilterExpr, IndexKey};
use crate::list::ListQuery;
use crate::patch::{PatchRequest, PatchedResource};
use crate::samples::{BARBARA, ENTERPRISE, MANDY, stored};
use crate::{ResourceKind, resource};
use serde_json::{Value, json};

const USER: ResourceKind = ResourceKind::User;
const GROUP: ResourceKind = ResourceKind::Group;

fn patched(kind: ResourceKind, operations: Value) -> PatchedResource {
    let body =
        json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": operations});
    let request = PatchRequest::read(kind, &body).unwrap_or_else(|error| panic!("{operations}: {error}"));
    request.apply(&stored(kind)).unwrap_or_else(|error| panic!("{operations}: {error}"))
}

#[test]
fn entra_id_creates_a_user_and_a_group() {
    let user = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User", ENTERPRISE],
        "externalId": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
        "userName": "Test_User_ab6490ee-1e48-479e-a20b-2d77186b5dd1",
        "active": true,
        "emails": [{
            "primary": true, "type": "work", "value": "Test_User_fd0ea19b-0777-472c-9f96-4f70d2226f2e@testuser.com"
        }],
        "meta": {"resourceType": "User"},
        "name": {"formatted": "givenName familyName", "familyName": "familyName", "givenName": "givenName"},
        "roles": []
    });
    let read = resource::check(USER, &user).unwrap();
    assert_eq!(read.ignored.count, 0);
    assert_eq!(read.attributes["schemas"], json!(["urn:ietf:params:scim:schemas:core:2.0:User"]));
    assert_eq!(read.attributes["name"]["givenName"], "givenName");
    let group = json!({
        "schemas": [
            "urn:ietf:params:scim:schemas:core:2.0:Group",
            "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"
        ],
        "externalId": "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159",
        "displayName": "displayName",
        "members": [],
        "meta": {"resourceType": "Group"}
    });
    assert_eq!(resource::check(GROUP, &group).unwrap().attributes["displayName"], "displayName");
}

#[test]
fn entra_id_looks_resources_up() {
    for (kind, filter, key, is_whole) in [
        (USER, "userName eq \"Test_User_dfeef4c5-5681-4387-b016-bdf221e82081\"", IndexKey::UserName, true),
        (USER, "externalId eq \"0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef\"", IndexKey::ExternalId, true),
        (GROUP, "displayName eq \"displayName\"", IndexKey::DisplayName, true),
        (
            USER,
            "id eq \"54D382A4-2050-4C03-94D1-E769F1D15682\" and manager eq \"2819c223-7f76-453a-919d-413861904646\"",
            IndexKey::Id,
            false,
        ),
    ] {
        let query =
            ListQuery::from_parameters(&[kind], [("excludedAttributes", "members"), ("filter", filter)]);
        let filter = query.unwrap().filter.unwrap();
        let found = filter.index_lookup(kind).unwrap();
        assert_eq!((found.key, found.is_whole), (key, is_whole), "{filter}");
    }
    let by_mail = FilterExpr::parse("emails[type eq \"work\"].value eq \"bjensen@example.com\"").unwrap();
    assert!(by_mail.matches(USER, &stored(USER)));
}

#[test]
fn entra_id_changes_attributes_of_a_user() {
    let operations = json!([
        {"op": "Replace", "path": "emails[type eq \"work\"].value", "value": "updatedEmail@microsoft.com"},
        {"op": "Replace", "path": "name.familyName", "value": "updatedFamilyName"},
        {"op": "Replace", "path": "userName", "value": "5b50642d-79fc-4410-9e90-4c077cdd1a59@testuser.com"},
        {"op": "Add", "path": "phoneNumbers[type eq \"fax\"].value", "value": "555-555-3333"},
        {"op": "Add", "path": "roles[primary eq \"True\"].value", "value": "Reader"}
    ]);
    let user = patched(USER, operations).attributes;
    assert_eq!(user["emails"][0]["value"], "updatedEmail@microsoft.com");
    assert_eq!(user["name"]["familyName"], "updatedFamilyName");
    assert_eq!(user["userName"], "5b50642d-79fc-4410-9e90-4c077cdd1a59@testuser.com");
    assert_eq!(user["phoneNumbers"][2], json!({"type": "fax", "value": "555-555-3333"}));
    assert_eq!(user["roles"], json!([{"primary": true, "value": "Reader"}]));
}

#[test]
fn entra_id_disables_a_user_by_a_boolean_or_a_string() {
    for value in [json!(false), json!("False")] {
        let user = patched(USER, json!([{"op": "Replace", "path": "active", "value": value}]));
        assert_eq!(user.attributes["active"], false, "{value}");
    }
}

#[test]
fn entra_id_sends_dotted_names_and_urns_without_a_path() {
    let urn = |name: &str| format!("{ENTERPRISE}:{name}");
    let operations = json!([{
        "op": "replace",
        "value": {
            "displayName": "Bjfe",
            "name.givenName": "Kim",
            "emails[type eq \"work\"].value": "kim@example.com",
            "emails[type eq \"other\"].value": "kim@example.net",
            urn("department"): "Sales",
            urn("manager"): {"value": "7"},
            "customAttribute": "x"
        }
    }]);
    let user = patched(USER, operations).attributes;
    assert_eq!((&user["displayName"], &user["name"]["givenName"]), (&json!("Bjfe"), &json!("Kim")));
    assert_eq!(user["emails"][0]["value"], "kim@example.com");
    assert_eq!(user["emails"][2], json!({"type": "other", "value": "kim@example.net"}));
    assert_eq!(user[ENTERPRISE]["department"], "Sales");
    assert_eq!(user[ENTERPRISE]["manager"]["value"], "7");
    assert_eq!(user["name"]["familyName"], "Jensen");
}

#[test]
fn entra_id_sets_and_removes_a_manager() {
    let set = json!([{
        "op": "Add", "path": "manager",
        "value": [{"$ref": "https://example.com/scim/Users/2819c223", "value": "2819c223"}]
    }]);
    assert_eq!(patched(USER, set).attributes[ENTERPRISE]["manager"]["value"], "2819c223");
    let by_urn = json!([{"op": "Add", "path": format!("{ENTERPRISE}:manager"), "value": "2819c223"}]);
    assert_eq!(patched(USER, by_urn).attributes[ENTERPRISE]["manager"]["value"], "2819c223");
    let remove = json!([{"op": "Remove", "path": "manager", "value": [{"value": "2819c223"}]}]);
    assert_eq!(patched(USER, remove).attributes[ENTERPRISE].get("manager"), None);
}

#[test]
fn entra_id_renames_a_group_and_changes_its_members() {
    let name = patched(GROUP, json!([{"op": "Replace", "path": "displayName", "value": "1879db59"}]));
    assert_eq!(name.attributes["displayName"], "1879db59");
    let member = json!([{"$ref": null, "value": "f648f8d5ea4e4cd38e9c"}]);
    let added = patched(GROUP, json!([{"op": "Add", "path": "members", "value": member}])).attributes;
    assert_eq!(added["members"][2], json!({"value": "f648f8d5ea4e4cd38e9c"}));
    let removed = json!([{"op": "Remove", "path": "members", "value": [{"$ref": null, "value": BARBARA}]}]);
    let left = patched(GROUP, removed).attributes;
    assert_eq!((left["members"].as_array().unwrap().len(), &left["members"][0]["value"]), (1, &json!(MANDY)));
}

#[test]
fn okta_creates_finds_and_replaces_a_user() {
    let body = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
        "userName": "test.user@okta.local",
        "name": {"givenName": "Test", "familyName": "User"},
        "emails": [{"primary": true, "value": "test.user@okta.local", "type": "work"}],
        "displayName": "Test User",
        "locale": "en-US",
        "externalId": "00ujl29u0le5T6Aj10h7",
        "groups": [],
        "password": "1mz050nq",
        "active": true
    });
    let read = resource::check(USER, &body).unwrap();
    assert_eq!((read.attributes["active"].clone(), read.ignored.count), (json!(true), 0));
    let parameters =
        [("filter", "userName eq \"test.user@okta.local\""), ("startIndex", "1"), ("count", "100")];
    let query = ListQuery::from_parameters(&[USER], parameters).unwrap();
    assert!(query.filter.unwrap().matches(USER, &read.attributes));
    let after = resource::replace(USER, &stored(USER), read).unwrap();
    assert_eq!((&after["id"], &after["userName"]), (&json!(BARBARA), &json!("test.user@okta.local")));
}

#[test]
fn okta_deactivates_a_user_without_a_path() {
    let user = patched(USER, json!([{"op": "replace", "value": {"active": false}}]));
    assert_eq!(user.attributes["active"], false);
}

#[test]
fn okta_renames_a_group_with_its_id_in_the_value() {
    let value = json!({"id": "abf4dd94-a4c0-4f67-89c9-76b03340cb9b", "displayName": "Test SCIMv2"});
    let group = patched(GROUP, json!([{"op": "replace", "value": value}])).attributes;
    assert_eq!(group["displayName"], "Test SCIMv2");
    assert_eq!(group["id"], stored(GROUP)["id"]);
}

#[test]
fn okta_changes_members_in_one_request() {
    let operations = json!([
        {"op": "remove", "path": format!("members[value eq \"{BARBARA}\"]")},
        {"op": "add", "path": "members", "value": [
            {"value": "23a35c27-23d3-4c03-b4c5-6443c09e7173", "display": "test.user@okta.local"}
        ]}
    ]);
    let group = patched(GROUP, operations).attributes;
    let values: Vec<&Value> = group["members"].as_array().unwrap().iter().map(|one| &one["value"]).collect();
    assert_eq!(values, [MANDY, "23a35c27-23d3-4c03-b4c5-6443c09e7173"]);
    let push =
        json!([{"op": "replace", "path": "members", "value": [{"value": MANDY, "display": "m@okta.local"}]}]);
    assert_eq!(patched(GROUP, push).attributes["members"], json!([{"value": MANDY}]));
}
