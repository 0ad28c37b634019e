//! Stories of the server's own requests: RAR after a top-up, ASR after a block; and the sessions of a client
//! that started anew.

use super::{ANN, Ocs, PATIENCE};
use diameter::check::check;
use diameter::dictionary::{avp, command};
use it::credit::{
    CLIENT_REALM, CreditClient, INITIAL, ReceivedMessage, SERVER_HOST, SERVER_REALM, TERMINATION, UPDATE,
    requested, subscriber, used,
};
use it::{eventually, program};
use serde_json::json;
use std::process::{Command, Stdio};

const BOB: &str = "46701740606";
const VALIDITY: &str = "validity = \"10m\"";

fn granted(answer: &ReceivedMessage) -> Option<u64> {
    answer.within(&[avp::GRANTED_SERVICE_UNIT, avp::CC_SERVICE_SPECIFIC_UNITS]).map(|avp| avp.u64().unwrap())
}

/// It is this command, about this session, and for this client.
#[track_caller]
fn assert_asks(request: &ReceivedMessage, command: u32, session: &str, client: &str) {
    let header = request.message().header;
    assert_eq!((header.command, header.application), (command, 4));
    assert!(header.flags.is_proxiable() && !header.flags.is_error());
    if let Err(fault) = check(&request.message()) {
        panic!("it breaks its grammar: {fault}; {request:?}");
    }
    let said = |name| String::from_utf8_lossy(request.find(name).unwrap().data).into_owned();
    assert_eq!(said(avp::SESSION_ID), session);
    assert_eq!((said(avp::ORIGIN_HOST), said(avp::ORIGIN_REALM)), (SERVER_HOST.into(), SERVER_REALM.into()));
    assert_eq!(
        (said(avp::DESTINATION_HOST), said(avp::DESTINATION_REALM)),
        (client.into(), CLIENT_REALM.into())
    );
    assert_eq!(request.find(avp::AUTH_APPLICATION_ID).unwrap().u32(), Ok(4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_top_up_has_sessions_ask_again_that_had_too_little_also_after_a_kill_and_no_others() {
    let mut ocs = Ocs::start("", VALIDITY).await;
    ocs.fund(ANN, 12).await;
    ocs.fund(BOB, 10).await;
    let name = "smf.client.test";
    let mut client = ocs.client(name);
    let (content, starved, other) = (client.fresh_session(), client.fresh_session(), client.fresh_session());
    for (session, who, units, gets) in [(&content, ANN, 2, 2), (&starved, ANN, 25, 10), (&other, BOB, 25, 10)]
    {
        let initial = client.initial(session, who, units);
        assert_eq!(granted(&client.ask(&initial)), Some(gets));
    }
    ocs.act(ANN, "topup", &json!({"amount": 50})).await;
    let request = client.asked();
    assert_asks(&request, command::RE_AUTH, &starved, name);
    assert_eq!(request.find(avp::RE_AUTH_REQUEST_TYPE).unwrap().u32(), Ok(0), "AUTHORIZE_ONLY");
    client.reply(&request, 2002);
    let update = client.credit(&starved, UPDATE, 1).with(|writer| {
        used(writer, 10);
        requested(writer, 25);
    });
    let answer = client.ask(&update);
    assert_eq!((answer.code(), granted(&answer)), (2001, Some(25)));
    assert!(answer.find(avp::FINAL_UNIT_INDICATION).is_none());
    assert_eq!(ocs.money(ANN).await, (52, 27, 10));
    // Nobody has too little any more: whatever the server asked would stand before the answer.
    ocs.act(ANN, "topup", &json!({"amount": 1})).await;
    client.works(ANN);
    // The other session is known to be its client's after a kill too, on another connection.
    drop(client);
    ocs.kill_and_restart().await;
    let mut client = ocs.client(name);
    let mut stranger = ocs.client("stranger.client.test");
    ocs.act(BOB, "topup", &json!({"amount": 5})).await;
    let request = client.asked();
    assert_asks(&request, command::RE_AUTH, &other, name);
    // It is gone there: what it held is free, with a record.
    client.reply(&request, 5002);
    eventually(
        "the hold of a session that its client does not know is released",
        PATIENCE,
        async || match ocs.money(BOB).await {
            (15, 0, 0) => Ok(()),
            money => Err(format!("{money:?}")),
        },
    )
    .await;
    stranger.works(BOB);
    client.works(BOB);
    let late = client.credit(&other, UPDATE, 1).with(|writer| requested(writer, 1));
    assert_eq!(client.ask(&late).code(), 5002);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_has_the_accounts_sessions_ended_by_their_clients() {
    let ocs = Ocs::start("", "validity = \"10m\"\nshards = 3").await;
    ocs.fund(ANN, 100).await;
    ocs.fund(BOB, 100).await;
    let (mut one, mut two) = (ocs.client("one.client.test"), ocs.client("two.client.test"));
    let (first, second, bobs) = (one.fresh_session(), two.fresh_session(), two.fresh_session());
    let initial = one.initial(&first, ANN, 20);
    assert_eq!(one.ask(&initial).code(), 2001);
    for (session, who) in [(&second, ANN), (&bobs, BOB)] {
        let initial = two.initial(session, who, 30);
        assert_eq!(two.ask(&initial).code(), 2001);
    }
    assert_eq!(ocs.money(ANN).await, (100, 50, 0));
    let id = format!("/api/v1/accounts/e164:{ANN}");
    let blocked = ocs.server.api().patch(&id, &json!({"state": "blocked"})).await.expect(200);
    assert_eq!((&blocked["blocked"], &blocked["state"]), (&json!(true), &json!("blocked")));
    for (client, session) in [(&mut one, &first), (&mut two, &second)] {
        let request = client.asked();
        let name = client.name().to_owned();
        assert_asks(&request, command::ABORT_SESSION, session, &name);
        client.reply(&request, 2001);
        let update = client.credit(session, UPDATE, 1).with(|writer| {
            used(writer, 1);
            requested(writer, 5);
        });
        assert_eq!(client.ask(&update).code(), 4010);
        let end = client.credit(session, TERMINATION, 2).with(|writer| used(writer, 4));
        assert_eq!(client.ask(&end).code(), 2001);
    }
    assert_eq!(ocs.money(ANN).await, (90, 0, 10), "what was used is due");
    let again = one.fresh_session();
    let initial = one.initial(&again, ANN, 1);
    assert_eq!(one.ask(&initial).code(), 4010);
    ocs.server.api().patch(&id, &json!({"state": "active"})).await.expect(200);
    one.works(ANN);
    let update = two.credit(&bobs, UPDATE, 1).with(|writer| requested(writer, 5));
    assert_eq!(two.ask(&update).code(), 2001, "his goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_simulated_client_asks_again_after_a_top_up_and_ends_after_a_block() {
    let ocs = Ocs::start("", VALIDITY).await;
    ocs.fund(ANN, 10).await;
    let arguments = ["sim", "credit", "--sessions", "1", "--script", "I25 600s 600s T0", "--subscriber", ANN];
    let client = Command::new(program())
        .args(arguments)
        .args(["--connect", &format!("127.0.0.1:{}", ocs.port)])
        .args(["--origin-host", "simulated.client.test", "--origin-realm", CLIENT_REALM])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let becomes = async |wanted: (i64, i64, i64)| {
        eventually("its account is as it should be", PATIENCE, async || match ocs.money(ANN).await {
            money if money == wanted => Ok(()),
            money => Err(format!("{money:?}, not {wanted:?}")),
        })
        .await;
    };
    becomes((10, 10, 0)).await;
    ocs.act(ANN, "topup", &json!({"amount": 50})).await;
    becomes((60, 25, 0)).await;
    let id = format!("/api/v1/accounts/e164:{ANN}");
    ocs.server.api().patch(&id, &json!({"state": "blocked"})).await.expect(200);
    becomes((60, 0, 0)).await;
    let output = client.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && words.contains("1 times RAR, 1 times ASR; 0 without"), "{words}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_started_anew_gets_its_sessions_of_before_released() {
    let mut ocs = Ocs::start("", VALIDITY).await;
    ocs.fund(ANN, 100).await;
    let name = "restarting.client.test";
    let mut client = CreditClient::open_at_start(ocs.port, name, 7);
    let mut steady = CreditClient::open_at_start(ocs.port, "steady.client.test", 7);
    let (before, kept) = (client.fresh_session(), steady.fresh_session());
    let initial = client.initial(&before, ANN, 20);
    assert_eq!(client.ask(&initial).code(), 2001);
    let initial = steady.initial(&kept, ANN, 30);
    assert_eq!(steady.ask(&initial).code(), 2001);
    // Only connected anew, it has its sessions still.
    drop(client);
    let mut client = CreditClient::open_at_start(ocs.port, name, 7);
    let update = client.credit(&before, UPDATE, 1).with(|writer| requested(writer, 20));
    assert_eq!(client.ask(&update).code(), 2001);
    drop((client, steady));
    ocs.kill_and_restart().await;
    let mut client = CreditClient::open_at_start(ocs.port, name, 8);
    eventually("its sessions of before are ended, and nobody else's", PATIENCE, async || {
        match ocs.money(ANN).await {
            (100, 30, 0) => Ok(()),
            money => Err(format!("{money:?}")),
        }
    })
    .await;
    let late = client.credit(&before, UPDATE, 2).with(|writer| used(writer, 3));
    assert_eq!(client.ask(&late).code(), 5002);
    let next = client.fresh_session();
    let initial = client.credit(&next, INITIAL, 0).with(|writer| {
        subscriber(writer, ANN);
        requested(writer, 5);
    });
    assert_eq!(client.ask(&initial).code(), 2001);
    let records = format!("/api/v1/accounts/e164:{ANN}/records");
    let records = ocs.server.api().get(&records).await.expect(200);
    let ended =
        records["items"].as_array().unwrap().iter().filter(|record| record["event"] == "SessionEnded");
    assert_eq!(ended.count(), 1, "{records:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_answer_or_was_away_is_asked_again_while_there_is_something_to_ask() {
    let ocs = Ocs::start("", VALIDITY).await;
    ocs.fund(ANN, 10).await;
    ocs.fund(BOB, 10).await;
    let name = "deaf.client.test";
    let mut client = ocs.client(name);
    let (anns, bobs) = (client.fresh_session(), client.fresh_session());
    for (session, who) in [(&anns, ANN), (&bobs, BOB)] {
        let initial = client.initial(session, who, 25);
        assert_eq!(granted(&client.ask(&initial)), Some(10));
    }
    ocs.act(ANN, "topup", &json!({"amount": 50})).await;
    assert_asks(&client.asked(), command::RE_AUTH, &anns, name);
    // Tx goes by.
    let again = client.asked();
    assert_asks(&again, command::RE_AUTH, &anns, name);
    // It goes away without an answer, and is away when there is more to ask.
    drop(client);
    eventually("the server sees it go", PATIENCE, async || {
        let peers = ocs.server.api().get("/api/v1/diameter-peers").await.expect(200);
        if peers.to_string().contains(name) { Err(peers) } else { Ok(()) }
    })
    .await;
    ocs.act(BOB, "topup", &json!({"amount": 50})).await;
    let mut client = ocs.client(name);
    let mut asked = [client.asked(), client.asked()];
    asked.sort_by_key(|request| request.find(avp::SESSION_ID).unwrap().data.to_vec());
    let mut sessions = [&anns, &bobs];
    sessions.sort();
    for (request, session) in asked.iter().zip(sessions) {
        assert_asks(request, command::RE_AUTH, session, name);
        client.reply(request, 2002);
    }
    // With what it wanted there is nothing to ask any more, whoever goes and comes.
    for (session, number) in [(&anns, 1), (&bobs, 1)] {
        let update = client.credit(session, UPDATE, number).with(|writer| {
            used(writer, 10);
            requested(writer, 25);
        });
        assert_eq!(granted(&client.ask(&update)), Some(25));
    }
    drop(client);
    ocs.listens().await;
    let mut client = ocs.client(name);
    client.works(ANN);
}
