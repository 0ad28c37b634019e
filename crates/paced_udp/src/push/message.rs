//! Messages of the control stream: a kind and a body. `frames` carries them.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::manifest::MANIFEST_LEN_MAX;
use super::packet::TOKEN_LIMIT;
use super::proof::KEY_LEN;

/// The version both sides must speak. Since 2 an offer has room for a group of IPv6; since 3 a datagram's
/// header has 15 octets in place of 20.
pub const VERSION: u16 = 3;
/// Octets of words in a refusal at most.
pub const WORDS_LEN_MAX: usize = 400;
/// What stands in an offer before the manifest.
const OFFER_HEAD_LEN: usize = 8 + 18 + 32 + 64;
/// Octets of any frame that comes before the other side has proved itself.
pub const EARLY_LEN_MAX: usize = 1024;
/// Octets of any frame at all.
pub const FRAME_LEN_MAX: usize = MANIFEST_LEN_MAX + OFFER_HEAD_LEN + 1;

/// Why a push to a site ends without the file there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushReason {
    /// The two sides do not know the same key.
    Key,
    /// The manifest is wrong, or its signature.
    Manifest,
    /// The receiver trusts other signers only.
    Signer,
    /// The file is above the receiver's limit.
    TooLarge,
    /// The receiver's disk has no room.
    Disk,
    /// Another file of that name is there.
    Exists,
    /// The receiver is busy, or cannot join the group; try again.
    Busy,
    /// The two sides speak other versions, or one did not keep to the protocol.
    Protocol,
    /// Blocks were whole and wrong too often: somebody else writes into this push.
    Tampered,
}

const REASONS: [PushReason; 9] = [
    PushReason::Key,
    PushReason::Manifest,
    PushReason::Signer,
    PushReason::TooLarge,
    PushReason::Disk,
    PushReason::Exists,
    PushReason::Busy,
    PushReason::Protocol,
    PushReason::Tampered,
];

/// What is offered: the push and where its data will come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The secret that each datagram begins with, below [`TOKEN_LIMIT`].
    pub token: u64,
    /// The group to join. None for unicast.
    pub group: Option<SocketAddr>,
    /// The signer's public key.
    pub signer: [u8; 32],
    /// Its signature over the manifest.
    pub signature: [u8; 64],
    /// The manifest.
    pub manifest: Vec<u8>,
}

/// A frame of the control stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushMessage {
    /// The sender begins.
    Hello {
        /// Its version.
        version: u16,
        /// Its nonce.
        nonce: [u8; KEY_LEN],
    },
    /// The receiver answers, and proves itself.
    Challenge {
        /// Its nonce.
        nonce: [u8; KEY_LEN],
        /// Its proof.
        proof: [u8; KEY_LEN],
    },
    /// The sender proves itself.
    Proof([u8; KEY_LEN]),
    /// The sender says what there is.
    Offer(Box<Offer>),
    /// The receiver takes it.
    Accept {
        /// Where it listens for data.
        port: u16,
        /// Which blocks it has, a bit each.
        has: Vec<u8>,
    },
    /// The receiver has the whole file on disk, and proves that it says so.
    Receipt([u8; KEY_LEN]),
    /// One side ends it.
    End {
        /// Why.
        reason: PushReason,
        /// In words.
        words: String,
    },
}

impl PushMessage {
    /// Reads kind and body of a frame. None when it is not one.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let (kind, body) = frame.split_first()?;
        Some(match kind {
            1 => {
                let (version, nonce) = body.split_first_chunk::<2>()?;
                Self::Hello { version: u16::from_be_bytes(*version), nonce: nonce.try_into().ok()? }
            }
            2 => {
                let (nonce, proof) = body.split_first_chunk::<KEY_LEN>()?;
                Self::Challenge { nonce: *nonce, proof: proof.try_into().ok()? }
            }
            3 => Self::Proof(body.try_into().ok()?),
            4 => Self::Offer(Box::new(read_offer(body)?)),
            5 => {
                let (port, has) = body.split_first_chunk::<2>()?;
                Self::Accept { port: u16::from_be_bytes(*port), has: has.to_vec() }
            }
            6 => Self::Receipt(body.try_into().ok()?),
            7 => {
                let (reason, words) = body.split_first()?;
                let reason = *REASONS.get(usize::from(*reason))?;
                let words = &words[..words.len().min(WORDS_LEN_MAX)];
                let words = String::from_utf8_lossy(words).replace(char::is_control, " ");
                Self::End { reason, words }
            }
            _ => return None,
        })
    }

    /// Kind and body of a frame.
    pub fn write(&self) -> Vec<u8> {
        match self {
            Self::Hello { version, nonce } => [&[1], &version.to_be_bytes()[..], nonce].concat(),
            Self::Challenge { nonce, proof } => [&[2], &nonce[..], proof].concat(),
            Self::Proof(proof) => [&[3], &proof[..]].concat(),
            Self::Offer(offer) => write_offer(offer),
            Self::Accept { port, has } => [&[5], &port.to_be_bytes()[..], has].concat(),
            Self::Receipt(proof) => [&[6], &proof[..]].concat(),
            Self::End { reason, words } => {
                let mut end = words.len().min(WORDS_LEN_MAX);
                while !words.is_char_boundary(end) {
                    end -= 1;
                }
                [&[7, *reason as u8], &words.as_bytes()[..end]].concat()
            }
        }
    }
}

fn read_offer(body: &[u8]) -> Option<Offer> {
    let (token, rest) = body.split_first_chunk::<8>()?;
    let (address, rest) = rest.split_first_chunk::<16>()?;
    let (port, rest) = rest.split_first_chunk::<2>()?;
    let (signer, rest) = rest.split_first_chunk::<32>()?;
    let (signature, manifest) = rest.split_first_chunk::<64>()?;
    let address = Ipv6Addr::from(*address);
    let group = match address.to_canonical() {
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => None,
        group if group.is_multicast() => Some(SocketAddr::new(group, u16::from_be_bytes(*port))),
        _ => return None,
    };
    Some(Offer {
        token: Some(u64::from_be_bytes(*token)).filter(|token| *token < TOKEN_LIMIT)?,
        group,
        signer: *signer,
        signature: *signature,
        manifest: manifest.to_vec(),
    })
}

fn write_offer(offer: &Offer) -> Vec<u8> {
    let group = offer.group.unwrap_or((Ipv6Addr::UNSPECIFIED, 0).into());
    // An IPv4 group is written as the IPv6 address that it is mapped to.
    let address = match group.ip() {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    [
        &[4],
        &offer.token.to_be_bytes()[..],
        &address.octets(),
        &group.port().to_be_bytes(),
        &offer.signer,
        &offer.signature,
        &offer.manifest,
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_message_is_read_as_it_was_written() {
        let offer = Offer {
            token: 5,
            group: Some("239.1.2.3:4000".parse().unwrap()),
            signer: [1; 32],
            signature: [2; 64],
            manifest: vec![3; 70],
        };
        let messages = [
            PushMessage::Hello { version: VERSION, nonce: [4; 32] },
            PushMessage::Challenge { nonce: [4; 32], proof: [5; 32] },
            PushMessage::Proof([6; 32]),
            PushMessage::Offer(Box::new(Offer { group: None, ..offer.clone() })),
            PushMessage::Offer(Box::new(Offer {
                group: Some("[ff15::4:7]:4811".parse().unwrap()),
                ..offer.clone()
            })),
            PushMessage::Offer(Box::new(offer)),
            PushMessage::Accept { port: 7, has: vec![0xF0, 1] },
            PushMessage::Receipt([8; 32]),
        ];
        let ends = REASONS.map(|reason| PushMessage::End { reason, words: "no room".into() });
        for message in messages.into_iter().chain(ends) {
            assert_eq!(PushMessage::read(&message.write()), Some(message));
        }
    }

    #[test]
    fn an_offer_that_names_no_group_where_one_should_be_is_not_read() {
        for (address, is_read) in [
            ("::", true),
            ("::ffff:239.1.2.3", true),
            ("ff02::1", true),
            ("::ffff:192.0.2.1", false),
            ("::239.1.2.3", false),
            ("2001:db8::1", false),
        ] {
            let address: Ipv6Addr = address.parse().unwrap();
            let octets = [&[4][..], &[0; 8], &address.octets(), &[0, 9], &[1; 32 + 64]].concat();
            assert_eq!(PushMessage::read(&octets).is_some(), is_read, "{address}");
        }
    }

    proptest! {
        #[test]
        fn no_octets_make_reading_fail_otherwise_than_by_none(octets in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = PushMessage::read(&octets);
        }
    }
}
