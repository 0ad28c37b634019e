use super::*;
use tokio::io::AsyncReadExt;

async fn asked(receiver: &WebhookReceiver, requests: &str) -> String {
    let mut stream = TcpStream::connect(receiver.address()).await.unwrap();
    stream.write_all(requests.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn post(id: &str, body: &str) -> String {
    format!("POST /door HTTP/1.1\r\nwebhook-id: {id}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn a_repeat_is_answered_and_counted() {
    let options = WebhookOptions { delivered: 1.0, answering: 1.0, ..WebhookOptions::default() };
    let receiver = WebhookReceiver::start(options).await.unwrap();
    let body = r#"{"text": "Leave", "choices": [{"key": "1", "label": "Safe"}]}"#;
    let answers = asked(&receiver, &(post("a", body) + &post("a", body) + &post("b", "{}"))).await;
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 3, "{answers}");
    assert!(answers.contains(r#"{"answer":"1","state":"delivered"}"#), "{answers}");
    let stats = receiver.stats();
    assert_eq!((stats.accepted, stats.repeats, stats.distinct, stats.connections), (3, 1, 2, 1));
    let hooks = receiver.hooks(2);
    assert_eq!((hooks.len(), hooks[0].text_of("text").as_deref()), (2, Some("Leave")));
}

#[tokio::test]
async fn what_is_unsigned_is_refused_and_a_scenario_says_what_else_is() {
    let secret = Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned());
    let receiver =
        WebhookReceiver::start(WebhookOptions { secret, ..WebhookOptions::default() }).await.unwrap();
    assert!(asked(&receiver, &post("a", "{}")).await.starts_with("HTTP/1.1 401"));
    assert!(asked(&receiver, "GET / HTTP/1.1\r\n\r\n").await.starts_with("HTTP/1.1 405"));
    let refusals = vec![RefusalShare { status: 503, share: 1.0, retry_after: Some(2) }];
    receiver.change(WebhookOptions { refusals, ..WebhookOptions::default() }).unwrap();
    let answer = asked(&receiver, &post("a", "{}")).await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("Retry-After: 2"), "{answer}");
    let stats = receiver.stats();
    assert_eq!((stats.accepted, stats.unsigned, stats.refused.len()), (0, 1, 3));
    receiver.change(WebhookOptions { disconnect: 1.0, ..WebhookOptions::default() }).unwrap();
    assert_eq!(asked(&receiver, &post("a", "{}")).await, "");
    assert_eq!(receiver.stats().accepted, 1, "it was taken");
}
