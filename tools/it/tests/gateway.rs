//! Platforms' messages among others: lanes, keywords, changes while it runs, many routes.

use crate::fixtures::{SOON, carrier, carrier_that, number};
use crate::rate::most_in_a_second;
use futures_util::future::join_all;
use it::{
    Callbacks, Esme, EsmeBy, Login, Reply, SendSms, Server, SyscallTrace, escaped, eventually, free_port,
    platform, smpp_client, smpp_door, sms_route,
};
use serde_json::json;
use sim::smsc::{Injection, Smsc};
use std::fs;

const OURS: &str = "71700";

fn digits(number: &str) -> String {
    number.trim_start_matches('+').to_owned()
}

fn says(carrier: &Smsc, person: &str, text: &str) {
    let injection = Injection {
        from: digits(person),
        to: OURS.to_owned(),
        text: text.to_owned(),
        account: None,
        long: None,
    };
    carrier.inject(&injection).unwrap();
}

fn sendsms(server: &Server, username: &str) -> SendSms {
    SendSms::new(&format!("{}/cgi-bin/sendsms", server.url()), username)
}

async fn arrived(carrier: &Smsc, to: &str, text: &str) {
    eventually(&format!("{text:?} is at the carrier"), SOON, async || match carrier.accepted(to, text) {
        1 => Ok(()),
        _ => Err(format!("{:?}", carrier.messages(20))),
    })
    .await;
}

#[tokio::test]
async fn an_emergency_and_an_urgent_message_pass_routine_ones_that_wait() {
    const ROUTINE: usize = 600;
    const PER_SECOND: usize = 20;
    let (carrier, port) = (carrier().await, free_port());
    let keys = format!("numbers = [\"{OURS}\"]");
    let config = [
        smpp_door(port),
        smpp_client("platform", &keys),
        platform("bulk", ""),
        sms_route("carrier", carrier.address(), &format!("rate = {PER_SECOND}.0")),
    ];
    let server = Server::start(&config.concat()).await;
    let bulk = sendsms(&server, "bulk");
    let requests = (0..ROUTINE).map(|place| {
        let (bulk, to) = (bulk.clone(), escaped(&format!("+46701{place:06}")));
        async move { assert_eq!(bulk.get(&format!("to={to}&text=offer")).await.0, 202) }
    });
    join_all(requests).await;
    arrived(&carrier, "+46701000000", "offer").await;

    let esme = Esme::bind(EsmeBy::Npm, &Login::new(port, "platform")).await;
    let before = carrier.stats().messages;
    let everybody: Vec<String> = (0..5).map(|place| format!("sms:{}", number(place))).collect();
    let alert = json!({"text": "The dam has burst", "audience": everybody, "priority": "emergency"});
    let id = server.api().submit(&alert).await;
    esme.submit(OURS, &digits(&number(7)), "Your code is 4711", &[("priority", "3"), ("receipt", "1")]).await;
    server.api().done(&id, SOON).await;
    arrived(&carrier, &number(7), "Your code is 4711").await;
    let heard = carrier.messages(1_000);
    let routine = heard.iter().filter(|message| message.text == "offer").count();
    // What had its turn before, and a moment of what goes between.
    assert!(routine < ROUTINE / 2, "{routine} of {ROUTINE} went before");
    let last = heard.iter().rposition(|message| message.text == "The dam has burst").unwrap();
    assert!(last < before as usize + 5 + 2 * PER_SECOND, "the emergency waited: {last} after {before}");
}

#[tokio::test]
async fn stop_start_and_help_are_confirmed_once_and_obeyed_for_platforms_too() {
    let (carrier, callbacks) = (carrier().await, Callbacks::start().await);
    let keys = format!("numbers = [\"{OURS}\"]\ncallback = \"{}?text=%b\"", callbacks.url());
    let config = format!(
        "{KEYWORDS}{}{}{}",
        platform("shop", &keys),
        platform("other", ""),
        sms_route("carrier", carrier.address(), "")
    );
    let server = Server::start(&config).await;
    let (shop, other) = (sendsms(&server, "shop"), sendsms(&server, "other"));
    let to = escaped(&number(0));
    let listener = callbacks.url();
    let send = async |platform: &SendSms, text: &str| {
        let dlr_url = escaped(&format!("{listener}?of={text}&told=%d"));
        let query = format!("to={to}&from={OURS}&text={text}&dlr-mask=19&dlr-url={dlr_url}");
        assert_eq!(platform.get(&query).await.0, 202);
    };
    let told = async |of: &str| {
        eventually(&format!("{of} is told"), SOON, async || {
            let calls = callbacks.calls();
            let found = calls.iter().find(|call| call.target.contains(&format!("of={of}&")));
            found.map(|call| call.target.split("told=").nth(1).unwrap().to_owned()).ok_or(calls.len())
        })
        .await
    };
    send(&shop, "one").await;
    assert_eq!(told("one").await, "1");

    says(&carrier, &number(0), "help");
    arrived(&carrier, &number(0), "Reply STOP to end").await;
    says(&carrier, &number(0), "Stop!");
    arrived(&carrier, &number(0), "No more from us").await;
    // Said again, it holds again and is not confirmed again; what is no keyword shows that it was heard.
    says(&carrier, &number(0), "STOP");
    says(&carrier, &number(0), "please");
    eventually("what is no keyword is handed over", SOON, async || {
        let calls = callbacks.calls();
        if calls.iter().any(|call| call.target.ends_with("text=please")) { Ok(()) } else { Err(calls.len()) }
    })
    .await;
    send(&shop, "two").await;
    assert_eq!(told("two").await, "16", "refused");
    send(&other, "three").await;
    assert_eq!(told("three").await, "1", "what was stopped is the shop's");

    says(&carrier, &number(0), "start");
    arrived(&carrier, &number(0), "Welcome back").await;
    send(&shop, "four").await;
    assert_eq!(told("four").await, "1");
    let heard: Vec<String> = carrier.messages(100).into_iter().map(|message| message.text).collect();
    let expected = ["one", "Reply STOP to end", "No more from us", "three", "Welcome back", "four"];
    assert_eq!(heard, expected);
    let keywords = callbacks.calls().iter().filter(|call| call.target.contains("text=")).count();
    assert_eq!(keywords, 1, "keywords are ours");
}

const KEYWORDS: &str = r#"
[[keyword]]
action = "stop"
words = ["STOP", "SLUTA"]
reply = "No more from us"
[[keyword]]
action = "start"
words = ["START"]
reply = "Welcome back"
[[keyword]]
action = "help"
words = ["HELP"]
reply = "Reply STOP to end"
"#;

/// Somebody who does not live in Sweden, and somebody who lives in neither country.
const ABROAD: &str = "4780123456";
const FURTHER: &str = "4590123456";

/// Carriers of before, of after, and of both; clients likewise.
struct Change {
    stays: Smsc,
    goes: Smsc,
    comes: Smsc,
    port: u16,
    server: Server,
    /// What the harness wrote in front.
    head: String,
}

impl Change {
    async fn begin() -> Change {
        let (stays, goes, comes, port) = (carrier().await, carrier().await, carrier().await, free_port());
        let config = Change::before(port, &stays, &goes);
        let server = Server::start(&config).await;
        let text = fs::read_to_string(server.config()).unwrap();
        let head = text.split_once("[smpp]").unwrap().0.to_owned();
        Change { stays, goes, comes, port, server, head }
    }

    fn before(port: u16, stays: &Smsc, goes: &Smsc) -> String {
        [
            smpp_door(port),
            smpp_client("stays", ""),
            smpp_client("goes", ""),
            sms_route("stays", stays.address(), "prefixes = [\"+4670\"]\nrate = 500.0"),
            sms_route("goes", goes.address(), "prefixes = [\"+4780\"]"),
        ]
        .concat()
    }

    fn after(&self) -> String {
        [
            smpp_door(self.port),
            smpp_client("stays", ""),
            smpp_client("comes", ""),
            sms_route("stays", self.stays.address(), "prefixes = [\"+4670\"]\nrate = 3.0"),
            sms_route("comes", self.comes.address(), "prefixes = [\"+4590\"]"),
        ]
        .concat()
    }

    fn login(&self, system_id: &str) -> Login {
        Login::new(self.port, system_id)
    }

    async fn reload(&self, config: &str) -> Reply {
        fs::write(self.server.config(), format!("{}{config}", self.head)).unwrap();
        self.server.api().post("/api/v1/reload", &json!({})).await
    }

    /// The route's new rate holds.
    async fn nine_at_three_a_second(&self, esme: &Esme) {
        let begun = std::time::Instant::now();
        for place in 1..=9 {
            esme.submit(OURS, &digits(&number(place)), "slowly", &[]).await;
        }
        for place in 1..=9 {
            arrived(&self.stays, &number(place), "slowly").await;
        }
        assert!(begun.elapsed().as_secs_f64() > 1.5, "nine at 3 a second: {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn a_reload_changes_routes_rates_and_clients_and_touches_no_other_session() {
    let change = Change::begin().await;
    let here = Esme::bind(EsmeBy::Jsmpp, &change.login("stays")).await;
    let leaving = Esme::bind(EsmeBy::Npm, &change.login("goes")).await;
    here.submit(OURS, &digits(&number(0)), "one", &[("receipt", "1")]).await;
    leaving.submit(OURS, ABROAD, "one", &[("receipt", "1")]).await;
    arrived(&change.stays, &number(0), "one").await;
    arrived(&change.goes, ABROAD, "one").await;

    // A bad file changes nothing and says why.
    let refused = change.reload(&format!("{}rate = -1.0\n", change.after())).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
    assert!(refused.text.contains("rate"), "{}", refused.text);
    leaving.submit(OURS, ABROAD, "two", &[]).await;
    arrived(&change.goes, ABROAD, "two").await;

    let reply = change.reload(&change.after()).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    eventually("the carrier that went sees nobody bound, and the new one somebody", SOON, async || {
        let sessions = (change.goes.stats().sessions, change.comes.stats().sessions);
        if sessions == (0, 1) { Ok(()) } else { Err(format!("{sessions:?}")) }
    })
    .await;
    leaving.until("closed", 1).await;
    let again = Esme::try_bind(EsmeBy::Npm, &change.login("goes")).await;
    assert_eq!(again.err().expect("nobody knows it now")["status"], 0x0E, "as for a wrong password");
    let coming = Esme::bind(EsmeBy::Npm, &change.login("comes")).await;
    coming.submit(OURS, FURTHER, "hello", &[]).await;
    arrived(&change.comes, FURTHER, "hello").await;

    // The sessions that stayed are those of before, as their other ends see them.
    change.nine_at_three_a_second(&here).await;
    assert!(here.events("closed").is_empty());
    let stats = change.stays.stats();
    assert_eq!((stats.binds, stats.sessions), (1, 1), "the route's session stayed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_routes_at_five_a_second_each_keep_to_it_and_reach_it() {
    const ROUTES: usize = 50;
    const RATE: usize = 5;
    const SECONDS: usize = 8;
    let carrier = carrier_that(|options| options.capture_keep = 100_000).await;
    let mut config = platform("bulk", "");
    for route in 0..ROUTES {
        let keys = format!("rate = {RATE}.0\nprefixes = [\"+4670{route:02}\"]");
        config += &sms_route(&format!("route-{route:02}"), carrier.address(), &keys);
    }
    let mut server = Server::start(&config).await;
    let bulk = sendsms(&server, "bulk");
    let witness = SyscallTrace::attach(server.pid().unwrap());
    witness.watches(server.pid().unwrap()).await;
    let requests = (0..ROUTES).map(|route| {
        let bulk = bulk.clone();
        async move {
            for message in 0..RATE * SECONDS {
                let to = escaped(&format!("+4670{route:02}{message:06}"));
                assert_eq!(bulk.get(&format!("to={to}&text=x{message}")).await.0, 202);
            }
        }
    });
    join_all(requests).await;
    eventually("all are at the carrier", crate::fixtures::LATER, async || {
        let accepted = carrier.stats().accepted;
        if accepted == (ROUTES * RATE * SECONDS) as u64 { Ok(()) } else { Err(accepted) }
    })
    .await;
    server.stop().await;
    let by_destination = witness.submits_by_destination();
    let mut worst = 0;
    for route in 0..ROUTES {
        let prefix = format!("4670{route:02}");
        let mut stamps: Vec<u64> = by_destination
            .iter()
            .filter(|(_, to)| to.trim_start_matches('+').starts_with(&prefix))
            .map(|(stamp, _)| *stamp)
            .collect();
        stamps.sort_unstable();
        assert_eq!(stamps.len(), RATE * SECONDS, "route {route}");
        let most = most_in_a_second(&stamps);
        assert!(most <= RATE, "route {route}: {most} in a second");
        worst = worst.max(stamps[stamps.len() - 1] - stamps[0]);
    }
    // At its rate the last one goes SECONDS after the first; 2 % are let go.
    let at_most = (SECONDS as u64) * 1_020_000;
    assert!(worst <= at_most, "the slowest route took {worst} us");
}
