//! Any octets as a packet or a message of a paced stream: what is read is written as it was, is within its
//! packet, and another key reads nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{ControlMessage, HEAD, Head, Key, MESSAGE, Unread};

#[allow(dead_code)]
#[path = "../../src/wire.rs"]
mod wire;

/// Where a message's seal begins.
const BODY: usize = MESSAGE - 32;

fn read_head(octets: &[u8]) {
    let Some(head) = Head::read(octets) else { return };
    assert!(octets.len() >= HEAD + usize::from(head.filled));
    let mut again = octets.to_vec();
    head.write(&mut again);
    // The last two octets of a head are written as zeros and not read.
    assert_eq!(again[..HEAD - 2], octets[..HEAD - 2]);
    assert_eq!(Head::read(&again), Some(head));
}

fn read_message(octets: &[u8]) {
    let _ = ControlMessage::decode(octets, &Key::NONE);
    // Sealed as a peer with our key would: whatever is in it is read or refused, and what is read means
    // itself.
    let mut sealed = [0; MESSAGE];
    let given = octets.len().min(BODY);
    sealed[..given].copy_from_slice(&octets[..given]);
    let seal = blake3::keyed_hash(&[0; 32], &sealed[..BODY]);
    sealed[BODY..].copy_from_slice(seal.as_bytes());
    match ControlMessage::decode(&sealed, &Key::NONE) {
        Ok(message) => {
            assert_eq!(ControlMessage::decode(&message.encode(&Key::NONE), &Key::NONE), Ok(message));
            let other = Key::from_words("a key that nobody has here").unwrap();
            assert!(matches!(ControlMessage::decode(&sealed, &other), Err(Unread::Seal { .. })));
        }
        Err(Unread::Seal { .. }) => panic!("it was sealed"),
        Err(_) => {}
    }
}

fuzz_target!(|octets: &[u8]| {
    read_head(octets);
    read_message(octets);
});
