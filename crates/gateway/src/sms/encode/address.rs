//! Addresses as they stand in the PDU.

use records::ShortAddress;
use smpp::pdu::Address;

use super::Unsendable;
use crate::sms::config::Source;

/// Octets of a destination at most; also the digits of any number (E.164 has 15).
const DIGITS_MAX: usize = 20;
/// Characters of a sender's name (TS 23.040 §9.1.2.5).
const NAME_MAX: usize = 11;
/// Digits of a short code at most.
const SHORT_CODE_MAX: usize = 8;
/// Type and plan of an international number (3.4 §5.2.5, §5.2.6).
const INTERNATIONAL: (u8, u8) = (1, 1);
/// Short codes belong to their network: neither type nor plan of an international number.
const SHORT_CODE: (u8, u8) = (3, 0);
/// Digits of which only the carrier knows what they are.
const UNKNOWN: (u8, u8) = (0, 1);
/// Letters.
const NAME: (u8, u8) = (5, 0);

/// The digits of an endpoint's address, as they stand in the PDU.
pub(in crate::sms) fn digits(address: &str) -> Result<&[u8], Unsendable> {
    let digits = address.strip_prefix('+').unwrap_or(address).as_bytes();
    if digits.is_empty() || digits.len() > DIGITS_MAX || !digits.iter().all(u8::is_ascii_digit) {
        let text = format!("{address:?} is not a phone number of 1 to {DIGITS_MAX} digits");
        return Err(Unsendable { code: "sms:address", text });
    }
    Ok(digits)
}

/// An alert's sender as an address, where it can be shown: a number, a short code, or a name.
pub(super) fn sender_of(named: &str) -> Option<Source> {
    let ((ton, npi), addr) = form_of(named)?;
    Some(Source { ton, npi, addr: addr.to_owned() })
}

/// A platform's sender: as it says, else by its form, else the one of the segment or the route.
pub(in crate::sms) fn source_of<'a>(given: &'a ShortAddress, otherwise: &'a Source) -> Address<'a> {
    if given.addr.is_empty() {
        return announced_source(otherwise);
    }
    let ((ton, npi), addr) = match given.ton_npi {
        Some(announced) => announced_as(announced, &given.addr),
        // What no network shows is the carrier's to judge.
        None => form_of(&given.addr).unwrap_or((NAME, &given.addr)),
    };
    Address { ton, npi, addr: addr.as_bytes() }
}

/// The sender of a segment or a route.
pub(in crate::sms) fn announced_source(source: &Source) -> Address<'_> {
    let ((ton, npi), addr) = announced_as((source.ton, source.npi), &source.addr);
    Address { ton, npi, addr: addr.as_bytes() }
}

/// A sender as it is announced; put right where its form leaves no choice: letters are a name, and a plus
/// sign begins an international number (3.4 §5.2.5). Carriers refuse anything else.
fn announced_as(announced: (u8, u8), addr: &str) -> ((u8, u8), &str) {
    let number = addr.strip_prefix('+').unwrap_or(addr);
    if number.is_empty() {
        return (announced, addr);
    }
    match number.bytes().all(|octet| octet.is_ascii_digit()) {
        false => (NAME, addr),
        true if number.len() < addr.len() => (INTERNATIONAL, number),
        true => (announced, addr),
    }
}

fn form_of(named: &str) -> Option<((u8, u8), &str)> {
    let named = named.trim();
    let international = named.strip_prefix('+');
    let number = international.unwrap_or(named);
    if !number.is_empty() && number.bytes().all(|octet| octet.is_ascii_digit()) {
        let announced = match international {
            _ if number.len() > DIGITS_MAX => return None,
            Some(_) => INTERNATIONAL,
            None if number.len() <= SHORT_CODE_MAX => SHORT_CODE,
            None => UNKNOWN,
        };
        return Some((announced, number));
    }
    // GSM networks show names of ASCII letters, digits and few signs; what has more is not the sender anyone
    // typed.
    let fits =
        !named.is_empty() && named.len() <= NAME_MAX && named.bytes().all(|o| (b' '..=b'~').contains(&o));
    fits.then_some((NAME, named))
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_platforms_sender_goes_out_as_it_said() {
        let route = Source { ton: 3, npi: 0, addr: "72456".to_owned() };
        let cases = [
            (None, "", (3, 0, "72456")),
            (Some((1, 1)), "", (3, 0, "72456")),
            (Some((1, 1)), "+46701234567", (1, 1, "46701234567")),
            (Some((2, 8)), "0701234567", (2, 8, "0701234567")),
            (Some((0, 1)), "+46701234567", (1, 1, "46701234567")),
            (Some((5, 0)), "71700", (5, 0, "71700")),
            (Some((0, 0)), "City", (5, 0, "City")),
            (Some((0, 1)), "City", (5, 0, "City")),
            (Some((1, 1)), "City", (5, 0, "City")),
            (Some((5, 1)), "City 7", (5, 0, "City 7")),
            (None, "+46701234567", (1, 1, "46701234567")),
            (None, "City of X", (5, 0, "City of X")),
            (None, "a name that is too long", (5, 0, "a name that is too long")),
        ];
        for (ton_npi, addr, (ton, npi, expected)) in cases {
            let given = ShortAddress { ton_npi, addr: addr.into() };
            let address = source_of(&given, &route);
            assert_eq!((address.ton, address.npi, address.addr), (ton, npi, expected.as_bytes()), "{addr}");
        }
    }

    #[test]
    fn a_routes_sender_of_letters_is_a_name_whatever_its_numbering() {
        for (ton, npi) in [(0, 0), (0, 1), (1, 1), (5, 0), (5, 1)] {
            let source = Source { ton, npi, addr: "City of X".to_owned() };
            let address = announced_source(&source);
            assert_eq!((address.ton, address.npi, address.addr), (5, 0, &b"City of X"[..]), "{ton} {npi}");
        }
        let none = Source { ton: 3, npi: 1, addr: String::new() };
        assert_eq!((announced_source(&none).ton, announced_source(&none).npi), (3, 1));
    }

    #[test]
    fn what_is_no_number_cannot_be_sent_to() {
        for address in ["", "+", "46 70", "+4670123456789012345678", "anna"] {
            assert_eq!(digits(address).unwrap_err().code, "sms:address");
        }
        assert_eq!(digits("+46701234567").unwrap(), b"46701234567");
    }
}
