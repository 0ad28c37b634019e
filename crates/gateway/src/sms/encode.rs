//! From text to the octets of submit_sm: once for each body of a segment, not for each entry.

use std::borrow::Cow;

use records::{Body, Entry, Segment};
use smpp::text::national::Shift;
use smpp::text::{Charset, Coding, Concat, PARTS_MAX, Part, choose, choose_flash, split};

use super::config::{SmsRoute, Source};
use crate::feed::Craft;

/// Octets of a destination at most; also the digits of any number (E.164 has 15).
const DIGITS_MAX: usize = 20;
/// Characters of a sender's name (TS 23.040 §9.1.2.5).
const NAME_MAX: usize = 11;

/// A text as octets, and how they are cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Encoded {
    octets: Vec<u8>,
    /// Where each part ends.
    ends: Vec<u32>,
    pub(super) coding: Coding,
    concat: Concat,
}

/// Why a body cannot be sent by this route, ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unsendable {
    /// Stable.
    pub(super) code: &'static str,
    /// In words.
    pub(super) text: String,
}

/// What is made of a segment once.
#[derive(Debug)]
pub struct Prepared {
    bodies: Vec<Result<Encoded, Unsendable>>,
    pub(super) sender: Source,
}

/// What the route knows of segments.
#[derive(Debug, Clone)]
pub struct SmsCraft {
    charset: Charset,
    concat: Concat,
    source: Source,
}

/// How many submit_sm a text makes on a route with this default alphabet; at least 1.
pub fn parts(charset: Charset, long: Concat, text: &str) -> u32 {
    smpp::text::parts(text, choose(text, charset).charset, long) as u32
}

impl SmsCraft {
    pub(super) fn new(route: &SmsRoute) -> SmsCraft {
        SmsCraft { charset: route.charset, concat: route.long, source: route.source.clone() }
    }

    /// What an entry says, as octets.
    pub(super) fn encoded<'a>(
        &self,
        segment: &Segment,
        prepared: &'a Prepared,
        entry: &Entry,
    ) -> Result<Cow<'a, Encoded>, Unsendable> {
        match &entry.own {
            Some(own) => self.encode(own, segment.flash).map(Cow::Owned),
            None => match prepared.bodies.get(usize::from(entry.body)) {
                Some(Ok(encoded)) => Ok(Cow::Borrowed(encoded)),
                Some(Err(why)) => Err(why.clone()),
                None => Err(Unsendable {
                    code: "sms:body",
                    text: format!("the segment has no body {}", entry.body),
                }),
            },
        }
    }

    fn encode(&self, body: &Body, flash: bool) -> Result<Encoded, Unsendable> {
        let Body::Sms { text } = body else {
            return Err(Unsendable { code: "sms:body", text: "the body is not a short message".to_owned() });
        };
        let coding = if flash { choose_flash(text) } else { choose(text, self.charset) };
        let mut octets = Vec::with_capacity(text.len());
        // The coding was chosen so that nothing is lost.
        coding.charset.encode_lossy(text, &mut octets);
        let mut ends = Vec::with_capacity(1);
        let mut end = 0;
        let parts = split(&octets, coding.charset, self.concat, 0)
            .map_err(|error| Unsendable { code: "sms:long", text: error.to_string() })?;
        for part in parts {
            end += part.payload.len() as u32;
            ends.push(end);
        }
        Ok(Encoded { octets, ends, coding, concat: self.concat })
    }

    /// The alert's sender where it can be shown, else the route's.
    fn sender(&self, named: Option<&str>) -> Source {
        named.and_then(sender_of).unwrap_or_else(|| self.source.clone())
    }
}

impl Craft for SmsCraft {
    type Prepared = Prepared;

    fn prepare(&self, segment: &Segment) -> Prepared {
        Prepared {
            bodies: segment.bodies.iter().map(|body| self.encode(body, segment.flash)).collect(),
            sender: self.sender(segment.sender.as_deref()),
        }
    }

    fn units(&self, segment: &Segment, prepared: &Prepared, entry: &Entry) -> u8 {
        match &entry.own {
            None => match prepared.bodies.get(usize::from(entry.body)) {
                Some(Ok(encoded)) => encoded.total(),
                _ => 1,
            },
            Some(own) => match &**own {
                Body::Sms { text } => {
                    let coding = if segment.flash { choose_flash(text) } else { choose(text, self.charset) };
                    let parts = smpp::text::parts(text, coding.charset, self.concat);
                    // What has more cannot be sent, and is refused as a whole.
                    u8::try_from(parts).ok().filter(|&parts| usize::from(parts) <= PARTS_MAX).unwrap_or(1)
                }
                Body::Short(_) | Body::Mail { .. } => 1,
            },
        }
    }
}

impl Encoded {
    /// How many parts there are.
    pub(super) fn total(&self) -> u8 {
        self.ends.len() as u8 // the cutter makes no more than 255
    }

    /// A part, from 1.
    pub(super) fn part(&self, number: u8, reference: u16) -> Part<'_> {
        let at = usize::from(number).clamp(1, self.ends.len()) - 1;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        let payload = &self.octets[start..self.ends[at] as usize];
        Part { payload, shift: Shift::NONE, concat: self.concat, reference, total: self.total(), number }
    }

    /// The octets of a message that needs no header, as they stand in the PDU.
    pub(super) fn plain(&self) -> Option<&[u8]> {
        (self.ends.len() == 1 && self.concat != Concat::Payload).then_some(&self.octets)
    }
}

/// The digits of an endpoint's address, as they stand in the PDU.
pub(super) fn digits(address: &str) -> Result<&[u8], Unsendable> {
    let digits = address.strip_prefix('+').unwrap_or(address).as_bytes();
    if digits.is_empty() || digits.len() > DIGITS_MAX || !digits.iter().all(u8::is_ascii_digit) {
        let text = format!("{address:?} is not a phone number of 1 to {DIGITS_MAX} digits");
        return Err(Unsendable { code: "sms:address", text });
    }
    Ok(digits)
}

/// A sender as an address: a number, a short code, or a name.
fn sender_of(named: &str) -> Option<Source> {
    let named = named.trim();
    let international = named.strip_prefix('+');
    let number = international.unwrap_or(named);
    if !number.is_empty() && number.bytes().all(|octet| octet.is_ascii_digit()) {
        if number.len() > DIGITS_MAX {
            return None;
        }
        // Short codes belong to their network: neither type nor plan of an international number.
        let (ton, npi) = if international.is_some() {
            (1, 1)
        } else if number.len() <= 8 {
            (3, 0)
        } else {
            (0, 1)
        };
        return Some(Source { ton, npi, addr: number.to_owned() });
    }
    // GSM networks show names of ASCII letters, digits and few signs; what has more is not the sender anyone typed.
    let fits =
        !named.is_empty() && named.len() <= NAME_MAX && named.bytes().all(|o| (b' '..=b'~').contains(&o));
    fits.then(|| Source { ton: 5, npi: 0, addr: named.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::{AlertId, AlertNo, EndpointNo, Lane, Timestamp};
    use std::sync::Arc;

    fn sms(text: &str) -> Body {
        Body::Sms { text: text.to_owned() }
    }

    fn segment(bodies: Vec<Body>, flash: bool) -> Segment {
        Segment {
            alert: AlertNo(1),
            alert_id: AlertId(uuid::Uuid::nil()),
            account: String::new(),
            route: "r".to_owned(),
            lane: Lane::Routine,
            outcomes_from: 0,
            expires: Timestamp(i64::MAX),
            sender: None,
            flash,
            receipt: true,
            answer: false,
            emergency: false,
            bodies: bodies.into_iter().map(Arc::new).collect(),
            choices: Vec::new(),
            entries: Vec::new(),
        }
    }

    fn entry(body: u16, own: Option<Body>) -> Entry {
        Entry {
            expires: None,
            endpoint: EndpointNo(0),
            attempt: 1,
            address: "+46701234567".to_owned(),
            body,
            own: own.map(Box::new),
            link: None,
        }
    }

    fn craft(concat: Concat) -> SmsCraft {
        SmsCraft::new(&SmsRoute { long: concat, ..SmsRoute::default() })
    }

    #[test]
    fn parts_put_together_are_the_text_in_every_way_of_cutting() {
        let texts = ["short", &"word ".repeat(100), &"€uro ".repeat(80), &"日本語🗼".repeat(60), ""];
        for concat in [Concat::Udh8, Concat::Udh16, Concat::Sar, Concat::Payload] {
            let craft = craft(concat);
            for text in texts {
                let segment = segment(vec![sms(text)], false);
                let prepared = craft.prepare(&segment);
                let entry = entry(0, None);
                let encoded = craft.encoded(&segment, &prepared, &entry).unwrap();
                let octets: Vec<u8> =
                    (1..=encoded.total()).flat_map(|n| encoded.part(n, 7).payload.to_vec()).collect();
                assert_eq!(encoded.coding.charset.decode(&octets), text, "{concat:?}");
                assert_eq!(
                    u32::from(encoded.total()),
                    parts(Charset::Gsm7, concat, text),
                    "{concat:?} {text}"
                );
                assert_eq!(craft.units(&segment, &prepared, &entry), encoded.total());
                assert_eq!(encoded.plain().is_some(), encoded.total() == 1 && concat != Concat::Payload);
            }
        }
    }

    #[test]
    fn an_entrys_own_text_costs_and_says_its_own() {
        let craft = craft(Concat::Udh8);
        let segment = segment(vec![sms("hello")], false);
        let prepared = craft.prepare(&segment);
        for text in ["x", &"x".repeat(161), &"å".repeat(200), &"я".repeat(200)] {
            let own = entry(9, Some(sms(text)));
            let encoded = craft.encoded(&segment, &prepared, &own).unwrap();
            assert_eq!(craft.units(&segment, &prepared, &own), encoded.total(), "{text}");
        }
    }

    #[test]
    fn flash_is_announced_in_either_alphabet() {
        let craft = craft(Concat::Udh8);
        for (text, data_coding) in [("latin", 0x10), ("кирилл", 0x18)] {
            let segment = segment(vec![sms(text)], true);
            let prepared = craft.prepare(&segment);
            let encoded = craft.encoded(&segment, &prepared, &entry(0, None)).unwrap();
            assert_eq!(encoded.coding.data_coding, data_coding);
        }
    }

    #[test]
    fn what_cannot_be_sent_says_why() {
        let craft = craft(Concat::Udh8);
        let mail = Body::Mail { subject: String::new(), text: String::new(), html: None };
        let segment = segment(vec![sms(&"x".repeat(40_000)), mail.clone()], false);
        let prepared = craft.prepare(&segment);
        let cases = [
            (entry(0, None), "sms:long"),
            (entry(1, None), "sms:body"),
            (entry(2, None), "sms:body"),
            (entry(0, Some(mail)), "sms:body"),
            (entry(0, Some(sms(&"x".repeat(40_000)))), "sms:long"),
        ];
        for (entry, code) in cases {
            assert_eq!(craft.encoded(&segment, &prepared, &entry).unwrap_err().code, code);
            assert_eq!(craft.units(&segment, &prepared, &entry), 1, "what is refused as a whole is one unit");
        }
        for address in ["", "+", "46 70", "+4670123456789012345678", "anna"] {
            assert_eq!(digits(address).unwrap_err().code, "sms:address");
        }
        assert_eq!(digits("+46701234567").unwrap(), b"46701234567");
    }

    #[test]
    fn senders_are_numbers_short_codes_or_names() {
        let source = |ton, npi, addr: &str| Some(Source { ton, npi, addr: addr.to_owned() });
        let cases = [
            ("+46701234567", source(1, 1, "46701234567")),
            ("72456", source(3, 0, "72456")),
            ("0701234567", source(0, 1, "0701234567")),
            ("City of X", source(5, 0, "City of X")),
            ("a name that is too long", None),
            ("Åland", None),
            ("", None),
            ("123456789012345678901", None),
        ];
        for (named, expected) in cases {
            assert_eq!(sender_of(named), expected, "{named}");
        }
    }
}
