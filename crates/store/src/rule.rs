//! Rules on attributes: whom they fit, and which are refused.

use records::{PersonFacts, Rule, Test};
use std::borrow::Cow;

/// How deep a rule may nest; a bare test is 1 deep.
pub const RULE_DEPTH_MAX: usize = 8;
/// How many tests a rule may have.
pub const RULE_TESTS_MAX: usize = 64;
/// How many values an `in` may list.
pub const RULE_VALUES_MAX: usize = 1_000;

/// Does the rule fit this recipient? An attribute that is absent fits no test but `exists: false`.
pub fn fits(rule: &Rule, recipient: &impl PersonFacts) -> bool {
    match rule {
        Rule::All(rules) => rules.iter().all(|rule| fits(rule, recipient)),
        Rule::Any(rules) => rules.iter().any(|rule| fits(rule, recipient)),
        Rule::Not(rule) => !fits(rule, recipient),
        Rule::Test { attribute, test } => holds(test, value(recipient, attribute)),
    }
}

/// Refuses rules that are too deep, too long, or that say nothing; the reason names the part.
pub fn check(rule: &Rule) -> Result<(), String> {
    let mut tests = 0;
    check_below(rule, 1, &mut tests)
}

fn check_below(rule: &Rule, depth: usize, tests: &mut usize) -> Result<(), String> {
    if depth > RULE_DEPTH_MAX {
        return Err(format!("the rule nests more than {RULE_DEPTH_MAX} deep"));
    }
    match rule {
        Rule::All(rules) | Rule::Any(rules) => {
            if rules.is_empty() {
                return Err("an empty all or any is not a rule".to_owned());
            }
            rules.iter().try_for_each(|rule| check_below(rule, depth + 1, tests))
        }
        Rule::Not(rule) => check_below(rule, depth + 1, tests),
        Rule::Test { attribute, test } => {
            *tests += 1;
            if *tests > RULE_TESTS_MAX {
                return Err(format!("the rule has more than {RULE_TESTS_MAX} tests"));
            }
            check_test(attribute, test)
        }
    }
}

fn check_test(attribute: &str, test: &Test) -> Result<(), String> {
    if attribute.is_empty() {
        return Err("a test names no attribute".to_owned());
    }
    match test {
        Test::In(values) if values.is_empty() => Err(format!("{attribute} in an empty list matches nobody")),
        Test::In(values) if values.len() > RULE_VALUES_MAX => {
            Err(format!("{attribute} in {} values, at most {RULE_VALUES_MAX} are allowed", values.len()))
        }
        _ => Ok(()),
    }
}

/// `id`, `name`, `language` and `time_zone` can be tested like attributes.
fn value<'a>(recipient: &'a impl PersonFacts, attribute: &str) -> Option<Cow<'a, str>> {
    let filled = |text: &'a str| (!text.is_empty()).then_some(Cow::Borrowed(text));
    match attribute {
        "id" => filled(recipient.id()),
        "name" => filled(recipient.name()),
        "language" => recipient.language().map(Cow::Borrowed),
        "time_zone" => recipient.time_zone().map(Cow::Borrowed),
        other => recipient.attribute(other).map(Cow::Borrowed),
    }
}

fn holds(test: &Test, value: Option<Cow<'_, str>>) -> bool {
    let Some(value) = value else {
        return *test == Test::Exists(false);
    };
    match test {
        Test::Is(wanted) => value == wanted.as_str(),
        Test::In(wanted) => wanted.iter().any(|wanted| value == wanted.as_str()),
        Test::StartsWith(prefix) => value.starts_with(prefix.as_str()),
        Test::Exists(wanted) => *wanted,
        Test::AtLeast(least) => number(&value).is_some_and(|number| number.at_least(*least)),
        Test::AtMost(most) => number(&value).is_some_and(|number| number.at_most(*most)),
    }
}

/// A value as a number: whole ones exactly, others as they come.
enum Number {
    Whole(i64),
    Real(f64),
}

impl Number {
    fn at_least(&self, least: i64) -> bool {
        match self {
            Number::Whole(whole) => *whole >= least,
            Number::Real(real) => *real >= least as f64,
        }
    }
    fn at_most(&self, most: i64) -> bool {
        match self {
            Number::Whole(whole) => *whole <= most,
            Number::Real(real) => *real <= most as f64,
        }
    }
}

fn number(value: &str) -> Option<Number> {
    let value = value.trim();
    let real = || value.parse().ok().filter(|real: &f64| real.is_finite()).map(Number::Real);
    value.parse().ok().map(Number::Whole).or_else(real)
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::Recipient;

    fn test(attribute: &str, test: Test) -> Rule {
        Rule::Test { attribute: attribute.to_owned(), test }
    }

    fn ann() -> Recipient {
        Recipient {
            id: "ext-7".to_owned(),
            language: Some("sv".to_owned()),
            attributes: [("floor", "3"), ("area", "2.5"), ("role", "nurse")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            ..Recipient::default()
        }
    }

    #[test]
    fn each_test_fits_what_it_says() {
        let cases = [
            ("role", Test::Is("nurse".to_owned()), true),
            ("role", Test::Is("nurs".to_owned()), false),
            ("role", Test::In(vec!["cook".to_owned(), "nurse".to_owned()]), true),
            ("role", Test::StartsWith("nu".to_owned()), true),
            ("role", Test::StartsWith("ur".to_owned()), false),
            ("role", Test::Exists(true), true),
            ("role", Test::Exists(false), false),
            ("car", Test::Exists(true), false),
            ("car", Test::Exists(false), true),
            ("car", Test::Is(String::new()), false),
            ("floor", Test::AtLeast(3), true),
            ("floor", Test::AtLeast(4), false),
            ("floor", Test::AtMost(3), true),
            ("floor", Test::AtMost(2), false),
            ("area", Test::AtLeast(2), true),
            ("area", Test::AtMost(2), false),
            ("role", Test::AtLeast(0), false),
            ("id", Test::Is("ext-7".to_owned()), true),
            ("language", Test::Is("sv".to_owned()), true),
            ("name", Test::Exists(true), false),
            ("time_zone", Test::Exists(false), true),
        ];
        for (attribute, wanted, expected) in cases {
            assert_eq!(fits(&test(attribute, wanted.clone()), &ann()), expected, "{attribute} {wanted:?}");
        }
    }

    #[test]
    fn all_any_and_not_combine() {
        let (yes, no) = (test("floor", Test::AtMost(3)), test("floor", Test::AtMost(2)));
        let cases = [
            (Rule::All(vec![yes.clone(), yes.clone()]), true),
            (Rule::All(vec![yes.clone(), no.clone()]), false),
            (Rule::Any(vec![no.clone(), yes.clone()]), true),
            (Rule::Any(vec![no.clone(), no.clone()]), false),
            (Rule::Not(Box::new(no)), true),
            (Rule::Not(Box::new(yes)), false),
        ];
        for (rule, expected) in cases {
            assert_eq!(fits(&rule, &ann()), expected, "{rule:?}");
        }
    }

    #[test]
    fn rules_without_bound_or_sense_are_refused() {
        let one = || test("floor", Test::AtLeast(1));
        let nested = |depth: usize| (1..depth).fold(one(), |rule, _| Rule::Not(Box::new(rule)));
        let cases = [
            (nested(RULE_DEPTH_MAX), None),
            (nested(RULE_DEPTH_MAX + 1), Some("8 deep")),
            (Rule::All(vec![one(); RULE_TESTS_MAX]), None),
            (Rule::All(vec![one(); RULE_TESTS_MAX + 1]), Some("64 tests")),
            (Rule::Any(Vec::new()), Some("empty all or any")),
            (test("", Test::Exists(true)), Some("no attribute")),
            (test("floor", Test::In(Vec::new())), Some("in an empty list")),
            (test("floor", Test::In(vec![String::new(); RULE_VALUES_MAX + 1])), Some("1001 values")),
        ];
        for (rule, refused) in cases {
            match (check(&rule), refused) {
                (Ok(()), None) => {}
                (Err(why), Some(part)) => assert!(why.contains(part), "{why}"),
                (result, expected) => panic!("{result:?}, expected {expected:?}"),
            }
        }
    }
}
