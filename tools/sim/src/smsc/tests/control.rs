//! The control page and its JSON; what is captured.

use super::super::*;
use super::client::{Client, Got, message};
use serde_json::Value;
use smpp::session::Reason;
use smpp::status::Status;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn start(scenario: &str) -> Smsc {
    let scenario = format!("control = \"0\"\n{scenario}");
    Smsc::start(Scenario::from_toml(&scenario).unwrap()).await.unwrap()
}

/// Asks the page; status and body.
async fn ask(smsc: &Smsc, method: &str, target: &str, head: &str, body: &str) -> (String, String) {
    let mut stream = TcpStream::connect(smsc.page().unwrap()).await.unwrap();
    let length = body.len();
    let request =
        format!("{method} {target} HTTP/1.1\r\nHost: sim\r\nContent-Length: {length}\r\n{head}\r\n{body}");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().to_owned(), body.to_owned())
}

async fn post(smsc: &Smsc, target: &str, body: &str) -> (String, Value) {
    let (status, body) = ask(smsc, "POST", target, "", body).await;
    (status, serde_json::from_str(&body).unwrap())
}

async fn get(smsc: &Smsc, target: &str) -> Value {
    serde_json::from_str(&ask(smsc, "GET", target, "", "").await.1).unwrap()
}

#[tokio::test]
async fn the_json_interface_injects_receipts_drops_and_changes() {
    let smsc =
        start("[receipts]\ndelay = \"1h\"\n[[phases]]\nname = \"storm\"\nfrom = \"1h\"\nthrottled = 1.0")
            .await;
    let mut client = Client::transceiver(&smsc).await;
    let (status, value) = post(&smsc, "/inject?from=%2B46701&to=71700&text=h%C3%A9llo", "").await;
    assert_eq!((status.as_str(), &value["parts"]), ("200", &1.into()));
    assert_eq!(client.letter().await.text, "héllo");

    let id = client.submit("46701", "x").await.id;
    post(&smsc, &format!("/receipt?id={id}&state=UNDELIV&error=7"), "").await;
    let receipt = client.letter().await;
    assert_eq!(receipt.receipted, Some((id.clone(), 5)));
    assert!(receipt.text.contains("err:007"));

    assert_eq!(get(&smsc, "/phases").await["phases"], serde_json::json!(["", "storm"]));
    assert_eq!(post(&smsc, "/phase?name=storm", "").await.1["phase"], "storm");
    assert_eq!(client.submit("46701", "x").await.status, Status::RTHROTTLED);
    assert_eq!(post(&smsc, "/phase", "").await.0, "200", "the timetable from its beginning");
    assert_eq!(client.submit("46701", "x").await.status, Status::ROK);

    assert_eq!(post(&smsc, "/scenario", "errors = [{ status = \"8\", share = 1.0 }]").await.0, "200");
    assert_eq!(client.submit("46701", "x").await.status, Status::RSYSERR);

    assert_eq!(get(&smsc, "/sessions").await[0]["system_id"], "esme");
    assert_eq!(post(&smsc, "/disconnect?session=0&how=unbind", "").await.1["sessions"], 1);
    client.find(|got| matches!(got, Got::Closed(Reason::PeerUnbound)).then_some(())).await;
    for (target, body, word) in [
        ("/inject?to=1", "", "from"),
        ("/receipt?id=zz&state=DELIVRD", "", "none of the last messages"),
        ("/receipt?id=1&state=GONE", "", "ENROUTE, DELIVRD"),
        ("/disconnect?session=99", "", "none of this number"),
        ("/disconnect?how=softly", "", "cut, reset"),
        ("/phase?name=calm", "", "none of"),
        ("/scenario", "rat = 5", "did you mean rate?"),
        ("/scenario", "silence = 5.0", "between 0 and 1"),
    ] {
        let (status, value) = post(&smsc, target, body).await;
        let error = value["error"].as_str().unwrap_or_default();
        assert!(status == "400" && error.contains(word), "{target}: {status} {value}");
    }
}

#[tokio::test]
async fn the_page_works_with_forms_alone_and_other_pages_cannot_steer_it() {
    let smsc = start("password = \"secret\"").await;
    let mut client = Client::connect(&smsc, super::client::wide()).await;
    client.bind("<esme>", "secret", ::smpp::pdu::BindMode::Transceiver).await;
    let form = "Content-Type: application/x-www-form-urlencoded\r\nOrigin: http://sim\r\n";
    let (status, page) = ask(&smsc, "POST", "/inject", form, "from=46701&to=71700&text=a+b&account=").await;
    assert_eq!(status, "200");
    assert!(page.contains("<form method=post action=/inject>") && page.contains("parts"), "{page}");
    assert!(!page.contains("<script") && !page.contains("secret"), "{page}");
    assert_eq!(client.letter().await.text, "a b");
    let (_, live) = ask(&smsc, "GET", "/live", "", "").await;
    assert!(live.contains("&lt;esme&gt;") && live.contains("transceiver") && live.contains("3.4"), "{live}");
    // The scenario as it was shown, sent back: the password is still the same.
    let (_, shown) = ask(&smsc, "GET", "/scenario", "", "").await;
    assert!(shown.contains("********") && !shown.contains("secret"), "{shown}");
    assert_eq!(ask(&smsc, "POST", "/scenario", "", &shown).await.0, "200");
    let mut again = Client::connect(&smsc, super::client::wide()).await;
    let got = again.bind("esme", "secret", ::smpp::pdu::BindMode::Transceiver).await;
    assert!(matches!(got, Got::Bound(_)), "{got:?}");

    let foreign = "Origin: http://elsewhere\r\n";
    assert_eq!(ask(&smsc, "POST", "/disconnect", foreign, "").await.0, "403");
    assert_eq!(ask(&smsc, "POST", "/nothing", "", "").await.0, "404");
    assert_eq!(client.submit("46701", "x").await.status, Status::ROK);
}

#[tokio::test]
async fn what_comes_is_captured_with_its_answer_and_without_passwords() {
    let smsc = start("capture_keep = 100\nerrors = [{ status = \"RSYSERR\", share = 0.5 }]").await;
    let mut client = Client::connect(&smsc, super::client::wide()).await;
    client.bind("esme", "hidden", ::smpp::pdu::BindMode::Transceiver).await;
    let mut statuses = Vec::new();
    for _ in 0..10 {
        let answer = client.submit("46701740605", "Smoke \x00 fire").await;
        statuses.push((format!("ESME_{}", answer.status.name().unwrap()), answer.id));
    }
    client.send(&message("", "nobody")).await;
    client
        .find(|got| matches!(got, Got::Answer(answer) if answer.status == Status::RINVDSTADR).then_some(()))
        .await;
    drop(client);
    let closed = |records: &[CaptureRecord]| records.last().is_some_and(|record| record.event == "closed");
    let mut records = smsc.captured(100);
    while !closed(&records) {
        tokio::task::yield_now().await;
        records = smsc.captured(100);
    }
    assert_eq!((records[0].event.as_str(), records[1].command.as_str()), ("connected", "bind_transceiver"));
    assert_eq!(records[1].fields["system_id"], "esme");
    assert!(!serde_json::to_string(&records).unwrap().contains("hidden"));
    let submits: Vec<&CaptureRecord> =
        records.iter().filter(|record| record.command == "submit_sm").collect();
    let answers: Vec<(String, String)> = submits
        .iter()
        .filter_map(|record| record.answer.clone())
        .map(|answer| (answer.status, answer.message_id))
        .collect();
    assert_eq!(answers[..10], statuses);
    assert_eq!(answers[10].0, "ESME_RINVDSTADR");
    assert_eq!(submits[0].text.as_deref(), Some("Smoke @ fire"));
    assert_eq!(submits[0].fields["destination"]["addr"], "46701740605");
    assert_eq!(submits[0].system_id, "esme");
    // Receipts were answered too: those answers came, and are not answered.
    let confirmed = records.iter().filter(|record| record.command == "deliver_sm_resp");
    assert!(confirmed.clone().all(|record| record.answer.is_none() && record.status.is_some()));
    assert_eq!(get(&smsc, "/captured?limit=1").await[0]["event"], "closed");
    assert_eq!(smsc.captured(3).len(), 3);
}
