use super::*;
use crate::http::alerts::view;
use crate::http::request::json;
use proptest::prelude::{Just, prop_assert, prop_assert_eq, prop_oneof, proptest};
use records::{ChannelTexts, OwnText};

const NOW: Timestamp = Timestamp(1_794_983_200_000_000); // 2026-11-18T06:26:40Z

fn read(body: &str) -> Result<AlertRequest, Vec<(String, String)>> {
    parse(json::parse(body.as_bytes()).expect("the test's JSON is well formed"), NOW, &Defaults::default())
        .map_err(|problem| problem.listed())
}

#[test]
fn text_and_audience_are_enough_and_the_rest_has_its_default() {
    let request = read(r#"{"text": "Leave the building", "audience": ["group:staff"]}"#).unwrap();
    assert_eq!(request.audience, [AudienceEntry { to: "group:staff".into(), strategy: None, expires: None }]);
    assert_eq!(request.expires, NOW.plus_s(86_400));
    assert_eq!(request.strategy, Strategy::All);
    assert_eq!(request.terminal, Terminal::Accepted);
    assert_eq!(request.priority, Priority::Routine);
    assert_eq!(request.on_unknown, OnUnknown::Hold);
    assert_eq!(request.mode, Mode::Live);
    assert!(
        request.channels.is_empty()
            && !request.require_answer
            && !request.flash
            && request.callback.is_none()
    );
}

#[test]
fn the_example_of_the_contract_is_read_whole() {
    let request = read(
        r#"{"headline": "Fire", "text": "Fire in hall 2", "texts": {"sms": "Fire!", "mail": {"subject": "Fire", "html": "<p>Fire"}, "sv": {"sms": "Brand!"}},
         "audience": ["group:staff", "group:fire/sms", "recipient:ext-77", "sms:+46701234567", "mail:a@b.se", "all",
                      {"to": "group:x", "strategy": "first-reachable", "expires": "2026-11-18T10:00:00Z"}],
         "exclude": ["group:leave"], "channels": ["sms", "mail"], "strategy": {"escalate_after": "5m"},
         "require_answer": true, "choices": [{"key": "1", "label": "I am safe"}, {"key": "2", "label": "I need help", "needs_help": true}],
         "follows": "0193a0b0-0000-7000-8000-000000000007", "terminal": "answered", "not_before": "2026-11-18T07:00:00Z", "expires": "2026-11-18T12:00:00+01:00", "priority": "emergency",
         "callback": {"url": "https://x.example/hook", "every": "30s", "format": "xml", "events": ["progress", "answer", "done"]},
         "sender": "city-of-x", "mode": "drill", "flash": true, "resources": ["https://x.example/map.png"]}"#,
    )
    .unwrap();
    assert_eq!(request.strategy, Strategy::EscalateAfter { seconds: 300 });
    assert_eq!(request.on_unknown, OnUnknown::Resend);
    assert_eq!(request.audience[6].strategy, Some(Strategy::FirstReachable));
    assert_eq!(
        request.texts.languages["sv"],
        ChannelTexts { own: [(channels::SMS, OwnText::of_text("Brand!"))].into(), ..ChannelTexts::default() }
    );
    let mail = OwnText { subject: Some("Fire".into()), html: Some("<p>Fire".into()), ..OwnText::default() };
    assert_eq!(request.texts.default.own(channels::MAIL), Some(&mail));
    assert_eq!((request.choices.len(), &request.answer_rules.needs_help[..]), (2, &["2".to_owned()][..]));
    assert_eq!(request.follows.unwrap().to_string(), "0193a0b0-0000-7000-8000-000000000007");
    assert!(request.callback.unwrap().xml);
}

#[test]
fn choices_escalation_and_waiting_for_answers_ask_for_one() {
    for (extra, asks) in [
        (r#""choices": [{"key": "1", "label": "yes"}]"#, true),
        (r#""strategy": {"escalate_after": "1m"}"#, true),
        (r#""terminal": "answered""#, true),
        (r#""terminal": "delivered""#, false),
        (r#""choices": [{"key": "1", "label": "yes"}], "require_answer": false"#, false),
    ] {
        let request = read(&format!(r#"{{"text": "x", "audience": ["all"], {extra}}}"#)).unwrap();
        assert_eq!(request.require_answer, asks, "{extra}");
    }
}

/// A body, the field that is wrong in it, and what is said of it.
#[rustfmt::skip]
const WRONG_BODIES: &[(&str, &str, &str)] = &[
    (r#"{"audience": ["all"]}"#, "text", "is needed"),
    (r#"{"text": "x"}"#, "audience", "is needed"),
    (r#"{"text": "", "audience": ["all"]}"#, "text", "is empty"),
    (r#"{"text": 5, "audience": ["all"]}"#, "text", "is a number"),
    (r#"{"text": "x", "audience": []}"#, "audience", "names nobody"),
    (r#"{"text": "x", "audience": {}}"#, "audience", "a list is needed"),
    (r#"{"text": "x", "audience": ["all", "staff"]}"#, "audience[1]", "is not an audience"),
    (r#"{"text": "x", "audience": ["group:"]}"#, "audience[0]", "names nobody"),
    (r#"{"text": "x", "audience": ["fax:123"]}"#, "audience[0]", "channel fax is not built yet"),
    (r#"{"text": "x", "audience": ["group:a/fax"]}"#, "audience[0]", "channel fax is not built yet"),
    (r#"{"text": "x", "audience": ["carrier:123"]}"#, "audience[0]", "\"carrier\" is unknown"),
    (r#"{"text": "x", "audience": ["grup:staff"]}"#, "audience[0]", "did you mean group:…?"),
    (r#"{"text": "x", "audience": ["Recipients:ann"]}"#, "audience[0]", "did you mean recipient:…?"),
    (r#"{"text": "x", "audience": ["phone:+46701234567"]}"#, "audience[0]", "did you mean sms:…?"),
    (r#"{"text": "x", "audience": ["e-mail:a@b.se"]}"#, "audience[0]", "did you mean mail:…?"),
    (r#"{"text": "x", "audience": ["al"]}"#, "audience[0]", "did you mean all?"),
    (r#"{"text": "x", "audience": ["sms:0701234567"]}"#, "audience[0]", "has no country code"),
    (r#"{"text": "x", "audience": ["sms:+999123456789"]}"#, "audience[0]", "+999123456789 does not begin with a country code"),
    (r#"{"text": "x", "audience": ["all", "mail:nobody"]}"#, "audience[1]", "is not a mail address"),
    (r#"{"text": "x", "audience": ["area"]}"#, "audience[0]", "has no area"),
    (r#"{"text": "x", "audience": ["all", {"too": "all"}]}"#, "audience[1].too", "did you mean \"to\"?"),
    (r#"{"text": "x", "audience": [{"to": "all", "strategy": "any"}]}"#, "audience[0].strategy", "first-reachable"),
    (r#"[]"#, "body", "an object is needed"),
];

/// What makes a good body wrong, the field, and what is said of it.
#[rustfmt::skip]
const WRONG_MEMBERS: &[(&str, &str, &str)] = &[
    (r#""audiance": []"#, "audiance", "did you mean \"audience\"?"),
    (r#""exclude": ["x"]"#, "exclude[0]", "is not an audience"),
    (r#""sender": "CITY\r\nBcc: x@y.se""#, "sender", "has a control character"),
    (r#""sender": "CITY\u0007""#, "sender", "has a control character"),
    (r#""channels": ["sms", "pigeon"]"#, "channels[1]", "\"pigeon\" is unknown"),
    (r#""priority": "high""#, "priority", "must be one of emergency, urgent, routine"),
    (r#""terminal": "read""#, "terminal", "must be one of accepted, delivered, answered"),
    (r#""expires": "2026-11-18T06:00:00Z""#, "expires", "is in the past"),
    (r#""expires": "2026-11-20T06:00:00""#, "expires", "has no zone"),
    (r#""expires": 1795000000"#, "expires", "a string is needed"),
    (r#""expires": "2036-11-18T06:00:00Z""#, "expires", "more than 40 days"),
    (r#""not_before": "2026-11-19T06:00:00Z", "expires": "2026-11-19T05:00:00Z""#, "expires", "not after not_before"),
    (r#""strategy": {"escalate_after": "soon"}"#, "strategy.escalate_after", "is not a duration"),
    (r#""strategy": {"escalate_after": "5m"}, "require_answer": false"#, "strategy", "require_answer is false"),
    (r#""choices": [{"key": "12345678901234567", "label": "x"}]"#, "choices[0].key", "longer than 16 characters"),
    (r#""choices": [{"key": "1", "label": "x"}], "stop_when": {"choice": "2", "people": 3}"#, "stop_when.choice", "the key of no choice"),
    (r#""choices": [{"key": "1", "label": "x"}], "stop_when": {"choice": "1", "people": 0}"#, "stop_when.people", "must be from 1"),
    (r#""choices": [{"key": "1", "label": "x"}], "stop_when": {"choice": "1"}"#, "stop_when.people", "is needed"),
    (r#""choices": [{"key": "a", "label": "x"}, {"key": "A", "label": "y"}]"#, "choices[1].key", "an earlier choice has"),
    (r#""choices": [{"label": "x"}]"#, "choices[0].key", "is needed"),
    (r#""choices": [{"key": "1", "label": "x", "needs_help": "yes"}]"#, "choices[0].needs_help", ""),
    (r#""follows": "0193""#, "follows", ""),
    (r#""callback": {"url": "ftp://x"}"#, "callback.url", "http or https"),
    (r#""callback": {"url": "http://x", "events": ["end"]}"#, "callback.events[0]", "must be one of"),
    (r#""texts": {"fax": "x"}"#, "texts.fax", "not built yet"),
    (r#""texts": {"sv": {"sms": 4}}"#, "texts.sv.sms", "a string is needed"),
    (r#""texts": {"sv": {"mail": {"body": "x"}}}"#, "texts.sv.mail.body", "is unknown"),
    (r#""texts": {"swedish!": "x"}"#, "texts.swedish!", "neither a channel"),
    (r#""resources": ["javascript:alert(1)"]"#, "resources[0]", "not a"),
    (r#""area": {"circles": [[91, 0, 1]]}"#, "area.circles[0]", "from -90 to 90"),
    (r#""area": {"polygons": [[[1,1],[2,2],[1,1]]]}"#, "area.polygons[0]", "is not a ring"),
    (r#""area": {"geocodes": ["x"]}"#, "area.geocode_attribute", "is needed"),
];

#[test]
fn each_problem_names_its_field() {
    let long = format!(r#"{{"text": "{}", "audience": ["all"]}}"#, "x".repeat(TEXT_CHARS_MAX + 1));
    check(&long, "text", "longer than 100000 characters");
    for (body, field, says) in WRONG_BODIES {
        check(body, field, says);
    }
    for (member, field, says) in WRONG_MEMBERS {
        check(&format!(r#"{{"text": "x", "audience": ["all"], {member}}}"#), field, says);
    }
}

fn check(body: &str, field: &str, says: &str) {
    let problems = read(body).expect_err(body);
    let found = problems.iter().find(|(name, _)| name == field);
    let (_, reason) = found.unwrap_or_else(|| panic!("{field} is not named in {problems:?}"));
    assert!(reason.contains(says), "{field}: {reason:?} does not say {says:?}");
}

#[test]
fn all_problems_come_at_once() {
    let problems = read(r#"{"text": 1, "audience": ["x", "y"], "mode": "test", "oops": 1}"#).unwrap_err();
    let names: Vec<&str> = problems.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(names, ["oops", "text", "audience[0]", "audience[1]", "mode"]);
}

#[test]
fn addresses_are_kept_in_one_form() {
    let body = r#"{"text": "x", "audience": ["sms:070-123 45 67", "mail:a@EXAMPLE.org"], "exclude": ["sms:0046701234568"]}"#;
    let sweden = Defaults::in_region("SE").unwrap();
    let request = parse(json::parse(body.as_bytes()).unwrap(), NOW, &sweden).unwrap();
    let to: Vec<&str> = request.audience.iter().map(|entry| entry.to.as_str()).collect();
    assert_eq!(to, ["sms:+46701234567", "mail:a@example.org"]);
    assert_eq!(request.exclude, ["sms:+46701234568"]);
}

#[test]
fn an_address_gets_the_verdict_that_a_file_of_people_gets() {
    for (channel, address) in [
        ("sms", "+999123456789"),
        ("sms", "+1415555267"),
        ("sms", "0701234567"),
        ("sms", "+46 70-123 45 67"),
        ("mail", "a..b@x.se"),
        ("mail", "\"a\"@x.se"),
        ("topic", "@@a"),
        ("topic", "@lobby"),
        ("edge", "-a"),
    ] {
        let body = serde_json::json!({"text": "x", "audience": [format!("{channel}:{address}")]});
        let by_alert = read(&body.to_string()).map(|request| request.audience[0].to.clone());
        let by_alert = by_alert.map_err(|problems| problems[0].1.clone());
        let person = serde_json::json!({"id": "1", channel: address});
        let by_json = store::import::from_json(&person, &Defaults::default());
        let by_json = by_json.map(|person| format!("{channel}:{}", person.devices[0].address));
        assert_eq!(by_alert, by_json.map_err(|faults| faults[0].reason.clone()), "{channel}:{address}");
    }
}

#[test]
fn texts_take_a_text_for_every_channel_in_every_language() {
    for channel in channels::ALL {
        let name = channel.name();
        let own = [(channel.number(), OwnText::of_text("Out!"))];
        let body = serde_json::json!({"texts": {name: "Out!", "sv": {name: "Ut!"}}, "audience": ["all"]});
        let texts = read(&body.to_string()).unwrap().texts;
        assert_eq!(texts.default.own, own.into(), "{name}");
        assert_eq!(texts.languages["sv"].own(channel.number()), Some(&OwnText::of_text("Ut!")), "{name}");
        for (texts, field) in [
            (serde_json::json!({"swedish!": "x"}), "texts.swedish!"),
            (serde_json::json!({"sv": {"a_word_like_no_other": "x"}}), "texts.sv.a_word_like_no_other"),
        ] {
            let problems =
                read(&serde_json::json!({"texts": texts, "audience": ["all"]}).to_string()).unwrap_err();
            assert_eq!(problems[0].0, field);
            assert!(problems[0].1.contains(name), "{problems:?}");
        }
        // What the description of the API says of it is what is read.
        let takes_objects = channel.schema()["oneOf"].is_array();
        let body = serde_json::json!({"texts": {name: {"text": "Out!"}}, "audience": ["all"]});
        assert_eq!(read(&body.to_string()).is_ok(), takes_objects, "{name}");
    }
}

#[test]
fn limits_hold_to_the_entry() {
    let body = |entries: usize| {
        format!(r#"{{"text": "x", "audience": [{}"all"]}}"#, r#""all","#.repeat(entries - 1))
    };
    assert_eq!(read(&body(AUDIENCE_MAX)).unwrap().audience.len(), AUDIENCE_MAX);
    let problems = read(&body(AUDIENCE_MAX + 1)).unwrap_err();
    assert_eq!(problems[0].1, "has 100001 entries; at most 100000 are taken");
}

fn any_entry() -> impl Strategy_<Value = AudienceEntry> {
    let to = prop_oneof![
        Just("all".to_owned()),
        "group:[a-z/]{0,3}[a-z]".prop_map(|g| g.replace('/', "-")),
        "sms:\\+467[0-9]{8}"
    ];
    let strategy = prop_oneof![
        Just(None),
        Just(Some(Strategy::FirstReachable)),
        (1u32..1_000_000).prop_map(|seconds| Some(Strategy::EscalateAfter { seconds })),
    ];
    (to, strategy, proptest::option::of(1i64..86_400)).prop_map(|(to, strategy, s)| AudienceEntry {
        to,
        strategy,
        expires: s.map(|s| NOW.plus_s(s)),
    })
}

use proptest::strategy::Strategy as Strategy_;

proptest! {
    /// What `GET /api/v1/alerts/{id}` shows as the request can be posted again and means the same.
    #[test]
    fn a_request_written_out_is_read_back_the_same(
        headline in proptest::option::of("[^\\x00]{1,20}"), text in "[^\\x00]{1,40}", sms in proptest::option::of("[^\\x00]{1,20}"),
        audience in proptest::collection::vec(any_entry(), 1..5), flash: bool, drill: bool, asks: bool,
        not_before in proptest::option::of(1i64..86_400), expires in 86_401i64..1_000_000, every_s in 1u32..100_000,
    ) {
        let mut request = read(r#"{"text": "x", "audience": ["all"]}"#).unwrap();
        request.headline = headline;
        request.text = Some(text);
        request.texts.default.own = channels::numbers().filter_map(|channel| Some((channel, OwnText::of_text(sms.clone()?)))).collect();
        let mail = OwnText { html: sms, subject: Some("s".into()), ..OwnText::default() };
        request.texts.languages.insert("sv".into(), ChannelTexts { text: Some("hej".into()), own: [(channels::MAIL, mail)].into(), ..ChannelTexts::default() });
        request.audience = audience;
        request.flash = flash;
        request.mode = if drill { Mode::Drill } else { Mode::Live };
        request.require_answer = asks;
        request.participants_only = drill;
        request.follows = drill.then(|| records::AlertId(uuid::Uuid::from_u128(7)));
        request.not_before = not_before.map(|s| NOW.plus_s(s));
        request.expires = NOW.plus_s(expires);
        request.callback = Some(CallbackRequest { url: "https://x.example/".into(), every_s, xml: drill, events: vec![CallbackEvent::Done] });
        request.area = Some(AreaRequest { circles: vec![(59.3, 18.0, 2.5)], polygons: vec![vec![(1.0, 1.0), (2.0, 1.0), (2.0, 2.0), (1.0, 1.0)]], geocodes: vec!["AKZ124".into()], geocode_attribute: Some("ugc".into()), description: "town".into(), named: Vec::new() });
        let written = serde_json::to_vec(&view::request(&request)).unwrap();
        let back = parse(json::parse(&written).unwrap(), NOW, &Defaults::default()).map_err(|problem| problem.listed()).unwrap();
        prop_assert_eq!(back, request);
    }
}

fn any_json() -> impl Strategy_<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        proptest::bool::ANY.prop_map(serde_json::Value::from),
        proptest::num::f64::NORMAL.prop_map(serde_json::Value::from),
        prop_oneof!["", "all", "area", "group:", "sms:+4670", "1h", "2026-11-19T00:00:00Z", "\\PC{0,12}"]
            .prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::vec((member(), inner), 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn member() -> impl Strategy_<Value = String> {
    let known: Vec<String> = MEMBERS.iter().map(|name| (*name).to_owned()).collect();
    let inner =
        ["to", "escalate_after", "key", "label", "url", "every", "sms", "mail", "sv", "polygons", "circles"];
    prop_oneof![
        proptest::sample::select(known),
        proptest::sample::select(inner.to_vec()).prop_map(str::to_owned),
        "\\PC{0,6}"
    ]
}

proptest! {
    /// Whatever a member holds, the answer is a request or problems that name fields.
    #[test]
    fn no_body_makes_the_reader_fall(members in proptest::collection::vec((member(), any_json()), 0..8)) {
        let mut body: serde_json::Map<String, serde_json::Value> = members.into_iter().collect();
        body.entry("text").or_insert("x".into());
        body.entry("audience").or_insert(serde_json::json!(["all"]));
        let node = json::parse(serde_json::Value::Object(body).to_string().as_bytes()).unwrap();
        if let Err(problem) = parse(node, NOW, &Defaults::default()) {
            let listed = problem.listed();
            prop_assert!(!listed.is_empty() && listed.iter().all(|(field, reason)| !field.is_empty() && !reason.is_empty()));
        }
    }
}

#[test]
fn an_edge_site_that_is_not_in_the_config_is_told_where_it_is_named() {
    let read = |body: &str, defaults: &Defaults| {
        parse(json::parse(body.as_bytes()).unwrap(), NOW, defaults).map_err(|problem| problem.listed())
    };
    let known = Defaults::default().with_names(channels::EDGE, ["north".to_owned(), "east".to_owned()]);
    let body = r#"{"text": "x", "audience": ["edge:north", "edge:west", {"to": "edge:south"}]}"#;
    let problems = read(body, &known).unwrap_err();
    let names: Vec<&str> = problems.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(names, ["audience[1]", "audience[2]"]);
    let reason = &problems[0].1;
    assert!(reason.contains("\"west\" is no edge site") && reason.contains("has east, north:"), "{reason}");
    // Without sites the process cannot know: others have them.
    assert_eq!(read(body, &Defaults::default()).unwrap().audience.len(), 3);
    // Nobody is missed by excluding one that is gone.
    let body = r#"{"text": "x", "audience": ["edge:north"], "exclude": ["edge:west"]}"#;
    assert_eq!(read(body, &known).unwrap().exclude, ["edge:west"]);
}
