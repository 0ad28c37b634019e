//! Submitting, and what the carrier says to it.

use super::super::config::Source;
use super::*;
use net::{TlsClientSettings, TlsServer, TlsServerSettings};
use records::{ReceiptState, segment_topic};
use smpp::Status;
use smpp::text::{Charset, Concat};

#[tokio::test]
async fn a_segment_is_submitted_and_every_entry_has_an_outcome() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    test_route.append(&segment(1, Lane::Routine, 0, 500, "hello")).await;
    let running = run(route(&smsc), &test_route);
    let ended = test_route.until_ended(500).await;
    assert!(ended.values().all(|results| results.len() == 1 && is_accepted(&results[0])));
    test_route.until_acknowledged().await;
    running.stop().await;
    let submitted = smsc.submitted();
    let to: Vec<String> = submitted.iter().map(|submitted| submitted.to.clone()).collect();
    let expected: Vec<String> = (0..500).map(|endpoint| format!("4670{endpoint:07}")).collect();
    assert_eq!(to, expected, "each once, in order");
    assert!(submitted.iter().all(|s| s.octets == b"hello" && s.data_coding == 0 && s.registered == 1));
    assert!(submitted.iter().all(|s| s.validity.ends_with('R') && s.priority == 0));
}

#[tokio::test]
async fn several_sessions_share_the_work_and_nothing_is_sent_twice() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    for (lane, first) in [(Lane::Routine, 0), (Lane::Urgent, 1_000), (Lane::Emergency, 2_000)] {
        test_route.append(&segment(1, lane, first, 1_000, "hello")).await;
    }
    let route = SmsRoute { sessions: 4, window: 7, bind: Binding::TransmitterReceiver, ..route(&smsc) };
    let running = run(route, &test_route);
    let ended = test_route.until_ended(3_000).await;
    assert!(ended.values().flatten().all(is_accepted));
    assert_eq!(smsc.binds(), 8, "four each way");
    test_route.until_acknowledged().await;
    running.stop().await;
    let mut to: Vec<String> = smsc.submitted().into_iter().map(|submitted| submitted.to).collect();
    to.sort();
    to.dedup();
    assert_eq!((to.len(), smsc.count()), (3_000, 3_000));
}

#[tokio::test]
async fn refusals_are_for_now_or_for_good_and_say_the_carriers_code() {
    let statuses = [Status::RINVDSTADR, Status::RX_T_APPN, Status(0x4AB)];
    let (test_route, smsc) =
        (TestRoute::new(), Smsc::start(move |number, _| Reply::Status(statuses[number])).await);
    test_route.append(&segment(1, Lane::Routine, 0, 3, "hello")).await;
    let running = run(route(&smsc), &test_route);
    let ended = test_route.until_ended(3).await;
    let said: Vec<(bool, &str)> = ended
        .values()
        .map(|results| match &results[0] {
            AttemptResult::Refused { permanent, code, .. } => (*permanent, code.as_str()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(said, [(true, "smpp:0000000B"), (false, "smpp:00000064"), (false, "smpp:000004AB")]);
    test_route.until_acknowledged().await;
    running.stop().await;
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_without_troubling_the_carrier() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let mut segment = segment(1, Lane::Routine, 0, 4, "hello");
    segment.entries[0].address = "anna@example.org".to_owned();
    segment.entries[1].body = 7;
    segment.entries[2].own = Some(Box::new(Body::of_text("x".repeat(50_000))));
    test_route.append(&segment).await;
    let running = run(route(&smsc), &test_route);
    let ended = test_route.until_ended(4).await;
    let codes: Vec<Option<&str>> = ended
        .values()
        .map(|results| match &results[0] {
            AttemptResult::Refused { permanent: true, code, .. } => Some(code.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(codes, [Some("sms:address"), Some("sms:body"), Some("sms:long"), None]);
    test_route.until_acknowledged().await;
    running.stop().await;
    assert_eq!(smsc.count(), 1);
}

#[tokio::test]
async fn long_messages_arrive_whole_in_every_alphabet_and_way_of_cutting() {
    let texts = ["grüße ".repeat(60), "тревога 🗼 ".repeat(30), "€".repeat(200)];
    for concat in [Concat::Udh8, Concat::Udh16, Concat::Payload] {
        let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
        let mut segment = segment(1, Lane::Emergency, 0, 3, "hello");
        for (entry, text) in segment.entries.iter_mut().zip(&texts) {
            entry.own = Some(Box::new(Body::of_text(text.clone())));
        }
        test_route.append(&segment).await;
        // A window narrower than a message.
        let running = run(SmsRoute { long: concat, window: 2, ..route(&smsc) }, &test_route);
        let ended = test_route.until_ended(3).await;
        assert!(ended.values().flatten().all(is_accepted), "{ended:?}");
        test_route.until_acknowledged().await;
        running.stop().await;
        for (endpoint, text) in texts.iter().enumerate() {
            let to = format!("4670{endpoint:07}");
            let parts: Vec<_> = smsc.submitted().into_iter().filter(|submitted| submitted.to == to).collect();
            assert_eq!(parts.len(), ended[&(endpoint as u32)].len());
            assert!(parts.iter().all(|part| part.priority == 1), "an emergency says so");
            assert_eq!(&whole(&parts), text, "{concat:?}");
        }
    }
}

/// The text of a message's parts.
fn whole(parts: &[smsc::Submitted]) -> String {
    let mut references = std::collections::BTreeSet::new();
    let mut octets = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let has_udh = part.esm_class & smpp::pdu::esm_class::UDHI != 0;
        let data = smpp::text::udh::UserData::new(&part.octets, has_udh, smpp::Tlvs::NONE).unwrap();
        if let Some(place) = data.concatenation {
            references.insert(place.reference);
            assert_eq!((usize::from(place.number), usize::from(place.total)), (number + 1, parts.len()));
        }
        octets.extend_from_slice(data.text);
    }
    assert!(references.len() <= 1, "one reference for all parts");
    smpp::text::Coding::of(parts[0].data_coding, Charset::Gsm7).charset.decode(&octets)
}

#[tokio::test]
async fn a_receipt_before_its_answer_is_on_record_with_the_same_key() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::ReceiptFirst).await);
    smsc.write_decimal_receipts();
    let topic = test_route.topic();
    smsc.probe(move |answers| {
        let outcomes = all_outcomes(&*topic);
        let on_record =
            outcomes.iter().filter(|outcome| matches!(outcome, Outcome::CarrierReceipt(_))).count();
        assert!(on_record >= answers, "a receipt is answered before it is on record");
    });
    test_route.append(&segment(1, Lane::Routine, 0, 100, "hello")).await;
    let running = run(route(&smsc), &test_route);
    test_route
        .until("matched", |seen| {
            let keys: Vec<u64> = seen
                .iter()
                .filter_map(|outcome| match outcome {
                    Outcome::Attempt { result: AttemptResult::Accepted { keys, .. }, .. } => Some(keys[0]),
                    _ => None,
                })
                .collect();
            let receipts = seen.iter().filter_map(|outcome| match outcome {
                Outcome::CarrierReceipt(of) => Some(&of.receipt),
                _ => None,
            });
            let matched = receipts
                .filter(|receipt| receipt.state == ReceiptState::Delivered)
                .filter(|receipt| receipt.keys.iter().any(|key| keys.contains(key)))
                .count();
            (keys.len() == 100 && matched == 100).then_some(())
        })
        .await;
    wait_for("answered", || smsc.delivered().len() == 100).await;
    assert!(smsc.delivered().iter().all(|status| status.is_ok()));
    running.stop().await;
}

#[tokio::test]
async fn the_senders_name_is_shown_where_it_can_be() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    for (at, sender) in [None, Some("City of X"), Some("a name too long for a phone")].into_iter().enumerate()
    {
        let mut segment = segment(1, Lane::Routine, at as u32, 1, "hello");
        segment.sender = sender.map(str::to_owned);
        test_route.append(&segment).await;
    }
    let source = Source { ton: 3, npi: 0, addr: "72456".to_owned() };
    let running = run(SmsRoute { source, ..route(&smsc) }, &test_route);
    test_route.until_ended(3).await;
    running.stop().await;
    let from: Vec<String> = smsc.submitted().into_iter().map(|submitted| submitted.from).collect();
    assert_eq!(from, ["72456", "City of X", "72456"]);
}

#[tokio::test]
async fn no_answer_in_time_is_unknown_until_a_late_one_comes() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Later).await);
    test_route.append(&segment(1, Lane::Routine, 0, 3, "hello")).await;
    let running = run(SmsRoute { response_timeout: Duration::from_millis(300), ..route(&smsc) }, &test_route);
    let ended = test_route.until_ended(3).await;
    assert!(ended.values().flatten().all(is_unknown), "{ended:?}");
    test_route.until_acknowledged().await;
    smsc.release();
    test_route.until("known", |seen| ended_all(seen, 3, is_accepted)).await;
    running.stop().await;
}

fn ended_all(seen: &[Outcome], count: usize, test: impl Fn(&AttemptResult) -> bool) -> Option<()> {
    let ended = ended(seen);
    (ended.len() == count && ended.values().flatten().all(test)).then_some(())
}

#[tokio::test]
async fn a_paused_stopped_or_expired_alert_goes_back_and_the_rest_goes_on() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    test_route.control(1, ControlState::Pause).await;
    test_route.control(2, ControlState::Stop).await;
    for alert in 1..=4 {
        let mut segment = segment(alert, Lane::Routine, alert as u32 * 100, 20, "hello");
        if alert == 3 {
            segment.expires = wall().plus_s(-1);
        }
        test_route.append(&segment).await;
    }
    let running = run(route(&smsc), &test_route);
    let ended = test_route.until_ended(80).await;
    for (endpoint, results) in ended {
        let expected =
            [NotTried::Paused, NotTried::Stopped, NotTried::Expired].get(endpoint as usize / 100 - 1);
        assert_eq!(not_tried(&results[0]).as_ref(), expected, "{endpoint}");
        assert_eq!(expected.is_none(), is_accepted(&results[0]));
    }
    test_route.until_acknowledged().await;
    running.stop().await;
    assert_eq!(smsc.count(), 20);
}

#[tokio::test]
async fn a_pause_in_the_middle_leaves_only_what_was_written() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Later).await);
    test_route.append(&segment(1, Lane::Routine, 0, 1_000, "hello")).await;
    let running = run(SmsRoute { window: 10, ..route(&smsc) }, &test_route);
    wait_for("the window full", || smsc.count() == 10).await;
    test_route.control(1, ControlState::Pause).await;
    test_route.until("given back", |seen| (ended(seen).len() == 990).then_some(())).await;
    smsc.release();
    let ended = test_route.until_ended(1_000).await;
    test_route.until_acknowledged().await;
    running.stop().await;
    let accepted: Vec<u32> =
        ended.iter().filter(|(_, results)| is_accepted(&results[0])).map(|(endpoint, _)| *endpoint).collect();
    assert_eq!(accepted, (0..10).collect::<Vec<_>>());
    assert!(ended.values().skip(10).all(|results| not_tried(&results[0]) == Some(NotTried::Paused)));
    assert_eq!(smsc.count(), 10);
}

#[tokio::test]
async fn stopping_waits_for_answers_and_another_start_goes_on_behind_them() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Later).await);
    test_route.append(&segment(1, Lane::Routine, 0, 100, "hello")).await;
    let running = run(SmsRoute { window: 10, ..route(&smsc) }, &test_route);
    wait_for("the window full", || smsc.count() == 10).await;
    let stopped = tokio::spawn(running.stop());
    tokio::task::yield_now().await;
    smsc.release();
    stopped.await.unwrap();
    let kinds = |ended: &BTreeMap<u32, Vec<AttemptResult>>| {
        let accepted = ended.values().filter(|results| is_accepted(&results[0])).count();
        let closing =
            ended.values().filter(|results| not_tried(&results[0]) == Some(NotTried::Closing)).count();
        assert_eq!(accepted + closing, ended.len(), "{ended:?}");
        (accepted, closing)
    };
    // What was intended but not written when it stopped goes back; all else stays in the segment.
    let (accepted, closing) = kinds(&ended(&test_route.outcomes()));
    assert!((10..100).contains(&accepted) && closing <= 10, "{accepted} {closing}");
    let health = test_route.health().unwrap();
    assert!(!health.up && health.sessions == 0, "{health:?}");

    smsc.rescript(|_, _| Reply::Accept);
    let running = run(SmsRoute { window: 10, ..route(&smsc) }, &test_route);
    let after = test_route.until_ended(100).await;
    assert_eq!(kinds(&after), (100 - closing, closing));
    test_route.until_acknowledged().await;
    running.stop().await;
    assert_eq!(smsc.count(), 100 - closing, "nobody twice");
}

#[tokio::test]
async fn stopping_does_not_wait_for_a_carrier_that_says_nothing() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Silence).await);
    test_route.append(&segment(1, Lane::Routine, 0, 100, "hello")).await;
    let drain = Duration::from_millis(100);
    let running = run(SmsRoute { window: 10, drain, ..route(&smsc) }, &test_route);
    wait_for("the window full", || smsc.count() == 10).await;
    let begun = Instant::now();
    running.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    let ended = ended(&test_route.outcomes());
    assert_eq!(ended.len(), 10);
    assert!(ended.values().flatten().all(is_unknown), "{ended:?}");
}

#[tokio::test]
async fn a_refused_bind_is_told_in_the_routes_health() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let running = run(SmsRoute { password: "wrong".into(), ..route(&smsc) }, &test_route);
    wait_for("told", || test_route.health().is_some_and(|health| health.note.contains("invalid password")))
        .await;
    assert!(!test_route.health().unwrap().up);
    running.stop().await;
}

#[tokio::test]
async fn a_carrier_is_spoken_to_by_tls() {
    let made = rcgen::generate_simple_self_signed(vec!["smsc.test".to_owned()]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (cert_file, key_file) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    std::fs::write(&cert_file, made.cert.pem()).unwrap();
    std::fs::write(&key_file, made.signing_key.serialize_pem()).unwrap();
    let tls = TlsServer::new(&TlsServerSettings { cert_file: cert_file.clone(), key_file }).unwrap();
    let (test_route, smsc) =
        (TestRoute::new(), Smsc::start_with(Some(tls), |_, _| Reply::ReceiptFirst).await);
    test_route.append(&segment(1, Lane::Routine, 0, 1_000, &"hello ".repeat(40))).await;
    let settings = TlsClientSettings { ca_file: Some(cert_file), server_name: Some("smsc.test".to_owned()) };
    let running = run(SmsRoute { tls: Some(settings), ..route(&smsc) }, &test_route);
    let ended = test_route.until_ended(1_000).await;
    assert!(ended.values().all(|results| results.len() == 2 && results.iter().all(is_accepted)));
    wait_for("answered", || smsc.delivered().len() == 2_000).await;
    running.stop().await;
}

#[tokio::test]
async fn an_unreadable_segment_does_not_stop_those_behind_it() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let topic = test_route.bus.topic(&segment_topic(ROUTE, Lane::Routine)).unwrap();
    topic.append(&[b"\xFFnonsense"]).await.unwrap();
    test_route.append(&segment(1, Lane::Routine, 0, 5, "hello")).await;
    let running = run(route(&smsc), &test_route);
    assert!(test_route.until_ended(5).await.values().flatten().all(is_accepted));
    running.stop().await;
}
