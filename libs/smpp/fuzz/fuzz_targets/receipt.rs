//! Any octets as a receipt's text and TLVs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smpp::Tlvs;
use smpp::receipt::{IdForm, Receipt, receipt_keys};

fuzz_target!(|bytes: &[u8]| {
    let (text, tlvs) = bytes.split_at(bytes.len() / 2);
    let receipt = Receipt::parse(text, Tlvs::parse(tlvs).unwrap_or_default());
    for id in receipt.ids() {
        let _ = receipt_keys(id, IdForm::Auto);
    }
    receipt.write_text(&mut Vec::new());
});
