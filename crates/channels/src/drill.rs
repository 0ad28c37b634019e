//! The mark of a drill, by language: first in every text, and also last where a text has room.
//!
//! The mark is for the person: it is in their own language, also where the alert has no text in it and the
//! default one is sent. Whose language nobody knows gets the mark in the language of the text, and in English
//! where that is not known either: the default text of an alert names no language.

use records::Content;

/// Marks by language (BCP 47, lower case), the longer tag before the shorter one it begins with. Words that
/// civil protection of the country uses; those of Latin scripts keep to the GSM 7-bit alphabet where the
/// spelling allows it, so that the mark alone costs no short message its coding.
const MARKS: [(&str, &str); 43] = [
    ("en", "[EXERCISE]"),
    ("ar", "[تمرين]"),
    ("bg", "[УЧЕНИЕ]"),
    ("bn", "[মহড়া]"),
    ("ca", "[SIMULACRE]"),
    ("cs", "[CVIČENÍ]"),
    ("da", "[ØVELSE]"),
    ("de", "[ÜBUNG]"),
    ("el", "[ΑΣΚΗΣΗ]"),
    ("es", "[SIMULACRO]"),
    ("et", "[ÕPPUS]"),
    ("fa", "[تمرین]"),
    ("fi", "[HARJOITUS]"),
    ("fr", "[EXERCICE]"),
    ("he", "[תרגיל]"),
    ("hi", "[अभ्यास]"),
    ("hr", "[VJEŽBA]"),
    ("hu", "[GYAKORLAT]"),
    ("id", "[LATIHAN]"),
    ("is", "[ÆFING]"),
    ("it", "[ESERCITAZIONE]"),
    ("ja", "[訓練]"),
    ("ko", "[훈련]"),
    ("lt", "[PRATYBOS]"),
    ("lv", "[MĀCĪBAS]"),
    ("nb", "[ØVELSE]"),
    ("nl", "[OEFENING]"),
    ("nn", "[ØVING]"),
    ("no", "[ØVELSE]"),
    ("pl", "[ĆWICZENIA]"),
    ("pt-br", "[SIMULADO]"),
    ("pt", "[SIMULACRO]"),
    ("ro", "[EXERCIȚIU]"),
    ("ru", "[УЧЕНИЯ]"),
    ("sk", "[CVIČENIE]"),
    ("sl", "[VAJA]"),
    ("sv", "[ÖVNING]"),
    ("th", "[ฝึกซ้อม]"),
    ("tr", "[TATBİKAT]"),
    ("uk", "[НАВЧАННЯ]"),
    ("vi", "[DIỄN TẬP]"),
    ("zh-hant", "[演習]"),
    ("zh", "[演习]"),
];

/// A mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark(u8);

impl Mark {
    /// How many there are; [`Mark::place`] is below.
    pub const COUNT: usize = MARKS.len();

    /// The mark in a language; the regions and scripts of a language share one where they have none of their
    /// own (RFC 4647, 3.4). Nothing if the table does not know the language.
    pub fn of(language: &str) -> Option<Mark> {
        let mut range = match language {
            // Written in the traditional script, which the tag need not say.
            "zh-TW" | "zh-HK" | "zh-MO" | "zh-tw" | "zh-hk" | "zh-mo" => "zh-hant",
            other => other,
        };
        loop {
            if let Some(place) = MARKS.iter().position(|(tag, _)| tag.eq_ignore_ascii_case(range)) {
                return Some(Mark(place as u8));
            }
            range = &range[..range.rfind('-')?];
        }
    }

    /// Its place among all.
    pub fn place(self) -> usize {
        usize::from(self.0)
    }

    /// The language it is in.
    pub fn language(self) -> &'static str {
        MARKS[self.place()].0
    }

    /// As it stands in a text: a word in square brackets.
    pub fn text(self) -> &'static str {
        MARKS[self.place()].1
    }

    /// The word alone.
    pub fn word(self) -> &'static str {
        let text = self.text();
        &text[1..text.len() - 1]
    }

    /// Puts it first in every part of a text, and last in those that have room if `last`.
    pub fn put_on(self, content: &mut Content, last: bool) {
        let mark = self.text();
        put(&mut content.text, mark, " ", if last { "\n" } else { "" });
        if let Some(subject) = &mut content.subject {
            put(subject, mark, " ", "");
        }
        if let Some(html) = &mut content.html {
            put_in_html(html, mark, last);
        }
        if let Some(spoken) = &mut content.spoken {
            put(spoken, self.word(), ". ", if last { " " } else { "" });
        }
    }
}

/// Before the text, with `behind` after the mark; and after the text with `before`, unless that is empty.
fn put(text: &mut String, mark: &str, behind: &str, before: &str) {
    let mut out = String::with_capacity(text.len() + 2 * mark.len() + behind.len() + before.len());
    out.extend([mark, behind, text.as_str()]);
    if !before.is_empty() {
        out.extend([before, mark]);
    }
    *text = out;
}

/// In a paragraph of its own: inside the body, where the document has one.
fn put_in_html(html: &mut String, mark: &str, last: bool) {
    let lower = html.to_ascii_lowercase();
    let first_at = lower.find("<body").and_then(|at| Some(at + lower[at..].find('>')? + 1)).unwrap_or(0);
    let ends = lower.rfind("</body").or_else(|| lower.rfind("</html")).filter(|at| *at >= first_at);
    let last_at = ends.unwrap_or(html.len());
    let paragraph = format!("<p>{mark}</p>");
    let mut out = String::with_capacity(html.len() + 2 * paragraph.len());
    out.extend([&html[..first_at], &paragraph, &html[first_at..last_at]]);
    if last {
        out.push_str(&paragraph);
    }
    out.push_str(&html[last_at..]);
    *html = out;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_from_the_most_to_the_least_specific_tag() {
        for (language, mark) in [
            ("en", Some("[EXERCISE]")),
            ("sv", Some("[ÖVNING]")),
            ("sv-FI", Some("[ÖVNING]")),
            ("DE-ch-1996", Some("[ÜBUNG]")),
            ("pt-BR", Some("[SIMULADO]")),
            ("pt-PT", Some("[SIMULACRO]")),
            ("zh-Hant-HK", Some("[演習]")),
            ("zh-TW", Some("[演習]")),
            ("zh-Hans", Some("[演习]")),
            ("tlh", None),
            ("", None),
        ] {
            assert_eq!(Mark::of(language).map(Mark::text), mark, "{language}");
        }
        assert_eq!(Mark::default().text(), "[EXERCISE]");
    }

    #[test]
    fn each_mark_is_a_word_in_brackets_and_is_found_by_its_own_tag() {
        for (place, (tag, text)) in MARKS.iter().enumerate() {
            assert_eq!(Mark::of(tag), Some(Mark(place as u8)), "{tag}");
            assert!(text.starts_with('[') && text.ends_with(']'), "{text}");
            assert!(Mark(place as u8).word().chars().all(|c| !matches!(c, '[' | ']' | '{' | '}')), "{text}");
        }
    }

    #[test]
    fn a_mark_stands_first_in_every_part_and_last_where_there_is_room() {
        let content = Content {
            subject: Some("Sirens".into()),
            text: "Test of the sirens".into(),
            html: Some("<html><BODY class=\"a\"><b>Test</b></body></html>".into()),
            spoken: Some("This is a test.".into()),
        };
        let mark = Mark::of("sv").unwrap();
        let mut once = content.clone();
        mark.put_on(&mut once, false);
        assert_eq!(once.subject.as_deref(), Some("[ÖVNING] Sirens"));
        assert_eq!(once.text, "[ÖVNING] Test of the sirens");
        assert_eq!(
            once.html.as_deref(),
            Some("<html><BODY class=\"a\"><p>[ÖVNING]</p><b>Test</b></body></html>")
        );
        assert_eq!(once.spoken.as_deref(), Some("ÖVNING. This is a test."));
        let mut twice = content;
        mark.put_on(&mut twice, true);
        assert_eq!(twice.subject, once.subject);
        assert_eq!(twice.text, "[ÖVNING] Test of the sirens\n[ÖVNING]");
        assert_eq!(
            twice.html.as_deref(),
            Some("<html><BODY class=\"a\"><p>[ÖVNING]</p><b>Test</b><p>[ÖVNING]</p></body></html>")
        );
        assert_eq!(twice.spoken.as_deref(), Some("ÖVNING. This is a test. ÖVNING"));
        let mut fragment = Content { html: Some("<p>Hi".into()), ..Content::of_text("Hi") };
        mark.put_on(&mut fragment, true);
        assert_eq!(fragment.html.as_deref(), Some("<p>[ÖVNING]</p><p>Hi<p>[ÖVNING]</p>"));
    }
}
