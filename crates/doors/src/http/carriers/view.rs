//! A route as the API shows it. What is not known is null, never 0.

use super::advice::advice;
use super::{RouteInConfig, holds};
use crate::http::alerts::view::mode;
use crate::http::request::time_text::rfc3339;
use engine::{RouteError, RouteStatus, RouteSubstitute};
use records::Lane;
use serde_json::{Value, json};

/// A route that allows itself less than this part of its limit is slow: its carrier throttles it.
const SLOW_BELOW: f64 = 0.9;
/// A route with something waiting that sends at least this part of its limit is paced: the limit holds it up.
const PACED_FROM: f64 = 0.9;

/// The route with its last errors.
pub(super) fn whole(status: &RouteStatus, configured: &[RouteInConfig]) -> Value {
    view(status, configured, usize::MAX)
}

/// The same with the latest error alone.
pub(super) fn summary(status: &RouteStatus, configured: &[RouteInConfig]) -> Value {
    view(status, configured, 1)
}

fn view(status: &RouteStatus, configured: &[RouteInConfig], errors_max: usize) -> Value {
    let RouteStatus { route, health, hold, waiting, .. } = status;
    let config = configured.iter().find(|one| one.name == route.name);
    let [emergency, urgent, routine] = Lane::ALL.map(|lane| waiting[lane as usize]);
    let errors = status.errors.iter().take(errors_max);
    let confirmation = status
        .confirmations
        .map(|times| json!({"p50_ms": times.p50_ms, "p95_ms": times.p95_ms, "count": times.count}));
    let since = hold.as_ref().map(|hold| hold.since).or(health.as_ref().map(|health| health.since));
    json!({
        "name": route.name,
        "channel": channels::name(route.channel),
        "mode": mode(route.mode),
        "protocol": config.and_then(|config| config.protocol),
        "address": config.and_then(|config| config.address.clone()),
        "simulated": route.simulated,
        "state": state(status),
        "since": since.map(rfc3339),
        "note": health.as_ref().map_or("", |health| health.note.as_str()),
        "hold": hold.as_ref().map(holds::view),
        "sessions": {
            "bound": health.as_ref().map(|health| health.sessions),
            "wanted": config.and_then(|config| config.sessions),
        },
        "rate": {
            "now": status.sent_per_s,
            "allowed": health.as_ref().map(|health| health.rate_now),
            "limit": route.rate,
        },
        "waiting": {"emergency": emergency, "urgent": urgent, "routine": routine},
        "confirmation": confirmation,
        "errors": errors.map(|error| error_view(error, config)).collect::<Vec<_>>(),
        "substitutes": status.substitutes.iter().map(substitute).collect::<Vec<_>>(),
        "line": config.and_then(|config| config.lines.get("name")),
    })
}

/// One word for how it stands.
fn state(status: &RouteStatus) -> &'static str {
    let Some(health) = &status.health else {
        return if status.hold.is_some() { "held" } else { "unknown" };
    };
    let limit = status.route.rate;
    let is_slow = health.rate_now > 0.0 && (limit <= 0.0 || health.rate_now < limit * SLOW_BELOW);
    let is_full = limit > 0.0 && status.sent_per_s.is_some_and(|now| now >= limit * PACED_FROM);
    match () {
        () if status.hold.is_some() => "held",
        () if !health.up => "down",
        () if is_slow => "slow",
        () if is_full && status.waiting.iter().any(|waiting| *waiting > 0) => "paced",
        () => "up",
    }
}

fn error_view(error: &RouteError, config: Option<&RouteInConfig>) -> Value {
    let advice = advice(&error.code, &error.text).map(|advice| {
        // A key that the file does not have is missing at the route itself.
        let line = |key: &str| {
            let lines = &config?.lines;
            lines.get(key).or_else(|| lines.get("name")).copied()
        };
        json!({"text": advice.text, "key": advice.key, "line": advice.key.and_then(line)})
    });
    json!({"at": rfc3339(error.at), "code": error.code, "text": error.text, "count": error.count, "advice": advice})
}

fn substitute(substitute: &RouteSubstitute) -> Value {
    json!({"name": substitute.name, "can_send": substitute.can_send, "takes_all": substitute.takes_all})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::tests::route;
    use records::{Mode, RouteHealth, RouteHold, Timestamp};

    fn status(rate: f64, rate_now: f64) -> RouteStatus {
        let note = String::new();
        let health = RouteHealth { up: true, since: Timestamp(1_000_000), sessions: 2, rate_now, note };
        RouteStatus {
            route: records::Route { rate, ..route("carrier", Mode::Live) },
            health: Some(health),
            hold: None,
            waiting: [0, 0, 7],
            sent_per_s: None,
            confirmations: None,
            errors: Vec::new(),
            substitutes: Vec::new(),
        }
    }

    #[test]
    fn a_route_stands_as_the_worst_that_is_known_of_it() {
        let held = RouteHold {
            since: Timestamp(2_000_000),
            token: "t".into(),
            by: "Eva".into(),
            reason: "it loses messages".into(),
        };
        let down = |of: RouteStatus| {
            let health = of.health.clone().map(|health| RouteHealth { up: false, ..health });
            RouteStatus { health, ..of }
        };
        for (name, of, expected) in [
            ("nothing published", RouteStatus { health: None, ..status(5.0, 5.0) }, "unknown"),
            (
                "nothing published, held",
                RouteStatus { health: None, hold: Some(held.clone()), ..status(5.0, 5.0) },
                "held",
            ),
            ("held", RouteStatus { hold: Some(held.clone()), ..down(status(5.0, 5.0)) }, "held"),
            ("no session", down(status(5.0, 2.0)), "down"),
            ("throttled", status(5.0, 2.0), "slow"),
            ("throttled, without a limit", status(0.0, 2.0), "slow"),
            ("at its limit", RouteStatus { sent_per_s: Some(5.0), ..status(5.0, 5.0) }, "paced"),
            (
                "at its limit, nothing waits",
                RouteStatus { sent_per_s: Some(5.0), waiting: [0; 3], ..status(5.0, 5.0) },
                "up",
            ),
            ("below its limit", RouteStatus { sent_per_s: Some(1.0), ..status(5.0, 5.0) }, "up"),
            ("without a limit", status(0.0, 0.0), "up"),
        ] {
            assert_eq!(state(&of), expected, "{name}");
        }
        let shown = whole(&RouteStatus { hold: Some(held), ..status(5.0, 5.0) }, &[]);
        assert_eq!(shown["hold"]["by"], "Eva");
        assert_eq!(shown["since"], "1970-01-01T00:00:02Z");
    }

    #[test]
    fn what_is_not_known_is_null_and_an_error_names_the_line_to_look_at() {
        let lines = [("name", 40), ("password", 44)].map(|(key, line)| (key.to_owned(), line)).into();
        let config = RouteInConfig {
            name: "carrier".into(),
            protocol: Some("smpp"),
            address: Some("smsc.example:2775".into()),
            sessions: Some(3),
            lines,
        };
        let error = |code: &str, text: &str| RouteError {
            at: Timestamp(0),
            code: code.into(),
            text: text.into(),
            count: 1,
        };
        let errors = vec![
            error("down", "the carrier refused the bind: invalid password"),
            error("down", "Connection refused"),
            error("odd", "something else"),
        ];
        let of = RouteStatus { errors, ..status(5.0, 5.0) };
        let shown = whole(&of, std::slice::from_ref(&config));
        assert_eq!((&shown["rate"]["now"], &shown["confirmation"]), (&Value::Null, &Value::Null));
        assert_eq!(shown["sessions"], json!({"bound": 2, "wanted": 3}));
        assert_eq!((&shown["line"], &shown["waiting"]["routine"]), (&json!(40), &json!(7)));
        let advice =
            |at: usize| (&shown["errors"][at]["advice"]["key"], &shown["errors"][at]["advice"]["line"]);
        assert_eq!(advice(0), (&json!("password"), &json!(44)));
        assert_eq!(advice(1), (&json!("address"), &json!(40)), "the route has no such key");
        assert_eq!(shown["errors"][2]["advice"], Value::Null);
        assert_eq!(summary(&of, &[config])["errors"].as_array().map(Vec::len), Some(1));
        let unknown = whole(&RouteStatus { health: None, ..status(0.0, 0.0) }, &[]);
        assert_eq!(unknown["sessions"], json!({"bound": null, "wanted": null}));
        assert_eq!((&unknown["since"], &unknown["address"]), (&Value::Null, &Value::Null));
    }
}
