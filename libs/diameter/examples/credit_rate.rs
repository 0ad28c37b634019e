//! Example measures the cost of one credit-control event to a server, without its connection and its ledger.
//!
//! `cargo run --release -p diameter --example credit_rate [thousands]`
//!
//! Each step is timed by itself over many messages that differ in session, number and subscriber: cutting and
//! walking, checking, reading, writing the answer. A pass over all messages is short, so that most are not
//! interrupted; the fastest and the middle one are told, since others use the machine too.

use diameter::avp::Avps;
use diameter::check::{Origin, check};
use diameter::credit::answer::{CreditControlAnswer, Grant, ServiceGrant};
use diameter::credit::request::CreditControlRequest;
use diameter::credit::write_request::{RequestToSend, ServiceToRequest, SmsToCharge};
use diameter::credit::{RequestType, Subscription, SubscriptionKind, Units};
use diameter::frame::next_frame;
use diameter::message::Message;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Passes by default: messages in thousands.
const THOUSANDS: usize = 1_000;
/// Different messages, so that neither caches nor branches know them by heart.
const DIFFERENT: usize = 1_000;
const OCTETS_MAX: u32 = 1 << 20;
const ORIGIN: Origin<'static> = Origin { host: "client-17.pay.example", realm: "pay.example" };

fn main() {
    let passes = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(THOUSANDS).max(1);
    for (name, stream) in [
        ("EVENT, direct debit of one message", stream(event)),
        ("EVENT with SMS-Information", stream(event_of_sms)),
        ("UPDATE of two rating groups", stream(update)),
    ] {
        let first = next_frame(&stream, OCTETS_MAX).ok().flatten().expect("the first message");
        let avps = Message::read(first).expect("it is sound").avps().count();
        println!("{name}: {} octets, {avps} AVPs at the top", first.len());
        measure("cut and walk at the top", passes, &stream, |message, _| {
            message.avps().filter_map(Result::ok).fold(0, |sum, avp| sum + avp.data.len())
        });
        measure("cut and walk everything", passes, &stream, |message, _| walk(message.avps()));
        measure("cut and check", passes, &stream, |message, _| {
            check(message).map_or(0, |found| found.message().octets().len())
        });
        measure("cut, check and read", passes, &stream, |message, _| {
            let request = CreditControlRequest::read(message).expect("it is sound");
            request.session_id.len() + request.subscriptions().map(|s| s.data.len()).sum::<usize>()
        });
        measure("cut, check, read and answer", passes, &stream, answer);
    }
}

/// Everything that is a group for the eye of a walker: the known ones of these messages.
fn walk(avps: Avps<'_>) -> usize {
    avps.filter_map(Result::ok)
        .map(|avp| {
            let is_group = diameter::dictionary::lookup(avp.name)
                .is_some_and(|rule| rule.kind == diameter::dictionary::Kind::Grouped);
            if is_group { walk(avp.group()) } else { avp.data.len() }
        })
        .sum()
}

fn answer(message: &Message<'_>, out: &mut Vec<u8>) -> usize {
    let request = CreditControlRequest::read(message).expect("it is sound");
    let services: [ServiceGrant<'_>; 2] = [10, 20].map(|rating_group| ServiceGrant {
        granted: Some(Grant::of(Units { total_octets: Some(1 << 20), ..Units::default() })),
        rating_group: Some(rating_group),
        validity_s: Some(600),
        result_code: Some(2001),
        ..ServiceGrant::default()
    });
    let is_event = request.kind == RequestType::Event;
    let answer = CreditControlAnswer {
        result_code: 2001,
        granted: request.requested.filter(|_| is_event).map(Grant::of),
        services: if is_event { &[] } else { &services },
        ..CreditControlAnswer::default()
    };
    out.clear();
    answer.write(&request, &ORIGIN, out)
}

fn measure(what: &str, passes: usize, stream: &[u8], step: impl Fn(&Message<'_>, &mut Vec<u8>) -> usize) {
    let mut out = Vec::with_capacity(4_096);
    let mut took: Vec<Duration> = Vec::with_capacity(passes);
    for _ in 0..passes {
        let begin = Instant::now();
        let mut rest = stream;
        while let Ok(Some(frame)) = next_frame(rest, OCTETS_MAX) {
            let message = Message::read(frame).expect("it is sound");
            black_box(step(black_box(&message), &mut out));
            rest = &rest[frame.len()..];
        }
        took.push(begin.elapsed());
    }
    took.sort();
    let ns = |pass: Duration| pass.as_nanos() as f64 / DIFFERENT as f64;
    println!("  {what:<32} {:>7.1} ns, {:>7.1} in the middle", ns(took[0]), ns(took[passes / 2]));
}

fn stream(write: fn(usize, &mut Vec<u8>)) -> Vec<u8> {
    let mut stream = Vec::new();
    (0..DIFFERENT).for_each(|i| write(i, &mut stream));
    stream
}

fn event(i: usize, out: &mut Vec<u8>) {
    write_event(i, None, out);
}

fn event_of_sms(i: usize, out: &mut Vec<u8>) {
    write_event(i, Some(SmsToCharge { originator: "46700000001", recipient: "46731234567", parts: 2 }), out);
}

fn write_event(i: usize, sms: Option<SmsToCharge<'_>>, out: &mut Vec<u8>) {
    let session = format!("client-17.pay.example;1876543210;{i};sms");
    let subscriber = format!("4670{i:07}");
    let subscriptions = [Subscription { kind: SubscriptionKind::E164, data: &subscriber }];
    let request = RequestToSend {
        subscriptions: &subscriptions,
        event_timestamp: Some(1_763_845_888 + i as i64),
        sms,
        ..RequestToSend::debit(&session, ORIGIN, "home.example", Units::of_specific(1 + i as u64 % 3))
    };
    request.write(i as u32, i as u32, out);
}

fn update(i: usize, out: &mut Vec<u8>) {
    let session = format!("client-17.pay.example;1876543210;{i};data");
    let subscriber = format!("24001{i:010}");
    let subscriptions = [Subscription { kind: SubscriptionKind::Imsi, data: &subscriber }];
    let units = Units { total_octets: Some(i as u64), ..Units::default() };
    let used = [diameter::credit::request::UsedUnits { units, ..Default::default() }];
    let services = [10, 20].map(|rating_group| ServiceToRequest {
        requested: Some(Units::default()),
        used: &used,
        rating_group: Some(rating_group),
        ..ServiceToRequest::default()
    });
    let request = RequestToSend {
        kind: RequestType::Update,
        number: 1 + i as u32 % 5,
        action: None,
        requested: None,
        subscriptions: &subscriptions,
        has_multiple_services: true,
        services: &services,
        ..RequestToSend::debit(&session, ORIGIN, "home.example", Units::default())
    };
    request.write(i as u32, i as u32, out);
}
