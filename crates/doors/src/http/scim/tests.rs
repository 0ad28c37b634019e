//! Tests of SCIM as identity providers use it: each verb, their filters and patches, and who may not.

use crate::http::tests::browser::{Browser, PASSWORD};
use crate::http::tests::*;
use futures_util::StreamExt;

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

fn with_roles(name: &str, roles: &[&str]) -> Value {
    let roles: Vec<Value> = roles.iter().map(|role| json!({"value": role})).collect();
    let mut body = user(name);
    body["roles"] = roles.into();
    body
}

/// A user as the users' API shows them.
async fn signs_in(server: &TestServer, name: &str) -> Value {
    let (_, list) = server.get("/api/v1/users").await;
    let found = list["items"].as_array().unwrap().iter().find(|user| user["name"] == name);
    found.unwrap_or_else(|| panic!("nobody is called {name}: {list}")).clone()
}

/// Sets a password for a user whom SCIM made, and signs them in.
async fn invited(server: &TestServer, name: &str) -> Browser {
    let id = signs_in(server, name).await["id"].as_str().unwrap().to_owned();
    let (status, link) = said(server.call(Method::POST, &format!("/api/v1/users/{id}:invite"))).await;
    assert_eq!(status, 200, "{link}");
    let accepted = json!({"token": link["token"], "password": PASSWORD});
    assert_eq!(server.post("/api/v1/invitations:accept", accepted).await.0, 200);
    let mut browser = Browser::of(server).in_space("drill");
    let (status, session) = browser.sign_in(name, PASSWORD).await;
    assert_eq!(status, 200, "{session}");
    browser
}

fn off() -> Value {
    patch(json!([{"op": "Replace", "path": "active", "value": "False"}]))
}

#[tokio::test]
async fn a_user_with_a_role_is_a_user_of_the_api_and_new_roles_end_their_sessions() {
    let server = TestServer::open().await;
    let id = made(&server, "/Users", with_roles("bjensen", &["Operator", "wizard"])).await;
    let user = signs_in(&server, "bjensen").await;
    assert_eq!((&user["roles"], &user["spaces"]), (&json!(["operator"]), &json!(["drill"])), "{user}");
    assert_eq!((&user["person"], &user["full_name"]), (&json!("ext-bjensen"), &json!("Barbara Jensen")));
    assert_eq!((&user["state"], &user["active"]), (&json!("invited"), &json!(true)), "they never signed in");
    let mut browser = invited(&server, "bjensen").await;
    let path = format!("/Users/{id}");
    let title = patch(json!([{"op": "Add", "path": "title", "value": "Guide"}]));
    assert_eq!(send(&server, Method::PATCH, &path, title).await.0, 200);
    assert_eq!(browser.get("/api/v1/me").await.0, 200, "what they may do is as it was");
    let (status, put) = send(&server, Method::PUT, &path, with_roles("barbara", &["viewer"])).await;
    assert_eq!(status, 200, "{put}");
    assert_eq!(browser.get("/api/v1/me").await.0, 401);
    let (status, session) = browser.sign_in("barbara", PASSWORD).await;
    assert_eq!((status.as_u16(), &session["user"]["roles"]), (200, &json!(["viewer"])), "{session}");
    let (_, trail) = server.get("/api/v1/audit?verb=user.change").await;
    assert!(trail["items"][0]["detail"].as_str().unwrap().contains("viewer"), "{trail}");
    server.close().await;
}

#[tokio::test]
async fn a_user_who_is_not_active_loses_sessions_streams_and_devices_at_once() {
    let server = TestServer::open().await;
    server.people().await;
    let alert = json!({"text": "Fire", "audience": ["group:staff"], "mode": "drill", "require_answer": true});
    let events = format!("/api/v1/alerts/{}/events", server.submit(alert).await);
    let id = made(&server, "/Users", with_roles("bjensen", &["viewer"])).await;
    let mut browser = invited(&server, "bjensen").await;
    let stream = browser.request(Method::GET, &events).send().await.unwrap();
    assert_eq!(stream.status(), 200);
    let mut pieces = stream.bytes_stream();
    assert!(pieces.next().await.unwrap().is_ok());

    let (status, patched) = send(&server, Method::PATCH, &format!("/Users/{id}"), off()).await;
    assert_eq!((status.as_u16(), &patched["active"]), (200, &json!(false)), "{patched}");
    assert_eq!(browser.get("/api/v1/me").await.0, 401);
    let end = async { while pieces.next().await.is_some_and(|piece| piece.is_ok()) {} };
    tokio::time::timeout(Duration::from_secs(5), end).await.expect("the stream ends");
    assert_eq!(signs_in(&server, "bjensen").await["active"], false);
    assert_eq!(Browser::of(&server).sign_in("bjensen", PASSWORD).await.0, 401);
    let person = recipient(&server, "ext-bjensen").await;
    assert_eq!(
        (&person["attributes"]["active"], &person["devices"][0]["enabled"]),
        (&json!("false"), &json!(false))
    );

    let on = json!([{"op": "replace", "value": {"active": true}}]);
    assert_eq!(send(&server, Method::PATCH, &format!("/Users/{id}"), patch(on)).await.0, 200);
    assert_eq!(recipient(&server, "ext-bjensen").await["devices"][0]["enabled"], true);
    assert_eq!(signs_in(&server, "bjensen").await["active"], true);
    server.close().await;
}

#[tokio::test]
async fn a_user_who_was_made_by_hand_is_switched_off_too() {
    let server = TestServer::open().await;
    let mut mandy = server.signed_in("mandy", json!({"roles": ["viewer"]})).await;
    let mut body = user("mandy");
    body["active"] = false.into();
    made(&server, "/Users", body).await;
    assert_eq!(mandy.get("/api/v1/me").await.0, 401);
    server.close().await;
}

#[tokio::test]
async fn a_provider_leaves_an_account_its_last_administrator() {
    let server = TestServer::open().await;
    let id = made(&server, "/Users", with_roles("bjensen", &["administrator"])).await;
    let mut browser = invited(&server, "bjensen").await;
    // One who never signed in administers nothing.
    made(&server, "/Users", with_roles("mandy", &["administrator"])).await;
    let path = format!("/Users/{id}");
    for (method, body) in [
        (Method::PATCH, off()),
        (Method::PUT, with_roles("bjensen", &["viewer"])),
        (Method::PUT, user("bjensen")),
        (Method::DELETE, Value::Null),
    ] {
        let (status, problem) = send(&server, method.clone(), &path, body).await;
        assert_eq!((status.as_u16(), &problem["status"]), (409, &json!("409")), "{method}: {problem}");
        assert_eq!(problem["schemas"][0], "urn:ietf:params:scim:api:messages:2.0:Error");
        assert!(problem["detail"].as_str().unwrap().contains("last administrator"), "{problem}");
    }
    assert_eq!(browser.get("/api/v1/me").await.0, 200, "nothing has changed");
    let (_, shown) = send(&server, Method::GET, &path, Value::Null).await;
    assert_eq!((&shown["active"], &shown["meta"]["version"]), (&json!(true), &json!("W/\"1\"")), "{shown}");
    assert_eq!(recipient(&server, "ext-bjensen").await["devices"][0]["enabled"], true);
    server.user("eva", json!({"roles": ["administrator"]})).await;
    assert_eq!(send(&server, Method::PATCH, &path, off()).await.0, 200);
    assert_eq!(browser.get("/api/v1/me").await.0, 401);
    server.close().await;
}

#[tokio::test]
async fn only_a_token_that_may_change_users_gives_roles_or_switches_users_off() {
    let server = TestServer::open().await;
    let operator = server.token(Role::Operator).await;
    let by_operator = async |method: Method, path: &str, body: Value| {
        said(server.anon(method, &format!("/scim/v2{path}")).bearer_auth(&operator).json(&body)).await
    };
    let (status, problem) = by_operator(Method::POST, "/Users", with_roles("eve", &["viewer"])).await;
    assert_eq!((status.as_u16(), &problem["status"]), (403, &json!("403")), "{problem}");
    let mut mandy = server.signed_in("mandy", json!({"roles": ["administrator"]})).await;
    let mut body = user("mandy");
    body["active"] = false.into();
    let (status, problem) = by_operator(Method::POST, "/Users", body.clone()).await;
    assert_eq!(status, 403, "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("signs in here"), "{problem}");
    assert_eq!(mandy.get("/api/v1/me").await.0, 200);
    // A person who does not sign in is a person alone.
    body["userName"] = "jonas".into();
    let (status, created) = by_operator(Method::POST, "/Users", body).await;
    assert_eq!(status, 201, "{created}");
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
