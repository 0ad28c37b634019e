//! Recipients and groups, and imports of many.

use crate::fixtures::{LATER, SOON, carrier, count, number, phone_owner, phones_csv};
use it::{Server, eventually, sms_route, within};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[tokio::test]
async fn groups_may_be_lists_groups_of_groups_and_rules() {
    let carrier = carrier().await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let api = server.api();
    let person = |id: &str, place: u64, groups: Value, floor: &str| {
        let mut person = phone_owner(id, place);
        person["groups"] = groups;
        person["attributes"] = json!({"floor": floor});
        person
    };
    api.add_recipients(&json!([
        person("ann", 0, json!(["fire"]), "2"),
        person("bo", 1, json!([]), "3"),
        person("cy", 2, json!(["fire", "leave"]), "12"),
        person("di", 3, json!([]), "1"),
    ]))
    .await;
    api.add_group(&json!({"id": "desk", "members": ["bo"]})).await;
    api.add_group(&json!({"id": "leave"})).await;
    api.add_group(&json!({"id": "fire"})).await;
    api.add_group(&json!({"id": "upstairs", "rule": {"attribute": "floor", "at_least": 3}})).await;
    api.add_group(&json!({"id": "staff", "groups": ["desk", "house"]})).await;
    api.add_group(&json!({"id": "house", "groups": ["fire", "staff"]})).await; // in a circle
    let cases = [
        (json!(["group:fire"]), json!([]), "ann cy"),
        (json!(["group:upstairs"]), json!([]), "bo cy"),
        (json!(["group:staff"]), json!([]), "ann bo cy"),
        (json!(["group:staff"]), json!(["group:leave"]), "ann bo"),
        (json!(["group:staff", "recipient:di"]), json!(["group:upstairs"]), "ann di"),
        (json!(["all"]), json!([format!("sms:{}", number(3))]), "ann bo cy"),
    ];
    for (audience, exclude, expected) in cases {
        let id = api.submit(&json!({"text": "x", "audience": audience, "exclude": exclude})).await;
        api.done(&id, SOON).await;
        let deliveries = api.deliveries(&id).await;
        let mut reached: Vec<&str> = deliveries
            .iter()
            .filter(|delivery| delivery["state"] != "excluded")
            .filter_map(|delivery| delivery["recipients"][0]["id"].as_str())
            .collect();
        reached.sort();
        assert_eq!(reached.join(" "), expected, "{audience} without {exclude}");
    }
}

#[tokio::test]
async fn a_group_on_a_channel_reaches_that_channels_devices_alone() {
    let carrier = carrier().await;
    let mails = crate::fixtures::mail_server().await;
    let config = sms_route("carrier", carrier.address(), "") + &it::mail_route("relay", mails.address(), "");
    let server = Server::start(&config).await;
    let api = server.api();
    let mut ann = phone_owner("ann", 0);
    ann["groups"] = json!(["staff"]);
    ann["devices"].as_array_mut().unwrap().push(json!({"channel": "mail", "address": "ann@town.test"}));
    api.add_recipients(&json!([ann])).await;
    api.add_group(&json!({"id": "staff"})).await;
    for (audience, sms, mail) in
        [("group:staff/sms", 1, 0), ("group:staff/mail", 1, 1), ("group:staff", 2, 2)]
    {
        let id = api.submit(&json!({"text": "x", "audience": [audience]})).await;
        api.done(&id, SOON).await;
        assert_eq!((carrier.stats().messages, mails.stats().mails), (sms, mail), "{audience}");
    }
}

#[tokio::test]
async fn a_text_is_rendered_for_each_and_in_their_language() {
    let carrier = carrier().await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let api = server.api();
    let people: Vec<Value> = [("sv-SE", "Åsa"), ("ar", "ليلى"), ("fi", "Aino")]
        .iter()
        .zip(0..)
        .map(|((language, name), place)| {
            let mut person = phone_owner(&format!("p{place}"), place);
            person["name"] = json!(name);
            person["language"] = json!(language);
            person
        })
        .collect();
    api.add_recipients(&json!(people)).await;
    let alert = json!({
        "text": "Hello {{name}}", "audience": ["all"],
        "texts": {"sv": {"sms": "Hej {{name}}"}, "ar": "مرحبا {{ name }}"},
    });
    let id = api.submit(&alert).await;
    api.done(&id, SOON).await;
    for (place, text) in [(0, "Hej Åsa"), (1, "مرحبا ليلى"), (2, "Hello Aino")] {
        assert_eq!(carrier.accepted(&number(place), text), 1, "{text}: {:?}", carrier.messages(10));
    }
}

#[tokio::test]
async fn an_import_is_all_or_nothing_unless_bad_rows_may_be_skipped() {
    let server = Server::start("[recipients]\nregion = \"SE\"\n").await;
    let api = server.api();
    let csv = "id,name,sms,mail,floor\n1,Ann,070-174 06 05,ann@town.test,2\n2,Bo,not a number,,\n3,Cy,,cy@,\n4,Di,+46701740608,,4\n";
    let reply = api.post_as("/api/v1/recipients:import", "text/csv", csv).await;
    assert_eq!(reply.status, 422, "{}", reply.text);
    let problem = reply.json();
    let rows: Vec<(u64, &str)> = problem["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["row"].as_u64().unwrap(), it["field"].as_str().unwrap()))
        .collect();
    assert_eq!(rows.iter().map(|row| row.1).collect::<Vec<_>>(), ["sms", "mail"], "{problem}");
    assert_eq!(rows[1].0 - rows[0].0, 1, "{problem}");
    assert!(api.pages("/api/v1/recipients?limit=10").await.is_empty(), "nothing is seen of it");

    let done = api.post_as("/api/v1/recipients:import?on_problem=skip", "text/csv", csv).await.expect(200);
    assert_eq!(
        (done["imported"].as_u64(), done["problems"].as_array().unwrap().len()),
        (Some(2), 2),
        "{done}"
    );
    let people = api.pages("/api/v1/recipients?limit=10").await;
    assert_eq!(people.iter().map(|person| person["id"].as_str().unwrap()).collect::<Vec<_>>(), ["1", "4"]);
    assert_eq!(people[0]["attributes"]["floor"], "2");
    assert_eq!(people[0]["devices"][0]["address"], "+46701740605", "in E.164: {}", people[0]);

    // An existing id is replaced, absent ones stay.
    let done = api.import_csv("id,name,sms\n4,Dina,+46701740609\n").await;
    assert_eq!(done["imported"], 1);
    let people = api.pages("/api/v1/recipients?limit=10").await;
    assert_eq!(
        people.iter().map(|person| person["name"].as_str().unwrap()).collect::<Vec<_>>(),
        ["Ann", "Dina"]
    );
    let ndjson = "{\"id\":\"5\",\"devices\":[{\"channel\":\"sms\",\"address\":\"+46701740610\"}]}\n";
    let done = api.post_as("/api/v1/recipients:import", "application/x-ndjson", ndjson).await.expect(200);
    assert_eq!(done["imported"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn alerts_are_accepted_while_many_people_are_imported_and_see_them_all_or_none() {
    const PEOPLE: u64 = 100_000;
    let carrier = carrier().await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let api = server.api();
    api.add_recipients(&json!([phone_owner("first", 0)])).await;
    let csv = phones_csv(PEOPLE);
    let importer = api.clone();
    let import = tokio::spawn(async move { importer.import_csv(csv).await });
    let mut taken = Vec::new();
    let mut sizes = Vec::new();
    while !import.is_finished() {
        let began = Instant::now();
        let id = api.submit(&json!({"text": "x", "audience": [format!("sms:{}", number(1))]})).await;
        taken.push(began.elapsed());
        assert!(!id.is_empty());
        let forecast = api.post("/api/v1/alerts:forecast", &json!({"text": "x", "audience": ["all"]})).await;
        sizes.push(forecast.expect(200)["recipients"].as_u64().unwrap());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let done = within("the import ends", LATER, import).await.unwrap();
    assert_eq!(done["imported"], PEOPLE, "{done}");
    taken.sort();
    let at = |share: f64| taken[((taken.len() - 1) as f64 * share) as usize];
    println!(
        "accepted beside an import of {PEOPLE}: {} alerts, p50 {:?}, p99 {:?}",
        taken.len(),
        at(0.5),
        at(0.99)
    );
    // What an alert sees is the old people or the new ones, never a part.
    let whole = [1, PEOPLE + 1];
    assert!(sizes.iter().all(|size| whole.contains(size)), "{sizes:?}");
    assert!(sizes.contains(&1), "the import took no time at all");
    let everybody = api.submit_and_solve(&json!({"text": "all of you", "audience": ["all"]})).await;
    let report = api.done(&everybody, LATER).await;
    // The first person has a number of the town's too.
    assert_eq!(count(&report, "endpoints"), PEOPLE, "{report}");
    assert_eq!(carrier.stats().repeats, taken.len() as u64 - 1, "repeats are the alerts to one number alone");
    eventually("all are with the carrier", LATER, async || {
        let messages = carrier.stats().messages;
        if messages == PEOPLE + taken.len() as u64 { Ok(()) } else { Err(messages) }
    })
    .await;
}

#[tokio::test]
async fn quiet_hours_hold_what_is_routine_and_let_an_emergency_through() {
    let carrier = carrier().await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let api = server.api();
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let minute = i64::from(now.hour()) * 60 + i64::from(now.minute());
    let at = |after: i64| {
        let minute = (minute + after).rem_euclid(1_440);
        format!("{:02}:{:02}", minute / 60, minute % 60)
    };
    let around = |from: i64, to: i64| json!(format!("{}-{}", at(from), at(to)));
    let mut people = [phone_owner("asleep", 0), phone_owner("awake", 1), phone_owner("far-away", 2)];
    for person in &mut people {
        person["time_zone"] = json!("UTC");
    }
    people[0]["quiet_hours"] = around(-60, 60);
    people[1]["quiet_hours"] = around(60, 120);
    // The same hours on the other side of the world are over.
    people[2]["quiet_hours"] = around(-60, 60);
    people[2]["time_zone"] = json!("Pacific/Auckland");
    api.add_recipients(&json!(people)).await;
    let id = api.submit(&json!({"text": "routine", "audience": ["all"]})).await;
    let report = api.until(&id, "two have it", SOON, |report| count(report, "delivered") == 2).await;
    assert_eq!((count(&report, "held"), report["state"].as_str()), (1, Some("running")), "{report}");
    let deliveries = api.deliveries(&id).await;
    let asleep = deliveries.iter().find(|it| it["recipients"][0]["id"] == "asleep").unwrap();
    assert_eq!(asleep["reason_code"], "quiet_hours", "{asleep}");
    let id = api.submit(&json!({"text": "emergency", "audience": ["all"], "priority": "emergency"})).await;
    let report = api.done(&id, SOON).await;
    assert_eq!(count(&report, "held"), 0, "{report}");
    assert_eq!(carrier.accepted(&number(0), "emergency"), 1);
    assert_eq!(carrier.accepted(&number(0), "routine"), 0);
}
