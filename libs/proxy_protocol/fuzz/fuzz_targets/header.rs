//! Any octets as a header, and any after its signature: a client, the balancer itself, or an error; and no
//! octet beyond its length is asked for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proxy_protocol::{FIXED_OCTETS, REST_OCTETS_MAX, rest_octets, source};

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

fuzz_target!(|octets: &[u8]| {
    look(octets);
    look(&[SIGNATURE, octets].concat());
});

fn look(octets: &[u8]) {
    let Some((fixed, rest)) = octets.split_first_chunk::<FIXED_OCTETS>() else { return };
    let Ok(length) = rest_octets(fixed) else {
        assert!(source(fixed, rest).is_err());
        return;
    };
    assert!(length <= REST_OCTETS_MAX);
    if let Some(rest) = rest.get(..length) {
        let _ = source(fixed, rest);
    }
}
