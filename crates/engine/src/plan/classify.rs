//! Class of an address: the routes that may take it, in the order of preference. Endpoints of one class are
//! dispatched alike, so that a slow route holds up nobody who could go another way.

use super::accepting_routes::takes;
use records::{ChannelNumber, Mode, Origin, RosterMessage, Route};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// More classes than this share the first one that has a route.
const CLASSES_MAX: usize = 16_384;
/// As many answers are remembered as there are distinct beginnings of addresses; a bound against hostile
/// ones.
const REMEMBERED_MAX: usize = 1_000_000;
/// Parts of long messages are spread over so many slots: those of one message share one.
const SLOTS: u64 = 64;
/// The class of addresses that no route takes.
pub const NOWHERE: u16 = 0;

/// Routes in the order of preference: each tier is used when those before it are down.
pub type Tiers = Vec<Vec<usize>>;

/// What decides who may take a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RouteCriteria<'a> {
    /// By which channel.
    pub channel: ChannelNumber,
    /// Live or drill.
    pub mode: Mode,
    /// Where to.
    pub address: &'a str,
    /// Shown as from.
    pub sender: &'a str,
    /// Whose.
    pub account: &'a str,
    /// By this route alone.
    pub route: Option<&'a str>,
    /// It is a test of that route, which is not limited to the route's senders and accounts.
    pub is_test: bool,
    /// The slot of the long message that it is a part of: phones join parts that come by one carrier (TS
    /// 23.040, 9.2.3.24.1), so parts of one slot prefer the same of equal routes.
    pub slot: Option<u8>,
}

impl<'a> RouteCriteria<'a> {
    /// One endpoint of an alert. A test of a route goes by that one alone.
    pub fn of(alert: &'a records::Alert, channel: ChannelNumber, address: &'a str) -> RouteCriteria<'a> {
        let sender = alert.request.sender.as_deref().unwrap_or_default();
        let route = match &alert.origin {
            Origin::Test { route } => route.as_deref(),
            _ => None,
        };
        RouteCriteria {
            channel,
            mode: alert.request.mode,
            address,
            sender,
            account: &alert.account,
            route,
            is_test: route.is_some(),
            slot: None,
        }
    }

    /// Equal in all, as cheaply as most are.
    fn is_same(&self, other: &RouteCriteria<'_>) -> bool {
        let RouteCriteria { channel, mode, address, sender, account, route, is_test, slot } = *self;
        channel == other.channel
            && mode == other.mode
            && slot == other.slot
            && is_test == other.is_test
            && same(address, other.address)
            && same(sender, other.sender)
            && same(account, other.account)
            && route.is_some() == other.route.is_some()
            && same(route.unwrap_or_default(), other.route.unwrap_or_default())
    }

    /// A platform's message.
    pub fn of_message(
        alert: &'a records::Alert,
        address: &'a str,
        message: &'a RosterMessage,
    ) -> RouteCriteria<'a> {
        let (sender, route) = (&*message.short.source.addr, message.route.as_deref());
        let slot = slot(address, message);
        RouteCriteria { sender, route, slot, ..RouteCriteria::of(alert, channels::SMS, address) }
    }
}

/// The slot of a part, by its client, sender, receiver and reference.
fn slot(address: &str, message: &RosterMessage) -> Option<u8> {
    let part = channels::MessagePart::of(&message.short)?;
    let mut hasher = FxHasher::default();
    (address, &message.party, &message.short.source.addr, part).hash(&mut hasher);
    // Its high bits are the well mixed ones.
    Some((hasher.finish() >> 32) as u8 & (SLOTS - 1) as u8)
}

/// Gives classes. Immutable but for its memory of what it was asked.
pub struct Classifier {
    routes: Vec<Route>,
    prefix_octets_max: usize,
    by_sender: bool,
    by_account: bool,
    seen: Mutex<ClassCache>,
}

#[derive(Default)]
struct ClassCache {
    classes: Vec<Arc<Tiers>>,
    answers: FxHashMap<u64, CachedClass>,
}

/// What was asked, with what is of no account for these routes left out, and the answer.
struct CachedClass {
    channel: ChannelNumber,
    mode: Mode,
    beginning: Box<str>,
    sender: Box<str>,
    account: Box<str>,
    route: Option<Box<str>>,
    is_test: bool,
    slot: Option<u8>,
    class: u16,
}

impl CachedClass {
    fn criteria(&self) -> RouteCriteria<'_> {
        RouteCriteria {
            channel: self.channel,
            mode: self.mode,
            address: &self.beginning,
            sender: &self.sender,
            account: &self.account,
            route: self.route.as_deref(),
            is_test: self.is_test,
            slot: self.slot,
        }
    }
}

/// Empty ones are not looked at: comparing no octets at an address that is none costs some processors
/// hundreds of cycles.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

/// Gives the classes of one alert's endpoints after each other: most have that of the one before.
pub struct ClassReader<'a> {
    classifier: &'a Classifier,
    last: Option<(RouteCriteria<'a>, u16)>,
}

impl<'a> ClassReader<'a> {
    /// Of a classifier.
    pub fn new(classifier: &'a Classifier) -> ClassReader<'a> {
        ClassReader { classifier, last: None }
    }

    /// The class of a message.
    pub fn class(&mut self, sought: &RouteCriteria<'a>) -> u16 {
        let sought = self.classifier.relevant(sought);
        if let Some((last, class)) = &self.last
            && last.is_same(&sought)
        {
            return *class;
        }
        let class = self.classifier.class_of_relevant(sought);
        self.last = Some((sought, class));
        class
    }
}

impl Classifier {
    /// For these routes; a class speaks of them by their place in this list.
    pub fn new(routes: Vec<Route>) -> Classifier {
        let prefix_octets_max =
            routes.iter().flat_map(|route| &route.prefixes).map(String::len).max().unwrap_or(0);
        let by_sender = routes.iter().any(|route| !route.senders.is_empty());
        let by_account = routes.iter().any(|route| !route.accounts.is_empty());
        let seen = ClassCache { classes: vec![Arc::default()], ..ClassCache::default() };
        Classifier { routes, prefix_octets_max, by_sender, by_account, seen: Mutex::new(seen) }
    }

    /// The routes.
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// The class of a message. Nothing is allocated for what was asked before.
    pub fn class(&self, sought: &RouteCriteria<'_>) -> u16 {
        self.class_of_relevant(self.relevant(sought))
    }

    fn class_of_relevant(&self, sought: RouteCriteria<'_>) -> u16 {
        let mut hasher = FxHasher::default();
        sought.hash(&mut hasher);
        let key = hasher.finish();
        let mut seen = self.seen();
        if let Some(answered) = seen.answers.get(&key)
            && answered.criteria().is_same(&sought)
        {
            return answered.class;
        }
        let tiers = tiers(&self.routes, &sought);
        let class = match seen.classes.iter().position(|known| **known == tiers) {
            Some(known) => known as u16,
            None if seen.classes.len() < CLASSES_MAX => {
                seen.classes.push(Arc::new(tiers));
                (seen.classes.len() - 1) as u16
            }
            None => seen.classes.iter().position(|known| !known.is_empty()).unwrap_or(0) as u16,
        };
        if seen.answers.len() < REMEMBERED_MAX {
            let RouteCriteria { channel, mode, address, sender, account, route, is_test, slot } = sought;
            let (beginning, sender, account) = (address.into(), sender.into(), account.into());
            let route = route.map(Into::into);
            let answer =
                CachedClass { channel, mode, beginning, sender, account, route, is_test, slot, class };
            seen.answers.insert(key, answer);
        }
        class
    }

    /// Without what no route looks at.
    fn relevant<'a>(&self, sought: &RouteCriteria<'a>) -> RouteCriteria<'a> {
        let mut end = self.prefix_octets_max.min(sought.address.len());
        while !sought.address.is_char_boundary(end) {
            end -= 1;
        }
        RouteCriteria {
            address: &sought.address[..end],
            sender: if self.by_sender { sought.sender } else { "" },
            account: if self.by_account { sought.account } else { "" },
            ..*sought
        }
    }

    /// The routes of a class.
    pub fn tiers(&self, class: u16) -> Arc<Tiers> {
        self.seen().classes.get(usize::from(class)).cloned().unwrap_or_default()
    }

    /// Is there any route for a channel in a mode?
    pub fn any(&self, channel: ChannelNumber, mode: Mode) -> bool {
        self.routes.iter().any(|route| route.channel == channel && route.mode == mode)
    }

    fn seen(&self) -> MutexGuard<'_, ClassCache> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lower priority number first, then the longer prefix, then the lower cost.
fn tiers(routes: &[Route], sought: &RouteCriteria<'_>) -> Tiers {
    let RouteCriteria { channel, mode, address, sender, account, route: named, is_test, slot } = *sought;
    let mut fitting: Vec<((i32, usize, i64), usize)> = routes
        .iter()
        .enumerate()
        .filter(|(_, route)| route.channel == channel && route.mode == mode)
        .filter(|(_, route)| is_test || takes(route, sender, account))
        .filter(|(_, route)| named.is_none_or(|named| named == route.name))
        .filter_map(|(i, route)| {
            // Who names a route means it, whatever the beginning of the number.
            let prefix = if named.is_some() { 0 } else { prefix(route, address)? };
            Some(((route.priority, usize::MAX - prefix, route.cost), i))
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
    match slot {
        Some(slot) => tiers.iter().flat_map(|tier| in_turn(routes, tier, slot)).collect(),
        None => tiers,
    }
}

/// Equal routes one after another, beginning with that of the slot: slots are shared out by weight.
fn in_turn(routes: &[Route], tier: &[usize], slot: u8) -> Tiers {
    let weight = |route: &usize| u64::from(routes[*route].weight.max(1));
    let total: u64 = tier.iter().map(weight).sum();
    let mut left = u64::from(slot) * total / SLOTS;
    let first = tier.iter().position(|route| match left.checked_sub(weight(route)) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    });
    let (before, from) = tier.split_at(first.unwrap_or(0));
    from.iter().chain(before).map(|route| vec![*route]).collect()
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

    fn sms(address: &str) -> RouteCriteria<'_> {
        RouteCriteria {
            channel: channels::SMS,
            mode: Mode::Live,
            address,
            sender: "",
            account: "a",
            route: None,
            is_test: false,
            slot: None,
        }
    }

    fn named(classifier: &Classifier, address: &str) -> Vec<Vec<String>> {
        let class = classifier.class(&sms(address));
        let name = |i: &usize| classifier.routes()[*i].name.clone();
        classifier.tiers(class).iter().map(|tier| tier.iter().map(name).collect()).collect()
    }

    #[test]
    fn the_longer_prefix_goes_first_and_the_general_route_is_its_reserve() {
        let classifier = Classifier::new(vec![
            route("any", channels::SMS, |_| {}),
            route("sweden", channels::SMS, |r| r.prefixes = vec!["+46".into()]),
            route("telia", channels::SMS, |r| r.prefixes = vec!["+4670".into(), "+4673".into()]),
            route("mail", channels::MAIL, |_| {}),
            route("drill", channels::SMS, |r| r.mode = Mode::Drill),
        ]);
        assert_eq!(named(&classifier, "+46701234567"), [["telia"], ["sweden"], ["any"]]);
        assert_eq!(named(&classifier, "+46101234567"), [vec!["sweden"], vec!["any"]]);
        assert_eq!(named(&classifier, "+1555"), [["any"]]);
        assert_eq!(classifier.class(&sms("+1555")), classifier.class(&sms("+1556")));
    }

    #[test]
    fn equals_share_and_the_dearer_waits() {
        let classifier = Classifier::new(vec![
            route("dear", channels::SMS, |r| r.cost = 9),
            route("a", channels::SMS, |r| r.cost = 5),
            route("b", channels::SMS, |r| r.cost = 5),
            route("reserve", channels::SMS, |r| r.priority = 1),
        ]);
        assert_eq!(named(&classifier, "+46"), [vec!["a", "b"], vec!["dear"], vec!["reserve"]]);
    }

    #[test]
    fn an_address_no_route_takes_has_the_class_nowhere() {
        let classifier =
            Classifier::new(vec![route("no", channels::SMS, |r| r.prefixes = vec!["+47".into()])]);
        assert_eq!(classifier.class(&sms("+46701234567")), NOWHERE);
    }

    #[test]
    fn parts_of_one_message_take_one_of_equal_routes_and_messages_are_spread_by_weight() {
        let classifier = Classifier::new(vec![
            route("a", channels::SMS, |r| r.weight = 3),
            route("b", channels::SMS, |_| {}),
            route("reserve", channels::SMS, |r| r.priority = 1),
        ]);
        let mut firsts = [0; 2];
        for slot in 0..SLOTS as u8 {
            let class = classifier.class(&RouteCriteria { slot: Some(slot), ..sms("+46701") });
            let tiers = classifier.tiers(class);
            assert!(tiers.iter().all(|tier| tier.len() == 1), "{tiers:?}");
            let order: Vec<usize> = tiers.iter().flatten().copied().collect();
            assert!(order == [0, 1, 2] || order == [1, 0, 2], "{order:?}");
            firsts[order[0]] += 1;
        }
        assert_eq!(firsts, [48, 16]);
        let whole = classifier.class(&sms("+46701"));
        assert_eq!(*classifier.tiers(whole), vec![vec![0, 1], vec![2]], "a whole message takes either");
    }

    #[test]
    fn the_slot_of_a_part_follows_from_client_sender_receiver_and_reference() {
        let message = |client: &str, sender: &str, reference: u8, part: u8| RosterMessage {
            id: records::MessageId(1),
            party: records::MessageClient::Smpp(client.into()),
            at: records::Timestamp(0),
            short: records::Short {
                source: records::ShortAddress { ton_npi: None, addr: sender.into() },
                udh: [0, 3, reference, 3, part].into(),
                ..records::Short::default()
            },
            route: None,
            tell: records::DlrRequest::default(),
        };
        let first = slot("+46701", &message("a", "71700", 7, 1));
        assert!(first.is_some());
        for part in 2..=3 {
            assert_eq!(slot("+46701", &message("a", "71700", 7, part)), first);
        }
        let others = (0..50u8).map(|reference| slot("+46701", &message("a", "71700", reference, 1)));
        let distinct: std::collections::HashSet<_> = others.collect();
        assert!(distinct.len() > 20, "references are spread: {distinct:?}");
        let whole = RosterMessage { short: records::Short::default(), ..message("a", "71700", 7, 1) };
        assert_eq!(slot("+46701", &whole), None);
    }

    #[test]
    fn senders_accounts_and_a_named_route_limit_who_takes_a_message() {
        let classifier = Classifier::new(vec![
            route("any", channels::SMS, |_| {}),
            route("brand", channels::SMS, |r| (r.senders, r.priority) = (vec!["BRAND".into()], -1)),
            route("own", channels::SMS, |r| (r.accounts, r.priority) = (vec!["b".into()], -2)),
            route("far", channels::SMS, |r| r.prefixes = vec!["+1".into()]),
        ]);
        let cases: [(&str, &str, Option<&str>, &[usize]); 7] = [
            ("x", "a", None, &[0]),
            ("BRAND", "a", None, &[1, 0]),
            ("BRAND", "b", None, &[2, 1, 0]),
            ("x", "b", Some("any"), &[0]),
            ("x", "b", Some("far"), &[3]),
            ("x", "a", Some("own"), &[]),
            ("x", "a", Some("none"), &[]),
        ];
        // Twice: the second time from memory.
        for (sender, account, route, expected) in cases.iter().chain(&cases) {
            let class = classifier.class(&RouteCriteria { sender, account, route: *route, ..sms("+46701") });
            let flat: Vec<usize> = classifier.tiers(class).iter().flatten().copied().collect();
            assert_eq!(flat, *expected, "{sender} {account} {route:?}");
        }
    }
}
