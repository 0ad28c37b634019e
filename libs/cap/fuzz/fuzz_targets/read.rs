//! Any octets as a document of CAP: it is refused or read, and what can be written of it is read back and
//! written the same.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    let Ok(alerts) = cap::read_all(octets) else { return };
    for parsed in &alerts {
        assert!(parsed.problems.len() <= cap::PROBLEMS_MAX);
        let Ok(written) = cap::write(&parsed.alert) else { continue };
        let again = cap::read(&written).expect("what was written is read");
        assert_eq!(cap::write(&again.alert).expect("and written again"), written);
    }
});
