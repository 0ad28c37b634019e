mod cases;
mod properties;

use super::*;

/// How a text is read in a language.
fn read(language: &str, text: &str) -> String {
    spoken(text, &Rules::of(language)).text
}

#[test]
fn links_are_counted_and_announced_once_if_the_caller_asks() {
    let rules = Rules { links: LinkRule::Announced, ..Rules::of("en") };
    let told = spoken("Read https://a.example/x and www.b.example", &rules);
    assert_eq!(told.text, "Read and. See the message on your other devices.");
    assert_eq!((told.links, told.is_cut), (2, false));
    assert_eq!(spoken(&told.text, &rules).text, told.text);
    let both = "Read https://a.example. See the message on your other devices.";
    assert_eq!(spoken(both, &rules).text, "Read. See the message on your other devices.");
    let unknown = Rules { links: LinkRule::Announced, ..Rules::of("tlh") };
    assert_eq!(spoken("nuqneH https://a.example", &unknown).text, "nuqneH");
}

#[test]
fn mail_addresses_are_spelled_or_left_out() {
    let text = "Write to info.desk@example.org, or call";
    assert_eq!(read("en", text), "Write to info dot desk at example dot org, or call");
    let rules = Rules { addresses: AddressRule::LeftOut, ..Rules::of("en") };
    assert_eq!(spoken(text, &rules).text, "Write to, or call");
}

#[test]
fn a_text_of_nothing_but_links_says_their_names() {
    assert_eq!(read("en", "https://www.example.org/a?b=c"), "example dot org");
    assert_eq!(read("sv", "<https://user@example.se:8443/>"), "example punkt se");
    assert_eq!(read("tlh", "https://example.org/"), "example org");
    let rules = Rules { addresses: AddressRule::LeftOut, ..Rules::of("en") };
    assert_eq!(spoken("info@example.org", &rules).text, "info at example dot org");
    let unknown = Rules { language: None, ..rules };
    assert_eq!(spoken("info@example.org", &unknown).text, "info example org");
}

#[test]
fn a_long_text_is_cut_at_a_word_and_says_so() {
    let told = spoken(&"word ".repeat(3_000), &Rules::of("en"));
    assert!(told.is_cut && told.text.ends_with("word"));
    assert_eq!(told.text.chars().count(), SPOKEN_CHARS_MAX - 1);
    let short = spoken(&"word ".repeat(100), &Rules::of("en"));
    assert!(!short.is_cut);
    // Each "%" becomes a word: the limit is that of the spoken text.
    assert!(spoken(&"5% ".repeat(2_000), &Rules::of("en")).text.chars().count() <= SPOKEN_CHARS_MAX);
}

#[test]
fn a_cut_text_still_announces_its_links() {
    let rules = Rules { links: LinkRule::Announced, ..Rules::of("en") };
    let told = spoken(&format!("https://a.example {}", "word ".repeat(3_000)), &rules);
    assert!(told.text.ends_with("word. See the message on your other devices."), "{}", &told.text[5_900..]);
    assert!(told.text.chars().count() <= SPOKEN_CHARS_MAX);
    assert_eq!(spoken(&told.text, &rules).text, told.text);
}
