//! Events as clients read them: aggregates, bounded in octets whatever the audience.

use crate::http::alerts::view::mode;
use crate::http::request::time_text::rfc3339;
use engine::{AlertChange, Counts, Report, RouteReport, RouteStanding};
use records::{Lane, Mode, ServerTrouble};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Octets that the routes of an alert may have in an event; those with the fewest endpoints are summed up.
const ROUTES_OCTETS_MAX: usize = 1_400;
/// Octets that its answers by choice may have.
const ANSWERS_OCTETS_MAX: usize = 400;
/// Characters of a note, of an alert or a route.
const NOTE_CHARS_MAX: usize = 80;

/// How far an alert is: its report without what grows with texts and people.
pub(super) fn alert(report: &Report) -> Value {
    let mut out = json!({
        "id": report.id.to_string(),
        "state": report.state,
        "mode": report.mode,
        "simulated": report.simulated,
        "headline": report.headline,
        "note": shortened(&report.note),
        "counts": report.counts,
        "people": report.of_people.people,
        "needs_help": report.of_people.needs_help,
        "times": report.times,
        "rate_now": report.rate_now,
        "eta": report.eta,
        "finished": report.moments.finished,
        "created": report.moments.created,
        "at": report.moments.at,
    });
    let (routes, other_routes) = routes(&report.routes);
    out["routes"] = routes;
    out["other_routes"] = other_routes;
    let (answers, other_answers) = answers(&report.answers);
    out["answers"] = answers;
    out["other_answers"] = other_answers.into();
    out
}

/// Routes by name, those with the most endpoints first as far as there is room, and the sum of the others.
fn routes(all: &BTreeMap<String, RouteReport>) -> (Value, Value) {
    let mut order: Vec<(&String, &RouteReport)> = all.iter().collect();
    order.sort_by_key(|(_, route)| std::cmp::Reverse(route.counts.endpoints));
    let (mut shown, mut octets, mut others) = (Map::new(), 0, 0_u64);
    let mut sum: BTreeMap<String, u64> = BTreeMap::new();
    for (name, route) in order {
        let counts = nonzero(&route.counts);
        let view = json!({
            "counts": counts, "rate": route.rate, "up": route.up, "simulated": route.simulated,
        });
        let needed = octets_of(name, &view);
        if others == 0 && octets + needed <= ROUTES_OCTETS_MAX {
            octets += needed;
            shown.insert(name.clone(), view);
            continue;
        }
        others += 1;
        for (state, count) in counts {
            *sum.entry(state).or_default() += count.as_u64().unwrap_or(0);
        }
    }
    let others = (others > 0).then(|| json!({"routes": others, "counts": sum}));
    (Value::Object(shown), others.unwrap_or(Value::Null))
}

/// Answers by choice as far as there is room, and how many there are of the others.
fn answers(all: &BTreeMap<String, u64>) -> (Value, u64) {
    let (mut shown, mut octets, mut others) = (Map::new(), 0, 0);
    for (key, count) in all {
        let view = Value::from(*count);
        octets += octets_of(key, &view);
        if octets <= ANSWERS_OCTETS_MAX {
            shown.insert(key.clone(), view);
        } else {
            others += count;
        }
    }
    (Value::Object(shown), others)
}

/// States in which there is somebody; the others are left out.
fn nonzero(counts: &Counts) -> Map<String, Value> {
    let Value::Object(mut all) = json!(counts) else { return Map::new() };
    all.retain(|_, count| *count != 0);
    all
}

/// Octets of a member as JSON, with its comma.
fn octets_of(name: &str, value: &Value) -> usize {
    json!({name: value}).to_string().len()
}

fn shortened(note: &str) -> String {
    note.chars().take(NOTE_CHARS_MAX).collect()
}

/// An alert came, ended or changed its state.
pub(super) fn alert_state(change: &AlertChange) -> Value {
    json!({
        "id": change.report.id.to_string(),
        "headline": change.report.headline,
        "state": change.report.state,
        "mode": change.report.mode,
        "version": change.version,
        "created": change.report.moments.created,
    })
}

/// An alert waits for approval, or does not any more.
pub(super) fn approval(change: &AlertChange, waits: bool) -> Value {
    json!({
        "alert": change.report.id.to_string(),
        "headline": change.report.headline,
        "mode": change.report.mode,
        "state": if waits { "waiting" } else { "decided" },
        "alert_state": change.report.state,
        "version": change.version,
    })
}

/// How a route stands; nothing in place of one that is not configured any more.
pub(super) fn route(name: &str, route: Option<&RouteStanding>) -> Value {
    let Some(route) = route else { return json!({"name": name, "state": "removed"}) };
    let health = route.health.as_ref();
    let state = match health {
        _ if route.is_held => "held",
        None => "unknown",
        Some(health) if health.up => "up",
        Some(_) => "down",
    };
    let waiting = Lane::ALL.map(|lane| (lane.name().to_owned(), route.waiting[lane as usize].into()));
    json!({
        "name": name,
        "channel": route.channel,
        "mode": mode(route.mode),
        "simulated": route.simulated,
        "state": state,
        "since": health.map(|health| rfc3339(health.since)),
        "sessions": health.map(|health| health.sessions),
        "rate": route.rate,
        "rate_now": health.map(|health| health.rate_now),
        "note": health.map(|health| shortened(&health.note)),
        "waiting": Value::Object(Map::from_iter(waiting)),
    })
}

/// A server of others is away, or is there again.
pub(super) fn trouble(part: &str, trouble: Option<&ServerTrouble>) -> Value {
    json!({
        "kind": part,
        "is_over": trouble.is_none(),
        "server": trouble.map(|trouble| trouble.server.clone()),
        "why": trouble.map(|trouble| trouble.why.clone()),
    })
}

/// The process that gave the events does not lead any more.
pub(super) fn leader_lost() -> Value {
    let why = "this process does not lead any more; connect again, and the one that does goes on";
    json!({"kind": "leader", "is_over": false, "server": null, "why": why})
}

/// A space, as a page names it.
pub(super) fn space(space: Option<Mode>) -> Value {
    space.map_or(Value::Null, |space| mode(space).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{PeopleCounts, ReportMoments, ReportOfPeople, Times};
    use records::AlertId;

    fn report(routes: usize, answers: usize) -> Report {
        let full = u64::MAX / 1_000;
        let counts = Counts {
            endpoints: full,
            planned: full,
            submitted: full,
            accepted: full,
            delivered: full,
            answered: full,
            failed: full,
            unknown: full,
            held: full,
            excluded: full,
        };
        let people = PeopleCounts {
            total: full,
            answered: full,
            delivered: full,
            accepted: full,
            submitted: full,
            planned: full,
            held: full,
            unknown: full,
            failed: full,
            excluded: full,
        };
        let route = RouteReport { counts, rate: 12_345.678, up: false, simulated: false };
        Report {
            id: AlertId(uuid::Uuid::max()),
            state: "awaiting_approval",
            mode: "drill",
            simulated: false,
            headline: "\u{1}".repeat(80),
            note: "\u{1}".repeat(10_000),
            counts,
            channels: BTreeMap::new(),
            routes: (0..routes).map(|n| (format!("{n:064}"), route.clone())).collect(),
            reasons: BTreeMap::new(),
            answers: (0..answers).map(|n| (format!("{n:08}"), full)).collect(),
            missing_values: BTreeMap::new(),
            times: Times { p50: Some(1_234.567), p95: Some(1_234.567), p99: Some(1_234.567) },
            rate_now: 1_234.567,
            eta: Some(123_456.7),
            of_people: ReportOfPeople { people, needs_help: 9_999_999, reason_codes: Vec::new() },
            moments: ReportMoments {
                created: "2026-11-18T06:26:40.123Z".into(),
                at: "2026-11-18T06:26:40.123Z".into(),
                finished: Some("2026-11-18T06:26:40.123Z".into()),
            },
        }
    }

    #[test]
    fn an_event_of_an_alert_has_under_4_kb_whatever_the_audience_routes_and_answers() {
        for (routes, answers) in [(0, 0), (1, 2), (1_000, 0), (0, 1_000), (1_000, 1_000)] {
            let view = alert(&report(routes, answers));
            let octets = view.to_string().len();
            assert!(octets < 4_000, "{octets} octets with {routes} routes and {answers} answers");
            let shown = view["routes"].as_object().unwrap().len() as u64;
            let others = view["other_routes"]["routes"].as_u64().unwrap_or(0);
            assert_eq!(shown + others, routes as u64, "{view}");
        }
    }

    #[test]
    fn what_is_not_shown_by_itself_is_in_the_sums() {
        let mut report = report(0, 0);
        for n in 0..200_u64 {
            let counts = Counts { endpoints: n, accepted: n, ..Counts::default() };
            report.routes.insert(format!("r{n}"), RouteReport { counts, ..RouteReport::default() });
            report.answers.insert(format!("choice {n}"), n);
        }
        let view = alert(&report);
        assert_eq!(view["routes"]["r199"]["counts"], json!({"endpoints": 199, "accepted": 199}));
        let shown = view["routes"].as_object().unwrap().values();
        let shown: u64 = shown.map(|route| route["counts"]["accepted"].as_u64().unwrap()).sum();
        let others = view["other_routes"]["counts"]["accepted"].as_u64().unwrap();
        assert_eq!(shown + others, (0..200).sum::<u64>());
        let shown: u64 = view["answers"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        assert_eq!(shown + view["other_answers"].as_u64().unwrap(), (0..200).sum::<u64>());
    }
}
