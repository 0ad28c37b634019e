//! Comments: the first word of a file, and the width of a line.

use super::{Finding, SourceFile};

/// Characters of a line with a comment, as of a line of code (`max_width` of rustfmt.toml).
const WIDTH_MAX: usize = 110;
/// A file's header names a thing. With these it tells of one.
const FIRST_WORDS_BANNED: &[&str] = &[
    "Are", "Does", "How", "Is", "May", "That", "What", "Whatever", "When", "Where", "Whether", "Which",
    "Who", "Whoever", "Whom", "Whose", "Why",
];

pub fn check(file: &SourceFile) -> Vec<Finding> {
    if file.path.ends_with("/generated.rs") {
        return Vec::new();
    }
    first_word(file).into_iter().chain(widths(file)).collect()
}

fn first_word(file: &SourceFile) -> Option<Finding> {
    let header = file.source.line(1).strip_prefix("//! ")?;
    let word = header.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    FIRST_WORDS_BANNED.contains(&word).then(|| {
        file.finding(
            1,
            format!("the header begins with `{word}`: noun, verb, object, with a noun of the lexicon"),
        )
    })
}

/// Tables, code in comments, and what has no space to break at are left alone.
fn widths(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_code = false;
    for line in 1..=file.source.lines() {
        let Some(text) = comment(file.source.line(line)) else {
            is_code = false;
            continue;
        };
        let is_fence = text.trim_start().starts_with("```");
        is_code ^= is_fence;
        let width = file.source.line(line).chars().count();
        if width > WIDTH_MAX && !is_code && !text.starts_with('|') && text.contains(' ') {
            let message = format!("a comment of {width} characters, more than {WIDTH_MAX}: break the line");
            findings.push(file.finding(line, message));
        }
    }
    findings
}

/// The text of a line that is nothing but a comment.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']).trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sample;

    fn messages(text: &str) -> Vec<String> {
        check(&sample("libs/x/src/a.rs", text)).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_header_that_begins_with_a_banned_word_is_found() {
        for (text, found) in [
            ("//! What a session is.\n", 1),
            ("//! Who, and when.\n", 1),
            ("//! Whatnot of a session.\n", 0),
            ("//! Session of a client: what it is told.\n", 0),
            ("// What is no header.\n", 0),
        ] {
            assert_eq!(messages(text).len(), found, "{text}");
        }
    }

    #[test]
    fn a_comment_beyond_the_width_is_found_unless_it_cannot_be_broken() {
        let long = "word ".repeat(24);
        assert_eq!(messages(&format!("// A.\n    /// {long}\n")).len(), 1);
        assert_eq!(messages(&format!("let x = 1; // {long}\n")), [""; 0], "code is rustfmt's");
        assert_eq!(messages(&format!("/// | {long} |\n")), [""; 0]);
        assert_eq!(messages(&format!("/// ```\n/// {long}\n/// ```\n")), [""; 0]);
        assert_eq!(messages(&format!("/// ```\n/// ```\n/// {long}\n")).len(), 1);
        assert_eq!(messages(&format!("/// {}\n", "x".repeat(120))), [""; 0]);
        assert_eq!(messages(&format!("/// {}\n", "å ".repeat(53))), [""; 0], "characters, not octets");
    }
}
