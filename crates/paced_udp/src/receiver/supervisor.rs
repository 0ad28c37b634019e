//! Lets streams in, tells their senders ten times a second what came, and ends them.

use super::sockets::Sockets;
use super::stream::{Ended, PacedStream};
use super::thread::{Admitted, ControlDatagram, ThreadReport};
use super::{ReceiveOptions, StreamReport, Until, View};
use crate::error::PacedUdpError;
use crate::payload::Writing;
use crate::socket::{Buffer, now_ns};
use crate::wire::{ControlMessage, Key, MSS_MAX, MSS_MIN, StreamRefusal, Unread};
use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Channel, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// Feedback is sent this often.
const TELLS: Duration = Duration::from_millis(100);
/// After a goodbye packets that are still under way are waited for so long.
const STRAGGLERS: Duration = Duration::from_millis(200);
/// After a goodbye its sender may ask again so long.
const LINGERS: Duration = Duration::from_secs(3);
/// A stream of which nothing comes any more ends after so long.
const SILENT_AFTER: Duration = Duration::from_secs(10);

/// The manager.
pub(super) struct Supervisor {
    options: ReceiveOptions,
    replies: UdpSocket,
    admitted: Arc<Admitted>,
    letters: Channel<ControlDatagram>,
    sockets: Sockets,
    views: Sender<View>,
    stop: Arc<AtomicBool>,
    begun: Instant,
    streams: HashMap<u32, PacedStream>,
    ended: Vec<StreamReport>,
}

impl Supervisor {
    pub fn new(
        options: ReceiveOptions,
        replies: UdpSocket,
        admitted: Arc<Admitted>,
        letters: Channel<ControlDatagram>,
        sockets: Sockets,
        views: Sender<View>,
        stop: Arc<AtomicBool>,
    ) -> Supervisor {
        let begun = Instant::now();
        let (streams, ended) = (HashMap::new(), Vec::new());
        Supervisor { options, replies, admitted, letters, sockets, views, stop, begun, streams, ended }
    }

    /// Until it is stopped, or as many streams have ended as were asked for.
    pub fn run(mut self, writing: Option<Writing>) -> Result<Vec<StreamReport>, PacedUdpError> {
        let mut next = Instant::now() + TELLS;
        while !self.stop.load(Ordering::Acquire) && !self.has_enough() {
            let left = next.saturating_duration_since(Instant::now());
            match self.letters.recv_timeout(left) {
                Ok(letter) => self.answer(&letter),
                Err(RecvTimeoutError::Timeout) => {
                    next = Instant::now() + TELLS;
                    self.look();
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
            // Its error says why.
            if self.sockets.has_failed() {
                break;
            }
        }
        self.end(writing)
    }

    fn has_enough(&self) -> bool {
        let lingering = self.streams.values().filter(|stream| stream.parted).count();
        matches!(self.options.until, Until::Streams(enough) if self.ended.len() + lingering >= enough
            && self.streams.len() == lingering)
    }

    fn answer(&mut self, letter: &ControlDatagram) {
        match ControlMessage::decode(&letter.octets, &self.options.key) {
            Ok(ControlMessage::Hello { stream, nonce, rate, mss }) => {
                self.greet(letter.from, stream, nonce, rate, mss)
            }
            Ok(ControlMessage::Bye { stream, nonce, sent, not_sent }) => {
                self.hear_bye(stream, nonce, sent, not_sent)
            }
            // Answers are no longer than what asked for them, and go to loopback alone where nobody proved
            // anything.
            Err(Unread::Seal { kind: 1, stream }) if letter.from.ip().is_loopback() => {
                if let Ok(ControlMessage::Hello { nonce, .. }) =
                    ControlMessage::decode(&letter.octets, &Key::NONE)
                {
                    let refused = ControlMessage::Refused { stream, nonce, why: StreamRefusal::Key };
                    let _ = self.replies.send_to(&refused.encode(&Key::NONE), letter.from);
                }
            }
            _ => {}
        }
    }

    fn greet(&mut self, from: SocketAddr, stream: u32, nonce: [u8; 16], rate: u64, mss: u16) {
        if self.options.key.is_none() && !from.ip().is_loopback() {
            // Without a key nobody can be told from anybody: silence, so that nothing is reflected.
            return;
        }
        let known = self.streams.get(&stream).is_some_and(|known| known.nonce == nonce);
        let refusal = if !(MSS_MIN..=MSS_MAX).contains(&mss) {
            Some(StreamRefusal::Size)
        } else if !known
            && (self.streams.contains_key(&stream) || self.streams.len() >= self.options.streams_max)
        {
            Some(StreamRefusal::Full)
        } else {
            None
        };
        if refusal.is_none() && !known {
            self.streams.insert(stream, PacedStream::new(stream, from, nonce, mss, rate));
            self.admitted.admit(stream, from.ip(), mss);
        }
        let reply = match refusal {
            Some(why) => ControlMessage::Refused { stream, nonce, why },
            None => {
                let Buffer { octets, asked } = self.sockets.buffer;
                ControlMessage::Welcome { stream, nonce, buffer: octets as u64, buffer_asked: asked as u64 }
            }
        };
        self.reply(&reply, from);
    }

    fn hear_bye(&mut self, stream: u32, nonce: [u8; 16], sent: u64, not_sent: u64) {
        let Some(stream) = self.streams.get_mut(&stream).filter(|stream| stream.nonce == nonce) else {
            return;
        };
        stream.bye.get_or_insert((sent, not_sent, Instant::now()));
        // Once it was told the last word it did not get it, and asks again.
        stream.parted = false;
    }

    fn reply(&self, message: &ControlMessage, to: SocketAddr) {
        // Lost as any datagram may be; whoever waits asks again.
        let _ = self.replies.send_to(&message.encode(&self.options.key), to);
    }

    /// Ten times a second.
    fn look(&mut self) {
        let told = self.sockets.told();
        self.sockets.decide(&told);
        // What comes now may still be counted by a thread that has not told.
        add_up(&mut self.streams, &told, (now_ns() / 1_000_000).saturating_sub(500));
        let now = Instant::now();
        let mut over = Vec::new();
        for stream in self.streams.values_mut() {
            let since_bye = stream.bye.map(|(_, _, at)| now - at);
            if stream.parted {
                if since_bye.is_some_and(|since| since > LINGERS) {
                    over.push((stream.id, Ended::Bye));
                }
                continue;
            }
            if since_bye.is_none() && now - stream.last > SILENT_AFTER {
                over.push((stream.id, Ended::Silent));
                continue;
            }
            stream.parted = since_bye.is_some_and(|since| since > STRAGGLERS);
            stream.feedbacks += 1;
            let feedback = ControlMessage::Feedback {
                stream: stream.id,
                nonce: stream.nonce,
                number: stream.feedbacks,
                counted: stream.counted,
                is_last: stream.parted,
            };
            let _ = self.replies.send_to(&feedback.encode(&self.options.key), stream.from);
        }
        for (id, ended) in over {
            self.dismiss(id, ended);
        }
        let view = self.view(&told);
        let _ = self.views.send(view);
    }

    fn dismiss(&mut self, id: u32, ended: Ended) {
        if let Some(stream) = self.streams.remove(&id) {
            self.ended.push(stream.last_report(ended));
            self.admitted.dismiss(id);
        }
    }

    fn view(&mut self, told: &[ThreadReport]) -> View {
        let running = |stream: &PacedStream| if stream.bye.is_some() { Ended::Bye } else { Ended::Running };
        let mut streams: Vec<_> =
            self.streams.values().map(|stream| stream.report(running(stream))).collect();
        streams.sort_by_key(|stream| stream.from);
        View {
            at_s: self.begun.elapsed().as_secs_f64(),
            streams,
            foreign: told.iter().map(|told| told.foreign).sum(),
            overflowed: told.iter().map(|told| told.overflowed).sum(),
            cpu_s: told.iter().map(|told| told.cpu.as_secs_f64()).sum(),
            sockets: self.sockets.views(),
            buffer: self.sockets.buffer.octets,
            buffer_asked: self.sockets.buffer.asked,
            joins: self.sockets.joins,
            reason: self.sockets.reason.take(),
            ceiling: self.sockets.ceiling,
        }
    }

    fn end(self, writing: Option<Writing>) -> Result<Vec<StreamReport>, PacedUdpError> {
        let Supervisor { sockets, mut streams, mut ended, .. } = self;
        let (told, failed) = sockets.end();
        // Nothing comes any more: all milliseconds are whole.
        add_up(&mut streams, &told, u64::MAX);
        ended.extend(streams.values().map(|stream| {
            stream.last_report(if stream.bye.is_some() { Ended::Bye } else { Ended::Running })
        }));
        if let Some(error) = failed {
            return Err(PacedUdpError::io("receiving")(error));
        }
        if let Some(writing) = writing {
            writing.end().map_err(PacedUdpError::io("writing the file"))?;
        }
        Ok(ended)
    }
}

/// Adds up what the threads told; milliseconds before `before_ms` are whole.
fn add_up(streams: &mut HashMap<u32, PacedStream>, told: &[ThreadReport], before_ms: u64) {
    let overflowed = told.iter().map(|told| told.overflowed).sum();
    let now = Instant::now();
    for (id, stream) in streams {
        let parts = told.iter().enumerate();
        let parts = parts.filter_map(|(at, told)| Some((at, told.streams.get(id)?)));
        stream.add_up(parts, overflowed, now, before_ms);
    }
}
