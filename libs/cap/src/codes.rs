//! Codes of areas that hold others: SAME (47 CFR 11.31 (c): part, state, county) and UGC (NWS Directive
//! 10-1702: state, county or zone), as patterns of the codes of people.

/// The digits of a SAME code: part of a county, state, county.
const SAME_DIGITS: usize = 6;
/// A list of UGC codes, such as `MDZ021-022>025`, names at most so many.
const UGC_LIST_MAX: usize = 1_000;

/// The codes of people who are meant by a geocode, as patterns in which `?` stands for any one character. A
/// code of a whole state means those of its counties and zones; a code of a part of a county means who is
/// known to be in that part or in the county, and a county means its parts. Codes of people whose leading
/// zero a spreadsheet has taken are found too. A code of any other kind stands for itself.
pub fn code_patterns(name: &str, value: &str) -> Vec<String> {
    let kind = name.rsplit(['/', ':', '#']).next().unwrap_or(name).to_ascii_lowercase();
    let value = value.trim();
    match kind.as_str() {
        "same" | "fips6" | "fips" | "fips 6" => listed(value).flat_map(same).collect(),
        "ugc" => ugc_list(value).iter().flat_map(|code| ugc(code)).collect(),
        _ => vec![value.to_owned()],
    }
}

fn listed(value: &str) -> impl Iterator<Item = &str> {
    value.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';')).filter(|code| !code.is_empty())
}

fn same(code: &str) -> Vec<String> {
    let is_digits = !code.is_empty() && code.bytes().all(|b| b.is_ascii_digit());
    if !is_digits || code.len() > SAME_DIGITS {
        return vec![code.to_owned()];
    }
    let padded = format!("{code:0>SAME_DIGITS$}");
    let (part, state, county) = (&padded[..1], &padded[1..3], &padded[3..]);
    let mut patterns = match (part, state, county) {
        (_, "00", "000") => vec!["??????".to_owned()],
        (_, _, "000") => vec![format!("?{state}???")],
        ("0", ..) => vec![format!("?{state}{county}"), format!("0{state}000")],
        _ => vec![padded.clone(), format!("0{state}{county}"), format!("0{state}000")],
    };
    // Without the zeros in front, which a number does not keep.
    for pattern in patterns.clone() {
        let mut rest = pattern.as_str();
        for _ in 0..2 {
            let Some(shorter) = rest.strip_prefix(['?', '0']) else { break };
            patterns.push(shorter.to_owned());
            rest = shorter;
        }
    }
    patterns
}

fn ugc(code: &str) -> Vec<String> {
    let Some((state, kind, number)) = ugc_code(code) else { return vec![code.to_owned()] };
    match number {
        "000" | "ALL" => vec![format!("{state}Z???"), format!("{state}C???")],
        _ => vec![format!("{state}{kind}{number}"), format!("{state}{kind}000"), format!("{state}{kind}ALL")],
    }
}

fn ugc_code(code: &str) -> Option<(&str, &str, &str)> {
    let (state, rest) = code.split_at_checked(2)?;
    let (kind, number) = rest.split_at_checked(1)?;
    let is_number = number == "ALL" || (number.len() == 3 && number.bytes().all(|b| b.is_ascii_digit()));
    let fits = state.bytes().all(|b| b.is_ascii_uppercase()) && matches!(kind, "Z" | "C") && is_number;
    fits.then_some((state, kind, number))
}

/// `MDZ021-022>025-VAC003-` as its codes; an end time of six digits is none.
fn ugc_list(value: &str) -> Vec<String> {
    let value = value.to_ascii_uppercase();
    let mut codes: Vec<String> = Vec::new();
    let mut prefix = String::new();
    for token in value.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '-')) {
        let (first, last) = token.split_once('>').map_or((token, None), |(first, last)| (first, Some(last)));
        let first = match first.len() {
            6 if ugc_code(first).is_some() => first.to_owned(),
            3 if !prefix.is_empty() => format!("{prefix}{first}"),
            0 => continue,
            6 if !prefix.is_empty() => continue,
            _ => token.to_owned(),
        };
        prefix = first.get(..3).unwrap_or_default().to_owned();
        let from = first.get(3..).and_then(|number| number.parse::<usize>().ok());
        codes.push(first);
        if let (Some(from), Some(to)) = (from, last.and_then(|last| last.parse::<usize>().ok())) {
            codes.extend((from + 1..=to.min(999)).map(|number| format!("{prefix}{number:03}")));
        }
        if codes.len() >= UGC_LIST_MAX {
            break;
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, code: &str) -> bool {
        pattern.len() == code.len() && pattern.bytes().zip(code.bytes()).all(|(p, c)| p == b'?' || p == c)
    }

    #[test]
    fn a_code_means_the_people_of_what_it_holds() {
        for (name, value, meant, not_meant) in [
            (
                "SAME",
                "026000",
                &["026163", "126163", "026000", "26163"][..],
                &["039049", "39049", "260001"][..],
            ),
            ("SAME", "001000", &["001001", "1001", "01001"], &["010001", "10001", "011001"]),
            ("SAME", "026163", &["026163", "126163", "026000", "26163"], &["026161", "039163", "26161"]),
            ("SAME", "126163", &["126163", "026163", "26163"], &["526163", "026161"]),
            ("SAME", "000000", &["026163", "039049", "1001", "26163"], &[]),
            ("FIPS6", "032013", &["032013", "32013"], &["032015"]),
            ("http://x.example/geocode/UGC", "MIZ000", &["MIZ076", "MIC163"], &["OHZ076"]),
            ("UGC", "MIZALL", &["MIZ076", "MIC163"], &["OHC163"]),
            ("UGC", "MIZ076", &["MIZ076", "MIZ000"], &["MIC076", "MIZ077"]),
            (
                "UGC",
                "MDZ021-022>024-VAC003-120000-",
                &["MDZ021", "MDZ022", "MDZ023", "MDZ024", "VAC003"],
                &["MDZ025", "VAZ003"],
            ),
            ("UGC", "NVC013", &["NVC013"], &["NVC015"]),
            // Italian municipalities have six digits too.
            ("ISTAT", "111009", &["111009"], &["011009"]),
            ("EMMA_ID", "EI807", &["EI807"], &["EI809"]),
        ] {
            let patterns = code_patterns(name, value);
            for code in meant {
                assert!(
                    patterns.iter().any(|one| fits(one, code)),
                    "{name}={value} means {code}: {patterns:?}"
                );
            }
            for code in not_meant {
                assert!(
                    !patterns.iter().any(|one| fits(one, code)),
                    "{name}={value} is not {code}: {patterns:?}"
                );
            }
        }
    }
}
