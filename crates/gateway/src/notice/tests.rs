use super::*;
use arc_swap::ArcSwap;
use bus::Bus;
use bus::embedded::{Fsync, Options};
use net::{Cores, Listener, ListenerLimits, OutboundPolicy, Stream, TlsServer, TlsServerSettings};
use records::{DlrRequest, Intake, Lane, Message, MessageClient, Mode, Short, ShortText, Timestamp};
use settings::Secret;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const LONG: Duration = Duration::from_secs(60);
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn wall() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64)
}

/// A request as it came.
#[derive(Debug, Clone)]
struct ReceivedNotice {
    head: String,
    body: String,
}

impl ReceivedNotice {
    fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value).next().unwrap_or("")
    }
    fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or("")
    }
}

type Answers = Box<dyn FnMut(usize, &ReceivedNotice) -> Option<String> + Send>;

/// An HTTP server that notes what it hears and answers by script; `None`: not at all.
struct Ear {
    heard: Arc<Mutex<Vec<ReceivedNotice>>>,
    connections: Arc<AtomicUsize>,
    address: String,
}

impl Ear {
    async fn open(answers: impl FnMut(usize, &ReceivedNotice) -> Option<String> + Send + 'static) -> Ear {
        Ear::open_with(None, answers).await
    }

    async fn open_with(
        tls: Option<TlsServer>,
        answers: impl FnMut(usize, &ReceivedNotice) -> Option<String> + Send + 'static,
    ) -> Ear {
        Ear::open_at("127.0.0.1:0", tls, answers).await
    }

    async fn open_at(
        address: &str,
        tls: Option<TlsServer>,
        answers: impl FnMut(usize, &ReceivedNotice) -> Option<String> + Send + 'static,
    ) -> Ear {
        let listener = Listener::bind(address, ListenerLimits::of(100)).await.unwrap();
        let address = listener.address().unwrap().to_string();
        let ear = Ear { heard: Arc::default(), connections: Arc::default(), address };
        let (heard, connections) = (Arc::clone(&ear.heard), Arc::clone(&ear.connections));
        let answers: Arc<Mutex<Answers>> = Arc::new(Mutex::new(Box::new(answers)));
        tokio::spawn(async move {
            let cores = Cores::from_handles(Vec::new());
            let serve = listener.serve(&cores, tls, move |stream, _, _| {
                connections.fetch_add(1, Ordering::Relaxed);
                listen(stream, Arc::clone(&heard), Arc::clone(&answers))
            });
            serve.await;
        });
        ear
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    fn heard(&self) -> Vec<ReceivedNotice> {
        self.heard.lock().unwrap().clone()
    }
}

async fn listen(mut stream: Stream, heard: Arc<Mutex<Vec<ReceivedNotice>>>, answers: Arc<Mutex<Answers>>) {
    let mut octets = Vec::new();
    loop {
        let head = loop {
            if let Some(end) = octets.windows(4).position(|window| window == b"\r\n\r\n") {
                break String::from_utf8(octets.drain(..end + 4).collect()).unwrap();
            }
            if stream.read_buf(&mut octets).await.unwrap_or(0) == 0 {
                return;
            }
        };
        let mut request = ReceivedNotice { head, body: String::new() };
        let length: usize = request.header("content-length").parse().unwrap_or(0);
        while octets.len() < length {
            stream.read_buf(&mut octets).await.unwrap();
        }
        request.body = String::from_utf8(octets.drain(..length).collect()).unwrap();
        let number = heard.lock().unwrap().len();
        let answer = (answers.lock().unwrap())(number, &request);
        heard.lock().unwrap().push(request);
        match answer {
            Some(answer) => stream.write_all(answer.as_bytes()).await.unwrap(),
            None => std::future::pending().await,
        }
    }
}

fn answer(status: &str) -> Option<String> {
    Some(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n"))
}

struct TestRoute {
    _dir: tempfile::TempDir,
    bus: Arc<dyn Bus>,
    context: GatewayContext,
}

impl TestRoute {
    fn new() -> TestRoute {
        let dir = tempfile::tempdir().unwrap();
        let bus =
            bus::embedded::open(dir.path(), Options { fsync: Fsync::Os, ..Options::default() }).unwrap();
        let context = GatewayContext::new(Arc::clone(&bus), Arc::new(wall), Arc::new(Cores::new(1).unwrap()));
        let test_route = TestRoute { _dir: dir, bus, context };
        test_route.allow(&["127.0.0.0/8"]);
        test_route
    }

    fn allow(&self, allow: &[&str]) {
        self.context.outbound.store(policy(allow));
    }

    async fn notify(&self, url: &str, id: &str) {
        self.notify_until(url, id, wall().plus_s(600)).await;
    }

    async fn notify_until(&self, url: &str, id: &str, expires: Timestamp) {
        self.append(NoticeVerb::Post, url, id, expires).await;
    }

    async fn append(&self, verb: NoticeVerb, url: &str, id: &str, expires: Timestamp) {
        let notice = Notice {
            verb,
            id: id.to_owned(),
            alert: None,
            url: url.to_owned(),
            content_type: "application/json".to_owned(),
            body: format!("{{\"id\":\"{id}\"}}"),
            at: wall(),
            expires,
        };
        self.bus.topic(NOTICES).unwrap().append(&[&notice.encode()]).await.unwrap();
    }

    fn start(&self) -> RunningGateway {
        self.start_trusting(None)
    }

    fn start_trusting(&self, ca_file: Option<PathBuf>) -> RunningGateway {
        let settings = NoticeSettings {
            ca_file,
            secrets: vec![Secret::from(SECRET)],
            timeout: Duration::from_millis(300),
            retry_first: Duration::from_millis(20),
            retry_max: Duration::from_millis(200),
            ..NoticeSettings::default()
        };
        start(settings, &self.context).unwrap()
    }

    async fn until_told(&self) {
        let group = self.bus.group(NOTICES, GROUP).unwrap();
        wait_for("told", || group.unacknowledged(1).is_empty()).await;
    }
}

async fn wait_for(what: &str, mut test: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !test() {
        assert!(Instant::now() < end, "not {what} in time");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn paths(heard: &[ReceivedNotice]) -> Vec<String> {
    heard.iter().map(|heard| heard.path().to_owned()).collect()
}

#[tokio::test]
async fn a_platforms_own_address_is_asked_for_as_it_is_until_it_answers() {
    let script = |number, heard: &ReceivedNotice| match (number, heard.path()) {
        (_, "/no?a=%20b") if number < 3 => answer("404 Not Found"),
        (_, "/moved") => answer("302 Found\r\nlocation: http://127.0.0.1:1/"),
        (_, "/gone") => answer("410 Gone"),
        _ => answer("202 Accepted"),
    };
    let (test_route, ear) = (TestRoute::new(), Ear::open(script).await);
    for path in ["/no?a=%20b", "/moved", "/gone", "/dlr?id=7&text=gr%C3%BC%C3%9Fe"] {
        test_route.append(NoticeVerb::Fetch, &ear.url(path), path, wall().plus_s(600)).await;
    }
    test_route.append(NoticeVerb::Fetch, "not an address", "nowhere", wall().plus_s(600)).await;
    let running = test_route.start();
    test_route.until_told().await;
    running.stop().await;
    let heard = ear.heard();
    assert!(heard.iter().all(|heard| heard.head.starts_with("GET ") && heard.body.is_empty()));
    assert!(heard.iter().all(|heard| heard.header("webhook-signature").is_empty()));
    let mut asked = paths(&heard);
    asked.sort();
    asked.dedup();
    assert_eq!(asked, ["/dlr?id=7&text=gr%C3%BC%C3%9Fe", "/gone", "/moved", "/no?a=%20b"]);
    assert_eq!(paths(&heard).iter().filter(|path| *path == "/moved").count(), 1);
    assert!(heard.len() > 4, "what was not found was asked for again");
}

#[tokio::test]
async fn callbacks_of_an_account_are_signed_with_its_own_secret() {
    let (test_route, ear) = (TestRoute::new(), Ear::open(|_, _| answer("200 OK")).await);
    let expires = wall().plus_s(600);
    test_route.append(NoticeVerb::Post, &ear.url("/default"), "default", expires).await;
    test_route.append(NoticeVerb::PostFor("north".to_owned()), &ear.url("/north"), "north", expires).await;
    let running = test_route.start();
    test_route.until_told().await;
    running.stop().await;
    let heard = ear.heard();
    assert_eq!(heard.len(), 2);
    for heard in heard {
        let account = &heard.path()[1..];
        let signer = Signer::new(&[account_secret(&SECRET.into(), account).unwrap()]).unwrap();
        let seconds: i64 = heard.header("webhook-timestamp").parse().unwrap();
        let signature = signer.sign(heard.header("webhook-id"), seconds, &heard.body);
        assert_eq!(heard.header("webhook-signature"), signature, "{account}");
    }
}

/// The message that a text in the answer becomes.
fn reply_form() -> Box<Message> {
    Box::new(Message {
        account: "a".to_owned(),
        party: MessageClient::Platform("plat".to_owned()),
        at: Timestamp(0),
        lane: Lane::Routine,
        mode: Mode::Live,
        to: "+46701234567".to_owned(),
        short: Short::default(),
        not_before: None,
        expires: Timestamp(0).plus_s(3_600),
        route: None,
        tell: DlrRequest::default(),
    })
}

#[tokio::test]
async fn a_text_in_the_answer_to_a_callback_becomes_a_message_and_nothing_else_does() {
    let script = |_, heard: &ReceivedNotice| {
        let (kind, body) = match heard.path() {
            "/reply" => ("text/plain; charset=utf-8", "Grüße\n".to_owned()),
            "/blank" => ("text/plain", " \n".to_owned()),
            "/long" => ("text/plain", "x".repeat(1_531)),
            "/page" => ("text/html", "<p>Hello</p>".to_owned()),
            _ => ("text/plain", "Hello".to_owned()),
        };
        let status = if heard.path() == "/moved" { "302 Found" } else { "200 OK" };
        let length = body.len();
        Some(format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"))
    };
    let (test_route, ear) = (TestRoute::new(), Ear::open(script).await);
    for path in ["/blank", "/long", "/page", "/moved", "/reply"] {
        let verb = NoticeVerb::FetchReply(reply_form());
        test_route.append(verb, &ear.url(path), path, wall().plus_s(600)).await;
    }
    test_route.append(NoticeVerb::Fetch, &ear.url("/dlr"), "dlr", wall().plus_s(600)).await;
    let running = test_route.start();
    test_route.until_told().await;
    running.stop().await;
    let intake = test_route.bus.topic(records::INTAKE).unwrap();
    let records = intake.read(0, 10, 1 << 20).unwrap();
    let [record] = records.as_slice() else { panic!("{records:?}") };
    let Intake::Message(message) = Intake::decode(&record.octets).unwrap() else { panic!() };
    assert_eq!(message.short.text, ShortText::Text { text: "Grüße".into(), class: None });
    assert_eq!(message.to, "+46701234567");
    assert_eq!(message.expires, message.at.plus_s(3_600), "it is tried from now on");
    assert!(wall().us_since(message.at) < 600_000_000);
}

#[tokio::test]
async fn one_address_without_an_answer_does_not_hold_up_others_of_its_host() {
    let script = |_, heard: &ReceivedNotice| {
        if heard.path() == "/stuck" { answer("404 Not Found") } else { answer("200 OK") }
    };
    let (test_route, ear) = (TestRoute::new(), Ear::open(script).await);
    for _ in 0..40 {
        test_route.append(NoticeVerb::Fetch, &ear.url("/stuck"), "stuck", wall().plus_s(600)).await;
    }
    for number in 0..2_000 {
        test_route.append(NoticeVerb::Fetch, &ear.url(&format!("/{number}")), "id", wall().plus_s(600)).await;
    }
    let running = test_route.start();
    let told = || ear.heard().iter().filter(|heard| heard.path() != "/stuck").count();
    wait_for("told", || told() == 2_000).await;
    running.stop().await;
    let group = test_route.bus.group(NOTICES, GROUP).unwrap();
    assert_eq!(group.unacknowledged(10_000).len(), 40, "what was not heard is still there");
    assert!(ear.connections() <= 17, "{} connections", ear.connections());
}

#[tokio::test]
async fn a_host_that_is_gone_is_left_alone_for_a_while_and_told_when_it_is_back() {
    let test_route = TestRoute::new();
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for number in 0..200 {
        let url = format!("http://{address}/{number}");
        test_route.append(NoticeVerb::Fetch, &url, "id", wall().plus_s(600)).await;
    }
    let running = test_route.start();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let ear = Ear::open_at(&address, None, |_, _| answer("200 OK")).await;
    test_route.until_told().await;
    running.stop().await;
    assert_eq!(ear.heard().len(), 200);
}

fn ids(heard: &[ReceivedNotice]) -> Vec<String> {
    heard.iter().map(|heard| heard.header("webhook-id").to_owned()).collect()
}

#[tokio::test]
async fn a_notice_is_posted_with_a_signature_that_its_hearer_can_check() {
    let (test_route, ear) = (TestRoute::new(), Ear::open(|_, _| answer("204 No Content")).await);
    test_route.notify(&ear.url("/hook?a=1"), "msg-1").await;
    let running = test_route.start();
    test_route.until_told().await;
    running.stop().await;
    let heard = ear.heard();
    assert_eq!(heard.len(), 1);
    assert!(heard[0].head.starts_with("POST /hook?a=1 HTTP/1.1\r\n"));
    assert_eq!(
        (heard[0].header("content-type"), heard[0].body.as_str()),
        ("application/json", r#"{"id":"msg-1"}"#)
    );
    let timestamp: i64 = heard[0].header("webhook-timestamp").parse().unwrap();
    assert!((timestamp - wall().0 / 1_000_000).abs() <= 5);
    let signer = Signer::new(&[Secret::from(SECRET)]).unwrap();
    assert_eq!(heard[0].header("webhook-signature"), signer.sign("msg-1", timestamp, &heard[0].body));
}

#[tokio::test]
async fn a_notice_is_told_again_until_it_is_heard_and_those_behind_it_wait() {
    let script = |number, _: &ReceivedNotice| match number {
        0 => answer("500 Internal Server Error"),
        1 => answer("302 Found\r\nlocation: http://127.0.0.1:1/"),
        2 => answer("404 Not Found"),
        3 => None,
        _ => answer("200 OK"),
    };
    let (test_route, ear) = (TestRoute::new(), Ear::open(script).await);
    test_route.notify(&ear.url("/"), "first").await;
    test_route.notify(&ear.url("/"), "second").await;
    let running = test_route.start();
    test_route.until_told().await;
    running.stop().await;
    assert_eq!(ids(&ear.heard()), ["first", "first", "first", "first", "first", "second"]);
}

#[tokio::test]
async fn a_slow_address_does_not_hold_up_others() {
    let script =
        |_, heard: &ReceivedNotice| if heard.path().starts_with("/slow") { None } else { answer("200 OK") };
    let (test_route, ear) = (TestRoute::new(), Ear::open(script).await);
    for number in 0..300 {
        test_route.notify(&ear.url("/slow"), &format!("slow-{number}")).await;
    }
    for number in 0..300 {
        test_route.notify(&ear.url("/quick"), &format!("quick-{number}")).await;
    }
    let running = test_route.start();
    let quick = || ear.heard().into_iter().filter(|heard| heard.path() == "/quick").collect::<Vec<_>>();
    wait_for("told", || quick().len() == 300).await;
    let expected: Vec<String> = (0..300).map(|number| format!("quick-{number}")).collect();
    assert_eq!(ids(&quick()), expected, "each once, in order");
    running.stop().await;
    let group = test_route.bus.group(NOTICES, GROUP).unwrap();
    assert_eq!(group.unacknowledged(1_000).len(), 300, "what was not heard is still there");
}

#[tokio::test]
async fn an_address_that_is_gone_and_a_notice_out_of_time_are_given_up() {
    let (test_route, ear) = (
        TestRoute::new(),
        Ear::open(|_, heard| {
            if heard.path() == "/gone" {
                answer("410 Gone")
            } else {
                answer("503 Service Unavailable\r\nretry-after: 0")
            }
        })
        .await,
    );
    test_route.notify(&ear.url("/gone"), "gone-1").await;
    test_route.notify(&ear.url("/gone"), "gone-2").await;
    test_route.notify("not an address", "nowhere").await;
    test_route.notify_until(&ear.url("/late"), "late", wall().plus_us(150_000)).await;
    let running = test_route.start();
    test_route.until_told().await;
    running.stop().await;
    let heard = ear.heard();
    assert_eq!(heard.iter().filter(|heard| heard.path() == "/gone").count(), 1);
    assert!(
        heard.iter().filter(|heard| heard.path() == "/late").count() >= 2,
        "it was tried while there was time"
    );
}

#[tokio::test]
async fn what_was_not_told_before_a_stop_is_told_after_it() {
    let (test_route, ear) =
        (TestRoute::new(), Ear::open(|number, _| if number == 0 { None } else { answer("200 OK") }).await);
    test_route.notify(&ear.url("/"), "once").await;
    let running = test_route.start();
    wait_for("heard", || ear.heard().len() == 1).await;
    running.stop().await;
    let running = test_route.start();
    test_route.until_told().await;
    running.stop().await;
    assert_eq!(ids(&ear.heard()), ["once", "once"]);
}

#[tokio::test]
async fn a_notice_goes_by_tls_to_whom_is_trusted_and_to_nobody_else() {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (cert_file, key_file) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    std::fs::write(&cert_file, made.cert.pem()).unwrap();
    std::fs::write(&key_file, made.signing_key.serialize_pem()).unwrap();
    let tls = TlsServer::new(&TlsServerSettings { cert_file: cert_file.clone(), key_file }).unwrap();
    let (test_route, ear) = (TestRoute::new(), Ear::open_with(Some(tls), |_, _| answer("200 OK")).await);
    let url = ear.url("/").replace("http:", "https:");
    test_route.notify_until(&url, "distrusted", wall().plus_us(200_000)).await;
    let running = test_route.start();
    test_route.until_told().await;
    running.stop().await;
    assert_eq!(ids(&ear.heard()), Vec::<String>::new());
    test_route.notify(&url, "trusted").await;
    let running = test_route.start_trusting(Some(cert_file));
    test_route.until_told().await;
    running.stop().await;
    assert_eq!(ids(&ear.heard()), ["trusted"]);
}

/// A resolver that knows one name, and gives it other addresses each time.
fn lookup(answers: Vec<Vec<&'static str>>) -> (caller::Lookup, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let lookup: caller::Lookup = Arc::new(move |_| {
        let number = counted.fetch_add(1, Ordering::Relaxed);
        let found = answers.get(number).or(answers.last()).cloned().unwrap_or_default();
        let found = found.iter().map(|ip| std::net::SocketAddr::new(ip.parse().unwrap(), 0)).collect();
        Box::pin(async move { Ok(found) })
    });
    (lookup, asked)
}

/// What comes of a call, and how it ended in words.
async fn call(caller: &OutboundCaller, url: &str) -> Result<u16, String> {
    match caller.request(reqwest::Method::POST, url) {
        Err(caller::NoCall::NoUrl) => Err("no URL".to_owned()),
        Err(caller::NoCall::Refused(why)) => Err(why),
        Ok(request) => request.send().await.map(|answer| answer.status().as_u16()).map_err(line::words),
    }
}

fn policy(allow: &[&str]) -> Arc<OutboundPolicy> {
    let allow: Vec<String> = allow.iter().map(|entry| (*entry).to_owned()).collect();
    Arc::new(OutboundPolicy::new(&allow).unwrap())
}

#[tokio::test]
async fn a_name_is_judged_by_what_it_resolves_to_whenever_it_is_resolved() {
    let ear = Ear::open(|_, _| answer("200 OK")).await;
    let url = format!("http://hooks.example:{}/", ear.address.rsplit(':').next().unwrap());
    let shared = Arc::new(ArcSwap::new(policy(&[])));
    let settings =
        NoticeSettings { connect_timeout: Duration::from_millis(200), ..NoticeSettings::default() };
    // Public when it is first looked at, ours when it is called: as a rebinding name server answers.
    let (rebinding, asked) = lookup(vec![vec!["127.0.0.1"], vec!["::ffff:127.0.0.1", "10.0.0.1"], vec![]]);
    let caller = OutboundCaller::new(&settings.caller(), shared.clone(), rebinding).unwrap();
    for _ in 0..3 {
        let refused = call(&caller, &url).await.unwrap_err();
        assert_eq!(refused, net::OutboundRefusal::Resolved.to_string());
        assert!(!refused.contains("127.0.0.1"), "{refused}");
    }
    assert_eq!((asked.load(Ordering::Relaxed), ear.connections()), (3, 0));
    // Of several addresses the allowed ones alone are connected to.
    shared.store(policy(&["127.0.0.0/8"]));
    let (both, _) = lookup(vec![vec!["10.0.0.1", "127.0.0.1"]]);
    let caller = OutboundCaller::new(&settings.caller(), shared.clone(), both).unwrap();
    assert_eq!(call(&caller, &url).await, Ok(200));
    // A reload that takes it back takes the open connection too.
    shared.store(policy(&[]));
    assert_eq!(call(&caller, &url).await, Err(net::OutboundRefusal::Resolved.to_string()));
    assert_eq!(ear.connections(), 1);
}

#[tokio::test]
async fn an_inner_address_is_not_called_whether_somebody_listens_there_or_not() {
    let ear = Ear::open(|_, _| answer("200 OK")).await;
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let open: u16 = ear.address.rsplit(':').next().unwrap().parse().unwrap();
    let shared = Arc::new(ArcSwap::new(policy(&[])));
    let caller =
        OutboundCaller::new(&NoticeSettings::default().caller(), shared.clone(), caller::system_lookup())
            .unwrap();
    for host in ["127.0.0.1", "[::ffff:127.0.0.1]", "2130706433", "localhost", "0x7f.1."] {
        let words = |port| {
            let (caller, url) = (caller.clone(), format!("http://{host}:{port}/x"));
            async move { call(&caller, &url).await.unwrap_err() }
        };
        assert_eq!(words(open).await, words(closed).await, "{host}");
    }
    assert_eq!(ear.connections(), 0);
}

#[tokio::test]
async fn a_refused_notice_waits_and_goes_when_a_reload_allows_it() {
    let (test_route, ear) = (TestRoute::new(), Ear::open(|_, _| answer("200 OK")).await);
    test_route.allow(&[]);
    test_route.notify(&ear.url("/posted"), "posted").await;
    test_route.append(NoticeVerb::Fetch, &ear.url("/fetched"), "fetched", wall().plus_s(600)).await;
    let running = test_route.start();
    let group = test_route.bus.group(NOTICES, GROUP).unwrap();
    wait_for("taken", || group.unacknowledged(10).len() == 2).await;
    test_route.allow(&["127.0.0.0/8"]);
    test_route.until_told().await;
    running.stop().await;
    let mut asked = paths(&ear.heard());
    asked.sort();
    assert_eq!(asked, ["/fetched", "/posted"]);
}
