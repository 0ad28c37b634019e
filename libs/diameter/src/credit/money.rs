//! Amounts of money: digits and a decimal exponent on the wire (RFC 8506, section 8.8), integer minor units
//! in a ledger.

use crate::avp::AvpName;
use crate::dictionary::avp;
use std::error::Error;
use std::fmt;

/// A minor unit is ten to this power of the currency's unit.
pub const MINOR_EXPONENT: i32 = -2;
/// Ten to a greater power is no i64.
const POWER_MAX: u64 = 18;

/// Unit-Value with Currency-Code: `digits` x 10^`exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Money {
    /// Value-Digits.
    pub digits: i64,
    /// Exponent; 0 where it is absent.
    pub exponent: i32,
    /// Currency-Code, ISO 4217's number.
    pub currency: Option<u32>,
}

/// What becomes of a fraction of a minor unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// A begun minor unit counts whole: for what is taken.
    AwayFromZero,
    /// It is dropped: for what is given.
    TowardsZero,
}

/// An amount that no i64 of minor units can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoneyError {
    /// The AVP that makes it too great: Exponent, or Value-Digits.
    pub name: AvpName,
}

impl fmt::Display for MoneyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} makes an amount that 64 bits of minor units cannot hold", self.name)
    }
}

impl Error for MoneyError {}

impl Money {
    /// So many minor units.
    pub const fn from_minor_units(units: i64, currency: Option<u32>) -> Money {
        Money { digits: units, exponent: MINOR_EXPONENT, currency }
    }

    /// In minor units (10^-2 of the currency's unit), whatever the exponent.
    ///
    /// # Errors
    /// More than an i64 holds; the error names the AVP to blame.
    pub fn minor_units(&self, rounding: Rounding) -> Result<i64, MoneyError> {
        let shift = i64::from(self.exponent) - i64::from(MINOR_EXPONENT);
        let power = shift.unsigned_abs();
        if self.digits == 0 || power == 0 {
            return Ok(self.digits);
        }
        if shift > 0 {
            // Even one digit is too much: the exponent is to blame.
            if power > POWER_MAX {
                return Err(MoneyError { name: avp::EXPONENT });
            }
            let scaled = self.digits.checked_mul(ten_to(power));
            return scaled.ok_or(MoneyError { name: avp::VALUE_DIGITS });
        }
        let (whole, is_exact) = if power > POWER_MAX {
            (0, false)
        } else {
            (self.digits / ten_to(power), self.digits % ten_to(power) == 0)
        };
        Ok(match rounding {
            // The quotient of a division by ten or more has room for one.
            Rounding::AwayFromZero if !is_exact => whole + self.digits.signum(),
            _ => whole,
        })
    }
}

/// At most [`POWER_MAX`].
fn ten_to(power: u64) -> i64 {
    10i64.pow(power as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Rounding::{AwayFromZero, TowardsZero};

    fn money(digits: i64, exponent: i32) -> Money {
        Money { digits, exponent, currency: None }
    }

    #[test]
    fn amounts_become_minor_units_and_what_is_begun_counts_as_asked() {
        for (digits, exponent, up, down) in [
            (5, -2, 5, 5),
            (5, 0, 500, 500),
            (5, 1, 5_000, 5_000),
            (5, -3, 1, 0),
            (-5, -3, -1, 0),
            (1_999, -3, 200, 199),
            (-1_999, -3, -200, -199),
            (2_000, -3, 200, 200),
            (0, i32::MAX, 0, 0),
            (0, i32::MIN, 0, 0),
            (i64::MAX, -2, i64::MAX, i64::MAX),
            (i64::MIN, -2, i64::MIN, i64::MIN),
            (i64::MAX, i32::MIN, 1, 0),
            (i64::MIN, i32::MIN, -1, 0),
            (i64::MAX, -20, 10, 9),
            (i64::MAX, -21, 1, 0),
            (1, 16, 1_000_000_000_000_000_000, 1_000_000_000_000_000_000),
        ] {
            assert_eq!(money(digits, exponent).minor_units(AwayFromZero), Ok(up), "{digits} {exponent}");
            assert_eq!(money(digits, exponent).minor_units(TowardsZero), Ok(down), "{digits} {exponent}");
        }
    }

    #[test]
    fn amounts_beyond_64_bits_are_refused_by_the_avp_to_blame() {
        for (digits, exponent, name) in [
            (1, 17, avp::EXPONENT),
            (1, i32::MAX, avp::EXPONENT),
            (-1, i32::MAX, avp::EXPONENT),
            (10, 16, avp::VALUE_DIGITS),
            (i64::MAX, -1, avp::VALUE_DIGITS),
            (i64::MIN, 0, avp::VALUE_DIGITS),
        ] {
            for rounding in [AwayFromZero, TowardsZero] {
                assert_eq!(money(digits, exponent).minor_units(rounding), Err(MoneyError { name }));
            }
        }
    }

    #[test]
    fn amounts_are_those_of_wider_arithmetic() {
        let digits = [
            0,
            1,
            4,
            5,
            9,
            10,
            99,
            100,
            101,
            12_345,
            i64::MAX / 100,
            i64::MAX / 100 + 1,
            i64::MAX - 1,
            i64::MAX,
        ];
        for digits in digits.into_iter().flat_map(|digits| [digits, -digits, -digits - 1]) {
            for exponent in -25i32..=16 {
                let (wide, shift) = (i128::from(digits), exponent + 2);
                let scale = 10i128.pow(shift.unsigned_abs());
                let (up, down) = if shift >= 0 {
                    (wide * scale, wide * scale)
                } else {
                    let begun = if wide % scale == 0 { 0 } else { wide.signum() };
                    (wide / scale + begun, wide / scale)
                };
                let place = format!("{digits} {exponent}");
                assert_eq!(
                    money(digits, exponent).minor_units(AwayFromZero).ok(),
                    i64::try_from(up).ok(),
                    "{place}"
                );
                assert_eq!(
                    money(digits, exponent).minor_units(TowardsZero).ok(),
                    i64::try_from(down).ok(),
                    "{place}"
                );
            }
        }
    }

    #[test]
    fn minor_units_come_back_as_they_were() {
        for units in [0, 1, -1, 12_345, i64::MAX, i64::MIN] {
            assert_eq!(Money::from_minor_units(units, Some(978)).minor_units(AwayFromZero), Ok(units));
        }
    }
}
