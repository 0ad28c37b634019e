use crate::http::tests::*;
use records::{Account, Role};

#[tokio::test]
async fn the_first_start_makes_one_admin_token_and_no_more() {
    let server = TestServer::open().await;
    assert!(server.admin.starts_with("cmp_") && server.admin.len() == 4 + 43);
    let again = ensure_admin_token(&server.store, NOW, |_| panic!("a second token is told")).await.unwrap();
    assert!(matches!(again, AdminToken::Known));
    let stored = server.store.tokens(None).await.unwrap();
    assert!(!format!("{stored:?}").contains(&server.admin[4..]), "the secret is stored nowhere");
    server.close().await;
}

#[tokio::test]
async fn a_first_token_that_cannot_be_told_is_not_on_record_and_the_next_start_makes_one() {
    let dir = tempfile::tempdir().unwrap();
    let store =
        store::sqlite::open(&dir.path().join("db"), &store::sqlite::SqliteOptions::default()).unwrap();
    let full = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::StorageFull));
    let refused = ensure_admin_token(&store, NOW, full).await.unwrap();
    assert!(matches!(refused, AdminToken::NotTold(_)), "{refused:?}");
    assert!(store.tokens(None).await.unwrap().is_empty());
    let mut told = String::new();
    let tell = |secret: &str| {
        told = secret.to_owned();
        Ok(())
    };
    let made = ensure_admin_token(&store, NOW, tell).await.unwrap();
    let AdminToken::Made(secret) = made else { panic!("{made:?}") };
    assert_eq!(secret, told);
    // Once no admin is left, none is made: who removed them all is told how to.
    let id = store.tokens(None).await.unwrap()[0].id.clone();
    assert!(store.revoke_token(&id, NOW).await.unwrap());
    let missing = ensure_admin_token(&store, NOW, |_| Ok(())).await.unwrap();
    assert!(matches!(missing, AdminToken::Missing), "{missing:?}");
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_server_without_an_admin_token_says_how_to_make_one_until_one_is_used() {
    let server = TestServer::open().await;
    let said_to = async |header: Option<String>| {
        let mut request = server.anon(Method::GET, "/api/v1/alerts");
        if let Some(header) = header {
            request = request.header("authorization", header);
        }
        said(request).await.1["detail"].as_str().unwrap_or_default().to_owned()
    };
    let wrong = [None, Some("Bearer x".to_owned()), Some(format!("Bearer cmp_{}", "A".repeat(43)))];
    for header in wrong.clone() {
        assert!(!said_to(header).await.contains("token create"));
    }
    server.door.admin_record().set(AdminOnRecord::Missing);
    for header in wrong.clone() {
        assert!(said_to(header).await.contains("campanile token create --role admin --data"));
    }
    assert_eq!(server.get("/api/v1/alerts").await.0, 200);
    for header in wrong {
        assert!(!said_to(header).await.contains("token create"));
    }
    server.close().await;
}

#[tokio::test]
async fn a_first_token_that_is_told_and_not_yet_on_record_is_waited_for() {
    let server = TestServer::open().await;
    server.door.admin_record().set(AdminOnRecord::Coming);
    let (token, secret) = mint_token(Role::Admin, Account::DEFAULT, "first", NOW).unwrap();
    let shown = server.anon(Method::GET, "/api/v1/alerts").bearer_auth(&secret).send();
    let (answer, put) = tokio::join!(shown, server.store.put_token(token));
    put.unwrap();
    assert_eq!(answer.unwrap().status(), 200);
    assert_eq!(server.door.admin_record().get(), AdminOnRecord::Known);
    server.close().await;
}

#[tokio::test]
async fn a_request_needs_a_token_that_is_good() {
    let server = TestServer::open().await;
    let wrong = format!("cmp_{}", "A".repeat(43));
    for (header, slug_expected) in [
        (None, "no-token"),
        (Some("Bearer nonsense".to_owned()), "bad-token"),
        (Some(format!("Bearer {wrong}")), "bad-token"),
        (Some(format!("Basic {wrong}")), "bad-token"),
        (Some(format!("Bearer {}", "x".repeat(5_000))), "bad-token"),
    ] {
        let mut request = server.anon(Method::GET, "/api/v1/alerts");
        if let Some(header) = &header {
            request = request.header("authorization", header);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 401);
        assert_eq!(response.headers()["www-authenticate"], "Bearer realm=\"campanile\"");
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        let problem: Value = response.json().await.unwrap();
        assert_eq!(slug(&problem), slug_expected, "{header:?}");
    }
    let lower = server
        .anon(Method::GET, "/api/v1/alerts")
        .header("authorization", format!("bearer {}", server.admin));
    assert_eq!(said(lower).await.0, 200);
    server.close().await;
}

#[tokio::test]
async fn a_revoked_token_ends_at_once_and_the_last_admin_stays() {
    let server = TestServer::open().await;
    let token = server.token(Role::Operator).await;
    let use_it = || said(server.anon(Method::GET, "/api/v1/alerts").bearer_auth(&token));
    assert_eq!(use_it().await.0, 200);
    let (_, list) = server.get("/api/v1/tokens").await;
    let items = list["items"].as_array().unwrap();
    let id = |role: &str| {
        items.iter().find(|item| item["role"] == role).unwrap()["id"].as_str().unwrap().to_owned()
    };
    assert!(items.iter().all(|item| item.get("token").is_none() && item.get("hash").is_none()), "{list}");
    let path = format!("/api/v1/tokens/{}", id("operator"));
    assert_eq!(said(server.call(Method::DELETE, &path)).await.0, 204);
    assert_eq!(use_it().await.0, 401);
    assert_eq!(said(server.call(Method::DELETE, &path)).await.0, 404);
    let (status, problem) =
        said(server.call(Method::DELETE, &format!("/api/v1/tokens/{}", id("admin")))).await;
    assert_eq!((status.as_u16(), slug(&problem)), (409, "wrong-state"));
    server.close().await;
}

#[tokio::test]
async fn every_change_is_in_the_audit_trail() {
    let server = TestServer::open().await;
    server.people().await;
    server.token(Role::Viewer).await;
    let group = json!({"id": "g", "members": ["ann"]});
    assert_eq!(server.post("/api/v1/groups", group).await.0, 201);
    assert_eq!(said(server.call(Method::DELETE, "/api/v1/recipients/ann")).await.0, 204);
    let (_, trail) = server.get("/api/v1/audit?limit=10").await;
    let verbs: Vec<&str> =
        trail["items"].as_array().unwrap().iter().map(|act| act["verb"].as_str().unwrap()).collect();
    assert_eq!(
        verbs,
        ["recipient.delete", "group.put", "token.create", "recipients.put", "token.create", "audit.begin"]
    );
    assert_eq!(trail["items"][0]["object"], "ann");
    assert_eq!(trail["items"][0]["at"], "2026-11-18T06:26:40Z");
    server.close().await;
}

#[tokio::test]
async fn too_many_requests_of_one_token_are_told_when_to_come_again() {
    let limits = HttpLimits { requests_per_s: 1, burst: 3, ..HttpLimits::default() };
    let server = TestServer::with(limits, None).await;
    for _ in 0..3 {
        assert_eq!(server.get("/api/v1/alerts").await.0, 200);
    }
    let response = server.call(Method::GET, "/api/v1/alerts").send().await.unwrap();
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "1");
    let problem: Value = response.json().await.unwrap();
    assert!(problem["detail"].as_str().unwrap().contains("more than 1 requests a second"));
    server.close().await;
}

#[tokio::test]
async fn a_reload_tells_what_changed_or_what_is_wrong() {
    let answers = Arc::new(std::sync::Mutex::new(vec![
        Err(vec![engine::Problem { field: "line 3, http.listn".into(), reason: "is unknown".into() }]),
        Ok(vec!["route carrier-1: rate 5 to 7".to_owned()]),
    ]));
    let reload: Reload = Arc::new(move || {
        let answer = answers.lock().unwrap().pop().unwrap();
        Box::pin(async move { answer })
    });
    let server = TestServer::with(HttpLimits::default(), Some(reload)).await;
    let (status, done) = said(server.call(Method::POST, "/api/v1/reload")).await;
    assert_eq!((status.as_u16(), done), (200, json!({"changed": ["route carrier-1: rate 5 to 7"]})));
    let (status, problem) = said(server.call(Method::POST, "/api/v1/reload")).await;
    assert_eq!((status.as_u16(), reason(&problem, "line 3, http.listn")), (422, "is unknown"));
    server.close().await;
}
