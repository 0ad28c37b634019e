//! Texts against the people they go to: placeholders that nothing fills, and values that some lack.

use super::backend::{TestBackend, over_both};
use super::test_engine::{accepted, draft, person};
use crate::api::{EngineError, Problem};
use crate::testing::request;
use records::{AlertRequest, AudienceEntry, Recipient};

fn with(id: &str, attributes: &[(&str, &str)]) -> Recipient {
    let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let number = format!("sms:+4670000000{}", id.len());
    Recipient { attributes: attributes.collect(), ..person(id, &[&number, &format!("mail:{id}@b.se")]) }
}

fn to(text: &str, audience: &str, expires: records::Timestamp) -> AlertRequest {
    let audience = vec![AudienceEntry { to: audience.into(), strategy: None, expires: None }];
    AlertRequest { audience, expires, ..request(text) }
}

async fn a_placeholder_that_nothing_can_fill_is_refused_with_the_nearest_name(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(vec![with("ann", &[("exit", "B"), ("floor", "")])]).await;
    let expires = engine_under_test.now().plus_s(60);
    let table = [
        ("{{exitt}}", "all", Some("did you mean {{exit}}?")),
        ("{{nmae}}", "recipient:ann", Some("did you mean {{name}}?")),
        ("{{floor}}", "all", Some("known are name, id, language, time_zone, exit.")),
        ("{{name}}", "sms:+46700000009", Some("an address has no values")),
        ("{{nmae|default(\"you\")}}", "all", None),
        ("{{exit}} {{name}} {{id}} {{language}} {{time_zone}}", "all", None),
        ("{{name|default(\"you\")}}", "sms:+46700000009", None),
    ];
    for (text, audience, expected) in table {
        let forecast =
            engine_under_test.engine.forecast("default", to(text, audience, expires)).await.map(|_| ());
        let refused = match &forecast {
            Err(EngineError::Unprocessable(problems)) => problems.clone(),
            Ok(()) => Vec::new(),
            Err(other) => panic!("{text}: {other}"),
        };
        match (expected, &refused[..]) {
            (None, []) => {}
            (Some(words), [Problem { field, reason }]) => {
                assert_eq!(field, "text");
                assert!(reason.contains(words), "{text}: {reason}");
            }
            _ => panic!("{text}: {refused:?}"),
        }
        let submitted = engine_under_test.engine.submit(draft(to(text, audience, expires))).await.map(|_| ());
        assert_eq!(submitted, forecast, "{text}: a submission is judged as a forecast is");
    }
}

async fn who_lacks_a_value_is_told_to_the_sender_and_in_the_report(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let people = vec![with("a", &[("ward", "7")]), with("bo", &[]), with("cia", &[("ward", "")])];
    engine_under_test.people(people).await;
    let carrier = engine_under_test.carrier(accepted);
    let request = to("Leave ward {{ward}}.", "all", engine_under_test.now().plus_s(60));
    let says = "{{ward}}: 2 people have no value and get the text with nothing there";
    let forecast = engine_under_test.engine.forecast("default", request.clone()).await.unwrap();
    assert_eq!(forecast.missing_values, [("ward".to_owned(), 2)].into());
    assert!(forecast.problems[0].reason.starts_with(says), "{:?}", forecast.problems);
    let mut draft = draft(request);
    draft.wait_solved = true;
    let submitted = engine_under_test.engine.submit(draft).await.unwrap();
    assert_eq!(submitted.problems.len(), 1);
    assert_eq!(submitted.problems[0].field, "text");
    assert!(submitted.problems[0].reason.starts_with(says), "{:?}", submitted.problems);
    let report = engine_under_test.until(&submitted.alert, |report| report.counts.accepted == 6).await;
    assert_eq!(report.missing_values, [("ward".to_owned(), 2)].into());
    let sent = carrier.sent.lock().unwrap();
    assert_eq!(sent.iter().filter(|(_, text)| text == "Leave ward .").count(), 4);
}

over_both!(
    a_placeholder_that_nothing_can_fill_is_refused_with_the_nearest_name,
    who_lacks_a_value_is_told_to_the_sender_and_in_the_report,
);
