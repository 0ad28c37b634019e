//! Tests of faults by scenario: latency, refusals, odd answers, ends of connections, phases.

use super::super::*;
use super::client::{Client, Got, message, wide};
use smpp::pdu::BindMode;
use smpp::session::{Config, NoResponse, Reason};
use smpp::status::Status;
use std::time::{Duration, Instant};

async fn start(scenario: &str) -> Smsc {
    Smsc::start(Scenario::from_toml(scenario).unwrap()).await.unwrap()
}

/// So many submissions at once; statuses by token.
async fn flood(client: &mut Client, to: impl Fn(u64) -> String, count: u64) -> Vec<Status> {
    for number in 0..count {
        client.send(&message(&to(number), "x")).await;
    }
    let mut statuses = Vec::new();
    for _ in 0..count {
        let (token, status) = client
            .find(|got| match got {
                Got::Answer(answer) => Some((answer.token, answer.status)),
                _ => None,
            })
            .await;
        statuses.push((token, status));
    }
    statuses.sort_unstable_by_key(|(token, _)| *token);
    statuses.into_iter().map(|(_, status)| status).collect()
}

#[tokio::test]
async fn latency_follows_its_table_and_another_prefix_has_its_own() {
    let smsc = start(
        r#"
        latency = "percentiles 50:1ms 100:2ms"
        [[prefixes]]
        prefix = "4671"
        latency = "normal 80ms 1ms"
        "#,
    )
    .await;
    let mut client = Client::transceiver(&smsc).await;
    let slow = client.send(&message("46711", "x")).await;
    let fast = client.send(&message("46701", "x")).await;
    let mut answers = Vec::new();
    for _ in 0..2 {
        let answer = client
            .find(|got| match got {
                Got::Answer(answer) => Some(answer.clone()),
                _ => None,
            })
            .await;
        answers.push((answer.token, answer.waited));
    }
    assert_eq!([answers[0].0, answers[1].0], [fast, slow], "the fast one overtakes");
    assert!(answers[1].1 >= Duration::from_millis(76), "{answers:?}");
}

#[tokio::test]
async fn the_same_seed_refuses_the_same_messages_and_each_prefix_has_its_mix() {
    let scenario = r#"
        seed = 7
        errors = [{ status = "RSYSERR", share = 0.2 }, { status = "0x400", share = 0.1 }]
        [[prefixes]]
        prefix = "4679"
        errors = [{ status = "RINVDSTADR", share = 1.0 }]
        [[prefixes]]
        prefix = "46790"
        errors = []
    "#;
    let mut runs = Vec::new();
    for _ in 0..2 {
        let smsc = start(scenario).await;
        let mut client = Client::transceiver(&smsc).await;
        runs.push(flood(&mut client, |number| format!("4670{number}"), 400).await);
        assert_eq!(client.submit("46791", "x").await.status, Status::RINVDSTADR);
        assert_eq!(client.submit("46790", "x").await.status, Status::ROK);
    }
    assert_eq!(runs[0], runs[1]);
    let count = |status| runs[0].iter().filter(|found| **found == status).count();
    assert!((60..100).contains(&count(Status::RSYSERR)), "{}", count(Status::RSYSERR));
    assert!((25..60).contains(&count(Status(0x400))), "{}", count(Status(0x400)));
}

#[tokio::test]
async fn throttling_comes_by_share_and_above_an_accounts_own_rate() {
    let smsc = start("throttled = 1.0\nthrottle = \"queue_full\"").await;
    let mut client = Client::transceiver(&smsc).await;
    assert_eq!(client.submit("46701", "x").await.status, Status::RMSGQFUL);

    let accounts = r#"
        rate_tolerance = 0.0
        accounts = [{ system_id = "slow", rate = 3.0 }, { system_id = "fast" }]
    "#;
    let smsc = start(accounts).await;
    for (system_id, accepted) in [("slow", 3), ("fast", 20)] {
        let mut client = Client::bound(&smsc, system_id, BindMode::Transmitter).await;
        let statuses = flood(&mut client, |_| "46701".to_owned(), 20).await;
        let is_throttled = |status: &&Status| **status == Status::RTHROTTLED;
        assert_eq!(statuses.iter().filter(is_throttled).count(), 20 - accepted, "{system_id}");
    }
}

#[tokio::test]
async fn a_lost_answer_leaves_an_accepted_message_unknown() {
    let smsc = start("silence = 1.0\nsilence_accepts = 1.0\n[receipts]\non = \"always\"").await;
    let config = Config { response: Duration::from_millis(60), ..wide() };
    let mut client = Client::connect(&smsc, config).await;
    client.bind("esme", "", BindMode::Transceiver).await;
    let token = client.send(&message("46701", "x")).await;
    let receipt = client.letter().await;
    assert!(receipt.text.contains("stat:DELIVRD"), "{receipt:?}");
    assert_eq!(client.next().await, Got::Unanswered(token, NoResponse::TimedOut));
    assert_eq!((smsc.stats().accepted, smsc.stats().silent), (1, 1));
}

#[tokio::test]
async fn an_answer_over_its_time_comes_late_and_is_still_known() {
    let smsc = start("latency = \"150ms\"").await;
    let config = Config { response: Duration::from_millis(40), ..wide() };
    let mut client = Client::connect(&smsc, config).await;
    client.bind("esme", "", BindMode::Transmitter).await;
    let token = client.send(&message("46701", "x")).await;
    assert_eq!(client.next().await, Got::Unanswered(token, NoResponse::TimedOut));
    let Got::Answer(answer) = client.next().await else { panic!() };
    assert_eq!((answer.token, answer.late, answer.status), (token, true, Status::ROK));
}

#[tokio::test]
async fn a_mute_peer_answers_nothing_and_speaks_again_when_the_phase_is_over() {
    let smsc = start("[[phases]]\nname = \"mute\"\nfrom = \"1h\"\nmute = true").await;
    let config = Config {
        enquire_link: Some(Duration::from_millis(50)),
        response: Duration::from_millis(80),
        ..wide()
    };
    let mut client = Client::connect(&smsc, config).await;
    client.bind("esme", "", BindMode::Transceiver).await;
    assert_eq!(client.submit("46701", "x").await.status, Status::ROK);
    smsc.enter("mute").unwrap();
    client.send(&message("46701", "y")).await;
    let reason = client
        .find(|got| match got {
            Got::Closed(reason) => Some(*reason),
            _ => None,
        })
        .await;
    assert_eq!(reason, Reason::LinkDead);
    assert_eq!(smsc.stats().accepted, 2, "it was read nevertheless");
    smsc.enter("").unwrap();
    let mut client = Client::transceiver(&smsc).await;
    assert_eq!(client.submit("46701", "z").await.status, Status::ROK);
}

#[tokio::test]
async fn a_deaf_peer_reads_nothing_until_it_hears_again() {
    let smsc = start("").await;
    let mut client = Client::transceiver(&smsc).await;
    smsc.change(Scenario { deaf: true, ..Scenario::default() }).unwrap();
    // What was read just before may be heard still.
    client.send(&message("46701", "a")).await;
    assert!(client.is_quiet_for(Duration::from_millis(100)).await || smsc.stats().submits == 1);
    client.send(&message("46701", "b")).await;
    assert!(client.is_quiet_for(Duration::from_millis(100)).await);
    smsc.change(Scenario::default()).unwrap();
    let token = client.send(&message("46701", "c")).await;
    client.find(|got| matches!(got, Got::Answer(answer) if answer.token == token).then_some(())).await;
    assert_eq!(smsc.stats().submits, 3);
}

#[tokio::test]
async fn answers_change_places_come_twice_and_answer_what_was_never_asked() {
    let smsc = start("[answers]\nswapped = 1.0\n[receipts]\non = \"never\"").await;
    let mut client = Client::transceiver(&smsc).await;
    let order = async |client: &mut Client| {
        let mut tokens = Vec::new();
        for _ in 0..4 {
            let token = client
                .find(|got| match got {
                    Got::Answer(answer) => Some(answer.token),
                    _ => None,
                })
                .await;
            tokens.push(token);
        }
        tokens
    };
    for _ in 0..4 {
        client.send(&message("46701", "x")).await;
    }
    assert_eq!(order(&mut client).await, [2, 1, 4, 3]);
    // One alone is not held for ever.
    assert_eq!(client.submit("46701", "x").await.status, Status::ROK);

    let smsc =
        start("[answers]\ntwice = 1.0\nstray = 1.0\ntwice_after = \"5ms\"\n[receipts]\non = \"never\"").await;
    let mut client = Client::transceiver(&smsc).await;
    for _ in 0..3 {
        assert_eq!(client.submit("46701", "x").await.status, Status::ROK);
    }
    let begin = Instant::now();
    while client.session.counters().unknown_responses < 6 {
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", client.session.counters());
        client.is_quiet_for(Duration::from_millis(10)).await;
    }

    let smsc = start("[answers]\nnacked = 1.0").await;
    let mut client = Client::transceiver(&smsc).await;
    assert_eq!(client.submit("46701", "x").await.status, Status::RSYSERR);
}

#[tokio::test]
async fn connections_end_as_the_scenario_says() {
    for (how, reason, accepted) in [
        ("cut", Reason::ConnectionLost, 2),
        ("reset", Reason::ConnectionLost, 2),
        ("half_pdu", Reason::ConnectionLost, 2),
        ("unbind", Reason::PeerUnbound, 3),
    ] {
        // A bind and two submissions, then the end.
        let smsc = start(&format!("[disconnects]\nafter_pdus = 4\nhow = \"{how}\"")).await;
        let mut client = Client::bound(&smsc, "esme", BindMode::Transmitter).await;
        for _ in 0..2 {
            assert_eq!(client.submit("46701", "x").await.status, Status::ROK, "{how}");
        }
        client.send(&message("46701", "y")).await;
        let found = client
            .find(|got| match got {
                Got::Closed(reason) => Some(*reason),
                _ => None,
            })
            .await;
        assert_eq!((found, smsc.stats().accepted), (reason, accepted), "{how}");
    }
}

#[tokio::test]
async fn a_connection_lives_as_long_as_the_scenario_lets_it_and_one_can_be_dropped_by_hand() {
    let smsc = start("[disconnects]\nafter = \"60ms\"").await;
    let begin = Instant::now();
    let mut client = Client::transceiver(&smsc).await;
    assert_eq!(client.next().await, Got::Closed(Reason::ConnectionLost));
    assert!(begin.elapsed() >= Duration::from_millis(59), "{:?}", begin.elapsed());

    let smsc = start("").await;
    let (mut one, mut other) = (Client::transceiver(&smsc).await, Client::transceiver(&smsc).await);
    let sessions: Vec<(u64, String)> =
        smsc.sessions().into_iter().map(|info| (info.session, info.system_id)).collect();
    assert_eq!(sessions, [(0, "esme".to_owned()), (1, "esme".to_owned())]);
    assert_eq!(smsc.drop_sessions(Some(0), Parting::Unbind), 1);
    assert_eq!(one.next().await, Got::Unbinding);
    assert_eq!(one.next().await, Got::Closed(Reason::PeerUnbound));
    assert_eq!(other.submit("46701", "x").await.status, Status::ROK);
}

#[tokio::test]
async fn phases_come_by_the_clock_and_begin_anew() {
    let smsc = start(
        r#"
        phases_again = "200ms"
        [[phases]]
        name = "storm"
        from = "100ms"
        errors = [{ status = "RSYSERR", share = 1.0 }]
        "#,
    )
    .await;
    let mut client = Client::transceiver(&smsc).await;
    let mut changes = Vec::new();
    let begin = Instant::now();
    while changes.len() < 4 {
        let status = client.submit("46701", "x").await.status;
        if changes.last() != Some(&status) {
            changes.push(status);
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "{changes:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(changes[2..], changes[..2]);
    assert!(changes.contains(&Status::ROK) && changes.contains(&Status::RSYSERR));
    assert!(begin.elapsed() >= Duration::from_millis(150), "three changes take a round and a half");
    assert!(smsc.enter("calm").unwrap_err().contains("storm"), "the names there are are told");
}
