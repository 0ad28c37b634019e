//! Plain text of what issuers write into text elements: HTML, entities that were escaped twice, and line ends
//! of every system.

/// How often a text may have been escaped.
const ESCAPED_MAX: usize = 3;
/// Elements of HTML after which a line ends.
const BLOCKS: &[&str] = &[
    "br",
    "p",
    "div",
    "li",
    "ul",
    "ol",
    "tr",
    "table",
    "hr",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "blockquote",
    "section",
    "article",
    "dl",
    "dt",
    "dd",
    "pre",
    "center",
];
/// Elements of HTML within a line.
const INLINE: &[&str] = &[
    "a", "b", "i", "u", "s", "em", "strong", "span", "font", "small", "big", "sup", "sub", "img", "td", "th",
    "tbody", "thead", "abbr", "cite", "code", "mark", "html", "body", "head", "title", "meta", "link", "wbr",
    "label", "strike", "del", "ins", "q", "tt", "bdi", "bdo", "svg", "path", "button", "iframe", "o:p",
];
/// Elements whose content is no text.
const SILENT: &[&str] = &["script", "style"];
/// Entities of HTML beyond the five of XML.
const ENTITIES: &[(&str, &str)] = &[
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("ensp", " "),
    ("emsp", " "),
    ("thinsp", " "),
    ("shy", ""),
    ("zwnj", "\u{200C}"),
    ("zwj", "\u{200D}"),
    ("ndash", "–"),
    ("mdash", "—"),
    ("hellip", "…"),
    ("bull", "•"),
    ("middot", "·"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("sbquo", "‚"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("bdquo", "„"),
    ("laquo", "«"),
    ("raquo", "»"),
    ("lsaquo", "‹"),
    ("rsaquo", "›"),
    ("deg", "°"),
    ("plusmn", "±"),
    ("times", "×"),
    ("frac12", "½"),
    ("frac14", "¼"),
    ("frac34", "¾"),
    ("sup2", "²"),
    ("sup3", "³"),
    ("micro", "µ"),
    ("para", "¶"),
    ("sect", "§"),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("euro", "€"),
    ("pound", "£"),
    ("yen", "¥"),
    ("cent", "¢"),
    ("iexcl", "¡"),
    ("iquest", "¿"),
    ("ordf", "ª"),
    ("ordm", "º"),
    ("rarr", "→"),
    ("larr", "←"),
    ("uarr", "↑"),
    ("darr", "↓"),
    ("le", "≤"),
    ("ge", "≥"),
    ("szlig", "ß"),
    ("aelig", "æ"),
    ("AElig", "Æ"),
    ("oelig", "œ"),
    ("OElig", "Œ"),
    ("oslash", "ø"),
    ("Oslash", "Ø"),
    ("aring", "å"),
    ("Aring", "Å"),
    ("eth", "ð"),
    ("ETH", "Ð"),
    ("thorn", "þ"),
    ("THORN", "Þ"),
];
/// The accents of named letters, such as `eacute`, as combining marks' names and the letters they make.
const ACCENTS: &[(&str, &str, &str)] = &[
    ("acute", "aeiouyAEIOUY", "áéíóúýÁÉÍÓÚÝ"),
    ("grave", "aeiouAEIOU", "àèìòùÀÈÌÒÙ"),
    ("circ", "aeiouAEIOU", "âêîôûÂÊÎÔÛ"),
    ("uml", "aeiouyAEIOU", "äëïöüÿÄËÏÖÜ"),
    ("tilde", "anoANO", "ãñõÃÑÕ"),
    ("cedil", "cC", "çÇ"),
    ("caron", "sS", "šŠ"),
];

/// A text as people read it: without HTML and entities, lines ended by a line feed, without trailing white
/// space, at most one empty line between paragraphs. What only looks like HTML (`wind < 5`) stays.
pub fn plain_text(text: &str) -> String {
    let mut text = with_line_feeds(text);
    for _ in 0..ESCAPED_MAX {
        let next = without_entities(&without_tags(&text));
        if next == text {
            break;
        }
        text = next;
    }
    tidy(&text)
}

/// The same on one line.
pub fn plain_line(text: &str) -> String {
    plain_text(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every form of a line end, also the two letters of a program's string, as a line feed.
fn with_line_feeds(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace("\\r\\n", "\n").replace("\\n", "\n");
    text.chars()
        .filter(|c| !matches!(c, '\u{200B}' | '\u{FEFF}' | '\u{AD}' | '\u{2060}'))
        .map(|c| match c {
            '\r' | '\u{0B}' | '\u{0C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => '\n',
            '\t' | '\u{A0}' => ' ',
            c => c,
        })
        .filter(|c| *c == '\n' || !c.is_control())
        .collect()
}

fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            empty += 1;
            continue;
        }
        if !out.is_empty() {
            out.push_str(if empty > 0 { "\n\n" } else { "\n" });
        }
        empty = 0;
        out.push_str(&words.join(" "));
    }
    out
}

/// A tag of HTML: its name in lower case, whether it ends an element, and the octets it takes.
struct MarkupTag<'a> {
    name: String,
    is_end: bool,
    inside: &'a str,
    octets: usize,
}

fn tag(text: &str) -> Option<MarkupTag<'_>> {
    if let Some(comment) = text.strip_prefix("<!--") {
        let octets = comment.find("-->")? + 7;
        return Some(MarkupTag { name: "!".to_owned(), is_end: false, inside: "", octets });
    }
    let close = text.find('>')?;
    let inside = text.get(1..close)?;
    let (is_end, inside) = inside.strip_prefix('/').map_or((false, inside), |rest| (true, rest));
    let name: String = inside.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == ':').collect();
    let behind = &inside[name.len()..];
    let name = name.to_ascii_lowercase();
    let is_known = [BLOCKS, INLINE, SILENT].iter().any(|list| list.contains(&name.as_str()));
    let is_tag = behind.is_empty() || behind.starts_with([' ', '/', '\n', '\t']);
    (is_known && is_tag).then_some(MarkupTag { name, is_end, inside: behind, octets: close + 1 })
}

fn without_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut link: Option<(String, usize)> = None;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(tag) = tag(rest) else {
            out.push('<');
            rest = &rest[1..];
            continue;
        };
        rest = &rest[tag.octets..];
        match tag.name.as_str() {
            "li" if !tag.is_end => out.push_str(if out.ends_with('\n') { "- " } else { "\n- " }),
            "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => out.push_str("\n\n"),
            "td" | "th" => out.push(' '),
            "a" if tag.is_end => name_link(&mut out, link.take()),
            "a" => link = href(tag.inside).map(|href| (href, out.len())),
            name if SILENT.contains(&name) && !tag.is_end => {
                let end = format!("</{name}");
                rest = rest.find(&end).map_or("", |at| &rest[at..]);
            }
            name if BLOCKS.contains(&name) => out.push('\n'),
            _ => {}
        }
    }
    out.push_str(rest);
    out
}

/// Puts where a link leads behind its words, unless they say it.
fn name_link(out: &mut String, link: Option<(String, usize)>) {
    let Some((href, from)) = link else { return };
    let words = out.get(from..).unwrap_or_default();
    let bare = href.trim_start_matches("https://").trim_start_matches("http://").trim_end_matches('/');
    if words.trim().is_empty() {
        out.push_str(&href);
    } else if !words.contains(bare) {
        out.push_str(&format!(" ({href})"));
    }
}

/// An address that people can follow out of a text; those of telephones stand in the words.
fn href(attributes: &str) -> Option<String> {
    let value = attributes.split_once("href")?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next()?;
    let value = match quote {
        '"' | '\'' => value[1..].split(quote).next()?,
        _ => value.split_whitespace().next()?,
    };
    (value.starts_with("http://") || value.starts_with("https://")).then(|| value.to_owned())
}

fn without_entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let name = rest.split_once(';').map(|(name, _)| name).filter(|name| name.len() <= 10);
        match name.and_then(|name| Some((name, entity(name)?))) {
            Some((name, meant)) => {
                out.push_str(&meant);
                rest = &rest[name.len() + 1..];
            }
            None => out.push('&'),
        }
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<String> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).map(|c| if c == '\r' { "\n".to_owned() } else { c.to_string() });
    }
    if let Some((_, meant)) = ENTITIES.iter().find(|(known, _)| *known == name) {
        return Some((*meant).to_owned());
    }
    let mut letters = name.chars();
    let (letter, accent) = (letters.next()?, letters.as_str());
    let (_, plain, accented) = ACCENTS.iter().find(|(known, ..)| *known == accent)?;
    let place = plain.chars().position(|c| c == letter)?;
    accented.chars().nth(place).map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tags_and_entities_become_what_people_read() {
        for (text, expected) in [
            (
                "All-clear for &quot;Probealarm&quot;.<br/><br/>Passable.",
                "All-clear for \"Probealarm\".\n\nPassable.",
            ),
            ("a&lt;br&gt;b", "a\nb"),
            ("a&amp;lt;br /&amp;gt;b &amp;amp; c", "a\nb & c"),
            ("<p>One</p><p>Two</p>", "One\n\nTwo"),
            ("<ul><li>Shut windows</li><li>Stay in</li></ul>", "- Shut windows\n- Stay in"),
            ("<b>Do not</b> <span style=\"x\">enter</span>", "Do not enter"),
            ("see <a href=\"https://x.example/a\">the map</a>", "see the map (https://x.example/a)"),
            ("<a href='http://x.example/'>x.example</a>", "x.example"),
            ("<a href=\"tel:112\">112</a>", "112"),
            ("K&ouml;ln &#252;ber 5&nbsp;m &#x2013; K&#xE4;lte", "Köln über 5 m – Kälte"),
            ("<style>p{}</style>x<script>alert(1)</script>y<!-- z -->", "xy"),
            ("wind < 5 and > 3 m/s, R&D, a<b>c", "wind < 5 and > 3 m/s, R&D, ac"),
            ("x <1 &unknown; & <foo>", "x <1 &unknown; & <foo>"),
            ("", ""),
        ] {
            assert_eq!(plain_text(text), expected, "{text}");
        }
    }

    #[test]
    fn line_ends_of_every_system_are_line_feeds() {
        for (text, expected) in [
            ("a\r\nb\rc\u{2028}d\u{85}e", "a\nb\nc\nd\ne"),
            ("a\\nb\\r\\nc", "a\nb\nc"),
            ("  a  b\t c \n\n\n\n  d  ", "a b c\n\nd"),
            ("a\u{A0}b\u{200B}c\u{FEFF}", "a bc"),
            ("\u{2000}a\u{3000}b\u{2009}\n\u{2000}", "a b"),
            ("\u{7}a", "a"),
        ] {
            assert_eq!(plain_text(text), expected, "{text:?}");
            assert_eq!(plain_line(text), expected.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }

    proptest! {
        #[test]
        fn plain_text_is_plain_already(text in "[a-z<>&;#/ \r\n=\"\\\\]{0,60}|\\PC{0,40}") {
            let once = plain_text(&text);
            prop_assert!(!once.contains('\r') && !once.contains("<br>") && !once.ends_with(char::is_whitespace));
            prop_assert!(!plain_line(&text).contains('\n'));
        }
    }
}
