//! Sessions as browsers have them: signing in, what is refused, and what ends.

use crate::http::tests::browser::{Browser, PASSWORD, code_of};
use crate::http::tests::*;

#[tokio::test]
async fn a_user_signs_in_and_their_session_holds_until_they_sign_out() {
    let server = TestServer::open().await;
    let eva = server.user("eva", json!({"roles": ["viewer"]})).await;
    let mut browser = Browser::of(&server);
    let (status, session) = browser.sign_in("Eva", PASSWORD).await;
    assert_eq!((status.as_u16(), &session["state"]), (200, &json!("signed_in")), "{session}");
    assert_eq!((&session["user"]["id"], &session["user"]["account"]), (&json!(eva), &json!("default")));
    assert_eq!(session["ends"], "2026-11-18T18:26:40Z");
    let (_, me) = browser.get("/api/v1/me").await;
    assert_eq!((&me["name"], &me["spaces"]), (&json!("eva"), &json!(["drill"])));
    assert_eq!(browser.delete("/api/v1/session").await.0, 204);
    let (status, problem) = browser.get("/api/v1/me").await;
    assert_eq!((status.as_u16(), slug(&problem)), (401, "session-ended"));
    server.close().await;
}

#[tokio::test]
async fn the_cookie_is_the_hosts_alone_under_tls_and_no_script_reads_it() {
    let url = Some("https://alerts.example".to_owned());
    let server = TestServer::at(HttpConfig::plain(([127, 0, 0, 1], 0).into(), url), None, None).await;
    server.user("eva", json!({"roles": ["viewer"]})).await;
    let mut browser = Browser::of(&server);
    assert_eq!(browser.sign_in("eva", PASSWORD).await.0, 200);
    let set = &browser.set_cookies[0];
    assert!(set.starts_with("__Host-campanile=") && set.contains("; Path=/; Max-Age=604800"), "{set}");
    assert!(set.ends_with("; HttpOnly; SameSite=Strict; Secure"), "{set}");
    let secret = set.split(['=', ';']).nth(1).unwrap();
    assert_eq!(secret.len(), 43);
    let stored = server.store.sessions_of("default", &browser.user, NOW).await.unwrap();
    assert!(!format!("{stored:?}").contains(secret), "its hash alone is stored");
    server.close().await;
}

#[tokio::test]
async fn a_cookie_that_the_browser_brings_is_never_adopted_and_its_session_ends() {
    let server = TestServer::open().await;
    server.user("eva", json!({"roles": ["viewer"]})).await;
    server.user("mallory", json!({"roles": ["viewer"]})).await;
    // Of nobody.
    let mut browser = Browser::of(&server);
    let planted = "A".repeat(43);
    browser.cookie = Some(planted.clone());
    assert_eq!(browser.sign_in("eva", PASSWORD).await.0, 200);
    assert_ne!(browser.cookie.as_deref(), Some(planted.as_str()));
    // Of somebody else: the planted session does not become eva's, and is over.
    let mut mallory = Browser::of(&server);
    mallory.sign_in("mallory", PASSWORD).await;
    let mut victim = Browser::of(&server);
    victim.cookie = mallory.cookie.clone();
    assert_eq!(victim.sign_in("eva", PASSWORD).await.0, 200);
    assert_ne!(victim.cookie, mallory.cookie);
    assert_eq!(mallory.get("/api/v1/me").await.0, 401);
    server.close().await;
}

#[tokio::test]
async fn a_wrong_name_a_wrong_password_and_a_disabled_user_are_answered_alike() {
    let server = TestServer::open().await;
    server.user("eva", json!({"roles": ["viewer"]})).await;
    let gone = server.user("gone", json!({"roles": ["viewer"]})).await;
    let patch = server.call(Method::PATCH, &format!("/api/v1/users/{gone}"));
    assert_eq!(said(patch.json(&json!({"active": false}))).await.0, 200);
    server.post("/api/v1/users", json!({"name": "invited", "roles": ["viewer"]})).await;
    let before = server.door_hashes();
    let mut answers = Vec::new();
    for (name, password) in
        [("eva", "wrong"), ("nobody", "wrong"), ("gone", PASSWORD), ("invited", PASSWORD), ("\u{200b}", "x")]
    {
        let (status, problem) = Browser::of(&server).sign_in(name, password).await;
        assert_eq!((status.as_u16(), slug(&problem)), (401, "sign-in-failed"), "{name}: {problem}");
        answers.push(problem.to_string());
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(server.door_hashes() - before, 5, "each takes the time of a hash");
    server.close().await;
}

#[tokio::test]
async fn ten_thousand_guesses_are_bounded_and_few_reach_a_hash() {
    let server = TestServer::open().await;
    server.user("eva", json!({"roles": ["viewer"]})).await;
    let before = server.door_hashes();
    let mut statuses = std::collections::BTreeMap::new();
    for n in 0..10_000 {
        // One name from one address, and many names from it.
        let name = if n % 2 == 0 { "eva".to_owned() } else { format!("nobody{n}") };
        let (status, _) = Browser::of(&server).sign_in(&name, "guess after guess").await;
        *statuses.entry(status.as_u16()).or_insert(0) += 1;
    }
    assert!(server.door_hashes() - before <= 30, "{} hashes", server.door_hashes() - before);
    assert_eq!(statuses.keys().copied().collect::<Vec<_>>(), [401, 429], "{statuses:?}");
    // The user signs in once the minute is over.
    server.clock.store(NOW.plus_s(901).0, Ordering::Relaxed);
    assert_eq!(Browser::of(&server).sign_in("eva", PASSWORD).await.0, 200);
    server.close().await;
}

#[tokio::test]
async fn a_throttled_user_is_told_when_to_come_again() {
    let server = TestServer::open().await;
    server.user("eva", json!({"roles": ["viewer"]})).await;
    for (n, wait) in [1_i64, 2, 4, 8].into_iter().enumerate() {
        assert_eq!(Browser::of(&server).sign_in("eva", "wrong").await.0, 401, "{n}");
        let request = server.anon(Method::POST, "/api/v1/session");
        let response = request.json(&json!({"name": "eva", "password": PASSWORD})).send().await.unwrap();
        assert_eq!((response.status().as_u16(), &response.headers()["retry-after"]), (429, &wait.into()));
        server.clock.fetch_add(wait * 1_000_000, Ordering::Relaxed);
    }
    assert_eq!(Browser::of(&server).sign_in("eva", PASSWORD).await.0, 200);
    server.close().await;
}

#[tokio::test]
async fn a_session_ends_after_twelve_idle_hours_and_after_seven_days() {
    let server = TestServer::open().await;
    server.user("eva", json!({"roles": ["viewer"]})).await;
    let mut idle = Browser::of(&server);
    idle.sign_in("eva", PASSWORD).await;
    server.clock.store(NOW.plus_s(12 * 3_600).0, Ordering::Relaxed);
    assert_eq!(idle.get("/api/v1/me").await.0, 401);
    let mut busy = Browser::of(&server);
    busy.sign_in("eva", PASSWORD).await;
    for hours in 1..=28 {
        server.clock.store(NOW.plus_s((12 + 6 * hours) * 3_600).0, Ordering::Relaxed);
        let expected = if hours < 28 { 200 } else { 401 };
        assert_eq!(busy.get("/api/v1/me").await.0, expected, "{hours}");
    }
    server.close().await;
}

#[tokio::test]
async fn a_session_survives_a_restart_of_the_door() {
    let server = TestServer::open().await;
    server.user("eva", json!({"roles": ["viewer"]})).await;
    let mut browser = Browser::of(&server);
    browser.sign_in("eva", PASSWORD).await;
    let server = server.reopened().await;
    browser.at = server.door.address();
    assert_eq!(browser.get("/api/v1/me").await.0, 200);
    server.close().await;
}

#[tokio::test]
async fn a_session_holds_in_every_process_and_ends_in_all() {
    let server = TestServer::open().await;
    server.user("eva", json!({"roles": ["viewer"]})).await;
    let mut browser = Browser::of(&server);
    browser.sign_in("eva", PASSWORD).await;
    let another = server.another_door().await;
    let here = browser.at;
    browser.at = another.address();
    assert_eq!(browser.get("/api/v1/me").await.0, 200);
    assert_eq!(browser.delete("/api/v1/session").await.0, 204);
    browser.at = here;
    assert_eq!(browser.get("/api/v1/me").await.0, 401);
    another.stop().await;
    server.close().await;
}

#[tokio::test]
async fn guesses_of_every_secret_wait_and_are_counted() {
    let server = TestServer::open().await;
    server.user("eva", json!({"roles": ["viewer"]})).await;
    let mut browser = Browser::of(&server);
    browser.sign_in("eva", PASSWORD).await;
    let (secret, codes) = browser.with_totp(&server).await;
    server.guessing.failures().take();
    let mut pending = Browser::of(&server);
    pending.sign_in("eva", PASSWORD).await;
    let second = "/api/v1/session:second";
    let wrong = json!({"recovery": "aaaa-bbbb-cccc"});
    for (n, (path, guess)) in [
        (second, json!({"totp": "000000"})),
        (second, wrong.clone()),
        ("/api/v1/session:confirm", json!({"password": "wrong"})),
        ("/api/v1/session:confirm", wrong),
    ]
    .into_iter()
    .enumerate()
    {
        let by = if path == second { &mut pending } else { &mut browser };
        let (status, problem) = by.post(path, guess.clone()).await;
        assert_eq!((status.as_u16(), slug(&problem)), (401, "sign-in-failed"), "{path} {guess}: {problem}");
        let response = by.request(Method::POST, path).json(&guess).send().await.unwrap();
        assert_eq!(response.status(), 429, "{path} {guess}");
        assert!(response.headers().contains_key("retry-after"));
        // The right one waits as well, and comes through once the wait is over.
        server.clock.fetch_add((1 << n) * 1_000_000, Ordering::Relaxed);
    }
    server.clock.fetch_add(60_000_000, Ordering::Relaxed);
    let right = json!({"totp": code_of(&secret, &server)});
    assert_eq!(pending.post(second, right).await.0, 200);
    let acts = server.guessing.failures().take().acts(NOW);
    assert_eq!((acts[0].object.as_str(), acts[0].count), ("session", Some(8)));
    // What is at rest is of no use to a thief.
    let stored = server.store.document("default", store::DocumentKind::User, &browser.user).await.unwrap();
    let stored = stored.unwrap().body;
    for secret in codes.iter().chain([&secret]) {
        assert!(!stored.contains(secret.as_str()) && !stored.contains(&secret.replace('-', "")), "{stored}");
    }
    server.close().await;
}

#[tokio::test]
async fn a_write_of_another_site_is_refused() {
    let server = TestServer::open().await;
    server.user("eva", json!({"roles": ["directory"]})).await;
    let mut browser = Browser::of(&server);
    browser.sign_in("eva", PASSWORD).await;
    let put = |browser: &Browser| browser.request(Method::PUT, "/api/v1/groups/g").json(&json!({}));
    for (name, request) in [
        ("a foreign page", put(&browser).header("sec-fetch-site", "cross-site")),
        ("a neighbour", put(&browser).header("sec-fetch-site", "same-site")),
        ("a forged origin", put(&browser).header("origin", "https://evil.example")),
        ("no origin", put(&browser).header("origin", "null")),
        (
            "a form",
            browser.request(Method::PUT, "/api/v1/groups/g").header("content-type", "text/plain").body("{}"),
        ),
    ] {
        let (status, problem) = said(request).await;
        assert_eq!((status.as_u16(), slug(&problem)), (403, "cross-site-request"), "{name}");
    }
    let csrf = std::mem::take(&mut browser.csrf);
    let (status, problem) = said(put(&browser)).await;
    assert_eq!((status.as_u16(), slug(&problem)), (403, "cross-site-request"), "without the value");
    browser.csrf = csrf;
    assert_eq!(said(put(&browser).header("sec-fetch-site", "same-origin")).await.0, 201);
    // Nor does another site sign its visitor in.
    for (header, value) in [("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")] {
        let forged = server.anon(Method::POST, "/api/v1/session").header(header, value);
        assert_eq!(said(forged.json(&json!({"name": "eva", "password": PASSWORD}))).await.0, 403, "{header}");
    }
    server.close().await;
}

#[tokio::test]
async fn a_one_time_code_follows_the_password_and_counts_once() {
    let server = TestServer::open().await;
    server.user("eva", json!({"roles": ["viewer"]})).await;
    let mut browser = Browser::of(&server);
    browser.sign_in("eva", PASSWORD).await;
    let (secret, codes) = browser.with_totp(&server).await;
    server.clock.fetch_add(60_000_000, Ordering::Relaxed);
    let mut other = Browser::of(&server);
    let (_, session) = other.sign_in("eva", PASSWORD).await;
    assert_eq!(session["state"], "second_factor");
    assert_eq!((&session["user"], &session["factors"]), (&Value::Null, &json!(["totp", "recovery"])));
    let (status, problem) = other.get("/api/v1/me").await;
    assert_eq!((status.as_u16(), slug(&problem)), (401, "second-factor-needed"));
    let pending = other.cookie.clone();
    let code = code_of(&secret, &server);
    let (status, session) = other.post("/api/v1/session:second", json!({"totp": code})).await;
    assert_eq!((status.as_u16(), &session["state"]), (200, &json!("signed_in")), "{session}");
    assert_ne!(other.cookie, pending, "a new id at the second factor");
    // The same code again, and an earlier one.
    for at in [0, -30] {
        let mut again = Browser::of(&server);
        again.sign_in("eva", PASSWORD).await;
        server.clock.fetch_add(at * 1_000_000, Ordering::Relaxed);
        let replayed = code_of(&secret, &server);
        server.clock.fetch_sub(at * 1_000_000, Ordering::Relaxed);
        let (status, problem) = again.post("/api/v1/session:second", json!({"totp": replayed})).await;
        assert_eq!((status.as_u16(), slug(&problem)), (401, "sign-in-failed"), "{problem}");
        server.clock.fetch_add(4_000_000, Ordering::Relaxed);
    }
    // A recovery code counts once.
    for expected in [200, 401] {
        let mut lost = Browser::of(&server);
        lost.sign_in("eva", PASSWORD).await;
        let (status, _) = lost.post("/api/v1/session:second", json!({"recovery": codes[0]})).await;
        assert_eq!(status.as_u16(), expected);
    }
    server.close().await;
}

#[tokio::test]
async fn dangerous_operations_need_the_password_again_after_ten_minutes() {
    let server = TestServer::open().await;
    server.user("eva", json!({"roles": ["administrator"]})).await;
    let mut browser = Browser::of(&server);
    browser.sign_in("eva", PASSWORD).await;
    let new = |n: u32| json!({"name": format!("user {n}"), "roles": ["viewer"]});
    assert_eq!(browser.post("/api/v1/users", new(1)).await.0, 201);
    server.clock.store(NOW.plus_s(601).0, Ordering::Relaxed);
    let (status, problem) = browser.post("/api/v1/users", new(2)).await;
    assert_eq!((status.as_u16(), slug(&problem)), (403, "confirmation-needed"));
    assert_eq!(browser.get("/api/v1/users").await.0, 200, "reading needs none");
    assert_eq!(browser.post("/api/v1/session:confirm", json!({"password": "wrong"})).await.0, 401);
    server.clock.fetch_add(2_000_000, Ordering::Relaxed);
    assert_eq!(browser.post("/api/v1/session:confirm", json!({"password": PASSWORD})).await.0, 200);
    assert_eq!(browser.post("/api/v1/users", new(2)).await.0, 201);
    server.close().await;
}

#[tokio::test]
async fn signing_in_and_out_is_in_the_audit_trail() {
    let server = TestServer::open().await;
    let eva = server.user("eva", json!({"roles": ["viewer"]})).await;
    let mut browser = Browser::of(&server);
    browser.sign_in("eva", PASSWORD).await;
    browser.delete("/api/v1/session").await;
    let (_, trail) = server.get(&format!("/api/v1/audit?who=user:{eva}")).await;
    let verbs: Vec<&str> =
        trail["items"].as_array().unwrap().iter().map(|act| act["verb"].as_str().unwrap()).collect();
    assert_eq!(verbs, ["session.end", "session.begin", "user.password.set"], "{trail}");
    assert_eq!(trail["items"][0]["token_name"], "eva");
    assert!(!trail.to_string().contains(PASSWORD));
    server.close().await;
}

#[tokio::test]
async fn a_session_says_whose_server_it_is_and_whom_its_spaces_reach() {
    let server = TestServer::open().await;
    let options = said(server.anon(Method::GET, "/api/v1/session/options")).await.1;
    assert_eq!((&options["needs_setup"], &options["site"]), (&json!(true), &json!("Town")), "{options}");
    let mut eva = server.signed_in("eva", json!({"roles": ["viewer"]})).await;
    let (_, session) = eva.get("/api/v1/session").await;
    assert_eq!(
        (&session["organisation"], &session["is_demo_server"]),
        (&json!("Town"), &json!(true)),
        "{session}"
    );
    // The live route leads to a carrier, that of drills to a simulator.
    let spaces = json!({
        "live": {"routes": 1, "simulated": false},
        "drill": {"routes": 1, "simulated": true, "real_people": 0},
    });
    assert_eq!(session["spaces"], spaces, "{session}");
    let options = said(server.anon(Method::GET, "/api/v1/session/options")).await.1;
    assert_eq!(options["needs_setup"], false);
    server.close().await;
}
