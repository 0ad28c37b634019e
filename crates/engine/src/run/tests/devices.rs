//! Devices of people: what each can show, and which the person prefers.

use super::backend::{TestBackend, over_both};
use super::test_engine::{accepted, draft, person};
use crate::testing::request;
use records::{AlertRequest, AudienceEntry, Choice, DeviceProfile, Letters, Mode, OwnText, Recipient};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const TEXT: &str = "Dear all,\nthere is a gas leak – the fire brigade is there. Leave by the north gate.";

/// A person with one device of this profile.
fn with(id: &str, address: &str, profile: DeviceProfile) -> Recipient {
    let mut person = person(id, &[address]);
    person.devices[0].profile = Some(profile);
    person
}

fn small() -> DeviceProfile {
    DeviceProfile { length: Some(40), letters: Some(Letters::Ascii), ..DeviceProfile::default() }
}

fn people() -> Vec<Recipient> {
    let none = DeviceProfile::default();
    vec![
        person("ann", &["sms:+46700000001"]),
        with("bo", "sms:+46700000002", small()),
        with("cy", "sms:+46700000003", small()),
        with("dan", "sms:+46700000004", DeviceProfile { letters: Some(Letters::Digits), ..none }),
        person("eve", &["mail:eve@b.se"]),
        with("fay", "mail:fay@b.se", DeviceProfile { html: Some(false), links: Some(false), ..none }),
    ]
}

fn to_all(expires: records::Timestamp) -> AlertRequest {
    let audience = vec![AudienceEntry { to: "all".into(), strategy: None, expires: None }];
    let mut request = AlertRequest { audience, expires, ..request(TEXT) };
    let own = OwnText { html: Some("<p>Leave</p>".to_owned()), ..OwnText::default() };
    request.texts.default.own.insert(channels::MAIL, own);
    request
}

async fn each_device_gets_what_it_can_show_and_those_of_one_profile_share_a_text(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(people()).await;
    type Seen = BTreeMap<String, (String, bool, bool, bool)>;
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let noted = seen.clone();
    let _carrier = engine_under_test.carrier(move |segment, entry| {
        let content = segment.body(entry).and_then(|body| body.content()).unwrap();
        let what = (content.text.clone(), content.html.is_some(), entry.link.is_some(), entry.own.is_some());
        noted.lock().unwrap().insert(entry.address.clone(), what);
        accepted(segment, entry)
    });
    let mut request = to_all(engine_under_test.now().plus_s(60));
    request.require_answer = true;
    request.choices = vec![Choice { key: "1".into(), label: "I am safe".into() }];
    let alert = engine_under_test.engine.submit(draft(request)).await.unwrap().alert;
    engine_under_test.until(&alert, |report| report.counts.accepted == 6).await;
    let seen = seen.lock().unwrap();
    let whole = format!("{TEXT}\nReply 1 = I am safe");
    let shortened = "Leave by the north gate...";
    for (address, text, html, link) in [
        ("+46700000001", &*whole, false, false),
        ("+46700000002", shortened, false, false),
        ("+46700000003", shortened, false, false),
        ("+46700000004", "3", false, false),
        ("eve@b.se", TEXT, true, true),
        ("fay@b.se", TEXT, false, false),
    ] {
        let expected = (text.to_owned(), html, link, false);
        let found = &seen[address];
        assert!(found.0.starts_with(text), "{address}: {found:?}");
        assert_eq!((found.1, found.2, found.3), (expected.1, expected.2, expected.3), "{address}");
    }
}

async fn a_drill_reaches_no_device_that_cannot_say_so(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(people()).await;
    let mut request = to_all(engine_under_test.now().plus_s(60));
    request.mode = Mode::Live;
    let live = engine_under_test.engine.forecast("default", request.clone()).await.unwrap();
    let kinds: Vec<_> = live.devices.iter().map(|kind| (&*kind.channel, kind.devices, kind.parts)).collect();
    let one = |channel, devices| (channel, devices, 1);
    assert_eq!(kinds, [one("sms", 1), one("sms", 1), one("sms", 2), one("mail", 1), one("mail", 1)]);
    let small = &live.devices[2];
    assert_eq!(small.text.as_deref(), Some("Leave by the north gate..."));
    assert_eq!(small.profile, Some(serde_json::json!({"length": 40, "letters": "ascii"})));
    assert_eq!(live.routes["sms"].endpoints, 4);
    let wording = crate::dispatch::Wording::new(&AlertRequest { mode: Mode::Drill, ..request }).unwrap();
    let render = |letters, length| {
        let profile = DeviceProfile { letters: Some(letters), length, ..DeviceProfile::default() };
        let rendering =
            wording.render_for(channels::SMS, wording.language_for(Some("sv")), &[], Some(profile));
        rendering.map(|rendering| rendering.body().content().unwrap().text.clone())
    };
    assert_eq!(render(Letters::Ascii, Some(40)).as_deref(), Ok("[OVNING] Leave by the north gate..."));
    assert!(render(Letters::Digits, None).unwrap_err().contains("the mark of a drill"));
    assert!(render(Letters::All, Some(8)).unwrap_err().contains("profile.length"));
}

over_both!(
    each_device_gets_what_it_can_show_and_those_of_one_profile_share_a_text,
    a_drill_reaches_no_device_that_cannot_say_so,
);
