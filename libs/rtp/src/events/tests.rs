use super::*;
use crate::FRAME;
use crate::dtmf::DtmfKey;
use crate::tests::Draw;
use std::time::Instant;

fn payload(event: u8, is_end: bool, duration: u16) -> [u8; 4] {
    EventPayload { event, is_end, volume: 10, duration }.to_octets()
}

fn events(receiver: &mut EventReceiver) -> Vec<(u8, u64)> {
    std::iter::from_fn(|| receiver.poll_event())
        .map(|event| (event.event, u64::try_from(event.duration.as_millis()).unwrap()))
        .collect()
}

/// All packets of a key, as `(timestamp, marker, payload)`.
fn packets_of(event: u8, timestamp: u32, millis: u64) -> Vec<(u32, bool, [u8; 4])> {
    let mut sender = EventSender::new();
    assert!(sender.start(event, timestamp, Duration::from_millis(millis)));
    std::iter::from_fn(|| sender.tick())
        .map(|packet| (packet.timestamp, packet.marker, packet.payload))
        .collect()
}

#[test]
fn a_payload_has_the_layout_of_the_standard() {
    let event = EventPayload { event: 11, is_end: true, volume: 10, duration: 0x0320 };
    assert_eq!(event.to_octets(), [11, 0x8A, 3, 0x20]);
    assert_eq!(EventPayload::read_all(&[11, 0xCA, 3, 0x20, 9]).collect::<Vec<_>>(), [event]);
    assert_eq!(EventPayload { volume: 200, ..event }.to_octets()[1], 0x80 | 63);
    assert_eq!(EventPayload::read_all(&[0; 400]).count(), EVENTS_PER_PACKET_MAX);
}

#[test]
fn a_key_is_sent_as_updates_and_three_ends_of_one_timestamp() {
    let packets = packets_of(5, 1_000, 50);
    let expected: Vec<_> =
        [(true, false, 160), (false, false, 320), (false, true, 480), (false, true, 480), (false, true, 480)]
            .map(|(marker, is_end, duration)| (1_000, marker, payload(5, is_end, duration)))
            .to_vec();
    assert_eq!(packets, expected);
}

#[test]
fn only_one_event_is_sent_at_a_time_and_the_longest_has_8_seconds() {
    let mut sender = EventSender::new();
    assert!(sender.start(1, 0, Duration::from_secs(60)));
    assert!(!sender.start(2, 0, FRAME));
    let last = std::iter::from_fn(|| sender.tick()).last().unwrap();
    assert_eq!(last.payload, payload(1, true, EVENT_SAMPLES_MAX));
    assert!(!sender.is_sending());
}

#[test]
fn three_ends_tell_the_event_once() {
    let (mut receiver, now) = (EventReceiver::new(), Instant::now());
    for (at, (timestamp, marker, payload)) in packets_of(5, 1_000, 100).into_iter().enumerate() {
        receiver.handle_packet(now + FRAME * at as u32, timestamp, marker, &payload);
    }
    assert_eq!(events(&mut receiver), [(5, 100)]);
    receiver.handle_timeout(now + Duration::from_secs(3));
    assert_eq!(events(&mut receiver), []);
}

#[test]
fn an_event_whose_ends_are_lost_is_told_after_the_time_out_and_not_again_when_it_goes_on() {
    let (mut receiver, now) = (EventReceiver::new(), Instant::now());
    receiver.handle_packet(now, 0, true, &payload(3, false, 160));
    receiver.handle_timeout(now + EVENT_TIMEOUT - Duration::from_millis(1));
    assert_eq!(events(&mut receiver), []);
    receiver.handle_timeout(now + EVENT_TIMEOUT);
    assert_eq!(events(&mut receiver), [(3, 20)]);
    receiver.handle_packet(now + EVENT_TIMEOUT * 2, 0, false, &payload(3, true, 3_000));
    receiver.handle_timeout(now + EVENT_TIMEOUT * 9);
    assert_eq!(events(&mut receiver), []);
}

#[test]
fn the_same_key_twice_is_two_events() {
    let (mut receiver, now) = (EventReceiver::new(), Instant::now());
    for timestamp in [0, 4_000] {
        for (timestamp, marker, payload) in packets_of(7, timestamp, 60) {
            receiver.handle_packet(now, timestamp, marker, &payload);
        }
    }
    assert_eq!(events(&mut receiver), [(7, 60), (7, 60)]);
}

#[test]
fn a_later_event_ends_the_one_before() {
    let (mut receiver, now) = (EventReceiver::new(), Instant::now());
    receiver.handle_packet(now, 0, true, &payload(1, false, 320));
    receiver.handle_packet(now, 4_000, true, &payload(2, false, 160));
    assert_eq!(events(&mut receiver), [(1, 40)]);
    receiver.handle_packet(now, 4_000, false, &payload(2, true, 320));
    assert_eq!(events(&mut receiver), [(2, 40)]);
}

#[test]
fn an_overtaken_end_is_told_before_the_event_that_overtook_it() {
    let (mut receiver, now) = (EventReceiver::new(), Instant::now());
    receiver.handle_packet(now, 4_000, true, &payload(2, false, 160));
    receiver.handle_packet(now, 0, false, &payload(1, false, 320));
    receiver.handle_packet(now, 0, false, &payload(1, true, 320));
    receiver.handle_packet(now, 0, false, &payload(1, true, 320));
    receiver.handle_packet(now, 4_000, false, &payload(2, true, 320));
    receiver.handle_packet(now, 0, false, &payload(1, true, 320));
    assert_eq!(events(&mut receiver), [(1, 40), (2, 40)]);
}

#[test]
fn a_key_held_for_ten_seconds_comes_in_segments_and_is_one_event() {
    let (mut receiver, now) = (EventReceiver::new(), Instant::now());
    receiver.handle_packet(now, 0, true, &payload(4, false, 65_520));
    receiver.handle_packet(now, 65_535, false, &payload(4, false, 160));
    receiver.handle_packet(now, 65_535, false, &payload(4, true, 14_465));
    assert_eq!(events(&mut receiver), [(4, 10_000)]);
}

#[test]
fn several_events_of_one_packet_are_told_in_their_order() {
    let (mut receiver, now) = (EventReceiver::new(), Instant::now());
    let both = [payload(1, true, 400), payload(2, true, 800)].concat();
    receiver.handle_packet(now, 0, true, &both);
    receiver.handle_packet(now, 0, true, &both);
    assert_eq!(events(&mut receiver), [(1, 50), (2, 100)]);
}

#[test]
fn timestamps_that_begin_again_are_believed_after_a_restart_and_after_the_memory_ends() {
    let (mut receiver, now) = (EventReceiver::new(), Instant::now());
    receiver.handle_packet(now, 90_000, true, &payload(1, true, 400));
    receiver.handle_packet(now, 10, true, &payload(2, true, 400));
    assert_eq!(events(&mut receiver), [(1, 50)]);
    receiver.handle_packet(now + EVENT_MEMORY, 20, true, &payload(2, true, 400));
    assert_eq!(events(&mut receiver), [(2, 50)]);
    receiver.restart();
    receiver.handle_packet(now + EVENT_MEMORY, 5, true, &payload(3, true, 400));
    assert_eq!(events(&mut receiver), [(3, 50)]);
}

#[test]
fn events_that_nobody_takes_are_bounded() {
    let (mut receiver, now) = (EventReceiver::new(), Instant::now());
    for at in 0..100 {
        receiver.handle_packet(now, at * 1_000, true, &payload(1, true, 400));
    }
    assert!(events(&mut receiver).len() <= EVENTS_WAITING_MAX);
}

/// Each key has 6 packets; a burst of loss may take 2 in a row, so that one end at least comes or the
/// time-out does. Copies come up to 3 ticks late.
#[test]
fn loss_reordering_and_duplicates_lose_no_key_and_tell_none_twice() {
    for seed in cases::seeds(300) {
        let mut draw = Draw(seed);
        let now = Instant::now();
        let mut arrivals = Vec::new();
        let mut pressed = Vec::new();
        let (mut tick, base) = (0_u64, draw.next() as u32);
        for _ in 0..12 {
            let key = draw.below(16) as u8;
            pressed.push(key);
            let lost = draw.below(6);
            let packets = packets_of(key, base.wrapping_add(tick as u32 * 160), 60 + draw.below(100));
            for (at, packet) in packets.iter().enumerate() {
                for _ in 0..1 + draw.below(2) {
                    if at as u64 != lost && at as u64 != lost + 1 {
                        arrivals.push((tick + at as u64 + draw.below(4), packet.to_owned()));
                    }
                }
            }
            tick += packets.len() as u64 + 4 + draw.below(20);
        }
        arrivals.sort_by_key(|(tick, _)| *tick);
        let mut receiver = EventReceiver::new();
        let mut keys = Vec::new();
        for (tick, (timestamp, marker, payload)) in arrivals {
            let now = now + FRAME * tick as u32;
            receiver.handle_packet(now, timestamp, marker, &payload);
            receiver.handle_timeout(now);
            keys.extend(events(&mut receiver).into_iter().map(|(event, _)| event));
        }
        receiver.handle_timeout(now + Duration::from_secs(3_600));
        keys.extend(events(&mut receiver).into_iter().map(|(event, _)| event));
        assert_eq!(keys, pressed, "seed {seed}");
    }
}

#[test]
fn events_0_to_15_are_keys_and_others_are_not() {
    let event = TelephoneEvent { event: 10, duration: FRAME, volume: 0 };
    assert_eq!(event.key(), DtmfKey::from_char('*'));
    assert_eq!(TelephoneEvent { event: 16, ..event }.key(), None);
}
