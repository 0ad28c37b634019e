//! Two machines on a virtual wire that cuts octets anywhere and breaks at any moment, by a seed.

use crate::client::{MqttClient, MqttClientEvent, MqttClientOptions, MqttMessage};
use crate::packet::{PublishPacket, Qos, TopicSubscription};
use crate::server::{MqttServer, MqttServerEvent, MqttServerOptions};
use crate::{MqttReason, Properties, Property};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((value ^ (value >> 31)) % most as u64) as usize
    }
}

/// One connection.
struct Pair {
    client: MqttClient,
    server: MqttServer,
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    now: Instant,
}

/// What the test knows of all connections together.
#[derive(Default)]
struct World {
    /// To be published, acknowledged, and seen by the server.
    waiting: Vec<u64>,
    acknowledged: BTreeSet<u64>,
    seen: BTreeSet<u64>,
    /// Seen by the server of this connection.
    seen_here: BTreeSet<u64>,
    /// Answers that came to the client.
    answers: BTreeSet<u64>,
    connections: usize,
}

const MESSAGES: u64 = 200;
const RECEIVE_MAXIMUM: u16 = 7;

impl Pair {
    fn new(now: Instant) -> Pair {
        let options = MqttClientOptions { receive_maximum: 3, ..MqttClientOptions::default() };
        let limits = MqttServerOptions { receive_maximum: RECEIVE_MAXIMUM, ..MqttServerOptions::default() };
        Pair {
            client: MqttClient::new(options, now).unwrap(),
            server: MqttServer::new(limits, now),
            to_server: Vec::new(),
            to_client: Vec::new(),
            now,
        }
    }

    /// Carries a piece of either direction.
    fn carry(&mut self, chance: &mut Chance) {
        self.client.poll_transmit(&mut self.to_server);
        self.server.poll_transmit(&mut self.to_client);
        if !self.to_server.is_empty() && chance.below(2) == 0 {
            let piece: Vec<u8> = self.to_server.drain(..1 + chance.below(self.to_server.len())).collect();
            self.server.handle_input(self.now, &piece);
        }
        if !self.to_client.is_empty() && chance.below(2) == 0 {
            let piece: Vec<u8> = self.to_client.drain(..1 + chance.below(self.to_client.len())).collect();
            self.client.handle_input(self.now, &piece);
        }
        self.now += Duration::from_millis(chance.below(20) as u64);
        self.client.handle_timeout(self.now);
        self.server.handle_timeout(self.now);
    }

    fn serve(&mut self, world: &mut World) {
        while let Some(event) = self.server.poll_event() {
            match event {
                MqttServerEvent::Connect(_) => self.server.accept(self.now, Some("given".to_owned())),
                MqttServerEvent::Subscribe(packet) => {
                    self.server.grant(packet.packet_id, vec![MqttReason::GRANTED_QOS_1]);
                }
                MqttServerEvent::Publish(packet) => {
                    world.seen.insert(number(&packet));
                    world.seen_here.insert(number(&packet));
                    self.server.acknowledge(self.now, packet.packet_id, MqttReason::SUCCESS, None);
                    // The device answers.
                    let answer = PublishPacket {
                        qos: Qos::AtLeastOnce,
                        topic: packet.properties.response_topic().unwrap().to_owned(),
                        payload: packet.payload,
                        ..PublishPacket::default()
                    };
                    let _ = self.server.publish(self.now, 0, answer).unwrap();
                }
                MqttServerEvent::Closed(end) => assert_ne!(end.by, crate::ClosedBy::Misbehaviour, "{end:?}"),
                _ => {}
            }
        }
    }

    fn use_client(&mut self, world: &mut World, chance: &mut Chance) {
        while let Some(event) = self.client.poll_event() {
            match event {
                MqttClientEvent::Connected(limits) => {
                    assert_eq!(limits.receive_maximum, RECEIVE_MAXIMUM);
                    let filter = "answers/#".to_owned();
                    let wanted = TopicSubscription { filter, qos: Qos::AtLeastOnce, ..Default::default() };
                    self.client.subscribe(self.now, vec![wanted]).unwrap();
                }
                MqttClientEvent::Acknowledged { token, .. } => {
                    assert!(world.seen.contains(&token), "nothing is acknowledged that did not come");
                    assert!(world.acknowledged.insert(token), "{token} ended twice");
                }
                MqttClientEvent::Lost { token, written } => {
                    let came = world.seen_here.contains(&token);
                    assert!(written || !came, "{token} came and was not written");
                    world.waiting.push(token);
                }
                MqttClientEvent::Message(packet) => {
                    world.answers.insert(number(&packet));
                    self.client.acknowledge(self.now, packet.packet_id, MqttReason::SUCCESS);
                }
                MqttClientEvent::Closed(end) => assert_ne!(end.by, crate::ClosedBy::Misbehaviour, "{end:?}"),
                MqttClientEvent::Subscribed { .. } => {}
            }
        }
        while self.client.room() > 0 && chance.below(3) > 0 {
            let Some(token) = world.waiting.pop() else { break };
            self.client.publish(self.now, message(token)).unwrap();
            assert!(self.client.in_flight() <= usize::from(RECEIVE_MAXIMUM));
        }
    }
}

fn message(token: u64) -> MqttMessage {
    MqttMessage {
        token,
        qos: Qos::AtLeastOnce,
        topic: format!("sirens/{}", token % 5),
        properties: Properties::new().with(Property::ResponseTopic("answers/1".to_owned())),
        payload: token.to_string().into_bytes(),
        ..MqttMessage::default()
    }
}

fn number(packet: &PublishPacket) -> u64 {
    std::str::from_utf8(&packet.payload).unwrap().parse().unwrap()
}

fn run(seed: u64) {
    let mut chance = Chance(seed);
    let mut world = World { waiting: (0..MESSAGES).collect(), ..World::default() };
    let mut now = Instant::now();
    while world.acknowledged.len() < MESSAGES as usize {
        world.connections += 1;
        assert!(world.connections < 1_000, "seed {seed}: no end");
        world.seen_here.clear();
        let mut pair = Pair::new(now);
        let resets_at = 20 + chance.below(400);
        for turn in 0.. {
            pair.carry(&mut chance);
            pair.serve(&mut world);
            pair.use_client(&mut world, &mut chance);
            if turn == resets_at || world.acknowledged.len() == MESSAGES as usize {
                break;
            }
        }
        pair.client.handle_eof(pair.now);
        pair.server.handle_eof();
        pair.serve(&mut world);
        pair.use_client(&mut world, &mut chance);
        now = pair.now;
    }
    assert_eq!(world.seen.len(), MESSAGES as usize, "seed {seed}");
    assert!(world.answers.is_subset(&world.seen) && !world.answers.is_empty(), "seed {seed}");
}

#[test]
fn every_message_ends_once_over_any_cuts_and_resets() {
    for seed in cases::seeds(60) {
        run(seed);
    }
}
