//! CBOR of RFC 8949 Appendix A, and octets beyond each bound.

use crate::passkey::cbor::{CborError, CborValue, DEPTH_MAX, ITEMS_MAX, OCTETS_MAX, read, read_first, write};
use proptest::prelude::*;

fn text(text: &str) -> CborValue {
    CborValue::Text(text.to_owned())
}

fn numbers(values: &[u64]) -> Vec<CborValue> {
    values.iter().map(|value| CborValue::Unsigned(*value)).collect()
}

#[test]
fn items_are_those_of_rfc_8949_appendix_a() {
    let nested = CborValue::Array(vec![
        CborValue::Unsigned(1),
        CborValue::Array(numbers(&[2, 3])),
        CborValue::Array(numbers(&[4, 5])),
    ]);
    let map = CborValue::Map(vec![
        (text("a"), CborValue::Unsigned(1)),
        (text("b"), CborValue::Array(numbers(&[2, 3]))),
    ]);
    for (octets, value) in [
        (&[0x00][..], CborValue::Unsigned(0)),
        (&[0x17], CborValue::Unsigned(23)),
        (&[0x18, 0x18], CborValue::Unsigned(24)),
        (&[0x19, 0x03, 0xe8], CborValue::Unsigned(1_000)),
        (&[0x1a, 0x00, 0x0f, 0x42, 0x40], CborValue::Unsigned(1_000_000)),
        (&[0x1b, 255, 255, 255, 255, 255, 255, 255, 255], CborValue::Unsigned(u64::MAX)),
        (&[0x3b, 255, 255, 255, 255, 255, 255, 255, 255], CborValue::Negative(u64::MAX)),
        (&[0x20], CborValue::Negative(0)),
        (&[0x39, 0x03, 0xe7], CborValue::Negative(999)),
        (&[0xf9, 0x00, 0x00], CborValue::Float(0.0)),
        (&[0xf9, 0x3e, 0x00], CborValue::Float(1.5)),
        (&[0xf9, 0x7b, 0xff], CborValue::Float(65_504.0)),
        (&[0xf9, 0x00, 0x01], CborValue::Float(5.960_464_477_539_063e-8)),
        (&[0xf9, 0xc4, 0x00], CborValue::Float(-4.0)),
        (&[0xf9, 0x7c, 0x00], CborValue::Float(f64::INFINITY)),
        (&[0xfa, 0x47, 0xc3, 0x50, 0x00], CborValue::Float(100_000.0)),
        (&[0xfb, 0x3f, 0xf1, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a], CborValue::Float(1.1)),
        (&[0xf4], CborValue::Bool(false)),
        (&[0xf5], CborValue::Bool(true)),
        (&[0xf6], CborValue::Null),
        (&[0xf7], CborValue::Undefined),
        (&[0x40], CborValue::Octets(Vec::new())),
        (&[0x44, 1, 2, 3, 4], CborValue::Octets(vec![1, 2, 3, 4])),
        (&[0x60], text("")),
        (&[0x62, 0xc3, 0xbc], text("\u{fc}")),
        (&[0x62, 0x22, 0x5c], text("\"\\")),
        (&[0x83, 1, 0x82, 2, 3, 0x82, 4, 5], nested.clone()),
        (&[0xa2, 0x61, 0x61, 1, 0x61, 0x62, 0x82, 2, 3], map.clone()),
        (&[0x5f, 0x42, 1, 2, 0x43, 3, 4, 5, 0xff], CborValue::Octets(vec![1, 2, 3, 4, 5])),
        (&[0x7f, 0x65, 0x73, 0x74, 0x72, 0x65, 0x61, 0x64, 0x6d, 0x69, 0x6e, 0x67, 0xff], text("streaming")),
        (&[0x9f, 0xff], CborValue::Array(Vec::new())),
        (&[0x9f, 1, 0x82, 2, 3, 0x9f, 4, 5, 0xff, 0xff], nested.clone()),
        (&[0x83, 1, 0x9f, 2, 3, 0xff, 0x82, 4, 5], nested.clone()),
        (&[0xbf, 0x61, 0x61, 1, 0x61, 0x62, 0x9f, 2, 3, 0xff, 0xff], map.clone()),
    ] {
        assert_eq!(read(octets), Ok(value), "{octets:02x?}");
    }
    let Ok(CborValue::Float(nan)) = read(&[0xf9, 0x7e, 0x00]) else { panic!("no float") };
    assert!(nan.is_nan());
}

#[test]
fn octets_that_are_no_item_are_refused_by_their_fault() {
    let deep = |arrays: usize| [vec![0x81; arrays], vec![0]].concat();
    let many = |items: u16| [&[0x99][..], &items.to_be_bytes(), &vec![0; usize::from(items)]].concat();
    assert!(read(&deep(DEPTH_MAX)).is_ok());
    assert!(read(&many(ITEMS_MAX as u16 - 1)).is_ok());
    for (octets, error) in [
        (vec![], CborError::Cut),
        (vec![0x18], CborError::Cut),
        (vec![0x44, 1, 2, 3], CborError::Cut),
        (vec![0x5b, 255, 255, 255, 255, 255, 255, 255, 255], CborError::Cut),
        (vec![0x9b, 255, 255, 255, 255, 255, 255, 255, 255], CborError::Cut),
        (vec![0xbb, 255, 255, 255, 255, 255, 255, 255, 255], CborError::Cut),
        (vec![0x9f, 1], CborError::Cut),
        (vec![0xa1, 1], CborError::Cut),
        (vec![0, 0], CborError::Trailing),
        (deep(DEPTH_MAX + 1), CborError::TooDeep),
        ([vec![0x9f; 5], vec![0xff; 5]].concat(), CborError::TooDeep),
        (vec![0x81; 60_000], CborError::TooDeep),
        (many(ITEMS_MAX as u16), CborError::TooMany),
        (vec![0; OCTETS_MAX + 1], CborError::TooLong),
        (vec![0x1c], CborError::Initial(0x1c)),
        (vec![0x1f], CborError::Initial(0x1f)),
        (vec![0xdf], CborError::Initial(0xdf)),
        (vec![0xff], CborError::Initial(0xff)),
        (vec![0x81, 0xff], CborError::Initial(0xff)),
        (vec![0xbf, 1, 0xff], CborError::Initial(0xff)),
        (vec![0xe0], CborError::Initial(0xe0)),
        (vec![0xf8, 0x20], CborError::Initial(0xf8)),
        (vec![0xc1, 0x00], CborError::Tag),
        (vec![0x61, 0xff], CborError::Utf8),
        (vec![0x7f, 0x61, 0xc3, 0x61, 0xbc, 0xff], CborError::Utf8),
        (vec![0x5f, 0x61, 0x61, 0xff], CborError::Chunk),
        (vec![0x5f, 0x5f, 0xff, 0xff], CborError::Chunk),
        (vec![0xa2, 1, 1, 1, 2], CborError::DuplicateKey),
        (vec![0xbf, 0x61, 0x61, 1, 0x61, 0x61, 2, 0xff], CborError::DuplicateKey),
    ] {
        assert_eq!(read(&octets), Err(error), "{:02x?}", &octets[..octets.len().min(20)]);
    }
}

#[test]
fn the_first_item_says_how_many_octets_it_takes() {
    assert_eq!(read_first(&[0x41, 7, 0xff]), Ok((CborValue::Octets(vec![7]), 2)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(2_048)))]

    #[test]
    fn whatever_is_read_is_written_and_read_back_the_same(octets: Vec<u8>) {
        if let Ok(value) = read(&octets) {
            let mut written = Vec::new();
            write(&value, &mut written);
            let mut again = Vec::new();
            write(&read(&written).unwrap(), &mut again);
            prop_assert_eq!(written, again);
        }
    }
}
