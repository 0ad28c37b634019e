//! One body in the route's coding: its octets where they are already, else in the caller's buffer.

use records::{Body, Short, ShortText, TextEncoding};
use smpp::limits::SHORT_MESSAGE_OCTETS_MAX;
use smpp::pdu::esm_class;
use smpp::text::national::{Language, Shift, choose_shift};
use smpp::text::udh::Udh;
use smpp::text::{
    Charset, Coding, Concat, PARTS_MAX, Part, choose, choose_flash, gsm7, parts_shifted, split, split_shifted,
};
use smpp::{Tag, TlvBuf, Tlvs};

use super::{Encoded, SplitMode, Unsendable, Wording};
use crate::sms::config::SmsRoute;

/// A text of so many octets is one part in every alphabet: no character has more 16-bit units than octets of
/// UTF-8, nor more septets than twice those, and 152 of them fit beside a header that says two tables.
const SURELY_ONE_OCTETS: usize = 70;
/// `data_coding` of GSM 7-bit and of UCS-2 with a message class in the low bits (TS 23.038 §4).
const CLASS_GSM7: u8 = 0x10;
const CLASS_UCS2: u8 = 0x18;

/// How a route writes texts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Script<'a> {
    /// What the carrier takes `data_coding` 0 to be.
    pub(super) charset: Charset,
    pub(super) concat: Concat,
    /// Those whose tables of GSM 7-bit may be used.
    pub(super) languages: &'a [Language],
}

impl<'a> Script<'a> {
    pub(super) fn of(route: &'a SmsRoute) -> Script<'a> {
        Script { charset: route.charset, concat: route.long, languages: &route.languages }
    }

    /// The tables for a text that the default alphabet does not hold. None under a message class: what is to
    /// be shown at once is written in what every phone reads.
    fn shift(self, text: &str, class: Option<u8>) -> Option<Shift> {
        if self.languages.is_empty() || class.is_some() || self.charset != Charset::Gsm7 {
            return None;
        }
        choose_shift(text, self.languages, self.concat)
    }
}

pub(super) struct Coded<'a> {
    pub(super) octets: &'a [u8],
    pub(super) coding: Coding,
    /// The tables its septets are of, where it does not bring a header that says them.
    pub(super) shift: Shift,
    pub(super) cut: SplitMode,
    /// Without its length octet.
    pub(super) udh: &'a [u8],
}

impl<'a> Coded<'a> {
    /// `buffer` takes what has to be written anew.
    pub(super) fn new(
        body: &'a Body,
        flash: bool,
        script: Script<'_>,
        buffer: &'a mut Vec<u8>,
    ) -> Result<Coded<'a>, Unsendable> {
        match body {
            Body::Content(content) | Body::Translated(_, content) => {
                let (coding, shift) = encode_text(&content.text, flash.then_some(0), script, buffer);
                Ok(Coded { octets: buffer, coding, shift, cut: SplitMode::By(script.concat), udh: &[] })
            }
            Body::Short(short) => Ok(Coded::of_short(short, flash, script, buffer)),
        }
    }

    fn of_short(short: &'a Short, flash: bool, script: Script<'_>, buffer: &'a mut Vec<u8>) -> Coded<'a> {
        let (cut, script) = match brings_header(short) {
            // There may be no room for more in its header, nor in the part that it is.
            true => (SplitMode::Never, Script { languages: &[], ..script }),
            false => (SplitMode::By(script.concat), script),
        };
        let (octets, (coding, shift)) = match &short.text {
            ShortText::Text { text, class } => {
                let coding = encode_text(text, class.or(flash.then_some(0)), script, buffer);
                (&buffer[..], coding)
            }
            ShortText::Octets { data_coding, octets } => match recoded(short, script.charset) {
                Some(text) => {
                    let coding = encode_text(&text, None, script, buffer);
                    (&buffer[..], coding)
                }
                None => (&octets[..], (Coding::of(*data_coding, Charset::Gsm7), Shift::NONE)),
            },
        };
        Coded { octets, coding, shift, cut, udh: &short.udh }
    }

    /// Where each part ends.
    pub(super) fn ends(&self) -> Result<Vec<u32>, Unsendable> {
        let SplitMode::By(concat) = self.cut else { return Ok(vec![self.octets.len() as u32]) };
        let mut end = 0;
        let parts = split_shifted(self.octets, self.coding.charset, self.shift, concat, 0)
            .map_err(|error| Unsendable { code: "sms:long", text: error.to_string() })?;
        let ends = parts.map(|part| {
            end += part.payload.len() as u32;
            end
        });
        Ok(ends.collect())
    }

    /// The same, owned and cut.
    pub(super) fn encoded(&self) -> Result<Encoded, Unsendable> {
        let ends = self.ends()?;
        let octets = self.octets.to_vec();
        let Coded { coding, shift, cut, udh, .. } = *self;
        Ok(Encoded { octets, ends, coding, shift, cut, udh: udh.into() })
    }

    /// What it says as one message. `more` are TLVs that go with it.
    pub(super) fn alone(
        &self,
        more: &'a [u8],
        short_message: &'a mut Vec<u8>,
        tlvs: &'a mut TlvBuf,
    ) -> Result<Wording<'a>, Unsendable> {
        let payload = match self.cut {
            SplitMode::By(concat) => {
                let (units, _) = concat.limits_shifted(self.coding.charset, self.shift);
                if self.octets.len() > units * self.coding.charset.unit_octets() {
                    let text = format!("message makes more than the {PARTS_MAX} parts that can be counted");
                    return Err(Unsendable { code: "sms:long", text });
                }
                if self.shift != Shift::NONE {
                    let (payload, shift) = (self.octets, self.shift);
                    let part = Part { payload, shift, concat, reference: 0, total: 1, number: 1 };
                    return of_part(&part, self.coding, more, short_message, tlvs);
                }
                concat == Concat::Payload
            }
            SplitMode::Never => header_octets(self.udh) + self.octets.len() > SHORT_MESSAGE_OCTETS_MAX,
        };
        let mut wording = Wording {
            esm_class: if self.udh.is_empty() { 0 } else { esm_class::UDHI },
            data_coding: self.coding.data_coding,
            short_message: self.octets,
            tlvs: Tlvs::NONE,
        };
        tlvs.clear();
        if payload || !self.udh.is_empty() {
            let Ok(length) = u8::try_from(self.udh.len()) else {
                let text = format!("user data header of {} octets, over the limit of 255", self.udh.len());
                return Err(Unsendable { code: "sms:udh", text });
            };
            let length = if self.udh.is_empty() { &[][..] } else { &[length][..] };
            short_message.clear();
            let pieces = [length, self.udh, self.octets];
            match payload {
                true => drop(tlvs.push_joined(Tag::MESSAGE_PAYLOAD, &pieces).map_err(not_encodable)?),
                false => pieces.iter().for_each(|piece| short_message.extend_from_slice(piece)),
            }
            wording.short_message = short_message;
        }
        wording.tlvs = with_more(tlvs, more)?;
        Ok(wording)
    }
}

/// What a part with a header or parameters of its own says. `more` are TLVs that go with it.
pub(super) fn of_part<'a>(
    part: &Part<'_>,
    coding: Coding,
    more: &'a [u8],
    short_message: &'a mut Vec<u8>,
    tlvs: &'a mut TlvBuf,
) -> Result<Wording<'a>, Unsendable> {
    short_message.clear();
    tlvs.clear();
    part.write_short_message(short_message);
    part.write_tlvs(tlvs).map_err(not_encodable)?;
    let (esm_class, data_coding) = (part.esm_class(), coding.data_coding);
    Ok(Wording { esm_class, data_coding, short_message, tlvs: with_more(tlvs, more)? })
}

/// The TLVs written so far, and those that go with them.
fn with_more<'a>(tlvs: &'a mut TlvBuf, more: &'a [u8]) -> Result<Tlvs<'a>, Unsendable> {
    let more = Tlvs::parse(more)
        .map_err(|error| Unsendable { code: "sms:tlvs", text: format!("optional parameters: {error}") })?;
    if tlvs.as_tlvs().is_empty() {
        return Ok(more);
    }
    for tlv in more.iter() {
        tlvs.push(tlv.tag, tlv.value).map_err(not_encodable)?;
    }
    Ok(tlvs.as_tlvs())
}

fn not_encodable(error: smpp::EncodeError) -> Unsendable {
    Unsendable { code: "sms:encode", text: error.to_string() }
}

fn header_octets(udh: &[u8]) -> usize {
    if udh.is_empty() { 0 } else { 1 + udh.len() }
}

/// The cheapest coding that loses nothing, found by trying it.
fn encode_text(text: &str, class: Option<u8>, script: Script<'_>, out: &mut Vec<u8>) -> (Coding, Shift) {
    out.clear();
    // Under a message class the carrier's default alphabet plays no part.
    let wanted = if class.is_some() { Charset::Gsm7 } else { script.charset };
    if wanted.encode(text, out).is_ok() {
        let data_coding = class.map_or(0, |class| CLASS_GSM7 | class & 3);
        return (Coding { charset: wanted, data_coding }, Shift::NONE);
    }
    if let Some(shift) = script.shift(text, class)
        && shift.encode(text, out).is_ok()
    {
        return (Coding { charset: Charset::Gsm7, data_coding: 0 }, shift);
    }
    // UTF-16 has every character.
    Charset::Ucs2.encode_lossy(text, out);
    let data_coding = class.map_or(Coding::UCS2.data_coding, |class| CLASS_UCS2 | class & 3);
    (Coding { charset: Charset::Ucs2, data_coding }, Shift::NONE)
}

/// The text of GSM 7-bit octets where the carrier takes `data_coding` 0 to be something else. Septets of
/// other languages' tables have no other form.
fn recoded(short: &Short, charset: Charset) -> Option<String> {
    let ShortText::Octets { data_coding: 0, octets } = &short.text else { return None };
    if charset == Charset::Gsm7 || shift_of(&short.udh) != Shift::NONE {
        return None;
    }
    let mut text = String::with_capacity(octets.len());
    gsm7::decode(octets, &mut text);
    Some(text)
}

fn shift_of(udh: &[u8]) -> Shift {
    let Ok(length) = u8::try_from(udh.len()) else { return Shift::NONE };
    if udh.is_empty() {
        return Shift::NONE;
    }
    let whole: Vec<u8> = std::iter::once(length).chain(udh.iter().copied()).collect();
    Udh::split(&whole).map_or(Shift::NONE, |(udh, _)| Shift::of(udh))
}

/// It says itself how it is a part of something, or how it is carried.
fn brings_header(short: &Short) -> bool {
    let says = |tlvs: Tlvs<'_>| {
        tlvs.iter().any(|tlv| matches!(tlv.tag, Tag::SAR_MSG_REF_NUM | Tag::MESSAGE_PAYLOAD))
    };
    !short.udh.is_empty() || !short.tlvs.is_empty() && Tlvs::parse(&short.tlvs).is_ok_and(says)
}

/// How a body is written, as [`Coded`] writes it; nothing for one that cannot be sent.
pub(super) fn encoding(body: &Body, flash: bool, script: Script<'_>) -> Option<TextEncoding> {
    let mut buffer = Vec::new();
    let coded = Coded::new(body, flash, script, &mut buffer).ok()?;
    let ends = coded.ends().ok()?;
    let SplitMode::By(concat) = coded.cut else { return None };
    let charset = coded.coding.charset;
    let (alone, part) = concat.limits_shifted(charset, coded.shift);
    let (room, from) = match ends.len().checked_sub(2) {
        Some(before) => (part, ends[before] as usize),
        None => (alone, 0),
    };
    let used = (coded.octets.len() - from) / charset.unit_octets();
    let text = body.content().map_or("", |content| &content.text);
    let wanted = if flash { Charset::Gsm7 } else { script.charset };
    let mut utf8 = [0; 4];
    let lacks = |letter: char, utf8: &mut [u8; 4]| !wanted.can_encode(letter.encode_utf8(utf8));
    let is_long = charset == Charset::Ucs2 && wanted != Charset::Ucs2;
    let at_fault = text.char_indices().filter(|(_, letter)| is_long && lacks(*letter, &mut utf8)).collect();
    Some(TextEncoding {
        alphabet: alphabet(charset, coded.shift),
        parts: ends.len() as u32,
        left: room.saturating_sub(used) as u32,
        at_fault,
    })
}

/// Stable names.
fn alphabet(charset: Charset, shift: Shift) -> &'static str {
    match charset {
        Charset::Gsm7 if shift != Shift::NONE => "gsm7-national",
        Charset::Gsm7 => "gsm7",
        Charset::Ascii => "ascii",
        Charset::Latin1 => "latin1",
        Charset::Ucs2 => "ucs2",
        Charset::Cyrillic => "cyrillic",
        Charset::Hebrew => "hebrew",
        Charset::Japanese => "japanese",
        Charset::Korean => "korean",
        Charset::Binary => "binary",
    }
}

pub(super) fn parts_of_text(text: &str, class: Option<u8>, script: Script<'_>) -> usize {
    if text.len() <= SURELY_ONE_OCTETS {
        return 1;
    }
    let coding = if class.is_some() { choose_flash(text) } else { choose(text, script.charset) };
    if coding.charset == Charset::Ucs2
        && let Some(shift) = script.shift(text, class)
    {
        return parts_shifted(text, Charset::Gsm7, shift, script.concat);
    }
    smpp::text::parts(text, coding.charset, script.concat)
}

pub(super) fn parts_of_short(short: &Short, flash: bool, script: Script<'_>) -> usize {
    if brings_header(short) {
        return 1;
    }
    match &short.text {
        ShortText::Text { text, class } => parts_of_text(text, class.or(flash.then_some(0)), script),
        ShortText::Octets { data_coding, octets } => match recoded(short, script.charset) {
            Some(text) => parts_of_text(&text, None, script),
            None => {
                let charset = Coding::of(*data_coding, Charset::Gsm7).charset;
                split(octets, charset, script.concat, 0).map_or_else(|error| error.parts, |parts| parts.len())
            }
        },
    }
}
