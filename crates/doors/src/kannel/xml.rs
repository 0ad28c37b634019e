//! Kannel's XML form of a message: `<message><submit>…`.

use super::params::{Params, octets_in_text};
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;
use std::borrow::Cow;

/// Elements inside each other at most.
const DEPTH_MAX: usize = 16;
/// Reads a document. Unknown elements are ignored; a body that is not XML has no parameters, so it is refused
/// for its missing user.
pub(super) fn params(body: &[u8]) -> Params<'static> {
    let mut found = XmlFields::default();
    // Elements before the error do not count either.
    if read(body, &mut found).is_none() {
        return Params::default();
    }
    found.params
}

#[derive(Default)]
struct XmlFields {
    params: Params<'static>,
    to: Option<Cow<'static, [u8]>>,
}

fn read(body: &[u8], found: &mut XmlFields) -> Option<()> {
    let text = decoded(body)?;
    let mut reader = Reader::from_str(&text);
    let mut path: Vec<String> = Vec::new();
    let mut content = String::new();
    let mut seen_root = false;
    loop {
        match reader.read_event().ok()? {
            Event::Start(element) => {
                if path.len() >= DEPTH_MAX || (path.is_empty() && seen_root) {
                    return None;
                }
                seen_root = true;
                path.push(element.name().as_ref().to_owned());
                content.clear();
            }
            Event::Empty(element) => {
                seen_root = true;
                path.push(element.name().as_ref().to_owned());
                found.take(&path.join("/"), "");
                path.pop();
            }
            Event::Text(text) => content.push_str(&text.xml10_content()),
            Event::CData(text) => content.push_str(&text.xml10_content()),
            Event::GeneralRef(reference) => match reference.resolve_char_ref().ok()? {
                Some(character) => content.push(character),
                None => content.push_str(resolve_predefined_entity(&reference)?),
            },
            Event::End(_) => {
                found.take(&path.join("/"), &content);
                content.clear();
                path.pop();
            }
            Event::Eof => break,
            _ => {}
        }
    }
    if !path.is_empty() || !seen_root {
        return None;
    }
    let to = found.to.take();
    found.params.smsc = found.params.smsc.take().or(to);
    // The text is UTF-8 by now; escaped octets are in the document's own encoding.
    let content = found.params.text.as_deref().unwrap_or_default();
    let charset = if std::str::from_utf8(content).is_ok() { None } else { named_coding(body) };
    found.params.charset = Some(Cow::Owned(charset.unwrap_or(b"UTF-8").to_vec()));
    Some(())
}

/// The document's characters, by the coding it names itself.
fn decoded(body: &[u8]) -> Option<Cow<'_, str>> {
    if let Ok(text) = std::str::from_utf8(body)
        && !named_coding(body).is_some_and(|label| label.to_ascii_lowercase().starts_with(b"utf-16"))
    {
        return Some(Cow::Borrowed(text));
    }
    let label = named_coding(body).unwrap_or(b"utf-16");
    super::charset::text(Some(label), body).ok()
}

/// The encoding in the XML declaration.
fn named_coding(body: &[u8]) -> Option<&[u8]> {
    let declaration = body.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..declaration.windows(2).position(|two| two == b"?>")?];
    let start = declaration.windows(8).position(|eight| eight == b"encoding")? + 8;
    let rest = declaration[start..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (quote, rest) = rest.split_first()?;
    Some(&rest[..rest.iter().position(|octet| octet == quote)?])
}

impl XmlFields {
    fn take(&mut self, path: &str, content: &str) {
        let Some(path) = path.strip_prefix("message/submit/") else { return };
        let content = content.trim();
        let octets = || Some(Cow::Owned(content.as_bytes().to_vec()));
        let params = &mut self.params;
        match path {
            "from/user" | "from/username" => params.username = octets(),
            "from/pass" | "from/password" => params.password = octets(),
            "from/account" => params.account = octets(),
            "from/binfo" => params.binfo = octets(),
            "oa/number" => params.from = octets(),
            "da/number" if !content.is_empty() => params.to_list.push(content.as_bytes().to_vec()),
            "udh" => params.udh = Some(Cow::Owned(octets_in_text(content.as_bytes()).into_owned())),
            "ud" => params.text = Some(Cow::Owned(super::params::unescape(content.as_bytes()).into_owned())),
            "smsc" => params.smsc = octets(),
            "to" => self.to = octets(),
            "meta-data" => params.meta_data = octets(),
            "statusrequest/dlr-url" => params.dlr_url = octets(),
            "statusrequest/dlr-mask" => params.numbers.dlr_mask = number(content),
            "pid" => params.numbers.pid = number(content),
            "rpi" => params.numbers.rpi = number(content),
            "dcs/mclass" => params.numbers.mclass = number(content),
            "dcs/mwi" => params.numbers.mwi = number(content),
            "dcs/coding" => params.numbers.coding = number(content),
            "dcs/compress" => params.numbers.compress = number(content),
            "dcs/alt-dcs" => params.numbers.alt_dcs = number(content),
            "vp/delay" => params.numbers.validity = number(content),
            "timing/delay" => params.numbers.deferred = number(content),
            "priority" => params.numbers.priority = number(content),
            _ => {}
        }
    }
}

/// Reads a number as XPath does: text that is no number becomes one out of every range, so that it is
/// refused.
fn number(content: &str) -> Option<i32> {
    let value =
        content.parse::<f64>().map_or(i32::MIN, |value| if value.is_nan() { i32::MIN } else { value as i32 });
    (value != -1).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(submit: &str) -> Params<'static> {
        params(format!("<?xml version=\"1.0\"?><message><submit>{submit}</submit></message>").as_bytes())
    }

    #[test]
    fn elements_are_taken_by_their_place() {
        let params = of(
            "<from><user>u</user><pass>p</pass></from><da><number> 1 </number><number>2</number></da>\
             <oa><number>7</number></oa><ud>a%20b &amp; &#252;<![CDATA[<c>]]></ud><dcs><coding>2</coding></dcs><to>r</to>\
             <vp><delay>5</delay></vp><pid>many</pid><number>3</number><udh>0605</udh>",
        );
        assert_eq!(params.username.as_deref(), Some(&b"u"[..]));
        assert_eq!(params.password.as_deref(), Some(&b"p"[..]));
        assert_eq!(params.to_list, [b"1".to_vec(), b"2".to_vec()]);
        assert_eq!(params.from.as_deref(), Some(&b"7"[..]));
        assert_eq!(params.text.as_deref(), Some("a b & ü<c>".as_bytes()));
        assert_eq!(params.udh.as_deref(), Some(&[6, 5][..]));
        assert_eq!(params.smsc.as_deref(), Some(&b"r"[..]));
        assert_eq!(
            (params.numbers.coding, params.numbers.validity, params.numbers.pid),
            (Some(2), Some(5), Some(i32::MIN))
        );
    }

    #[test]
    fn what_is_no_document_says_nothing() {
        let deep = format!("{}{}", "<a>".repeat(100), "</a>".repeat(100));
        let damaged = "<message><submit><from><user>u</user>";
        for body in ["", "text", damaged, "<message>&unknown;</message>", "<a/><b></a>", &deep] {
            assert_eq!(params(body.as_bytes()), Params::default(), "{body}");
        }
    }

    #[test]
    fn the_coding_that_a_document_names_is_heeded() {
        let body = b"<?xml version='1.0' encoding='ISO-8859-1'?><message><submit><ud>gr\xFCn</ud></submit></message>";
        assert_eq!(params(body).text.as_deref(), Some("grün".as_bytes()));
    }
}
