use super::letters::has;
use super::*;
use crate::drill::Mark;
use proptest::prelude::*;

const FRAME: Frame<'_> =
    Frame { mark: None, mark_last: false, choices: &[], headline_in_text: false, priority: Priority::Urgent };

fn profile(length: u16, letters: Letters) -> DeviceProfile {
    DeviceProfile { length: Some(length), letters: Some(letters), ..DeviceProfile::default() }
}

fn choices(labels: &[&str]) -> Vec<Choice> {
    let choice = |(n, label): (usize, &&str)| Choice { key: n.to_string(), label: (*label).to_owned() };
    (1..).zip(labels).map(choice).collect()
}

fn text(length: u16, text: &str) -> String {
    adapted(Content::of_text(text), &profile(length, Letters::All), &FRAME).unwrap().text
}

#[test]
fn a_text_that_fits_is_left_as_it_is() {
    for whole in ["Leave now.", "Dear all,\nleave  now.\n\nRegards", "Gå åt norr – 5 €"] {
        assert_eq!(text(60, whole), whole);
    }
}

#[test]
fn a_text_keeps_its_instructions_and_loses_its_courtesies_and_stories_first() {
    let gas = "Dear residents,\nthere is a gas leak at the harbour. The fire brigade is there. Leave the harbour by the \
               north gate. Do not use lifts.\nKind regards,\nThe City";
    for (length, source, expected) in [
        (
            150,
            gas,
            "there is a gas leak at the harbour. The fire brigade is there. Leave the harbour by the north gate. Do not \
             use lifts.",
        ),
        (
            100,
            gas,
            "there is a gas leak at the harbour. Leave the harbour by the north gate. Do not use lifts...",
        ),
        (60, gas, "Leave the harbour by the north gate. Do not use lifts..."),
        (40, gas, "Leave the harbour by the north gate..."),
        (20, gas, "Leave the harbour..."),
        (5, gas, "Le..."),
        (2, gas, "Le"),
        (
            44,
            "Fire in hall 3. Meet at https://a.example/m?x=1.2 now.",
            "Meet at https://a.example/m?x=1.2 now...",
        ),
        (30, "Drink no water. It is from St. Mary 5 km up. Kl. 5 vi ses.", "Drink no water..."),
        (34, "Rök vid hamnen i kväll igen. Stäng fönster.", "Stäng fönster..."),
        (20, "火災が発生しました。避難してください。落ち着いて行動してください。", "避難してください..."),
    ] {
        assert_eq!(text(length, source), expected, "{length}");
    }
}

#[test]
fn letters_that_a_device_has_not_are_spelled_in_those_that_it_has() {
    for (letters, source, expected) in [
        (Letters::Ascii, "Gå åt norr – 5 € “nu” \u{26a0}!", Some("Ga at norr - 5 EUR \"nu\" !")),
        (Letters::Gsm, "Gå åt norr – 5 € `nu` [x]", Some("Gå åt norr - 5 € 'nu' [x]")),
        (Letters::Gsm, "Zażółć, Čao, a\u{30a}", Some("Zazolc, Cao, å")),
        (Letters::All, "Gå – 避難", Some("Gå – 避難")),
        (Letters::Ascii, "Покиньте дом", Some("Pokinte dom")),
        (Letters::Ascii, "Gate 3 訓", Some("Gate 3 ?")),
        (Letters::Ascii, "避難してください", None),
    ] {
        let profile = DeviceProfile { letters: Some(letters), ..DeviceProfile::default() };
        let found = adapted(Content::of_text(source), &profile, &FRAME).map(|content| content.text);
        assert_eq!(found.as_deref().ok(), expected, "{letters:?} {source}");
    }
}

#[test]
fn a_device_of_digits_shows_the_numbers_of_the_text_or_a_code_of_the_priority() {
    for (length, source, expected) in [
        (20, "Call 070-123 45 67 now", "070 123 45 67"),
        (20, "Gate 3: call 112", "3 112"),
        (4, "Call 070-123 45 67 or 112", "112"),
        (20, "Leave now", "2"),
        (20, "４７１１", "4711"),
    ] {
        let content = Content { subject: Some("Gas".to_owned()), ..Content::of_text(source) };
        let shown = adapted(content, &profile(length, Letters::Digits), &FRAME).unwrap();
        assert_eq!((shown.subject, &*shown.text), (None, expected));
    }
    let drill = Frame { mark: Some(Mark::default()), ..FRAME };
    let refused = adapted(Content::of_text("112"), &profile(20, Letters::Digits), &drill);
    assert_eq!(refused, Err(CannotAdapt::Mark), "no digit says that it is an exercise");
}

#[test]
fn the_mark_of_a_drill_stands_first_in_letters_of_the_device_and_a_device_too_small_for_it_gets_nothing() {
    let shown = |language: &str, profile: DeviceProfile| {
        let frame = Frame { mark: Mark::of(language), mark_last: true, ..FRAME };
        let content =
            Content { subject: Some("Gas".to_owned()), ..Content::of_text("Leave by the north gate.") };
        adapted(content, &profile, &frame).map(|content| (content.subject.unwrap(), content.text))
    };
    let said = |subject: &str, text: &str| Ok((subject.to_owned(), text.to_owned()));
    let ascii = DeviceProfile { letters: Some(Letters::Ascii), ..DeviceProfile::default() };
    assert_eq!(
        shown("sv", ascii),
        said("[OVNING] Gas", "[OVNING] Leave by the north gate.\n[OVNING]"),
        "with room it stands last too"
    );
    assert_eq!(shown("sv", profile(25, Letters::Ascii)), said("[OVNING] Gas", "[OVNING] Leave by the..."));
    assert_eq!(shown("sv", profile(25, Letters::Gsm)), said("[ÖVNING] Gas", "[ÖVNING] Leave by the..."));
    assert_eq!(shown("ja", profile(40, Letters::Ascii)).unwrap().1, "[EXERCISE] Leave by the north gate.");
    assert_eq!(shown("ja", profile(40, Letters::All)).unwrap().1, "[訓練] Leave by the north gate.");
    assert_eq!(shown("sv", profile(9, Letters::Ascii)), Err(CannotAdapt::Mark));
    assert!(shown("sv", profile(10, Letters::Ascii)).is_ok());
}

#[test]
fn choices_are_kept_whole_or_short_or_as_keys_as_far_as_there_is_room() {
    let choices = choices(&["I am safe and well", "I need help"]);
    let frame = Frame { choices: &choices, ..FRAME };
    let text = |length| {
        let content = Content::of_text("Leave the harbour by the north gate. It is closed.");
        adapted(content, &profile(length, Letters::All), &frame).unwrap().text
    };
    let full = "\nReply 1 = I am safe and well, 2 = I need help";
    let all = "Leave the harbour by the north gate. It is closed.";
    assert_eq!(text(100), format!("{all}{full}"));
    assert_eq!(text(90), format!("{all}\nReply 1=I am safe an, 2=I need help"));
    assert_eq!(text(50), "Leave the harbour by the north gate...\nReply 1/2");
    assert_eq!(text(24), "Leave the...\nReply 1/2");
    assert_eq!(text(16), "Leave the...", "an instruction is worth more than the keys");
}

#[test]
fn a_headline_that_is_shown_in_the_text_leads_it_and_gives_way_to_the_instruction() {
    let text = |length, headline_in_text| {
        let content = Content {
            subject: Some("Gas leak".to_owned()),
            ..Content::of_text("Smell of gas. Leave by the north gate.")
        };
        let frame = Frame { headline_in_text, ..FRAME };
        let content = adapted(content, &profile(length, Letters::All), &frame).unwrap();
        (content.subject.unwrap_or_default(), content.text)
    };
    let said = |subject: &str, text: &str| (subject.to_owned(), text.to_owned());
    assert_eq!(text(60, true), said("", "Gas leak: Smell of gas. Leave by the north gate."));
    assert_eq!(text(38, true), said("", "Gas leak: Leave by the north gate..."));
    assert_eq!(text(28, true), said("", "Leave by the north gate..."));
    assert_eq!(text(20, true), said("", "Leave by the..."));
    assert_eq!(text(28, false), said("Gas leak", "Leave by the north gate..."));
    assert_eq!(text(6, false), said("Gas...", "Lea..."));
}

#[test]
fn html_is_left_out_where_it_is_not_shown_or_the_text_is_another() {
    let html = |profile: DeviceProfile| {
        let content = Content { html: Some("<p>Gå</p>".to_owned()), ..Content::of_text("Gå") };
        adapted(content, &profile, &FRAME).unwrap().html.is_some()
    };
    let none = DeviceProfile::default();
    assert!(html(none) && html(DeviceProfile { html: Some(true), links: Some(false), ..none }));
    assert!(!html(DeviceProfile { html: Some(false), ..none }));
    assert!(!html(DeviceProfile { letters: Some(Letters::Ascii), ..none }));
    assert!(!html(DeviceProfile { length: Some(9_999), ..none }));
}

fn any_letters() -> impl Strategy<Value = Letters> {
    prop_oneof![Just(Letters::Digits), Just(Letters::Ascii), Just(Letters::Gsm), Just(Letters::All)]
}

proptest! {
    /// Any text: no longer than the device shows, in its letters, the mark first, and what is adapted is
    /// adapted already.
    #[test]
    fn any_text_fits_its_device(
        source in "\\PC{0,60}[a-zåéß .!,\n]{0,200}",
        headline in proptest::option::of("\\PC{0,30}"),
        length in proptest::option::of(1..300u16),
        letters in any_letters(),
        labels in proptest::collection::vec("\\PC{1,20}", 0..4),
        language in proptest::option::of(prop_oneof![Just("sv"), Just("ru"), Just("ja")]),
        (mark_last, headline_in_text) in any::<(bool, bool)>(),
    ) {
        let profile = DeviceProfile { length, letters: Some(letters), ..DeviceProfile::default() };
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let choices = choices(&labels);
        let mark = language.and_then(Mark::of);
        let frame = Frame { mark, mark_last, choices: &choices, headline_in_text, ..FRAME };
        let content = Content { subject: headline, ..Content::of_text(source) };
        let Ok(content) = adapted(content, &profile, &frame) else { return Ok(()) };
        for part in [Some(&content.text), content.subject.as_ref()].into_iter().flatten() {
            prop_assert!(length.is_none_or(|length| part.chars().count() <= usize::from(length)), "{:?}", part);
            prop_assert!(part.chars().all(|c| has(letters, c)), "{:?}", part);
            if let Some(mark) = mark {
                let mark = letters::lossy(letters, letters::mark(letters, mark).text());
                prop_assert!(part.starts_with(&mark), "{:?}", part);
            }
        }
        let again = adapted(content.clone(), &profile, &Frame { headline_in_text, ..FRAME });
        prop_assert!(again == Ok(content.clone()) || headline_in_text && content.subject.is_some(), "{:?}", again);
    }
}

#[test]
fn a_letter_that_gsm_lacks_is_spelled_in_it_where_that_can_be_read() {
    for (letter, spelled) in [
        ('\u{2013}', Some("-")),
        ('\u{2019}', Some("'")),
        ('\u{151}', Some("o")),
        ('\u{416}', Some("Zh")),
        ('\u{200b}', Some("")),
        ('`', Some("'")),
        ('\u{e5}', None),
        ('\u{20ac}', None),
        ('\u{6f22}', None),
        ('\u{1f525}', None),
    ] {
        assert_eq!(super::in_gsm(letter).as_deref(), spelled, "{letter}");
    }
}
