use super::*;
use crate::{MqttReason, Properties, Property, VariableByteInteger};
use proptest::prelude::*;

const ALL: u32 = VARIABLE_BYTE_INTEGER_MAX;

fn encoded(packet: &MqttPacket) -> Vec<u8> {
    let mut out = Vec::new();
    packet.encode(ALL, &mut out).unwrap();
    out
}

fn read(octets: &[u8]) -> Result<Option<MqttPacket>, PacketError> {
    let mut buffer = PacketBuffer::new(ALL);
    buffer.push(octets);
    buffer.next_packet()
}

fn publish(topic: &str, qos: Qos, packet_id: u16) -> PublishPacket {
    PublishPacket { topic: topic.to_owned(), qos, packet_id, ..PublishPacket::default() }
}

type PacketRow = (MqttPacket, Vec<u8>);

/// Packets with the octets that the standard gives for them, or that follow from its figures.
fn table() -> Vec<PacketRow> {
    [of_beginnings(), of_messages(), of_subscriptions(), of_ends()].concat()
}

fn of_beginnings() -> Vec<PacketRow> {
    vec![
        (
            MqttPacket::Connect(Box::new(ConnectPacket {
                clean_start: true,
                keep_alive_s: 10,
                properties: Properties::new().with(Property::SessionExpiryInterval(10)),
                client_id: "a".to_owned(),
                will: Some(WillMessage {
                    qos: Qos::AtLeastOnce,
                    retain: false,
                    topic: "w".to_owned(),
                    payload: b"x".to_vec(),
                    properties: Properties::new(),
                }),
                username: Some("u".to_owned()),
                password: Some(b"p".to_vec()),
            })),
            // Variable header of figure 3-6.
            b"\x10\x20\0\x04MQTT\x05\xCE\0\x0A\x05\x11\0\0\0\x0A\0\x01a\0\0\x01w\0\x01x\0\x01u\0\x01p"
                .to_vec(),
        ),
        (
            MqttPacket::ConnAck(ConnAckPacket {
                session_present: false,
                reason: MqttReason::SUCCESS,
                properties: Properties::new().with(Property::ReceiveMaximum(20)),
            }),
            b"\x20\x06\0\0\x03\x21\0\x14".to_vec(),
        ),
    ]
}

fn of_messages() -> Vec<PacketRow> {
    vec![
        // Figures 3-9 and 3-10.
        (MqttPacket::Publish(publish("a/b", Qos::AtLeastOnce, 10)), b"\x32\x08\0\x03a/b\0\x0A\0".to_vec()),
        (MqttPacket::Publish(publish("a/b", Qos::AtMostOnce, 0)), b"\x30\x06\0\x03a/b\0".to_vec()),
        (
            MqttPacket::PubAck(AckPacket {
                packet_id: 10,
                reason: MqttReason::SUCCESS,
                properties: Properties::new(),
            }),
            b"\x40\x02\0\x0A".to_vec(),
        ),
        (
            MqttPacket::PubAck(AckPacket {
                packet_id: 10,
                reason: MqttReason::NO_MATCHING_SUBSCRIBERS,
                properties: Properties::new(),
            }),
            b"\x40\x03\0\x0A\x10".to_vec(),
        ),
    ]
}

fn of_subscriptions() -> Vec<PacketRow> {
    let subscription = |filter: &str, qos| TopicSubscription {
        filter: filter.to_owned(),
        qos,
        ..TopicSubscription::default()
    };
    vec![
        // Figure 3-21.
        (
            MqttPacket::Subscribe(SubscribePacket {
                packet_id: 10,
                properties: Properties::new(),
                subscriptions: vec![
                    subscription("a/b", Qos::AtLeastOnce),
                    subscription("c/d", Qos::ExactlyOnce),
                ],
            }),
            b"\x82\x0F\0\x0A\0\0\x03a/b\x01\0\x03c/d\x02".to_vec(),
        ),
        (
            MqttPacket::SubAck(SubAckPacket {
                packet_id: 10,
                properties: Properties::new(),
                reasons: vec![MqttReason::GRANTED_QOS_1, MqttReason::NOT_AUTHORIZED],
            }),
            b"\x90\x05\0\x0A\0\x01\x87".to_vec(),
        ),
        // Figure 3-29.
        (
            MqttPacket::Unsubscribe(UnsubscribePacket {
                packet_id: 10,
                properties: Properties::new(),
                filters: vec!["a/b".to_owned(), "c/d".to_owned()],
            }),
            b"\xA2\x0D\0\x0A\0\0\x03a/b\0\x03c/d".to_vec(),
        ),
        (
            MqttPacket::UnsubAck(SubAckPacket {
                packet_id: 10,
                properties: Properties::new(),
                reasons: vec![MqttReason::NO_SUBSCRIPTION_EXISTED],
            }),
            b"\xB0\x04\0\x0A\0\x11".to_vec(),
        ),
    ]
}

fn of_ends() -> Vec<PacketRow> {
    vec![
        (MqttPacket::PingReq, b"\xC0\0".to_vec()),
        (MqttPacket::PingResp, b"\xD0\0".to_vec()),
        (MqttPacket::Disconnect(ReasonPacket::new(MqttReason::SUCCESS)), b"\xE0\0".to_vec()),
        (
            MqttPacket::Disconnect(ReasonPacket::new(MqttReason::SERVER_SHUTTING_DOWN)),
            b"\xE0\x01\x8B".to_vec(),
        ),
        (
            MqttPacket::Auth(ReasonPacket {
                reason: MqttReason::CONTINUE_AUTHENTICATION,
                properties: Properties::new().with(Property::AuthenticationMethod("m".to_owned())),
            }),
            b"\xF0\x06\x18\x04\x15\0\x01m".to_vec(),
        ),
    ]
}

#[test]
fn packets_have_the_octets_of_the_standards_figures() {
    for (packet, octets) in table() {
        assert_eq!(encoded(&packet), octets, "{packet:?}");
        assert_eq!(read(&octets), Ok(Some(packet)));
    }
}

#[test]
fn a_packet_is_waited_for_until_it_is_whole_however_it_is_cut() {
    let whole: Vec<u8> = table().into_iter().flat_map(|(_, octets)| octets).collect();
    for size in 1..40 {
        let mut buffer = PacketBuffer::new(64);
        let mut packets = Vec::new();
        for piece in whole.chunks(size) {
            buffer.push(piece);
            while let Some(packet) = buffer.next_packet().unwrap() {
                packets.push(packet);
            }
        }
        let expected: Vec<MqttPacket> = table().into_iter().map(|(packet, _)| packet).collect();
        assert_eq!((packets, buffer.is_empty()), (expected, true), "pieces of {size}");
    }
}

/// Octets that nobody should send, the reason that is told, and words of it.
const HOSTILE: &[(&[u8], MqttReason, &str)] = &[
    (b"\x00\0", MqttReason::MALFORMED_PACKET, "type 0"),
    (b"\x11\0", MqttReason::MALFORMED_PACKET, "flags"),
    (b"\x80\0", MqttReason::MALFORMED_PACKET, "flags"),
    (b"\xC1\0", MqttReason::MALFORMED_PACKET, "flags"),
    (b"\x50\x02\0\x01", MqttReason::PROTOCOL_ERROR, "QoS 2"),
    (b"\x62\x02\0\x01", MqttReason::PROTOCOL_ERROR, "QoS 2"),
    (b"\x70\x02\0\x01", MqttReason::PROTOCOL_ERROR, "QoS 2"),
    (b"\xC0\xFF\xFF\xFF\xFF\x01", MqttReason::MALFORMED_PACKET, "4 octets"),
    (b"\xC0\x80\0", MqttReason::MALFORMED_PACKET, "longer than it need be"),
    (b"\xC0\x01x", MqttReason::MALFORMED_PACKET, "behind its end"),
    (b"\x20\x01\0", MqttReason::MALFORMED_PACKET, "ends in the middle"),
    (b"\x20\x03\x02\0\0", MqttReason::MALFORMED_PACKET, "reserved"),
    (b"\x20\x03\x01\x87\0", MqttReason::PROTOCOL_ERROR, "session"),
    // CONNECT: name, version, flags.
    (b"\x10\x0D\0\x04MQTX\x05\0\0\0\0\0\0", MqttReason::UNSUPPORTED_PROTOCOL_VERSION, "name"),
    (b"\x10\x0C\0\x04MQTT\x04\0\0\0\0\0", MqttReason::UNSUPPORTED_PROTOCOL_VERSION, "version"),
    (b"\x10\x0D\0\x04MQTT\x05\x01\0\0\0\0\0", MqttReason::MALFORMED_PACKET, "reserved flag"),
    (b"\x10\x0D\0\x04MQTT\x05\x20\0\0\0\0\0", MqttReason::MALFORMED_PACKET, "no will"),
    (b"\x10\x0D\0\x04MQTT\x05\x1C\0\0\0\0\0", MqttReason::MALFORMED_PACKET, "QoS is 3"),
    // PUBLISH: QoS 3, DUP of QoS 0, wildcards, no topic, Packet Identifier 0, U+0000.
    (b"\x36\x06\0\x01a\0\x01\0", MqttReason::MALFORMED_PACKET, "QoS is 3"),
    (b"\x38\x04\0\x01a\0", MqttReason::MALFORMED_PACKET, "DUP"),
    (b"\x30\x04\0\x01#\0", MqttReason::MALFORMED_PACKET, "wildcard"),
    (b"\x30\x04\0\x01\0\0", MqttReason::MALFORMED_PACKET, "U+0000"),
    (b"\x30\x04\0\x01\xFF\0", MqttReason::MALFORMED_PACKET, "UTF-8"),
    (b"\x30\x03\0\0\0", MqttReason::PROTOCOL_ERROR, "neither"),
    (b"\x32\x06\0\x01a\0\0\0", MqttReason::PROTOCOL_ERROR, "Identifier is 0"),
    (b"\x30\x08\0\x01a\x04\x08\0\x01+", MqttReason::PROTOCOL_ERROR, "Response Topic"),
    // Properties: unknown, of another packet, twice, wrong values, lengths beyond the packet.
    (b"\x30\x06\0\x01a\x02\x04\0", MqttReason::MALFORMED_PACKET, "does not exist"),
    (b"\x30\x07\0\x01a\x03\x21\0\x01", MqttReason::MALFORMED_PACKET, "cannot have it"),
    (b"\x30\x08\0\x01a\x04\x01\0\x01\0", MqttReason::PROTOCOL_ERROR, "twice"),
    (b"\x30\x06\0\x01a\x02\x01\x02", MqttReason::PROTOCOL_ERROR, "value"),
    (b"\x30\x07\0\x01a\x03\x23\0\0", MqttReason::TOPIC_ALIAS_INVALID, "is 0"),
    (b"\x30\x06\0\x01a\x02\x0B\0", MqttReason::PROTOCOL_ERROR, "value"),
    (b"\x20\x06\0\0\x03\x21\0\0", MqttReason::PROTOCOL_ERROR, "value"),
    (b"\x20\x08\0\0\x05\x27\0\0\0\0", MqttReason::PROTOCOL_ERROR, "value"),
    (b"\x20\x05\0\0\x02\x24\x02", MqttReason::PROTOCOL_ERROR, "value"),
    (b"\x30\x05\0\x01a\x7Fx", MqttReason::MALFORMED_PACKET, "ends in the middle"),
    (b"\x30\x06\0\x01a\x03\x01\0", MqttReason::MALFORMED_PACKET, "ends in the middle"),
    (b"\x30\x07\0\x01a\x03\x03\0\x09", MqttReason::MALFORMED_PACKET, "ends in the middle"),
    (b"\x82\x0B\0\x01\x04\x0B\x01\x0B\x02\0\x01a\0", MqttReason::PROTOCOL_ERROR, "twice"),
    // Subscriptions.
    (b"\x82\x03\0\x01\0", MqttReason::PROTOCOL_ERROR, "no filter"),
    (b"\x82\x07\0\x01\0\0\x01a\x03", MqttReason::MALFORMED_PACKET, "QoS is 3"),
    (b"\x82\x07\0\x01\0\0\x01a\x40", MqttReason::MALFORMED_PACKET, "reserved"),
    (b"\x82\x07\0\x01\0\0\x01a\x30", MqttReason::PROTOCOL_ERROR, "Retain Handling"),
    (b"\x82\x08\0\x01\0\0\x02a#\0", MqttReason::MALFORMED_PACKET, "# stands alone"),
    (b"\x82\x0F\0\x01\0\0\x09$share/g/\x04", MqttReason::MALFORMED_PACKET, "NAME"),
    (b"\x82\x10\0\x01\0\0\x0A$share/g/a\x04", MqttReason::PROTOCOL_ERROR, "No Local"),
    (b"\x82\x07\0\0\0\0\x01a\0", MqttReason::PROTOCOL_ERROR, "Identifier is 0"),
    (b"\xA2\x03\0\x01\0", MqttReason::PROTOCOL_ERROR, "no filter"),
    (b"\x90\x03\0\x01\0", MqttReason::PROTOCOL_ERROR, "no reason"),
    (b"\x40\x01\0", MqttReason::MALFORMED_PACKET, "ends in the middle"),
    (b"\x40\x02\0\0", MqttReason::PROTOCOL_ERROR, "Identifier is 0"),
];

#[test]
fn hostile_octets_are_refused_with_the_reason_that_the_peer_is_told() {
    for (octets, reason, words) in HOSTILE {
        let error = read(octets).expect_err(&format!("{octets:02X?}"));
        assert_eq!(error.reason, *reason, "{octets:02X?}: {error}");
        assert!(error.why.contains(words), "{octets:02X?}: {error}");
    }
}

#[test]
fn a_packet_over_the_limit_is_refused_by_its_header_alone() {
    let mut buffer = PacketBuffer::new(10);
    buffer.push(b"\x30\x08");
    assert_eq!(buffer.next_packet(), Ok(None), "10 octets with the header");
    let mut buffer = PacketBuffer::new(10);
    buffer.push(b"\x30\x09");
    assert_eq!(buffer.next_packet().unwrap_err().reason, MqttReason::PACKET_TOO_LARGE);
    let mut buffer = PacketBuffer::new(1024);
    buffer.push(b"\x30\xFF\xFF\xFF\x7F");
    assert_eq!(buffer.next_packet().unwrap_err().reason, MqttReason::PACKET_TOO_LARGE);

    let packet =
        MqttPacket::Publish(PublishPacket { payload: vec![0; 5], ..publish("a", Qos::AtMostOnce, 0) });
    let mut out = vec![7];
    assert_eq!(packet.encode(10, &mut out), Err(PacketEncodeError::PacketTooLarge { octets: 11, limit: 10 }));
    assert_eq!(out, [7], "nothing is written");
    assert_eq!(packet.encode(11, &mut out), Ok(()));
}

#[test]
fn what_has_no_form_on_the_wire_is_not_written() {
    let with = |property| {
        MqttPacket::Publish(PublishPacket {
            properties: Properties::new().with(property),
            ..publish("a", Qos::AtMostOnce, 0)
        })
    };
    for (packet, error) in [
        (with(Property::ReceiveMaximum(1)), PacketEncodeError::Property { name: "Receive Maximum" }),
        (
            with(Property::PayloadFormatIndicator(2)),
            PacketEncodeError::Property { name: "Payload Format Indicator" },
        ),
        (with(Property::TopicAlias(0)), PacketEncodeError::Property { name: "Topic Alias" }),
        (with(Property::ContentType("a\0".to_owned())), PacketEncodeError::NullCharacter),
        (
            with(Property::CorrelationData(vec![0; 65_536])),
            PacketEncodeError::ValueTooLong { octets: 65_536 },
        ),
        (MqttPacket::Publish(publish("\0", Qos::AtMostOnce, 0)), PacketEncodeError::NullCharacter),
    ] {
        let mut out = Vec::new();
        assert_eq!((packet.encode(ALL, &mut out), out.len()), (Err(error), 0));
    }
    let twice = Properties::new().with(Property::TopicAlias(1)).with(Property::TopicAlias(1));
    let packet = MqttPacket::Publish(PublishPacket { properties: twice, ..publish("a", Qos::AtMostOnce, 0) });
    assert!(packet.encode(ALL, &mut Vec::new()).is_err());
}

#[test]
fn a_password_is_not_shown() {
    let packet = ConnectPacket { password: Some(b"hunter2".to_vec()), ..ConnectPacket::default() };
    assert!(!format!("{packet:?}").contains("hunter2") && !format!("{packet:?}").contains("104"));
}

fn text() -> impl Strategy<Value = String> {
    "[a-zåß漢\u{1F514} /]{0,12}"
}

fn name() -> impl Strategy<Value = String> {
    "[a-zå]{1,6}(/[a-z0-9]{0,5}){0,3}"
}

fn publish_property() -> impl Strategy<Value = Property> {
    prop_oneof![
        any::<u32>().prop_map(Property::MessageExpiryInterval),
        text().prop_map(Property::ContentType),
        name().prop_map(Property::ResponseTopic),
        proptest::collection::vec(any::<u8>(), 0..20).prop_map(Property::CorrelationData),
        (0..2u8).prop_map(Property::PayloadFormatIndicator),
        (1..=VARIABLE_BYTE_INTEGER_MAX)
            .prop_map(|value| Property::SubscriptionIdentifier(VariableByteInteger(value))),
        (text(), text()).prop_map(Property::UserProperty),
        (1..u16::MAX).prop_map(Property::TopicAlias),
    ]
}

/// Each at most once, but those that may repeat.
fn publish_properties() -> impl Strategy<Value = Properties> {
    proptest::collection::vec(publish_property(), 0..8).prop_map(|properties| {
        let mut seen = std::collections::HashSet::new();
        let repeats = |property: &Property| matches!(property.id(), 0x0B | 0x26);
        properties.into_iter().filter(|property| repeats(property) || seen.insert(property.id())).collect()
    })
}

fn any_publish() -> impl Strategy<Value = MqttPacket> {
    let payload = proptest::collection::vec(any::<u8>(), 0..300);
    (0..2u8, any::<bool>(), name(), 1..u16::MAX, publish_properties(), payload).prop_map(
        |(qos, retain, topic, id, properties, payload)| {
            let qos = Qos::of(qos).unwrap();
            let packet_id = if qos == Qos::AtMostOnce { 0 } else { id };
            let dup = qos != Qos::AtMostOnce && id % 2 == 0;
            MqttPacket::Publish(PublishPacket { dup, qos, retain, topic, packet_id, properties, payload })
        },
    )
}

proptest! {
    #[test]
    fn a_message_that_is_written_is_read_as_it_was(packet in any_publish(), cut in 1usize..50) {
        let octets = encoded(&packet);
        let mut buffer = PacketBuffer::new(ALL);
        let mut found = None;
        for piece in octets.chunks(cut) {
            prop_assert_eq!(&found, &None);
            buffer.push(piece);
            found = buffer.next_packet().unwrap();
        }
        prop_assert_eq!(found, Some(packet));
    }

    #[test]
    fn any_octets_are_read_or_refused_and_what_is_read_is_written_and_read_the_same(
        first in any::<u8>(),
        body in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        if let Ok(packet) = MqttPacket::decode(first, &body) {
            let octets = encoded(&packet);
            prop_assert_eq!(read(&octets).unwrap(), Some(packet));
        }
    }

    #[test]
    fn a_packet_changed_in_one_octet_never_panics(
        packet in any_publish(),
        place in any::<prop::sample::Index>(),
        to in any::<u8>(),
    ) {
        let mut octets = encoded(&packet);
        let place = place.index(octets.len());
        octets[place] = to;
        let _ = read(&octets);
    }
}
