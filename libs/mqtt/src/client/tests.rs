use super::*;
use crate::closing::ClosedBy;
use crate::packet::{ConnAckPacket, SubAckPacket};

/// A client with the server's packets written by hand.
struct Bench {
    client: MqttClient,
    now: Instant,
}

fn ack(packet_id: u16, reason: MqttReason) -> MqttPacket {
    MqttPacket::PubAck(AckPacket { packet_id, reason, properties: Properties::new() })
}

fn connack(properties: Properties) -> MqttPacket {
    MqttPacket::ConnAck(ConnAckPacket { session_present: false, reason: MqttReason::SUCCESS, properties })
}

fn message(token: u64) -> MqttMessage {
    MqttMessage { token, qos: Qos::AtLeastOnce, topic: "a/b".to_owned(), ..MqttMessage::default() }
}

impl Bench {
    fn new() -> Bench {
        let now = Instant::now();
        let options = MqttClientOptions {
            client_id: "c".to_owned(),
            username: Some("u".to_owned()),
            password: Some(b"p".to_vec()),
            receive_maximum: 2,
            ..MqttClientOptions::default()
        };
        Bench { client: MqttClient::new(options, now).unwrap(), now }
    }

    fn connected(properties: Properties) -> Bench {
        let mut bench = Bench::new();
        bench.written();
        bench.receive(&connack(properties));
        assert!(matches!(bench.client.poll_event(), Some(MqttClientEvent::Connected(_))));
        bench
    }

    fn receive(&mut self, packet: &MqttPacket) {
        let mut octets = Vec::new();
        packet.encode(VARIABLE_BYTE_INTEGER_MAX, &mut octets).unwrap();
        self.client.handle_input(self.now, &octets);
    }

    fn written(&mut self) -> Vec<MqttPacket> {
        let mut octets = Vec::new();
        self.client.poll_transmit(&mut octets);
        let mut buffer = PacketBuffer::new(VARIABLE_BYTE_INTEGER_MAX);
        buffer.push(&octets);
        std::iter::from_fn(|| buffer.next_packet().unwrap()).collect()
    }

    fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        self.client.handle_timeout(self.now);
    }

    fn events(&mut self) -> Vec<MqttClientEvent> {
        std::iter::from_fn(|| self.client.poll_event()).collect()
    }

    fn closed(&mut self) -> MqttClosed {
        match self.events().pop() {
            Some(MqttClientEvent::Closed(end)) if self.client.is_finished() => end,
            other => panic!("not closed: {other:?}"),
        }
    }
}

#[test]
fn connect_is_a_session_of_its_own_with_our_limits() {
    let mut bench = Bench::new();
    let written = bench.written();
    let [MqttPacket::Connect(connect)] = written.as_slice() else { panic!("{written:?}") };
    assert!(connect.clean_start && connect.properties.session_expiry_interval().is_none());
    assert_eq!((connect.keep_alive_s, connect.client_id.as_str()), (60, "c"));
    assert_eq!(connect.properties.receive_maximum(), Some(2));
    assert_eq!(connect.properties.maximum_packet_size(), Some(256 * 1024));
    assert_eq!(connect.password.as_deref(), Some(&b"p"[..]));
    assert_eq!(bench.client.publish(bench.now, message(1)), Err(PublishRefusal::NotConnected));
    assert!(!format!("{:?}", bench.client).contains("[112]"), "the password is not shown");
}

#[test]
fn the_window_is_the_servers_receive_maximum() {
    let mut bench = Bench::connected(Properties::new().with(Property::ReceiveMaximum(2)));
    assert_eq!(bench.client.room(), 2);
    bench.client.publish(bench.now, message(1)).unwrap();
    bench.client.publish(bench.now, message(2)).unwrap();
    assert_eq!((bench.client.room(), bench.client.in_flight()), (0, 2));
    assert_eq!(bench.client.publish(bench.now, message(3)), Err(PublishRefusal::NoRoom));
    let at_most_once = MqttMessage { qos: Qos::AtMostOnce, ..message(4) };
    bench.client.publish(bench.now, at_most_once).unwrap();
    assert_eq!(bench.written().len(), 3);
    bench.receive(&ack(2, MqttReason::NO_MATCHING_SUBSCRIBERS));
    bench.receive(&ack(1, MqttReason::SUCCESS));
    let told = |token, reason| MqttClientEvent::Acknowledged { token, reason, words: None };
    assert_eq!(bench.events(), [told(2, MqttReason::NO_MATCHING_SUBSCRIBERS), told(1, MqttReason::SUCCESS)]);
    assert_eq!(bench.client.room(), 2);
}

#[test]
fn what_the_server_does_not_take_is_not_written() {
    let limits = Properties::new().with(Property::MaximumPacketSize(20)).with(Property::RetainAvailable(0));
    let mut bench = Bench::connected(limits);
    let large = MqttMessage { payload: vec![0; 20], ..message(1) };
    assert_eq!(
        bench.client.publish(bench.now, large),
        Err(PublishRefusal::Encode(PacketEncodeError::PacketTooLarge { octets: 30, limit: 20 }))
    );
    let retained = MqttMessage { retain: true, ..message(1) };
    assert_eq!(bench.client.publish(bench.now, retained), Err(PublishRefusal::RetainNotSupported));
    let twice = MqttMessage { qos: Qos::ExactlyOnce, ..message(1) };
    assert_eq!(bench.client.publish(bench.now, twice), Err(PublishRefusal::QosTwo));
    assert_eq!((bench.written(), bench.client.in_flight()), (vec![], 0));
    let mut bench = Bench::connected(Properties::new().with(Property::MaximumQos(0)));
    assert_eq!(bench.client.publish(bench.now, message(1)), Err(PublishRefusal::QosNotSupported));
}

#[test]
fn a_refused_connection_says_why_in_the_servers_words() {
    let mut bench = Bench::new();
    bench.receive(&MqttPacket::ConnAck(ConnAckPacket {
        session_present: false,
        reason: MqttReason::BAD_USER_NAME_OR_PASSWORD,
        properties: Properties::new().with(Property::ReasonString("ask Eve".to_owned())),
    }));
    let end = bench.closed();
    assert_eq!((end.by, end.reason), (ClosedBy::Peer, Some(MqttReason::BAD_USER_NAME_OR_PASSWORD)));
    assert_eq!(end.text, "the server refused the connection: Bad User Name or Password (0x86): \"ask Eve\"");
}

#[test]
fn a_ping_keeps_the_connection_and_a_server_without_an_answer_is_left() {
    let mut bench = Bench::connected(Properties::new().with(Property::ServerKeepAlive(20)));
    bench.pass(14);
    assert_eq!(bench.written(), []);
    bench.pass(1);
    assert_eq!(bench.written(), [MqttPacket::PingReq]);
    bench.receive(&MqttPacket::PingResp);
    bench.pass(14);
    assert_eq!(bench.written(), []);
    bench.pass(1);
    assert_eq!(bench.written(), [MqttPacket::PingReq]);
    bench.pass(30);
    let end = bench.closed();
    assert_eq!((end.by, end.text.as_str()), (ClosedBy::Silence, "the server did not answer PINGREQ in time"));
    assert!(matches!(bench.written().as_slice(), [MqttPacket::Disconnect(_)]));
    assert_eq!(bench.client.poll_timeout(), None);
}

#[test]
fn a_server_that_never_answers_connect_or_a_message_is_left() {
    let mut bench = Bench::new();
    bench.pass(30);
    assert_eq!(bench.closed().text, "the server did not answer CONNECT in time");

    let mut bench = Bench::connected(Properties::new());
    bench.client.publish(bench.now, message(7)).unwrap();
    bench.written();
    bench.pass(29);
    assert_eq!(bench.events(), []);
    bench.pass(1);
    let events = bench.events();
    assert_eq!(events[0], MqttClientEvent::Lost { token: 7, written: true });
    assert!(matches!(&events[1], MqttClientEvent::Closed(end) if end.by == ClosedBy::Silence));
}

#[test]
fn what_was_never_handed_out_is_told_from_what_was_perhaps_written() {
    let mut bench = Bench::connected(Properties::new());
    bench.client.publish(bench.now, message(1)).unwrap();
    bench.written();
    bench.client.publish(bench.now, message(2)).unwrap();
    bench.client.handle_eof(bench.now);
    let events = bench.events();
    assert_eq!(events[0], MqttClientEvent::Lost { token: 1, written: true });
    assert_eq!(events[1], MqttClientEvent::Lost { token: 2, written: false });
    assert!(matches!(&events[2], MqttClientEvent::Closed(end) if end.by == ClosedBy::Transport));
    bench.client.handle_eof(bench.now);
    assert_eq!(bench.events(), [], "the end is told once");
}

#[test]
fn a_message_is_acknowledged_when_the_caller_says_so_and_never_beyond_our_receive_maximum() {
    let mut bench = Bench::connected(Properties::new());
    let publish = |packet_id| {
        MqttPacket::Publish(PublishPacket {
            qos: Qos::AtLeastOnce,
            packet_id,
            topic: "r".to_owned(),
            ..PublishPacket::default()
        })
    };
    bench.receive(&publish(5));
    bench.receive(&publish(6));
    assert_eq!((bench.events().len(), bench.written()), (2, vec![]));
    bench.client.acknowledge(bench.now, 5, MqttReason::SUCCESS);
    bench.client.acknowledge(bench.now, 5, MqttReason::SUCCESS);
    assert_eq!(bench.written(), [ack(5, MqttReason::SUCCESS)]);
    bench.receive(&publish(7));
    bench.receive(&publish(8));
    assert_eq!(bench.closed().reason, Some(MqttReason::RECEIVE_MAXIMUM_EXCEEDED));
}

#[test]
fn a_subscription_has_its_answer() {
    let mut bench = Bench::connected(Properties::new());
    let wanted = TopicSubscription {
        filter: "answers".to_owned(),
        qos: Qos::AtLeastOnce,
        no_local: true,
        ..TopicSubscription::default()
    };
    let id = bench.client.subscribe(bench.now, vec![wanted.clone()]).unwrap();
    let written = bench.written();
    let [MqttPacket::Subscribe(packet)] = written.as_slice() else { panic!("{written:?}") };
    assert_eq!((packet.packet_id, &packet.subscriptions[..]), (id, &[wanted][..]));
    let reasons = vec![MqttReason::NOT_AUTHORIZED];
    bench.receive(&MqttPacket::SubAck(SubAckPacket {
        packet_id: id,
        properties: Properties::new(),
        reasons: reasons.clone(),
    }));
    assert_eq!(bench.events(), [MqttClientEvent::Subscribed { packet_id: id, reasons, words: None }]);
}

#[test]
fn a_server_that_breaks_the_protocol_is_told_the_reason_and_left() {
    let publish =
        |packet: PublishPacket| MqttPacket::Publish(PublishPacket { topic: "t".to_owned(), ..packet });
    let alias = Properties::new().with(Property::TopicAlias(1));
    let method = Properties::new().with(Property::AuthenticationMethod("m".to_owned()));
    for (packet, reason) in [
        (ack(1, MqttReason::SUCCESS), MqttReason::PROTOCOL_ERROR),
        (connack(Properties::new()), MqttReason::PROTOCOL_ERROR),
        (MqttPacket::PingReq, MqttReason::PROTOCOL_ERROR),
        (
            MqttPacket::Auth(ReasonPacket { reason: MqttReason::RE_AUTHENTICATE, properties: method }),
            MqttReason::PROTOCOL_ERROR,
        ),
        (
            MqttPacket::SubAck(SubAckPacket {
                packet_id: 9,
                properties: Properties::new(),
                reasons: vec![MqttReason::SUCCESS],
            }),
            MqttReason::PROTOCOL_ERROR,
        ),
        (
            MqttPacket::UnsubAck(SubAckPacket {
                packet_id: 9,
                properties: Properties::new(),
                reasons: vec![MqttReason::SUCCESS],
            }),
            MqttReason::PROTOCOL_ERROR,
        ),
        (
            publish(PublishPacket { properties: alias, ..PublishPacket::default() }),
            MqttReason::TOPIC_ALIAS_INVALID,
        ),
        (
            publish(PublishPacket { qos: Qos::ExactlyOnce, packet_id: 1, ..PublishPacket::default() }),
            MqttReason::QOS_NOT_SUPPORTED,
        ),
    ] {
        let mut bench = Bench::connected(Properties::new());
        bench.receive(&packet);
        let end = bench.closed();
        assert_eq!((end.by, end.reason), (ClosedBy::Misbehaviour, Some(reason)), "{packet:?}: {end:?}");
        let written = bench.written();
        assert_eq!(written, [MqttPacket::Disconnect(ReasonPacket::new(reason))]);
        bench.receive(&packet);
        assert_eq!((bench.written(), bench.events()), (vec![], vec![]), "nothing follows the end");
    }
    let mut bench = Bench::new();
    bench.written();
    bench.receive(&MqttPacket::PingResp);
    assert_eq!(bench.closed().by, ClosedBy::Misbehaviour);
    assert_eq!(bench.written(), [], "before CONNACK nothing is said");
}

#[test]
fn a_session_where_none_was_asked_for_is_refused() {
    let mut bench = Bench::new();
    bench.receive(&MqttPacket::ConnAck(ConnAckPacket {
        session_present: true,
        reason: MqttReason::SUCCESS,
        properties: Properties::new(),
    }));
    assert_eq!(bench.closed().reason, Some(MqttReason::PROTOCOL_ERROR));
}

#[test]
fn the_servers_disconnect_is_in_its_words() {
    let mut bench = Bench::connected(Properties::new());
    bench.client.publish(bench.now, message(1)).unwrap();
    bench.receive(&MqttPacket::Disconnect(ReasonPacket {
        reason: MqttReason::SERVER_MOVED,
        properties: Properties::new().with(Property::ServerReference("b:1883".to_owned())),
    }));
    let events = bench.events();
    assert_eq!(events[0], MqttClientEvent::Lost { token: 1, written: false });
    let MqttClientEvent::Closed(end) = &events[1] else { panic!("{events:?}") };
    assert_eq!(
        end.text,
        "the server ended the connection: Server moved (0x9D); it names another server: \"b:1883\""
    );
}
