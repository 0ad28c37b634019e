//! Template of a body's mails, made once for all recipients: the headers that are the same, and the MIME body
//! with places for each recipient's link.

use super::answer_words::AnswerWords;
use super::answering::{self, AnswerWays, LINK_PLACE};
use super::quoted::{SOFT_BREAK, push_quoted};
use mail_builder::headers::Header;
use mail_builder::headers::address::Address;
use mail_builder::headers::raw::Raw;
use mail_builder::headers::text::Text;
use mail_builder::mime::MimePart;
use records::Choice;

/// In a template: the link, encoded for the text.
const TEXT_PLACE: u8 = 1;
/// In a template: the link, encoded for an HTML attribute.
const HTML_PLACE: u8 = 2;

/// The shared part of a message: octets, with places between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Octets(Vec<u8>),
    TextLink,
    HtmlLink,
}

/// What a template is made of.
#[derive(Debug)]
pub struct TemplateSource<'a> {
    /// Display name and address of the author.
    pub from: (Option<&'a str>, &'a str),
    pub subject: &'a str,
    pub text: &'a str,
    pub html: Option<&'a str>,
    /// What the answer section says in words of its own.
    pub words: &'static AnswerWords,
    pub ways: AnswerWays,
    pub choices: &'a [Choice],
    pub emergency: bool,
    pub drill: bool,
}

impl Template {
    /// Headers from `From` on, and the body.
    pub fn new(source: &TemplateSource<'_>) -> Template {
        let mut octets = Vec::with_capacity(1024 + source.text.len() + source.html.map_or(0, str::len));
        push_headers(&mut octets, source);
        body(source).write_part(&mut octets);
        Template { pieces: cut_at_places(&octets) }
    }

    /// Appends the template with the recipient's link in its places.
    pub fn push(&self, out: &mut Vec<u8>, link: Option<&str>) {
        let link = link.unwrap_or_default();
        for piece in &self.pieces {
            match piece {
                Piece::Octets(octets) => out.extend_from_slice(octets),
                Piece::TextLink => push_quoted_octets(out, link),
                Piece::HtmlLink => push_quoted_octets(out, &answering::escape(link)),
            }
        }
    }

    /// Octets without what is put in.
    pub fn octets(&self) -> usize {
        self.pieces.iter().map(|piece| if let Piece::Octets(octets) = piece { octets.len() } else { 0 }).sum()
    }
}

fn push_headers(out: &mut Vec<u8>, source: &TemplateSource<'_>) {
    let (name, address) = source.from;
    push_header(out, "From", &Address::new_address(name, address));
    push_header(out, "Subject", &Text::new(source.subject));
    // RFC 3834 §5: no responder answers this.
    out.extend_from_slice(b"Auto-Submitted: auto-generated\r\n");
    // What Exchange looks at before it sends an out-of-office notice.
    out.extend_from_slice(b"X-Auto-Response-Suppress: OOF, AutoReply\r\n");
    if source.emergency {
        // RFC 2156 §5.3.6 for the first two; the third is what most mail programs look at.
        out.extend_from_slice(b"Importance: high\r\nPriority: urgent\r\nX-Priority: 1\r\n");
    }
    if source.drill {
        out.extend_from_slice(b"X-Campanile-Drill: yes\r\n");
    }
    out.extend_from_slice(b"MIME-Version: 1.0\r\n");
}

fn push_header(out: &mut Vec<u8>, name: &str, value: &impl Header) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    value.write_header(out, name.len() + 2);
}

fn body<'a>(source: &TemplateSource<'a>) -> MimePart<'a> {
    let text = text_part(source);
    match source.html {
        Some(html) => MimePart::new("multipart/alternative", vec![text, html_part(source, html)]),
        None => text,
    }
}

/// Text and HTML of a mail, as its reader sees them.
pub fn shown(source: &TemplateSource<'_>, link: Option<&str>) -> (String, Option<String>) {
    let link = link.unwrap_or_default();
    let text = text_of(source);
    let text = if source.ways.any() { text.replacen(LINK_PLACE, link, 1) } else { text };
    let html = source.html.map(|html| match html_of(source, html) {
        (before, Some(after)) => format!("{before}{}{after}", answering::escape(link)),
        (whole, None) => whole,
    });
    (text, html)
}

/// The text, with [`LINK_PLACE`] where there is a link.
fn text_of(source: &TemplateSource<'_>) -> String {
    // The places' own octet may come in by nobody's text.
    let text = source.text.replace(['\0', char::from(TEXT_PLACE), char::from(HTML_PLACE)], " ");
    if !source.ways.any() {
        return text;
    }
    text + &answering::in_text(source.words, source.ways, source.choices)
}

/// The HTML before the link, and behind it where there is one.
fn html_of(source: &TemplateSource<'_>, html: &str) -> (String, Option<String>) {
    let html = html.replace(['\0', char::from(TEXT_PLACE), char::from(HTML_PLACE)], " ");
    if !source.ways.any() {
        return (html, None);
    }
    let (before, after) = html.split_at(answering::end_of_html(&html));
    let (answer_before, answer_after) = answering::in_html(source.words, source.ways, source.choices);
    match source.ways.link {
        true => (format!("{before}{answer_before}"), Some(format!("{answer_after}{after}"))),
        false => (format!("{before}{answer_before}{after}"), None),
    }
}

fn text_part<'a>(source: &TemplateSource<'a>) -> MimePart<'a> {
    let whole = text_of(source);
    let Some((before, after)) = whole.split_once(LINK_PLACE).filter(|_| source.ways.any()) else {
        return MimePart::new("text/plain", whole);
    };
    let mut encoded = String::with_capacity(whole.len() * 2);
    push_quoted(&mut encoded, before);
    encoded.push(char::from(TEXT_PLACE));
    push_quoted(&mut encoded, after);
    quoted_part("text/plain", encoded)
}

fn html_part<'a>(source: &TemplateSource<'a>, html: &str) -> MimePart<'a> {
    let (before, after) = match html_of(source, html) {
        (whole, None) => return MimePart::new("text/html", whole),
        (before, Some(after)) => (before, after),
    };
    // A soft break before and after: the link begins and ends at a line's edge, whatever its length.
    let mut encoded = String::with_capacity(html.len() * 2);
    push_quoted(&mut encoded, &before);
    encoded.push_str(SOFT_BREAK);
    encoded.push(char::from(HTML_PLACE));
    encoded.push_str(SOFT_BREAK);
    push_quoted(&mut encoded, &after);
    quoted_part("text/html", encoded)
}

/// A part whose content is encoded already.
fn quoted_part<'a>(kind: &'static str, encoded: String) -> MimePart<'a> {
    MimePart::new(kind, encoded).header("Content-Transfer-Encoding", Raw::new("quoted-printable"))
}

fn cut_at_places(octets: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = octets;
    while let Some(at) = rest.iter().position(|&octet| octet == TEXT_PLACE || octet == HTML_PLACE) {
        pieces.push(Piece::Octets(rest[..at].to_vec()));
        pieces.push(if rest[at] == TEXT_PLACE { Piece::TextLink } else { Piece::HtmlLink });
        rest = &rest[at + 1..];
    }
    pieces.push(Piece::Octets(rest.to_vec()));
    pieces
}

fn push_quoted_octets(out: &mut Vec<u8>, text: &str) {
    let mut encoded = String::with_capacity(text.len() + 16);
    push_quoted(&mut encoded, text);
    out.extend_from_slice(encoded.as_bytes());
}
