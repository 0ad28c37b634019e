//! Text that a person wrote into a reply: without quotations and signatures.
//!
//! There is no standard for quotations. The forms of Outlook, Gmail, Apple Mail, Thunderbird and the like are
//! searched for in the languages of their users; where none is found, the whole text is the answer.

use super::cut;
use super::phrases::{BEGINNINGS, FROM, OTHERS, SIGNATURES, WEEKDAYS, WROTE};
use mail_parser::Message;
use mail_parser::decoders::html::html_to_text;

/// An answer is at most so many octets.
pub const ANSWER_OCTETS_MAX: usize = 4000;
/// Only so much of a mail is looked at.
const SEARCH_OCTETS_MAX: usize = 64 * 1024;
/// Letters before the colon of a subject that replies: `Re`, `AW`, `Antw`, `回复`.
const REPLY_CHARACTERS_MAX: usize = 6;
/// Lines over which `On … wrote:` may be broken.
const ATTRIBUTION_LINES_MAX: usize = 4;
/// Of the headers Outlook quotes, so many in a row are recognised as such.
const QUOTED_HEADERS_MIN: usize = 2;

/// The text that the person wrote.
pub fn answer(message: &Message<'_>) -> String {
    let text = match html_alone(message) {
        Some(html) => html_to_text(before_quoted_html(&html)),
        None => message.body_text(0).unwrap_or_default().into_owned(),
    };
    let text = cut(text, SEARCH_OCTETS_MAX);
    let own = own_words(&text);
    let own = if own.is_empty() { own_subject(message.subject().unwrap_or_default()) } else { own };
    cut(own, ANSWER_OCTETS_MAX)
}

/// The subject that a person wrote into a mail without a text, as some phones do. One that replies or
/// forwards is the alert's: it begins with a few letters and a colon in every language.
fn own_subject(subject: &str) -> String {
    let subject = subject.trim();
    let is_reply = subject.split_once([':', '：']).is_some_and(|(front, _)| {
        let letters =
            front.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '[' | ']' | '(' | ')' | '.'));
        (1..=REPLY_CHARACTERS_MAX).contains(&letters.chars().count())
            && letters.chars().all(char::is_alphabetic)
    });
    if is_reply { String::new() } else { subject.to_owned() }
}

/// The HTML of a mail that has no plain text.
fn html_alone(message: &Message<'_>) -> Option<String> {
    let part = message.text_bodies().next()?;
    part.is_text_html()
        .then(|| part.text_contents().map(|html| cut(html.to_owned(), SEARCH_OCTETS_MAX)))
        .flatten()
}

/// Tags that mail programs put around or before a quotation.
const QUOTED_HTML: [&str; 10] = [
    "<blockquote",
    "class=\"gmail_quote",
    "class=\"gmail_attr",
    "id=\"appendonsend\"",
    "id=\"divrplyfwdmsg\"",
    "id=\"mail-editor-reference-message-container\"",
    "class=\"moz-cite-prefix\"",
    "class=\"yahoo_quoted",
    "border-top:solid #e1e1e1",
    "border-top:solid #b5c4df",
];

/// The HTML up to the first tag of a quotation; all of it if nothing was written before that.
fn before_quoted_html(html: &str) -> &str {
    let lower = html.to_ascii_lowercase();
    let mark = QUOTED_HTML.iter().filter_map(|mark| lower.find(mark)).min();
    let Some(mark) = mark else { return html };
    let before = &html[..lower[..=mark].rfind('<').unwrap_or(mark)];
    if html_to_text(before).trim().is_empty() { html } else { before }
}

/// The lines that are the writer's own.
pub fn own_words(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(|line| line.trim_end()).collect();
    let mut own: Vec<&str> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].trim_start_matches(['\u{feff}', '\u{200b}', '\u{a0}', ' ', '\t']);
        if ends_own_words(line) || begins_quoted_headers(&lines[at..]) {
            break;
        }
        if let Some(length) = attribution(&lines[at..]) {
            at += length;
            // Where the quotation is marked, there may be an answer below it.
            if !is_quoted(next_said(&lines[at..])) {
                break;
            }
        } else {
            if !is_quoted(line) {
                own.push(line);
            }
            at += 1;
        }
    }
    let text = own.join("\n");
    collapse(text.trim())
}

fn is_quoted(line: &str) -> bool {
    line.starts_with('>') || line.starts_with("&gt;") || line.starts_with('|')
}

fn next_said<'a>(lines: &[&'a str]) -> &'a str {
    lines.iter().map(|line| line.trim()).find(|line| !line.is_empty()).unwrap_or_default()
}

/// A line behind which nothing is the writer's own: a signature (RFC 3676 §4.3), a rule,
/// `-----Original Message-----`.
fn ends_own_words(line: &str) -> bool {
    let lower = line.to_lowercase();
    if line == "--" || line == "-- " || SIGNATURES.iter().any(|signature| lower.starts_with(signature)) {
        return true;
    }
    let rule = |c: char| line.len() >= 10 && line.chars().all(|found| found == c);
    let inner = line.trim_matches(['-', '_', ' ']);
    let dashed = line.starts_with("--") && line.ends_with("--") && !inner.is_empty() && inner.len() <= 60;
    rule('_') || rule('-') || rule('=') || dashed
}

/// Headers of the quoted message as lines: `From: … / Sent: … / To: …`, sometimes with stars around the
/// names.
fn begins_quoted_headers(lines: &[&str]) -> bool {
    let name = |line: &str| {
        let line = line.trim_start_matches(['*', ' ', '>']).to_lowercase();
        line.split_once([':', '：']).map(|(name, _)| name.trim_matches(['*', ' ']).to_owned())
    };
    let is = |line: &str, names: &[&str]| name(line).is_some_and(|name| names.contains(&name.as_str()));
    if !lines.first().is_some_and(|line| is(line, FROM)) {
        return false;
    }
    let others = lines.iter().skip(1).take(6).filter(|line| is(line, OTHERS)).count();
    others >= QUOTED_HEADERS_MIN
}

/// `On Tue, 3 Nov 2026 at 10:00, City of X <alerts@…> wrote:`, possibly broken over lines: the number of its
/// lines.
fn attribution(lines: &[&str]) -> Option<usize> {
    let mut joined = String::new();
    for (at, line) in lines.iter().take(ATTRIBUTION_LINES_MAX).enumerate() {
        let line = line.trim_matches(|c: char| c.is_whitespace() || channels::is_invisible(c));
        if line.is_empty() || is_quoted(line) {
            return None;
        }
        joined.push_str(&line.to_lowercase());
        // German and Dutch put the name behind the verb: the line only ends with a colon.
        if joined.ends_with([':', '：']) && WROTE.iter().any(|verb| joined.contains(verb)) {
            return is_attribution(&joined, at + 1, lines).then_some(at + 1);
        }
        if is_dated_name(&joined, &lines[at + 1..]) {
            return Some(at + 1);
        }
        joined.push(' ');
    }
    None
}

/// A date, a name and a colon, in a language without a verb for it: before the address of the writer, or
/// before lines that are marked as quoted.
fn is_dated_name(joined: &str, behind: &[&str]) -> bool {
    let is_dated = joined.chars().any(|c| c.is_numeric());
    let is_addressed = joined.contains('@') && joined.contains('<');
    joined.ends_with([':', '：']) && is_dated && (is_addressed || is_quoted(next_said(behind)))
}

fn is_attribution(joined: &str, length: usize, lines: &[&str]) -> bool {
    let begins = |text: &str| {
        let dated = text.starts_with(|c: char| c.is_ascii_digit());
        dated || BEGINNINGS.iter().chain(WEEKDAYS).any(|beginning| text.starts_with(beginning))
    };
    let dated = joined.bytes().any(|octet| octet.is_ascii_digit());
    if length == 1 {
        return joined.contains('@') || begins(joined) && dated || is_quoted(next_said(&lines[1..]));
    }
    // The line before a broken one may be the writer's own, and begin the same way.
    let later = lines
        .get(1)
        .is_some_and(|line| begins(&line.trim().to_lowercase()) && attribution(&lines[1..]).is_some());
    begins(joined) && dated && !later
}

/// At most one empty line in a row.
fn collapse(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = false;
    for line in text.lines() {
        if line.is_empty() {
            empty = true;
            continue;
        }
        if !out.is_empty() {
            out.push_str(if empty { "\n\n" } else { "\n" });
        }
        empty = false;
        out.push_str(line);
    }
    out
}
