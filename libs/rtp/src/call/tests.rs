use super::*;
use crate::FRAME;
use crate::playout::EncodedSound;
use crate::srtp::SrtpSuite;
use crate::tests::{Draw, sine, speech};
use std::sync::Arc;

/// Two ends over a wire that loses, delays and repeats packets.
struct Pair {
    ends: [CallAudio; 2],
    now: Instant,
    tick: u32,
    draw: Draw,
    /// Packets on their way to an end: tick of arrival, octets.
    wires: [Vec<(u32, Vec<u8>)>; 2],
    heard: [Vec<CallAudioEvent>; 2],
    /// One packet of so many is lost; 0: none. Each comes up to so many ticks late.
    loss: u64,
    delay: u64,
}

fn srtp_keys(suite: SrtpSuite) -> [CallSrtpKeys; 2] {
    let key = |octet| SrtpMasterKey::new(suite, &vec![octet; suite.key_and_salt_octets()]).unwrap();
    let keys = |sent, received| CallSrtpKeys { sent: key(sent), received: key(received) };
    [keys(1, 2), keys(2, 1)]
}

impl Pair {
    fn new(event_payload_type: Option<u8>, srtp: Option<SrtpSuite>, seed: u64) -> Pair {
        let now = Instant::now();
        let mut draw = Draw(seed);
        let keys = srtp.map(srtp_keys);
        let ends = [0, 1].map(|end| {
            let options = CallAudioOptions {
                event_payload_type,
                ssrc: draw.next() as u32,
                sequence: draw.next() as u16,
                timestamp: draw.next() as u32,
                srtp: keys.as_ref().map(|keys| keys[end].clone()),
                ..CallAudioOptions::default()
            };
            CallAudio::new(options, now)
        });
        let wires = [Vec::new(), Vec::new()];
        Pair { ends, now, tick: 0, draw, wires, heard: [Vec::new(), Vec::new()], loss: 0, delay: 1 }
    }

    fn run(&mut self, ticks: u32) {
        for _ in 0..ticks {
            for end in 0..2 {
                let due = |packet: &(u32, Vec<u8>)| packet.0 <= self.tick;
                for (_, mut packet) in
                    self.wires[end].extract_if(.., |packet| due(packet)).collect::<Vec<_>>()
                {
                    let result = self.ends[end].handle_packet(self.now, &mut packet);
                    assert!(
                        matches!(result, Ok(()) | Err(CallAudioError::Srtp(SrtpError::Replayed))),
                        "{result:?}"
                    );
                }
                let mut out = [0; CALL_PACKET_OCTETS_MAX];
                if let Some(octets) = self.ends[end].tick(self.now, &mut out).unwrap() {
                    self.send(1 - end, out[..octets].to_vec());
                }
                while let Some(event) = self.ends[end].poll_event() {
                    self.heard[end].push(event);
                }
            }
            self.tick += 1;
            self.now += FRAME;
        }
    }

    fn send(&mut self, to: usize, packet: Vec<u8>) {
        if self.loss > 0 && self.tick > 5 && self.draw.below(self.loss) == 0 {
            return;
        }
        let copies = 1 + u64::from(self.loss > 0 && self.draw.below(10) == 0);
        for _ in 0..copies {
            let at = self.tick + self.draw.below(self.delay) as u32;
            self.wires[to].push((at, packet.clone()));
        }
    }

    /// Keys that an end heard.
    fn keys(&self, end: usize) -> String {
        let keys = self.heard[end].iter().filter_map(|event| match event {
            CallAudioEvent::Key(key) => Some(key.char()),
            _ => None,
        });
        keys.collect()
    }

    /// The person at end 0 presses a key, and waits.
    fn press(&mut self, sign: char) {
        self.ends[0].press(DtmfKey::from_char(sign).unwrap(), Duration::from_millis(100)).unwrap();
        self.run(20);
    }
}

#[test]
fn keys_arrive_once_each_by_events_and_by_sound_with_and_without_srtp() {
    for event_payload_type in [Some(101), None] {
        for srtp in [None, Some(SrtpSuite::Aes128Sha1Tag80), Some(SrtpSuite::Aes256Sha1Tag32)] {
            let mut pair = Pair::new(event_payload_type, srtp, 1);
            "1590*#D".chars().for_each(|sign| pair.press(sign));
            assert_eq!(pair.keys(1), "1590*#D", "{event_payload_type:?} {srtp:?}");
            assert_eq!(pair.keys(0), "");
        }
    }
}

#[test]
fn keys_by_events_arrive_once_each_over_a_wire_that_loses_delays_and_repeats() {
    for seed in cases::seeds(30) {
        let mut pair = Pair::new(Some(96), Some(SrtpSuite::Aes128Sha1Tag32), seed);
        (pair.loss, pair.delay) = (20, 4);
        "0123456789".chars().for_each(|sign| pair.press(sign));
        assert_eq!(pair.keys(1), "0123456789", "seed {seed}");
    }
}

#[test]
fn a_message_is_played_after_the_first_words_and_heard_as_it_was() {
    let mut pair = Pair::new(Some(101), None, 7);
    pair.run(60);
    assert_eq!(pair.heard[0], [CallAudioEvent::FirstWords(FirstWordsEnd::Silence)]);
    let sound = Arc::new(EncodedSound::new(G711Law::A, &sine(1_000.0, -12.0, 3_200)));
    pair.ends[0].playout().push(Arc::clone(&sound)).unwrap();
    pair.ends[0].playout().push_pause(Duration::from_millis(100)).unwrap();
    pair.run(60);
    assert_eq!(pair.heard[0][1..], [CallAudioEvent::Played]);
    let beeps: Vec<_> =
        pair.heard[1].iter().filter(|event| matches!(event, CallAudioEvent::Beep(_))).collect();
    let [CallAudioEvent::Beep(beep)] = beeps[..] else { panic!("{:?}", pair.heard[1]) };
    assert!(beep.frequency.abs_diff(1_000) < 5 && beep.duration == Duration::from_millis(400), "{beep:?}");
    assert_eq!(Arc::strong_count(&sound), 1, "the call let go of what it has played");
}

#[test]
fn a_machine_that_speaks_for_long_is_told_once_and_the_message_begins_after_two_seconds() {
    let mut pair = Pair::new(Some(101), None, 8);
    let greeting = EncodedSound::new(G711Law::A, &speech(&mut Draw(4), 8));
    pair.ends[0].playout().push(Arc::new(greeting)).unwrap();
    pair.run(420);
    let told = &pair.heard[1];
    assert_eq!(told.iter().filter(|event| **event == CallAudioEvent::LongSpeech).count(), 1, "{told:?}");
    assert!(matches!(told[0], CallAudioEvent::FirstWords(_)), "{told:?}");
}

#[test]
fn a_call_on_hold_sends_nothing_and_plays_on_after_it() {
    let mut pair = Pair::new(Some(101), None, 9);
    pair.ends[0].playout().push_pause(FRAME * 10).unwrap();
    pair.ends[0].set_sending(false);
    pair.run(30);
    assert_eq!(pair.ends[1].receiver().packets(), 0);
    pair.ends[0].set_sending(true);
    pair.run(12);
    assert!(pair.heard[0].contains(&CallAudioEvent::Played));
    assert_eq!(pair.ends[1].receiver().packets(), 12);
}

#[test]
fn reports_are_due_every_few_seconds_and_tell_loss_and_the_end() {
    let suite = SrtpSuite::Aes128Sha1Tag80;
    let mut pair = Pair::new(Some(101), Some(suite), 10);
    pair.loss = 10;
    let mut out = [0; CALL_REPORT_OCTETS_MAX];
    let wall = NtpTimestamp::from_unix(Duration::from_secs(1_800_000_000));
    assert_eq!(pair.ends[1].report(pair.now, wall, 0, &mut out), Ok(None));
    pair.run(500);
    let octets = pair.ends[1].report(pair.now, wall, 0, &mut out).unwrap().unwrap();
    assert!(pair.ends[1].next_report() > pair.now + Duration::from_secs(2));
    assert_eq!(pair.ends[0].handle_packet(pair.now, &mut out[..octets]), Ok(()), "on one port with RTP");
    assert!(pair.ends[1].receiver().lost() > 10);
    let octets = pair.ends[1].bye(pair.now, wall, &mut out).unwrap();
    pair.ends[0].handle_rtcp(pair.now, &mut out[..octets]).unwrap();
    assert_eq!(pair.ends[0].poll_event(), Some(CallAudioEvent::Bye));
    // The report that follows gives back the time of the sender report.
    let octets = pair.ends[0].bye(pair.now, wall, &mut out).unwrap();
    let mut receiver = SrtpReceiver::new(&srtp_keys(suite)[1].received);
    let octets = receiver.unprotect_rtcp(&mut out[..octets]).unwrap();
    let compound = crate::rtcp::RtcpCompound::parse(&out[..octets]).unwrap();
    let Some(Ok(crate::rtcp::RtcpPacket::SenderReport { blocks, .. })) = compound.packets().next() else {
        panic!()
    };
    assert_eq!(blocks.iter().next().unwrap().last_sender_report, wall.middle());
}

#[test]
fn packets_that_are_not_to_be_taken_are_dropped_by_name() {
    let mut pair = Pair::new(None, None, 11);
    let now = pair.now;
    let mut packet = [0; 20];
    packet[0] = 0x80;
    let end = &mut pair.ends[0];
    packet[1] = 101;
    assert_eq!(end.handle_packet(now, &mut packet), Err(CallAudioError::PayloadType(101)));
    packet[1] = 13;
    assert_eq!(end.handle_packet(now, &mut packet), Ok(()), "comfort noise is silence");
    packet[2..4].copy_from_slice(&[0x40, 0]);
    assert_eq!(end.handle_packet(now, &mut packet), Err(CallAudioError::OutOfRange));
    assert!(matches!(end.handle_packet(now, &mut packet[..9]), Err(CallAudioError::Packet(_))));
    assert!(matches!(end.handle_packet(now, &mut [0x80, 200, 0, 9]), Err(CallAudioError::Rtcp(_))));
    let mut pair = Pair::new(None, Some(SrtpSuite::Aes128Sha1Tag80), 11);
    let mut clear = [0x80, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0xD5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let error = pair.ends[0].handle_packet(now, &mut clear);
    assert_eq!(error, Err(CallAudioError::Srtp(SrtpError::Authentication)));
}

#[test]
fn events_that_nobody_takes_are_bounded() {
    let mut pair = Pair::new(Some(101), None, 12);
    for _ in 0..CALL_EVENTS_MAX * 2 {
        pair.ends[0].press(DtmfKey::from_char('1').unwrap(), FRAME).unwrap();
        for _ in 0..6 {
            let mut out = [0; CALL_PACKET_OCTETS_MAX];
            let octets = pair.ends[0].tick(pair.now, &mut out).unwrap().unwrap();
            pair.ends[1].handle_packet(pair.now, &mut out[..octets]).unwrap();
            pair.ends[1].tick(pair.now, &mut out).unwrap();
            pair.now += FRAME;
        }
    }
    assert_eq!(std::iter::from_fn(|| pair.ends[1].poll_event()).count(), CALL_EVENTS_MAX);
}

#[test]
fn one_key_at_a_time_is_sent_as_an_event() {
    let mut pair = Pair::new(Some(101), None, 13);
    let key = DtmfKey::from_char('1').unwrap();
    pair.ends[0].press(key, FRAME).unwrap();
    assert_eq!(pair.ends[0].press(key, FRAME), Err(CallAudioError::KeyHeld));
}
