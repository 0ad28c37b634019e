//! Every request that was put to Debian's Kannel is put to us: the answer and what would reach an SMSC are
//! the same, but for what [`DEVIATIONS`] names; docs/platforms.md gives the reasons.

use super::*;
use records::ShortText;
use serde_json::Value;
use smpp::text::{Charset, choose};
use std::collections::HashMap;

const RECORDED: &str = include_str!("../../../../../tools/it/tests/data/kannel_sendsms.json");

/// What we do else, by the request's name: status and words, and of each message what its line begins with.
const DEVIATIONS: &[(&str, u16, &str, &[&str])] = &[
    ("a receiver with a plus that nobody escaped", 202, ACCEPTED, &["+46701234567 7000 0x00 48656c6c6f"]),
    ("a receiver with dashes", 202, ACCEPTED, &["0701234567 7000 0x00 48656c6c6f"]),
    ("a receiver of more than 20 digits", 400, DENIED, &[]),
    // The engine refuses 9991, and tells so, as Kannel does.
    (
        "several receivers, the first of whom no route reaches",
        403,
        NOT_ROUTABLE,
        &["9991 7000 0x00 48656c6c6f", "222 7000 0x00 48656c6c6f"],
    ),
    (
        "several receivers, the last of whom no route reaches",
        202,
        ACCEPTED,
        &["111 7000 0x00 48656c6c6f", "9991 7000 0x00 48656c6c6f"],
    ),
    (
        "a sender with a plus that nobody escaped",
        202,
        ACCEPTED,
        &["+46701234567 +46701000009 0x00 48656c6c6f"],
    ),
    ("a sender of 21 digits", 400, "Sender misformed or too long, rejected", &[]),
    ("bad UTF-8 not named", 202, ACCEPTED, &["+46701234567 7000 0x08 006100ff0062"]),
    (
        "letters outside the GSM alphabet, no coding",
        202,
        ACCEPTED,
        &["+46701234567 7000 0x08 041f044004380020d83dde42"],
    ),
    ("letters outside the GSM alphabet in 7 bits", 202, ACCEPTED, &["+46701234567 7000 0x00 3f3f3f203f"]),
    ("failed alone", 202, ACCEPTED, &["+46701234567 7000 0x00 48656c6c6f registered=1"]),
    ("a mask of 64", 202, ACCEPTED, &["+46701234567 7000 0x00 48656c6c6f"]),
    ("a mask of 66", 202, ACCEPTED, &["+46701234567 7000 0x00 48656c6c6f registered=1"]),
    (
        "a header of its own and more than fits one part",
        400,
        "Message too long for one with a UDH of its own, rejected",
        &[],
    ),
    ("headers and UTF-8 that nobody named", 202, ACCEPTED, &["+46701234567 7000 0x00 47727e1e65"]),
    ("a form", 202, ACCEPTED, &["+46701234567 7001 0x00 48656c6c6f"]),
    ("a form with a charset", 202, ACCEPTED, &["+46701234567 7000 0x00 47727e1e65"]),
    ("a query and an empty body", 202, ACCEPTED, &["+46701234567 7000 0x00 48656c6c6f"]),
    ("XML with two receivers in one number", 202, ACCEPTED, &["111222 7000 0x00 48656c6c6f"]),
    ("XML in Latin-1", 202, ACCEPTED, &["+46701234567 7000 0x00 47727e1e65"]),
];
const ACCEPTED: &str = "0: Accepted for delivery";
const NOT_ROUTABLE: &str = "Not routable. Do not try again.";
const DENIED: &str = "Number(s) has/have been denied by white- and/or black-lists.";

#[tokio::test]
async fn kannel_and_we_answer_alike_and_send_alike() {
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    let mut differ = Vec::new();
    let mut deviations: HashMap<&str, _> =
        DEVIATIONS.iter().map(|(name, status, words, sent)| (*name, (*status, *words, *sent))).collect();
    for case in recorded["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        if !case["target"].as_str().unwrap().split('?').next().unwrap().eq(PATH) || case["method"] == "PUT" {
            continue;
        }
        let kannels = (answer_of(case), sent_by_kannel(case));
        let (answer, taken) = replay(case).await;
        let ours =
            (format!("{} {}", answer.status, answer.words), taken.iter().map(line).collect::<Vec<_>>());
        match deviations.remove(name) {
            Some((status, words, sent)) => {
                assert_eq!(
                    ours,
                    (format!("{status} {words}"), sent.iter().map(|s| (*s).to_owned()).collect()),
                    "{name}"
                );
                assert_ne!(ours, kannels, "{name} is no deviation");
            }
            None if ours != kannels => {
                differ.push(format!("{name}\n  kannel {kannels:?}\n  we     {ours:?}"))
            }
            None => {}
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
    assert!(deviations.is_empty(), "not recorded: {:?}", deviations.keys());
}

fn answer_of(case: &Value) -> String {
    let words = if case["method"] == "HEAD" {
        "0: Accepted for delivery"
    } else {
        case["answer"]["body"].as_str().unwrap()
    };
    assert_eq!(case["answer"]["content_type"], "text/html");
    format!("{} {words}", case["answer"]["status"])
}

async fn replay(case: &Value) -> (KannelAnswer, Vec<Message>) {
    let stand = Arc::new(FakeEngine::default());
    let (sendsms, queue) = (sendsms(&stand), MessageQueue::start(stand.clone()));
    let target = case["target"].as_str().unwrap();
    let listed = case["headers"].as_array().into_iter().flatten();
    let headers =
        Listed(listed.map(|pair| (pair[0].as_str().unwrap().to_owned(), latin1(&pair[1]))).collect());
    let ask = SendSmsRequest {
        is_post: case["method"] == "POST",
        query: target.split_once('?').map_or("", |(_, query)| query).as_bytes(),
        headers: &headers,
        body: &latin1(&case["body"]),
        from: [127, 0, 0, 1].into(),
    };
    let answer = taken(sendsms.take(&ask, &queue, GuessTurn::First)).answer().await;
    let taken = std::mem::take(&mut *stand.taken.lock().unwrap());
    (answer, taken)
}

/// The file has octets as the characters of Latin-1.
fn latin1(value: &Value) -> Vec<u8> {
    value.as_str().unwrap_or_default().chars().map(|character| character as u8).collect()
}

/// A message in a line, as an SMSC would get it.
fn line(message: &Message) -> String {
    let (coding, octets) = match &message.short.text {
        ShortText::Octets { data_coding, octets } => (*data_coding, octets.to_vec()),
        ShortText::Text { text, class } => {
            assert_eq!(*class, None);
            let coding = choose(text, Charset::Gsm7);
            let mut octets = Vec::new();
            coding.charset.encode(text, &mut octets).unwrap();
            (coding.data_coding, octets)
        }
    };
    let short = &message.short;
    let minutes = |at: Timestamp| at.us_since(NOW) / 60_000_000;
    let has_validity = minutes(message.expires) < 48 * 60;
    let udh = if short.udh.is_empty() {
        String::new()
    } else {
        format!("{:02x}{}", short.udh.len(), hex(&short.udh))
    };
    write_line(&Sent {
        to: message.to.clone(),
        from: short.source.addr.to_string(),
        coding,
        udh,
        octets: hex(&octets),
        reply_path: short.esm_class & 0x80 != 0,
        pid: short.protocol_id,
        priority: short.priority_flag.unwrap_or(0),
        validity: has_validity.then(|| minutes(message.expires)),
        deferred: message.not_before.map(minutes),
        registered: short.registered_delivery.unwrap_or(0),
        service: short.service_type.to_string(),
    })
}

struct Sent {
    to: String,
    from: String,
    coding: u8,
    udh: String,
    octets: String,
    reply_path: bool,
    pid: u8,
    priority: u8,
    validity: Option<i64>,
    deferred: Option<i64>,
    registered: u8,
    service: String,
}

/// What is as usual is not written.
fn write_line(sent: &Sent) -> String {
    let mut line = format!("{} {} {:#04x} {}", sent.to, sent.from, sent.coding, sent.octets);
    let mut more = |name: &str, value: String, is_usual: bool| {
        if !is_usual {
            line.push_str(&format!(" {name}={value}"));
        }
    };
    more("udh", sent.udh.clone(), sent.udh.is_empty());
    more("reply", "yes".into(), !sent.reply_path);
    more("pid", sent.pid.to_string(), sent.pid == 0);
    more("priority", sent.priority.to_string(), sent.priority == 0);
    more("validity", format!("{:?}", sent.validity), sent.validity.is_none());
    more("deferred", format!("{:?}", sent.deferred), sent.deferred.is_none());
    more("registered", sent.registered.to_string(), sent.registered == 0);
    more("service", sent.service.clone(), sent.service.is_empty());
    line
}

/// Kannel's parts of a long message put together again; ours is split by the gateway.
fn sent_by_kannel(case: &Value) -> Vec<String> {
    let mut all: Vec<Sent> = Vec::new();
    for pdu in case["sent"].as_array().unwrap() {
        let octet = |name: &str| pdu[name].as_u64().unwrap() as u8;
        let address = |name: &str| {
            let plus = if pdu[name][0] == 1 { "+" } else { "" };
            let octets = latin1(&pdu[name][2]);
            format!("{plus}{}", String::from_utf8(octets).unwrap())
        };
        let (udh, octets) = (pdu["udh"].as_str().unwrap_or_default(), pdu["octets"].as_str().unwrap());
        let is_ours_to_split = udh.starts_with("050003") && pdu["octets"].as_str().unwrap().len() > 20;
        if let Some(last) = all.last_mut().filter(|_| udh.starts_with("050003") && !udh.ends_with("01")) {
            last.octets.push_str(octets);
            continue;
        }
        all.push(Sent {
            to: address("dest"),
            from: address("source"),
            coding: octet("data_coding"),
            udh: if is_ours_to_split { String::new() } else { udh.to_owned() },
            octets: octets.to_owned(),
            reply_path: octet("esm_class") & 0x80 != 0,
            pid: octet("protocol_id"),
            priority: octet("priority"),
            validity: pdu["validity_min"].as_i64(),
            deferred: pdu["deferred_min"].as_i64(),
            registered: octet("registered_delivery"),
            service: pdu["service_type"].as_str().unwrap().to_owned(),
        });
    }
    all.iter().map(write_line).collect()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
