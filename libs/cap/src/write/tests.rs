use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::*;
use crate::alert::*;
use crate::{Timestamp, read};

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/cap-1.2.xsd");

/// Text as people write it, hostile to XML; never empty, never with white space at its ends.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Za-z0-9åäö強烈ש ,.<>&\"'=;\\]\\-\n\t\r]{1,60}",
        "\\PC{1,40}",
        Just("]]> <![CDATA[ & &amp; &#0; <!DOCTYPE x> %s".to_string()),
    ]
    .prop_map(|text| text.trim().to_string())
    .prop_filter("not empty", |text| !text.is_empty() && text.chars().all(crate::read::is_allowed))
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0_i64..4_000_000_000, -840_i16..=840)
        .prop_map(|(seconds, offset)| Timestamp::new(seconds * 1_000_000, offset).unwrap())
}

fn word<T: Word + std::fmt::Debug>() -> impl Strategy<Value = T> {
    prop::sample::select(T::WORDS)
}

fn named() -> impl Strategy<Value = Vec<NamedValue>> {
    prop::collection::vec((text(), text()).prop_map(|(name, value)| NamedValue { name, value }), 0..3)
}

fn point() -> impl Strategy<Value = Point> {
    // A billionth of a degree apart, so that none needs an exponent; both ends are possible.
    ((-9_000_000_i64..=9_000_000), (-18_000_000_i64..=18_000_000))
        .prop_map(|(lat, lon)| (lat as f64 / 1e5, lon as f64 / 1e5))
}

fn ring() -> impl Strategy<Value = Vec<Point>> {
    prop::collection::vec(point(), 3..12).prop_map(|mut ring| {
        ring.push(ring[0]);
        ring
    })
}

prop_compose! {
    fn area()(
        description in text(),
        polygons in prop::collection::vec(ring(), 0..3),
        circles in prop::collection::vec((point(), 0.0..900.0), 0..3),
        geocodes in named(),
        altitude in prop::option::of(-1_000.0..90_000.0),
        over in prop::option::of(0.0..1_000.0),
    ) -> Area {
        let circles = circles.into_iter().map(|(center, km)| Circle { center, km }).collect();
        let ceiling = altitude.and_then(|altitude: f64| over.map(|over| altitude + over));
        Area { description, polygons, circles, geocodes, altitude, ceiling }
    }
}

prop_compose! {
    fn resource()(
        description in text(),
        mime_type in "[a-z]{3,9}/[a-z.+-]{2,9}",
        size in prop::option::of(any::<u64>()),
        uri in prop::option::of("https://[a-z]{1,9}\\.example/[a-z0-9]{0,9}(\\?[a-z]=[a-z]&b=%20)?"),
        deref_uri in prop::option::of("([A-Za-z0-9+/]{4}){1,9}"),
        digest in prop::option::of("[0-9a-f]{40}"),
    ) -> Resource {
        Resource { description, mime_type, size, uri, deref_uri, digest }
    }
}

prop_compose! {
    fn words_of_info()(
        language in prop::sample::select(&["en-US", "sv", "zh-Hant-TW", "he-IL", "pt-PT"][..]),
        categories in prop::collection::vec(word(), 1..4),
        response_types in prop::collection::vec(word(), 0..3),
        urgency in word(), severity in word(), certainty in word(),
        effective in prop::option::of(time()), onset in prop::option::of(time()), expires in prop::option::of(time()),
    ) -> Info {
        Info {
            language: language.to_string(), categories, response_types, urgency, severity, certainty, effective, onset,
            expires, ..Info::default()
        }
    }
}

prop_compose! {
    fn info()(
        words in words_of_info(),
        event in text(),
        texts in prop::collection::vec(prop::option::of(text()), 6),
        web in prop::option::of("https://[a-z]{1,9}\\.example/[a-z0-9]{0,9}"),
        event_codes in named(), parameters in named(),
        resources in prop::collection::vec(resource(), 0..3),
        areas in prop::collection::vec(area(), 0..3),
    ) -> Info {
        let mut texts = texts.into_iter();
        let mut next = || texts.next().flatten();
        Info {
            event, audience: next(), sender_name: next(), headline: next(), description: next(), instruction: next(),
            contact: next(), web, event_codes, parameters, resources, areas, ..words
        }
    }
}

prop_compose! {
    fn alert()(
        keys in prop::collection::vec("[A-Za-z0-9:._@-]{1,30}", 4),
        sent in time(), referred in time(),
        status in word(), msg_type in word::<MsgType>(), scope in word(),
        texts in prop::collection::vec(prop::option::of(text()), 2),
        restriction in text(),
        lists in prop::collection::vec("[a-z@.]{1,8}( [a-z]{1,5})?", 2..5),
        codes in prop::collection::vec(text(), 0..3),
        infos in prop::collection::vec(info(), 0..3),
    ) -> Alert {
        let [source, note] = [texts[0].clone(), texts[1].clone()];
        let reference = Reference { sender: keys[2].clone(), identifier: keys[3].clone(), sent: Some(referred) };
        Alert {
            identifier: keys[0].clone(), sender: keys[1].clone(), sent: Some(sent), status: Some(status),
            msg_type: Some(msg_type), scope: Some(scope), source, note,
            restriction: (scope == Scope::Restricted).then_some(restriction),
            addresses: if scope == Scope::Private { lists.clone() } else { Vec::new() },
            codes,
            references: if msg_type == MsgType::Alert { Vec::new() } else { vec![reference.clone(), reference] },
            incidents: lists,
            infos,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(200)))]

    #[test]
    fn what_is_written_is_read_again(alert in alert()) {
        let octets = write(&alert).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let reading = read(&octets).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(&reading.alert, &alert);
        let faults: Vec<_> = reading.problems.iter().filter(|problem| !is_advice(problem.rule)).collect();
        prop_assert!(faults.is_empty(), "{:?}", faults);
    }
}

/// What a generated alert may be advised against.
fn is_advice(rule: Rule) -> bool {
    matches!(rule, Rule::TimeOrder | Rule::Length | Rule::References | Rule::Missing | Rule::Shape)
}

/// The schema of the standard, by another's program.
mod by_xmllint {
    use super::*;

    /// Writes documents to files of their own and has xmllint judge them; returns its words on the invalid
    /// ones.
    fn judge(documents: &[Vec<u8>], folder: &Path) -> String {
        std::fs::create_dir_all(folder).unwrap();
        let mut command = Command::new("xmllint");
        command.args(["--nonet", "--noout", "--schema", SCHEMA]);
        for (index, document) in documents.iter().enumerate() {
            let file = folder.join(format!("{index}.xml"));
            std::fs::write(&file, document).unwrap();
            command.arg(file);
        }
        let output = command
            .output()
            .expect("xmllint (Debian: libxml2-utils) is installed by scripts/install-foreign");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let judged = said
            .lines()
            .filter(|line| line.ends_with(" validates") || line.ends_with(" fails to validate"))
            .count();
        assert_eq!(judged, documents.len(), "{said}");
        assert_eq!(output.status.success(), !said.contains("fails to validate"));
        said.lines().filter(|line| !line.ends_with(" validates")).collect::<Vec<_>>().join("\n")
    }

    fn folder(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("cap-{name}-{}", std::process::id()))
    }

    #[test]
    fn what_is_written_is_valid_by_the_schema() {
        let mut runner = TestRunner::deterministic();
        let documents: Vec<Vec<u8>> =
            (0..100).map(|_| write(&alert().new_tree(&mut runner).unwrap().current()).unwrap()).collect();
        let folder = folder("valid");
        let complaints = judge(&documents, &folder);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(complaints, "");
    }

    #[test]
    fn the_schema_finds_what_is_invalid() {
        let folder = folder("invalid");
        let good = String::from_utf8(write(&least()).unwrap()).unwrap();
        for (from, to) in [
            ("<status>Actual</status>", ""),
            ("<sent>2025-01-01T00:00:00-00:00</sent>", "<sent>2025-01-01T00:00:00Z</sent>"),
            ("cap:1.2", "cap:1.1"),
            ("<scope>Public</scope>", "<scope>Everybody</scope>"),
            ("<scope>Public</scope>", "<scope>Public</scope><extra/>"),
        ] {
            let bad = good.replace(from, to);
            assert_ne!(bad, good);
            assert_ne!(judge(&[bad.into_bytes()], &folder), "", "{from} -> {to}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

/// As little as can be written.
fn least() -> Alert {
    Alert {
        identifier: "1".to_string(),
        sender: "a@b".to_string(),
        sent: Timestamp::parse("2025-01-01T00:00:00-00:00"),
        status: Some(Status::Actual),
        msg_type: Some(MsgType::Alert),
        scope: Some(Scope::Public),
        ..Alert::default()
    }
}

/// As much as every rule needs.
fn most() -> Alert {
    let named = || vec![NamedValue { name: "n".to_string(), value: "v".to_string() }];
    let resource = Resource {
        description: "map".to_string(),
        mime_type: "image/png".to_string(),
        ..Resource::default()
    };
    let area = Area {
        description: "here".to_string(),
        polygons: vec![vec![(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.0, 0.0)]],
        circles: vec![Circle { center: (0.0, 0.0), km: 1.0 }],
        geocodes: named(),
        ..Area::default()
    };
    let info = Info {
        categories: vec![Category::Met],
        event: "wind".to_string(),
        event_codes: named(),
        parameters: named(),
        resources: vec![resource],
        areas: vec![area],
        ..Info::default()
    };
    Alert { infos: vec![info], ..least() }
}

#[test]
fn the_written_form_is_the_standards() {
    let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2">
  <identifier>1</identifier>
  <sender>a@b</sender>
  <sent>2025-01-01T00:00:00-00:00</sent>
  <status>Actual</status>
  <msgType>Alert</msgType>
  <scope>Public</scope>
  <addresses>"fire chief" x@y</addresses>
  <note>A &amp; B &lt;c&gt;</note>
</alert>
"#;
    let alert = Alert {
        addresses: vec!["fire chief".to_string(), "x@y".to_string()],
        note: Some("A & B <c>".to_string()),
        ..least()
    };
    assert_eq!(String::from_utf8(write(&alert).unwrap()).unwrap(), expected);
    assert!(write(&most()).is_ok());
}

#[test]
fn what_breaks_a_rule_is_refused_and_named() {
    type Break = fn(&mut Alert);
    let cases: &[(&str, Rule, Break)] = &[
        ("alert/identifier", Rule::Missing, |a| a.identifier.clear()),
        ("alert/identifier", Rule::Characters, |a| a.identifier = "a b".to_string()),
        ("alert/sender", Rule::Characters, |a| a.sender = "a,b".to_string()),
        ("alert/sent", Rule::Missing, |a| a.sent = None),
        ("alert/status", Rule::Missing, |a| a.status = None),
        ("alert/msgType", Rule::Missing, |a| a.msg_type = None),
        ("alert/scope", Rule::Missing, |a| a.scope = None),
        ("alert/note", Rule::Empty, |a| a.note = Some(" ".to_string())),
        ("alert/note", Rule::Characters, |a| a.note = Some("bell \u{7}".to_string())),
        ("alert/code", Rule::Missing, |a| a.codes = vec![String::new()]),
        ("alert/addresses", Rule::Companion, |a| a.scope = Some(Scope::Private)),
        ("alert/addresses", Rule::Characters, |a| a.addresses = vec!["a\"b".to_string()]),
        ("alert/restriction", Rule::Companion, |a| a.scope = Some(Scope::Restricted)),
        ("alert/references", Rule::References, |a| a.msg_type = Some(MsgType::Update)),
        ("alert/references", Rule::References, |a| {
            a.references =
                vec![Reference { sender: "s".to_string(), identifier: "i".to_string(), sent: None }]
        }),
        ("alert/references", Rule::References, |a| {
            a.references =
                vec![Reference { sender: "s".to_string(), identifier: "i j".to_string(), sent: a.sent }]
        }),
        ("alert/info[1]/language", Rule::Value, |a| a.infos[0].language = "English (US)".to_string()),
        ("alert/info[1]/category", Rule::Missing, |a| a.infos[0].categories.clear()),
        ("alert/info[1]/event", Rule::Missing, |a| a.infos[0].event.clear()),
        ("alert/info[1]/headline", Rule::Empty, |a| a.infos[0].headline = Some(String::new())),
        ("alert/info[1]/web", Rule::Value, |a| a.infos[0].web = Some("see page 3".to_string())),
        ("alert/info[1]/parameter[1]/value", Rule::Missing, |a| a.infos[0].parameters[0].value.clear()),
        ("alert/info[1]/eventCode[1]/valueName", Rule::Missing, |a| a.infos[0].event_codes[0].name.clear()),
        ("alert/info[1]/resource[1]/mimeType", Rule::Missing, |a| a.infos[0].resources[0].mime_type.clear()),
        ("alert/info[1]/resource[1]/digest", Rule::Value, |a| {
            a.infos[0].resources[0].digest = Some("abc".to_string())
        }),
        ("alert/info[1]/resource[1]/derefUri", Rule::Value, |a| {
            a.infos[0].resources[0].deref_uri = Some("é===".to_string())
        }),
        ("alert/info[1]/area[1]/areaDesc", Rule::Missing, |a| a.infos[0].areas[0].description.clear()),
        ("alert/info[1]/area[1]/polygon[1]", Rule::OpenRing, |a| {
            a.infos[0].areas[0].polygons[0][3] = (2.0, 2.0)
        }),
        ("alert/info[1]/area[1]/polygon[1]", Rule::Shape, |a| a.infos[0].areas[0].polygons[0].truncate(3)),
        ("alert/info[1]/area[1]/polygon[1]", Rule::Shape, |a| a.infos[0].areas[0].polygons[0][1].0 = 90.1),
        ("alert/info[1]/area[1]/circle[1]", Rule::Shape, |a| a.infos[0].areas[0].circles[0].km = f64::NAN),
        ("alert/info[1]/area[1]/circle[1]", Rule::Shape, |a| {
            a.infos[0].areas[0].circles[0].center.1 = -181.0
        }),
        ("alert/info[1]/area[1]/altitude", Rule::Companion, |a| a.infos[0].areas[0].ceiling = Some(3.0)),
        ("alert/info[1]/area[1]/altitude", Rule::Value, |a| {
            a.infos[0].areas[0].altitude = Some(f64::INFINITY)
        }),
    ];
    for (path, rule, break_it) in cases {
        let mut alert = most();
        break_it(&mut alert);
        let error = write(&alert).expect_err(path);
        assert_eq!((error.path.as_str(), error.rule), (*path, *rule), "{error}");
    }
}

#[test]
fn fractions_of_a_second_are_cut() {
    let alert = Alert { sent: Timestamp::parse("2025-01-01T00:00:00.999-00:00"), ..least() };
    let text = String::from_utf8(write(&alert).unwrap()).unwrap();
    assert!(text.contains("<sent>2025-01-01T00:00:00-00:00</sent>"), "{text}");
}
