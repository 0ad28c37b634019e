//! RouteTable holds the routes as dispatch sees them: the units under way on each lane, and whether they can
//! send.

use super::actor::bus_error;
use super::dispatcher::Appended;
use super::route_activity::RouteActivity;
use crate::api::{EngineError, Parts};
use crate::plan::{Classifier, Tiers, ahead_units_max};
use crate::record::StringTable;
use records::{AttemptRef, Lane, RouteHealth, RouteHold, Timestamp, segment_topic};
use std::collections::VecDeque;
use std::sync::Arc;

/// Members of the consumer group that gateways take segments with.
pub const GATEWAYS: &str = "gateway";

/// All routes.
pub struct RouteTable {
    /// Gives classes; its routes are in the order of `list`.
    pub classifier: Arc<Classifier>,
    /// One for each route.
    pub list: Vec<RouteEntry>,
    places: Vec<Option<usize>>,
    tiers: Vec<Option<Arc<Tiers>>>,
}

/// One route.
pub struct RouteEntry {
    /// Its number in the engine's words.
    pub no: u16,
    /// Each lane.
    pub lanes: [LaneState; 3],
    /// The health its gateway published last.
    pub health: Option<RouteHealth>,
    /// Somebody stopped its use.
    pub hold: Option<RouteHold>,
    /// What it did lately.
    pub activity: RouteActivity,
    /// Units given to it so far, over its weight: who has least goes next among equals.
    pub given: f64,
    /// The other routes of its carrier account: all have one rate together.
    same_account: Vec<usize>,
}

/// One lane of a route.
pub struct LaneState {
    /// The topic of its segments.
    pub topic: Arc<dyn bus::Topic>,
    /// Who takes from it.
    pub group: Arc<dyn bus::Group>,
    /// Units under way.
    pub under_way: u64,
    /// Segments that may not be acknowledged yet: index, and where the outcomes ended when they were made.
    pub segments: VecDeque<(u64, u64)>,
    /// Segments that wait to be appended, one after the other, where several processes share the bus.
    pub queue: VecDeque<QueuedSegment>,
    /// One of them is being appended.
    pub appends: bool,
    /// The index the next one will have, since nobody else appends here; nothing: a fencing record has to be
    /// taken first.
    pub next: Option<u64>,
}

/// A segment that is to be appended.
pub struct QueuedSegment {
    /// What is known of it.
    pub of: Appended,
    /// The segment.
    pub octets: Vec<u8>,
}

impl RouteTable {
    /// Opens the topics of every route.
    pub fn new(parts: &Parts, words: &mut StringTable) -> Result<RouteTable, EngineError> {
        RouteTable::of(parts, parts.routes.clone(), words)
    }

    /// Opens the topics of these routes.
    pub fn of(
        parts: &Parts,
        routes: Vec<records::Route>,
        words: &mut StringTable,
    ) -> Result<RouteTable, EngineError> {
        let mut list = Vec::with_capacity(routes.len());
        for route in &routes {
            let mut lanes = Vec::with_capacity(3);
            for lane in Lane::ALL {
                let name = segment_topic(&route.name, lane);
                lanes.push(LaneState {
                    topic: parts.bus.topic(&name).map_err(bus_error)?,
                    group: parts.bus.group(&name, GATEWAYS).map_err(bus_error)?,
                    under_way: 0,
                    segments: VecDeque::new(),
                    queue: VecDeque::new(),
                    appends: false,
                    next: None,
                });
            }
            let Ok(lanes) = <[LaneState; 3]>::try_from(lanes) else { continue };
            let (no, same_account) = (words.route_no(&route.name), same_account(&routes, route));
            let (health, hold, activity) = (None, None, RouteActivity::default());
            list.push(RouteEntry { no, lanes, health, hold, activity, given: 0.0, same_account });
        }
        let mut places = vec![None; words.route_count()];
        for (place, entry) in list.iter().enumerate() {
            places[usize::from(entry.no)] = Some(place);
        }
        Ok(RouteTable { classifier: Arc::new(Classifier::new(routes)), list, places, tiers: Vec::new() })
    }

    /// The place of the route with this number.
    pub fn place(&self, no: u16) -> Option<usize> {
        self.places.get(usize::from(no)).copied().flatten()
    }

    /// The route with this name.
    pub fn named(&self, name: &str) -> Option<&records::Route> {
        self.classifier.routes().iter().find(|route| route.name == name)
    }

    /// The key of an attempt that its channel gives without the network's answer.
    pub fn own_key(&self, route: &str, of: AttemptRef) -> Option<u64> {
        channels::of(self.named(route)?.channel)?.own_key(of.alert, of.endpoint)
    }

    /// Does the network of this route send receipts?
    pub fn has_receipts(&self, no: u16) -> bool {
        self.place(no).is_some_and(|i| self.classifier.routes()[i].receipts)
    }

    /// The route of a class that takes the next segment: the first tier that is up, there the one that was
    /// given least for its weight among those with room. Nothing if none has room, or none is up.
    pub fn choose(&mut self, class: u16, lane: Lane) -> Option<(usize, u64)> {
        let tiers = self.tiers(class);
        let up = tiers.iter().find(|tier| tier.iter().any(|&i| self.is_up(i)))?;
        up.iter()
            .filter(|&&i| self.is_up(i))
            .filter_map(|&i| Some((i, self.room(i, lane)?)))
            .min_by(|(a, _), (b, _)| self.list[*a].given.total_cmp(&self.list[*b].given))
    }

    /// The same for an alert of which so many units are ready, and how much of them that route takes: where
    /// all have limits, no more than what lets them be through with it at one time. So a few hundred people
    /// do not wait on the slowest of equals while a faster one has nothing to do.
    pub fn choose_for(&mut self, class: u16, lane: Lane, units: u64) -> Option<(usize, u64)> {
        let tiers = self.tiers(class);
        let up = tiers.iter().find(|tier| tier.iter().any(|&i| self.is_up(i)))?;
        let up: Vec<usize> = up.iter().copied().filter(|&i| self.is_up(i)).collect();
        if up.len() < 2 || up.iter().any(|&i| self.classifier.routes()[i].rate <= 0.0) {
            return self.choose(class, lane);
        }
        let share = |i: usize| {
            let route = &self.classifier.routes()[i];
            route.rate * f64::from(route.weight.max(1))
        };
        let before = |i: usize| -> u64 {
            self.list[i].lanes[..=lane as usize].iter().map(|lane| lane.under_way).sum()
        };
        let shares: f64 = up.iter().map(|&i| share(i)).sum();
        let total = units + up.iter().map(|&i| before(i)).sum::<u64>();
        let part = |i: usize| (total as f64 * share(i) / shares).ceil() as u64;
        let even = up
            .iter()
            .filter_map(|&i| Some((i, self.room(i, lane)?.min(part(i).saturating_sub(before(i))))))
            .filter(|(_, room)| *room > 0)
            .min_by(|(a, _), (b, _)| self.list[*a].given.total_cmp(&self.list[*b].given));
        // Those that should have it have no room: what is free takes it all the same.
        even.or_else(|| self.choose(class, lane))
    }

    /// The routes of a class, computed once.
    fn tiers(&mut self, class: u16) -> Arc<Tiers> {
        let place = usize::from(class);
        if self.tiers.len() <= place {
            self.tiers.resize(place + 1, None);
        }
        self.tiers[place].get_or_insert_with(|| self.classifier.tiers(class)).clone()
    }

    fn is_up(&self, i: usize) -> bool {
        self.list[i].can_send()
    }

    /// The routes that what is ready of a class waits for: those of the first tier that is up, or of the
    /// first one while none is.
    pub fn awaited(&self, class: u16) -> Vec<usize> {
        let tiers = self.classifier.tiers(class);
        let up = tiers.iter().find(|tier| tier.iter().any(|&i| self.is_up(i)));
        match (up, tiers.first()) {
            (Some(tier), _) => tier.iter().copied().filter(|&i| self.is_up(i)).collect(),
            (None, Some(tier)) => tier.clone(),
            (None, None) => Vec::new(),
        }
    }

    fn room(&self, i: usize, lane: Lane) -> Option<u64> {
        // What the routes of one account have under way goes by one rate.
        let max = (ahead_units_max(&self.classifier.routes()[i]) / self.sharing(i)).max(1);
        let under_way = self.list[i].lanes[lane as usize].under_way;
        // Half of what may be ahead at once: segments stay large, and the gateway never runs dry.
        if under_way == 0 || max - max / 2 >= under_way.max(1) {
            max.checked_sub(under_way).filter(|room| *room > 0)
        } else {
            None
        }
    }

    /// How many routes its rate is for just now: it, and those of its account that have something under way.
    fn sharing(&self, i: usize) -> u64 {
        let is_busy = |other: &&usize| {
            self.list.get(**other).is_some_and(|entry| entry.lanes.iter().any(|lane| lane.under_way > 0))
        };
        1 + self.list[i].same_account.iter().filter(is_busy).count() as u64
    }

    /// Notes what was given to a route.
    pub fn gave(&mut self, i: usize, lane: Lane, units: u64) {
        let weight = f64::from(self.classifier.routes()[i].weight.max(1));
        self.list[i].given += units as f64 / weight;
        self.list[i].lanes[lane as usize].under_way += units;
    }

    /// The oldest index of the topic of outcomes that a gateway may still need after a crash.
    pub fn outcomes_needed_from(&mut self) -> Option<u64> {
        let mut oldest: Option<u64> = None;
        for lane in self.list.iter_mut().flat_map(|entry| entry.lanes.iter_mut()) {
            let low = lane.group.low_water();
            while lane.segments.front().is_some_and(|(index, _)| *index < low) {
                lane.segments.pop_front();
            }
            if let Some((_, from)) = lane.segments.front() {
                oldest = Some(oldest.map_or(*from, |oldest| oldest.min(*from)));
            }
        }
        oldest
    }
}

impl RouteEntry {
    /// Whether something may be given to it.
    pub fn can_send(&self) -> bool {
        self.hold.is_none() && self.health.as_ref().is_some_and(|health| health.up)
    }

    /// Takes over the health that its gateway published; its trouble is one of the last errors.
    pub fn set_health(&mut self, health: Option<RouteHealth>, now: Timestamp) {
        // What was published before this process began was noted by another.
        if let (Some(before), Some(after)) = (&self.health, &health)
            && !after.note.is_empty()
            && (before.note != after.note || before.up != after.up)
        {
            let code = if after.up { "trouble" } else { "down" };
            self.activity.note_error(now, code, &after.note);
        }
        self.health = health;
    }
}

/// The places of the other routes that have a route's carrier account.
fn same_account(routes: &[records::Route], route: &records::Route) -> Vec<usize> {
    let account = |route: &records::Route| route.shares.clone().unwrap_or_else(|| route.name.clone());
    let own = account(route);
    let is_same = |other: &records::Route| other.name != route.name && account(other) == own;
    (0..routes.len()).filter(|place| is_same(&routes[*place])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::route;

    #[test]
    fn routes_of_one_account_know_each_other_and_no_others() {
        let shares = |name: &str, of: &str| route(name, channels::SMS, |r| r.shares = Some(of.to_owned()));
        let routes = [
            route("live", channels::SMS, |_| {}),
            shares("drill", "live"),
            route("other", channels::SMS, |_| {}),
            shares("second", "live"),
        ];
        let found: Vec<Vec<usize>> = routes.iter().map(|route| same_account(&routes, route)).collect();
        assert_eq!(found, [vec![1, 3], vec![0, 3], vec![], vec![0, 1]]);
    }
}
