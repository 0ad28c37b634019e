//! The roster under construction: endpoints merged by address, everyone behind one credited, every exclusion
//! kept.
//!
//! A million endpoints are held in about 100 octets each: strings stand in one arena, endpoints and persons
//! in flat lists that point into it.

use records::{
    ChannelNumber, DeviceProfile, EndpointNo, Person, PlacedProfile, QuietHours, QuietSpan,
    ROSTER_BLOCK_ENDPOINTS, Reason, RosterBlock, RosterEntry, Timestamp,
};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::collections::BTreeMap;
use std::hash::Hasher;

const NONE: u32 = u32::MAX;

/// A roster being built.
#[derive(Default)]
pub struct Roster {
    arena: Vec<u8>,
    endpoints: Vec<EndpointSlot>,
    persons: Vec<CreditedPerson>,
    values: Vec<Vec<(String, String)>>,
    languages: Vec<String>,
    by_address: FxHashMap<u64, u32>,
    /// Quiet spans of the people behind an endpoint, with their time zones.
    quiet: BTreeMap<u32, Vec<(QuietHours, String)>>,
    /// What devices can show, where that is less than their channel carries.
    profiles: BTreeMap<u32, DeviceProfile>,
    /// Values of the others behind an address, by its endpoint: their places in `values`.
    others: FxHashMap<u32, Vec<u32>>,
    /// Endpoints of devices that nobody verified.
    unverified: FxHashSet<u32>,
    people: u64,
    /// How many of them read which language.
    readers: FxHashMap<String, u64>,
}

/// A personal text names so many different people or values at most; of more it names none.
const JOINED_MAX: usize = 4;

/// Where a string stands in the arena.
#[derive(Clone, Copy, Default)]
struct Span {
    at: u32,
    len: u16,
}

struct EndpointSlot {
    address: Span,
    channel: Option<ChannelNumber>,
    excluded: Option<Reason>,
    language: u16,
    values: u32,
    rule: u32,
    not_before: Option<std::num::NonZeroI64>,
    first_person: u32,
    last_person: u32,
}

struct CreditedPerson {
    recipient: Span,
    name: Span,
    step: u8,
    next: u32,
}

/// What decides how an endpoint of a roster is sent to.
#[derive(Debug, Clone, Copy)]
pub struct SolvedEndpoint<'a> {
    /// Its place.
    pub endpoint: EndpointNo,
    /// How; nothing for a person without any device.
    pub channel: Option<ChannelNumber>,
    /// Where.
    pub address: &'a str,
    /// The language of its text.
    pub language: Option<&'a str>,
    /// What the device can show, where that is less than its channel carries.
    pub profile: Option<DeviceProfile>,
    /// Whose constraints hold.
    pub rule: u32,
    /// The end of the quiet hours of now.
    pub not_before: Option<Timestamp>,
    /// Left out, and why.
    pub excluded: Option<Reason>,
}

impl<'a> SolvedEndpoint<'a> {
    /// That of an entry of a block.
    pub fn of_entry(
        endpoint: EndpointNo,
        entry: &'a RosterEntry,
        profile: Option<DeviceProfile>,
    ) -> SolvedEndpoint<'a> {
        SolvedEndpoint {
            endpoint,
            channel: entry.channel,
            address: &entry.address,
            language: entry.language.as_deref(),
            profile,
            rule: entry.rule,
            not_before: entry.not_before,
            excluded: entry.excluded,
        }
    }
}

/// What is known of an endpoint when it is added.
pub struct FoundEndpoint<'a> {
    /// How; nothing for a person without any device.
    pub channel: Option<ChannelNumber>,
    /// Where.
    pub address: &'a str,
    /// Who.
    pub recipient: &'a str,
    /// Their name.
    pub name: &'a str,
    /// Their order.
    pub step: u8,
    /// Whose constraints hold.
    pub rule: u32,
    /// The language of the text.
    pub language: Option<&'a str>,
    /// For a personal text.
    pub values: Vec<(String, String)>,
    /// The end of the quiet hours of now.
    pub not_before: Option<Timestamp>,
    /// Their quiet hours and their time zone, by which it is asked again when a message is about to leave.
    pub quiet: Option<(QuietHours, &'a str)>,
    /// What the device can show, where that is less than its channel carries.
    pub profile: Option<DeviceProfile>,
    /// Left out, and why.
    pub excluded: Option<Reason>,
}

impl Roster {
    /// How many endpoints, exclusions among them.
    pub fn len(&self) -> usize {
        self.endpoints.len()
    }

    /// How many persons are credited or excluded.
    pub fn people(&self) -> u64 {
        self.people
    }

    /// How many persons read which language, by its tag in lower case.
    pub fn people_by_language(&self) -> BTreeMap<String, u64> {
        self.readers.iter().map(|(language, people)| (language.clone(), *people)).collect()
    }

    /// Nobody has verified that an endpoint is its person's.
    pub fn note_unverified(&mut self, endpoint: EndpointNo) {
        self.unverified.insert(endpoint.0);
    }

    /// The endpoints of devices that nobody verified; they are forgotten with this.
    pub fn take_unverified(&mut self) -> FxHashSet<u32> {
        std::mem::take(&mut self.unverified)
    }

    /// How many endpoints each channel has, and how many devices are left out for each reason. A person
    /// without a device counts in neither.
    pub fn devices(&self) -> (BTreeMap<ChannelNumber, u64>, FxHashMap<Reason, u64>) {
        let (mut used, mut left_out) = (BTreeMap::new(), FxHashMap::default());
        for slot in &self.endpoints {
            match (slot.channel, slot.excluded) {
                (Some(channel), None) => *used.entry(channel).or_default() += 1,
                (Some(_), Some(reason)) => *left_out.entry(reason).or_default() += 1,
                (None, _) => {}
            }
        }
        (used, left_out)
    }

    /// What devices can show, where that is less than their channel carries: each kind with its number.
    pub fn profiles(&self) -> BTreeMap<(ChannelNumber, DeviceProfile), u64> {
        let mut kinds = BTreeMap::new();
        for (endpoint, profile) in &self.profiles {
            if let Some(channel) = self.endpoints.get(*endpoint as usize).and_then(|slot| slot.channel) {
                *kinds.entry((channel, *profile)).or_default() += 1;
            }
        }
        kinds
    }

    /// Notes one more person, and the language that they read.
    pub fn count_person(&mut self, language: Option<&str>) {
        self.people += 1;
        let Some(language) = language else { return };
        match self.readers.get_mut(language) {
            Some(readers) => *readers += 1,
            None => _ = self.readers.insert(language.to_owned(), 1),
        }
    }

    /// Adds an endpoint, or credits its person with the one that has the address already.
    pub fn add(&mut self, found: FoundEndpoint<'_>) -> EndpointNo {
        let credit = self.persons.len() as u32;
        let (recipient, name) = (self.keep(found.recipient), self.keep(found.name));
        self.persons.push(CreditedPerson { recipient, name, step: found.step, next: NONE });
        // Exclusions are of a person and a device, not of an address: they are not merged.
        if let (Some(channel), None) = (found.channel, found.excluded) {
            match self.place(channel, found.address) {
                Ok(there) => {
                    self.keep_quiet(there, found.quiet);
                    self.keep_profile(there, found.profile);
                    self.keep_others(there, found.values);
                    return self.credit(there, credit, found.not_before);
                }
                Err(hash) => self.by_address.insert(hash, self.endpoints.len() as u32),
            };
        }
        let slot = EndpointSlot {
            address: self.keep(found.address),
            channel: found.channel,
            excluded: found.excluded,
            language: self.language(found.language),
            values: self.keep_values(found.values),
            rule: found.rule,
            not_before: found.not_before.and_then(|at| std::num::NonZeroI64::new(at.0)),
            first_person: credit,
            last_person: credit,
        };
        self.endpoints.push(slot);
        let endpoint = self.endpoints.len() as u32 - 1;
        self.keep_quiet(endpoint, found.quiet.filter(|_| found.excluded.is_none()));
        self.keep_profile(endpoint, found.profile.filter(|_| found.excluded.is_none()));
        EndpointNo(endpoint)
    }

    fn credit(&mut self, there: u32, credit: u32, not_before: Option<Timestamp>) -> EndpointNo {
        let slot = &mut self.endpoints[there as usize];
        let last = slot.last_person as usize;
        slot.last_person = credit;
        // Nobody behind the address is to be disturbed: the latest end of quiet hours holds.
        let later = not_before.and_then(|at| std::num::NonZeroI64::new(at.0));
        slot.not_before = slot.not_before.max(later);
        self.persons[last].next = credit;
        EndpointNo(there)
    }

    /// The endpoint that has this address, or the free place for its hash.
    fn place(&self, channel: ChannelNumber, address: &str) -> Result<u32, u64> {
        let mut hash = address_hash(channel, address);
        while let Some(&there) = self.by_address.get(&hash) {
            let slot = &self.endpoints[there as usize];
            let same = || channels::key(channel, self.text(slot.address)) == channels::key(channel, address);
            if slot.channel == Some(channel) && same() {
                return Ok(there);
            }
            hash = hash.wrapping_add(1);
        }
        Err(hash)
    }

    fn keep(&mut self, text: &str) -> Span {
        // Ids, names and addresses are all limited far below 64 KiB; an arena over 4 GiB would need 40
        // million people.
        let len = text.len().min(usize::from(u16::MAX));
        let Ok(at) = u32::try_from(self.arena.len()) else { return Span::default() };
        self.arena.extend_from_slice(&text.as_bytes()[..len]);
        Span { at, len: len as u16 }
    }

    fn text(&self, span: Span) -> &str {
        let from = span.at as usize;
        std::str::from_utf8(&self.arena[from..from + usize::from(span.len)]).unwrap_or("")
    }

    fn language(&mut self, language: Option<&str>) -> u16 {
        let Some(language) = language else { return u16::MAX };
        let at = self.languages.iter().position(|have| have == language);
        at.unwrap_or_else(|| {
            self.languages.push(language.to_owned());
            self.languages.len() - 1
        }) as u16
    }

    fn keep_values(&mut self, values: Vec<(String, String)>) -> u32 {
        if values.is_empty() {
            return NONE;
        }
        self.values.push(values);
        self.values.len() as u32 - 1
    }

    fn keep_quiet(&mut self, endpoint: u32, quiet: Option<(QuietHours, &str)>) {
        let Some((hours, zone)) = quiet else { return };
        let spans = self.quiet.entry(endpoint).or_default();
        if !spans.iter().any(|(other, of)| *other == hours && of == zone) {
            spans.push((hours, zone.to_owned()));
        }
    }

    /// One device may stand at several people: it shows what all of them say that it can.
    fn keep_profile(&mut self, endpoint: u32, profile: Option<DeviceProfile>) {
        let Some(profile) = profile.filter(|profile| !profile.is_empty()) else { return };
        let kept = self.profiles.entry(endpoint).or_insert(profile);
        *kept = kept.within(profile);
    }

    fn placed_profiles(&self, first: u32, len: u32) -> Vec<PlacedProfile> {
        let of_block = self.profiles.range(first..first + len);
        let placed = of_block
            .map(|(endpoint, profile)| PlacedProfile { place: (endpoint - first) as u16, profile: *profile });
        placed.collect()
    }

    /// The quiet spans of a block's endpoints.
    fn quiet_spans(&self, first: u32, len: u32) -> Vec<QuietSpan> {
        let of_block = self.quiet.range(first..first + len);
        let spans =
            of_block.flat_map(|(endpoint, spans)| spans.iter().map(move |span| (endpoint - first, span)));
        let span = |(place, (hours, zone)): (u32, &(QuietHours, String))| QuietSpan {
            place: place as u16,
            from: hours.from,
            to: hours.to,
            zone: zone.clone(),
        };
        spans.map(span).collect()
    }

    fn keep_others(&mut self, there: u32, values: Vec<(String, String)>) {
        let place = self.keep_values(values);
        if place != NONE {
            self.others.entry(there).or_default().push(place);
        }
    }

    /// The values of a personal text. Several people behind one address get one message: it names them all,
    /// or nobody where they are too many.
    fn values_of(&self, endpoint: u32, slot: &EndpointSlot) -> Vec<(String, String)> {
        let own = self.values.get(slot.values as usize);
        let Some(others) = self.others.get(&endpoint) else { return own.cloned().unwrap_or_default() };
        let others = others.iter().filter_map(|place| self.values.get(*place as usize));
        let all: Vec<&Vec<(String, String)>> = own.into_iter().chain(others).collect();
        let names = all.first().map(|first| first.iter().map(|(name, _)| name));
        let joined = |name: &String| {
            let of_one = |values: &&Vec<(String, String)>| {
                values.iter().find(|(of, _)| of == name).map(|(_, value)| value.clone())
            };
            (name.clone(), joined(&all.iter().filter_map(of_one).collect::<Vec<_>>()))
        };
        names.into_iter().flatten().map(joined).collect()
    }

    /// The roster in blocks, as it is stored.
    pub fn blocks(&self) -> impl Iterator<Item = RosterBlock> + '_ {
        self.endpoints.chunks(ROSTER_BLOCK_ENDPOINTS).enumerate().map(|(i, slots)| RosterBlock {
            first: EndpointNo((i * ROSTER_BLOCK_ENDPOINTS) as u32),
            quiet: self.quiet_spans((i * ROSTER_BLOCK_ENDPOINTS) as u32, slots.len() as u32),
            profiles: self.placed_profiles((i * ROSTER_BLOCK_ENDPOINTS) as u32, slots.len() as u32),
            entries: slots
                .iter()
                .zip((i * ROSTER_BLOCK_ENDPOINTS) as u32..)
                .map(|(slot, endpoint)| self.entry(endpoint, slot))
                .collect(),
        })
    }

    /// Each endpoint, in order, without a copy.
    pub fn solved(&self) -> impl Iterator<Item = SolvedEndpoint<'_>> {
        (0..).zip(&self.endpoints).map(|(endpoint, slot)| SolvedEndpoint {
            endpoint: EndpointNo(endpoint),
            channel: slot.channel,
            address: self.text(slot.address),
            language: self.languages.get(usize::from(slot.language)).map(String::as_str),
            profile: self.profiles.get(&endpoint).copied(),
            rule: slot.rule,
            not_before: slot.not_before.map(|at| Timestamp(at.get())),
            excluded: slot.excluded,
        })
    }

    /// The people behind an endpoint, by their ids.
    pub fn recipients(&self, one: &SolvedEndpoint<'_>) -> impl Iterator<Item = &str> {
        let first = self.endpoints.get(one.endpoint.0 as usize).map_or(NONE, |slot| slot.first_person);
        let credit = |at: u32| self.persons.get(at as usize);
        std::iter::successors(credit(first), move |one| credit(one.next)).map(|one| self.text(one.recipient))
    }

    fn entry(&self, endpoint: u32, slot: &EndpointSlot) -> RosterEntry {
        let mut persons = Vec::with_capacity(1);
        let mut at = slot.first_person;
        while let Some(credit) = self.persons.get(at as usize) {
            persons.push(Person {
                recipient: self.text(credit.recipient).to_owned(),
                name: self.text(credit.name).to_owned(),
                step: credit.step,
            });
            at = credit.next;
        }
        RosterEntry {
            channel: slot.channel,
            address: self.text(slot.address).to_owned(),
            persons,
            language: self.languages.get(usize::from(slot.language)).cloned(),
            values: self.values_of(endpoint, slot),
            not_before: slot.not_before.map(|at| Timestamp(at.get())),
            expires: None,
            rule: slot.rule,
            excluded: slot.excluded,
            message: None,
        }
    }
}

/// Different values in one: `Ann`, `Ann & Bo`, `Ann, Bo & Cy`. Nothing where one lacks it, or they are too
/// many: a text for several must not call them all by what is one's.
fn joined(values: &[String]) -> String {
    let mut different: Vec<&str> = Vec::new();
    for value in values {
        if !different.contains(&value.as_str()) {
            different.push(value);
        }
    }
    match different[..] {
        _ if different.len() > JOINED_MAX || different.iter().any(|value| value.is_empty()) => String::new(),
        [] => String::new(),
        [one] => one.to_owned(),
        [ref before @ .., last] => format!("{} & {last}", before.join(", ")),
    }
}

/// The hash by which addresses are compared here and in the record of who was asked.
pub fn address_hash(channel: ChannelNumber, address: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u8(channel.0);
    hasher.write(channels::key(channel, address).as_bytes());
    // FxHash leaves its entropy in the high bits; a finishing multiplication and fold spreads it.
    let hash = hasher.finish();
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(channel: ChannelNumber, address: &'a str, recipient: &'a str) -> FoundEndpoint<'a> {
        FoundEndpoint {
            channel: Some(channel),
            address,
            recipient,
            name: "",
            step: 0,
            rule: 0,
            language: None,
            values: Vec::new(),
            not_before: None,
            quiet: None,
            profile: None,
            excluded: None,
        }
    }

    #[test]
    fn one_address_is_one_endpoint_and_all_its_persons_are_credited() {
        let mut roster = Roster::default();
        let anna = roster.add(found(channels::SMS, "+46701", "anna"));
        let mail = roster.add(found(channels::MAIL, "+46701", "anna"));
        let bo = roster.add(found(channels::SMS, "+46701", "bo"));
        let cia = roster.add(found(channels::SMS, "+46701", "cia"));
        assert_eq!((anna, bo, cia), (EndpointNo(0), EndpointNo(0), EndpointNo(0)));
        assert_eq!(mail, EndpointNo(1));
        let blocks: Vec<_> = roster.blocks().collect();
        let ids: Vec<&str> = blocks[0].entries[0].persons.iter().map(|p| p.recipient.as_str()).collect();
        assert_eq!(ids, ["anna", "bo", "cia"]);
        assert_eq!(blocks[0].entries[1].persons.len(), 1);
    }

    #[test]
    fn one_mailbox_is_one_endpoint_however_it_is_written() {
        let mut roster = Roster::default();
        for (address, who) in
            [("ann@example.org", "ann"), ("Ann@example.org", "ann2"), ("\"ANN\"@example.org", "ann3")]
        {
            assert_eq!(roster.add(found(channels::MAIL, address, who)), EndpointNo(0));
        }
        assert_eq!(roster.add(found(channels::MAIL, "anna@example.org", "anna")), EndpointNo(1));
        assert_eq!(roster.blocks().next().unwrap().entries[0].address, "ann@example.org");
    }

    #[test]
    fn a_personal_text_for_several_people_names_them_all_or_nobody() {
        let names = |people: &[&str]| {
            let mut roster = Roster::default();
            for name in people {
                let values =
                    vec![("name".to_owned(), (*name).to_owned()), ("ward".to_owned(), "7".to_owned())];
                roster.add(FoundEndpoint { values, ..found(channels::SMS, "+46701", name) });
            }
            // The bare address has no values of its own, and takes nobody's name away.
            roster.add(found(channels::SMS, "+46701", ""));
            let values = roster.blocks().next().unwrap().entries.remove(0).values;
            assert_eq!(values[1], ("ward".to_owned(), "7".to_owned()));
            values[0].1.clone()
        };
        for (people, expected) in [
            (&["Ann"][..], "Ann"),
            (&["Ann", "Bo"], "Ann & Bo"),
            (&["Ann", "Bo", "Ann"], "Ann & Bo"),
            (&["Ann", "Bo", "Cy"], "Ann, Bo & Cy"),
            (&["Ann", ""], ""),
            (&["A", "B", "C", "D", "E"], ""),
        ] {
            assert_eq!(names(people), expected);
        }
    }

    #[test]
    fn exclusions_are_kept_one_by_one() {
        let mut roster = Roster::default();
        for who in ["anna", "bo"] {
            roster.add(FoundEndpoint {
                excluded: Some(Reason::OptedOut),
                ..found(channels::SMS, "+46701", who)
            });
        }
        let reached = roster.add(found(channels::SMS, "+46701", "cia"));
        assert_eq!(reached, EndpointNo(2));
        assert_eq!(roster.len(), 3);
    }

    #[test]
    fn the_latest_end_of_quiet_hours_behind_an_address_holds() {
        let mut roster = Roster::default();
        roster
            .add(FoundEndpoint { not_before: Some(Timestamp(5)), ..found(channels::SMS, "+46701", "anna") });
        roster.add(found(channels::SMS, "+46701", "bo"));
        roster.add(FoundEndpoint { not_before: Some(Timestamp(9)), ..found(channels::SMS, "+46701", "cia") });
        let entry = roster.blocks().next().unwrap().entries.remove(0);
        assert_eq!(entry.not_before, Some(Timestamp(9)));
    }

    #[test]
    fn quiet_spans_of_everybody_behind_an_address_stand_in_its_block() {
        let mut roster = Roster::default();
        let night = QuietHours { from: 1320, to: 420 };
        (0..ROSTER_BLOCK_ENDPOINTS).for_each(|n| _ = roster.add(found(channels::SMS, &format!("+{n}"), "x")));
        for (who, zone) in [("anna", "UTC"), ("bo", "Asia/Tokyo"), ("cia", "UTC"), ("dag", "")] {
            let quiet = Some((night, zone)).filter(|_| !zone.is_empty());
            roster.add(FoundEndpoint { quiet, ..found(channels::SMS, "+46701", who) });
        }
        let blocks: Vec<_> = roster.blocks().collect();
        assert!(blocks[0].quiet.is_empty());
        let zones: Vec<_> = blocks[1].quiet.iter().map(|span| (span.place, span.zone.as_str())).collect();
        assert_eq!(zones, [(0, "UTC"), (0, "Asia/Tokyo")]);
    }

    #[test]
    fn the_profile_of_a_device_is_the_least_that_its_people_say_of_it() {
        let mut roster = Roster::default();
        (0..ROSTER_BLOCK_ENDPOINTS).for_each(|n| _ = roster.add(found(channels::SMS, &format!("+{n}"), "x")));
        let profile = |length, links| {
            let profile = DeviceProfile { length, links, ..DeviceProfile::default() };
            FoundEndpoint { profile: Some(profile), ..found(channels::SMS, "+46701", "x") }
        };
        roster.add(profile(Some(80), None));
        roster.add(profile(Some(20), Some(false)));
        roster.add(found(channels::SMS, "+46701", "who knows nothing of it"));
        roster.add(FoundEndpoint { address: "+46702", ..profile(None, Some(true)) });
        let blocks: Vec<_> = roster.blocks().collect();
        assert!(blocks[0].profiles.is_empty());
        let kept: Vec<_> = blocks[1].profiles.iter().map(|one| (one.place, one.profile.length)).collect();
        assert_eq!(kept, [(0, Some(20))], "a profile that takes nothing away is none");
        assert_eq!(blocks[1].profiles[0].profile.links, Some(false));
    }

    #[test]
    fn blocks_hold_their_number_of_endpoints_in_order() {
        let mut roster = Roster::default();
        let total = ROSTER_BLOCK_ENDPOINTS * 2 + 7;
        for i in 0..total {
            roster.add(found(channels::SMS, &format!("+{i}"), &format!("r{i}")));
        }
        let blocks: Vec<_> = roster.blocks().collect();
        assert_eq!(blocks.len(), 3);
        assert_eq!(blocks[2].entries.len(), 7);
        for block in &blocks {
            for (i, entry) in block.entries.iter().enumerate() {
                assert_eq!(entry.address, format!("+{}", block.first.0 as usize + i));
            }
        }
    }
}
