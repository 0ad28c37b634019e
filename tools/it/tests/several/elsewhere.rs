//! Our own messages of several processes, paid at a credit-control server of others: they are one client, of
//! which each process is an agent, and no message is charged twice, or not at all, because one of them dies.

use super::AT_LAST;
use crate::charging::Ocs;
use crate::charging::asked_back::{ask_about, units};
use crate::charging::connecting::Listener;
use crate::charging::elsewhere::{TOWN, asked_next, cca, cca_like, charges, comes_to, rests, said, sent};
use crate::fixtures::{carrier, carrier_that, count, phone_owner, phones_csv};
use diameter::dictionary::{avp, command};
use it::credit::{
    CLIENT_REALM, CreditClient, INITIAL, ReceivedMessage, SERVER_HOST, SERVER_REALM, TERMINATION, UPDATE, cea,
};
use it::{Api, Constellation, Plan, Server, eventually, free_port, sms_route};
use serde_json::{Value, json};
use sim::smsc::Smsc;
use std::io;
use std::time::Duration;
use tokio::task::block_in_place;

/// Who charges: the server itself has the usual name.
const OCS: &str = "ocs.others.test";

fn plan(servers: &str, more: &str) -> Plan {
    let config = format!("reconnect = \"2s\"\n{servers}[charging]\nmode = \"diameter\"\n{more}");
    Plan {
        processes: 2,
        servers: 1,
        lease: Duration::from_secs(6),
        diameter: true,
        config,
        ..Plan::default()
    }
}

/// The client `town` of each process.
async fn towns(all: &Constellation) -> [Api; 2] {
    let made = json!({"role": "operator", "account": "town"});
    let made = all.api(0).post("/api/v1/tokens", &made).await.expect(201);
    [0, 1].map(|place| all.api(place).with_token(made["token"].as_str().unwrap()))
}

/// Waits for a report that is as it is wanted, of whichever process answers.
async fn report(towns: &[Api], alert: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let mut turn = 0;
    eventually("all is decided", AT_LAST, async || {
        turn += 1;
        let town = &towns[turn % towns.len()];
        match town
            .try_send(town.request(reqwest::Method::GET, &format!("/api/v1/alerts/{alert}/report")))
            .await
        {
            Ok(reply) if reply.status == 200 && is_wanted(&reply.json()) => Ok(reply.json()),
            Ok(reply) => Err(reply.text),
            Err(error) => Err(error),
        }
    })
    .await
}

async fn charging_server() -> Ocs {
    let port = free_port();
    let config = format!(
        "[diameter]\nlisten = \"127.0.0.1:{port}\"\norigin_host = \"{OCS}\"\norigin_realm = \"{SERVER_REALM}\"\nwatchdog = \"6s\"\n[charging]\n"
    );
    let ocs = Ocs { server: Server::start(&config).await, port };
    ocs.listens().await;
    ocs
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_processes_have_every_message_charged_once_by_a_server_of_others_though_each_is_killed() {
    const PEOPLE: i64 = 1_500;
    const WINDOW: i64 = 20;
    let ocs = charging_server().await;
    ocs.fund(TOWN, 2 * PEOPLE).await;
    let carrier = carrier_that(|options| options.latency = "1ms..25ms".parse().unwrap()).await;
    let keys = format!("rate = 100.0\nsessions = 1\nwindow = {WINDOW}");
    let route = sms_route("carrier", carrier.address(), &keys);
    let mut all = Constellation::start(plan(&charges(OCS, SERVER_REALM, ocs.port, 1), &route)).await;
    let towns = towns(&all).await;
    let town = &towns[0];
    town.import_csv(phones_csv(PEOPLE as u64)).await;
    let alert = json!({"text": "The dam has burst", "audience": ["all"], "on_unknown": "hold"});
    let alert = town.submit(&alert).await;
    let goes_on = async |more: u64| {
        let wanted = carrier.stats().accepted + more;
        eventually("messages go out", AT_LAST, async || {
            let accepted = carrier.stats().accepted;
            if accepted >= wanted { Ok(()) } else { Err(format!("{accepted} of {wanted}")) }
        })
        .await;
    };
    goes_on(200).await;
    let first = all.leads(&[0, 1], AT_LAST).await;
    for victim in [first, 1 - first] {
        all.processes[victim].kill9();
        goes_on(300).await;
        all.processes[victim].restart().await;
        goes_on(100).await;
    }
    let report = report(&towns, &alert, rests).await;
    let (charged, unknown) = (sent(&report), count(&report, "unknown") as i64);
    println!("{charged} charged, {unknown} unknown");
    assert_eq!(charged + unknown, PEOPLE, "{report}");
    assert!(unknown <= 2 * WINDOW, "{report}");
    comes_to(&[&ocs], (2 * PEOPLE - charged, unknown, charged)).await;
}

/// The connections of both processes, that of the first one first.
fn both(ocs: &Listener) -> [CreditClient; 2] {
    let mut lines: Vec<(String, CreditClient)> = (0..2)
        .map(|_| {
            let (mut line, asked) = ocs.accept();
            line.send(&cea(&asked, ocs.name));
            (asked.find(avp::ORIGIN_HOST).unwrap().utf8().unwrap().to_owned(), line)
        })
        .collect();
    lines.sort_by(|(one, _), (other, _)| one.cmp(other));
    let names: Vec<&str> = lines.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, [format!("a.{SERVER_HOST}"), format!("b.{SERVER_HOST}")]);
    lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>().try_into().ok().unwrap()
}

/// The first request on either line, and whose it is.
async fn first_asked(lines: &mut [CreditClient; 2]) -> (usize, ReceivedMessage) {
    lines.iter().for_each(|line| line.stream().set_nonblocking(true).unwrap());
    let asking = eventually("somebody asks", AT_LAST, async || {
        let speaks = |line: &CreditClient| match line.stream().peek(&mut [0; 1]) {
            Ok(_) => true,
            Err(error) => panic_unless_nothing_came(&error),
        };
        lines.iter().position(speaks).ok_or("nobody")
    })
    .await;
    lines.iter().for_each(|line| line.stream().set_nonblocking(false).unwrap());
    (asking, block_in_place(|| asked_next(&mut lines[asking])))
}

fn panic_unless_nothing_came(error: &io::Error) -> bool {
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "{error}");
    false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_a_process_asked_before_it_died_another_asks_in_the_same_words_with_the_t_bit() {
    let (ocs, port) = Listener::open(OCS);
    let carrier = carrier().await;
    let route = sms_route("carrier", carrier.address(), "");
    let mut all = Constellation::start(plan(&charges(OCS, CLIENT_REALM, port, 1), &route)).await;
    let mut lines = block_in_place(|| both(&ocs));
    let towns = towns(&all).await;
    let town = &towns[0];
    town.add_recipients(&json!([phone_owner("ann", 0)])).await;
    let alert = town.submit(&json!({"text": "The dam has burst", "audience": ["all"]})).await;
    let (asking, asked) = first_asked(&mut lines).await;
    let (session, kind, number, is_again) = said(&asked);
    assert_eq!((kind, number, is_again), (INITIAL, 0, false));
    assert!(session.starts_with(&format!("{SERVER_HOST};")), "{session}");
    // One client, and an agent of it.
    let named = |asked: &ReceivedMessage, name| asked.find(name).unwrap().utf8().unwrap().to_owned();
    assert_eq!([avp::ORIGIN_HOST, avp::ROUTE_RECORD].map(|name| named(&asked, name)), [SERVER_HOST; 2]);
    let slot = asked.message().header.end_to_end >> 26;
    all.processes[asking].kill9();
    let other = &mut lines[1 - asking];
    let asked = block_in_place(|| asked_next(other));
    assert_eq!(said(&asked), (session.clone(), INITIAL, 0, true));
    assert_eq!([avp::ORIGIN_HOST, avp::ROUTE_RECORD].map(|name| named(&asked, name)), [SERVER_HOST; 2]);
    assert_ne!(
        asked.message().header.end_to_end >> 26,
        slot,
        "no two processes give out the same identifier"
    );
    assert_eq!(carrier.stats().accepted, 0, "nothing is sent before it is granted");
    other.send(&cca(&asked, ocs.name, 2001));
    let asked = block_in_place(|| asked_next(other));
    assert_eq!(said(&asked), (session, TERMINATION, 1, false));
    let used = asked.within(&[avp::USED_SERVICE_UNIT, avp::CC_SERVICE_SPECIFIC_UNITS]).unwrap();
    assert_eq!(used.u64(), Ok(1));
    other.send(&cca(&asked, ocs.name, 2001));
    report(&towns[1 - asking..][..1], &alert, |report| report["state"] == "done").await;
    assert_eq!(carrier.stats().accepted, 1);
}

/// An alert to the one person there is, until its message's session has begun: who began it, and with which
/// words.
async fn begins(
    town: &Api,
    lines: &mut [CreditClient; 2],
    alert: &Value,
) -> (String, usize, ReceivedMessage) {
    let alert = town.submit(alert).await;
    let (asking, asked) = first_asked(lines).await;
    let (_, kind, number, _) = said(&asked);
    assert_eq!((kind, number), (INITIAL, 0));
    (alert, asking, asked)
}

/// The carrier never answers, and cuts the connection once it has as many messages.
async fn loses(carrier: &Smsc, messages: u64) {
    eventually("the carrier has the message", AT_LAST, async || match carrier.stats().silent {
        silent if silent >= messages => Ok(()),
        silent => Err(format!("{silent}")),
    })
    .await;
    carrier.disconnect();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_a_server_asks_of_any_process_is_done_by_the_one_that_has_the_session_or_ends_it() {
    let (ocs, port) = Listener::open(OCS);
    let carrier = carrier_that(|options| options.silence = 1.0).await;
    let route = sms_route("carrier", carrier.address(), "");
    let mut all = Constellation::start(plan(&charges(OCS, CLIENT_REALM, port, 1), &route)).await;
    let mut lines = block_in_place(|| both(&ocs));
    let towns = towns(&all).await;
    towns[0].add_recipients(&json!([phone_owner("ann", 0)])).await;
    let alert = json!({"text": "The dam has burst", "audience": ["all"], "on_unknown": "hold"});
    let is_unknown = |report: &Value| count(report, "unknown") == 1;
    let leader = all.leads(&[0, 1], AT_LAST).await;
    // RAR, to the process that does not have the session.
    let (id, asking, asked) = begins(&towns[0], &mut lines, &alert).await;
    let (session, ..) = said(&asked);
    lines[asking].send(&cca(&asked, ocs.name, 2001));
    let update = block_in_place(|| {
        let answer = ask_about(&mut lines[1 - asking], command::RE_AUTH, &session, SERVER_HOST);
        assert_eq!(answer.code(), 2002);
        asked_next(&mut lines[asking])
    });
    assert_eq!(said(&update), (session.clone(), UPDATE, 1, false));
    lines[asking].send(&cca(&update, ocs.name, 2001));
    // ASR, to the one that does not lead, of a message of which nobody knows.
    loses(&carrier, 1).await;
    report(&towns, &id, is_unknown).await;
    block_in_place(|| {
        let answer = ask_about(&mut lines[1 - leader], command::ABORT_SESSION, &session, SERVER_HOST);
        assert_eq!(answer.code(), 2001);
        let mut end = asked_next(&mut lines[leader]);
        if asking != leader {
            // Who leads has not heard of the update.
            assert_eq!(said(&end), (session.clone(), TERMINATION, 1, false));
            lines[leader].send(&cca_like(&end, &update, ocs.name, 2001));
            end = asked_next(&mut lines[leader]);
        }
        assert_eq!(said(&end), (session.clone(), TERMINATION, 2, false));
        assert_eq!(units(&end, avp::USED_SERVICE_UNIT), Some(0));
        lines[leader].send(&cca(&end, ocs.name, 2001));
    });
    // Another leads when it was told that nobody knows.
    let first = session;
    let (id, asking, asked) = begins(&towns[0], &mut lines, &alert).await;
    let (session, ..) = said(&asked);
    lines[asking].send(&cca(&asked, ocs.name, 2001));
    loses(&carrier, 2).await;
    report(&towns, &id, is_unknown).await;
    all.processes[leader].kill9();
    let next = 1 - leader;
    let end = block_in_place(|| {
        let answer = ask_about(&mut lines[next], command::ABORT_SESSION, &session, SERVER_HOST);
        assert_eq!(answer.code(), 2001);
        loop {
            // What was ended may be said again, where that it was said was not on disk.
            let end = asked_next(&mut lines[next]);
            let (of, kind, _, is_again) = said(&end);
            if of != first {
                return end;
            }
            assert_eq!((kind, is_again), (TERMINATION, true));
            lines[next].send(&cca(&end, ocs.name, 5002));
        }
    });
    let (of, kind, number, _) = said(&end);
    assert_eq!((of, kind, number), (session, TERMINATION, 1));
    assert_eq!(units(&end, avp::USED_SERVICE_UNIT), Some(0));
    lines[next].send(&cca(&end, ocs.name, 2001));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_end_of_an_emergencys_session_follows_its_beginning_though_another_process_began_it() {
    const TRIES_MAX: usize = 50;
    let (ocs, port) = Listener::open(OCS);
    let carrier = carrier().await;
    let more = format!("tx = \"5s\"\n{}", sms_route("carrier", carrier.address(), ""));
    let all = Constellation::start(plan(&charges(OCS, CLIENT_REALM, port, 1), &more)).await;
    let mut lines = block_in_place(|| both(&ocs));
    let towns = towns(&all).await;
    towns[0].add_recipients(&json!([phone_owner("ann", 0)])).await;
    let leader = all.leads(&[0, 1], AT_LAST).await;
    let alert = json!({"text": "run", "audience": ["all"], "priority": "emergency"});
    let ends = |line: &mut CreditClient, session: &str| {
        let end = block_in_place(|| asked_next(line));
        assert_eq!(said(&end), (session.to_owned(), TERMINATION, 1, false));
        assert_eq!(units(&end, avp::USED_SERVICE_UNIT), Some(1));
        end
    };
    for _ in 0..TRIES_MAX {
        let (_, asking, asked) = begins(&towns[0], &mut lines, &alert).await;
        let (session, ..) = said(&asked);
        if asking == leader {
            lines[leader].send(&cca(&asked, ocs.name, 2001));
            let end = ends(&mut lines[leader], &session);
            lines[leader].send(&cca(&end, ocs.name, 2001));
            continue;
        }
        // It goes out without an answer, and who leads hears that it did.
        let end = ends(&mut lines[leader], &session);
        lines[leader].send(&cca(&end, ocs.name, 5002));
        lines[asking].send(&cca(&asked, ocs.name, 2001));
        let end = ends(&mut lines[leader], &session);
        lines[leader].send(&cca(&end, ocs.name, 2001));
        return;
    }
    panic!("who leads has all segments");
}
