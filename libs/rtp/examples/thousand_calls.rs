//! Example measures the cost of calls' sound on one thread: nanoseconds for a frame, and the part of a core
//! that so many calls take with a tick of 20 ms.
//!
//! `cargo run --profile perf -p rtp --example thousand_calls [calls] [seconds]`
//!
//! In memory: no socket, no system call. Each call plays the same message, encoded once. `send` only writes
//! packets; `both ways` also takes a packet of the peer in each tick and listens to it: silence, speech-like
//! noise, keys in the sound. The peer's packets are made beforehand. The time of each tick is taken as a
//! whole; the worst tick tells whether 20 ms would have been enough.

use rtp::call::{CALL_PACKET_OCTETS_MAX, CallAudio, CallAudioOptions, CallSrtpKeys};
use rtp::g711::G711Law;
use rtp::playout::EncodedSound;
use rtp::srtp::{SrtpMasterKey, SrtpSuite};
use rtp::{FRAME, FRAME_SAMPLES, SAMPLE_RATE};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Calls by default.
const CALLS: u32 = 1_000;
/// Seconds of sound by default.
const SECONDS: u32 = 10;
/// Payload type of telephone-events.
const EVENTS: u8 = 101;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().and_then(|word| word.parse().ok()).unwrap_or(default);
    let (calls, ticks) = (number(CALLS), number(SECONDS) * 50);
    println!("{calls} calls, {ticks} ticks of 20 ms, one thread");
    let silence = |_: u64| 0;
    let tones = |at: u64| {
        let turns = at as f64 / f64::from(SAMPLE_RATE) * std::f64::consts::TAU;
        ((turns * 697.0).sin() * 8_000.0 + (turns * 1_209.0).sin() * 8_000.0) as i16
    };
    let mut state = 1_u64;
    let hiss = move |_: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((state >> 48) as i16) / 8
    };
    Measured { name: "send", calls, ticks, events: true, srtp: false, sound: None }.run()?;
    Measured { name: "send, SRTP", calls, ticks, events: true, srtp: true, sound: None }.run()?;
    let sounds: [(&'static str, SampleAt); 3] =
        [("silence", Box::new(silence)), ("noise", Box::new(hiss)), ("a key held", Box::new(tones))];
    for (name, mut sound) in sounds {
        let frames: Vec<Vec<i16>> = (0..u64::from(ticks))
            .map(|tick| (0..FRAME_SAMPLES as u64).map(|at| sound(tick * FRAME_SAMPLES as u64 + at)).collect())
            .collect();
        for (events, srtp) in [(true, false), (false, false), (true, true)] {
            Measured { name, calls, ticks, events, srtp, sound: Some(&frames) }.run()?;
        }
    }
    Ok(())
}

/// Gives the sample of a place.
type SampleAt = Box<dyn FnMut(u64) -> i16>;

/// One run.
struct Measured<'a> {
    name: &'static str,
    calls: u32,
    ticks: u32,
    events: bool,
    srtp: bool,
    /// The peer's frames.
    sound: Option<&'a [Vec<i16>]>,
}

impl Measured<'_> {
    fn run(&self) -> Result<(), Box<dyn Error>> {
        let start = Instant::now();
        let message =
            Arc::new(EncodedSound::new(G711Law::A, &vec![1_000; self.ticks as usize * FRAME_SAMPLES]));
        let mut calls: Vec<CallAudio> = Vec::new();
        for _ in 0..self.calls {
            let mut call = CallAudio::new(self.options(1), start);
            call.playout().push(Arc::clone(&message))?;
            calls.push(call);
        }
        let packets = self.peer_packets(start)?;
        let mut out = [0; CALL_PACKET_OCTETS_MAX];
        let (mut total, mut worst, mut octets, mut events) = (Duration::ZERO, Duration::ZERO, 0, 0_u64);
        for tick in 0..self.ticks {
            let now = start + FRAME * tick;
            let began = Instant::now();
            for call in &mut calls {
                if let Some(packet) = packets.get(tick as usize) {
                    // Decrypted in place, so that each call has its own copy, as from a socket.
                    out[..packet.len()].copy_from_slice(packet);
                    call.handle_packet(now, &mut out[..packet.len()])?;
                }
                octets += call.tick(now, &mut out)?.unwrap_or(0);
                while call.poll_event().is_some() {
                    events += 1;
                }
            }
            let took = began.elapsed();
            (total, worst) = (total + took, worst.max(took));
        }
        let frames = f64::from(self.calls) * f64::from(self.ticks);
        let core = total.as_secs_f64() / (FRAME.as_secs_f64() * f64::from(self.ticks)) * 100.0;
        let keys = if self.events { "events" } else { "keys by sound" };
        let ways = if self.sound.is_some() { "both ways" } else { "one way" };
        println!(
            "{:<12} {ways:<9} {keys:<13} {:<4} {:>7.0} ns a frame, {core:>6.2} % of a core, worst tick {:>6.2} ms, \
             {octets} octets, {events} events",
            self.name,
            if self.srtp { "SRTP" } else { "" },
            total.as_nanos() as f64 / frames,
            worst.as_secs_f64() * 1_000.0,
        );
        Ok(())
    }

    fn options(&self, sent: u8) -> CallAudioOptions {
        let suite = SrtpSuite::Aes128Sha1Tag80;
        let key = |octet| SrtpMasterKey::new(suite, &vec![octet; suite.key_and_salt_octets()]);
        let keys = key(sent).zip(key(3 - sent)).filter(|_| self.srtp);
        CallAudioOptions {
            event_payload_type: self.events.then_some(EVENTS),
            ssrc: u32::from(sent),
            srtp: keys.map(|(sent, received)| CallSrtpKeys { sent, received }),
            ..CallAudioOptions::default()
        }
    }

    /// What the peer sends, a packet a tick.
    fn peer_packets(&self, start: Instant) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
        let Some(frames) = self.sound else { return Ok(Vec::new()) };
        let mut peer = CallAudio::new(self.options(2), start);
        peer.playout().push(Arc::new(EncodedSound::new(G711Law::A, &frames.concat())))?;
        let mut packets = Vec::new();
        for tick in 0..self.ticks {
            let mut out = [0; CALL_PACKET_OCTETS_MAX];
            let octets = peer.tick(start + FRAME * tick, &mut out)?.unwrap_or(0);
            packets.push(out[..octets].to_vec());
        }
        Ok(packets)
    }
}
