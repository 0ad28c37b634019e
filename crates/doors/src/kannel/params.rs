//! Parameters of a request, by names, as octets: from a query or a form, from `X-Kannel-*` headers, or from
//! XML.

use std::borrow::Cow;

/// A decoded value.
pub(super) type ParamValue<'a> = Option<Cow<'a, [u8]>>;
/// A number; nothing where it was not given, is no number, or is -1, which Kannel takes for nothing.
pub(super) type ParamNumber = Option<i32>;

/// All parameters of a request.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Params<'a> {
    pub username: ParamValue<'a>,
    pub password: ParamValue<'a>,
    /// Receivers, blanks between them.
    pub to: ParamValue<'a>,
    /// Receivers as XML lists them: each is one, blanks and all. If there are any, `to` does not count.
    pub to_list: Vec<Vec<u8>>,
    pub from: ParamValue<'a>,
    pub text: ParamValue<'a>,
    pub charset: ParamValue<'a>,
    pub udh: ParamValue<'a>,
    pub smsc: ParamValue<'a>,
    pub dlr_url: ParamValue<'a>,
    pub account: ParamValue<'a>,
    pub binfo: ParamValue<'a>,
    pub meta_data: ParamValue<'a>,
    pub numbers: NumericParams,
}

/// The parameters that are numbers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumericParams {
    pub coding: ParamNumber,
    pub mclass: ParamNumber,
    pub mwi: ParamNumber,
    pub compress: ParamNumber,
    pub validity: ParamNumber,
    pub deferred: ParamNumber,
    pub dlr_mask: ParamNumber,
    pub pid: ParamNumber,
    pub alt_dcs: ParamNumber,
    pub rpi: ParamNumber,
    pub priority: ParamNumber,
}

impl<'a> Params<'a> {
    /// Reads a query or a form. The first of two values of one name counts, and the newer of two names of one
    /// thing.
    pub(super) fn of_query(query: &'a [u8]) -> Params<'a> {
        let mut params = Params::default();
        let mut older = OlderNames::default();
        for pair in query.split(|octet| *octet == b'&').filter(|pair| !pair.is_empty()) {
            let equals = memchr(b'=', pair).unwrap_or(pair.len());
            let raw = pair.get(equals + 1..).unwrap_or_default();
            params.take(&unescape(&pair[..equals]), raw, &mut older);
        }
        older.fill(params)
    }

    /// These parameters, and those of `others` where they are absent.
    pub(super) fn or(self, others: Params<'a>) -> Params<'a> {
        Params {
            username: self.username.or(others.username),
            password: self.password.or(others.password),
            to: self.to.or(others.to),
            to_list: if self.to_list.is_empty() { others.to_list } else { self.to_list },
            from: self.from.or(others.from),
            text: self.text.or(others.text),
            charset: self.charset.or(others.charset),
            udh: self.udh.or(others.udh),
            smsc: self.smsc.or(others.smsc),
            dlr_url: self.dlr_url.or(others.dlr_url),
            account: self.account.or(others.account),
            binfo: self.binfo.or(others.binfo),
            meta_data: self.meta_data.or(others.meta_data),
            numbers: self.numbers.or(others.numbers),
        }
    }

    fn take(&mut self, name: &[u8], raw: &'a [u8], older: &mut OlderNames<'a>) {
        let place = match name {
            b"username" => &mut self.username,
            b"password" => &mut self.password,
            b"user" => &mut older.user,
            b"pass" => &mut older.pass,
            b"to" => return first(&mut self.to, || with_plus(raw)),
            b"from" => return first(&mut self.from, || with_plus(raw)),
            b"text" => &mut self.text,
            b"charset" => &mut self.charset,
            b"udh" => &mut self.udh,
            b"smsc" => &mut self.smsc,
            b"dlr-url" => &mut self.dlr_url,
            b"dlrurl" => &mut older.dlr_url,
            b"account" => &mut self.account,
            b"binfo" => &mut self.binfo,
            b"meta-data" => &mut self.meta_data,
            b"dlr-mask" => &mut older.dlr_mask[0],
            b"dlrmask" => &mut older.dlr_mask[1],
            _ => match number_named(name) {
                Some(place) => &mut older.numbers[place],
                None => return,
            },
        };
        first(place, || unescape(raw));
    }

    /// Takes a header; false if it is not one of Kannel's.
    pub(super) fn take_header(&mut self, name: &str, value: &'a [u8]) -> bool {
        let front = name.get(..HEADER_PREFIX.len());
        if !front.is_some_and(|front| front.eq_ignore_ascii_case(HEADER_PREFIX)) {
            return false;
        }
        let name = name[HEADER_PREFIX.len()..].to_ascii_lowercase();
        let value = value.trim_ascii();
        let place = match name.as_str() {
            "username" => &mut self.username,
            "password" => &mut self.password,
            "to" => &mut self.to,
            "from" => &mut self.from,
            "smsc" => &mut self.smsc,
            "dlr-url" => &mut self.dlr_url,
            "account" => &mut self.account,
            "binfo" => &mut self.binfo,
            "meta-data" => &mut self.meta_data,
            "udh" => {
                self.udh = Some(octets_in_text(value));
                return true;
            }
            "dlr-mask" => {
                self.numbers.dlr_mask = number(value);
                return true;
            }
            other => {
                let Some(place) = NUMBERS.iter().position(|known| *known == other) else { return false };
                *self.numbers.at(place) = number(value);
                return true;
            }
        };
        *place = Some(Cow::Borrowed(value));
        true
    }
}

impl NumericParams {
    /// These parameters, and those of `others` where they are absent.
    fn or(self, others: NumericParams) -> NumericParams {
        NumericParams {
            coding: self.coding.or(others.coding),
            mclass: self.mclass.or(others.mclass),
            mwi: self.mwi.or(others.mwi),
            compress: self.compress.or(others.compress),
            validity: self.validity.or(others.validity),
            deferred: self.deferred.or(others.deferred),
            dlr_mask: self.dlr_mask.or(others.dlr_mask),
            pid: self.pid.or(others.pid),
            alt_dcs: self.alt_dcs.or(others.alt_dcs),
            rpi: self.rpi.or(others.rpi),
            priority: self.priority.or(others.priority),
        }
    }

    /// The number with this place in [`NUMBERS`].
    fn at(&mut self, place: usize) -> &mut ParamNumber {
        match NUMBERS[place] {
            "coding" => &mut self.coding,
            "mclass" => &mut self.mclass,
            "mwi" => &mut self.mwi,
            "compress" => &mut self.compress,
            "validity" => &mut self.validity,
            "deferred" => &mut self.deferred,
            "pid" => &mut self.pid,
            "alt-dcs" => &mut self.alt_dcs,
            "rpi" => &mut self.rpi,
            _ => &mut self.priority,
        }
    }
}

/// Prefix of Kannel's headers.
const HEADER_PREFIX: &str = "X-Kannel-";
/// Parameters that are numbers, but for the mask, which has two names.
const NUMBERS: [&str; 10] =
    ["coding", "mclass", "mwi", "compress", "validity", "deferred", "pid", "alt-dcs", "rpi", "priority"];

fn number_named(name: &[u8]) -> Option<usize> {
    NUMBERS.iter().position(|known| known.as_bytes() == name)
}

/// Values under older names, and numbers not yet read.
#[derive(Default)]
struct OlderNames<'a> {
    user: ParamValue<'a>,
    pass: ParamValue<'a>,
    dlr_url: ParamValue<'a>,
    dlr_mask: [ParamValue<'a>; 2],
    numbers: [ParamValue<'a>; NUMBERS.len()],
}

impl<'a> OlderNames<'a> {
    fn fill(self, mut params: Params<'a>) -> Params<'a> {
        params.username = params.username.or(self.user);
        params.password = params.password.or(self.pass);
        params.dlr_url = params.dlr_url.or(self.dlr_url);
        let [newer, older] = self.dlr_mask;
        params.numbers.dlr_mask = newer.or(older).and_then(|value| number(&value));
        for (place, value) in self.numbers.into_iter().enumerate() {
            *params.numbers.at(place) = value.and_then(|value| number(&value));
        }
        params
    }
}

fn first<'a>(place: &mut ParamValue<'a>, value: impl FnOnce() -> Cow<'a, [u8]>) {
    if place.is_none() {
        *place = Some(value());
    }
}

/// A number of an address, in which the plus at the front is often not escaped and would become a blank.
fn with_plus(raw: &[u8]) -> Cow<'_, [u8]> {
    let value = unescape(raw);
    match raw {
        [b'+', b'0'..=b'9', ..] => {
            let mut value = value.into_owned();
            value[0] = b'+';
            Cow::Owned(value)
        }
        _ => value,
    }
}

/// Decodes `%41` and `+`. An invalid escape stays as it is; one that is cut off at the end is dropped.
pub(super) fn unescape(raw: &[u8]) -> Cow<'_, [u8]> {
    let Some(start) = raw.iter().position(|octet| matches!(octet, b'%' | b'+')) else {
        return Cow::Borrowed(raw);
    };
    let mut out = Vec::with_capacity(raw.len());
    out.extend_from_slice(&raw[..start]);
    let mut rest = &raw[start..];
    loop {
        rest = match rest {
            [] => return Cow::Owned(out),
            [b'+', rest @ ..] => {
                out.push(b' ');
                rest
            }
            [b'%', high, low, rest @ ..] => {
                match (hex(*high), hex(*low)) {
                    (Some(high), Some(low)) => out.push(high << 4 | low),
                    _ => out.extend_from_slice(&[b'%', *high, *low]),
                }
                rest
            }
            [b'%', ..] => return Cow::Owned(out),
            [octet, rest @ ..] => {
                out.push(*octet);
                rest
            }
        };
    }
}

/// Octets that stand in a text as hexadecimal digits, or else with escapes.
pub(super) fn octets_in_text(text: &[u8]) -> Cow<'_, [u8]> {
    let digits: Option<Vec<u8>> = text.iter().map(|digit| hex(*digit)).collect();
    match digits {
        Some(digits) => digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect(),
        None => unescape(text),
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// Reads a number as `scanf` reads `%d`: blanks, a sign, digits; the rest is ignored. -1 is nothing.
pub(super) fn number(value: &[u8]) -> ParamNumber {
    let text = value.trim_ascii_start();
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let end = digits.iter().position(|digit| !digit.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 {
        return None;
    }
    let value = digits[..end]
        .iter()
        .fold(0i32, |value, digit| value.saturating_mul(10).saturating_add(i32::from(digit - b'0')));
    let value = if negative { -value } else { value };
    (value != -1).then_some(value)
}

fn memchr(wanted: u8, octets: &[u8]) -> Option<usize> {
    octets.iter().position(|octet| *octet == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_as_kannel_reads_them() {
        let cases: [(&[u8], &[u8]); 8] = [
            (b"plain", b"plain"),
            (b"a+b%20c", b"a b c"),
            (b"%e2%82%AC", "€".as_bytes()),
            (b"100%zz%41", b"100%zzA"),
            (b"a%4", b"a"),
            (b"%", b""),
            (b"%00%ff", &[0, 255]),
            (b"", b""),
        ];
        for (raw, meant) in cases {
            assert_eq!(unescape(raw).as_ref(), meant, "{raw:?}");
        }
    }

    #[test]
    fn numbers_are_read_as_scanf_reads_them() {
        let cases: [(&[u8], ParamNumber); 10] = [
            (b"1", Some(1)),
            (b" 1", Some(1)),
            (b"+1", Some(1)),
            (b"-2", Some(-2)),
            (b"-1", None),
            (b"1x", Some(1)),
            (b"0x1", Some(0)),
            (b"abc", None),
            (b"", None),
            (b"99999999999999", Some(i32::MAX)),
        ];
        for (text, value) in cases {
            assert_eq!(number(text), value, "{text:?}");
        }
    }

    #[test]
    fn octets_stand_in_a_text_as_digits_or_with_escapes() {
        assert_eq!(octets_in_text(b"0605ff").as_ref(), [6, 5, 255]);
        assert_eq!(octets_in_text(b"%06z").as_ref(), [6, b'z']);
        assert!(octets_in_text(b"").is_empty());
    }

    #[test]
    fn the_newer_of_two_names_and_the_first_of_two_values_count() {
        let params = Params::of_query(
            b"user=old&username=new&text=a&text=b&dlrmask=1&dlr-mask=2&pass=p&x=y&&=z&coding",
        );
        assert_eq!(params.username.as_deref(), Some(&b"new"[..]));
        assert_eq!(params.password.as_deref(), Some(&b"p"[..]));
        assert_eq!(params.text.as_deref(), Some(&b"a"[..]));
        assert_eq!((params.numbers.dlr_mask, params.numbers.coding), (Some(2), None));
    }

    #[test]
    fn a_plus_at_the_front_of_a_number_is_a_plus() {
        let said = |query: &'static [u8]| Params::of_query(query).to.unwrap().into_owned();
        assert_eq!(said(b"to=+4670"), b"+4670");
        assert_eq!(said(b"to=%2B4670"), b"+4670");
        assert_eq!(said(b"to=11+22"), b"11 22");
        assert_eq!(said(b"to=+Town"), b" Town");
    }
}
