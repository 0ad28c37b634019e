//! A route over a real bus, to real receivers on loopback.

use super::*;
use crate::{AlertDocuments, AttachedFile, DocumentSet, NoDocuments};
use bus::Bus;
use bus::embedded::Options;
use futures_util::future::BoxFuture;
use net::Cores;
use paced_udp::push::{Arrived, ReceiveOptions, Received, Receiving, SiteKey, public_key};
use paced_udp::wire::Key;
use records::{
    AlertId, AlertNo, Body, EndpointNo, Lane, OUTCOMES, Outcome, ReceiptState, Timestamp, decode_outcomes,
    segment_topic,
};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const ROUTE: &str = "sites";
const PATIENCE: Duration = Duration::from_secs(120);
const WORDS: &str = "what the sites and we know";
const CAP_XML: &str = "<alert>words</alert>";

fn wall() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64)
}

/// An alert with one attachment.
struct OneAlert(PathBuf);

impl AlertDocuments for OneAlert {
    fn documents(&self, alert: AlertNo) -> BoxFuture<'_, Result<DocumentSet, NoDocuments>> {
        let gone = NoDocuments { permanent: true, why: "the alert is not kept any more".to_owned() };
        let found = (alert.0 == 1).then(|| documents(&self.0)).ok_or(gone);
        Box::pin(async move { found })
    }
}

fn documents(attached: &Path) -> DocumentSet {
    let octets = std::fs::read(attached).unwrap();
    DocumentSet {
        cap: CAP_XML.into(),
        headline: Some("Flood".to_owned()),
        mode: "live",
        priority: "emergency",
        sent: "2026-01-01T00:00:00Z".to_owned(),
        expires: "2026-01-02T00:00:00Z".to_owned(),
        links: vec!["https://x.example/map.png".to_owned()],
        attachments: vec![AttachedFile {
            name: "tone.wav".to_owned(),
            media_type: "audio/wav".to_owned(),
            size: octets.len() as u64,
            blake3: blake3::hash(&octets).to_hex().to_string(),
            file: attached.to_owned(),
        }],
    }
}

struct TestRoute {
    bus: Arc<dyn Bus>,
    context: GatewayContext,
    folder: tempfile::TempDir,
    sites: Vec<EdgeSite>,
}

impl TestRoute {
    fn new() -> TestRoute {
        let folder = tempfile::tempdir().unwrap();
        let tone: Vec<u8> = (0..700_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        std::fs::write(folder.path().join("tone"), tone).unwrap();
        let bus = bus::embedded::open(folder.path().join("bus"), Options::default()).unwrap();
        let mut context =
            GatewayContext::new(Arc::clone(&bus), Arc::new(wall), Arc::new(Cores::new(1).unwrap()));
        context.documents = Some(Arc::new(OneAlert(folder.path().join("tone"))));
        TestRoute { bus, context, folder, sites: Vec::new() }
    }

    fn route(&self) -> EdgeRoute {
        EdgeRoute {
            name: ROUTE.to_owned(),
            bandwidth: 100e6,
            signing_key: self.folder.path().join("signing"),
            sites: self.sites.clone(),
            work: self.folder.path().join("work"),
            ..EdgeRoute::default()
        }
    }

    /// A site that listens on `port` (0: any), with a folder of its own.
    fn site(&mut self, name: &str, change: impl FnOnce(&mut ReceiveOptions)) -> At {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let mut options = ReceiveOptions {
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            data_port: 0,
            interface: None,
            into: folder.clone(),
            key: SiteKey::of(&Key::from_words(WORDS).unwrap()),
            signers: Vec::new(),
            size_max: 10_000_000,
            keep_free: 0,
            overwrite: false,
            sync: true,
            once: false,
            arrived: Some(Arrived(Arc::new(|path| archive::unpack(path).map(|_| ())))),
        };
        change(&mut options);
        let receiving = Receiving::bind(options).unwrap();
        let address = receiving.address().unwrap().to_string();
        let key = Some(WORDS.into());
        self.sites.push(EdgeSite { name: name.to_owned(), address, key });
        let (tell, told) = unbounded_channel();
        At { folder, _told: told, task: tokio::spawn(receiving.run(tell)) }
    }

    async fn append(&self, segment: &Segment) {
        let topic = self.bus.topic(&segment_topic(ROUTE, segment.lane)).unwrap();
        topic.append(&[&segment.encode()]).await.unwrap();
    }

    /// Results by endpoint and attempt, once there are so many; and which keys have a receipt that says
    /// delivered.
    async fn until_ended(&self, count: usize) -> (BTreeMap<(u32, u8), AttemptResult>, Vec<u64>) {
        let topic = self.bus.topic(OUTCOMES).unwrap();
        let (mut from, mut ended, mut delivered) = (0, BTreeMap::new(), Vec::new());
        while ended.len() < count {
            tokio::time::timeout(PATIENCE, topic.readable(from)).await.unwrap();
            for record in topic.read(from, 10_000, 10_000_000).unwrap() {
                from = record.index + 1;
                for outcome in decode_outcomes(&record.octets).unwrap() {
                    match outcome {
                        Outcome::Attempt { of, result, .. } => {
                            assert_eq!(ended.insert((of.endpoint.0, of.attempt), result), None);
                        }
                        Outcome::Receipt(receipt) if receipt.state == ReceiptState::Delivered => {
                            delivered.extend(receipt.keys);
                        }
                        _ => {}
                    }
                }
            }
        }
        (ended, delivered)
    }
}

/// A site at work.
struct At {
    folder: PathBuf,
    _told: UnboundedReceiver<Received>,
    task: tokio::task::JoinHandle<()>,
}

impl At {
    /// What is in its folder.
    fn names(&self) -> Vec<String> {
        let names = std::fs::read_dir(&self.folder).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Its only archive, unpacked.
    fn archive(&self) -> PathBuf {
        let names = self.names();
        assert_eq!(names.len(), 2, "an archive and its folder: {names:?}");
        assert_eq!(names[1], format!("{}.tar", names[0]));
        self.folder.join(&names[0])
    }
}

fn segment(alert: u64, entries: &[(u32, &str)], lasts: Duration) -> Segment {
    let entry = |(endpoint, address): &(u32, &str)| Entry {
        endpoint: EndpointNo(*endpoint),
        attempt: 1,
        address: (*address).to_owned(),
        body: 0,
        own: None,
        expires: None,
        link: None,
    };
    Segment {
        alert: AlertNo(alert),
        alert_id: AlertId(uuid::Uuid::from_u128(7)),
        account: "a".to_owned(),
        route: ROUTE.to_owned(),
        lane: Lane::Urgent,
        outcomes_from: 0,
        expires: Timestamp(wall().0 + lasts.as_micros() as i64),
        sender: None,
        flash: false,
        receipt: true,
        answer: false,
        choices: Vec::new(),
        emergency: false,
        bodies: vec![Arc::new(Body::of_text("Leave by the north gate."))],
        entries: entries.iter().map(entry).collect(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_site_gets_the_archive_and_its_receipt_is_on_record() {
    let mut test_route = TestRoute::new();
    let (north, south) = (test_route.site("north", |_| {}), test_route.site("south", |_| {}));
    let running = start(test_route.route(), &test_route.context).unwrap();
    test_route.append(&segment(1, &[(0, "north"), (1, "south"), (2, "nowhere")], PATIENCE)).await;
    let (ended, mut delivered) = test_route.until_ended(3).await;
    running.stop().await;
    let mut keys: Vec<u64> = Vec::new();
    for endpoint in 0..2 {
        let AttemptResult::Accepted { keys: own, id } = &ended[&(endpoint, 1)] else { panic!("{ended:?}") };
        assert!(id.starts_with("alert-00000000-0000-0000-0000-000000000007-"), "{id}");
        keys.extend(own);
    }
    let AttemptResult::Refused { permanent: true, code, .. } = &ended[&(2, 1)] else { panic!("{ended:?}") };
    assert_eq!(code, "edge:unknown");
    keys.sort_unstable();
    delivered.sort_unstable();
    assert_eq!(delivered, keys);
    for site in [north, south] {
        let read = |name: &str| std::fs::read(site.archive().join(name)).unwrap();
        assert_eq!(read("alert.txt"), b"Leave by the north gate.\n");
        assert_eq!(read("alert.xml"), CAP_XML.as_bytes());
        assert_eq!(
            read("attachments/tone.wav"),
            std::fs::read(test_route.folder.path().join("tone")).unwrap()
        );
        let manifest: serde_json::Value = serde_json::from_slice(&read("manifest.json")).unwrap();
        assert_eq!(manifest["alert"], "00000000-0000-0000-0000-000000000007");
        assert_eq!(manifest["files"].as_array().unwrap().len(), 3);
        site.task.abort();
    }
    let left = std::fs::read_dir(test_route.folder.path().join("work").join(ROUTE)).unwrap().count();
    assert_eq!(left, 0, "archives are removed when they are pushed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_site_ends_by_itself_with_its_reason() {
    let mut test_route = TestRoute::new();
    let good = test_route.site("good", |_| {});
    let _small = test_route.site("small", |options| options.size_max = 1_000);
    let _full = test_route.site("full", |options| options.keep_free = u64::MAX / 4);
    let _wary = test_route.site("wary", |options| options.signers = vec![public_key(&[1; 32])]);
    let _deaf = test_route.site("deaf", |options| options.key = SiteKey::new([3; 32]));
    let _broken = test_route.site("broken", |options| {
        options.arrived = Some(Arrived(Arc::new(|_| Err("the sign is out of order".to_owned()))));
    });
    let gone = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    test_route.sites.push(EdgeSite { name: "gone".to_owned(), address: gone, key: Some(WORDS.into()) });
    let running =
        start(EdgeRoute { validity: Duration::from_secs(8), ..test_route.route() }, &test_route.context)
            .unwrap();
    let sites = ["good", "small", "full", "wary", "deaf", "broken", "gone"];
    let entries: Vec<(u32, &str)> = (0..).zip(sites).collect();
    test_route.append(&segment(1, &entries, PATIENCE)).await;
    let (ended, delivered) = test_route.until_ended(sites.len()).await;
    running.stop().await;
    assert_eq!(delivered.len(), 1);
    let told = |endpoint: u32| match &ended[&(endpoint, 1)] {
        AttemptResult::Accepted { .. } => "accepted".to_owned(),
        AttemptResult::Refused { permanent, code, text } => format!("{code} {permanent} {text}"),
        other => format!("{other:?}"),
    };
    for (endpoint, expected, words) in [
        (0, "accepted", ""),
        (1, "edge:refused true", "1000 at most"),
        (2, "edge:disk false", "octets free"),
        (3, "edge:refused true", "signer"),
        (4, "edge:refused true", "key"),
        (5, "edge:disk false", "the sign is out of order"),
        (6, "edge:away false", "did not connect in time"),
    ] {
        let told = told(endpoint);
        assert!(told.starts_with(expected) && told.contains(words), "{endpoint}: {told}");
    }
    assert_eq!(good.names().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_under_way_at_a_stop_goes_back_and_a_second_push_leaves_one_copy() {
    let mut test_route = TestRoute::new();
    let north = test_route.site("north", |_| {});
    let gone = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = gone.local_addr().unwrap().to_string();
    test_route.sites.push(EdgeSite { name: "silent".to_owned(), address, key: Some(WORDS.into()) });
    let running = start(test_route.route(), &test_route.context).unwrap();
    test_route.append(&segment(1, &[(0, "north"), (1, "silent")], PATIENCE)).await;
    let (ended, _) = test_route.until_ended(1).await;
    assert!(
        matches!(ended[&(0, 1)], AttemptResult::Accepted { .. }),
        "the silent site holds up nobody: {ended:?}"
    );
    running.stop().await;
    let (ended, _) = test_route.until_ended(2).await;
    assert_eq!(ended[&(1, 1)], AttemptResult::NotTried { why: NotTried::Closing });
    let before = north.names();
    let running = start(test_route.route(), &test_route.context).unwrap();
    let mut again = segment(1, &[(0, "north")], PATIENCE);
    again.entries[0].attempt = 2;
    test_route.append(&again).await;
    let (ended, _) = test_route.until_ended(3).await;
    running.stop().await;
    assert!(matches!(ended[&(0, 2)], AttemptResult::Accepted { .. }), "{ended:?}");
    assert_eq!(north.names(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_alert_that_is_gone_or_an_attachment_that_changed_is_told() {
    let mut test_route = TestRoute::new();
    let north = test_route.site("north", |_| {});
    let running = start(test_route.route(), &test_route.context).unwrap();
    test_route.append(&segment(2, &[(0, "north")], PATIENCE)).await;
    let (ended, _) = test_route.until_ended(1).await;
    let AttemptResult::Refused { permanent: true, code, .. } = &ended[&(0, 1)] else { panic!("{ended:?}") };
    assert_eq!(code, "edge:papers");
    running.stop().await;
    assert_eq!(north.names(), Vec::<String>::new());
    let tone = test_route.folder.path().join("tone");
    let promised = documents(&tone);
    std::fs::write(&tone, vec![0; 700_000]).unwrap();
    let error =
        archive::pack(&test_route.folder.path().join("b"), AlertId(uuid::Uuid::nil()), "x", &promised);
    assert!(error.unwrap_err().to_string().contains("tone.wav"));
}
