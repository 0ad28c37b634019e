//! Services: people who write a word from a telephone, a mailbox, a messenger or a terminal get what they ask
//! for; robots, strangers and other servers get no reply.

use crate::fixtures::{LATER, SOON, carrier_with, count, mail_server, number};
use it::{Api, Server, Telnet, eventually, free_port, mail_route, sms_route};
use serde_json::{Value, json};
use sim::im::{ImOptions, Messengers};
use sim::mailbox::Mailbox;
use sim::smsc::{Injection, Smsc};
use sim::town::Habits;
use std::collections::BTreeMap;
use std::time::SystemTime;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

const PHONE: u64 = 7;
const MAILBOX: &str = "ann@town.test";
const MATRIX: &str = "matrix:@ben:sim.example";
/// The phone that the code of a login comes to.
const PHONE_OF_EVE: u64 = 8;

/// The world outside with a person at each device, and the server between them.
struct Devices {
    carrier: Smsc,
    mails: Mailbox,
    networks: Messengers,
    door: u16,
    topics: u16,
    server: Server,
    /// Eve's terminal, once she has logged in.
    terminal: Mutex<Option<Telnet>>,
}

impl Devices {
    async fn start() -> Devices {
        let carrier = carrier_with(Habits::silent(1)).await;
        let mails = mail_server().await;
        let networks =
            Messengers::start(ImOptions { receipts: false, ..ImOptions::default() }).await.unwrap();
        let (door, topics) = (free_port(), free_port());
        let config = format!(
            "[topics]\nlisten = \"127.0.0.1:{topics}\"\n\
             [[route]]\nname = \"desks\"\nchannel = \"line\"\nmode = \"live\"\n[smtp]\nlisten = \"127.0.0.1:{door}\"\ndomain = \"in.city.test\"\n\
             authserv_id = \"mx.city.test\"\nauthserv_from = [\"127.0.0.1\"]\n{}{}\
             [[route]]\nname = \"matrix\"\nchannel = \"im\"\nprotocol = \"matrix\"\nmode = \"live\"\n\
             homeserver = \"http://{}\"\naccess_token = \"token\"\n\
             [[send]]\nname = \"evac\"\npin = \"471147\"\nwho = [\"group:duty\"]\n\
             headline = \"All out now\"\ntext = \"Leave by the nearest door.\"\naudience = [\"group:staff\"]\n",
            sms_route("carrier", carrier.address(), ""),
            mail_route("relay", mails.address(), ""),
            networks.address(),
        );
        let server = Server::start(&config).await;
        let devices = Devices { carrier, mails, networks, door, topics, server, terminal: Mutex::default() };
        devices.people().await;
        devices
    }

    async fn people(&self) {
        let api = self.server.api();
        for group in [
            json!({"id": "harbour", "name": "Harbour", "join": "open"}),
            json!({"id": "duty", "name": "On duty"}),
            json!({"id": "staff", "name": "Staff"}),
        ] {
            api.post("/api/v1/groups", &group).await.expect(201);
        }
        let person = |id: &str, channel: &str, address: &str| json!({"id": id, "name": id, "groups": ["duty"], "devices": [{"channel": channel, "address": address}]});
        let warden = json!({"id": "warden", "name": "Warden", "groups": ["staff"], "sms": [number(9)]});
        let people = json!([
            person("tom", "sms", &number(PHONE)),
            person("ann", "mail", MAILBOX),
            person("ben", "im", MATRIX),
            json!({"id": "eve", "name": "eve", "groups": ["duty"], "devices": [
                {"channel": "line", "address": "eve"}, {"channel": "sms", "address": number(PHONE_OF_EVE)}]}),
            warden
        ]);
        api.add_recipients(&people).await;
    }

    /// The texts that came to a device, the oldest first.
    fn texts(&self, device: &str) -> Vec<String> {
        match device {
            "sms" => {
                let phone = number(PHONE);
                let is_ours = |to: &str| to.trim_start_matches('+') == phone.trim_start_matches('+');
                let messages = self.carrier.messages(1_000);
                messages.into_iter().filter(|one| is_ours(&one.to)).map(|one| one.text).collect()
            }
            "mail" => self.mails.mails(1_000).iter().map(|mail| mail.words().text).collect(),
            "matrix" => self.networks.messages(1_000).into_iter().map(|one| one.text).collect(),
            other => panic!("{other} is no device of this story"),
        }
    }

    /// The person at a device writes.
    async fn write(&self, device: &str, text: &str) {
        match device {
            "sms" => self.phone_writes(PHONE, text),
            "mail" => {
                let last = self.mails.mails(1_000).into_iter().max_by_key(|mail| mail.at_us).unwrap().words();
                self.mail(MAILBOX, &last.reply_to, "", &format!("Re: {}", last.subject), text).await;
            }
            "matrix" => self.networks.say(MATRIX, text),
            "line" => self.terminal.lock().await.as_mut().unwrap().types(text).await,
            other => panic!("{other} is no device of this story"),
        }
    }

    /// Eve logs in at a terminal, with the code that her telephone gets.
    async fn log_in(&self) {
        let mut telnet = Telnet::connect(self.topics);
        telnet.types("LOGIN eve").await;
        telnet.reads_until("a code is on its way").await;
        let code = eventually("the code comes", SOON, async || {
            let texts = self.carrier.messages(1_000).into_iter().map(|message| message.text);
            let mut code =
                texts.filter_map(|text| text.contains("log in as eve").then(|| text[..6].to_owned()));
            code.next_back().ok_or("none")
        })
        .await;
        telnet.types(&format!("CODE {code}")).await;
        telnet.reads_until("Welcome, eve").await;
        *self.terminal.lock().await = Some(telnet);
    }

    fn phone_writes(&self, phone: u64, text: &str) {
        let from = number(phone).trim_start_matches('+').to_owned();
        let to = "46700000001".to_owned();
        let injection = Injection { from, to, text: text.to_owned(), account: None, long: None };
        self.carrier.inject(&injection).unwrap();
    }

    /// A mail to the server's own door.
    async fn mail(&self, from: &str, to: &str, headers: &str, subject: &str, text: &str) {
        let stream = TcpStream::connect(("127.0.0.1", self.door)).await.unwrap();
        let (read, mut write) = stream.into_split();
        let mut lines = BufReader::new(read).lines();
        let body = format!(
            "From: <{from}>\r\nTo: <{to}>\r\n{headers}Message-ID: <{}@town.test>\r\nSubject: {subject}\r\n\r\n{text}\r\n.",
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos()
        );
        let steps =
            ["EHLO town.test", &format!("MAIL FROM:<{from}>"), &format!("RCPT TO:<{to}>"), "DATA", &body];
        for step in std::iter::once("").chain(steps) {
            if !step.is_empty() {
                write.write_all(format!("{step}\r\n").as_bytes()).await.unwrap();
            }
            let reply = loop {
                let line = lines.next_line().await.unwrap().expect("the door answers");
                if line.as_bytes().get(3) != Some(&b'-') {
                    break line;
                }
            };
            assert!(reply.starts_with('2') || reply.starts_with('3'), "{step}: {reply}");
        }
    }

    /// Writes, and gives the text that comes for it.
    async fn ask(&self, device: &str, text: &str, expected: &str) -> String {
        let before = self.count(device);
        self.write(device, text).await;
        self.hears(device, before, expected).await
    }

    /// How many texts came to a device; a terminal is read on from where it is.
    fn count(&self, device: &str) -> usize {
        if device == "line" { 0 } else { self.texts(device).len() }
    }

    /// The text that comes to a device behind so many others.
    async fn hears(&self, device: &str, before: usize, expected: &str) -> String {
        if device == "line" {
            return self.terminal.lock().await.as_mut().unwrap().reads_until(expected).await;
        }
        eventually(&format!("{device} hears {expected:?}"), SOON, async || {
            let texts = self.texts(device);
            let new = texts.get(before..).unwrap_or_default();
            let found = new.iter().find(|text| text.contains(expected)).cloned();
            found.ok_or_else(|| format!("{new:?}"))
        })
        .await
    }
}

async fn person(api: &Api, id: &str) -> Value {
    api.get(&format!("/api/v1/recipients/{id}")).await.expect(200)
}

/// An alert that everybody at a device gets, before which mail has nothing to reply to.
async fn welcome(devices: &Devices, reached: u64) {
    let api = devices.server.api();
    let id = api
        .submit(&json!({"headline": "Welcome", "text": "This is the city.", "audience": ["group:duty"]}))
        .await;
    api.until(&id, "all have it", LATER, |report| {
        count(report, "accepted") + count(report, "delivered") == reached
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_word_does_the_same_by_sms_mail_matrix_and_telnet() {
    let devices = Devices::start().await;
    let api = devices.server.api();
    devices.log_in().await;
    welcome(&devices, 5).await;
    for (device, who) in [("sms", "tom"), ("mail", "ann"), ("matrix", "ben"), ("line", "eve")] {
        devices.ask(device, "HELP", "STATUS").await;
        devices.ask(device, "GROUPS", "Harbour").await;
        devices.ask(device, "join harbour!", "Now in the group Harbour").await;
        devices.ask(device, "STATUS", "Harbour").await;
        devices.ask(device, "LANG sv", "svenska").await;
        devices.ask(device, "LANG en", "English").await;
        devices.ask(device, "QUIET 22-7", "from 22:00 to 07:00").await;
        assert_eq!(person(&api, who).await["quiet_hours"], "22:00-07:00", "{device}");
        devices.ask(device, "QUIET OFF", "No quiet hours").await;
        devices.ask(device, "SUBSCRIBE flood", "Subscribed to: flood").await;
        devices.ask(device, "LEAVE harbour", "No longer in the group Harbour").await;

        let read_back = devices.ask(device, "SEND evac 471147", "YES ").await;
        let code: String =
            read_back.split("YES ").nth(1).unwrap().chars().take_while(char::is_ascii_digit).collect();
        devices.ask(device, &format!("YES {code}"), "All out now").await;
        eventually("the alert of the template is out", SOON, async || {
            let alerts = api.get("/api/v1/alerts").await.expect(200);
            let sent = alerts["items"].as_array().unwrap();
            let sent = sent.iter().filter(|alert| alert["headline"] == "All out now").count();
            let expected =
                ["sms", "mail", "matrix", "line"].iter().position(|one| *one == device).unwrap() + 1;
            if sent == expected { Ok(()) } else { Err(format!("{sent} of {expected}: {alerts}")) }
        })
        .await;

        let asking = json!({
            "text": "Are you safe?", "audience": [format!("recipient:{who}")], "strategy": "first-reachable", "require_answer": true,
            "choices": [{"key": "1", "label": "I am safe"}, {"key": "2", "label": "I need help"}],
        });
        let before = devices.count(device);
        let id = api.submit(&asking).await;
        devices.hears(device, before, "Are you safe?").await;
        devices.write(device, "2").await;
        let report = api.until(&id, "it is answered", SOON, |report| count(report, "answered") == 1).await;
        assert_eq!(report["answers"], json!({"2": 1}), "{device}: {report}");

        devices.write(device, "STOP").await;
        eventually(&format!("{who} is left out"), SOON, async || {
            let person = person(&api, who).await;
            if person["devices"][0]["opted_out"] == true { Ok(()) } else { Err(person) }
        })
        .await;
    }
    let audit = api.get("/api/v1/audit?limit=1000").await.expect(200);
    let verbs = audit["items"].as_array().unwrap().iter().fold(BTreeMap::new(), |mut verbs, act| {
        *verbs.entry(act["verb"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        verbs
    });
    let expected = [("join", 4), ("leave", 4), ("language", 8), ("quiet", 8), ("subscribe", 4), ("send", 4)];
    for (verb, count) in expected {
        assert_eq!(verbs.get(&format!("service.{verb}")), Some(&count), "{verb}: {verbs:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_automatic_mail_bots_and_other_servers_get_no_reply() {
    let devices = Devices::start().await;
    // Nobody is logged in at the terminal.
    welcome(&devices, 4).await;
    let count_all = || -> usize {
        devices.carrier.messages(1_000).len()
            + devices.mails.mails(1_000).len()
            + devices.networks.messages(1_000).len()
    };
    let before = count_all();
    devices.phone_writes(50, "STATUS");
    devices.networks.say("matrix:@stranger:sim.example", "STATUS");
    let last = devices.mails.mails(1_000).pop().unwrap().words();
    for headers in ["Auto-Submitted: auto-replied\r\n", "Precedence: bulk\r\n", "X-Autoreply: yes\r\n"] {
        devices.mail(MAILBOX, &last.reply_to, headers, "Away", "STATUS").await;
    }
    // What this server itself replies to GROUPS, as another of its kind would send it.
    let reply = devices.ask("sms", "GROUPS", "Harbour").await;
    for _ in 0..3 {
        devices.phone_writes(PHONE, &reply);
    }
    // Somebody known is replied to still, behind all of them.
    devices.ask("matrix", "GROUPS", "Harbour").await;
    devices.ask("mail", "GROUPS", "Harbour").await;
    // The other server's words are nobody's service word: they get the list of words, once.
    assert_eq!(count_all() - before, 3 + 1, "three asked, and three were replied to");
}

/// The link to a person's own page in a text.
fn link_of(text: &str) -> String {
    let word = text.split_whitespace().find(|word| word.contains("/p/"));
    word.unwrap_or_else(|| panic!("no link in {text}")).to_owned()
}

/// The person opens the link of a mail, and confirms what it asks for.
async fn confirm(server: &Server, link: &str, asks: &str) -> String {
    let anybody = Api::new(&server.url(), "");
    let page = anybody.get(link).await;
    assert!(
        page.status == 200 && page.text.contains(asks) && page.text.contains("Yes, do it"),
        "{}",
        page.text
    );
    let field = |name: &str| {
        let behind = page.text.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap();
        behind.split('"').next().unwrap().to_owned()
    };
    let body = format!("form={}&act=word&word={}", field("form"), field("word").replace(' ', "+"));
    let path = link.split('?').next().unwrap();
    let request = anybody.request(reqwest::Method::POST, path);
    let request = request.header("content-type", "application/x-www-form-urlencoded").body(body);
    anybody.send(request).await.text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_is_believed_by_its_tag_or_the_note_of_the_relay_and_else_asks_to_confirm() {
    const UNTAGGED: &str = "answers@in.city.test";
    const BEA: &str = "bea@town.test";
    let devices = Devices::start().await;
    let api = devices.server.api();
    let bea = json!({"id": "bea", "name": "Bea", "devices": [{"channel": "mail", "address": BEA}]});
    api.add_recipients(&json!([bea])).await;
    welcome(&devices, 4).await;
    let is_in = async |who: &str| {
        let groups = person(&api, who).await["groups"].clone();
        groups.as_array().unwrap().contains(&json!("harbour"))
    };

    // The relay notes that the author's domain vouches for it.
    let passed = "Authentication-Results: mx.city.test; dmarc=pass header.from=town.test\r\n";
    let before = devices.count("mail");
    devices.mail(MAILBOX, UNTAGGED, passed, "Group", "JOIN harbour").await;
    devices.hears("mail", before, "Now in the group Harbour").await;
    assert!(is_in("ann").await);

    // Another server notes it, or nobody, or another domain is vouched for.
    for headers in [
        "Authentication-Results: mx.evil.test; dmarc=pass header.from=town.test\r\n",
        "",
        "Authentication-Results: mx.city.test; dmarc=pass header.from=evil.test\r\n",
    ] {
        let before = devices.count("mail");
        devices.mail(MAILBOX, UNTAGGED, headers, "Group", "LEAVE harbour").await;
        devices.hears("mail", before, "A mail in your name asks").await;
        assert!(is_in("ann").await, "{headers}");
    }
    let before = devices.count("mail");
    devices.mail(MAILBOX, UNTAGGED, "", "Group", "LEAVE harbour").await;
    let text = devices.hears("mail", before, "LEAVE harbour").await;
    let left = confirm(&devices.server, &link_of(&text), "LEAVE harbour").await;
    assert!(left.contains("You have left the group"), "{left}");
    assert!(!is_in("ann").await);

    // The tag of a mail to Ann makes nobody Bea.
    let of_ann =
        devices.mails.mails(1_000).into_iter().find(|mail| mail.words().to.contains(&MAILBOX.to_owned()));
    let before = devices.count("mail");
    devices.mail(BEA, &of_ann.unwrap().words().reply_to, "", "Re: Welcome", "JOIN harbour").await;
    devices.hears("mail", before, "A mail in your name asks").await;
    assert!(!is_in("bea").await);

    // STOP by a mail that may be of anybody stops nothing, and is not lost.
    let before = devices.count("mail");
    devices.mail(MAILBOX, UNTAGGED, "", "Stop", "STOP").await;
    devices.hears("mail", before, "Use your page instead").await;
    assert_ne!(person(&api, "ann").await["devices"][0]["opted_out"], true);
    let stops = api.get("/api/v1/stops").await.text;
    assert!(stops.contains(MAILBOX), "{stops}");
    let before = devices.count("mail");
    devices.mail("eve@town.test", UNTAGGED, "", "Group", "JOIN harbour").await;
    devices.mail(MAILBOX, UNTAGGED, passed, "Groups", "GROUPS").await;
    devices.hears("mail", before, "Harbour").await;
    assert_eq!(devices.count("mail"), before + 1, "a stranger gets no reply");
}
