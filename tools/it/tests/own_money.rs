//! Our own messages are paid from the ledger: held before they are sent, charged once each, and refused where
//! there is no money.

use crate::fixtures::{LATER, SOON, carrier, carrier_that, count, number, phone_owner, phones_csv};
use it::{Api, Server, eventually, program, sms_route};
use serde_json::{Value, json};
use std::process::Command;

/// Money is counted here, in units of one a part.
const CHARGING: &str = "[charging]\nmode = \"ledger\"\nshards = 2\n";

/// A client of an account with so much money.
pub(crate) async fn client(admin: &Api, account: &str, balance: i64) -> Api {
    admin.post("/api/v1/accounts", &json!({"id": account, "balance": balance})).await.expect(201);
    let made =
        admin.post("/api/v1/tokens", &json!({"role": "operator", "account": account})).await.expect(201);
    admin.with_token(made["token"].as_str().unwrap())
}

/// Balance, reserved, used, debt.
pub(crate) async fn money(admin: &Api, account: &str) -> [i64; 4] {
    let account = admin.get(&format!("/api/v1/accounts/{account}")).await.expect(200);
    ["balance", "reserved", "used", "debt"].map(|name| account[name].as_i64().unwrap())
}

/// Waits until everything is settled.
pub(crate) async fn comes_to(admin: &Api, account: &str, wanted: [i64; 4]) {
    eventually("the account comes to rest", LATER, async || {
        let is = money(admin, account).await;
        if is == wanted { Ok(()) } else { Err(format!("{is:?} is not {wanted:?}")) }
    })
    .await;
}

fn sent(report: &Value) -> u64 {
    count(report, "accepted") + count(report, "delivered")
}

/// The books of a server that has stopped are equal to the unit.
fn audit(server: &Server) -> Value {
    let data = server.data().to_str().unwrap();
    let output = Command::new(program())
        .args(["ledger", "audit", "--data", data, "--format", "json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn an_account_pays_for_as_many_as_it_can_and_the_others_are_refused_with_the_reason() {
    let carrier = carrier().await;
    let mut server =
        Server::start(&format!("{CHARGING}{}", sms_route("carrier", carrier.address(), ""))).await;
    let admin = server.api();
    let town = client(&admin, "town", 60).await;
    town.import_csv(phones_csv(100)).await;

    let alert = town.submit(&json!({"text": "The dam has burst", "audience": ["all"]})).await;
    let report = town.done(&alert, LATER).await;
    assert_eq!((sent(&report), count(&report, "failed")), (60, 40), "{report}");
    let deliveries = town.deliveries(&alert).await;
    let refused: Vec<&Value> = deliveries.iter().filter(|delivery| delivery["state"] == "failed").collect();
    assert_eq!(refused.len(), 40);
    for delivery in refused {
        assert!(delivery.to_string().contains("the account has no money"), "{delivery}");
    }
    comes_to(&admin, "town", [0, 0, 60, 0]).await;

    // Two parts cost two: one unit is left over.
    admin.post("/api/v1/accounts/town:topup", &json!({"amount": 21})).await.expect(200);
    let alert = town.submit(&json!({"text": "0123456789".repeat(20), "audience": ["all"]})).await;
    let report = town.done(&alert, LATER).await;
    assert_eq!((sent(&report), count(&report, "failed")), (10, 90), "{report}");
    comes_to(&admin, "town", [1, 0, 80, 0]).await;
    // Nothing of what was refused came to the carrier: 60 of one part, 10 of two.
    assert_eq!(carrier.stats().accepted, 80);

    assert!(server.stop().await.success());
    assert_eq!(audit(&server)["charged"], 80);
}

#[tokio::test]
async fn an_emergency_waits_for_no_money_and_owes_what_it_costs() {
    let carrier = carrier().await;
    let mut server =
        Server::start(&format!("{CHARGING}{}", sms_route("carrier", carrier.address(), ""))).await;
    let admin = server.api();
    let town = client(&admin, "town", 0).await;
    let people: Vec<Value> = (0..5).map(|place| phone_owner(&format!("p{place}"), place)).collect();
    town.add_recipients(&json!(people)).await;

    let alert = json!({"text": "run", "audience": ["all"], "priority": "emergency"});
    let report = town.done(&town.submit(&alert).await, SOON).await;
    assert_eq!(sent(&report), 5, "{report}");
    assert!((0..5).all(|place| carrier.accepted(&number(place), "run") == 1));
    comes_to(&admin, "town", [0, 0, 0, 5]).await;
    let routine = town.submit(&json!({"text": "walk", "audience": ["all"]})).await;
    let report = town.done(&routine, SOON).await;
    assert_eq!((sent(&report), count(&report, "failed")), (0, 5), "{report}");

    assert!(server.stop().await.success());
    assert_eq!(audit(&server)["owed"], 5);
}

#[tokio::test]
async fn killed_in_the_middle_every_message_is_charged_once() {
    const PEOPLE: i64 = 2_000;
    let carrier = carrier_that(|options| options.latency = "1ms..25ms".parse().unwrap()).await;
    let route = sms_route("carrier", carrier.address(), "rate = 400.0\nsessions = 2\nwindow = 20");
    let mut server = Server::start(&format!("{CHARGING}{route}")).await;
    let admin = server.api();
    let town = client(&admin, "town", 2 * PEOPLE).await;
    town.import_csv(phones_csv(PEOPLE as u64)).await;
    let alert = json!({"text": "The dam has burst", "audience": ["all"], "on_unknown": "hold"});
    let alert = town.submit(&alert).await;
    for kill in 1..=2 {
        let wanted = carrier.stats().accepted + 400;
        eventually("messages go out", LATER, async || {
            let accepted = carrier.stats().accepted;
            if accepted >= wanted { Ok(()) } else { Err(format!("{accepted} before kill {kill}")) }
        })
        .await;
        server.kill9();
        server.restart().await;
    }
    let rests =
        |report: &Value| ["planned", "held", "submitted"].iter().all(|state| count(report, state) == 0);
    let report = town.until(&alert, "all is decided", LATER, rests).await;
    let (charged, unknown) = (sent(&report) as i64, count(&report, "unknown") as i64);
    assert_eq!(charged + unknown, PEOPLE, "{report}");
    // Two kills leave at most two times sessions and windows of which nobody knows: they stay held.
    assert!(unknown <= 2 * 2 * 20, "{report}");
    comes_to(&admin, "town", [2 * PEOPLE - charged, unknown, charged, 0]).await;

    assert!(server.stop().await.success());
    let books = audit(&server);
    assert_eq!(
        (books["charged"].as_i64(), books["pending"].as_i64()),
        (Some(charged), Some(unknown)),
        "{books}"
    );
}
