//! Answer section of a mail: appended to the text and to the HTML where the alert asks for an answer.

use super::answer_words::AnswerWords;
use records::Choice;

/// Stands where each recipient's link will be. No octet of a quoted-printable text is NUL.
pub const LINK_PLACE: &str = "\0link\0";

/// Which ways of answering a mail offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AnswerWays {
    /// A link of their own leads to the answer page.
    pub link: bool,
    /// A reply comes back to us.
    pub reply: bool,
}

impl AnswerWays {
    /// None: nothing is appended.
    pub fn any(self) -> bool {
        self.link || self.reply
    }
}

/// The plain text's end, with [`LINK_PLACE`] on a line of its own if there is a link.
pub fn in_text(words: &AnswerWords, ways: AnswerWays, choices: &[Choice]) -> String {
    let mut out = String::from("\n\n");
    for choice in choices {
        out.push_str(&format!("{} = {}\n", one_line(&choice.key), one_line(&choice.label)));
    }
    if !choices.is_empty() {
        out.push('\n');
    }
    if ways.link {
        out.push_str(&format!("{}:\n{LINK_PLACE}\n", words.here));
    }
    if ways.reply {
        out.push_str(&format!("{}\n", by_reply(words, ways, choices)));
    }
    out
}

/// The same in HTML, as two pieces around the link's place in an attribute; the second is empty if there is
/// no link.
pub fn in_html(words: &AnswerWords, ways: AnswerWays, choices: &[Choice]) -> (String, String) {
    let mut before = String::from("<hr>\n");
    if !choices.is_empty() {
        before.push_str("<ul>\n");
        for choice in choices {
            before.push_str(&format!(
                "<li><b>{}</b> = {}</li>\n",
                escape(&choice.key),
                escape(&choice.label)
            ));
        }
        before.push_str("</ul>\n");
    }
    let reply = match ways.reply {
        true => format!("<p>{}</p>\n", escape(&by_reply(words, ways, choices))),
        false => String::new(),
    };
    if ways.link {
        before.push_str("<p><a href=\"");
        return (before, format!("\">{}</a></p>\n{reply}", words.here));
    }
    before.push_str(&reply);
    (before, String::new())
}

fn by_reply(words: &AnswerWords, ways: AnswerWays, choices: &[Choice]) -> String {
    let keys: Vec<&str> = choices.iter().map(|choice| choice.key.as_str()).collect();
    one_line(&words.by_reply(ways.link, &keys))
}

/// Where an HTML text takes something appended: before the end of its body.
pub fn end_of_html(html: &str) -> usize {
    let lower = html.to_ascii_lowercase();
    ["</body", "</html"].iter().find_map(|tag| lower.rfind(tag)).unwrap_or(html.len())
}

/// Text as HTML.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: AnswerWays = AnswerWays { link: true, reply: false };
    const REPLY: AnswerWays = AnswerWays { link: false, reply: true };
    const BOTH: AnswerWays = AnswerWays { link: true, reply: true };

    fn choices() -> Vec<Choice> {
        [("1", "I am safe"), ("2", "Need <help>\nnow")]
            .map(|(key, label)| Choice { key: key.into(), label: label.into() })
            .into()
    }

    #[test]
    fn choices_and_ways_are_said_in_the_text() {
        for (ways, choices, expected) in [
            (LINK, vec![], "\n\nPlease answer here:\n\0link\0\n"),
            (REPLY, vec![], "\n\nPlease answer by replying to this mail.\n"),
            (
                BOTH,
                choices(),
                "\n\n1 = I am safe\n2 = Need <help> now\n\nPlease answer here:\n\0link\0\nOr reply to this mail with 1 or 2.\n",
            ),
        ] {
            assert_eq!(in_text(AnswerWords::of(None), ways, &choices), expected);
        }
    }

    #[test]
    fn the_html_says_the_same_and_escapes_what_was_typed() {
        let words = AnswerWords::of(None);
        let (before, after) = in_html(words, BOTH, &choices());
        assert_eq!(
            before,
            "<hr>\n<ul>\n<li><b>1</b> = I am safe</li>\n<li><b>2</b> = Need &lt;help&gt; now</li>\n</ul>\n<p><a href=\""
        );
        assert_eq!(after, "\">Please answer here</a></p>\n<p>Or reply to this mail with 1 or 2.</p>\n");
        assert_eq!(
            in_html(words, REPLY, &[]),
            ("<hr>\n<p>Please answer by replying to this mail.</p>\n".to_owned(), String::new())
        );
    }

    #[test]
    fn html_is_appended_to_inside_its_body() {
        for (html, rest) in [
            ("<p>x</p>", ""),
            ("<html><body>x</body></html>", "</body></html>"),
            ("<HTML>x</HTML>", "</HTML>"),
            ("<body>İx</BODY >", "</BODY >"),
            ("", ""),
        ] {
            assert_eq!(&html[end_of_html(html)..], rest);
        }
    }
}
