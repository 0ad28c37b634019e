use crate::http::tests::*;

const PEOPLE: &str = "/api/v1/recipients";

fn ann() -> Value {
    json!({"id": "ann", "name": "Ann", "groups": ["staff"], "devices": [{"channel": "sms", "address": "+46 70 100 00 01"}], "lat": 59.3, "lon": 18.0})
}

#[tokio::test]
async fn one_is_made_shown_changed_and_removed_under_its_version() {
    let server = TestServer::open().await;
    let made = server.call(Method::POST, PEOPLE).json(&ann()).send().await.unwrap();
    assert_eq!(made.status(), 201);
    assert_eq!(made.headers()["location"], "/api/v1/recipients/ann");
    let first = made.headers()["etag"].to_str().unwrap().to_owned();
    let body: Value = made.json().await.unwrap();
    assert_eq!(body["devices"][0]["address"], "+46701000001");

    let path = format!("{PEOPLE}/ann");
    let shown = server.call(Method::GET, &path).send().await.unwrap();
    assert_eq!(shown.headers()["etag"].to_str().unwrap(), first);
    assert_eq!(shown.json::<Value>().await.unwrap(), body);

    let patch = |tag: &str, change: Value| {
        let request =
            server.call(Method::PATCH, &path).header("content-type", "application/merge-patch+json");
        request.header("if-match", tag.to_owned()).body(change.to_string()).send()
    };
    let changed = patch(&first, json!({"name": "Anna", "lat": null, "lon": null})).await.unwrap();
    assert_eq!(changed.status(), 200);
    let second = changed.headers()["etag"].to_str().unwrap().to_owned();
    assert_ne!(first, second);
    let body: Value = changed.json().await.unwrap();
    assert_eq!(
        (body["name"].as_str(), body.get("lat"), &body["groups"]),
        (Some("Anna"), None, &json!(["staff"]))
    );

    let stale = patch(&first, json!({"name": "Late"})).await.unwrap();
    assert_eq!((stale.status().as_u16(), stale.headers()["etag"].to_str().unwrap()), (412, second.as_str()));
    assert_eq!(slug(&stale.json::<Value>().await.unwrap()), "version-changed");
    for method in [Method::PUT, Method::DELETE] {
        let request = server.call(method, &path).header("if-match", &first).json(&ann());
        assert_eq!(said(request).await.0, 412);
    }
    assert_eq!(
        said(server.call(Method::PUT, &path).header("if-match", format!("\"x\", {second}")).json(&ann()))
            .await
            .0,
        200
    );
    assert_eq!(said(server.call(Method::DELETE, &path).header("if-match", "*")).await.0, 204);
    assert_eq!(server.get(&path).await.0, 404);
    assert_eq!(said(server.call(Method::PUT, &path).header("if-match", "*").json(&ann())).await.0, 412);
    assert_eq!(said(server.call(Method::PUT, &path).json(&ann())).await.0, 201);
    server.close().await;
}

#[tokio::test]
async fn of_two_writers_with_one_version_one_wins() {
    let server = TestServer::open().await;
    let made = server.call(Method::POST, PEOPLE).json(&ann()).send().await.unwrap();
    let tag = made.headers()["etag"].to_str().unwrap().to_owned();
    let write = |name: String| {
        let request = server.call(Method::PATCH, &format!("{PEOPLE}/ann")).header("if-match", tag.clone());
        said(request.json(&json!({"name": name})))
    };
    let all = futures_util::future::join_all((0..16).map(|n| write(format!("writer {n}")))).await;
    assert_eq!(all.iter().filter(|(status, _)| *status == 200).count(), 1);
    assert_eq!(all.iter().filter(|(status, _)| *status == 412).count(), 15);
    server.close().await;
}

#[tokio::test]
async fn wrong_people_are_refused_with_every_field() {
    let server = TestServer::open().await;
    let (status, problem) = server
        .post(PEOPLE, json!([ann(), {"id": "b", "nam": "B", "lat": 91, "lon": 0}, {"devices": [{"channel": "fax", "address": "1"}]}, ann()]))
        .await;
    assert_eq!((status.as_u16(), slug(&problem)), (422, "invalid-fields"), "{problem}");
    assert!(reason(&problem, "[1].nam").contains("did you mean name?"), "{problem}");
    assert!(reason(&problem, "[2].devices[0].channel").contains("not built yet"), "{problem}");
    assert!(reason(&problem, "[3].id").contains("twice"), "{problem}");
    let (status, problem) = said(server.call(Method::PUT, &format!("{PEOPLE}/other")).json(&ann())).await;
    assert_eq!((status.as_u16(), reason(&problem, "id")), (422, "is not the id in the path"));
    assert_eq!(server.get(PEOPLE).await.1["items"], json!([]));
    server.close().await;
}

#[tokio::test]
async fn lists_go_on_by_cursor_and_filters_narrow_them() {
    let server = TestServer::open().await;
    let people: Vec<Value> = (0..25)
        .map(|n| json!({"id": format!("p{n:02}"), "name": format!("Person {n}"), "groups": [if n % 2 == 0 { "even" } else { "odd" }],
            "attributes": {"floor": (n / 10).to_string()}, "sms": format!("+4670200{n:04}")}))
        .collect();
    assert_eq!(server.post(PEOPLE, json!(people)).await.0, 200);
    let mut ids = Vec::new();
    let mut cursor = String::new();
    loop {
        let (status, page) = server.get(&format!("{PEOPLE}?limit=10&cursor={cursor}")).await;
        assert_eq!(status, 200);
        ids.extend(
            page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()),
        );
        match page["next"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(ids, (0..25).map(|n| format!("p{n:02}")).collect::<Vec<_>>());
    for (filter, count) in [
        ("filter=group:even", 13),
        ("filter=group:even&filter=floor:1", 5),
        ("filter=sms:%2B46702000007", 1),
        ("filter=person+1", 11),
        ("filter=group:nobody", 0),
    ] {
        let (_, page) = server.get(&format!("{PEOPLE}?{filter}")).await;
        assert_eq!(page["items"].as_array().unwrap().len(), count, "{filter}");
    }
    server.close().await;
}

async fn import(
    server: &TestServer,
    query: &str,
    kind: &str,
    body: impl Into<reqwest::Body>,
) -> (StatusCode, Value) {
    let request =
        server.call(Method::POST, &format!("{PEOPLE}:import{query}")).header("content-type", kind.to_owned());
    said(request.body(body)).await
}

#[tokio::test]
async fn files_are_imported_whole_or_without_their_wrong_rows() {
    let server = TestServer::open().await;
    let csv = "id,name,groups,sms,mail,floor\r\nann,Ann,staff;fire,+46701000001;+46701000009,ann@example.org,2\r\nbo,Bo,,12,,\r\ncy,\"C, Y\",,+46701000003,,3\r\n";
    let (status, problem) = import(&server, "", "text/csv; charset=utf-8", csv).await;
    assert_eq!((status.as_u16(), slug(&problem)), (422, "invalid-fields"), "{problem}");
    assert_eq!(
        (&problem["imported"], &problem["problems"][0]["row"], &problem["problems"][0]["field"]),
        (&json!(0), &json!(3), &json!("sms"))
    );
    assert_eq!(server.get(PEOPLE).await.1["items"], json!([]), "nothing of a rejected file is seen");
    let (status, done) = import(&server, "?on_problem=skip", "text/csv", csv).await;
    assert_eq!(
        (status.as_u16(), &done["imported"], &done["problem_count"]),
        (200, &json!(2), &json!(1)),
        "{done}"
    );
    let (_, ann) = server.get(&format!("{PEOPLE}/ann")).await;
    assert_eq!(
        (&ann["groups"], &ann["attributes"]["floor"], ann["devices"].as_array().unwrap().len()),
        (&json!(["staff", "fire"]), &json!("2"), 3)
    );
    let line = json!({"id": "ann", "name": "Anna"}).to_string();
    let (status, done) = import(&server, "", "application/x-ndjson", format!("{line}\n")).await;
    assert_eq!((status.as_u16(), &done["imported"]), (200, &json!(1)), "{done}");
    assert_eq!(server.get(&format!("{PEOPLE}/ann")).await.1["name"], "Anna");
    for (query, kind, body, expected) in [
        ("?on_problem=maybe", "text/csv", csv, 400),
        ("", "text/plain", csv, 415),
        ("?on_problem=skip", "text/csv", "name\r\nAnn\r\n", 422),
    ] {
        let (status, problem) = import(&server, query, kind, body).await;
        assert_eq!(status, expected, "{problem}");
    }
    server.close().await;
}

#[tokio::test]
async fn imports_whose_clients_hang_up_leave_their_places() {
    let server = TestServer::open().await;
    // More than the store stages at a time.
    for n in 0..24 {
        let pieces = [
            Ok::<_, std::io::Error>(format!("id,name\np{n},Person\n")),
            Err(std::io::Error::other("the client hangs up")),
        ];
        let body = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces));
        let request =
            server.call(Method::POST, &format!("{PEOPLE}:import")).header("content-type", "text/csv");
        assert!(request.body(body).send().await.is_err(), "the import was cut short");
    }
    let (status, done) = import(&server, "", "text/csv", "id,name\nann,Ann\n").await;
    assert_eq!((status.as_u16(), &done["imported"]), (200, &json!(1)), "{done}");
    let (_, list) = server.get(PEOPLE).await;
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "nothing of what was cut short is seen");
}

#[tokio::test]
async fn a_large_import_is_streamed_and_exported_again() {
    const ROWS: usize = 12_000;
    let server = TestServer::open().await;
    let pieces = (0..ROWS / 100).map(|piece| {
        let lines =
            (0..100).map(|n| piece * 100 + n).map(|n| format!("p{n:06},Person {n},+4670{n:07},\"a,{n}\"\n"));
        let head = if piece == 0 { "id,name,sms,note\n" } else { "" };
        Ok::<_, std::io::Error>(format!("{head}{}", lines.collect::<String>()))
    });
    let body = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces.collect::<Vec<_>>()));
    let (status, done) = import(&server, "", "text/csv", body).await;
    assert_eq!((status.as_u16(), &done["imported"]), (200, &json!(ROWS)), "{done}");
    let export = |accept: &'static str| {
        let request = server.call(Method::GET, &format!("{PEOPLE}:export")).header("accept", accept);
        async move { request.send().await.unwrap().text().await.unwrap() }
    };
    let csv = export("text/csv").await;
    assert_eq!(csv.lines().count(), ROWS + 1);
    let columns = channels::names().collect::<Vec<_>>().join(",");
    assert!(csv.starts_with(&format!(
        "id,name,language,time_zone,groups,{columns},lat,lon,opted_out,prefers,note\r\n"
    )));
    // An sms device, and nothing in the columns behind it: the other channels, lat, lon, opted_out and
    // prefers.
    let empty = ",".repeat(channels::COUNT + 4);
    assert!(
        csv.ends_with(&format!("p011999,Person 11999,,,,+46700011999{empty}\"a,11999\"\r\n")),
        "{}",
        &csv[csv.len() - 80..]
    );
    let lines = export("application/x-ndjson").await;
    assert_eq!(lines.lines().count(), ROWS);
    let (status, again) = import(&server, "", "application/x-ndjson", lines).await;
    assert_eq!((status.as_u16(), &again["imported"]), (200, &json!(ROWS)));
    let (status, again) = import(&server, "", "text/csv", csv).await;
    assert_eq!((status.as_u16(), &again["imported"]), (200, &json!(ROWS)));
    server.close().await;
}

#[tokio::test]
async fn groups_have_members_groups_rules_and_versions() {
    let server = TestServer::open().await;
    let group = json!({"id": "upstairs", "name": "Upstairs", "members": ["ann"], "groups": [], "rule": {"all": [{"attribute": "floor", "at_least": 2}]}, "join": "open"});
    let made = server.call(Method::POST, "/api/v1/groups").json(&group).send().await.unwrap();
    assert_eq!(made.status(), 201);
    let tag = made.headers()["etag"].to_str().unwrap().to_owned();
    assert_eq!(server.get("/api/v1/groups/upstairs").await.1, group);
    let put = |tag: &str| {
        let request = server.call(Method::PUT, "/api/v1/groups/upstairs").header("if-match", tag.to_owned());
        said(request.json(&json!({"name": "Up"})))
    };
    assert_eq!(put(&tag).await.0, 200);
    assert_eq!(put(&tag).await.0, 412);
    assert_eq!(server.get("/api/v1/groups").await.1["items"][0]["name"], "Up");
    let (status, problem) =
        server.post("/api/v1/groups", json!({"id": "x", "rule": {"attribute": "a", "equals": "b"}})).await;
    assert_eq!(status, 422);
    assert!(reason(&problem, "rule.equals").contains("is unknown"), "{problem}");
    assert_eq!(said(server.call(Method::DELETE, "/api/v1/groups/upstairs")).await.0, 204);
    assert_eq!(server.get("/api/v1/groups/upstairs").await.0, 404);
    server.close().await;
}

#[tokio::test]
async fn unknown_edge_sites_are_refused_at_the_door_until_a_reload_has_them() {
    let server = TestServer::open().await;
    let knows = |sites: &[&str]| {
        let sites = sites.iter().map(|name| (*name).to_owned());
        server
            .policies
            .defaults
            .store(Arc::new(channels::Defaults::default().with_names(channels::EDGE, sites)));
    };
    let device = |site: &str| json!({"devices": [{"channel": "edge", "address": site}]});
    let path = format!("{PEOPLE}/siren");
    let put = |site: &str| said(server.call(Method::PUT, &path).json(&device(site)));
    let patch = |change: Value| {
        let request =
            server.call(Method::PATCH, &path).header("content-type", "application/merge-patch+json");
        said(request.body(change.to_string()))
    };
    let alert = || server.post("/api/v1/alerts", json!({"text": "x", "audience": ["all", "edge:west"]}));
    knows(&["north"]);
    let (status, problem) = put("west").await;
    assert_eq!(status, 422, "{problem}");
    assert!(reason(&problem, "devices[0].address").contains("which has north:"), "{problem}");
    let (status, problem) = alert().await;
    assert_eq!(status, 422, "{problem}");
    assert!(reason(&problem, "audience[1]").contains("which has north:"), "{problem}");
    knows(&["north", "west"]);
    assert_eq!(put("west").await.0, 201);
    assert_eq!(alert().await.0, 202);
    // The site is gone again: the siren can be changed all the same, but not given another that is unknown.
    knows(&["north"]);
    assert_eq!(patch(json!({"name": "Siren"})).await.0, 200);
    assert_eq!(patch(device("south")).await.0, 422);
    server.close().await;
}

#[tokio::test]
async fn an_export_as_csv_holds_no_formula_and_comes_back_as_it_was() {
    let server = TestServer::open().await;
    let people = json!([
        {"id": "a", "name": "=HYPERLINK(\"http://x\")", "attributes": {"@note": "-1+1", "lag": "-3.5"},
         "devices": [{"channel": "sms", "address": "+46701000001"}]},
        {"id": "b", "name": "'=x", "attributes": {"@note": "\t=1", "lag": "+"},
         "devices": [{"channel": "sms", "address": "+46701000002"}, {"channel": "sms", "address": "+46701000003"}]},
    ]);
    assert_eq!(said(server.call(Method::POST, PEOPLE).json(&people)).await.0, 200);
    let all = async || server.get(PEOPLE).await.1["items"].clone();
    let before = all().await;
    let export = server.call(Method::GET, "/api/v1/recipients:export").header("accept", "text/csv");
    let file = export.send().await.unwrap().text().await.unwrap();
    for cell in file.split([',', '\n']).map(|cell| cell.trim_start_matches('"')) {
        let is_number = |rest: &str| rest.bytes().all(|octet| octet.is_ascii_digit() || octet == b'.');
        let is_formula = cell.starts_with(['=', '@', '\t', '\r'])
            || cell.starts_with(['+', '-']) && !is_number(cell[1..].trim_end_matches('\r'));
        assert!(!is_formula, "{cell:?} in {file}");
    }
    for id in ["a", "b"] {
        assert_eq!(said(server.call(Method::DELETE, &format!("{PEOPLE}/{id}"))).await.0, 204);
    }
    let back = server.call(Method::POST, "/api/v1/recipients:import").header("content-type", "text/csv");
    assert_eq!(said(back.body(file)).await.0, 200);
    assert_eq!(all().await, before);
    server.close().await;
}

#[tokio::test]
async fn a_profile_and_a_preference_are_shown_changed_taken_away_and_exported() {
    let server = TestServer::open().await;
    let profile = json!({"length": 20, "letters": "ascii", "links": false});
    let device = json!({"channel": "sms", "address": "+46701000001", "profile": profile});
    let ann = json!({"id": "ann", "prefers": "voice", "devices": [device]});
    let (status, shown) = server.post(PEOPLE, ann).await;
    assert_eq!((status.as_u16(), &shown["prefers"]), (201, &json!("voice")), "{shown}");
    assert_eq!(shown["devices"][0]["profile"], profile);
    let path = format!("{PEOPLE}/ann");
    let patch = |patch: serde_json::Value| {
        let call = server.call(Method::PATCH, &path).header("content-type", "application/merge-patch+json");
        said(call.body(patch.to_string()))
    };
    let (status, problem) =
        patch(json!({"devices": [{"channel": "sms", "address": "+46701000001", "profile": {"length": 0}}]}))
            .await;
    assert_eq!(status.as_u16(), 422);
    assert!(problem.to_string().contains("devices[0].profile.length"), "{problem}");
    assert!(problem.to_string().contains("is 1 to 10000, not 0"), "{problem}");

    let export = async |accept: &'static str| {
        let call = server.call(Method::GET, &format!("{PEOPLE}:export")).header("accept", accept);
        call.send().await.unwrap().text().await.unwrap()
    };
    let (lines, csv) = (export("application/x-ndjson").await, export("text/csv").await);
    let before = server.get(&path).await.1;
    for (kind, file) in [("text/csv", csv), ("application/x-ndjson", lines)] {
        assert_eq!(said(server.call(Method::DELETE, &path)).await.0, 204);
        let (status, done) = import(&server, "", kind, file).await;
        assert_eq!((status.as_u16(), &done["imported"]), (200, &json!(1)), "{done}");
        let after = server.get(&path).await.1;
        assert_eq!(after["prefers"], "voice", "{kind}");
        // A table has no column for what one device can show.
        assert!(kind == "text/csv" || after == before, "{after}");
    }
    let (status, shown) = patch(json!({"prefers": null})).await;
    assert_eq!((status.as_u16(), shown.get("prefers")), (200, None), "{shown}");
    server.close().await;
}

#[tokio::test]
async fn a_person_is_erased_and_exported_by_who_may_change_people() {
    let server = TestServer::open().await;
    server.people().await;
    let operator = server.token(Role::Operator).await;
    let viewer = server.token(Role::Viewer).await;
    let export = || server.anon(Method::GET, &format!("{PEOPLE}/ann/export"));
    let erase = || server.anon(Method::POST, &format!("{PEOPLE}/ann:erase"));
    assert_eq!(said(export().bearer_auth(&viewer)).await.0, 403);
    assert_eq!(said(erase().bearer_auth(&viewer)).await.0, 403);
    let (status, shown) = said(export().bearer_auth(&operator)).await;
    assert_eq!((status.as_u16(), &shown["record"]["id"]), (200, &json!("ann")), "{shown}");
    let (status, erased) = said(erase().bearer_auth(&operator)).await;
    assert_eq!((status.as_u16(), &erased["record"]), (200, &json!(true)), "{erased}");
    assert_eq!(server.get(&format!("{PEOPLE}/ann")).await.0, 404);
    for (request, status_expected) in [(export(), 404), (erase(), 404)] {
        assert_eq!(said(request.bearer_auth(&operator)).await.0, status_expected);
    }
    let (_, trail) = server.get("/api/v1/audit?limit=10").await;
    assert_eq!(
        (&trail["items"][0]["verb"], &trail["items"][0]["object"]),
        (&json!("recipient.erase"), &json!("erased"))
    );
    assert!(!trail.to_string().contains("\"ann\""), "{trail}");
    let (status, problem) = said(server.call(Method::POST, &format!("{PEOPLE}/bo:forget"))).await;
    assert_eq!(status, 404);
    assert!(problem["detail"].as_str().unwrap().contains("known are erase, page-link"), "{problem}");
    let response = server.call(Method::POST, &format!("{PEOPLE}/bo")).send().await.unwrap();
    assert_eq!(response.status(), 405);
    assert_eq!(response.headers()["allow"], "DELETE, GET, HEAD, PATCH, PUT");
    server.close().await;
}

#[tokio::test]
async fn a_stop_is_shown_exported_and_imported_and_only_the_person_takes_it_back() {
    let server = TestServer::open().await;
    let ann = json!({"id": "ann", "name": "Ann", "devices": [{"channel": "sms", "address": "+46701740001"}]});
    let bo = json!({"id": "bo", "sms": "+46701740002"});
    assert_eq!(server.post(PEOPLE, json!([ann, bo])).await.0, 200);
    server.store.set_opt_out("default", channels::SMS, "46701740001", true, NOW).await.unwrap();
    let marks =
        async |id: &str| server.get(&format!("{PEOPLE}/{id}")).await.1["devices"][0]["opted_out"].clone();
    assert_eq!((marks("ann").await, marks("bo").await), (json!(true), json!(false)));
    let (_, list) = server.get(PEOPLE).await;
    assert_eq!(list["items"][0]["devices"][0]["opted_out"], true, "{list}");

    // Whoever writes the person without the mark takes nothing back.
    let put = server.call(Method::PUT, &format!("{PEOPLE}/ann")).json(&ann);
    let (status, shown) = said(put).await;
    assert_eq!((status.as_u16(), &shown["devices"][0]["opted_out"]), (200, &json!(true)), "{shown}");

    let export = server.call(Method::GET, "/api/v1/recipients:export").header("accept", "text/csv");
    let csv = export.send().await.unwrap().text().await.unwrap();
    assert!(csv.contains("sms:+46701740001"), "{csv}");
    let elsewhere = TestServer::open().await;
    for (file, expected) in
        [(csv.as_str(), [true, false]), ("id,sms,opted_out\nbo,0046701740002,yes\n", [true, true])]
    {
        let import =
            elsewhere.call(Method::POST, "/api/v1/recipients:import").header("content-type", "text/csv");
        let (status, said) = said(import.body(file.to_owned())).await;
        assert_eq!(status, 200, "{said}");
        for (id, mark) in ["ann", "bo"].into_iter().zip(expected) {
            let (_, shown) = elsewhere.get(&format!("{PEOPLE}/{id}")).await;
            assert_eq!(shown["devices"][0]["opted_out"], mark, "{shown}");
        }
    }
    let wrong = elsewhere.call(Method::POST, "/api/v1/recipients:import").header("content-type", "text/csv");
    let (status, problem) = said(wrong.body("id,sms,opted_out\nbo,+46701740002,+46701740009\n")).await;
    assert!(status == 422 && problem.to_string().contains("is no address of this row"), "{problem}");

    // What they say is in one place: a START takes back what a file brought.
    elsewhere.store.set_opt_out("default", channels::SMS, "+46701740002", false, NOW).await.unwrap();
    let (_, shown) = elsewhere.get(&format!("{PEOPLE}/bo")).await;
    assert_eq!(shown["devices"][0]["opted_out"], false, "{shown}");
    elsewhere.close().await;
    server.close().await;
}
