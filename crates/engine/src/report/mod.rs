//! Report: what we say of an alert. Only reads.

mod escapes;
mod render;

pub use escapes::{ReportValues, Values, expand, percent_encode};
pub use render::{csv, csv_header, csv_rows, json, xml};

use crate::api::{
    Counts, PeopleCounts, ReasonArguments, ReasonCount, ReasonView, Report, ReportMoments, ReportOfPeople,
    RouteReport, Times,
};
use crate::record::{LiveAlert, StringTable, counts, delivery_cell::moment};
use records::{Delivery, DeliveryState, Reason, RouteHealth, Timestamp};

/// What is known of a route beside an alert.
pub struct RouteView {
    /// Its limit.
    pub rate: f64,
    /// It is answered by the simulator.
    pub simulated: bool,
    /// It can send, as far as its gateway said.
    pub up: bool,
}

impl RouteView {
    /// From the config and its gateway's last word.
    pub fn new(route: &records::Route, health: Option<&RouteHealth>) -> RouteView {
        RouteView { rate: route.rate, simulated: route.simulated, up: health.is_some_and(|health| health.up) }
    }
}

/// How far an alert has got.
pub fn report(
    live: &LiveAlert,
    words: &StringTable,
    now: Timestamp,
    eta: Option<f64>,
    view: impl Fn(&str) -> Option<RouteView>,
) -> Report {
    let request = &live.alert.request;
    let routes = live
        .tally
        .routes
        .iter()
        .enumerate()
        .filter(|(_, row)| row.iter().any(|n| *n > 0))
        .filter_map(|(no, row)| {
            let name = words.route(no as u16)?;
            let seen = view(name).unwrap_or(RouteView { rate: 0.0, simulated: false, up: false });
            Some((
                name.to_owned(),
                RouteReport { counts: counts(row), rate: seen.rate, up: seen.up, simulated: seen.simulated },
            ))
        });
    let routes: std::collections::BTreeMap<_, _> = routes.collect();
    let simulated = live.simulated || routes.values().any(|route: &RouteReport| route.simulated);
    let [p50, p95, p99] = live.tally.times.map(|at| at.checked_sub(1).map(|ms| f64::from(ms) / 1000.0));
    Report {
        id: live.alert.id,
        state: live.alert.state.name(),
        mode: if request.mode == records::Mode::Drill { "drill" } else { "live" },
        simulated,
        headline: headline(request),
        note: live.alert.note.clone(),
        counts: live.tally.total(),
        channels: channels(live),
        routes,
        reasons: reasons(live),
        answers: live
            .answers
            .counts()
            .iter()
            .filter(|(_, n)| **n > 0)
            .map(|(key, n)| (key.clone(), *n))
            .collect(),
        missing_values: live.tally.missing_values.counts().clone(),
        times: Times { p50, p95, p99 },
        rate_now: live.rate_now(now),
        eta,
        of_people: ReportOfPeople {
            people: people(live),
            needs_help: live.answers.open_calls(&request.answer_rules.needs_help),
            reason_codes: reason_codes(live),
        },
        moments: ReportMoments {
            created: rfc3339(live.alert.created),
            at: rfc3339(now),
            finished: live.finished.map(rfc3339),
        },
    }
}

/// First words of an alert, for lists.
pub fn headline(request: &records::AlertRequest) -> String {
    let texts = &request.texts;
    let all = std::iter::once(&texts.default).chain(texts.languages.values());
    let any = || all.clone().find_map(records::ChannelTexts::first);
    let text = request.headline.as_deref().or(request.text.as_deref()).or_else(any);
    let text = text.map(crate::dispatch::without_values).unwrap_or_default();
    text.lines().next().unwrap_or("").chars().take(80).collect()
}

fn channels(live: &LiveAlert) -> std::collections::BTreeMap<String, Counts> {
    let name = |row: usize| channels::names().nth(row).unwrap_or("none").to_owned();
    let rows = live.tally.channels.iter().enumerate();
    rows.map(|(row, by_state)| (name(row), counts(by_state)))
        .filter(|(_, counts)| counts.endpoints > 0)
        .collect()
}

/// Reasons that deliveries have, with their counts by channel.
fn reasons_of(live: &LiveAlert) -> impl Iterator<Item = (Reason, Option<&'static str>, u64)> + '_ {
    let rows = live.tally.reasons.iter().enumerate();
    let counts = rows.flat_map(|(channel, row)| {
        let numbered = row.iter().enumerate().filter(|(_, n)| **n > 0);
        numbered.map(move |(reason, n)| (channel, reason, u64::from(*n)))
    });
    let known = counts.filter_map(|(channel, reason, n)| {
        let name = channels::names().nth(channel);
        Some((Reason::from_number(reason as u8)?, name, n))
    });
    known.filter(|(reason, ..)| *reason != Reason::None)
}

fn reasons(live: &LiveAlert) -> std::collections::BTreeMap<String, u64> {
    let mut reasons = std::collections::BTreeMap::new();
    for (reason, _, n) in reasons_of(live) {
        *reasons.entry(reason.words().to_owned()).or_default() += n;
    }
    reasons
}

fn reason_codes(live: &LiveAlert) -> Vec<ReasonCount> {
    let counted = reasons_of(live).map(|(code, channel, count)| ReasonCount {
        code,
        args: ReasonArguments { channel, ..ReasonArguments::default() },
        count,
    });
    let mut list: Vec<ReasonCount> = counted.collect();
    list.sort_by_key(|one| (one.code as u8, one.args.channel));
    list
}

/// People by state, as reported.
fn people(live: &LiveAlert) -> PeopleCounts {
    let row = live.tally.people.counts();
    let of = |state: DeliveryState| u64::from(row[state as usize]);
    PeopleCounts {
        total: u64::from(live.tally.people.total()),
        answered: of(DeliveryState::Answered),
        delivered: of(DeliveryState::Delivered),
        accepted: of(DeliveryState::Accepted),
        submitted: of(DeliveryState::Submitted),
        planned: of(DeliveryState::Planned),
        held: of(DeliveryState::Held),
        unknown: of(DeliveryState::Unknown),
        failed: of(DeliveryState::Failed),
        excluded: of(DeliveryState::Excluded),
    }
}

/// Why a delivery is where it is, by code; nothing: there is nothing to explain.
pub fn reason_view(delivery: &Delivery, channel: Option<&'static str>) -> Option<ReasonView> {
    let words = Some(delivery.detail.clone()).filter(|words| !words.is_empty());
    if delivery.reason == Reason::None && words.is_none() {
        return None;
    }
    let args =
        ReasonArguments { channel, route: delivery.route.clone(), until: delivery.due.map(rfc3339), words };
    Some(ReasonView { code: delivery.reason, args })
}

/// A moment as people and programs read it, with its zone.
pub fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.0).map_or_else(|_| at.0.to_string(), |at| format!("{at:.3}"))
}

/// Why a delivery is where it is, with the server's words.
pub fn reason_in_words(delivery: &Delivery) -> String {
    match (delivery.reason.words(), delivery.detail.as_str()) {
        ("", detail) => detail.to_owned(),
        (words, "") => words.to_owned(),
        (words, detail) => format!("{words}: {detail}"),
    }
}

/// When an alert's last delivery got to where it is; for one read from rows.
pub fn last_change(live: &LiveAlert) -> Option<Timestamp> {
    let latest = live.each().map(|(_, cell)| cell.accepted.max(cell.delivered).max(cell.submitted)).max()?;
    moment(live.alert.created, latest)
}

/// Nothing of it is on its way any more.
pub fn is_over(live: &LiveAlert) -> bool {
    live.tally.in_state(DeliveryState::Submitted) == 0 && live.tally.in_state(DeliveryState::Planned) == 0
}
