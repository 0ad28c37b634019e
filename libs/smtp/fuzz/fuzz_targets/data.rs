//! Any octets as a message: what is stuffed reads back as its canonical form, and its end stands nowhere
//! else. Any octets behind DATA: taken within the limit, the same however they are cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smtp::content::{DataReader, END_OF_DATA, push_canonical, push_stuffed};

const OCTETS_MAX: usize = 1_000;

fuzz_target!(|bytes: &[u8]| {
    let Some((&cut, rest)) = bytes.split_first() else {
        return;
    };
    let piece = 1 + usize::from(cut);
    let (mut wire, mut canonical) = (Vec::new(), Vec::new());
    push_stuffed(&mut wire, rest);
    push_canonical(&mut canonical, rest);
    wire.extend_from_slice(END_OF_DATA);
    wire.extend_from_slice(b"QUIT\r\n");
    let (octets, too_large, behind) = read(&wire, piece).expect("the end is there");
    assert_eq!(behind, b"QUIT\r\n");
    assert_eq!(too_large, canonical.len() > OCTETS_MAX);
    assert!(too_large || octets == canonical);
    assert_eq!(read(rest, piece), read(rest, rest.len().max(1)));
});

/// The message, whether it was too large, and the octets behind its end; `None` without an end.
fn read(octets: &[u8], piece: usize) -> Option<(Vec<u8>, bool, Vec<u8>)> {
    let mut reader = DataReader::new(OCTETS_MAX);
    let mut waiting = Vec::new();
    let mut pieces = octets.chunks(piece);
    loop {
        match reader.take(&waiting) {
            Some((taken, true)) => {
                let behind = waiting[taken..].iter().chain(pieces.flatten()).copied().collect();
                return Some((reader.octets, reader.too_large, behind));
            }
            Some((taken, false)) => drop(waiting.drain(..taken)),
            None => {
                assert!(waiting.len() <= 2);
                waiting.extend_from_slice(pieces.next()?);
            }
        }
    }
}
