//! Tests of SCIM as identity providers use it: each verb, their filters and patches, and who may not.

use crate::http::tests::*;
use store::{DocumentKind, Expected, NewDocument, StoredSession};

const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

fn user(name: &str) -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User", ENTERPRISE],
        "externalId": format!("ext-{name}"),
        "userName": name,
        "name": {"givenName": "Barbara", "familyName": "Jensen"},
        "active": true,
        "emails": [{"primary": true, "type": "work", "value": "bjensen@EXAMPLE.com"}],
        "phoneNumbers": [{"type": "mobile", "value": "+46 70-100 00 01"}, {"type": "work", "value": "call me"}],
        "preferredLanguage": "sv-SE",
        "timezone": "Europe/Stockholm",
        "password": "t1meMa$heen",
        ENTERPRISE: {"department": "Tour Operations"},
    })
}

fn patch(operations: Value) -> Value {
    json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": operations})
}

async fn send(server: &TestServer, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
    let request = server.call(method, &format!("/scim/v2{path}"));
    let request = request.header("content-type", "application/scim+json").body(body.to_string());
    let response = request.send().await.unwrap();
    let status = response.status();
    if status != 204 && status != 304 {
        assert_eq!(response.headers()["content-type"], "application/scim+json", "{path}");
    }
    (status, serde_json::from_str(&response.text().await.unwrap()).unwrap_or(Value::Null))
}

async fn made(server: &TestServer, path: &str, body: Value) -> String {
    let (status, made) = send(server, Method::POST, path, body).await;
    assert_eq!(status, 201, "{made}");
    made["id"].as_str().unwrap().to_owned()
}

async fn recipient(server: &TestServer, id: &str) -> Value {
    server.get(&format!("/api/v1/recipients/{id}")).await.1
}

fn group(name: &str, members: &[&str]) -> Value {
    let members: Vec<Value> = members.iter().map(|id| json!({"value": id})).collect();
    json!({"schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"], "displayName": name, "members": members})
}

#[tokio::test]
async fn a_user_is_created_read_replaced_patched_and_deleted() {
    let server = TestServer::open().await;
    let created = server.call(Method::POST, "/scim/v2/Users").json(&user("bjensen")).send().await.unwrap();
    assert_eq!(created.status(), 201);
    assert_eq!(created.headers()["etag"], "W/\"1\"");
    let location = created.headers()["location"].to_str().unwrap().to_owned();
    let body: Value = serde_json::from_str(&created.text().await.unwrap()).unwrap();
    let id = body["id"].as_str().unwrap();
    assert!(location.ends_with(&format!("/scim/v2/Users/{id}")), "{location}");
    assert_eq!(body.get("password"), None, "{body}");
    assert_eq!(body["meta"]["version"], "W/\"1\"");

    let person = recipient(&server, "ext-bjensen").await;
    assert_eq!(
        (&person["name"], &person["language"]),
        (&json!("Barbara Jensen"), &json!("sv-SE")),
        "{person}"
    );
    let addresses: Vec<&Value> =
        person["devices"].as_array().unwrap().iter().map(|one| &one["address"]).collect();
    assert_eq!(addresses, ["+46701000001", "bjensen@example.com"]);
    assert_eq!(person["attributes"]["department"], "Tour Operations");

    let path = format!("/Users/{id}");
    let (status, shown) = send(&server, Method::GET, &path, Value::Null).await;
    assert_eq!((status.as_u16(), &shown), (200, &body));
    let cached = server.call(Method::GET, &format!("/scim/v2{path}")).header("if-none-match", "W/\"1\"");
    assert_eq!(cached.send().await.unwrap().status(), 304);
    let (status, only) =
        send(&server, Method::GET, &format!("{path}?attributes=userName"), Value::Null).await;
    assert_eq!((status.as_u16(), only.get("emails")), (200, None), "{only}");

    let operations = json!([
        {"op": "Replace", "path": "emails[type eq \"work\"].value", "value": "new@example.com"},
        {"op": "Replace", "path": "name.familyName", "value": "Ek"},
        {"op": "Add", "path": format!("{ENTERPRISE}:department"), "value": "Harbour"}
    ]);
    let (status, patched) = send(&server, Method::PATCH, &path, patch(operations)).await;
    assert_eq!((status.as_u16(), &patched["meta"]["version"]), (200, &json!("W/\"2\"")), "{patched}");
    let person = recipient(&server, "ext-bjensen").await;
    assert_eq!(
        (&person["name"], &person["attributes"]["department"]),
        (&json!("Barbara Ek"), &json!("Harbour"))
    );

    let replace = server.call(Method::PUT, &format!("/scim/v2{path}")).header("if-match", "W/\"1\"");
    let (status, problem) = said(replace.json(&user("bjensen"))).await;
    assert_eq!((status.as_u16(), &problem["status"]), (412, &json!("412")), "{problem}");
    let (status, replaced) = send(&server, Method::PUT, &path, user("barbara")).await;
    assert_eq!((status.as_u16(), &replaced["userName"]), (200, &json!("barbara")), "{replaced}");
    assert_eq!(recipient(&server, "ext-bjensen").await["attributes"]["user_name"], "barbara");

    assert_eq!(send(&server, Method::DELETE, &path, Value::Null).await.0, 204);
    assert_eq!(send(&server, Method::GET, &path, Value::Null).await.0, 404);
    assert_eq!(server.get("/api/v1/recipients/ext-bjensen").await.0, 404);
    server.close().await;
}

#[tokio::test]
async fn resources_are_found_by_the_filters_of_providers() {
    let server = TestServer::open().await;
    let id = made(&server, "/Users", user("bjensen")).await;
    made(&server, "/Users", user("mandy")).await;
    made(&server, "/Groups", group("Tour Guides", &[&id])).await;
    for (path, total) in [
        ("/Users", 2),
        ("/Users?filter=userName%20eq%20%22BJensen%22", 1),
        ("/Users?filter=externalId%20eq%20%22ext-mandy%22", 1),
        ("/Users?filter=externalId%20eq%20%22none%22", 0),
        ("/Users?filter=emails%5Btype%20eq%20%22work%22%5D%20and%20active%20eq%20true", 2),
        ("/Users?filter=name.familyName%20co%20%22ens%22", 2),
        ("/Groups?filter=displayName%20eq%20%22tour%20guides%22&excludedAttributes=members", 1),
        ("/Users?startIndex=2&count=1", 2),
    ] {
        let (status, list) = send(&server, Method::GET, path, Value::Null).await;
        assert_eq!((status.as_u16(), &list["totalResults"]), (200, &json!(total)), "{path}: {list}");
    }
    let (_, page) = send(&server, Method::GET, "/Users?startIndex=2&count=1", Value::Null).await;
    assert_eq!((page["Resources"].as_array().unwrap().len(), &page["startIndex"]), (1, &json!(2)), "{page}");
    let search = json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"], "count": 10});
    let (status, all) = send(&server, Method::POST, "/.search", search).await;
    assert_eq!((status.as_u16(), &all["totalResults"]), (200, &json!(3)), "{all}");
    for (path, status, scim_type) in [
        ("/Users?filter=userName%20is%20%22x%22", 400, json!("invalidFilter")),
        ("/Users?filter=members%20eq%20%22x%22", 400, json!("invalidFilter")),
        ("/Users?sortBy=userName", 501, Value::Null),
        ("/Users/none", 404, Value::Null),
        ("/Nothing", 404, Value::Null),
        ("/Me", 501, Value::Null),
    ] {
        let (found, problem) = send(&server, Method::GET, path, Value::Null).await;
        assert_eq!((found.as_u16(), &problem["scimType"]), (status, &scim_type), "{path}: {problem}");
        assert_eq!(problem["schemas"][0], "urn:ietf:params:scim:api:messages:2.0:Error");
    }
    server.close().await;
}

#[tokio::test]
async fn groups_and_their_members_are_groups_here() {
    let server = TestServer::open().await;
    let barbara = made(&server, "/Users", user("bjensen")).await;
    let mandy = made(&server, "/Users", user("mandy")).await;
    let guides = made(&server, "/Groups", group("Tour Guides", &[&barbara])).await;
    let staff = made(&server, "/Groups", group("Staff", &[&guides])).await;
    let of = async |id: &str| server.get(&format!("/api/v1/groups/{id}")).await.1;
    assert_eq!(of("Tour%20Guides").await["members"], json!(["ext-bjensen"]));
    assert_eq!(of("Staff").await["groups"], json!(["Tour Guides"]));

    let path = format!("/Groups/{guides}");
    let add = json!([{"op": "Add", "path": "members", "value": [{"$ref": null, "value": mandy}]}]);
    assert_eq!(send(&server, Method::PATCH, &path, patch(add)).await.0, 200);
    let okta = json!([
        {"op": "remove", "path": format!("members[value eq \"{barbara}\"]")},
        {"op": "replace", "value": {"id": guides, "displayName": "Guides"}}
    ]);
    let (status, changed) = send(&server, Method::PATCH, &path, patch(okta)).await;
    assert_eq!((status.as_u16(), &changed["displayName"]), (200, &json!("Guides")), "{changed}");
    assert_eq!(changed["members"][0]["value"], json!(mandy));
    let kept = of("Tour%20Guides").await;
    assert_eq!((&kept["members"], &kept["name"]), (&json!(["ext-mandy"]), &json!("Guides")));

    let (status, problem) = send(&server, Method::POST, "/Groups", group("guides", &[])).await;
    assert_eq!((status.as_u16(), &problem["scimType"]), (409, &json!("uniqueness")), "{problem}");
    let nobody = uuid::Uuid::from_u128(7).to_string();
    let (status, problem) = send(&server, Method::POST, "/Groups", group("Empty", &[&nobody])).await;
    assert_eq!((status.as_u16(), &problem["scimType"]), (400, &json!("invalidValue")), "{problem}");
    assert_eq!(send(&server, Method::DELETE, &format!("/Groups/{staff}"), Value::Null).await.0, 204);
    assert_eq!(server.get("/api/v1/groups/Staff").await.0, 404);
    server.close().await;
}

/// A session of a user, as a sign-in leaves it.
async fn signed_in(server: &TestServer, user: &str) -> [u8; 32] {
    let until = NOW.plus_s(3_600);
    let session = StoredSession {
        hash: [7; 32],
        account: "default".to_owned(),
        user: user.to_owned(),
        used: NOW,
        until,
        body: "{}".to_owned(),
    };
    server.store.put_session(session, None, NOW).await.unwrap();
    [7; 32]
}

#[tokio::test]
async fn a_user_who_is_not_active_loses_sessions_and_devices_at_once() {
    let server = TestServer::open().await;
    let mut body = user("bjensen");
    body["roles"] = json!([{"value": "Operator"}, {"value": "wizard"}]);
    let id = made(&server, "/Users", body).await;
    let found = server.store.document_by("default", DocumentKind::User, "bjensen").await.unwrap().unwrap();
    let record: Value = serde_json::from_str(&found.body).unwrap();
    assert_eq!((&record["roles"], &record["is_active"]), (&json!(["operator"]), &json!(true)), "{record}");
    assert_eq!(record["profile"]["person"], "ext-bjensen");
    let session = signed_in(&server, &found.id).await;
    let stream = server.app().auth.live_tokens.hold(&format!("user:{}", found.id));

    let off = json!([{"op": "Replace", "path": "active", "value": "False"}]);
    let (status, patched) = send(&server, Method::PATCH, &format!("/Users/{id}"), patch(off)).await;
    assert_eq!((status.as_u16(), &patched["active"]), (200, &json!(false)), "{patched}");
    assert_eq!(server.store.session(session, NOW).await.unwrap(), None);
    assert!(stream.is_ended());
    let found = server.store.document_by("default", DocumentKind::User, "bjensen").await.unwrap().unwrap();
    assert_eq!(serde_json::from_str::<Value>(&found.body).unwrap()["is_active"], false);
    let person = recipient(&server, "ext-bjensen").await;
    assert_eq!(
        (&person["attributes"]["active"], &person["devices"][0]["enabled"]),
        (&json!("false"), &json!(false))
    );

    let on = json!([{"op": "replace", "value": {"active": true}}]);
    assert_eq!(send(&server, Method::PATCH, &format!("/Users/{id}"), patch(on)).await.0, 200);
    assert_eq!(recipient(&server, "ext-bjensen").await["devices"][0]["enabled"], true);
    server.close().await;
}

#[tokio::test]
async fn a_user_who_was_made_by_hand_is_switched_off_too() {
    let server = TestServer::open().await;
    let body = json!({"profile": {"name": "mandy"}, "roles": ["viewer"], "is_active": true}).to_string();
    let document = NewDocument { id: "u1".to_owned(), lookup: Some("mandy".to_owned()), due: None, body };
    server.store.put_document("default", DocumentKind::User, document, Expected::Absent, NOW).await.unwrap();
    let session = signed_in(&server, "u1").await;
    let mut body = user("mandy");
    body["active"] = false.into();
    made(&server, "/Users", body).await;
    assert_eq!(server.store.session(session, NOW).await.unwrap(), None);
    server.close().await;
}

#[tokio::test]
async fn a_token_provisions_its_own_account_alone_and_needs_the_role() {
    let server = TestServer::open().await;
    let of_default = made(&server, "/Users", user("bjensen")).await;
    let token = async |role: &str, account: &str| {
        let body = json!({"role": role, "account": account});
        server.post("/api/v1/tokens", body).await.1["token"].as_str().unwrap().to_owned()
    };
    let north = token("operator", "north").await;
    for (method, path) in [
        (Method::GET, format!("/scim/v2/Users/{of_default}")),
        (Method::DELETE, format!("/scim/v2/Users/{of_default}")),
    ] {
        let (status, problem) = said(server.anon(method, &path).bearer_auth(&north)).await;
        assert_eq!((status.as_u16(), &problem["status"]), (404, &json!("404")), "{problem}");
    }
    let list = server.anon(Method::GET, "/scim/v2/Users").bearer_auth(&north);
    assert_eq!(said(list).await.1["totalResults"], 0);
    let post = server.anon(Method::POST, "/scim/v2/Users").bearer_auth(&north).json(&user("bjensen"));
    assert_eq!(said(post).await.0, 201, "a name is free in each account");
    let mut powerful = user("eve");
    powerful["roles"] = json!([{"value": "administrator"}]);
    let post = server.anon(Method::POST, "/scim/v2/Users").bearer_auth(&north).json(&powerful);
    let (status, problem) = said(post).await;
    assert_eq!(status, 403, "an operator's token makes nobody an administrator: {problem}");
    for (role, status) in [("viewer", 403), ("submit", 403)] {
        let refused = server.anon(Method::GET, "/scim/v2/Users").bearer_auth(token(role, "default").await);
        assert_eq!(said(refused).await.0, status, "{role}");
    }
    let nobody = server.anon(Method::GET, "/scim/v2/Users").send().await.unwrap();
    assert_eq!((nobody.status().as_u16(), nobody.headers().contains_key("www-authenticate")), (401, true));
    server.close().await;
}

#[tokio::test]
async fn the_service_describes_itself_and_refuses_what_it_does_not_have() {
    let server = TestServer::open().await;
    for path in ["/ServiceProviderConfig", "/ResourceTypes", "/ResourceTypes/User", "/Schemas"] {
        let (status, shown) = send(&server, Method::GET, path, Value::Null).await;
        assert_eq!(status, 200, "{path}: {shown}");
    }
    let core = "/Schemas/urn:ietf:params:scim:schemas:core:2.0:User";
    assert_eq!(send(&server, Method::GET, core, Value::Null).await.1["name"], "User");
    assert_eq!(send(&server, Method::POST, "/Bulk", json!({})).await.0, 501);
    assert_eq!(send(&server, Method::DELETE, "/Users", Value::Null).await.0, 405);
    assert_eq!(send(&server, Method::GET, "/Schemas?filter=x", Value::Null).await.0, 403);
    for (body, status, scim_type) in [
        (json!({"userName": "x"}), 400, "invalidSyntax"),
        (json!({"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"]}), 400, "invalidValue"),
    ] {
        let (found, problem) = send(&server, Method::POST, "/Users", body).await;
        assert_eq!((found.as_u16(), &problem["scimType"]), (status, &json!(scim_type)), "{problem}");
    }
    server.close().await;
}
