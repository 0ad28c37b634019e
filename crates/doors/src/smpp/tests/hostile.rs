//! Input that no honest client sends, by real sockets.

use super::super::{SmppClient, SmppConfig};
use super::client::{Raw, message, pdu};
use super::test_door::{LONG, TestDoor, client_a, quick, until};
use ::smpp::pdu::{
    Address, Bind, BindMode, Command, DeliverSm, EnquireLink, GenericNack, SubmitSm, SubmitSmResp, Unbind,
};
use ::smpp::session::Config;
use ::smpp::{Status, Tag, TlvBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

const NACKED: Option<(Command, Status, u32)> = Some((Command::GENERIC_NACK, Status::RINVCMDLEN, 0));

/// A PDU of any body.
fn raw_pdu(command: Command, sequence: u32, body: &[u8]) -> Vec<u8> {
    let length = (16 + body.len()) as u32;
    let head = [length, command.0, 0, sequence].map(u32::to_be_bytes).concat();
    [&head, body].concat()
}

/// The session goes on.
async fn lives(raw: &mut Raw) {
    raw.send(&pdu(&EnquireLink::default(), 99)).await;
    assert_eq!(raw.heads().await, Some((Command::ENQUIRE_LINK_RESP, Status::ROK, 99)));
}

/// Somebody else is served at once.
async fn serves(test_door: &TestDoor) {
    let mut other = test_door.bound(BindMode::Transceiver).await;
    assert_eq!(other.ask(&message()).await.0, Status::ROK);
}

#[tokio::test]
async fn lengths_that_cannot_be_are_nacked_and_end_the_connection() {
    let test_door = TestDoor::new().await;
    for length in [0u32, 4, 15, 70_001, 100_000_000, 0x7FFF_FFFF, 0xFFFF_FFFF] {
        for is_bound in [false, true] {
            let mut raw = match is_bound {
                true => Raw::bound(test_door.address()).await,
                false => Raw::connect(test_door.address()).await,
            };
            raw.send(&[&length.to_be_bytes()[..], &[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 7]].concat()).await;
            assert_eq!(raw.heads().await, NACKED, "{length}");
            raw.hung_up().await;
        }
    }
    test_door.sessions(0).await;
}

#[tokio::test]
async fn other_protocols_on_the_port_are_hung_up_on() {
    let test_door = TestDoor::new().await;
    let hello = [&[0x16, 3, 1, 0x02, 0, 1, 0, 1, 0xFC, 3, 3][..], &[7; 200]].concat();
    for octets in [&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], &hello, b"EHLO there\r\n", &[0xFF; 64]] {
        let mut raw = Raw::connect(test_door.address()).await;
        raw.send(octets).await;
        assert_eq!(raw.heads().await, NACKED);
        raw.hung_up().await;
    }
    serves(&test_door).await;
}

#[tokio::test]
async fn a_body_cut_at_any_octet_is_answered_with_an_error_and_the_session_goes_on() {
    let test_door = TestDoor::new().await;
    let mut raw = Raw::bound(test_door.address()).await;
    let whole = pdu(&message(), 5);
    for length in 16..whole.len() {
        raw.send(&raw_pdu(Command::SUBMIT_SM, length as u32, &whole[16..length])).await;
        let (command, status, sequence) = raw.heads().await.unwrap();
        assert_eq!((command, sequence), (Command::SUBMIT_SM_RESP, length as u32));
        assert!(!status.is_ok(), "cut at {length}");
    }
    lives(&mut raw).await;
    // And the stream itself, at any octet, ends a connection and nothing else.
    for length in 1..whole.len() {
        let mut raw = Raw::connect(test_door.address()).await;
        raw.send(&whole[..length]).await;
        raw.stream.shutdown().await.unwrap();
        raw.hung_up().await;
    }
    assert_eq!(test_door.memory.messages().len(), 0);
    serves(&test_door).await;
}

#[tokio::test]
async fn each_malformed_body_has_its_status_and_the_session_goes_on() {
    let test_door = TestDoor::new().await;
    let mut raw = Raw::bound(test_door.address()).await;
    let body = |submit: &SubmitSm<'_>| pdu(submit, 1)[16..].to_vec();
    let good = body(&message());
    let with = |tail: &[u8]| [&good, tail].concat();
    let length_at = good.len() - message().short_message.len() - 1;
    let sm_length = |length: u8| {
        let mut body = good.clone();
        body[length_at] = length;
        body
    };
    let both = with(&[0x04, 0x24, 0, 1, 65]);
    let long_service = [&b"SEVENTH\0"[..], &good[1..]].concat();
    let long_source = [&b"\0\x05\0"[..], &[b'1'; 30], b"\0", &good[8..]].concat();
    let cases: [(&str, Vec<u8>, Status); 12] = [
        ("no body", vec![], Status::RINVCMDLEN),
        ("no terminator", vec![b'C'; 4], Status::RINVCMDLEN),
        ("a service type over its size", long_service, Status::RINVSERTYP),
        ("a sender over its size", long_source, Status::RINVSRCADR),
        ("sm_length above", sm_length(200), Status::RINVMSGLEN),
        ("sm_length below", sm_length(3), Status::RINVOPTPARSTREAM),
        ("sm_length 255", sm_length(255), Status::RINVMSGLEN),
        ("a stray octet", with(&[7]), Status::RINVOPTPARSTREAM),
        ("a TLV over the end", with(&[0x02, 0x04, 0, 9, 1]), Status::RINVOPTPARSTREAM),
        ("a TLV of the wrong size", with(&[0x02, 0x04, 0, 1, 1]), Status::RINVPARLEN),
        ("text and payload", both, Status::ROPTPARNOTALLWD),
        ("duplicate TLVs", with(&[2, 4, 0, 2, 0, 1, 2, 4, 0, 2, 0, 2]), Status::ROK),
    ];
    for (sequence, (what, body, expected)) in cases.into_iter().enumerate() {
        let sequence = sequence as u32 + 10;
        raw.send(&raw_pdu(Command::SUBMIT_SM, sequence, &body)).await;
        assert_eq!(raw.heads().await, Some((Command::SUBMIT_SM_RESP, expected, sequence)), "{what}");
    }
    lives(&mut raw).await;
}

#[tokio::test]
async fn a_payload_of_the_greatest_size_is_judged_and_the_session_goes_on() {
    let test_door = TestDoor::new().await;
    let mut raw = Raw::bound(test_door.address()).await;
    let mut tlvs = TlvBuf::new();
    tlvs.push(Tag::MESSAGE_PAYLOAD, &[b'a'; 65_535]).unwrap();
    let submit = SubmitSm { short_message: b"", tlvs: tlvs.as_tlvs(), ..message() };
    raw.send(&pdu(&submit, 2)).await;
    assert_eq!(raw.heads().await, Some((Command::SUBMIT_SM_RESP, Status::RINVMSGLEN, 2)));
    let mut tlvs = TlvBuf::new();
    tlvs.push(Tag::MESSAGE_PAYLOAD, &[b'a'; 255 * 153]).unwrap();
    raw.send(&pdu(&SubmitSm { short_message: b"", tlvs: tlvs.as_tlvs(), ..message() }, 3)).await;
    assert_eq!(raw.heads().await, Some((Command::SUBMIT_SM_RESP, Status::ROK, 3)));
}

#[tokio::test]
async fn pdus_out_of_place_are_refused_and_the_session_goes_on() {
    let test_door = TestDoor::new().await;
    let mut open = Raw::connect(test_door.address()).await;
    open.send(&pdu(&message(), 5)).await;
    assert_eq!(open.heads().await, Some((Command::SUBMIT_SM_RESP, Status::RINVBNDSTS, 5)));
    open.send(&pdu(&Unbind::default(), 6)).await;
    assert_eq!(open.heads().await, Some((Command::UNBIND_RESP, Status::RINVBNDSTS, 6)));
    let mut raw = Raw::bound(test_door.address()).await;
    raw.send(&pdu(&DeliverSm { destination: Address::international(b"1"), ..DeliverSm::default() }, 7)).await;
    assert_eq!(raw.heads().await, Some((Command::DELIVER_SM_RESP, Status::RINVBNDSTS, 7)));
    // Those that only 3.3 had: param_retrieve, query_last_msgs, query_msg_details; and one that nobody has.
    for command in [0x22, 0x23, 0x24, 0x7777] {
        raw.send(&raw_pdu(Command(command), 8, b"\0")).await;
        assert_eq!(raw.heads().await, Some((Command::GENERIC_NACK, Status::RINVCMDID, 8)), "{command:x}");
    }
    // Answers to nothing, and answers that nobody has, are not answered.
    raw.send(&pdu(&SubmitSmResp::default(), 5)).await;
    raw.send(&pdu(&GenericNack::default(), 6)).await;
    raw.send(&raw_pdu(Command(0x8000_7777), 7, b"")).await;
    lives(&mut raw).await;
    // After an unbind nothing is taken.
    raw.send(&[pdu(&Unbind::default(), 9), pdu(&message(), 10)].concat()).await;
    assert_eq!(raw.heads().await, Some((Command::UNBIND_RESP, Status::ROK, 9)));
    raw.hung_up().await;
    assert_eq!(test_door.memory.messages().len(), 0);
}

#[tokio::test]
async fn any_sequence_number_is_copied_and_one_repeated_while_it_waits_is_answered_twice() {
    let test_door = TestDoor::new().await;
    let mut raw = Raw::bound(test_door.address()).await;
    for sequence in [0, 0x7FFF_FFFE, 0x7FFF_FFFF, 1, 1, 0x8000_0000, 0xFFFF_FFFF] {
        raw.send(&raw_pdu(Command::SUBMIT_SM, sequence, &pdu(&message(), 1)[16..])).await;
        let (command, _, answered) = raw.heads().await.unwrap();
        assert_eq!((command, answered), (Command::SUBMIT_SM_RESP, sequence));
    }
    test_door.memory.slow.store(true, Ordering::SeqCst);
    raw.send(&[pdu(&message(), 5), pdu(&message(), 5)].concat()).await;
    test_door.memory.become_durable();
    for _ in 0..2 {
        assert_eq!(raw.heads().await, Some((Command::SUBMIT_SM_RESP, Status::ROK, 5)));
    }
}

#[tokio::test]
async fn octets_come_one_at_a_time_or_many_pdus_at_once() {
    let test_door = TestDoor::new().await;
    let mut raw = Raw::connect(test_door.address()).await;
    let bind = Bind { system_id: b"client-a", password: b"secret-a", ..Bind::default() };
    for octet in pdu(&bind, 1) {
        raw.send(&[octet]).await;
    }
    assert_eq!(raw.heads().await, Some((Command::BIND_TRANSCEIVER_RESP, Status::ROK, 1)));
    for octet in pdu(&message(), 3) {
        raw.send(&[octet]).await;
    }
    assert_eq!(raw.heads().await, Some((Command::SUBMIT_SM_RESP, Status::ROK, 3)));
    let many: Vec<u8> = (10..410).flat_map(|sequence| pdu(&message(), sequence)).collect();
    raw.send(&many).await;
    for sequence in 10..410 {
        assert_eq!(raw.heads().await, Some((Command::SUBMIT_SM_RESP, Status::ROK, sequence)));
    }
    assert_eq!(test_door.memory.messages().len(), 401);
}

#[tokio::test]
async fn a_thousand_submits_and_a_reset_leave_nothing_behind() {
    let test_door = TestDoor::new().await;
    for _ in 0..3 {
        let mut raw = Raw::bound(test_door.address()).await;
        let many: Vec<u8> = (2..1_002).flat_map(|sequence| pdu(&message(), sequence)).collect();
        raw.send(&many).await;
        raw.stream.set_zero_linger().unwrap();
        drop(raw);
    }
    test_door.sessions(0).await;
    serves(&test_door).await;
}

#[tokio::test]
async fn a_window_that_is_flooded_is_throttled() {
    let test_door = TestDoor::of(SmppClient { window: 10, ..client_a() }).await;
    test_door.memory.slow.store(true, Ordering::SeqCst);
    let mut raw = Raw::bound(test_door.address()).await;
    let many: Vec<u8> = (2..20_002).flat_map(|sequence| pdu(&message(), sequence)).collect();
    let (mut reader, mut writer) = raw.stream.into_split();
    let writing = tokio::spawn(async move { writer.write_all(&many).await.map(|()| writer) });
    let mut heads = vec![0; 16 * 19_990];
    timeout(LONG, tokio::io::AsyncReadExt::read_exact(&mut reader, &mut heads)).await.unwrap().unwrap();
    let throttled = heads.chunks(16).filter(|head| head[8..12] == Status::RTHROTTLED.0.to_be_bytes()).count();
    assert_eq!(throttled, 19_990);
    let writer = writing.await.unwrap().unwrap();
    test_door.memory.become_durable();
    raw = Raw { stream: reader.reunite(writer).unwrap() };
    for sequence in 2..12 {
        assert_eq!(raw.heads().await, Some((Command::SUBMIT_SM_RESP, Status::ROK, sequence)));
    }
    assert_eq!(test_door.memory.messages().len(), 10);
}

#[tokio::test]
async fn a_client_that_never_reads_is_not_read_from_and_then_given_up() {
    let config = SmppConfig { write_stall: Duration::from_millis(500), ..quick() };
    let test_door = TestDoor::with(config, vec![client_a()]).await;
    let mut raw = Raw::bound(test_door.address()).await;
    let many: Vec<u8> = (0..1_000).flat_map(|_| pdu(&EnquireLink::default(), 1)).collect();
    let mut written = 0;
    // Until the door reads no more, or has hung up.
    while let Ok(Ok(())) = timeout(Duration::from_millis(300), raw.stream.write_all(&many)).await {
        written += many.len();
        assert!(written < 256 << 20, "the door reads on and on");
    }
    let begin = Instant::now();
    let mut other = test_door.bound(BindMode::Transceiver).await;
    assert_eq!(other.ask(&message()).await.0, Status::ROK);
    test_door.sessions(1).await;
    assert!(begin.elapsed() < LONG);
}

#[tokio::test]
async fn a_thousand_connections_that_never_bind_disturb_nobody() {
    let config = SmppConfig { limits: net::DoorLimits::new(600, 600), ..quick() };
    let test_door = TestDoor::with(config, vec![client_a()]).await;
    let mut before = test_door.bound(BindMode::Transceiver).await;
    let mut idle = Vec::new();
    for _ in 0..1_000 {
        idle.push(Raw::connect(test_door.address()).await);
    }
    assert_eq!(before.ask(&message()).await.0, Status::ROK);
    let begin = Instant::now();
    serves(&test_door).await;
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    // The oldest made room for the others.
    timeout(LONG, idle[0].hung_up()).await.unwrap();
    drop(idle);
    assert_eq!(before.ask(&message()).await.0, Status::ROK);
}

#[tokio::test]
async fn three_hundred_idle_sessions_stay_bound() {
    let test_door = TestDoor::of(SmppClient { connections: 300, ..client_a() }).await;
    let mut idle = Vec::new();
    for _ in 0..299 {
        idle.push(test_door.bound(BindMode::Receiver).await);
    }
    serves(&test_door).await;
    test_door.sessions(299).await;
    assert!(idle.iter().all(|esme| esme.session.in_flight() == 0));
}

#[tokio::test]
async fn thousands_of_wrong_passwords_hold_up_nobody() {
    let test_door = TestDoor::new().await;
    let bind = pdu(&Bind { system_id: b"client-a", password: b"guess", ..Bind::default() }, 1);
    let mut good = test_door.bound(BindMode::Transceiver).await;
    let mut guessing = Vec::new();
    for _ in 0..2_000 {
        let mut raw = Raw::connect(test_door.address()).await;
        raw.send(&bind).await;
        guessing.push(raw);
        if guessing.len() == 500 {
            guessing.clear();
            assert_eq!(good.ask(&message()).await.0, Status::ROK);
        }
    }
    serves(&test_door).await;
    drop(guessing);
    test_door.sessions(1).await;
    until(|| test_door.memory.messages().len() == 5).await;
}

#[tokio::test]
async fn a_client_that_binds_and_goes_again_and_again_leaves_nothing_behind() {
    let test_door = TestDoor::of(SmppClient { connections: 1, ..client_a() }).await;
    for _ in 0..100 {
        let esme = test_door.bound_as(BindMode::Transceiver, "client-a", Config::default()).await;
        drop(esme);
        test_door.sessions(0).await;
    }
}
