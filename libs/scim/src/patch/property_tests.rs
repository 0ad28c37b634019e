use super::*;
use crate::samples::{ENTERPRISE, stored};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::json;

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
        Just(Value::from("True")),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let name = prop_oneof![
            Just("value".to_owned()),
            Just("type".to_owned()),
            Just("primary".to_owned()),
            Just("emails".to_owned()),
            Just("members".to_owned()),
            Just("name.givenName".to_owned()),
            Just("userName".to_owned()),
            Just(ENTERPRISE.to_owned()),
            Just("manager".to_owned()),
            ".{0,4}",
        ];
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((name, inner), 0..4).prop_map(|all| Value::Object(all.into_iter().collect())),
        ]
    })
}

fn path() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("emails"),
        Just("members"),
        Just("name"),
        Just("userName"),
        Just("active"),
        Just("roles"),
        Just("displayName"),
        Just("manager"),
        Just("id"),
        Just("addresses"),
        Just(ENTERPRISE),
        Just("password"),
    ];
    let filter = prop_oneof![
        Just("[type eq \"work\"]"),
        Just("[value eq \"a\"]"),
        Just("[primary eq true and type pr]"),
        Just("[not (type eq \"x\")]"),
        Just("[x"),
        Just(""),
    ];
    let sub = prop_oneof![
        Just(""),
        Just(".value"),
        Just(".type"),
        Just(".primary"),
        Just(".givenName"),
        Just(".x")
    ];
    (name, filter, sub).prop_map(|(name, filter, sub)| format!("{name}{filter}{sub}"))
}

fn operation() -> impl Strategy<Value = Value> {
    let op = prop_oneof![Just("add"), Just("Replace"), Just("REMOVE"), Just("x")];
    (op, option::of(path()), option::of(json_value())).prop_map(|(op, path, value)| {
        let mut operation = json!({"op": op});
        if let Some(path) = path {
            operation["path"] = path.into();
        }
        if let Some(value) = value {
            operation["value"] = value;
        }
        operation
    })
}

fn read(kind: ResourceKind, operations: Value) -> Result<PatchRequest, ScimError> {
    PatchRequest::read(kind, &json!({"schemas": [PATCH_SCHEMA], "Operations": operations}))
}

fn kind() -> impl Strategy<Value = ResourceKind> {
    prop_oneof![Just(ResourceKind::User), Just(ResourceKind::Group)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(512)))]

    /// Read-only attributes stay, required ones remain, and the result is a resource that a POST would take.
    #[test]
    fn a_patch_is_refused_or_leaves_a_resource(kind in kind(), operations in vec(operation(), 1..4)) {
        let before = stored(kind);
        let after = read(kind, operations.into()).and_then(|request| request.apply(&before));
        let Ok(after) = after else { return Ok(()) };
        for name in ["id", "meta", "groups"] {
            prop_assert_eq!(after.attributes.get(name), before.get(name));
        }
        let again = crate::resource::check(kind, &after.attributes.clone().into());
        let again = again.and_then(|read| crate::resource::replace(kind, &after.attributes, read));
        prop_assert_eq!(again, Ok(after.attributes));
    }

    #[test]
    fn members_that_are_added_and_removed_leave_the_group_as_it_was(keys in vec("[a-z]{1,6}", 1..20), by_path: bool) {
        let before = stored(ResourceKind::Group);
        let members: Vec<Value> = keys.iter().map(|key| json!({"value": key})).collect();
        let mut operations = vec![json!({"op": "add", "path": "members", "value": members})];
        if by_path {
            let remove = |key: &String| json!({"op": "remove", "path": format!("members[value eq \"{key}\"]")});
            operations.extend(keys.iter().map(remove));
        } else {
            operations.push(json!({"op": "remove", "path": "members", "value": members}));
        }
        let after = read(ResourceKind::Group, operations.into()).unwrap().apply(&before).unwrap();
        prop_assert!(!after.is_changed);
        prop_assert_eq!(after.attributes, before);
    }

    #[test]
    fn an_email_that_is_added_and_removed_leaves_the_user_as_it_was(local in "[a-z]{1,9}", label in "x[a-z]{1,9}") {
        let before = stored(ResourceKind::User);
        let operations = json!([
            {"op": "add", "path": format!("emails[type eq \"{label}\"].value"), "value": format!("{local}@x.example")},
            {"op": "remove", "path": format!("emails[type eq \"{label}\"]")}
        ]);
        let after = read(ResourceKind::User, operations).unwrap().apply(&before).unwrap();
        prop_assert!(!after.is_changed);
    }

    #[test]
    fn a_replacement_done_twice_is_done_once(value in json_value(), path in path()) {
        let operations = json!([{"op": "replace", "path": path, "value": value}]);
        let Ok(request) = read(ResourceKind::User, operations) else { return Ok(()) };
        let Ok(once) = request.apply(&stored(ResourceKind::User)) else { return Ok(()) };
        if let Ok(twice) = request.apply(&once.attributes) {
            prop_assert_eq!(twice.attributes, once.attributes);
        }
    }
}
