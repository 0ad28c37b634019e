//! Tests of settlement with both backends: the same outcomes, from the topic to the accounts, over a ledger
//! and over a charging server that is asked by Diameter.

use super::MessageCharging;
use super::external::{External, Settings};
use super::settler::{self, Settling};
use crate::server::{ConnectTo, PeerRule, Running, ServerConfig};
use bus::embedded::{Embedded, Options as BusOptions};
use bus::{Bus, Topic};
use ledger::books::{AccountId, Books};
use ledger::{Ledger, Options};
use net::Cores;
use records::{
    AlertNo, AttemptRef, AttemptResult, Bill, BillItem, EndpointNo, Funding, NotTried, OUTCOMES, Outcome,
    Receipt, ReceiptState, Timestamp, encode_outcomes, mail_key,
};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::watch;

const BALANCE: i64 = 100;
/// Of each message; one costs one.
const PARTS: u8 = 2;
const ENDPOINT: EndpointNo = EndpointNo(3);
const OCS: &str = "ocs.test";
const REALM: &str = "test";

/// An outcome or a receipt.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Accepted(u8),
    Refused(u8),
    NotTried(u8),
    Unknown(u8),
    /// Of one part.
    PartAccepted(u8),
    PartRefused(u8),
    PartUnknown(u8),
    Delivered,
    Failed,
    Buffered,
}
use Step::*;

impl Step {
    /// Attempt, part and result.
    fn attempt(self) -> Option<(u8, u8, AttemptResult)> {
        let accepted = || AttemptResult::Accepted { keys: Vec::new(), id: String::new() };
        let refused = || AttemptResult::Refused {
            permanent: false,
            code: "smpp:00000058".to_owned(),
            text: String::new(),
        };
        let unknown = || AttemptResult::Unknown { text: String::new() };
        match self {
            Accepted(attempt) => Some((attempt, 0, accepted())),
            Refused(attempt) => Some((attempt, 0, refused())),
            NotTried(attempt) => Some((attempt, 0, AttemptResult::NotTried { why: NotTried::RouteDown })),
            Unknown(attempt) => Some((attempt, 0, unknown())),
            PartAccepted(part) => Some((1, part, accepted())),
            PartRefused(part) => Some((1, part, refused())),
            PartUnknown(part) => Some((1, part, unknown())),
            Delivered | Failed | Buffered => None,
        }
    }

    fn outcomes(self, alert: AlertNo) -> Vec<Outcome> {
        let at = Timestamp(now());
        if let Some((attempt, part, result)) = self.attempt() {
            let parts = if part == 0 { 1..=PARTS } else { part..=part };
            let of = |part| AttemptRef { alert, endpoint: ENDPOINT, attempt, part, parts: PARTS };
            let route = "r".to_owned();
            let outcome =
                |part| Outcome::Attempt { of: of(part), route: route.clone(), at, result: result.clone() };
            return parts.map(outcome).collect();
        }
        let state = match self {
            Delivered => ReceiptState::Delivered,
            Failed => ReceiptState::Failed,
            _ => ReceiptState::Buffered,
        };
        let (route, id, text) = (String::new(), String::new(), String::new());
        let keys = vec![mail_key(alert, ENDPOINT)];
        vec![Outcome::Receipt(Receipt { route, keys, id, state, text, at })]
    }
}

/// What is read of a message, in its order.
type Steps = &'static [Step];
/// What is charged at last, and whether anything is held.
type Charged = (i64, bool);

/// Rows in which both backends come to the same.
const ALIKE: &[(Steps, Charged)] = &[
    (&[Accepted(1)], (2, false)),
    (&[Refused(1)], (0, false)),
    (&[NotTried(1)], (0, false)),
    (&[Refused(1), Accepted(2)], (2, false)),
    (&[NotTried(1), Refused(2), Refused(3)], (0, false)),
    (&[Unknown(1)], (0, true)),
    (&[Unknown(1), Unknown(1)], (0, true)),
    (&[Unknown(1), Buffered], (0, true)),
    (&[Unknown(1), Delivered], (2, false)),
    (&[Unknown(1), Delivered, Delivered], (2, false)),
    (&[Unknown(1), Failed], (0, false)),
    (&[Unknown(1), Accepted(1)], (2, false)),
    (&[Unknown(1), Accepted(2)], (2, false)),
    (&[Unknown(1), Refused(2)], (0, true)),
    (&[Unknown(1), Refused(2), Delivered], (2, false)),
    (&[Unknown(1), Refused(2), Failed], (0, false)),
    (&[Unknown(1), Unknown(2), Delivered], (2, false)),
    (&[Unknown(1), Unknown(2), Accepted(3)], (2, false)),
    (&[Delivered, Unknown(1)], (2, false)),
    (&[Failed, Unknown(1)], (0, false)),
    (&[Failed, Delivered, Unknown(1)], (2, false)),
    (&[Delivered, Accepted(1)], (2, false)),
    (&[PartAccepted(1), PartAccepted(2)], (2, false)),
    (&[PartAccepted(1), PartRefused(2)], (2, false)),
    (&[PartRefused(1), PartAccepted(2)], (2, false)),
    (&[PartRefused(1), PartRefused(2)], (0, false)),
    (&[PartAccepted(1), PartUnknown(2)], (2, false)),
    (&[PartUnknown(1), PartAccepted(2)], (2, false)),
    (&[PartUnknown(1), PartRefused(2)], (0, true)),
    (&[PartUnknown(1), PartRefused(2), Delivered], (2, false)),
];

/// Rows in which they differ, since the ledger charges a message, and a charging server each attempt.
const UNLIKE: &[(Steps, [Charged; 2])] = &[
    // A second attempt that is sent is a second session.
    (&[Accepted(1), Accepted(2)], [(2, false), (4, false)]),
    (&[Unknown(1), Delivered, Accepted(2)], [(2, false), (4, false)]),
    (&[Delivered, Accepted(1), Unknown(2)], [(2, false), (2, true)]),
    // A receipt that says failed frees the message, or the first attempt.
    (&[Unknown(1), Unknown(2), Failed], [(0, false), (0, true)]),
    (&[Unknown(1), Unknown(2), Failed, Delivered], [(0, false), (2, false)]),
];

fn now() -> i64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros() as i64
}

/// A backend, and the accounts that it charges.
enum Backend {
    Local(MessageCharging),
    External(External),
}

struct Charges {
    folder: tempfile::TempDir,
    bus: Embedded,
    outcomes: Arc<dyn Topic>,
    backend: Backend,
    books: Books,
    ledger: Ledger,
    /// Server and client, where there is Diameter between.
    nodes: Vec<Running>,
}

impl Charges {
    fn ledger() -> (tempfile::TempDir, Embedded, Ledger, Books) {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("ledger");
        let ledger = Ledger::open(&Options { shards: 2, ..Options::new(&kept) }).unwrap();
        let bus = Embedded::open(folder.path().join("bus"), BusOptions::default()).unwrap();
        let books = Books::new(ledger.clone(), &kept);
        (folder, bus, ledger, books)
    }

    fn local() -> Charges {
        let (folder, bus, ledger, books) = Charges::ledger();
        let backend = Backend::Local(MessageCharging::new(ledger.clone()));
        let outcomes = bus.topic(OUTCOMES).unwrap();
        Charges { folder, outcomes, bus, backend, books, ledger, nodes: Vec::new() }
    }

    async fn external() -> Charges {
        let (folder, bus, ledger, books) = Charges::ledger();
        let cores = Arc::new(Cores::from_handles(Vec::new()));
        let config = ServerConfig {
            listen: Some("127.0.0.1:0".parse().unwrap()),
            origin_host: OCS.to_owned(),
            origin_realm: REALM.to_owned(),
            ..ServerConfig::default()
        };
        let server = crate::server::start(
            config,
            ledger.clone(),
            Arc::default(),
            Arc::clone(&cores),
            net::DescriptorBudget::unlimited(),
        )
        .await
        .unwrap();
        let address = server.address().unwrap().to_string();
        let peer = PeerRule {
            origin_host: OCS.to_owned(),
            realm: REALM.to_owned(),
            allowed_ips: Vec::new(),
            tls: false,
            connect: Some(ConnectTo { address, charges: Some(1), ..ConnectTo::default() }),
        };
        let settings = Settings {
            origin_host: "client.test".to_owned(),
            origin_realm: REALM.to_owned(),
            ..Settings::default()
        };
        let config = ServerConfig {
            origin_host: settings.origin_host.clone(),
            origin_realm: REALM.to_owned(),
            peers: vec![peer],
            ..ServerConfig::default()
        };
        let client = crate::server::start(
            config,
            ledger.clone(),
            Arc::default(),
            cores,
            net::DescriptorBudget::unlimited(),
        )
        .await
        .unwrap();
        let path = folder.path().join("store");
        let store = store::sqlite::open(&path, &store::sqlite::SqliteOptions::default()).unwrap();
        let external = External::open(settings, None, &bus, store).await.unwrap();
        external.attach(client.charging_servers());
        let outcomes = bus.topic(OUTCOMES).unwrap();
        let (backend, nodes) = (Backend::External(external), vec![server, client]);
        Charges { folder, outcomes, bus, backend, books, ledger, nodes }
    }

    fn account(&self, alert: AlertNo) -> AccountId {
        let name = format!("town-{}", alert.0);
        match self.backend {
            Backend::Local(_) => AccountId::named(&name),
            Backend::External(_) => AccountId::parse(&format!("private:{name}")).unwrap(),
        }
    }

    async fn pay(&self, alert: AlertNo, attempt: u8, is_emergency: bool) {
        let item = BillItem {
            endpoint: ENDPOINT,
            attempt,
            parts: PARTS,
            address: "+46701740605".to_owned(),
            until: Timestamp(now() + 3_600_000_000),
        };
        let bill = Bill {
            account: format!("town-{}", alert.0),
            alert,
            is_emergency,
            since: self.outcomes.head(),
            is_again: false,
            items: vec![item],
        };
        let paid = match &self.backend {
            Backend::Local(own) => own.pay(&bill).await,
            Backend::External(external) => external.pay(&bill).await,
        };
        assert_eq!(paid, [Funding::Paid]);
    }

    fn start(&self) -> Settling {
        match &self.backend {
            Backend::Local(own) => own.start_settling(&self.bus).unwrap(),
            Backend::External(external) => {
                external.start_settling(&self.bus, watch::channel(true).1).unwrap()
            }
        }
    }

    /// Goes through the steps of all rows, one of each row at a time. `restarts`: a process ends, in order or
    /// killed, and another begins.
    async fn run(&self, rows: &[Steps], restarts: bool, is_emergency: bool) {
        let mut paid = HashSet::new();
        let mut settling = self.start();
        for at in 0..rows.iter().map(|steps| steps.len()).max().unwrap_or(0) {
            for (alert, step) in (1..).map(AlertNo).zip(rows.iter().map(|steps| steps.get(at))) {
                let Some(step) = step else { continue };
                if at == 0 {
                    self.books.open(&self.account(alert), BALANCE, 0).await.unwrap();
                    // A receipt says that there was an attempt.
                    paid.insert((alert.0, 1));
                    self.pay(alert, 1, is_emergency).await;
                }
                if let Some((attempt, ..)) = step.attempt()
                    && paid.insert((alert.0, attempt))
                {
                    self.pay(alert, attempt, is_emergency).await;
                }
                self.outcomes.append(&[&encode_outcomes(&step.outcomes(alert))]).await.unwrap();
            }
            if restarts {
                if at % 2 == 0 {
                    settling.stop().await;
                } else {
                    let group = self.bus.group(OUTCOMES, settler::GROUP).unwrap();
                    while group.low_water() < self.outcomes.head() {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    settling.kill().await;
                }
                settling = self.start();
            }
        }
        settling.stop().await;
        let group = self.bus.group(OUTCOMES, settler::GROUP).unwrap();
        assert_eq!(group.low_water(), self.outcomes.head(), "all is acknowledged");
    }

    /// What is charged for each row, owed or not, and whether anything is held.
    async fn charged(&self, rows: usize) -> Vec<Charged> {
        let mut charged = Vec::new();
        for alert in (1..).map(AlertNo).take(rows) {
            let account = self.books.account(&self.account(alert)).await.unwrap();
            assert_eq!(account.balance, BALANCE - account.used, "{alert}");
            charged.push((account.used + account.debt, account.reserved > 0));
        }
        charged
    }

    async fn end(self) {
        for node in self.nodes.into_iter().rev() {
            node.stop().await;
        }
        self.ledger.stop();
        drop((self.bus, self.folder));
    }
}

async fn compare(charges: Charges, rows: &[(Steps, Charged)], restarts: bool) {
    let steps: Vec<Steps> = rows.iter().map(|(steps, _)| *steps).collect();
    charges.run(&steps, restarts, false).await;
    let charged: Vec<_> = steps.iter().copied().zip(charges.charged(rows.len()).await).collect();
    assert_eq!(charged, rows);
    charges.end().await;
}

fn unlike(backend: usize) -> Vec<(Steps, Charged)> {
    UNLIKE.iter().map(|(steps, charged)| (*steps, charged[backend])).collect()
}

#[tokio::test]
async fn outcomes_settle_the_same_amounts_in_the_ledger_and_at_a_charging_server() {
    compare(Charges::local(), ALIKE, false).await;
    compare(Charges::external().await, ALIKE, false).await;
}

#[tokio::test]
async fn they_settle_the_same_amounts_though_a_settler_ends_after_each_of_them() {
    compare(Charges::local(), ALIKE, true).await;
    compare(Charges::external().await, ALIKE, true).await;
}

#[tokio::test]
async fn the_ledger_charges_a_message_once_and_a_charging_server_each_attempt() {
    for restarts in [false, true] {
        compare(Charges::local(), &unlike(0), restarts).await;
        compare(Charges::external().await, &unlike(1), restarts).await;
    }
}

#[tokio::test]
async fn an_emergency_is_charged_when_it_is_accepted_and_costs_nothing_when_it_is_not() {
    let rows: [Steps; 4] =
        [&[Accepted(1)], &[Refused(1)], &[Unknown(1), Delivered], &[Refused(1), Accepted(2)]];
    for charges in [Charges::local(), Charges::external().await] {
        charges.run(&rows, false, true).await;
        assert_eq!(charges.charged(rows.len()).await, [(2, false), (0, false), (2, false), (2, false)]);
        charges.end().await;
    }
}
