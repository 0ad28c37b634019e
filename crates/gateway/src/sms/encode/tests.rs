use super::*;
use proptest::prelude::*;
use records::{AlertId, AlertNo, EndpointNo, Lane, ShortText, Timestamp};
use smpp::Tag;
use smpp::pdu::esm_class;
use smpp::text::udh::UserData;

fn sms(text: &str) -> Body {
    Body::of_text(text)
}

fn short(short: Short) -> Body {
    Body::Short(Box::new(short))
}

fn octets(data_coding: u8, octets: &[u8]) -> Short {
    Short { text: ShortText::Octets { data_coding, octets: octets.into() }, ..Short::default() }
}

fn text(text: &str, class: Option<u8>) -> Short {
    Short { text: ShortText::Text { text: text.into(), class }, ..Short::default() }
}

fn segment(bodies: Vec<Body>, flash: bool) -> Segment {
    Segment {
        alert: AlertNo(1),
        alert_id: AlertId(uuid::Uuid::nil()),
        account: String::new(),
        route: "r".to_owned(),
        lane: Lane::Routine,
        outcomes_from: 0,
        expires: Timestamp(i64::MAX),
        sender: None,
        flash,
        receipt: true,
        answer: false,
        emergency: false,
        bodies: bodies.into_iter().map(Arc::new).collect(),
        choices: Vec::new(),
        entries: Vec::new(),
    }
}

fn entry(body: u16, own: Option<Body>) -> Entry {
    Entry {
        expires: None,
        endpoint: EndpointNo(0),
        attempt: 1,
        address: "+46701234567".to_owned(),
        body,
        own: own.map(Box::new),
        link: None,
    }
}

fn route(concat: Concat) -> SmsRoute {
    SmsRoute { long: concat, ..SmsRoute::default() }
}

fn encoder(concat: Concat) -> SmsEncoder {
    SmsEncoder::new(&route(concat))
}

/// What goes out of a part.
#[derive(Debug, Clone, PartialEq)]
struct SentText {
    esm_class: u8,
    data_coding: u8,
    short_message: Vec<u8>,
    tlvs: Vec<u8>,
}

impl SentText {
    fn data(&self) -> UserData<'_> {
        let tlvs = Tlvs::parse(&self.tlvs).unwrap();
        let message = match self.short_message.as_slice() {
            [] => tlvs.find(Tag::MESSAGE_PAYLOAD).unwrap_or_default(),
            message => message,
        };
        UserData::new(message, self.esm_class & esm_class::UDHI != 0, tlvs).unwrap()
    }
}

/// All parts of an entry, as they are written one after another.
fn say(encoder: &SmsEncoder, segment: &Segment, entry: &Entry) -> Result<Vec<SentText>, Unsendable> {
    let prepared = encoder.prepare(segment);
    let units = encoder.units(segment, &prepared, entry);
    let kept = match &entry.own {
        Some(own) if units > 1 => Some(encoder.keep(segment, own)?),
        _ => None,
    };
    let mut scratch = Scratch::default();
    let mut part = |number| {
        let wording =
            encoder.wording(segment, &prepared, entry, kept.as_deref(), (number, 7), &mut scratch)?;
        Ok(SentText {
            esm_class: wording.esm_class,
            data_coding: wording.data_coding,
            short_message: wording.short_message.to_vec(),
            tlvs: wording.tlvs.as_bytes().to_vec(),
        })
    };
    (1..=units).map(&mut part).collect()
}

fn say_own(encoder: &SmsEncoder, body: Body) -> Result<Vec<SentText>, Unsendable> {
    say(encoder, &segment(Vec::new(), false), &entry(9, Some(body)))
}

fn whole(said: &[SentText], carrier: Charset) -> String {
    let octets: Vec<u8> = said.iter().flat_map(|said| said.data().text.to_vec()).collect();
    Coding::of(said[0].data_coding, carrier).charset.decode(&octets)
}

const ALL: [Concat; 4] = [Concat::Udh8, Concat::Udh16, Concat::Sar, Concat::Payload];

#[test]
fn parts_put_together_are_the_text_in_every_way_of_cutting() {
    let texts = ["short", &"word ".repeat(100), &"€uro ".repeat(80), &"日本語🗼".repeat(60), ""];
    for concat in ALL {
        let encoder = encoder(concat);
        for words in texts {
            let segment = segment(vec![sms(words)], false);
            let shared = say(&encoder, &segment, &entry(0, None)).unwrap();
            assert_eq!(whole(&shared, Charset::Gsm7), words, "{concat:?}");
            assert_eq!(shared.len() as u32, parts(&route(concat), words), "{concat:?} {words}");
            for own in [sms(words), short(text(words, None))] {
                assert_eq!(say_own(&encoder, own).unwrap(), shared, "an own body says the same");
            }
            assert_eq!(parts_of_short(&route(concat), &text(words, None)), shared.len() as u32);
        }
    }
}

#[test]
fn a_message_class_is_announced_in_either_alphabet() {
    let encoder = encoder(Concat::Udh8);
    for (words, class, data_coding) in
        [("latin", 0, 0x10), ("кирилл", 0, 0x18), ("latin", 1, 0x11), ("кирилл", 3, 0x1B)]
    {
        if class == 0 {
            let flash = segment(vec![sms(words)], true);
            assert_eq!(say(&encoder, &flash, &entry(0, None)).unwrap()[0].data_coding, data_coding);
        }
        let own = say_own(&encoder, short(text(words, Some(class)))).unwrap();
        assert_eq!(own[0].data_coding, data_coding, "{words} {class}");
    }
}

#[test]
fn what_cannot_be_sent_says_why() {
    let encoder = encoder(Concat::Udh8);
    let segment = segment(vec![sms(&"x".repeat(40_000))], false);
    let bad_tlvs = Short { tlvs: [1, 2, 3][..].into(), ..text("x", None) };
    let cases = [
        (entry(0, None), "sms:long"),
        (entry(1, None), "sms:body"),
        (entry(0, Some(sms(&"x".repeat(40_000)))), "sms:long"),
        (entry(0, Some(short(octets(4, &[7; 40_000])))), "sms:long"),
        (entry(0, Some(short(bad_tlvs))), "sms:tlvs"),
        (entry(0, Some(short(Short { udh: [0; 256][..].into(), ..octets(4, b"x") }))), "sms:udh"),
    ];
    for (entry, code) in cases {
        assert_eq!(say(&encoder, &segment, &entry).unwrap_err().code, code);
        let units = encoder.units(&segment, &encoder.prepare(&segment), &entry);
        assert_eq!(units, 1, "what is refused as a whole is one unit");
    }
}

#[test]
fn a_platforms_octets_and_header_go_as_they_are() {
    let udh: &[u8] = &[5, 4, 0x0B, 0x84, 0x23, 0xF0];
    let reference = [0x02, 0x04, 0, 2, 9, 9];
    for concat in ALL {
        let given = Short {
            udh: udh.into(),
            esm_class: esm_class::REPLY_PATH | 3,
            tlvs: reference[..].into(),
            ..octets(0xF5, &[1, 2, 3])
        };
        let said = say_own(&encoder(concat), short(given)).unwrap();
        let expected = SentText {
            esm_class: esm_class::UDHI | esm_class::REPLY_PATH | 3,
            data_coding: 0xF5,
            short_message: [&[6], udh, &[1, 2, 3]].concat(),
            tlvs: reference.to_vec(),
        };
        assert_eq!(said, [expected], "{concat:?}");
    }
    // Longer than the field: in the parameter made for it, header and all.
    let said =
        say_own(&encoder(Concat::Udh8), short(Short { udh: udh.into(), ..octets(4, &[7; 300]) })).unwrap();
    assert_eq!((said.len(), said[0].data().text.len(), said[0].short_message.len()), (1, 300, 0));
}

#[test]
fn a_part_that_says_so_in_parameters_is_not_cut_again() {
    let sar = [0x02, 0x0C, 0, 2, 0, 1, 0x02, 0x0E, 0, 1, 2, 0x02, 0x0F, 0, 1, 1];
    let given = Short { tlvs: sar[..].into(), ..octets(8, &[0; 200]) };
    let said = say_own(&encoder(Concat::Udh8), short(given.clone())).unwrap();
    assert_eq!((said.len(), said[0].tlvs.as_slice(), said[0].short_message.len()), (1, &sar[..], 200));
    assert_eq!(parts_of_short(&route(Concat::Udh8), &given), 1);
}

#[test]
fn every_part_of_a_long_message_has_the_platforms_parameters() {
    let port = [0x02, 0x0B, 0, 2, 9, 9];
    for concat in ALL {
        let said = say_own(&encoder(concat), short(Short { tlvs: port[..].into(), ..octets(4, &[7; 500]) }))
            .unwrap();
        assert_eq!(said.len(), if concat == Concat::Payload { 1 } else { 4 });
        for said in &said {
            assert_eq!(Tlvs::parse(&said.tlvs).unwrap().find_u16(Tag::DEST_PORT), Some(0x0909), "{concat:?}");
        }
    }
}

#[test]
fn septets_are_written_anew_where_the_carrier_takes_them_for_another_alphabet() {
    let mut septets = Vec::new();
    smpp::text::gsm7::encode("grüße @ {}", &mut septets).unwrap();
    let latin1 = SmsEncoder::new(&SmsRoute { charset: Charset::Latin1, ..SmsRoute::default() });
    let said = say_own(&latin1, short(octets(0, &septets))).unwrap();
    assert_eq!((said[0].data_coding, said[0].short_message.as_slice()), (0, &b"gr\xFC\xDFe @ {}"[..]));
    // What that alphabet lacks.
    septets.clear();
    smpp::text::gsm7::encode("5 €", &mut septets).unwrap();
    let said = say_own(&latin1, short(octets(0, &septets))).unwrap();
    assert_eq!((said[0].data_coding, whole(&said, Charset::Latin1)), (8, "5 €".to_owned()));
    // Another language's tables have no other form, and what is no GSM 7-bit is left alone.
    let turkish = Short { udh: [0x24, 1, 1][..].into(), ..octets(0, b"g\x1Bi") };
    assert_eq!(say_own(&latin1, short(turkish)).unwrap()[0].short_message, b"\x03\x24\x01\x01g\x1Bi");
    assert_eq!(say_own(&latin1, short(octets(3, b"\xFC"))).unwrap()[0].short_message, b"\xFC");
    // Where 0 is what it should be, nothing is touched.
    assert_eq!(
        say_own(&encoder(Concat::Udh8), short(octets(0, b"\x00@"))).unwrap()[0].short_message,
        b"\x00@"
    );
}

fn shifted(concat: Concat, languages: &[Language]) -> SmsRoute {
    SmsRoute { languages: languages.to_vec(), ..route(concat) }
}

/// What a phone shows of parts.
fn shown(said: &[SentText]) -> String {
    said.iter().map(|said| said.data().decode(said.data_coding, Charset::Gsm7)).collect()
}

/// Octets of each part's header, and of its text.
fn sizes(said: &[SentText]) -> Vec<(usize, usize)> {
    said.iter()
        .map(|said| (said.short_message.len() - said.data().text.len(), said.data().text.len()))
        .collect()
}

#[test]
fn a_text_in_a_languages_tables_has_155_septets_in_one_part_and_149_in_each_of_more() {
    let (turkish, hindi) = (Language::Turkish, Language::Hindi);
    let cases = [
        (turkish, format!("ş{}", "a".repeat(154)), vec![(4, 155)]),
        (turkish, format!("ş{}", "a".repeat(155)), vec![(9, 149), (9, 7)]),
        (turkish, "ğüşıöç İĞ ".repeat(30), vec![(9, 149), (9, 149), (9, 2)]),
        (hindi, "क".repeat(155), vec![(4, 155)]),
        (hindi, "क".repeat(156), vec![(9, 149), (9, 7)]),
        (Language::Spanish, format!("á{}", "a".repeat(153)), vec![(4, 155)]),
        (Language::Spanish, format!("á{}", "a".repeat(154)), vec![(9, 149), (9, 7)]),
    ];
    for (language, words, expected) in cases {
        let route = shifted(Concat::Udh8, &[language]);
        let encoder = SmsEncoder::new(&route);
        let shared = say(&encoder, &segment(vec![sms(&words)], false), &entry(0, None)).unwrap();
        assert_eq!(sizes(&shared), expected, "{words}");
        assert_eq!(shown(&shared), words);
        assert!(shared.iter().all(|said| (said.esm_class, said.data_coding) == (esm_class::UDHI, 0)));
        assert_eq!(parts(&route, &words) as usize, expected.len(), "{words}");
        for own in [sms(&words), short(text(&words, None))] {
            assert_eq!(say_own(&encoder, own).unwrap(), shared, "an own body says the same");
        }
        assert_eq!(parts_of_short(&route, &text(&words, None)) as usize, expected.len());
    }
}

#[test]
fn the_tables_are_said_in_a_header_however_long_messages_are_cut() {
    let words = "Şişli'de su baskını. ".repeat(20);
    for concat in ALL {
        let said = say_own(&SmsEncoder::new(&shifted(concat, &[Language::Turkish])), sms(&words)).unwrap();
        assert_eq!(said.len(), if concat == Concat::Payload { 1 } else { 3 }, "{concat:?}");
        for said in &said {
            assert_eq!((said.esm_class, said.data_coding), (esm_class::UDHI, 0));
            assert_eq!(said.data().udh.locking_shift(), Some(1), "{concat:?}");
            let tlvs = Tlvs::parse(&said.tlvs).unwrap();
            assert_eq!(tlvs.find(Tag::SAR_MSG_REF_NUM).is_some(), concat == Concat::Sar);
            assert_eq!(said.short_message.is_empty(), concat == Concat::Payload);
        }
        assert_eq!(shown(&said), words, "{concat:?}");
        let one = say_own(&SmsEncoder::new(&shifted(concat, &[Language::Turkish])), sms("ışık")).unwrap();
        assert_eq!((one.len(), shown(&one).as_str()), (1, "ışık"));
        assert_eq!(one[0].data().udh.locking_shift().or(one[0].data().udh.single_shift()), Some(1));
    }
}

#[test]
fn only_a_text_that_needs_tables_and_that_they_hold_is_written_in_them() {
    let languages = [Language::Turkish, Language::Hindi];
    let encoder = SmsEncoder::new(&shifted(Concat::Udh8, &languages));
    let without = SmsEncoder::new(&route(Concat::Udh8));
    let turkish = "ışık ".repeat(40);
    let port = Short { udh: [5, 4, 0x0B, 0x84, 0x23, 0xF0][..].into(), ..text("ışık", None) };
    let cases = [
        (sms("grüße {}"), 0),
        (sms("ışık 🗼"), 8),
        (sms(&format!("{turkish}🗼")), 8),
        (sms("тревога"), 8),
        (sms("ışık हिन्दी"), 8),
        (short(text(&turkish, Some(0))), 0x18),
        (short(text(&turkish, Some(2))), 0x1A),
        (short(port), 8),
        (short(octets(8, &[1, 0x31])), 8),
    ];
    for (body, data_coding) in cases {
        let said = say_own(&encoder, body.clone()).unwrap();
        assert_eq!(said[0].data_coding, data_coding, "{body:?}");
        assert_eq!(said, say_own(&without, body).unwrap(), "as without languages");
    }
    let flash = segment(vec![sms(&turkish)], true);
    assert_eq!(say(&encoder, &flash, &entry(0, None)).unwrap()[0].data_coding, 0x18);
    // Another default alphabet has no tables.
    let latin1 = SmsRoute { charset: Charset::Latin1, ..shifted(Concat::Udh8, &languages) };
    assert_eq!(say_own(&SmsEncoder::new(&latin1), sms(&turkish)).unwrap()[0].data_coding, 8);
    assert_eq!(parts(&latin1, &turkish), 3);
    assert_eq!(say_own(&encoder, sms(&turkish)).unwrap().len(), 2);
}

proptest! {
    #[test]
    fn parts_are_counted_as_they_are_sent_in_every_languages_tables(
        words in prop_oneof![
            "[a-zğüşıöçĞÜŞİÖÇ€{} ]{0,500}",
            "[क-हा-ौ०-९a-zA-Z{}। ]{0,500}",
            "[a-záíóúÁçãõ^ ]{0,500}",
            "[a-fğşक-ङ\u{1F5FC} ]{0,300}",
            "[ğş]{60,160}[\u{1F5FC}क]{0,1}",
        ],
        languages in proptest::sample::subsequence(Language::ALL.to_vec(), 0..=13),
        way in 0..4_usize,
        flash in proptest::bool::weighted(0.1),
    ) {
        let concat = ALL[way];
        let route = shifted(concat, &languages);
        let encoder = SmsEncoder::new(&route);
        let shared = say(&encoder, &segment(vec![sms(&words)], flash), &entry(0, None)).unwrap();
        prop_assert_eq!(shown(&shared), words.as_str());
        for own in [sms(&words), short(text(&words, None))] {
            let own = say(&encoder, &segment(Vec::new(), flash), &entry(9, Some(own))).unwrap();
            prop_assert_eq!(&own, &shared);
        }
        if !flash {
            prop_assert_eq!(parts(&route, &words) as usize, shared.len());
            prop_assert_eq!(parts_of_short(&route, &text(&words, None)) as usize, shared.len());
        }
        let plain = say(&self::encoder(concat), &segment(vec![sms(&words)], flash), &entry(0, None)).unwrap();
        prop_assert!(shared.len() <= plain.len(), "tables never cost more parts");
        for said in &shared {
            // The SMSC makes an element of six octets of the SAR parameters.
            let sar = if concat == Concat::Sar && shared.len() > 1 { 6 } else { 0 };
            let elements = said.data().udh.elements().map(|element| 2 + element.data.len()).sum::<usize>() + sar;
            let header = if elements == 0 { 0 } else { 1 + elements };
            let text = said.data().text.len();
            let air = if said.data_coding & 8 != 0 { text } else { (text * 7).div_ceil(8) };
            let fits = concat == Concat::Payload || header + air <= 140;
            prop_assert!(fits, "{} and {} over 140", header, air);
        }
    }
}

proptest! {
    #[test]
    fn octets_cut_by_their_coding_come_whole_and_no_pair_is_cut(
        data_coding in prop_oneof![Just(0_u8), Just(4), Just(8), Just(0x18), Just(0xF5), Just(1)],
        words in "[a-z€{}\u{1F5FC}\u{65E5}]{0,400}",
        way in 0..4_usize,
    ) {
        let charset = Coding::of(data_coding, Charset::Gsm7).charset;
        let mut given = Vec::new();
        charset.encode_lossy(&words, &mut given);
        let body = octets(data_coding, &given);
        let said = say_own(&encoder(ALL[way]), short(body.clone())).unwrap();
        prop_assert_eq!(said.len() as u32, parts_of_short(&route(ALL[way]), &body));
        let texts: Vec<&[u8]> = said.iter().map(|said| said.data().text).collect();
        prop_assert_eq!(texts.concat(), given);
        for (at, said) in said.iter().enumerate() {
            prop_assert_eq!(said.data_coding, data_coding);
            let place = said.data().concatenation.map(|place| (place.number, place.total));
            let expected = (texts.len() > 1).then_some((at as u8 + 1, texts.len() as u8));
            prop_assert_eq!(place, expected);
            let air = said.data().text.len() + if said.esm_class & esm_class::UDHI != 0 { 6 } else { 0 };
            let most = if matches!(charset, Charset::Gsm7 | Charset::Ascii) { 160 } else { 140 };
            let fits = ALL[way] == Concat::Payload || air <= most;
            prop_assert!(fits, "{} over {}", air, most);
        }
        if charset == Charset::Ucs2 {
            let decoded: String = texts.iter().map(|text| charset.decode(text)).collect();
            prop_assert_eq!(decoded, words, "no surrogate pair is cut");
        }
        if charset == Charset::Gsm7 {
            prop_assert!(texts.iter().all(|text| text.last() != Some(&0x1B)), "no escape is left at an end");
        }
    }
}

#[test]
fn the_letters_that_are_left_are_those_until_one_part_more() {
    for concat in [Concat::Udh8, Concat::Udh16, Concat::Sar] {
        let route = route(concat);
        for (start, alphabet) in [("", "gsm7"), ("Ä€[x] ", "gsm7"), ("– ", "ucs2"), ("🔥", "ucs2")] {
            for length in [0, 60, 64, 140, 154, 155, 300, 700] {
                let text = format!("{start}{}", "a".repeat(length));
                let found = encoding(&route, &sms(&text), false).unwrap();
                assert_eq!((found.alphabet, found.parts), (alphabet, parts(&route, &text)), "{text}");
                let left = format!("{text}{}", "a".repeat(found.left as usize));
                let full = encoding(&route, &sms(&left), false).unwrap();
                assert_eq!((full.parts, full.left), (found.parts, 0), "{text}");
                assert_eq!(parts(&route, &format!("{left}a")), found.parts + 1, "{text}");
            }
        }
    }
}

#[test]
fn letters_at_fault_are_those_without_which_the_text_would_be_shorter() {
    let route = route(Concat::Udh8);
    let found = encoding(&route, &sms("Å “Gå” 🔥"), false).unwrap();
    assert_eq!(found.at_fault, [(3, '“'), (9, '”'), (13, '🔥')]);
    assert!(encoding(&route, &sms("Å Gå"), false).unwrap().at_fault.is_empty());
    let turkish = SmsRoute { languages: vec![Language::Turkish], ..SmsRoute::default() };
    let found = encoding(&turkish, &sms("Tatbikat değil"), false).unwrap();
    assert_eq!((found.alphabet, found.at_fault.len()), ("gsm7-national", 0));
    let flash = encoding(&turkish, &sms("Tatbikat değil"), true).unwrap();
    assert_eq!((flash.alphabet, flash.at_fault), ("ucs2", vec![(11, 'ğ')]));
}
