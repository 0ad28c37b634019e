use super::*;
use std::collections::{BTreeMap, HashMap, HashSet};

#[test]
fn the_same_seed_makes_the_same_town_and_another_seed_another() {
    let town = Town::new(42, 500);
    let first: Vec<Recipient> = town.people().collect();
    assert_eq!(first, town.people().collect::<Vec<_>>());
    assert_eq!(first[317], town.person(317));
    let grown: Vec<Recipient> = Town::new(42, 1_000).people().take(500).collect();
    assert_eq!(first, grown, "a larger town begins with the smaller one's people");
    assert_ne!(first, Town::new(43, 500).people().collect::<Vec<_>>());
}

#[test]
fn numbers_are_fictional_valid_and_given_out_once() {
    let mut seen = HashSet::new();
    for place in (0..20_000).chain(RECIPIENTS_MAX..RECIPIENTS_MAX + 20_000).chain([2 * RECIPIENTS_MAX - 1]) {
        let number = phone_number(place);
        let fiction = ("+46701740605"..="+46701740699").contains(&number.as_str());
        let pager = number.starts_with("+4674") && !number.starts_with("+46741");
        assert!(number.len() == 12 && (fiction || pager), "{number}");
        assert!(seen.insert(number.clone()), "{number} twice");
    }
}

#[test]
fn a_town_has_of_everything_about_as_much_as_asked() {
    let town = Town { invalid: 0.01, ..Town::new(5, 20_000) };
    let people: Vec<Recipient> = town.people().collect();
    let share = |is: &dyn Fn(&Recipient) -> bool| people.iter().filter(|p| is(p)).count() as f64 / 20_000.0;
    let has = |p: &Recipient, channel| p.devices.iter().any(|d| d.channel == channel);
    for (what, found, asked) in [
        ("no device", share(&|p| p.devices.is_empty()), 0.01),
        ("phone", share(&|p| has(p, channels::SMS)), 0.94 * 0.99),
        ("mailbox", share(&|p| has(p, channels::MAIL)), (0.6 + 0.4 * 0.06) * 0.99),
        ("quiet", share(&|p| p.quiet_hours.is_some()), 0.05),
        ("outside", share(&|p| p.groups.contains(&"out-of-town".to_owned())), 0.08),
        ("disabled", share(&|p| p.devices.first().is_some_and(|d| !d.enabled)), 0.008),
        ("opted out", share(&|p| p.devices.first().is_some_and(|d| d.opted_out)), 0.012),
        (
            "invalid",
            share(&|p| p.devices.first().is_some_and(|d| d.address == "+46-12" || d.address == "nobody@")),
            0.01,
        ),
        ("Swedish", share(&|p| p.language.as_deref() == Some("sv")), 0.64),
    ] {
        assert!((found - asked).abs() < 0.01, "{what}: {found}, asked {asked}");
    }
    let mut sharers: HashMap<&str, u32> = HashMap::new();
    for device in people.iter().flat_map(|p| &p.devices) {
        *sharers.entry(&device.address).or_default() += 1;
    }
    assert!(
        sharers.iter().filter(|(a, n)| a.starts_with("+4674") && **n > 1).count() > 100,
        "families share phones"
    );
    assert!(
        sharers.iter().filter(|(a, n)| a.starts_with("office") && **n > 1).count() > 30,
        "offices share mailboxes"
    );
}

#[test]
fn every_group_a_person_is_in_is_declared_and_nested_ones_lead_to_others() {
    let groups = Town::groups();
    let ids: HashSet<&str> = groups.iter().map(|group| group.id.as_str()).collect();
    assert_eq!(ids.len(), groups.len());
    for person in Town::new(1, 2_000).people() {
        assert!(person.groups.iter().all(|group| ids.contains(group.as_str())), "{:?}", person.groups);
    }
    assert!(groups.iter().flat_map(|group| &group.groups).all(|inner| ids.contains(inner.as_str())));
}

#[test]
fn what_is_expected_is_what_a_count_over_everyone_finds() {
    let town = Town { shared_phone: 0.5, shared_mailbox: 0.5, invalid: 0.02, ..Town::new(9, 3_000) };
    for form in [Form::Ndjson, Form::Csv] {
        let expected = town.expected(form);
        let mut devices: BTreeMap<String, Device> = BTreeMap::new();
        let (mut without, mut problems) = (0, 0);
        for person in town.people() {
            if person.devices.iter().any(|d| d.address.len() < 8) {
                problems += 1;
                continue;
            }
            let carried: Vec<_> = person
                .devices
                .into_iter()
                .filter(|d| form == Form::Ndjson || (d.enabled && !d.opted_out))
                .collect();
            without += u64::from(carried.is_empty());
            devices.extend(carried.into_iter().map(|d| (d.address.clone(), d)));
        }
        assert_eq!((expected.recipients, expected.problems), (3_000 - problems, problems));
        assert_eq!(expected.excluded.no_device, without);
        assert_eq!(expected.endpoints(), devices.len() as u64 + without);
        let opted_out = devices.values().filter(|d| d.opted_out).count() as u64;
        assert_eq!(expected.excluded.opted_out, opted_out);
        assert_eq!(opted_out == 0, form == Form::Csv);
        let sms = devices.values().filter(|d| d.channel == channels::SMS && d.enabled && !d.opted_out).count()
            as u64;
        assert_eq!(expected.channels[&channels::SMS].endpoints(), sms);
    }
}

#[test]
fn a_plain_town_has_one_endpoint_a_person_and_nothing_goes_wrong() {
    let town = Town::plain(3, 1_000, &[channels::MAIL]);
    let expected = town.expected(Form::Csv);
    assert_eq!((expected.endpoints(), expected.left_out()), (1_000, 0));
    assert_eq!(expected.channels[&channels::MAIL], Fates { silent: 1_000, ..Fates::default() });
    assert_eq!(
        Town::plain(3, 1_000, &[channels::SMS, channels::MAIL]).expected(Form::Csv).endpoints(),
        2_000
    );
}

#[test]
fn behaviour_hangs_on_the_address_in_any_notation() {
    let habits = Habits::default();
    for person in Town::new(1, 300).people() {
        for device in person.devices.iter().filter(|d| d.channel == channels::SMS) {
            let digits = &device.address[1..];
            assert_eq!(habits.phone(&device.address), habits.phone(digits));
            assert_eq!(habits.phone(digits), habits.phone(&format!("00{digits}")));
        }
    }
    assert_eq!(habits.mailbox("Alma.Berg@Almvik.example"), habits.mailbox("alma.berg@almvik.example"));
}

#[test]
fn answers_are_keys_or_free_text_after_a_while() {
    let habits =
        Habits { choices: vec!["1".into(), "2".into(), "3".into()], free_text: 0.2, ..Habits::answering(4) };
    let mut texts: BTreeMap<String, u32> = BTreeMap::new();
    for index in 0..10_000 {
        let Conduct::Answers { text, after } = habits.phone(&phone_number(index)) else {
            panic!("everybody answers")
        };
        assert!(after >= Duration::from_millis(500) && after <= Duration::from_secs(6));
        *texts.entry(text).or_default() += 1;
    }
    assert!(texts["1"] > texts["2"] && texts["2"] > texts["3"] && texts["3"] > 500, "{texts:?}");
    let free: u32 = texts.iter().filter(|(text, _)| text.len() > 1).map(|(_, count)| count).sum();
    assert!((1_700..2_300).contains(&free), "{free}");
}

#[test]
fn a_row_reads_back_as_it_was_written() {
    let person = Recipient {
        name: "O\"Neill, the elder".to_owned(),
        ..Town { opted_out: 0.0, disabled: 0.0, ..Town::new(1, 10) }.person(4)
    };
    let mut line = String::new();
    csv_line(&person, &mut line);
    assert!(line.starts_with("p0000004,\"O\"\"Neill, the elder\","), "{line}");
    let mut json = Vec::new();
    ndjson_line(&person, &mut json);
    assert_eq!(read_line(&json), person);
}

/// A line as the API reads it: channels by their names.
fn read_line(line: &[u8]) -> Recipient {
    let mut person: serde_json::Value = serde_json::from_slice(line).unwrap();
    for device in person["devices"].as_array_mut().unwrap() {
        let channel = channels::number(device["channel"].as_str().unwrap()).unwrap();
        device["channel"] = channel.0.into();
    }
    serde_json::from_value(person).unwrap()
}

#[test]
fn files_have_a_line_for_everyone() {
    let town = Town::new(8, 700);
    let mut csv = Vec::new();
    assert_eq!(write_csv(&town, &mut csv).unwrap(), 700);
    let csv = String::from_utf8(csv).unwrap();
    assert_eq!(csv.lines().count(), 701);
    assert!(csv.starts_with("id,name,language,time_zone,groups,sms,mail,lat,lon,age,street\n"));
    let mut ndjson = Vec::new();
    assert_eq!(write_ndjson(&town, &mut ndjson).unwrap(), 700);
    let read: Vec<Recipient> =
        ndjson.split(|&b| b == b'\n').filter(|l| !l.is_empty()).map(read_line).collect();
    assert_eq!(read, town.people().collect::<Vec<_>>());
}

#[test]
fn a_town_that_cannot_be_is_refused_by_field() {
    for (town, field) in [
        (Town { recipients: RECIPIENTS_MAX + 1, ..Town::default() }, "recipients"),
        (Town { phone: 1.5, ..Town::default() }, "phone"),
        (Town { quiet: f64::NAN, ..Town::default() }, "quiet"),
        (
            Town { habits: Habits { free_text: -0.1, ..Habits::default() }, ..Town::default() },
            "habits.free_text",
        ),
    ] {
        assert!(town.check().unwrap_err().starts_with(field));
    }
    let mut greedy = Town::default();
    greedy.habits.sms.refused = 0.5;
    assert!(greedy.check().unwrap_err().starts_with("habits.sms"));
    assert_eq!(Town::default().check(), Ok(()));
}

use std::time::Duration;
