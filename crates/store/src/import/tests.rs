use super::csv::Rows;
use super::*;
use channels::Defaults;
use proptest::prelude::*;
use records::{
    ChannelNumber, Device, DeviceProfile, Group, Letters, Position, Preference, QuietHours, Recipient,
};
use serde_json::json;

fn sweden() -> Defaults {
    Defaults::in_region("se").unwrap()
}

/// What a file gives, fed in pieces of `piece` octets: the recipients, and the problems in words.
fn read(format: ImportFormat, file: &[u8], piece: usize) -> (Vec<Recipient>, Vec<String>) {
    let mut reader = ImportReader::new(format, sweden());
    let mut out = Vec::new();
    for piece in file.chunks(piece.max(1)) {
        reader.feed(piece, &mut out);
    }
    reader.finish(&mut out);
    let (mut people, mut problems) = (Vec::new(), Vec::new());
    for read in out {
        match read {
            Ok(person) => people.push(person),
            Err(problem) => problems.push(problem.to_string()),
        }
    }
    (people, problems)
}

fn device(channel: ChannelNumber, address: &str) -> Device {
    Device::new(channel, address.to_owned())
}

#[test]
fn a_csv_file_gives_its_people_however_it_is_cut() {
    let file = "\u{feff}id,Name,language,time_zone,groups,sms,mail,lat,lon,floor\r\n\
        1,\"Ann \"\"A\"\" Ek, MD\",SV,europe/stockholm,fire;night,070-123 45 67;+46701234568,Ann@Example.SE,59.3,18.1,3\r\n\
        \r\n\
        2,Bo,,,,,,,,\n\
        \"3\",\"two\nlines\",zh-hant,,,,,,,\" kept\"";
    let ann = Recipient {
        id: "1".to_owned(),
        name: "Ann \"A\" Ek, MD".to_owned(),
        language: Some("sv".to_owned()),
        time_zone: Some("Europe/Stockholm".to_owned()),
        groups: vec!["fire".to_owned(), "night".to_owned()],
        devices: vec![
            device(channels::SMS, "+46701234567"),
            device(channels::SMS, "+46701234568"),
            device(channels::MAIL, "Ann@example.se"),
        ],
        position: Some(Position { lat: 59.3, lon: 18.1 }),
        attributes: [("floor".to_owned(), "3".to_owned())].into(),
        ..Recipient::default()
    };
    for piece in [1, 2, 3, 7, 10_000] {
        let (people, problems) = read(ImportFormat::Csv, file.as_bytes(), piece);
        assert_eq!(problems, ["row 5, name: has the control character '\\n'"]);
        assert_eq!(people.len(), 2, "{piece}");
        assert_eq!(people[0], ann);
        assert_eq!(
            people[1],
            Recipient { id: "2".to_owned(), name: "Bo".to_owned(), ..Recipient::default() }
        );
    }
}

#[test]
fn each_problem_names_its_row_field_and_reason() {
    let cases: [(&str, &[&str]); 26] = [
        ("", &["row 1: the file is empty: its first row names the columns"]),
        ("name\nAnn", &["row 1, id: no column is called id"]),
        ("id,fax\n1,2", &["row 1, fax: channel fax is not built yet"]),
        ("id,sms,SMS\n", &["row 1, SMS: is named by two columns"]),
        ("id,\n", &[]),
        ("id,,name\n1,x,Ann\n", &["row 2: has \"x\" in column 2, which has no heading"]),
        ("id,name,sms\n1,Ann\n", &[]),
        ("id,sms\n1,4.67017E+11\n", &["row 2, sms: \"4.67017E+11\" is not a phone number: it has 'E'"]),
        ("id,language\n1,DK\n", &["row 2, language: \"DK\" is a country (DK); the language is da"]),
        (
            "id;name,sms\n1;Ann",
            &["row 1: the header has the column \"id;name\": write one separator between all columns"],
        ),
        ("id,name\n1", &["row 2: has 1 fields, the header names 2"]),
        ("id,name\n1,a,b\n2,c", &["row 2: has 3 fields, the header names 2"]),
        ("id,name\n,Ann", &["row 2, id: is missing"]),
        ("id\n1\n2\n1", &["row 4, id: \"1\" was on an earlier row"]),
        ("id,sms\n1,12", &["row 2, sms: "]),
        ("id,sms\n1,070 FLOWERS", &["row 2, sms: \"070 FLOWERS\" is not a phone number: it has 'F'"]),
        (
            "id,sms\n1,+46701234567;+999123456789",
            &["row 2, sms: +999123456789 does not begin with a country code"],
        ),
        (
            "id,mail\n1,ann.example.se",
            &["row 2, mail: \"ann.example.se\" is not a mail address: it has no @"],
        ),
        ("id,language\n1,swedish language", &["row 2, language: "]),
        ("id,time_zone\n1,Mars/Olympus", &["row 2, time_zone: \"Mars/Olympus\" is not a time zone"]),
        ("id,lat,lon\n1,91,0", &["row 2, lat: 91 is not between -90 and 90"]),
        ("id,lat,lon\n1,1,", &["row 2, lon: is empty, and lat is there"]),
        ("id,lat,lon\n1,x,0", &["row 2, lat: \"x\" is not a number"]),
        ("id,sms,mail\n1,x,y", &["row 2, sms: ", "row 2, mail: "]),
        ("id,groups\n1,fire/sms", &["row 2, groups: \"fire/sms\" cannot end in /sms"]),
        ("id,name\n1,\"open\n2,Bo\n3,Cy", &["row 2, name: has the control character"]),
    ];
    for (file, expected) in cases {
        let (_, problems) = read(ImportFormat::Csv, file.as_bytes(), 5);
        assert_eq!(problems.len(), expected.len(), "{file:?}: {problems:?}");
        for (problem, expected) in problems.iter().zip(expected) {
            assert!(problem.starts_with(expected), "{file:?}: {problem:?}");
        }
    }
}

#[test]
fn what_spreadsheets_write_between_fields_and_before_the_file_is_understood() {
    let file = "id,name,groups,sms\n1,\"Ek, Åsa\",\"fire;night\",0701234567\n";
    let (people, problems) = read(ImportFormat::Csv, file.as_bytes(), 7);
    assert_eq!((people.len(), problems.len()), (1, 0), "{problems:?}");
    let rows = "1|\"Ek, Åsa\"|\"fire;night\"|0701234567";
    let utf16 =
        |text: &str| [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let files: [Vec<u8>; 6] = [
        format!("id|name|groups|sms\n{rows}").replace('|', ";").into_bytes(),
        format!("id|name|groups|sms\r\n{rows}|\r\n").replace('|', ";").into_bytes(),
        format!("sep=;\r\nid|name|groups|sms\r\n{rows}").replace('|', ";").into_bytes(),
        format!("||||\nid|\"name\"|groups|sms\n{rows}").replace('|', ";").into_bytes(),
        format!("id|name|groups|sms\n{rows}").replace('|', "\t").into_bytes(),
        utf16(&format!("id|name|groups|sms\r\n{rows}\r\n").replace('|', "\t")),
    ];
    for file in files {
        for piece in [1, 3, 1_000] {
            let (others, problems) = read(ImportFormat::Csv, &file, piece);
            assert_eq!((&others, problems.len()), (&people, 0), "{problems:?} of {}", file.escape_ascii());
        }
    }
}

#[test]
fn octets_that_are_not_utf8_are_a_problem() {
    let (people, problems) = read(ImportFormat::Csv, b"id,name\n1,J\xf6rg\n2,Bo\n", 4);
    assert_eq!(
        (people.len(), problems),
        (1, vec!["row 2, name: is not UTF-8: save the file as UTF-8 (in Excel: CSV UTF-8)".to_owned()])
    );
    let (_, problems) = read(ImportFormat::Ndjson, b"{\"id\":\"1\",\"name\":\"J\xf6rg\"}\n", 4);
    assert!(problems[0].starts_with("row 1: is not JSON"), "{problems:?}");
}

#[test]
fn a_row_that_is_too_long_is_a_problem_and_the_next_one_is_read() {
    let long = "x".repeat(3 * ROW_OCTETS_MAX);
    for broken in
        [long.clone(), format!("\"{long}"), ",".repeat(3 * ROW_OCTETS_MAX), "\"\"".repeat(2 * ROW_OCTETS_MAX)]
    {
        let file = format!("id,name\n1,{broken}\n2,Bo\n");
        for piece in [1_000, 10_000_000] {
            let (people, problems) = read(ImportFormat::Csv, file.as_bytes(), piece);
            assert!(problems[0].starts_with("row 2: the row has more than 65536 octets"), "{problems:?}");
            assert_eq!((people.len(), problems.len()), (1, 1));
        }
    }
    let file = format!("{{\"id\":\"{long}\"}}\n{{\"id\":\"2\"}}");
    let (people, problems) = read(ImportFormat::Ndjson, file.as_bytes(), 1_000);
    assert_eq!(people[0].id, "2");
    assert_eq!(problems, ["row 1: the row has more than 65536 octets"]);
}

#[test]
fn what_a_reader_holds_does_not_grow_with_a_row() {
    let mut rows = Rows::default();
    let mut count = 0;
    rows.feed(b"\"", &mut |_| count += 1);
    for _ in 0..100 {
        rows.feed(&[b'x'; ROW_OCTETS_MAX], &mut |_| count += 1);
    }
    assert!(format!("{rows:?}").len() < 6 * ROW_OCTETS_MAX);
    rows.feed(b"\n", &mut |row| count += usize::from(row.too_long));
    assert_eq!(count, 1);
}

#[test]
fn ndjson_is_read_as_the_api_takes_it() {
    let file = r#"{"id": 7, "name": "Ann", "sms": ["+46701234567", "070-123 45 68"], "mail": "a@B.se", "quiet_hours": "22:00-7:30"}

{"id": "8", "devices": [{"channel": "mail", "address": "b@b.se", "opted_out": true}], "sms": "+46701234567", "lat": 1, "lon": 2.5,
{"id": "9", "attributes": {"floor": 3, "keys": true, "none": null}, "participant": true, "language": null}
"#;
    let (people, problems) = read(ImportFormat::Ndjson, file.as_bytes(), 11);
    assert_eq!(problems.len(), 1);
    assert!(problems[0].starts_with("row 3: is not JSON"), "{problems:?}");
    assert_eq!(people[0].id, "7");
    assert_eq!(people[0].devices.len(), 3);
    assert_eq!(people[0].quiet_hours, Some(QuietHours { from: 22 * 60, to: 7 * 60 + 30 }));
    assert_eq!(people[1].attributes["floor"], "3");
    assert_eq!(people[1].attributes["keys"], "true");
    assert!(people[1].participant && people[1].attributes.len() == 2);
}

#[test]
fn json_takes_the_short_form_of_every_channel_as_csv_has_its_column() {
    for channel in channels::ALL {
        let (name, address) = (channel.name(), channel.example());
        let expected = [device(channel.number(), address)];
        for value in [json!(address), json!([address])] {
            let person = from_json(&json!({"id": "1", name: value}), &Defaults::default()).unwrap();
            assert_eq!(person.devices, expected, "{name}");
        }
        let (people, problems) = read(ImportFormat::Csv, format!("id,{name}\n1,{address}\n").as_bytes(), 7);
        assert_eq!((problems, &people[0].devices[..]), (Vec::new(), &expected[..]));
        let faults =
            from_json(&json!({"id": "1", "shoe_size_of_owner": 4}), &Defaults::default()).unwrap_err();
        assert!(faults[0].reason.split(", ").any(|known| known == name), "{faults:?}");
    }
}

#[test]
fn an_address_gets_the_same_verdict_by_csv_and_by_json() {
    for (channel, address) in [
        ("sms", "+999123456789"),
        ("sms", "070 FLOWERS"),
        ("sms", "070-123 45 67"),
        ("mail", "ann.example.se"),
        ("mail", "a..b@x.se"),
        ("topic", "a#b"),
        ("topic", "@lobby"),
        ("edge", ".a"),
        ("edge", "north"),
    ] {
        let verdict = channels::endpoint(channel, address, &sweden()).map(|(_, address)| address);
        let short = from_json(&json!({"id": "1", channel: address}), &sweden());
        let device = json!({"id": "1", "devices": [{"channel": channel, "address": address}]});
        let found = |person: Result<Recipient, Vec<FieldError>>| match person {
            Ok(person) => Ok(person.devices[0].address.clone()),
            Err(faults) => Err(faults[0].reason.clone()),
        };
        assert_eq!(found(short), verdict, "{channel}:{address}");
        assert_eq!(found(from_json(&device, &sweden())), verdict, "{channel}:{address}");
        let (people, problems) = read(ImportFormat::Csv, format!("id,{channel}\n1,{address}").as_bytes(), 9);
        let row = people.first().map(|person| person.devices[0].address.clone());
        let row =
            row.ok_or_else(|| problems[0].trim_start_matches(&format!("row 2, {channel}: ")).to_owned());
        assert_eq!(row, verdict, "{channel}:{address}");
    }
}

#[test]
fn json_faults_name_the_member_and_the_nearest_known_one() {
    let cases = [
        (json!([]), "", "a recipient is an object, not a list"),
        (json!({"id": "1", "nmae": "x"}), "nmae", "is unknown; did you mean name?"),
        (json!({"id": "1", "shoe_size_of_owner": 4}), "shoe_size_of_owner", "is unknown; there are id, name"),
        (json!({"id": "1", "fax": "2"}), "fax", "channel fax is not built yet"),
        (json!({"id": true}), "id", "is a text, not true or false"),
        (json!({"name": "x"}), "id", "is missing"),
        (
            json!({"id": "1", "devices": [{"channel": "sms", "address": "+46701234567", "enbled": true}]}),
            "devices[0].enbled",
            "is unknown; did you mean enabled?",
        ),
        (
            json!({"id": "1", "devices": [{"channel": "fax", "address": "1"}]}),
            "devices[0].channel",
            "channel fax is not built yet",
        ),
        (json!({"id": "1", "devices": [{"address": "1"}]}), "devices[0].channel", "is missing"),
        (json!({"id": "1", "mail": ["a@b.se", "x"]}), "mail", "\"x\" is not a mail address"),
        (
            json!({"id": "1", "devices": [{"channel": "mail", "address": "x"}]}),
            "devices[0].address",
            "\"x\" is not",
        ),
        (json!({"id": "1", "lat": 1}), "lon", "is missing"),
        (json!({"id": "1", "lat": "1", "lon": 2}), "lat", "is a number, not a text"),
        (
            json!({"id": "1", "position": {"lat": 1, "lonn": 2}}),
            "position.lonn",
            "is unknown; did you mean lon?",
        ),
        (json!({"id": "1", "quiet_hours": "22-07"}), "quiet_hours", "\"22-07\" is not a span"),
        (json!({"id": "1", "quiet_hours": "07:00-07:00"}), "quiet_hours", "is not a span"),
        (json!({"id": "1", "attributes": {"a": []}}), "attributes.a", "is a text, not a list"),
        (json!({"id": "1", "attributes": {"lat": "1"}}), "attributes", "\"lat\" is a field of its own"),
        (json!({"id": "1", "prefers": "sms"}), "prefers", "is text or voice, not \"sms\""),
        (json!({"id": "1", "prefers": 1}), "prefers", "is a text, not a number"),
        (
            json!({"id": "1", "attributes": {"prefers": "x"}}),
            "attributes",
            "\"prefers\" is a field of its own",
        ),
        (json!({"id": "x".repeat(129)}), "id", "has 129 octets, at most 128 are allowed"),
        (json!({"id": "a\u{7}b"}), "id", "has the control character"),
        (
            json!({"id": "1", "groups": (0..65).map(|n| n.to_string()).collect::<Vec<_>>()}),
            "groups",
            "65 groups",
        ),
        (
            json!({"id": "1", "sms": (0..33).map(|n| format!("+467012345{n:02}")).collect::<Vec<_>>()}),
            "devices",
            "33 devices",
        ),
    ];
    for (value, field, reason) in cases {
        let faults = from_json(&value, &Defaults::default()).unwrap_err();
        let found = faults.iter().any(|fault| fault.field == field && fault.reason.starts_with(reason));
        assert!(found, "{value}: {faults:?}");
    }
}

#[test]
fn faults_of_a_profile_name_the_member_and_its_limit() {
    for (profile, member, reason) in [
        (json!({"length": 0}), ".length", "is 1 to 10000, not 0"),
        (json!({"length": 10_001}), ".length", "is 1 to 10000, not 10001"),
        (json!({"length": -1}), ".length", "is 1 to 10000, not -1"),
        (json!({"length": 20.5}), ".length", "is 1 to 10000, not 20.5"),
        (json!({"length": "20"}), ".length", "is a number, 1 to 10000, not a text"),
        (json!({"letters": "latin"}), ".letters", "is one of digits, ascii, gsm, all, not \"latin\""),
        (json!({"letters": 7}), ".letters", "is one of digits, ascii, gsm, all, not a number"),
        (json!({"links": "no"}), ".links", "is true or false, not a text"),
        (json!({"html": 0}), ".html", "is true or false, not a number"),
        (json!({"lenght": 20}), ".lenght", "is unknown; did you mean length?"),
        (json!("ascii"), "", "is an object such as {\"length\": 20, \"letters\": \"ascii\"}, not a text"),
    ] {
        let device = json!({"channel": "sms", "address": "+46701234567", "profile": profile});
        let faults = from_json(&json!({"id": "1", "devices": [device]}), &Defaults::default()).unwrap_err();
        let expected = FieldError::new(format!("devices[0].profile{member}"), reason);
        assert_eq!(faults, [expected], "{profile}");
    }
}

#[test]
fn a_profile_is_given_once_and_a_preference_comes_by_every_way() {
    let read = |value: serde_json::Value| from_json(&value, &sweden()).unwrap();
    let device = json!({"channel": "sms", "address": "0701234567", "profile": {"length": 20, "html": null}});
    let person = read(json!({"id": "1", "prefers": "voice", "devices": [device], "sms": "+46701234567"}));
    let profile = DeviceProfile { length: Some(20), ..DeviceProfile::default() };
    assert_eq!((person.devices.len(), person.devices[0].profile), (1, Some(profile)));
    assert_eq!(to_json(&person)["devices"][0]["profile"], json!({"length": 20}));
    let bare = json!({"channel": "sms", "address": "0701234567"});
    let person = read(json!({"id": "1", "devices": [bare, device], "prefers": null}));
    assert_eq!((person.devices.len(), person.devices[0].profile, person.prefers), (1, Some(profile), None));
    assert!(to_json(&person).get("prefers").is_none());
    let without = json!({"channel": "sms", "address": "0701234567", "profile": {}});
    assert_eq!(read(json!({"id": "1", "devices": [without]})).devices[0].profile, None);

    let csv = b"id,sms,Prefers\n1,0701234567,voice\n2,0701234568,Text\n3,0701234569,\n4,,sms\n";
    let (people, problems) = super::tests::read(ImportFormat::Csv, csv, 7);
    let prefers: Vec<_> = people.iter().map(|person| person.prefers).collect();
    assert_eq!(prefers, [Some(Preference::Voice), Some(Preference::Text), None]);
    assert_eq!(problems, ["row 5, Prefers: is text or voice, not \"sms\""]);
}

#[test]
fn one_address_twice_is_one_device_and_a_stop_holds() {
    let mut twice = Recipient { id: "1".to_owned(), ..Recipient::default() };
    twice.devices = vec![
        device(channels::SMS, "+46701234567"),
        device(channels::MAIL, "a@x.se"),
        Device { opted_out: true, ..device(channels::SMS, "070-1234567") },
    ];
    let once = normalise(twice, &sweden()).unwrap().devices;
    assert_eq!(once.len(), 2);
    assert!(once[0].opted_out && once[0].address == "+46701234567");
}

#[test]
fn groups_that_lead_nowhere_are_refused() {
    let group = |id: &str| Group { id: id.to_owned(), ..Group::default() };
    assert_eq!(check_group(&group("fire/east")), Ok(()));
    let cases = [
        (group(""), "id"),
        (group("a/mail"), "id"),
        (Group { groups: vec!["a".to_owned()], ..group("a") }, "groups"),
        (Group { members: vec![String::new()], ..group("a") }, "members"),
        (Group { rule: Some(records::Rule::All(Vec::new())), ..group("a") }, "rule"),
    ];
    for (group, field) in cases {
        let faults = check_group(&group).unwrap_err();
        assert_eq!(faults[0].field, field, "{faults:?}");
    }
}

#[test]
fn the_nearest_name_is_near() {
    assert_eq!(nearest("langauge", &["language", "lat"]), Some("language"));
    assert_eq!(nearest("completely", &["lat", "lon"]), None);
    assert_eq!((distance("kitten", "sitting"), distance("", "abc"), distance("abc", "abc")), (3, 3, 0));
}

prop_compose! {
    fn text()(text in "[a-zåé0-9 ;,\"'_-]{1,20}") -> String { text.trim().to_owned() }
}

fn any_device() -> impl Strategy<Value = Device> {
    let address = prop_oneof![
        (0..10_000_000_u32).prop_map(|n| (channels::SMS, format!("+4670{n:07}"))),
        "[a-z]{1,10}@[a-z]{1,10}\\.se".prop_map(|mail| (channels::MAIL, mail)),
    ];
    (address, any::<[bool; 3]>(), any_profile()).prop_map(
        |((channel, address), [enabled, verified, opted_out], profile)| Device {
            channel,
            address,
            enabled,
            verified,
            opted_out,
            profile,
        },
    )
}

fn any_profile() -> impl Strategy<Value = Option<DeviceProfile>> {
    let letters =
        prop_oneof![Just(Letters::Digits), Just(Letters::Ascii), Just(Letters::Gsm), Just(Letters::All)];
    let length = proptest::option::of(1..=10_000_u16);
    let profile = (length, proptest::option::of(letters), any::<[Option<bool>; 2]>())
        .prop_map(|(length, letters, [links, html])| DeviceProfile { length, letters, links, html });
    proptest::option::of(
        profile.prop_filter("of none is said nothing", |one| *one != DeviceProfile::default()),
    )
}

prop_compose! {
    fn any_recipient()(
        id in "[a-z0-9@/:;,-]{1,40}",
        name in text(),
        language in proptest::option::of(prop_oneof![Just("sv".to_owned()), Just("zh-Hant".to_owned()), Just("pt-BR".to_owned())]),
        time_zone in proptest::option::of(Just("Europe/Stockholm".to_owned())),
        groups in proptest::collection::btree_set("[a-z]{1,8}", 0..4),
        devices in proptest::collection::vec(any_device(), 0..4),
        position in proptest::option::of((-90.0..90.0, -180.0..180.0)),
        quiet in proptest::option::of((0_u16..720, 720_u16..1440)),
        participant: bool,
        prefers in proptest::option::of(prop_oneof![Just(Preference::Text), Just(Preference::Voice)]),
        attributes in proptest::collection::btree_map("x[a-z_]{1,8}", text(), 0..4),
    ) -> Recipient {
        Recipient {
            id, name, language, time_zone, devices, participant, attributes, prefers,
            groups: groups.into_iter().collect(),
            position: position.map(|(lat, lon)| Position { lat, lon }),
            quiet_hours: quiet.map(|(from, to)| QuietHours { from, to }),
        }
    }
}

proptest! {
    #[test]
    fn what_is_given_as_json_is_read_back(person in any_recipient()) {
        let once = normalise(person, &Defaults::default()).unwrap();
        prop_assert_eq!(from_json(&to_json(&once), &Defaults::default()).unwrap(), once.clone());
        // Reading twice changes nothing.
        prop_assert_eq!(normalise(once.clone(), &Defaults::default()).unwrap(), once);
    }

    #[test]
    fn rows_and_fields_are_those_the_csv_crate_finds(
        file in "([a-c\" ,\n\r]|\"\"|\r\n|\",\"){0,60}",
        piece in 1_usize..8,
    ) {
        let mut ours: Vec<Vec<Vec<u8>>> = Vec::new();
        let mut take = |row: &super::csv::CsvRow| if !row.is_blank() {
            ours.push(row.fields().map(<[u8]>::to_vec).collect());
        };
        let mut rows = Rows::default();
        for piece in file.as_bytes().chunks(piece) {
            rows.feed(piece, &mut take);
        }
        rows.finish(&mut take);
        let reader = ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file.as_bytes());
        let theirs: Vec<Vec<Vec<u8>>> = reader
            .into_byte_records()
            .map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect())
            .filter(|row: &Vec<Vec<u8>>| !row.iter().all(|field| field.trim_ascii().is_empty()))
            .collect();
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn no_octets_make_a_reader_stumble(file in proptest::collection::vec(any::<u8>(), 0..300), csv: bool) {
        let format = if csv { ImportFormat::Csv } else { ImportFormat::Ndjson };
        let begun: &[u8] = if csv { b"id,name,sms\n" } else { b"" };
        let whole = [begun, file.as_slice()].concat();
        prop_assert_eq!(read(format, &whole, 3), read(format, &whole, 1_000));
    }
}

#[test]
fn a_row_with_an_unknown_edge_site_is_told_by_its_column() {
    let defaults = Defaults::default().with_names(channels::EDGE, ["north".to_owned()]);
    let mut reader = ImportReader::new(ImportFormat::Csv, defaults);
    let mut out = Vec::new();
    reader.feed(b"id,edge\n1,north\n2,west\n", &mut out);
    reader.finish(&mut out);
    let [Ok(first), Err(problem)] = &out[..] else { panic!("{out:?}") };
    assert_eq!(first.devices[0].address, "north");
    assert_eq!((problem.row, problem.field.as_str()), (3, "edge"));
    assert!(problem.reason.contains("\"west\" is no edge site"), "{problem:?}");
}

/// What a CSV file gives, and what is told of it beside its problems.
fn read_with_summary(file: &str) -> (Vec<Recipient>, ImportSummary) {
    let mut reader = ImportReader::new(ImportFormat::Csv, sweden());
    let mut out = Vec::new();
    reader.feed(file.as_bytes(), &mut out);
    reader.finish(&mut out);
    let people = out.into_iter().map(|person| person.unwrap_or_else(|problem| panic!("{file:?}: {problem}")));
    (people.collect(), reader.summary().clone())
}

#[test]
fn a_column_that_is_called_as_people_say_is_understood_and_told() {
    for (header, row, devices) in [
        ("phone", "+46701234567", [(channels::SMS, "+46701234567")].as_slice()),
        ("Mobile number", "0701234567", &[(channels::SMS, "+46701234567")]),
        ("email", "ann@x.se", &[(channels::MAIL, "ann@x.se")]),
        (
            "E-mail,Mobil",
            "ann@x.se,0701234567",
            &[(channels::MAIL, "ann@x.se"), (channels::SMS, "+46701234567")],
        ),
        (
            "mobile 1,mobile 2",
            "0701234567,0701234568",
            &[(channels::SMS, "+46701234567"), (channels::SMS, "+46701234568")],
        ),
        ("telefon,mobil", "08-123456,0701234567", &[(channels::SMS, "+46701234567")]),
        ("sms,phone", "0701234567,12-3", &[(channels::SMS, "+46701234567")]),
    ] {
        let (people, summary) = read_with_summary(&format!("id,{header}\nann,{row}\n"));
        let found: Vec<_> = people[0].devices.iter().map(|one| (one.channel, one.address.as_str())).collect();
        assert_eq!(found, devices, "{header}");
        assert!(!summary.notes.is_empty(), "{header}");
    }
    let (people, summary) =
        read_with_summary("id,Namn,Språk,Grupp,Tidszon,ward\na,Ann,svenska,fire;night,Europe/Stockholm,7\n");
    let ann = &people[0];
    assert_eq!((ann.name.as_str(), ann.language.as_deref(), ann.groups.len()), ("Ann", Some("sv"), 2));
    assert_eq!(summary.attributes, ["ward"]);
    let told: Vec<&str> = summary.notes.iter().map(|note| note.field.as_str()).collect();
    assert_eq!(told, ["Namn", "Språk", "Grupp", "Tidszon"]);
    // What an export wrote has every column by its own name: what is called otherwise there is an attribute.
    let (people, summary) = read_with_summary("id,name,groups,group,lang\na,Ann,x,y,sv\n");
    assert_eq!(
        (&people[0].groups[..], &people[0].attributes["group"]),
        (&["x".to_owned()][..], &"y".to_owned())
    );
    assert_eq!(people[0].language.as_deref(), Some("sv"), "language is not there, so lang is it");
    assert_eq!(summary.attributes, ["group"]);
}

#[test]
fn who_ends_without_a_device_is_told() {
    let (_, summary) = read_with_summary("id,name,sms\nann,Ann,0701234567\nbo,Bo,\ncy,Cy\n");
    assert_eq!(
        (summary.without_device, &summary.without_device_ids[..]),
        (2, &["bo".to_owned(), "cy".to_owned()][..])
    );
    let rows: String = (0..300).map(|n| format!("p{n},\n")).collect();
    let (people, summary) = read_with_summary(&format!("id,sms\n{rows}"));
    assert_eq!((people.len(), summary.without_device, summary.without_device_ids.len()), (300, 300, 100));
}

#[test]
fn what_spreadsheets_write_around_the_people_is_nothing() {
    for file in [
        "id,name,sms\r\nann,Ann,0701234567\r\n,,\r\n,,\r\n\r\n",
        "id,name,sms,,\nann,Ann,0701234567,,\n,,,,\n",
        "id,name,sms\nann,Ann,0701234567,,,,\n",
        ",,\n\nid,name,sms\nann,Ann,0701234567\n \u{a0},\u{200b},\n\"\",\"\"\n",
        "id,,name,sms\nann,,Ann,0701234567\n",
        "\u{feff}\u{feff}id\u{200b}, name ,\u{202a}SMS\u{202c}\nann\u{a0},\u{200e}Ann,\u{202a}070\u{2011}123 45\u{a0}67\u{202c}",
        "id,name,sms\nann,Ann,=\"0701234567\"\n",
        "id,name,sms\nann,Ann,\"=\"\"0701234567\"\"\"\n",
        "id,name,sms\nann,Ann,０７０１２３４５６７\n",
        "id,name,sms\nann,Ann,46701234567.0\n",
        &format!("id,name,sms{}\nann,Ann,0701234567\n", ",".repeat(500)),
    ] {
        let (people, problems) = read(ImportFormat::Csv, file.as_bytes(), 7);
        let ann = Recipient {
            id: "ann".to_owned(),
            name: "Ann".to_owned(),
            devices: vec![device(channels::SMS, "+46701234567")],
            ..Recipient::default()
        };
        assert_eq!((people, problems), (vec![ann], Vec::new()), "{file:?}");
    }
}

#[test]
fn one_group_or_mailbox_however_written_is_one() {
    let file = "id,groups,mail\na,Ström;Stro\u{308}m; Str\u{200b}öm ,ann@x.se;Ann@X.se;mailto:ANN@x.se\n";
    let (people, _) = read_with_summary(file);
    assert_eq!((&people[0].groups[..], people[0].devices.len()), (&["Ström".to_owned()][..], 1));
}

#[test]
fn an_apostrophe_that_an_export_put_before_a_formula_is_taken_off() {
    let file = "id,name,sms,'=sum\na,'=1+1,'+46701234567;+46701234568,'@x\nb,'s-Hertog,+46701234569,''=y\n";
    let (people, problems) = read(ImportFormat::Csv, file.as_bytes(), 1_000);
    assert_eq!(problems, [""; 0]);
    assert_eq!((people[0].name.as_str(), people[0].devices.len()), ("=1+1", 2));
    assert_eq!(people[0].attributes["=sum"], "@x");
    assert_eq!((people[1].name.as_str(), people[1].attributes["=sum"].as_str()), ("'s-Hertog", "'=y"));
}

fn read_mapped(entries: &[&str], file: &str) -> (Vec<Recipient>, Vec<RowProblem>) {
    let mapping = ColumnMapping::parse(entries.iter().copied()).unwrap();
    let mut reader = ImportReader::new(ImportFormat::Csv, sweden()).with_mapping(mapping);
    let mut out = Vec::new();
    reader.feed(file.as_bytes(), &mut out);
    reader.finish(&mut out);
    let (people, problems): (Vec<_>, Vec<_>) = out.into_iter().partition(Result::is_ok);
    (people.into_iter().flatten().collect(), problems.into_iter().filter_map(Result::err).collect())
}

#[test]
fn a_mapping_says_what_columns_mean_whatever_they_are_called() {
    let file = "Nr,Wer,Privat,Mobil: Arbeit,Mobil\n7,Ann,secret,070-123 45 67,second floor\n";
    let mapping = ["Nr:id", "Wer:name", "Privat:-", "Mobil: Arbeit:sms", "Mobil:floor"];
    let (people, problems) = read_mapped(&mapping, file);
    assert_eq!(problems, []);
    assert_eq!((people[0].id.as_str(), people[0].name.as_str()), ("7", "Ann"));
    assert_eq!(people[0].devices, [device(channels::SMS, "+46701234567")]);
    assert_eq!(people[0].attributes, [("floor".to_owned(), "second floor".to_owned())].into());
}

#[test]
fn a_mapping_that_cannot_be_used_says_why() {
    for (entries, reason) in [
        (&["Mobil"][..], "\"Mobil\" is not COLUMN:FIELD"),
        (&["Mobil:"], "is not COLUMN:FIELD"),
        (&[":sms"], "is not COLUMN:FIELD"),
        (&["a:id", "a:sms"], "the column \"a\" is mapped twice"),
    ] {
        let why = ColumnMapping::parse(entries.iter().copied()).unwrap_err();
        assert!(why.contains(reason), "{why}");
    }
    for (entries, reason) in [
        (&["Nr:id", "Tel:sms"][..], "the mapping names the column \"Tel\", which is not there"),
        (&["Nr:id", "x:id"], "is named by two columns"),
        (&["Nr:fax"], "channel fax is not built yet"),
    ] {
        let (_, problems) = read_mapped(entries, "Nr,x\n1,2\n");
        assert!(problems[0].reason.contains(reason), "{problems:?}");
    }
}

#[test]
fn a_problem_of_a_csv_file_shows_its_cell() {
    let (_, problems) = read_mapped(&["Tel:sms"], "id,Tel,lat,lon\n1,070 FLOWERS,x,0\n2,+46701234567\n2,1\n");
    let shown: Vec<(u64, &str, &str)> =
        problems.iter().map(|one| (one.row, one.field.as_str(), one.value.as_str())).collect();
    assert_eq!(shown, [(2, "lat", "x"), (2, "Tel", "070 FLOWERS"), (4, "Tel", "1")]);
}
