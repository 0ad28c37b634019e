use super::*;
use crate::limits::{MEMBERS_MAX, STRING_OCTETS_MAX, VALUES_MAX};
use crate::samples::{BARBARA, ENTERPRISE, enterprise_user, stored, tour_guides};
use serde_json::json;

const USER: ResourceKind = ResourceKind::User;
const GROUP: ResourceKind = ResourceKind::Group;

fn user(more: Value) -> Value {
    let mut user = json!({"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "bjensen"});
    user.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    user
}

#[test]
fn the_resources_of_section_8_are_read_without_what_is_read_only() {
    let read = check(USER, &enterprise_user()).unwrap();
    let mut expected = enterprise_user();
    for name in ["id", "meta", "groups"] {
        expected.as_object_mut().unwrap().remove(name);
    }
    expected[ENTERPRISE]["manager"].as_object_mut().unwrap().remove("displayName");
    assert_eq!(Value::Object(read.attributes), expected);
    assert_eq!(read.ignored, Ignored::default());
    let group = check(GROUP, &tour_guides()).unwrap().attributes;
    assert_eq!(group["members"].as_array().unwrap().len(), 2);
    assert_eq!(group["members"][0].get("display"), None);
}

#[test]
fn names_are_taken_in_any_case_and_unknown_ones_are_told() {
    let body = json!({
        "SCHEMAS": ["URN:ietf:params:scim:schemas:core:2.0:user", "urn:example:custom"],
        "USERNAME": "bjensen",
        "Name": {"FamilyName": "Jensen", "shoeSize": 3},
        "shoeSize": 3,
        "urn:example:custom": {"a": 1},
        "URN:IETF:params:scim:schemas:extension:enterprise:2.0:USER": {"Department": "Tours", "floor": 4},
    });
    let read = check(USER, &body).unwrap();
    let expected = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User", ENTERPRISE],
        "userName": "bjensen",
        "name": {"familyName": "Jensen"},
        ENTERPRISE: {"department": "Tours"},
    });
    assert_eq!(Value::Object(read.attributes), expected);
    let mut names = read.ignored.names;
    names.sort();
    assert_eq!(names, ["floor", "name.shoeSize", "shoeSize", "urn:example:custom"]);
    assert_eq!(read.ignored.count, 4);
}

#[test]
fn values_get_their_canonical_form() {
    for (given, expected) in [
        (json!({"active": "True"}), json!({"active": true})),
        (json!({"active": "false"}), json!({"active": false})),
        (
            json!({"emails": [{"value": " B@EXAMPLE.Com ", "type": "Work"}]}),
            json!({"emails": [{"value": "B@example.com", "type": "work"}]}),
        ),
        (
            json!({"emails": {"value": "a@b.c", "type": "club"}}),
            json!({"emails": [{"value": "a@b.c", "type": "club"}]}),
        ),
        (json!({"emails": ["a@b.c", "a@b.c"]}), json!({"emails": [{"value": "a@b.c"}]})),
        (json!({"emails": [], "name": {}, "title": null, "ims": [null, {}]}), json!({})),
        (
            json!({"phoneNumbers": [{"value": "tel:+1-201-555-0123"}]}),
            json!({"phoneNumbers": [{"value": "tel:+1-201-555-0123"}]}),
        ),
        (json!({"title": [{"$ref": null, "value": "Guide"}]}), json!({"title": "Guide"})),
        (
            json!({ENTERPRISE: {"manager": [{"$ref": null, "value": "7"}]}}),
            json!({ENTERPRISE: {"manager": {"value": "7"}}}),
        ),
        (json!({ENTERPRISE: {"manager": "7"}}), json!({ENTERPRISE: {"manager": {"value": "7"}}})),
        (json!({ENTERPRISE: null}), json!({})),
        (json!({"displayName": ""}), json!({"displayName": ""})),
    ] {
        let mut read =
            check(USER, &user(given.clone())).unwrap_or_else(|error| panic!("{given}: {error}")).attributes;
        read.remove("schemas");
        read.remove("userName");
        assert_eq!(Value::Object(read), expected, "{given}");
    }
}

#[test]
fn a_body_that_is_no_resource_is_refused_with_its_reason() {
    let core = "urn:ietf:params:scim:schemas:core:2.0:User";
    let many = |count: usize| -> Object { (0..count).map(|n| (format!("a{n}"), Value::Null)).collect() };
    for (body, scim_type, words) in [
        (json!([]), ScimType::InvalidSyntax, "not a JSON object"),
        (json!({"userName": "x"}), ScimType::InvalidSyntax, core),
        (json!({"schemas": [ENTERPRISE], "userName": "x"}), ScimType::InvalidSyntax, core),
        (json!({"schemas": [core]}), ScimType::InvalidValue, "userName is required"),
        (json!({"schemas": [core], "userName": " "}), ScimType::InvalidValue, "userName is required"),
        (json!({"schemas": [core], "userName": null}), ScimType::InvalidValue, "userName is required"),
        (json!({"schemas": [core], "userName": 3}), ScimType::InvalidValue, "userName is a string"),
        (user(json!({"active": "yes"})), ScimType::InvalidValue, "active is true or false"),
        (user(json!({"active": 1})), ScimType::InvalidValue, "active is true or false"),
        (user(json!({"name": "Barbara"})), ScimType::InvalidValue, "name is an object"),
        (user(json!({"title": ["a", "b"]})), ScimType::InvalidValue, "one value only"),
        (user(json!({"emails": [3]})), ScimType::InvalidValue, "emails is an object"),
        (
            user(
                json!({"emails": [{"value": "a@b.c", "primary": true}, {"value": "b@b.c", "primary": true}]}),
            ),
            ScimType::InvalidValue,
            "more than one primary",
        ),
        (user(json!({"x509Certificates": [{"value": "?"}]})), ScimType::InvalidValue, "base64"),
        (user(json!({"title": "a\u{0}b"})), ScimType::InvalidValue, "U+0000"),
        (user(json!({"title": "x".repeat(STRING_OCTETS_MAX + 1)})), ScimType::InvalidValue, "at most"),
        (
            user(json!({"emails": vec![json!({"value": "a@b.c"}); VALUES_MAX + 1]})),
            ScimType::TooMany,
            "201 values",
        ),
        (user(json!({"USERNAME": "x"})), ScimType::InvalidSyntax, "twice"),
        (user(json!({"name": {"givenName": "a", "GivenName": "b"}})), ScimType::InvalidSyntax, "twice"),
        (user(json!({ENTERPRISE: "x"})), ScimType::InvalidValue, "not an object"),
        (user(many(ATTRIBUTES_MAX).into()), ScimType::InvalidSyntax, "more than 200"),
        (user(json!({ENTERPRISE: many(ATTRIBUTES_MAX + 1)})), ScimType::InvalidSyntax, "more than 200"),
        (user(json!({"name": many(ATTRIBUTES_MAX + 1)})), ScimType::InvalidSyntax, "more than 200"),
    ] {
        let error = check(USER, &body).unwrap_err();
        assert_eq!(error.scim_type, Some(scim_type), "{error}");
        assert!(error.detail.contains(words), "{words}: {error}");
    }
}

#[test]
fn a_group_has_members_up_to_their_limit_each_once() {
    let group = |members: Value| json!({"schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"], "displayName": "g", "members": members});
    let numbered =
        |count: usize| (0..count).map(|n| json!({"value": n.to_string()})).collect::<Vec<_>>().into();
    let read = check(GROUP, &group(numbered(MEMBERS_MAX))).unwrap();
    assert_eq!(read.attributes["members"].as_array().unwrap().len(), MEMBERS_MAX);
    assert_eq!(
        check(GROUP, &group(numbered(MEMBERS_MAX + 1))).unwrap_err().scim_type,
        Some(ScimType::TooMany)
    );
    let twice = json!([{"value": "a", "type": "user"}, {"value": "a"}, {"value": "A"}, "b"]);
    let read = check(GROUP, &group(twice)).unwrap().attributes;
    assert_eq!(read["members"], json!([{"value": "a", "type": "User"}, {"value": "A"}, {"value": "b"}]));
    let error = check(GROUP, &group(json!([{"$ref": "https://example.com/v2/Users/1"}]))).unwrap_err();
    assert!(error.detail.contains("needs a `value`"), "{error}");
}

#[test]
fn a_put_keeps_what_its_client_cannot_send_and_clears_what_it_leaves_out() {
    let new = check(USER, &user(json!({"id": "other", "groups": [], "title": "Manager"}))).unwrap();
    let after = replace(USER, &stored(USER), new).unwrap();
    assert_eq!(after["id"], BARBARA);
    assert_eq!(after["title"], "Manager");
    assert_eq!(after["password"], "t1meMa$heen");
    assert_eq!(after["groups"].as_array().unwrap().len(), 2);
    assert_eq!(after["schemas"], json!(["urn:ietf:params:scim:schemas:core:2.0:User"]));
    assert!(!after.contains_key("emails") && !after.contains_key(ENTERPRISE));
}

fn projected(kind: ResourceKind, attributes: Option<&str>, excluded: Option<&str>) -> Value {
    Projection::read(attributes, excluded).unwrap().apply(kind, &stored(kind)).into()
}

#[test]
fn an_answer_has_what_is_returned_by_default_and_never_a_password() {
    let mut expected = Value::Object(stored(USER));
    expected.as_object_mut().unwrap().remove("password");
    assert_eq!(projected(USER, None, None), expected);
    assert_eq!(projected(USER, Some(""), Some(" , ")), expected);
    assert_eq!(projected(USER, Some("password"), None).get("password"), None);
}

#[test]
fn attributes_choose_what_is_returned_beside_id_and_schemas() {
    for (names, expected) in [
        ("userName", json!({"userName": "bjensen@example.com"})),
        (
            "USERNAME, name.familyname",
            json!({"userName": "bjensen@example.com", "name": {"familyName": "Jensen"}}),
        ),
        ("emails.value", json!({"emails": [{"value": "bjensen@example.com"}, {"value": "babs@jensen.org"}]})),
        ("urn:ietf:params:scim:schemas:core:2.0:User:nickName", json!({"nickName": "Babs"})),
        (
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:division",
            json!({ENTERPRISE: {"division": "Theme Park"}}),
        ),
        ("shoeSize", json!({})),
        ("meta.version", json!({"meta": {"version": "W/\"3694e05e9dff591\""}})),
        ("addresses.primary", json!({"addresses": [{"primary": true}]})),
    ] {
        let mut answer = projected(USER, Some(names), None);
        let object = answer.as_object_mut().unwrap();
        assert_eq!(object.remove("id"), Some(json!(BARBARA)), "{names}");
        assert!(object.remove("schemas").is_some(), "{names}");
        assert_eq!(answer, expected, "{names}");
    }
    let whole = projected(USER, Some(ENTERPRISE), None);
    assert_eq!(whole[ENTERPRISE], Value::Object(stored(USER))[ENTERPRISE]);
}

#[test]
fn excluded_attributes_are_left_out_but_for_those_always_returned() {
    let answer =
        projected(USER, None, Some(&format!("id,schemas,emails.type,name,{ENTERPRISE}:manager,title")));
    assert_eq!(answer["id"], BARBARA);
    assert_eq!(answer["emails"][1], json!({"value": "babs@jensen.org"}));
    assert_eq!((answer.get("name"), answer.get("title")), (None, None));
    assert_eq!(answer[ENTERPRISE].get("manager"), None);
    assert_eq!(answer[ENTERPRISE]["division"], "Theme Park");
    assert_eq!(projected(USER, None, Some(ENTERPRISE)).get(ENTERPRISE), None);
}

#[test]
fn the_names_of_members_are_returned_on_request() {
    let mut group = stored(GROUP);
    group["members"][0]["display"] = "Babs Jensen".into();
    let members = |attributes: Option<&str>, excluded: Option<&str>| {
        Projection::read(attributes, excluded).unwrap().apply(GROUP, &group).get("members").cloned()
    };
    assert_eq!(members(None, None).unwrap()[0].get("display"), None);
    assert_eq!(members(Some("members"), None).unwrap()[0].get("display"), None);
    assert_eq!(members(Some("members.display"), None), Some(json!([{"display": "Babs Jensen"}])));
    let both = members(Some("members,members.display"), None).unwrap();
    assert_eq!((&both[0]["display"], &both[0]["value"]), (&json!("Babs Jensen"), &json!(BARBARA)));
    assert_eq!(members(None, Some("members")), None);
    let includes = |excluded| Projection::read(None, excluded).unwrap().includes(GROUP, "members");
    assert!(includes(None) && includes(Some("members.type")) && !includes(Some("members")));
}

#[test]
fn both_lists_of_attributes_and_too_many_names_are_refused() {
    let error = Projection::read(Some("a"), Some("b")).unwrap_err();
    assert_eq!(error.scim_type, Some(ScimType::InvalidValue));
    let many = vec!["a"; crate::limits::PROJECTED_MAX + 1].join(",");
    assert_eq!(Projection::read(Some(&many), None).unwrap_err().scim_type, Some(ScimType::TooMany));
}
