//! `[[route]]`: the keys of all routes, and a section for those of each channel.

use gateway::route_keys::RouteKeys;
use gateway::{AnyRoute, Gateway, Surroundings, registry};
use settings::{
    AnySection, Node, NodeValue, Outline, Place, Problems, Schema, Section, Table, TableEntry, ValueFormat,
    Variant,
};
use std::collections::BTreeMap;

/// One `[[route]]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Route {
    /// Keys of all routes.
    pub common: RouteKeys,
    /// Keys of its channel; nothing where the channel is missing or wrong.
    pub own: Option<AnySection>,
    /// Lines of the file in which its keys stand.
    pub lines: BTreeMap<String, usize>,
}

/// The lines of a table's keys that the file has; the environment has others.
fn lines(node: &Node) -> BTreeMap<String, usize> {
    let NodeValue::Table(entries) = &node.kind else { return BTreeMap::new() };
    let line = |(key, entry): (&String, &TableEntry)| match entry.place {
        Place::File { line, .. } => Some((key.clone(), line)),
        Place::Environment(_) | Place::Nowhere => None,
    };
    entries.iter().filter_map(line).collect()
}

/// Whether a route of this channel has the key.
fn has(gateway: &dyn Gateway, key: &str) -> bool {
    let is_common = RouteKeys::KEYS.contains(&key)
        && match key {
            "address" => gateway.address().is_some(),
            "sim" => gateway.has_simulator(),
            _ => true,
        };
    is_common || gateway.keys().keys.contains(&key)
}

fn variant(gateway: &&dyn Gateway) -> Variant {
    let name = channels::name(gateway.channel());
    let mut shared = vec![
        ("name", format!("\"{name}-1\"")),
        ("channel", format!("\"{name}\"")),
        ("mode", "\"live\"".to_owned()),
    ];
    shared.extend(gateway.address().map(|address| ("address", settings::format_text(address))));
    Variant { tag: ("channel", name), shared, outline: gateway.keys().outline() }
}

impl ValueFormat for Route {
    type Value = Route;

    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Route> {
        let table = Table::open(node, path, problems)?;
        let channels = registry::ALL.iter().flat_map(|gateway| gateway.keys().keys);
        let mut known: Vec<&'static str> = RouteKeys::KEYS.to_vec();
        for key in channels {
            if !known.contains(key) {
                known.push(key);
            }
        }
        table.refuse_unknown(&known, problems);
        let common = RouteKeys::read_keys(&table, problems);
        let Some(gateway) = common.channel.and_then(registry::of) else {
            return Some(Route { common, own: None, lines: lines(node) });
        };
        for key in table.keys().filter(|key| known.contains(key) && !has(gateway, key)) {
            table.refuse(
                key,
                format!("is no key of channel {}", channels::name(gateway.channel())),
                problems,
            );
        }
        let own = gateway.keys().read_keys(&table, problems);
        Some(Route { common, own: Some(own), lines: lines(node) })
    }

    fn write(_route: &Route) -> Option<String> {
        None
    }

    fn schema() -> Schema {
        Schema::Table(|| {
            let variants = registry::ALL.iter().map(variant).collect();
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
            prefixes: self.prefixes(),
            senders: common.senders.clone(),
            accounts: common.accounts.clone(),
            weight: common.weight,
            cost: common.cost,
            priority: common.priority,
            validity_s: common.validity_s().unwrap_or(0),
            receipts: common.receipts.unwrap_or_else(|| self.has_receipts(channel)),
            window: self.window(channel),
            shares: common.shares.clone(),
        })
    }

    /// The beginnings of the addresses that it takes: those of its network, where it names none.
    fn prefixes(&self) -> Vec<String> {
        let gateway = self.common.channel.and_then(registry::of);
        match (gateway, &self.own) {
            (Some(gateway), Some(own)) if self.common.prefixes.is_empty() => {
                gateway.prefixes(own).iter().map(|prefix| (*prefix).to_owned()).collect()
            }
            _ => self.common.prefixes.clone(),
        }
    }

    /// Whether its network tells what becomes of messages, as far as its keys say.
    fn has_receipts(&self, channel: records::ChannelNumber) -> bool {
        match (registry::of(channel), &self.own) {
            (Some(gateway), Some(own)) => gateway.receipts(own),
            _ => channels::traits(channel).receipts,
        }
    }

    /// Messages without an answer on each of its sessions at most; 0: no such limit is known.
    fn window(&self, channel: records::ChannelNumber) -> u32 {
        match (registry::of(channel), &self.own) {
            (Some(gateway), Some(own)) => gateway.window(own),
            _ => 0,
        }
    }

    /// Whether it must have an address of its own.
    pub fn needs_address(&self) -> bool {
        let gateway = self.common.channel.and_then(registry::of);
        match (gateway, &self.own) {
            (Some(gateway), Some(own)) => gateway.needs_address(own),
            _ => true,
        }
    }

    /// The settings of its gateway. Nothing without a channel: such a config has problems.
    ///
    /// # Errors
    /// A section that is missing beside it.
    pub fn settings(&self, around: &Surroundings) -> Option<Result<AnyRoute, gateway::RouteProblem>> {
        let (gateway, own) = (registry::of(self.common.channel?)?, self.own.as_ref()?);
        Some(gateway.settings(&self.common, own, around))
    }
}
