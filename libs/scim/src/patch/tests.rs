use super::*;
use crate::limits::{MEMBERS_MAX, OPERATIONS_MAX, VALUES_MAX};
use crate::samples::{BARBARA, ENTERPRISE, MANDY, stored};
use crate::{ScimType, samples};
use serde_json::json;

const USER: ResourceKind = ResourceKind::User;
const GROUP: ResourceKind = ResourceKind::Group;
const JAMES: &str = "08e1d05d-121c-4561-8b96-473d93df9210";

fn patch(kind: ResourceKind, operations: Value) -> Result<PatchedResource, ScimError> {
    let body = json!({"schemas": [PATCH_SCHEMA], "Operations": operations});
    PatchRequest::read(kind, &body)?.apply(&stored(kind))
}

fn patched(kind: ResourceKind, operations: Value) -> Value {
    let after = patch(kind, operations.clone()).unwrap_or_else(|error| panic!("{operations}: {error}"));
    assert_eq!(after.is_changed, after.attributes != stored(kind), "{operations}");
    after.attributes.into()
}

fn refused(kind: ResourceKind, operations: Value) -> Option<ScimType> {
    match patch(kind, operations.clone()) {
        Ok(_) => panic!("{operations} is taken"),
        Err(error) => {
            assert_eq!(error.status, 400);
            error.scim_type
        }
    }
}

fn member_values(group: &Value) -> Vec<&str> {
    group["members"]
        .as_array()
        .map_or(Vec::new(), |all| all.iter().map(|one| one["value"].as_str().unwrap()).collect())
}

#[test]
fn the_add_of_section_3_5_2_1_adds_a_member_once() {
    let add = json!([{
        "op": "add", "path": "members",
        "value": [{
            "display": "Babs Jensen", "value": JAMES,
            "$ref": "https://example.com/v2/Users/08e1d05d-121c-4561-8b96-473d93df9210"
        }]
    }]);
    let group = patched(GROUP, add);
    assert_eq!(member_values(&group), [BARBARA, MANDY, JAMES]);
    let again = patch(GROUP, json!([{"op": "add", "path": "members", "value": [{"value": MANDY}]}])).unwrap();
    assert!(!again.is_changed);
}

#[test]
fn the_add_without_a_path_of_section_3_5_2_1_adds_each_attribute() {
    let user = patched(
        USER,
        json!([{
            "op": "add",
            "value": {"emails": [{"value": "babs@example.net", "type": "other"}], "nickname": "Barb"}
        }]),
    );
    assert_eq!(user["nickName"], "Barb");
    assert_eq!(user["emails"].as_array().unwrap().len(), 3);
}

#[test]
fn the_removals_of_section_3_5_2_2_remove_values() {
    let one = patched(GROUP, json!([{"op": "remove", "path": format!("members[value eq \"{BARBARA}\"]")}]));
    assert_eq!(member_values(&one), [MANDY]);
    assert_eq!(patched(GROUP, json!([{"op": "remove", "path": "members"}])).get("members"), None);
    let operations = json!([
        {"op": "remove", "path": format!("members[value eq \"{BARBARA}\"]")},
        {"op": "add", "path": "members", "value": [{"display": "James Smith", "value": JAMES}]}
    ]);
    assert_eq!(member_values(&patched(GROUP, operations)), [MANDY, JAMES]);
    let emails = json!([{"op": "remove", "path": "emails[type eq \"work\" and value ew \"example.com\"]"}]);
    assert_eq!(patched(USER, emails)["emails"], json!([{"value": "babs@jensen.org", "type": "home"}]));
}

#[test]
fn the_replacements_of_section_3_5_2_3_replace_values() {
    let members =
        json!([{"op": "replace", "path": "members", "value": [{"value": JAMES}, {"value": BARBARA}]}]);
    assert_eq!(member_values(&patched(GROUP, members)), [JAMES, BARBARA]);
    let address = json!({
        "type": "work", "streetAddress": "911 Universal City Plaza", "locality": "Hollywood", "region": "CA",
        "postalCode": "91608", "country": "US", "primary": true,
        "formatted": "911 Universal City Plaza\nHollywood, CA 91608 US"
    });
    let user =
        patched(USER, json!([{"op": "replace", "path": "addresses[type eq \"work\"]", "value": address}]));
    assert_eq!(user["addresses"][0], address);
    assert_eq!(user["addresses"][1]["type"], "home");
    let street = json!([{
        "op": "replace", "path": "addresses[type eq \"work\"].streetAddress", "value": "1010 Broadway Ave"
    }]);
    let user = patched(USER, street);
    assert_eq!(user["addresses"][0]["streetAddress"], "1010 Broadway Ave");
    assert_eq!(user["addresses"][0]["locality"], "Hollywood");
    let whole = json!([{
        "op": "replace",
        "value": {"emails": [{"value": "b@example.com", "type": "work", "primary": true}], "nickname": "Babs"}
    }]);
    assert_eq!(patched(USER, whole)["emails"].as_array().unwrap().len(), 1);
}

#[test]
fn single_attributes_and_their_parts_change_alone() {
    for (operation, path, expected) in [
        (json!({"op": "add", "path": "title", "value": "Boss"}), "/title", json!("Boss")),
        (json!({"op": "replace", "path": "TITLE", "value": "Boss"}), "/title", json!("Boss")),
        (json!({"op": "remove", "path": "title"}), "/title", Value::Null),
        (json!({"op": "replace", "path": "title", "value": null}), "/title", Value::Null),
        (json!({"op": "add", "path": "title", "value": null}), "/title", json!("Tour Guide")),
        (json!({"op": "remove", "path": "entitlements"}), "/entitlements", Value::Null),
        (
            json!({"op": "replace", "path": "name", "value": {"givenName": "B"}}),
            "/name/familyName",
            json!("Jensen"),
        ),
        (json!({"op": "replace", "path": "name.givenName", "value": "B"}), "/name/givenName", json!("B")),
        (json!({"op": "remove", "path": "name.givenName"}), "/name/givenName", Value::Null),
        (json!({"op": "remove", "path": "name"}), "/name", Value::Null),
        (json!({"op": "remove", "path": "emails[type eq \"home\"].value"}), "/emails/1", Value::Null),
        (json!({"op": "remove", "path": "emails.type"}), "/emails/1/type", Value::Null),
        (json!({"op": "replace", "path": "emails.type", "value": "other"}), "/emails/1/type", json!("other")),
        (
            json!({"op": "add", "path": "emails[type eq \"home\"]", "value": {"display": "x"}}),
            "/emails/1/value",
            json!("babs@jensen.org"),
        ),
        (
            json!({"op": "add", "path": "emails[type eq \"club\"].value", "value": "a@b.c"}),
            "/emails/2",
            json!({"type": "club", "value": "a@b.c"}),
        ),
        (
            json!({"op": "add", "path": "roles[primary eq \"True\"].value", "value": "r"}),
            "/roles/0",
            json!({"primary": true, "value": "r"}),
        ),
        (json!({"op": "replace", "path": "password", "value": "x"}), "/password", json!("x")),
        (json!({"op": "replace", "path": "emails", "value": []}), "/emails", Value::Null),
    ] {
        let user = patched(USER, json!([operation]));
        assert_eq!(user.pointer(path).cloned().unwrap_or(Value::Null), expected, "{operation}");
    }
}

#[test]
fn an_extension_is_reached_by_its_urn_and_leaves_schemas_when_it_is_empty() {
    let division = format!("{ENTERPRISE}:division");
    let user = patched(USER, json!([{"op": "replace", "path": division, "value": "Rides"}]));
    assert_eq!(
        (&user[ENTERPRISE]["division"], &user[ENTERPRISE]["costCenter"]),
        (&json!("Rides"), &json!("4130"))
    );
    let user =
        patched(USER, json!([{"op": "add", "path": ENTERPRISE, "value": {"division": "Rides", "floor": 4}}]));
    assert_eq!(
        (&user[ENTERPRISE]["division"], &user[ENTERPRISE]["costCenter"]),
        (&json!("Rides"), &json!("4130"))
    );
    let user = patched(USER, json!([{"op": "remove", "path": format!("{ENTERPRISE}:manager.value")}]));
    assert_eq!(user[ENTERPRISE]["manager"].get("value"), None);
    for operation in [
        json!({"op": "remove", "path": ENTERPRISE}),
        json!({"op": "replace", "path": ENTERPRISE, "value": null}),
    ] {
        let user = patched(USER, json!([operation]));
        assert_eq!(user.get(ENTERPRISE), None);
        assert_eq!(user["schemas"], json!(["urn:ietf:params:scim:schemas:core:2.0:User"]));
    }
    let back = json!([{"op": "remove", "path": ENTERPRISE}, {"op": "add", "path": division, "value": "x"}]);
    assert_eq!(patched(USER, back)["schemas"].as_array().unwrap().len(), 2);
}

#[test]
fn a_new_primary_value_takes_the_place_of_the_one_before() {
    let add = json!([{"op": "add", "path": "emails", "value": {"value": "c@example.com", "primary": true}}]);
    let user = patched(USER, add);
    let primary: Vec<Option<bool>> = user["emails"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.get("primary").and_then(Value::as_bool))
        .collect();
    assert_eq!(primary, [Some(false), None, Some(true)]);
    let set = json!([{"op": "replace", "path": "emails[type eq \"home\"].primary", "value": "True"}]);
    let user = patched(USER, set);
    assert_eq!((&user["emails"][0]["primary"], &user["emails"][1]["primary"]), (&json!(false), &json!(true)));
    let both = json!([{"op": "replace", "path": "emails.primary", "value": true}]);
    assert_eq!(refused(USER, both), Some(ScimType::InvalidValue));
}

#[test]
fn values_that_become_the_same_are_kept_once() {
    let operations = json!([
        {"op": "replace", "path": "phoneNumbers.type", "value": "home"},
        {"op": "replace", "path": "phoneNumbers.value", "value": "112"}
    ]);
    assert_eq!(patched(USER, operations)["phoneNumbers"], json!([{"value": "112", "type": "home"}]));
}

#[test]
fn a_path_that_finds_nothing_or_is_none_is_refused() {
    use ScimType::*;
    for (kind, operation, scim_type) in [
        (USER, json!({"op": "remove"}), NoTarget),
        (USER, json!({"op": "remove", "path": ""}), NoTarget),
        (USER, json!({"op": "remove", "path": "ims[type eq \"icq\"]"}), NoTarget),
        (
            USER,
            json!({"op": "replace", "path": "emails[type eq \"club\"].value", "value": "a@b.c"}),
            NoTarget,
        ),
        (
            USER,
            json!({"op": "replace", "path": "emails[type eq \"club\"]", "value": {"value": "a@b.c"}}),
            NoTarget,
        ),
        (
            USER,
            json!({"op": "add", "path": "emails[type ne \"club\" and value sw \"q\"].value", "value": "a@b.c"}),
            NoTarget,
        ),
        (USER, json!({"op": "add", "path": "roles.value", "value": "r"}), NoTarget),
        (USER, json!({"op": "add", "path": "shoeSize", "value": 3}), InvalidPath),
        (USER, json!({"op": "add", "path": "name.shoeSize", "value": 3}), InvalidPath),
        (USER, json!({"op": "add", "path": "emails[shoeSize eq 3].value", "value": "x"}), InvalidPath),
        (USER, json!({"op": "add", "path": "emails[type eq \"work\"", "value": "x"}), InvalidPath),
        (USER, json!({"op": "add", "path": "emails[type eq \"work\"].value.x", "value": "x"}), InvalidPath),
        (USER, json!({"op": "add", "path": "emails[type eq \"work\"]value", "value": "x"}), InvalidPath),
        (USER, json!({"op": "add", "path": "userName[type eq \"work\"]", "value": "x"}), InvalidPath),
        (USER, json!({"op": "add", "path": "name[type eq \"work\"]", "value": "x"}), InvalidPath),
        (USER, json!({"op": "add", "path": "urn:example:User:title", "value": "x"}), InvalidPath),
        (USER, json!({"op": "add", "path": "emails.value[type eq \"work\"]", "value": "x"}), InvalidPath),
        (USER, json!({"op": "add", "path": "x".repeat(5_000), "value": "x"}), InvalidPath),
        (USER, json!({"op": "add", "path": 3, "value": "x"}), InvalidPath),
        (GROUP, json!({"op": "add", "path": "userName", "value": "x"}), InvalidPath),
    ] {
        assert_eq!(refused(kind, json!([operation])), Some(scim_type), "{operation}");
    }
}

#[test]
fn a_change_that_an_attribute_does_not_take_is_refused() {
    use ScimType::*;
    for (kind, operation, scim_type) in [
        (USER, json!({"op": "replace", "path": "id", "value": "x"}), Mutability),
        (USER, json!({"op": "remove", "path": "meta.version"}), Mutability),
        (USER, json!({"op": "add", "path": "groups", "value": [{"value": "x"}]}), Mutability),
        (USER, json!({"op": "add", "path": "schemas", "value": ["urn:x"]}), Mutability),
        (USER, json!({"op": "remove", "path": "userName"}), Mutability),
        (USER, json!({"op": "add", "path": "manager.displayName", "value": "x"}), Mutability),
        (GROUP, json!({"op": "remove", "path": "displayName"}), Mutability),
        (GROUP, json!({"op": "replace", "path": "members.value", "value": "x"}), Mutability),
        (
            GROUP,
            json!({"op": "replace", "path": format!("members[value eq \"{BARBARA}\"].value"), "value": "x"}),
            Mutability,
        ),
        (
            GROUP,
            json!({"op": "replace", "path": format!("members[value eq \"{BARBARA}\"]"), "value": {"value": "x"}}),
            Mutability,
        ),
        (USER, json!({"op": "replace", "path": "userName", "value": null}), InvalidValue),
        (USER, json!({"op": "replace", "path": "userName", "value": ""}), InvalidValue),
        (USER, json!({"op": "replace", "path": "userName"}), InvalidValue),
        (USER, json!({"op": "replace", "path": "active", "value": "maybe"}), InvalidValue),
        (USER, json!({"op": "add", "path": "name", "value": "x"}), InvalidValue),
        (USER, json!({"op": "add", "value": "x"}), InvalidValue),
        (USER, json!({"op": "add", "path": ENTERPRISE, "value": "x"}), InvalidValue),
        (
            USER,
            json!({"op": "replace", "path": "emails[type eq \"work\"]", "value": [{"value": "a"}, {"value": "b"}]}),
            InvalidValue,
        ),
        (USER, json!({"op": "replace", "path": "emails[type eq \"work\"]", "value": null}), InvalidValue),
        (GROUP, json!({"op": "add", "path": "members", "value": [{"$ref": "x"}]}), InvalidValue),
        (USER, json!({"op": "move", "path": "title", "value": "x"}), InvalidSyntax),
        (USER, json!({"path": "title", "value": "x"}), InvalidSyntax),
        (USER, json!("add"), InvalidSyntax),
    ] {
        assert_eq!(refused(kind, json!([operation])), Some(scim_type), "{operation}");
    }
}

#[test]
fn a_body_that_is_no_patch_is_refused() {
    let schemas = json!([PATCH_SCHEMA]);
    let many = vec![json!({"op": "remove", "path": "title"}); OPERATIONS_MAX + 1];
    for body in [
        json!([]),
        json!({"Operations": [{"op": "remove", "path": "title"}]}),
        json!({"schemas": ["urn:x"], "Operations": [{"op": "remove", "path": "title"}]}),
        json!({"schemas": schemas}),
        json!({"schemas": schemas, "Operations": {}}),
        json!({"schemas": schemas, "Operations": []}),
        json!({"schemas": schemas, "Operations": many}),
    ] {
        let error = PatchRequest::read(USER, &body).unwrap_err();
        assert_eq!(error.scim_type, Some(ScimType::InvalidSyntax), "{error}");
    }
}

#[test]
fn an_error_names_its_operation_and_nothing_of_the_patch_is_done() {
    let operations = json!([
        {"op": "replace", "path": "title", "value": "Boss"},
        {"op": "replace", "path": "emails[type eq \"club\"].value", "value": "a@b.c"}
    ]);
    let before = stored(USER);
    let body = json!({"schemas": [PATCH_SCHEMA], "Operations": operations});
    assert!(PatchRequest::read(USER, &body).unwrap().apply(&before).is_err());
    assert_eq!(before, stored(USER));
    let body = json!({"schemas": [PATCH_SCHEMA], "Operations": [
        {"op": "add", "path": "title", "value": "x"}, {"op": "add", "path": "shoeSize", "value": "x"}
    ]});
    let error = PatchRequest::read(USER, &body).unwrap_err();
    assert!(error.detail.starts_with("operation 2: \"shoeSize\""), "{error}");
}

#[test]
fn values_are_counted_after_each_change() {
    let emails: Vec<Value> = (0..VALUES_MAX).map(|n| json!({"value": format!("{n}@example.com")})).collect();
    assert_eq!(
        refused(USER, json!([{"op": "add", "path": "emails", "value": emails}])),
        Some(ScimType::TooMany)
    );
    assert!(patch(USER, json!([{"op": "replace", "path": "emails", "value": emails}])).is_ok());
    let members: Vec<Value> = (0..MEMBERS_MAX).map(|n| json!({"value": n.to_string()})).collect();
    assert_eq!(
        refused(GROUP, json!([{"op": "add", "path": "members", "value": members}])),
        Some(ScimType::TooMany)
    );
}

#[test]
fn members_that_are_changed_one_by_one_in_a_row_cost_one_look_at_the_group() {
    let members: Vec<Value> = (0..MEMBERS_MAX).map(|n| json!({"value": n.to_string()})).collect();
    let mut group = stored(GROUP);
    group.insert("members".to_owned(), members.into());
    let remove = |n: usize| json!({"op": "remove", "path": format!("members[value eq \"{n}\"]")});
    let add = |n: usize| json!({"op": "add", "path": "members", "value": [{"value": format!("new {n}")}]});
    let body = |operations: Vec<Value>| json!({"schemas": [PATCH_SCHEMA], "Operations": operations});
    let in_a_row = body((0..500).map(remove).chain((0..500).map(add)).collect());
    let request = PatchRequest::read(GROUP, &in_a_row).unwrap();
    assert_eq!(request.member_changes().unwrap().len(), 2);
    let after = request.apply(&group).unwrap().attributes;
    assert_eq!(after["members"].as_array().unwrap().len(), MEMBERS_MAX);
    let by_turns = body((0..500).flat_map(|n| [remove(n), add(n)]).collect());
    let error = PatchRequest::read(GROUP, &by_turns).unwrap().apply(&group).unwrap_err();
    assert_eq!(error.scim_type, Some(ScimType::TooMany));
}

#[test]
fn a_patch_of_members_alone_is_told_as_such() {
    let changes = |operations: Value| {
        let body = json!({"schemas": [PATCH_SCHEMA], "Operations": operations});
        let request = PatchRequest::read(GROUP, &body).unwrap();
        request.member_changes().map(|all| format!("{all:?}"))
    };
    let operations = json!([
        {"op": "add", "path": "members", "value": [{"value": "a"}, {"value": "b"}]},
        {"op": "Add", "value": {"members": [{"value": "c"}]}},
        {"op": "remove", "path": "members[value eq \"d\"]"},
        {"op": "remove", "path": "members", "value": [{"value": "e"}]}
    ]);
    let expected = "[Add([\"a\", \"b\", \"c\"]), Remove([\"d\", \"e\"])]";
    assert_eq!(changes(operations).as_deref(), Some(expected));
    for operation in [
        json!({"op": "replace", "path": "displayName", "value": "x"}),
        json!({"op": "replace", "path": "members", "value": [{"value": "a"}]}),
        json!({"op": "remove", "path": "members"}),
        json!({"op": "remove", "path": "members[type eq \"User\"]"}),
    ] {
        assert_eq!(changes(json!([operation])), None, "{operation}");
    }
    assert_eq!(changes(json!([{"op": "remove", "path": "members", "value": []}])).as_deref(), Some("[]"));
}

#[test]
fn a_remove_that_lists_nothing_removes_nothing() {
    let after = patch(GROUP, json!([{"op": "remove", "path": "members", "value": []}])).unwrap();
    assert!(!after.is_changed);
    let absent = json!([{"op": "remove", "path": "members[value eq \"none\"]"}]);
    assert!(!patch(GROUP, absent).unwrap().is_changed);
    let by_type = json!([{"op": "remove", "path": "members[type eq \"Group\"]"}]);
    assert!(!patch(GROUP, by_type).unwrap().is_changed);
    let phone = json!([{"op": "remove", "path": "phoneNumbers", "value": [{"type": "work"}]}]);
    assert_eq!(patched(USER, phone)["phoneNumbers"].as_array().unwrap().len(), 1);
    assert_eq!(samples::tour_guides()["displayName"], "Tour Guides");
}
