//! Routes to the simulated paging carrier, on a bus in a folder.

use super::config::{PagerRoute, PagingTransport, Polling, SnppSettings};
use super::text::TextShape;
use super::*;
use crate::{RunningGateway, route_loop};
use bus::{Bus, embedded::Options};
use net::Cores;
use records::{
    AlertId, AlertNo, AttemptResult, Body, Choice, EndpointNo, Entry, Inbound, Lane, OUTCOMES, Outcome,
    ReceiptState, Segment, Timestamp, channel_key, decode_outcomes, segment_topic,
};
use sim::chance::Delay;
use sim::town::Habits;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn wall() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64)
}

/// Longer than any machine stands still.
const PATIENCE: Duration = Duration::from_secs(120);
const ROUTE: &str = "carrier";
/// As often as a route may ask.
const POLL: Duration = Duration::from_secs(1);

struct Ground {
    bus: Arc<dyn Bus>,
    context: GatewayContext,
    carrier: PagingCarrier,
    read: u64,
    seen: Vec<Outcome>,
    folder: tempfile::TempDir,
}

impl Ground {
    async fn new(options: PagingOptions) -> Ground {
        let folder = tempfile::tempdir().unwrap();
        let carrier = PagingCarrier::start(options).await.unwrap();
        Ground::on(folder, carrier)
    }

    fn on(folder: tempfile::TempDir, carrier: PagingCarrier) -> Ground {
        let bus = bus::embedded::open(folder.path().join("bus"), Options::default()).unwrap();
        let context = GatewayContext::new(Arc::clone(&bus), Arc::new(wall), Arc::new(Cores::new(1).unwrap()));
        Ground { bus, context, carrier, read: 0, seen: Vec::new(), folder }
    }

    fn start(&self, two_way: bool) -> RunningGateway {
        let polling = Polling { every: POLL, ..Polling::default() };
        let settings = SnppSettings {
            address: self.carrier.address().to_string(),
            two_way: two_way.then_some(polling),
            level: Some(1),
            caller: Some("City of X".to_owned()),
            ..SnppSettings::default()
        };
        let route = PagerRoute {
            name: ROUTE.to_owned(),
            rate: 0.0,
            sessions: 2,
            shape: TextShape::default(),
            transport: PagingTransport::Snpp(Box::new(settings)),
        };
        route_loop::start::<PagerSessions>(route, &self.context).unwrap()
    }

    async fn append(&self, pagers: &[&str], answer: bool) {
        let topic = self.bus.topic(&segment_topic(ROUTE, Lane::Urgent)).unwrap();
        topic.append(&[&segment(pagers, answer).encode()]).await.unwrap();
    }

    /// Reads on until an outcome is this one.
    async fn until<T>(&mut self, mut find: impl FnMut(&Outcome) -> Option<T>) -> T {
        let topic = self.bus.topic(OUTCOMES).unwrap();
        loop {
            if let Some(found) = self.seen.iter().find_map(&mut find) {
                return found;
            }
            tokio::time::timeout(PATIENCE, topic.readable(self.read)).await.unwrap();
            for record in topic.read(self.read, 1_000, 1_000_000).unwrap() {
                self.read = record.index + 1;
                self.seen.extend(decode_outcomes(&record.octets).unwrap());
            }
        }
    }

    async fn result(&mut self, endpoint: u32) -> AttemptResult {
        self.until(|outcome| match outcome {
            Outcome::Attempt { of, result, .. } if of.endpoint.0 == endpoint => Some(result.clone()),
            _ => None,
        })
        .await
    }

    async fn receipt(&mut self, endpoint: u32) -> ReceiptState {
        let key = channel_key(channels::PAGER, AlertNo(1), EndpointNo(endpoint));
        self.until(|outcome| match outcome {
            Outcome::Receipt(receipt) if receipt.keys == [key] => Some(receipt.state),
            _ => None,
        })
        .await
    }

    async fn answer(&mut self, endpoint: u32) -> Inbound {
        let of = Some((AlertNo(1), EndpointNo(endpoint)));
        self.until(|outcome| match outcome {
            Outcome::Inbound(inbound) if inbound.of == of => Some(inbound.clone()),
            _ => None,
        })
        .await
    }
}

fn segment(pagers: &[&str], answer: bool) -> Segment {
    let entry = |(endpoint, address): (u32, &&str)| Entry {
        endpoint: EndpointNo(endpoint),
        attempt: 1,
        address: (*address).to_owned(),
        body: 0,
        own: None,
        expires: None,
        link: None,
    };
    let choice = |key: &str, label: &str| Choice { key: key.to_owned(), label: label.to_owned() };
    Segment {
        alert: AlertNo(1),
        alert_id: AlertId(uuid::Uuid::from_u128(7)),
        account: "a".to_owned(),
        route: ROUTE.to_owned(),
        lane: Lane::Urgent,
        outcomes_from: 0,
        expires: wall().plus_s(3_600),
        sender: None,
        flash: false,
        receipt: true,
        answer,
        choices: vec![choice("safe", "I am safe"), choice("help", "I need help")],
        emergency: true,
        bodies: vec![Arc::new(Body::of_text("Leave by the north gate."))],
        entries: (0..).zip(pagers).map(entry).collect(),
    }
}

fn answering(word: &str) -> PagingOptions {
    let mut people = Habits::answering(1);
    people.free_text = 0.0;
    people.choices = vec![word.to_owned()];
    people.answer_after = Delay::NONE;
    PagingOptions { people: Some(people), ..PagingOptions::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_two_way_page_is_delivered_on_the_servers_word_and_answered_by_its_choice() {
    let mut ground = Ground::new(answering("2")).await;
    let running = ground.start(true);
    ground.append(&["1234"], true).await;
    let AttemptResult::Accepted { keys, id } = ground.result(0).await else { panic!() };
    assert_eq!(keys, [channel_key(channels::PAGER, AlertNo(1), EndpointNo(0))]);
    assert!(!id.is_empty() && id.bytes().all(|octet| octet.is_ascii_digit()), "the tag alone: {id}");
    assert_eq!(ground.receipt(0).await, ReceiptState::Delivered);
    let answer = ground.answer(0).await;
    assert_eq!(
        (answer.text.as_str(), answer.from.as_str(), answer.channel),
        ("help", "1234", channels::PAGER)
    );
    running.stop().await;
    let page = &ground.carrier.pages(10)[0];
    assert_eq!(
        (page.text.as_str(), page.level, page.caller.as_deref()),
        ("Leave by the north gate.", Some(0), Some("City of X"))
    );
    assert_eq!(page.choices, ["I am safe", "I need help"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn polling_goes_on_in_the_next_process() {
    let late = Delay::Fixed(Duration::from_secs(3_600));
    let mut ground = Ground::new(PagingOptions { deliver_after: late, ..PagingOptions::default() }).await;
    let running = ground.start(true);
    ground.append(&["1234"], false).await;
    assert!(matches!(ground.result(0).await, AttemptResult::Accepted { .. }));
    // The process is gone without a word; the page is still queued.
    ground.context.cores.stop();
    drop(running);
    let Ground { carrier, folder, bus, context, .. } = ground;
    drop((bus, context));
    let (from, to) = (folder.path().join("bus"), tempfile::tempdir().unwrap());
    copy_all(&from, &to.path().join("bus"));
    let ground = Ground::on(to, carrier);
    let asked = ground.carrier.stats().queries;
    let running = ground.start(true);
    tokio::time::timeout(PATIENCE, async {
        while ground.carrier.stats().queries <= asked {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .unwrap();
    running.stop().await;
    assert_eq!(ground.carrier.accepted("1234"), 1, "it is asked for, not sent again");
    let is_receipt = |outcome: &Outcome| matches!(outcome, Outcome::Receipt(_));
    assert!(!ground.seen.iter().any(is_receipt), "what is queued is not delivered");
}

fn copy_all(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        let target = to.join(file.file_name());
        match file.file_type().unwrap().is_dir() {
            true => copy_all(&file.path(), &target),
            false => drop(std::fs::copy(file.path(), &target).unwrap()),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_expires_at_the_carrier_is_told() {
    let mut people = Habits::silent(1);
    people.sms.lost = 1.0;
    let late = Delay::Fixed(Duration::from_millis(50));
    let options = PagingOptions { people: Some(people), deliver_after: late, ..PagingOptions::default() };
    let mut ground = Ground::new(options).await;
    let running = ground.start(true);
    ground.append(&["1234"], false).await;
    assert!(matches!(ground.result(0).await, AttemptResult::Accepted { .. }));
    assert_eq!(ground.receipt(0).await, ReceiptState::Expired);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_one_way_page_is_accepted_and_nothing_more() {
    let mut ground = Ground::new(answering("1")).await;
    let running = ground.start(false);
    ground.append(&["1234", "5551212@page.example"], true).await;
    let AttemptResult::Accepted { id, .. } = ground.result(0).await else { panic!() };
    assert!(id.starts_with("250 "), "{id}");
    let AttemptResult::Refused { permanent: true, code, .. } = ground.result(1).await else { panic!() };
    assert_eq!(code, "local:address");
    running.stop().await;
    assert!(!ground.seen.iter().any(|outcome| matches!(outcome, Outcome::Receipt(_) | Outcome::Inbound(_))));
    assert!(!ground.carrier.pages(10)[0].two_way);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_in_the_servers_words() {
    let mut people = Habits::silent(1);
    people.sms.refused = 1.0;
    let mut ground = Ground::new(PagingOptions { people: Some(people), ..PagingOptions::default() }).await;
    let running = ground.start(true);
    ground.append(&["1234"], true).await;
    let AttemptResult::Refused { permanent: true, code, text } = ground.result(0).await else { panic!() };
    assert_eq!(code, "snpp:550");
    assert!(text.contains("PAGE") && text.contains("Invalid Pager ID"), "{text}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_level_two_gets_two_way_pages_by_level_two() {
    let mut ground = Ground::new(PagingOptions { level: 2, ..PagingOptions::default() }).await;
    let running = ground.start(true);
    ground.append(&["1234", "1235", "1236"], true).await;
    for endpoint in 0..3 {
        assert!(matches!(ground.result(endpoint).await, AttemptResult::Accepted { .. }));
    }
    running.stop().await;
    assert_eq!(ground.carrier.stats().accepted, 3);
}
