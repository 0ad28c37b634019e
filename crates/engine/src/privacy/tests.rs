use super::ForgottenPerson;
use crate::testing::{entry, request};
use records::{AudienceEntry, EndpointNo, Person, RosterBlock, RosterEntry};

fn ann() -> ForgottenPerson {
    ForgottenPerson {
        account: "a".to_owned(),
        id: "ann".to_owned(),
        addresses: [(channels::SMS, "+46701234567".to_owned())].into_iter().collect(),
    }
}

fn of(address: &str, people: &[&str]) -> RosterEntry {
    let person = |id: &&str| Person { recipient: (*id).to_owned(), name: id.to_uppercase(), step: 1 };
    RosterEntry {
        persons: people.iter().map(person).collect(),
        values: vec![("name".to_owned(), "Ann".to_owned())],
        ..entry(channels::SMS, address)
    }
}

#[test]
fn a_person_leaves_what_is_theirs_and_an_address_that_others_have_too_stays() {
    for (before, address, names) in [
        (of("+46701234567", &["ann"]), "", vec![""]),
        (of("+46701234567", &[]), "", vec![]),
        (of("+46709999999", &["ann"]), "", vec![""]),
        (of("+46709999999", &["ann", "bo"]), "+46709999999", vec!["", "BO"]),
        (of("", &["ann"]), "", vec![""]),
    ] {
        let mut after = before.clone();
        assert!(ann().leave(&mut after), "{before:?}");
        let left: Vec<&str> = after.persons.iter().map(|person| &*person.name).collect();
        assert_eq!((&*after.address, left), (address, names), "{before:?}");
        assert!(after.values.is_empty() && after.persons.len() == before.persons.len());
        assert_eq!(after.channel, before.channel, "it is counted under its channel");
        assert!(!ann().is_in(&RosterEntry { address: String::new(), ..after.clone() }), "{after:?}");
    }
    for other in [of("+46709999999", &["bo"]), of("+46709999999", &[]), of("", &["annika"])] {
        let mut after = other.clone();
        assert!(!ann().leave(&mut after));
        assert_eq!(after, other);
    }
}

#[test]
fn a_block_says_which_endpoints_were_changed() {
    let entries = vec![of("+461", &["bo"]), of("+462", &["ann"]), of("+46701234567", &[])];
    let mut block = RosterBlock { first: EndpointNo(512), entries, ..RosterBlock::default() };
    assert_eq!(ann().leave_block(&mut block), [EndpointNo(513), EndpointNo(514)]);
    assert_eq!(ann().leave_block(&mut block), []);
}

#[test]
fn an_audience_names_them_no_more_and_keeps_its_places() {
    let mut asked = request("Smoke");
    let to = |to: &str| AudienceEntry { to: to.to_owned(), strategy: None, expires: None };
    asked.audience =
        ["group:staff", "recipient:ann", "sms:+46 70 123 45 67", "recipient:annika", "sms:+46709999999"]
            .map(to)
            .to_vec();
    asked.exclude = vec!["recipient:ann".to_owned(), "recipient:bo".to_owned()];
    let left = ann().left(&asked).unwrap();
    let names: Vec<&str> = left.audience.iter().map(|entry| &*entry.to).collect();
    assert_eq!(names, ["group:staff", "erased", "erased", "recipient:annika", "sms:+46709999999"]);
    assert_eq!(left.exclude, ["erased", "recipient:bo"]);
    assert_eq!(ann().left(&left), None);
}
