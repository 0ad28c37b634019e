use super::incoming::CapSender;
use crate::http::tests::*;
use records::{EndpointNo, Role};

const CAP: &str = "/api/v1/cap";
const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../libs/cap/testdata");

fn sample(name: &str) -> Vec<u8> {
    std::fs::read(format!("{SAMPLES}/{name}")).unwrap()
}

fn at(time: &str) -> i64 {
    crate::http::request::time_text::parse_time(time).unwrap().0
}

impl TestServer {
    pub(super) async fn cap(&self, query: &str, body: impl Into<reqwest::Body>) -> (StatusCode, Value) {
        let request =
            self.call(Method::POST, &format!("{CAP}{query}")).header("content-type", "application/cap+xml");
        said(request.body(body)).await
    }

    fn knows(&self, sender: &str, audience: &[&str], geocode_attribute: Option<&str>) {
        let audience = audience.iter().map(|entry| (*entry).to_owned()).collect();
        let sender = CapSender {
            sender: sender.to_owned(),
            audience,
            geocode_attribute: geocode_attribute.map(str::to_owned),
        };
        self.policies.cap_senders.store(Arc::new(vec![sender]));
    }
}

/// A message with what the test does not speak of filled in.
pub(super) fn message(identifier: &str, status: &str, kind: &str, references: &str, infos: &str) -> String {
    let references =
        if references.is_empty() { String::new() } else { format!("<references>{references}</references>") };
    format!(
        "<alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\"><identifier>{identifier}</identifier><sender>town@example.org</sender>\
         <sent>2026-11-18T07:00:00+01:00</sent><status>{status}</status><msgType>{kind}</msgType><scope>Public</scope>\
         <note>n</note>{references}{infos}</alert>"
    )
}

pub(super) fn info(headline: &str) -> String {
    format!(
        "<info><language>en</language><category>Fire</category><event>Fire</event><urgency>Immediate</urgency><severity>Severe</severity>\
         <certainty>Observed</certainty><expires>2026-11-19T07:00:00+01:00</expires><headline>{headline}</headline></info>"
    )
}

#[tokio::test]
async fn every_sample_reaches_people_in_their_language() {
    for (file, time, language, headline) in [
        ("kde-alertswiss-5.xml", "2025-05-20T11:00:00Z", "de", "Landslide"),
        ("kde-ireland-smallcraft.xml", "2025-04-14T01:00:00Z", "en", "Small Craft warning from Fair Head"),
        ("kde-israel-he.xml", "2025-03-06T15:00:00Z", "he", "שטפונות בזק"),
        ("kde-macao-monsoon.xml", "2025-04-13T00:00:00Z", "pt", "O sinal de ventos fortes"),
        ("kde-noaa-bde6.xml", "2025-02-28T20:00:00Z", "sv", "Special Weather Statement issued"),
    ] {
        let server = TestServer::open().await;
        server.clock.store(at(time), Ordering::Relaxed);
        let person = json!({"id": "p", "language": language, "sms": "+46701000009"});
        assert_eq!(server.post("/api/v1/recipients", person).await.0, 201);
        let (status, said) = server.cap("?audience=all&mode=sync", sample(file)).await;
        assert_eq!((status.as_u16(), &said["endpoints"]), (201, &json!(1)), "{file}: {said}");
        let listed = ::cap::read(&sample(file)).unwrap().problems;
        let told: Vec<&str> =
            said["problems"].as_array().unwrap().iter().map(|one| one["message"].as_str().unwrap()).collect();
        assert!(listed.iter().all(|problem| told.contains(&problem.message.as_str())), "{file}: {told:?}");
        let id = said["id"].as_str().unwrap();
        let no = server.store.alert("default", id.parse().unwrap()).await.unwrap().unwrap().no;
        let question = server.engine.question(no, EndpointNo(0)).await.unwrap();
        assert!(question.headline.starts_with(headline), "{file}: {}", question.headline);
        let document = server.call(Method::GET, &format!("/api/v1/alerts/{id}/cap")).send().await.unwrap();
        assert_eq!(document.headers()["content-type"], "application/cap+xml");
        let again = ::cap::read(&document.bytes().await.unwrap()).unwrap();
        assert_eq!(again.version, ::cap::CapVersion::V1_2);
        assert!(!again.alert.infos.is_empty(), "{file}");
        server.close().await;
    }
}

#[tokio::test]
async fn the_area_or_the_senders_setting_names_the_audience() {
    let server = TestServer::open().await;
    server.people().await;
    server.clock.store(at("2025-02-28T20:00:00Z"), Ordering::Relaxed);
    let (status, problem) = server.cap("", sample("kde-noaa-bde6.xml")).await;
    assert_eq!(status, 422);
    assert!(reason(&problem, "alert/sender").contains("w-nws.webmaster@noaa.gov"), "{problem}");
    server.knows("w-nws.webmaster@noaa.gov", &["area"], Some("ugc"));
    let (status, said) = server.cap("?mode=sync", sample("kde-noaa-bde6.xml")).await;
    assert_eq!(status, 201, "{said}");
    let (_, page) = server.get(&format!("/api/v1/alerts/{}/deliveries", said["id"].as_str().unwrap())).await;
    let people: Vec<&str> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["recipients"][0]["id"].as_str().unwrap())
        .collect();
    assert!(!people.is_empty() && people.iter().all(|id| *id == "bo"), "only who is in the zone: {people:?}");
    server.close().await;
}

#[tokio::test]
async fn what_is_no_alert_for_people_is_refused_by_element() {
    let server = TestServer::open().await;
    server.people().await;
    let dtd = "<!DOCTYPE alert [<!ENTITY a \"aaaa\">]><alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\"><identifier>&a;</identifier></alert>";
    let late = info("x").replace("2026-11-19", "2026-11-17");
    for (body, status, field, says) in [
        ("<alert".to_owned(), 400, "alert", "not well-formed"),
        ("<html/>".to_owned(), 400, "alert", "no CAP alert"),
        (dtd.to_owned(), 400, "alert", "document type declaration"),
        (message("a", "Draft", "Alert", "", &info("x")), 422, "alert/status", "never sent"),
        (
            message("b", "Actual", "Ack", "s,i,2026-11-18T07:00:00+01:00", ""),
            422,
            "alert/msgType",
            "between systems",
        ),
        (message("c", "Actual", "Alert", "", ""), 422, "alert/info", "no content"),
        (message("d", "Actual", "Alert", "", &late), 422, "alert/info/expires", "in the past"),
        (" ".repeat(3 << 20), 413, "body", "2 MiB"),
    ] {
        let (found, problem) = server.cap("?audience=all", body).await;
        assert_eq!(found.as_u16(), status, "{problem}");
        assert!(reason(&problem, field).contains(says), "{problem}");
    }
    let (status, problem) =
        server.cap("?audience=area", message("e", "Actual", "Alert", "", &info("x"))).await;
    assert_eq!((status.as_u16(), reason(&problem, "alert/info/area").contains("no polygon")), (422, true));
    let (status, problem) =
        server.cap("?audience=all,stuff", message("f", "Actual", "Alert", "", &info("x"))).await;
    assert_eq!(
        (status.as_u16(), reason(&problem, "audience[1]").contains("is not an audience")),
        (422, true)
    );
    assert_eq!(server.get("/api/v1/alerts").await.1["items"], json!([]));
    server.close().await;
}

#[tokio::test]
async fn a_message_counts_once_and_an_update_stops_it() {
    let server = TestServer::open().await;
    server.people().await;
    server.knows("town@example.org", &["group:staff"], None);
    let first = message("one", "Actual", "Alert", "", &info("Fire"));
    let (status, said) = server.cap("", first.clone()).await;
    assert_eq!(status, 202, "{said}");
    let (status, again) = server.cap("", first.clone()).await;
    assert_eq!((status.as_u16(), &again["id"]), (202, &said["id"]));
    let (status, problem) = server.cap("", first.replace("Fire", "Water")).await;
    assert_eq!((status.as_u16(), slug(&problem)), (422, "key-taken"), "{problem}");

    let refers = "town@example.org,one,2026-11-18T07:00:00+01:00";
    let (status, update) =
        server.cap("?mode=sync", message("two", "Actual", "Update", refers, &info("Fire out"))).await;
    assert_eq!(status, 201, "{update}");
    let state = |id: &Value| {
        let path = format!("/api/v1/alerts/{}", id.as_str().unwrap());
        let server = &server;
        async move { server.get(&path).await.1["state"].as_str().unwrap().to_owned() }
    };
    assert_eq!(state(&said["id"]).await, "cancelled");
    assert_eq!(state(&update["id"]).await, "running");

    let submitter = server.token(Role::Submit).await;
    let refers = "town@example.org,two,2026-11-18T07:00:00+01:00";
    let cancel = message("three", "Actual", "Cancel", refers, "");
    let request = server.anon(Method::POST, CAP).bearer_auth(&submitter).header("content-type", "text/xml");
    let (status, told) = crate::http::tests::said(request.body(cancel.clone())).await;
    assert_eq!(status, 200, "{told}");
    assert!(told["problems"].to_string().contains("unknown"), "{told}");
    assert_eq!(state(&update["id"]).await, "running");
    let (status, told) = server.cap("", cancel).await;
    assert_eq!(
        (status.as_u16(), &told["id"], &told["state"]),
        (200, &update["id"], &json!("cancelled")),
        "{told}"
    );
    server.close().await;
}

#[tokio::test]
async fn an_exercise_is_a_drill_for_participants() {
    let server = TestServer::open().await;
    server.people().await;
    let (status, said) =
        server.cap("?audience=all", message("x", "Exercise", "Alert", "", &info("Fire"))).await;
    assert_eq!(status, 202, "{said}");
    let (_, alert) = server.get(&format!("/api/v1/alerts/{}", said["id"].as_str().unwrap())).await;
    let request = &alert["request"];
    assert_eq!(
        (&request["mode"], &request["participants_only"], &request["priority"]),
        (&json!("drill"), &json!(true), &json!("emergency"))
    );
    assert_eq!(alert["origin"], "cap");
    server.close().await;
}

#[tokio::test]
async fn the_feed_has_what_is_public_and_nothing_else() {
    let server = TestServer::open().await;
    server.people().await;
    server.submit(json!({"text": "for staff", "audience": ["group:staff"]})).await;
    server.cap("?audience=all", message("x", "Exercise", "Alert", "", &info("Drill"))).await;
    let private = message("p", "Actual", "Alert", "", &info("Private")).replace("Public", "Private");
    server.cap("?audience=all", private).await;
    let (_, said) =
        server.cap("?audience=all", message("y", "Actual", "Alert", "", &info("Fire &amp; smoke"))).await;
    let id = said["id"].as_str().unwrap();
    let feed = server.anon(Method::GET, "/cap/feed.atom").send().await.unwrap();
    assert_eq!(feed.headers()["content-type"], "application/atom+xml");
    let feed = feed.text().await.unwrap();
    assert_eq!(feed.matches("<entry>").count(), 1, "{feed}");
    assert!(feed.contains("Fire &amp; smoke") && feed.contains(&format!("/cap/{id}\"")), "{feed}");
    let document =
        server.anon(Method::GET, &format!("/cap/{id}")).send().await.unwrap().bytes().await.unwrap();
    assert_eq!(::cap::read(&document).unwrap().alert.identifier, "y");
    let (_, list) = server.get("/api/v1/alerts").await;
    for other in list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .filter(|other| *other != id)
    {
        assert_eq!(crate::http::tests::said(server.anon(Method::GET, &format!("/cap/{other}"))).await.0, 404);
    }
    server.close().await;
}

#[tokio::test]
async fn our_own_alerts_are_written_as_cap_without_a_fault() {
    let server = TestServer::open().await;
    server.people().await;
    let alert = json!({"headline": "Fire", "text": "Leave\u{7} now", "texts": {"sv": {"sms": "Ut nu"}}, "audience": ["area"], "priority": "emergency",
        "sender": "city of x", "mode": "live", "area": {"circles": [[59.3, 18.0, 5.0]], "geocodes": ["MDZ021"], "geocode_attribute": "ugc"},
        "resources": ["https://x.example/map.png"]});
    let id = server.submit(alert).await;
    let document = server.call(Method::GET, &format!("/api/v1/alerts/{id}/cap")).send().await.unwrap();
    assert_eq!(document.status(), 200);
    let reading = ::cap::read(&document.bytes().await.unwrap()).unwrap();
    assert_eq!(reading.problems, []);
    assert_eq!((reading.alert.identifier, reading.alert.infos.len()), (id, 2));
    assert_eq!(reading.alert.infos[0].description.as_deref(), Some("Leave now"));
    assert_eq!(reading.alert.infos[1].language, "sv");
    server.close().await;
}

#[tokio::test]
async fn an_alert_that_its_operator_cancels_goes_out_as_a_cancel_that_refers_to_it() {
    let server = TestServer::open().await;
    server.people().await;
    let alert = json!({"headline": "Fire", "text": "Leave now", "audience": ["all"], "mode": "drill"});
    let id = server.submit(alert).await;
    let cap = async || {
        let document = server.call(Method::GET, &format!("/api/v1/alerts/{id}/cap")).send().await.unwrap();
        ::cap::read(&document.bytes().await.unwrap()).unwrap()
    };
    let told = cap().await.alert;
    assert_eq!(told.msg_type, Some(::cap::MsgType::Alert));
    server.clock.fetch_add(60_000_000, Ordering::Relaxed);
    let (status, cancelled) = server.post(&format!("/api/v1/alerts/{id}:cancel"), json!({})).await;
    assert_eq!(status, 200, "{cancelled}");
    let reading = cap().await;
    assert_eq!(reading.problems, []);
    let withdrawal = reading.alert;
    assert_eq!(withdrawal.msg_type, Some(::cap::MsgType::Cancel));
    assert_eq!(withdrawal.status, Some(::cap::Status::Exercise));
    assert_ne!(withdrawal.identifier, told.identifier);
    assert!(withdrawal.sent.unwrap().utc_micros() >= told.sent.unwrap().utc_micros() + 60_000_000);
    let expected = ::cap::Reference { sender: told.sender, identifier: told.identifier, sent: told.sent };
    assert_eq!(withdrawal.references, [expected]);
    assert_eq!(cap().await.alert.sent, withdrawal.sent, "the same message however often it is asked for");
    server.close().await;
}
