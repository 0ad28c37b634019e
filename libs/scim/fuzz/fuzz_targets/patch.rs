//! Any JSON as the operations of a PATCH: it is refused, or leaves a resource that a PUT would take.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scim::patch::{PATCH_SCHEMA, PatchRequest};
use scim::{Object, ResourceKind, resource};
use serde_json::{Value, json};

fuzz_target!(|input: (bool, &str)| {
    let (is_group, operations) = input;
    let kind = if is_group { ResourceKind::Group } else { ResourceKind::User };
    let Ok(operations) = serde_json::from_str::<Value>(operations) else { return };
    let body = json!({"schemas": [PATCH_SCHEMA], "Operations": operations});
    let before = stored(kind);
    let Ok(request) = PatchRequest::read(kind, &body) else { return };
    let _ = request.member_changes();
    let Ok(after) = request.apply(&before) else { return };
    assert_eq!(after.is_changed, after.attributes != before);
    assert_eq!(after.attributes.get("id"), before.get("id"));
    let read = resource::check(kind, &after.attributes.clone().into()).expect("a resource is left");
    let again = resource::replace(kind, &after.attributes, read).expect("nothing immutable has changed");
    assert_eq!(again, after.attributes);
});

fn stored(kind: ResourceKind) -> Object {
    let stored = match kind {
        ResourceKind::User => json!({
            "schemas": [kind.schema().id, kind.extensions()[0].id],
            "id": "1", "userName": "bjensen", "active": true, "name": {"givenName": "B"},
            "emails": [{"value": "a@example.com", "type": "work", "primary": true}, {"value": "b@example.com"}],
            kind.extensions()[0].id: {"department": "Tours", "manager": {"value": "2"}},
        }),
        ResourceKind::Group => json!({
            "schemas": [kind.schema().id],
            "id": "3", "displayName": "Guides", "members": [{"value": "1", "type": "User"}, {"value": "2"}],
        }),
    };
    stored.as_object().expect("it is written as an object").clone()
}
