//! Tariffs: by service context, rating group, message class, the longest prefix of the destination, and the
//! time of day there.
//!
//! A price is for each *begun* step of units. Within a session it is rounded once over all that was used of a
//! rating group under one tariff, not once per report: ten reports of six seconds cost one begun minute, not
//! ten.

use std::collections::HashMap;

use super::request::{Destination, ServiceContext, Units, Weights};

/// So many minor units for each begun `per` units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Never negative.
    pub price: i64,
    /// At least 1.
    pub per: u64,
}

impl Rate {
    fn price(&self, count: u64) -> Option<i64> {
        i64::try_from(count.div_ceil(self.per)).ok()?.checked_mul(self.price)
    }

    /// The price of one unit in billionths of a minor unit, rounded up.
    fn weight(&self) -> Option<u64> {
        let price = u128::try_from(self.price).ok()?;
        let weight = (price * u128::from(Weights::OF_MINOR_UNIT)).div_ceil(u128::from(self.per));
        // It is told as a signed number.
        i64::try_from(weight).ok().and_then(|weight| u64::try_from(weight).ok())
    }

    /// How many of `wanted` more units can be paid with `budget` when `total` were paid already.
    fn affordable(&self, total: u64, wanted: u64, budget: i64) -> u64 {
        if self.price == 0 {
            return wanted;
        }
        let steps = total.div_ceil(self.per).saturating_add((budget.max(0) / self.price) as u64);
        steps.saturating_mul(self.per).saturating_sub(total).min(wanted)
    }
}

/// What units of each kind cost. Money costs itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    pub time_s: Rate,
    pub octets: Rate,
    pub specific: Rate,
    /// The kinds of units that it names (bits of [`Units`]); 0: all alike. What is beside those costs
    /// nothing.
    pub named: u8,
}

impl Rates {
    /// What holds without a tariff: 1 specific unit, 1,000,000 octets (begun) and 60 s (begun) cost 1 minor
    /// unit each.
    pub const BUILT_IN: Rates = Rates {
        time_s: Rate { price: 1, per: 60 },
        octets: Rate { price: 1, per: 1_000_000 },
        specific: Rate { price: 1, per: 1 },
        named: 0,
    };

    /// Of some units those that are priced: the kinds that the tariff names, if there are any of those.
    /// Otherwise all: whoever can count nothing else pays the usual price.
    pub fn priced(&self, units: &Units) -> Units {
        let named = units.present & (self.named | Units::MONEY);
        if self.named == 0 || named == 0 { *units } else { units.only(named) }
    }

    /// The kind of units that is granted where a request leaves it open: what the tariff names, or else what
    /// is usual of the service.
    pub fn own_kind(&self, context: ServiceContext) -> u8 {
        let usual = context.usual_kind();
        let kinds = [usual, Units::OCTETS, Units::TIME, Units::SPECIFIC];
        kinds.into_iter().find(|kind| self.named & kind != 0).unwrap_or(usual)
    }

    /// The price of some units, in minor units. None: it is negative or does not fit, and the request cannot
    /// be rated.
    pub fn price(&self, units: &Units) -> Option<i64> {
        let of = |is: u8, rate: &Rate, count: u64| {
            if units.present & is == 0 { Some(0) } else { rate.price(count) }
        };
        let money = if units.present & Units::MONEY == 0 { 0 } else { units.money };
        if money < 0 {
            return None;
        }
        of(Units::TIME, &self.time_s, units.time_s.into())?
            .checked_add(of(Units::OCTETS, &self.octets, units.octets)?)?
            .checked_add(of(Units::SPECIFIC, &self.specific, units.specific)?)?
            .checked_add(money)
    }

    /// The price of `more` units when `total` were priced before.
    pub fn price_of_more(&self, total: &Units, more: &Units) -> Option<i64> {
        self.price(&total.plus(more)?)?.checked_sub(self.price(total)?)
    }

    /// How much of a credit pool each of these units takes. None: they cannot be pooled, since some cost
    /// nothing, or are money themselves.
    pub fn weights(&self, units: &Units) -> Option<Weights> {
        let of = |is: u8, rate: &Rate| match units.present & is {
            0 => Some(0),
            _ => rate.weight().filter(|weight| *weight > 0),
        };
        let is_money = units.present & Units::MONEY != 0 || units.is_zero();
        let (time, octets) = (of(Units::TIME, &self.time_s)?, of(Units::OCTETS, &self.octets)?);
        let specific = of(Units::SPECIFIC, &self.specific)?;
        (!is_money).then_some(Weights { time, octets, specific })
    }

    /// As many of the wanted units as `budget` pays, kind by kind, and what they cost.
    pub fn affordable(&self, total: &Units, wanted: &Units, budget: i64) -> Option<(Units, i64)> {
        // Before anything is priced: less than nothing would give back what was used.
        if wanted.money < 0 {
            return None;
        }
        if let Some(cost) = self.price_of_more(total, wanted)
            && cost <= budget
        {
            return Some((*wanted, cost));
        }
        let budget = budget.max(0);
        let mut granted = Units { present: wanted.present, ..Units::default() };
        granted.time_s = self.time_s.affordable(total.time_s.into(), wanted.time_s.into(), budget) as u32;
        let left = budget - self.price_of_more(total, &granted)?;
        granted.octets = self.octets.affordable(total.octets, wanted.octets, left);
        let left = budget - self.price_of_more(total, &granted)?;
        granted.specific = self.specific.affordable(total.specific, wanted.specific, left);
        let left = budget - self.price_of_more(total, &granted)?;
        granted.money = wanted.money.min(left).max(0);
        let cost = self.price_of_more(total, &granted)?;
        Some((granted, cost))
    }
}

impl Units {
    /// The sum of each kind; None where one does not fit.
    pub fn plus(&self, more: &Units) -> Option<Units> {
        Some(Units {
            present: self.present | more.present,
            time_s: self.time_s.checked_add(more.time_s)?,
            octets: self.octets.checked_add(more.octets)?,
            specific: self.specific.checked_add(more.specific)?,
            money: self.money.checked_add(more.money)?,
        })
    }

    /// Whether there is nothing of any kind.
    pub fn is_zero(&self) -> bool {
        self.time_s == 0 && self.octets == 0 && self.specific == 0 && self.money == 0
    }
}

/// When a tariff holds: from one minute of the day to another, which may be on the next day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hours {
    /// Below 1440 both. The same: the whole day.
    pub from_minute: u16,
    pub to_minute: u16,
    /// Bit 0 is Monday. A time past midnight belongs to the day on which its hours began.
    pub weekdays: u8,
    /// The zone's offset from UTC.
    pub offset_minutes: i16,
}

impl Hours {
    /// Whether this time is within.
    pub fn contain(&self, now_us: u64) -> bool {
        let minutes = (now_us / 60_000_000) as i64 + i64::from(self.offset_minutes);
        let (day, minute) = (minutes.div_euclid(1440), minutes.rem_euclid(1440) as u16);
        // 1970-01-01 was a Thursday.
        let on = |day: i64| self.weekdays & 1 << (day + 3).rem_euclid(7) != 0;
        if self.from_minute == self.to_minute {
            on(day)
        } else if self.from_minute < self.to_minute {
            on(day) && (self.from_minute..self.to_minute).contains(&minute)
        } else {
            (minute >= self.from_minute && on(day)) || (minute < self.to_minute && on(day - 1))
        }
    }
}

/// One tariff. What it does not name it holds for whatever that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tariff {
    pub context: Option<ServiceContext>,
    pub rating_group: Option<u32>,
    pub class: Option<u8>,
    pub prefix: Destination,
    pub hours: Option<Hours>,
    pub rates: Rates,
}

/// What is rated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    pub context: ServiceContext,
    pub class: u8,
    pub destination: Destination,
}

/// All tariffs. The number of one is its place plus one; 0 is the built-in one.
#[derive(Clone, Debug, PartialEq)]
pub struct Tariffs {
    all: Vec<Tariff>,
    by_prefix: HashMap<Destination, Vec<u16>>,
    /// Bit n: there are prefixes of n digits.
    lengths: u32,
    /// When hours begin or end: the clock's offset from UTC and the minute of its day, each once.
    boundaries: Vec<(i16, u16)>,
    /// What holds when no tariff does. None: such a request is refused with 5031.
    fallback: Option<Rates>,
}

/// No more tariffs than this.
pub const TARIFFS_MAX: usize = 65_535;

impl Default for Tariffs {
    fn default() -> Tariffs {
        Tariffs::new(Vec::new(), Some(Rates::BUILT_IN)).expect("no tariffs are not too many")
    }
}

impl Tariffs {
    /// # Errors
    ///
    /// A sentence that names the tariff that cannot hold, counted from 1.
    pub fn new(all: Vec<Tariff>, fallback: Option<Rates>) -> Result<Tariffs, String> {
        if all.len() > TARIFFS_MAX {
            return Err(format!("{} tariffs are more than {TARIFFS_MAX}", all.len()));
        }
        let mut by_prefix: HashMap<Destination, Vec<u16>> = HashMap::new();
        let mut lengths = 0;
        for (at, tariff) in all.iter().enumerate() {
            check(tariff).map_err(|why| format!("tariff {}: {why}", at + 1))?;
            by_prefix.entry(tariff.prefix).or_default().push(at as u16);
            lengths |= 1 << tariff.prefix.len;
        }
        // The tariff that names more goes before; among equals the one that stands first.
        for numbers in by_prefix.values_mut() {
            numbers.sort_by_key(|at| std::cmp::Reverse(named(&all[usize::from(*at)])));
        }
        let boundaries = boundaries(&all);
        Ok(Tariffs { all, by_prefix, lengths, boundaries, fallback })
    }

    /// The number and the rates that hold for a service now.
    #[inline]
    pub fn find(&self, target: &Target, rating_group: Option<u32>, now_us: u64) -> Option<(u16, &Rates)> {
        if self.all.is_empty() {
            return self.fallback.as_ref().map(|rates| (0, rates));
        }
        let holds = |tariff: &Tariff| {
            tariff.context.is_none_or(|context| context == target.context)
                && tariff.class.is_none_or(|class| class == target.class)
                && (tariff.rating_group.is_none() || tariff.rating_group == rating_group)
                && tariff.hours.is_none_or(|hours| hours.contain(now_us))
        };
        for len in (0..=target.destination.len).rev().filter(|len| self.lengths & 1 << len != 0) {
            let numbers = self.by_prefix.get(&target.destination.prefix(len)).into_iter().flatten();
            if let Some(at) = numbers.copied().find(|at| holds(&self.all[usize::from(*at)])) {
                return Some((at + 1, &self.all[usize::from(at)].rates));
            }
        }
        self.fallback.as_ref().map(|rates| (0, rates))
    }
}

/// When another tariff begins to hold for a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TariffChange {
    /// Seconds since 1970.
    pub at_s: u32,
    pub rates: Rates,
}

impl Tariffs {
    /// The rates of a number that `find` gave. None: there is none of this number any more.
    pub fn rates(&self, number: u16) -> Option<&Rates> {
        match number {
            0 => self.fallback.as_ref(),
            _ => self.all.get(usize::from(number) - 1).map(|tariff| &tariff.rates),
        }
    }

    /// The first change between two times of the tariff that holds for a service; at most a week is looked
    /// ahead.
    pub fn change(
        &self,
        target: &Target,
        rating_group: Option<u32>,
        now_us: u64,
        until_us: u64,
    ) -> Option<TariffChange> {
        if self.boundaries.is_empty() {
            return None;
        }
        let (number, _) = self.find(target, rating_group, now_us)?;
        let (now, until) = ((now_us / MINUTE_US) as i64, (until_us / MINUTE_US) as i64);
        let mut minutes: Vec<i64> = Vec::new();
        for (offset, minute) in &self.boundaries {
            let (offset, minute) = (i64::from(*offset), i64::from(*minute));
            let midnight = (now + offset).div_euclid(1_440) * 1_440 - offset;
            let each = (0..=7).map(|day| midnight + day * 1_440 + minute);
            minutes.extend(each.filter(|at| (now + 1..=until).contains(at)));
        }
        minutes.sort_unstable();
        minutes.dedup();
        minutes.into_iter().find_map(|minute| {
            let (other, rates) = self.find(target, rating_group, minute as u64 * MINUTE_US)?;
            let at_s = u32::try_from(minute * 60).ok()?;
            (other != number).then_some(TariffChange { at_s, rates: *rates })
        })
    }
}

const MINUTE_US: u64 = 60_000_000;

fn boundaries(all: &[Tariff]) -> Vec<(i16, u16)> {
    let hours = all.iter().filter_map(|tariff| tariff.hours);
    // At midnight the day of the week changes.
    let each =
        hours.flat_map(|hours| [hours.from_minute, hours.to_minute, 0].map(|at| (hours.offset_minutes, at)));
    let mut boundaries: Vec<(i16, u16)> = each.collect();
    boundaries.sort_unstable();
    boundaries.dedup();
    boundaries
}

fn named(tariff: &Tariff) -> usize {
    let named = [
        tariff.context.is_some(),
        tariff.rating_group.is_some(),
        tariff.class.is_some(),
        tariff.hours.is_some(),
    ];
    named.iter().filter(|is| **is).count()
}

fn check(tariff: &Tariff) -> Result<(), String> {
    let rates = [tariff.rates.time_s, tariff.rates.octets, tariff.rates.specific];
    if rates.iter().any(|rate| rate.price < 0 || rate.per == 0) {
        return Err("a price below zero, or for steps of nothing".to_owned());
    }
    if tariff.hours.is_some_and(|hours| hours.from_minute >= 1440 || hours.to_minute >= 1440) {
        return Err("a day has 1440 minutes, from 0 to 1439".to_owned());
    }
    Ok(())
}
