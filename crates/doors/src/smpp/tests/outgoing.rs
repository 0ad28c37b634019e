//! Tests of receipts and messages to clients.

use super::super::{LongMessageForm, SmppClient, SmppConfig};
use super::client::{DeliverResult, message};
use super::test_door::{AT, LONG, TestDoor, client_a, quick};
use ::smpp::Status;
use ::smpp::pdu::{BindMode, Version, esm_class};
use ::smpp::session::Config;
use ::smpp::text::Charset;
use records::{
    ClientEvent, ClientInbound, DlrRequest, DlrState, MessageId, MessageStatus, ShortAddress, Timestamp,
};
use std::time::{Duration, Instant};

fn status_event(id: u64) -> ClientEvent {
    ClientEvent::Status(Box::new(MessageStatus {
        id: MessageId(id),
        event: DlrRequest::DELIVERED,
        state: DlrState::Delivered,
        source: ShortAddress { ton_npi: Some((5, 0)), addr: "Town".into() },
        to: "+46701234567".into(),
        dest: Some((1, 1)),
        text: String::new(),
        carrier_id: String::new(),
        route: "carrier".into(),
        beginning: "Close your windows.".into(),
        submitted: AT,
        at: AT,
        tell: DlrRequest::default(),
    }))
}

fn said(text: &str) -> ClientEvent {
    ClientEvent::Inbound(Box::new(ClientInbound {
        from: "+46701234567".into(),
        to: "71456".into(),
        route: "carrier".into(),
        text: text.into(),
        octets: None,
        at: AT,
    }))
}

fn id_of(text: &str) -> u64 {
    u64::from_str_radix(text.split([':', ' ']).nth(1).unwrap(), 16).unwrap()
}

#[tokio::test]
async fn a_receipt_is_kept_until_the_client_says_that_it_has_it() {
    let test_door = TestDoor::new().await;
    test_door.tell("client-a", &status_event(7)).await;
    let mut first = test_door.bound(BindMode::Receiver).await;
    let delivered = first.delivered().await;
    assert_eq!(delivered.esm_class, esm_class::RECEIPT);
    assert_eq!((delivered.source.as_str(), delivered.destination.as_str()), ("46701234567", "Town"));
    let expected = "id:0000000000000007 sub:001 dlvrd:001 submit date:2611212349 done date:2611212349 stat:DELIVRD err:000 text:Close your windows.";
    assert_eq!(delivered.text(), expected);
    assert!(!delivered.tlvs.is_empty());
    // It goes without an answer: the next session is told again, and again no more.
    drop(first);
    let mut second = test_door.bound(BindMode::Transceiver).await;
    let again = second.delivered().await;
    assert_eq!(again.text(), expected);
    second.respond(again.sequence, Status::ROK).await;
    test_door.ticked_off("client-a", 1).await;
    second.unbind().await;
    test_door.bound(BindMode::Receiver).await.hears_nothing().await;
}

#[tokio::test]
async fn receipts_to_a_client_that_only_transmits_wait_for_one_that_receives() {
    let test_door = TestDoor::new().await;
    let mut transmitter = test_door.bound(BindMode::Transmitter).await;
    for id in 0..3 {
        test_door.tell("client-a", &status_event(id)).await;
    }
    assert_eq!(transmitter.ask(&message()).await.0, Status::ROK);
    transmitter.hears_nothing().await;
    let mut receiver = test_door.bound(BindMode::Receiver).await;
    for id in 0..3 {
        let delivered = receiver.delivered().await;
        assert_eq!(id_of(&delivered.text()), id);
        receiver.respond(delivered.sequence, Status::ROK).await;
    }
    test_door.ticked_off("client-a", 3).await;
}

#[tokio::test]
async fn what_comes_while_bound_is_told_at_once_and_within_the_window() {
    let test_door = TestDoor::of(SmppClient { window: 2, ..client_a() }).await;
    let mut esme = test_door.bound(BindMode::Transceiver).await;
    esme.hears_nothing().await;
    for id in 0..5 {
        test_door.tell("client-a", &status_event(id)).await;
    }
    let (first, second) = (esme.delivered().await, esme.delivered().await);
    esme.hears_nothing().await;
    // Answered out of order, and one twice.
    esme.respond(second.sequence, Status::ROK).await;
    let third = esme.delivered().await;
    esme.send_octets(&answer(second.sequence)).await;
    esme.respond(first.sequence, Status::ROK).await;
    let fourth = esme.delivered().await;
    esme.respond(third.sequence, Status::ROK).await;
    esme.respond(fourth.sequence, Status::ROK).await;
    let last = esme.delivered().await;
    assert_eq!(id_of(&last.text()), 4);
    esme.respond(last.sequence, Status::ROK).await;
    test_door.ticked_off("client-a", 5).await;
}

/// A deliver_sm_resp.
fn answer(sequence: u32) -> Vec<u8> {
    super::client::pdu(&::smpp::pdu::DeliverSmResp::default(), sequence)
}

#[tokio::test]
async fn what_a_client_cannot_take_now_comes_again_and_what_it_refuses_does_not() {
    let test_door = TestDoor::new().await;
    let mut esme = test_door.bound(BindMode::Transceiver).await;
    for id in 0..3 {
        test_door.tell("client-a", &status_event(id)).await;
    }
    let statuses = [Status::RX_T_APPN, Status::RX_P_APPN, Status::RX_R_APPN];
    let begin = Instant::now();
    for (id, status) in (0..3).zip(statuses) {
        let delivered = esme.delivered().await;
        assert_eq!(id_of(&delivered.text()), id);
        esme.respond(delivered.sequence, status).await;
    }
    let again = esme.delivered().await;
    assert_eq!(id_of(&again.text()), 0);
    assert!(begin.elapsed() >= Duration::from_millis(900), "{:?}", begin.elapsed());
    esme.respond(again.sequence, Status::ROK).await;
    test_door.ticked_off("client-a", 3).await;
    esme.hears_nothing().await;
}

#[tokio::test]
async fn what_is_not_answered_in_time_comes_again() {
    let config = SmppConfig { response: Duration::from_millis(100), ..quick() };
    let test_door = TestDoor::with(config, vec![client_a()]).await;
    let mut esme = test_door.bound(BindMode::Transceiver).await;
    test_door.tell("client-a", &status_event(5)).await;
    let first = esme.delivered().await;
    let again = esme.delivered().await;
    assert_ne!(first.sequence, again.sequence);
    assert_eq!(first.text(), again.text());
    esme.respond(again.sequence, Status::ROK).await;
    test_door.ticked_off("client-a", 1).await;
}

#[tokio::test]
async fn an_answer_that_comes_late_still_counts() {
    let config = SmppConfig { response: Duration::from_millis(100), ..quick() };
    let test_door = TestDoor::with(config, vec![client_a()]).await;
    let mut esme = test_door.bound(BindMode::Transceiver).await;
    test_door.tell("client-a", &status_event(5)).await;
    let first = esme.delivered().await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    esme.respond(first.sequence, Status::ROK).await;
    test_door.ticked_off("client-a", 1).await;
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_not_hurried() {
    let test_door = TestDoor::new().await;
    let mut esme = test_door.bound(BindMode::Transceiver).await;
    let mut refused = 0;
    for id in 0..100 {
        test_door.tell("client-a", &status_event(id)).await;
    }
    while let Ok(heard) = tokio::time::timeout(Duration::from_millis(300), esme.next()).await {
        let DeliverResult::Deliver(delivered) = heard else { panic!("{heard:?}") };
        esme.respond(delivered.sequence, Status::RX_T_APPN).await;
        refused += 1;
    }
    // What was on its way when it first said so, at most.
    assert!((10..=100).contains(&refused), "{refused}");
    let heard = esme.delivered().await;
    esme.respond(heard.sequence, Status::ROK).await;
}

#[tokio::test]
async fn a_client_that_declines_receipts_gets_messages_from_people_meanwhile() {
    let test_door = TestDoor::new().await;
    let mut esme = test_door.bound(BindMode::Transceiver).await;
    // For now, so that the session waits with receipts; and for good.
    for status in [Status::RX_T_APPN, Status::RX_P_APPN] {
        for id in 0..60 {
            test_door.tell("client-a", &status_event(id)).await;
        }
        test_door.tell("client-a", &said("help")).await;
        let heard = async {
            loop {
                let delivered = esme.delivered().await;
                let is_receipt = delivered.esm_class == esm_class::RECEIPT;
                esme.respond(delivered.sequence, if is_receipt { status } else { Status::ROK }).await;
                if !is_receipt {
                    return delivered.text();
                }
            }
        };
        let text = tokio::time::timeout(LONG, heard).await.expect("receipts do not hold it up");
        assert_eq!(text, "help");
    }
}

#[tokio::test]
async fn all_sessions_of_a_client_share_what_there_is() {
    let test_door = TestDoor::of(SmppClient { window: 4, ..client_a() }).await;
    let mut sessions = [test_door.bound(BindMode::Receiver).await, test_door.bound(BindMode::Receiver).await];
    for id in 0..8 {
        test_door.tell("client-a", &status_event(id)).await;
    }
    let mut ids = Vec::new();
    let mut answers = Vec::new();
    for (place, session) in sessions.iter_mut().enumerate() {
        // Answered only when both have heard theirs: a session whose window is free may take what the other
        // could have had.
        for _ in 0..4 {
            let delivered = session.delivered().await;
            ids.push(id_of(&delivered.text()));
            answers.push((place, delivered.sequence));
        }
    }
    for (place, sequence) in answers {
        sessions[place].respond(sequence, Status::ROK).await;
    }
    ids.sort_unstable();
    assert_eq!(ids, [0, 1, 2, 3, 4, 5, 6, 7]);
    test_door.ticked_off("client-a", 8).await;
}

#[tokio::test]
async fn a_slow_client_holds_up_nobody_else() {
    let b = SmppClient { system_id: "client-b".into(), password: "secret-b".into(), ..client_a() };
    let test_door = TestDoor::with(quick(), vec![client_a(), b]).await;
    let _silent = test_door.bound(BindMode::Receiver).await;
    let mut quick = test_door.bound_as(BindMode::Receiver, "client-b", Config::default()).await;
    for id in 0..600 {
        test_door.tell("client-a", &status_event(id)).await;
    }
    test_door.tell("client-b", &status_event(1)).await;
    let delivered = tokio::time::timeout(LONG, quick.delivered()).await.unwrap();
    quick.respond(delivered.sequence, Status::ROK).await;
    test_door.ticked_off("client-b", 1).await;
}

#[tokio::test]
async fn a_message_from_a_person_arrives_in_the_clients_alphabet() {
    let test_door = TestDoor::of(SmppClient { charset: Charset::Latin1, ..client_a() }).await;
    let mut esme = test_door.bound(BindMode::Receiver).await;
    for (text, data_coding, octets) in
        [("Ja, för {alla}", 0, &b"Ja, f\xF6r {alla}"[..]), ("да", 8, b"\x04\x34\x04\x30")]
    {
        test_door.tell("client-a", &said(text)).await;
        let delivered = esme.delivered().await;
        assert_eq!((delivered.esm_class, delivered.data_coding), (0, data_coding));
        assert_eq!((delivered.source.as_str(), delivered.destination.as_str()), ("46701234567", "71456"));
        assert_eq!(delivered.message, octets);
        esme.respond(delivered.sequence, Status::ROK).await;
    }
    test_door.ticked_off("client-a", 2).await;
}

#[tokio::test]
async fn a_long_message_is_ticked_off_when_all_its_parts_are_taken() {
    let long = "Hälsningar från kajen. ".repeat(30);
    let test_door = TestDoor::of(SmppClient { long: LongMessageForm::Udh, window: 2, ..client_a() }).await;
    test_door.tell("client-a", &said(&long)).await;
    let config = Config { version: Version::V3_3, ..Config::default() };
    let mut esme = test_door.bound_as(BindMode::Receiver, "client-a", config).await;
    let mut text = Vec::new();
    let group = test_door.bus.group(&records::client_topic("client-a"), "smpp").unwrap();
    for part in 1..=5 {
        let delivered = esme.delivered().await;
        assert_eq!(delivered.esm_class, esm_class::UDHI);
        assert_eq!(delivered.message[..6], [5, 0, 3, 0, 5, part]);
        assert_eq!(group.low_water(), 0);
        text.extend_from_slice(&delivered.message[6..]);
        esme.respond(delivered.sequence, Status::ROK).await;
    }
    assert_eq!(Charset::Gsm7.decode(&text), long);
    test_door.ticked_off("client-a", 1).await;
}

#[tokio::test]
async fn what_is_too_old_or_unreadable_is_dropped_and_holds_up_nothing() {
    let test_door = TestDoor::new().await;
    let ClientEvent::Inbound(mut old) = said("old") else { panic!() };
    old.at = Timestamp(AT.0 - 8 * 86_400 * 1_000_000);
    test_door.tell("client-a", &ClientEvent::Inbound(old)).await;
    test_door.told("client-a").append(&[b"\x01no record of ours"]).await.unwrap();
    test_door.tell("client-a", &said("new")).await;
    let mut esme = test_door.bound(BindMode::Receiver).await;
    let delivered = esme.delivered().await;
    assert_eq!(delivered.text(), "new");
    esme.respond(delivered.sequence, Status::ROK).await;
    test_door.ticked_off("client-a", 3).await;
}
