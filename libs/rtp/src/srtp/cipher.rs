//! Session keys (RFC 3711 section 4.3), the key stream of AES in counter mode (4.1.1), tags (4.2).

use super::{SRTP_SALT_OCTETS, SrtpMasterKey};
use aes::cipher::{InnerIvInit, KeyInit, StreamCipher};
use aes::{Aes128Enc, Aes256Enc};
use ring::hmac;

/// Octets of the authentication key (section 5.2).
const AUTH_KEY_OCTETS: usize = 20;
const BLOCK_OCTETS: usize = 16;
/// Labels of the derivation (section 4.3.2): the cipher key; the authentication key and the salt follow.
pub(super) const LABEL_RTP: u8 = 0;
pub(super) const LABEL_RTCP: u8 = 3;

/// Session keys of RTP or RTCP.
pub(super) struct SessionKeys {
    cipher: AesCm,
    salt: [u8; SRTP_SALT_OCTETS],
    auth: hmac::Key,
}

/// AES with its key schedule made.
pub(super) enum AesCm {
    Aes128(Box<Aes128Enc>),
    Aes256(Box<Aes256Enc>),
}

impl AesCm {
    /// A key of 16 octets, else of 32.
    pub(super) fn new(key: &[u8]) -> AesCm {
        match <&[u8; 16]>::try_from(key) {
            Ok(key) => AesCm::Aes128(Box::new(Aes128Enc::new(key.into()))),
            Err(_) => {
                let mut long = [0; 32];
                long[..key.len().min(32)].copy_from_slice(&key[..key.len().min(32)]);
                AesCm::Aes256(Box::new(Aes256Enc::new(&long.into())))
            }
        }
    }

    /// Adds the key stream that begins with this block. The counter has 16 bits: 2²⁰ octets, far more than a
    /// datagram.
    pub(super) fn apply(&self, block: [u8; BLOCK_OCTETS], octets: &mut [u8]) {
        match self {
            AesCm::Aes128(cipher) => {
                let cipher: &Aes128Enc = cipher;
                let core = ctr::CtrCore::inner_iv_init(cipher, &block.into());
                ctr::Ctr128BE::from_core(core).apply_keystream(octets);
            }
            AesCm::Aes256(cipher) => {
                let cipher: &Aes256Enc = cipher;
                let core = ctr::CtrCore::inner_iv_init(cipher, &block.into());
                ctr::Ctr128BE::from_core(core).apply_keystream(octets);
            }
        }
    }
}

/// Key stream of a label: section 4.3.3, with a derivation rate of 0.
pub(super) fn derive(master: &SrtpMasterKey, cipher: &AesCm, label: u8, out: &mut [u8]) {
    let mut block = [0; BLOCK_OCTETS];
    block[..SRTP_SALT_OCTETS].copy_from_slice(master.salt());
    // The label stands above the 48 bits of an index, which is 0.
    block[7] ^= label;
    out.fill(0);
    cipher.apply(block, out);
}

impl SessionKeys {
    /// The keys of [`LABEL_RTP`] or [`LABEL_RTCP`].
    pub(super) fn new(master: &SrtpMasterKey, label: u8) -> SessionKeys {
        let by_master = AesCm::new(master.key());
        let mut key = [0; 32];
        let key = &mut key[..master.key().len()];
        derive(master, &by_master, label, key);
        let mut auth = [0; AUTH_KEY_OCTETS];
        derive(master, &by_master, label + 1, &mut auth);
        let mut salt = [0; SRTP_SALT_OCTETS];
        derive(master, &by_master, label + 2, &mut salt);
        let auth = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &auth);
        SessionKeys { cipher: AesCm::new(key), salt, auth }
    }

    /// Encrypts or decrypts a payload (section 4.1.1).
    pub(super) fn apply(&self, ssrc: u32, index: u64, octets: &mut [u8]) {
        let mut block = [0; BLOCK_OCTETS];
        block[..SRTP_SALT_OCTETS].copy_from_slice(&self.salt);
        for (octet, ssrc) in block[4..8].iter_mut().zip(ssrc.to_be_bytes()) {
            *octet ^= ssrc;
        }
        // 48 bits: the upper 16 of 64 are 0.
        for (octet, index) in block[8..14].iter_mut().zip(&index.to_be_bytes()[2..]) {
            *octet ^= index;
        }
        self.cipher.apply(block, octets);
    }

    /// Tag over octets, then the rollover counter for RTP (section 4.2). To be cut to the suite's length.
    pub(super) fn tag(&self, octets: &[u8], rollover: &[u8]) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&self.auth);
        context.update(octets);
        context.update(rollover);
        context.sign()
    }
}

/// Compares tags in a time that does not tell where they differ.
pub(super) fn is_same_tag(tag: &hmac::Tag, received: &[u8]) -> bool {
    let difference = tag.as_ref().iter().zip(received).fold(0, |all, (a, b)| all | (a ^ b));
    !received.is_empty() && std::hint::black_box(difference) == 0
}
