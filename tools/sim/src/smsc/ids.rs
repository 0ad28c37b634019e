use super::IdForm;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Gives each accepted part an id. It begins with the microseconds since 1970, so that a restarted SMSC does
/// not give an id again unless it accepted more than a million parts a second all its life.
#[derive(Debug)]
pub(super) struct Ids {
    next: AtomicU64,
}

impl Ids {
    pub(super) fn starting_at(now_us: u64) -> Self {
        Ids { next: AtomicU64::new(now_us) }
    }

    pub(super) fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Above all that were given.
    pub(super) fn end(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }
}

/// Where an id is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdPlace {
    Response,
    Receipt,
}

/// Appends an id as it is written there. `is_short`: to a peer of version 3.3, which has room for 8 digits.
pub(super) fn write(form: IdForm, id: u64, place: IdPlace, is_short: bool, out: &mut Vec<u8>) {
    // Writing to a vector does not fail.
    let _ = match (form, place) {
        _ if is_short => write!(out, "{:08X}", id as u32),
        (IdForm::Decimal, _)
        | (IdForm::HexThenDecimal, IdPlace::Receipt)
        | (IdForm::DecimalThenHex | IdForm::DecimalThenPadded, IdPlace::Response) => {
            write_decimal(id, out);
            Ok(())
        }
        (IdForm::Hex | IdForm::HexThenDecimal | IdForm::HexThenPadded, IdPlace::Response)
        | (IdForm::Hex | IdForm::DecimalThenHex, IdPlace::Receipt) => write!(out, "{id:x}"),
        (IdForm::HexThenPadded, IdPlace::Receipt) => write!(out, "{id:016X}"),
        (IdForm::DecimalThenPadded, IdPlace::Receipt) => write!(out, "{id:020}"),
        (IdForm::Uuid, _) => {
            let high = crate::chance::mix(id);
            let (a, b, c) = ((high >> 32) as u32, (high >> 16) as u16, high as u16 & 0x0FFF);
            write!(out, "{a:08x}-{b:04x}-4{c:03x}-8{:03x}-{:012x}", (id >> 48) & 0xFFF, id & 0xFFFF_FFFF_FFFF)
        }
    };
}

/// The id that was written so into an answer; of a short one only the last 32 bits are known.
pub(super) fn read(form: IdForm, text: &[u8], is_short: bool) -> Option<u64> {
    let text = std::str::from_utf8(text)
        .ok()
        .filter(|text| text.bytes().all(|o| o.is_ascii_alphanumeric() || o == b'-'))?;
    if is_short {
        return u32::from_str_radix(text, 16).ok().map(u64::from);
    }
    match form {
        IdForm::Decimal | IdForm::DecimalThenHex | IdForm::DecimalThenPadded => text.parse().ok(),
        IdForm::Hex | IdForm::HexThenDecimal | IdForm::HexThenPadded => u64::from_str_radix(text, 16).ok(),
        IdForm::Uuid => {
            let mut groups = text.rsplit('-');
            let low = u64::from_str_radix(groups.next()?, 16).ok()?;
            let high = u64::from_str_radix(groups.next()?, 16).ok()?;
            (low < 1 << 48).then_some(((high & 0xFFF) << 48) | low)
        }
    }
}

fn write_decimal(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return out.extend_from_slice(&digits[at..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_as_each_form_says() {
        let id = 0x0006_4F2A_9C01_77AB;
        for (form, response, receipt) in [
            (IdForm::Decimal, "1775894284826539", "1775894284826539"),
            (IdForm::Hex, "64f2a9c0177ab", "64f2a9c0177ab"),
            (IdForm::HexThenDecimal, "64f2a9c0177ab", "1775894284826539"),
            (IdForm::DecimalThenHex, "1775894284826539", "64f2a9c0177ab"),
            (IdForm::HexThenPadded, "64f2a9c0177ab", "00064F2A9C0177AB"),
            (IdForm::DecimalThenPadded, "1775894284826539", "00001775894284826539"),
        ] {
            for (place, expected) in [(IdPlace::Response, response), (IdPlace::Receipt, receipt)] {
                let mut out = Vec::new();
                write(form, id, place, false, &mut out);
                let read = read(form, &out, false);
                assert!(place == IdPlace::Receipt || read == Some(id), "{form:?}: {read:?}");
                assert_eq!(String::from_utf8(out).unwrap(), expected, "{form:?}");
            }
        }
    }

    #[test]
    fn a_uuid_has_its_form_and_is_the_same_in_both_places() {
        let mut outs = [IdPlace::Response, IdPlace::Receipt].map(|place| {
            let mut out = Vec::new();
            write(IdForm::Uuid, 1_776_268_937_787_307, place, false, &mut out);
            String::from_utf8(out).unwrap()
        });
        assert_eq!(outs[0], outs[1]);
        assert_eq!(read(IdForm::Uuid, outs[0].as_bytes(), false), Some(1_776_268_937_787_307));
        let groups: Vec<usize> = outs[0].split('-').map(str::len).collect();
        assert_eq!(groups, [8, 4, 4, 4, 12]);
        outs[0].retain(|c| c != '-');
        assert!(u128::from_str_radix(&outs[0], 16).is_ok());
    }

    #[test]
    fn a_peer_of_version_3_3_gets_eight_digits() {
        let mut out = Vec::new();
        write(IdForm::Uuid, 0xAB_0000_00FF, IdPlace::Response, true, &mut out);
        assert_eq!(out, b"000000FF");
        assert_eq!(read(IdForm::Uuid, &out, true), Some(0xFF));
    }
}
