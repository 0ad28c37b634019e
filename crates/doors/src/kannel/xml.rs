//! Kannel's XML form of a message: `<message><submit>…`.

use super::params::{Params, octets_in_text};
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;
use std::borrow::Cow;

/// Elements inside each other at most.
const DEPTH_MAX: usize = 16;
/// What stands in no element of ours, and what is no XML, says nothing: then nobody is named, and nobody
/// admitted.
pub(super) fn params(body: &[u8]) -> Params<'static> {
    let mut found = XmlFields::default();
    // What came before the damage does not count either.
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
    let mut said = String::new();
    let mut seen_root = false;
    loop {
        match reader.read_event().ok()? {
            Event::Start(element) => {
                if path.len() >= DEPTH_MAX || (path.is_empty() && seen_root) {
                    return None;
                }
                seen_root = true;
                path.push(element.name().as_ref().to_owned());
                said.clear();
            }
            Event::Empty(element) => {
                seen_root = true;
                path.push(element.name().as_ref().to_owned());
                found.take(&path.join("/"), "");
                path.pop();
            }
            Event::Text(text) => said.push_str(&text.xml10_content()),
            Event::CData(text) => said.push_str(&text.xml10_content()),
            Event::GeneralRef(reference) => match reference.resolve_char_ref().ok()? {
                Some(character) => said.push(character),
                None => said.push_str(resolve_predefined_entity(&reference)?),
            },
            Event::End(_) => {
                found.take(&path.join("/"), &said);
                said.clear();
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
    // Its characters are ours by now; octets with escapes are in what the document is in.
    let said = found.params.text.as_deref().unwrap_or_default();
    let charset = if std::str::from_utf8(said).is_ok() { None } else { named_coding(body) };
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

/// What the XML declaration says.
fn named_coding(body: &[u8]) -> Option<&[u8]> {
    let declaration = body.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..declaration.windows(2).position(|two| two == b"?>")?];
    let start = declaration.windows(8).position(|eight| eight == b"encoding")? + 8;
    let rest = declaration[start..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (quote, rest) = rest.split_first()?;
    Some(&rest[..rest.iter().position(|octet| octet == quote)?])
}

impl XmlFields {
    fn take(&mut self, path: &str, said: &str) {
        let Some(path) = path.strip_prefix("message/submit/") else { return };
        let said = said.trim();
        let octets = || Some(Cow::Owned(said.as_bytes().to_vec()));
        let params = &mut self.params;
        match path {
            "from/user" | "from/username" => params.username = octets(),
            "from/pass" | "from/password" => params.password = octets(),
            "from/account" => params.account = octets(),
            "from/binfo" => params.binfo = octets(),
            "oa/number" => params.from = octets(),
            "da/number" if !said.is_empty() => params.to_list.push(said.as_bytes().to_vec()),
            "udh" => params.udh = Some(Cow::Owned(octets_in_text(said.as_bytes()).into_owned())),
            "ud" => params.text = Some(Cow::Owned(super::params::unescape(said.as_bytes()).into_owned())),
            "smsc" => params.smsc = octets(),
            "to" => self.to = octets(),
            "meta-data" => params.meta_data = octets(),
            "statusrequest/dlr-url" => params.dlr_url = octets(),
            "statusrequest/dlr-mask" => params.dlr_mask = number(said),
            "pid" => params.pid = number(said),
            "rpi" => params.rpi = number(said),
            "dcs/mclass" => params.mclass = number(said),
            "dcs/mwi" => params.mwi = number(said),
            "dcs/coding" => params.coding = number(said),
            "dcs/compress" => params.compress = number(said),
            "dcs/alt-dcs" => params.alt_dcs = number(said),
            "vp/delay" => params.validity = number(said),
            "timing/delay" => params.deferred = number(said),
            "priority" => params.priority = number(said),
            _ => {}
        }
    }
}

/// As XPath reads numbers: what is none is out of every range, so that it is refused.
fn number(said: &str) -> Option<i32> {
    let value =
        said.parse::<f64>().map_or(i32::MIN, |value| if value.is_nan() { i32::MIN } else { value as i32 });
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
        assert_eq!((params.coding, params.validity, params.pid), (Some(2), Some(5), Some(i32::MIN)));
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
