//! Any octets as a line of an export: refused, or read to what writes the same octets again.
#![no_main]

use evidence::{EvidenceHeader, Line};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(line) = Line::parse(text) {
        assert_eq!(line.to_text(), text);
    }
    if let Ok(header) = EvidenceHeader::parse(text) {
        assert_eq!(header.to_text(), text);
    }
});
