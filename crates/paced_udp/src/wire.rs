//! Wire format: the head of every paced packet, and the few messages that open, watch and end a stream.
//!
//! All integers are in network order. A packet of data begins with [`HEAD`] octets; what follows is payload.
//! The other messages ([`ControlMessage`]) end with a BLAKE3 keyed hash over all octets before it, under the
//! key that both sides were given ([`Key`]).

use std::fmt;

/// Octets of a data packet's head.
pub const HEAD: usize = 40;
/// The smallest packet that is sent: a head with a little payload.
pub const MSS_MIN: u16 = 64;
/// The largest: the largest payload of UDP over IPv4 (RFC 768, RFC 791).
pub const MSS_MAX: u16 = 65_507;
/// Octets of every message that is no data. All have one length, so that no answer is longer than what asked
/// for it.
pub const MESSAGE: usize = 160;

const MAGIC: u8 = 0xC5;
const VERSION: u8 = 1;
const MAC: usize = 32;
const BODY: usize = MESSAGE - MAC;

/// The head of a data packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Which thread of the sender it comes from. Each counts its own packets.
    pub thread: u16,
    /// The stream, as its hello named it.
    pub stream: u32,
    /// The packet's number in its thread's sequence, from 0.
    pub number: u64,
    /// When it left, in nanoseconds since 1970 by the sender's clock.
    pub sent_ns: u64,
    /// Where its payload belongs in the file that is sent; without a file 0.
    pub offset: u64,
    /// The ideal gap between two packets of the whole stream when it left, in nanoseconds.
    pub gap_ns: u32,
    /// Octets of payload that belong to the file.
    pub filled: u16,
}

impl Head {
    /// Writes it over the first octets of `packet`, which has at least [`HEAD`].
    pub fn write(&self, packet: &mut [u8]) {
        packet[0] = MAGIC;
        packet[1] = 0;
        packet[2..4].copy_from_slice(&self.thread.to_be_bytes());
        packet[4..8].copy_from_slice(&self.stream.to_be_bytes());
        packet[8..16].copy_from_slice(&self.number.to_be_bytes());
        packet[16..24].copy_from_slice(&self.sent_ns.to_be_bytes());
        packet[24..32].copy_from_slice(&self.offset.to_be_bytes());
        packet[32..36].copy_from_slice(&self.gap_ns.to_be_bytes());
        packet[36..38].copy_from_slice(&self.filled.to_be_bytes());
        packet[38..40].fill(0);
    }

    /// Reads it; `None` where it is none of ours or says that it holds more than it does.
    pub fn read(packet: &[u8]) -> Option<Head> {
        let (head, payload) = packet.split_at_checked(HEAD)?;
        if head[0] != MAGIC || head[1] != 0 {
            return None;
        }
        let mut fields = FieldReader(&head[2..]);
        let read = Head {
            thread: fields.u16(),
            stream: fields.u32(),
            number: fields.u64(),
            sent_ns: fields.u64(),
            offset: fields.u64(),
            gap_ns: fields.u32(),
            filled: fields.u16(),
        };
        (usize::from(read.filled) <= payload.len()).then_some(read)
    }
}

/// What both sides know, and nobody else.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// The key that loopback needs: none.
    pub const NONE: Key = Key([0; 32]);

    /// From what people hand over; the same words make the same key. Errors: fewer than 16 octets.
    pub fn from_words(words: &str) -> Result<Key, String> {
        let words = words.trim();
        if words.len() < 16 {
            return Err(format!("a key needs at least 16 characters, this one has {}", words.len()));
        }
        Ok(Key(blake3::derive_key("campanile 2026 paced udp handshake", words.as_bytes())))
    }

    /// A key for another purpose, which tells nothing of this one.
    pub fn derive(&self, purpose: &str) -> [u8; 32] {
        blake3::derive_key(purpose, &self.0)
    }

    /// Whether it is [`Key::NONE`].
    pub fn is_none(&self) -> bool {
        self.0 == [0; 32]
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.is_none() { "Key(none)" } else { "Key(…)" })
    }
}

/// What a receiver has counted of one stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Packets that came, each once.
    pub packets: u64,
    /// Octets of them, heads included.
    pub octets: u64,
    /// Numbers that have not come although later ones of their thread have.
    pub missing: u64,
    /// Packets that came again.
    pub duplicates: u64,
    /// Packets the receiver's sockets had no room for (`SO_RXQ_OVFL`), all streams together.
    pub overflowed: u64,
}

/// Why a receiver does not take a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum StreamRefusal {
    /// Not from loopback, and without the key or with another one.
    Key = 1,
    /// So many streams are there already.
    Full = 2,
    /// Its packets are smaller or larger than is allowed.
    Size = 3,
}

impl fmt::Display for StreamRefusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            StreamRefusal::Key => "the receiver has another key; give both sides the same --key-file",
            StreamRefusal::Full => "the receiver has as many streams as it takes",
            StreamRefusal::Size => "the receiver does not take packets of this size",
        })
    }
}

/// A message that is no data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlMessage {
    /// A sender asks whether it may send.
    Hello { stream: u32, nonce: [u8; 16], rate: u64, mss: u16 },
    /// It may: the nonce is the hello's, which proves that this address hears.
    Welcome { stream: u32, nonce: [u8; 16], buffer: u64, buffer_asked: u64 },
    /// It may not.
    Refused { stream: u32, nonce: [u8; 16], why: StreamRefusal },
    /// What came so far; numbered, so that an old one says nothing.
    Feedback { stream: u32, nonce: [u8; 16], number: u32, counted: Counted, is_last: bool },
    /// The sender ends; so many packets it has sent, so many it should have sent and has not.
    Bye { stream: u32, nonce: [u8; 16], sent: u64, not_sent: u64 },
}

impl ControlMessage {
    fn kind(&self) -> u8 {
        match self {
            ControlMessage::Hello { .. } => 1,
            ControlMessage::Welcome { .. } => 2,
            ControlMessage::Refused { .. } => 3,
            ControlMessage::Feedback { .. } => 4,
            ControlMessage::Bye { .. } => 5,
        }
    }

    /// The stream it is about.
    pub fn stream(&self) -> u32 {
        match *self {
            ControlMessage::Hello { stream, .. }
            | ControlMessage::Welcome { stream, .. }
            | ControlMessage::Refused { stream, .. }
            | ControlMessage::Feedback { stream, .. }
            | ControlMessage::Bye { stream, .. } => stream,
        }
    }

    /// What binds it to one hello.
    pub fn nonce(&self) -> &[u8; 16] {
        match self {
            ControlMessage::Hello { nonce, .. }
            | ControlMessage::Welcome { nonce, .. }
            | ControlMessage::Refused { nonce, .. }
            | ControlMessage::Feedback { nonce, .. }
            | ControlMessage::Bye { nonce, .. } => nonce,
        }
    }

    /// Its octets, sealed with `key`.
    pub fn encode(&self, key: &Key) -> [u8; MESSAGE] {
        let mut out = Vec::with_capacity(MESSAGE);
        out.extend([MAGIC, self.kind(), VERSION, 0]);
        out.extend(self.stream().to_be_bytes());
        match self {
            ControlMessage::Hello { nonce, rate, mss, .. } => {
                out.extend(nonce);
                out.extend(rate.to_be_bytes());
                out.extend(mss.to_be_bytes());
            }
            ControlMessage::Welcome { nonce, buffer, buffer_asked, .. } => {
                out.extend(nonce);
                out.extend(buffer.to_be_bytes());
                out.extend(buffer_asked.to_be_bytes());
            }
            ControlMessage::Refused { nonce, why, .. } => {
                out.extend(nonce);
                out.push(*why as u8);
            }
            ControlMessage::Feedback { nonce, number, counted, is_last, .. } => {
                out.extend(nonce);
                out.extend(number.to_be_bytes());
                out.push(u8::from(*is_last));
                let Counted { packets, octets, missing, duplicates, overflowed } = counted;
                for count in [packets, octets, missing, duplicates, overflowed] {
                    out.extend(count.to_be_bytes());
                }
            }
            ControlMessage::Bye { nonce, sent, not_sent, .. } => {
                out.extend(nonce);
                out.extend(sent.to_be_bytes());
                out.extend(not_sent.to_be_bytes());
            }
        }
        let mut message = [0; MESSAGE];
        message[..out.len()].copy_from_slice(&out);
        let seal = blake3::keyed_hash(&key.0, &message[..BODY]);
        message[BODY..].copy_from_slice(seal.as_bytes());
        message
    }

    /// Reads one that was sealed with `key`.
    pub fn decode(datagram: &[u8], key: &Key) -> Result<ControlMessage, Unread> {
        if datagram.len() != MESSAGE || datagram[0] != MAGIC || datagram[1] == 0 {
            return Err(Unread::NotOurs);
        }
        if datagram[2] != VERSION {
            return Err(Unread::Version(datagram[2]));
        }
        let (body, seal) = datagram.split_at(BODY);
        let fields = FieldReader(&body[4..]);
        // `blake3::Hash` compares in constant time.
        let seal: [u8; MAC] = seal.try_into().map_err(|_| Unread::NotOurs)?;
        if blake3::keyed_hash(&key.0, body) != blake3::Hash::from(seal) {
            return Err(Unread::Seal { kind: datagram[1], stream: { fields }.u32() });
        }
        ControlMessage::of(datagram[1], fields).ok_or(Unread::NotOurs)
    }

    fn of(kind: u8, mut fields: FieldReader<'_>) -> Option<ControlMessage> {
        let (stream, nonce) = (fields.u32(), fields.array());
        Some(match kind {
            1 => ControlMessage::Hello { stream, nonce, rate: fields.u64(), mss: fields.u16() },
            2 => ControlMessage::Welcome { stream, nonce, buffer: fields.u64(), buffer_asked: fields.u64() },
            3 => {
                let why = match fields.u8() {
                    1 => StreamRefusal::Key,
                    2 => StreamRefusal::Full,
                    3 => StreamRefusal::Size,
                    _ => return None,
                };
                ControlMessage::Refused { stream, nonce, why }
            }
            4 => {
                let (number, is_last) = (fields.u32(), fields.u8() != 0);
                let counted = Counted {
                    packets: fields.u64(),
                    octets: fields.u64(),
                    missing: fields.u64(),
                    duplicates: fields.u64(),
                    overflowed: fields.u64(),
                };
                ControlMessage::Feedback { stream, nonce, number, counted, is_last }
            }
            5 => ControlMessage::Bye { stream, nonce, sent: fields.u64(), not_sent: fields.u64() },
            _ => return None,
        })
    }
}

/// Why a datagram is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// Something else, or damaged.
    NotOurs,
    /// Of a form this program does not know.
    Version(u8),
    /// Sealed with another key.
    Seal { kind: u8, stream: u32 },
}

/// Fixed fields, one after the other; their lengths were checked before.
struct FieldReader<'a>(&'a [u8]);

impl FieldReader<'_> {
    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut field = [0; N];
        if let Some((head, rest)) = self.0.split_at_checked(N) {
            field.copy_from_slice(head);
            self.0 = rest;
        }
        field
    }

    fn u8(&mut self) -> u8 {
        u8::from_be_bytes(self.array())
    }

    fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.array())
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.array())
    }

    fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.array())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> Key {
        Key::from_words("a word that both sides know").unwrap()
    }

    fn every_message() -> Vec<ControlMessage> {
        let (stream, nonce) = (7, [9; 16]);
        let counted = Counted { packets: 1, octets: 2, missing: 3, duplicates: 4, overflowed: u64::MAX };
        vec![
            ControlMessage::Hello { stream, nonce, rate: 10_000_000_000, mss: 1472 },
            ControlMessage::Welcome { stream, nonce, buffer: 1 << 25, buffer_asked: 1 << 26 },
            ControlMessage::Refused { stream, nonce, why: StreamRefusal::Size },
            ControlMessage::Feedback { stream, nonce, number: 5, counted, is_last: true },
            ControlMessage::Bye { stream, nonce, sent: 12, not_sent: 3 },
        ]
    }

    #[test]
    fn every_message_is_read_as_it_was_written() {
        for message in every_message() {
            assert_eq!(ControlMessage::decode(&message.encode(&key()), &key()), Ok(message));
        }
    }

    #[test]
    fn another_key_or_a_changed_octet_is_not_believed() {
        for message in every_message() {
            let sealed = message.encode(&key());
            let Err(Unread::Seal { stream: 7, .. }) = ControlMessage::decode(&sealed, &Key::NONE) else {
                panic!("{message:?}");
            };
            for at in 3..MESSAGE {
                let mut changed = sealed;
                changed[at] ^= 1;
                assert!(ControlMessage::decode(&changed, &key()).is_err(), "{message:?} {at}");
            }
        }
    }

    #[test]
    fn a_short_key_is_refused_and_a_key_is_not_printed() {
        assert!(Key::from_words(" short ").unwrap_err().contains("16"));
        assert_eq!(format!("{:?} {:?}", key(), Key::NONE), "Key(…) Key(none)");
    }

    proptest! {
        #[test]
        fn a_head_is_read_as_it_was_written(thread: u16, stream: u32, number: u64, sent_ns: u64, offset: u64,
                                            gap_ns: u32, filled in 0_u16..100) {
            let head = Head { thread, stream, number, sent_ns, offset, gap_ns, filled };
            let mut packet = [0xAA; HEAD + 100];
            head.write(&mut packet);
            prop_assert_eq!(Head::read(&packet), Some(head));
            prop_assert_eq!(Head::read(&packet[..HEAD + usize::from(filled)]), Some(head));
            prop_assert_eq!(Head::read(&packet[..HEAD - 1]), None);
        }

        #[test]
        fn whatever_comes_is_read_or_refused(datagram in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Head::read(&datagram);
            let _ = ControlMessage::decode(&datagram, &Key::NONE);
        }
    }
}
