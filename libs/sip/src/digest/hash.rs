//! Hashes of digest, in hexadecimal.

use super::DigestAlgorithm;
use md5::{Digest, Md5};

pub(super) fn hex_of(algorithm: DigestAlgorithm, octets: &[u8]) -> String {
    match algorithm {
        DigestAlgorithm::Md5 | DigestAlgorithm::Md5Session => hex(&Md5::digest(octets)),
        DigestAlgorithm::Sha256 | DigestAlgorithm::Sha256Session => {
            hex(ring::digest::digest(&ring::digest::SHA256, octets).as_ref())
        }
    }
}

fn hex(octets: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = octets.iter().flat_map(|octet| [octet >> 4, octet & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}
