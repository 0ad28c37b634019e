//! Any octets of a client, cut anywhere: CONNECT first, never QoS 2, never over the Receive Maximum, and
//! nothing follows the end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mqtt::MqttReason;
use mqtt::packet::Qos;
use mqtt::server::{MqttServer, MqttServerEvent, MqttServerOptions};
use std::time::{Duration, Instant};

fuzz_target!(|bytes: &[u8]| {
    let Some((&[choices, cut], rest)) = bytes.split_first_chunk::<2>() else { return };
    let mut now = Instant::now();
    let options = MqttServerOptions {
        receive_maximum: 3,
        packet_octets_max: 5_000,
        retains: choices & 2 != 0,
        ..MqttServerOptions::default()
    };
    let mut server = MqttServer::new(options, now);
    if choices & 1 != 0 {
        server.handle_input(now, b"\x10\x0D\0\x04MQTT\x05\x02\0\0\0\0\0");
    }
    let (mut is_asked, mut is_closed, mut waiting) = (false, false, 0);
    for piece in rest.chunks(1 + usize::from(cut)) {
        now += Duration::from_secs(u64::from(choices >> 4));
        server.handle_timeout(now);
        server.handle_input(now, piece);
        while let Some(event) = server.poll_event() {
            assert!(!is_closed, "nothing follows the end");
            match event {
                MqttServerEvent::Connect(_) => {
                    assert!(!std::mem::replace(&mut is_asked, true));
                    server.accept(now, None);
                }
                MqttServerEvent::Publish(packet) => {
                    assert!(is_asked && packet.qos != Qos::ExactlyOnce);
                    assert!(choices & 2 != 0 || !packet.retain);
                    waiting += 1;
                    if choices & 4 != 0 {
                        server.acknowledge(now, packet.packet_id, MqttReason::SUCCESS, None);
                    }
                }
                MqttServerEvent::Subscribe(packet) => {
                    let reasons = vec![MqttReason::SUCCESS; packet.subscriptions.len()];
                    server.grant(packet.packet_id, reasons);
                }
                MqttServerEvent::Closed(_) => is_closed = true,
                _ => {}
            }
        }
        server.poll_transmit(&mut Vec::new());
    }
    server.handle_eof();
    assert!(server.is_finished() && (waiting == 0 || is_asked));
});
