//! Solve: who is meant, and by which devices can they be reached? Every person of the audience ends in the
//! roster, as an endpoint or as an exclusion with its reason.

mod area;
pub mod audience;
mod matching;
mod merge;
mod quiet;

pub use area::Area;
pub use matching::{GROUP_DEPTH_MAX, GroupSet, Match, Matcher};
pub use merge::{FoundEndpoint, Roster, address_hash};
pub use quiet::quiet_until;

use crate::dispatch::Wording;
use jiff::tz::TimeZone;
use records::{AlertRequest, ChannelNumber, Priority, Reason, Recipient, Strategy, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};
use store::OptOutSet;

/// What solving needs to know beside the people.
pub struct Solver<'a> {
    request: &'a AlertRequest,
    matcher: Matcher,
    area: Option<Area>,
    opted_out: OptOutSet,
    wording: &'a Wording,
    now: Timestamp,
    zones: FxHashMap<String, Option<TimeZone>>,
    seen_named: FxHashSet<String>,
    endpoints_max: usize,
    /// What it found so far.
    pub roster: Roster,
}

impl<'a> Solver<'a> {
    /// Ready to be shown people.
    pub fn new(
        request: &'a AlertRequest,
        matcher: Matcher,
        opted_out: OptOutSet,
        wording: &'a Wording,
        now: Timestamp,
        endpoints_max: u32,
    ) -> Solver<'a> {
        let area = request.area.as_ref().map(Area::new);
        Solver {
            request,
            matcher,
            area,
            opted_out,
            wording,
            now,
            zones: FxHashMap::default(),
            seen_named: FxHashSet::default(),
            endpoints_max: endpoints_max as usize,
            roster: Roster::default(),
        }
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
            self.person(recipient);
        }
        self.roster.len() < self.endpoints_max
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
        }
    }

    fn person(&mut self, recipient: &Recipient) {
        let Some(found) = self.matcher.of(recipient, self.area.as_ref()) else { return };
        self.roster.count_person();
        self.note_named(&recipient.id);
        if found.excluded {
            return self.exclude(None, "", &recipient.id, &recipient.name, Reason::ExcludedBySender);
        }
        if self.request.participants_only && !recipient.participant {
            return self.exclude(None, "", &recipient.id, &recipient.name, Reason::NotParticipant);
        }
        self.devices(recipient, found);
    }

    fn note_named(&mut self, id: &str) {
        // Only ids that the audience names can be missing; the set stays as small as the audience.
        if self.matcher.named_ids().contains(id) {
            self.seen_named.insert(id.to_owned());
        }
    }

    fn devices(&mut self, recipient: &Recipient, found: Match) {
        let language = self.wording.language_for(recipient.language.as_deref());
        let not_before = self.not_before(recipient);
        let mut step = 0u8;
        let mut any = false;
        for device in recipient.devices.iter().filter(|device| found.channels.has(device.channel)) {
            any = true;
            let reason = self.why_not(device);
            if let Some(reason) = reason {
                self.exclude(Some(device.channel), &device.address, &recipient.id, &recipient.name, reason);
                continue;
            }
            let values = self.wording.values_for(device.channel, language, recipient);
            self.roster.add(FoundEndpoint {
                channel: Some(device.channel),
                address: &device.address,
                recipient: &recipient.id,
                name: &recipient.name,
                step: if self.strategy(found.rule) == Strategy::All { 0 } else { step },
                rule: found.rule,
                language,
                values,
                not_before,
                excluded: None,
            });
            step = step.saturating_add(1);
        }
        if !any {
            self.exclude(None, "", &recipient.id, &recipient.name, Reason::NoDevice);
        }
    }

    fn why_not(&self, device: &records::Device) -> Option<Reason> {
        if device.opted_out || self.is_opted_out(device.channel, &device.address) {
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
        self.opted_out.contains(channel, address)
    }

    fn bare_address(&mut self, channel: ChannelNumber, address: &str, rule: u32) {
        self.roster.count_person();
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
            excluded,
        });
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
            excluded: Some(reason),
        });
    }

    fn strategy(&self, rule: u32) -> Strategy {
        strategy_of(self.request, rule)
    }

    fn not_before(&mut self, recipient: &Recipient) -> Option<Timestamp> {
        let quiet = recipient.quiet_hours?;
        // An emergency goes through quiet hours.
        if self.request.priority == Priority::Emergency {
            return None;
        }
        let name = recipient.time_zone.as_deref().unwrap_or("UTC");
        let zone = self.zones.entry(name.to_owned()).or_insert_with(|| TimeZone::get(name).ok());
        quiet_until(quiet, zone.as_ref().unwrap_or(&TimeZone::UTC), self.now)
    }
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
