//! Any octets as TLVs: what is accepted is read to its end, judged, and written back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smpp::{Tag, TlvBuf, Tlvs};

fuzz_target!(|bytes: &[u8]| {
    let Ok(tlvs) = Tlvs::parse(bytes) else {
        return;
    };
    let mut again = TlvBuf::new();
    for tlv in tlvs.iter() {
        again.push(tlv.tag, tlv.value).expect("what was read can be written");
        assert_eq!(tlvs.find(tlv.tag), tlvs.find_all(tlv.tag).next());
        let _ = (tlvs.find_u8(tlv.tag), tlvs.find_u16(tlv.tag), tlvs.find_u32(tlv.tag), tlvs.find_cstring(tlv.tag));
    }
    assert_eq!(again.as_tlvs().as_bytes(), bytes);
    if tlvs.check().is_ok() {
        assert!(Tag::ALL.iter().all(|tag| tlvs.find_all(*tag).all(|value| tag.octets_allowed().contains(&value.len()))));
    }
});
