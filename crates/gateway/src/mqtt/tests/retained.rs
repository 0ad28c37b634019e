//! Retained messages: they are gone at the end of their alert, whatever happens to the process.

use super::*;
use records::{CONTROL, Control, ControlState};

/// Whatever no event tells is looked at so often.
const LOOK_EVERY: Duration = Duration::from_millis(10);

fn retaining(broker: &Broker) -> MqttRoute {
    MqttRoute { retain: true, ..route(broker) }
}

async fn until_true(what: &str, test: impl Fn() -> bool) {
    let end = Instant::now() + LONG;
    while !test() {
        assert!(Instant::now() < end, "not {what}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn kept(broker: &Broker, topic: &str) -> Option<String> {
    let payload = broker.retained(topic)?.payload;
    let payload: serde_json::Value = serde_json::from_slice(&payload).unwrap();
    payload["text"].as_str().map(str::to_owned)
}

/// Empty messages that came to a topic.
fn removals(broker: &Broker, topic: &str) -> usize {
    let messages = broker.messages(10_000);
    messages.iter().filter(|taken| taken.packet.topic == topic && taken.packet.payload.is_empty()).count()
}

fn notes(test_route: &TestRoute) -> usize {
    test_route.bus.retained(&format!("mqtt/{ROUTE}/retained")).unwrap().all().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retained_message_is_accepted_though_nobody_listens_and_is_removed_at_the_alerts_end() {
    let (test_route, broker) =
        (TestRoute::new(), Broker::start(BrokerOptions { devices: None, ..with_devices() }).await.unwrap());
    let running = test_route.start(retaining(&broker));
    test_route.until_health("up", |health| health.up).await;
    test_route.append(&segment(7, 2, 4)).await;
    let ended = test_route.until_ended(2).await;
    assert_eq!(ended[&0], accepted(7, 0, "city/site/0, retained; nobody listens now"));
    assert_eq!((kept(&broker, "city/site/1").as_deref(), notes(&test_route)), (Some("alert 7"), 2));
    until_true("removed", || removals(&broker, "city/site/0") == 1 && removals(&broker, "city/site/1") == 1)
        .await;
    until_true("without notes", || notes(&test_route) == 0).await;
    running.stop().await;
    assert_eq!(broker.stats().retained, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_process_removes_what_an_earlier_one_left_retained() {
    let (test_route, broker) = (TestRoute::new(), Broker::start(with_devices()).await.unwrap());
    test_route.append(&segment(7, 3, 3)).await;
    let _gone = test_route.start(retaining(&broker));
    test_route.until_ended(3).await;
    // It is killed.
    test_route.context.cores.stop();
    let TestRoute { dir, bus, context } = test_route;
    drop((bus, context));
    until_true("expired", || broker.stats().retained == 0).await;
    assert_eq!(removals(&broker, "city/site/0"), 0);
    let next = TestRoute::on(dir);
    assert_eq!(notes(&next), 3);
    let running = next.start(MqttRoute { retain: false, ..route(&broker) });
    until_true("without notes", || notes(&next) == 0).await;
    running.stop().await;
    assert_eq!(removals(&broker, "city/site/0"), 1, "the route need not retain any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_alert_is_removed_at_once_and_a_later_one_stays() {
    let (test_route, broker) = (TestRoute::new(), Broker::start(with_devices()).await.unwrap());
    let running = test_route.start(retaining(&broker));
    test_route.append(&segment(7, 2, 3_600)).await;
    test_route.until_ended(2).await;
    // The second site has a later alert.
    let mut later = segment(8, 2, 3_600);
    later.entries.remove(0);
    later.entries[0].endpoint = EndpointNo(9);
    test_route.append(&later).await;
    test_route.until_ended(3).await;
    let control = Control { alert: AlertNo(7), state: ControlState::Stop, version: 1 };
    test_route.bus.retained(CONTROL).unwrap().set("7", &control.encode()).await.unwrap();
    until_true("removed", || kept(&broker, "city/site/0").is_none()).await;
    until_true("one note", || notes(&test_route) == 1).await;
    assert_eq!(kept(&broker, "city/site/1").as_deref(), Some("alert 8"));
    assert_eq!(removals(&broker, "city/site/1"), 0);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_the_broker_refuses_leaves_the_note_of_the_one_before() {
    let (test_route, broker) = (TestRoute::new(), Broker::start(with_devices()).await.unwrap());
    let running = test_route.start(retaining(&broker));
    test_route.append(&segment(7, 1, 3_600)).await;
    test_route.until_ended(1).await;
    broker.change(BrokerOptions { refused: 1.0, ..with_devices() }).unwrap();
    let mut later = segment(8, 1, 3_600);
    later.entries[0].endpoint = EndpointNo(9);
    test_route.append(&later).await;
    test_route.until_ended(2).await;
    let notes = test_route.bus.retained(&format!("mqtt/{ROUTE}/retained")).unwrap();
    // The alert's number stands behind the form.
    until_true("taken back", || notes.value("city/site/0").is_some_and(|note| note[1] == 7)).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_topics_are_retained_each_with_its_note() {
    let (test_route, broker) = (TestRoute::new(), Broker::start(with_devices()).await.unwrap());
    test_route.append(&segment(7, 250, 3_600)).await;
    let running = test_route.start(retaining(&broker));
    test_route.until_ended(250).await;
    assert_eq!((broker.stats().retained, notes(&test_route)), (250, 250));
    running.stop().await;
}
