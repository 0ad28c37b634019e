//! Forecast of each kind of device: the text of an alert that dispatch would render for it, and its parts.

use crate::api::Parts;
use crate::dispatch::Wording;
use crate::forecast::DeviceForecast;
use crate::plan::{Classifier, ForecastTable, TextGroup};
use records::{Body, ChannelNumber, DeviceProfile, Route};
use std::collections::BTreeMap;

/// Kinds of devices in one forecast.
const KINDS_MAX: usize = 100;
/// Letters of a text that a forecast shows.
const SHOWN_CHARS_MAX: usize = 1_000;

/// See the module.
pub(super) struct DeviceForecasts<'a> {
    pub(super) parts: &'a Parts,
    pub(super) wording: &'a Wording,
    pub(super) table: &'a ForecastTable,
}

/// How many devices of a kind there are, and the first route that takes one of them.
#[derive(Default)]
struct KindCount {
    devices: u64,
    route: Option<usize>,
}

impl DeviceForecasts<'_> {
    /// Units of a route's rate that one endpoint of a group costs; nothing: its devices cannot show the text.
    pub(super) fn units(&self, route: &Route, group: &TextGroup) -> Option<u64> {
        let language = self.table.language(group);
        match self.wording.render_for(route.channel, language, &[], group.profile) {
            Ok(rendering) => Some(self.weigh(route, rendering.body())),
            // Without a profile there is a text, or its route is not to be blamed for it.
            Err(_) => group.profile.is_none().then_some(1),
        }
    }

    fn weigh(&self, route: &Route, body: &Body) -> u64 {
        u64::from(self.parts.weigher.units(route, body).max(1))
    }

    /// The kinds of devices, by channel, language and profile.
    pub(super) fn devices(&self, classifier: &Classifier) -> Vec<DeviceForecast> {
        let mut kinds: BTreeMap<(ChannelNumber, Option<&str>, Option<DeviceProfile>), KindCount> =
            BTreeMap::new();
        for (group, count, route) in self.table.groups(classifier) {
            let kind = kinds.entry((group.channel, self.table.language(group), group.profile)).or_default();
            kind.devices += count;
            kind.route = kind.route.or(route);
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        if kinds.len() > KINDS_MAX {
            kinds.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.devices));
            kinds.truncate(KINDS_MAX);
        }
        let forecast = |((channel, language, profile), kind): (_, KindCount)| {
            let route = kind.route.map(|route| &classifier.routes()[route]);
            self.device(channel, language, profile, kind.devices, route)
        };
        kinds.into_iter().map(forecast).collect()
    }

    fn device(
        &self,
        channel: ChannelNumber,
        language: Option<&str>,
        profile: Option<DeviceProfile>,
        devices: u64,
        route: Option<&Route>,
    ) -> DeviceForecast {
        let mut forecast = DeviceForecast {
            channel: channels::name(channel).to_owned(),
            language: language.map(str::to_owned),
            profile: profile.map(|profile| store::import::profile_to_json(&profile)),
            devices,
            ..DeviceForecast::default()
        };
        match self.wording.render_for(channel, language, &[], profile) {
            Ok(rendering) => {
                let body = rendering.body();
                if let Some(content) = body.content() {
                    forecast.letters = content.text.chars().count() as u64;
                    forecast.text = Some(content.text.chars().take(SHOWN_CHARS_MAX).collect());
                    forecast.headline.clone_from(&content.subject);
                }
                forecast.parts = route.map_or(0, |route| self.weigh(route, body));
            }
            Err(reason) => forecast.problem = Some(reason),
        }
        if route.is_none() && forecast.problem.is_none() {
            forecast.problem = Some(records::Reason::NoRoute.words().to_owned());
        }
        forecast
    }
}
