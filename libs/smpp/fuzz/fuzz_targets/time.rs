//! Any octets as a time: what is accepted is written back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smpp::time::SmppTime;

fuzz_target!(|bytes: &[u8]| {
    let Some(time) = SmppTime::parse(bytes) else {
        return;
    };
    assert_eq!(SmppTime::parse(&time.to_bytes()), Some(time));
    if let Some(seconds) = time.relative_seconds() {
        let _ = SmppTime::relative(seconds).to_bytes();
    }
});
