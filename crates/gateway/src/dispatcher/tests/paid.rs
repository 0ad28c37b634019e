//! A feed whose messages have to be paid for.

use super::flow::{LONG, PATIENCE, TestRoute, wait_for};
use super::*;
use crate::Funds;
use crate::dispatcher::RouteDispatcher;
use futures_util::future::BoxFuture;
use records::{Bill, Funding, OUTCOMES, Unpaid, encode_outcomes};
use std::sync::Mutex;
use tokio::sync::watch;

/// Writes so many entries as they come.
async fn write(dispatcher: &RouteDispatcher<ByAddress>, entries: usize) {
    let listener = dispatcher.listen();
    for _ in 0..entries {
        let job = loop {
            match dispatcher.next() {
                Some(job) => break job,
                None => tokio::time::timeout(PATIENCE, listener.notified()).await.expect("an entry to write"),
            }
        };
        (1..=job.units).for_each(|part| dispatcher.part(&job, part, &accepted()));
    }
}

/// Pays for even endpoints alone; of lanes that are no emergency once its door is open.
struct Even {
    bills: Mutex<Vec<Bill>>,
    open: watch::Sender<bool>,
}

impl Funds for Even {
    fn pay(&self, bill: Bill) -> BoxFuture<'_, Vec<Funding>> {
        self.bills.lock().unwrap().push(bill.clone());
        Box::pin(async move {
            if !bill.is_emergency {
                self.open.subscribe().wait_for(|open| *open).await.unwrap();
            }
            let even = |endpoint: EndpointNo| endpoint.0.is_multiple_of(2) || bill.is_emergency;
            let answer = |paid| if paid { Funding::Paid } else { Funding::Refused(Unpaid::NoMoney) };
            bill.items.iter().map(|item| answer(even(item.endpoint))).collect()
        })
    }
}

fn with_purse(is_open: bool) -> (TestRoute, Arc<Even>) {
    let mut test_route = TestRoute::new();
    let funds = Arc::new(Even { bills: Mutex::default(), open: watch::Sender::new(is_open) });
    test_route.context.funds = Some(Arc::clone(&funds) as Arc<dyn Funds>);
    (test_route, funds)
}

fn asked(funds: &Even) -> Vec<(u32, u8)> {
    let bills = funds.bills.lock().unwrap();
    bills.iter().flat_map(|bill| &bill.items).map(|item| (item.endpoint.0, item.parts)).collect()
}

fn refused() -> AttemptResult {
    AttemptResult::Refused {
        permanent: true,
        code: "charging:no-money".to_owned(),
        text: "the account has no money: top it up".to_owned(),
    }
}

#[tokio::test]
async fn what_nobody_pays_for_is_told_as_refused_and_the_rest_is_written() {
    let (test_route, funds) = with_purse(true);
    test_route.append(&segment(1, Lane::Routine, 0, &[1, 2, 1, 1, 3, 1])).await;
    let dispatcher = test_route.open(10, LONG).await;
    dispatcher.session_up();
    write(&dispatcher, 3).await;
    wait_for("acknowledged", || test_route.unacknowledged() == 0).await;
    let results = test_route.results();
    assert_eq!(results.iter().filter(|result| **result == refused()).count(), 3);
    assert_eq!(results.iter().filter(|result| **result == accepted()).count(), 5, "parts of what was paid");
    assert_eq!(asked(&funds), [(0, 1), (1, 2), (2, 1), (3, 1), (4, 3), (5, 1)]);
    dispatcher.finish();
}

#[tokio::test]
async fn nothing_is_written_before_it_is_paid_and_no_emergency_waits_for_others() {
    let (test_route, funds) = with_purse(false);
    test_route.append(&segment(1, Lane::Routine, 0, &[1; 6])).await;
    let dispatcher = test_route.open(10, LONG).await;
    dispatcher.session_up();
    wait_for("asked", || !asked(&funds).is_empty()).await;
    assert_eq!(dispatcher.state().queue.left(Lane::Routine), 6);
    test_route.append(&segment(2, Lane::Emergency, 100, &[1; 5])).await;
    wait_for("ready", || dispatcher.state().queue.has_ready(Lane::Emergency)).await;
    write(&dispatcher, 5).await;
    wait_for("told", || test_route.results() == vec![accepted(); 5]).await;
    assert!(dispatcher.next().is_none());
    funds.open.send_replace(true);
    wait_for("ready", || dispatcher.state().queue.has_ready(Lane::Routine)).await;
    write(&dispatcher, 3).await;
    wait_for("acknowledged", || test_route.unacknowledged() == 0).await;
    dispatcher.finish();
}

#[tokio::test]
async fn a_feed_that_ends_while_it_waits_for_money_gives_the_segment_back() {
    let (test_route, funds) = with_purse(false);
    test_route.append(&segment(1, Lane::Routine, 0, &[1; 6])).await;
    let dispatcher = test_route.open(10, LONG).await;
    dispatcher.session_up();
    wait_for("asked", || !asked(&funds).is_empty()).await;
    dispatcher.finish();
    let group = test_route.bus.group(&records::segment_topic(ROUTE, Lane::Routine), "gateway").unwrap();
    wait_for("given back", || !group.take(1, LONG).unwrap().is_empty()).await;
    assert!(test_route.results().is_empty());
}

#[tokio::test]
async fn after_a_crash_only_what_was_neither_written_nor_refused_is_paid_and_written() {
    let (test_route, funds) = with_purse(true);
    let one = segment(1, Lane::Routine, 0, &[1; 8]);
    test_route.append(&one).await;
    // 0 was written, 1 and 5 were refused, the latter before anything behind 0 was intended.
    let before = [
        intent(&one, 0, 0, 1),
        attempt(&one, 0, 1, 1, accepted()),
        attempt(&one, 1, 1, 1, refused()),
        attempt(&one, 5, 1, 1, refused()),
    ];
    test_route.bus.topic(OUTCOMES).unwrap().append(&[&encode_outcomes(&before)]).await.unwrap();
    let dispatcher = test_route.open(10, LONG).await;
    dispatcher.session_up();
    wait_for("ready", || dispatcher.state().queue.has_ready(Lane::Routine)).await;
    write(&dispatcher, 3).await;
    wait_for("acknowledged", || test_route.unacknowledged() == 0).await;
    assert_eq!(asked(&funds), [(2, 1), (3, 1), (4, 1), (6, 1), (7, 1)]);
    // 3 and 7 are refused now; 1 and 5 are not told again.
    assert_eq!(test_route.results().iter().filter(|result| **result == refused()).count(), 4);
    dispatcher.finish();
}
