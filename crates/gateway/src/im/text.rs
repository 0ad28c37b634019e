//! Texts of instant messages: cut to what a network takes, and as HTML.

/// Stands at the end of a text that was cut.
const ELLIPSIS: &str = "\u{2026}";
/// A word that is longer is cut in its middle: so far back a place between words is sought.
const WORD_CHARS_MAX: usize = 80;

/// Unit in which a network counts a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextUnit {
    /// Octets of UTF-8.
    Octet,
    /// Code units of UTF-16.
    Utf16,
}

impl TextUnit {
    fn of(self, c: char) -> usize {
        match self {
            TextUnit::Octet => c.len_utf8(),
            TextUnit::Utf16 => c.len_utf16(),
        }
    }

    fn count(self, text: &str) -> usize {
        text.chars().map(|c| self.of(c)).sum()
    }
}

/// A text of at most `max` units: what is longer ends between words in an ellipsis, with the link to the rest
/// on a line of its own where there is one and room for it.
pub(super) fn cut(text: &str, unit: TextUnit, max: usize, link: Option<&str>) -> String {
    if unit.count(text) <= max {
        return text.to_owned();
    }
    let has_room = |link: &&str| unit.count(link) + unit.count(ELLIPSIS) + 1 < max;
    let tail = match link.filter(has_room) {
        Some(link) => format!("{ELLIPSIS}\n{link}"),
        None => ELLIPSIS.to_owned(),
    };
    let room = max.saturating_sub(unit.count(&tail));
    let mut used = 0;
    let end = text.char_indices().find_map(|(place, c)| {
        used += unit.of(c);
        (used > room).then_some(place)
    });
    let (front, rest) = text.split_at(end.unwrap_or(text.len()));
    if rest.starts_with(char::is_whitespace) {
        return format!("{}{tail}", front.trim_end());
    }
    let mut back = front.char_indices().rev().take(WORD_CHARS_MAX);
    let between = back.find(|(_, c)| c.is_whitespace()).map_or(front.len(), |(place, _)| place);
    let between = if between == 0 { front.len() } else { between };
    format!("{}{tail}", front[..between].trim_end())
}

/// A plain text as HTML.
pub(super) fn html(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '\n' => html.push_str("<br>"),
            '\r' => {}
            other => html.push(other),
        }
    }
    html
}

/// What a person wrote, without the quotation that clients of old put before a reply (Matrix, "Fallbacks for
/// rich replies"), bounded to `chars_max` characters.
pub(super) fn said(text: &str, is_reply: bool, chars_max: usize) -> String {
    let mut rest = text;
    if is_reply {
        while let Some(quoted) = rest.strip_prefix("> ").or_else(|| rest.strip_prefix(">\n")) {
            rest = quoted.split_once('\n').map_or("", |(_, rest)| rest);
        }
    }
    rest.trim().chars().take(chars_max).collect()
}

/// A reaction as a word: the keycap of a digit is the digit.
pub(super) fn reaction(key: &str, chars_max: usize) -> String {
    let is_mark = |c: &char| matches!(c, '\u{fe0f}' | '\u{fe0e}' | '\u{20e3}');
    key.trim().chars().filter(|c| !is_mark(c)).take(chars_max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_long_text_ends_between_words_with_an_ellipsis_and_the_link() {
        let link = Some("https://x/a");
        for (text, max, link, expected) in [
            ("all clear", 9, None, "all clear"),
            ("all clear now", 12, None, "all clear\u{2026}"),
            ("all clear now", 13, link, "all clear now"),
            ("leave the house at once, go north", 26, link, "leave the\u{2026}\nhttps://x/a"),
            ("abcdefghijklmno", 10, None, "abcdefg\u{2026}"),
            ("leave the house", 12, link, "leave the\u{2026}"),
        ] {
            assert_eq!(cut(text, TextUnit::Octet, max, link), expected, "{text:?} {max}");
        }
        assert_eq!(
            cut("\u{1f525}\u{1f525}\u{1f525}", TextUnit::Utf16, 5, None),
            "\u{1f525}\u{1f525}\u{2026}"
        );
    }

    #[test]
    fn html_shows_the_text_and_no_markup_of_it() {
        assert_eq!(html("a <b>\r\n&\"c\""), "a &lt;b&gt;<br>&amp;\"c\"");
    }

    #[test]
    fn a_reply_is_read_without_its_quotation_and_a_keycap_is_its_digit() {
        assert_eq!(said("> <@bot:s> Fire\n> 1 = safe\n\n1", true, 100), "1");
        assert_eq!(said("> I quote\n\nmyself", false, 100), "> I quote\n\nmyself");
        assert_eq!(said("> all", true, 100), "");
        assert_eq!(said(" \u{e5}\u{e5}\u{e5} ", false, 2), "\u{e5}\u{e5}");
        assert_eq!(reaction("1\u{fe0f}\u{20e3}", 8), "1");
        assert_eq!(reaction(" I am safe ", 64), "I am safe");
    }

    proptest! {
        #[test]
        fn no_text_is_over_the_limit(text in "\\PC{0,200}", max in 2..120usize, link in proptest::option::of("[a-z]{1,40}")) {
            for unit in [TextUnit::Octet, TextUnit::Utf16] {
                let max = max.max(unit.count(ELLIPSIS));
                prop_assert!(unit.count(&cut(&text, unit, max, link.as_deref())) <= max);
            }
        }
    }
}
