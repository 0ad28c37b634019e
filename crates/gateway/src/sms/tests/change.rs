//! Other settings for a route that runs, and SMSCs that ask us to bind.

use super::*;
use crate::Changed;
use smpp::text::Charset;

#[tokio::test]
async fn what_needs_no_new_session_changes_in_place() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    test_route.append(&segment(1, Lane::Routine, 0, 400, "hello")).await;
    let running = run(SmsRoute { rate: 20.0, ..route(&smsc) }, &test_route);
    wait_for("begun", || smsc.count() >= 3).await;
    let quick =
        SmsRoute { rate: 0.0, sessions: 3, window: 5, service_type: "CMT".to_owned(), ..route(&smsc) };
    assert_eq!(running.change(quick.clone()).await, Ok(Changed::InPlace));
    assert_eq!(running.change(quick.clone()).await, Ok(Changed::Nothing));
    let ended = test_route.until_ended(400).await;
    assert!(ended.values().flatten().all(is_accepted));
    wait_for("three sessions", || smsc.binds() == 3).await;
    assert_eq!(running.change(SmsRoute { sessions: 1, ..quick }).await, Ok(Changed::InPlace));
    wait_for("two of them gone", || smsc.ends() == 2).await;
    test_route.append(&segment(1, Lane::Routine, 400, 100, "hello")).await;
    test_route.until_ended(500).await;
    test_route.until_acknowledged().await;
    assert_eq!((smsc.binds(), smsc.ends()), (3, 2), "the first session is bound still");
    running.stop().await;
    assert_eq!(smsc.count(), 500, "each once");
    assert_eq!(smsc.submitted().last().unwrap().service_type, "CMT");
}

#[tokio::test]
async fn who_we_are_changes_with_a_new_bind_and_nothing_is_lost_or_sent_twice() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let running = run(SmsRoute { rate: 400.0, ..route(&smsc) }, &test_route);
    test_route.append(&segment(1, Lane::Routine, 0, 600, "hello")).await;
    wait_for("begun", || smsc.count() >= 50).await;
    let other = SmsRoute { system_id: "other".to_owned(), rate: 400.0, ..route(&smsc) };
    assert_eq!(running.change(other.clone()).await, Ok(Changed::Rebound));
    wait_for("bound anew", || smsc.binds() == 2).await;
    // Another alphabet: what is in hand is made anew.
    let latin1 = SmsRoute { charset: Charset::Latin1, rate: 0.0, ..other };
    assert_eq!(running.change(latin1).await, Ok(Changed::Rebound));
    let ended = test_route
        .until("all taken", |seen| {
            let ended = ended(seen);
            // What was handed out when the sessions went is not tried, and comes again from the engine.
            let back = ended.values().flatten().filter(|result| not_tried(result).is_some()).count();
            (ended.len() == 600).then_some((ended, back))
        })
        .await;
    let (ended, back) = ended;
    assert!(ended.values().flatten().all(|result| is_accepted(result) || not_tried(result).is_some()));
    running.stop().await;
    assert_eq!(smsc.count() + back, 600);
    assert_eq!(smsc.bound_by(), ["platform Transceiver", "other Transceiver", "other Transceiver"]);
}

#[tokio::test]
async fn a_change_that_is_wrong_changes_nothing_and_says_why() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let running = run(route(&smsc), &test_route);
    let fields = async |route: SmsRoute| match running.change(route).await {
        Err(problems) => problems.iter().map(|problem| problem.field).collect::<Vec<_>>(),
        Ok(changed) => panic!("{changed:?}"),
    };
    assert_eq!(fields(SmsRoute { window: 0, ..route(&smsc) }).await, ["window"]);
    assert_eq!(fields(SmsRoute { name: "other".to_owned(), ..route(&smsc) }).await, ["name"]);
    test_route.append(&segment(1, Lane::Routine, 0, 10, "hello")).await;
    test_route.until_ended(10).await;
    running.stop().await;
    assert_eq!(smsc.binds(), 1);
}

#[tokio::test]
async fn an_smsc_that_connects_to_us_and_proves_itself_is_bound_to() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let route = SmsRoute {
        bind: Binding::TransmitterReceiver,
        outbind: Some(port.to_string()),
        outbind_password: "open".into(),
        ..route(&smsc)
    };
    let running = run(route, &test_route);
    wait_for("bound", || smsc.binds() == 1).await;
    let ready = || std::net::TcpStream::connect(port).is_ok();
    wait_for("listening", ready).await;
    smsc.outbind(&port.to_string(), "wrong").await;
    wait_for("hung up on", || smsc.ends() == 1).await;
    assert_eq!(smsc.binds(), 1);
    smsc.outbind(&port.to_string(), "open").await;
    wait_for("bound to", || smsc.binds() == 2).await;
    assert_eq!(smsc.bound_by(), ["platform Transmitter", "platform Receiver"]);
    smsc.deliver(smsc::Delivery {
        from: "46701234567".to_owned(),
        to: "100".to_owned(),
        octets: b"hello".to_vec(),
        ..smsc::Delivery::default()
    });
    test_route
        .until("heard", |seen| {
            seen.iter()
                .find(|outcome| matches!(outcome, Outcome::Inbound(inbound) if inbound.text == "hello"))?;
            Some(())
        })
        .await;
    running.stop().await;
    wait_for("unbound", || smsc.ends() == 3).await;
}
