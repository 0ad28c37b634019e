//! A person's own page: reached by a word from a telephone, and what is set there holds for the next alert.

use crate::fixtures::{SOON, carrier_with, count, mail_server, number, phone_owner};
use it::{Api, Server, eventually, mail_route, sms_route};
use serde_json::json;
use sim::town::Habits;

const PHONE: u64 = 3;
const MAIL: &str = "ann.berg@town.test";
const FORM: &str = "application/x-www-form-urlencoded";

/// Somebody with a browser.
struct Browser {
    anybody: Api,
    link: String,
}

impl Browser {
    async fn page(&self) -> String {
        let page = self.anybody.get(&self.link).await;
        assert_eq!(page.status, 200, "{}", page.text);
        page.text
    }

    /// Sends a form; gives the status and where it leads.
    async fn act(&self, fields: &str) -> (u16, String) {
        let page = self.page().await;
        let form = between(&page, "name=\"form\" value=\"", "\"");
        let request = self.anybody.request(reqwest::Method::POST, &self.link);
        let request = request.header("content-type", FORM).body(format!("form={form}&{fields}"));
        let reply = self.anybody.send(request).await;
        (reply.status, reply.text)
    }

    /// Sends a form that is done.
    async fn does(&self, fields: &str, says: &str) {
        let (status, text) = self.act(fields).await;
        assert!(status == 200 && text.contains(says), "{fields}: {status} {text}");
    }

    /// The hash by which the page names the device behind these words.
    async fn device(&self, words: &str) -> String {
        let page = self.page().await;
        let behind = page.split(words).nth(1).unwrap_or_else(|| panic!("no {words} in {page}"));
        between(behind, "name=\"device\" value=\"", "\"")
    }
}

fn between(text: &str, before: &str, behind: &str) -> String {
    let rest = text.split(before).nth(1).unwrap_or_else(|| panic!("no {before} in {text}"));
    rest.split(behind).next().unwrap_or_default().to_owned()
}

/// The person writes PAGE, and opens the link of the reply.
async fn browser(carrier: &sim::smsc::Smsc, server: &Server) -> Browser {
    let from = number(PHONE).trim_start_matches('+').to_owned();
    let asks =
        sim::smsc::Injection { from, to: "71700".into(), text: "PAGE".into(), account: None, long: None };
    carrier.inject(&asks).unwrap();
    let link = eventually("the link has come by SMS", SOON, async || {
        let texts = carrier.messages(100).into_iter().map(|message| message.text);
        let links: Vec<String> = texts.filter(|text| text.contains("/p/")).collect();
        links.last().cloned().ok_or("none")
    })
    .await;
    let link = link.split_whitespace().find(|word| word.contains("/p/")).unwrap().to_owned();
    assert!(link.starts_with(&server.url()), "{link}");
    Browser { anybody: Api::new(&server.url(), ""), link }
}

#[tokio::test]
async fn a_person_adds_a_mail_device_switches_sms_off_and_erases_themselves() {
    let (carrier, mails) = (carrier_with(Habits::silent(1)).await, mail_server().await);
    let config = [
        sms_route("carrier", carrier.address(), ""),
        mail_route("relay", mails.address(), ""),
        "[organisation]\nname = \"City of X\"\n".to_owned(),
    ];
    let mut server = Server::start(&config.concat()).await;
    let api = server.api();
    api.add_recipients(&json!([phone_owner("ann", PHONE), phone_owner("bo", PHONE + 1)])).await;
    let browser = browser(&carrier, &server).await;
    let page = browser.page().await;
    assert!(page.contains("SMS …") && !page.contains(&number(PHONE)), "{page}");

    browser.does(&format!("act=offer&channel=mail&address={MAIL}"), "The code is sent").await;
    let before = json!({"text": "before the code", "audience": ["recipient:ann"]});
    let report = api.done(&api.submit(&before).await, SOON).await;
    assert_eq!(count(&report, "endpoints"), 1, "the mailbox gets nothing yet: {report}");
    let code = eventually("the code has come by mail", SOON, async || {
        let texts = mails.mails(10).into_iter().map(|mail| mail.words().text);
        texts
            .filter_map(|text| text.split_once("Code ").map(|(_, code)| code[..6].to_owned()))
            .next()
            .ok_or("none")
    })
    .await;
    assert_eq!(mails.mails(10).len(), 1);
    // What waits for its code waits through a kill.
    server.kill9();
    server.restart().await;
    let mailbox = browser.device("Waiting for a code").await;
    browser.does(&format!("act=confirm&device={mailbox}&code={code}"), "The device is added").await;
    let phone = browser.device("SMS …").await;
    browser.does(&format!("act=device_off&device={phone}"), "The device is switched off").await;

    let api = server.api();
    let texts = carrier.messages(100).len();
    let after = json!({"text": "after the code", "audience": ["recipient:ann"]});
    let report = api.done(&api.submit(&after).await, SOON).await;
    assert_eq!(count(&report, "accepted") + count(&report, "delivered"), 1, "{report}");
    eventually("the mailbox has the alert", SOON, async || {
        let has = mails.mails(10).iter().any(|mail| mail.words().text.contains("after the code"));
        if has { Ok(()) } else { Err("not yet") }
    })
    .await;
    assert_eq!(carrier.messages(100).len(), texts, "nothing comes to the telephone");
    let trail = api.get("/api/v1/audit?limit=100").await.json().to_string();
    for verb in ["page.device_offer", "page.device_add", "page.device_off"] {
        assert!(trail.contains(verb), "{verb} in {trail}");
    }

    browser.does("act=erase&confirm=yes", "You are erased").await;
    assert_eq!(browser.anybody.get(&browser.link).await.status, 404);
    assert_eq!(api.get("/api/v1/recipients/ann").await.status, 404);
    let trail = api.get("/api/v1/audit?limit=100").await.json().to_string();
    assert!(!trail.contains(MAIL) && !trail.contains(&number(PHONE)), "{trail}");
}
