//! Story of what an operator sees of platforms: who is bound, how a message got there, what the config says;
//! and that the sessions of a client can be unbound.

use crate::fixtures::{SOON, carrier, number};
use it::{Api, Server, Setup, eventually, free_port, program, smpp_door};
use serde_json::{Value, json};
use std::process::Command;

/// Secrets of the config, which nothing shows.
const SECRETS: [&str; 4] = ["hush-carrier", "hush-client", "hush-water", "hush-query"];

/// A route of channel sms as `platform`, which is how our own SMPP client binds.
fn route(name: &str, address: &str, (system_id, password): (&str, &str)) -> String {
    format!(
        "[[route]]\nname = \"{name}\"\nchannel = \"sms\"\nmode = \"live\"\naddress = \"{address}\"\n\
         system_id = \"{system_id}\"\npassword = \"{password}\"\n\
         source = {{ton = 1, npi = 1, addr = \"46700000001\"}}\n"
    )
}

/// A server with an SMPP door, and another one that is its client.
struct Platforms {
    _carrier: sim::smsc::Smsc,
    server: Server,
    client: Server,
}

impl Platforms {
    async fn begin() -> Platforms {
        let (carrier, port) = (carrier().await, free_port());
        let config = [
            smpp_door(port),
            "[[smpp.client]]\nsystem_id = \"platform\"\npassword = \"hush-client\"\naccount = \"bank\"\nrate = 100\n"
                .to_owned(),
            "[[platform]]\nusername = \"water\"\npassword = \"hush-water\"\n\
             dlr_url = \"http://127.0.0.1:9/dlr?pw=hush-query\"\n[organisation]\nname = \"Town\"\n"
                .to_owned(),
            route("carrier", &carrier.address().to_string(), ("carrier", "hush-carrier")),
        ];
        let server = Server::start_with(Setup { config: config.concat(), ..Setup::default() }).await;
        let config = route("platform", &format!("127.0.0.1:{port}"), ("platform", "hush-client"));
        let client = Server::start(&config).await;
        Platforms { _carrier: carrier, server, client }
    }

    /// The client, once it is bound by sessions from other addresses than these.
    async fn bound(&self, but: &[String]) -> Value {
        eventually("the client is bound", SOON, async || {
            let client = self.server.api().get("/api/v1/clients/platform").await.expect(200);
            let is_new = addresses(&client).iter().all(|address| !but.contains(address));
            if is_new && !addresses(&client).is_empty() { Ok(client) } else { Err(client) }
        })
        .await
    }
}

fn addresses(client: &Value) -> Vec<String> {
    let sessions = client["sessions"].as_array().unwrap();
    sessions.iter().map(|session| session["address"].as_str().unwrap().to_owned()).collect()
}

fn printed(api: &Api, arguments: &[&str]) -> String {
    let mut command = Command::new(program());
    command.args(arguments).env("CAMPANILE_URL", api.url()).env("CAMPANILE_TOKEN", api.token());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn a_client_is_seen_with_its_message_step_by_step_and_is_unbound() {
    let platforms = Platforms::begin().await;
    let api = platforms.server.api();
    let bound = platforms.bound(&[]).await;
    assert_eq!((&bound["rate"]["limit"], &bound["account"]), (&json!(100.0), &json!("bank")), "{bound}");
    assert_eq!(bound["sessions"][0]["mode"], "transceiver", "{bound}");
    let to = number(3);
    let alert = json!({"text": "The dam has burst", "audience": [format!("sms:{to}")]});
    let id = platforms.client.api().submit(&alert).await;
    platforms.client.api().done(&id, SOON).await;

    // Its account sees the message, from the client to the last receipt.
    let body = json!({"role": "viewer", "account": "bank"});
    let token = api.post("/api/v1/tokens", &body).await.expect(201)["token"].as_str().unwrap().to_owned();
    let bank = api.with_token(&token);
    let path = format!("/api/v1/messages?number={}", to.trim_start_matches('+'));
    let found = eventually("the message is found by its number", SOON, async || {
        let page = bank.get(&path).await.expect(200);
        let first = page["items"][0].clone();
        if first["state"] == "delivered" { Ok(first) } else { Err(page) }
    })
    .await;
    let id = found["id"].as_str().unwrap();
    let message = eventually("the client was told", SOON, async || {
        let message = bank.get(&format!("/api/v1/messages/{id}")).await.expect(200);
        let told = message["steps"].as_array().unwrap().last().unwrap()["is_told"] == true;
        if told { Ok(message) } else { Err(message) }
    })
    .await;
    assert_eq!((&message["text"], &message["route"]), (&json!("The dam has burst"), &json!("carrier")));
    let steps: Vec<&str> =
        message["steps"].as_array().unwrap().iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!(steps[..5], ["taken", "planned", "sent", "accepted", "delivered"], "{message}");
    assert!(steps[5..].contains(&"reported"), "{message}");
    assert!(message["steps"][3]["carrier_id"].is_string(), "{message}");
    assert_eq!(api.get(&format!("/api/v1/messages/{id}")).await.status, 404, "of another account");
    assert!(printed(&bank, &["message", "show", id]).contains("Delivered"));

    let seen = api.get("/api/v1/clients/platform").await.expect(200);
    assert_eq!((&seen["submitted"], &seen["events_waiting"]), (&json!(1), &json!(0)), "{seen}");
    assert!(printed(&api, &["client", "list"]).contains("platform"));
    let before = addresses(&seen);
    let path = "/api/v1/clients/platform:unbind";
    let unbound = api.post(path, &json!({"reason": "a test"})).await.expect(202);
    assert_eq!(unbound["sessions"], before.len() as u64, "{unbound}");
    platforms.bound(&before).await;
    let trail = api.get("/api/v1/audit?verb=client.unbind").await.expect(200);
    assert_eq!(
        (&trail["items"][0]["object"], &trail["items"][0]["detail"]),
        (&json!("platform"), &json!("a test"))
    );
}

#[tokio::test]
async fn the_server_shows_its_state_and_its_config_without_secrets() {
    let platforms = Platforms::begin().await;
    let api = platforms.server.api();
    let config = api.get("/api/v1/config").await;
    let shown = config.expect(200);
    let found: Vec<&str> = SECRETS.into_iter().filter(|secret| config.text.contains(secret)).collect();
    assert!(found.is_empty(), "{found:?} in {shown}");
    let file = std::fs::read_to_string(platforms.server.config()).unwrap();
    for secret in SECRETS {
        assert!(file.contains(secret), "{secret} is not in the file");
    }
    let section = |path: &str| {
        let sections = shown["sections"].as_array().unwrap();
        sections.iter().find(|section| section["path"] == path).unwrap_or_else(|| panic!("{path}: {shown}"))
    };
    let line = file.lines().position(|line| line.contains("hush-client")).unwrap() as u64 + 1;
    let keys = section("smpp.client[0]")["keys"].as_array().unwrap();
    let password = keys.iter().find(|key| key["name"] == "password").unwrap();
    let expected = json!({"name": "password", "value": null, "is_set": true, "is_secret": true, "line": line,
        "environment": null});
    assert_eq!(*password, expected);
    let wrong = file.replace("rate = 100", "rate = \"fast\"");
    let checked = api.post("/api/v1/config:check", &json!({"text": wrong})).await.expect(200);
    assert_eq!(
        (&checked["ok"], &checked["problems"][0]["field"]),
        (&json!(false), &json!("smpp.client[0].rate"))
    );
    assert_eq!(checked["problems"][0]["line"], line + 2, "{checked}");
    let checked = api.post("/api/v1/config:check", &json!({"text": file})).await.expect(200);
    assert_eq!(checked["ok"], true, "{checked}");

    let state = api.get("/api/v1/server").await.expect(200);
    assert_eq!(
        (&state["organisation"], &state["leader"]["is_here"]),
        (&json!("Town"), &json!(true)),
        "{state}"
    );
    assert_eq!(state["doors"], json!(["http", "sendsms", "smpp"]), "{state}");
    assert_eq!(
        (&state["routes"]["live"], &state["routes"]["is_demo"]),
        (&json!(1), &json!(false)),
        "{state}"
    );
    assert!(printed(&api, &["server", "show"]).contains("organisation  Town"));
    let setup = api.get("/api/v1/setup").await.expect(200);
    assert_eq!(setup["organisation"]["done"], true, "{setup}");
    assert_eq!(
        (&setup["people"]["done"], &setup["live_route"]["count"]),
        (&json!(false), &json!(1)),
        "{setup}"
    );
}
