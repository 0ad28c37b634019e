//! Which routes may take an address, and in what order of preference: a class. Endpoints of one class are dispatched
//! alike, so that a slow route holds up nobody who could go another way.

use records::{Channel, Mode, Route};
use rustc_hash::FxHashMap;
use std::sync::Mutex;

/// More classes than this share the last one, which any route of the channel and mode may take.
const CLASSES_MAX: usize = 255;
/// The class of addresses that no route takes.
pub const NOWHERE: u8 = 0;

/// Routes in the order of preference: each tier is used when those before it are down.
pub type Tiers = Vec<Vec<usize>>;

/// Gives classes. Immutable but for its memory of what it was asked.
pub struct Classifier {
    routes: Vec<Route>,
    prefix_octets_max: usize,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    classes: Vec<Tiers>,
    by_prefix: FxHashMap<(Channel, Mode, String), u8>,
}

impl Classifier {
    /// For these routes; a class speaks of them by their place in this list.
    pub fn new(routes: Vec<Route>) -> Classifier {
        let prefix_octets_max =
            routes.iter().flat_map(|route| &route.prefixes).map(String::len).max().unwrap_or(0);
        let seen = Seen { classes: vec![Tiers::new()], ..Seen::default() };
        Classifier { routes, prefix_octets_max, seen: Mutex::new(seen) }
    }

    /// The routes.
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// The class of an address.
    pub fn class(&self, channel: Channel, mode: Mode, address: &str) -> u8 {
        let mut end = self.prefix_octets_max.min(address.len());
        while !address.is_char_boundary(end) {
            end -= 1;
        }
        let key = (channel, mode, address[..end].to_owned());
        let mut seen = match self.seen.lock() {
            Ok(seen) => seen,
            Err(poisoned) => poisoned.into_inner(),
        };
        if let Some(&class) = seen.by_prefix.get(&key) {
            return class;
        }
        let tiers = tiers(&self.routes, channel, mode, &key.2);
        let class = match seen.classes.iter().position(|known| *known == tiers) {
            Some(known) => known as u8,
            None if seen.classes.len() < CLASSES_MAX => {
                seen.classes.push(tiers);
                (seen.classes.len() - 1) as u8
            }
            None => seen.classes.iter().position(|known| !known.is_empty()).unwrap_or(0) as u8,
        };
        // As many entries as there are distinct beginnings of addresses; a bound against hostile ones.
        if seen.by_prefix.len() < 1_000_000 {
            seen.by_prefix.insert(key, class);
        }
        class
    }

    /// The routes of a class.
    pub fn tiers(&self, class: u8) -> Tiers {
        let seen = match self.seen.lock() {
            Ok(seen) => seen,
            Err(poisoned) => poisoned.into_inner(),
        };
        seen.classes.get(usize::from(class)).cloned().unwrap_or_default()
    }

    /// Is there any route for a channel in a mode?
    pub fn any(&self, channel: Channel, mode: Mode) -> bool {
        self.routes.iter().any(|route| route.channel == channel && route.mode == mode)
    }
}

/// Lower priority number first, then the longer prefix, then the lower cost.
fn tiers(routes: &[Route], channel: Channel, mode: Mode, address: &str) -> Tiers {
    let mut fitting: Vec<((i32, usize, i64), usize)> = routes
        .iter()
        .enumerate()
        .filter(|(_, route)| route.channel == channel && route.mode == mode)
        .filter_map(|(i, route)| {
            Some(((route.priority, usize::MAX - prefix(route, address)?, route.cost), i))
        })
        .collect();
    fitting.sort_unstable();
    let mut tiers: Tiers = Vec::new();
    let mut last = None;
    for (rank, route) in fitting {
        match tiers.last_mut().filter(|_| last == Some(rank)) {
            Some(tier) => tier.push(route),
            None => tiers.push(vec![route]),
        }
        last = Some(rank);
    }
    tiers
}

/// The length of the longest prefix that fits; 0 for a route that takes everything.
fn prefix(route: &Route, address: &str) -> Option<usize> {
    if route.prefixes.is_empty() {
        return Some(0);
    }
    route.prefixes.iter().filter(|prefix| address.starts_with(*prefix)).map(String::len).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::route;

    fn named(classifier: &Classifier, address: &str) -> Vec<Vec<String>> {
        let class = classifier.class(Channel::Sms, Mode::Live, address);
        let name = |i: &usize| classifier.routes()[*i].name.clone();
        classifier.tiers(class).iter().map(|tier| tier.iter().map(name).collect()).collect()
    }

    #[test]
    fn the_longer_prefix_goes_first_and_the_general_route_is_its_reserve() {
        let classifier = Classifier::new(vec![
            route("any", Channel::Sms, |_| {}),
            route("sweden", Channel::Sms, |r| r.prefixes = vec!["+46".into()]),
            route("telia", Channel::Sms, |r| r.prefixes = vec!["+4670".into(), "+4673".into()]),
            route("mail", Channel::Mail, |_| {}),
            route("drill", Channel::Sms, |r| r.mode = Mode::Drill),
        ]);
        assert_eq!(named(&classifier, "+46701234567"), [["telia"], ["sweden"], ["any"]]);
        assert_eq!(named(&classifier, "+46101234567"), [vec!["sweden"], vec!["any"]]);
        assert_eq!(named(&classifier, "+1555"), [["any"]]);
        assert_eq!(
            classifier.class(Channel::Sms, Mode::Live, "+1555"),
            classifier.class(Channel::Sms, Mode::Live, "+1556")
        );
    }

    #[test]
    fn equals_share_and_the_dearer_waits() {
        let classifier = Classifier::new(vec![
            route("dear", Channel::Sms, |r| r.cost = 9),
            route("a", Channel::Sms, |r| r.cost = 5),
            route("b", Channel::Sms, |r| r.cost = 5),
            route("reserve", Channel::Sms, |r| r.priority = 1),
        ]);
        assert_eq!(named(&classifier, "+46"), [vec!["a", "b"], vec!["dear"], vec!["reserve"]]);
    }

    #[test]
    fn an_address_no_route_takes_has_the_class_nowhere() {
        let classifier =
            Classifier::new(vec![route("no", Channel::Sms, |r| r.prefixes = vec!["+47".into()])]);
        assert_eq!(classifier.class(Channel::Sms, Mode::Live, "+46701234567"), NOWHERE);
    }
}
