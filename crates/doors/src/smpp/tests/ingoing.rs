//! Messages in.

use super::super::{ClientLanes, SmppClient};
use super::client::{DeliverResult, Raw, message, pdu};
use super::test_door::{AT, TestDoor, client_a, until};
use ::smpp::pdu::{
    Address, Bind, BindMode, Body, BroadcastSm, CancelBroadcastSm, Command, DataSm, Destination,
    DestinationBuf, QueryBroadcastSm, SubmitMulti, SubmitMultiResp, SubmitSm, Version,
};
use ::smpp::session::Config;
use ::smpp::text::Charset;
use ::smpp::{Status, Tag, TlvBuf};
use records::{DlrRequest, Lane, Message, MessageClient, Mode, ShortAddress, ShortText};
use std::sync::atomic::Ordering;

fn only(test_door: &TestDoor) -> Message {
    let mut messages = test_door.memory.messages();
    assert_eq!(messages.len(), 1, "{messages:?}");
    messages.remove(0)
}

#[tokio::test]
async fn a_message_is_accepted_with_its_id_and_kept_as_it_was_given() {
    let test_door = TestDoor::new().await;
    let mut esme = test_door.bound(BindMode::Transceiver).await;
    let mut tlvs = TlvBuf::new();
    tlvs.push_u16(Tag::USER_MESSAGE_REFERENCE, 513).push_u16(Tag(0x1401), 7);
    let submit = SubmitSm {
        service_type: b"CMT",
        esm_class: 0x83,
        protocol_id: 0x41,
        priority_flag: 1,
        validity_period: b"000000010000000R",
        registered_delivery: 0x11,
        replace_if_present_flag: 1,
        tlvs: tlvs.as_tlvs(),
        ..message()
    };
    let (status, id, _) = esme.ask(&submit).await;
    assert_eq!((status, id.as_str()), (Status::ROK, "0000000000000000"));
    let kept = only(&test_door);
    assert_eq!(kept.party, MessageClient::Smpp("client-a".into()));
    assert_eq!((kept.account.as_str(), kept.at, kept.mode), ("account-a", AT, Mode::Live));
    assert_eq!((kept.to.as_str(), kept.lane), ("+46701234567", Lane::Routine));
    assert_eq!((kept.not_before, kept.expires), (None, AT.plus_s(3_600)));
    let short = kept.short;
    assert_eq!(short.source, ShortAddress { ton_npi: Some((5, 0)), addr: "Town".into() });
    assert_eq!(short.dest, Some((1, 1)));
    let octets = b"Close your windows."[..].into();
    assert_eq!(short.text, ShortText::Octets { data_coding: 0, octets });
    assert_eq!((&*short.service_type, short.esm_class, short.protocol_id), ("CMT", 0x83, 0x41));
    assert_eq!((short.priority_flag, short.replace_if_present), (Some(1), true));
    assert_eq!(short.registered_delivery, Some(0x11));
    assert_eq!(&*short.tlvs, tlvs.as_tlvs().as_bytes());
    assert_eq!(
        kept.tell.mask,
        DlrRequest::DELIVERED | DlrRequest::FAILED | DlrRequest::REFUSED | DlrRequest::BUFFERED
    );
    assert_eq!(kept.tell.values, [('u', "513".into())]);
    assert_eq!(esme.ask(&message()).await.1, "0000000000000001");
}

#[tokio::test]
async fn ids_to_a_client_of_3_3_have_8_digits() {
    let test_door = TestDoor::new().await;
    let config = Config { version: Version::V3_3, ..Config::default() };
    let mut esme = test_door.bound_as(BindMode::Transmitter, "client-a", config).await;
    assert_eq!(esme.ask(&message()).await, (Status::ROK, "00000000".into(), b"00000000\0".to_vec()));
    // Also if only our settings say that it is one.
    let test_door = TestDoor::of(SmppClient { version: Version::V3_3, ..client_a() }).await;
    let mut esme = test_door.bound(BindMode::Transmitter).await;
    assert_eq!(esme.ask(&message()).await.1, "00000000");
}

#[tokio::test]
async fn what_one_wake_up_brings_is_one_append_and_answered_in_order() {
    let test_door = TestDoor::new().await;
    let config = Config { window: 500, ..Config::default() };
    let mut esme = test_door.bound_as(BindMode::Transmitter, "client-a", config).await;
    for token in 0..300 {
        esme.try_request(&message(), token).unwrap();
    }
    for expected in 0..300 {
        match esme.next().await {
            DeliverResult::Answer { token, status, id, .. } => {
                assert_eq!((token, status, id), (expected, Status::ROK, format!("{expected:016x}")));
            }
            other => panic!("{other:?}"),
        }
    }
    let batches = test_door.memory.batches();
    assert!(batches.len() <= 10, "300 messages in one segment made {} appends", batches.len());
}

#[tokio::test]
async fn nothing_is_answered_before_it_is_durable() {
    let test_door = TestDoor::new().await;
    test_door.memory.slow.store(true, Ordering::SeqCst);
    let mut esme = test_door.bound(BindMode::Transmitter).await;
    esme.try_request(&message(), 1).unwrap();
    esme.hears_nothing().await;
    esme.try_request(&message(), 2).unwrap();
    esme.flush().await;
    until(|| test_door.memory.batches().len() == 2).await;
    test_door.memory.become_durable();
    assert_eq!(esme.answer().await.0, Status::ROK);
    assert_eq!(esme.answer().await.0, Status::ROK);
}

#[tokio::test]
async fn a_full_disk_is_a_full_queue() {
    let test_door = TestDoor::new().await;
    test_door.memory.full.store(true, Ordering::SeqCst);
    let mut esme = test_door.bound(BindMode::Transmitter).await;
    assert_eq!(esme.ask(&message()).await.0, Status::RMSGQFUL);
    test_door.memory.full.store(false, Ordering::SeqCst);
    assert_eq!(esme.ask(&message()).await.0, Status::ROK);
}

#[tokio::test]
async fn an_engine_that_is_behind_throttles() {
    let test_door = TestDoor::new().await;
    let mut esme = test_door.bound(BindMode::Transmitter).await;
    let config = Config { version: Version::V5_0, ..Config::default() };
    let mut newer = test_door.bound_as(BindMode::Transmitter, "client-a", config).await;
    test_door.memory.behind.store(true, Ordering::SeqCst);
    assert_eq!(esme.ask(&message()).await.0, Status::RTHROTTLED);
    let (status, _, body) = newer.ask(&message()).await;
    assert_eq!(
        (status, body),
        (Status::RTHROTTLED, vec![0, 0x04, 0x28, 0, 1, 100]),
        "and says how busy we are"
    );
    test_door.memory.behind.store(false, Ordering::SeqCst);
    assert_eq!(esme.ask(&message()).await.0, Status::ROK);
}

#[tokio::test]
async fn a_rate_holds_over_all_sessions_of_a_client() {
    let test_door = TestDoor::of(SmppClient { rate: 3.0, ..client_a() }).await;
    let mut first = test_door.bound(BindMode::Transmitter).await;
    let mut second = test_door.bound(BindMode::Transmitter).await;
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(first.ask(&message()).await.0);
        statuses.push(second.ask(&message()).await.0);
    }
    let taken = statuses.iter().filter(|status| status.is_ok()).count();
    assert!((3..=4).contains(&taken), "{statuses:?}");
    assert!(statuses[..3].iter().all(|status| status.is_ok()), "{statuses:?}");
    assert_eq!(statuses[7], Status::RTHROTTLED);
}

#[tokio::test]
async fn each_wrong_field_has_its_status() {
    let test_door = TestDoor::of(SmppClient { senders: vec!["Town".into(), "".into()], ..client_a() }).await;
    let mut esme = test_door.bound(BindMode::Transmitter).await;
    let to = |addr: &'static [u8]| SubmitSm { destination: Address::international(addr), ..message() };
    let cases = [
        (to(b"9912345678"), Status::RINVDSTADR),
        (to(b""), Status::RINVDSTADR),
        (to(b"no number"), Status::RINVDSTADR),
        (SubmitSm { destination: Address::new(5, 0, b"Town"), ..message() }, Status::RINVDSTTON),
        (SubmitSm { source: Address::alphanumeric(b"Village"), ..message() }, Status::RINVSRCADR),
        (SubmitSm { source: Address::new(9, 0, b"Town"), ..message() }, Status::RINVSRCTON),
        (SubmitSm { schedule_delivery_time: b"261330000000000+", ..message() }, Status::RINVSCHED),
        (SubmitSm { schedule_delivery_time: b"260230000000000+", ..message() }, Status::RINVSCHED),
        (SubmitSm { schedule_delivery_time: b"990101000000000+", ..message() }, Status::RINVSCHED),
        (SubmitSm { validity_period: b"tomorrow at noon", ..message() }, Status::RINVEXPIRY),
        (SubmitSm { validity_period: b"250101000000000+", ..message() }, Status::RINVEXPIRY),
        (SubmitSm { priority_flag: 5, ..message() }, Status::RINVPRTFLG),
        (SubmitSm { registered_delivery: 0x20, ..message() }, Status::RINVREGDLVFLG),
        (SubmitSm { esm_class: 0x04, ..message() }, Status::RINVESMCLASS),
        (SubmitSm { esm_class: 0x40, short_message: b"\x05\0\x03", ..message() }, Status::RINVESMCLASS),
        (SubmitSm { sm_default_msg_id: 1, ..message() }, Status::RINVDFTMSGID),
        (SubmitSm { service_type: b"\x01", ..message() }, Status::RINVSERTYP),
        (message(), Status::ROK),
        (SubmitSm { source: Address::default(), ..message() }, Status::ROK),
    ];
    for (submit, expected) in cases {
        assert_eq!(esme.ask(&submit).await.0, expected, "{submit:?}");
    }
    assert_eq!(test_door.memory.messages().len(), 2, "what is refused is not kept");
}

#[tokio::test]
async fn times_are_those_that_were_asked_for() {
    let test_door = TestDoor::new().await;
    let mut esme = test_door.bound(BindMode::Transmitter).await;
    let cases = [
        (&b""[..], &b""[..], None, 48 * 3_600),
        (b"", b"000000000005000R", None, 5),
        (b"000000010000000R", b"", Some(3_600), 49 * 3_600),
        (b"261122004936504+", b"", None, 48 * 3_600),
        (b"261122004946504+", b"261122014936504+", Some(10), 3_600),
        (b"", b"990000000000000R", None, 30 * 86_400),
    ];
    for (schedule, validity, not_before, expires) in cases {
        let submit = SubmitSm { schedule_delivery_time: schedule, validity_period: validity, ..message() };
        assert_eq!(esme.ask(&submit).await.0, Status::ROK);
        let kept = test_door.memory.messages().pop().unwrap();
        let expected = (not_before.map(|s| AT.plus_s(s)), AT.plus_s(expires));
        assert_eq!((kept.not_before, kept.expires), expected, "{submit:?}");
    }
}

#[tokio::test]
async fn the_priority_says_the_lane_as_far_as_the_client_may() {
    let emergency = SmppClient {
        lanes: ClientLanes { emergency_from: Some(4), urgent_from: Some(2), ..ClientLanes::default() },
        ..client_a()
    };
    let urgent = SmppClient {
        lanes: ClientLanes { usual: Lane::Urgent, urgent_from: None, emergency_from: None },
        ..client_a()
    };
    let cases = [
        (client_a(), [Lane::Routine, Lane::Routine, Lane::Urgent, Lane::Urgent]),
        (emergency, [Lane::Routine, Lane::Urgent, Lane::Urgent, Lane::Emergency]),
        (urgent, [Lane::Urgent; 4]),
    ];
    for (client, lanes) in cases {
        let test_door = TestDoor::of(client).await;
        let mut esme = test_door.bound(BindMode::Transmitter).await;
        for (priority_flag, lane) in [0, 2, 3, 4].into_iter().zip(lanes) {
            assert_eq!(esme.ask(&SubmitSm { priority_flag, ..message() }).await.0, Status::ROK);
            let kept = test_door.memory.messages().pop().unwrap();
            assert_eq!(kept.lane, lane, "{priority_flag}");
            assert_eq!(kept.short.priority_flag, (priority_flag > 0).then_some(priority_flag));
        }
    }
}

#[tokio::test]
async fn parts_and_payloads_keep_their_octets() {
    let test_door = TestDoor::of(SmppClient { charset: Charset::Latin1, ..client_a() }).await;
    let mut esme = test_door.bound(BindMode::Transmitter).await;
    let kept = || test_door.memory.messages().pop().unwrap().short;
    let submit = SubmitSm { short_message: b"f\xF6r", ..message() };
    assert_eq!(esme.ask(&submit).await.0, Status::ROK);
    assert_eq!(kept().text, ShortText::Text { text: "för".into(), class: None });
    let part = b"\x05\0\x03\x07\x02\x01f\xF6r";
    let submit = SubmitSm { esm_class: 0x40, short_message: part, ..message() };
    assert_eq!(esme.ask(&submit).await.0, Status::ROK);
    let octets = b"f\xF6r"[..].into();
    assert_eq!(kept().text, ShortText::Octets { data_coding: 3, octets });
    assert_eq!((&*kept().udh, kept().esm_class), (&part[1..6], 0));
    let long = vec![0x04; 20_000];
    let mut tlvs = TlvBuf::new();
    tlvs.push(Tag::MESSAGE_PAYLOAD, &long).unwrap().push_u8(Tag::PRIVACY_INDICATOR, 2);
    let submit = SubmitSm { data_coding: 8, short_message: b"", tlvs: tlvs.as_tlvs(), ..message() };
    assert_eq!(esme.ask(&submit).await.0, Status::ROK);
    assert_eq!(kept().text, ShortText::Octets { data_coding: 8, octets: long.into() });
    assert_eq!(&*kept().tlvs, [0x02, 0x01, 0, 1, 2], "the payload is the text now");
    let data = DataSm {
        source: message().source,
        destination: message().destination,
        data_coding: 4,
        tlvs: tlvs.as_tlvs(),
        ..DataSm::default()
    };
    assert_eq!(esme.ask(&data).await.0, Status::ROK);
    assert!(matches!(kept().text, ShortText::Octets { data_coding: 4, octets } if octets.len() == 20_000));
}

#[tokio::test]
async fn a_submit_multi_is_a_message_to_each_and_one_answer() {
    let test_door = TestDoor::new().await;
    let mut esme = test_door.bound(BindMode::Transmitter).await;
    let mut to = DestinationBuf::new();
    for addr in [&b"46701111111"[..], b"9911111111", b"46702222222"] {
        to.push(Destination::Sme(Address::international(addr))).unwrap();
    }
    to.push(Destination::List(b"friends")).unwrap();
    let multi = |to| SubmitMulti { destinations: to, short_message: b"hello", ..SubmitMulti::default() };
    let (status, id, body) = esme.ask(&multi(to.as_destinations())).await;
    assert_eq!((status, id.as_str()), (Status::ROK, "0000000000000000"));
    let refused = SubmitMultiResp::decode_body(Command::SUBMIT_MULTI_RESP, &body).unwrap().refused;
    let refused: Vec<_> = refused.iter().map(|one| (one.destination.addr.to_vec(), one.status)).collect();
    let expected = [(b"9911111111".to_vec(), Status::RINVDSTADR), (b"friends".to_vec(), Status::RINVDLNAME)];
    assert_eq!(refused, expected);
    let kept = test_door.memory.messages();
    let to: Vec<&str> = kept.iter().map(|message| message.to.as_str()).collect();
    assert_eq!(to, ["+46701111111", "+46702222222"]);
    assert_eq!(kept[1].tell.values, [('m', "1".into())], "its receipt bears the id that was answered");
    assert_eq!(test_door.memory.batches(), [2]);
    // Nobody is left.
    let mut nobody = DestinationBuf::new();
    nobody.push(Destination::List(b"friends")).unwrap();
    assert_eq!(esme.ask(&multi(nobody.as_destinations())).await.0, Status::RINVDLNAME);
}

#[tokio::test]
async fn a_broadcast_fails_since_there_is_no_route_for_it() {
    let test_door = TestDoor::new().await;
    let mut tlvs = TlvBuf::new();
    tlvs.push(Tag::BROADCAST_AREA_IDENTIFIER, b"\0Town").unwrap();
    tlvs.push(Tag::BROADCAST_CONTENT_TYPE, &[0, 0, 1]).unwrap();
    tlvs.push_u16(Tag::BROADCAST_REP_NUM, 1);
    tlvs.push(Tag::BROADCAST_FREQUENCY_INTERVAL, &[8, 0, 1]).unwrap();
    let broadcast = BroadcastSm { tlvs: tlvs.as_tlvs(), ..BroadcastSm::default() };
    let query = QueryBroadcastSm { message_id: b"1", ..QueryBroadcastSm::default() };
    let cancel = CancelBroadcastSm { message_id: b"1", ..CancelBroadcastSm::default() };
    let config = Config { version: Version::V5_0, ..Config::default() };
    let mut esme = test_door.bound_as(BindMode::Transceiver, "client-a", config).await;
    assert_eq!(esme.ask(&broadcast).await.0, Status::RBCASTFAIL);
    assert_eq!(esme.ask(&query).await.0, Status::RBCASTQUERYFAIL);
    assert_eq!(esme.ask(&cancel).await.0, Status::RBCASTCANCELFAIL);
    let mut older = test_door.bound(BindMode::Transceiver).await;
    assert_eq!(older.ask(&broadcast).await.0, Status::RINVCMDID);
    assert_eq!(older.ask(&message()).await.0, Status::ROK);
}

#[tokio::test]
async fn requests_of_a_bind_that_was_not_made_for_them_are_refused() {
    let test_door = TestDoor::new().await;
    let mut raw = Raw::connect(test_door.address()).await;
    let bind =
        Bind { mode: BindMode::Receiver, system_id: b"client-a", password: b"secret-a", ..Bind::default() };
    raw.send(&pdu(&bind, 1)).await;
    assert_eq!(raw.heads().await, Some((Command::BIND_RECEIVER_RESP, Status::ROK, 1)));
    raw.send(&pdu(&message(), 77)).await;
    assert_eq!(raw.heads().await, Some((Command::SUBMIT_SM_RESP, Status::RINVBNDSTS, 77)));
    assert_eq!(test_door.memory.messages().len(), 0);
}
