//! Any octets of a server, cut anywhere: every message of QoS 1 ends once, the end is told once, and nothing
//! follows it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mqtt::client::{MqttClient, MqttClientEvent, MqttClientOptions, MqttMessage};
use mqtt::packet::Qos;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

fuzz_target!(|bytes: &[u8]| {
    let Some((&[choices, cut], rest)) = bytes.split_first_chunk::<2>() else { return };
    let mut now = Instant::now();
    let mut client = MqttClient::new(MqttClientOptions::default(), now).expect("options with a form");
    if choices & 1 != 0 {
        // The connection is there, so that the fuzzer need not find out how.
        client.handle_input(now, b"\x20\x03\0\0\0");
    }
    let (mut next, mut open, mut is_closed) = (0, BTreeSet::new(), false);
    for piece in rest.chunks(1 + usize::from(cut)) {
        now += Duration::from_secs(u64::from(choices >> 4));
        client.handle_timeout(now);
        client.handle_input(now, piece);
        while let Some(event) = client.poll_event() {
            assert!(!is_closed, "nothing follows the end");
            match event {
                MqttClientEvent::Acknowledged { token, .. } | MqttClientEvent::Lost { token, .. } => {
                    assert!(open.remove(&token));
                }
                MqttClientEvent::Message(packet) => {
                    assert!(packet.qos != Qos::ExactlyOnce && !packet.topic.is_empty());
                    client.acknowledge(now, packet.packet_id, mqtt::MqttReason::SUCCESS);
                }
                MqttClientEvent::Closed(_) => is_closed = true,
                _ => {}
            }
        }
        if client.room() > 0 {
            let message =
                MqttMessage { token: next, qos: Qos::AtLeastOnce, topic: "t".to_owned(), ..MqttMessage::default() };
            if client.publish(now, message).is_ok() {
                open.insert(next);
                next += 1;
            }
        }
        client.poll_transmit(&mut Vec::new());
    }
    client.handle_eof(now);
    while let Some(event) = client.poll_event() {
        if let MqttClientEvent::Acknowledged { token, .. } | MqttClientEvent::Lost { token, .. } = event {
            assert!(open.remove(&token));
        }
    }
    assert!(open.is_empty() && client.is_finished());
});
