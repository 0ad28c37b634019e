//! Text of a page: an alert's words in the characters and the length of a pager.
//!
//! A pager keeps the instruction, not the greeting. A text that is too long loses its greeting and its
//! closing words, then its end, by whole words; the mark of a drill stays first.

use crate::mail::CannotCompose;
use channels::courtesies::{joined, split_mark, without_courtesies};
use records::Content;

/// Least characters of a page.
const LENGTH_MIN: usize = 20;
/// Most characters of a page: with its command it is one line of SNPP.
const LENGTH_MAX: usize = 900;
/// Octets of a page at most, in UTF-8.
const OCTETS_MAX: usize = 1_000;
/// The end of a text that was cut.
const CUT: &str = "...";
/// Characters of the text of a choice.
const CHOICE_CHARS_MAX: usize = 60;
/// Characters of the first word of a choice: Net::SNPP::Server refuses a longer one.
const CHOICE_WORD_CHARS_MAX: usize = 15;

/// Characters that a carrier takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagerCharset {
    /// ASCII; other letters are spelled in it.
    Ascii,
    /// ISO 8859-1; other letters are spelled in ASCII.
    Latin1,
    /// UTF-8.
    Utf8,
}

/// Form of a page's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextShape {
    /// Characters at most.
    pub length: usize,
    /// Characters that the carrier takes.
    pub charset: PagerCharset,
}

impl Default for TextShape {
    fn default() -> TextShape {
        TextShape { length: 240, charset: PagerCharset::Ascii }
    }
}

impl TextShape {
    /// What is wrong with it.
    pub(super) fn problem(self) -> Option<String> {
        let fits = (LENGTH_MIN..=LENGTH_MAX).contains(&self.length);
        (!fits).then(|| format!("{} is not between {LENGTH_MIN} and {LENGTH_MAX}", self.length))
    }

    /// The text of a page.
    ///
    /// # Errors
    /// `local:charset`: most of its letters cannot be carried, and nobody would understand it.
    pub(super) fn page(self, content: &Content) -> Result<String, CannotCompose> {
        let (mark, text) = split_mark(content.text.trim());
        let (_, headline) = split_mark(content.subject.as_deref().unwrap_or_default().trim());
        let (headline, text) = (self.carry(headline)?, self.carry(text)?);
        // A mark that cannot be carried must not be a row of question marks.
        let mark = mark.map(|mark| self.carry(mark).unwrap_or_else(|_| "[EXERCISE]".to_owned()));
        let start = mark.map_or_else(String::new, |mark| format!("{mark} "));
        let whole = joined(&start, &headline, &text);
        if self.fits(&whole) {
            return Ok(whole);
        }
        let bare = joined(&start, &headline, &without_courtesies(&text));
        Ok(if self.fits(&bare) { bare } else { self.cut(&bare) })
    }

    /// The octets of a text, which was shaped before.
    pub(super) fn octets(self, text: &str) -> Vec<u8> {
        match self.charset {
            PagerCharset::Latin1 => {
                text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
            }
            PagerCharset::Ascii | PagerCharset::Utf8 => text.as_bytes().to_vec(),
        }
    }

    /// The text of a choice; empty for one of which nothing can be carried.
    pub(super) fn choice(self, label: &str) -> String {
        let carried = self.carry(label).unwrap_or_default();
        let (first, rest) = carried.split_once(' ').unwrap_or((&carried, ""));
        let first: String = first.chars().take(CHOICE_WORD_CHARS_MAX).collect();
        let whole = format!("{first} {rest}");
        let short = TextShape { length: CHOICE_CHARS_MAX, ..self };
        let whole = whole.trim();
        if short.fits(whole) { whole.to_owned() } else { short.cut(whole) }
    }

    fn fits(self, text: &str) -> bool {
        text.chars().count() <= self.length && text.len() <= OCTETS_MAX
    }

    /// Its beginning, by whole words, with dots.
    fn cut(self, text: &str) -> String {
        let mut kept = String::new();
        for word in text.split(' ') {
            let longer = format!("{kept}{}{word}", if kept.is_empty() { "" } else { " " });
            if !self.fits(&format!("{longer}{CUT}")) {
                break;
            }
            kept = longer;
        }
        if kept.is_empty() {
            kept = text.chars().take(self.length.saturating_sub(CUT.len())).collect();
        }
        kept.truncate(kept.trim_end_matches([' ', ',', ';', ':', '-', '.']).len());
        kept + CUT
    }

    /// A text in the carrier's characters, its lines kept, without controls; what has no spelling is a
    /// question mark.
    fn carry(self, text: &str) -> Result<String, CannotCompose> {
        let (mut out, mut lost, mut kept) = (String::with_capacity(text.len()), 0_usize, 0_usize);
        for c in text.chars() {
            match self.spelled(c) {
                Some(spelled) => {
                    kept += usize::from(c.is_alphanumeric());
                    out.push_str(&spelled);
                }
                None => {
                    lost += 1;
                    out.push('?');
                }
            }
        }
        if lost > kept {
            return Err(CannotCompose {
                code: "local:charset",
                text: "most letters of the text are none that the route's charset has: set charset = \"utf-8\" where \
                       the carrier takes it, or write a text for pagers (texts.pager)"
                    .to_owned(),
            });
        }
        let lines = out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        Ok(lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n"))
    }

    fn spelled(self, c: char) -> Option<String> {
        match c {
            '\n' => return Some("\n".to_owned()),
            c if c.is_control() => return Some(" ".to_owned()),
            _ => {}
        }
        let is_own = match self.charset {
            PagerCharset::Ascii => c.is_ascii(),
            PagerCharset::Latin1 => ('\u{a1}'..='\u{ff}').contains(&c) && c != '\u{ad}' || c.is_ascii(),
            PagerCharset::Utf8 => !channels::is_invisible(c),
        };
        match self.charset {
            _ if is_own => Some(c.to_string()),
            PagerCharset::Utf8 => Some(String::new()),
            PagerCharset::Ascii | PagerCharset::Latin1 => channels::in_ascii(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shape(length: usize, charset: PagerCharset) -> TextShape {
        TextShape { length, charset }
    }

    fn page(length: usize, headline: &str, text: &str) -> String {
        let subject = (!headline.is_empty()).then(|| headline.to_owned());
        let content = Content { subject, ..Content::of_text(text) };
        shape(length, PagerCharset::Ascii).page(&content).unwrap()
    }

    #[test]
    fn a_short_text_is_whole_on_one_line_with_its_headline() {
        for (headline, text, expected) in [
            ("", "Leave now", "Leave now"),
            ("Gas leak", "Leave by the north gate.", "Gas leak: Leave by the north gate."),
            ("Gas leak!", "Leave\r\nby  the\tgate", "Gas leak! Leave by the gate"),
            ("Gas leak", "A gas leak at the harbour. Leave.", "A gas leak at the harbour. Leave."),
            ("", "Dear all,\nLeave now.\nRegards,\nCity", "Dear all, Leave now. Regards, City"),
        ] {
            assert_eq!(page(240, headline, text), expected);
        }
    }

    #[test]
    fn a_long_text_loses_its_courtesies_first_and_then_its_end() {
        let text =
            "Dear residents,\nleave the harbour by the north gate at once.\nKind regards,\nThe City of X";
        assert_eq!(page(80, "Gas leak", text), "Gas leak: leave the harbour by the north gate at once.");
        assert_eq!(page(40, "Gas leak", text), "Gas leak: leave the harbour by the...");
        let swedish = "Hej Anna! Lämna hamnen genom norra grinden.\nMed vänlig hälsning\nStaden";
        assert_eq!(page(50, "", swedish), "Lamna hamnen genom norra grinden.");
        assert_eq!(
            page(30, "", "Fire, leave by the stairs, not by the lift"),
            "Fire, leave by the stairs..."
        );
        assert_eq!(page(20, "", "Evakuierungsanordnungsbescheid"), "Evakuierungsanord...");
    }

    #[test]
    fn the_mark_of_a_drill_stays_first_and_stands_once() {
        let content = Content {
            subject: Some("[ÖVNING] Gasläcka".to_owned()),
            ..Content::of_text(
                "[ÖVNING] Hej alla, gå till samlingsplatsen vid norra grinden och vänta där på besked.",
            )
        };
        let page = shape(60, PagerCharset::Ascii).page(&content).unwrap();
        assert_eq!(page, "[OVNING] Gaslacka: ga till samlingsplatsen vid norra...");
        let content = Content::of_text("[訓練] Go to the north gate");
        assert_eq!(shape(60, PagerCharset::Ascii).page(&content).unwrap(), "[EXERCISE] Go to the north gate");
        assert_eq!(shape(60, PagerCharset::Utf8).page(&content).unwrap(), "[訓練] Go to the north gate");
    }

    #[test]
    fn the_route_s_characters_are_kept_and_others_are_spelled() {
        let content = Content::of_text("Gå åt norr – 5 € “nu” \u{200b}!");
        for (charset, expected) in [
            (PagerCharset::Ascii, "Ga at norr - 5 EUR \"nu\" !"),
            (PagerCharset::Latin1, "Gå åt norr - 5 EUR \"nu\" !"),
            (PagerCharset::Utf8, "Gå åt norr – 5 € “nu” !"),
        ] {
            let shape = shape(240, charset);
            let text = shape.page(&content).unwrap();
            assert_eq!(text, expected);
            let octets = shape.octets(&text);
            assert_eq!(octets.len() == text.chars().count(), charset != PagerCharset::Utf8);
        }
    }

    #[test]
    fn a_text_that_nobody_could_read_is_refused() {
        let content = Content::of_text("避難してください");
        let error = shape(240, PagerCharset::Ascii).page(&content).unwrap_err();
        assert_eq!(error.code, "local:charset");
        assert!(shape(240, PagerCharset::Utf8).page(&content).is_ok());
        let mixed = Content::of_text("Go to gate 3 訓");
        assert_eq!(shape(240, PagerCharset::Ascii).page(&mixed).unwrap(), "Go to gate 3 ?");
    }

    #[test]
    fn a_choice_is_short_and_its_first_word_too() {
        let choice = |label: &str| TextShape::default().choice(label);
        assert_eq!(choice("I am safe"), "I am safe");
        assert_eq!(choice("Evakuierungsanordnungsbescheid gelesen"), "Evakuierungsano gelesen");
        assert!(choice(&"word ".repeat(30)).chars().count() <= CHOICE_CHARS_MAX);
        assert_eq!(choice("避難"), "");
    }

    proptest! {
        /// Any text: a page within the limits, one line without controls, only the charset's characters, the
        /// mark first.
        #[test]
        fn any_text_becomes_a_page_within_its_limits(
            text in "\\PC{0,80}[a-z ,.\n]{0,400}",
            headline in "\\PC{0,30}",
            length in LENGTH_MIN..=LENGTH_MAX,
            charset in prop_oneof![
                Just(PagerCharset::Ascii), Just(PagerCharset::Latin1), Just(PagerCharset::Utf8),
            ],
            is_drill in any::<bool>(),
        ) {
            let mark = if is_drill { "[EXERCISE] " } else { "" };
            let subject = Some(format!("{mark}{headline}"));
            let content = Content { subject, ..Content::of_text(format!("{mark}{text}")) };
            let shape = shape(length, charset);
            if let Ok(page) = shape.page(&content) {
                prop_assert!(page.chars().count() <= length && page.len() <= OCTETS_MAX, "{}", page);
                prop_assert!(!page.chars().any(char::is_control), "{:?}", page);
                prop_assert!(charset != PagerCharset::Ascii || page.is_ascii(), "{:?}", page);
                prop_assert!(!is_drill || page.starts_with("[EXERCISE]"), "{:?}", page);
                prop_assert!(shape.octets(&page).iter().all(|octet| *octet >= b' ' && *octet != 0x7f));
            }
        }
    }
}
