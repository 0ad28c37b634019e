use super::*;
use crate::http::tests::*;

const FORM_TYPE: (&str, &str) = ("content-type", FORM);

async fn asked(server: &TestServer) -> (String, String) {
    server.people().await;
    let alert = json!({
        "text": "Are you safe?",
        "audience": ["recipient:ann"],
        "require_answer": true,
        "choices": [{"key": "1", "label": "I am safe"}],
    });
    let id = server.submit(alert).await;
    let no = server.store.alert("default", id.parse().unwrap()).await.unwrap().unwrap().no;
    let token = server.links.callback_token(&CallbackTarget::Delivery(no, EndpointNo(0)));
    (id, format!("/w/{token}"))
}

async fn posted(server: &TestServer, path: &str, body: Value) -> (StatusCode, Value) {
    let answer = server.anon(Method::POST, path).json(&body).send().await.unwrap();
    let status = answer.status();
    (status, answer.json().await.unwrap_or_default())
}

#[tokio::test]
async fn a_device_answers_at_its_signed_url_as_json_or_as_a_form() {
    let server = TestServer::open().await;
    let (id, path) = asked(&server).await;
    let (status, problem) = posted(&server, &path, json!({"state": "delivered", "answer": "1"})).await;
    assert_eq!(status, 204, "{problem}");
    let form =
        server.anon(Method::POST, &path).header(FORM_TYPE.0, FORM_TYPE.1).body("answer=1&text=at+home");
    assert_eq!(form.send().await.unwrap().status(), 204);
    for _ in 0..500 {
        let (_, report) = server.get(&format!("/api/v1/alerts/{id}/report")).await;
        if report["answers"]["1"] == 1 {
            return server.close().await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("no answer within 5 s");
}

#[tokio::test]
async fn looking_records_nothing_and_a_url_that_is_not_ours_leads_nowhere() {
    let server = TestServer::open().await;
    let (id, path) = asked(&server).await;
    for method in [Method::GET, Method::HEAD, Method::PUT] {
        assert_eq!(server.anon(method, &path).send().await.unwrap().status(), 405);
    }
    let (_, report) = server.get(&format!("/api/v1/alerts/{id}/report")).await;
    assert_eq!(report["counts"]["answered"], 0);
    let answer_token = server.links.token(AlertNo(1), EndpointNo(0));
    for path in ["/w/x".to_owned(), format!("/w/{answer_token}"), format!("{path}A")] {
        assert_eq!(posted(&server, &path, json!({"answer": "1"})).await.0, 404, "{path}");
    }
    // A route that is none, or no longer.
    let target = CallbackTarget::Route("gone".to_owned(), CallbackPurpose::Receipts);
    let path = format!("/w/{}", server.links.callback_token(&target));
    assert_eq!(posted(&server, &path, json!({"id": "1"})).await.0, 404);
    server.close().await;
}

#[tokio::test]
async fn what_a_report_may_not_say_is_named() {
    let server = TestServer::open().await;
    let (_, path) = asked(&server).await;
    for (body, field) in [
        (json!({}), "state"),
        (json!({"state": "read"}), "state"),
        (json!({"answer": " "}), "answer"),
        (json!({"answer": "x".repeat(ANSWER_CHARS_MAX + 1)}), "answer"),
        (json!({"answer": ["1"]}), "answer"),
        (json!({"stat": "delivered"}), "stat"),
    ] {
        let (status, problem) = posted(&server, &path, body).await;
        assert_eq!((status.as_u16(), &problem["problems"][0]["field"]), (422, &json!(field)), "{problem}");
    }
    assert_eq!(posted(&server, &path, json!([1])).await.0, 400);
    let text = server.anon(Method::POST, &path).header("content-type", "text/plain").body("delivered");
    assert_eq!(text.send().await.unwrap().status(), 415);
    let long = "x".repeat(CALLBACK_OCTETS_MAX + 1);
    assert_eq!(posted(&server, &path, json!({"text": long})).await.0, 413);
    server.close().await;
}

#[tokio::test]
async fn an_answer_after_the_end_is_refused_and_a_report_is_not() {
    let server = TestServer::open().await;
    let (id, path) = asked(&server).await;
    let (status, _) = server.post(&format!("/api/v1/alerts/{id}:cancel"), json!({})).await;
    assert_eq!(status, 200);
    assert_eq!(posted(&server, &path, json!({"answer": "1"})).await.0, 409);
    assert_eq!(posted(&server, &path, json!({"state": "failed", "text": "no power"})).await.0, 204);
    server.close().await;
}
