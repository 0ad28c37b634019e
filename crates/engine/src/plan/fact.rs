//! Fact of an alert beside its forecast: when its people were handed over and confirmed so far, and what each
//! route took.

use super::alert_plan::person_keys;
use super::forecast::{CURVE_POINTS_MAX, PARTS};
use super::people_times::{PeopleTimes, rounded};
use super::route_days::Histogram;
use crate::forecast::ForecastFact;
use records::{Delivery, RosterBlock, Timestamp};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a route took so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RouteFact {
    /// Devices that it handed over.
    pub devices: u64,
    /// When the first was, in seconds.
    pub first_s: f64,
    /// When the last was.
    pub seconds: f64,
    /// Devices a second in between; nothing: too few.
    pub rate: Option<f64>,
    /// Devices that the network confirmed.
    pub confirmed: u64,
    /// The time within which half of them were, from the handing over.
    pub confirmation_p50: Option<f64>,
    /// The same of 95 of 100.
    pub confirmation_p95: Option<f64>,
}

#[derive(Default)]
struct RouteTimes {
    handed_over: Vec<f64>,
    confirmations: Histogram,
}

/// See the module.
#[derive(Default)]
pub struct FactTable {
    start: Timestamp,
    people: FxHashMap<u64, u32>,
    /// By person.
    planned: Vec<bool>,
    handed_over: Vec<f64>,
    confirmed: Vec<f64>,
    routes: BTreeMap<String, RouteTimes>,
}

impl FactTable {
    /// Seconds count from a start.
    pub fn new(start: Timestamp) -> FactTable {
        FactTable { start, ..FactTable::default() }
    }

    /// Takes a block in, with the delivery of each of its endpoints, where it has one.
    pub fn take<'d>(&mut self, block: &RosterBlock, row: impl Fn(u32) -> Option<&'d Delivery>) {
        for (endpoint, entry) in (block.first.0..).zip(&block.entries) {
            let row = row(endpoint);
            let seconds = |at: Timestamp| at.us_since(self.start).max(0) as f64 / 1e6;
            let handed_over = row.and_then(|row| row.accepted).map(seconds);
            let answered = row.and_then(|row| row.answer.as_ref()).map(|answer| answer.at);
            let confirmed = row.and_then(|row| row.delivered).or(answered).map(seconds);
            if let (Some(row), Some(at)) = (row, handed_over) {
                self.note_route(row, at);
            }
            let keys: Vec<u64> = person_keys(entry).collect();
            for key in keys {
                let person = self.person(key);
                self.planned[person] |= entry.excluded.is_none();
                let earlier =
                    |known: &mut f64, at: Option<f64>| *known = known.min(at.unwrap_or(f64::INFINITY));
                earlier(&mut self.handed_over[person], handed_over);
                earlier(&mut self.confirmed[person], confirmed);
            }
        }
    }

    fn note_route(&mut self, row: &Delivery, at: f64) {
        let Some(route) = &row.route else { return };
        let times = self.routes.entry(route.clone()).or_default();
        times.handed_over.push(at);
        if let (Some(accepted), Some(delivered)) = (row.accepted, row.delivered) {
            times.confirmations.note_ms(delivered.us_since(accepted).max(0).unsigned_abs() / 1_000);
        }
    }

    fn person(&mut self, key: u64) -> usize {
        let next = self.planned.len() as u32;
        let place = *self.people.entry(key).or_insert(next);
        if place == next {
            self.planned.push(false);
            self.handed_over.push(f64::INFINITY);
            self.confirmed.push(f64::INFINITY);
        }
        place as usize
    }

    /// People who were to be sent to.
    pub fn people(&self) -> u64 {
        self.planned.iter().filter(|planned| **planned).count() as u64
    }

    /// When people were handed over, of so many.
    pub fn handed_over(&self, people: u64) -> PeopleTimes {
        PeopleTimes::new(self.handed_over.iter().copied(), people)
    }

    /// When people were confirmed, of so many.
    pub fn confirmed(&self, people: u64) -> PeopleTimes {
        PeopleTimes::new(self.confirmed.iter().copied(), people)
    }

    /// The fact beside a forecast of so many people.
    pub fn fact(&self, people: u64) -> ForecastFact {
        let times = self.handed_over(people);
        let [p50, p95, p99] = PARTS.map(|part| times.at_part(part).map(rounded));
        ForecastFact {
            people: times.reached(),
            confirmed: self.confirmed(people).reached(),
            p50,
            p95,
            p99,
            seconds: rounded(times.last_s()),
            curve: times.curve(CURVE_POINTS_MAX),
            routes: self.routes.iter().map(|(name, times)| (name.clone(), times.fact())).collect(),
        }
    }
}

impl RouteTimes {
    fn fact(&self) -> RouteFact {
        let first_s = self.handed_over.iter().copied().fold(f64::INFINITY, f64::min);
        let last_s = self.handed_over.iter().copied().fold(0.0, f64::max);
        let devices = self.handed_over.len() as u64;
        let took = last_s - first_s;
        RouteFact {
            devices,
            first_s: rounded(first_s),
            seconds: rounded(last_s),
            rate: (devices > 1 && took > 0.0).then(|| rounded((devices - 1) as f64 / took)),
            confirmed: self.confirmations.count(),
            confirmation_p50: self.confirmations.quantile_s(0.5).map(rounded),
            confirmation_p95: self.confirmations.quantile_s(0.95).map(rounded),
        }
    }
}
