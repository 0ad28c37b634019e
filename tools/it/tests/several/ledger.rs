//! One ledger of several processes: any of them charges any account, also what was asked of another that
//! died.

use super::AT_LAST;
use crate::charging::fund;
use crate::charging::kills::{ACCOUNTS, ACKNOWLEDGED_MIN, HOT, RICH, Teller, number};
use crate::crash::seed;
use crate::fixtures::{carrier, count, phones_csv};
use crate::own_money::{client, comes_to, money};
use diameter::dictionary::avp;
use it::credit::{CreditClient, TERMINATION};
use it::{Constellation, Plan, eventually, program, sms_route};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const ROUNDS: usize = 6;
const TELLERS: usize = 4;

fn plan(config: String) -> Plan {
    Plan { processes: 2, servers: 1, config, ..Plan::default() }
}

/// The books in the database are equal to the unit.
fn audit(all: &Constellation) -> Value {
    let config = all.processes[0].config();
    let output = Command::new(program())
        .args(["ledger", "audit", "--format", "json", "--config"])
        .arg(config)
        .arg("--data")
        .arg(all.processes[0].data())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

async fn listens(port: u16) {
    eventually("the credit-control server listens", AT_LAST, async || {
        CreditClient::try_connect(port, "nobody.test").map(drop)
    })
    .await;
}

/// A client is told that another process goes on with its session, and it does.
fn goes_on_elsewhere(one: u16, other: u16) {
    let mut client = CreditClient::open(one, "failover.client.test");
    let session = client.fresh_session();
    let initial = client.initial(&session, &number(1), 1);
    let answer = client.ask(&initial);
    assert_eq!(answer.find(avp::CC_SESSION_FAILOVER).unwrap().u32(), Ok(1), "FAILOVER_SUPPORTED");
    drop(client);
    let mut client = CreditClient::open(other, "failover.client.test");
    let end = client.credit(&session, TERMINATION, 1);
    assert_eq!(client.ask(&end).code(), 2001);
}

/// All tellers work, half of them with each process; then one process is killed, and who was with it asks the
/// other again at once.
async fn round(all: &mut Constellation, tellers: &mut Vec<Teller>, round: usize, chance: &mut StdRng) {
    let (acknowledged, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let working: Vec<_> = (0..)
        .zip(tellers.drain(..))
        .map(|(place, mut teller): (usize, Teller)| {
            teller.port = all.diameter[(place + round) % 2];
            let (acknowledged, is_over) = (Arc::clone(&acknowledged), Arc::clone(&is_over));
            std::thread::spawn(move || teller.work(&acknowledged, &is_over))
        })
        .collect();
    eventually("requests are acknowledged", AT_LAST, async || match acknowledged.load(Ordering::Relaxed) {
        enough if enough >= ACKNOWLEDGED_MIN => Ok(()),
        few if working.iter().any(|teller| teller.is_finished()) => panic!("a teller gave up after {few}"),
        few => Err(few),
    })
    .await;
    tokio::time::sleep(Duration::from_micros(chance.random_range(0..100_000))).await;
    let victim = round % 2;
    all.processes[victim].kill9();
    is_over.store(true, Ordering::Relaxed);
    tellers.extend(working.into_iter().map(|teller| teller.join().unwrap()));
    let survivor = all.diameter[1 - victim];
    for teller in tellers.iter_mut() {
        teller.catch_up(&mut CreditClient::open(survivor, &teller.name.clone())).unwrap();
        assert!(teller.unanswered.is_empty());
    }
    all.processes[victim].restart().await;
    listens(all.diameter[victim]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_charge_the_same_accounts_once_each_though_one_is_killed_and_the_other_asked_again() {
    let seed = seed();
    println!("IT_SEED={seed}");
    let mut chance = StdRng::seed_from_u64(seed);
    let config = "[charging]\nvalidity = \"5s\"\nevent_window = \"10m\"\nshards = 2\n".to_owned();
    let mut all = Constellation::start(Plan { diameter: true, ..plan(config) }).await;
    for account in 0..ACCOUNTS {
        let begin = if account == 0 { HOT } else { RICH };
        fund(&all.api(account % 2), &number(account), begin).await;
    }
    for port in all.diameter.clone() {
        listens(port).await;
    }
    goes_on_elsewhere(all.diameter[0], all.diameter[1]);
    let mut tellers: Vec<Teller> = (0..TELLERS).map(|place| Teller::new(place, 0, seed)).collect();
    for turn in 0..ROUNDS {
        round(&mut all, &mut tellers, turn, &mut chance).await;
    }
    let (answers, resent): (u64, u64) =
        tellers.iter().fold((0, 0), |sum, teller| (sum.0 + teller.answers, sum.1 + teller.resent));
    println!("{answers} answers, {resent} requests sent again to the other process");
    assert!(resent > 0, "kills that hit nobody prove nothing");
    let mut charged = 0;
    for account in 0..ACCOUNTS {
        let taken = tellers.iter().map(|teller| teller.taken[account]).sum::<i64>();
        let begin = if account == 0 { HOT } else { RICH };
        let id = format!("e164:{}", number(account));
        // Sessions that nobody goes on with end after Tcc.
        for place in 0..2 {
            comes_to(&all.api(place), &id, [begin - taken, 0, taken, 0]).await;
        }
        charged += taken;
    }
    let report = audit(&all);
    assert_eq!(report["charged"], charged, "{report}, seed {seed}");
}

/// As many as the account has money for are sent, whichever gateway has their segments.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_own_messages_are_paid_from_the_purse_that_processes_share() {
    const PEOPLE: u64 = 600;
    const BALANCE: i64 = 400;
    let carrier = carrier().await;
    let route = sms_route("carrier", carrier.address(), "rate = 200.0\nsessions = 1");
    let config = format!("[charging]\nmode = \"ledger\"\nshards = 2\n{route}");
    let all = Constellation::start(plan(config)).await;
    all.leads(&[0, 1], AT_LAST).await;
    let town = client(&all.api(0), "town", BALANCE).await;
    town.import_csv(phones_csv(PEOPLE)).await;
    let alert = town.submit(&json!({"text": "The dam has burst", "audience": ["all"]})).await;
    let report = eventually("the alert is done", AT_LAST, async || {
        let report = town.get(&format!("/api/v1/alerts/{alert}/report")).await;
        match report.status == 200 && report.json()["state"] == "done" {
            true => Ok(report.json()),
            false => Err(report.text),
        }
    })
    .await;
    let sent = count(&report, "accepted") + count(&report, "delivered");
    assert_eq!((sent, count(&report, "failed")), (BALANCE as u64, PEOPLE - BALANCE as u64), "{report}");
    assert_eq!(carrier.stats().accepted, BALANCE as u64);
    for place in 0..2 {
        comes_to(&all.api(place), "town", [0, 0, BALANCE, 0]).await;
    }
    // What one process was paid, the other tells at once.
    for place in 0..2 {
        let topup = json!({"amount": 1});
        all.api(place).post("/api/v1/accounts/town:topup", &topup).await.expect(200);
        assert_eq!(money(&all.api(1 - place), "town").await[0], place as i64 + 1);
    }
    let report = audit(&all);
    assert_eq!((&report["charged"], &report["posted"]), (&json!(BALANCE), &json!(2)), "{report}");
}
