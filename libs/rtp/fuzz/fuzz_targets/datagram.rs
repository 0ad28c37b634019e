//! Any octets as a datagram of RTP, RTCP or SRTP, as events, as a crypto attribute and as a WAV file: they
//! are read or refused, what is read is written as it was, and nothing grows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtp::FRAME;
use rtp::call::{CALL_EVENTS_MAX, CALL_PACKET_OCTETS_MAX, CallAudio, CallAudioOptions, CallSrtpKeys};
use rtp::events::{EVENTS_WAITING_MAX, EventReceiver};
use rtp::packet::RtpPacket;
use rtp::rtcp::RtcpCompound;
use rtp::srtp::{SdesCrypto, SrtpMasterKey, SrtpReceiver, SrtpSuite};
use rtp::wav::WavSound;
use std::time::Instant;

fuzz_target!(|octets: &[u8]| {
    let Some((&choice, rest)) = octets.split_first() else { return };
    match choice % 6 {
        0 => packet(rest),
        1 => call(choice, rest),
        2 => events(rest),
        3 => protected(rest),
        4 => attribute(rest),
        _ => wav(rest),
    }
});

fn packet(octets: &[u8]) {
    if let Ok(packet) = RtpPacket::parse(octets) {
        let mut out = vec![0; packet.octets()];
        assert_eq!(packet.write(&mut out), Ok(octets.len()));
        assert_eq!(RtpPacket::parse(&out), Ok(packet));
    }
    if let Ok(compound) = RtcpCompound::parse(octets) {
        assert!(compound.packets().count() <= octets.len() / 4);
    }
}

/// Datagrams of up to 255 octets, each behind its length, a tick apart.
fn call(choice: u8, octets: &[u8]) {
    let mut now = Instant::now();
    let key = || SrtpMasterKey::new(SrtpSuite::Aes128Sha1Tag32, &[0; 30]).expect("30 octets");
    let options = CallAudioOptions {
        event_payload_type: (choice & 0x80 != 0).then_some(101),
        srtp: (choice & 0x40 != 0).then(|| CallSrtpKeys { sent: key(), received: key() }),
        ..CallAudioOptions::default()
    };
    let mut call = CallAudio::new(options, now);
    let mut rest = octets;
    let mut events = 0;
    while let Some((&length, behind)) = rest.split_first() {
        let (datagram, behind) = behind.split_at(behind.len().min(usize::from(length)));
        rest = behind;
        let _ = call.handle_packet(now, &mut datagram.to_vec());
        let mut out = [0; CALL_PACKET_OCTETS_MAX];
        assert!(call.tick(now, &mut out).is_ok());
        now += FRAME;
    }
    while call.poll_event().is_some() {
        events += 1;
    }
    assert!(events <= CALL_EVENTS_MAX);
}

fn events(octets: &[u8]) {
    let (mut receiver, mut now) = (EventReceiver::new(), Instant::now());
    for chunk in octets.chunks(13) {
        let Some((&[a, b, c, d, flags], payload)) = chunk.split_first_chunk() else { return };
        receiver.handle_packet(now, u32::from_be_bytes([a, b, c, d]), flags & 1 != 0, payload);
        now += FRAME * u32::from(flags >> 1);
        receiver.handle_timeout(now);
        if flags & 2 != 0 {
            receiver.poll_event();
        }
    }
    receiver.restart();
    let mut waiting = 0;
    while receiver.poll_event().is_some() {
        waiting += 1;
    }
    assert!(waiting <= EVENTS_WAITING_MAX);
}

fn protected(octets: &[u8]) {
    let key = SrtpMasterKey::new(SrtpSuite::Aes256Sha1Tag32, &[0; 46]).expect("46 octets");
    let mut receiver = SrtpReceiver::new(&key);
    // A tag of 32 bits may be hit by chance, one of 80 is not.
    let mut copy = octets.to_vec();
    if receiver.unprotect(&mut copy).is_err() {
        assert_eq!(copy, octets, "a packet that is refused stays as it is");
    }
    assert!(receiver.unprotect_rtcp(&mut copy).is_err());
}

fn attribute(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    if let Ok(crypto) = SdesCrypto::parse(text) {
        assert_eq!(SdesCrypto::parse(&crypto.to_string()), Ok(crypto));
    }
}

fn wav(octets: &[u8]) {
    if let Ok(sound) = WavSound::read(octets) {
        assert!(sound.for_telephone().len() <= sound.samples().len());
        let mut file = Vec::new();
        sound.write(&mut file);
        assert_eq!(WavSound::read(&file), Ok(sound));
    }
}
