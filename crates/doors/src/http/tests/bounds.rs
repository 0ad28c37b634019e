//! Bounds of uploads, and ends of what is open by a token that is revoked.

use super::*;
use futures_util::future::join_all;
use records::Timestamp;
use std::time::Duration;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);
const FILES: &str = "/api/v1/attachments";

async fn with(change: impl FnOnce(&mut HttpLimits)) -> TestServer {
    let mut limits = HttpLimits::default();
    change(&mut limits);
    TestServer::with(limits, None).await
}

async fn put(server: &TestServer, token: &str, mark: u8, octets: usize) -> (u16, Value) {
    let request = server.anon(Method::POST, FILES).bearer_auth(token).body(vec![mark; octets]);
    let (status, told) = said(request).await;
    (status.as_u16(), told)
}

#[tokio::test]
async fn the_files_of_an_account_have_a_bound_whatever_comes_at_once() {
    let server = with(|limits| limits.attachments_total_max = 1_000).await;
    let submit = server.token(Role::Submit).await;
    let all = join_all(
        (1..=8).map(|mark| put(&server, if mark % 2 == 0 { &server.admin } else { &submit }, mark, 300)),
    )
    .await;
    let taken = all.iter().filter(|(status, _)| *status == 201).count();
    assert_eq!(taken, 3, "three times 300 octets are below 1,000: {all:?}");
    for (status, told) in all.iter().filter(|(status, _)| *status != 201) {
        assert_eq!((*status, slug(told)), (507, "quota-reached"));
        let words = told["detail"].as_str().unwrap();
        assert!(words.contains("1000 octets ([http] attachments_total_max)"), "{words}");
    }
    assert_eq!(put(&server, &server.admin, 9, 100).await.0, 201, "what is left is free");
    assert_eq!(put(&server, &server.admin, 10, 1).await.0, 507);
    let (_, made) = server.post("/api/v1/tokens", json!({"role": "operator", "account": "north"})).await;
    let north = made["token"].as_str().unwrap();
    assert_eq!(put(&server, north, 1, 1_000).await.0, 201, "another account has its own room");
    server.close().await;
}

#[tokio::test]
async fn a_file_that_breaks_off_or_is_too_large_leaves_its_room() {
    let server = with(|limits| limits.attachments_total_max = 1_000).await;
    let pieces = |octets: usize, end: Option<std::io::Error>| {
        let pieces = vec![Ok::<_, std::io::Error>(vec![7_u8; octets])];
        reqwest::Body::wrap_stream(futures_util::stream::iter(pieces.into_iter().chain(end.map(Err))))
    };
    let (status, told) = said(server.call(Method::POST, FILES).body(pieces(1_001, None))).await;
    assert_eq!((status.as_u16(), slug(&told)), (507, "quota-reached"), "its size was not told before");
    let broken = pieces(900, Some(std::io::Error::other("the client hangs up")));
    assert!(server.call(Method::POST, FILES).body(broken).send().await.is_err());
    // The room is free as soon as the server has noticed.
    let freed = async {
        while put(&server, &server.admin, 1, 1_000).await.0 != 201 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, freed).await.expect("the room of both is free again");
    server.close().await;
}

#[tokio::test]
async fn a_disk_that_is_nearly_full_refuses_files_and_takes_alerts() {
    let server = with(|limits| limits.attachments_disk_reserve = u64::MAX).await;
    server.people().await;
    let (status, told) = put(&server, &server.admin, 1, 10).await;
    assert_eq!((status, slug(&told)), (507, "disk-full"));
    assert!(told["detail"].as_str().unwrap().contains("[http] attachments_disk_reserve"), "{told}");
    let alert = json!({"text": "x", "audience": ["all"]});
    assert_eq!(server.post("/api/v1/alerts", alert).await.0, 202);
    let message = super::walls::CAP.replace(
        "</headline>",
        "</headline><resource><resourceDesc>tone</resourceDesc><mimeType>audio/wav</mimeType><derefUri>dG9uZQ==</derefUri></resource>",
    );
    let request = server.call(Method::POST, "/api/v1/cap?audience=all").header("content-type", "text/xml");
    let (status, told) = said(request.body(message)).await;
    assert_eq!(status, 202, "{told}");
    assert!(told["problems"].to_string().contains("is not attached"), "{told}");
    server.close().await;
}

#[tokio::test]
async fn a_file_that_no_alert_names_goes_after_its_time_and_a_named_one_stays() {
    let server = with(|limits| limits.attachments_unnamed_kept = Duration::from_secs(3_600)).await;
    server.people().await;
    let named = put(&server, &server.admin, 1, 10).await.1["id"].as_str().unwrap().to_owned();
    let unnamed = put(&server, &server.admin, 2, 10).await.1["id"].as_str().unwrap().to_owned();
    let body = |id: &str| json!({"text": "x", "audience": ["all"], "attachments": [{"id": id, "name": "a"}]});
    assert_eq!(server.post("/api/v1/alerts", body(&named)).await.0, 202);
    assert_eq!(server.post("/api/v1/alerts:forecast", body(&unnamed)).await.0, 200, "that names nothing");
    let media = store::media::Media::at(&server.dir.path().join("media"));
    let sweep = |now: Timestamp| store::sweep_attachments(&server.store, &media, now);
    let found = |id: &str| server.call(Method::GET, &format!("{FILES}/{id}")).send();
    assert_eq!(sweep(NOW.plus_s(3_599)).await, Ok(0));
    assert_eq!(sweep(NOW.plus_s(3_600)).await, Ok(1));
    assert_eq!(found(&unnamed).await.unwrap().status(), 404);
    assert_eq!(server.post("/api/v1/alerts", body(&unnamed)).await.0, 422);
    assert_eq!(found(&named).await.unwrap().status(), 200);
    assert_eq!(sweep(NOW.plus_s(41 * 86_400)).await, Ok(1));
    assert_eq!(found(&named).await.unwrap().status(), 404);
    server.close().await;
}

/// A door of another process of the same store.
async fn another_door(server: &TestServer) -> HttpRunning {
    let deps = Deps {
        engine: server.engine.clone(),
        store: server.store.clone(),
        media: store::media::Media::at(&server.dir.path().join("media")),
        clock: Arc::new(|| NOW),
        links: server.links.clone(),
        messages: Arc::new(server.engine.messages()),
        live_tokens: Arc::default(),
        guessing: Arc::default(),
        policies: ReloadedPolicies { outbound: Arc::default(), ..server.policies.clone() },
        forget_elsewhere: None,
        secrets: secrets(),
        reload: None,
        ledger: None,
        metrics: None,
        forwarding: Some(Forwarding::new(&[7; 32], false).unwrap()),
    };
    serve(HttpConfig::plain(([127, 0, 0, 1], 0).into(), None), deps).await.unwrap()
}

#[tokio::test]
async fn a_revoked_tokens_streams_end_in_all_processes_and_its_next_request_is_refused() {
    let server = TestServer::open().await;
    server.people().await;
    let alert = server.submit(json!({"text": "x", "audience": ["all"]})).await;
    let another = another_door(&server).await;
    let (_, made) = server.post("/api/v1/tokens", json!({"role": "viewer"})).await;
    let (id, secret) = (made["id"].as_str().unwrap(), made["token"].as_str().unwrap());
    let doors = [server.door.address(), another.address()];
    let get = |door: std::net::SocketAddr, path: String, secret: String| {
        server.client.get(format!("http://{door}{path}")).bearer_auth(secret).send()
    };
    let events = format!("/api/v1/alerts/{alert}/events");
    let mut streams = Vec::new();
    for door in doors {
        for secret in [secret, &server.admin] {
            let mut stream = get(door, events.clone(), secret.to_owned()).await.unwrap();
            assert!(stream.chunk().await.unwrap().is_some(), "the first event is there");
            streams.push(stream);
        }
    }
    assert_eq!(said(server.call(Method::DELETE, &format!("/api/v1/tokens/{id}"))).await.0, 204);
    for (stream, door) in [0, 2].into_iter().zip(doors) {
        let ended = async { while let Ok(Some(_)) = streams[stream].chunk().await {} };
        tokio::time::timeout(PATIENCE, ended).await.expect("the stream ends");
        assert_eq!(get(door, "/api/v1/alerts".to_owned(), secret.to_owned()).await.unwrap().status(), 401);
    }
    assert_eq!(said(server.call(Method::POST, &format!("/api/v1/alerts/{alert}:cancel"))).await.0, 200);
    for stream in [1, 3] {
        let mut last = Vec::new();
        while let Some(piece) = streams[stream].chunk().await.unwrap() {
            last.extend_from_slice(&piece);
        }
        assert!(String::from_utf8_lossy(&last).contains("event: done"), "another token's goes on to its end");
    }
    another.stop().await;
    server.close().await;
}
