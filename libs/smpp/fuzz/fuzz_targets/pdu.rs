//! Any octets as a PDU: what is accepted can be written, and reads the same again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smpp::pdu::{decode, encode};

fuzz_target!(|bytes: &[u8]| {
    // The length is made right, so that the fuzzer need not find it.
    let mut frame = bytes.to_vec();
    if frame.len() >= 16 {
        let length = (frame.len() as u32).to_be_bytes();
        frame[..4].copy_from_slice(&length);
    }
    if let Ok((header, pdu)) = decode(&frame) {
        let mut again = Vec::new();
        encode(&pdu, header.status, header.sequence, &mut again).expect("what was read can be written");
        assert_eq!(decode(&again).expect("what was written can be read").1, pdu);
    }
});
