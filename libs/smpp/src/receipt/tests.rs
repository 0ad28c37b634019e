use super::*;
use crate::pdu::esm_class::{INTERMEDIATE, RECEIPT};
use proptest::prelude::*;

const STANDARD: &[u8] =
    b"id:1A2B3C sub:001 dlvrd:001 submit date:2601021504 done date:260102150530 stat:DELIVRD err:000 text:Sirens test";

#[test]
fn the_standard_text_is_read() {
    let receipt = Receipt::parse(STANDARD, Tlvs::NONE);
    let expected = Receipt {
        text_id: b"1A2B3C",
        state: Some(MessageState::Delivered),
        state_word: b"DELIVRD",
        error: b"000",
        submitted: Some(1),
        delivered: Some(1),
        submit_date: b"2601021504",
        done_date: b"260102150530",
        text: b"Sirens test",
        ..Receipt::default()
    };
    assert_eq!(receipt, expected);
}

#[test]
fn carriers_write_it_in_many_ways() {
    use MessageState::{Accepted, Delivered, Enroute, Expired, Rejected, Undeliverable, Unknown};
    let cases: [(&str, &str, Option<MessageState>, &str); 16] = [
        ("ID:77 SUB:001 DLVRD:001 STAT:DELIVRD ERR:000 TEXT:x", "77", Some(Delivered), "000"),
        ("stat:EXPIRED id:77 err:1B", "77", Some(Expired), "1B"),
        ("id:77 stat:UNDELIV", "77", Some(Undeliverable), ""),
        ("id:77 stat:Undelivered err:27", "77", Some(Undeliverable), "27"),
        ("id:77 status:REJECTED", "77", Some(Rejected), ""),
        ("id: 77  stat: delivrd", "77", Some(Delivered), ""),
        ("message id:77 stat:ACCEPTD", "77", Some(Accepted), ""),
        ("id:77 submit_date:2601021504 done_date:2601021505 stat:ENROUTE", "77", Some(Enroute), ""),
        ("id:77,sub:001,dlvrd:000,stat:UNKNOWN,err:002", "77", Some(Unknown), "002"),
        ("id:77\r\nstat:FAILED\r\nerr:12", "77", Some(Undeliverable), "12"),
        (
            "id:d3adbeef-0000-4000-8000-00000000cafe stat:DELIVRD",
            "d3adbeef-0000-4000-8000-00000000cafe",
            Some(Delivered),
            "",
        ),
        ("stat:DELIVRD err:000", "", Some(Delivered), "000"),
        ("id:77", "77", None, ""),
        ("id: stat:DELIVRD", "", Some(Delivered), ""),
        ("id:77 stat:SOMETHING", "77", None, ""),
        ("", "", None, ""),
    ];
    for (text, id, state, error) in cases {
        let receipt = Receipt::parse(text.as_bytes(), Tlvs::NONE);
        assert_eq!(receipt.id(), id.as_bytes(), "{text}");
        assert_eq!((receipt.state, receipt.error), (state, error.as_bytes()), "{text}");
    }
}

#[test]
fn the_messages_own_text_cannot_overrule_the_carrier() {
    let text = b"id:77 sub:001 dlvrd:000 submit date:2601021504 done date:2601021504 stat:UNDELIV err:027 text:id:99 stat:DELIVRD err:000";
    let receipt = Receipt::parse(text, Tlvs::NONE);
    assert_eq!((receipt.id(), receipt.state), (&b"77"[..], Some(MessageState::Undeliverable)));
    assert_eq!((receipt.error, receipt.text), (&b"027"[..], &b"id:99 stat:DELIVRD err:000"[..]));
    let first = Receipt::parse(b"text:hello there id:77 stat:EXPIRED", Tlvs::NONE);
    assert_eq!(
        (first.id(), first.state),
        (&b"77"[..], Some(MessageState::Expired)),
        "the text may come first"
    );
}

#[test]
fn words_inside_words_are_no_fields() {
    let receipt = Receipt::parse(b"id:77 text:paid:12 upstat:x", Tlvs::NONE);
    assert_eq!((receipt.id(), receipt.state, receipt.text), (&b"77"[..], None, &b"paid:12 upstat:x"[..]));
}

#[test]
fn tlvs_go_before_the_text_and_both_ids_are_kept() {
    let mut tlvs = TlvBuf::new();
    tlvs.push_cstring(Tag::RECEIPTED_MESSAGE_ID, b"FF01").unwrap();
    tlvs.push_u8(Tag::MESSAGE_STATE, 5).push(Tag::NETWORK_ERROR_CODE, &[3, 0, 27]).unwrap();
    let receipt = Receipt::parse(STANDARD, tlvs.as_tlvs());
    assert_eq!((receipt.id(), receipt.state), (&b"FF01"[..], Some(MessageState::Undeliverable)));
    assert_eq!(receipt.network_error, Some(NetworkError { network: 3, code: 27 }));
    assert_eq!(receipt.ids().collect::<Vec<_>>(), [&b"FF01"[..], b"1A2B3C"]);
    let alone = Receipt::parse(b"", tlvs.as_tlvs());
    assert_eq!((alone.id(), alone.is_empty()), (&b"FF01"[..], false));
    let mut strange = TlvBuf::new();
    strange.push(Tag::RECEIPTED_MESSAGE_ID, b"no nul").unwrap().push_u8(Tag::MESSAGE_STATE, 99);
    let receipt = Receipt::parse(STANDARD, strange.as_tlvs());
    assert_eq!(
        (receipt.id(), receipt.state),
        (&b"no nul"[..], Some(MessageState::Delivered)),
        "state 99 is none"
    );
}

#[test]
fn a_receipt_is_one_when_the_carrier_says_so() {
    let deliver =
        |esm_class, tlvs| DeliverSm { esm_class, short_message: STANDARD, tlvs, ..DeliverSm::default() };
    let mut tlvs = TlvBuf::new();
    tlvs.push_cstring(Tag::RECEIPTED_MESSAGE_ID, b"77").unwrap();
    assert!(Receipt::of_deliver(&deliver(0, Tlvs::NONE)).is_none(), "a person can type that");
    assert!(Receipt::of_deliver(&deliver(0x40, Tlvs::NONE)).is_none());
    assert_eq!(Receipt::of_deliver(&deliver(RECEIPT, Tlvs::NONE)).unwrap().id(), b"1A2B3C");
    assert_eq!(Receipt::of_deliver(&deliver(0, tlvs.as_tlvs())).unwrap().id(), b"77");
    let intermediate = Receipt::of_deliver(&deliver(INTERMEDIATE, Tlvs::NONE)).unwrap();
    assert!(intermediate.intermediate);
    let with_header = DeliverSm {
        esm_class: RECEIPT | crate::pdu::esm_class::UDHI,
        short_message: b"\x05\x00\x03\x2A\x01\x01id:77 stat:DELIVRD",
        ..DeliverSm::default()
    };
    assert_eq!(Receipt::of_deliver(&with_header).unwrap().id(), b"77");
    let mut payload = TlvBuf::new();
    payload.push(Tag::MESSAGE_PAYLOAD, STANDARD).unwrap();
    let data = DataSm { esm_class: RECEIPT, tlvs: payload.as_tlvs(), ..DataSm::default() };
    assert_eq!(Receipt::of_data(&data).unwrap().id(), b"1A2B3C");
}

#[test]
fn what_is_written_is_read_back() {
    let receipt = Receipt {
        text_id: b"00C0FFEE",
        state: Some(MessageState::Expired),
        error: b"027",
        submit_date: b"2601021504",
        done_date: b"2601021600",
        text: b"a text of more than twenty octets",
        ..Receipt::default()
    };
    let (mut text, mut tlvs) = (Vec::new(), TlvBuf::new());
    receipt.write_text(&mut text);
    receipt.write_tlvs(&mut tlvs).unwrap();
    let expected: &[u8] = b"id:00C0FFEE sub:001 dlvrd:000 submit date:2601021504 done date:2601021600 stat:EXPIRED err:027 text:a text of more than ";
    assert_eq!(text, expected);
    let read = Receipt::parse(&text, tlvs.as_tlvs());
    assert_eq!((read.tlv_id, read.text_id, read.state), (&b"00C0FFEE"[..], &b"00C0FFEE"[..], receipt.state));
    assert_eq!(read.ids().count(), 1, "the same id twice is one");
}

#[test]
fn every_state_has_a_code_and_a_word_of_its_own() {
    for code in 0..=9 {
        let state = MessageState::from_code(code).unwrap();
        assert_eq!((state.code(), MessageState::from_word(state.word().as_bytes())), (code, Some(state)));
        assert_eq!(state.word().len(), 7);
        assert_eq!(state.is_final(), code > 1);
    }
    assert_eq!(MessageState::from_code(10), None);
}

#[test]
fn a_receipt_is_read_whatever_its_coding_is_called() {
    let text = std::str::from_utf8(STANDARD).unwrap();
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let reversed: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let cases = [
        (STANDARD, 0),
        (STANDARD, 1),
        (STANDARD, 3),
        (STANDARD, 8),
        (&wide, 8),
        (&wide, 0),
        (&wide, 0x18),
        (&reversed, 8),
    ];
    for (octets, data_coding) in cases {
        let plain = plain_text(octets, data_coding);
        let receipt = Receipt::marked(RECEIPT, &plain, Tlvs::NONE).unwrap();
        assert_eq!(
            (receipt.id(), receipt.state),
            (&b"1A2B3C"[..], Some(MessageState::Delivered)),
            "{data_coding}"
        );
    }
    assert_eq!(&*plain_text(b"\x04\x16\0a", 8), b"\x04\x16\0a", "what is no receipt stays as it is");
}

#[test]
fn an_unmarked_text_may_be_a_receipt_where_it_has_id_and_state() {
    let read = Receipt::unmarked(STANDARD).unwrap();
    assert_eq!((read.id(), read.state), (&b"1A2B3C"[..], Some(MessageState::Delivered)));
    for text in [&b"id:77"[..], b"stat:DELIVRD", b"hello", b"", b"my id: stat:DELIVRD"] {
        assert_eq!(Receipt::unmarked(text), None, "{}", String::from_utf8_lossy(text));
    }
}

/// Which key of the receipt's finds the submission, counted from 0.
fn found(submit: &str, receipt: &str, form: IdForm) -> Option<usize> {
    let key = submit_key(submit.as_bytes());
    receipt_keys(receipt.as_bytes(), form).as_slice().iter().position(|candidate| *candidate == key)
}

#[test]
fn a_receipts_id_finds_its_message() {
    use IdForm::{AsIs, Auto, DecimalToHex, HexToDecimal};
    let uuid = "d3adbeef-0000-4000-8000-00000000cafe";
    let cases = [
        ("1A2B", "1A2B", AsIs, Some(0)),
        ("1A2B", "1a2b", AsIs, Some(0)),
        ("00001A2B", "1a2b", AsIs, Some(0)),
        ("1A2B", "0x1A2B", AsIs, Some(0)),
        (" 1A2B\0", "1A2B", AsIs, Some(0)),
        ("0", "000", AsIs, Some(0)),
        (uuid, "D3ADBEEF-0000-4000-8000-00000000CAFE", AsIs, Some(0)),
        (uuid, "{d3adbeef-0000-4000-8000-00000000cafe}", AsIs, Some(0)),
        (uuid, "d3adbeef0000400080000000000000cafe", AsIs, None),
        (uuid, "d3adbeef00004000800000000000cafe", AsIs, Some(0)),
        ("00adbeef-0000-4000-8000-00000000cafe", "00adbeef00004000800000000000cafe", AsIs, Some(0)),
        ("msg-Ab", "msg-aB", AsIs, None),
        ("msg-Ab", "msg-Ab", AsIs, Some(0)),
        ("1A2B", "6699", AsIs, None),
        ("1A2B", "6699", HexToDecimal, Some(0)),
        ("1a2b", "0006699", HexToDecimal, Some(0)),
        ("6699", "6699", HexToDecimal, None),
        ("6699", "1A2B", DecimalToHex, Some(0)),
        ("6699", "00001a2b", DecimalToHex, Some(0)),
        ("6699", "6699", Auto, Some(0)),
        ("1A2B", "6699", Auto, Some(1)),
        ("6699", "1A2B", Auto, Some(1)),
        ("6699", "6699x", Auto, None),
        ("FFFFFFFFFFFFFFFF", "18446744073709551615", HexToDecimal, Some(0)),
        ("ffffffffffffffffffffffffffffffff", "340282366920938463463374607431768211455", Auto, None),
        ("7b", "124", Auto, None),
        ("", "", Auto, Some(0)),
    ];
    for (submit, receipt, form, expected) in cases {
        assert_eq!(found(submit, receipt, form), expected, "{submit} {receipt} {form:?}");
    }
}

#[test]
fn the_key_of_an_id_never_changes() {
    // These may be on disk: a change here is a change of format.
    assert_eq!(submit_key(b"1A2B"), submit_key(b"001a2b"));
    assert_eq!(submit_key(b"1A2B"), 0x79F6_1A01_69E1_2E03);
}

proptest! {
    #[test]
    fn a_number_is_found_however_it_is_written(value: u64, zeros in 0usize..6, upper: bool) {
        let pad = "0".repeat(zeros);
        let hex = if upper { format!("{pad}{value:X}") } else { format!("{pad}{value:x}") };
        let decimal = format!("{pad}{value}");
        prop_assert_eq!(found(&hex, &decimal, IdForm::HexToDecimal), Some(0));
        prop_assert_eq!(found(&decimal, &hex, IdForm::DecimalToHex), Some(0));
        prop_assert!(found(&hex, &decimal, IdForm::Auto).is_some());
        prop_assert!(found(&decimal, &hex, IdForm::Auto).is_some());
        prop_assert_eq!(found(&hex, &hex, IdForm::AsIs), Some(0));
    }

    #[test]
    fn different_numbers_are_different(a: u64, b: u64) {
        prop_assume!(a != b);
        for form in [IdForm::AsIs, IdForm::HexToDecimal, IdForm::DecimalToHex] {
            let (a, b) = match form {
                IdForm::AsIs | IdForm::Auto => (a.to_string(), b.to_string()),
                IdForm::HexToDecimal => (format!("{a:x}"), b.to_string()),
                IdForm::DecimalToHex => (a.to_string(), format!("{b:x}")),
            };
            prop_assert_eq!(found(&a, &b, form), None);
        }
    }

    #[test]
    fn any_text_is_read_without_harm(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        let receipt = Receipt::parse(&text, Tlvs::NONE);
        let mut again = Vec::new();
        receipt.write_text(&mut again);
        prop_assert!(again.starts_with(b"id:"));
    }
}
