//! Clients of credit control that nobody here wrote: freeDiameter and Erlang/OTP's diameter. Each introduces
//! itself, is charged, is asked or asks whether the other lives, and says goodbye.

use super::{Ocs, PATIENCE};
use it::{CreditPeer, CreditPeerBy, eventually};
use serde_json::Value;

const EVENTS: &str = "46701740601";
const SESSIONS: &str = "46701740602";
const DWR: u64 = 280;
const DPR: u64 = 282;

async fn open() -> Ocs {
    let log = "[log]\nfilter = \"info,charging=debug\"";
    let ocs = Ocs::start("watchdog = \"6s\"", log).await;
    ocs.fund(EVENTS, 100).await;
    ocs.fund(SESSIONS, 100).await;
    ocs
}

/// Lets it do something, and waits for so many answers in all.
async fn answers(peer: &CreditPeer, verb: &str, count: usize) -> Vec<Value> {
    peer.peer.tell(verb, &[]);
    eventually("it has its answers", PATIENCE, async || {
        let trouble = peer.peer.events("trouble");
        assert!(trouble.is_empty(), "{trouble:?}");
        let answers = peer.peer.events("answer");
        if answers.len() >= count { Ok(answers) } else { Err(format!("{answers:?}")) }
    })
    .await
}

/// An event, one of nobody, a session; and what they cost.
async fn is_charged(ocs: &Ocs, peer: &CreditPeer) {
    answers(peer, "event", 1).await;
    answers(peer, "nobody", 2).await;
    let all = answers(peer, "session", 5).await;
    let said = all.iter().map(|answer| ["type", "number", "code"].map(|name| answer[name].as_i64().unwrap()));
    let expected = [[4, 0, 2001], [4, 0, 5030], [1, 0, 2001], [2, 1, 2001], [3, 2, 2001]];
    assert_eq!(said.collect::<Vec<_>>(), expected);
    assert_eq!(ocs.money(EVENTS).await, (97, 0, 3));
    assert_eq!(ocs.money(SESSIONS).await, (78, 0, 22));
}

/// The server saw it leave in order, for this cause.
async fn has_left(ocs: &Ocs, cause: &str) {
    let said = format!("the peer disconnected: {cause}");
    eventually("the server lets it go", PATIENCE, async || {
        let log = ocs.server.log();
        if log.contains(&said) { Ok(()) } else { Err(log) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn freediameter_connects_is_charged_and_leaves() {
    let ocs = open().await;
    let peer = CreditPeer::start(CreditPeerBy::FreeDiameter, ocs.port);
    let seen = |sent: bool, command: u64, request: bool| {
        let messages = peer.peer.events("message");
        messages.iter().any(|message| {
            message["sent"] == sent && message["command"] == command && message["request"] == request
        })
    };
    let open = async || if seen(false, 257, false) { Ok(()) } else { Err(format!("{:?}", peer.peer.all())) };
    eventually("capabilities are exchanged", PATIENCE, open).await;
    is_charged(&ocs, &peer).await;
    let answers = peer.peer.events("answer");
    // Its own dictionary finds nothing wrong with what we say.
    assert!(answers.iter().all(|answer| answer["sound"] == true), "{answers:?}");
    let granted: Vec<bool> = answers.iter().map(|answer| answer["granted"].as_bool().unwrap()).collect();
    assert_eq!(granted, [true, false, true, true, false]);
    eventually("who is silent is asked", PATIENCE, async || {
        let we_asked = seen(false, DWR, true) && seen(true, DWR, false);
        let it_asked = seen(true, DWR, true) && seen(false, DWR, false);
        if we_asked || it_asked { Ok(()) } else { Err("no watchdog") }
    })
    .await;
    peer.peer.tell("goodbye", &[]);
    eventually("its goodbye is answered", PATIENCE, async || {
        if seen(true, DPR, true) && seen(false, DPR, false) { Ok(()) } else { Err("no DPA") }
    })
    .await;
    has_left(&ocs, "REBOOTING").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erlangs_diameter_connects_is_charged_and_leaves() {
    let ocs = open().await;
    let peer = CreditPeer::start(CreditPeerBy::Erlang, ocs.port);
    let up = eventually("capabilities are exchanged", PATIENCE, async || {
        peer.peer.events("up").pop().ok_or_else(|| format!("{:?}", peer.peer.all()))
    })
    .await;
    assert_eq!((&up["code"], &up["host"]), (&2001.into(), &it::credit::SERVER_HOST.into()));
    is_charged(&ocs, &peer).await;
    let answers = peer.peer.events("answer");
    assert!(answers.iter().all(|answer| answer["echoed"] == true), "{answers:?}");
    let granted: Vec<u64> = answers.iter().map(|answer| answer["granted"].as_u64().unwrap()).collect();
    assert_eq!(granted, [3, 0, 10, 20, 0]);
    eventually("who is silent is asked", PATIENCE, async || {
        peer.peer.tell("statistics", &[]);
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        let Some(counted) = peer.peer.events("statistics").pop() else { return Err(Value::Null) };
        let count = |name: &str| counted[name].as_u64().unwrap();
        let (it_asked, we_asked) = (count("dwa_heard"), count("dwa_sent"));
        if it_asked + we_asked > 0 { Ok(()) } else { Err(counted) }
    })
    .await;
    peer.peer.tell("goodbye", &[]);
    has_left(&ocs, "DO_NOT_WANT_TO_TALK_TO_YOU").await;
    eventually("it has closed", PATIENCE, async || {
        if peer.peer.events("down").is_empty() { Err(format!("{:?}", peer.peer.all())) } else { Ok(()) }
    })
    .await;
}
