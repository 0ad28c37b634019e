//! Counts of audiences against what solving puts into the roster, over random directories; and against what
//! the test itself finds in them.

use super::backend::{TestBackend, over_both};
use super::test_engine::{TestEngine, person};
use crate::audience::{AudienceCount, AudienceError, AudienceFilter, AudiencePerson, Audiences};
use crate::run::solving;
use crate::run::told_before::ToldBefore;
use crate::testing::{alert, request};
use records::{
    AlertRequest, AreaRequest, AudienceEntry, Group, Position, QuietHours, Reason, Recipient, Rule, Test,
};
use std::collections::{BTreeMap, BTreeSet};
use tokio::runtime::Handle;

const SEEDS: u64 = 40;
const PEOPLE: u64 = 40;
const GROUPS: u64 = 5;

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// An account's people and groups.
struct Directory {
    people: Vec<Recipient>,
    groups: Vec<Group>,
    stopped: Vec<String>,
}

impl Directory {
    fn random(dice: &mut Dice) -> Directory {
        let people = (0..PEOPLE).map(|n| someone(n, dice)).collect();
        let groups = (0..GROUPS).map(|n| some_group(n, dice)).collect();
        let stopped = (0..3).map(|_| number(dice)).collect();
        Directory { people, groups, stopped }
    }

    async fn put(&self, engine: &TestEngine, account: &str) {
        engine.store.put_recipients(account, self.people.clone()).await.unwrap();
        for group in &self.groups {
            engine.store.put_group(account, group.clone()).await.unwrap();
        }
        for address in &self.stopped {
            engine.store.set_opt_out(account, channels::SMS, address, true, engine.now()).await.unwrap();
        }
    }

    fn is_in(&self, person: &Recipient, group: &str) -> bool {
        let own = self.groups.iter().find(|one| one.id == group);
        person.groups.iter().any(|one| one == group)
            || own.is_some_and(|own| {
                own.members.contains(&person.id)
                    || own.rule.as_ref().is_some_and(|rule| store::rule::fits(rule, person))
                    || own.groups.iter().any(|below| self.is_in(person, below))
            })
    }

    fn is_named(&self, person: &Recipient, entry: &str) -> bool {
        match entry.split_once(':') {
            None if entry == "area" => person.position.is_some_and(|at| at.lat < 5.0 && at.lon < 5.0),
            None => entry == "all",
            Some(("group", name)) => self.is_in(person, name.split('/').next().unwrap()),
            Some(("recipient", id)) => person.id == id,
            Some(_) => false,
        }
    }

    /// Places of the entries that name each person.
    fn named(&self, request: &AlertRequest) -> BTreeMap<String, Vec<usize>> {
        let places = |person: &Recipient| {
            let entries = request.audience.iter().enumerate();
            entries.filter(|(_, entry)| self.is_named(person, &entry.to)).map(|(place, _)| place).collect()
        };
        let all = self.people.iter().map(|person| (person.id.clone(), places(person)));
        all.filter(|(_, places): &(String, Vec<usize>)| !places.is_empty()).collect()
    }
}

fn number(dice: &mut Dice) -> String {
    format!("+467010000{:02}", dice.below(30))
}

fn someone(n: u64, dice: &mut Dice) -> Recipient {
    let devices: Vec<String> = (0..dice.below(4))
        .map(|_| match dice.one_in(3) {
            true => format!("mail:p{}@example.org", dice.below(30)),
            false => format!("sms:{}", number(dice)),
        })
        .collect();
    let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
    let mut person = person(&format!("p{n:02}"), &devices);
    person.groups = (0..GROUPS).filter(|_| dice.one_in(5)).map(|n| format!("g{n}")).collect();
    person.attributes.insert("floor".to_owned(), dice.below(4).to_string());
    person.language = dice.one_in(2).then(|| "sv".to_owned());
    person.quiet_hours = dice.one_in(5).then_some(QuietHours { from: 0, to: 1_439 });
    let at = Position { lat: dice.below(10) as f64, lon: dice.below(10) as f64 };
    person.position = dice.one_in(2).then_some(Position { lat: at.lat + 0.5, lon: at.lon + 0.5 });
    if let Some(device) = person.devices.first_mut() {
        device.enabled = !dice.one_in(6);
    }
    person
}

fn some_group(n: u64, dice: &mut Dice) -> Group {
    let floor = Rule::Test { attribute: "floor".to_owned(), test: Test::Is(dice.below(4).to_string()) };
    Group {
        id: format!("g{n}"),
        members: (0..dice.below(4)).map(|_| format!("p{:02}", dice.below(PEOPLE + 2))).collect(),
        groups: (n + 1..GROUPS).filter(|_| dice.one_in(3)).map(|n| format!("g{n}")).collect(),
        rule: dice.one_in(3).then_some(floor),
        ..Group::default()
    }
}

fn some_request(dice: &mut Dice) -> AlertRequest {
    let mut entry = |is_wanted: bool| match dice.below(if is_wanted { 8 } else { 4 }) {
        0 | 1 => format!("group:g{}", dice.below(GROUPS)),
        2 => format!("recipient:p{:02}", dice.below(PEOPLE + 3)),
        3 => format!("sms:{}", number(dice)),
        4 => format!("group:g{}/mail", dice.below(GROUPS)),
        5 => "area".to_owned(),
        6 => format!("recipient:p{:02}", dice.below(PEOPLE)),
        _ => "all".to_owned(),
    };
    let audience: BTreeSet<String> = (0..4).map(|_| entry(true)).collect();
    let exclude = (0..2).map(|_| entry(false)).collect();
    let square = vec![(0.0, 0.0), (0.0, 5.0), (5.0, 5.0), (5.0, 0.0)];
    let mut request = request("Leave the building");
    request.audience =
        audience.into_iter().map(|to| AudienceEntry { to, strategy: None, expires: None }).collect();
    request.exclude = exclude;
    request.channels = if dice.one_in(3) { vec![channels::SMS] } else { Vec::new() };
    request.area = Some(AreaRequest { polygons: vec![square], ..AreaRequest::default() });
    request
}

/// What solving makes of it: devices by channel, and the people and addresses that are reached.
async fn solved(
    engine: &TestEngine,
    account: &str,
    request: &AlertRequest,
) -> (BTreeMap<String, u64>, BTreeSet<String>, u64) {
    let parts = engine.engine.parts().clone();
    let alert = records::Alert { account: account.to_owned(), ..alert(1, request.clone()) };
    let (now, runtime) = (engine.now(), Handle::current());
    let work = move || {
        let wording = crate::dispatch::Wording::new(&alert.request).unwrap();
        let rules = crate::api::OptOutRules::default();
        let told = ToldBefore::default();
        let roster = solving::roster(&parts, &rules, &alert, &told, &wording, now, &runtime).unwrap();
        let (mut devices, mut reached) = (BTreeMap::new(), BTreeSet::new());
        for entry in roster.blocks().flat_map(|block| block.entries) {
            let (Some(channel), None) = (entry.channel, entry.excluded) else { continue };
            *devices.entry(channels::name(channel).to_owned()).or_default() += 1;
            for person in &entry.persons {
                reached.insert(match person.recipient.as_str() {
                    "" => channels::entry(channel, &entry.address),
                    id => id.to_owned(),
                });
            }
        }
        (devices, reached, roster.people())
    };
    tokio::task::spawn_blocking(work).await.unwrap()
}

async fn everybody(audiences: &Audiences, account: &str, request: &AlertRequest) -> Vec<AudiencePerson> {
    let (mut all, mut from) = (Vec::new(), Some(0));
    while let Some(at) = from {
        let filter = AudienceFilter { from: at, limit: 7, ..AudienceFilter::default() };
        let (people, next) = audiences.people(account, request.clone(), filter).await.unwrap();
        all.extend(people);
        from = next;
    }
    all
}

/// Compares a count with the roster, and with the directory.
async fn compare(
    engine: &TestEngine,
    audiences: &Audiences,
    (account, directory): (&str, &Directory),
    request: &AlertRequest,
) -> AudienceCount {
    let count = audiences.count(account, request.clone()).await.unwrap();
    let (devices, reached, people) = solved(engine, account, request).await;
    assert_eq!((&count.devices, count.reached, count.people), (&devices, reached.len() as u64, people));
    assert_eq!(count.reached + count.left_out.values().sum::<u64>(), count.people);
    let found = everybody(audiences, account, request).await;
    let goes =
        |one: &&AudiencePerson| !matches!(one.reason_code.as_deref(), Some(code) if code != "quiet_hours");
    let name = |one: &AudiencePerson| one.id.clone().unwrap_or_else(|| one.name.clone());
    assert_eq!(found.iter().filter(goes).map(name).collect::<BTreeSet<_>>(), reached);
    let named = directory.named(request);
    let of_people: BTreeMap<String, Vec<usize>> = found
        .iter()
        .filter_map(|one| {
            let place = |why: &crate::audience::WhyNamed| {
                request.audience.iter().position(|entry| entry.to == why.entry).unwrap()
            };
            Some((one.id.clone()?, one.entries.iter().map(place).collect()))
        })
        .collect();
    assert_eq!(of_people, named);
    for (place, entry) in
        request.audience.iter().enumerate().filter(|(_, entry)| !entry.to.starts_with("sms:"))
    {
        let all = named.values().filter(|places| places.contains(&place)).count() as u64;
        let only = named.values().filter(|places| **places == [place]).count() as u64;
        let counted = count.entries.iter().find(|one| one.entry == entry.to).unwrap();
        assert_eq!((counted.people, counted.only_here), (all, only), "{}", entry.to);
    }
    let several = named.values().filter(|places| places.len() > 1).count() as u64;
    assert_eq!(
        (count.in_several, count.overlaps.iter().map(|one| one.people).sum::<u64>()),
        (several, several)
    );
    for why in found.iter().flat_map(|one| &one.entries).filter(|why| why.entry.starts_with("group:")) {
        assert!(["person", "group", "rule"].contains(&why.by), "{why:?}");
        assert!(why.entry.starts_with(&format!("group:{}", why.path[0])), "{why:?}");
    }
    count
}

async fn a_count_is_what_solving_finds_and_the_index_changes_nothing(ground: TestBackend) {
    let engine = ground.engine_under_test().await;
    let audiences = Audiences::of(&engine.engine);
    for seed in cases::seeds(SEEDS).map(|seed| seed + 1) {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (account, mut directory) = (format!("town-{seed}"), Directory::random(&mut dice));
        directory.put(&engine, &account).await;
        for _ in 0..3 {
            let request = some_request(&mut dice);
            let first = compare(&engine, &audiences, (&account, &directory), &request).await;
            // From SQL, and from memory.
            let again = Audiences::of(&engine.engine).count(&account, request.clone()).await.unwrap();
            assert_eq!(AudienceCount { at: first.at.clone(), ..again }, first, "seed {seed}");
        }
        let gone = directory.people.remove(dice.below(PEOPLE) as usize);
        assert!(engine.store.delete_recipient(&account, &gone.id).await.unwrap());
        let request = AlertRequest { exclude: Vec::new(), ..some_request(&mut dice) };
        compare(&engine, &audiences, (&account, &directory), &request).await;
    }
}

async fn people_are_found_by_what_becomes_of_them(ground: TestBackend) {
    let engine = ground.engine_under_test().await;
    engine.people(vec![person("ann", &["sms:+46701000001"]), person("bo", &[])]).await;
    let audiences = Audiences::of(&engine.engine);
    for (reason, id) in [(Reason::None, "ann"), (Reason::NoDevice, "bo")] {
        let filter = AudienceFilter { reason: Some(reason), limit: 10, ..AudienceFilter::default() };
        let (people, next) = audiences.people("default", request("x"), filter).await.unwrap();
        let ids: Vec<Option<&str>> = people.iter().map(|person| person.id.as_deref()).collect();
        assert_eq!((ids, next), (vec![Some(id)], None));
    }
}

async fn who_comes_while_all_places_are_taken_is_asked_to_come_again(ground: TestBackend) {
    let engine = ground.engine_under_test().await;
    engine.people(vec![person("ann", &["sms:+46701000001"])]).await;
    let audiences = Audiences::of(&engine.engine);
    let to = |id: &str| {
        let entry = AudienceEntry { to: format!("recipient:{id}"), strategy: None, expires: None };
        AlertRequest { audience: vec![entry], ..request("x") }
    };
    audiences.count("default", to("ann")).await.unwrap();
    let places = audiences.all_places().unwrap();
    assert_eq!(audiences.count("default", to("ann")).await.unwrap().people, 1, "it is kept");
    assert_eq!(audiences.count("default", to("bo")).await, Err(AudienceError::Busy));
    drop(places);
    assert_eq!(audiences.count("default", to("bo")).await.unwrap().unknown, ["recipient:bo"]);
    engine.pass_s(61);
    let _places = audiences.all_places().unwrap();
    assert_eq!(audiences.count("default", to("ann")).await, Err(AudienceError::Busy), "no longer");
}

over_both!(
    who_comes_while_all_places_are_taken_is_asked_to_come_again,
    a_count_is_what_solving_finds_and_the_index_changes_nothing,
    people_are_found_by_what_becomes_of_them,
);
