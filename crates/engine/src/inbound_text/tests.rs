//! Tests of the readers of answers and of STOP.

use super::fold::fold;
use super::{AnswerReading, StopReading, is_stop_word, read_answer, read_stop};
use proptest::prelude::*;
use records::Choice;

fn choices() -> Vec<Choice> {
    let choice = |key: &str, label: &str| Choice { key: key.into(), label: label.into() };
    vec![choice("1", "I am safe"), choice("2", "I need help")]
}

fn key_of(text: &str) -> Option<String> {
    read_answer(&choices(), text, "Leave hall 2. Are you safe?").choice().map(|choice| choice.key.clone())
}

#[test]
fn an_answer_is_a_key_only_when_it_says_so() {
    for (text, key) in [
        ("1", Some("1")),
        (" 1. ", Some("1")),
        ("2!!!", Some("2")),
        ("(2)", Some("2")),
        ("«1»", Some("1")),
        ("i am SAFE!", Some("1")),
        ("1 = I am safe", Some("1")),
        ("1. I am safe", Some("1")),
        ("I am safe (1)", Some("1")),
        ("2 - we are trapped", Some("2")),
        ("2: hurry", Some("2")),
        ("1 – all fine here", Some("1")),
        ("1 👍", Some("1")),
        ("2\n\nAnn", Some("2")),
        ("Hello,\n\n2\n\nBest regards\nAnn", Some("2")),
        ("Dear City of X,\n1\nMfG Ann, 2. Stock", Some("1")),
        ("Hello City of Example\n\n2\n\nRegards", Some("2")),
        ("Hello I am trapped\n1", None),
        ("Hello, help me!\n1", None),
        ("Dear Sir or Madam,\n1", Some("1")),
        ("Bonjour Madame, Monsieur,\n\n2\n\nCordialement", Some("2")),
        ("2\n\nCity:\nLeave hall 2. Are you safe?\n1 = I am safe\n2 = I need help", Some("2")),
        ("1 person injured, send help", None),
        ("1 or 2?", None),
        ("1 floor down is burning", None),
        ("1. Stock brennt", None),
        ("1 de dezembro estarei de volta.", None),
        ("1st floor", None),
        ("1/2", None),
        ("1,5 m water", None),
        ("1-2 people", None),
        ("1 - 2 people are hurt", None),
        ("1 - not safe", None),
        ("1 - we need help", None),
        ("1 - or is it 2", None),
        ("1 🆘", None),
        ("1 %", None),
        ("12", None),
        ("not 1", None),
        ("1\nno wait, 2", None),
        ("1\n\nbut my son is missing", None),
        ("1 = I am safe\n2 = I need help?", Some("1")),
        ("2 please hurry", None),
        ("help", None),
        ("Hi 2", None),
        ("", None),
        ("\u{200c}", None),
    ] {
        assert_eq!(key_of(text).as_deref(), key, "{text:?}");
    }
}

#[test]
fn digits_of_every_script_are_the_key() {
    for text in
        ["２", "٢", "۲", "२", "২", "๒", "𝟐", "②", "❷", "²", "2\u{fe0f}\u{20e3}", "\u{200c}2", "二", "⒉", "⑵"]
    {
        assert_eq!(key_of(text).as_deref(), Some("2"), "{text:?}");
    }
}

#[test]
fn keys_of_letters_and_signs_are_read_like_digits() {
    let choice = |key: &str, label: &str| Choice { key: key.into(), label: label.into() };
    let choices = [choice("Ja", "Ja, jag är hemma"), choice("Nej", "Nej"), choice("👎", "Fara")];
    for (text, key) in [
        ("ja", Some("Ja")),
        ("JA!", Some("Ja")),
        ("ja, jag ar hemma.", Some("Ja")),
        ("nej", Some("Nej")),
        ("👎", Some("👎")),
        ("ja nej", None),
        ("ja kanske", None),
    ] {
        let read = read_answer(&choices, text, "").choice().map(|choice| choice.key.as_str());
        assert_eq!(read, key, "{text:?}");
    }
    let twins = [choice("a", "same"), choice("b", "Same")];
    assert_eq!(read_answer(&twins, "SAME.", ""), AnswerReading::Words, "a text that is two choices is none");
}

#[test]
fn reserved_words_stop_whatever_is_around_them() {
    for text in [
        "STOP",
        "stop",
        "Stop.",
        "\"STOP\"",
        "S.T.O.P.",
        "ＳＴＯＰ",
        "s\u{200b}top",
        "STOP!!!",
        "STOP, thanks",
        "Stop, tack!",
        "please stop",
        "STOP STOP STOP",
        "stop 🙏",
        "Stop merci",
        "STOP now please",
        "\u{feff}STOP\n",
        "STOP\r\n\r\nThanks",
        "QUIT",
        "END",
        "REVOKE",
        "OPT OUT",
        "opt-out",
        "OPTOUT",
        "CANCEL",
        "UNSUBSCRIBE",
        "un-subscribe",
        "ARRET",
        "ARRÊT",
        "Arre\u{302}t.",
        "ARRÊTER",
        "Stopp",
        "AVREGISTRERA",
        "odhlásit",
        "odhlasit",
        "İPTAL",
        "iptal",
        "СТОП",
        "στοπ",
        "退订",
        "配信停止",
        "수신거부",
        "הסר",
        "إيقاف",
        "ايقاف",
        "hủy",
        "ALTO",
        "desabonner",
    ] {
        assert!(
            matches!(read_stop(text), StopReading::Stop { all: false, .. }),
            "{text:?}: {:?}",
            read_stop(text)
        );
    }
    for text in ["STOPALL", "stop all", "Stop-All!", "STOP ALL thanks", "stop tout", "Stopp alla"] {
        assert!(matches!(read_stop(text), StopReading::Stop { all: true, .. }), "{text:?}");
    }
}

#[test]
fn sentences_with_a_word_that_stops_are_for_a_person_and_others_are_no_stops() {
    for text in [
        "please do not stop",
        "Stop sending me these",
        "I want to unsubscribe",
        "stop it or I sue",
        "how do I opt out of this",
        "the pump does not stop",
        "bitte abmelden von allem",
        "我要退订短信",
    ] {
        assert_eq!(read_stop(text), StopReading::Perhaps, "{text:?}");
    }
    for text in [
        "",
        " ",
        "1",
        "I am safe",
        "stopped at the bus",
        "the end of the road",
        "nonstop",
        "end of it",
        "thanks",
    ] {
        assert_eq!(read_stop(text), StopReading::Other, "{text:?}");
    }
}

/// What phones, quotes and mail programs put around a word, and what people do to it.
fn around() -> impl Strategy<Value = String> {
    let marks = prop_oneof![
        "[ \t.!,;:'\"()«»“”…\u{a0}\u{3000}\u{ff01}\u{3002}\u{200b}\u{200c}\u{200e}\u{feff}\u{202a}\u{202c}]{0,4}",
        Just("\n".to_owned()),
    ];
    marks
}

/// The word in another case, width, or with marks nobody sees in it.
fn written(word: &'static str) -> impl Strategy<Value = String> {
    (proptest::collection::vec(0..5u8, word.chars().count())).prop_map(move |ways| {
        let mut out = String::new();
        for (c, way) in word.chars().zip(ways) {
            match way {
                0 => out.extend(c.to_lowercase()),
                1 => out.extend(c.to_uppercase()),
                2 if ('!'..='~').contains(&c) => out.extend(char::from_u32(u32::from(c) + 0xFEE0)),
                3 => out.extend([c, '\u{200d}']),
                _ => out.push(c),
            }
        }
        out
    })
}

proptest! {
    #[test]
    fn whatever_is_around_a_key_changes_nothing(before in around(), key in written("2"), after in around()) {
        let found = key_of(&format!("{before}{key}{after}"));
        prop_assert_eq!(found.as_deref(), Some("2"));
    }

    #[test]
    fn whatever_is_around_a_stop_word_changes_nothing(
        before in around(),
        word in prop_oneof![written("STOP"), written("arret"), written("opt out"), written("Unsubscribe"), written("стоп")],
        after in around(),
        thanks in prop_oneof![Just(""), Just(" thanks"), Just(", tack"), Just("\nMerci!")],
    ) {
        let text = format!("{before}{word}{after}{thanks}");
        prop_assert!(matches!(read_stop(&text), StopReading::Stop { .. }), "{:?}", text);
    }

    #[test]
    fn more_words_behind_a_key_are_never_a_plain_answer(key in "[12]", more in "[a-z]{1,8}( [a-z]{1,8}){0,3}") {
        let text = format!("{key} {more}");
        prop_assume!(!["i am safe", "i need help"].contains(&more.as_str()));
        let choices = choices();
        prop_assert_eq!(read_answer(&choices, &text, ""), AnswerReading::Words);
    }

    #[test]
    fn no_text_is_an_answer_and_a_stop(text in "\\PC{0,12}|[12. ]{0,4}|(stop|1|2|end| |,|\n){1,5}") {
        let is_answer = read_answer(&choices(), &text, "").choice().is_some();
        prop_assert!(!(is_answer && is_stop_word(&text)), "{:?}", text);
    }

    #[test]
    fn folding_is_done_once(text in "\\PC{0,30}") {
        let once = fold(&text);
        prop_assert_eq!(fold(&once), once);
    }
}
