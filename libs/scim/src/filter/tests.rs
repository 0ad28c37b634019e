use super::*;
use crate::limits::{FILTER_DEPTH_MAX, FILTER_OCTETS_MAX, FILTER_TERMS_MAX};
use crate::samples::{BARBARA, ENTERPRISE, enterprise_user, tour_guides};
use serde_json::json;

fn holds_for_user(text: &str) -> bool {
    let filter = FilterExpr::parse(text).unwrap_or_else(|fault| panic!("{text}: {fault}"));
    filter.matches(ResourceKind::User, enterprise_user().as_object().unwrap())
}

#[test]
fn the_filters_of_section_3_4_2_2_are_read_and_evaluated() {
    for (text, holds) in [
        ("userName Eq \"john\"", false),
        ("Username eq \"BJensen@example.com\"", true),
        ("userName eq \"bjensen\"", false),
        ("name.familyName co \"O'Malley\"", false),
        ("name.familyName co \"ENS\"", true),
        ("userName sw \"J\"", false),
        ("urn:ietf:params:scim:schemas:core:2.0:User:userName sw \"B\"", true),
        ("title pr", true),
        ("meta.lastModified gt \"2011-05-13T04:42:34Z\"", false),
        ("meta.lastModified ge \"2011-05-13T04:42:34Z\"", true),
        ("meta.lastModified lt \"2011-05-13T06:42:34+02:00\"", false),
        ("meta.lastModified le \"2011-05-13T06:42:34+02:00\"", true),
        ("title pr and userType eq \"Employee\"", true),
        ("title pr or userType eq \"Intern\"", true),
        ("schemas eq \"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User\"", true),
        ("userType eq \"Employee\" and (emails co \"example.com\" or emails.value co \"example.org\")", true),
        (
            "userType ne \"Employee\" and not (emails co \"example.com\" or emails.value co \"example.org\")",
            false,
        ),
        ("userType eq \"Employee\" and (emails.type eq \"work\")", true),
        ("userType eq \"Employee\" and emails[type eq \"work\" and value co \"@example.com\"]", true),
        (
            "emails[type eq \"work\" and value co \"@example.com\"] or ims[type eq \"xmpp\" and value co \"@foo.com\"]",
            true,
        ),
    ] {
        assert_eq!(holds_for_user(text), holds, "{text}");
    }
}

#[test]
fn values_are_compared_by_their_type_and_by_the_case_rule_of_their_attribute() {
    for (text, holds) in [
        ("id eq \"2819c223-7f76-453a-919d-413861904646\"", true),
        ("id eq \"2819C223-7F76-453A-919D-413861904646\"", false),
        ("externalId eq \"701984\"", true),
        ("displayName ew \"JENSEN\"", true),
        ("profileUrl eq \"https://login.example.com/BJENSEN\"", false),
        ("active eq true", true),
        ("active eq \"True\"", true),
        ("active ne true", false),
        ("active eq \"yes\"", false),
        ("userName eq true", false),
        ("userName gt \"a\" and userName lt \"C\"", true),
        ("emails[type eq \"home\" and value co \"@example.com\"]", false),
        ("emails[type eq \"work\"].value eq \"bjensen@example.com\"", true),
        ("emails[type eq \"home\"].value eq \"bjensen@example.com\"", false),
        ("emails[not (type eq \"work\")]", true),
        ("emails.value ne \"bjensen@example.com\"", true),
        ("emails[primary eq true].value co \"bjensen\"", true),
        ("manager eq \"26118915-6090-4610-87e4-49d8ca9f808d\"", true),
        (&format!("{ENTERPRISE}:department sw \"tour\""), true),
        (&format!("{ENTERPRISE}:manager.displayName co \"smith\""), true),
        ("groups.display eq \"employees\"", true),
    ] {
        assert_eq!(holds_for_user(text), holds, "{text}");
    }
}

#[test]
fn an_attribute_without_a_value_is_not_present_and_not_equal() {
    for (text, holds) in [
        ("entitlements pr", false),
        ("not (entitlements pr)", true),
        ("entitlements eq null", true),
        ("entitlements ne null", false),
        ("title eq null", false),
        ("title ne null", true),
        ("entitlements.value ne \"x\"", true),
        ("entitlements.value eq \"x\"", false),
        ("entitlements[value pr]", false),
        ("password pr", false),
        ("password sw \"t1me\"", false),
        ("shoeSize pr", false),
        ("members pr", false),
        ("name pr", true),
        ("urn:example:2.0:User:userName pr", false),
    ] {
        assert_eq!(holds_for_user(text), holds, "{text}");
    }
    let bare = json!({"userName": "x", "title": null, "emails": [], "name": {"givenName": null}});
    for name in ["title", "emails", "name"] {
        let filter = FilterExpr::parse(&format!("{name} pr")).unwrap();
        assert!(!filter.matches(ResourceKind::User, bare.as_object().unwrap()), "{name}");
    }
}

#[test]
fn members_are_compared_by_their_value() {
    let group = tour_guides();
    for (text, holds) in [
        (format!("members eq \"{BARBARA}\""), true),
        (format!("members[value eq \"{BARBARA}\"]"), true),
        (format!("members.value eq \"{}\"", BARBARA.to_uppercase()), false),
        (format!("id eq \"e9e30dba-f08f-4109-8486-d5c6a331660a\" and members eq \"{BARBARA}\""), true),
        ("members eq \"none\"".to_owned(), false),
        ("displayName eq \"tour guides\"".to_owned(), true),
    ] {
        let filter = FilterExpr::parse(&text).unwrap();
        assert_eq!(filter.matches(ResourceKind::Group, group.as_object().unwrap()), holds, "{text}");
        assert_eq!(filter.check(&[ResourceKind::Group]), Ok(()), "{text}");
    }
}

#[test]
fn and_binds_closer_than_or_and_parentheses_closest() {
    for (text, same) in [
        ("a pr or b pr and c pr", "a pr or (b pr and c pr)"),
        ("(a pr or b pr) and c pr", "(a pr or b pr) and c pr"),
        ("not(a pr)and b pr", "not (a pr) and b pr"),
        ("((a pr))", "a pr"),
        ("a\tPR\nAND b Eq\"x\"", "a pr and b eq \"x\""),
        ("a eq 1.50 or a eq -3 or a eq NULL or a eq False", "a eq 1.5 or a eq -3 or a eq null or a eq false"),
        ("e[t eq \"w\"].v co \"x\"", "e[t eq \"w\" and v co \"x\"]"),
        ("e[t eq \"w\" or p pr].v pr", "e[(t eq \"w\" or p pr) and v pr]"),
        ("a eq \"\\\"\\u00e5\\\\\"", "a eq \"\\\"å\\\\\""),
        ("not pr", "not"),
    ] {
        match FilterExpr::parse(text) {
            Ok(filter) => assert_eq!(filter.to_string(), same, "{text}"),
            Err(fault) => {
                assert_eq!((same, fault.reason), ("not", FilterReason::NotWithoutParenthesis), "{text}")
            }
        }
    }
}

#[test]
fn a_text_that_is_no_filter_is_refused_with_its_place() {
    use FilterReason::*;
    for (text, at, reason) in [
        ("", 0, NoPath),
        ("   ", 3, NoPath),
        ("userName", 8, NoOperator),
        ("userName is \"x\"", 8, NoOperator),
        ("userName eqx", 8, NoOperator),
        ("userName eq", 11, NoValue),
        ("userName eq x", 12, NoValue),
        ("userName eq 'x'", 12, NoValue),
        ("userName eq [1]", 12, NoValue),
        ("userName eq 01", 12, NoValue),
        ("userName eq \"x", 12, BadString),
        ("userName eq \"\\x\"", 12, BadString),
        ("userName eq \"a\nb\"", 12, BadString),
        ("userName eq \"x\" userType pr", 16, Trailing),
        ("userName pr and", 15, NoPath),
        ("(userName pr", 12, NotClosed),
        ("userName pr)", 11, Trailing),
        ("(userName pr]", 12, Trailing),
        ("emails[type eq \"work\"", 21, NotClosed),
        ("emails[a[b pr]]", 9, NestedBrackets),
        ("emails[emails.type pr]", 7, PathInBrackets),
        ("emails[urn:x:type pr]", 7, PathInBrackets),
        ("emails[type pr].a.b pr", 15, PathInBrackets),
        ("emails[type pr].value", 21, NoOperator),
        ("not userName pr", 4, NotWithoutParenthesis),
        ("å pr", 0, NoPath),
    ] {
        let fault = FilterExpr::parse(text).unwrap_err();
        assert_eq!((fault.at, fault.reason), (at, reason), "{text}");
        let error = ScimError::from(fault);
        assert_eq!((error.status, error.scim_type), (400, Some(ScimType::InvalidFilter)));
    }
}

#[test]
fn length_depth_and_terms_are_bounded() {
    let deep = |depth: usize| format!("{}a pr{}", "(".repeat(depth), ")".repeat(depth));
    assert!(FilterExpr::parse(&deep(FILTER_DEPTH_MAX)).is_ok());
    assert_eq!(FilterExpr::parse(&deep(FILTER_DEPTH_MAX + 1)).unwrap_err().reason, FilterReason::TooDeep);
    let not = format!("{}a pr{}", "not (".repeat(17), ")".repeat(17));
    assert_eq!(FilterExpr::parse(&not).unwrap_err().reason, FilterReason::TooDeep);
    let side_by_side = vec!["(a pr)"; FILTER_DEPTH_MAX * 2].join(" or ");
    assert!(FilterExpr::parse(&side_by_side).is_ok());
    let terms = |count: usize| vec!["a eq 1"; count].join(" and ");
    assert!(FilterExpr::parse(&terms(FILTER_TERMS_MAX)).is_ok());
    assert_eq!(
        FilterExpr::parse(&terms(FILTER_TERMS_MAX + 1)).unwrap_err().reason,
        FilterReason::TooManyTerms
    );
    let long = |octets: usize| format!("a eq \"{}\"", "x".repeat(octets - 7));
    assert!(FilterExpr::parse(&long(FILTER_OCTETS_MAX)).is_ok());
    assert_eq!(FilterExpr::parse(&long(FILTER_OCTETS_MAX + 1)).unwrap_err().reason, FilterReason::TooLong);
}

#[test]
fn a_filter_without_sense_for_its_resources_is_refused() {
    let both = &ResourceKind::ALL[..];
    let users = &[ResourceKind::User][..];
    for (text, kinds, is_taken) in [
        ("userName eq \"x\"", users, true),
        ("members eq \"x\"", users, false),
        ("members eq \"x\"", both, true),
        ("shoeSize eq 3", both, false),
        ("name.shoeSize eq 3", both, false),
        ("active gt true", both, false),
        ("active co \"t\"", both, false),
        ("active eq true", both, true),
        ("x509Certificates.value gt \"x\"", both, false),
        ("x509Certificates.value eq \"x\"", both, true),
        ("userName gt null", both, false),
        ("userName co true", both, false),
        ("name eq \"x\"", both, false),
        ("name pr", both, true),
        ("addresses co \"x\"", both, false),
        ("emails co \"x\"", both, true),
        ("emails[shoeSize eq 3]", both, false),
        ("emails[primary gt true]", both, false),
        ("emails.value[type pr]", both, false),
        ("userName[type pr]", both, false),
        ("schemas[value pr]", both, false),
        ("password eq \"x\"", both, false),
        ("password pr", both, false),
        ("title pr and not (userType eq \"x\" or shoeSize pr)", both, false),
    ] {
        let checked = FilterExpr::parse(text).unwrap().check(kinds);
        assert_eq!(checked.is_ok(), is_taken, "{text}: {checked:?}");
        if let Err(error) = checked {
            assert_eq!(error.scim_type, Some(ScimType::InvalidFilter), "{text}");
        }
    }
}

#[test]
fn the_look_ups_of_identity_providers_are_answered_by_an_index() {
    use IndexKey::*;
    let (user, group) = (ResourceKind::User, ResourceKind::Group);
    for (kind, text, expected) in [
        (user, "userName eq \"test.user@okta.local\"", Some((UserName, "test.user@okta.local", true))),
        (user, "USERNAME EQ \"x\"", Some((UserName, "x", true))),
        (user, "urn:ietf:params:scim:schemas:core:2.0:User:userName eq \"x\"", Some((UserName, "x", true))),
        (user, "(externalId eq \"7\")", Some((ExternalId, "7", true))),
        (user, "id eq \"5\"", Some((Id, "5", true))),
        (user, "id eq \"5\" and manager eq \"6\"", Some((Id, "5", false))),
        (user, "active eq true and userName eq \"x\"", Some((UserName, "x", false))),
        (group, "displayName eq \"Tour Guides\"", Some((DisplayName, "Tour Guides", true))),
        (user, "displayName eq \"x\"", None),
        (group, "userName eq \"x\"", None),
        (user, "userName ne \"x\"", None),
        (user, "userName eq null", None),
        (user, "userName sw \"x\"", None),
        (user, "not (userName eq \"x\")", None),
        (user, "userName eq \"x\" or title pr", None),
        (user, "manager.value eq \"x\"", None),
    ] {
        let filter = FilterExpr::parse(text).unwrap();
        let found = filter.index_lookup(kind).map(|found| (found.key, found.value, found.is_whole));
        assert_eq!(found, expected, "{text}");
    }
}
