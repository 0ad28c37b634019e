//! Any octets, cut anywhere: what is read has a form that is read the same, and nothing over the limit is
//! waited for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mqtt::packet::PacketBuffer;

const OCTETS_MAX: u32 = 10_000;

fuzz_target!(|bytes: &[u8]| {
    let Some((&cut, rest)) = bytes.split_first() else { return };
    let mut buffer = PacketBuffer::new(OCTETS_MAX);
    for piece in rest.chunks(1 + usize::from(cut)) {
        buffer.push(piece);
        loop {
            match buffer.next_packet() {
                Ok(None) => break,
                Err(_) => return,
                Ok(Some(packet)) => {
                    let mut octets = Vec::new();
                    packet.encode(mqtt::VARIABLE_BYTE_INTEGER_MAX, &mut octets).expect("it was read");
                    let mut again = PacketBuffer::new(mqtt::VARIABLE_BYTE_INTEGER_MAX);
                    again.push(&octets);
                    assert_eq!(again.next_packet(), Ok(Some(packet)));
                    assert!(again.is_empty());
                }
            }
        }
        assert!(buffer.len() <= OCTETS_MAX as usize + piece.len());
    }
});
