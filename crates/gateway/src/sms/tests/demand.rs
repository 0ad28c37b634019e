//! Sessions that are bound when there is need, and routes that go down.

use super::*;
use crate::sms::config::SessionPolicy;

fn on_demand(smsc: &Smsc) -> SmsRoute {
    SmsRoute {
        standing: SessionPolicy::OnDemand,
        idle: Duration::from_millis(60),
        poll_every: Duration::from_secs(3_000),
        bind: Binding::Transmitter,
        ..route(smsc)
    }
}

#[tokio::test]
async fn a_route_on_demand_binds_for_work_drains_and_unbinds() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let running = run(on_demand(&smsc), &test_route);
    wait_for("up without a session", || test_route.health().is_some_and(|health| health.up)).await;
    assert_eq!(smsc.binds(), 0);
    for round in 1..=3 {
        test_route.append(&segment(1, Lane::Routine, round * 1_000, 200, "hello")).await;
        let ended = test_route.until_ended(200 * round as usize).await;
        assert!(ended.values().flatten().all(is_accepted), "{ended:?}");
        wait_for("unbound", || smsc.ends() == round as usize).await;
        assert_eq!(smsc.binds(), round as usize, "one bind for all of it");
        wait_for("resting", || test_route.health().is_some_and(|health| health.up && health.sessions == 0))
            .await;
    }
    test_route.until_acknowledged().await;
    running.stop().await;
    assert_eq!(smsc.count(), 600);
}

#[tokio::test]
async fn on_demand_goes_with_a_rate_and_a_narrow_window_in_one_bind() {
    let (mut test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let writes = super::rate::witnessed(&mut test_route);
    test_route.append(&segment(1, Lane::Routine, 0, 60, "hello")).await;
    // Between two messages it has nothing to do for longer than its idle time: work that waits is no
    // idleness.
    let slow = SmsRoute { rate: 40.0, window: 1, idle: Duration::from_millis(5), ..on_demand(&smsc) };
    let running = run(slow, &test_route);
    test_route.until_ended(60).await;
    wait_for("unbound", || smsc.ends() == 1).await;
    running.stop().await;
    assert_eq!(smsc.binds(), 1);
    assert!(super::rate::most_in_a_second(&writes) <= 40);
}

#[tokio::test]
async fn a_receiver_on_demand_looks_from_time_to_time_for_what_waits() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let often =
        SmsRoute { bind: Binding::Receiver, poll_every: Duration::from_millis(100), ..on_demand(&smsc) };
    let running = run(often, &test_route);
    wait_for("a look", || smsc.ends() == 1).await;
    for number in 0..5 {
        smsc.deliver(smsc::Delivery {
            from: "46701234567".to_owned(),
            to: "100".to_owned(),
            octets: format!("number {number}").into_bytes(),
            ..smsc::Delivery::default()
        });
    }
    test_route
        .until("five messages", |seen| {
            (seen.iter().filter(|outcome| matches!(outcome, Outcome::Inbound(_))).count() == 5).then_some(())
        })
        .await;
    wait_for("more looks", || smsc.ends() >= 4).await;
    running.stop().await;
}

#[tokio::test]
async fn a_route_on_demand_that_cannot_bind_says_so_gives_back_and_comes_again() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let wrong = SmsRoute { password: "wrong".into(), ..on_demand(&smsc) };
    let running = run(wrong, &test_route);
    wait_for("up", || test_route.health().is_some_and(|health| health.up)).await;
    test_route.append(&segment(1, Lane::Routine, 0, 30, "hello")).await;
    let ended = test_route.until_ended(30).await;
    assert!(
        ended.values().flatten().all(|result| not_tried(result) == Some(NotTried::RouteDown)),
        "{ended:?}"
    );
    assert!(!test_route.health().unwrap().up);
    running.change(on_demand(&smsc)).await.unwrap();
    wait_for("up again", || test_route.health().is_some_and(|health| health.up)).await;
    running.stop().await;
}

#[tokio::test]
async fn a_route_that_goes_down_says_so_at_once_and_gives_back_within_a_second() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    test_route.append(&segment(1, Lane::Routine, 0, 1_000, "hello")).await;
    let running = run(SmsRoute { rate: 50.0, ..route(&smsc) }, &test_route);
    wait_for("begun", || smsc.count() >= 10).await;
    smsc.refuse_from_now_on();
    let cut = Instant::now();
    smsc.cut();
    wait_for("told", || test_route.health().is_some_and(|health| !health.up)).await;
    assert!(cut.elapsed() < Duration::from_millis(200), "{:?}", cut.elapsed());
    let ended = test_route.until_ended(1_000).await;
    assert!(cut.elapsed() < Duration::from_millis(1_000), "{:?}", cut.elapsed());
    let back =
        ended.values().flatten().filter(|result| not_tried(result) == Some(NotTried::RouteDown)).count();
    assert!(back >= 900 && smsc.count() + back >= 1_000 && smsc.count() + back <= 1_001, "{back}");
    test_route.until_acknowledged().await;
    running.stop().await;
}
