//! Kill -9 while platforms hand messages in. What was acknowledged is sent, nothing twice, and its platform
//! is told.

use crate::crash::seed;
use crate::fixtures::{LATER, carrier_that};
use it::wire::{self, Pdu, Wire};
use it::{
    Callbacks, SendSms, Server, escaped, eventually, free_port, platform, smpp_client, smpp_door, sms_route,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sim::smsc::{Counting, Smsc};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;

const KILLS: usize = 6;
/// Submissions on their way to us, by SMPP and by HTTP.
const WINDOW: usize = 50;
const REQUESTS: u64 = 16;
/// Acknowledgements between two kills, at least, of each way.
const ACKED_MIN: u64 = 600;
/// Submissions on their way to the carrier: what one kill may leave unknown.
const CARRIER_WINDOW: usize = 40;
const UNKNOWNS_MAX: usize = KILLS * CARRIER_WINDOW;
/// Nothing new in this time: nothing more will come.
const LOOK_AGAIN: Duration = Duration::from_millis(700);
/// Between two tries to reach a server that was killed.
const AGAIN_AFTER: Duration = Duration::from_millis(20);

/// What one platform knows: by the message's number what it was acknowledged as, and what it was told.
#[derive(Default)]
struct Ledger {
    handed_in: AtomicU64,
    acked: Mutex<BTreeMap<u64, String>>,
    told: Mutex<BTreeMap<String, Vec<String>>>,
    is_over: AtomicBool,
}

impl Ledger {
    fn acked(&self) -> u64 {
        self.acked.lock().unwrap().len() as u64
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn next(&self) -> u64 {
        self.handed_in.fetch_add(1, Ordering::Relaxed)
    }
}

/// A number for each message, which PTS keeps for fiction as far as there are so many.
fn person(way: u64, message: u64) -> String {
    format!("4670{way}{message:06}")
}

fn words(way: u64, message: u64) -> String {
    format!("way {way} message {message}")
}

/// A platform that submits as fast as it is let until it is told that it is over, binds again whenever it
/// can, and hears.
async fn submits(port: u16, ledger: Arc<Ledger>) {
    loop {
        if let Ok(wire) = Wire::bound(port, wire::BIND_TRANSCEIVER, "platform").await {
            let _ = submits_by(wire, &ledger).await;
        }
        tokio::time::sleep(AGAIN_AFTER).await;
    }
}

async fn submits_by(mut wire: Wire, ledger: &Ledger) -> std::io::Result<()> {
    let mut outstanding = BTreeMap::new();
    let mut sequence = 1;
    loop {
        let mut octets = Vec::new();
        while outstanding.len() < WINDOW && !ledger.is_over() {
            let message = ledger.next();
            sequence += 1;
            outstanding.insert(sequence, message);
            let text = words(1, message);
            octets.extend(Pdu::submit(sequence, "71700", &person(1, message), &text).encode());
        }
        wire.write(&octets).await?;
        let pdu = wire.next().await?;
        match pdu.command {
            wire::DELIVER_SM => {
                let text = String::from_utf8_lossy(&pdu.body).into_owned();
                let stat = text.split_once("stat:").map_or("", |(_, rest)| &rest[..7]);
                let id = pdu.receipted().unwrap_or_else(|| panic!("no receipt: {text:?}"));
                ledger.told.lock().unwrap().entry(id).or_default().push(stat.to_owned());
                wire.write(&Pdu::request(wire::DELIVER_SM | wire::RESPONSE, pdu.sequence, vec![0]).encode())
                    .await?;
            }
            command if command == wire::SUBMIT_SM | wire::RESPONSE => {
                let message = outstanding.remove(&pdu.sequence).expect("an answer to something");
                assert_eq!(pdu.status, 0, "message {message}");
                ledger.acked.lock().unwrap().insert(message, pdu.word());
            }
            wire::ENQUIRE_LINK => {
                let answer = Pdu::request(wire::ENQUIRE_LINK | wire::RESPONSE, pdu.sequence, Vec::new());
                wire.write(&answer.encode()).await?;
            }
            other => panic!("{other:#x} is not expected"),
        }
    }
}

/// A platform that asks with one request at a time, again and again.
async fn asks(platform: SendSms, listener: String, ledger: Arc<Ledger>) {
    while !ledger.is_over() {
        let message = ledger.next();
        let dlr_url = escaped(&format!("{listener}?id=http-{message}&stat=%d"));
        let (to, text) = (person(2, message), escaped(&words(2, message)));
        let query = format!("to=%2B{to}&from=71700&text={text}&dlr-mask=3&dlr-url={dlr_url}");
        match platform.try_get(&query).await {
            Ok((202, _)) => drop(ledger.acked.lock().unwrap().insert(message, format!("http-{message}"))),
            Ok((status, words)) => assert!(status == 503, "message {message}: {status} {words}"),
            Err(_) => tokio::time::sleep(AGAIN_AFTER).await,
        }
    }
}

/// `id` and `stat` of each call so far.
fn told_by_calls(callbacks: &Callbacks) -> BTreeMap<String, Vec<String>> {
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for call in callbacks.calls() {
        let (_, query) = call.target.split_once("?id=").unwrap();
        let (id, stat) = query.split_once("&stat=").unwrap();
        told.entry(id.to_owned()).or_default().push(stat.to_owned());
    }
    told
}

struct Story {
    carrier: Smsc,
    callbacks: Callbacks,
    server: Server,
    by_smpp: Arc<Ledger>,
    by_http: Arc<Ledger>,
    tasks: Vec<JoinHandle<()>>,
    chance: StdRng,
    seed: u64,
}

impl Story {
    async fn begin() -> Story {
        let seed = seed();
        println!("IT_SEED={seed}");
        let carrier = carrier_that(|options| {
            options.receipts.delay = "50ms..500ms".parse().unwrap();
            options.latency = "1ms..15ms".parse().unwrap();
            options.count = Counting::Texts;
            options.seed = seed;
        })
        .await;
        let (callbacks, port) = (Callbacks::start().await, free_port());
        let config = [
            "[bus]\nfsync = \"always\"\n".to_owned(),
            smpp_door(port),
            smpp_client("platform", ""),
            platform("http", ""),
            sms_route("carrier", carrier.address(), &format!("window = {CARRIER_WINDOW}")),
        ];
        let server = Server::start(&config.concat()).await;
        let (by_smpp, by_http) = (Arc::new(Ledger::default()), Arc::new(Ledger::default()));
        let mut tasks = vec![tokio::spawn(submits(port, by_smpp.clone()))];
        let sendsms = SendSms::new(&format!("{}/cgi-bin/sendsms", server.url()), "http");
        for _ in 0..REQUESTS {
            tasks.push(tokio::spawn(asks(sendsms.clone(), callbacks.url(), by_http.clone())));
        }
        let chance = StdRng::seed_from_u64(seed);
        Story { carrier, callbacks, server, by_smpp, by_http, tasks, chance, seed }
    }

    fn ledgers(&self) -> [&Ledger; 2] {
        [&self.by_smpp, &self.by_http]
    }

    /// What each platform was told, by id.
    fn told(&self) -> [BTreeMap<String, Vec<String>>; 2] {
        [self.by_smpp.told.lock().unwrap().clone(), told_by_calls(&self.callbacks)]
    }

    /// Lets both platforms get so many acknowledgements and a moment pass, then kills and starts again.
    async fn kill(&mut self) {
        let extra = self.chance.random_range(0..ACKED_MIN);
        let wanted = self.ledgers().map(|ledger| ledger.acked() + ACKED_MIN + extra);
        eventually("platforms go on", LATER, async || {
            let failed = self.tasks.iter().any(JoinHandle::is_finished);
            assert!(!failed, "a platform ended, seed {}", self.seed);
            let acked = self.ledgers().map(Ledger::acked);
            if acked.iter().zip(&wanted).all(|(acked, wanted)| acked >= wanted) {
                Ok(())
            } else {
                Err(format!("{acked:?} of {wanted:?}, seed {}", self.seed))
            }
        })
        .await;
        tokio::time::sleep(Duration::from_micros(self.chance.random_range(0..30_000))).await;
        self.server.kill9();
        self.server.restart().await;
    }

    /// Hands nothing more in, and waits until all is told that can be.
    async fn rest(&self) {
        self.ledgers().iter().for_each(|ledger| ledger.is_over.store(true, Ordering::Relaxed));
        let mut last = usize::MAX;
        eventually("all that is not unknown is told", LATER, async || {
            let told = self.told();
            let untold = |(ledger, told): (&Ledger, &BTreeMap<String, Vec<String>>)| {
                let acked = ledger.acked.lock().unwrap();
                acked.values().filter(|id| !told.contains_key(*id)).count()
            };
            let now: usize = self.ledgers().into_iter().zip(&told).map(untold).sum();
            let rests = now == std::mem::replace(&mut last, now) && self.carrier.stats().letters.waiting == 0;
            tokio::time::sleep(LOOK_AGAIN).await;
            if now <= UNKNOWNS_MAX && rests {
                Ok(())
            } else {
                Err(format!("{now} untold, seed {}", self.seed))
            }
        })
        .await;
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_platforms_were_acknowledged_is_sent_once_and_told_over_six_kills() {
    let mut story = Story::begin().await;
    for _ in 0..KILLS {
        story.kill().await;
    }
    story.rest().await;
    let (mut found, seed) = (Found::default(), story.seed);
    let [by_smpp, by_http] = story.told();
    found.judge(&story, 1, "DELIVRD", &by_smpp);
    found.judge(&story, 2, "1", &by_http);
    let acked = story.ledgers().map(Ledger::acked);
    println!("{acked:?} acknowledged; {} unknown; {:?} told again", found.unknown, found.again);
    assert!(found.unknown <= UNKNOWNS_MAX, "{} unknown, seed {seed}", found.unknown);
    assert_eq!(story.carrier.stats().repeats, 0, "nobody got a message twice, seed {seed}");
}

#[derive(Default)]
struct Found {
    unknown: usize,
    /// By SMPP, and by HTTP.
    again: [usize; 2],
}

impl Found {
    /// Each acknowledged message was sent once and told so, or is unknown: then it was sent at most once.
    fn judge(&mut self, story: &Story, way: u64, delivered: &str, told: &BTreeMap<String, Vec<String>>) {
        let seed = story.seed;
        let acked = story.ledgers()[way as usize - 1].acked.lock().unwrap();
        let ids: BTreeSet<&String> = acked.values().collect();
        assert_eq!(ids.len(), acked.len(), "an id was given twice, seed {seed}");
        for (message, id) in acked.iter() {
            let copies = story.carrier.accepted(&person(way, *message), &words(way, *message));
            let told = told.get(id).map(Vec::as_slice).unwrap_or_default();
            if told.iter().any(|stat| stat == delivered) {
                assert_eq!(copies, 1, "message {message} of way {way}: {told:?}, seed {seed}");
                self.again[way as usize - 1] += told.len() - 1;
            } else {
                assert!(copies <= 1, "message {message} of way {way}: {told:?}, seed {seed}");
                self.unknown += 1;
            }
        }
    }
}
