//! Tests of recovery on routes whose far end can be asked what became of a message.

use super::flow::{TestRoute, wait_for};
use super::repeated::{killed, open, told};
use super::*;
use crate::dispatcher::{Questions, RouteDispatcher};
use records::NotTried;

/// As [`ByAddress`], of what can be asked for.
struct Askable;

impl ChannelEncoder for Askable {
    type Prepared = ();
    fn askable(&self) -> bool {
        true
    }
    fn prepare(&self, segment: &Segment) {
        ByAddress.prepare(segment);
    }
    fn units(&self, segment: &Segment, prepared: &(), entry: &Entry) -> u8 {
        ByAddress.units(segment, prepared, entry)
    }
}

fn of_four() -> Segment {
    segment(1, Lane::Emergency, 0, &[1; 4])
}

/// Asks for all that is to be asked for: the far end has what `is_there` says. Then writes the rest.
fn ask_and_write(
    dispatcher: &Arc<RouteDispatcher<Askable>>,
    is_there: impl Fn(u32) -> Option<bool> + Send + 'static,
) {
    let dispatcher = Arc::clone(dispatcher);
    dispatcher.session_up();
    tokio::spawn(async move {
        let listener = dispatcher.listen();
        loop {
            while let Some(job) = Questions::of(&dispatcher).next() {
                let result = match is_there(job.entry().endpoint.0) {
                    Some(true) => accepted(),
                    Some(false) => AttemptResult::NotTried { why: NotTried::Closing },
                    None => AttemptResult::Unknown { text: "the far end does not say".into() },
                };
                dispatcher.whole(&job, &result);
            }
            while let Some(job) = dispatcher.next() {
                dispatcher.whole(&job, &accepted());
            }
            listener.notified().await;
        }
    });
}

fn accepted() -> AttemptResult {
    AttemptResult::Accepted { keys: vec![], id: String::new() }
}

#[tokio::test]
async fn what_a_crash_interrupted_is_as_the_far_end_says() {
    let test_route = TestRoute::new();
    killed(&test_route, &of_four()).await;
    // Of 0 the outcome was told before the crash, of 2 that of another part.
    let (dispatcher, _running) = open(&test_route.context, Askable).await;
    ask_and_write(&dispatcher, |endpoint| Some(endpoint != 3));
    wait_for("acknowledged", || test_route.unacknowledged() == 0).await;
    let expected = [vec!["accepted"], vec!["accepted"], vec!["accepted"; 2], vec!["again"]];
    assert_eq!(told(&test_route).into_values().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn what_the_far_end_does_not_say_is_unknown() {
    let test_route = TestRoute::new();
    killed(&test_route, &of_four()).await;
    let (dispatcher, _running) = open(&test_route.context, Askable).await;
    ask_and_write(&dispatcher, |_| None);
    wait_for("acknowledged", || test_route.unacknowledged() == 0).await;
    assert_eq!(told(&test_route)[&1], ["unknown"]);
}

#[tokio::test]
async fn what_was_not_asked_for_is_asked_for_by_the_next_process() {
    let test_route = TestRoute::new();
    killed(&test_route, &of_four()).await;
    let (dispatcher, running) = open(&test_route.context, Askable).await;
    dispatcher.session_up();
    let mut question = None;
    wait_for("a question", || {
        question = Questions::of(&dispatcher).next();
        question.is_some()
    })
    .await;
    // The far end is not reached, and the process ends in order.
    Questions::of(&dispatcher).later(question.unwrap());
    dispatcher.finish();
    running.await.unwrap();
    assert_eq!(told(&test_route).len(), 2, "nothing is said of what was not asked for");
    let (next, _running) = open(&test_route.context, Askable).await;
    ask_and_write(&next, |_| Some(true));
    wait_for("acknowledged", || test_route.unacknowledged() == 0).await;
    assert!(told(&test_route).values().all(|told| told.last() == Some(&"accepted")));
}
