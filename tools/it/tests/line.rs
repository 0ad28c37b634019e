//! Sessions of the line protocol of the real program, by Debian's telnet and by plain TCP: a login by a code
//! that a short message brings, alerts in the session, answers typed, and the next device while nobody is
//! there.

use crate::fixtures::{LATER, SOON, carrier, count};
use it::{Server, Telnet, eventually, free_port, sms_route, within};
use serde_json::{Value, json};
use sim::smsc::Smsc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

const PHONE: &str = "+46701740605";

/// A server at which Ann has a session `ann` and a telephone.
async fn server(port: u16, carrier: &Smsc, more: &str) -> Server {
    let server = Server::start(&format!(
        "[topics]\nlisten = \"127.0.0.1:{port}\"\n[organisation]\nname = \"City of X\"\n{more}\n\
         [[route]]\nname = \"desks\"\nchannel = \"line\"\nmode = \"live\"\n{}",
        sms_route("sms", carrier.address(), "")
    ))
    .await;
    let devices = json!([{"channel": "line", "address": "Ann"}, {"channel": "sms", "address": PHONE}]);
    server.api().add_recipients(&json!([{"id": "ann", "name": "Ann", "devices": devices}])).await;
    server
}

/// The code of the last short message.
async fn code(carrier: &Smsc, messages: usize) -> String {
    eventually("the code comes by a short message", LATER, async || {
        let all = carrier.messages(100);
        if all.len() < messages {
            return Err(format!("{all:?}"));
        }
        let text = all.iter().map(|message| message.text.clone()).find(|text| text.contains("log in as ann"));
        text.and_then(|text| text.get(..6).map(str::to_owned)).ok_or_else(|| format!("{all:?}"))
    })
    .await
}

fn asking() -> Value {
    json!({
        "headline": "Gas leak", "text": "Leave by the north gate", "audience": ["recipient:ann"],
        "require_answer": true, "terminal": "answered", "strategy": "first-reachable",
        "choices": [{"key": "1", "label": "I am safe"}, {"key": "2", "label": "I need help"}],
    })
}

/// The delivery to the session, once it is in a state.
async fn until_state(server: &Server, alert: &str, state: &str) -> Value {
    eventually(&format!("line:ann is {state}"), LATER, async || {
        let deliveries = server.api().deliveries(alert).await;
        let found = deliveries.iter().find(|delivery| delivery["channel"] == "line").cloned();
        match found {
            Some(delivery) if delivery["state"] == state => Ok(delivery),
            other => Err(format!("{other:?}")),
        }
    })
    .await
}

/// A person at a plain connection, as `nc` makes it.
struct Nc {
    lines: tokio::io::Lines<BufReader<OwnedReadHalf>>,
    writer: OwnedWriteHalf,
}

impl Nc {
    async fn connect(port: u16) -> Nc {
        let stream = eventually("the topic door opens", SOON, async || {
            TcpStream::connect(("127.0.0.1", port)).await.map_err(|error| error.to_string())
        })
        .await;
        let (reader, writer) = stream.into_split();
        Nc { lines: BufReader::new(reader).lines(), writer }
    }

    async fn types(&mut self, line: &str) {
        self.writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// The next line that is not empty.
    async fn reads(&mut self) -> String {
        within("a line comes", LATER, async {
            loop {
                let line = self.lines.next_line().await.unwrap().expect("the connection stays");
                if !line.is_empty() {
                    return line;
                }
            }
        })
        .await
    }

    /// Reads on until a line contains something.
    async fn reads_until(&mut self, part: &str) -> String {
        loop {
            let line = self.reads().await;
            if line.contains(part) {
                return line;
            }
        }
    }

    async fn log_in(&mut self, carrier: &Smsc) {
        self.types("LOGIN ann").await;
        let reply = self.reads().await;
        assert!(reply.contains("a code is on its way to sms ...05"), "{reply}");
        let code = code(carrier, 1).await;
        self.types(&format!("CODE {code}")).await;
        let reply = self.reads().await;
        assert!(reply.starts_with("Welcome, ann."), "{reply}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_plain_tcp_a_person_logs_in_confirms_answers_and_uses_services() {
    let (port, carrier) = (free_port(), carrier().await);
    let mut server = server(port, &carrier, "").await;
    let mut ann = Nc::connect(port).await;
    ann.log_in(&carrier).await;

    let id = server.api().submit(&asking()).await;
    assert_eq!(ann.reads().await, "Gas leak");
    assert_eq!(ann.reads().await, "Leave by the north gate");
    ann.reads_until("1 = I am safe").await;
    until_state(&server, &id, "accepted").await;
    ann.types("").await;
    assert_eq!(ann.reads().await, "Confirmed.");
    until_state(&server, &id, "delivered").await;

    // A service word is none of the alert's choices.
    ann.types("HELP").await;
    assert_eq!(ann.reads().await, "Received.");
    ann.reads_until("City of X. You can write: STATUS").await;
    ann.types("status").await;
    ann.reads_until("Devices: line …ann, sms …0605").await;

    ann.types("1").await;
    let answered = until_state(&server, &id, "answered").await;
    assert_eq!((&answered["answer"]["key"], &answered["answer"]["via"]), (&json!("1"), &json!("line")));
    let report = server.api().done(&id, LATER).await;
    assert_eq!(count(&report, "answered"), 1, "{report}");

    // The session ends with the server; the code is used up.
    server.kill9();
    server.restart().await;
    let mut again = Nc::connect(port).await;
    again.types("LOGIN ann 000000").await;
    assert!(again.reads().await.starts_with("That code does not fit."));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_nobody_is_logged_in_the_next_device_gets_it_and_the_session_as_soon_as_there_is_one() {
    let (port, carrier) = (free_port(), carrier().await);
    let server = server(port, &carrier, "").await;
    let id = server.api().submit(&asking()).await;
    eventually("the telephone gets it", LATER, async || {
        let all = carrier.messages(10);
        if all.iter().any(|message| message.text.contains("Leave by the north gate")) {
            Ok(())
        } else {
            Err(format!("{all:?}"))
        }
    })
    .await;
    // The telephone reached her: her session is not waited for.
    until_state(&server, &id, "excluded").await;
    // An alert without another device waits, and comes as soon as she does.
    let alone = json!({"text": "Meet at the dock", "audience": ["line:ann"], "terminal": "delivered"});
    let alone = server.api().submit(&alone).await;
    let held = until_state(&server, &alone, "held").await;
    assert!(held["reason"].as_str().unwrap().contains("nobody is logged in as ann"), "{held}");
    let mut ann = Nc::connect(port).await;
    ann.types("LOGIN ann").await;
    ann.reads().await;
    let code = code(&carrier, 2).await;
    ann.types(&format!("code {code}")).await;
    ann.reads_until("Welcome, ann.").await;
    ann.reads_until("Meet at the dock").await;
    ann.types("").await;
    ann.reads_until("Confirmed.").await;
    let report = server.api().done(&alone, LATER).await;
    assert_eq!(count(&report, "delivered"), 1, "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_telnet_a_code_logs_in_and_an_answer_typed_is_in_the_report() {
    let (port, carrier) = (free_port(), carrier().await);
    let server = server(port, &carrier, "").await;
    // The door opens behind that of HTTP.
    drop(Nc::connect(port).await);
    let mut ann = Telnet::connect(port);
    ann.types("LOGIN ann").await;
    ann.reads_until("a code is on its way to sms ...05").await;
    let code = code(&carrier, 1).await;
    ann.types(&format!("CODE {code}")).await;
    ann.reads_until("Welcome, ann.").await;
    let id = server.api().submit(&asking()).await;
    ann.reads_until("Gas leak").await;
    ann.reads_until("Leave by the north gate").await;
    until_state(&server, &id, "accepted").await;
    ann.types("").await;
    ann.reads_until("Confirmed.").await;
    until_state(&server, &id, "delivered").await;
    ann.types("2").await;
    ann.reads_until("Received.").await;
    let answered = until_state(&server, &id, "answered").await;
    assert_eq!(answered["answer"]["key"], "2", "{answered}");
    ann.types("LOGOUT").await;
    ann.reads_until("Logged out.").await;
}
