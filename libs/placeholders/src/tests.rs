use super::*;
use proptest::prelude::*;

fn value_of(name: &str) -> Option<&'static str> {
    match name {
        "name" => Some("Anna Öberg"),
        "ward" => Some("7"),
        "Room number" => Some("b 12"),
        "html" => Some("<b>\"Tom\" & 'Co'</b>"),
        "empty" => Some(""),
        "blank" => Some("  x "),
        _ => None,
    }
}

fn filled(text: &str, escape: Escape) -> Result<(String, bool), String> {
    let text = Text::parse(text).map_err(|error| error.to_string())?;
    text.fill(escape, value_of).map(|filled| (filled.text, filled.has_gap)).map_err(|error| error.to_string())
}

#[test]
fn placeholders_are_filled_from_the_values() {
    for (text, expected, has_gap) in [
        ("All out now", "All out now", false),
        ("{{name}}, leave ward {{ ward }}.", "Anna Öberg, leave ward 7.", false),
        ("{{nothing}}, leave", ", leave", true),
        ("{{empty}}!", "!", true),
        ("{{nothing|default(\"You\")}}, leave", "You, leave", false),
        ("{{ nothing | default('all') | upper }}", "ALL", false),
        ("{{name|upper}} {{name|lower}} {{name|truncate(4)}}", "ANNA ÖBERG anna öberg Anna", false),
        ("{{Room number|title}} {{Room number|capitalize}}", "B 12 B 12", false),
        ("{{blank|trim}}.", "x.", false),
        ("{{ \"{{\" }}name}}", "{{name}}", false),
        ("{ {name} } {1} {", "{ {name} } {1} {", false),
        ("100 {# of them", "100 {# of them", false),
        ("}} {{name}} }}", "}} Anna Öberg }}", false),
        ("{{ \"a\\\"b\\\\\" }}", "a\"b\\", false),
        ("{{ \"}}\" }}", "}}", false),
        ("{{name}}{{name}}", "Anna ÖbergAnna Öberg", false),
        ("{{\u{200b}name\u{feff}}}, {{\u{a0}ward\u{a0}}}", "Anna Öberg, 7", false),
        (
            "{{nothing|default(“you”)}} {{nothing|default(”all”)}} {{nothing|default(„alle“)}} {{nothing|default(«tous»)}}",
            "you all alle tous",
            false,
        ),
        ("{{ “a ‘b’ c” }}", "a ‘b’ c", false),
        ("", "", false),
    ] {
        assert_eq!(filled(text, Escape::Plain), Ok((expected.to_owned(), has_gap)), "{text}");
    }
}

#[test]
fn values_and_defaults_are_escaped_in_html_and_the_text_itself_is_not() {
    let (text, _) = filled("<p>{{html}}{{x|default('<i>')}}</p>", Escape::Html).unwrap();
    assert_eq!(text, "<p>&lt;b&gt;&quot;Tom&quot; &amp; &#39;Co&#39;&lt;/b&gt;&lt;i&gt;</p>");
}

#[test]
fn whatever_is_more_than_a_placeholder_is_refused_with_its_place() {
    use TextFault::*;
    let over = |limit| OverLimit(limit);
    for (text, at, reason) in [
        ("Dear {{name", 6, NotClosed),
        ("Dear {{name|upper", 6, NotClosed),
        ("å {{}}", 3, Empty),
        ("{{  }}", 1, Empty),
        ("x {% if a %}y{% endif %}", 3, Statement),
        ("{%- set a='a'*20000000 %}", 1, Statement),
        ("100{% off", 4, Statement),
        ("{# no #}", 1, Comment),
        ("{{ 1/0 }}", 1, NotAName),
        ("{{ 7*7 }}", 1, NotAName),
        ("{{ 'a'*9 }}", 1, NotAName),
        ("{{ 'a' ~ 'b' }}", 1, NotAName),
        ("{{ range(9) }}", 1, NotAName),
        ("{{ a[0] }}", 1, NotAName),
        ("{{ a if b else c(1) }}", 1, NotAName),
        ("{{ -name }}", 1, NotAName),
        ("{{ (name) }}", 1, NotAName),
        ("{{ name \"x\" }}", 1, NotAName),
        ("{{ {{name}} }}", 1, NotAName),
        ("{{ \"x }}", 1, StringNotClosed),
        ("{{ name|safe }}", 1, UnknownFilter("safe".into())),
        ("{{ name| }}", 1, UnknownFilter(String::new())),
        ("{{ name|default }}", 1, FilterValue("default(\"…\")")),
        ("{{ name|default(7) }}", 1, FilterValue("default(\"…\")")),
        ("{{ name|truncate(-1) }}", 1, FilterValue("truncate(n), with a number of characters")),
        (
            "{{ name|truncate(99999999999999999999999) }}",
            1,
            FilterValue("truncate(n), with a number of characters"),
        ),
        ("{{ name|upper() }}", 1, FilterValue("by its name alone")),
        (&format!("{{{{{}}}}}", "a".repeat(65)), 1, over(error::TextLimit::NameOctets)),
        (&format!("{{{{'{}'}}}}", "a".repeat(1025)), 1, over(error::TextLimit::StringOctets)),
        (&format!("{{{{a{}}}}}", "|upper".repeat(9)), 1, over(error::TextLimit::Filters)),
        (&"{{a}}".repeat(1001), 5001, over(error::TextLimit::Placeholders)),
    ] {
        let error = Text::parse(text).expect_err(text);
        assert_eq!((error.at, &error.reason), (at, &reason), "{text}");
        assert!(error.to_string().contains(&format!("at character {at}")), "{error}");
    }
}

#[test]
fn names_without_a_default_are_needed() {
    let text = Text::parse("{{a}} {{b|default('x')}} {{c|default('')}} {{a|default('y')}} {{'d'}}").unwrap();
    assert_eq!(text.needed().into_iter().collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(text.names().collect::<Vec<_>>(), ["a", "b", "c", "a"]);
}

#[test]
fn a_list_shows_no_placeholders() {
    assert_eq!(Text::parse("{{name}}, leave {{'now'}}").unwrap().without_values(), "…, leave now");
}

#[test]
fn a_result_over_its_limit_is_refused_before_it_is_written() {
    let text = Text::parse(&"{{name}}".repeat(1000)).unwrap();
    let long = "å".repeat(VALUE_OCTETS_MAX);
    let error = text.fill(Escape::Plain, |_| Some(&long)).unwrap_err();
    assert!(error.to_string().contains("262144 octets"), "{error}");
    let text = Text::parse("{{name|upper}}").unwrap();
    let grows = "ŉ".repeat(VALUE_OCTETS_MAX);
    assert!(text.fill(Escape::Plain, |_| Some(&grows)).unwrap().text.len() <= VALUE_OCTETS_MAX);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(256)))]

    #[test]
    fn any_text_is_read_or_refused_and_what_is_read_is_filled_within_its_limit(
        parts in prop::collection::vec(prop_oneof![
            Just("{{".to_owned()), Just("}}".to_owned()), Just("{%".to_owned()), Just("|".to_owned()), Just("name".to_owned()),
            Just("default(".to_owned()), Just("\"".to_owned()), Just(")".to_owned()), Just("upper".to_owned()), ".{0,4}",
        ], 0..24),
    ) {
        if let Ok(text) = Text::parse(&parts.concat()) {
            let filled = text.fill(Escape::Html, value_of).unwrap();
            prop_assert!(filled.text.len() <= FILLED_OCTETS_MAX);
            let missing = text.needed().into_iter().any(|name| value_of(name).unwrap_or("").is_empty());
            prop_assert!(filled.has_gap || !missing, "a needed name without a value leaves a gap");
        }
    }

    #[test]
    fn whatever_stands_around_a_placeholder_changes_nothing_of_it(
        before in ".{0,12}",
        behind in ".{0,12}",
        blanks in "[ \u{a0}\u{200b}\u{feff}\u{2060}]{0,3}",
        name in prop::sample::select(vec!["name", "ward", "Room number", "empty", "nothing"]),
        filters in prop::sample::select(vec!["", "|upper", "|default('x')", "|trim|truncate(2)"]),
    ) {
        // Of three braces in a row the first two begin the placeholder.
        prop_assume!(!before.ends_with('{'));
        let placeholder = format!("{{{{{name}{filters}}}}}");
        let (alone, has_gap) = filled(&placeholder, Escape::Plain).unwrap();
        let around = format!("{}{{{{{blanks}{name}{blanks}{filters}}}}}{}", literal(&before), literal(&behind));
        prop_assert_eq!(filled(&around, Escape::Plain), Ok((format!("{before}{alone}{behind}"), has_gap)));
        let text = Text::parse(&around).unwrap();
        prop_assert_eq!(text.names().collect::<Vec<_>>(), [name]);
    }

    #[test]
    fn no_text_is_both_a_placeholder_and_words(
        parts in prop::collection::vec(prop_oneof![
            Just("{{".to_owned()), Just("}}".to_owned()), Just("name".to_owned()), Just("ward".to_owned()), "[a-z {}|\"']{0,3}",
        ], 0..10),
    ) {
        let written = parts.concat();
        if let Ok(text) = Text::parse(&written) {
            // What names nobody says the same to all; what names somebody has as many marks as names at
            // least.
            let names = text.names().count();
            prop_assert!(names <= written.matches("{{").count());
            let (a, b) = (text.fill(Escape::Plain, |_| Some("A")).unwrap(), text.fill(Escape::Plain, |_| Some("B")).unwrap());
            prop_assert_eq!(text.is_personal(), a != b, "{}", written);
            prop_assert_eq!(text.is_personal(), names > 0);
            if !Text::has_marks(&written) {
                prop_assert_eq!(a.text, written);
            }
        }
    }

    #[test]
    fn a_literal_text_is_read_as_it_was(text in "[{}%#a\"|]{0,24}") {
        let written = literal(&text);
        prop_assert_eq!(filled(&written, Escape::Plain), Ok((text.clone(), false)));
        prop_assert_eq!(Text::parse(&written).unwrap().without_values(), text);
    }

    #[test]
    fn a_text_without_marks_stays_as_it_is(text in "[^{]{0,64}") {
        prop_assert!(!Text::has_marks(&text));
        prop_assert_eq!(filled(&text, Escape::Plain), Ok((text, false)));
    }
}
