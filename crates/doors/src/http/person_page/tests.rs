//! Tests of people's own pages, over the server of the door's tests.

use super::token::PageToken;
use crate::http::tests::*;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use records::{Account, Intake, Preference, Recipient, ShortText};
use std::collections::BTreeSet;

const FORM: &str = "application/x-www-form-urlencoded";
const OWN: &str = Account::DEFAULT;
const BO_SMS: &str = "+46701000002";

/// A person at their page.
struct Visitor<'a> {
    server: &'a TestServer,
    path: String,
    form: String,
}

/// What a form was answered with.
struct Answered {
    status: u16,
    /// What was done, by the redirect.
    done: String,
    text: String,
}

impl<'a> Visitor<'a> {
    fn at(server: &'a TestServer, account: &str, recipient: &str) -> Visitor<'a> {
        let made = Timestamp(server.clock.load(Ordering::Relaxed));
        let (account, recipient) = (account.to_owned(), recipient.to_owned());
        let token = server.links.page_token(&PageToken { account, recipient, made }).unwrap();
        Visitor { server, form: server.links.page_form(&token), path: format!("/p/{token}") }
    }

    async fn look(&self, query: &str) -> (u16, String) {
        let response = self.server.anon(Method::GET, &format!("{}{query}", self.path)).send().await.unwrap();
        guarded(&response);
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn page(&self) -> String {
        let (status, text) = self.look("").await;
        assert_eq!(status, 200, "{text}");
        text
    }

    async fn post(&self, body: String) -> Answered {
        let request = self.server.anon(Method::POST, &self.path).header("content-type", FORM).body(body);
        let response = request.send().await.unwrap();
        guarded(&response);
        let status = response.status().as_u16();
        let location = response.headers().get("location").map(|value| value.to_str().unwrap().to_owned());
        let done =
            location.as_deref().and_then(|to| to.strip_prefix("?done=")).unwrap_or_default().to_owned();
        Answered { status, done, text: response.text().await.unwrap() }
    }

    async fn act(&self, act: &str, more: &[(&str, &str)]) -> Answered {
        let mut pairs = vec![("form", self.form.as_str()), ("act", act)];
        pairs.extend_from_slice(more);
        let body: Vec<String> =
            pairs.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        self.post(body.join("&")).await
    }

    /// The hash by which the page names the device whose line has these words.
    async fn device(&self, words: &str) -> String {
        let page = self.page().await;
        let behind = page.split(words).nth(1).unwrap_or_else(|| panic!("no {words} in {page}"));
        let value = behind.split("name=\"device\" value=\"").nth(1).unwrap();
        value.split('"').next().unwrap().to_owned()
    }

    async fn does(&self, act: &str, more: &[(&str, &str)], done: &str) {
        let answered = self.act(act, more).await;
        assert_eq!((answered.status, answered.done.as_str()), (303, done), "{act}: {}", answered.text);
        let (_, text) = self.look(&format!("?done={done}")).await;
        assert!(text.contains("role=\"status\""), "{act} says what was done: {text}");
    }

    /// Sends a code to an address; gives the id of the device that waits, and the code.
    async fn offered(&self, channel: &str, address: &str) -> (String, String) {
        self.does("offer", &[("channel", channel), ("address", address)], "code_sent").await;
        let id = self.device("Waiting for a code").await;
        (id, code(self.server).await)
    }
}

fn encoded(text: &str) -> String {
    text.bytes().map(|octet| format!("%{octet:02X}")).collect()
}

fn guarded(response: &reqwest::Response) {
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    let policy = header("content-security-policy");
    for part in ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("script") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(header("referrer-policy"), "no-referrer");
    assert_eq!(header("cache-control"), "no-store");
    assert_eq!(header("x-robots-tag"), "noindex, nofollow");
}

/// The code of the newest short message.
async fn code(server: &TestServer) -> String {
    let topic = server.bus.topic(records::INTAKE).unwrap();
    let records = topic.fetch(topic.low(), 1_000, 1 << 20).await.unwrap();
    let Intake::Message(message) = Intake::decode(&records.last().unwrap().octets).unwrap() else {
        panic!("the newest record is no message");
    };
    let ShortText::Text { text, .. } = message.short.text else { panic!("it is no text") };
    let code: String = text.chars().filter(char::is_ascii_digit).take(6).collect();
    assert!(code.len() == 6 && text.contains("10 min"), "{text}");
    code
}

async fn person(server: &TestServer, id: &str) -> Recipient {
    server.store.recipient(OWN, id).await.unwrap().unwrap().0
}

async fn verbs(server: &TestServer) -> Vec<String> {
    let acts = server.store.audit_entries(store::AuditSearch::newest(Some(OWN), 50)).await.unwrap();
    acts.into_iter().map(|entry| entry.act.verb).collect()
}

#[tokio::test]
async fn the_page_shows_a_person_with_masked_addresses_and_nothing_that_runs() {
    let server = TestServer::open().await;
    let ann = json!({"id": "a/1", "name": "<b>Ann", "time_zone": "Europe/Stockholm", "quiet_hours": "22:00-07:00",
        "devices": [{"channel": "sms", "address": "+46701000001"}, {"channel": "mail", "address": "ann.berg@town.test"}]});
    assert_eq!(server.post("/api/v1/recipients", ann).await.0, 201);
    for (id, name, join) in
        [("g1", "<i>Open", "open"), ("g2", "Hidden", "closed"), ("g3", "Divers", "approval")]
    {
        let group = json!({"id": id, "name": name, "join": join});
        assert_eq!(server.post("/api/v1/groups", group).await.0, 201);
    }
    let visitor = Visitor::at(&server, OWN, "a/1");
    let page = visitor.page().await;
    for part in [
        "<html lang=\"en\" dir=\"ltr\">",
        "&#60;b&#62;Ann",
        "SMS …0001",
        "E-mail a…@town.test",
        "&#60;i&#62;Open",
        "Divers",
        "value=\"22:00\"",
        "svenska",
        "2026-12-18",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    for hidden in ["ann.berg", "46701000001", "Hidden", "<script", "<b>Ann", "http://", "https://"] {
        assert!(!page.contains(hidden), "{hidden} in {page}");
    }
    // Every field has a label, every reference to a part of the page leads there.
    for (attribute, wanted) in [("for=\"", "id=\""), ("aria-labelledby=\"", "id=\"")] {
        for name in page.split(attribute).skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert!(page.contains(&format!("{wanted}{name}\"")), "{name}");
        }
    }
    let ids: Vec<&str> = page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    let head = server.anon(Method::HEAD, &visitor.path).send().await.unwrap();
    assert_eq!(head.status(), 200);
    assert!(!verbs(&server).await.iter().any(|verb| verb.starts_with("page.")), "looking records nothing");
    server.close().await;
}

#[tokio::test]
async fn devices_are_switched_moved_stopped_started_and_removed() {
    let server = TestServer::open().await;
    server.people().await;
    let visitor = Visitor::at(&server, OWN, "bo");
    let page = visitor.page().await;
    assert!(page.contains("<html lang=\"sv\"") && page.contains("Din sida: <bdi>Bo</bdi>"), "{page}");
    let sms = visitor.device("SMS …0002").await;
    let of = [("device", sms.as_str())];
    visitor.does("device_off", &of, "device_off").await;
    assert!(!person(&server, "bo").await.devices[0].enabled);
    visitor.does("device_on", &of, "device_on").await;
    assert!(person(&server, "bo").await.devices[0].enabled);
    visitor.does("device_up", &of, "device_moved").await;
    assert_eq!(person(&server, "bo").await.devices[0].address, BO_SMS, "the first stays the first");
    visitor.does("device_down", &of, "device_moved").await;
    visitor.does("device_down", &of, "device_moved").await;
    assert_eq!(person(&server, "bo").await.devices[1].address, BO_SMS);
    visitor.does("device_stop", &of, "device_stopped").await;
    let (_, shown) = server.get("/api/v1/recipients/bo").await;
    assert_eq!(shown["devices"][1]["opted_out"], true, "{shown}");
    assert!(visitor.page().await.contains("STOPP är sagt"));
    visitor.does("device_start", &of, "device_started").await;
    let (_, shown) = server.get("/api/v1/recipients/bo").await;
    assert_eq!(shown["devices"][1]["opted_out"], false, "{shown}");
    visitor.does("device_remove", &of, "device_removed").await;
    assert_eq!(person(&server, "bo").await.devices.len(), 1);
    let gone = visitor.act("device_on", &of).await;
    assert!(gone.status == 409 && gone.text.contains("Någon har ändrat"), "{}", gone.text);
    let verbs = verbs(&server).await;
    for verb in [
        "page.device_off",
        "page.device_on",
        "page.device_move",
        "page.stop",
        "page.start",
        "page.device_remove",
    ] {
        assert!(verbs.iter().any(|known| known == verb), "{verb} in {verbs:?}");
    }
    server.close().await;
}

#[tokio::test]
async fn language_quiet_hours_preference_and_subscriptions_are_kept() {
    let server = TestServer::open().await;
    server.people().await;
    let visitor = Visitor::at(&server, OWN, "ann");
    visitor.does("language", &[("language", "de")], "language").await;
    visitor.does("quiet", &[("from", "22:00"), ("to", "07:30")], "quiet").await;
    visitor.does("prefers", &[("prefers", "voice")], "prefers").await;
    visitor.does("subscribe", &[("subscription", " flood;<b> at  sea ")], "subscribed").await;
    let ann = person(&server, "ann").await;
    assert_eq!((ann.language.as_deref(), ann.prefers), (Some("de"), Some(Preference::Voice)));
    assert_eq!(ann.quiet_hours.unwrap().to_string(), "22:00-07:30");
    assert_eq!(ann.attributes["subscriptions"], "flood <b> at sea");
    let page = visitor.page().await;
    assert!(page.contains("<html lang=\"de\"") && page.contains("flood &#60;b&#62; at sea"), "{page}");
    visitor.does("unsubscribe", &[("subscription", "flood <b> at sea")], "unsubscribed").await;
    visitor.does("quiet", &[("from", ""), ("to", "")], "quiet").await;
    visitor.does("prefers", &[("prefers", "none")], "prefers").await;
    visitor.does("language", &[("language", "")], "language").await;
    let ann = person(&server, "ann").await;
    assert_eq!((ann.language, ann.quiet_hours, ann.prefers), (None, None, None));
    assert!(ann.attributes.is_empty());
    let long = "x".repeat(81);
    for (act, more, at, says) in [
        ("language", [("language", "klingon!")], "language-fault", "no language"),
        ("quiet", [("from", "22:00")], "quiet-fault", "Two different times"),
        ("prefers", [("prefers", "pigeon")], "prefers-fault", "Choose one"),
        ("subscribe", [("subscription", long.as_str())], "subscribe-fault", "at most 80"),
        ("subscribe", [("subscription", " ; ")], "subscribe-fault", "at most 80"),
    ] {
        let wrong = visitor.act(act, &more).await;
        assert_eq!(wrong.status, 422, "{act}");
        assert!(wrong.text.contains(&format!("id=\"{at}\"")) && wrong.text.contains(says), "{}", wrong.text);
        assert!(wrong.text.contains("<title>Problem: "), "{}", wrong.text);
    }
    let gone = visitor.act("unsubscribe", &[("subscription", "flood")]).await;
    assert_eq!(gone.status, 409);
    server.close().await;
}

#[tokio::test]
async fn open_groups_are_joined_and_left_and_others_asked_for() {
    let server = TestServer::open().await;
    server.people().await;
    for (id, join) in [("harbour", "open"), ("divers", "approval"), ("board", "closed")] {
        assert_eq!(server.post("/api/v1/groups", json!({"id": id, "join": join})).await.0, 201);
    }
    let visitor = Visitor::at(&server, OWN, "ann");
    visitor.does("join", &[("group", "harbour")], "joined").await;
    assert_eq!(person(&server, "ann").await.groups, ["staff", "harbour"]);
    visitor.does("join", &[("group", "divers")], "asked").await;
    assert_eq!(server.get("/api/v1/group-requests").await.1["items"][0]["recipient"], "ann");
    assert!(visitor.page().await.contains("you asked"));
    visitor.does("leave", &[("group", "harbour")], "left").await;
    assert_eq!(person(&server, "ann").await.groups, ["staff"]);
    for (act, group) in [("join", "board"), ("join", "nothing"), ("leave", "harbour"), ("leave", "staff")] {
        assert_eq!(visitor.act(act, &[("group", group)]).await.status, 409, "{act} {group}");
    }
    assert_eq!(person(&server, "ann").await.groups, ["staff"]);
    server.close().await;
}

#[tokio::test]
async fn a_new_device_is_theirs_once_its_code_was_typed() {
    let server = TestServer::open().await;
    server.people().await;
    let visitor = Visitor::at(&server, OWN, "ann");
    for (channel, address, says) in [
        ("sms", "12", "no address of this kind"),
        ("mail", "x@town.test", "cannot be added"),
        ("webhook", "https://inner.test/", "cannot be added"),
        ("pigeon", "x", "cannot be added"),
        ("sms", "+46 70 100 00 01", "already"),
    ] {
        let refused = visitor.act("offer", &[("channel", channel), ("address", address)]).await;
        assert!(refused.status == 422 && refused.text.contains(says), "{address}: {}", refused.text);
        assert!(
            refused.text.contains("id=\"add-fault\"")
                && refused.text.contains(&format!("value=\"{address}\""))
        );
    }
    let (id, code) = visitor.offered("sms", "+46701000077").await;
    assert_eq!(person(&server, "ann").await.devices.len(), 1, "until then it is not theirs");
    let wrong = visitor.act("confirm", &[("device", &id), ("code", "12345x")]).await;
    assert!(wrong.status == 422 && wrong.text.contains("That is not the code"), "{}", wrong.text);
    visitor.does("confirm", &[("device", &id), ("code", &format!(" {} ", code))], "device_added").await;
    let devices = person(&server, "ann").await.devices;
    assert_eq!(devices.len(), 2);
    assert!(devices[1].verified && devices[1].enabled && devices[1].address == "+46701000077");
    let again = visitor.act("confirm", &[("device", &id), ("code", &code)]).await;
    assert!(again.status == 422 && again.text.contains("No code holds"), "{}", again.text);
    server.close().await;
}

#[tokio::test]
async fn a_code_is_tried_three_times_within_ten_minutes_and_few_are_sent() {
    let server = TestServer::open().await;
    server.people().await;
    let visitor = Visitor::at(&server, OWN, "ann");
    let (id, code) = visitor.offered("sms", "+46701000077").await;
    let other = if code == "000000" { "000001" } else { "000000" };
    for (status, says) in [(422, "not the code"), (422, "not the code"), (422, "No code holds")] {
        let wrong = visitor.act("confirm", &[("device", &id), ("code", other)]).await;
        assert!(wrong.status == status && wrong.text.contains(says), "{says}: {}", wrong.text);
    }
    let late = visitor.act("confirm", &[("device", &id), ("code", &code)]).await;
    assert!(late.status == 422 && late.text.contains("No code holds"), "the right one comes too late");
    let (id, code) = visitor.offered("sms", "+46701000077").await;
    server.clock.fetch_add(601 * 1_000_000, Ordering::Relaxed);
    let late = visitor.act("confirm", &[("device", &id), ("code", &code)]).await;
    assert!(late.status == 422 && late.text.contains("No code holds"), "{}", late.text);
    let (id, _) = visitor.offered("sms", "+46701000077").await;
    visitor.does("give_up", &[("device", &id)], "device_given_up").await;
    let many = visitor.act("offer", &[("channel", "sms"), ("address", "+46701000077")]).await;
    assert!(many.status == 429 && many.text.contains("Too many codes"), "{}", many.text);
    for (place, status) in [(81, 303), (82, 303), (83, 429)] {
        let address = format!("+467010000{place}");
        let more = visitor.act("offer", &[("channel", "sms"), ("address", &address)]).await;
        assert_eq!(more.status, status, "of one person: {}", more.text);
    }
    let bo = Visitor::at(&server, OWN, "bo");
    let many = bo.act("offer", &[("channel", "sms"), ("address", "+46701000077")]).await;
    assert_eq!(many.status, 429, "to one address, for whoever asks");
    server.clock.fetch_add(3_601 * 1_000_000, Ordering::Relaxed);
    visitor.offered("sms", "+46701000077").await;
    assert_eq!(person(&server, "ann").await.devices.len(), 1);
    server.close().await;
}

#[tokio::test]
async fn no_code_goes_where_stop_was_said() {
    let server = TestServer::open().await;
    server.people().await;
    let stop = vec![(channels::SMS, "+46701000077".to_owned())];
    engine::Stops::of(&server.engine).opt_out(OWN, stop).await.unwrap();
    let visitor = Visitor::at(&server, OWN, "ann");
    let refused = visitor.act("offer", &[("channel", "sms"), ("address", "+46701000077")]).await;
    assert!(refused.status == 422 && refused.text.contains("STOP was said there"), "{}", refused.text);
    server.close().await;
}

#[tokio::test]
async fn what_a_mail_asked_for_is_shown_and_done_once_it_is_confirmed() {
    let server = TestServer::open().await;
    server.people().await;
    let group = json!({"id": "g1", "name": "Harbour", "join": "open"});
    assert_eq!(server.post("/api/v1/groups", group).await.0, 201);
    let visitor = Visitor::at(&server, OWN, "ann");
    for (query, shown) in [
        ("?word=JOIN+harbour", true),
        ("?word=LANG%20fr", true),
        ("?word=JOIN+nothing", false),
        ("?word=JOIN", false),
        ("?word=STATUS", false),
        ("?word=SEND+evac+471147", false),
        ("?word=%3Cb%3E", false),
        ("?word=%FF", false),
        ("", false),
    ] {
        let (status, page) = visitor.look(query).await;
        assert_eq!((status, page.contains("Yes, do it")), (200, shown), "{query}: {page}");
    }
    assert!(!person(&server, "ann").await.groups.contains(&"g1".to_owned()), "to look does nothing");
    for (word, done) in [
        ("JOIN harbour", "joined"),
        ("QUIET 22-7", "quiet"),
        ("QUIET off", "quiet"),
        ("SUBSCRIBE flood", "subscribed"),
        ("UNSUBSCRIBE flood", "unsubscribed"),
        ("LANG en", "language"),
    ] {
        visitor.does("word", &[("word", word)], done).await;
    }
    assert!(person(&server, "ann").await.groups.contains(&"g1".to_owned()));
    visitor.does("word", &[("word", "LEAVE harbour")], "left").await;
    for word in ["", "JOIN", "JOIN nothing", "SEND evac 471147", "STOP"] {
        assert_eq!(visitor.act("word", &[("word", word)]).await.status, 409, "{word}");
    }
    server.close().await;
}

#[tokio::test]
async fn a_form_of_another_page_changes_nothing() {
    let server = TestServer::open().await;
    server.people().await;
    let visitor = Visitor::at(&server, OWN, "ann");
    let before = person(&server, "ann").await;
    let others = Visitor::at(&server, OWN, "bo").form;
    for form in ["", "x", others.as_str()] {
        let refused = visitor.post(format!("form={form}&act=language&language=fr")).await;
        assert!(refused.status == 403 && refused.text.contains("another page"), "{form}: {}", refused.text);
        let refused = visitor.post(format!("form={form}&act=erase&confirm=yes")).await;
        assert_eq!(refused.status, 403);
    }
    assert_eq!(visitor.act("fly", &[]).await.status, 422);
    assert_eq!(visitor.post("x".repeat(100_000)).await.status, 413);
    let json = server.anon(Method::POST, &visitor.path).header("content-type", "application/json").body("{}");
    let response = json.send().await.unwrap();
    guarded(&response);
    assert_eq!(response.status(), 415);
    let bo = Visitor::at(&server, OWN, "bo").device("SMS …0002").await;
    assert_eq!(visitor.act("device_off", &[("device", &bo)]).await.status, 409, "another's device");
    assert_eq!(person(&server, "ann").await, before);
    server.close().await;
}

#[tokio::test]
async fn links_that_hold_no_longer_say_how_to_get_a_new_one() {
    let server = TestServer::open().await;
    server.people().await;
    let visitor = Visitor::at(&server, OWN, "ann");
    let right = visitor.page().await;
    assert!(right.contains("Ann"));
    let mut pages = BTreeSet::new();
    let changed = format!("{}A", &visitor.path[..visitor.path.len() - 1]);
    let changed =
        if changed == visitor.path { format!("{}B", &changed[..changed.len() - 1]) } else { changed };
    let long = format!("/p/{}", "A".repeat(2_000));
    let nobody = Visitor::at(&server, OWN, "nobody").path;
    let elsewhere = Visitor::at(&server, "north", "ann").path;
    let answer = format!("/p/{}", server.links.token(records::AlertNo(1), records::EndpointNo(0)));
    for path in ["/p/x", "/p/%FF", &changed, &long, &nobody, &elsewhere, &answer] {
        let response = server.anon(Method::GET, path).send().await.unwrap();
        guarded(&response);
        assert_eq!(response.status(), 404, "{path}");
        pages.insert(response.text().await.unwrap());
        let post = server.anon(Method::POST, path).header("content-type", FORM).body("act=erase&confirm=yes");
        assert_eq!(post.send().await.unwrap().status(), 404, "{path}");
    }
    server.clock.fetch_add(engine::PAGE_LINK_S * 1_000_000, Ordering::Relaxed);
    let (status, late) = visitor.look("").await;
    assert_eq!(status, 404);
    pages.insert(late);
    assert_eq!(pages.len(), 1, "the same words for all: {pages:?}");
    assert!(pages.first().unwrap().contains("write PAGE"), "{pages:?}");
    let swedish = server.anon(Method::GET, "/p/x").header("accept-language", "sv-SE,sv;q=0.9");
    assert!(swedish.send().await.unwrap().text().await.unwrap().contains("MIN SIDA"));
    assert_eq!(server.guessing.failures().take().acts(NOW).len(), 1, "they are counted by address");
    server.close().await;
}

#[tokio::test]
async fn everything_known_is_downloaded_and_erased_after_a_confirmation() {
    let server = TestServer::open().await;
    server.people().await;
    let visitor = Visitor::at(&server, OWN, "ann");
    visitor.offered("sms", "+46701000077").await;
    let export = visitor.act("export", &[]).await;
    let known: Value = serde_json::from_str(&export.text).unwrap();
    assert_eq!((export.status, &known["record"]["id"]), (200, &json!("ann")), "{known}");
    let (status, confirm) = visitor.look("?step=erase").await;
    assert!(status == 200 && confirm.contains("type=\"checkbox\""), "{confirm}");
    let unconfirmed = visitor.act("erase", &[]).await;
    assert!(unconfirmed.status == 422 && unconfirmed.text.contains("Check the box"), "{}", unconfirmed.text);
    assert!(server.store.recipient(OWN, "ann").await.unwrap().is_some());
    let erased = visitor.act("erase", &[("confirm", "yes")]).await;
    assert!(erased.status == 200 && erased.text.contains("You are erased"), "{}", erased.text);
    assert!(server.store.recipient(OWN, "ann").await.unwrap().is_none());
    assert_eq!(visitor.look("").await.0, 404);
    // Somebody comes who has the same id: the old link is none of theirs.
    server.clock.fetch_add(5_000_000, Ordering::Relaxed);
    server.people().await;
    assert_eq!(visitor.look("").await.0, 404);
    let new = Visitor::at(&server, OWN, "ann").page().await;
    assert!(!new.contains("46701000077"), "no device of before waits: {new}");
    let acts = server.store.audit_entries(store::AuditSearch::newest(Some(OWN), 50)).await.unwrap();
    let erase = acts.iter().find(|entry| entry.act.verb == "page.erase").unwrap();
    assert_eq!((erase.act.object.as_str(), erase.act.from.as_str()), ("erased", ""));
    let of_ann = acts.iter().filter(|entry| entry.act.verb.starts_with("page.") && entry.act.object == "ann");
    assert_eq!(of_ann.count(), 0, "what they did there is forgotten too");
    server.close().await;
}

#[tokio::test]
async fn an_operator_gets_the_link_for_a_person() {
    let server = TestServer::open().await;
    server.people().await;
    let (status, made) = said(server.call(Method::POST, "/api/v1/recipients/ann:page-link")).await;
    assert_eq!((status.as_u16(), &made["expires"]), (200, &json!("2026-12-18T06:26:40Z")), "{made}");
    let path = made["url"].as_str().unwrap().strip_prefix("http://alerts.example").unwrap().to_owned();
    let response = server.anon(Method::GET, &path).send().await.unwrap();
    assert!(response.text().await.unwrap().contains("Ann"));
    assert_eq!(said(server.call(Method::POST, "/api/v1/recipients/eve:page-link")).await.0, 404);
    server.close().await;
}

#[tokio::test]
async fn a_change_by_somebody_else_meanwhile_is_kept() {
    let server = TestServer::open().await;
    server.people().await;
    let visitor = Visitor::at(&server, OWN, "bo");
    let sms = visitor.device("SMS …0002").await;
    let changed = json!({"name": "Bosse", "devices": [{"channel": "mail", "address": "bo@example.org"},
        {"channel": "sms", "address": BO_SMS}]});
    assert_eq!(said(server.call(Method::PATCH, "/api/v1/recipients/bo").json(&changed)).await.0, 200);
    visitor.does("device_off", &[("device", &sms)], "device_off").await;
    let bo = person(&server, "bo").await;
    assert_eq!((bo.name.as_str(), bo.devices[0].enabled, bo.devices[1].enabled), ("Bosse", true, false));
    server.close().await;
}

/// Acts, fields and values that a form may have, and others.
fn inputs() -> impl Strategy<Value = (usize, Vec<(usize, String)>)> {
    (0..ACTS.len(), proptest::collection::vec((0..FIELDS.len(), "\\PC{0,12}|[0-9:+-]{0,8}|.{0,30}"), 0..4))
}

const ACTS: [&str; 21] = [
    "device_on",
    "device_off",
    "device_up",
    "device_down",
    "device_stop",
    "device_start",
    "device_fly",
    "offer",
    "confirm",
    "give_up",
    "language",
    "quiet",
    "prefers",
    "join",
    "leave",
    "subscribe",
    "unsubscribe",
    "word",
    "export",
    "erase",
    "",
];
const FIELDS: [&str; 13] = [
    "device",
    "channel",
    "address",
    "code",
    "language",
    "from",
    "to",
    "prefers",
    "group",
    "subscription",
    "word",
    "confirm",
    "act",
];

#[tokio::test]
async fn no_input_of_a_form_makes_the_server_fail() {
    let server = TestServer::open().await;
    server.people().await;
    let visitor = Visitor::at(&server, OWN, "bo");
    let device = visitor.device("SMS …0002").await;
    let mut runner = TestRunner::default();
    for case in 0..runner.config().cases {
        let (act, more) = inputs().new_tree(&mut runner).unwrap().current();
        let mut pairs: Vec<(&str, &str)> =
            more.iter().map(|(field, value)| (FIELDS[*field], value.as_str())).collect();
        if case % 2 == 0 {
            pairs.insert(0, ("device", &device));
            pairs.insert(0, ("channel", "sms"));
        }
        let answered = visitor.act(ACTS[act], &pairs).await;
        assert!(answered.status < 500, "{} {pairs:?}: {} {}", ACTS[act], answered.status, answered.text);
    }
    for octets in [&b"form=%"[..], b"%FF=%FE", b"\xff\xfe", b"&&&==", b"form=a&form=b"] {
        let request = server.anon(Method::POST, &visitor.path).header("content-type", FORM);
        let status = request.body(octets.to_vec()).send().await.unwrap().status().as_u16();
        assert!((400..500).contains(&status), "{octets:?}: {status}");
    }
    server.close().await;
}
