//! The receiver as a sender knows it: it answers a keyed hello before anything is sent, tells what it gets,
//! and is told the end.

use crate::error::PacedUdpError;
use crate::socket::connect;
use crate::wire::{ControlMessage, Counted, Key, MESSAGE, StreamRefusal};
use socket2::Socket;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// A hello or a goodbye is said again after this long.
const AGAIN: Duration = Duration::from_millis(200);
/// Whoever has not answered a hello by then is not there.
pub const ANSWERS_WITHIN: Duration = Duration::from_secs(3);
/// Feedback comes ten times a second; whoever has not been heard for so long has gone.
pub const SILENT_AFTER: Duration = Duration::from_secs(2);

/// What a sender is about to do, as its hello tells it.
#[derive(Debug, Clone, Copy)]
pub struct Offer {
    /// The stream's number, drawn by chance.
    pub stream: u32,
    /// Bits a second, at most.
    pub rate: u64,
    /// Octets of a packet.
    pub mss: u16,
}

/// A receiver that has answered.
pub struct ReceiverPeer {
    socket: UdpSocket,
    address: SocketAddr,
    key: Key,
    offer: Offer,
    nonce: [u8; 16],
    heard: Instant,
    newest: u32,
    /// What it told last.
    pub counted: Counted,
    /// Its socket's buffer: octets it has, octets it asked for.
    pub buffer: (u64, u64),
}

impl ReceiverPeer {
    /// Asks whether we may send; nothing else is sent before it said so.
    pub fn greet(address: SocketAddr, key: &Key, offer: Offer) -> Result<ReceiverPeer, PacedUdpError> {
        if key.is_none() && !address.ip().is_loopback() {
            return Err(PacedUdpError::NeedsKey { peer: address });
        }
        let socket: Socket = connect(address).map_err(PacedUdpError::io(format!("a socket to {address}")))?;
        let mut peer = ReceiverPeer {
            socket: socket.into(),
            address,
            key: key.clone(),
            offer,
            nonce: rand::random(),
            heard: Instant::now(),
            newest: 0,
            counted: Counted::default(),
            buffer: (0, 0),
        };
        peer.ask()?;
        Ok(peer)
    }

    fn ask(&mut self) -> Result<(), PacedUdpError> {
        let Offer { stream, rate, mss } = self.offer;
        let hello = ControlMessage::Hello { stream, nonce: self.nonce, rate, mss }.encode(&self.key);
        let begun = Instant::now();
        while begun.elapsed() < ANSWERS_WITHIN {
            // A peer that is just starting refuses the first ones; the next one asks again.
            let _ = self.socket.send(&hello);
            let until = Instant::now() + AGAIN;
            while let Some(message) = self.next(until)? {
                match message {
                    ControlMessage::Welcome { buffer, buffer_asked, .. } => {
                        self.buffer = (buffer, buffer_asked);
                        self.heard = Instant::now();
                        return Ok(());
                    }
                    ControlMessage::Refused { why, .. } => {
                        return Err(PacedUdpError::Refused { peer: self.address, why });
                    }
                    _ => {}
                }
            }
        }
        Err(PacedUdpError::NoAnswer { peer: self.address, within: ANSWERS_WITHIN })
    }

    /// Takes what it says until `until`; an error once it has been silent for too long.
    pub fn listen(&mut self, until: Instant) -> Result<(), PacedUdpError> {
        while let Some(message) = self.next(until)? {
            self.learn(&message);
        }
        match self.heard.elapsed() {
            since if since > SILENT_AFTER => Err(PacedUdpError::Silent { peer: self.address, since }),
            _ => Ok(()),
        }
    }

    /// Tells the end, and hears what came in all.
    pub fn part(&mut self, sent: u64, not_sent: u64) -> Result<Counted, PacedUdpError> {
        let bye = ControlMessage::Bye { stream: self.offer.stream, nonce: self.nonce, sent, not_sent }
            .encode(&self.key);
        let begun = Instant::now();
        while begun.elapsed() < SILENT_AFTER {
            let _ = self.socket.send(&bye);
            let until = Instant::now() + AGAIN;
            while let Some(message) = self.next(until)? {
                self.learn(&message);
                if let ControlMessage::Feedback { is_last: true, .. } = message {
                    return Ok(self.counted);
                }
            }
        }
        Err(PacedUdpError::Silent { peer: self.address, since: self.heard.elapsed() })
    }

    fn learn(&mut self, message: &ControlMessage) {
        if let ControlMessage::Feedback { number, counted, .. } = message {
            self.heard = Instant::now();
            if *number >= self.newest {
                (self.newest, self.counted) = (*number, *counted);
            }
        }
    }

    /// The next message about this stream; `None` when the time is over.
    fn next(&mut self, until: Instant) -> Result<Option<ControlMessage>, PacedUdpError> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.socket.set_read_timeout(Some(left)).map_err(PacedUdpError::io("the control socket"))?;
            let mut octets = [0; MESSAGE + 1];
            match self.socket.recv(&mut octets) {
                Ok(length) => match self.read(&octets[..length]) {
                    Some(message) => return Ok(Some(message)),
                    None => continue,
                },
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(None),
                // An ICMP message about what we sent: whether it is gone, its silence tells.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                    std::thread::sleep(left.min(Duration::from_millis(20)));
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(PacedUdpError::io("the control socket")(error)),
            }
        }
    }

    fn read(&self, octets: &[u8]) -> Option<ControlMessage> {
        // A refusal for want of the key cannot be sealed with it.
        let unsealed = |message: &ControlMessage| {
            matches!(message, ControlMessage::Refused { why: StreamRefusal::Key, .. })
        };
        let message = ControlMessage::decode(octets, &self.key)
            .or_else(|error| ControlMessage::decode(octets, &Key::NONE).ok().filter(unsealed).ok_or(error))
            .ok()?;
        (message.stream() == self.offer.stream && message.nonce() == &self.nonce).then_some(message)
    }
}
