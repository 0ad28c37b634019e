//! G-S-U-Pool-Reference: what is granted is shared by the services of the session (RFC 8506, sections 5.1.2
//! and 8.30).

use diameter::credit::UnitType;
use diameter::dictionary::avp;
use diameter::write::Writer;
use ledger::request::{Units, Weights};

/// The only pool of a session.
const POOL: u32 = 1;
/// Weights are billionths.
const EXPONENT: i32 = -9;

/// Appends a reference for each kind of unit that is granted, which must be there with it; none where the
/// units are not shared.
pub(super) fn write(member: &mut Writer<'_>, granted: &Units, weights: &Weights) {
    if *weights == Weights::default() {
        return;
    }
    let each = [
        (Units::TIME, UnitType::Time, weights.time),
        (Units::OCTETS, UnitType::TotalOctets, weights.octets),
        (Units::SPECIFIC, UnitType::Specific, weights.specific),
    ];
    for (_, unit, weight) in each.into_iter().filter(|(is, ..)| granted.present & is != 0) {
        let (digits, exponent) = shortest(weight);
        member.group(avp::G_S_U_POOL_REFERENCE, |pool| {
            pool.u32(avp::G_S_U_POOL_IDENTIFIER, POOL);
            pool.i32(avp::CC_UNIT_TYPE, unit.value());
            pool.group(avp::UNIT_VALUE, |value| {
                value.i64(avp::VALUE_DIGITS, digits);
                value.i32(avp::EXPONENT, exponent);
            });
        });
    }
}

/// A weight without zeros at its end.
fn shortest(weight: u64) -> (i64, i32) {
    // The ledger makes none that is greater.
    let (mut digits, mut exponent) = (i64::try_from(weight).unwrap_or(i64::MAX), EXPONENT);
    while digits != 0 && digits % 10 == 0 && exponent < 0 {
        (digits, exponent) = (digits / 10, exponent + 1);
    }
    (digits, exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_is_told_in_as_few_digits_as_it_has() {
        for (weight, told) in [
            (1, (1, -9)),
            (5_000, (5, -6)),
            (33_333_334, (33_333_334, -9)),
            (1_000_000_000, (1, 0)),
            (20_000_000_000, (20, 0)),
            (u64::MAX, (i64::MAX, -9)),
        ] {
            assert_eq!(shortest(weight), told, "{weight}");
        }
    }
}
