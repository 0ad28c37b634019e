use super::super::split::split_shifted;
use super::super::udh::UserData;
use super::*;
use crate::tlv::{Tag, TlvBuf};
use proptest::prelude::*;

const BOTH: fn(Language) -> Shift = |language| Shift { locking: Some(language), single: Some(language) };

#[test]
fn the_tables_are_well_formed() {
    for language in Language::ALL {
        assert_eq!(Language::from_code(language.code()), Some(language));
        if let Some(table) = language.locking() {
            assert_eq!((table[0x0A], table[0x0D], table[0x20]), ('\n', '\r', ' '), "{language:?}");
            assert_eq!(table[0x1B], '\u{1b}', "{language:?}");
            assert!(('a'..='z').all(|letter| table[letter as usize] == letter), "{language:?}");
            assert!(('0'..='9').all(|digit| table[digit as usize] == digit), "{language:?}");
        }
        let single: Vec<(u8, char)> = language.single().collect();
        assert!(single.is_sorted_by(|a, b| a.0 < b.0), "{language:?}");
        assert!(single.iter().all(|(code, _)| *code < 0x80 && *code != ESCAPE));
        for kept in gsm7::EXTENSION {
            assert!(single.contains(&kept), "{language:?} lacks {kept:?}");
        }
    }
    assert_eq!((Language::from_code(0), Language::from_code(14)), (None, None));
}

#[test]
fn each_table_has_its_languages_letters() {
    // TS 23.038 annex A: a code and its character from each table.
    let locking = [
        (Language::Turkish, 0x07, 'ı'),
        (Language::Portuguese, 0x04, 'ê'),
        (Language::Bengali, 0x15, 'ক'),
        (Language::Gujarati, 0x15, 'ક'),
        (Language::Hindi, 0x00, '\u{901}'),
        (Language::Kannada, 0x24, 'ಡ'),
        (Language::Malayalam, 0x2E, '.'),
        (Language::Oriya, 0x15, 'କ'),
        (Language::Punjabi, 0x15, 'ਕ'),
        (Language::Tamil, 0x15, 'க'),
        (Language::Telugu, 0x15, 'క'),
        (Language::Urdu, 0x00, 'ا'),
    ];
    for (language, code, character) in locking {
        assert_eq!(language.locking().unwrap()[code], character, "{language:?}");
    }
    let single = [
        (Language::Turkish, 0x69, 'ı'),
        (Language::Spanish, 0x41, 'Á'),
        (Language::Portuguese, 0x7F, 'â'),
        (Language::Bengali, 0x19, '০'),
        (Language::Hindi, 0x1C, '०'),
        (Language::Kannada, 0x3C, '['),
        (Language::Tamil, 0x2E, '\u{bfa}'),
        (Language::Urdu, 0x3F, '۔'),
    ];
    for (language, code, character) in single {
        assert!(language.single().any(|row| row == (code, character)), "{language:?}");
    }
}

#[test]
fn every_code_of_every_table_comes_back() {
    for language in Language::ALL {
        let locking = language.locking().map(|_| language);
        for shift in
            [Shift { locking, single: None }, Shift { locking: None, single: Some(language) }, BOTH(language)]
        {
            let extension = (0..0x80).filter_map(|code| shift.extension_character(code));
            let characters = shift.basic().iter().copied().chain(extension);
            for character in characters.filter(|&character| character != NONE && character != '\u{1b}') {
                let text = character.to_string();
                let mut septets = Vec::new();
                shift.encode(&text, &mut septets).unwrap();
                assert_eq!(Some(septets.len()), shift.septets(character));
                assert_eq!(shift.decode(&septets), text, "{shift:?} {character:?}");
            }
        }
    }
}

#[test]
fn the_limits_are_the_standards() {
    let one = Shift { locking: None, single: Some(Language::Turkish) };
    let both = BOTH(Language::Turkish);
    let limits = |concat: Concat, shift| concat.limits_shifted(Charset::Gsm7, shift);
    assert_eq!(limits(Concat::Udh8, Shift::NONE), (160, 153));
    assert_eq!(limits(Concat::Udh8, one), (155, 149));
    assert_eq!(limits(Concat::Udh8, both), (152, 146));
    assert_eq!(limits(Concat::Udh16, both), (152, 145));
}

#[test]
fn the_cheapest_tables_are_chosen() {
    let turkish = [Language::Turkish];
    let choose = |text: &str, languages: &[Language]| choose_shift(text, languages, Concat::Udh8);
    assert_eq!(choose("hello", &turkish), Some(Shift::NONE));
    let single = Shift { locking: None, single: Some(Language::Turkish) };
    let locking = Shift { locking: Some(Language::Turkish), single: None };
    assert_eq!(choose("ılık", &turkish), Some(locking), "two escapes less");
    assert_eq!(choose("è ı", &turkish), Some(single), "the locking table has no è");
    assert_eq!(choose("привет", &turkish), None);
    assert_eq!(choose("ılık", &[]), None);
    assert_eq!(
        choose("acción", &[Language::Spanish]),
        Some(Shift { locking: None, single: Some(Language::Spanish) })
    );
    let hindi = "नमस्ते १";
    assert_eq!(choose(hindi, &[Language::Turkish, Language::Hindi]), Some(BOTH(Language::Hindi)));
}

#[test]
fn parts_say_their_tables_and_are_read_back() {
    let text = "ışık ".repeat(60);
    let shift = BOTH(Language::Turkish);
    let mut septets = Vec::new();
    shift.encode(&text, &mut septets).unwrap();
    for concat in [Concat::Udh8, Concat::Udh16, Concat::Sar, Concat::Payload] {
        let cut = split_shifted(&septets, Charset::Gsm7, shift, concat, 0x1234).unwrap();
        assert_eq!(cut.len(), parts_shifted(&text, Charset::Gsm7, shift, concat));
        let mut read = String::new();
        for part in cut {
            let (mut message, mut tlvs) = (Vec::new(), TlvBuf::new());
            part.write_short_message(&mut message);
            part.write_tlvs(&mut tlvs).unwrap();
            if concat == Concat::Payload {
                message = tlvs.as_tlvs().find(Tag::MESSAGE_PAYLOAD).unwrap().to_vec();
            } else {
                // Header octets, filled up to septets, and the text: what the air interface carries.
                let header = message.len() - part.payload.len();
                assert!((header * 8).div_ceil(7) + part.payload.len() <= 160, "{concat:?}");
            }
            assert_ne!(part.esm_class(), 0);
            let data = UserData::new(&message, true, tlvs.as_tlvs()).unwrap();
            assert_eq!(Shift::of(data.udh), shift);
            assert_eq!(data.concatenation.map(|place| place.number), (part.total > 1).then_some(part.number));
            read += &Shift::of(data.udh).decode(data.text);
        }
        assert_eq!(read, text, "{concat:?}");
    }
}

proptest! {
    #[test]
    fn any_text_survives_the_tables_that_take_it(text in "[ -~ğıİşŞçáéíóúñêãõ०-९क-हঀ-৺]{0,200}") {
        for language in Language::ALL {
            for shift in [BOTH(language), Shift { locking: None, single: Some(language) }] {
                let mut septets = Vec::new();
                match shift.encode(&text, &mut septets) {
                    Ok(()) => prop_assert_eq!(shift.decode(&septets), text.clone()),
                    Err(error) => prop_assert!(septets.is_empty() && !shift.can_encode(&text) && text[error.at..].starts_with(error.character)),
                }
            }
        }
    }

    #[test]
    fn any_septets_decode(septets in proptest::collection::vec(any::<u8>(), 0..200), language in 1u8..14) {
        let shift = BOTH(Language::from_code(language).unwrap());
        prop_assert!(!shift.decode(&septets).contains(NONE));
    }
}
