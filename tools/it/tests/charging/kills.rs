//! Kill -9 at random moments under load, with retransmissions: no acknowledged debit is lost, none is done
//! twice.

use super::{Ocs, PATIENCE};
use crate::crash::seed;
use diameter::dictionary::avp;
use diameter::header::CommandFlags;
use it::credit::{CreditClient, Draft, ReceivedMessage, TERMINATION, UPDATE, requested, used};
use it::eventually;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const ROUNDS: usize = 20;
const TELLERS: usize = 6;
/// Requests in flight of each.
const DEPTH: usize = 16;
pub(crate) const ACCOUNTS: usize = 8;
/// Minor units of all accounts but the first, which all ask for more than it has.
pub(crate) const RICH: i64 = 10_000_000;
pub(crate) const HOT: i64 = 8_000;
/// Acknowledged between two kills, at least.
pub(crate) const ACKNOWLEDGED_MIN: u64 = 150;
/// Answers that are asked for again behind a kill, of each teller.
const ASKED_AGAIN: usize = 12;

pub(crate) fn number(account: usize) -> String {
    format!("{}", 46_701_740_640 + account)
}

/// A request and what it takes if it succeeds.
#[derive(Clone)]
pub(crate) struct Ask {
    draft: Draft,
    account: usize,
    takes: i64,
    slot: usize,
}

/// A session that goes on.
#[derive(Clone)]
struct Session {
    id: String,
    account: usize,
    number: u32,
    granted: u64,
}

/// A client that remembers what it asked and what it was told, over all its connections.
pub(crate) struct Teller {
    pub(crate) name: String,
    pub(crate) port: u16,
    chance: StdRng,
    sessions: Vec<Option<Session>>,
    pub(crate) unanswered: Vec<Ask>,
    answered: Vec<(Draft, Vec<Vec<u8>>)>,
    /// Minor units that verified answers took, by account.
    pub(crate) taken: [i64; ACCOUNTS],
    /// Answers, and those of requests that were sent again.
    pub(crate) answers: u64,
    pub(crate) resent: u64,
}

impl Teller {
    pub(crate) fn new(place: usize, port: u16, seed: u64) -> Teller {
        Teller {
            name: format!("teller{place}.client.test"),
            port,
            chance: StdRng::seed_from_u64(seed.wrapping_add(place as u64)),
            sessions: vec![None; DEPTH],
            unanswered: Vec::new(),
            answered: Vec::new(),
            taken: [0; ACCOUNTS],
            answers: 0,
            resent: 0,
        }
    }

    /// Until the connection ends, or it is over.
    pub(crate) fn work(mut self, acknowledged: &AtomicU64, is_over: &AtomicBool) -> Teller {
        // Whatever ends it, what was not answered is kept.
        let _ = self.try_work(acknowledged, is_over);
        self
    }

    fn try_work(&mut self, acknowledged: &AtomicU64, is_over: &AtomicBool) -> io::Result<()> {
        let mut client = CreditClient::try_open(self.port, &self.name)?;
        self.catch_up(&mut client)?;
        while !is_over.load(Ordering::Relaxed) {
            self.unanswered = (0..DEPTH).map(|slot| self.next(&mut client, slot)).collect();
            self.exchange(&mut client)?;
            acknowledged.fetch_add(DEPTH as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Sends again what was not answered, and some of what was.
    pub(crate) fn catch_up(&mut self, client: &mut CreditClient) -> io::Result<()> {
        self.resent += self.unanswered.len() as u64;
        for ask in &mut self.unanswered {
            ask.draft = again(client, &ask.draft);
        }
        self.exchange(client)?;
        for (draft, first) in self.answered.iter().rev().take(ASKED_AGAIN) {
            let repeated = again(client, draft);
            let answer = client.try_ask(&repeated)?;
            assert_eq!(&answer.lasting(), first, "{}: the first answer comes again", self.name);
        }
        self.answered.clear();
        Ok(())
    }

    /// Sends what is unanswered and hears every answer.
    fn exchange(&mut self, client: &mut CreditClient) -> io::Result<()> {
        let octets: Vec<u8> = self.unanswered.iter().flat_map(|ask| ask.draft.octets()).collect();
        client.try_send(&octets)?;
        while !self.unanswered.is_empty() {
            let answer = client.try_answer()?;
            let hop_by_hop = answer.message().header.hop_by_hop;
            let place = self.unanswered.iter().position(|ask| ask.draft.header.hop_by_hop == hop_by_hop);
            let ask = self.unanswered.swap_remove(place.expect("an answer to what was asked"));
            self.heed(&ask, &answer);
        }
        Ok(())
    }

    fn heed(&mut self, ask: &Ask, answer: &ReceivedMessage) {
        answer.assert_answers(&ask.draft.octets());
        let code = answer.code();
        let is_hot = ask.account == 0;
        match code {
            2001 => self.taken[ask.account] += ask.takes,
            4012 => assert!(is_hot, "{} has money", number(ask.account)),
            // It lay longer than Tcc between two requests.
            5002 => assert!(self.sessions[ask.slot].is_some()),
            _ => panic!("{code}: {answer:?}"),
        }
        let units = answer.within(&[avp::GRANTED_SERVICE_UNIT, avp::CC_SERVICE_SPECIFIC_UNITS]);
        let units = units.map_or(0, |units| units.u64().unwrap());
        let session = &mut self.sessions[ask.slot];
        match session {
            Some(_) if code == 5002 => *session = None,
            Some(goes_on) if goes_on.number < 3 => goes_on.granted = units,
            Some(_) => *session = None,
            None if code == 2001 => assert_eq!(units as i64, ask.takes, "all or nothing"),
            None => assert_eq!(units, 0),
        }
        self.answers += 1;
        self.answered.push((ask.draft.clone(), answer.lasting()));
    }

    fn next(&mut self, client: &mut CreditClient, slot: usize) -> Ask {
        if let Some(session) = &mut self.sessions[slot] {
            let use_up = self.chance.random_range(0..=session.granted);
            let kind = if session.number == 2 { TERMINATION } else { UPDATE };
            let draft = client.credit(&session.id, kind, session.number).with(|writer| {
                used(writer, use_up);
                if kind == UPDATE {
                    requested(writer, 10);
                }
            });
            session.number += 1;
            return Ask { draft, account: session.account, takes: use_up as i64, slot };
        }
        let account = if self.chance.random_bool(0.3) { 0 } else { self.chance.random_range(1..ACCOUNTS) };
        if account != 0 && self.chance.random_bool(0.3) {
            let id = client.fresh_session();
            let draft = client.initial(&id, &number(account), 10);
            self.sessions[slot] = Some(Session { id, account, number: 1, granted: 0 });
            return Ask { draft, account, takes: 0, slot };
        }
        let units = self.chance.random_range(1..=5);
        Ask { draft: client.debit(&number(account), units), account, takes: units as i64, slot }
    }
}

/// The same request on another connection (RFC 6733, section 5.5.4).
fn again(client: &mut CreditClient, draft: &Draft) -> Draft {
    let end_to_end = draft.header.end_to_end;
    let mut again = client.numbered(draft.clone().flagged(CommandFlags::RETRANSMIT));
    again.header.end_to_end = end_to_end;
    again
}

/// Lets the tellers work until enough is acknowledged, and a moment more; then kills.
async fn round(ocs: &mut Ocs, tellers: &mut Vec<Teller>, chance: &mut StdRng) {
    let acknowledged = Arc::new(AtomicU64::new(0));
    let working: Vec<_> = tellers
        .drain(..)
        .map(|teller| {
            let acknowledged = Arc::clone(&acknowledged);
            std::thread::spawn(move || teller.work(&acknowledged, &AtomicBool::new(false)))
        })
        .collect();
    eventually("requests are acknowledged", PATIENCE, async || match acknowledged.load(Ordering::Relaxed) {
        enough if enough >= ACKNOWLEDGED_MIN => Ok(()),
        few if working.iter().any(|teller| teller.is_finished()) => panic!("a teller gave up after {few}"),
        few => Err(few),
    })
    .await;
    tokio::time::sleep(Duration::from_micros(chance.random_range(0..100_000))).await;
    ocs.server.kill9();
    audit(ocs);
    tellers.extend(working.into_iter().map(|teller| teller.join().unwrap()));
    ocs.server.restart().await;
    ocs.listens().await;
}

/// Between the kill and the next start: what is on disk is exact to the unit.
fn audit(ocs: &Ocs) {
    let audit = std::process::Command::new(it::program())
        .args(["ledger", "audit", "--data"])
        .arg(ocs.server.data())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&audit.stdout);
    assert!(audit.status.success(), "{said}{}", String::from_utf8_lossy(&audit.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_kill_loses_or_repeats_a_debit_or_leaks_a_reservation() {
    let seed = seed();
    println!("IT_SEED={seed}");
    let mut chance = StdRng::seed_from_u64(seed);
    let mut ocs = Ocs::start("", "validity = \"5s\"\nevent_window = \"10m\"").await;
    for account in 0..ACCOUNTS {
        ocs.fund(&number(account), if account == 0 { HOT } else { RICH }).await;
    }
    let mut tellers: Vec<Teller> = (0..TELLERS).map(|place| Teller::new(place, ocs.port, seed)).collect();
    for _ in 0..ROUNDS {
        round(&mut ocs, &mut tellers, &mut chance).await;
        let (balance, reserved, _) = ocs.money(&number(0)).await;
        assert!(balance >= 0 && reserved == 0, "the hot account has {balance}, seed {seed}");
    }
    // Whatever was never answered is now.
    for teller in &mut tellers {
        let mut client = ocs.client(&teller.name);
        teller.catch_up(&mut client).unwrap();
        assert!(teller.unanswered.is_empty());
    }
    let taken = |account: usize| tellers.iter().map(|teller| teller.taken[account]).sum::<i64>();
    let (answers, resent): (u64, u64) =
        tellers.iter().fold((0, 0), |sum, teller| (sum.0 + teller.answers, sum.1 + teller.resent));
    println!(
        "{answers} answers, {resent} requests sent again, {} of {HOT} taken from the hot account",
        taken(0)
    );
    assert!(resent > 0, "kills that hit nobody prove nothing");
    let mut told = HashMap::new();
    for account in 0..ACCOUNTS {
        let begin = if account == 0 { HOT } else { RICH };
        let (balance, _, used) = ocs.money(&number(account)).await;
        assert_eq!(
            (balance, used),
            (begin - taken(account), taken(account)),
            "{}, seed {seed}",
            number(account)
        );
        told.insert(account, balance);
    }
    // What sessions still hold comes back after Tcc.
    eventually("no reservation is left", PATIENCE, async || {
        let mut held = 0;
        for (account, balance) in &told {
            let money = ocs.money(&number(*account)).await;
            assert_eq!(money.0, *balance);
            held += money.1;
        }
        if held == 0 { Ok(()) } else { Err(held) }
    })
    .await;
    // The hot account gives its last unit, and no more.
    let mut client = ocs.client("last.client.test");
    let left = told[&0];
    let more = client.debit(&number(0), left as u64 + 1);
    assert_eq!(client.ask(&more).code(), 4012);
    if left > 0 {
        let rest = client.debit(&number(0), left as u64);
        assert_eq!(client.ask(&rest).code(), 2001);
    }
    let one = client.debit(&number(0), 1);
    assert_eq!(client.ask(&one).code(), 4012);
    assert_eq!(ocs.money(&number(0)).await, (0, 0, HOT));
}
