mod client;
mod control;
mod deliver_sm;
mod faults;
mod requests;

use super::*;
use crate::chance::Delay;
use crate::town::{CarrierRefusal, Conduct, Habits};
use ::smpp::frame::{Split, split};
use ::smpp::pdu::{
    Address, Bind, BindMode, Body, Command, DataSm, DeliverSm, DeliverSmResp, Destination, DestinationBuf,
    EnquireLink, Header, Pdu, SubmitMulti, SubmitSm, SubmitSmResp, Unbind, decode, encode, esm_class,
    registered_delivery,
};
use ::smpp::status::Status;
use ::smpp::tlv::{Tag, TlvBuf, Tlvs};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Nothing that is awaited may take longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A client that only encodes and decodes.
struct Esme {
    stream: TcpStream,
    input: Vec<u8>,
    next: u32,
}

impl Esme {
    async fn connect(smsc: &Smsc) -> Esme {
        let stream = TcpStream::connect(smsc.address()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Esme { stream, input: Vec::new(), next: 1 }
    }

    async fn bind(smsc: &Smsc, system_id: &str, mode: BindMode) -> Esme {
        let mut esme = Esme::connect(smsc).await;
        let response = esme.ask(&Bind { mode, system_id: system_id.as_bytes(), ..Bind::default() }).await;
        assert_eq!(response.0.status, Status::ROK);
        esme
    }

    async fn transceiver(smsc: &Smsc) -> Esme {
        Esme::bind(smsc, "esme", BindMode::Transceiver).await
    }

    async fn send<'a>(&mut self, body: &impl Body<'a>) -> u32 {
        let mut out = Vec::new();
        encode(body, Status::ROK, self.next, &mut out).unwrap();
        self.stream.write_all(&out).await.unwrap();
        self.next += 1;
        self.next - 1
    }

    /// The next PDU's octets; nothing at the connection's end.
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Ok(Split::Pdu(pdu)) = split(&self.input, 70_000) {
                let pdu = pdu.to_vec();
                self.input.drain(..pdu.len());
                return Some(pdu);
            }
            let read = tokio::time::timeout(PATIENCE, self.stream.read_buf(&mut self.input)).await;
            if read.expect("an answer in time").unwrap_or(0) == 0 {
                return None;
            }
        }
    }

    async fn header(&mut self) -> (Header, Vec<u8>) {
        let pdu = self.next().await.expect("a PDU");
        (Header::parse(&pdu).unwrap(), pdu)
    }

    async fn ask<'a>(&mut self, body: &impl Body<'a>) -> (Header, Vec<u8>) {
        let sequence = self.send(body).await;
        loop {
            let (header, pdu) = self.header().await;
            if header.sequence == sequence && header.command.is_response() {
                return (header, pdu);
            }
        }
    }

    /// Submits and returns status and message id.
    async fn submit(&mut self, submit: &SubmitSm<'_>) -> (Status, String) {
        let (header, pdu) = self.ask(submit).await;
        (header.status, message_id(&pdu))
    }

    /// The next deliver_sm, confirmed.
    async fn letter(&mut self) -> Vec<u8> {
        loop {
            let (header, pdu) = self.header().await;
            if header.command == Command::DELIVER_SM {
                self.answer(header.sequence, Status::ROK).await;
                return pdu;
            }
        }
    }

    async fn answer(&mut self, sequence: u32, status: Status) {
        let mut out = Vec::new();
        encode(&DeliverSmResp::default(), status, sequence, &mut out).unwrap();
        self.stream.write_all(&out).await.unwrap();
    }
}

fn message_id(pdu: &[u8]) -> String {
    match decode(pdu) {
        Ok((_, Pdu::SubmitSmResp(SubmitSmResp { message_id, .. }))) => {
            String::from_utf8_lossy(message_id).into_owned()
        }
        other => panic!("{other:?}"),
    }
}

fn deliver(pdu: &[u8]) -> DeliverSm<'_> {
    match decode(pdu) {
        Ok((_, Pdu::DeliverSm(deliver))) => deliver,
        other => panic!("{other:?}"),
    }
}

fn text_of(pdu: &[u8]) -> String {
    let deliver = deliver(pdu);
    alphabet::read(deliver.data_coding, deliver.message()).into_owned()
}

fn to<'a>(number: &'a str, text: &'a [u8]) -> SubmitSm<'a> {
    SubmitSm {
        source: Address::new(3, 0, b"71700"),
        destination: Address::international(number.as_bytes()),
        registered_delivery: registered_delivery::FINAL,
        short_message: text,
        ..SubmitSm::default()
    }
}

/// The first number that does as wanted.
fn number_that(habits: &Habits, does: impl Fn(&Conduct) -> bool) -> String {
    (0..100_000u32)
        .map(|n| format!("4674000{n:05}"))
        .find(|number| does(&habits.phone(number)))
        .expect("somebody")
}

/// Counts come to this; asked until they do.
async fn stats_when(smsc: &Smsc, are: impl Fn(&Stats) -> bool) -> Stats {
    let begin = Instant::now();
    loop {
        let stats = smsc.stats();
        if are(&stats) {
            return stats;
        }
        assert!(begin.elapsed() < PATIENCE, "{stats:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_message_is_accepted_counted_kept_and_its_receipt_names_it_in_each_form() {
    for (ids, same) in [
        (IdForm::Decimal, true),
        (IdForm::Hex, true),
        (IdForm::Uuid, true),
        (IdForm::HexThenDecimal, false),
        (IdForm::DecimalThenHex, false),
        (IdForm::HexThenPadded, false),
    ] {
        let smsc = Smsc::start(SmscOptions { ids, ..SmscOptions::default() }).await.unwrap();
        let mut esme = Esme::transceiver(&smsc).await;
        let (status, id) = esme.submit(&to("46701740605", b"Hello \x00 there")).await;
        assert_eq!(status, Status::ROK);
        let receipt = esme.letter().await;
        let receipted = deliver(&receipt).tlvs.find_cstring(Tag::RECEIPTED_MESSAGE_ID).unwrap();
        let receipted = String::from_utf8_lossy(receipted).into_owned();
        assert_eq!(receipted == id, same, "{ids:?}: {id} {receipted}");
        assert!(text_of(&receipt).starts_with(&format!("id:{receipted} sub:001 dlvrd:001")));
        assert!(deliver(&receipt).short_message.ends_with(b"stat:DELIVRD err:000 text:Hello @ there"));
        let messages = smsc.messages(10);
        assert_eq!(
            (messages.len(), messages[0].text.as_str(), messages[0].to.as_str()),
            (1, "Hello @ there", "+46701740605")
        );
        assert_eq!(messages[0].id, id);
        assert_eq!(smsc.accepted("+46701740605", "Hello @ there"), 1);
        assert_eq!(smsc.accepted("46701740605", "Hello"), 0);
        let stats = stats_when(&smsc, |stats| stats.letters.confirmed == 1).await;
        assert_eq!((stats.submits, stats.accepted, stats.messages, stats.sessions), (1, 1, 1, 1));
        assert_eq!(stats.letters.waiting, 0);
    }
}

#[tokio::test]
async fn answers_take_their_latency_and_slow_ones_do_not_hold_up_the_others() {
    let latency = Delay::Fixed(Duration::from_millis(30));
    let (slow, slow_latency) = (0.2, Delay::Fixed(Duration::from_millis(200)));
    let smsc = Smsc::start(SmscOptions { latency, slow, slow_latency, ..SmscOptions::sink() }).await.unwrap();
    let mut esme = Esme::transceiver(&smsc).await;
    let begin = Instant::now();
    for _ in 0..50 {
        esme.send(&to("46701740605", b"x")).await;
    }
    let mut order = Vec::new();
    for place in 0..50 {
        order.push(esme.header().await.0.sequence);
        let waited = begin.elapsed();
        assert!(waited >= Duration::from_millis(30), "{place}: {waited:?}");
    }
    assert!(begin.elapsed() >= Duration::from_millis(200));
    assert!(!order.is_sorted(), "some were slow: {order:?}");
}

#[tokio::test]
async fn what_is_above_the_rate_is_throttled() {
    for (throttle, status) in
        [(Throttle::Throttled, Status::RTHROTTLED), (Throttle::QueueFull, Status::RMSGQFUL)]
    {
        let options = SmscOptions { rate: 10.0, rate_tolerance: 0.0, throttle, ..SmscOptions::sink() };
        let smsc = Smsc::start(options).await.unwrap();
        let mut esmes = [Esme::transceiver(&smsc).await, Esme::transceiver(&smsc).await];
        let mut statuses = Vec::new();
        for place in 0..15 {
            statuses.push(esmes[place % 2].submit(&to("46701740605", b"x")).await.0);
        }
        assert_eq!(statuses[..10], [Status::ROK; 10], "over both sessions");
        assert_eq!(statuses[10..], [status; 5]);
        let stats = smsc.stats();
        assert_eq!((stats.accepted, stats.peak_accepted, stats.peak_submits), (10, 10, 15));
        assert_eq!(stats.refused[status.name().unwrap()], 5);
    }
}

#[tokio::test]
async fn errors_and_silence_hit_the_shares_they_were_given() {
    let errors = vec![
        ErrorShare { status: "RSYSERR".to_owned(), share: 0.1 },
        ErrorShare { status: "0x401".to_owned(), share: 0.05 },
    ];
    let options = SmscOptions { errors, silence: 0.1, silence_accepts: 0.5, seed: 11, ..SmscOptions::sink() };
    let smsc = Smsc::start(options).await.unwrap();
    let mut esme = Esme::transceiver(&smsc).await;
    for _ in 0..2_000 {
        esme.send(&to("46701740605", b"x")).await;
    }
    let stats = stats_when(&smsc, |stats| stats.submits == 2_000).await;
    let near = |count: u64, share: f64| (count as f64 / 2_000.0 - share).abs() < 0.025;
    assert!(near(stats.refused["RSYSERR"], 0.1) && near(stats.refused["0x401"], 0.05), "{stats:?}");
    assert!(near(stats.silent, 0.085) && near(stats.accepted, 0.85 * 0.95), "{stats:?}");
    let answers = 2_000 - stats.silent;
    for _ in 0..answers {
        assert!(esme.header().await.0.command.is_response());
    }
}

#[tokio::test]
async fn the_connection_is_cut_at_every_so_many_submissions() {
    let smsc = Smsc::start(SmscOptions { disconnect_every: 5, ..SmscOptions::sink() }).await.unwrap();
    for _ in 0..2 {
        let mut esme = Esme::transceiver(&smsc).await;
        for _ in 0..4 {
            assert_eq!(esme.submit(&to("46701740605", b"x")).await.0, Status::ROK);
        }
        esme.send(&to("46701740605", b"x")).await;
        assert_eq!(esme.next().await, None);
    }
    let stats = stats_when(&smsc, |stats| stats.sessions == 0).await;
    assert_eq!((stats.submits, stats.accepted, stats.cut), (10, 8, 2));
}

#[tokio::test]
async fn receipts_come_late_twice_and_before_their_answers() {
    let receipts = |twice, early, late| Receipts {
        twice,
        early,
        late,
        late_delay: Delay::Fixed(Duration::from_millis(150)),
        delay: Delay::NONE,
        ..Receipts::default()
    };
    let start = async |receipts| {
        let smsc = Smsc::start(SmscOptions { receipts, ..SmscOptions::default() }).await.unwrap();
        let mut esme = Esme::transceiver(&smsc).await;
        let begin = Instant::now();
        esme.send(&to("46701740605", b"x")).await;
        let first = esme.header().await;
        esme.answer(first.0.sequence, Status::ROK).await;
        (smsc, esme, first, begin)
    };
    let (_smsc, mut esme, first, _) = start(receipts(0.0, 1.0, 0.0)).await;
    assert_eq!(first.0.command, Command::DELIVER_SM, "before the answer");
    let id = deliver(&first.1).tlvs.find_cstring(Tag::RECEIPTED_MESSAGE_ID).unwrap().to_vec();
    assert_eq!(message_id(&esme.header().await.1).as_bytes(), id);

    let (_smsc, mut esme, _, _) = start(receipts(1.0, 0.0, 0.0)).await;
    let twice = [esme.letter().await, esme.letter().await];
    assert_eq!(twice[0][16..], twice[1][16..]);

    let (_smsc, mut esme, _, begin) = start(receipts(0.0, 0.0, 1.0)).await;
    esme.letter().await;
    assert!(begin.elapsed() >= Duration::from_millis(150));
}

#[tokio::test]
async fn receipts_come_only_where_they_are_asked_for() {
    let people =
        Habits { sms: crate::town::SmsHabits { lost: 0.5, ..Habits::silent(1).sms }, ..Habits::silent(1) };
    let [lost, arrives] =
        [Conduct::Lost, Conduct::Silent].map(|wanted| number_that(&people, |conduct| *conduct == wanted));
    for (flag, on, expected) in [
        (registered_delivery::NONE, ReceiptOn::Requested, &[][..]),
        (registered_delivery::FINAL, ReceiptOn::Requested, &["UNDELIV", "DELIVRD"]),
        (registered_delivery::FAILURE, ReceiptOn::Requested, &["UNDELIV"]),
        (registered_delivery::SUCCESS, ReceiptOn::Requested, &["DELIVRD"]),
        (registered_delivery::NONE, ReceiptOn::Always, &["UNDELIV", "DELIVRD"]),
        (registered_delivery::FINAL, ReceiptOn::Never, &[]),
    ] {
        let receipts = Receipts { on, delay: Delay::NONE, ..Receipts::default() };
        let smsc =
            Smsc::start(SmscOptions { receipts, people: Some(people.clone()), ..SmscOptions::default() })
                .await
                .unwrap();
        let mut esme = Esme::transceiver(&smsc).await;
        let mut found = Vec::new();
        for number in [&lost, &arrives] {
            let made = smsc.stats().letters.receipts;
            esme.submit(&SubmitSm { registered_delivery: flag, ..to(number, b"x") }).await;
            if smsc.stats().letters.receipts > made {
                let text = text_of(&esme.letter().await);
                found.push(text.split("stat:").nth(1).unwrap()[..7].to_owned());
            }
        }
        assert_eq!(found, expected, "{flag} {on:?}");
    }
}

#[tokio::test]
async fn people_do_what_their_address_says() {
    let mut people = Habits { answer_after: Delay::Fixed(Duration::from_millis(5)), ..Habits::default() };
    people.sms =
        crate::town::SmsHabits { refused: 0.2, lost: 0.2, unheard: 0.2, answering: 0.2, stopping: 0.1 };
    let smsc =
        Smsc::start(SmscOptions { people: Some(people.clone()), ..SmscOptions::default() }).await.unwrap();
    let mut esme = Esme::transceiver(&smsc).await;

    let refused = number_that(&people, |conduct| matches!(conduct, Conduct::Refuses(_)));
    let Conduct::Refuses(CarrierRefusal::Status(status)) = people.phone(&refused) else { panic!() };
    assert_eq!(esme.submit(&to(&refused, b"x")).await.0, Status(status));

    let unheard = number_that(&people, |conduct| *conduct == Conduct::Unheard);
    assert_eq!(esme.submit(&to(&unheard, b"x")).await.0, Status::ROK);
    assert_eq!(smsc.stats().letters.receipts, 0);

    let answering = number_that(&people, |conduct| matches!(conduct, Conduct::Answers { .. }));
    let Conduct::Answers { text, .. } = people.phone(&answering) else { panic!() };
    let stopping = number_that(&people, |conduct| matches!(conduct, Conduct::Stops { .. }));
    for (number, reply) in [(&answering, text.as_str()), (&stopping, "STOP")] {
        esme.submit(&to(number, b"x")).await;
        assert!(deliver(&esme.letter().await).is_receipt());
        let answer = esme.letter().await;
        assert_eq!(text_of(&answer), reply);
        assert_eq!(deliver(&answer).source.addr, number.as_bytes());
        assert_eq!(deliver(&answer).destination.addr, b"71700");
    }
    let from_a_name = SubmitSm { source: Address::alphanumeric(b"Almvik"), ..to(&answering, b"x") };
    esme.submit(&from_a_name).await;
    assert!(deliver(&esme.letter().await).is_receipt());
    assert_eq!(smsc.stats().letters.replies, 2, "nobody can answer a name");
}

#[tokio::test]
async fn long_messages_are_joined_in_whatever_order_and_session_their_parts_come() {
    let smsc = Smsc::start(SmscOptions::default()).await.unwrap();
    let mut esmes = [Esme::transceiver(&smsc).await, Esme::transceiver(&smsc).await];
    let parts = [&b"\x05\x00\x03\x2A\x02\x02world"[..], b"\x05\x00\x03\x2A\x02\x01Hello "];
    for (esme, part) in esmes.iter_mut().zip(parts) {
        esme.submit(&SubmitSm { esm_class: esm_class::UDHI, ..to("46701740605", part) }).await;
    }
    let mut sar = TlvBuf::new();
    sar.push_u16(Tag::SAR_MSG_REF_NUM, 7).push_u8(Tag::SAR_TOTAL_SEGMENTS, 2);
    for (number, text) in [(1, b"\x00\xC5\x00s"), (2, b"\x00k\x00a")] {
        let mut tlvs = sar.clone();
        tlvs.push_u8(Tag::SAR_SEGMENT_SEQNUM, number);
        esmes[0].submit(&SubmitSm { data_coding: 8, tlvs: tlvs.as_tlvs(), ..to("46701740606", text) }).await;
    }
    let messages: Vec<(String, u8)> = smsc.messages(9).into_iter().map(|m| (m.text, m.parts)).collect();
    assert_eq!(messages, [("Hello world".to_owned(), 2), ("Åska".to_owned(), 2)]);
    let stats = smsc.stats();
    assert_eq!((stats.accepted, stats.messages, stats.distinct), (4, 2, 2));
    assert_eq!(smsc.accepted("+46701740605", "Hello world"), 1);
}

#[tokio::test]
async fn receipts_go_to_any_receiving_session_and_wait_for_one() {
    let smsc = Smsc::start(SmscOptions::default()).await.unwrap();
    let mut transmitter = Esme::bind(&smsc, "a", BindMode::Transmitter).await;
    let mut other = Esme::bind(&smsc, "b", BindMode::Receiver).await;
    transmitter.submit(&to("46701740605", b"x")).await;
    let mut receiver = Esme::bind(&smsc, "a", BindMode::Receiver).await;
    let (header, pdu) = receiver.header().await;
    assert!(deliver(&pdu).is_receipt());
    assert_eq!((header.sequence, smsc.stats().letters.sent), (1, 1));
    // It goes without a word: the next session gets the receipt again.
    drop(receiver);
    let mut receiver = Esme::bind(&smsc, "a", BindMode::Receiver).await;
    assert_eq!(receiver.letter().await[16..], pdu[16..]);
    let stats = stats_when(&smsc, |stats| stats.letters.confirmed == 1).await;
    assert_eq!((stats.letters.sent, stats.letters.again, stats.letters.waiting), (2, 1, 0));
    assert_eq!(
        other.ask(&EnquireLink::default()).await.0.status,
        Status::ROK,
        "the other account got nothing before"
    );
    assert_eq!(other.submit(&to("46701740605", b"x")).await.0, Status::RINVBNDSTS);
}

#[tokio::test]
async fn a_receipt_that_is_refused_for_now_comes_again_and_one_refused_for_good_does_not() {
    let smsc = Smsc::start(SmscOptions::default()).await.unwrap();
    let mut esme = Esme::transceiver(&smsc).await;
    esme.submit(&to("46701740605", b"x")).await;
    for status in [Status::RX_T_APPN, Status::RX_P_APPN] {
        let (header, _) = esme.header().await;
        assert_eq!(header.command, Command::DELIVER_SM);
        esme.answer(header.sequence, status).await;
    }
    let stats = stats_when(&smsc, |stats| stats.letters.refused == 1).await;
    assert_eq!((stats.letters.sent, stats.letters.again, stats.letters.waiting), (2, 1, 0));
}

#[tokio::test]
async fn the_delivery_window_holds_and_all_receipts_come() {
    let receipts = Receipts { delay: Delay::NONE, ..Receipts::default() };
    let smsc =
        Smsc::start(SmscOptions { deliver_window: 3, receipts, ..SmscOptions::default() }).await.unwrap();
    let mut transmitter = Esme::bind(&smsc, "a", BindMode::Transmitter).await;
    let mut receiver = Esme::bind(&smsc, "a", BindMode::Receiver).await;
    for _ in 0..10 {
        transmitter.submit(&to("46701740605", b"x")).await;
    }
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(receiver.header().await.0.sequence);
    }
    assert_eq!(smsc.stats().letters.sent, 3);
    for confirmed in 0..10 {
        receiver.answer(waiting.remove(0), Status::ROK).await;
        if confirmed < 7 {
            waiting.push(receiver.header().await.0.sequence);
        }
    }
    stats_when(&smsc, |stats| stats.letters.confirmed == 10).await;
}

#[tokio::test]
async fn submit_multi_and_data_sm_are_taken_too() {
    let mut people = Habits::silent(1);
    people.sms.refused = 0.5;
    let smsc =
        Smsc::start(SmscOptions { people: Some(people.clone()), ..SmscOptions::default() }).await.unwrap();
    let mut esme = Esme::transceiver(&smsc).await;
    let fine = number_that(&people, |conduct| *conduct == Conduct::Silent);
    let refused = number_that(&people, |conduct| *conduct != Conduct::Silent);
    let mut destinations = DestinationBuf::new();
    for number in [&fine, &refused] {
        destinations.push(Destination::Sme(Address::international(number.as_bytes()))).unwrap();
    }
    destinations.push(Destination::List(b"everyone")).unwrap();
    let multi = SubmitMulti {
        destinations: destinations.as_destinations(),
        short_message: b"to many",
        ..SubmitMulti::default()
    };
    let (_, pdu) = esme.ask(&multi).await;
    let Ok((_, Pdu::SubmitMultiResp(response))) = decode(&pdu) else { panic!("{pdu:?}") };
    let unsuccessful: Vec<_> = response.refused.iter().map(|refused| refused.status).collect();
    assert_eq!((unsuccessful.len(), unsuccessful[1]), (2, Status::RCNTSUBDL));
    let mut payload = TlvBuf::new();
    payload.push(Tag::MESSAGE_PAYLOAD, b"by data").unwrap();
    let destination = Address::international(fine.as_bytes());
    let (header, _) = esme.ask(&DataSm { destination, tlvs: payload.as_tlvs(), ..DataSm::default() }).await;
    assert_eq!((header.command, header.status), (Command::DATA_SM_RESP, Status::ROK));
    let texts: Vec<String> = smsc.messages(9).into_iter().map(|message| message.text).collect();
    assert_eq!(texts, ["to many", "by data"]);
}

#[tokio::test]
async fn what_is_out_of_place_is_answered_as_the_specification_says() {
    let options = SmscOptions { password: Some("secret".to_owned()), binds_max: 1, ..SmscOptions::default() };
    let smsc = Smsc::start(options).await.unwrap();
    let mut esme = Esme::connect(&smsc).await;
    assert_eq!(esme.submit(&to("46701740605", b"x")).await.0, Status::RINVBNDSTS);
    let bind = |password| Bind { system_id: b"a", password, ..Bind::default() };
    assert_eq!(esme.ask(&bind(b"wrong")).await.0.status, Status::RINVPASWD);
    assert_eq!(esme.ask(&bind(b"secret")).await.0.status, Status::ROK);
    assert_eq!(esme.ask(&bind(b"secret")).await.0.status, Status::RALYBND);
    assert_eq!(Esme::connect(&smsc).await.ask(&bind(b"secret")).await.0.status, Status::RBINDFAIL);
    assert_eq!(esme.submit(&to("", b"x")).await.0, Status::RINVDSTADR);
    esme.stream.write_all(&[0, 0, 0, 16, 0, 0, 0, 0x77, 0, 0, 0, 0, 0, 0, 0, 99]).await.unwrap();
    let (header, _) = esme.header().await;
    assert_eq!(
        (header.command, header.status, header.sequence),
        (Command::GENERIC_NACK, Status::RINVCMDID, 99)
    );
    assert_eq!(esme.ask(&Unbind::default()).await.0.status, Status::ROK);
    assert_eq!(esme.next().await, None);
    let stats = stats_when(&smsc, |stats| stats.sessions == 0).await;
    assert_eq!((stats.binds, stats.binds_refused, stats.submits), (1, 3, 0));
    let mut stranger = Esme::connect(&smsc).await;
    stranger.stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let (header, _) = stranger.header().await;
    assert_eq!((header.command, header.status), (Command::GENERIC_NACK, Status::RINVCMDLEN));
    assert_eq!(stranger.next().await, None);
}

#[tokio::test]
async fn what_was_answered_is_in_the_capture_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture.ndjson");
    let options = SmscOptions { capture: Some(path.clone()), keep: 0, ..SmscOptions::default() };
    for round in 1..=2 {
        let smsc = Smsc::start(options.clone()).await.unwrap();
        let mut esme = Esme::transceiver(&smsc).await;
        for place in 1..=20 {
            let text = format!("{round}.{place}");
            esme.submit(&to("46701740605", text.as_bytes())).await;
            let lines = std::fs::read_to_string(&path).unwrap();
            let last: CaptureRecord = serde_json::from_str(lines.lines().next_back().unwrap()).unwrap();
            assert_eq!(last.text.as_deref(), Some(text.as_str()), "it is there before its answer");
            assert_eq!(last.answer.map(|answer| answer.status).as_deref(), Some("ESME_ROK"));
        }
    }
    let lines = std::fs::read_to_string(&path).unwrap();
    assert_eq!(lines.matches("\"submit_sm\"").count(), 40, "a restart appends");
}

#[tokio::test]
async fn a_scenario_can_change_while_it_runs_and_all_connections_can_be_cut() {
    let smsc = Smsc::start(SmscOptions::default()).await.unwrap();
    let mut esme = Esme::transceiver(&smsc).await;
    assert_eq!(esme.submit(&to("46701740605", b"x")).await.0, Status::ROK);
    let errors = vec![ErrorShare { status: "RSYSERR".to_owned(), share: 1.0 }];
    smsc.change(SmscOptions { errors, ..SmscOptions::default() }).unwrap();
    assert_eq!(esme.submit(&to("46701740605", b"x")).await.0, Status::RSYSERR);
    assert!(smsc.change(SmscOptions { slow: 2.0, ..SmscOptions::default() }).is_err());
    smsc.disconnect();
    while esme.next().await.is_some() {}
    let mut again = Esme::transceiver(&smsc).await;
    assert_eq!(again.submit(&to("46701740605", b"x")).await.0, Status::RSYSERR);
}

#[tokio::test]
async fn the_page_tells_counts_and_messages() {
    let options = SmscOptions { control: Some("127.0.0.1:0".to_owned()), ..SmscOptions::default() };
    let smsc = Smsc::start(options).await.unwrap();
    let mut esme = Esme::transceiver(&smsc).await;
    esme.submit(&to("46701740605", b"<b>fire</b> & smoke")).await;
    let get = async |target: &str| {
        let mut stream = TcpStream::connect(smsc.page().unwrap()).await.unwrap();
        stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().to_owned(), body.to_owned())
    };
    let stats: serde_json::Value = serde_json::from_str(&get("/stats").await.1).unwrap();
    assert_eq!((&stats["accepted"], &stats["distinct"]), (&1.into(), &1.into()));
    let messages: Vec<StoredMessage> = serde_json::from_str(&get("/messages?limit=5").await.1).unwrap();
    assert_eq!(messages[0].text, "<b>fire</b> & smoke");
    let count = get("/count?to=%2B46701740605&text=%3Cb%3Efire%3C/b%3E+%26+smoke").await.1;
    assert_eq!(count.trim(), r#"{"accepted":1}"#);
    assert!(get("/live").await.1.contains("&lt;b&gt;fire&lt;/b&gt; &amp; smoke"));
    assert_eq!(get("/nothing").await.0, "404");
}

#[test]
fn peers_of_version_3_3_get_short_ids_and_no_parameters() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let smsc = Smsc::start(SmscOptions::default()).await.unwrap();
        let mut esme = Esme::connect(&smsc).await;
        let interface_version = ::smpp::pdu::Version::V3_3;
        esme.ask(&Bind { system_id: b"old", interface_version, ..Bind::default() }).await;
        let (_, id) = esme.submit(&to("46701740605", b"x")).await;
        assert_eq!(id.len(), 8);
        let receipt = esme.letter().await;
        assert_eq!(deliver(&receipt).tlvs, Tlvs::NONE);
        assert!(text_of(&receipt).starts_with(&format!("id:{id} ")));
    });
}
