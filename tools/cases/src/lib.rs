//! Number of seeds and generated cases of tests: each test has its own, which the variable `CASES`
//! multiplies.
//!
//! `CASES=10 cargo test --profile ci -p bus` looks ten times as far. `cargo xtask test` sets proptest's own
//! `PROPTEST_CASES` to match, for properties that name no number.

use std::ops::Range;

/// Multiplies every number of cases.
const VARIABLE: &str = "CASES";

/// So many cases, times `CASES`.
///
/// # Panics
/// `CASES` is set and no number from 1 on.
pub fn times(count: u32) -> u32 {
    count.saturating_mul(factor(std::env::var(VARIABLE).ok().as_deref()))
}

/// The seeds from 0 on: so many, times `CASES`.
///
/// # Panics
/// As [`times`].
pub fn seeds(count: u64) -> Range<u64> {
    0..count.saturating_mul(u64::from(times(1)))
}

fn factor(text: Option<&str>) -> u32 {
    let Some(text) = text else { return 1 };
    match text.parse() {
        Ok(factor @ 1..) => factor,
        _ => panic!("{VARIABLE} is {text:?}: it multiplies numbers of cases, so it is a number from 1 on"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_variable_a_test_has_its_own_number_and_with_it_a_multiple() {
        assert_eq!((factor(None), factor(Some("10"))), (1, 10));
    }

    #[test]
    #[should_panic(expected = "a number from 1 on")]
    fn a_factor_of_zero_would_test_nothing() {
        factor(Some("0"));
    }
}
