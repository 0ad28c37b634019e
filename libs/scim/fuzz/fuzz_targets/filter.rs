//! Any text as a filter: it is read or refused, written back as the same, and evaluated.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scim::ResourceKind;
use scim::filter::FilterExpr;
use serde_json::json;

fuzz_target!(|text: &str| {
    let filter = match FilterExpr::parse(text) {
        Ok(filter) => filter,
        Err(fault) => {
            assert!(fault.at <= text.len());
            return;
        }
    };
    // What is written may be longer than what was read, and then be over the limit.
    if let Ok(again) = FilterExpr::parse(&filter.to_string()) {
        assert_eq!(again.to_string(), filter.to_string());
    }
    let user = json!({
        "userName": "bjensen", "active": true, "meta": {"created": "2010-01-23T04:56:22Z"},
        "emails": [{"value": "a@example.com", "type": "work", "primary": true}, {"value": "b@example.com"}],
    });
    let user = user.as_object().expect("it is written as an object");
    for kind in ResourceKind::ALL {
        let holds = filter.matches(kind, user);
        assert_eq!(FilterExpr::Not(Box::new(filter.clone())).matches(kind, user), !holds);
        if let Some(found) = filter.index_lookup(kind) {
            assert!(text.len() >= found.value.len());
        }
    }
    let _ = filter.check(&ResourceKind::ALL);
});
