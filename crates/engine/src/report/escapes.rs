//! A platform's address with its escapes filled in, as Kannel's `get-url` and `dlr-url` have them (user
//! guide, "Parameters in URLs"): what the escape stands for is percent-encoded, an escape that has nothing to
//! say disappears, and one that nobody knows stays as it is, so that an address which was percent-encoded
//! already survives.

use records::{DlrRequest, DlrState, Timestamp};
use std::borrow::Cow;

/// What is put into `mclass` and `mwi` where there is none, as Kannel writes it.
const UNDEFINED: i64 = -1;

/// What escapes stand for. The default is nothing known.
#[derive(Debug, Clone, Default)]
pub struct Values<'a> {
    /// What was said, in the octets of `charset`: `%a %b %e %k %s %S %r %A`. Of a report the network's words,
    /// which are told in the form of a receipt's text.
    pub text: Cow<'a, [u8]>,
    /// The person's number: `%p %q`.
    pub person: &'a str,
    /// Our number or name: `%P %Q`.
    pub ours: &'a str,
    /// When: `%t %T`, in UTC.
    pub at: Option<Timestamp>,
    /// The message's id: `%I`.
    pub id: &'a str,
    /// By which route: `%i`.
    pub route: &'a str,
    /// The platform's name: `%n`.
    pub service: &'a str,
    /// 0 is 7 bits, 1 octets, 2 UCS-2: `%c`.
    pub coding: u8,
    /// `%C`; empty: by the coding.
    pub charset: &'a str,
    /// Message class: `%m`.
    pub class: Option<u8>,
    /// Message waiting: `%M`.
    pub waiting: Option<u8>,
    /// Data coding: `%O`.
    pub data_coding: u8,
    /// User data header with its length octet: `%u`.
    pub udh: Cow<'a, [u8]>,
    /// What came about, a bit of [`records::DlrRequest`]: `%d`.
    pub event: Option<u8>,
    /// For a report.
    pub report: ReportValues<'a>,
    /// The address itself: `%R`.
    pub url: &'a str,
    /// The carrier's id of the message: `%F`.
    pub carrier_id: &'a str,
    /// The carrier's number: `%f`.
    pub carrier_number: &'a str,
    /// What only the request knew, by the escape's letter: goes before what stands above.
    pub given: &'a [(char, Box<str>)],
}

/// What a report in the form of a receipt's text says: `%A`.
#[derive(Debug, Clone, Default)]
pub struct ReportValues<'a> {
    /// How the message stands.
    pub state: Option<DlrState>,
    /// When that came about by the carrier, if not at [`Values::at`].
    pub done: Option<Timestamp>,
    /// When the message was taken.
    pub submitted: Option<Timestamp>,
    /// How it begins.
    pub beginning: &'a str,
}

/// The address with every escape filled in.
pub fn expand(template: &str, values: &Values<'_>) -> String {
    let text: Cow<'_, [u8]> = match values.event {
        None => values.text.as_ref().into(),
        Some(event) => report_text(event, values).into_bytes().into(),
    };
    let words: Vec<&[u8]> = text.split(|octet| is_space(*octet)).filter(|word| !word.is_empty()).collect();
    let out = String::with_capacity(template.len() + 64);
    let mut filling = Filling { values, text: &text, words, next_word: 1, out };
    let mut rest = template;
    while let Some(at) = rest.find('%') {
        filling.out.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let Some(letter) = behind.chars().next() else {
            filling.out.push('%');
            return filling.out;
        };
        rest = &behind[letter.len_utf8()..];
        if letter == '#' {
            rest = filling.metadata(rest);
        } else {
            filling.fill(letter);
        }
    }
    filling.out.push_str(rest);
    filling.out
}

/// What Kannel has as the text of a report: of what the carrier says to a submission `ACK/` or `NACK/` with
/// its code and words, of a receipt its text (SMPP 3.4, appendix B).
fn report_text(event: u8, values: &Values<'_>) -> String {
    let said = String::from_utf8_lossy(&values.text);
    match event {
        DlrRequest::ACCEPTED => return "ACK/".to_owned(),
        DlrRequest::REFUSED => {
            // On record as `smpp:0000000B words`.
            let coded = said.strip_prefix("smpp:").and_then(|rest| rest.split_once(' '));
            return match coded {
                Some((code, words)) => format!("NACK/0x{}/{words}", code.to_ascii_lowercase()),
                None => format!("NACK/{said}"),
            };
        }
        _ => {}
    }
    let usual = match (event, values.report.state) {
        (DlrRequest::DELIVERED, _) => "DELIVRD",
        (_, Some(DlrState::Expired)) => "EXPIRED",
        (_, Some(DlrState::Deleted)) => "DELETED",
        (_, Some(DlrState::Accepted)) => "ACCEPTD",
        (_, Some(DlrState::Unknown)) => "UNKNOWN",
        (_, Some(DlrState::Rejected)) => "REJECTD",
        (DlrRequest::BUFFERED, _) => "ENROUTE",
        _ => "UNDELIV",
    };
    let mut words = said.split_ascii_whitespace();
    let state =
        words.clone().next().filter(|word| word.len() == 7 && word.bytes().all(|c| c.is_ascii_uppercase()));
    let error = words.find_map(|word| word.strip_prefix("err:")).unwrap_or("000");
    let minute = |at: Option<Timestamp>| {
        let at = at.and_then(|at| jiff::Timestamp::from_microsecond(at.0).ok());
        at.map_or_else(String::new, |at| at.strftime("%y%m%d%H%M").to_string())
    };
    format!(
        "id:{} sub:001 dlvrd:{} submit date:{} done date:{} stat:{} err:{error} text:{}",
        values.carrier_id,
        if event == DlrRequest::DELIVERED { "001" } else { "000" },
        minute(values.report.submitted),
        minute(values.report.done.or(values.at)),
        state.unwrap_or(usual),
        values.report.beginning,
    )
}

/// Percent-encodes as Kannel does: a space is `+`, and `-_.!~*'()` stay.
pub fn percent_encode(out: &mut String, octets: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for &octet in octets {
        match octet {
            b' ' => out.push('+'),
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => out.push(char::from(octet)),
            b'-' | b'_' | b'.' | b'!' | b'~' | b'*' | b'\'' | b'(' | b')' => out.push(char::from(octet)),
            other => {
                out.push('%');
                out.push(char::from(DIGITS[usize::from(other >> 4)]));
                out.push(char::from(DIGITS[usize::from(other & 15)]));
            }
        }
    }
}

struct Filling<'a, 'v> {
    values: &'a Values<'v>,
    text: &'a [u8],
    words: Vec<&'a [u8]>,
    next_word: usize,
    out: String,
}

impl Filling<'_, '_> {
    fn fill(&mut self, letter: char) {
        if let Some((_, given)) = self.values.given.iter().find(|(of, _)| *of == letter) {
            return percent_encode(&mut self.out, given.as_bytes());
        }
        let values = self.values;
        match letter {
            'a' | 'k' | 's' | 'S' | 'r' => self.fill_words(letter),
            'A' | 'b' => percent_encode(&mut self.out, self.text),
            'e' => self.text.iter().for_each(|octet| self.out.push_str(&format!("{octet:02X}"))),
            'p' => percent_encode(&mut self.out, values.person.as_bytes()),
            'P' => percent_encode(&mut self.out, values.ours.as_bytes()),
            'q' => self.international(values.person),
            'Q' => self.international(values.ours),
            't' | 'T' => self.time(letter),
            'I' => percent_encode(&mut self.out, values.id.as_bytes()),
            'i' => percent_encode(&mut self.out, values.route.as_bytes()),
            'n' => percent_encode(&mut self.out, values.service.as_bytes()),
            // A report has no coding.
            'c' => self.number(if values.event.is_some() { UNDEFINED } else { i64::from(values.coding) }),
            'C' => self.out.push_str(charset(values)),
            'm' => self.number(values.class.map_or(UNDEFINED, i64::from)),
            'M' => self.number(values.waiting.map_or(UNDEFINED, i64::from)),
            'O' => self.out.push_str(&format!("{:02}", values.data_coding)),
            'u' => percent_encode(&mut self.out, &values.udh),
            'd' => self.number(values.event.map_or(UNDEFINED, i64::from)),
            'R' => percent_encode(&mut self.out, values.url.as_bytes()),
            'F' => percent_encode(&mut self.out, values.carrier_id.as_bytes()),
            'f' => percent_encode(&mut self.out, values.carrier_number.as_bytes()),
            // Only the request knows these.
            'B' | 'D' | 'o' | 'v' | 'V' => {}
            '%' => self.out.push('%'),
            other => {
                self.out.push('%');
                self.out.push(other);
            }
        }
    }

    fn fill_words(&mut self, letter: char) {
        match letter {
            'a' => self.joined(0),
            'r' => self.joined(self.next_word),
            'k' => {
                if let Some(word) = self.words.first() {
                    percent_encode(&mut self.out, word);
                }
            }
            _ => {
                let Some(word) = self.words.get(self.next_word).copied() else { return };
                self.next_word += 1;
                // `%S` is for those who want a star as a tilde; Kannel leaves all else of it as it is, which
                // makes addresses that nobody can fetch: it is encoded here.
                let word: Cow<'_, [u8]> = match letter {
                    'S' => word.iter().map(|&octet| if octet == b'*' { b'~' } else { octet }).collect(),
                    _ => word.into(),
                };
                percent_encode(&mut self.out, &word);
            }
        }
    }

    fn joined(&mut self, from: usize) {
        for place in from..self.words.len() {
            if place > from {
                self.out.push('+');
            }
            percent_encode(&mut self.out, self.words[place]);
        }
    }

    fn international(&mut self, number: &str) {
        match number.strip_prefix("00") {
            Some(rest) => {
                self.out.push_str("%2B");
                percent_encode(&mut self.out, rest.as_bytes());
            }
            None => percent_encode(&mut self.out, number.as_bytes()),
        }
    }

    fn time(&mut self, letter: char) {
        let Some(at) = self.values.at else { return };
        let seconds = at.0.div_euclid(1_000_000);
        if letter == 'T' {
            return self.number(seconds);
        }
        if let Ok(at) = jiff::Timestamp::from_second(seconds) {
            self.out.push_str(&at.strftime("%Y-%m-%d+%H:%M:%S").to_string());
        }
    }

    fn number(&mut self, number: i64) {
        self.out.push_str(&number.to_string());
    }

    /// `%#group#parameter#` of the meta-data, which looks like `?group?name=value&name=value?`; answers with
    /// what is behind it.
    fn metadata<'t>(&mut self, behind: &'t str) -> &'t str {
        let Some((group, after)) = behind.split_once('#') else {
            self.out.push_str("%#");
            return behind;
        };
        let Some((name, rest)) = after.split_once('#') else {
            self.out.push_str("%#");
            return behind;
        };
        if let Some((_, metadata)) = self.values.given.iter().find(|(letter, _)| *letter == 'D')
            && let Some(value) = parameter(metadata, group, name)
        {
            percent_encode(&mut self.out, &decoded(value));
        }
        rest
    }
}

fn parameter<'a>(metadata: &'a str, group: &str, name: &str) -> Option<&'a str> {
    let mut parts = metadata.split('?').skip(1);
    while let (Some(found), Some(list)) = (parts.next(), parts.next()) {
        if found == group {
            return list
                .split('&')
                .filter_map(|pair| pair.split_once('='))
                .find(|(key, _)| *key == name)
                .map(|p| p.1);
        }
    }
    None
}

/// Values of meta-data are percent-encoded themselves.
fn decoded(text: &str) -> Vec<u8> {
    let octets = text.as_bytes();
    let mut out = Vec::with_capacity(octets.len());
    let mut at = 0;
    while at < octets.len() {
        let digits = octets.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
        let escaped = digits.filter(|_| octets[at] == b'%').and_then(|two| u8::from_str_radix(two, 16).ok());
        out.push(escaped.unwrap_or(if octets[at] == b'+' { b' ' } else { octets[at] }));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    out
}

fn charset<'a>(values: &Values<'a>) -> &'a str {
    match (values.charset, values.coding) {
        ("", 1) => "8-BIT",
        ("", 2) => "UTF-16BE",
        ("", _) => "UTF-8",
        (given, _) => given,
    }
}

fn is_space(octet: u8) -> bool {
    octet.is_ascii_whitespace() || octet == 0x0b
}

#[cfg(test)]
mod recorded;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_escape_stands_for_what_kannel_says() {
        let given = [('D', "?smpp?tag=a%26b&x=1?other?y=2?".into()), ('o', "acc&1".into())];
        let values = Values {
            text: Cow::Borrowed("Info två  *x* y".as_bytes()),
            person: "0046701234567",
            ours: "+71700",
            at: Some(Timestamp(1_800_000_001_500_000)),
            id: "0000000000000007",
            route: "carrier a",
            service: "platform",
            coding: 2,
            class: Some(0),
            data_coding: 8,
            udh: Cow::Borrowed(&[2, 0x41, 0]),
            url: "http://x/?a=%d",
            carrier_id: "ABC",
            given: &given,
            ..Values::default()
        };
        for (template, expected) in [
            ("%k", "Info"),
            ("%a", "Info+tv%C3%A5+*x*+y"),
            ("%b", "Info+tv%C3%A5++*x*+y"),
            ("%s-%S-%r", "tv%C3%A5-~x~-y"),
            ("%r", "tv%C3%A5+*x*+y"),
            ("%s%s%s%s%s", "tv%C3%A5*x*y"),
            ("%p", "0046701234567"),
            ("%q", "%2B46701234567"),
            ("%P", "%2B71700"),
            ("%Q", "%2B71700"),
            ("%t", "2027-01-15+08:00:01"),
            ("%T", "1800000001"),
            ("%I/%i/%n", "0000000000000007/carrier+a/platform"),
            ("%c %C %m %M %O", "2 UTF-16BE 0 -1 08"),
            ("%u", "%02A%00"),
            ("%e", "496E666F207476C3A520202A782A2079"),
            ("%d %F", "-1 ABC"),
            ("%R", "http%3A%2F%2Fx%2F%3Fa%3D%25d"),
            ("%o", "acc%261"),
            ("%B%f", ""),
            ("%#smpp#tag#!%#other#y#%#none#y#", "a%26b!2"),
            ("100%% %2B %Z %", "100% %2B %Z %"),
            ("%#smpp", "%#smpp"),
            ("å%", "å%"),
        ] {
            assert_eq!(expand(template, &values), expected, "{template}");
        }
    }

    #[test]
    fn a_report_tells_the_networks_words_in_kannels_form() {
        let cases = [
            (DlrRequest::ACCEPTED, "", "ACK%2F"),
            (
                DlrRequest::REFUSED,
                "smpp:0000000B invalid destination",
                "NACK%2F0x0000000b%2Finvalid+destination",
            ),
            (DlrRequest::REFUSED, "", "NACK%2F"),
            (DlrRequest::DELIVERED, "", "stat%3ADELIVRD+err%3A000+text%3AHi"),
            (DlrRequest::FAILED, "EXPIRED err:011", "stat%3AEXPIRED+err%3A011+text%3AHi"),
            (DlrRequest::FAILED, "", "stat%3AUNDELIV+err%3A000+text%3AHi"),
            (DlrRequest::BUFFERED, "ACCEPTD", "stat%3AACCEPTD+err%3A000+text%3AHi"),
        ];
        for (event, said, expected) in cases {
            let text = said.as_bytes().into();
            let values = Values {
                event: Some(event),
                text,
                report: ReportValues { beginning: "Hi", ..ReportValues::default() },
                ..Values::default()
            };
            let out = expand("%A", &values);
            assert!(out.ends_with(expected), "{said}: {out}");
            assert_eq!(expand("%d %c", &values), format!("{event} -1"));
        }
    }

    #[test]
    fn nothing_known_is_nothing_said() {
        assert_eq!(expand("a%a%k%s%r%b%p%P%q%t%T%I%i%n%u%R%F%D", &Values::default()), "a");
    }
}
