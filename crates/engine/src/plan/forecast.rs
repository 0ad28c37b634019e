//! Forecast from a roster and the routes: the same rules that dispatch follows, without sending.

use super::classify::{Classifier, RouteCriteria};
use crate::api::{Forecast, RouteForecast};
use records::{Alert, ChannelNumber, RosterBlock};
use std::collections::BTreeMap;

/// Counts of a forecast, taken in block by block.
#[derive(Default)]
pub struct ForecastTable {
    by_class: BTreeMap<u16, u64>,
    channels: BTreeMap<ChannelNumber, u64>,
    excluded: BTreeMap<&'static str, u64>,
    endpoints: u64,
}

impl ForecastTable {
    /// Takes a block in.
    pub fn take(&mut self, block: &RosterBlock, classifier: &Classifier, alert: &Alert) {
        for entry in &block.entries {
            if let Some(reason) = entry.excluded {
                *self.excluded.entry(reason.words()).or_default() += 1;
                continue;
            }
            let Some(channel) = entry.channel else { continue };
            self.endpoints += 1;
            *self.channels.entry(channel).or_default() += 1;
            *self
                .by_class
                .entry(classifier.class(&RouteCriteria::of(alert, channel, &entry.address)))
                .or_default() += 1;
        }
    }

    /// The forecast. `units` tells how many units of a route's rate one endpoint costs, `before` how many
    /// units wait on a route already.
    pub fn forecast(
        &self,
        classifier: &Classifier,
        units: impl Fn(usize) -> u64,
        before: impl Fn(usize) -> u64,
    ) -> Forecast {
        let mut routes: BTreeMap<usize, RouteForecast> = BTreeMap::new();
        let mut nowhere = 0;
        for (&class, &count) in &self.by_class {
            match classifier.tiers(class).first() {
                Some(tier) => share(classifier, tier, count, &units, &mut routes),
                None => nowhere += count,
            }
        }
        let mut excluded: BTreeMap<String, u64> =
            self.excluded.iter().map(|(words, n)| ((*words).to_owned(), *n)).collect();
        if nowhere > 0 {
            excluded.insert(records::Reason::NoRoute.words().to_owned(), nowhere);
        }
        for (&i, forecast) in &mut routes {
            let route = &classifier.routes()[i];
            forecast.cost = route.cost * forecast.units as i64;
            if route.rate > 0.0 {
                forecast.seconds = (forecast.units + before(i)) as f64 / route.rate;
            }
        }
        Forecast {
            endpoints: self.endpoints,
            recipients: 0,
            channels: self
                .channels
                .iter()
                .map(|(channel, n)| (channels::name(*channel).to_owned(), *n))
                .collect(),
            excluded,
            missing_values: BTreeMap::new(),
            seconds: routes.values().map(|route| route.seconds).fold(0.0, f64::max),
            cost: routes.values().map(|route| route.cost).sum(),
            routes: routes
                .into_iter()
                .map(|(i, forecast)| (classifier.routes()[i].name.clone(), forecast))
                .collect(),
            problems: Vec::new(),
        }
    }
}

/// Equals share by what they can carry: by rate where all have one, else by weight.
fn share(
    classifier: &Classifier,
    tier: &[usize],
    count: u64,
    units: &impl Fn(usize) -> u64,
    routes: &mut BTreeMap<usize, RouteForecast>,
) {
    let limited = tier.iter().all(|&i| classifier.routes()[i].rate > 0.0);
    let strength = |i: usize| {
        let route = &classifier.routes()[i];
        if limited { route.rate } else { f64::from(route.weight.max(1)) }
    };
    let total: f64 = tier.iter().map(|&i| strength(i)).sum();
    let mut left = count;
    for (place, &i) in tier.iter().enumerate() {
        let last = place + 1 == tier.len();
        let part = if last { left } else { ((count as f64 * strength(i) / total).round() as u64).min(left) };
        left -= part;
        let forecast = routes.entry(i).or_default();
        forecast.endpoints += part;
        forecast.units += part * units(i);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{alert, entry, request, route};
    use records::{EndpointNo, Reason};

    #[test]
    fn equals_share_by_rate_and_the_slowest_tells_the_time() {
        let classifier = Classifier::new(vec![
            route("slow", channels::SMS, |r| (r.rate, r.cost) = (10.0, 2)),
            route("fast", channels::SMS, |r| (r.rate, r.cost) = (30.0, 2)),
            route("mail", channels::MAIL, |_| {}),
        ]);
        let mut entries: Vec<_> = (0..400).map(|i| entry(channels::SMS, &format!("+46{i}"))).collect();
        entries.push(entry(channels::MAIL, "a@b.se"));
        entries
            .push(records::RosterEntry { excluded: Some(Reason::OptedOut), ..entry(channels::SMS, "+47") });
        let mut tableau = ForecastTable::default();
        tableau.take(&RosterBlock { first: EndpointNo(0), entries }, &classifier, &alert(1, request("x")));
        let forecast = tableau.forecast(&classifier, |_| 2, |_| 0);
        assert_eq!(
            forecast.routes["slow"],
            RouteForecast { endpoints: 100, units: 200, seconds: 20.0, cost: 400 }
        );
        assert_eq!(forecast.routes["fast"].endpoints, 300);
        assert_eq!(forecast.routes["mail"].endpoints, 1);
        assert_eq!((forecast.endpoints, forecast.seconds, forecast.cost), (401, 20.0, 1600));
        assert_eq!(forecast.excluded.values().sum::<u64>(), 1);
    }
}
