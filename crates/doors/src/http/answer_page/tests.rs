use crate::http::tests::*;
use records::{AlertNo, EndpointNo};

async fn asked(server: &TestServer, more: Value) -> (String, String) {
    server.people().await;
    let mut alert = json!({"headline": "Are you <safe>?", "text": "Answer & tell", "audience": ["recipient:ann"], "require_answer": true});
    alert.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let id = server.submit(alert).await;
    let no = server.store.alert("default", id.parse().unwrap()).await.unwrap().unwrap().no;
    (id, format!("/a/{}", server.links.token(no, EndpointNo(0))))
}

async fn page(request: RequestBuilder) -> (StatusCode, String) {
    let response = request.send().await.unwrap();
    let status = response.status();
    assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8");
    assert!(
        response.headers()["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'")
    );
    assert_eq!(response.headers()["referrer-policy"], "no-referrer");
    (status, response.text().await.unwrap())
}

/// Waits until the report counts one answer: it is folded off the request's way.
async fn answered(server: &TestServer, id: &str, key: &str) -> Value {
    for _ in 0..500 {
        let (_, report) = server.get(&format!("/api/v1/alerts/{id}/report")).await;
        if report["answers"][key] == 1 {
            return report;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("no answer {key} within 5 s");
}

#[tokio::test]
async fn looking_records_nothing_and_only_the_form_answers() {
    let server = TestServer::open().await;
    let choices = json!([{"key": "1", "label": "I am safe"}, {"key": "2", "label": "I need <help>"}]);
    let (id, path) = asked(&server, json!({"choices": choices})).await;
    for _ in 0..3 {
        let (status, text) = page(server.anon(Method::GET, &path)).await;
        assert_eq!(status, 200);
        assert!(
            text.contains("Are you &#60;safe&#62;?")
                && text.contains("value=\"2\"")
                && text.contains("I need &#60;help&#62;"),
            "{text}"
        );
        assert!(!text.contains("<script") && !text.contains("http://"), "nothing is loaded or run: {text}");
    }
    let head = server.anon(Method::HEAD, &path).send().await.unwrap();
    assert_eq!(head.status(), 200);
    let (_, report) = server.get(&format!("/api/v1/alerts/{id}/report")).await;
    assert_eq!(report["counts"]["answered"], 0);
    let form = |body: &'static str| {
        server
            .anon(Method::POST, &path)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body)
    };
    let (status, text) = page(form("answer=2")).await;
    assert_eq!(status, 200);
    assert!(text.contains("Thank you.") && text.contains("I need &#60;help&#62;"), "{text}");
    answered(&server, &id, "2").await;
    let (_, text) = page(server.anon(Method::GET, &path)).await;
    assert!(text.contains("You have answered.") && text.contains("Change the answer"), "{text}");
    server.close().await;
}

#[tokio::test]
async fn free_text_is_taken_in_the_persons_language() {
    let server = TestServer::open().await;
    server.people().await;
    let texts = json!({"sv": {"text": "Hur mår du?", "headline": "Hej"}});
    let id = server.submit(json!({"text": "How are you?", "texts": texts, "audience": ["recipient:bo"], "channels": ["sms"], "require_answer": true})).await;
    let no = server.store.alert("default", id.parse().unwrap()).await.unwrap().unwrap().no;
    let path = format!("/a/{}", server.links.token(no, EndpointNo(0)));
    let (_, text) = page(server.anon(Method::GET, &path)).await;
    assert!(
        text.contains("<html lang=\"sv\"") && text.contains("Hur mår du?") && text.contains("Skicka"),
        "{text}"
    );
    let body = "answer=Bra+tack+%E2%9C%93";
    let request =
        server.anon(Method::POST, &path).header("content-type", "application/x-www-form-urlencoded");
    let (status, text) = page(request.body(body)).await;
    assert!(status == 200 && text.contains("Tack. Ditt svar är mottaget."), "{text}");
    server.close().await;
}

#[tokio::test]
async fn wrong_links_forms_and_late_answers_get_a_page_of_their_own() {
    let server = TestServer::open().await;
    let (id, path) = asked(&server, json!({})).await;
    for wrong in [
        "/a/x".to_owned(),
        format!("{path}A"),
        format!("/a/{}", server.links.token(AlertNo(99), EndpointNo(0))),
    ] {
        let (status, text) = page(server.anon(Method::GET, &wrong)).await;
        assert!(status == 404 && text.contains("leads nowhere"), "{wrong}: {status} {text}");
    }
    let post = |kind: &'static str, body: String| {
        server.anon(Method::POST, &path).header("content-type", kind).body(body)
    };
    const FORM: &str = "application/x-www-form-urlencoded";
    assert_eq!(page(post(FORM, "answer=".to_owned())).await.0, 422);
    assert_eq!(page(post(FORM, "other=1".to_owned())).await.0, 422);
    assert_eq!(page(post(FORM, format!("answer={}", "x".repeat(1_001)))).await.0, 422);
    assert_eq!(page(post(FORM, format!("answer={}", "x".repeat(100_000)))).await.0, 413);
    assert_eq!(page(post("application/json", "{}".to_owned())).await.0, 415);
    assert_eq!(said(server.call(Method::POST, &format!("/api/v1/alerts/{id}:cancel"))).await.0, 200);
    server.clock.fetch_add(30 * 86_400 * 1_000_000, Ordering::Relaxed);
    let (status, text) = page(post(FORM, "answer=1".to_owned())).await;
    assert!(status == 410 && text.contains("no longer be answered"), "{status} {text}");
    server.close().await;
}

#[tokio::test]
async fn an_answer_by_api_is_checked_and_counted() {
    let server = TestServer::open().await;
    let (id, _) = asked(&server, json!({"choices": [{"key": "1", "label": "yes"}]})).await;
    for (body, field) in [
        (json!({"recipient": "ann", "text": "1"}), "alert"),
        (json!({"alert": "7", "recipient": "ann", "text": "1"}), "alert"),
        (json!({"alert": id, "text": "1"}), "recipient"),
        (json!({"alert": id, "recipient": "ann", "address": "+46701000001", "text": "1"}), "recipient"),
        (json!({"alert": id, "recipient": "ann"}), "text"),
        (json!({"alert": id, "recipient": "ann", "txt": "1"}), "txt"),
    ] {
        let (status, problem) = server.post("/api/v1/answers", body).await;
        assert_eq!(status, 422);
        reason(&problem, field);
    }
    assert_eq!(
        server.post("/api/v1/answers", json!({"alert": id, "address": "+46701000001", "text": "1"})).await.0,
        204
    );
    let report = answered(&server, &id, "1").await;
    assert_eq!(report["counts"]["answered"], 1);
    server.close().await;
}
