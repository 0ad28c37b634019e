//! Messages of platforms, as operators see them.

use crate::http::tests::*;
use records::{
    ClientEvent, DlrRequest, DlrState, Intake, Lane, Message, MessageClient, MessageId, MessageStatus,
    NOTICES, Notice, NoticeVerb, Short, ShortAddress, ShortText, client_topic,
};

fn message(account: &str, party: MessageClient, to: &str) -> Message {
    Message {
        account: account.into(),
        party,
        at: NOW,
        lane: Lane::Routine,
        mode: Mode::Live,
        to: to.into(),
        short: Short {
            source: ShortAddress { ton_npi: None, addr: "71700".into() },
            text: ShortText::Text { text: format!("to {to}").into(), class: None },
            ..Short::default()
        },
        not_before: None,
        expires: NOW.plus_s(86_400),
        route: None,
        tell: DlrRequest { mask: 31, ..DlrRequest::default() },
    }
}

fn bank() -> MessageClient {
    MessageClient::Smpp("bank".into())
}

impl TestServer {
    async fn take(&self, message: Message) -> MessageId {
        let record = Intake::Message(Box::new(message)).encode();
        self.engine.messages().accept(&[&record]).await.unwrap()
    }

    /// The page of a query, once it has so many messages: SQL has them about a second later.
    async fn found(&self, query: &str, count: usize) -> Value {
        for _ in 0..2_000 {
            let (status, page) = self.get(&format!("/api/v1/messages?{query}")).await;
            assert_eq!(status, 200, "{page}");
            if page["items"].as_array().unwrap().len() >= count {
                return page;
            }
            self.clock.fetch_add(1_000_000, Ordering::Relaxed);
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("there are not {count} messages of {query}");
    }
}

fn ids(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
}

fn shown(id: MessageId) -> String {
    format!("{:016x}", id.0)
}

#[tokio::test]
async fn messages_are_found_by_number_client_and_id_the_newest_first() {
    let server = TestServer::open().await;
    let first = server.take(message("default", bank(), "+46701000001")).await;
    let platform = MessageClient::Platform("water".into());
    let second = server.take(message("default", platform, "+46701000002")).await;
    let drill = Message { mode: Mode::Drill, ..message("default", bank(), "+46701000001") };
    let third = server.take(drill).await;
    let other = server.take(message("north", MessageClient::Smpp("north-bank".into()), "+46701000001")).await;
    let all = server.found("number=71700", 3).await;
    assert_eq!(ids(&all), [shown(third), shown(second), shown(first)], "{all}");
    assert_eq!(all["items"][1]["client"], json!({"kind": "http", "name": "water"}));
    assert_eq!(all["items"][0]["text"], Value::Null, "a list shows no texts");
    let to = server.found("number=%2B46701000001", 2).await;
    assert_eq!(ids(&to), [shown(third), shown(first)], "{to}");
    assert_eq!(ids(&server.found("client=water", 1).await), [shown(second)]);
    assert_eq!(ids(&server.found(&format!("id={}", shown(first)), 1).await), [shown(first)]);
    // Page by page.
    let page = server.found("limit=2", 2).await;
    assert_eq!(ids(&page), [shown(third), shown(second)]);
    let rest = server.found(&format!("limit=2&cursor={}", page["next"].as_str().unwrap()), 1).await;
    assert_eq!(ids(&rest), [shown(first)], "{rest}");
    // What another account has is not there.
    assert!(!all.to_string().contains(&shown(other)));
    for id in [shown(other), "ffffffffffffffff".to_owned(), "x".to_owned()] {
        assert_eq!(server.get(&format!("/api/v1/messages/{id}")).await.0, 404, "{id}");
    }
    server.close().await;
}

#[tokio::test]
async fn a_message_is_shown_step_by_step_with_what_its_client_is_told() {
    let server = TestServer::open().await;
    let later = Message { not_before: Some(NOW.plus_s(3_600)), ..message("default", bank(), "+46701000001") };
    let id = server.take(later).await;
    let status = MessageStatus {
        id,
        event: DlrRequest::ACCEPTED,
        state: DlrState::Accepted,
        source: ShortAddress::default(),
        to: "+46701000001".into(),
        dest: None,
        text: String::new(),
        carrier_id: "c-1".into(),
        route: "carrier".into(),
        beginning: String::new(),
        submitted: NOW,
        at: NOW,
        tell: DlrRequest::default(),
    };
    let other = MessageStatus { id: MessageId(id.0 + 1), ..status.clone() };
    let topic = server.bus.topic(&client_topic("bank")).unwrap();
    for status in [other, status] {
        topic.append(&[&ClientEvent::Status(Box::new(status)).encode()]).await.unwrap();
    }
    let (code, shown) = server.get(&format!("/api/v1/messages/{:016x}", id.0)).await;
    assert_eq!(code, 200, "{shown}");
    assert_eq!((&shown["text"], &shown["state"]), (&json!("to +46701000001"), &json!("enroute")), "{shown}");
    let steps = shown["steps"].as_array().unwrap();
    let names: Vec<&str> = steps.iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!(names, ["taken", "planned", "reported"], "{shown}");
    assert_eq!(steps[0]["words"], "Taken at the SMPP door from bank");
    assert_eq!((&steps[2]["carrier_id"], &steps[2]["is_told"]), (&json!("c-1"), &json!(false)), "{shown}");
    // The client takes what waits for it.
    let group = server.bus.group(&client_topic("bank"), "smpp").unwrap();
    for leased in group.take(2, std::time::Duration::from_secs(60)).unwrap() {
        group.ack(leased.record.index).unwrap();
    }
    let shown = server.get(&format!("/api/v1/messages/{:016x}", id.0)).await.1;
    assert_eq!(shown["steps"][2]["is_told"], true, "{shown}");
    let trail = server.get("/api/v1/audit?verb=messages.read").await.1;
    assert_eq!(trail["items"].as_array().unwrap().len(), 1, "reads are noted once an hour: {trail}");
    server.close().await;
}

#[tokio::test]
async fn a_platform_is_told_by_calls_of_its_url() {
    let server = TestServer::open().await;
    let id = server.take(message("default", MessageClient::Platform("water".into()), "+46701000001")).await;
    let notice = Notice {
        id: format!("{:016x}-{}", id.0, DlrRequest::DELIVERED),
        alert: None,
        verb: NoticeVerb::Fetch,
        url: "http://x.example/dlr?pw=hidden".into(),
        content_type: String::new(),
        body: String::new(),
        at: NOW,
        expires: NOW.plus_s(60),
    };
    server.bus.topic(NOTICES).unwrap().append(&[&notice.encode()]).await.unwrap();
    let shown = server.get(&format!("/api/v1/messages/{:016x}", id.0)).await.1;
    let last = shown["steps"].as_array().unwrap().last().unwrap();
    assert_eq!(last["words"], "The client is to be told: delivered", "{shown}");
    assert!(!shown.to_string().contains("hidden"), "{shown}");
    server.close().await;
}

#[tokio::test]
async fn a_page_of_drills_and_a_limited_user_see_no_live_message() {
    let server = TestServer::open().await;
    let id = server.take(message("default", bank(), "+46701000001")).await;
    server.found("number=71700", 1).await;
    let path = format!("/api/v1/messages/{:016x}", id.0);
    let eva = server.signed_in("eva", json!({"roles": ["viewer"], "spaces": ["live", "drill"]})).await;
    for (space, status, count) in [("live", 200, 1), ("drill", 403, 0)] {
        let one = said(eva.request(Method::GET, &path).header("x-campanile-space", space)).await;
        assert_eq!(one.0, status, "{space}: {}", one.1);
        let list = eva.request(Method::GET, "/api/v1/messages").header("x-campanile-space", space);
        assert_eq!(said(list).await.1["items"].as_array().unwrap().len(), count, "{space}");
    }
    let limited = json!({"roles": ["viewer"], "spaces": ["live"], "groups": ["fire"]});
    let bo = server.signed_in("bo", limited).await;
    for path in [path.as_str(), "/api/v1/messages"] {
        let (status, refused) = said(bo.request(Method::GET, path).header("x-campanile-space", "live")).await;
        assert_eq!((status.as_u16(), slug(&refused)), (403, "out-of-scope"), "{path}: {refused}");
    }
    server.close().await;
}
