//! Any octets as an answer of a time-stamping authority: refused, or a token that is refused or holds.
#![no_main]

use evidence::timestamp::{TimestampToken, token_of_response};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    let _ = token_of_response(octets);
    if let Ok(token) = TimestampToken::parse(octets) {
        let _ = token.check(b"data");
    }
});
