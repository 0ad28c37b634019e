use super::*;
use crate::path::AttrPath;
use crate::samples::enterprise_user;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn name() -> impl Strategy<Value = Box<str>> {
    prop_oneof!["[a-zA-Z][a-zA-Z0-9_-]{0,8}", Just("$ref".to_owned()), Just("userName".to_owned())]
        .prop_map(Into::into)
}

fn path() -> impl Strategy<Value = AttrPath> {
    let urn = option::of("urn:[a-z]{1,5}:2\\.0:[A-Z][a-z]{0,5}".prop_map(Into::into));
    (urn, name(), option::of(name())).prop_map(|(urn, name, sub)| AttrPath { urn, name, sub })
}

fn sub_path() -> impl Strategy<Value = AttrPath> {
    name().prop_map(|name| AttrPath { urn: None, name, sub: None })
}

fn value() -> impl Strategy<Value = CompareValue> {
    prop_oneof![
        Just(CompareValue::Null),
        any::<bool>().prop_map(CompareValue::Bool),
        any::<i32>().prop_map(|number| CompareValue::Number(number.into())),
        prop::num::f64::NORMAL.prop_filter_map("a fraction is a number", |fraction| {
            serde_json::Number::from_f64(fraction).map(CompareValue::Number)
        }),
        ".{0,12}".prop_map(|text| CompareValue::String(text.into())),
    ]
}

fn test(path: impl Strategy<Value = AttrPath> + Clone) -> impl Strategy<Value = FilterExpr> {
    let op = (0..CompareOp::ALL.len()).prop_map(|at| CompareOp::ALL[at].0);
    prop_oneof![
        path.clone().prop_map(FilterExpr::Present),
        (path, op, value()).prop_map(|(path, op, value)| FilterExpr::Compare(path, op, value)),
    ]
}

fn grown(leaf: BoxedStrategy<FilterExpr>) -> impl Strategy<Value = FilterExpr> {
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..4).prop_map(FilterExpr::And),
            vec(inner.clone(), 2..4).prop_map(FilterExpr::Or),
            inner.prop_map(|inner| FilterExpr::Not(Box::new(inner))),
        ]
    })
}

fn filter() -> impl Strategy<Value = FilterExpr> {
    let brackets = (path(), grown(test(sub_path().boxed()).boxed()))
        .prop_map(|(path, inner)| FilterExpr::Values(path, Box::new(inner)));
    grown(prop_oneof![3 => test(path().boxed()), 1 => brackets].boxed())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(256)))]

    #[test]
    fn a_filter_that_is_written_is_read_back_as_the_same(filter in filter()) {
        let text = filter.to_string();
        match FilterExpr::parse(&text) {
            Ok(read) => prop_assert_eq!(read, filter),
            Err(fault) => prop_assert!(
                matches!(fault.reason, FilterReason::TooLong | FilterReason::TooManyTerms),
                "{}: {}", text, fault
            ),
        }
    }

    #[test]
    fn a_filter_and_its_negation_never_both_hold(filter in filter()) {
        let user = enterprise_user();
        let holds = filter.matches(ResourceKind::User, user.as_object().unwrap());
        let not = FilterExpr::Not(Box::new(filter));
        prop_assert_eq!(not.matches(ResourceKind::User, user.as_object().unwrap()), !holds);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-c\"\\\\()\\[\\]. åeqprnotand0-9-]{0,64}") {
        if let Ok(filter) = FilterExpr::parse(&text) {
            prop_assert_eq!(FilterExpr::parse(&filter.to_string()), Ok(filter));
        }
    }
}
