//! People of an alert as it goes on: their states, what ends it, who hears of it next, and its story over a
//! start.

use super::backend::{TestBackend, over_both};
use super::test_engine::{TestEngine, accepted, person, refused};
use crate::api::AnswerGiven;
use crate::run::{AnswerFilter, MarkKind, PeopleFilter, PeoplePage, PersonPlace};
use records::{
    Account, Alert, AlertRequest, AudienceEntry, Choice, DeliveryState, EndpointNo, Reason, StopWhen,
};

fn asking(request: &mut AlertRequest) {
    request.require_answer = true;
    request.choices = ["1", "2"].map(|key| Choice { key: key.into(), label: key.into() }).into();
}

async fn five(tested: &TestEngine) {
    let people = (1..=5).map(|n| person(&format!("p{n}"), &[&format!("sms:+4670000000{n}")]));
    tested.people(people.collect()).await;
}

async fn answer(tested: &TestEngine, alert: &Alert, endpoint: u32, text: &str) {
    let (endpoint, text, via) = (EndpointNo(endpoint), text.to_owned(), "api".to_owned());
    tested.engine.answer(AnswerGiven { alert: alert.no, endpoint, text, via }).await.unwrap();
}

/// Who is in the alert to these people of an earlier one.
async fn hear(tested: &TestEngine, first: &Alert, which: &str) -> Vec<String> {
    let to = format!("alert:{}/{which}", first.id);
    let audience = vec![AudienceEntry { to, strategy: None, expires: None }];
    let next = tested.submit(|request| request.audience = audience).await.alert;
    tested.pass_s(1);
    tested.until(&next, |report| !matches!(report.state, "accepted" | "solving")).await;
    let page = PeoplePage { limit: 100, ..PeoplePage::default() };
    let (people, more) = tested.engine.people().page(Account::DEFAULT, next.id, page).await.unwrap();
    assert_eq!(more, None);
    people.into_iter().filter_map(|person| person.recipient).collect()
}

async fn who_did_not_answer_answered_so_or_was_not_reached_hears_what_follows(ground: TestBackend) {
    let tested = ground.engine_under_test().await;
    five(&tested).await;
    let carrier = tested.carrier(|segment, entry| match (segment.alert.0, entry.address.as_str()) {
        (1, "+46700000005") => refused(segment, entry, true),
        _ => accepted(segment, entry),
    });
    let first = tested.submit(asking).await.alert;
    tested.until(&first, |report| (report.counts.accepted, report.counts.failed) == (4, 1)).await;
    answer(&tested, &first, 0, "1").await;
    answer(&tested, &first, 1, "2").await;
    let report = tested.until(&first, |report| report.counts.answered == 2).await;
    let people = report.of_people.people;
    assert_eq!((people.total, people.answered, people.accepted, people.failed), (5, 2, 2, 1));
    assert_eq!(hear(&tested, &first, "not_answered").await, ["p3", "p4", "p5"]);
    assert_eq!(hear(&tested, &first, "answer=2").await, ["p2"]);
    assert_eq!(hear(&tested, &first, "not_reached").await, ["p5"]);
    drop(carrier);
}

async fn once_enough_people_answered_nothing_more_is_sent(ground: TestBackend) {
    let tested = ground.engine_under_test().await;
    five(&tested).await;
    // Of the others nothing is heard: they wait for their turn.
    let start = tested.now();
    let alert = tested
        .submit(|request| {
            asking(request);
            request.not_before = Some(start.plus_s(3_600));
            request.expires = start.plus_s(7_200);
            request.answer_rules.stop_when = Some(StopWhen { choice: "1".into(), people: 2 });
        })
        .await
        .alert;
    tested.until(&alert, |report| report.counts.endpoints == 5).await;
    answer(&tested, &alert, 0, "1").await;
    answer(&tested, &alert, 1, "2").await;
    tested.until(&alert, |report| report.counts.answered == 2).await;
    answer(&tested, &alert, 1, "1").await;
    let report = tested.until(&alert, |report| report.state == "done").await;
    assert!(report.note.starts_with(records::ENOUGH_ANSWERS), "{}", report.note);
    assert_eq!((report.counts.answered, report.counts.failed), (2, 3));
    let filter = PeopleFilter { reason: Some(Reason::EnoughAnswers), ..PeopleFilter::default() };
    let page = PeoplePage { filter, limit: 100, ..PeoplePage::default() };
    let (left, _) = tested.engine.people().page(Account::DEFAULT, alert.id, page).await.unwrap();
    assert_eq!(left.len(), 3);
}

async fn the_story_of_an_alert_goes_on_after_a_start_and_its_people_are_read_from_the_rows(
    ground: TestBackend,
) {
    let tested = ground.engine_under_test().await;
    five(&tested).await;
    let carrier = tested.carrier(accepted);
    let alert = tested.submit(asking).await.alert;
    tested.until(&alert, |report| report.counts.endpoints == 5).await;
    answer(&tested, &alert, 2, "1").await;
    tested.until(&alert, |report| report.state == "done" && report.counts.answered == 1).await;
    let mut marks = Vec::new();
    for _ in 0..2_000 {
        tested.pass_s(1);
        let story = tested.engine.people().story(Account::DEFAULT, alert.id).await.unwrap();
        marks = story.marks.iter().map(|mark| mark.kind).collect();
        if marks.contains(&MarkKind::Ended) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let expected = [MarkKind::FirstSent, MarkKind::HalfReached, MarkKind::MostReached, MarkKind::HandedOver];
    assert!(expected.iter().all(|kind| marks.contains(kind)), "{marks:?}");
    let told = tested.engine.people().story(Account::DEFAULT, alert.id).await.unwrap();
    drop(carrier);
    let ground = ground.ended(tested).await;
    let tested = ground.engine_under_test().await;
    let again = tested.engine.people().story(Account::DEFAULT, alert.id).await.unwrap();
    assert_eq!(again, told);
    let filter = PeopleFilter { answer: Some(AnswerFilter::Any), ..PeopleFilter::default() };
    let page = PeoplePage { filter, from: PersonPlace::default(), limit: 1, letters: Some("P3".into()) };
    let (people, more) = tested.engine.people().page(Account::DEFAULT, alert.id, page).await.unwrap();
    let found: Vec<_> = people.iter().map(|person| (person.recipient.as_deref(), person.state)).collect();
    assert_eq!((found.as_slice(), more), (&[(Some("p3"), DeliveryState::Answered)][..], None));
}

over_both!(
    who_did_not_answer_answered_so_or_was_not_reached_hears_what_follows,
    once_enough_people_answered_nothing_more_is_sent,
    the_story_of_an_alert_goes_on_after_a_start_and_its_people_are_read_from_the_rows,
);
