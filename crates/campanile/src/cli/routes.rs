//! `campanile route`.

use super::args::{FormatArgs, One, ServerArgs};
use super::client::{ApiClient, Work, segment};
use super::{Failure, Outcome, print, table};
use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// A test is looked at so often.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Routes that are listed.
const ROUTES_MAX: u64 = 1_000;

#[derive(Debug, Subcommand)]
pub(crate) enum RouteCommand {
    /// List the routes: state, sessions, rate, what waits
    #[command(after_help = "Examples:\n  campanile route list\n  campanile route list --format json")]
    List(RouteListArgs),
    /// Show one route: its last errors with what to do about them, and what takes its place
    #[command(after_help = "Examples:\n  campanile route show carrier-1")]
    Show(One),
    /// Stop the use of a route until it is released: other routes take its messages, or they wait
    #[command(
        after_help = "Examples:\n  campanile route hold carrier-1 --reason \"it loses messages, case 4711\""
    )]
    Hold(RouteHoldArgs),
    /// Take the use of a route up again
    #[command(after_help = "Examples:\n  campanile route release carrier-1")]
    Release(One),
    /// Send one test message by exactly this route, and say how far it got; exit code 1 if it failed
    #[command(after_help = "Examples:
  campanile route test carrier-1 --to +46701740605
  campanile route test relay --to eva@example.org --text \"Do you see this?\" --wait 0")]
    Test(RouteTestArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RouteListArgs {
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RouteHoldArgs {
    /// Why, for whoever releases it
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    #[command(flatten)]
    pub one: One,
}

#[derive(Debug, Args)]
pub(crate) struct RouteTestArgs {
    /// An address of the route's channel
    #[arg(long, value_name = "ADDRESS", allow_hyphen_values = true)]
    pub to: String,
    /// The text behind TEST:
    #[arg(long, value_name = "TEXT")]
    pub text: Option<String>,
    /// Seconds to wait until it is delivered or has failed; 0: only send it
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(..=600))]
    pub wait: u64,
    #[command(flatten)]
    pub one: One,
}

/// What a command does.
pub(super) fn work(command: RouteCommand) -> Work {
    match command {
        RouteCommand::List(of) => Box::pin(list(of)),
        RouteCommand::Show(one) => Box::pin(show(one)),
        RouteCommand::Hold(hold) => Box::pin(hold_route(hold)),
        RouteCommand::Release(one) => Box::pin(release(one)),
        RouteCommand::Test(test) => Box::pin(test_route(test)),
    }
}

async fn list(list: RouteListArgs) -> Outcome {
    let items = ApiClient::new(&list.server)?.list("/api/v1/routes", None, ROUTES_MAX).await?;
    if list.format.is_json() {
        return items.iter().try_for_each(|route| print(&format!("{route}\n")));
    }
    if items.is_empty() {
        return print("there are no routes: add a [[route]] to the config\n");
    }
    const COLUMNS: [&str; 8] =
        ["name", "channel", "mode", "state", "#sessions", "#per second", "#limit", "#waiting"];
    let row = |route: &Value| {
        [
            text(&route["name"]),
            text(&route["channel"]),
            text(&route["mode"]),
            text(&route["state"]),
            sessions(route),
            number(&route["rate"]["now"]),
            limit(route),
            waiting(route).to_string(),
        ]
    };
    print(&table::columns(COLUMNS, items.iter().map(row)))
}

async fn show(one: One) -> Outcome {
    let route = ApiClient::new(&one.server)?.get(&path(&one.id, "")).await?;
    if one.format.is_json() {
        return print(&format!("{route}\n"));
    }
    let mut lines = vec![
        (
            "route",
            format!(
                "{}, {} by {}, {}",
                text(&route["name"]),
                text(&route["channel"]),
                text(&route["protocol"]),
                text(&route["mode"])
            ),
        ),
        ("address", address(&route)),
        ("state", format!("{} since {}", text(&route["state"]), text(&route["since"]))),
    ];
    if let Some(note) = route["note"].as_str().filter(|note| !note.is_empty()) {
        lines.push(("note", table::one_line(note)));
    }
    if route["hold"].is_object() {
        let (by, reason) = (text(&route["hold"]["by"]), text(&route["hold"]["reason"]));
        lines.push(("held by", format!("{}: {}", table::one_line(&by), table::one_line(&reason))));
    }
    lines.push(("sessions", sessions(&route)));
    lines.push(("rate", format!("{} of {} per second", number(&route["rate"]["now"]), limit(&route))));
    lines.push(("waiting", waiting(&route).to_string()));
    if route["confirmation"].is_object() {
        let of = |name: &str| number(&route["confirmation"][name]);
        lines.push(("confirmed after", format!("{} ms, 95 of 100 after {} ms", of("p50_ms"), of("p95_ms"))));
    }
    for substitute in route["substitutes"].as_array().into_iter().flatten() {
        let all = if substitute["takes_all"] == true { "" } else { ", takes a part of its messages" };
        let can = if substitute["can_send"] == true { "" } else { ", cannot send now" };
        lines.push(("in its place", format!("{}{all}{can}", text(&substitute["name"]))));
    }
    for error in route["errors"].as_array().into_iter().flatten() {
        let (at, code, words) = (text(&error["at"]), text(&error["code"]), text(&error["text"]));
        lines.push(("error", format!("{at} {code}: {}", table::one_line(&words))));
        if error["advice"].is_object() {
            lines.push(("", advice(&error["advice"])));
        }
    }
    lines.iter().try_for_each(|(name, value)| print(&format!("{name:<16}{value}\n")))
}

/// What to do, with the key of the configuration and its line.
fn advice(advice: &Value) -> String {
    let key = advice["key"].as_str().map(|key| format!(" Key {key}")).unwrap_or_default();
    let line = advice["line"].as_u64().map(|line| format!(", line {line}")).unwrap_or_default();
    let end = if key.is_empty() { "" } else { "." };
    format!("{}{key}{line}{end}", text(&advice["text"]))
}

async fn hold_route(hold: RouteHoldArgs) -> Outcome {
    let client = ApiClient::new(&hold.one.server)?;
    let body = json!({"reason": hold.reason});
    let held = client.post(&path(&hold.one.id, ":hold"), Some(&body)).await?;
    if hold.one.format.is_json() {
        return print(&format!("{held}\n"));
    }
    let id = &hold.one.id;
    print(&format!("{id} is not used until somebody runs `campanile route release {id}`\n"))
}

async fn release(one: One) -> Outcome {
    let client = ApiClient::new(&one.server)?;
    client.send(client.request(Method::POST, &path(&one.id, ":release"))).await?;
    if one.format.is_json() {
        return print(&format!("{}\n", json!({"name": one.id, "held": false})));
    }
    print(&format!("{} is used again\n", one.id))
}

async fn test_route(test: RouteTestArgs) -> Outcome {
    let client = ApiClient::new(&test.one.server)?;
    let mut body = json!({"to": test.to});
    if let Some(text) = &test.text {
        body["text"] = text.as_str().into();
    }
    let sent = client.post(&path(&test.one.id, ":test"), Some(&body)).await?;
    let place = format!("/api/v1/tests/{}", segment(&text(&sent["id"])));
    let until = Instant::now() + Duration::from_secs(test.wait);
    let seen = loop {
        let seen = client.get(&place).await?;
        let is_over = seen["failed"] == true || !seen["delivered"].is_null();
        if is_over || Instant::now() >= until {
            break seen;
        }
        sleep(LOOK_EVERY).await;
    };
    match test.one.format.is_json() {
        true => print(&format!("{seen}\n"))?,
        false => print(&format!("{}\n", course(&seen)))?,
    }
    match seen["failed"] == true {
        true => Err(Failure::Failed("the test did not arrive".to_owned())),
        false => Ok(()),
    }
}

/// How far a test got, in a sentence.
fn course(test: &Value) -> String {
    let after = |name: &str| test[name].as_u64().map(|ms| format!("{:.1} s", ms as f64 / 1_000.0));
    let to = text(&test["to"]);
    let reason = test["reason"].as_str().filter(|reason| !reason.is_empty());
    match (after("delivered_after_ms"), after("accepted_after_ms")) {
        _ if test["failed"] == true => format!("{to}: {}", table::one_line(reason.unwrap_or("it failed"))),
        (Some(after), _) => format!("{to}: delivered after {after}"),
        (None, Some(after)) => format!("{to}: accepted by the carrier after {after}, not confirmed yet"),
        (None, None) => {
            format!("{to}: {}; GET /api/v1/tests/{} has more", text(&test["state"]), text(&test["id"]))
        }
    }
}

fn path(name: &str, verb: &str) -> String {
    format!("/api/v1/routes/{}{verb}", segment(name))
}

/// A text; what is not known is a hyphen.
fn text(value: &Value) -> String {
    value.as_str().unwrap_or("-").to_owned()
}

fn number(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if number.fract() == 0.0 => format!("{number:.0}"),
        Some(number) => format!("{number:.1}"),
        None => "-".to_owned(),
    }
}

fn limit(route: &Value) -> String {
    match route["rate"]["limit"].as_f64() {
        Some(limit) if limit > 0.0 => number(&route["rate"]["limit"]),
        _ => "unlimited".to_owned(),
    }
}

fn sessions(route: &Value) -> String {
    let bound = number(&route["sessions"]["bound"]);
    match route["sessions"]["wanted"].as_u64() {
        Some(wanted) => format!("{bound}/{wanted}"),
        None => bound,
    }
}

fn waiting(route: &Value) -> u64 {
    ["emergency", "urgent", "routine"].iter().filter_map(|lane| route["waiting"][*lane].as_u64()).sum()
}

fn address(route: &Value) -> String {
    let line = route["line"].as_u64().map(|line| format!(" (line {line} of the config)")).unwrap_or_default();
    let address = if route["simulated"] == true { "simulated".to_owned() } else { text(&route["address"]) };
    format!("{address}{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_course_of_a_test_is_one_sentence() {
        let test = |change: &[(&str, Value)]| {
            let mut test = json!({"id": "7", "to": "sms:+46701", "state": "planned", "failed": false,
                "reason": "", "accepted_after_ms": null, "delivered_after_ms": null});
            change.iter().for_each(|(name, value)| test[*name] = value.clone());
            course(&test)
        };
        assert!(test(&[]).starts_with("sms:+46701: planned"));
        let accepted = ("accepted_after_ms", json!(120));
        assert_eq!(
            test(std::slice::from_ref(&accepted)),
            "sms:+46701: accepted by the carrier after 0.1 s, not confirmed yet"
        );
        assert_eq!(
            test(&[accepted, ("delivered_after_ms", json!(2_100))]),
            "sms:+46701: delivered after 2.1 s"
        );
        let failed = [("failed", json!(true)), ("reason", json!("refused by the carrier"))];
        assert_eq!(test(&failed), "sms:+46701: refused by the carrier");
    }

    #[test]
    fn what_is_not_known_is_a_hyphen_and_no_limit_is_said() {
        let route = json!({"rate": {"now": null, "limit": 0.0}, "sessions": {"bound": null, "wanted": 2},
            "waiting": {"emergency": 1, "urgent": 0, "routine": 2}});
        assert_eq!((number(&route["rate"]["now"]), limit(&route)), ("-".to_owned(), "unlimited".to_owned()));
        assert_eq!((sessions(&route), waiting(&route)), ("-/2".to_owned(), 3));
        let hint = json!({"text": "Compare them.", "key": "password", "line": 41});
        assert_eq!(advice(&hint), "Compare them. Key password, line 41.");
    }
}
