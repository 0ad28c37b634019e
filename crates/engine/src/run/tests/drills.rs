//! Drills beside live alerts: whom they reach, what they may name, and what is answered to them.

use super::backend::{TestBackend, over_both};
use super::test_engine::{PATIENCE, TestEngine, accepted, draft, person};
use crate::api::{AnswerGiven, Draft, EngineError, Submitted};
use records::{Account, AlertRequest, Choice, DeliveryState, EndpointNo, HelpCase, Mode, Origin, Recipient};
use std::time::Duration;
use store::DocumentKind;

/// With a drill route beside the live ones, simulated or not.
async fn ground_with(ground: &TestBackend, is_simulated: bool) -> TestEngine {
    let mut tested = ground.engine_under_test().await;
    let range = crate::testing::route("range", channels::SMS, |route| {
        (route.mode, route.simulated) = (Mode::Drill, is_simulated);
    });
    tested.add_route(range).await;
    let participant = Recipient { participant: true, ..person("anna", &["sms:+46700000001"]) };
    tested.people(vec![participant, person("bo", &["sms:+46700000002"])]).await;
    tested
}

async fn submitted(
    tested: &TestEngine,
    origin: Origin,
    change: impl FnOnce(&mut AlertRequest),
) -> Result<Submitted, EngineError> {
    let mut request = crate::testing::request("All out now");
    request.expires = tested.now().plus_s(86_400);
    request.mode = Mode::Drill;
    change(&mut request);
    tested.engine.submit(Draft { origin, wait_solved: true, ..draft(request) }).await
}

fn refused_fields(result: Result<Submitted, EngineError>) -> Vec<String> {
    match result {
        Err(EngineError::Unprocessable(problems)) => problems.into_iter().map(|one| one.field).collect(),
        other => panic!("it was not refused: {other:?}"),
    }
}

async fn a_drill_by_a_real_route_is_for_participants_alone(ground: TestBackend) {
    let tested = ground_with(&ground, false).await;
    let refused = refused_fields(submitted(&tested, Origin::Api, |_| {}).await);
    assert_eq!(refused, ["participants_only"]);
    let taken = submitted(&tested, Origin::Api, |request| request.participants_only = true).await.unwrap();
    assert_eq!(taken.endpoints, Some(1));
    // By this way nobody says whom it is for: it is for participants without a word.
    let by_device = submitted(&tested, Origin::Device, |_| {}).await.unwrap();
    assert!(by_device.alert.request.participants_only);
    assert_eq!(by_device.endpoints, Some(1));
}

async fn a_drill_by_simulated_routes_is_for_everybody(ground: TestBackend) {
    let tested = ground_with(&ground, true).await;
    let taken = submitted(&tested, Origin::Api, |_| {}).await.unwrap();
    assert_eq!(taken.endpoints, Some(2));
}

async fn an_alert_names_earlier_alerts_of_its_own_mode_alone(ground: TestBackend) {
    let tested = ground_with(&ground, true).await;
    let drill = submitted(&tested, Origin::Api, |_| {}).await.unwrap().alert;
    let received = format!("alert:{}/received", drill.id);
    let live = submitted(&tested, Origin::Api, |request| {
        request.mode = Mode::Live;
        request.audience[0].to.clone_from(&received);
    });
    assert_eq!(refused_fields(live.await), ["audience[0]"]);
    let following = submitted(&tested, Origin::Api, |request| {
        request.mode = Mode::Live;
        request.follows = Some(drill.id);
    });
    assert_eq!(refused_fields(following.await), ["follows"]);
    let nobodys = records::AlertId(uuid::Uuid::from_u128(7));
    let unknown = submitted(&tested, Origin::Api, |request| request.follows = Some(nobodys));
    assert_eq!(refused_fields(unknown.await), ["follows"]);
    let again = submitted(&tested, Origin::Api, |request| request.follows = Some(drill.id)).await.unwrap();
    assert_eq!(again.alert.request.follows, Some(drill.id));
}

/// The help cases that are noted, once there are so many.
async fn cases(tested: &TestEngine, count: usize) -> Vec<HelpCase> {
    let begun = std::time::Instant::now();
    loop {
        let found = tested.store.documents_after(Account::DEFAULT, DocumentKind::HelpCase, "", 100).await;
        let found = found.unwrap();
        if found.len() >= count {
            return found.iter().map(|one| serde_json::from_str(&one.body).unwrap()).collect();
        }
        assert!(begun.elapsed() < PATIENCE, "{} of {count}", found.len());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn who_needs_help_is_noted_and_in_a_drill_what_is_said_in_words(ground: TestBackend) {
    let tested = ground_with(&ground, true).await;
    let carrier = tested.carrier(accepted);
    let ask = |mode| {
        submitted(&tested, Origin::Api, move |request| {
            request.mode = mode;
            request.require_answer = true;
            request.choices = ["1", "2"].map(|key| Choice { key: key.into(), label: key.into() }).into();
            request.answer_rules.needs_help = vec!["2".to_owned()];
        })
    };
    let (live, drill) = (ask(Mode::Live).await.unwrap().alert, ask(Mode::Drill).await.unwrap().alert);
    for (alert, endpoint, text) in
        [(&live, 0, "smoke"), (&live, 1, "2"), (&drill, 0, "where is the exit"), (&drill, 1, "1")]
    {
        let (endpoint, text, via) = (EndpointNo(endpoint), text.to_owned(), "api".to_owned());
        tested.engine.answer(AnswerGiven { alert: alert.no, endpoint, text, via }).await.unwrap();
        tested.until(alert, |report| report.counts.answered > u64::from(endpoint.0)).await;
    }
    let noted = cases(&tested, 2).await;
    let expected = [(drill.id, EndpointNo(0)), (live.id, EndpointNo(1))];
    let expected = expected.map(|(alert, endpoint)| HelpCase::new(alert, endpoint));
    assert_eq!(noted, expected, "the newest alert first");
    let delivery =
        tested.engine.people().delivery(Account::DEFAULT, drill.id, EndpointNo(0)).await.unwrap().unwrap();
    assert_eq!(delivery.state, DeliveryState::Answered);
    assert_eq!(delivery.answer.unwrap().text, "where is the exit");
    let none = tested.engine.people().delivery(Account::DEFAULT, drill.id, EndpointNo(9)).await.unwrap();
    assert!(none.is_none());
    drop(carrier);
}

over_both!(
    a_drill_by_a_real_route_is_for_participants_alone,
    a_drill_by_simulated_routes_is_for_everybody,
    an_alert_names_earlier_alerts_of_its_own_mode_alone,
    who_needs_help_is_noted_and_in_a_drill_what_is_said_in_words,
);
