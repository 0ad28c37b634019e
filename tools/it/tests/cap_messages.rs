//! CAP messages as authorities issued them, with their faults, to people of several languages.

use crate::fixtures::{SOON, carrier, count, mail_server, number};
use it::{Api, Server, mail_route, sms_route};
use serde_json::{Value, json};
use sim::mailbox::Mailbox;
use sim::smsc::Smsc;

const ALERTSWISS: &str = include_str!("../../../libs/cap/testdata/kde-alertswiss-5.xml");
const IRELAND: &str = include_str!("../../../libs/cap/testdata/kde-ireland-smallcraft.xml");
const ISRAEL: &str = include_str!("../../../libs/cap/testdata/kde-israel-he.xml");
const MACAO: &str = include_str!("../../../libs/cap/testdata/kde-macao-monsoon.xml");
const NOAA: &str = include_str!("../../../libs/cap/testdata/kde-noaa-bde6.xml");

/// The same message, issued a minute ago, with an end in six hours: they are of 2025.
fn fresh(message: &str) -> String {
    let now = jiff::Timestamp::now();
    let at = |seconds: i64| {
        (now + jiff::SignedDuration::from_secs(seconds)).strftime("%Y-%m-%dT%H:%M:%S-00:00").to_string()
    };
    let mut message = message.to_owned();
    for (element, seconds) in [("sent", -60), ("effective", -60), ("onset", -30), ("expires", 6 * 3_600)] {
        let (open, close) = (format!("<{element}>"), format!("</{element}>"));
        let mut out = String::new();
        let mut rest = message.as_str();
        while let Some((before, after)) = rest.split_once(&open) {
            let (_, behind) = after.split_once(&close).unwrap();
            out.push_str(&format!("{before}{open}{}{close}", at(seconds)));
            rest = behind;
        }
        message = out + rest;
    }
    message
}

struct Scene {
    carrier: Smsc,
    mails: Mailbox,
    server: Server,
    api: Api,
}

/// People who prefer these languages, each with a phone and a mailbox.
async fn scene(people: &[(&str, &str)], config: &str) -> Scene {
    let (carrier, mails) = (carrier().await, mail_server().await);
    let routes = sms_route("carrier", carrier.address(), "") + &mail_route("relay", mails.address(), "");
    let server = Server::start(&format!("{routes}\n{config}")).await;
    let api = server.api();
    let people: Vec<Value> = people
        .iter()
        .zip(0..)
        .map(|((id, language), place)| {
            json!({"id": id, "name": id, "language": language, "devices": [
                {"channel": "sms", "address": number(place)}, {"channel": "mail", "address": format!("{id}@town.test")},
            ]})
        })
        .collect();
    api.add_recipients(&json!(people)).await;
    Scene { carrier, mails, server, api }
}

impl Scene {
    async fn submit(&self, query: &str, message: &str) -> Value {
        let path = format!("/api/v1/cap{query}");
        self.api.post_as(&path, "application/cap+xml", message.to_owned()).await.expect(202)
    }

    /// What a person's phone and mailbox got last: the message's text, the mail's subject and text.
    fn got(&self, person: &str, place: u64) -> (String, String, String) {
        let phone = number(place);
        let messages = self.carrier.messages(1_000);
        let message =
            messages.iter().rev().find(|message| phone.ends_with(message.to.trim_start_matches('+')));
        let mails = self.mails.mails(1_000);
        let mail =
            mails.iter().rev().find(|mail| mail.to.iter().any(|to| to.starts_with(&format!("{person}@"))));
        let words = mail.unwrap_or_else(|| panic!("no mail to {person}")).words();
        (message.unwrap_or_else(|| panic!("no message to {person}")).text.clone(), words.subject, words.text)
    }
}

#[tokio::test]
async fn every_sample_is_read_its_problems_listed_and_each_hears_it_in_their_language() {
    let scene =
        scene(&[("gb", "en"), ("il", "he"), ("pt", "pt-BR"), ("mo", "zh-MO"), ("se", "sv")], "").await;
    // The message, how many problems its reader lists, and for each person words of the headline they get.
    let cases: [(&str, usize, [&str; 5]); 5] = [
        (ALERTSWISS, 7, ["Landslide"; 5]),
        (IRELAND, 2, ["Small Craft warning from Fair Head"; 5]),
        (ISRAEL, 6, ["Flash Floods", "שטפונות בזק", "Flash Floods", "Flash Floods", "Flash Floods"]),
        (
            MACAO,
            4,
            [
                "Strong monsoon signal(Black ball) was cancelled",
                "強烈季候風(即黑球)信號",
                "O sinal de ventos fortes de monção",
                "強烈季候風(即黑球)信號",
                "強烈季候風(即黑球)信號",
            ],
        ),
        (NOAA, 1, ["Special Weather Statement"; 5]),
    ];
    for (message, problems, words) in cases {
        let reply = scene.submit("?audience=all", &fresh(message)).await;
        let listed = reply["problems"].as_array().unwrap();
        let odd = |problem: &&Value| {
            !matches!(problem["rule"].as_str(), Some("assumed" | "cut" | "unknown" | "unused"))
        };
        assert_eq!(listed.iter().filter(odd).count(), problems, "{reply}");
        assert!(listed.iter().all(|problem| problem["path"].is_string() && problem["message"].is_string()));
        let id = reply["id"].as_str().unwrap();
        let report = scene.api.done(id, SOON).await;
        assert_eq!(count(&report, "accepted") + count(&report, "delivered"), 10, "{report}");
        for ((person, place), words) in
            [("gb", 0), ("il", 1), ("pt", 2), ("mo", 3), ("se", 4)].into_iter().zip(words)
        {
            let (phone, subject, _) = scene.got(person, place);
            assert!(phone.contains(words), "{person}: {phone:?} has no {words:?}");
            assert!(subject.contains(words), "{person}: {subject:?} has no {words:?}");
        }
    }
}

#[tokio::test]
async fn the_text_is_the_issuers_description_and_instruction_whole() {
    let scene = scene(&[("gb", "en-GB"), ("il", "he-IL")], "").await;
    let reply = scene.submit("?audience=all", &fresh(ISRAEL)).await;
    scene.api.done(reply["id"].as_str().unwrap(), SOON).await;
    let (_, _, text) = scene.got("il", 1);
    assert!(text.contains("התראה מוקדמת צהובה על שטפונות בזק במדבר יהודה"), "{text}");
    let (_, _, text) = scene.got("gb", 0);
    assert!(text.contains("Yellow Early Warning of FLASH FLOODS in Judea Desert"), "{text}");
}

#[tokio::test]
async fn a_message_reaches_who_is_in_its_area_by_polygon_and_by_geocode() {
    let config = "[[cap.sender]]\nsender = \"w-nws.webmaster@noaa.gov\"\naudience = [\"area\"]\ngeocode_attribute = \"ugc\"\n";
    let scene = scene(&[], config).await;
    let person = |id: &str, place: u64, lat: f64, lon: f64, ugc: &str| {
        json!({"id": id, "position": {"lat": lat, "lon": lon}, "attributes": {"ugc": ugc},
               "devices": [{"channel": "sms", "address": number(place)}]})
    };
    scene
        .api
        .add_recipients(&json!([
            person("cambridge", 0, 38.5632, -76.0788, ""),
            person("by-code", 1, 0.0, 0.0, "MDZ999;MDZ022"),
            person("stockholm", 2, 59.33, 18.06, "SEZ001"),
        ]))
        .await;
    let reply = scene.submit("", &fresh(NOAA)).await;
    scene.api.done(reply["id"].as_str().unwrap(), SOON).await;
    let mut reached: Vec<String> =
        scene.carrier.messages(10).iter().map(|it| it.to.trim_start_matches('+').to_owned()).collect();
    reached.sort();
    assert_eq!(reached, [number(0), number(1)].map(|number| number.trim_start_matches('+').to_owned()));
}

#[tokio::test]
async fn a_message_comes_out_again_as_valid_cap_and_the_same_one_twice_is_one_alert() {
    let scene = scene(&[("gb", "en")], "").await;
    let message = fresh(IRELAND);
    let first = scene.submit("?audience=all", &message).await;
    let again = scene.submit("?audience=all", &message).await;
    assert_eq!(first["id"], again["id"], "networks repeat themselves");
    let id = first["id"].as_str().unwrap();
    scene.api.done(id, SOON).await;
    assert_eq!(scene.carrier.stats().messages, 1);

    let own =
        scene.api.submit(&json!({"headline": "Fire <&>", "text": "Stay inside", "audience": ["all"]})).await;
    scene.api.done(&own, SOON).await;
    for id in [id, &own] {
        let xml = scene.api.get(&format!("/api/v1/alerts/{id}/cap")).await;
        assert_eq!(
            (xml.status, xml.header("content-type")),
            (200, Some("application/cap+xml")),
            "{}",
            xml.text
        );
        is_valid(&xml.text);
    }
}

/// Another program says so: `xmllint` with the standard's schema.
fn is_valid(xml: &str) {
    servers::foreign::needs("xmllint");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), xml).unwrap();
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../libs/cap/testdata/cap-1.2.xsd");
    let output = std::process::Command::new("xmllint")
        .args(["--noout", "--schema", schema])
        .arg(file.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}\n{xml}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn an_update_stops_what_it_replaces_and_what_cannot_be_sent_is_refused_with_its_element() {
    let scene = scene(&[("gb", "en")], "").await;
    let expired = scene.api.post_as("/api/v1/cap?audience=all", "application/cap+xml", IRELAND).await;
    expired.expect_problem(422, "alert/info/expires");
    let nobody = scene.api.post_as("/api/v1/cap", "application/cap+xml", fresh(IRELAND)).await;
    nobody.expect_problem(422, "alert/sender");
    let area = scene.api.post_as("/api/v1/cap?audience=area", "application/cap+xml", fresh(NOAA)).await;
    assert!(matches!(area.status, 202 | 422), "{}", area.text);

    // The first waits for its start; then its update comes.
    let message = fresh(IRELAND);
    let later = (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(3_600))
        .strftime("%Y-%m-%dT%H:%M:%S-00:00")
        .to_string();
    let sent = message.split_once("<sent>").unwrap().1.split_once('<').unwrap().0.to_owned();
    let waiting = message.replace(&format!("<effective>{sent}"), &format!("<effective>{later}"));
    let first = scene.submit("?audience=all", &waiting).await["id"].as_str().unwrap().to_owned();
    let reference = format!("forecasts@met.ie,2.49.0.1.372.0.250413231648.N_Norm002_SmallCraft,{sent}");
    let update = message
        .replace("<msgType>Alert", "<msgType>Update")
        .replace("SmallCraft</identifier>", "SmallCraft2</identifier>")
        .replace("</scope>", &format!("</scope><references>{reference}</references>"));
    let second = scene.submit("?audience=all", &update).await["id"].as_str().unwrap().to_owned();
    scene.api.done(&second, SOON).await;
    let stopped =
        scene.api.until(&first, "the first is stopped", SOON, |report| report["state"] == "cancelled").await;
    assert_eq!(count(&stopped, "accepted"), 0, "{stopped}");
    assert!(scene.server.pid().is_some());
}
