use super::*;
use crate::chance::Delay;
use mqtt::client::{MqttClient, MqttClientEvent, MqttClientOptions, MqttMessage};
use mqtt::packet::{Qos, TopicSubscription};
use mqtt::{MqttReason, Properties, Property};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A client over a real socket.
struct Wire {
    client: MqttClient,
    stream: TcpStream,
}

impl Wire {
    async fn connect(broker: &Broker, client_id: &str) -> Wire {
        let options = MqttClientOptions { client_id: client_id.to_owned(), ..MqttClientOptions::default() };
        let mut wire = Wire::open(broker, options).await;
        assert!(matches!(wire.next().await, MqttClientEvent::Connected(_)));
        wire
    }

    async fn open(broker: &Broker, options: MqttClientOptions) -> Wire {
        let stream = TcpStream::connect(broker.address()).await.unwrap();
        Wire { client: MqttClient::new(options, Instant::now()).unwrap(), stream }
    }

    async fn next(&mut self) -> MqttClientEvent {
        loop {
            let mut out = Vec::new();
            self.client.poll_transmit(&mut out);
            self.stream.write_all(&out).await.unwrap();
            if let Some(event) = self.client.poll_event() {
                if let MqttClientEvent::Message(packet) = &event {
                    self.client.acknowledge(Instant::now(), packet.packet_id, MqttReason::SUCCESS);
                }
                return event;
            }
            let mut octets = [0; 4_096];
            let read = self.stream.read(&mut octets).await.unwrap();
            match read {
                0 => self.client.handle_eof(Instant::now()),
                read => self.client.handle_input(Instant::now(), &octets[..read]),
            }
        }
    }

    async fn subscribe(&mut self, filter: &str) {
        let wanted = TopicSubscription {
            filter: filter.to_owned(),
            qos: Qos::AtLeastOnce,
            ..TopicSubscription::default()
        };
        self.client.subscribe(Instant::now(), vec![wanted]).unwrap();
        let MqttClientEvent::Subscribed { reasons, .. } = self.next().await else { panic!("no answer") };
        assert_eq!(reasons, [MqttReason::GRANTED_QOS_1]);
    }

    /// Publishes, and waits for the acknowledgement.
    async fn publish(&mut self, message: MqttMessage) -> MqttReason {
        self.client.publish(Instant::now(), message).unwrap();
        loop {
            if let MqttClientEvent::Acknowledged { reason, .. } = self.next().await {
                return reason;
            }
        }
    }

    async fn message(&mut self) -> PublishPacket {
        loop {
            if let MqttClientEvent::Message(packet) = self.next().await {
                return packet;
            }
        }
    }
}

fn message(topic: &str, payload: &str) -> MqttMessage {
    MqttMessage {
        qos: Qos::AtLeastOnce,
        topic: topic.to_owned(),
        payload: payload.as_bytes().to_vec(),
        ..MqttMessage::default()
    }
}

#[tokio::test]
async fn a_message_comes_to_who_subscribes_and_one_to_nobody_is_told() {
    let broker = Broker::start(BrokerOptions::default()).await.unwrap();
    let (mut one, mut other) = (Wire::connect(&broker, "one").await, Wire::connect(&broker, "other").await);
    other.subscribe("sirens/+").await;
    assert_eq!(one.publish(message("sirens/7", "on")).await, MqttReason::SUCCESS);
    let packet = other.message().await;
    assert_eq!((packet.topic.as_str(), &*packet.payload, packet.retain), ("sirens/7", &b"on"[..], false));
    assert_eq!(one.publish(message("signs/7", "on")).await, MqttReason::NO_MATCHING_SUBSCRIBERS);
    let stats = broker.stats();
    assert_eq!((stats.accepted, stats.unheard, stats.sessions), (2, 1, 2));
}

#[tokio::test]
async fn a_retained_message_waits_for_who_subscribes_until_it_is_emptied_or_expires() {
    let broker = Broker::start(BrokerOptions::default()).await.unwrap();
    let mut one = Wire::connect(&broker, "one").await;
    let expiry = Properties::new().with(Property::MessageExpiryInterval(100));
    let retained = MqttMessage { retain: true, properties: expiry, ..message("a", "on") };
    one.publish(retained.clone()).await;
    let mut late = Wire::connect(&broker, "late").await;
    late.subscribe("a").await;
    let packet = late.message().await;
    assert!(packet.retain && packet.properties.message_expiry_interval().is_some_and(|left| left <= 100));
    one.publish(MqttMessage { payload: Vec::new(), ..retained.clone() }).await;
    assert_eq!((broker.retained("a"), broker.stats().retained), (None, 0));
    let past = Properties::new().with(Property::MessageExpiryInterval(0));
    one.publish(MqttMessage { properties: past, ..retained }).await;
    assert_eq!(broker.retained("a"), None);
}

#[tokio::test]
async fn a_simulated_device_confirms_and_answers_with_the_correlation_data() {
    let mut habits = crate::town::Habits::answering(1);
    (habits.choices, habits.free_text) = (vec!["1".to_owned()], 0.0);
    habits.answer_after = Delay::NONE;
    let options = BrokerOptions {
        devices: Some("sirens/#".to_owned()),
        people: Some(habits),
        ..BrokerOptions::default()
    };
    let broker = Broker::start(options).await.unwrap();
    let mut one = Wire::connect(&broker, "one").await;
    one.subscribe("answers").await;
    let properties = Properties::new()
        .with(Property::ResponseTopic("answers".to_owned()))
        .with(Property::CorrelationData(b"tag".to_vec()));
    one.client
        .publish(Instant::now(), MqttMessage { properties, ..message("sirens/7", "{\"id\":\"a/1\"}") })
        .unwrap();
    let mut said = Vec::new();
    for _ in 0..2 {
        let packet = one.message().await;
        assert_eq!(packet.properties.correlation_data(), Some(&b"tag"[..]));
        said.push(String::from_utf8(packet.payload).unwrap());
    }
    assert_eq!(said, ["{\"state\":\"delivered\"}", "{\"answer\":\"1\"}"]);
    assert_eq!(broker.messages(9)[0].id(), "a/1");
}

#[tokio::test]
async fn a_second_client_of_one_name_takes_the_first_ones_place() {
    let broker = Broker::start(BrokerOptions::default()).await.unwrap();
    let mut first = Wire::connect(&broker, "same").await;
    let _second = Wire::connect(&broker, "same").await;
    let MqttClientEvent::Closed(end) = first.next().await else { panic!("still there") };
    assert_eq!(end.reason, Some(MqttReason::SESSION_TAKEN_OVER));
}

#[tokio::test]
async fn a_login_is_asked_for_and_refusals_have_their_reason() {
    let login = BrokerLogin { username: "u".to_owned(), password: "p".to_owned() };
    let options = BrokerOptions {
        login: Some(login),
        refused: 1.0,
        refused_with: MqttReason::NOT_AUTHORIZED.0,
        ..BrokerOptions::default()
    };
    let broker = Broker::start(options).await.unwrap();
    let mut stranger = Wire::open(&broker, MqttClientOptions::default()).await;
    let MqttClientEvent::Closed(end) = stranger.next().await else { panic!("let in") };
    assert_eq!(end.reason, Some(MqttReason::BAD_USER_NAME_OR_PASSWORD));
    let options = MqttClientOptions {
        username: Some("u".to_owned()),
        password: Some(b"p".to_vec()),
        ..MqttClientOptions::default()
    };
    let mut known = Wire::open(&broker, options).await;
    assert!(
        matches!(known.next().await, MqttClientEvent::Connected(limits) if limits.assigned_client_id.is_some())
    );
    assert_eq!(known.publish(message("a", "on")).await, MqttReason::NOT_AUTHORIZED);
    assert_eq!(broker.stats().refused["87"], 1);
}

#[tokio::test]
async fn each_message_of_a_shared_subscription_comes_to_one_of_its_clients() {
    let broker = Broker::start(BrokerOptions::default()).await.unwrap();
    let mut members = Vec::new();
    for name in ["m1", "m2"] {
        let mut member = Wire::connect(&broker, name).await;
        member.subscribe("$share/group/a").await;
        members.push(member);
    }
    let mut one = Wire::connect(&broker, "one").await;
    for number in 0..4 {
        one.publish(message("a", &number.to_string())).await;
    }
    let mut payloads = Vec::new();
    for member in &mut members {
        for _ in 0..2 {
            payloads.push(String::from_utf8(member.message().await.payload).unwrap());
        }
        let more = tokio::time::timeout(Duration::ZERO, member.message()).await;
        assert!(more.is_err(), "{more:?}");
    }
    payloads.sort();
    assert_eq!(payloads, ["0", "1", "2", "3"]);
}
