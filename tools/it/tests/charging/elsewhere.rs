//! Our own messages are paid at credit-control servers of others: another Campanile is the server, or a peer
//! by the octet.

use super::connecting::Listener;
use super::{Ocs, PATIENCE};
use crate::fixtures::{LATER, SOON, carrier, carrier_that, count, number, phone_owner, phones_csv};
use diameter::dictionary::{avp, command};
use diameter::header::CommandFlags;
use diameter::write::Writer;
use it::credit::{
    CreditClient, EVENT, INITIAL, ReceivedMessage, SERVER_HOST, SERVER_REALM, TERMINATION, answer_to,
};
use it::{Api, Server, eventually, free_port, sms_route};
use serde_json::{Value, json};

const PEOPLE: i64 = 2_000;
/// The account of the client `town`, as a server of others knows it.
pub(crate) const TOWN: &str = "private:town";
const SECOND: &str = "second.charging.test";

/// A charging server of this name, realm and place.
pub(crate) fn charges(host: &str, realm: &str, port: u16, place: u32) -> String {
    format!(
        "[[diameter.peer]]\norigin_host = \"{host}\"\nrealm = \"{realm}\"\naddress = \"127.0.0.1:{port}\"\ncharging = {place}\n"
    )
}

/// A house that pays at these servers, with more keys of `[charging]`.
pub(crate) fn server(servers: &str, charging: &str, route: &str) -> String {
    format!(
        "[diameter]\nlisten = \"127.0.0.1:{}\"\norigin_host = \"house.client.test\"\norigin_realm = \"client.test\"\nwatchdog = \"6s\"\n\
         reconnect = \"2s\"\n{servers}[charging]\nmode = \"diameter\"\n{charging}\n\
         [engine]\nretry_after = [\"3s\", \"5s\", \"10s\", \"20s\", \"20s\", \"20s\"]\n{route}",
        free_port()
    )
}

pub(crate) async fn town(server: &Server) -> Api {
    let made = json!({"role": "operator", "account": "town"});
    let made = server.api().post("/api/v1/tokens", &made).await.expect(201);
    server.api().with_token(made["token"].as_str().unwrap())
}

pub(crate) fn sent(report: &Value) -> i64 {
    (count(report, "accepted") + count(report, "delivered")) as i64
}

pub(crate) fn rests(report: &Value) -> bool {
    ["planned", "held", "submitted"].iter().all(|state| count(report, state) == 0)
}

/// Waits until the account is as it is wanted at all servers together: balance, reserved, used.
pub(crate) async fn comes_to(servers: &[&Ocs], wanted: (i64, i64, i64)) {
    eventually("the account comes to rest", LATER, async || {
        let mut all = (0, 0, 0);
        for server in servers {
            let (balance, reserved, used) = server.money(TOWN).await;
            all = (all.0 + balance, all.1 + reserved, all.2 + used);
        }
        if all == wanted { Ok(()) } else { Err(format!("{all:?} is not {wanted:?}")) }
    })
    .await;
}

async fn messages_go_out(carrier: &sim::smsc::Smsc, more: u64) {
    let wanted = carrier.stats().accepted + more;
    eventually("messages go out", LATER, async || {
        let accepted = carrier.stats().accepted;
        if accepted >= wanted { Ok(()) } else { Err(format!("{accepted} of {wanted}")) }
    })
    .await;
}

/// Slow enough that something can happen in the middle.
async fn slow_carrier() -> (sim::smsc::Smsc, String) {
    let carrier = carrier_that(|options| options.latency = "1ms..25ms".parse().unwrap()).await;
    let route = sms_route("carrier", carrier.address(), "rate = 400.0\nsessions = 2\nwindow = 20");
    (carrier, route)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_elsewhere_pays_for_as_many_as_it_can_and_the_others_are_refused_before_they_are_sent() {
    let ocs = Ocs::start("", "").await;
    ocs.fund(TOWN, 60).await;
    let carrier = carrier().await;
    let servers = charges(SERVER_HOST, SERVER_REALM, ocs.port, 1);
    let mut server = Server::start(&server(&servers, "", &sms_route("carrier", carrier.address(), ""))).await;
    let town = town(&server).await;
    town.import_csv(phones_csv(100)).await;
    let alert = town.submit(&json!({"text": "The dam has burst", "audience": ["all"]})).await;
    let report = town.done(&alert, LATER).await;
    assert_eq!((sent(&report), count(&report, "failed")), (60, 40), "{report}");
    for delivery in town.deliveries(&alert).await.iter().filter(|delivery| delivery["state"] == "failed") {
        assert!(delivery.to_string().contains("the account has no money"), "{delivery}");
    }
    comes_to(&[&ocs], (0, 0, 60)).await;
    // Two parts cost two: one unit is left over, and of what was granted in part nothing is kept.
    ocs.act(TOWN, "topup", &json!({"amount": 21})).await;
    let alert = town.submit(&json!({"text": "0123456789".repeat(20), "audience": ["all"]})).await;
    let report = town.done(&alert, LATER).await;
    assert_eq!((sent(&report), count(&report, "failed")), (10, 90), "{report}");
    comes_to(&[&ocs], (1, 0, 80)).await;
    assert_eq!(carrier.stats().accepted, 80, "nothing of what was refused came to the carrier");
    ocs.act(TOWN, "block", &json!({})).await;
    let alert = town.submit(&json!({"text": "once more", "audience": ["all"]})).await;
    let report = town.done(&alert, LATER).await;
    assert_eq!((sent(&report), count(&report, "failed")), (0, 100), "{report}");
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_emergency_goes_out_while_no_server_answers_and_is_charged_when_one_does() {
    let port = free_port();
    let carrier = carrier().await;
    let servers = charges(SERVER_HOST, SERVER_REALM, port, 1);
    let server =
        Server::start(&server(&servers, "tx = \"2s\"", &sms_route("carrier", carrier.address(), ""))).await;
    let town = town(&server).await;
    let people: Vec<Value> = (0..5).map(|place| phone_owner(&format!("p{place}"), place)).collect();
    town.add_recipients(&json!(people)).await;
    let alert = json!({"text": "run", "audience": ["all"], "priority": "emergency"});
    let report = town.done(&town.submit(&alert).await, SOON).await;
    assert_eq!(sent(&report), 5, "{report}");
    assert!((0..5).all(|place| carrier.accepted(&number(place), "run") == 1));
    // Others wait for who pays, and are tried again.
    let routine = town.submit(&json!({"text": "walk", "audience": ["all"]})).await;
    town.until(&routine, "it is refused for now", LATER, |report| {
        count(report, "failed") == 0 && count(report, "planned") + count(report, "held") == 5
    })
    .await;
    assert!((0..5).all(|place| carrier.accepted(&number(place), "walk") == 0));
    let config = format!(
        "{}[charging]\ndefault_account = {{balance = 1000}}\n",
        it::credit::diameter_door(port, "watchdog = \"6s\"")
    );
    let ocs = Ocs { server: Server::start(&config).await, port };
    ocs.listens().await;
    let report = town.done(&routine, LATER).await;
    assert_eq!(sent(&report), 5, "{report}");
    comes_to(&[&ocs], (990, 0, 10)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_the_middle_a_house_has_every_message_charged_once() {
    let ocs = Ocs::start("watchdog = \"6s\"", "").await;
    ocs.fund(TOWN, 2 * PEOPLE).await;
    let (carrier, route) = slow_carrier().await;
    let servers = charges(SERVER_HOST, SERVER_REALM, ocs.port, 1);
    let mut server = Server::start(&server(&servers, "", &route)).await;
    let alert = {
        let town = town(&server).await;
        town.import_csv(phones_csv(PEOPLE as u64)).await;
        let alert = json!({"text": "The dam has burst", "audience": ["all"], "on_unknown": "hold"});
        (town.submit(&alert).await, town)
    };
    for _ in 0..2 {
        messages_go_out(&carrier, 400).await;
        server.kill9();
        server.restart().await;
    }
    let (alert, town) = alert;
    let report = town.until(&alert, "all is decided", LATER, rests).await;
    let (charged, unknown) = (sent(&report), count(&report, "unknown") as i64);
    assert_eq!(charged + unknown, PEOPLE, "{report}");
    // Two kills leave at most two times sessions and windows of which nobody knows: they stay reserved.
    assert!(unknown <= 2 * 2 * 20, "{report}");
    comes_to(&[&ocs], (2 * PEOPLE - charged, unknown, charged)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_the_middle_a_server_charges_every_message_once() {
    let mut ocs = Ocs::start("watchdog = \"6s\"", "").await;
    ocs.fund(TOWN, 2 * PEOPLE).await;
    let (carrier, route) = slow_carrier().await;
    let servers = charges(SERVER_HOST, SERVER_REALM, ocs.port, 1);
    let server = Server::start(&server(&servers, "", &route)).await;
    let town = town(&server).await;
    town.import_csv(phones_csv(PEOPLE as u64)).await;
    let alert = town.submit(&json!({"text": "The dam has burst", "audience": ["all"]})).await;
    messages_go_out(&carrier, 400).await;
    ocs.kill_and_restart().await;
    let report = town.until(&alert, "all is decided", LATER, rests).await;
    assert_eq!(sent(&report), PEOPLE, "{report}");
    assert_eq!(carrier.stats().accepted, PEOPLE as u64);
    comes_to(&[&ocs], (PEOPLE, 0, PEOPLE)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_a_server_is_lost_the_next_one_is_asked_and_both_together_charge_every_message_once() {
    let mut first = Ocs::start("watchdog = \"6s\"", "").await;
    let second_port = free_port();
    let config = format!(
        "[diameter]\nlisten = \"127.0.0.1:{second_port}\"\norigin_host = \"{SECOND}\"\norigin_realm = \"{SERVER_REALM}\"\nwatchdog = \"6s\"\n[charging]\n"
    );
    let second = Ocs { server: Server::start(&config).await, port: second_port };
    second.listens().await;
    first.fund(TOWN, PEOPLE).await;
    second.fund(TOWN, PEOPLE).await;
    let (carrier, route) = slow_carrier().await;
    let servers = format!(
        "{}{}",
        charges(SECOND, SERVER_REALM, second.port, 2),
        charges(SERVER_HOST, SERVER_REALM, first.port, 1)
    );
    let server = Server::start(&server(&servers, "", &route)).await;
    let town = town(&server).await;
    town.import_csv(phones_csv(PEOPLE as u64)).await;
    let alert = town.submit(&json!({"text": "The dam has burst", "audience": ["all"]})).await;
    messages_go_out(&carrier, 400).await;
    assert_eq!(second.money(TOWN).await, (PEOPLE, 0, 0), "the first server is asked first");
    first.server.kill9();
    let report = town.until(&alert, "all is decided", LATER, rests).await;
    assert_eq!(sent(&report), PEOPLE, "{report}");
    assert_eq!(carrier.stats().accepted, PEOPLE as u64);
    assert!(second.money(TOWN).await.1 + second.money(TOWN).await.2 > 0);
    first.server.restart().await;
    first.listens().await;
    // What the first one reserved and was not told of ends there with its Tcc.
    eventually("both together charge every message once", LATER, async || {
        let (one, other) = (first.money(TOWN).await, second.money(TOWN).await);
        if one.2 + other.2 == PEOPLE && other.1 == 0 { Ok(()) } else { Err(format!("{one:?} {other:?}")) }
    })
    .await;
}

/// An answer to a CCR, with this Result-Code.
pub(crate) fn cca(asked: &ReceivedMessage, name: &str, code: u32) -> Vec<u8> {
    cca_like(asked, asked, name, code)
}

/// An answer to a CCR that says what the answer to another of its session said.
pub(crate) fn cca_like(asked: &ReceivedMessage, like: &ReceivedMessage, name: &str, code: u32) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut writer = Writer::answer(&mut octets, &asked.message().header);
    writer.utf8(avp::SESSION_ID, asked.find(avp::SESSION_ID).unwrap().utf8().unwrap());
    writer.u32(avp::RESULT_CODE, code);
    writer.identity(avp::ORIGIN_HOST, name);
    writer.identity(avp::ORIGIN_REALM, "client.test");
    writer.u32(avp::AUTH_APPLICATION_ID, 4);
    for name in [avp::CC_REQUEST_TYPE, avp::CC_REQUEST_NUMBER] {
        writer.u32(name, number_of(like, name));
    }
    writer.finish();
    octets
}

fn number_of(asked: &ReceivedMessage, name: diameter::avp::AvpName) -> u32 {
    asked.find(name).unwrap().u32().unwrap()
}

/// A peer that says nothing else for so many watchdogs has nothing to say.
const WATCHDOGS_MAX: usize = 40;

/// The next request of credit control; DWRs are answered meanwhile.
pub(crate) fn asked_next(line: &mut CreditClient) -> ReceivedMessage {
    for _ in 0..WATCHDOGS_MAX {
        let heard = line.try_hear().unwrap();
        if heard.message().header.command != command::DEVICE_WATCHDOG {
            return heard;
        }
        let answer = answer_to(&heard, line.name());
        line.send(&answer);
    }
    panic!("{WATCHDOGS_MAX} watchdogs came, and nothing else");
}

/// Session-Id, CC-Request-Type, CC-Request-Number, and whether it bears the T bit.
pub(crate) fn said(asked: &ReceivedMessage) -> (String, u32, u32, bool) {
    let header = asked.message().header;
    assert_eq!(header.command, command::CREDIT_CONTROL);
    assert!(header.flags.is_request() && header.flags.0 & CommandFlags::PROXIABLE.0 != 0);
    let session = asked.find(avp::SESSION_ID).unwrap().utf8().unwrap().to_owned();
    let (kind, number) = (number_of(asked, avp::CC_REQUEST_TYPE), number_of(asked, avp::CC_REQUEST_NUMBER));
    (session, kind, number, header.flags.is_retransmit())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_asked_before_a_crash_is_asked_again_with_the_same_words_and_the_t_bit() {
    let (ocs, port) = Listener::open("ocs.client.test");
    let carrier = carrier().await;
    let servers = charges(ocs.name, "client.test", port, 1);
    let mut server = Server::start(&server(&servers, "", &sms_route("carrier", carrier.address(), ""))).await;
    let town = town(&server).await;
    town.add_recipients(&json!([phone_owner("ann", 0)])).await;
    let mut line = ocs.open_next();
    let alert = town.submit(&json!({"text": "The dam has burst", "audience": ["all"]})).await;
    let (session, kind, first, _) = said(&asked_next(&mut line));
    assert_eq!((kind, first), (INITIAL, 0));
    assert!(session.starts_with("house.client.test;"), "{session}");
    server.kill9();
    server.spawn_again();
    let mut line = ocs.open_next();
    let asked = asked_next(&mut line);
    assert_eq!(said(&asked), (session.clone(), INITIAL, 0, true));
    let subscriber = asked.within(&[avp::SUBSCRIPTION_ID, avp::SUBSCRIPTION_ID_DATA]).unwrap();
    assert_eq!(subscriber.utf8(), Ok("town"));
    let units = asked.within(&[avp::REQUESTED_SERVICE_UNIT, avp::CC_SERVICE_SPECIFIC_UNITS]).unwrap();
    assert_eq!(units.u64(), Ok(1));
    assert_eq!(carrier.stats().accepted, 0, "nothing is sent before it is granted");
    line.send(&cca(&asked, ocs.name, 2001));
    // The message is accepted: one is used. Nobody answers, and the server dies again.
    let asked = asked_next(&mut line);
    assert_eq!(said(&asked), (session.clone(), TERMINATION, 1, false));
    let used = asked.within(&[avp::USED_SERVICE_UNIT, avp::CC_SERVICE_SPECIFIC_UNITS]).unwrap();
    assert_eq!(used.u64(), Ok(1));
    server.kill9();
    server.spawn_again();
    let mut line = ocs.open_next();
    let asked = asked_next(&mut line);
    assert_eq!(said(&asked), (session.clone(), TERMINATION, 1, true));
    // It was charged before: the session is gone. Nothing is charged a second time.
    line.send(&cca(&asked, ocs.name, 5002));
    server.ready().await;
    town.done(&alert, PATIENCE).await;
    assert_eq!(carrier.stats().accepted, 1);
    // The next message begins its own session. The server lost it, and was never told of its end: an event
    // debits it.
    town.submit(&json!({"text": "again", "audience": ["all"]})).await;
    let asked = asked_next(&mut line);
    let (other, kind, ..) = said(&asked);
    assert_eq!(kind, INITIAL);
    assert_ne!(other, session);
    line.send(&cca(&asked, ocs.name, 2001));
    let asked = asked_next(&mut line);
    assert_eq!(said(&asked), (other.clone(), TERMINATION, 1, false));
    line.send(&cca(&asked, ocs.name, 5002));
    let asked = asked_next(&mut line);
    assert_eq!(said(&asked), (format!("{other}.late"), EVENT, 0, false));
    assert_eq!(number_of(&asked, avp::REQUESTED_ACTION), 0);
    line.send(&cca(&asked, ocs.name, 2001));
}
