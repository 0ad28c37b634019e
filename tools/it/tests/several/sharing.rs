//! Stories of several processes when nothing goes wrong: any takes, any tells, all share.

use super::{ALL, AT_LAST, worst_second};
use crate::fixtures::{assert_counts_add_up, carrier, carrier_that, count, mail_server, phones_csv};
use it::wire::{self, Pdu, Wire};
use it::{Constellation, Plan, eventually, mail_route, smpp_client, sms_route, within};
use serde_json::json;
use std::collections::BTreeSet;

/// One node of JetStream does where none is killed.
fn plan(config: String) -> Plan {
    Plan { servers: 1, config, ..Plan::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn any_process_takes_an_alert_any_reports_it_and_platforms_hear_of_theirs_wherever_they_are_bound() {
    let carrier = carrier().await;
    let config = sms_route("carrier", carrier.address(), "") + &smpp_client("platform", "");
    let all = Constellation::start(Plan { smpp: true, ..plan(config) }).await;
    // Asking a process that is stopping, or has just begun, is not what this is about.
    all.leads(&ALL, AT_LAST).await;
    alerts_by_any(&all).await;
    platforms_anywhere(&all).await;
    assert_eq!(carrier.stats().repeats, 0);
}

async fn alerts_by_any(all: &Constellation) {
    all.api(1).import_csv(phones_csv(30)).await;
    for place in 0..3 {
        let alert = json!({"text": format!("hello from {place}"), "audience": ["all"]});
        let id = all.api(place).submit(&alert).await;
        for other in 0..3 {
            let report = all.done(&[other], &id, AT_LAST).await;
            assert_counts_add_up(&report);
            assert_eq!(count(&report, "endpoints"), 30, "{report}");
            assert_eq!(all.deliveries(&[other], &id, AT_LAST).await.len(), 30);
        }
    }
    // The same key by two doors is one alert.
    let alert = json!({"text": "once", "audience": ["all"]});
    let mut ids = BTreeSet::new();
    for place in 0..3 {
        let api = all.api(place);
        let request = api.request(reqwest::Method::POST, "/api/v1/alerts").header("Idempotency-Key", "once");
        ids.insert(api.send(request.json(&alert)).await.expect(202)["id"].to_string());
    }
    assert_eq!(ids.len(), 1, "{ids:?}");
}

/// A platform bound to each process hands messages in, and hears what became of them.
async fn platforms_anywhere(all: &Constellation) {
    const MESSAGES: u32 = 20;
    for (place, port) in (0..).zip(&all.smpp) {
        let mut wire = Wire::bound(*port, wire::BIND_TRANSCEIVER, "platform").await.unwrap();
        for message in 0..MESSAGES {
            let to = format!("4670{place}{message:06}");
            wire.write(&Pdu::submit(message + 2, "71700", &to, "from a platform").encode()).await.unwrap();
        }
        let (mut acked, mut told) = (BTreeSet::new(), BTreeSet::new());
        let hearing = async {
            while acked.is_empty() || acked.len() < MESSAGES as usize || !acked.is_subset(&told) {
                let pdu = match wire.next().await {
                    Ok(pdu) => pdu,
                    Err(error) if error.kind() == std::io::ErrorKind::TimedOut => continue,
                    Err(error) => {
                        panic!("process {place}: {error}; {} acknowledged, {} told", acked.len(), told.len())
                    }
                };
                match pdu.command {
                    wire::DELIVER_SM => {
                        let text = String::from_utf8_lossy(&pdu.body).into_owned();
                        assert!(text.contains("stat:DELIVRD"), "{text}");
                        told.insert(pdu.receipted().unwrap());
                        let answer =
                            Pdu::request(wire::DELIVER_SM | wire::RESPONSE, pdu.sequence, vec![0]).encode();
                        wire.write(&answer).await.unwrap();
                    }
                    command if command == wire::SUBMIT_SM | wire::RESPONSE => {
                        assert_eq!(pdu.status, 0);
                        acked.insert(pdu.word());
                    }
                    wire::ENQUIRE_LINK => {
                        let answer =
                            Pdu::request(wire::ENQUIRE_LINK | wire::RESPONSE, pdu.sequence, Vec::new());
                        wire.write(&answer.encode()).await.unwrap();
                    }
                    other => panic!("{other:#x} is not expected"),
                }
            }
        };
        within("each message is acknowledged and told", AT_LAST, hearing).await;
        assert_eq!(told, acked, "by process {place}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_limit_of_50_a_second_holds_over_all_processes_and_they_share_the_work() {
    const RATE: u64 = 50;
    const PEOPLE: u64 = 1_000;
    let carrier = carrier_that(|options| options.latency = "1ms..10ms".parse().unwrap()).await;
    let all = Constellation::start(plan(sms_route("carrier", carrier.address(), "rate = 50.0"))).await;
    all.api(0).import_csv(phones_csv(PEOPLE)).await;
    let id = all.api(1).submit(&json!({"text": "hello", "audience": ["all"]})).await;
    let report = all.done(&[2], &id, AT_LAST).await;
    assert_counts_add_up(&report);
    assert_eq!(carrier.stats().messages, PEOPLE, "{report}");
    assert_eq!(carrier.stats().repeats, 0);
    let written = ALL.map(|place| all.written(place));
    let (most, at) = worst_second(&all.writes(), &[]);
    println!("{written:?} written; {most} in the fullest second");
    assert_eq!(written.iter().sum::<u64>(), PEOPLE);
    assert!(written.iter().filter(|written| **written > 0).count() >= 2, "{written:?}");
    assert!(most <= RATE, "{most} in the second from {at} ns on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_limits_of_mail_and_of_text_topics_hold_over_all_processes_too() {
    const RATE: u64 = 30;
    const MAILS: u64 = 300;
    const TOPICS: u64 = 20;
    const ALERTS: u64 = 15;
    let mails = mail_server().await;
    let rate = format!("rate = {RATE}.0");
    let config = mail_route("relay", mails.address(), &rate)
        + &format!(
            "[topics]\nlisten = \"127.0.0.1:0\"\n\
             [[route]]\nname = \"boards\"\nchannel = \"topic\"\nmode = \"live\"\n{rate}\n"
        );
    let all = Constellation::start(plan(config)).await;
    let mailboxes: Vec<String> = (0..MAILS).map(|person| format!("mail:p{person}@town.test")).collect();
    let boards: Vec<String> = (0..TOPICS).map(|board| format!("topic:board-{board}")).collect();
    let mut ids = vec![all.api(0).submit(&json!({"text": "Leave at once", "audience": mailboxes})).await];
    for alert in 0..ALERTS {
        let alert = json!({"text": format!("Notice {alert}"), "audience": boards});
        ids.push(all.api(alert_door(ids.len())).submit(&alert).await);
    }
    for id in &ids {
        assert_counts_add_up(&all.done(&ALL, id, AT_LAST).await);
    }
    for (route, messages) in [("relay", MAILS), ("boards", TOPICS * ALERTS)] {
        let by_process = ALL.map(|place| all.writes_of_route(place, route));
        let written = by_process.clone().map(|writes| writes.iter().map(|(_, count)| count).sum::<u64>());
        let mut writes = by_process.concat();
        writes.sort_unstable();
        let (most, at) = worst_second(&writes, &[]);
        println!("{route}: {written:?} written; {most} in the fullest second");
        assert_eq!(written.iter().sum::<u64>(), messages, "{route}: each once");
        assert!(written.iter().filter(|written| **written > 0).count() >= 2, "{route}: {written:?}");
        assert!(most <= RATE, "{route}: {most} in the second from {at} ns on");
    }
}

/// Alerts come by all doors in turn.
fn alert_door(number: usize) -> usize {
    number % ALL.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_database_and_a_bus_that_do_not_belong_together_are_refused() {
    let mut all = Constellation::start(Plan { processes: 1, ..plan(String::new()) }).await;
    all.api(0).get("/api/v1/alerts").await.expect(200);
    all.processes[0].kill9();
    all.another_database();
    all.processes[0].spawn_again();
    let process = &mut all.processes[0];
    let log = eventually("it ends", AT_LAST, async || {
        if process.is_alive() { Err(process.log()) } else { Ok(process.log()) }
    })
    .await;
    assert!(log.contains("belong"), "{log}");
}
