//! A server asks by itself, and our side is the client: our own messages are paid elsewhere.

use super::PATIENCE;
use super::connecting::Listener;
use super::elsewhere::{asked_next, cca, charges, house, said, town};
use crate::world::{carrier, count, phone_owner};
use diameter::check::{Origin, check};
use diameter::credit::answer::{ServerRequest, SessionPart};
use diameter::dictionary::{avp, command};
use it::credit::{CreditClient, Heard, INITIAL, TERMINATION, UPDATE};
use it::{Server, sms_route};
use serde_json::json;
use std::time::Duration;

/// Asks the house about a session, and takes its answer.
fn ask(line: &mut CreditClient, command: u32, session_id: &str, to: &str) -> Heard {
    let request = ServerRequest {
        session_id,
        origin: Origin { host: "ocs.client.test", realm: "client.test" },
        destination_host: to,
        destination_realm: "client.test",
        origin_state_id: None,
        part: SessionPart::All,
    };
    let mut octets = Vec::new();
    match command {
        command::RE_AUTH => request.write_re_auth(7, 9, &mut octets),
        _ => request.write_abort(7, 9, &mut octets),
    };
    line.send(&octets);
    let answer = asked_next(line);
    let header = answer.message().header;
    assert_eq!((header.command, header.hop_by_hop, header.end_to_end), (command, 7, 9));
    assert!(!header.flags.is_request());
    if let Err(fault) = check(&answer.message()) {
        panic!("it breaks its grammar: {fault}; {answer:?}");
    }
    assert_eq!(answer.find(avp::SESSION_ID).unwrap().utf8(), Ok(session_id));
    assert_eq!(answer.find(avp::ORIGIN_HOST).unwrap().utf8(), Ok(HOUSE));
    answer
}

const HOUSE: &str = "house.client.test";

fn units(asked: &Heard, name: diameter::avp::AvpName) -> Option<u64> {
    asked.within(&[name, avp::CC_SERVICE_SPECIFIC_UNITS]).map(|units| units.u64().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_house_that_pays_elsewhere_asks_again_or_keeps_a_message_back_when_its_server_wants_it() {
    let (ocs, port) = Listener::open("ocs.client.test");
    let carrier = carrier().await;
    let servers = charges(ocs.name, "client.test", port, 1);
    let server = Server::start(&house(&servers, "", &sms_route("carrier", carrier.address(), ""))).await;
    let town = town(&server).await;
    town.add_recipients(&json!([phone_owner("ann", 0)])).await;
    let mut line = ocs.open_next();
    // RAR, before the grant: an UPDATE comes after it, and the end of the session after that.
    let alert = town.submit(&json!({"text": "The dam has burst", "audience": ["all"]})).await;
    let asked = asked_next(&mut line);
    let (session, kind, ..) = said(&asked);
    assert_eq!(kind, INITIAL);
    assert_eq!(ask(&mut line, command::RE_AUTH, &session, HOUSE).code(), 2002);
    line.send(&cca(&asked, ocs.name, 2001));
    let update = asked_next(&mut line);
    assert_eq!(said(&update), (session.clone(), UPDATE, 1, false));
    assert_eq!(units(&update, avp::REQUESTED_SERVICE_UNIT), Some(1));
    assert_eq!(units(&update, avp::USED_SERVICE_UNIT), Some(0));
    line.send(&cca(&update, ocs.name, 2001));
    let end = asked_next(&mut line);
    assert_eq!(said(&end), (session.clone(), TERMINATION, 2, false));
    assert_eq!(units(&end, avp::USED_SERVICE_UNIT), Some(1));
    line.send(&cca(&end, ocs.name, 2001));
    town.done(&alert, PATIENCE).await;
    // ASR, before the grant: the message is kept back, and nothing of it is used.
    let alert = town.submit(&json!({"text": "Do not send this", "audience": ["all"]})).await;
    let asked = asked_next(&mut line);
    let (session, ..) = said(&asked);
    assert_eq!(ask(&mut line, command::ABORT_SESSION, &session, HOUSE).code(), 2001);
    line.send(&cca(&asked, ocs.name, 2001));
    let end = asked_next(&mut line);
    assert_eq!(said(&end), (session.clone(), TERMINATION, 1, false));
    assert_eq!(units(&end, avp::USED_SERVICE_UNIT), Some(0));
    line.send(&cca(&end, ocs.name, 2001));
    let report = town.done(&alert, Duration::from_secs(60)).await;
    assert_eq!(count(&report, "failed"), 1, "{report}");
    assert_eq!(carrier.stats().accepted, 1);
    // Sessions of others, and events; requests for others, and ones that are not whole.
    for stranger in ["house.client.test;1;2;3.4.5", "other.test;1;2;3", &format!("{session}.late")] {
        assert_eq!(ask(&mut line, command::RE_AUTH, stranger, HOUSE).code(), 5002);
        assert_eq!(ask(&mut line, command::ABORT_SESSION, stranger, HOUSE).code(), 5002);
    }
    assert_eq!(ask(&mut line, command::ABORT_SESSION, &session, "other.test").code(), 3002);
    // One of this house that this process does not remember may be one of the process before it.
    assert_eq!(ask(&mut line, command::RE_AUTH, &session, HOUSE).code(), 5012);
}
