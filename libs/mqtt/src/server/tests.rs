use super::*;
use crate::closing::ClosedBy;

struct Bench {
    server: MqttServer,
    now: Instant,
}

fn connect(keep_alive_s: u16, properties: Properties) -> MqttPacket {
    MqttPacket::Connect(Box::new(ConnectPacket {
        clean_start: true,
        keep_alive_s,
        properties,
        client_id: "c".to_owned(),
        ..ConnectPacket::default()
    }))
}

fn publish(qos: Qos, packet_id: u16) -> PublishPacket {
    PublishPacket { qos, packet_id, topic: "t".to_owned(), ..PublishPacket::default() }
}

impl Bench {
    fn new(options: MqttServerOptions) -> Bench {
        let now = Instant::now();
        Bench { server: MqttServer::new(options, now), now }
    }

    fn connected(options: MqttServerOptions, properties: Properties) -> Bench {
        let mut bench = Bench::new(options);
        bench.receive(&connect(10, properties));
        assert!(matches!(bench.server.poll_event(), Some(MqttServerEvent::Connect(_))));
        bench.server.accept(bench.now, None);
        assert!(matches!(bench.written().as_slice(), [MqttPacket::ConnAck(_)]));
        bench
    }

    fn receive(&mut self, packet: &MqttPacket) {
        let mut octets = Vec::new();
        packet.encode(VARIABLE_BYTE_INTEGER_MAX, &mut octets).unwrap();
        self.server.handle_input(self.now, &octets);
    }

    fn written(&mut self) -> Vec<MqttPacket> {
        let mut octets = Vec::new();
        self.server.poll_transmit(&mut octets);
        let mut buffer = PacketBuffer::new(VARIABLE_BYTE_INTEGER_MAX);
        buffer.push(&octets);
        std::iter::from_fn(|| buffer.next_packet().unwrap()).collect()
    }

    fn closed(&mut self) -> MqttClosed {
        loop {
            match self.server.poll_event() {
                Some(MqttServerEvent::Closed(end)) => return end,
                Some(_) => {}
                None => panic!("not closed"),
            }
        }
    }
}

#[test]
fn connack_has_our_limits_and_a_refusal_ends_the_connection() {
    let mut bench = Bench::new(MqttServerOptions { retains: false, ..MqttServerOptions::default() });
    bench.receive(&connect(10, Properties::new()));
    bench.server.accept(bench.now, Some("given".to_owned()));
    let written = bench.written();
    let [MqttPacket::ConnAck(packet)] = written.as_slice() else { panic!("{written:?}") };
    let properties = &packet.properties;
    assert_eq!((properties.maximum_qos(), properties.retain_available()), (Some(1), Some(0)));
    assert_eq!(properties.assigned_client_identifier(), Some("given"));

    let mut bench = Bench::new(MqttServerOptions::default());
    bench.receive(&connect(10, Properties::new()));
    bench.server.refuse(MqttReason::NOT_AUTHORIZED, Some("no"));
    let written = bench.written();
    let [MqttPacket::ConnAck(packet)] = written.as_slice() else { panic!("{written:?}") };
    assert_eq!((packet.reason, packet.properties.reason_string()), (MqttReason::NOT_AUTHORIZED, Some("no")));
    assert!(bench.server.is_finished());
}

#[test]
fn a_client_is_left_one_and_a_half_keep_alives_after_its_last_packet() {
    let mut bench = Bench::connected(MqttServerOptions::default(), Properties::new());
    bench.now += Duration::from_secs(14);
    bench.receive(&MqttPacket::PingReq);
    assert_eq!(bench.written(), [MqttPacket::PingResp]);
    assert_eq!(bench.server.poll_timeout(), Some(bench.now + Duration::from_secs(15)));
    bench.now += Duration::from_secs(15);
    bench.server.handle_timeout(bench.now);
    assert_eq!(bench.written(), [MqttPacket::Disconnect(ReasonPacket::new(MqttReason::KEEP_ALIVE_TIMEOUT))]);
    assert_eq!(bench.closed().by, ClosedBy::Silence);
}

#[test]
fn a_client_that_breaks_the_protocol_is_told_the_reason() {
    let retained = PublishPacket { retain: true, ..publish(Qos::AtMostOnce, 0) };
    let alias = Properties::new().with(Property::TopicAlias(1));
    for (packet, reason) in [
        (MqttPacket::Publish(publish(Qos::ExactlyOnce, 1)), MqttReason::QOS_NOT_SUPPORTED),
        (MqttPacket::Publish(retained), MqttReason::RETAIN_NOT_SUPPORTED),
        (
            MqttPacket::Publish(PublishPacket { properties: alias, ..publish(Qos::AtMostOnce, 0) }),
            MqttReason::TOPIC_ALIAS_INVALID,
        ),
        (connect(1, Properties::new()), MqttReason::PROTOCOL_ERROR),
        (MqttPacket::PingResp, MqttReason::PROTOCOL_ERROR),
        (
            MqttPacket::PubAck(AckPacket {
                packet_id: 1,
                reason: MqttReason::SUCCESS,
                properties: Properties::new(),
            }),
            MqttReason::PROTOCOL_ERROR,
        ),
    ] {
        let options = MqttServerOptions { retains: false, ..MqttServerOptions::default() };
        let mut bench = Bench::connected(options, Properties::new());
        bench.receive(&packet);
        assert_eq!(bench.written(), [MqttPacket::Disconnect(ReasonPacket::new(reason))], "{packet:?}");
        assert_eq!(bench.closed().by, ClosedBy::Misbehaviour);
    }
    let method = Properties::new().with(Property::AuthenticationMethod("m".to_owned()));
    for (packet, reason) in [
        (connect(1, method), MqttReason::BAD_AUTHENTICATION_METHOD),
        (MqttPacket::PingReq, MqttReason::PROTOCOL_ERROR),
    ] {
        let mut bench = Bench::new(MqttServerOptions::default());
        bench.receive(&packet);
        let written = bench.written();
        assert!(
            matches!(written.as_slice(), [MqttPacket::ConnAck(ack)] if ack.reason == reason),
            "{written:?}"
        );
    }
}

#[test]
fn a_receive_maximum_is_held_both_ways() {
    let options = MqttServerOptions { receive_maximum: 1, ..MqttServerOptions::default() };
    let mut bench = Bench::connected(options, Properties::new().with(Property::ReceiveMaximum(1)));
    assert_eq!(bench.server.publish(bench.now, 5, publish(Qos::AtLeastOnce, 0)), Ok(true));
    assert_eq!(bench.server.publish(bench.now, 6, publish(Qos::AtLeastOnce, 0)), Ok(false));
    assert_eq!(bench.server.publish(bench.now, 7, publish(Qos::AtMostOnce, 0)), Ok(true));
    assert_eq!(bench.written().len(), 2);
    bench.receive(&MqttPacket::PubAck(AckPacket {
        packet_id: 1,
        reason: MqttReason::SUCCESS,
        properties: Properties::new(),
    }));
    let acknowledged = MqttServerEvent::Acknowledged { token: 5, reason: MqttReason::SUCCESS };
    assert_eq!(bench.server.poll_event(), Some(acknowledged));
    bench.receive(&MqttPacket::Publish(publish(Qos::AtLeastOnce, 1)));
    bench.receive(&MqttPacket::Publish(publish(Qos::AtLeastOnce, 2)));
    assert_eq!(bench.closed().reason, Some(MqttReason::RECEIVE_MAXIMUM_EXCEEDED));
}

#[test]
fn a_message_over_the_clients_maximum_packet_size_is_not_for_it() {
    let limit = Properties::new().with(Property::MaximumPacketSize(40));
    let mut bench = Bench::connected(MqttServerOptions::default(), limit);
    let large = PublishPacket { payload: vec![0; 40], ..publish(Qos::AtLeastOnce, 0) };
    assert!(bench.server.publish(bench.now, 1, large).is_err());
    assert_eq!((bench.written(), bench.server.room()), (vec![], 65_519));
}
