//! Forecast from a roster and the routes: the same rules that dispatch follows, without sending.

use super::classify::{Classifier, RouteCriteria};
use crate::api::{Forecast, RouteForecast};
use records::{Alert, ChannelNumber, DeviceProfile, EndpointNo, Reason, RosterBlock};
use std::collections::BTreeMap;

/// Endpoints that get one text by the same routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextGroup {
    /// How they are reached.
    pub channel: ChannelNumber,
    /// The place of their language among those of the table, from 1; 0: the default.
    language: u16,
    /// What their devices can show, where that is less than the channel carries.
    pub profile: Option<DeviceProfile>,
    class: u16,
}

/// Counts of a forecast, taken in block by block.
#[derive(Default)]
pub struct ForecastTable {
    groups: BTreeMap<TextGroup, u64>,
    languages: Vec<String>,
    channels: BTreeMap<ChannelNumber, u64>,
    excluded: BTreeMap<&'static str, u64>,
    endpoints: u64,
}

impl ForecastTable {
    /// Takes a block in.
    pub fn take(&mut self, block: &RosterBlock, classifier: &Classifier, alert: &Alert) {
        for (endpoint, entry) in (block.first.0..).map(EndpointNo).zip(&block.entries) {
            if let Some(reason) = entry.excluded {
                *self.excluded.entry(reason.words()).or_default() += 1;
                continue;
            }
            let Some(channel) = entry.channel else { continue };
            self.endpoints += 1;
            *self.channels.entry(channel).or_default() += 1;
            let group = TextGroup {
                channel,
                language: self.place_of(entry.language.as_deref()),
                profile: block.profile_of(endpoint),
                class: classifier.class(&RouteCriteria::of(alert, channel, &entry.address)),
            };
            *self.groups.entry(group).or_default() += 1;
        }
    }

    fn place_of(&mut self, language: Option<&str>) -> u16 {
        let Some(language) = language else { return 0 };
        let known = self.languages.iter().position(|one| one == language);
        let place = known.unwrap_or_else(|| {
            self.languages.push(language.to_owned());
            self.languages.len() - 1
        });
        u16::try_from(place + 1).unwrap_or_default()
    }

    /// The language of a group's text.
    pub fn language(&self, group: &TextGroup) -> Option<&str> {
        self.languages.get(usize::from(group.language).checked_sub(1)?).map(String::as_str)
    }

    /// Groups with their counts and the first route that takes them; those of one text, which go by other
    /// routes, stand together.
    pub fn groups<'t>(
        &'t self,
        classifier: &'t Classifier,
    ) -> impl Iterator<Item = (&'t TextGroup, u64, Option<usize>)> + 't {
        let first = |class| classifier.tiers(class).first().and_then(|tier| tier.first().copied());
        self.groups.iter().map(move |(group, count)| (group, *count, first(group.class)))
    }

    /// The forecast. `units` tells how many units of a route's rate one endpoint of a group costs, or that it
    /// gets nothing, `before` how many units wait on a route already.
    pub fn forecast(
        &self,
        classifier: &Classifier,
        units: impl Fn(usize, &TextGroup) -> Option<u64>,
        before: impl Fn(usize) -> u64,
    ) -> Forecast {
        let mut routes: BTreeMap<usize, RouteForecast> = BTreeMap::new();
        let (mut nowhere, mut unsaid) = (0, 0);
        for (group, &count) in &self.groups {
            match classifier.tiers(group.class).first() {
                Some(tier) if units(tier[0], group).is_none() => unsaid += count,
                Some(tier) => {
                    share(classifier, tier, count, &|route| units(route, group).unwrap_or(1), &mut routes)
                }
                None => nowhere += count,
            }
        }
        let mut excluded: BTreeMap<String, u64> =
            self.excluded.iter().map(|(words, n)| ((*words).to_owned(), *n)).collect();
        for (reason, count) in [(Reason::NoRoute, nowhere), (Reason::NotRendered, unsaid)] {
            if count > 0 {
                excluded.insert(reason.words().to_owned(), count);
            }
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
            languages: BTreeMap::new(),
            similar: Vec::new(),
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
            devices: Vec::new(),
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
        tableau.take(
            &RosterBlock { entries, ..RosterBlock::default() },
            &classifier,
            &alert(1, request("x")),
        );
        let forecast = tableau.forecast(&classifier, |_, _| Some(2), |_| 0);
        assert_eq!(
            forecast.routes["slow"],
            RouteForecast { endpoints: 100, units: 200, seconds: 20.0, cost: 400 }
        );
        assert_eq!(forecast.routes["fast"].endpoints, 300);
        assert_eq!(forecast.routes["mail"].endpoints, 1);
        assert_eq!((forecast.endpoints, forecast.seconds, forecast.cost), (401, 20.0, 1600));
        assert_eq!(forecast.excluded.values().sum::<u64>(), 1);
    }

    #[test]
    fn devices_with_a_profile_are_counted_with_the_parts_of_their_own_text() {
        let classifier = Classifier::new(vec![route("sms", channels::SMS, |r| r.cost = 10)]);
        let profile = |length| DeviceProfile { length: Some(length), ..DeviceProfile::default() };
        let profiles = [(1, 20), (2, 1)]
            .map(|(place, length)| records::PlacedProfile { place, profile: profile(length) })
            .into();
        let entries = (0..4).map(|i| entry(channels::SMS, &format!("+46{i}"))).collect();
        let mut table = ForecastTable::default();
        let block = RosterBlock { entries, profiles, ..RosterBlock::default() };
        table.take(&block, &classifier, &alert(1, request("x")));
        let units = |_, group: &TextGroup| match group.profile.and_then(|profile| profile.length) {
            None => Some(3),
            Some(20) => Some(1),
            Some(_) => None,
        };
        let forecast = table.forecast(&classifier, units, |_| 0);
        assert_eq!(
            (forecast.routes["sms"].endpoints, forecast.routes["sms"].units, forecast.cost),
            (3, 7, 70)
        );
        assert_eq!(
            forecast.excluded[Reason::NotRendered.words()],
            1,
            "no text that anybody would understand"
        );
        assert_eq!(table.groups(&classifier).map(|(_, count, _)| count).collect::<Vec<_>>(), [2, 1, 1]);
    }
}
