//! People who log in at the door, over real sockets.

use super::*;
use bus::Topic;
use engine::LoginDevice;
use futures_util::future::BoxFuture;
use records::{AlertNo, EndpointNo, LineBlock, OUTCOMES, Outcome, ReceiptState, Timestamp, decode_outcomes};
use std::any::Any;
use std::net::IpAddr;
use std::sync::Mutex;

/// Ann has a telephone, and Bo nothing but the session.
#[derive(Default)]
struct Desk {
    codes: Mutex<Vec<(String, String)>>,
    noted: Mutex<Vec<(String, LoginProof)>>,
}

impl LoginDesk for Desk {
    fn devices(&self, id: String) -> BoxFuture<'static, Result<Vec<LoginDevice>, String>> {
        let phone = LoginDevice {
            account: "default".to_owned(),
            channel: channels::SMS,
            address: "+46701740605".to_owned(),
            language: None,
            person: "ann".to_owned(),
        };
        Box::pin(std::future::ready(Ok(if id == "ann" { vec![phone] } else { Vec::new() })))
    }

    fn send_code(
        &self,
        device: LoginDevice,
        _: String,
        code: String,
    ) -> BoxFuture<'static, Result<(), String>> {
        self.codes.lock().unwrap().push((device.address, code));
        Box::pin(std::future::ready(Ok(())))
    }

    fn logged_in(&self, id: String, _: IpAddr, by: LoginProof) -> BoxFuture<'static, Result<(), String>> {
        self.noted.lock().unwrap().push((id, by));
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The open sessions.
#[derive(Default)]
struct Register(Arc<Mutex<Vec<(String, SessionWriter)>>>);

struct Entry(Arc<Mutex<Vec<(String, SessionWriter)>>>, String);

impl Drop for Entry {
    fn drop(&mut self) {
        self.0.lock().unwrap().retain(|(id, _)| *id != self.1);
    }
}

impl SessionRegister for Register {
    fn open(&self, id: &str, writer: SessionWriter) -> Option<Box<dyn Any + Send + Sync>> {
        self.0.lock().unwrap().push((id.to_owned(), writer));
        Some(Box::new(Entry(Arc::clone(&self.0), id.to_owned())))
    }
}

/// A route that writes into sessions.
fn users() -> TopicUsers {
    TopicUsers { is_shared: false, line_route: Some("desks".to_owned()) }
}

/// A door at which people log in.
struct Desks {
    door: TestDoor,
    desk: Arc<Desk>,
    register: Arc<Register>,
}

impl Desks {
    fn open() -> Desks {
        let config = TopicsConfig { others: users(), ..config() };
        Desks::open_with(config)
    }

    fn open_with(config: TopicsConfig) -> Desks {
        let (desk, register) = (Arc::<Desk>::default(), Arc::<Register>::default());
        let people = PeopleDeps {
            desk: desk.clone(),
            register: register.clone(),
            clock: Arc::new(|| Timestamp(7)),
            mask_key: [7; 32],
        };
        Desks { door: TestDoor::open_for(config, Some(people)), desk, register }
    }

    fn client(&self) -> Client {
        self.door.client().ending(b"\n")
    }

    /// Ann, logged in by a code.
    fn ann(&self) -> Client {
        let mut client = self.client();
        client.ask("LOGIN ann");
        let code = self.code();
        let welcome = client.ask(&format!("CODE {code}"));
        assert!(welcome.starts_with("Welcome, ann."), "{welcome}");
        client
    }

    fn code(&self) -> String {
        self.desk.codes.lock().unwrap().last().unwrap().1.clone()
    }

    fn open_sessions(&self) -> usize {
        self.register.0.lock().unwrap().len()
    }

    /// Writes a block into the session.
    fn write(&self, endpoint: u32, asks: bool, text: &str) -> WriteResult {
        let block = LineBlock {
            route: "desks".to_owned(),
            of: (AlertNo(1), EndpointNo(endpoint)),
            id: format!("a/{endpoint}"),
            asks,
            lines: vec![text.to_owned()],
        };
        let writer = self.register.0.lock().unwrap().last().unwrap().1.clone();
        self.door.runtime.block_on(writer.write(Arc::new(block)))
    }

    fn outcomes(&self) -> Vec<Outcome> {
        let topic: Arc<dyn Topic> = self.door.bus.as_ref().unwrap().topic(OUTCOMES).unwrap();
        let records = topic.read(0, 1_000, 1_000_000).unwrap();
        records.iter().flat_map(|record| decode_outcomes(&record.octets).unwrap()).collect()
    }

    fn until_open(&self, count: usize) {
        let end = std::time::Instant::now() + PATIENCE;
        while self.open_sessions() != count {
            assert!(std::time::Instant::now() < end, "{} sessions", self.open_sessions());
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_code_goes_to_another_device_and_an_unknown_id_gets_the_same_words() {
    let desks = Desks::open();
    let mut client = desks.client();
    let known = client.ask("LOGIN Ann");
    assert_eq!(
        known,
        "If ann may log in here, a code is on its way to sms ...05. Type CODE and its six digits within 10 minutes."
    );
    let unknown = client.ask("LOGIN eve");
    let (front, tail) =
        known.replace("ann", "eve").split_once("05").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert!(unknown.starts_with(&front) && unknown.ends_with(&tail), "{unknown}");
    assert_eq!(client.ask("LOGIN eve"), unknown, "the same each time");
    assert_eq!(desks.desk.codes.lock().unwrap().len(), 1);
    let refused = client.ask("CODE 000000");
    assert_eq!(refused, "That code does not fit. Type LOGIN eve for another one.");
    let code = desks.code();
    assert!(client.ask(&format!("LOGIN ann {code}")).starts_with("Welcome, ann."));
    assert_eq!(*desks.desk.noted.lock().unwrap(), [("ann".to_owned(), LoginProof::Code)]);
    // A code is good once.
    assert!(desks.client().ask(&format!("LOGIN ann {code}")).starts_with("That code does not fit."));
}

#[test]
fn an_alert_appears_in_the_session_enter_confirms_it_and_what_is_typed_answers() {
    let desks = Desks::open();
    let mut ann = desks.ann();
    assert_eq!(ann.ask(""), "No alert waits to be confirmed.");
    assert_eq!(desks.write(1, true, "Leave by the north gate"), WriteResult::Taken);
    assert_eq!((ann.hear(), ann.hear()), (String::new(), "Leave by the north gate".to_owned()));
    assert_eq!(ann.ask(""), "Confirmed.");
    assert_eq!(desks.write(2, false, "All clear"), WriteResult::Taken);
    assert_eq!((ann.hear(), ann.hear()), (String::new(), "All clear".to_owned()));
    assert_eq!(ann.ask(" 1 "), "Received.");
    let [Outcome::Receipt(first), Outcome::Receipt(second), Outcome::Inbound(said)] = &desks.outcomes()[..]
    else {
        panic!("{:?}", desks.outcomes())
    };
    assert_eq!((first.id.as_str(), second.id.as_str()), ("a/1", "a/2"));
    assert_eq!((first.state, first.keys.len()), (ReceiptState::Delivered, 1));
    assert_eq!((said.from.as_str(), said.text.as_str(), said.route.as_str()), ("ann", "1", "desks"));
    assert_eq!(said.of, Some((AlertNo(1), EndpointNo(1))), "of the last that asked");
    // Requests of the topic protocol stay what they are.
    assert_eq!((ann.ask("POST@news#hello"), ann.ask("COUNT@news")), ("0".to_owned(), "1".to_owned()));
    assert_eq!(ann.ask("logout"), "Logged out.");
    assert_eq!((desks.open_sessions(), ann.ask("HELP")), (0, String::new()));
}

#[test]
fn a_session_ends_with_its_connection_and_nothing_is_written_into_it_then() {
    let desks = Desks::open();
    let ann = desks.ann();
    assert_eq!(desks.open_sessions(), 1);
    let writer = desks.register.0.lock().unwrap()[0].1.clone();
    drop(ann);
    desks.until_open(0);
    let block = LineBlock {
        route: String::new(),
        of: (AlertNo(1), EndpointNo(1)),
        id: String::new(),
        asks: false,
        lines: Vec::new(),
    };
    assert_eq!(desks.door.runtime.block_on(writer.write(Arc::new(block))), WriteResult::Ended);
}

#[test]
fn a_token_of_an_operator_logs_in_under_any_id_and_the_session_ends_with_it() {
    let desks = Desks::open();
    let mut client = desks.client();
    let refused = client.ask("LOGIN desk-7 viewer");
    assert_eq!(refused, "That is no token of an operator: desk-7 is not logged in.");
    assert!(client.ask("LOGIN desk-7 operator").starts_with("Welcome, desk-7."));
    assert_eq!(*desks.desk.noted.lock().unwrap(), [("desk-7".to_owned(), LoginProof::Token)]);
    desks.door.live.end("operator");
    client.ends();
    desks.until_open(0);
}

#[test]
fn three_wrong_codes_end_the_connection() {
    let desks = Desks::open();
    let mut client = desks.client();
    assert_eq!(client.ask("CODE 1"), "", "who never asked to log in types a request that is none");
    client.ask("LOGIN eve");
    for _ in 0..3 {
        assert!(client.ask("CODE 000000").starts_with("That code does not fit."));
    }
    client.ends();
}

#[test]
fn a_telnet_client_has_its_options_refused_and_ends_its_lines_as_it_likes() {
    let desks = Desks::open();
    let mut client = desks.door.client();
    client.send(b"\xff\xfd\x03LOGIN operator operator\r\0");
    let mut refusal = [0; 3];
    std::io::Read::read_exact(&mut client.stream, &mut refusal).unwrap();
    assert_eq!(refusal, [0xff, 0xfc, 3]);
    let mut client = client.ending(b"\r\n");
    assert!(client.hear().starts_with("Welcome, operator."));
    client.send(b"\r\0");
    assert_eq!(client.hear(), "No alert waits to be confirmed.");
}

#[test]
fn who_is_not_of_this_machine_logs_in_without_a_token_and_gets_no_topics_by_that() {
    let listen = Some(SocketAddr::from(([0, 0, 0, 0], 0)));
    let desks = Desks::open_with(TopicsConfig { listen, others: users(), ..config() });
    let mut ann = desks.ann();
    assert_eq!(ann.ask("LIST"), "DENIED");
    assert_eq!(desks.write(1, false, "Fire"), WriteResult::Taken);
    assert_eq!((ann.hear(), ann.hear()), (String::new(), "Fire".to_owned()));
}

#[test]
fn without_a_route_into_sessions_nobody_can_log_in() {
    let door = TestDoor::open();
    let mut client = door.client().ending(b"\n");
    assert_eq!((client.ask("LOGIN ann"), client.ask("LIST")), (String::new(), String::new()));
}
