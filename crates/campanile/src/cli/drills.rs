//! `campanile drill`: a past alert once more in simulated time, and the verdict on it.

use super::args::{FormatArgs, ServerArgs};
use super::client::{ApiClient, Work};
use super::{Failure, Outcome, print, table};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::time::Duration;

/// The fastest play of a course: so many times real time.
const TIME_SCALE_MAX: u32 = 1_000_000;

#[derive(Debug, Subcommand)]
pub(crate) enum DrillCommand {
    /// Replay a past alert over the people and limits of now, in simulated time; sends nothing
    #[command(after_help = "Examples:
  campanile drill replay ALERT --target 95%/5m
  campanile drill replay ALERT --without carrier-1 --seed 7 --format json
  campanile drill replay ALERT --time-scale 60

Exit code 0: the target is met; 1: it is not. The same seed gives the same verdict.")]
    Replay(ReplayArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The alert's id
    #[arg(value_name = "ALERT")]
    pub id: String,
    /// A route that takes nothing; repeat for more
    #[arg(long, value_name = "ROUTE")]
    pub without: Vec<String>,
    /// Part of the people, and the time within which they are to be reached
    #[arg(long, value_name = "PART/TIME", default_value = "95%/5m")]
    pub target: String,
    /// The same seed gives the same replay
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Show the course as it goes, N times as fast as a real one; without it, the result at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(TIME_SCALE_MAX)))]
    pub time_scale: Option<u32>,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

pub(super) fn work(command: DrillCommand) -> Work {
    match command {
        DrillCommand::Replay(args) => Box::pin(replay(args)),
    }
}

async fn replay(args: ReplayArgs) -> Outcome {
    let body = json!({"alert": args.id, "without": args.without, "target": args.target, "seed": args.seed});
    let replayed = ApiClient::new(&args.server)?.post("/api/v1/drills:replay", Some(&body)).await?;
    if args.format.is_json() {
        print(&format!("{replayed}\n"))?;
    } else {
        if let Some(times) = args.time_scale {
            play(&replayed, times).await?;
        }
        print(&text(&replayed))?;
    }
    // What was asked is answered: the exit code says whether the target is met.
    if replayed["met"] == json!(true) { Ok(()) } else { Err(Failure::Failed(String::new())) }
}

/// Prints each point of the curve at its time, so many times faster.
async fn play(replayed: &Value, times: u32) -> Outcome {
    let audience = number(replayed, "audience");
    let mut before = 0.0;
    for point in replayed["curve"].as_array().into_iter().flatten() {
        let (seconds, people) = (point[0].as_f64().unwrap_or(0.0), point[1].as_u64().unwrap_or(0));
        tokio::time::sleep(Duration::from_secs_f64((seconds - before).max(0.0) / f64::from(times))).await;
        before = seconds;
        print(&format!("{seconds:>10.1} s  {people} of {audience} people\n"))?;
    }
    Ok(())
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or(0)
}

fn text(replayed: &Value) -> String {
    let seconds = |value: &Value| value.as_f64().map_or("never".to_owned(), |at| format!("{at:.1} s"));
    let target = &replayed["target"];
    let (percent, within) = (&target["percent"], &target["seconds"]);
    let verdict = if replayed["met"] == json!(true) { "met" } else { "not met" };
    let mut out = format!(
        "target {percent} % within {within} s: {verdict}; reached after {}; {} of {} people in time\n",
        seconds(&replayed["seconds"]),
        number(replayed, "people"),
        number(replayed, "audience"),
    );
    let parts = [("50 of 100", "p50"), ("95 of 100", "p95"), ("99 of 100", "p99")];
    let rows: Vec<_> = parts.map(|(part, key)| [part.to_owned(), seconds(&replayed[key])]).into();
    out.push_str(&format!("\n{}", table::columns(["people", "#after"], rows)));
    let routes = replayed["routes"].as_object().into_iter().flatten().map(|(name, route)| {
        let of = |key: &str| number(route, key).to_string();
        let history = if route["has_history"] == json!(true) { "yes" } else { "no" };
        let limit = route["limit"].to_string();
        [name.clone(), of("devices"), of("parts"), limit, seconds(&route["seconds"]), history.to_owned()]
    });
    let header = ["route", "#devices", "#parts", "#limit", "#time", "history"];
    out.push_str(&format!("\n{}", table::columns(header, routes.collect::<Vec<_>>())));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_says_whether_the_target_is_met_and_what_each_route_took() {
        let route = json!({"devices": 90, "parts": 180, "seconds": 18.0, "limit": 10.0, "has_history": true});
        let replayed = json!({
            "target": {"percent": 95.0, "seconds": 300.0}, "met": false, "seconds": null, "people": 80,
            "audience": 100, "p50": 12.04, "p95": null, "p99": null, "curve": [[0.0, 1], [18.0, 80]],
            "routes": {"carrier-1": route},
        });
        let text = text(&replayed);
        for words in [
            "target 95.0 % within 300.0 s: not met; reached after never; 80 of 100 people in time\n",
            "50 of 100  12.0 s\n",
            "carrier-1       90    180   10.0  18.0 s  yes\n",
        ] {
            assert!(text.contains(words), "{words:?} is not in\n{text}");
        }
    }
}
