//! A server asks by itself, and our side is the client: our own messages are paid elsewhere.

use super::PATIENCE;
use super::connecting::Listener;
use super::elsewhere::{asked_next, cca, cca_like, charges, said, sent, server, town};
use crate::fixtures::{LATER, carrier, carrier_that, count, mail_server_that, phone_owner};
use diameter::check::{Fault, Origin, check};
use diameter::credit::answer::{ServerRequest, SessionPart};
use diameter::dictionary::{avp, command};
use it::credit::{CreditClient, INITIAL, ReceivedMessage, TERMINATION, UPDATE};
use it::{Api, Server, eventually, free_port, mail_route, sms_route};
use serde_json::json;
use sim::town::Habits;
use std::time::Duration;

/// Asks a house about a session, and takes its answer.
pub(crate) fn ask_about(
    line: &mut CreditClient,
    command: u32,
    session_id: &str,
    to: &str,
) -> ReceivedMessage {
    let name = line.name().to_owned();
    let request = ServerRequest {
        session_id,
        origin: Origin { host: &name, realm: "client.test" },
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
    answer
}

/// The same of the server of these stories.
fn ask(line: &mut CreditClient, command: u32, session_id: &str, to: &str) -> ReceivedMessage {
    let answer = ask_about(line, command, session_id, to);
    assert_eq!(answer.find(avp::ORIGIN_HOST).unwrap().utf8(), Ok(HOUSE));
    answer
}

const HOUSE: &str = "house.client.test";

/// How many units a request names so.
pub(crate) fn units(asked: &ReceivedMessage, name: diameter::avp::AvpName) -> Option<u64> {
    asked.within(&[name, avp::CC_SERVICE_SPECIFIC_UNITS]).map(|units| units.u64().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_house_that_pays_elsewhere_asks_again_or_keeps_a_message_back_when_its_server_wants_it() {
    let (ocs, port) = Listener::open("ocs.client.test");
    let carrier = carrier().await;
    let servers = charges(ocs.name, "client.test", port, 1);
    let server = Server::start(&server(&servers, "", &sms_route("carrier", carrier.address(), ""))).await;
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

/// A house whose carrier says nothing of what it is given, and the server where it pays.
struct Silent {
    ocs: Listener,
    carrier: sim::smsc::Smsc,
    server: Server,
    town: Api,
    line: CreditClient,
}

impl Silent {
    async fn start() -> Silent {
        let (ocs, port) = Listener::open("ocs.client.test");
        let carrier = carrier_that(|options| options.silence = 1.0).await;
        let servers = charges(ocs.name, "client.test", port, 1);
        let route = sms_route("carrier", carrier.address(), "");
        let server = Server::start(&server(&servers, "", &route)).await;
        let town = town(&server).await;
        town.add_recipients(&json!([phone_owner("ann", 0)])).await;
        let line = ocs.open_next();
        Silent { ocs, carrier, server, town, line }
    }

    /// A message that the carrier has, and the session that was granted for it.
    async fn submit(&mut self) -> (String, String) {
        let alert = json!({"text": "The dam has burst", "audience": ["all"], "on_unknown": "hold"});
        let alert = self.town.submit(&alert).await;
        let asked = asked_next(&mut self.line);
        let (session, ..) = said(&asked);
        self.line.send(&cca(&asked, self.ocs.name, 2001));
        eventually("the carrier has the message", LATER, async || match self.carrier.stats().silent {
            0 => Err("nothing was submitted"),
            _ => Ok(()),
        })
        .await;
        (alert, session)
    }

    /// The same, of which nobody knows.
    async fn unknown(&mut self) -> (String, String) {
        let (alert, session) = self.submit().await;
        self.carrier.disconnect();
        self.town.until(&alert, "nobody knows", LATER, |report| count(report, "unknown") == 1).await;
        (alert, session)
    }

    fn kill_and_start(&mut self) {
        self.server.kill9();
        self.server.spawn_again();
        self.line = self.ocs.open_next();
    }

    /// The server wants it ended, and is told that it ends.
    fn abort(&mut self, session: &str) {
        assert_eq!(ask(&mut self.line, command::ABORT_SESSION, session, HOUSE).code(), 2001);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_message_is_unknown_is_ended_with_none_used_when_its_server_wants_it() {
    let mut server = Silent::start().await;
    let (alert, session) = server.unknown().await;
    // It is kept: only now something is said of it.
    server.abort(&session);
    let end = asked_next(&mut server.line);
    assert_eq!(said(&end), (session.clone(), TERMINATION, 1, false));
    assert_eq!(units(&end, avp::USED_SERVICE_UNIT), Some(0));
    server.line.send(&cca(&end, server.ocs.name, 2001));
    assert_eq!(count(&server.town.report(&alert).await, "unknown"), 1, "it stays what it is");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_told_that_a_session_ends_has_it_ended_though_the_house_is_killed_at_once() {
    let mut server = Silent::start().await;
    // The message is under way: its outcome is to end the session, and that comes from whoever is there then.
    let (_alert, session) = server.submit().await;
    server.abort(&session);
    server.kill_and_start();
    ends_unused(&mut server.line, &session);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_that_was_told_before_a_kill_and_not_answered_is_told_again_with_the_t_bit() {
    let mut server = Silent::start().await;
    let (_alert, session) = server.unknown().await;
    server.abort(&session);
    assert_eq!(said(&asked_next(&mut server.line)), (session.clone(), TERMINATION, 1, false));
    // Who comes next wants to tell it before it can ask anybody.
    server.kill_and_start();
    let end = ends_unused(&mut server.line, &session);
    assert_eq!(said(&end), (session, TERMINATION, 1, true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_was_unknown_before_a_kill_is_ended_when_its_server_wants_it_after_it() {
    let mut server = Silent::start().await;
    let (alert, session) = server.unknown().await;
    server.kill_and_start();
    server.server.ready().await;
    server.abort(&session);
    ends_unused(&mut server.line, &session);
    assert_eq!(count(&server.town.report(&alert).await, "unknown"), 1, "it stays what it is");
}

/// The session ends, with none used.
fn ends_unused(line: &mut CreditClient, session: &str) -> ReceivedMessage {
    let end = asked_of(line, session);
    assert_eq!(said(&end).1, TERMINATION);
    assert_eq!(units(&end, avp::USED_SERVICE_UNIT), Some(0));
    line.send(&cca(&end, line.name(), 2001));
    end
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_of_which_nobody_knows_is_settled_by_the_bounce_that_comes_after_a_kill() {
    let (ocs, port) = Listener::open("ocs.client.test");
    let door = free_port();
    // Every mail is taken, the connection cut before that is said, and a bounce comes back later.
    let mut people = Habits::silent(1);
    people.mail.lost = 1.0;
    let mails = mail_server_that(|options| {
        (options.disconnect, options.disconnect_accepts) = (1.0, 1.0);
        options.people = Some(people);
        options.bounce_after = "8s".parse().unwrap();
        options.door = Some(format!("127.0.0.1:{door}"));
    })
    .await;
    let servers = charges(ocs.name, "client.test", port, 1);
    let route = format!(
        "{}[smtp]\nlisten = \"127.0.0.1:{door}\"\ndomain = \"in.city.test\"\n",
        mail_route("relay", mails.address(), "")
    );
    let mut server = Server::start(&server(&servers, "", &route)).await;
    let town = town(&server).await;
    let mut line = ocs.open_next();
    let alert =
        json!({"text": "The dam has burst", "audience": ["mail:ann@town.test"], "on_unknown": "hold"});
    let alert = town.submit(&alert).await;
    let asked = asked_next(&mut line);
    let (session, ..) = said(&asked);
    line.send(&cca(&asked, ocs.name, 2001));
    town.until(&alert, "nobody knows", LATER, |report| count(report, "unknown") == 1).await;
    server.kill9();
    server.spawn_again();
    line = ocs.open_next();
    ends_unused(&mut line, &session);
    town.until(&alert, "it came back", LATER, |report| count(report, "failed") == 1).await;
}

/// Whether a server answers the end of a session that has an update's number with the answer to that, or
/// blames the number.
#[derive(Clone, Copy)]
enum Taken {
    ByItsAnswer,
    ByBlame,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_kill_a_session_goes_on_with_the_number_after_its_update_and_the_server_takes_it() {
    let (ocs, port) = Listener::open("ocs.client.test");
    let carrier = carrier().await;
    let servers = charges(ocs.name, "client.test", port, 1);
    let mut server = Server::start(&server(&servers, "", &sms_route("carrier", carrier.address(), ""))).await;
    let town = town(&server).await;
    town.add_recipients(&json!([phone_owner("ann", 0)])).await;
    let mut line = ocs.open_next();
    for (told, taken) in [(1, Taken::ByItsAnswer), (2, Taken::ByBlame)] {
        let alert = town.submit(&json!({"text": "The dam has burst", "audience": ["all"]})).await;
        let asked = asked_next(&mut line);
        let (session, kind, number, _) = said(&asked);
        assert_eq!((kind, number), (INITIAL, 0));
        assert_eq!(ask(&mut line, command::RE_AUTH, &session, HOUSE).code(), 2002);
        line.send(&cca(&asked, ocs.name, 2001));
        // The update is under way, and the end waits for it, when the server is killed: it knows then what
        // became of the message alone.
        let update = asked_next(&mut line);
        assert_eq!(said(&update), (session.clone(), UPDATE, 1, false));
        town.until(&alert, "the carrier has it", LATER, |report| sent(report) == 1).await;
        server.kill9();
        server.spawn_again();
        line = ocs.open_next();
        let end = asked_of(&mut line, &session);
        assert_eq!(said(&end), (session.clone(), TERMINATION, 1, true));
        line.send(&match taken {
            Taken::ByItsAnswer => cca_like(&end, &update, ocs.name, 2001),
            Taken::ByBlame => blames_the_number(&end, ocs.name),
        });
        let end = asked_of(&mut line, &session);
        assert_eq!(said(&end), (session.clone(), TERMINATION, 2, true));
        assert_eq!(units(&end, avp::USED_SERVICE_UNIT), Some(1));
        line.send(&cca(&end, ocs.name, 2001));
        server.ready().await;
        town.done(&alert, PATIENCE).await;
        assert_eq!(carrier.stats().accepted, told);
    }
}

/// The next request of this session. The end of one before may be told again, since it is on disk within a
/// second that it was told: the server does not know it any more.
fn asked_of(line: &mut CreditClient, session: &str) -> ReceivedMessage {
    loop {
        let asked = asked_next(line);
        let (of, kind, _, is_again) = said(&asked);
        if of == session {
            return asked;
        }
        assert_eq!((kind, is_again), (TERMINATION, true));
        let answer = cca(&asked, line.name(), 5002);
        line.send(&answer);
    }
}

/// INVALID_AVP_VALUE, and the AVP (RFC 6733, section 7.5).
fn blames_the_number(asked: &ReceivedMessage, name: &str) -> Vec<u8> {
    const INVALID_AVP_VALUE: u32 = 5004;
    let mut octets = Vec::new();
    let origin = Origin { host: name, realm: "client.test" };
    let message = asked.message();
    let blamed = asked.find(avp::CC_REQUEST_NUMBER).unwrap();
    Fault::of(INVALID_AVP_VALUE, &message, &blamed).answer(&message, &origin, None, &mut octets);
    octets
}
