//! Messages made of a request, checked in Kannel's order.

use super::answer::KannelAnswer;
use super::charset;
use super::params::Params;
use super::platforms::PlatformSettings;
use super::receivers::receivers_in;
use records::{DlrRequest, Lane, Message, MessageClient, Short, ShortAddress, ShortText, Timestamp};
use rustc_hash::FxHashSet;
use smpp::text::gsm7;
use std::borrow::Cow;

/// Receivers of a request at most.
pub(super) const RECEIVERS_MAX: usize = 1_000;
/// Octets of an address on an SMPP session (SMPP 3.4, 5.2.8 and 5.2.9: 21 with the NUL).
const ADDRESS_OCTETS_MAX: usize = 20;
/// Octets of `service_type` (SMPP 3.4, 5.2.11: 6 with the NUL).
const SERVICE_TYPE_OCTETS_MAX: usize = 5;
/// User data of a message in one part, its header included (TS 23.040, 9.2.3.24).
const USER_DATA_OCTETS_MAX: usize = 140;
/// Octets of a text at most, as octets of a coding: 255 parts of 67 UTF-16 units, with room.
const TEXT_OCTETS_MAX: usize = 2 * 255 * 67;
/// Characters of an account at most, as in Kannel.
const ACCOUNT_OCTETS_MAX: usize = 64;
/// Octets of an address for reports at most.
const DLR_URL_OCTETS_MAX: usize = 8_000;
/// Octets of meta-data at most.
const META_DATA_OCTETS_MAX: usize = 8_000;
/// The greatest mask that Kannel takes.
const DLR_MASK_MAX: i32 = 66;
/// `priority` from which on a message takes the urgent lane: "urgent" in every network of SMPP 3.4, 5.2.14.
const URGENT_FROM: i32 = 2;
/// Validity of a message without a `validity`, in seconds.
const VALIDITY_S: i64 = 48 * 3_600;
/// The longest validity and deferral, in seconds; a longer one is cut to this.
const VALIDITY_S_MAX: i64 = 30 * 86_400;

/// Bits of `esm_class`: a reply path (SMPP 3.4, 5.2.12).
const REPLY_PATH: u8 = 0x80;
/// Bits of `registered_delivery`: a receipt, and word of a message under way (SMPP 3.4, 5.2.17).
const RECEIPT: u8 = 1;
const INTERMEDIATE: u8 = 16;

/// The messages of a request: one for each receiver, alike in everything else.
#[derive(Debug)]
pub(super) struct Composed {
    pub receivers: Vec<String>,
    pub message: Message,
}

/// Checks the parameters in Kannel's order, after the user and the presence of a receiver.
pub(super) fn compose(
    params: &Params<'_>,
    platform: &PlatformSettings,
    now: Timestamp,
) -> Result<Composed, KannelAnswer> {
    let udh = header(params)?;
    let receivers = receivers(params)?;
    let source = source(params, platform)?;
    let account = account(params)?;
    let url = dlr_url(params)?;
    ranges(params)?;
    let text = text(params, udh)?;
    let minutes = |given: i32| i64::from(given).saturating_mul(60).min(VALIDITY_S_MAX);
    let not_before = params.numbers.deferred.map(|given| now.plus_s(minutes(given)));
    let valid_s = params.numbers.validity.map_or(VALIDITY_S, minutes);
    let urgent = params.numbers.priority.is_some_and(|priority| priority >= URGENT_FROM);
    let message = Message {
        account: platform.account.clone(),
        party: MessageClient::Platform(platform.username.clone()),
        at: now,
        lane: if urgent { Lane::Urgent } else { Lane::Routine },
        mode: platform.mode,
        to: String::new(),
        short: Short {
            source: ShortAddress { ton_npi: None, addr: source },
            dest: None,
            text,
            udh: udh.into(),
            service_type: service_type(params),
            esm_class: if params.numbers.rpi.is_some_and(|rpi| rpi > 0) { REPLY_PATH } else { 0 },
            protocol_id: params.numbers.pid.unwrap_or(0) as u8,
            priority_flag: params.numbers.priority.map(|priority| priority as u8),
            replace_if_present: false,
            registered_delivery: registered_delivery(params),
            tlvs: Box::default(),
        },
        not_before,
        // Without a validity of its own, the time a message waits does not count.
        expires: match (params.numbers.validity, not_before) {
            (None, Some(not_before)) => not_before.plus_s(valid_s),
            _ => now.plus_s(valid_s),
        },
        route: words(&params.smsc).filter(|name| !name.is_empty()).map(Cow::into_owned),
        tell: tell(params, platform, account, url)?,
    };
    Ok(Composed { receivers, message })
}

fn header<'p>(params: &'p Params<'_>) -> Result<&'p [u8], KannelAnswer> {
    let udh = params.udh.as_deref().unwrap_or_default();
    match udh.split_first() {
        None => Ok(&[]),
        Some((length, rest)) if usize::from(*length) != rest.len() => {
            Err(KannelAnswer::wrong("UDH field misformed, rejected"))
        }
        Some(_) if udh.len() > USER_DATA_OCTETS_MAX => {
            Err(KannelAnswer::wrong("UDH field is too long, rejected"))
        }
        // The length octet is not part of it.
        Some((_, rest)) => Ok(rest),
    }
}

fn receivers(params: &Params<'_>) -> Result<Vec<String>, KannelAnswer> {
    let to = params.to.as_deref().unwrap_or_default();
    if params.to_list.is_empty()
        && is_plain(to)
        && let Ok(number) = std::str::from_utf8(to)
    {
        return Ok(vec![number.to_owned()]);
    }
    let mut receivers = Receivers::default();
    if params.to_list.is_empty() {
        receivers.add_all(&words(&params.to).unwrap_or_default())?;
    } else {
        for number in &params.to_list {
            receivers.add_one(number)?;
        }
    }
    if receivers.list.is_empty() {
        return Err(KannelAnswer::wrong("Number(s) has/have been denied by white- and/or black-lists."));
    }
    Ok(receivers.list)
}

/// One number, and nothing beside its digits but a plus: the usual case.
fn is_plain(to: &[u8]) -> bool {
    let digits = to.strip_prefix(b"+").unwrap_or(to);
    (1..=ADDRESS_OCTETS_MAX).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
}

/// Receivers of a request, each person once.
#[derive(Default)]
struct Receivers {
    list: Vec<String>,
    /// The same in their one form, where there are several.
    seen: FxHashSet<String>,
}

impl Receivers {
    /// Adds those of a text; blanks separate them.
    fn add_all(&mut self, text: &str) -> Result<(), KannelAnswer> {
        let found = receivers_in(text);
        let found = found.map_err(|_| {
            KannelAnswer::wrong("Receiver number misformed, rejected: write it without blanks")
        })?;
        found.into_iter().try_for_each(|number| self.add(number))
    }

    /// Adds a number that is one, blanks and dashes in it or not.
    fn add_one(&mut self, text: &[u8]) -> Result<(), KannelAnswer> {
        let mut number = String::with_capacity(text.len().min(ADDRESS_OCTETS_MAX + 1));
        for octet in text {
            match octet {
                b'0'..=b'9' => number.push(char::from(*octet)),
                b'+' if number.is_empty() => number.push('+'),
                b' ' | b'-' => {}
                _ => return Ok(()),
            }
        }
        let digits = number.trim_start_matches('+').len();
        if digits == 0 || digits > ADDRESS_OCTETS_MAX { Ok(()) } else { self.add(number) }
    }

    fn add(&mut self, number: String) -> Result<(), KannelAnswer> {
        let one_form = channels::canonical(channels::SMS, &number, &channels::Defaults::default());
        if !self.seen.insert(one_form.into_owned()) {
            return Ok(());
        }
        if self.list.len() == RECEIVERS_MAX {
            return Err(KannelAnswer::wrong("Too many receivers, rejected"));
        }
        self.list.push(number);
        Ok(())
    }
}

fn source(params: &Params<'_>, platform: &PlatformSettings) -> Result<Box<str>, KannelAnswer> {
    let given = words(&params.from).filter(|from| !from.is_empty());
    let source = given.unwrap_or_else(|| platform.sender.as_deref().unwrap_or_default().into());
    if source.trim_start_matches('+').len() > ADDRESS_OCTETS_MAX || source.contains(char::is_control) {
        return Err(KannelAnswer::wrong("Sender misformed or too long, rejected"));
    }
    Ok(source.into())
}

fn account<'p>(params: &'p Params<'_>) -> Result<Cow<'p, str>, KannelAnswer> {
    let account = words(&params.account).unwrap_or_default();
    if account.len() > ACCOUNT_OCTETS_MAX || account.contains(['[', ']', '\r', '\n']) {
        return Err(KannelAnswer::wrong("Account field misformed or too long, rejected"));
    }
    Ok(account)
}

pub(super) fn dlr_url<'p>(params: &'p Params<'_>) -> Result<Cow<'p, str>, KannelAnswer> {
    let url = words(&params.dlr_url).unwrap_or_default();
    let begins = |front: &str| url.get(..front.len()).is_some_and(|found| found.eq_ignore_ascii_case(front));
    let fits = url.len() >= 8 && url.len() <= DLR_URL_OCTETS_MAX && !url.contains(char::is_control);
    if url.is_empty() || fits && (begins("http://") || begins("https://")) {
        return Ok(url);
    }
    Err(KannelAnswer::wrong("DLR-URL field misformed, rejected"))
}

fn ranges(params: &Params<'_>) -> Result<(), KannelAnswer> {
    let checks = [
        (params.numbers.dlr_mask, DLR_MASK_MAX, "DLR-Mask field misformed, rejected"),
        (params.numbers.mclass, 3, "MClass field misformed, rejected"),
        (params.numbers.pid, 255, "PID field misformed, rejected"),
        (params.numbers.rpi, 2, "RPI field misformed, rejected"),
        (params.numbers.alt_dcs, 1, "Alt-DCS field misformed, rejected"),
        (params.numbers.mwi, 7, "MWI field misformed, rejected"),
        (params.numbers.coding, 2, "Coding field misformed, rejected"),
        (params.numbers.compress, 1, "Compress field misformed, rejected"),
        (params.numbers.validity, i32::MAX, "Validity field misformed, rejected"),
        (params.numbers.deferred, i32::MAX, "Deferred field misformed, rejected"),
        (params.numbers.priority, 3, "Priority field misformed, rejected"),
    ];
    let wrong = checks.iter().find(|(value, max, _)| value.is_some_and(|value| value < 0 || value > *max));
    wrong.map_or(Ok(()), |(_, _, words)| Err(KannelAnswer::wrong(words)))
}

/// Without a coding, and without a parameter that requires one, the gateway chooses it. Otherwise it is
/// Kannel's, octet for octet.
fn text(params: &Params<'_>, udh: &[u8]) -> Result<ShortText, KannelAnswer> {
    let content = params.text.as_deref().unwrap_or_default();
    if content.len() > TEXT_OCTETS_MAX {
        return Err(KannelAnswer::wrong("Message too long, rejected"));
    }
    let characters = || {
        let text = charset::text(params.charset.as_deref(), content);
        text.map_err(|_| KannelAnswer::wrong("Charset or body misformed, rejected"))
    };
    let octets: Vec<u8> = match params.numbers.coding {
        None if udh.is_empty() && is_free(params) => {
            let text = characters()?;
            if params.numbers.mclass.is_none() || !gsm7::can_encode(&text) {
                return Ok(ShortText::Text {
                    text: text.into(),
                    class: params.numbers.mclass.map(|class| class as u8),
                });
            }
            septets(&text)
        }
        Some(1) => content.to_vec(),
        None if !udh.is_empty() => content.to_vec(),
        // Octets without a charset are UTF-16 already.
        Some(2) if params.charset.as_deref().unwrap_or_default().is_empty() => content.to_vec(),
        Some(2) => characters()?.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        _ => septets(&characters()?),
    };
    let coding = params.numbers.coding.unwrap_or(i32::from(!udh.is_empty())) as u8;
    let bits = if coding == 0 { 7 } else { 8 };
    let front = if udh.is_empty() { 0 } else { udh.len() + 1 };
    if !udh.is_empty() && octets.len() * bits > (USER_DATA_OCTETS_MAX - front) * 8 {
        return Err(KannelAnswer::wrong("Message too long for one with a UDH of its own, rejected"));
    }
    Ok(ShortText::Octets {
        data_coding: data_coding(params, coding, octets.is_empty()),
        octets: octets.into(),
    })
}

/// Whether no parameter requires a `data_coding` that the gateway would not choose.
fn is_free(params: &Params<'_>) -> bool {
    params.numbers.mwi.is_none() && params.numbers.alt_dcs != Some(1) && params.numbers.compress != Some(1)
}

/// The GSM alphabet, with a question mark for each character that it lacks.
fn septets(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    if gsm7::encode(text, &mut out).is_err() {
        let known: String = text
            .chars()
            .map(|character| if gsm7::septets(character).is_some() { character } else { '?' })
            .collect();
        // Every character has a code by now.
        let _ = gsm7::encode(&known, &mut out);
    }
    out
}

/// As Kannel makes it (TS 23.038, 4): message waiting before everything else, a message class by its own
/// group of codings, which has no UCS-2.
fn data_coding(params: &Params<'_>, coding: u8, is_empty: bool) -> u8 {
    if let Some(mwi) = params.numbers.mwi {
        let kind = mwi as u8 & 3;
        return match (mwi & 4 != 0, is_empty, coding) {
            (true, _, _) => 0xC0 | kind,
            (false, true, _) => 0xC8 | kind,
            (false, false, 0) => 0xD8 | kind,
            (false, false, _) => 0xE8 | kind,
        };
    }
    let class = params.numbers.mclass.map(|class| class as u8);
    let compress = params.numbers.compress == Some(1);
    let own_group = (class.is_some() || params.numbers.alt_dcs == Some(1)) && coding != 2 && !compress;
    if own_group {
        return 0xF0 | coding << 2 | class.unwrap_or(1);
    }
    let class = class.map_or(0, |class| 0x10 | class);
    class | coding << 2 | if compress { 0x20 } else { 0 }
}

fn service_type(params: &Params<'_>) -> Box<str> {
    let binfo = words(&params.binfo).unwrap_or_default();
    let fits = binfo.len() <= SERVICE_TYPE_OCTETS_MAX && binfo.bytes().all(|octet| octet.is_ascii_graphic());
    if fits { binfo.into() } else { "".into() }
}

/// Without a request for reports of the device, the route decides.
fn registered_delivery(params: &Params<'_>) -> Option<u8> {
    let mask = params.numbers.dlr_mask.unwrap_or(0) as u8;
    let buffered = mask & DlrRequest::BUFFERED != 0;
    let wanted = mask & (DlrRequest::DELIVERED | DlrRequest::FAILED) != 0 || buffered;
    wanted.then_some(if buffered { RECEIPT | INTERMEDIATE } else { RECEIPT })
}

fn tell(
    params: &Params<'_>,
    platform: &PlatformSettings,
    account: Cow<'_, str>,
    url: Cow<'_, str>,
) -> Result<DlrRequest, KannelAnswer> {
    let all = DlrRequest::DELIVERED
        | DlrRequest::FAILED
        | DlrRequest::BUFFERED
        | DlrRequest::ACCEPTED
        | DlrRequest::REFUSED;
    let mut mask = params.numbers.dlr_mask.unwrap_or(0) as u8 & all;
    // A request for failures includes refusals.
    if mask & DlrRequest::FAILED != 0 {
        mask |= DlrRequest::REFUSED;
    }
    let url = if url.is_empty() { platform.dlr_url.as_deref().unwrap_or_default() } else { &url };
    if mask == 0 || url.is_empty() {
        return Ok(DlrRequest::default());
    }
    let meta_data = words(&params.meta_data).unwrap_or_default();
    if meta_data.len() > META_DATA_OCTETS_MAX {
        return Err(KannelAnswer::wrong("Meta-Data field too long, rejected"));
    }
    let values = [('D', meta_data), ('o', account), ('B', words(&params.binfo).unwrap_or_default())];
    let values = values.into_iter().filter(|(_, value)| !value.is_empty());
    Ok(DlrRequest {
        mask,
        url: Some(url.into()),
        values: values.map(|(letter, value)| (letter, value.into())).collect(),
    })
}

/// A value that is no text of the message: UTF-8, or else windows-1252.
fn words<'v>(value: &'v Option<Cow<'_, [u8]>>) -> Option<Cow<'v, str>> {
    let value = value.as_deref()?;
    charset::text(None, value).ok()
}
