//! The audience made ready to be asked of each recipient: does it name this one, on which channels, under
//! which rule?

use super::area::Area;
use super::audience::To;
use super::topics::Topics;
use channels::legible;
use records::{AlertRequest, ChannelNumber, Group, PersonFacts, Rule};
use rustc_hash::{FxHashMap, FxHashSet};

/// Groups nest at most so deep.
pub const GROUP_DEPTH_MAX: usize = 16;

/// A group with everything below it, flattened.
#[derive(Debug, Clone, Default)]
pub struct GroupSet {
    /// Its name and those of the groups below: recipients say which they belong to.
    pub names: FxHashSet<String>,
    /// Recipient ids named by the groups themselves.
    pub members: FxHashSet<String>,
    /// Everyone one of these fits belongs to it.
    pub rules: Vec<Rule>,
}

impl GroupSet {
    /// Takes a group in; answers with the groups below that are not in yet.
    pub fn add(&mut self, group: &Group) -> Vec<String> {
        self.name(&group.id);
        self.members.extend(group.members.iter().cloned());
        self.rules.extend(group.rule.clone());
        group.groups.iter().filter(|below| !self.names.contains(*below)).cloned().collect()
    }

    /// Takes a name in, also in the form in which an earlier version may have kept it of a recipient.
    pub fn name(&mut self, name: &str) {
        let composed = legible::name(name);
        self.names.extend(legible::decomposed(&composed));
        self.names.insert(composed.into_owned());
        self.names.insert(name.to_owned());
    }

    fn holds(&self, recipient: &impl PersonFacts) -> bool {
        recipient.is_in(&mut |group| self.names.contains(group))
            || self.members.contains(recipient.id())
            || self.rules.iter().any(|rule| store::rule::fits(rule, recipient))
    }
}

/// Which channels, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Channels(u64);

const _: () = assert!(channels::COUNT <= 64);

impl Channels {
    /// Every channel there is.
    pub const ALL: Channels = Channels(u64::MAX);
    /// None.
    pub const NONE: Channels = Channels(0);

    /// Those in the list; every one if it is empty.
    pub fn of(list: &[ChannelNumber]) -> Channels {
        if list.is_empty() {
            Channels::ALL
        } else {
            list.iter().fold(Channels::NONE, |set, &channel| set.with(channel))
        }
    }
    /// With one more.
    pub fn with(self, channel: ChannelNumber) -> Channels {
        Channels(self.0 | Channels::bit(channel))
    }
    /// Those in either.
    pub fn or(self, other: Channels) -> Channels {
        Channels(self.0 | other.0)
    }
    /// Those in both.
    pub fn and(self, other: Channels) -> Channels {
        Channels(self.0 & other.0)
    }
    /// Is it one of them?
    pub fn has(self, channel: ChannelNumber) -> bool {
        self.0 & Channels::bit(channel) != 0
    }

    fn bit(channel: ChannelNumber) -> u64 {
        1_u64.checked_shl(u32::from(channel.0)).unwrap_or(0)
    }
}

/// That a recipient is in the audience.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// On which channels.
    pub channels: Channels,
    /// 0 the alert's rule, i that of audience entry i - 1.
    pub rule: u32,
    /// In the audience, and on its list of exclusions.
    pub excluded: bool,
}

/// An audience made ready. What is named by id or address stands in maps, so that a body may name
/// a hundred thousand; only groups, areas and `all` are asked one after the other.
pub struct Matcher {
    wanted: Names,
    unwanted: Names,
    named: FxHashSet<String>,
    channels: Channels,
}

/// Entries of one kind together, each with its channels and rule.
#[derive(Default)]
struct Names {
    sets: Vec<WantedSet>,
    /// Each with its rule and its place among the entries.
    ids: FxHashMap<String, (u32, u32)>,
    /// By their keys: each as it was written, with its rule and its place.
    addresses: FxHashMap<(ChannelNumber, String), (String, u32, u32)>,
}

/// An entry that has to be asked of each person.
struct WantedSet {
    wanted: WantedChannels,
    channels: Channels,
    rule: u32,
    /// Its place among the entries.
    entry: u32,
}

enum WantedChannels {
    All,
    Area,
    NamedArea(Area),
    Subscribers(Topics),
    Group(GroupSet),
}

impl Matcher {
    /// `groups` holds the flattened set for each `To::Group`, in the order of the entries, wanted before
    /// unwanted.
    pub fn new(request: &AlertRequest, wanted: &[To], unwanted: &[To], groups: Vec<GroupSet>) -> Matcher {
        let mut groups = groups.into_iter();
        let rule = |i: usize| match &request.audience[i] {
            entry if entry.strategy.is_some() || entry.expires.is_some() => i as u32 + 1,
            _ => 0,
        };
        let wanted = wanted.iter().enumerate().map(|(i, to)| (to, rule(i)));
        let wanted = Names::of(wanted, &mut groups, request);
        let unwanted = Names::of(unwanted.iter().map(|to| (to, 0)), &mut groups, request);
        let in_groups =
            wanted.sets.iter().filter_map(|set| set.wanted.group()).flat_map(|set| set.members.iter());
        let named = wanted.ids.keys().chain(in_groups).cloned().collect();
        Matcher { wanted, unwanted, named, channels: Channels::of(&request.channels) }
    }

    /// Must every recipient be asked, or do ids and memberships tell them all?
    pub fn needs_scan(&self) -> bool {
        self.wanted.sets.iter().any(|set| match &set.wanted {
            WantedChannels::All
            | WantedChannels::Area
            | WantedChannels::NamedArea(_)
            | WantedChannels::Subscribers(_) => true,
            WantedChannels::Group(set) => !set.rules.is_empty(),
        })
    }

    /// The ids that are named, by the audience or by its groups.
    pub fn named_ids(&self) -> &FxHashSet<String> {
        &self.named
    }

    /// The groups whose members are wanted.
    pub fn group_names(&self) -> Vec<String> {
        let sets = self.wanted.sets.iter().filter_map(|set| set.wanted.group());
        let mut names: Vec<String> = sets.flat_map(|set| set.names.iter().cloned()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The bare addresses that are named, with their rules.
    pub fn addresses(&self) -> impl Iterator<Item = (ChannelNumber, &str, u32)> {
        let addresses = self.wanted.addresses.iter();
        addresses.map(|((channel, _), (address, rule, _))| (*channel, address.as_str(), *rule))
    }

    /// Is this address on the list of exclusions?
    pub fn excludes_address(&self, channel: ChannelNumber, address: &str) -> bool {
        !self.unwanted.addresses.is_empty()
            && self.unwanted.addresses.contains_key(&(channel, channels::key(channel, address).into_owned()))
    }

    /// Is this recipient on the list of exclusions?
    pub fn excludes(&self, recipient: &impl PersonFacts, area: Option<&Area>) -> bool {
        self.unwanted.names(recipient, area).is_some()
    }

    /// The channels that the alert may use.
    pub fn channels(&self) -> Channels {
        self.channels
    }

    /// Does the audience name this recipient? The rule is that of the most specific entry: the id's own
    /// before the first group's.
    pub fn of(&self, recipient: &impl PersonFacts, area: Option<&Area>) -> Option<Match> {
        let (channels, rule) = self.wanted.names(recipient, area)?;
        let excluded = self.unwanted.names(recipient, area).is_some();
        Some(Match { channels: channels.and(self.channels), rule, excluded })
    }

    /// The places of all entries that name this recipient, in order.
    pub fn entries(&self, recipient: &impl PersonFacts, area: Option<&Area>) -> Vec<u32> {
        let own = self.wanted.ids.get(recipient.id()).map(|&(_, entry)| entry);
        let sets = self.wanted.sets.iter().filter(|set| set.wanted.fits(recipient, area));
        let mut entries: Vec<u32> = own.into_iter().chain(sets.map(|set| set.entry)).collect();
        entries.sort_unstable();
        entries
    }

    /// The place of the entry that names an id alone.
    pub fn entry_of_id(&self, id: &str) -> Option<u32> {
        self.wanted.ids.get(id).map(|&(_, entry)| entry)
    }

    /// The place of the entry that names an address.
    pub fn entry_of_address(&self, channel: ChannelNumber, address: &str) -> Option<u32> {
        let key = (channel, channels::key(channel, address).into_owned());
        self.wanted.addresses.get(&key).map(|&(_, _, entry)| entry)
    }
}

impl Names {
    fn of<'a>(
        entries: impl Iterator<Item = (&'a To, u32)>,
        groups: &mut impl Iterator<Item = GroupSet>,
        request: &AlertRequest,
    ) -> Names {
        let mut names = Names::default();
        for ((to, rule), entry) in entries.zip(0..) {
            let mut add = |wanted, channels| names.sets.push(WantedSet { wanted, channels, rule, entry });
            match to {
                To::All => add(WantedChannels::All, Channels::ALL),
                To::Area => add(WantedChannels::Area, Channels::ALL),
                To::NamedArea(id) => {
                    // One that is gone holds nobody: the alert was refused, or is of an earlier version.
                    let area = request.area.as_ref().and_then(|area| area.named(id)).map(Area::of_named);
                    if let Some(area) = area {
                        add(WantedChannels::NamedArea(area), Channels::ALL);
                    }
                }
                To::Subscribers => add(WantedChannels::Subscribers(Topics::of(request)), Channels::ALL),
                To::Group(_, channel) => {
                    let channels = channel.map_or(Channels::ALL, |channel| Channels::of(&[channel]));
                    add(WantedChannels::Group(groups.next().unwrap_or_default()), channels);
                }
                // The people of an earlier alert are read from its roster.
                To::Received(_) | To::Earlier(..) => {}
                To::Recipient(id) => _ = names.ids.entry(id.clone()).or_insert((rule, entry)),
                To::Address(channel, address) => {
                    let key = channels::key(*channel, address).into_owned();
                    let named = || (address.clone(), rule, entry);
                    _ = names.addresses.entry((*channel, key)).or_insert_with(named);
                }
            }
        }
        names
    }

    fn names(&self, recipient: &impl PersonFacts, area: Option<&Area>) -> Option<(Channels, u32)> {
        let named = self.ids.get(recipient.id()).map(|&(rule, _)| (Channels::ALL, rule));
        named.or_else(|| self.in_sets(recipient, area))
    }

    fn in_sets(&self, recipient: &impl PersonFacts, area: Option<&Area>) -> Option<(Channels, u32)> {
        let fitting = self.sets.iter().filter(|set| set.wanted.fits(recipient, area));
        fitting.fold(None, |found: Option<(Channels, u32)>, set| match found {
            Some((so_far, first)) => Some((so_far.or(set.channels), first)),
            None => Some((set.channels, set.rule)),
        })
    }
}

impl WantedChannels {
    fn group(&self) -> Option<&GroupSet> {
        if let WantedChannels::Group(set) = self { Some(set) } else { None }
    }

    fn fits(&self, recipient: &impl PersonFacts, area: Option<&Area>) -> bool {
        match self {
            WantedChannels::All => true,
            WantedChannels::Area => area.is_some_and(|area| area.holds(recipient)),
            WantedChannels::NamedArea(area) => area.holds(recipient),
            WantedChannels::Subscribers(topics) => topics.hold(recipient),
            WantedChannels::Group(set) => set.holds(recipient),
        }
    }
}
