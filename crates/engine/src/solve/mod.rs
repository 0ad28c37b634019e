//! Solve: who is meant, and by which devices can they be reached? Every person of the audience ends in the
//! roster, as an endpoint or as an exclusion with its reason.

mod area;
pub mod audience;
mod marks;
mod matching;
mod merge;
mod preference;
mod quiet;
mod topics;

pub use area::Area;
pub use marks::{Marks, PersonMark, UNKNOWN_MAX};
pub use matching::{GROUP_DEPTH_MAX, GroupSet, Match, Matcher};
pub use merge::{FoundEndpoint, Roster, SolvedEndpoint, address_hash};
pub use quiet::{quiet_until, spans_until};

use crate::directory::PeopleIndex;
use crate::dispatch::Wording;
use jiff::tz::TimeZone;
use preference::preferred_first;
use records::{
    AlertRequest, ChannelNumber, DecodeError, DeviceProfile, Priority, QuietHours, Reason, Recipient,
    RosterEntry, Strategy, Timestamp,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::sync::Arc;
use store::OptOutSet;

/// What solving needs to know beside the people.
pub struct Solver<'a> {
    request: &'a AlertRequest,
    matcher: Arc<Matcher>,
    area: Option<Arc<Area>>,
    opted_out: Option<Arc<OptOutSet>>,
    wording: &'a Wording,
    now: Timestamp,
    zones: FxHashMap<String, Option<TimeZone>>,
    seen_named: FxHashSet<String>,
    seen_earlier: FxHashSet<String>,
    endpoints_max: usize,
    /// Each person with what becomes of them, where somebody asks for that.
    marks: Option<Marks>,
    /// What it found so far.
    pub roster: Roster,
}

impl<'a> Solver<'a> {
    /// Ready to be shown people. Without `opted_out`, stops do not hold.
    pub fn new(
        request: &'a AlertRequest,
        matcher: Arc<Matcher>,
        opted_out: Option<Arc<OptOutSet>>,
        wording: &'a Wording,
        now: Timestamp,
        endpoints_max: u32,
    ) -> Solver<'a> {
        let area = request.area.as_ref().map(|area| Arc::new(Area::new(area)));
        Solver {
            request,
            matcher,
            area,
            opted_out,
            wording,
            now,
            zones: FxHashMap::default(),
            seen_named: FxHashSet::default(),
            seen_earlier: FxHashSet::default(),
            endpoints_max: endpoints_max as usize,
            marks: None,
            roster: Roster::default(),
        }
    }

    /// Notes of each person what becomes of them.
    pub fn marking(self) -> Solver<'a> {
        Solver { marks: Some(Marks::default()), ..self }
    }

    /// What became of each person; none if nobody asked for it.
    pub fn take_marks(&mut self) -> Marks {
        self.marks.take().unwrap_or_default()
    }

    /// Must it be shown everybody?
    pub fn needs_scan(&self) -> bool {
        self.matcher.needs_scan()
    }

    /// The matcher, for the ids it names.
    pub fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// Shows it a slice of people; false when the roster is full.
    pub fn show(&mut self, people: &[Recipient]) -> bool {
        for recipient in people {
            if let Some(found) = self.matcher.of(recipient, self.area.as_deref()) {
                self.person(recipient, found, None);
            }
        }
        self.roster.len() < self.endpoints_max
    }

    /// Shows it everybody of an index; what is only to be looked at is looked at by several threads.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub fn show_index(&mut self, index: &PeopleIndex) -> Result<(), DecodeError> {
        let (matcher, area) = (self.matcher.clone(), self.area.clone());
        index.each_matching(
            |person| matcher.of(person, area.as_deref()),
            |recipient, found| {
                self.person(&recipient, found, None);
                self.roster.len() < self.endpoints_max
            },
        )
    }

    /// Adds what no recipient stands for: bare addresses, and names nobody has.
    pub fn finish(&mut self) {
        let mut addresses: Vec<(ChannelNumber, String, u32)> = self
            .matcher
            .addresses()
            .map(|(channel, address, rule)| (channel, address.to_owned(), rule))
            .collect();
        addresses.sort_unstable();
        for (channel, address, rule) in addresses {
            self.bare_address(channel, &address, rule);
        }
        let mut unknown: Vec<String> =
            self.matcher.named_ids().iter().filter(|id| !self.seen_named.contains(*id)).cloned().collect();
        unknown.sort_unstable();
        for id in unknown {
            self.exclude(None, "", &id, "", Reason::UnknownRecipient);
            let entry = self.matcher.entry_of_id(&id);
            if let Some(marks) = &mut self.marks {
                marks.add_unknown(&id, entry);
            }
        }
    }

    /// Adds a device that an earlier alert went to, with the people who were behind it; `people` are those of
    /// them who are known still. What a device was told it is told on, whatever the person prefers by now,
    /// but for a STOP. `place` is that of the audience's entry.
    pub fn told_before(&mut self, entry: &RosterEntry, people: &FxHashMap<String, Recipient>, place: u32) {
        let Some(channel) = entry.channel else { return };
        let excluded = self.is_opted_out(channel, &entry.address).then_some(Reason::OptedOut);
        for person in &entry.persons {
            let known = people.get(&person.recipient);
            let preferred = known.map_or(entry.language.as_deref(), |known| known.language.as_deref());
            self.roster.count_person(preferred);
            let language = self.wording.language_for(preferred);
            let not_before = known.and_then(|known| self.not_before(known));
            self.roster.add(FoundEndpoint {
                channel: Some(channel),
                address: &entry.address,
                recipient: &person.recipient,
                name: &person.name,
                step: 0,
                rule: 0,
                language,
                values: known
                    .map_or_else(Vec::new, |known| self.wording.values_for(channel, language, known)),
                not_before,
                quiet: known.and_then(|known| self.quiet(known)),
                profile: known.and_then(|known| profile_of(known, channel, &entry.address)),
                excluded,
            });
            if let Some(marks) = &mut self.marks {
                let fate = excluded.unwrap_or(outcome(not_before));
                marks.add_told(&person.recipient, (channel, &entry.address), place, fate);
            }
        }
    }

    /// Adds people of an earlier alert by the devices that they have now. Whom the audience names anyhow, or
    /// who was added before, is not added once more. `place` is that of the audience's entry.
    pub fn show_earlier(&mut self, people: &[Recipient], place: u32) {
        for recipient in people {
            let is_named = self.matcher.of(recipient, self.area.as_deref()).is_some();
            if !is_named && self.seen_earlier.insert(recipient.id.clone()) {
                let excluded = self.matcher.excludes(recipient, self.area.as_deref());
                let channels = self.matcher.channels();
                self.person(recipient, Match { channels, rule: 0, excluded }, Some(place));
            }
        }
    }

    /// Adds the device of an earlier alert behind which nobody was known.
    pub fn earlier_address(&mut self, entry: &RosterEntry) {
        if let Some(channel) = entry.channel.filter(|channel| self.matcher.channels().has(*channel)) {
            self.bare_address(channel, &entry.address, 0);
        }
    }

    /// `earlier` is the place of the entry of an earlier alert that named the person.
    fn person(&mut self, recipient: &Recipient, found: Match, earlier: Option<u32>) {
        self.roster.count_person(recipient.language.as_deref());
        self.note_named(&recipient.id);
        let left_out = if found.excluded {
            Some(Reason::ExcludedBySender)
        } else if self.request.participants_only && !recipient.participant {
            Some(Reason::NotParticipant)
        } else {
            None
        };
        let reason = match left_out {
            Some(reason) => {
                self.exclude(None, "", &recipient.id, &recipient.name, reason);
                reason
            }
            None => self.devices(recipient, found),
        };
        if let Some(marks) = &mut self.marks {
            let mut entries = self.matcher.entries(recipient, self.area.as_deref());
            entries.extend(earlier);
            marks.add(&recipient.id, entries, reason);
        }
    }

    fn note_named(&mut self, id: &str) {
        // Only ids that the audience names can be missing; the set stays as small as the audience.
        if self.matcher.named_ids().contains(id) {
            self.seen_named.insert(id.to_owned());
        }
    }

    /// Puts the devices in. Says what becomes of the person: nothing is odd, it is quiet, or why no device is
    /// used.
    fn devices(&mut self, recipient: &Recipient, found: Match) -> Reason {
        let language = self.wording.language_for(recipient.language.as_deref());
        let not_before = self.not_before(recipient);
        let mut step = 0u8;
        let mut left_out = None;
        let mut is_reached = false;
        let devices = match self.strategy(found.rule) {
            Strategy::All => Cow::Borrowed(&recipient.devices[..]),
            Strategy::FirstReachable | Strategy::EscalateAfter { .. } => preferred_first(recipient),
        };
        for device in devices.iter().filter(|device| found.channels.has(device.channel)) {
            if let Some(reason) = self.why_not(device) {
                left_out = left_out.or(Some(reason));
                self.exclude(Some(device.channel), &device.address, &recipient.id, &recipient.name, reason);
                continue;
            }
            let values = self.wording.values_for(device.channel, language, recipient);
            let endpoint = self.roster.add(FoundEndpoint {
                channel: Some(device.channel),
                address: &device.address,
                recipient: &recipient.id,
                name: &recipient.name,
                step: if self.strategy(found.rule) == Strategy::All { 0 } else { step },
                rule: found.rule,
                language,
                values,
                not_before,
                quiet: self.quiet(recipient),
                profile: device.profile,
                excluded: None,
            });
            if !device.verified {
                self.roster.note_unverified(endpoint);
            }
            step = step.saturating_add(1);
            is_reached = true;
        }
        match left_out {
            _ if is_reached => outcome(not_before),
            Some(reason) => reason,
            None => {
                self.exclude(None, "", &recipient.id, &recipient.name, Reason::NoDevice);
                Reason::NoDevice
            }
        }
    }

    fn why_not(&self, device: &records::Device) -> Option<Reason> {
        let is_marked = device.opted_out && self.opted_out.is_some();
        if is_marked || self.is_opted_out(device.channel, &device.address) {
            Some(Reason::OptedOut)
        } else if !device.enabled {
            Some(Reason::DeviceDisabled)
        } else if self.matcher.excludes_address(device.channel, &device.address) {
            Some(Reason::ExcludedBySender)
        } else if device.address.is_empty() {
            Some(Reason::InvalidAddress)
        } else {
            None
        }
    }

    fn is_opted_out(&self, channel: ChannelNumber, address: &str) -> bool {
        self.opted_out.as_ref().is_some_and(|set| set.contains(channel, address))
    }

    fn bare_address(&mut self, channel: ChannelNumber, address: &str, rule: u32) {
        self.roster.count_person(None);
        let stopped = self.is_opted_out(channel, address);
        let unwanted = self.matcher.excludes_address(channel, address);
        let excluded = match (stopped, unwanted, self.request.participants_only) {
            (true, ..) => Some(Reason::OptedOut),
            (_, true, _) => Some(Reason::ExcludedBySender),
            (_, _, true) => Some(Reason::NotParticipant),
            _ => None,
        };
        self.roster.add(FoundEndpoint {
            channel: Some(channel),
            address,
            recipient: "",
            name: "",
            step: 0,
            rule,
            language: None,
            values: Vec::new(),
            not_before: None,
            quiet: None,
            profile: None,
            excluded,
        });
        let entry = self.matcher.entry_of_address(channel, address);
        if let Some(marks) = &mut self.marks {
            marks.add_address((channel, address), entry, excluded.unwrap_or(Reason::None));
        }
    }

    fn exclude(
        &mut self,
        channel: Option<ChannelNumber>,
        address: &str,
        recipient: &str,
        name: &str,
        reason: Reason,
    ) {
        self.roster.add(FoundEndpoint {
            channel,
            address,
            recipient,
            name,
            step: 0,
            rule: 0,
            language: None,
            values: Vec::new(),
            not_before: None,
            quiet: None,
            profile: None,
            excluded: Some(reason),
        });
    }

    fn strategy(&self, rule: u32) -> Strategy {
        strategy_of(self.request, rule)
    }

    /// A person's quiet hours, with the time zone they are told in. An emergency goes through them.
    fn quiet<'r>(&self, recipient: &'r Recipient) -> Option<(QuietHours, &'r str)> {
        let quiet = recipient.quiet_hours.filter(|_| self.request.priority != Priority::Emergency)?;
        Some((quiet, recipient.time_zone.as_deref().unwrap_or("UTC")))
    }

    fn not_before(&mut self, recipient: &Recipient) -> Option<Timestamp> {
        let (quiet, name) = self.quiet(recipient)?;
        let zone = self.zones.entry(name.to_owned()).or_insert_with(|| TimeZone::get(name).ok());
        quiet_until(quiet, zone.as_ref().unwrap_or(&TimeZone::UTC), self.now)
    }
}

/// Of somebody who is reached: nothing is odd, or they wait for the end of their quiet hours.
fn outcome(not_before: Option<Timestamp>) -> Reason {
    not_before.map_or(Reason::None, |_| Reason::QuietHours)
}

/// What a person's device at an address can show, where that is less than its channel carries.
fn profile_of(person: &Recipient, channel: ChannelNumber, address: &str) -> Option<DeviceProfile> {
    let key = channels::key(channel, address);
    let mut devices = person.devices.iter().filter(|device| device.channel == channel);
    devices.find(|device| channels::key(channel, &device.address) == key)?.profile
}

/// The strategy under a rule: the audience entry's own, or the alert's.
pub fn strategy_of(request: &AlertRequest, rule: u32) -> Strategy {
    let own =
        rule.checked_sub(1).and_then(|i| request.audience.get(i as usize)).and_then(|entry| entry.strategy);
    own.unwrap_or(request.strategy)
}

/// The end under a rule: the audience entry's own if it is earlier, or the alert's.
pub fn expires_of(request: &AlertRequest, rule: u32) -> Timestamp {
    let own =
        rule.checked_sub(1).and_then(|i| request.audience.get(i as usize)).and_then(|entry| entry.expires);
    own.map_or(request.expires, |own| own.min(request.expires))
}
