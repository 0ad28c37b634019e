//! Any octets as text and header, any text cut into parts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smpp::text::{Charset, Concat, PARTS_MAX, parts, split, udh::Udh};

fuzz_target!(|bytes: &[u8]| {
    if let Ok((udh, _)) = Udh::split(bytes) {
        let _ = (udh.concatenation(), udh.ports(), udh.elements().count());
    }
    let text = String::from_utf8_lossy(bytes);
    for charset in [Charset::Gsm7, Charset::Ascii, Charset::Latin1, Charset::Ucs2, Charset::Binary] {
        let _ = charset.decode(bytes);
        let mut octets = Vec::new();
        charset.encode_lossy(&text, &mut octets);
        for concat in [Concat::Udh8, Concat::Udh16, Concat::Sar] {
            let count = parts(&text, charset, concat);
            match split(&octets, charset, concat, 1) {
                Ok(cut) => assert_eq!(cut.len(), count),
                Err(_) => assert!(count > PARTS_MAX),
            }
        }
    }
});
