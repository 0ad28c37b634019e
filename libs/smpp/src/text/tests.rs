use super::join::{Joined, Joiner};
use super::udh::{BadUdh, Concatenation, Udh, UserData};
use super::*;
use crate::samples::Random;
use crate::tlv::{Tag, TlvBuf, Tlvs};
use proptest::collection::vec;
use proptest::prelude::*;
use std::time::{Duration, Instant};

fn encoded(charset: Charset, text: &str) -> Vec<u8> {
    let mut octets = Vec::new();
    charset.encode(text, &mut octets).unwrap();
    octets
}

#[test]
fn the_gsm_alphabet_is_the_standards() {
    // TS 23.038 §6.2.1: some from each corner of the table, and all of the extension.
    let rows = [
        ('@', &[0x00][..]),
        ('£', &[0x01]),
        ('$', &[0x02]),
        ('Ç', &[0x09]),
        ('\n', &[0x0A]),
        ('\r', &[0x0D]),
        ('Δ', &[0x10]),
        ('_', &[0x11]),
        ('Ξ', &[0x1A]),
        ('Æ', &[0x1C]),
        ('É', &[0x1F]),
        (' ', &[0x20]),
        ('¤', &[0x24]),
        ('?', &[0x3F]),
        ('¡', &[0x40]),
        ('A', &[0x41]),
        ('Z', &[0x5A]),
        ('Ä', &[0x5B]),
        ('§', &[0x5F]),
        ('¿', &[0x60]),
        ('a', &[0x61]),
        ('z', &[0x7A]),
        ('à', &[0x7F]),
        ('\u{c}', &[0x1B, 0x0A]),
        ('^', &[0x1B, 0x14]),
        ('{', &[0x1B, 0x28]),
        ('}', &[0x1B, 0x29]),
        ('\\', &[0x1B, 0x2F]),
        ('[', &[0x1B, 0x3C]),
        ('~', &[0x1B, 0x3D]),
        (']', &[0x1B, 0x3E]),
        ('|', &[0x1B, 0x40]),
        ('€', &[0x1B, 0x65]),
    ];
    for (character, septets) in rows {
        let text = character.to_string();
        assert_eq!(encoded(Charset::Gsm7, &text), septets, "{character:?}");
        assert_eq!(Charset::Gsm7.decode(septets), text);
        assert_eq!(gsm7::septets(character), Some(septets.len()));
    }
    for character in ['`', 'ç', 'ê', '\u{1b}', '’', '“', 'Ж', '中', '😀', '\t', '\0', 'Ÿ', 'Α'] {
        assert_eq!(gsm7::septets(character), None, "{character:?}");
    }
}

#[test]
fn every_septet_but_the_escape_is_its_own_character() {
    for septet in (0..0x80).filter(|septet| *septet != gsm7::ESCAPE) {
        let text = Charset::Gsm7.decode(&[septet]);
        assert_eq!(encoded(Charset::Gsm7, &text), [septet]);
    }
}

#[test]
fn escapes_without_meaning_show_what_the_standard_says() {
    let cases: [(&[u8], &str); 5] = [
        (&[0x1B], " "),
        (&[0x1B, 0x1B], " "),
        (&[0x1B, 0x41], "A"),
        (&[0x61, 0x1B], "a "),
        (&[0x80 | 0x41], "A"),
    ];
    for (septets, text) in cases {
        assert_eq!(Charset::Gsm7.decode(septets), text);
    }
}

#[test]
fn septets_pack_as_in_the_standard() {
    // TS 23.038 §6.1.2.1's rule on the example everyone uses.
    let mut octets = Vec::new();
    gsm7::pack(&encoded(Charset::Gsm7, "hellohello"), 0, &mut octets);
    assert_eq!(octets, [0xE8, 0x32, 0x9B, 0xFD, 0x46, 0x97, 0xD9, 0xEC, 0x37]);
    let mut all = Vec::new();
    gsm7::pack(&[b'a'; 160], 0, &mut all);
    assert_eq!(all.len(), 140, "160 septets are 140 octets");
    let mut part = Vec::new();
    gsm7::pack(&[b'a'; 153], 1, &mut part);
    assert_eq!(part.len(), 134, "153 septets behind a 6 octet header");
}

proptest! {
    #[test]
    fn packed_septets_unpack(septets in vec(0u8..0x80, 0..200), fill in 0u32..7) {
        let (mut octets, mut back) = (Vec::new(), Vec::new());
        gsm7::pack(&septets, fill, &mut octets);
        gsm7::unpack(&octets, fill, septets.len(), &mut back);
        prop_assert_eq!(back, septets);
    }

    #[test]
    fn text_comes_back_through_its_coding(text in any::<String>(), gsm: bool) {
        let default = if gsm { Charset::Gsm7 } else { Charset::Latin1 };
        let coding = choose(&text, default);
        let octets = encoded(coding.charset, &text);
        prop_assert_eq!(coding.charset.decode(&octets), text);
        prop_assert_eq!(Coding::of(coding.data_coding, default), coding);
    }

    #[test]
    fn parts_are_counted_cut_and_joined_alike(
        text in "[a-z {}€@\u{e9}\u{416}\u{4e2d}\u{1f600}\u{1f9d1}]{0,900}",
        concat in prop::sample::select(&[Concat::Udh8, Concat::Udh16, Concat::Sar, Concat::Payload]),
        charset in prop::sample::select(&[Charset::Gsm7, Charset::Ucs2, Charset::Latin1]),
        reference: u16,
    ) {
        let mut octets = Vec::new();
        charset.encode_lossy(&text, &mut octets);
        let cut: Vec<Part<'_>> = split(&octets, charset, concat, reference).unwrap().collect();
        prop_assert_eq!(cut.len(), parts(&text, charset, concat));
        let joined: Vec<u8> = cut.iter().flat_map(|part| part.payload.to_vec()).collect();
        prop_assert_eq!(&joined, &octets);
        let (single, limit) = concat.limits(charset);
        for (index, part) in cut.iter().enumerate() {
            prop_assert_eq!((usize::from(part.number), usize::from(part.total)), (index + 1, cut.len()));
            let limit = if cut.len() == 1 { single } else { limit };
            prop_assert!(part.payload.len() <= limit * charset.unit_octets());
            // Each part is text by itself: no pair was split.
            let alone = charset.decode(part.payload);
            prop_assert!(!alone.contains(char::REPLACEMENT_CHARACTER));
            prop_assert!(charset != Charset::Gsm7 || encoded(charset, &alone) == part.payload);
        }
    }
}

#[test]
fn a_message_alone_and_each_part_hold_what_the_standards_say() {
    use national::{Language, Shift};
    let one = Shift { locking: None, single: Some(Language::Turkish) };
    let locking = Shift { locking: Some(Language::Turkish), single: None };
    let both = Shift { locking: Some(Language::Turkish), single: Some(Language::Turkish) };
    // TS 23.040 §9.2.3.24.1 and TS 23.038 §6.2.1: 140 octets on the air, less the header, in septets, octets
    // or units of UTF-16.
    let rows = [
        (Charset::Gsm7, Shift::NONE, Concat::Udh8, 160, 153),
        (Charset::Gsm7, Shift::NONE, Concat::Udh16, 160, 152),
        (Charset::Gsm7, Shift::NONE, Concat::Sar, 160, 152),
        (Charset::Gsm7, one, Concat::Udh8, 155, 149),
        (Charset::Gsm7, locking, Concat::Udh8, 155, 149),
        (Charset::Gsm7, one, Concat::Udh16, 155, 148),
        (Charset::Gsm7, both, Concat::Udh8, 152, 146),
        (Charset::Gsm7, both, Concat::Udh16, 152, 145),
        (Charset::Ascii, Shift::NONE, Concat::Udh8, 160, 153),
        (Charset::Ucs2, Shift::NONE, Concat::Udh8, 70, 67),
        (Charset::Ucs2, Shift::NONE, Concat::Udh16, 70, 66),
        (Charset::Ucs2, Shift::NONE, Concat::Sar, 70, 66),
        (Charset::Binary, Shift::NONE, Concat::Udh8, 140, 134),
        (Charset::Binary, Shift::NONE, Concat::Udh16, 140, 133),
        (Charset::Latin1, Shift::NONE, Concat::Udh8, 140, 134),
    ];
    for (charset, shift, concat, alone, part) in rows {
        let what = format!("{charset:?} {shift:?} {concat:?}");
        assert_eq!(concat.limits_shifted(charset, shift), (alone, part), "{what}");
        for (units, expected) in
            [(alone, 1), (alone + 1, 2), (2 * part, 2), (2 * part + 1, 3), (255 * part, 255)]
        {
            let text = "a".repeat(units);
            let octets = encoded(charset, &text);
            assert_eq!(parts_shifted(&text, charset, shift, concat), expected, "{what} {units}");
            let cut: Vec<Part<'_>> = split_shifted(&octets, charset, shift, concat, 1).unwrap().collect();
            assert_eq!(cut.len(), expected, "{what} {units}");
            for part in cut {
                assert!(air_octets(charset, &part) <= 140, "{what} {units}");
            }
        }
    }
}

/// What a part takes on the air: the header, which the SMSC makes for SAR parameters, and the text, packed if
/// it is of septets.
fn air_octets(charset: Charset, part: &Part<'_>) -> usize {
    let mut message = Vec::new();
    part.write_short_message(&mut message);
    let made_for_us = if part.concat == Concat::Sar && part.total > 1 { 7 } else { 0 };
    let header = message.len() - part.payload.len() + made_for_us;
    match charset {
        Charset::Gsm7 | Charset::Ascii => {
            let septets = (header * 8).div_ceil(7) + part.payload.len();
            (septets * 7).div_ceil(8)
        }
        Charset::Latin1
        | Charset::Ucs2
        | Charset::Cyrillic
        | Charset::Hebrew
        | Charset::Japanese
        | Charset::Korean
        | Charset::Binary => header + part.payload.len(),
    }
}

#[test]
fn parts_at_the_borders() {
    let a = |count| "a".repeat(count);
    let cases = [
        (String::new(), Charset::Gsm7, 1),
        (a(160), Charset::Gsm7, 1),
        (a(161), Charset::Gsm7, 2),
        (a(306), Charset::Gsm7, 2),
        (a(307), Charset::Gsm7, 3),
        ("€".repeat(80), Charset::Gsm7, 1),
        ("€".repeat(81), Charset::Gsm7, 2),
        // 152 septets and an escape pair: the pair moves to the second part whole, and so on.
        (a(152) + "€" + &a(152), Charset::Gsm7, 3),
        (a(152) + "€" + &a(151), Charset::Gsm7, 2),
        ("é".repeat(70), Charset::Ucs2, 1),
        ("é".repeat(71), Charset::Ucs2, 2),
        ("😀".repeat(35), Charset::Ucs2, 1),
        // 67 units hold 33 pairs: 66 units a part.
        ("😀".repeat(66), Charset::Ucs2, 2),
        ("😀".repeat(67), Charset::Ucs2, 3),
        (a(140), Charset::Latin1, 1),
        (a(141), Charset::Latin1, 2),
        (a(268), Charset::Latin1, 2),
        (a(269), Charset::Latin1, 3),
    ];
    for (text, charset, expected) in cases {
        let octets = encoded(charset, &text);
        assert_eq!(parts(&text, charset, Concat::Udh8), expected, "{charset:?} {}", text.chars().count());
        assert_eq!(split(&octets, charset, Concat::Udh8, 0).unwrap().len(), expected);
    }
}

#[test]
fn more_parts_than_can_be_counted_are_refused() {
    let octets = vec![b'a'; 153 * 255 + 1];
    assert_eq!(split(&octets[1..], Charset::Gsm7, Concat::Udh8, 0).unwrap().len(), 255);
    assert_eq!(split(&octets, Charset::Gsm7, Concat::Udh8, 0).unwrap_err().parts, 256);
    let payload = vec![b'a'; 65_536];
    assert!(split(&payload, Charset::Gsm7, Concat::Payload, 0).is_err());
    assert_eq!(split(&payload[1..], Charset::Gsm7, Concat::Payload, 0).unwrap().len(), 1);
}

#[test]
fn each_way_of_tying_parts_is_written_and_read_back() {
    let octets = encoded(Charset::Gsm7, &"a".repeat(200));
    for (concat, header) in [(Concat::Udh8, 6), (Concat::Udh16, 7), (Concat::Sar, 0)] {
        for part in split(&octets, Charset::Gsm7, concat, 0x1234).unwrap() {
            let (mut message, mut tlvs) = (Vec::new(), TlvBuf::new());
            part.write_short_message(&mut message);
            part.write_tlvs(&mut tlvs).unwrap();
            assert_eq!(message.len(), header + part.payload.len());
            let has_udh = part.esm_class() & crate::pdu::esm_class::UDHI != 0;
            assert_eq!(has_udh, header > 0);
            let read = UserData::new(&message, has_udh, tlvs.as_tlvs()).unwrap();
            let place = read.concatenation.unwrap();
            let reference = if concat == Concat::Udh8 { 0x34 } else { 0x1234 };
            assert_eq!((place.reference, place.total, place.number), (reference, 2, part.number));
            assert_eq!(read.text, part.payload);
        }
    }
    let part = split(&octets, Charset::Gsm7, Concat::Payload, 0).unwrap().next().unwrap();
    let (mut message, mut tlvs) = (Vec::new(), TlvBuf::new());
    part.write_short_message(&mut message);
    part.write_tlvs(&mut tlvs).unwrap();
    assert!(message.is_empty());
    assert_eq!(tlvs.as_tlvs().find(Tag::MESSAGE_PAYLOAD), Some(&octets[..]));
    assert_eq!(part.esm_class(), 0);
}

#[test]
fn a_single_part_has_no_header() {
    let part = split(b"hi", Charset::Gsm7, Concat::Udh8, 9).unwrap().next().unwrap();
    let mut message = Vec::new();
    part.write_short_message(&mut message);
    assert_eq!((&message[..], part.esm_class()), (&b"hi"[..], 0));
}

#[test]
fn the_coding_is_chosen_by_what_the_alphabet_has() {
    let cases = [
        ("plain", Charset::Gsm7, Charset::Gsm7, 0),
        ("grüezi €", Charset::Gsm7, Charset::Gsm7, 0),
        ("ça va", Charset::Gsm7, Charset::Ucs2, 8),
        ("ça va", Charset::Latin1, Charset::Latin1, 0),
        ("€", Charset::Latin1, Charset::Ucs2, 8),
        ("é", Charset::Ascii, Charset::Ucs2, 8),
        ("привет", Charset::Gsm7, Charset::Ucs2, 8),
        ("😀", Charset::Latin1, Charset::Ucs2, 8),
    ];
    for (text, default, charset, data_coding) in cases {
        assert_eq!(choose(text, default), Coding { charset, data_coding }, "{text}");
    }
    assert_eq!((choose_flash("hi").data_coding, choose_flash("Ж").data_coding), (0x10, 0x18));
    assert_eq!(
        (choose_flash("hi").class(), choose_flash("Ж").class(), choose("hi", Charset::Gsm7).class()),
        (Some(0), Some(0), None)
    );
}

#[test]
fn data_codings_are_read_by_smpps_table_and_the_standards() {
    use Charset::{Ascii, Binary, Cyrillic, Gsm7, Hebrew, Japanese, Korean, Latin1, Ucs2};
    let cases = [
        (0x00, Latin1, None),
        (0x01, Ascii, None),
        (0x02, Binary, None),
        (0x03, Latin1, None),
        (0x04, Binary, None),
        (0x05, Japanese, None),
        (0x06, Cyrillic, None),
        (0x07, Hebrew, None),
        (0x08, Ucs2, None),
        (0x09, Binary, None),
        (0x0A, Japanese, None),
        (0x0B, Binary, None),
        (0x0C, Binary, None),
        (0x0D, Japanese, None),
        (0x0E, Korean, None),
        (0x0F, Binary, None),
        (0x10, Gsm7, Some(0)),
        (0x11, Gsm7, Some(1)),
        (0x14, Binary, Some(0)),
        (0x18, Ucs2, Some(0)),
        (0x1B, Ucs2, Some(3)),
        (0x1C, Gsm7, Some(0)),
        (0x20, Binary, None),
        (0x28, Binary, None),
        (0x30, Binary, Some(0)),
        (0x48, Ucs2, None),
        (0x54, Binary, Some(0)),
        (0x80, Gsm7, None),
        (0xBF, Gsm7, None),
        (0xC8, Gsm7, None),
        (0xD0, Gsm7, None),
        (0xE0, Ucs2, None),
        (0xF0, Gsm7, Some(0)),
        (0xF1, Gsm7, Some(1)),
        (0xF3, Gsm7, Some(3)),
        (0xF4, Binary, Some(0)),
        (0xF5, Binary, Some(1)),
        (0xFF, Binary, Some(3)),
    ];
    for (data_coding, charset, class) in cases {
        let coding = Coding::of(data_coding, Latin1);
        assert_eq!((coding.charset, coding.class()), (charset, class), "{data_coding:#x}");
    }
}

#[test]
fn alphabets_of_the_table_are_read_in_every_form_that_carriers_write() {
    use Charset::{Cyrillic, Hebrew, Japanese, Korean};
    let cases: [(Charset, &[u8], &str); 8] = [
        (Cyrillic, b"\xBF\xE0\xD8\xD2\xD5\xE2 \xA1", "Привет Ё"),
        (Hebrew, b"\xF9\xEC\xE5\xED", "שלום"),
        (Japanese, b"\x1B$B$3$s$K$A$O\x1B(B!", "こんにちは!"),
        (Japanese, b"\xA4\xB3\xA4\xF3\xA4\xCB\xA4\xC1\xA4\xCF!", "こんにちは!"),
        (Japanese, b"\x82\xB1\x82\xF1\x82\xC9\x82\xBF\x82\xCD!", "こんにちは!"),
        (Japanese, b"\x8F\xB0\xA1", "丂"),
        (Korean, b"\xBE\xC8\xB3\xE7", "안녕"),
        (Cyrillic, b"", ""),
    ];
    for (charset, octets, text) in cases {
        assert_eq!(charset.decode(octets), text, "{charset:?}");
    }
    for (charset, text) in
        [(Cyrillic, "Привет"), (Hebrew, "שלום"), (Japanese, "こんにちは"), (Korean, "안녕")]
    {
        assert_eq!(charset.decode(&encoded(charset, text)), text, "{charset:?}");
        assert!(charset.can_encode(text) && !charset.can_encode("😀"));
        let error = charset.encode("a😀", &mut Vec::new()).unwrap_err();
        assert_eq!((error.character, error.at), ('😀', 1));
    }
}

#[test]
fn what_an_alphabet_lacks_is_named_or_replaced() {
    let error = Charset::Gsm7.encode("naïve", &mut Vec::new()).unwrap_err();
    assert_eq!((error.character, error.at), ('ï', 2));
    for charset in [Charset::Gsm7, Charset::Ascii, Charset::Latin1] {
        let mut octets = Vec::new();
        assert_eq!(charset.encode_lossy("a中b", &mut octets), 1);
        assert_eq!(octets, b"a?b");
        assert!(charset.encode("中", &mut octets).is_err());
        assert_eq!(octets, b"a?b", "nothing of a failed text stays");
    }
}

#[test]
fn broken_utf_16_becomes_the_replacement_character() {
    assert_eq!(Charset::Ucs2.decode(&[0xD8, 0x3D]), "\u{FFFD}");
    assert_eq!(Charset::Ucs2.decode(&[0, b'a', 0]), "a\u{FFFD}");
    assert_eq!(Charset::Ucs2.decode(&[0xD8, 0x3D, 0xDE, 0x00]), "😀");
}

#[test]
fn headers_are_read_and_bad_ones_refused() {
    type Case = (&'static [u8], Result<(Option<(u16, u8, u8)>, usize), BadUdh>);
    let cases: [Case; 12] = [
        (b"", Err(BadUdh)),
        (b"\x00hi", Ok((None, 2))),
        (b"\x05\x00\x03\x2A\x02\x01hi", Ok((Some((42, 2, 1)), 2))),
        (b"\x06\x08\x04\x01\x02\x03\x03hi", Ok((Some((0x102, 3, 3)), 2))),
        // Number 0, number over total, total 0: the element is ignored.
        (b"\x05\x00\x03\x2A\x02\x00hi", Ok((None, 2))),
        (b"\x05\x00\x03\x2A\x02\x03hi", Ok((None, 2))),
        (b"\x05\x00\x03\x2A\x00\x00hi", Ok((None, 2))),
        // The header longer than the message; an element longer than the header; a stray octet in it.
        (b"\x05\x00\x03\x2A\x02", Err(BadUdh)),
        (b"\x05\x00\x04\x2A\x02\x01hi", Err(BadUdh)),
        (b"\x06\x00\x03\x2A\x02\x01\x00hi", Err(BadUdh)),
        (b"\xFF", Err(BadUdh)),
        // An element of a wrong size is not a concatenation.
        (b"\x04\x00\x02\x2A\x02hi", Ok((None, 2))),
    ];
    for (message, expected) in cases {
        let read = Udh::split(message).map(|(udh, text)| {
            (udh.concatenation().map(|place| (place.reference, place.total, place.number)), text.len())
        });
        assert_eq!(read, expected, "{message:?}");
    }
    let (udh, _) = Udh::split(b"\x0C\x05\x04\x0B\x84\x23\xF0\x24\x01\x02\x25\x01\x03").unwrap();
    assert_eq!(
        (udh.ports(), udh.single_shift(), udh.locking_shift()),
        (Some((2948, 9200)), Some(2), Some(3))
    );
    let (udh, _) = Udh::split(b"\x0A\x00\x03\x01\x02\x01\x00\x03\x02\x02\x02").unwrap();
    assert_eq!(udh.concatenation().map(|place| place.reference), Some(2), "of two the last counts");
}

#[test]
fn a_received_text_is_read_by_its_coding_and_its_headers_tables() {
    let cases: [(&[u8], u8, Charset, &str); 7] = [
        (b"\x00\x02\x1b\x65", 0, Charset::Gsm7, "@$€"),
        (b"\xE9", 0, Charset::Latin1, "é"),
        (b"\x03\x25\x01\x01\x07", 0, Charset::Gsm7, "ı"),
        (b"\x03\x24\x01\x02\x1b\x41", 0, Charset::Gsm7, "Á"),
        (b"\x06\x24\x01\x01\x25\x01\x01\x0B\x1b\x69", 0x10, Charset::Latin1, "Ğı"),
        // A language that nobody knows is the default; other alphabets have no tables.
        (b"\x03\x25\x01\x63\x07", 0, Charset::Gsm7, "ì"),
        (b"\x03\x25\x01\x01\xD8\x3D\xDE\x00", 8, Charset::Gsm7, "😀"),
    ];
    for (message, data_coding, default, expected) in cases {
        let has_udh = matches!(message[0], 3 | 6);
        let data = UserData::new(message, has_udh, Tlvs::NONE).unwrap();
        assert_eq!(data.decode(data_coding, default), expected, "{message:?}");
    }
}

#[test]
fn sar_parameters_count_when_all_three_are_there() {
    let mut tlvs = TlvBuf::new();
    tlvs.push_u16(Tag::SAR_MSG_REF_NUM, 7).push_u8(Tag::SAR_TOTAL_SEGMENTS, 2);
    assert_eq!(UserData::new(b"hi", false, tlvs.as_tlvs()).unwrap().concatenation, None);
    tlvs.push_u8(Tag::SAR_SEGMENT_SEQNUM, 2);
    let place = Concatenation { reference: 7, total: 2, number: 2, wide: true };
    assert_eq!(UserData::new(b"hi", false, tlvs.as_tlvs()).unwrap().concatenation, Some(place));
}

fn place(reference: u16, total: u8, number: u8) -> Concatenation {
    Concatenation { reference, total, number, wide: false }
}

#[test]
fn parts_are_joined_in_any_order_and_whatever_lies_between() {
    let now = Instant::now();
    for seed in cases::seeds(200) {
        let mut random = Random(seed);
        let mut joiner: Joiner<Vec<u8>> = Joiner::default();
        let (phones, total) = (1 + random.below(5), 2 + random.below(6));
        let mut queue: Vec<(usize, u8)> =
            (0..phones).flat_map(|phone| (1..=total as u8).map(move |number| (phone, number))).collect();
        let mut complete = 0;
        while !queue.is_empty() {
            let (phone, number) = queue.swap_remove(random.below(queue.len()));
            let part = vec![phone as u8, number];
            let source = [phone as u8];
            let joined = joiner.insert(&source, b"12345", place(9, total as u8, number), part.clone(), now);
            if let Joined::Complete(parts) = joined {
                let expected: Vec<_> = (1..=total as u8).map(|number| vec![phone as u8, number]).collect();
                assert_eq!(parts, expected, "seed {seed}");
                complete += 1;
            } else {
                assert_eq!(joined, Joined::Waiting, "seed {seed}");
                let again =
                    joiner.insert(&source, b"12345", place(9, total as u8, number), part.clone(), now);
                assert_eq!(again, Joined::Duplicate(part), "seed {seed}");
            }
        }
        assert_eq!((complete, joiner.waiting()), (phones, 0), "seed {seed}");
    }
}

#[test]
fn parts_of_other_messages_are_not_mixed() {
    let now = Instant::now();
    let mut joiner: Joiner<Vec<u8>> = Joiner::default();
    let first = place(1, 2, 1);
    joiner.insert(b"a", b"x", first, vec![1], now);
    let others: [(&[u8], &[u8], Concatenation); 5] = [
        (b"b", b"x", place(1, 2, 2)),
        (b"a", b"y", place(1, 2, 2)),
        (b"a", b"x", place(2, 2, 2)),
        (b"a", b"x", place(1, 3, 2)),
        (b"a", b"x", Concatenation { wide: true, ..place(1, 2, 2) }),
    ];
    for (source, destination, place) in others {
        assert_eq!(joiner.insert(source, destination, place, vec![2], now), Joined::Waiting);
    }
    assert_eq!(
        joiner.insert(b"a", b"x", place(1, 2, 2), vec![2], now),
        Joined::Complete(vec![vec![1], vec![2]])
    );
}

#[test]
fn an_incomplete_message_is_given_up_after_its_time() {
    let start = Instant::now();
    let mut joiner: Joiner<Vec<u8>> = Joiner::new(Duration::from_secs(60), 10, 1_000);
    joiner.insert(b"a", b"x", place(1, 3, 2), vec![2], start);
    joiner.insert(b"b", b"x", place(1, 2, 1), vec![1], start + Duration::from_secs(30));
    assert_eq!(joiner.poll_timeout(), Some(start + Duration::from_secs(60)));
    joiner.handle_timeout(start + Duration::from_secs(59));
    assert_eq!(joiner.poll_incomplete(), None);
    joiner.handle_timeout(start + Duration::from_secs(60));
    let given_up = joiner.poll_incomplete().unwrap();
    assert_eq!((&given_up.key.source[..], given_up.parts), (&b"a"[..], vec![None, Some(vec![2]), None]));
    assert_eq!((joiner.poll_incomplete(), joiner.waiting()), (None, 1));
    // The same reference may then be used for another message.
    assert_eq!(
        joiner.insert(b"a", b"x", place(1, 3, 2), vec![9], start + Duration::from_secs(61)),
        Joined::Waiting
    );
    joiner.handle_timeout(start + Duration::from_secs(90));
    assert_eq!(joiner.poll_incomplete().map(|set| set.key.source), Some(b"b"[..].into()));
    assert_eq!(joiner.waiting(), 1, "the new one has its own time");
}

#[test]
fn the_joiner_is_bounded_and_gives_up_the_oldest() {
    let now = Instant::now();
    let mut joiner: Joiner<Vec<u8>> = Joiner::new(Duration::from_secs(60), 10, 500);
    for phone in 0..1_000u32 {
        joiner.insert(&phone.to_be_bytes(), b"x", place(1, 2, 1), vec![0; 10], now);
        while joiner.poll_incomplete().is_some() {}
        assert!(joiner.waiting() <= 10);
    }
    joiner.insert(b"big", b"x", place(1, 2, 1), vec![0; 480], now);
    let given_up = std::iter::from_fn(|| joiner.poll_incomplete()).count();
    assert!(given_up >= 8 && joiner.waiting() <= 3, "{given_up} given up, {} wait", joiner.waiting());
    for round in 0..1_000u16 {
        joiner.insert(b"fast", b"x", place(round, 2, 1), vec![1], now);
        let joined = joiner.insert(b"fast", b"x", place(round, 2, 2), vec![2], now);
        assert!(matches!(joined, Joined::Complete(_)), "{round}");
    }
}

#[test]
fn a_message_of_one_part_is_complete_at_once() {
    let mut joiner: Joiner<Vec<u8>> = Joiner::default();
    assert_eq!(
        joiner.insert(b"a", b"x", place(1, 1, 1), vec![1], Instant::now()),
        Joined::Complete(vec![vec![1]])
    );
}

#[test]
fn a_header_in_a_deliver_sm_is_taken_off() {
    let pdu = crate::pdu::DeliverSm {
        esm_class: crate::pdu::esm_class::UDHI,
        short_message: b"\x05\x00\x03\x2A\x02\x01hi",
        tlvs: Tlvs::NONE,
        ..Default::default()
    };
    let read = UserData::of_deliver(&pdu).unwrap();
    assert_eq!((read.text, read.concatenation), (&b"hi"[..], Some(place(42, 2, 1))));
}
