//! A generated town: people with names from several languages, places, groups and devices, and what they do.
//!
//! A person is a function of the seed and their number: a town of millions needs no memory, and any part of
//! it can be made again anywhere. Phones get the numbers that Sweden's PTS keeps for fiction, then a range of
//! pagers; mail goes to `.example` and `.test`, which lead nowhere.

mod expected;
mod habits;
mod names;
mod place;
mod write;

#[cfg(test)]
mod tests;

pub use expected::{Excluded, Expected, Fates};
pub use habits::{CarrierRefusal, Conduct, Habits, ImHabits, MailHabits, SmsHabits};
pub use place::{CENTRE, OUTLINE, WARDS, is_inside, ward};
pub use write::{CSV_COLUMNS, Form, csv_line, ndjson_line, write_csv, write_ndjson};

use crate::chance::{Chance, hash};
use names::{STREETS, TONGUES, Tongue};
use records::{ChannelNumber, Device, Group, QuietHours, Recipient, Rule, Test};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most people a town can have: each may need two numbers of the pagers' range.
pub const RECIPIENTS_MAX: u64 = 4_000_000;

/// So many neighbours make a household; some share one phone.
const HOUSEHOLD: u64 = 4;
/// So many neighbours make an office; some share one mailbox. A multiple of [`HOUSEHOLD`], so that whoever
/// shares anything shares it within one office.
const OFFICE: u64 = 8;

/// The people of the town, as shares of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Town {
    /// Everything hangs on it.
    pub seed: u64,
    /// How many people, at most [`RECIPIENTS_MAX`].
    pub recipients: u64,
    /// Have no device at all.
    pub without_device: f64,
    /// Of the others: have a phone. Who has no phone has a mailbox.
    pub phone: f64,
    /// Have a mailbox.
    pub mailbox: f64,
    /// Have a second phone.
    pub second_phone: f64,
    /// Devices that nobody has in the usual mixture.
    pub others: OtherDevices,
    /// Households that share one phone.
    pub shared_phone: f64,
    /// Offices that share one mailbox.
    pub shared_mailbox: f64,
    /// Devices that are switched off.
    pub disabled: f64,
    /// Devices whose owner said stop.
    pub opted_out: f64,
    /// People with quiet hours.
    pub quiet: f64,
    /// People whose first device has an address that cannot be one: an import refuses their row.
    pub invalid: f64,
    /// People who take part in drills.
    pub participants: f64,
    /// People who live out of town.
    pub outside: f64,
    /// What they do when a message comes. Its seed is taken from here when it is dealt out: see
    /// [`Town::habits`].
    pub habits: Habits,
}

/// Shares of people with a device of another kind.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OtherDevices {
    /// Have a pager.
    pub pager: f64,
    /// Have an address of instant messages.
    pub messenger: f64,
    /// Have a siren at their house, which a broker reaches.
    pub siren: f64,
}

impl Default for Town {
    fn default() -> Self {
        Town {
            seed: 1,
            recipients: 2_000,
            without_device: 0.01,
            phone: 0.94,
            mailbox: 0.6,
            second_phone: 0.04,
            others: OtherDevices::default(),
            shared_phone: 0.06,
            shared_mailbox: 0.05,
            disabled: 0.008,
            opted_out: 0.012,
            quiet: 0.05,
            invalid: 0.0,
            participants: 0.02,
            outside: 0.08,
            habits: Habits::default(),
        }
    }
}

impl Town {
    /// The usual mixture of `recipients` people.
    pub fn new(seed: u64, recipients: u64) -> Self {
        Town { seed, recipients, ..Town::default() }
    }

    /// People with exactly one device of `channel` each, nothing shared, excluded or refused, who say
    /// nothing: what a load is measured with.
    pub fn plain(seed: u64, recipients: u64, channels: &[ChannelNumber]) -> Self {
        let share = |channel| if channels.contains(&channel) { 1.0 } else { 0.0 };
        Town {
            seed,
            recipients,
            without_device: 0.0,
            phone: share(channels::SMS),
            mailbox: share(channels::MAIL),
            second_phone: 0.0,
            others: OtherDevices {
                pager: share(channels::PAGER),
                messenger: share(channels::IM),
                siren: share(channels::MQTT),
            },
            shared_phone: 0.0,
            shared_mailbox: 0.0,
            disabled: 0.0,
            opted_out: 0.0,
            quiet: 0.0,
            invalid: 0.0,
            participants: 1.0,
            outside: 0.08,
            habits: Habits::silent(seed),
        }
    }

    /// What the town's people do, for an SMSC or a mailbox.
    pub fn habits(&self) -> Habits {
        Habits { seed: self.seed, ..self.habits.clone() }
    }

    /// Everyone, in the order of their numbers.
    pub fn people(&self) -> impl Iterator<Item = Recipient> + '_ {
        (0..self.recipients).map(|index| self.person(index))
    }

    /// The person with this number, from 0.
    pub fn person(&self, index: u64) -> Recipient {
        let mut chance = Chance::new(self.seed, index);
        let tongue = tongue(&mut chance);
        let given = chance.pick(tongue.given);
        let family = chance.pick(tongue.family);
        let name = if tongue.family_first {
            format!("{}{}", family.0, given.0)
        } else {
            format!("{} {}", given.0, family.0)
        };
        let is_outside = chance.hits(self.outside);
        let position = if is_outside { place::around(&mut chance) } else { place::inside(&mut chance) };
        let age = 6 + chance.below(88);
        let ward = (!is_outside).then(|| ward(position));
        let groups = groups(&mut chance, ward, age);
        let street = format!("{} {}", chance.pick(&STREETS), 1 + chance.below(120));
        let quiet_hours = chance.hits(self.quiet).then_some(QuietHours { from: 22 * 60, to: 7 * 60 });
        let participant = chance.hits(self.participants);
        let devices = self.devices(index, &mut chance, given.1, family.1);
        Recipient {
            id: format!("p{index:07}"),
            name,
            language: Some(tongue.language.to_owned()),
            time_zone: Some(time_zone(&mut chance, is_outside).to_owned()),
            groups,
            devices,
            position: Some(position),
            quiet_hours,
            participant,
            attributes: BTreeMap::from([("age".to_owned(), age.to_string()), ("street".to_owned(), street)]),
            prefers: None,
        }
    }

    fn devices(&self, index: u64, chance: &mut Chance, given: &str, family: &str) -> Vec<Device> {
        // All are drawn whether used or not, so that a share that changes does not change everyone else.
        let [has_none, has_phone, has_mailbox, has_second, mail_first, is_invalid, has_messenger] = [
            self.without_device,
            self.phone,
            self.mailbox,
            self.second_phone,
            0.15,
            self.invalid,
            self.others.messenger,
        ]
        .map(|share| chance.hits(share));
        if has_none {
            return Vec::new();
        }
        let mut devices = Vec::with_capacity(3);
        if has_phone {
            devices.push(self.device(channels::SMS, self.phone_of(index)));
        }
        // A draw of its own, so that a town without pagers stays as it was.
        let has_pager = Chance::new(self.seed ^ 0x7061_6765, index).hits(self.others.pager);
        if has_mailbox || !has_phone && !has_pager && !has_messenger {
            let at = if mail_first { 0 } else { devices.len() };
            devices.insert(at, self.device(channels::MAIL, self.mailbox_of(index, given, family)));
        }
        if has_second && has_phone {
            devices.push(self.device(channels::SMS, phone_number(RECIPIENTS_MAX + index)));
        }
        if has_pager {
            devices.push(self.device(channels::PAGER, pager_id(index)));
        }
        if has_messenger {
            devices.push(self.device(channels::IM, format!("matrix:@p{index}:sim.example")));
        }
        if Chance::new(self.seed ^ 0x0073_6972_656E, index).hits(self.others.siren) {
            devices.push(self.device(channels::MQTT, format!("sirens/{index}")));
        }
        if is_invalid {
            let broken = if devices[0].channel == channels::SMS { "+46-12" } else { "nobody@" };
            devices[0].address = broken.to_owned();
        }
        devices
    }

    /// Switched off or opted out hang on the address, so that all who share it agree.
    fn device(&self, channel: ChannelNumber, address: String) -> Device {
        let mut chance = Chance::new(self.seed ^ 0x6465_7669_6365, hash(0, address.as_bytes()));
        let enabled = !chance.hits(self.disabled);
        let opted_out = chance.hits(self.opted_out);
        Device { enabled, verified: chance.hits(0.7), opted_out, ..Device::new(channel, address) }
    }

    fn phone_of(&self, index: u64) -> String {
        let household = index / HOUSEHOLD;
        let is_shared = Chance::new(self.seed ^ 0x686F_6D65, household).hits(self.shared_phone);
        phone_number(if is_shared { household * HOUSEHOLD } else { index })
    }

    fn mailbox_of(&self, index: u64, given: &str, family: &str) -> String {
        let office = index / OFFICE;
        if Chance::new(self.seed ^ 0x6F66_6663, office).hits(self.shared_mailbox) {
            return format!("office{office}@almvik.example");
        }
        let domain = ["almvik.example", "town.example", "post.test"][(index % 3) as usize];
        format!("{given}.{family}.{index}@{domain}")
    }

    /// Every group: those that people are in by name (without members), and those made of others or by rule.
    pub fn groups() -> Vec<Group> {
        let named =
            |id: &str, name: &str| Group { id: id.to_owned(), name: name.to_owned(), ..Group::default() };
        let ids = |list: &[&str]| list.iter().map(|&id| id.to_owned()).collect();
        let wards: Vec<String> = (1..=WARDS).map(|ward| format!("ward-{ward}")).collect();
        let mut groups: Vec<Group> = LEAVES.iter().map(|(id, name)| named(id, name)).collect();
        groups.extend((1..=WARDS).map(|ward| named(&format!("ward-{ward}"), &format!("Ward {ward}"))));
        let schools = ["school-north", "school-harbour", "school-evening"];
        groups.push(Group { groups: ids(&schools), ..named("schools", "All schools") });
        groups.push(Group {
            groups: ids(&["staff", "fire", "schools"]),
            ..named("service", "Staff, fire, schools")
        });
        groups.push(Group { groups: wards, ..named("town", "Everyone in town") });
        let at_least = |age| Rule::Test { attribute: "age".to_owned(), test: Test::AtLeast(age) };
        groups.push(Group { rule: Some(at_least(67)), ..named("seniors", "67 and over") });
        groups
    }

    /// Reads a scenario file.
    ///
    /// # Errors
    /// What is wrong with it, in words, with the line where there is one.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let town: Town = toml::from_str(text).map_err(|error| error.to_string())?;
        town.check()?;
        Ok(town)
    }

    /// Checks what a scenario file may get wrong.
    ///
    /// # Errors
    /// The first field over its limit.
    pub fn check(&self) -> Result<(), String> {
        if self.recipients > RECIPIENTS_MAX {
            return Err(format!("recipients: {} is over the limit of {RECIPIENTS_MAX}", self.recipients));
        }
        let shares = [
            ("without_device", self.without_device),
            ("phone", self.phone),
            ("mailbox", self.mailbox),
            ("others.messenger", self.others.messenger),
            ("second_phone", self.second_phone),
            ("others.pager", self.others.pager),
            ("others.siren", self.others.siren),
            ("shared_phone", self.shared_phone),
            ("shared_mailbox", self.shared_mailbox),
            ("disabled", self.disabled),
            ("opted_out", self.opted_out),
            ("quiet", self.quiet),
            ("invalid", self.invalid),
            ("participants", self.participants),
            ("outside", self.outside),
        ];
        match shares.iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            Some((name, share)) => Err(format!("{name}: a share of {share} is not between 0 and 1")),
            None => self.habits.check(),
        }
    }
}

/// Groups people are in by name, wards apart.
const LEAVES: [(&str, &str); 6] = [
    ("staff", "Town staff"),
    ("fire", "Volunteer fire brigade"),
    ("school-north", "North school"),
    ("school-harbour", "Harbour school"),
    ("school-evening", "Evening school"),
    ("out-of-town", "Around the town"),
];

fn groups(chance: &mut Chance, ward: Option<u8>, age: u64) -> Vec<String> {
    let mut groups = vec![ward.map_or_else(|| "out-of-town".to_owned(), |ward| format!("ward-{ward}"))];
    let is_adult = (18..67).contains(&age);
    let [is_staff, is_fire, is_evening, is_north] = [0.06, 0.015, 0.03, 0.5].map(|share| chance.hits(share));
    if is_staff && is_adult {
        groups.push("staff".to_owned());
    }
    if is_fire && is_adult {
        groups.push("fire".to_owned());
    }
    if age < 18 {
        groups.push(if is_north { "school-north" } else { "school-harbour" }.to_owned());
    } else if is_evening {
        groups.push("school-evening".to_owned());
    }
    groups
}

fn tongue(chance: &mut Chance) -> &'static Tongue {
    let mut at = chance.below(1000);
    for tongue in &TONGUES {
        match at.checked_sub(tongue.per_mille) {
            Some(rest) => at = rest,
            None => return tongue,
        }
    }
    &TONGUES[0]
}

fn time_zone(chance: &mut Chance, is_outside: bool) -> &'static str {
    const TRAVELLERS: [&str; 4] = ["Europe/Helsinki", "Europe/London", "America/New_York", "Asia/Bangkok"];
    let travels = chance.hits(if is_outside { 0.1 } else { 0.01 });
    let to = *chance.pick(&TRAVELLERS);
    if travels { to } else { "Europe/Stockholm" }
}

/// Mobile numbers that PTS keeps for fiction: 070-174 06 05 to 99.
const FICTION_FIRST: u64 = 46_701_740_605;
const FICTION_NUMBERS: u64 = 95;
/// Pagers had 074 and six digits, 0741 excepted: nine million numbers that a parser finds valid and nobody
/// carries.
const PAGERS: u64 = 9_000_000;

/// The id of a person's pager: seven digits.
pub fn pager_id(index: u64) -> String {
    format!("{:07}", 1_000_000 + index)
}

/// The number at a place of the town's number plan; places from `2 * RECIPIENTS_MAX` on begin again.
pub fn phone_number(place: u64) -> String {
    let place = place % (2 * RECIPIENTS_MAX);
    if place < FICTION_NUMBERS {
        return format!("+{}", FICTION_FIRST + place);
    }
    // An odd factor without 3 and 5 visits each of the numbers once.
    let scattered = place * 7_368_787 % PAGERS;
    let block = scattered / 1_000_000;
    let digit = if block == 0 { 0 } else { block + 1 };
    format!("+4674{digit}{:06}", scattered % 1_000_000)
}
