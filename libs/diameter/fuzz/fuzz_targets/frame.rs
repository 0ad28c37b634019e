//! Any stream, however it is cut: the same frames come out, each whole, or the framing is lost at the same
//! place.
#![no_main]

use diameter::frame::next_frame;
use libfuzzer_sys::fuzz_target;

const OCTETS_MAX: u32 = 4_096;

/// Where frames end when the stream comes in pieces of so many octets, and whether it is lost.
fn cut(stream: &[u8], piece: usize) -> (Vec<usize>, bool) {
    let (mut ends, mut begin, mut there) = (Vec::new(), 0, 0);
    loop {
        match next_frame(&stream[begin..there], OCTETS_MAX) {
            Ok(Some(frame)) => {
                begin += frame.len();
                ends.push(begin);
            }
            Ok(None) if there == stream.len() => return (ends, false),
            Ok(None) => there = (there + piece).min(stream.len()),
            Err(_) => return (ends, true),
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&piece, stream)) = bytes.split_first() else { return };
    assert_eq!(cut(stream, 1 + usize::from(piece)), cut(stream, stream.len().max(1)));
});
