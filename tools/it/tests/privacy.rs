//! A person's rights: forgotten by the command line, in the database's file too, and shown all that is known.

use crate::fixtures::{SOON, carrier, count, number, phone_owner};
use it::{Server, program, sms_route};
use serde_json::{Value, json};
use std::process::{Command, Output, Stdio};

/// Words that stand nowhere else.
const NAME: &str = "Vilhelmina Sandelholm";
const ID: &str = "ext-7719";

fn client(server: &Server, arguments: &[&str]) -> Output {
    let mut command = Command::new(program());
    command.env("CAMPANILE_URL", server.url()).env("CAMPANILE_TOKEN", server.token());
    command.args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn answered(server: &Server, arguments: &[&str]) -> Value {
    let output = client(server, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_is_forgotten_everywhere_and_their_stop_holds_when_they_are_imported_again() {
    let carrier = carrier().await;
    let server_config = sms_route("carrier", carrier.address(), "");
    let mut server = Server::start(&server_config).await;
    let api = server.api();
    let mut person = phone_owner(ID, 7);
    person["name"] = NAME.into();
    api.add_recipients(&json!([person.clone(), phone_owner("bo", 8)])).await;
    api.add_group(&json!({"id": "desk", "members": [ID, "bo"]})).await;
    let text = "{{name}}, stay inside";
    let audience = json!([format!("recipient:{ID}"), "all"]);
    let alert = api.submit(&json!({"text": text, "audience": audience, "terminal": "delivered"})).await;
    let before = api.done(&alert, SOON).await;
    assert_eq!(count(&before, "delivered"), 2);
    person["devices"][0]["opted_out"] = true.into();
    api.add_recipients(&json!([person.clone()])).await;

    let export = answered(&server, &["recipients", "export", ID]);
    assert_eq!((&export["record"]["name"], &export["groups"]), (&json!(NAME), &json!(["desk"])), "{export}");
    assert_eq!(export["alerts"][0]["deliveries"][0]["address"], number(7), "{export}");
    let erased = answered(&server, &["recipients", "erase", ID, "--format", "json"]);
    assert_eq!(
        (&erased["record"], &erased["groups"], &erased["waiting"]),
        (&json!(true), &json!(1), &json!(0))
    );
    for arguments in [["recipients", "erase", ID], ["recipients", "export", ID]] {
        let output = client(&server, &arguments);
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("nothing is known"), "{output:?}");
    }

    let shown =
        json!([api.deliveries(&alert).await, api.get(&format!("/api/v1/alerts/{alert}")).await.json()]);
    let trail = api.get("/api/v1/audit?limit=100").await.json();
    for words in [NAME, ID, &*number(7)] {
        assert!(!shown.to_string().contains(words), "{words}: {shown}");
        assert!(!trail.to_string().contains(words), "{words}: {trail}");
    }
    assert_eq!(api.report(&alert).await["counts"], before["counts"]);
    // Imported again they have no mark of their own: the hash knows them.
    person["devices"][0]["opted_out"] = false.into();
    api.add_recipients(&json!([person])).await;
    let again = json!({"text": "once more", "audience": ["all"], "terminal": "delivered"});
    let report = api.done(&api.submit(&again).await, SOON).await;
    assert_eq!((count(&report, "delivered"), count(&report, "excluded")), (1, 1), "{report}");
    assert_eq!(carrier.accepted(&number(7), "once more"), 0);

    answered(&server, &["recipients", "erase", ID, "--format", "json"]);
    server.stop().await;
    let database = std::fs::read(server.data().join("campanile.db")).unwrap();
    for words in [NAME, &*number(7)] {
        let found = database.windows(words.len()).any(|window| window == words.as_bytes());
        assert!(!found, "{words} stands in the database's file");
    }
}
