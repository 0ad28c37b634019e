//! `[[route]]`: the keys of all routes, and a section for those of each channel.

mod edge;
mod mail;
mod sms;
mod topic;

pub use edge::EdgeKeys;
pub use mail::MailKeys;
pub use sms::{CharsetWords, SmsKeys, VersionWords};
pub use topic::TopicKeys;

use super::values::{ChannelName, ModeWords};
use records::{ChannelNumber, Mode};
use settings::{
    AnySection, Format, Node, Outline, Problems, Schema, Section, SectionType, Table, Variant, section,
};
use std::time::Duration;

section! {
    /// Routes: carriers, relays and other ways out, at most 500. A route has the keys of its channel beside those of all
    /// routes.
    RouteKeys {
        /// Its name, unique: letters, digits, `-`, `_` and `.` (not first), at most 100. It names topics on disk: a
        /// renamed route loses the messages that wait for it.
        #[manual(required, example = "carrier-1")]
        name: String = String::new(),
        /// Its channel: `"sms"`, `"mail"`, `"topic"` or `"edge"`.
        #[manual(required, example = "sms")]
        channel: Option<ChannelNumber> as Option<ChannelName> = None,
        /// Live alerts use live routes only, drills drill routes only.
        #[manual(required, example = "live")]
        mode: Option<Mode> as Option<ModeWords> = None,
        /// `host:port` of the SMSC or relay. No key of channels topic and edge.
        #[manual(default = "none; needed unless `sim` is true", example = "smsc.example:2775")]
        address: Option<String> = None,
        /// Instead of an address: a simulator in this process answers, by a real listener; reports then show
        /// `simulated`. No key of channels topic and edge.
        sim: bool = false,
        /// Messages per second over all sessions, for SMS parts, for edge sites copies that are begun; 0 is unlimited.
        #[manual(example = 5.0)]
        rate: f64 = 0.0,
        /// Beginnings of addresses that the route is for; for SMS such as `"+46"`. None: all.
        #[manual(example = ["+46", "+47"])]
        prefixes: Vec<String> = Vec::new(),
        /// Senders whose messages it is for. None: all.
        #[manual(example = ["CITY", "+4670000"])]
        senders: Vec<String> = Vec::new(),
        /// Accounts whose messages it is for. None: all.
        #[manual(example = ["default"])]
        accounts: Vec<String> = Vec::new(),
        /// Among routes that fit, lower goes first.
        priority: i32 = 0,
        /// Minor units for a part, at least 0; among equal priorities lower goes first.
        cost: i64 = 0,
        /// Share among routes that are equal otherwise; at least 1.
        weight: u32 = 1,
        /// Longest time in which a message is tried, by this server and by the network; for SMS at most 99d. Of an edge
        /// route: how long a push goes on, 1s to 24h; until then late sites get the archive too.
        #[manual(default = "the alert's own end; 10m of an edge route", example = "24h")]
        validity: Option<Duration> = None,
        /// Whether the network sends receipts: a delivery that waits for one may wait for it.
        #[manual(default = "true for sms and edge, false for mail and topic", example = true)]
        receipts: Option<bool> = None,
    }
}

/// One `[[route]]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Route {
    /// Keys of all routes.
    pub common: RouteKeys,
    /// Keys of its channel; nothing where the channel is missing or wrong.
    pub own: Option<AnySection>,
}

/// A channel with the section of its own keys.
struct ChannelSection {
    channel: ChannelNumber,
    section: SectionType,
    /// An example of the address that its routes connect to; nothing: they have neither `address` nor `sim`.
    address: Option<&'static str>,
}

/// One entry for each channel.
const CHANNELS: &[ChannelSection] = &[
    ChannelSection {
        channel: channels::SMS,
        section: SectionType::of::<SmsKeys>(),
        address: Some("smsc.example:2775"),
    },
    ChannelSection {
        channel: channels::MAIL,
        section: SectionType::of::<MailKeys>(),
        address: Some("relay.example:25"),
    },
    ChannelSection { channel: channels::EDGE, section: SectionType::of::<EdgeKeys>(), address: None },
    ChannelSection { channel: channels::TOPIC, section: SectionType::of::<TopicKeys>(), address: None },
];

/// Keys of all routes that those without an address do not have.
const PEER_KEYS: [&str; 2] = ["address", "sim"];

impl ChannelSection {
    fn has(&self, key: &str) -> bool {
        let is_common =
            RouteKeys::KEYS.contains(&key) && (self.address.is_some() || !PEER_KEYS.contains(&key));
        is_common || self.section.keys.contains(&key)
    }

    fn variant(&self) -> Variant {
        let name = channels::name(self.channel);
        let mut shared = vec![
            ("name", format!("\"{name}-1\"")),
            ("channel", format!("\"{name}\"")),
            ("mode", "\"live\"".to_owned()),
        ];
        shared.extend(self.address.map(|address| ("address", settings::format_text(address))));
        Variant { tag: ("channel", name), shared, outline: self.section.outline() }
    }
}

impl Format for Route {
    type Value = Route;

    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Route> {
        let table = Table::open(node, path, problems)?;
        let channels = CHANNELS.iter().flat_map(|channel| channel.section.keys);
        let mut known: Vec<&'static str> = RouteKeys::KEYS.to_vec();
        for key in channels {
            if !known.contains(key) {
                known.push(key);
            }
        }
        table.refuse_unknown(&known, problems);
        let common = RouteKeys::read_keys(&table, problems);
        let Some(channel) = CHANNELS.iter().find(|entry| Some(entry.channel) == common.channel) else {
            return Some(Route { common, own: None });
        };
        for key in table.keys().filter(|key| known.contains(key) && !channel.has(key)) {
            table.refuse(key, format!("is no key of channel {}", channels::name(channel.channel)), problems);
        }
        let own = channel.section.read_keys(&table, problems);
        Some(Route { common, own: Some(own) })
    }

    fn write(_route: &Route) -> Option<String> {
        None
    }

    fn schema() -> Schema {
        Schema::Table(|| {
            let variants = CHANNELS.iter().map(ChannelSection::variant).collect();
            Outline { variants, ..RouteKeys::outline() }
        })
    }
}

/// Stands for the address of a route whose simulator has none yet.
pub(super) const SIMULATED_ADDRESS: &str = "127.0.0.1:1";

impl Route {
    /// What the engine must know of it. Nothing without a channel and a mode: such a config has problems.
    pub fn record(&self) -> Option<records::Route> {
        let common = &self.common;
        let channel = common.channel?;
        Some(records::Route {
            name: common.name.clone(),
            channel,
            mode: common.mode?,
            rate: common.rate,
            simulated: common.sim,
            prefixes: common.prefixes.clone(),
            senders: common.senders.clone(),
            accounts: common.accounts.clone(),
            weight: common.weight,
            cost: common.cost,
            priority: common.priority,
            validity_s: common.validity_s().unwrap_or(0),
            receipts: common.receipts.unwrap_or(channels::traits(channel).receipts),
        })
    }

    /// The keys of its channel, if `S` is their section.
    fn keys<S: 'static>(&self) -> Option<&S> {
        self.own.as_ref()?.get()
    }
}

impl RouteKeys {
    /// The address that is connected to: the simulator's, where there is one.
    fn peer(&self, simulator: Option<&str>) -> String {
        simulator.map(str::to_owned).or_else(|| self.address.clone()).unwrap_or_default()
    }

    fn validity_s(&self) -> Option<u32> {
        self.validity.map(|validity| u32::try_from(validity.as_secs()).unwrap_or(u32::MAX))
    }
}
