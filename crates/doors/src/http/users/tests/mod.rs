//! Users as administrators and they themselves change them; spaces, limits and what ends.

mod passkeys;

use crate::http::tests::browser::{Browser, PASSWORD};
use crate::http::tests::*;
use futures_util::StreamExt;

#[tokio::test]
async fn an_invitation_counts_once_for_a_day_and_the_newest_alone() {
    let server = TestServer::open().await;
    let (_, user) = server.post("/api/v1/users", json!({"name": "eva", "roles": ["viewer"]})).await;
    let invite = format!("/api/v1/users/{}:invite", user["id"].as_str().unwrap());
    let invited = || async {
        let (status, made) = said(server.call(Method::POST, &invite)).await;
        assert_eq!(status, 200, "{made}");
        made["token"].as_str().unwrap().to_owned()
    };
    let accept = |token: String, password: &'static str| {
        let accept = server.anon(Method::POST, "/api/v1/invitations:accept");
        said(accept.json(&json!({"token": token, "password": password})))
    };
    let first = invited().await;
    let late = invited().await;
    assert_eq!(accept(first, PASSWORD).await.0, 404, "another one came after it");
    server.clock.store(NOW.plus_s(24 * 3_600).0, Ordering::Relaxed);
    assert_eq!(accept(late, PASSWORD).await.0, 404, "it is too old");
    let good = invited().await;
    let (status, problem) = accept(good.clone(), "password1234").await;
    assert_eq!(status, 422, "{problem}");
    assert!(!reason(&problem, "password").contains("password1234"), "{problem}");
    assert_eq!(
        accept(good.clone(), PASSWORD).await,
        (StatusCode::OK, json!({"name": "eva", "account": "default"}))
    );
    assert_eq!(accept(good, "eleven quiet lighthouses").await.0, 404, "it was used");
    assert_eq!(Browser::of(&server).sign_in("eva", PASSWORD).await.0, 200);
    let (status, problem) = said(server.call(Method::POST, &invite)).await;
    assert_eq!((status.as_u16(), slug(&problem)), (409, "wrong-state"), "a reset is for who has a password");
    server.close().await;
}

#[tokio::test]
async fn links_are_guessed_thirty_times_a_minute_and_stored_as_hashes() {
    let server = TestServer::open().await;
    let (_, user) = server.post("/api/v1/users", json!({"name": "eva", "roles": ["viewer"]})).await;
    let invite = format!("/api/v1/users/{}:invite", user["id"].as_str().unwrap());
    let (_, made) = said(server.call(Method::POST, &invite)).await;
    let token = made["token"].as_str().unwrap();
    let kept =
        server.store.documents_after("default", store::DocumentKind::Invitation, "", 10).await.unwrap();
    let secret = token.rsplit('.').next().unwrap();
    assert!(kept.len() == 1 && !format!("{kept:?}").contains(secret), "its hash alone is stored");
    let accept = async |token: &str| {
        let accept = server.anon(Method::POST, "/api/v1/invitations:accept");
        said(accept.json(&json!({"token": token, "password": PASSWORD}))).await.0.as_u16()
    };
    for n in 0..30 {
        assert_eq!(accept(&format!("ZGVmYXVsdA.guess{n}")).await, 404);
    }
    assert_eq!(accept(token).await, 429);
    server.clock.fetch_add(60_000_000, Ordering::Relaxed);
    assert_eq!(accept(token).await, 200);
    let acts = server.guessing.failures().take().acts(NOW);
    assert_eq!((acts[0].object.as_str(), acts[0].count), ("invitation", Some(31)));
    server.close().await;
}

#[tokio::test]
async fn invitations_and_second_factors_are_in_the_audit_trail() {
    let server = TestServer::open().await;
    let mut browser = server.signed_in("eva", json!({"roles": ["viewer"]})).await;
    let (secret, codes) = browser.with_totp(&server).await;
    let request = browser.request(Method::POST, "/api/v1/me/recovery-codes");
    assert_eq!(browser.send(request).await.0, 200);
    browser.get("/api/v1/session").await;
    assert_eq!(browser.delete("/api/v1/me/totp").await.0, 200);
    let (_, trail) = server.get("/api/v1/audit").await;
    let acts = trail["items"].as_array().unwrap().iter();
    let verbs: Vec<&str> = acts
        .map(|act| act["verb"].as_str().unwrap())
        .filter(|verb| verb.starts_with("user.") || verb.starts_with("session."))
        .collect();
    let expected = [
        "user.totp.off",
        "user.recovery-codes.new",
        "user.totp.on",
        "user.totp.offer",
        "session.begin",
        "user.password.set",
        "user.invite",
        "user.create",
    ];
    assert_eq!(verbs, expected, "{trail}");
    assert!(!trail.to_string().contains(&secret) && !trail.to_string().contains(&codes[0]), "{trail}");
    server.close().await;
}

#[tokio::test]
async fn a_reset_gives_another_password_and_takes_lost_factors_away() {
    let server = TestServer::open().await;
    let mut browser = server.signed_in("eva", json!({"roles": ["viewer"]})).await;
    browser.with_totp(&server).await;
    let path = format!("/api/v1/users/{}:reset", browser.user);
    let (status, reset) = server.post(&path, json!({"second_factors": true})).await;
    assert_eq!(status, 200, "{reset}");
    let accepted = json!({"token": reset["token"], "password": "eleven quiet lighthouses"});
    assert_eq!(server.post("/api/v1/invitations:accept", accepted).await.0, 200);
    assert_eq!(browser.get("/api/v1/me").await.0, 401, "the sessions ended");
    let (status, session) = Browser::of(&server).sign_in("eva", "eleven quiet lighthouses").await;
    assert_eq!((status.as_u16(), &session["state"]), (200, &json!("signed_in")));
    server.close().await;
}

#[tokio::test]
async fn another_password_ends_all_other_sessions_and_gives_this_one_a_new_id() {
    let server = TestServer::open().await;
    let mut browser = server.signed_in("eva", json!({"roles": ["viewer"]})).await;
    let mut other = Browser::of(&server);
    other.sign_in("eva", PASSWORD).await;
    let (_, sessions) = browser.get("/api/v1/me/sessions").await;
    assert_eq!(sessions["items"].as_array().unwrap().len(), 2);
    let before = browser.cookie.clone();
    let wrong = json!({"current": "wrong", "password": "eleven quiet lighthouses"});
    assert_eq!(browser.put("/api/v1/me/password", wrong).await.0, 401);
    server.clock.fetch_add(2_000_000, Ordering::Relaxed);
    let weak = json!({"current": PASSWORD, "password": "eva eva eva eva"});
    assert_eq!(browser.put("/api/v1/me/password", weak).await.0, 422);
    let right = json!({"current": PASSWORD, "password": "eleven quiet lighthouses"});
    let (status, session) = browser.put("/api/v1/me/password", right).await;
    assert_eq!(status, 200, "{session}");
    assert_ne!(browser.cookie, before);
    assert_eq!(browser.get("/api/v1/me").await.0, 200);
    assert_eq!(other.get("/api/v1/me").await.0, 401);
    let mut old = Browser::of(&server);
    old.cookie = before;
    assert_eq!(old.get("/api/v1/me").await.0, 401);
    server.close().await;
}

#[tokio::test]
async fn another_role_ends_the_users_sessions_and_renews_ones_own() {
    let server = TestServer::open().await;
    let mut admin = server.signed_in("root", json!({"roles": ["administrator"]})).await;
    let mut eva = server.signed_in("eva", json!({"roles": ["viewer"]})).await;
    let change = |admin: &Browser, id: &str, body: Value| {
        admin.request(Method::PATCH, &format!("/api/v1/users/{id}")).json(&body)
    };
    let request = change(&admin, &eva.user, json!({"full_name": "Eva Lind"}));
    assert_eq!(admin.send(request).await.0, 200);
    assert_eq!(eva.get("/api/v1/me").await.0, 200, "a name is no right");
    let request = change(&admin, &eva.user, json!({"roles": ["operator"]}));
    assert_eq!(admin.send(request).await.0, 200);
    assert_eq!(eva.get("/api/v1/me").await.0, 401);
    let before = admin.cookie.clone();
    let request = change(&admin, &admin.user.clone(), json!({"spaces": ["live", "drill"]}));
    assert_eq!(admin.send(request).await.0, 200);
    assert_ne!(admin.cookie, before);
    assert_eq!(admin.get("/api/v1/session").await.0, 200);
    server.close().await;
}

#[tokio::test]
async fn a_change_names_the_version_that_it_is_of() {
    let server = TestServer::open().await;
    let id = server.user("eva", json!({"roles": ["viewer"]})).await;
    let path = format!("/api/v1/users/{id}");
    let shown = server.call(Method::GET, &path).send().await.unwrap();
    let etag = shown.headers()["etag"].to_str().unwrap().to_owned();
    let patch = |etag: &str, name: &str| {
        let patch = server.call(Method::PATCH, &path).header("if-match", etag);
        patch.json(&json!({"full_name": name}))
    };
    assert_eq!(said(patch(&etag, "Eva")).await.0, 200);
    let (status, problem) = said(patch(&etag, "Eve")).await;
    assert_eq!((status.as_u16(), slug(&problem)), (412, "version-changed"));
    assert!(problem["detail"].as_str().unwrap().contains("the current version is"), "{problem}");
    let (status, problem) = server.post("/api/v1/users", json!({"name": "EVA", "roles": ["viewer"]})).await;
    assert_eq!((status.as_u16(), slug(&problem)), (409, "wrong-state"), "names differ by more than case");
    server.close().await;
}

#[tokio::test]
async fn the_last_administrator_who_can_sign_in_stays_one() {
    let server = TestServer::open().await;
    let first = server.user("root", json!({"roles": ["administrator"]})).await;
    // Who was only invited cannot sign in yet.
    server.post("/api/v1/users", json!({"name": "new", "roles": ["administrator"]})).await;
    let path = format!("/api/v1/users/{first}");
    let patch = |body: Value| said(server.call(Method::PATCH, &path).json(&body));
    for body in [json!({"roles": ["viewer"]}), json!({"active": false})] {
        let (status, problem) = patch(body).await;
        assert_eq!((status.as_u16(), slug(&problem)), (409, "wrong-state"));
    }
    assert_eq!(said(server.call(Method::DELETE, &path)).await.0, 409);
    server.user("second", json!({"roles": ["administrator"]})).await;
    assert_eq!(patch(json!({"roles": ["viewer"]})).await.0, 200);
    assert_eq!(said(server.call(Method::DELETE, &path)).await.0, 204);
    server.close().await;
}

#[tokio::test]
async fn a_viewer_sends_nothing_and_changes_nobody() {
    let server = TestServer::open().await;
    server.people().await;
    let body = json!({"roles": ["viewer"], "spaces": ["live", "drill"]});
    let mut viewer = server.signed_in("eva", body).await.in_space("live");
    let alert = json!({"text": "Fire", "audience": ["group:staff"]});
    for (path, body) in [
        ("/api/v1/alerts", alert),
        ("/api/v1/groups", json!({"id": "g"})),
        ("/api/v1/users", json!({"name": "x", "roles": ["administrator"]})),
    ] {
        let (status, problem) = viewer.post(path, body).await;
        assert_eq!((status.as_u16(), slug(&problem)), (403, "wrong-role"), "{path}");
    }
    assert_eq!(viewer.get("/api/v1/alerts").await.0, 200);
    server.close().await;
}

#[tokio::test]
async fn the_spaces_are_apart_and_a_user_is_in_those_that_an_administrator_gave() {
    let server = TestServer::open().await;
    server.people().await;
    let alert = |mode: Option<&str>| match mode {
        Some(mode) => json!({"text": "Fire", "audience": ["group:staff"], "mode": mode}),
        None => json!({"text": "Fire", "audience": ["group:staff"]}),
    };
    let rights = json!({"roles": ["operator"], "spaces": ["live", "drill"]});
    let mut both = server.signed_in("both", rights).await;
    let (status, problem) = both.post("/api/v1/alerts", alert(None)).await;
    assert_eq!(status, 400);
    assert!(reason(&problem, "X-Campanile-Space").contains("is needed"), "{problem}");
    both.space = Some("drill");
    let (status, problem) = both.post("/api/v1/alerts", alert(Some("live"))).await;
    assert_eq!((status.as_u16(), slug(&problem)), (403, "wrong-space"), "drill space sends live");
    let (status, drill) = both.post("/api/v1/alerts?mode=sync", alert(None)).await;
    assert_eq!(status, 201, "{drill}");
    let path = format!("/api/v1/alerts/{}", drill["id"].as_str().unwrap());
    assert_eq!(both.get(&path).await.1["request"]["mode"], "drill", "without a mode it is of its space");
    both.space = Some("live");
    for (method, path) in [
        (Method::GET, path.clone()),
        (Method::GET, format!("{path}/report")),
        (Method::GET, format!("{path}/deliveries")),
        (Method::GET, format!("{path}/events")),
        (Method::GET, format!("{path}/observers")),
        (Method::POST, format!("{path}:cancel")),
    ] {
        let request = both.request(method, &path);
        let (status, problem) = both.send(request).await;
        assert_eq!((status.as_u16(), slug(&problem)), (403, "wrong-space"), "{path}");
    }
    assert_eq!(both.get("/api/v1/alerts").await.1["items"], json!([]));
    // A new user is in the drill space alone.
    let mut new = server.signed_in("new", json!({"roles": ["operator"]})).await.in_space("live");
    let (status, problem) = new.post("/api/v1/alerts", alert(None)).await;
    assert_eq!((status.as_u16(), slug(&problem)), (403, "wrong-space"));
    // Tokens are free.
    assert_eq!(server.get(&path).await.0, 200);
    server.close().await;
}

#[tokio::test]
async fn a_cry_in_a_drill_is_seen_on_pages_of_live_space_too_and_within_ones_limits() {
    let server = TestServer::open().await;
    server.people().await;
    let ask = |mode: &str| {
        json!({"text": "Gas", "audience": ["group:staff"], "mode": mode,
            "choices": [{"key": "1", "label": "I need help", "needs_help": true}]})
    };
    for mode in ["live", "drill"] {
        let id = server.submit(ask(mode)).await;
        let answer = json!({"alert": id, "recipient": "ann", "text": "1"});
        assert_eq!(server.post("/api/v1/answers", answer).await.0, 204);
    }
    let cases = "/api/v1/help-cases";
    for _ in 0..2_000 {
        if server.get(cases).await.1["items"].as_array().unwrap().len() == 2 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let modes = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|case| case["mode"].as_str().unwrap().to_owned()).collect()
    };
    let rights = json!({"roles": ["viewer"], "spaces": ["live", "drill"]});
    let mut both = server.signed_in("both", rights).await;
    assert_eq!(both.get(cases).await.0, 400, "the page has a space");
    both.space = Some("live");
    assert_eq!(modes(&both.get(cases).await.1), ["drill", "live"]);
    both.space = Some("drill");
    assert_eq!(modes(&both.get(cases).await.1), ["drill"]);
    let rights = json!({"roles": ["viewer"], "spaces": ["live"], "groups": ["north"]});
    let mut north = server.signed_in("north", rights).await.in_space("live");
    assert_eq!(north.get(cases).await.1["items"], json!([]), "of another group");
    server.close().await;
}

#[tokio::test]
async fn a_user_with_limits_reaches_the_audiences_within_them() {
    let server = TestServer::open().await;
    server.people().await;
    for group in [
        json!({"id": "north", "groups": ["harbour"], "members": ["ann"]}),
        json!({"id": "harbour", "members": ["ann"]}),
    ] {
        assert_eq!(server.post("/api/v1/groups", group).await.0, 201);
    }
    let rights = json!({"roles": ["operator"], "groups": ["north"], "areas": ["quay"]});
    let mut eva = server.signed_in("eva", rights).await.in_space("drill");
    for (audience, is_within) in [
        (json!(["group:north"]), true),
        (json!(["group:harbour/sms"]), true),
        (json!(["recipient:ann"]), true),
        (json!(["recipient:bo"]), false),
        (json!(["group:staff"]), false),
        (json!(["group:north", "all"]), false),
        (json!(["sms:+46701000001"]), false),
    ] {
        let alert = json!({"text": "x", "audience": audience});
        let (status, problem) = eva.post("/api/v1/alerts:forecast", alert).await;
        let expected = if is_within { 200 } else { 403 };
        assert_eq!(status.as_u16(), expected, "{audience} {problem}");
        if !is_within {
            assert_eq!(slug(&problem), "out-of-scope");
            assert!(problem["detail"].as_str().unwrap().contains("group:north, area:quay"), "{problem}");
        }
    }
    let alert = json!({"text": "x", "audience": ["group:staff"], "mode": "drill"});
    let others = server.submit(alert).await;
    assert_eq!(eva.get(&format!("/api/v1/alerts/{others}")).await.0, 403);
    assert_eq!(eva.get("/api/v1/alerts").await.1["items"], json!([]));
    server.close().await;
}

#[tokio::test]
async fn a_stream_ends_with_its_session_and_with_its_user() {
    let server = TestServer::open().await;
    server.people().await;
    let alert = json!({"text": "Fire", "audience": ["group:staff"], "mode": "drill", "require_answer": true});
    let events = format!("/api/v1/alerts/{}/events", server.submit(alert).await);
    let rights = json!({"roles": ["viewer"]});
    for (n, name) in ["by-session", "by-user", "by-password"].into_iter().enumerate() {
        let mut browser = server.signed_in(name, rights.clone()).await.in_space("drill");
        let stream = browser.request(Method::GET, &events).send().await.unwrap();
        assert_eq!(stream.status(), 200);
        let mut pieces = stream.bytes_stream();
        assert!(pieces.next().await.unwrap().is_ok());
        match n {
            0 => assert_eq!(browser.delete("/api/v1/session").await.0, 204),
            1 => {
                let patch = server.call(Method::PATCH, &format!("/api/v1/users/{}", browser.user));
                assert_eq!(said(patch.json(&json!({"active": false}))).await.0, 200);
            }
            _ => {
                let body = json!({"current": PASSWORD, "password": "eleven quiet lighthouses"});
                assert_eq!(browser.put("/api/v1/me/password", body).await.0, 200);
            }
        }
        let end = async { while pieces.next().await.is_some_and(|piece| piece.is_ok()) {} };
        tokio::time::timeout(Duration::from_secs(5), end).await.expect(name);
    }
    server.close().await;
}

#[tokio::test]
async fn users_of_another_account_are_not_there() {
    let server = TestServer::open().await;
    let (_, north) = server.post("/api/v1/tokens", json!({"role": "admin", "account": "north"})).await;
    let north = north["token"].as_str().unwrap().to_owned();
    let ours = server.user("eva", json!({"roles": ["administrator"]})).await;
    let theirs = server.user_by(&north, "eva", json!({"roles": ["administrator"]})).await;
    let mut browser = Browser::of(&server);
    let body = json!({"account": "north", "name": "eva", "password": PASSWORD});
    let (_, session) = browser.post("/api/v1/session", body).await;
    assert_eq!(session["user"]["id"], json!(theirs), "{session}");
    assert_eq!(browser.get(&format!("/api/v1/users/{ours}")).await.0, 404);
    let (_, list) = browser.get("/api/v1/users").await;
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert_eq!(browser.get("/api/v1/audit:verify").await.0, 403, "that is for the account default");
    server.close().await;
}

#[tokio::test]
async fn a_token_has_nothing_of_its_own_to_change() {
    let server = TestServer::open().await;
    for path in ["/api/v1/me", "/api/v1/me/sessions", "/api/v1/me/passkeys"] {
        let (status, problem) = server.get(path).await;
        assert_eq!((status.as_u16(), slug(&problem)), (403, "wrong-role"), "{path}");
    }
    assert_eq!(server.anon(Method::GET, "/api/v1/session").send().await.unwrap().status(), 401);
    server.close().await;
}

#[tokio::test]
async fn answers_have_nothing_that_somebody_signs_in_with() {
    let server = TestServer::open().await;
    let mut browser = server.signed_in("eva", json!({"roles": ["administrator"]})).await;
    browser.with_totp(&server).await;
    let (_, list) = browser.get("/api/v1/users").await;
    let (_, session) = browser.get("/api/v1/session").await;
    for said in [list, session] {
        let text = said.to_string();
        assert!(!text.contains("argon2") && !text.contains("sealed") && !text.contains("revision"), "{text}");
    }
    server.close().await;
}

#[tokio::test]
async fn a_space_that_is_none_is_refused_of_a_token_too() {
    let server = TestServer::open().await;
    for (space, status) in [("live", 200), ("drill", 200), ("Live", 400), ("", 400)] {
        let request = server.call(Method::GET, "/api/v1/alerts").header("x-campanile-space", space);
        assert_eq!(said(request).await.0.as_u16(), status, "{space:?}");
    }
    server.close().await;
}
