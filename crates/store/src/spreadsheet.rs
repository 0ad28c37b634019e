//! Cells of CSV files that a spreadsheet must not take for formulas.
//!
//! A cell that begins with `=`, `+`, `-`, `@`, TAB, CR or LF gets an apostrophe before it, which spreadsheets
//! read as "a text follows". A number does not: `+46701234567` and `-0.1278` calculate nothing. An import
//! takes one such apostrophe off again, so that what was exported comes back as it was, whatever it was.

use std::borrow::Cow;

const MARK: char = '\'';

/// The cell as it is written.
pub fn guarded(cell: &str) -> Cow<'_, str> {
    if is_marked(cell.trim_start_matches(MARK)) && !is_number(cell) {
        Cow::Owned(format!("{MARK}{cell}"))
    } else {
        Cow::Borrowed(cell)
    }
}

/// The cell as it was before [`guarded`].
pub fn unguarded(cell: &str) -> &str {
    match cell.strip_prefix(MARK) {
        Some(rest) if is_marked(rest.trim_start_matches(MARK)) => rest,
        _ => cell,
    }
}

fn is_marked(cell: &str) -> bool {
    cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n'])
}

fn is_number(cell: &str) -> bool {
    let digits = cell.strip_prefix(['+', '-']).unwrap_or(cell);
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
    all_digits(whole) && all_digits(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn formulas_get_an_apostrophe_and_numbers_and_other_texts_stay() {
        for (cell, written) in [
            ("", ""),
            ("Ann", "Ann"),
            ("O'Neill", "O'Neill"),
            ("'s-Hertogenbosch", "'s-Hertogenbosch"),
            ("+46701234567", "+46701234567"),
            ("-0.1278", "-0.1278"),
            ("=1+1", "'=1+1"),
            ("+46701234567;+46701234568", "'+46701234567;+46701234568"),
            ("+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0"),
            ("-", "'-"),
            ("-1.", "'-1."),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("'=1", "''=1"),
            ("'+46", "''+46"),
        ] {
            assert_eq!(guarded(cell), written, "{cell:?}");
            assert_eq!(unguarded(written), cell, "{written:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_guarded_comes_back_and_is_no_formula(cell in "['=+@\t\r\n0-9.a-]{0,8}|\\PC{0,12}") {
            let written = guarded(&cell);
            prop_assert_eq!(unguarded(&written), &cell);
            prop_assert!(!is_marked(&written) || is_number(&written));
        }
    }
}
