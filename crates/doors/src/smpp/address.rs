//! Addresses as platforms write them.

use smpp::Status;
use smpp::pdu::Address;

/// Digits of a number in the form of its carrier at most (an address of SMPP has so many octets).
const DIGITS_MAX: usize = 20;
/// Digits of an international number at most (E.164, 6.2.1).
const INTERNATIONAL_DIGITS_MAX: usize = 15;
/// Digits from which on a number of unknown type counts as international, unless it begins with a zero.
const INTERNATIONAL_DIGITS_MIN: usize = 9;
/// Characters of a sender's name (TS 23.040, 9.1.2.5).
const NAME_MAX: usize = 11;

/// Types of number (SMPP 3.4, 5.2.5).
pub(super) const TON_UNKNOWN: u8 = 0;
pub(super) const TON_INTERNATIONAL: u8 = 1;
pub(super) const TON_ALPHANUMERIC: u8 = 5;
/// The numbering plan of telephones (SMPP 3.4, 5.2.6).
pub(super) const NPI_ISDN: u8 = 1;

/// A number: `+` and digits where it is international.
pub(super) struct DestinationNumber {
    octets: [u8; DIGITS_MAX + 1],
    length: usize,
    /// The written form cannot be derived from the number.
    pub(super) was_written_otherwise: bool,
}

impl DestinationNumber {
    /// The destination of a message.
    pub(super) fn of(address: Address<'_>) -> Result<DestinationNumber, Status> {
        if address.ton == TON_ALPHANUMERIC {
            return Err(Status::RINVDSTTON);
        }
        let written = address.addr;
        let (plus, digits) = match written.strip_prefix(b"+") {
            Some(digits) => (true, digits),
            None => (false, written),
        };
        let sound = !digits.is_empty() && digits.len() <= DIGITS_MAX && digits.iter().all(u8::is_ascii_digit);
        if !sound {
            return Err(Status::RINVDSTADR);
        }
        let zeros = digits.starts_with(b"00");
        let long = digits.len() >= INTERNATIONAL_DIGITS_MIN && digits[0] != b'0';
        let international = match address.ton {
            TON_INTERNATIONAL => true,
            TON_UNKNOWN => plus || zeros || long,
            _ => plus,
        };
        if !international {
            return Ok(DestinationNumber::join(b"", digits, false));
        }
        // No country's code begins with a zero: two of them are the prefix that people dial.
        let digits = if zeros && !plus { &digits[2..] } else { digits };
        if digits.is_empty() || digits.len() > INTERNATIONAL_DIGITS_MAX {
            return Err(Status::RINVDSTADR);
        }
        Ok(DestinationNumber::join(b"+", digits, digits.len() != written.len()))
    }

    fn join(front: &[u8], digits: &[u8], was_written_otherwise: bool) -> DestinationNumber {
        let mut number = DestinationNumber {
            octets: [0; DIGITS_MAX + 1],
            length: front.len() + digits.len(),
            was_written_otherwise,
        };
        number.octets[..front.len()].copy_from_slice(front);
        number.octets[front.len()..number.length].copy_from_slice(digits);
        number
    }

    pub(super) fn as_str(&self) -> &str {
        // Digits and a plus sign.
        std::str::from_utf8(&self.octets[..self.length]).unwrap_or_default()
    }
}

/// The sender of a message, one of `allowed` if there are any. Empty is the route's own.
pub(super) fn sender<'a>(address: Address<'a>, allowed: &[String]) -> Result<&'a str, Status> {
    let written = std::str::from_utf8(address.addr).map_err(|_| Status::RINVSRCADR)?;
    if !written.is_empty() {
        let digits = written.strip_prefix('+').unwrap_or(written);
        let is_number =
            !digits.is_empty() && digits.len() <= DIGITS_MAX && digits.bytes().all(|o| o.is_ascii_digit());
        let is_name = written.len() <= NAME_MAX && written.bytes().all(|o| (b' '..=b'~').contains(&o));
        let sound = match address.ton {
            TON_ALPHANUMERIC => is_name,
            TON_UNKNOWN => is_number || is_name,
            _ => is_number,
        };
        if !sound {
            return Err(Status::RINVSRCADR);
        }
    }
    if allowed.is_empty() || allowed.iter().any(|pattern| fits(pattern, written)) {
        Ok(written)
    } else {
        Err(Status::RINVSRCADR)
    }
}

fn fits(pattern: &str, sender: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(front) => sender.starts_with(front),
        None => sender == pattern,
    }
}

/// Type, numbering plan and digits of an address of ours, by its form.
pub(super) fn announced(address: &str) -> (u8, u8, &str) {
    let is_digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|octet| octet.is_ascii_digit());
    match address.strip_prefix('+') {
        Some(digits) if is_digits(digits) => (TON_INTERNATIONAL, NPI_ISDN, digits),
        _ if is_digits(address) => (TON_UNKNOWN, NPI_ISDN, address),
        _ if address.is_empty() => (TON_UNKNOWN, 0, address),
        _ => (TON_ALPHANUMERIC, 0, address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_international_by_its_type_or_its_form() {
        let cases = [
            (1, "46701234567", Ok(("+46701234567", false))),
            (1, "+46701234567", Ok(("+46701234567", true))),
            (1, "0046701234567", Ok(("+46701234567", true))),
            (0, "+46701234567", Ok(("+46701234567", true))),
            (0, "0046701234567", Ok(("+46701234567", true))),
            (0, "46701234567", Ok(("+46701234567", false))),
            (0, "0701234567", Ok(("0701234567", false))),
            (0, "71456", Ok(("71456", false))),
            (2, "701234567", Ok(("701234567", false))),
            (2, "+46701234567", Ok(("+46701234567", true))),
            (3, "71456", Ok(("71456", false))),
            (1, "1234567890123456", Err(Status::RINVDSTADR)),
            (1, "00", Err(Status::RINVDSTADR)),
            (0, "", Err(Status::RINVDSTADR)),
            (0, "+", Err(Status::RINVDSTADR)),
            (0, "46 70 123", Err(Status::RINVDSTADR)),
            (0, "phone", Err(Status::RINVDSTADR)),
            (2, "123456789012345678901", Err(Status::RINVDSTADR)),
            (5, "46701234567", Err(Status::RINVDSTTON)),
        ];
        for (ton, addr, expected) in cases {
            let number = DestinationNumber::of(Address::new(ton, 1, addr.as_bytes()));
            let got = number.as_ref().map(|number| (number.as_str(), number.was_written_otherwise));
            assert_eq!(got.map_err(|status| *status), expected, "{ton} {addr}");
        }
    }

    #[test]
    fn a_sender_is_a_number_or_a_short_name_and_one_of_those_allowed() {
        let own = ["Alert*".to_owned(), "71456".to_owned()];
        let cases: [(u8, &[u8], &[String], bool); 14] = [
            (0, b"", &[], true),
            (5, b"Alert Town", &[], true),
            (5, b"TwelveLetter", &[], false),
            (0, b"TwelveLetter", &[], false),
            (0, b"Town", &[], true),
            (1, b"+46701234567", &[], true),
            (1, b"46701234567", &[], true),
            (1, b"Town", &[], false),
            (5, b"Gl\xF6ckner", &[], false),
            (5, b"a\x07", &[], false),
            (5, b"AlertTown", &own, true),
            (0, b"71456", &own, true),
            (0, b"71457", &own, false),
            (0, b"", &own, false),
        ];
        for (ton, addr, allowed, expected) in cases {
            let sound = sender(Address::new(ton, 0, addr), allowed);
            assert_eq!(sound.is_ok(), expected, "{ton} {}", String::from_utf8_lossy(addr));
            assert!(sound.is_ok() || sound == Err(Status::RINVSRCADR));
        }
    }

    #[test]
    fn our_addresses_are_announced_by_their_form() {
        let cases = [
            ("+46701", (1, 1, "46701")),
            ("71456", (0, 1, "71456")),
            ("Town", (5, 0, "Town")),
            ("", (0, 0, "")),
        ];
        for (address, expected) in cases {
            assert_eq!(announced(address), expected);
        }
    }
}
